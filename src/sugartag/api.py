"""The whole job from Python: fit, load, evaluate and tune, on collections, folders or frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sugartag.collection.checks import checked_seed
from sugartag.collection.frames import made_frame
from sugartag.collection.subset import without_truth
from sugartag.engine.base import Engine, Progress, stage
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
    features: Any = None,
    seed: int = 0,
    progress: bool | Progress | None = None,
    engine: Engine | None = None,
    **settings: Any,
) -> Model:
    """Learn from a collection and return the fitted model.

    Parameters
    ----------
    photos
        A :class:`Collection`, the path of a collection folder, or a data frame with the columns
        ``image_id``, ``owner`` and ``tags``. If its columns have other names, make a collection
        with :meth:`Collection.from_frame` first.
    method
        A name from :func:`method_names`, or a method object.
    features
        Images x numbers, in the order of the rows of a frame; an array, the path of a ``.npy``
        file, or names of columns.
    seed
        The same seed gives the same model.
    progress
        None shows a bar on a terminal or in a notebook, True also writes lines to a log, and
        False shows nothing. A function is called with the name of the pass, done and total.
    engine
        Where to compute: a :class:`LocalEngine` or :class:`DaskEngine`. By default all cores of
        this machine.
    **settings
        Settings of the method. ``sugartag methods`` lists them.

    Returns
    -------
    Model
        Call its ``suggest``, ``scores``, ``update`` and ``save``.

    Examples
    --------
    >>> photos = Collection.from_frame(df, features="vectors.npy", id="file", tags="keywords")
    >>> model = fit(photos)
    >>> model = fit(photos, "tag-vote", neighbours=100)

    """
    chosen, seed = _made(method, settings), checked_seed(seed)
    collection = as_collection(photos, features=features)
    with opened_engine(engine, progress) as (working, _):
        return fit_model(chosen, collection, engine=working, seed=seed)


def load(path: str | Path) -> Model:
    """Open a model that was saved with :meth:`Model.save` or ``sugartag fit``."""
    return load_model(path)


def evaluate(
    photos: Any,
    methods: str | Method | Sequence[str | Method] = DEFAULT_METHOD,
    *,
    features: Any = None,
    hide: float | None = None,
    seed: int = 0,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    progress: bool | Progress | None = None,
    engine: Engine | None = None,
    kind: str | None = None,
) -> Any:
    """Measure how well methods find true concepts, or tags that were hidden from them.

    Parameters
    ----------
    photos, features
        As for :func:`fit`.
    methods
        One method, by name or as an object, a list of them, or ``"all"``.
    hide
        The share of given tags to hide and find again. By default the truth of the collection is
        used or, if it has none, 0.3 of the tags are hidden.
    seed
        The same seed hides the same tags.
    settings
        Settings by method name, such as ``{"tag-vote": {"neighbours": 100}}``.
    progress, engine
        As for :func:`fit`.
    kind
        The library of the returned frame, as for :meth:`Model.suggest`.

    Returns
    -------
    DataFrame
        One row for each method: its metrics, and the seconds that fitting and scoring took.

    """
    settings, listed, seed = settings or {}, _listed(methods), checked_seed(seed)
    if unused := [name for name in settings if name not in listed]:
        raise SettingsError(f"settings are given for {unused[0]!r}, which is not evaluated")
    chosen = [_made(one, settings.get(one, {}) if isinstance(one, str) else {}) for one in listed]
    collection = as_collection(photos, features=features)
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
    """The settings that :func:`tune` chose, and the trials it made.

    ``fit(photos, tuned.method, **tuned.settings)`` uses them.
    """

    method: str
    """The name of the method."""
    settings: Mapping[str, Any]
    """The settings that differ from the defaults."""
    score: float
    """The mean of MAP and MiAP on hidden tags with these settings."""
    default_score: float
    """The same with the defaults."""
    trials: tuple[tuning.Trial, ...] = field(repr=False, default=())
    """Every trial, in the order they were made."""

    def to_frame(self, kind: str | None = None) -> Any:
        """Return one row for each trial: settings, score, MAP, MiAP, seconds, failed."""
        names = ("settings", "score", "map", "miap", "seconds", "failed")
        return made_frame(
            {name: [getattr(trial, name) for trial in self.trials] for name in names}, kind
        )


def tune(
    photos: Any,
    method: str = DEFAULT_METHOD,
    *,
    features: Any = None,
    budget: int = TRIALS,
    hide: float = HIDDEN_SHARE,
    seed: int = 0,
    progress: bool | Progress | None = None,
    engine: Engine | None = None,
) -> Tuning:
    """Choose the settings of a method by how well it finds hidden tags again.

    The truth of the collection is never looked at.

    Parameters
    ----------
    photos, features
        As for :func:`fit`.
    method
        A name from :func:`method_names`.
    budget
        How many combinations of settings to try; the first is the defaults.
    hide
        The share of given tags to hide.
    seed
        The same seed makes the same trials.
    progress, engine
        As for :func:`fit`.

    """
    collection = without_truth(as_collection(photos, features=features))
    seed = checked_seed(seed)
    task = tuning.tuning_task(collection, share=hide, seed=seed)
    trials = []
    with (
        opened_engine(engine, progress) as (working, display),
        stage(working, f"tuning {method}", budget) as counted,
    ):
        for trial in tuning.tune(
            method, task, budget=budget, engine=working, seed=seed, progress=display
        ):
            trials.append(trial)
            counted.advance()
    best = tuning.best(trials)
    return Tuning(method, best.settings, best.score, trials[0].score, tuple(trials))


def _listed(methods: str | Method | Sequence[str | Method]) -> list[Any]:
    if methods == "all":
        return [name for name in method_names() if missing_package(name) is None]
    is_one = isinstance(methods, str) or hasattr(methods, "fit")
    found: list[Any] = [methods] if is_one else list(cast("Any", methods))
    if not found:
        raise SettingsError("no method is named; name one, or all")
    return found


def _made(method: str | Method, settings: Mapping[str, Any]) -> Method:
    """Return the method of a name with these settings, or a method object as it is."""
    if isinstance(method, str):
        return make_method(method, settings)
    if isinstance(method, type) or not hasattr(method, "fit"):
        raise SettingsError(f"{method!r} is no method; pass a name such as {DEFAULT_METHOD!r}")
    if settings:
        raise SettingsError(
            f"{', '.join(settings)}: a method object has its settings; pass settings with a name"
        )
    return method
