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
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gitrepo import GitRepo
from kb import CONFIG, make_kb, rule
from rulebook.errors import UnreadableInput
from rulebook.model import On, Signal
from rulebook.render.safe import one_line
from rulebook.site import blocks, html, markup, md, words
from rulebook.site.content import host_link, read_content
from rulebook.site.indexes import place_of
from rulebook.site.links import Host, find_host, relative
from rulebook.site.pages import make_pages
from rulebook.site.signals import say_signal
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


def broken_links(site: Path) -> list[tuple[str, str]]:
    """The links of a site's pages that lead to no page or to no place on it, each with its page."""
    parsed: dict[Path, Links] = {}

    def page(path: Path) -> Links:
        if path not in parsed:
            parsed[path] = Links(path.read_text(encoding="utf-8"))
        return parsed[path]

    broken = []
    for path in site.rglob("*.html"):
        here = "https://site.invalid/" + path.relative_to(site).as_posix()
        for target in page(path).targets:
            address, anchor = urldefrag(urljoin(here, target))
            if not address.startswith("https://site.invalid/"):
                continue
            place = site / unquote(address.removeprefix("https://site.invalid/").partition("?")[0])
            place = place / "index.html" if place.is_dir() else place
            # The theme's own places begin with `__`; those of the look-up page are questions.
            is_place = anchor and not anchor.startswith("__") and "=" not in anchor
            if not place.is_file() or (is_place and unquote(anchor) not in page(place).ids):
                broken.append((path.relative_to(site).as_posix(), target))
    return broken


def broken_copies(site: Path) -> list[tuple[str, str]]:
    """The same for the Markdown beside the pages."""
    broken = []
    for path in site.rglob("index.md"):
        tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
        links = [child for token in tokens for child in token.children or () if child.type == "link_open"]
        for target in (str(link.attrs["href"]) for link in links):
            if not re.match(r"[a-z]+:|#", target):
                place = path.parent / unquote(urldefrag(target)[0])
                if not place.is_file():
                    broken.append((path.relative_to(site).as_posix(), target))
    return broken


def test_every_link_within_the_site_leads_somewhere(own: Path) -> None:
    assert broken_links(own) == []
    assert broken_copies(own) == []


def test_every_page_has_a_markdown_copy(own: Path) -> None:
    pages = {path.parent for path in own.rglob("index.html")}
    assert len(pages) > 60
    assert own / "architecture" in pages
    for folder in pages:
        text = (folder / "index.md").read_text(encoding="utf-8")
        assert text.startswith("# "), folder
        shown = (folder / "index.html").read_text(encoding="utf-8")
        assert '<link rel="alternate " type="text/markdown" href="index.md">' in shown


