"""Import: tables and features in, a collection folder out, in memory that does not grow with rows.

The first pass writes shards as the rows come. What is only known at its end (how many owners
there are, which tags are used often enough, which id is where) is settled shard by shard in a
second pass over the folder. Held in memory throughout: the distinct tags, owners, groups and
concepts, and the memberships; never the ids or the rows.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sugartag._typing import BoolArray
from sugartag.collection.readers.batch import shown
from sugartag.collection.readers.columns import PhotoTable, unsplit
from sugartag.collection.readers.features import FeatureRows, open_features
from sugartag.collection.readers.ids import Duplicate, IdIndex
from sugartag.collection.readers.paths import PathCheck
from sugartag.collection.readers.related import (
    Memberships,
    TruthReader,
    no_memberships,
    read_groups,
)
from sugartag.collection.readers.shards import Names, Settlement, ShardRows, Vocabulary
from sugartag.collection.readers.table import Table, check_table
from sugartag.collection.readers.target import collection_folder, write_variants
from sugartag.collection.store import CollectionWriter
from sugartag.collection.texts import Texts
from sugartag.collection.vocabulary import TagCleaner, TagRules, find_variants, url_decoded
from sugartag.engine.base import Progress
from sugartag.errors import CollectionError, SettingsError

ROWS_PER_SHARD = 65_536
NO_RULES = TagRules()
_SCRATCH = "scratch"


@dataclass(frozen=True)
class Sources:
    """The files that a collection is made from."""

    table: Table
    """Columns image_id, owner, tags and, optionally, path and title."""
    features: Path | FeatureRows | None = None
    """A ``.npy`` of images x numbers, in the order of the table."""
    groups: Table | None = None
    """Columns owner, group."""
    truth: Table | None = None
    """Columns image_id, concept."""
    images_root: Path | None = None
    """The folder that the paths start from; if given, every path is checked."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """What the columns of the table are called, where not as we call them: theirs by ours."""
    separator: str | None = None
    """Between the tags of a text; None to find out."""

    def __post_init__(self) -> None:
        for name in ("table", "features", "groups", "truth", "images_root"):
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, Path(value))

    @property
    def places(self) -> tuple[Path, ...]:
        """The files and folders that are read, and must not be written over."""
        given = (self.table, self.features, self.groups, self.truth, self.images_root)
        paths = (one if isinstance(one, Path) else getattr(one, "path", None) for one in given)
        return tuple(path for path in paths if path is not None)


@dataclass(frozen=True)
class Imported:
    """What is known when all shards are written, for whoever adds files of his own."""

    folder: Path
    """The collection folder: whole, but still aside."""
    tag_names: Sequence[str]


@dataclass(frozen=True)
class ImportSummary:
    """What was imported."""

    images: int
    tags: int
    owners: int
    groups: int
    concepts: int
    features: int
    """Numbers that describe an image; 0 without features."""
    skipped_memberships: int
    """Rows of the groups table whose owner has no image."""
    untagged_images: int
    ownerless_images: int
    stop_tags: Mapping[str, int] = field(default_factory=dict)
    """Tags that were left out, and how often they were used."""
    variants: int = 0
    """Pairs of tags that look like one; they are listed in ``variants.csv``."""
    notes: tuple[str, ...] = ()
    """What columns and separators were taken for, and what looks odd."""


def import_collection(
    sources: Sources,
    out: str | Path,
    *,
    rules: TagRules = NO_RULES,
    overwrite: bool = False,
    rows_per_shard: int = ROWS_PER_SHARD,
    progress: Progress | None = None,
    also: Callable[[Imported], None] | None = None,
) -> ImportSummary:
    """Make a collection folder from tables; raise naming file, row and reason if they are bad.

    ``rules`` say how tags are written and which are left out. Nothing stands under the name
    ``out`` until all of it is written; ``also`` may add files of its own before that.
    """
    if rows_per_shard < 1:
        raise SettingsError(f"rows_per_shard must be at least 1, not {rows_per_shard}")
    for table in (sources.table, sources.groups, sources.truth):
        if table is not None:
            check_table(table)
    features = open_features(sources.features) if sources.features is not None else None
    paths = PathCheck(sources.images_root, on_disk=isinstance(sources.table, Path))
    with collection_folder(Path(out), sources.places, overwrite=overwrite) as folder:
        job = _Import(sources, folder, TagCleaner(rules), rows_per_shard, progress)
        job.read_rows(paths)
        summary, tag_names = job.finish(features, paths.root)
        shutil.rmtree(job.scratch)
        if also is not None:
            also(Imported(folder, tag_names))
    return summary


class _Import:
    """The passes of one import, in the order in which they are called."""

    def __init__(
        self,
        sources: Sources,
        folder: Path,
        cleaner: TagCleaner,
        rows_per_shard: int,
        progress: Progress | None,
    ) -> None:
        self.scratch = folder / _SCRATCH
        self._sources = sources
        self._photos = PhotoTable(sources.table, sources.columns, sources.separator)
        self._writer = CollectionWriter(folder)
        self._cleaner = cleaner
        self._vocabulary = Vocabulary(Names(cleaner), Names())
        self._rows_per_shard = rows_per_shard
        self._progress = progress
        self._index = IdIndex(
            self.scratch / "ids", rows_per_shard=rows_per_shard, ids_of_shard=self._ids_of_shard
        )
        self._shard_sizes: list[int] = []
        self._word = "line"
        self._has_paths = self._has_titles = False

    def read_rows(self, paths: PathCheck) -> None:
        """Write the shards, with owners and tags as they were numbered; check the ids."""
        rows = ShardRows(self._vocabulary, paths)
        for batch in self._photos.batches():
            self._word = batch.word
            if self._cleaner.rules.url_encoded:
                batch = batch.with_tags(url_decoded)
            start = 0
            while start < len(batch):
                stop = start + self._rows_per_shard - len(rows)
                rows.add(batch.part(start, stop))
                start = stop
                if len(rows) == self._rows_per_shard:
                    self._write(rows)
                    rows = ShardRows(self._vocabulary, paths)
            batch.report(self._progress)
        if len(rows):
            self._write(rows)
        self._refuse(self._index.sort())

    def finish(
        self,
        features: FeatureRows | None,
        images_root: str | None,
    ) -> tuple[ImportSummary, list[str]]:
        """Add groups, truth and features, settle the shards and write the manifest."""
        n_images = sum(self._shard_sizes)
        if features is not None:
            features.check_rows(self._sources.table, n_images)
        kept = self._kept_tags(self._cleaner.rules.min_uses)
        owners, concepts = self._vocabulary.owners, Names(self._cleaner.spelt)
        groups = self._memberships()
        truth = self._truth(concepts)
        untagged, ownerless = self._settle(kept, features, truth)
        tag_names = [name for name, stays in zip(self._vocabulary.tags, kept, strict=True) if stays]
        variants = find_variants(tag_names, self._vocabulary.uses[kept].tolist())
        write_variants(self._writer.folder, variants)
        self._writer.finish(
            tag_names=tag_names,
            owner_names=owners,
            group_names=groups.names,
            groups=groups.matrix,
            concept_names=concepts,
            images_root=images_root,
        )
        summary = ImportSummary(
            images=n_images,
            tags=len(tag_names),
            owners=len(owners),
            groups=len(groups.names),
            concepts=len(concepts),
            features=0 if features is None else features.dimensions,
            skipped_memberships=groups.skipped,
            untagged_images=untagged,
            ownerless_images=ownerless,
            stop_tags=self._cleaner.left_out,
            variants=len(variants),
            notes=(*self._photos.notes, *([warning] if (warning := unsplit(tag_names)) else [])),
        )
        return summary, tag_names

    def _write(self, rows: ShardRows) -> None:
        shard = rows.shard()
        self._has_paths |= shard.paths is not None
        self._has_titles |= shard.titles is not None
        self._writer.add_shard(shard)
        self._shard_sizes.append(len(shard))
        self._refuse(self._index.add(rows.ids, rows.lines))

    def _refuse(self, duplicate: Duplicate | None) -> None:
        if duplicate is not None:
            raise CollectionError(
                f"{self._sources.table}, {self._word} {duplicate.second_line}: the image id "
                f"{shown(duplicate.image_id)} is on {self._word} {duplicate.first_line} already; "
                "give every image an id of its own"
            )

    def _ids_of_shard(self, number: int) -> Texts:
        return self._writer.ids(number)

    def _kept_tags(self, min_uses: int) -> BoolArray:
        kept = self._vocabulary.uses >= min_uses
        if len(kept) and not kept.any():
            raise CollectionError(
                f"{self._sources.table} has no tag with {min_uses} uses (the most used one has "
                f"{self._vocabulary.uses.max()}); lower --min-uses"
            )
        return kept

    def _memberships(self) -> Memberships:
        owners = self._vocabulary.owners
        if self._sources.groups is None:
            return no_memberships(len(owners))
        return read_groups(self._sources.groups, owners, self._progress)

    def _truth(self, concepts: Names) -> TruthReader | None:
        if self._sources.truth is None:
            return None
        truth = TruthReader(self.scratch / "truth", self._index, self._rows_per_shard, concepts)
        truth.read(self._sources.truth, self._progress)
        return truth

    def _settle(
        self, kept: BoolArray, features: FeatureRows | None, truth: TruthReader | None
    ) -> tuple[int, int]:
        """Bring every shard to its final state; count images without tags and without owner."""
        n_owners = len(self._vocabulary.owners)
        settlement = Settlement(self._writer, kept, n_owners, self._has_paths, self._has_titles)
        counts = np.zeros(2, dtype=np.int64)
        start = 0
        for number, size in enumerate(self._shard_sizes):
            counts += settlement.settle(number)
            if features is not None:
                target = self._writer.features_path(number)
                features.copy_rows(start, target, self._ids_of_shard(number))
                self._writer.describe_features(number)
            if truth is not None:
                truth.attach(self._writer, number, size)
            start += size
            if self._progress is not None:
                self._progress("finishing", start, sum(self._shard_sizes))
        return int(counts[0]), int(counts[1])
