"""Kill import, fit, suggest and update at random: afterwards the old or the new state is whole.

    python benchmarks/kill_runs.py --kills 200 --out benchmarks/results/kill_runs.json

Each round starts a command that makes or replaces a target and kills it after a random time. What
stands under the name must then be absent (if it was before) or whole, and the same command, given
once more, must finish the job and leave nothing else behind. Where this user may mount one, all of
it happens on a file system of 64 MB that a file fills up now and then.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from planted import planted_collection
from sugartag.collection.store import save_collection
from sugartag.collection.subset import some_images

SUGARTAG = [sys.executable, "-m", "sugartag"]
MEGABYTES = 64
FULL_EVERY = 7
"""Each so many rounds the disk has next to no room."""


def main() -> None:
    """Kill as often as asked, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, mounted = Path(name), mount(Path(name))
        try:
            found = rounds(folder, asked.kills, random.Random(asked.seed), full=mounted)
        finally:
            if mounted:
                subprocess.run(["umount", name], check=False)
    found |= {"kills asked": asked.kills, "seed": asked.seed, "own file system": mounted}
    text = json.dumps(found, indent=1)
    print(text)
    if asked.out is not None:
        asked.out.write_text(text + "\n", encoding="utf-8")
    sys.exit(bool(found["faults"]))


def mount(folder: Path) -> bool:
    """Mount a small file system in memory, if this user may."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def rounds(folder: Path, kills: int, rng: random.Random, *, full: bool) -> dict[str, Any]:
    """Return how the rounds ended."""
    jobs = prepared(folder)
    seconds = {name: timed(command) for name, (command, _) in jobs.items()}
    ends: Counter[str] = Counter()
    faults: list[str] = []
    for number in range(kills):
        name = rng.choice(list(jobs))
        command, target = jobs[name]
        there = rng.random() < 0.5
        if not there:
            clear(target)
        filled = fill(folder, rng) if full and number % FULL_EVERY == 0 else None
        ends[f"{name} {killed(command, rng.uniform(0.2, 1.1) * seconds[name])}"] += 1
        if target.exists() != there and not target.exists():
            faults.append(f"{name}: what stood there is gone")
        if target.exists() and not whole(target):
            faults.append(f"{name}: half of something stands there")
        if filled is not None:
            filled.unlink()
        again = subprocess.run(command, capture_output=True, text=True, check=False)
        if again.returncode != 0 or not whole(target):
            faults.append(f"{name}: the same command does not finish: {again.stderr[-200:]}")
        left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
        if left:
            faults.append(f"{name}: left behind {left}")
            for path in folder.glob(".*"):
                clear(path)
    return {"rounds": kills, "ends": dict(sorted(ends.items())), "faults": faults}


def prepared(folder: Path) -> dict[str, tuple[list[str], Path]]:
    """Make what the commands need, and return them with what each makes."""
    collection = planted_collection()
    save_collection(some_images(collection, np.arange(400)), folder / "photos")
    save_collection(some_images(collection, np.arange(400, 600)), folder / "more")
    lines = "".join(f"{n},owner {n % 50},sun|beach {n % 9}\n" for n in range(40_000))
    (folder / "table.csv").write_text("image_id,owner,tags\n" + lines)
    words = {
        "import": ("import table.csv --out imported --overwrite", "imported"),
        "fit": ("fit photos --out model --checkpoint-every 0 --overwrite", "model"),
        "suggest": ("suggest model photos --out changes.csv --overwrite", "changes.csv"),
        "update": ("fit more --update model --out updated --overwrite", "updated"),
    }
    jobs = {
        name: ([*SUGARTAG, *absolute(text, folder)], folder / target)
        for name, (text, target) in words.items()
    }
    for command, _ in jobs.values():
        subprocess.run(command, check=True, capture_output=True)
    return jobs


def absolute(text: str, folder: Path) -> list[str]:
    """Return the words of a command with the files of the folder in full."""
    files = {"table.csv", "imported", "photos", "more", "model", "changes.csv", "updated"}
    return [str(folder / word) if word in files else word for word in text.split()]


def timed(command: list[str]) -> float:
    """Return how long a command takes."""
    began = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - began


def killed(command: list[str], seconds: float) -> str:
    """Start a command, kill it after a time, and say how it ended."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return "killed"
    return "done" if code == 0 else f"exit {code}"


def fill(folder: Path, rng: random.Random) -> Path:
    """Leave at most a megabyte of room."""
    path = folder / "filler"
    room = shutil.disk_usage(folder).free - rng.randrange(1 << 20)
    path.write_bytes(b"\0" * max(room, 0))
    return path


def whole(target: Path) -> bool:
    """Tell whether a folder is whole, or a table ends with a line."""
    if target.is_file():
        return target.read_bytes().endswith(b"\n")
    done = subprocess.run([*SUGARTAG, "doctor", str(target)], capture_output=True, check=False)
    return done.returncode == 0


def clear(target: Path) -> None:
    """Remove a file or a folder."""
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
