"""Fetching mirrors: from real repositories on this machine, and from networks that misbehave."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitrepo import GitRepo
from rulebook.config import Target
from rulebook.errors import GitError, UsageError
from rulebook.git.mirror import Mirror
from rulebook.git.repository import Repository
from rulebook.pins import Pin
from rulebook.staleness import Checker
from rulebook.sync import Synced, sync
from rulebook.verdicts import State


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """Two commits: one file stays, one is removed; another branch and a tag."""
    repo = GitRepo(tmp_path / "target")
    repo.commit({"a.py": "def f():\n    return 1\n", "old.py": "x = 1\n" * 5})
    repo.commit({"old.py": None, "new.py": "x = 1\n" * 5 + "y = 2\n", "b.py": "x = 3\n"})
    repo.git("branch", "release", "main~1")
    repo.git("tag", "v1", "main~1")
    return repo


def fetch(repo: GitRepo, tmp_path: Path, *pins: Pin, branch: str = "main") -> Synced:
    target = Target(alias="target", url=repo.path.as_uri(), default_branch=branch)
    return sync(target, str(tmp_path / "mirrors" / "m.git"), pins, silence=20, sleep=lambda _: None)


def states(folder: str, *pins: Pin) -> list[State]:
    with Checker(Repository(folder), "main") as checker:
        return [verdict.state for verdict in checker.check([(pin, {}) for pin in pins])]


def test_a_mirror_holds_what_a_check_reads(repo: GitRepo, tmp_path: Path) -> None:
    old = repo.id("main~1")
    pins = [Pin("target", old, "a.py", "f"), Pin("target", old, "old.py"), Pin("target", repo.id("main"), "b.py")]
    synced = fetch(repo, tmp_path, *pins)
    assert (synced.head, synced.missing, synced.notes) == (repo.id("main"), (), ())
    assert synced.contents == 4
    assert states(synced.folder, *pins) == [State.FRESH, State.MOVED, State.FRESH]


def test_history_comes_without_contents(repo: GitRepo, tmp_path: Path) -> None:
    for number in range(5):
        repo.commit({"a.py": f"z = {number}\n"})
    synced = fetch(repo, tmp_path)
    mirror = GitRepo.at(Path(synced.folder))
    missing = [
        line for line in mirror.git("rev-list", "--objects", "--all", "--missing=print").split() if line[:1] == b"?"
    ]
    assert len(missing) == 6
    assert sorted(mirror.git("for-each-ref", "--format=%(refname)").decode().split()) == [
        "refs/heads/main",
        "refs/heads/release",
        "refs/tags/v1",
    ]


def test_a_second_sync_fetches_what_is_new(repo: GitRepo, tmp_path: Path) -> None:
    first = fetch(repo, tmp_path)
    assert fetch(repo, tmp_path).contents == 0
    repo.commit({"c.py": "x = 4\n"})
    repo.git("branch", "-D", "-q", "release")
    second = fetch(repo, tmp_path)
    assert (second.folder, second.contents, second.head) == (first.folder, 1, repo.id("main"))
    assert b"release" not in GitRepo.at(Path(second.folder)).git("for-each-ref")


def test_a_force_push_is_followed(repo: GitRepo, tmp_path: Path) -> None:
    fetch(repo, tmp_path)
    repo.git("reset", "-q", "--hard", "main~1")
    repo.commit({"c.py": "x = 4\n"})
    assert fetch(repo, tmp_path).head == repo.id("main")


def test_a_pinned_commit_that_no_branch_holds_is_asked_for_by_its_id(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("checkout", "-q", "--detach")
    lone = repo.commit({"a.py": "def f():\n    return 1\n", "side.py": "s = 1\n"})
    repo.git("checkout", "-q", "main")
    pins = [Pin("target", lone, "a.py"), Pin("target", "1234567890" * 4, "a.py")]
    synced = fetch(repo, tmp_path, *pins)
    assert synced.missing == ("1234567890" * 4,)
    assert states(synced.folder, *pins) == [State.FRESH, State.UNVERIFIABLE]
    GitRepo.at(Path(synced.folder)).git("gc", "-q", "--prune=now")
    assert states(synced.folder, pins[0]) == [State.FRESH]


def test_an_interrupted_sync_goes_on(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:

        def die(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patched.setattr(Mirror, "fetch_contents", die)
        with pytest.raises(KeyboardInterrupt):
            fetch(repo, tmp_path)
    folder = str(tmp_path / "mirrors" / "m.git")
    assert states(folder, Pin("target", repo.id("main"), "a.py")) == [State.UNVERIFIABLE]
    assert fetch(repo, tmp_path).contents == 3
    assert states(folder, Pin("target", repo.id("main"), "a.py")) == [State.FRESH]


def test_a_half_made_mirror_is_mended(repo: GitRepo, tmp_path: Path) -> None:
    folder = tmp_path / "mirrors" / "m.git"
    folder.mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    assert fetch(repo, tmp_path).head == repo.id("main")


def test_two_syncs_at_once_are_safe(repo: GitRepo, tmp_path: Path) -> None:
    folder = str(tmp_path / "mirrors" / "m.git")
    script = (
        "import sys; from rulebook.config import Target; from rulebook.sync import sync; "
        "print(sync(Target(alias='t', url=sys.argv[1]), sys.argv[2], []).head)"
    )
    line = [sys.executable, "-c", script, repo.path.as_uri(), folder]
    workers = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    heads = {worker.communicate(timeout=60)[0].strip() for worker in workers}
    assert heads == {repo.id("main")}
    GitRepo.at(Path(folder)).git("fsck", "--connectivity-only")


def test_a_lock_that_is_held_is_not_waited_for_without_end(repo: GitRepo, tmp_path: Path) -> None:
    import fcntl

    (tmp_path / "mirrors").mkdir()
    target = Target(alias="target", url=repo.path.as_uri())
    with open(tmp_path / "mirrors" / "m.git.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(GitError, match="another sync"):
            sync(target, str(tmp_path / "mirrors" / "m.git"), [], wait=1, sleep=lambda _: None)


# --- remotes that cannot be asked -------------------------------------------------------------


def test_a_branch_that_is_not_there(repo: GitRepo, tmp_path: Path) -> None:
    with pytest.raises(GitError, match="couldn't find remote ref"):
        fetch(repo, tmp_path, branch="trunk")


def test_a_remote_that_is_not_there(tmp_path: Path) -> None:
    tries: list[float] = []
    target = Target(alias="target", url=(tmp_path / "nowhere").as_uri())
    with pytest.raises(GitError, match="failed for file://"):
        sync(target, str(tmp_path / "mirrors" / "m.git"), [], sleep=tries.append)
    assert tries == [2.0, 4.0]


def test_a_target_without_a_url(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no url"):
        sync(Target(alias="target"), str(tmp_path / "m.git"), [])


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c 'touch hacked'",
        "fd::17",
        "-uhttp://x",
        "--upload-pack=x",
        "a\nb",
        "",
        "relative/path",
        "host::x",
        "ftp://x/y",
    ],
)
def test_urls_that_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(GitError, match=r"URL"):
        Mirror(str(tmp_path / "m.git"), url)


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and never says a word."""
    server = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                held.append(server.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield server.getsockname()[1]
    server.close()
    for connection in held:
        connection.close()


def test_a_network_that_hangs_is_given_up(tmp_path: Path, silent: int) -> None:
    target = Target(alias="target", url=f"git://127.0.0.1:{silent}/x.git")
    start = time.monotonic()
    with pytest.raises(GitError, match=r"was silent for 0.3 s"):
        sync(target, str(tmp_path / "mirrors" / "m.git"), [], silence=0.3, sleep=lambda _: None)
    assert time.monotonic() - start < 20


def test_nothing_of_the_users_setup_takes_part(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "trace"
    home = tmp_path / "home"
    hooks = home / "hooks"
    hooks.mkdir(parents=True)
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {trace}\n")
        (hooks / name).chmod(0o755)
    (home / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {hooks}\n[credential]\n\thelper = "!echo credential >> {trace}"\n'
        f'[url "file:///nowhere/"]\n\tinsteadOf = file://\n[alias]\n\tfetch = "!echo alias >> {trace}"\n'
        f"[init]\n\ttemplateDir = {home}\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "url.file:///nowhere/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "file://")
    assert fetch(repo, tmp_path).head == repo.id("main")
    assert not trace.exists(), trace.read_text()
    assert not (tmp_path / "mirrors" / "m.git" / "hooks").exists()


def test_git_before_2_29_is_not_asked_for_what_it_does_not_know(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = tmp_path / "bin" / "git"
    stub.parent.mkdir()
    stub.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo "git version 2.25.1"; exit; }\n'
        'for word; do [ "$word" = --no-write-fetch-head ] && exit 129; done\n'
        f'exec "{shutil.which("git")}" "$@"\n'
    )
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}{os.pathsep}{os.environ['PATH']}")
    assert fetch(repo, tmp_path).contents == 3
