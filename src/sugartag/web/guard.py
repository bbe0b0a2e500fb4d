"""What every request passes before anything else sees it.

In this order: the Host header names this server; a request that changes something does not come
from another site; its body is of a known kind and not too large; it belongs to a session, and
carries the session's token if it changes something. Every answer gets the security headers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote, unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sugartag.web.accounts import LONGEST_NAME, Accounts
from sugartag.web.sessions import Session, Sessions

LARGEST_BODY = 256 << 10
MOST_FIELDS = 50
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
FORM = "application/x-www-form-urlencoded"
KINDS = {FORM, "application/json"}
NAME_SECONDS = 365 * 24 * 3600
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True)
class Rules:
    """What a server accepts."""

    hosts: frozenset[str]
    """Names and addresses, in lower case and without a port, that it may be called by."""
    default_name: str = "reviewer"
    """Who decides, where nobody signs in and nobody gave a name."""
    https: bool = False
    """Whether browsers reach it by HTTPS: cookies are then sent by that alone."""
    cookie: str = "sugartag"

    @property
    def session_cookie(self) -> str:
        """The name of the session's cookie; with HTTPS, one that no other host can set."""
        return f"__Host-{self.cookie}" if self.https else self.cookie

    @property
    def name_cookie(self) -> str:
        """The name of the cookie that keeps a reviewer's name, where nobody signs in."""
        return f"{self.cookie}-name"

    def set_cookie(self, name: str, value: str, *, seconds: int | None = None) -> str:
        """Return the header that sets a cookie: not for scripts, not for other sites."""
        age = "" if seconds is None else f"; Max-Age={seconds}"
        secure = "; Secure" if self.https else ""
        return f"{name}={quote(value, safe='')}; Path=/; HttpOnly; SameSite=Lax{age}{secure}"


class Guard:
    """Turns away what must not come in, and gives each request its session."""

    def __init__(
        self, app: ASGIApp, *, rules: Rules, sessions: Sessions, accounts: Accounts
    ) -> None:
        self._app, self._rules = app, rules
        self._sessions, self._accounts = sessions, accounts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        sent = _with_headers(send)
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        body = b"" if refused else await _body(receive, headers)
        if body is None:
            refused = PlainTextResponse(
                f"a request may have {LARGEST_BODY:,} bytes; send less at once", 413
            )
        if refused is None:
            session, is_new = self._session(headers)
            refused = self._without_token(scope, headers, body or b"", session)
            scope.setdefault("state", {})["session"] = session
            if is_new:
                cookie = self._rules.set_cookie(self._rules.session_cookie, session.key)
                sent = _with_headers(send, cookie)
        await (refused or self._app)(scope, _again(body or b"", receive), sent)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a request that must not come in at all."""
        host = _host(headers.get("host", ""))
        if host not in self._rules.hosts:
            return PlainTextResponse(
                "this server is not called by that name; start it with --allow-host", 421
            )
        if scope["method"] in SAFE_METHODS:
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if site not in {None, "same-origin", "none"} or (
            origin is not None and urlsplit(origin).netloc.lower() != headers["host"].lower()
        ):
            return PlainTextResponse("this request comes from another site", 403)
        kind = headers.get("content-type", FORM).partition(";")[0].strip().lower()
        if kind not in KINDS:
            return PlainTextResponse(f"send one of: {', '.join(sorted(KINDS))}", 415)
        return None

    def _session(self, headers: Headers) -> tuple[Session, bool]:
        """Return the session of a request, and whether it began with it."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and len(self._accounts):
            account = self._accounts.with_this_token(token.strip())
            if account is not None:
                return Session(account.name, account.role), False
        cookies = _cookies(headers)
        found = self._sessions.get(cookies.get(self._rules.session_cookie, ""))
        if found is not None:
            return found, False
        if len(self._accounts):
            return self._sessions.start("", None), True
        chosen = cookies.get(self._rules.name_cookie, "").strip()[:LONGEST_NAME]
        name = chosen if chosen.isprintable() and chosen else self._rules.default_name
        return self._sessions.start(name, "admin"), True

    def _without_token(
        self, scope: Scope, headers: Headers, body: bytes, session: Session
    ) -> Response | None:
        """Return the answer to a change that lacks the session's token."""
        if scope["method"] in SAFE_METHODS or self._is_by_program(session):
            return None
        token = headers.get("x-csrf-token") or form_of(body).get("csrf", "")
        if token.encode() == session.csrf.encode():
            return None
        return PlainTextResponse("the page is too old, or not of this server; load it again", 403)

    def _is_by_program(self, session: Session) -> bool:
        """Tell whether a request proved who it is by itself: no cookie was needed for it."""
        return self._sessions.get(session.key) is None


def form_of(body: bytes) -> Mapping[str, str]:
    """Return the fields of a form; of those that are there twice, the last."""
    try:
        read = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except (UnicodeDecodeError, ValueError):
        return {}
    return {name: values[-1] for name, values in read.items()}


def _host(header: str) -> str:
    """Return the name of a Host header, without its port."""
    if header.startswith("["):
        return header.partition("]")[0].lower() + "]"
    return header.partition(":")[0].lower()


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        read = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return {}
    return {name: unquote(one.value) for name, one in read.items()}


async def _body(receive: Receive, headers: Headers) -> bytes | None:
    """Return the whole body, or None if it is too large."""
    announced = headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > LARGEST_BODY:
        return None
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            return None
        more = message.get("more_body", False)
    return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and then what comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send, cookie: str | None = None) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
            if cookie is not None:
                headers.append("Set-Cookie", cookie)
        await send(message)

    return sent
