"""``sugartag export``: the tags as they are now, for people and for other programs."""

from collections.abc import Callable
from pathlib import Path

import click

from sugartag.cli.catalogues import catalogue_option, opened
from sugartag.cli.options import FOLDER, overwrite_option

FORMATS = (
    "table",
    "provenance",
    "text",
    "label-studio",
    "cleanlab",
    "fiftyone",
    "hugging-face",
)


@click.command("export")
@click.argument("collection", type=FOLDER)
@click.option("--to", "kind", default="table", show_default=True, type=click.Choice(FORMATS))
@click.option(
    "--out", required=True, type=FOLDER, help="The file, or for text and cleanlab folder."
)
@catalogue_option
@click.option("--run", help="Whose proposals; else those of the latest run.")
@click.option("--prefix", default="", help="Goes before each path: a folder or an address.")
@click.option(
    "--min-uses", default=10, show_default=True, help="cleanlab: leave out tags used less often."
)
@click.option("--as-stored", is_flag=True, help="Do not apply aliases and implications.")
@click.option(
    "--no-formula-guard", is_flag=True, help="CSV: write =, +, - and @ as they are, unguarded."
)
@overwrite_option
def command(
    collection: Path,
    kind: str,
    out: Path,
    catalogue: Path | None,
    run: str | None,
    prefix: str,
    min_uses: int,
    as_stored: bool,
    no_formula_guard: bool,
    overwrite: bool,
) -> None:
    """Write the tags of COLLECTION as they are now: a table, or what another program reads.

    Tables end in .csv, .jsonl or .parquet. Proposals of the latest run go with them where the
    format has room for them.

    \b
    Example:
      sugartag export photos/ --to label-studio --out tasks.json
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.changes import exporting, handing_over

    guard = not no_formula_guard
    with opened(collection, catalogue) as found:
        writers: dict[str, Callable[[], int]] = {
            "table": lambda: exporting.export_table(
                found, out, as_stored=as_stored, guard_formulas=guard, overwrite=overwrite
            ),
            "provenance": lambda: exporting.export_provenance(
                found, out, guard_formulas=guard, overwrite=overwrite
            ),
            "text": lambda: exporting.export_text_files(
                found, out, as_stored=as_stored, overwrite=overwrite
            ),
            "label-studio": lambda: handing_over.export_label_studio(
                found, out, run=run, prefix=prefix, overwrite=overwrite
            ),
            "cleanlab": lambda: handing_over.export_cleanlab(
                found, out, run=run, min_uses=min_uses, overwrite=overwrite
            ),
            "fiftyone": lambda: handing_over.export_fiftyone(
                found, out, run=run, prefix=prefix, overwrite=overwrite
            ),
            "hugging-face": lambda: handing_over.export_hugging_face(
                found, out, overwrite=overwrite
            ),
        }
        count = writers[kind]()
    click.echo(f"{out}: {count:,} {'tags of images' if kind == 'provenance' else 'images'}")
