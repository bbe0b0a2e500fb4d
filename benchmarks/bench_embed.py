"""What ``sugartag embed`` costs and how near its features are to those given for the photographs.

    python benchmarks/bench_embed.py speed --data DATA
    python benchmarks/bench_embed.py accuracy --data DATA --original efficientnet-lite0.onnx

DATA holds ``documerica/``: photographs, their table, and features made elsewhere.

``speed`` compares the command's own function, from files to a stored collection, with onnxruntime
alone on batches that lie in memory. onnxruntime is run in every way that may be the fastest here:
as it comes, without the spinning of its threads, and with a thread to each batch. A round is made
of short turns, of all ways one after the other and beginning with another one each time, so that
work of others on the machine meets all of them. Its share is that of the fastest bare way of the
round.

``accuracy`` compares features with those given; ``--original`` is the encoder with float32 weights,
which the shipped one, with float16 weights, is compared with.
"""

import argparse
import csv
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from sugartag.collection.readers import Sources, import_collection
from sugartag.evaluation.cost import machine
from sugartag.features.embedding import BATCH, embed_collection
from sugartag.features.encoders import ASSETS, SHIPPED, make_encoder
from sugartag.features.images import opened_inside
from sugartag.features.onnx_encoder import OnnxEncoder

ROUNDS = 6
TURNS = 3
PHOTOGRAPHS_PER_TURN = 64
THREADS = 2
RESULTS = Path("benchmarks/results")
VARIANTS = (
    ("crop", "bicubic"),
    ("crop", "bilinear"),
    ("crop", "lanczos"),
    ("letterbox", "bicubic"),
)


