"""A cluster whose scheduler is killed: another one goes on, and the model is the same."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from engine_contract import BLOCKS, EngineContract, sum_of_rows
from killed_fits import in_small_blocks
from sugartag.collection import Collection, open_collection, save_collection
from sugartag.engine import DaskEngine, LocalEngine
from sugartag.errors import EngineError
from sugartag.fitting import fit_model
from sugartag.methods.registry import make_method
from sugartag.model_folder import save_model
from sugartag.resuming import ResumableEngine


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Yield the address of a scheduler in a process of its own with a worker, and the process."""
    folder.mkdir()
    file = folder / "scheduler.json"
    here = ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    scheduler = [*_module("scheduler"), *here, "--port", "0", "--scheduler-file", str(file)]
    worker = [*_module("worker"), *here, "--nthreads", "1", "--no-nanny", "--scheduler-file"]
    quiet = {"stderr": subprocess.DEVNULL, "cwd": folder}
    with subprocess.Popen(scheduler, **quiet) as process:
        try:
            assert soon(file.exists)
            with subprocess.Popen([*worker, str(file)], **quiet) as working:
                try:
                    yield json.loads(file.read_text())["address"], process
                finally:
                    working.kill()
        finally:
            process.kill()


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", f"distributed.cli.dask_{name}"]


def soon(holds: Callable[[], bool]) -> bool:
    patience = time.monotonic() + 60
    while not holds() and time.monotonic() < patience:
        time.sleep(0.01)
    return holds()


def content(folder: Path) -> dict[Path, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def inner() -> Iterator[DaskEngine]:
    with DaskEngine.local_cluster(1) as engine:
        yield engine


class TestResumableDaskEngine(EngineContract):
    """What every engine promises."""

    @pytest.fixture
    def engine(self, inner, tmp_path_factory) -> ResumableEngine:
        return ResumableEngine(inner, tmp_path_factory.mktemp("work"), 0.0)


def test_a_sum_goes_on_at_a_group_of_blocks_to_the_same_bits(inner, tmp_path, rng):
    values = rng.normal(size=(100, 5)) * 10.0 ** rng.integers(-8, 8, (100, 5))
    other = tmp_path / "other"
    other.mkdir()
    wanted = ResumableEngine(inner, other, 0.0).sum(sum_of_rows, BLOCKS, values)
    work = tmp_path / "work"
    work.mkdir()
    parts = inner.sums(sum_of_rows, BLOCKS, values)

    class Killed(DaskEngine):
        def sums(self, *_: object) -> Iterator[np.ndarray]:
            yield from (next(parts), next(parts))
            raise EngineError("gone")

    with pytest.raises(EngineError, match="gone"):
        ResumableEngine(Killed(inner.client), work, 0.0).sum(sum_of_rows, BLOCKS, values)
    after = ResumableEngine(inner, work, 0.0)
    found = after.sum(sum_of_rows, BLOCKS, values)

    np.testing.assert_array_equal(found, wanted)
    assert after.blocks_read == 16
    parts.close()


def test_a_fit_whose_scheduler_is_killed_goes_on_with_another(tmp_path, collection, monkeypatch):
    monkeypatch.setattr(Collection, "blocks", in_small_blocks)
    save_collection(collection, tmp_path / "photos")
    opened, method = (
        open_collection(tmp_path / "photos"),
        make_method("sugar-plus", {"anchors": 20}),
    )

    def fitted(engine: DaskEngine | LocalEngine, work: str) -> ResumableEngine:
        (tmp_path / work).mkdir(exist_ok=True)
        resumable = ResumableEngine(engine, tmp_path / work, 0.0)
        model = fit_model(method, opened, engine=resumable, seed=1)
        save_model(model, tmp_path / f"{work}.model", overwrite=True)
        return resumable

    with (
        cluster(tmp_path / "first") as (address, scheduler),
        DaskEngine.connected(address, timeout=60) as engine,
        ThreadPoolExecutor(1) as pool,
    ):
        running = pool.submit(fitted, engine, "killed")
        assert soon(lambda: len(list((tmp_path / "killed").glob("*.kept"))) > 10)
        scheduler.kill()
        with pytest.raises(EngineError, match="the Dask scheduler has gone"):
            running.result(timeout=60)
    with (
        cluster(tmp_path / "second") as (address, _),
        DaskEngine.connected(address, timeout=60) as engine,
    ):
        after = fitted(engine, "killed")
        undisturbed = fitted(engine, "whole")

    assert after.blocks_read > 10
    assert undisturbed.blocks_read == 0
    assert content(tmp_path / "killed.model") == content(tmp_path / "whole.model")
