"""Frontmatter: scalars as they were written, exact lines, and YAML's traps explained."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulebook.metadata import MAX_DEPTH, MAX_VALUES, Parts, split_document


def read(yaml: str) -> Parts:
    return split_document(f"---\n{yaml}\n---\nThe text.\n", "rules/x.md")


def told(parts: Parts) -> list[tuple[str, int]]:
    return [(finding.code, finding.location.line) for finding in parts.findings]


@pytest.mark.parametrize(
    "scalar",
    [
        "1234567890123456789012345678901234567890",
        "0012",
        "0x1F",
        "1_000",
        "0o17",
        ".5",
        "yes",
        "1e3",
        "on",
        "No",
        "true",
        "null",
        "~",
        "2026-10-09",
        "12:30:45",
        ".inf",
        "=",
        "<<",
        "path#L1",
        "owner/name#12",
    ],
)
def test_a_scalar_is_the_text_that_was_written(scalar: str) -> None:
    parts = read(f"key: {scalar}\nlist:\n- {scalar}\nflow: [{scalar}]\n{scalar}: key")
    assert parts.findings == ()
    assert parts.metadata.values == {"key": scalar, "list": [scalar], "flow": [scalar], scalar: "key"}


def test_nothing_behind_a_key_is_an_empty_text() -> None:
    assert read("key:\nother: ''").metadata.values == {"key": "", "other": ""}


@pytest.mark.parametrize("tag", ["!!int", "!!python/object/apply:os.system", "!!binary", "!!timestamp"])
def test_tags_of_yaml_construct_nothing(tag: str) -> None:
    assert read(f"key: {tag} '12'").metadata.values == {"key": "12"}


PRINTABLE = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\ufffe\uffff"), max_size=60
)


@given(st.dictionaries(st.text(string.ascii_letters, min_size=1), PRINTABLE, min_size=1), PRINTABLE)
def test_quoted_text_comes_back(values: dict[str, str], tail: str) -> None:
    lines = [f"{key}: {json.dumps(value)}" for key, value in values.items() if max(value, default="") <= "\uffff"]
    lines.append(f"tail: [{json.dumps(tail if max(tail, default='') <= chr(0xFFFF) else '')}]")
    parts = read("\n".join(lines))
    assert parts.findings == ()
    for number, (key, value) in enumerate(parts.metadata.values.items(), start=2):
        assert parts.metadata.line(key) == number
        if key in values and key != "tail":
            assert value == values[key]


@given(PRINTABLE.filter(lambda text: not set(text) & set("\u2028\u2029\x85")))
def test_text_in_single_quotes_comes_back(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    assert read(f"a: {quoted}").metadata.values == {"a": text}


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    parts = split_document(f"---\n{text}\n---\nThe text.\n", "x.md")
    last = text.count("\n") + 3
    assert all(1 <= finding.location.line <= last for finding in parts.findings)
    assert all(1 <= line <= last for line in parts.metadata.lines.values())


@given(st.text(st.sampled_from("ab:-#*!&|>{}[],'\"% \n\t?~`@\u2028\x85"), max_size=60))
def test_no_yaml_breaks_the_reader(text: str) -> None:
    parts = split_document(f"---\n{text}\n---\n", "x.md")
    assert isinstance(parts.metadata.values, dict)
    assert all(1 <= finding.location.line <= text.count("\n") + 3 for finding in parts.findings)


@pytest.mark.parametrize(
    ("yaml", "code", "line", "remedy"),
    [
        pytest.param("applies_to: **/*.ts", "yaml-alias", 2, 'quote it: "**/*.ts"', id="star"),
        pytest.param("id: x\napplies_to: [a, *.ts]", "yaml-alias", 3, 'quote it: "*.ts"', id="star-in-a-list"),
        pytest.param("applies_to:\n  - a\n  - *.ts", "yaml-alias", 4, 'quote it: "*.ts"', id="star-in-a-block"),
        pytest.param("applies_to: !src/**", "yaml-tag", 2, "quote it: '!src/**'", id="exclamation"),
        pytest.param("applies_to:\n- a\n- !x", "yaml-tag", 4, "quote it: '!x'", id="exclamation-in-a-block"),
        pytest.param("a: 1\np: src/a.py #L1", "yaml-comment", 3, "quote the whole value", id="anchor"),
        pytest.param("p: [a #L1\n, b]", "yaml-comment", 2, "quote the whole value", id="anchor-in-a-list"),
        pytest.param("p: #L1", "yaml-comment", 2, "quote the whole value", id="nothing-but-an-anchor"),
        pytest.param("a: b: c", "yaml", 2, "quote the value: it holds ': '", id="two-colons"),
        pytest.param("a: `x`", "yaml", 2, "quote the value", id="backtick"),
        pytest.param("a: 1\nb: @x", "yaml", 3, "quote the value", id="at"),
        pytest.param("a:\n\t- b", "yaml", 3, "indent with spaces", id="tab"),
        pytest.param("a: 1\nb: 'x\x07'", "yaml", 3, "remove it", id="control-character"),
        pytest.param("a: [id].ts", "yaml", 2, "mend", id="brackets"),
        pytest.param("a: 1\nb: 2\na: 3", "yaml-duplicate", 4, "keep one", id="twice"),
        pytest.param("m:\n  a: 1\n  a: 2", "yaml-duplicate", 4, "keep one", id="twice-inside"),
        pytest.param("a: 1\n? [x]\n: c", "yaml-key", 3, "quote { } and [ ]", id="key-that-is-a-list"),
        pytest.param("- a\n- b", "yaml-shape", 1, "write key: value", id="list"),
        pytest.param("just words", "yaml-shape", 1, "write key: value", id="words"),
        pytest.param("a: 1\n...\nb: 2", "yaml", 4, "mend", id="two-documents"),
    ],
)
def test_a_trap_of_yaml_is_explained_at_its_line(yaml: str, code: str, line: int, remedy: str) -> None:
    parts = read(yaml)
    assert told(parts) == [(code, line)]
    assert remedy in parts.findings[0].remedy


def test_a_comment_is_no_trap() -> None:
    parts = read("status: active   # one of many\n# a line\n#another\nlist: [a, b] #glued\nq: 'x' #glued")
    assert parts.findings == ()
    assert parts.metadata.values == {"status": "active", "list": ["a", "b"], "q": "x"}


def test_braces_without_quotes_are_a_mapping() -> None:
    assert read("applies_to: {a,b}").metadata.values == {"applies_to": {"a": "", "b": ""}}


def test_of_a_key_given_twice_the_first_value_counts() -> None:
    assert read("a: 1\na: 2").metadata.values == {"a": "1"}


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    parts = read("\n".join(lines))
    assert [finding.code for finding in parts.findings] == ["yaml-size"]
    assert parts.metadata.values == {}


def test_an_alias_of_itself_is_refused() -> None:
    assert [code for code, _ in told(read("a: &a [*a]"))] == ["yaml-depth"]


def test_a_few_aliases_are_fine() -> None:
    assert read("a: &a [x]\nb: *a").metadata.values == {"a": ["x"], "b": ["x"]}


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 20_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}"), ("- ", "")], ids=["list", "map", "block"])
def test_deep_nesting_is_refused(opening: str, closing: str, depth: int) -> None:
    parts = read(f"a:\n  {opening * depth}{closing * depth}")
    assert told(parts) == [("yaml-depth", 3)]


def test_as_many_values_as_are_allowed() -> None:
    # The mapping and the list are values themselves.
    assert read("a: [" + "x," * (MAX_VALUES - 2) + "]").findings == ()
    assert told(read("a: [" + "x," * (MAX_VALUES - 1) + "]")) == [("yaml-size", 2)]


@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_separators_that_only_yaml_takes_for_line_ends_move_no_line(separator: str) -> None:
    parts = read(f'title: "a{separator}b"\nid: x\npath: a #L1\nlist:\n  - one\n  - two')
    assert told(parts) == [("yaml-comment", 4)]
    assert parts.metadata.line("id") == 3
    assert parts.metadata.line("list", 1) == 7


def test_lines_of_values() -> None:
    parts = read("id: x\nlist:\n  - a\n\n  - b: |\n      one\n      two\n    c: 1\nlast: 1\nmap:\n  deep:\n    - x")
    lines = parts.metadata.lines
    assert lines["id",] == 2
    assert lines["list", 0] == 4
    assert lines["list", 1, "b"] == 6
    assert lines["list", 1, "c"] == 9
    assert lines["last",] == 10
    assert lines["map", "deep", 0] == 13
    assert parts.metadata.line("list", 1, "nothing", 3) == 6
    assert parts.metadata.line("nothing") == 2


@pytest.mark.parametrize(
    ("text", "code", "body", "body_line"),
    [
        pytest.param("", "frontmatter-missing", "", 1, id="empty"),
        pytest.param("# Title\n", "frontmatter-missing", "# Title\n", 1, id="none"),
        pytest.param("\n---\na: 1\n---\n", "frontmatter-missing", "\n---\na: 1\n---\n", 1, id="late"),
        pytest.param("----\na: 1\n----\n", "frontmatter-missing", "----\na: 1\n----\n", 1, id="four"),
        pytest.param("---\na: 1\nText\n", "frontmatter-unclosed", "", 1, id="unclosed"),
        pytest.param("---\na: 1\n----\nText\n", "frontmatter-unclosed", "", 1, id="closed-by-four"),
    ],
)
def test_frontmatter_that_is_not_there(text: str, code: str, body: str, body_line: int) -> None:
    parts = split_document(text, "x.md")
    assert told(parts) == [(code, 1)]
    assert (parts.body, parts.body_line, parts.metadata.values) == (body, body_line, {})


@pytest.mark.parametrize(
    ("text", "body", "line"),
    [
        pytest.param("---\na: 1\n---\nText", "Text", 4, id="plain"),
        pytest.param("---\na: 1\n---\n\n\nText\n", "Text\n", 6, id="blank-lines"),
        pytest.param("---  \na: 1\n--- \t\nText", "Text", 4, id="spaces-behind"),
        pytest.param("---\na: 1\n---\nText\n---\nmore\n", "Text\n---\nmore\n", 4, id="a-rule-in-the-text"),
        pytest.param("---\na: '\n\n  x'\n---\n  Text", "  Text", 6, id="indented-text"),
        pytest.param("---\na: 1\n---", "", 3, id="no-text"),
    ],
)
def test_where_the_text_begins(text: str, body: str, line: int) -> None:
    parts = split_document(text, "x.md")
    assert (parts.body, parts.body_line, parts.findings) == (body, line, ())
    assert text.split("\n")[line - 1 :] == body.split("\n") or not body


def test_bad_frontmatter_keeps_the_text() -> None:
    parts = split_document("---\na: b: c\n---\n\nText\n", "x.md")
    assert (parts.body, parts.body_line) == ("Text\n", 5)
