"""What ``sugartag embed`` costs and how near its features are to those given for the photographs.

    python benchmarks/bench_embed.py --data DATA --original efficientnet-lite0.onnx

DATA holds ``documerica/``: photographs, their table, and features made elsewhere. In each round the
network alone is run on batches that lie in memory, then the command's own function on the files,
so that both meet the same machine. On a machine that is busy otherwise, processor seconds say more
than seconds. ``--original`` is the encoder with float32 weights, which the
shipped one, with float16 weights, is compared with.
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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.store import open_collection
from sugartag.evaluation.cost import machine
from sugartag.features.embedding import BATCH, embed_collection
from sugartag.features.encoders import ASSETS, SHIPPED, make_encoder
from sugartag.features.images import opened_inside
from sugartag.features.onnx_encoder import OnnxEncoder

ROUNDS = 5
THREADS = 2
VARIANTS = (
    ("crop", "bicubic"),
    ("crop", "bilinear"),
    ("crop", "lanczos"),
    ("letterbox", "bicubic"),
)


def main() -> int:
    """Measure, and write one JSON file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--original", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/embed.json"))
    asked = parser.parse_args()
    source = asked.data / "documerica"
    with tempfile.TemporaryDirectory() as scratch:
        folder = imported(source, Path(scratch))
        encoder = make_encoder(threads=THREADS)
        assert isinstance(encoder, OnnxEncoder)
        prepared = prepared_pictures(source / "photos", names(source), encoder)
        values = encoder.preprocessing.values(prepared)
        rounds = [one_round(folder, encoder, values) for _ in range(asked.rounds)]
        collection = open_collection(folder)
        features = collection.features_at(np.arange(collection.n_images))
    result: dict[str, Any] = {
        "format": "sugartag-bench-embed/1",
        "machine": machine(),
        "onnxruntime": onnxruntime.__version__,
        "images": len(features),
        "batch": BATCH,
        "threads": THREADS,
        "load_before": os.getloadavg()[0],
        "rounds": rounds,
        "median_share_of_bare_throughput": statistics.median(one["share"] for one in rounds),
        "median_share_of_processor_time": statistics.median(
            one["processor_share"] for one in rounds
        ),
        "cosine_with_given_features": cosines(features, given_features(source)),
        "cosine_by_preprocessing": by_preprocessing(source, encoder),
    }
    if asked.original is not None:
        full = OnnxEncoder(**{**vars(encoder), "session": session(asked.original)})
        result["cosine_float16_with_float32_weights"] = cosines(
            described(prepared, encoder), described(prepared, full)
        )
    asked.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in result.items() if key != "machine"}, indent=1))
    return 0


def names(source: Path) -> list[str]:
    """Return the file names of the photographs."""
    with (source / "photos.csv").open(encoding="utf-8", newline="") as file:
        return [row["file"] for row in csv.DictReader(file)]


def imported(source: Path, scratch: Path) -> Path:
    """Make a collection of the photographs."""
    table = scratch / "photos.csv"
    with (source / "photos.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_id", "owner", "tags", "path"])
        for row in rows:
            writer.writerow([Path(row["file"]).stem, row["creator"], row["keywords"], row["file"]])
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


def session(path: Path) -> onnxruntime.InferenceSession:
    """Open a network with onnxruntime's own settings but for the number of threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def one_round(folder: Path, encoder: OnnxEncoder, prepared: np.ndarray) -> dict[str, float]:
    """Time the bare network on what is prepared, then the whole job on the files.

    The network is run as onnxruntime comes, whose threads wait by spinning, and as the encoder
    runs it, without.
    """
    bare = timed_network(session(ASSETS / f"{SHIPPED}.onnx"), prepared)
    quiet = timed_network(encoder.session, prepared)
    whole = timed(lambda: embed_collection(folder, encoder, overwrite=True, threads=THREADS))
    n = len(prepared)
    return {
        "bare_images_per_second": n / bare[0],
        "bare_without_spinning_images_per_second": n / quiet[0],
        "embed_images_per_second": n / whole[0],
        "share": min(bare[0], quiet[0]) / whole[0],
        "bare_processor_seconds": bare[1],
        "bare_without_spinning_processor_seconds": quiet[1],
        "embed_processor_seconds": whole[1],
        "processor_share": quiet[1] / whole[1],
        "load_average": os.getloadavg()[0],
    }


def timed_network(
    network: onnxruntime.InferenceSession, prepared: np.ndarray
) -> tuple[float, float]:
    """Return what the network alone takes for all pictures, once it has been warmed up."""
    run(network, prepared[:BATCH])
    return timed(lambda: [run(network, part) for part in batches(prepared)])


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


def by_preprocessing(source: Path, encoder: OnnxEncoder) -> dict[str, dict[str, float]]:
    """Return the cosines with the given features for other ways of preparing pictures."""
    found = {}
    for fit, resample in VARIANTS:
        other = replace(
            encoder, preprocessing=replace(encoder.preprocessing, fit=fit, resample=resample)
        )
        prepared = prepared_pictures(source / "photos", names(source), other)
        found[f"{fit} {resample}"] = cosines(described(prepared, other), given_features(source))
    return found


def cosines(one: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """Return the mean and the least cosine between rows."""
    found = np.einsum("ij,ij->i", one, other)
    found = found / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    return {"mean": float(found.mean()), "least": float(found.min())}


if __name__ == "__main__":
    sys.exit(main())
