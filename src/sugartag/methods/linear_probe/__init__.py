"""A linear probe: one ridge regression of all tags on the features, in closed form."""

from sugartag.methods.linear_probe.estimator import FittedLinearProbe, LinearProbe

__all__ = ["FittedLinearProbe", "LinearProbe"]
