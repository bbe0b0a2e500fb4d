"""Markdown tables of a comparison: numbers with their uncertainty, the best of a column in bold."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 100
NOTHING = "–"
"""Where there is no number."""

Entry = Mapping[str, Any]
"""What a result file says of one method."""


@dataclass(frozen=True)
class Column:
    """A metric in a table."""

    title: str
    metric: str
    kind: str = "tuned"
    """With which settings: tuned or default."""
    digits: int = 3
    higher_is_better: bool = True
    with_interval: bool = False


COST = tuple(
    Column(title, metric, digits=digits, higher_is_better=False)
    for title, metric, digits in (
        ("fit s", "fit_seconds", 1),
        ("score s", "score_seconds", 1),
        ("peak MB", "peak_rss_mb", 0),
    )
)
MAP = Column("MAP", "map", with_interval=True)
DEFAULT_MAP = Column("MAP, defaults", "map", kind="default")
STRANGERS = Column("MAP, strangers only", "author_aware_map")
LISTS = (
    Column("MiAP", "miap"),
    Column("F top 5", "f_top5"),
    Column("F top 10", "f_top10"),
    Column("NDCG@20", "ndcg20"),
)
CHANGES = (
    Column("add precision", "add_precision"),
    Column("add recall", "add_recall"),
    Column("remove precision", "remove_precision"),
    Column("remove recall", "remove_recall"),
)


LEFT = {"method", "part", "order", "best other", "settings chosen", "collection", "features"}
LEFT |= {"held out", "chosen", "variant", "largest gain", "smallest gain"}
"""Titles of columns that hold words."""


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table: words to the left, numbers to the right."""
    marks = [":--" if title in LEFT else "--:" for title in titles]
    return "\n".join("| " + " | ".join(row) + " |" for row in (titles, marks, *rows))


def metric_table(methods: Mapping[str, Entry], columns: Sequence[Column]) -> str:
    """Return a row for each method in the order given, best values in bold."""
    best = {column: _best(methods, column) for column in columns}
    rows = []
    for name, entry in methods.items():
        cells = [_cell(entry, column, best[column]) for column in columns]
        rows.append([_link(name), *cells])
    return table(["method", *(column.title for column in columns)], rows)


def margin_table(methods: Mapping[str, Entry], items: str) -> str:
    """Return how far each method is from the best other one, and how sure its MAP is."""
    over_items = any("over_items" in (entry["margin"] or {}) for entry in methods.values())
    rows = []
    for name, entry in methods.items():
        margin = entry["margin"] or {}
        ends = entry["bootstrap"].get("map")
        cells = [NOTHING if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"]
        cells += [_link(margin["over"]) if margin else NOTHING, _with_interval(margin, signed=True)]
        if over_items:
            ends = margin.get("over_items")
            cells.append(NOTHING if ends is None else f"{ends[0]:+.3f} to {ends[1]:+.3f}")
        rows.append([_link(name), *cells])
    titles = ["method", f"MAP over {items}", "best other", "margin over seeds"]
    return table([*titles, f"margin over {items}"] if over_items else titles, rows)


def settings_table(methods: Mapping[str, Entry]) -> str:
    """Return what tuning chose for each method and seed."""
    rows = []
    for name, entry in methods.items():
        for seed, run in entry["runs"].items():
            chosen = ", ".join(f"`{k}={_word(v)}`" for k, v in run["chosen"].items())
            scores = [run["default_tuning_score"], run["tuning_score"]]
            cells = [NOTHING if score is None else f"{score:.3f}" for score in scores]
            failed = f" ({run['failed_trials']} failed)" if run["failed_trials"] else ""
            trials = f"{run['trials']}{failed}"
            cells += [trials, f"{run['tuning_seconds']:.0f}", chosen or "the defaults"]
            rows.append([name, seed, *cells])
    titles = ["method", "seed", "defaults", "tuned", "trials", "seconds", "settings chosen"]
    return table(titles, rows)


def by_map(methods: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the methods with a MAP, best first."""
    found = {name: entry for name, entry in methods.items() if "map" in entry["summary"]["tuned"]}
    means = {name: entry["summary"]["tuned"]["map"]["mean"] for name, entry in found.items()}
    return {name: found[name] for name in sorted(found, key=lambda name: -means[name])}


def has_metric(methods: Mapping[str, Entry], column: Column) -> bool:
    """Tell whether any method has the metric."""
    return any(column.metric in entry["summary"][column.kind] for entry in methods.values())


def _link(name: str) -> str:
    return f"[{name}](methods/{name}.md)"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _best(methods: Mapping[str, Entry], column: Column) -> str | None:
    """Return the best value as it is printed, where higher is better."""
    if not column.higher_is_better:
        return None
    values = [entry["summary"][column.kind].get(column.metric) for entry in methods.values()]
    known = [value["mean"] for value in values if value is not None]
    return f"{max(known):.{column.digits}f}" if known else None


def _cell(entry: Entry, column: Column, best: str | None) -> str:
    value = entry["summary"][column.kind].get(column.metric)
    if value is None:
        return NOTHING
    mean = f"{value['mean']:,.{column.digits}f}"
    shown = f"**{mean}**" if mean == best else mean
    half = _half(value) if column.with_interval else None
    return shown if half is None else f"{shown} ± {half:.{column.digits}f}"


def _with_interval(value: Mapping[str, Any], *, signed: bool) -> str:
    if not value:
        return NOTHING
    half = _half(value)
    mean = f"{value['mean']:+.3f}" if signed else f"{value['mean']:.3f}"
    return mean if half is None else f"{mean} ± {half:.3f}"


def _half(value: Mapping[str, Any]) -> float | None:
    return None if value.get("high") is None else float(value["high"] - value["mean"])


def wrapped(text: str) -> str:
    """Return a paragraph in lines of the page's width."""
    words = " ".join(text.split())
    return textwrap.fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)
