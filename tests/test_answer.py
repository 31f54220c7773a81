"""The behaviours that ``docs/matching.md`` promises, each asked of the whole program, with real git repositories."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import SECTIONS, Base, edit
from gitrepo import EXECUTABLE, Entry, GitRepo
from rulebook import answer, catalog
from rulebook.changes import from_github_files, from_paths
from rulebook.diffs import parse_diff
from rulebook.errors import UsageError
from rulebook.match import Evidence, PathHit, match_rule
from rulebook.patterns.syntax import compile_patterns
from rulebook.store.opening import open_store

if TYPE_CHECKING:
    from rulebook.model import ChangeSet, RuleMatch

LONG = "".join(f"line {number} of the file\n" for number in range(20))


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "base")


@pytest.fixture
def target(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "target")


# --- changed paths ----------------------------------------------------------------------------


def test_rename_counts_on_both_sides_and_the_reason_says_so(base: Base, target: GitRepo) -> None:
    base.rule("OLD", "old/**", look_for=[])
    base.rule("NEW", "new/**", look_for=[])
    before = target.commit({"old/a.txt": LONG})
    after = target.commit({"old/a.txt": None, "new/a.txt": LONG})
    got = base.range(target, f"{before}..{after}")
    assert got.json["paths"] == [{"path": "new/a.txt", "old_path": "old/a.txt", "status": "renamed"}]
    assert got.reasons("OLD") == [("path", "old/a.txt", "old", "old/**", None)]
    assert got.reasons("NEW") == [("path", "new/a.txt", "new", "new/**", None)]
    text = base.ask("applies", "--checkout", f"demo={target.path}", "--git", f"{before}..{after}").out
    assert "old/a.txt (moved to new/a.txt) meets old/**" in text
    assert "new/a.txt (moved from old/a.txt) meets new/**" in text


def test_rename_out_of_all_scopes_is_not_unmatched(base: Base, target: GitRepo) -> None:
    base.rule("OLD", "old/**")
    before = target.commit({"old/a.txt": LONG})
    target.commit({"old/a.txt": None, "free/a.txt": LONG})
    assert base.range(target, f"{before}..").json["unmatched"] == []


def test_deletion_counts_on_the_old_side(base: Base, target: GitRepo) -> None:
    base.rule("R", "src/**", look_for=[])
    before = target.commit({"src/a.py": "x = 1\n", "keep": ""})
    target.commit({"src/a.py": None})
    got = base.range(target, f"{before}..HEAD")
    assert got.json["paths"] == [{"path": "src/a.py", "old_path": None, "status": "deleted"}]
    assert got.reasons("R") == [("path", "src/a.py", "old", "src/**", None)]
    text = base.ask("applies", "--checkout", f"demo={target.path}", "--git", f"{before}..HEAD").out
    assert "src/a.py (deleted) meets src/**" in text


def test_mode_only_change_is_a_change(base: Base, target: GitRepo) -> None:
    base.rule("R", "run.sh", look_for=[])
    before = target.snapshot({"run.sh": "true\n"})
    target.snapshot({"run.sh": Entry(EXECUTABLE, "true\n")}, [before])
    got = base.range(target, f"{before}..HEAD")
    assert got.json["paths"][0]["status"] == "mode"
    assert got.rules == {"R": "direct"}


def test_copy_counts_on_the_new_side(base: Base) -> None:
    base.rule("OLD", "old.txt")
    base.rule("NEW", "new.txt")
    got = base.diff("diff --git a/old.txt b/new.txt\nsimilarity index 100%\ncopy from old.txt\ncopy to new.txt\n")
    assert got.json["paths"] == [{"path": "new.txt", "old_path": "old.txt", "status": "copied"}]
    assert list(got.rules) == ["NEW"]


@pytest.mark.parametrize(
    "name",
    ["naïve.txt", "with space.txt", "in b/it.txt", "a/a.txt", "tab\there.txt", 'quo"te.txt', "new\nline.txt", "i/w/x"],
)
@pytest.mark.parametrize(
    "options", [(), ("--no-prefix",), ("--src-prefix=i/", "--dst-prefix=w/")], ids=["ab", "bare", "iw"]
)
def test_odd_names_survive_every_way_of_making_the_diff(
    base: Base, target: GitRepo, name: str, options: tuple[str, ...]
) -> None:
    base.rule("R", "**", look_for=[{"lines": "^two$"}])
    before = target.snapshot({name: "one\n"})
    target.snapshot({name: "two\n"}, [before])
    got = base.diff(target.git("diff", *options, before, "HEAD"))
    assert [item["path"] for item in got.json["paths"]] == [name]
    assert got.rules == {"R": "direct"}
    assert base.range(target, f"{before}..").json["paths"] == got.json["paths"]


def test_rename_with_mixed_quoting(base: Base, target: GitRepo) -> None:
    base.rule("R", "**")
    before = target.snapshot({"plain.txt": LONG})
    target.snapshot({"ünlaut.txt": LONG}, [before])
    got = base.diff(target.git("diff", "-M", before, "HEAD"))
    assert got.json["paths"] == [{"path": "ünlaut.txt", "old_path": "plain.txt", "status": "renamed"}]


def test_diff_in_a_crlf_file(base: Base) -> None:
    base.rule("R", "src/a.py", look_for=[{"lines": "^x = 2$"}])
    got = base.diff(edit("src/a.py", added=["x = 2"]).replace("\n", "\r\n"))
    assert got.rules == {"R": "direct"}


def test_hunk_line_that_looks_like_a_header_is_content(base: Base) -> None:
    base.rule("SQL", "q.sql", look_for=[{"lines": "^-- drop"}])
    base.rule("OTHER", "drop*")
    got = base.diff(edit("q.sql", removed=["-- drop it"], added=["++ b/drop"]))
    assert got.rules == {"SQL": "direct"}
    assert [item["path"] for item in got.json["paths"]] == ["q.sql"]


@pytest.mark.parametrize(
    ("stdin", "options"),
    [
        (b"src/a.py\nsrc/b.py\n", []),
        (b"src/a.py\r\nsrc/b.py\r\n", []),
        (b"\n./src/a.py\n\nsrc/b.py\nsrc/a.py", []),
        (b'"src/a.py"\n"src/\\142.py"\n', []),
        (b"src/a.py\0src/b.py\0", ["-z"]),
        (b"M\tsrc/a.py\nA\tsrc/b.py\n", []),
    ],
    ids=["lines", "crlf", "dots-duplicates-blanks", "quoted", "nul", "name-status"],
)
def test_name_lists_on_stdin(base: Base, stdin: bytes, options: list[str]) -> None:
    base.rule("R", "src/**")
    got = base.applies(*options, "-", stdin=stdin)
    assert [item["path"] for item in got.json["paths"]] == ["src/a.py", "src/b.py"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "src/../../x"])
def test_path_that_leaves_the_repository_is_an_error_that_names_it(base: Base, path: str) -> None:
    base.rule("R")
    got = base.ask("applies", path)
    assert (got.code, got.out) == (2, "")
    assert path in got.err
    assert len(got.err.splitlines()) == 2


def test_binary_empty_and_deleted_empty_files_are_changes(base: Base, target: GitRepo) -> None:
    base.rule("R", "**", look_for=[])
    first = target.snapshot({"gone": "", "pic.png": b"\0\1", "moved": b"\0" + LONG.encode()})
    second = target.snapshot({"pic.png": b"\0\2", "at/moved": b"\0" + LONG.encode()}, [first])
    third = target.snapshot({"pic.png": b"\0\2", "at/moved": b"\0" + LONG.encode(), "fresh": ""}, [second])
    expected = [{"gone": "deleted", "pic.png": "binary", "at/moved": "renamed"}, {"fresh": "added"}]
    for old, new, statuses in ((first, second, expected[0]), (second, third, expected[1])):
        for got in (base.range(target, f"{old}..{new}"), base.diff(target.git("diff", "-M", old, new))):
            assert {item["path"]: item["status"] for item in got.json["paths"]} == statuses
            assert got.rules == {"R": "direct"}


def test_cut_list_is_not_complete(base: Base) -> None:
    base.rule("R", "src/**")
    changes = from_github_files([{"filename": "src/a.py", "status": "modified"}], complete=False)
    with open_store(str(base.root)) as store:
        report = answer.applies(store, changes, "demo")
    assert not report.complete
    assert [match.id for match in report.rules] == ["R"]
    assert any("not known" in note for note in report.notes)


def test_three_dots_mean_the_merge_base(base: Base, target: GitRepo) -> None:
    base.rule("R", "**")
    root = target.commit({"a": "1\n"})
    target.git("checkout", "-q", "-b", "topic")
    target.commit({"topic.txt": "topic\n"})
    target.git("checkout", "-q", "main")
    target.commit({"main.txt": "main\n"})
    assert [item["path"] for item in base.range(target, "main...topic").json["paths"]] == ["topic.txt"]
    two = {item["path"]: item["status"] for item in base.range(target, "main..topic").json["paths"]}
    assert two == {"topic.txt": "added", "main.txt": "deleted"}
    assert root


def test_shallow_clone_without_merge_base_is_an_error_with_the_remedy(
    base: Base, target: GitRepo, tmp_path: Path
) -> None:
    base.rule("R", "**")
    target.commit({"a": "1\n"})
    target.git("checkout", "-q", "-b", "topic")
    target.commit({"t": "1\n"})
    target.git("checkout", "-q", "main")
    target.commit({"m": "1\n"})
    clone = target.clone(tmp_path / "shallow", "--depth=1", "--no-single-branch")
    got = base.ask("applies", "--checkout", f"demo={clone.path}", "--git", "origin/main...origin/topic")
    assert (got.code, got.out) == (3, "")
    assert "shallow" in got.err
    assert "git fetch" in got.err


# --- patterns ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patterns", "path", "meets"),
    [
        ("**/*.py", "main.py", True),
        ("src/**/*", "src/.deploy/x", True),
        ("dir/", "dir/in/side", True),
        ("dir", "dir/in/side", True),
        ("a/*.py", "a/b/c.py", False),
        ("*.py", "a.PY", False),
        ("/src/a.py", "src/a.py", True),
        ("./src/a.py", "src/a.py", True),
        ("pages/[id].tsx", "pages/[id].tsx", True),
        ("src/*.{ts,tsx}", "src/a.tsx", True),
        (["operator/**", "!operator/cli/**"], "docs/x.md", False),
        (["operator/**", "!operator/cli/**"], "operator/cli/b.go", False),
        (["a/**", "!a/b/**", "a/b/c"], "a/b/c", True),
    ],
)
def test_patterns_follow_gitignore(base: Base, patterns: object, path: str, meets: bool) -> None:
    base.rule("R", patterns)
    assert bool(base.applies(path).rules) is meets


def test_negation_matches_through_the_other_path_only(base: Base) -> None:
    base.rule("R", ["operator/**", "!operator/cli/**"])
    got = base.applies("operator/a.go", "operator/cli/b.go")
    assert got.reasons("R") == [("path", "operator/a.go", "both", "operator/**", None)]
    assert got.json["unmatched"] == ["operator/cli/b.go"]


@pytest.mark.parametrize("pattern", ["a//b", "../x", "", "!only/negation"])
def test_pattern_that_can_never_match_is_a_finding_and_the_rest_answers(base: Base, pattern: str) -> None:
    base.rule("BAD", [pattern])
    base.rule("GOOD", "src/**")
    got = base.ask("lint", "--format", "json")
    assert got.code == 1
    assert [item["path"] for item in got.json["findings"] if item["severity"] == "error"] == ["rules/demo/BAD.md"]
    assert list(base.applies("src/a").rules) == ["GOOD"]


def test_pattern_that_meets_no_file_of_the_head_is_a_finding_with_a_checkout(base: Base, target: GitRepo) -> None:
    base.rule("R", ["src/**", "lost/**"], sources=[])
    target.commit({"src/a.py": ""})
    assert not any("lost/**" in item["message"] for item in base.ask("lint", "--format", "json").json["findings"])
    found = base.ask("lint", "--format", "json", "--checkout", f"demo={target.path}").json["findings"]
    assert [item["path"] for item in found if "lost/**" in item["message"]] == ["rules/demo/R.md"]


def test_one_string_with_commas_is_never_silently_one_pattern(base: Base) -> None:
    base.rule("R", "src/**, docs/**")
    found = base.ask("lint", "--format", "json").json["findings"]
    assert any("src/**" in item["message"] + item["remedy"] and "docs/**" in item["remedy"] for item in found)


def test_unquoted_star_says_quote_it(base: Base) -> None:
    base.rule("GOOD", "**")
    base.write("rules/demo/R.md", "---\nid: R\ntitle: T\nrepo: demo\napplies_to: **/*.ts\n---\nText.\n")
    got = base.ask("lint", "--format", "json")
    found = [item for item in got.json["findings"] if item["path"] == "rules/demo/R.md"]
    assert (found[0]["line"], "quote" in found[0]["remedy"]) == (5, True)


def test_bom_and_crlf_in_a_rule_do_not_matter(base: Base) -> None:
    path = base.rule("R", "src/**")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    got = base.applies("src/a")
    assert got.rules == {"R": "direct"}
    assert got.err == ""


# --- reasons ----------------------------------------------------------------------------------


def test_match_lists_every_reason_strongest_first(base: Base) -> None:
    base.rule(
        "R",
        ["src/**", "src/a.py"],
        look_for=[{"identifiers": ["register"]}, {"lines": "new_group"}, {"changes": ["modified"]}],
        co_changes=[{"when": "src/a.py", "then": ["README.md"], "because": "it lists them"}],
    )
    got = base.diff(edit("src/a.py", context=["one"], added=["register(x)", "new_group()"]))
    assert got.reasons("R") == [
        ("line", "src/a.py", "new", "new_group", 3),
        ("identifier", "src/a.py", "new", "register", 2),
        ("cochange", "src/a.py", "both", "README.md", None),
        ("path", "src/a.py", "both", "modified", None),
        ("path", "src/a.py", "both", "src/a.py", None),
    ]
    text = next(item["reasons"] for item in got.json["rules"])[0]["text"]
    assert text == "new_group()"


def test_why_not_names_the_nearest_pattern_and_what_rejected_it(base: Base) -> None:
    base.rule("R", ["src/conn/**/*.py", "docs/**", "!docs/old/**"])
    paths = {
        item["path"]: item
        for item in base.ask("explain", "--format", "json", "R", "src/conn/a.txt", "docs/old/x").json["paths"]
    }
    missed, excluded = paths["src/conn/a.txt"], paths["docs/old/x"]
    assert (missed["covered"], missed["outcome"], missed["pattern"]) == (False, "missed", "src/conn/**/*.py")
    assert "*.py" in missed["because"]
    assert (excluded["outcome"], excluded["pattern"]) == ("excluded", "docs/**")
    assert "!docs/old/**" in excluded["because"]


def test_explain_gives_the_same_match_as_applies(base: Base) -> None:
    base.rule("R", "src/**", look_for=[{"identifiers": ["x"]}], co_changes=[{"when": "src/**", "then": "docs/**"}])
    diff = edit("src/a.py", added=["x = 1"]).encode()
    explained = base.ask("explain", "--format", "json", "R", "--diff", "-", stdin=diff).json
    applied = base.diff(diff).json["rules"][0]
    for key in ("relevance", "reasons", "missing_cochanges"):
        assert explained[key] == applied[key]


def test_explain_without_a_change_says_where_it_looks(base: Base) -> None:
    base.rule("R", ["src/**", "!src/gen/**"])
    got = base.ask("explain", "R")
    assert got.code == 0
    assert "src/**" in got.out
    assert "!src/gen/**" in got.out


@pytest.mark.parametrize(
    ("look_for", "arguments", "verdict"),
    [
        (None, ["src/a", "docs/x"], "R applies (direct: shown by the change itself); it covers 1 of 2 paths"),
        ("x", ["src/a", "docs/x"], "R applies (possible: only the place matches); it covers 1 of 2 paths"),
        (None, ["docs/x"], "R does not apply: it covers none of 1 path"),
        (None, [], "R applies to changes in 1 place"),
    ],
    ids=["direct", "possible", "not", "no-change"],
)
def test_explain_says_first_whether_it_applies(
    base: Base, look_for: str | None, arguments: list[str], verdict: str
) -> None:
    base.rule("R", "src/**", look_for=[] if look_for is None else [{"identifiers": [look_for]}])
    assert base.ask("explain", "R", *arguments).out.splitlines()[0] == verdict
    assert base.ask("explain", "R", "--format", "md", *arguments).out.startswith("**R ")


def test_explain_counts_what_it_does_not_list(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    base.rule("R", "src/**")
    monkeypatch.setattr(answer, "MAX_EXPLAINED", 30)
    paths = [f"{folder}/{number}" for number in range(50) for folder in ("src", "docs")]
    got = base.ask("explain", "R", *paths)
    assert (
        got.err
        == "note: Of 50 paths that the rule does not cover, what rejected them was looked up for the first 30.\n"
    )
    lines = got.out.splitlines()
    assert "It covers (50)" in lines
    assert "It does not cover (50)" in lines
    assert lines.count("  and 30 more paths; --format json has them all") == 2
    assert len(lines) < 110
    data = base.ask("explain", "--format", "json", "R", *paths).json
    assert data["notes"] == [got.err.removeprefix("note: ").rstrip("\n")]
    assert [item["path"] for item in data["paths"]] == paths
    covered = [item for item in data["paths"] if item["covered"]]
    assert {(item["outcome"], item["because"]) for item in covered} == {("matched", "`src/**` covers it")}
    missed = [item["outcome"] for item in data["paths"] if not item["covered"]]
    assert missed == ["missed"] * 30 + [None] * 20


def test_explain_of_a_source_that_lies_elsewhere(base: Base, target: GitRepo) -> None:
    commit = target.commit({"lib/a.py": "x = 1\n"})
    base.rule("R", "src/**", sources=[f"demo@{commit}:lib/a.py"])
    target.commit({"lib/a.py": "x = 2\n"})
    got = base.ask("explain", "R", "--checkout", f"demo={target.path}", "--git", "HEAD")
    assert got.out.startswith(
        "R applies (possible), though it covers none of 1 path: the change edits a source of it\n"
    )


def test_explain_of_a_section_of_a_page(base: Base) -> None:
    base.write(
        "rules/demo/page.md",
        "---\nrepo: demo\napplies_to: ['src/**']\n---\n\n## P1 — First\n\nText.\n\n## P2 — Second\n\nText.\n",
    )
    got = base.ask("explain", "--format", "json", "P2", "src/a").json
    assert (got["rule"], got["applies_to"], got["paths"][0]["covered"]) == ("P2", ["src/**"], True)
    assert got["relevance"] == "direct"


def test_paths_that_no_rule_covers_are_always_listed(base: Base) -> None:
    base.rule("R", "src/**")
    base.review(1, "docs/**")
    many = [f"other/{number}.txt" for number in range(150)]
    got = base.applies("src/a", "docs/x", *many)
    assert got.json["unmatched"] == ["docs/x", *many]
    text = base.ask("applies", *many).out
    assert all(f"  {path}\n" in text for path in many)


def test_order_is_relevance_severity_specificity_id(base: Base) -> None:
    base.rule("P-ERROR", "src/**", severity="error", look_for=[{"identifiers": ["absent"]}])
    base.rule("D-NOTE", "src/**", severity="note", look_for=[])
    base.rule("D-WIDE", "src/**", look_for=[])
    base.rule("D-NARROW", "src/a.py", look_for=[])
    base.rule("D-WIDE10", "src/**", look_for=[])
    base.rule("D-WIDE9", "src/**", look_for=[])
    base.rule("D-ERROR", "src/**", severity="error", look_for=[])
    got = base.diff(edit("src/a.py", added=["x"]))
    assert list(got.rules) == ["D-ERROR", "D-NARROW", "D-WIDE", "D-WIDE9", "D-WIDE10", "D-NOTE", "P-ERROR"]


@given(st.permutations(["src/a.py", "src/gen/b.py", "docs/x.md", "README.md", "src/c/d.txt"]))
def test_order_of_the_input_does_not_change_what_matches(
    tmp_path_factory: pytest.TempPathFactory, paths: list[str]
) -> None:
    base = Base(tmp_path_factory.mktemp("base"))
    base.rule("A", ["src/**", "!src/gen/**"])
    base.rule("B", ["**/*.md"])
    base.rule("C", "src/c/**")
    got = base.applies(*paths)
    assert list(got.rules) == ["C", "A", "B"]
    assert sorted(got.json["unmatched"]) == ["src/gen/b.py"]
    assert sorted(got.reasons("B")) == [
        ("path", "README.md", "both", "**/*.md", None),
        ("path", "docs/x.md", "both", "**/*.md", None),
    ]


# --- what the diff says -----------------------------------------------------------------------


def test_paths_alone_decide_by_place(base: Base) -> None:
    base.rule("SIGNALS", "src/**", look_for=[{"identifiers": ["x"]}])
    base.rule("PLACE", "src/**", look_for=[])
    assert base.applies("src/a.py").rules == {"PLACE": "direct", "SIGNALS": "possible"}
    text = base.ask("applies", "src/a.py").out
    assert "Only places were looked at" in text
    assert "--diff" in text


def test_part_of_the_lines_unknown_is_said(base: Base) -> None:
    base.rule("R", "**")
    files = [
        {"filename": "big.py", "status": "modified"},
        {"filename": "a.py", "status": "modified", "patch": "@@ -1 +1 @@\n-x\n+y"},
    ]
    from rulebook.render.text import applies_lines

    with open_store(str(base.root)) as store:
        report = answer.applies(store, from_github_files(files, complete=True), "demo")
    assert any("Of 1 path the changed lines are not known" in line.plain for line in applies_lines(report))


# --- the life of rules ------------------------------------------------------------------------


def test_only_active_and_contested_rules_match(base: Base) -> None:
    base.rule("ACTIVE")
    base.rule("CONTESTED", status="contested")
    base.rule("SUPERSEDED", status="superseded", superseded_by=["ACTIVE"])
    base.rule("RETIRED", status="retired")
    base.rule("RESERVED", status="reserved")
    got = base.applies("x")
    assert {rule["id"]: rule["status"] for rule in got.json["rules"]} == {"ACTIVE": "active", "CONTESTED": "contested"}
    assert got.json["examined"]["rules"] == 2
    inert = base.ask("explain", "--format", "json", "RETIRED", "x").json
    assert "retired" in inert["inert"]
    assert inert["relevance"] is None
    assert base.ask("explain", "RETIRED", "x").out.startswith("RETIRED cannot apply: it is retired")


def test_show_follows_the_chain_of_replacements(base: Base) -> None:
    base.rule("A", status="superseded", superseded_by=["B"])
    base.rule("B", status="superseded", superseded_by=["C"])
    base.rule("C")
    got = base.ask("show", "A")
    assert "superseded and applies to nothing" in got.out
    assert "Replaced by B" in got.out
    assert "Replaced by C" in got.out
    assert base.ask("show", "--format", "json", "A").json["replaced_by"] == ["B", "C"]


def test_show_survives_a_loop_of_replacements(base: Base) -> None:
    base.rule("A", status="superseded", superseded_by=["B"])
    base.rule("B", status="superseded", superseded_by=["A"])
    assert base.ask("show", "--format", "json", "A").json["replaced_by"] == ["B"]


def test_show_says_that_nothing_replaced_it(base: Base) -> None:
    base.rule("A", status="retired")
    assert "Nothing is named that replaced it" in base.ask("show", "A").out


@pytest.mark.parametrize("name", ["owner/demo#12", "#12", "12", "OWNER/DEMO#12", "reviews/owner/demo/12.md"])
def test_show_finds_a_digest_by_any_of_its_names(base: Base, name: str) -> None:
    base.review(12, "ci/**")
    assert base.ask("show", "--format", "json", name).json["id"] == "owner/demo#12"


def test_show_suggests(base: Base) -> None:
    base.rule("AFD-I1")
    got = base.ask("show", "afd-l1")
    assert (got.code, "did you mean AFD-I1?" in got.err) == (2, True)


def test_show_in_another_language(base: Base) -> None:
    base.rule("R")
    base.document("rules/demo/R.zh.md", {"id": "R", "title": "规则"}, "## 要求\n\n文本。\n")
    assert "规则" in base.ask("show", "R", "--lang", "zh").out
    assert "Rule R" in base.ask("show", "R").out
    assert base.ask("show", "R", "--lang", "zh", "--format", "json").json["lang"] == "zh"


# --- digests ----------------------------------------------------------------------------------


def test_digests_come_along_by_place_then_by_label(base: Base) -> None:
    base.rule("R", "src/**", tags=["ci"], look_for=[])
    base.review(3, "src/**")
    base.review(4, ["docs/**"], ["CI"])
    base.review(5, ["docs/**"], ["other"])
    base.review(6, ["docs/**"], ["ci"])
    got = base.applies("src/a")
    reviews = {item["id"]: item["reasons"] for item in got.json["reviews"]}
    assert list(reviews) == ["owner/demo#3", "owner/demo#6", "owner/demo#4"]
    assert [(r["kind"], r["pattern"]) for r in reviews["owner/demo#3"]] == [("path", "src/**")]
    assert [(r["kind"], r["pattern"]) for r in reviews["owner/demo#4"]] == [("label", "ci")]
    text = base.ask("applies", "src/a").out
    assert "touched src/**, as src/a does" in text
    assert "shares the label ci" in text


def test_digests_are_ranked_by_what_they_tell(base: Base) -> None:
    base.rule("R", "src/**", tags=["ci", "rare"], look_for=[])
    for number, labels, keys in (
        (10, ["ci"], {}),
        (11, ["ci"], {"reading": "close"}),
        (12, ["ci"], {"reading": "skip"}),
        (13, ["ci"], {"reading": "skim"}),
        (14, ["ci", "rare"], {"reading": "skip"}),
        (15, ["ci"], {}),
        (3, [], {"touches": "src/a"}),
    ):
        base.review(number, keys.pop("touches", "docs/**"), labels, **keys)
    got = base.applies("src/a").json["reviews"]
    assert [item["id"].partition("#")[2] for item in got] == ["3", "14", "11", "15", "10", "13", "12"]
    text = base.ask("applies", "src/a").out
    assert "Related reading (7)" in text
    assert [number for number in range(20) if f"owner/demo#{number} " in text] == [3, 11, 14]
    assert "  and 4 that only share a label; --format json has them all\n" in text
    shown = base.ask("applies", "--format", "md", "src/a").out
    assert "- and 4 that only share a label\n" in shown
    assert shown.count("Digest") == 3


def test_digests_of_the_same_places_leave_no_room_for_labels(base: Base) -> None:
    base.rule("R", "src/**", tags=["ci"], look_for=[])
    for number in range(8):
        base.review(number + 1, "src/**" if number else "docs/**", ["ci"])
    text = base.ask("applies", "src/a").out
    assert text.count("touched src/**, as src/a does") == 5
    assert "and 2 of the same places and 1 that only share a label; --format json" in text
    assert len(base.applies("src/a").json["reviews"]) == 8


def test_label_of_a_possible_rule_brings_no_digest(base: Base) -> None:
    base.rule("R", "src/**", tags=["ci"], look_for=[{"identifiers": ["x"]}])
    base.review(4, ["docs/**"], ["ci"])
    assert base.applies("src/a").json["reviews"] == []


# --- which repository -------------------------------------------------------------------------

TWO = "".join(f'[repos.{name}]\nurl = "https://example.invalid/owner/{name}.git"\n' for name in ("one", "two"))


@pytest.fixture
def both(tmp_path: Path) -> Base:
    made = Base(tmp_path / "both", TWO)
    made.rule("ONE", repo="one", sources=[])
    made.rule("TWO", repo="two", sources=[])
    return made


@pytest.mark.parametrize("name", ["two", "owner/two", "OWNER/Two"])
def test_repo_is_named_by_alias_or_slug(both: Base, name: str) -> None:
    got = both.applies("--repo", name, "x")
    assert (got.json["repo"], list(got.rules)) == ("two", ["TWO"])


def test_repo_is_told_by_the_git_remote(both: Base, target: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    target.commit({"deep/er/x": ""})
    target.git("remote", "add", "fork", "git@example.invalid:me/one.git")
    target.git("remote", "add", "upstream", "git@example.invalid:owner/two.git")
    monkeypatch.chdir(target.path / "deep" / "er")
    assert both.applies("x").json["repo"] == "two"


def test_only_repo_needs_no_name(base: Base, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base.rule("R")
    monkeypatch.chdir(tmp_path)
    assert base.applies("x").json["repo"] == "demo"


def test_untold_and_unknown_repos_are_usage_errors_that_name_the_known(
    both: Base, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for got in (both.ask("applies", "x"), both.ask("applies", "--repo", "three", "x")):
        assert got.code == 2
        assert "known: one, two" in got.err
        assert len(got.err.splitlines()) == 2


def test_single_checkout_names_the_repo(both: Base, target: GitRepo) -> None:
    target.commit({"x": ""})
    got = both.applies("--checkout", f"two={target.path}", "--git", "HEAD")
    assert (got.json["repo"], list(got.rules)) == ("two", ["TWO"])


def test_git_range_is_read_around_the_current_directory(
    base: Base, target: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.rule("R", "src/**")
    before = target.commit({"a": ""})
    target.commit({"src/x": "1\n"})
    monkeypatch.chdir(target.path)
    assert list(base.applies("--git", f"{before}..").rules) == ["R"]


@pytest.mark.parametrize("command", [("applies", "--repo", "demo"), ("explain", "R")], ids=["applies", "explain"])
def test_a_range_of_the_knowledge_base_is_no_change_of_its_target(
    base: Base, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    base.rule("R", "src/**")
    own = GitRepo(base.root)
    own.commit({"src/x": ""})
    own.git("remote", "add", "origin", "git@example.invalid:owner/rules.git")
    monkeypatch.chdir(base.root)
    got = base.ask(*command, "--git", "HEAD")
    assert (got.code, got.out) == (2, "")
    assert "not 'demo'" in got.err
    assert "--checkout demo=DIR" in got.err


@pytest.mark.parametrize("remote", ["", "git@example.invalid:owner/demo.git"], ids=["no remote", "its own remote"])
def test_rules_may_stand_in_the_repository_that_they_are_for(
    base: Base, remote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.rule("R", "src/**")
    own = GitRepo(base.root)
    own.commit({"src/x": ""})
    if remote:
        own.git("remote", "add", "origin", remote)
    monkeypatch.chdir(base.root)
    got = base.applies("--git", "HEAD")
    assert list(got.rules) == ["R"]
    assert ("is taken for that one's" in got.err) is not bool(remote)


# --- the compiled answer is the plain answer ---------------------------------------------------

_SEGMENTS = st.sampled_from(["src", "gen", "a.py", "b.md", "*.py", "*", "**", "te*t", "[ab].py", "{src,gen}"])
_PATTERN = st.builds(
    lambda bang, root, parts, end: (
        ("!" if bang else "") + ("/" if root else "") + "/".join(parts) + ("/" if end else "")
    ),
    st.integers(0, 4).map(lambda n: n == 0),
    st.booleans(),
    st.lists(_SEGMENTS, min_size=1, max_size=3),
    st.integers(0, 5).map(lambda n: n == 0),
)
_PATH = st.lists(st.sampled_from(["src", "gen", "a.py", "b.md", "c.py", "test", "x"]), min_size=1, max_size=4).map(
    "/".join
)
_SIGNALS = st.one_of(
    st.none(),
    st.just([]),
    st.lists(
        st.fixed_dictionaries({"identifiers": st.lists(st.sampled_from(["alpha", "beta"]), min_size=1, unique=True)}),
        min_size=1,
        max_size=2,
    ),
)
_LINES = st.lists(st.sampled_from(["alpha = 1", "beta()", "gamma", ""]), min_size=1, max_size=3)


def plain_answer(root: str, changes: ChangeSet) -> list[RuleMatch]:
    """Every rule's patterns tested on every path, without store, tokens or order."""
    found = []
    for rule in catalog.load(root).rules:
        patterns = compile_patterns(rule.applies_to)
        hits = []
        for change in changes.files:
            for path, side in change.sides():
                pattern = patterns.match(path)
                if pattern is not None:
                    hits.append(PathHit(change, path, side, pattern))
        if hits and rule.status.matches:
            found.append(match_rule(rule, hits, Evidence(changes)))
    return found


