"""What it costs to find the rules that cover 300 changed paths, by the number of rules.

Run it with ``python benchmarks/scope.py``. It compares, in one process:

* ``memory``, ``sqlite``: :class:`rulebook.scope.ScopeIndex` over postings in a dictionary, and in a database file;
* ``pathspec``: each rule's list as a ``pathspec.PathSpec``, tested on every path.

The knowledge base is made up. A *package* has a name of its own and ten rules, of three patterns each: folders, files,
globs at any depth, braces, negations, stars inside names, classes. Two more rules are about the whole tree. A larger
knowledge base has more packages. A change touches files of up to eight packages, other ones each time, so the number of
rules that cover a path stays about the same, and what remains is the cost of there being more rules.

Times are the best of several rounds, each with 300 paths that were not asked before. Lists of patterns that a path came
near to once stay compiled ("warm"). pathspec's patterns are compiled beforehand as well, without braces, which it does
not know: it gets what they stand for. All three must give the same answer before anything is timed.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from pathspec import PathSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from rulebook.patterns.syntax import parse_list
from rulebook.scope import MemoryPostings, Postings, ScopeIndex
from rulebook.store.postings import TABLE, SqlitePostings, file_scopes, holds_grams

if TYPE_CHECKING:
    from rulebook.patterns.compiled import PatternList

PATHS = 300
PACKAGES_TOUCHED = 8
SIZES = (12, 120, 1_200, 5_000, 50_000)
COMPARED = 5_000
ROUNDS = 30

# Braces are written as tuples of what they stand for, so that pathspec can be given the same.
GLOBAL_RULES: tuple[tuple[str, ...], ...] = (
    ("**/Dockerfile", "**/*.dockerfile", "docker/**"),
    ("*.md", "!**/CHANGELOG.md", "!node_modules/"),
)
PACKAGE_RULES: tuple[tuple[str, ...], ...] = (
    ("src/{name}/core/**", "!src/{name}/core/generated/**", "tests/{name}/**/*.py"),
    ("src/{name}/**/test_*.py", "!**/vendor/**", "docs/{name}.md"),
    ("**/{name}_*.py", "src/{name}/{api,rpc}/*.pyi", "/{name}.toml"),
    ("src/**/{name}/ops/k?rnel_*.cu", "*.{name}.yaml", "csrc/{name}/"),
    ("src/{name}/api/v[0-9]/*.py", "src/{name}/rpc/", "!src/{name}/rpc/*_pb2.py"),
    ("src/{name}/core/engine.py", "src/{name}/core/state.py", "src/{name}/api/server.py"),
    ("src/*/{name}/**", "**/{name}/**/README.md", "examples/{name}*.ipynb"),
    ("src/{name}/models/*_attention.py", "src/{name}/models/*moe*.py", "configs/*{name}*.json"),
    ("src/{name}/**/*.{c,h}", "!src/{name}/**/*_generated.{c,h}", "cmake/{name}.cmake"),
    ("tests/{name}/e2e/**", "tests/{name}/unit/test_api_*.py", "!**/fixtures/*.json"),
)
FILES = (
    "src/{name}/core/{word}.py",
    "src/{name}/core/generated/{word}.py",
    "src/{name}/api/v1/{word}.py",
    "src/{name}/rpc/{word}_pb2.py",
    "src/{name}/models/{word}_attention.py",
    "src/{name}/ops/{word}.c",
    "src/kernels/{name}/ops/kernel_{word}.cu",
    "tests/{name}/unit/test_{word}.py",
    "tests/{name}/e2e/{word}/test_run.py",
    "docs/{word}/{name}.md",
    "tools/{word}/{name}_{word}.py",
    "configs/{word}/{name}.yaml",
)
BRACES = ("{api,rpc}", "{c,h}")


def make_word(source: random.Random, syllables: int) -> str:
    return "".join(source.choice("bcdfghjklmnprstvwz") + source.choice("aeiou") for _ in range(syllables))


def make_rules(count: int) -> tuple[list[tuple[str, ...]], list[str]]:
    """That many lists of patterns, and the names of the packages that they are about."""
    source = random.Random(count)
    rules = list(GLOBAL_RULES)
    names: dict[str, None] = {}
    while len(rules) < count:
        name = make_word(source, 4)
        if name not in names:
            names[name] = None
            rules += [tuple(text.replace("{name}", name) for text in texts) for texts in PACKAGE_RULES]
    return rules[:count], list(names)


def make_paths(names: list[str], source: random.Random, asked: set[str]) -> list[str]:
    """As many paths as a large pull request has, none of them asked before."""
    paths: list[str] = []
    touched = source.sample(names, min(PACKAGES_TOUCHED, len(names)))
    while len(paths) < PATHS:
        word = make_word(source, source.choice((2, 3, 4)))
        path = source.choice(FILES).format(name=source.choice(touched), word=word)
        if path not in asked:
            asked.add(path)
            paths.append(path)
    return paths


def without_braces(texts: tuple[str, ...]) -> list[str]:
    lines = list(texts)
    for braces in BRACES:
        branches = braces[1:-1].split(",")
        lines = [line.replace(braces, branch) for line in lines for branch in (branches if braces in line else [""])]
    return lines


def time_rounds(ask: Callable[[list[str]], object], rounds: list[list[str]]) -> float:
    """Seconds for one round, the best of all: other work on the machine only ever adds to it."""
    times = []
    for paths in rounds:
        started = time.perf_counter()
        ask(paths)
        times.append(time.perf_counter() - started)
    return min(times)


def fill(lists: dict[int, PatternList], file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.executescript(TABLE)
    file_scopes(connection, "demo", lists)
    connection.commit()
    connection.close()


def measure(count: int, folder: Path, *, compare: bool) -> dict[str, float]:
    rules, names = make_rules(count)
    lists = {number: parse_list(texts) for number, texts in enumerate(rules)}
    source = random.Random(7)
    asked: set[str] = set()
    fill(lists, folder / f"{count}.sqlite")
    connection = sqlite3.connect(folder / f"{count}.sqlite")

    postings: dict[str, Postings] = {
        "memory": MemoryPostings(lists),
        "sqlite": SqlitePostings(connection, "demo", has_grams=holds_grams(connection)),
    }
    figures: dict[str, float] = {}
    sample = make_paths(names, source, asked)
    answers = []
    for kind, where in postings.items():
        index = ScopeIndex(where, lambda scopes: {scope: lists[scope] for scope in scopes})
        answers.append(index.match_paths(sample))
        figures["grams"] = float(where.has_grams)
        figures["candidates"] = sum(map(len, index.candidates(sample).values())) / PATHS
        figures[kind] = time_rounds(index.match_paths, [make_paths(names, source, asked) for _ in range(ROUNDS)])
    figures["matches"] = sum(map(len, answers[0].values())) / PATHS
    if answers[0] != answers[1]:
        sys.exit("memory and sqlite disagree")

    if compare:
        specs = [PathSpec.from_lines(GitIgnoreSpecPattern, without_braces(texts), backend="simple") for texts in rules]

        def ask_pathspec(paths: list[str]) -> list[list[str]]:
            # Three times as fast as match_file for each path.
            return [list(spec.match_files(paths)) for spec in specs]

        covered: list[list[str]] = [[] for _ in rules]
        for path, matches in answers[0].items():
            for scope, _ in matches:
                covered[scope].append(path)
        if list(map(sorted, ask_pathspec(sample))) != list(map(sorted, covered)):
            sys.exit("rulebook and pathspec disagree")
        figures["pathspec"] = time_rounds(ask_pathspec, [make_paths(names, source, asked) for _ in range(3)])
    connection.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Times the look-up of rules by paths.")
    parser.add_argument("--repeat", type=int, default=3, help="how often each size is measured; the median is shown")
    repeat = parser.parse_args().repeat
    measured: dict[int, dict[str, float]] = {}
    print(f"{PATHS} paths; milliseconds, best of {ROUNDS} rounds with fresh paths; median of {repeat} runs\n")
    print("  rules    memory    sqlite  pathspec   matches/path  lists tested/path  grams")
    for size in SIZES:
        runs = []
        for _ in range(repeat):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(measure(size, Path(folder), compare=size == COMPARED))
        figures = {key: median(run[key] for run in runs) for key in runs[0]}
        measured[size] = figures
        slow = f"{figures['pathspec'] * 1e3:10.0f}" if "pathspec" in figures else " " * 10
        print(
            f"{size:7,} {figures['memory'] * 1e3:9.2f} {figures['sqlite'] * 1e3:9.2f}{slow} {figures['matches']:14.2f}"
            f" {figures['candidates']:18.2f}  {'yes' if figures['grams'] else 'no'}"
        )
    print()
    for kind in ("memory", "sqlite"):
        faster = measured[COMPARED]["pathspec"] / measured[COMPARED][kind]
        growth = measured[SIZES[-1]][kind] / measured[SIZES[0]][kind]
        print(f"{kind}: {faster:.0f} times faster than pathspec at {COMPARED:,} rules;", end=" ")
        print(f"{growth:.2f} times as long at {SIZES[-1]:,} rules as at {SIZES[0]:,}")


if __name__ == "__main__":
    main()
