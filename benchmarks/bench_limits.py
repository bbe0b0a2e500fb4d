"""Whether ``--max-memory`` holds where collections are unusual: many features, many tags an image.

    python benchmarks/bench_limits.py --out benchmarks/results/limits.json

For each collection ``sugartag fit`` is first refused, then given the limit that it advises, to the
byte, and then one that is enough for two threads. The peak is that of the anonymous memory of the
process, as in docs/estimate.md, sampled from outside; the whole resident peak stands beside it.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from sugartag.cli.amounts import memory_amount
from sugartag.collection import open_collection
from sugartag.collection.synthetic import medium
from sugartag.costs import size_of
from sugartag.costs.estimate import Plan
from sugartag.costs.limits import needed
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import make_method

SUGARTAG = [sys.executable, "-m", "sugartag"]
SECONDS_BETWEEN_SAMPLES = 0.005
USUAL = {"n_images": 6_000, "n_tags": 1_000, "n_owners": 300, "n_features": 128, "n_topics": 8}
MANY = {"n_tags": 4_000, "n_topics": 2, "missing_share": 0.0, "tags_per_image": 600.0}
CASES: dict[str, dict[str, Any]] = {
    "8,192 features": USUAL | {"n_features": 8_192},
    "4,096 features": USUAL | {"n_features": 4_096},
    "600 tags an image": USUAL | MANY,
    "600 tags an image, more images": USUAL | MANY | {"n_images": 18_000, "n_owners": 900},
}
TOO_LITTLE = "1M"


def main() -> None:
    """Measure all cases, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--method", default="sugar-plus")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    cases = {name: measured(asked.method, CASES[name]) for name in asked.cases}
    kept = all(run["exit_code"] == 0 and run["holds"] for runs in cases.values() for run in runs)
    document = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "method": asked.method}
    text = json.dumps(document | {"all hold": kept, "cases": cases}, indent=1)
    print(text)
    if asked.out is not None:
        asked.out.write_text(text + "\n", encoding="utf-8")
    sys.exit(not kept)


def measured(method: str, world: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what fits of a planted collection take with limits that are just enough."""
    with tempfile.TemporaryDirectory(prefix="sugartag-limits-") as name:
        folder = Path(name)
        replace(medium(), **world).write(folder / "photos", 0)
        size = size_of(open_collection(folder / "photos"))
        words = ["fit", "photos", "--method", method, "--out", "model", "--overwrite"]
        two = needed(Plan.of(make_method(method), size, workers=2))
        limits = {1: advised(words, folder), 2: f"{int(two) + 1}"}
        runs = []
        for threads, limit in limits.items():
            run = limited([*words, "--workers", "2", "--max-memory", limit], folder)
            asked = memory_amount(limit)
            runs.append(
                {
                    "world": world,
                    "tags_per_image": round(size.given / size.images),
                    "threads": threads,
                    "limit": limit,
                    "limit_bytes": asked,
                    **run,
                    "holds": run["peak_anonymous_bytes"] <= asked,
                }
            )
            print(runs[-1], file=sys.stderr, flush=True)
    return runs


def advised(words: list[str], folder: Path) -> str:
    """Return the limit that the refusal of a fit says to allow, as an option takes it."""
    command = [*SUGARTAG, *words, "--max-memory", TOO_LITTLE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = re.search(r"allow ([\d.]+ \w+)", done.stderr)
    if done.returncode != 2 or found is None:
        raise SystemExit(f"no advice: exit code {done.returncode}, {done.stderr}")
    return found[1]


def limited(words: list[str], folder: Path) -> dict[str, Any]:
    """Run a command, and return how it ended and its peak memory."""
    anonymous = resident = 0
    began = time.monotonic()
    with subprocess.Popen(
        [*SUGARTAG, *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None:
            used = memory_of(process.pid)
            anonymous = max(anonymous, used.get("RssAnon", 0))
            resident = max(resident, used.get("VmHWM", 0))
            time.sleep(SECONDS_BETWEEN_SAMPLES)
        said = process.stderr.read() if process.stderr is not None else ""
    return {
        "exit_code": process.returncode,
        "seconds": round(time.monotonic() - began, 1),
        "peak_anonymous_bytes": anonymous,
        "peak_resident_bytes": resident,
        "said": said[-300:] if process.returncode else "",
    }


def memory_of(process: int) -> dict[str, int]:
    """Return what Linux says of the memory of a process, in bytes; nothing once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): int(count) << 10 for name, count, _ in pairs}


if __name__ == "__main__":
    main()
