"""The section of the page that each kind of experiment gets."""

from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

from sugartag.report.dots import Dot, Row, Scale, dot_rows
from sugartag.reproduce.cards import picture_cards
from sugartag.reproduce.layout import figure, intro, legend, table
from sugartag.reproduce.lines import convergence_figure, retrieval_figures, sensitivity_figures
from sugartag.reproduce.names import OTHERS, STAGE_NAMES, method_name, told_settings
from sugartag.reproduce.stages import STAGES

Found: TypeAlias = Mapping[str, Any]

CONCEPTS_A_COLUMN = 64


def section_of(
    name: str, entry: Mapping[str, Any], document: Mapping[str, Any], *, pictures: Path
) -> str:
    """Return one experiment's section."""
    found = entry["found"]
    if "failed" in found:
        content = f'<p class="failed">Could not be done: {escape(found["failed"])}.</p>'
    elif entry["kind"] == "pictures":
        content = picture_cards(found, document, pictures=pictures)
    else:
        content = _CONTENTS[entry["kind"]](found, entry["published"])
    return (
        f'<section id="{name}" aria-labelledby="{name}-heading"><h2 id="{name}-heading">'
        f'{escape(entry["title"])} <span class="where">{escape(entry["paper"])}</span></h2>\n'
        f"{content}</section>\n"
    )


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _with_interval(point: Mapping[str, Any]) -> str:
    if "f" not in point:
        return f'<span class="failed">{escape(point.get("failed", "–"))}</span>'
    low, high = point["interval"]
    return f"<b>{point['f']:.3f}</b> <small>{low:.3f} to {high:.3f}</small>"


def _comparison(found: Found, published: Found) -> str:
    measured = {name: row for name, row in found["methods"].items() if "f" in row.get("tuned", {})}
    order = sorted(measured, key=lambda name: -measured[name]["tuned"]["f"])
    rows = [
        [
            escape(method_name(name)),
            f'<span class="published">{_number(row["published"])}</span>',
            _with_interval(row.get("tuned", row)),
            _number(row.get("default", {}).get("f")),
            _number(row.get("oracle", {}).get("f")),
            _above(name, row),
            str(row.get("trials", "–")),
        ]
        for name, row in found["methods"].items()
    ]
    heads = (
        *("method", "published,<br>other data", "tuned on hidden tags<br>(95 %)", "defaults"),
        *("oracle: best<br>on the truth", "above SUGAR-TC<br>(95 %)", "trials"),
    )
    chart = dot_rows(
        [_method_row(name, measured[name]) for name in order],
        Scale(f"average F, {found['top']} tags an image", _highest(measured)),
        words=f"Average F of {len(order)} methods; highest: {method_name(order[0])}",
    ) if order else ""  # fmt: skip
    key = legend(
        [
            (0, "tuned on hidden tags, with its 95 % interval over images"),
            (2, "oracle: the best of the same trials, chosen on the truth, as the paper does"),
            (3, "published, on other data"),
        ]
    )
    words = (
        f"Each image is given its {found['top']} best tags of the whole vocabulary; F is averaged "
        f"over the concepts. Every method had {found['trials']} trials of settings (fewer where "
        f"there are fewer combinations), judged by {found['hide']:.0%} of the given tags, hidden. "
        f"Intervals come from {found['replicates']} resamplings of the images, the same for all. "
        f"{_lift(measured)}"
    )
    return (
        intro(words)
        + table(heads, rows, "Average F")
        + key
        + figure("Average F", "Sorted by what came out here.", chart)
        + _chosen_settings(measured)
    )


def _chosen_settings(rows: Mapping[str, Any]) -> str:
    """Return what tuning chose: a tuned SUGAR-TC need not be the one the paper prints."""
    items = "".join(
        f"<dt>{escape(method_name(name))}</dt><dd>{escape(told_settings(row['tuned']))}; "
        f"oracle: {escape(told_settings(row['oracle']))}</dd>"
        for name, row in rows.items()
    )
    return (
        "<details><summary>Which settings were chosen, by hidden tags and on the truth</summary>"
        f'<dl class="meanings">{items}</dl></details>'
    )


def _lift(rows: Mapping[str, Any]) -> str:
    gains = [
        row["oracle"]["f"] - row["tuned"]["f"] for row in rows.values() if "f" in row["oracle"]
    ]
    if not gains:
        return ""
    return (
        f"Choosing the best of the same trials on the truth itself, as the paper does, lifts F by "
        f"{sum(gains) / len(gains):.3f} on average and by {max(gains):.3f} at most."
    )


def _above(name: str, row: Mapping[str, Any]) -> str:
    above = row.get("above_sugar_tc")
    if above is None or name == "sugar-tc":
        return "–"
    low, high = above["interval"]
    return f"{above['f']:+.3f} <small>{low:+.3f} to {high:+.3f}</small>"


def _highest(rows: Mapping[str, Any]) -> float:
    values = [0.1]
    for row in rows.values():
        values += [row["tuned"]["interval"][1], row["oracle"]["f"], row["published"] or 0.0]
    return max(values)


