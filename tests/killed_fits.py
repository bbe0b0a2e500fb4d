"""Fits that are killed and resumed, each in a process of its own that is forked from this one.

Started as a program with a folder that holds the collection ``photos``, a number of kills and the
arguments of ``sugartag fit``. A fit is killed when it reads a certain block, counted over all its
passes, so that a busy machine changes nothing. Prints, as JSON, what became of each: what was kept,
what the resumed run printed, and its exit code. A fork is killed like any process, and starts
without importing everything again.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path

import sklearn.cluster  # noqa: F401 - so that no fork has to

import sugartag.cli.fit  # noqa: F401
from sugartag.cli.main import main
from sugartag.collection.model import Collection, Rows
from sugartag.engine import row_blocks

ROWS_PER_BLOCK = 100


def in_small_blocks(self: Collection, rows_per_block: int | None = None) -> tuple[slice, ...]:
    """Cut so few images into several blocks."""
    return row_blocks(self.n_images, min(rows_per_block or ROWS_PER_BLOCK, ROWS_PER_BLOCK))


class CountedReads:
    """Counts the blocks that this process reads, and kills it when it would read a certain one."""

    def __init__(self, counted: Path, last: int | None) -> None:
        self.done = 0
        self.counted, self.last = counted, last
        self.lock = threading.Lock()
        self.rows = Collection.rows

    def __call__(self, collection: Collection, block: slice) -> Rows:
        """Read a block, or end."""
        with self.lock:
            self.done += 1
            self.counted.write_text(str(self.done))
            if self.done == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.rows(collection, block)


def begun(folder: Path, *arguments: str, last: int | None = None) -> int:
    """Begin ``sugartag fit`` in a new process, and return its number."""
    process = os.fork()
    if process:
        return process
    os.chdir(folder)
    said = os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    counter = CountedReads(folder / "reads", last)
    Collection.rows = lambda collection, block: counter(collection, block)
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


def killed_and_resumed(folder: Path, out: str, last: int, arguments: list[str]) -> dict:
    """Kill a fit when it reads its last block, and resume it."""
    code = ended(begun(folder, "--out", out, *arguments, last=last))
    assert not (folder / out).exists()
    kept = len(list((folder / f".{out}.work").glob("*.kept")))
    code_after = ended(begun(folder, "--out", out, *arguments, "--resume"))
    said = (folder / "said").read_text()
    return {"last": last, "killed": code, "kept": kept, "code": code_after, "said": said}


def run(folder: Path, kills: int, arguments: list[str]) -> list[dict]:
    """Fit once undisturbed, then kill at blocks that are spread over all it reads."""
    Collection.blocks = in_small_blocks
    assert ended(begun(folder, "--out", "whole", *arguments)) == 0, (folder / "said").read_text()
    reads = int((folder / "reads").read_text())
    return [
        killed_and_resumed(
            folder, f"killed-{k}", 1 + k * (reads - 1) // max(kills - 1, 1), arguments
        )
        for k in range(kills)
    ]


if __name__ == "__main__":
    found = run(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    sys.stdout.write(json.dumps(found))
