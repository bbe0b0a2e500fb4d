"""The JSON API: all that the pages do, for programs. Its description is /api/openapi.json."""

from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query
from pydantic import BaseModel, ConfigDict, Field

from sugartag.changes.browsing import Facet
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.deciding import Decided
from sugartag.changes.searching import search
from sugartag.changes.selecting import Selection
from sugartag.errors import CollectionError
from sugartag.web.accounts import may
from sugartag.web.explaining import why
from sugartag.web.queries import last_decision, plain_tags, reviewer_of
from sugartag.web.sessions import Session
from sugartag.web.site import Admin, Anybody, Reviewer, Site, ThisSite, Viewer
from sugartag.web.views import LONGEST, Asked, Probability, View

router = APIRouter(prefix="/api")
MOST_AT_ONCE = 5000
"""Proposals that one press accepts, at most."""
MOST_LISTED = 200
Limit = Annotated[int, Query(ge=1, le=MOST_LISTED)]
Answer = dict[str, Any]


class DecisionBody(BaseModel):
    """A verdict about one tag of one image."""

    model_config = ConfigDict(extra="forbid")

    image_id: str = Field(min_length=1, max_length=1000)
    tag: str = Field(min_length=1, max_length=LONGEST)
    verdict: Literal["accept", "reject", "skip"]
    expected: int | None = Field(default=None, ge=0)
    """The version that was seen; if somebody decided since, the answer is 409."""


class AboveBody(BaseModel):
    """All undecided additions of a tag from a probability on."""

    model_config = ConfigDict(extra="forbid")

    tag: str = Field(min_length=1, max_length=LONGEST)
    line: Probability
    owner: str | None = Field(default=None, max_length=LONGEST)
    group: str | None = Field(default=None, max_length=LONGEST)
    run: str | None = Field(default=None, max_length=LONGEST)
    untagged: bool = False


class UndoBody(BaseModel):
    """Which decision is taken back; without a number, one's own last."""

    model_config = ConfigDict(extra="forbid")

    decision: int | None = Field(default=None, ge=1)


@router.get("/session", summary="Who this is, and the token that changes need")
def read_session(session: Anybody) -> Answer:
    """Send ``csrf`` as the header ``X-CSRF-Token`` with every POST, unless by a bearer token."""
    return {"name": session.name, "role": session.role, "csrf": session.csrf}


@router.get("/proposals", summary="A page of proposals, the most probable first")
def read_proposals(site: ThisSite, _: Viewer, view: Asked, limit: Limit = 60) -> Answer:
    """Doubts come by rising probability."""
    page = site.catalogue.proposals(view.selection(), cursor=view.cursor, limit=limit)
    return {"proposals": [asdict(one) for one in page.proposals], "cursor": page.cursor}


@router.get("/counts", summary="How many proposals lie on either side of the line")
def read_counts(site: ThisSite, _: Viewer, view: Asked) -> Answer:
    """``open`` are those that nobody accepted or rejected."""
    return counts_at_line(site.catalogue, view)


@router.get("/histogram", summary="How many proposals lie in each band of probability")
def read_histogram(
    site: ThisSite, _: Viewer, view: Asked, bands: Annotated[int, Query(ge=1, le=100)] = 20
) -> Answer:
    """Return counts of bands of equal width, from 0 to 1."""
    return {"bands": site.catalogue.histogram(view.selection(state="any"), bands=bands)}


@router.get("/facets/{facet}", summary="Tags, owners or groups with the most proposals")
def read_facets(site: ThisSite, _: Viewer, view: Asked, facet: Facet, limit: Limit = 50) -> Answer:
    """Return counts of the whole run, narrowed by the filters."""
    selection = view.selection(state="any")
    return {"facets": [asdict(one) for one in site.catalogue.facets(facet, selection, limit=limit)]}


@router.get("/runs", summary="The runs of proposals, the latest first")
def read_runs(site: ThisSite, _: Viewer) -> Answer:
    """Return all runs; the latest is shown where no run is named."""
    return {"runs": [asdict(one) for one in site.catalogue.runs()]}


@router.get("/tags", summary="Tags that begin like this, the most used first")
def read_tags(
    site: ThisSite,
    _: Viewer,
    beginning: Annotated[str, Query(max_length=LONGEST)] = "",
    limit: Limit = 20,
) -> Answer:
    """For completing what somebody types."""
    uses = site.catalogue.tag_uses(beginning=beginning, limit=limit)
    return {"tags": [{"tag": tag, "n": n} for tag, n in uses]}


@router.get("/images/{image}", summary="One image: its tags and what is proposed for it")
def read_image(site: ThisSite, _: Viewer, image: int, view: Asked) -> Answer:
    """``image`` is its number; ``others`` are tags of it that no proposal is about."""
    record = site.catalogue.image_numbered(image)
    about = Selection(("add", "keep", "doubt"), image=record.image_id, run=view.run)
    found = site.catalogue.proposals(about, limit=MOST_LISTED).proposals
    shown = {key: value for key, value in asdict(record).items() if key != "path"}
    others = plain_tags(site.catalogue, record.image, (one.tag for one in found))
    return {
        **shown,
        "proposals": [asdict(one) for one in found],
        "others": [asdict(one) for one in others],
    }


