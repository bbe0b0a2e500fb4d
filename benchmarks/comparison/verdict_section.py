"""The page's section about verdicts: the bounds that are stated, and whether they are met."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from comparison.cases import TITLES, in_order
from comparison.jobs import read_json
from comparison.rounds import percent
from comparison.tables import NOTHING, table, wrapped

FORMAT = "sugartag-verdicts/3"
FILE = "verdicts.json"
DOUBTS, TRUTH, DISTURBED, UNTAGGED = "doubts", "truth", "disturbed", "untagged"
ALL = "all"
"""All images of the collection."""
JOINED = ", "
"""Between the features and the number of images in the name of a condition."""
LEAST_PRECISION = 0.8
FEW_DOUBTS, NO_DOUBTS = 0.002, 0.005
"""Doubts for each given tag: so few that they may be wrong, and as many as weak features allow."""
LEAST_SHARE = 0.5
"""Of the additions that the best threshold in hindsight makes."""
MOST_ECE = 0.05

MET, IDLE, MISSED = "yes", "idle", "**no**"
"""How a row stands to its bounds; idle: it holds only because hardly any verdict was given."""

Run = Mapping[str, Any]

INTRODUCTION = """\
sugar-plus is fitted as a user would fit it, with its defaults, on real collections whose tags were
changed in a known way. Counts are summed over {seeds}; the expected calibration error (ECE, in ten
equal ranges of the posterior) is the mean over seeds. Of the stated bounds, {met} of {stated} are
met. Another {idle} (*idle*) hold only because hardly any verdict was given, which says nothing
about the verdicts."""
DOUBT_WORDS = """\
For each given tag, a wrong one was injected with probability {injected:g}, drawn as often as the
collection uses it, into random images of each collection. Real features are compared with Gaussian
noise of the same shape and with none at all. Bounds: with real features at least {precision} of the
doubted tags were injected, or fewer than {few} of all tags are doubted; otherwise fewer than {none}
are doubted. A wrong tag that the owner gave counts as a false doubt, so precision is a lower
bound."""
TRUTH_WORDS = """\
DOCUMERICA as given, a tenth of the images left out for each seed. Additions are judged by its
truth, concepts only. The truth is incomplete: a concept that is in the picture and was not
mentioned counts as wrong, so precision is a lower bound. *In hindsight* is how many tags the lowest
threshold on the posterior would have added that keeps {precision} of them right, chosen with the
truth at hand. Bound: at least {precision} right, and at least {share} of the count in
hindsight."""
DISTURBED_WORDS = """\
A share of the given tags was hidden, then for each remaining one a wrong one was injected with
probability {injected:g}. Images that have no tag left are left out. Right is what the owner gave: a
right tag that nobody gave counts as wrong, so the precision of additions is a lower bound. The
recall is the share of right tags that are given, and beside it stands the model's estimate; too
high a one costs additions only. The ECE is over the given tags, over the 20 best of the others of
each image, and over both. Bounds: additions and doubts as above, every ECE at most {ece:g}."""
UNTAGGED_WORDS = """\
{untagged} of the images lost all their tags before the fit, and only these are judged, by the tags
that they had: a right tag that nobody gave counts as wrong. The ECE is over the 20 best tags of
each. Bounds: additions and the ECE as above."""


def condition(features: str, size: str) -> str:
    """Return the name of a condition of the experiment with doubts."""
    return f"{features}{JOINED}{size}"


def verdict_sections(results: Path) -> Iterator[str]:
    """Yield the section, if anything was measured."""
    file = results / FILE
    if file.exists():
        yield verdict_section(read_json(file))


def verdict_section(document: Mapping[str, Any]) -> str:
    """Return what a result file says."""
    cases = in_order(document["cases"])
    words = _words(document)
    parts: list[str] = []
    marks: list[str] = []
    for title, text, (titles, rows) in (
        ("Wrong tags doubted", DOUBT_WORDS, doubt_rows(cases)),
        ("Additions by an independent truth", TRUTH_WORDS, truth_rows(cases)),
        ("Tags hidden and injected", DISTURBED_WORDS, disturbed_rows(cases)),
        ("Images without tags", UNTAGGED_WORDS, untagged_rows(cases)),
    ):
        if rows:
            marks += [row[-1] for row in rows]
            parts += [f"### {title}", wrapped(text.format(**words)), table(titles, rows)]
    counts = {"met": marks.count(MET), "idle": marks.count(IDLE), "stated": len(marks)}
    intro = INTRODUCTION.format(**words, **counts)
    ending = f"Measured on {document['machine']['cpu']}, {document['date']}."
    return "\n\n".join(["## Verdicts", wrapped(intro), *parts, wrapped(ending)]) + "\n"


Rows = tuple[list[str], list[list[str]]]
"""Titles, and rows that end with how they stand to their bounds."""


def doubt_rows(cases: Mapping[str, Any]) -> Rows:
    """Return a row for each collection, kind of features and size."""
    rows = []
    for name, experiments in cases.items():
        for label, runs in experiments.get(DOUBTS, {}).items():
            features, size = label.split(JOINED, 1)
            total = summed(runs)
            share = ratio(total["doubts"], total["given"]) or 0.0
            rows.append(
                [
                    TITLES[name],
                    features,
                    size,
                    f"{total['given']:,}",
                    f"{100 * share:.2f} %",
                    _share(total["right_doubts"], total["doubts"]),
                    doubts_met(total) if features == "real" else few_doubts_met(total),
                ]
            )
    titles = ["collection", "features", "images", "tags", "doubted", "of these injected", "met"]
    return titles, rows


def truth_rows(cases: Mapping[str, Any]) -> Rows:
    """Return a row for each collection with a truth."""
    rows = []
    for name, experiments in cases.items():
        for runs in experiments.get(TRUTH, {}).values():
            total = summed(runs)
            rows.append([TITLES[name], *_additions(total), additions_met(total)])
    return ["collection", "additions", "right", "in hindsight", "met"], rows


def disturbed_rows(cases: Mapping[str, Any]) -> Rows:
    """Return a row for each collection with tags hidden and injected."""
    rows = []
    for name, experiments in cases.items():
        for hidden, runs in experiments.get(DISTURBED, {}).items():
            total = summed(runs)
            right = total["given"] - total["wrong"]
            recall = f"{ratio(right, right + total['missing']) or 0.0:.2f}"
            estimate = f"{mean(runs, 'recall') or 0.0:.2f}"
            errors = [mean(runs, f"ece_{part}") for part in ("given", "not_given", "both")]
            doubts = [f"{total['doubts']:,}", _share(total["right_doubts"], total["doubts"])]
            met = worst(additions_met(total), doubts_met(total), calibration_met(errors))
            start = [TITLES[name], hidden, recall, estimate]
            rows.append([*start, *_additions(total), *doubts, *map(_error, errors), met])
    titles = ["collection", "hidden", "recall", "estimate", "additions", "right", "in hindsight"]
    errors_of = [f"ECE, {part}" for part in ("given", "not given", "both")]
    return [*titles, "doubts", "of these injected", *errors_of, "met"], rows


def untagged_rows(cases: Mapping[str, Any]) -> Rows:
    """Return a row for each collection some of whose images lost all tags."""
    rows = []
    for name, experiments in cases.items():
        for runs in experiments.get(UNTAGGED, {}).values():
            total, error = summed(runs), mean(runs, "ece_not_given")
            met = worst(additions_met(total), calibration_met([error]))
            rows.append([TITLES[name], *_additions(total), _error(error), met])
    return ["collection", "additions", "right", "in hindsight", "ECE", "met"], rows


def calibration_met(errors: Sequence[float | None]) -> str:
    """Say whether all calibration errors are small."""
    return MET if all(error is None or error <= MOST_ECE for error in errors) else MISSED


def doubts_met(total: Run) -> str:
    """Say whether doubts are mostly right; idle if there are next to none."""
    right = ratio(total["right_doubts"], total["doubts"])
    if right is not None and right >= LEAST_PRECISION:
        return MET
    return IDLE if (ratio(total["doubts"], total["given"]) or 0.0) < FEW_DOUBTS else MISSED


def few_doubts_met(total: Run) -> str:
    """Say whether next to nothing is doubted where features show nothing."""
    return MET if (ratio(total["doubts"], total["given"]) or 0.0) < NO_DOUBTS else MISSED


def additions_met(total: Run) -> str:
    """Say whether additions are mostly right and not many fewer than they could be."""
    right = ratio(total["right_additions"], total["additions"])
    if right is None:
        return MISSED if total["hindsight"] else IDLE
    enough = total["additions"] >= LEAST_SHARE * total["hindsight"]
    return MET if right >= LEAST_PRECISION and enough else MISSED


def worst(*marks: str) -> str:
    """Return the mark of all bounds of a row together."""
    return next(mark for mark in (MISSED, IDLE, MET) if mark in marks)


def summed(runs: Mapping[str, Run]) -> dict[str, int]:
    """Return the counts of all seeds added up."""
    values = list(runs.values())
    return {key: sum(run[key] for run in values) for key, v in values[0].items() if type(v) is int}


def mean(runs: Mapping[str, Run], name: str) -> float | None:
    """Return the mean over the seeds that have the measure; None if none has."""
    values: Sequence[float] = [run[name] for run in runs.values() if run[name] is not None]
    return sum(values) / len(values) if values else None


def ratio(part: float, whole: float) -> float | None:
    """Return a share; None of nothing."""
    return part / whole if whole else None


def _additions(total: Run) -> list[str]:
    right = _share(total["right_additions"], total["additions"])
    return [f"{total['additions']:,}", right, f"{total['hindsight']:,}"]


def _error(error: float | None) -> str:
    return NOTHING if error is None else f"{error:.3f}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else NOTHING


def _words(document: Mapping[str, Any]) -> dict[str, Any]:
    experiments = [found for case in document["cases"].values() for found in case.values()]
    counts = {len(runs) for found in experiments for runs in found.values()}
    seeds = max(counts, default=0)
    return {
        "seeds": f"{seeds} seed{'' if seeds == 1 else 's'}",
        "injected": document["injected_rate"],
        "untagged": percent(document["untagged_share"]),
        "precision": percent(LEAST_PRECISION),
        "few": percent(FEW_DOUBTS),
        "none": percent(NO_DOUBTS),
        "share": percent(LEAST_SHARE),
        "ece": MOST_ECE,
    }
