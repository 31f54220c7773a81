"""Scopes: what is found by tokens is what testing every list on every path finds."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulebook.patterns.syntax import PatternError, parse, parse_list
from rulebook.scope import (
    MemoryPostings,
    Postings,
    ScopeIndex,
    candidate_tokens,
    choose_token,
    count_tokens,
    path_tokens,
    scope_tokens,
)
from rulebook.store.postings import TABLE, SqlitePostings, file_scopes, holds_grams

if TYPE_CHECKING:
    from rulebook.patterns.compiled import Pattern, PatternList


def sqlite_postings(
    lists: Mapping[int, PatternList], counts: Mapping[str, int] | None = None
) -> tuple[SqlitePostings, sqlite3.Connection]:
    """Postings in a table; with ``counts``, filed as if so many others could be filed under each token."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLE)
    if counts is None:
        file_scopes(connection, "demo", lists)
    else:
        for scope, listed in lists.items():
            rows = [(f"demo\n{token}", scope) for token in scope_tokens(listed.patterns, counts)]
            connection.executemany("INSERT INTO token VALUES (?, ?)", rows)
    return SqlitePostings(connection, "demo", has_grams=holds_grams(connection)), connection


def plain(lists: Mapping[int, PatternList], paths: Iterable[str]) -> dict[str, list[tuple[int, Pattern]]]:
    """Every list on every path."""
    return {
        path: [(scope, found) for scope in sorted(lists) if (found := lists[scope].match(path)) is not None]
        for path in paths
    }


class Loader:
    """Gives lists out, and remembers what was asked for."""

    def __init__(self, lists: Mapping[int, PatternList]) -> None:
        self.lists = lists
        self.asked: list[int] = []

    def __call__(self, scopes: Collection[int]) -> Mapping[int, PatternList]:
        self.asked += scopes
        return {scope: self.lists[scope] for scope in scopes}


class Counting:
    """Postings that count what they are asked."""

    def __init__(self, postings: Postings) -> None:
        self.postings = postings
        self.asked: list[str] = []

    @property
    def has_grams(self) -> bool:
        return self.postings.has_grams

    def lookup(self, tokens: Collection[str]) -> Mapping[str, Sequence[int]]:
        self.asked += tokens
        return self.postings.lookup(tokens)


# --- tokens -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param("src/gen/a.py", ["p:src/gen/a.py"], id="file"),
        pytest.param("src/gen/", ["p:src/gen"], id="folder"),
        pytest.param("/a", ["p:a"], id="at-the-root"),
        pytest.param("a", ["s:a"], id="any-depth"),
        pytest.param("**/tests/**/x", ["s:tests", "s:x"], id="names"),
        pytest.param("src/**/x/y", ["p:src", "s:x", "s:y"], id="names-behind-globstar"),
        pytest.param("src/*/x", ["p:src", "s:x"], id="names-behind-star"),
        pytest.param("**", ["*"], id="anything"),
        pytest.param("?/*", ["*"], id="anything-in-a-short-folder"),
        pytest.param("*.py", ["e:.py"], id="extension"),
        pytest.param("*.d.ts", ["e:.d.ts", "w:d"], id="two-extensions"),
        pytest.param("*_test.go", ["e:.go", "w:test"], id="word-before-the-extension"),
        pytest.param("*.py.*", ["w:py"], id="extension-in-between"),
        pytest.param("*_test", ["w:test"], id="word-at-the-end"),
        pytest.param("*.x_test", ["e:.x_test", "w:x"], id="word-in-the-extension"),
        pytest.param("test_*", ["w:test"], id="word-at-the-beginning"),
        pytest.param("connec*", ["*", "g:conne", "g:onnec"], id="word-cut-off"),
        pytest.param("*ab-cd*", ["*"], id="words-cut-off"),
        pytest.param("*_ab_*", ["w:ab"], id="word-inside"),
        pytest.param("a?b.c", ["e:.c"], id="question-mark"),
        pytest.param("x.[ch]", ["w:x"], id="class"),
        pytest.param("*.[ch].in", ["e:.in"], id="class-before-the-extension"),
        pytest.param("[id].tsx", ["e:.tsx"], id="literal-brackets"),
        pytest.param("*.a*", ["*"], id="no-extension"),
        pytest.param("src/a*.py", ["p:src", "e:.py"], id="glob-in-a-folder"),
    ],
)
def test_candidate_tokens(text: str, tokens: list[str]) -> None:
    (alternative,) = parse(text).alternatives
    assert list(candidate_tokens(alternative)) == tokens


def test_path_tokens() -> None:
    assert sorted(set(path_tokens("src/a_b.d.ts", grams=False))) == [
        "*", "e:.d.ts", "e:.ts", "p:src", "p:src/a_b.d.ts", "s:a_b.d.ts", "s:src", "w:a", "w:b", "w:d",
    ]  # fmt: skip
    added = set(path_tokens("ab/abcdef", grams=True)) - set(path_tokens("ab/abcdef", grams=False))
    assert added == {"g:abcde", "g:bcdef"}


