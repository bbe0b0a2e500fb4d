"""An engine that keeps what its passes gave: killed anywhere, it goes on to the same bits."""

import sys
import time
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from engine_contract import EngineContract
from killed_fits import in_small_blocks
from sugartag.collection import Collection
from sugartag.engine import LocalEngine, row_blocks
from sugartag.engine.checkpoint import ResumableEngine
from sugartag.engine.checkpoint import engine as resuming
from sugartag.errors import StorageError
from sugartag.methods.registry import make_method

BLOCKS = row_blocks(100, 7)
VALUES = np.random.default_rng(0).normal(size=(100, 5)) * 10.0 ** np.arange(-6, 4, 2)


class Killed(BaseException):
    """What ends a run in the middle."""


@dataclass
class RowSums:
    """Sums rows, and stops where it is told; remembers what it was asked."""

    stop_at: int = 1000
    asked: list[int] = field(default_factory=list)
    __name__ = "row sums"

    def __call__(self, block: slice, values: np.ndarray) -> np.ndarray:
        if block.start >= self.stop_at:
            raise Killed
        self.asked.append(block.start)
        return values[block].sum(axis=0)


@dataclass
class Added:
    """A total of two numbers a column: the sum, and that of the squares."""

    sums: np.ndarray
    squares: list[np.ndarray]

    def take(self, result: np.ndarray, /) -> None:
        self.sums += result
        self.squares[0] = self.squares[0] + result**2


@pytest.fixture(autouse=True)
def _added_is_ours(monkeypatch):
    """Let the total stand among the classes that are kept."""
    module = ModuleType("sugartag.of_this_test")
    module.Added = Added
    monkeypatch.setitem(sys.modules, "sugartag.of_this_test", module)
    monkeypatch.setattr(Added, "__module__", "sugartag.of_this_test")


@pytest.fixture
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture
def engine(folder) -> ResumableEngine:
    return ResumableEngine(LocalEngine(workers=2), folder, 0.0)


def again(engine: ResumableEngine) -> ResumableEngine:
    """Return the engine of a run that goes on."""
    return ResumableEngine(engine.inner, engine.folder, engine.seconds_between)


def run(engine, verb: str, function: RowSums) -> list[np.ndarray]:
    match verb:
        case "map":
            return list(engine.map(function, BLOCKS, VALUES))
        case "sum":
            return [engine.sum(function, BLOCKS, values=VALUES)]
    total = engine.fold(function, BLOCKS, Added(np.zeros(5), [np.zeros(5)]), VALUES)
    return [total.sums, *total.squares]


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestResumableEngine(EngineContract):
    """What every engine promises."""


class TestResumableEngineThatKeepsLittle(EngineContract):
    """The same, as it comes."""

    @pytest.fixture
    def engine(self, folder) -> ResumableEngine:
        return ResumableEngine(LocalEngine(workers=2), folder)


@pytest.mark.parametrize("verb", ["map", "sum", "fold"])
@pytest.mark.parametrize("stop_at", [0, 7, 49, 98, 99])
def test_a_pass_killed_in_a_block_goes_on_there_to_the_same_bits(engine, verb, stop_at):
    wanted = run(LocalEngine(), verb, RowSums())

    killed, function = RowSums(stop_at), RowSums()
    if stop_at < 99:
        with pytest.raises(Killed):
            run(engine, verb, killed)
    else:
        run(engine, verb, killed)
    after = again(engine)
    found = run(after, verb, function)

    np.testing.assert_array_equal(found, wanted)
    assert function.asked == [block.start for block in BLOCKS if block.start >= stop_at]
    assert after.blocks_read == len(BLOCKS) - len(function.asked)


@pytest.mark.parametrize("verb", ["map", "sum", "fold"])
def test_a_pass_killed_again_and_again_ends_with_the_same_bits(engine, verb):
    for stop_at in range(7, 98, 7):
        with pytest.raises(Killed):
            run(again(engine), verb, RowSums(stop_at))

    found = run(again(engine), verb, RowSums())

    np.testing.assert_array_equal(found, run(LocalEngine(), verb, RowSums()))


def test_a_second_pass_is_not_taken_for_the_first(engine):
    first, second = RowSums(), RowSums(stop_at=21)
    run(engine, "map", first)
    with pytest.raises(Killed):
        list(engine.map(second, BLOCKS, -VALUES))

    after, third = again(engine), RowSums()
    run(after, "map", RowSums(stop_at=0))
    found = list(after.map(third, BLOCKS, -VALUES))

    np.testing.assert_array_equal(found, [-part for part in run(LocalEngine(), "map", first)])
    assert third.asked[0] == 21


def test_passes_are_counted_when_they_are_asked_for_and_may_be_left_or_lie_within_another(engine):
    def passes(engine) -> list[float]:
        late = engine.map(RowSums(), BLOCKS, 3 * VALUES)
        left = list(islice(engine.map(RowSums(), BLOCKS, VALUES), 2))
        within = [
            float((outer + engine.sum(RowSums(), BLOCKS[:3], VALUES)).sum())
            for outer in engine.map(RowSums(), BLOCKS[:4], 2 * VALUES)
        ]
        return [float(part.sum()) for part in (*late, *left)] + within

    wanted = passes(LocalEngine())
    first, second = passes(engine), passes(after := again(engine))

    assert first == second == wanted
    # All of the late one, two of the one that was left, and of the others every block.
    assert after.blocks_read == 15 + 2 + 4 + 4 * 3


