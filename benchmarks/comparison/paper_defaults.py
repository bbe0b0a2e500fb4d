"""How good the defaults of sugar-tc are for collections that they were not chosen on.

One setting is varied at a time around the defaults. Each collection is held out in turn: what is
best on the others is measured on it.
"""

import re
from collections.abc import Mapping
from typing import Any

from comparison.cases import TITLES, in_order
from comparison.design import DEFAULT, Case, held_out, held_out_table, variant_table
from comparison.tables import wrapped

FORMAT = "sugartag-paper-defaults/1"
FILE = "paper-defaults.json"
MEASURES = {"map": "MAP", "miap": "MiAP"}
GRID: Mapping[str, Mapping[str, Any]] = {
    "bandwidth=0.8": {"bandwidth": 0.8},
    "bandwidth=2": {"bandwidth": 2.0},
    "links_per_image=20": {"links_per_image": 20},
    "links_per_image=50": {"links_per_image": 50},
    "units_per_cluster=6": {"units_per_cluster": 6},
    "image_clusters=20": {"image_clusters": 20, "user_clusters": 6},
    "links_per_tag=0": {"links_per_tag": 0},
    "links_per_tag=10": {"links_per_tag": 10},
    "ridge x 10": {"prior_weight": 8e-6, "ridge": 2e-6},
    "ridge x 100": {"prior_weight": 8e-5, "ridge": 2e-5},
    "smoothness=0": {"image_smoothness": 0.0, "user_smoothness": 0.0},
    "smoothness=0.001": {"image_smoothness": 1e-3, "user_smoothness": 1e-3},
    "smoothness=0.01": {"image_smoothness": 1e-2, "user_smoothness": 1e-2},
    "image_share=0": {"image_share": 0.0},
    "image_share=0.2": {"image_share": 0.2},
    "image_share=0.8": {"image_share": 0.8},
    "own_weight=0.5": {"own_weight": 0.5},
    "own_weight=2": {"own_weight": 2.0},
    "subtract_mean=false": {"subtract_mean": False},
    "eq. 12, smoothness=0.1": {
        "scoring": "assignment",
        "image_smoothness": 0.1,
        "user_smoothness": 0.1,
    },
}
"""What is varied, by the name in the tables."""
SHARED: Mapping[str, Any] = {"precision": "float32"}
"""Of all variants: half the time, the same scores to four digits."""
BEGIN, END = "<!-- begin: benchmarks/results/paper-defaults.json -->", "<!-- end of defaults -->"

INTRODUCTION = """\
About {images:,} images of each collection, one seed. *Chosen* is the variant with the highest mean
of the ratio of its MAP and MiAP to the defaults' on the three other collections, *in hindsight*
what is best on the one held out."""
VARIANTS = "Change of the mean of MAP and MiAP against the defaults, in percent:"


def variants() -> dict[str, dict[str, Any]]:
    """Return the settings of each variant by its name, the defaults first."""
    return {DEFAULT: dict(SHARED)} | {name: {**SHARED, **some} for name, some in GRID.items()}


def tables(document: Mapping[str, Any]) -> str:
    """Return both tables of a result file."""
    cases: Mapping[str, Case] = in_order(document["cases"])
    parts = [wrapped(INTRODUCTION.format(images=document["images"])), held_out_table(cases)]
    return "\n\n".join([*parts, wrapped(VARIANTS), variant_table(cases)])


def with_tables(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with the tables between its marks made anew from a result file."""
    made = "\n\n".join([BEGIN, tables(document), END])
    between = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return between.sub(lambda _: made, page)


def in_words(document: Mapping[str, Any]) -> list[str]:
    """Return one line for each collection held out."""
    return [
        f"{TITLES[row.case]}: {row.chosen} ({row.on_others:.3f} elsewhere) gives {row.ratio:.3f}, "
        f"{row.hindsight} {row.best_ratio:.3f}"
        for row in held_out(in_order(document["cases"]))
    ]
