"""Anchor units: the few real (image, owner) pairs that stand for the whole collection."""

from sugartag.anchors.units import AnchorLayout, AnchorUnits, choose_units

__all__ = ["AnchorLayout", "AnchorUnits", "choose_units"]
