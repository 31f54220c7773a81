"""The site's search: what the worker lists, and how it comes into the pages."""

from __future__ import annotations

import json
import random
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rulebook.site.search import part_index, use_worker
from sitekit import ASSETS, needs_node

#: Speaks the theme's protocol with the worker: prints one answer for each message, and what was fetched.
TALK = """
const vm = require("node:vm");
const fs = require("node:fs");
const { script, docs, lang, messages, fails } = JSON.parse(fs.readFileSync(0, "utf8"));
const fetched = [];
const warned = [];
let listen;
let answer;
let failures = fails;
const self = {
  location: `https://site.invalid/base/assets/rulebook/search.js?lang=${lang}`,
  addEventListener: (_, listener) => { listen = listener; },
  postMessage: (message) => answer(message),
  console: { warn: (error) => warned.push(String(error)) },
  fetch: async (url) => {
    fetched.push(String(url));
    return failures-- > 0 ? { ok: false, url, status: 503 } : { ok: true, json: async () => docs };
  },
  URL,
};
self.self = self;
vm.runInNewContext(fs.readFileSync(script, "utf8"), self);
(async () => {
  const answers = [];
  for (const data of messages) {
    const [said] = await Promise.all([new Promise((done) => { answer = done; }), listen({ data })]);
    answers.push(said);
  }
  process.stdout.write(JSON.stringify({ answers, fetched, warned }));
})();
"""

DOCS = [
    *[
        {"location": "rules/demo/D-1/", "title": "D-1: Control planes are checked", "text": "status active"},
        {
            "location": "rules/demo/D-1/#why",
            "title": "Why",
            "text": "<p>The <code>parse_extra_config()</code> of a loader; see <code>pkg/sub_dir/mod.py</code>.</p>",
        },
        {"location": "rules/demo/D-10/", "title": "D-10: Aggregates", "text": "A word within: aggregate."},
        {
            "location": "rules/demo/D-11/",
            "title": "D-11: The gate",
            "text": "compute_gate_on_attention and useGateKeeper",
        },
        {"location": "rules/demo/D-12/", "title": "D-12: Rows", "text": "fast cache. Further below: slow path."},
        {
            "location": "rules/demo/D-13/",
            "title": "D-13: More rows",
            "text": "path of what is slow; a slow cache path.",
        },
        {
            "location": "rules/demo/D-14/",
            "title": "D-14: Marks",
            "text": "x &lt;img src=x onerror=alert(1)&gt; &amp;amp; y",
        },
        {"location": "docs/", "title": "Reference", "text": "Only in English: exit codes."},
    ],
    *[
        {"location": "zh/rules/demo/D-1/", "title": "D-1: 检查控制面", "text": "状态 active"},
        {
            "location": "zh/rules/demo/D-1/#原因",
            "title": "原因",
            "text": "<p>一个 step 由控制面驱动，<code>parse_extra_config()</code>。</p>",
        },
        {"location": "zh/rules/demo/D-10/", "title": "D-10: 聚合", "text": "控制与面板，各自独立。面向控制。"},
        {
            "location": "zh/rules/demo/D-11/",
            "title": "D-11: The gate",
            "text": "compute_gate_on_attention and useGateKeeper",
        },
    ],
]


def talk(messages: list[dict[str, Any]], docs: list[dict[str, Any]], lang: str, fails: int = 0) -> dict[str, Any]:
    question = {"script": str(ASSETS / "search.js"), "docs": docs, "lang": lang, "messages": messages, "fails": fails}
    said = subprocess.run(["node", "-e", TALK], input=json.dumps(question).encode(), capture_output=True, check=False)
    assert said.returncode == 0, said.stderr.decode()
    return dict(json.loads(said.stdout))


def setup(*, suggest: bool = False) -> dict[str, Any]:
    return {"type": 0, "data": {"config": {"trees": ["zh"]}, "docs": [], "options": {"suggest": suggest}}}


def search(*queries: str, lang: str = "en", docs: list[dict[str, Any]] = DOCS) -> list[list[list[dict[str, Any]]]]:
    """What is listed for each query."""
    told = talk([setup(), *({"type": 2, "data": query} for query in queries)], docs, lang)
    assert [answer["type"] for answer in told["answers"]] == [1, *(3 for _ in queries)]
    assert told["warned"] == []
    return [answer["data"]["items"] for answer in told["answers"][1:]]


def pages(items: list[list[dict[str, Any]]]) -> list[str]:
    return [page[0]["location"].partition("#")[0].removeprefix("rules/demo/").rstrip("/") for page in items]


pytestmark = needs_node


