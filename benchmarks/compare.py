"""Compare the methods on one collection, all tuned with as many trials, and render the page.

Every seed has its own hidden tags or its own images left out, and its own tuning on what is left to
see. Each method and seed is a process of its own with one BLAS thread. A run that was killed
continues where it stopped; methods that the result file holds already are not run again.

    python benchmarks/compare.py documerica --methods all --seeds 5 --budget 20 --data FOLDER
    python benchmarks/compare.py render
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison.cases import CASE_NAMES, open_case
from comparison.jobs import (
    DIGITS,
    Effort,
    Job,
    finished_run,
    forget_jobs,
    plain_values,
    read_json,
    run_job,
    write_json,
)
from comparison.method_page import with_table
from comparison.render import render
from comparison.rounds import Case
from comparison.summary import Skipped, all_runs, comparison_document, header, runs_of
from sugartag.cli.choosing import chosen_names
from sugartag.errors import StorageError, SugartagError
from sugartag.methods.registry import METHODS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "results.md"
METHOD_PAGE = ROOT / "docs" / "methods" / "sugar-plus.md"
RENDER = "render"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    collection: str
    methods: str
    seeds: int
    effort: Effort
    out: Path
    data: Path | None
    processes: int
    again: bool
    skipped: Skipped
    job: Job | None

    @property
    def folder(self) -> Path:
        """Where the jobs keep what they found so far."""
        return self.out.with_suffix(".jobs")


Runner = Callable[[Sequence[Job], Asked], Iterator[tuple[Job, int]]]
"""Runs jobs and yields each with its exit code when it has ended."""


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    asked = arguments(sys.argv[1:])
    try:
        if asked.collection == RENDER:
            PAGE.write_text(render(RESULTS), encoding="utf-8")
            table = with_table(METHOD_PAGE.read_text(encoding="utf-8"), RESULTS)
            METHOD_PAGE.write_text(table, encoding="utf-8")
            print(f"written: {PAGE} and {METHOD_PAGE}")
            return 0
        with open_case(asked.collection, asked.data) as case:
            if asked.job is None:
                return compare(case, asked)
            run_job(asked.job, case, asked.folder, effort=asked.effort)
            return 0
    except SugartagError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def compare(case: Case, asked: Asked, run_all: Runner | None = None) -> int:
    """Run the jobs that are not done, writing the result file after each; return the exit code."""
    methods, seeds = chosen_names(asked.methods), list(range(asked.seeds))
    runs = known_runs(case, asked, seeds, anew=methods if asked.again else ())
    wanted = [
        Job(name, seed)
        for seed in seeds
        for name in methods
        if seed not in asked.skipped.get(name, ())
    ]
    jobs = [job for job in wanted if job.seed not in runs.get(job.method, {})]
    print(f"{case.name}: {len(jobs)} of {len(wanted)} jobs to do", flush=True)
    died = 0
    write_document(case, asked, runs, seeds)
    for job, code in (run_all or in_processes)(jobs, asked):
        run = finished_run(job, asked.folder, effort=asked.effort)
        if run is None:
            died += 1
            print(f"{job.method}, seed {job.seed}: ended with code {code}", file=sys.stderr)
            continue
        runs.setdefault(job.method, {})[job.seed] = run
        write_document(case, asked, runs, seeds)
        print(f"{job.method}, seed {job.seed}: {_in_a_line(run)}", flush=True)
    print(f"written: {asked.out}" if asked.out.exists() else "no method has all its seeds yet")
    if died:
        print(f"{died} jobs did not finish; run the same command again", file=sys.stderr)
    return 1 if died else 0


def known_runs(
    case: Case, asked: Asked, seeds: Sequence[int], *, anew: Sequence[str] = ()
) -> dict[str, dict[int, Any]]:
    """Return the runs of the result file and of finished jobs, but for methods to run anew."""
    runs: dict[str, dict[int, Any]] = {}
    if asked.out.exists():
        document = read_json(asked.out)
        expected = plain_values(header(case, seeds=seeds, effort=asked.effort))
        del expected["description"]  # Better words make no other data.
        if len(document.get("seeds", [])) < len(seeds):
            del expected["seeds"]  # More seeds of the same comparison.
        differing = [key for key in expected if document.get(key) != expected[key]]
        if differing:
            raise StorageError(
                f"{asked.out} has another {differing[0]}; name another --out, or delete it"
            )
        for name, seed, run in all_runs(document):
            if name not in anew:
                runs.setdefault(name, {})[seed] = run
    for method in anew:
        forget_jobs(method, asked.folder)
    for job in (Job(method, seed) for method in METHODS for seed in seeds):
        if (run := finished_run(job, asked.folder, effort=asked.effort)) is not None:
            runs.setdefault(job.method, {})[job.seed] = run
    return runs


def write_document(
    case: Case, asked: Asked, runs: dict[str, dict[int, Any]], seeds: Sequence[int]
) -> None:
    """Replace the result file by one of the methods that all seeds are done of, if any is.

    A file of fewer seeds stays until all its methods have as many as are asked for. Runs that are
    in no method of the file are kept in it as begun.
    """
    document = comparison_document(
        case,
        runs,
        seeds=seeds,
        effort=asked.effort,
        processes=asked.processes,
        skipped=asked.skipped,
    )
    before = read_json(asked.out) if asked.out.exists() else {"seeds": [], "methods": {}}
    if len(before["seeds"]) < len(seeds) and before["methods"].keys() - document["methods"].keys():
        document = before
    if begun := begun_runs(document, runs):
        document["begun"] = begun
    if document["methods"] or asked.out.exists():
        write_json(asked.out, plain_values(document, digits=DIGITS))


def begun_runs(
    document: dict[str, Any], runs: dict[str, dict[int, Any]]
) -> dict[str, dict[int, Any]]:
    """Return the runs that a result file does not have, of methods and seeds."""
    there = runs_of(document)
    found = {
        name: {seed: run for seed, run in some.items() if seed not in there.get(name, {})}
        for name, some in runs.items()
    }
    return {name: some for name, some in found.items() if some}


def in_processes(jobs: Sequence[Job], asked: Asked) -> Iterator[tuple[Job, int]]:
    """Run each job in a process of its own and yield it with the exit code, as they end."""

    def call(job: Job) -> int:
        command = [sys.executable, str(Path(__file__).resolve()), asked.collection]
        command += ["--out", str(asked.out), "--budget", str(asked.effort.budget)]
        command += ["--replicates", str(asked.effort.replicates)]
        command += ["--job", job.method, str(job.seed)]
        command += [] if asked.data is None else ["--data", str(asked.data)]
        return subprocess.run(command, check=False, env=os.environ | ONE_THREAD).returncode

    pool = ThreadPoolExecutor(asked.processes)
    try:
        waiting = {pool.submit(call, job): job for job in jobs}
        for done in as_completed(waiting):
            yield waiting[done], done.result()
    finally:
        # An interrupted run ends with the jobs under way, and starts no others.
        pool.shutdown(cancel_futures=True)


def _in_a_line(run: dict[str, Any]) -> str:
    parts = [f"{run['trials']} trials in {run['tuning_seconds']:.0f} s"]
    for kind in ("default", "tuned"):
        found = run[kind]
        parts.append(f"{kind} " + (f"MAP {found['map']:.4f}" if "map" in found else "failed"))
    return ", ".join(parts)


def arguments(texts: Sequence[str]) -> Asked:
    """Return what the words of a command line ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", choices=(*CASE_NAMES, RENDER))
    parser.add_argument("--methods", default="all", help="names with commas between, or all")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0")
    parser.add_argument("--budget", type=int, default=20, help="trials of each tuning")
    parser.add_argument("--replicates", type=int, default=200, help="resamplings of the images")
    parser.add_argument("--out", type=Path, help="the result file")
    parser.add_argument("--data", type=Path, help="the folder that holds the collections")
    parser.add_argument("--processes", type=int, default=1, help="jobs at the same time")
    parser.add_argument("--again", action="store_true", help="run the methods named anew")
    parser.add_argument(
        "--skip",
        nargs=2,
        action="append",
        default=[],
        metavar=("METHOD", "SEED"),
        help="a run that takes too long to wait for; the page says so",
    )
    parser.add_argument("--job", nargs=2, metavar=("METHOD", "SEED"), help=argparse.SUPPRESS)
    given = vars(parser.parse_args(texts))
    if given["seeds"] < 1 or given["processes"] < 1 or given["budget"] < 0:
        parser.error("--seeds and --processes are at least 1, --budget at least 0")
    skipped: dict[str, list[int]] = {}
    for name, seed in given.pop("skip"):
        if name not in METHODS or not seed.isdecimal():
            parser.error(f"--skip is a method and a seed, not {name} {seed}")
        skipped.setdefault(name, []).append(int(seed))
    effort = Effort(given.pop("budget"), given.pop("replicates"))
    job = given.pop("job")
    given["out"] = given["out"] or RESULTS / f"comparison-{given['collection']}.json"
    job = None if job is None else Job(job[0], int(job[1]))
    return Asked(**given, effort=effort, skipped=skipped, job=job)


if __name__ == "__main__":
    sys.exit(main())