@given(
    rules=st.lists(st.tuples(st.lists(_PATTERN, min_size=1, max_size=3), _SIGNALS), min_size=1, max_size=5),
    files=st.dictionaries(_PATH, _LINES, min_size=1, max_size=4),
    lines=st.booleans(),
)
def test_compiled_answer_is_the_plain_answer(tmp_path_factory: pytest.TempPathFactory, rules, files, lines) -> None:
    base = Base(tmp_path_factory.mktemp("base"))
    for number, (patterns, signals) in enumerate(rules):
        keys = {} if signals is None else {"look_for": signals}
        base.rule(f"R{number}", patterns, **keys)
    changes = (
        parse_diff("".join(edit(path, added=text) for path, text in files.items()).encode())
        if lines
        else from_paths(files)
    )
    with open_store(str(base.root)) as store:
        report = answer.applies(store, changes, "demo")
    expected = plain_answer(str(base.root), changes)
    assert {m.id: (m.relevance, set(m.reasons)) for m in report.rules} == {
        m.id: (m.relevance, set(m.reasons)) for m in expected
    }
    covered = {reason.path for match in expected for reason in match.reasons}
    assert set(report.unmatched) == {change.path for change in changes.files} - covered


def test_path_that_is_no_utf8_is_answered(base: Base, target: GitRepo) -> None:
    base.rule("R", "src/**", look_for=[])
    before = target.snapshot({"a": ""})
    target.snapshot({"a": "", b"src/\xff\xfe.txt": "x\n"}, [before])
    got = base.range(target, f"{before}..")
    assert got.rules == {"R": "direct"}
    assert got.json["paths"][0]["path"] == "src/\udcff\udcfe.txt"
    text = base.ask("applies", "--checkout", f"demo={target.path}", "--git", f"{before}..").out
    assert r"src/\xff\xfe.txt" in text


