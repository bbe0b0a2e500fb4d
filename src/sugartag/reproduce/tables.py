"""The findings as CSV tables, one for each experiment."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from sugartag.storage.aside import file_aside

Cells: TypeAlias = Sequence[Any]
Found: TypeAlias = Mapping[str, Any]


def write_tables(document: Mapping[str, Any], folder: Path) -> None:
    """Write ``folder/NAME.csv`` for each experiment."""
    for name, entry in document["experiments"].items():
        with (
            file_aside(folder / f"{name}.csv", overwrite=True) as partial,
            partial.open("w", encoding="utf-8", newline="") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows(rows_of(entry))


def rows_of(entry: Mapping[str, Any]) -> Iterator[Cells]:
    """Yield the heading and the lines of an experiment's table."""
    found = entry["found"]
    if "failed" in found:
        yield from (["failed"], [found["failed"]])
        return
    yield from _ROWS[entry["kind"]](found, entry["published"])


def _comparison(found: Found, published: Found) -> Iterator[Cells]:
    yield (
        *("method", "of_the_paper", "published_on_other_data"),
        *("f_tuned", "f_tuned_low", "f_tuned_high", "f_default", "f_oracle"),
        *("above_sugar_tc", "above_low", "above_high", "trials", "failed"),
    )
    for name, row in found["methods"].items():
        tuned, above = row.get("tuned", {}), row.get("above_sugar_tc", {})
        yield (
            name,
            row["of_the_paper"],
            row["published"],
            tuned.get("f"),
            *tuned.get("interval", (None, None)),
            row.get("default", {}).get("f"),
            row.get("oracle", {}).get("f"),
            above.get("f"),
            *above.get("interval", (None, None)),
            row.get("trials"),
            row.get("failed") or tuned.get("failed"),
        )


def _concepts(found: Found, published: Found) -> Iterator[Cells]:
    methods = list(found["best_on"])
    yield ("concept", "images", *methods, "low", "high", "gain", "best", "marked")
    for row in found["concepts"]:
        yield (
            *(row["concept"], row["images"]),
            *(row["f"][name] for name in methods),
            *(row["low"], row["high"], row["gain"], row["best"]),
            row["concept"] in found["marked"],
        )


def _retrieval(found: Found, published: Found) -> Iterator[Cells]:
    yield ("method", "divided_by", "T", "map", "low", "high")
    for name, ways in found["methods"].items():
        for way, curve in ways.items():
            points = zip(found["lengths"], curve["map"], curve["intervals"], strict=True)
            for length, value, ends in points:
                yield (name, _DIVISORS[way], length, value, *ends)


_DIVISORS = {"paper": "relevant among the first T", "usual": "min(relevant, T)"}


def _cost(found: Found, published: Found) -> Iterator[Cells]:
    yield ("method", "stage", "seconds", "mb", "published_hours", "published_gb", "failed")
    hours, gigabytes = published.get("hours", {}), published.get("gigabytes", {})
    for name, row in found["methods"].items():
        if "failed" in row:
            yield (name, "", "", "", "", "", row["failed"])
            continue
        for stage, cost in row["stages"].items():
            told = (table.get(name, {}).get(stage) for table in (hours, gigabytes))
            yield (name, stage, cost["seconds"], cost["mb"], *told, "")


def _sensitivity(found: Found, published: Found) -> Iterator[Cells]:
    yield ("setting", "symbol", "value", "f", "low", "high", "failed")
    for sweep in found["sweeps"]:
        for point in sweep["points"]:
            yield (
                *(sweep["setting"], sweep["symbol"], point["value"], point.get("f")),
                *point.get("interval", (None, None)),
                point.get("failed"),
            )


def _convergence(found: Found, published: Found) -> Iterator[Cells]:
    yield ("updates", "objective", "relative_fall")
    falls = [None, *found["falls"]]
    yield from zip(range(len(falls)), found["objectives"], falls, strict=True)


def _pictures(found: Found, published: Found) -> Iterator[Cells]:
    yield ("path", "title", "owner", "given", "hidden", *found["methods"])
    for one in found["pictures"]:
        after = ("|".join(one["after"][name]) for name in found["methods"])
        said = ("|".join(one["given"]), "|".join(one["hidden"]))
        yield (one["path"], one["title"], one["owner"], *said, *after)


_ROWS: Mapping[str, Callable[[Found, Found], Iterator[Cells]]] = {
    "comparison": _comparison,
    "concepts": _concepts,
    "retrieval": _retrieval,
    "cost": _cost,
    "sensitivity": _sensitivity,
    "convergence": _convergence,
    "pictures": _pictures,
}
