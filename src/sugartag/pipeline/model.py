"""A fitted model: what Python users call, and its folder of ``manifest.json`` and plain arrays."""

import dataclasses
import shlex
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from sugartag._rules import Sizes
from sugartag.assignment.calibration import Calibration
from sugartag.assignment.thresholds import TagThresholds
from sugartag.collection.align import Catalogue
from sugartag.collection.frames import kind_of, made_frame
from sugartag.engine.base import Engine, Progress
from sugartag.errors import StorageError
from sugartag.methods.base import Calibrated, Fitted, Method
from sugartag.methods.registry import METHODS, OURS, make_method, package_of
from sugartag.pipeline.changes import decisions_of
from sugartag.pipeline.encoding import Reader, Writer, of_type
from sugartag.pipeline.frames import of_every_tag, opened, suggestions
from sugartag.pipeline.propose import Thresholds
from sugartag.storage.arrays import read_manifest, require_format, write_manifest
from sugartag.storage.aside import folder_aside

FORMAT = "sugartag-model/2"


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A fitted method, with all that is needed to use it on any collection.

    Made by :func:`sugartag.fit` or :func:`sugartag.load`.
    """

    method: Method
    """The method with its settings."""
    fitted: Fitted
    """What the method learned."""
    calibration: Calibration
    """What its scores mean, if it does not say so itself."""
    thresholds: TagThresholds
    """Where each tag is added and doubted."""
    catalogue: Catalogue
    """The names of the images, tags and owners it learned from."""
    run_id: str
    """A name for all that decided the outcome: method, settings, seed and data."""
    seed: int

    @property
    def tag_names(self) -> tuple[str, ...]:
        """The tags it can suggest: the columns of :meth:`scores`."""
        return self.catalogue.tag_names

    def suggest(
        self,
        photos: Any,
        *,
        features: Any = None,
        top: int = 10,
        add_from: float | None = None,
        doubt_below: float | None = None,
        actions: str | Sequence[str] | None = None,
        kind: str | None = None,
        progress: bool | Progress | None = None,
        engine: Engine | None = None,
        **columns: Any,
    ) -> Any:
        """Propose tags to add, keep and doubt for each image.

        The images may be new, with owners that the model does not know, and without tags.

        Parameters
        ----------
        photos
            A collection, the path of a collection folder, or a data frame.
        features
            Those of the images of a frame, as for :meth:`Collection.from_frame`.
        top
            Add at most this many tags to an image.
        add_from, doubt_below
            Add from this probability on, and doubt below it. By default the model uses what it
            learned for each tag.
        actions
            Which rows to return, such as ``"add"`` or ``["add", "doubt"]``. By default all.
        kind
            The library of the returned frame: ``pandas``, ``polars``, ``arrow`` or ``dict``. By
            default that of the frame given, or else the first that is installed.
        progress, engine
            As for :func:`sugartag.fit`.
        **columns
            What the columns of a frame are called, as for :meth:`Collection.from_frame`.

        Returns
        -------
        DataFrame
            One row for each tag of each image: ``image_id``, ``tag``, ``action`` (add, keep or
            doubt), ``probability`` that the tag belongs, ``reason``.

        """
        asked = Thresholds(top=top, add=add_from, doubt=doubt_below)
        with opened(photos, engine, progress, features=features, **columns) as images:
            found = suggestions(self, *images, asked, actions)
        return made_frame(found, kind or kind_of(photos))

    def scores(
        self,
        photos: Any,
        *,
        features: Any = None,
        kind: str | None = None,
        progress: bool | Progress | None = None,
        engine: Engine | None = None,
        **columns: Any,
    ) -> Any:
        """Score every tag for each image: the higher, the likelier the tag belongs.

        The images are given as for :meth:`suggest`.

        Returns
        -------
        ndarray
            Images x :attr:`tag_names`, float32; with ``kind`` a data frame with a column for each
            tag after ``image_id``.

        """
        with opened(photos, engine, progress, features=features, **columns) as images:
            return of_every_tag(self, *images, kind)

    def probabilities(
        self,
        photos: Any,
        *,
        features: Any = None,
        kind: str | None = None,
        progress: bool | Progress | None = None,
        engine: Engine | None = None,
        **columns: Any,
    ) -> Any:
        """Return the probability that each tag belongs, in the form of :meth:`scores`."""
        with opened(photos, engine, progress, features=features, **columns) as images:
            return of_every_tag(self, *images, kind, as_probabilities=True)

    def update(
        self,
        photos: Any,
        decisions: Any = None,
        *,
        features: Any = None,
        progress: bool | Progress | None = None,
        engine: Engine | None = None,
        **columns: Any,
    ) -> "Model":
        """Return the model with more images, and with people's decisions about them.

        Nothing is fitted anew, and this model does not change.

        Parameters
        ----------
        photos
            A collection, the path of a collection folder, or a data frame. It must have the
            images that were decided about. Images that did not change do nothing.
        decisions
            What :meth:`suggest` returned with a column ``decision``: accept or reject, empty where
            nothing was decided. Or the path of such a file.
        features, progress, engine, **columns
            As for :meth:`suggest`.

        """
        from sugartag.pipeline.fitting import update_model

        decided = [] if decisions is None else decisions_of(decisions)
        with opened(photos, engine, progress, features=features, **columns) as (images, working):
            return update_model(self, images, decided, engine=working)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model to a folder, for :func:`sugartag.load`."""
        save_model(self, path, overwrite=overwrite)

    def __repr__(self) -> str:
        return f"<Model {' '.join(lines_about(self))}>"

    def _repr_html_(self) -> str:
        return "<p>" + "<br>".join(escape(line) for line in lines_about(self)) + "</p>"


