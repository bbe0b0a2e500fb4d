"""A collection on disk: a folder of row shards, memory-mapped when opened.

::

    manifest.json             format, counts, what each file must be
    tags.*, owners.*, groups.*, concepts.*      names: UTF-8 bytes and offsets
    memberships.*             owners x groups, as CSR
    shards/00000/             ids, owner, tags (CSR), features, has_features,
                              truth, paths, titles

Every array is a plain ``.npy`` whose shape, dtype and SHA-256 stand in the manifest.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sugartag._rules import Sizes, check_stored, checked_csr
from sugartag._typing import SparseRows
from sugartag.collection.companions import COMPANIONS
from sugartag.collection.model import Collection, Shard
from sugartag.collection.texts import Texts
from sugartag.errors import CollectionError, StorageError
from sugartag.storage.arrays import (
    Array,
    describe,
    load_array,
    read_manifest,
    save_array,
    write_manifest,
)
from sugartag.storage.aside import folder_aside
from sugartag.storage.damage import OTHERS

FORMAT = "sugartag-collection/1"
TABLES = ("tags", "owners", "groups", "concepts")
"""The tables of names, which the manifest counts."""


@dataclass
class CollectionWriter:
    """Writes a collection into an empty folder, one shard at a time."""

    folder: Path
    _shards: list[dict[str, Any]] = field(default_factory=list)

    def add_shard(self, shard: Shard) -> None:
        """Write the next images."""
        name = f"shards/{len(self._shards):05d}"
        files: dict[str, Array | None] = {
            "owner": shard.owner,
            **_csr_files("tags", shard.tags),
            **_text_files("ids", shard.ids),
            "features": shard.features,
            "has_features": shard.has_features,
        }
        if shard.truth is not None:
            files |= _csr_files("truth", shard.truth)
        for key, texts in (("paths", shard.paths), ("titles", shard.titles)):
            if texts is not None:
                files |= _text_files(key, texts)
        entries = {
            key: save_array(self.folder, f"{name}/{key}", array).as_json()
            for key, array in files.items()
            if array is not None
        }
        self._shards.append({"rows": len(shard), "files": entries})

    def attach(self, number: int, key: str, array: Array) -> None:
        """Add or replace one array of a shard that has been written."""
        entry = save_array(self.folder, f"shards/{number:05d}/{key}", array)
        self._shards[number]["files"][key] = entry.as_json()

    def attach_truth(self, number: int, truth: SparseRows) -> None:
        """Add the true concepts of a shard that has been written."""
        for key, array in _csr_files("truth", truth).items():
            self.attach(number, key, array)

    def attach_texts(self, number: int, key: str, texts: Texts) -> None:
        """Add the ``paths`` or ``titles`` of a shard that has been written."""
        for name, array in _text_files(key, texts).items():
            self.attach(number, name, array)

    def shard(self, number: int, *, n_tags: int) -> Shard:
        """Map a shard that has been written, before the collection is finished."""
        files = self._shards[number]["files"]
        return _shard(_Reader(self.folder, files, verify=False), n_tags, 0)

    def ids(self, number: int) -> Texts:
        """Map only the ids of a shard that has been written."""
        return _Reader(self.folder, self._shards[number]["files"], verify=False).texts("ids")

    def features_path(self, number: int) -> Path:
        """Return where the features of a shard are to be written directly."""
        return self.folder / f"shards/{number:05d}/features.npy"

    def describe_features(self, number: int) -> None:
        """Take up a features file that was written into the shard's folder directly."""
        entry = describe(self.folder, f"shards/{number:05d}/features")
        self._shards[number]["files"]["features"] = entry.as_json()

    def finish(
        self,
        *,
        tag_names: Iterable[str],
        owner_names: Iterable[str],
        group_names: Iterable[str],
        groups: SparseRows,
        concept_names: Iterable[str],
        images_root: str | None = None,
    ) -> None:
        """Write the names, the memberships and, last, the manifest."""
        tables = {
            "tags": _packed(tag_names),
            "owners": _packed(owner_names),
            "groups": _packed(group_names),
            "concepts": _packed(concept_names),
        }
        files: dict[str, Array] = {}
        for key, texts in tables.items():
            files |= _text_files(key, texts)
        files |= _csr_files("memberships", groups)
        write_manifest(
            self.folder,
            {
                "format": FORMAT,
                "images": sum(shard["rows"] for shard in self._shards),
                **{key: len(texts) for key, texts in tables.items()},
                "images_root": images_root,
                "files": {k: save_array(self.folder, k, a).as_json() for k, a in files.items()},
                "shards": self._shards,
                OTHERS: list(COMPANIONS),
            },
        )


