"""Constants that no measurement of a second can give: measured once on planted collections.

Formulas count operations and bytes; how much more a stage really takes is written down in
``calibration.json`` by ``benchmarks/calibrate_costs.py``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

SAME_FAMILY = {"tag-vote-own": "tag-vote", "original": "tag-prior"}
"""Methods that take what another one takes."""


@dataclass(frozen=True)
class Rough:
    """A power law through a few measurements: all that is known of a method's cost."""

    images: float
    """The size that the values below are of."""
    tags: float
    seconds: float
    seconds_by_images: float
    """The power of the number of images."""
    seconds_by_tags: float
    bytes: float
    bytes_by_images: float
    bytes_by_tags: float
    disk: float


@dataclass(frozen=True)
class Iterations:
    """Steps that an iterative solver takes, about: a power law of the number of images."""

    images: float
    """The size that the steps are of."""
    steps: float
    power: float = 0.0

    def at(self, images: float) -> float:
        """Return the steps for so many images: one at least."""
        return float(max(1.0, self.steps * (max(images, 1.0) / self.images) ** self.power))


@dataclass(frozen=True)
class Calibration:
    """How much more stages take than their formulas say."""

    base_bytes: float = 130e6
    """Of a process that has loaded everything and works on nothing."""
    seconds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By method and stage."""
    bytes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    disk: Mapping[str, float] = field(default_factory=dict)
    iterations: Mapping[str, Iterations] = field(default_factory=dict)
    rough: Mapping[str, Rough] = field(default_factory=dict)
    product32_all: float = 1e11
    """The rate of the machine that the power laws were measured on."""

    def time_factor(self, method: str, stage: str) -> float:
        """Return by what the formula's seconds are multiplied."""
        return self.seconds.get(SAME_FAMILY.get(method, method), {}).get(stage, 1.0)

    def memory_factor(self, method: str, stage: str) -> float:
        """Return by what the formula's bytes are multiplied."""
        return self.bytes.get(SAME_FAMILY.get(method, method), {}).get(stage, 1.0)

    def disk_factor(self, method: str) -> float:
        """Return by what the formula's bytes on disk are multiplied."""
        return self.disk.get(SAME_FAMILY.get(method, method), 1.0)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "Calibration":
        """Read what the script wrote."""
        return cls(
            base_bytes=float(read["base_bytes"]),
            seconds=read["seconds"],
            bytes=read["bytes"],
            disk=read["disk"],
            iterations={name: Iterations(**v) for name, v in read["iterations"].items()},
            rough={name: Rough(**values) for name, values in read["rough"].items()},
            product32_all=float(read["rates"]["product32_all"]),
        )


def shipped_calibration() -> Calibration:
    """Return the constants that come with the package."""
    text = resources.files("sugartag.costs").joinpath("calibration.json").read_text("utf-8")
    return Calibration.from_json(json.loads(text))
