"""The laws across documents, each with what breaks it and where that is told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from kb import REVIEW, make_kb, rule
from rulebook.catalog import load
from rulebook.model import Finding, Kind, Location, Severity
from rulebook.validate import SECTIONS, validate

SHA = "0123456789012345678901234567890123456789"
PINNED = f'["demo@{SHA}:src/a.py"]'
BODY = "".join(f"## {name}\n\nText.\n\n" for name, _ in SECTIONS[Kind.RULE]["en"])
ZH = "".join(f"## {name}\n\n正文。\n\n" for name, _ in SECTIONS[Kind.RULE]["zh"])


def sourced(identity: str, **keys: str) -> str:
    """A rule with a source, which comes last: other keys keep their lines."""
    return rule(identity, **{**keys, "sources": keys.get("sources", PINNED)})


def law(identity: str, **keys: str) -> str:
    """A rule that breaks no law."""
    return sourced(identity, **{"body": BODY, **keys})


def lint(
    tmp_path: Path, files: Mapping[str, str | bytes], heads: Mapping[str, Collection[str]] | None = None
) -> list[Finding]:
    return validate(load(str(make_kb(tmp_path, files))), heads)


def told(findings: list[Finding]) -> list[tuple[str, str, int]]:
    return [(finding.code, finding.location.path.rpartition("/")[2], finding.location.line) for finding in findings]


def test_what_breaks_no_law_has_no_finding(tmp_path: Path) -> None:
    files = {"rules/A-1.md": law("A-1", related="[A-2]"), "rules/A-2.md": law("A-2"), "rules/A-1.zh.md": twin("A-1")}
    assert lint(tmp_path, files) == []


# --- ids --------------------------------------------------------------------------------------


def test_ids_are_unique_and_capitals_make_no_difference(tmp_path: Path) -> None:
    files = {
        "rules/a/A-1.md": law("A-1"),
        "rules/b/A-1.md": law("A-1"),
        "rules/c/a-1.md": law("a-1"),
        "rules/page.md": f"---\nrepo: demo\napplies_to: x\nsources: {PINNED}\n---\n## A-1 — Again\nText\n## P-2 — Two\nText\n## P-2 — Two\nText\n",
    }
    findings = lint(tmp_path, files)
    assert told(findings) == [
        ("id-duplicate", "A-1.md", 2),
        ("id-duplicate", "a-1.md", 2),
        ("id-duplicate", "page.md", 6),
        ("id-duplicate", "page.md", 10),
    ]
    places = "rules/a/A-1.md:1, rules/b/A-1.md:1, rules/c/a-1.md:1, rules/page.md:6"
    assert [finding.message for finding in findings[::3]] == [
        f"the id 'A-1' is that of 4 documents: {places}",
        "the id 'P-2' is that of 2 documents: rules/page.md:8, rules/page.md:10",
    ]


def test_another_language_is_no_other_id_except_in_a_twin(tmp_path: Path) -> None:
    files = {"rules/a/A-1.md": law("A-1"), "rules/b/A-1.md": law("A-1", lang="zh", body=ZH)}
    assert told(lint(tmp_path / "two", files)) == [("id-duplicate", "A-1.md", 2)]
    assert lint(tmp_path / "twin", {"rules/A-1.md": law("A-1"), "rules/A-1.zh.md": twin("A-1")}) == []


def test_an_id_is_unique_for_its_kind_only(tmp_path: Path) -> None:
    waiver = "---\nid: A-1\ntitle: W\nrepo: demo\npr: 7\nrule: A-1\n---\nText.\n"
    assert lint(tmp_path, {"rules/A-1.md": law("A-1"), "waivers/demo/7.md": waiver}) == []


# --- references -------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["supersedes", "contradicts", "related"])
def test_references(tmp_path: Path, key: str) -> None:
    files = {"rules/A-1.md": law("A-1", **{key: "\n- A-2\n- A-1\n- A-22\n- zzz"}), "rules/A-2.md": law("A-2")}
    findings = [finding for finding in lint(tmp_path, files) if finding.code.startswith("reference")]
    assert told(findings) == [
        ("reference-self", "A-1.md", 8),
        ("reference-dangling", "A-1.md", 9),
        ("reference-dangling", "A-1.md", 10),
    ]
    assert [finding.remedy for finding in findings[1:]] == ["did you mean 'A-2'?", "name a rule that exists"]


def test_a_waivers_rule(tmp_path: Path) -> None:
    waiver = "---\ntitle: W\nrepo: demo\npr: 7\nrule: A-2\n---\nText.\n"
    findings = lint(tmp_path, {"rules/A-1.md": law("A-1"), "waivers/demo/7.md": waiver})
    assert told(findings) == [("reference-dangling", "7.md", 5)]


def test_sections_of_pages_can_be_referred_to(tmp_path: Path) -> None:
    page = f"---\nrepo: demo\napplies_to: x\nsources: {PINNED}\n---\n## P-1 — One\nText\n"
    assert lint(tmp_path, {"rules/A-1.md": law("A-1", related="P-1"), "rules/page.md": page}) == []


@pytest.mark.parametrize("status", ["active", "contested"])
def test_what_is_superseded_says_so(tmp_path: Path, status: str) -> None:
    files = {"rules/A-1.md": law("A-1", status=status, superseded_by="A-2"), "rules/A-2.md": law("A-2")}
    assert told(lint(tmp_path, files)) == [("status-superseded", "A-1.md", 7)]


@pytest.mark.parametrize(
    ("old", "codes"),
    [
        ({}, ["supersession-one-sided error"]),
        ({"status": "contested"}, ["supersession-one-sided error"]),
        ({"status": "superseded", "superseded_by": "A-3"}, ["supersession-one-sided warning"]),
        ({"status": "superseded", "superseded_by": "[A-3, A-2]"}, []),
        ({"status": "retired"}, []),
        ({"status": "reserved"}, []),
    ],
    ids=["active", "contested", "by-another", "by-both", "retired", "reserved"],
)
def test_what_a_rule_supersedes_says_so(tmp_path: Path, old: dict[str, str], codes: list[str]) -> None:
    files = {
        "rules/A-1.md": law("A-1", **old),
        "rules/A-2.md": law("A-2", supersedes="[A-1]"),
        "rules/A-3.md": law("A-3"),
    }
    findings = lint(tmp_path, files)
    assert [f"{finding.code} {finding.severity.value}" for finding in findings] == codes
    assert all(finding.location == Location("rules/A-2.md", 6) for finding in findings)
    assert all("superseded_by: A-2" in finding.remedy for finding in findings)


def test_a_successor_need_not_name_what_it_supersedes(tmp_path: Path) -> None:
    files = {"rules/A-1.md": law("A-1", status="superseded", superseded_by="A-2"), "rules/A-2.md": law("A-2")}
    assert lint(tmp_path, files) == []


def test_contradictions_of_a_supersession_are_told_once(tmp_path: Path) -> None:
    files = {"rules/A-1.md": law("A-1", superseded_by="A-2"), "rules/A-2.md": law("A-2", supersedes="A-1")}
    assert [code for code, *_ in told(lint(tmp_path, files))] == ["status-superseded"]
    files = {"rules/A-1.md": law("A-1", status="superseded"), "rules/A-2.md": law("A-2", supersedes="A-1")}
    assert [code for code, *_ in told(lint(tmp_path, files))] == ["status-superseded"]


def test_supersession_has_no_loops(tmp_path: Path) -> None:
    after = {"A-1": "[A-9, A-2]", "A-2": "A-3", "A-3": "A-1", "A-4": "A-2", "A-9": "A-8"}
    files = {f"rules/{name}.md": law(name, status="superseded", superseded_by=by) for name, by in after.items()}
    findings = lint(tmp_path, {**files, "rules/A-8.md": law("A-8")})
    # The branch to A-9 leads nowhere, and A-4 leads into the loop without being part of it.
    assert set(told(findings)) <= {("supersession-loop", f"A-{n}.md", 7) for n in (1, 2, 3)}
    assert findings[0].message.endswith("A-1 → A-2 → A-3 → A-1")


@pytest.mark.parametrize("half", [("A-1",), ("A-1", "A-2"), ("A-1", "A-2", "A-3")], ids=len)
def test_it_does_not_matter_which_side_states_the_supersession(tmp_path: Path, half: tuple[str, ...]) -> None:
    keys: dict[str, dict[str, str]] = {name: {"status": "superseded"} for name in ("A-1", "A-2", "A-3")}
    for old, new in {"A-1": "A-2", "A-2": "A-3", "A-3": "A-1"}.items():
        if old in half:
            keys[new]["supersedes"] = old
        else:
            keys[old]["superseded_by"] = new
    files = {f"rules/x/{name}.md": law(name, **values) for name, values in keys.items()}
    assert [code for code, *_ in told(lint(tmp_path, files)) if code != "status-superseded"] == [
        "supersession-loop"
    ] * 3


def test_a_rule_that_names_itself_as_its_successor(tmp_path: Path) -> None:
    files = {"rules/A-1.md": law("A-1", status="superseded", superseded_by="A-1")}
    assert told(lint(tmp_path, files)) == [("reference-self", "A-1.md", 7)]


def test_a_long_chain_of_supersession_is_no_loop(tmp_path: Path) -> None:
    files = {f"rules/A-{n}.md": law(f"A-{n}", status="superseded", superseded_by=f"A-{n + 1}") for n in range(60)}
    assert lint(tmp_path, {**files, "rules/A-60.md": law("A-60")}) == []


# --- repositories -----------------------------------------------------------------------------


def test_repositories_are_known(tmp_path: Path) -> None:
    sources = f"\n- demo@{SHA}:a\n- other@{SHA}:a\n- pin: third@{SHA}:a\n- unknown"
    findings = lint(tmp_path, {"rules/A-1.md": law("A-1", repo="nobody", sources=sources)})
    assert told(findings) == [("repo-unknown", "A-1.md", 4), ("pin-alias", "A-1.md", 8), ("pin-alias", "A-1.md", 9)]
    assert findings[0].remedy == "known: demo; or add [repos.nobody]"


@pytest.mark.parametrize(
    ("config", "code"),
    [("[repos.demo\n", "config-toml"), (b"\xff", "config-encoding"), ("repos = 3\n", "config-value")],
)
def test_of_a_configuration_that_cannot_be_read_only_that_is_told(
    tmp_path: Path, config: str | bytes, code: str
) -> None:
    findings = lint(tmp_path, {"rulebook.toml": config, "rules/A-1.md": law("A-1"), "rules/A-2.md": law("A-2")})
    assert [(finding.code, finding.location.path) for finding in findings] == [(code, "rulebook.toml")]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({"sources": ""}, [("source-missing", "A-1.md", 1)], id="no-key"),
        pytest.param({"sources": "[]"}, [("source-missing", "A-1.md", 6)], id="empty"),
        pytest.param({"sources": "[]", "status": "contested"}, [("source-missing", "A-1.md", 6)], id="contested"),
        pytest.param({"sources": "[]", "status": "retired"}, [], id="retired"),
        pytest.param({"sources": "[]", "status": "reserved"}, [], id="reserved"),
        pytest.param({"sources": "[nonsense]"}, [("pin-shape", "A-1.md", 6)], id="no-pin"),
    ],
)
def test_a_rule_in_force_names_a_source(
    tmp_path: Path, keys: dict[str, str], expected: list[tuple[str, str, int]]
) -> None:
    findings = lint(tmp_path, {"rules/A-1.md": law("A-1", **keys)})
    assert told(findings) == expected
    assert all(finding.severity is Severity.WARNING for finding in findings if finding.code == "source-missing")


def test_a_page_of_rules_without_a_source_is_told_of_once(tmp_path: Path) -> None:
    page = "---\nrepo: demo\napplies_to: x\n---\n## P-1 — One\nText\n## P-2 — Two\nText\n"
    assert told(lint(tmp_path, {"rules/page.md": page})) == [("source-missing", "page.md", 1)]


def test_digests_and_waivers_need_no_source(tmp_path: Path) -> None:
    waiver = "---\ntitle: W\nrepo: demo\npr: 7\nrule: A-1\n---\nText.\n"
    files = {"rules/A-1.md": law("A-1"), "waivers/demo/7.md": waiver, "reviews/o/n/12.md": REVIEW}
    assert "source-missing" not in {finding.code for finding in lint(tmp_path, files)}


def test_a_rule_may_name_its_repository_by_owner_and_name(tmp_path: Path) -> None:
    config = '[repos.demo]\nurl = "https://github.com/Owner/Name"\n'
    assert lint(tmp_path, {"rulebook.toml": config, "rules/A-1.md": law("A-1", repo="owner/name")}) == []


def test_a_digest_may_be_of_any_repository(tmp_path: Path) -> None:
    assert "repo-unknown" not in {code for code, *_ in told(lint(tmp_path, {"reviews/owner/name/12.md": REVIEW}))}


# --- twins ------------------------------------------------------------------------------------


def twin(identity: str, body: str = ZH) -> str:
    return f"---\nid: {identity}\ntitle: 标题\n---\n{body}"


def test_a_twin_needs_its_original(tmp_path: Path) -> None:
    files = {"rules/A-1.md": law("A-1"), "rules/B-1.zh.md": twin("B-1")}
    assert told(lint(tmp_path, files)) == [("twin-orphan", "B-1.zh.md", 1)]


def test_an_original_that_cannot_be_read_is_there_all_the_same(tmp_path: Path) -> None:
    files = {"rules/A-1.md": b"\xff", "rules/A-1.zh.md": twin("A-1")}
    assert told(lint(tmp_path, files)) == [("file-encoding", "A-1.md", 1)]


def test_a_twin_has_its_originals_id(tmp_path: Path) -> None:
    files = {"rules/A-1.md": law("A-1"), "rules/A-1.zh.md": twin("A-2")}
    assert {("twin-id", "A-1.zh.md", 2)} <= set(told(lint(tmp_path, files)))


def test_a_twin_says_the_same(tmp_path: Path) -> None:
    original = BODY + "- one `name_1`\n- two `name_2`\n"
    other = ZH.replace("## 原因", "### 原因") + "- 一 `name_1` `name_3`\n"
    findings = lint(tmp_path, {"rules/A-1.md": law("A-1", body=original), "rules/A-1.zh.md": twin("A-1", other)})
    about = [(f.code, f.severity, f.message) for f in findings if f.code.startswith("twin")]
    assert about == [
        ("twin-section", Severity.ERROR, "it has 5 headings and the original 5, or their levels differ"),
        ("twin-code", Severity.WARNING, "it names `name_3`, which the original does not"),
        ("twin-code", Severity.WARNING, "it never names `name_2`, which the original does"),
        ("twin-items", Severity.WARNING, "it has 1 list items and the original 2"),
    ]


# --- twins of pages ---------------------------------------------------------------------------

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
    assert told(lint(tmp_path, files)) == []
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
    assert (code, "page.zh.md", line) in told(lint(tmp_path, files))


# --- sections and dates -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        pytest.param("Words.\n\n" + BODY, [], id="words-before"),
        pytest.param(BODY.replace("## Remedy\n\nText.\n\n", ""), [], id="without-the-optional-one"),
        pytest.param(BODY + "### Detail\n", [], id="deeper"),
        pytest.param(BODY + "```\n## Anything\n```\n", [], id="in-a-fence"),
        pytest.param(BODY.replace("## Why\n", ""), [("section-missing", 1)], id="missing"),
        pytest.param(
            BODY.replace("## Why", "## Whyy"), [("section-missing", 1), ("section-unknown", 12)], id="misspelt"
        ),
        pytest.param(BODY + "## History\n", [("section-unknown", 28)], id="unknown"),
        pytest.param("## References\n" + BODY.replace("## References\n", ""), [("section-order", 1)], id="order"),
        pytest.param(BODY + "## Why\n", [("section-order", 1)], id="twice"),
        pytest.param("Nothing but words.\n", [("section-missing", 1)] * 4, id="none"),
    ],
)
def test_sections(tmp_path: Path, body: str, codes: list[tuple[str, int]]) -> None:
    findings = lint(tmp_path, {"rules/A-1.md": law("A-1", body=body)})
    assert [(code, line) for code, _, line in told(findings)] == codes
    assert {finding.severity for finding in findings} <= {Severity.WARNING}


@pytest.mark.parametrize("status", ["retired", "reserved"])
def test_a_rule_that_is_no_more_needs_no_sections(tmp_path: Path, status: str) -> None:
    assert lint(tmp_path, {"rules/A-1.md": law("A-1", status=status, body="Gone.\n")}) == []


def test_a_twin_of_a_rule_that_is_no_more_needs_no_sections(tmp_path: Path) -> None:
    for status, thin in (("retired", 0), ("active", 8)):
        files = {"rules/A-1.md": sourced("A-1", status=status), "rules/A-1.zh.md": twin("A-1", "无\n")}
        assert len(lint(tmp_path, files)) == thin


def test_sections_of_other_languages_and_kinds(tmp_path: Path) -> None:
    files = {
        "rules/A-1.md": law("A-1", lang="fr", body="## Pourquoi\n"),
        "rules/A-2.md": law("A-2", lang="zh", body=ZH.replace("## 原因\n", "")),
        "reviews/owner/name/12.md": REVIEW + "## What it changed\n## What to take away\n",
    }
    assert told(lint(tmp_path, files)) == [("section-missing", "12.md", 1), ("section-missing", "A-2.md", 1)]


def test_dates_are_in_order(tmp_path: Path) -> None:
    files = {
        "rules/A-1.md": law("A-1", created="2026-02-01", updated="2026-01-31"),
        "rules/A-2.md": law("A-2", created="2026-02-01", updated="2026-02-01"),
        "rules/A-3.md": law("A-3", created="2026-02-01", updated="never"),
    }
    assert told(lint(tmp_path, files)) == [("date-order", "A-1.md", 7), ("value-date", "A-3.md", 7)]


# --- patterns against a checkout --------------------------------------------------------------

HEAD = {"demo": ["src/a.py", "docs/x.md", "docs/[id].md"]}


@pytest.mark.parametrize(
    ("patterns", "codes"),
    [
        pytest.param("[src/**]", [], id="alive"),
        pytest.param("[src/**, old/**]", [("pattern-dead", 6)], id="one-dead"),
        pytest.param(
            "\n- src/**\n- old/**\n- '!src/gen/**'", [("pattern-dead", 8), ("pattern-dead", 9)], id="negation"
        ),
        pytest.param("['**', '!src/**']", [], id="a-living-negation"),
        pytest.param("[old/**, older/**]", [("pattern-dead-rule", 6)], id="all-dead"),
        pytest.param("['old/**', '!old/x']", [("pattern-dead-rule", 6)], id="all-dead-but-a-negation"),
        pytest.param("['docs/\\[id\\].md']", [], id="escaped"),
    ],
)
def test_patterns_of_the_past(tmp_path: Path, patterns: str, codes: list[tuple[str, int]]) -> None:
    files = {
        "rules/A-1.md": sourced("A-1", applies_to=patterns, body=BODY).replace(
            "applies_to", "severity: note\napplies_to"
        )
    }
    findings = lint(tmp_path, files, HEAD)
    assert [(code, line) for code, _, line in told(findings)] == codes
    wanted = {"pattern-dead": Severity.NOTE, "pattern-dead-rule": Severity.WARNING}
    assert all(finding.severity is wanted[finding.code] for finding in findings)


def test_only_rules_that_match_and_checkouts_at_hand_are_held_against_a_head(tmp_path: Path) -> None:
    files = {
        "rulebook.toml": '[repos.demo]\nurl = "https://x.invalid/o/demo"\n[repos.other]\nurl = "u"\n',
        "rules/A-1.md": law("A-1", applies_to="old/**", status="retired"),
        "rules/A-2.md": law("A-2", applies_to="old/**", repo="other"),
        "rules/A-3.md": law("A-3", applies_to="old/**", repo="o/demo"),
        "rules/A-4.md": law("A-4", applies_to="'a,b'"),
    }
    found = [entry for entry in told(lint(tmp_path, files, HEAD)) if entry[0] != "pattern-comma"]
    assert found == [("pattern-dead-rule", "A-3.md", 5), ("pattern-dead-rule", "A-4.md", 5)]


# --- order ------------------------------------------------------------------------------------


def test_findings_stand_in_the_order_of_files_and_lines_and_once(tmp_path: Path) -> None:
    files = {
        "rules/B-1.md": law("B-1", related="[x, y]", status="z"),
        "rules/A-1.md": law("A-1", created="z", tags="{a: b}"),
        "rulebook.toml": "x = 1\n[repos.demo]\n",
    }
    findings = lint(tmp_path, files)
    assert [finding.location for finding in findings] == sorted(finding.location for finding in findings)
    assert len(findings) == len(set(findings)) == 6
