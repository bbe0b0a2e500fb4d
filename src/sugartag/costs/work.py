"""What a stage of a job consists of: operations by kind, memory, and what goes over a network."""

from dataclasses import dataclass, field, fields, replace

from sugartag.costs.rates import Rates
from sugartag.engine.dask import FAN_IN


@dataclass(frozen=True)
class Work:
    """Operations by kind; two works can be added, and one be multiplied."""

    product32: float = 0.0
    """Multiplications and additions of float32 matrix products."""
    product64: float = 0.0
    solve64: float = 0.0
    """Those of Cholesky factors, inverses and eigenvectors, float64."""
    sparse: float = 0.0
    """Multiply-adds of sparse matrices."""
    copied: float = 0.0
    """Bytes that arithmetic on arrays writes."""
    hashed: float = 0.0
    read: float = 0.0
    """Bytes of files."""
    calls: float = 0.0
    """Small steps in Python."""

    def __add__(self, other: "Work") -> "Work":
        """Return both together."""
        return Work(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __mul__(self, times: float) -> "Work":
        """Return the same so many times."""
        return Work(*(getattr(self, f.name) * times for f in fields(self)))

    def seconds_of_one(self, rates: Rates) -> float:
        """Return how long one core takes."""
        return self._others(rates) + (
            self.product32 / rates.product32_one
            + self.product64 / rates.product64_one
            + self.solve64 / rates.solve64_all
        )

    def seconds_of_all(self, rates: Rates) -> float:
        """Return how long one process takes whose matrix products use all cores."""
        return self._others(rates) + (
            self.product32 / rates.product32_all
            + self.product64 / rates.product64_all
            + self.solve64 / rates.solve64_all
        )

    def seconds_of_cores(self, rates: Rates) -> float:
        """Return how long all cores take, each with its own parts.

        Cores that share their units do not multiply faster apart than together.
        """
        product32 = min(rates.product32_all, rates.cores * rates.product32_one)
        product64 = min(rates.product64_all, rates.cores * rates.product64_one)
        return (
            (self._others(rates) + self.solve64 / rates.solve64_all) / rates.cores
            + self.product32 / product32
            + self.product64 / product64
        )

    def _others(self, rates: Rates) -> float:
        return (
            self.sparse / rates.sparse_one
            + self.copied / rates.copied
            + self.hashed / rates.hashed
            + self.read / rates.read
            + self.calls / rates.calls
        )


FIXED_CALLS = 20_000.0
"""Small steps that any stage takes, however small: threads are started, files are opened."""
LOADING_CALLS = 1_300_000.0
"""Small steps that loading compiled loops is as long as, where a process first needs them."""
LOOPS_BYTES = 30e6
"""Of compiled loops, and of what has loaded them."""


@dataclass(frozen=True)
class Stage:
    """One part of a job. Its constants are looked up by its name in the calibration."""

    name: str
    passes: Work = field(default_factory=Work)
    """Done block by block, by all workers."""
    threaded: Work = field(default_factory=Work)
    """Done by the process that leads, in parts on all its cores."""
    serial: Work = field(default_factory=Work)
    """Done by one process between the passes, or while the results of blocks come in."""
    fixed: float = FIXED_CALLS
    """Small steps that it takes however small the collection is; no calibration changes them."""
    n_passes: int = 0
    """Times that all images are read."""
    loaded: float = 0.0
    """Bytes of compiled loops, in every process."""
    held: float = 0.0
    """Bytes that the process which leads holds meanwhile."""
    grown: float = 0.0
    """Bytes of arrays that grow with the collection: in scratch files of the process that leads."""
    block: float = 0.0
    """Bytes that a worker takes for the block it works on."""
    shared: float = 0.0
    """Bytes that each worker must have, beside its block: part of what is held or grown. To workers
    that are processes of their own it is sent once a pass, packed by the process that leads."""
    band: float = 0.0
    """Bytes that each thread takes of the process that leads, between passes."""
    answer: float = 0.0
    """Bytes that each block sends back."""
    summed: float = 0.0
    """Bytes of the answer that do not grow when workers, being processes of their own, add up some
    blocks before they send it; 0 where they do not."""
    kept: float | None = None
    """Bytes that a run which can be resumed writes down; None for the answers of all blocks."""

    def seconds(self, rates: Rates, workers: int) -> float:
        """Return how long it takes, without what any stage takes and what calibration adds."""
        return (
            self.passes.seconds_of_one(rates) / workers
            + self.threaded.seconds_of_cores(rates)
            + self.serial.seconds_of_all(rates)
        )

    @property
    def message(self) -> float:
        """Bytes that come in at once from a worker: of a block, or of some that are added up."""
        return self.summed + self._together * (self.answer - self.summed)

    def sent(self, blocks: float) -> float:
        """Return the bytes that come back from workers in a pass over so many blocks."""
        return max(1.0, blocks / self._together) * self.message

    @property
    def _together(self) -> int:
        """Blocks whose answers come in together."""
        return FAN_IN if self.summed else 1

    def twice(self) -> "Stage":
        """Return the same stage, gone through two times."""
        return replace(
            self,
            passes=self.passes * 2.0,
            threaded=self.threaded * 2.0,
            serial=self.serial * 2.0,
            n_passes=2 * self.n_passes,
        )
