"""Constants and pages about costs are those of the result files, and no others."""

import json
from pathlib import Path

import pytest

import bench_estimate
import calibrate_costs
import sugartag.costs
from measured_fit import MeteredEngine
from sugartag.costs.calibration import IMAGES, RATE, TAGS, WITHIN
from sugartag.engine.room import SMALL

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SIZE = {"images": IMAGES, "tags": TAGS, "features": 128}


def run(seconds: float, **size: int) -> dict[str, object]:
    return {"size": SIZE | size, "fit_seconds": seconds}


def law(*runs: dict[str, object], rate: float = RATE) -> dict[str, float]:
    return calibrate_costs.power_law(list(runs), "fit_seconds", rate)


def test_the_shipped_constants_are_those_of_the_committed_runs():
    runs = json.loads((RESULTS / "cost-runs.json").read_text(encoding="utf-8"))
    shipped = json.loads((Path(sugartag.costs.__file__).parent / "calibration.json").read_text())

    made = calibrate_costs.calibration(runs)

    assert list(made) == list(shipped["methods"])
    for entry, constants in made.items():
        for key, value in constants.items():
            assert shipped["methods"][entry][key] == pytest.approx(value, rel=1e-3), (entry, key)


def test_the_page_about_estimates_has_the_table_of_its_file():
    document = json.loads((RESULTS / "estimate.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "estimate.md").read_text(encoding="utf-8")

    assert bench_estimate.refreshed(page, document) == page
    assert "The largest factor is" in page


def test_estimates_hold_for_sizes_that_the_constants_were_not_fitted_to():
    fitted = json.loads((RESULTS / "cost-runs.json").read_text(encoding="utf-8"))
    checked = json.loads((RESULTS / "estimate.json").read_text(encoding="utf-8"))["runs"]

    assert set(checked) == set(fitted)
    for entry, runs in checked.items():
        for one in runs:
            assert one["size"] not in [other["size"] for other in fitted[entry]]
            assert max(bench_estimate.compared(one).values()) <= WITHIN, (entry, one["size"])


def test_a_law_goes_through_the_runs_it_is_fitted_to():
    found = law(
        run(3.0),
        run(3.0 * 4**1.2, images=4 * IMAGES),
        run(3.0 * 3**0.7, tags=3 * TAGS),
        run(3.0 * 2**0.4, features=256),
    )

    assert found == pytest.approx(
        {"seconds": 3.0, "images": 1.2, "tags": 0.7, "features": 0.4}, rel=1e-3
    )


def test_a_power_that_the_runs_do_not_show_is_the_usual_one():
    found = law(run(1.0), run(2.0, images=2 * IMAGES))

    assert found == pytest.approx({"seconds": 1.0, "images": 1.0, "tags": 0.5, "features": 0.25})


def test_powers_are_kept_within_bounds():
    found = law(run(1.0), run(1.0, images=4 * IMAGES), run(999.0, tags=2 * TAGS))

    assert (found["images"], found["tags"]) == (0.25, 2.0)


def test_seconds_are_those_of_a_machine_of_the_reference_speed():
    assert law(run(1.0), rate=2 * RATE)["seconds"] == pytest.approx(2.0)


def test_factors_reproduce_what_was_measured():
    parts = [{"a": 1.0, "b": 10.0}, {"a": 5.0, "b": 20.0}, {"a": 2.0, "b": 90.0}]
    measured = [100.0 + 3.0 * each["a"] + 0.5 * each["b"] for each in parts]

    found = calibrate_costs.factors(parts, measured, base=100.0)

    assert found == pytest.approx({"a": 3.0, "b": 0.5}, rel=1e-3)


def test_no_factor_is_zero():
    parts = [{"a": 1.0, "b": 10.0, "gram": 1.0}, {"a": 5.0, "b": 20.0, "gram": 0.1}]

    found = calibrate_costs.factors(parts, [3.0, 15.0])

    assert found["b"] >= calibrate_costs.LEAST_FACTOR
    assert found["gram"] >= calibrate_costs.LEAST_OF["gram"]


def test_time_on_blocks_and_scratch_files_are_metered(tmp_path):
    engine = MeteredEngine(scratch=tmp_path)

    assert list(engine.map(lambda block: sum(range(100_000)) * 0 + 1, [slice(0, 1)])) == [1]
    large, small = engine.room(SMALL, "u1"), engine.room(SMALL - 1, "u1")
    del large, small

    assert engine.meter.pass_seconds > 0
    assert (engine.meter.scratch, engine.meter.most_scratch) == (0, SMALL)