def save_collection(collection: Collection, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a collection shard by shard; nothing stands under the name until it is whole."""
    with folder_aside(Path(folder), overwrite=overwrite) as partial:
        write_into(CollectionWriter(partial), collection)


def write_into(writer: CollectionWriter, collection: Collection) -> None:
    """Write a whole collection with a writer."""
    for shard in collection.shards:
        writer.add_shard(shard)
    writer.finish(
        tag_names=collection.tag_names,
        owner_names=collection.owner_names,
        group_names=collection.group_names,
        groups=collection.groups,
        concept_names=collection.concept_names,
        images_root=collection.images_root,
    )


def open_collection(folder: str | Path, *, verify: bool = True) -> Collection:
    """Map a collection folder into memory, after checking every file against the manifest.

    ``verify=False`` skips the hashes and the values of features, for folders just checked; what
    points somewhere is checked all the same.
    """
    folder = Path(folder)
    manifest = read_manifest(folder, format_name=FORMAT)
    try:
        return _collection(folder, manifest, verify=verify)
    except (CollectionError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = f"its manifest lacks {error}" if isinstance(error, KeyError) else str(error)
        raise StorageError(f"{folder} is damaged: {why}; import it again") from error


def _collection(folder: Path, manifest: dict[str, Any], *, verify: bool) -> Collection:
    reader = _Reader(folder, manifest["files"], verify)
    names = {key: reader.texts(key) for key in TABLES}
    sizes = {key: len(texts) for key, texts in names.items()}
    shards = [
        _checked_shard(_Reader(folder, entry["files"], verify), sizes, f"shard {number}")
        for number, entry in enumerate(manifest["shards"])
    ]
    for key, count in {**sizes, "images": sum(map(len, shards))}.items():
        if manifest[key] != count:
            raise ValueError(f"its manifest says {manifest[key]!r} {key}, and it has {count}")
    return Collection(
        shards=tuple(shards),
        tag_names=tuple(names["tags"]),
        owner_names=names["owners"],
        group_names=names["groups"],
        groups=reader.csr("memberships", sizes["owners"], sizes["groups"]),
        concept_names=tuple(names["concepts"]),
        images_root=_text_or_none(manifest["images_root"]),
    )


def _checked_shard(reader: "_Reader", sizes: dict[str, int], name: str) -> Shard:
    shard = _shard(reader, sizes["tags"], sizes["concepts"])
    check_stored(shard, Shard, Sizes(dict(sizes), all_numbers=reader.verify), name)
    return shard


def _shard(reader: "_Reader", n_tags: int, n_concepts: int) -> Shard:
    owner = reader.array("owner")
    n_rows = len(owner)
    return Shard(
        ids=reader.texts("ids"),
        owner=owner,
        tags=reader.csr("tags", n_rows, n_tags),
        features=reader.array("features") if "features" in reader.files else None,
        truth=reader.csr("truth", n_rows, n_concepts) if n_concepts else None,
        paths=reader.texts("paths") if "paths.data" in reader.files else None,
        titles=reader.texts("titles") if "titles.data" in reader.files else None,
        has_features=reader.array("has_features") if "has_features" in reader.files else None,
    )


def _text_or_none(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"images_root is {value!r}, not text")
    return value


@dataclass(frozen=True)
class _Reader:
    """Reads the arrays that one part of the manifest lists."""

    folder: Path
    files: dict[str, Any]
    verify: bool

    def array(self, key: str) -> Array:
        return load_array(self.folder, self.files[key], verify=self.verify)

    def texts(self, key: str) -> Texts:
        found = Texts(self.array(f"{key}.data"), self.array(f"{key}.offsets"))
        with _naming(key):
            found.validate()
        return found

    def csr(self, key: str, n_rows: int, n_columns: int) -> SparseRows:
        indptr, indices = self.array(f"{key}.indptr"), self.array(f"{key}.indices")
        ones = np.ones(indices.shape, dtype=np.int8)
        with _naming(key):
            return checked_csr(ones, indices, indptr, (n_rows, n_columns))


@contextmanager
def _naming(key: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error


def _csr_files(key: str, matrix: SparseRows) -> dict[str, Array]:
    return {f"{key}.indptr": matrix.indptr, f"{key}.indices": matrix.indices}


def _text_files(key: str, texts: Texts) -> dict[str, Array]:
    first, last = texts.offsets[0], texts.offsets[-1]
    return {f"{key}.data": texts.data[first:last], f"{key}.offsets": texts.offsets - first}


def _packed(texts: Iterable[str]) -> Texts:
    return texts if isinstance(texts, Texts) else Texts.of(texts)
