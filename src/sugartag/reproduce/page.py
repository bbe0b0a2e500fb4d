"""The findings as one HTML page that needs nothing but itself."""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from sugartag.collection.store import open_collection
from sugartag.report.page import BRAND, FOOTER, ICON, PAGE
from sugartag.reproduce.claims import VERDICTS
from sugartag.reproduce.data import DOCUMERICA, OPENCLIPART, SYNTHETIC
from sugartag.reproduce.experiments import MAIN
from sugartag.reproduce.sections import framed, section_of
from sugartag.reproduce.tables import claims_by_statement
from sugartag.storage.aside import file_aside

Found: TypeAlias = Mapping[str, Any]
MOST_BYTES = 300_000
"""Larger pictures are left out: the page carries them itself."""
KINDS = {".webp": "webp", ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif"}
QUICK = (
    "A quick run: smaller collections, fewer trials and coarser grids than the full one, to see "
    "that everything works. Which method comes first here says nothing of the full run: the "
    "ranking does not carry over."
)
LEGEND = (
    ("chip", "given, and left to see"),
    ("chip recovered", "given, and hidden from the methods"),
    ("chip add", "new: given by nobody"),
    ("chip doubt", "given, and not among the tags after"),
)


def write_page(document: Found, path: Path, *, pictures: Path) -> None:
    """Write the page to ``path``, replacing what is there once the new one is whole."""
    with file_aside(path, overwrite=True) as partial:
        partial.write_text(render(document, pictures=pictures), encoding="utf-8", newline="\n")


def render(document: Found, *, pictures: Path) -> str:
    """Return the page; the same findings give the same text."""
    style = "".join(
        (files("sugartag.report") / name).read_text(encoding="utf-8")
        for name in ("style.css", "figures.css")
    )
    sections = "".join(
        framed(name, entry, picture_cards(entry["found"], document, pictures=pictures))
        if entry["kind"] == "pictures" and "failed" not in entry["found"]
        else section_of(name, entry)
        for name, entry in document["experiments"].items()
    )
    body = (
        f"{_header(document)}\n<main>\n{_claims(document)}{sections}{_run(document)}</main>\n"
        f"{FOOTER}"
    )
    return PAGE.format(
        policy=_policy(style),
        title="The paper's experiments, run again",
        icon=ICON,
        style=style,
        body=body,
        script="",
    )


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _header(document: Found) -> str:
    data = document["collections"][MAIN]
    tiles = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{count:,}</dd></div>"
        for what, count in data["counts"].items()
        if count
    )
    links = "".join(
        f'<li><a href="#{name}">{escape(entry["title"])}</a></li>'
        for name, entry in document["experiments"].items()
    )
    lead = " ".join(map(_described, document["collections"].values())) + (
        " The paper's own numbers stand beside ours; they were measured on other data "
        "(NUS-WIDE-128, 247,849 photographs), so orders and shapes can be compared, values cannot."
    )
    notes = [_left_out(document), QUICK if document["quick"] else ""]
    shown = "".join(f'<p class="intro"><b>{note}</b></p>' for note in notes if note)
    return (
        f'<header class="top">{BRAND}\n<h1>The paper’s experiments, run again</h1>\n'
        f'<p class="lead">{escape(lead)}</p>{shown}\n<dl class="numbers">{tiles}</dl>'
        f'<ul class="contents">{links}</ul></header>'
    )


def _described(data: Found) -> str:
    judged = (
        "the truth, which no method and no tuning sees"
        if data["hidden"] is None
        else f"{data['hidden']:.0%} of the given tags, hidden from every method"
    )
    return f"{data['title']}: {data['counts']['images']:,} images, measured by {judged}."


def _left_out(document: Found) -> str:
    text = str(document["left_out"])
    return f"{escape(text[:1].upper() + text[1:])}." if text else ""


def _claims(document: Found) -> str:
    claims = claims_by_statement(document["claims"])
    if not claims:
        return ""
    collections = {on: data["title"] for on, data in document["collections"].items()}
    rows = "\n".join(
        f'<tr><th scope="row">{escape(says)}</th>'
        + "".join(
            _verdict(title, found.get(on), alone=len(collections) == 1)
            for on, title in collections.items()
        )
        + "</tr>"
        for says, found in claims.items()
    )
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title in collections.values())
    return (
        '<section id="claims" aria-labelledby="claims-heading">'
        '<h2 id="claims-heading">What the paper says, and what came out here</h2>'
        '<p class="intro">On these data, with our implementations. A verdict respects its 95 % '
        "interval: where that of a difference holds 0, the two cannot be distinguished. What is "
        "said of all agrees if each agrees, and is contradicted if one is.</p>"
        '<table class="claims"><thead><tr><th scope="col">the paper says</th>'
        f"{heads}</tr></thead><tbody>{rows}</tbody></table></section>\n"
    )


