"""Choose the settings of a method by trials: how well it finds hidden tags again.

Every method has the same number of trials, whatever it costs. The first is its defaults. After it,
by turns, one is drawn from all combinations worth trying and one changes one or two choices of the
best so far; none is tried twice. A trial depends on the method, the seed, its number and the trials
before it, and not on how many there will be, so that trials may be stopped, continued and added to
without a difference.
"""

import math
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugartag.collection.model import Collection
from sugartag.collection.subset import without_truth
from sugartag.engine.base import Engine, Progress
from sugartag.errors import SettingsError, SugartagError
from sugartag.evaluation.protocol import Task, evaluate, hidden_task, method_rng
from sugartag.evaluation.results import Measures, Table
from sugartag.methods.registry import make_method
from sugartag.methods.search_spaces import Point, SearchSpace, search_space

TUNING_SEED = 0x74756E696E67
"""Differs from 0, so that tuning hides other tags than an evaluation with the same seed."""
_MEASURES = Measures(tops=(5,), list_lengths=(10,))
"""As little as can be: MAP, MiAP and F are what a trial is judged by."""


@dataclass(frozen=True)
class Trial:
    """One combination of settings and what it scored."""

    settings: Mapping[str, Any]
    """Only what differs from the defaults."""
    score: float
    """The mean of MAP and MiAP on the hidden tags; NaN, as these are, where the trial failed."""
    map: float
    miap: float
    f_top5: float
    seconds: float
    """Wall time of fitting, scoring and measuring."""
    failed: str | None = None
    """Why there is no score; None where there is one."""


def tuning_task(collection: Collection, *, share: float, seed: int) -> Task:
    """Hide a share of the given tags, others than an evaluation with this seed would hide.

    The truth is never looked at.
    """
    return hidden_task(without_truth(collection), share, seed ^ TUNING_SEED)


def tune(
    name: str,
    task: Task,
    *,
    budget: int,
    engine: Engine,
    seed: int,
    done: Sequence[Trial] = (),
    table: Table | None = None,
    progress: Progress | None = None,
) -> Iterator[Trial]:
    """Yield the trials that are still to be made, after those that are done.

    Fewer than ``budget`` are made only where there are no more combinations. A trial that cannot
    be fitted or has no score counts as one. ``table`` and ``progress`` are those of ``evaluate``.
    """
    if budget < 1:
        raise SettingsError(f"the budget is {budget} trials; give at least 1")
    space = search_space(name)
    trials = list(done)
    tried = {space.number_of(space.point_of(trial.settings)) for trial in trials}
    while len(trials) < min(budget, space.size):
        point = _next_point(space, trials, tried, seed)
        tried.add(space.number_of(point))
        # The same numbers in every trial, and those of an evaluation: settings alone differ.
        rng = method_rng(name, seed)
        trials.append(_measured(name, space.settings_at(point), task, engine, rng, table, progress))
        yield trials[-1]


def best(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the highest score, the earlier of equals; the first if all failed."""
    if not trials:
        raise SettingsError("there are no trials to choose from; make at least one")
    return max(trials, key=lambda trial: -math.inf if trial.failed else trial.score)


def _next_point(space: SearchSpace, trials: Sequence[Trial], tried: Set[int], seed: int) -> Point:
    k = len(trials)
    if k == 0:
        return space.point_of({})
    rng = np.random.default_rng([seed, zlib.crc32(space.method.encode()), k])
    if k % 2 == 0:
        centre = space.point_of(best(trials).settings)
        distance = int(rng.integers(1, 3))
        for steps in (distance, 3 - distance):
            near = [p for p in space.points_near(centre, steps) if space.number_of(p) not in tried]
            if near:
                return near[int(rng.integers(len(near)))]
    number = int(rng.integers(space.size - len(tried)))
    for taken in sorted(tried):
        number += taken <= number
    return space.point_number(number)


def _measured(
    name: str,
    settings: Mapping[str, Any],
    task: Task,
    engine: Engine,
    rng: np.random.Generator,
    table: Table | None,
    progress: Progress | None,
) -> Trial:
    began = time.perf_counter()
    found = (math.nan, math.nan, math.nan)
    failed = None
    try:
        method = make_method(name, settings)
        metrics = evaluate(
            method,
            task,
            engine=engine,
            rng=rng,
            measures=_MEASURES,
            table=table,
            progress=progress,
        ).metrics
        found = (metrics.map, metrics.miap, metrics.f_top[5])
        if not all(map(math.isfinite, found)):
            failed = f"MAP {found[0]}, MiAP {found[1]} and F {found[2]} are not all numbers"
    except (SugartagError, np.linalg.LinAlgError) as error:
        failed = " ".join(str(error).split()) or type(error).__name__
    seconds = time.perf_counter() - began
    if failed is not None:
        return Trial(settings, math.nan, math.nan, math.nan, math.nan, seconds, failed)
    return Trial(settings, (found[0] + found[1]) / 2, *found, seconds)
