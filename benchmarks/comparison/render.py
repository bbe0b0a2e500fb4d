"""The page of results, made from the result files alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from comparison.ablations import FILE as ABLATIONS
from comparison.ablations import ablation_sections
from comparison.cases import CASE_NAMES
from comparison.design import FILE as DESIGN
from comparison.design import design_sections
from comparison.filling import default_settings
from comparison.jobs import plain_values, read_json
from comparison.tables import (
    CHANGES,
    COST,
    DEFAULT_MAP,
    LISTS,
    MAP,
    STRANGERS,
    by_map,
    has_metric,
    margin_table,
    metric_table,
    settings_table,
    table,
    wrapped,
)
from comparison.verdict_section import FILE as VERDICTS
from comparison.verdict_section import verdict_sections
from sugartag.errors import StorageError

TITLES = {
    "documerica": "DOCUMERICA: photographs of the 1970s",
    "openclipart": "OpenClipart: drawings",
    "mdi": "Material Design Icons",
    "div400": "Div400: photos of landmarks",
}
ITEMS = ("landmarks", "categories")
"""What is resampled behind the intervals of a case that counts them; elsewhere images."""
LARGE = "all-methods-20000.json"
"""What ``benchmarks/bench_all_methods.py`` writes."""

EARLIER = """\
**Measured with an earlier version of sugar-plus**, whose settings differed from today's: read it
for the size of effects, not for the digits."""
INTRODUCTION = """\
# Results

How well the methods find tags, on collections whose answer is known or was hidden. This page is
made by `python benchmarks/compare.py render` from the files in `benchmarks/results`; a test fails
when it differs from them. What the metrics mean is in [Metrics](metrics.md).
"""
HOW = """\
## What was done

Every method plays by the same rules:

1. **See.** A method gets the images, their owners and the tags that are left to see. What it is
   measured by, hidden tags, a truth or people's judgments, is never among them.
2. **Tune.** Of the tags it sees, another part is hidden, and combinations of settings are tried:
   the defaults first, then others from a list of values worth trying that each method has. The one
   that finds these tags again best is kept. Every method has the same number of trials; where there
   are fewer combinations than that, all of them are tried.
3. **Fit and measure**, once as tuned and once with the defaults.

This is repeated for each seed, which decides the tags that are hidden or the images that are left
out, and the random numbers of tuning and methods. Tables give means over seeds, sorted by MAP as
tuned; ± is half the 95 % t interval over seeds, and bold the best of a column. *Strangers only*
measures without evidence from other images of the image's own owner. A *margin* is the difference
to the best other method on the same seed, above 0 only for the winner. Times are of one thread.
"""
NOTES = """\
## What these numbers do not say

- A hidden tag counts, a right tag that nobody gave does not. Where tags are hidden, every figure is
  too low, and what counts is the difference between methods.
- Seeds hide other tags of the same images, or leave out other images. ± therefore says how much
  that, the tuning and the random numbers matter; the interval over images, landmarks or categories
  says how much the choice of these matters. Neither speaks of other collections.
- Tuning looks at hidden tags. Where people or another truth are the judges, the settings that
  find hidden tags best need not be the best ones, and may be worse than the defaults: both are
  shown.
- The values worth trying were listed by the authors of this package, for all methods. Trials are
  equal, seconds are not: a slow method had more time.
- F counts the tags that score above a method's floor, K of an image at most. Floors differ between
  methods, and a part of a difference in F may be that alone.
- Published methods are our own implementations, made from their papers.
- No method is given titles, of which the tags are made in some collections. The design and the
  defaults of `sugar-plus` were chosen on these collections, and the defaults of most other methods
  on hidden tags of the drawings: none of them is blind there. *Settings chosen on other
  collections* holds each collection out in turn.
- Times of the comparisons were taken while other work ran on the machine: they give orders of
  magnitude. Those of the 20,000 images come from one run that had the machine to itself.
- Peak memory is that of the whole process, the collection and what tuning left behind included.
"""


def render(folder: Path) -> str:
    """Return the page for the result files of a folder."""
    parts = [
        *comparison_sections(folder),
        *of_its_time(ablation_sections(folder), folder / ABLATIONS),
        *of_its_time(design_sections(folder), folder / DESIGN),
        *of_its_time(verdict_sections(folder), folder / VERDICTS),
        *large_sections(folder),
    ]
    if not parts:
        raise StorageError(f"{folder} has no result files to render; run a comparison first")
    return "\n".join([INTRODUCTION, HOW, *parts, NOTES])


def of_its_time(sections: Iterable[str], file: Path) -> Iterator[str]:
    """Yield sections, with a note below the heading if they are of other defaults than today's."""
    for section in sections:
        if read_json(file).get("defaults") == plain_values(default_settings()):
            yield section
            continue
        heading, rest = section.split("\n\n", 1)
        yield f"{heading}\n\n{wrapped(EARLIER)}\n\n{rest}"


