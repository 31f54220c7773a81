"""The built site in headless Chromium: read, filtered, sorted, on phones, in the dark, on paper, without scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browserkit import AXE, BROWSER_TESTS, MAX_WEIGHT, PAGES, Visit, serve
from kb import SMALLEST, make_kb, rule
from sitekit import ROOT, build

sys.path.insert(0, str(ROOT / "benchmarks"))

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = BROWSER_TESTS

MORE_PAGES = (*PAGES, "waivers/", "rules/inferencex/IX-P1/", "zh/", "zh/rules/", "zh/freshness/", "lint/", "404.html")
COUNT = ".rulebook-filters output"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site of 1,000 rules, whose old ids lead to new ones."""
    severities = ("error", "warning", "note")
    files = {
        f"rules/demo/M-{number}.md": rule(f"M-{number}", severity=severities[number % 3], tags=f"[t{number % 7}]")
        for number in range(1000)
    }
    root = make_kb(tmp_path_factory.mktemp("many"), {**SMALLEST, **files})
    settings: dict[str, Any] = {"site_name": "Many", "theme": {"name": "material", "font": False}}
    settings["plugins"] = ["search", {"rulebook": {"renamed": {"OLD-1": "M-1"}}}]
    (root / "mkdocs.yml").write_text(json.dumps(settings))
    (root / "docs").mkdir()
    out = tmp_path_factory.mktemp("many-site") / "out"
    assert build(root, out) == []
    with serve(out) as address:
        yield address


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
    tab.locator(".rulebook-facts").get_by_role("link", name="English").click()
    assert tab.get_attribute("html", "lang") == "en"
    tab.get_by_role("link", name="Next: AFD-I5").click()
    assert tab.url.endswith("/rules/afd-plugin/AFD-I5/")
    tab.locator(".rulebook-trail").get_by_role("link", name="afd-plugin").click()
    assert tab.url.endswith("/rules/afd-plugin/")
    visit.assert_clean()


def test_a_value_of_a_rule_leads_to_the_rules_that_have_it(visit: Visit) -> None:
    tab = visit.go("rules/afd-plugin/AFD-I4/")
    tab.locator(".rulebook-facts").get_by_role("link", name="imports").click()
    assert tab.url.endswith("/rules/?tag=imports")
    rows = tab.locator(".md-content tbody tr:visible")
    playwright.expect(rows).not_to_have_count(tab.locator(".md-content tbody tr").count())
    assert rows.count() > 0
    assert all("imports" in text for text in rows.all_inner_texts())
    visit.assert_clean()


def test_the_home_page_asks_the_look_up_page(visit: Visit) -> None:
    tab = visit.go("")
    tab.get_by_label("Changed paths").fill("afd_plugin/config.py\nREADME.md")
    tab.locator(".rulebook-question select").select_option("afd-plugin")
    tab.get_by_role("button", name="Look up").click()
    tab.wait_for_url("**/lookup/#repo=afd-plugin&paths=*")
    tab.wait_for_selector("#rulebook-answer:has-text('AFD-I1')")
    visit.assert_clean()


def test_the_table_of_rules_filters_with_the_keyboard_alone(visit: Visit) -> None:
    tab = visit.go("rules/")
    rows = tab.locator(".md-content tbody tr:visible")
    total = rows.count()
    assert total > 10
    assert tab.inner_text(COUNT) == f"{total} rules"
    for _ in range(60):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.name") == "text":
            break
    tab.keyboard.type("Connector")
    assert 0 < rows.count() < total
    assert all("connector" in text.lower() for text in rows.all_inner_texts())
    assert tab.inner_text(COUNT) == f"{rows.count()} / {total} rules"
    assert tab.url.endswith("/rules/?text=Connector")
    while tab.evaluate("document.activeElement.name") != "severity":
        tab.keyboard.press("Tab")
    tab.keyboard.type("warn")
    assert tab.url.endswith("/rules/?text=Connector&severity=warning")
    assert all("warning" in text for text in rows.all_inner_texts())
    while tab.evaluate("document.activeElement.type") != "reset":
        tab.keyboard.press("Tab")
    # What has the focus is visibly marked.
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.keyboard.press("Enter")
    playwright.expect(rows).to_have_count(total)
    assert tab.url.endswith("/rules/")
    visit.assert_clean()


