"""Lines with bands, as inline SVG that follows the width of the page.

Lengths across are percentages and lengths down are pixels, so that letters keep their size. A line
differs from the others by colour, dashes, the shape of its points and its name at the end.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

TOP, HEIGHT, LEFT = 12, 260, 0.13
"""Where lines are drawn; the share of the width on the left is for the numbers."""
NAMES = 0.2
"""The share of the width on the right that names take."""
BELOW = 44
"""Room under the axis for its numbers and its name."""
NAME_ROW = 16
N_COLOURS = 10
MARK = 3.4
"""Half the size of a point, in pixels."""
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Point:
    """A value, where it lies across, and the range it may well lie in."""

    across: float
    """From 0, the left end of the axis, to 1."""
    value: float
    low: float | None = None
    high: float | None = None
    words: str = ""
    """What is said when it is pointed at."""


@dataclass(frozen=True)
class Line:
    """Points in order, and what they are called."""

    name: str
    points: tuple[Point, ...]
    style: int
    """Colour, dashes and shape of the points: 0 to 9."""
    strong: bool = False
    band: bool = True
    """Whether the ranges are drawn."""
    marks: bool = True


@dataclass(frozen=True)
class Axis:
    """What the numbers along the bottom are, and what the height is."""

    across: str
    up: str
    ticks: tuple[tuple[float, str], ...]
    """Where numbers stand, from 0 to 1, and what they are."""
    marked: tuple[tuple[float, str], ...] = ()
    """Upright lines with a word each, such as the paper's choice."""
    bottom: float | None = None
    """Where the height begins; chosen by the values if not said."""
    powers: bool = False
    """Whether values are exponents: -2 is then written as 10⁻²."""


def curves(lines: Sequence[Line], axis: Axis, *, words: str) -> str:
    """Return the lines in one frame with named axes; nothing where there is nothing to draw."""
    lines = [line for line in lines if line.points]
    if not lines:
        return ""
    named = len(lines) > 1
    frame = _Frame.around(lines, axis, right=1 - NAMES if named else 0.985)
    bands = "".join(_band(line, frame) for line in lines if line.band)
    strokes = "".join(_stroke(line, frame) for line in sorted(lines, key=lambda one: one.strong))
    # Stretched to the width of the page, but with strokes that keep their thickness.
    plot = (
        f'<svg x="{_percent(LEFT)}" y="{TOP}" width="{_percent(frame.right - LEFT)}" '
        f'height="{HEIGHT}" viewBox="0 0 100 100" preserveAspectRatio="none" '
        f'overflow="visible">{bands}{strokes}</svg>'
    )
    marks = "".join(_marks(line, frame) for line in lines if line.marks)
    names = _names(lines, frame) if named else ""
    content = _grid(frame) + _marked(axis, frame) + plot + marks + names + _below(axis, frame)
    return (
        f'<svg class="chart curves" role="img" aria-label="{escape(words)}" '
        f'width="100%" height="{TOP + HEIGHT + BELOW}">{content}</svg>'
    )


def even_places(count: int) -> list[float]:
    """Return places from left to right for a number of values, with some air at both ends."""
    if count == 1:
        return [0.5]
    return [0.03 + 0.94 * place / (count - 1) for place in range(count)]


@dataclass(frozen=True)
class _Frame:
    """From values to places."""

    low: float
    high: float
    step: float
    right: float
    powers: bool

    @classmethod
    def around(cls, lines: Iterable[Line], axis: Axis, *, right: float) -> "_Frame":
        values = [
            value
            for line in lines
            for point in line.points
            for value in (point.value, *((point.low, point.high) if line.band else ()))
            if value is not None
        ]
        low = min(values) if axis.bottom is None else axis.bottom
        high = max(values)
        width = high - low or abs(high) or 1.0
        step = max(1.0, math.ceil(width / 5)) if axis.powers else _nice(width / 4)
        ends = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        return cls(*ends, step, right, axis.powers)

    def share(self, value: float) -> float:
        """Return how far down a value lies, from 0 at the top to 1."""
        return (self.high - value) / (self.high - self.low or 1.0)

    def y(self, value: float) -> float:
        return TOP + HEIGHT * self.share(value)

    def x(self, across: float) -> str:
        return _percent(LEFT + (self.right - LEFT) * across)


