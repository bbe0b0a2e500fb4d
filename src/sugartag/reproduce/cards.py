"""Pictures with their tags before and after, as cards of the page."""

import base64
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from sugartag.collection.store import open_collection

MOST_BYTES = 300_000
"""Larger pictures are left out: the page carries them itself."""
KINDS = {".webp": "webp", ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif"}
LEGEND = (
    ("chip", "given, and left to see"),
    ("chip recovered", "given, and hidden from the methods"),
    ("chip add", "new: given by nobody"),
    ("chip doubt", "given, and not among the tags after"),
)


def picture_cards(found: Mapping[str, Any], document: Mapping[str, Any], *, pictures: Path) -> str:
    """Return the pictures with their tags as given and as each method would give them."""
    root = open_collection(pictures, verify=False).images_root
    own = document["data"]["name"] in (pictures.name, pictures.parent.name)
    note = (
        ""
        if own
        else f"{document['data']['title']} has no pictures; these are the drawings that come with "
        "sugartag. "
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


def _card(one: Mapping[str, Any], methods: Iterable[str], root: str | None) -> str:
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
