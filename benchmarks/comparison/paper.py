"""sugar-tc beside the simplest peers, with its defaults and its presets: the table."""

import re
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from comparison.cases import TITLES, in_order
from comparison.rounds import Round, TaskRound
from comparison.tables import NOTHING, table

FORMAT = "sugartag-paper/1"
FILE = "paper.json"
MEASURES = {"map": "MAP", "miap": "MiAP", "f_top10": "F top 10"}
PRINTED = "sugar-tc, preset printed"
CONTENDERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "original": ("original", {}),
    "tag-prior": ("tag-prior", {}),
    "tag-vote, one vote an owner": ("tag-vote", {"one_vote_per_owner": True}),
    "tag-vote": ("tag-vote", {}),
    "sugar-tc": ("sugar-tc", {}),
    "sugar-tc, no own tags": ("sugar-tc", {"own_weight": 0.0}),
    "sugar-tc, preset repaired": ("sugar-tc", {"preset": "repaired"}),
    PRINTED: ("sugar-tc", {"preset": "printed"}),
}
"""What is compared with what, by the name in the table."""
BEGIN, END = "<!-- begin: benchmarks/results/paper.json -->", "<!-- end -->"
"""Between these marks a page has the tables."""


def plain(here: Round) -> Round:
    """Return a round that is measured once, with all the evidence."""
    return replace(here, author_aware=False) if isinstance(here, TaskRound) else here


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


def with_tables(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with the table between its marks made anew from a result file."""
    made = "\n\n".join([BEGIN, paper_table(document["cases"]), END])
    between = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return between.sub(lambda _: made, page)
