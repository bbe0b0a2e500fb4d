"""``sugartag fit``: learn from a collection and save the model."""

import shlex
import time
from pathlib import Path

import click

from sugartag.cli.engines import EngineChoice, engine_options
from sugartag.cli.options import FOLDER, overwrite_option, parsed_settings, seed_option


@click.command("fit")
@click.argument("collection", type=FOLDER)
@click.option("--out", required=True, type=FOLDER, help="The model folder to write.")
@click.option("--method", "name", default=None, help="Which method; see: sugartag methods")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of it.")
@seed_option
@engine_options
@overwrite_option
def command(
    collection: Path,
    out: Path,
    name: str | None,
    settings: tuple[str, ...],
    seed: int,
    choice: EngineChoice,
    overwrite: bool,
) -> None:
    """Learn from COLLECTION and write the fitted model to a folder.

    The method is fitted twice: once on a copy with some tags hidden and some wrong ones added,
    to learn how far its scores can be trusted, and once on the collection as it is.

    \b
    Example:
      sugartag fit photos/ --out photos.model --method sugar-plus --set anchors=800
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.cli.progress import ProgressDisplay
    from sugartag.collection import open_collection
    from sugartag.fitting import DEFAULT_METHOD, fit_model
    from sugartag.methods.registry import make_method
    from sugartag.model_folder import check_target, save_model

    check_target(out, overwrite=overwrite)
    method = make_method(name or DEFAULT_METHOD, parsed_settings(settings))
    opened = open_collection(collection)
    began = time.perf_counter()
    with ProgressDisplay() as progress, choice.opened(progress) as engine:
        model = fit_model(method, opened, engine=engine, seed=seed)
    save_model(model, out, overwrite=overwrite)
    following = ["sugartag", "suggest", str(out), str(collection), "--out", "changes.csv"]
    click.echo(
        f"fitted {method.name} on {opened.n_images:,} images and {opened.n_tags:,} tags in "
        f"{time.perf_counter() - began:.1f} s: {out}\n"
        f"next: {shlex.join(following)}"
    )
