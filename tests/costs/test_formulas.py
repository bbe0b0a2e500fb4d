"""Estimates follow the sizes as the work does."""

import json
from dataclasses import replace

import pytest

from sugartag.costs.advice import NOMINAL
from sugartag.costs.calibration import Calibration, shipped_calibration
from sugartag.costs.estimate import Estimate, estimate_fit
from sugartag.costs.families import Job, every_so_many, is_counted
from sugartag.costs.size import Size, imagined_size
from sugartag.costs.sugar_plus_room import Grown, kept_owners
from sugartag.costs.sugar_plus_shape import Shape, distinct_owners, own_tags
from sugartag.costs.work import FIXED_CALLS, Stage
from sugartag.engine.dask import FAN_IN
from sugartag.engine.room import SMALL
from sugartag.errors import SettingsError
from sugartag.methods.registry import METHODS, make_method
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_plus.kept_owners import OWNER_CELLS, SCRATCH_CELLS

COUNTED = [name for name in METHODS if is_counted(make_method(name))]
MANY_CORES = replace(NOMINAL, cores=8)


def size(images: int = 1_000_000, tags: int = 2_000, **other: float) -> Size:
    return replace(imagined_size(images, tags, owners=50_000, features=128), **other)


def estimate(
    name: str, of: Size, settings: dict[str, object] | None = None, **how: int
) -> Estimate:
    method = make_method(name, settings or {})
    return estimate_fit(method, of, MANY_CORES, Calibration(), **how)


def stage_seconds(made: Estimate, name: str) -> float:
    (found,) = [stage.seconds for stage in made.stages if stage.name == name]
    return found - FIXED_CALLS / MANY_CORES.calls


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_an_estimate_that_is_json(name):
    made = estimate(name, size())

    told = json.loads(json.dumps(made.as_json()))

    assert told["method"] == name
    assert told["seconds"] > 0
    assert told["bytes"] > 0
    assert told["model_bytes"] > 0


@pytest.mark.parametrize(
    ("name", "stage"), [("sugar-plus", "adding up"), ("sugar-tc", "projecting")]
)
def test_twice_the_images_take_twice_the_time_of_a_pass(name, stage):
    one, two = estimate(name, size(1_000_000)), estimate(name, size(2_000_000))

    assert stage_seconds(two, stage) == pytest.approx(2 * stage_seconds(one, stage), rel=0.1)


def test_votes_for_all_images_take_four_times_as_long_for_twice_the_images():
    exact = {"search": "exact"}
    one, two = (estimate("tag-vote", size(n), exact) for n in (1_000_000, 2_000_000))

    assert two.suggest.seconds == pytest.approx(4 * one.suggest.seconds, rel=0.1)


def test_the_regression_is_as_long_however_many_images_there_are():
    one, two = (
        estimate("sugar-plus", size(n, owners=1_000, fellows=200.0)) for n in (1_000_000, 2_000_000)
    )

    assert stage_seconds(two, "solving") == pytest.approx(stage_seconds(one, "solving"))


def test_a_tensor_of_twice_the_tags_takes_twice_the_memory():
    one, two = (estimate("sugar-tc", size(tags=tags)) for tags in (20_000, 40_000))
    base = Calibration().base_bytes

    assert two.bytes - base == pytest.approx(2 * (one.bytes - base), rel=0.2)


def test_the_exact_solver_is_faster_than_the_papers():
    paper = estimate("sugar-tc", size(100_000))
    exact = estimate("sugar-tc", size(100_000), {"solver": "exact"})

    assert stage_seconds(exact, "completing") < stage_seconds(paper, "completing")


def test_fewer_tag_components_take_less_time_and_their_part_of_the_tensor_more():
    every, few = (
        estimate("sugar-tc", size(tags=5_000), {"solver": "exact"} | settings)
        for settings in ({}, {"tag_components": 500})
    )

    assert stage_seconds(few, "completing") < 0.9 * stage_seconds(every, "completing")
    assert every.bytes < few.bytes < 1.15 * every.bytes


