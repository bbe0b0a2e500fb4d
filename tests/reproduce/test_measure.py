import numpy as np
import pytest
from sklearn.metrics import f1_score

from sugartag.evaluation.protocol import evaluate, hidden_task, truth_task
from sugartag.evaluation.ranking import average_precision_at
from sugartag.evaluation.results import Measures as EvaluationMeasures
from sugartag.methods.registry import make_method
from sugartag.reproduce.measure import Measures, measured

REPLICATES, SEED = 30, 3
QUERIES, LENGTHS = (2, 7), (5, 20)


@pytest.fixture(scope="module", params=["truth", "hidden"])
def task(request, collection):
    return truth_task(collection) if request.param == "truth" else hidden_task(collection, 0.3, 1)


def found_by(name, task, engine, **changes):
    measures = Measures(
        **{
            "top": 10,
            "replicates": REPLICATES,
            "seed": SEED,
            "queries": QUERIES,
            "lengths": LENGTHS,
        }
        | changes
    )
    fitted = make_method(name).fit(task.given, engine=engine, rng=np.random.default_rng(0))
    return measured(fitted, task, measures, engine=engine), fitted


@pytest.mark.parametrize("name", ["original", "tag-vote", "linear-probe"])
def test_average_f_and_its_interval_are_those_of_evaluate(name, task, engine):
    found, _ = found_by(name, task, engine)

    metrics = evaluate(
        make_method(name),
        task,
        engine=engine,
        rng=np.random.default_rng(0),
        measures=EvaluationMeasures(bootstrap=REPLICATES, bootstrap_seed=SEED),
    ).metrics
    assert found["f"] == pytest.approx(metrics.f_top[10], abs=1e-12)
    assert found["interval"] == pytest.approx(metrics.intervals["f_top10"], abs=1e-12)
    assert len(found["replicates"]) == REPLICATES


def test_f_of_a_concept_is_that_of_scikit_learn(collection, engine):
    task = truth_task(collection)

    found, fitted = found_by("original", task, engine)

    rows = task.given.rows(slice(0, task.given.n_images))
    predicted = fitted.scores(rows) > 0
    truth = collection.truth_of(slice(0, collection.n_images)).toarray() > 0
    for concept, tag in list(task.concept_tag.items())[:8]:
        expected = f1_score(truth[:, concept], predicted[:, tag])
        assert found["concept_f"][concept] == pytest.approx(expected, abs=1e-12)
        assert found["concept_low"][concept] <= expected <= found["concept_high"][concept]


def test_the_average_is_over_the_concepts_with_a_positive(task, engine):
    found, _ = found_by("tag-vote", task, engine)

    known = [value for value in found["concept_f"] if value is not None]

    assert len(known) == np.count_nonzero(task.n_positives)
    assert found["f"] == pytest.approx(np.mean(known), abs=1e-12)


def test_queries_are_ranked_as_evaluate_ranks_concepts(task, engine):
    found, _ = found_by("linear-probe", task, engine)
    table = np.empty(task.shape, dtype=np.float32, order="F")
    evaluate(
        make_method("linear-probe"), task, engine=engine, rng=np.random.default_rng(0), table=table
    )

    for place, concept in enumerate(QUERIES):
        positives = task.positives_of(slice(0, task.given.n_images)).toarray()[:, concept] > 0
        for name, divisor in (("precision_paper", "retrieved"), ("precision_usual", "all")):
            expected = average_precision_at(table[:, concept], positives, LENGTHS, divisor=divisor)
            assert found[name][place] == pytest.approx(expected, abs=1e-12)


def test_nothing_is_said_of_queries_when_none_are_asked_for(collection, engine):
    found, _ = found_by("original", truth_task(collection), engine, queries=())

    assert "precision_paper" not in found
