"""Some images of a collection: as a block function gets them, and as they are stored."""

from dataclasses import dataclass

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.texts import Texts
from sugartag.errors import CollectionError


@dataclass(frozen=True, eq=False)
class Rows:
    """A run of images, in memory, as a block function gets them."""

    tags: SparseRows
    """Images x tags, 1 where the owner gave the tag; float32."""
    owner: IntArray
    """The owner's index; the number of owners itself where the owner is not known."""
    features: FloatArray | None
    """Images x dimensions, float32."""
    position: IntArray
    """Row in the collection that a method was fitted on; its number of images if it was not there.
    """
    titles: Texts | None = None
    """What the owner called each image; None where nobody says."""

    def __len__(self) -> int:
        return len(self.owner)

    def at(self, chosen: IntArray) -> "Rows":
        """Return some of the rows, in the order given."""
        titles = self.titles
        return Rows(
            tags=self.tags[chosen],
            owner=self.owner[chosen],
            features=None if self.features is None else self.features[chosen],
            position=self.position[chosen],
            titles=None if titles is None else Texts.of(titles[i] for i in chosen.tolist()),
        )

    def features_like(self, n_features: int) -> FloatArray:
        """Return the features, or raise if a model's have another number of them an image."""
        if self.features is None or self.features.shape[1] != n_features:
            found = "no" if self.features is None else self.features.shape[1]
            raise CollectionError(
                f"these images have {found} feature numbers each, the model's have {n_features}; "
                "describe both with the same model"
            )
        return self.features


@dataclass(frozen=True, eq=False)
class Shard:
    """Some consecutive images of a collection, as they are stored."""

    ids: Texts
    owner: IntArray
    tags: SparseRows
    features: FloatArray | None = None
    truth: SparseRows | None = None
    paths: Texts | None = None
    titles: Texts | None = None
    position: IntArray | None = None
    """Where the images stand in another collection, if this one is seen from there."""

    def __len__(self) -> int:
        return len(self.owner)