def main() -> int:
    """Measure, and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speed", "accuracy"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--original", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    source = asked.data / "documerica"
    if asked.what == "speed":
        result = speed(source, asked.rounds)
    else:
        result = accuracy(source, asked.original)
    common = {
        "format": f"sugartag-bench-embed-{asked.what}/1",
        "machine": machine(),
        "onnxruntime": onnxruntime.__version__,
    }
    out = asked.out or RESULTS / f"embed-{asked.what}.json"
    out.write_text(json.dumps({**common, **result}, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))
    return 0


def speed(source: Path, rounds: int) -> dict[str, Any]:
    """Return what each round measured, and the shares of all of them."""
    encoder = shipped()
    turns = [
        names(source)[turn * PHOTOGRAPHS_PER_TURN : (turn + 1) * PHOTOGRAPHS_PER_TURN]
        for turn in range(TURNS)
    ]
    values = [
        encoder.preprocessing.values(prepared_pictures(source / "photos", files, encoder))
        for files in turns
    ]
    networks = {"as it comes": session(spinning=True), "without spinning": session()}
    single = session(threads=1)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(THREADS) as pool:
        folders = [
            imported(source, files, Path(scratch) / f"turn{turn}")
            for turn, files in enumerate(turns)
        ]

        def jobs(turn: int) -> dict[str, Callable[[], object]]:
            parts = batches(values[turn])
            return {
                **{
                    name: lambda network=network: [run(network, part) for part in parts]
                    for name, network in networks.items()
                },
                "a thread to a batch": lambda: list(pool.map(lambda one: run(single, one), parts)),
                "embed": lambda: embed_collection(
                    folders[turn], encoder, overwrite=True, threads=THREADS
                ),
            }

        jobs(0)["embed"]()
        found = [
            one_round([jobs(turn) for turn in range(TURNS)], first=number * TURNS)
            for number in range(rounds)
        ]
    shares = [one["share"] for one in found]
    return {
        "photographs_per_round": sum(map(len, turns)),
        "turns": TURNS,
        "batch": BATCH,
        "threads": THREADS,
        "rounds": found,
        "share_of_bare_throughput": {
            "median": statistics.median(shares),
            "least": min(shares),
            "most": max(shares),
        },
        "share_of_processor_time": statistics.median(one["processor_share"] for one in found),
    }


def one_round(turns: list[dict[str, Callable[[], object]]], *, first: int) -> dict[str, Any]:
    """Time all ways turn by turn; images a second of each, and the share of the fastest."""
    took = {name: [0.0, 0.0] for name in turns[0]}
    for number, jobs in enumerate(turns, first):
        order = list(jobs)
        for name in order[number % len(order) :] + order[: number % len(order)]:
            for which, spent in enumerate(timed(jobs[name])):
                took[name][which] += spent
    bare = [name for name in took if name != "embed"]
    n = TURNS * PHOTOGRAPHS_PER_TURN
    return {
        "images_per_second": {name: n / seconds for name, (seconds, _) in took.items()},
        "processor_seconds": {name: used for name, (_, used) in took.items()},
        "share": min(took[name][0] for name in bare) / took["embed"][0],
        "processor_share": min(took[name][1] for name in bare) / took["embed"][1],
        "load_average": os.getloadavg()[0],
    }


def accuracy(source: Path, original: Path | None) -> dict[str, Any]:
    """Return how near the features of all photographs are to those given."""
    encoder, given = shipped(), given_features(source)
    variants = {}
    for fit, resample in VARIANTS:
        how = replace(encoder.preprocessing, fit=fit, resample=resample)
        other = replace(encoder, preprocessing=how)
        prepared = prepared_pictures(source / "photos", names(source), other)
        variants[f"{fit} {resample}"] = cosines(described(prepared, other), given)
    fit, resample = encoder.preprocessing.fit, encoder.preprocessing.resample
    result: dict[str, Any] = {
        "images": len(given),
        "cosine_with_given_features": variants[f"{fit} {resample}"],
        "cosine_by_preprocessing": variants,
    }
    if original is not None:
        prepared = prepared_pictures(source / "photos", names(source), encoder)
        full = replace(encoder, session=session(original))
        result["cosine_float16_with_float32_weights"] = cosines(
            described(prepared, encoder), described(prepared, full)
        )
    return result


def shipped() -> OnnxEncoder:
    """Return the shipped encoder."""
    encoder = make_encoder(threads=THREADS)
    assert isinstance(encoder, OnnxEncoder)
    return encoder


def names(source: Path) -> list[str]:
    """Return the file names of the photographs."""
    with (source / "photos.csv").open(encoding="utf-8", newline="") as file:
        return [row["file"] for row in csv.DictReader(file)]


def imported(source: Path, files: list[str], scratch: Path) -> Path:
    """Make a collection of some photographs."""
    scratch.mkdir()
    table = scratch / "photos.csv"
    with (source / "photos.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_id", "owner", "tags", "path"])
        for name in files:
            row = rows[name]
            writer.writerow([Path(name).stem, row["creator"], row["keywords"], name])
    import_collection(Sources(table, images_root=source / "photos"), scratch / "photos")
    return scratch / "photos"


def given_features(source: Path) -> np.ndarray:
    """Return the features that were made elsewhere, in the order of the photographs."""
    with (source / "images.csv").open(encoding="utf-8", newline="") as file:
        row_of = {row["image_id"]: number for number, row in enumerate(csv.DictReader(file))}
    stored = np.load(source / "features.npy", mmap_mode="r")
    return np.stack([stored[row_of[Path(name).stem]] for name in names(source)]).astype(np.float32)


def prepared_pictures(root: Path, files: list[str], encoder: OnnxEncoder) -> np.ndarray:
    """Return all pictures as the network takes them."""
    found = []
    for name in files:
        with opened_inside(str(root), name) as file:
            found.append(encoder.prepare(file.picture(side=encoder.size)))
    return np.stack(found)


def session(
    path: Path = ASSETS / f"{SHIPPED}.onnx", *, threads: int = THREADS, spinning: bool = False
) -> onnxruntime.InferenceSession:
    """Open a network, to be run by so many threads a batch."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spinning)))
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def timed(job: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds and the processor seconds that a job takes."""
    began, used = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - began, time.process_time() - used


def batches(prepared: np.ndarray) -> list[np.ndarray]:
    """Return the pictures in batches."""
    return [prepared[start : start + BATCH] for start in range(0, len(prepared), BATCH)]


def run(network: onnxruntime.InferenceSession, batch: np.ndarray) -> np.ndarray:
    """Return the rows of one batch."""
    return network.run(["feat"], {"x": batch})[0]


def described(prepared: np.ndarray, encoder: OnnxEncoder) -> np.ndarray:
    """Return the rows of all prepared pictures."""
    return np.concatenate([encoder.encode(part) for part in batches(prepared)])


def cosines(one: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """Return the mean and the least cosine between rows."""
    found = np.einsum("ij,ij->i", one, other)
    found = found / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    return {"mean": float(found.mean()), "least": float(found.min())}


if __name__ == "__main__":
    sys.exit(main())