def test_rules_json_is_as_its_schema_says(own: Path) -> None:
    data = json.loads((own / "rules.json").read_text(encoding="utf-8"))
    schema = json.loads((own / "rules.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data, schema)
    entry = next(item for item in data["rules"] if item["id"] == "AFD-I4")
    assert (own / entry["url"] / "index.html").is_file()
    assert set(entry["title"]) == {"en", "zh"}


def llms_sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """The links of an ``llms.txt`` by section, read as llmstxt.org describes it."""
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    assert re.match(r"# \S.*\n\n> \S.*\n", head)
    found = {}
    for section in sections:
        title, *lines = section.strip().split("\n")
        links = [re.fullmatch(r"- \[(.+)\]\(<?(.+?)>?\)(?:: .+)?", line) for line in lines if line]
        assert all(links), section
        found[title] = [(link[1], link[2]) for link in links if link]
    return found


def test_llms_txt_lists_every_page(own: Path) -> None:
    sections = llms_sections((own / "llms.txt").read_text(encoding="utf-8"))
    assert list(sections) == ["Overview", "Rules", "Review digests", "Waivers", "Documentation", "Optional"]
    listed = {place for links in sections.values() for _, place in links}
    assert listed == {path.relative_to(own).as_posix() for path in own.rglob("index.md")}
    assert {place.partition("/")[0] for _, place in sections["Optional"]} == {"zh"}


ATOM = "{http://www.w3.org/2005/Atom}"


def assert_atom(text: str) -> list[ET.Element]:
    """What RFC 4287 demands of a feed and of its entries, of which it returns the list."""
    feed = ET.fromstring(text)
    assert feed.tag == f"{ATOM}feed"
    entries = feed.findall(f"{ATOM}entry")
    for element in (feed, *entries):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1, name
        moment = element.findtext(f"{ATOM}updated") or ""
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", moment)
        # Section 4.2.6: an absolute IRI.
        assert re.match(r"https://[^/]+/|urn:uuid:[0-9a-f-]{36}$", element.findtext(f"{ATOM}id") or "")
    assert feed.findtext(f"{ATOM}author/{ATOM}name")
    ids = [entry.findtext(f"{ATOM}id") for entry in entries]
    assert len(ids) == len(set(ids))
    # Section 4.1.2: an entry without content has an alternate link, of each type one.
    assert all(len(entry.findall(f"{ATOM}link")) == 1 for entry in entries)
    moments = [entry.findtext(f"{ATOM}updated") for entry in entries]
    assert moments == sorted(moments, key=str, reverse=True)
    return entries


def test_the_feed_has_every_dated_rule(own: Path) -> None:
    entries = assert_atom((own / "feed.atom").read_text(encoding="utf-8"))
    data = json.loads((own / "rules.json").read_text(encoding="utf-8"))
    assert len(entries) == len([item for item in data["rules"] if item["updated"]])


def test_badges_are_pictures_with_a_name(own: Path) -> None:
    badges = sorted((own / "badges").glob("*.svg"))
    assert badges
    for path in badges:
        root = ET.parse(path).getroot()
        name = root.attrib["aria-label"]
        assert root.attrib["role"] == "img"
        assert root.findtext("{http://www.w3.org/2000/svg}title") == name
        shown = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert name == f"{shown[0]}: {shown[1]}"
    count = len(json.loads((own / "rules.json").read_text(encoding="utf-8"))["rules"])
    assert ET.parse(own / "badges/rules.svg").getroot().attrib["aria-label"] == f"rules: {count}"


def test_nothing_on_a_page_comes_from_elsewhere(own: Path) -> None:
    for path in own.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "Content-Security-Policy" in text, path
        loads = re.findall(
            r'<(?:script|img|iframe)[^>]*\ssrc="([^"]+)"|<link[^>]*rel="stylesheet"[^>]*href="([^"]+)"', text
        )
        assert not [item for pair in loads for item in pair if re.match(r"(?:https?:)?//", item)], path
        assert "style=" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL), path


#: A value for every key that is shown: markup, an attribute's end, a link that runs, letters that turn the text around.
EVIL_WORD = (
    "\"'></title><script>alert(2)</script> \u202e <img src=x onerror=alert(3)> [x](javascript:x) ${{x}} {{ 7*7 }}"
)


def evil_files() -> dict[str, str]:
    """One document of each kind with the same value everywhere."""
    text = json.dumps(EVIL_WORD, ensure_ascii=False)
    rule_text = rule(
        "D-1",
        body=EVIL,
        title=text,
        tags=f"[{text}]",
        applies_to=f'["src/**", "!src/{EVIL_WORD.replace(chr(34), "")}"]',
        look_for=f"[{{identifiers: [{text}], lines: [{text}], functions: [{text}], inside: [{text}], on: added}}]",
        co_changes=f"[{{when: {{inside: [{text}]}}, then: [{text}], because: {text}}}]",
        provenance=f"[{text}]",
        related=f"[{text}]",
        superseded_by=f"[{text}]",
        status="superseded",
        since=text,
        because=text,
        created=text,
        sources=f'["demo@{SHA}:src/<img src=x>.py#<b>", {{pin: unknown, url: "javascript:alert(1)"}}, {text}]',
    )
    review = (
        f'---\nid: "o/n#1"\ntitle: {text}\nrepo: {text}\npr: 1\nlabels: [{text}]\ntouches: [{text}]\n'
        f"reading: {text}\nauthor: {text}\nopened: {text}\nsources: []\n---\n## What to take away\n\n{EVIL}"
    )
    waiver = (
        f"---\ntitle: {text}\nrepo: demo\npr: 7\nrule: {text}\ncreated: {text}\nexpires: {text}\nremoval: {text}\n"
        f"called_from: [{text}]\nconfigs: [{text}]\nimages: [{text}]\nupstream: ['javascript:alert(1)', {text}]\n"
        f"patches: [{{path: {text}, targets: [{text}]}}]\n---\n{EVIL}"
    )
    return {"rules/demo/D-1.md": rule_text, "reviews/o/n/1.md": review, "waivers/demo/7.md": waiver}


def test_malicious_documents_change_nothing_but_their_words(tmp_path: Path) -> None:
    names = ("rules/demo/D-1.md", "reviews/o/n/1.md", "waivers/demo/7.md")
    files = evil_files()
    assert tuple(files) == names
    evil = make_kb(tmp_path / "evil", files)
    # The same documents with words that are harmless; what is wrong with them is the same as well.
    calm = {
        name: text.replace(EVIL, "Text.\n").replace(json.dumps(EVIL_WORD, ensure_ascii=False), '"Word"')
        for name, text in files.items()
    }
    plain = make_kb(tmp_path / "plain", calm)
    build(plain, tmp_path / "a")
    build(evil, tmp_path / "b")
    pages = [path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*.html")]
    assert {"rules/demo/D-1/index.html", "zh/reviews/o/n/1/index.html", "waivers/demo/7/index.html"} <= {
        path.as_posix() for path in pages
    }
    for path in pages:
        good = Links((tmp_path / "a" / path).read_text(encoding="utf-8"))
        text = (tmp_path / "b" / path).read_text(encoding="utf-8")
        bad = Links(text)
        for tag in ("script", "iframe", "img", "style", "form", "svg", "input", "button", "title", "link", "meta"):
            assert bad.tags.count(tag) == good.tags.count(tag), (path, tag)
        assert bad.handlers == good.handlers
        assert not [target for target in bad.targets if target.lower().strip().startswith(("javascript:", "data:"))]
        assert bad.ids.count("__config") == good.ids.count("__config")
        assert "\u202e" not in text
        assert "tracker.invalid" not in text
    # The words are there, wherever they were written.
    for place, least in (("rules/demo/D-1", 20), ("reviews/o/n/1", 10), ("waivers/demo/7", 12), ("reviews", 4)):
        assert (tmp_path / "b" / place / "index.html").read_text(encoding="utf-8").count("alert(2)") > least
    for path in (tmp_path / "b").rglob("*.md"):
        assert "\u202e" not in path.read_text(encoding="utf-8")
    for name in ("feed.atom", "badges/rules.svg"):
        ET.parse(tmp_path / "b" / name)
    assert "<script" not in (tmp_path / "b/feed.atom").read_text(encoding="utf-8")


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
    settings = {"stale": "stale.json"}
    (root / "mkdocs.yml").write_text(config % json.dumps(settings))
    (root / "docs").mkdir()
    verdict = {"owner": "DEMO-1", "kind": "rule", "pin": pin, "state": "gone", "because": "the file was removed"}
    (root / "stale.json").write_text(json.dumps({"version": 1, "head": {"demo": SHA}, "pins": [verdict]}))
    build(root, tmp_path / "site")
    page = (tmp_path / "site/rules/demo/DEMO-1/index.html").read_text(encoding="utf-8")
    assert re.search(r'data-tone="bad">gone</span> <span lang="en">the file was removed', page)
    badge = ET.parse(tmp_path / "site/badges/gone.svg").getroot()
    assert badge.attrib["aria-label"] == "sources gone: 1 rule"
    data = json.loads((tmp_path / "site/rules.json").read_text())
    assert data["rules"][0]["freshness"] == "gone"
    assert data["rules"][0]["url"] == "https://s.invalid/x/rules/demo/DEMO-1/"
    schema = json.loads((tmp_path / "site/rules.schema.json").read_text())
    assert schema["$id"] == "https://s.invalid/x/rules.schema.json"
    jsonschema.validate(data, schema)
    assert_atom((tmp_path / "site/feed.atom").read_text(encoding="utf-8"))
    sections = llms_sections((tmp_path / "site/llms.txt").read_text(encoding="utf-8"))
    assert sections["Rules"][0][1] == "https://s.invalid/x/rules/demo/DEMO-1/index.md"
    (root / "stale.json").write_text('{"version": 2}')
    with pytest.raises(UnreadableInput):
        build(root, tmp_path / "site")


def printed(root: Path, host: Host | None = None) -> dict[str, tuple[str, str]]:
    """Each page of a knowledge base by its address, as HTML and as Markdown."""
    pages = make_pages(read_content(str(root)), "S", host or Host())
    return {
        page.address: (
            html.print_page(page.title, page.blocks, page.address, anchor=page.anchor).html,
            md.print_page(page.title, page.blocks, page.address),
        )
        for page in pages
    }


def test_a_rule_without_a_twin_says_so(tmp_path: Path) -> None:
    pages = printed(make_kb(tmp_path))
    for text in pages["zh/rules/demo/DEMO-1/"]:
        assert "尚无中文版" in text
    for text in pages["rules/demo/DEMO-1/"]:
        assert "no English version" not in text


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
        ("## Rulebook lookup", '<h2 id="about-rulebook-lookup">Rulebook lookup</h2>'),
        ("~~~rulebook-value\nx\n~~~", '<pre><code class="language-rulebook-value">x\n</code></pre>'),
        ("a\u202eb", "<p>a\\u202eb</p>"),
    ],
)
def test_markdown_is_made_safe(text: str, html: str) -> None:
    assert markup.render(text).html.strip() == html


