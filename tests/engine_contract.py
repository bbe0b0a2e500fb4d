"""What every engine promises, and block functions that worker processes can import."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from sugartag.engine import Engine, LocalEngine, row_blocks
from sugartag.errors import MissingExtraError

BLOCKS = row_blocks(100, 3)


class CountsItsArrivals:
    """A shared value that leaves a file wherever it is put together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, Path]) -> None:
        self.folder = state["folder"]
        (self.folder / f"arrived-{os.getpid()}-{time.monotonic_ns()}").touch()


def start_after_a_while(block: slice) -> int:
    time.sleep(0.02 if block.start % 9 == 0 else 0.0)
    return block.start


def sum_of_rows(block: slice, values: np.ndarray) -> np.ndarray:
    return values[block].sum(axis=0)


def fail_at_nine(block: slice, folder: Path) -> int:
    (folder / f"{block.start}-{time.monotonic_ns()}").touch()
    if block.start == 9:
        raise KeyError("the ninth")
    return block.start


def lack_a_package(block: slice) -> int:
    raise MissingExtraError("implicit", extra="implicit", needed_for="this test")


def join(block: slice, first: str, *, second: str) -> str:
    return f"{block.start}{first}{second}"


def hang_until_killed(block: slice, folder: Path, values: np.ndarray) -> np.ndarray:
    """Return the sum of the rows; in the middle block, only once somebody has been killed."""
    if block.start == 48:
        (folder / f"started-{os.getpid()}").touch()
        patience = time.monotonic() + 30
        while not (folder / "killed").exists() and time.monotonic() < patience:
            time.sleep(0.02)
    return sum_of_rows(block, values)


def sum_and_leave_a_mark(block: slice, folder: Path, values: np.ndarray) -> np.ndarray:
    (folder / f"{block.start}-{time.monotonic_ns()}").touch()
    return sum_of_rows(block, values)


def look_at(block: slice, seen: CountsItsArrivals) -> bool:
    return seen.folder.is_dir()


class InOrder:
    """A total that remembers what it took."""

    def __init__(self) -> None:
        self.taken: list[int] = [-1]

    def take(self, result: int, /) -> None:
        self.taken.append(result)


class Summed:
    """A total of rows that takes sums of results as well as results, and counts what it took."""

    takes_sums = True

    def __init__(self) -> None:
        self.rows = np.zeros(5)
        self.times = 0

    def take(self, result: np.ndarray, /) -> None:
        self.rows += result
        self.times += 1


class EngineContract:
    """Claims about the fixture ``engine``; a subclass named Test... says which one that is."""

    def test_results_come_in_block_order_whoever_is_done_first(self, engine: Engine):
        assert list(engine.map(start_after_a_while, BLOCKS)) == [block.start for block in BLOCKS]

    def test_no_blocks_give_no_results(self, engine: Engine):
        assert list(engine.map(start_after_a_while, ())) == []

    def test_a_sum_is_that_of_one_worker(self, engine: Engine, rng):
        values = rng.normal(size=(100, 5))

        found = engine.sum(sum_of_rows, BLOCKS, values)

        expected = LocalEngine().sum(sum_of_rows, BLOCKS, values)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

    def test_a_sum_made_again_is_the_same_to_the_last_bit(self, engine: Engine, rng):
        values = rng.normal(size=(100, 5)) * 10.0 ** rng.integers(-8, 8, (100, 5))

        first, second = (engine.sum(sum_of_rows, BLOCKS, values) for _ in range(2))

        np.testing.assert_array_equal(first, second)

    def test_a_sum_over_nothing_is_refused(self, engine: Engine):
        with pytest.raises(ValueError, match="nothing to sum"):
            engine.sum(sum_of_rows, (), np.zeros((0, 2)))

    def test_a_total_takes_each_result_in_block_order(self, engine: Engine):
        total = engine.fold(start_after_a_while, BLOCKS, InOrder())

        assert total.taken == [-1, *(block.start for block in BLOCKS)]

    def test_a_total_takes_nothing_of_no_blocks(self, engine: Engine):
        assert engine.fold(start_after_a_while, (), InOrder()).taken == [-1]

    def test_a_total_that_takes_sums_is_that_of_one_worker(self, engine: Engine, rng):
        values = rng.normal(size=(100, 5))

        total = engine.fold(sum_of_rows, BLOCKS, Summed(), values)

        np.testing.assert_allclose(total.rows, values.sum(axis=0), rtol=1e-12, atol=1e-12)
        assert 1 <= total.times <= len(BLOCKS)

    def test_shared_values_reach_the_function_by_place_and_by_name(self, engine: Engine):
        found = engine.map(join, row_blocks(4, 2), "a", second="b")

        assert list(found) == ["0ab", "2ab"]

    @pytest.mark.parametrize("verb", ["map", "sum", "fold"])
    def test_an_error_in_a_block_surfaces_and_stops_the_pass(self, engine: Engine, tmp_path, verb):
        run = {
            "map": lambda *pass_: list(engine.map(*pass_)),
            "sum": engine.sum,
            "fold": lambda function, blocks, *shared: engine.fold(
                function, blocks, InOrder(), *shared
            ),
        }[verb]

        with pytest.raises(KeyError, match="the ninth"):
            run(fail_at_nine, row_blocks(300, 1), tmp_path)

        begun = [path.name.partition("-")[0] for path in tmp_path.iterdir()]
        assert begun.count("9") == 1
        assert len(begun) < 100

    def test_an_error_with_a_constructor_of_its_own_arrives_as_it_is(self, engine: Engine):
        with pytest.raises(MissingExtraError, match=r"pip install 'sugartag\[implicit\]'"):
            list(engine.map(lack_a_package, BLOCKS))
