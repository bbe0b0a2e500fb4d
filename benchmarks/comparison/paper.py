"""What sugar-tc and the methods it is compared with do at their defaults: variants and tables.

``sugar-tc`` is measured beside the simplest peers, with its defaults, its presets and one thing
changed at a time. Every method is measured with its defaults and with settings drawn from its
search space; the best of these by the answers themselves is more than tuning could find.
"""

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np

from comparison.cases import TITLES, in_order
from comparison.rounds import Round, TaskRound
from comparison.tables import NOTHING, table
from sugartag.collection.model import Collection
from sugartag.collection.subset import some_images
from sugartag.evaluation.protocol import truth_task
from sugartag.methods.search_spaces import search_space
from sugartag.reproduce.photographs import some_owners

FORMAT = "sugartag-paper/1"
FILE = "paper.json"
MEASURES = {"map": "MAP", "miap": "MiAP", "f_top10": "F top 10"}
CONTENDERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "original": ("original", {}),
    "tag-prior": ("tag-prior", {}),
    "tag-vote": ("tag-vote", {}),
    "sugar-tc": ("sugar-tc", {}),
    "sugar-tc, no own tags": ("sugar-tc", {"own_weight": 0.0}),
    "sugar-tc, preset repaired": ("sugar-tc", {"preset": "repaired"}),
    "sugar-tc, preset printed": ("sugar-tc", {"preset": "printed"}),
}
"""What is compared with what, by the name in the table."""
BEGIN, END = "<!-- begin: benchmarks/results/paper.json -->", "<!-- end -->"
"""Between these marks a page has the tables."""


def photographs_of_some(collection: Collection, n_images: int) -> Round:
    """Return the task of about so many photographs, all of some owners, none with a quarter."""
    kept = some_owners(collection, n_images)
    chosen = some_images(collection, np.flatnonzero(np.isin(collection.owner, kept)))
    return TaskRound(truth_task(chosen), author_aware=False)


def plain(here: Round) -> Round:
    """Return a round that is measured once, with all the evidence."""
    return replace(here, author_aware=False) if isinstance(here, TaskRound) else here


def trials_of(method: str, count: int) -> dict[str, dict[str, Any]]:
    """Return settings drawn from the search space of a method, by what they are called."""
    space = search_space(method)
    rng = np.random.default_rng(zlib.crc32(method.encode()))
    numbers = rng.permutation(space.size)[:count] if space.size < 1 << 20 else None
    if numbers is None:
        numbers = rng.integers(space.size, size=count)
    drawn = [space.settings_at(space.point_number(int(number))) for number in numbers]
    return {", ".join(f"{k}={v}" for k, v in settings.items()): settings for settings in drawn}


def paper_table(cases: Mapping[str, Any]) -> str:
    """Return the table of sugar-tc and the simplest peers, means over seeds."""
    columns = [
        (name, key)
        for name, found in in_order(cases).items()
        for key in MEASURES
        if any(key in run for runs in found.values() for run in runs.values())
    ]
    titles = ["", *(f"{TITLES[name]} {MEASURES[key]}" for name, key in columns)]
    rows = [
        [label, *(_mean(cases[name].get(label, {}), key) for name, key in columns)]
        for label in CONTENDERS
        if any(label in found for found in cases.values())
    ]
    return table(titles, rows)


def _mean(runs: Mapping[str, Any], key: str) -> str:
    values = [run[key] for run in runs.values() if key in run]
    return f"{fmean(values):.3f}" if values else NOTHING


def default_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how near the defaults of each method are to the best settings drawn for it."""
    titles = ["method", "defaults", "best drawn", "ratio", "drawn", "best settings"]
    return table(titles, [_default_row(name, runs) for name, runs in sorted(found.items())])


def _default_row(name: str, runs: Mapping[str, Any]) -> list[str]:
    default = score(runs["defaults"])
    drawn = {label: score(run) for label, run in runs.items() if label != "defaults"}
    best = max(drawn, key=lambda label: drawn[label], default="")
    value = max(drawn.get(best, 0.0), default)
    settings = f"`{best}`" if drawn and drawn[best] > default else "the defaults"
    ratio = default / value if value else 1.0
    return [name, f"{default:.3f}", f"{value:.3f}", f"{ratio:.2f}", str(len(drawn)), settings]


def score(run: Mapping[str, Any]) -> float:
    """Return the mean of MAP and MiAP."""
    measured: Sequence[float] = [run[key] for key in ("map", "miap") if key in run]
    return fmean(measured) if measured else 0.0


def with_tables(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with the tables between its marks made anew from a result file."""
    parts = [paper_table(document["cases"])]
    for name, found in in_order(document["drawn"]).items():
        parts.append(f"Defaults beside settings drawn at random, {TITLES[name]}, (MAP + MiAP) / 2:")
        parts.append(default_table(found))
    made = "\n\n".join([BEGIN, *parts, END])
    between = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return between.sub(lambda _: made, page)
