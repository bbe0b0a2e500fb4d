"""A power law through one or two measurements, for sizes that nobody waits for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PowerLaw:
    """Seconds as a constant times a power of the images."""

    points: tuple[tuple[float, float], ...]
    """Images and seconds that were measured."""
    exponent: float

    def at(self, images: float) -> float:
        """Return the seconds for a number of images."""
        known, seconds = self.points[-1]
        return float(seconds * (images / known) ** self.exponent)

    def as_json(self) -> dict[str, Any]:
        """Return the law and what it was drawn through."""
        return {"exponent": self.exponent, "points": [list(point) for point in self.points]}


def power_law(points: Sequence[tuple[float, float]]) -> PowerLaw:
    """Return the power law through the smallest and the largest of some points.

    The power is 1 at least: a smaller one only says that what is the same for all sizes took most
    of the time. Through a single point it is 1.
    """
    ordered = tuple(sorted(points))
    (few, fast), (many, slow) = ordered[0], ordered[-1]
    if few == many:
        return PowerLaw(ordered, 1.0)
    return PowerLaw(ordered, max(1.0, math.log(slow / fast) / math.log(many / few)))
