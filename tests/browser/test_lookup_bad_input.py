"""Whatever is pasted, chosen or dropped: the look-up page answers or says what is wrong, and goes on working meanwhile."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from browserkit import BROWSER_TESTS, Visit, serve
from kb import make_kb, rule
from sitekit import build

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = BROWSER_TESTS

SETTLED = re.compile(r"^(?!Working…$)(?=.)")


def big_diff(size: int) -> bytes:
    random.seed(1)
    parts: list[str] = []
    length = 0
    while length < size:
        lines = "".join(f"+value_{random.randrange(10**9)} = parse_extra_config({n})\n" for n in range(400))
        name = f"afd_plugin/m{len(parts)}.py"
        parts.append(
            f"diff --git a/{name} b/{name}\nindex 1111111..2222222 100644\n--- a/{name}\n+++ b/{name}\n"
            f"@@ -1,0 +1,400 @@\n{lines}"
        )
        length += len(parts[-1])
    return "".join(parts).encode()


DIFF = b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


class Input(NamedTuple):
    """What somebody gives to the page, and what the page is to say; ``is_heavy``: that takes a while."""

    content: bytes
    said: str
    is_heavy: bool = False
    #: What comes of it as text, which cannot hold every byte.
    said_of_text: str = ""


INPUTS = {
    "a diff of 10 MB": Input(big_diff(10 << 20), r"\d+ direct, \d+ possible", is_heavy=True),
    "200,000 paths": Input(
        "\n".join(f"afd_plugin/folder{n % 97}/module{n}.py" for n in range(200_000)).encode(),
        "200,000 paths uncovered",
        is_heavy=True,
    ),
    "a line of 10 MB": Input(b"x" * (10 << 20), "longer than 4096 characters"),
    "a line of 10 MB in a diff": Input(DIFF.replace(b"+b", b"+" + b"b " * (5 << 20)), "1 path uncovered"),
    "binary rubbish": Input(bytes(random.Random(5).choices(range(256), k=1 << 20)), "cannot be read"),
    "NUL between paths": Input(b"README.md\0x\xff y\0", "1 path uncovered", said_of_text=" possible"),
    "NUL in lines": Input(b"a\0b\nc\n", "holds NUL characters", said_of_text=" possible|holds NUL"),
    "nothing": Input(b"", "Paste paths or a diff first"),
    "blanks": Input(b" \n\t\n \n", "cannot|uncovered", said_of_text="Paste paths or a diff first"),
    "a diff that is cut": Input(DIFF[:-3], "is cut after line 6"),
    "a diff that is damaged": Input(DIFF.replace(b"\n-a", b"\nxa"), "is damaged at line 6"),
    "a diff in colour": Input(b"\x1b[1mdiff --git a/x b/x\x1b[m\n", "coloured"),
    "a diff in UTF-16": Input(b"\xff\xfe" + DIFF.decode().encode("utf-16-le"), "1 path uncovered", said_of_text="."),
    "a path that leaves": Input(b"../../etc/passwd\n", "is outside of the repository"),
    "an absolute path": Input(b"/etc/passwd\n", "is an absolute path"),
    "markup": Input(b"<img src=x onerror=alert(1)>\n<script>alert(1)</script>\n", "2 paths uncovered"),
}


def choose(tab: Any, content: bytes) -> None:
    tab.set_input_files("#rulebook-file", {"name": "x.diff", "mimeType": "text/plain", "buffer": content})


def drop(tab: Any, content: bytes) -> None:
    tab.evaluate(
        """([content, names]) => {
            const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0));
            const data = new DataTransfer();
            for (const name of names) data.items.add(new File([bytes], name));
            const form = document.querySelector("#rulebook-lookup");
            const fire = (kind) => form.dispatchEvent(
                new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
            fire("dragenter");
            const shown = getComputedStyle(document.querySelector(".rulebook-lookup__drop")).display;
            if (shown === "none") throw new Error("where to drop is not shown");
            if (fire("dragover")) throw new Error("the browser would open the file");
            if (fire("drop")) throw new Error("the browser would open the file");
        }""",
        [base64.b64encode(content).decode(), ["x.diff"]],
    )


def paste(tab: Any, content: bytes) -> None:
    """Through the system's clipboard, which holds text only."""
    tab.evaluate("text => navigator.clipboard.writeText(text)", content.decode("utf-8", "replace"))
    tab.focus("#rulebook-input")
    tab.keyboard.press("Control+V")
    if not tab.inner_text("#rulebook-held"):
        tab.click("button[type=submit]")


