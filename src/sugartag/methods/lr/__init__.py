"""LR: tags as a matrix of low rank and sparse errors, smooth over images and tags."""

from sugartag.methods.lr.estimator import FittedLowRank, LowRank

__all__ = ["FittedLowRank", "LowRank"]