def test_fewer_predictors_take_less_memory_time_and_disk():
    many, few = (
        estimate("sugar-plus", size(tags=20_000), {"max_predictors": count})
        for count in (4_000, 1_000)
    )

    assert few.bytes < many.bytes
    assert few.seconds < many.seconds
    assert few.model_bytes < many.model_bytes


def test_workers_share_the_passes_and_leave_the_rest():
    one, many = (estimate("sugar-plus", size(), workers=n, apart=True) for n in (1, 64))

    assert many.seconds < one.seconds / 3
    assert many.seconds > many.serial_seconds
    assert many.serial_seconds == pytest.approx(one.serial_seconds)
    assert many.sent_bytes > one.sent_bytes > 0


def test_what_is_sent_is_in_the_memory_of_the_process_that_leads_and_of_workers():
    threads, processes = (
        estimate("sugar-plus", size(10_000_000), workers=2, apart=apart) for apart in (False, True)
    )

    assert threads.bytes < processes.bytes / 2
    assert threads.bytes < processes.worker_bytes / 2


def test_what_grows_is_in_files_and_dense_columns_are_only_where_memory_is_shared():
    of = size(10_000_000)
    threads, processes = (
        estimate("sugar-plus", of, workers=2, apart=apart).scratch_bytes for apart in (False, True)
    )

    assert threads - processes == pytest.approx(4 * 532 * of.images)
    assert processes > 500 * of.images


def test_dense_columns_are_made_once_where_memory_is_shared():
    of = size(features=4_096)
    threads, processes = (
        estimate("sugar-plus", of, workers=1, apart=apart) for apart in (False, True)
    )

    for stage in ("adding up", "judging"):
        assert stage_seconds(threads, stage) < 0.7 * stage_seconds(processes, stage)


def test_what_workers_add_up_is_sent_once_for_some_blocks():
    apart, added = Stage("some", answer=10.0), Stage("some", answer=10.0, summed=6.0)

    assert (apart.message, apart.sent(4 * FAN_IN)) == (10.0, 4 * FAN_IN * 10.0)
    assert added.message == 6.0 + FAN_IN * 4.0
    assert added.sent(4 * FAN_IN) == 4 * added.message
    assert added.sent(1) == added.message


def test_processes_leave_less_of_the_adding_to_the_one_that_leads():
    of = size(tags=20_000)
    threads, processes = (
        {stage.name: stage for stage in estimate("sugar-plus", of, apart=apart).stages}["adding up"]
        for apart in (False, True)
    )

    assert processes.serial_seconds < 0.7 * threads.serial_seconds


def test_memory_hardly_grows_with_images_where_what_grows_is_in_files():
    one, two = (estimate("sugar-plus", size(n, tags=500)) for n in (10_000_000, 20_000_000))

    # Row numbers, and what habits say of the tags of owners; a collection has 500 bytes and more.
    assert two.bytes - one.bytes < 200 * 10_000_000
    assert two.scratch_bytes - one.scratch_bytes > 300 * 10_000_000


def test_small_arrays_are_in_memory_wherever_the_work_is_done():
    found = Grown.of(SMALL - 1.0, SMALL, 10.0 * SMALL)

    assert (found.small, found.large) == (SMALL - 1.0, 11.0 * SMALL)
    assert (found + found * 2.0).whole == 3.0 * found.whole


def test_given_tags_are_judged_as_fast_however_many_others_there_are():
    one, two = (estimate("sugar-plus", size(tags=n)) for n in (2_000, 20_000))

    assert stage_seconds(two, "judging") < 2 * stage_seconds(one, "judging")


def test_owners_of_many_tags_take_longer_to_judge():
    few, many = (estimate("sugar-plus", size(tags=20_000, owners=n)) for n in (1_000, 50_000))

    assert stage_seconds(few, "judging") > 1.3 * stage_seconds(many, "judging")


def test_owners_are_kept_only_where_a_whole_collection_is_scored_by_threads():
    method = make_method("sugar-plus")
    threads, processes = (
        Job(method, size(), 8_192, Calibration(), apart) for apart in (False, True)
    )
    last = [stage for stage in threads.fit_stages() if stage.name == "thresholds"][-1]

    kept = threads.suggest_stage().grown - last.grown
    assert kept == pytest.approx(4 * 50_000 * (2_000 + 532))
    assert processes.suggest_stage().grown == last.grown
    assert processes.suggest_stage().passes.product32 > threads.suggest_stage().passes.product32


