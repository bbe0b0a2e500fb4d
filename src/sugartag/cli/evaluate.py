"""``sugartag evaluate``: how well methods find the truth, or tags hidden from them."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from sugartag.cli.choosing import EVERY_METHOD, chosen_names, settings_by_method
from sugartag.cli.engines import EngineChoice, engine_options
from sugartag.cli.scores import folder_of_scores, table_file, write_positives
from sugartag.cli.tuned_file import read_choice
from sugartag.collection.store import open_collection
from sugartag.engine.base import Engine
from sugartag.errors import CollectionError, SugartagError
from sugartag.evaluation.cost import machine
from sugartag.evaluation.protocol import Task, evaluate, hidden_task, method_rng, truth_task
from sugartag.evaluation.results import (
    Measures,
    MethodResult,
    results_document,
    results_table,
)
from sugartag.methods.base import Method
from sugartag.methods.registry import make_method
from sugartag.progress import ProgressDisplay
from sugartag.storage.aside import file_aside


@dataclass(frozen=True)
class _Asked:
    """The command line."""

    collection: Path
    methods: str
    settings: tuple[str, ...]
    tuned: Path | None
    seed: int
    hide: float | None
    out: Path | None
    save_scores: Path | None
    overwrite: bool
    author_aware: bool
    bootstrap: int
    choice: EngineChoice
    block: int | None


@click.command(name="evaluate")
@click.argument("collection", type=click.Path(path_type=Path))
@click.option("--methods", required=True, metavar="A,B|all", help="Methods to compare.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="METHOD.KEY=VALUE",
    help="Change a setting; KEY=VALUE is enough with one method. Repeatable.",
)
@click.option(
    "--tuned",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take the settings that sugartag tune chose; --set wins over them.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The same seed gives the same results.",
)
@click.option(
    "--hide",
    type=float,
    metavar="SHARE",
    help="Hide that share of the given tags and score their recovery; needs no truth.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write the results as JSON.")
@click.option(
    "--save-scores",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the scores of every method, and what was to be found, to recompute the metrics.",
)
@click.option("--overwrite", is_flag=True, help="Replace what --out and --save-scores name.")
@click.option(
    "--author-aware",
    is_flag=True,
    help="Measure also without evidence from other images of the same owner.",
)
@click.option(
    "--bootstrap",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Give 95% intervals from N resamplings of the images.",
)
@engine_options
@click.option("--block", type=click.IntRange(min=1), metavar="ROWS", help="Images scored at once.")
def command(**options: Any) -> None:
    """Compare methods on a collection, by its truth or by tags hidden from them.

    Example:  sugartag evaluate photos --methods original,tag-vote --hide 0.3
    """
    asked = _Asked(**options)
    methods = _methods(asked)
    task = _task(asked)
    scores = folder_of_scores(asked.save_scores, task, overwrite=asked.overwrite)
    with scores as folder, _file_of_results(asked) as file:
        results = _results(methods, task, asked, folder)
        if asked.save_scores is not None and folder is not None:
            write_positives(folder, task)
        if file is not None:
            _write_results(file, results, task, asked)
        click.echo(results_table(results))
    for target in filter(None, (asked.out, asked.save_scores)):
        click.echo(f"written: {target}", err=True)


def _methods(asked: _Asked) -> list[Method]:
    names = chosen_names(asked.methods)
    tuned = _tuned_settings(names, asked)
    typed = settings_by_method(asked.settings, names)
    return [make_method(name, {**tuned.get(name, {}), **typed[name]}) for name in names]


def _tuned_settings(names: Sequence[str], asked: _Asked) -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of --tuned, after saying what they are not good for."""
    if asked.tuned is None:
        return {}
    choice = read_choice(asked.tuned, names)
    missing = [name for name in names if name not in choice.settings]
    if missing:
        click.echo(f"not in {asked.tuned}, so with defaults: {', '.join(missing)}", err=True)
    if asked.hide is not None and not choice.has_not_seen(asked.hide, asked.seed):
        click.echo(
            f"{asked.tuned} was not tuned with --unseen {asked.hide} --seed {asked.seed}: "
            "tags scored here may have been seen in tuning",
            err=True,
        )
    return choice.settings


def _task(asked: _Asked) -> Task:
    collection = open_collection(asked.collection)
    if asked.hide is not None:
        return hidden_task(collection, asked.hide, asked.seed)
    return truth_task(collection)


def _results(
    methods: Sequence[Method], task: Task, asked: _Asked, folder: Path | None
) -> list[MethodResult]:
    """Return what each method gives; of ``all``, those that can work with the collection."""
    results: list[MethodResult] = []
    with ProgressDisplay() as display, asked.choice.opened(display) as engine:
        for number, method in enumerate(methods, start=1):
            started = time.monotonic()
            try:
                results.append(_result(method, task, asked, folder, engine, display))
                outcome = f"{time.monotonic() - started:.1f} s"
            except SugartagError as error:
                if asked.methods != EVERY_METHOD or not isinstance(error, CollectionError):
                    raise SugartagError(f"{method.name}: {error}") from error
                outcome = f"left out: {error}"
                if folder is not None:
                    (folder / f"{method.name}.npy").unlink(missing_ok=True)
            click.echo(f"{method.name}: {number} of {len(methods)}, {outcome}", err=True)
    return results


def _result(
    method: Method,
    task: Task,
    asked: _Asked,
    folder: Path | None,
    engine: Engine,
    display: ProgressDisplay,
) -> MethodResult:
    measures = Measures(
        author_aware=asked.author_aware,
        bootstrap=asked.bootstrap,
        bootstrap_seed=asked.seed,
        rows_per_block=asked.block,
    )
    name = method.name if asked.save_scores is not None else "scores"
    table = None if folder is None else table_file(folder / f"{name}.npy", task.shape)
    return evaluate(
        method,
        task,
        engine=engine,
        rng=method_rng(method.name, asked.seed),
        measures=measures,
        table=table,
        progress=display,
    )


def _file_of_results(asked: _Asked) -> AbstractContextManager[Path | None]:
    if asked.out is None:
        return nullcontext()
    return file_aside(asked.out, overwrite=asked.overwrite)


def _write_results(file: Path, results: Sequence[MethodResult], task: Task, asked: _Asked) -> None:
    document = results_document(
        results,
        collection=task.counts(),
        task=task.described(),
        seed=asked.seed,
        machine=machine(),
    )
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    file.write_text(text + "\n", encoding="utf-8")
