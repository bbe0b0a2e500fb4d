from pathlib import Path

import numpy as np
import pytest

from sugartag.engine import LocalEngine
from sugartag.engine.room import SMALL, room_in
from sugartag.errors import StorageError


def test_without_a_folder_room_is_memory():
    found = LocalEngine().room((3, SMALL), np.int8)

    assert not isinstance(found, np.memmap)
    assert found.shape == (3, SMALL)
    assert not found.any()


def test_many_numbers_are_mapped_to_a_file_that_has_no_name(tmp_path):
    found = LocalEngine(scratch=tmp_path).room((3, SMALL), np.int8)
    found[1] = 7

    assert isinstance(found, np.memmap)
    assert found.sum(dtype=int) == 7 * SMALL
    assert list(tmp_path.iterdir()) == []


def test_few_numbers_are_not_worth_a_file(tmp_path):
    assert not isinstance(room_in(tmp_path, 10, np.float64), np.memmap)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells")
def test_what_is_mapped_is_not_memory_of_the_process(tmp_path):
    before = anonymous_kb()

    found = room_in(tmp_path, 1 << 26, np.int8)
    found[:] = 1

    assert anonymous_kb() - before < 1 << 14


def anonymous_kb() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StorageError, match="gone: No such file"):
        room_in(tmp_path / "gone", SMALL, np.int8)
