"""``sugartag fit``: learn from a collection and save the model, or add to one."""

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
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
    from sugartag.collection import Collection
    from sugartag.engine import Engine
    from sugartag.methods.base import Method
    from sugartag.pipeline.model import Model

NOT_WITH_UPDATE = {
    "name": "--method",
    "settings": "--set",
    "tuned": "--tuned",
    "seed": "--seed",
}
"""A model keeps its own."""


@dataclass(frozen=True)
class _Asked:
    """The command line."""

    collection: Path
    out: Path
    name: str | None
    settings: tuple[str, ...]
    tuned: Path | None
    seed: int
    model: Path | None
    corrections: Path | None
    max_memory: int | None
    choice: EngineChoice
    checkpoints: Checkpoints
    overwrite: bool


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
def command(**options: Any) -> None:
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
    from sugartag.collection import open_collection
    from sugartag.pipeline.model import check_target

    asked = _Asked(**options)
    if asked.corrections is not None and asked.model is None:
        raise click.UsageError("--corrections needs --update", click.get_current_context())
    check_target(asked.out, overwrite=asked.overwrite)
    if asked.model is not None:
        _check_nothing_is_set()
        report = _updated(asked, asked.model)
    else:
        method = _method(asked)
        opened = open_collection(asked.collection)
        opened.require_tags("a fit")
        tell_of_missing_features(opened)
        report = _fitted(asked, method, opened)
    following = ["sugartag", "suggest", str(asked.out), str(asked.collection)]
    click.echo(f"{report}\nnext: {shlex.join([*following, '--out', 'changes.csv'])}")


def _method(asked: _Asked) -> "Method":
    """Return the method with the settings that were tuned, and those that were typed over them."""
    from sugartag.methods.registry import make_method
    from sugartag.pipeline.fitting import DEFAULT_METHOD

    name = asked.name or DEFAULT_METHOD
    chosen: Mapping[str, Any] = {}
    if asked.tuned is not None:
        from sugartag.cli.tuned_file import read_choice

        by_method = read_choice(asked.tuned, [name]).settings
        if name not in by_method:
            raise SettingsError(
                f"{asked.tuned} has no settings of {name}; tune it, or leave --tuned out"
            )
        chosen = by_method[name]
    return make_method(name, {**chosen, **parsed_settings(asked.settings)})


def _fitted(asked: _Asked, method: "Method", collection: "Collection") -> str:
    """Fit the method, write the model, and return what to report."""
    from sugartag.pipeline.fitting import fit_model

    choice = kept_within(asked.max_memory, method, collection, asked.choice)
    settings = asdict(cast("Any", method))
    run = {
        "method": method.name,
        "seed": str(asked.seed),
        **{name: str(value) for name, value in settings.items()},
    }
    model, seconds = _made(
        asked,
        run,
        collection,
        choice,
        lambda engine: fit_model(method, collection, engine=engine, seed=asked.seed),
    )
    return _report(
        f"fitted {method.name} on {collection.n_images:,} images and {collection.n_tags:,} tags "
        f"in {seconds:.1f} s: {asked.out}",
        model,
    )


def _updated(asked: _Asked, folder: Path) -> str:
    """Update the model in a folder, write the new one, and return what to report."""
    from sugartag.collection import open_collection
    from sugartag.pipeline.changes import read_decisions
    from sugartag.pipeline.fitting import update_model
    from sugartag.pipeline.model import load_model

    loaded, opened = load_model(folder), open_collection(asked.collection)
    choice = update_kept_within(asked.max_memory, loaded, opened, asked.choice)
    decisions = [] if asked.corrections is None else read_decisions(asked.corrections)
    run = {
        "model": loaded.run_id,
        "corrections": "none" if asked.corrections is None else sha256_in_short(asked.corrections),
    }
    more, seconds = _made(
        asked,
        run,
        opened,
        choice,
        lambda engine: update_model(loaded, opened, decisions, engine=engine),
    )
    new = len(more.catalogue.ids) - len(loaded.catalogue.ids)
    return _report(
        f"updated {folder} with {opened.n_images:,} images ({new:,} of them new) and "
        f"{len(decisions):,} decisions in {seconds:.1f} s: {asked.out}",
        more,
    )


def _made(
    asked: _Asked,
    run: Mapping[str, str],
    collection: "Collection",
    choice: EngineChoice,
    make: "Callable[[Engine], Model]",
) -> tuple["Model", float]:
    """Make a model with work that is kept, write it, and return it with the seconds it took."""
    from sugartag.pipeline.model import save_model

    began = time.perf_counter()
    on = {
        "collection": sha256_in_short(asked.collection / MANIFEST),
        "blocks": str(len(collection.blocks())),
    }
    with kept_work(asked.out, {**on, **run}, choice, asked.checkpoints) as engine:
        model = make(engine)
        save_model(model, asked.out, overwrite=asked.overwrite)
    return model, time.perf_counter() - began


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
