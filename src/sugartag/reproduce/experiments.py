"""What is to be run: the experiment files, read and checked."""

import dataclasses
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeAlias

from sugartag.errors import SettingsError
from sugartag.methods.registry import make_method
from sugartag.methods.search_spaces import search_space


@dataclass(frozen=True)
class Comparison:
    """Every method tuned alike, and its average F."""

    methods: tuple[str, ...]
    """The paper's."""
    beyond: tuple[str, ...] = ()
    """Others to stand beside them."""
    trials: int = 6
    hide: float = 0.3
    """Share of the given tags that tuning hides."""
    top: int = 10
    replicates: int = 200

    @property
    def everyone(self) -> tuple[str, ...]:
        """Return all methods, in the order of the table."""
        return (*self.methods, *self.beyond)


@dataclass(frozen=True)
class Concepts:
    """F of each concept, by the methods of the comparison."""

    champion: str
    runner_up: str
    """Gains of the champion are counted from here."""
    before: str
    marked: int = 10


@dataclass(frozen=True)
class Cost:
    """Time and memory of each stage."""

    methods: tuple[str, ...]


@dataclass(frozen=True)
class Sweep:
    """One setting and the values it takes."""

    setting: str
    symbol: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Sensitivity:
    """F of one method with one setting changed at a time."""

    method: str
    sweeps: tuple[Sweep, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the defaults at every point."""
    seeds: int = 1
    top: int = 10
    replicates: int = 200


@dataclass(frozen=True)
class Retrieval:
    """MAP of a few queries by the length of the list."""

    methods: tuple[str, ...]
    queries: tuple[str, ...]
    lengths: tuple[int, ...]
    champion: str


@dataclass(frozen=True)
class Convergence:
    """The objective after each update."""

    method: str
    iterations: int
    tolerance: float


@dataclass(frozen=True)
class Pictures:
    """Tags of real pictures, before and after."""

    methods: tuple[str, ...]
    count: int = 12
    top: int = 8
    hide: float = 0.3


Options: TypeAlias = Comparison | Concepts | Cost | Sensitivity | Retrieval | Convergence | Pictures
KINDS: Mapping[str, type[Any]] = {
    "comparison": Comparison,
    "concepts": Concepts,
    "cost": Cost,
    "sensitivity": Sensitivity,
    "retrieval": Retrieval,
    "convergence": Convergence,
    "pictures": Pictures,
}
_ABOUT = ("order", "kind", "paper", "title", "summary")
_METHOD_FIELDS = ("method", "methods", "beyond", "champion", "runner_up", "before")


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper."""

    name: str
    """The file's name, without ``.toml``."""
    order: int
    kind: str
    paper: str
    """Where the paper has it."""
    title: str
    summary: str
    options: Options
    published: Mapping[str, Any]
    """The paper's own numbers, on other data."""


def shipped_experiments() -> Traversable:
    """Return the folder of experiments that comes with the package."""
    return resources.files("sugartag") / "experiments"


def load_experiments(folder: Traversable | Path, *, quick: bool) -> tuple[Experiment, ...]:
    """Read all experiment files of a folder, in the order of the report."""
    try:
        files = [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]
    except OSError as error:
        raise SettingsError(f"cannot read {folder}: {error.strerror or error}") from error
    found = [read_experiment(file, quick=quick) for file in files]
    if not found:
        raise SettingsError(f"{folder} has no experiment files (NAME.toml)")
    if sum(isinstance(one.options, Comparison) for one in found) != 1:
        raise SettingsError(
            f"{folder} must have exactly one experiment of the kind comparison; the others use its "
            "tuned methods"
        )
    return tuple(sorted(found, key=lambda one: (one.order, one.name)))


def chosen_experiments(found: Sequence[Experiment], only: Iterable[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names, or all where none is named."""
    wanted = set(only)
    unknown = wanted.difference(one.name for one in found)
    if unknown:
        names = ", ".join(one.name for one in found)
        raise SettingsError(f"there is no experiment {min(unknown)!r}; choose from: {names}")
    return tuple(one for one in found if not wanted or one.name in wanted)


def read_experiment(file: Traversable | Path, *, quick: bool) -> Experiment:
    """Read one experiment file; whatever is wrong with it is said in one line."""
    document = read_toml(file)
    known = {*_ABOUT, "options", "quick", "published"}
    _refuse_unknown(document, known, file.name)
    for key in _ABOUT:
        if not isinstance(document.get(key), int if key == "order" else str):
            raise SettingsError(f"{file.name}: give {key}, as in the shipped experiments")
    kind = document["kind"]
    if kind not in KINDS:
        raise SettingsError(f"{file.name}: kind is {kind!r}; choose from: {', '.join(KINDS)}")
    values = {**document.get("options", {}), **(document.get("quick", {}) if quick else {})}
    options = _made(KINDS[kind], values, file.name)
    _check(options, file.name)
    return Experiment(
        name=file.name.removesuffix(".toml"),
        options=options,
        published=document.get("published", {}),
        **{key: document[key] for key in _ABOUT},
    )


def read_toml(file: Traversable | Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read {file.name}: {error.strerror or error}") from error
    except ValueError as error:
        raise SettingsError(f"{file.name} is no TOML file: {error}") from error


def _made(kind: type[Any], values: Mapping[str, Any], where: str) -> Any:
    """Make a dataclass from the values of a table, each of the type its field has."""
    hints = typing.get_type_hints(kind)
    fields = {one.name: one for one in dataclasses.fields(kind)}
    _refuse_unknown(values, fields, where)
    for name, one in fields.items():
        needed = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        if needed and name not in values:
            raise SettingsError(f"{where}: {name} is missing")
    return kind(
        **{key: _converted(value, hints[key], f"{where}: {key}") for key, value in values.items()}
    )


def _converted(value: Any, hint: Any, where: str) -> Any:
    if typing.get_origin(hint) is tuple:
        inner = typing.get_args(hint)[0]
        if not isinstance(value, list) or not value:
            raise SettingsError(f"{where} is {value!r}; give a list")
        return tuple(_converted(item, inner, where) for item in value)
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return _made(typing.cast("type[Any]", hint), value, where)
    wanted = typing.get_origin(hint) or hint
    if wanted is float and type(value) in (int, float):
        return value
    is_flag = isinstance(value, bool) and wanted is not bool
    if is_flag or not isinstance(value, typing.cast("type[Any]", wanted)):
        name = hint.__name__ if isinstance(hint, type) else "table"
        raise SettingsError(f"{where} is {value!r}, which is not {name}")
    return value


def _check(options: Any, where: str) -> None:
    """Raise unless every method exists, every count is 1 or more and every share is one."""
    for name in _METHOD_FIELDS:
        value = getattr(options, name, ())
        for method in (value,) if isinstance(value, str) else value:
            make_method(method)
            search_space(method)
    for name in ("trials", "top", "replicates", "marked", "seeds", "iterations", "count"):
        if getattr(options, name, 1) < 1:
            raise SettingsError(f"{where}: {name} must be at least 1")
    if not 0 < getattr(options, "hide", 0.5) < 1:
        raise SettingsError(f"{where}: hide must be a share between 0 and 1")
    if isinstance(options, Sensitivity):
        for sweep in options.sweeps:
            for value in sweep.values:
                make_method(options.method, {**options.settings, sweep.setting: value})
    if isinstance(options, Retrieval) and min(options.lengths) < 1:
        raise SettingsError(f"{where}: lengths must be at least 1")


def _refuse_unknown(values: Any, known: Iterable[str], where: str) -> None:
    if not isinstance(values, Mapping | types.MappingProxyType):
        raise SettingsError(f"{where}: {values!r} is no table")
    unknown = sorted(set(values).difference(known))
    if unknown:
        raise SettingsError(f"{where}: unknown {unknown[0]!r}; it may have: {', '.join(known)}")
