"""What must not get in, and what must not get out: each test fails without its protection."""

import io
import json
import stat
from contextlib import closing
from functools import cache

import anyio
import httpx
import pytest
from PIL import Image
from starlette.types import Message

from sugartag.changes.catalogue import Catalogue
from sugartag.errors import SettingsError, StorageError
from sugartag.pipeline.changes import Change
from sugartag.web.accounts import Accounts, load_accounts
from sugartag.web.app import make_app
from sugartag.web.guard import HEADERS, LARGEST_BODY, Guard, Rules
from sugartag.web.pictures import Pictures
from sugartag.web.serving import Address
from sugartag.web.sessions import GuessLimit, Sessions
from web_sites import RUN, made_site, running

SCRIPT = '"><script>alert(1)</script>'
BODY = {"image_id": "p0", "tag": "sea", "verdict": "accept"}
PASSWORD = "correct horse battery"


def raw(client: httpx.Client, method: str, path: str, **headers: str) -> httpx.Response:
    """Send a path as it is written, without tidying it."""
    request = client.build_request(method, "/", headers=headers)
    request.url = client.base_url.copy_with(raw_path=path.encode())
    return client.send(request)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One for all tests that only knock; those that get in decide about pictures of their own."""
    with running(made_site(tmp_path_factory.mktemp("site"))) as found:
        yield found


# Where a request comes from


def test_a_wrong_host_is_turned_away(client):
    answer = client.get("/", headers={"Host": "evil.example"})

    assert answer.status_code == 421
    assert "sea" not in answer.text


def test_a_name_that_was_allowed_is_let_in():
    rules = Address(names=("photos.example",)).rules()

    assert {"photos.example", "127.0.0.1", "localhost"} <= rules.hosts


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_forged_origin_changes_nothing(client, site, headers):
    answer = client.post("/api/decisions", json=BODY, headers=headers)

    assert answer.status_code == 403
    assert site.catalogue.standing("p0", "sea") == (None, 0)


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_change_without_the_sessions_token_is_refused(client, site, token):
    headers = {"X-CSRF-Token": token}
    for path in ("/api/decisions", "/decide"):
        assert client.post(path, json=BODY, headers=headers).status_code == 403

    assert site.catalogue.standing("p0", "sea") == (None, 0)


def test_no_route_that_changes_something_goes_without_the_token(client):
    described = client.get("/api/openapi.json").json()["paths"]
    forms = ["/decide", "/decide-above", "/undo", "/learn", "/apply", "/apply/undo", "/name"]
    paths = [path for path, methods in described.items() if "post" in methods]
    assert len(paths) >= 4

    for path in [*paths, *forms, "/login", "/logout"]:
        assert client.post(path, headers={"X-CSRF-Token": "no"}).status_code == 403, path


def test_a_body_of_a_kind_that_other_sites_can_send_is_refused(client):
    answer = client.post(
        "/api/decisions", content=json.dumps(BODY), headers={"Content-Type": "text/plain"}
    )

    assert answer.status_code == 415


# How much


def test_an_oversized_body_is_refused_before_it_is_read(client):
    answer = client.post("/decide", content=b"x" * (LARGEST_BODY + 1))

    assert answer.status_code == 413


def test_a_body_that_is_announced_as_too_large_is_not_read_at_all(site):
    async def received() -> Message:
        raise AssertionError("the body was read")

    answers: list[Message] = []

    async def sent(message: Message) -> None:
        answers.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-length", b"%d" % (LARGEST_BODY + 1))]
    scope = {"type": "http", "method": "POST", "path": "/decide", "headers": headers}
    guard = Guard(make_app(site), rules=site.rules, sessions=site.sessions, accounts=site.accounts)
    anyio.run(guard, scope, received, sent)

    assert answers[0]["status"] == 413


def test_an_oversized_body_of_unknown_length_is_refused(client):
    parts = (b"x" * 65536 for _ in range(LARGEST_BODY // 65536 + 2))

    assert client.post("/decide", content=parts).status_code == 413


def test_lists_and_queries_are_bounded(client):
    assert client.get("/api/proposals?limit=100000").status_code == 422
    assert client.get("/search", params={"q": "x" * 1001}).status_code == 422


# Pictures


@pytest.mark.parametrize(
    "path",
    [
        "/pictures/../../../etc/passwd",
        "/pictures/..%2f..%2fetc%2fpasswd/grid",
        "/pictures/1/..%2f..%2f..%2ftable.jsonl",
        "/pictures/1/../../../table.jsonl",
        "/static/..%2f..%2fapp.py",
        "/static/../app.py",
    ],
)
def test_no_path_in_an_address_leads_to_a_file(client, path):
    answer = raw(client, "GET", path)

    assert answer.status_code in {404, 422}
    assert b"root:" not in answer.content
    assert b"image_id" not in answer.content


def outside(folder) -> dict[str, str]:
    """Return paths as a catalogue may hold them that lead out of the pictures' folder."""
    secret = folder / "secret.png"
    Image.new("RGB", (8, 8), "red").save(secret)
    (folder / "pictures").mkdir()
    (folder / "pictures" / "link.png").symlink_to(secret)
    return {"up": "../secret.png", "absolute": str(secret), "link": "link.png"}


