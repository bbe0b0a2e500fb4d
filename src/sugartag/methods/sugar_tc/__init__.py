"""SUGAR-TC: social anchor-unit graph regularised tensor completion, after the paper."""

from sugartag.methods.sugar_tc.estimator import SugarTC
from sugartag.methods.sugar_tc.fitted import FittedSugarTC

__all__ = ["FittedSugarTC", "SugarTC"]
