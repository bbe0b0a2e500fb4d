"""``bench scaling``: time and memory of fit and scores as collections grow."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

from performance.paper_size import most_topics
from performance.planted import Planted
from performance.record import MEASURED
from performance.running import COMPILED, Entries, Step, Steps, compiling, cores
from performance.settings import choice_of, require_settings
from sugartag.collection.synthetic import medium
from sugartag.errors import SettingsError
from sugartag.methods.registry import method_names

IMAGES_PER_OWNER, IMAGES_PER_GROUP = 10, 50
COMPARED = 4
"""The largest collection is compared with the one of a quarter of its images."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # Two modes of different size, so that the tensor of 2,000 tags stays below half a gigabyte.
    "sugar-tc": {
        "preset": "repaired",
        "image_clusters": 20,
        "user_clusters": 6,
        "units_per_cluster": 10,
        "anchor_reading": "image",
        "solver": "exact",
    }
}
"""What differs from the defaults of a method."""


@dataclass(frozen=True)
class Scaling:
    """Settings; the defaults are the claim."""

    name: ClassVar[str] = "scaling"
    summary: ClassVar[str] = "Time and memory of fit and scores from 25,000 to 1,000,000 images."

    images: tuple[int, ...] = (25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000)
    tags: int = 2_000
    features: int = 512
    methods: tuple[str, ...] = ("sugar-plus",)
    workers: int = field(default_factory=cores)
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "tags", "features", "workers")
        if not self.images or min(self.images) < 1 or len(set(self.images)) < len(self.images):
            raise SettingsError(f"--images is {self.images}; give different sizes of at least 1")
        choice_of(self.methods, method_names())

    def planted(self, images: int) -> Planted:
        """Return the collection of one size; features are stored in half precision."""
        world = replace(
            medium(),
            n_images=images,
            n_tags=self.tags,
            n_owners=max(1, images // IMAGES_PER_OWNER),
            n_groups=max(1, images // IMAGES_PER_GROUP),
            n_topics=most_topics(medium(), self.tags),
            n_features=self.features,
        )
        return Planted(world, self.seed, half=True)

    def steps(self) -> Steps:
        """Yield every method at each size, the smallest first."""
        if COMPILED in self.methods:
            yield compiling(self.workers, half=True)
        for images in sorted(self.images):
            for method in self.methods:
                asks = {
                    "method": method,
                    "settings": dict(SETTINGS.get(method, {})),
                    "workers": self.workers,
                    "seed": self.seed,
                }
                yield Step(_key(method, images), "method", self.planted(images), asks)

    def derived(self, entries: Entries) -> dict[str, Any]:
        """Return what each method's time and memory grow by, from size to size."""
        return {"growth": {method: self._growth(method, entries) for method in self.methods}}

    def _growth(self, method: str, entries: Entries) -> list[dict[str, float]]:
        found = {
            images: entry
            for images in sorted(self.images)
            if (entry := entries.get(_key(method, images), {})).get("status") == MEASURED
        }
        sizes = list(found)
        pairs = list(pairwise(sizes))
        if sizes and sizes[-1] // COMPARED in found:
            pairs.append((sizes[-1] // COMPARED, sizes[-1]))
        return [
            {
                "from": few,
                "to": many,
                "images": many / few,
                "seconds": found[many]["seconds"] / found[few]["seconds"],
                "peak_anonymous": found[many]["peak_anonymous_mb"]
                / found[few]["peak_anonymous_mb"],
            }
            for few, many in dict.fromkeys(pairs)
        ]


def _key(method: str, images: int) -> str:
    return f"{method} {images}"
