"""A fit as it is asked for, and what would make it smaller or shorter."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from sugartag.costs.calibration import Calibration
from sugartag.costs.estimate import USUAL_ROWS, Estimate, estimate_fit
from sugartag.costs.limits import Demand
from sugartag.costs.rates import Rates
from sugartag.costs.size import Size
from sugartag.methods.base import Method
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_tc import SugarTC

LONG = 86_400.0
"""Seconds from which on a job is said to take long: a day."""
FEWEST_PREDICTORS = 250
WORKERS_ADVISED = (4, 16, 64, 256, 1_024)

NOMINAL = Rates(1, 1e11, 1e11, 5e10, 5e10, 5e10, 1e9, 5e9, 1e9, 1e9, True, 1e6)
"""Rates of no machine: for questions about memory alone, which ask for none."""


@dataclass(frozen=True)
class Plan(Demand):
    """A fit as it is asked for, and what it may use."""

    method: Method
    size: Size
    calibration: Calibration
    workers: int = 1
    apart: bool = False
    rates: Rates = NOMINAL

    def estimate(self, rows: int = USUAL_ROWS) -> Estimate:
        """Return what it takes."""
        return estimate_fit(
            self.method,
            self.size,
            self.rates,
            self.calibration,
            workers=self.workers,
            apart=self.apart,
            rows=rows,
        )

    @property
    def name(self) -> str:
        """What is fitted."""
        return self.method.name

    @property
    def extent(self) -> str:
        """What it is fitted on."""
        return f"{self.size.images:,} images and {self.size.tags:,} tags"

    @property
    def last_resort(self) -> str:
        """Any method takes less for less."""
        return ", or take fewer images"

    def largest_process(self, rows: int = USUAL_ROWS) -> float:
        """Return the bytes of the process that needs most."""
        return self.estimate(rows).largest_process

    def alternatives(self) -> Iterator[tuple[str, "Plan"]]:
        """Yield other ways to do the same job, with what to type for them."""
        return _alternatives(self)


def time_advice(plan: Plan) -> str:
    """Return in one line what would make a long job shorter."""
    now = plan.estimate().seconds
    found = []
    for text, other in plan.alternatives():
        seconds = other.estimate().seconds
        if seconds < 0.7 * now:
            found.append(f"{text} ({in_seconds(seconds)})")
    for workers in WORKERS_ADVISED:
        if workers <= plan.workers:
            continue
        seconds = replace(plan, workers=workers, apart=True).estimate().seconds
        if seconds < LONG or workers == WORKERS_ADVISED[-1]:
            if seconds < 0.7 * now:
                found.append(f"--engine dask with {workers} workers ({in_seconds(seconds)})")
            break
    return f"try {', or '.join(found)}" if found else "take fewer images"


def _alternatives(plan: Plan) -> Iterator[tuple[str, Plan]]:
    if plan.workers > 1 and not plan.apart:
        yield "--workers 1", replace(plan, workers=1)
    method = plan.method
    if isinstance(method, SugarPlus):
        predictors = min(method.max_predictors, plan.size.used_tags) // 2
        while predictors >= FEWEST_PREDICTORS:
            yield f"--set max_predictors={predictors}", _with(plan, max_predictors=predictors)
            predictors //= 2
        if method.history:
            yield "--set history=0", _with(plan, history=0)
        if method.sight and plan.size.features:
            yield "--set sight=false", _with(plan, sight=False)
        half = method.anchors // 2
        if half >= FEWEST_PREDICTORS and plan.size.features:
            yield f"--set anchors={half}", _with(plan, anchors=half)
    if isinstance(method, SugarTC):
        if method.solver == "multiplicative":
            yield "--set solver=exact", _with(plan, solver="exact")
        if method.precision == "float64":
            yield "--set precision=float32", _with(plan, precision="float32")
        each = method.units_at_each_centre(plan.size.images) // 2
        if each >= 1:
            yield f"--set units_per_cluster={each}", _with(plan, units_per_cluster=each)
    if not isinstance(method, SugarPlus):
        yield "--method sugar-plus", replace(plan, method=SugarPlus())


def _with(plan: Plan, **settings: Any) -> Plan:
    return replace(plan, method=replace(cast("Any", plan.method), **settings))


def in_seconds(seconds: float) -> str:
    """Return a time as people say it: 40 s, 12 min, 3.5 h, 8 days."""
    for unit, size, up_to in (("s", 1.0, 120.0), ("min", 60.0, 120.0), ("h", 3_600.0, 72.0)):
        if seconds / size < up_to:
            return (
                f"{seconds / size:.2g} {unit}"
                if seconds / size < 10
                else (f"{seconds / size:.0f} {unit}")
            )
    days = seconds / 86_400.0
    return f"{days:,.0f} days" if days < 1_000 else f"{days / 365.25:,.0f} years"
