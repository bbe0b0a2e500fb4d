"""Small random completion problems, with the whole arrays the reference formulas want."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

import reference
from sugartag.completion import CompletionProblem, Penalties
from sugartag.graph.gram import LinkGrams, link_sums


@dataclass(frozen=True, eq=False)
class Literal:
    """A problem in the words of the paper: every matrix whole."""

    observed: np.ndarray
    prior: np.ndarray
    affinity: np.ndarray
    image_links: np.ndarray
    user_links: np.ndarray
    penalties: tuple[float, float, float, float]

    def objective(self, tensor):
        return reference.objective(tensor, *self._parts())

    def gradient(self, tensor):
        return reference.gradient(tensor, *self._parts())

    def updated(self, tensor):
        return reference.multiplicative_update(tensor, *self._parts())

    def _parts(self):
        return (
            self.observed,
            self.prior,
            self.affinity,
            self.image_links,
            self.user_links,
            self.penalties,
        )


def random_literal(rng, *, n_tags=5, n_images=12, n_users=7, m_images=4, m_users=3):
    """A random problem; the second anchor image is linked to nothing."""
    tags = (rng.random((n_images, n_tags)) < 0.4).astype(float)
    owner = rng.integers(0, n_users, n_images)
    image_links = rng.random((n_images, m_images)) * (rng.random((n_images, m_images)) < 0.6)
    image_links[:, 1] = 0.0
    affinity = np.eye(n_tags) + 0.3 * (rng.random((n_tags, n_tags)) < 0.3)
    return Literal(
        observed=reference.observed_tensor(tags, owner, n_users),
        prior=(rng.random((n_tags, m_images, m_users)) < 0.2).astype(float),
        affinity=np.maximum(affinity, affinity.T),
        image_links=image_links,
        user_links=rng.random((n_users, m_users)) * (rng.random((n_users, m_users)) < 0.7),
        penalties=tuple(10.0 ** rng.uniform(-3, 0.5, 4)),
    )


def fast_problem(literal, dtype=np.float64):
    """The same problem as the package states it."""
    alpha = literal.penalties[0]
    projected = reference.projected(
        literal.observed, literal.affinity, literal.image_links, literal.user_links
    )
    return CompletionProblem(
        target=(projected + alpha * literal.prior).astype(dtype),
        constant=float(np.sum(literal.observed**2) + alpha * np.sum(literal.prior**2)),
        tag_affinity=sparse.csr_array(literal.affinity),
        images=LinkGrams.of(link_sums(sparse.csr_array(literal.image_links))),
        users=LinkGrams.of(link_sums(sparse.csr_array(literal.user_links))),
        penalties=Penalties(*literal.penalties),
    )