def _nice(step: float) -> float:
    """Return the next larger step that reads well."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * one for one in STEPS if power * one >= step * (1 - 1e-9))


def _band(line: Line, frame: _Frame) -> str:
    known = [one for one in line.points if one.low is not None and one.high is not None]
    if len(known) < 2:
        return ""
    over = [(one.across, one.high) for one in known]
    under = [(one.across, one.low) for one in reversed(known)]
    corners = " ".join(
        f"{100 * across:.2f},{100 * frame.share(value):.2f}"
        for across, value in over + under
        if value is not None
    )
    return f'<polygon class="band tone-{line.style % N_COLOURS}" points="{corners}"/>'


def _stroke(line: Line, frame: _Frame) -> str:
    places = " ".join(
        f"{100 * one.across:.2f},{100 * frame.share(one.value):.2f}" for one in line.points
    )
    kind = "strong " if line.strong else ""
    return f'<polyline class="curve {kind}tone-{line.style % N_COLOURS}" points="{places}"/>'


def _marks(line: Line, frame: _Frame) -> str:
    return "".join(
        mark(line.style, frame.x(one.across), frame.y(one.value), words=one.words)
        for one in line.points
    )


def mark(style: int, x: str, y: float, *, words: str = "", size: float = MARK) -> str:
    """Return a point: every style has its own shape."""
    shape = style % 5
    kind = f'class="mark tone-{style % N_COLOURS}"'
    title = f"<title>{escape(words)}</title>" if words else ""
    if shape == 0:
        return f'<circle {kind} cx="{x}" cy="{y:.1f}" r="{size:.1f}">{title}</circle>'
    # Shapes with corners are drawn around the point, in pixels, whatever the width of the page.
    corners = {
        1: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        2: ((0, -1.3), (1.2, 1), (-1.2, 1)),
        3: ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
        4: ((0, 1.3), (1.2, -1), (-1.2, -1)),
    }[shape]
    points = " ".join(f"{size * a:.1f},{size * b:.1f}" for a, b in corners)
    return (
        f'<svg x="{x}" y="{y:.1f}" width="1" height="1" overflow="visible">'
        f'<polygon {kind} points="{points}">{title}</polygon></svg>'
    )


def _names(lines: Sequence[Line], frame: _Frame) -> str:
    """Write the names at the ends of the lines, moved apart where they would overlap."""
    order = sorted(lines, key=lambda line: frame.y(line.points[-1].value))
    places: list[float] = []
    for line in order:
        wanted = frame.y(line.points[-1].value)
        places.append(max(wanted, places[-1] + NAME_ROW) if places else wanted)
    excess = max(0.0, places[-1] - (TOP + HEIGHT + BELOW - 8))
    places = [place - excess for place in places]
    parts = []
    for line, place in zip(order, places, strict=True):
        end = line.points[-1]
        tone = f"tone-{line.style % N_COLOURS}"
        parts.append(
            f'<line class="leader {tone}" x1="{frame.x(end.across)}" '
            f'y1="{frame.y(end.value):.1f}" x2="{_percent(frame.right + 0.015)}" '
            f'y2="{place:.1f}"/>' + mark(line.style, _percent(frame.right + 0.022), place)
        )
        kind = "bar-label strong-name" if line.strong else "bar-label"
        parts.append(
            f'<text x="{_percent(frame.right + 0.034)}" y="{place + 4:.1f}" '
            f'class="{kind}">{escape(line.name)}</text>'
        )
    return "".join(parts)


def _grid(frame: _Frame) -> str:
    count = round((frame.high - frame.low) / frame.step)
    parts = []
    for number in range(count + 1):
        value = frame.low + number * frame.step
        y = frame.y(value)
        parts.append(
            f'<line class="axis" x1="{_percent(LEFT)}" x2="{_percent(frame.right)}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_percent(LEFT - 0.012)}" y="{y + 4:.1f}" class="tick" '
            f'text-anchor="end">{_written(value, frame)}</text>'
        )
    return "".join(parts)


def _written(value: float, frame: _Frame) -> str:
    if frame.powers:
        return "10" + str(round(value)).translate(RAISED)
    return f"{value:.{_digits(frame.step)}f}"


def _digits(step: float) -> int:
    """Return the decimals that tell a step from the next."""
    return next((n for n in range(8) if abs(round(step, n) - step) < 1e-9 * step), 8)


def _marked(axis: Axis, frame: _Frame) -> str:
    return "".join(
        f'<line class="marked" x1="{frame.x(across)}" x2="{frame.x(across)}" y1="{TOP}" '
        f'y2="{TOP + HEIGHT}"/><text x="{frame.x(across)}" y="{TOP + 10}" class="tick" '
        f'dx="{-5 if across > 0.8 else 5}" text-anchor="{"end" if across > 0.8 else "start"}">'
        f"{escape(words)}</text>"
        for across, words in axis.marked
    )


def _below(axis: Axis, frame: _Frame) -> str:
    bottom = TOP + HEIGHT
    numbers = "".join(
        f'<text x="{frame.x(across)}" y="{bottom + 16}" class="tick" '
        f'text-anchor="middle">{escape(words)}</text>'
        for across, words in axis.ticks
    )
    middle = _percent((LEFT + frame.right) / 2)
    return (
        numbers + f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle" class="axis-name">'
        f"{escape(axis.across)}</text>"
        f'<text transform="translate(10 {TOP + HEIGHT / 2:.0f}) rotate(-90)" class="axis-name" '
        f'text-anchor="middle">{escape(axis.up)}</text>'
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"
