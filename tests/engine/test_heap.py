import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import re
from pathlib import Path
from threading import Thread
import numpy as np
from sugartag.engine.heap import give_back_freed_memory, use_one_heap

def held():
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"RssAnon:\\s+(\\d+)", status).group(1)) / 1024

"""
HOLDS = """
arrays = [np.ones(8_000) for _ in range(3_000)]
kept = arrays[::50]
del arrays
before = held()
give_back_freed_memory()
print(before - held(), sum(len(array) for array in kept))
"""


THREADS = """
def work():
    small = [np.ones(8_000) for _ in range(500)]
    kept.append(np.ones(10))
    del small

use_one_heap()
# From now on arrays of less are put on a heap, and more than that is kept there.
np.ones(3_500_000)
kept, before = [], held()
threads = [Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
give_back_freed_memory()
print(held() - before)
"""

AGAIN = """
import resource

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

use_one_heap()
np.ones(8_000_000)
before = faults()
for _ in range(20):
    np.ones(8_000_000)
print(faults() - before)
"""


def run(script):
    """Return what a script prints, run in a process of its own."""
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells the anonymous memory of a process")
    command = [sys.executable, "-c", BEGIN + script]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return map(float, told.stdout.split())


def test_what_was_freed_between_arrays_that_are_kept_is_given_back():
    given_back, kept = run(HOLDS)

    assert kept == 60 * 8_000
    assert given_back > 100


def test_a_large_array_is_put_where_the_one_before_was_and_finds_its_pages_there():
    (faults,) = run(AGAIN)

    # 64 MB are thirty of the largest pages there are, and have to be made once.
    assert faults < 20


def test_what_threads_freed_is_given_back():
    (held,) = run(THREADS)

    assert held < 10
