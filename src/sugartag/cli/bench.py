"""``sugartag bench``: the performance claims, measured on this machine."""

import sys
from pathlib import Path
from typing import Any

import click

from sugartag.cli.options import FOLDER
from sugartag.errors import StorageError

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
"""Where the measurements are in a source checkout; they are not installed."""
NAMES = ("paper-size", "scaling", "solvers", "scoring")


def _numbers(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """Read one whole number, or several with commas between them."""
    if value is None:
        return None
    try:
        return tuple(int(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no whole number, nor several with commas") from None


def _words(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Read names with commas between them."""
    return None if value is None else tuple(part.strip() for part in value.split(","))


@click.command("bench")
@click.argument("name", type=click.Choice(NAMES))
@click.option("--out", type=FOLDER, help="The result file; bench-NAME.json if not given.")
@click.option("--work", type=FOLDER, help="Where synthetic collections are written, and kept.")
@click.option("--again", is_flag=True, help="Measure again what is there already.")
@click.option(
    "--images", metavar="N,..", callback=_numbers, help="Images; for scaling several sizes."
)
@click.option("--tags", type=int, help="Tags of the vocabulary.")
@click.option("--owners", type=int, help="Owners (paper-size).")
@click.option("--features", type=int, help="Numbers that describe an image.")
@click.option("--methods", metavar="NAME,..", callback=_words, help="Some of the methods.")
@click.option("--units", type=int, help="Anchor units at each centre (paper-size).")
@click.option("--cap", type=float, help="Seconds that slow methods may take (paper-size).")
@click.option("--query-share", type=float, help="Share of images that votes score (paper-size).")
@click.option(
    "--fractions",
    metavar="N,..",
    callback=_numbers,
    help="Parts to extrapolate from.",
)
@click.option("--anchor-images", type=int, help="Anchor images (solvers).")
@click.option("--anchor-users", type=int, help="Anchor users, about (solvers).")
@click.option("--updates", type=int, help="Multiplicative updates (solvers).")
@click.option("--repeats", type=int, help="Times that all images are scored (scoring).")
@click.option("--workers", type=int, help="Blocks worked on at the same time; one for each core.")
@click.option("--seed", type=click.IntRange(0), help="Same seed, same collections; 0.")
def command(name: str, out: Path | None, work: Path | None, again: bool, **given: Any) -> None:
    """Measure a performance claim: paper-size, scaling, solvers or scoring.

    Every method runs in a process of its own, on a synthetic collection. The result is a JSON file
    that names the machine; it is written after every measurement, and the same command continues
    where it was stopped.

    \b
    Example:
      sugartag bench scoring --out scoring.json
      sugartag bench scaling --images 2000,8000 --out small.json
    """  # noqa: D301 - click looks for the backspace character itself
    _find_benchmarks()
    from performance.command import measure

    measure(name, out, work, again=again, given=given)


def _find_benchmarks() -> None:
    """Let the measurements be imported, or say that they are not here."""
    if not (BENCHMARKS / "performance").is_dir():
        raise StorageError(
            "measurements need a source checkout, and sugartag runs from an installed package; "
            "clone the repository and run pip install --editable there"
        )
    if str(BENCHMARKS) not in sys.path:
        sys.path.insert(0, str(BENCHMARKS))