@pytest.mark.parametrize(
    ("lang", "query", "listed"),
    [
        ("zh", "控制面", ["zh/rules/demo/D-1"]),
        ("zh", "制面", ["zh/rules/demo/D-1"]),
        ("zh", "面", ["zh/rules/demo/D-1", "zh/rules/demo/D-10"]),
        ("zh", "怎么查控制面的", ["zh/rules/demo/D-1"]),
        ("zh", "step控制面", ["zh/rules/demo/D-1"]),
        ("zh", "控制面 active", ["zh/rules/demo/D-1"]),
        ("en", "extra_config", ["D-1"]),
        ("en", "parseExtra", ["D-1"]),
        ("en", "parseextraconfig", ["D-1"]),
        ("en", "parse-extra", ["D-1"]),
        ("en", "extra config parse", ["D-1"]),
        ("en", "pkg/sub_dir/mod.py", ["D-1"]),
        ("en", "sub_dir/mod", ["D-1"]),
        ("en", "LOADER", ["D-1"]),
        ("en", "load", ["D-1"]),
        ("en", "keeper", ["D-11"]),
        ("en", "gate", ["D-11", "D-10"]),
        ("en", "d 10", ["D-10"]),
        ("en", "D10", ["D-10"]),
        ("en", "cache path", ["D-13", "D-12"]),
        ("en", "exit codes", ["docs"]),
        ("en", "nowhere", []),
        ("en", "", []),
        ("en", " \t", []),
        ("en", "?!*", []),
        ("en", "_", []),
        ("en", "loader nowhere", ["D-1"]),
        ("en", "x" * 5000, []),
        ("en", "(loader+)+$ [ \\ *{,}", ["D-1"]),
    ],
)
def test_what_is_listed(lang: str, query: str, listed: list[str]) -> None:
    [items] = search(query, lang=lang)
    whole = [page for page in items if all(page[0]["terms"].values())]
    assert pages(whole or items[:1]) == listed
    # What misses a word comes after what has them all.
    assert items[: len(whole)] == whole


def test_an_id_comes_before_the_ids_that_begin_with_it() -> None:
    found = pages(search("D-1")[0])
    assert found[0] == "D-1"
    assert set(found[:6]) == {"D-1", "D-10", "D-11", "D-12", "D-13", "D-14"}


def test_the_readers_language_is_listed_first_and_a_twin_only_there() -> None:
    for lang, own in (("en", lambda place: not place.startswith("zh/")), ("zh", lambda place: place.startswith("zh/"))):
        for items in search("parse_extra_config", "gate", "D-1", "active", lang=lang):
            found = pages(items)
            documents = [place.removeprefix("zh/").removeprefix("rules/demo/") for place in found]
            assert len(documents) == len(set(documents))
            assert sorted(found, key=lambda place: not own(place)) == found
            assert own(found[0])


def test_what_only_the_other_language_has_is_listed_in_it() -> None:
    [chinese] = search("驱动", lang="en")
    assert pages(chinese) == ["zh/rules/demo/D-1"]
    [english] = search("exit codes", lang="zh")
    assert pages(english) == ["docs"]


def test_documents_beside_the_knowledge_base_come_last_unless_their_titles_answer() -> None:
    docs = [
        {"location": "search/", "title": "The search", "text": "parseExtra finds parse_extra; 控制面", "guide": True},
        {"location": "search/#exit-codes", "title": "Exit codes", "text": "parseExtra, parseExtra", "guide": True},
        {"location": "rules/demo/D-1/", "title": "D-1: Loaders", "text": "call parse_extra_config, mind exit codes"},
        {"location": "zh/rules/demo/D-1/", "title": "D-1: 加载", "text": "控制面"},
    ]
    queries = ("parseExtra", "控制面", "exit codes")
    assert [pages(items) for items in search(*queries, docs=docs)] == [
        ["D-1", "search"],
        ["zh/rules/demo/D-1", "search"],
        ["search", "D-1"],
    ]
    # A page that has all words comes first, whatever it is.
    assert pages(search("parseExtra finds", docs=docs)[0]) == ["search", "D-1"]


def test_a_page_is_shown_with_the_sections_that_answer_and_what_they_miss() -> None:
    [[page]] = search("loader")
    assert [item["location"] for item in page] == ["rules/demo/D-1/#why", "rules/demo/D-1/"]
    assert page[0]["text"] == "The parse_extra_config() of a <mark>loader</mark>; see pkg/sub_dir/mod.py."
    assert page[0]["score"] > page[1]["score"] == 0
    [[page]] = search("loader nowhere")
    assert page[0]["terms"] == {"loader": True, "nowhere": False}


def test_the_best_section_is_shown_where_the_title_alone_answers() -> None:
    docs = [
        {"location": "p/", "title": "Loaders", "text": ""},
        {"location": "p/#a", "title": "A", "text": "one loader here"},
        {"location": "p/#b", "title": "B", "text": "loader, loader, loader"},
        {"location": "q/", "title": "The loader", "text": "and nothing else"},
    ]
    shown = {page[0]["location"]: page for page in search("loader", docs=docs)[0]}
    head, best, other = shown["p/"]
    assert (best["location"], other["location"]) == ("p/#b", "p/#a")
    assert head["score"] == best["score"] > other["score"] > 0
    assert [item["score"] > 0 for item in shown["q/"]] == [True]


