"""``sugartag demo``: the whole job on a shipped collection."""

from pathlib import Path

import click

from sugartag.cli.options import FOLDER, seed_option, threads_option


@click.command("demo")
@click.option("--out", default=Path("demo-out"), show_default=True, type=FOLDER, help="The folder.")
@click.option("--drawings", is_flag=True, help="Drawings, whose features are shipped with them.")
@seed_option
@threads_option
def command(out: Path, drawings: bool, seed: int, blas_threads: int | None) -> None:
    """Retag the shipped photographs and write a report to look at.

    The photographs of DOCUMERICA are written to a folder, with keywords in XMP sidecars; the folder
    is imported and embedded as any other. With --drawings, the job is done on OpenClipart instead,
    and needs no encoder.

    \b
    Example:
      sugartag demo --out demo-out
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.demo import DRAWINGS, PHOTOGRAPHS, run_demo
    from sugartag.engine import LocalEngine
    from sugartag.progress import ProgressDisplay

    with ProgressDisplay() as progress:
        engine = LocalEngine(blas_threads=blas_threads, progress=progress)
        page = run_demo(
            DRAWINGS if drawings else PHOTOGRAPHS,
            out,
            engine=engine,
            seed=seed,
            progress=progress,
            say=lambda line: click.echo(f"  {line}"),
        )
    click.echo(f"report: {page.resolve()}")