# --- redirects, documentation, what is not found -----------------------------------------------


def configure(
    root: Path, *, docs: dict[str, str] | None = None, rulebook: dict[str, object] | None = None, **keys: object
) -> None:
    """Writes a knowledge base's ``mkdocs.yml`` and its ``docs_dir``."""
    settings = {"site_name": "S", "theme": {"name": "material", "font": False}, **keys}
    settings["plugins"] = ["search", {"rulebook": rulebook or {}}]
    (root / "mkdocs.yml").write_text(json.dumps(settings))
    (root / "docs").mkdir()
    for name, text in (docs or {}).items():
        place = root / "docs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def test_a_former_id_leads_to_todays_page(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    configure(root, rulebook={"renamed": {"OLD <1>": "DEMO-1", "NO-1": "NO-2", "DEMO-1": "DEMO-1"}})
    warnings = build(root, tmp_path / "site")
    assert sorted(re.findall(r"renamed: (\S+)", "\n".join(warnings))) == ["DEMO-1", "NO-1"]
    for tree, lang in (("", "en"), ("zh/", "zh")):
        page = (tmp_path / f"site/{tree}rules/demo/OLD%20%3C1%3E/index.html").read_text(encoding="utf-8")
        assert f'<html lang="{lang}" data-former="OLD &lt;1&gt;">' in page
        assert '<meta name="robots" content="noindex">' in page
        assert '<noscript><meta http-equiv="refresh" content="0; url=../DEMO-1/"></noscript>' in page
        assert "default-src 'none'; script-src 'self'" in page
    assert broken_links(tmp_path / "site") == []


