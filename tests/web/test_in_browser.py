"""The review page in a real browser, by keyboard: decide, undo, why, search, learn, two at once."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browsers import needs_browser, page_of, said
from sugartag.web.site import Site
from web_sites import Running

pytestmark = needs_browser


@pytest.fixture
def page(browser: Browser, server: Running) -> Iterator[Page]:
    with page_of(browser, server.url, "anna") as found:
        yield found


def standing(site: Site, image_id: str, tag: str = "sea") -> str | None:
    return site.catalogue.standing(image_id, tag)[0]


def card(page: Page, number: int):
    """Return the card of picture ``p<number>``; numbers in the catalogue begin with 1."""
    return page.locator(f"#c{number + 1}")


def test_reviewing_a_tag_by_keyboard_and_undoing(page, site):
    page.goto("/")
    page.get_by_role("link", name="sea").click()
    expect(card(page, 0)).to_be_focused()

    page.keyboard.press("a")
    expect(card(page, 3)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(card(page, 6)).to_be_focused()
    page.keyboard.press("r")
    expect(card(page, 9)).to_be_focused()
    page.keyboard.press("s")
    said(page, "Skipped “sea”. 8 left here")

    assert [standing(site, f"p{n}") for n in (0, 3, 6, 9)] == ["accept", None, "reject", "skip"]
    assert {one.reviewer for one in site.catalogue.decision_log()} == {"anna"}
    page.keyboard.press("u")
    said(page, "Undone")
    expect(card(page, 9)).to_be_focused()
    expect(card(page, 9)).to_have_attribute("data-verdict", "")
    assert standing(site, "p9") is None
    assert standing(site, "p6") == "reject"


def test_the_line_has_live_counts_and_stays_after_a_reload(page, site):
    page.goto("/tag?tag=sea")
    line = page.get_by_role("slider")
    line.focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")

    expect(page.locator("#line-value")).to_have_text("70 %")
    expect(page.locator("[data-count=above]")).to_have_text("6")
    expect(page.locator(".divider")).to_have_count(1)
    card(page, 6).focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"\?(?=.*line=0\.7)(?=.*at=10)"))
    page.reload()
    expect(page.locator("#line-value")).to_have_text("70 %")
    expect(card(page, 9)).to_be_focused()

    page.keyboard.press("Shift+A")
    said(page, "Yes to 6 pictures")
    expect(page.locator("[data-count=above_open]")).to_have_text("0")
    assert standing(site, "p15") == "accept"
    assert standing(site, "p18") is None
    page.keyboard.press("u")
    said(page, "Undone: 6 answers")
    assert standing(site, "p0") is None


def test_reviewing_by_picture_asking_why_and_going_on(page, site):
    page.goto("/next")
    chip = page.locator(".chip.add")
    expect(chip).to_be_focused()
    page.keyboard.press("w")
    panel = page.locator("#panel")
    expect(panel).to_contain_text("That it belongs is 95 % probable")
    expect(panel.locator("meter").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(chip).to_be_focused()

    page.keyboard.press("a")
    said(page, "All answered")
    expect(chip).to_have_attribute("data-verdict", "accept")
    page.keyboard.press("ArrowRight")

    expect(page).to_have_url(re.compile("/picture/4$"))
    page.goto("/picture/5")
    doubted = page.locator(".chip.doubt")
    expect(page.get_by_role("heading", name="Please check")).to_be_visible()
    doubted.get_by_role("button", name="Right").click()
    expect(doubted).to_have_attribute("data-verdict", "accept")
    said(page, "Yes to")
    assert standing(site, "p4", "boat") == "accept"


def test_searching_by_keyboard_and_the_list_of_keys(page):
    page.goto("/tag?tag=sea")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("undo your last answer")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("sea AND NOT boat score>0.9")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="sea AND NOT boat score>0.9")).to_be_visible()
    expect(page.locator(".card").first).to_contain_text("no. 1")
    page.locator(".card").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/picture/"))


def test_two_reviewers_at_the_same_moment_lose_nothing(browser, server):
    with (
        page_of(browser, server.url, "anna") as anna,
        page_of(browser, server.url, "ben") as ben,
    ):
        both_decide(server, anna, ben)


def both_decide(server: Running, anna: Page, ben: Page) -> None:
    for one in (anna, ben):
        one.goto("/tag?tag=sea")
        expect(card(one, 0)).to_be_focused()

    # Both pages show the picture as undecided; the answers leave without waiting for each other.
    anna.keyboard.press("a")
    ben.keyboard.press("r")
    expect(anna.locator("#status")).not_to_be_empty()
    expect(ben.locator("#status")).not_to_be_empty()

    log = server.site.catalogue.decision_log("p0", "sea")
    assert len(log) == 1
    first, second = (anna, ben) if log[0].reviewer == "anna" else (ben, anna)
    expect(card(second, 0)).to_have_attribute("data-verdict", log[0].verdict)
    said(second, f"was decided by {log[0].reviewer} meanwhile")
    expect(card(second, 0)).to_be_focused()
    second.keyboard.press("s")
    said(second, "Skipped")
    expect(card(first, 0)).to_have_attribute("data-verdict", "skip")
    assert [one.reviewer for one in server.site.catalogue.decision_log("p0", "sea")] == [
        log[0].reviewer,
        "ben" if log[0].reviewer == "anna" else "anna",
    ]


def test_learning_from_decisions_and_applying_with_a_difference_first(page, site):
    page.goto("/tag?tag=sea")
    expect(card(page, 0)).to_be_focused()
    for _ in range(3):
        page.keyboard.press("a")
    said(page, "7 left here")
    page.get_by_role("link", name="Learn").click()
    page.get_by_role("button", name="Learn from my decisions").click()

    expect(page.locator("#learned[data-state=done]")).to_contain_text("Learned from 3 decisions")
    assert site.catalogue.latest_run() == site.learner.learned.after
    page.get_by_role("link", name="Apply").click()
    expect(page.locator("ins")).to_have_count(3)
    page.get_by_label("also write XMP sidecars").check()
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("status").first).to_contain_text("3 tags added")
    assert (site.pictures.root / "0.png.xmp").exists()
    page.get_by_role("button", name=re.compile("^Undo ")).click()
    expect(page.get_by_role("status").first).to_contain_text("3 tags and 3 sidecars undone")
    assert not (site.pictures.root / "0.png.xmp").exists()


def test_on_a_phone_nothing_is_wider_than_the_screen(browser, server):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    with page_of(browser, server.url, "anna", **phone) as page:
        for path in (
            "/",
            "/tag?tag=sea",
            "/picture/1",
            "/search?q=sea",
            "/learn",
            "/apply",
            "/help",
        ):
            page.goto(path)
            expect(page.locator("html[data-ready]")).to_be_attached()
            width = page.locator("html").evaluate("(root) => root.scrollWidth")
            assert width <= 390, path
        page.goto("/tag?tag=sea")
        card(page, 0).get_by_role("button", name="Yes").tap()
        said(page, "Yes to")
        assert standing(server.site, "p0") == "accept"


def test_the_pictures_are_there_and_everything_has_a_name(page):
    page.goto("/tag?tag=sea")
    first = card(page, 0).locator("img")
    expect(first).to_have_js_property("complete", True)
    assert first.evaluate("(image) => image.naturalWidth") == 96
    for path in ("/", "/tag?tag=sea", "/picture/5", "/search?q=sea", "/apply"):
        page.goto(path)
        unnamed = page.locator("main, body").first.evaluate(
            """(root) => [...root.querySelectorAll("a, button, input:not([type=hidden])")]
            .filter((one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.length
                || one.querySelector("img[alt]")))
            .map((one) => one.outerHTML.slice(0, 80))"""
        )
        assert unnamed == [], path
        assert page.locator("h1").count() == 1
