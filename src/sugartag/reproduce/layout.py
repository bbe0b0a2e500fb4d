"""The parts that sections of the page are made of."""

from collections.abc import Sequence
from html import escape

from sugartag.report.curves import mark


def intro(words: str) -> str:
    """Return a paragraph that says what is seen below it."""
    return f'<p class="intro">{escape(words)}</p>'


def figure(title: str, words: str, drawing: str) -> str:
    """Return a drawing with its title and what to see in it."""
    return (
        f"<figure><figcaption><h3>{escape(title)}</h3><p>{escape(words)}</p></figcaption>"
        f"{drawing}</figure>\n"
    )


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> str:
    """Return a table of cells that are HTML already; the first of a row is its name."""
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    body = "\n".join(
        f'<tr><th scope="row">{cells[0]}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells[1:])
        + "</tr>"
        for cells in rows
    )
    return (
        f'<div class="scroll" role="region" aria-label="{escape(label)}" tabindex="0"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def legend(entries: Sequence[tuple[int, str]]) -> str:
    """Return what the points of each style are."""
    items = "".join(
        f'<li><svg viewBox="-7 -7 14 14" aria-hidden="true">{mark(style, "0", 0, size=4.4)}</svg>'
        f"{escape(words)}</li>"
        for style, words in entries
    )
    return f'<ul class="key">{items}</ul>'
