"""The report as one HTML page that needs nothing but itself.

Pictures are data URIs, the style sheet and the script are inline, and the page's own security
policy forbids every request. Without the script all is there but the filter. Every text that
comes from a collection passes through :func:`html.escape` where it enters a template.
"""

import base64
import hashlib
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from html import escape
from importlib.resources import files
from pathlib import Path

from sugartag.report import charts, cited, reliability
from sugartag.report.content import Action, Picture, Report, Verdict
from sugartag.storage.aside import file_aside

SIGNS: dict[Action, str] = {"keep": "", "doubt": "?", "add": "+"}
MOST_KEPT = 8
"""Kept tags that a card shows at once; the others are one click away."""

TAG_SHAPE = (
    "M1.5 3v4.6l7 7a1.4 1.4 0 0 0 2 0l4.1-4.1a1.4 1.4 0 0 0 0-2l-7-7H3A1.5 1.5 0 0 0 1.5 3zm3.3-.1"
    "a1.7 1.7 0 1 1 0 3.4 1.7 1.7 0 0 1 0-3.4z"
)
"""A luggage tag in a square of 16."""
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath "
    f"fill='%23009E73' fill-rule='evenodd' d='{TAG_SHAPE}'/%3E%3C/svg%3E"
)
BRAND = (
    '<p class="brand"><svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true"><path '
    f'fill="currentColor" fill-rule="evenodd" d="{TAG_SHAPE}"/></svg>sugartag</p>'
)

FOOTER = '<footer class="bottom">Made by sugartag. This page needs nothing but itself.</footer>'
SCRIPT = """
const form = document.getElementById("filter");
const cards = [...document.querySelectorAll(".card")];
const apply = () => {
  const words = form.elements.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const kind = form.elements.kind.value;
  let shown = 0;
  for (const card of cards) {
    const { words: text, kinds } = card.dataset;
    const fits = words.every((word) => text.includes(word)) && kinds.split(" ").includes(kind);
    card.hidden = !fits;
    shown += fits;
  }
  form.elements.shown.value = `${shown} of ${cards.length} shown`;
};
form.addEventListener("input", apply);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
apply();
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<link rel="icon" href="{icon}">
<style>{style}</style>
</head>
<body>
{body}
{script}
</body>
</html>
"""


def render(report: Report) -> str:
    """Return the page; the same report gives the same text."""
    style = (files("sugartag.report") / "style.css").read_text(encoding="utf-8")
    script = f"<script>{SCRIPT}</script>" if report.pictures else ""
    parts = (_pictures, _comparison, _trust, _charts, _what_was_run)
    sections = "".join(part(report) for part in parts)
    body = f"{_header(report)}\n<main>\n{sections}</main>\n{FOOTER}"
    named = {"policy": _policy(style), "title": escape(report.title), "icon": ICON}
    return PAGE.format(**named, style=style, body=body, script=script)


def write_report(report: Report, path: Path) -> None:
    """Write the page to ``path``, replacing what is there once the new one is whole."""
    with file_aside(path, overwrite=True) as partial:
        partial.write_text(render(report), encoding="utf-8", newline="\n")


def _policy(style: str) -> str:
    def allowed(text: str) -> str:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        return f"'sha256-{digest}'"

    return (
        f"default-src 'none'; img-src data:; style-src {allowed(style)}; "
        f"script-src {allowed(SCRIPT)}; base-uri 'none'; form-action 'none'"
    )


def _header(report: Report) -> str:
    counts = report.counts
    numbers = [
        ("images", f"{counts.images:,}"),
        ("different tags", f"{counts.tags:,}"),
        ("contributors", f"{counts.owners:,}"),
        ("tags suggested", f"{counts.added:,}"),
        ("tags doubted", f"{counts.doubted:,}"),
    ]
    if counts.hidden is not None and counts.recovered is not None:
        found = f"{counts.recovered:,}<small> of {counts.hidden:,}</small>"
        numbers.append(("hidden tags found", found))
    tiles = "".join(f"<div><dt>{name}</dt><dd>{number}</dd></div>" for name, number in numbers)
    evidence = (
        f'<p class="intro">Evidence: {escape(report.evidence)}.</p>\n' if report.evidence else ""
    )
    return (
        f'<header class="top">{BRAND}\n<h1>{escape(report.title)}</h1>\n'
        f'<p class="lead">{escape(report.lead)}</p>\n{evidence}'
        f'<dl class="numbers">{tiles}</dl></header>'
    )


