"""A small catalogue for tests: four images, one of them without tags, and a run of proposals."""

from pathlib import Path
from shutil import copyfile, copytree
from typing import Literal

from sugartag.changes.catalogue import Catalogue
from sugartag.collection import open_collection
from sugartag.pipeline.changes import Change
from tables import ROWS, imported, write_table

RUN = "run-1"


def change(
    image_id: str, tag: str, action: Literal["add", "keep", "doubt"], probability: float
) -> Change:
    return Change(image_id, tag, action, probability, f"because of {tag}", RUN)


CHANGES = [
    change("1", "dog", "add", 0.8125),
    change("1", "beach", "keep", 0.99),
    change("1", "sun", "keep", 0.9),
    change("2", "dog", "keep", 0.95),
    change("2", "sun", "doubt", 0.2),
    change("3", "sun", "add", 0.9),
    change("3", "beach", "add", 0.75),
    change("4", "Sun", "doubt", 0.1),
]


def copied_catalogue(template: Path, folder: Path) -> Catalogue:
    """Return a catalogue of its own that is as the template."""
    for path in template.iterdir():
        if path.is_dir():
            copytree(path, folder / path.name)
        else:
            copyfile(path, folder / path.name)
    return Catalogue.open(folder / "catalogue.sqlite")


def made_catalogue(tmp_path: Path) -> Catalogue:
    """Return a catalogue of the rows of ``tables.ROWS``, with proposals."""
    groups = write_table(tmp_path / "groups.jsonl", [{"owner": "ben", "group": "divers"}])
    imported(tmp_path, ROWS, groups=groups)
    catalogue = Catalogue.create(tmp_path / "catalogue.sqlite")
    catalogue.load_collection(open_collection(tmp_path / "out"))
    catalogue.load_changes(CHANGES)
    return catalogue