def test_no_more_owners_are_kept_than_there_is_room_for():
    few, many = size(owners=100_000), size(owners=900_000, images=4_000_000)
    shape = Shape.of(SugarPlus(), few, 1_024)

    assert kept_owners(few, shape) == 100_000
    assert kept_owners(many, shape) == SCRATCH_CELLS / 2_000
    assert kept_owners(many, shape, apart=True) == OWNER_CELLS / 2_000


def test_threads_of_one_process_send_nothing():
    assert estimate("sugar-plus", size(), workers=4).sent_bytes == 0


def test_threads_beyond_the_cores_make_nothing_faster():
    assert estimate("sugar-plus", size(), workers=99).seconds == pytest.approx(
        estimate("sugar-plus", size(), workers=8).seconds
    )


@pytest.mark.parametrize("name", COUNTED)
def test_smaller_blocks_never_take_more_memory(name):
    usual, small = (estimate(name, size(), rows=rows) for rows in (8_192, 512))

    assert small.bytes <= usual.bytes


def test_a_method_that_gives_chances_is_fitted_once_and_others_twice():
    # A vote passes over the images to whiten them, and to count the tags.
    plus, vote = (
        Job(make_method(name), size(), 8_192, Calibration()) for name in ("sugar-plus", "tag-vote")
    )

    assert "calibrating" not in [stage.name for stage in plus.fit_stages()]
    assert {stage.name: stage.n_passes for stage in vote.fit_stages()}["fitting"] == 2 * 2


def test_what_was_calibrated_multiplies_what_was_counted():
    twice = Calibration(seconds={"sugar-plus": {"solving": 2.0}}, disk={"sugar-plus": 3.0})
    method = make_method("sugar-plus")

    plain = estimate_fit(method, size(), MANY_CORES, Calibration())
    more = estimate_fit(method, size(), MANY_CORES, twice)

    assert stage_seconds(more, "solving") == pytest.approx(2 * stage_seconds(plain, "solving"))
    assert more.model_bytes == pytest.approx(3 * plain.model_bytes)


def test_the_shipped_constants_know_every_method():
    shipped = shipped_calibration()

    assert set(shipped.seconds) == {
        "sugar-plus",
        "sugar-tc",
        "tag-vote",
        "linear-probe",
        "tag-prior",
    }
    for name in METHODS:
        assert is_counted(make_method(name)) or name in shipped.rough


def test_rough_estimates_say_that_they_are():
    rough, iterated, counted = (
        estimate(name, size()).within for name in ("mrtf", "sugar-tc", "sugar-plus")
    )

    assert rough > iterated > counted


def test_blocks_are_skipped_evenly_where_some_images_are_scored():
    assert every_so_many(9_000, 10_000) == 9_000
    assert every_so_many(25_000, 10_000) == pytest.approx(25_000 / 3)


def test_some_images_are_of_fewer_owners_and_never_of_more_than_there_are():
    of = size(owners=1_000)

    assert distinct_owners(of, 1) == pytest.approx(1, rel=0.01)
    assert distinct_owners(of, 1_000) == pytest.approx(632, rel=0.01)
    assert distinct_owners(of, 1e6) == pytest.approx(1_000)
    assert distinct_owners(size(owners=0), 100) == 0


def test_the_owner_of_an_image_has_more_tags_than_the_average_owner():
    even, uneven = size(fellows=20.0), size(fellows=180.0)

    assert own_tags(even) == pytest.approx(even.owner_tags / even.owners)
    assert own_tags(uneven) == pytest.approx(3 * own_tags(even))
    assert own_tags(size(tags=50, fellows=180.0)) == 50
    assert own_tags(size(owners=0)) == 0


@pytest.mark.parametrize(("field", "value"), [("images", 0), ("tags", 0), ("features", -1)])
def test_an_impossible_size_is_named(field, value):
    with pytest.raises(SettingsError, match=field):
        replace(size(), **{field: value})
