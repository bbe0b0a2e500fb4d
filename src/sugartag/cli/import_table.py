"""``sugartag import``: a table of photos becomes a collection."""

import shlex
from pathlib import Path

import click

from sugartag.cli.progress import ProgressDisplay
from sugartag.collection.readers import ImportSummary, Sources, import_collection

_PATH = click.Path(path_type=Path)


@click.command("import", short_help="Make a collection from a table of photos.")
@click.argument("table", type=_PATH)
@click.option("--out", required=True, type=_PATH, help="The collection folder to write.")
@click.option("--features", type=_PATH, help="A .npy of floats, one row for each row of TABLE.")
@click.option("--groups", type=_PATH, help="A table with the columns owner, group.")
@click.option("--truth", type=_PATH, help="A table with the columns image_id, concept.")
@click.option(
    "--images-root", type=_PATH, help="The folder that paths start from; they are checked."
)
@click.option("--lowercase", is_flag=True, help="Put tags and concepts in lower case.")
@click.option(
    "--min-uses",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Drop tags that fewer images have.",
)
@click.option("--overwrite", is_flag=True, help="Replace a collection of the same name.")
def command(
    table: Path,
    out: Path,
    features: Path | None,
    groups: Path | None,
    truth: Path | None,
    images_root: Path | None,
    lowercase: bool,
    min_uses: int,
    overwrite: bool,
) -> None:
    """Make a collection from TABLE, a .csv, .tsv, .jsonl (these also .gz) or .parquet file.

    Its columns are image_id, owner and tags (a list, or text split on '|'), optionally path and
    title; others are ignored. Owner and tags may be empty. Texts are put in Unicode NFC and
    trimmed; paths are kept as they are. Any number of rows fits: only the distinct tags, owners,
    groups and concepts are held in memory.

    \b
    Example:
      $ cat photos.csv
      image_id,owner,tags
      1,anna,beach|sun
      2,ben,dog
      $ sugartag import photos.csv --out photos --features vectors.npy
    """  # noqa: D301 - click looks for the backspace character itself
    sources = Sources(table, features, groups, truth, images_root)
    with ProgressDisplay() as progress:
        summary = import_collection(
            sources,
            out,
            lowercase=lowercase,
            min_uses=min_uses,
            overwrite=overwrite,
            progress=progress,
        )
    for line in _lines(summary, out):
        click.echo(line)


def _lines(summary: ImportSummary, out: Path) -> list[str]:
    """Return what is said at the end: what there is, what is odd about it, what comes next."""
    parts = [
        _count(summary.images, "image"),
        _count(summary.tags, "tag"),
        _count(summary.owners, "owner"),
        *([_count(summary.groups, "group")] if summary.groups else []),
        *([_count(summary.concepts, "true concept")] if summary.concepts else []),
        *([f"features of {_count(summary.features, 'number')}"] if summary.features else []),
    ]
    lines = [f"{out}: {', '.join(parts)}"]
    if summary.untagged_images:
        lines.append(f"  without any tag: {_count(summary.untagged_images, 'image')}")
    if summary.ownerless_images:
        lines.append(f"  without an owner: {_count(summary.ownerless_images, 'image')}")
    if summary.skipped_memberships:
        rows = _count(summary.skipped_memberships, "membership")
        lines.append(f"  skipped, as the owner has no image here: {rows}")
    if not summary.features:
        lines.append("  no features: methods that look at the images need --features")
    folder = shlex.quote(str(out))
    if not summary.tags:
        return [*lines, f"Next: sugartag suggest MODEL {folder} --out changes.csv"]
    model = shlex.quote(f"{out}-model")
    return [*lines, f"Next: sugartag fit {folder} --out {model}"]


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
