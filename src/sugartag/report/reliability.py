"""Whether probabilities came true: a plot of them against the share of right tags, in words too.

Drawn as the other charts are: lengths across are percentages, lengths down are pixels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from sugartag.evaluation.verdicts import Reliability, VerdictCounts
from sugartag.report.content import Trust

TOP, HEIGHT, LEFT, RIGHT = 10, 220, 0.1, 0.02
"""Where the frame lies; the shares of the width are for the numbers beside it."""
LINE = 17
"""Height of a line of small numbers."""
STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)
RADIUS, CAP = 4.5, 4
"""Half the width of a dot, and of the ends of an interval."""
THOUSAND, MILLION = 1_000, 1_000_000
HOW_TO_READ = (
    "Across the probability, upwards the share that was right: equal on the broken line. "
    "Thin lines are 95 % intervals, the numbers below count the tags."
)


@dataclass(frozen=True, eq=False)
class Series:
    """Dots of one colour."""

    words: str
    reliability: Reliability
    kind: str
    """The class that colours them."""


def trust_content(trust: Trust) -> str:
    """Return the plots and what they say in words, or nothing without a verdict."""
    said = "".join(f"<li>{escape(words)}</li>" for words in what_it_says(trust.counts))
    paler = "Paler: the best candidates that were not added."
    drawn = (
        ("Tags to add", f"{HOW_TO_READ} {paler}", reliability_plot(added_series(trust.counts))),
        ("Given tags", HOW_TO_READ, reliability_plot(given_series(trust.counts))),
    )
    figures = "".join(
        f"<figure><figcaption><h3>{title}</h3><p>{words}</p></figcaption>{drawing}</figure>\n"
        for title, words, drawing in drawn
        if drawing
    )
    return f'<div class="figures">{figures}</div>\n<ul class="notes">{said}</ul>' if said else ""


def added_series(counts: VerdictCounts) -> tuple[Series, ...]:
    """Return the tags that images did not have: those added, and the best of the others."""
    return (
        Series("not added", counts.below, "bar-added"),
        Series("added", counts.added, "column-add"),
    )


def given_series(counts: VerdictCounts) -> tuple[Series, ...]:
    """Return the tags that images had."""
    return (Series("given", counts.given, "column-keep"),)


def reliability_plot(series: Sequence[Series]) -> str:
    """Return probability across and share of right tags upwards, or nothing without a tag.

    A dot stands for the tags of one range, the line through it for Wilson's interval.
    On the broken line probabilities come true exactly.
    """
    shown = [one for one in series if one.reliability.count.any()]
    if not shown:
        return ""
    dots = "".join(_dots(one) for one in shown)
    bottom = TOP + HEIGHT + LINE
    counts = "".join(
        _counts(one, bottom + (place + 1) * LINE + 6) for place, one in enumerate(shown)
    )
    height = bottom + (len(shown) + 1) * LINE
    label = escape("; ".join(f"{one.words}: {_in_words(one.reliability)}" for one in shown))
    return (
        f'<svg class="chart" role="img" aria-label="Share of right tags by probability. {label}" '
        f'width="100%" height="{height}">{_frame()}{dots}{counts}</svg>'
    )


def what_it_says(counts: VerdictCounts) -> Iterator[str]:
    """Yield sentences: how far probabilities are off, and how many changes are right."""
    found, changes = counts.measures(), counts.changes
    if (verdicts := int(counts.verdicts.count.sum())) == 0:
        return
    parts = [
        f"{words} {found[name]:.3f}"
        for name, part, words in (
            ("ece_added", counts.added, "additions"),
            ("ece_given", counts.given, "given tags"),
        )
        if part.count.any()
    ]
    yield from plainly("suggestions", counts.added)
    yield from plainly("given tags", counts.given)
    yield (
        f"On average a probability is off by {100 * found['ece']:.1f} points of 100: the expected "
        f"calibration error of all {verdicts:,} verdicts is {found['ece']:.3f} "
        f"({', '.join(parts)})."
    )
    if counts.below.count.any():
        yield (
            f"Of the {int(counts.below.count.sum()):,} best candidates that were not added it is "
            f"{found['ece_below']:.3f}."
        )
    if changes.added:
        yield (
            f"{found['add_precision']:.0%} of the {changes.added:,} added tags were right; they "
            f"are {found['add_recall']:.0%} of the {changes.missing:,} that were missing."
        )
    if changes.removed:
        yield (
            f"{found['remove_precision']:.0%} of the {changes.removed:,} doubted tags were wrong; "
            f"they are {found['remove_recall']:.0%} of the {changes.wrong:,} wrong ones."
        )


def plainly(words: str, reliability: Reliability) -> Iterator[str]:
    """Yield what the largest range of probabilities means, in plain words."""
    if not reliability.count.any():
        return
    place = int(reliability.count.argmax())
    rated, right = reliability.mean_chance()[place], reliability.share_right()[place]
    yield f"Of 100 {words} rated {100 * rated:.0f} %, {100 * right:.0f} were right."


def _frame() -> str:
    parts = []
    for step in STEPS:
        y, x = _down(step), _across(step)
        parts.append(_line(_across(0), _across(1), y, y, "axis"))
        parts.append(_line(x, x, TOP, TOP + HEIGHT, "axis"))
        parts.append(_number("0", y + 4, f"{step:.0%}", "start"))
        parts.append(_number(x, TOP + HEIGHT + LINE, f"{step:g}", _anchor(step)))
    diagonal = _line(_across(0), _across(1), _down(0), _down(1), "whisker")
    parts.append(diagonal.replace("/>", ' stroke-dasharray="4 4" opacity="0.6"/>'))
    return "".join(parts)


def _dots(series: Series) -> str:
    found = series.reliability
    low, high = found.interval()
    rows = zip(
        found.count.tolist(), found.mean_chance(), found.share_right(), low, high, strict=True
    )
    parts = []
    for count, probability, share, lowest, highest in rows:
        if not count:
            continue
        x = _across(probability)
        said = (
            f"{series.words}: {count:,} tags of probability {probability:.2f}; {share:.0%} right, "
            f"{lowest:.0%} to {highest:.0%}"
        )
        parts.append(
            f"<g><title>{said}</title>{_line(x, x, _down(lowest), _down(highest), 'whisker')}"
            f'<circle class="{series.kind}" cx="{x}" cy="{_down(share):.1f}" r="{RADIUS}"/></g>'
        )
    return "".join(parts)


def _counts(series: Series, y: float) -> str:
    """Return how many tags lie in each range, below it."""
    count, edges = series.reliability.count.tolist(), series.reliability.edges
    middles = (edges[:-1] + edges[1:]) / 2
    numbers = "".join(
        _number(_across(middle), y, _short(number), "middle")
        for middle, number in zip(middles, count, strict=True)
        if number
    )
    sample = f'<circle class="{series.kind}" cx="{RADIUS}" cy="{y - CAP:.1f}" r="{RADIUS}"/>'
    return f"{sample}{numbers}"


def _in_words(reliability: Reliability) -> str:
    tags, right = int(reliability.count.sum()), int(reliability.right.sum())
    return f"{tags:,} tags, {right / tags:.0%} right, calibration error {reliability.error():.3f}"


def _short(number: int) -> str:
    if number >= MILLION:
        return f"{number / MILLION:.3g}M"
    return f"{number / THOUSAND:.2g}k" if number >= 10 * THOUSAND else f"{number}"


def _across(share: float) -> str:
    return f"{100 * (LEFT + (1 - LEFT - RIGHT) * share):.2f}%"


def _down(share: float) -> float:
    return TOP + HEIGHT * (1 - float(share))


def _anchor(step: float) -> str:
    return "start" if step == STEPS[0] else "end" if step == STEPS[-1] else "middle"


def _line(x1: str, x2: str, y1: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1}" x2="{x2}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def _number(x: str, y: float, words: str, anchor: str) -> str:
    return f'<text class="tick" x="{x}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>'
