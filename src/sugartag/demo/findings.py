"""What the demo found, put on one page."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from sugartag.collection.model import Collection
from sugartag.demo.contest import CONTESTANTS, HIDDEN_SHARE, SMALL_TENSOR, Contestant
from sugartag.evaluation.cost import machine
from sugartag.evaluation.protocol import Task
from sugartag.evaluation.results import MethodResult
from sugartag.pipeline.changes import Change
from sugartag.report.content import (
    Charts,
    Counts,
    Interval,
    MethodRow,
    Picture,
    Report,
    Verdict,
    count_added,
    count_scores,
)

N_PICTURES = 60
PICTURES_PER_OWNER = 3
PICTURES_PER_TAG = 4


def build_report(
    collection: Collection,
    task: Task,
    results: Mapping[str, MethodResult],
    best: str,
    changes: Sequence[Change],
    *,
    seed: int,
    began: float,
) -> Report:
    """Put what was found on one page."""
    hidden = _hidden_tags(task)
    by_image: dict[str, list[Verdict]] = {}
    for change in changes:
        found = change.tag in hidden.get(change.image_id, ()) if change.action == "add" else None
        verdict = Verdict(change.tag, change.action, change.score, change.reason, found)
        by_image.setdefault(change.image_id, []).append(verdict)
    verdicts = [verdict for some in by_image.values() for verdict in some]
    added = [verdict for verdict in verdicts if verdict.action == "add"]
    recovered = sum(verdict.recovered is True for verdict in added)
    return Report(
        title="OpenClipart, retagged",
        lead=(
            "Thousands of drawings, tagged by the people who drew them: some tags missing, some "
            "odd. sugartag looked at every picture, at who drew it and at how the others tag, and "
            "says which tags to add, which to keep and which to doubt."
        ),
        counts=Counts(
            images=collection.n_images,
            tags=collection.n_tags,
            owners=collection.n_owners,
            added=len(added),
            doubted=sum(verdict.action == "doubt" for verdict in verdicts),
            hidden=sum(map(len, hidden.values())),
            recovered=recovered,
        ),
        pictures=tuple(_pictures(collection, by_image, seed)),
        comparison=tuple(_row(one, results[one.label]) for one in CONTESTANTS),
        best=best,
        protocol=(
            f"{HIDDEN_SHARE:.0%} of the given tags were hidden from every method, and each had to "
            f"find them again among the {len(task.concept_names)} tags used ten times or more. "
            "Bars show 95 % intervals from resampling the pictures."
        ),
        charts=Charts(scores=count_scores(verdicts), most_added=count_added(verdicts)),
        facts=_facts(results[best], best, seed, time.perf_counter() - began),
        commands=_commands(results[best]),
        notes=_notes(best),
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


def _pictures(
    collection: Collection, by_image: Mapping[str, list[Verdict]], seed: int
) -> Iterator[Picture]:
    """Yield pictures in random order that have something added or doubted, few of a kind."""
    paths, titles = collection.texts_of("paths"), collection.texts_of("titles")
    if paths is None or titles is None or collection.images_root is None:
        return
    of_owner: Counter[int] = Counter()
    of_tag: Counter[str] = Counter()
    shown = 0
    for row in np.random.default_rng(seed).permutation(collection.n_images).tolist():
        verdicts = by_image.get(collection.ids[row], [])
        owner = int(collection.owner[row])
        subject = next((one.tag for one in verdicts if one.action != "doubt"), "")
        if all(one.action == "keep" for one in verdicts) or shown >= N_PICTURES:
            continue
        if of_owner[owner] >= PICTURES_PER_OWNER or of_tag[subject] >= PICTURES_PER_TAG:
            continue
        of_owner[owner] += 1
        of_tag[subject] += 1
        shown += 1
        image = (Path(collection.images_root) / paths[row]).read_bytes()
        name = collection.owner_names[owner]
        yield Picture(image, "image/webp", titles[row], name, tuple(verdicts))


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


def _commands(result: MethodResult) -> tuple[str, ...]:
    chosen = " ".join(f"--set {key}={value}" for key, value in SMALL_TENSOR.items())
    return (
        "sugartag demo",
        "sugartag evaluate demo-out/collection --hide 0.3 --methods all",
        f"sugartag fit demo-out/collection --out demo-out/model --method {result.name}"
        + (
            f" {chosen} --set solver=exact --set scoring=reconstruction"
            if result.name == "sugar-tc"
            else ""
        ),
        "sugartag suggest demo-out/model demo-out/collection --out changes.csv",
    )


def _notes(best: str) -> tuple[str, ...]:
    return (
        f"The pictures are a random choice among those with something to add or to doubt, at most "
        f"{PICTURES_PER_OWNER} by one person and {PICTURES_PER_TAG} of one subject; none was "
        "picked for looking good.",
        "A suggested tag that nobody gave counts as wrong in the comparison, though it may well be "
        "right: every figure is a lower bound.",
        f"The suggestions shown are by {best}, which found most hidden tags here. The same "
        "tags were hidden for all methods; settings are defaults, with fewer anchors for sugar-tc.",
        "Drawings and tags: Open Clip Art Library, dedicated to the public domain by their makers.",
    )
