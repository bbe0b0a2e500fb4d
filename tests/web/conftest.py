"""A site that is served over loopback, and a client that has its token."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from browsers import chromium
from sugartag.web.site import Site
from web_sites import Running, made_site, running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(made_site(tmp_path)) as found:
        yield found


@pytest.fixture
def site(server: Running) -> Site:
    return server.site


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    """A browser's session with the token in its header."""
    with httpx.Client(base_url=server.url, timeout=60) as made:
        made.headers["X-CSRF-Token"] = made.get("/api/session").json()["csrf"]
        yield made


@pytest.fixture
def decide(client: httpx.Client) -> Callable[..., httpx.Response]:
    def decided(image_id: str, tag: str, verdict: str, **more: object) -> httpx.Response:
        body = {"image_id": image_id, "tag": tag, "verdict": verdict, **more}
        return client.post("/api/decisions", json=body)

    return decided
