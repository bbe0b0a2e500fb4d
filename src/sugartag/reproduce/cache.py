"""Results that need not be computed twice: a file for each job, named by all it depends on."""

import hashlib
import importlib.metadata
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sugartag._typing as place_of_package
from sugartag.storage.aside import file_aside

FORMAT = "sugartag-reproduce-job/1"
CODE = (
    "linalg",
    "engine",
    "collection",
    "features",
    "anchors",
    "graph",
    "completion",
    "assignment",
    "methods",
    "evaluation",
    "reproduce/jobs.py",
    "reproduce/measure.py",
    "reproduce/stages.py",
)
"""What results are computed by; how they are shown is not among it."""
DIGITS = 7


@dataclass(frozen=True)
class Job:
    """One piece of work, whose result depends on nothing but what it asks and the data."""

    kind: str
    label: str
    """What it is called in progress."""
    asks: Mapping[str, Any]
    """Everything that the result depends on, as JSON keeps it."""


@dataclass(frozen=True)
class Cache:
    """A folder of results of one collection and one version of the package."""

    folder: Path
    data: str
    """The digest of the collection."""
    code: str
    """The version of the package, and a digest of its code."""

    def file_of(self, job: Job) -> Path:
        """Return where the result of a job is kept."""
        # Not by its label: what another experiment calls otherwise may be the same job.
        name = f"{job.kind}-{job.asks.get('method', 'several')}-{self._key(job)[:16]}"
        return self.folder / f"{name}.json"

    def found(self, job: Job) -> dict[str, Any] | None:
        """Return the result of a job; None where it is not there, or damaged."""
        try:
            document = json.loads(self.file_of(job).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(document, dict) or document.get("key") != self._key(job):
            return None
        found = document.get("found")
        if not isinstance(found, dict) or document.get("digest") != _digest(found):
            return None
        return found

    def keep(self, job: Job, found: Mapping[str, Any]) -> dict[str, Any]:
        """Write the result of a job in one step, and return it as it will be read."""
        plain: dict[str, Any] = plain_values(found)
        document = {
            "format": FORMAT,
            "job": {"kind": job.kind, "label": job.label, "asks": plain_values(job.asks)},
            "data": self.data,
            "code": self.code,
            "key": self._key(job),
            "digest": _digest(plain),
            "found": plain,
        }
        write_json(self.file_of(job), document)
        return plain

    def _key(self, job: Job) -> str:
        return _digest([FORMAT, job.kind, plain_values(job.asks), self.data, self.code])


def code_version() -> str:
    """Return the version of the package, with a digest of the code that results come from.

    A version alone would let results of yesterday's code stand for today's.
    """
    root = Path(place_of_package.__file__).parent
    digest = hashlib.sha256()
    for name in CODE:
        place = root / name
        for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode())
            digest.update(file.read_bytes())
    try:
        version = importlib.metadata.version("sugartag")
    except importlib.metadata.PackageNotFoundError:
        version = "unknown"
    return f"{version}+{digest.hexdigest()[:12]}"


def plain_values(value: Any) -> Any:
    """Return what JSON keeps of a value: None for NaN and infinity, seven digits."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Replace the file in one step."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    with file_aside(path, overwrite=True) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