class Log:
    """What happened in the page, in its order: keys that were pressed, and what the page said."""

    def __init__(self, tab: Any) -> None:
        self.tab = tab
        tab.evaluate(
            """() => {
                window.log = [];
                document.addEventListener("keydown", (event) => { if (event.key === "Shift") window.log.push("key"); });
                const status = document.querySelector("#rulebook-status");
                new MutationObserver(() => window.log.push(status.textContent))
                    .observe(status, {childList: true, characterData: true, subtree: true});
            }"""
        )

    def press_until_settled(self) -> list[str]:
        pressed = 0
        for _ in range(1500):
            self.tab.keyboard.press("Shift")
            pressed += 1
            if SETTLED.search(self.tab.text_content("#rulebook-status")):
                break
            self.tab.wait_for_timeout(20)
        found = list(self.tab.evaluate("window.log"))
        assert found.count("key") == pressed
        return found


@pytest.mark.parametrize("way", [choose, drop, paste], ids=["chosen", "dropped", "pasted"])
@pytest.mark.parametrize("given", INPUTS.values(), ids=INPUTS)
def test_an_answer_or_a_clear_message(visit: Visit, given: Input, way: Callable[[Any, bytes], None]) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = visit.go("lookup/")
    tab.select_option("#rulebook-repo", "afd-plugin")
    # A busy machine may be idle on the network before the look-up's script has run.
    playwright.expect(tab.locator("#rulebook-example")).to_be_enabled()
    log = Log(tab)
    way(tab, given.content)
    found = log.press_until_settled()
    said = (given.said_of_text if way is paste else "") or given.said
    assert re.search(said, found[-1] if found[-1] != "key" else found[-2]), found[-3:]
    if given.is_heavy:
        # While the answer was made elsewhere, the page was handed what its user did.
        working = len(found) - 1 - found[::-1].index("Working…")
        assert "key" in found[working:-1]
    has_answer = tab.locator("#rulebook-answer .rulebook-toolbar").count() == 1
    assert has_answer == (re.search(r"\d direct", found[-1] + found[-2]) is not None)
    visit.assert_clean()


@pytest.mark.parametrize("text", ["\\ud800", "a\\udc80/\\ud83d.py", "\\ud83d\\ude00"], ids=["alone", "among", "paired"])
def test_halves_of_characters(visit: Visit, text: str) -> None:
    tab = visit.go("lookup/")
    tab.select_option("#rulebook-repo", "afd-plugin")
    tab.focus("#rulebook-input")
    tab.evaluate(f"() => document.execCommand('insertText', false, '{text}')")
    tab.click("button[type=submit]")
    playwright.expect(tab.locator("#rulebook-status")).to_have_text("0 direct, 0 possible, 1 path uncovered")
    visit.assert_clean()


def test_text_that_is_put_in_at_once_is_kept_beside_the_field(visit: Visit) -> None:
    tab = visit.go("lookup/")
    tab.select_option("#rulebook-repo", "afd-plugin")
    tab.focus("#rulebook-input")
    tab.keyboard.insert_text("README.md\n" + "x/y.py\n" * 100_000)
    playwright.expect(tab.locator("#rulebook-status")).to_contain_text("1 path uncovered")
    assert tab.input_value("#rulebook-input") == ""
    assert "pasted text, 700 kB" in tab.inner_text("#rulebook-held")
    visit.assert_clean()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("data.items.add(new File(['README.md'], 'a')); data.items.add(new File(['README.md'], 'b'));", "one file"),
        ("data.items.add(new File([new Uint8Array(65 << 20)], 'a'));", "larger than 64 MiB"),
        (
            """const lost = new File(['x'], 'lost<b>'); data.items.add(lost);
            File.prototype.arrayBuffer = () => Promise.reject(new Error('it is a folder'));""",
            "lost<b> cannot be read",
        ),
    ],
    ids=["two files", "too large", "unreadable"],
)
def test_files_that_cannot_be_taken(visit: Visit, script: str, said: str) -> None:
    tab = visit.go("lookup/")
    tab.select_option("#rulebook-repo", "afd-plugin")
    tab.evaluate(
        f"""() => {{
            const data = new DataTransfer();
            {script}
            document.body.dispatchEvent(new DragEvent("drop", {{dataTransfer: data, bubbles: true, cancelable: true}}));
        }}"""
    )
    playwright.expect(tab.locator("#rulebook-status")).to_contain_text(said)
    visit.assert_clean()


