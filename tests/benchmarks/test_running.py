"""Processes are ended at their cap, records are continued, and ends are extrapolated."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from performance.apart import run_apart
from performance.extrapolation import power_law
from performance.paper_size import PaperSize
from performance.planted import Planted
from performance.record import Record
from performance.running import Place, Step, failures, run_bench
from performance.scaling import Scaling
from performance.scoring import Scoring
from sugartag.collection.store import open_collection
from sugartag.collection.synthetic import World
from sugartag.errors import SettingsError, StorageError

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MACHINE = {"cpu": "some processor", "cores": 2}
PLANTED = Planted(World(n_images=60, n_owners=6), seed=0)
FITTED = {"method": "original", "workers": 1, "seed": 0}


class OneMethod:
    """A benchmark of one step, or two."""

    name = "one"
    summary = "One method."

    def __init__(self, *asks):
        self.asks = asks

    def steps(self):
        for number, asks in enumerate(self.asks):
            yield Step(f"step {number}", "method", PLANTED, asks)

    def derived(self, entries):
        return {"count": len(entries)}


@pytest.fixture
def quick(monkeypatch):
    """Let nothing be measured: what a record keeps does not depend on where it comes from."""

    def found(task, *, cap):
        status = "failed" if task["asks"]["method"] == "magic" else "measured"
        return {"status": status, "seconds": 1.5}

    monkeypatch.setattr("performance.running.run_apart", found)


def record_at(path, *, again=False, machine=MACHINE):
    return Record.opened(path, "one", {"x": 1}, machine, again=again)


def run_at(path, *asks, **how):
    told = []
    record = record_at(path / "results.json", **how)
    run_bench(
        OneMethod(*asks),
        record,
        Place(path / "work", keep=True),
        lambda key, entry, there: told.append((key, entry is not None, there)),
    )
    return record, told


@pytest.mark.parametrize("bench", [PaperSize(), Scaling(), Scoring()])
def test_what_is_compiled_is_there_before_anything_is_measured(bench):
    first = next(bench.steps())

    assert (first.key, first.asks["method"]) == ("compiling", "sugar-plus")
    assert first.planted.world.n_images < 1_000


def test_nothing_is_compiled_for_methods_without_compiled_loops():
    assert next(Scaling(methods=("tag-vote",)).steps()).key == "tag-vote 25000"


def test_a_process_is_ended_at_its_cap(tmp_path):
    folder = PLANTED.written(tmp_path)
    task = {"kind": "rates", "asks": {"gemm": [8, 8, 8], "seconds": 60}, "folder": str(folder)}

    began = time.perf_counter()
    found = run_apart(task, cap=3.0)

    assert found["status"] == "capped"
    assert found["ended_by"] == "time"
    assert 3.0 < found["seconds"] <= time.perf_counter() - began


def test_a_process_that_takes_too_much_memory_is_ended(tmp_path, monkeypatch):
    folder = PLANTED.written(tmp_path)
    task = {"kind": "rates", "asks": {"gemm": [8, 8, 8], "seconds": 60}, "folder": str(folder)}
    monkeypatch.setattr("performance.apart.MEMORY_SHARE", 1e-9)

    found = run_apart(task, cap=None)

    assert (found["status"], found["ended_by"]) == ("capped", "memory")


def test_what_a_process_cannot_do_is_told_in_its_own_words(tmp_path):
    folder = PLANTED.written(tmp_path)
    asks = FITTED | {"method": "magic"}

    found = run_apart({"kind": "method", "asks": asks, "folder": str(folder)}, cap=None)

    assert found["status"] == "failed"
    assert "there is no method 'magic'" in found["reason"]


def test_a_process_ends_with_the_one_that_started_it(tmp_path):
    folder = PLANTED.written(tmp_path)
    task = {"kind": "rates", "asks": {"gemm": [8, 8, 8], "seconds": 60}, "folder": str(folder)}
    code = f"from performance.apart import run_apart; run_apart({task!r}, cap=None)"
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=BENCHMARKS)
    child = _child_of(parent.pid)

    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()

    assert _is_gone(child, within=120)


@pytest.mark.usefixtures("quick")
def test_a_finished_entry_is_not_measured_again(tmp_path):
    first, _ = run_at(tmp_path, FITTED)

    second, told = run_at(tmp_path, FITTED)

    assert told == [("step 0", True, True)]
    assert second.entries == first.entries


@pytest.mark.usefixtures("quick")
def test_an_entry_of_other_settings_is_measured_again(tmp_path):
    run_at(tmp_path, FITTED)

    _, told = run_at(tmp_path, FITTED | {"seed": 1})

    assert told == [("step 0", False, False), ("step 0", True, False)]


@pytest.mark.usefixtures("quick")
def test_again_measures_everything_again(tmp_path):
    run_at(tmp_path, FITTED)

    _, told = run_at(tmp_path, FITTED, again=True)

    assert told[0] == ("step 0", False, False)


@pytest.mark.usefixtures("quick")
def test_a_failed_entry_is_kept_named_and_tried_again(tmp_path):
    wrong = FITTED | {"method": "magic"}
    record, _ = run_at(tmp_path, wrong, FITTED)

    _, told = run_at(tmp_path, wrong, FITTED)

    assert list(failures(record)) == ["step 0"]
    assert told == [("step 0", False, False), ("step 0", True, False), ("step 1", True, True)]


@pytest.mark.usefixtures("quick")
def test_the_file_is_there_after_every_step(tmp_path):
    record = record_at(tmp_path / "results.json")
    seen = []

    def look(key, entry, there):
        if key == "step 1" and entry is None:
            seen.append(json.loads(record.path.read_text(encoding="utf-8")))

    bench = OneMethod(FITTED, FITTED | {"seed": 1})
    run_bench(bench, record, Place(tmp_path / "work", keep=False), look)

    assert [(one["derived"], list(one["entries"])) for one in seen] == [({"count": 1}, ["step 0"])]
    assert not (tmp_path / "work").exists()


@pytest.mark.usefixtures("quick")
def test_results_of_another_machine_are_not_continued(tmp_path):
    run_at(tmp_path, FITTED)

    with pytest.raises(SettingsError, match="measured elsewhere: cores differ"):
        record_at(tmp_path / "results.json", machine=MACHINE | {"cores": 64})


def test_a_file_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "results.json").write_text('{"format": "mine"}', encoding="utf-8")

    with pytest.raises(StorageError, match="no result file of sugartag bench"):
        record_at(tmp_path / "results.json")


def test_half_precision_holds_the_same_images_in_half_the_room(tmp_path):
    whole = open_collection(PLANTED.written(tmp_path))
    half = open_collection(Planted(PLANTED.world, 0, half=True).written(tmp_path))

    assert half.shards[0].features.dtype == "float16"
    assert half.rows(slice(0, 60)).features == pytest.approx(
        whole.rows(slice(0, 60)).features, rel=1e-3
    )
    assert (half.tags_of(slice(0, 60)) != whole.tags_of(slice(0, 60))).nnz == 0


def test_through_a_single_point_time_is_in_proportion():
    law = power_law([(1000, 10.0)])

    assert law.exponent == 1
    assert law.at(64_000) == pytest.approx(640.0)


def test_a_power_law_goes_through_both_points():
    law = power_law([(2000, 40.0), (1000, 10.0)])

    assert law.exponent == pytest.approx(2.0)
    assert law.at(1000) == pytest.approx(10.0)
    assert law.at(4000) == pytest.approx(160.0)


def test_more_images_are_never_taken_to_be_cheaper_each():
    law = power_law([(1000, 10.0), (2000, 12.0)])

    assert law.exponent == 1.0
    assert law.at(20_000) == pytest.approx(120.0)


def test_a_capped_method_is_extrapolated_from_two_sizes():
    bench = PaperSize(images=6400, owners=640, methods=("mrtf",))
    steps, entries = bench.steps(), {}
    step = next(steps)
    entries[step.key] = {"status": "capped", "ended_by": "time", "seconds": 600.0}
    for seconds in (10.0, 30.0):
        step = steps.send(entries[step.key])
        images = step.planted.world.n_images
        entries[step.key] = {"status": "measured", "seconds": seconds, "counts": {"images": images}}

    stated = bench.derived(entries)["stated"]["mrtf"]

    assert list(entries) == ["mrtf", "mrtf at 1/64", "mrtf at 1/32"]
    assert stated["points"] == [[100, 10.0], [200, 30.0]]
    assert stated["how"] == "extrapolated"
    assert stated["seconds"] == pytest.approx(10.0 * 3.0**6)


def test_ours_is_run_several_times_with_others_in_between():
    bench = PaperSize(methods=("sugar-plus", "sugar-tc-exact", "tag-vote-exact", "mrtf"))
    steps, entries = bench.steps(), {}
    assert next(steps).key == "compiling"
    step = steps.send({"status": "measured"})
    fitted = {"score_seconds": 0.0, "share_scored": 1.0, "flops": {"all": 40.0}}
    fitted["stolen_seconds"] = 0.5
    read = {"bytes": 2.0, "bytes_per_second": 1.0}
    for number in (5.0, 50.0, 4.0, 9.0, 2.0, 40.0, 2.0, 9.0, 4.0, 70.0, 8.0, 9.0):
        entries[step.key] = {"status": "measured", "seconds": number, "fit_seconds": number}
        gemm = {"flops_per_second": 2 * number, "median_flops_per_second": number}
        entries[step.key] |= {"gemm": gemm, "read": read, **fitted}
        step = steps.send(entries[step.key]) if len(entries) < 12 else step

    derived = bench.derived(entries | {"sugar-tc-exact": {}})

    assert list(entries) == [
        "rates",
        "sugar-plus",
        "rates, after",
        "sugar-tc-exact",
        "rates, run 2",
        "sugar-plus, run 2",
        "rates, run 2, after",
        "tag-vote-exact",
        "rates, run 3",
        "sugar-plus, run 3",
        "rates, run 3, after",
        "mrtf",
    ]
    stated, floor = derived["stated"]["sugar-plus"], derived["floor"]
    assert stated == {"seconds": 50.0, "how": "median of 3", "runs": [50.0, 40.0, 70.0]}
    # 40 flops take 8 and 10 seconds at the rates around the first run; reading takes 2.
    assert [run["seconds"] for run in floor["runs"]] == [11.0, 22.0, 9.5]
    assert floor["seconds"] == 11.0
    assert derived["ratios"]["sugar-plus / floor"] == pytest.approx(50 / 11)
    assert floor["ratio_to_fastest"] == pytest.approx(50 / 6.5)


def test_a_method_within_the_cap_needs_no_smaller_worlds():
    bench = PaperSize(methods=("mrtf",))
    steps = bench.steps()
    next(steps)

    with pytest.raises(StopIteration):
        steps.send({"status": "measured"})


def test_the_claims_are_about_the_sizes_they_name():
    world = PaperSize().planted().world
    smaller = PaperSize().planted(32).world

    assert (world.n_images, world.n_tags, world.n_owners) == (247_849, 5_018, 49_528)
    assert (smaller.n_images, smaller.n_tags, smaller.n_owners) == (7_745, 5_018, 1_547)
    assert Scaling().planted(1_000_000).world.n_owners == 100_000


def _child_of(parent: int) -> int:
    for _ in range(2_400):
        found = _children(parent)
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("no process was started")


def _children(parent: int) -> list[int]:
    place = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(one) for one in place.read_text(encoding="ascii").split()]


def _is_gone(process: int, *, within: float) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.1)
    return False
