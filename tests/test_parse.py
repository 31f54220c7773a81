"""A content file's text → documents and findings: every key's bad value, at its own line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb import REVIEW, RULE, rule
from rulebook.model import (
    CoChange,
    Document,
    Finding,
    Kind,
    Location,
    On,
    ReviewDigest,
    Rule,
    Severity,
    Signal,
    Source,
    Status,
    Waiver,
)
from rulebook.parse import KEYS, parse_file

SHA = "0123456789012345678901234567890123456789"
PIN = f"demo@{SHA}:src/a.py#f"


def parse_rule(text: str, path: str = "rules/demo/DEMO-1.md") -> tuple[Rule, list[Finding]]:
    (document,), findings = parse_file(path, Kind.RULE, text)
    assert isinstance(document, Rule)
    return document, findings


def review(**keys: str) -> str:
    values = {"id": "owner/name#12", "title": "T", "repo": "owner/name", "pr": "12", **keys}
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in values.items() if value) + "---\nText.\n"


def parse_review(text: str, path: str = "reviews/owner/name/12.md") -> tuple[ReviewDigest, list[Finding]]:
    (document,), findings = parse_file(path, Kind.REVIEW, text)
    assert isinstance(document, ReviewDigest)
    return document, findings


def waiver(**keys: str) -> str:
    values = {"title": "T", "repo": "demo", "pr": "7", "rule": "DEMO-1", **keys}
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in values.items() if value) + "---\nText.\n"


def parse_waiver(text: str, path: str = "waivers/demo/7.md") -> tuple[Waiver, list[Finding]]:
    (document,), findings = parse_file(path, Kind.WAIVER, text)
    assert isinstance(document, Waiver)
    return document, findings


def told(findings: list[Finding]) -> list[tuple[str, int]]:
    return [(finding.code, finding.location.line) for finding in findings]


# --- whole documents --------------------------------------------------------------------------


def test_the_smallest_rule() -> None:
    document, findings = parse_rule(RULE)
    assert findings == []
    assert (document.id, document.title, document.repo) == ("DEMO-1", "Generated code is not edited by hand", "demo")
    assert (document.status, document.severity, document.lang) == (Status.ACTIVE, Severity.WARNING, "en")
    assert document.applies_to == ("src/**", "!src/gen/**")
    assert document.look_for is None
    assert document.sources == (Source(pin=PIN, line=8),)
    assert (document.body, document.body_line) == ("What it demands, in a sentence.\n", 10)
    assert document.location == Location("rules/demo/DEMO-1.md", 1)


def test_the_smallest_digest() -> None:
    document, findings = parse_review(REVIEW)
    assert findings == []
    assert (document.id, document.pr, document.labels) == ("owner/name#12", "12", ("ci",))
    assert (document.touches, document.reading, document.minutes) == (("ci/**",), "", None)


def test_the_smallest_waiver() -> None:
    document, findings = parse_waiver(waiver())
    assert findings == []
    assert (document.id, document.pr, document.rule, document.repo) == ("demo#7", "7", "DEMO-1", "demo")


def test_everything_that_a_rule_can_say() -> None:
    text = f"""\
---
id: DEMO-1
title: >-
  A title
  on two lines
repo: demo
lang: zh
tags: [one, two]
status: superseded
severity: note
since: 2026-01-01
created: 2025-12-01
updated: 2026-02-28
applies_to: "src/{{a,b}}/**"
look_for:
  - identifiers: [Name, other_name]
    inside: "src/a/**"
    on: added
  - functions: ["C.close"]
    lines: ['^x', '^y']
    on: removed
  - changes: [added, deleted]
