"""``bench solvers``: the exact solver against the paper's multiplicative updates."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from performance.planted import Planted
from performance.record import MEASURED
from performance.running import Entries, Step, Steps, cores
from performance.settings import require_settings
from performance.solving import TRUNCATED
from sugartag.collection.synthetic import World

SOLVERS = ("exact", "multiplicative", "nonnegative", TRUNCATED)
TENTH = 10
"""Of the tag components a tenth is kept where they are truncated."""
UNITS_PER_CLUSTER = 10


@dataclass(frozen=True)
class Solvers:
    """Settings; the defaults are the claim."""

    name: ClassVar[str] = "solvers"
    summary: ClassVar[str] = "The exact solver against 450 multiplicative updates."

    images: int = 20_000
    tags: int = 2_000
    anchor_images: int = 200
    anchor_users: int = 60
    updates: int = 450
    """Multiplicative updates; the paper took 450."""
    workers: int = field(default_factory=cores)
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "images", "tags", "updates", "workers")
        require_settings(self, "anchor_images", "anchor_users")

    def planted(self) -> Planted:
        """Return the collection."""
        world = World(
            n_images=self.images,
            n_tags=self.tags,
            n_owners=max(1, self.images // 10),
            n_groups=200,
            n_topics=min(40, max(1, self.tags // 20)),
            n_features=128,
        )
        return Planted(world, self.seed)

    def steps(self) -> Steps:
        """Yield each solver on the same problem."""
        for solver in SOLVERS:
            asks = {
                "solver": solver,
                "updates": self.updates,
                "tag_components": max(1, self.tags // TENTH),
                "settings": {
                    "image_clusters": max(1, self.anchor_images // UNITS_PER_CLUSTER),
                    "user_clusters": max(1, self.anchor_users // UNITS_PER_CLUSTER),
                    "units_per_cluster": UNITS_PER_CLUSTER,
                    "anchor_reading": "image",
                },
                "workers": self.workers,
                "seed": self.seed,
            }
            yield Step(solver, "solver", self.planted(), asks)

    def derived(self, entries: Entries) -> dict[str, Any]:
        """Return the time of the exact solver over that of the updates."""
        exact, updates = (entries.get(name, {}) for name in SOLVERS[:2])
        if not exact.get("status") == updates.get("status") == MEASURED:
            return {}
        return {
            "exact_over_multiplicative": exact["seconds"] / updates["seconds"],
            "exact_over_multiplicative_cpu": exact["cpu_seconds"] / updates["cpu_seconds"],
            "exact_is_lowest": exact["objective"] <= updates["objective"],
        }