GUIDE = """\
# A guide

[inside](other.md#part), [a rule](../rules/demo/DEMO-1.md), [a file](../src/a.py), [outside](../../x.md), [web](https://x.invalid/)

```
[not a link](../src/a.py)
```
"""


@pytest.mark.parametrize(
    ("keys", "file"),
    [
        ({}, None),
        ({"repo_url": "https://github.com/o/n"}, "https://github.com/o/n/blob/HEAD/src/a.py"),
        ({"repo_url": "https://gitlab.invalid/o/n"}, "https://gitlab.invalid/o/n/-/blob/HEAD/src/a.py"),
    ],
    ids=["no host", "GitHub", "GitLab"],
)
def test_documents_may_link_to_files_outside_of_their_folder(
    tmp_path: Path, keys: dict[str, str], file: str | None
) -> None:
    root = make_kb(tmp_path)
    configure(root, docs={"guide.md": GUIDE, "other.md": "# Other\n\n## Part\n\n[back](guide.md)\n"}, **keys)
    assert build(root, tmp_path / "site") == []
    page = (tmp_path / "site/guide/index.html").read_text(encoding="utf-8")
    copy = (tmp_path / "site/guide/index.md").read_text(encoding="utf-8")
    assert 'href="../rules/demo/DEMO-1/"' in page
    assert "[a rule](../rules/demo/DEMO-1/index.md)" in copy
    assert "[inside](../other/index.md#part)" in copy
    assert "[not a link](../src/a.py)" in copy
    assert ", outside, " in copy
    assert "../x.md" not in page
    assert (f'href="{file}"' in page) if file else ("src/a.py</" not in page)
    assert (f"[a file]({file})" if file else ", a file, ") in copy
    assert broken_links(tmp_path / "site") == []
    assert broken_copies(tmp_path / "site") == []