def _section(name: str, heading: str, content: str, introduction: str = "") -> str:
    words = f'<p class="intro">{escape(introduction)}</p>' if introduction else ""
    return (
        f'<section id="{name}" aria-labelledby="{name}-heading">'
        f'<h2 id="{name}-heading">{heading}</h2>{words}\n{content}</section>\n'
    )


def _pictures(report: Report) -> str:
    if not report.pictures:
        return ""
    known = {picture.image_id for picture in report.pictures if picture.image_id}
    cards = "\n".join(_card(picture, known) for picture in report.pictures)
    content = f'{_legend(report)}\n{_filter()}\n<div class="cards">\n{cards}\n</div>'
    return _section("pictures", "Pictures and their tags", content)


def _legend(report: Report) -> str:
    said = [verdict for picture in report.pictures for verdict in picture.verdicts]
    entries = [
        (Verdict("tag", "keep", 0.93), "given by its owner, and it fits"),
        (Verdict("tag", "doubt", 0.04), "given by its owner, and it may not fit: please check"),
        (Verdict("tag", "add", 0.81), "not given; it may belong"),
    ]
    if any(verdict.recovered for verdict in said):
        found = "suggested, and right: the owner had given it, we had hidden it"
        entries.append((Verdict("tag", "add", 0.88, recovered=True), found))
    rows = "".join(
        f'<li><span class="{_chip_class(sample)}">{_chip_words(sample)}</span> {words}</li>'
        for sample, words in entries
    )
    note = "The number is the probability that the tag belongs, from 0 to 1."
    return f'<ul class="legend">{rows}<li class="note">{note}</li></ul>'


def _filter() -> str:
    choices = [("all", "all"), ("add", "with additions"), ("doubt", "with doubts")]
    radios = "".join(
        f'<label><input type="radio" name="kind" value="{kind}"'
        f"{' checked' if kind == 'all' else ''}><span>{words}</span></label>"
        for kind, words in choices
    )
    return (
        '<form id="filter" role="search" hidden><label class="find"><span class="unseen">Find '
        'pictures by tag, title or owner</span><input type="search" name="words" '
        'placeholder="Find a tag, a title, an owner" autocomplete="off"></label>'
        f'<fieldset><legend class="unseen">Which pictures</legend>{radios}</fieldset>'
        '<output name="shown" aria-live="polite"></output></form>'
    )


def _card(picture: Picture, known: AbstractSet[str]) -> str:
    title = escape(picture.title or "untitled")
    owner = f"by {escape(picture.owner)}" if picture.owner else "owner unknown"
    words = [picture.title, picture.owner, *(verdict.tag for verdict in picture.verdicts)]
    kinds = ["all", *sorted({verdict.action for verdict in picture.verdicts})]
    source = f"data:{picture.mime};base64,{base64.b64encode(picture.image).decode()}"
    kept = picture.said("keep")
    given = kept[:MOST_KEPT] + picture.said("doubt")
    return (
        f'<article class="card" {cited.id_of(picture)}'
        f'data-words="{escape(" ".join(words).lower())}" data-kinds="{" ".join(kinds)}">\n'
        f'<div class="plate"><img src="{source}" alt="{title}, {owner}" decoding="async">'
        f'</div>\n<h3>{title}</h3><p class="owner">{owner}</p>\n'
        f"{_chips('given', given, rest=kept[MOST_KEPT:])}"
        f"{_chips('suggested', picture.said('add'))}"
        f"{cited.reasons(picture, SIGNS, known)}</article>"
    )


def _chips(label: str, verdicts: Iterable[Verdict], rest: tuple[Verdict, ...] = ()) -> str:
    chips = "".join(_chip(verdict) for verdict in verdicts)
    if not chips:
        return ""
    more = ""
    if rest:
        others = "".join(_chip(verdict) for verdict in rest)
        words = f"and {len(rest)} more that fit"
        more = f'<details><summary>{words}</summary><ul class="chips">{others}</ul></details>'
    return f'<p class="label">{label}</p><ul class="chips">{chips}</ul>{more}\n'


