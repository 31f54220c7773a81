"""Regular expressions from content: what costs too much is refused, the rest is searched as far as its bound allows."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulebook.backtracking import search_steps
from rulebook.catalog import load
from rulebook.regexes import (
    MAX_LINE,
    MAX_PATTERN,
    MAX_STEPS,
    MIN_LINE,
    RegexError,
    compile_bounded,
    compile_checked,
)
from stepcount import parser

ROOT = Path(__file__).parent.parent

#: Expressions that brought services down or that papers and tools on the subject cite, and others of their kinds.
EXPONENTIAL = [
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "(a|a?)+$",
    "(a|ab|b)*c",
    "(?i)(?:ab|Ab)+c",
    "(aa?)+b",
    "(x+x+)+y",
    "(?:x+x+)+y",
    "(a{1,30}){1,30}b",
    "(a+){20,}b",
    "(a+?)+?b",
    "((a*)*)*b",
    "(.*)*=",
    r"(\w*)*\.com",
    r"^(\d+)*$",
    r"^(\w+\s?)*$",
    r"^\s*(\S+\s*)+$",
    r"(?:\s*\w+\s*)+;",
    r"^(\s*\w+\s*,?)+$",
    r"(\s*,\s*|\s+)+;",
    "(?:[^/]+/?)*x",
    "(?:ab|abab)*c",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$",
    "(?=(a+)+b)",
    "(?!(a+)+b)",
    "(?<=x)(a+)+b",
    "(x)(?(1)(a+)+|b)",
    "x|(a+)+b",
    "(?P<n>(?:a+)+)b",
    "(?:é|é)*b",
    "(?i)(?:kb|\u212ab)*b",
    "a?" * 30 + "a" * 30,
    "^(?:a?){30}a{30}$",
    "(?:(?:a?){40}){2}b",
    "(?:|a|)" * 40 + "b",
]
#: A polynomial of which fewer characters of a line could be looked at than :data:`MIN_LINE`.
STEEP = [
    "a*a*a*a*b",
    ".*a.*b.*c.*d",
    ".*?,.*?,.*?,.*?,.*?;",
    "(.*a){25}",
    r"\w*\w*\w*\w*\w*!",
    "(?:a{0,99}){5}b",
    r"(?:(?:\"|'|\]|\}|\\|\d|(?:nan|infinity|true|false|null)|\`|\-|\+)+[)]*;?((?:\s|-|~|!|{}|\|\||\+)*.*(?:.*=.*)))",
]
#: The same of a lower degree, with the least that has to be looked at.
SHORTENED = [
    ("a*a*a*b", 150),
    ("^.*?,.*?,.*?,.*?;", 150),
    ("^(.+)@(.+)\\.(.+)$", 500),
    (r"^\S+@\S+\.\S+$", 500),
    ("a*a*b", 500),
    (".*a.*b", 500),
    (r"(.+)\1", 500),
    ("(?:a?){16}b", 500),
    ("(a|ab)(b|ba)" * 9 + "x", 150),
    (r"(['\"])(?:(?!\1).)*\1", 500),
]
#: What people write, with a line that it finds; all of a line is looked at.
ORDINARY = [
    (r"^(import|from)\s+torch\b", "from torch import nn"),
    (r"^\s*(import|from)\s+(torch|vllm)(\.\w+)*\b", "  import torch.nn.functional"),
    (r"new_group|init_process_group", "dist.new_group()"),
    (r"(\d{1,3}\.){3}\d{1,3}", "127.0.0.1"),
    (r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$", "10.0.0.1"),
    (r"([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}", "1:2:3:4:5:6:7:8"),
    (r"v?\d+(\.\d+)?(rc\d+)?", "v1.20rc1"),
    (r"\bv?\d+\.\d+\.\d+(?:-[\w.]+)?\b", "v1.2.3-rc.1"),
    (r"(ab|cd)+$", "abcd"),
    (r"(?:ab?c)*d", "acabcd"),
    (r"(?:foo|for)+=", "foofor="),
    (r"(?:ab){3}", "ababab"),
    (r"^\s*original(_\w+)?\s*=\s*\w+\.", "  original_run = worker.run"),
    (r"([^,]*),([^,]*),", "a,b,"),
    (r"^[^,]*,[^,]*,[^,]*,[^,]*;", "a,b,c,d;"),
    (r"(?i)WORKER_cls", "worker_CLS"),
    (r"(?<!def )apply\(", "x = apply("),
    (r"(a)(?(1)b|c)", "ab"),
    (r"", ""),
    (r"x*", ""),
    (r"(?:https?://)?(?:www\.)?github\.com(?:/\w+)?(?:/\w+)?/?", "github.com/o/n"),
    (r"https?://[^\s/]+(?:/[^\s/]+)*/?", "see https://a.b/c/d"),
    (r"(?:a|b)(?:c|d)" * 9, "ac" * 9),
    (r"(?!a?b?c?d?e?f?g?h?i?)(?=a?b?c?d?e?f?g?h?i?)|x", "x"),
    (r"TODO|FIXME|XXX", "# FIXME later"),
    (r"\bprint\(", "print(x)"),
    (r"^\s*def\s+(\w+)\s*\(", "    def run(self):"),
    (r"^\s*(async )?def test_\w+\(", "async def test_it("),
    (r"^class\s+\w+(?:\([^)]*\))?:", "class A(B, C):"),
    (r"^\s*@\w+(?:\.\w+)*(?:\(.*\))?\s*$", "@pytest.mark.slow"),
    (r"\bexcept\s*(?:Exception)?\s*:", "except Exception:"),
    (r"\braise\s+\w+Error\b", "raise ValueError"),
    (r"assert\s+.+,\s*f?[\"']", "assert x, 'why'"),
    (r"[\"'][^\"']*password[^\"']*[\"']", "x = 'my password'"),
    (r'"(?:[^"\\]|\\.)*"', r'"a \" b"'),
    (r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/", "/* a */"),
    (r"^\s*(?://|#)", "  // x"),
    (r"<!--.*?-->", "<!-- a -->"),
    (r"\$\{[A-Z_][A-Z0-9_]*\}", "${HOME}"),
    (r"\$\{?\w+\}?", "$HOME"),
    (r"--[a-z][a-z0-9-]*(?:[= ]\S+)?", "--dry-run=yes"),
    (r"^\s*-\s+\[[ xX]\]\s", "- [x] done"),
    (r"^#{1,6}\s+\S", "## Why"),
    (r"^\|(?:[^|]*\|)+\s*$", "| a | b |"),
    (r"\[[^\]]*\]\([^)]*\)", "[a](b)"),
    (r"^\s*\w+:\s*(?:true|false)\s*$", "on: true"),
    (r"^\s*image:\s*[\w./-]+(?::[\w.-]+)?$", "image: a/b:1.0"),
    (r"\bpip3?\s+install\b", "pip install x"),
    (r"^FROM\s+\S+(?:\s+AS\s+\w+)?$", "FROM a AS b"),
    (r"\b[0-9a-f]{40}\b", "0" * 40),
    (r"\b[0-9a-f]{7,40}\b", "abcdef0"),
    (r"^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$", "1.5e-3"),
    (r"\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2})?\b", "2026-01-01"),
    (r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$", "a.b@c.org"),
    (r"(?:\.\w+|\[\d+\])*=", ".a[1]="),
    (r"^\s+|\s+$", "a  "),
    (r"\s+$", "a "),
    (r".*foo.*", "a foo b"),
    (r"\bfoo\b.*\bbar\b", "foo bar"),
    (r"^(?=.*\bfoo\b)(?=.*\bbar\b)(?=.*\bbaz\b)", "baz bar foo"),
    (r"std::(?:unordered_)?map<[^<>]*>", "std::map<a, b>"),
    (r"\bmalloc\s*\((?![^;]*sizeof)", "malloc(10)"),
    (r"torch\.(?:cuda|npu)\.\w+\(", "torch.npu.sync("),
    (r"控制面|连接器\w*", "在控制面"),
    (r"^[^“]*“[^”]*”", "他说“好”"),
    (r"(?s)a.b", "a\nb"),
    (r"(?m)^b", "a\nb"),
    (r"(?x) a \s+ b  # spaced", "a b"),
]


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_exponential_expressions_are_refused(pattern: str) -> None:
    with pytest.raises(RegexError, match="can take exponential time") as caught:
        compile_bounded(pattern)
    assert caught.value.hint


@pytest.mark.parametrize("pattern", STEEP)
def test_expressions_that_leave_too_little_of_a_line_are_refused(pattern: str) -> None:
    with pytest.raises(
        RegexError, match=r"takes the power \d+ of its length: too much from \d+ characters on"
    ) as caught:
        compile_bounded(pattern)
    assert "[^,]*" in caught.value.hint


@pytest.mark.parametrize(("pattern", "least"), SHORTENED)
def test_dear_expressions_look_at_shorter_beginnings(pattern: str, least: int) -> None:
    expression = compile_bounded(pattern)
    assert least <= expression.limit < MAX_LINE
    steps = search_steps(parser.parse(pattern))
    assert steps.at(expression.limit) <= MAX_STEPS < steps.at(expression.limit + 1)


@pytest.mark.parametrize(("pattern", "line"), ORDINARY)
def test_usual_expressions_look_at_all_of_a_line(pattern: str, line: str) -> None:
    expression = compile_bounded(pattern)
    assert expression.search(line)
    assert expression.limit == MAX_LINE
    assert search_steps(parser.parse(pattern)).at(MAX_LINE) <= MAX_STEPS


def own_expressions() -> list[str]:
    rules = load(str(ROOT)).rules
    signals = [s for rule in rules for s in (*(rule.look_for or ()), *(co.when for co in rule.co_changes))]
    policies = [rule.metadata["policy"] for rule in rules if "policy" in rule.metadata]
    return list(
        dict.fromkeys(
            [
                *(text for signal in signals for text in signal.lines),
                *(item["lines"] for policy in policies for item in policy.get("patterns", ())),
            ]
        )
    )


def test_the_expressions_of_our_own_rules_look_at_more_than_lines_of_code_have() -> None:
    limits = {pattern: compile_bounded(pattern).limit for pattern in own_expressions()}
    assert len(limits) > 100
    assert {pattern: limit for pattern, limit in limits.items() if limit < 220} == {}


@pytest.mark.parametrize("pattern", ["(", "[a", "*a", "(?P<1>a)", r"\1", "(?z)", "a{2,1}", "(?<=a+)b", "(?:" * 300])
def test_what_is_no_expression(pattern: str) -> None:
    with pytest.raises(RegexError, match=r"is no regular expression|is longer"):
        compile_bounded(pattern)


@pytest.mark.parametrize("pattern", ["[[a]", "[a--b]", "[a||b]"])
def test_what_python_warns_of_is_refused_without_a_warning(pattern: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RegexError, match="Possible"):
            compile_bounded(pattern)
    assert caught == []


@pytest.mark.parametrize("pattern", ["a++", "(?>a+)b", "(?:a*+)+", "((a+)+)++b"])
def test_what_only_some_versions_of_python_know_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError):
        compile_bounded(pattern)


@pytest.mark.parametrize("pattern", [r"(['\"])(?:(?=(\\?))\2.)*?\1", r"(.)\1+"])
def test_references_in_a_repeat_are_refused(pattern: str) -> None:
    with pytest.raises(RegexError, match="repeats a reference to a group"):
        compile_bounded(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "a?" * 500,
        "(" * 110 + "a" + ")" * 110,
        "a{64}" * 150,
        "(?:|)" * 200,
        "(?:a{60}|b{60})" * 50,
        ".*?" * 333,
    ],
    ids=lambda pattern: pattern[:12],
)
def test_huge_expressions_are_refused_by_what_they_are_not_by_how_deep_the_call_is(pattern: str) -> None:
    with pytest.raises(RegexError, match="has too many"):
        compile_bounded(pattern)


def test_length() -> None:
    assert compile_bounded("a" * MAX_PATTERN)
    with pytest.raises(RegexError, match="longer than"):
        compile_bounded("a" * (MAX_PATTERN + 1))


def test_nothing_behind_the_limit_counts() -> None:
    expression = compile_bounded("a*a*a*b")
    line = "x" * (expression.limit - 1) + "b"
    assert (expression.search(line) is not None, expression.is_cut(line)) == (True, False)
    assert (expression.search("x" + line), expression.is_cut("x" + line)) == (None, True)


def test_an_end_of_the_line_is_where_looking_ends() -> None:
    expression = compile_bounded("x$")
    assert expression.search("x" * MAX_LINE + "y")


def test_a_checked_expression_keeps_its_limit() -> None:
    assert compile_checked("(a+)+b", 7).limit == 7
    assert compile_checked("(a+)+b", 7).search("aaab")
    with pytest.raises(RegexError):
        compile_checked("(", 7)


@given(
    st.lists(st.sampled_from(["a*", ".*", r"\w+", "a", "b", "[^a]*", "(?:ab)*", "(?:a|b)+", "a?", r"\s*"]), max_size=8)
)
def test_every_accepted_expression_stays_within_the_steps(parts: list[str]) -> None:
    pattern = "".join(parts)
    try:
        expression = compile_bounded(pattern)
    except RegexError:
        return
    assert MIN_LINE <= expression.limit <= MAX_LINE
    assert search_steps(parser.parse(pattern)).at(expression.limit) <= MAX_STEPS
    assert expression.compiled == re.compile(pattern)
