"""``sugartag tune``: choose the settings of methods, with as many trials for each."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from sugartag.cli.choosing import chosen_names
from sugartag.cli.main import EXIT_STOPPED
from sugartag.cli.options import FOLDER, overwrite_option, seed_option, threads_option
from sugartag.cli.scores import BYTES_IN_MEMORY, bytes_of, table_file
from sugartag.cli.tuned_file import Circumstances, Tuned, read_tuned, write_tuned
from sugartag.collection.digest import collection_digest
from sugartag.collection.model import Collection
from sugartag.collection.store import open_collection
from sugartag.collection.subset import hide_tags, without_truth
from sugartag.engine.local import LocalEngine
from sugartag.errors import MissingExtraError, SettingsError, StorageError, SugartagError
from sugartag.evaluation.cost import machine
from sugartag.evaluation.protocol import Task
from sugartag.evaluation.results import Table
from sugartag.evaluation.tuning import Trial, best, tune, tuning_task
from sugartag.methods.registry import METHODS, missing_package
from sugartag.methods.search_spaces import search_space
from sugartag.progress import ProgressDisplay

COLUMNS = ("method", "default", "tuned", "MAP", "MiAP", "trials", "seconds", "settings")


@dataclass(frozen=True)
class _Asked:
    """The command line."""

    collection: Path
    methods: str
    budget: int
    out: Path
    seed: int
    hide: float
    unseen: float | None
    overwrite: bool
    blas_threads: int | None


@click.command(name="tune")
@click.argument("collection", type=FOLDER)
@click.option("--methods", required=True, metavar="A,B|all", help="Methods to tune.")
@click.option(
    "--budget",
    required=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="Trials of each method, the first with its defaults.",
)
@click.option("--out", required=True, type=FOLDER, help="The file to write, or to continue.")
@seed_option
@click.option(
    "--hide",
    type=float,
    default=0.3,
    show_default=True,
    metavar="SHARE",
    help="Hide that share of the given tags and judge settings by their recovery.",
)
@click.option(
    "--unseen",
    type=float,
    metavar="SHARE",
    help="Put aside first what evaluate --hide SHARE will score with the same seed.",
)
@overwrite_option
@threads_option
def command(**options: Any) -> None:
    """Choose the settings of methods by how well they find hidden tags again.

    Every method has the same number of trials. The file is written after each, and the same
    command continues it.

    Example:  sugartag tune photos --methods all --budget 32 --out tuned.json
    """
    asked = _Asked(**options)
    names = _names(asked)
    collection = without_truth(open_collection(asked.collection))
    task = _task(collection, asked)
    tuned = _begun(names, collection, asked)
    try:
        with _table(task.shape) as table:
            _make_trials(names, task, tuned, table, asked)
    except KeyboardInterrupt:
        click.echo(
            f"sugartag: stopped; the trials made so far are in {asked.out}: "
            "repeat the command to go on",
            err=True,
        )
        sys.exit(EXIT_STOPPED)
    click.echo(_table_of({name: tuned.trials[name] for name in names}))
    click.echo(f"written: {asked.out}", err=True)
    _say_who_had_fewer(tuned)
    _refuse_without_score(names, tuned)


def _names(asked: _Asked) -> list[str]:
    names = chosen_names(asked.methods)
    for name in names:
        search_space(name)
        if extra := missing_package(name):
            raise MissingExtraError(extra, extra=extra, needed_for=name)
    return names


def _task(collection: Collection, asked: _Asked) -> Task:
    if asked.unseen is not None:
        collection = hide_tags(collection, asked.unseen, asked.seed).collection
    return tuning_task(collection, share=asked.hide, seed=asked.seed)


def _begun(names: Sequence[str], collection: Collection, asked: _Asked) -> Tuned:
    """Return the trials that are there already, if they may be continued."""
    circumstances = Circumstances(
        collection_digest(collection), asked.seed, asked.hide, asked.unseen
    )
    if asked.overwrite or not asked.out.exists():
        return Tuned(circumstances, asked.budget, {})
    there = read_tuned(asked.out)
    if there.circumstances != circumstances:
        raise StorageError(
            f"{asked.out} was made {_difference(there.circumstances, circumstances)}; "
            "choose another --out, or pass --overwrite to start again"
        )
    if asked.budget < there.budget:
        raise SettingsError(
            f"{asked.out} has a budget of {there.budget} trials, and --budget is {asked.budget}; "
            f"ask for {there.budget} or more, or pass --overwrite to start again"
        )
    for name in names:
        for trial in there.trials.get(name, ()):
            search_space(name).point_of(trial.settings)
    count = sum(map(len, there.trials.values()))
    if count:
        click.echo(f"continuing: {count} trials are there", err=True)
    return Tuned(circumstances, asked.budget, there.trials)


def _difference(there: Circumstances, asked: Circumstances) -> str:
    if there.digest != asked.digest:
        return "for another collection"
    pairs = {key: (getattr(there, key), getattr(asked, key)) for key in ("seed", "hide", "unseen")}
    said = [f"--{key} {old}, not {new}" for key, (old, new) in pairs.items() if old != new]
    return f"with {' and '.join(said)}"


@contextmanager
def _table(shape: tuple[int, int]) -> Iterator[Table | None]:
    """Yield where scores lie: in a temporary file, or None where they fit into memory."""
    if bytes_of(shape) <= BYTES_IN_MEMORY:
        yield None
        return
    with TemporaryDirectory(prefix="sugartag-scores-") as folder:
        yield table_file(Path(folder) / "scores.npy", shape)


def _make_trials(
    names: Sequence[str], task: Task, tuned: Tuned, table: Table | None, asked: _Asked
) -> None:
    """Make the trials that are missing, and write the file after each."""
    counts, here = task.counts(), machine()
    # Before the first trial, which may take long: can the file be written at all?
    write_tuned(tuned, asked.out, collection=counts, machine=here)
    for name in names:
        done = tuned.trials.setdefault(name, [])
        with ProgressDisplay() as display:
            trials = tune(
                name,
                task,
                budget=asked.budget,
                engine=LocalEngine(progress=display, blas_threads=asked.blas_threads),
                seed=asked.seed,
                done=tuple(done),
                table=table,
                progress=display,
            )
            for trial in trials:
                done.append(trial)
                write_tuned(tuned, asked.out, collection=counts, machine=here)
                click.echo(_line(name, done, asked.budget), err=True)


def _line(name: str, trials: Sequence[Trial], budget: int) -> str:
    trial = trials[-1]
    number = f"{name}: trial {len(trials)} of {_wanted(name, budget)}"
    if trial.failed:
        return f"{number} failed: {trial.failed}"
    top = best(trials).score
    return f"{number}, score {trial.score:.4f}, best {top:.4f}, {trial.seconds:.1f} s"


def _wanted(name: str, budget: int) -> int:
    return min(budget, search_space(name).size)


def _table_of(trials: Mapping[str, Sequence[Trial]]) -> str:
    """Return what came out, method by method, in columns."""
    lines = [COLUMNS, *(_cells(name, made) for name, made in trials.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ("  ".join(map(str.ljust, cells, widths)) for cells in lines)
    return "\n".join(text.rstrip() for text in texts)


def _cells(name: str, trials: Sequence[Trial]) -> tuple[str, ...]:
    chosen = best(trials)
    scores = (trials[0].score, chosen.score, chosen.map, chosen.miap)
    settings = " ".join(f"{key}={value}" for key, value in chosen.settings.items())
    return (
        name,
        *("-" if score != score else f"{score:.4f}" for score in scores),
        str(len(trials)),
        f"{sum(trial.seconds for trial in trials):.1f}",
        settings or "defaults",
    )


def _say_who_had_fewer(tuned: Tuned) -> None:
    """Name the methods of the file that this command did not name and that had fewer trials."""
    fewer = [
        name
        for name, trials in tuned.trials.items()
        if name in METHODS and len(trials) < _wanted(name, tuned.budget)
    ]
    if fewer:
        click.echo(f"tuned with fewer trials: {', '.join(fewer)}; name them too", err=True)


def _refuse_without_score(names: Sequence[str], tuned: Tuned) -> None:
    for name in names:
        if reason := best(tuned.trials[name]).failed:
            raise SugartagError(f"{name}: all trials failed, the first one so: {reason}")
