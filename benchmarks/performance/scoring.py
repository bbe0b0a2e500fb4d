"""``bench scoring``: images scored in a second, against what the machine can multiply."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from performance.paper_size import GEMM_SECONDS, GEMM_SIZES, VOTES, most_topics
from performance.planted import Planted
from performance.record import MEASURED
from performance.running import COMPILED, Entries, Step, Steps, compiling, cores
from performance.settings import choice_of, require_settings
from sugartag.collection.synthetic import medium

SETTINGS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "sugar-plus": ("sugar-plus", {}),
    # How the tensor was completed makes no difference to scoring.
    "sugar-tc": ("sugar-tc", {"preset": "repaired", "solver": "exact", "precision": "float32"}),
    "linear-probe": ("linear-probe", {}),
    **{name: ("tag-vote", settings) for name, settings in VOTES.items()},
}
"""Method and settings of everything that is measured."""


@dataclass(frozen=True)
class Scoring:
    """Settings; the defaults are the claim."""

    name: ClassVar[str] = "scoring"
    summary: ClassVar[str] = "Images scored in a second, against the rate of matrix products."

    images: int = 20_000
    tags: int = 2_000
    features: int = 512
    repeats: int = 3
    """Times that all images are scored; the fastest counts."""
    methods: tuple[str, ...] = tuple(SETTINGS)
    workers: int = field(default_factory=cores)
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "images", "tags", "features", "repeats", "workers")
        choice_of(self.methods, tuple(SETTINGS))

    def planted(self) -> Planted:
        """Return the collection."""
        world = replace(
            medium(),
            n_images=self.images,
            n_tags=self.tags,
            n_owners=max(1, self.images // 10),
            n_topics=most_topics(medium(), self.tags),
            n_features=self.features,
        )
        return Planted(world, self.seed)

    def steps(self) -> Steps:
        """Yield the machine's rates, then every method."""
        if COMPILED in self.methods:
            yield compiling(self.workers)
        yield Step(
            "rates", "rates", self.planted(), {"gemm": list(GEMM_SIZES), "seconds": GEMM_SECONDS}
        )
        for name in self.methods:
            method, settings = SETTINGS[name]
            asks = {
                "method": method,
                "settings": dict(settings),
                "repeats": self.repeats,
                "workers": self.workers,
                "seed": self.seed,
            }
            yield Step(name, "scoring", self.planted(), asks)

    def derived(self, entries: Entries) -> dict[str, Any]:
        """Return what share of the machine's rate of products each method comes to."""
        rates = entries.get("rates", {})
        if rates.get("status") != MEASURED:
            return {}
        gemm = rates["gemm"]["flops_per_second"]
        shares = {}
        for name in self.methods:
            entry = entries.get(name, {})
            if entry.get("status") == MEASURED:
                flops = entry["flops_per_image"]
                rate = entry["images_per_second"]
                shares[name] = None if flops is None else flops * rate / gemm
        return {"share_of_gemm": shares}
