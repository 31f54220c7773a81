"""From files to documents and findings: what is written is what is read, and each fault is named where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb import CONFIG, RULE, make_kb, rule
from rulebook.catalog import load
from rulebook.errors import NoKnowledgeBase
from rulebook.metadata import split_document
from rulebook.model import Kind, Severity, Status
from rulebook.parse import parse_file
from rulebook.pins import PinError, parse_pin
from rulebook.regexes import RegexError, compile_bounded
from rulebook.validate import validate


def findings(tmp_path: Path, files: dict[str, str | bytes], **heads: tuple[str, ...]) -> list[tuple[str, str, int]]:
    """Code, path and line of each finding, warnings about thin prose left out."""
    found = validate(load(str(make_kb(tmp_path, files))), heads)
    return [(f.code, f.location.path.rsplit("/", 1)[-1], f.location.line) for f in found if f.code != "section-missing"]


# --- scalars ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["0012", "4" * 40, "2026-10-09", "12:30:45", "on", "No", "null", "~", "1e3", "0x1f", ".5", "1_000", "yes", "0o17"],
)
def test_scalars_come_out_as_they_are_written(text: str) -> None:
    parts = split_document(f"---\na: {text}\nb: [{text}]\nc:\n  - {text}\n---\n", "x.md")
    assert parts.findings == ()
    assert parts.metadata.values == {"a": text, "b": [text], "c": [text]}


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\x85\ufeff"), max_size=60)
)
def test_quoted_text_is_read_as_it_is(text: str) -> None:
    quoted = "'" + text.replace("'", "''") + "'"
    assert split_document(f"---\na: {quoted}\n---\n", "x.md").metadata.values == {"a": text}


def test_every_value_knows_its_line() -> None:
    text = "---\n\nid: A\nlist:\n  - one\n  - two\nmap:\n  deep:\n    - x\n---\n\n\nBody.\n"
    parts = split_document(text, "x.md")
    line = parts.metadata.line
    assert [line("id"), line("list", 1), line("map", "deep", 0), line("map", "none"), parts.body_line] == [
        3,
        6,
        9,
        7,
        13,
    ]
    assert parts.body == "Body.\n"


@pytest.mark.parametrize(
    ("frontmatter", "code", "line"),
    [
        pytest.param("a: **/*.ts", "yaml-alias", 2, id="unquoted-glob"),
        pytest.param("a: [x, *.py]", "yaml-alias", 2, id="unquoted-glob-in-a-list"),
        pytest.param("a: 1\nb: !src/**", "yaml-tag", 3, id="unquoted-negation"),
        pytest.param("a: src/x #L10", "yaml-comment", 2, id="anchor-behind-a-blank"),
        pytest.param("a: 1\nb: 2\na: 3", "yaml-duplicate", 4, id="key-twice"),
        pytest.param("a: b: c", "yaml", 2, id="colon-in-a-value"),
        pytest.param("- a\n- b", "yaml-shape", 1, id="a-list"),
        pytest.param("a: @x", "yaml", 2, id="reserved-character"),
        pytest.param("? [a]\n: b", "yaml-key", 2, id="a-list-as-a-key"),
        pytest.param("a: " + "[" * 2000, "yaml-depth", 1, id="depth"),
        pytest.param(
            "a: &a [1,1,1,1,1,1,1,1,1]\n"
            + "\n".join(
                f"{new}: &{new} [{','.join(['*' + old] * 9)}]" for old, new in zip("abcdef", "bcdefg", strict=True)
            ),
            "yaml-size",
            1,
            id="aliases-that-explode",
        ),
    ],
)
def test_yaml_that_is_not_what_it_looks_like(frontmatter: str, code: str, line: int) -> None:
    (finding, *_) = split_document(f"---\n{frontmatter}\n---\n", "x.md").findings
    assert finding.code == code
    assert finding.location.line >= line
    assert finding.remedy


def test_the_remedy_for_a_glob_is_to_quote_it() -> None:
    (finding,) = split_document("---\napplies_to: **/*.ts\n---\n", "x.md").findings
    assert finding.remedy == 'quote it: "**/*.ts"'


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [RULE.replace("\n", "\r\n"), "\ufeff" + RULE, "\ufeff" + RULE.replace("\n", "\r\n")])
def test_byte_order_marks_and_line_endings_do_not_matter(tmp_path: Path, text: str) -> None:
    catalog = load(str(make_kb(tmp_path, {"rules/demo/DEMO-1.md": text})))
    plain = load(str(make_kb(tmp_path / "plain", {"rules/demo/DEMO-1.md": RULE})))
    assert catalog.documents == plain.documents
    assert catalog.findings == ()


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        pytest.param(b"---\nid: caf\xe9\n---\n", "file-encoding", 2, id="latin-1"),
        pytest.param(RULE.encode("utf-16"), "file-encoding", 1, id="utf-16"),
        pytest.param(b"---\nid: a\n---\n\0", "file-encoding", 4, id="nul"),
        pytest.param("no frontmatter", "frontmatter-missing", 1, id="none"),
        pytest.param("---\nid: X\n", "frontmatter-unclosed", 1, id="unclosed"),
        pytest.param("---\n---\ntext", "key-missing", 1, id="empty"),
        pytest.param("", "frontmatter-missing", 1, id="nothing"),
    ],
)
def test_one_bad_file_is_one_finding_and_the_others_are_read(
    tmp_path: Path, data: bytes | str, code: str, line: int
) -> None:
    files = {"rules/demo/DEMO-1.md": RULE, "rules/demo/BAD-1.md": data}
    assert (code, "BAD-1.md", line) in findings(tmp_path, files)
    assert [rule.id for rule in load(str(tmp_path / "kb")).rules if rule.id == "DEMO-1"] == ["DEMO-1"]


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    with open(root / "rules/demo/HUGE-1.md", "wb") as file:
        file.truncate(50 << 20)
    assert [f.code for f in load(str(root)).findings] == ["file-size"]


def test_links_that_leave_the_knowledge_base_are_not_followed(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    secret = tmp_path / "secret.md"
    secret.write_text(rule("OUT-1"))
    (root / "rules/demo/OUT-1.md").symlink_to(secret)
    (root / "rules/demo/loop.md").symlink_to("loop.md")
    (root / "rules/demo/up").symlink_to("..")
    (root / "rules/demo/nowhere.md").symlink_to("missing.md")
    (root / "rules/demo/IN-1.md").symlink_to("../../kept.md")
    (root / "kept.md").write_text(rule("IN-1"))
    catalog = load(str(root))
    assert sorted(r.id for r in catalog.rules) == ["DEMO-1", "IN-1"]
    assert sorted(f.code for f in catalog.findings) == [
        "file-kind",
        "file-outside",
        "file-unreadable",
        "file-unreadable",
    ]


def test_what_is_no_content_is_not_read(tmp_path: Path) -> None:
    names = (
        "rules/README.md",
        "rules/README.zh.md",
        "rules/_draft.md",
        "rules/.hidden.md",
        "rules/.git/x.md",
        "rules/notes.txt",
        "docs/x.md",
    )
    assert findings(tmp_path, {"rules/demo/DEMO-1.md": RULE, **dict.fromkeys(names, "no content")}) == []


@pytest.mark.parametrize("files", [{}, {"rules/README.md": "x"}], ids=["nothing", "a-readme"])
def test_an_empty_knowledge_base_is_an_error_not_clean(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(NoKnowledgeBase):
        load(str(make_kb(tmp_path, files)))


# --- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        pytest.param({"status": "activ"}, "value-word", id="status"),
        pytest.param({"severity": "fatal"}, "value-word", id="severity"),
        pytest.param({"created": "2026-13-01"}, "value-date", id="no-such-month"),
        pytest.param({"updated": "yesterday"}, "value-date", id="no-date"),
        pytest.param({"created": "2026-02-02", "updated": "2026-02-01"}, "date-order", id="dates-out-of-order"),
        pytest.param({"aplies_to": "x"}, "key-unknown", id="unknown-key"),
        pytest.param({"title": "[a]"}, "value-type", id="list-for-text"),
        pytest.param({"applies_to": "[{a: b}]"}, "value-type", id="mapping-in-a-list"),
        pytest.param({"repo": "nowhere"}, "repo-unknown", id="repository"),
        pytest.param({"applies_to": '"src/**, docs/**"'}, "pattern-comma", id="patterns-with-a-comma"),
        pytest.param({"applies_to": '["a//b"]'}, "pattern-empty-segment", id="empty-part"),
        pytest.param({"applies_to": '["../x"]'}, "pattern-dot-segment", id="leaves-the-root"),
        pytest.param({"applies_to": '["!x"]'}, "pattern-only-negations", id="only-negations"),
        pytest.param({"sources": "[demo@0123abc:x]"}, "pin-shape", id="short-commit"),
        pytest.param({"sources": "[demo@main:x]"}, "pin-shape", id="branch"),
        pytest.param({"sources": f"[other@{'0' * 40}:x]"}, "pin-alias", id="unknown-alias"),
        pytest.param({"related": "[NONE-1]"}, "reference-dangling", id="dangling"),
        pytest.param({"related": "[DEMO-1]"}, "reference-self", id="self"),
        pytest.param({"status": "superseded"}, "status-superseded", id="superseded-by-nothing"),
        pytest.param({"look_for": ""}, "", id="nothing-to-look-for-is-no-key"),
        pytest.param({"look_for": "[{lines: '('}]"}, "signal-regex", id="no-regex"),
        pytest.param({"look_for": "[{lines: '(a+)+$'}]"}, "signal-regex", id="exponential-regex"),
        pytest.param({"look_for": "[{on: added}]"}, "signal-empty", id="no-condition"),
        pytest.param({"look_for": "[x]"}, "signal-shape", id="signal-that-is-text"),
        pytest.param({"look_for": "[{identifer: x}]"}, "key-unknown", id="key-of-a-signal"),
        pytest.param({"look_for": "[{changes: removed}]"}, "value-word", id="kind-of-change"),
        pytest.param({"co_changes": "[{when: x}]"}, "cochange-shape", id="co-change-without-then"),
    ],
)
def test_each_bad_value_is_found(tmp_path: Path, keys: dict[str, str], code: str) -> None:
    found = findings(tmp_path, {"rules/demo/DEMO-1.md": rule(**keys)})
    assert (code in [finding[0] for finding in found]) if code else found == []


def test_the_nearest_known_key_is_named(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/demo/DEMO-1.md": rule(aplies_to="x")})
    (finding,) = [f for f in load(str(root)).findings if f.code == "key-unknown"]
    assert finding.remedy == "did you mean 'applies_to'?"


def test_ids_are_unique_whatever_their_capitals(tmp_path: Path) -> None:
    files = {"rules/a/DEMO-1.md": rule("DEMO-1"), "rules/b/demo-1.md": rule("demo-1")}
    assert ("id-duplicate", "demo-1.md", 2) in findings(tmp_path, files)


def test_supersession_may_not_run_in_circles(tmp_path: Path) -> None:
    chain = {"A-1": "A-2", "A-2": "A-3", "A-3": "A-1"}
    files = {f"rules/x/{i}.md": rule(i, status="superseded", superseded_by=by) for i, by in chain.items()}
    assert [f[0] for f in findings(tmp_path, files)] == ["supersession-loop"] * 3


@pytest.mark.parametrize("half", [("A-1",), ("A-1", "A-2"), ("A-1", "A-2", "A-3")], ids=len)
def test_it_does_not_matter_which_side_states_the_supersession(tmp_path: Path, half: tuple[str, ...]) -> None:
    keys: dict[str, dict[str, str]] = {name: {"status": "superseded"} for name in ("A-1", "A-2", "A-3")}
    for old, new in {"A-1": "A-2", "A-2": "A-3", "A-3": "A-1"}.items():
        if old in half:
            keys[new]["supersedes"] = old
        else:
            keys[old]["superseded_by"] = new
    files = {f"rules/x/{name}.md": rule(name, **values) for name, values in keys.items()}
    assert [f[0] for f in findings(tmp_path, files) if f[0] != "status-superseded"] == ["supersession-loop"] * 3


def test_a_twin_of_a_rule_that_is_no_more_needs_no_sections(tmp_path: Path) -> None:
    twin = "---\nid: DEMO-1\ntitle: 标题\n---\n无\n"
    for status, thin in (("retired", 0), ("active", 8)):
        root = make_kb(tmp_path, {"rules/demo/DEMO-1.md": rule(status=status), "rules/demo/DEMO-1.zh.md": twin})
        assert len(validate(load(str(root)))) == thin


def test_dead_patterns_are_found_where_the_head_is_known(tmp_path: Path) -> None:
    files = {
        "rules/x/A-1.md": rule("A-1", applies_to='["src/**", "old/**"]'),
        "rules/x/A-2.md": rule("A-2", applies_to='["gone/**"]'),
    }
    found = findings(tmp_path, files, demo=("src/a.py",))
    assert found == [("pattern-dead", "A-1.md", 5), ("pattern-dead-rule", "A-2.md", 5)]
    assert findings(tmp_path, files) == []


# --- twins and pages --------------------------------------------------------------------------

TWIN = "---\nid: DEMO-1\ntitle: 标题\n---\n"
SECTIONS = "## What it demands\n\n- `f()` is called\n\n## Why\n\nx\n"


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        pytest.param("DEMO-1.zh.md", TWIN + "## 要求\n\n- `f()`\n\n## 原因\n\n无\n", "", id="complete"),
        pytest.param("DEMO-1.zh.md", TWIN + "## 要求\n\n- `f()`\n", "twin-section", id="section-lost"),
        pytest.param("DEMO-1.zh.md", TWIN + "## 要求\n\n`f()`\n\n## 原因\n", "twin-items", id="item-lost"),
        pytest.param("DEMO-1.zh.md", TWIN + "## 要求\n\n- 调用\n\n## 原因\n", "twin-code", id="code-lost"),
        pytest.param("DEMO-9.zh.md", TWIN.replace("-1", "-9") + "x", "twin-orphan", id="orphan"),
        pytest.param("DEMO-1.zh.md", TWIN.replace("-1", "-2") + "x", "twin-id", id="other-id"),
        pytest.param("DEMO-1.zh.md", TWIN.replace("title", "repo: demo\ntitle") + "x", "twin-key", id="key-again"),
    ],
)
def test_a_twin_says_the_same(tmp_path: Path, name: str, text: str, code: str) -> None:
    files = {"rules/demo/DEMO-1.md": rule(body=SECTIONS), f"rules/demo/{name}": text}
    codes = [finding[0] for finding in findings(tmp_path, files)]
    assert (code in codes) if code else codes == []


PAGE = f"""\
---
title: Rules
repo: demo
tags: [page]
applies_to: ["src/**"]
sources: ["demo@{"a" * 40}:README.md"]
---

