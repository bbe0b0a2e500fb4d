"""Import a folder of photographs: what is new or has changed is read, the rest is known."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sugartag.collection.companions import HIERARCHY
from sugartag.collection.folders.cache import Known, read_known, write_known
from sugartag.collection.folders.kept_features import keep_features
from sugartag.collection.folders.owners import OwnerRule
from sugartag.collection.folders.pictures import Pictures
from sugartag.collection.folders.walk import PICTURES
from sugartag.collection.problems import write_problems
from sugartag.collection.readers.batch import Batch
from sugartag.collection.readers.importer import (
    Imported,
    ImportSummary,
    Sources,
    import_collection,
)
from sugartag.collection.readers.table import Stream, Table
from sugartag.collection.store import FORMAT
from sugartag.collection.vocabulary import TagCleaner, TagRules, clean
from sugartag.engine.base import Progress
from sugartag.errors import CollectionError, StorageError
from sugartag.storage.arrays import read_manifest

HIERARCHY_FORMAT = "sugartag-hierarchy/1"


@dataclass(frozen=True)
class FolderSummary:
    """What was imported from a folder."""

    collection: ImportSummary
    files_read: int
    files_known: int
    """Pictures that had not changed since an earlier run."""
    files_gone: int
    """Pictures of the earlier run that are not there any more."""
    problems: int
    """Lines of ``errors.jsonl``."""


@dataclass(frozen=True)
class FolderSources:
    """A folder of photographs, and tables about the people and pictures in it."""

    folder: Path
    owner_of: OwnerRule
    groups: Table | None = None
    truth: Table | None = None


def import_folder(
    sources: FolderSources,
    out: Path,
    *,
    rules: TagRules,
    update: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FolderSummary:
    """Make a collection of the photographs under a folder; the id of each is its path there.

    What cannot be read is listed in ``errors.jsonl`` and stops nothing. With ``update``, a
    collection made from the same folder is brought up to date: only files that are new or have
    changed are opened, and pictures that are gone lose their row. The others keep the features
    that ``sugartag embed`` made.
    """
    if not sources.folder.is_dir():
        raise CollectionError(f"{sources.folder} is not a folder; name a folder of photographs")
    root = sources.folder.resolve()
    earlier = _earlier(out, root) if update else {}
    pictures = Pictures(root, sources.owner_of, earlier, out)
    stream = Stream(sources.folder, lambda: _some(pictures, sources.folder))

    def also(imported: Imported) -> None:
        write_known(imported.folder, pictures.known)
        write_problems(imported.folder, "import", _problems(pictures))
        _write_hierarchy(imported, pictures.known, rules)
        if earlier:
            keep_features(out, imported.folder, _unchanged(earlier, pictures.known))

    summary = import_collection(
        Sources(stream, groups=sources.groups, truth=sources.truth, images_root=root),
        out,
        rules=rules,
        overwrite=overwrite or bool(earlier),
        progress=progress,
        also=also,
    )
    return FolderSummary(
        collection=summary,
        files_read=pictures.n_read,
        files_known=len(pictures.known) - pictures.n_read,
        files_gone=len(earlier.keys() - {one.picture.path for one in pictures.known}),
        problems=len(list(_problems(pictures))),
    )


def is_up_to_date(folder: Path, collection: Path) -> bool:
    """Tell whether a collection was made from a folder, and no picture or sidecar has changed."""
    root = folder.resolve()
    try:
        known = _earlier(collection, root)
    except StorageError:
        return False
    now = Pictures(root, lambda *_: "", {}, collection).taken()
    return len(known) == len(now) > 0 and all(
        (before := known.get(picture.path)) is not None
        and before.picture == picture
        and bool(before.fingerprint)
        for picture in now
    )


def _some(pictures: Pictures, folder: Path) -> Iterator[Batch]:
    empty = True
    for batch in pictures.batches():
        empty = False
        yield batch
    if empty:
        ends = ", ".join(sorted(PICTURES))
        why = ""
        if pictures.left_out:
            first = pictures.left_out[0]
            why = f"; {len(pictures.left_out):,} left out, first {first.path}: {first.reason}"
        raise CollectionError(f"{folder} holds no picture to import ({ends}){why}")


def _earlier(out: Path, root: Path) -> dict[str, Known]:
    """Return what an earlier run read; refuse a collection that was not made from this folder."""
    if not out.exists():
        return {}
    made_from = read_manifest(out, format_name=FORMAT)["images_root"]
    known = read_known(out)
    if not known or made_from != str(root):
        raise StorageError(
            f"{out} was not imported from {root}, so that it cannot be updated; "
            "choose another --out or pass --overwrite"
        )
    return known


def _unchanged(earlier: Mapping[str, Known], known: Sequence[Known]) -> set[str]:
    """Return the images whose file is the one it was, whatever has become of its sidecars."""
    return {
        clean(one.picture.path)
        for one in known
        if one.fingerprint
        and (before := earlier.get(one.picture.path)) is not None
        and before.fingerprint == one.fingerprint
    }


def _problems(pictures: Pictures) -> Iterator[dict[str, str]]:
    yield from ({"path": left.path, "reason": left.reason} for left in pictures.left_out)
    for one in pictures.known:
        for problem in one.metadata.problems:
            yield {"path": one.picture.path, "reason": problem}


def _write_hierarchy(imported: Imported, known: Sequence[Known], rules: TagRules) -> None:
    """Write, for each tag that stands below others somewhere, all the paths it was found at."""
    cleaner, kept = TagCleaner(rules), set(imported.tag_names)
    paths: dict[str, set[tuple[str, ...]]] = {}
    for one in known:
        for word in one.metadata.keywords:
            if len(word.path) > 1 and (tag := cleaner(word.name)) in kept:
                paths.setdefault(tag, set()).add(word.path)
    content = {
        "format": HIERARCHY_FORMAT,
        "tags": {tag: sorted(map(list, some)) for tag, some in sorted(paths.items())},
    }
    text = json.dumps(content, ensure_ascii=False, indent=1)
    (imported.folder / HIERARCHY).write_text(text + "\n", encoding="utf-8")


def read_hierarchy(folder: Path) -> dict[str, list[list[str]]]:
    """Return the paths that each tag of a collection was found at; empty if none is known."""
    path = folder / HIERARCHY
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(tag): [[str(level) for level in levels] for levels in paths]
            for tag, paths in content["tags"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StorageError(f"{path} is damaged: {error}; import the folder again") from error
