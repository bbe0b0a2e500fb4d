"""A whole run: what is missing is computed, then everything is put together and written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from sugartag.collection.digest import collection_digest
from sugartag.collection.store import open_collection
from sugartag.evaluation.cost import machine
from sugartag.reproduce.cache import Cache, Job, code_version, plain_values, write_json
from sugartag.reproduce.claims import claims_of
from sugartag.reproduce.data import OPENCLIPART, Data, shipped_pictures
from sugartag.reproduce.experiments import Experiment, Retrieval
from sugartag.reproduce.findings import Context, findings_of
from sugartag.reproduce.page import write_page
from sugartag.reproduce.plans import DRAWINGS, Chain, Found, Setting, chains_of, comparison_of
from sugartag.reproduce.queries import chosen_queries
from sugartag.reproduce.tables import write_tables
from sugartag.reproduce.workers import Assignment, Workers, run_chains

FORMAT = "sugartag-reproduce/1"
Progress: TypeAlias = Callable[[str, int, int, bool], None]
"""Hears what was done, how many jobs are done, of how many, and whether it was there already."""


@dataclass(frozen=True)
class Run:
    """Which experiments are run on what, how."""

    data: Data
    experiments: tuple[Experiment, ...]
    """Those asked for, in the order of the report."""
    known: tuple[Experiment, ...]
    """All there are: the comparison says how methods are tuned, even if it is not asked for."""
    out: Path
    processes: int
    quick: bool


def reproduce(run: Run, progress: Progress) -> Path:
    """Run the experiments, write results and report into the folder, and return the page."""
    pictures = _pictures_folder(run)
    context, setting = _context(run, pictures)
    cache = Cache(run.out / "cache", run.data.digest, code_version())
    assignment = Assignment(run.data, pictures, cache)
    results = _computed(run, setting, assignment, progress)
    document = results_document(run, results, context)
    write_json(run.out / "results.json", document)
    write_tables(document, run.out / "tables")
    page = run.out / "report.html"
    write_page(document, page, pictures=pictures)
    return page


def results_document(run: Run, results: dict[str, Found], context: Context) -> dict[str, Any]:
    """Return everything that was found, ready for JSON."""
    data = run.data
    experiments = {
        one.name: {
            "kind": one.kind,
            "paper": one.paper,
            "title": one.title,
            "summary": one.summary,
            "published": dict(one.published),
            "found": findings_of(one, results, context),
        }
        for one in run.experiments
    }
    document: dict[str, Any] = plain_values(
        {
            "format": FORMAT,
            "data": {
                "name": data.name,
                "title": data.title,
                "counts": data.counts,
                "hidden": data.hidden,
                "digest": data.digest,
                "world": data.world,
            },
            "seed": data.seed,
            "quick": run.quick,
            "code": code_version(),
            "machine": machine(),
            "claims": claims_of(experiments),
            "experiments": experiments,
        }
    )
    return document


def _computed(
    run: Run, setting: Setting, assignment: Assignment, progress: Progress
) -> dict[str, Found]:
    """Run every chain once, those that are measured for cost at the end and alone."""
    chains: dict[str, Chain] = {}
    for one in run.experiments:
        for chain in chains_of(one, setting):
            chains.setdefault(chain.key, chain)
    total = sum(chain.n_jobs for chain in chains.values())
    done = 0

    def tell(job: Job, found: Found, was_there: bool) -> None:
        nonlocal done
        done += 1
        progress(job.label, done, total, was_there)

    results: dict[str, Found] = {}
    for alone in (False, True):
        some = _longest_first([chain for chain in chains.values() if chain.alone == alone])
        if some:
            processes = 1 if alone else run.processes
            with Workers(assignment, processes, fresh=alone) as workers:
                results |= run_chains(some, workers, assignment.cache, tell)
    return results


def _longest_first(chains: Sequence[Chain]) -> list[Chain]:
    return sorted(chains, key=lambda chain: -chain.weight)


def _context(run: Run, pictures: Path) -> tuple[Context, Setting]:
    comparison = comparison_of(run.known)
    task = run.data.task()
    retrieval = next((one.options for one in run.known if isinstance(one.options, Retrieval)), None)
    asked = retrieval.queries if retrieval else ()
    lengths = retrieval.lengths if retrieval else (10,)
    queries = chosen_queries(asked, task.concept_names, task.n_positives)
    context = Context(
        comparison=comparison,
        concept_names=task.concept_names,
        n_positives=tuple(task.n_positives.tolist()),
        queries=queries,
        lengths=lengths,
        seed=run.data.seed,
    )
    concepts = tuple(one.concept for one in queries)
    digest = collection_digest(open_collection(pictures, verify=False))
    shipped = pictures != run.data.folder or run.data.name == OPENCLIPART
    picture_settings = DRAWINGS if shipped else {}
    return context, Setting(run.data.seed, comparison, concepts, lengths, digest, picture_settings)


def _pictures_folder(run: Run) -> Path:
    """Return the collection that pictures are shown of: the data, if it has some."""
    if not any(one.kind == "pictures" for one in run.experiments):
        return run.data.folder
    collection = open_collection(run.data.folder, verify=False)
    if collection.images_root is not None and collection.texts_of("paths") is not None:
        return run.data.folder
    return shipped_pictures(run.out)
