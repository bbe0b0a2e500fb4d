"""What the demo found, put on one page."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from sugartag.collection.model import Collection
from sugartag.demo.contest import CONTESTANTS, HIDDEN_SHARE, SMALL_TENSOR, Contestant
from sugartag.demo.shipped import Shipped
from sugartag.evaluation.cost import machine
from sugartag.evaluation.protocol import Task
from sugartag.evaluation.results import MethodResult
from sugartag.photos.shown import Shown
from sugartag.report.chosen import PICTURES_PER_OWNER, PICTURES_PER_TAG, Loaded, chosen_pictures
from sugartag.report.content import (
    Charts,
    Counts,
    Interval,
    MethodRow,
    Report,
    Verdict,
    count_added,
    count_scores,
)


def build_report(
    shipped: Shipped,
    collection: Collection,
    task: Task,
    results: Mapping[str, MethodResult],
    best: str,
    shown: Shown,
    *,
    seed: int,
    began: float,
) -> Report:
    """Put what was found on one page."""
    hidden = _hidden_tags(task)
    by_image: dict[str, list[Verdict]] = {}
    for change in shown.changes:
        found = change.tag in hidden.get(change.image_id, ()) if change.action == "add" else None
        verdict = Verdict(change.tag, change.action, change.score, change.reason, found)
        by_image.setdefault(change.image_id, []).append(verdict)
    verdicts = [verdict for some in by_image.values() for verdict in some]
    added = [verdict for verdict in verdicts if verdict.action == "add"]
    recovered = sum(verdict.recovered is True for verdict in added)
    return Report(
        title=shipped.title,
        lead=shipped.lead,
        counts=Counts(
            images=collection.n_images,
            tags=collection.n_tags,
            owners=collection.n_owners,
            added=len(added),
            doubted=sum(verdict.action == "doubt" for verdict in verdicts),
            hidden=sum(map(len, hidden.values())),
            recovered=recovered,
        ),
        pictures=tuple(chosen_pictures(collection, by_image, seed, _loading(collection))),
        comparison=tuple(_row(one, results[one.label]) for one in CONTESTANTS),
        best=best,
        protocol=(
            f"{HIDDEN_SHARE:.0%} of the given tags were hidden from every method, and each had to "
            f"find them again among the {len(task.concept_names)} tags used ten times or more. "
            "Bars show 95 % intervals from resampling the pictures."
        ),
        charts=Charts(scores=count_scores(verdicts), most_added=count_added(verdicts)),
        facts=_facts(results[best], best, seed, time.perf_counter() - began),
        commands=_commands(results[best], shipped),
        notes=(*_notes(best, shown.add_from), shipped.credit),
    )


def _hidden_tags(task: Task) -> dict[str, frozenset[str]]:
    names, found = task.given.tag_names, {}
    ids = task.given.ids
    for block in task.given.blocks():
        tags = task.answers.tags_of(block)
        for row, image_id in enumerate(ids[block]):
            columns = tags.indices[tags.indptr[row] : tags.indptr[row + 1]]
            found[image_id] = frozenset(names[column] for column in columns)
    return found


def _loading(collection: Collection) -> Callable[[str], Loaded]:
    """Return what reads the shipped pictures, which are small enough to be shown as they are."""
    root = Path(str(collection.images_root))
    return lambda path: ((root / path).read_bytes(), "image/webp")


def _row(contestant: Contestant, result: MethodResult) -> MethodRow:
    return MethodRow(
        name=contestant.label,
        metrics=result.metrics.by_name(),
        description=contestant.description,
        fit_seconds=result.fit_seconds,
        score_seconds=result.score_seconds,
        peak_mb=result.peak_rss_mb,
        intervals={name: Interval(*ends) for name, ends in result.metrics.intervals.items()},
    )


def _facts(
    result: MethodResult, best: str, seed: int, seconds: float
) -> tuple[tuple[str, str], ...]:
    here = machine()
    settings = ", ".join(f"{key} {value}" for key, value in result.settings.items())
    return (
        ("Suggestions by", best),
        ("Its settings", settings),
        ("Seed", str(seed)),
        ("Machine", f"{here['cpu']}, {here['cores']} cores"),
        ("sugartag", str(here["sugartag"])),
        ("All of it took", f"{seconds:.0f} s"),
    )


def _commands(result: MethodResult, shipped: Shipped) -> tuple[str, ...]:
    chosen = " ".join(f"--set {key}={value}" for key, value in SMALL_TENSOR.items())
    return (
        f"sugartag demo{' --drawings' if shipped.noun == 'drawings' else ''}",
        "sugartag evaluate demo-out/collection --hide 0.3 --methods all",
        f"sugartag fit demo-out/collection --out demo-out/model --method {result.name}"
        + (
            f" {chosen} --set solver=exact --set scoring=reconstruction"
            if result.name == "sugar-tc"
            else ""
        ),
        "sugartag suggest demo-out/model demo-out/collection --out changes.csv",
    )


def _notes(best: str, add_from: float) -> tuple[str, ...]:
    return (
        f"The pictures are a random choice among those with something to add or to doubt, at most "
        f"{PICTURES_PER_OWNER} by one person and {PICTURES_PER_TAG} of one subject; none was "
        "picked for looking good.",
        f"Suggestions are shown from a probability of {add_from:g} on.",
        "A suggested tag that nobody gave counts as wrong in the comparison, though it may well be "
        "right: every figure is a lower bound.",
        f"The suggestions shown are by {best}, which found most hidden tags here. The same "
        "tags were hidden for all methods; settings are defaults, with fewer anchors for sugar-tc.",
    )
