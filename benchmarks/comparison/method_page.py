"""The table on the page of sugar-plus: its figures beside those of the best other method."""

import re
from pathlib import Path
from typing import Any

from comparison.cases import CASE_NAMES
from comparison.jobs import read_json

OURS = "sugar-plus"
BEGIN, END = "<!-- begin: benchmarks/compare.py render -->", "<!-- end -->"
MEASURES = {"map": "MAP", "miap": "MiAP"}


def with_table(page: str, results: Path) -> str:
    """Return the page with the table between its marks made anew."""
    between = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    made = f"{BEGIN}\n\n{real_collections_table(results)}\n\n{END}"
    return between.sub(lambda _: made, page)


def real_collections_table(results: Path) -> str:
    """Return the table, a row for each collection and measure."""
    lines = [
        "| collection | measure | sugar-plus | best other method | ratio |",
        "|---|---|---:|---:|---:|",
    ]
    for name in CASE_NAMES:
        file = results / f"comparison-{name}.json"
        if file.exists():
            lines += _rows(name, read_json(file)["methods"])
    return "\n".join(lines)


def _rows(name: str, methods: dict[str, Any]) -> list[str]:
    found = []
    for key, title in MEASURES.items():
        figures = {method: _better(entry["summary"], key) for method, entry in methods.items()}
        ours = figures.pop(OURS, None)
        others = {method: value for method, value in figures.items() if value is not None}
        if ours is None or not others:
            continue
        best = max(others, key=lambda method: others[method])
        row = f"| {name} | {title} | {ours:.3f} | {others[best]:.3f} ({best}) "
        found.append(f"{row}| {ours / others[best]:.3f} |")
    return found


def _better(summary: dict[str, Any], key: str) -> float | None:
    """Return the mean over seeds, tuned or with defaults, whichever is better."""
    values = [summary[kind][key]["mean"] for kind in ("tuned", "default") if key in summary[kind]]
    return max(values) if values else None
