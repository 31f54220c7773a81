"""What changed, from every kind of input, against what git itself says."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gitrepo import EXECUTABLE, FILE, SUBMODULE, SYMLINK, Entry, GitRepo
from rulebook.changes import (
    from_github_files,
    from_path_list,
    from_paths,
    read_path_list,
)
from rulebook.diffs import parse_diff
from rulebook.errors import UnreadableInput, UsageError
from rulebook.git.repository import Repository
from rulebook.model import ChangeSet, FileChange, Line, Side
from rulebook.ranges import from_git

Files = Mapping[str | bytes, str | bytes | Entry]
Row = tuple[str, str | None, str]

BODY = "".join(f"line {number}\n" for number in range(30))
COMMIT = "1234567890" * 4


def rows(changes: ChangeSet) -> list[Row]:
    """Path, old path and status of each file."""
    return [(change.path, change.old_path, change.status.value) for change in changes.files]


def changed_lines(change: FileChange) -> list[str]:
    """Added and removed lines, with their marks."""
    assert change.hunks is not None
    return [line.mark + line.text for hunk in change.hunks for line in hunk.lines if line.mark != " "]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    return GitRepo(tmp_path_factory.mktemp("changes") / "repo")


Diff = Callable[..., bytes]


@pytest.fixture(scope="module")
def diff(repo: GitRepo) -> Diff:
    """What ``git diff`` writes about two trees."""

    def make(before: Files, after: Files, *options: str) -> bytes:
        old = repo.snapshot(before)
        return repo.git("diff", "-M", *options, old, repo.snapshot(after, [old]))

    return make


# --- unified diffs: paths and status ----------------------------------------------------------

CASES: dict[str, tuple[Files, Files, tuple[str, ...], list[Row]]] = {
    "modified": ({"a.py": "1\n"}, {"a.py": "2\n"}, (), [("a.py", None, "modified")]),
    "added": ({}, {"a.py": "1\n"}, (), [("a.py", None, "added")]),
    "deleted": ({"a.py": "1\n"}, {}, (), [("a.py", None, "deleted")]),
    "pure rename": ({"a.py": BODY}, {"b.py": BODY}, (), [("b.py", "a.py", "renamed")]),
    "rename with edit": ({"a.py": BODY}, {"d/b.py": BODY + "x\n"}, (), [("d/b.py", "a.py", "renamed")]),
    "rename and mode": ({"a": BODY}, {"b": Entry(EXECUTABLE, BODY)}, (), [("b", "a", "renamed")]),
    "rename, only white space edited, -w": (
        {"a": BODY, "z": "1\n"},
        {"b": BODY.replace("line 1\n", "line  1\n"), "z": "2\n"},
        ("-w",),
        [("b", "a", "renamed"), ("z", None, "modified")],
    ),
    "copy": ({"a": BODY}, {"a": BODY, "c": BODY}, ("-C", "-C"), [("c", "a", "copied")]),
    "copy with edit": ({"a": BODY}, {"a": BODY, "c": BODY + "x\n"}, ("-C", "-C"), [("c", "a", "copied")]),
    "mode only": ({"a": "1\n"}, {"a": Entry(EXECUTABLE, "1\n")}, (), [("a", None, "mode")]),
    "mode and content": ({"a": "1\n"}, {"a": Entry(EXECUTABLE, "2\n")}, (), [("a", None, "modified")]),
    "file becomes link": ({"a": "1\n"}, {"a": Entry(SYMLINK, "b")}, (), [("a", None, "modified")]),
    "submodule": (
        {"lib": Entry(SUBMODULE, COMMIT)},
        {"lib": Entry(SUBMODULE, COMMIT[::-1])},
        (),
        [("lib", None, "modified")],
    ),
    "submodule, as a log": (
        {"lib x": Entry(SUBMODULE, COMMIT)},
        {"lib x": Entry(SUBMODULE, COMMIT[::-1])},
        ("--submodule=log",),
        [("lib x", None, "modified")],
    ),
    "submodule added, as a log": (
        {},
        {"lib": Entry(SUBMODULE, COMMIT)},
        ("--submodule=log",),
        [("lib", None, "added")],
    ),
    "submodule deleted, as a log": (
        {"lib": Entry(SUBMODULE, COMMIT)},
        {},
        ("--submodule=log",),
        [("lib", None, "deleted")],
    ),
    "binary modified": ({"x": "\0a"}, {"x": "\0b"}, (), [("x", None, "binary")]),
    "binary added": ({}, {"x": "\0a"}, (), [("x", None, "added")]),
    "binary deleted": ({"x": "\0a"}, {}, (), [("x", None, "deleted")]),
    "binary patch": ({"x": "\0a"}, {"x": "\0b"}, ("--binary",), [("x", None, "binary")]),
    "binary patch, added": ({}, {"x": "\0a", "y": "1\n"}, ("--binary",), [("x", None, "added"), ("y", None, "added")]),
    "binary, blank in name": ({"a b": "\0a"}, {"a b": "\0b"}, (), [("a b", None, "binary")]),
    "empty added": ({}, {"e": "", "f": ""}, (), [("e", None, "added"), ("f", None, "added")]),
    "empty deleted": ({"e": ""}, {}, (), [("e", None, "deleted")]),
    "octal escapes": ({"na\u00efve.txt": "1\n"}, {"na\u00efve.txt": "2\n"}, (), [("na\u00efve.txt", None, "modified")]),
    "blank in name": ({"a b.txt": "1\n"}, {"a b.txt": "2\n"}, (), [("a b.txt", None, "modified")]),
    "blank in name, mode only": ({"a b": "1\n"}, {"a b": Entry(EXECUTABLE, "1\n")}, (), [("a b", None, "mode")]),
    "' b/' in name": ({"x b/y": "1\n"}, {"x b/y": "2\n"}, (), [("x b/y", None, "modified")]),
    "' b/' in name, mode only": ({"x b/y": "1\n"}, {"x b/y": Entry(EXECUTABLE, "1\n")}, (), [("x b/y", None, "mode")]),
    "' b/x b/' in name, empty": ({}, {"x b/x b/y": ""}, (), [("x b/x b/y", None, "added")]),
    "rename, only new name quoted": ({"p.txt": BODY}, {"n\u00efve": BODY}, (), [("n\u00efve", "p.txt", "renamed")]),
    "rename, only old name quoted": ({"n\u00efve x": BODY}, {"p q": BODY}, (), [("p q", "n\u00efve x", "renamed")]),
    "names not UTF-8": ({b"caf\xe9": "1\n"}, {b"caf\xe9": "2\n"}, (), [("caf\udce9", None, "modified")]),
    "names with everything": (
        {b'\n\t"\\\x01\x7f': "1\n"},
        {b'\n\t"\\\x01\x7f': "2\n"},
        (),
        [('\n\t"\\\x01\x7f', None, "modified")],
    ),
    "no prefix": ({"src/a.py": "1\n"}, {"src/a.py": "2\n"}, ("--no-prefix",), [("src/a.py", None, "modified")]),
    "no prefix, a folder a": ({"a/x": "1\n"}, {"a/x": "2\n"}, ("--no-prefix",), [("a/x", None, "modified")]),
    "no prefix, added to a folder b": ({}, {"b/x": "2\n"}, ("--no-prefix",), [("b/x", None, "added")]),
    "no prefix, moved from a to b": (
        {"a/x": BODY},
        {"b/x": BODY + "z\n"},
        ("--no-prefix",),
        [("b/x", "a/x", "renamed")],
    ),
    "a folder a": ({"a/x": "1\n", "b/y": "1\n"}, {"b/y": "1\n"}, (), [("a/x", None, "deleted")]),
    "i/ and w/": ({"x": "1\n"}, {"x": "2\n"}, ("--src-prefix=i/", "--dst-prefix=w/"), [("x", None, "modified")]),
    "c/ and i/, added": ({}, {"x": "2\n"}, ("--src-prefix=c/", "--dst-prefix=i/"), [("x", None, "added")]),
    "prefixes of different lengths": (
        {"d/x y": "1\n"},
        {"d/x y": "2\n"},
        ("--src-prefix=old/", "--dst-prefix=newer/"),
        [("d/x y", None, "modified")],
    ),
    "reversed": ({"x": "1\n", "y": "1\n"}, {"x": "2\n"}, ("-R",), [("x", None, "modified"), ("y", None, "added")]),
    "full ids": ({"x": ""}, {"x": "1\n", "y": ""}, ("--full-index",), [("x", None, "modified"), ("y", None, "added")]),
    "short ids": ({}, {"y": ""}, ("--abbrev=4",), [("y", None, "added")]),
    "with list and statistics": ({"x": "1\n"}, {"x": "2\n"}, ("--patch-with-stat", "--raw"), [("x", None, "modified")]),
    "rewritten": ({"x": BODY}, {"x": BODY.upper()}, ("-B",), [("x", None, "modified")]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_paths_and_status(diff: Diff, case: tuple[Files, Files, tuple[str, ...], list[Row]]) -> None:
    before, after, options, expected = case
    found = parse_diff(diff(before, after, *options))
    assert rows(found) == expected
    assert all(change.hunks is not None for change in found.files)
    assert found.notes == ()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_line_endings_that_were_converted_change_nothing(
    diff: Diff, case: tuple[Files, Files, tuple[str, ...], list[Row]]
) -> None:
    before, after, options, _ = case
    text = diff(before, after, *options)
    assert parse_diff(text.replace(b"\n", b"\r\n")) == parse_diff(text)
    assert parse_diff(text.rstrip(b"\n")) == parse_diff(text)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("-- sql\n++ y\n", "c\n", ["--- sql", "-++ y", "+c"], id="content like names"),
        pytest.param("c\n", "-- sql\n++ y\n@@ -1 +1 @@\n", ["-c", "+-- sql", "+++ y", "+@@ -1 +1 @@"], id="added"),
        pytest.param("", "diff --git a/x b/x\n\\ No\n", ["+diff --git a/x b/x", "+\\ No"], id="content like a diff"),
        pytest.param("a", "b", ["-a", "+b"], id="no line feed at the end"),
        pytest.param("a\n", "a", ["-a", "+a"], id="line feed removed"),
        pytest.param("a\r\nb\r\n", "a\r\nc\r\n", ["-b", "+c"], id="CRLF"),
        pytest.param("a\n", "a\fb\u2028c\x85d\ve\x1cf\n", ["-a", "+a\fb\u2028c\x85d\ve\x1cf"], id="other separators"),
        pytest.param("a\n", b"caf\xe9\n", ["-a", "+caf\ufffd"], id="not UTF-8"),
        pytest.param("a\n", "\t b  \n", ["-a", "+\t b  "], id="white space"),
    ],
)
def test_lines_are_content(diff: Diff, before: str, after: str | bytes, expected: list[str]) -> None:
    text = diff({"x": before, "y": "1\n"}, {"x": after, "y": "2\n"})
    first, second = parse_diff(text).files
    assert changed_lines(first) == expected
    assert changed_lines(second) == ["-1", "+2"]


def test_hunks_have_numbers_and_headings(diff: Diff) -> None:
    before = "".join(f"def f{n}():\n    a\n    b\n    c\n    d\n    e\n" for n in range(4))
    after = before.replace("def f1():\n    a\n", "def f1():\n    a\n    new\n").replace("    e\ndef f3", "def f3")
    (change,) = parse_diff(diff({"x.py": before}, {"x.py": after}, "-U1")).files
    assert change.hunks is not None
    first, second = change.hunks
    assert (first.old_start, first.new_start, first.heading) == (8, 8, "def f1():")
    assert first.lines == (Line(" ", "    a", 8, 8), Line("+", "    new", 0, 9), Line(" ", "    b", 9, 10))
    assert (second.old_start, second.new_start, second.heading) == (17, 18, "def f2():")
    assert second.lines[1] == Line("-", "    e", 18, 0)


def test_hunks_without_context(diff: Diff) -> None:
    (change,) = parse_diff(diff({"x": "1\n2\n3\n"}, {"x": "1\nnew\n2\n"}, "-U0")).files
    assert change.hunks is not None
    assert [line for hunk in change.hunks for line in hunk.lines] == [Line("+", "new", 0, 2), Line("-", "3", 3, 0)]


def test_empty_context_lines_may_have_lost_their_blank(diff: Diff, repo: GitRepo) -> None:
    old = repo.snapshot({"x": "\n\na\n\n"})
    new = repo.snapshot({"x": "\n\nb\n\n"}, [old])
    text = repo.git("-c", "diff.suppressBlankEmpty=true", "diff", old, new)
    assert b"\n\n\n-a" in text
    assert parse_diff(text).files == parse_diff(repo.git("diff", old, new)).files


def test_quoting_is_only_quoting(repo: GitRepo) -> None:
    old = repo.snapshot({"n\u00efve": BODY, "\u4e2d \u6587": "1\n", '"': "1\n"})
    new = repo.snapshot({"na\u00efve": BODY, "\u4e2d \u6587": "2\n", '"': "2\n"}, [old])
    quoted, plain = (repo.git("-c", f"core.quotePath={word}", "diff", "-M", old, new) for word in ("true", "false"))
    assert quoted != plain
    assert parse_diff(quoted) == parse_diff(plain)


def test_a_commit_as_git_show_and_as_a_mail(repo: GitRepo) -> None:
    message = "Say it\n\nOnly in theory: this is text\nSubmodule x 1234567..1234567:\n@@ -1 +1 @@\n"
    old = repo.snapshot({"p": "1\n"})
    new = repo.snapshot({"p": "2\n", "q": ""}, [old], message=message)
    expected = [("p", None, "modified"), ("q", None, "added")]
    assert rows(parse_diff(repo.git("show", new))) == expected
    assert rows(parse_diff(repo.git("show", "--stat", "--patch", new))) == expected
    mail = repo.git("format-patch", "--stdout", "-1", new)
    assert mail.rstrip().rpartition(b"\n")[0].endswith(b"\n-- ")
    assert rows(parse_diff(mail)) == expected
    assert rows(parse_diff(mail.replace(b"\n-- \n", b"\n--\n"))) == expected


def test_several_commits_are_one_change(repo: GitRepo) -> None:
    first = repo.snapshot({"kept": "1\n", "gone": "1\n"})
    second = repo.snapshot({"kept": "2\n", "gone": "2\n", "new": "1\n"}, [first])
    third = repo.snapshot({"kept": "3\n", "new": "2\n"}, [second])
    for text in (
        repo.git("format-patch", "--stdout", f"{first}..{third}"),
        repo.git("log", "--patch", f"{first}..{third}"),
    ):
        found = parse_diff(text)
        assert sorted(rows(found)) == [("gone", None, "deleted"), ("kept", None, "modified"), ("new", None, "added")]
        assert sorted(changed_lines(next(c for c in found.files if c.path == "kept"))) == ["+2", "+3", "-1", "-2"]
        assert len(found.notes) == 1
        assert "several times" in found.notes[0]


def test_of_a_merge_only_the_paths_are_taken(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "merge")
    base = repo.snapshot({"m x": BODY, "only": "1\n"})
    left = repo.snapshot({"m x": BODY.replace("line 3\n", "left\n"), "only": "2\n"}, [base])
    right = repo.snapshot({"m x": BODY.replace("line 3\n", "-- right\n")}, [base], branch="topic")
    merge = repo.snapshot({"m x": BODY.replace("line 3\nline 4\n", "both\nand\n"), "only": "2\n"}, [left, right])
    text = repo.git("show", merge)
    assert b"\ndiff --cc m x\n" in text
    assert b"\n@@@ " in text
    found = parse_diff(text + repo.git("diff", base, left, "--", "only"))
    assert rows(found) == [("m x", None, "modified"), ("only", None, "modified")]
    assert found.files[0].hunks is None
    assert found.notes == ("m x is shown as a merge (a combined diff), of which only the path is used.",)
    with pytest.raises(UnreadableInput, match="m x"):
        parse_diff(text[: text.rindex(b"\n", 0, -1)])


def test_a_conflict_in_the_working_tree(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "conflict")
    repo.commit({"x": "1\n", "gone": "1\n"})
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({"x": "2\n", "gone": "2\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit({"x": "3\n", "gone": None})
    with pytest.raises(AssertionError):
        repo.git("merge", "topic")
    assert rows(parse_diff(repo.git("diff"))) == [("x", None, "modified"), ("gone", None, "unknown")]


def test_two_files_compared_without_a_repository(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    repo.write({"x.py": "1\n", "y.py": "2\n"})
    text = repo.git("diff", "--no-prefix", "--no-index", "--exit-code", "x.py", "x.py")
    assert text == b""
    assert rows(
        parse_diff(b"diff --git a/x.py b/y.py\nindex 1..2 100644\n--- a/x.py\n+++ b/y.py\n@@ -1 +1 @@\n-1\n+2\n")
    ) == [("y.py", "x.py", "renamed")]


# --- unified diffs of other programs ----------------------------------------------------------

HUNK = "@@ -1 +1 @@\n-a\n+b\n"
DAY = "2026-01-02 03:04:05.000000000 +0000"

OTHERS: dict[str, tuple[str, list[Row]]] = {
    "diff -u, a copy": (f"--- x.py.orig\t{DAY}\n+++ x.py\t{DAY}\n{HUNK}", [("x.py", None, "modified")]),
    "diff -u, a new copy": (f"--- x.py\t{DAY}\n+++ x.py.new\t{DAY}\n{HUNK}", [("x.py", None, "modified")]),
    "diff -ru": (
        f"diff -ru old/d/x new/d/x\n--- old/d/x\t{DAY}\n+++ new/d/x\t{DAY}\n{HUNK}",
        [("d/x", None, "modified")],
    ),
    "diff -ru . ..": (f"--- ./d/x\t{DAY}\n+++ new/d/x\t{DAY}\n{HUNK}", [("d/x", None, "modified")]),
    "diff -ruN, added": (
        f"--- old/x\t1970-01-01 00:00:00.000000000 +0000\n+++ new/x\t{DAY}\n@@ -0,0 +1 @@\n+b\n",
        [("x", None, "added")],
    ),
    "diff -ruN, added, west": (
        f"--- old/x\t1969-12-31 19:00:00.000000000 -0500\n+++ new/x\t{DAY}\n@@ -0,0 +1 @@\n+b\n",
        [("x", None, "added")],
    ),
    "diff -ruN, deleted, east": (
        f"--- old/x\t{DAY}\n+++ new/x\t1970-01-01 05:30:00.000000000 +0530\n@@ -1 +0,0 @@\n-b\n",
        [("x", None, "deleted")],
    ),
    "diff -ru, not the epoch": (
        f"--- old/x\t1970-01-01 00:00:00.000000000 +0530\n+++ new/x\t{DAY}\n{HUNK}",
        [("x", None, "modified")],
    ),
    "diff -r, more": (
        (
            f"Only in old/d: gone\nBinary files old/a and b/x and new/a and b/x differ\nOnly in new: came\n"
            f"diff -ru old/y new/y\n--- old/y\t{DAY}\n+++ new/y\t{DAY}\n{HUNK}"
        ),
        [
            ("d/gone", None, "unknown"),
            ("a and b/x", None, "binary"),
            ("came", None, "unknown"),
            ("y", None, "modified"),
        ],
    ),
    "no time": (f"--- a/x\n+++ b/x\n{HUNK}", [("x", None, "modified")]),
    "no time, added": ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", [("x", None, "added")]),
    "no time, deleted": ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", [("x", None, "deleted")]),
    "quoted": (
        f'--- "a/na\\303\\257ve\\t"\t{DAY}\n+++ "b/na\\303\\257ve\\t"\t{DAY}\n{HUNK}',
        [("na\u00efve\t", None, "modified")],
    ),
    "removed line like a name": (
        f"--- x\n+++ x\n@@ -1,2 +1 @@\n--- y\n-z\n+b\n--- q\n+++ q\n{HUNK}",
        [("x", None, "modified"), ("q", None, "modified")],
    ),
    "Subversion": (
        (
            f"Index: trunk/x y.c\n{'=' * 67}\n--- trunk/x y.c\t(revision 3)\n+++ trunk/x y.c\t(working copy)\n{HUNK}"
            f"Index: new.c\n{'=' * 67}\n--- new.c\t(nonexistent)\n+++ new.c\t(working copy)\n@@ -0,0 +1 @@\n+b\n"
            f"\nProperty changes on: new.c\n{'_' * 67}\nAdded: svn:executable\n## -0,0 +1 ##\n+*\n\\ No newline at end of property\n"
            f"Index: prop.c\n{'=' * 67}\n--- prop.c\t(revision 3)\n+++ prop.c\t(working copy)\n\nProperty changes on: prop.c\n"
            f"Index: pic.png\n{'=' * 67}\nCannot display: file marked as a binary type.\nsvn:mime-type = image/png\n"
            f"Index: empty.c\n{'=' * 67}\n"
        ),
        [
            ("trunk/x y.c", None, "modified"),
            ("new.c", None, "added"),
            ("prop.c", None, "modified"),
            ("pic.png", None, "binary"),
            ("empty.c", None, "unknown"),
        ],
    ),
    "CVS": (
        (
            f"Index: src/x.c\n{'=' * 67}\nRCS file: /cvs/src/x.c,v\nretrieving revision 1.1\ndiff -u -r1.1 x.c\n"
            f"--- src/x.c\t1 Jan 2001 00:00:00 -0000\t1.1\n+++ src/x.c\t2 Jan 2001 00:00:00 -0000\n{HUNK}"
        ),
        [("src/x.c", None, "modified")],
    ),
    "Mercurial": (
        (
            f"diff -r 0123456789ab d/x\n--- a/d/x\tThu Jan 01 00:00:00 2026 +0000\n+++ b/d/x\tFri Jan 02 00:00:00 2026 +0000\n{HUNK}"
            "Binary file d/y.png has changed\n"
        ),
        [("d/x", None, "modified"), ("d/y.png", None, "binary")],
    ),
    "Mercurial, git's style": (
        "diff --git a/e b/e\nnew file mode 100644\ndiff --git a/f b/f\ndeleted file mode 100644\n",
        [("e", None, "added"), ("f", None, "deleted")],
    ),
}


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
def test_diffs_of_other_programs(case: tuple[str, list[Row]]) -> None:
    text, expected = case
    assert rows(parse_diff(text.encode())) == expected


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf" + HUNK.join(["--- a/x\n+++ b/x\n", ""]).encode(), id="byte order mark"),
        pytest.param(("\ufeff--- a/x\n+++ b/x\n" + HUNK).replace("\n", "\r\n").encode("utf-16-le"), id="PowerShell"),
    ],
)
def test_encodings_of_other_programs(data: bytes) -> None:
    (change,) = parse_diff(data).files
    assert (change.path, changed_lines(change)) == ("x", ["-a", "+b"])


# --- unified diffs: what is wrong -------------------------------------------------------------

GIT = "diff --git a/x.py b/x.py\nindex 1111111..2222222 100644\n--- a/x.py\n+++ b/x.py\n"

BROKEN = {
    "cut in a hunk": (f"{GIT}@@ -1,3 +1,3 @@\n a\n-b\n", r"cut after line 7, .* line 5 on about x\.py: 2 more lines"),
    "cut before the last line": (f"{GIT}@@ -1,2 +1,2 @@\n a\n-b\n", r"x\.py: 1 more line should"),
    "cut before the hunk": (GIT, r"cut after line 4, .* line 1 on about x\.py"),
    "cut between the names": ("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n", "cut after line 3"),
    "cut after the ids": ("diff --git a/x b/x\nindex 1..2 100644\n", "cut after line 2"),
    "cut in the ids": ("diff --git a/x b/x\nnew file mode 100644\nindex 0000000..", "cut after line 3"),
    "cut after the header": ("diff --git a/x b/x\n", "cut after line 1"),
    "cut in the header": ("diff --git a/x b/", "cut after line 1"),
    "cut in a mode": ("diff --git a/x b/x\nold mode 100644\nnew mode 1007", "cut after line 3"),
    "cut before the new name": ("diff --git a/x b/y\nsimilarity index 100%\nrename from x\n", "cut after line 3"),
    "cut in the new name": (
        "diff --git a/x b/yy\nsimilarity index 100%\nrename from x\nrename to y",
        "cut after line 4",
    ),
    "cut before the hunks of a rename": (
        "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n",
        "cut after line 4",
    ),
    "cut in a binary patch": (
        "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 2\nJcmZ",
        "cut after line 5",
    ),
    "cut after GIT binary patch": ("diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\n", "cut after line 3"),
    "cut in the word 'differ'": (
        "diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x dif",
        "cut after line 3",
    ),
    "plain, cut before the hunk": ("--- a/x\n+++ b/x\n", "cut after line 2, .* about a/x"),
    "plain, cut between the names": ("--- a/x\n", "cut after line 1"),
    "interrupted hunk": (
        f"{GIT}@@ -1,3 +1,3 @@\n a\n-b\n{GIT}",
        r"damaged at line 8: a hunk of x\.py, begun at line 5",
    ),
    "too many lines": (f"{GIT}@@ -1 +1 @@\n-a\n+b\n+c\n", r"damaged at line 8: .* more lines than its head says"),
    "too many removed": (f"{GIT}@@ -1 +1 @@\n-a\n+b\n-c\n", r"damaged at line 8"),
    "more old lines than said": (f"{GIT}@@ -1 +1,2 @@\n-a\n-b\n+c\n+d\n", "damaged at line 10"),
    "a bad head": (f"{GIT}@@ -1,x +1 @@\n-a\n+b\n", "damaged at line 5: this is not the head of a hunk"),
    "huge numbers": (f"{GIT}@@ -{'9' * 5000} +1 @@\n-a\n+b\n", "damaged at line 5"),
    "a hunk without a file": (HUNK, "damaged at line 1: a hunk without a file"),
    "a hunk that was torn off": (f"{GIT}@@ -1 +1 @@\n-a\n+b\n\n{HUNK}", "damaged at line 9"),
    "outside, absolute": (f"--- /etc/x\n+++ /etc/x\n{HUNK}", "line 1: /etc/x is not in the repository"),
    "outside, relative": (f"--- ../x\n+++ ../x\n{HUNK}", r"\.\./x is not in the repository"),
    "outside, git": ("diff --git a/d/../../x b/d/../../x\nold mode 100644\nnew mode 100755\n", "not in the repository"),
    "two names without anything": (
        "diff --git a/x b/y\nold mode 100644\nnew mode 100755\n\n",
        "cannot tell which file",
    ),
    "coloured": (f"\x1b[1m{GIT}@@ -1 +1 @@\n-a\n+b\n", "coloured"),
    "text": ("hello\nworld\n", "no unified diff"),
    "a list of names": ("src/a.py\nsrc/b.py\n", "no unified diff"),
    "a context diff": ("*** a\n--- b\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n", "no unified diff"),
    "a log without diffs": (
        "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A\n\n    text\n",
        "no unified diff",
    ),
    "bytes": ("\0\x01\x02" * 99, "no unified diff"),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_is_said_with_its_place(case: tuple[str, str]) -> None:
    text, message = case
    with pytest.raises(UnreadableInput, match=message) as raised:
        parse_diff(text.encode())
    assert raised.value.message.isprintable()
    assert len(raised.value.message) < 500
    assert raised.value.hint


@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\n"])
def test_no_change_is_an_answer(data: bytes) -> None:
    assert parse_diff(data) == ChangeSet(files=())


def test_messages_show_odd_names_harmlessly() -> None:
    with pytest.raises(UnreadableInput) as raised:
        parse_diff(b'diff --git "a/\\033[31m\\nx" "b/\\033[31m\\nx"\nindex 1..2 100644\n')
    assert raised.value.message.isprintable()


def test_a_hundred_thousand_lines_are_read() -> None:
    pairs = 50_000
    head = f"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,{pairs} +1,{pairs} @@\n"
    text = (head + "-    an old line\n+    a new line\n" * pairs).encode()
    (change,) = parse_diff(text).files
    assert len(change.hunks[0].lines) == 2 * pairs  # type: ignore[index]
    assert change.hunks[0].lines[-1].new == pairs  # type: ignore[index]


def test_an_endless_header_is_refused() -> None:
    with pytest.raises(UnreadableInput):
        parse_diff(b"diff --git " + b"a b " * 250_000)


# --- laws -------------------------------------------------------------------------------------

PARTS = st.one_of(
    st.sampled_from(
        [
            *(
                b"a",
                b"b",
                b"i",
                b"x b",
                b" ",
                b"-x",
                b"[id].ts",
                b"a\tb",
                b"a\nb",
                b'"',
                b"\\",
                b"\\n",
                b"caf\xe9",
                b"\r",
            ),
            *("na\u00efve".encode(), b"dev", b"null", b"=>", b"x.py", b"...", b"_dev_null"),
        ]
    ),
    st.binary(min_size=1, max_size=3).map(lambda part: part.replace(b"\0", b"_").replace(b"/", b"_")),
).filter(lambda part: part not in (b".", b"..") and part.lower() != b".git" and b"git~" not in part.lower())
NAMES = st.lists(PARTS, min_size=1, max_size=3).map(b"/".join)
LINES = st.sampled_from(
    [
        *(
            b"",
            b"x",
            b"y",
            b"-- sql",
            b"++ y",
            b"-- ",
            b"@@ -1 +1 @@",
            b"diff --git a/x b/x",
            b"\\ No newline",
            b"a\fb",
        ),
        *(b"\r", b"\x85", "\u2028".encode(), b"caf\xe9", b" z", b"crlf\r", b"+", b"-", b"Index: x", b"from\0binary"),
    ]
)
CONTENTS = st.builds(
    lambda lines, end: b"\n".join(lines) + end, st.lists(LINES, max_size=12), st.sampled_from([b"", b"\n"])
)
ENTRIES = st.one_of(
    CONTENTS.map(lambda content: Entry(FILE, content)),
    CONTENTS.map(lambda content: Entry(EXECUTABLE, content)),
    st.sampled_from([Entry(SYMLINK, b"target"), Entry(SUBMODULE, COMMIT.encode()), Entry(FILE, BODY.encode())]),
)


@st.composite
def trees(draw: st.DrawFn) -> tuple[dict[bytes, Entry], dict[bytes, Entry]]:
    """A tree and what became of it: files kept, edited, moved, removed and added."""
    before = without_clashes(draw(st.dictionaries(NAMES, ENTRIES, max_size=5)))
    after: dict[bytes, Entry] = {}
    for name, entry in before.items():
        fate = draw(st.sampled_from(["keep", "edit", "move", "remove", "replace"]))
        content = entry.content
        assert isinstance(content, bytes)
        if fate == "replace":
            after[name] = draw(ENTRIES)
        elif fate == "move":
            after[draw(NAMES)] = entry
        elif fate == "edit" and entry.mode in (FILE, EXECUTABLE):
            after[name] = Entry(draw(st.sampled_from([FILE, EXECUTABLE])), content + draw(CONTENTS))
        elif fate != "remove":
            after[name] = entry
    after.update(draw(st.dictionaries(NAMES, ENTRIES, max_size=2)))
    return before, without_clashes(after)


def without_clashes(files: Mapping[bytes, Entry]) -> dict[bytes, Entry]:
    """``files`` without those whose folder would be a file."""
    folders = {name[:at] for name in files for at, byte in enumerate(name) if byte == ord("/")}
    return {name: entry for name, entry in files.items() if name not in folders}


def raw_rows(repo: GitRepo, old: str, new: str, binary: Callable[[bytes], bool]) -> Iterator[Row]:
    """What ``git diff --raw -z`` says, which quotes nothing and has no prefixes."""
    fields = iter(repo.git("diff", "--raw", "-z", "--abbrev=40", "-M", old, new).split(b"\0"))
    for header in fields:
        if not header:
            continue
        _, _, old_id, new_id, letter = header.decode().split(" ")
        path = next(fields)
        old_path, path = (path, next(fields)) if letter[0] == "R" else (None, path)
        status = {"A": "added", "D": "deleted", "R": "renamed", "T": "modified", "M": "modified"}[letter[0]]
        if letter[0] == "M":
            status = "mode" if old_id == new_id else "binary" if binary(path) else "modified"
        names = [None if name is None else name.decode("utf-8", "surrogateescape") for name in (path, old_path)]
        assert names[0] is not None
        yield names[0], names[1], status


def apply(change: FileChange, old: list[str]) -> list[str]:
    """The new lines of a file, from its old ones and its hunks."""
    new: list[str] = []
    at = 0
    for hunk in change.hunks or ():
        for line in hunk.lines:
            if line.mark == "+":
                continue
            new += old[at : line.old - 1]
            at = line.old - 1
            break
        for line in hunk.lines:
            if line.mark == "+":
                # Without context, only the number says where.
                missing = line.new - 1 - len(new)
                new += old[at : at + missing]
                at += missing
                new.append(line.text)
                assert line.new == len(new)
            else:
                assert old[at] == line.text
                at += 1
                if line.mark == " ":
                    new.append(line.text)
                    assert line.new == len(new)
    return new + old[at:]


def to_lines(content: bytes) -> list[str]:
    lines = content.split(b"\n")
    return [line.decode("utf-8", "replace").removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


LAWS = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

OPTIONS = [
    ("core.quotePath=true",),
    ("core.quotePath=false", "-U0"),
    ("core.quotePath=true", "--no-prefix", "-U1"),
    ("diff.suppressBlankEmpty=true", "--src-prefix=i/", "--dst-prefix=w/"),
    ("core.quotePath=false", "--binary", "--full-index", "-W"),
]


@LAWS
@given(trees(), st.sampled_from(OPTIONS), st.data())
def test_a_diff_says_what_git_says(
    repo: GitRepo, pair: tuple[dict[bytes, Entry], dict[bytes, Entry]], options: tuple[str, ...], data: st.DataObject
) -> None:
    before, after = pair
    old = repo.snapshot(before)
    new = repo.snapshot(after, [old])
    setting, *flags = options
    text = repo.git("-c", setting, "diff", "-M", *flags, old, new)
    found = parse_diff(text)

    def is_binary(path: bytes) -> bool:
        return any(b"\0" in tree[path].content for tree in (before, after))  # type: ignore[operator]

    assert sorted(rows(found), key=str) == sorted(raw_rows(repo, old, new, is_binary), key=str)
    for change in found.files:
        name, old_name = (
            path.encode("utf-8", "surrogateescape") for path in (change.path, change.old_path or change.path)
        )
        entries = [tree[path] for tree, path in ((before, old_name), (after, name)) if path in tree]
        modes = {entry.mode for entry in entries}
        if not change.binary and not (modes & {SUBMODULE} or len({mode[:3] for mode in modes}) > 1):
            sides = [
                to_lines(tree[path].content) if path in tree else []
                for tree, path in ((before, old_name), (after, name))
            ]  # type: ignore[arg-type]
            assert apply(change, sides[0]) == sides[1]
    cut = data.draw(st.integers(0, len(text)), label="cut")
    assert_cut_is_noticed(text[:cut], found)


def assert_cut_is_noticed(text: bytes, whole: ChangeSet) -> None:
    """A diff that is cut is an error, or an answer without what came after the cut, nothing else."""
    try:
        found = parse_diff(text)
    except UnreadableInput:
        return
    count = len(found.files)
    assert [change.path for change in found.files] == [change.path for change in whole.files[:count]]
    kept = max(count - 1, 0)
    assert found.files[:kept] == whole.files[:kept]
    if count:
        last, original = found.files[-1], whole.files[count - 1]
        assert last.old_path in (original.old_path, None)
        lines = [line for hunk in last.hunks or () for line in hunk.lines]
        expected = [line for hunk in original.hunks or () for line in hunk.lines][: len(lines)]
        assert lines[:-1] == expected[:-1]
        if lines:
            assert expected[-1].text.startswith(lines[-1].text.rstrip("\ufffd"))


@settings(LAWS, max_examples=200)
@given(st.binary(max_size=200), st.integers(0, 400))
@example(b"", 0)
def test_damage_is_an_error_or_an_answer(noise: bytes, place: int) -> None:
    """Whatever is put into a diff: no other exception, and never a path outside of the repository."""
    text = (GIT + "@@ -1,2 +1,2 @@ def f():\n a\n-b\n+c\n" + OTHERS["Subversion"][0]).encode()
    try:
        found = parse_diff(text[:place] + noise + text[place:])
    except UnreadableInput:
        return
    assert all(".." not in change.path.split("/") and not change.path.startswith("/") for change in found.files)


@settings(LAWS, max_examples=25)
@given(trees())
def test_a_range_says_what_git_says(repo: GitRepo, pair: tuple[dict[bytes, Entry], dict[bytes, Entry]]) -> None:
    before, after = pair
    old = repo.snapshot(before)
    new = repo.snapshot(after, [old])
    found = from_git(opened(repo), f"{old}..{new}")
    assert found.files == parse_diff(repo.git("diff", "-M", "-U0", old, new)).files
    assert found.reader is not None
    for change in found.files:
        for side, tree, path in ((Side.OLD, before, change.old_path or change.path), (Side.NEW, after, change.path)):
            entry = tree.get(path.encode("utf-8", "surrogateescape"))
            content = None if entry is None or entry.mode == SUBMODULE else entry.content
            assert found.reader.read(path, side) == content


@functools.cache
def opened(repo: GitRepo) -> Repository:
    return Repository(repo.path, environ=repo.environ)


# --- lists of paths ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"a\nb c\n", ["a", "b c"], id="lines"),
        pytest.param(b"a\n\n\nb", ["a", "b"], id="empty lines"),
        pytest.param(b"a\r\nb\r\n\r\n", ["a", "b"], id="CRLF"),
        pytest.param(b"\xef\xbb\xbfa\n", ["a"], id="byte order mark"),
        pytest.param(b'"na\\303\\257ve.txt"\n', ["na\u00efve.txt"], id="quoted"),
        pytest.param(b'"a\\tb\\n\\"c\\"\\\\d\\001"\n', ['a\tb\n"c"\\d\x01'], id="all escapes"),
        pytest.param("na\u00efve.txt\n".encode(), ["na\u00efve.txt"], id="UTF-8"),
        pytest.param(b"caf\xe9\n", ["caf\udce9"], id="not UTF-8"),
        pytest.param(b'"unfinished\n', ['"unfinished'], id="no closing quote"),
        pytest.param(b"M\tsrc/a.py\nA\tb\nD\tc\nT\td\n", ["src/a.py", "b", "c", "d"], id="name-status"),
        pytest.param(b'R087\told\t"new\\t"\nC100\tx\ty\n', ["new\t", "old", "y", "x"], id="name-status, two names"),
        pytest.param(b"M\nR100\n", ["M", "R100"], id="names like a status"),
        pytest.param(b"R100\ta\n", ["R100\ta"], id="a rename without its other name"),
    ],
)
def test_path_lists(data: bytes, expected: list[str]) -> None:
    assert read_path_list(data) == expected


def test_path_lists_with_nul() -> None:
    assert read_path_list(b'a\0"b"\0c\nd\0\0e\r\0', nul=True) == ["a", '"b"', "c\nd", "e\r"]
    assert read_path_list(b"a", nul=True) == ["a"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("text", "nul", "expected"),
    [
        ("src/a.py\r\n新/b.md\r\n", False, ["src/a.py", "新/b.md"]),
        ("R087\told\tnew\n", False, ["new", "old"]),
        ("src/a.py\0c\nd\0", True, ["src/a.py", "c\nd"]),
    ],
    ids=["lines", "name-status", "NULs"],
)
def test_path_lists_in_utf_16(text: str, nul: bool, expected: list[str], encoding: str) -> None:
    assert read_path_list(f"\ufeff{text}".encode(encoding), nul=nul) == expected


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"], ids=["little", "big"])
def test_names_that_begin_like_utf_16_are_paths(mark: bytes) -> None:
    name = mark.decode("utf-8", "surrogateescape")
    assert read_path_list(mark + b"ab\nc\n") == [f"{name}ab", "c"]
    assert read_path_list(mark + b"ab\0c\0", nul=True) == [f"{name}ab", "c"]


@pytest.mark.parametrize(("data", "nul", "remedy"), [(b"a\0b\0", False, "pass -z"), (b"a\nb\n", True, "drop -z")])
def test_path_lists_with_the_other_separator(data: bytes, nul: bool, remedy: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_path_list(data, nul=nul)
    assert raised.value.hint == remedy


@pytest.mark.parametrize(
    "data",
    [
        b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        b"--- x\t2026-01-01\n+++ x\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n",
        b"--- x\r\n+++ x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n",
        b"From 0123 Mon Sep 17 00:00:00 2001\nSubject: x\n\ndiff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
    ],
    ids=["git", "rename", "diff -u", "CRLF", "mail"],
)
def test_a_diff_is_no_path_list(data: bytes) -> None:
    with pytest.raises(UsageError, match="this is a diff") as error:
        from_path_list(data)
    assert "--diff -" in error.value.hint
    with pytest.raises(UsageError, match="this is a diff"):
        from_path_list(b"\xff\xfe" + data.decode().encode("utf-16-le"))


def test_names_like_the_marks_of_a_diff_are_paths() -> None:
    assert read_path_list(b"--- a\n+++ b\ndiff/--git\n@@ -1\n") == ["--- a", "+++ b", "diff/--git", "@@ -1"]


def test_path_lists_agree_with_git(diff: Diff, repo: GitRepo) -> None:
    before: Files = {"n\u00efve x": BODY, b"caf\xe9": "1\n", 'a"b': "1\n", "gone": "1\n"}
    after: Files = {"moved": BODY, b"caf\xe9": "2\n", 'a"b': Entry(EXECUTABLE, "1\n"), "\t": "1\n"}
    expected = parse_diff(diff(before, after))
    listing = from_path_list(repo.git("diff", "-M", "--name-status", "main~", "main"))
    known = {"mode": "modified"}
    assert rows(listing) == [(path, old, known.get(word, word)) for path, old, word in rows(expected)]
    names = [change.path for change in expected.files]
    assert [c.path for c in from_path_list(repo.git("diff", "-M", "--name-only", "main~", "main")).files] == names
    with_nul = repo.git("diff", "-M", "--name-only", "-z", "main~", "main")
    assert [c.path for c in from_path_list(with_nul, nul=True).files] == names


@pytest.mark.parametrize(
    ("given_path", "expected"),
    [
        ("a", "a"),
        ("./a", "a"),
        ("././a/./b", "a/b"),
        ("a//b", "a/b"),
        ("a/../b", "b"),
        ("src/", "src"),
        (".github/x", ".github/x"),
        ("..foo", "..foo"),
        ("a/..b", "a/..b"),
        (" a ", " a "),
        ("-x", "-x"),
        ("[id].ts", "[id].ts"),
        ("na\u00efve", "na\u00efve"),
        ('"q"', '"q"'),
    ],
)
def test_paths_as_arguments(given_path: str, expected: str) -> None:
    assert from_paths([given_path]) == ChangeSet(files=(FileChange(path=expected),))


def test_paths_given_twice_count_once() -> None:
    assert [change.path for change in from_paths(["b", "a", "./b", "x/../a"]).files] == ["b", "a"]


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", "..", ".", "./", "", "C:\\x", "D:/x", "\x1b/../.."]
)
def test_paths_outside_are_an_error_that_names_them(path: str) -> None:
    for find in (lambda: from_paths([path]), lambda: from_paths([path], top="/srv/repo")):
        with pytest.raises(UsageError) as raised:
            find()
        assert path.strip("\x1b") in raised.value.message.replace("\\\\", "\\")
        assert raised.value.message.isprintable()
        assert raised.value.hint


def test_absolute_paths_inside_of_the_repository(tmp_path: Path) -> None:
    top = tmp_path / "repo"
    (top / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(top)
    given_paths = [f"{top}/src/a.py", f"{tmp_path}/link/src/b.py", f"{top}/src/../c", "d"]
    found = from_paths(given_paths, top=str(top))
    assert [change.path for change in found.files] == ["src/a.py", "src/b.py", "c", "d"]
    for outside in (str(tmp_path), f"{tmp_path}/repository/x", str(top)):
        with pytest.raises(UsageError):
            from_paths([outside], top=str(top))


def test_a_backslash_is_no_separator_and_that_is_said() -> None:
    found = from_paths(["src\\a.py", "src/b\\c.py"])
    assert [change.path for change in found.files] == ["src\\a.py", "src/b\\c.py"]
    assert len(found.notes) == 1
    assert "src\\a.py" in found.notes[0].replace("\\\\", "\\")


def test_of_bare_paths_the_lines_are_not_known() -> None:
    assert from_paths(["a"]).files[0].hunks is None
    assert from_path_list(b"A\ta\n").files[0].hunks is None


@given(st.lists(NAMES.filter(lambda name: b"\0" not in name), max_size=5))
@settings(LAWS)
def test_paths_survive_a_list_byte_by_byte(names: list[bytes]) -> None:
    paths = read_path_list(b"".join(name + b"\0" for name in names), nul=True)
    assert [path.encode("utf-8", "surrogateescape") for path in paths] == names


# --- GitHub -----------------------------------------------------------------------------------


def test_files_as_github_lists_them() -> None:
    items = [
        {"filename": "m.py", "status": "modified", "changes": 2, "patch": "@@ -1 +1 @@ def f():\n-a\n+b"},
        {
            "filename": "new",
            "status": "added",
            "changes": 1,
            "patch": "@@ -0,0 +1 @@\n+b\n\\ No newline at end of file",
        },
        {"filename": "gone", "status": "removed", "changes": 1, "patch": "@@ -1 +0,0 @@\n-a"},
        {"filename": "b", "previous_filename": "a", "status": "renamed", "changes": 0},
        {"filename": "d", "previous_filename": "c", "status": "renamed", "changes": 2, "patch": "@@ -1 +1 @@\n-a\n+b"},
        {"filename": "f", "previous_filename": "e", "status": "renamed", "changes": 9999},
        {"filename": "h", "previous_filename": "g", "status": "copied", "changes": 0},
        {"filename": "large", "status": "modified", "changes": 9999},
        {"filename": "pic.png", "status": "added", "changes": 0},
        {"filename": "chmod", "status": "changed", "changes": 0},
        {"filename": "same", "status": "unchanged", "changes": 0},
        {"filename": "what", "status": "something new", "changes": 1},
    ]
    found = from_github_files(items, complete=True)
    assert rows(found) == [
        ("m.py", None, "modified"),
        ("new", None, "added"),
        ("gone", None, "deleted"),
        ("b", "a", "renamed"),
        ("d", "c", "renamed"),
        ("f", "e", "renamed"),
        ("h", "g", "copied"),
        ("large", None, "modified"),
        ("pic.png", None, "added"),
        ("chmod", None, "modified"),
        ("what", None, "unknown"),
    ]
    unknown = [change.path for change in found.files if change.hunks is None]
    assert unknown == ["f", "large", "pic.png", "chmod", "what"]
    assert changed_lines(found.files[0]) == ["-a", "+b"]
    assert found.files[0].hunks is not None
    assert found.files[0].hunks[0].heading == "def f():"
    assert (found.complete, found.notes) == (True, ())


def test_a_list_of_github_that_is_cut() -> None:
    found = from_github_files([{"filename": "a", "status": "added"}], complete=False)
    assert not found.complete
    assert "listed only 1;" in found.notes[0]


@pytest.mark.parametrize("patch", ["@@ -1,3 +1,3 @@\n a\n-b", "garbage", "@@ -1 +1 @@\n-a\n+b\nmore"])
def test_a_patch_of_github_that_is_unusable_leaves_the_lines_unknown(patch: str) -> None:
    found = from_github_files(
        [{"filename": "a\x1b", "status": "modified", "patch": patch}, {"filename": "b", "status": "added"}],
        complete=True,
    )
    assert rows(found) == [("a\x1b", None, "modified"), ("b", None, "added")]
    assert found.files[0].hunks is None
    assert len(found.notes) == 1
    assert found.notes[0].isprintable()


@pytest.mark.parametrize("item", [{}, {"filename": None}, {"filename": ""}, {"filename": 3}])
def test_an_entry_of_github_without_a_name_is_an_error(item: dict[str, object]) -> None:
    with pytest.raises(UnreadableInput, match="filename"):
        from_github_files([item], complete=True)
