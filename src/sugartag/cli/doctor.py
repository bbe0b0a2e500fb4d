"""``sugartag doctor``: what is installed, and whether a collection or model is whole."""

import sys
from importlib import metadata, util
from pathlib import Path

import click

from sugartag.cli.main import EXIT_BAD_INPUT, tell_fault
from sugartag.cli.options import FOLDER
from sugartag.errors import StorageError, SugartagError

EXTRAS = {
    "parquet": "pyarrow",
    "search": "usearch",
    "implicit": "implicit",
    "dask": "distributed",
    "embed": "onnxruntime",
    "torch": "torch",
}
"""What each extra brings."""


@click.command("doctor")
@click.argument("folders", nargs=-1, type=FOLDER)
def command(folders: tuple[Path, ...]) -> None:
    """Show what is installed, and check that collection and model FOLDERS are whole.

    Every damaged file is named, one line each.

    \b
    Example:
      sugartag doctor photos/ photos.model
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.evaluation.cost import machine

    for key, value in machine().items():
        click.echo(f"{key:12} {value}")
    for package in ("scipy", "scikit-learn", "numba", "click", "tqdm"):
        click.echo(f"{package:12} {metadata.version(package)}")
    for extra, package in EXTRAS.items():
        found = util.find_spec(package) is not None
        state = metadata.version(package) if found else f"no: pip install 'sugartag[{extra}]'"
        click.echo(f"{package:12} {state}")
    faults = _faults_of_wordnet()
    for folder in folders:
        faults += _faults_of(folder)
    if faults:
        sys.exit(EXIT_BAD_INPUT)


def _faults_of_wordnet() -> int:
    """Say how large the shipped taxonomy is, or what is wrong with it; return how much is."""
    from sugartag.graph.wordnet import load_taxonomy

    try:
        n_nouns = load_taxonomy().n_nodes
    except SugartagError as error:
        tell_fault(str(error))
        return 1
    click.echo(f"{'WordNet':12} {n_nouns:,} nouns")
    return 0


def _faults_of(folder: Path) -> int:
    """Say what a whole folder holds, or all that is wrong with it; return how much is."""
    from sugartag.storage.damage import damaged_files

    try:
        held = _checked(folder)
    except (SugartagError, OSError) as error:
        # Opening a folder ends at the first fault; the other files are looked at one by one.
        faults = dict.fromkeys([str(error), *damaged_files(folder)])
        for fault in faults:
            tell_fault(fault)
        return len(faults)
    click.echo(f"{folder}: {held}")
    return 0


def _checked(folder: Path) -> str:
    """Open the folder with every hash checked, and say what it holds."""
    from sugartag.collection import open_collection
    from sugartag.collection.store import FORMAT
    from sugartag.pipeline.model import load_model
    from sugartag.storage.arrays import MANIFEST

    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise StorageError(f"{folder} is neither a collection nor a model: it has no {MANIFEST}")
    if FORMAT not in manifest.read_text(encoding="utf-8", errors="replace")[:200]:
        model = load_model(folder)
        return f"whole; {model.method.name}, run {model.run_id}"
    opened = open_collection(folder)
    groups = f"{opened.n_groups:,} groups, " if opened.n_groups else "no groups, "
    features = f"{opened.n_features} features" if opened.n_features else "no features"
    truth = f", {len(opened.concept_names)} concepts of truth" if opened.has_truth else ""
    return (
        f"whole; {opened.n_images:,} images, {opened.n_tags:,} tags, {opened.n_owners:,} owners, "
        f"{groups}{features}{truth}"
    )
