from dataclasses import replace

import numpy as np
import pytest

from sugartag.collection.store import open_collection, save_collection
from sugartag.collection.texts import Texts
from sugartag.evaluation.protocol import evaluate, method_rng, truth_task
from sugartag.methods.registry import make_method
from sugartag.reproduce.cache import Job, plain_values
from sugartag.reproduce.data import own_data
from sugartag.reproduce.jobs import Workplace, owners_shuffled, run_job

SMALL = {
    "preset": "repaired",
    "image_clusters": 4,
    "user_clusters": 2,
    "units_per_cluster": 1,
    "max_iterations": 5,
}
MEASURE = {"seed": 0, "top": 10, "replicates": 5, "queries": [0], "lengths": [5]}


@pytest.fixture(scope="module")
def place(collection, tmp_path_factory) -> Workplace:
    folder = tmp_path_factory.mktemp("jobs") / "photos"
    (shard,) = collection.shards
    titled = replace(shard, titles=Texts.of(f"title {n}" for n in range(len(shard))))
    save_collection(replace(collection, shards=(titled,)), folder)
    return Workplace.of(own_data(folder, seed=0), folder)


def found(place, kind, **asks):
    result = plain_values(run_job(Job(kind, "x", asks), place))
    assert result == plain_values(result)
    return result


def test_a_measurement_is_that_of_sugartag_evaluate(place, collection):
    result = found(place, "measure", method="sugar-tc", settings=SMALL, **MEASURE)

    expected = evaluate(
        make_method("sugar-tc", SMALL),
        truth_task(collection),
        engine=place.engine,
        rng=method_rng("sugar-tc", 0),
    )
    assert result["f"] == pytest.approx(expected.metrics.f_top[10], rel=1e-6)
    assert result["fit_seconds"] > 0


def test_shares_are_measured_as_if_each_had_its_own_fit(place):
    shares = found(place, "shares", method="sugar-tc", settings=SMALL, shares=[0.2, 0.8], **MEASURE)

    for share, point in zip([0.2, 0.8], shares["points"], strict=True):
        settings = {**SMALL, "image_share": share}
        alone = found(place, "measure", method="sugar-tc", settings=settings, **MEASURE)
        assert point["f"] == alone["f"]
        assert point["concept_f"] == alone["concept_f"]


def test_only_sugar_tc_has_shares(place):
    result = found(place, "shares", method="tag-vote", settings={}, shares=[0.2], **MEASURE)

    assert result["failed"].startswith("tag-vote has no share")


def test_trials_follow_one_another(place):
    first = found(place, "trial", method="linear-probe", hide=0.3, seed=0, done=[])
    second = found(place, "trial", method="linear-probe", hide=0.3, seed=0, done=[first])

    assert first["settings"] == {}
    assert second["settings"] != {}
    assert 0 < first["score"] < 1


def test_stages_have_time_and_memory(place):
    result = found(place, "stages", method="ttc2", seed=0, top=10)

    assert list(result["stages"]) == ["clustering", "adjacency", "completion", "assignment"]
    for stage in result["stages"].values():
        assert stage["seconds"] > 0
        assert stage["mb"] >= 0


def test_the_stages_of_some_methods_are_not_known(place):
    assert "has no known stages" in found(place, "stages", method="lr", seed=0, top=10)["failed"]


WORLD = {"n_images": 120, "n_tags": 40, "n_owners": 20, "n_groups": 6, "n_topics": 2}


def followed(place, **settings):
    asked = {"image_clusters": 4, "user_clusters": 2, "max_iterations": 6, **settings}
    return found(place, "converge", method="sugar-tc", seed=0, world=WORLD, settings=asked)


def test_the_objective_falls_to_the_lowest_from_a_positive_start(place):
    result = followed(place, preset="repaired", units_per_cluster=1)

    assert len(result["objectives"]) == 7
    assert np.all(np.diff(result["objectives"]) <= 0)
    assert len(result["falls"]) == 6
    assert min(result["falls"]) > 0
    assert result["rises"] == 0
    assert result["shape"][0] == 40
    assert result["lowest"] < result["nothing"]
    assert result["lowest"] < result["objectives"][-1]


def test_a_start_with_negative_entries_may_raise_the_objective(place):
    result = followed(place, preset="printed", units_per_cluster=2, max_iterations=30)

    assert result["rises"] > 0


def test_shuffled_owners_have_as_many_images_as_before(place):
    given = place.task.given

    other = owners_shuffled(given, 0)

    assert not np.array_equal(other.owner, given.owner)
    np.testing.assert_array_equal(np.bincount(other.owner), np.bincount(given.owner))
    np.testing.assert_array_equal(other.owner, owners_shuffled(given, 0).owner)


def test_pictures_have_tags_before_hidden_and_after(place):
    asks = {"methods": {"tag-vote": {}}, "count": 4, "top": 3, "hide": 0.3, "seed": 0}

    pictures = found(place, "pictures", **asks)["pictures"]

    assert len(pictures) == 4
    assert len({one["owner"] for one in pictures}) == 4
    names = set(open_collection(place.pictures).tag_names)
    for one in pictures:
        assert len(one["given"]) >= 3
        assert not set(one["given"]) & set(one["hidden"])
        assert len(one["after"]["tag-vote"]) <= 3
        assert names.issuperset(one["given"] + one["hidden"] + one["after"]["tag-vote"])
        assert one["title"].startswith("title ")


def test_a_job_that_cannot_be_done_says_why(place):
    settings = {"neighbours": 0}

    result = found(place, "measure", method="tag-vote", settings=settings, **MEASURE)

    assert "neighbours" in result["failed"]
