"""What each part of sugar-plus is worth: the parts, and the page's section."""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from comparison.jobs import read_json
from comparison.summary import t_interval
from comparison.tables import table

FORMAT = "sugartag-ablations/1"
FILE = "ablations.json"
WHOLE = "all of it"
PARTS: Mapping[str, Mapping[str, Any]] = {
    WHOLE: {},
    "without anchors": {"anchors": 0},
    "without other tags": {"max_predictors": 0},
    "without titles": {"titles": False},
    "without tastes of groups": {"tastes": 0},
    "without owner effects": {"owner_variance": 0.0},
    "without look-alikes": {"history": 0},
    "without interests": {"interests": False},
    "without trust in tags": {"trust_rounds": 0},
    "without subjects": {"subjects": 0},
    "without sight": {"sight": False},
}
MEASURES = {"map": "MAP", "miap": "MiAP", "f_top5": "F top 5"}
TITLES = {
    "documerica": "DOCUMERICA",
    "openclipart": "OpenClipart",
    "openclipart-shipped": "OpenClipart, as shipped",
    "mdi": "Material Design Icons",
    "div400": "Div400",
    "planted-clean": "planted: clean",
    "planted-noisy": "planted: noisy",
    "planted-hard": "planted: hard to see",
}
WIDTH = 100


def ablation_sections(folder: Path) -> Iterator[str]:
    """Yield the section, if anything was measured."""
    file = folder / FILE
    if file.exists():
        yield ablation_section(read_json(file))


def ablation_section(document: Mapping[str, Any]) -> str:
    """Return what the result file says: a table for each collection."""
    parts = [
        "## What each part of sugar-plus is worth",
        textwrap.fill(
            "sugar-plus with its defaults, nothing tuned, and with one part left out. Each number "
            "is the mean over seeds; behind it, how much is lost or gained against all of it on "
            "the same seeds, with the 95 % interval of that difference (Student's t over seeds). "
            "What a collection does not have cannot be missed: parts without effect on it are not "
            "shown.",
            WIDTH,
        ),
    ]
    for name, runs in document["cases"].items():
        parts += [f"### {TITLES[name]}, {len(runs[WHOLE])} seeds", case_table(runs)]
    return "\n\n".join(parts) + "\n"


def case_table(runs: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return the table of one collection, the whole first, then by what is lost."""
    whole = runs[WHOLE]
    seeds = sorted(whole)
    names = [name for name in MEASURES if name in whole[seeds[0]]]
    shown = [part for part in runs if part == WHOLE or runs[part] != whole]
    shown.sort(key=lambda part: (part != WHOLE, _mean(runs[part], "map")))
    rows = [
        [part, *(_cell(runs[part], whole, name, is_whole=part == WHOLE) for name in names)]
        for part in shown
    ]
    return table(["part", *(MEASURES[name] for name in names)], rows)


def _cell(
    runs: Mapping[str, Mapping[str, float]],
    whole: Mapping[str, Mapping[str, float]],
    name: str,
    *,
    is_whole: bool,
) -> str:
    mean = f"{_mean(runs, name):.3f}"
    if is_whole:
        return mean
    gains = [runs[seed][name] - whole[seed][name] for seed in sorted(runs) if seed in whole]
    change = t_interval(gains)
    if change["low"] is None:
        return f"{mean} ({change['mean']:+.3f})"
    return f"{mean} ({change['mean']:+.3f}: {change['low']:+.3f} to {change['high']:+.3f})"


def _mean(runs: Mapping[str, Mapping[str, float]], name: str) -> float:
    values = [run[name] for run in runs.values()]
    return sum(values) / len(values)
