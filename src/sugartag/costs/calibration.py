"""What was measured of each method: power laws of time, and factors of memory and disk."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from sugartag.costs.formulas import Parts
from sugartag.costs.size import Size
from sugartag.methods.registry import make_method

IMAGES, TAGS, FEATURES = 10_000, 1_000, 128
"""The size that the seconds of a power law refer to."""
RATE = 1e11
"""The speed that they refer to: float32 operations per second of matrix products, one core."""
OTHER = "other"
"""The entry for methods that were not measured: a law through the runs of all that were."""
WITHIN, OTHER_WITHIN = 2.0, 10.0
"""The factor an estimate is claimed to be within; for methods that were not measured."""


@dataclass(frozen=True)
class PowerLaw:
    """Processor seconds: seconds x images^a x tags^b x features^c, relative to the size above."""

    seconds: float
    images: float
    tags: float
    features: float

    def at(self, size: Size) -> float:
        """Return the seconds of one core of the reference speed."""
        grown = (size.images / IMAGES) ** self.images * (size.tags / TAGS) ** self.tags
        return float(self.seconds * grown * (max(size.features, 1) / FEATURES) ** self.features)


@dataclass(frozen=True)
class Costs:
    """All constants of one method."""

    fit: PowerLaw
    suggest: PowerLaw
    pass_share: float
    """The share of a fit spent on blocks of images, which several workers divide."""
    base_bytes: float
    """Memory of a process that has loaded everything and works on nothing."""
    memory: Mapping[str, float]
    """Factors of the parts in :mod:`sugartag.costs.formulas`."""
    disk: Mapping[str, float]
    scratch_bytes: float
    """Scratch files, for each image."""
    within: float = WITHIN

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "Costs":
        """Read one entry of the calibration file."""
        laws = {name: PowerLaw(**read[name]) for name in ("fit", "suggest")}
        return cls(**{**read, **laws})


def weighted(parts: Parts, factors: Mapping[str, float]) -> float:
    """Return the sum of the parts, each times its factor."""
    return sum(factors.get(name, 1.0) * n_bytes for name, n_bytes in parts.items())


def entry_of(name: str, settings: Mapping[str, Any]) -> str:
    """Return the name of the entry for a method: the exact solver of sugar-tc has its own."""
    if name != "sugar-tc":
        return name
    method: Any = make_method(name, settings)
    return "sugar-tc exact" if method.solver == "exact" else name


def shipped_costs(method: Any) -> Costs:
    """Return the constants of a method that come with the package."""
    text = resources.files("sugartag.costs").joinpath("calibration.json").read_text("utf-8")
    methods = json.loads(text)["methods"]
    known = {"solver": method.solver} if method.name == "sugar-tc" else {}
    entry = entry_of(method.name, known)
    return Costs.from_json(methods.get(entry, methods[OTHER]))
