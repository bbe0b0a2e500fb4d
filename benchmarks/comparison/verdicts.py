"""How good verdicts are: one fit of a method, judged by what is right, and the page's section."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from comparison.jobs import read_json
from comparison.rounds import percent
from comparison.summary import t_interval
from comparison.tables import wrapped
from sugartag.changes import Thresholds
from sugartag.collection.model import Collection
from sugartag.collection.synthetic import World
from sugartag.engine.base import Engine
from sugartag.evaluation.verdicts import Reliability, VerdictCounts
from sugartag.fitting import fit_model
from sugartag.judging import Answers, disturb, judge
from sugartag.methods.registry import make_method

FORMAT = "sugartag-verdicts/1"
FILE = "verdicts.json"
HIDDEN_SHARE = 0.2
INJECTED_RATE = 0.25
DISTURBING = 7_000
"""Added to the seed of a round: what is hidden and injected here has nothing to do with what
``fit_model`` hides and injects on its own."""
NOTHING = "–"

COLUMNS = {
    "add_precision": "add precision",
    "add_recall": "add recall",
    "remove_precision": "remove precision",
    "remove_recall": "remove recall",
    "ece": "ECE",
    "ece_added": "ECE, added",
    "ece_given": "ECE, given",
    "ece_below": "ECE, not added",
    "all_remove_precision": "remove precision, all tags",
    "all_remove_recall": "remove recall, all tags",
    "all_ece_given": "ECE, given, all tags",
}
ALL, OF_ALL = "all_", ("remove_precision", "remove_recall", "ece_given")
"""What is also told of all tags: those that do not show in an image can only be kept or doubted."""
PARTS = ("added", "given", "below")
LARGER = "-larger"
"""Ends the names of worlds with ten times as many images."""
TITLES = {
    "planted-clean": "planted: clean",
    "planted-noisy": "planted: noisy",
    "planted-hard": "planted: hard to see",
    "openclipart": "OpenClipart, as shipped",
    "planted-clean-larger": "planted: clean, 40,000 images",
    "planted-noisy-larger": "planted: noisy, 40,000 images",
    "planted-dim-larger": "planted: dim, 40,000 images",
    "planted-hard-larger": "planted: hard to see, 40,000 images",
}


@dataclass(frozen=True, eq=False)
class JudgedRound:
    """One seed of a case: what methods may see, and what is right."""

    given: Collection
    answers: Answers
    about_all: Answers | None = None
    """What is right of all tags, if more is known than of those above."""

    @classmethod
    def planted(cls, world: World, seed: int) -> "JudgedRound":
        """Judge by the planted truth: the tags that can be seen, and all of them."""
        told = replace(world, n_concepts=world.n_tags).generate(seed)
        every = Answers.of_truth(told)
        return cls(told, every.about(world.plan(seed).concept_names), every)

    @classmethod
    def disturbed(cls, collection: Collection, seed: int) -> "JudgedRound":
        """Judge by tags hidden and wrong ones added."""
        made = disturb(
            collection,
            hidden_share=HIDDEN_SHARE,
            injected_rate=INJECTED_RATE,
            seed=DISTURBING + seed,
        )
        return cls(made.collection, made.answers)

    def run(self, method: str, *, engine: Engine, seed: int) -> dict[str, Any]:
        """Fit the method with its defaults and judge its verdicts; return what a file keeps."""
        model = fit_model(make_method(method), self.given, engine=engine, seed=seed)

        def counts_of(answers: Answers) -> VerdictCounts:
            return judge(model, self.given, answers, engine=engine, thresholds=Thresholds())

        found = run_entry(counts_of(self.answers))
        if self.about_all is None:
            return found
        measures = counts_of(self.about_all).measures()
        return found | {f"{ALL}{name}": measures[name] for name in OF_ALL}


def run_entry(counts: VerdictCounts) -> dict[str, Any]:
    """Return what the file keeps of the verdicts of one run."""
    return {
        **counts.measures(),
        "counts": asdict(counts.changes),
        "reliability": {part: _ranges(getattr(counts, part)) for part in PARTS},
    }


def summarised_runs(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean and interval of each measure over the runs that have it."""
    found: dict[str, Any] = {}
    for name in COLUMNS:
        values = [run.get(name) for run in runs]
        values = [value for value in values if value is not None and not np.isnan(value)]
        found[name] = (t_interval(values) | {"runs": len(values)}) if values else None
    return found


def pooled_reliability(runs: Sequence[Mapping[str, Any]], part: str) -> Reliability:
    """Return the ranges of all runs added up."""
    entries = [run["reliability"][part] for run in runs]

    def total(key: str) -> Any:
        return np.sum([entry[key] for entry in entries], axis=0)

    return Reliability(total("count"), total("total_chance"), total("right"))


def _ranges(reliability: Reliability) -> dict[str, Any]:
    return {key: getattr(reliability, key).tolist() for key in ("count", "total_chance", "right")}


