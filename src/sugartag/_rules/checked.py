"""Goes through a stored value with its type, and checks every part."""

import dataclasses
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from scipy import sparse

from sugartag._rules.declared import AnyNumber, Counted, Rule, Shape, Sizes, Unsigned
from sugartag._rules.numbers import (
    LARGEST_NUMBER,
    WORDS,
    check_csr,
    check_finite,
    check_numbers,
)

_KIND_OF = {np.floating: "f", np.integer: "i", np.bool_: "b"}


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
    kind: Any
    numbers: str
    """The kinds of numbers that a type of array allows."""
    any_number: bool

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        kind = self.kind
        if kind is np.ndarray:
            check_numbers(value, self.numbers)
            if self.numbers == "f" and sizes.all_numbers and not self.any_number:
                check_finite(value)
        elif kind is sparse.csr_array:
            check_csr(value.data, value.indices, value.indptr, value.shape)
            check_finite(value.data)
        elif kind is Literal and value not in typing.get_args(self.hint):
            raise ValueError(f"is {value!r}, not one of {typing.get_args(self.hint)}")
        elif kind in {int, float, str, bool} and type(value) is not kind:
            raise ValueError(f"is {value!r}, not {kind.__name__}")
        elif kind is float and not (abs(value) <= LARGEST_NUMBER or self.any_number):
            raise ValueError(f"is {value}")
        elif hasattr(value, "validate"):
            value.validate()


@dataclass(frozen=True)
class _TakenApart:
    """A type and what is annotated, in the parts that are gone through."""

    rules: tuple[Rule, ...]
    may_be_none: bool
    parts: tuple[tuple[str, Any], ...]
    """The fields of a dataclass, with their types."""
    item: Any
    """The type of the items of a tuple; None where they are looked at no further."""


@cache
def _taken_apart(hint: Any) -> _TakenApart:
    extra: tuple[Any, ...] = ()
    if typing.get_origin(hint) is typing.Annotated:
        hint, *annotated = typing.get_args(hint)
        extra = tuple(annotated)
    may_be_none = isinstance(hint, types.UnionType)
    if may_be_none:
        hint = next(one for one in typing.get_args(hint) if one is not types.NoneType)
    kind = typing.get_origin(hint) or hint
    any_number = any(isinstance(rule, AnyNumber) for rule in extra)
    by_type = _ByType(hint, kind, _numbers_of(hint, kind, extra), any_number)
    item = typing.get_args(hint)[0] if kind is tuple else None
    return _TakenApart(
        (by_type, *(rule for rule in extra if hasattr(rule, "check"))),
        may_be_none,
        _fields_of(kind) if dataclasses.is_dataclass(kind) else (),
        None if item is str else item,
    )


def _fields_of(kind: Any) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple((part.name, hints[part.name]) for part in dataclasses.fields(kind))


def _rules_of(value: Any, hint: Any, where: str, own: str) -> Iterator[tuple[Any, Rule, str, str]]:
    """Yield every part of a value with the rules for it, its name and its object's own."""
    apart = _taken_apart(hint)
    if value is None and apart.may_be_none:
        return
    yield from ((value, rule, where, own) for rule in apart.rules)
    if hasattr(value, "stored_sizes"):
        yield value, Counted(), where, own
        return
    for name, inner in apart.parts:
        yield from _rules_of(getattr(value, name), inner, f"{where}.{name}", f"{where}:")
    if apart.item is not None:
        for number, one in enumerate(value):
            yield from _rules_of(one, apart.item, f"{where}[{number}]", own)


def _numbers_of(hint: Any, kind: Any, extra: tuple[Any, ...]) -> str:
    """Return the kinds of numbers that a type of array allows; all where it does not say."""
    if any(isinstance(rule, Unsigned) for rule in extra):
        return "u"
    arguments = typing.get_args(hint)
    if kind is not np.ndarray or len(arguments) < 2 or not typing.get_args(arguments[1]):
        return "".join(WORDS)
    (scalar,) = typing.get_args(arguments[1])
    return _KIND_OF[typing.get_origin(scalar) or scalar]
