"""The pieces of work: a trial of tuning, a measurement, the stages of a fit, the objective."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sugartag._typing import SparseRows
from sugartag.assignment.rank import top_tags
from sugartag.collection.model import Collection
from sugartag.collection.store import open_collection
from sugartag.collection.subset import without_truth
from sugartag.collection.synthetic import World
from sugartag.completion import complete_exactly
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError, SugartagError
from sugartag.evaluation.cost import Meter
from sugartag.evaluation.protocol import Task, hidden_task, method_rng
from sugartag.evaluation.tuning import Trial, tune, tuning_task
from sugartag.methods.base import Fitted, Method
from sugartag.methods.registry import make_method
from sugartag.methods.sugar_tc import SugarTC
from sugartag.methods.sugar_tc.fitted import FittedSugarTC
from sugartag.methods.sugar_tc.stages import build_graph, build_problem, complete
from sugartag.reproduce.cache import Job
from sugartag.reproduce.data import Data
from sugartag.reproduce.measure import Measures, measured
from sugartag.reproduce.stages import ASSIGNMENT, COMPLETION, FUNCTIONS, STAGES, StageMeter

ROWS_AT_ONCE = 4096
SHUFFLING = 0x73687566
"""Tells the random numbers that deal out owners from others of the same seed."""
ROUNDING = 1e-12
"""A relative rise of the objective below this is no more than the rounding of its own sums."""
FEWEST_TAGS = 3
"""Pictures with fewer tags left show little."""


@dataclass(frozen=True, eq=False)
class Workplace:
    """The data, opened once in each process that works on them."""

    data: Data
    pictures: Path
    """The collection that pictures are shown of."""
    engine: LocalEngine
    """One thread: the last digit of a result then depends on no number of cores."""

    @classmethod
    def of(cls, data: Data, pictures: Path) -> "Workplace":
        """Set up a place to work on the data."""
        return cls(data, pictures, LocalEngine(blas_threads=1))

    @cached_property
    def task(self) -> Task:
        """What experiments predict."""
        return self.data.task()

    def tuning_task(self, share: float) -> Task:
        """Hide tags of what methods may see; nothing that experiments measure by is in it."""
        return tuning_task(self.task.given, share=share, seed=self.data.seed)


def run_job(job: Job, place: Workplace) -> dict[str, Any]:
    """Do one piece of work; where it cannot be done the result says why."""
    try:
        return _RUNNERS[job.kind](job.asks, place)
    except (SugartagError, np.linalg.LinAlgError) as error:
        return {"failed": " ".join(str(error).split()) or type(error).__name__}


def _trial(asks: Mapping[str, Any], place: Workplace) -> dict[str, Any]:
    done = [_trial_of(entry) for entry in asks["done"]]
    made = tune(
        asks["method"],
        place.tuning_task(asks["hide"]),
        budget=len(done) + 1,
        engine=place.engine,
        seed=place.data.seed,
        done=done,
    )
    trial = next(made, None)
    return {"exhausted": True} if trial is None else asdict(trial)


def _trial_of(entry: Mapping[str, Any]) -> Trial:
    numbers = {
        name: np.nan if entry[name] is None else entry[name]
        for name in ("score", "map", "miap", "f_top5")
    }
    return Trial(
        settings=entry["settings"], seconds=entry["seconds"], failed=entry["failed"], **numbers
    )


def _measure(asks: Mapping[str, Any], place: Workplace) -> dict[str, Any]:
    task = place.task
    if asks.get("shuffled"):
        task = replace(task, given=owners_shuffled(task.given, asks["seed"]))
    fitted, cost = _fitted(asks, task, place)
    with Meter() as scoring:
        found = measured(fitted, task, _measures(asks, place), engine=place.engine)
    return found | cost | {"score_seconds": scoring.seconds}


def owners_shuffled(collection: Collection, seed: int) -> Collection:
    """Return the collection with its owners dealt out anew: how many images each has stays."""
    rng = np.random.default_rng([seed, SHUFFLING])
    owner = rng.permutation(collection.owner)
    shards, start = [], 0
    for shard in collection.shards:
        shards.append(replace(shard, owner=owner[start : start + len(shard)]))
        start += len(shard)
    return replace(collection, shards=tuple(shards))


def _shares(asks: Mapping[str, Any], place: Workplace) -> dict[str, Any]:
    """Measure one fit of SUGAR-TC with several γ, which matter after the fit only."""
    fitted, _ = _fitted(asks, place.task, place)
    if not isinstance(fitted, FittedSugarTC):
        raise SettingsError(f"{asks['method']} has no share of the image part to change")
    if fitted.reconstruction is not None:
        raise SettingsError("the share can be changed after a fit with scoring=assignment only")
    points = []
    for share in asks["shares"]:
        assignment = replace(fitted.assignment, image_share=share)
        changed = replace(fitted, assignment=assignment)
        points.append(measured(changed, place.task, _measures(asks, place), engine=place.engine))
    return {"points": points}


def _fitted(
    asks: Mapping[str, Any], task: Task, place: Workplace
) -> tuple[Fitted, dict[str, float]]:
    method: Method = make_method(asks["method"], asks["settings"])
    rng = method_rng(asks["method"], asks["seed"])
    with Meter() as fitting:
        fitted = method.fit(task.given, engine=place.engine, rng=rng)
    return fitted, {"fit_seconds": fitting.seconds}


def _measures(asks: Mapping[str, Any], place: Workplace) -> Measures:
    return Measures(
        top=asks["top"],
        replicates=asks["replicates"],
        seed=place.data.seed,
        queries=tuple(asks.get("queries", ())),
        lengths=tuple(asks.get("lengths", (10,))),
    )


def _stages(asks: Mapping[str, Any], place: Workplace) -> dict[str, Any]:
    name = asks["method"]
    if name not in FUNCTIONS:
        raise SettingsError(f"{name} has no known stages; choose from {', '.join(FUNCTIONS)}")
    given = place.task.given
    method, rng = make_method(name), method_rng(name, asks["seed"])
    # Processor time does not care what else the machine is doing.
    clock = time.process_time
    with StageMeter(FUNCTIONS[name], otherwise=COMPLETION, clock=clock) as fit:
        fitted = method.fit(given, engine=place.engine, rng=rng)
    with StageMeter({}, otherwise=ASSIGNMENT, clock=clock) as assignment:
        for block in given.blocks(ROWS_AT_ONCE):
            top_tags(fitted.scores(given.rows(block)), asks["top"], floor=fitted.floor)
    seconds = fit.seconds | assignment.seconds
    peaks = fit.peak_mb | assignment.peak_mb
    return {
        "stages": {
            stage: {"seconds": seconds[stage], "mb": peaks[stage]}
            for stage in STAGES
            if stage in seconds
        }
    }


def _converge(asks: Mapping[str, Any], place: Workplace) -> dict[str, Any]:
    """Follow the objective of SUGAR-TC, which needs a small collection: its tensor is dense."""
    settings = make_method(asks["method"], {**asks["settings"], "tolerance": 0.0})
    if not isinstance(settings, SugarTC):
        raise SettingsError(f"{asks['method']} has no objective to follow; name sugar-tc")
    rng = method_rng(asks["method"], asks["seed"])
    given = without_truth(World(**asks["world"]).generate(asks["seed"]))
    graph = build_graph(settings, given, engine=place.engine, rng=rng)
    problem, prior = build_problem(settings, given, graph, engine=place.engine)
    nothing = problem.constant
    lowest = complete_exactly(problem, consume=False, sums_only=True).objectives[-1]
    done = complete(settings, problem, prior, engine=place.engine, rng=rng)
    values = np.array(done.objectives, dtype=np.float64)
    # Here and not later: results are kept with fewer digits than late updates change.
    falls = (values[:-1] - values[1:]) / np.abs(values[:-1])
    return {
        "objectives": values.tolist(),
        "falls": falls.tolist(),
        "rises": int(np.count_nonzero(falls < -ROUNDING)),
        "shape": list(problem.shape),
        "nothing": nothing,
        "lowest": float(lowest),
    }


def _pictures(asks: Mapping[str, Any], place: Workplace) -> dict[str, Any]:
    """Give a random few pictures their tags anew."""
    task = hidden_task(open_collection(place.pictures, verify=False), asks["hide"], asks["seed"])
    chosen = _chosen_pictures(task, asks["count"], asks["seed"])
    rows = [task.given.rows(slice(image, image + 1)) for image in chosen]
    after: dict[str, list[list[str]]] = {}
    names = task.given.tag_names
    for name, settings in asks["methods"].items():
        method = make_method(name, settings)
        fitted = method.fit(task.given, engine=place.engine, rng=method_rng(name, asks["seed"]))
        best = [top_tags(fitted.scores(row), asks["top"], floor=fitted.floor).of(0) for row in rows]
        after[name] = [[names[tag] for tag in tags] for tags in best]
    paths, titles = task.given.texts_of("paths"), task.given.texts_of("titles")
    return {
        "pictures": [
            {
                "path": "" if paths is None else paths[image],
                "title": "" if titles is None else titles[image],
                "owner": _owner_name(task.given, image),
                "given": _names_in(rows[place].tags, names),
                "hidden": _names_in(task.answers.tags_of(slice(image, image + 1)), names),
                "after": {name: lists[place] for name, lists in after.items()},
            }
            for place, image in enumerate(chosen)
        ]
    }


def _chosen_pictures(task: Task, count: int, seed: int) -> list[int]:
    """Return random pictures with a few tags left, each by another owner."""
    left = np.diff(task.given.tags_of(slice(0, task.given.n_images)).indptr)
    chosen: dict[int, int] = {}
    for image in np.random.default_rng(seed).permutation(task.given.n_images).tolist():
        owner = int(task.given.owner[image])
        if left[image] >= FEWEST_TAGS and owner not in chosen and len(chosen) < count:
            chosen[owner] = image
    return list(chosen.values())


def _owner_name(collection: Collection, image: int) -> str:
    owner = int(collection.owner[image])
    return "" if owner == collection.nobody else collection.owner_names[owner]


def _names_in(tags: SparseRows, names: tuple[str, ...]) -> list[str]:
    """Return the names of the tags of one image."""
    return [names[column] for column in sorted(tags.indices.tolist())]


_RUNNERS: Mapping[str, Callable[[Mapping[str, Any], Workplace], dict[str, Any]]] = {
    "trial": _trial,
    "measure": _measure,
    "shares": _shares,
    "stages": _stages,
    "converge": _converge,
    "pictures": _pictures,
}
