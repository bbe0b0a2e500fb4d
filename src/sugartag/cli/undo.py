"""``sugartag undo``: take back what a run applied."""

from pathlib import Path

import click

from sugartag.cli.catalogues import MOST_LINES, catalogue_option, fail_with, opened, root_option
from sugartag.cli.options import FOLDER
from sugartag.errors import SettingsError


@click.command("undo")
@click.argument("collection", type=FOLDER)
@click.argument("run", required=False)
@catalogue_option
@root_option
@click.option("--list", "listing", is_flag=True, help="Only list the runs of changes.")
def command(
    collection: Path,
    run: str | None,
    catalogue: Path | None,
    images_root: Path | None,
    listing: bool,
) -> None:
    """Undo the run of changes RUN of COLLECTION, however long ago it was; last is the latest.

    Sidecars are restored byte for byte. Where somebody has changed one since, only the tags of
    the run are removed; the same holds for tags in the catalogue. A line says where.

    \b
    Example:
      sugartag undo photos/ last
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.changes.sidecar_files import SidecarFiles
    from sugartag.changes.undoing import Undoing

    with opened(collection, catalogue) as found:
        runs = [one for one in found.runs() if one.kind != "suggest"]
        if listing:
            if not runs:
                click.echo("no changes were applied yet")
            for one in runs:
                click.echo(f"{one.run_id}  {one.state:8} {one.created}  {one.by or ''}".rstrip())
            return
        open_runs = [one.run_id for one in runs if one.state != "undone"]
        if not open_runs and run in {None, "last"}:
            raise SettingsError("there is nothing to undo; no run of changes stands")
        if run is None:
            raise SettingsError(f"name the run to undo, or last: {', '.join(open_runs[:5])}")
        files = None if images_root is None else SidecarFiles.of(found, images_root)
        undone = Undoing(found, files).undo(open_runs[0] if run == "last" else run)
    for line in undone.conflicts[:MOST_LINES]:
        click.echo(line, err=True)
    if len(undone.conflicts) > MOST_LINES:
        click.echo(f"... and {len(undone.conflicts) - MOST_LINES:,} more", err=True)
    click.echo(f"{undone} undone")
    fail_with(undone.problems, "sidecars could not be restored")