def _verdict(title: str, one: Found | None, *, alone: bool) -> str:
    if one is None:
        return '<td class="none">–</td>'
    where = "" if alone else f'<span class="on">{escape(title)}</span>'
    return (
        f'<td>{where}<span class="verdict {one["verdict"]}">{VERDICTS[one["verdict"]]}</span> '
        f"{escape(one['here'])}</td>"
    )


def _run(document: Found) -> str:
    machine = document["machine"]
    facts = [
        *(
            (data["title"], f"{_made(data)} ({data['digest'][:16]})")
            for data in document["collections"].values()
        ),
        ("Seed", str(document["seed"])),
        ("Machine", f"{machine['cpu']}, {machine['cores']} cores"),
        ("Libraries", f"Python {machine['python']}, numpy {machine['numpy']}, {machine['blas']}"),
        ("sugartag", document["code"]),
        ("Date", document["date"]),
    ]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    return (
        '<section id="run" aria-labelledby="run-heading"><h2 id="run-heading">What was run</h2>'
        f'<dl class="facts">{listed}</dl><h3>To repeat it</h3><pre><code>'
        f"{escape(_command(document))}</code></pre></section>\n"
    )


def _made(data: Found) -> str:
    return ", ".join(f"{key} {value}" for key, value in (data["made"] or data["counts"]).items())


def _command(document: Found) -> str:
    names = {data["name"] for data in document["collections"].values()}
    command = "sugartag reproduce" + (" --quick" if document["quick"] else "")
    if OPENCLIPART in names:
        command += " --drawings"
    elif SYNTHETIC not in names:
        command += f" --collection {min(names)}"
    if DOCUMERICA in names:
        command += " --data FOLDER"
    return command + (f" --seed {document['seed']}" if document["seed"] else "")


def picture_cards(found: Found, document: Found, *, pictures: Path) -> str:
    """Return the pictures with their tags as given and as each method would give them."""
    root = open_collection(pictures, verify=False).images_root
    data = document["collections"][MAIN]
    own = data["name"] in (pictures.name, pictures.parent.name)
    note = (
        ""
        if own
        else f"{data['title']} has no pictures; these are the drawings that come with sugartag. "
    )
    words = (
        f"{note}A random few, each by another person, none picked for looking good. "
        f"{found['hide']:.0%} of the given tags were hidden from the methods, which learned from "
        "all drawings with the tags that were left."
    )
    legend = "".join(
        f'<li><span class="{kind}"><span class="tag">tag</span></span> {text}</li>'
        for kind, text in LEGEND
    )
    cards = "\n".join(_card(one, found["methods"], root) for one in found["pictures"])
    return (
        f'<p class="intro">{escape(words)}</p><ul class="legend">{legend}</ul>'
        f'<div class="cards">\n{cards}\n</div>'
    )


def _card(one: Found, methods: Iterable[str], root: str | None) -> str:
    given, hidden = set(one["given"]), set(one["hidden"])
    rows = [_chips("before", [(tag, "chip") for tag in one["given"]])]
    rows.append(_chips("hidden", [(tag, "chip recovered") for tag in one["hidden"]]))
    for name in methods:
        after = one["after"][name]
        chips = [(tag, _kind(tag, given, hidden)) for tag in after]
        chips += [(tag, "chip doubt") for tag in one["given"] if tag not in after]
        rows.append(_chips(f"after, by {name}", chips))
    owner = f"by {escape(one['owner'])}" if one["owner"] else "owner unknown"
    return (
        f'<article class="card"><div class="plate">{_image(one["path"], root)}</div>'
        f"<h3>{escape(one['title'] or one['path'])}</h3>"
        f'<p class="owner">{owner}</p>{"".join(rows)}</article>'
    )


def _kind(tag: str, given: set[str], hidden: set[str]) -> str:
    if tag in given:
        return "chip"
    return "chip recovered" if tag in hidden else "chip add"


def _chips(label: str, chips: Iterable[tuple[str, str]]) -> str:
    items = "".join(
        f'<li class="{kind}"><span class="tag">{escape(tag)}</span></li>' for tag, kind in chips
    )
    if not items:
        return ""
    return f'<p class="label">{escape(label)}</p><ul class="chips">{items}</ul>'


def _image(path: str, root: str | None) -> str:
    """Return a picture as the page carries it; a path that leads out of the root has none."""
    kind = KINDS.get(Path(path).suffix.lower())
    content = None if root is None or kind is None else _content(Path(root), path)
    if content is None:
        return "<small>no picture small enough to carry</small>"
    return f'<img alt="" src="data:image/{kind};base64,{base64.b64encode(content).decode()}">'


def _content(root: Path, path: str) -> bytes | None:
    try:
        file = (root / path).resolve()
        within = file.is_relative_to(root.resolve()) and file.is_file()
        if not within or file.stat().st_size > MOST_BYTES:
            return None
        return file.read_bytes()
    except (OSError, ValueError):
        return None