def _chip(verdict: Verdict) -> str:
    tooltip = f' title="{escape(verdict.reason)}"' if verdict.reason else ""
    return f'<li class="{_chip_class(verdict)}"{tooltip}>{_chip_words(verdict)}</li>'


def _chip_class(verdict: Verdict) -> str:
    return f"chip {verdict.action}{' recovered' if verdict.recovered else ''}"


def _chip_words(verdict: Verdict) -> str:
    hidden = ", it had been hidden" if verdict.recovered else ""
    said = f"{charts.ACTION_WORDS[verdict.action]}{hidden}: "
    sign = "✓" if verdict.recovered else SIGNS[verdict.action]
    mark = f'<span class="sign" aria-hidden="true">{sign}</span>' if sign else ""
    tag = escape(verdict.tag).replace("_", "_<wbr>")
    return (
        f'<span class="unseen">{said}</span>{mark}<span class="tag">{tag}</span>'
        f'<span class="score">{verdict.score:.2f}</span>'
    )


def _comparison(report: Report) -> str:
    if not report.comparison:
        return ""
    table = charts.comparison_table(report.comparison, best=report.best)
    meanings = "".join(f"<dt>{name}</dt><dd>{words}</dd>" for name, words in charts.MEANINGS)
    content = (
        '<div class="scroll" role="region" aria-label="Methods compared" tabindex="0">'
        f"{table}</div>\n<details><summary>What the columns mean</summary>"
        f'<dl class="meanings">{meanings}</dl></details>'
    )
    return _section("comparison", "How the methods compare", content, report.protocol)


def _trust(report: Report) -> str:
    content = reliability.trust_content(report.trust) if report.trust else ""
    if not report.trust or not content:
        return ""
    return _section("trust", "Can the probabilities be trusted?", content, report.trust.protocol)


def _charts(report: Report) -> str:
    figures = "".join(
        f"<figure><figcaption><h3>{title}</h3><p>{words}</p></figcaption>{drawing}</figure>\n"
        for title, words, drawing in _drawings(report)
        if drawing
    )
    content = f'<div class="figures">{figures}</div>'
    return _section("charts", "The numbers, drawn", content) if figures else ""


def _drawings(report: Report) -> list[tuple[str, str, str]]:
    rows, data = report.comparison, report.charts
    bars = charts.method_bars(rows, metric="map", label="MAP", best=report.best)
    histogram = charts.score_histogram(data.scores) if data.scores else ""
    curves = charts.recovery_curves(data.recovery)
    ranking = "MAP of each method: the longer the bar, the better."
    if any("map" in row.intervals for row in rows):
        ranking += " The thin line is a 95 % interval over the choice of images."
    sure = "Tags by their score, from 0 to 1. Each row has its own height."
    found = "The share of the hidden tags among the first suggestions of an image."
    most = "On how many images."
    if any(tag.recovered for tag in data.most_added):
        most += " The stronger part had been given by the owner, and hidden."
    return [
        ("Ranking quality", ranking, bars),
        ("How sure the verdicts are", sure, histogram),
        ("Hidden tags found", found, curves),
        ("Tags suggested most", most, charts.added_tags(data.most_added)),
    ]


def _what_was_run(report: Report) -> str:
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(v)}</dd>" for name, v in report.facts)
    lines = "\n".join(escape(command) for command in report.commands)
    notes = "".join(f"<li>{escape(note)}</li>" for note in report.notes)
    repeat = f"<h3>To repeat it</h3><pre><code>{lines}</code></pre>" if lines else ""
    settings = f'<dl class="facts">{facts}</dl>{repeat}'
    content = [
        f"<details><summary>Settings and commands</summary>{settings}</details>"
        if facts or lines
        else "",
        f'<h3>Notes</h3><ul class="notes">{notes}</ul>' if notes else "",
    ]
    return _section("run", "What was run", "\n".join(content)) if any(content) else ""
