"""A collection cut into sub-tensors, each with the graphs of its tags, images and users."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.graph.user_links import user_links
from sugartag.linalg.distances import unit_rows
from sugartag.linalg.knn_graph import gaussian_links, median_distance
from sugartag.linalg.laplacian import laplacian, symmetrised
from sugartag.linalg.neighbours import nearest_rows
from sugartag.linalg.sparse_rows import strongest_per_row
from sugartag.linalg.sylvester import GraphSylvester
from sugartag.methods.ttc.model import Loss, SubTensors
from sugartag.methods.ttc.triclusters import TriClusters


@dataclass(frozen=True, eq=False)
class Layout:
    """Who is in which cluster, and which image and user clusters meet in some image."""

    clusters: TriClusters
    image_pair: IntArray
    """The pair of every image."""
    pair_image_cluster: IntArray
    pair_user_cluster: IntArray
    tag_rows: tuple[IntArray, ...]
    """The members of each cluster, here and below."""
    image_rows: tuple[IntArray, ...]
    user_rows: tuple[IntArray, ...]

    @classmethod
    def of(cls, clusters: TriClusters, owner: IntArray) -> "Layout":
        """Find the pairs of the images."""
        n_users = int(clusters.user.max()) + 1
        found, pair = np.unique(
            clusters.image * n_users + clusters.user[owner], return_inverse=True
        )
        labels = (clusters.tag, clusters.image, clusters.user)
        members = (
            tuple(np.flatnonzero(label == n) for n in range(label.max() + 1)) for label in labels
        )
        return cls(clusters, pair, found // n_users, found % n_users, *members)

    @property
    def n_pairs(self) -> int:
        """How many pairs there are."""
        return len(self.pair_image_cluster)

    def images_of_pairs(self) -> tuple[IntArray, ...]:
        """Return the images of each pair."""
        return tuple(np.flatnonzero(self.image_pair == pair) for pair in range(self.n_pairs))

    def pair_table(self) -> IntArray:
        """Return image clusters x user clusters: the pair, the number of pairs where none is."""
        table = np.full((len(self.image_rows), len(self.user_rows)), self.n_pairs)
        table[self.pair_image_cluster, self.pair_user_cluster] = np.arange(self.n_pairs)
        return table


@dataclass(frozen=True, eq=False)
class Graphs:
    """The links inside clusters."""

    tags: tuple[GraphSylvester, ...]
    """Laplacian of each tag cluster."""
    images: tuple[SparseRows, ...]
    """Laplacian of each group of images: an image cluster, or a pair."""
    users: tuple[SparseRows, ...]
    """Affinity of each user cluster."""


def build_graphs(
    collection: Collection,
    layout: Layout,
    affinity: SparseRows,
    profiles: SparseRows,
    groups: tuple[IntArray, ...],
    *,
    neighbours: int,
    unit_features: bool,
    engine: Engine,
) -> Graphs:
    """Link tags by affinity, images by features and users by groups, each inside its cluster."""
    shared = (collection, groups, neighbours, unit_features)
    images = engine.map(link_images, row_blocks(len(groups), 1), *shared)
    return Graphs(
        tags=tuple(
            GraphSylvester.of(laplacian(_within(affinity, rows))) for rows in layout.tag_rows
        ),
        images=tuple(images),
        users=tuple(
            _user_affinity(collection, profiles, rows, neighbours) for rows in layout.user_rows
        ),
    )


def link_images(
    block: Block,
    collection: Collection,
    groups: tuple[IntArray, ...],
    neighbours: int,
    unit_features: bool,
) -> SparseRows:
    """Return the Laplacian of the graph of the images of one group."""
    images = groups[block.start]
    features = collection.features_at(images)
    rows = unit_rows(features) if unit_features else features
    own = np.arange(len(images))
    found = nearest_rows(rows, [rows], neighbours, query_labels=own, row_labels=own)
    links = gaussian_links(found, n_rows=len(images), bandwidth=median_distance(found))
    return laplacian(symmetrised(links))


def _user_affinity(
    collection: Collection, profiles: SparseRows, users: IntArray, neighbours: int
) -> SparseRows:
    """Return users x users of a cluster: shared groups, or tags where there are none."""
    owners = users[users < collection.nobody]
    links = user_links(
        sparse.csr_array(collection.groups[owners]),
        sparse.csr_array(profiles[owners]),
        np.arange(len(owners)),
        max_profile_links=neighbours + 1,
        strict=False,
    )
    strongest = symmetrised(strongest_per_row(links, neighbours + 1))
    # Nobody, who stands last, is linked with no one.
    ends = np.pad(strongest.indptr, (0, len(users) - len(owners)), mode="edge")
    whole = (len(users), len(users))
    return sparse.csr_array((strongest.data, strongest.indices, ends), shape=whole)


def _within(affinity: SparseRows, rows: IntArray) -> SparseRows:
    return sparse.csr_array(affinity[rows][:, rows])


def one_sub_tensor(
    layout: Layout,
    graphs: Graphs,
    tags: tuple[SparseRows, ...],
    owner: IntArray,
    cluster: int,
    pair: int,
    *,
    loss: Loss,
) -> tuple[SubTensors, IntArray, IntArray]:
    """Return one sub-tensor on its own, its images and its users.

    Fitted on posts, it holds the images of the pair and their owners; fitted on every cell, all
    images and users of its clusters.
    """
    posts = np.flatnonzero(layout.image_pair == pair)
    members = layout.user_rows[layout.pair_user_cluster[pair]]
    images: IntArray = posts
    users: IntArray = np.unique(owner[posts])
    graph = pair
    if loss == "full":
        graph = int(layout.pair_image_cluster[pair])
        images, users = layout.image_rows[graph], members
    inside = np.searchsorted(members, users)
    smooth_users = laplacian(_within(graphs.users[layout.pair_user_cluster[pair]], inside))
    chosen = sparse.csr_array(tags[cluster][posts])
    known = SubTensors(
        tags=(chosen,),
        pair_starts=np.array([0, len(posts)]),
        image=np.searchsorted(images, posts),
        owner=np.searchsorted(users, owner[posts]),
        is_fitted=_fitted_posts(tags, posts, loss),
        pair_image_cluster=np.zeros(1, np.int64),
        pair_user_cluster=np.zeros(1, np.int64),
        image_rows=(np.arange(len(images)),),
        user_rows=(np.arange(len(users)),),
        tag_graphs=(graphs.tags[cluster],),
        image_laplacian=graphs.images[graph],
        user_laplacian=smooth_users,
        image_graphs=(GraphSylvester.of(graphs.images[graph]),) if loss == "full" else (),
        user_graphs=(GraphSylvester.of(smooth_users),) if loss == "full" else (),
    )
    return known, images, users


def all_sub_tensors(
    layout: Layout, graphs: Graphs, tags: tuple[SparseRows, ...], owner: IntArray, *, loss: Loss
) -> SubTensors:
    """Return all sub-tensors together; image and user rows are those of the collection."""
    posts = np.argsort(layout.image_pair, kind="stable")
    sizes = np.bincount(layout.image_pair, minlength=layout.n_pairs)
    by_users = [laplacian(affinity) for affinity in graphs.users]
    is_full = loss == "full"
    return SubTensors(
        tags=tuple(sparse.csr_array(part[posts]) for part in tags),
        pair_starts=np.concatenate([[0], np.cumsum(sizes)]),
        image=posts,
        owner=owner[posts],
        is_fitted=_fitted_posts(tags, posts, loss),
        pair_image_cluster=layout.pair_image_cluster,
        pair_user_cluster=layout.pair_user_cluster,
        image_rows=layout.image_rows,
        user_rows=layout.user_rows,
        tag_graphs=graphs.tags,
        image_laplacian=_side_by_side(graphs.images, layout.image_rows),
        user_laplacian=_side_by_side(by_users, layout.user_rows),
        image_graphs=tuple(map(GraphSylvester.of, graphs.images)) if is_full else (),
        user_graphs=tuple(map(GraphSylvester.of, by_users)) if is_full else (),
    )


def _fitted_posts(tags: tuple[SparseRows, ...], posts: IntArray, loss: Loss) -> FloatArray:
    """Return 1 for each post that is fitted: all of them, or those with a tag."""
    if loss == "full":
        return np.ones(len(posts))
    n_tags = np.sum([np.diff(part.indptr) for part in tags], axis=0)
    fitted: FloatArray = (n_tags[posts] > 0).astype(np.float64)
    return fitted


def _side_by_side(parts: Sequence[SparseRows], rows: tuple[IntArray, ...]) -> SparseRows:
    """Return matrices of clusters as one over all members, in the members' own order."""
    whole = sparse.csr_array(sparse.block_diag(parts, format="csr"))
    order = np.argsort(np.concatenate(rows), kind="stable")
    made = sparse.csr_array(whole[order][:, order])
    made.sort_indices()
    return made
