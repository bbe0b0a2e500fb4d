"""The completion problem (eq. 10.1) in anchor-sized arrays.

With ``M`` the linear operator of :meth:`CompletionProblem.operator` the objective is
``Θ(A) = c - 2⟨A, B⟩ + ⟨A, MA⟩``: three inner products, whatever the number of images. ``B`` is
``H + α A₀`` and ``c`` is ``‖D‖² + α ‖A₀‖²``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.completion.tag_basis import TagBasis
from sugartag.engine.base import row_blocks
from sugartag.graph.gram import LinkGrams
from sugartag.linalg.modes import apply_to_tags, inner
from sugartag.linalg.threads import run_parts

DENSE_FROM = 0.05
"""Share of entries from which T is multiplied as a dense matrix, which is then faster."""
SLAB_BYTES = 1 << 20
"""Tags are worked on in slabs of about this size, so that temporaries stay in cache."""


@dataclass(frozen=True)
class Penalties:
    """The weights of the objective's terms."""

    prior_weight: float
    """α: how strongly the anchors' own tags hold."""
    ridge: float
    """β: the price of large entries."""
    image_smoothness: float
    """λ₁: how alike linked images must be."""
    user_smoothness: float
    """λ₂: how alike linked users must be."""

    def relative_to(
        self, tag_affinity: SparseRows, images: LinkGrams, users: LinkGrams
    ) -> "Penalties":
        """Return these weights as multiples of what the data weigh.

        1 then gives a penalty the same mean diagonal as TᵀT ⊗ IᵀI ⊗ UᵀU, the data term, whatever
        the number of images, the density of the links and the width of the kernel.
        """
        n_tags = tag_affinity.shape[0]
        tags = float(tag_affinity.multiply(tag_affinity).sum()) / max(n_tags, 1)
        data = tags * _mean_diagonal(images.gram) * _mean_diagonal(users.gram)
        data = data if data > 0 else 1.0
        rough = [_mean_diagonal(side.roughness) for side in (images, users)]
        of_images, of_users = (data / one if one > 0 else data for one in rough)
        return Penalties(
            self.prior_weight * data,
            self.ridge * data,
            self.image_smoothness * of_images,
            self.user_smoothness * of_users,
        )


def _mean_diagonal(matrix: FloatArray) -> float:
    return float(np.diagonal(matrix).mean()) if len(matrix) else 0.0


