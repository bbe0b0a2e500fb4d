"""The report for people who do not see it: the rules of WCAG, by axe-core in a real browser."""

import pytest

from browsers import chromium, needs_axe, needs_browser, violations
from demo_run import demo_run

pytestmark = [needs_browser, needs_axe]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_breaks_no_rule_of_wcag(scheme, width):
    address = demo_run().page.resolve().as_uri()
    size = {"width": width, "height": 900}
    with chromium() as browser:
        # The page forbids scripts that are not its own, and axe-core is one.
        context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport=size)
        page = context.new_page()
        page.goto(address)
        for details in page.locator("details").all():
            details.evaluate("(one) => { one.open = true; }")

        assert violations(page) == []
