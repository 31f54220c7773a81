"""The bound on the steps of a search, held against a matcher that counts them."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rulebook.backtracking import Bound, TooMuch, search_steps
from stepcount import Matcher, TooLong, parser


def bound_of(pattern: str) -> Bound:
    return search_steps(parser.parse(pattern))


ATOMS = st.sampled_from(
    [
        *"aaabbc",
        " ",
        "[ab]",
        "[^a]",
        ".",
        r"\w",
        r"\s",
        r"\S",
        r"\W",
        "[a-c]",
        "é",
        "[^é]",
        r"\d",
        "k",
        "(?i:K)",
        "(?i:[i-l])",
    ]
)
PLACES = st.sampled_from(["^", "$", r"\b", r"\B"])
COUNTS = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}", "{0,70}", "{80}", "{1,90}"])


def grow(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = parts.map("(?:{})".format)
    return st.one_of(
        st.lists(parts, min_size=2, max_size=4).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda each: f"(?:{'|'.join(each)})"),
        st.tuples(st.one_of(ATOMS, group), COUNTS, st.sampled_from(["", "", "?"])).map("".join),
        st.tuples(st.one_of(ATOMS, group), COUNTS, st.sampled_from(["", "", "?"])).map("".join),
        st.tuples(st.sampled_from(["(?={})", "(?!{})"]), parts).map(lambda pair: pair[0].format(pair[1])),
        st.tuples(st.sampled_from(["(?<={})", "(?<!{})"]), ATOMS).map(lambda pair: pair[0].format(pair[1])),
        st.tuples(parts, parts).map(lambda pair: f"({pair[0]}){pair[1]}\\1"),
        st.tuples(parts, parts).map(lambda pair: f"(?:{pair[0]})?{pair[1]}"),
    )


EXPRESSIONS = st.recursive(st.one_of(ATOMS, ATOMS, ATOMS, PLACES), grow, max_leaves=9)
LINES = st.one_of(
    st.text("ab c", max_size=14),
    st.text("aab", max_size=22),
    st.tuples(st.text("abc é1k\u212a", min_size=1, max_size=3), st.integers(2, 9), st.text("abc é!", max_size=3)).map(
        lambda parts: parts[0] * parts[1] + parts[2]
    ),
    st.text("ab \né\u212ak1!", max_size=10),
)


@pytest.fixture(autouse=True)
def room_for_the_oracle() -> Iterator[None]:
    """The oracle calls itself for each character that is read."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(8_000)
    yield
    sys.setrecursionlimit(before)


def count(pattern: str, line: str, most: int = 10**9) -> int:
    """The steps of a search, counted; checks on the way that the oracle finds what ``re`` finds."""
    matcher = Matcher(pattern, line, most)
    assert matcher.search() == (re.compile(pattern).search(line) is not None)
    return matcher.steps


