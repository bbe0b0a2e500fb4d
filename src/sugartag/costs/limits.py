"""Whether a plan keeps a limit of memory, and which settings would."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from sugartag.costs.calibration import shipped_costs
from sugartag.costs.estimate import Plan
from sugartag.engine.checkpoint.engine import MAX_PILED_BYTES
from sugartag.errors import CapacityError

ROOM = 1.25
"""A limit must be larger than the estimate by this factor."""
LONG = 86_400.0
"""Seconds from which on a fit is said to take long: a day."""
WORKERS = (4, 16, 64, 256, 1_024)
SMALLER: dict[str, tuple[tuple[str, Any], ...]] = {
    "sugar-plus": tuple(("max_predictors", count) for count in (2_000, 1_000, 500, 250)),
    "sugar-tc": (
        ("solver", "exact"),
        ("precision", "float32"),
        *(("units_per_cluster", count) for count in (4, 2, 1)),
    ),
}
"""Settings that may make a fit smaller, the mildest first."""


def needed(plan: Plan) -> float:
    """Return the limit that a plan keeps, with results waiting to be written for ``--resume``."""
    return ROOM * plan.memory() + MAX_PILED_BYTES


def least_needed(plan: Plan) -> float:
    """Return the smallest limit that can be kept: that of a single thread."""
    return needed(plan if plan.apart else replace(plan, workers=1))


def workers_that_fit(plan: Plan, limit: float) -> int | None:
    """Return how many may work at the same time to keep a limit; None if it cannot be kept.

    Blocks stay as they are, so that a limit changes no number of the result.
    """
    for workers in (plan.workers,) if plan.apart else range(plan.workers, 0, -1):
        if needed(replace(plan, workers=workers)) <= limit:
            return workers
    return None


def workers_within(plan: Plan, limit: float) -> int:
    """Return how many may work at the same time to keep a limit; raise with advice if none may."""
    workers = workers_that_fit(plan, limit)
    if workers is None:
        name, extent = plan.subject
        raise CapacityError(
            f"{name} needs about {in_bytes_above(least_needed(plan))} of memory for {extent}, and "
            f"may use {in_bytes(limit)}; {memory_advice(plan, limit)}"
        )
    return workers


def memory_advice(plan: Plan, limit: float) -> str:
    """Return what keeps a limit: other options if any do, and how much to allow."""
    helping = [text for text, other in alternatives(plan) if workers_that_fit(other, limit)]
    allowed = f"allow {in_bytes_above(least_needed(plan))}"
    return f"try {', or '.join(helping[:2])}, or {allowed}" if helping else allowed


def time_advice(plan: Plan) -> str:
    """Return how long a fit takes with more workers."""
    for workers in WORKERS:
        faster = replace(plan, workers=workers, apart=True).seconds
        if workers > plan.workers and (faster < LONG or workers == WORKERS[-1]):
            return f"--engine dask with {workers} workers takes {in_seconds(faster)}"
    return "take fewer images"


def alternatives(plan: Plan) -> Iterator[tuple[str, Plan]]:
    """Yield other ways to do the same job, each with what to type."""
    if type(plan) is not Plan:
        return  # A model to be updated keeps its settings.
    for name, value in SMALLER.get(plan.method.name, ()):
        if hasattr(plan.method, name):
            method = replace(cast("Any", plan.method), **{name: value})
            costs = shipped_costs(method) if name == "solver" else plan.costs
            other = replace(plan, method=method, costs=costs)
            if other.memory() < plan.memory():
                yield f"--set {name}={value}", other


def in_bytes(count: float) -> str:
    """Return bytes in powers of 1,024: 3.4 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1_000:
            return f"{count:.3g} {unit}"
        count /= 1_024
    return f"{count:.3g} PiB"


def in_bytes_above(count: float) -> str:
    """Return an amount of memory that, typed as it stands, is no less than the bytes."""
    unit = next(power for power in range(6) if count < 1_000 * 1_024**power or power == 5)
    digits = 2 - int(math.log10(max(count / 1_024**unit, 1)))
    number = math.ceil(count / 1_024**unit * 10**digits) / 10**digits
    return f"{number:.{max(digits, 0)}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[unit]}"


def in_seconds(seconds: float) -> str:
    """Return a time in the unit that suits it: 40 s, 12 min, 3.5 h, 8 days."""
    for unit, size, up_to in (("s", 1.0, 120.0), ("min", 60.0, 120.0), ("h", 3_600.0, 72.0)):
        value = seconds / size
        if value < up_to:
            return f"{value:.2g} {unit}" if value < 10 else f"{value:.0f} {unit}"
    days = seconds / 86_400.0
    return f"{days:,.0f} days" if days < 1_000 else f"{days / 365.25:,.0f} years"