def _method_row(name: str, row: Mapping[str, Any]) -> Row:
    tuned, (low, high) = row["tuned"], row["tuned"]["interval"]
    dots = [Dot(row["oracle"]["f"], 2, f"oracle {row['oracle']['f']:.3f}")]
    if row["published"] is not None:
        dots.append(Dot(row["published"], 3, f"published {row['published']:.3f}"))
    dots.append(Dot(tuned["f"], 0, f"{tuned['f']:.3f}, {low:.3f} to {high:.3f}", low, high))
    return Row(method_name(name), tuple(dots), boxed=name == "sugar-tc")


def _concepts(found: Found, published: Found) -> str:
    rows, champion, runner_up = found["concepts"], found["champion"], found["runner_up"]
    drawn = [_concept_row(row, found) for row in rows]
    highest = max(max(row["f"].values()) for row in rows)
    columns = [
        dot_rows(
            drawn[start : start + CONCEPTS_A_COLUMN],
            Scale("F", highest, row_height=17, label_share=0.24),
            words=f"F of concepts {start + 1} to {min(start + CONCEPTS_A_COLUMN, len(rows))}",
        )
        for start in range(0, len(drawn), CONCEPTS_A_COLUMN)
    ]
    key = legend(
        [
            (0, f"{method_name(champion)}, with its 95 % interval over images"),
            (1, method_name(runner_up)),
            (5, method_name(found["before"])),
            (OTHERS, "the other methods of the paper; the pale bar spans all of them"),
        ]
    )
    wins = ", ".join(
        f"{method_name(name)} {count}"
        for name, count in sorted(found["best_on"].items(), key=lambda pair: -pair[1])
    )
    words = (
        f"Sorted by what {method_name(champion)} gains over {method_name(runner_up)}. "
        f"Boxed: the {len(found['marked'])} concepts that gain most."
    )
    summary = f"Of {len(rows)} concepts the highest F belongs to: {wins}."
    inside = f'<div class="pairs">{"".join(columns)}</div>'
    return intro(summary) + key + figure("F of each concept", words, inside)


def _concept_row(row: Mapping[str, Any], found: Found) -> Row:
    f, special = row["f"], (found["before"], found["runner_up"], found["champion"])
    dots = [Dot(f[name], OTHERS, f"{method_name(name)} {f[name]:.3f}", size=2.0)
            for name in f if name not in special]  # fmt: skip
    for name, style in zip(special, (5, 1, 0), strict=True):
        low, high = (row["low"], row["high"]) if name == found["champion"] else (None, None)
        dots.append(Dot(f[name], style, f"{method_name(name)} {f[name]:.3f}", low, high, 3.4))
    boxed = row["concept"] in found["marked"]
    return Row(row["concept"], tuple(dots), (min(f.values()), max(f.values())), boxed)


def _cost(found: Found, published: Found) -> str:
    names = [name for name, row in found["methods"].items() if "stages" in row]
    hours, gigabytes = published.get("hours", {}), published.get("gigabytes", {})
    rows = [
        [
            STAGE_NAMES[stage],
            *(
                _here(found["methods"][name]["stages"].get(stage))
                + _told(hours.get(name, {}).get(stage), gigabytes.get(name, {}).get(stage))
                for name in names
            ),
        ]
        for stage in STAGES
    ]
    total = ["<b>Total time</b>"]
    for name in names:
        stages = found["methods"][name]["stages"].values()
        said = sum(hours.get(name, {}).values())
        told = f'<br><span class="published">{said:.1f} h</span>' if said else ""
        total.append(f"<b>{sum(one['seconds'] for one in stages):.1f} s</b>{told}")
    heads = ["stage", *(method_name(name) for name in names)]
    failures = "".join(
        f'<p class="failed">{escape(name)}: {escape(row["failed"])}</p>'
        for name, row in found["methods"].items()
        if "failed" in row
    )
    words = (
        "One fit with default settings and one scoring of all images, one thread, nothing else "
        "running, a process for each method. Memory is the peak of a stage above what the process "
        "held before the fit. In italics, published: hours and GB on other data (NUS-WIDE-128, "
        "247,849 images) with 8 cores. Links of images are made, used and dropped block by block, "
        "so for SUGAR-TC the projection of all images counts as adjacency. Scoring is there for "
        "every method here; the paper tells it of SUGAR-TC only."
    )
    return intro(words) + table(heads, [*rows, total], "Time and memory") + failures


def _here(cost: Mapping[str, float] | None) -> str:
    return "–" if cost is None else f"<b>{cost['seconds']:.2f} s / {cost['mb']:.0f} MB</b>"


def _told(hours: float | None, gigabytes: float | None) -> str:
    if hours is None or gigabytes is None:
        return ""
    return f'<br><span class="published">{hours:g} h / {gigabytes:g} GB</span>'


_CONTENTS: Mapping[str, Callable[[Found, Found], str]] = {
    "comparison": _comparison,
    "concepts": _concepts,
    "retrieval": retrieval_figures,
    "cost": _cost,
    "sensitivity": sensitivity_figures,
    "convergence": convergence_figure,
}
