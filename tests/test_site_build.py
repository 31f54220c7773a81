"""The built site: every page at its address, safe, in both languages, with its feeds."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import jsonschema
import pytest

from kb import make_kb, rule
from rulebook.errors import UnreadableInput
from rulebook.site import markup
from rulebook.site.content import host_link, read_content
from rulebook.site.pages import make_pages
from sitekit import ROOT, build

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:mkdocs.*", "ignore::DeprecationWarning:material.*")

SHA = "0123456789012345678901234567890123456789"
EVIL = (
    'Text <script>alert(1)</script> <img src=x onerror=alert(1)> <b onclick="x()">b</b> [l](javascript:alert(1)) '
    "[d](data:text/html,x) ![i](https://tracker.invalid/x.png) \u202egnp.exe `</code><script>x</script>`\n\n"
    "## __config\n\n<iframe src=https://evil.invalid></iframe>\n\n" + "|" + "x|" * 60 + "\n" + "|" + "-|" * 60 + "\n"
)


class Links(HTMLParser):
    """The targets, ids, event handlers and elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: list[str] = []
        self.handlers: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src"):
                self.targets.append(value or "")
            elif name == "id":
                self.ids.append(value or "")
            elif name.startswith("on"):
                self.handlers.append(name)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this repository's own knowledge base."""
    out = tmp_path_factory.mktemp("own") / "site"
    assert build(ROOT, out) == []
    return out


def test_the_addresses_that_others_rely_on(own: Path) -> None:
    for place in (
        "rules/afd-plugin/AFD-I4",
        "rules/inferencex/IX-P1",
        "lookup",
        "reviews/vllm-project/vllm/57112",
        "waivers/inferencex/2508",
    ):
        for tree in (own, own / "zh"):
            text = (tree / place / "index.html").read_text(encoding="utf-8")
            assert f'<html lang="{"zh" if tree.name == "zh" else "en"}"' in text
            assert (tree / place / "index.md").read_text(encoding="utf-8").startswith("# ")
    assert 'id="AFD-I4"' in (own / "rules/afd-plugin/AFD-I4/index.html").read_text(encoding="utf-8")


def test_every_link_within_the_site_leads_somewhere(own: Path) -> None:
    parsed: dict[Path, Links] = {}

    def page(path: Path) -> Links:
        if path not in parsed:
            parsed[path] = Links(path.read_text(encoding="utf-8"))
        return parsed[path]

    broken = []
    for path in own.rglob("*.html"):
        # The documents in docs/ may link to other files of the repository.
        if path.name == "404.html" or (ROOT / "docs" / f"{path.parent.name}.md").is_file():
            continue
        here = "https://site.invalid/" + path.relative_to(own).as_posix()
        for target in page(path).targets:
            address, anchor = urldefrag(urljoin(here, target))
            if not address.startswith("https://site.invalid/"):
                continue
            place = own / unquote(address.removeprefix("https://site.invalid/"))
            place = place / "index.html" if place.is_dir() else place
            if not place.is_file() or (
                anchor and not anchor.startswith("__") and unquote(anchor) not in page(place).ids
            ):
                broken.append((path.relative_to(own).as_posix(), target))
    assert broken == []


