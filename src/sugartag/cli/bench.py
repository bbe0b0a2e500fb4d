"""``sugartag bench``: the performance claims, measured on this machine."""

import dataclasses
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sugartag.cli.main import EXIT_STOPPED
from sugartag.cli.options import FOLDER
from sugartag.errors import EngineError

if TYPE_CHECKING:
    from sugartag.bench.running import Entry

NAMES = ("paper-size", "scaling", "solvers", "scoring")


def _numbers(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """Read one whole number, or several with commas between them."""
    if value is None:
        return None
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no whole number, nor several with commas") from None


def _words(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Read names with commas between them."""
    return None if value is None else tuple(part.strip() for part in value.split(","))


@click.command("bench")
@click.argument("name", type=click.Choice(NAMES))
@click.option("--out", type=FOLDER, help="The result file; bench-NAME.json if not given.")
@click.option("--work", type=FOLDER, help="Where planted collections are written, and kept.")
@click.option("--again", is_flag=True, help="Measure again what is there already.")
@click.option(
    "--images", metavar="N,..", callback=_numbers, help="Images; for scaling several sizes."
)
@click.option("--tags", type=int, help="Tags of the vocabulary.")
@click.option("--owners", type=int, help="Owners (paper-size).")
@click.option("--features", type=int, help="Numbers that describe an image.")
@click.option("--methods", metavar="NAME,..", callback=_words, help="Some of the methods.")
@click.option("--units", type=int, help="Anchor units at each centre (paper-size).")
@click.option("--cap", type=float, help="Seconds that slow methods may take (paper-size).")
@click.option("--query-share", type=float, help="Share of images that votes score (paper-size).")
@click.option(
    "--fractions",
    metavar="N,..",
    callback=_numbers,
    help="Parts to extrapolate from.",
)
@click.option("--anchor-images", type=int, help="Anchor images (solvers).")
@click.option("--anchor-users", type=int, help="Anchor users, about (solvers).")
@click.option("--updates", type=int, help="Multiplicative updates (solvers).")
@click.option("--repeats", type=int, help="Times that all images are scored (scoring).")
@click.option("--workers", type=int, help="Blocks worked on at the same time; one for each core.")
@click.option("--seed", type=click.IntRange(0), help="Same seed, same collections; 0.")
def command(name: str, out: Path | None, work: Path | None, again: bool, **given: Any) -> None:
    """Measure a performance claim: paper-size, scaling, solvers or scoring.

    Every method runs in a process of its own, on a planted collection. The result is a JSON file
    that names the machine; it is written after every measurement, and the same command continues
    where it was stopped.

    \b
    Example:
      sugartag bench scoring --out scoring.json
      sugartag bench scaling --images 2000,8000 --out small.json
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.bench.benches import BENCHES
    from sugartag.bench.record import Record
    from sugartag.bench.running import Place, failures, run_bench
    from sugartag.evaluation.cost import machine

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

    def __call__(self, key: str, entry: "Entry | None", was_there: bool) -> None:
        """Take note of a step."""
        passed = time.monotonic() - self._began
        click.echo(f"{passed:7.0f} s  {key}: {_outcome(entry, was_there)}", err=True)


def _outcome(entry: "Entry | None", was_there: bool) -> str:
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
