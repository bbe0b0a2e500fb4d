"""What the page says of the other benchmarks: their claims, and their tables."""

from collections.abc import Iterator
from typing import Any

from performance.record import MEASURED
from performance.running import COMPILING
from performance.scaling import COMPARED
from performance.words import SHOWN, Document, share_words, table, time_words


def scaling_claims(document: Document) -> list[str]:
    """Return what each method's cost grows by, from a quarter of the images to all."""
    claims = []
    for method, growth in document["derived"]["growth"].items():
        for one in growth:
            if one["to"] == max(document["settings"]["images"]) == COMPARED * one["from"]:
                claims.append(
                    f"**From {one['from']:,} to {one['to']:,} images**, {COMPARED} times as many, "
                    f"{method} takes {one['seconds']:.2f} times the time and "
                    f"{one['peak_anonymous']:.2f} times the memory."
                )
    return claims


def scaling_section(document: Document) -> str:
    """Return the table of sizes, and the plots."""
    settings = document["settings"]
    rows = [
        [
            entry["asks"]["method"],
            f"{entry['counts']['images']:,}",
            time_words(entry["fit_seconds"]),
            time_words(entry["score_seconds"]),
            f"{1e6 * entry['seconds'] / entry['counts']['images']:,.0f} µs",
            f"{entry['peak_anonymous_mb']:,.0f} MB",
        ]
        for _, entry in _measured(document)
    ]
    heads = ["method", "images", "fit", "scores", "an image", "memory"]
    plots = (
        "![Seconds of fit and scores by images](images/performance-time.svg)\n\n"
        "![Peak memory by images](images/performance-memory.svg)"
    )
    return "\n\n".join(
        [
            f"Synthetic collections of {settings['tags']:,} tags, {settings['features']} features "
            f"in half precision on disk, ten images an owner; {settings['workers']} workers.",
            table(heads, rows, "lrrrrr"),
            plots if len({row[1] for row in rows}) > 1 else "",
        ]
    ).strip()


def scaling_series(document: Document, value: str) -> dict[str, list[tuple[float, float]]]:
    """Return images and a value of every size, by method."""
    series: dict[str, list[tuple[float, float]]] = {}
    for _, entry in _measured(document):
        point = (entry["counts"]["images"], entry[value])
        series.setdefault(entry["asks"]["method"], []).append(point)
    return series


def _measured(document: Document) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what was measured of methods, by name."""
    for name, entry in document["entries"].items():
        if name not in {"rates", COMPILING} and entry["status"] == MEASURED:
            yield name, entry


def solvers_claims(document: Document) -> list[str]:
    """Return what share of the time of the updates the exact solver takes."""
    ratio = document["derived"].get("exact_over_multiplicative_cpu")
    if ratio is None:
        return []
    shape = document["entries"]["exact"]["shape"]
    return [
        f"**{shape[0]:,} tags, {shape[1]} x {shape[2]} anchors.** The exact solver takes "
        f"{share_words(ratio)} of the processor time of {document['settings']['updates']} updates."
    ]


def solvers_section(document: Document) -> str:
    """Return the table of solvers."""
    rows = [
        [
            name,
            time_words(entry["seconds"]),
            time_words(entry["cpu_seconds"]),
            str(entry["steps"]),
            f"{entry['objective']:.6g}",
            "–" if entry["relative_gap"] is None else f"{100 * entry['relative_gap']:.2g} %",
            f"{entry['peak_anonymous_mb']:,.0f} MB",
        ]
        for name, entry in document["entries"].items()
        if entry["status"] == MEASURED
    ]
    heads = ["solver", "time", "processor time", "steps", "objective", "gap at most", "memory"]
    words = (
        "The same completion problem, without setting it up. The exact and the truncated solver "
        "look for the minimum over all tensors, the others for that over tensors without negative "
        "entries; the gap is what each can prove. Truncated: a tenth of the tag components is "
        "kept, the others are taken for alike."
    )
    return f"{words}\n\n{table(heads, rows, 'lrrrrrr')}"


def scoring_claims(document: Document) -> list[str]:
    """Return how many images the default method scores in a second."""
    ours = document["entries"].get("sugar-plus", {})
    share = document["derived"].get("share_of_gemm", {}).get("sugar-plus")
    if ours.get("status") != MEASURED or share is None:
        return []
    return [
        f"**Scoring.** sugar-plus scores {ours['images_per_second']:,.0f} images a second for "
        f"{ours['counts']['tags']:,} tags: {100 * share:.0f} % of what matrix products alone would "
        "allow."
    ]


def scoring_section(document: Document) -> str:
    """Return the table of methods."""
    settings, shares = document["settings"], document["derived"].get("share_of_gemm", {})
    rows = []
    for name, entry in _measured(document):
        flops, share = entry["flops_per_image"], shares.get(name)
        rows.append(
            [
                SHOWN.get(name, name),
                f"{entry['images_per_second']:,.0f}",
                "–" if flops is None else f"{flops / 1e6:,.2f}",
                "–" if share is None else f"{100 * share:.0f} %",
            ]
        )
    heads = ["method", "images a second", "Mflop an image", "of the rate of products"]
    return "\n\n".join(
        [
            f"A synthetic collection of {settings['images']:,} images, {settings['tags']:,} tags "
            f"and {settings['features']} features; all images, the fastest of "
            f"{settings['repeats']} times. How far an index walks cannot be counted beforehand.",
            table(heads, rows, "lrrr"),
        ]
    )