def test_whoever_takes_results_has_as_many_blas_threads_as_when_they_were_made(folder):
    def blas_threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    engine = ResumableEngine(LocalEngine(workers=2), folder, 0.0)
    made = [blas_threads() for _ in engine.map(RowSums(), BLOCKS, VALUES)]
    read = [blas_threads() for _ in again(engine).map(RowSums(stop_at=0), BLOCKS, VALUES)]

    assert made == read == [{1}] * len(BLOCKS)


def test_another_pass_than_the_one_that_was_kept_is_refused(engine):
    run(engine, "map", RowSums())

    with pytest.raises(StorageError, match=r"over 15 blocks, .* has map 'row sums' over 14 blocks"):
        list(again(engine).map(RowSums(), BLOCKS[:14], VALUES))
    with pytest.raises(StorageError, match=r"start again without --resume"):
        list(again(engine).map(lambda block: 1, BLOCKS))
    with pytest.raises(StorageError, match=r"start again without --resume"):
        list(again(engine).map(RowSums(), row_blocks(99, 7), VALUES))


@pytest.mark.parametrize("verb", ["map", "sum", "fold"])
def test_what_is_damaged_is_made_again(engine, verb):
    wanted = run(engine, verb, RowSums())
    damaged = sorted(engine.folder.iterdir())[-1 if verb != "map" else 5]
    damaged.write_bytes(damaged.read_bytes()[:-1])

    function = RowSums()
    found = run(again(engine), verb, function)

    np.testing.assert_array_equal(found, wanted)
    assert function.asked[0] == (35 if verb == "map" else 0)
    np.testing.assert_array_equal(run(again(engine), verb, RowSums(stop_at=0)), wanted)


@pytest.mark.parametrize("verb", ["map", "sum", "fold"])
def test_a_pass_that_takes_no_time_is_not_written(folder, verb):
    run(ResumableEngine(LocalEngine(), folder, 30.0), verb, RowSums())

    assert kept(folder) == []


@pytest.mark.parametrize("verb", ["map", "sum", "fold"])
def test_what_has_piled_up_is_written_from_time_to_time_and_at_the_end(folder, verb):
    class Slow(RowSums):
        def __call__(self, block: slice, values: np.ndarray) -> np.ndarray:
            time.sleep(0.02)
            return super().__call__(block, values)

    run(ResumableEngine(LocalEngine(), folder, 0.13), verb, Slow())

    assert 2 <= len(kept(folder)) < len(BLOCKS) if verb == "map" else len(kept(folder)) == 1
    run(ResumableEngine(LocalEngine(), folder, 0.13), verb, RowSums(stop_at=0))


def test_large_results_are_written_before_they_fill_the_memory(folder, monkeypatch):
    monkeypatch.setattr(resuming, "MAX_PILED_BYTES", 3 * 5 * 8 - 1)
    monkeypatch.setattr(resuming, "MAX_SHARE", 1.0)

    list(ResumableEngine(LocalEngine(), folder, 30.0).map(RowSums(), BLOCKS, VALUES))

    assert len(kept(folder)) == 5


def test_results_that_take_longer_to_write_than_to_make_are_not_kept_on(folder, monkeypatch):
    monkeypatch.setattr(resuming, "MAX_PILED_BYTES", 0)
    monkeypatch.setattr(resuming, "MAX_SHARE", 0.0)

    list(ResumableEngine(LocalEngine(), folder, 30.0).map(RowSums(), BLOCKS, VALUES))

    assert len(kept(folder)) == 1


def test_results_of_a_kind_that_cannot_be_kept_are_made_again(engine):
    def path(block: slice) -> Path:
        return Path(str(block.start))

    wanted = list(engine.map(path, BLOCKS))

    assert list(again(engine).map(path, BLOCKS)) == wanted
    assert kept(engine.folder) == []


def test_the_other_engine_is_seen_through_it(folder):
    told = []
    inner = LocalEngine(workers=3, progress=lambda *what: told.append(what))
    engine = ResumableEngine(inner, folder, 0.0)

    run(engine, "map", RowSums())
    made, told[:] = list(told), []
    run(again(engine), "map", RowSums())

    assert engine.threads == inner.threads
    assert engine.workers == 3
    assert told == made == [("row sums", block.stop, 100) for block in BLOCKS]
    with pytest.raises(AttributeError):
        _ = engine.nothing_of_the_kind


@pytest.mark.parametrize("name", ["sugar-plus", "lslr", "tag-prop", "linear-probe", "implicit-als"])
def test_all_passes_of_a_method_are_kept_and_give_the_same_scores(
    name, engine, collection, monkeypatch, caplog
):
    monkeypatch.setattr(Collection, "blocks", in_small_blocks)
    caplog.set_level("INFO", logger="sugartag.engine.checkpoint")
    method = make_method(name, {"components": 30} if name == "sugar-plus" else {})
    rows = collection.rows(slice(0, 200))

    after = again(engine)
    wanted, first, second = (
        method.fit(collection, engine=one, rng=np.random.default_rng(1)).scores(rows)
        for one in (LocalEngine(workers=2), engine, after)
    )

    np.testing.assert_array_equal(first, wanted)
    np.testing.assert_array_equal(second, wanted)
    assert "not kept" not in caplog.text
    assert after.blocks_read > 0
