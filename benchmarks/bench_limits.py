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
from collections.abc import Iterator
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
METHOD = "sugar-plus"


def main() -> None:
    """Measure what is asked for, keep what was measured before, and write both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--threads", nargs="*", type=int, choices=(1, 2), default=[1, 2])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    before = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    runs: dict[str, dict[str, Any]] = before.get("runs", {})
    for name in asked.cases:
        for threads, run in measured(CASES[name], asked.threads):
            runs[f"{name}, {threads} threads"] = run
            document = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "method": METHOD}
            kept = all(one["holds"] for one in runs.values())
            text = json.dumps(document | {"all hold": kept, "runs": runs}, indent=1)
            asked.out.write_text(text + "\n", encoding="utf-8")
            print(name, run, flush=True)
    sys.exit(not all(run["holds"] for run in runs.values()))


def measured(world: dict[str, Any], threads: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what fits of a planted collection take with limits that are just enough."""
    with tempfile.TemporaryDirectory(prefix="sugartag-limits-") as name:
        folder = Path(name)
        replace(medium(), **world).write(folder / "photos", 0)
        size = size_of(open_collection(folder / "photos"))
        words = ["fit", "photos", "--method", METHOD, "--out", "model", "--overwrite"]
        for count in threads:
            limit = advised(words, folder)
            if count > 1:
                plan = Plan.of(make_method(METHOD), size, workers=count)
                limit = str(int(needed(plan)) + 1)
            run = limited([*words, "--workers", str(count), "--max-memory", limit], folder)
            asked = memory_amount(limit)
            about = {"world": world, "tags_per_image": round(size.given / size.images)}
            holds = run["exit_code"] == 0 and run["peak_anonymous_bytes"] <= asked
            yield count, about | {"limit": limit, "limit_bytes": asked, **run, "holds": holds}


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
