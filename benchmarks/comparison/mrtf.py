"""Where the training of MRTF helps and where it hurts: variants and the table of its page."""

import re
from collections.abc import Mapping
from typing import Any

from comparison.cases import TITLES, in_order
from comparison.tables import NOTHING, table, wrapped

FORMAT = "sugartag-mrtf/1"
FILE = "mrtf-training.json"
MEASURES = ("map", "miap", "f_top10")
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "the start alone": {"epochs": 0},
    "3 epochs": {"epochs": 3},
    "10 epochs": {"epochs": 10},
    "10 epochs, tag factors held": {"epochs": 10, "learns_tags": False},
    "10 epochs, read for the mean user": {"epochs": 10, "collapse": "mean_user"},
    "10 epochs, the sigmoid itself": {"epochs": 10, "loss": "sigmoid"},
}
"""What is varied, by the name in the table."""
PER_IMAGE = ", scores as shares of each image"
"""Said of scores that were made comparable between images by a softmax over tags."""
BEGIN, END = "<!-- begin: benchmarks/results/mrtf-training.json -->", "<!-- end -->"


def with_table(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with the table between its marks made anew from a result file."""
    cases = in_order(document["cases"])
    names = dict.fromkeys(name for case in cases.values() for name in case["runs"])
    rows = [
        [name, *(_metrics(case["runs"].get(name, {})) for case in cases.values())] for name in names
    ]
    titles = ["variant", *(f"{TITLES[name]}, MAP / MiAP / F top 10" for name in cases)]
    images = ", ".join(
        f"{case['images']:,} images of {TITLES[name]}" for name, case in cases.items()
    )
    words = f"{images}, one seed; {document['machine']['cpu']}, {document['date']}."
    made = "\n\n".join([BEGIN, table(titles, rows), wrapped(words), END])
    between = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return between.sub(lambda _: made, page)


def _metrics(run: Mapping[str, float]) -> str:
    return " / ".join(f"{run[key]:.3f}" for key in MEASURES) if run else NOTHING
