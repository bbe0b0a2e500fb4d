"""The report for people who do not see it: the rules of WCAG, by axe-core in a real browser."""

from browsers import chromium, needs_axe, needs_browser, violations
from reports import made_report
from sugartag.report.page import write_report

pytestmark = [needs_browser, needs_axe]
COMMAND = "sugartag suggest photos.model photos --out changes.csv " * 3


def test_the_report_breaks_no_rule_of_wcag(tmp_path):
    write_report(made_report(COMMAND), tmp_path / "report.html")
    broken = {}
    with chromium() as browser:
        for scheme in ("light", "dark"):
            for width in (1280, 390):
                # The page forbids scripts that are not its own, and axe-core is one.
                context = browser.new_context(
                    bypass_csp=True,
                    color_scheme=scheme,
                    viewport={"width": width, "height": 900},
                )
                page = context.new_page()
                page.goto((tmp_path / "report.html").as_uri())
                for details in page.locator("details").all():
                    details.evaluate("(one) => { one.open = true; }")
                if found := violations(page):
                    broken[scheme, width] = found
    assert broken == {}