@given(EXPRESSIONS, st.lists(LINES, min_size=1, max_size=3))
@settings(deadline=None)
def test_no_search_takes_more_steps_than_its_bound(pattern: str, lines: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except re.error:
            assume(False)
    try:
        steps = bound_of(pattern)
    except TooMuch:
        return
    for line in lines:
        allowed = steps.at(len(line))
        try:
            assert count(pattern, line, min(allowed, 100_000)) <= allowed
        except TooLong:
            assert allowed > 100_000


#: Repeats and what stands between them: enough for every way in which loops can follow one another.
PIECES = ["a*", "b*", "[ab]*", ".*", "a", "b", "[^a]*", "a+", "(?:ab)*", "(?:a|bc)*", "(?:ab?c)*", "(?:ca*)*", "b?"]


@given(
    st.sampled_from(["", "^"]),
    st.lists(st.sampled_from(PIECES), min_size=2, max_size=5).map("".join),
    st.sampled_from(["!", "", "c"]),
)
@settings(deadline=None, max_examples=40)
def test_no_line_of_a_few_letters_takes_more_steps_than_the_bound(start: str, middle: str, end: str) -> None:
    steps = bound_of(start + middle + end)
    for letters in product("abc", repeat=4):
        for line in ("".join(letters) * 2, letters[0] * 5 + "".join(letters)):
            assert count(start + middle + end, line) <= steps.at(len(line))


CLASSES = [
    *(r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"(?a:\w)", r"(?a:\W)", r"(?a:\d)", r"(?a:\s)", r"(?a:\S)"),
    *(r"[^\W\d]", r"[^\s]", r"[\W_]", "[^a]", "a", "é", "[^é]", "[à-ü]", "[^à-ü]", ".", "(?s:.)", "—", "[^—]"),
    *(
        "(?i:k)",
        "(?i:[^s])",
        "(?i:[i-l])",
        "(?i:É)",
        "(?i:[à-ü])",
        "(?i:\u212a)",
        "(?i:ſ)",
        "(?i:[^ſ])",
        "(?i:İ)",
        "(?i:ß)",
    ),
]
CHARS = st.one_of(
    st.sampled_from("aAkKsSiIé É—\u212aſİıßẞ\u1c80µμςσ٣²½\x1c\x85\u2028\n_"),
    st.characters(exclude_categories=("Cs",)),
)


@given(st.sampled_from(CLASSES), st.sampled_from(CLASSES), CHARS)
@settings(max_examples=1_000)
def test_classes_that_share_a_character_are_known_to(one: str, other: str, char: str) -> None:
    if re.fullmatch(one, char) and re.fullmatch(other, char):
        pattern = f"^{one}*{other}*{one}*{other}*!"
        assert count(pattern, char * 8) <= bound_of(pattern).at(8)


@pytest.mark.parametrize(
    ("pattern", "degree"),
    [
        ("^abc", 1),
        ("abc", 1),
        ("^a*b", 1),
        ("a*b", 2),
        ("^.*b", 1),
        ("^.*b.*c", 2),
        (".*b.*c", 3),
        ("a*a*b", 3),
        ("a{0,99}a{0,99}b", 3),
        ("^[^,]*,[^,]*,[^,]*;", 1),
        (",[^,]*;", 1),
        ('"[^"]*"', 1),
        (r"\w+\s*=", 2),
        (r"\d+a\d+f", 2),
        (r"g\s+-\S+\s+\S+\s+c", 1),
        ("(?:ab?c)*d", 2),
        ("(?:foo|for)+=", 2),
        ("a.*", 1),
        (".*", 1),
        ("a(?=.*b)", 2),
        ("^(?=.*a)(?=.*b)(?=.*c)", 1),
        ("(?<=a)b", 1),
        (r"(a+)b\1c", 2),
        ("(?i)k*\u212a*!", 3),
        ("é*è!", 2),
        ("é*[^é]!", 2),
    ],
)
def test_degree(pattern: str, degree: int) -> None:
    assert bound_of(pattern).degree == degree


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("a*a*b", "a"),
        ("a*a*a*b", "a"),
        (".*a.*b", "a"),
        (r"\s+$", " "),
        ("(?:ab?c)*d", "ac"),
        ("(?:foo|for)+=", "foo"),
        ("a?a?a?a?b", "a"),
    ],
)
def test_the_bound_grows_as_the_steps_do(pattern: str, line: str) -> None:
    line = f"{line * 12}!"[:24]
    assert count(pattern, line) * 8 > bound_of(pattern).at(len(line))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5).map(Bound), st.integers(0, 400), st.integers(0, 60))
def test_longest_is_the_last_length_that_the_steps_are_enough_for(bound: Bound, steps: int, most: int) -> None:
    assert bound.longest(steps, most) == max((n for n in range(most + 1) if bound.at(n) <= steps), default=-1)


def test_a_repeat_that_is_too_long_to_write_out_is_taken_for_an_endless_one() -> None:
    assert bound_of("a{0,99}b") == bound_of("a*b")
    assert bound_of("a{0,9}b").degree == 1
