"""Put the numbers of a run of ``sugartag reproduce`` into docs/reproduce.md.

Copy the run's results.json to benchmarks/results/reproduce.json first. The page has places for
tables, each between two comments, ``<!-- table NAME -->`` and ``<!-- end -->``. What stands between
them is never written by hand, and a test fails when it differs from the file.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from sugartag.errors import SettingsError
from sugartag.reproduce.claims import VERDICTS
from sugartag.reproduce.tables import (
    NOTHING,
    Cell,
    Table,
    claims_by_statement,
    settings_table,
    table_of,
)

Found: TypeAlias = Mapping[str, Any]
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "reproduce.json"
PAGE = ROOT / "docs" / "reproduce.md"
PLACE = re.compile(r"<!-- table ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def main() -> None:
    """Write the page anew."""
    document = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8"), document), encoding="utf-8")
    print(f"written: {PAGE}")


def refreshed(page: str, document: Found) -> str:
    """Return the page with every table made anew from the result file."""
    tables = documented_tables(document)

    def made(place: re.Match[str]) -> str:
        if place[1] not in tables:
            raise SettingsError(f"there is no table {place[1]!r}; choose from: {', '.join(tables)}")
        return f"<!-- table {place[1]} -->\n{tables[place[1]].markdown()}\n<!-- end -->"

    return PLACE.sub(made, page)


def documented_tables(document: Found) -> dict[str, Table]:
    """Return the tables of the documentation page, by name."""
    found: dict[str, Table] = {"claims": _claims(document), "data": _data(document)}
    sweeps: list[tuple[Cell, ...]] = []
    for name, entry in document["experiments"].items():
        table = table_of(entry)
        if entry["kind"] == "sensitivity" and table is not None:
            sweeps += table.rows
            found["sensitivity"] = Table(table.heads, tuple(sweeps))
        elif table is not None:
            found[name] = table
        if entry["kind"] == "comparison":
            found[f"settings-{name}"] = settings_table(entry["found"])
    return found


def _claims(document: Found) -> Table:
    rows = []
    collections = list(document["collections"])
    for says, by_collection in claims_by_statement(document["claims"]).items():
        cells = [by_collection.get(on) for on in collections]
        told = [
            f"**{VERDICTS[one['verdict']]}**: {one['here']}" if one else NOTHING for one in cells
        ]
        rows.append((says, *told))
    heads = ("the paper says", *(document["collections"][on]["title"] for on in collections))
    return Table(heads, tuple(rows))


def _data(document: Found) -> Table:
    collections = document["collections"]
    counts = {what: None for one in collections.values() for what in one["counts"]}
    rows = [
        (what, *(f"{one['counts'].get(what, 0):,}" for one in collections.values()))
        for what in counts
    ]
    made = {key: None for one in collections.values() for key in one["made"] or ()}
    rows += [
        (f"`{key}`", *(str((one["made"] or {}).get(key, NOTHING)) for one in collections.values()))
        for key in made
        if key.removeprefix("n_") not in counts
    ]
    return Table(("what", *(one["title"] for one in collections.values())), tuple(rows))


if __name__ == "__main__":
    main()
