import numpy as np
import pytest

from sugartag.methods.sugar_plus import evidence_steps as module
from sugartag.methods.sugar_plus.evidence_steps import cells_in_steps


@pytest.mark.parametrize("n_edges", [1, 2, 7, 400])
def test_cells_are_summed_by_the_step_of_their_evidence(n_edges, monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 8)
    rng = np.random.default_rng(9)
    # Some cells are just where an edge is.
    evidence = rng.integers(-50, 50, (30, 11)).astype(np.float32)
    edges = np.unique(rng.integers(-40, 40, n_edges).astype(float))
    given, honest = rng.random(evidence.shape) < 0.3, rng.random(evidence.shape).astype(np.float32)
    slips = rng.random(11)

    found = cells_in_steps(edges, evidence, given, honest, slips, threads=2)

    place = np.searchsorted(edges, evidence)
    cells = np.ones(evidence.shape), given * honest, np.ones((30, 1)) * slips, evidence
    for sums, cell in zip(found, cells, strict=True):
        expected = np.bincount(place.ravel(), cell.ravel(), minlength=len(edges) + 1)
        np.testing.assert_allclose(sums, expected, rtol=1e-12)
