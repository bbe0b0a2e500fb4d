"""How good the fixed settings of sugar-plus are for collections that they were not chosen on.

Each collection is held out in turn: the variant that is best on the others is compared on it with
the defaults, and with the variant that is best there in hindsight.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from comparison.cases import TITLES, in_order
from comparison.jobs import read_json
from comparison.tables import NOTHING, table, wrapped

FORMAT = "sugartag-design/1"
FILE = "design.json"
DEFAULT = "defaults"
GRID: Mapping[str, Sequence[float]] = {
    "visual_penalty": (30.0, 100.0, 300.0),
    "joint_penalty": (10.0, 30.0, 100.0),
    "tag_penalty": (2.0, 5.0, 15.0),
    "whitening": (0.0, 0.25, 0.5),
    "visual_share": (0.33, 0.5, 0.67),
    "name_similarity": (0.0, 0.15, 0.3, 0.6),
    "name_prior": (0.0, 0.05, 0.1, 0.2),
    "neighbour_weight": (0.0, 0.05, 0.15),
    "own_weight": (1.0, 2.0, 4.0),
}
"""Values worth trying; one setting is varied at a time."""
MEASURES = {"map": "MAP", "miap": "MiAP"}

Runs = Mapping[str, Mapping[str, float]]
"""What was measured, by seed."""
Case = Mapping[str, Runs]
"""By variant."""

INTRODUCTION = """\
The settings of sugar-plus are the same for every collection. Here one of them is varied at a time
around its default, {seeds}, and each collection is held out in turn. A variant is compared with the
defaults by the mean ratio of its MAP and MiAP to theirs. *Chosen* is the variant with the highest
mean ratio on the other collections, which is then measured on the one held out; *in hindsight* is
the one that is best there."""
VARIANT_WORDS = "Change of the mean of MAP and MiAP against the defaults, in percent:"


def variants(defaults: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the settings of each variant by its name, the defaults first."""
    found: dict[str, dict[str, float]] = {DEFAULT: {}}
    for name, values in GRID.items():
        for value in values:
            if value != defaults[name]:
                found[f"{name}={value:g}"] = {name: value}
    return found


def relative(case: Case, variant: str) -> float:
    """Return the mean ratio of a variant's metrics to those of the defaults, seed by seed."""
    base = case[DEFAULT]
    ratios = [
        run[name] / base[seed][name]
        for seed, run in case[variant].items()
        if seed in base
        for name in MEASURES
        if name in run
    ]
    return fmean(ratios)


@dataclass(frozen=True)
class HeldOut:
    """What choosing on the other collections comes to on one."""

    case: str
    chosen: str
    on_others: float
    """Its mean ratio there."""
    ratio: float
    """Its ratio on the collection held out."""
    hindsight: str
    best_ratio: float


def held_out(cases: Mapping[str, Case]) -> list[HeldOut]:
    """Hold out each collection in turn; the variants are those measured on all of them."""
    shared = [name for name in next(iter(cases.values())) if all(name in c for c in cases.values())]
    ratio = {
        name: {case: relative(found, name) for case, found in cases.items()} for name in shared
    }
    rows = []
    for case in cases:
        others = [other for other in cases if other != case]
        mean = {name: fmean(ratio[name][other] for other in others) for name in shared}
        chosen = max(shared, key=lambda name: mean[name])
        best = max(shared, key=lambda name: ratio[name][case])
        row = HeldOut(case, chosen, mean[chosen], ratio[chosen][case], best, ratio[best][case])
        rows.append(row)
    return rows


def design_sections(folder: Path) -> Iterator[str]:
    """Yield the section, if two collections or more were measured."""
    file = folder / FILE
    document = read_json(file) if file.exists() else {"cases": {}}
    if len(measured_cases(document)) > 1:
        yield design_section(document)


def measured_cases(document: Mapping[str, Any]) -> dict[str, Case]:
    """Return the collections on which the defaults were measured."""
    cases: Mapping[str, Case] = in_order(document["cases"])
    return {name: case for name, case in cases.items() if case.get(DEFAULT)}


def design_section(document: Mapping[str, Any]) -> str:
    """Return what the result file says."""
    cases = measured_cases(document)
    seeds = max(len(case[DEFAULT]) for case in cases.values())
    words = INTRODUCTION.format(seeds=f"with {seeds} seed{'' if seeds == 1 else 's'}")
    parts = ["## Settings chosen on other collections", wrapped(words), held_out_table(cases)]
    parts += [wrapped(VARIANT_WORDS), variant_table(cases)]
    parts.append(wrapped(f"Measured on {document['machine']['cpu']}, {document['date']}."))
    return "\n\n".join(parts) + "\n"


def held_out_table(cases: Mapping[str, Case]) -> str:
    """Return a row for each collection held out: defaults, chosen and in hindsight."""
    rows = []
    for row in held_out(cases):
        case = cases[row.case]
        cells = [TITLES[row.case], _metrics(case[DEFAULT])]
        cells += [f"`{row.chosen}`", _percent(row.on_others)]
        cells += [_metrics(case[row.chosen]), _percent(row.ratio)]
        cells += [f"`{row.hindsight}`", _metrics(case[row.hindsight]), _percent(row.best_ratio)]
        rows.append(cells)
    titles = ["held out", "defaults, MAP / MiAP", "chosen", "on the others", "chosen, MAP / MiAP"]
    return table([*titles, "change", "in hindsight", "best, MAP / MiAP", "best change"], rows)


def variant_table(cases: Mapping[str, Case]) -> str:
    """Return the change of each variant on each collection, and its mean."""
    names = dict.fromkeys(name for case in cases.values() for name in case if name != DEFAULT)
    rows = []
    for name in names:
        found = {c: relative(runs, name) for c, runs in cases.items() if name in runs}
        cells = [_percent(found[c]) if c in found else NOTHING for c in cases]
        rows.append([f"`{name}`", *cells, _percent(fmean(found.values()))])
    return table(["variant", *(TITLES[name] for name in cases), "mean"], rows)


def _metrics(runs: Runs) -> str:
    found = [[run[name] for run in runs.values() if name in run] for name in MEASURES]
    return " / ".join(f"{fmean(values):.3f}" if values else NOTHING for values in found)


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"
