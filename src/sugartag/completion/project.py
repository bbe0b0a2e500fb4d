"""One pass over the images: everything the completion problem needs of them.

The paper's H = D ×₁ Tᵀ ×₂ (I^m)ᵀ ×₃ (U^m)ᵀ never needs the tensor D. The slice of tag t is
``Σ (links of image i) ⊗ (links of its owner)`` over the images i that have the tag, before the
tags are mixed by T.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.features.normalise import visual_rows
from sugartag.graph.gram import LinkSums, link_sums
from sugartag.graph.image_links import ImageLinker
from sugartag.linalg.threads import run_parts

TAGS_PER_RUN = 64
"""Tags that a thread adds up in one go; each has its own slice of the tensor."""
ROWS_AT_ONCE = 4096
"""Images of one tag whose links are multiplied in one product."""
LINKS_KEPT = 1 << 23
"""Links collected before they are added to the tensor: each time the whole of it is walked."""


@dataclass(frozen=True, eq=False)
class Projection:
    """What one pass over the images leaves behind."""

    image_sums: LinkSums
    posts: FloatArray
    """Tags x anchor images x anchor users: H before its tags are mixed by T."""
    n_given: int
    """‖D‖²: how many tags the images of known owners have in all."""


@dataclass(frozen=True, eq=False)
class LinkedBlock:
    """The images of one block that take part, with their links."""

    tags: SparseRows
    owner: IntArray
    links: SparseRows
    sums: LinkSums


def project_images(
    collection: Collection,
    linker: ImageLinker,
    user_links: SparseRows,
    *,
    unit_features: bool,
    left_out: BoolArray,
    engine: Engine,
    dtype: type = np.float64,
) -> Projection:
    """Sum up all images but those left out.

    ``user_links`` has a row for each owner and an empty last one for unknown owners.
    """
    shape = (collection.n_tags, len(linker.anchors), user_links.shape[1])
    posts: FloatArray = np.zeros(shape, dtype=dtype)
    image_sums: LinkSums | None = None
    n_given = 0
    linked_blocks = engine.map(
        link_images, collection.blocks(), collection, linker, unit_features, left_out
    )
    waiting: list[LinkedBlock] = []
    for linked in linked_blocks:
        waiting.append(linked)
        if sum(block.links.nnz for block in waiting) >= LINKS_KEPT:
            _add_blocks(posts, waiting, user_links, threads=engine.threads)
            waiting = []
        image_sums = linked.sums if image_sums is None else image_sums + linked.sums
        of_somebody = linked.owner < user_links.shape[0] - 1
        n_given += linked.tags[np.flatnonzero(of_somebody)].nnz
    if image_sums is None:
        raise ValueError("there are no images to project")
    _add_blocks(posts, waiting, user_links, threads=engine.threads)
    return Projection(image_sums, posts, n_given)


def _add_blocks(
    posts: FloatArray, blocks: list[LinkedBlock], user_links: SparseRows, *, threads: int
) -> None:
    """Add the images of some blocks to the tensor."""
    if not blocks:
        return
    tags = sparse.csr_array(sparse.vstack([block.tags for block in blocks], format="csr"))
    links = sparse.csr_array(sparse.vstack([block.links for block in blocks], format="csr"))
    owner = np.concatenate([block.owner for block in blocks])
    add_posts(posts, tags, links, user_links[owner], threads=threads)


def link_images(
    block: Block,
    collection: Collection,
    linker: ImageLinker,
    unit_features: bool,
    left_out: BoolArray,
) -> LinkedBlock:
    """Link the images of one block to the anchors, without those left out."""
    rows = collection.rows(block)
    kept = np.flatnonzero(~left_out[block])
    links = linker.links(visual_rows(rows.features, unit_features)[kept])
    return LinkedBlock(rows.tags[kept], rows.owner[kept], links, link_sums(links))


def add_posts(
    posts: FloatArray,
    tags: SparseRows,
    links: SparseRows,
    user_links: SparseRows,
    *,
    threads: int = 1,
) -> None:
    """Add ``Σ y_i ⊗ links_i ⊗ user_links_i`` over the rows i, in place.

    Each tag touches only the anchors its images are linked to, which for a rare tag are few.
    """
    by_tag = tags.tocsc()
    images, users = links.astype(posts.dtype), user_links.astype(posts.dtype)
    used = np.flatnonzero(np.diff(by_tag.indptr))

    def add(run: slice) -> None:
        for tag in used[run]:
            with_tag = by_tag.indices[by_tag.indptr[tag] : by_tag.indptr[tag + 1]]
            for some in row_blocks(len(with_tag), ROWS_AT_ONCE):
                image_part = images[with_tag[some]].toarray()
                linked = np.flatnonzero(image_part.any(axis=0))
                user_part = users[with_tag[some]].toarray()
                posts[tag, linked] += image_part[:, linked].T @ user_part

    run_parts(add, row_blocks(len(used), TAGS_PER_RUN), threads)


def anchor_tags(
    collection: Collection, image: IntArray, user_of_image: IntArray, *, n_users: int
) -> sparse.coo_array[np.float64, tuple[int, int]]:
    """Return A₀ flattened, tags x (anchor images x anchor users): the anchors' own tags.

    ``user_of_image`` says which anchor user owns each anchor image, ``n_users`` meaning none.
    """
    tags = sparse.coo_array(
        sparse.vstack([collection.tags_of(slice(row, row + 1)) for row in image.tolist()])
    )
    number, tag = tags.coords
    user = user_of_image[number]
    owned = user < n_users
    columns = number[owned].astype(np.int64) * n_users + user[owned]
    shape = (collection.n_tags, len(image) * n_users)
    return sparse.coo_array((np.ones(len(columns)), (tag[owned], columns)), shape=shape)
