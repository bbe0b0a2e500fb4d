"""All that the pages work with, and who may ask for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, HTTPException, Request

from sugartag.changes.catalogue import Catalogue
from sugartag.web.accounts import Accounts, Role, may
from sugartag.web.explaining import Explainer
from sugartag.web.guard import Rules
from sugartag.web.learning import Learner
from sugartag.web.pictures import Pictures
from sugartag.web.remembering import Remembered
from sugartag.web.sessions import GuessLimit, Session, Sessions


@dataclass(frozen=True, eq=False)
class Site:
    """One catalogue as a site."""

    name: str
    """What the collection is called."""
    catalogue: Catalogue
    pictures: Pictures
    accounts: Accounts
    """Where there are none, everybody who reaches the server may do everything."""
    rules: Rules
    sessions: Sessions
    guesses: GuessLimit
    remembered: Remembered = field(default_factory=Remembered)
    """Counts of runs."""
    learner: Learner | None = None
    """None where there is no model."""

    def explainer(self, run_id: str) -> Explainer | None:
        """Return what says why a run proposed something; None where there is no model."""
        return None if self.learner is None else self.learner.explainer(run_id)


async def site_of(request: Request) -> Site:
    """Return the site that a request is about."""
    return cast("Site", request.app.state.site)


async def session_of(request: Request) -> Session:
    """Return the session that the guard gave a request."""
    return cast("Session", request.state.session)


def needs(role: Role) -> Callable[[Request], Awaitable[Session]]:
    """Return what lets only people of a role in."""

    async def allowed(request: Request) -> Session:
        session = await session_of(request)
        if session.role is None:
            raise HTTPException(401, "sign in first")
        if not may(session.role, role):
            raise HTTPException(403, f"this needs the role {role}; yours is {session.role}")
        return session

    return allowed


ThisSite = Annotated[Site, Depends(site_of)]
Anybody = Annotated[Session, Depends(session_of)]
Viewer = Annotated[Session, Depends(needs("viewer"))]
Reviewer = Annotated[Session, Depends(needs("reviewer"))]
Admin = Annotated[Session, Depends(needs("admin"))]