@pytest.mark.parametrize(
    ("text", "counts", "token"),
    [
        ("src/**/x.py", {}, "p:src"),
        ("src/**/x.py", {"p:src": 9, "s:x.py": 1}, "s:x.py"),
        ("src/**/x.py", {"p:src": 1, "s:x.py": 1}, "p:src"),
        ("**/a/b/**/ccc", {"s:a": 3, "s:b": 3, "s:ccc": 3}, "s:ccc"),
        ("*_test.py", {"e:.py": 99, "w:test": 999}, "e:.py"),
        ("*_config.py", {"e:.py": 99, "w:config": 999, "g:confi": 99, "g:onfig": 99}, "e:.py"),
        ("*onnec*", {"*": 32, "g:onnec": 1}, "*"),
        ("*onnec*", {"*": 33, "g:onnec": 1}, "g:onnec"),
        ("**", {"*": 10_000}, "*"),
    ],
)
def test_choose_token(text: str, counts: dict[str, int], token: str) -> None:
    (alternative,) = parse(text).alternatives
    assert choose_token(alternative, counts) == token


def test_rules_that_begin_alike_are_not_filed_together() -> None:
    texts = [f"src/**/module{number}/*.py" for number in range(1000)] + [
        f"src/**/unit{number}_*.py" for number in range(1000)
    ]
    lists = {number: parse_list([text]) for number, text in enumerate(texts)}
    index = ScopeIndex(MemoryPostings(lists), Loader(lists))
    path = "src/a/module7/unit9_x.py"
    assert index.candidates([path]) == {path: [7, 1009]}


def test_scope_tokens_are_those_of_each_alternative_that_takes_in() -> None:
    listed = parse_list(["{src/a,**/b}/x", "!src/c", "/docs/"])
    assert scope_tokens(listed.patterns, {}) == {"p:src/a/x", "s:b", "p:docs"}
    assert scope_tokens(parse_list(["!a"]).patterns, {}) == set()


# --- looking up -------------------------------------------------------------------------------

LISTS = {
    3: parse_list(["operator/**", "!operator/cli/**"]),
    1: parse_list(["**/*.go"]),
    2: parse_list(["{docs,operator/cli}/*.{md,go}"]),
    9: parse_list(["**"]),
}


def test_match_paths_gives_scopes_in_order_with_the_pattern_that_decided() -> None:
    found = ScopeIndex(MemoryPostings(LISTS), Loader(LISTS)).match_paths(["operator/cli/b.go", "operator/a.go", "x"])
    texts = {path: [(scope, pattern.text) for scope, pattern in matches] for path, matches in found.items()}
    assert texts == {
        "operator/cli/b.go": [(1, "**/*.go"), (2, "{docs,operator/cli}/*.{md,go}"), (9, "**")],
        "operator/a.go": [(1, "**/*.go"), (3, "operator/**"), (9, "**")],
        "x": [(9, "**")],
    }


def test_nothing_asked_and_nothing_filed() -> None:
    assert ScopeIndex(MemoryPostings(LISTS), Loader(LISTS)).match_paths([]) == {}
    assert ScopeIndex(MemoryPostings({}), Loader({})).match_paths(["a/b"]) == {"a/b": []}


def test_lists_are_loaded_when_needed_and_once() -> None:
    loader = Loader(LISTS)
    index = ScopeIndex(MemoryPostings(LISTS), loader)
    index.match_paths(["x", "y"])
    assert loader.asked == [9]
    index.match_paths(["a.go", "x"])
    index.match_paths(["b.go"])
    assert loader.asked == [9, 1]


def test_each_token_is_looked_up_once_for_all_paths() -> None:
    postings = Counting(MemoryPostings(LISTS))
    paths = [f"a/b/c/{number}.go" for number in range(50)] + ["a/b", "a/b/c/1.go"]
    ScopeIndex(postings, Loader(LISTS)).candidates(paths)
    assert len(postings.asked) == len(set(postings.asked))
    assert set(postings.asked) == {token for path in paths for token in path_tokens(path, grams=False)}


def test_grams_are_looked_up_only_where_some_are_filed() -> None:
    lists = {number: parse_list([f"*{number:05}*"]) for number in range(40)}
    crowded = Counting(MemoryPostings(lists))
    assert ScopeIndex(crowded, Loader(lists)).candidates(["x00007x"]) == {"x00007x": [7]}
    assert {"g:x0000", "g:00007", "g:0007x"} <= set(crowded.asked)
    few = Counting(MemoryPostings({number: lists[number] for number in range(10)}))
    assert ScopeIndex(few, Loader(lists)).candidates(["x00007x"]) == {"x00007x": list(range(10))}
    assert not any(token.startswith("g:") for token in few.asked)


