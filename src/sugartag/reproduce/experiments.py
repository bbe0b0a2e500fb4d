"""What is to be run: the experiment files, read and checked."""

import dataclasses
import tomllib
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeAlias

from sugartag.collection.synthetic import World
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
    with_owners: tuple[str, ...] = ()
    """Methods that know owners: measured once more with the owners shuffled among the images."""
    trials: int = 4
    hide: float = 0.3
    """Share of the given tags that tuning hides."""
    top: int = 10
    replicates: int = 200
    seeds: int = 1
    """Choices of random numbers that the settings chosen are measured with."""

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
    repeats: int = 3


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
class Variant:
    """Settings, and what they are called."""

    label: str
    settings: Mapping[str, Any]
    iterations: int


@dataclass(frozen=True)
class Convergence:
    """The objective after each update, on a synthetic collection of its own."""

    method: str
    variants: tuple[Variant, ...]
    tolerance: float
    world: Mapping[str, Any]


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
NAMES = {
    "original": "OT (original)",
    "trvsc": "TRVSC",
    "lr": "LR",
    "nmc": "NMC",
    "lslr": "LSLR",
    "mrtf": "MRTF",
    "ttc1": "TTC1",
    "ttc2": "TTC2",
    "sugar-tc": "SUGAR-TC",
}
"""What the paper calls its methods; others keep their own names."""
MAIN, PHOTOGRAPHS = "main", "photographs"
"""What a collection is to a run: all experiments run on the first, some on the other too."""
_ABOUT = ("order", "kind", "paper", "title", "summary")
_METHOD_FIELDS = (
    *("method", "methods", "beyond", "with_owners"),
    *("champion", "runner_up", "before"),
)


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
    on: str = MAIN
    """The collection it runs on."""


def method_name(name: str) -> str:
    """Return what a method is called on the page."""
    return NAMES.get(name, name)


def shipped_experiments() -> Traversable:
    """Return the folder of experiments that comes with the package."""
    return resources.files("sugartag") / "experiments"


def load_experiments(folder: Traversable | Path, *, quick: bool) -> tuple[Experiment, ...]:
    """Read all experiment files of a folder, in the order of the report."""
    try:
        files = [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]
    except OSError as error:
        raise SettingsError(f"cannot read {folder}: {error.strerror or error}") from error
    found = [one for file in files for one in read_experiments(file, quick=quick)]
    if not found:
        raise SettingsError(f"{folder} has no experiment files (NAME.toml)")
    for on in {one.on for one in found}:
        if sum(isinstance(one.options, Comparison) and one.on == on for one in found) != 1:
            raise SettingsError(
                f"{folder} must have exactly one experiment of the kind comparison; the others use "
                "its tuned methods"
            )
    return tuple(sorted(found, key=lambda one: (one.on != MAIN, one.order, one.name)))


def comparison_of(experiments: Iterable[Experiment], on: str = MAIN) -> Comparison:
    """Return the options of the one comparison on a collection."""
    found = (one.options for one in experiments if one.on == on)
    return next(options for options in found if isinstance(options, Comparison))


def chosen_experiments(found: Sequence[Experiment], only: Iterable[str]) -> tuple[Experiment, ...]:
    """Return the experiments of these names, or all where none is named."""
    wanted = set(only)
    unknown = wanted.difference(one.name for one in found)
    if unknown:
        names = ", ".join(one.name for one in found)
        raise SettingsError(f"there is no experiment {min(unknown)!r}; choose from: {names}")
    return tuple(one for one in found if not wanted or one.name in wanted)


def read_experiments(file: Traversable | Path, *, quick: bool) -> Iterator[Experiment]:
    """Yield the experiment of a file, once more if it is to run on photographs too."""
    yield read_experiment(file, quick=quick)
    if "photographs" in read_toml(file):
        yield read_experiment(file, quick=quick, on=PHOTOGRAPHS)


def read_experiment(file: Traversable | Path, *, quick: bool, on: str = MAIN) -> Experiment:
    """Read one experiment file; whatever is wrong with it is said in one line."""
    document = read_toml(file)
    known = {*_ABOUT, "options", "quick", "photographs", "published"}
    _refuse_unknown(document, known, file.name)
    for key in _ABOUT:
        if not isinstance(document.get(key), int if key == "order" else str):
            raise SettingsError(f"{file.name}: give {key}, as in the shipped experiments")
    kind = document["kind"]
    if kind not in KINDS:
        raise SettingsError(f"{file.name}: kind is {kind!r}; choose from: {', '.join(KINDS)}")
    changes = [PHOTOGRAPHS] * (on == PHOTOGRAPHS) + ["quick"] * quick
    values = dict(document.get("options", {}))
    for table in changes:
        values |= document.get(table, {})
    options = _made(KINDS[kind], values, file.name)
    _check(options, file.name)
    name, about = file.name.removesuffix(".toml"), {key: document[key] for key in _ABOUT}
    if on == PHOTOGRAPHS:
        name, about["title"] = f"{name}-{on}", f"{about['title']}, {on}"
    return Experiment(
        name=name, options=options, published=document.get("published", {}), on=on, **about
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
    for name in ("trials", "top", "replicates", "marked", "seeds", "repeats", "count"):
        if getattr(options, name, 1) < 1:
            raise SettingsError(f"{where}: {name} must be at least 1")
    if not 0 < getattr(options, "hide", 0.5) < 1:
        raise SettingsError(f"{where}: hide must be a share between 0 and 1")
    if isinstance(options, Sensitivity):
        for sweep in options.sweeps:
            for value in sweep.values:
                make_method(options.method, {**options.settings, sweep.setting: value})
    if isinstance(options, Convergence):
        World(**options.world)
        for variant in options.variants:
            make_method(options.method, {**variant.settings, "max_iterations": variant.iterations})
    if isinstance(options, Retrieval) and min(options.lengths) < 1:
        raise SettingsError(f"{where}: lengths must be at least 1")


def _refuse_unknown(values: Any, known: Iterable[str], where: str) -> None:
    if not isinstance(values, Mapping | types.MappingProxyType):
        raise SettingsError(f"{where}: {values!r} is no table")
    unknown = sorted(set(values).difference(known))
    if unknown:
        raise SettingsError(f"{where}: unknown {unknown[0]!r}; it may have: {', '.join(known)}")
