"""``sugartag demo``: the whole job on the shipped collection."""

from pathlib import Path

import click

from sugartag.cli.options import FOLDER, seed_option, threads_option


@click.command("demo")
@click.option("--out", default=Path("demo-out"), show_default=True, type=FOLDER, help="Where to.")
@seed_option
@threads_option
def command(out: Path, seed: int, blas_threads: int | None) -> None:
    """Retag the shipped OpenClipart drawings and write a report to look at.

    \b
    Example:
      sugartag demo --out demo-out
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.cli.progress import ProgressDisplay
    from sugartag.demo import run_demo
    from sugartag.engine import LocalEngine

    with ProgressDisplay() as progress:
        engine = LocalEngine(blas_threads=blas_threads, progress=progress)
        page = run_demo(out, engine=engine, seed=seed, say=lambda line: click.echo(f"  {line}"))
    click.echo(f"report: {page.resolve()}")
