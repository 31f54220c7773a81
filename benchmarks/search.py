"""Whether search finds again what it was asked for, and what it costs.

    python benchmarks/search.py                     # our own content
    python benchmarks/search.py --tree CLONE        # and a real knowledge tree, Chinese and English

The tree that our figures speak of is public:

    git clone --filter=blob:none https://github.com/JiusiServe/InferMatrixCopilot CLONE
    git -C CLONE checkout 3e0739c323bf

Its documents are the sections of the Markdown files in ``knowledge/`` and ``doc/`` with at least 80 characters; 2,000
of them are drawn. A section counts as Chinese where a quarter of it is Chinese characters, as English where none is.

**Queries** are drawn from bodies, never from titles, by a seeded generator, 40 for each language and kind:

* *phrase*: a clause of a Chinese sentence, or four to seven English words, as a reader sees them;
* *cut*: the raw text between two random positions, in the middle of words as it comes, 8 to 16 characters of Chinese
  text or 25 to 45 of English; at least half of it is letters of the language;
* *name*: an identifier in snake or camel case;
* *part*: some of such an identifier's parts, in their order;
* *path*: two names or more with ``/`` between them.

A query is only asked if at most five documents contain it, capitals, spaces and Markdown's marks aside. **Right** is
every document that contains it: who looks for ``review_depth`` is served by each of the three sections about it. The
last two columns are the hard reading, under which only the document that it was drawn from is right; for names in up to
five documents nothing can be good at that.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import statistics
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from build import add_alone
from rulebook import lookup
from rulebook.index import writer
from rulebook.index.entries import Entry, Refreshed
from rulebook.index.search import search as search_index
from rulebook.markdown import outline
from rulebook.store.opening import open_store

ROOT = Path(__file__).resolve().parent.parent
QUERIES = 40
SECTIONS = 2_000
SHORTEST_SECTION = 80
MOST_ANSWERS = 5

CHINESE = re.compile("[\u3400-\u9fff]")
IDENTIFIER = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]{4,}(?![A-Za-z0-9_])")
PATH = re.compile(r"(?<![\w./-])[\w-][\w.-]*(?:/[\w-][\w.-]*)+")
PARTS = re.compile("_+|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
MARKS = re.compile(r"[\s`*|>#]+")
CLAUSE = re.compile("[，。；：、！？（）“”()|,.;:]+")


@dataclass(frozen=True)
class Text:
    """A document of a corpus: the hit that it belongs to, its language (empty: mixed) and its body."""

    group: str
    lang: str
    body: str


@dataclass(frozen=True)
class Query:
    """A question, the document that it was drawn from, and all that answer it."""

    text: str
    source: str
    right: frozenset[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the knowledge base")
    parser.add_argument("--tree", type=Path, help="a checkout with Markdown files in knowledge/ and doc/")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", action="store_true", help="list the queries whose first hit is not right")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        with open_store(str(options.root), f"{scratch}/store") as store:
            lookup.refresh(store)
            texts = [Text(f"{row.kind.value}:{row.name}", row.lang, row.body) for row in store.documents()]
        measure("our own content", f"{scratch}/store/search", texts, options.seed, misses=options.misses)
        if options.tree:
            sections = list(read_sections(options.tree))
            entries = random.Random(options.seed).sample(sections, min(SECTIONS, len(sections)))
            folder = f"{scratch}/tree"
            refresh(folder, entries)
            texts = [Text(entry.group, language(entry.body), entry.body) for entry in entries]
            print()
            measure(f"sections of {options.tree}", folder, texts, options.seed, misses=options.misses)
            print()
            costs(scratch, entries)


# --- documents --------------------------------------------------------------------------------


def read_sections(tree: Path) -> Iterator[Entry]:
    """The sections of a tree's Markdown files, each from a heading to the next one of any level."""
    for path in sorted([*tree.glob("knowledge/**/*.md"), *tree.glob("doc/**/*.md")]):
        text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL)
        lines = text.split("\n")
        headings = outline(text).headings
        for number, heading in enumerate(headings):
            end = headings[number + 1].line - 1 if number + 1 < len(headings) else len(lines)
            body = "\n".join(lines[heading.line : end]).strip()
            if len(body) >= SHORTEST_SECTION:
                name = f"{path.relative_to(tree)}:{heading.line}"
                # The id is searched as well, and would tell the section's file.
                yield Entry(key=name, group=name, kind="rule", id="", title=heading.text, body=body)


def language(body: str) -> str:
    chinese = len(CHINESE.findall(body))
    return "zh" if 4 * chinese >= len(body) else "" if chinese else "en"


def refresh(folder: str, entries: Sequence[Entry]) -> Refreshed:
    known = {entry.key: entry for entry in entries}
    wanted = {key: hashlib.sha256(repr(entry).encode()).hexdigest() for key, entry in known.items()}
    return writer.refresh(folder, wanted, lambda keys: [known[key] for key in keys])


# --- queries ----------------------------------------------------------------------------------


def phrases(body: str, lang: str, rng: random.Random) -> str:
    line = MARKS.sub(" ", re.sub(r"\]\([^)]*\)|[\[\]]", "", rng.choice(body.split("\n")))).strip(" -")
    if lang == "zh":
        clauses = [clause.strip() for clause in CLAUSE.split(line)]
        clauses = [clause for clause in clauses if 6 <= len(clause) <= 24 and mostly(clause, lang)]
        return rng.choice(clauses) if clauses else ""
    words = line.split()
    length = rng.randint(4, 7)
    start = rng.randint(0, max(0, len(words) - length))
    return " ".join(words[start : start + length]) if len(words) >= length else ""


