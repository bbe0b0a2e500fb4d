"""``sugartag photos``: from a folder of photographs to suggestions, in one command."""

import shlex
from pathlib import Path

import click

from sugartag.cli.options import FOLDER, seed_option, threads_option


@click.command("photos", short_help="Do it all for a folder of photographs.")
@click.argument("folder", type=FOLDER)
@click.option("--out", type=FOLDER, help="The folder to write; FOLDER's name with -sugartag.")
@click.option(
    "--owner-from",
    default="creator",
    show_default=True,
    metavar="folder|creator|artist|FILE",
    help="Whose each photograph is; see sugartag import.",
)
@click.option(
    "--model",
    "encoder",
    default="efficientnet-lite0",
    show_default=True,
    metavar="ENCODER",
    help="What describes the photographs; see sugartag embed.",
)
@click.option("--lowercase", is_flag=True, help="Put tags in lower case.")
@click.option(
    "--min-uses",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Drop tags that fewer photographs have.",
)
@seed_option
@threads_option
def command(
    folder: Path,
    out: Path | None,
    owner_from: str,
    encoder: str,
    lowercase: bool,
    min_uses: int,
    seed: int,
    blas_threads: int | None,
) -> None:
    """Import FOLDER, describe its photographs, fit, suggest, and write a page to look at.

    The same as import, embed, fit and suggest one after the other. A run that was killed goes on
    where it was if the command is repeated; a folder to which photographs were added is brought up
    to date. No photograph and no sidecar is changed.

    \b
    Example:
      sugartag photos ~/Pictures --owner-from folder --out pictures
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.engine import LocalEngine
    from sugartag.photos import Photos, retag_photos
    from sugartag.progress import ProgressDisplay

    target = out or Path(f"{folder.resolve().name}-sugartag")
    asked = Photos(folder, target, owner_from, encoder, min_uses, lowercase, seed)
    with ProgressDisplay() as progress:
        engine = LocalEngine(blas_threads=blas_threads, progress=progress)
        page = retag_photos(asked, engine=engine, progress=progress, say=click.echo)
    where = shlex.quote(str(target / "collection")), shlex.quote(str(target / "model"))
    click.echo(f"review with: sugartag serve {where[0]} --model {where[1]}")
    click.echo(f"open {page.resolve()}")