@pytest.mark.parametrize("which", ["up", "absolute", "link"])
def test_a_path_that_leads_out_of_the_folder_shows_nothing(tmp_path, which):
    pictures = Pictures(tmp_path / "pictures", tmp_path / "kept")

    assert pictures.thumbnail(outside(tmp_path)[which], "grid") is None


def test_what_is_sent_is_a_small_copy_without_metadata(client, site):
    original = site.pictures.root / "0.png"
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    Image.new("RGB", (3000, 2000), "navy").save(original, exif=exif)

    answer = client.get("/pictures/1/grid")

    with Image.open(io.BytesIO(answer.content)) as sent:
        assert (sent.format, sent.size) == ("WEBP", (480, 320))
        assert not sent.getexif()
    assert answer.headers["content-type"] == "image/webp"
    assert b"taken at home" not in answer.content


def test_a_picture_with_too_many_pixels_is_not_decoded(tmp_path, monkeypatch):
    Image.new("1", (4000, 4000)).save(tmp_path / "huge.png")
    monkeypatch.setattr("sugartag.web.pictures.MOST_PIXELS", 4000 * 4000 - 1)

    assert Pictures(tmp_path, tmp_path / "kept").thumbnail("huge.png", "grid") is None
    monkeypatch.setattr("sugartag.web.pictures.MOST_PIXELS", 4000 * 4000)
    assert Pictures(tmp_path, tmp_path / "kept").thumbnail("huge.png", "grid") is not None


@pytest.mark.parametrize("kind", ["PPM", "TGA", "PCX", "ICO"])
def test_a_format_that_photographs_do_not_have_is_not_opened(tmp_path, kind):
    Image.new("RGB", (32, 32), "red").save(tmp_path / "a.jpg", kind)

    assert Pictures(tmp_path, tmp_path / "kept").thumbnail("a.jpg", "grid") is None


def test_a_file_that_is_too_large_is_not_opened(tmp_path, monkeypatch):
    Image.new("RGB", (32, 32), "red").save(tmp_path / "a.png")
    size = (tmp_path / "a.png").stat().st_size
    pictures = Pictures(tmp_path, tmp_path / "kept")

    monkeypatch.setattr("sugartag.web.pictures.LARGEST_FILE", size - 1)
    assert pictures.thumbnail("a.png", "grid") is None
    monkeypatch.setattr("sugartag.web.pictures.LARGEST_FILE", size)
    assert pictures.thumbnail("a.png", "grid") is not None


def test_a_file_that_is_no_picture_is_not_sent(client, site):
    (site.pictures.root / "0.png").write_text("<svg onload=alert(1)>")

    answer = client.get("/pictures/1/grid")

    assert answer.status_code == 404
    assert b"alert" not in answer.content


def test_a_thumbnail_is_made_once_and_anew_when_the_picture_changes(tmp_path):
    pictures = Pictures(tmp_path, tmp_path / "kept")
    Image.new("RGB", (40, 40), "red").save(tmp_path / "a.png")
    first = pictures.thumbnail("a.png", "grid")
    (kept,) = (tmp_path / "kept").rglob("*.webp")
    kept_bytes = kept.read_bytes()

    Image.new("RGB", (40, 40), "blue").save(tmp_path / "a.png")

    assert first == kept_bytes
    assert pictures.thumbnail("a.png", "grid") != first
    assert len(list((tmp_path / "kept").rglob("*.webp"))) == 1