def cuts(body: str, lang: str, rng: random.Random) -> str:
    length = rng.randint(8, 16) if lang == "zh" else rng.randint(25, 45)
    start = rng.randint(0, max(0, len(body) - length))
    text = body[start : start + length]
    return text if len(text) == length and mostly(text, lang) else ""


def names(body: str, _: str, rng: random.Random) -> str:
    found = identifiers(body)
    return rng.choice(found) if found else ""


def parts(body: str, _: str, rng: random.Random) -> str:
    name = names(body, "", rng)
    pieces = PARTS.findall(name.strip("_"))
    if len(pieces) < 2 or "".join(pieces) != name.strip("_"):
        return ""
    start, end = sorted(rng.sample(range(len(pieces) + 1), 2))
    part = "".join(pieces[start:end]).strip("_")
    return part if len(part) >= 4 and part != name.strip("_") else ""


def paths(body: str, _: str, rng: random.Random) -> str:
    found = [path.strip(".") for path in PATH.findall(body)]
    return rng.choice(found) if found else ""


KINDS: dict[str, Callable[[str, str, random.Random], str]] = {
    "phrase": phrases,
    "cut": cuts,
    "name": names,
    "part": parts,
    "path": paths,
}


def identifiers(body: str) -> list[str]:
    return [name for name in IDENTIFIER.findall(body) if "_" in name.strip("_") or re.search("[a-z][A-Z]", name)]


def mostly(text: str, lang: str) -> bool:
    letters = CHINESE.findall(text) if lang == "zh" else re.findall("[A-Za-z]", text)
    return 2 * len(letters) >= len(text)


def normal(text: str) -> str:
    return MARKS.sub(" ", unicodedata.normalize("NFKC", text)).casefold()


def draw(texts: Sequence[Text], lang: str, kind: str, rng: random.Random) -> list[Query]:
    """Up to :data:`QUERIES` different queries that at most :data:`MOST_ANSWERS` documents answer."""
    bodies = [(text.group, normal(text.body)) for text in texts]
    sources = [text for text in texts if text.lang == lang]
    queries: dict[str, Query] = {}
    for _ in range(100 * QUERIES if sources else 0):
        source = rng.choice(sources)
        text = KINDS[kind](source.body, lang, rng)
        if not text or normal(text) in queries:
            continue
        right = frozenset(group for group, body in bodies if normal(text).strip() in body)
        if source.group in right and len(right) <= MOST_ANSWERS:
            queries[normal(text)] = Query(text, source.group, right)
        if len(queries) == QUERIES:
            break
    return list(queries.values())


# --- figures ----------------------------------------------------------------------------------


def measure(name: str, folder: str, texts: Sequence[Text], seed: int, *, misses: bool) -> None:
    """Prints how well the queries drawn from ``texts`` are answered by the index in ``folder``."""
    languages = {lang: sum(text.lang == lang for text in texts) for lang in ("en", "zh")}
    print(f"{name}: {len(texts)} documents, {languages['en']} English, {languages['zh']} Chinese")
    print(f"{'':12}{'queries':>8}{'top 5':>8}{'MRR':>7}   source alone:{'top 5':>7}{'MRR':>7}")
    ranks: list[tuple[int, int]] = []
    times: list[float] = []
    for lang in languages:
        for kind in KINDS:
            answered = []
            for query in draw(texts, lang, kind, random.Random(f"{seed} {lang} {kind}")):
                began = time.perf_counter()
                groups = [hit.group for hit in search_index(folder, query.text)]
                times.append(time.perf_counter() - began)
                answered.append((rank(groups, query.right), rank(groups, {query.source})))
                if misses and answered[-1][0] != 1:
                    place = answered[-1][0] or "none"
                    print(f"    {query.text!r} from {query.source}: right at {place}, first {groups[:1]}")
            report(f"{lang} {kind}", answered)
            ranks += answered
    report("all", ranks)
    usual, slow = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"a query takes {usual * 1000:.0f} ms; 19 of 20 take at most {slow * 1000:.0f} ms")


def rank(groups: Sequence[str], right: frozenset[str] | set[str]) -> int:
    """The 1-based place of the first right answer among the first ten, 0 for none."""
    return next((place for place, group in enumerate(groups, start=1) if group in right), 0)


def report(name: str, answered: Sequence[tuple[int, int]]) -> None:
    figures = []
    for column in zip(*answered, strict=True):
        figures += [
            sum(0 < place <= 5 for place in column) / len(column),
            sum(1 / place for place in column if place) / len(column),
        ]
    if figures:
        top, mrr, source_top, source_mrr = figures
        print(f"{name:12}{len(answered):8}{top:8.1%}{mrr:7.3f}{'':16}{source_top:7.1%}{source_mrr:7.3f}")
    else:
        print(f"{name:12}{0:8}")


def costs(scratch: str, entries: Sequence[Entry]) -> None:
    """Prints what building and refreshing costs, against whoosh alone adding the same documents."""
    began = time.perf_counter()
    add_alone(f"{scratch}/alone", list(entries))
    alone = time.perf_counter() - began
    folder = f"{scratch}/full"
    began = time.perf_counter()
    refresh(folder, entries)
    full = time.perf_counter() - began
    edits = []
    current = list(entries)
    for number in range(30):
        current[number] = replace(current[number], body=f"{current[number].body}\nOne more line.")
        began = time.perf_counter()
        refresh(folder, current)
        edits.append(time.perf_counter() - began)
    edit, worst = statistics.median(edits), max(edits)
    print(f"full index of {len(entries)} documents: {full / alone:.2f} times what whoosh alone takes ({alone:.2f} s)")
    print(
        f"after one edit: 1/{full / edit:.0f} of that ({edit * 1000:.0f} ms; 1/{full / worst:.0f} at the worst of 30)"
    )


if __name__ == "__main__":
    main()
