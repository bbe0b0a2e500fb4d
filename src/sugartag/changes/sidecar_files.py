"""The sidecars of a catalogue's images: which file it is, and what it holds at present."""

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath

from sugartag.changes.catalogue import Catalogue
from sugartag.errors import SettingsError, StorageError
from sugartag.metadata.files import UnreadableError, whole_file
from sugartag.metadata.xmp import MAX_PACKET_BYTES
from sugartag.storage.aside import partial_of, replace_bytes
from sugartag.storage.renames import sync

ENDING = ".xmp"


def digest_of(data: bytes | None) -> str | None:
    """Return the SHA-256 of a file's bytes; None where there is no file."""
    return None if data is None else sha256(data).hexdigest()


@dataclass(frozen=True)
class SidecarFiles:
    """Finds, reads and writes sidecars below one folder, and nowhere else."""

    root: Path
    shared: frozenset[str]
    """Paths without their ending that several images have: ``photo.xmp`` is of none of them."""
    _unsettled: set[Path] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, catalogue: Catalogue, root: Path | None = None) -> "SidecarFiles":
        """Return the sidecars of a catalogue's images, below ``root`` or where they were."""
        known = catalogue.fact("images_root")
        if root is None and known is None:
            raise SettingsError(
                f"{catalogue.path} does not say where the images are; "
                "name their folder with --images-root"
            )
        folder = (root or Path(known or "")).resolve()
        if not folder.is_dir():
            raise StorageError(
                f"{folder}, where the images should be, is not a folder; name it with --images-root"
            )
        paths = [row[0] for row in catalogue.all("SELECT path FROM images WHERE path IS NOT NULL")]
        stems = Counter(str(PurePosixPath(path).with_suffix("")) for path in paths)
        return cls(folder, frozenset(stem for stem, n in stems.items() if n > 1))

    def beside(self, image_path: str) -> str:
        """Return the sidecar of an image, both as paths below the root.

        It is ``photo.jpg.xmp``, unless there is only a ``photo.xmp`` that is of this image alone.
        """
        image = self.inside(image_path)
        if not image.is_file():
            raise UnreadableError(f"{image_path}: there is no such image; no sidecar is written")
        own = f"{image_path}{ENDING}"
        stem = str(PurePosixPath(image_path).with_suffix(""))
        if stem in self.shared or self.inside(own).exists():
            return own
        for ending in (ENDING, ENDING.upper()):
            if self.inside(f"{stem}{ending}").is_file():
                return f"{stem}{ending}"
        return own

    def read(self, path: str) -> bytes | None:
        """Return what a sidecar holds; None where there is none."""
        target = self.inside(path)
        if not target.exists():
            return None
        return whole_file(target, MAX_PACKET_BYTES, root=self.root)

    def write(self, path: str, data: bytes | None) -> None:
        """Make a sidecar hold these bytes, or remove it."""
        target = self.inside(path)
        if data is not None:
            # What is behind a link is written, and not the link.
            target = target.resolve()
            replace_bytes(target, data)
        elif target.exists():
            try:
                target.unlink()
            except OSError as error:
                raise StorageError(f"cannot remove {target}: {error.strerror or error}") from error
        self._unsettled.add(target.parent)

    def settle(self) -> None:
        """Make sure that what was written and removed stays so, whatever happens next."""
        while self._unsettled:
            sync(self._unsettled.pop())

    def clear(self, path: str) -> None:
        """Remove what a killed run was writing when it was killed."""
        partial_of(self.inside(path).resolve()).unlink(missing_ok=True)

    def inside(self, path: str) -> Path:
        """Return where a path leads, refusing one that leads out of the root."""
        target = self.root / path
        if "\0" in path or not target.resolve().is_relative_to(self.root):
            raise UnreadableError(f"{path!r} leads out of {self.root}; it is left alone")
        return target
