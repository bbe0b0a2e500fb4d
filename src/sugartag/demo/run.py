"""The whole job: import, compare, fit, propose, judge, report."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sugartag.collection.model import Collection
from sugartag.demo.contest import CONTESTANTS, HIDDEN_SHARE, evaluated
from sugartag.demo.findings import build_report
from sugartag.demo.shipped import Shipped
from sugartag.engine.base import Engine, Progress
from sugartag.evaluation.protocol import hidden_task
from sugartag.evaluation.results import MethodResult
from sugartag.methods.base import Method
from sugartag.photos.shown import shown_changes
from sugartag.pipeline.fitting import evidence_summary, fit_model
from sugartag.pipeline.judging import disturb, judge
from sugartag.report.content import Trust
from sugartag.report.page import write_report

TRUST_HIDDEN, TRUST_INJECTED = 0.2, 0.25
TRUST_SEED = 1_000
"""Added to the seed: what verdicts are judged by is not what calibration learned from."""


def run_demo(
    shipped: Shipped,
    out: Path,
    *,
    engine: Engine,
    seed: int,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Import, evaluate, fit, propose and report into the folder ``out``; return the page."""
    began = time.perf_counter()
    collection = shipped.collection(out, progress)
    say(
        f"imported {collection.n_images:,} {shipped.noun} by {collection.n_owners} people, "
        f"{collection.n_tags} tags"
    )
    task = hidden_task(collection, HIDDEN_SHARE, seed)
    results: dict[str, MethodResult] = {}
    for contestant in CONTESTANTS:
        results[contestant.label] = evaluated(contestant, task, engine=engine, seed=seed)
        metrics = results[contestant.label].metrics
        say(f"{contestant.label}: MAP {metrics.map:.3f}, MiAP {metrics.miap:.3f}")
    best = max(results, key=lambda label: results[label].metrics.map)
    winner = next(one for one in CONTESTANTS if one.label == best)
    say(f"fitting {best} for the suggestions")
    model = fit_model(winner.make(), task.given, engine=engine, seed=seed)
    shown = shown_changes(model, task.given, engine=engine)
    say(f"judging the verdicts of {best}")
    trust = judged_trust(winner.make(), collection, engine=engine, seed=seed)
    report = build_report(shipped, collection, task, results, best, shown, seed=seed, began=began)
    report = replace(report, trust=trust, evidence=evidence_summary(model.fitted))
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
            f"was injected with probability {TRUST_INJECTED:g}; then all was fitted again, and "
            "its verdicts were compared with the tags as they had been. A right tag that nobody "
            "gave counts as wrong here, and a wrong tag of the owner as right."
        ),
    )
