"""What each stage of a fit costs, for methods that know nothing of being measured.

A stage is named by the functions that do its work. Whenever one of them is called, until it
returns, time and memory are that stage's; what a fit does outside of all of them is completion.
"""

import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

from sugartag.anchors import choose_units
from sugartag.anchors.clusters import sampled_features
from sugartag.anchors.owners import owner_profiles
from sugartag.completion.project import project_images
from sugartag.engine.heap import give_back_freed_memory
from sugartag.evaluation.cost import BYTES_PER_MB, SECONDS_BETWEEN_SAMPLES, resident_bytes
from sugartag.graph.image_links import median_distance
from sugartag.graph.tag_affinity import collection_affinity, count_tags_together
from sugartag.graph.user_links import user_links
from sugartag.methods.mrtf.estimator import build_objective
from sugartag.methods.near_images import image_graph
from sugartag.methods.ttc.parts import build_graphs
from sugartag.methods.ttc.triclusters import tricluster

CLUSTERING, ADJACENCY = "clustering", "adjacency"
COMPLETION, ASSIGNMENT = "completion", "assignment"
STAGES = (CLUSTERING, ADJACENCY, COMPLETION, ASSIGNMENT)
"""In the order of the paper's table."""
STAGE_NAMES = {
    "clustering": "Clustering",
    "adjacency": "Adjacency matrix",
    "completion": "Tensor completion",
    "assignment": "Tag assignment",
}

_TTC: Mapping[str, tuple[Callable[..., Any], ...]] = {
    CLUSTERING: (owner_profiles, tricluster, count_tags_together),
    ADJACENCY: (collection_affinity, build_graphs),
}
FUNCTIONS: Mapping[str, Mapping[str, tuple[Callable[..., Any], ...]]] = {
    "mrtf": {ADJACENCY: (image_graph, build_objective)},
    "ttc1": _TTC,
    "ttc2": _TTC,
    "sugar-tc": {
        CLUSTERING: (owner_profiles, choose_units),
        # The links of images are made, used and dropped block by block, inside the projection.
        ADJACENCY: (
            user_links,
            sampled_features,
            median_distance,
            collection_affinity,
            project_images,
        ),
    },
}
"""The functions of each stage but completion and assignment, by method."""


class StageMeter:
    """Measures the block it is the context of, apart for each stage.

    Memory is what the process holds above what it held on entering, sampled: a peak shorter than
    the time between two samples may be missed. Calls are watched in the calling thread only.
    """

    def __init__(
        self,
        functions: Mapping[str, tuple[Callable[..., Any], ...]],
        *,
        otherwise: str,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._stage_of: dict[CodeType, str] = {
            function.__code__: stage for stage, some in functions.items() for function in some
        }
        self._otherwise = otherwise
        self._clock = clock
        self._within: FrameType | None = None
        """The outermost call that belongs to a stage."""
        self._stage = otherwise
        self._since = 0.0
        self._before = 0
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample_until_over, daemon=True)
        self.seconds: dict[str, float] = {}
        self.peak_mb: dict[str, float] = {}

    def __enter__(self) -> Self:
        # Memory that was freed would be taken again without being seen.
        give_back_freed_memory()
        self._before = resident_bytes()
        self._since = self._clock()
        self._sampler.start()
        sys.setprofile(self._watch)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setprofile(None)
        self._turn_to(self._otherwise)
        self._over.set()
        self._sampler.join()

    def _watch(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and self._within is None:
            stage = self._stage_of.get(frame.f_code)
            if stage is not None:
                self._within = frame
                self._turn_to(stage)
        elif event == "return" and frame is self._within:
            self._within = None
            self._turn_to(self._otherwise)

    def _turn_to(self, stage: str) -> None:
        """Close the account of the stage so far, and open that of another."""
        self._sample()
        now = self._clock()
        self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now

    def _sample_until_over(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_SAMPLES):
            self._sample()

    def _sample(self) -> None:
        held = max(0, resident_bytes() - self._before) / BYTES_PER_MB
        self.peak_mb[self._stage] = max(self.peak_mb.get(self._stage, 0.0), held)
