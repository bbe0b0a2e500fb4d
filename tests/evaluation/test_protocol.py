"""The driver's metrics are those anyone recomputes from its scores, by scikit-learn and loops."""

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score, ndcg_score

from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection, Rows
from sugartag.engine.local import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.evaluation.bootstrap import poisson_weights
from sugartag.evaluation.protocol import Task, evaluate, hidden_task, truth_task
from sugartag.evaluation.results import Measures, MethodResult, results_document, results_table
from sugartag.methods.original import Original
from sugartag.methods.tag_prior import TagPrior

N_IMAGES, N_TAGS, N_CONCEPTS = 90, 14, 6
EVERYTHING = slice(0, N_IMAGES)
FLOOR = 0.25


@dataclass(frozen=True, eq=False)
class LookedUpFitted:
    gives_whole_sets: ClassVar[bool] = False
    table: np.ndarray
    of_strangers: np.ndarray
    floor: float = FLOOR

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> np.ndarray:
        return (self.of_strangers if strangers_only else self.table)[rows.position]


@dataclass(frozen=True, eq=False)
class LookedUp:
    """Scores that were fixed beforehand: images x tags, for all to see."""

    name: ClassVar[str] = "looked-up"
    summary: ClassVar[str] = "Looks the scores up."
    fitted_type: ClassVar[type[Any]] = LookedUpFitted
    table: np.ndarray
    of_strangers: np.ndarray

    def fit(self, collection, *, engine, rng) -> LookedUpFitted:
        assert not collection.has_truth, "a method may not see what it is scored on"
        return LookedUpFitted(self.table, self.of_strangers)


def made_collection() -> Collection:
    rng = np.random.default_rng(8)
    tags = rng.random((N_IMAGES, N_TAGS)) < 0.3
    tags[:, 13] = False
    tags[:4, 13] = True
    truth = rng.random((N_IMAGES, N_CONCEPTS)) < 0.25
    truth[:9] = False
    names = [f"tag-{number}" for number in (3, 0, 7, 99, 12, 5)]
    return collection_from_arrays(
        sparse.csr_array(tags.astype(np.int8)),
        rng.integers(0, 9, N_IMAGES),
        truth=sparse.csr_array(truth.astype(np.int8)),
        concept_names=names,
    )


def made_scores(seed: int) -> np.ndarray:
    """Scores with many ties, some of them at the floor."""
    return np.random.default_rng(seed).integers(0, 12, (N_IMAGES, N_TAGS)).astype(np.float32) / 8


def looked_up() -> LookedUp:
    return LookedUp(made_scores(1), made_scores(2))


def run(method, task: Task, **options) -> tuple[MethodResult, np.ndarray]:
    """Return the result and the table of scores it was computed from."""
    table = np.full(task.shape, -7.0, dtype=np.float32, order="F")
    result = evaluate(
        method,
        task,
        engine=LocalEngine(),
        rng=np.random.default_rng(0),
        measures=Measures(**options),
        table=table,
    )
    return result, table


@pytest.fixture(params=["truth", "hidden"])
def task(request) -> Task:
    if request.param == "truth":
        return truth_task(made_collection())
    return hidden_task(made_collection(), 0.3, seed=4)


def positives(task: Task) -> np.ndarray:
    return task.positives_of(EVERYTHING).toarray() > 0


def mean_by_sklearn(metric, table: np.ndarray, relevant: np.ndarray) -> float:
    """Return the mean of a metric over the rows with a positive, each without its NaN."""
    values = []
    for scores, truth in zip(table, relevant, strict=True):
        kept = ~np.isnan(scores)
        if truth[kept].any():
            values.append(metric(truth[kept], scores[kept]))
    return float(np.mean(values))


def ndcg20(truth: np.ndarray, scores: np.ndarray) -> float:
    return ndcg_score([truth.astype(float)], [scores], k=20)


