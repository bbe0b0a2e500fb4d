"""Programs run as anybody: what may not be read is not, though the tests may run as root."""

import ctypes
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


@dataclass(frozen=True)
class Ran:
    """What came of a program."""

    exit_code: int
    stdout: str
    stderr: str
    peak_mb: float


def run_unprivileged(arguments: Sequence[object], scratch: Path) -> Ran:
    """Run a program that may read only what its user may; return what it said and took."""
    out, err = scratch / "stdout", scratch / "stderr"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            list(map(str, arguments)), stdout=stdout, stderr=stderr, preexec_fn=_give_up
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Ran(
        exit_code=process.returncode,
        stdout=out.read_text(encoding="utf-8"),
        stderr=err.read_text(encoding="utf-8"),
        peak_mb=usage.ru_maxrss / 1024,
    )


def _give_up() -> None:
    if os.geteuid() == 0:
        library = ctypes.CDLL(None)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            library.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
