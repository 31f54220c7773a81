"""The search of the built site in headless Chromium: what a reader types, and at which place the right page is listed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from browserkit import BROWSER_TESTS, Visit

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

pytestmark = BROWSER_TESTS

READY = re.compile("Type to start|键入以开始")


def look_for(tab: Any, query: str) -> list[str]:
    """The addresses of the first pages that are listed, from the site's root, best first."""
    field = tab.locator(".md-search__input")
    field.click()
    field.fill("")
    # The theme looks at the field when a key is released.
    field.press("End")
    playwright.expect(tab.locator(".md-search-result__meta")).to_have_text(READY, timeout=30_000)
    tab.keyboard.insert_text(query)
    field.press("End")
    playwright.expect(tab.locator(".md-search-result__meta")).not_to_have_text(READY, timeout=30_000)
    heads = tab.locator(".md-search-result__item > .md-search-result__link:has(h1)")
    root = tab.evaluate("new URL(JSON.parse(document.getElementById('__config').textContent).base, location).href")
    targets = heads.evaluate_all("links => links.map(link => link.href.split(/[?#]/)[0])")
    return [target.removeprefix(root.rstrip("/") + "/") for target in targets]


@pytest.mark.parametrize(
    ("place", "query", "right", "at_most"),
    [
        ("zh/", "控制面", "zh/rules/afd-plugin/AFD-I2/", 2),
        ("zh/", "白名单", "zh/rules/afd-plugin/AFD-I1/", 1),
        ("zh/", "懒加载", "zh/rules/afd-plugin/AFD-I4/", 1),
        ("zh/places/", "元数据", "zh/rules/afd-plugin/AFD-I2/", 1),
        ("zh/", "AFD 元数据", "zh/rules/afd-plugin/AFD-I2/", 1),
        ("zh/", "怎么加载权重", "zh/rules/afd-plugin/AFD-I3/", 1),
        ("zh/", "extra_config", "zh/rules/afd-plugin/AFD-I1/", 3),
        ("zh/", "每周门禁", "zh/rules/afd-plugin/AFD-I12/", 1),
        ("", "extra_config", "rules/afd-plugin/AFD-I1/", 3),
        ("", "parseExtra", "rules/afd-plugin/AFD-I1/", 1),
        ("", "控制面", "zh/rules/afd-plugin/AFD-I2/", 2),
        ("", "exit codes", "contract/", 3),
        ("", "additional_kwargs", "rules/afd-plugin/AFD-I9/", 1),
        ("rules/", "AFD-I1", "rules/afd-plugin/AFD-I1/", 1),
        ("", "afd i4", "rules/afd-plugin/AFD-I4/", 1),
        ("", "factory", "rules/afd-plugin/AFD-I1/", 1),
        ("", "afd_plugin/compat/vllm.py", "rules/afd-plugin/AFD-I5/", 1),
        ("decisions/", "懒加载", "zh/rules/afd-plugin/AFD-I4/", 1),
        ("zh/rules/", "exit codes", "contract/", 3),
    ],
)
def test_the_right_page_is_among_the_first(visit: Visit, place: str, query: str, right: str, at_most: int) -> None:
    listed = look_for(visit.go(place), query)
    assert right in listed[:at_most]
    visit.assert_clean()


@pytest.mark.parametrize("query", ["AFD-I4", "parse_extra_config", "DP metadata", "ROCm", "connector"])
def test_the_readers_language_comes_first_and_nothing_twice(visit: Visit, query: str) -> None:
    for place, own in (("", False), ("zh/", True)):
        listed = look_for(visit.go(place), query)
        languages = [address.startswith("zh/") == own for address in listed]
        assert languages[0]
        assert languages == sorted(languages, reverse=True)
        documents = [address.removeprefix("zh/") for address in listed]
        assert len(documents) == len(set(documents))
    visit.assert_clean()


def test_what_was_found_is_marked_as_it_was_typed(visit: Visit) -> None:
    tab = visit.go("zh/")
    look_for(tab, "白名单")
    section = tab.locator(".md-search-result__item").first.locator("article:has(h2) mark")
    assert set(section.all_text_contents()) == {"白名单"}
    tab.locator(".md-search-result__item").first.locator(".md-search-result__link").first.click()
    tab.wait_for_url("**/zh/rules/afd-plugin/AFD-I1/*")
    marked = tab.locator(".md-content mark[data-md-highlight]")
    playwright.expect(marked.first).to_be_visible()
    assert set(marked.all_inner_texts()) == {"白名单"}
    visit.assert_clean()


def test_texts_are_loaded_when_something_is_looked_for(visit: Visit) -> None:
    tab = visit.go("rules/")
    assert not [url for url in visit.requests if url.endswith("docs.json")]
    assert look_for(tab, "lazy loaders")[0] == "rules/afd-plugin/AFD-I4/"
    assert look_for(tab, "audit")[0] == "rules/afd-plugin/AFD-I5/"
    assert len([url for url in visit.requests if url.endswith("docs.json")]) == 1
    visit.assert_clean()


def test_with_the_keyboard_alone(visit: Visit) -> None:
    tab = visit.go("zh/lookup/")
    tab.keyboard.press("/")
    playwright.expect(tab.locator(".md-search__input")).to_be_focused()
    tab.keyboard.insert_text("懒加载")
    tab.keyboard.press("End")
    tab.wait_for_selector(".md-search-result__link", state="attached")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/zh/rules/afd-plugin/AFD-I4/*")
    visit.assert_clean()


def paste(tab: Any, text: str) -> None:
    tab.evaluate("text => document.execCommand('insertText', false, text)", text)


def insert(tab: Any, text: str) -> None:
    tab.keyboard.insert_text(text)


@pytest.mark.parametrize("give", [paste, insert])
def test_what_comes_without_a_key_is_looked_for(visit: Visit, give: Callable[[Any, str], None]) -> None:
    tab = visit.go("zh/")
    tab.locator(".md-search__input").click()
    give(tab, "懒加载")
    tab.wait_for_selector(".md-search-result__link", state="attached")
    assert "/zh/rules/afd-plugin/AFD-I4/" in str(tab.locator(".md-search-result__link").first.get_attribute("href"))
    visit.assert_clean()


def test_an_address_can_hold_a_search(visit: Visit) -> None:
    tab = visit.go("zh/?q=控制面")
    tab.wait_for_selector(".md-search-result__link", state="attached")
    first = tab.locator(".md-search-result__link").first.get_attribute("href")
    assert re.search(r"/zh/rules/afd-plugin/AFD-I(?:2|10)/", first)
    visit.assert_clean()


def test_nothing_found_is_told(visit: Visit) -> None:
    tab = visit.go("")
    assert look_for(tab, "qqqq") == []
    assert tab.inner_text(".md-search-result__meta") == "No matching documents"
    visit.assert_clean()