def f_by_loops(scores: np.ndarray, task: Task, k: int, images=range(N_IMAGES)) -> float:
    """Return mean F, one image and one concept at a time."""
    left_out = task.given.tags_of(EVERYTHING).toarray() > 0 if task.hidden else None
    chosen = []
    for image in images:
        best = sorted(range(N_TAGS), key=lambda tag: (-scores[image, tag], tag))
        best = [t for t in best if scores[image, t] > FLOOR]
        if left_out is not None:
            best = [t for t in best if not left_out[image, t]]
        chosen.append({task.given.tag_names[tag] for tag in best[:k]})
    values = []
    for concept, name in enumerate(task.concept_names):
        truth = positives(task)[images, concept]
        guess = np.array([name in names for names in chosen])
        if truth.any():
            both = np.sum(guess & truth)
            precision, recall = both / max(guess.sum(), 1), both / truth.sum()
            values.append(2 * precision * recall / (precision + recall) if both else 0.0)
    return float(np.mean(values))


def test_map_miap_and_ndcg_are_scikit_learns_on_the_saved_scores(task):
    result, table = run(looked_up(), task)

    relevant = positives(task)
    map_, miap = (
        mean_by_sklearn(average_precision_score, *arrays)
        for arrays in ((table.T, relevant.T), (table, relevant))
    )
    assert result.metrics.map == pytest.approx(map_, abs=1e-12)
    assert result.metrics.miap == pytest.approx(miap, abs=1e-12)
    ndcg = mean_by_sklearn(ndcg20, table.T, relevant.T)
    assert result.metrics.ndcg20 == pytest.approx(ndcg, abs=1e-12)


def test_f_is_what_literal_loops_over_the_whole_vocabulary_give(task):
    method = looked_up()

    result, _ = run(method, task, tops=(1, 3, 5, 10))

    expected = {k: f_by_loops(method.table, task, k) for k in (1, 3, 5, 10)}
    assert result.metrics.f_top == pytest.approx(expected, abs=1e-12)
    assert expected[1] != pytest.approx(expected[5])


def test_the_saved_scores_are_the_methods_own(task):
    method = looked_up()

    _, table = run(method, task)

    for concept, tag in task.concept_tag.items():
        kept = ~np.isnan(table[:, concept])
        np.testing.assert_array_equal(table[kept, concept], method.table[kept, tag])


def test_a_concept_without_a_tag_scores_the_floor_everywhere():
    task = truth_task(made_collection())
    missing = task.concept_names.index("tag-99")

    _, table = run(looked_up(), task)

    assert missing not in task.concept_tag
    np.testing.assert_array_equal(table[:, missing], FLOOR)


def test_what_is_still_given_is_left_out_of_the_table():
    task = hidden_task(made_collection(), 0.3, seed=4)

    _, table = run(looked_up(), task)

    still_given = task.given.tags_of(EVERYTHING).toarray()[:, list(task.concept_tag.values())] > 0
    np.testing.assert_array_equal(np.isnan(table), still_given)


def test_scores_of_tags_still_given_do_not_matter():
    task = hidden_task(made_collection(), 0.3, seed=4)
    method = looked_up()
    still_given = task.given.tags_of(EVERYTHING).toarray() > 0
    other = replace(method, table=np.where(still_given, np.float32(99.0), method.table))

    assert run(other, task)[0].metrics == run(method, task)[0].metrics


def test_concepts_of_hidden_tags_are_those_used_ten_times():
    collection = made_collection()

    task = hidden_task(collection, 0.3, seed=4)

    uses = collection.tags_of(EVERYTHING).toarray().sum(axis=0)
    expected = [name for name, n in zip(collection.tag_names, uses, strict=True) if n >= 10]
    assert list(task.concept_names) == expected
    assert "tag-13" not in expected


def test_a_tag_none_of_whose_uses_was_hidden_is_in_no_mean_over_concepts():
    collection = made_collection()
    task = hidden_task(collection, 0.02, seed=1)
    unscored = task.n_positives == 0
    assert 0 < unscored.sum() < len(unscored)

    result, table = run(looked_up(), task)

    expected = mean_by_sklearn(average_precision_score, table.T, positives(task).T)
    assert result.metrics.map == pytest.approx(expected, abs=1e-12)
    assert result.metrics.f_top[5] == pytest.approx(f_by_loops(looked_up().table, task, 5))