# What people typed


def test_a_script_in_a_tag_name_is_text_on_every_page(tmp_path):
    more = [
        Change("p0", SCRIPT, "add", 0.99, f"because of {SCRIPT}", RUN),
        Change("p4", SCRIPT, "doubt", 0.01, SCRIPT, RUN),
    ]
    with (
        running(made_site(tmp_path, more=more)) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        server.site.catalogue.decide("p9", SCRIPT, "accept", reviewer=SCRIPT)
        for page in ("/", "/tag", "/picture/1", "/picture/1/why", "/search", "/learn", "/apply"):
            for action in ("add", "doubt"):
                asked = {"tag": SCRIPT, "q": SCRIPT, "action": action}
                text = client.get(page, params=asked).text
                assert "<script>alert" not in text, page
                assert SCRIPT not in text, page
        assert "&lt;script&gt;" in client.get("/").text


def test_no_page_may_run_a_script_that_stands_in_it(client):
    for path in ("/", "/tag?tag=sea", "/static/review.js", "/api/session", "/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
    page = client.get("/tag?tag=sea").text
    assert page.count("<script") == 1
    assert " style=" not in page


def test_refusals_have_the_headers_too(client):
    answer = client.get("/", headers={"Host": "evil.example"})

    assert {name.lower() for name in HEADERS} <= set(answer.headers)


ELSEWHERE = ["https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "x"]


@pytest.mark.parametrize("back", ELSEWHERE)
def test_a_form_leads_back_to_this_site_only(client, back):
    fields = {**BODY, "image_id": "p9", "back": back, "csrf": client.headers["X-CSRF-Token"]}

    assert client.post("/decide", data=fields).headers["location"] == "/"


# Who


@cache
def some_accounts() -> tuple[Accounts, str]:
    accounts = Accounts().with_password("anna", "admin", PASSWORD)
    accounts = accounts.with_password("ben", "viewer", PASSWORD)
    accounts = accounts.with_password("cleo", "reviewer", PASSWORD)
    return accounts.with_token("script", "reviewer")


@pytest.fixture
def guarded(tmp_path):
    accounts, token = some_accounts()
    with running(made_site(tmp_path, accounts=accounts)) as server:
        yield server, token


def signed_in(url: str, name: str, password: str = PASSWORD) -> tuple[httpx.Client, httpx.Response]:
    client = httpx.Client(base_url=url)
    csrf = client.get("/api/session").json()["csrf"]
    answer = client.post("/login", data={"name": name, "password": password, "csrf": csrf})
    client.headers["X-CSRF-Token"] = client.get("/api/session").json()["csrf"]
    return client, answer


def test_without_signing_in_nothing_is_shown(guarded):
    server, _ = guarded
    with httpx.Client(base_url=server.url) as client:
        assert client.get("/").headers["location"] == "/login?back=%2F"
        for path in ("/api/proposals", "/pictures/1/grid", "/api/openapi.json"):
            answer = client.get(path)
            assert answer.status_code == 401, path
            assert "sea" not in answer.text


def test_each_role_may_do_no_more_than_its_own(guarded):
    server, _ = guarded
    expected = {"ben": (200, 403, 403), "cleo": (200, 200, 403), "anna": (200, 200, 202)}
    for name, codes in expected.items():
        client, _ = signed_in(server.url, name)
        with closing(client):
            asked = (
                client.get("/tag?tag=sea"),
                client.post("/api/decisions", json=BODY),
                client.post("/api/learn"),
            )
            assert tuple(one.status_code for one in asked) == codes, name
    server.site.learner.wait(60)
    assert [one.reviewer for one in server.site.catalogue.decision_log()] == ["cleo", "anna"]


def test_nobody_undoes_the_decision_of_somebody_else_but_an_admin(guarded):
    server, _ = guarded
    made = server.site.catalogue.decide("p0", "sea", "accept", reviewer="anna")
    client, _ = signed_in(server.url, "cleo")
    with closing(client):
        assert client.post("/api/undo", json={"decision": made.decision}).status_code == 403
    admin, _ = signed_in(server.url, "anna")
    with closing(admin):
        assert admin.post("/api/undo", json={"decision": made.decision}).status_code == 200


def test_a_programs_token_works_without_a_cookie_and_a_wrong_one_does_not(guarded):
    server, token = guarded
    for given, code in ((token, 200), (token[:-1] + "!", 403), ("-", 403)):
        headers = {"Authorization": f"Bearer {given}"}
        answer = httpx.post(f"{server.url}/api/decisions", json=BODY, headers=headers)
        assert answer.status_code == code


def test_guessing_passwords_ends_soon_and_the_right_one_has_to_wait_too(guarded):
    server, _ = guarded
    codes = []
    for guess in range(GuessLimit.BY_NAME + 1):
        client, answer = signed_in(server.url, "anna", f"guess {guess}")
        client.close()
        codes.append(answer.status_code)
    client, answer = signed_in(server.url, "anna")
    client.close()

    assert codes == [401] * GuessLimit.BY_NAME + [429]
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= GuessLimit.SECONDS


def test_the_limit_ends_with_time_and_counts_addresses_too():
    now = [0.0]
    limit = GuessLimit(clock=lambda: now[0])
    waits = [limit.wait(f"name {n}", "10.0.0.1") for n in range(GuessLimit.BY_ADDRESS + 1)]

    assert waits[:-1] == [0] * GuessLimit.BY_ADDRESS
    assert waits[-1] > 0
    now[0] = GuessLimit.SECONDS + 1
    assert limit.wait("name", "10.0.0.1") == 0


def test_signing_in_begins_a_new_session_and_the_cookie_is_not_for_scripts(guarded):
    server, _ = guarded
    with httpx.Client(base_url=server.url) as client:
        first = client.get("/api/session")
        before = dict(client.cookies)
        form = {"name": "anna", "password": PASSWORD, "csrf": first.json()["csrf"]}
        answer = client.post("/login", data=form)
        assert dict(client.cookies) != before
        assert [server.site.sessions.get(key) for key in before.values()] == [None]
        client.cookies.update(before)
    for one in (first, answer):
        flags = one.headers["set-cookie"]
        assert "HttpOnly" in flags
        assert "SameSite=Lax" in flags
    old = httpx.get(f"{server.url}/api/proposals", cookies=before)
    assert old.status_code == 401


def test_with_https_cookies_go_by_https_alone():
    rules = Rules(hosts=frozenset(), https=True)

    assert rules.set_cookie(rules.session_cookie, "x").endswith("; Secure")
    assert rules.session_cookie.startswith("__Host-")
    assert "Secure" not in Rules(hosts=frozenset()).set_cookie("a", "b")


def test_a_session_ends_after_its_time():
    now = [0.0]
    sessions = Sessions(clock=lambda: now[0])
    session = sessions.start("anna", "admin")

    assert sessions.get(session.key) is session
    now[0] = 13 * 3600.0
    assert sessions.get(session.key) is None


def test_passwords_are_kept_as_argon2_hashes_that_only_the_owner_can_read(tmp_path):
    path = tmp_path / "accounts.json"
    accounts, token = Accounts().with_password("anna", "admin", PASSWORD).with_token("s", "viewer")
    accounts.save(path)

    text = path.read_text()
    again = load_accounts(path)

    assert "$argon2id$" in text
    assert PASSWORD not in text
    assert token not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert again.signed_in("anna", PASSWORD).role == "admin"
    assert again.signed_in("anna", "wrong password") is None
    assert again.signed_in("nobody", PASSWORD) is None
    assert again.with_this_token(token).name == "s"


def test_a_short_password_an_unknown_role_and_a_damaged_file_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="10 to 200"):
        Accounts().with_password("anna", "admin", "short")
    with pytest.raises(SettingsError, match="a role is one of"):
        Accounts().with_token("anna", "king")
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(StorageError, match="damaged"):
        load_accounts(tmp_path / "a.json")


def test_the_catalogue_names_no_file_of_the_machine_to_anybody(client, site):
    assert isinstance(site.catalogue, Catalogue)
    answer = client.get("/api/images/1").json()

    assert "path" not in answer
    assert str(site.pictures.root) not in json.dumps(answer)
