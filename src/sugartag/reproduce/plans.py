"""What has to be computed for an experiment, as chains of jobs.

A chain yields a job, is sent its result, and may choose its next job by it; chains know nothing of
processes or of what is there already. Experiments that need the same chain share it.
"""

import dataclasses
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sugartag.methods.registry import METHODS, make_method, missing_package
from sugartag.methods.search_spaces import search_space
from sugartag.reproduce.cache import Job
from sugartag.reproduce.experiments import (
    Comparison,
    Concepts,
    Convergence,
    Cost,
    Experiment,
    Pictures,
    Retrieval,
    Sensitivity,
    Sweep,
)

Found: TypeAlias = dict[str, Any]
Steps: TypeAlias = Generator[Job, Found, Found]

DRAWINGS: Mapping[str, Mapping[str, Any]] = {
    "sugar-tc": {"image_clusters": 16, "user_clusters": 4, "units_per_cluster": 5}
}
"""Settings for the shipped drawings: 2,000 of them take fewer anchors than 250,000 photographs."""
SECONDS_A_FIT, SECONDS_AN_UPDATE = 10.0, 0.4
"""Roughly, on the synthetic collection; only the order of work depends on it."""
CLUSTERS = ("image_clusters", "user_clusters")
"""The settings whose large values take long."""
SHARE = "image_share"
"""The setting that matters after the fit only."""


@dataclass(frozen=True)
class Chain:
    """Some jobs of which each may depend on those before."""

    key: str
    """What it is known by to the experiments that need it."""
    start: Callable[[], Steps]
    n_jobs: int
    """At most."""
    weight: float
    """Roughly the seconds it takes: the longest begin first, and nobody waits for them at the end.
    """
    alone: bool = False
    """Whether nothing else may run at the same time, because time and memory are measured."""


@dataclass(frozen=True)
class Setting:
    """What all experiments of a run have in common."""

    seed: int
    comparison: Comparison
    """How methods are tuned, whichever experiment uses them."""
    queries: tuple[int, ...]
    """Concepts that images are searched for by."""
    lengths: tuple[int, ...]
    pictures: str = ""
    """The digest of the collection that pictures are shown of."""
    picture_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What methods differ in from their defaults for these pictures."""


def chains_of(experiment: Experiment, setting: Setting) -> Iterator[Chain]:
    """Yield the chains that an experiment needs."""
    options = experiment.options
    if isinstance(options, Comparison):
        yield from (tuned_chain(name, setting) for name in runnable(options.everyone))
    elif isinstance(options, Concepts):
        needed = (*setting.comparison.methods, options.champion, options.runner_up, options.before)
        yield from (tuned_chain(name, setting) for name in runnable(dict.fromkeys(needed)))
    elif isinstance(options, Retrieval):
        yield from (tuned_chain(name, setting) for name in runnable(options.methods))
    elif isinstance(options, Sensitivity):
        yield from _sweep_chains(options, setting)
    elif isinstance(options, Cost):
        yield from _cost_chains(options, setting)
    elif isinstance(options, Convergence):
        for one in options.variants:
            asks = {"method": options.method, "seed": setting.seed, "world": dict(options.world)}
            asks |= {"settings": {**one.settings, "max_iterations": one.iterations}}
            job = Job("converge", f"objective of {options.method}, {one.label}", asks)
            weight = one.iterations * SECONDS_AN_UPDATE
            yield single(f"converge:{one.label}", job, weight=weight)
    elif isinstance(options, Pictures):
        yield single("pictures", _pictures_job(options, setting), weight=2 * SECONDS_A_FIT)


def runnable(names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Return the methods that can run here: an optional package may not be installed."""
    return [name for name in names if missing_package(name) is None]


def single(key: str, job: Job, *, weight: float, alone: bool = False) -> Chain:
    """Return a chain of one job."""

    def start() -> Steps:
        return (yield job)

    return Chain(key, start, 1, weight, alone)


def _cost_chains(options: Cost, setting: Setting) -> Iterator[Chain]:
    for name in options.methods:
        for repeat in range(options.repeats):
            asks = {"method": name, "seed": setting.seed, "top": setting.comparison.top}
            job = Job("stages", f"stages of {name}, {repeat + 1}", {**asks, "repeat": repeat})
            yield single(f"stages:{name}:{repeat}", job, weight=SECONDS_A_FIT, alone=True)


def tuned_chain(name: str, setting: Setting) -> Chain:
    """Return the chain that tunes a method and measures every combination that was tried."""
    options = setting.comparison
    count = min(options.trials, search_space(name).size)
    extra = (2 if count > 1 else 1) * (options.seeds - 1)
    jobs = 2 * count + extra + (options.seeds if name in options.with_owners else 0)
    return Chain(f"tuned:{name}", lambda: _tuned(name, count, setting), jobs, jobs * SECONDS_A_FIT)


