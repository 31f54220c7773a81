"""How well the site's search finds, by the way that Chinese text is taken apart.

    python benchmarks/site_search.py                     # our own site
    python benchmarks/site_search.py --tree CLONE        # and a real knowledge tree, Chinese and English

Each way runs a real worker in Node.js, in the protocol of the theme's field, and is asked the same queries:

* *one index*: the theme's worker over an index of both languages, whose Chinese text is split at every character;
* *characters*, *bigrams*, *jieba*, *rjieba*: the same over an index of the reader's language alone, whose Chinese text
  is split at every character, into overlapping pairs, or by a segmenter (each where it is installed);
* *ours*: ``src/rulebook/site/assets/search.js``.

The theme's worker takes names apart in each of them, at ``_`` and at a change of case.

**Labelled** queries stand in ``data/site-queries.jsonl``: words inside Chinese sentences, questions, mixed writing,
ids, identifiers and their parts, paths, and words of the other language, each with the page that answers it, named by a
reader of the rules. **Drawn** ones are made as ``search.py`` makes them: of what at most five pages of the tree hold.
Pages are counted as the reader sees them listed, those in the other language as well.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import random
import re
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import material

from generate import write_rules
from rulebook import site
from rulebook.site.build import build_site
from search import KINDS, SECTIONS, Query, Text, draw, language, rank, read_sections

ROOT = Path(__file__).resolve().parent.parent
LABELLED = ROOT / "benchmarks/data/site-queries.jsonl"
OURS = Path(site.__file__).parent / "assets/search.js"
THEMES = next((Path(material.__file__).parent / "templates/assets/javascripts/workers").glob("search.*.min.js"))
CHINESE = re.compile("[\u3400-\u9fff]+")
SPACE = "\u200b"
PARTS = r"[\s\u200b\-,;:!?=\[\]{}()\"'`/\\.<>|#*、。，；：？！（）《》“”…]+|_|(?<=[a-z0-9])(?=[A-Z])"
CHARACTERS = PARTS + r"|(?<=[\u3400-\u9fff])|(?=[\u3400-\u9fff])"

#: Runs a worker as a browser would, and answers with the addresses of the pages listed for each query.
RUN = """
const fs = require("node:fs");
const vm = require("node:vm");
const { worker, docs, config, queries, lang } = JSON.parse(fs.readFileSync(0, "utf8"));
let listen;
let answered;
const self = {
  location: `https://site.invalid/assets/rulebook/search.js?lang=${lang}`,
  addEventListener: (_, listener) => { listen = listener; },
  postMessage: (message) => answered(message),
  console: { warn() {} },
  fetch: async () => ({ ok: true, json: async () => docs }),
  URL,
};
self.self = self;
vm.runInNewContext(fs.readFileSync(worker, "utf8"), self);
const ask = (data) => new Promise((done) => { answered = done; listen({ data }); });
(async () => {
  let begun = performance.now();
  await ask({ type: 0, data: { config, docs, options: {} } });
  await ask({ type: 2, data: "a" });
  const ready = performance.now() - begun;
  const lists = [];
  const times = [];
  for (const query of queries) {
    begun = performance.now();
    const { data } = await ask({ type: 2, data: query });
    times.push(performance.now() - begun);
    lists.push(data.items.map((items) => items[0].location.split("#")[0]));
  }
  process.stdout.write(JSON.stringify({ lists, ready, times }));
})();
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=Path, help="a checkout with Markdown files in knowledge/ and doc/")
    parser.add_argument("--misses", action="store_true", help="list what ours has not among the first five")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        build_site(str(ROOT), f"{scratch}/own")
        docs = read_docs(Path(scratch, "own"))
        questions = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
        labelled = [
            (item["tree"], item["kind"], Query(item["query"], "", frozenset(item["right"]))) for item in questions
        ]
        print(f"our own site: {len(docs)} sections")
        measure("labelled", docs, labelled, misses=options.misses)
        measure("drawn", docs, drawn(docs), misses=options.misses)
        if options.tree:
            measure("tree", *tree(options.tree), misses=options.misses)
        write_rules(Path(scratch, "base"), 1_000)
        build_site(f"{scratch}/base", f"{scratch}/large")
        cost(Path(scratch, "large"))


def read_docs(folder: Path) -> list[dict[str, Any]]:
    return list(json.loads((folder / "search/docs.json").read_text(encoding="utf-8")))


def drawn(docs: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, Query]]:
    """Queries from the texts of the pages that show documents, each asked in the tree of its page."""
    found = []
    for lang in ("en", "zh"):
        bodies: dict[str, str] = {}
        for doc in docs:
            address = doc["location"].split("#")[0]
            if address.startswith("zh/") == (lang == "zh"):
                bodies[address] = f"{bodies.get(address, '')}\n{unescape(re.sub('<[^>]*>', '', doc['text']))}"
        texts = [Text(address, lang, body) for address, body in bodies.items()]
        for kind in KINDS:
            rng = random.Random(f"{lang} {kind}")
            found += [(lang, kind, query) for query in draw(texts, lang, kind, rng)]
    return found


