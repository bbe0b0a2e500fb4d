"""The findings as one HTML page that needs nothing but itself."""

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from sugartag.report.page import BRAND, FOOTER, ICON, PAGE
from sugartag.reproduce.data import OPENCLIPART, PLANTED
from sugartag.reproduce.sections import section_of
from sugartag.storage.aside import file_aside

VERDICTS = {"agrees": "agrees", "partly": "partly", "differs": "does not"}


def write_page(document: Mapping[str, Any], path: Path, *, pictures: Path) -> None:
    """Write the page to ``path``, replacing what is there once the new one is whole."""
    with file_aside(path, overwrite=True) as partial:
        partial.write_text(render(document, pictures=pictures), encoding="utf-8", newline="\n")


def render(document: Mapping[str, Any], *, pictures: Path) -> str:
    """Return the page; the same findings give the same text."""
    style = "".join(
        (files("sugartag.report") / name).read_text(encoding="utf-8")
        for name in ("style.css", "figures.css")
    )
    sections = "".join(
        section_of(name, entry, document, pictures=pictures)
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


def _header(document: Mapping[str, Any]) -> str:
    data = document["data"]
    tiles = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{count:,}</dd></div>"
        for what, count in data["counts"].items()
        if count
    )
    links = "".join(
        f'<li><a href="#{name}">{escape(entry["title"])}</a></li>'
        for name, entry in document["experiments"].items()
    )
    judged = (
        "the truth, which no method and no tuning sees"
        if data["hidden"] is None
        else f"{data['hidden']:.0%} of the given tags, hidden from every method"
    )
    lead = (
        f"Data: {data['title']}. Measured by {judged}. The paper's own numbers stand beside ours; "
        "they were measured on other data (NUS-WIDE-128, 247,849 photographs), so orders and "
        "shapes can be compared, values cannot."
    )
    smaller = "a smaller world, " if data["name"] == PLANTED else ""
    quick = (
        f'<p class="intro"><b>A quick run:</b> {smaller}fewer trials and coarser grids than the '
        "full one.</p>"
        if document["quick"]
        else ""
    )
    return (
        f'<header class="top">{BRAND}\n<h1>The paper’s experiments, run again</h1>\n'
        f'<p class="lead">{escape(lead)}</p>{quick}\n<dl class="numbers">{tiles}</dl>'
        f'<ul class="contents">{links}</ul></header>'
    )


def _claims(document: Mapping[str, Any]) -> str:
    if not document["claims"]:
        return ""
    rows = "\n".join(
        f'<tr><td>{escape(one["paper"])}</td><td><span class="verdict {one["verdict"]}">'
        f"{VERDICTS[one['verdict']]}</span></td><td>{escape(one['here'])}</td></tr>"
        for one in document["claims"]
    )
    return (
        '<section id="claims" aria-labelledby="claims-heading">'
        '<h2 id="claims-heading">What the paper says, and what came out here</h2>'
        '<p class="intro">On these data, with our implementations. “Partly” also marks a value '
        "that is not the best but as good as the best (F within 0.01).</p>"
        '<div class="scroll" role="region" aria-label="Statements" tabindex="0">'
        '<table class="claims"><thead><tr><th scope="col">the paper says</th>'
        '<th scope="col">here it</th><th scope="col">what came out</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>\n"
    )


def _run(document: Mapping[str, Any]) -> str:
    machine, data = document["machine"], document["data"]
    world = data["world"] or {}
    facts = [
        ("Data", f"{data['title']} ({data['digest'][:16]})"),
        ("The world", ", ".join(f"{key} {value}" for key, value in world.items())),
        ("Seed", str(document["seed"])),
        ("Machine", f"{machine['cpu']}, {machine['cores']} cores"),
        ("Libraries", f"Python {machine['python']}, numpy {machine['numpy']}, {machine['blas']}"),
        ("sugartag", document["code"]),
    ]
    listed = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts if text)
    command = "sugartag reproduce" + (" --quick" if document["quick"] else "")
    if data["name"] == OPENCLIPART:
        command += f" --data {OPENCLIPART}"
    elif data["name"] != PLANTED:
        command += f" --collection {data['name']}"
    command += f" --seed {document['seed']}" if document["seed"] else ""
    return (
        '<section id="run" aria-labelledby="run-heading"><h2 id="run-heading">What was run</h2>'
        f'<dl class="facts">{listed}</dl><h3>To repeat it</h3><pre><code>{escape(command)}</code>'
        "</pre></section>\n"
    )
