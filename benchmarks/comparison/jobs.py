"""One method with one seed: tuned, then fitted and measured with its defaults and as tuned.

A job keeps a file of its own, written anew after each trial and each measurement, so that a run
that was killed loses one of these at most.
"""

import json
import math
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from comparison.rounds import HIDDEN_SHARE, Case, Round
from sugartag.engine import LocalEngine
from sugartag.errors import StorageError, SugartagError
from sugartag.evaluation.tuning import Trial, best, tune, tuning_task
from sugartag.methods.registry import make_method
from sugartag.storage.aside import file_aside

FORMAT = "sugartag-comparison-job/1"
FIRST_SEED = 0
DIGITS = 6
_MEASURED = ("score", "map", "miap", "f_top5")


@dataclass(frozen=True)
class Effort:
    """How much is done for each method and seed."""

    budget: int
    """Trials of tuning; 0 to leave the defaults."""
    replicates: int
    """Resamplings of images or landmarks behind the intervals of the first seed."""


@dataclass(frozen=True)
class Job:
    """A method and a seed."""

    method: str
    seed: int

    def file_in(self, folder: Path) -> Path:
        """Return the file that keeps what was found so far."""
        return folder / f"{self.method}-{self.seed}.json"


def run_job(job: Job, case: Case, folder: Path, *, effort: Effort) -> dict[str, Any]:
    """Do what of a job is not done yet, and return what it found."""
    file = job.file_in(folder)
    here = case.start(job.seed)
    header = {"format": FORMAT, "collection": case.name, **asdict(job), "data": here.counts()}
    kept = _kept(file, header)
    if "default" not in kept:
        kept["default"] = _measured(job, here, {})
        write_json(file, header | kept)
    trials = [_trial(entry) for entry in kept.get("trials", [])]
    for trial in _further_trials(job, here, trials, effort.budget):
        trials.append(trial)
        kept["trials"] = [asdict(one) for one in trials]
        write_json(file, header | kept)
    counted = trials[: effort.budget]
    chosen = dict(best(counted).settings) if counted else {}
    # Resampling is dear, and wanted of one run: the first as tuned.
    replicates = effort.replicates if job.seed == FIRST_SEED else 0
    if kept.get("tuned_with") != [chosen, replicates]:
        is_new = bool(chosen) or replicates > 0
        kept["tuned"] = _measured(job, here, chosen, replicates) if is_new else kept["default"]
        kept["tuned_with"] = [chosen, replicates]
    run = _run(kept, chosen, counted)
    kept["finished"] = asdict(effort) | {"run": run}
    write_json(file, header | kept)
    return run


def finished_run(job: Job, folder: Path, *, effort: Effort) -> dict[str, Any] | None:
    """Return what a job found that is done with this effort; None if it is not."""
    file = job.file_in(folder)
    finished = read_json(file).get("finished") if file.exists() else None
    if not isinstance(finished, dict):
        return None
    run: dict[str, Any] = finished.pop("run")
    return run if finished == asdict(effort) else None


def forget_jobs(method: str, folder: Path) -> None:
    """Delete what the jobs of a method found, whatever their seed."""
    for file in folder.glob(f"{method}-*.json"):
        # Names of methods may begin with those of others.
        if file.stem.removeprefix(f"{method}-").isdigit():
            file.unlink()


def rng_of(method: str, seed: int) -> np.random.Generator:
    """Return the random numbers of `sugartag evaluate`: the same whichever others are compared."""
    return np.random.default_rng([seed, zlib.crc32(method.encode())])


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a file holds."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read {path}: {error}; delete it to start it anew") from error
    if not isinstance(document, dict):
        raise StorageError(f"{path} holds no object; delete it to start it anew")
    return document


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Replace the file in one step; a number without a value is written as null."""
    text = json.dumps(plain_values(document), indent=1, ensure_ascii=False, allow_nan=False)
    with file_aside(path, overwrite=True) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def plain_values(value: Any, *, digits: int | None = None) -> Any:
    """Return what JSON keeps of a value, None for what is no number, rounded if so asked."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(inner, digits=digits) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(inner, digits=digits) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}") if digits and isinstance(value, float) else value


def _kept(file: Path, header: Mapping[str, Any]) -> dict[str, Any]:
    if not file.exists():
        return {}
    kept = read_json(file)
    differing = [key for key in header if kept.get(key) != header[key]]
    if differing:
        key = differing[0]
        raise StorageError(
            f"{file} was made with {key} {kept.get(key)!r}, not {header[key]!r}; "
            "delete it to start it anew"
        )
    return {key: value for key, value in kept.items() if key not in header}


def _measured(
    job: Job, here: Round, settings: Mapping[str, Any], replicates: int = 0
) -> dict[str, Any]:
    """Return the metrics, or why there are none."""
    rng = rng_of(job.method, job.seed)
    try:
        method = make_method(job.method, settings)
        found = here.measure(
            method, engine=LocalEngine(blas_threads=1), rng=rng, replicates=replicates
        )
    except (SugartagError, MemoryError) as error:
        return {"failed": str(error) or type(error).__name__}
    cleaned: dict[str, Any] = plain_values(found, digits=DIGITS)
    return cleaned


def _further_trials(job: Job, here: Round, done: Sequence[Trial], budget: int) -> Iterator[Trial]:
    if len(done) >= budget:
        return iter(())
    return tune(
        job.method,
        tuning_task(here.given, share=HIDDEN_SHARE, seed=job.seed),
        budget=budget,
        engine=LocalEngine(blas_threads=1),
        seed=job.seed,
        done=list(done),
    )


def _run(
    kept: Mapping[str, Any], chosen: Mapping[str, Any], trials: Sequence[Trial]
) -> dict[str, Any]:
    scores = [trial.score for trial in trials]
    found: dict[str, Any] = plain_values(
        {
            "date": time.strftime("%Y-%m-%d"),
            "chosen": dict(chosen),
            "trials": len(trials),
            "failed_trials": sum(trial.failed is not None for trial in trials),
            "tuning_seconds": sum(trial.seconds for trial in trials),
            "tuning_score": best(trials).score if trials else None,
            "default_tuning_score": scores[0] if trials else None,
            "default": kept["default"],
            "tuned": kept["tuned"],
        },
        digits=DIGITS,
    )
    return found


def _trial(entry: Mapping[str, Any]) -> Trial:
    measured = {name: math.nan if entry[name] is None else entry[name] for name in _MEASURED}
    return Trial(**(dict(entry) | measured))
