"""Applies and undoes in processes that end at once: at a named point, or at any line of ours.

Run as a program it takes a list of cases as JSON on its standard input, forks for each, and
prints how each child ended. One program for all of them: importing takes longer than applying.
"""

import json
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from sugartag.changes.applying import Wanted, apply_changes
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.undoing import Undoing

KILLED = 99
OURS = ("sugartag/changes/", "sugartag/storage/", "sugartag/metadata/")


def main() -> None:
    """Carry out the cases, each in a child."""
    print(json.dumps([ended(case) for case in json.load(sys.stdin)]))  # noqa: T201


def ended(case: dict[str, Any]) -> int:
    """Return the exit code of a child."""
    child = os.fork()
    if child == 0:
        try:
            carry_out(case)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it must not go on
            print(f"{case}: {error!r}", file=sys.stderr)  # noqa: T201
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def carry_out(case: dict[str, Any]) -> None:
    """Apply or undo, and end at the point or after the number of lines that the case names."""
    left = case.get("times", 1)

    def reached(point: str) -> None:
        nonlocal left
        left -= point == case.get("point")
        if point == case.get("point") and not left:
            os._exit(KILLED)

    if "lines" in case:
        end_after(case["lines"])
    with Catalogue.open(Path(case["folder"]) / "catalogue.sqlite") as catalogue:
        if case.get("undo"):
            Undoing(catalogue, reached=reached).undo(case["undo"])
        else:
            apply_changes(catalogue, Wanted(sidecars=True), reached=reached)


def end_after(lines: int) -> None:
    """End the process after this many lines of the package were run."""
    left = lines

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not any(part in frame.f_code.co_filename for part in OURS):
            return None
        if event == "line":
            left -= 1
            if not left:
                os._exit(KILLED)
        return trace

    sys.settrace(trace)


if __name__ == "__main__":
    main()
