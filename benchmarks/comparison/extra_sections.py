"""Sections of the page of results: clean labels against none, and fewer tags that predict."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from comparison.ablations import TITLES
from comparison.jobs import read_json
from comparison.rounds import percent
from comparison.summary import t_interval
from comparison.tables import NOTHING, table, wrapped

CLEAN_LABELS = "clean-labels.json"
"""What ``benchmarks/bench_clean_labels.py`` writes."""
VOCABULARY = "vocabulary.json"
"""What ``benchmarks/bench_vocabulary.py`` writes."""
OURS = "sugar-plus"
MANY = "many images"
BETTER = "better"
LESS = "difference"
MEASURES = {"map": "MAP", "miap": "MiAP", "f_top5": "F top 5"}
LABEL_MEASURES = MEASURES | {"missing": "missing tags found"}
RIGHT = 0.8
"""The share of right ones among the missing tags that count as found."""
FOLDINGS = {"images": "other images", "owners": "other owners"}
"""What folds are made of, and what the classifier has learned from when it scores an image."""
NAMES = {"logistic": "logistic regression", "ridge": "ridge classifier"}
LARGE_CASE = "large"

Run = Mapping[str, Any]
Interval = Mapping[str, float | None]


def extra_sections(folder: Path) -> Iterator[str]:
    """Yield the sections whose result files are there."""
    for name, section in ((CLEAN_LABELS, labels_section), (VOCABULARY, vocabulary_section)):
        if (folder / name).exists():
            yield section(read_json(folder / name))


LABELS_INTRODUCTION = """\
sugar-plus sees tags as people give them and never a label. What would clean labels be worth? Here
linear classifiers learn the planted truth itself: from the features of an image, at length 1, and
all tags it was given, the concept's own among them, they learn every concept, and score images that
they did not learn from, in {folds} folds over images or over owners. Their penalty and the scale of
features against tags are those with the highest MAP in splits of what the folds learn from, and
their floor is that with the highest F there. sugar-plus has its defaults, nothing is tuned, and all
are measured alike, on all images. It is compared with the classifier that has the higher MAP in
these splits, seed by seed; where the difference is below zero, clean labels are worth more. Means
over seeds; ± is half the 95 % t interval over seeds. F is not quite of the same lists: classifiers
give all five places to the concepts they learned; sugar-plus does not know which tags these are,
and others take some of its places. *Missing tags found* is how many of the right tags that nobody
gave are in the longest list of tags to add that is {right} right, all images in one list by
score: what additions of that precision can find at best, if somebody knew where to end the list.
The last row is logistic regression that learned the truth of very many other images of the same
world: what a linear classifier could tell with all the labels that one could wish for."""


def labels_section(document: Mapping[str, Any]) -> str:
    """Return what the result file says of classifiers that learn from clean labels."""
    parts = ["## Against classifiers trained on clean labels"]
    parts += [wrapped(LABELS_INTRODUCTION.format(folds=document["folds"], right=percent(RIGHT)))]
    for name, case in document["cases"].items():
        parts += [f"### {TITLES[name]}, {_seeds(case['runs'])}", labels_table(case["summary"])]
    return "\n\n".join([*parts, _machine(document)]) + "\n"


def labels_summary(runs: Mapping[str, Run]) -> dict[str, Any]:
    """Return means and intervals over the seeds that have all of sugar-plus and a folding."""
    found: dict[str, Any] = {OURS: _intervals([run[OURS] for run in runs.values() if OURS in run])}
    if many := [run[MANY] for run in runs.values() if MANY in run]:
        found[MANY] = t_interval([run["missing"] for run in many])
        found[MANY] |= {"images": many[0]["images"], "runs": len(many)}
    for over in FOLDINGS:
        whole = [
            run for run in runs.values() if OURS in run and set(NAMES) <= set(run.get(over, {}))
        ]
        if not whole:
            continue
        best = [max(NAMES, key=lambda kind: run[over][kind]["inner_map"]) for run in whole]
        better = [run[over][kind] for run, kind in zip(whole, best, strict=True)]
        gains = [
            {name: run[OURS][name] - theirs[name] for name in LABEL_MEASURES}
            for run, theirs in zip(whole, better, strict=True)
        ]
        found[over] = {kind: _intervals([run[over][kind] for run in whole]) for kind in NAMES}
        found[over] |= {BETTER: _intervals(better), LESS: _intervals(gains)}
        found[over]["chosen"] = {kind: best.count(kind) for kind in NAMES}
    return found


def labels_table(summary: Mapping[str, Any]) -> str:
    """Return sugar-plus, then the classifiers and the difference for each kind of folds."""
    rows = [[f"{OURS}, no labels", *_cells(summary[OURS])]]
    for over, learned in FOLDINGS.items():
        if over in summary:
            found = summary[over]
            rows += [[f"{NAMES[kind]}, {learned}", *_cells(found[kind])] for kind in NAMES]
            label = f"{OURS} less {_better(found['chosen'])}, {learned}"
            rows.append([label, *_cells(found[LESS], sign="+")])
    if many := summary.get(MANY):
        seeds = "seed" if many["runs"] == 1 else "seeds"
        label = f"{NAMES['logistic']}, {many['images']:,} other images, {many['runs']} {seeds}"
        nothing = [NOTHING] * (len(LABEL_MEASURES) - 1)
        rows.append([label, *nothing, _with_half(many, "")])
    return table(["method", *LABEL_MEASURES.values()], rows)


VOCABULARY_INTRODUCTION = """\
All tags are predicted, but not all of them need predict others: `max_predictors` bounds the
regression of sugar-plus to the tags used most, and so what it costs when there are many tags. Here
all tags that at least two images have may predict, then a half, a quarter and an eighth of them;
everything else is as it is by default. *Inputs* are all that the regression weighs: these tags,
title words, anchors and tastes of groups. Behind a metric is the change against all tags on the
same seeds, with its 95 % t interval where there are several seeds. Each fit is a process of its own
with one thread; time is that of the processor, and memory is what the fit held at most beyond what
there was before it."""


def vocabulary_section(document: Mapping[str, Any]) -> str:
    """Return what the result file says of fewer tags that predict."""
    parts = ["## Large vocabularies: fewer tags that predict", wrapped(VOCABULARY_INTRODUCTION)]
    for name, case in document["cases"].items():
        counts = case["data"]
        title = "planted: large" if name == LARGE_CASE else TITLES[name]
        size = f"{counts['images']:,} images, {counts['tags']:,} tags"
        parts += [f"### {title}, {size}, {_seeds(next(iter(case['runs'].values())))}"]
        parts += [vocabulary_table(case["runs"])]
    return "\n\n".join([*parts, _machine(document)]) + "\n"


def vocabulary_table(runs: Mapping[str, Mapping[str, Run]]) -> str:
    """Return a row for each share of the tags, the first being what others are compared with."""
    whole = next(iter(runs.values()))
    rows = []
    for share, found in runs.items():
        shared = [seed for seed in found if seed in whole]
        cells = [f"{_mean(found, name):,.0f}" for name in ("predictors", "inputs")]
        for name in MEASURES:
            gains = [] if found is whole else [found[s][name] - whole[s][name] for s in shared]
            cells.append(_changed(_mean(found, name), gains))
        cells += [f"{_mean(found, 'fit_cpu_seconds'):,.1f}", f"{_mean(found, 'fit_mb'):,.0f}"]
        rows.append(["all" if share == "1" else share, *cells])
    titles = ["part", "tags that predict", "inputs", *MEASURES.values(), "fit s", "fit MB"]
    return table(titles, rows)


def _intervals(runs: Sequence[Run]) -> dict[str, Interval]:
    if not runs:
        return {}
    return {name: t_interval([run[name] for run in runs]) for name in LABEL_MEASURES}


def _cells(found: Mapping[str, Interval], sign: str = "") -> list[str]:
    return [_with_half(found.get(name), sign) for name in LABEL_MEASURES]


def _with_half(value: Interval | None, sign: str) -> str:
    if value is None or value["mean"] is None:
        return NOTHING
    mean = f"{value['mean']:{sign}.3f}"
    return mean if value["high"] is None else f"{mean} ± {value['high'] - value['mean']:.3f}"


def _better(chosen: Mapping[str, int]) -> str:
    """Name the classifier that was better in all seeds, or how often each was."""
    taken = [kind for kind in NAMES if chosen[kind]]
    if len(taken) == 1:
        return NAMES[taken[0]]
    total = sum(chosen.values())
    return "the better (" + ", ".join(f"{NAMES[k]} {chosen[k]} of {total}" for k in taken) + ")"


def _changed(mean: float, gains: Sequence[float]) -> str:
    if not gains:
        return f"{mean:.3f}"
    change = t_interval(gains)
    ends = "" if change["low"] is None else f": {change['low']:+.3f} to {change['high']:+.3f}"
    return f"{mean:.3f} ({change['mean']:+.3f}{ends})"


def _mean(runs: Mapping[str, Run], name: str) -> float:
    values: list[float] = [run[name] for run in runs.values()]
    return sum(values) / len(values)


def _seeds(runs: Mapping[str, Any]) -> str:
    return f"{len(runs)} seed{'' if len(runs) == 1 else 's'}"


def _machine(document: Mapping[str, Any]) -> str:
    return wrapped(f"Measured on {document['machine']['cpu']}, {document['date']}.")
