"""What a stored value must be: rules that stand beside the type and are checked when it is read.

A field of a stored dataclass says more than its type with ``Annotated``::

    start: Annotated[IntArray, Shape("owners+1"), Rising(0, "neighbours")]
    owner: Annotated[IntArray, Shape("neighbours"), Below("owners")]

A name stands for one size in all that is checked together, so that the parts of a model are held to
each other; a name that begins with ``_`` is an object's own. What a type implies needs no rule:
numbers are finite and in the machine's byte order, floats are floats, the parts of a sparse array
fit together. A class may have a method ``validate`` that raises ``ValueError`` for the rest. One
that is checked by itself, a collection, says with ``stored_sizes`` what others must agree with.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sugartag._typing import SparseRows

Array = npt.NDArray[Any]
Bound = float | str | None

_KIND_OF = {np.floating: "f", np.integer: "i", np.bool_: "b"}
_WORDS = {"f": "floats", "i": "signed integers", "b": "truth values", "u": "unsigned integers"}
_MOST_BYTES = 8
"""Of one number: what compiled loops can take."""
LARGEST_NUMBER = 1e30
"""Of any stored float: products of a few numbers this large are still finite."""
_ITEMS_AT_ONCE = 1 << 20


@dataclass
class Sizes:
    """The sizes that names stand for, as far as they are known."""

    known: dict[str, int] = field(default_factory=dict)
    all_numbers: bool = True
    """Whether each float is looked at; without, only those that point somewhere."""

    def at(self, bound: float | str, own: str) -> float:
        """Return a number, or the size that a name (``owners``, ``owners+1``) stands for."""
        if not isinstance(bound, str):
            return bound
        name, more = _parsed(bound, own)
        return self.known[name] + more

    def agree(self, wanted: int | str, found: int, own: str) -> None:
        """Take a size for what a name stands for; raise if it stands for another already."""
        name, more = _parsed(wanted, own) if isinstance(wanted, str) else ("", wanted)
        expected = self.known.setdefault(name, found - more) + more if name else more
        if expected != found or found < more:
            raise ValueError(f"has {found} {wanted if name else ''}".rstrip() + f", not {expected}")


class Rule(Protocol):
    """Something that must hold of a value."""

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        """Raise ``ValueError`` unless it holds; ``own`` is put before an object's own names."""
        ...


class Shape:
    """The sizes of an array's axes, or how many items a sequence has."""

    def __init__(self, *sizes: int | str) -> None:
        self.sizes = sizes

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        """Raise unless each axis has the size named."""
        shape = getattr(value, "shape", None)
        found = (len(value),) if shape is None else tuple(shape)
        if len(found) != len(self.sizes):
            raise ValueError(f"has {len(found)} axes, not {len(self.sizes)}")
        for wanted, size in zip(self.sizes, found, strict=True):
            sizes.agree(wanted, size, own)


class _Counted(Shape):
    """What was checked by itself, and whose sizes must be those of the rest."""

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        for name, size in value.stored_sizes().items():
            sizes.agree(name, size, own)


@dataclass(frozen=True)
class Within:
    """The least and the largest value, of numbers or of each number in an array."""

    least: Bound = None
    most: Bound = None

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        """Raise unless every number lies in between."""
        lowest, highest = _extremes(value)
        if self.least is not None and lowest < sizes.at(self.least, own):
            raise ValueError(f"has {lowest:g}, below {sizes.at(self.least, own):g}")
        if self.most is not None and highest > sizes.at(self.most, own):
            raise ValueError(f"has {highest:g}, above {sizes.at(self.most, own):g}")


class Positive:
    """Above 0: what something is divided by."""

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        """Raise unless every number is above 0."""
        if _extremes(value)[0] <= 0:
            raise ValueError(f"has {_extremes(value)[0]:g}, which is not above 0")


@dataclass(frozen=True)
class Below:
    """Indices: from 0 to one less than a size."""

    size: int | str

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        """Raise unless every index points to something."""
        lowest, highest = _extremes(value)
        if lowest < 0 or highest >= sizes.at(self.size, own):
            outside = lowest if lowest < 0 else highest
            raise ValueError(f"points to {outside:g} of {sizes.at(self.size, own):g} {self.size}")


@dataclass(frozen=True)
class Rising:
    """Numbers that never fall, from the first to the last value given."""

    first: Bound = None
    last: Bound = None

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        """Raise if a number is smaller than the one before it, or an end is not as it must be."""
        for bound, place in ((self.first, 0), (self.last, -1)):
            if bound is not None and not (len(value) and value[place] == sizes.at(bound, own)):
                raise ValueError(f"does not go from {self.first} to {self.last}")
        if not rises(value):
            raise ValueError("falls where it must rise")


class OneOf:
    """One of some texts."""

    def __init__(self, *options: str) -> None:
        self.options = options

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        """Raise for any other."""
        if value not in self.options:
            raise ValueError(f"is {value!r}, not one of {', '.join(self.options)}")


class Unsigned:
    """Unsigned integers, where integers would be signed: bytes and hashes."""


class AnyNumber:
    """A number that may be infinite or unknown (NaN)."""


def rises(array: Array) -> bool:
    """Tell whether no number is smaller than the one before it, of whatever type they are."""
    # The difference of unsigned numbers is never below 0: they are compared instead.
    return bool((array[1:] >= array[:-1]).all())