def test_documents_make_room_for_pages(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    docs = {
        "freshness.md": "# How it is judged\n\n[rules](rules/more.md)\n",
        "rules/more.md": "# More\n\n[back](../freshness.md)\n",
        "zh/lookup/index.md": "# Mine\n",
        "index.md": "# My home\n\n[freshness](freshness.md)\n",
    }
    configure(root, docs=docs)
    warnings = build(root, tmp_path / "site")
    assert [text.split(": ")[1] for text in warnings] == ["zh/lookup/index.md"]
    for place, title in (
        ("freshness", "Freshness"),
        ("docs/freshness", "How it is judged"),
        ("rules/more", "More"),
        ("zh/lookup", "查询适用规则"),
        (".", "My home"),
    ):
        for name in ("index.html", "index.md"):
            assert title in (tmp_path / "site" / place / name).read_text(encoding="utf-8"), (place, name)
    assert broken_links(tmp_path / "site") == []
    assert broken_copies(tmp_path / "site") == []


def test_a_text_links_to_other_files_of_the_knowledge_base(tmp_path: Path) -> None:
    body = "See [two](D-2.md), [the part](D-2.md#why), [code](../../src/x.py), [out](../../../x), [web](https://x.invalid/a).\n"
    files = {"rules/demo/D-1.md": rule("D-1", body=body), "rules/demo/D-2.md": rule("D-2", body="## Why\n\nSo.\n")}
    root = make_kb(tmp_path, files)
    shown, copy = printed(root, Host("https://h.invalid/blob/HEAD/"))["zh/rules/demo/D-1/"]
    for target in ("../D-2/", "../D-2/#why", "https://h.invalid/blob/HEAD/src/x.py", "https://x.invalid/a"):
        assert f'href="{target}"' in shown
    assert "[two](../D-2/" in copy
    assert "out." not in shown.replace("out, ", "out.").replace(">out<", "") or ">out<" not in shown
    shown, copy = printed(root)["rules/demo/D-1/"]
    assert "code, out, " in shown
    assert "code, out, " in copy


def test_what_is_not_found_is_told_in_both_languages(own: Path) -> None:
    page = (own / "404.html").read_text(encoding="utf-8")
    for lang, home in (("en", "/."), ("zh", "/zh/")):
        assert re.search(rf'<section class="rulebook-absent" lang="{lang}">', page)
        assert re.search(rf'<form action="{re.escape(home)}" [^>]*role="search"', page)
    assert "This page does not exist" in page
    assert "找不到此页面" in page
    assert 'lang="en"' in page.partition("<head>")[0]


@pytest.mark.parametrize(
    ("place", "name"), [("", "Search"), ("zh", "查找"), ("lint", "Search"), ("404.html", "Search")]
)
def test_the_search_has_a_name_in_the_pages_language(own: Path, place: str, name: str) -> None:
    path = own / place if place.endswith(".html") else own / place / "index.html"
    assert f'data-md-component="search" role="dialog" aria-label="{name}"' in path.read_text(encoding="utf-8")


def test_states_and_history_are_on_both_forms_of_a_page(tmp_path: Path) -> None:
    pages = printed(make_repository(tmp_path))
    for address, words_of in (
        ("rules/demo/D-1/", ("History of its sources", "renewed: ", "Pin anew", "012345678901", "added: ")),
        ("zh/rules/demo/D-1/", ("来源的变更历史", "更新：", "Pin anew")),
    ):
        for text in pages[address]:
            for expected in words_of:
                assert expected in text
    waiver = pages["waivers/demo/7/"]
    index = pages["waivers/"]
    for shown, copy in (waiver, index):
        assert 'data-tone="bad"' in shown
        assert "expired" in copy


def make_repository(folder: Path) -> Path:
    """A knowledge base under git, with a policy, a waiver whose day has passed, and a pin that was renewed."""
    new = "1" * 40
    policy = "{protects: [{name: eng, modules: [eng]}]}"
    first = rule("D-1", sources=f'["demo@{SHA}:src/a.py", "demo@{SHA}:src/b.py"]', policy=policy)
    waiver = "---\ntitle: W\nrepo: demo\npr: 7\nrule: D-1\nexpires: 2020-01-01\n---\n## Scope\n\nAll.\n"
    repository = GitRepo(folder / "kb")
    files = {"rulebook.toml": CONFIG, "rules/demo/D-1.md": first, "waivers/demo/7.md": waiver}
    repository.commit(files, message="Write it down")
    changed = first.replace(f"{SHA}:src/a.py", f"{new}:src/a.py")
    repository.commit({"rules/demo/D-1.md": changed}, message="Pin anew <b>")
    return repository.path


def test_a_strict_build_ends_with_a_broken_rule(tmp_path: Path) -> None:
    from mkdocs.commands.build import build as build_strictly
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    root = make_kb(tmp_path, {"rules/demo/D-1.md": rule("D-1", severity="mild")})
    configure(root)
    config = load_config(str(root / "mkdocs.yml"), site_dir=str(tmp_path / "site"), strict=True)
    with pytest.raises(Abort, match="strict"):
        build_strictly(config)


def test_a_repository_url_asks_nobody(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    configure(root, repo_url="https://github.com/o/n", edit_uri="edit/trunk/docs/")
    build(root, tmp_path / "site")
    page = (tmp_path / "site/rules/demo/DEMO-1/index.html").read_text(encoding="utf-8")
    # The theme's component asks the host for stars and releases.
    assert 'data-md-component="source"' not in page
    assert 'href="https://github.com/o/n/blob/HEAD/rules/demo/DEMO-1.md"' in page
    assert 'href="https://github.com/o/n/edit/trunk/rules/demo/DEMO-1.md"' in page


@pytest.mark.parametrize(
    ("url", "edit", "docs", "folder", "expected"),
    [
        ("", "edit/main/docs/", "docs", ".", Host()),
        ("git@github.com:o/n", "edit/main/docs/", "docs", ".", Host()),
        ("https://h.invalid/o/n", "", "docs", ".", Host("https://h.invalid/o/n/blob/HEAD/")),
        (
            *("https://github.com/o/n.git", "edit/main/site/docs/", "docs", "../kb"),
            Host(),
        ),
        (
            *("https://github.com/o/n/", "edit/main/docs/", "docs", "kb"),
            Host("https://github.com/o/n/blob/HEAD/kb/", "https://github.com/o/n/edit/main/kb/"),
        ),
        (
            *("https://github.com/o/n", "https://edit.invalid/o/n/docs/", "docs", "."),
            Host("https://github.com/o/n/blob/HEAD/", "https://edit.invalid/o/n/"),
        ),
        (
            *("https://github.com/o/n", "edit/main/elsewhere/", "docs", "."),
            Host("https://github.com/o/n/blob/HEAD/"),
        ),
    ],
)
def test_where_files_are_shown_and_edited(url: str, edit: str, docs: str, folder: str, expected: Host) -> None:
    assert find_host(url, edit, docs, folder) == expected


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        ("rules/a/A-1/", "rules/a/A-2/", "../A-2/"),
        ("rules/a/A-1/", "zh/rules/a/A-1/", "../../../zh/rules/a/A-1/"),
        ("", "rules/", "rules/"),
        ("rules/", "", "../"),
        ("rules/", "rules/", "./"),
        ("rules/", "rules/#x", "#x"),
        ("zh/", "zh/rules/?tag=a%2Fb#c", "rules/?tag=a%2Fb#c"),
        ("", "?q=1", "./?q=1"),
    ],
)
def test_links_are_relative(here: str, there: str, expected: str) -> None:
    assert relative(here, there) == expected


