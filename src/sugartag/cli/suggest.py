"""``sugartag suggest``: write what a model proposes for a collection."""

from pathlib import Path

import click

from sugartag.cli.engines import EngineChoice, engine_options
from sugartag.cli.options import FOLDER, overwrite_option


@click.command("suggest")
@click.argument("model", type=FOLDER)
@click.argument("collection", type=FOLDER)
@click.option("--out", required=True, type=FOLDER, help="Changes: .csv, .jsonl or .parquet")
@click.option("--top", default=10, show_default=True, help="Add at most so many tags an image.")
@click.option("--add-from", default=0.5, show_default=True, help="Add from this chance on.")
@click.option("--doubt-below", default=0.5, show_default=True, help="Doubt below this chance.")
@engine_options
@overwrite_option
def command(
    model: Path,
    collection: Path,
    out: Path,
    top: int,
    add_from: float,
    doubt_below: float,
    choice: EngineChoice,
    overwrite: bool,
) -> None:
    """Propose tags to add, keep and doubt for each image of COLLECTION, by MODEL.

    Nothing of the collection is changed: the proposals go to a file. The collection need not be
    the one the model was fitted on; new images, owners and tags are met as such.

    \b
    Example:
      sugartag suggest photos.model photos/ --out changes.csv
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.changes import Thresholds, propose, write_changes
    from sugartag.changes.files import check_kind
    from sugartag.cli.progress import ProgressDisplay
    from sugartag.collection import open_collection
    from sugartag.model_folder import load_model

    check_kind(out)
    thresholds = Thresholds(top=top, add=add_from, doubt=doubt_below)
    loaded, opened = load_model(model), open_collection(collection)
    with ProgressDisplay() as progress, choice.opened(progress) as engine:
        changes = propose(loaded, opened, engine=engine, thresholds=thresholds)
        counts = write_changes(changes, out, overwrite=overwrite)
    click.echo(
        f"{out}: {counts['add']:,} tags to add, {counts['doubt']:,} to doubt, "
        f"{counts['keep']:,} to keep, for {opened.n_images:,} images"
    )
