"""The look-up page in headless Chromium: asked by keyboard, mouse, file, clipboard and address, in both languages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from browserkit import AXE, BROWSER_TESTS, MAX_SHIFT, Visit
from rulebook.store.opening import open_store
from sitekit import ROOT, ask_command, ask_command_for_texts

if TYPE_CHECKING:
    from rulebook.store.query import Store

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = BROWSER_TESTS

ANSWER = "#rulebook-answer .rulebook-toolbar"
PATHS = "afd_plugin/config.py\nREADME.md\nno/such/place.txt"
#: A connector that moves, an import that is added, and a name without a rule.
DIFF = """\
diff --git a/afd_plugin/connectors/old.py b/afd_plugin/connectors/gpu/new.py
similarity index 90%
rename from afd_plugin/connectors/old.py
rename to afd_plugin/connectors/gpu/new.py
index 1111111..2222222 100644
--- a/afd_plugin/connectors/old.py
+++ b/afd_plugin/connectors/gpu/new.py
@@ -1,2 +1,3 @@
 import os
+import torch
 x = 1
diff --git a/afd_plugin/connectors/factory.py b/afd_plugin/connectors/factory.py
index 1111111..2222222 100644
--- a/afd_plugin/connectors/factory.py
+++ b/afd_plugin/connectors/factory.py
@@ -1 +1,4 @@
 y = 1
+AFDConnectorFactory.register_connector(
+    "newconnector",
+)
diff --git a/notes/todo.txt b/notes/todo.txt
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ b/notes/todo.txt
@@ -0,0 +1 @@
+later
"""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    """This repository's own knowledge base."""
    with open_store(str(ROOT), str(tmp_path / "store")) as store:
        yield store


def open_page(visit: Visit, place: str = "lookup/", repo: str = "afd-plugin") -> Any:
    tab = visit.go(place)
    tab.select_option("#rulebook-repo", repo)
    return tab


def ask(tab: Any, text: str) -> None:
    tab.fill("#rulebook-input", text)
    tab.click("button[type=submit]")
    tab.wait_for_selector(ANSWER)


def downloaded(tab: Any) -> str:
    with tab.expect_download() as found:
        tab.locator(".rulebook-toolbar").get_by_role("button", name=re.compile("JSON")).click()
    return Path(found.value.path()).read_text(encoding="utf-8")


def test_with_the_keyboard_alone(visit: Visit, own: Store) -> None:
    tab = visit.go("lookup/")
    for _ in range(60):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.id") == "rulebook-repo":
            break
    tab.keyboard.type("afd")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") == "rulebook-input"
    tab.keyboard.insert_text(PATHS)
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector(ANSWER)
    assert json.loads(downloaded(tab)) == ask_command(own, "afd-plugin", PATHS.encode(), diff=False)
    # Whoever cannot see the page goes on at the answer.
    tab.keyboard.press("Shift+Tab")
    while tab.evaluate("document.activeElement.type") != "submit":
        tab.keyboard.press("Shift+Tab")
    tab.keyboard.press("Enter")
    playwright.expect(tab.locator("#rulebook-answer h2")).to_be_focused()
    assert re.fullmatch(r"\d+ direct, \d+ possible, 1 path uncovered", tab.text_content("#rulebook-status"))
    tab.locator("#rulebook-answer").get_by_role("link", name=re.compile("AFD-I1 ")).press("Enter")
    tab.wait_for_url("**/rules/afd-plugin/AFD-I1/")
    visit.assert_clean()


def test_what_is_downloaded_and_copied_is_what_the_command_writes(visit: Visit, own: Store) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = open_page(visit)
    ask(tab, DIFF)
    expected = ask_command_for_texts(own, "afd-plugin", DIFF.encode(), diff=True)
    assert downloaded(tab) == expected["json"]
    tab.get_by_role("button", name="Copy as Markdown").click()
    playwright.expect(tab.locator("#rulebook-status")).to_have_text("Copied.")
    assert tab.evaluate("navigator.clipboard.readText()") == expected["markdown"]
    visit.assert_clean()


