"""A fit as planned: the seconds, memory and disk that it takes."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sugartag.collection.model import BLOCK_ROWS, Collection
from sugartag.costs.calibration import RATE, Costs, shipped_costs, weighted
from sugartag.costs.formulas import disk_parts, held_parts, thread_parts
from sugartag.costs.machine import Rates
from sugartag.costs.size import Size, size_of
from sugartag.methods.base import Method
from sugartag.pipeline.model import Model

SENT_COPIES = 2
"""Copies of what is held, in a process that sends or receives it: as arrays and as a message."""
NOMINAL = Rates(cores=1, product=RATE)
"""For questions about memory, which do not depend on the machine."""


@dataclass(frozen=True)
class Plan:
    """A method, a size, and the workers that fit it."""

    method: Method
    size: Size
    costs: Costs
    workers: int = 1
    apart: bool = False
    """Whether workers are processes, on this or other machines, rather than threads."""
    rates: Rates = NOMINAL

    @classmethod
    def of(cls, method: Method, size: Size, **how: Any) -> "Plan":
        """Return the plan with the constants that come with the package."""
        return cls(method, size, shipped_costs(method), **how)

    @property
    def subject(self) -> tuple[str, str]:
        """What needs memory, and for what: words for a message."""
        return self.method.name, f"{self.size.images:,} images and {self.size.tags:,} tags"

    @property
    def seconds(self) -> float:
        """The time of the fit."""
        return self._divided(self.costs.fit.at(self.size), self.costs.pass_share)

    @property
    def suggest_seconds(self) -> float:
        """The time of ``sugartag suggest`` for the same images."""
        return self._divided(self.costs.suggest.at(self.size), 1.0)

    def memory(self, rows: int = BLOCK_ROWS) -> float:
        """Return the peak memory in bytes: of the largest process if there are several."""
        held = weighted(held_parts(self.method, self.size), self.costs.memory)
        thread = weighted(thread_parts(self.method, self.size, rows), self.costs.memory)
        if self.apart:
            return self.costs.base_bytes + SENT_COPIES * held + thread
        return self.costs.base_bytes + held + self.workers * thread

    @property
    def model_bytes(self) -> float:
        """The size of the model folder."""
        return weighted(disk_parts(self.method, self.size), self.costs.disk)

    @property
    def scratch_bytes(self) -> float:
        """The size of files that exist only while the fit runs."""
        return self.costs.scratch_bytes * self.size.images

    def as_json(self, rows: int = BLOCK_ROWS) -> dict[str, Any]:
        """Return the estimate, rounded to the digits that mean something."""
        memory = self.memory(rows)
        return {
            "method": self.method.name,
            "size": asdict(self.size),
            "workers": self.workers,
            "rows_per_block": rows,
            "within_a_factor_of": self.costs.within,
            "seconds": _rounded(self.seconds),
            "bytes": _rounded(memory),
            "worker_bytes": _rounded(memory) if self.apart else None,
            "model_bytes": _rounded(self.model_bytes),
            "scratch_bytes": _rounded(self.scratch_bytes),
            "collection_bytes": _rounded(self.size.disk),
            "suggest": {"seconds": _rounded(self.suggest_seconds)},
        }

    def _divided(self, seconds: float, pass_share: float) -> float:
        """Return seconds of this machine, with the passes divided by the workers."""
        useful = self.workers if self.apart else min(self.workers, self.rates.cores)
        return seconds * RATE / self.rates.product * (1.0 - pass_share + pass_share / useful)


@dataclass(frozen=True)
class Update(Plan):
    """Images added to a model: as much memory as a fit of all images, and the model once more."""

    added: int = 0
    known: int = 0

    @classmethod
    def to(cls, model: Model, collection: Collection, **how: Any) -> "Update":
        """Return the plan of adding a collection to a model."""
        before, more = model.catalogue, size_of(collection)
        images = _together(before.ids, collection.ids)
        size = Size(
            images=images,
            tags=_together(before.tag_names, collection.tag_names),
            given=more.given / more.images * images,
            owners=_together(before.owner_names, collection.owner_names),
            features=more.features,
        )
        costs = shipped_costs(model.method)
        return cls(model.method, size, costs, added=more.images, known=len(before.ids), **how)

    @property
    def subject(self) -> tuple[str, str]:
        """What needs memory, and for what: words for a message."""
        return "an update", f"{self.added:,} images and a model of {self.known:,}"

    def memory(self, rows: int = BLOCK_ROWS) -> float:
        """Return the peak memory of the update in bytes."""
        return super().memory(rows) + self.model_bytes


def _together(known: Iterable[str], more: Iterable[str]) -> int:
    """Return how many different names two lists have; only the second is held in memory."""
    new = set(more)
    return len(new) + sum(name not in new for name in known)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
