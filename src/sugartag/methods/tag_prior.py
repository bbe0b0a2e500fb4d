"""How common each tag is, whatever the image: the least that a ranking has to beat."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse

from sugartag._rules import Shape, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine


@dataclass(frozen=True, eq=False)
class FittedTagPrior:
    """The share of each tag."""

    gives_whole_sets: ClassVar[bool] = False

    share: Annotated[FloatArray, Shape("tags"), Within(0, 1)]
    """One number per tag, 0 to 1."""

    @property
    def floor(self) -> float:
        """Zero: the score of a tag that nobody used."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return the shares, once for each image; no neighbour is asked."""
        return np.tile(self.share.astype(np.float32), (len(rows), 1))


@dataclass(frozen=True)
class TagPrior:
    """Scores a tag by how common it is."""

    name: ClassVar[str] = "tag-prior"
    summary: ClassVar[str] = "How common each tag is, the same for every image."
    fitted_type: ClassVar[type[FittedTagPrior]] = FittedTagPrior

    per_owner: bool = False
    """Count the owners who use a tag and not the images that have it."""

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedTagPrior:
        """Count the tags in one pass."""
        if self.per_owner:
            return FittedTagPrior(_share_of_owners(collection, engine))
        return FittedTagPrior(images_with_each_tag(collection, engine) / collection.n_images)


def images_with_each_tag(collection: Collection, engine: Engine) -> FloatArray:
    """Return, for each tag, how many images have it; float64."""
    return engine.sum(_count_tags, collection.blocks(), collection)


def _count_tags(block: Block, collection: Collection) -> FloatArray:
    counts: IntArray = np.bincount(collection.tags_of(block).indices, minlength=collection.n_tags)
    return counts.astype(np.float64)


def _share_of_owners(collection: Collection, engine: Engine) -> FloatArray:
    """Return the share of the owners of images that use each tag.

    Of the images without a known owner, each counts as the only one of an owner of its own.
    """
    uses = engine.sum(_count_tags_by_owner, collection.blocks(), collection)
    users = np.bincount(uses[: collection.nobody].indices, minlength=collection.n_tags)
    by_nobody = uses[[collection.nobody]].toarray().ravel()
    images = np.bincount(collection.owner, minlength=collection.nobody + 1)
    n_owners = np.count_nonzero(images[: collection.nobody]) + images[collection.nobody]
    share: FloatArray = (users + by_nobody) / n_owners
    return share


def _count_tags_by_owner(block: Block, collection: Collection) -> SparseRows:
    rows = collection.rows(block)
    owns = sparse.csr_array(
        (np.ones(len(rows)), (rows.owner, np.arange(len(rows)))),
        shape=(collection.nobody + 1, len(rows)),
    )
    return sparse.csr_array(owns @ rows.tags)
