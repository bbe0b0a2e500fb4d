"""The groups of the owners, from a table of memberships."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import IntArray, SparseRows
from sugartag.collection.readers.batch import Columns
from sugartag.collection.readers.names import Names
from sugartag.collection.readers.table import Table, read_table
from sugartag.collection.vocabulary import clean_all
from sugartag.engine.base import Progress

COLUMNS = Columns(required=("owner", "group"))
MOST_PENDING = 1 << 20
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
    return Memberships((), _matrix(np.empty(0, dtype=np.int64), n_owners, 0), 0)


def read_groups(path: Table, owners: Names, progress: Progress | None) -> Memberships:
    """Read a table of memberships; rows that repeat count once."""
    names = Names()
    pairs = np.empty(0, dtype=np.int64)
    pending: list[IntArray] = []
    skipped = 0
    for batch in read_table(path, COLUMNS):
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
    return Memberships(tuple(names), _matrix(pairs, len(owners), len(names)), skipped)


def _matrix(pairs: IntArray, n_owners: int, n_groups: int) -> SparseRows:
    owner, group = np.divmod(pairs, _MOST_GROUPS)
    ones = np.ones(len(pairs), dtype=np.int8)
    return sparse.csr_array((ones, (owner, group)), shape=(n_owners, n_groups))
