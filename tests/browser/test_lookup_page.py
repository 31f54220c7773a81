"""The look-up page in headless Chromium: asked with the keyboard, by a shared address, and with whatever a file holds."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from browserkit import BROWSER_TESTS, Visit
from rulebook.store.opening import open_store
from sitekit import ROOT, ask_command

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = BROWSER_TESTS


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