@pytest.mark.parametrize("rows", [1, 7, 90, 1000])
def test_the_size_of_blocks_changes_nothing(task, rows):
    whole, table = run(looked_up(), task, bootstrap=20)

    cut, cut_table = run(looked_up(), task, bootstrap=20, rows_per_block=rows)

    np.testing.assert_array_equal(cut_table, table)
    assert cut.metrics.f_top == whole.metrics.f_top
    assert cut.metrics.miap == pytest.approx(whole.metrics.miap, abs=1e-13)
    assert cut.metrics.map == whole.metrics.map
    for name, ends in whole.metrics.intervals.items():
        assert cut.metrics.intervals[name] == pytest.approx(ends, abs=1e-13)


def test_several_workers_give_the_same_metrics(task):
    alone, _ = run(looked_up(), task, rows_per_block=7)

    together = evaluate(
        looked_up(),
        task,
        engine=LocalEngine(workers=3),
        rng=np.random.default_rng(0),
        measures=Measures(rows_per_block=7),
    )

    assert together.metrics == alone.metrics


def test_a_whole_set_is_not_cut_to_the_length_of_the_list():
    collection = made_collection()
    task = truth_task(collection)

    result, _ = run(Original(), task, tops=(1, 10))

    assert result.metrics.f_top[1] == result.metrics.f_top[10] > 0
    given = collection.tags_of(EVERYTHING).toarray()
    f = []
    for concept in range(N_CONCEPTS):
        truth = positives(task)[:, concept]
        tag = task.concept_tag.get(concept)
        guess = np.zeros(N_IMAGES, dtype=bool) if tag is None else given[:, tag] > 0
        f.append(2 * np.sum(guess & truth) / (guess.sum() + truth.sum()))
    assert result.metrics.f_top[10] == pytest.approx(np.mean(f), abs=1e-12)


def test_the_given_tags_find_no_hidden_one():
    task = hidden_task(made_collection(), 0.3, seed=4)

    result, _ = run(Original(), task)

    assert result.metrics.f_top == {5: 0.0, 10: 0.0}


def test_changes_are_counted_against_the_given_tags():
    collection = made_collection()
    task = truth_task(collection)

    result, _ = run(looked_up(), task, tops=(1, 3))

    given, scores = collection.tags_of(EVERYTHING).toarray() > 0, looked_up().table
    added = removed = right = rightly_removed = 0
    for image in range(N_IMAGES):
        best = sorted(range(N_TAGS), key=lambda tag: (-scores[image, tag], tag))[:3]
        for concept, tag in task.concept_tag.items():
            true = positives(task)[image, concept]
            guessed = tag in best and scores[image, tag] > FLOOR
            added += guessed and not given[image, tag]
            right += guessed and not given[image, tag] and true
            removed += given[image, tag] and not guessed
            rightly_removed += given[image, tag] and not guessed and not true
    assert result.metrics.changes["add_precision"] == pytest.approx(right / added)
    assert result.metrics.changes["remove_precision"] == pytest.approx(rightly_removed / removed)
    assert 0 < result.metrics.changes["add_recall"] < 1


def test_hidden_tags_have_no_changes():
    result, _ = run(looked_up(), hidden_task(made_collection(), 0.3, seed=4))

    assert result.metrics.changes is None


def test_author_aware_metrics_are_those_of_the_strangers_scores(task):
    method = looked_up()

    both, table = run(method, task, author_aware=True)

    strangers, _ = run(replace(method, table=method.of_strangers), task)
    plain, plain_table = run(method, task)
    assert both.author_aware == strangers.metrics
    assert both.metrics == plain.metrics
    np.testing.assert_array_equal(table, plain_table)


