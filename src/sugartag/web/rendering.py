"""Templates: every text that comes from a collection is escaped, wherever it stands."""

from functools import cache
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from sugartag.changes.plans import counted
from sugartag.web.accounts import may
from sugartag.web.sessions import Session
from sugartag.web.site import Site

SOURCES = {
    "person": "given by the owner",
    "import": "came with the picture",
    "model": "added by sugartag",
    "reviewer": "added in a review",
}
STANDING = {"accept": "yes", "reject": "no", "skip": "skipped"}


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("sugartag.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["percent"] = percent
    made.filters["counted"] = counted
    made.filters["capitalized"] = capitalized
    made.globals.update(SOURCES=SOURCES, STANDING=STANDING, may=may, query=urlencode)
    return made


def percent(share: float) -> str:
    """Return a probability as people write it; certainty only where it is certain."""
    shown = round(100 * share)
    if shown == 100 and share < 1:
        return "over 99 %"
    return f"{shown} %"


def capitalized(text: str) -> str:
    """Return a text with a capital at its beginning; what follows stays as it is."""
    return text[:1].upper() + text[1:]


def rendered(
    request: Request, template: str, status: int = 200, *, kind: str = "text/html", **known: Any
) -> HTMLResponse:
    """Return a page."""
    site: Site = request.app.state.site
    session: Session = request.state.session
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    text = (
        _environment()
        .get_template(template)
        .render(site=site, session=session, here=here, path=request.url.path, **known)
    )
    return HTMLResponse(text, status, media_type=kind)
