"""The pages for people who do not see them: WCAG by axe-core, names, focus, what is announced."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browsers import needs_axe, needs_browser, page_of, said, violations
from web_sites import Running, made_site, running

PAGES = [
    "/",
    "/?action=doubt",
    "/?owner=nobody",
    "/tag?tag=sea",
    "/tag?tag=sea&state=any&owner=owner 0",
    "/tag?tag=boat&action=doubt",
    "/tag?tag=nothing",
    "/picture/1",
    "/picture/2",
    "/picture/5",
    "/picture/1/why?tag=sea",
    "/search",
    "/search?q=sea",
    "/search?q=sea AND",
    "/learn",
    "/apply",
    "/help",
    "/api",
    "/nothing",
]

pytestmark = [needs_browser, needs_axe]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Running]:
    """One for all tests; some decisions are made, so that every state of a tag is shown."""
    with running(made_site(tmp_path_factory.mktemp("site"))) as found:
        for image, tag, verdict in (
            ("p6", "sea", "accept"),
            ("p9", "sea", "reject"),
            ("p12", "sea", "skip"),
            ("p4", "boat", "accept"),
            ("p0", "night", "accept"),
        ):
            found.site.catalogue.decide(image, tag, verdict, reviewer="ben")
        yield found


@pytest.fixture
def page(browser: Browser, server: Running) -> Iterator[Page]:
    with page_of(browser, server.url, "anna", bypass_csp=True) as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_breaks_a_rule_of_wcag(browser, server, scheme):
    broken = {}
    with page_of(browser, server.url, "anna", bypass_csp=True, color_scheme=scheme) as page:
        for path in PAGES:
            page.goto(path)
            expect(page.locator("html[data-ready]")).to_be_attached()
            for details in page.locator("details").all():
                details.evaluate("(one) => { one.open = true; }")
            if found := violations(page):
                broken[path] = found
    assert broken == {}


def test_what_opens_over_a_page_breaks_no_rule_either(page):
    page.goto("/tag?tag=sea")
    page.keyboard.press("w")
    expect(page.locator("#panel meter").first).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    said(page, "Skipped")
    assert violations(page) == []
    page.keyboard.press("u")
    said(page, "Undone")


def test_on_a_phone_no_rule_is_broken(browser, server):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    with page_of(browser, server.url, "anna", bypass_csp=True, **phone) as page:
        for path in ("/", "/tag?tag=sea", "/picture/5"):
            page.goto(path)
            expect(page.locator("html[data-ready]")).to_be_attached()
            assert violations(page) == [], path


def test_a_screen_reader_hears_what_is_asked_of_each_picture(page):
    page.goto("/tag?tag=sea")
    expect(page.locator("main")).to_match_aria_snapshot(
        """
        - main:
          - paragraph:
            - link /Tags to add/
          - heading "sea" [level=1]
          - paragraph: Does it belong to these pictures? The most probable come first.
          - navigation "What is proposed":
            - link "Add"
            - link "Please check"
          - slider /Draw the line at/
          - button "Yes to all above the line"
          - list "Pictures for sea":
            - listitem:
              - 'group "Picture 0, by owner 0: 95 %"':
                - link "Picture 0":
                  - img "Picture 0"
                - paragraph:
                  - link "Why?"
                - button "Yes"
                - button "No"
                - button "Skip"
        """
    )
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "80 %")


def test_a_screen_reader_hears_that_a_doubted_tag_is_a_question(page):
    page.goto("/picture/8")
    expect(page.locator("main")).to_match_aria_snapshot(
        """
        - main:
          - region "Please check":
            - heading "Please check" [level=2]
            - list:
              - listitem:
                - group "boat, please check, 20 %":
                  - paragraph:
                    - link "boat"
                    - text: 20 %
                    - link "Why?"
                  - button "Right"
                  - button "Wrong"
                  - button "Skip"
        """
    )
    assert "delete" not in page.locator("main").inner_text().lower()
    assert page.locator("main").locator("del, s, strike").count() == 0


def test_the_keyboard_comes_first_to_the_content_and_then_through_the_page_in_order(page):
    page.goto("/?action=doubt")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("main a").first).to_be_focused()

    page.goto("/picture/5")
    order = page.evaluate(
        """() => [...document.querySelectorAll("a, button, input, summary, [tabindex]")]
        .filter((one) => one.tabIndex > 0).map((one) => one.outerHTML.slice(0, 80))"""
    )
    assert order == []  # the order of the page is the order of the keys


def test_decisions_are_announced_and_counts_only_when_the_line_moves(page):
    page.goto("/tag?tag=sea")
    status, counts = page.locator("#status"), page.locator("#counts")
    expect(status).to_have_attribute("aria-live", "polite")
    page.keyboard.press("s")
    said(page, "Skipped “sea”")
    expect(counts).to_have_attribute("aria-live", "off")
    page.keyboard.press("u")
    said(page, "Undone: “sea”")
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    expect(counts).to_have_attribute("aria-live", "polite")
    expect(page.get_by_role("slider")).to_have_accessible_description(re.compile("above"))
