"""What each part of sugar-plus is worth: the parts, and the page's section."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison.cases import TITLES, in_order
from comparison.jobs import read_json
from comparison.summary import t_interval
from comparison.tables import NOTHING, table, wrapped

FORMAT = "sugartag-ablations/2"
FILE = "ablations.json"
WHOLE = "whole"
PARTS: Mapping[str, Mapping[str, Any]] = {
    WHOLE: {},
    "without the joint view": {"visual_share": 1.0},
    "without the visual view": {"visual_share": 0.0},
    "without names in the visual view": {"name_similarity": 0.0},
    "without names in the joint view": {"name_prior": 0.0},
    "without neighbours": {"neighbour_weight": 0.0},
    "without series weighting": {"series_weighting": False},
    "without whitening": {"whitening": 0.0},
    "without spread scaling": {"spread_power": 0.0},
    "without own tags": {"own_weight": 0.0},
}
RANKING, VERDICTS = "ranking", "verdicts"
MEASURES = {"map": "MAP", "miap": "MiAP", "f_top5": "F top 5"}
ERRORS = {"ece_given": "ECE, given", "ece_not_given": "ECE, not given"}
BY_ITEM = "by_item"
SAME_FOR_ALL_SEEDS = ("div400",)
"""Cases in which seeds change nothing for a method without random numbers: measured once, and the
intervals are over landmarks."""
DECIDING = ("map", "miap")
LEAST_GAIN, MOST_LOSS = 0.005, 0.003

Runs = Mapping[str, Mapping[str, Any]]
"""What was measured, by seed."""

INTRODUCTION = """\
sugar-plus with its defaults, nothing tuned, and with one part left out. Each number is the mean
over seeds. In parentheses is the change against the whole on the same seeds with its 95 % t
interval; for Div400, where seeds change nothing, the interval is over landmarks. Verdicts are those
on collections of which 20 % of the given tags were hidden and, for each remaining one, a wrong one
was injected with probability 0.1; counts are means over seeds, shares are over all seeds."""
EARNING = """\
A part earns its place if it raises MAP or MiAP by at least {gain} on at least one collection, with
the interval above zero, and lowers neither by more than {loss} on any."""


@dataclass(frozen=True)
class Worth:
    """What a part adds to one metric on one collection."""

    part: str
    case: str
    metric: str
    gain: Mapping[str, float | None]
    """Mean and interval of the whole less the whole without the part."""

    @property
    def mean(self) -> float:
        """The mean gain."""
        return float(self.gain["mean"] or 0.0)

    @property
    def is_sure_gain(self) -> bool:
        """Whether the gain is large enough, and its interval above zero."""
        low = self.gain["low"]
        return self.mean >= LEAST_GAIN and low is not None and low > 0.0

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({MEASURES[self.metric]}, {TITLES[self.case]})"


def ablation_sections(folder: Path) -> Iterator[str]:
    """Yield the section, if anything was measured."""
    file = folder / FILE
    if file.exists():
        yield ablation_section(read_json(file))


def ablation_section(document: Mapping[str, Any]) -> str:
    """Return what the result file says: which parts earn their place, then every collection."""
    found = in_order(document["cases"])
    cases = {name: case for name, case in found.items() if WHOLE in case[RANKING]}
    earning = EARNING.format(gain=LEAST_GAIN, loss=MOST_LOSS)
    parts = ["## What each part of sugar-plus is worth", wrapped(INTRODUCTION)]
    parts += [wrapped(earning), earning_table(worth_of_parts(cases))]
    for name, case in cases.items():
        seeds = len(case[RANKING][WHOLE])
        count = f"{seeds} seed{'' if seeds == 1 else 's'}"
        parts += [f"### {TITLES[name]}, {count}", ranking_table(case[RANKING])]
        if WHOLE in case.get(VERDICTS, {}):
            parts.append(verdict_table(case[VERDICTS]))
    return "\n\n".join(parts) + "\n"


def worth_of_parts(cases: Mapping[str, Any]) -> dict[str, list[Worth]]:
    """Return the worth of each part for the metrics that decide, on every collection."""
    found: dict[str, list[Worth]] = {}
    for name, case in cases.items():
        whole = case[RANKING][WHOLE]
        for part, runs in case[RANKING].items():
            for metric in DECIDING if part != WHOLE else ():
                if gains := differences(whole, runs, metric):
                    worth = Worth(part, name, metric, t_interval(gains))
                    found.setdefault(part, []).append(worth)
    return found


def earns_its_place(worth: Sequence[Worth]) -> bool:
    """Tell whether a part helps somewhere for certain and does no harm anywhere."""
    return any(one.is_sure_gain for one in worth) and min(w.mean for w in worth) >= -MOST_LOSS


def earning_table(worth: Mapping[str, Sequence[Worth]]) -> str:
    """Return the largest gain and the largest loss of each part, and whether it earns its place."""
    rows = []
    for part, found in worth.items():
        sure = [one for one in found if one.is_sure_gain] or found
        best, worst = max(sure, key=lambda w: w.mean), min(found, key=lambda w: w.mean)
        earns = "yes" if earns_its_place(found) else "**no**"
        rows.append([part.removeprefix("without "), str(best), str(worst), earns])
    return table(["part", "largest gain", "smallest gain", "earns its place"], rows)


def differences(whole: Runs, runs: Runs, metric: str) -> list[float]:
    """Return the whole less the runs without a part, by seed or by landmark."""
    seeds = [seed for seed in runs if seed in whole]
    if seeds and metric == "map" and BY_ITEM in whole[seeds[0]]:
        pairs = zip(whole[seeds[0]][BY_ITEM], runs[seeds[0]][BY_ITEM], strict=True)
        return [mine - other for mine, other in pairs]
    values = [(whole[seed].get(metric), runs[seed].get(metric)) for seed in seeds]
    return [mine - other for mine, other in values if mine is not None and other is not None]


def ranking_table(runs: Mapping[str, Runs]) -> str:
    """Return the table of one collection, the whole first, then by MAP."""
    whole = runs[WHOLE]
    names = [name for name in MEASURES if _mean(whole, name) is not None]
    order = sorted(runs, key=lambda part: (part != WHOLE, _mean(runs[part], "map")))
    rows = [[part, *(_cell(runs[part], whole, name) for name in names)] for part in order]
    return table(["part", *(MEASURES[name] for name in names)], rows)


def verdict_table(runs: Mapping[str, Runs]) -> str:
    """Return how good the verdicts on one collection are, part by part."""
    whole = runs[WHOLE]
    rows = []
    for part, some in runs.items():
        cells = [part]
        for kind in ("additions", "doubts"):
            count, right = (_total(some, key) for key in (kind, f"right_{kind}"))
            cells.append(f"{count / len(some):,.0f}")
            cells.append(f"{100 * right / count:.1f} %" if count else NOTHING)
        rows.append([*cells, *(_cell(some, whole, name) for name in ERRORS)])
    titles = ["part", "additions", "right", "doubts", "of these injected", *ERRORS.values()]
    return table(titles, rows)


def _cell(runs: Runs, whole: Runs, name: str) -> str:
    mean = _mean(runs, name)
    if mean is None:
        return NOTHING
    if runs is whole:
        return f"{mean:.3f}"
    losses = [-gain for gain in differences(whole, runs, name)]
    if not losses:
        return f"{mean:.3f}"
    change = t_interval(losses)
    ends = "" if change["low"] is None else f": {change['low']:+.3f} to {change['high']:+.3f}"
    return f"{mean:.3f} ({change['mean']:+.3f}{ends})"


def _mean(runs: Runs, name: str) -> float | None:
    values = [run[name] for run in runs.values() if run.get(name) is not None]
    return sum(values) / len(values) if values else None


def _total(runs: Runs, name: str) -> int:
    return sum(run[name] for run in runs.values())
