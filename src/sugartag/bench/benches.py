"""Every benchmark by its name on the command line."""

from typing import Any

from sugartag.bench.paper_size import PaperSize
from sugartag.bench.scaling import Scaling
from sugartag.bench.scoring import Scoring
from sugartag.bench.solvers import Solvers

BENCHES: dict[str, type[Any]] = {
    bench.name: bench for bench in (PaperSize, Scaling, Solvers, Scoring)
}
"""In the order of the page."""
