"""Estimates are within a factor of 2 of what was measured, and follow the size of a collection."""

import ast
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import sugartag.costs
from sugartag.costs.calibration import OTHER_WITHIN, RATE, WITHIN, entry_of, shipped_costs
from sugartag.costs.estimate import Plan
from sugartag.costs.formulas import COUNTED, disk_parts, held_parts, thread_parts
from sugartag.costs.machine import Rates
from sugartag.costs.size import Size, imagined_size
from sugartag.methods.registry import METHODS, make_method

ROOT = Path(__file__).parents[2]
RUNS = json.loads((ROOT / "benchmarks/results/cost-runs.json").read_text(encoding="utf-8"))
CALIBRATION = Path(sugartag.costs.__file__).parent / "calibration.json"
EIGHT_CORES = Rates(cores=8, product=RATE)
KEYS = {
    "method",
    "size",
    "workers",
    "rows_per_block",
    "within_a_factor_of",
    "seconds",
    "bytes",
    "worker_bytes",
    "model_bytes",
    "scratch_bytes",
    "collection_bytes",
    "suggest",
}


def plan(name: str, size: Size | None = None, **how: object) -> Plan:
    return Plan.of(make_method(name), size or imagined_size(20_000, 2_000), **how)


@pytest.mark.parametrize("entry", RUNS)
def test_the_constants_reproduce_the_measured_runs_within_the_claimed_factor(entry):
    for run in RUNS[entry]:
        rates = Rates(cores=1, product=run["rates"]["product"])
        method = make_method(run["method"], run["settings"])
        made = Plan.of(method, Size(**run["size"]), rates=rates)
        pairs = {
            "fit": (made.seconds, run["fit_seconds"]),
            "suggest": (made.suggest_seconds, run["suggest_seconds"]),
            "memory": (made.memory(run["rows_at_once"]), run["peak_bytes"]),
            "model": (made.model_bytes, run["model_bytes"]),
        }

        off = {key: max(one / other, other / one) for key, (one, other) in pairs.items()}

        assert entry_of(run["method"], run["settings"]) == entry
        assert max(off.values()) <= WITHIN, off


@pytest.mark.parametrize("name", METHODS)
def test_every_method_was_measured_at_more_than_one_size_of_everything(name):
    for dimension in ("images", "tags", "features"):
        assert len({run["size"][dimension] for run in RUNS[name]}) > 1
    assert len({run["rows_at_once"] for run in RUNS[name]}) > 1


def test_powers_are_plausible():
    for entry in json.loads(CALIBRATION.read_text(encoding="utf-8"))["methods"].values():
        for law in (entry["fit"], entry["suggest"]):
            assert 0.25 <= law["images"] <= 2.0
            assert 0.0 < law["tags"] <= 2.0
            assert 0.0 <= law["features"] <= 2.0
        assert 0.0 <= entry["pass_share"] <= 1.0


@pytest.mark.parametrize("name", METHODS)
def test_every_factor_belongs_to_a_part_of_its_formula(name):
    method, size, costs = make_method(name), imagined_size(1_000, 100), plan(name).costs

    parts = {*held_parts(method, size), *thread_parts(method, size, 512)}
    assert set(costs.memory) == parts - COUNTED
    assert set(costs.disk) == set(disk_parts(method, size))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("grown", ["images", "tags"])
def test_estimates_grow_with_the_collection(name, grown):
    small = imagined_size(20_000, 2_000, owners=1_000)
    large = replace(small, **{grown: 10 * getattr(small, grown)})

    one, two = plan(name, small), plan(name, large)

    assert two.seconds > 1.5 * one.seconds
    assert two.suggest_seconds > 1.5 * one.suggest_seconds
    assert two.memory() > one.memory()
    assert two.model_bytes > one.model_bytes


def test_more_features_never_take_less():
    small = imagined_size(20_000, 2_000, features=64)
    for name in METHODS:
        one, two = plan(name, small), plan(name, replace(small, features=640))
        assert two.seconds >= one.seconds
        assert two.memory() > one.memory()


def test_a_collection_without_features_has_an_estimate():
    assert 0 < plan("sugar-plus", imagined_size(1_000, 100, features=0)).seconds < 60


def test_smaller_blocks_never_take_more_memory():
    for name in METHODS:
        assert plan(name).memory(256) < plan(name).memory(8_192)


def test_fewer_predictors_take_less_memory_and_disk():
    size = imagined_size(100_000, 20_000)
    many, few = (
        Plan.of(make_method("sugar-plus", {"max_predictors": count}), size)
        for count in (4_000, 500)
    )

    assert few.memory() < many.memory()
    assert few.model_bytes < many.model_bytes


def test_the_parts_of_sugar_plus_are_its_arrays():
    method, size = (
        SimpleNamespace(name="sugar-plus", max_predictors=99),
        Size(500, 300, 0, 2, 1_000),
    )

    columns = 99 + 512 + 1
    assert held_parts(method, size) == {
        "images": 500,
        "moments": 5 * 8 * 1_000**2,
        "cross": 8 * columns * 300,
        "gram": 16 * columns**2,
        "references": 400 * 64 * 4,
    }


def test_the_exact_solver_takes_less_memory_than_the_papers():
    size = imagined_size(50_000, 2_000)
    updates = Plan.of(make_method("sugar-tc", {"solver": "multiplicative"}), size)

    assert plan("sugar-tc", size).memory() < 0.7 * updates.memory()


def test_time_is_inverse_to_the_speed_of_the_machine():
    slow, fast = (plan("lr", rates=Rates(1, speed)) for speed in (1e11, 2e11))

    assert slow.seconds == pytest.approx(2 * fast.seconds)
    assert slow.suggest_seconds == pytest.approx(2 * fast.suggest_seconds)


def test_workers_divide_the_passes_and_nothing_else():
    one, many = (plan("sugar-plus", workers=n, apart=True) for n in (1, 1_000_000))

    assert many.seconds == pytest.approx((1 - one.costs.pass_share) * one.seconds, rel=1e-3)


def test_threads_beyond_the_cores_take_memory_and_save_no_time():
    few, many = (plan("tag-vote", workers=n, rates=EIGHT_CORES) for n in (8, 80))

    assert many.seconds == few.seconds
    assert many.memory() > few.memory()


def test_a_worker_process_also_holds_what_it_is_sent():
    threads, processes = (plan("sugar-plus", workers=1, apart=apart) for apart in (False, True))

    assert threads.as_json()["worker_bytes"] is None
    assert processes.as_json()["worker_bytes"] > threads.as_json()["bytes"]


def test_a_method_of_another_package_gets_a_rough_estimate():
    made = Plan.of(SimpleNamespace(name="mine"), imagined_size(20_000, 2_000))

    assert made.costs.within == OTHER_WITHIN
    assert made.seconds > 0
    assert made.memory() > 8 * 20_000 * 2_000 * 0.05


@pytest.mark.parametrize("name", METHODS)
def test_an_estimate_is_json(name):
    made = json.loads(json.dumps(plan(name, workers=4).as_json(512)))

    assert set(made) == KEYS
    assert (made["method"], made["workers"], made["rows_per_block"]) == (name, 4, 512)
    assert made["within_a_factor_of"] == WITHIN == shipped_costs(make_method(name)).within
    assert made["bytes"] == pytest.approx(plan(name, workers=4).memory(512), rel=1e-3)


def test_nothing_here_depends_on_the_code_of_sugar_plus():
    for file in Path(sugartag.costs.__file__).parent.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "SugarPlus" not in text
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                assert "sugar_plus" not in f"{node.module} {[name.name for name in node.names]}"
