"""``sugartag fit``: learn from a collection and save the model, or add to one."""

import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from sugartag.cli.engines import EngineChoice, engine_options
from sugartag.cli.memory import kept_within, max_memory_option, update_kept_within
from sugartag.cli.options import (
    FOLDER,
    overwrite_option,
    parsed_settings,
    seed_option,
    tell_of_missing_features,
)
from sugartag.cli.resuming import Checkpoints, kept_work, resume_options, sha256_in_short
from sugartag.errors import SettingsError
from sugartag.storage.arrays import MANIFEST

if TYPE_CHECKING:
    from sugartag.methods.base import Method
    from sugartag.pipeline.model import Model

NOT_WITH_UPDATE = {
    "name": "--method",
    "settings": "--set",
    "tuned": "--tuned",
    "seed": "--seed",
}
"""A model keeps its own."""


@click.command("fit")
@click.argument("collection", type=FOLDER)
@click.option("--out", required=True, type=FOLDER, help="The model folder to write.")
@click.option("--method", "name", default=None, help="Which method; see: sugartag methods")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a setting.")
@click.option("--tuned", type=FOLDER, help="Take the settings that sugartag tune chose.")
@seed_option
@click.option("--update", "model", type=FOLDER, help="Add to this model; do not fit again.")
@click.option("--corrections", type=FOLDER, help="Changes that somebody accepted or rejected.")
@max_memory_option
@engine_options
@resume_options
@overwrite_option
def command(
    collection: Path,
    out: Path,
    name: str | None,
    settings: tuple[str, ...],
    tuned: Path | None,
    seed: int,
    model: Path | None,
    corrections: Path | None,
    max_memory: int | None,
    choice: EngineChoice,
    checkpoints: Checkpoints,
    overwrite: bool,
) -> None:
    """Learn from COLLECTION and write the fitted model to a folder.

    sugar-plus, the default, calibrates its own scores, and a line says what the evidence is worth.
    Other methods are fitted once more, on a copy with some tags hidden and some wrong ones added,
    to learn which score means which probability.

    With --update the images of COLLECTION, with their owners and tags, are added to a model of
    sugar-plus, in a fraction of the time; with --corrections, so are decisions about the changes
    that it proposed for them.

    A run that was killed continues if the same command is repeated with --resume.

    \b
    Example:
      sugartag fit photos/ --out photos.model --method sugar-plus --set components=128
      sugartag fit new/ --update photos.model --out photos2.model
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.pipeline.model import check_target

    if corrections is not None and model is None:
        raise click.UsageError("--corrections needs --update", click.get_current_context())
    check_target(out, overwrite=overwrite)
    if model is not None:
        _check_nothing_is_set()
        report = _update(
            model,
            collection,
            corrections,
            out,
            max_memory,
            choice,
            checkpoints,
            overwrite=overwrite,
        )
    else:
        report = _fit(
            collection,
            out,
            _method(name, settings, tuned),
            seed,
            max_memory,
            choice,
            checkpoints,
            overwrite=overwrite,
        )
    following = ["sugartag", "suggest", str(out), str(collection), "--out", "changes.csv"]
    click.echo(f"{report}\nnext: {shlex.join(following)}")


def _method(name: str | None, settings: tuple[str, ...], tuned: Path | None) -> "Method":
    """Return the method with the settings that were tuned, and those that were typed over them."""
    from sugartag.methods.registry import make_method
    from sugartag.pipeline.fitting import DEFAULT_METHOD

    name = name or DEFAULT_METHOD
    chosen: Mapping[str, Any] = {}
    if tuned is not None:
        from sugartag.cli.tuned_file import read_choice

        by_method = read_choice(tuned, [name]).settings
        if name not in by_method:
            raise SettingsError(f"{tuned} has no settings of {name}; tune it, or leave --tuned out")
        chosen = by_method[name]
    return make_method(name, {**chosen, **parsed_settings(settings)})


def _fit(
    collection: Path,
    out: Path,
    method: "Method",
    seed: int,
    max_memory: int | None,
    choice: EngineChoice,
    checkpoints: Checkpoints,
    *,
    overwrite: bool,
) -> str:
    from sugartag.collection import open_collection
    from sugartag.pipeline.fitting import fit_model
    from sugartag.pipeline.model import save_model

    opened = open_collection(collection)
    opened.require_tags("a fit")
    tell_of_missing_features(opened)
    choice = kept_within(max_memory, method, opened, choice)
    began = time.perf_counter()
    run = {
        "collection": sha256_in_short(collection / MANIFEST),
        "method": method.name,
        "seed": str(seed),
        "blocks": str(len(opened.blocks())),
        **{name: str(value) for name, value in asdict(cast("Any", method)).items()},
    }
    with kept_work(out, run, choice, checkpoints) as engine:
        model = fit_model(method, opened, engine=engine, seed=seed)
        save_model(model, out, overwrite=overwrite)
    return _report(
        f"fitted {method.name} on {opened.n_images:,} images and {opened.n_tags:,} tags in "
        f"{time.perf_counter() - began:.1f} s: {out}",
        model,
    )


def _update(
    model: Path,
    collection: Path,
    corrections: Path | None,
    out: Path,
    max_memory: int | None,
    choice: EngineChoice,
    checkpoints: Checkpoints,
    *,
    overwrite: bool,
) -> str:
    from sugartag.collection import open_collection
    from sugartag.pipeline.changes import read_decisions
    from sugartag.pipeline.fitting import update_model
    from sugartag.pipeline.model import load_model, save_model

    loaded, opened = load_model(model), open_collection(collection)
    choice = update_kept_within(max_memory, loaded, opened, choice)
    decisions = [] if corrections is None else read_decisions(corrections)
    began = time.perf_counter()
    run = {
        "collection": sha256_in_short(collection / MANIFEST),
        "model": loaded.run_id,
        "blocks": str(len(opened.blocks())),
        "corrections": "none" if corrections is None else sha256_in_short(corrections),
    }
    with kept_work(out, run, choice, checkpoints) as engine:
        more = update_model(loaded, opened, decisions, engine=engine)
        save_model(more, out, overwrite=overwrite)
    new = len(more.catalogue.ids) - len(loaded.catalogue.ids)
    return _report(
        f"updated {model} with {opened.n_images:,} images ({new:,} of them new) and "
        f"{len(decisions):,} decisions in {time.perf_counter() - began:.1f} s: {out}",
        more,
    )


def _report(line: str, model: "Model") -> str:
    """Return the line, and after it what the evidence is worth if the model says so."""
    from sugartag.pipeline.fitting import evidence_summary

    summary = evidence_summary(model.fitted)
    return f"{line}\n{summary}" if summary else line


def _check_nothing_is_set() -> None:
    """Raise if something is asked that a model to be updated has decided."""
    context = click.get_current_context()
    for name, option in NOT_WITH_UPDATE.items():
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{option} does not go with --update: the model keeps its own", context
            )
