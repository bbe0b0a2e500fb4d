"""The whole job on the collection shipped with the package: OpenClipart drawings and their tags."""

import shutil
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from sugartag.changes import Change, Thresholds, propose
from sugartag.collection.model import Collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.collection.store import open_collection
from sugartag.engine.base import Engine
from sugartag.evaluation.cost import machine
from sugartag.evaluation.protocol import Task, evaluate, hidden_task
from sugartag.evaluation.results import Measures, MethodResult
from sugartag.fitting import fit_model
from sugartag.judging import disturb, judge
from sugartag.methods.base import Method
from sugartag.methods.registry import make_method
from sugartag.report.content import (
    Charts,
    Counts,
    Interval,
    MethodRow,
    Picture,
    Report,
    Trust,
    Verdict,
    count_added,
    count_scores,
)
from sugartag.report.page import write_report

HIDDEN_SHARE = 0.3
MIN_USES = 3
"""Tags that fewer drawings have are dropped: nothing can be learned of them."""
REPLICATES = 200
TRUST_HIDDEN, TRUST_INJECTED = 0.2, 0.25
TRUST_SEED = 1_000
"""Added to the seed: what verdicts are judged by is not what chances were learned from."""
SHOWN = Thresholds(add=0.5)
"""More is shown than would be added: whatever is more probable than not."""
N_PICTURES = 60
PICTURES_PER_OWNER = 2
PICTURES_PER_TAG = 3

SMALL_TENSOR = {"image_clusters": 16, "user_clusters": 4, "units_per_cluster": 10}
"""Fewer anchors than the paper's 52 centres: these are 2,000 drawings, not 250,000 photographs."""


@dataclass(frozen=True)
class Contestant:
    """One line of the comparison."""

    label: str
    method: str
    settings: Mapping[str, Any]
    description: str

    def make(self) -> Method:
        """Return the method with its settings."""
        return make_method(self.method, self.settings)


CONTESTANTS = (
    Contestant("original", "original", {}, "the tags as they are; it can find no hidden tag"),
    Contestant("tag-prior", "tag-prior", {}, "the most used tags, for every picture the same"),
    Contestant(
        "tag-vote", "tag-vote", {}, "the 20 pictures that look most alike vote, one vote an owner"
    ),
    Contestant(
        "tag-vote, all vote",
        "tag-vote",
        {"one_vote_per_owner": False},
        "the same, and an owner's many look-alikes may all vote",
    ),
    Contestant(
        "sugar-plus",
        "sugar-plus",
        {},
        "everything known of a picture, its title too, weighed for each tag",
    ),
    Contestant(
        "sugar-tc, eq. 12",
        "sugar-tc",
        SMALL_TENSOR,
        "the paper: anchor tensor, tags assigned as printed",
    ),
    Contestant(
        "sugar-tc, reconstruction",
        "sugar-tc",
        {**SMALL_TENSOR, "solver": "exact", "scoring": "reconstruction"},
        "the same model, solved exactly and scored by its own reconstruction",
    ),
)


def run_demo(
    out: Path, *, engine: Engine, seed: int, say: Callable[[str], None] = lambda line: None
) -> Path:
    """Import, evaluate, fit, propose and report into the folder ``out``; return the page."""
    began = time.perf_counter()
    collection = import_shipped(out)
    say(
        f"imported {collection.n_images:,} drawings by {collection.n_owners} people, "
        f"{collection.n_tags} tags"
    )
    task = hidden_task(collection, HIDDEN_SHARE, seed)
    results: dict[str, MethodResult] = {}
    for contestant in CONTESTANTS:
        results[contestant.label] = _evaluated(contestant, task, engine=engine, seed=seed)
        metrics = results[contestant.label].metrics
        say(f"{contestant.label}: MAP {metrics.map:.3f}, MiAP {metrics.miap:.3f}")
    best = max(results, key=lambda label: results[label].metrics.map)
    winner = next(one for one in CONTESTANTS if one.label == best)
    say(f"fitting {best} for the suggestions")
    model = fit_model(winner.make(), task.given, engine=engine, seed=seed)
    changes = [
        change
        for some in propose(model, task.given, engine=engine, thresholds=SHOWN)
        for change in some
    ]
    say(f"judging the verdicts of {best}")
    trust = judged_trust(winner.make(), collection, engine=engine, seed=seed)
    report = build_report(collection, task, results, best, changes, seed=seed, began=began)
    report = replace(report, trust=trust)
    page = out / "report.html"
    write_report(report, page)
    return page


def judged_trust(method: Method, collection: Collection, *, engine: Engine, seed: int) -> Trust:
    """Fit the method on disturbed tags, as a user would, and see whether its verdicts are right."""
    disturbed = disturb(
        collection,
        hidden_share=TRUST_HIDDEN,
        injected_rate=TRUST_INJECTED,
        seed=seed + TRUST_SEED,
    )
    model = fit_model(method, disturbed.collection, engine=engine, seed=seed)
    return Trust(
        counts=judge(model, disturbed.collection, disturbed.answers, engine=engine),
        protocol=(
            f"{TRUST_HIDDEN:.0%} of the given tags were hidden and, for each tag left, a wrong one "
            f"was put in with probability {TRUST_INJECTED:g}; then everything was fitted anew, and "
            "its verdicts were compared with the tags as they had been. Which tags were hidden and "
            "put in has nothing to do with those that fitting hides and puts in to learn its "
            "chances. A right tag that nobody gave counts as wrong here, and a slip of the owner "
            "as right."
        ),
    )


def import_shipped(out: Path) -> Collection:
    """Unpack the shipped drawings and import their table into ``out``."""
    images, folder = out / "images", out / "collection"
    images.mkdir(parents=True, exist_ok=True)
    with resources.as_file(resources.files("sugartag") / "assets" / "openclipart") as shipped:
        with zipfile.ZipFile(shipped / "thumbs.zip") as archive:
            archive.extractall(images)
        shutil.copy(shipped / "LICENSE.txt", images)
        sources = Sources(
            shipped / "images.csv", features=shipped / "features.npy", images_root=images
        )
        import_collection(sources, folder, min_uses=MIN_USES, overwrite=True)
    return open_collection(folder, verify=False)


def _evaluated(contestant: Contestant, task: Task, *, engine: Engine, seed: int) -> MethodResult:
    return evaluate(
        contestant.make(),
        task,
        engine=engine,
        rng=np.random.default_rng(seed),
        measures=Measures(bootstrap=REPLICATES, bootstrap_seed=seed),
    )


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
