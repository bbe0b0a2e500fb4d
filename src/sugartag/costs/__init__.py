"""What a job will take, before it runs: time by stage, memory, disk and network."""

from sugartag.costs.estimate import Estimate, estimate_fit
from sugartag.costs.rates import Rates, measure_rates
from sugartag.costs.size import Size, size_of

__all__ = ["Estimate", "Rates", "Size", "estimate_fit", "measure_rates", "size_of"]
