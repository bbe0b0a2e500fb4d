"""The Dask engine on a real cluster: two worker processes, spoken to over TCP."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from distributed import Client
from threadpoolctl import threadpool_info

from engine_contract import (
    BLOCKS,
    CountsItsArrivals,
    EngineContract,
    hang_until_killed,
    look_at,
    start_after_a_while,
    sum_of_rows,
)
from sugartag.collection import Collection, open_collection, save_collection
from sugartag.engine import DaskEngine, LocalEngine, clusters, room, row_blocks
from sugartag.engine import dask as dask_engine
from sugartag.engine.on_workers import Shared, content_of, run_block
from sugartag.errors import EngineError, MissingExtraError, SettingsError
from sugartag.methods.registry import make_method

SMALL = {
    "sugar-plus": {"components": 30},
    "tag-prior": {},
    "linear-probe": {},
    "sugar-tc": {"image_clusters": 8, "user_clusters": 4, "units_per_cluster": 10},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskEngine]:
    with DaskEngine.local_cluster(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def address(cluster) -> str:
    return cluster.client.scheduler.address


@pytest.fixture
def engine(cluster) -> DaskEngine:
    return cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory, collection) -> Path:
    target = tmp_path_factory.mktemp("stored") / "photos"
    save_collection(collection, target)
    return target


@pytest.fixture
def opened(folder, monkeypatch) -> Collection:
    """The planted collection as opened from a folder, cut into seven blocks."""

    def blocks(self: Collection, rows_per_block: int = 8192) -> tuple[slice, ...]:
        return row_blocks(self.n_images, min(rows_per_block, 90))

    monkeypatch.setattr(Collection, "blocks", blocks)
    return open_collection(folder)


def soon(holds: Callable[[], bool]) -> bool:
    patience = time.monotonic() + 30
    while not holds() and time.monotonic() < patience:
        time.sleep(0.02)
    return holds()


def blas_threads(block: slice) -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def first_feature(block: slice, collection: Collection) -> float:
    features = collection.rows(block).features
    assert features is not None
    return float(features[0, 0])


class TestDaskEngine(EngineContract):
    """What every engine promises."""


def test_the_workers_are_two_other_processes_spoken_to_over_tcp(cluster, address):
    workers = cluster.client.run(os.getpid)

    assert address.startswith("tcp://127.0.0.1:")
    assert all(name.startswith("tcp://127.0.0.1:") for name in workers)
    assert len({*workers.values(), os.getpid()}) == 3


@pytest.mark.parametrize("name", SMALL)
def test_a_fit_over_tcp_equals_the_local_one(address, opened, name, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "SMALL", 64)
    method = make_method(name, SMALL[name])

    with DaskEngine.connected(address, scratch=tmp_path) as engine:
        over_tcp = method.fit(opened, engine=engine, rng=np.random.default_rng(1))
    here = method.fit(opened, engine=LocalEngine(blas_threads=1), rng=np.random.default_rng(1))

    rows = opened.rows(slice(0, opened.n_images))
    np.testing.assert_allclose(over_tcp.scores(rows), here.scores(rows), rtol=1e-6, atol=1e-6)


def test_a_worker_killed_in_a_block_changes_nothing(cluster, tmp_path, rng):
    values = rng.normal(size=(100, 5)) * 10.0 ** rng.integers(-8, 8, (100, 5))
    undisturbed = cluster.sum(sum_of_rows, BLOCKS, values)

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(cluster.sum, hang_until_killed, BLOCKS, tmp_path, values)
        assert soon(lambda: any(tmp_path.glob("started-*")))
        (started,) = tmp_path.glob("started-*")
        os.kill(int(started.name.removeprefix("started-")), signal.SIGKILL)
        (tmp_path / "killed").touch()
        disturbed = found.result(timeout=60)

    np.testing.assert_array_equal(disturbed, undisturbed)
    assert len(list(tmp_path.glob("started-*"))) == 2


def test_shared_values_are_made_again_when_all_who_held_them_are_dead(cluster, rng):
    values = rng.normal(size=(100, 5))
    before = cluster.sum(sum_of_rows, BLOCKS, values)
    held = set(cluster._held)
    killed = cluster.client.run(os.getpid)

    for process in killed.values():
        os.kill(process, signal.SIGKILL)
    after = cluster.sum(sum_of_rows, BLOCKS, values)

    np.testing.assert_array_equal(after, before)
    assert set(cluster._held) == held
    assert not {*cluster.client.run(os.getpid).values()} & {*killed.values()}


def test_a_shared_value_arrives_once_in_each_worker(cluster, tmp_path):
    assert all(cluster.map(look_at, BLOCKS, CountsItsArrivals(tmp_path)))
    assert all(cluster.map(look_at, BLOCKS, CountsItsArrivals(tmp_path)))

    by_process = [path.name.split("-")[1] for path in tmp_path.glob("arrived-*")]
    assert str(os.getpid()) not in by_process
    assert 1 <= len(by_process) == len(set(by_process)) <= 2


def test_a_closure_travels(cluster):
    offset = 5

    assert list(cluster.map(lambda block: block.start + offset, row_blocks(3, 1))) == [5, 6, 7]


def test_blas_has_one_thread_in_a_block_or_as_many_as_asked(cluster):
    two = DaskEngine(cluster.client, blas_threads=2)
    function = partial(lambda look, block: look(block), blas_threads)

    assert list(cluster.map(function, row_blocks(2, 1))) == [{1}, {1}]
    assert all(max(seen) <= 2 for seen in two.map(function, row_blocks(2, 1)))


def test_results_are_made_only_a_few_ahead_of_who_takes_them(cluster, tmp_path):
    def begin(block: slice) -> None:
        (tmp_path / str(block.start)).touch()

    found = cluster.map(begin, row_blocks(200, 1))
    next(found)
    time.sleep(0.3)

    assert len(list(tmp_path.iterdir())) <= 6
    found.close()


def test_workers_that_come_in_the_middle_of_a_pass_are_given_work(cluster, tmp_path, monkeypatch):
    def begin(block: slice) -> None:
        (tmp_path / str(block.start)).touch()

    monkeypatch.setattr(DaskEngine, "_threads_there", lambda self: 1)
    found = cluster.map(begin, row_blocks(200, 1))
    next(found)
    time.sleep(0.3)
    before = len(list(tmp_path.iterdir()))
    monkeypatch.setattr(DaskEngine, "_threads_there", lambda self: 10)
    next(found)

    assert before <= 3
    assert soon(lambda: len(list(tmp_path.iterdir())) == 2 + 2 * 10)
    found.close()


def test_progress_tells_rows_done_after_each_block_and_each_group_of_a_sum(cluster):
    told = []
    engine = DaskEngine(cluster.client, progress=lambda *what: told.append(what))

    list(engine.map(start_after_a_while, BLOCKS[:4]))
    engine.sum(sum_of_rows, BLOCKS, np.ones((100, 1)))

    assert told[:5] == [("start after a while", done, 12) for done in (0, 3, 6, 9, 12)]
    assert told[5:] == [("sum of rows", done, 100) for done in (0, 24, 48, 72, 96, 100)]


def test_a_collection_opened_from_a_folder_travels_as_names_of_files(cluster, opened, folder):
    features = sum((folder / path).stat().st_size for path in folder.glob("shards/*/features.npy"))

    content = content_of(opened)
    found = list(cluster.map(partial(lambda f, *a: f(*a), first_feature), opened.blocks(), opened))

    assert len(content) < 0.2 * features
    assert found == [first_feature(block, opened) for block in opened.blocks()]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shutil.rmtree, "cannot open {folder}.*No such file.*same path on every machine"),
        (
            lambda folder: [np.save(path, np.load(path) + 1) for path in folder.rglob("owner.npy")],
            "finds another file at {folder}",
        ),
    ],
    ids=["missing", "other"],
)
def test_a_folder_that_a_worker_lacks_is_named_with_the_worker(
    cluster, folder, tmp_path, change, said
):
    copied = tmp_path / "photos"
    shutil.copytree(folder, copied)
    content = content_of(open_collection(copied))
    change(copied)

    function = Shared(content_of(lambda block, collection: collection.n_images))
    future = cluster.client.submit(run_block, slice(0, 1), 1, (), function, Shared(content))

    where = r"^worker tcp://127\.0\.0\.1:\d+ on \S+ "
    with pytest.raises(EngineError, match=where + said.format(folder=re.escape(str(copied)))):
        future.result()


def test_a_value_too_large_to_send_is_refused(cluster, monkeypatch):
    monkeypatch.setattr(dask_engine, "MAX_SHARED_BYTES", 1000)

    with pytest.raises(EngineError, match="open the collection and the model from folders"):
        cluster.sum(sum_of_rows, BLOCKS, np.arange(1000.0))


def test_a_value_of_many_megabytes_travels_without_a_warning(cluster, rng):
    values = rng.random((200_000, 10))

    found = cluster.sum(sum_of_rows, row_blocks(200_000, 50_000), values)

    np.testing.assert_allclose(found, values.sum(axis=0), rtol=1e-9)


def test_no_scheduler_at_the_address_is_told_quickly():
    began = time.monotonic()

    with pytest.raises(EngineError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        DaskEngine.connected("tcp://127.0.0.1:9", timeout=1)

    assert time.monotonic() - began < 10


def test_an_address_that_is_none_is_told():
    with pytest.raises(EngineError, match="no Dask scheduler answers at 'nonsense://x'"):
        DaskEngine.connected("nonsense://x", timeout=1)


def test_another_version_on_a_worker_is_told(address, monkeypatch):
    asked = clusters._client

    def client_of_old_cluster(*arguments):
        client = asked(*arguments)
        found = client.get_versions(packages=["sugartag", "scipy", "numba"])
        for there in found["workers"].values():
            there["packages"]["sugartag"] = "0.0.1"
        monkeypatch.setattr(client, "get_versions", lambda **_: found)
        return client

    monkeypatch.setattr(clusters, "_client", client_of_old_cluster)

    with pytest.raises(EngineError, match=r"worker tcp://\S+ has sugartag 0\.0\.1, this machine"):
        DaskEngine.connected(address)


def test_without_the_package_the_line_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'sugartag\[dask\]'"):
        DaskEngine.connected("tcp://127.0.0.1:9")


def test_importing_the_package_does_not_import_dask():
    program = "import sys, sugartag.cli.fit; sys.exit('distributed' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_cluster_without_workers_or_threads_is_refused(cluster):
    with pytest.raises(SettingsError, match="workers must be at least 1, not 0"):
        DaskEngine.local_cluster(0)
    with pytest.raises(SettingsError, match="blas_threads must be at least 1, not 0"):
        DaskEngine(cluster.client, blas_threads=0)


def test_a_cluster_that_is_left_leaves_no_process():
    with DaskEngine.local_cluster(1) as engine:
        (process,) = engine.client.run(os.getpid).values()

    assert soon(lambda: not Path(f"/proc/{process}").exists())


def test_a_scheduler_that_dies_ends_the_pass_with_one_line(tmp_path):
    file = tmp_path / "scheduler.json"
    arguments = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    options = [*arguments, "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file)]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *options]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            # A file that exists may not be written to its end yet.
            assert soon(lambda: file.exists() and file.read_text().endswith("}"))
            address = json.loads(file.read_text())["address"]
            with pytest.raises(EngineError, match=f"scheduler at {address} has no workers"):
                DaskEngine.connected(address, timeout=0.5)
            with Client(address, set_as_default=False) as client:
                waiting = DaskEngine(client).map(start_after_a_while, BLOCKS)
                with ThreadPoolExecutor(1) as pool:
                    found = pool.submit(next, waiting)
                    time.sleep(0.3)
                    process.kill()
                    with pytest.raises(EngineError, match="the Dask scheduler has gone"):
                        found.result(timeout=30)
        finally:
            process.kill()