def test_tags_are_searched_and_a_boost_counts() -> None:
    docs = [
        {"location": "a/", "title": "A", "text": "word", "tags": ["Sundry"]},
        {"location": "b/", "title": "B", "text": "word", "boost": 2},
        {"location": "c/", "title": "C", "text": "word"},
    ]
    tagged, plain = search("sundry", "word", docs=docs)
    assert [(page[0]["location"], page[0]["tags"]) for page in tagged] == [("a/", ["Sundry"])]
    assert [page[0]["location"] for page in plain] == ["b/", "a/", "c/"]


def test_texts_come_out_as_text() -> None:
    for query in ("img", "onerror", "src=x", "<img", "&amp;", "x"):
        for page in search(query)[0]:
            for item in page:
                for html in (item["title"], item["text"]):
                    assert not re.search(r"<(?!/?mark>)", html)
                    assert "&amp;" in html or "&" not in re.sub("&[lg]t;", "", html)


def test_any_part_of_any_text_finds_its_page() -> None:
    rng = random.Random(7)
    letters = "控制面驱动元数据白名单ab cd_EfGh-1.2/()<&>é'"
    docs: list[dict[str, Any]] = []
    for number in range(60):
        text = "".join(rng.choice(letters) for _ in range(rng.randint(20, 400)))
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        docs.append({"location": f"{number}/", "title": f"T{number}", "text": escaped, "plain": text})
    asked = []
    for _ in range(200):
        doc = rng.choice(docs)
        start = rng.randrange(len(doc["plain"]) - 10)
        asked.append((doc, doc["plain"][start : start + rng.randint(2, 30)]))
    for (doc, query), items in zip(asked, search(*(query for _, query in asked), docs=docs), strict=True):
        if re.search("[^\\W_]", query):
            assert f"{doc['location']}" in [page[0]["location"] for page in items], query
        for page in items:
            text = next(doc["plain"] for doc in docs if doc["location"] == page[0]["location"])
            shown = unescape(re.sub("</?mark>", "", page[0]["text"])).strip("…")
            assert shown in text


def test_nothing_is_fetched_before_something_is_looked_for() -> None:
    told = talk([setup(), {"type": 2, "data": ""}], DOCS, "en")
    assert told["fetched"] == []
    told = talk([setup(), {"type": 2, "data": "gate"}, {"type": 2, "data": "loader"}], DOCS, "en")
    assert told["fetched"] == ["https://site.invalid/base/search/docs.json"]


def test_a_load_that_failed_is_tried_again() -> None:
    told = talk([setup(), {"type": 2, "data": "gate"}, {"type": 2, "data": "gate"}], DOCS, "en", fails=1)
    assert [len(answer["data"]["items"]) for answer in told["answers"][1:]] == [0, 2]
    assert len(told["fetched"]) == 2
    assert "503" in told["warned"][0]


def test_what_the_theme_completes_with() -> None:
    told = talk([setup(suggest=True), {"type": 2, "data": "control pl"}], DOCS, "en")
    assert told["answers"][1]["data"]["suggest"] == ["planes"]


CONFIG = '<script id="__config" type="application/json">{"base": "..", "search": "%s", "tags": null}</script>'


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("../assets/javascripts/workers/search.0a1b.min.js", "../assets/rulebook/search.js?lang=zh"),
        ("assets/javascripts/workers/search.min.js", "assets/rulebook/search.js?lang=zh"),
        (
            "https://x.invalid/y/assets/javascripts/workers/search.1.js",
            "https://x.invalid/y/assets/rulebook/search.js?lang=zh",
        ),
        ("../own/worker.js", "../own/worker.js"),
    ],
)
def test_the_worker_in_a_page(given: str, expected: str) -> None:
    text = '<p>"search": "assets/javascripts/workers/search.0.min.js"</p>'
    assert use_worker(text + CONFIG % given, "zh", "assets/rulebook") == text + CONFIG % expected


def test_the_texts_are_parted_from_the_settings(tmp_path: Path) -> None:
    part_index(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "search").mkdir()
    (tmp_path / "search/search_index.json").write_text(json.dumps({"config": {"lang": ["en"]}, "docs": DOCS}))
    part_index(str(tmp_path))
    assert json.loads((tmp_path / "search/docs.json").read_text(encoding="utf-8")) == DOCS
    left = json.loads((tmp_path / "search/search_index.json").read_text(encoding="utf-8"))
    (tmp_path / "search/search_index.json").write_text(json.dumps({"config": {"lang": ["en"]}, "docs": DOCS}))
    part_index(str(tmp_path), {"docs/"})
    marked = json.loads((tmp_path / "search/docs.json").read_text(encoding="utf-8"))
    assert [doc["location"] for doc in marked if doc.get("guide")] == ["docs/"]
    assert left == {"config": {"lang": ["en"], "trees": ["zh"]}, "docs": []}
