"""``sugartag apply``: make what was decided real, in the catalogue and in sidecars."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sugartag.cli.catalogues import (
    by_option,
    catalogue_option,
    dry_run_option,
    fail_with,
    opened,
    person,
    print_outcome,
    print_plans,
    root_option,
    sidecars_option,
)
from sugartag.cli.options import FOLDER, overwrite_option
from sugartag.errors import SettingsError

if TYPE_CHECKING:
    from sugartag.changes import Catalogue
    from sugartag.changes.applying import Wanted


@click.command("apply")
@click.argument("collection", type=FOLDER)
@click.argument("changes", type=FOLDER, required=False)
@catalogue_option
@sidecars_option
@root_option
@click.option("--to-csv", type=FOLDER, help="Also write all tags, afterwards: .csv")
@click.option("--to-jsonl", type=FOLDER, help="Also write all tags, afterwards: .jsonl")
@click.option("--to-parquet", type=FOLDER, help="Also write all tags, afterwards: .parquet")
@click.option("--accepted-only", is_flag=True, help="Apply decisions alone; this is the default.")
@click.option("--above", type=float, help="Also add what is proposed from this probability on.")
@dry_run_option
@click.option("--resume", is_flag=True, help="Only finish a run that was interrupted.")
@by_option
@overwrite_option
def command(
    collection: Path,
    changes: Path | None,
    catalogue: Path | None,
    sidecars: bool,
    images_root: Path | None,
    to_csv: Path | None,
    to_jsonl: Path | None,
    to_parquet: Path | None,
    accepted_only: bool,
    above: float | None,
    dry_run: bool,
    resume: bool,
    by: str | None,
    overwrite: bool,
) -> None:
    """Apply what was decided to the tags of COLLECTION, and say how to undo it.

    COLLECTION is the folder of a collection, or its catalogue. CHANGES is a change set whose
    column decision says accept or reject; what was decided in the review page is in the catalogue
    already. A tag is removed only where somebody rejected it.

    \b
    Example:
      sugartag apply photos/ changes.csv --sidecars --dry-run
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.changes.applying import Wanted, plans

    if accepted_only and above is not None:
        raise SettingsError("--accepted-only and --above exclude each other; pass one of them")
    tables = [path for path in (to_csv, to_jsonl, to_parquet) if path is not None]
    _check_tables(to_csv, to_jsonl, to_parquet, overwrite=overwrite)
    root = None if images_root is None else str(images_root.resolve())
    wanted = Wanted(above, None, sidecars, root)
    with opened(collection, catalogue, untouched=dry_run) as found:
        _load(found, changes)
        if dry_run:
            _require_decisions(found, wanted)
            print_plans(plans(found, wanted))
            return
        _apply(found, wanted, collection, person(by), resume=resume)
        _export(found, tables, overwrite=overwrite)


def _load(found: "Catalogue", changes: Path | None) -> None:
    from sugartag.changes.change_files import load_change_file

    if changes is not None:
        load_change_file(found, changes)


def _apply(
    found: "Catalogue", wanted: "Wanted", collection: Path, by: str, *, resume: bool
) -> None:
    from sugartag.changes import applying

    if resume:
        outcomes = applying.resume(found)
        if not outcomes:
            click.echo("no run was interrupted")
    else:
        interrupted = any(run.state == "planned" for run in found.runs())
        if not interrupted:
            _require_decisions(found, wanted)
        outcomes = applying.apply_changes(found, wanted, by=by)
    for outcome in outcomes:
        print_outcome(outcome, collection)
    problems = [line for outcome in outcomes for line in outcome.problems]
    fail_with(problems, "sidecars could not be written")


def _require_decisions(found: "Catalogue", wanted: "Wanted") -> None:
    if wanted.above is None and found.first("SELECT 1 FROM decided LIMIT 1") is None:
        raise SettingsError(
            "nothing was decided, so there is nothing to apply; decide in the review page "
            "(sugartag serve), or fill the column decision of the change set with accept or "
            "reject, or add what is likely with --above 0.9"
        )


def _check_tables(*paths: Path | None, overwrite: bool) -> None:
    for path, kind in zip(paths, (".csv", ".jsonl", ".parquet"), strict=True):
        if path is not None and path.suffix.lower() != kind:
            raise SettingsError(f"{path} must end in {kind}")
        if path is not None and path.exists() and not overwrite:
            raise SettingsError(f"{path} exists already; choose another name or pass --overwrite")


def _export(found: "Catalogue", tables: list[Path], *, overwrite: bool) -> None:
    from sugartag.changes.exporting import export_table

    for path in tables:
        count = export_table(found, path, overwrite=overwrite)
        click.echo(f"{path}: the tags of {count:,} images")
