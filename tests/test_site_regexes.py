"""Regular expressions of rules as JavaScript's: the same finds, or a refusal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rulebook.site.regexes import NoCounterpart, to_javascript
from sitekit import needs_node, run_scripts

TEXTS = (
    *("", "import torch", "  from vllm import x", "a.b_c(1)", "naïve_x", "x\u0301", "日本語x", "a\x1cb\x85c", "Ⅷ²٣"),
    *("worker_cls_was_auto = 1", "-/]^\\$", "\ttab", "𝒳y", "AbC", "aab", "aXbXc", "line\n", "foo\u2028bar"),
)
PATTERNS = (
    *(r"^(import|from)\s+(torch|vllm)\b", r"\w+", r"\W", r"\d", r"\D+", r"\s", r"\S+$", r".", r"[^\w\s]", r"[\W\d]x"),
    *(r"[^\W\d]", r"\bx", r"\B.", r"(?i)ABC", r"(?x) a  b # c", r"a{2,3}?b", r"(?<=a)X(?!c)", r"(?<!a)X", r"(a)\b|b*"),
    *(r"[-/\]^\\$]", r"\Aimport", r"c\Z", r"$", r"(?P<n>foo).", r"[𝒳é-ü]", r"(?:ab?)+c", r"\t"),
)
REFUSED = (r"(a)(?(1)b|c)", r"(?i)é", r"(?m)^a", r"(?s).", r"(?a)\w", r"(a)\1", r"(?i:a)b")


@needs_node
def test_expressions_find_the_same(tmp_path: Path) -> None:
    cases = [(pattern, text) for pattern in PATTERNS for text in TEXTS]
    found = run_scripts(tmp_path / "js", regexes=[[*to_javascript(pattern), text] for pattern, text in cases])
    expected = []
    for pattern, text in cases:
        match = re.search(pattern, text)
        expected.append(match[0] if match else None)
    different = [(case, js, py) for case, js, py in zip(cases, found, expected, strict=True) if js != py]
    assert different == []


@needs_node
@pytest.mark.parametrize("pattern", [r"[\W!]*x", r"[\W\D]*x", r"[\S\Wé]*\n", r"\b[\W ]*\bx"])
def test_a_class_stays_one_way_to_read_a_character(pattern: str, tmp_path: Path) -> None:
    # Two alternatives that read the same would outlive the test run.
    source, flags = to_javascript(pattern)
    texts = ["!" * 400, "é-, " * 100, "-" * 300 + "x"]
    found = run_scripts(tmp_path / "js", regexes=[[source, flags, text] for text in texts])
    assert found == [match[0] if (match := re.search(pattern, text)) else None for text in texts]


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_has_no_counterpart_is_refused(pattern: str) -> None:
    with pytest.raises(NoCounterpart):
        to_javascript(pattern)