def test_sqlite_knows_whether_grams_are_filed() -> None:
    with_grams, connection = sqlite_postings({1: parse_list(["*onnec*"])}, {"*": 99})
    assert with_grams.has_grams
    connection.close()
    without, connection = sqlite_postings(LISTS)
    assert not without.has_grams
    connection.close()


def test_sqlite_takes_more_tokens_than_a_query_has_parameters() -> None:
    lists = {number: parse_list([f"/d{number}/"]) for number in range(3000)}
    postings, connection = sqlite_postings(lists)
    paths = [f"d{number}/x" for number in range(3000)]
    assert ScopeIndex(postings, Loader(lists)).candidates(paths) == {f"d{number}/x": [number] for number in range(3000)}
    connection.close()


def test_a_name_that_is_no_utf8_is_matched_by_wildcards_only() -> None:
    lists = {1: parse_list(["src/*.py"]), 2: parse_list(["src/a.py"])}
    path = b"src/\xff.py".decode("utf-8", "surrogateescape")
    postings, connection = sqlite_postings(lists)
    for each in (postings, MemoryPostings(lists)):
        assert [scope for scope, _ in ScopeIndex(each, Loader(lists)).match_paths([path])[path]] == [1]
    connection.close()


def test_a_path_of_thousands_of_folders() -> None:
    path = "/".join("a" * 3000)
    assert len(ScopeIndex(MemoryPostings(LISTS), Loader(LISTS)).match_paths([path])[path]) == 1


# --- the law: tokens change the cost, never the answer ----------------------------------------

NAMES = [
    "a",
    "ab",
    "abc",
    "a_b",
    "abcabc",
    "test_abcab",
    "a.b_a",
    "a.py",
    "test_a.py",
    "a.d.ts",
    ".env",
    "x-abc.py",
    "[ab].c",
    "src",
    "文档.md",
]
PIECES = ["a", "b", "abc", "bcabc", "_", "-", ".", ".py", "*", "**", "?", "[ab]", "test_", "{a,b_}", "{src/,*}", "文"]


def random_lists(source: random.Random) -> dict[int, PatternList]:
    lists = {}
    for scope in source.sample(range(100), source.choice([1, 2, 5])):
        texts = []
        for _ in range(source.choice([1, 2, 3])):
            count = source.choice([1, 1, 2, 3])
            segments = [
                source.choice(["**", *NAMES])
                if source.random() < 0.5
                else "".join(source.choices(PIECES, k=source.choice([1, 2, 3])))
                for _ in range(count)
            ]
            texts.append(
                source.choice(["", "", "!"])
                + source.choice(["", "/"])
                + "/".join(segments)
                + source.choice(["", "", "/"])
            )
        try:
            lists[scope] = parse_list(texts)
        except PatternError:
            continue
    return lists


def random_paths(source: random.Random) -> list[str]:
    return ["/".join(source.choices(NAMES, k=source.choice([1, 2, 3, 4]))) for _ in range(12)]


sources = st.randoms(use_true_random=False)


@settings(deadline=None, max_examples=200)
@given(sources)
def test_compiled_equals_plain(source: random.Random) -> None:
    lists = random_lists(source)
    paths = random_paths(source)
    expected = plain(lists, paths)
    assert ScopeIndex(MemoryPostings(lists), Loader(lists)).match_paths(paths) == expected
    shuffled = list(lists)
    source.shuffle(shuffled)
    again = ScopeIndex(MemoryPostings({scope: lists[scope] for scope in shuffled}), Loader(lists))
    assert again.match_paths(paths[::-1]) == expected


@settings(deadline=None, max_examples=100)
@given(sources)
def test_counts_change_nothing_but_the_cost(source: random.Random) -> None:
    lists = random_lists(source)
    paths = random_paths(source)
    tokens = count_tokens(pattern for listed in lists.values() for pattern in listed.patterns)
    counts = {token: source.choice([0, 1, 40, 1000]) for token in tokens}
    postings, connection = sqlite_postings(lists, counts)
    assert ScopeIndex(postings, Loader(lists)).match_paths(paths) == plain(lists, paths)
    connection.close()


@settings(deadline=None, max_examples=200)
@given(sources)
def test_a_path_that_matches_has_every_candidate_token(source: random.Random) -> None:
    lists = random_lists(source)
    for path in random_paths(source):
        tokens = set(path_tokens(path, grams=True))
        for listed in lists.values():
            for pattern in listed.patterns:
                for alternative in pattern.alternatives:
                    if alternative.matches(path, path.split("/")):
                        assert set(candidate_tokens(alternative)) <= tokens


@settings(deadline=None, max_examples=100)
@given(sources)
def test_the_index_enumerates_what_path_tokens_enumerates(source: random.Random) -> None:
    paths = random_paths(source)
    postings = Counting(MemoryPostings({}))
    ScopeIndex(postings, Loader({})).candidates(paths)
    assert set(postings.asked) == {token for path in paths for token in path_tokens(path, grams=False)}
