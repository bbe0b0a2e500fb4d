"""Fits that are killed and resumed, each in a process of its own that is forked from this one.

Started as a program with a folder that holds the collection ``photos``, a seed, a number of kills
and the arguments of ``sugartag fit``. Prints, as JSON, what became of each: whether a model stood
at once, what the resumed run said, and its exit code. A fork is killed like any process, and
starts without importing everything again.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import sklearn.cluster  # noqa: F401 - so that no fork has to

import sugartag.cli.fit  # noqa: F401
from sugartag.cli.main import main
from sugartag.collection.model import Collection
from sugartag.engine import row_blocks

ROWS_PER_BLOCK = 100


def in_small_blocks(self: Collection, rows_per_block: int | None = None) -> tuple[slice, ...]:
    """Cut so few images into several blocks."""
    return row_blocks(self.n_images, min(rows_per_block or ROWS_PER_BLOCK, ROWS_PER_BLOCK))


def begun(folder: Path, *arguments: str) -> int:
    """Begin ``sugartag fit`` in a new process, and return its number."""
    process = os.fork()
    if process:
        return process
    os.chdir(folder)
    said = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    code = 1
    try:
        main(["fit", "photos", *arguments])
        code = 0
    except SystemExit as ending:
        code = int(ending.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise AssertionError


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def killed_and_resumed(folder: Path, out: str, after: float, arguments: list[str]) -> dict:
    """Kill a fit after some seconds, and resume it."""
    process = begun(folder, "--out", out, *arguments)
    time.sleep(after)
    os.kill(process, signal.SIGKILL)
    code = ended(process)
    if (folder / out).exists():
        for left in folder.glob(f".{out}.*"):
            shutil.rmtree(left)
        return {"after": after, "stood": True, "killed": code, "code": 0, "said": ""}
    kept = len(list((folder / f".{out}.work").glob("*.kept")))
    code_after = ended(begun(folder, "--out", out, *arguments, "--resume"))
    said = (folder / "said").read_text()
    return {
        "after": after,
        "stood": False,
        "killed": code,
        "kept": kept,
        "code": code_after,
        "said": said,
    }


def run(folder: Path, seed: int, kills: int, arguments: list[str]) -> list[dict]:
    """Fit once undisturbed, then kill at moments that are anywhere in that time."""
    Collection.blocks = in_small_blocks
    began = time.monotonic()
    assert ended(begun(folder, "--out", "whole", *arguments)) == 0, (folder / "said").read_text()
    took = time.monotonic() - began
    moments = random.Random(seed)
    return [
        killed_and_resumed(folder, f"killed-{number}", moments.uniform(0.0, took), arguments)
        for number in range(kills)
    ]


if __name__ == "__main__":
    found = run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    sys.stdout.write(json.dumps(found))
