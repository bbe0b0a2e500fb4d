import numpy as np
import pytest

from sugartag.linalg.compiled import compiled, fit_together, read_only

TWICE = "def twice(numbers):\n    for place in range(len(numbers)):\n        numbers[place] *= 2\n"


def test_a_function_is_compiled_where_what_comes_out_cannot_be_kept():
    """A function without a file stands for a folder that cannot be written to."""
    found = {}
    exec(TWICE, found)
    twice = compiled(found["twice"])
    numbers, as_written = np.arange(5.0), np.arange(5.0)

    twice(numbers)
    twice.py_func(as_written)

    assert twice.signatures
    np.testing.assert_array_equal(numbers, as_written)


def test_a_read_only_view_leaves_the_array_as_it_is(tmp_path):
    array = np.memmap(tmp_path / "numbers", dtype=np.float32, mode="w+", shape=3)

    view = read_only(array)

    assert type(view) is np.ndarray
    assert np.shares_memory(view, array)
    assert array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_arrays_that_contradict_each_other_are_refused():
    fit_together(True)
    with pytest.raises(ValueError, match="do not fit together"):
        fit_together(False)
