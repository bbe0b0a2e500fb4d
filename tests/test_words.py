"""Plain words: the documentation, docstrings, comments and messages use those of the field.

What is checked is prose: in Python files comments and texts, elsewhere all but code. Names in the
code are not prose.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

WORDS = {
    r"told": "said, known, reported",
    r"heard": "received, estimated",
    r"belie(?:f|ve[ds]?|ving)": "posterior, weight",
    r"chances?": "probability",
    r"so many": "a number",
    r"at most so": "at most",
    r"choose of": "choose from",
    r"this sure": "with this probability",
    r"of nobody": "without an owner",
    r"manners": "annotator noise",
    r"habits?": "owner bias, favourite tags",
    r"slips?": "wrong tag, false positive",
    r"stamp(?:s|ed|ing)?": "bias",
    r"honest": "unbiased",
    r"trusted": "weighted",
    r"weighed": "weighted",
    r"owed": "correction",
    r"census": "score bins",
    r"likeness": "similarity",
    r"look-?alikes?": "similar images",
    r"tastes?": "profile",
    r"strangers?": "other owners",
    r"sight": "visual",
    r"planted": "synthetic",
    r"dear(?:er)?": "expensive",
    r"(?:is|are) no numbers?": "not a number",
    r"data that (?:is|are) there": "available data",
    r"here that is": "here",
    r"JSON has not": "JSON does not have",
    r"how sure (?:that|this) is": "how certain",
}
"""What is not said, and what is said instead."""

NAMED_PLANTED = (
    "experiments/worlds/nus-wide-like.toml",
    "reproduce/data.py",
    "reproduce/plans.py",
)
"""Where it is the name of the data, as ``sugartag reproduce --data`` has it."""
EXCEPTIONS = [
    ("*", r"(?:by|beyond|less those expected by) chance"),
    ("*", r"has no chance"),
    ("*", r"timestamps?"),
    ("*", r"told\s+apart"),
    ("docs/reproduce.md", r"(?:what to|reader should) believe"),
    ("*", r"\bstrangers[_ ]only\b"),
    ("*", r"world planted in the image"),
    *((f"src/sugartag/{one}", "planted") for one in NAMED_PLANTED),
    ("docs/results.md", r"how sure that is"),
    ("*", r"(?:nothing in a folder is|not to be|probabilities (?:can )?be|who is) trusted"),
    ("docs/security.md", r"\| trusted\?"),
    ("docs/operations.md", r"is trusted"),
]
"""Where such a word is right: a file, or * for all, and the phrase around the word."""

CODE = re.compile(r"^```.*?^```$|`[^`\n]+`|<!--.*?-->|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"\{[^{}]*\}")
PATTERN = re.compile(
    rf"(?<![\w-])(?:{'|'.join(WORDS)})(?![\w-])".replace(" ", r"\s+"), re.IGNORECASE
)
FORMATTED = re.compile(r"^[rb]*f", re.IGNORECASE)


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the prose of a file with the number of its first line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        kept = CODE.sub(lambda match: "\n" * match[0].count("\n") or " ", text)
        yield 1, kept
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
        elif token.type == tokenize.STRING:
            string = token.string
            if FORMATTED.match(string):
                string = FIELD.sub(" ", string)
            # A word by itself is a key or a name, and no prose.
            if " " in string.strip():
                yield token.start[0], re.sub(r"``[^`]+``|`[^`\n]+`", " ", string)


def excepted(place: str) -> re.Pattern[str]:
    phrases = [phrase for file, phrase in EXCEPTIONS if file in ("*", place)]
    return re.compile("|".join(phrases), re.IGNORECASE)


def hits(path: Path) -> list[str]:
    """Return where words stand that are not to be used."""
    place = path.relative_to(ROOT).as_posix()
    found = []
    for first, text in prose_of(path):
        kept = excepted(place).sub(lambda match: "-" * len(match[0]), text)
        for match in PATTERN.finditer(re.sub(r"(\S) *\n *(\S)", r"\1\n\2", kept)):
            line = first + kept.count("\n", 0, match.start())
            found.append(f"{place}:{line}: {match[0]!r}")
    return found


def files() -> list[Path]:
    source = ROOT / "src" / "sugartag"
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "mkdocs.yml")]
    kinds = (".py", ".html", ".js", ".css", ".toml", ".md")
    found = [*source.rglob("*"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*")]
    return sorted({*pages, *(path for path in found if path.suffix in kinds and path.is_file())})


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_uses_the_words_of_the_field(path):
    assert hits(path) == []


def test_every_file_is_looked_at():
    places = {path.relative_to(ROOT).as_posix() for path in files()}

    assert len(places) > 400
    assert {"README.md", "docs/decisions/0012-dask.md", "src/sugartag/api.py"} <= places


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.py", '"""It was told so."""\n', 1),
        ("a.py", "told = 1  # what was heard\n", 1),
        ("a.py", 'told = f"{told} of {heard} tags"\n', 0),
        ("a.py", 'x = "habits"\n', 0),
        ("a.py", '"""``told`` is a name."""\n', 0),
        ("a.md", "So\nmany tags, and `told`.\n", 1),
        ("a.md", "```\ntold\n```\nas many as by chance, and a timestamp\n", 0),
        ("a.md", "A chance of rain, a stamp.\n", 2),
    ],
)
def test_words_are_found_in_prose_and_not_in_code(name, text, count, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    monkeypatch.setitem(hits.__globals__, "ROOT", tmp_path)

    assert len(hits(path)) == count
