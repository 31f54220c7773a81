"""Regular expressions from content: what could take exponential time is refused, the rest compiles."""

from __future__ import annotations

import warnings

import pytest

from rulebook.regexes import MAX_LINE, MAX_PATTERN, RegexError, compile_bounded


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)+b", "(a*)*b", "(?:a+)*b", "(a+?)+?b", "((a+)b?)+c", "(.*)*x", r"(\w+\s?)*$", "(a{2,})+b", "(a+){20,}b"),
        *("(aa?)+b", "(a?a)*b", "(a{1,16})+b", "(?:x{0,1}y?)+z", "(a{0,16}){0,16}b", "((a?){4}){8}b", "(?:a+){5}b"),
        *("(a|a)*b", "(a|aa)+b", "(a|ab|b)*c", "(?:|a)+b", "(?i)(?:ab|Ab)+c", "(a|b|ab)+c"),
        *(r"(\w+,?)+$", "((a{1,50}){1,50})", "(?:x+x+)+y"),
        *("(?=(a+)+b)", "(?!(a+)+b)", "(?<=x)(a+)+b", "(x)(?(1)(a+)+|b)", "x|(a+)+b", "(?P<n>(?:a+)+)b"),
        *(
            "a?" * 20 + "a" * 20,
            "(a|ab)(b|ba)" * 9 + "x",
            "(?:(?:a?){5}b?){4}",
            "(?!" + "a?" * 20 + "b)",
            "a{0,99}" * 3,
        ),
    ],
)
def test_exponential_expressions_are_refused(pattern: str) -> None:
    with pytest.raises(RegexError, match="can take exponential time"):
        compile_bounded(pattern)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"^(import|from)\s+torch\b", "from torch import nn"),
        (r"new_group|init_process_group", "dist.new_group()"),
        (r"\bf\([^)]*\)", "f(x)"),
        (r"(?:foo|bar)*!", "foobar!"),
        (r"a{2,4}", "aaa"),
        (r"(\d{1,3}\.){3}\d{1,3}", "127.0.0.1"),
        (r"([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}", "1:2:3:4:5:6:7:8"),
        (r"v?\d+(\.\d+)?(rc\d+)?", "v1.20rc1"),
        (r"(ab|cd)+$", "abcd"),
        (r"(?:ab){3}", "ababab"),
        (r"^\s*original(_\w+)?\s*=\s*\w+\.", "  original_run = worker.run"),
        (r"([^,]*),([^,]*),", "a,b,"),
        (r"(?i)WORKER_cls", "worker_CLS"),
        (r"(?<!def )apply\(", "x = apply("),
        (r"(a)(?(1)b|c)", "ab"),
        (r"", ""),
        (r"(?:https?://)?(?:www\.)?github\.com(?:/\w+)?(?:/\w+)?/?", "github.com/o/n"),
        (r"(?:a|b)(?:c|d)" * 9, "ac" * 9),
        (r"(?!a?b?c?d?e?f?g?h?i?)(?=a?b?c?d?e?f?g?h?i?)|x", "x"),
    ],
)
def test_usual_expressions_work(pattern: str, line: str) -> None:
    assert compile_bounded(pattern).search(line)


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


def test_length() -> None:
    assert compile_bounded("a" * MAX_PATTERN)
    with pytest.raises(RegexError, match="longer than"):
        compile_bounded("a" * (MAX_PATTERN + 1))


@pytest.mark.parametrize("pattern", [r"(\d{1,3}\.){3}x", "(?:a?){16}b", r"([0-9a-f]{1,4}:){7}x", "(ab|cd)+e", "a+b"])
@pytest.mark.parametrize("line", ["1." * 1000, "a" * MAX_LINE, "abcd" * 500, "f:" * 1000])
def test_accepted_expressions_end(pattern: str, line: str) -> None:
    # An explosion would outlive the test run.
    compile_bounded(pattern).search(line[:MAX_LINE])
