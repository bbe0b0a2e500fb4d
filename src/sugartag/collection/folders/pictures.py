"""The rows of a collection, made from the pictures of a folder."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sugartag.collection.folders.cache import Known, fingerprint
from sugartag.collection.folders.owners import OwnerRule
from sugartag.collection.folders.walk import LeftOut, PictureFile, walk
from sugartag.collection.readers.batch import Batch
from sugartag.collection.readers.paths import PathCheck
from sugartag.collection.vocabulary import clean
from sugartag.metadata import read_metadata

ROWS_PER_BATCH = 256
"""Few, for a row is a file to be read: progress is shown after each batch."""


@dataclass
class Pictures:
    """Reads the pictures of a folder, those that have not changed from what is known of them.

    Everything that is held of a picture is its metadata: some hundred bytes.
    """

    root: Path
    """Absolute, links resolved."""
    owner_of: OwnerRule
    earlier: dict[str, Known]
    """By path, what an earlier run read."""
    out: Path
    """The collection folder, which is not looked into."""
    known: list[Known] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    n_read: int = 0
    """Files that were opened, because they are new or have changed."""

    def batches(self) -> Iterator[Batch]:
        """Yield the rows of all pictures that can be taken."""
        pictures = self.taken()
        for start in range(0, len(pictures), ROWS_PER_BATCH):
            rows = [self._known(picture) for picture in pictures[start : start + ROWS_PER_BATCH]]
            self.known += rows
            done = start + len(rows)
            yield Batch(
                path=self.root,
                word="picture",
                numbers=range(start + 1, done + 1),
                columns=self._columns(rows),
                done=done,
                total=len(pictures),
            )

    def taken(self) -> list[PictureFile]:
        """List the pictures whose path can be an id of its own."""
        check = PathCheck(self.root, on_disk=False)
        by_id: dict[str, str] = {}
        taken = []
        for found in walk(self.root, without=self.out):
            if isinstance(found, LeftOut):
                self.left_out.append(found)
                continue
            first = by_id.setdefault(clean(found.path), found.path)
            if reason := check.fault(found.path):
                self.left_out.append(LeftOut(found.path, f"its path {reason}"))
            elif first != found.path:
                reason = f"it is named like {first} but for Unicode or spaces; rename one of them"
                self.left_out.append(LeftOut(found.path, reason))
            else:
                taken.append(found)
        return taken

    def _known(self, picture: PictureFile) -> Known:
        before = self.earlier.get(picture.path)
        if before is not None and before.picture == picture and before.fingerprint:
            return before
        self.n_read += 1
        path = self.root / picture.path
        names = [sidecar.name for sidecar in picture.sidecars]
        metadata = read_metadata(path, sidecars=names, root=self.root)
        return Known(picture, fingerprint(path, root=self.root), metadata)

    def _columns(self, rows: list[Known]) -> dict[str, list[object]]:
        return {
            "image_id": [one.picture.path for one in rows],
            "path": [one.picture.path for one in rows],
            "owner": [self.owner_of(one.picture.path, one.metadata) for one in rows],
            "title": [one.metadata.title for one in rows],
            "tags": [[word.name for word in one.metadata.keywords] for one in rows],
        }
