"""``sugartag search``: pictures by tags that are given, proposed or decided."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sugartag.cli.catalogues import catalogue_option, opened
from sugartag.cli.options import FOLDER
from sugartag.errors import SettingsError

if TYPE_CHECKING:
    from sugartag.changes import Catalogue, Found


@click.command("search")
@click.argument("collection", type=FOLDER)
@click.argument("query")
@click.option("--model", type=FOLDER, help="Search by what this model proposes.")
@catalogue_option
@click.option("--run", help="Search by what this run proposed; else by the latest.")
@click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(1), help="Images to show."
)
@click.option(
    "--offset", default=0, show_default=True, type=click.IntRange(0), help="Images to skip first."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(
    collection: Path,
    query: str,
    model: Path | None,
    catalogue: Path | None,
    run: str | None,
    limit: int,
    offset: int,
    as_json: bool,
) -> None:
    """Find the images of COLLECTION that QUERY asks for, the most probable first.

    QUERY has tags, joined by AND, OR and NOT with brackets; owner:, group: and title:; score>0.6
    for a minimum probability; is:untagged, is:tagged, is:proposed and is:doubted. Beside each image
    stands its place by the given tags alone.

    \b
    Example:
      sugartag search photos/ 'beach AND NOT people owner:anna score>0.6'
    """  # noqa: D301 - click looks for the backspace character itself
    from dataclasses import asdict

    from sugartag.changes import search

    if model is not None and run is not None:
        raise SettingsError("--model and --run exclude each other; pass one of them")
    with opened(collection, catalogue) as found:
        number = run if model is None else _proposed_by(model, collection, found)
        result = search(found, query, run=number, offset=offset, limit=limit)
    if as_json:
        click.echo(json.dumps(asdict(result), ensure_ascii=False))
        return
    _print(result, offset)


def _proposed_by(model: Path, collection: Path, found: "Catalogue") -> str:
    """Return the run of a model's proposals, which are made if the catalogue lacks them."""
    from sugartag.changes.proposing import take_proposals
    from sugartag.collection.store import open_collection
    from sugartag.engine import LocalEngine
    from sugartag.pipeline.model import load_model
    from sugartag.progress import ProgressDisplay

    loaded = load_model(model)
    with ProgressDisplay() as progress:
        take_proposals(
            found, loaded, open_collection(collection), engine=LocalEngine(progress=progress)
        )
    return loaded.run_id


def _print(result: "Found", offset: int) -> None:
    """Print the images found, a line each."""
    for place, hit in enumerate(result.hits, offset + 1):
        rank = f"no. {hit.original_rank}" if hit.original_rank else "not found"
        click.echo(
            f"{place:6,}  {100 * hit.probability:5.1f} %  {hit.image_id}  ({rank} by given tags)"
        )
    shown = offset + len(result.hits)
    more = f"; the next with --offset {shown}" if shown < result.total else ""
    click.echo(f"{result.total:,} images{more}")