# Rules

## R-1 — The first ^[PR #424]

Text `f()`.

```
## R-9 — no section
```

## R-2：第二条
<!-- kb:rule status=retired since=2026-01-05 -->

文本 ^[PR #7] `^[PR #8]`

## Not a rule
"""


def test_a_page_of_rules_yields_one_rule_a_section() -> None:
    documents, found = parse_file("rules/demo/page.md", Kind.RULE, PAGE)
    assert found == []
    one, two = documents
    assert [(d.id, d.title, d.location.line) for d in documents] == [("R-1", "The first", 11), ("R-2", "第二条", 19)]
    assert one.sources == two.sources
    assert [source.pin for source in one.sources] == [f"demo@{'a' * 40}:README.md"]
    assert (one.status, two.status) == (Status.ACTIVE, Status.RETIRED)
    assert "R-9" in one.body
    assert two.provenance == ("PR #7",)


def test_a_page_with_an_unknown_word_in_a_marker_names_its_line() -> None:
    _, found = parse_file("rules/demo/page.md", Kind.RULE, PAGE.replace("status=retired", "statsu=retired"))
    assert [(f.code, f.location.line) for f in found] == [("key-unknown", 20)]


CHINESE_PAGE = """\
---
title: 规则
---

# 规则

## R-1 — 第一条

文本 `f()`.

```
## R-9 — no section
```

## R-2 — 第二条

文本 `^[PR #8]`

## 不是规则
"""


def test_a_page_has_a_twin_section_by_section(tmp_path: Path) -> None:
    files = {"rules/demo/page.md": PAGE, "rules/demo/page.zh.md": CHINESE_PAGE}
    assert findings(tmp_path, files) == []
    twins = [d for d in load(str(tmp_path / "kb")).documents if d.lang == "zh"]
    assert [(d.id, d.title) for d in twins] == [("R-1", "第一条"), ("R-2", "第二条")]


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        pytest.param("## R-2 — 第二条", "## 第二条", "twin-section", 1, id="section-lost"),
        pytest.param("## 不是规则", "## R-3 — 第三条", "twin-id", 19, id="section-too-many"),
        pytest.param("`f()`", "f", "twin-code", 7, id="code-lost"),
        pytest.param("title:", "repo: demo\ntitle:", "twin-key", 2, id="key-again"),
    ],
)
def test_a_section_that_differs_in_a_pages_twin_is_named(
    tmp_path: Path, old: str, new: str, code: str, line: int
) -> None:
    files = {"rules/demo/page.md": PAGE, "rules/demo/page.zh.md": CHINESE_PAGE.replace(old, new)}
    assert (code, "page.zh.md", line) in findings(tmp_path, files)


def test_a_page_with_chapters_has_its_rules_a_level_deeper() -> None:
    text = (
        "---\nrepo: demo\napplies_to: x\n---\n# Page\n## Chapter\n### R-1 — One\nText\n#### Detail\nMore\n"
        "### R-2 — Two\nText\n## Another\nNot a rule's.\n## R-3 — Three\nText\n### R-9 — inside\n"
    )
    documents, found = parse_file("rules/demo/page.md", Kind.RULE, text)
    assert found == []
    assert [(d.id, d.location.line, d.body.count("\n")) for d in documents] == [
        ("R-1", 7, 2),
        ("R-2", 11, 0),
        ("R-3", 15, 1),
    ]


# --- pins and regular expressions -------------------------------------------------------------

SHA = "0123456789" * 4


@pytest.mark.parametrize(
    "text",
    [
        f"a@{SHA}:x.py",
        f"a@{SHA}:dir/x.py#L10",
        f"a@{SHA}:dir/x.py#L10-L20",
        f"a@{SHA}:dir/x.py#Class.method",
        f"a@{'1' * 40}:naïve [id].tsx",
        f"a.b-c@{SHA}:x:y.py",
    ],
)
def test_a_pin_prints_as_it_was_read(text: str) -> None:
    assert str(parse_pin(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", "x", f"a@{SHA}", f"@{SHA}:x", "a@main:x", f"a@{SHA[:12]}:x", f"a@{SHA.upper()}F:x", f"a@{SHA}:/x", f"a@{SHA}:a//b",
     f"a@{SHA}:../x", f"a@{SHA}:x#L0", f"a@{SHA}:x#L9-L3", f"a@{SHA}:x\ny"],
)  # fmt: skip
def test_other_shapes_are_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(PinError) as caught:
        parse_pin(text)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "pattern", ["(a+)+", "(a*)*b", r"(\w+,?)+$", "(a|ab)*c", "((a{1,50}){1,50})", "(?:x+x+)+y", "("]
)
def test_what_can_take_exponential_time_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError):
        compile_bounded(pattern)


@pytest.mark.parametrize("pattern", [r"^(import|from)\s+torch\b", "(?:foo|bar)*", r"\bf\([^)]*\)", "a{2,4}", "(?i)X"])
def test_what_cannot_is_taken(pattern: str) -> None:
    assert compile_bounded(pattern).pattern == pattern


def test_the_order_of_files_does_not_matter(tmp_path: Path) -> None:
    files = {f"rules/x/A-{n}.md": rule(f"A-{n}") for n in range(5)}
    one = load(str(make_kb(tmp_path / "one", files)))
    other = load(str(make_kb(tmp_path / "other", dict(reversed(files.items())))))
    assert one.documents == other.documents


def test_the_smallest_knowledge_base_lints_without_an_error(tmp_path: Path) -> None:
    found = validate(load(str(make_kb(tmp_path))))
    assert {f.severity for f in found} <= {Severity.WARNING}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[repos", "config-toml"),
        ("[other]\n", "config-key"),
        ('[repos."a b"]\n', "config-alias"),
        ("repos = 1\n", "config-value"),
    ],
)
def test_a_bad_configuration_is_a_finding(tmp_path: Path, text: str, code: str) -> None:
    found = findings(
        tmp_path, {"rulebook.toml": CONFIG + text if text[0] == "[" else text, "rules/demo/DEMO-1.md": RULE}
    )
    assert code in [finding[0] for finding in found]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_a_finding(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    (root / "rules/demo/DEMO-1.md").chmod(0)
    assert [f.code for f in load(str(root)).findings] == ["file-unreadable"]


@pytest.mark.parametrize("anchor", ["L" + "9" * 5000, "L1-L" + "9" * 5000, "L１"])
def test_a_line_that_no_file_has_stops_nothing(anchor: str) -> None:
    documents, _ = parse_file("rules/demo/DEMO-1.md", Kind.RULE, rule(sources=f'["demo@{SHA}:x.py#{anchor}"]'))
    assert [document.id for document in documents] == ["DEMO-1"]
