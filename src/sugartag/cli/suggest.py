"""``sugartag suggest``: write what a model proposes for a collection."""

from pathlib import Path

import click

from sugartag.cli.engines import EngineChoice, engine_options
from sugartag.cli.options import FOLDER, overwrite_option, tell_of_missing_features


@click.command("suggest")
@click.argument("model", type=FOLDER)
@click.argument("collection", type=FOLDER)
@click.option("--out", required=True, type=FOLDER, help="Changes: .csv, .jsonl or .parquet")
@click.option(
    "--top", default=10, show_default=True, help="Add at most this many tags to an image."
)
@click.option("--add-from", type=float, help="Add from this probability on; else learned.")
@click.option("--doubt-below", type=float, help="Doubt below this probability; else learned.")
@click.option("--explain", type=FOLDER, help="Also write what each verdict follows from: .jsonl")
@click.option(
    "--no-formula-guard", is_flag=True, help="CSV: write =, +, - and @ as they are, unguarded."
)
@engine_options
@overwrite_option
def command(
    model: Path,
    collection: Path,
    out: Path,
    top: int,
    add_from: float | None,
    doubt_below: float | None,
    explain: Path | None,
    no_formula_guard: bool,
    choice: EngineChoice,
    overwrite: bool,
) -> None:
    """Propose tags to add, keep and doubt for each image of COLLECTION, by MODEL.

    Nothing of the collection is changed: the proposals go to a file. The collection need not be
    the one the model was fitted on: it may hold new images, owners and tags, or no tags at all.

    \b
    Example:
      sugartag suggest photos.model photos/ --out changes.csv
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.collection import open_collection
    from sugartag.pipeline.changes import check_explained, check_kind, write_changes
    from sugartag.pipeline.model import load_model
    from sugartag.pipeline.propose import Thresholds, propose
    from sugartag.pipeline.reasons import require_explaining
    from sugartag.progress import ProgressDisplay

    check_kind(out)
    if explain is not None:
        check_explained(explain, out)
    thresholds = Thresholds(top=top, add=add_from, doubt=doubt_below)
    loaded, opened = load_model(model), open_collection(collection)
    tell_of_missing_features(opened)
    if explain is not None:
        require_explaining(loaded)
    with ProgressDisplay() as progress, choice.opened(progress, out.parent) as engine:
        changes = propose(
            loaded, opened, engine=engine, thresholds=thresholds, explain=explain is not None
        )
        counts = write_changes(
            changes,
            out,
            overwrite=overwrite,
            explained=explain,
            guard_formulas=not no_formula_guard,
        )
    click.echo(
        f"{out}: {counts['add']:,} tags to add, {counts['doubt']:,} to doubt, "
        f"{counts['keep']:,} to keep, for {opened.n_images:,} images"
    )
    if not counts["add"] and add_from is None:
        click.echo(
            "no tag is sure enough to be added; --add-from 0.5 lists those that are more likely "
            "than not",
            err=True,
        )
