"""TRVSC: tags whose similarity agrees with what the images look like."""

from sugartag.methods.trvsc.estimator import TRVSC, FittedTRVSC

__all__ = ["TRVSC", "FittedTRVSC"]
