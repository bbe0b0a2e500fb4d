"""Units by co-clustering, on an association of images and owners that is not degenerate.

The paper's image x owner matrix falls apart into one star per owner. Counted by visual cluster
and owner cluster instead of by image and owner, the same matrix is dense and has a spectrum to
speak of; its spectral co-clusters are what the paper means by them.
"""

import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.anchors.clusters import Clusters
from sugartag.anchors.nearest import nearest_in_group


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
