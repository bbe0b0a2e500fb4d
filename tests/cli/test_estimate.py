"""``sugartag estimate`` answers before anything runs; ``fit --max-memory`` keeps its limit."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from planted import planted_collection, resharded
from sugartag.cli import memory
from sugartag.cli.amounts import memory_amount
from sugartag.cli.engines import EngineChoice
from sugartag.cli.main import main
from sugartag.collection.store import open_collection, save_collection
from sugartag.collection.synthetic import medium
from sugartag.costs import machine, size
from sugartag.costs.estimate import Plan, Update
from sugartag.costs.limits import least_needed, needed
from sugartag.costs.machine import Rates
from sugartag.costs.size import imagined_size, size_of
from sugartag.methods.registry import make_method
from sugartag.pipeline.model import load_model


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def done(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    """Return the one line that a command ends with which is not done."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("sugartag: ")
    return line


@pytest.fixture
def photos(tmp_path) -> Path:
    save_collection(planted_collection(), tmp_path / "photos")
    return tmp_path / "photos"


@pytest.fixture(autouse=True)
def rates(monkeypatch) -> Rates:
    """Return the speed of every machine: no test depends on this one."""
    fixed = Rates(cores=2, product=1e11)
    monkeypatch.setattr(machine, "measure_rates", lambda: fixed)
    return fixed


def test_a_collection_is_estimated(photos):
    told = done("estimate", photos)

    assert told.startswith("sugar-plus on 600 images")
    for word in ("fit ", "suggest ", "memory ", "disk ", "within a factor of 2", "2 cores, 100"):
        assert word in told


def test_the_estimate_is_json_if_so_asked(photos, rates):
    told = json.loads(done("estimate", photos, "--method", "tag-vote", "--json"))

    plan = Plan.of(
        make_method("tag-vote"), size_of(open_collection(photos)), workers=2, rates=rates
    )
    assert told.items() >= json.loads(json.dumps(plan.as_json())).items()
    assert told["rates"] == {"cores": 2, "product": 1e11}
    assert told["advice"] == []


def test_nothing_is_written_by_an_estimate(photos):
    before = sorted(photos.parent.rglob("*"))

    done("estimate", photos)

    assert sorted(photos.parent.rglob("*")) == before


def test_an_imagined_collection_is_estimated_for_many_workers():
    of = ("--images", "1e10", "--tags", "2e5", "--method", "tag-vote")

    told = done("estimate", *of, "--workers", "64")

    assert "10,000,000,000 images, 200,000 tags" in told
    assert "with 64 worker processes" in told
    assert "and as much for each worker" in told
    assert "takes long" in told


def test_more_workers_take_less_time():
    of = ("estimate", "--images", "1e6", "--tags", "2e4", "--json", "--workers")
    few, many = (json.loads(done(*of, workers)) for workers in (1, 64))

    assert many["seconds"] < few["seconds"]
    assert many["suggest"]["seconds"] == pytest.approx(few["suggest"]["seconds"] / 64, rel=0.01)
    assert many["worker_bytes"] == few["worker_bytes"] > 0


def test_settings_count():
    of = ("estimate", "--images", "1e6", "--tags", "2e4", "--json")
    many, few = (json.loads(done(*of, *more)) for more in ((), ("--set", "max_predictors=500")))

    assert few["bytes"] < many["bytes"]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_limit_that_does_not_hold_is_exit_code_3_after_the_estimate_and_the_advice(as_json):
    words = ["--images", "1e6", "--tags", "2e4", "--max-memory", "200M"]

    result = run("estimate", *words, *(["--json"] if as_json else []))

    assert result.exit_code == 3
    lines = json.loads(result.stdout)["advice"] if as_json else result.stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("does not fit")]
    assert "200 MiB may be used" in line
    assert "allow" in line
    assert as_json or "within a factor of 2" in result.stdout


def test_a_limit_that_holds_with_fewer_threads_is_estimated_with_them(photos, rates):
    of = ("--images", "1e5", "--tags", "2e3", "--method", "linear-probe", "--json")
    plan = Plan.of(make_method("linear-probe"), imagined_size(100_000, 2_000), workers=1)
    limit = int(needed(plan)) + 1

    told = json.loads(done("estimate", *of, "--max-memory", limit))

    assert told["workers"] == 1
    assert told["bytes"] == pytest.approx(plan.memory(), rel=1e-3)


