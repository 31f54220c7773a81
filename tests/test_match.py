"""Relevance: which changed lines make a rule direct, and what has to change along."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking import SECTIONS, Base, edit
from gitrepo import GitRepo
from rulebook.diffs import parse_diff
from rulebook.match import MAX_SHARED, QUOTE, Evidence, PathHit, find_reasons, rank, significant_lines
from rulebook.model import (
    ChangeSet,
    FileChange,
    Location,
    Reason,
    ReasonKind,
    Relevance,
    RuleMatch,
    Severity,
    Side,
    Signal,
    Status,
)
from rulebook.patterns.syntax import parse
from rulebook.regexes import MAX_LINE, compile_bounded
from rulebook.symbols import outline_sides


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "base")


def relevance(base: Base, look_for: object, diff: str, applies_to: object = "**") -> str:
    base.rule("R", applies_to, look_for=look_for)
    return base.diff(diff).rules["R"]


# --- signals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "text", "met"),
    [
        (["connect"], "connect(x)", True),
        (["connect"], "reconnect(x)", False),
        (["connect"], "connect_all(x)", False),
        (["connect"], "self.connect()", True),
        (["a.b"], "x = a.b", True),
        (["a.b"], "x = a.bc", False),
        (["absent", "present"], "present", True),
        (["初始化"], "初始化()", True),
        (["vLLM"], "vllm", False),
    ],
)
def test_identifiers_are_met_whole(base: Base, names: list[str], text: str, met: bool) -> None:
    assert (relevance(base, [{"identifiers": names}], edit("a.txt", added=[text])) == "direct") is met


@pytest.mark.parametrize(
    ("on", "added", "removed"),
    [("added", "direct", "possible"), ("removed", "possible", "direct"), ("changed", "direct", "direct")],
)
def test_on_says_which_side_counts(base: Base, on: str, added: str, removed: str) -> None:
    signal = [{"lines": "needle", "on": on}]
    assert relevance(base, signal, edit("a", added=["needle"])) == added
    assert relevance(base, signal, edit("a", removed=["needle"])) == removed


def test_context_lines_never_count(base: Base) -> None:
    assert relevance(base, [{"identifiers": ["needle"]}], edit("a", context=["needle"], added=["x"])) == "possible"
    assert relevance(base, [{"lines": "needle"}], edit("a", context=["needle"], removed=["x"])) == "possible"


def test_all_conditions_hold_at_the_same_line(base: Base) -> None:
    signal = [{"identifiers": ["one"], "lines": "two"}]
    assert relevance(base, signal, edit("a", added=["one", "two"])) == "possible"
    assert relevance(base, signal, edit("a", added=["one two"])) == "direct"


def test_any_signal_suffices(base: Base) -> None:
    assert relevance(base, [{"lines": "absent"}, {"lines": "there"}], edit("a", added=["there"])) == "direct"


def test_inside_narrows_the_places(base: Base) -> None:
    signal = [{"lines": "needle", "inside": ["src/**", "!src/gen/**"]}]
    assert relevance(base, signal, edit("docs/a", added=["needle"])) == "possible"
    assert relevance(base, signal, edit("src/gen/a", added=["needle"])) == "possible"
    assert relevance(base, signal, edit("src/a", added=["needle"])) == "direct"


def test_signal_outside_of_the_rules_places_does_not_count(base: Base) -> None:
    diff = edit("src/a", added=["x"]) + edit("docs/b", added=["needle"])
    assert relevance(base, [{"lines": "needle"}], diff, "src/**") == "possible"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("diff --git a/a b/a\nnew file mode 100644\nindex 000..e69\n", "added"),
        ("diff --git a/a b/a\ndeleted file mode 100644\nindex e69..000\n", "deleted"),
        ("diff --git a/o b/a\nsimilarity index 100%\nrename from o\nrename to a\n", "renamed"),
        ("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", "mode"),
        (edit("a", added=["x"]), "modified"),
    ],
    ids=lambda value: value if len(value) < 10 else "",
)
def test_changes_look_at_what_happened_to_the_file(base: Base, change: str, status: str) -> None:
    others = {"added", "deleted", "renamed", "mode", "modified"} - {status}
    assert relevance(base, [{"changes": [status]}], change) == "direct"
    assert relevance(base, [{"changes": sorted(others)}], change) == "possible"


def test_functions_are_found_in_the_whole_file(base: Base, tmp_path: Path) -> None:
    target = GitRepo(tmp_path / "target")
    filler = "".join(f"        step({number})\n" for number in range(40))
    text = f"class Conn:\n    def close(self):\n{filler}        last = 1\n\n    def open(self):\n        first = 1\n"
    before = target.commit({"a.py": text})
    inside = target.commit({"a.py": text.replace("last = 1", "last = 2")})
    beside = target.commit({"a.py": text.replace("last = 1", "last = 2").replace("first = 1", "first = 2")})
    base.rule("CLOSE", look_for=[{"functions": ["Conn.close"]}])
    base.rule("LAST", look_for=[{"functions": ["close"], "lines": "last"}])
    base.rule("STAR", look_for=[{"functions": ["Co*.cl*"]}])
    base.rule("OTHER", look_for=[{"functions": ["Other.close"]}])
    got = base.range(target, f"{before}..{inside}")
    assert got.rules == {"CLOSE": "direct", "LAST": "direct", "STAR": "direct", "OTHER": "possible"}
    assert got.reasons("CLOSE")[0] == ("function", "a.py", "old", "Conn.close", 43)
    assert got.reasons("LAST")[0] == ("line", "a.py", "old", "last", 43)
    assert set(base.range(target, f"{inside}..{beside}").rules.values()) == {"possible"}


def test_functions_are_found_in_a_bare_diff(base: Base) -> None:
    diff = (
        "--- a/a.py\n+++ b/a.py\n@@ -10,2 +10,2 @@ class Conn:\n     def close(self):\n-        x = 1\n+        x = 2\n"
    )
    assert relevance(base, [{"functions": ["Conn.close"]}], diff) == "direct"


@pytest.mark.parametrize(
    ("removed", "added", "met"),
    [
        (["import torch", "x = 1"], ["x = 2", "import torch"], False),
        (["from a import torch"], ["from a import torch"], False),
        (["x = 1"], ["import torch"], True),
        (["import torch"], ["x = 1"], True),
        (["import torch"], ["    import torch"], False),
        (["import torch"], ["import torch", "import torch"], True),
        (["    torch,"], ["    torch,"], False),
    ],
    ids=["moved", "from-moved", "added", "removed", "indented", "twice", "name-in-parentheses"],
)
def test_import_that_only_moved_does_not_count(base: Base, removed: list[str], added: list[str], met: bool) -> None:
    got = relevance(base, [{"identifiers": ["torch"]}], edit("a.py", removed=removed, added=added))
    assert (got == "direct") is met


def test_comments_and_docstrings_of_python_do_not_count(base: Base, tmp_path: Path) -> None:
    target = GitRepo(tmp_path / "target")
    before = target.commit({"a.py": 'def f():\n    """Text."""\n    return 1\n'})
    after = target.commit({"a.py": 'def f():\n    """Text about needle."""\n    # needle\n    return 1\n'})
    base.rule("R", look_for=[{"identifiers": ["needle"]}])
    assert base.range(target, f"{before}..{after}").rules == {"R": "possible"}
    assert relevance(base, [{"identifiers": ["needle"]}], edit("a.md", added=["# needle"])) == "direct"


def test_a_rule_that_looks_for_nothing_is_direct_by_place(base: Base) -> None:
    assert relevance(base, [], edit("a", added=["x"])) == "direct"


def test_lines_of_a_rename_count_on_the_side_that_is_covered(base: Base) -> None:
    diff = (
        "diff --git a/old/a b/new/a\nsimilarity index 50%\nrename from old/a\nrename to new/a\n"
        "--- a/old/a\n+++ b/new/a\n@@ -1,2 +1,2 @@\n same\n-gone\n+come\n"
    )
    base.rule("OLD", "old/**", look_for=[{"lines": "gone"}])
    base.rule("NEW", "new/**", look_for=[{"lines": "come"}])
    base.rule("CROSS", "new/**", look_for=[{"lines": "gone"}])
    got = base.diff(diff)
    assert got.rules == {"NEW": "direct", "OLD": "direct", "CROSS": "possible"}
    assert got.reasons("OLD")[0] == ("line", "old/a", "old", "gone", 2)
    assert got.reasons("NEW")[0] == ("line", "new/a", "new", "come", 2)


def test_long_line_is_quoted_short(base: Base) -> None:
    base.rule("R", look_for=[{"lines": "needle"}])
    got = base.diff(edit("a", added=["needle " + "x" * 5000]))
    text = got.json["rules"][0]["reasons"][0]["text"]
    assert (len(text), text[-1]) == (QUOTE, "…")


DEAR = "a*a*a*b"


def limit_of(pattern: str) -> int:
    return compile_bounded(pattern).limit


def behind(limit: int, shown: str) -> str:
    """A line that shows something behind its first ``limit`` characters."""
    return "." * limit + shown


@pytest.mark.parametrize("pattern", ["needle", DEAR], ids=["cheap", "dear"])
def test_what_stands_behind_the_limit_of_an_expression_is_told_not_denied(base: Base, pattern: str) -> None:
    limit = limit_of(pattern)
    base.rule("R", look_for=[{"lines": pattern}])
    base.rule("OTHER", look_for=[{"lines": "^other"}])
    shown = "needle ab"
    got = base.diff(edit("a", added=["short", behind(limit - len(shown), shown)]))
    assert (got.rules["R"], got.json["notes"]) == ("direct", [])
    got = base.diff(edit("a", added=["short", behind(limit, shown)]))
    assert got.rules["R"] == "possible"
    (note,) = got.json["notes"]
    assert f"of a:2, {limit:,} of {limit + len(shown):,} characters" in note
    assert ("OTHER" in note) is (len(shown) + limit > MAX_LINE)


@pytest.mark.parametrize(
    ("signal", "lines"),
    [
        ({"lines": DEAR}, [behind(limit_of(DEAR), "x"), "ab"]),
        ({"lines": [DEAR, "^[.]"]}, [behind(limit_of(DEAR), "x")]),
        ({"lines": DEAR, "on": "removed"}, [behind(limit_of(DEAR), "ab")]),
        ({"lines": DEAR, "functions": "f"}, [behind(limit_of(DEAR), "ab")]),
        ({"lines": DEAR, "identifiers": "name"}, [behind(limit_of(DEAR), "ab")]),
    ],
    ids=["shown-elsewhere", "shown-by-another", "other-side", "other-function", "other-name"],
)
def test_a_cut_line_that_could_change_nothing_is_not_told(base: Base, signal: object, lines: list[str]) -> None:
    base.rule("R", look_for=[signal])
    assert base.diff(edit("a", added=lines)).json["notes"] == []


def test_a_cut_line_that_may_ask_for_a_co_change_is_told(base: Base) -> None:
    base.rule("R", look_for=[], co_changes=[{"when": {"lines": DEAR}, "then": "b", "because": "x"}])
    got = base.diff(edit("a", added=[behind(limit_of(DEAR), "ab")]))
    assert got.rules == {"R": "direct"}
    assert "What R looks for" in got.json["notes"][0]
    assert base.diff(edit("a", added=["ab", behind(limit_of(DEAR), "ab")])).json["notes"] == []


def test_explain_tells_the_cut_lines_of_its_rule_alone(base: Base) -> None:
    base.rule("R", look_for=[{"lines": DEAR}])
    base.rule("OTHER", look_for=[{"lines": "other"}])
    diff = edit("a", added=[behind(limit_of(DEAR), "ab")]).encode()
    assert "What R looks for" in base.ask("explain", "R", "--diff", "-", stdin=diff).err
    assert "long" not in base.ask("explain", "OTHER", "--diff", "-", stdin=diff).err


def test_a_cut_line_of_a_hostile_name_is_told_in_one_line(base: Base) -> None:
    base.rule("R", look_for=[{"lines": DEAR}])
    diff = edit("NAME", added=[behind(limit_of(DEAR), "ab")])
    for side in "ab":
        diff = diff.replace(f"{side}/NAME", rf'"{side}/x\033[2J\n::error::y"')
    got = base.diff(diff)
    assert "of x\x1b[2J\n::error::y:1, " in got.json["notes"][0]
    assert "\x1b" not in got.err + got.out
    assert [line[:6] for line in got.err.splitlines()] == ["note: "]


def test_identifiers_are_found_however_long_the_line(base: Base) -> None:
    base.rule("R", look_for=[{"identifiers": "needle"}])
    got = base.diff(edit("a", added=[behind(MAX_LINE * 3, " needle ")]))
    assert (got.rules, got.json["notes"]) == ({"R": "direct"}, [])


def test_broken_expression_is_a_finding_and_the_others_count(base: Base) -> None:
    base.rule("R", look_for=[{"lines": ["(", "there"]}])
    assert base.ask("lint").code == 1
    assert base.diff(edit("a", added=["there"])).rules.get("R") in (None, "direct")


# --- rules without signals ----------------------------------------------------------------------


def cite(*names: str) -> str:
    return SECTIONS.replace("Something.", "Mind " + ", ".join(f"`{name}`" for name in names) + ".")


def test_fallback_on_cited_identifiers(base: Base) -> None:
    base.rule("R", body=cite("parse_extra_config"))
    assert base.diff(edit("a", added=["parse_extra_config()"])).rules == {"R": "direct"}
    assert base.diff(edit("a", added=["something()"])).rules == {"R": "possible"}
    assert base.diff(edit("a", context=["parse_extra_config()"], added=["x"])).rules == {"R": "possible"}


def test_fallback_without_lines_goes_by_place(base: Base) -> None:
    base.rule("R", body=cite("parse_extra_config"))
    assert base.applies("a").rules == {"R": "direct"}


def test_name_that_many_rules_cite_tells_nothing(base: Base) -> None:
    for number in range(MAX_SHARED + 1):
        base.rule(f"R{number}", body=cite("shared_name", f"own_name_{number}"))
    assert set(base.diff(edit("a", added=["shared_name"])).rules.values()) == {"possible"}
    got = base.diff(edit("a", added=["own_name_1"])).rules
    assert got == {"R1": "direct", "R0": "possible", "R2": "possible"}


def test_rule_that_cites_no_code_is_direct_by_place(base: Base) -> None:
    base.rule("R")
    assert base.diff(edit("a", added=["x"])).rules == {"R": "direct"}


# --- co-changes ---------------------------------------------------------------------------------


def co_changed(base: Base, when: object, then: object, diff: str) -> list[dict[str, str]]:
    base.rule("R", "src/**", look_for=[], co_changes=[{"when": when, "then": then, "because": "it has a list"}])
    found: list[dict[str, str]] = base.diff(diff).json["rules"][0]["missing_cochanges"]
    return found


REGISTERED = edit("src/a.py", added=["register(x)"])


def test_missing_co_change_is_reported_with_its_reason(base: Base) -> None:
    missing = co_changed(base, {"lines": "register"}, ["docs/list.md", "src/a.py"], REGISTERED)
    assert missing == [{"path": "docs/list.md", "because": "it has a list"}]
    text = base.ask("applies", "--diff", "-", stdin=REGISTERED.encode()).out
    assert "not changed along: docs/list.md  asked for by src/a.py:1: it has a list" in text


def test_co_change_that_was_made_is_not_reported(base: Base) -> None:
    made = REGISTERED + edit("docs/list.md", added=["x"])
    assert co_changed(base, {"lines": "register"}, ["docs/*.md"], made) == []


def test_co_change_is_met_by_either_side_of_a_rename(base: Base) -> None:
    moved = (
        "diff --git a/docs/list.md b/other.md\nsimilarity index 100%\nrename from docs/list.md\nrename to other.md\n"
    )
    assert co_changed(base, {"lines": "register"}, ["docs/list.md"], REGISTERED + moved) == []


def test_co_change_waits_for_its_condition(base: Base) -> None:
    assert co_changed(base, {"lines": "register", "on": "removed"}, ["docs/list.md"], REGISTERED) == []
    assert co_changed(base, "src/b.py", ["docs/list.md"], REGISTERED) == []


def test_condition_by_patterns_alone_needs_no_lines(base: Base) -> None:
    base.rule("R", "src/**", look_for=[], co_changes=[{"when": "src/*.py", "then": "docs/**"}])
    assert base.applies("src/a.py").json["rules"][0]["missing_cochanges"] == [{"path": "docs/**", "because": ""}]


def test_missing_co_change_that_a_line_asks_for_makes_direct(base: Base) -> None:
    base.rule(
        "R",
        "src/**",
        look_for=[{"identifiers": ["absent"]}],
        co_changes=[{"when": {"lines": "register"}, "then": "docs/**"}],
    )
    assert base.diff(REGISTERED).rules == {"R": "direct"}
    assert base.diff(REGISTERED + edit("docs/x", added=["x"])).rules == {"R": "possible"}


def test_two_conditions_ask_for_the_same_place_once(base: Base) -> None:
    entry = {"then": "docs/**", "because": "one"}
    base.rule(
        "R",
        "src/**",
        look_for=[],
        co_changes=[{"when": {"lines": "reg"}, **entry}, {"when": {"lines": "ist"}, **entry}],
    )
    assert len(base.diff(REGISTERED).json["rules"][0]["missing_cochanges"]) == 1


# --- the functions themselves ---------------------------------------------------------------------


def test_signal_that_wants_lines_is_not_judged_where_they_are_unknown() -> None:
    change = FileChange(path="a")
    hits = [PathHit(change, "a", Side.BOTH, parse("**"))]
    assert find_reasons(Signal(lines=("x",)), hits, Evidence(ChangeSet(files=(change,)))) == ([], False, ())


def test_blank_lines_say_nothing() -> None:
    change = parse_diff(edit("a.txt", added=["", "  ", "x"]).encode()).files[0]
    assert [line.text for line in significant_lines(change, outline_sides(change, None))] == ["x"]


def test_reason_kinds_are_ranked_strongest_first() -> None:
    assert sorted(ReasonKind, key=lambda kind: kind.rank) == [
        ReasonKind.LINE,
        ReasonKind.FUNCTION,
        ReasonKind.IDENTIFIER,
        ReasonKind.COCHANGE,
        ReasonKind.SOURCE,
        ReasonKind.PATH,
        ReasonKind.LABEL,
    ]


def test_rank_takes_a_match_without_places() -> None:
    def match(name: str, relevance: Relevance) -> RuleMatch:
        reason = Reason(kind=ReasonKind.SOURCE, path="a", side=Side.OLD, pattern="p")
        return RuleMatch(
            id=name,
            title="",
            severity=Severity.ERROR,
            status=Status.ACTIVE,
            relevance=relevance,
            reasons=(reason,),
            location=Location(f"{name}.md"),
        )

    hit = PathHit(FileChange(path="a"), "a", Side.BOTH, parse("a"))
    ranked = rank(
        [
            (match("B", Relevance.POSSIBLE), ()),
            (match("C", Relevance.POSSIBLE), [hit]),
            (match("A", Relevance.DIRECT), ()),
        ]
    )
    assert [item.id for item in ranked] == ["A", "C", "B"]
