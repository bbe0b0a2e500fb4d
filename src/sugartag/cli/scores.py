"""The tables of scores of an evaluation: in memory, in a temporary file, or in a folder to keep."""

import csv
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sugartag.errors import StorageError
from sugartag.evaluation.cost import BYTES_PER_MB
from sugartag.evaluation.protocol import Task
from sugartag.evaluation.results import Table
from sugartag.storage.arrays import describe, require_format, write_manifest
from sugartag.storage.aside import folder_aside
from sugartag.storage.damage import OTHERS

SCORES_FORMAT = "sugartag-scores/1"
BYTES_IN_MEMORY = 64 << 20
"""Scores up to this size are held in memory, larger ones in a temporary file."""


@contextmanager
def folder_of_scores(target: Path | None, task: Task, *, overwrite: bool) -> Iterator[Path | None]:
    """Yield the folder that tables of scores are files of; None to hold them in memory."""
    if target is not None:
        if overwrite and target.is_dir() and any(target.iterdir()):
            _require_scores(target)
        with folder_aside(target, overwrite=overwrite) as folder:
            yield folder
            _write_manifest(folder)
    elif bytes_of(task.shape) > BYTES_IN_MEMORY:
        with TemporaryDirectory(prefix="sugartag-scores-") as name:
            yield Path(name)
    else:
        yield None


def _require_scores(folder: Path) -> None:
    """Raise before the work unless a folder holds scores, which other scores may replace."""
    try:
        require_format(folder, format_name=SCORES_FORMAT)
    except StorageError as error:
        raise StorageError(f"{error}; choose another --save-scores") from error


def _write_manifest(folder: Path) -> None:
    """List what is in a folder of scores, so that a later run knows what it may replace."""
    names = sorted(path.stem for path in folder.glob("*.npy"))
    files = {name: describe(folder, name).as_json() for name in names}
    others = ["concepts.json", "truth.csv"]
    write_manifest(folder, {"format": SCORES_FORMAT, "files": files, OTHERS: others})


def table_file(path: Path, shape: tuple[int, int]) -> Table:
    """Map a new file for a table of scores, by concept, once there is room for all of it."""
    try:
        table = np.lib.format.open_memmap(
            path, mode="w+", dtype=np.float32, shape=shape, fortran_order=True
        )
        # Writing to a mapped file on a full disk would end the process without a word.
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except OSError as error:
        megabytes = bytes_of(shape) / BYTES_PER_MB
        raise StorageError(
            f"no room for {megabytes:.0f} MB of scores in {path.parent}: "
            f"{error.strerror or error}; free some, or set TMPDIR or --save-scores to another disk"
        ) from error
    return table


def bytes_of(shape: tuple[int, int]) -> int:
    """Return how much a table of scores takes."""
    return shape[0] * shape[1] * np.dtype(np.float32).itemsize


def write_positives(folder: Path, task: Task) -> None:
    """Write the names of the columns, and which images have which concept."""
    names = json.dumps(list(task.concept_names), indent=1, ensure_ascii=False)
    (folder / "concepts.json").write_text(names + "\n", encoding="utf-8")
    ids = task.given.ids
    with (folder / "truth.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["image_id", "concept"])
        for block in task.given.blocks():
            here = list(ids[block])
            image, concept = task.positives_of(block).nonzero()
            pairs = zip(image.tolist(), concept.tolist(), strict=True)
            writer.writerows((here[i], task.concept_names[c]) for i, c in pairs)