@router.get("/images/{image}/why", summary="What a proposal follows from")
def read_why(
    site: ThisSite,
    _: Viewer,
    image: int,
    tag: Annotated[str, Query(min_length=1, max_length=LONGEST)],
    run: Annotated[str | None, Query(max_length=LONGEST)] = None,
) -> Answer:
    """Shares add up to 1 over the kinds of evidence."""
    record = site.catalogue.image_numbered(image)
    asked = Selection(("add", "keep", "doubt"), image=record.image_id, tag=tag, run=run)
    found = site.catalogue.proposals(asked, limit=1).proposals
    if not found:
        raise HTTPException(404, f"nothing is proposed about {tag!r} for this image")
    return asdict(why(site.catalogue, site.explainer(found[0].run_id), found[0]))


@router.get("/search", summary="Images that a query finds, the most probable first")
def read_search(
    site: ThisSite,
    _: Viewer,
    q: Annotated[str, Query(max_length=1000)],
    run: Annotated[str | None, Query(max_length=LONGEST)] = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Limit = 60,
) -> Answer:
    """For example ``beach AND NOT (people OR blurry) owner:anna score>0.6 is:untagged``."""
    return asdict(search(site.catalogue, q, run=run, offset=offset, limit=limit))


@router.get("/decisions", summary="The log of decisions after a number")
def read_decisions(
    site: ThisSite, _: Viewer, after: Annotated[int, Query(ge=0)] = 0, limit: Limit = 100
) -> Answer:
    """``last`` is the number of the last decision of all."""
    last = last_decision(site.catalogue)
    found = site.catalogue.decision_log(after=after)[:limit] if last > after else []
    return {"decisions": [decided(site.catalogue, one) for one in found], "last": last}


@router.post("/decisions", summary="Accept, reject or skip a tag of an image")
def add_decision(site: ThisSite, reviewer: Reviewer, body: DecisionBody) -> Answer:
    """Keep a verdict about the tag: ``reject`` confirms a doubt."""
    made = site.catalogue.decide(
        body.image_id, body.tag, body.verdict, reviewer=reviewer.name, expected=body.expected
    )
    return decided(site.catalogue, made)


@router.post("/decisions/above", summary="Accept all undecided additions above the line")
def accept_above(site: ThisSite, reviewer: Reviewer, body: AboveBody) -> Answer:
    """They are one batch, that one undo takes back."""
    view = View(**body.model_dump())
    made = accepted_above(site.catalogue, view, reviewer)
    return {"n": len(made), "decision": made[0].decision if made else None}


@router.post("/undo", summary="Take a decision back, and what was decided together with it")
def undo(site: ThisSite, reviewer: Reviewer, body: UndoBody) -> Answer:
    """Let stand again what stood before."""
    return {"undone": undone(site, reviewer, body.decision)}


@router.get("/learn", summary="How far the learning from decisions is")
def read_learned(site: ThisSite, _: Viewer) -> Answer:
    """``state`` is idle, running, done or failed."""
    return asdict(_learner(site).learned)


@router.post("/learn", status_code=202, summary="Learn from the decisions")
def learn(site: ThisSite, _: Admin) -> Answer:
    """Begin in the background; ask GET /api/learn how far it is."""
    return asdict(_learner(site).start())


def counts_at_line(catalogue: Catalogue, view: View) -> dict[str, int]:
    """Return how many proposals lie above and below the line, and how many of them are open."""
    whole = view.selection(state="any")
    above = replace(whole, least=max(view.line, view.least))
    n, n_above = catalogue.count(whole), catalogue.count(above)
    decided_all = catalogue.count(replace(whole, state="decided"))
    decided_above = catalogue.count(replace(above, state="decided"))
    return {
        "above": n_above,
        "above_open": n_above - decided_above,
        "below": n - n_above,
        "below_open": n - n_above - (decided_all - decided_above),
    }


def accepted_above(catalogue: Catalogue, view: View, session: Session) -> list[Decided]:
    """Accept the additions of a tag from the line on that nobody decided or skipped."""
    asked = view.selection(actions=("add",), state="undecided", least=max(view.line, view.least))
    page = catalogue.proposals(asked, limit=MOST_AT_ONCE).proposals
    if not page:
        return []
    return catalogue.decide_all(
        [(one.image_id, one.tag, "accept") for one in page],
        reviewer=session.name,
        expected=[one.version for one in page],
    )


def undone(site: Site, session: Session, decision: int | None) -> list[Answer]:
    """Take back one's own decision; an admin may take back anybody's."""
    if decision is not None and not may(session.role, "admin"):
        by = reviewer_of(site.catalogue, decision)
        if by is not None and by != session.name:
            raise HTTPException(403, f"decision {decision} is by {by}; only an admin may undo it")
    made = site.catalogue.undo_decision(decision, reviewer=session.name)
    return [decided(site.catalogue, one) for one in made]


def decided(catalogue: Catalogue, one: Decided) -> Answer:
    """Return a row of the log, with what stands after it."""
    verdict, version = catalogue.standing(one.image_id, one.tag)
    return {**asdict(one), "standing": verdict, "version": version}


def _learner(site: Site) -> Any:
    if site.learner is None:
        raise CollectionError("there is no model to learn with; start the server with --model")
    return site.learner
