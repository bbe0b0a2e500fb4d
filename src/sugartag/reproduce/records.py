"""All that was measured, as CSV tables, one for each experiment."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from sugartag.storage.aside import file_aside

Found: TypeAlias = Mapping[str, Any]


def write_tables(document: Found, folder: Path) -> None:
    """Write ``folder/NAME.csv`` for each experiment, with all that was measured."""
    for name, entry in document["experiments"].items():
        with (
            file_aside(folder / f"{name}.csv", overwrite=True) as partial,
            partial.open("w", encoding="utf-8", newline="") as file,
        ):
            csv.writer(file, lineterminator="\n").writerows(rows_of(entry))


def rows_of(entry: Found) -> list[Sequence[Any]]:
    """Return the heading and the lines of an experiment's CSV table."""
    records = _records(entry)
    heads = list(dict.fromkeys(key for record in records for key in record))
    return [heads, *([record.get(key) for key in heads] for record in records)]


def _records(entry: Found) -> list[dict[str, Any]]:
    found, kind = entry["found"], entry["kind"]
    if "failed" in found:
        return [{"failed": found["failed"]}]
    if kind == "concepts":
        return [
            {**row, **row["f"], "f": None, "marked": row["concept"] in found["marked"]}
            for row in found["concepts"]
        ]
    if kind == "retrieval":
        return [
            {"method": name, "divided_by": way, "T": length, **_spread("map", value, ends)}
            for name, ways in found["methods"].items()
            for way, curve in ways.items()
            for length, value, ends in zip(
                found["lengths"], curve["map"], curve["intervals"], strict=True
            )
        ]
    if kind == "sensitivity":
        return [
            {"setting": sweep["setting"], "value": point["value"], **_of_point("f", point)}
            for sweep in found["sweeps"]
            for point in sweep["points"]
        ]
    if kind == "convergence":
        return [
            {"settings": label, "updates": at, "objective": value}
            for label, one in found["variants"].items()
            for at, value in enumerate(one.get("objectives", ()))
        ]
    if kind == "pictures":
        return [
            {
                **{key: one[key] for key in ("path", "title", "owner")},
                **{key: "|".join(one[key]) for key in ("given", "hidden")},
                **{name: "|".join(tags) for name, tags in one["after"].items()},
            }
            for one in found["pictures"]
        ]
    return _of_methods(found)


def _of_methods(found: Found) -> list[dict[str, Any]]:
    """Return the records of a comparison or of costs, one or a few for each method."""
    records = []
    for name, row in found["methods"].items():
        if "stages" in row:
            records += [
                {"method": name, "stage": stage, **cost} for stage, cost in row["stages"].items()
            ]
            continue
        record = {"method": name, "published": row.get("published"), "failed": row.get("failed")}
        for key in ("tuned", "default", "oracle", "owners_shuffled", "gain_by_owners"):
            record |= _of_point(key, row.get(key, {}))
        records.append(record)
    return records


def _of_point(name: str, point: Found) -> dict[str, Any]:
    if "f" not in point:
        return {"failed": point["failed"]} if "failed" in point else {}
    return _spread(name, point["f"], point["interval"])


def _spread(name: str, value: float, ends: Sequence[float]) -> dict[str, Any]:
    return {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}
