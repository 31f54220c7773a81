"""What changed between two commits, in whole clones and in those that lack something."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from gitrepo import SUBMODULE, Entry, GitRepo
from rulebook.errors import GitError, UsageError
from rulebook.git.repository import Repository
from rulebook.model import ChangeStatus, FileChange, Side
from rulebook.ranges import from_git
from test_changes import BODY, COMMIT, changed_lines, rows


@pytest.fixture
def forked(tmp_path: Path) -> tuple[GitRepo, str, str, str]:
    """A repository with two branches, and the ids of their common ancestor and their tips."""
    repo = GitRepo(tmp_path / "forked")
    base = repo.snapshot({"a": "1\n", "b": "1\n"}, [repo.snapshot({"a": "0\n"})])
    main = repo.snapshot({"a": "2\n", "b": "1\n"}, [base])
    topic = repo.snapshot({"a": "1\n", "b": "2\n"}, [base], branch="topic")
    return repo, base, main, topic


@pytest.mark.parametrize(
    ("text", "sides", "paths"),
    [
        ("main..topic", ("main", "topic"), ["a", "b"]),
        ("main...topic", ("base", "topic"), ["b"]),
        ("topic...main", ("base", "main"), ["a"]),
        ("..topic", ("main", "topic"), ["a", "b"]),
        ("topic..", ("topic", "main"), ["a", "b"]),
        ("topic...", ("base", "main"), ["a"]),
        ("main~..main", ("base", "main"), ["a"]),
        ("main..main", ("main", "main"), []),
        ("topic", ("base", "topic"), ["b"]),
        ("HEAD", ("base", "main"), ["a"]),
    ],
)
def test_ranges(
    forked: tuple[GitRepo, str, str, str], environ: dict[str, str], text: str, sides: tuple[str, str], paths: list[str]
) -> None:
    repo, base, main, topic = forked
    ids = {"base": base, "main": main, "topic": topic}
    found = from_git(Repository(repo.path, environ=environ), text)
    assert [change.path for change in found.files] == paths
    assert (found.base, found.head) == (ids[sides[0]], ids[sides[1]])
    assert found.complete
    assert bool(found.notes) == (".." not in text)


def test_one_commit_is_compared_with_its_first_parent(
    forked: tuple[GitRepo, str, str, str], environ: dict[str, str]
) -> None:
    repo, _, main, topic = forked
    merge = repo.snapshot({"a": "2\n", "b": "2\n"}, [main, topic])
    found = from_git(Repository(repo.path, environ=environ), merge)
    assert (rows(found), found.base, found.notes) == ([("b", None, "modified")], main, ())


def test_a_root_commit_is_compared_with_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "root")
    root = repo.snapshot({"a": "1\n", "b": ""})
    found = from_git(Repository(repo.path, environ=environ), root)
    assert (rows(found), found.base) == ([("a", None, "added"), ("b", None, "added")], "")
    assert found.reader is not None
    assert found.reader.read("a", Side.OLD) is None
    assert found.reader.read("other", Side.OLD) is None
    assert found.reader.read("a", Side.NEW) == b"1\n"


@pytest.mark.parametrize("text", ["", "..", "..."])
def test_a_range_that_names_nothing(forked: tuple[GitRepo, str, str, str], environ: dict[str, str], text: str) -> None:
    with pytest.raises(UsageError, match="names no commits"):
        from_git(Repository(forked[0].path, environ=environ), text)


@pytest.mark.parametrize(
    "text", ["nope", "main..nope", "nope...main", "--all", "-p..main", "main..main^{tree}", COMMIT]
)
def test_a_range_that_does_not_exist(forked: tuple[GitRepo, str, str, str], environ: dict[str, str], text: str) -> None:
    with pytest.raises(GitError):
        from_git(Repository(forked[0].path, environ=environ), text)


def test_a_shallow_clone_that_lacks_the_merge_base_is_an_error(
    forked: tuple[GitRepo, str, str, str], tmp_path: Path, environ: dict[str, str]
) -> None:
    clone = forked[0].clone(tmp_path / "shallow", "--depth=1", "--no-single-branch", "--bare")
    shallow = Repository(clone.path, environ=environ)
    with pytest.raises(GitError, match="shallow") as raised:
        from_git(shallow, "main...topic")
    assert "--unshallow" in raised.value.hint
    with pytest.raises(GitError) as raised:
        from_git(shallow, "main")
    assert "--unshallow" in raised.value.hint
    assert [change.path for change in from_git(shallow, "main..topic").files] == ["a", "b"]


def test_a_partial_clone_answers_by_path_what_it_lacks(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = GitRepo(tmp_path / "whole")
    big = BODY * 9
    old = repo.snapshot({"moved": big, "edited": big, "small": "1\n", "odd [x]": big, "lib": Entry(SUBMODULE, COMMIT)})
    new = repo.snapshot({"new/moved": big, "edited": big + "x\n", "small": "2\n", "odd [x]": big + "y\n"}, [old])
    whole = from_git(Repository(repo.path, environ=environ), f"{old}..{new}")
    clone = repo.clone(tmp_path / "partial", "--bare", "--filter=blob:limit=1k")
    found = from_git(Repository(clone.path, environ=environ), f"{old}..{new}")
    assert sorted(rows(found)) == sorted(rows(whole))
    by_path = {change.path: change for change in found.files}
    assert by_path["edited"].hunks is None
    assert by_path["odd [x]"].hunks is None
    assert by_path["new/moved"].hunks == ()
    assert changed_lines(by_path["small"]) == ["-1", "+2"]
    assert len(found.notes) == 1
    assert "edited" in found.notes[0]
    assert found.reader is not None
    assert found.reader.read("edited", Side.NEW) is None
    assert found.reader.read("small", Side.NEW) == b"2\n"


def test_a_clone_without_any_content_answers_by_path(
    forked: tuple[GitRepo, str, str, str], tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = Repository(forked[0].clone(tmp_path / "p", "--bare", "--filter=blob:none").path, environ=environ)
    expected = [FileChange(path=path, status=ChangeStatus.MODIFIED) for path in ("a", "b")]
    assert list(from_git(clone, "main..topic").files) == expected
    # As where there are too many to name on a command line.
    monkeypatch.setattr("rulebook.ranges._MAX_ARGUMENTS", 1)
    assert list(from_git(clone, "main..topic").files) == expected


def test_renames_that_were_not_looked_for_are_said(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rulebook.git.repository.RENAME_LIMIT", 2)
    monkeypatch.setattr("rulebook.ranges.RENAME_LIMIT", 2)
    repo = GitRepo(tmp_path / "many")
    old = repo.snapshot({f"old/{n}": f"{n}\n{BODY}" for n in range(3)})
    new = repo.snapshot({f"new/x{n}": f"{n}\n{BODY}end\n" for n in range(3)}, [old])
    found = from_git(Repository(repo.path, environ=environ), f"{old}..{new}")
    assert {change.status for change in found.files} == {ChangeStatus.ADDED, ChangeStatus.DELETED}
    assert "renames among them were not looked for" in found.notes[0]


def test_the_reader_uses_one_process_and_leaves_none(
    forked: tuple[GitRepo, str, str, str], environ: dict[str, str]
) -> None:
    found = from_git(Repository(forked[0].path, environ=environ), "main..topic")
    reader = found.reader
    assert reader is not None
    assert reader.read("a", Side.OLD) == b"2\n"
    assert reader.read("a", Side.BOTH) == b"1\n"
    assert reader.read("not/changed", Side.NEW) is None
    del reader, found
    gc.collect()  # A process that is left is a ResourceWarning, and that an error.
