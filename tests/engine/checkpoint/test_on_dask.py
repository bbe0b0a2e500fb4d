"""A cluster whose scheduler is killed: another one goes on, and the model is the same."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import pytest

from engine_contract import EngineContract, sum_of_rows
from killed_fits import in_small_blocks
from sugartag.collection import Collection, open_collection, save_collection
from sugartag.engine import DaskEngine, LocalEngine, row_blocks
from sugartag.engine.checkpoint import ResumableEngine
from sugartag.errors import EngineError
from sugartag.methods.registry import make_method
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.model import save_model


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
            # A file that exists may not be written to its end yet.
            assert soon(lambda: file.exists() and file.read_text().endswith("}"))
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


@dataclass
class Added:
    """A total that takes sums of results as well as results."""

    rows: np.ndarray
    takes_sums: ClassVar[bool] = True

    def take(self, result: np.ndarray, /) -> None:
        self.rows += result


@pytest.fixture(autouse=True)
def _added_is_ours(monkeypatch):
    """Let the total stand among the classes that are kept."""
    module = ModuleType("sugartag.of_this_test")
    module.Added = Added
    monkeypatch.setitem(sys.modules, "sugartag.of_this_test", module)
    monkeypatch.setattr(Added, "__module__", "sugartag.of_this_test")


@pytest.fixture(scope="module")
def inner() -> Iterator[DaskEngine]:
    with DaskEngine.local_cluster(1) as engine:
        yield engine


class TestResumableDaskEngine(EngineContract):
    """What every engine promises."""

    @pytest.fixture
    def engine(self, inner, tmp_path_factory) -> ResumableEngine:
        return ResumableEngine(inner, tmp_path_factory.mktemp("work"), 0.0)


@pytest.mark.parametrize(("verb", "kept"), [("sums_so_far", 128), ("pieces", 16)])
def test_a_pass_goes_on_at_a_group_of_blocks_to_the_same_bits(inner, tmp_path, rng, verb, kept):
    values = rng.normal(size=(300, 5)) * 10.0 ** rng.integers(-8, 8, (300, 5))
    blocks = row_blocks(300, 2)

    class Killed(DaskEngine):
        """Goes when the third piece is asked for."""

    def gone_after_two(self: DaskEngine, *asked: object) -> Iterator[object]:
        made = getattr(inner, verb)(*asked)
        yield from islice(made, 2)
        raise EngineError("gone")

    def run(engine: DaskEngine, work: str) -> tuple[np.ndarray, int]:
        (tmp_path / work).mkdir(exist_ok=True)
        resumable = ResumableEngine(engine, tmp_path / work, 0.0)
        if verb == "sums_so_far":
            return resumable.sum(sum_of_rows, blocks, values), resumable.blocks_read
        total = resumable.fold(sum_of_rows, blocks, Added(np.zeros(5)), values)
        return total.rows, resumable.blocks_read

    setattr(Killed, verb, gone_after_two)
    wanted, _ = run(inner, "other")
    with pytest.raises(EngineError, match="gone"):
        run(Killed(inner.client), "work")
    found, blocks_read = run(inner, "work")

    np.testing.assert_array_equal(found, wanted)
    assert blocks_read == kept


def test_a_fit_whose_scheduler_is_killed_goes_on_with_another(tmp_path, collection, monkeypatch):
    monkeypatch.setattr(Collection, "blocks", in_small_blocks)
    save_collection(collection, tmp_path / "photos")
    opened, method = (
        open_collection(tmp_path / "photos"),
        make_method("sugar-plus", {"components": 20}),
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
