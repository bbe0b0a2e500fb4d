"""What forms do: decide, undo, learn, apply, sign in. Each ends by leading back to a page."""

from collections.abc import Mapping
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from sugartag.changes.applying import Wanted, apply_changes, plans
from sugartag.changes.undoing import Undoing
from sugartag.errors import SettingsError
from sugartag.web.accounts import LONGEST_NAME, LONGEST_PASSWORD
from sugartag.web.api import AboveBody, DecisionBody, accepted_above, undone
from sugartag.web.guard import NAME_SECONDS, form_of
from sugartag.web.rendering import rendered
from sugartag.web.site import Admin, Anybody, Reviewer, ThisSite, Viewer
from sugartag.web.views import Asked, View

router = APIRouter(include_in_schema=False)
MOST_PLANS = 200
"""Images that the difference lists before it is applied."""


async def _fields(request: Request) -> Mapping[str, str]:
    return form_of(await request.body())


Fields = Annotated[Mapping[str, str], Depends(_fields)]


def back_to(fields: Mapping[str, str], otherwise: str = "/") -> str:
    """Return the page of this site that a form came from; never one of another site."""
    back = fields.get("back", "")
    # Browsers take a backslash for a slash, and leave out tabs and line ends.
    is_path = back.startswith("/") and not back.startswith(("//", "/\\"))
    return back if is_path and back.isprintable() else otherwise


@router.post("/decide")
def decide(site: ThisSite, reviewer: Reviewer, fields: Fields) -> RedirectResponse:
    """Accept, reject or skip one tag of one image."""
    names = ("image_id", "tag", "verdict", "expected")
    try:
        body = DecisionBody.model_validate({name: fields.get(name) for name in names})
    except ValidationError as error:
        raise SettingsError("the form lacks an image, a tag or a verdict") from error
    site.catalogue.decide(
        body.image_id, body.tag, body.verdict, reviewer=reviewer.name, expected=body.expected
    )
    return RedirectResponse(back_to(fields), 303)


@router.post("/decide-above")
def decide_above(site: ThisSite, reviewer: Reviewer, fields: Fields) -> RedirectResponse:
    """Accept all additions of a tag above the line."""
    try:
        given = {name: fields[name] for name in AboveBody.model_fields if fields.get(name)}
        body = AboveBody.model_validate(given)
    except ValidationError as error:
        raise SettingsError("the form lacks a tag or a line") from error
    accepted_above(site.catalogue, View(**body.model_dump()), reviewer)
    return RedirectResponse(back_to(fields), 303)


@router.post("/undo")
def undo(site: ThisSite, reviewer: Reviewer, fields: Fields) -> RedirectResponse:
    """Take back one's own last decision."""
    undone(site, reviewer, None)
    return RedirectResponse(back_to(fields), 303)


@router.post("/learn")
def learn(site: ThisSite, _: Admin) -> RedirectResponse:
    """Learn from the decisions, in the background."""
    if site.learner is None:
        raise SettingsError("there is no model to learn with; start the server with --model")
    site.learner.start()
    return RedirectResponse("/learn", 303)


@router.get("/apply")
def show_plan(
    request: Request, site: ThisSite, _: Viewer, view: Asked, sidecars: bool = False
) -> HTMLResponse:
    """Show what would be changed, and what was."""
    wanted = Wanted(sidecars=sidecars)
    listed = list(islice(plans(site.catalogue, wanted), MOST_PLANS))
    return rendered(
        request,
        "apply.html",
        view=view,
        plans=listed,
        most=MOST_PLANS,
        sidecars=sidecars,
        has_root=site.catalogue.fact("images_root") is not None,
        runs=[run for run in site.catalogue.runs() if run.kind != "suggest"],
        pending=sum(1 for _ in site.catalogue.pending()),
        outcome=None,
        problems=(),
    )


@router.post("/apply")
def apply(request: Request, site: ThisSite, admin: Admin, fields: Fields) -> HTMLResponse:
    """Write what was decided into the catalogue and, if asked, into sidecars."""
    wanted = Wanted(sidecars=fields.get("sidecars") == "1")
    outcomes = apply_changes(site.catalogue, wanted, by=admin.name)
    done = [str(one) for one in outcomes if one.run_id is not None]
    problems = [line for one in outcomes for line in one.problems]
    return _applied(request, site, done or ["there was nothing to apply"], problems)


@router.post("/apply/undo")
def undo_run(request: Request, site: ThisSite, _: Admin, fields: Fields) -> HTMLResponse:
    """Take back a run of changes."""
    taken = Undoing(site.catalogue).undo(fields.get("run_id", ""))
    return _applied(request, site, [f"{taken} undone"], [*taken.conflicts, *taken.problems])


def _applied(
    request: Request, site: ThisSite, done: list[str], problems: list[str]
) -> HTMLResponse:
    return rendered(
        request,
        "apply.html",
        view=View(),
        plans=list(islice(plans(site.catalogue, Wanted()), MOST_PLANS)),
        most=MOST_PLANS,
        sidecars=False,
        has_root=site.catalogue.fact("images_root") is not None,
        runs=[run for run in site.catalogue.runs() if run.kind != "suggest"],
        pending=sum(1 for _ in site.catalogue.pending()),
        outcome=done,
        problems=problems,
    )


@router.get("/login")
def login_page(request: Request, site: ThisSite, view: Asked, back: str = "/") -> HTMLResponse:
    """Ask for name and password."""
    return rendered(request, "login.html", view=view, back=back_to({"back": back}), fault="")


@router.post("/login")
def login(request: Request, site: ThisSite, session: Anybody, fields: Fields) -> Response:
    """Sign in, unless there were too many wrong passwords."""
    name, password = fields.get("name", "")[:LONGEST_NAME], fields.get("password", "")
    address, back = request.client.host if request.client else "", back_to(fields)
    wait = site.guesses.wait(name, address)
    if wait:
        fault = f"Too many wrong passwords. Try again in {wait} seconds."
        answer = rendered(request, "login.html", 429, view=View(), back=back, fault=fault)
        answer.headers["Retry-After"] = str(wait)
        return answer
    account = site.accounts.signed_in(name, password[: LONGEST_PASSWORD + 1])
    if account is None:
        fault = "This name and password do not go together."
        return rendered(request, "login.html", 401, view=View(), back=back, fault=fault)
    site.guesses.right(name, address)
    # Under a new key: one that somebody else put into the browser is worth nothing then.
    site.sessions.end(session.key)
    begun = site.sessions.start(account.name, account.role)
    signed_in = RedirectResponse(back, 303)
    cookie = site.rules.set_cookie(site.rules.session_cookie, begun.key)
    signed_in.headers.append("Set-Cookie", cookie)
    return signed_in


@router.post("/logout")
def logout(site: ThisSite, session: Anybody) -> RedirectResponse:
    """Sign out."""
    site.sessions.end(session.key)
    return RedirectResponse("/login", 303)


@router.post("/name")
def rename(site: ThisSite, session: Reviewer, fields: Fields) -> RedirectResponse:
    """Say who decides, where nobody signs in."""
    name = fields.get("name", "").strip()
    if len(site.accounts):
        raise HTTPException(403, "your name is the one that you signed in with")
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise SettingsError(f"a name has 1 to {LONGEST_NAME} characters")
    session.name = name
    answer = RedirectResponse(back_to(fields), 303)
    cookie = site.rules.set_cookie(site.rules.name_cookie, name, seconds=NAME_SECONDS)
    answer.headers.append("Set-Cookie", cookie)
    return answer
