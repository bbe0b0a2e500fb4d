"""What a fit will take on this machine, or on many like it: seconds, bytes, and where."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from sugartag.costs.calibration import Calibration, Rough
from sugartag.costs.families import Job, is_counted
from sugartag.costs.rates import Rates
from sugartag.costs.size import Size
from sugartag.costs.work import Stage
from sugartag.methods.base import Method
from sugartag.methods.sugar_tc import SugarTC

USUAL_ROWS = 8_192
"""Images of a block, where memory does not ask for fewer."""
COUNTED_WITHIN, ITERATED_WITHIN, ROUGH_WITHIN = 1.5, 2.0, 3.0
"""By what factor an estimate may be off, as far as it was tested; the second is that of solvers
whose number of steps depends on the data."""


COPIES_SENT, COPIES_GOT = 4.0, 5.0
"""Times that what is sent to workers is in the memory of the process that leads, and of a worker,
about: packed, in messages, unpacked, and what was sent for the pass before."""
LEADING_BYTES = 40e6
"""Of a process that leads others, beside what any has loaded."""


@dataclass(frozen=True)
class StageCost:
    """What one stage takes."""

    name: str
    seconds: float
    passes: int
    """Times that all images are read."""
    bytes: float
    """Memory of the process that leads, at its peak."""
    worker_bytes: float
    """Memory of each worker, where these are processes of their own."""
    sent_bytes: float
    """What goes over the network then: to each worker what it needs, from each block its sums, but
    for those that the workers add up before."""
    serial_seconds: float
    """The part that more workers do not make shorter."""


@dataclass(frozen=True)
class Estimate:
    """What a fit takes, and what suggesting for all its images would."""

    method: str
    size: Size
    workers: int
    apart: bool
    """Whether workers are processes, on this or other machines, rather than threads."""
    rows: int
    """Images of a block."""
    within: float
    """By what factor this may be off."""
    stages: tuple[StageCost, ...]
    suggest: StageCost
    model_bytes: float
    scratch_bytes: float
    """Files that are there while it runs, and go when it ends: what a run that was killed would go
    on with, and arrays that grow with the collection."""

    @property
    def seconds(self) -> float:
        """Of the whole fit."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def serial_seconds(self) -> float:
        """Of the whole fit, that more workers do not make shorter."""
        return sum(stage.serial_seconds for stage in self.stages)

    @property
    def peak(self) -> StageCost:
        """The stage that takes most memory."""
        return max(self.stages, key=lambda stage: stage.bytes)

    @property
    def bytes(self) -> float:
        """Memory of the process that leads, at the peak of the fit."""
        return self.peak.bytes

    @property
    def worker_bytes(self) -> float:
        """Memory of each worker, where these are processes of their own."""
        return max(stage.worker_bytes for stage in self.stages)

    @property
    def largest_process(self) -> float:
        """Memory of the process that needs most."""
        return max(self.bytes, self.worker_bytes) if self.apart else self.bytes

    @property
    def passes(self) -> int:
        """Times that all images are read in a fit."""
        return sum(stage.passes for stage in self.stages)

    @property
    def sent_bytes(self) -> float:
        """What goes over the network in a fit, where workers are processes of their own."""
        return sum(stage.sent_bytes for stage in self.stages) if self.apart else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return everything, rounded to what means something."""
        whole = {
            "method": self.method,
            "size": asdict(self.size),
            "workers": self.workers,
            "workers_are_processes": self.apart,
            "rows_per_block": self.rows,
            "within_a_factor_of": self.within,
            "seconds": self.seconds,
            "serial_seconds": self.serial_seconds,
            "bytes": self.bytes,
            "worker_bytes": self.worker_bytes if self.apart else None,
            "sent_bytes": self.sent_bytes,
            "passes": self.passes,
            "model_bytes": self.model_bytes,
            "scratch_bytes": self.scratch_bytes,
            "collection_bytes": self.size.disk,
            "stages": [asdict(stage) for stage in self.stages],
            "suggest": asdict(self.suggest),
        }
        rounded: dict[str, Any] = _rounded(whole)
        return rounded


def estimate_fit(
    method: Method,
    size: Size,
    rates: Rates,
    calibration: Calibration,
    *,
    workers: int | None = None,
    apart: bool = False,
    rows: int = USUAL_ROWS,
) -> Estimate:
    """Return what fitting a collection of this size takes.

    ``workers`` are threads of this process, one a core unless said otherwise, or if ``apart`` as
    many processes with a core like one of this machine's each.
    """
    count = workers or rates.cores
    job = Job(method, size, rows, calibration, apart)
    if is_counted(method):
        stages = job.fit_stages()
        made = tuple(_cost(stage, job, rates, count, apart) for stage in stages)
        scratch = _scratch(stages, job)
        suggest = _cost(job.suggest_stage(), job, rates, count, apart)
        model = calibration.disk_factor(method.name) * job.disk()
    else:
        rough = calibration.rough.get(method.name, UNMEASURED)
        scratch = 0.0
        made, suggest, model = _by_power_law(rough, size, rates, calibration)
    return Estimate(
        method=method.name,
        size=size,
        workers=count,
        apart=apart,
        rows=rows,
        within=_within(method),
        stages=made,
        suggest=suggest,
        model_bytes=model,
        scratch_bytes=scratch,
    )


def _within(method: Method) -> float:
    if not is_counted(method):
        return ROUGH_WITHIN
    iterated = isinstance(method, SugarTC) and method.solver != "exact"
    return ITERATED_WITHIN if iterated else COUNTED_WITHIN


def _cost(stage: Stage, job: Job, rates: Rates, workers: int, apart: bool) -> StageCost:
    name, calibration = job.method.name, job.calibration
    slower = calibration.time_factor(name, stage.name)
    larger = calibration.memory_factor(name, stage.name)
    # Threads beyond the cores wait for each other.
    useful = workers if apart else min(workers, rates.cores)
    blocks = max(1.0, job.size.images / job.rows)
    local = stage.held + workers * (stage.block + stage.answer + stage.band)
    # Of what comes back, one is taken or made while the next is there or the last is sent.
    answers = 2.0 * stage.message
    lead = stage.held + COPIES_SENT * stage.shared + answers + rates.cores * stage.band
    worker = COPIES_GOT * stage.shared + answers + stage.block
    base = calibration.base_bytes + stage.loaded
    serial = replace(stage, passes=stage.passes * 0.0)
    fixed = stage.fixed / rates.calls
    return StageCost(
        name=stage.name,
        seconds=slower * stage.seconds(rates, useful) + fixed,
        passes=stage.n_passes,
        bytes=base + (LEADING_BYTES + larger * lead if apart else larger * local),
        worker_bytes=base + larger * worker,
        sent_bytes=(stage.shared * workers + stage.sent(blocks)) * stage.n_passes,
        serial_seconds=slower * serial.seconds(rates, useful) + fixed,
    )


def _scratch(stages: tuple[Stage, ...], job: Job) -> float:
    """Return the bytes of files that are there while a fit runs."""
    return sum(_kept(stage, job) for stage in stages) + max(stage.grown for stage in stages)


def _kept(stage: Stage, job: Job) -> float:
    """Return what a run that can be resumed writes down of a stage."""
    if stage.kept is not None:
        return stage.kept
    # Sums are kept once; what is gathered, a block at a time.
    rows = job.size.images if stage.n_passes else 0
    held = stage.held + stage.grown
    return min(stage.answer * max(1.0, rows / job.rows), held) * stage.n_passes


UNMEASURED = Rough(20_000, 2_000, 30.0, 1.0, 1.0, 1e9, 1.0, 1.0, 1e8)


def _by_power_law(
    rough: Rough, size: Size, rates: Rates, calibration: Calibration
) -> tuple[tuple[StageCost, ...], StageCost, float]:
    images, tags = size.images / rough.images, size.tags / rough.tags
    slower = calibration.product32_all / rates.product32_all
    seconds = rough.seconds * images**rough.seconds_by_images * tags**rough.seconds_by_tags
    memory = rough.bytes * images**rough.bytes_by_images * tags**rough.bytes_by_tags
    memory += calibration.base_bytes
    whole = StageCost("fitting", seconds * slower, 1, memory, memory, 0.0, seconds * slower)
    # Scoring is as for methods whose operations are counted: a few arrays of images x tags.
    scoring = size.images * (size.tags * 300.0 / rates.copied + 150.0 / rates.calls)
    suggest = replace(whole, name="suggesting", seconds=scoring, serial_seconds=0.0)
    return (whole,), suggest, rough.disk * images


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
