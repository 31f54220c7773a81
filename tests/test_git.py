"""Git as rulebook runs it, on real repositories, the hostile ones included."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitrepo import EXECUTABLE, SUBMODULE, SYMLINK, Entry, GitRepo
from rulebook.errors import GitError
from rulebook.git.names import empty_tree, refuse_unsafe
from rulebook.git.repository import Repository

NOWHERE = "1234567890" * 4


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """Two commits: one file changed, one removed."""
    repo = GitRepo(tmp_path / "repo")
    repo.commit({"src/a.py": "x = 1\n", "old.md": "text\n"})
    repo.commit({"src/a.py": "x = 2\n", "old.md": None})
    return repo


def wrap_git(folder: Path, script: str) -> str:
    """A PATH on which ``git`` is a shell script; ``$GIT`` in it is the real one."""
    folder.mkdir()
    wrapper = folder / "git"
    wrapper.write_text(f"#!/bin/sh\nGIT={shutil.which('git')}\n{script}\n")
    wrapper.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


# --- finding repositories ---------------------------------------------------------------------


def test_discovers_the_repository_around_a_folder(repo: GitRepo, environ: dict[str, str]) -> None:
    found = Repository.discover(repo.path / "src", environ=environ)
    assert (found.git_dir, found.top) == (str(repo.path / ".git"), str(repo.path))
    assert found.resolve_commit("HEAD") == repo.id("HEAD")


def test_opens_a_bare_repository(repo: GitRepo, tmp_path: Path, environ: dict[str, str]) -> None:
    bare = repo.clone(tmp_path / "bare.git", "--bare")
    found = Repository(bare.path, environ=environ)
    assert (found.git_dir, found.top) == (str(bare.path), None)
    assert found.resolve_commit("main") == repo.id("main")


def test_opens_a_git_directory(repo: GitRepo, environ: dict[str, str]) -> None:
    found = Repository(repo.path / ".git", environ=environ)
    assert (found.git_dir, found.top) == (str(repo.path / ".git"), None)


def test_opens_a_linked_working_tree(repo: GitRepo, tmp_path: Path, environ: dict[str, str]) -> None:
    repo.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), "HEAD~")
    found = Repository.discover(tmp_path / "linked" / "src", environ=environ)
    assert found.top == str(tmp_path / "linked")
    assert found.resolve_commit("HEAD") == repo.id("HEAD~")


def test_opens_through_a_symbolic_link_and_with_odd_names(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = GitRepo(tmp_path / "na\u00efve: a\nb")
    repo.commit({"a": "1"})
    (tmp_path / "link").symlink_to(repo.path)
    found = Repository(tmp_path / "link", environ=environ)
    assert found.top == str(repo.path)
    assert found.list_tree("HEAD") == ("a",)


def test_a_folder_inside_of_a_repository_is_not_one(repo: GitRepo, environ: dict[str, str]) -> None:
    with pytest.raises(GitError, match=r"src is not a git repository, only a folder inside of one"):
        Repository(repo.path / "src", environ=environ)


@pytest.mark.parametrize("name", ["empty", "missing", "file"])
def test_no_repository(tmp_path: Path, environ: dict[str, str], name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(GitError, match=f"no git repository at .*{name}") as raised:
        Repository.discover(tmp_path / name, environ=environ)
    assert "\n" not in raised.value.message
    assert raised.value.hint


OTHER_OWNER = 'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec "$GIT" "$@"'


def test_a_repository_of_another_user_is_refused_with_the_remedy(
    repo: GitRepo, tmp_path: Path, environ: dict[str, str]
) -> None:
    environ["PATH"] = wrap_git(tmp_path / "bin", OTHER_OWNER)
    with pytest.raises(GitError, match="belongs to another user") as raised:
        Repository(repo.path, environ=environ)
    assert raised.value.hint.endswith(f"git config --global --add safe.directory {repo.path}")


def test_a_repository_of_another_user_that_the_user_trusts(
    repo: GitRepo, tmp_path: Path, environ: dict[str, str]
) -> None:
    environ["PATH"] = wrap_git(tmp_path / "bin", OTHER_OWNER)
    (tmp_path / "config").write_text(f'[safe]\n\tdirectory = "{repo.path}"\n')
    environ["GIT_CONFIG_GLOBAL"] = str(tmp_path / "config")
    assert Repository(repo.path, environ=environ).list_tree("HEAD") == ("src/a.py",)


def test_a_repository_cannot_declare_itself_safe(repo: GitRepo, tmp_path: Path, environ: dict[str, str]) -> None:
    repo.git("config", "safe.directory", "*")
    environ["PATH"] = wrap_git(tmp_path / "bin", OTHER_OWNER)
    with pytest.raises(GitError, match="belongs to another user"):
        Repository(repo.path, environ=environ)


# --- git itself -------------------------------------------------------------------------------


def test_git_is_not_installed(repo: GitRepo, tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(GitError, match="git is not installed") as raised:
        Repository(repo.path, environ={**environ, "PATH": str(tmp_path)})
    assert raised.value.hint


def test_git_is_not_taken_from_the_current_folder(
    repo: GitRepo, tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrap_git(tmp_path / "checkout", f'touch "{tmp_path}/ran"; exec "$GIT" "$@"')
    monkeypatch.chdir(tmp_path / "checkout")
    Repository(repo.path, environ={**environ, "PATH": f":.{os.pathsep}{os.environ['PATH']}"})
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("git version 2.24.4", r"version 2\.24\.4, and 2\.25 is needed"),
        ("git version 1.8.3.1", r"version 1\.8\.3\.1, and 2\.25 is needed"),
        ("hello", "does not say which version"),
    ],
)
def test_git_is_too_old(repo: GitRepo, tmp_path: Path, environ: dict[str, str], says: str, message: str) -> None:
    with pytest.raises(GitError, match=message):
        Repository(repo.path, environ={**environ, "PATH": wrap_git(tmp_path / "bin", f"echo '{says}'")})


@pytest.mark.parametrize("says", ["git version 2.39.5 (Apple Git-154)", "git version 2.53.0.rc1.windows.1"])
def test_versions_of_vendors_are_understood(repo: GitRepo, tmp_path: Path, environ: dict[str, str], says: str) -> None:
    script = f'[ "$1" = --version ] && {{ echo "{says}"; exit; }}; exec "$GIT" "$@"'
    assert Repository(repo.path, environ={**environ, "PATH": wrap_git(tmp_path / "bin", script)}).top


def test_a_command_that_hangs_is_stopped(repo: GitRepo, tmp_path: Path, environ: dict[str, str]) -> None:
    script = 'case "$*" in *ls-tree*) exec sleep 60;; esac; exec "$GIT" "$@"'
    found = Repository(repo.path, environ={**environ, "PATH": wrap_git(tmp_path / "bin", script)})
    with pytest.raises(GitError, match=r"longer than 0\.2 s"):
        found.run(["ls-tree", "HEAD"], timeout=0.2)


def test_works_where_the_current_folder_is_gone(
    repo: GitRepo, tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert Repository(repo.path, environ=environ).list_tree("HEAD") == ("src/a.py",)
    monkeypatch.chdir(tmp_path)


def test_only_known_commands_are_run(repo: GitRepo, environ: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="git push is not known to be safe"):
        Repository(repo.path, environ=environ).run(["push"])


def test_heavy_modules_are_imported_when_they_are_needed() -> None:
    script = (
        "import sys; import dataclasses, enum, re, typing; before = set(sys.modules);"
        "import rulebook.git.repository, rulebook.ranges, rulebook.changes, rulebook.symbols;"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('rulebook')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"bisect", "_bisect", "__future__"}


# --- revisions --------------------------------------------------------------------------------


def test_resolves_what_names_a_commit(repo: GitRepo, environ: dict[str, str]) -> None:
    repo.git("tag", "--annotate", "--message=first", "v1", "HEAD~")
    found = Repository(repo.path, environ=environ)
    first, second = repo.id("HEAD~"), repo.id("HEAD")
    revisions = ["HEAD", "main", "refs/heads/main", "v1", "HEAD~1", second[:10], first, "main@{0}"]
    assert [found.resolve_commit(revision) for revision in revisions] == [
        *(second, second, second, first, first, second, first, second)
    ]


@pytest.mark.parametrize(
    "revision",
    [
        "nope",
        NOWHERE,
        "HEAD~9",
        "HEAD:src/a.py",
        "HEAD^{tree}",
        "",
        "--all",
        "-1",
        "main\n",
        "ma\0in",
        "\x7f",
        "main --",
    ],
)
def test_what_names_no_commit_is_an_error(repo: GitRepo, environ: dict[str, str], revision: str) -> None:
    with pytest.raises(GitError) as raised:
        Repository(repo.path, environ=environ).resolve_commit(revision)
    assert raised.value.message.isprintable()


def test_an_ambiguous_id_is_said_to_be_one(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = GitRepo(tmp_path / "repo")
    commit = "commit refs/heads/main\ncommitter T <t@example.invalid> {} +0000\ndata 0\n\n"
    repo.git("fast-import", "--quiet", input="".join(commit.format(1767225600 + n) for n in range(1000)).encode())
    starts = [name[:4] for name in repo.git("rev-list", "main").decode().split()]
    # Among a thousand ids some begin alike; the dates are fixed, so always the same ones.
    ambiguous = next(start for start in starts if starts.count(start) > 1)
    with pytest.raises(GitError, match="is ambiguous") as raised:
        Repository(repo.path, environ=environ).resolve_commit(ambiguous)
    assert raised.value.hint


@pytest.mark.parametrize("value", ["", "-x", "--upload-pack=touch x", "a\nb", "a\0b", "\x1b[31m", "a\x7f"])
def test_refuses_what_git_could_misread(value: str) -> None:
    with pytest.raises(GitError):
        refuse_unsafe(value, "URL")


@pytest.mark.parametrize("value", ["main", "a b", "na\u00efve", "https://example.invalid/x.git", "x-y", "[id].tsx"])
def test_lets_pass_what_is_harmless(value: str) -> None:
    assert refuse_unsafe(value, "URL") == value


@pytest.fixture
def forked(tmp_path: Path) -> tuple[GitRepo, str, str, str]:
    """A repository with two branches, and the ids of their common ancestor and their tips."""
    repo = GitRepo(tmp_path / "forked")
    base = repo.snapshot({"a": "1"}, [repo.snapshot({"a": "0"})])
    left = repo.snapshot({"a": "1", "b": "2"}, [base])
    right = repo.snapshot({"a": "1", "c": "3"}, [base], branch="topic")
    return repo, base, left, right


def test_merge_base(forked: tuple[GitRepo, str, str, str], environ: dict[str, str]) -> None:
    repo, base, left, right = forked
    assert Repository(repo.path, environ=environ).merge_base(left, right) == base


def test_unrelated_histories_have_no_merge_base(forked: tuple[GitRepo, str, str, str], environ: dict[str, str]) -> None:
    repo, _, left, _ = forked
    other = repo.snapshot({"z": "0"}, branch="other")
    with pytest.raises(GitError, match="no common ancestor") as raised:
        Repository(repo.path, environ=environ).merge_base(left, other)
    assert "'..'" in raised.value.hint


def test_a_shallow_clone_that_lacks_the_merge_base_says_so(
    forked: tuple[GitRepo, str, str, str], tmp_path: Path, environ: dict[str, str]
) -> None:
    repo, _, left, right = forked
    shallow = Repository(repo.clone(tmp_path / "shallow", "--depth=1", "--no-single-branch").path, environ=environ)
    assert shallow.is_shallow()
    with pytest.raises(GitError, match="shallow clone and lacks the merge base") as raised:
        shallow.merge_base(left, right)
    assert "--unshallow" in raised.value.hint


def test_first_parent(forked: tuple[GitRepo, str, str, str], environ: dict[str, str]) -> None:
    repo, base, left, right = forked
    merge = repo.snapshot({"a": "1"}, [left, right], message="parent 0000\n\nparent 1111")
    found = Repository(repo.path, environ=environ)
    assert found.first_parent(merge) == left
    assert found.first_parent(right) == base
    assert found.first_parent(found.resolve_commit(f"{base}~")) is None


def test_a_parent_that_was_cut_off_is_no_root(
    forked: tuple[GitRepo, str, str, str], tmp_path: Path, environ: dict[str, str]
) -> None:
    repo, _, left, _ = forked
    shallow = Repository(repo.clone(tmp_path / "shallow", "--depth=1").path, environ=environ)
    with pytest.raises(GitError, match="has no commit") as raised:
        shallow.first_parent(left)
    assert "--unshallow" in raised.value.hint


# --- what a repository says about itself ------------------------------------------------------


def test_remote_urls(repo: GitRepo, environ: dict[str, str]) -> None:
    found = Repository(repo.path, environ=environ)
    assert found.remote_urls() == ()
    repo.git("remote", "add", "fork", "git@example.invalid:me/x.git")
    repo.git("remote", "add", "origin", "https://user:secret@example.invalid/x.git")
    repo.git("config", "--add", "remote.origin.url", "https://token@example.invalid/y@z.git")
    repo.git("config", "remote.origin.pushurl", "https://example.invalid/elsewhere.git")
    assert found.remote_urls() == (
        "https://example.invalid/x.git",
        "https://example.invalid/y@z.git",
        "git@example.invalid:me/x.git",
    )


def test_kinds_of_clones(repo: GitRepo, tmp_path: Path, environ: dict[str, str]) -> None:
    shallow = Repository(repo.clone(tmp_path / "shallow", "--depth=1").path, environ=environ)
    partial = Repository(repo.clone(tmp_path / "partial", "--bare", "--filter=blob:none").path, environ=environ)
    whole = Repository(repo.path, environ=environ)
    assert [(clone.is_shallow(), clone.is_partial()) for clone in (whole, shallow, partial)] == [
        (False, False),
        (True, False),
        (False, True),
    ]


# --- contents ---------------------------------------------------------------------------------

ODD_NAMES = [
    b"-x",
    b":x",
    b"[id].ts",
    b"a b",
    b"a\nb",
    b"a\tb",
    b'"q"',
    b"back\\slash",
    b"caf\xe9",
    "na\u00efve".encode(),
    b"sub/ dir/*",
]


def test_lists_a_tree_with_odd_names(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = GitRepo(tmp_path / "repo")
    inner = repo.snapshot({"x": "1"})
    head = repo.snapshot({**dict.fromkeys(ODD_NAMES, "1"), "lib": Entry(SUBMODULE, inner), "to": Entry(SYMLINK, "a b")})
    found = Repository(repo.path, environ=environ)
    assert sorted(os.fsencode(name) for name in found.list_tree(head)) == sorted([*ODD_NAMES, b"lib", b"to"])
    with pytest.raises(GitError):
        found.list_tree("nope")


CONTENTS = [b"", b"\n", b"one\n", b"no end", b"\0binary\n\xff", b"dead blob 3\nabc\n", b"x" * 300_000]


def test_reads_many_blobs(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = GitRepo(tmp_path / "repo")
    head = repo.snapshot({f"d/{number} x": content for number, content in enumerate(CONTENTS)})
    found = Repository(repo.path, environ=environ)
    names = [f"{head}:d/{number} x" for number in range(len(CONTENTS))]
    ids = [repo.id(name) for name in names]
    other = [f"{head}:nope", f"{head}:d", head, NOWHERE, "nope:x", f"{head}:d/0 x missing"]
    blobs = found.read_blobs([*names, *other, *ids, *names])
    assert [blobs[name] for name in names] == CONTENTS
    assert [blobs[name] for name in ids] == CONTENTS
    assert [blobs[name] for name in other] == [None] * len(other)
    with found.open_blobs() as reader:
        assert [reader.read(name) for name in [*names, *other, *ids]] == [*CONTENTS, *[None] * len(other), *CONTENTS]


@pytest.mark.parametrize("name", ["", "-x", "HEAD:a\nHEAD:b"])
def test_names_that_would_be_read_as_something_else_are_refused(
    repo: GitRepo, environ: dict[str, str], name: str
) -> None:
    found = Repository(repo.path, environ=environ)
    with pytest.raises(GitError):
        found.read_blobs([name])
    with found.open_blobs() as reader, pytest.raises(GitError):
        reader.read(name)


def test_a_reader_uses_one_process_and_leaves_none_behind(repo: GitRepo, environ: dict[str, str]) -> None:
    reader = Repository(repo.path, environ=environ).open_blobs()
    assert reader._process is None
    reader.read("HEAD:src/a.py")
    process = reader._process
    assert process is not None
    assert reader.read("HEAD~:src/a.py") == b"x = 1\n"
    assert reader._process is process
    del reader
    gc.collect()  # A process or a pipe that is left open is a ResourceWarning, and that an error.
    assert process.returncode is not None


def test_a_closed_reader_starts_again(repo: GitRepo, environ: dict[str, str]) -> None:
    reader = Repository(repo.path, environ=environ).open_blobs()
    reader.close()
    assert reader.read("HEAD:src/a.py") == b"x = 2\n"
    reader.close()
    assert reader.read("HEAD:src/a.py") == b"x = 2\n"
    reader.close()


def test_a_damaged_object_is_not_passed_off_as_a_missing_one(repo: GitRepo, environ: dict[str, str]) -> None:
    name = repo.id("HEAD:src/a.py")
    place = repo.path / ".git" / "objects" / name[:2] / name[2:]
    place.chmod(0o644)
    place.write_bytes(b"damage")
    found = Repository(repo.path, environ=environ)
    assert found.read_blobs([name, "HEAD~:src/a.py"]) == {name: None, "HEAD~:src/a.py": b"x = 1\n"}
    for ask in (lambda: found.find_missing([name]), lambda: found.diff(repo.id("HEAD~"), repo.id("HEAD"))):
        with pytest.raises(GitError) as raised:
            ask()
        assert "git fsck" in raised.value.hint


def test_a_partial_clone_does_not_fetch(repo: GitRepo, tmp_path: Path, environ: dict[str, str]) -> None:
    repo.commit({"big.txt": "line\n" * 500})
    clone = repo.clone(tmp_path / "partial", "--bare", "--filter=blob:limit=1k")
    found = Repository(clone.path, environ=environ)
    big, small = repo.id("HEAD:big.txt"), repo.id("HEAD:src/a.py")
    assert found.find_missing([big, small, NOWHERE]) == {big, NOWHERE}
    names = [big, "main:big.txt", small, NOWHERE, "main:src/a.py"]
    expected = [None, None, b"x = 2\n", None, b"x = 2\n"]
    assert list(found.read_blobs(names).values()) == expected
    with found.open_blobs() as reader:
        assert [reader.read(name) for name in names] == expected
    assert found.find_missing([big]) == {big}


def test_nothing_is_missing_in_a_whole_clone(repo: GitRepo, environ: dict[str, str]) -> None:
    ids = [repo.id("HEAD:src/a.py"), repo.id("HEAD~:old.md")]
    found = Repository(repo.path, environ=environ)
    assert found.find_missing(ids) == set()
    assert found.find_missing([]) == set()


def test_replacement_objects_are_not_followed(repo: GitRepo, environ: dict[str, str]) -> None:
    new, old = repo.id("HEAD:src/a.py"), repo.id("HEAD~:src/a.py")
    repo.git("replace", new, old)
    assert repo.git("cat-file", "blob", new) == b"x = 1\n"
    assert Repository(repo.path, environ=environ).read_blobs([new]) == {new: b"x = 2\n"}


def test_a_repository_of_sha256_ids(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = GitRepo(tmp_path / "repo", object_format="sha256")
    head = repo.commit({"a": "1\n"})
    found = Repository(repo.path, environ=environ)
    assert len(head) == 64
    assert found.resolve_commit("main") == head
    assert found.read_blobs([repo.id("main:a")]).popitem()[1] == b"1\n"
    assert found.diff(empty_tree(head), head).endswith(b"+1\n")


# --- comparing --------------------------------------------------------------------------------


def test_a_diff_does_not_depend_on_attributes(repo: GitRepo, environ: dict[str, str]) -> None:
    found = Repository(repo.path, environ=environ)
    expected = found.diff(repo.id("HEAD~"), repo.id("HEAD"))
    assert b"+x = 2\n" in expected
    repo.commit({".gitattributes": "*.py binary\n", "src/.gitattributes": "*.py -diff\n"})
    assert b"Binary files" in repo.git("diff", "HEAD~2", "HEAD~")
    assert found.diff(repo.id("HEAD~2"), repo.id("HEAD~")) == expected


NOISE = {
    "color.ui": "always",
    "core.quotePath": "false",
    "diff.algorithm": "patience",
    "diff.colorMoved": "zebra",
    "diff.context": "9",
    "diff.ignoreSubmodules": "all",
    "diff.interHunkContext": "9",
    "diff.mnemonicPrefix": "true",
    "diff.noprefix": "true",
    "diff.orderFile": "/dev/null",
    "diff.relative": "true",
    "diff.renameLimit": "1",
    "diff.renames": "false",
    "diff.submodule": "log",
    "diff.suppressBlankEmpty": "true",
    "diff.wordRegex": ".",
    "diff.wsErrorHighlight": "all",
    "submodule.lib.ignore": "all",
}


def test_a_diff_does_not_depend_on_configuration(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = GitRepo(tmp_path / "repo")
    body = "".join(f"line {number}\n" for number in range(40))
    first = repo.snapshot({"na\u00efve": body, "x": "\n\na\n", "lib": Entry(SUBMODULE, NOWHERE), "m": "1", "n": "2"})
    second = repo.snapshot(
        {
            "d/moved": body + "end\n",
            "x": "\n\nb\n",
            "lib": Entry(SUBMODULE, NOWHERE[::-1]),
            "m": Entry(EXECUTABLE, "1"),
        },
        [first],
    )
    found = Repository(repo.path, environ=environ)
    expected = found.diff(first, second)
    for name, value in NOISE.items():
        repo.git("config", name, value)
    assert found.diff(first, second) == expected
    assert b"rename from" in expected
    assert b"Subproject commit" in expected
    assert b"\x1b" not in expected


def test_a_diff_leaves_out_what_it_is_told_to(repo: GitRepo, environ: dict[str, str]) -> None:
    repo.commit({"[x]": "1\n", "x": "1\n", ":y": "1\n"})
    found = Repository(repo.path, environ=environ)
    assert found.diff(repo.id("HEAD~"), repo.id("HEAD"), content=False, exclude=["[x]", ":y"]).endswith(b"A\0x\0")


# --- hostile surroundings ---------------------------------------------------------------------


def test_the_inherited_environment_does_not_leak(repo: GitRepo, tmp_path: Path, environ: dict[str, str]) -> None:
    other = GitRepo(tmp_path / "other")
    other.commit({"z": "1"})
    expected = Repository(repo.path, environ=environ).diff(repo.id("HEAD~"), repo.id("HEAD"))
    environ |= {
        "GIT_DIR": str(other.path / ".git"),
        "GIT_WORK_TREE": str(other.path),
        "GIT_OBJECT_DIRECTORY": str(other.path / ".git" / "objects"),
        "GIT_INDEX_FILE": "nothing",
        "GIT_NAMESPACE": "x",
        "GIT_EXTERNAL_DIFF": f"touch {tmp_path}/ran",
        "GIT_DIFF_OPTS": "--unified=9",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "diff.external",
        "GIT_CONFIG_VALUE_0": f"touch {tmp_path}/ran",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_GLOB_PATHSPECS": "1",
        "LC_ALL": "de_DE.UTF-8",
        "PAGER": f"touch {tmp_path}/ran",
    }
    found = Repository.discover(repo.path / "src", environ=environ)
    assert found.top == str(repo.path)
    assert found.diff(repo.id("HEAD~"), repo.id("HEAD")) == expected
    assert found.list_tree("HEAD") == ("src/a.py",)
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "trace").exists()


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[GitRepo, Path]:
    """A repository whose configuration runs a program wherever it can, and what that leaves behind."""
    repo = GitRepo(tmp_path / "hostile")
    repo.commit({"src/a.py": "x = 1\n", ".gitattributes": "* diff=evil filter=evil merge=evil\n"})
    repo.commit({"src/a.py": "x = 2\n"})
    trace = tmp_path / "ran"
    evil = tmp_path / "evil"
    evil.write_text(f'#!/bin/sh\necho "$0 $*" >> "{trace}"\n')
    evil.chmod(0o755)
    hooks = repo.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(evil, hooks / hook)
    programs = [
        *("core.askPass", "core.editor", "core.fsmonitor", "core.gitProxy", "core.pager", "core.sshCommand"),
        *("core.alternateRefsCommand", "credential.helper", "diff.evil.command", "diff.evil.textconv", "diff.external"),
        *("filter.evil.clean", "filter.evil.process", "filter.evil.smudge", "gpg.program", "gpg.ssh.program"),
        *("interactive.diffFilter", "merge.evil.driver", "pager.cat-file", "pager.config", "pager.diff-tree"),
        *("pager.ls-tree", "remote.origin.uploadpack", "remote.origin.receivepack", "sequence.editor"),
        *("uploadpack.packObjectsHook",),
    ]
    settings = {name: str(evil) for name in programs}
    for command in ("cat-file", "config", "diff-tree", "ls-tree", "merge-base", "rev-list", "rev-parse"):
        settings[f"alias.{command}"] = f"!{evil}"
    settings |= {
        "core.hooksPath": str(hooks),
        "core.repositoryFormatVersion": "1",
        "diff.evil.cachetextconv": "true",
        "extensions.partialClone": "origin",
        "filter.evil.required": "true",
        "log.showSignature": "true",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{evil} %S",
        "safe.bareRepository": "all",
    }
    included = tmp_path / "included"
    for name, value in settings.items():
        repo.git("config", "--file", str(included), name, value)
        repo.git("config", name, value, GIT_CONFIG_COUNT="0")
    repo.git("config", "include.path", str(included))
    trace.unlink(missing_ok=True)
    return repo, trace


def everything(repo: GitRepo, environ: dict[str, str]) -> None:
    """Ask everything that can be asked, for things that are there and things that are not."""
    found = Repository.discover(repo.path / "src", environ=environ)
    head, base = found.resolve_commit("HEAD"), found.resolve_commit("HEAD~")
    found.merge_base(head, base)
    found.first_parent(head)
    found.remote_urls()
    found.is_shallow()
    found.list_tree(head)
    found.diff(base, head)
    found.diff(base, head, content=False)
    found.find_missing([NOWHERE])
    found.read_blobs([f"{head}:src/a.py", NOWHERE, f"{head}:nope"])
    with found.open_blobs() as reader:
        reader.read(f"{head}:src/a.py")
        reader.read(NOWHERE)
    for revision in (NOWHERE, "nope"):
        with pytest.raises(GitError):
            found.resolve_commit(revision)


def lose_an_object(repo: GitRepo) -> None:
    """Make an object one that the repository's remote has promised, and remove it."""
    name = repo.id("HEAD:src/a.py")
    pack = repo.path / ".git" / "objects" / "pack"
    repo.git(
        "pack-objects", "--quiet", str(pack / "pack"), input=f"{repo.id('HEAD')}\n{repo.id('HEAD^{tree}')}\n".encode()
    )
    for place in pack.glob("*.pack"):
        place.with_suffix(".promisor").touch()
    tree = repo.id("HEAD:src")
    repo.git("pack-objects", "--quiet", str(pack / "tree"), input=f"{tree}\n".encode())
    for place in pack.glob("tree*.pack"):
        place.with_suffix(".promisor").touch()
    (repo.path / ".git" / "objects" / name[:2] / name[2:]).unlink()


