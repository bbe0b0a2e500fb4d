"""Kill import, embed, fit, suggest, update and apply at random: the old or the new state is whole.

    python benchmarks/kill_runs.py --kills 200 --out benchmarks/results/kill_runs.json

With another ``--seed`` the result is added to those that are in the file.

Each round starts a command that makes or replaces something and kills it after a random time. What
stands then must be what was there before, or nothing if nothing was, or what the command makes when
it is left alone, to the byte; of ``apply``, each sidecar by itself. The same command, given once
more, must finish the job and leave nothing else behind. Half of the kills fall into the last third
of the time, in which files are written. Commands run in forks of a process that has imported what
they need: a kill falls into their work and not into the start of Python.

All of it happens on a file system of its own of 64 MB, which a file fills up every seventh round: a
command may then end by itself, in one line. Mounting it takes root. Who may not says so with
``--no-mount``; the disk is then never full, and the result tells.
"""

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from planted import planted_collection
from sugartag.collection.digest import collection_digest
from sugartag.collection.store import open_collection, save_collection
from sugartag.collection.subset import some_images
from sugartag.errors import SugartagError
from sugartag.evaluation.cost import machine
from tiny_onnx import write_encoder

MEGABYTES = 64
FULL_EVERY = 7
"""Each so many rounds the disk has next to no room."""
LATE = 0.66
"""From this share of the time of a command on, what it makes is written."""
N_PICTURES = 60
LONGEST = 300.0
"""Seconds after which a command that is not to be killed is taken to hang."""
SECONDS_BETWEEN_LOOKS = 0.002


@dataclass(frozen=True)
class Job:
    """A command, what it makes, and what that is when it is left alone."""

    words: list[str]
    makes: tuple[Path, ...]
    state: Callable[[Path], str]
    """Tells what stands at one of the paths; raises if that is half of something."""
    before: Path
    """A folder with what an earlier command had made of the same names."""
    always_there: bool = False
    made: dict[Path, str] = field(default_factory=dict)
    """The state of each path once the command has ended; likewise, what was there before."""
    earlier: dict[Path, str] = field(default_factory=dict)

    def reset(self, *, there: bool) -> None:
        """Put what was there before in place, or nothing."""
        for path in self.makes:
            clear(path)
            if there and (self.before / path.name).exists():
                copy(self.before / path.name, path)

    def fault(self, *, there: bool) -> str | None:
        """Return what is wrong after a kill; None if everything is old or new."""
        for path in self.makes:
            allowed = {self.made[path], self.earlier[path] if there else "nothing"}
            if (found := seen(self.state, path)) not in allowed:
                return f"{path.name} is neither old nor new: {found}"
        return None

    def unfinished(self) -> str | None:
        """Return what the finished command should have made and has not."""
        for path in self.makes:
            if (found := seen(self.state, path)) != self.made[path]:
                return f"{path.name} is not what it should be: {found}"
        return None


def main() -> None:
    """Kill as often as asked, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-mount", action="store_true", help="Use the disk that is there.")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        disk, aside = Path(name) / "disk", Path(name) / "aside"
        disk.mkdir()
        aside.mkdir()
        if not asked.no_mount:
            mount(disk)
        try:
            rng = random.Random(asked.seed)
            found = rounds(disk, aside, asked.kills, rng, full=not asked.no_mount)
        finally:
            if not asked.no_mount:
                subprocess.run(["umount", str(disk)], check=False)
    found |= {
        "seconds": round(time.monotonic() - began),
        "own file system": None if asked.no_mount else f"tmpfs of {MEGABYTES} MB",
    }
    print(json.dumps(found, indent=1))
    if asked.out is not None:
        keep(asked.out, asked.seed, found)
    sys.exit(bool(found["faults"]))


def keep(out: Path, seed: int, found: dict[str, Any]) -> None:
    """Write what came of one seed beside that of others, and what they add up to."""
    before = json.loads(out.read_text(encoding="utf-8"))["seeds"] if out.exists() else {}
    runs = before | {str(seed): found}
    ends: Counter[str] = Counter()
    for run in runs.values():
        ends.update(run["ends"])
    numbers = ("kills", "rounds", "rounds with a full disk", "seconds")
    totals = {name: sum(run[name] for run in runs.values()) for name in numbers}
    totals |= {"ends": dict(sorted(ends.items()))}
    totals |= {"faults": [fault for run in runs.values() for fault in run["faults"]]}
    document = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), **totals, "seeds": runs}
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def mount(folder: Path) -> None:
    """Mount a small file system in memory; end if this user may not."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cannot mount a file system: {done.stderr.strip()}; see --no-mount")


