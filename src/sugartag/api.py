"""The whole job from Python: fit, load, evaluate and tune, on collections, folders or frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sugartag.collection.frames import made_frame
from sugartag.collection.subset import without_truth
from sugartag.engine.base import Engine, Progress
from sugartag.errors import SettingsError
from sugartag.evaluation import protocol, tuning
from sugartag.methods.base import Method
from sugartag.methods.registry import make_method, method_names, missing_package
from sugartag.pipeline.fitting import DEFAULT_METHOD, fit_model
from sugartag.pipeline.frames import as_collection, opened_engine
from sugartag.pipeline.model import Model, load_model

HIDDEN_SHARE = 0.3
"""Of the given tags that are hidden where there is no truth, unless asked otherwise."""
TRIALS = 16


def fit(
    photos: Any,
    method: str | Method = DEFAULT_METHOD,
    *,
    seed: int = 0,
    progress: bool | Progress | None = None,
    engine: Engine | None = None,
    **settings: Any,
) -> Model:
    """Learn from a collection, the path of one, or a frame, and return the model.

    Parameters
    ----------
    photos
        What to learn from; a frame has the columns that ``Collection.from_frame`` looks for.
    method
        A name of :func:`method_names`, or a method.
    seed
        The same seed gives the same model.
    progress
        By default a bar on a terminal or in a notebook; True also writes lines to a log, False
        shows nothing, and a callable is called with what, done and total.
    engine
        Where to work; by default on all cores of this machine.
    **settings
        Settings of the method, as ``sugartag methods`` lists them.

    """
    chosen = make_method(method, settings) if isinstance(method, str) else method
    if settings and not isinstance(method, str):
        raise SettingsError(f"{', '.join(settings)}: a method that is made has its settings")
    collection = as_collection(photos)
    with opened_engine(engine, progress) as (working, _):
        return fit_model(chosen, collection, engine=working, seed=seed)


def load(path: str | Path) -> Model:
    """Open the folder of a model that was saved."""
    return load_model(path)


def evaluate(
    photos: Any,
    methods: str | Sequence[str | Method] = DEFAULT_METHOD,
    *,
    hide: float | None = None,
    seed: int = 0,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    progress: bool | Progress | None = None,
    engine: Engine | None = None,
    kind: str | None = None,
) -> Any:
    """Return how well methods find true concepts or hidden tags: a frame, one row for each.

    Parameters
    ----------
    photos
        A collection, the path of one, or a frame.
    methods
        One name, several names or methods, or ``all``.
    hide
        The share of given tags to hide and find again. By default the truth of the collection is
        used, or where there is none, a share of 0.3 is hidden.
    seed
        The same seed hides the same tags.
    settings
        Settings by the name of a method.
    progress, engine
        As for :func:`fit`.
    kind
        The library of the frame, as for ``Model.suggest``.

    """
    chosen = [_method(one, settings or {}) for one in _listed(methods)]
    collection = as_collection(photos)
    if hide is None and collection.has_truth:
        task = protocol.truth_task(collection)
    else:
        task = protocol.hidden_task(collection, HIDDEN_SHARE if hide is None else hide, seed)
    rows = []
    with opened_engine(engine, progress) as (working, display):
        for method in chosen:
            rng = protocol.method_rng(method.name, seed)
            found = protocol.evaluate(method, task, engine=working, rng=rng, progress=display)
            times = {name: getattr(found, name) for name in ("fit_seconds", "score_seconds")}
            rows.append({"method": found.name, **found.metrics.by_name(), **times})
    return made_frame({name: [row[name] for row in rows] for name in rows[0]}, kind)


@dataclass(frozen=True)
class Tuning:
    """The settings that trials chose: ``fit(photos, tuned.method, **tuned.settings)`` uses them."""

    method: str
    settings: Mapping[str, Any]
    """As far as they differ from the defaults."""
    score: float
    """The mean of MAP and MiAP on hidden tags, with these settings ..."""
    default_score: float
    """... and with the defaults."""
    trials: tuple[tuning.Trial, ...] = field(repr=False, default=())

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a row for each trial: its settings, score, MAP, MiAP and seconds."""
        names = ("settings", "score", "map", "miap", "seconds", "failed")
        return made_frame(
            {name: [getattr(trial, name) for trial in self.trials] for name in names}, kind
        )


def tune(
    photos: Any,
    method: str = DEFAULT_METHOD,
    *,
    budget: int = TRIALS,
    hide: float = HIDDEN_SHARE,
    seed: int = 0,
    progress: bool | Progress | None = None,
    engine: Engine | None = None,
) -> Tuning:
    """Choose the settings of a method by how well it finds hidden tags again, in some trials."""
    collection = without_truth(as_collection(photos))
    task = tuning.tuning_task(collection, share=hide, seed=seed)
    with opened_engine(engine, progress) as (working, display):
        trials = tuple(
            tuning.tune(method, task, budget=budget, engine=working, seed=seed, progress=display)
        )
    best = tuning.best(trials)
    return Tuning(method, best.settings, best.score, trials[0].score, trials)


def _listed(methods: str | Sequence[str | Method]) -> list[str | Method]:
    if methods == "all":
        return [name for name in method_names() if missing_package(name) is None]
    found: list[str | Method] = [methods] if isinstance(methods, str) else list(methods)
    if not found:
        raise SettingsError("no method is named; name one, or all")
    return found


def _method(one: str | Method, settings: Mapping[str, Mapping[str, Any]]) -> Method:
    return make_method(one, settings.get(one, {})) if isinstance(one, str) else one
