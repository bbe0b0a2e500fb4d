"""TTC1 and TTC2: tri-clustering, then completion of the sub-tensors, each alone or all together."""

from sugartag.methods.ttc.estimator import TTC1, TTC2
from sugartag.methods.ttc.fitted import FittedTTC

__all__ = ["TTC1", "TTC2", "FittedTTC"]
