"""The report in a real browser: cards, filter and pictures are there once its script has run."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from demo_run import demo_run
from sugartag.report.chosen import N_PICTURES

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=2000",
    "--enable-logging=stderr",
)
SECONDS_AT_MOST = 120
PNG = b"\x89PNG\r\n\x1a\n"
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
TYPES_A_WORD = """
<script>
const found = document.querySelector(".card .tag").textContent;
form.elements.words.value = found;
form.dispatchEvent(new Event("input"));
document.title = JSON.stringify([...document.images].map((image) => image.naturalWidth > 0));
</script>
"""


class Cards(HTMLParser):
    """The cards of a page as the browser left it: words, and whether they are hidden."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, bool]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "article" and attributes.get("class") == "card":
            self.found.append((attributes["data-words"], "hidden" in attributes))


@pytest.fixture(scope="module")
def browser() -> str:
    for name in BROWSERS:
        if (path := shutil.which(name)) is not None:
            return path
    pytest.skip(f"none of {', '.join(BROWSERS)} is on PATH: the page was not opened in a browser")


def opened(browser: str, page: Path, profile: Path, *options: str) -> subprocess.CompletedProcess:
    command = [browser, *FLAGS, f"--user-data-dir={profile}", *options, page.resolve().as_uri()]
    ended = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS_AT_MOST
    )
    assert ended.returncode == 0, ended.stderr
    return ended


@pytest.fixture(scope="module")
def shown(browser, tmp_path_factory) -> subprocess.CompletedProcess:
    """The report after its script has run."""
    profile = tmp_path_factory.mktemp("browser")
    return opened(browser, demo_run().page, profile, "--dump-dom")


def test_every_card_is_there_and_shown(shown):
    cards = Cards(shown.stdout).found

    assert len(cards) == N_PICTURES
    assert not any(is_hidden for _, is_hidden in cards)


def test_the_script_has_counted_the_cards_and_shown_the_filter(shown):
    assert f">{N_PICTURES} of {N_PICTURES} shown</output>" in shown.stdout
    (form,) = re.findall(r'<form id="filter"[^>]*>', shown.stdout)
    assert "hidden" not in form


def test_the_page_breaks_neither_its_own_policy_nor_its_script(shown):
    messages = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]

    assert messages == []


def test_the_filter_hides_what_does_not_fit_and_the_pictures_can_be_seen(browser, tmp_path):
    page = demo_run().page.read_text(encoding="utf-8")
    # The page's policy forbids a second script, so the copy that is tried out has none.
    tried = POLICY.sub("", page).replace("</body>", TYPES_A_WORD + "</body>")
    (tmp_path / "tried.html").write_text(tried, encoding="utf-8")

    after = opened(browser, tmp_path / "tried.html", tmp_path / "profile", "--dump-dom").stdout

    word = re.search(r'<span class="tag">(.*?)</span>', page.partition('class="cards"')[2])[1]
    cards = Cards(after).found
    fitting = [text for text, is_hidden in cards if not is_hidden]
    assert fitting == [text for text, _ in cards if re.sub("<wbr>", "", word) in text]
    assert 0 < len(fitting) < N_PICTURES
    assert f">{len(fitting)} of {N_PICTURES} shown</output>" in after
    assert after.partition("<title>")[2].startswith(f"[{','.join(['true'] * N_PICTURES)}]")


def test_a_picture_of_the_page_can_be_taken(browser, tmp_path):
    target = tmp_path / "page.png"

    opened(
        browser, demo_run().page, tmp_path / "profile", "--window-size=1200,1600",
        f"--screenshot={target}",
    )  # fmt: skip

    assert target.read_bytes().startswith(PNG)
    assert target.stat().st_size > 50_000
