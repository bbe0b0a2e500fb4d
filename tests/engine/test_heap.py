import subprocess
import sys
from pathlib import Path

import pytest

HOLDS = """
import re
from pathlib import Path
import numpy as np
from sugartag.engine.heap import give_back_freed_memory

def held():
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"RssAnon:\\s+(\\d+)", status).group(1)) / 1024

arrays = [np.ones(8_000) for _ in range(3_000)]
kept = arrays[::50]
del arrays
before = held()
give_back_freed_memory()
print(before - held(), sum(len(array) for array in kept))
"""


def test_what_was_freed_between_arrays_that_are_kept_is_given_back():
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells the anonymous memory of a process")
    command = [sys.executable, "-c", HOLDS]
    told = subprocess.run(command, capture_output=True, text=True, check=True)

    given_back, kept = map(float, told.stdout.split())

    assert kept == 60 * 8_000
    assert given_back > 100
