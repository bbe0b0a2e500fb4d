"""The result file of a benchmark, written anew after every measurement."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sugartag.errors import SettingsError, StorageError
from sugartag.reproduce.cache import write_json

FORMAT = "sugartag-bench/1"
MEASURED, CAPPED, FAILED = "measured", "capped", "failed"
DONE = (MEASURED, CAPPED)
"""What an entry may be and need not be measured again."""
Derive = Callable[[Mapping[str, dict[str, Any]]], dict[str, Any]]


@dataclass
class Record:
    """What has been measured, in memory and in a file."""

    path: Path
    bench: str
    settings: Mapping[str, Any]
    machine: Mapping[str, Any]
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    _asked: list[str] = field(default_factory=list)
    """Keys of this run, in order: entries of other settings are not carried on."""

    @classmethod
    def opened(
        cls,
        path: Path,
        bench: str,
        settings: Mapping[str, Any],
        machine: Mapping[str, Any],
        *,
        again: bool,
    ) -> "Record":
        """Take up the file of an earlier run, if there is one and it may be continued."""
        plain: dict[str, Any] = json.loads(json.dumps(settings))
        entries = {} if again or not path.exists() else _entries_in(path, bench, machine)
        return cls(path, bench, plain, machine, entries)

    def found(self, key: str, asks: Mapping[str, Any], cap: float | None) -> dict[str, Any] | None:
        """Return a finished entry that was asked the same; None if it must be measured."""
        self._asked.append(key)
        entry = self.entries.get(key)
        if entry is None or entry["asks"] != json.loads(json.dumps(asks)):
            return None
        # What met a cap says nothing about another cap; what was done before it does.
        over = entry["status"] == MEASURED or (entry["status"] == CAPPED and entry["cap"] == cap)
        return entry if over else None

    def keep(self, key: str, entry: dict[str, Any], derive: Derive) -> None:
        """Add an entry and write the file."""
        plain: dict[str, Any] = json.loads(json.dumps(entry))
        self.entries[key] = plain
        self._write(derive)

    def finish(self, derive: Derive) -> None:
        """Leave out what this run did not ask for, and write the file."""
        self.entries = {key: self.entries[key] for key in self._asked}
        self._write(derive)

    def _write(self, derive: Derive) -> None:
        ours = {key: self.entries[key] for key in self._asked if key in self.entries}
        document = {
            "format": FORMAT,
            "bench": self.bench,
            "machine": self.machine,
            "date": time.strftime("%Y-%m-%d"),
            "settings": self.settings,
            "derived": derive(ours),
            # Those of a run that was killed later than this one has come stand last.
            "entries": ours | self.entries,
        }
        write_json(self.path, document)


def read_document(path: Path) -> dict[str, Any]:
    """Read a result file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} is no result file of sugartag bench: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StorageError(f"{path} is no result file of sugartag bench; choose another --out")
    return document


def _entries_in(path: Path, bench: str, machine: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    document = read_document(path)
    if document["bench"] != bench:
        raise SettingsError(
            f"{path} has results of bench {document['bench']}, not of {bench}; choose another --out"
        )
    differs = [key for key, value in machine.items() if document["machine"].get(key) != value]
    if differs:
        raise SettingsError(
            f"{path} was measured elsewhere: {', '.join(differs)} differ; measure everything "
            "with --again, or choose another --out"
        )
    entries: dict[str, dict[str, Any]] = document["entries"]
    return entries