# --- expressions that never end ---------------------------------------------------------------


@pytest.fixture(scope="module")
def stuck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site whose data has an expression that takes exponential time, as no build lets one through."""
    folder = tmp_path_factory.mktemp("stuck")
    files = {
        "rules/demo/D-1.md": rule("D-1", look_for="[{lines: xy}]"),
        "rules/demo/D-2.md": rule("D-2", look_for="[{lines: never}]"),
    }
    build(make_kb(folder, files), folder / "out")
    data = folder / "out/lookup/data/demo.json"
    content = json.loads(data.read_text(encoding="utf-8"))
    (endless,) = [line for item in content["rules"] for line in item["look_for"][0]["lines"] if line[0] == "never"]
    endless[1] = "(x+x+)+y"
    data.write_text(json.dumps(content), encoding="utf-8")
    with serve(folder / "out") as address:
        yield address


ENDLESS = "diff --git a/src/a b/src/a\nindex 1..2 100644\n--- a/src/a\n+++ b/src/a\n@@ -0,0 +1 @@\n+" + "x" * 60 + "\n"


def test_an_expression_that_never_ends_is_ended_and_named(browser: Any, stuck: str) -> None:
    visit = Visit(browser, stuck)
    tab = visit.go("lookup/")
    tab.evaluate("() => { document.querySelector('#rulebook-lookup').dataset.seconds = 2; }")
    log = Log(tab)
    tab.fill("#rulebook-input", ENDLESS)
    tab.click("button[type=submit]")
    found = log.press_until_settled()
    assert "key" in found[found.index("Working…") : -1]
    message = "No answer within 2 seconds: the expressions of D-2 take too long on these lines. Ask the command line."
    assert message in found
    assert tab.is_disabled("#rulebook-stop")
    # Another question is answered.
    tab.fill("#rulebook-input", "src/a")
    tab.click("button[type=submit]")
    playwright.expect(tab.locator("#rulebook-status")).to_have_text("0 direct, 2 possible")
    visit.assert_clean()
    visit.context.close()


def test_whoever_asked_can_stop(browser: Any, stuck: str) -> None:
    visit = Visit(browser, stuck)
    tab = visit.go("lookup/")
    tab.fill("#rulebook-input", ENDLESS)
    tab.click("button[type=submit]")
    playwright.expect(tab.locator("#rulebook-status")).to_have_text("Working…")
    tab.click("#rulebook-stop")
    playwright.expect(tab.locator("#rulebook-status")).to_have_text("Stopped.")
    tab.fill("#rulebook-input", "src/a")
    tab.click("button[type=submit]")
    playwright.expect(tab.locator("#rulebook-status")).to_have_text("0 direct, 2 possible")
    visit.assert_clean()
    visit.context.close()


def test_data_that_cannot_be_had_is_told_and_tried_again(visit: Visit) -> None:
    visit.context.route("**/lookup/data/*.json", lambda route: route.fulfill(status=503, body="later"))
    tab = visit.go("lookup/")
    tab.select_option("#rulebook-repo", "afd-plugin")
    tab.fill("#rulebook-input", "README.md")
    tab.click("button[type=submit]")
    playwright.expect(tab.locator("#rulebook-status")).to_contain_text("Something went wrong: 503")
    visit.context.unroute("**/lookup/data/*.json")
    tab.click("button[type=submit]")
    playwright.expect(tab.locator("#rulebook-status")).to_contain_text(" possible")
    visit.context.close()
