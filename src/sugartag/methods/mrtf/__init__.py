"""MRTF: a Tucker tensor of users, images and tags, fitted to rank an image's tags above others."""

from sugartag.methods.mrtf.estimator import RankingFactorisation
from sugartag.methods.mrtf.fitted import FittedRankingFactorisation

__all__ = ["FittedRankingFactorisation", "RankingFactorisation"]
