"""Classifiers of many concepts at once learn what scikit-learn's learn one by one."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from comparison import linear_classifiers
from comparison.linear_classifiers import logistic_scores, ridge_scores


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    inputs = np.hstack([rng.standard_normal((300, 6)), rng.random((300, 4)) < 0.2])
    inputs = np.hstack([inputs, inputs[:, :1]])  # One input twice: no inverse without a penalty.
    margin = inputs @ rng.standard_normal((11, 5)) - np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    labels = rng.random(margin.shape) < 1 / (1 + np.exp(-2 * margin))
    return inputs[:200], labels[:200], inputs[200:]


@pytest.mark.parametrize(("precision", "tolerance"), [(np.float64, 1e-3), (np.float32, 1e-2)])
def test_logistic_regression_is_that_of_scikit_learn(problem, precision, tolerance, monkeypatch):
    inputs, labels, others = problem
    monkeypatch.setattr(linear_classifiers, "PRECISION", precision)
    monkeypatch.setattr(linear_classifiers, "ACCURACY", 1e-7)

    found = logistic_scores(inputs, labels, others, [0.1, 10.0])

    for scores, penalty in zip(found, (0.1, 10.0), strict=True):
        for concept in range(labels.shape[1]):
            theirs = LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=2000)
            theirs.fit(inputs, labels[:, concept])
            expected = theirs.predict_proba(others)[:, 1]
            np.testing.assert_allclose(scores[:, concept], expected, atol=tolerance)


def test_the_usual_accuracy_is_enough_for_two_digits(problem):
    inputs, labels, others = problem

    (scores,) = logistic_scores(inputs, labels, others, [1.0])

    theirs = LogisticRegression(C=1.0, tol=1e-8, max_iter=2000).fit(inputs, labels[:, 2])
    np.testing.assert_allclose(scores[:, 2], theirs.predict_proba(others)[:, 1], atol=5e-3)


def test_ridge_is_that_of_scikit_learn(problem):
    inputs, labels, others = problem

    found = ridge_scores(inputs, labels, others, [0.5, 20.0])

    for scores, penalty in zip(found, (0.5, 20.0), strict=True):
        theirs = RidgeClassifier(alpha=penalty).fit(inputs, labels.astype(np.int64))
        np.testing.assert_allclose(scores, theirs.decision_function(others), atol=1e-8)


def test_a_concept_that_none_or_all_have_keeps_its_share(problem):
    inputs, labels, others = problem
    labels = labels.copy()
    labels[:, 0], labels[:, 1] = False, True

    (scores,) = logistic_scores(inputs, labels, others, [1.0])

    assert (scores[:, 0] == 0).all()
    assert (scores[:, 1] == 1).all()
    assert np.ptp(scores[:, 2]) > 0.1


def test_a_concept_told_by_one_input_alone_still_ends(problem):
    inputs, _, others = problem

    (scores,) = logistic_scores(inputs, inputs[:, [0]] > 0, others, [1e-3])

    assert ((scores[:, 0] > 0.5) == (others[:, 0] > 0)).mean() > 0.97
