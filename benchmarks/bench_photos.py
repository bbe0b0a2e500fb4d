"""How long ``sugartag photos`` takes for a folder of photographs, and what kills change.

    python benchmarks/bench_photos.py --data DATA

DATA holds ``documerica/``. Its photographs are written to a folder with an XMP sidecar each. The
command runs on it once undisturbed. Then it runs on it again, into another folder: it is killed
when half of the features are there, started again, killed while it fits, and started again. What
stands in both folders at the end is compared file by file.
"""

import argparse
import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from sugartag.evaluation.cost import machine

RESULTS = ("changes.csv", "collection", "model")
"""What both runs must agree on; the page names its folder."""


def main() -> int:
    """Run, kill, compare, and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--photographs", type=int, help="take the first so many only")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/photos.json"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        photos, at = Path(scratch) / "photos", Path(scratch)
        count = write_photographs(asked.data / "documerica", photos, asked.photographs)
        whole = run(photos, at / "whole")
        killed = [
            run(photos, at / "killed", until=half_described(at / "killed", count)),
            run(photos, at / "killed", until=fitting(at / "killed")),
        ]
        finish = run(photos, at / "killed")
        same = {name: digest(at / "whole" / name) == digest(at / "killed" / name)
                for name in RESULTS}  # fmt: skip
        actions = actions_in(at / "whole" / "changes.csv")
    result: dict[str, Any] = {
        "format": "sugartag-bench-photos/1",
        "machine": machine(),
        "photographs": count,
        "seconds": whole["seconds"],
        "processor_seconds": whole["processor_seconds"],
        "peak_rss_mb": whole["peak_rss_mb"],
        "load_average": os.getloadavg()[0],
        "changes": actions,
        "killed_after_seconds": [one["seconds"] for one in killed],
        "killed_by": [one["exit_code"] for one in killed],
        "seconds_to_finish": finish["seconds"],
        "same_result": same,
    }
    asked.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))
    as_meant = result["killed_by"] == [-signal.SIGKILL] * 2 and all(same.values())
    return 0 if as_meant and whole["exit_code"] == 0 else 1


def write_photographs(source: Path, folder: Path, most: int | None) -> int:
    """Write the photographs into a new folder, each with a sidecar; return how many there are."""
    folder.mkdir()
    with (source / "photos.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:most]
    for row in rows:
        (folder / row["file"]).write_bytes((source / "photos" / row["file"]).read_bytes())
        (folder / f"{row['file']}.xmp").write_text(sidecar(row), encoding="utf-8")
    return len(rows)


def sidecar(row: dict[str, str]) -> str:
    """Return the keywords and the creator of a photograph as XMP."""
    words = "".join(f"<rdf:li>{escape(word)}</rdf:li>" for word in row["keywords"].split("|"))
    return f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
   <dc:creator><rdf:Seq><rdf:li>{escape(row["creator"])}</rdf:li></rdf:Seq></dc:creator>
   <dc:subject><rdf:Bag>{words}</rdf:Bag></dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""


def half_described(out: Path, count: int) -> Callable[[], bool]:
    """Return what tells that half of the photographs are described, by the chunks that are kept."""
    from sugartag.features.embedding import IMAGES_PER_CHUNK

    wanted = count // IMAGES_PER_CHUNK // 2
    return lambda: len(list(out.glob(".collection.work/*"))) > wanted


def fitting(out: Path) -> Callable[[], bool]:
    """Return what tells that all photographs are described and a model is being made."""

    def is_fitting() -> bool:
        manifest = out / "collection" / "manifest.json"
        described = manifest.is_file() and '"encoder"' in manifest.read_text(encoding="utf-8")
        return described and not (out / ".collection.work").exists()

    return is_fitting


def run(photos: Path, out: Path, until: Callable[[], bool] | None = None) -> dict[str, Any]:
    """Run the command in a process of its own, and kill it as soon as ``until`` holds."""
    command = [sys.executable, "-m", "sugartag", "photos", str(photos), "--out", str(out)]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while until is not None and process.poll() is None:
        if until():
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.02)
    if process.returncode is None:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        used = usage.ru_utime + usage.ru_stime
        peak = usage.ru_maxrss / 1024
    else:  # It ended before it could be killed.
        used = peak = 0.0
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(used, 1),
        "peak_rss_mb": round(peak),
        "exit_code": process.returncode,
    }


def digest(path: Path) -> str:
    """Return one digest of a file, or of all files in a folder with their names."""
    found = hashlib.sha256()
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    for file in files:
        found.update(str(file.relative_to(path)).encode())
        found.update(file.read_bytes())
    return found.hexdigest()


def actions_in(changes: Path) -> dict[str, int]:
    """Count the changes proposed, by what they ask for."""
    with changes.open(encoding="utf-8", newline="") as file:
        return dict(Counter(row["action"] for row in csv.DictReader(file)))


if __name__ == "__main__":
    sys.exit(main())
