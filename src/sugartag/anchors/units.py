"""The choice of anchor units, in the readings the paper allows (its section III-B).

Clustering the image x owner matrix as printed is degenerate: every image has one owner, so all
of the matrix's singular values are 1. The default clusters images by features and owners by
groups, and takes the units nearest all those centres: 10 x (40 + 12) = 520, which is what the
paper's 10.1 GB of memory says.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.anchors.clusters import Clusters, image_clusters, nearest_in_group, owner_clusters
from sugartag.anchors.cocluster import cocluster_units, printed_units
from sugartag.anchors.owners import owner_vectors
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.errors import CollectionError

Reading = Literal["sum", "image", "product", "cocluster", "printed"]


@dataclass(frozen=True)
class AnchorLayout:
    """How many anchors, chosen how."""

    image_clusters: int
    user_clusters: int
    units_per_cluster: int
    reading: Reading
    max_units: int
    unit_features: bool


@dataclass(frozen=True, eq=False)
class AnchorUnits:
    """The anchor images, the anchor users, and who owns which anchor image."""

    image: IntArray
    """Rows of the anchor images, ascending."""
    user: IntArray
    """Owner indices of the anchor users, ascending."""
    user_of_image: IntArray
    """Position in ``user`` of each anchor image's owner; ``len(user)`` if no anchor user."""


def choose_units(
    collection: Collection,
    profiles: SparseRows,
    layout: AnchorLayout,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> AnchorUnits:
    """Choose the anchor units of a collection."""
    owned = (collection.owner < collection.nobody) & collection.described
    if not owned.any():
        raise CollectionError(
            "no image has an owner and features, so there are no (image, owner) units"
        )
    if layout.reading == "printed":
        chosen = printed_units(
            collection.owner,
            tags_per_image(collection),
            owned,
            count=layout.image_clusters + layout.user_clusters,
            per_cluster=layout.units_per_cluster,
            rng=rng,
        )
        return _with_their_owners(chosen, collection.owner)
    images = image_clusters(
        collection,
        layout.image_clusters,
        unit_features=layout.unit_features,
        engine=engine,
        rng=rng,
    )
    vectors = owner_vectors(collection.groups, profiles, rng=rng)
    owners = owner_clusters(vectors, layout.user_clusters, rng=rng)
    if layout.reading == "image":
        return _image_reading(collection, images, owners, owned, layout)
    if layout.reading == "product":
        chosen = _product_units(collection, images, owners, owned, layout)
    elif layout.reading == "cocluster":
        chosen = cocluster_units(
            collection.owner, images, owners, owned, per_cluster=layout.units_per_cluster, rng=rng
        )
    else:
        chosen = _sum_units(collection, images, owners, owned, layout)
    return _with_their_owners(chosen, collection.owner)


def tags_per_image(collection: Collection) -> IntArray:
    """Return how many tags each image has."""
    return np.concatenate([np.diff(shard.tags.indptr) for shard in collection.shards])


def _sum_units(
    collection: Collection,
    images: Clusters,
    owners: Clusters,
    owned: BoolArray,
    layout: AnchorLayout,
) -> IntArray:
    """Take the units nearest each image centre, then one for each owner nearest a user centre."""
    near_images = nearest_in_group(images.label, images.distance, layout.units_per_cluster, owned)
    users = _nearest_owners(collection, owners, layout.units_per_cluster)
    is_chosen_user = np.zeros(collection.n_owners + 1, dtype=bool)
    is_chosen_user[users] = True
    free = owned & is_chosen_user[collection.owner]
    free[near_images] = False
    near_users = nearest_in_group(collection.owner, images.distance, 1, free)
    return np.union1d(near_images, near_users)


def _image_reading(
    collection: Collection,
    images: Clusters,
    owners: Clusters,
    owned: BoolArray,
    layout: AnchorLayout,
) -> AnchorUnits:
    """Take the images of the image centres and, apart from them, the owners of the user centres."""
    chosen = nearest_in_group(images.label, images.distance, layout.units_per_cluster, owned)
    users = _nearest_owners(collection, owners, layout.units_per_cluster)
    return AnchorUnits(chosen, users, position_in(users, collection.owner[chosen]))


def _product_units(
    collection: Collection,
    images: Clusters,
    owners: Clusters,
    owned: BoolArray,
    layout: AnchorLayout,
) -> IntArray:
    """Take the units nearest each pair of an image and a user centre, no more than the cap."""
    cells = len(images.centres) * len(owners.centres)
    per_cell = min(layout.units_per_cluster, max(1, layout.max_units // cells))
    user_label = np.append(owners.label, 0)[collection.owner]
    distance = relative(images.distance) + relative(np.append(owners.distance, 0))[collection.owner]
    cell = images.label * len(owners.centres) + user_label
    chosen = nearest_in_group(cell, distance, per_cell, owned)
    nearest_first = np.lexsort((chosen, distance[chosen]))
    return np.sort(chosen[nearest_first][: layout.max_units])


def _nearest_owners(collection: Collection, owners: Clusters, count: int) -> IntArray:
    has_images = np.zeros(collection.n_owners + 1, dtype=bool)
    has_images[collection.owner] = True
    return nearest_in_group(owners.label, owners.distance, count, has_images[:-1])


def _with_their_owners(image: IntArray, owner: IntArray) -> AnchorUnits:
    users = np.unique(owner[image])
    return AnchorUnits(image, users, position_in(users, owner[image]))


def position_in(sorted_values: IntArray, wanted: IntArray) -> IntArray:
    """Return where each wanted value stands; the number of values where it does not."""
    place = np.searchsorted(sorted_values, wanted)
    padded = np.append(sorted_values, np.iinfo(np.int64).max)
    return np.where(padded[place] == wanted, place, len(sorted_values))


def relative(distance: FloatArray) -> FloatArray:
    """Divide distances by their mean, so that two kinds can be added."""
    mean = distance.mean()
    return distance / mean if mean > 0 else distance