def test_a_hostile_repository_runs_nothing(hostile: tuple[GitRepo, Path], environ: dict[str, str]) -> None:
    repo, trace = hostile
    everything(repo, environ)
    assert not trace.exists(), trace.read_text()


@pytest.mark.parametrize(
    "script", ['exec "$GIT" "$@"', 'unset GIT_NO_LAZY_FETCH; exec "$GIT" "$@"'], ids=["now", "old"]
)
def test_a_hostile_repository_that_lacks_an_object_runs_nothing(
    hostile: tuple[GitRepo, Path], tmp_path: Path, environ: dict[str, str], script: str
) -> None:
    """``old``: as a git that does not know GIT_NO_LAZY_FETCH yet."""
    repo, trace = hostile
    name = repo.id("HEAD:src/a.py")
    lose_an_object(repo)
    environ["PATH"] = wrap_git(tmp_path / "bin", script)
    found = Repository(repo.path, environ=environ)
    assert found.find_missing([name]) == {name}
    assert found.read_blobs([name, "HEAD:src/a.py", "HEAD~:src/a.py"]) == {
        name: None,
        "HEAD:src/a.py": None,
        "HEAD~:src/a.py": b"x = 1\n",
    }
    with pytest.raises(GitError):
        found.diff(repo.id("HEAD~"), repo.id("HEAD"))
    assert not trace.exists(), trace.read_text()


@pytest.mark.parametrize(
    "args",
    [("diff", "HEAD~", "HEAD"), ("show", "--textconv", "HEAD:src/a.py"), ("add", "--renormalize", "."), ("status",)],
    ids=lambda args: args[0],
)
def test_the_hostile_repository_is_one(
    hostile: tuple[GitRepo, Path], args: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    """What git does there by itself; otherwise the tests above would show nothing."""
    repo, trace = hostile
    subprocess.run(["git", "-C", str(repo.path), *args], env=repo.environ, capture_output=True, check=False)
    assert trace.exists()


def test_the_hostile_repository_fetches_by_a_program(hostile: tuple[GitRepo, Path], environ: dict[str, str]) -> None:
    repo, trace = hostile
    name = repo.id("HEAD:src/a.py")
    lose_an_object(repo)
    subprocess.run(["git", "-C", str(repo.path), "cat-file", "-p", name], env=environ, capture_output=True, check=False)
    assert trace.exists()
