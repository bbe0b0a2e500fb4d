"""What tri-clustered tensor completion learned: the factors of its sub-tensors."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sugartag._rules import AnyNumber, Below, Rising, Shape, Within
from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.anchors.clusters import nearest_centres
from sugartag.anchors.units import position_in
from sugartag.collection.model import Collection, Rows
from sugartag.features.normalise import visual_rows
from sugartag.linalg.neighbours import nearest_rows


@dataclass(frozen=True, eq=False)
class FittedTTC:
    """The factors of all sub-tensors.

    A pair is an image cluster and a user cluster that meet in some image. Where sub-tensors share
    factors (TTC2) there is one set of image and user factors for all tag clusters and one set of
    tag factors for all pairs; where each has its own (TTC1), as many as there are of the others.
    """

    gives_whole_sets: ClassVar[bool] = False

    collection: Collection
    """The images that were fitted; new ones are compared with them."""
    shares_factors: bool
    tag_cluster: Annotated[IntArray, Shape("tags"), Below("tag clusters")]
    image_cluster: Annotated[IntArray, Shape("images"), Below("image clusters")]
    user_cluster: Annotated[IntArray, Shape("owners+1"), Below("user clusters")]
    """Of every owner and, at the end, of the unknown owner."""
    image_centres: Annotated[FloatArray, Shape("image clusters", "features")]
    pair_of_clusters: Annotated[
        IntArray, Shape("image clusters", "user clusters"), Below("pairs+1")
    ]
    """Image clusters x user clusters: the pair's number, the number of pairs if there is none."""
    tag_factors: Annotated[FloatArray, Shape("_pair sets", "tags", "tag rank")]
    """B: (1 or pairs) x tags x tag rank."""
    image_factors: Annotated[FloatArray, Shape("_sets", "images", "image rank")]
    """C: (1 or tag clusters) x images x image rank."""
    user_key: Annotated[IntArray, Shape("user keys"), Rising()]
    """What each user factor is of, ascending: an owner, or pair times owners-and-nobody + owner."""
    user_factors: Annotated[FloatArray, Shape("_sets", "user keys", "user rank")]
    """E: (1 or tag clusters) x user keys x user rank."""
    mean_user: Annotated[FloatArray, Shape("_sets", "pairs", "user rank")]
    """(1 or tag clusters) x pairs x user rank: the mean over the users of a pair."""
    n_users: Annotated[IntArray, Shape("pairs"), Within(0)]
    """Users of each pair."""
    cores: Annotated[FloatArray, Shape("tag clusters", "pairs", "_products", "tag rank")]
    """S: tag clusters x pairs x (user rank x image rank) x tag rank."""
    prior: Annotated[FloatArray, Shape("tags")]
    """What is added to the score of each tag: its share of the images, weighted."""
    ridge: Annotated[float, Within(0)]
    smoothness: Annotated[float, Within(0)]
    neighbours: Annotated[int, Within(1, 1_000_000)]
    unit_features: bool
    sums_users: bool
    """Whether the tensor is summed over the users of the pair and not read at the owner."""
    objective: Annotated[float, AnyNumber()]

    def validate(self) -> None:
        """Raise ``ValueError`` unless there are as many sets of factors as are shared out."""
        products = self.user_factors.shape[2] * self.image_factors.shape[2]
        n_sets = 1 if self.shares_factors else self.n_tag_clusters
        found = (len(self.tag_factors), len(self.image_factors), self.cores.shape[2])
        if found != (1 if self.shares_factors else self.n_pairs, n_sets, products):
            raise ValueError(f"has {found} sets of tag factors, image factors and products")
        if not (self.n_pairs and len(self.user_key)):
            raise ValueError("has no pairs, or no users")
        if not (self.pair_of_clusters < self.n_pairs).any(axis=0).any():
            raise ValueError("has no pair of an image cluster and a user cluster")

    @property
    def floor(self) -> float:
        """Zero: a tag that nobody used."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the completed tensor at the owner of each image, plus the prior.

        With ``strangers_only`` an image is scored as if it were a new one of an average user of
        its owner's cluster: by its own tags and by images of others that look like it.
        """
        settled = rows.position < self.collection.n_images
        stranger = np.zeros(len(rows), dtype=np.bool_)
        if strangers_only:
            stranger = rows.owner < self.collection.nobody
            settled &= ~stranger
        features = self._features(rows)
        pair = self._pairs(rows, features)
        users = self._users(rows, pair, stranger)
        images = self._images(rows, features, pair, users, settled, stranger)
        made = np.tile(self.prior.astype(np.float32), (len(rows), 1))
        for number in np.unique(pair[pair < self.n_pairs]):
            chosen = np.flatnonzero(pair == number)
            made[chosen] += self._reconstructed(number, users[:, chosen], images[:, chosen])
        return made

    @property
    def n_pairs(self) -> int:
        """How many pairs of an image and a user cluster have images."""
        return len(self.n_users)

    @property
    def n_tag_clusters(self) -> int:
        """How many clusters the tags are in."""
        return len(self.cores)

    def _pairs(self, rows: Rows, features: FloatArray) -> IntArray:
        """Return the pair of each image: the one it was fitted in, or the nearest of its owner's.

        An image without an owner, or of an owner whose cluster has no image, may be in any pair.
        """
        pair = np.full(len(rows), self.n_pairs)
        fitted = np.flatnonzero(rows.position < self.collection.n_images)
        at = rows.position[fitted]
        pair[fitted] = self.pair_of_clusters[
            self.image_cluster[at], self.user_cluster[rows.owner[fitted]]
        ]
        new = np.flatnonzero(rows.position >= self.collection.n_images)
        known = rows.owner < self.collection.nobody
        of_cluster = np.where(known, self.user_cluster[rows.owner], self.pair_of_clusters.shape[1])
        for cluster in np.unique(of_cluster[new]):
            chosen = new[of_cluster[new] == cluster]
            pair[chosen] = self._nearest_pairs(features[chosen], int(cluster))
        return pair

    def _nearest_pairs(self, features: FloatArray, user_cluster: int) -> IntArray:
        candidates = self._pair_of_each_image_cluster(user_cluster)
        usable = np.flatnonzero(candidates < self.n_pairs)
        nearest, _ = nearest_centres(features, self.image_centres[usable])
        found: IntArray = candidates[usable[nearest]]
        return found

    def _pair_of_each_image_cluster(self, user_cluster: int) -> IntArray:
        """Return a pair for each image cluster: with this user cluster, or with the most users."""
        table = self.pair_of_clusters
        if user_cluster < table.shape[1] and (table[:, user_cluster] < self.n_pairs).any():
            column: IntArray = table[:, user_cluster]
            return column
        most = np.append(self.n_users, 0)[table].argmax(axis=1)
        return np.take_along_axis(table, most[:, None], axis=1)[:, 0]

    def _users(self, rows: Rows, pair: IntArray, stranger: BoolArray) -> FloatArray:
        """Return (1 or tag clusters) x images x user rank: whom the tensor is read at."""
        inside = np.minimum(pair, self.n_pairs - 1)
        average: FloatArray = self.mean_user[:, inside]
        if self.sums_users:
            return average * self.n_users[inside][:, None]
        key = (
            rows.owner
            if self.shares_factors
            else pair * (self.collection.n_owners + 1) + rows.owner
        )
        place = position_in(self.user_key, key)
        is_new = rows.position >= self.collection.n_images
        unknown = stranger | (place == len(self.user_key))
        unknown |= is_new & (rows.owner == self.collection.nobody)
        found = self.user_factors[:, np.minimum(place, len(self.user_key) - 1)]
        return np.where(unknown[:, None], average, found)

    def _images(
        self,
        rows: Rows,
        features: FloatArray,
        pair: IntArray,
        users: FloatArray,
        settled: BoolArray,
        stranger: BoolArray,
    ) -> FloatArray:
        """Return (1 or tag clusters) x images x image rank, folded in where not fitted."""
        n_images = self.collection.n_images
        made = self.image_factors[:, np.minimum(rows.position, n_images - 1)]
        for number in np.unique(pair[~settled & (pair < self.n_pairs)]):
            chosen = np.flatnonzero(~settled & (pair == number))
            barred = np.where(stranger, rows.owner, self.collection.nobody)[chosen]
            near = self._near(features[chosen], barred, number)
            made[:, chosen] = self._folded_in(number, rows, chosen, users[:, chosen], near)
        return made

    def _near(self, features: FloatArray, barred: IntArray, pair: int) -> FloatArray:
        """Return the mean factors of the fitted images nearest each; 0 where there is none.

        Images of the ``barred`` owner are passed over; those without an owner never are.
        """
        images = self._companions(pair)
        owner = self.collection.owner[images]
        nobody = self.collection.nobody
        found = nearest_rows(
            features.astype(np.float32),
            [
                visual_rows(self.collection.features_at(images), self.unit_features).astype(
                    np.float32
                )
            ],
            self.neighbours,
            query_labels=barred,
            row_labels=np.where(owner == nobody, nobody + 1, owner),
        )
        factors = self.image_factors[:, images]
        padded = np.concatenate([factors, np.zeros_like(factors[:, :1])], axis=1)
        n_found = np.count_nonzero(np.isfinite(found.distance), axis=1)
        mean: FloatArray = padded[:, found.index].sum(axis=2) / np.maximum(n_found, 1)[:, None]
        return mean

    def _companions(self, pair: int) -> IntArray:
        """Return the fitted images whose factors can be compared with those of a pair."""
        cluster, of_users = np.argwhere(self.pair_of_clusters == pair)[0]
        chosen = self.image_cluster == cluster
        if not self.shares_factors:
            chosen &= self.user_cluster[self.collection.owner] == of_users
        return np.flatnonzero(chosen)

    def _folded_in(
        self, pair: int, rows: Rows, chosen: IntArray, users: FloatArray, near: FloatArray
    ) -> FloatArray:
        """Return the image factors that fit the image's tags and are near those that look alike.

        The same objective as in the fit, for one image with all else held fixed. An image without
        tags has nothing to fit.
        """
        tags = rows.tags[chosen].astype(np.float64)
        tagged = np.diff(tags.indptr) > 0
        n_sets, n_rows, rank = near.shape
        grams = np.zeros((n_sets, n_rows, rank, rank))
        pulls = np.zeros((n_sets, n_rows, rank))
        for cluster in range(self.n_tag_clusters):
            at = 0 if n_sets == 1 else cluster
            b = self._tag_factors(pair, cluster)
            core = self.cores[cluster, pair].reshape(users.shape[2], rank, -1)
            by_user = np.einsum("nc,cit->nit", users[at], core)
            y = tags[:, np.flatnonzero(self.tag_cluster == cluster)] @ b
            grams[at] += by_user @ (b.T @ b) @ by_user.transpose(0, 2, 1)
            pulls[at] += np.einsum("nit,nt->ni", by_user, y)
        grams *= tagged[:, None, None]
        grams += (self.ridge + self.smoothness) * np.eye(rank)
        goal = pulls + self.smoothness * near
        solved: FloatArray = np.linalg.solve(grams, goal[..., None])[..., 0]
        return solved

    def _reconstructed(self, pair: int, users: FloatArray, images: FloatArray) -> FloatArray:
        made = np.empty((users.shape[1], len(self.tag_cluster)), dtype=np.float32)
        products = users[:, :, :, None] * images[:, :, None, :]
        flat = products.reshape(*products.shape[:2], -1)
        for cluster in range(self.n_tag_clusters):
            at = 0 if len(flat) == 1 else cluster
            tags = np.flatnonzero(self.tag_cluster == cluster)
            made[:, tags] = (flat[at] @ self.cores[cluster, pair]) @ self._tag_factors(
                pair, cluster
            ).T
        return made

    def _tag_factors(self, pair: int, cluster: int) -> FloatArray:
        at = 0 if self.shares_factors else pair
        found: FloatArray = self.tag_factors[at, self.tag_cluster == cluster]
        return found

    def _features(self, rows: Rows) -> FloatArray:
        features = rows.features_of_all(self.collection.n_features, "tri-clustered completion")
        return visual_rows(features, self.unit_features)
