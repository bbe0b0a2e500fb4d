"""The findings as tables: cells with numbers, written as HTML or as Markdown."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

from sugartag.reproduce.claims import gap_between
from sugartag.reproduce.experiments import method_name
from sugartag.reproduce.stages import STAGE_NAMES

Found: TypeAlias = Mapping[str, Any]
LENGTHS_SHOWN = (10, 100, 1000)
NOTHING = "–"


@dataclass(frozen=True)
class Number:
    """A number with its interval, and how it is written."""

    value: float | None
    low: float | None = None
    high: float | None = None
    digits: int = 3
    signed: bool = False
    failed: str = ""

    @classmethod
    def of(cls, point: Found | None, *, signed: bool = False, ends: bool = True) -> "Number":
        """Return the number of a point of the findings; none where there is none."""
        if point is None or "f" not in point:
            return cls(None, failed=(point or {}).get("failed", ""))
        low, high = point["interval"] if ends else (None, None)
        return cls(point["f"], low, high, signed=signed)

    @classmethod
    def between(cls, value: float, ends: Sequence[float], *, digits: int = 3) -> "Number":
        """Return a number with its interval."""
        return cls(value, ends[0], ends[1], digits)

    def words(self, value: float | None) -> str:
        """Return a value as it is written."""
        sign = "+" if self.signed else ""
        return NOTHING if value is None else f"{value:{sign},.{self.digits}f}"

    def __str__(self) -> str:
        """Return the number and its interval as text."""
        if self.failed:
            return self.failed
        ends = "" if self.low is None else f" ({self.words(self.low)} to {self.words(self.high)})"
        return self.words(self.value) + ends

    def html(self) -> str:
        """Return the number and its interval as HTML."""
        if self.failed:
            return f'<span class="failed">{escape(self.failed)}</span>'
        if self.low is None:
            return self.words(self.value)
        ends = f"{self.words(self.low)} to {self.words(self.high)}"
        return f"<b>{self.words(self.value)}</b> <small>{ends}</small>"


Cell: TypeAlias = str | Number


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first of a row is its name."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def html(self, label: str) -> str:
        """Return the table as HTML, to be scrolled where it is too wide."""
        head = "".join(f'<th scope="col">{escape(one)}</th>' for one in self.heads)
        body = "\n".join(
            f'<tr><th scope="row">{_html(cells[0])}</th>'
            + "".join(f"<td>{_html(cell)}</td>" for cell in cells[1:])
            + "</tr>"
            for cells in self.rows
        )
        return (
            f'<div class="scroll" role="region" aria-label="{escape(label)}" tabindex="0"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def markdown(self) -> str:
        """Return the table as Markdown."""
        numbers = [
            all(isinstance(row[at], Number) for row in self.rows) for at in range(len(self.heads))
        ]
        rule = ["--:" if one else ":--" for one in numbers]
        lines = [self.heads, rule, *([str(cell) for cell in row] for row in self.rows)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _html(cell: Cell) -> str:
    return cell.html() if isinstance(cell, Number) else escape(cell)


def comparison_table(found: Found) -> Table:
    """Return average F: as published, tuned, with defaults, best on the truth."""
    rows = []
    for name, row in found["methods"].items():
        above = None
        if "sugar-tc" in found["above"] and "f" in row.get("tuned", {}) and name != "sugar-tc":
            above = gap_between(found, name, "sugar-tc")
        rows.append(
            (
                method_name(name),
                Number.of(row.get("tuned", row)),
                Number.of(row.get("default"), ends=False),
                Number.of(row.get("oracle"), ends=False),
                Number(row["published"]),
                Number.of(above, signed=True),
                Number.of(row.get("gain_by_owners"), signed=True),
            )
        )
    heads = (
        *("method", "tuned on hidden tags (95 %)", "defaults", "oracle: best on the truth"),
        *("published, other data", "above SUGAR-TC (95 %)", "gain by true owners (95 %)"),
    )
    return Table(heads, tuple(rows))


def settings_table(found: Found) -> Table:
    """Return what tuning chose: a tuned SUGAR-TC need not be the one the paper prints."""
    rows = tuple(
        (method_name(name), settings_in_words(row["tuned"]), settings_in_words(row["oracle"]))
        for name, row in found["methods"].items()
        if "f" in row.get("tuned", {})
    )
    return Table(("method", "chosen by hidden tags", "best on the truth"), rows)


def settings_in_words(point: Found) -> str:
    """Return the settings of a point in words."""
    settings = point.get("settings", {})
    return ", ".join(f"{key} = {value}" for key, value in settings.items()) or "defaults"


def concepts_table(found: Found) -> Table:
    """Return on how many concepts each method is best, and better than the tags as given."""
    count = len(found["concepts"])
    order = sorted(found["best_on"], key=lambda name: -found["best_on"][name])
    rows = tuple(
        (
            method_name(name),
            Number(found["best_on"][name], digits=0),
            Number(found["above_before"][name], digits=0),
        )
        for name in order
    )
    return Table(("method", f"highest F, of {count} concepts", "above the tags as given"), rows)


def retrieval_table(found: Found) -> Table:
    """Return MAP at a few lengths, as the paper counts it and as is usual."""
    lengths = found["lengths"]
    shown = [at for at, length in enumerate(lengths) if length in LENGTHS_SHOWN] or [0, -1]
    ways = ("paper", "usual")
    heads = ("method", *(f"{way}, T = {lengths[at]}" for way in ways for at in shown))

    def cells(name: str, curves: Found) -> tuple[Cell, ...]:
        found_at = ((curves[way], at) for way in ways for at in shown)
        return (
            method_name(name),
            *(
                Number.between(one["map"][at], one["intervals"][at], digits=2)
                for one, at in found_at
            ),
        )

    return Table(heads, tuple(cells(name, curves) for name, curves in found["methods"].items()))


def cost_table(found: Found, published: Found) -> Table:
    """Return what each stage takes here, and took in the paper."""
    methods = found["methods"]

    def here(row: Found, stage: str) -> str:
        cost = row.get("stages", {}).get(stage)
        return NOTHING if cost is None else f"{cost['seconds']:.1f} s / {cost['mb']:.0f} MB"

    def paper(name: str, stage: str) -> str:
        hours, memory = (
            published.get(key, {}).get(name, {}).get(stage) for key in ("hours", "gigabytes")
        )
        return NOTHING if hours is None else f"{hours:g} h / {memory:g} GB"

    def total(name: str, row: Found) -> tuple[str, str]:
        hours = sum(published.get("hours", {}).get(name, {}).values())
        times = row.get("totals")
        ends = f"{min(times):.1f} to {max(times):.1f} s" if times else row.get("failed", NOTHING)
        return ends, f"{hours:.1f} h" if hours else NOTHING

    rows = [
        (
            words,
            *(
                cell
                for name, row in methods.items()
                for cell in (here(row, stage), paper(name, stage))
            ),
        )
        for stage, words in STAGE_NAMES.items()
    ]
    rows.append(
        (
            "All of it, lowest to highest",
            *(cell for pair in methods.items() for cell in total(*pair)),
        )
    )
    return Table(
        ("stage", *(head for name in methods for head in (method_name(name), "published"))),
        tuple(rows),
    )


def sensitivity_table(found: Found, published: Found) -> Table:
    """Return where each setting is best, here and in the paper."""
    rows = []
    for sweep in found["sweeps"]:
        points = {point["value"]: point for point in sweep["points"] if "f" in point}
        said, best = published["best"].get(sweep["setting"]), sweep["best"]
        if best is None:
            continue
        gap = points[best].get("said_above")
        rows.append(
            (
                f"{sweep['symbol']} ({sweep['setting']})",
                f"{min(points):g} to {max(points):g}",
                f"{said:g}",
                f"{best:g}",
                Number.of(points[best], ends=False),
                Number.of(points.get(said), ends=False),
                Number.of(gap, signed=True),
                Number(min(point["f"] for point in points.values())),
            )
        )
    heads = (
        *("setting", "values", "best in the paper", "best here", "F there", "F at the paper's"),
        *("the paper's above the best (95 %)", "lowest F"),
    )
    return Table(heads, tuple(rows))


def convergence_table(found: Found) -> Table:
    """Return what the updates do, with each of the settings."""
    rows = []
    for label, one in found["variants"].items():
        if "failed" in one:
            rows.append((label, *[NOTHING] * 4, one["failed"]))
            continue
        rows.append(
            (
                label,
                " × ".join(map(str, one["shape"])),
                str(one["stops_after"] or NOTHING),
                f"{one['rises']} of {len(one['falls'])}",
                Number(one["last"] / one["lowest"]),
                Number(one["nothing"] / one["lowest"]),
            )
        )
    heads = (
        *("settings", "tensor", f"change below {found['tolerance']:g} first after"),
        *("updates that raise it", "objective at the end / lowest", "of zeros / lowest"),
    )
    return Table(heads, tuple(rows))


def claims_by_statement(claims: Iterable[Found]) -> dict[str, dict[str, Found]]:
    """Return the claims by what the paper says, then by collection."""
    found: dict[str, dict[str, Found]] = {}
    for one in claims:
        found.setdefault(one["paper"], {})[one["on"]] = one
    return found


def table_of(entry: Found) -> Table | None:
    """Return the table that an experiment's section shows."""
    makers: Mapping[str, Callable[[], Table]] = {
        "comparison": lambda: comparison_table(entry["found"]),
        "concepts": lambda: concepts_table(entry["found"]),
        "retrieval": lambda: retrieval_table(entry["found"]),
        "cost": lambda: cost_table(entry["found"], entry["published"]),
        "sensitivity": lambda: sensitivity_table(entry["found"], entry["published"]),
        "convergence": lambda: convergence_table(entry["found"]),
    }
    return makers[entry["kind"]]() if entry["kind"] in makers else None
