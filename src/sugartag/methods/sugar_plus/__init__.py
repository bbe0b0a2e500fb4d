"""The default method, sugar-plus: an ensemble of ridge regressions and neighbours."""

from sugartag.methods.sugar_plus.estimator import SugarPlus
from sugartag.methods.sugar_plus.model import FittedSugarPlus

__all__ = ["FittedSugarPlus", "SugarPlus"]
