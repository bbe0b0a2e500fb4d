"""Texts in CSV files that a spreadsheet would take for formulas, and back.

A text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return gets an apostrophe
before it, and so does one that begins with apostrophes before any of these: so every text is read
back as it was.
"""

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


def guarded(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """Return a text as it was before it was guarded."""
    return text[1:] if _GUARDED.match(text) else text