@dataclass(frozen=True, eq=False)
class CompletionProblem:
    """What is known of the completed tensor A (tags x anchor images x anchor users)."""

    target: FloatArray
    """B = H + α A₀, tags x anchor images x anchor users."""
    constant: float
    """c = ‖D‖² + α ‖A₀‖²."""
    tag_affinity: SparseRows
    """T, symmetric."""
    images: LinkGrams
    users: LinkGrams
    penalties: Penalties
    threads: int = 1
    """Threads that solvers may use, each on its own slab of tags."""
    known_basis: TagBasis | None = None
    """The eigenbasis of T, if it was found while there was room; solvers that need it and are not
    given it find it beside the tensor."""

    @property
    def tag_basis(self) -> TagBasis:
        """The eigenbasis of T."""
        if self.known_basis is not None:
            return self.known_basis
        return TagBasis.of(self.tag_affinity, self.target.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.target.shape

    @property
    def diagonal_weight(self) -> float:
        """α + β."""
        return self.penalties.prior_weight + self.penalties.ridge

    def give_target(self) -> FloatArray:
        """Hand the target over to be overwritten; the problem keeps its shape and nan's for it.

        Nothing that needs the target can be asked of the problem any more: it would answer nan.
        """
        given = self.target
        nothing = np.broadcast_to(np.array(np.nan, dtype=given.dtype), given.shape)
        object.__setattr__(self, "target", nothing)
        return given

    def objective(self, tensor: FloatArray) -> float:
        """Return Θ(A)."""
        return self.objective_of(tensor, self.operator(tensor))

    def objective_of(self, tensor: FloatArray, applied: FloatArray) -> float:
        """Return Θ(A) given MA."""
        return self.constant - 2.0 * inner(tensor, self.target) + inner(tensor, applied)

    def gradient(self, tensor: FloatArray) -> FloatArray:
        """Return ∂Θ/∂A = 2 (MA - B)."""
        found = self.operator(tensor)
        found -= self.target
        found *= 2.0
        return found

    def operator(self, tensor: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return MA = G + (α+β) A + λ₁ A ×₂ (K_D - K_W) + λ₂ A ×₃ (K_D - K_W)."""
        found = self.tags_applied_twice(tensor, out)
        kind = found.dtype
        image_gram, user_gram = self.images.gram.astype(kind), self.users.gram.astype(kind)
        image_rough = self.penalties.image_smoothness * self.images.roughness.astype(kind)
        user_rough = self.penalties.user_smoothness * self.users.roughness.astype(kind)
        image_rough += self.diagonal_weight * np.eye(len(image_rough), dtype=kind)

        def apply(slab: slice) -> None:
            part = tensor[slab]
            found[slab] = image_gram @ (found[slab] @ user_gram)
            found[slab] += image_rough @ part
            found[slab] += part @ user_rough

        run_parts(apply, self.slabs(), self.threads)
        return found

    def tags_applied_twice(self, tensor: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return A ×₁ TᵀT."""
        made = np.empty(tensor.shape, dtype=tensor.dtype) if out is None else out
        apply_to_tags(self._tag_factors(tensor.dtype), tensor, made, threads=self.threads)
        return made

    def _tag_factors(self, kind: np.dtype[Any]) -> tuple[FloatArray | SparseRows, ...]:
        """Return what applies TᵀT: two sparse factors, or the product where T is hardly sparse."""
        n_tags = self.tag_affinity.shape[0]
        if self.tag_affinity.nnz > DENSE_FROM * n_tags**2:
            return (self._dense_square.astype(kind, copy=False),)
        affinity = self.tag_affinity.astype(kind)
        return affinity, affinity.T.tocsr()

    @cached_property
    def _dense_square(self) -> FloatArray:
        dense = self.tag_affinity.toarray()
        return dense.T @ dense

    def slabs(self, count: int | None = None) -> tuple[slice, ...]:
        """Return runs of tags, or of this many components, that fill about :data:`SLAB_BYTES`."""
        n_tags, n_images, n_users = self.shape
        rows = n_tags if count is None else count
        return row_blocks(rows, max(1, SLAB_BYTES // (n_images * n_users * self.target.itemsize)))


@dataclass(frozen=True, eq=False)
class AnchorSums:
    """The two sums of a completed tensor that eq. 12 scores by, float64."""

    by_image: FloatArray
    """A_[3]ᵀ: anchor images x tags, summed over users."""
    by_user: FloatArray
    """A_[2]ᵀ: anchor users x tags, summed over images."""

    @classmethod
    def of(cls, tensor: FloatArray) -> "AnchorSums":
        """Sum up a tensor."""
        return cls(
            by_image=tensor.sum(axis=2, dtype=np.float64).T,
            by_user=tensor.sum(axis=1, dtype=np.float64).T,
        )


@dataclass(frozen=True, eq=False)
class Completion:
    """A completed anchor tensor and how the solver got there."""

    tensor: FloatArray | None
    """None where only its sums were asked for."""
    objectives: tuple[float, ...]
    """The objective before the first step and after each one; for a direct solver, at the end, and
    with a truncated basis of the tags what it is at most."""
    iterations: int
    converged: bool
    residual: float
    """``‖MA - B‖ / ‖B‖`` for the unconstrained solver with all tag components, nan for the
    others."""
    gap: float
    """How far the objective may at most be above the minimum that the solver looks for, relative
    to it; nan where the solver has no such bound."""
    sums: AnchorSums | None = None
    """The tensor's sums, where they were asked for instead of it."""

    def anchor_sums(self) -> AnchorSums:
        """Return the tensor's sums over users and over images."""
        if self.sums is not None:
            return self.sums
        if self.tensor is None:
            raise ValueError("a completion has a tensor or its sums, and this one has neither")
        return AnchorSums.of(self.tensor)
