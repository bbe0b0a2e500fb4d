"""Every benchmark by its name on the command line."""

from typing import Any

from performance.paper_size import PaperSize
from performance.scaling import Scaling
from performance.scoring import Scoring
from performance.solvers import Solvers

BENCHES: dict[str, type[Any]] = {
    bench.name: bench for bench in (PaperSize, Scaling, Solvers, Scoring)
}
"""In the order of the page."""
