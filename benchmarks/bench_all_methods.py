"""Time and memory of every method on a planted collection of 20,000 images, in one command.

Plants the collection and runs ``sugartag evaluate`` on it in a process of its own, as a user would.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sugartag.collection.synthetic import medium

SEED = 0


def main() -> int:
    """Run the command and say how long it took; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", default="all")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "world"
        medium().write(world, SEED)
        began = time.perf_counter()
        command = [sys.executable, "-m", "sugartag", "evaluate", str(world)]
        command += ["--methods", asked.methods, "--out", str(asked.out), "--overwrite"]
        code = subprocess.run(command, check=False).returncode
    print(f"{time.perf_counter() - began:.0f} s in all: {asked.out}")
    return code


if __name__ == "__main__":
    sys.exit(main())
