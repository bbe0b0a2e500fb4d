"""What a fit will take, before it runs: time, memory and disk, within a factor of 2."""

from sugartag.costs.machine import Rates, measure_rates
from sugartag.costs.size import Size, imagined_size, size_of

__all__ = ["Rates", "Size", "imagined_size", "measure_rates", "size_of"]
