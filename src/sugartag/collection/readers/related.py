"""Tables about the owners and images of another: memberships in groups, true concepts."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from sugartag._typing import IntArray, SparseRows
from sugartag.collection.readers.batch import Columns, shown
from sugartag.collection.readers.ids import Buckets, IdIndex
from sugartag.collection.readers.shards import Names
from sugartag.collection.readers.table import Table, read_table
from sugartag.collection.store import CollectionWriter
from sugartag.collection.vocabulary import clean_all
from sugartag.engine.base import Progress

MEMBERSHIPS = Columns(required=("owner", "group"))
TRUTH = Columns(required=("image_id", "concept"))
MOST_PENDING = 1 << 20
ROWS_PER_LOOK_UP = 1 << 16
"""Ids looked up together: each look-up may visit every shard."""
_MOST_GROUPS = 1 << 32


@dataclass(frozen=True)
class Memberships:
    """Who is in which group."""

    names: tuple[str, ...]
    """Groups with a member who has an image, in order of first appearance."""
    matrix: SparseRows
    """Owners x groups, ones."""
    skipped: int
    """Rows whose owner has no image."""


def no_memberships(n_owners: int) -> Memberships:
    """Return what stands for a groups table that was not given."""
    return Memberships((), _ones(np.empty(0, dtype=np.int64), 1, (n_owners, 0)), 0)


def read_groups(path: Table, owners: Names, progress: Progress | None) -> Memberships:
    """Read a table of memberships; rows that repeat count once."""
    names = Names()
    pairs = np.empty(0, dtype=np.int64)
    pending: list[IntArray] = []
    skipped = 0
    for batch in read_table(path, MEMBERSHIPS):
        texts = clean_all(batch.filled_texts("owner"))
        group = batch.filled_texts("group")
        owner = np.array([owners.get(text, 0) for text in texts], dtype=np.int64)
        member = np.flatnonzero(owner)
        skipped += len(batch) - len(member)
        numbers = names.numbers((group[index] for index in member.tolist()), len(member))
        pending.append((owner[member] - 1) * _MOST_GROUPS + numbers - 1)
        if sum(map(len, pending)) > MOST_PENDING:
            pairs, pending = np.unique(np.concatenate([pairs, *pending])), []
        batch.report(progress)
    pairs = np.unique(np.concatenate([pairs, *pending]))
    matrix = _ones(pairs, _MOST_GROUPS, (len(owners), len(names)))
    return Memberships(tuple(names), matrix, skipped)


class TruthReader:
    """Reads a truth table and gives the shards their true concepts."""

    def __init__(self, folder: Path, index: IdIndex, rows_per_shard: int, concepts: Names) -> None:
        self._pairs = Buckets(folder, width=2)
        self._index = index
        self._rows_per_shard = rows_per_shard
        self._concepts = concepts

    def read(self, path: Table, progress: Progress | None) -> None:
        """Sort the rows of the table by the shard of their image."""
        for batch in read_table(path, TRUTH, rows_per_batch=ROWS_PER_LOOK_UP):
            ids = clean_all(batch.filled_texts("image_id"))
            concept = self._concepts.numbers(batch.filled_texts("concept"), len(batch)) - 1
            rows, known = self._index.rows_of(ids)
            if not known.all():
                bad = int(np.flatnonzero(~known)[0])
                raise batch.error(
                    bad, f"no image has the id {shown(ids[bad])}; use ids of the imported table"
                )
            shard, row = np.divmod(rows, self._rows_per_shard)
            self._pairs.add(shard, np.column_stack([row, concept]))
            batch.report(progress)

    def attach(self, writer: CollectionWriter, number: int, n_rows: int) -> None:
        """Write the true concepts of one shard."""
        n_concepts = len(self._concepts)
        row, concept = self._pairs.read(number).T
        pairs = np.unique(row * n_concepts + concept)
        writer.attach_truth(number, _ones(pairs, n_concepts, (n_rows, n_concepts)))


def _ones(pairs: IntArray, width: int, shape: tuple[int, int]) -> SparseRows:
    """Return ones at pairs of a row and a column, each written as row x width + column."""
    row, column = np.divmod(pairs, width)
    return sparse.csr_array((np.ones(len(pairs), dtype=np.int8), (row, column)), shape=shape)