def test_the_feeds(own: Path) -> None:
    data = json.loads((own / "rules.json").read_text(encoding="utf-8"))
    schema = json.loads((own / "rules.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data, schema)
    entry = next(item for item in data["rules"] if item["id"] == "AFD-I4")
    assert (own / entry["url"] / "index.html").is_file()
    assert set(entry["title"]) == {"en", "zh"}
    listed = re.findall(r"\]\((\S+)\)", (own / "llms.txt").read_text(encoding="utf-8"))
    assert len(listed) > 40
    assert all((own / place).is_file() for place in listed)
    feed = ET.parse(own / "feed.atom").getroot()
    entries = feed.findall("{http://www.w3.org/2005/Atom}entry")
    assert len(entries) == len([item for item in data["rules"] if item["updated"]])
    assert ET.parse(own / "badges/rules.svg").getroot().attrib["aria-label"] == f"rules: {len(data['rules'])}"


def test_nothing_on_a_page_comes_from_elsewhere(own: Path) -> None:
    for path in own.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "Content-Security-Policy" in text, path
        loads = re.findall(
            r'<(?:script|img|iframe)[^>]*\ssrc="([^"]+)"|<link[^>]*rel="stylesheet"[^>]*href="([^"]+)"', text
        )
        assert not [item for pair in loads for item in pair if re.match(r"(?:https?:)?//", item)], path
        assert "style=" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL), path


def test_a_malicious_rule_changes_nothing_but_its_words(tmp_path: Path) -> None:
    plain = make_kb(tmp_path / "plain", {"rules/demo/D-1.md": rule("D-1", body="Text.\n")})
    title = "'</title><script>alert(2)</script> \u202e <img src=x onerror=alert(3)>'"
    evil = make_kb(tmp_path / "evil", {"rules/demo/D-1.md": rule("D-1", body=EVIL, title=title)})
    build(plain, tmp_path / "a")
    build(evil, tmp_path / "b")
    for path in (tmp_path / "b").rglob("*.html"):
        good = Links((tmp_path / "a" / path.relative_to(tmp_path / "b")).read_text(encoding="utf-8"))
        text = path.read_text(encoding="utf-8")
        bad = Links(text)
        for tag in ("script", "iframe", "img", "style", "form", "svg"):
            assert bad.tags.count(tag) == good.tags.count(tag), (path, tag)
        assert bad.handlers == good.handlers
        assert not [target for target in bad.targets if target.lower().startswith(("javascript:", "data:"))]
        assert bad.ids.count("__config") == good.ids.count("__config")
        assert "\u202e" not in text
        assert "tracker.invalid" not in text
    assert "\u202e" not in (tmp_path / "b/rules/demo/D-1/index.md").read_text(encoding="utf-8")


def test_a_rule_with_errors_is_named_and_shown_with_a_notice(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/demo/D-1.md": rule("D-1", severity="mild")})
    warnings = build(root, tmp_path / "site")
    assert any(re.search(r"rules/demo/D-1\.md:\d+: .*mild", text) for text in warnings)
    page = (tmp_path / "site/rules/demo/D-1/index.html").read_text(encoding="utf-8")
    assert "rules/demo/D-1.md:" in page
    assert "What is wrong in this file" in page


def test_what_stale_wrote_is_shown(tmp_path: Path) -> None:
    pin = f"demo@{SHA}:src/a.py#f"
    root = make_kb(tmp_path)
    config = '{"site_name": "S", "site_url": "https://s.invalid/x", "theme": "material", "plugins": [{"rulebook": %s}]}'
    settings = {"stale": "stale.json", "renamed": {"OLD-1": "DEMO-1"}}
    (root / "mkdocs.yml").write_text(config % json.dumps(settings))
    (root / "docs").mkdir()
    verdict = {"owner": "DEMO-1", "kind": "rule", "pin": pin, "state": "gone", "because": "the file was removed"}
    (root / "stale.json").write_text(json.dumps({"version": 1, "head": {"demo": SHA}, "pins": [verdict]}))
    build(root, tmp_path / "site")
    assert "gone: the file was removed" in (tmp_path / "site/rules/demo/DEMO-1/index.html").read_text(encoding="utf-8")
    assert "gone: 1" in (tmp_path / "site/badges/gone.svg").read_text().replace("sources gone", "gone")
    data = json.loads((tmp_path / "site/rules.json").read_text())
    assert data["rules"][0]["freshness"] == "gone"
    assert data["rules"][0]["url"] == "https://s.invalid/x/rules/demo/DEMO-1/"
    for tree in ("", "zh/"):
        assert 'url=../DEMO-1/"' in (tmp_path / f"site/{tree}rules/demo/OLD-1/index.html").read_text()
    (root / "stale.json").write_text('{"version": 2}')
    with pytest.raises(UnreadableInput):
        build(root, tmp_path / "site")


def test_a_rule_without_a_twin_says_so(tmp_path: Path) -> None:
    pages = {page.address: page for page in make_pages(read_content(str(make_kb(tmp_path))), "S")}
    assert "尚无中文版" in pages["zh/rules/demo/DEMO-1/"].markdown
    assert "no English version" not in pages["rules/demo/DEMO-1/"].markdown


@pytest.mark.parametrize(
    ("url", "pin", "expected"),
    [
        ("https://github.com/o/n.git", "#L3-L9", f"https://github.com/o/n/blob/{SHA}/src/a%20b.py#L3-L9"),
        ("https://gitlab.invalid/o/n", "#f", f"https://gitlab.invalid/o/n/-/blob/{SHA}/src/a%20b.py"),
        ("git@github.com:o/n.git", "", ""),
    ],
)
def test_pins_link_to_their_host(tmp_path: Path, url: str, pin: str, expected: str) -> None:
    root = make_kb(tmp_path, {"rulebook.toml": f'[repos.demo]\nurl = "{url}"\n', "rules/demo/D-1.md": rule("D-1")})
    assert host_link(read_content(str(root)), f"demo@{SHA}:src/a b.py{pin}") == expected


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>"),
        ("[a](javascript:x)", "<p>[a](javascript:x)</p>"),
        ("![alt *words*](https://x.invalid/y.png)", "<p>alt words</p>"),
        ("- a\n  - b", "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>"),
        ("# __a b\n## A b\n## a-b", '<h1 id="a-b">__a b</h1>\n<h2 id="a-b-2">A b</h2>\n<h2 id="a-b-3">a-b</h2>'),
        ("a\u202eb", "<p>a\\u202eb</p>"),
    ],
)
def test_markdown_is_made_safe(text: str, html: str) -> None:
    assert markup.render(text).html.strip() == html
