"""How near the defaults of every method come to its best settings: trials and tables.

The best are looked for by the answers themselves, which is more than tuning by hidden tags can
find. Trials start at the defaults and go through all changes of one choice of the search space in
an order drawn at random; each change is made to the best settings so far.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from comparison.cases import TITLES, in_order
from comparison.tables import NOTHING, table, wrapped
from sugartag.methods.search_spaces import Point, SearchSpace

FORMAT = "sugartag-defaults/1"
FILE = "defaults.json"
MEASURES = ("map", "miap", "f_top10")
ENOUGH = 0.95
"""Of the best: defaults above it are no handicap."""

Run = Mapping[str, Any]
Runs = Mapping[str, Run]
"""What was measured of a method, by the settings in words."""

INTRODUCTION = """\
How much is lost by leaving every method at its defaults. On each collection settings are searched
by the answers themselves: one choice of the search space is changed at a time, in an order drawn at
random, each change being made to the best so far. The score is the mean of MAP and MiAP; the
*ratio* is that of the defaults to the best found. It is a lower bound: tuning by hidden tags finds
less."""


NOTES = """\
Some trials on OpenClipart were drawn at random from the whole search space. A search of so few
trials may miss what a longer one finds, and on a part of DOCUMERICA 1 % more or less is noise.

Where no default is within 5 % of the best on both: tag-vote and tag-vote-own want 10 neighbours on
OpenClipart and 50 or more on DOCUMERICA, 20 are the compromise; implicit-als wants logarithms of
the counts on DOCUMERICA and none on OpenClipart."""


def words_of(space: SearchSpace, point: Point) -> str:
    """Return the settings of a point in words, all of them, so that defaults may change."""
    parts = []
    for names, values, taken in zip(space.names, space.values, point, strict=True):
        parts += [f"{name}={value}" for name, value in zip(names, values[taken], strict=True)]
    return ", ".join(parts) or "no settings"


def all_settings(space: SearchSpace, point: Point) -> dict[str, Any]:
    """Return the settings of a point, the defaults included."""
    found: dict[str, Any] = {}
    for names, values, taken in zip(space.names, space.values, point, strict=True):
        found |= dict(zip(names, values[taken], strict=True))
    return found


def search(space: SearchSpace, trials: int, score_at: Callable[[Point], float]) -> None:
    """Score the defaults, then up to so many changes of one choice of the best so far."""
    best = space.point_of({})
    tried = {best: score_at(best)}
    for axis, value in _changes(space):
        moved = (*best[:axis], value, *best[axis + 1 :])
        if moved in tried:
            continue
        if len(tried) > trials:
            return
        tried[moved] = score_at(moved)
        best = max(tried, key=lambda point: tried[point])


def _changes(space: SearchSpace) -> list[tuple[int, int]]:
    """Return every value of every choice, in an order drawn for the method."""
    every = [(axis, n) for axis, values in enumerate(space.values) for n in range(len(values))]
    rng = np.random.default_rng(zlib.crc32(space.method.encode()))
    return [every[place] for place in rng.permutation(len(every)).tolist()]


def score(run: Run) -> float:
    """Return the mean of MAP and MiAP; 0 for a run that failed."""
    measured: Sequence[float] = [run[key] for key in ("map", "miap") if key in run]
    return fmean(measured) if measured else 0.0


def page(document: Mapping[str, Any], spaces: Mapping[str, SearchSpace]) -> str:
    """Return the whole page."""
    cases = in_order(document["cases"])
    parts = ["# Defaults", wrapped(INTRODUCTION)]
    parts += [summary(cases, spaces), *map(wrapped, NOTES.split("\n\n"))]
    for name, found in cases.items():
        counts = ", ".join(f"{value:,} {key}" for key, value in found["counts"].items())
        parts += [f"## {TITLES[name]}", wrapped(f"{counts}; one seed."), case_table(found, spaces)]
    machine = document["machine"]["cpu"]
    parts.append(
        wrapped(f"Measured on {machine}, {document['date']}, by `benchmarks/bench_defaults.py`.")
    )
    return "\n\n".join(parts) + "\n"


def summary(cases: Mapping[str, Any], spaces: Mapping[str, SearchSpace]) -> str:
    """Return the ratios of all methods on all collections, and which hold."""
    rows = []
    for method in sorted({name for found in cases.values() for name in found["methods"]}):
        found = [case["methods"].get(method, {}) for case in cases.values()]
        ratios = [ratio(runs, spaces[method]) for runs in found]
        cells = [NOTHING if value is None else f"{value:.3f}" for value in ratios]
        rows.append([method, *cells, _verdict(ratios)])
    titles = [f"{TITLES[name]}, ratio" for name in cases]
    return table(["method", *titles, "within 5 % on all"], rows)


def _verdict(ratios: Sequence[float | None]) -> str:
    known = [value for value in ratios if value is not None]
    if min(known, default=0.0) < ENOUGH:
        return "no"
    return "yes" if len(known) == len(ratios) else "where measured"


def ratio(runs: Runs, space: SearchSpace) -> float | None:
    """Return the score of the defaults to the best, None where they were not measured."""
    default = runs.get(words_of(space, space.point_of({})))
    if default is None:
        return None
    best = max(map(score, runs.values()))
    return score(default) / best if best else 1.0


def case_table(found: Mapping[str, Any], spaces: Mapping[str, SearchSpace]) -> str:
    """Return what each method gives with its defaults and at best, and how the best differs."""
    first = ["method", "defaults, MAP / MiAP / F top 10", "best", "ratio"]
    rows = [_row(name, runs, spaces[name]) for name, runs in sorted(found["methods"].items())]
    return table([*first, "trials", "best settings"], [row for row in rows if row])


def _row(name: str, runs: Runs, space: SearchSpace) -> list[str]:
    share = ratio(runs, space)
    if share is None:
        return []
    default = words_of(space, space.point_of({}))
    best = max(runs, key=lambda words: score(runs[words]))
    usual = set(default.split(", "))
    changed = [part for part in best.split(", ") if part not in usual]
    settings = f"`{', '.join(changed)}`" if changed else "the defaults"
    cells = [name, _metrics(runs[default]), _metrics(runs[best]), f"{share:.2f}"]
    return [*cells, str(len(runs) - 1), settings]


def _metrics(run: Run) -> str:
    return " / ".join(f"{run[key]:.3f}" if key in run else NOTHING for key in MEASURES)
