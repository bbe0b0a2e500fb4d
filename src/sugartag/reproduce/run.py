"""A whole run: what is missing is computed, then everything is put together and written."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from sugartag.collection.digest import collection_digest
from sugartag.collection.store import open_collection
from sugartag.evaluation.cost import machine
from sugartag.reproduce.cache import Cache, code_version, plain_values, write_json
from sugartag.reproduce.claims import claims_of
from sugartag.reproduce.data import OPENCLIPART, Data, chosen_queries, shipped_pictures
from sugartag.reproduce.experiments import MAIN, Experiment, Retrieval, comparison_of
from sugartag.reproduce.findings import Context, findings_of
from sugartag.reproduce.page import write_page
from sugartag.reproduce.plans import DRAWINGS, Chain, Found, Setting, chains_of
from sugartag.reproduce.records import write_tables
from sugartag.reproduce.workers import Assignment, Workers, run_chains

FORMAT = "sugartag-reproduce/2"
Progress: TypeAlias = Callable[[str, int, int, bool], None]
"""Hears what was done, how many jobs are done, of how many, and whether it was there already."""


@dataclass(frozen=True)
class Run:
    """Which experiments are run on what, how."""

    collections: Mapping[str, Data]
    """By what they are to the experiments."""
    experiments: tuple[Experiment, ...]
    """Those asked for, in the order of the report."""
    known: tuple[Experiment, ...]
    """All there are: the comparison says how methods are tuned, even if it is not asked for."""
    out: Path
    processes: int
    quick: bool
    left_out: str = ""
    """What was not run, and why."""


@dataclass(frozen=True)
class _Place:
    """What is run on one collection."""

    experiments: tuple[Experiment, ...]
    context: Context
    setting: Setting
    assignment: Assignment


def reproduce(run: Run, progress: Progress) -> Path:
    """Run the experiments, write results and report into the folder, and return the page."""
    pictures = _pictures_folder(run)
    places = [_place(run, on, pictures) for on in run.collections]
    results = _computed(places, run.processes, progress)
    document = results_document(run, places, results)
    write_json(run.out / "results.json", document)
    write_tables(document, run.out / "tables")
    page = run.out / "report.html"
    write_page(document, page, pictures=pictures)
    return page


def results_document(
    run: Run, places: Sequence[_Place], results: Sequence[Mapping[str, Found]]
) -> dict[str, Any]:
    """Return everything that was found, ready for JSON."""
    experiments = {
        one.name: {
            "kind": one.kind,
            "on": one.on,
            "paper": one.paper,
            "title": one.title,
            "summary": one.summary,
            "published": dict(one.published),
            "found": findings_of(one, found, place.context),
        }
        for place, found in zip(places, results, strict=True)
        for one in place.experiments
    }
    collections = {
        on: {
            "name": data.name,
            "title": data.title,
            "counts": data.counts,
            "hidden": data.hidden,
            "digest": data.digest,
            "made": data.made,
        }
        for on, data in run.collections.items()
    }
    experiments = plain_values(experiments)
    document: dict[str, Any] = {
        "format": FORMAT,
        "collections": collections,
        "left_out": run.left_out,
        "seed": run.collections[MAIN].seed,
        "quick": run.quick,
        "code": code_version(),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
        "claims": claims_of(experiments),
        "experiments": experiments,
    }
    return document


def _computed(
    places: Sequence[_Place], processes: int, progress: Progress
) -> list[dict[str, Found]]:
    """Run every chain once, those that are measured for cost at the end and alone."""
    chains: list[dict[str, Chain]] = []
    for place in places:
        here: dict[str, Chain] = {}
        for one in place.experiments:
            for chain in chains_of(one, place.setting):
                here.setdefault(chain.key, chain)
        chains.append(here)
    total = sum(chain.n_jobs for here in chains for chain in here.values())
    done = 0

    def tell(label: str, count: int, was_there: bool) -> None:
        nonlocal done
        done += count
        progress(label, done, total, was_there)

    results: list[dict[str, Found]] = [{} for _ in places]
    for alone in (False, True):
        for place, here, found in zip(places, chains, results, strict=True):
            some = [chain for chain in here.values() if chain.alone == alone]
            if some:
                with Workers(place.assignment, 1 if alone else processes, fresh=alone) as workers:
                    found |= run_chains(_longest_first(some), workers, tell)
    return results


def _longest_first(chains: Sequence[Chain]) -> list[Chain]:
    return sorted(chains, key=lambda chain: -chain.weight)


def _place(run: Run, on: str, pictures: Path) -> _Place:
    data = run.collections[on]
    comparison = comparison_of(run.known, on)
    retrieval = next((one.options for one in run.known if isinstance(one.options, Retrieval)), None)
    lengths = retrieval.lengths if retrieval else (10,)
    task = data.task()
    queries = chosen_queries(
        retrieval.queries if retrieval else (), task.concept_names, task.n_positives
    )
    context = Context(
        comparison=comparison,
        concept_names=task.concept_names,
        n_positives=tuple(task.n_positives.tolist()),
        queries=queries,
        lengths=lengths,
        seed=data.seed,
    )
    setting = Setting(
        seed=data.seed,
        comparison=comparison,
        queries=tuple(one.concept for one in queries),
        lengths=lengths,
        pictures=collection_digest(open_collection(pictures, verify=False)),
        picture_settings=DRAWINGS if _are_drawings(run, pictures) else {},
    )
    cache = Cache(run.out / "cache", data.digest, code_version())
    experiments = tuple(one for one in run.experiments if one.on == on)
    return _Place(experiments, context, setting, Assignment(data, pictures, cache))


def _are_drawings(run: Run, pictures: Path) -> bool:
    main = run.collections[MAIN]
    return pictures != main.folder or main.name == OPENCLIPART


def _pictures_folder(run: Run) -> Path:
    """Return the collection that pictures are shown of: the main one, if it has some."""
    folder = run.collections[MAIN].folder
    if not any(one.kind == "pictures" for one in run.experiments):
        return folder
    collection = open_collection(folder, verify=False)
    if collection.images_root is not None and collection.texts_of("paths") is not None:
        return folder
    return shipped_pictures(run.out)
