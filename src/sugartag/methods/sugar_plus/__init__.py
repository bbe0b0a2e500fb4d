"""The method sugar-plus: the anchor machinery of the paper, with its modelling faults removed."""

from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.method import SugarPlus

__all__ = ["FittedSugarPlus", "SugarPlus"]
