"""The file of a tuning: every trial, and the settings chosen. JSON is all it is read as."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from sugartag.collection.readers.table import check_file
from sugartag.errors import SettingsError, StorageError
from sugartag.evaluation.tuning import Trial, best
from sugartag.methods.registry import make_method
from sugartag.storage.aside import file_aside

FORMAT = "sugartag-tuned/1"
MAX_BYTES = 16 << 20
"""A file of this size would hold tens of thousands of trials."""
LARGEST_NUMBER = 1 << 53
"""Whole numbers up to this one are the same in every program that reads JSON."""
_MEASURED = ("score", "map", "miap", "f_top5")


@dataclass(frozen=True)
class Circumstances:
    """What all trials of a file depend on, beside the method."""

    digest: str
    """Of the collection."""
    seed: int
    hide: float
    unseen: float | None


@dataclass(frozen=True)
class Tuned:
    """The trials of a file."""

    circumstances: Circumstances
    budget: int
    trials: dict[str, list[Trial]]
    """By method."""


@dataclass(frozen=True)
class Choice:
    """What an evaluation takes from a file."""

    settings: Mapping[str, Mapping[str, Any]]
    """By method, as far as they differ from the defaults."""
    seed: Any
    unseen: Any

    def has_not_seen(self, share: float, seed: int) -> bool:
        """Tell whether the tags hidden by this share and seed had been put aside for tuning."""
        unseen = self.unseen if isinstance(self.unseen, float) else 0.0
        return self.seed == seed and unseen >= share


def write_tuned(
    tuned: Tuned, path: Path, *, collection: Mapping[str, int], machine: Mapping[str, Any]
) -> None:
    """Replace the file by one with these trials, in one step."""
    document = {
        "format": FORMAT,
        "collection": dict(collection),
        **asdict(tuned.circumstances),
        "budget": tuned.budget,
        "machine": dict(machine),
        "methods": {name: _entry(trials) for name, trials in tuned.trials.items() if trials},
    }
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    with file_aside(path, overwrite=True) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def read_tuned(path: Path) -> Tuned:
    """Read the trials of a file, to make more."""
    document = _read_document(path)
    try:
        digest, seed, unseen = (document[key] for key in ("digest", "seed", "unseen"))
        plain = isinstance(digest, str) and _is_whole(seed) and _is_whole(document["budget"])
        if not plain or not (unseen is None or _is_number(unseen)):
            raise TypeError("its digest, seed, budget or unseen share makes no sense")
        return Tuned(
            Circumstances(digest, seed, _number(document["hide"]), unseen),
            document["budget"],
            {str(name): _trials(entry) for name, entry in _methods_of(document).items()},
        )
    except (KeyError, TypeError, ValueError) as error:
        _refuse(path, error)


def read_choice(path: Path, names: Sequence[str]) -> Choice:
    """Read the settings chosen for these methods, and make sure that they have them."""
    document = _read_document(path)
    chosen = {}
    try:
        methods = _methods_of(document)
        for name in names:
            if name in methods:
                chosen[name] = _settings(methods[name]["settings"])
                make_method(name, chosen[name])
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        _refuse(path, error)
    return Choice(chosen, document.get("seed"), document.get("unseen"))


def _entry(trials: Sequence[Trial]) -> dict[str, Any]:
    chosen = best(trials)
    return {
        "settings": dict(chosen.settings),
        "score": _or_null(chosen.score),
        "default_score": _or_null(trials[0].score),
        "map": _or_null(chosen.map),
        "miap": _or_null(chosen.miap),
        "seconds": sum(trial.seconds for trial in trials),
        "trials": [_trial_as_json(trial) for trial in trials],
    }


def _trial_as_json(trial: Trial) -> dict[str, Any]:
    return {
        "settings": dict(trial.settings),
        **{name: _or_null(getattr(trial, name)) for name in _MEASURED},
        "seconds": trial.seconds,
        "failed": trial.failed,
    }


def _or_null(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _read_document(path: Path) -> dict[str, Any]:
    try:
        check_file(path)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise StorageError(f"{path} is larger than {MAX_BYTES >> 20} MiB; tune again")
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        _refuse(path, error)
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        raise StorageError(f"{path} has format {found!r}; this version reads {FORMAT!r}")
    return dict(document)


def _methods_of(document: Mapping[str, Any]) -> dict[str, Any]:
    methods = document["methods"]
    if not isinstance(methods, dict) or not all(isinstance(e, dict) for e in methods.values()):
        raise TypeError("its methods are not objects")
    return methods


def _trials(entry: Mapping[str, Any]) -> list[Trial]:
    listed = entry["trials"]
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise TypeError("its trials are not a list of objects")
    return [_trial(item) for item in listed]


def _trial(item: Mapping[str, Any]) -> Trial:
    failed = item["failed"]
    if not (failed is None or (isinstance(failed, str) and failed)):
        raise TypeError(f"a trial failed for the reason {failed!r}")
    measured = {name: math.nan if failed else _number(item[name]) for name in _MEASURED}
    return Trial(
        settings=_settings(item["settings"]),
        seconds=_number(item["seconds"]),
        failed=failed,
        **measured,
    )


def _settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"settings are {value!r}, which is not an object")
    for key, one in value.items():
        if not (one is None or isinstance(one, bool | str) or _is_number(one)):
            raise TypeError(f"the setting {key} is {one!r}, which is not a plain value")
    return value


def _number(value: Any) -> float:
    if not _is_number(value):
        raise TypeError(f"{value!r} stands where a number should")
    return float(value)


def _is_number(value: Any) -> bool:
    finite = isinstance(value, float) and math.isfinite(value)
    return finite or (_is_whole(value) and abs(value) <= LARGEST_NUMBER)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _refuse(path: Path, error: Exception) -> NoReturn:
    why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    raise StorageError(f"{path} is damaged: {why}; tune again with --overwrite") from error