def lines_about(model: Model) -> list[str]:
    """Return in a few lines what a model is: method, size, and what the evidence is worth."""
    fitted, names = model.fitted, model.catalogue
    summary = fitted.evidence_summary() if isinstance(fitted, Calibrated) else ""
    return [
        f"{model.run_id}: {len(names.ids):,} images, {len(names.tag_names):,} tags, "
        f"{len(names.owner_names):,} owners.",
        *([f"{summary}."] if summary else []),
    ]


def check_target(folder: Path, *, overwrite: bool) -> None:
    """Raise unless a model may be written there: nothing but a model is ever replaced by one."""
    if folder.exists() and not overwrite:
        raise StorageError(
            f"{folder} exists already; choose another name or pass --overwrite "
            "(in Python: overwrite=True)"
        )
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        try:
            require_format(folder, format_name=FORMAT)
        except StorageError as error:
            raise StorageError(f"--overwrite replaces models only: {error}") from error


def save_model(model: Model, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a model; nothing stands under the name until it is whole."""
    folder = Path(folder)
    check_target(folder, overwrite=overwrite)
    with folder_aside(folder, overwrite=overwrite) as partial:
        writer = Writer(partial, {})
        state = {
            name: writer.encoded(getattr(model, name), name)
            for name in ("fitted", "calibration", "thresholds", "catalogue")
        }
        write_manifest(
            partial,
            {
                "format": FORMAT,
                "method": model.method.name,
                "package": _package_of(model.method.name),
                "settings": dataclasses.asdict(typing.cast("Any", model.method)),
                "run_id": model.run_id,
                "seed": model.seed,
                "state": state,
                "files": writer.files,
            },
        )


def load_model(folder: str | Path) -> Model:
    """Open a model folder, after checking every file against its manifest."""
    folder = Path(folder)
    manifest = read_manifest(folder, format_name=FORMAT)
    _require_method(folder, manifest)
    try:
        method = make_method(manifest["method"], manifest["settings"])
        reader = Reader(folder, manifest["files"])
        fitted_type = METHODS[manifest["method"]].fitted_type
        state = manifest["state"]
        sizes = Sizes()
        return Model(
            method=method,
            # The names first: they say how many tags, owners and images there are.
            catalogue=reader.checked(state, "catalogue", Catalogue, sizes),
            fitted=reader.checked(state, "fitted", fitted_type, sizes),
            calibration=reader.checked(state, "calibration", Calibration, sizes),
            thresholds=reader.checked(state, "thresholds", TagThresholds, sizes),
            run_id=of_type(manifest["run_id"], str),
            seed=of_type(manifest["seed"], int),
        )
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise StorageError(f"{folder / 'manifest.json'} is damaged ({error}); fit again") from error


def _package_of(method: str) -> str | None:
    """Return the package that brings a method; None of one that no package offers."""
    return package_of(method) if method in METHODS else None


def _require_method(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise naming the package of a model's method, unless it is installed."""
    name, package = manifest.get("method"), manifest.get("package")
    if not isinstance(name, str) or name in METHODS or package == OURS:
        return
    if not isinstance(package, str):
        raise StorageError(f"{folder} is a model of {name!r}, which no installed package offers")
    raise StorageError(
        f"{folder} is a model of {name!r}, a method of the package {package}, which is not "
        f"installed; install it: pip install {shlex.quote(package)}"
    )