def test_a_selection_can_be_shared_and_sorted(visit: Visit, address: str) -> None:
    tab = visit.go("zh/rules/")
    tab.get_by_label("仓库").select_option("afd-plugin")
    heading = tab.get_by_role("columnheader", name="严重程度")
    # The order is that of weight: the heaviest first.
    for order, first in (("ascending", "错误"), ("descending", "警告")):
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == order
        assert tab.inner_text(".md-content tbody tr:not([hidden]) td:nth-child(3)") == first
    rows = tab.locator(".md-content tbody tr:visible").all_inner_texts()
    shared = tab.url
    assert shared.endswith("?repo=afd-plugin&sort=-severity")
    tab.goto("about:blank")
    tab = visit.go(shared.removeprefix(address))
    assert tab.locator(".md-content tbody tr:visible").all_inner_texts() == rows
    assert tab.get_by_label("仓库").input_value() == "afd-plugin"
    visit.assert_clean()


def test_an_unknown_value_in_the_address_chooses_nothing(visit: Visit) -> None:
    tab = visit.go("rules/?severity=%E0%A4%A&status=<img>&sort=nothing#%E0%A4%A")
    assert tab.locator(".md-content tbody tr:visible").count() == tab.locator(".md-content tbody tr").count()
    visit.assert_clean()


def test_a_thousand_rules_are_filtered_without_moving_anything_else(browser: Any, many: str) -> None:
    visit = Visit(browser, many)
    tab = visit.go("rules/")
    header = tab.evaluate("[...document.querySelectorAll('.rulebook-table th')].map(cell => cell.offsetWidth)")
    tab.get_by_label("Tag").select_option("t3")
    tab.get_by_label("Severity").select_option("note")
    rows = tab.locator(".md-content tbody tr:visible")
    expected = [number for number in range(1000) if number % 7 == 3 and number % 3 == 2]
    assert [text.split()[0] for text in rows.all_inner_texts()] == [f"M-{number}" for number in expected]
    assert tab.inner_text(COUNT) == f"{len(expected)} / 1001 rules"
    widths = tab.evaluate("[...document.querySelectorAll('.rulebook-table th')].map(cell => cell.offsetWidth)")
    assert widths == header
    visit.assert_clean()
    visit.context.close()


def test_a_former_address_keeps_its_place(browser: Any, many: str) -> None:
    visit = Visit(browser, many)
    for asked, expected in (("#sources", "#sources"), ("#OLD-1", ""), ("", "")):
        tab = visit.go(f"zh/rules/demo/OLD-1/{asked}")
        tab.wait_for_url(f"{many}zh/rules/demo/M-1/{expected}")
    visit.assert_clean()
    visit.context.close()
    plain = Visit(browser, many, java_script_enabled=False)
    plain.tab.goto(f"{many}rules/demo/OLD-1/#sources")
    plain.tab.wait_for_url(f"{many}rules/demo/M-1/**")
    plain.context.close()


def test_without_scripts_the_tables_are_whole(browser: Any, address: str) -> None:
    visit = Visit(browser, address, java_script_enabled=False)
    tab = visit.go("rules/?severity=note")
    assert tab.locator(".md-content tbody tr:visible").count() > 10
    assert not tab.is_visible(".rulebook-filters")
    tab = visit.go("")
    assert not tab.is_visible(".rulebook-question")
    assert tab.is_visible(".rulebook-summaries")
    visit.context.close()


def test_the_tree_folds_and_a_link_unfolds_it(visit: Visit) -> None:
    tab = visit.go("places/#repository-afd-plugin")
    folder = tab.locator("details").filter(has_text="afd_plugin/").first
    was_open = folder.evaluate("folder => folder.open")
    summary = folder.locator("summary").first
    summary.focus()
    tab.keyboard.press("Enter")
    assert folder.evaluate("folder => folder.open") is not was_open
    visit.assert_clean()


