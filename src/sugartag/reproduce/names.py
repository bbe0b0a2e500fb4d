"""What methods, stages and settings are called on the page."""

from collections.abc import Mapping
from typing import Any

NAMES = {
    "original": "OT (original)",
    "trvsc": "TRVSC",
    "lr": "LR",
    "nmc": "NMC",
    "lslr": "LSLR",
    "mrtf": "MRTF",
    "ttc1": "TTC1",
    "ttc2": "TTC2",
    "sugar-tc": "SUGAR-TC",
}
"""What the paper calls its methods; others keep their own names."""
STAGE_NAMES = {
    "clustering": "Clustering",
    "adjacency": "Adjacency matrix",
    "completion": "Tensor completion",
    "assignment": "Tag assignment",
}
STYLES = {
    "sugar-tc": 0,
    "sugar-plus": 2,
    "original": 5,
    "ttc2": 1,
    "ttc1": 3,
    "mrtf": 4,
    "lslr": 6,
    "nmc": 7,
    "lr": 8,
    "trvsc": 9,
}
"""Colour, dashes and shape of each method's line."""
OTHERS = 8
"""The style of points that are there to be compared with, and not distinguished."""


def method_name(name: str) -> str:
    """Return what a method is called on the page."""
    return NAMES.get(name, name)


def told_settings(point: Mapping[str, Any]) -> str:
    """Return the settings of a point in words."""
    settings = point.get("settings", {})
    return ", ".join(f"{key} = {value}" for key, value in settings.items()) or "defaults"
