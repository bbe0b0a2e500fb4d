"""The page of performance, made from the result files that there are."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from performance.benches import BENCHES
from performance.figures import memory_plot, time_plot
from performance.paper_section import floor_words, paper_size_claims, paper_size_section
from performance.record import read_document
from performance.sections import (
    scaling_claims,
    scaling_section,
    scaling_series,
    scoring_claims,
    scoring_section,
    solvers_claims,
    solvers_section,
)
from performance.words import Document

INTRODUCTION = """\
# Performance

What sugartag costs in time and memory, and what that is measured against. Numbers come from runs of
`sugartag bench` ([Commands](cli.md#sugartag-bench)). `python benchmarks/performance_page.py` makes
this page from the result files, and a test fails when they differ.
"""
HOW = """\
## How it was measured

- Collections are synthetic: drawn at random, with owners, groups, tags and features of the sizes
  named. They are written to a folder and mapped from there.
- Every method runs in a process of its own. Seconds are wall time of fit and scores, without
  starting Python and opening the collection. All images are scored in blocks and the scores are
  thrown away. What is compiled when a machine first runs it was compiled before.
- *Memory* is the peak of anonymous memory, sampled fifty times a second: what the process holds
  beside the pages of mapped files, which the system may drop when others need the room. The result
  files also have the peak with these pages.
- A method that meets its cap is ended. It is then run on two smaller collections of the same shape,
  and the time for all images is read off the power law through both. Such a number is always called
  extrapolated, and both points stand beside it. Where the larger one meets the cap too, the time is
  extrapolated in proportion from the smaller one: it may well be more.
- Votes are measured on a share of the images, which are scored by the votes of all; the time of
  scoring is linear in their number.
- The floor of sugar-plus is the time for the floating-point operations that its closed form cannot
  do without, at the rate of large single-precision matrix products, and for one read of the
  features. With N images, d features, T tags, D components, P tags that predict and K = P + D + 1,
  the operations are: second moments of the features, N d²; components, for the statistics and for
  the scores, 4 N d D; their Gram matrix, N D²; the inverse of the normal equations, K³ in double
  precision, which counts twice; its product with the cross products of predictors and tags, 2 K² T;
  and the scores, 2 N (2 D + 3) T for both views and two for each given tag and each of the T tags.
  Leave-one-out, calibration and neighbours come on top of the floor. Rates are measured just before
  and just after each run; of products the median counts, which is the rate that is sustained.
  `benchmarks/performance/flops.py` has the formulas.
- Time of the paper's solver for 450 updates is that of setting the problem up and 450 times the
  median of the updates that were timed. Memory is that of the three tensors updates work on, in
  single precision, as many as a fit by this solver holds.
"""
NOT_MEASURED = (
    "Not measured yet: `sugartag bench {name} --out benchmarks/results/bench-{name}.json`."
)
NOTHING: Mapping[str, Document] = MappingProxyType({})
PLOTS = {"performance-time.svg": time_plot, "performance-memory.svg": memory_plot}

CLAIMS: Mapping[str, Callable[[Document], list[str]]] = {
    "paper-size": paper_size_claims,
    "scaling": scaling_claims,
    "solvers": solvers_claims,
    "scoring": scoring_claims,
}
SECTIONS: Mapping[str, tuple[str, Callable[[Document], str]]] = {
    "paper-size": ("At the paper's size", paper_size_section),
    "scaling": ("As collections grow", scaling_section),
    "solvers": ("The exact solver", solvers_section),
    "scoring": ("Scoring", scoring_section),
}


def found_documents(results: Path) -> dict[str, dict[str, Any]]:
    """Read the result files that there are, by benchmark."""
    files = {name: results / f"bench-{name}.json" for name in BENCHES}
    return {name: read_document(file) for name, file in files.items() if file.exists()}


def found_elsewhere(results: Path) -> dict[str, dict[str, Any]]:
    """Read the result files of the paper's size that other machines made, by file name."""
    files = sorted(results.glob("bench-paper-size-*.json"))
    return {file.name: read_document(file) for file in files}


def render(
    documents: Mapping[str, Document], *, elsewhere: Mapping[str, Document] = NOTHING
) -> str:
    """Return the page."""
    parts = [INTRODUCTION, _claims(documents)]
    for name, (title, section) in SECTIONS.items():
        body = section(documents[name]) if name in documents else NOT_MEASURED.format(name=name)
        parts.append(f"## {title}\n\n{body.strip()}\n")
        if name == "paper-size":
            parts += [_elsewhere(*pair) for pair in elsewhere.items()]
    parts += [HOW, _machines(documents)]
    return "\n".join(parts)


def plots(documents: Mapping[str, Document]) -> dict[str, str]:
    """Return the plots that the page shows, by file name."""
    if "scaling" not in documents:
        return {}
    drawn = {
        name: plot(scaling_series(documents["scaling"], value))
        for (name, plot), value in zip(PLOTS.items(), ("seconds", "peak_anonymous_mb"), strict=True)
    }
    return {name: drawing for name, drawing in drawn.items() if drawing}


def _claims(documents: Mapping[str, Document]) -> str:
    lines = ["## Claims\n"]
    for name, claims in CLAIMS.items():
        sentences = claims(documents[name]) if name in documents else []
        lines += [f"- {one}" for one in sentences or [f"*{SECTIONS[name][0]}:* not measured yet."]]
    return "\n".join(lines) + "\n"


def _elsewhere(file: str, document: Document) -> str:
    """Return what the same run said on another machine."""
    claims = [f"- {one}" for one in paper_size_claims(document)]
    words = [f"### The same on {document['machine']['cpu']}\n", *claims, "", floor_words(document)]
    words.append(f"[Raw numbers](../benchmarks/results/{file}).")
    return "\n".join(words) + "\n"


def _machines(documents: Mapping[str, Document]) -> str:
    lines = ["## The machine, and the raw numbers\n"]
    for name, document in documents.items():
        machine = document["machine"]
        lines.append(
            f"- [bench-{name}.json](../benchmarks/results/bench-{name}.json): {machine['cpu']}, "
            f"{machine['cores']} cores, {machine['memory_mb'] / 1000:.0f} GB of memory, Python "
            f"{machine['python']}, numpy {machine['numpy']}, sugartag {machine['sugartag']}, "
            f"{document['date']}."
        )
    return "\n".join(lines if documents else [*lines, "Nothing has been measured yet."]) + "\n"