@pytest.mark.parametrize("place", MORE_PAGES)
def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Any, address: str, place: str) -> None:
    visit = Visit(browser, address, viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    tab = visit.go(place)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    # A table of ours becomes cards; it has nothing to scroll.
    hidden = tab.eval_on_selector_all(
        ".rulebook-scroll", "all => all.filter(area => area.scrollWidth > area.clientWidth + 1).length"
    )
    assert hidden == 0
    visit.assert_clean()
    visit.context.close()


@pytest.mark.parametrize("place", ["rules/", "zh/rules/", "waivers/", "freshness/", "rules/afd-plugin/AFD-I1/"])
def test_tables_fit_a_laptop(visit: Visit, place: str) -> None:
    tab = visit.go(place)
    cut = tab.eval_on_selector_all(
        ".rulebook-scroll", "all => all.filter(area => area.scrollWidth > area.clientWidth + 1).length"
    )
    assert cut == 0
    # A path breaks behind its slashes, so no line of it is a few letters.
    narrow = tab.eval_on_selector_all(
        ".rulebook-table td code",
        "all => all.filter(code => code.textContent.length > 12 && code.offsetWidth < 60).length",
    )
    assert narrow == 0


def test_dark_where_the_system_is(browser: Any, address: str) -> None:
    visit = Visit(browser, address, color_scheme="dark")
    tab = visit.go("rules/afd-plugin/AFD-I4/")
    assert tab.get_attribute("body", "data-md-color-scheme") == "slate"
    visit.assert_clean()
    visit.context.close()


def test_nothing_moves_for_those_who_asked_for_it(browser: Any, address: str) -> None:
    visit = Visit(browser, address, reduced_motion="reduce")
    tab = visit.go("rules/")
    moving = tab.evaluate(
        "[...document.querySelectorAll('*')].filter(element => { const style = getComputedStyle(element);"
        " return style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0; }).length"
    )
    assert moving == 0
    visit.context.close()


def test_a_rule_on_paper(visit: Visit) -> None:
    tab = visit.go("rules/afd-plugin/AFD-I4/")
    paper = tab.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    tab.emulate_media(media="print")
    for hidden in (".md-header__title", ".rulebook-trail", ".rulebook-neighbours"):
        assert not tab.is_visible(hidden)
    for shown in ("#what-it-demands", "#sources", ".rulebook-table"):
        assert tab.is_visible(shown)


def test_an_address_that_leads_nowhere_offers_a_search(browser: Any, address: str) -> None:
    for tree, button in (("", "Search"), ("zh/", "搜索")):
        visit = Visit(browser, address)
        tab = visit.go(f"{tree}rules/elsewhere/AFD-I4/")
        section = tab.locator(f".rulebook-absent[lang={'zh' if tree else 'en'}]")
        assert section.locator("input").input_value() == "AFD-I4"
        section.get_by_role("button", name=button).click()
        tab.wait_for_selector(".md-search-result__link", state="attached")
        assert "AFD-I4" in tab.text_content(".md-search-result__list")
        visit.context.close()


#: Sums up how far things moved, as "Cumulative Layout Shift" does without its windows of time.
WATCH_SHIFTS = (
    "window.shift = 0; new PerformanceObserver(list => { for (const entry of list.getEntries())"
    " if (!entry.hadRecentInput) window.shift += entry.value; }).observe({type: 'layout-shift', buffered: true});"
)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("place", ["rules/", "rules/afd-plugin/AFD-I1/", "lint/"])
def test_nothing_moves_on_a_slow_line(browser: Any, address: str, place: str, width: int) -> None:
    """The page arrives in pieces, and each piece is painted."""
    visit = Visit(browser, address, viewport={"width": width, "height": 900})
    line = visit.context.new_cdp_session(visit.tab)
    line.send("Network.enable")
    speed = 60 << 10
    conditions = {"offline": False, "latency": 30, "downloadThroughput": speed, "uploadThroughput": speed}
    line.send("Network.emulateNetworkConditions", conditions)
    visit.tab.add_init_script(WATCH_SHIFTS)
    tab = visit.go(place)
    assert tab.evaluate("window.shift") == 0
    visit.assert_clean()
    visit.context.close()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("place", MORE_PAGES)
def test_light_steady_and_from_one_origin(browser: Any, address: str, place: str, width: int) -> None:
    visit = Visit(browser, address, viewport={"width": width, "height": 900})
    visit.tab.add_init_script(WATCH_SHIFTS)
    tab = visit.go(place)
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.shift") == 0
    weights = tab.evaluate(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        ".map(entry => [entry.name, entry.transferSize])"
    )
    assert 0 < sum(size for name, size in weights if "/search/" not in name) <= MAX_WEIGHT
    visit.assert_clean()
    visit.context.close()


@pytest.mark.skipif(AXE is None, reason="axe-core is not installed (npm install --prefix .venv/axe axe-core)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", MORE_PAGES)
def test_accessible_to_everybody(browser: Any, address: str, place: str, scheme: str) -> None:
    # axe-core is put into the page from outside, which the site's own policy would refuse.
    visit = Visit(browser, address, color_scheme=scheme, bypass_csp=True)
    tab = visit.go(place)
    tab.add_script_tag(path=str(AXE))
    found = tab.evaluate("axe.run().then(result => result.violations)")
    assert [(item["id"], [node["html"][:200] for node in item["nodes"]][:3]) for item in found] == []
    visit.context.close()


@pytest.mark.skipif(AXE is None, reason="axe-core is not installed (npm install --prefix .venv/axe axe-core)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_is_readable(browser: Any, tmp_path: Path, scheme: str) -> None:
    """All states at once, which the site's own content never shows together."""
    states = ("gone", "invalid", "moved", "changed", "unverifiable", "fresh")
    commit = "0123456789012345678901234567890123456789"
    pins = [f"demo@{commit}:src/{state}.py" for state in states]
    statuses = ("active", "contested", "superseded", "retired", "reserved")
    files = {
        f"rules/demo/C-{number}.md": rule(
            f"C-{number}", status=status, severity=("error", "warning", "note")[number % 3]
        )
        for number, status in enumerate(statuses)
    }
    files["rules/demo/P-1.md"] = rule("P-1", sources=json.dumps(pins))
    root = make_kb(tmp_path, files)
    verdicts = [
        {"owner": "P-1", "kind": "rule", "pin": pin, "state": state, "because": "so it is"}
        for pin, state in zip(pins, states, strict=True)
    ]
    (root / "stale.json").write_text(json.dumps({"version": 1, "head": {"demo": commit}, "pins": verdicts}))
    settings = {"site_name": "S", "theme": {"name": "material", "font": False}, "plugins": []}
    palette = [{"scheme": "slate" if scheme == "dark" else "default"}]
    settings["theme"] = {"name": "material", "font": False, "palette": palette}
    settings["plugins"] = [{"rulebook": {"stale": "stale.json"}}]
    (root / "mkdocs.yml").write_text(json.dumps(settings))
    (root / "docs").mkdir()
    build(root, tmp_path / "site")
    with serve(tmp_path / "site") as address:
        visit = Visit(browser, address, bypass_csp=True)
        for place in ("", "rules/", "freshness/", "rules/demo/P-1/", "rules/demo/C-2/"):
            tab = visit.go(place)
            tab.add_script_tag(path=str(AXE))
            result = tab.evaluate("axe.run({runOnly: ['color-contrast']})")
            assert [node["html"] for item in result["violations"] for node in item["nodes"]] == []
        tab = visit.go("freshness/")
        headings = [text.split()[0].lower() for text in tab.locator(".md-content h2").all_inner_texts()]
        assert headings == list(states)
        visit.context.close()