INTRODUCTION = """\
`sugartag suggest` turns chances into verdicts: a tag is added from the chance on that `fit` learned
for it, at most {top} an image, and a given tag is doubted below another. Are additions and doubts
right, and do chances come true? A method is fitted as a user would fit it, with its defaults, and
its verdicts are compared with what is right. ECE is the expected calibration error in ten ranges of
chance: of all verdicts, of additions and of given tags apart, and of the {candidates} best
candidates of each image that were not added. [Metrics](metrics.md#verdicts) says how each is
computed. Means over {seeds}; ± is half the 95 % t interval over seeds."""
PLANTED_NOTE = """\
In planted worlds the tags that can be seen in an image are judged; the last columns judge all,
also the fifth that do not show and that no image tells of, like the name of a camera: best kept.
Few missing tags can be told from the evidence there is, also by those who know the truth of other
images: *missing tags found*, against classifiers trained on clean labels, says how few. The more
images there are, the more can be told. The people of the dim world are those of the hard one, and
it is half as hard to see. Where even the strongest evidence is weak, few tags are added or none:
precision is then that of the seeds in which any are, and as much a matter of luck. How recall is
told and what additions aim at was chosen looking at these verdicts, and at those of other seeds."""
HIDDEN_NOTE = """\
Of OpenClipart {hidden} of the given tags were hidden, and for each tag left a wrong one was
added with probability {injected:g}, others than those that fitting hides and adds on its own. Right
is what the owner gave. A right tag that nobody gave counts as wrong there, and a slip of the owner
as right: precisions are lower bounds, and a chance that is right looks too high for additions and
too low for given tags."""


def verdict_section(results: Path) -> Iterator[str]:
    """Yield the section about verdicts, if they were measured."""
    file = results / FILE
    if file.exists():
        yield section_of(read_json(file))


def section_of(document: Mapping[str, Any]) -> str:
    """Return what a result file says."""
    seeds = len(document["seeds"])
    words = document["thresholds"] | {
        "candidates": document["candidates"],
        "hidden": percent(document["hidden_share"]),
        "injected": document["injected_rate"],
        "seeds": f"{seeds} seed{'' if seeds == 1 else 's'}",
    }
    cases: Mapping[str, Any] = document["cases"]
    notes = [PLANTED_NOTE] if any(name.startswith("planted") for name in cases) else []
    notes += [HIDDEN_NOTE] if "openclipart" in cases else []
    parts = ["## Verdicts", wrapped(INTRODUCTION.format(**words))]
    parts += [wrapped(note.format(**words)) for note in notes]
    methods = dict.fromkeys(name for case in cases.values() for name in case["methods"])
    for method in methods:
        parts += [f"[{method}](methods/{method}.md):", _measures_table(cases, method)]
        parts += [
            "How often chances came true, all seeds together:",
            _reliability_table(cases, method),
        ]
    machine = document["machine"]
    parts.append(f"Measured on {machine['cpu']}, {document['date']}.")
    return "\n\n".join(parts) + "\n"


def _measures_table(cases: Mapping[str, Any], method: str) -> str:
    rows = []
    for name, case in cases.items():
        if method in case["methods"]:
            summary, runs = (case["methods"][method][key] for key in ("summary", "runs"))
            cells = (_cell(summary[key], len(runs)) for key in COLUMNS)
            rows.append([TITLES.get(name, name), *cells, _additions(list(runs.values()))])
    return _table(["collection", *COLUMNS.values(), "additions right, all seeds"], rows)


def _additions(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return how many additions of all runs were right, and how many there are."""
    right, added = (sum(run["counts"][key] for run in runs) for key in ("rightly_added", "added"))
    return f"{right:,} of {added:,}" if added else NOTHING


def _reliability_table(cases: Mapping[str, Any], method: str) -> str:
    """Return the share right in each range of chance, with how many tags were in it."""
    rows = []
    for name, case in cases.items():
        runs = list(case["methods"].get(method, {}).get("runs", {}).values())
        for part, words in (("added", "added"), ("given", "given")):
            if not runs:
                continue
            found = pooled_reliability(runs, part)
            cells = [
                NOTHING if not count else f"{share:.2f} ({count:,})"
                for share, count in zip(found.share_right(), found.count.tolist(), strict=True)
            ]
            rows.append([f"{TITLES.get(name, name)}, {words}", *cells])
    edges = [f"{low:.1f}–{low + 0.1:.1f}" for low in np.arange(10) / 10]
    return _table(["chance", *edges], rows)


def _cell(value: Mapping[str, Any] | None, n_runs: int) -> str:
    """Return mean and half interval, and of how many runs if others have no such measure."""
    if value is None:
        return NOTHING
    half = "" if value["high"] is None else f" ± {value['high'] - value['mean']:.3f}"
    some = "" if value["runs"] == n_runs else f" ({value['runs']} of {n_runs} seeds)"
    return f"{value['mean']:.3f}{half}{some}"


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = [":--", *("--:" for _ in titles[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (titles, marks, *rows))