def comparison_sections(folder: Path) -> Iterator[str]:
    """Yield a section for each comparison that there is."""
    for name in CASE_NAMES:
        file = folder / f"comparison-{name}.json"
        if file.exists():
            yield comparison_section(read_json(file))


def large_sections(folder: Path) -> Iterator[str]:
    """Yield the section about time and memory, if it was measured."""
    file = folder / LARGE
    if file.exists():
        yield large_section(read_json(file))


def comparison_section(document: Mapping[str, Any]) -> str:
    """Return what one result file says."""
    name, methods = document["collection"], by_map(document["methods"])
    items = next((name for name in ITEMS if name in document["data"]), "images")
    quality = [column for column in (*LISTS, STRANGERS) if has_metric(methods, column)]
    seeds, budget = len(document["seeds"]), document["budget"]
    parts = [
        f"## {TITLES[name]}",
        wrapped(f"{document['description']} {_counts(document['data'])}."),
        wrapped(
            f"{document['protocol']} {_number(seeds, 'seed')}, {_number(budget, 'trial')} of "
            "tuning for each method and seed."
        ),
        metric_table(methods, [MAP, *quality, DEFAULT_MAP, *COST]),
    ]
    if any(has_metric(methods, column) for column in CHANGES):
        parts += ["Tags added and removed when each image gets its ten best tags:"]
        parts += [metric_table(methods, CHANGES)]
    parts += [_skipped(document.get("skipped", {})), _references(document["reference_points"])]
    parts += [_failures(document["methods"], methods)]
    parts += [
        wrapped(
            f"How sure that is: the 95 % interval of MAP over {items} (bootstrap, first seed), and "
            "the margin to the best other method."
        ),
        margin_table(methods, items),
        _details("What tuning chose", _settings_note(), settings_table(methods)),
        _machine(document),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def large_section(document: Mapping[str, Any]) -> str:
    """Return the table of a results file of ``sugartag evaluate``."""
    methods: Mapping[str, Any] = document["methods"]
    counts = document["collection"]
    total = sum(found["fit_seconds"] + found["score_seconds"] for found in methods.values())
    rows = [
        [
            f"[{name}](methods/{name}.md)",
            *(_or_dash(found[key]) for key in ("map", "miap")),
            f"{found['fit_seconds']:,.1f}",
            f"{found['score_seconds']:,.1f}",
            f"{found['peak_rss_mb']:,.0f}",
        ]
        for name, found in sorted(methods.items(), key=lambda item: -(item[1]["map"] or 0.0))
    ]
    parts = [
        f"## {counts['images']:,} images: time and memory",
        wrapped(
            f"One fit and one scoring of each method on a synthetic collection: {_counts(counts)}. "
            f"It took {total / 60:,.0f} minutes for all {len(methods)} together. The settings are "
            f"in `benchmarks/results/{LARGE}`."
        ),
        table(["method", "MAP", "MiAP", "fit s", "score s", "peak MB"], rows),
        _machine(document),
    ]
    return "\n\n".join(parts) + "\n"


def _references(points: Mapping[str, float]) -> str:
    if not points:
        return ""
    rows = [[name, f"{value:.3f}"] for name, value in points.items()]
    return "Orders that no method made:\n\n" + table(["order", "MAP"], rows)


def _skipped(skipped: Mapping[str, Sequence[int]]) -> str:
    lines = []
    for name, seeds in skipped.items():
        some = f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"
        lines.append(f"- {name} was not run with {some}: it was not waited for.")
    return "\n".join(lines)


def _failures(methods: Mapping[str, Any], measured: Mapping[str, Any]) -> str:
    lines = []
    for name, entry in methods.items():
        if name not in measured:
            reasons = [run["tuned"].get("failed") for run in entry["runs"].values()]
            reason = next(filter(None, reasons), "no MAP")
            lines.append(f"- {name} could not be measured: {reason}")
    return "\n".join(lines)


def _details(summary: str, *parts: str) -> str:
    inside = "\n\n".join(parts)
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"


def _settings_note() -> str:
    return wrapped(
        "The score is the mean of MAP and MiAP on the tags hidden in tuning. Settings not named "
        "are the defaults."
    )


def _machine(document: Mapping[str, Any]) -> str:
    machine = document["machine"]
    memory = machine.get("memory_mb")
    parts = [machine["cpu"], _number(machine["cores"], "core")]
    parts += [f"{memory / 1000:.0f} GB of memory"] if memory else []
    if document.get("processes", 1) > 1:
        parts.append(f"{document['processes']} methods running at the same time")
    if "date" in document:
        parts.append(document["date"])
    return wrapped(f"Measured on {', '.join(parts)}.")


def _counts(counts: Mapping[str, int]) -> str:
    shown = [_number(count, name.removesuffix("s")) for name, count in counts.items() if count]
    return _listed([f"{text} an image" if "feature" in text else text for text in shown])


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else "".join(words)


def _number(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
