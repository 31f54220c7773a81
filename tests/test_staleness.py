"""Pins against real repositories: every state, and what must never read fresh."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gitrepo import EXECUTABLE, SUBMODULE, SYMLINK, Entry, GitRepo
from rulebook.errors import GitError
from rulebook.evidence import text_digest
from rulebook.git.repository import Repository
from rulebook.model import Source
from rulebook.pins import Pin
from rulebook.staleness import Checker
from rulebook.verdicts import Detail, State, Verdict, read_pin

MODULE = '''\
"""A module."""

LIMIT = 10


class Connector:
    """Connects."""

    def open(self, address, *, retries=3):
        for _ in range(retries):
            if self.dial(address):
                return True
        return False

    def close(self):
        self.socket.shutdown()
        self.socket = None


def register(name, loader):
    if name in REGISTRY:
        raise ValueError(name)
    REGISTRY[name] = loader
    return loader
'''
REGISTER = MODULE[MODULE.index("def register") :]
CONNECTOR = MODULE[MODULE.index("class Connector") : MODULE.index("def register")].rstrip() + "\n"


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "target")


def check(repo: GitRepo, commit: str, path: str, anchor: str = "", seen: Mapping[str, str] | None = None) -> Verdict:
    """The verdict on one pin, checked in the repository itself."""
    text = f"target@{commit}:{path}" + (f"#{anchor}" if anchor else "")
    source = Source(pin=text, seen=seen or {})
    pin = read_pin(source)
    if isinstance(pin, Verdict):
        return pin
    with Checker(Repository(repo.path, environ=repo.environ), "main") as checker:
        [verdict] = checker.check([(pin, source.seen)])
    return verdict


def place(verdict: Verdict) -> str:
    """Where the pinned thing stands now."""
    assert verdict.now is not None
    return verdict.now.path + (f"#{verdict.now.anchor}" if verdict.now.anchor else "")


# --- one edit, one verdict --------------------------------------------------------------------

EDITS: dict[str, tuple[str, str, Mapping[str, str | None], State, Detail | None, str]] = {
    # name: pinned path, anchor, what the next commit changes, state, detail, place
    "file: nothing": ("a.py", "", {"b.py": "x = 1\n"}, State.FRESH, None, "a.py"),
    "file: edited": ("a.py", "", {"a.py": MODULE + "x = 1\n"}, State.CHANGED, Detail.BODY, "a.py"),
    "file: line endings": ("a.py", "", {"a.py": MODULE.replace("\n", "\r\n")}, State.FRESH, None, "a.py"),
    "file: renamed": ("a.py", "", {"a.py": None, "lib/b.py": MODULE}, State.MOVED, None, "lib/b.py"),
    "file: renamed and edited": (
        "a.py",
        "",
        {"a.py": None, "lib/b.py": MODULE + "x = 1\n"},
        State.MOVED,
        Detail.BODY,
        "lib/b.py",
    ),
    "file: removed": ("a.py", "", {"a.py": None}, State.GONE, None, ""),
    "file: replaced by another": (
        "a.py",
        "",
        {"a.py": None, "b.py": "completely = 'different'\n"},
        State.GONE,
        None,
        "",
    ),
    "symbol: nothing": ("a.py", "register", {"b.py": "x = 1\n"}, State.FRESH, None, "a.py#register"),
    "symbol: edited elsewhere": (
        "a.py",
        "register",
        {"a.py": MODULE.replace("LIMIT = 10", "LIMIT = 11\nMORE = 1")},
        State.FRESH,
        Detail.ELSEWHERE,
        "a.py#register",
    ),
    "symbol: line endings": (
        "a.py",
        "Connector.close",
        {"a.py": MODULE.replace("\n", "\r\n")},
        State.FRESH,
        Detail.ELSEWHERE,
        "a.py#Connector.close",
    ),
    "symbol: body": (
        "a.py",
        "register",
        {"a.py": MODULE.replace("raise ValueError(name)", "return None")},
        State.CHANGED,
        Detail.BODY,
        "a.py#register",
    ),
    "symbol: signature": (
        "a.py",
        "Connector.open",
        {"a.py": MODULE.replace("retries=3", "retries=5")},
        State.CHANGED,
        Detail.SIGNATURE,
        "a.py#Connector.open",
    ),
    "symbol: a decorator is part of the signature": (
        "a.py",
        "register",
        {"a.py": MODULE.replace("def register", "@cache\ndef register")},
        State.CHANGED,
        Detail.SIGNATURE,
        "a.py#register",
    ),
    "symbol: layout of the signature is body": (
        "a.py",
        "register",
        {"a.py": MODULE.replace("(name, loader):", "(\n    name,\n    loader,\n):")},
        State.CHANGED,
        Detail.BODY,
        "a.py#register",
    ),
    "symbol: file renamed": (
        "a.py",
        "register",
        {"a.py": None, "lib/b.py": MODULE},
        State.MOVED,
        None,
        "lib/b.py#register",
    ),
    "symbol: file renamed, body edited": (
        "a.py",
        "register",
        {"a.py": None, "lib/b.py": MODULE.replace("raise ValueError(name)", "return None")},
        State.MOVED,
        Detail.BODY,
        "lib/b.py#register",
    ),
    "symbol: moved to another file": (
        "a.py",
        "register",
        {"a.py": MODULE.replace(REGISTER, ""), "registry.py": "REGISTRY = {}\n\n\n" + REGISTER},
        State.MOVED,
        None,
        "registry.py#register",
    ),
    "symbol: moved into a class": (
        "a.py",
        "register",
        {
            "a.py": MODULE.replace(REGISTER, ""),
            "registry.py": "class Registry:\n" + "".join(f"    {line}\n" for line in REGISTER.splitlines()),
        },
        State.MOVED,
        None,
        "registry.py#Registry.register",
    ),
    "symbol: moved and edited": (
        "a.py",
        "Connector.open",
        {
            "a.py": REGISTER,
            "link.py": CONNECTOR.replace("return False", "raise OSError(address)"),
        },
        State.MOVED,
        Detail.BODY,
        "link.py#Connector.open",
    ),
    "symbol: renamed in its file": (
        "a.py",
        "register",
        {"a.py": MODULE.replace("def register", "def add_loader")},
        State.MOVED,
        None,
        "a.py#add_loader",
    ),
    "symbol: removed": ("a.py", "register", {"a.py": MODULE.replace(REGISTER, "")}, State.GONE, None, ""),
    "symbol: removed with its file": ("a.py", "register", {"a.py": None}, State.GONE, None, ""),
    "symbol: left as a mention only": (
        "a.py",
        "register",
        {"a.py": MODULE.replace(REGISTER, ""), "NEWS.md": "`register` was removed.\n"},
        State.GONE,
        None,
        "",
    ),
    "symbol: constant": (
        "a.py",
        "LIMIT",
        {"a.py": MODULE.replace("10", "11")},
        State.CHANGED,
        Detail.BODY,
        "a.py#LIMIT",
    ),
    "lines: moved within the file": (
        "a.py",
        "L20-L24",
        {"a.py": "# licence\n# more\n" + MODULE},
        State.FRESH,
        Detail.ELSEWHERE,
        "a.py#L22-L26",
    ),
    "lines: edited": (
        "a.py",
        "L20-L24",
        {"a.py": MODULE.replace("raise ValueError(name)", "return None")},
        State.CHANGED,
        Detail.LINES,
        "a.py#L20-L24",
    ),
    "lines: one line edited": (
        "a.py",
        "L3",
        {"a.py": MODULE.replace("LIMIT = 10", "LIMIT = 11")},
        State.CHANGED,
        Detail.LINES,
        "a.py#L3",
    ),
    "lines: removed": ("a.py", "L20-L24", {"a.py": MODULE.replace(REGISTER, "")}, State.GONE, None, ""),
    "lines: file renamed": ("a.py", "L3", {"a.py": None, "b.py": MODULE}, State.MOVED, None, "b.py#L3"),
    "lines: file renamed, lines moved": (
        "a.py",
        "L20-L24",
        {"a.py": None, "b.py": "# licence\n" + MODULE},
        State.MOVED,
        None,
        "b.py#L21-L25",
    ),
    "lines: moved to another file": (
        "a.py",
        "L20-L24",
        {"a.py": MODULE.replace(REGISTER, ""), "b.py": "import a\n\n" + REGISTER},
        State.MOVED,
        None,
        "b.py#L3-L7",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_one_edit(repo: GitRepo, name: str) -> None:
    path, anchor, edit, state, detail, now = EDITS[name]
    old = repo.commit({"a.py": MODULE, "other.txt": "text\n"})
    repo.commit(edit)
    verdict = check(repo, old, path, anchor)
    assert (verdict.state, verdict.detail) == (state, detail), verdict.because
    assert verdict.because
    assert (place(verdict) if now else "") == now


def test_fresh_at_the_pinned_commit_itself(repo: GitRepo) -> None:
    head = repo.commit({"a.py": MODULE})
    assert check(repo, head, "a.py").state is State.FRESH


def test_a_mode_change_is_no_change(repo: GitRepo) -> None:
    old = repo.snapshot({"run.sh": "echo\n"})
    repo.snapshot({"run.sh": Entry(EXECUTABLE, "echo\n")}, [old])
    assert check(repo, old, "run.sh").state is State.FRESH


def test_a_definition_is_followed_through_commits_that_rewrite_it_step_by_step(repo: GitRepo) -> None:
    body = [f"    step_{number} = compute_{number}(value)\n" for number in range(10)]

    def function(name: str, lines: list[str]) -> str:
        return f"def {name}(value):\n{''.join(lines)}    return value\n"

    old = repo.commit({"a.py": function("first", body)})
    repo.commit({"a.py": function("second", body)})
    half = [line.replace("compute", "derive") for line in body[:4]] + body[4:]
    repo.commit({"a.py": function("second", half)})
    repo.commit({"a.py": "x = 1\n", "b.py": function("second", half)})
    repo.commit({"b.py": function("second", [line.replace("compute", "derive") for line in body])})
    repo.commit({"b.py": function("third", [line.replace("compute", "derive") for line in body])})
    verdict = check(repo, old, "a.py", "first")
    assert (verdict.state, place(verdict)) == (State.MOVED, "b.py#third"), verdict.because


def test_gone_names_the_commit_that_removed_the_definition(repo: GitRepo) -> None:
    old = repo.commit({"a.py": MODULE})
    removed = repo.commit({"a.py": MODULE.replace(REGISTER, "")})
    repo.commit({"a.py": "x = 1\n"})
    assert removed[:12] in check(repo, old, "a.py", "register").because


def test_a_namesake_that_stood_elsewhere_before_is_no_move(repo: GitRepo) -> None:
    other = "def register(app):\n    app.include(routes)\n    app.start()\n"
    old = repo.commit({"a.py": MODULE, "web.py": other})
    repo.commit({"a.py": MODULE.replace(REGISTER, "")})
    assert check(repo, old, "a.py", "register").state is State.GONE


def test_the_same_definition_that_another_file_had_as_well_explains_a_removal(repo: GitRepo) -> None:
    old = repo.commit({"a.py": MODULE, "copy.py": REGISTER})
    repo.commit({"a.py": MODULE.replace(REGISTER, "")})
    verdict = check(repo, old, "a.py", "register")
    assert (verdict.state, place(verdict)) == (State.MOVED, "copy.py#register")


def test_lines_that_stand_twice_are_told_apart_by_what_surrounds_them(repo: GitRepo) -> None:
    block = "    try:\n        run()\n    finally:\n        stop()\n"
    old = repo.commit({"a.py": f"def one():\n{block}\n\ndef two():\n{block}"})
    repo.commit({"a.py": f"import sys\n\n\ndef one():\n{block}\n\ndef two():\n{block}"})
    assert place(check(repo, old, "a.py", "L9-L12")) == "a.py#L12-L15"


def test_lines_are_followed_through_the_history_where_the_ends_do_not_tell(repo: GitRepo) -> None:
    lines = [f"rule {number} says {number}\n" for number in range(12)]
    old = repo.commit({"a.txt": "".join(lines)})
    repo.commit({"a.txt": "head\n" + "".join(lines[:5]) + "between\n" + "".join(lines[5:])})
    verdict = check(repo, old, "a.txt", "L5-L6")
    assert (verdict.state, verdict.detail, place(verdict)) == (State.CHANGED, Detail.LINES, "a.txt#L6-L8")


@pytest.mark.parametrize(
    ("path", "content", "anchor"),
    [
        ("ci.yml", "on: push\njobs:\n  build:\n    steps: [a]\n  test:\n    steps: [b]\n", "jobs.test"),
        ("guide.md", "# Guide\n\ntext\n\n## What to do\n\nthis\n\n## Then\n\nthat\n", "what-to-do"),
        ("run.sh", "start() {\n  echo start\n}\n\nstop() {\n  echo stop\n}\n", "stop"),
        (
            "kernel.cu",
            "int one(int a) {\n  return a;\n}\n\nstruct Q {\n  int two(int b) {\n    return b;\n  }\n};\n",
            "Q.two",
        ),
        ("main.go", "package main\n\nfunc (s *S) Open(a int) error {\n\treturn nil\n}\n", "Open"),
    ],
    ids=["yaml", "markdown", "shell", "cuda", "by lines"],
)
def test_anchors_of_other_languages(repo: GitRepo, path: str, content: str, anchor: str) -> None:
    if path == "kernel.cu":
        pytest.importorskip("tree_sitter_cpp")
    old = repo.commit({path: content})
    repo.commit({"docs/other": "x"})
    assert check(repo, old, path, anchor).state is State.FRESH
    repo.commit({path: "\n" + content if not path.endswith(".go") else "// x\n" + content})
    assert (check(repo, old, path, anchor).state, check(repo, old, path, anchor).detail) == (
        State.FRESH,
        Detail.ELSEWHERE,
    )
    assert check(repo, old, path, anchor + "x").state is State.UNVERIFIABLE


# --- where the commit stands ------------------------------------------------------------------


def test_a_commit_of_another_branch_is_said_to_be_no_ancestor(repo: GitRepo) -> None:
    repo.commit({"a.py": MODULE})
    repo.git("checkout", "-q", "-b", "side")
    side = repo.commit({"b.py": "x = 1\n"})
    repo.git("checkout", "-q", "main")
    repo.commit({"b.py": "x = 1\n"})
    verdict = check(repo, side, "b.py")
    assert verdict.state is State.FRESH
    assert "no ancestor" in verdict.because
    assert "no ancestor" in check(repo, side, "a.py").because


def test_merged_history_is_an_ancestor(repo: GitRepo) -> None:
    repo.commit({"a.py": MODULE})
    repo.git("checkout", "-q", "-b", "side")
    side = repo.commit({"b.py": "x = 1\n"})
    repo.git("checkout", "-q", "main")
    repo.commit({"c.py": "y = 1\n"})
    repo.git("merge", "-q", "--no-ff", "--no-edit", "side")
    verdict = check(repo, side, "b.py")
    assert verdict.state is State.FRESH
    assert "ancestor" not in verdict.because


def test_a_long_history_is_left_to_git(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rulebook.snapshots._WALKED_COMMITS", 3)
    old = repo.commit({"a.py": MODULE})
    for number in range(6):
        repo.commit({"b.py": f"x = {number}\n"})
    repo.git("checkout", "-q", "--orphan", "other")
    stranger = repo.commit({"a.py": MODULE})
    assert "ancestor" not in check(repo, old, "a.py").because
    assert "no ancestor" in check(repo, stranger, "a.py").because


def test_what_was_fetched_wins_over_a_local_branch(repo: GitRepo, tmp_path: Path) -> None:
    old = repo.commit({"a.py": MODULE})
    clone = repo.clone(tmp_path / "clone")
    repo.commit({"a.py": None, "b": ""})
    clone.git("fetch", "-q")
    assert clone.id("main") == old
    assert check(clone, old, "a.py").state is State.GONE


def test_upstream_wins_over_a_fork(repo: GitRepo, tmp_path: Path) -> None:
    old = repo.commit({"a.py": MODULE})
    clone = repo.clone(tmp_path / "clone")
    repo.commit({"a.py": None, "b": ""})
    clone.git("remote", "add", "upstream", repo.path.as_uri())
    clone.git("fetch", "-q", "upstream")
    assert check(clone, old, "a.py").state is State.GONE


def test_a_bare_a_sparse_and_a_linked_working_tree_serve(repo: GitRepo, tmp_path: Path) -> None:
    old = repo.commit({"a.py": MODULE, "lib/b.py": "x = 1\n"})
    repo.commit({"lib/b.py": "x = 2\n"})
    bare = repo.clone(tmp_path / "bare.git", "--bare")
    sparse = repo.clone(tmp_path / "sparse", "--sparse")
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    for clone in (bare, sparse, GitRepo.at(tmp_path / "linked")):
        assert check(clone, old, "a.py").state is State.FRESH
        assert check(clone, old, "lib/b.py").state is State.CHANGED


def test_a_force_push_leaves_what_was_noted_to_decide(repo: GitRepo, tmp_path: Path) -> None:
    repo.commit({"a.py": "x = 1\n"})
    old = repo.commit({"a.py": MODULE})
    blob, digest = repo.id(f"{old}:a.py"), text_digest(REGISTER.encode())
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.commit({"a.py": MODULE, "b.py": ""})
    clone = repo.clone(tmp_path / "clone")
    assert check(clone, old, "a.py").state is State.UNVERIFIABLE
    for seen, anchor in (({"blob": blob}, ""), ({"blob": blob}, "register"), ({"sha256": digest}, "register")):
        verdict = check(clone, old, "a.py", anchor, seen)
        assert verdict.state is State.FRESH, verdict.because
        assert "not in this clone" in verdict.because
    assert check(clone, old, "a.py", "register", {"sha256": "0" * 64}).state is State.CHANGED
    repo.commit({"a.py": None, "lib/c.py": MODULE})
    clone.git("fetch", "-q")
    moved = check(clone, old, "a.py", "", {"blob": blob})
    assert (moved.state, place(moved)) == (State.MOVED, "lib/c.py")
    repo.commit({"lib/c.py": MODULE + "x = 1\n"})
    clone.git("fetch", "-q")
    assert check(clone, old, "a.py", "", {"blob": "0" * 40}).state is State.UNVERIFIABLE


@pytest.mark.parametrize("ending", ["\f", "\v", "\r", "\x85", "\u2028"], ids=lambda char: f"U+{ord(char):04X}")
def test_noted_lines_are_found_where_other_characters_end_lines_as_well(
    repo: GitRepo, tmp_path: Path, ending: str
) -> None:
    """Lines are counted as git counts them: by line feeds."""
    repo.commit({"a.txt": "one\n"})
    block = f"al{ending}pha\nbeta\n"
    old = repo.commit({"a.txt": f"one\n{block}end\n"})
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.commit({"a.txt": f"o{ending}ne\ntwo\nthree\n{block}end\n"})
    verdict = check(repo.clone(tmp_path / "clone"), old, "a.txt", "L2-L3", {"sha256": text_digest(block.encode())})
    assert (verdict.state, verdict.now.anchor if verdict.now else "") == (State.FRESH, "L4-L5")


# --- what must never read fresh ---------------------------------------------------------------

Broken = Callable[[GitRepo, Path], "tuple[GitRepo, str]"]


def _files() -> dict[str | bytes, str | bytes | Entry]:
    return {
        "a.py": MODULE,
        "docs/guide.md": "# Guide\n",
        "pages/[id].ts": "export const id = 1\n",
        "odd:name.txt": "text\n",
        "with space.txt": "text\n",
        "naïve.txt": "text\n",
        "link": Entry(SYMLINK, "a.py"),
        "linked": Entry(SYMLINK, "docs"),
        "dead": Entry(SYMLINK, "/etc/passwd"),
    }


def _base(repo: GitRepo) -> str:
    """A commit whose files all stand at the head unchanged."""
    old = repo.snapshot(_files())
    repo.snapshot({**_files(), "vendor/lib": Entry(SUBMODULE, "1" * 40), "new.txt": "x\n"}, [old])
    return old


def _amended(repo: GitRepo, tmp_path: Path) -> tuple[GitRepo, str]:
    old = _base(repo)
    replaced = repo.id("main")
    repo.snapshot({**_files(), "newer.txt": "x\n"}, [old])
    return repo, replaced


def _shallow(repo: GitRepo, tmp_path: Path) -> tuple[GitRepo, str]:
    old = _base(repo)
    return repo.clone(tmp_path / "shallow", "--depth=1"), old


def _partial(repo: GitRepo, tmp_path: Path) -> tuple[GitRepo, str]:
    old = _base(repo)
    return repo.clone(tmp_path / "partial", "--filter=blob:none", "--no-checkout"), old


def _treeless(repo: GitRepo, tmp_path: Path) -> tuple[GitRepo, str]:
    old = _base(repo)
    return repo.clone(tmp_path / "treeless.git", "--filter=tree:0", "--bare"), old


def _promised_nowhere(repo: GitRepo, tmp_path: Path) -> tuple[GitRepo, str]:
    """A partial clone that lost its remote: what it lacks is plainly missing."""
    clone, old = _partial(repo, tmp_path)
    for name in ("remote.origin.promisor", "remote.origin.partialclonefilter"):
        clone.git("config", "--unset-all", name)
    return clone, old


def _damaged(repo: GitRepo, tmp_path: Path) -> tuple[GitRepo, str]:
    old = _base(repo)
    repo.git("repack", "-adq")
    for pack in list((repo.git_dir / "objects/pack").glob("*.pack")):
        moved = tmp_path / pack.name
        shutil.move(pack, moved)
        for index in (repo.git_dir / "objects/pack").glob("*"):
            index.unlink()
        repo.git("unpack-objects", "-q", input=moved.read_bytes())
    blobs = {repo.id(f"{old}:{path}") for path in ("a.py", "docs/guide.md", "with space.txt", "naïve.txt")}
    for blob in blobs | {repo.id(f"{old}:pages/[id].ts")}:
        loose = repo.git_dir / "objects" / blob[:2] / blob[2:]
        loose.chmod(0o644)
        loose.write_bytes(b"damaged")
    return repo, old


def _plain(repo: GitRepo, tmp_path: Path) -> tuple[GitRepo, str]:
    return repo, _base(repo)


_PATHS = {
    "plain": "a.py",
    "folder": "docs/guide.md",
    "brackets": "pages/[id].ts",
    "space": "with space.txt",
    "non-ASCII": "naïve.txt",
    "colon": "odd:name.txt",
}
_ANCHORS = {"plain": "a.py#register", "method": "a.py#Connector.close", "lines": "a.py#L20-L24"}
_CLONES: dict[str, Broken] = {
    "amended": _amended,
    "shallow": _shallow,
    "partial": _partial,
    "treeless": _treeless,
    "partial without its remote": _promised_nowhere,
}


def _broken() -> dict[str, tuple[Broken, Callable[[GitRepo, str], str]]]:
    """Pins that are broken on purpose: how the clone is made, and the pin from it and the commit."""
    cases: dict[str, tuple[Broken, Callable[[GitRepo, str], str]]] = {}

    def add(name: str, clone: Broken, text: Callable[[GitRepo, str], str]) -> None:
        assert name not in cases, name
        cases[name] = (clone, text)

    for kind, clone in _CLONES.items():
        for name, path in {**_PATHS, **{f"anchor, {key}": path for key, path in _ANCHORS.items()}}.items():
            add(f"{kind}: {name}", clone, lambda _, commit, path=path: f"target@{commit}:{path}")
    for name in ("plain", "folder", "brackets", "space", "non-ASCII"):
        add(f"damaged: {name}", _damaged, lambda _, commit, path=_PATHS[name]: f"target@{commit}:{path}")
    for path in ("A.py", "Docs/guide.md", "docs/Guide.md", "NAÏVE.txt", "With Space.txt", "pages/[ID].ts", "LINK"):
        add(f"wrong case: {path}", _plain, lambda _, commit, path=path: f"target@{commit}:{path}")
    for path in ("link", "linked", "dead", "linked/guide.md", "link/x", "link#register", "link#L1", "dead#L1"):
        add(f"symbolic link: {path}", _plain, lambda _, commit, path=path: f"target@{commit}:{path}")
    for path in ("vendor/lib", "vendor/lib/a.py", "vendor/lib#f"):
        add(f"submodule: {path}", _plain, lambda repo, _, path=path: f"target@{repo.id('main')}:{path}")
    for path in ("docs", "pages", "vendor"):
        add(f"folder: {path}", _plain, lambda repo, _, path=path: f"target@{repo.id('main')}:{path}")
    for path in (
        "pages/i.ts",
        "pages/*.ts",
        "*.py",
        "a.py\\",
        "a?py",
        "./a.py",
        "docs/../a.py",
        "/a.py",
        "docs//guide.md",
    ):
        add(f"pattern or odd path: {path}", _plain, lambda _, commit, path=path: f"target@{commit}:{path}")
    for path in (":a.py", "(top)a.py", ":(glob)**", "na\u0308ive.txt", "nai\u0308ve.txt", "-a.py", "--help", "a.py "):
        add(f"odd name: {path!r}", _plain, lambda _, commit, path=path: f"target@{commit}:{path}")
    for name, commit in {"digits": "1234567890" * 4, "zeros": "0" * 40, "letters": "abcdef01" * 5}.items():
        add(f"no such commit: {name}", _plain, lambda _, __, commit=commit: f"target@{commit}:a.py")
    for length in (7, 12, 39, 41, 64):
        add(f"short or long id: {length}", _plain, lambda _, commit, n=length: f"target@{(commit * 2)[:n]}:a.py")
    for name in ("main", "HEAD", "v1", "refs/heads/main", "main~1", "@", "", "HEAD^{tree}", "origin/main"):
        add(f"name instead of an id: {name!r}", _plain, lambda _, __, name=name: f"target@{name}:a.py")
    for name in ("main:a.py", "main^{tree}", "main:docs", "main:link"):
        add(f"id of something else: {name}", _plain, lambda repo, _, name=name: f"target@{repo.id(name)}:a.py")
    add("id of a tag", _plain, lambda repo, _: f"target@{_tag(repo)}:a.py")
    add("capitals in the id", _plain, lambda _, commit: f"target@{commit.upper()}:a.py")
    for anchor in ("nothing", "Connector.nothing", "L9999", "L20-L9999", "L0", "L5-L3", "", "Connector.open.retries"):
        add(
            f"anchor that names nothing: #{anchor}",
            _plain,
            lambda _, commit, anchor=anchor: f"target@{commit}:a.py#{anchor}",
        )
    add("anchor in a docstring", _plain, lambda _, commit: f"target@{commit}:a.py#Connects")
    for text in ("", "unknown", "a.py", "target:a.py", "target@", f"@{'1' * 40}:a.py", f"target@{'1' * 40}"):
        add(f"no pin: {text!r}", _plain, lambda _, __, text=text: text)
    add("control character", _plain, lambda _, commit: f"target@{commit}:a.py\nmain:a.py")
    return cases


def _tag(repo: GitRepo) -> str:
    repo.git("tag", "-a", "-m", "x", "v1", "main")
    return repo.id("refs/tags/v1")


BROKEN = _broken()


def test_there_are_a_hundred_broken_pins() -> None:
    assert len(BROKEN) >= 100


@pytest.mark.parametrize("name", BROKEN)
def test_no_broken_pin_reads_fresh(repo: GitRepo, tmp_path: Path, name: str) -> None:
    make, text = BROKEN[name]
    clone, commit = make(repo, tmp_path)
    written = text(clone, commit)
    pin = read_pin(Source(pin=written))
    if isinstance(pin, Pin):
        with Checker(Repository(clone.path, environ=clone.environ), "main") as checker:
            [verdict] = checker.check([(pin, {})])
    else:
        verdict = pin
    assert verdict.state in (State.UNVERIFIABLE, State.INVALID), f"{written!r}: {verdict}"
    assert verdict.because
    assert verdict.remedy


@pytest.mark.parametrize("path", [*_PATHS.values(), *_ANCHORS.values()])
def test_the_same_pins_are_fresh_where_nothing_is_broken(repo: GitRepo, path: str) -> None:
    old = _base(repo)
    file, _, anchor = path.partition("#")
    assert check(repo, old, file, anchor).state is State.FRESH


def test_a_partial_clone_fetches_nothing(repo: GitRepo, tmp_path: Path) -> None:
    clone, old = _partial(repo, tmp_path)
    before = sorted(path.name for path in clone.git_dir.glob("objects/**/*"))
    marker = tmp_path / "reached"
    clone.git("config", "remote.origin.uploadpack", f"touch {marker}; git-upload-pack")
    for path in _PATHS.values():
        assert check(clone, old, path).state is State.UNVERIFIABLE
    assert not marker.exists()
    assert sorted(path.name for path in clone.git_dir.glob("objects/**/*")) == before


def test_a_rename_in_a_partial_clone_is_not_called_gone(repo: GitRepo, tmp_path: Path) -> None:
    old = repo.commit({"a.py": MODULE})
    repo.commit({"a.py": None, "b.py": MODULE + "x = 1\n"})
    clone = repo.clone(tmp_path / "partial.git", "--bare", "--filter=blob:none")
    assert check(clone, old, "a.py").state is State.UNVERIFIABLE
    assert check(clone, old, "a.py", "register").state is State.UNVERIFIABLE


def test_a_shallow_clone_does_not_claim_to_know_the_history(repo: GitRepo, tmp_path: Path) -> None:
    old = repo.commit({"a.py": MODULE})
    repo.commit({"b.py": "x = 1\n"})
    repo.commit({"b.py": "x = 2\n"})
    clone = repo.clone(tmp_path / "shallow", "--depth=1")
    assert check(clone, clone.id("HEAD"), "a.py").state is State.FRESH
    clone.git("fetch", "-q", "--depth=1", "origin", f"{old}:refs/heads/older")
    verdict = check(clone, old, "a.py")
    assert verdict.state is State.FRESH
    assert "history is cut" in verdict.because


def test_what_was_noted_must_agree_with_the_commit(repo: GitRepo) -> None:
    head = repo.commit({"a.py": MODULE})
    blob = repo.id("main:a.py")
    assert check(repo, head, "a.py", "", {"blob": blob}).state is State.FRESH
    assert check(repo, head, "a.py", "", {"blob": "1" * 40}).state is State.UNVERIFIABLE
    assert check(repo, head, "a.py", "register", {"sha256": text_digest(REGISTER.encode())}).state is State.FRESH
    assert check(repo, head, "a.py", "register", {"sha256": "1" * 64}).state is State.UNVERIFIABLE


def test_a_path_with_a_hash_sign(repo: GitRepo) -> None:
    head = repo.commit({"notes#1-x y.txt": "text\n"})
    assert check(repo, head, "notes#1-x y.txt").state is State.FRESH


# --- repositories that cannot be asked --------------------------------------------------------


def test_a_default_branch_that_does_not_exist(repo: GitRepo) -> None:
    repo.commit({"a.py": MODULE})
    with pytest.raises(GitError, match="no branch 'trunk'"):
        Checker(Repository(repo.path, environ=repo.environ), "trunk")


@pytest.mark.parametrize("branch", ["", "-x", "a..b", "main^{tree}", "main:a.py", "a b", "x\ny", "@{-1}", "/main"])
def test_names_that_are_no_branch_are_refused(repo: GitRepo, branch: str) -> None:
    repo.commit({"a.py": MODULE})
    with pytest.raises(GitError, match="no name of a branch"):
        Checker(Repository(repo.path, environ=repo.environ), branch)


def test_an_empty_repository(repo: GitRepo) -> None:
    with pytest.raises(GitError, match="no branch 'main'"):
        Checker(Repository(repo.path, environ=repo.environ), "main")


def test_sha256_ids_are_said_to_be_beyond_pins(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "new", object_format="sha256")
    repo.commit({"a.py": MODULE})
    with pytest.raises(GitError, match="SHA-256"):
        Checker(Repository(repo.path, environ=repo.environ), "main")


# --- what it costs ----------------------------------------------------------------------------


def test_a_thousand_fresh_pins_cost_one_process_beyond_opening(repo: GitRepo, tmp_path: Path) -> None:
    files: dict[str | bytes, str | bytes | Entry] = {f"d{n % 7}/f{n}.txt": f"{n}\n" for n in range(40)}
    commits: list[str] = []
    for number in range(25):
        commits.append(repo.snapshot({**files, "n": f"{number}\n"}, commits[-1:]))
    log = tmp_path / "log"
    folder = tmp_path / "bin"
    folder.mkdir()
    stub = folder / "git"
    stub.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexec "{shutil.which("git")}" "$@"\n')
    stub.chmod(0o755)
    environ = {**repo.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    repository = Repository(repo.path, environ=environ)
    log.write_text("")
    pins = [(Pin("target", commit, str(path)), {}) for commit in commits for path in files]
    with Checker(repository, "main") as checker:
        verdicts = checker.check(pins)
    assert len(verdicts) == 1_000
    assert {verdict.state for verdict in verdicts} == {State.FRESH}
    assert len(log.read_text().splitlines()) == 1


def test_git_without_batch_command_serves(repo: GitRepo, tmp_path: Path) -> None:
    old = repo.commit({"a.py": MODULE})
    repo.commit({"a.py": MODULE.replace(REGISTER, ""), "b.py": REGISTER})
    folder = tmp_path / "bin"
    folder.mkdir()
    stub = folder / "git"
    stub.write_text(
        '#!/bin/sh\nfor word; do [ "$word" = --batch-command ] && { echo "error: unknown option" >&2; exit 129; }; done\n'
        f'exec "{shutil.which("git")}" "$@"\n'
    )
    stub.chmod(0o755)
    repo.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    assert check(repo, old, "a.py", "register").state is State.MOVED
    assert check(repo, old, "a.py", "Connector").state is State.FRESH


def test_each_new_name_explains_one_lost_definition_the_one_in_its_place_first(repo: GitRepo) -> None:
    def function(name: str, *lines: str) -> str:
        return f"def {name}(case):\n" + "".join(f"    {line}\n" for line in lines) + "\n\n"

    shared = ("runner = make_runner()", "runner.config = make_config(case)", "runner.start()")
    first = function("test_swaps", *shared, "assert runner.swapped(case.ids)", "assert runner.buffer == case.buffer")
    second = function("test_passes_without_buffer", *shared, "assert not runner.swapped(case.ids)")
    new_first = function(
        "test_builds_and_swaps", *shared, "runner.build(lazily=True)", "assert runner.swapped(case.ids)"
    )
    new_second = function(
        "test_passes_when_disabled", *shared, "runner.disable()", "assert not runner.swapped(case.ids)"
    )
    around = (function("test_before", "assert before()"), function("test_after", "assert after()"))
    old = repo.commit({"a.py": around[0] + first + around[1] + second})
    repo.commit({"a.py": around[0] + new_first + around[1] + new_second})
    assert place(check(repo, old, "a.py", "test_swaps")) == "a.py#test_builds_and_swaps"
    assert place(check(repo, old, "a.py", "test_passes_without_buffer")) == "a.py#test_passes_when_disabled"