def test_where_nothing_may_be_copied_the_text_is_shown(visit: Visit) -> None:
    tab = open_page(visit)
    tab.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    ask(tab, PATHS)
    tab.get_by_role("button", name="Copy as Markdown").click()
    tab.wait_for_selector(".rulebook-copy")
    assert tab.evaluate("document.activeElement.value.slice(document.activeElement.selectionStart)").startswith("## ")
    visit.assert_clean()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (
            "lookup/",
            [
                "Direct (",
                "Possible (",
                "No rule covers (1)",
                "factory.py:2 matches",
                "+ AFDConnectorFactory.register_connector(",
                "not changed along: /README.md",
                "asked for by afd_plugin/connectors/factory.py:3",
                "afd_plugin/connectors/old.py (moved to afd_plugin/connectors/gpu/new.py)",
                "notes/todo.txt",
                "Adding or renaming a connector",
                "12 rules and 8 digests examined",
            ],
        ),
        (
            "zh/lookup/",
            [
                "直接相关（",
                "可能相关（",
                "没有规则覆盖（1）",
                "factory.py:2 匹配",
                "未一并改动： /README.md",
                "由 afd_plugin/connectors/factory.py:3 要求",
                "afd_plugin/connectors/old.py（移到 afd_plugin/connectors/gpu/new.py）",
                "新增 connector 或给它改名",
            ],
        ),
    ],
    ids=["English", "Chinese"],
)
def test_the_answer_in_words(visit: Visit, place: str, said: list[str]) -> None:
    tab = open_page(visit, place)
    ask(tab, DIFF)
    tab.eval_on_selector_all("#rulebook-answer details", "all => all.forEach(item => { item.open = true; })")
    tab.wait_for_timeout(100)
    text = re.sub(r"\s+", " ", tab.inner_text("#rulebook-answer"))
    assert [words for words in said if words not in text] == []
    links = tab.eval_on_selector_all("#rulebook-answer a[href]:not(#rulebook-share)", "all => all.map(a => a.href)")
    assert links
    tree = place.removesuffix("lookup/")
    assert [link for link in links if not link.startswith(f"{visit.address}{tree}rules/")] == []
    visit.assert_clean()


@pytest.mark.parametrize(
    "text",
    [
        "docs/waiver/1.md\nbenchmarks/x/控制 面.sh",
        "R090\tbenchmarks/a.sh\tbenchmarks/b&c=#+%.sh\n\nM\tx y.md\n",
        '"na\\303\\257ve.txt"\n<script>x</script>/a',
        "benchmarks/a\u202eb.sh\n\U0001f600\ntrailing \n",
    ],
    ids=["Chinese", "statuses", "quoted", "odd"],
)
def test_a_question_comes_back_from_its_link(visit: Visit, text: str) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = open_page(visit, "zh/lookup/", "inferencex")
    ask(tab, text)
    first = downloaded(tab)
    tab.click("#rulebook-share")
    playwright.expect(tab.locator("#rulebook-status")).to_have_text("链接已复制，也显示在地址栏中。")
    link = tab.evaluate("navigator.clipboard.readText()")
    assert link == tab.url
    assert parse_qs(urlsplit(link).fragment, keep_blank_values=True) == {"repo": ["inferencex"], "paths": [text]}
    tab.goto("about:blank")
    tab.goto(link)
    tab.wait_for_selector(ANSWER)
    assert tab.input_value("#rulebook-repo") == "inferencex"
    assert tab.input_value("#rulebook-input") == text
    assert downloaded(tab) == first
    visit.assert_clean()


def test_what_is_too_long_for_a_link_says_so(visit: Visit) -> None:
    tab = open_page(visit)
    ask(tab, "a/b.py\n" * 2000)
    assert "Too long to share as a link" in tab.inner_text(".rulebook-toolbar")
    assert not tab.locator("#rulebook-share").count()
    tab.set_input_files("#rulebook-file", {"name": "x.txt", "mimeType": "text/plain", "buffer": b"README.md"})
    playwright.expect(tab.locator(".rulebook-toolbar")).to_contain_text("share the file itself")
    visit.assert_clean()


def test_no_repository_is_guessed(visit: Visit) -> None:
    tab = visit.go("lookup/#repo=elsewhere%3Cb%3E&paths=README.md")
    playwright.expect(tab.locator("#rulebook-status")).to_contain_text(
        "the repository elsewhere<b>, which is not known"
    )
    assert tab.input_value("#rulebook-input") == "README.md"
    assert tab.input_value("#rulebook-repo") == ""
    assert tab.evaluate("document.querySelector('#rulebook-lookup').checkValidity()") is False
    tab.set_input_files("#rulebook-file", {"name": "x.txt", "mimeType": "text/plain", "buffer": b"README.md"})
    playwright.expect(tab.locator("#rulebook-status")).to_have_text("Choose the repository that the paths belong to.")
    # What was given is kept, and the choice is remembered.
    tab.select_option("#rulebook-repo", "afd-plugin")
    tab.click("button[type=submit]")
    tab.wait_for_selector(ANSWER)
    assert json.loads(downloaded(tab))["repo"] == "afd-plugin"
    visit.go("zh/lookup/")
    assert tab.input_value("#rulebook-repo") == "afd-plugin"
    visit.assert_clean()


