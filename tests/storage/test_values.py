import dataclasses
import hashlib
import json
import math
import re
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from scipy import sparse

from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.errors import StorageError
from sugartag.linalg.neighbours import Neighbours
from sugartag.linalg.sylvester import Spectrum
from sugartag.storage.values import MAGIC, bytes_in, read_value, write_value

arrays = some.arrays(
    st.one_of(
        some.boolean_dtypes(),
        some.integer_dtypes(endianness="?"),
        some.unsigned_integer_dtypes(endianness="?"),
        some.floating_dtypes(endianness="?"),
        some.complex_number_dtypes(endianness="?"),
    ),
    some.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
).flatmap(lambda array: st.permutations(range(array.ndim)).map(array.transpose))


@st.composite
def sparse_rows(draw) -> sparse.csr_array:
    dense = draw(some.arrays(np.int8, some.array_shapes(min_dims=2, max_dims=2, min_side=0)))
    made = sparse.csr_array(dense.astype(draw(st.sampled_from([np.float64, np.float32, np.bool_]))))
    index = draw(st.sampled_from([np.int32, np.int64]))
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    return made


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.slices(10),
    some.from_dtype(np.dtype("f4")),
    some.from_dtype(np.dtype("i8")),
    arrays,
    sparse_rows(),
    st.lists(st.text()).map(Texts.of),
    st.builds(Spectrum, arrays, arrays),
)
values = st.recursive(
    plain,
    lambda parts: st.one_of(
        st.lists(parts, max_size=3),
        st.lists(parts, max_size=3).map(tuple),
        st.dictionaries(st.text(), parts, max_size=3),
        st.builds(LocalEngine, st.just(1), st.just(None), parts),
    ),
    max_leaves=6,
)


def assert_same(found: object, wanted: object) -> None:
    """Assert that two values are the same in kind and to the last bit."""
    assert type(found) is type(wanted)
    match wanted:
        case np.ndarray():
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            assert found.dtype.byteorder == wanted.dtype.byteorder
            assert found.flags.c_contiguous == wanted.flags.c_contiguous
            assert found.flags.f_contiguous == wanted.flags.f_contiguous
            assert found.flags.writeable
            assert found.tobytes() == wanted.tobytes()
        case sparse.csr_array():
            assert found.shape == wanted.shape
            for part in ("data", "indices", "indptr"):
                assert_same(getattr(found, part), getattr(wanted, part))
        case np.generic():
            assert found.tobytes() == wanted.tobytes()
        case float():
            assert found == wanted or (math.isnan(found) and math.isnan(wanted))
            assert math.copysign(1, found) == math.copysign(1, wanted) or math.isnan(wanted)
        case list() | tuple():
            assert len(found) == len(wanted)
            for one, other in zip(found, wanted, strict=True):
                assert_same(one, other)
        case dict():
            assert list(found) == list(wanted)
            assert_same(list(found.values()), list(wanted.values()))
        case _ if dataclasses.is_dataclass(wanted):
            assert_same(vars(found), vars(wanted))
        case _:
            assert found == wanted


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "value"


@settings(deadline=None)
@given(value=values)
def test_what_is_read_is_what_was_written_to_the_last_bit(value, tmp_path_factory):
    file = tmp_path_factory.mktemp("round") / "value"

    write_value(file, value)

    assert_same(read_value(file), value)


def test_a_part_of_an_array_comes_back_with_its_axes_in_the_same_order_in_memory(file):
    whole = np.arange(60.0).reshape(3, 4, 5)
    view = whole.transpose(2, 0, 1)[1:4]

    write_value(file, view)

    found = read_value(file)
    np.testing.assert_array_equal(found, view)
    assert found.transpose(1, 2, 0).flags.c_contiguous


