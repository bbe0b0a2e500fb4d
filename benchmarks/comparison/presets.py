"""The table of sugar-tc's presets, run to their end on parts of collections."""

import re
from collections.abc import Mapping
from typing import Any

from comparison.cases import TITLES, in_order
from comparison.paper import CONTENDERS, MEASURES
from comparison.tables import NOTHING, table, wrapped

FORMAT = "sugartag-presets/1"
FILE = "paper-presets.json"
BEGIN, END = "<!-- begin: benchmarks/results/paper-presets.json -->", "<!-- end of presets -->"


def with_table(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with the table between its marks made anew from a result file."""
    cases = in_order(document["cases"])
    titles = ["", *(f"{TITLES[name]}, {' / '.join(MEASURES.values())}" for name in cases), "fit s"]
    rows = []
    for label in CONTENDERS:
        runs = [case["runs"].get(label, {}) for case in cases.values()]
        seconds = " / ".join(f"{run['fit_seconds']:.0f}" if run else NOTHING for run in runs)
        rows.append([label, *map(_metrics, runs), seconds])
    parts = [
        f"{case['counts']['images']:,} images, {case['counts']['tags']:,} tags and "
        f"{case['counts']['owners']:,} owners of {TITLES[name]}"
        for name, case in cases.items()
    ]
    words = f"{'; '.join(parts)}. One seed; {document['machine']['cpu']}, {document['date']}."
    made = "\n\n".join([BEGIN, table(titles, rows), wrapped(words), END])
    between = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    return between.sub(lambda _: made, page)


def _metrics(run: Mapping[str, float]) -> str:
    if not run:
        return NOTHING
    return " / ".join(f"{run[key]:.3f}" if key in run else NOTHING for key in MEASURES)
