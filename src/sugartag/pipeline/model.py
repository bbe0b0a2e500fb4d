"""A fitted model on disk: ``manifest.json`` and plain arrays, no pickle.

What is stored follows the fields of the method's fitted dataclass: arrays as ``.npy``, sparse
arrays as three of them, plain values in the manifest, a collection as a folder of its own. When
loading, types come from the code and never from the file.
"""

import dataclasses
import math
import shlex
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sugartag._rules import Sizes, check_stored, checked_csr
from sugartag.assignment.calibration import Calibration
from sugartag.assignment.thresholds import TagThresholds
from sugartag.collection.align import Catalogue
from sugartag.collection.model import Collection
from sugartag.collection.store import CollectionWriter, open_collection, write_into
from sugartag.collection.texts import Texts
from sugartag.engine.base import Engine, Progress
from sugartag.errors import StorageError
from sugartag.methods.base import Calibrated, Fitted, Method
from sugartag.methods.registry import METHODS, OURS, make_method, package_of
from sugartag.storage.arrays import (
    inside,
    load_array,
    read_manifest,
    require_format,
    save_array,
    write_manifest,
)
from sugartag.storage.aside import folder_aside

FORMAT = "sugartag-model/2"


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A fitted method, with all that is needed to use it on any collection."""

    method: Method
    fitted: Fitted
    calibration: Calibration
    thresholds: TagThresholds
    catalogue: Catalogue
    run_id: str
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
        actions: Sequence[str] | None = None,
        kind: str | None = None,
        progress: bool | Progress | None = None,
        engine: Engine | None = None,
        **columns: Any,
    ) -> Any:
        """Return what is proposed for each image, as a frame.

        A row is one tag of one image: ``image_id``, ``tag``, ``action`` (add, keep or doubt),
        ``probability`` that the tag belongs, and ``reason``. The images may be new ones, of
        owners that are new, and have no tags.

        Parameters
        ----------
        photos
            A collection, the path of one, or a frame.
        features
            Those of the images of a frame, as for ``Collection.from_frame``.
        top
            Tags that are added to an image, at most.
        add_from, doubt_below
            Probabilities; by default what the model learned for each tag.
        actions
            Which rows to return, such as ``["add", "doubt"]``; by default all.
        kind
            The library of the frame: ``pandas``, ``polars``, ``arrow`` or ``dict``; by default
            that of the frame given, or the first that is installed.
        progress, engine
            As for :func:`sugartag.fit`.
        **columns
            What the columns of a frame are called, as for ``Collection.from_frame``.

        """
        from sugartag.pipeline.frames import suggested

        return suggested(
            self,
            photos,
            features=features,
            top=top,
            add_from=add_from,
            doubt_below=doubt_below,
            actions=actions,
            kind=kind,
            progress=progress,
            engine=engine,
            **columns,
        )

    def scores(self, photos: Any, **options: Any) -> Any:
        """Return images x :attr:`tag_names`, float32: the higher, the likelier the tag belongs.

        ``photos`` and its options are those of :meth:`suggest`; with ``kind`` a frame is returned
        whose first column is ``image_id``.
        """
        from sugartag.pipeline.frames import scored

        return scored(self, photos, **options)

    def probabilities(self, photos: Any, **options: Any) -> Any:
        """Return images x :attr:`tag_names`, float32: the probability that each tag belongs."""
        from sugartag.pipeline.frames import scored

        return scored(self, photos, as_probabilities=True, **options)

    def update(self, photos: Any, decisions: Any = None, **options: Any) -> "Model":
        """Return the model with more images, and with people's decisions about them.

        ``decisions`` is what :meth:`suggest` returned with a column ``decision`` (accept or
        reject, empty where nothing was decided), or the path of such a file. The images that it
        decides about must be among ``photos``. Nothing is fitted again.
        """
        from sugartag.pipeline.frames import updated

        return updated(self, photos, decisions, **options)

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
        raise StorageError(f"{folder} exists already; choose another name or pass --overwrite")
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
        writer = _Writer(partial, {})
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
        reader = _Reader(folder, manifest["files"])
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
            run_id=_of_type(manifest["run_id"], str),
            seed=_of_type(manifest["seed"], int),
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


@dataclass(frozen=True)
class _Writer:
    folder: Path
    files: dict[str, Any]

    def encoded(self, value: Any, name: str) -> Any:
        """Return the value as JSON, its arrays written to files."""
        if isinstance(value, np.ndarray):
            self.files[name] = save_array(self.folder, name, value).as_json()
            return {"array": name}
        if isinstance(value, sparse.csr_array):
            parts = {k: getattr(value, k) for k in ("data", "indices", "indptr")}
            made = {k: self.encoded(array, f"{name}.{k}") for k, array in parts.items()}
            return {"csr": made, "shape": list(value.shape)}
        if isinstance(value, Texts):
            first, last = value.offsets[0], value.offsets[-1]
            data = self.encoded(value.data[first:last], f"{name}.data")
            return {"texts": [data, self.encoded(value.offsets - first, f"{name}.offsets")]}
        if isinstance(value, Collection):
            (self.folder / name).mkdir()
            write_into(CollectionWriter(self.folder / name), value)
            return {"collection": name}
        if dataclasses.is_dataclass(value):
            fields = [field.name for field in dataclasses.fields(value)]
            return {key: self.encoded(getattr(value, key), f"{name}.{key}") for key in fields}
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        return value


@dataclass(frozen=True)
class _Reader:
    folder: Path
    files: dict[str, Any]

    def checked(self, state: Any, name: str, kind: type[Any], sizes: Sizes) -> Any:
        """Return a part of the model, after checking that it is all that its type says."""
        found = self.decoded(state[name], kind)
        check_stored(found, kind, sizes, name)
        return found

    def decoded(self, value: Any, hint: Any) -> Any:
        """Return the value of the type that the code says belongs there."""
        if typing.get_origin(hint) is typing.Annotated:
            hint = typing.get_args(hint)[0]
        if isinstance(hint, types.UnionType):
            if value is None:
                return None
            options = [option for option in typing.get_args(hint) if option is not types.NoneType]
            return self.decoded(value, options[0])
        kind = typing.get_origin(hint) or hint
        if kind is np.ndarray:
            return self._array(value)
        if kind is sparse.csr_array:
            parts = {key: self._array(entry) for key, entry in value["csr"].items()}
            n_rows, n_columns = value["shape"]
            return checked_csr(**parts, shape=(n_rows, n_columns))
        if kind is Texts:
            return Texts(*(self._array(entry) for entry in value["texts"]))
        if kind is Collection:
            return open_collection(inside(self.folder, value["collection"]))
        if dataclasses.is_dataclass(kind):
            hints = typing.get_type_hints(kind, include_extras=True)
            names = [field.name for field in dataclasses.fields(kind)]
            made: Any = kind
            return made(**{name: self.decoded(value[name], hints[name]) for name in names})
        if kind is tuple:
            return tuple(self.decoded(item, typing.get_args(hint)[0]) for item in value)
        if kind is float:
            return float(value["float"] if isinstance(value, dict) else value)
        return _of_type(value, kind) if kind in {int, str, bool} else value

    def _array(self, entry: Any) -> Any:
        return load_array(self.folder, self.files[entry["array"]], verify=True)


def _of_type(value: Any, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value