def test_a_mapped_array_comes_back_in_memory(file, tmp_path):
    np.save(tmp_path / "mapped.npy", np.arange(5))

    write_value(file, np.load(tmp_path / "mapped.npy", mmap_mode="r"))

    assert_same(read_value(file), np.arange(5))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.array(["a"]), "an array of <U1"),
        (np.array([object()]), "an array of object"),
        (np.zeros(1, dtype=[("a", "<f4")]), "an array of"),
        ({1: 2}, "a builtins.dict"),
        (OrderedDict(a=1), "a collections.OrderedDict"),
        (sparse.csc_array((2, 2)), "csc_array"),
        (sparse.csr_array(np.ones(3)), "csr_array"),
        (Path("a"), "Path"),
        ([{"deep": (1, {2, 3})}], "a builtins.set"),
        (b"bytes", "a builtins.bytes"),
        (np.ma.masked_array([1, 2]), "MaskedArray"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_come_back_as_it_was_is_not_written(value, said, file):
    with pytest.raises(TypeError, match=said):
        write_value(file, value)

    assert not file.exists()


VALUE = {"a": np.arange(3), "b": [1, None, Neighbours(np.zeros((2, 1), int), np.ones((2, 1)))]}


def test_a_byte_that_changed_is_found_wherever_it_is(file):
    write_value(file, VALUE)
    whole = file.read_bytes()

    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(StorageError, match=r"is not a stored value|is cut off or damaged"):
            read_value(file)


def test_a_file_that_was_cut_or_grew_is_found(file):
    write_value(file, VALUE)
    whole = file.read_bytes()

    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        with pytest.raises(StorageError, match=r"is not a stored value|is cut off or damaged"):
            read_value(file)
    file.write_bytes(whole + b"\0")
    with pytest.raises(StorageError, match="is cut off or damaged"):
        read_value(file)


def test_a_file_that_is_not_there_is_named(file):
    with pytest.raises(StorageError, match=r"cannot read .*value: No such file"):
        read_value(file)


def forged(structure: object, raw: bytes = b"") -> bytes:
    """Return a file with a right checksum of whatever."""
    text = json.dumps(structure).encode()
    whole = MAGIC + len(text).to_bytes(8, "little") + text + raw
    return whole + hashlib.sha256(whole).digest()


CSR = {"csr": [["<f8", [1], [0]], ["<i4", [1], [0]], ["<i4", [2], [0]]], "shape": [1, 1]}


@pytest.mark.parametrize(
    ("structure", "said"),
    [
        ({"class": "subprocess:Popen", "parts": []}, "not a class of sugartag"),
        ({"class": "sugartagged:Trap", "parts": []}, "not a class of sugartag"),
        ({"class": "sugartag.cli.main:main", "parts": []}, "not a class of sugartag that holds"),
        (
            {"class": "sugartag.storage.aside:Path", "parts": []},
            "not a class of sugartag that holds",
        ),
        ({"class": "sugartag.nowhere:Value", "parts": []}, "No module"),
        ({"class": "sugartag.engine.local:Nothing", "parts": []}, "no attribute"),
        ({"class": "sugartag.engine.local:LocalEngine", "parts": [["map", 1]]}, "a part 'map'"),
        ({"array": ["|O", [1], [0]]}, "an array of object"),
        ({"array": ["nonsense", [1], [0]]}, "nonsense"),
        ({"array": ["<f8", [1000], [0]]}, "too few bytes"),
        ({"array": ["<f8", [10**12, 10**12], [0, 1]]}, "too few bytes"),
        ({"array": ["<f8", [-1], [0]]}, "shape"),
        ({"array": ["<f8", [1], [1]]}, "axes"),
        ({"array": 5}, ""),
        (CSR, "points outside"),
        ({"what": 1}, "is not a value"),
        ([1, 2], "is not a value"),
    ],
)
def test_a_file_that_says_what_it_should_not_is_refused(structure, said, file):
    raw = np.array([1.0]).tobytes() + np.array([7, 0, 1], "<i4").tobytes()
    file.write_bytes(forged(structure, raw))

    with pytest.raises(StorageError, match=f"is not a stored value: .*{re.escape(said)}") as error:
        read_value(file)

    assert "\n" not in str(error.value)


def test_the_size_of_a_value_is_about_that_of_its_file(file):
    value = {
        "a": [np.zeros(1000), "x" * 500],
        "b": (sparse.csr_array(np.eye(100)), Texts.of(["abc"] * 100)),
        "c": Spectrum(np.zeros(100), np.zeros((100, 100))),
    }

    write_value(file, value)

    assert bytes_in(value) == pytest.approx(file.stat().st_size, rel=0.02)