# --- texts ------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_characters="`", exclude_categories=("Cs",))), st.booleans())
def test_a_text_is_the_same_text_in_markdown(text: str, in_table: bool) -> None:
    written = md.text_of(text, in_table=in_table)
    expected = one_line(text)
    if in_table:
        tokens = MarkdownIt("commonmark").enable("table").parse(f"| h | i |\n| --- | --- |\n| {written} | x |\n")
        cells = [token for token in tokens if token.type == "inline"]
        assert len(cells) == 4
        inline = cells[2]
    else:
        tokens = MarkdownIt("commonmark").parse(f"a {written}\n")
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
        inline, expected = tokens[1], f"a {one_line(text)}"
    children = inline.children or []
    assert {child.type for child in children} <= {"text", "text_special"}
    # Blanks at the edges of a block or a cell are no text.
    assert "".join(child.content for child in children).strip() == expected.strip()


@given(st.text())
def test_a_text_is_the_same_text_in_html(text: str) -> None:
    shown = html.print_page(text, (), "").html
    parser = Links(shown)
    assert parser.tags in (["h1"], ["h1", *["code"] * (len(parser.tags) - 1)])
    assert parser.handlers == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](x.md)", "[a](new)"),
        ('[a *b*](<x.md> "t") c', '[a *b*](new "t") c'),
        ("[a]: x.md\n\n[a]", "[a]: new\n\n[a]"),
        ("`[a](x.md)`", "`[a](x.md)`"),
        ("```\n[a](x.md)\n```\n[a](x.md)", "```\n[a](x.md)\n```\n[a](new)"),
        ("    [a](x.md)", "    [a](x.md)"),
        ("[a](y.md)", "a"),
        ("[a\nb](x.md) and [c\nd](y.md)", "[a\nb](new) and c\nd"),
        ("[a [b] *c*](y.md 'title')", "a [b] *c*"),
        ("[a](x.md (title))", "[a](new (title))"),
        ("![a](x.md) [b](z.md)", "![a](x.md) [b](<z (1).md>)"),
    ],
)
def test_links_of_markdown_are_replaced(text: str, expected: str) -> None:
    assert markup.relink(text, lambda target: {"x.md": "new", "y.md": "", "z.md": "z (1).md"}[target]) == expected


