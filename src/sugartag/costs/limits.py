"""Whether a job keeps a limit of memory, and what would help: only what the formulas bear out."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from sugartag.costs.estimate import USUAL_ROWS
from sugartag.errors import CapacityError
from sugartag.resuming.engine import MAX_PILED_BYTES

ROOM = 1.2
"""What is needed for sure, in what the formulas say: a limit is kept with room for their error."""
FEWEST_ROWS = 256
"""Images of a block, at least: below, blocks save no more memory than they cost time."""


class Demand(ABC):
    """A job that takes memory, less of it the fewer images a block has."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the job is, in a few words that a verb can follow."""

    @property
    @abstractmethod
    def extent(self) -> str:
        """How large it is, in a few words."""

    @property
    @abstractmethod
    def last_resort(self) -> str:
        """What to say, after how much to allow, where nothing else helps."""

    @abstractmethod
    def largest_process(self, rows: int) -> float:
        """Return the bytes of the process that needs most, with so many images in a block."""

    @abstractmethod
    def alternatives(self) -> "Iterator[tuple[str, Demand]]":
        """Yield other ways to do the same job, with what to type or do for them."""

    def needed(self, rows: int = USUAL_ROWS) -> float:
        """Return the bytes that the largest process needs, with room for error.

        Results that wait to be written down, so that a run can be resumed, come on top.
        """
        return ROOM * self.largest_process(rows) + MAX_PILED_BYTES

    def rows_within(self, limit: float) -> int | None:
        """Return how many images a block may have to keep a limit; None if it cannot be kept."""
        rows = USUAL_ROWS
        while rows >= FEWEST_ROWS:
            if self.needed(rows) <= limit:
                return rows
            rows //= 2
        return None


def rows_within(job: Demand, limit: float) -> int:
    """Return how many images a block may have to keep a limit; raise with advice if none keeps."""
    rows = job.rows_within(limit)
    if rows is None:
        raise CapacityError(
            f"{job.name} needs about {in_bytes(job.needed(FEWEST_ROWS))} of memory for "
            f"{job.extent}, and may use {in_bytes(limit)}; {memory_advice(job, limit)}"
        )
    return rows


def memory_advice(job: Demand, limit: float) -> str:
    """Return in one line what would keep a limit, or at least what would need least."""
    others = list(job.alternatives())
    helping = [text for text, other in others if other.rows_within(limit) is not None]
    allowed = f"allow {in_bytes(job.needed(FEWEST_ROWS))}"
    if helping:
        return f"try {', or '.join(helping[:2])}, or {allowed}"
    needed = [(other.needed(FEWEST_ROWS), text) for text, other in others]
    least, text = min(needed, default=(float("inf"), ""))
    if least < 0.9 * job.needed(FEWEST_ROWS):
        return f"{allowed}, or {in_bytes(least)} with {text}"
    return f"{allowed}{job.last_resort}"


def in_bytes(count: float) -> str:
    """Return bytes as people say them, in powers of 1,024: 3.4 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1_000:
            return f"{count:.3g} {unit}"
        count /= 1_024
    return f"{count:.3g} PiB"
