"""NMC: completion of the matrix of non-linearly mapped features and tags."""

from sugartag.methods.nmc.estimator import FittedNonlinearCompletion, NonlinearCompletion

__all__ = ["FittedNonlinearCompletion", "NonlinearCompletion"]