def rounds(
    disk: Path, aside: Path, kills: int, rng: random.Random, *, full: bool
) -> dict[str, Any]:
    """Return how the rounds ended."""
    jobs, seconds = prepared(disk, aside)
    ends: Counter[str] = Counter()
    faults: list[str] = []
    count = killed = filled_up = 0
    while killed < kills:
        name = rng.choice(list(jobs))
        job, there = jobs[name], rng.random() < 0.5 or jobs[name].always_there
        job.reset(there=there)
        filler = fill(disk, rng) if full and count % FULL_EVERY == 0 else None
        least = rng.choice((0.1, LATE))
        end, said = ended(job.words, rng.uniform(least, 1.05) * seconds[name], aside)
        count, killed, filled_up = (
            count + 1, killed + (end == "killed"), filled_up + (filler is not None),
        )  # fmt: skip
        ends[f"{name}: {end}" + (", disk full" if filler is not None else "")] += 1
        problems = [job.fault(there=there), wrong_end(end, said)]
        if filler is not None:
            filler.unlink()
        again, said = ended(job.words, None, aside)
        problems += [None if again == "done" else f"{again}: {said[-300:]}", job.unfinished()]
        left = [str(path.relative_to(disk)) for path in disk.rglob(".*")]
        problems.append(f"left behind: {left}" if left else None)
        faults += [f"round {count}, {name}: {problem}" for problem in problems if problem]
        for path in disk.glob(".*"):
            clear(path)
    return {
        "kills": killed,
        "rounds": count,
        "rounds with a full disk": filled_up,
        "ends": dict(sorted(ends.items())),
        "faults": faults,
    }


def wrong_end(end: str, said: str) -> str | None:
    """Return what is wrong with how a command ended that was given little room, or little time."""
    if end in ("killed", "done"):
        return None
    lines = said.splitlines()
    fine = end == "exit 2" and lines and lines[-1].startswith("sugartag: ")
    return None if fine and "Traceback" not in said else f"{end}: {said[-300:]}"


def prepared(disk: Path, aside: Path) -> tuple[dict[str, Job], dict[str, float]]:
    """Make what the commands need; return the jobs, and how long each takes."""
    write_sources(disk, aside)
    jobs = {
        "import": ("import table.csv --out imported", ("imported",), digest),
        "embed": (f"embed shots --model onnx:{disk}/tiny.onnx", ("shots",), collection_state),
        "fit": ("fit photos --out model --checkpoint-every 0", ("model",), digest),
        "suggest": ("suggest model photos --out changes.csv", ("changes.csv",), digest),
        "update": ("fit more --update model --out updated", ("updated",), digest),
        "apply": (
            "apply shots decided.csv --sidecars --catalogue tags.sqlite --to-csv tags.csv",
            ("tags.csv", "tags.sqlite", "tags.sqlite.lock", *sidecars()),
            file_state,
        ),
    }
    made: dict[str, Job] = {}
    seconds: dict[str, float] = {}
    for name, (text, targets, state) in jobs.items():
        words = absolute(f"{text} --overwrite", disk)
        before = aside / name
        before.mkdir()
        paths = tuple(disk / target for target in targets)
        job = Job(words, paths, state, before, always_there=name == "embed")
        earlier(name, job, disk, aside)
        job.earlier.update({path: seen(state, before / path.name) for path in paths})
        for _ in range(2):  # The second time everything is imported and compiled.
            job.reset(there=True)
            began = time.monotonic()
            done(words, aside)
            seconds[name] = time.monotonic() - began
        job.made.update({path: seen(state, path) for path in paths})
        made[name] = job
    return made, seconds


def write_sources(disk: Path, aside: Path) -> None:
    """Write collections, a table, pictures, an encoder and decisions."""
    collection = planted_collection()
    save_collection(some_images(collection, np.arange(400)), disk / "photos")
    save_collection(some_images(collection, np.arange(400, 600)), disk / "more")
    lines = "".join(f"{n},owner {n % 50},sun|beach {n % 9}\n" for n in range(40_000))
    (disk / "table.csv").write_text("image_id,owner,tags\n" + lines)
    write_encoder(disk)
    (disk / "pictures").mkdir()
    rows = []
    for number in range(N_PICTURES):
        Image.new("L", (40, 30), 4 * number).save(disk / f"pictures/{number:02d}.jpg")
        rows.append(f"{number:02d}.jpg,sky,add,0.9,because,run,accept\n")
    (disk / "decided.csv").write_text(
        "image_id,tag,action,score,reason,run_id,decision\n" + "".join(rows)
    )
    done(absolute("import pictures --out shots", disk), aside)


