"""Images that a reason names, linked to where the page shows them."""

import hashlib
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from html import escape

from sugartag.pipeline.reasons import TITLES
from sugartag.report.content import Action, Picture

_CITED = re.compile(rf"({re.escape(TITLES['neighbour'])} \d+ % \()([^()]*)\)")


def anchor(image_id: str) -> str:
    """Return the id of an image's card: ids of images may hold anything, those of HTML may not."""
    return f"image-{hashlib.sha256(image_id.encode()).hexdigest()[:16]}"


def id_of(picture: Picture) -> str:
    """Return the attribute that makes a card findable, if its image has a name."""
    return f'id="{anchor(picture.image_id)}" ' if picture.image_id else ""


def reasons(picture: Picture, signs: Mapping[Action, str], known: AbstractSet[str]) -> str:
    """Return why tags are added or doubted, folded away."""
    items = "".join(
        f"<li><b>{signs[one.action]} {escape(one.tag)}</b> {linked(one.reason, known)}</li>"
        for one in picture.said("add", "doubt")
        if one.reason
    )
    return f'<details class="why"><summary>Why</summary><ul>{items}</ul></details>' if items else ""


def linked(reason: str, known: AbstractSet[str]) -> str:
    """Return a reason as HTML, with links to those of the images it names that are known."""
    found = _CITED.search(reason)
    if found is None:
        return escape(reason)
    names = ", ".join(_link(name, known) for name in found[2].split(", "))
    before, after = reason[: found.start(2)], reason[found.end(2) :]
    return f"{escape(before)}{names}{escape(after)}"


def _link(name: str, known: AbstractSet[str]) -> str:
    if name not in known:
        return escape(name)
    return f'<a href="#{anchor(name)}">{escape(name)}</a>'