def test_many_paths_and_rules_keep_every_path(base: Base) -> None:
    for number in range(30):
        base.rule(f"R{number}", f"part{number}/**")
    paths = [f"part{number % 40}/file{number}.py" for number in range(1200)]
    random.Random(3).shuffle(paths)
    got = base.applies("-", stdin="\n".join(paths).encode())
    assert len(got.json["rules"]) == 30
    assert got.json["unmatched"] == [path for path in paths if int(path.split("/")[0][4:]) >= 30]


def test_no_such_rule_is_a_usage_error(base: Base) -> None:
    base.rule("R")
    with open_store(str(base.root)) as store, pytest.raises(UsageError, match="no rule is called 'NOPE'"):
        answer.explain(store, "NOPE", None)


def test_duplicate_ids_both_answer(base: Base) -> None:
    base.rule("R", "src/**")
    twice = base.root / "rules" / "demo" / "other.md"
    twice.write_text((base.root / "rules" / "demo" / "R.md").read_text())
    got = base.applies("src/a")
    assert [rule["location"]["path"] for rule in got.json["rules"]] == ["rules/demo/R.md", "rules/demo/other.md"]
    assert json.loads(base.ask("lint", "--format", "json").out)["summary"]["error"] >= 1


def test_rule_without_text_in_its_title_or_body(base: Base) -> None:
    base.rule("R", body="")
    assert list(base.applies("x").rules) == ["R"]
    assert SECTIONS


