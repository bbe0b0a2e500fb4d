"""Units by co-clustering: of the printed matrix, and of one that is not degenerate.

The paper's image x owner matrix falls apart into one star per owner. Counted by visual cluster
and owner cluster instead of by image and owner, the same matrix is dense and has a spectrum to
speak of; its spectral co-clusters are what the paper means by them.
"""

import logging
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.anchors.clusters import Clusters, k_means_centres, nearest_centres, nearest_in_group

logger = logging.getLogger(__name__)


def cocluster_units(
    owner: IntArray,
    images: Clusters,
    owners: Clusters,
    owned: BoolArray,
    *,
    per_cluster: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return the units nearest the centre of each co-cluster of image and owner clusters.

    There are as many co-clusters as owner clusters. A unit belongs to the co-cluster its image
    cluster is in, and is the nearer to its centre if its owner's cluster is in it too.
    """
    user_label = np.append(owners.label, 0)[owner]
    counts = np.zeros((len(images.centres), len(owners.centres)))
    np.add.at(counts, (images.label[owned], user_label[owned]), 1.0)
    of_image_cluster, of_user_cluster = spectral_coclusters(counts, rng=rng)
    group = of_image_cluster[images.label]
    stranger = group != of_user_cluster[user_label]
    distance = images.distance + images.distance.max() * stranger
    return nearest_in_group(group, distance, per_cluster * _clusters_each(of_image_cluster), owned)


def spectral_coclusters(
    association: FloatArray, *, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the co-cluster of each row and of each column of a non-negative matrix."""
    from sklearn.cluster import SpectralCoclustering

    count = min(association.shape)
    if count < 2:
        return np.zeros(association.shape[0], np.int64), np.zeros(association.shape[1], np.int64)
    smoothed = association + association.mean() / 10  # no empty rows, one connected graph
    model = SpectralCoclustering(count, random_state=int(rng.integers(2**31)))
    with threadpool_limits(1), warnings.catch_warnings():
        # Fewer distinct rows than clusters is no error here: some co-clusters stay empty.
        warnings.filterwarnings("ignore", message="Number of distinct clusters")
        model.fit(smoothed)
    return np.asarray(model.row_labels_), np.asarray(model.column_labels_)


def _clusters_each(labels: IntArray) -> int:
    """Return how many image clusters a co-cluster has on average, rounded up."""
    return int(np.ceil(len(labels) / len(np.unique(labels))))


def printed_units(
    owner: IntArray,
    n_tags_of: IntArray,
    owned: BoolArray,
    *,
    count: int,
    per_cluster: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return the units nearest each of ``count`` co-clusters of the image x owner matrix.

    Its entries count tags. Every row has one entry, so all singular values of the normalised matrix
    are 1 and any orthonormal basis is a set of singular vectors: one is drawn. In the embedding of
    spectral co-clustering every image lies where its owner lies, and ties go to the lower row.
    """
    logger.warning(
        "the matrix of images and owners has one entry a row: its co-clusters are arbitrary"
    )
    images = np.flatnonzero(owned & (n_tags_of > 0))
    users, place = np.unique(owner[images], return_inverse=True)
    weight = np.bincount(place, weights=n_tags_of[images])
    n_vectors = min(int(np.ceil(np.log2(max(count, 2)))), len(users) - 1)
    first = np.sqrt(weight / weight.sum())
    drawn = np.column_stack([first, rng.normal(size=(len(users), n_vectors))])
    vectors = np.linalg.qr(drawn)[0][:, 1:] / np.sqrt(weight)[:, None]
    if not vectors.shape[1]:
        vectors = np.zeros((len(users), 1))
    centres = k_means_centres(np.concatenate([vectors[place], vectors]), count, rng=rng)
    label, distance = nearest_centres(vectors, centres)
    group, far = np.zeros(len(owner), np.int64), np.zeros(len(owner))
    group[images], far[images] = label[place], distance[place]
    allowed = np.zeros(len(owner), dtype=np.bool_)
    allowed[images] = True
    return nearest_in_group(group, far, per_cluster, allowed)
