"""``sugartag reproduce``: the paper's tables and figures, on named data."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sugartag.cli.main import EXIT_STOPPED
from sugartag.cli.options import FOLDER, seed_option

if TYPE_CHECKING:
    from sugartag.progress import ProgressDisplay
    from sugartag.reproduce.data import Data
    from sugartag.reproduce.experiments import Experiment

SECONDS_BETWEEN_LINES = 10.0


@click.command("reproduce")
@click.option(
    "--out", default=Path("reproduce-out"), show_default=True, type=FOLDER, help="The folder."
)
@click.option(
    "--data",
    type=FOLDER,
    envvar="SUGARTAG_DATA",
    show_envvar=True,
    help="The folder that holds documerica, for real photographs beside the synthetic collection.",
)
@click.option("--drawings", is_flag=True, help="The shipped drawings instead, by hidden tags.")
@click.option("--collection", type=FOLDER, help="A collection of yours instead.")
@click.option("--quick", is_flag=True, help="Smaller collections, fewer trials, coarser grids.")
@click.option("--only", metavar="NAME,..", default="", help="Some experiments; see --list.")
@seed_option
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="Jobs at the same time, one thread each; one for each core if not given.",
)
@click.option("--experiments", type=FOLDER, help="Another folder of experiment files.")
@click.option("--list", "lists", is_flag=True, help="List the experiments and do nothing.")
def command(
    out: Path,
    data: Path | None,
    drawings: bool,
    collection: Path | None,
    quick: bool,
    only: str,
    seed: int,
    processes: int | None,
    experiments: Path | None,
    lists: bool,
) -> None:
    """Run the experiments of the paper and write a report, CSV and JSON.

    Results are kept as they come: the same command continues where it was stopped. Methods are
    tuned on hidden tags, never on the truth; what tuning on the truth would have given stands
    beside it.

    \b
    Example:
      sugartag reproduce --quick --out reproduce-out
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.reproduce.experiments import (
        chosen_experiments,
        load_experiments,
        shipped_experiments,
    )

    if drawings and collection is not None:
        raise click.UsageError(
            "--drawings and --collection exclude each other", click.get_current_context()
        )
    known = load_experiments(experiments or shipped_experiments(), quick=quick)
    if lists:
        _list(known)
        return
    names = [name.strip() for name in only.split(",") if name.strip()]
    chosen = chosen_experiments(known, names)
    collections = _collections(chosen, data, drawings, collection, out, seed, quick)
    _run(known, chosen, collections, out, processes, quick)


def _list(known: "tuple[Experiment, ...]") -> None:
    width = max(len(one.name) for one in known)
    for one in known:
        click.echo(f"{one.name.ljust(width)}  {one.paper}: {one.summary}")


def _collections(
    chosen: "tuple[Experiment, ...]",
    data: Path | None,
    drawings: bool,
    collection: Path | None,
    out: Path,
    seed: int,
    quick: bool,
) -> "dict[str, Data]":
    """Return the collections to run on, by what they are to the experiments."""
    from sugartag.reproduce.data import drawings_data, own_data, photographs_data, synthetic_data
    from sugartag.reproduce.experiments import MAIN, PHOTOGRAPHS

    if collection is not None:
        return {MAIN: own_data(collection, seed=seed)}
    if drawings:
        return {MAIN: drawings_data(out, seed=seed)}
    found = {}
    if data is not None and any(one.on == PHOTOGRAPHS for one in chosen):
        found[PHOTOGRAPHS] = photographs_data(data, out, seed=seed, quick=quick)
    return {MAIN: synthetic_data(out, seed=seed, quick=quick), **found}


def _run(
    known: "tuple[Experiment, ...]",
    chosen: "tuple[Experiment, ...]",
    collections: "dict[str, Data]",
    out: Path,
    processes: int | None,
    quick: bool,
) -> None:
    from sugartag.methods.registry import METHODS, missing_package
    from sugartag.progress import ProgressDisplay
    from sugartag.reproduce.run import Run, reproduce

    for name in METHODS:
        if extra := missing_package(name):
            click.echo(f"{name}: left out; pip install 'sugartag[{extra}]'", err=True)
    for data in collections.values():
        counts = ", ".join(f"{count:,} {what}" for what, count in data.counts.items() if count)
        click.echo(f"{data.title}: {counts}", err=True)
    run = Run(
        collections=collections,
        experiments=tuple(one for one in chosen if one.on in collections),
        known=known,
        out=out,
        processes=processes or _cores(),
        quick=quick,
        left_out=_left_out(chosen, collections),
    )
    if run.left_out:
        click.echo(run.left_out, err=True)
    try:
        with ProgressDisplay() as display:
            page = reproduce(run, _Progress(display))
    except KeyboardInterrupt:
        click.echo(
            f"sugartag: stopped; what is done is kept in {out}, the same command continues",
            err=True,
        )
        sys.exit(EXIT_STOPPED)
    click.echo(f"results: {(out / 'results.json').resolve()}")
    click.echo(f"tables: {(out / 'tables').resolve()}")
    click.echo(f"report: {page.resolve()}")


def _left_out(chosen: "tuple[Experiment, ...]", collections: "dict[str, Data]") -> str:
    """Say which experiments are not run for lack of data."""
    names = [one.name for one in chosen if one.on not in collections]
    if not names:
        return ""
    return (
        f"left out: {', '.join(names)}; they need the photographs of DOCUMERICA: name the folder "
        "that holds documerica with --data or SUGARTAG_DATA"
    )


class _Progress:
    """Shows a bar on a terminal, and in a log a line now and then."""

    def __init__(self, display: "ProgressDisplay") -> None:
        self._display = display
        self._began = self._last = time.monotonic()

    def __call__(self, what: str, done: int, total: int, was_there: bool) -> None:
        """Take note that one more job is done."""
        if sys.stderr.isatty():
            self._display("experiments", done, total)
            return
        now = time.monotonic()
        if done < total and now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        there = " (was there)" if was_there else ""
        click.echo(f"{done} of {total}: {what}{there}, {now - self._began:.0f} s", err=True)


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
