"""Model and collection folders that vouch for arrays which cannot be, and who opens them.

A forgery replaces one array and describes it truly: hash, shape, type and the manifest's checksum
are all right, as only someone who means it would make them. Commands run in processes that are used
again and again; one that a signal ends is a crash, and another takes its place.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sugartag.storage.arrays import MANIFEST, describe, write_manifest

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]

CRASHED = -1
PROGRAM = """
import contextlib, io, json, sys, traceback, warnings
from sugartag.cli.main import main
warnings.simplefilter("ignore")
for line in sys.stdin:
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            main.main(args=json.loads(line), prog_name="sugartag")
            code = 0
        except SystemExit as ending:
            code = ending.code or 0
        except BaseException:
            code = 1
            traceback.print_exc()
    print(json.dumps([code, said.getvalue()]), flush=True)
"""


def _with(value: float) -> Change:
    """Return a change of one number of an array."""

    def change(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        made = array.copy()
        if made.size:
            with np.errstate(all="ignore"):
                made.flat[rng.integers(made.size)] = np.array(value).astype(made.dtype)
        return made

    return change


KINDS: dict[str, Sequence[Change]] = {
    "dtype": [
        lambda array, _: array.astype(np.uint64),
        lambda array, _: array.astype(np.float64),
        lambda array, _: array.astype(np.int8),
        lambda array, _: array.astype(array.dtype.newbyteorder(">")),
        lambda array, _: array.astype(bool),
        lambda array, _: array.astype(np.longdouble),
    ],
    "range": [
        *map(_with, (-1, 2**31 - 1, 2**62, -(2**63), 1e300, -1e300, 1e6)),
        lambda array, _: array[::-1].copy(),
        lambda array, _: np.full_like(array, 120),
        lambda array, rng: rng.permutation(array),
    ],
    "nan": [
        *map(_with, (np.nan, np.inf, -np.inf)),
        lambda array, _: np.full(array.shape, np.nan, np.float32),
    ],
    "length": [
        lambda array, _: array[:-1].copy(),
        lambda array, _: array[:0].copy(),
        lambda array, _: np.concatenate([array, array]),
        lambda array, _: array[None].copy(),
        lambda array, _: array.reshape(-1),
        lambda array, _: array[..., :-1].copy(),
        lambda array, _: array.T.copy(),
    ],
}


@dataclass(frozen=True)
class Place:
    """An array of a folder: the folder whose manifest lists it, and its name there."""

    folder: Path
    name: str

    def __str__(self) -> str:
        return self.name


def places(folder: Path) -> list[Place]:
    """Return every array of a folder and of the collections inside it."""
    return [
        Place(manifest.parent, path.relative_to(manifest.parent).as_posix()[: -len(".npy")])
        for manifest in sorted(folder.rglob(MANIFEST))
        for path in sorted(manifest.parent.rglob("*.npy"))
        if _nearest_manifest(path) == manifest
    ]


@contextmanager
def forged(place: Place, array: np.ndarray) -> Iterator[None]:
    """Replace an array, with all that vouches for it, until the block ends."""
    path, manifest = place.folder / f"{place.name}.npy", place.folder / MANIFEST
    before, said = path.read_bytes(), manifest.read_bytes()
    np.save(path, array)
    entry = describe(place.folder, place.name).as_json()
    write_manifest(place.folder, _with_entry(json.loads(said), entry))
    try:
        yield
    finally:
        path.write_bytes(before)
        manifest.write_bytes(said)


class Commands:
    """A process that runs commands, one after the other."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: object) -> tuple[int, str]:
        """Return the exit code and what was said on stderr; -1 if a signal ended the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(argument) for argument in arguments]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if answer:
            code, said = json.loads(answer)
            return code, said
        code = self._process.wait()
        self.close()
        self._start()
        return CRASHED, f"the process ended with {code}"

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def is_one_line(code: int, said: str) -> bool:
    """Tell whether a command did what was asked, or said in one line why not."""
    return code == 0 or (code == 2 and said.count("\n") == 1 and said.startswith("sugartag: "))


def _nearest_manifest(path: Path) -> Path:
    return next(folder / MANIFEST for folder in path.parents if (folder / MANIFEST).is_file())


def _with_entry(manifest: Any, entry: dict[str, Any]) -> Any:
    """Return a manifest in which another entry stands for the same file."""
    if isinstance(manifest, list):
        return [_with_entry(item, entry) for item in manifest]
    if not isinstance(manifest, dict):
        return manifest
    if manifest.get("file") == entry["file"]:
        return entry
    return {key: _with_entry(value, entry) for key, value in manifest.items()}
