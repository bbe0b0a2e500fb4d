"""The true concepts of the images, from a table with one row for each."""

from pathlib import Path

import numpy as np
from scipy import sparse

from sugartag._typing import IntArray, SparseRows
from sugartag.collection.readers.batch import Columns, shown
from sugartag.collection.readers.ids import IdIndex
from sugartag.collection.readers.names import Names
from sugartag.collection.readers.spill import Buckets
from sugartag.collection.readers.table import Table, read_table
from sugartag.collection.store import CollectionWriter
from sugartag.collection.vocabulary import clean_all
from sugartag.engine.base import Progress

COLUMNS = Columns(required=("image_id", "concept"))
ROWS_PER_LOOK_UP = 1 << 16
"""Ids looked up together: each look-up may visit every shard."""


class TruthReader:
    """Reads a truth table and gives the shards their true concepts."""

    def __init__(self, folder: Path, index: IdIndex, rows_per_shard: int, concepts: Names) -> None:
        self._pairs = Buckets(folder, width=2)
        self._index = index
        self._rows_per_shard = rows_per_shard
        self._concepts = concepts

    def read(self, path: Table, progress: Progress | None) -> None:
        """Sort the rows of the table by the shard of their image."""
        for batch in read_table(path, COLUMNS, rows_per_batch=ROWS_PER_LOOK_UP):
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
        truth = _matrix(self._pairs.read(number), (n_rows, len(self._concepts)))
        writer.attach_truth(number, truth)


def _matrix(pairs: IntArray, shape: tuple[int, int]) -> SparseRows:
    """Return ones where there is a pair, however often it is repeated."""
    row, column = np.divmod(np.unique(pairs[:, 0] * shape[1] + pairs[:, 1]), shape[1])
    ones = np.ones(len(row), dtype=np.int8)
    return sparse.csr_array((ones, (row, column)), shape=shape)
