"""Tuning: the same number of trials for all, none twice, and the same whenever it is stopped."""

import math
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from planted import without_features
from sugartag.collection.model import Collection
from sugartag.collection.subset import hide_tags
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.evaluation import tuning
from sugartag.evaluation.protocol import Task, evaluate
from sugartag.evaluation.tuning import Trial, best, tune, tuning_task
from sugartag.methods.registry import make_method
from sugartag.methods.search_spaces import search_space


@pytest.fixture(scope="module")
def task(collection) -> Task:
    return tuning_task(collection, share=0.3, seed=4)


@pytest.fixture
def drawn_scores(monkeypatch) -> None:
    """Draw scores instead of measuring them, where only the settings tried matter."""
    score = iter(np.random.default_rng(1).random(1000).tolist())

    def measured(name: str, settings: dict[str, Any], *_: object) -> Trial:
        return trial(next(score), **settings)

    monkeypatch.setattr(tuning, "_measured", measured)


def trials_of(name: str, task: Task, **options: Any) -> list[Trial]:
    return list(tune(name, task, engine=LocalEngine(), **{"budget": 8, "seed": 4, **options}))


def without_seconds(trials: list[Trial]) -> list[Trial]:
    return [replace(trial, seconds=0.0) for trial in trials]


def trial(score: float, failed: str | None = None, **settings: Any) -> Trial:
    return Trial(settings, score, score, score, score, 1.0, failed)


def tags_of(collection: Collection) -> set[tuple[int, int]]:
    rows, tags = collection.tags_of(slice(0, collection.n_images)).nonzero()
    return set(zip(rows.tolist(), tags.tolist(), strict=True))


def test_the_first_trial_is_what_an_evaluation_of_the_defaults_gives(task):
    (first,) = trials_of("linear-probe", task, budget=1)

    rng = np.random.default_rng([4, zlib.crc32(b"linear-probe")])
    metrics = evaluate(make_method("linear-probe"), task, engine=LocalEngine(), rng=rng).metrics
    assert first.settings == {}
    assert (first.map, first.miap, first.f_top5) == (metrics.map, metrics.miap, metrics.f_top[5])
    assert first.score == pytest.approx((metrics.map + metrics.miap) / 2, abs=1e-12)


def test_every_method_has_as_many_trials_and_no_settings_twice(task):
    for name in ("tag-vote", "linear-probe"):
        made = trials_of(name, task, budget=7)

        assert len(made) == 7
        assert len({repr(sorted(one.settings.items())) for one in made}) == 7


def test_every_other_trial_changes_one_or_two_choices_of_the_best_so_far(task, drawn_scores):
    space = search_space("sugar-tc")
    made = trials_of("sugar-tc", task, budget=40)

    for k in range(2, 40, 2):
        centre = space.point_of(best(made[:k]).settings)
        point = space.point_of(made[k].settings)
        assert 1 <= sum(a != b for a, b in zip(centre, point, strict=True)) <= 2


@pytest.mark.parametrize("stopped_after", [1, 2, 5])
def test_stopping_and_continuing_changes_nothing(task, stopped_after):
    whole = trials_of("linear-probe", task, budget=6)

    rest = trials_of("linear-probe", task, budget=6, done=whole[:stopped_after])

    assert without_seconds(rest) == without_seconds(whole[stopped_after:])


def test_a_larger_budget_begins_with_the_trials_of_a_smaller_one(task):
    few, more = (trials_of("linear-probe", task, budget=n) for n in (4, 7))

    assert without_seconds(more[:4]) == without_seconds(few)


def test_another_seed_tries_other_settings(task, drawn_scores):
    one, other = (trials_of("linear-probe", task, seed=seed) for seed in (4, 5))

    assert [made.settings for made in one] != [made.settings for made in other]


def test_it_ends_when_there_is_nothing_left_to_try(task):
    assert [made.settings for made in trials_of("tag-prior", task)] == [{}, {"per_owner": True}]
    assert len(trials_of("original", task)) == 1
    assert trials_of("original", task, done=[trial(0.1)]) == []


def test_a_space_is_used_up_to_its_last_point(task, drawn_scores):
    made = trials_of("linear-probe", task, budget=1000)

    assert len(made) == search_space("linear-probe").size


def test_tuning_hides_other_tags_than_an_evaluation_with_the_same_seed(collection, task):
    evaluated = tags_of(hide_tags(collection, 0.3, 4).taken)

    hidden = tags_of(task.answers)

    assert hidden | tags_of(task.given) == tags_of(collection)
    shared = len(hidden & evaluated) / len(hidden)
    assert shared == pytest.approx(0.3, abs=0.1)


def test_the_truth_is_never_used(collection, task):
    (shard,) = collection.shards
    turned = replace(shard, truth=shard.truth[::-1])
    scrambled = tuning_task(replace(collection, shards=(turned,)), share=0.3, seed=4)

    assert not task.given.has_truth
    assert not task.answers.has_truth
    made = (trials_of("linear-probe", given, budget=3) for given in (task, scrambled))
    assert without_seconds(next(made)) == without_seconds(next(made))


def test_a_trial_that_cannot_be_fitted_is_recorded_and_counts(collection):
    blind = tuning_task(without_features(collection), share=0.3, seed=4)

    made = trials_of("tag-vote", blind, budget=3)

    assert len(made) == 3
    assert all("features" in (one.failed or "") and math.isnan(one.score) for one in made)
    assert best(made) is made[0]


@pytest.mark.parametrize("error", [CollectionError("too\n few"), np.linalg.LinAlgError("singular")])
def test_why_a_trial_failed_is_told_in_one_line(monkeypatch, task, error):
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(tuning, "evaluate", fails)

    (made,) = trials_of("tag-vote", task, budget=1)

    assert made.failed == " ".join(str(error).split())


def test_a_mistake_in_a_method_is_not_taken_for_a_bad_setting(monkeypatch, task):
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(tuning, "evaluate", fails)

    with pytest.raises(ZeroDivisionError):
        trials_of("tag-vote", task)


def test_a_trial_whose_numbers_are_not_finite_has_failed(monkeypatch, task):
    def nowhere(*arguments: Any, **options: Any) -> Any:
        result = evaluate(*arguments, **options)
        return replace(result, metrics=replace(result.metrics, miap=math.nan))

    monkeypatch.setattr(tuning, "evaluate", nowhere)

    (made,) = trials_of("tag-prior", task, budget=1)

    assert "MiAP nan" in (made.failed or "")
    assert math.isnan(made.map)


def test_the_best_is_the_highest_the_earlier_of_equals_and_never_one_that_failed():
    made = [trial(0.1), trial(math.nan, "no"), trial(0.3, a=1), trial(0.3, a=2), trial(0.2)]

    assert best(made) is made[2]
    assert best(made[1:2]) is made[1]
    with pytest.raises(SettingsError, match="no trials"):
        best([])


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("tag-vote", {"budget": 0}, "budget is 0"),
        ("magic", {}, "'magic'"),
        ("tag-vote", {"done": [trial(0.1, neighbours=21)]}, "--overwrite"),
    ],
)
def test_what_cannot_be_tuned_is_named(task, name, options, said):
    with pytest.raises(SettingsError, match=said):
        trials_of(name, task, **options)