def test_a_plain_diff_says_which_rules_it_shows_too_little_to(tmp_path: Path) -> None:
    from kb import make_kb, rule

    look_for = "[{functions: [close]}]"
    root = make_kb(tmp_path, {"rules/demo/A-1.md": rule("A-1", look_for=look_for), "rules/demo/A-2.md": rule("A-2")})
    diff = b"--- a/src/a.py\n+++ b/src/a.py\n@@ -9,1 +9,1 @@\n-        x = 1\n+        x = 2\n"
    with open_store(str(root)) as store:
        (hint,) = answer.applies(store, parse_diff(diff), "demo").hints
        assert hint.startswith("A-1 asks which function")
        assert answer.explain(store, "A-1", parse_diff(diff)).hints == (hint,)
        assert answer.explain(store, "A-2", parse_diff(diff)).hints == ()
        (hint,) = answer.applies(store, parse_diff(b""), "demo").hints
        assert "empty" in hint


#: What is said of any paths that no rule covers.
NONE = "No path is covered by any rule: paths begin at the root of demo; does the change belong to it?"


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ([" src/a.py ", "x"], [NONE, "a blank"]),
        (["https://example.invalid/pull/7/files"], [NONE, "no path"]),
        (["a/src/a.py", "b/src/a.py"], [NONE, "without the a/ and b/"]),
        (["a/src/a.py", "config.py"], [NONE]),
        ([" src/a.py", "src/a.py"], []),
        (["config.py"], [NONE]),
    ],
    ids=["blanks", "address", "as in a diff", "a folder called a", "one is covered", "plain"],
)
def test_what_is_odd_about_paths_is_said_where_no_rule_covers_any(
    base: Base, paths: list[str], said: list[str]
) -> None:
    base.rule("R", "src/**")
    with open_store(str(base.root)) as store:
        hints = answer.applies(store, from_paths(paths), "demo").hints
        assert answer.explain(store, "R", from_paths(paths)).hints == hints
        assert len(hints) == len(said)
        assert all(words in hint for words, hint in zip(said, hints, strict=True))


def test_errors_in_the_content_stand_in_the_answer(tmp_path: Path) -> None:
    from kb import make_kb

    root = make_kb(tmp_path, {"rules/demo/BAD-1.md": b"\xff"})
    with open_store(str(root)) as store:
        report = answer.applies(store, from_paths(["src/a.py"]), "demo")
    assert report.notes == ("rules/demo/BAD-1.md:1: is not UTF-8: byte 0xff in line 1; see: rulebook lint",)


def test_a_path_that_no_file_can_have_is_refused() -> None:
    from rulebook.errors import UsageError

    with pytest.raises(UsageError, match="longer than 4096"):
        from_paths(["a/" * 3000 + "x"])
