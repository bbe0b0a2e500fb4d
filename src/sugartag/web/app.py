"""The application: routes, the guard around them, and errors as one line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from importlib.resources import files
from urllib.parse import urlencode

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from sugartag.errors import CollectionError, ConflictError, SettingsError, SugartagError
from sugartag.web import actions, api, pages
from sugartag.web.guard import Guard
from sugartag.web.rendering import rendered
from sugartag.web.site import Site, Viewer
from sugartag.web.views import View

THREADS = 8
"""Requests that are worked on at the same time: each thread has a cache of the catalogue."""
STATIC = {"review.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
STATIC_SECONDS = 300
STATUS: tuple[tuple[type[SugartagError], int], ...] = (
    (ConflictError, 409),
    (CollectionError, 404),
    (SettingsError, 400),
)
DESCRIPTION = (
    "Proposals, decisions, reasons and search of a photo collection. Requests that change "
    "something need the header X-CSRF-Token, which GET /api/session gives, or a bearer token."
)


def make_app(site: Site) -> FastAPI:
    """Return the application of a site."""
    app = FastAPI(
        title="sugartag",
        version=metadata.version("sugartag"),
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan,
    )
    app.state.site = site
    app.include_router(api.router)
    app.include_router(pages.router)
    app.include_router(actions.router)
    _add_descriptions(app)
    app.add_exception_handler(SugartagError, _fault)
    app.add_exception_handler(HTTPException, _refusal)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(Guard, rules=site.rules, sessions=site.sessions, accounts=site.accounts)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
    site: Site = app.state.site
    await anyio.to_thread.run_sync(pages.prepare, site)
    yield
    if site.learner is not None:
        site.learner.stop()


def _add_descriptions(app: FastAPI) -> None:
    """Add the files of the pages, and the API's description for programs and for people."""
    read = {name: (files("sugartag.web") / "static" / name).read_bytes() for name in STATIC}

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in read:
            raise HTTPException(404, "there is no such file")
        kept = {"Cache-Control": f"max-age={STATIC_SECONDS}"}
        return Response(read[name], media_type=STATIC[name], headers=kept)

    @app.get("/api/openapi.json", include_in_schema=False)
    async def openapi(_: Viewer) -> JSONResponse:
        return JSONResponse(app.openapi())

    @app.get("/api", include_in_schema=False)
    async def described(request: Request, _: Viewer) -> Response:
        return rendered(request, "api.html", view=View(), described=app.openapi())


async def _fault(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUS if isinstance(error, kind)), 500)
    return _said(request, status, str(error))


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    is_page = not request.url.path.startswith(("/api/", "/pictures/"))
    if error.status_code == 401 and is_page and request.method == "GET":
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/login?{urlencode({'back': here})}", 303)
    return _said(request, error.status_code, str(error.detail))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return _said(request, 422, f"{where}: {first['msg']}" if where else str(first["msg"]))


def _said(request: Request, status: int, message: str) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": message}, status)
    return rendered(
        request, "message.html", status, view=View(), status_code=status, message=message
    )
