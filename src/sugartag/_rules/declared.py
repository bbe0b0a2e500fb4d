"""The rules that stand beside a type, and the sizes that they share."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from sugartag._rules.numbers import extremes, rises

Bound = float | str | None


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


class Counted(Shape):
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
        lowest, highest = extremes(value)
        if self.least is not None and lowest < sizes.at(self.least, own):
            raise ValueError(f"has {lowest:g}, below {sizes.at(self.least, own):g}")
        if self.most is not None and highest > sizes.at(self.most, own):
            raise ValueError(f"has {highest:g}, above {sizes.at(self.most, own):g}")


class Positive:
    """Above 0: what something is divided by."""

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        """Raise unless every number is above 0."""
        if extremes(value)[0] <= 0:
            raise ValueError(f"has {extremes(value)[0]:g}, which is not above 0")


@dataclass(frozen=True)
class Below:
    """Indices: from 0 to one less than a size."""

    size: int | str

    def check(self, value: Any, sizes: Sizes, own: str) -> None:
        """Raise unless every index points to something."""
        lowest, highest = extremes(value)
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


def _parsed(bound: str, own: str) -> tuple[str, int]:
    name, _, more = bound.partition("+")
    return (f"{own}{name}" if name.startswith("_") else name), int(more or 0)
