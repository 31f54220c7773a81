"""The selector of versions in headless Chromium, on what the workflow has published."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browserkit import BROWSER_TESTS, Visit, serve
from publishkit import Repository

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("mike", reason="mike is not installed")

pytestmark = BROWSER_TESTS


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site whose newest state has a rule that its version v1.0 has not, and v2.0 has."""
    folder = tmp_path_factory.mktemp("versions")
    repository = Repository(folder / "made")
    repository.tag("v1.0")
    repository.commit("Text of another rule.", "R-2")
    repository.tag("v2.0")
    for ref in ("v1.0", "v2.0", "main"):
        repository.publish(ref)
    # In a folder, as a project's pages are.
    repository.out(folder / "served/kb")
    with serve(folder / "served") as address:
        yield f"{address}kb/"


@pytest.fixture
def visit(browser: Any, published: str) -> Iterator[Visit]:
    found = Visit(browser, published)
    yield found
    found.context.close()


def choose(tab: Any, title: str) -> None:
    # The list opens above the button, which then cannot be hit.
    tab.hover(".md-version", force=True)
    tab.click(f".md-version__link >> text='{title}'")


def test_versions_are_listed_and_lead_to_the_same_page(visit: Visit, published: str) -> None:
    tab = visit.go("rules/target/R-1/#what-it-demands")
    playwright.expect(tab.locator(".md-version__current")).to_have_text("newest")
    assert tab.locator(".md-version__link").all_text_contents() == ["newest", "v2.0", "v1.0"]
    choose(tab, "v1.0")
    tab.wait_for_url(f"{published}v1.0/rules/target/R-1/#what-it-demands")
    playwright.expect(tab.locator(".md-version__current")).to_have_text("v1.0")
    choose(tab, "v2.0")
    tab.wait_for_url(f"{published}v2.0/rules/target/R-1/#what-it-demands")
    choose(tab, "newest")
    tab.wait_for_url(f"{published}rules/target/R-1/#what-it-demands")
    visit.assert_clean()


def test_a_page_that_a_version_lacks_leads_to_its_home_in_the_same_language(visit: Visit, published: str) -> None:
    tab = visit.go("zh/rules/target/R-2/")
    playwright.expect(tab.locator(".md-version__current")).to_have_text("最新")
    choose(tab, "v2.0")
    tab.wait_for_url(f"{published}v2.0/zh/rules/target/R-2/")
    choose(tab, "v1.0")
    tab.wait_for_url(f"{published}v1.0/zh/")
    choose(tab, "最新")
    tab.wait_for_url(f"{published}zh/")
    visit.assert_clean()


def test_the_latest_version_has_an_address_of_its_own(visit: Visit) -> None:
    tab = visit.go("latest/rules/target/R-2/")
    assert "Text of another rule." in tab.inner_text(".md-content")
    playwright.expect(tab.locator(".md-version__current")).to_have_text("v2.0")
    visit.assert_clean()


def test_with_the_keyboard(visit: Visit, published: str) -> None:
    tab = visit.go("rules/target/R-1/")
    tab.locator(".md-version__current").focus()
    tab.keyboard.press("Tab")
    tab.keyboard.press("Tab")
    playwright.expect(tab.locator(".md-version__link >> text='v2.0'")).to_be_focused()
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{published}v2.0/rules/target/R-1/")
    visit.assert_clean()


def test_a_version_is_searched_by_itself(visit: Visit, published: str) -> None:
    for place, count in (("v1.0/", 0), ("v2.0/", 1), ("", 1)):
        tab = visit.go(f"{place}?q=another")
        said = "No matching documents" if count == 0 else "1 matching document"
        playwright.expect(tab.locator(".md-search-result__meta")).to_have_text(said)
        links = tab.eval_on_selector_all(".md-search-result__link", "links => links.map(link => link.href)")
        assert all(link.startswith(f"{published}{place}rules/target/R-2/") for link in links)
    visit.assert_clean()
