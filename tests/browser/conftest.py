"""One browser and one built site for all browser tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browserkit import CHROMIUM, FLAGS, Visit, serve
from sitekit import ROOT, build


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site of this repository's own knowledge base, served from loopback."""
    out = tmp_path_factory.mktemp("site") / "out"
    build(ROOT, out)
    with serve(out) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as runner:
        browser = runner.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    found = Visit(browser, address)
    yield found
    found.context.close()
