"""``sugartag doctor``: what is installed, and whether a collection or model is whole."""

from importlib import metadata, util
from pathlib import Path

import click

from sugartag.cli.options import FOLDER

EXTRAS = {
    "parquet": "pyarrow",
    "search": "usearch",
    "implicit": "implicit",
    "dask": "distributed",
}
"""What each extra brings."""


@click.command("doctor")
@click.argument("folders", nargs=-1, type=FOLDER)
def command(folders: tuple[Path, ...]) -> None:
    """Say what is installed, and check that collection and model FOLDERS are whole.

    \b
    Example:
      sugartag doctor photos/ photos.model
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.evaluation.cost import machine

    for key, value in machine().items():
        click.echo(f"{key:12} {value}")
    for package in ("scipy", "scikit-learn", "click", "tqdm"):
        click.echo(f"{package:12} {metadata.version(package)}")
    for extra, package in EXTRAS.items():
        found = util.find_spec(package) is not None
        state = metadata.version(package) if found else f"no: pip install 'sugartag[{extra}]'"
        click.echo(f"{package:12} {state}")
    _check_wordnet()
    for folder in folders:
        click.echo(f"{folder}: {_checked(folder)}")


def _check_wordnet() -> None:
    from sugartag.graph.wordnet import load_taxonomy

    click.echo(f"{'WordNet':12} {load_taxonomy().n_nodes:,} nouns")


def _checked(folder: Path) -> str:
    """Open the folder with every hash checked, and say what it holds."""
    from sugartag.collection import open_collection
    from sugartag.collection.store import FORMAT
    from sugartag.errors import StorageError
    from sugartag.model_folder import load_model
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
