"""The pages about costs have the numbers of the result files, and no others."""

import json
import re
from pathlib import Path

import pytest

import bench_estimate
import billion_page
import calibrate_costs

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@pytest.mark.skipif(not (RESULTS / "billion.json").exists(), reason="not computed yet")
def test_the_page_about_a_billion_images_is_that_of_its_file():
    document = json.loads((RESULTS / "billion.json").read_text(encoding="utf-8"))

    page = billion_page.page(document)

    assert (ROOT / "docs" / "performance-billion.md").read_text(encoding="utf-8") == page
    assert "{" not in page


@pytest.mark.skipif(not (RESULTS / "estimate.json").exists(), reason="not measured yet")
def test_the_page_about_estimates_has_the_table_of_its_file():
    document = json.loads((RESULTS / "estimate.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "estimate.md").read_text(encoding="utf-8")

    assert bench_estimate.refreshed(page, document) == page
    assert re.search(r"time is off by a factor of [\d.]+", page)


def test_factors_are_those_of_the_largest_runs_and_within_bounds():
    pairs = {"even": [(2.0, 1.0), (20.0, 10.0)], "tiny": [(0.001, 1.0)], "huge": [(99.0, 1.0)]}

    found = calibrate_costs._ratios(pairs, calibrate_costs.SLOWER, calibrate_costs.TOO_SHORT)

    assert found == {"even": 2.0, "tiny": 1.0, "huge": calibrate_costs.SLOWER[1]}


def test_a_power_law_goes_through_its_three_sizes():
    def run(images: int, tags: int) -> dict[str, object]:
        return {
            "size": {"images": images, "tags": tags},
            "fit_seconds": 1e-5 * images**1.2 * tags,
            "fit_peak_bytes": 1e8 + 100.0 * images * tags,
            "model_bytes": 1_000,
        }

    law = calibrate_costs.power_law([run(1_000, 100), run(4_000, 100), run(1_000, 300)], 1e8)

    assert law["seconds_by_images"] == pytest.approx(1.2, abs=0.01)
    assert law["seconds_by_tags"] == pytest.approx(1.0, abs=0.01)
    assert law["bytes_by_images"] == pytest.approx(1.0, abs=0.01)


def test_the_steps_of_a_solver_are_a_power_law_of_the_images():
    def run(images: int, *steps: int) -> dict[str, object]:
        return {"size": {"images": images}, "iterations": steps}

    found = calibrate_costs.steps_by_images([run(1_000, 15, 17), run(4_000, 8), run(16_000, 4)])

    assert found.at(1_000) == pytest.approx(16.0, rel=1e-3)
    assert found.at(64_000) == pytest.approx(2.0, rel=1e-3)
    assert found.at(1e9) == 1.0
    assert calibrate_costs.steps_by_images([run(1_000, 15, 17)]).at(9_000) == 16.0


def test_an_estimate_is_made_anew_from_what_was_measured():
    document = json.loads((RESULTS / "estimate.json").read_text(encoding="utf-8"))

    for run in document["runs"]:
        assert bench_estimate.told(run["took"]).items() <= run.items()


def test_runs_of_other_methods_are_kept_with_the_machine_they_ran_on(tmp_path):
    file = tmp_path / "estimate.json"
    runs = [{"method": name, "cpu": "new"} for name in ("a", "b")] + [{"method": "c"}]
    file.write_text(json.dumps({"machine": {"cpu": "old"}, "runs": runs}), encoding="utf-8")

    kept = bench_estimate.kept_runs(file, {"a"})

    assert kept == [{"method": "b", "cpu": "new"}, {"method": "c", "cpu": "old"}]
    assert bench_estimate.kept_runs(tmp_path / "none.json", {"a"}) == []