def _tuned(name: str, count: int, setting: Setting) -> Steps:
    """Try settings on hidden tags, then measure each: tuning sees none of these measurements."""
    options = setting.comparison
    trials: list[Found] = []
    for number in range(count):
        asks = {"method": name, "hide": options.hide, "seed": setting.seed, "done": list(trials)}
        trial = yield Job("trial", f"{name} trial {number + 1}", asks)
        if "score" not in trial:
            # Not even a failed trial: the collection cannot be tuned on at all.
            trial = _failed_trial(trial)
        trials.append(trial)
    points = []
    for number, trial in enumerate(trials):
        asks = _asked(name, trial["settings"], options.top, options.replicates, setting)
        points.append([(yield Job("measure", f"{name} measured {number + 1}", asks))])
    chosen = best_trial(trials)
    seeds = range(setting.seed + 1, setting.seed + options.seeds)
    for number in sorted({chosen, best_point(points)}):
        asks = _asked(name, trials[number]["settings"], options.top, options.replicates, setting)
        for seed in seeds:
            label = f"{name} measured {number + 1} seed {seed}"
            points[number].append((yield Job("measure", label, asks | {"seed": seed})))
    shuffled = []
    if name in options.with_owners:
        asks = _asked(name, trials[chosen]["settings"], options.top, options.replicates, setting)
        for seed in (setting.seed, *seeds):
            label = f"{name} with owners shuffled, seed {seed}"
            shuffled.append((yield Job("measure", label, asks | {"seed": seed, "shuffled": True})))
    return {"trials": trials, "points": points, "shuffled": shuffled}


def best_trial(trials: Sequence[Found]) -> int:
    """Return the number of the trial that found hidden tags best; the first where all failed."""
    scores = [-math.inf if one["score"] is None else one["score"] for one in trials]
    return scores.index(max(scores))


def best_point(points: Sequence[Sequence[Found]]) -> int:
    """Return the number of the settings that are best on the truth, by the first seed."""
    values = [some[0].get("f", -math.inf) for some in points]
    return values.index(max(values))


def _failed_trial(found: Found) -> Found:
    nothing = dict.fromkeys(("score", "map", "miap", "f_top5"))
    reason = found.get("failed", "no trial was made")
    return {"settings": {}, **nothing, "seconds": 0.0, "failed": reason}


def _asked(
    method: str, settings: Mapping[str, Any], top: int, replicates: int, setting: Setting
) -> dict[str, Any]:
    """Return what a measurement asks; the same in all experiments, so that equal ones are one."""
    return {
        "method": method,
        "settings": dict(settings),
        "seed": setting.seed,
        "top": top,
        "replicates": replicates,
        "queries": list(setting.queries),
        "lengths": list(setting.lengths),
    }


def _sweep_chains(options: Sensitivity, setting: Setting) -> Iterator[Chain]:
    for sweep in options.sweeps:
        for seed in range(setting.seed, setting.seed + options.seeds):
            if sweep.setting == SHARE:
                label = f"{options.method} {sweep.symbol}"
                asks = _point_asks(options, options.settings, seed, setting)
                job = Job("shares", label, {**asks, "shares": list(sweep.values)})
                yield single(sweep_key(options, sweep, None, seed), job, weight=SECONDS_A_FIT)
                continue
            for value in sweep.values:
                asks = _point_asks(options, point_settings(options, sweep, value), seed, setting)
                label = f"{options.method} {sweep.setting} {value:g} seed {seed}"
                job = Job("measure", label, asks)
                weight = SECONDS_A_FIT + (value / 4 if sweep.setting in CLUSTERS else 0)
                yield single(sweep_key(options, sweep, value, seed), job, weight=weight)


def _point_asks(
    options: Sensitivity, settings: Mapping[str, Any], seed: int, setting: Setting
) -> dict[str, Any]:
    asks = _asked(options.method, settings, options.top, options.replicates, setting)
    return asks | {"seed": seed}


def point_settings(options: Sensitivity, sweep: Sweep, value: float) -> dict[str, Any]:
    """Return the settings of one point, without those that are defaults: equal points are one."""
    wanted = {**options.settings, sweep.setting: value}
    default = METHODS[options.method]()
    method: Any = make_method(options.method, wanted)
    fields = [field.name for field in dataclasses.fields(method) if field.init]
    return {
        key: getattr(method, key) for key in fields if getattr(method, key) != getattr(default, key)
    }


def sweep_key(options: Sensitivity, sweep: Sweep, value: float | None, seed: int) -> str:
    """Return what the chain of one point is known by; a chain of shares has all values."""
    if value is None:
        return f"shares:{options.method}:{sorted(options.settings.items())}:{seed}"
    settings = sorted(point_settings(options, sweep, value).items())
    return f"point:{options.method}:{settings}:{seed}"


def _pictures_job(options: Pictures, setting: Setting) -> Job:
    methods = {name: dict(setting.picture_settings.get(name, {})) for name in options.methods}
    asks = {
        "methods": methods,
        "seed": setting.seed,
        "count": options.count,
        "top": options.top,
        "hide": options.hide,
        "digest": setting.pictures,
    }
    return Job("pictures", "pictures", asks)
