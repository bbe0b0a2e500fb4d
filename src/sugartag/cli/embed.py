"""``sugartag embed``: describe the pictures of a collection with an encoder."""

import shlex
from pathlib import Path

import click

from sugartag.cli.main import EXIT_STOPPED
from sugartag.cli.options import FOLDER
from sugartag.progress import ProgressDisplay


@click.command("embed")
@click.argument("collection", type=FOLDER)
@click.option(
    "--model",
    default="efficientnet-lite0",
    show_default=True,
    metavar="ENCODER",
    help="efficientnet-lite0, onnx:PATH, open_clip:NAME or timm:NAME.",
)
@click.option("--overwrite", is_flag=True, help="Replace the features that are there.")
@click.option(
    "--batch",
    type=click.IntRange(1, 4096),
    default=16,
    show_default=True,
    help="Pictures the encoder takes at a time.",
)
@click.option("--threads", type=click.IntRange(1, 1024), help="Threads; else one a core.")
@click.option(
    "--max-pixels",
    type=click.IntRange(1),
    default=200_000_000,
    show_default=True,
    help="Refuse pictures with more pixels.",
)
def command(
    collection: Path,
    model: str,
    overwrite: bool,
    batch: int,
    threads: int | None,
    max_pixels: int,
) -> None:
    """Describe the pictures of COLLECTION with an encoder; keep the features in its folder.

    COLLECTION must know where its pictures are: imported from a folder, or from a table with a
    path column and --images-root. Pictures that have features already are left alone unless their
    file has changed. Those that cannot be read are listed in COLLECTION/errors.jsonl with the
    reason; they stay in the collection, without features. A run that was killed goes on where it
    was if the command is repeated.

    \b
    Example:
      sugartag embed photos/
      sugartag embed photos/ --model open_clip:ViT-B-16-SigLIP/webli --overwrite
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.features.embedding import embed_collection
    from sugartag.features.encoders import make_encoder

    encoder = make_encoder(model, threads=threads)
    try:
        with ProgressDisplay() as progress:
            found = embed_collection(
                collection,
                encoder,
                overwrite=overwrite,
                batch=batch,
                threads=threads,
                max_pixels=max_pixels,
                progress=progress,
            )
    except KeyboardInterrupt:
        click.echo("sugartag: stopped; what is done is kept: repeat the command", err=True)
        raise click.exceptions.Exit(EXIT_STOPPED) from None
    rate = found.described / max(found.seconds, 1e-9)
    line = f"{collection}: {found.described:,} of {found.images:,} images described by "
    line += f"{encoder.name}, {encoder.dimensions:,} numbers each, in {found.seconds:.1f} s"
    click.echo(f"{line} ({rate:.0f} images/s)" if found.described else line)
    if found.kept:
        click.echo(f"  had their features already: {found.kept:,}")
    if found.unreadable:
        click.echo(
            f"  cannot be read: {found.unreadable:,}, listed in {collection / 'errors.jsonl'}; "
            f"the first: {found.first_unreadable}"
        )
    model_folder = shlex.quote(f"{str(collection).rstrip('/')}-model")
    click.echo(f"next: sugartag fit {shlex.quote(str(collection))} --out {model_folder}")
