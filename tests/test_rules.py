"""What is declared beside a stored type is what is checked when it is read back."""

from dataclasses import dataclass, fields, is_dataclass
from types import UnionType
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from scipy import sparse

from sugartag._rules import (
    AnyNumber,
    Below,
    OneOf,
    Positive,
    Rising,
    Shape,
    Sizes,
    Within,
    check_csr,
    check_stored,
    rises,
)
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.assignment.calibration import Calibration
from sugartag.assignment.thresholds import TagThresholds
from sugartag.collection.align import Catalogue
from sugartag.collection.model import Collection
from sugartag.methods.registry import METHODS


@dataclass
class Part:
    weights: Annotated[FloatArray, Shape("tags", "_own")]
    bias: Annotated[FloatArray, Shape("_own"), Within(0, 1)]


@dataclass
class Stored:
    start: Annotated[IntArray, Shape("owners+1"), Rising(0, "items")]
    item: Annotated[IntArray, Shape("items"), Below("tags")]
    first: Part
    second: Part
    links: Annotated[SparseRows, Shape("owners", "tags")]
    width: Annotated[float, Positive()]
    gap: Annotated[float, AnyNumber()]
    kind: Literal["a", "b"]
    search: Annotated[str, OneOf("exact", "other")]
    optional: Annotated[FloatArray | None, Shape("tags")] = None


def sound() -> Stored:
    return Stored(
        start=np.array([0, 1, 3]),
        item=np.array([2, 0, 1]),
        first=Part(np.zeros((3, 2)), np.zeros(2)),
        second=Part(np.zeros((3, 5)), np.ones(5)),
        links=sparse.csr_array(np.eye(2, 3)),
        width=0.5,
        gap=float("nan"),
        kind="a",
        search="exact",
    )


def fault_of(**changes: object) -> str:
    value = sound()
    for name, changed in changes.items():
        setattr(value, name, changed)
    with pytest.raises(ValueError, match=r"^model\.") as caught:
        check_stored(value, Stored, Sizes(), "model")
    return str(caught.value)


def test_what_follows_all_rules_passes_and_says_how_large_it_is():
    sizes = Sizes({"tags": 3})

    check_stored(sound(), Stored, sizes, "model")

    assert sizes.known["owners"] == 2
    assert sizes.known["items"] == 3


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("start", np.array([0, 1]), "links has 2 owners, not 1"),
        ("start", np.array([0, 1, 3], np.uint64), "is uint64, not signed integers"),
        ("start", np.array([0.0, 1, 3]), "is float64, not signed integers"),
        ("start", np.array([0, 4, 3]), "falls where it must rise"),
        ("start", np.array([0, 1, 9]), "does not go from 0 to items"),
        ("start", np.array([1, 1, 3]), "does not go from 0 to items"),
        ("start", np.array([[0, 1, 3]]), "has 2 axes, not 1"),
        ("start", np.array([0, 1, 3], ">i8"), "not a type of this machine"),
        ("item", np.array([2, 0, 3]), "points to 3 of 3 tags"),
        ("item", np.array([2, 0, -1]), "points to -1 of 3 tags"),
        ("first", Part(np.zeros((4, 2)), np.zeros(2)), "weights has 3 tags, not 4"),
        ("first", Part(np.zeros((3, 2)), np.zeros(3)), "bias has 3 _own, not 2"),
        ("first", Part(np.zeros((3, 2)), np.full(2, 1.5)), "bias has 1.5, above 1"),
        ("first", Part(np.zeros((3, 2)), np.full(2, np.nan)), "are not finite"),
        ("first", Part(np.full((3, 2), -np.inf), np.zeros(2)), "are not finite"),
        ("first", Part(np.zeros((3, 2)), np.zeros(2, np.longdouble)), "not a type of this machine"),
        ("width", 0.0, "is not above 0"),
        ("width", float("inf"), "width is inf"),
        ("width", 1, "is 1, not float"),
        ("kind", "c", "is 'c', not one of"),
        ("search", "else", "is 'else', not one of exact, other"),
        ("optional", np.zeros(4), "optional has 4 tags, not 3"),
    ],
)
def test_what_breaks_a_rule_is_named(name, value, said):
    assert said in fault_of(**{name: value})


@given(some.arrays(np.uint8, st.integers(0, 6)))
def test_unsigned_numbers_rise_when_they_rise(array):
    assert rises(array) == (sorted(array.tolist()) == array.tolist())


@pytest.mark.parametrize(
    ("part", "array"),
    [
        ("indptr", np.array([0, 2, 1, 3])),
        ("indptr", np.array([0, 1, 3], np.uint32)),
        ("indptr", np.array([0, 1, 4])),
        ("indptr", np.array([1, 1, 3])),
        ("indptr", np.array([0, 3])),
        ("indices", np.array([0, 1, 3])),
        ("indices", np.array([0, -1, 2])),
        ("indices", np.array([0.0, 1.0, 2.0])),
        ("indices", np.array([[0, 1, 2]])),
        ("data", np.ones(2)),
        ("data", np.ones(3, np.complex128)),
    ],
)
def test_parts_that_make_no_sparse_array_are_refused(part, array):
    parts = {"data": np.ones(3), "indices": np.array([0, 1, 2]), "indptr": np.array([0, 1, 3])}
    check_csr(**parts, shape=(2, 3))

    with pytest.raises(ValueError, match=r"^is "):
        check_csr(**{**parts, part: array}, shape=(2, 3))


@pytest.mark.parametrize("shape", [(2, -1), (2.0, 3), ("2", 3), (True, 3)])
def test_a_sparse_array_of_an_impossible_shape_is_refused(shape):
    with pytest.raises((ValueError, TypeError)):
        check_csr(np.ones(3), np.array([0, 1, 2]), np.array([0, 1, 3]), shape)


def stored_types() -> dict[str, type]:
    """Return every dataclass that a model folder holds, by name."""
    found: dict[str, type] = {}

    def visit(hint: object) -> None:
        hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        for option in get_args(hint) if isinstance(hint, UnionType) else [hint]:
            if is_dataclass(option) and option is not Collection and option not in found.values():
                found[f"{option.__module__}.{option.__qualname__}"] = option
                for inner in get_type_hints(option, include_extras=True).values():
                    visit(inner)

    for kind in (
        *(method.fitted_type for method in METHODS.values()), Calibration, TagThresholds, Catalogue
    ):  # fmt: skip
        visit(kind)
    return found


@pytest.mark.parametrize("name", stored_types())
def test_every_stored_array_has_its_shape_beside_its_type(name):
    kind = stored_types()[name]
    hints = get_type_hints(kind, include_extras=True)

    for part in fields(kind):
        hint = hints[part.name]
        if "array" in str(hint).lower():
            rules = hint.__metadata__ if get_origin(hint) is Annotated else ()
            assert any(isinstance(rule, Shape) for rule in rules), part.name
