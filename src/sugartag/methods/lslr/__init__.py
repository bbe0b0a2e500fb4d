"""LSLR: locality sensitive low-rank completion of tags."""

from sugartag.methods.lslr.estimator import FittedLocalLowRank, LocalLowRank

__all__ = ["FittedLocalLowRank", "LocalLowRank"]
