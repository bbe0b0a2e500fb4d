"""What a measuring process does: the kinds of tasks."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from performance.flops import fit_flops, scoring_flops
from performance.rates import gemm_rate, read_rate
from performance.solving import finite, solver_work, update_work
from sugartag._typing import FloatArray
from sugartag.collection.model import Collection
from sugartag.collection.store import open_collection
from sugartag.collection.subset import without_truth
from sugartag.engine import LocalEngine
from sugartag.engine.base import Block, Engine
from sugartag.evaluation.cost import Meter
from sugartag.evaluation.protocol import method_rng
from sugartag.methods.base import Fitted, Method
from sugartag.methods.registry import make_method
from sugartag.methods.sugar_tc.fitted import FittedSugarTC
from sugartag.reproduce.stages import ASSIGNMENT, COMPLETION, FUNCTIONS, STAGES, StageMeter

ROWS_PER_BLOCK = 2_048
"""Images scored at once, at most."""

Asks = Mapping[str, Any]
Found = dict[str, Any]


def method_work(asks: Asks, folder: Path) -> Found:
    """Fit a method and score all images or a share of them, scores discarded."""
    collection, engine, method = _opened(asks, folder)
    rng = method_rng(asks["method"], asks["seed"])
    with Meter() as fit, _stages_of(asks["method"]) as stages:
        fitted = method.fit(collection, engine=engine, rng=rng)
    blocks = asked_blocks(collection, asks.get("query_share", 1.0))
    with Meter() as score:
        total = _score(collection, fitted, blocks, engine)
    scored = sum(block.stop - block.start for block in blocks)
    found: Found = {
        "fit_seconds": fit.seconds,
        "score_seconds": score.seconds,
        "seconds": fit.seconds + score.seconds,
        "cpu_seconds": fit.cpu_seconds + score.cpu_seconds,
        "stolen_seconds": fit.stolen_seconds + score.stolen_seconds,
        "images_scored": scored,
        "share_scored": scored / collection.n_images,
        "mean_score": total / scored,
        **_peaks(fit, score),
        "counts": _counts(collection),
        "flops": fit_flops(method, collection),
    }
    if stages is not None:
        found["stages"] = _by_stage(stages, score, fit.before_rss_mb)
    if isinstance(fitted, FittedSugarTC):
        found["objective"] = fitted.objective
        found["relative_gap"] = finite(fitted.gap)
        found["anchors"] = [len(fitted.anchor_image), len(fitted.anchor_user)]
    return found


def scoring_work(asks: Asks, folder: Path) -> Found:
    """Fit a method, then score all images several times: the fastest time counts."""
    collection, engine, method = _opened(asks, folder)
    rng = method_rng(asks["method"], asks["seed"])
    with Meter() as fit:
        fitted = method.fit(collection, engine=engine, rng=rng)
    blocks = asked_blocks(collection, 1.0)
    # What is made once and then kept does not count.
    _score(collection, fitted, blocks, engine)
    times = []
    with Meter() as score:
        for _ in range(asks["repeats"]):
            began = time.perf_counter()
            _score(collection, fitted, blocks, engine)
            times.append(time.perf_counter() - began)
    return {
        "fit_seconds": fit.seconds,
        "score_seconds": times,
        "images_per_second": collection.n_images / min(times),
        "cpu_seconds": score.cpu_seconds / len(times),
        "flops_per_image": scoring_flops(method, fitted, collection),
        **_peaks(fit, score),
        "counts": _counts(collection),
    }


def rate_work(asks: Asks, folder: Path) -> Found:
    """Measure how fast this machine multiplies, and reads the features of a collection."""
    sizes = asks["gemm"]
    return {
        "gemm": gemm_rate(*sizes, seconds=asks["seconds"]),
        "read": read_rate(sorted(folder.glob("shards/*/features.npy"))),
    }


def asked_blocks(collection: Collection, share: float) -> tuple[Block, ...]:
    """Return blocks spread evenly over the collection that have about a share of its images."""
    wanted = max(1, round(share * collection.n_images))
    blocks = collection.blocks(min(ROWS_PER_BLOCK, wanted))
    count = max(1, round(share * len(blocks)))
    # From the middle of equal parts: the last block is shorter than the others.
    places = ((np.arange(count) + 0.5) * len(blocks) / count).astype(int)
    return tuple(blocks[place] for place in places)


def sum_of_scores(block: Block, collection: Collection, fitted: Fitted) -> FloatArray:
    """Score the images of a block; all that is kept is the sum."""
    by_image = fitted.scores(collection.rows(block)).sum(axis=1)
    return np.array([by_image.sum(dtype=np.float64)])


def _score(
    collection: Collection, fitted: Fitted, blocks: tuple[Block, ...], engine: Engine
) -> float:
    parts = engine.map(sum_of_scores, blocks, collection, fitted)
    return float(sum(part[0] for part in parts))


def _opened(asks: Asks, folder: Path) -> tuple[Collection, LocalEngine, Method]:
    collection = without_truth(open_collection(folder, verify=False))
    method = make_method(asks["method"], asks.get("settings", {}))
    return collection, LocalEngine(workers=asks["workers"], scratch=folder.parent), method


@contextmanager
def _stages_of(method: str) -> Iterator[StageMeter | None]:
    if method not in FUNCTIONS:
        yield None
        return
    with StageMeter(FUNCTIONS[method], otherwise=COMPLETION) as meter:
        yield meter


def _by_stage(fit: StageMeter, score: Meter, before: float) -> Found:
    """Return time and memory by stage, memory being what the process holds beyond ``before``."""
    seconds = fit.seconds | {ASSIGNMENT: score.seconds}
    peaks = fit.peak_mb | {ASSIGNMENT: max(0.0, score.peak_rss_mb - before)}
    return {
        stage: {"seconds": seconds[stage], "mb": peaks[stage]}
        for stage in STAGES
        if stage in seconds
    }


def _peaks(*meters: Meter) -> Found:
    return {
        "before_mb": meters[0].before_anonymous_mb,
        "peak_rss_mb": max(meter.peak_rss_mb for meter in meters),
        "peak_anonymous_mb": max(meter.peak_anonymous_mb for meter in meters),
    }


def _counts(collection: Collection) -> dict[str, int]:
    return {
        "images": collection.n_images,
        "tags": collection.n_tags,
        "owners": collection.n_owners,
        "groups": collection.n_groups,
        "features": collection.n_features,
        "given_tags": sum(shard.tags.nnz for shard in collection.shards),
    }


KINDS: Mapping[str, Callable[[Asks, Path], Found]] = {
    "method": method_work,
    "scoring": scoring_work,
    "rates": rate_work,
    "updates": update_work,
    "solver": solver_work,
}
"""What a task of each kind does with its collection."""