def test_memory_that_is_not_free_is_said_and_is_no_failure(photos, monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 10 << 20)
    monkeypatch.setattr(machine, "free_disk", lambda place: 10)

    told = done("estimate", photos)

    assert "10 MiB is free: allow " in told
    assert "10 B is free here: write the model to another disk" in told


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "name a COLLECTION, or give --images and --tags"),
        (("--images", "1e6"), "--images and --tags"),
        (("--images", "many", "--tags", "5"), "'many' is not a whole number"),
        (("--images", "0", "--tags", "5"), "from 1 on"),
        (("--images", "1.5", "--tags", "5"), "'1.5' is not a whole number"),
        (("--images", "1e6", "--tags", "5", "--max-memory", "lots"), "not an amount of memory"),
        (("--images", "1e6", "--tags", "5", "--max-memory", "0G"), "not an amount of memory"),
        (("--images", "1e6", "--tags", "5", "--method", "magic"), "no method 'magic'"),
        (("--images", "1e6", "--tags", "5", "--workers", "0"), "from 1 on"),
        (("not-there",), "not-there"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(arguments, named):
    assert named in refused("estimate", *arguments)


def test_a_collection_that_is_there_has_its_own_size(photos):
    assert "--images does not go with" in refused("estimate", photos, "--images", "5")


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("4G", 4 << 30),
        ("512M", 512 << 20),
        ("4GiB", 4 << 30),
        ("1.5gb", 3 << 29),
        ("1000", 1000),
        ("2 t", 2 << 40),
    ],
)
def test_memory_may_be_written_in_many_ways(text, amount):
    assert memory_amount(text) == amount


def test_a_fit_that_cannot_fit_is_refused_before_anything_is_written(photos, tmp_path):
    line = refused("fit", photos, "--out", tmp_path / "model", "--max-memory", "50M")

    assert "sugar-plus needs about" in line
    assert "may use 50 MiB" in line
    assert "allow" in line
    assert not (tmp_path / "model").exists()


def test_a_fit_that_fits_gives_the_same_model(photos, tmp_path):
    done("fit", photos, "--out", tmp_path / "a", "--method", "linear-probe")
    done("fit", photos, "--out", tmp_path / "b", "--method", "linear-probe", "--max-memory", "64G")

    assert load_model(tmp_path / "a").run_id == load_model(tmp_path / "b").run_id


def test_a_limit_is_kept_by_fewer_threads(monkeypatch):
    large = imagined_size(100_000, 500)
    monkeypatch.setattr(size, "size_of", lambda collection: large)
    collection, method = planted_collection(), make_method("linear-probe")
    plan = Plan.of(method, large, workers=2)

    kept = memory.kept_within(int(needed(plan)) + 1, method, collection, EngineChoice(workers=8))

    assert kept.workers == 2


def test_scarce_memory_is_warned_of_and_nothing_is_refused(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 10 << 20)

    result = run("fit", photos, "--out", tmp_path / "model", "--method", "tag-prior")

    assert result.exit_code == 0
    assert "of memory, and 10 MiB are free" in result.stderr


def test_a_limit_holds_for_each_dask_worker(photos, tmp_path):
    words = ["fit", photos, "--out", tmp_path / "model", "--engine", "dask", "--workers", 2]

    assert "sugar-plus needs about" in refused(*words, "--max-memory", "50M")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["sugar-plus", "tag-vote"])
def test_a_fit_keeps_its_limit(name, tmp_path):
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells the anonymous memory of a process")
    world = replace(medium(), n_images=20_000, n_tags=500, n_topics=16, n_features=64)
    world.write(tmp_path / "world", 0)
    plan = Plan.of(make_method(name), size_of(open_collection(tmp_path / "world")), workers=2)
    least = int(least_needed(plan)) >> 20
    words = ["fit", tmp_path / "world", "--out", tmp_path / "model", "--method", name]
    words += ["--workers", 2, "--max-memory"]

    assert "allow" in refused(*words, f"{least - 1}M")
    peak = peak_anonymous_mib([sys.executable, "-m", "sugartag", *map(str, words), f"{least + 1}M"])

    assert 0.3 * least < peak <= least
    assert (tmp_path / "model" / "manifest.json").exists()


def test_an_update_keeps_its_limit(tmp_path):
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells the anonymous memory of a process")
    world = replace(medium(), n_images=3_000, n_tags=1_500, n_topics=16, n_features=32)
    whole = resharded(world.generate(0), 2_000)
    for name, shard in zip(("first", "later"), whole.shards, strict=True):
        save_collection(replace(whole, shards=(shard,)), tmp_path / name)
    done("fit", tmp_path / "first", "--out", tmp_path / "model")
    update = Update.to(load_model(tmp_path / "model"), open_collection(tmp_path / "later"))
    least = int(least_needed(update)) >> 20
    words = ["fit", tmp_path / "later", "--update", tmp_path / "model", "--out", tmp_path / "more"]
    words += ["--workers", 1, "--max-memory"]

    assert "allow" in refused(*words, f"{least - 1}M")
    peak = peak_anonymous_mib([sys.executable, "-m", "sugartag", *map(str, words), f"{least + 1}M"])

    assert 0.2 * least < peak <= least
    assert (tmp_path / "more" / "manifest.json").exists()


def peak_anonymous_mib(command: list[str]) -> float:
    """Run a command and return the most anonymous memory that it was seen to hold."""
    threads = {"OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **threads}
    )
    status, peak = Path(f"/proc/{process.pid}/status"), 0.0
    while process.poll() is None:
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("RssAnon:"):
                peak = max(peak, int(line.split()[1]) / 1024)
        time.sleep(0.01)
    assert process.stderr is not None
    with process.stderr:
        assert process.returncode == 0, process.stderr.read().decode()
    return peak
