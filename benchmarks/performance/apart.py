"""A process of its own for each measurement, watched from outside."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from performance.record import CAPPED, FAILED, MEASURED
from sugartag.evaluation.cost import BYTES_PER_MB, anonymous_bytes
from sugartag.storage.aside import file_aside

SECONDS_BETWEEN_LOOKS = 0.1
MEMORY_SHARE = 0.95
"""Of the memory available at the start: a process that takes more is ended before the system
ends another one in its place."""
_MEMORY = Path("/proc/meminfo")


def run_apart(task: Mapping[str, Any], *, cap: float | None) -> dict[str, Any]:
    """Run a task in a new process and return what it found.

    The status says how it went: ``measured``, ``capped`` if it was ended after ``cap`` seconds or
    for lack of memory, ``failed`` otherwise.
    """
    with tempfile.TemporaryDirectory(prefix="sugartag-bench-") as name:
        folder = Path(name)
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        with (folder / "words").open("wb") as words:
            process = subprocess.Popen(
                [sys.executable, "-m", "performance.child", str(folder)],
                # The process ends when this pipe does: nobody works on for a dead parent.
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(_paths())},
                stderr=words,
            )
            try:
                watched = _watched(process, cap)
            finally:
                process.kill()
                process.communicate()
        return _outcome(folder, watched)


def _paths() -> list[str]:
    """Return where the new process looks for modules first: beside this package."""
    others = os.environ.get("PYTHONPATH")
    return [str(Path(__file__).parents[1]), *([others] if others else [])]


def write_result(folder: Path, found: Mapping[str, Any]) -> None:
    """Leave what a task found for the process that asked; called in the new process."""
    with file_aside(folder / "found.json") as partial:
        partial.write_text(json.dumps(found, allow_nan=False), encoding="utf-8")


def _watched(process: "subprocess.Popen[bytes]", cap: float | None) -> dict[str, Any]:
    """Wait for the end of a process, or bring it about."""
    began, peak = time.perf_counter(), 0
    most = _available_bytes() * MEMORY_SHARE
    ended_by = None
    while ended_by is None:
        try:
            process.wait(SECONDS_BETWEEN_LOOKS)
            break
        except subprocess.TimeoutExpired:
            held = anonymous_bytes(process.pid)
        peak = max(peak, held)
        if cap is not None and time.perf_counter() - began > cap:
            ended_by = "time"
        elif 0 < most < held:
            ended_by = "memory"
    return {
        "ended_by": ended_by,
        "seconds": time.perf_counter() - began,
        "peak_anonymous_mb": peak / BYTES_PER_MB,
    }


def _outcome(folder: Path, watched: Mapping[str, Any]) -> dict[str, Any]:
    if (folder / "found.json").exists():
        found: dict[str, Any] = json.loads((folder / "found.json").read_text(encoding="utf-8"))
        return {"status": MEASURED, **found}
    if watched["ended_by"] is not None:
        return {"status": CAPPED, **watched}
    words = (folder / "words").read_text(encoding="utf-8", errors="replace").split("\n")
    said = [line.strip() for line in words if line.strip()]
    reason = said[-1] if said else "the process was ended from outside, or for lack of memory"
    return {"status": FAILED, "reason": reason}


def _available_bytes() -> int:
    """Return the memory that is free to take; 0 where the system does not say."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
