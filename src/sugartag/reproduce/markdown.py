"""The findings as tables of a documentation page, which a test holds against the result file.

A page has places for them, each between two comments, ``<!-- table NAME -->`` and
``<!-- end -->``. What stands between them is never written by hand.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sugartag.errors import SettingsError
from sugartag.reproduce.names import STAGE_NAMES, method_name, told_settings

PLACE = re.compile(r"<!-- table ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
VERDICTS = {"agrees": "yes", "partly": "partly", "differs": "no"}
Document = Mapping[str, Any]


def refreshed(page: str, document: Document) -> str:
    """Return the page with every table made anew from the result file."""

    def made(place: re.Match[str]) -> str:
        name = place[1]
        if name not in TABLES:
            raise SettingsError(f"there is no table {name!r}; choose from: {', '.join(TABLES)}")
        return f"<!-- table {name} -->\n{TABLES[name](document)}\n<!-- end -->"

    return PLACE.sub(made, page)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Return a table; ``sides`` has an l or an r for each column."""
    rule = ["--:" if side == "r" else ":--" for side in sides]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, rule, *rows])


def _found(document: Document, kind: str) -> Mapping[str, Any]:
    for entry in document["experiments"].values():
        if entry["kind"] == kind:
            return dict(entry)
    raise SettingsError(f"the result file has no experiment of the kind {kind}")


def _data(document: Document) -> str:
    data, machine = document["data"], document["machine"]
    counts = [[what, f"{count:,}"] for what, count in data["counts"].items() if count]
    world = [[key, str(value)] for key, value in (data["world"] or {}).items()]
    facts = [
        ["seed", str(document["seed"])],
        ["machine", f"{machine['cpu']}, {machine['cores']} cores"],
        ["sugartag", str(machine["sugartag"])],
    ]
    skipped = [*(what for what, _ in counts), "concepts"]
    extra = [row for row in world if row[0].removeprefix("n_") not in skipped]
    return _table(["what", "value"], [*counts, *extra, *facts], "lr")


def _claims(document: Document) -> str:
    rows = [[one["paper"], VERDICTS[one["verdict"]], one["here"]] for one in document["claims"]]
    return _table(["the paper says", "here too?", "what came out"], rows, "lll")


def _comparison(document: Document) -> str:
    rows = []
    for name, row in _found(document, "comparison")["found"]["methods"].items():
        tuned = row.get("tuned", {})
        rows.append(
            [
                f"[{method_name(name)}](methods/{name}.md)",
                _number(row["published"]),
                _number(tuned.get("f")),
                " to ".join(f"{end:.3f}" for end in tuned.get("interval", ())),
                _number(row.get("default", {}).get("f")),
                _number(row.get("oracle", {}).get("f")),
            ]
        )
    heads = [
        "method",
        "published, other data",
        "tuned on hidden tags",
        "95 %",
        "defaults",
        "oracle",
    ]
    return _table(heads, rows, "lrrrrr")


def _settings(document: Document) -> str:
    rows = [
        [method_name(name), told_settings(row["tuned"]), told_settings(row["oracle"])]
        for name, row in _found(document, "comparison")["found"]["methods"].items()
        if "f" in row.get("tuned", {})
    ]
    return _table(["method", "chosen by hidden tags", "best on the truth"], rows, "lll")


def _cost(document: Document) -> str:
    entry = _found(document, "cost")
    methods = entry["found"]["methods"]
    told = entry["published"]
    rows = []
    for stage, words in STAGE_NAMES.items():
        cells = [words]
        for name, row in methods.items():
            here = row.get("stages", {}).get(stage)
            cells.append("–" if here is None else f"{here['seconds']:.1f} s / {here['mb']:.0f} MB")
            hours = told["hours"].get(name, {}).get(stage)
            memory = told["gigabytes"].get(name, {}).get(stage)
            cells.append("–" if hours is None else f"{hours:g} h / {memory:g} GB")
        rows.append(cells)
    heads = ["stage"]
    for name in methods:
        heads += [method_name(name), "published"]
    return _table(heads, rows, "l" + "r" * (2 * len(methods)))


def _sensitivity(document: Document) -> str:
    rows = []
    for entry in document["experiments"].values():
        for sweep in entry["found"].get("sweeps", ()):
            said = entry["published"]["best"][sweep["setting"]]
            points = {point["value"]: point["f"] for point in sweep["points"] if "f" in point}
            best = sweep["best"]
            rows.append(
                [
                    f"{sweep['symbol']} (`{sweep['setting']}`)",
                    f"{min(points):g} to {max(points):g}",
                    f"{said:g}",
                    f"{best:g}",
                    f"{points[best]:.3f}",
                    f"{points[said]:.3f}" if said in points else "–",
                    f"{min(points.values()):.3f}",
                ]
            )
    heads = ["setting", "values", "best in the paper", "best here", "F there", "F at the paper's"]
    return _table([*heads, "lowest F"], rows, "lrrrrrr")


def _retrieval(document: Document) -> str:
    found = _found(document, "retrieval")["found"]
    shown = [at for at, length in enumerate(found["lengths"]) if length in (10, 100, 1000)]
    heads = ["method"]
    for way in ("paper", "usual"):
        heads += [f"{way}, T = {found['lengths'][at]}" for at in shown]
    rows = [
        [method_name(name)]
        + [f"{ways[way]['map'][at]:.3f}" for way in ("paper", "usual") for at in shown]
        for name, ways in found["methods"].items()
    ]
    return _table(heads, rows, "l" + "r" * (2 * len(shown)))


def _concepts(document: Document) -> str:
    found = _found(document, "concepts")["found"]
    rows = [
        [method_name(name), str(count), str(found["above_before"][name])]
        for name, count in sorted(found["best_on"].items(), key=lambda pair: -pair[1])
    ]
    count = len(found["concepts"])
    heads = ["method", f"highest F, of {count} concepts", "above the tags as given"]
    return _table(heads, rows, "lrr")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


TABLES: Mapping[str, Callable[[Document], str]] = {
    "data": _data,
    "claims": _claims,
    "average-f": _comparison,
    "settings": _settings,
    "concepts": _concepts,
    "retrieval": _retrieval,
    "cost": _cost,
    "sensitivity": _sensitivity,
}
"""What makes each table."""
