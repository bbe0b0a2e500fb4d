"""Links of owners to the anchor users: shared groups (eq. 2), tag profiles where there are none."""

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.linalg.sparse_rows import damped_unit_rows, strongest_per_row


def group_links(groups: SparseRows, anchor_users: IntArray) -> SparseRows:
    """Return owners x anchor users: the Jaccard similarity of their groups; 0/0 is 0."""
    members = groups.astype(np.float64)
    sizes = np.asarray(members.sum(axis=1)).ravel()
    shared = sparse.coo_array(members @ members[anchor_users].T)
    owner, anchor = shared.coords
    unions = sizes[owner] + sizes[anchor_users[anchor]] - shared.data
    return sparse.csr_array((shared.data / unions, (owner, anchor)), shape=shared.shape)


def profile_links(profiles: SparseRows, anchor_users: IntArray, *, max_links: int) -> SparseRows:
    """Return owners x anchor users: the cosine of their tag profiles, the strongest kept."""
    directions = damped_unit_rows(profiles)
    cosines = sparse.csr_array(directions @ directions[anchor_users].T)
    return strongest_per_row(cosines, max_links)


def user_links(
    groups: SparseRows,
    profiles: SparseRows,
    anchor_users: IntArray,
    *,
    max_profile_links: int,
    strict: bool,
) -> SparseRows:
    """Return owners x anchor users, float64; an anchor user is linked with itself by 1.

    An owner in no group is linked by tag profile instead, unless ``strict``, where its row
    stays empty as the paper has it.
    """
    links = group_links(groups, anchor_users)
    if not strict:
        grouped = np.diff(groups.indptr) > 0
        similar = profile_links(profiles, anchor_users, max_links=max_profile_links)
        links = _rows_where(links, grouped) + _rows_where(similar, ~grouped)
    itself = sparse.csr_array(
        (np.ones(len(anchor_users)), (anchor_users, np.arange(len(anchor_users)))),
        shape=links.shape,
    )
    made = sparse.csr_array(links.maximum(itself))
    made.sort_indices()
    return made


def _rows_where(matrix: SparseRows, keep: BoolArray) -> SparseRows:
    weights: FloatArray = keep.astype(np.float64)
    return sparse.csr_array(sparse.diags_array(weights) @ matrix)
