"""The pages to look at and to decide on; every one works without a script."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from sugartag.changes.browsing import Facet, FacetCount, Proposal
from sugartag.changes.searching import search
from sugartag.changes.selecting import Selection
from sugartag.errors import CollectionError, SugartagError
from sugartag.web.api import counts_at_line
from sugartag.web.explaining import why
from sugartag.web.queries import (
    covers,
    decided_by_tag,
    last_decision,
    n_answers,
    n_newer,
    path_of,
    plain_tags,
    shown,
    totals,
)
from sugartag.web.rendering import rendered
from sugartag.web.site import Site, ThisSite, Viewer
from sugartag.web.views import Asked, View

router = APIRouter(include_in_schema=False)
CARDS = 60
TILES = 48
OTHERS = 12
"""Owners and groups that are listed at first."""
MOST_OF_AN_IMAGE = 200
N_BANDS = 40
BANDS = ((0.9, 1.0), (0.7, 0.9), (0.5, 0.7), (0.0, 0.5))
THUMBNAIL_SECONDS = 3600


@router.get("/")
def overview(request: Request, site: ThisSite, _: Viewer, view: Asked) -> HTMLResponse:
    """Show the tags that have proposals, each with its most certain picture."""
    catalogue = site.catalogue
    run = catalogue.run_number(view.run)
    tags = _tags(site, view, run)
    return rendered(
        request,
        "overview.html",
        view=view,
        tags=tags,
        covers=covers(catalogue, run, [one.name for one in tags], view.action),
        totals=totals(catalogue, run),
        facets=_facets(site, view),
        sizes=catalogue.sizes(),
    )


@router.get("/tag")
def by_tag(request: Request, site: ThisSite, _: Viewer, view: Asked) -> Response:
    """Show the pictures that one tag is proposed for, or to be checked for."""
    if view.tag is None:
        return RedirectResponse(view.link("/"), 303)
    catalogue = site.catalogue
    # Read before the proposals: what is decided in between is then seen twice, not never.
    last = last_decision(catalogue)
    page = catalogue.proposals(view.selection(), cursor=view.cursor, limit=CARDS)
    return rendered(
        request,
        "tag.html",
        view=view,
        page=page,
        pictures=shown(catalogue, [one.image for one in page.proposals]),
        counts=counts_at_line(catalogue, view),
        bands=_bands(site, view),
        facets=_facets(site, view, of_tag=True),
        last=last,
    )


@router.get("/next")
def next_picture(
    site: ThisSite,
    _: Viewer,
    view: Asked,
    after: Annotated[int, Query(ge=0)] = 0,
    back: bool = False,
) -> RedirectResponse:
    """Lead to the next picture with something to decide, from the first on after the last."""
    asked = Selection(run=view.run, state="open")
    start = after if not back or after else 2**62
    found = site.catalogue.next_image(start, asked, backwards=back)
    if found is None and after:
        found = site.catalogue.next_image(2**62 if back else 0, asked, backwards=back)
    if found is None:
        return RedirectResponse(view.link("/"), 303)
    return RedirectResponse(view.link(f"/picture/{found.image}", at=None), 303)


@router.get("/picture/{image}")
def by_picture(
    request: Request, site: ThisSite, _: Viewer, image: int, view: Asked
) -> HTMLResponse:
    """Show one picture with its tags: kept, proposed, to be checked."""
    catalogue = site.catalogue
    last = last_decision(catalogue)
    record = catalogue.image_numbered(image)
    about = Selection(("add", "doubt", "keep"), image=record.image_id, run=view.run)
    proposals = catalogue.proposals(about, limit=MOST_OF_AN_IMAGE).proposals
    return rendered(
        request,
        "picture.html",
        view=view,
        record=record,
        proposed=[one for one in proposals if one.action == "add"],
        doubted=[one for one in proposals if one.action == "doubt"],
        kept=[one for one in proposals if one.action == "keep"],
        others=plain_tags(catalogue, record.image, (one.tag for one in proposals)),
        last=last,
    )


@router.get("/picture/{image}/why")
def reason(
    request: Request,
    site: ThisSite,
    _: Viewer,
    image: int,
    view: Asked,
) -> HTMLResponse:
    """Show why a tag is proposed, with the pictures that speak for it."""
    record = site.catalogue.image_numbered(image)
    proposal = _proposal(site, record.image_id, view)
    found = why(site.catalogue, site.explainer(proposal.run_id), proposal)
    return rendered(request, "why.html", view=view, record=record, why=found)


def _proposal(site: Site, image_id: str, view: View) -> Proposal:
    asked = Selection(("add", "keep", "doubt"), image=image_id, tag=view.tag or "", run=view.run)
    found = site.catalogue.proposals(asked, limit=1).proposals
    if not found:
        raise CollectionError(f"nothing is proposed about {view.tag!r} for image {image_id!r}")
    return found[0]


@router.get("/search")
def find(
    request: Request,
    site: ThisSite,
    _: Viewer,
    view: Asked,
    q: Annotated[str, Query(max_length=1000)] = "",
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> HTMLResponse:
    """Show what a query finds, the most probable first."""
    found, fault = None, ""
    if q.strip():
        try:
            found = search(site.catalogue, q, run=view.run, offset=offset, limit=CARDS)
        except SugartagError as error:
            fault = str(error)
    pictures = shown(site.catalogue, [hit.image for hit in found.hits] if found else [])
    more = offset + CARDS if found and found.total > offset + CARDS else None
    return rendered(
        request,
        "search.html",
        400 if fault else 200,
        view=view,
        q=q,
        offset=offset,
        found=found,
        fault=fault,
        more=more,
        pictures=pictures,
    )


@router.get("/learn")
def learning(request: Request, site: ThisSite, _: Viewer, view: Asked) -> HTMLResponse:
    """Show how far the learning is, or what it changed."""
    learned = None if site.learner is None else site.learner.learned
    return rendered(
        request,
        "learn.html",
        view=view,
        learned=learned,
        folder=None if site.learner is None else site.learner.folder.name,
        n_answers=n_answers(site.catalogue),
        n_newer=0 if learned is None else n_newer(site.catalogue, learned.last_decision),
    )


@router.get("/help")
def help_page(request: Request, _: Viewer, view: Asked) -> HTMLResponse:
    """Show the keys and the words of a search."""
    return rendered(request, "help.html", view=view)


@router.get("/pictures/{image}/{size}")
def picture(request: Request, site: ThisSite, _: Viewer, image: int, size: str) -> Response:
    """Send a thumbnail, by number."""
    data = site.pictures.thumbnail(path_of(site.catalogue, image), size)
    if data is None:
        return rendered(request, "missing.svg", 404, kind="image/svg+xml")
    kept = {"Cache-Control": f"private, max-age={THUMBNAIL_SECONDS}"}
    return Response(data, media_type="image/webp", headers=kept)


def prepare(site: Site) -> None:
    """Ask what the first visitor will ask, so that nobody waits for it."""
    for view in (View(), View(action="doubt")):
        _tags(site, view, site.catalogue.run_number(None))
        _facets(site, view)


def _tags(site: Site, view: View, run: int | None) -> list[FacetCount]:
    """Return the tags with the most proposals, and how many of those are decided by now."""
    asked = view.selection(tag=None, state="any", run=view.run or site.catalogue.latest_run())
    if asked != Selection(asked.actions, run=asked.run):
        return site.catalogue.facets("tag", asked, limit=TILES)
    found = site.remembered.get(
        ("tag", asked), lambda: site.catalogue.facets("tag", asked, limit=TILES)
    )
    decided = decided_by_tag(site.catalogue, run, view.action)
    return [replace(one, n_decided=decided.get(one.name, 0)) for one in found]


def _facets(site: Site, view: View, *, of_tag: bool = False) -> dict[str, Any]:
    """Return what a view can be narrowed by."""
    return {
        "owner": _counted(site, view, "owner", of_tag=of_tag),
        "group": _counted(site, view, "group", of_tag=of_tag),
        "runs": site.catalogue.runs("suggest")[:OTHERS],
        "bands": BANDS,
    }


def _counted(site: Site, view: View, facet: Facet, *, of_tag: bool) -> list[FacetCount]:
    """Return owners or groups with their numbers of proposals, which no decision changes."""
    run = view.run or site.catalogue.latest_run()
    narrowed = view.selection(state="any", tag=view.tag if of_tag else None, run=run)
    return site.remembered.get(
        (facet, narrowed), lambda: site.catalogue.facets(facet, narrowed, limit=OTHERS)
    )


def _bands(site: Site, view: View) -> list[int]:
    """Return how many proposals there are in each band of probability, decided or not."""
    asked = view.selection(state="any", run=view.run or site.catalogue.latest_run())
    return site.remembered.get(
        ("bands", asked), lambda: site.catalogue.histogram(asked, bands=N_BANDS)
    )
