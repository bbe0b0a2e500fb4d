"""How the page writes methods, times and tables."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from performance.paper_size import EXACT, TRUNCATED, UPDATES

Document: TypeAlias = Mapping[str, Any]
SHOWN = {
    "sugar-plus": "sugar-plus",
    EXACT: "sugar-tc, exact solver",
    TRUNCATED: "sugar-tc, exact solver, truncated",
    UPDATES: "sugar-tc, 450 updates",
    "tag-vote-exact": "tag-vote, exact",
    "tag-vote-usearch": "tag-vote, usearch",
}
"""What methods are called where their own name does not say which variant it is."""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Return a table in Markdown; ``sides`` has an l or an r for each column."""
    rule = ["--:" if side == "r" else ":--" for side in sides]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, rule, *rows])


def time_words(seconds: float) -> str:
    """Return a time in the unit that reads best."""
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    if seconds >= 90:
        return f"{seconds / 60:.1f} min"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2g} s"


def share_words(ratio: float) -> str:
    """Return a ratio of times as 1/n, never more favourable than it is; as a number from 1/2 on."""
    return f"1/{int(1 / ratio)}" if ratio < 0.5 else f"{ratio:.2f}"
