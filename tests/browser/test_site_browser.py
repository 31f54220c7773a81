"""The built site in headless Chromium: read, searched, filtered, on phones, in the dark, on paper."""

from __future__ import annotations

import re
from typing import Any

import pytest

from browserkit import AXE, BROWSER_TESTS, MAX_SHIFT, MAX_WEIGHT, PAGES, Visit

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = BROWSER_TESTS


def test_from_the_home_page_to_a_rule_in_both_languages(visit: Visit) -> None:
    tab = visit.go("")
    tab.locator(".md-content").get_by_role("link", name="Rules", exact=True).click()
    tab.locator(".md-content").get_by_role("link", name="AFD-I4", exact=True).click()
    assert tab.url.endswith("/rules/afd-plugin/AFD-I4/")
    assert "CPU-safe" in tab.inner_text("h1")
    tab.hover(".md-header .md-select button")
    tab.click(".md-select__link[hreflang=zh]")
    tab.wait_for_url("**/zh/rules/afd-plugin/AFD-I4/")
    assert "CPU 安全" in tab.inner_text("h1")
    assert tab.get_attribute("html", "lang") == "zh"
    assert "要求" in tab.inner_text(".md-sidebar--secondary")
    visit.assert_clean()


@pytest.mark.parametrize(
    ("place", "query", "found"),
    [
        ("", "parse_extra_config", "/rules/afd-plugin/AFD-I1/"),
        ("", "extra_config", "/rules/afd-plugin/AFD-I1/"),
        ("", "factory", "/rules/afd-plugin/AFD-I1/"),
        ("zh/", "白名单", "/zh/rules/afd-plugin/AFD-I1/"),
        ("zh/", "控制面", "/zh/rules/afd-plugin/AFD-I2/"),
        ("zh/", "懒加载", "/zh/rules/afd-plugin/AFD-I4/"),
    ],
)
def test_search(visit: Visit, place: str, query: str, found: str) -> None:
    tab = visit.go(place)
    tab.click(".md-search__input")
    ready = re.compile("Type to start|键入以开始")
    playwright.expect(tab.locator(".md-search-result__meta")).to_have_text(ready, timeout=30_000)
    tab.keyboard.insert_text(query)
    # The theme looks at the field when a key is released.
    tab.keyboard.press("End")
    tab.wait_for_selector(".md-search-result__link", state="attached")
    # The list grows as it is scrolled.
    targets: list[str] = []
    for _ in range(20):
        targets = tab.eval_on_selector_all(".md-search-result__link", "links => links.map(link => link.href)")
        if any(found in target for target in targets):
            break
        tab.evaluate("document.querySelector('.md-search__scrollwrap').scrollTo(0, 1e6)")
        tab.wait_for_timeout(100)
    assert any(found in target for target in targets)
    visit.assert_clean()


def test_the_table_of_rules_filters(visit: Visit) -> None:
    tab = visit.go("rules/")
    rows = tab.locator(".md-content tbody tr:visible")
    total = rows.count()
    assert total > 10
    tab.get_by_label("severity").select_option("warning")
    tab.get_by_label("repository").select_option("afd-plugin")
    assert 0 < rows.count() < total
    assert all("warning" in text and "afd-plugin" in text for text in rows.all_inner_texts())
    assert tab.inner_text(".rulebook-filters [role=status]") == f"{rows.count()} / {total}"
    visit.assert_clean()


@pytest.mark.parametrize("place", PAGES)
def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Any, address: str, place: str) -> None:
    visit = Visit(browser, address, viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    tab = visit.go(place)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    visit.assert_clean()
    visit.context.close()


def test_dark_where_the_system_is(browser: Any, address: str) -> None:
    visit = Visit(browser, address, color_scheme="dark")
    tab = visit.go("rules/afd-plugin/AFD-I4/")
    assert tab.get_attribute("body", "data-md-color-scheme") == "slate"
    visit.assert_clean()
    visit.context.close()


def test_a_rule_on_paper(visit: Visit) -> None:
    tab = visit.go("rules/afd-plugin/AFD-I4/")
    paper = tab.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    tab.emulate_media(media="print")
    assert not tab.is_visible(".md-header__title")
    assert tab.is_visible("#what-it-demands")


def test_an_address_that_leads_nowhere_offers_a_search(visit: Visit) -> None:
    tab = visit.go("rules/elsewhere/AFD-I4/")
    tab.click("text=Search for “AFD-I4”")
    tab.wait_for_selector(".md-search-result__link", state="attached")
    assert "AFD-I4" in tab.text_content(".md-search-result__list")


@pytest.mark.parametrize("place", PAGES)
def test_light_steady_and_from_one_origin(visit: Visit, place: str) -> None:
    visit.tab.add_init_script(
        "window.shift = 0; new PerformanceObserver(list => { for (const entry of list.getEntries())"
        " if (!entry.hadRecentInput) window.shift += entry.value; }).observe({type: 'layout-shift', buffered: true});"
    )
    tab = visit.go(place)
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.shift") < MAX_SHIFT
    weights = tab.evaluate(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        ".map(entry => [entry.name, entry.transferSize])"
    )
    assert 0 < sum(size for name, size in weights if "search_index" not in name) <= MAX_WEIGHT
    visit.assert_clean()


@pytest.mark.skipif(AXE is None, reason="axe-core is not installed (npm install --prefix .venv/axe axe-core)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", PAGES)
def test_accessible_to_everybody(browser: Any, address: str, place: str, scheme: str) -> None:
    # axe-core is put into the page from outside, which the site's own policy would refuse.
    visit = Visit(browser, address, color_scheme=scheme, bypass_csp=True)
    tab = visit.go(place)
    tab.add_script_tag(path=str(AXE))
    found = tab.evaluate("axe.run().then(result => result.violations)")
    assert [(item["id"], [node["html"][:200] for node in item["nodes"]][:3]) for item in found] == []
    visit.context.close()
