"""What a measuring process runs: one task, read from a folder, its result left there.

Started as ``python -m performance.child FOLDER``; see :mod:`performance.apart`.
"""

import json
import os
import sys
import threading
from pathlib import Path

from performance.apart import write_result
from performance.work import KINDS
from sugartag.engine.heap import use_one_heap
from sugartag.errors import SugartagError


def main(folder: Path) -> int:
    """Do the task of a folder; what a user can mend is said in one line."""
    use_one_heap()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    try:
        found = KINDS[task["kind"]](task["asks"], Path(task["folder"]))
    except SugartagError as error:
        sys.stderr.write(" ".join(str(error).split()))
        return 1
    write_result(folder, found)
    return 0


def _end_with_parent() -> None:
    # The parent never writes: this returns when the parent is gone. Not sys.stdin.read, whose lock
    # would be held when this process ends by itself.
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