def tree(clone: Path) -> tuple[list[dict[str, Any]], list[tuple[str, str, Query]]]:
    """Sections of a knowledge tree, each as a page of its own, and queries drawn from them."""
    sections = list(read_sections(clone))
    sections = random.Random(1).sample(sections, min(SECTIONS, len(sections)))
    docs = []
    texts = []
    for number, section in enumerate(sections):
        body = re.sub(r"[*`]|\[([^\]]*)\]\([^)]*\)", r"\1", section.body)
        docs.append({"location": f"{number}/", "title": markup(section.title), "text": markup(body)})
        texts.append(Text(f"{number}/", language(body), body))
    queries = []
    for lang in ("en", "zh"):
        for kind in KINDS:
            queries += [
                ("en", f"{lang} {kind}", query) for query in draw(texts, lang, kind, random.Random(f"{lang} {kind}"))
            ]
    return docs, queries


def markup(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# --- ways -------------------------------------------------------------------------------------


def ways() -> Iterable[tuple[str, Path, str, Callable[[str], Iterable[str]] | None]]:
    """Name, worker, separator, and what cuts a run of Chinese characters."""
    yield "one index", THEMES, CHARACTERS, None
    yield "characters", THEMES, CHARACTERS, None
    yield "bigrams", THEMES, PARTS, lambda text: [text[at : at + 2] for at in range(max(1, len(text) - 1))]
    for name in ("jieba", "rjieba"):
        try:
            segmenter = importlib.import_module(name)
        except ImportError:
            continue
        yield name, THEMES, PARTS, segmenter.cut
    yield "ours", OURS, "", None


def ask(
    way: tuple[str, Path, str, Callable[[str], Iterable[str]] | None],
    docs: Sequence[Mapping[str, Any]],
    queries: Sequence[str],
    lang: str,
) -> dict[str, Any]:
    """What a worker lists for each query, with its times in milliseconds."""
    name, worker, separator, cut = way
    if name not in ("one index", "ours"):
        docs = [doc for doc in docs if doc["location"].startswith("zh/") == (lang == "zh")]
    if cut:
        docs = [{**doc, "title": segmented(doc["title"], cut), "text": segmented(doc["text"], cut)} for doc in docs]
    config = {
        "lang": ["en"],
        "separator": separator,
        "pipeline": ["stopWordFilter"],
        "fields": {"title": {"boost": 1000}, "text": {"boost": 1}, "tags": {"boost": 1000000}},
        "trees": ["zh"],
    }
    question = {"worker": str(worker), "docs": docs, "config": config, "queries": queries, "lang": lang}
    ran = subprocess.run(["node", "-e", RUN], input=json.dumps(question).encode(), capture_output=True, check=True)
    return dict(json.loads(ran.stdout))


def segmented(text: str, cut: Callable[[str], Iterable[str]]) -> str:
    """A text as Material's plugin puts it into the index where jieba is installed."""
    return CHINESE.sub(lambda run: SPACE + SPACE.join(cut(run[0])) + SPACE, text)


# --- figures ----------------------------------------------------------------------------------


def measure(
    name: str, docs: Sequence[Mapping[str, Any]], queries: Sequence[tuple[str, str, Query]], *, misses: bool
) -> None:
    """Prints how often a right page is first, among the first five, and the mean reciprocal rank."""
    print(f"\n{name}: {len(queries)} queries")
    print(f"{'':12}{'first':>8}{'top 5':>8}{'MRR':>8}   worst kind, top 5")
    for way in ways():
        ranks: dict[tuple[str, str], list[int]] = {}
        for lang in ("en", "zh"):
            asked = [(kind, query) for tree_of, kind, query in queries if tree_of == lang]
            if not asked:
                continue
            answer = ask(way, docs, [query.text for _, query in asked], lang)
            for (kind, query), listed in zip(asked, answer["lists"], strict=True):
                place = rank(listed[:10], query.right)
                ranks.setdefault((lang, kind), []).append(place)
                if misses and way[0] == "ours" and not 0 < place <= 5:
                    print(f"    {lang} {kind} {query.text!r}: {sorted(query.right)[:2]} at {place}, first {listed[:2]}")
        places = [place for found in ranks.values() for place in found]
        shares = {kind: top_five(found) for kind, found in ranks.items()}
        worst = min(shares, key=lambda kind: shares[kind])
        first = sum(place == 1 for place in places) / len(places)
        mrr = sum(1 / place for place in places if place) / len(places)
        print(f"{way[0]:12}{first:8.1%}{top_five(places):8.1%}{mrr:8.3f}   {' '.join(worst)} {shares[worst]:.0%}")


def top_five(places: Sequence[int]) -> float:
    return sum(0 < place <= 5 for place in places) / len(places)


def cost(folder: Path) -> None:
    """Prints what 1,000 rules cost: bytes over the wire, and time in the worker."""
    docs = read_docs(folder)
    queries = [
        "kernel",
        "control plane",
        "R-512",
        "连接器",
        "kernel_cache_7",
        "白名单 校验",
        "no such word",
        "token route gate",
    ]
    size = len(gzip.compress((folder / "search/docs.json").read_bytes(), 6))
    rest = len(gzip.compress((folder / "search/search_index.json").read_bytes(), 6))
    print(
        f"\n1,000 rules: {len(docs)} sections; {size / 2**20:.2f} MiB when one searches, {rest} bytes with every page"
    )
    for way in ways():
        answer = ask(way, docs, queries, "en")
        usual, slow = statistics.median(answer["times"]), max(answer["times"])
        print(f"{way[0]:12}ready after {answer['ready']:6.0f} ms, a query {usual:.0f} ms, the slowest {slow:.0f} ms")


if __name__ == "__main__":
    main()
