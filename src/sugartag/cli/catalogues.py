"""What the commands about a catalogue share."""

import getpass
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from sugartag.cli.main import tell_fault
from sugartag.cli.options import FOLDER
from sugartag.errors import StorageError

if TYPE_CHECKING:
    from sugartag.changes import Catalogue
    from sugartag.changes.plans import ImagePlan, Outcome

MOST_LINES = 20
"""Of problems and conflicts, that many are printed."""

WORDS = {"person": "given", "import": "imported", "model": "proposed", "reviewer": "accepted"}
"""How a tag came to an image, by its source."""

catalogue_option = click.option(
    "--catalogue", type=FOLDER, help="The catalogue; else NAME.catalogue.sqlite beside NAME."
)
root_option = click.option(
    "--images-root", type=FOLDER, help="Where the images are, if not where they were imported."
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Print what would change; write nothing."
)
by_option = click.option("--by", help="Who does this, for the record; else your login name.")
sidecars_option = click.option(
    "--sidecars", is_flag=True, help="Also write XMP sidecars beside the images."
)


def changing_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of all that changes tags."""
    for option in (by_option, dry_run_option, root_option, sidecars_option, catalogue_option):
        command = option(command)
    return command


def person(named: str | None) -> str:
    """Return who runs the command."""
    if named:
        return named
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"


@contextmanager
def opened(
    named: Path, catalogue: Path | None, *, untouched: bool = False
) -> Iterator["Catalogue"]:
    """Open the catalogue of a collection, or the file itself; ``untouched``: only a copy of it."""
    from sugartag.changes.catalogue import Catalogue, catalogue_of
    from sugartag.changes.store import default_path

    if not named.exists():
        raise StorageError(f"{named} does not exist; name a collection or its catalogue")
    if not untouched:
        with catalogue_of(named, catalogue) as found:
            yield found
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.sqlite"
        there = named if named.is_file() else catalogue or default_path(named)
        if there.exists():
            with Catalogue.open(there) as original:
                original.connection.execute("VACUUM INTO ?", (str(copy),))
        with catalogue_of(named if not there.exists() else copy, copy) as found:
            yield found


def print_plans(plans: Iterable["ImagePlan"]) -> None:
    """Print what would change: a line for each image, and for each of its tags."""
    from sugartag.changes.plans import counted

    images = added = removed = 0
    for plan in plans:
        if not plan.changes:
            continue
        images += 1
        click.echo(plan.image_id if plan.path is None else f"{plan.image_id}  {plan.path}")
        for one in plan.changes:
            sign = "+" if one.change == "add" else "-"
            added, removed = added + (sign == "+"), removed + (sign == "-")
            who = f" by {one.provenance.by}" if one.provenance.by else ""
            click.echo(f"  {sign} {one.tag}  ({WORDS[one.provenance.source]}{who})")
    adding = f"{counted(added, 'tag')} to add and {removed:,} to remove"
    click.echo(f"{adding}, in {counted(images, 'image')}")


def print_outcome(outcome: "Outcome", named: Path) -> None:
    """Print what a run did, and how to undo it."""
    if outcome.run_id is None:
        click.echo("nothing to change")
        return
    click.echo(str(outcome))
    click.echo(f"to undo: sugartag undo {named} {outcome.run_id}")


def fail_with(problems: list[str], what: str) -> None:
    """Print problems, and raise if there are any."""
    for line in problems[:MOST_LINES]:
        tell_fault(line)
    if problems:
        more = f"; the first {MOST_LINES} are named above" if len(problems) > MOST_LINES else ""
        raise StorageError(f"{len(problems):,} {what}{more}; everything else is done")