def test_what_was_given_before_the_script_came_stays(visit: Visit) -> None:
    waiting: list[Any] = []

    def hold(route: Any) -> None:
        waiting.append(route)

    visit.context.route("**/lookup.js", hold)
    tab = visit.tab
    tab.goto(visit.address + "lookup/", wait_until="domcontentloaded")
    tab.select_option("#rulebook-repo", "inferencex")
    tab.fill("#rulebook-input", "docs/waiver/1.md")
    assert tab.is_disabled("button[type=submit]")
    playwright.expect(tab.locator("#rulebook-status")).to_have_text("")
    while not waiting:
        tab.wait_for_timeout(20)
    waiting.pop().continue_()
    tab.click("button[type=submit]")
    tab.wait_for_selector(ANSWER)
    assert json.loads(downloaded(tab))["repo"] == "inferencex"
    visit.assert_clean()


def test_an_example_and_clearing_it(visit: Visit) -> None:
    tab = open_page(visit)
    beginning = tab.inner_text("#rulebook-answer")
    assert "git diff" in beginning
    tab.get_by_role("button", name="Try an example").click()
    tab.wait_for_selector(ANSWER)
    assert len(json.loads(downloaded(tab))["rules"]) > 1
    assert "No rule covers" not in tab.inner_text("#rulebook-answer")
    tab.locator("#rulebook-lookup").get_by_role("button", name="Clear").click()
    assert tab.input_value("#rulebook-input") == ""
    assert tab.inner_text("#rulebook-answer") == beginning
    visit.assert_clean()


@pytest.mark.parametrize("size", [{"width": 1280, "height": 900}, {"width": 360, "height": 640}], ids=["wide", "phone"])
def test_nothing_moves_when_the_answer_comes(browser: Any, address: str, size: dict[str, int]) -> None:
    visit = Visit(browser, address, viewport=size)
    # An answer may take longer than the half second after which a browser counts movements.
    visit.tab.add_init_script(
        "window.shift = 0; new PerformanceObserver(list => { for (const entry of list.getEntries())"
        " window.shift += entry.value; }).observe({type: 'layout-shift', buffered: true});"
    )
    tab = open_page(visit)
    tab.evaluate("window.shift = 0")
    tab.evaluate(
        """text => {
            document.querySelector('#rulebook-input').value = text;
            document.querySelector('#rulebook-lookup').requestSubmit();
        }""",
        DIFF,
    )
    tab.wait_for_selector(ANSWER)
    tab.wait_for_timeout(300)
    assert tab.evaluate("window.shift") < MAX_SHIFT
    assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"]
    visit.assert_clean()
    visit.context.close()


def test_an_answer_on_paper_is_whole(visit: Visit) -> None:
    tab = open_page(visit)
    ask(tab, "\n".join(f"folder{number % 3}/x{number}" for number in range(60)))
    assert not tab.is_visible("text=folder1/x1")
    assert tab.pdf(format="A4").startswith(b"%PDF")
    tab.emulate_media(media="print")
    assert tab.is_visible("#rulebook-answer >> text=folder1/x1")
    assert not tab.is_visible("#rulebook-lookup")
    assert not tab.is_visible(".rulebook-toolbar")


@pytest.mark.skipif(AXE is None, reason="axe-core is not installed (npm install --prefix .venv/axe axe-core)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", ["lookup/", "zh/lookup/"])
def test_an_answer_is_accessible_to_everybody(browser: Any, address: str, place: str, scheme: str) -> None:
    # axe-core is put into the page from outside, which the site's own policy would refuse.
    visit = Visit(browser, address, color_scheme=scheme, bypass_csp=True)
    tab = open_page(visit, place)
    ask(tab, DIFF + DIFF.replace("afd_plugin", "other").replace("notes", "afd_plugin/models"))
    tab.eval_on_selector_all("#rulebook-answer details", "all => all.forEach(item => { item.open = true; })")
    tab.wait_for_timeout(300)
    tab.add_script_tag(path=str(AXE))
    found = tab.evaluate("axe.run().then(result => result.violations)")
    assert [(item["id"], [node["html"][:200] for node in item["nodes"]][:3]) for item in found] == []
    visit.context.close()


def test_an_empty_question_is_told(visit: Visit) -> None:
    tab = open_page(visit)
    tab.fill("#rulebook-input", " \n ")
    tab.click("button[type=submit]")
    assert tab.inner_text("#rulebook-status") == "Paste paths or a diff first."
    visit.assert_clean()