co_changes:
  - when: {{lines: 'register\\(', inside: src/a/x.py}}
    then: ["README.md", docs/**]
    because: >-
      it is
      shown there
  - when: ["src/b/**", "!src/b/gen/**"]
    then: CHANGELOG.md
provenance: said once
supersedes: [DEMO-0]
superseded_by: DEMO-2
contradicts: [DEMO-3]
related: [DEMO-4, DEMO-5]
sources:
  - pin: {PIN}
    blob: {SHA}
  - pin: unknown
    url: https://example.invalid/1
---
Text.
"""
    document, findings = parse_rule(text)
    assert findings == []
    assert document.title == "A title on two lines"
    assert (document.lang, document.tags) == ("zh", ("one", "two"))
    assert (document.status, document.severity) == (Status.SUPERSEDED, Severity.NOTE)
    assert (document.created, document.updated) == ("2025-12-01", "2026-02-28")
    assert document.applies_to == ("src/{a,b}/**",)
    assert document.look_for == (
        Signal(identifiers=("Name", "other_name"), inside=("src/a/**",), on=On.ADDED),
        Signal(functions=("C.close",), lines=("^x", "^y"), on=On.REMOVED, limits=(2000, 2000)),
        Signal(changes=("added", "deleted")),
    )
    assert document.co_changes == (
        CoChange(
            when=Signal(lines=(r"register\(",), inside=("src/a/x.py",), limits=(2000,)),
            then=("README.md", "docs/**"),
            because="it is shown there",
        ),
        CoChange(when=Signal(inside=("src/b/**", "!src/b/gen/**")), then=("CHANGELOG.md",), because=""),
    )
    assert document.provenance == ("said once",)
    assert (document.supersedes, document.superseded_by) == (("DEMO-0",), ("DEMO-2",))
    assert (document.contradicts, document.related) == (("DEMO-3",), ("DEMO-4", "DEMO-5"))
    assert document.sources == (
        Source(pin=PIN, seen={"blob": SHA}, line=37),
        Source(pin="unknown", url="https://example.invalid/1", line=39),
    )
    assert document.line_of("look_for", 1, "lines") == 20
    assert document.line_of("related", 1) == 35


def test_an_empty_list_says_that_the_place_decides() -> None:
    assert parse_rule(rule(look_for="[]"))[0].look_for == ()
    assert parse_rule(rule())[0].look_for is None


# --- every key's bad value --------------------------------------------------------------------

RULES = [
    ("id", "'a b'", "id-shape", "letters"),
    ("id", "../DEMO-1", "id-shape", "letters"),
    ("id", "DEMO-2", "id-file", "DEMO-2.md"),
    ("id", "[x]", "value-type", "write id: text"),
    ("title", "{a: b}", "value-type", "write title: text"),
    ("status", "activ", "value-word", "did you mean 'active'?"),
    ("status", "off", "value-word", "write one of: active, contested"),
    ("status", "superseded", "status-superseded", "superseded_by"),
    ("status", "[active]", "value-type", "write status: text"),
    ("severity", "warn", "value-word", "did you mean 'warning'?"),
    ("severity", "blocker", "value-word", "write one of: error, warning, note"),
    ("repo", "[demo]", "value-type", "write repo: text"),
    ("tags", "{a: b}", "value-type", "write tags: [one, two]"),
    ("tags", "[a, {b: c}]", "value-type", "quote the entry"),
    ("tags", "[a, '']", "value-empty", "fill it in"),
    ("created", "2026-02-30", "value-date", "YYYY-MM-DD"),
    ("created", "yesterday", "value-date", "YYYY-MM-DD"),
    ("updated", "2026-1-1", "value-date", "YYYY-MM-DD"),
    ("updated", "２０２６-01-01", "value-date", "YYYY-MM-DD"),
    ("updated", "0000-01-01", "value-date", "YYYY-MM-DD"),
    ("since", "2026-13-01", "value-date", "YYYY-MM-DD"),
    ("applies_to", "{a,b}", "value-type", "write applies_to"),
    ("applies_to", "'src/a, src/b'", "pattern-comma", "list"),
    ("applies_to", "'src/{a'", "pattern-brace", "pair"),
    ("applies_to", "'../x'", "pattern-dot-segment", ""),
    ("applies_to", "['!a']", "pattern-only-negations", ""),
    ("applies_to", "[a, a]", "pattern-duplicate", ""),
    ("look_for", "", "value-type", "write []"),
    ("look_for", "Name", "value-type", "identifiers"),
    ("look_for", "[Name]", "signal-shape", "known keys"),
    ("look_for", "{identifier: [x]}", "key-unknown", "did you mean 'identifiers'?"),
    ("look_for", "[{on: added}]", "signal-empty", "known"),
    ("look_for", "[{lines: '('}]", "signal-regex", "mend"),
    ("look_for", "[{lines: '(a+)+'}]", "signal-regex", "begin each turn with a character"),
    ("look_for", "[{lines: '.*a.*b.*c.*d'}]", "signal-regex", "[^,]*, for .*,"),
    ("look_for", "[{identifiers: {a: b}}]", "value-type", "write identifiers"),
    ("look_for", "[{identifiers: [a, '']}]", "value-empty", "fill it in"),
    ("look_for", "[{functions: [[f]]}]", "value-type", "quote"),
    ("look_for", "[{changes: [add]}]", "value-word", "did you mean 'added'?"),
    ("look_for", "[{identifiers: x, on: add}]", "value-word", "did you mean 'added'?"),
    ("look_for", "[{identifiers: x, on: [added]}]", "value-word", "added"),
    ("look_for", "[{identifiers: x, inside: 'a,b'}]", "pattern-comma", "list"),
    ("look_for", "[{identifiers: x, inside: {a: b}}]", "value-type", "write inside"),
    ("co_changes", "x", "value-type", "when"),
    ("co_changes", "[{when: x}]", "cochange-shape", "both"),
    ("co_changes", "[x]", "cochange-shape", "both"),
    ("co_changes", "{when: src/x, then: y, why: z}", "key-unknown", "because"),
    ("co_changes", "{when: src/x, then: y, because: [z]}", "value-type", "sentence"),
    ("co_changes", "{when: {lines: '('}, then: y}", "signal-regex", "mend"),
    ("co_changes", "{when: src/x, then: 'a,b'}", "pattern-comma", "list"),
    ("co_changes", "{when: 'a,b', then: x}", "pattern-comma", "list"),
    ("provenance", "{a: b}", "value-type", "write provenance"),
    ("supersedes", "{a: b}", "value-type", "write supersedes"),
    ("superseded_by", "[[A-1]]", "value-type", "quote the entry"),
    ("contradicts", "{a: b}", "value-type", "write contradicts"),
    ("related", "{a: b}", "value-type", "write related"),
    ("sources", "{url: x}", "pin-shape", "alias@sha:path"),
    ("sources", "[[x]]", "pin-shape", "alias@sha:path"),
    ("sources", "README.md", "pin-shape", "alias@<40 hex digits>:path"),
    ("sources", "demo@main:README.md", "pin-shape", "git rev-parse"),
    ("sources", "demo@0123abc:README.md", "pin-shape", "all 40 digits"),
    ("sources", f"demo@{SHA}:/README.md", "pin-shape", "git ls-files"),
    ("sources", f"['{PIN}', 'x']", "pin-shape", "alias@"),
    ("sources", "[{pin: unknown, link: x}]", "key-unknown", "pin, blob, sha256, url"),
    ("sources", "[{pin: unknown, url: [x]}]", "value-type", "one line of text"),
    ("look_fro", "[]", "key-unknown", "did you mean 'look_for'?"),
    ("xyzzy", "1", "key-unknown", "known keys"),
    ("pr", "12", "key-unknown", ""),
]


@pytest.mark.parametrize(("key", "value", "code", "remedy"), RULES, ids=[f"{key}: {value}" for key, value, *_ in RULES])
def test_a_rules_bad_value_is_one_finding_in_its_line(key: str, value: str, code: str, remedy: str) -> None:
    values = {"id": "DEMO-1", "title": "T", "repo": "demo", "applies_to": "[src/**]", "tags": "[a]", key: value}
    text = "---\n" + "".join(f"{name}: {text}\n" for name, text in values.items()) + "---\nText.\n"
    document, findings = parse_rule(text)
    assert told(findings) == [(code, list(values).index(key) + 2)]
    assert remedy in findings[0].remedy
    assert document.body == "Text.\n"


REVIEWS = [
    ("id", "owner/name", "id-shape"),
    ("id", "owner/name#13", "id-file"),
    ("pr", "'13'", "id-file"),
    ("pr", "twelve", "value-number"),
    ("pr", "[12]", "value-type"),
    ("labels", "{ci: x}", "value-type"),
    ("touches", "'a,b'", "pattern-comma"),
    ("reading", "clsoe", "value-word"),
    ("minutes", "ten", "value-number"),
    ("minutes", "99999", "value-number"),
    ("opened", "soon", "value-date"),
    ("applies_to", "x", "key-unknown"),
    ("label", "x", "key-unknown"),
]


@pytest.mark.parametrize(("key", "value", "code"), REVIEWS, ids=[f"{key}: {value}" for key, value, _ in REVIEWS])
def test_a_digests_bad_value_is_found_in_its_line(key: str, value: str, code: str) -> None:
    text = review(**{key: value})
    _, findings = parse_review(text)
    line = next(number for number, text in enumerate(text.split("\n"), 1) if text.startswith(f"{key}:"))
    assert (code, line) in told(findings)
    assert len(findings) == len(set(findings))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (review(repo=""), "add a line 'repo: owner/name'"),
        (waiver(repo=""), "add a line 'repo: …'"),
        (waiver(rule=""), "add a line 'rule: <ID>'"),
    ],
    ids=["digest-repo", "waiver-repo", "waiver-rule"],
)
def test_what_belongs_to_nothing_is_a_warning(text: str, said: str) -> None:
    (finding,) = (parse_review if "owner/name#" in text else parse_waiver)(text)[1]
    assert (finding.code, finding.severity, finding.remedy) == ("key-missing", Severity.WARNING, said)


WAIVERS = [
    ("pr", "8", "id-file"),
    ("pr", "x", "value-number"),
    ("patches", "[{targets: x}]", "waiver-patches"),
    ("patches", "[{path: a.sh, target: x}]", "key-unknown"),
    ("patches", "[{path: a.sh, targets: {a: b}}]", "value-type"),
    ("configs", "{a: b}", "value-type"),
    ("images", "[[x]]", "value-type"),
    ("expires", "2026-02-30", "value-date"),
    ("applies_to", "x", "key-unknown"),
]


@pytest.mark.parametrize(("key", "value", "code"), WAIVERS, ids=[f"{key}: {value}" for key, value, _ in WAIVERS])
def test_a_waivers_bad_value_is_found_in_its_line(key: str, value: str, code: str) -> None:
    text = waiver(**{key: value})
    line = next(number for number, text in enumerate(text.split("\n"), 1) if text.startswith(f"{key}:"))
    assert told(parse_waiver(text)[1]) == [(code, line)]


def test_a_waiver_may_end_with_a_condition() -> None:
    assert (
        parse_waiver(waiver(expires="when upstream releases", patches="[a.sh, {path: b.sh, targets: [x.py]}]"))[1] == []
    )


@pytest.mark.parametrize("kind", Kind)
def test_the_table_of_bad_values_tells_every_key(kind: Kind) -> None:
    tables = {Kind.RULE: RULES, Kind.REVIEW: REVIEWS, Kind.WAIVER: WAIVERS}
    free = {
        Kind.RULE: {"because", "policy"},
        Kind.REVIEW: {"identifiers", "author", "state", "pin"},
        Kind.WAIVER: {"rule", "called_from", "upstream", "removal"},
    }
    assert set(KEYS[kind]) - {entry[0] for entry in tables[kind]} == free[kind]


@pytest.mark.parametrize("key", ["title", "repo", "applies_to"])
def test_what_a_rule_has_to_state(key: str) -> None:
    _, findings = parse_rule(rule(**{key: ""}))
    assert [(finding.code, finding.message) for finding in findings] == [("key-missing", f"{key!r} is missing")]
    assert parse_rule(rule(status="retired", **{key: ""}))[1] == []


def test_a_rule_without_an_id_and_without_sections() -> None:
    documents, findings = parse_file("rules/demo/DEMO-1.md", Kind.RULE, rule(id=""))
    assert documents == []
    assert [(finding.code, finding.remedy) for finding in findings] == [("key-missing", "add a line 'id: DEMO-1'")]


@pytest.mark.parametrize("key", ["id", "title", "pr"])
def test_what_a_digest_has_to_state(key: str) -> None:
    _, findings = parse_review(review(**{key: ""}))
    assert [(finding.code, finding.message) for finding in findings] == [("key-missing", f"{key!r} is missing")]


def test_nothing_in_the_frontmatter_and_nothing_behind_it() -> None:
    assert told(parse_file("rules/A-1.md", Kind.RULE, "---\n---\nText\n")[1]) == [("key-missing", 1)]
    assert told(parse_file("rules/A-1.md", Kind.RULE, "Text\n")[1]) == [("frontmatter-missing", 1)]
    _, findings = parse_rule(rule(body=" \n"))
    assert [(finding.code, finding.severity) for finding in findings] == [("body-empty", Severity.WARNING)]


# --- one bad value hides nothing --------------------------------------------------------------


def test_one_bad_value_hides_no_other() -> None:
    text = rule(status="x", tags="{a: b}", related="[DEMO-2, [x], DEMO-3]", look_for="[{lines: '('}, {identifiers: N}]")
    document, findings = parse_rule(text)
    assert sorted(finding.code for finding in findings) == ["signal-regex", "value-type", "value-type", "value-word"]
    assert document.related == ("DEMO-2", "DEMO-3")
    assert document.look_for == (Signal(identifiers=("N",)),)
    assert document.applies_to == ("src/**",)


@pytest.mark.parametrize(
    "look_for",
    ["[{lines: '('}]", "[{identifiers: {a: b}, inside: src}]", "[{identifiers: [''], inside: src}]", "[x]", "x"],
)
def test_signals_that_cannot_be_read_do_not_let_the_place_decide(look_for: str) -> None:
    document, findings = parse_rule(rule(look_for=look_for))
    assert findings
    assert document.look_for is None


def test_the_line_of_a_pattern_behind_one_that_is_no_text() -> None:
    document, findings = parse_rule(rule(applies_to="\n- {a: b}\n- src/**\n- ''\n- a,b\n- docs/**"))
    assert told(findings) == [("value-type", 6), ("value-empty", 8), ("pattern-comma", 9)]
    assert document.applies_to == ("src/**", "a,b", "docs/**")


@pytest.mark.parametrize("anchor", ["L" + "9" * 5000, "L1-L" + "9" * 5000, "L１"])
def test_a_line_that_no_file_has_stops_nothing(anchor: str) -> None:
    documents, _ = parse_file("rules/demo/DEMO-1.md", Kind.RULE, rule(sources=f'["demo@{SHA}:x.py#{anchor}"]'))
    assert [document.id for document in documents] == ["DEMO-1"]


def test_an_index_of_a_list_is_its_own_line() -> None:
    text = rule(look_for="\n- identifiers: A\n- lines:\n  - fine\n  - '('\n- changes:\n  - added\n  - adedd")
    assert told(parse_rule(text)[1]) == [("signal-regex", 10), ("value-word", 13)]


@given(
    st.sampled_from(sorted({*KEYS[Kind.RULE], "id", "sources", "tags"})),
    st.text(st.sampled_from("ab{}[]:,'\"-*!& \n"), max_size=30),
)
def test_no_value_breaks_the_parser(key: str, value: str) -> None:
    text = rule(**{key: value})
    _, findings = parse_file("rules/demo/DEMO-1.md", Kind.RULE, text)
    assert len(findings) == len(set(findings))
    assert all(1 <= finding.location.line <= text.count("\n") + 1 for finding in findings)


# --- twins ------------------------------------------------------------------------------------


def test_a_twin_states_its_id_and_title() -> None:
    document, findings = parse_rule("---\nid: DEMO-1\ntitle: 标题\n---\n正文\n", "rules/demo/DEMO-1.zh.md")
    assert findings == []
    assert (document.lang, document.title, document.repo) == ("zh", "标题", "")


def test_a_twin_that_states_more() -> None:
    text = "---\nid: DEMO-1\ntitle: T\nlang: en\nseverity: note\ncolour: red\n---\nText\n"
    findings = parse_rule(text, "rules/demo/DEMO-1.zh.md")[1]
    assert sorted(told(findings)) == [("key-unknown", 6), ("twin-key", 5), ("twin-lang", 4)]


def test_a_twin_without_a_title() -> None:
    assert told(parse_rule("---\nid: DEMO-1\n---\nText\n", "rules/demo/DEMO-1.zh.md")[1]) == [("key-missing", 2)]


# --- pages of rules ---------------------------------------------------------------------------

PAGE = f"""\
---
title: All rules
type: policy
repo: demo
applies_to: ["src/**"]
provenance: the handbook
tags: [core]
created: 2026-01-02
updated: 2026-01-01x
sources:
  - "{PIN}"
---
Words before the first rule. ^[PR #1]

## A-1 — First `code` ^[PR #2]


Said in ^[PR #424], but not in `^[a-z]` or in

```
## A-9 — no heading
x = re.compile("^[0-9]")
```

### A detail

More, by ^[PR #425](https://example.invalid/425), ^[PR #424] again.

## A-2: Second
<!-- kb:rule status=retired severity="note" since=2026-01-05 -->

Gone.

## Notes

Nobody's. ^[PR #9]

## B2 - Third

<!-- kb:rule superseded_by="A-1, A-2" status=superseded -->
"""


def parse_page(text: str, path: str = "rules/demo/page.md") -> tuple[list[Document], list[Finding]]:
    return parse_file(path, Kind.RULE, text)


def test_a_page_holds_a_rule_a_section() -> None:
    documents, findings = parse_page(PAGE)
    rules = [document for document in documents if isinstance(document, Rule)]
    assert [(rule.id, rule.title, rule.location.line) for rule in rules] == [
        ("A-1", "First code", 15),
        ("A-2", "Second", 29),
        ("B2", "Third", 38),
    ]
    # The shared date is wrong for all of them, and told once.
    assert told(findings) == [("value-date", 9)]
    assert {rule.updated for rule in rules} == {""}
    assert {(rule.repo, rule.applies_to, rule.tags, rule.created) for rule in rules} == {
        ("demo", ("src/**",), ("core",), "2026-01-02")
    }
    assert [rule.sources for rule in rules] == [(Source(pin=PIN, line=11),)] * 3


def test_a_page_knows_where_each_rule_was_said() -> None:
    first, second, third = parse_page(PAGE)[0]
    assert isinstance(first, Rule)
    assert isinstance(second, Rule)
    assert isinstance(third, Rule)
    assert first.provenance == ("the handbook", "PR #2", "PR #424", "PR #425")
    assert second.provenance == third.provenance == ("the handbook",)


def test_a_pages_markers_count_for_their_section() -> None:
    first, second, third = parse_page(PAGE)[0]
    assert isinstance(first, Rule)
    assert isinstance(second, Rule)
    assert isinstance(third, Rule)
    assert (first.status, first.severity) == (Status.ACTIVE, Severity.WARNING)
    assert (second.status, second.severity) == (Status.RETIRED, Severity.NOTE)
    assert second.metadata["since"] == "2026-01-05"
    assert (third.status, third.superseded_by) == (Status.SUPERSEDED, ("A-1", "A-2"))


def test_a_sections_text_knows_its_line() -> None:
    lines = PAGE.split("\n")
    for document in parse_page(PAGE)[0]:
        body = document.body.split("\n")
        assert lines[document.body_line - 1 : document.body_line - 1 + len(body)] == body
        assert body[0]


@pytest.mark.parametrize(
    ("marker", "code", "remedy"),
    [
        ("status=retierd", "value-word", "did you mean 'retired'?"),
        ("severity=high", "value-word", "error, warning, note"),
        ("status=superseded", "status-superseded", "superseded_by"),
        ("since=soon", "value-date", "YYYY-MM-DD"),
        ("colour=red", "key-unknown", "known: status"),
        ("Status=retired", "key-unknown", "known: status"),
        ("status: retired", "page-marker", "status=retired"),
        ("status = retired", "page-marker", "status=retired"),
        ("retired", "page-marker", "status=retired"),
    ],
)
def test_a_marker_that_cannot_be_read_is_told_in_its_line(marker: str, code: str, remedy: str) -> None:
    text = f"---\nrepo: demo\napplies_to: x\n---\n\n## A-1 — One\n\nText\n\n<!-- kb:rule {marker} -->\n"
    (document,), findings = parse_page(text)
    assert told(findings) == [(code, 10)]
    assert remedy in findings[0].remedy
    assert isinstance(document, Rule)


def test_a_section_of_which_only_the_source_is_a_title() -> None:
    (document,), _ = parse_page("---\nrepo: demo\napplies_to: x\n---\n## A-1 — ^[PR #3]\nText\n")
    assert isinstance(document, Rule)
    assert (document.title, document.provenance) == ("A-1", ("PR #3",))


def test_a_page_without_places_warns() -> None:
    _, findings = parse_page("---\nrepo: demo\n---\n## A-1 — One\nText\n")
    assert [(finding.code, finding.severity) for finding in findings] == [("page-scope", Severity.WARNING)]


def test_a_page_without_a_repository() -> None:
    assert [code for code, _ in told(parse_page("---\napplies_to: x\n---\n## A-1 — One\nText\n")[1])] == ["key-missing"]


@pytest.mark.parametrize(
    "heading", ["# A-1 — One", "## Why", "##A-1 — One", "## A — One", "    ## A-1 — One", "> ## A-1 — x"]
)
def test_what_is_no_section(heading: str) -> None:
    documents, findings = parse_page(f"---\nrepo: demo\napplies_to: x\n---\n{heading}\n")
    assert documents == []
    assert [finding.code for finding in findings] == ["key-missing"]


def test_a_page_with_chapters_has_its_rules_a_level_deeper() -> None:
    text = (
        "---\nrepo: demo\napplies_to: x\n---\n# Page\n## Chapter\n### R-1 — One\nText\n#### Detail\nMore\n"
        "### R-2 — Two\nText\n## Another\nNot a rule's.\n## R-3 — Three\nText\n### R-9 — inside\n"
    )
    documents, findings = parse_page(text)
    assert findings == []
    assert [(d.id, d.location.line, d.body.count("\n")) for d in documents] == [
        ("R-1", 7, 2),
        ("R-2", 11, 0),
        ("R-3", 15, 1),
    ]


@pytest.mark.parametrize("mark", ["—", "–", "--", "-", ":", "："])
def test_marks_between_id_and_title(mark: str) -> None:
    (document,), _ = parse_page(f"---\nrepo: demo\napplies_to: x\n---\n## A.b-1 {mark} One\nText\n")
    assert (document.id, document.title) == ("A.b-1", "One")


def test_the_examples_of_the_documentation_are_read_without_a_finding() -> None:
    blocks = (Path(__file__).parent.parent / "docs/format.md").read_text(encoding="utf-8").split("```yaml\n")[1:]
    keys = "".join(block.split("```")[0] for block in blocks)
    document, findings = parse_rule(f"---\nid: DEMO-1\ntitle: T\nrepo: demo\napplies_to: '**'\n{keys}---\nText.\n")
    assert findings == []
    assert document.look_for
    assert len(document.look_for) == 4
    assert len(document.co_changes) == 1
    assert len(document.sources) == 3