@pytest.mark.parametrize(
    ("signal", "english", "chinese"),
    [
        (
            Signal(lines=("a|b",), inside=("src/*.py",), on=On.ADDED),
            "An added line matches `a|b`, in `src/*.py`.",
            "新增的行匹配 `a|b`，文件须匹配 `src/*.py`。",
        ),
        (
            Signal(identifiers=("A", "B", "C"), functions=("f",), on=On.REMOVED),
            "A removed line has the name `A`, `B` or `C` and stands inside `f`.",
            "删除的行出现名称 `A`、`B` 或 `C`，且位于 `f` 之内。",
        ),
        (
            Signal(functions=("*", "g"), lines=("x",), identifiers=("n",)),
            "A changed line has the name `n`, matches `x` and stands inside any function or class.",
            "改动的行（新增或删除）出现名称 `n`，且匹配 `x`，且位于 任一函数或类 之内。",
        ),
        (Signal(changes=("added", "renamed")), "A file is added or renamed.", "文件被新增 或 重命名。"),
        (
            Signal(changes=("deleted",), lines=("x",)),
            "A changed line of a file that is deleted matches `x`.",
            "在被删除的文件中，改动的行（新增或删除）匹配 `x`。",
        ),
        (Signal(inside=("a/**",)), "Anything changes, in `a/**`.", "有任何改动，文件须匹配 `a/**`。"),
    ],
)
def test_signals_are_sentences(signal: Signal, english: str, chinese: str) -> None:
    for lang, expected in (("en", english), ("zh", chinese)):
        item = say_signal(signal, lang)
        assert md.print_page("T", (blocks.Items((item,)),), "").split("\n\n- ")[1].rstrip() == expected


