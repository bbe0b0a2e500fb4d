"""What ``sugartag bench`` does: a benchmark measured, its record written, each step reported."""

import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

import click

from performance.benches import BENCHES
from performance.record import Record
from performance.running import Entry, Place, failures, run_bench
from sugartag.cli.main import EXIT_STOPPED
from sugartag.errors import EngineError
from sugartag.evaluation.cost import machine


def measure(
    name: str, out: Path | None, work: Path | None, *, again: bool, given: dict[str, Any]
) -> None:
    """Run the benchmark of this name with the options that were given."""
    bench = BENCHES[name](**_settings(BENCHES[name], given))
    target = Path(f"bench-{name}.json") if out is None else out
    beside = target.parent / f".{target.stem}.work"
    record = Record.opened(target, name, dataclasses.asdict(bench), machine(), again=again)
    try:
        run_bench(bench, record, Place(work or beside, keep=work is not None), _Lines())
    except KeyboardInterrupt:
        click.echo(
            f"sugartag: stopped; what is done is kept in {target}, the same command continues",
            err=True,
        )
        sys.exit(EXIT_STOPPED)
    click.echo(f"results: {target.resolve()}")
    if failed := failures(record):
        key, reason = next(iter(failed.items()))
        raise EngineError(f"{len(failed)} of {len(record.entries)} failed; {key}: {reason}")


def _settings(bench: type[Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, if the benchmark has them, as its settings."""
    fields = {field.name: field for field in dataclasses.fields(bench)}
    found = {key: value for key, value in given.items() if value is not None}
    for key, value in found.items():
        option = f"--{key.replace('_', '-')}"
        if key not in fields:
            own = ", ".join(f"--{one.replace('_', '-')}" for one in fields)
            raise click.UsageError(f"bench {bench.name} has no option {option}; it has {own}")
        if isinstance(value, tuple) and not isinstance(fields[key].default, tuple):
            if len(value) != 1:
                raise click.UsageError(f"bench {bench.name} takes one number for {option}")
            found[key] = value[0]
    return found


class _Lines:
    """Says on stderr what is being measured, and what it took."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, key: str, entry: Entry | None, was_there: bool) -> None:
        """Take note of a step."""
        passed = time.monotonic() - self._began
        click.echo(f"{passed:7.0f} s  {key}: {_outcome(entry, was_there)}", err=True)


def _outcome(entry: Entry | None, was_there: bool) -> str:
    if entry is None:
        return "begins"
    if was_there:
        return f"{entry['status']} (was there)"
    if entry["status"] == "failed":
        return f"failed: {entry['reason']}"
    if entry["status"] == "capped":
        return f"ended after {entry['seconds']:.0f} s by lack of {entry['ended_by']}"
    seconds, memory = entry.get("seconds"), entry.get("peak_anonymous_mb")
    line = f"{entry['status']}"
    if isinstance(seconds, float) and memory is not None:
        line += f", {seconds:.1f} s, {memory:,.0f} MB"
    return line