def test_intervals_are_those_of_images_literally_repeated(task):
    result, table = run(looked_up(), task, bootstrap=8, bootstrap_seed=3)

    samples: dict[str, list[float]] = {"map": [], "miap": [], "f_top5": []}
    for weights in poisson_weights(3, 0, N_IMAGES, 8):
        again = np.repeat(np.arange(N_IMAGES), weights)
        scores, relevant = table[again], positives(task)[again]
        samples["map"].append(mean_by_sklearn(average_precision_score, scores.T, relevant.T))
        samples["miap"].append(mean_by_sklearn(average_precision_score, scores, relevant))
        samples["f_top5"].append(f_by_loops(looked_up().table, task, 5, images=again))
    for name, values in samples.items():
        lift = np.mean(values) - result.metrics.by_name()[name]
        ends = tuple(np.quantile(values, [0.025, 0.975]) - lift)
        assert result.metrics.intervals[name] == pytest.approx(ends, abs=1e-12)
    assert set(result.metrics.intervals) == {"f_top5", "f_top10", "map", "miap"}


def test_intervals_hold_the_value_they_are_of(task):
    result, _ = run(looked_up(), task, bootstrap=200)

    for name, (low, high) in result.metrics.intervals.items():
        assert low < result.metrics.by_name()[name] < high


def test_the_papers_variant_is_never_below_the_usual_one(task):
    result, _ = run(looked_up(), task, list_lengths=(2, 5, 40))

    paper, usual = result.metrics.map_paper_variant, result.metrics.map_at
    assert list(paper) == list(usual) == [2, 5, 40]
    assert all(paper[length] >= usual[length] for length in paper)


def test_scores_that_are_no_numbers_are_refused(task):
    broken = looked_up()
    broken.table[5] = np.nan

    with pytest.raises(SettingsError, match="not all numbers"):
        run(broken, task)


def test_a_table_of_another_shape_is_refused(task):
    table = np.empty((3, 3), dtype=np.float32)

    with pytest.raises(SettingsError, match=r"shape \(3, 3\)"):
        evaluate(Original(), task, engine=LocalEngine(), rng=np.random.default_rng(0), table=table)


def test_without_truth_one_is_told_to_hide():
    collection = replace(made_collection(), concept_names=())

    with pytest.raises(CollectionError, match="--hide"):
        truth_task(collection)


def test_hiding_next_to_nothing_is_refused():
    with pytest.raises(CollectionError, match="hid no tag used 10 times"):
        hidden_task(made_collection(), 1e-9, seed=1)


def test_progress_over_concepts_ends_at_all_of_them(task):
    heard = []

    evaluate(
        looked_up(),
        task,
        engine=LocalEngine(),
        rng=np.random.default_rng(0),
        progress=lambda what, done, total: heard.append((what, done, total)),
    )

    scored = int(np.count_nonzero(task.n_positives))
    assert heard[-1] == ("measure concepts", scored, scored)


def test_results_are_valid_json_without_nan(task):
    result, _ = run(TagPrior(per_owner=True), task, author_aware=True, bootstrap=3)
    unknown = replace(result, metrics=replace(result.metrics, map=float("nan")))

    document = results_document(
        [unknown], collection=task.counts(), task=task.described(), seed=0, machine={}
    )

    read = json.loads(json.dumps(document, allow_nan=False))
    assert read["methods"]["tag-prior"]["map"] is None
    assert read["methods"]["tag-prior"]["settings"] == {"per_owner": True}
    assert read["methods"]["tag-prior"]["author_aware"]["miap"] == result.metrics.miap


def test_the_table_marks_the_best_of_each_column(task):
    result, _ = run(Original(), task)
    good = replace(result.metrics, map=0.9, miap=0.1)
    bad = replace(result.metrics, map=0.2, miap=float("nan"))

    text = results_table([replace(result, metrics=bad), replace(result, name="b", metrics=good)])

    first, second = text.splitlines()[1:]
    assert "0.9000*" in second
    assert "0.1000*" in second
    assert "0.2000*" not in first
    assert len({len(line) for line in text.splitlines()}) == 1
