"""Logistic regressions of many columns, each against a solver that knows only one."""

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from sugartag.linalg import logistic
from sugartag.linalg.logistic import logistic_weights

PENALTY = 1.0


def drawn(rng, *, n=400, inputs=12, columns=9, rare=3.0):
    """Rows with a last one of ones, and soft chances of which some are rare."""
    rows = rng.normal(size=(n, inputs)) * np.linspace(0.1, 3.0, inputs)
    rows = np.column_stack([rows, np.ones(n)])
    weights = rng.normal(size=(inputs + 1, columns))
    weights[-1] -= np.linspace(0.0, rare, columns)
    return rows.astype(np.float32), expit(rows @ weights + rng.normal(size=(n, columns)))


def loss(weights, rows, chances, known=0.0):
    """The penalised loss of one column, and its gradient."""
    margin = known + rows @ weights
    value = np.logaddexp(0.0, margin).sum() - chances @ margin
    value += 0.5 * PENALTY * weights[:-1] @ weights[:-1]
    gradient = rows.T @ (expit(margin) - chances)
    gradient[:-1] += PENALTY * weights[:-1]
    return value, gradient


def lowest(rows, chances, known=0.0):
    start = np.zeros(rows.shape[1])
    return optimize.minimize(loss, start, (rows, chances, known), jac=True, tol=1e-10).fun


@pytest.mark.parametrize("seed", range(4))
def test_every_column_comes_near_the_minimum_of_its_own_regression(seed):
    rows, chances = drawn(np.random.default_rng(seed))

    found = logistic_weights(rows, chances, PENALTY, 40)

    for column, weights in zip(chances.T, found.T, strict=True):
        value, _ = loss(weights.astype(float), rows.astype(float), column)
        at_first = loss(np.zeros(len(weights)), rows.astype(float), column)[0]
        best = lowest(rows.astype(float), column)
        assert value - best < 1e-4 * (at_first - best)


def test_weights_add_to_what_is_known_without_them():
    rng = np.random.default_rng(8)
    rows, chances = drawn(rng)
    known = rng.normal(size=chances.shape, scale=2.0)

    found = logistic_weights(rows, chances, PENALTY, 40, known=known)

    for one, (column, weights) in enumerate(zip(chances.T, found.T, strict=True)):
        problem = rows.astype(float), column, known[:, one]
        at_first = loss(np.zeros(len(weights)), *problem)[0]
        best = lowest(*problem)
        assert loss(weights.astype(float), *problem)[0] - best < 1e-4 * (at_first - best)


def test_steps_never_raise_a_loss_however_rare_the_thing_is():
    rows, chances = drawn(np.random.default_rng(5), n=1_500, rare=12.0)
    chances[:, -1] = 0.0
    chances[:2, -1] = 1.0

    losses = [
        [
            loss(weights.astype(float), rows.astype(float), column)[0]
            for column, weights in zip(
                chances.T, logistic_weights(rows, chances, PENALTY, steps).T, strict=True
            )
        ]
        for steps in range(0, 12, 2)
    ]

    falls = -np.diff(np.array(losses), axis=0)
    assert (falls >= -1e-3 * np.abs(losses[0])).all()
    assert (np.array(losses[-1]) < np.array(losses[0])).all()


def test_a_column_does_not_depend_on_the_others_nor_on_threads(monkeypatch):
    rows, chances = drawn(np.random.default_rng(6), columns=20)
    monkeypatch.setattr(logistic, "COLUMNS_AT_ONCE", 8)

    together = logistic_weights(rows, chances, PENALTY, 10, threads=2)
    one_thread = logistic_weights(rows, chances, PENALTY, 10)
    alone = logistic_weights(rows, chances[:, 16:17], PENALTY, 10)

    np.testing.assert_array_equal(together, one_thread)
    np.testing.assert_allclose(together[:, 16:17], alone, rtol=2e-3, atol=2e-3)


def test_what_never_or_always_happens_gets_no_infinite_weights():
    rows, chances = drawn(np.random.default_rng(7), columns=2)
    chances[:, 0], chances[:, 1] = 0.0, 1.0

    found = logistic_weights(rows, chances, PENALTY, 10)

    assert np.isfinite(found).all()
    never, always = (rows @ found).T
    assert never.max() < -5
    assert always.min() > 5
