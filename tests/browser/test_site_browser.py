"""The built site in headless Chromium: read, searched, filtered, asked, on phones, in the dark, on paper."""

from __future__ import annotations

import gzip
import http.server
import json
import os
import random
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))
from rulebook.store import open_store
from sitekit import ROOT, ask_command, build

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
AXE = next(
    (
        path
        for path in (
            Path(os.environ.get("AXE_CORE", "-")),
            ROOT / ".venv/axe/node_modules/axe-core/axe.min.js",
            ROOT / "node_modules/axe-core/axe.min.js",
        )
        if path.is_file()
    ),
    None,
)
PAGES = (
    *("", "rules/", "rules/afd-plugin/", "rules/afd-plugin/AFD-I4/", "zh/rules/afd-plugin/AFD-I1/", "places/"),
    *("lookup/", "reviews/", "waivers/inferencex/2508/", "zh/reviews/vllm-project/vllm/57112/", "freshness/"),
)
MAX_WEIGHT = 300 << 10
#: A twentieth of what counts as good (web.dev, "Cumulative Layout Shift"): the theme's header is painted in two steps.
MAX_SHIFT = 0.005

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (apt-get install chromium)"),
    # Playwright leaves the transport of its driver to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files as GitHub Pages does: text compressed, and ``404.html`` for what is not there."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        code = 200 if path.is_file() else 404
        if code == 404:
            path = Path(self.directory) / "404.html"
        body = gzip.compress(path.read_bytes(), 6)
        self.send_response(code)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The site of this repository's own knowledge base, served from loopback."""
    out = tmp_path_factory.mktemp("site") / "out"
    build(ROOT, out)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(out)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as runner:
        browser = runner.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """A tab that keeps what went wrong in it and what it asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.tab = self.context.new_page()
        self.address = address
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda m: self.problems.append(m.text) if m.type in ("error", "warning") else None)
        self.tab.on("pageerror", lambda error: self.problems.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))

    def go(self, place: str) -> Any:
        self.tab.goto(self.address + place, wait_until="networkidle")
        return self.tab

    def assert_clean(self) -> None:
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith((self.address, "blob:", "data:"))] == []


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    found = Visit(browser, address)
    yield found
    found.context.close()


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


def test_the_look_up_with_the_keyboard_alone(visit: Visit, tmp_path: Path) -> None:
    tab = visit.go("lookup/")
    for _ in range(60):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.id") == "rulebook-input":
            break
    text = "afd_plugin/config.py\nREADME.md\nno/such/place.txt"
    tab.keyboard.insert_text(text)
    while tab.evaluate("document.activeElement.type") != "submit":
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#rulebook-answer h2")
    with open_store(str(ROOT), str(tmp_path / "store")) as store:
        expected = ask_command(store, "afd-plugin", text.encode(), diff=False)
    assert json.loads(tab.get_attribute("#rulebook-answer", "data-json")) == expected
    assert "no/such/place.txt" in tab.inner_text("#rulebook-answer")
    tab.click("#rulebook-answer >> text=AFD-I1:")
    assert tab.url.endswith("/rules/afd-plugin/AFD-I1/")
    visit.assert_clean()


def test_a_question_can_be_shared(visit: Visit) -> None:
    tab = visit.go("zh/lookup/")
    tab.select_option("#rulebook-repo", "inferencex")
    tab.fill("#rulebook-input", "docs/waiver/1.md\nbenchmarks/x/控制 面.sh")
    tab.click("button[type=submit]")
    tab.wait_for_selector("#rulebook-share:visible")
    tab.wait_for_selector("#rulebook-answer *", state="attached")
    first = tab.get_attribute("#rulebook-answer", "data-json")
    link = tab.get_attribute("#rulebook-share", "href")
    tab.goto("about:blank")
    tab = visit.go("zh/lookup/" + link)
    tab.wait_for_selector("#rulebook-answer *", state="attached")
    assert tab.get_attribute("#rulebook-answer", "data-json") == first
    assert tab.input_value("#rulebook-repo") == "inferencex"
    visit.assert_clean()


def big_diff(size: int) -> bytes:
    random.seed(1)
    parts = []
    length = number = 0
    while length < size:
        lines = "".join(f"+value_{random.randrange(10**9)} = parse_extra_config({n})\n" for n in range(400))
        parts.append(
            f"diff --git a/afd_plugin/m{number}.py b/afd_plugin/m{number}.py\nindex 1111111..2222222 100644\n"
            f"--- a/afd_plugin/m{number}.py\n+++ b/afd_plugin/m{number}.py\n@@ -1,0 +1,400 @@\n{lines}"
        )
        length += len(parts[-1])
        number += 1
    return "".join(parts).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (big_diff(10 << 20), "rules apply"),
        (bytes(random.Random(5).choices(range(256), k=1 << 20)), None),
        (b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n", "cut"),
        (b"", "first"),
    ],
    ids=["10 MB", "rubbish", "cut", "empty"],
)
def test_whatever_file_is_given_the_page_answers(visit: Visit, content: bytes, said: str | None) -> None:
    tab = visit.go("lookup/")
    tab.set_input_files("#rulebook-file", {"name": "x.diff", "mimeType": "text/plain", "buffer": content})
    # The page itself stays quick while the answer is made elsewhere.
    assert (
        tab.evaluate(
            "new Promise(done => { const t = performance.now(); setTimeout(() => done(performance.now() - t), 0); })"
        )
        < 1000
    )
    playwright.expect(tab.locator("#rulebook-status")).not_to_have_text(re.compile(r"^(Working…)?$"), timeout=50_000)
    if said:
        assert said in tab.inner_text("#rulebook-status")
    visit.assert_clean()


def test_an_empty_paste_is_told(visit: Visit) -> None:
    tab = visit.go("lookup/")
    tab.fill("#rulebook-input", " \n ")
    tab.click("button[type=submit]")
    assert tab.inner_text("#rulebook-status") == "Paste paths or a diff first."
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