def earlier(name: str, job: Job, disk: Path, aside: Path) -> None:
    """Make what stands before a command: of the same kind, and of other content."""
    commands = {
        "import": "import decided.csv --columns tags=tag --out imported",
        "fit": "fit photos --method tag-prior --out model",
        "suggest": "suggest model photos --top 1 --out changes.csv",
        "update": "fit photos --method tag-prior --out updated",
    }
    if name in commands:
        done(absolute(f"{commands[name]} --overwrite", disk), aside)
    for path in job.makes if name in {*commands, "embed"} else ():
        copy(path, job.before / path.name)


def sidecars() -> tuple[str, ...]:
    """Return the names of the sidecars that are written."""
    return tuple(f"pictures/{number:02d}.jpg.xmp" for number in range(N_PICTURES))


def absolute(text: str, disk: Path) -> list[str]:
    """Return the words of a command with the files of the disk in full."""
    return [
        str(disk / word) if (disk / word).exists() or before in ("--out", "--catalogue", "--to-csv")
        else word
        for before, word in zip(["", *text.split()], text.split(), strict=False)
    ]  # fmt: skip


def seen(state: Callable[[Path], str], path: Path) -> str:
    """Return what stands at a path: nothing, its state, or why it has none."""
    if not path.exists():
        return "nothing"
    try:
        return state(path)
    except (SugartagError, OSError, ValueError, sqlite3.Error) as error:
        return f"broken: {error}"


def digest(path: Path) -> str:
    """Return a digest of a file, or of all files of a folder, their names included."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    files = sorted(file for file in path.rglob("*") if file.is_file())
    names = [f"{file.relative_to(path)} {digest(file)}" for file in files]
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def collection_state(path: Path) -> str:
    """Return a digest of what a whole collection holds."""
    return collection_digest(open_collection(path))[:16]


def file_state(path: Path) -> str:
    """Return a digest of a file; of a catalogue, only that it is whole."""
    if path.suffix == ".lock":
        return "nothing"
    if path.suffix != ".sqlite":
        return digest(path)
    with sqlite3.connect(path) as catalogue:
        (found,) = catalogue.execute("PRAGMA integrity_check").fetchone()
    catalogue.close()
    if found != "ok":
        raise ValueError(f"the catalogue is damaged: {found}")
    return "nothing"


def done(words: list[str], aside: Path) -> None:
    """Run a command to its end, and import here what it has imported."""
    end, said = ended(words, None, aside)
    if end != "done":
        sys.exit(f"{' '.join(words)}: {end}: {said}")
    for name in (aside / "imported").read_text().splitlines():
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def ended(words: list[str], seconds: float | None, aside: Path) -> tuple[str, str]:
    """Start a command, kill it after a time, and return how it ended and what it said."""
    process = os.fork()
    if process == 0:
        carry_out(words, aside)
    ends = time.monotonic() + (LONGEST if seconds is None else seconds)
    while (found := os.waitpid(process, os.WNOHANG))[0] == 0:
        if time.monotonic() > ends:
            os.kill(process, signal.SIGKILL)
            found = os.waitpid(process, 0)
            break
        time.sleep(SECONDS_BETWEEN_LOOKS)
    code = os.waitstatus_to_exitcode(found[1])
    if code == -signal.SIGKILL:
        return ("hung" if seconds is None else "killed"), ""
    said = (aside / "said").read_text(errors="replace")
    return "done" if code == 0 else f"exit {code}", said


def carry_out(words: list[str], aside: Path) -> NoReturn:
    """Run a command in this process, a fork, and end it."""
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        said = os.open(aside / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number, to in enumerate((nowhere, nowhere, said)):
            os.dup2(to, number)
        from sugartag.cli.main import main as sugartag

        sugartag.main(args=words, prog_name="sugartag")
        code = 0
        (aside / "imported").write_text("\n".join(sys.modules))
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 0
    except BaseException:  # noqa: BLE001 - it is told, and the parent's work is not gone on with
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def fill(disk: Path, rng: random.Random) -> Path:
    """Leave at most a megabyte of room."""
    path = disk / "filler"
    room = shutil.disk_usage(disk).free - rng.randrange(1 << 20)
    path.write_bytes(b"\0" * max(room, 0))
    return path


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder."""
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)


def clear(target: Path) -> None:
    """Remove a file or a folder."""
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
