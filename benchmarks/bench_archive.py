"""How long ``sugartag import`` takes for a NUS-WIDE-128 of 100,000 images, and how much memory.

    python benchmarks/bench_archive.py --out benchmarks/results/archive.json

Writes an archive in the official layout with random content (image list, tags of which most are not
in the final list, 128 files of ground truth, users, groups) and features of 500 numbers, and
imports it in a process of its own.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from sugartag.evaluation.cost import machine

IMAGES, TAGS, OTHER_TAGS, CONCEPTS, USERS, GROUPS = 100_000, 5_018, 400_000, 128, 20_000, 5_000
TAGS_PER_IMAGE, GROUPS_PER_USER, FEATURES = 18, 20, 500
SEED = 0


def main() -> int:
    """Write the archive, import it and write what it took as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/archive.json"))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "NUS-WIDE"
        write_archive(root, asked.images)
        megabytes = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) / 1e6
        measured = import_archive(root, Path(scratch) / "collection")
    result = {
        "archive": {
            "images": asked.images,
            "concepts": CONCEPTS,
            "users": USERS,
            "groups": GROUPS,
            "features": FEATURES,
            "megabytes": round(megabytes),
        },
        "machine": machine(),
        **measured,
    }
    asked.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{measured['seconds']} s, {measured['peak_rss_mb']} MB: {asked.out}")
    return int(measured["exit_code"])


def write_archive(root: Path, n_images: int) -> None:
    """Write an archive in the layout of NUS-WIDE-128."""
    rng = np.random.default_rng(SEED)
    for name in ("ImageList", "NUS_WID_Tags", "Groundtruth/AllLabels"):
        (root / name).mkdir(parents=True)
    photos = 100_000_000 + np.arange(n_images) * 7
    (root / "ImageList" / "Imagelist.txt").write_text(
        "".join(f"class{p % 704}\\{i:04d}_{p}.jpg\n" for i, p in enumerate(photos.tolist())),
        encoding="utf-8",
    )
    names = [f"tag{n}" for n in range(TAGS)] + [f"other{n}" for n in range(OTHER_TAGS)]
    (root / "NUS_WID_Tags" / "Final_Tag_List.txt").write_text(
        "".join(f"{name}\n" for name in names[:TAGS]), encoding="utf-8"
    )
    with (root / "NUS_WID_Tags" / "All_Tags.txt").open("w", encoding="utf-8") as file:
        for photo in photos.tolist():
            # Squares, so that few tags are used often and most seldom.
            chosen = (rng.random(TAGS_PER_IMAGE) ** 2 * len(names)).astype(int).tolist()
            file.write(f"{photo}\t {' '.join(names[n] for n in chosen)}\n")
    for n in range(CONCEPTS):
        labels = (rng.random(n_images) < 0.02).astype(int).tolist()
        path = root / "Groundtruth" / "AllLabels" / f"Labels_tag{n}.txt"
        path.write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    owners = rng.integers(0, USERS, n_images).tolist()
    (root / "users.txt").write_text(
        "".join(f"{p}\t{o}@N00\n" for p, o in zip(photos.tolist(), owners, strict=True)),
        encoding="utf-8",
    )
    with (root / "groups.txt").open("w", encoding="utf-8") as file:
        for user in range(USERS):
            for group in rng.integers(0, GROUPS, GROUPS_PER_USER).tolist():
                file.write(f"{user}@N00\tgroup {group}\n")
    np.save(root / "bow.npy", rng.random((n_images, FEATURES), dtype=np.float32))


def import_archive(root: Path, out: Path) -> dict[str, Any]:
    """Run the command in a process of its own; return its time and its peak memory."""
    arguments = ["-m", "sugartag", "import", str(root), "--out", str(out)]
    began = time.perf_counter()
    process = os.spawnv(
        os.P_NOWAIT,
        sys.executable,
        [sys.executable, *arguments, "--features", str(root / "bow.npy")],
    )
    _, status, usage = os.wait4(process, 0)
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "peak_rss_mb": round(usage.ru_maxrss / 1024),
        "exit_code": os.waitstatus_to_exitcode(status),
    }


if __name__ == "__main__":
    sys.exit(main())