def test_places_of_a_signal_stand_below_it() -> None:
    item = say_signal(Signal(lines=("x",), inside=("a/**", "!a/b/**")), "en")
    text = md.print_page("T", (blocks.Items((item,)),), "")
    assert "- A changed line matches `x`, in one of\n  - `a/**`\n  - excluded `a/b/**`\n" in text


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src/gen/*.py", ["src", "gen"]),
        ("src/gen/", ["src", "gen"]),
        ("src/{a,b}/c.py", ["src"]),
        ("/README.md", []),
        ("./x/y", ["x"]),
        ("*/x.py", []),
        ("README.md", None),
        ("*.py", None),
        ("gen/", None),
        ("**/x.py", None),
        ("/**/x.py", None),
    ],
)
def test_where_a_pattern_stands_in_the_tree(pattern: str, expected: list[str] | None) -> None:
    assert place_of(pattern) == expected


def test_every_word_is_used_and_there_is_one_in_each_language() -> None:
    folder = Path(words.__file__).parent
    used = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py") if path.name != "words.py")
    # Some are put together of a family and a value.
    families = ("status_", "severity_", "freshness_", "reading_", "waiver_", "meaning_")
    unused = [key for key in words._WORDS if not re.search(rf"[\"']{key}[\"']", used) and not key.startswith(families)]
    assert unused == []
    assert [key for key in words._COUNTED if f'"{key}"' not in used] == []
    assert [key for key, texts in words._WORDS.items() if not all(texts) or re.search("[\u3400-\u9fff]", texts[0])] == [
        "twin_name"
    ]


def test_rules_that_have_ended_are_in_no_place(tmp_path: Path) -> None:
    root = make_kb(
        tmp_path,
        {
            "rules/demo/D-1.md": rule("D-1", applies_to='["src/**"]'),
            "rules/demo/D-2.md": rule("D-2", applies_to='["old/main.py"]', status="retired", since="2026-01-01"),
            "rules/demo/D-3.md": rule("D-3", applies_to='["kept/**"]', status="reserved"),
        },
    )
    pages = {page.address: page for page in make_pages(read_content(str(root)), "Our rules", Host())}
    places = md.print_page(pages["places/"].title, pages["places/"].blocks, "places/")
    assert "D-1" in places
    assert "D-2" not in places
    assert "D-3" not in places
    assert "old/main.py" not in html.print_page("", pages[""].blocks, "").html
    assert "D-2" in md.print_page("", pages["rules/"].blocks, "rules/")


@pytest.mark.parametrize("config", ["", 'nav: [{Guide: "guide.md"}]\n', "extra: {x: !ENV [NO_SUCH, y]}\n"])
def test_three_lines_need_no_folder_of_documents(tmp_path: Path, config: str) -> None:
    root = make_kb(tmp_path)
    (root / "mkdocs.yml").write_text(
        f"site_name: Ours\ntheme: {{name: material, font: false}}\nplugins: [search, rulebook]\n{config}"
    )
    warnings = build(root, tmp_path / "site")
    assert (tmp_path / "site/rules/demo/DEMO-1/index.html").is_file()
    assert bool(warnings) == ("nav" in config)


def test_a_folder_of_documents_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    (root / "mkdocs.yml").write_text("site_name: Ours\ndocs_dir: guides\nplugins: [rulebook]\n")
    with pytest.raises(UnreadableInput, match="guides"):
        build(root, tmp_path / "site")


def test_a_warning_names_a_line_where_there_is_one(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/demo/D-1.md": rule("D-1", severity="mild")})
    (root / "rules/demo/D-2.md").symlink_to("nowhere.md")
    places = {warning.removeprefix("rulebook: ").partition(": ")[0] for warning in build(root, tmp_path / "site")}
    assert places == {"rules/demo/D-1.md:6", "rules/demo/D-2.md"}


def test_pages_that_are_made_are_not_called_missing_in_the_navigation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = make_kb(tmp_path, {"rules/demo/D-1.md": rule("D-1")})
    configure(root, docs={"listed.md": "# L", "forgotten.md": "# F"}, nav=["listed.md"])
    with caplog.at_level("INFO", logger="mkdocs"):
        assert build(root, tmp_path / "site") == []
    [said] = [text for text in caplog.messages if "not included in the" in text]
    assert re.findall(r"^  - (.+)$", said, re.MULTILINE) == ["forgotten.md"]
    assert (tmp_path / "site/rules/demo/D-1/index.html").is_file()
