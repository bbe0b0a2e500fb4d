"""Who tags what: the implicit package's alternating least squares on owners x tags.

A reference that never looks at an image: tags are scored by what their owner uses. An owner
uses a tag with a confidence that grows with the number of images; a few factors for each owner and
each tag explain the uses. Nobody's images are each an owner of their own.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from sugartag._extras import optional
from sugartag._rules import Shape, Within
from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine
from sugartag.linalg.sparse_rows import row_number_of_entries
from sugartag.methods.settings import require_counts, require_positive

ROWS_AT_ONCE = 256
"""Images without a known owner that are solved for in one step."""


@dataclass(frozen=True, eq=False)
class FittedImplicitALS:
    """The factors of owners and tags."""

    gives_whole_sets: ClassVar[bool] = False

    owner_factors: Annotated[FloatArray, Shape("owners", "factors")]
    """Owners x factors, float32."""
    tag_factors: Annotated[FloatArray, Shape("tags", "factors")]
    """Tags x factors, float32."""
    average: Annotated[FloatArray, Shape("factors")]
    """The mean factors of all owners, for images of which neither owner nor tags are known."""
    regularization: Annotated[float, Within(0)]
    """lambda of the factors."""
    confidence: Annotated[float, Within(0)]
    """alpha: how much more a use counts than an absence, for one image."""

    @property
    def floor(self) -> float:
        """Zero: what the factors aim at for a tag that is not used."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return how well each tag fits the owner.

        An unknown owner is taken for one with this image only; with ``strangers_only`` all are.
        """
        n_owners = len(self.owner_factors)
        is_known = (rows.owner < n_owners) & (not strangers_only)
        padded = np.concatenate([self.owner_factors, self.average[None, :]])
        factors = padded[np.where(is_known, rows.owner, n_owners)]
        alone = np.flatnonzero(~is_known & (np.diff(rows.tags.indptr) > 0))
        for start in range(0, len(alone), ROWS_AT_ONCE):
            part = alone[start : start + ROWS_AT_ONCE]
            factors[part] = self.folded_in(rows.tags[part])
        found: FloatArray = factors.astype(np.float64) @ self.tag_factors.T.astype(np.float64)
        return found.astype(np.float32)

    def folded_in(self, tags: SparseRows) -> FloatArray:
        """Return the factors of owners whose only image has these tags: the same least squares."""
        of_tag = self.tag_factors.astype(np.float64)
        n_factors = of_tag.shape[1]
        common = of_tag.T @ of_tag + self.regularization * np.eye(n_factors)
        systems = np.tile(common, (tags.shape[0], 1, 1))
        wanted = np.zeros((tags.shape[0], n_factors))
        used = of_tag[tags.indices]
        image = row_number_of_entries(tags)
        # The package takes p = 1 and c = alpha r where r is not 0, and p = 0 and c = 1 elsewhere.
        np.add.at(systems, image, (self.confidence - 1) * used[:, :, None] * used[:, None, :])
        np.add.at(wanted, image, self.confidence * used)
        solved: FloatArray = np.linalg.solve(systems, wanted[:, :, None])[:, :, 0]
        return solved


@dataclass(frozen=True)
class ImplicitALS:
    """Factorises who uses which tag, with the implicit package."""

    name: ClassVar[str] = "implicit-als"
    summary: ClassVar[str] = "The owner's other tags alone, by the implicit package's factors."
    fitted_type: ClassVar[type[FittedImplicitALS]] = FittedImplicitALS
    extra: ClassVar[str | None] = "implicit"
    """What to install to fit it."""

    factors: int = 192
    """Factors of each owner and tag; 100 in the package."""
    regularization: float = 5.0
    """lambda; 0.01 in the package. Hidden tags are found again far better by 5 to 10."""
    confidence: float = 1.0
    """alpha: how much more one use counts than an absence; 1 in the package, 40 in the paper on
    which it rests. Chosen with the regularization, by hidden tags."""
    iterations: int = 15
    """Alternations; 15 in the package."""
    log_counts: bool = False
    """Count an owner's uses of a tag by log2(1 + uses), not one by one; better on DOCUMERICA, worse
    on OpenClipart."""

    def __post_init__(self) -> None:
        require_counts(self, "factors", "iterations")
        require_positive(self, "regularization", "confidence")

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedImplicitALS:
        """Count who uses which tag in one pass, and factorise the counts on one thread."""
        package = optional("implicit.cpu.als", extra="implicit", needed_for=self.name)
        uses = engine.sum(count_uses, collection.blocks(), collection)
        if self.log_counts:
            uses.data = np.log2(1.0 + uses.data)
        # Several threads add in any order. The package warns of a BLAS that has them, too.
        with threadpool_limits(1):
            model = package.AlternatingLeastSquares(
                factors=self.factors,
                regularization=self.regularization,
                alpha=self.confidence,
                iterations=self.iterations,
                num_threads=1,
                random_state=int(rng.integers(2**31)),
            )
            # It asks for scipy's older kind of sparse matrix, and warns of any other.
            model.fit(sparse.csr_matrix(uses, dtype=np.float32), show_progress=False)
        users = np.diff(uses.indptr) > 0
        of_owner = np.asarray(model.user_factors, dtype=np.float32)
        average = of_owner[users].astype(np.float64).mean(axis=0) if users.any() else of_owner[0]
        return FittedImplicitALS(
            owner_factors=of_owner[: collection.n_owners].copy(),
            tag_factors=np.asarray(model.item_factors, dtype=np.float32),
            average=average.astype(np.float32),
            regularization=self.regularization,
            confidence=self.confidence,
        )


def count_uses(block: Block, collection: Collection) -> SparseRows:
    """Return owners x tags: on how many images of the block an owner uses a tag.

    After the owners, each image without an owner has a row of its own.
    """
    of_nobody = np.flatnonzero(collection.owner == collection.nobody)
    rows = collection.rows(block)
    images = np.arange(block.start, block.stop)
    alone = collection.n_owners + np.searchsorted(of_nobody, images)
    user = np.where(rows.owner == collection.nobody, alone, rows.owner)
    uses = sparse.csr_array(
        (np.ones(len(rows)), (user, np.arange(len(rows)))),
        shape=(collection.n_owners + len(of_nobody), len(rows)),
    )
    return sparse.csr_array(uses @ rows.tags.astype(np.float64))