def check_csr(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
    """Raise unless the parts of a sparse array make one that can be gone through safely."""
    for part, kinds in ((indices, "i"), (indptr, "i"), (data, "bif")):
        _check_numbers(part, kinds)
        if part.ndim != 1:
            raise ValueError("is a sparse array whose parts are not flat")
    n_rows, n_columns = shape
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"is a sparse array of shape {shape}")
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or not rises(indptr):
        raise ValueError("is a sparse array whose rows do not follow each other")
    if not indptr[-1] == len(indices) == len(data):
        raise ValueError("is a sparse array whose parts are not equally long")
    lowest, highest = _extremes(indices)
    if lowest < 0 or highest >= n_columns:
        raise ValueError(f"is a sparse array that points outside its {n_columns} columns")


def checked_csr(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> SparseRows:
    """Return the sparse array of some parts; raise ``ValueError`` if they make none."""
    check_csr(data, indices, indptr, shape)
    return sparse.csr_array((data, indices, indptr), shape=shape)


def check_stored(value: Any, hint: Any, sizes: Sizes, name: str) -> None:
    """Raise ``ValueError``, naming the part, unless a value is all that its type says it must be.

    ``sizes`` has what is known already, and takes what is learned here.
    """
    found = list(_rules_of(value, hint, name, own=""))
    # Shapes first: they say what the names in other rules stand for.
    for is_shape in (True, False):
        for part, rule, where, own in found:
            if isinstance(rule, Shape) is is_shape:
                try:
                    rule.check(part, sizes, own)
                except (ValueError, KeyError) as error:
                    raise ValueError(f"{where} {error}") from error


@dataclass(frozen=True)
class _ByType:
    """What the type of a value implies."""

    hint: Any
    extra: tuple[Any, ...]

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        kind = typing.get_origin(self.hint) or self.hint
        any_number = any(isinstance(rule, AnyNumber) for rule in self.extra)
        if kind is np.ndarray:
            wanted = _kind_of(self.hint)
            if any(isinstance(rule, Unsigned) for rule in self.extra):
                wanted = "u"
            _check_numbers(value, wanted)
            if wanted == "f" and sizes.all_numbers and not any_number:
                _check_finite(value)
        elif kind is sparse.csr_array:
            check_csr(value.data, value.indices, value.indptr, value.shape)
            _check_finite(value.data)
        elif kind is Literal and value not in typing.get_args(self.hint):
            raise ValueError(f"is {value!r}, not one of {typing.get_args(self.hint)}")
        elif kind in {int, float, str, bool} and type(value) is not kind:
            raise ValueError(f"is {value!r}, not {kind.__name__}")
        elif kind is float and not (abs(value) <= LARGEST_NUMBER or any_number):
            raise ValueError(f"is {value}")
        elif hasattr(value, "validate"):
            value.validate()


def _rules_of(value: Any, hint: Any, where: str, own: str) -> Iterator[tuple[Any, Rule, str, str]]:
    """Yield every part of a value with the rules for it, its name and its object's own."""
    extra: tuple[Any, ...] = ()
    if typing.get_origin(hint) is typing.Annotated:
        hint, *rules = typing.get_args(hint)
        extra = tuple(rules)
    if isinstance(hint, types.UnionType):
        if value is None:
            return
        hint = next(one for one in typing.get_args(hint) if one is not types.NoneType)
    yield value, _ByType(hint, extra), where, own
    yield from ((value, rule, where, own) for rule in extra if hasattr(rule, "check"))
    kind = typing.get_origin(hint) or hint
    if hasattr(value, "stored_sizes"):
        yield value, _Counted(), where, own
    elif dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        for part in dataclasses.fields(kind):
            inner = getattr(value, part.name)
            yield from _rules_of(inner, hints[part.name], f"{where}.{part.name}", f"{where}:")
    elif kind is tuple and typing.get_args(hint)[0] is not str:
        for number, item in enumerate(value):
            yield from _rules_of(item, typing.get_args(hint)[0], f"{where}[{number}]", own)


def _kind_of(hint: Any) -> str:
    """Return the kinds of numbers that a type of array allows; all where it does not say."""
    arguments = typing.get_args(hint)
    if len(arguments) < 2 or not typing.get_args(arguments[1]):
        return "".join(_WORDS)
    (scalar,) = typing.get_args(arguments[1])
    return _KIND_OF[typing.get_origin(scalar) or scalar]


def _check_numbers(array: Array, kinds: str) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds:
        found = getattr(array, "dtype", type(array).__name__)
        raise ValueError(f"is {found}, not {' or '.join(_WORDS[kind] for kind in kinds)}")
    if not array.dtype.isnative or array.dtype.itemsize > _MOST_BYTES:
        raise ValueError(f"is {array.dtype.str}, which is not a type of this machine")


def _check_finite(array: Array) -> None:
    lowest, highest = _extremes(array) if array.size else (0, 0)
    # Written so that NaN, which is neither above nor below anything, does not pass.
    if not (lowest >= -LARGEST_NUMBER and highest <= LARGEST_NUMBER):
        raise ValueError(f"has numbers that are not finite, or beyond {LARGEST_NUMBER:g}")


def _extremes(value: Any) -> tuple[Any, Any]:
    """Return the lowest and the highest of some numbers; of none, no bound excludes them."""
    if isinstance(value, sparse.csr_array):
        value = value.data
    if not isinstance(value, np.ndarray):
        return value, value
    if not value.size:
        return math.inf, -math.inf
    flat = value.reshape(-1) if value.flags.c_contiguous else value.ravel(order="K")
    lowest, highest = [], []
    for start in range(0, flat.size, _ITEMS_AT_ONCE):
        some = flat[start : start + _ITEMS_AT_ONCE]
        lowest.append(some.min())
        highest.append(some.max())
    return np.min(lowest).item(), np.max(highest).item()


def _parsed(bound: str, own: str) -> tuple[str, int]:
    name, _, more = bound.partition("+")
    return (f"{own}{name}" if name.startswith("_") else name), int(more or 0)
