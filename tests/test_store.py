"""The store: refreshed by itself, safe to place, answering whatever happens to its folder."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb import CONFIG, RULE, SMALLEST, make_kb, rule
from mounts import mounted_read_only
from rulebook import answer, changes
from rulebook.catalog import load
from rulebook.errors import NoKnowledgeBase, StoreError
from rulebook.model import Kind
from rulebook.patterns.syntax import compile_patterns
from rulebook.store.folder import default_folder, secure_folder
from rulebook.store.opening import open_store

SRC = str(Path(__file__).parent.parent / "src")


def ids(root: Path, folder: Path | None = None) -> list[str]:
    with open_store(str(root), str(folder) if folder else None) as store:
        return [row.name for row in store.documents(Kind.RULE)]


def matched(root: Path, *paths: str, folder: Path | None = None, repo: str = "demo") -> list[str]:
    with open_store(str(root), str(folder) if folder else None) as store:
        return [match.id for match in answer.applies(store, changes.from_paths(paths), repo).rules]


def settle() -> None:
    """Waits until a file that was just written is no longer too fresh to be trusted."""
    time.sleep(0.12)


# --- refreshing -------------------------------------------------------------------------------


def test_the_smallest_knowledge_base_answers(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    assert matched(root, "src/a.py") == ["DEMO-1"]
    assert matched(root, "src/gen/a.py") == []


@pytest.mark.parametrize("table", ["token", "scope", "cited", "label", "pin", "file", "meta"])
def test_a_store_without_one_of_its_tables_is_built_again(tmp_path: Path, table: str) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    ids(root, folder)
    (file,) = folder.glob("catalog-*.db")
    connection = sqlite3.connect(file)
    connection.execute(f"DROP TABLE {table}")
    connection.close()
    assert matched(root, "src/a.py", folder=folder) == ["DEMO-1"]


def test_nothing_is_read_again_that_did_not_change(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    settle()
    with open_store(str(root)) as store:
        assert (store.stats.added, store.stats.kept) == (2, 0)
        generation = store.generation
    with open_store(str(root)) as store:
        assert store.stats == type(store.stats)(kept=2)
        assert store.generation == generation


@pytest.mark.parametrize("delay", [0.0, 0.12], ids=["within-the-same-tick", "later"])
def test_an_edit_of_the_same_size_is_noticed(tmp_path: Path, delay: float) -> None:
    root = make_kb(tmp_path)
    file = root / "rules/demo/DEMO-1.md"
    for folder in ("lib", "src", "lib", "src"):
        file.write_text(RULE.replace('"src/**"', f'"{folder}/**"'))
        assert matched(root, "src/a.py", "lib/a.py") == ["DEMO-1"]
        assert matched(root, f"{folder}/a.py") == ["DEMO-1"]
        assert matched(root, "lib/a.py" if folder == "src" else "src/a.py") == []
        time.sleep(delay)


def test_added_renamed_and_removed_files_are_noticed(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    assert ids(root) == ["DEMO-1"]
    (root / "rules/demo/DEMO-2.md").write_text(rule("DEMO-2"))
    assert ids(root) == ["DEMO-1", "DEMO-2"]
    (root / "rules/other").mkdir()
    (root / "rules/demo/DEMO-2.md").rename(root / "rules/other/DEMO-2.md")
    with open_store(str(root)) as store:
        assert [row.path for row in store.find("DEMO-2")] == ["rules/other/DEMO-2.md"]
    (root / "rules/other/DEMO-2.md").unlink()
    assert ids(root) == ["DEMO-1"]
    assert matched(root, "src/a.py") == ["DEMO-1"]


def test_a_renamed_repository_reaches_every_rule(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {**SMALLEST, "rules/demo/DEMO-1.md": RULE.replace("repo: demo", "repo: owner/demo")})
    (root / "rulebook.toml").write_text('[repos.one]\nurl = "https://host.invalid/owner/demo"\n')
    assert matched(root, "src/a.py", repo="one") == ["DEMO-1"]
    (root / "rulebook.toml").write_text('[repos.two]\nurl = "https://host.invalid/owner/demo"\n')
    assert matched(root, "src/a.py", repo="two") == ["DEMO-1"]


@pytest.mark.parametrize("delay", [0.0, 0.12], ids=["within-the-same-tick", "later"])
def test_an_edit_of_the_configuration_of_the_same_size_is_noticed(tmp_path: Path, delay: float) -> None:
    text = RULE.replace("repo: demo", "repo: owner/demo")
    root = make_kb(tmp_path, {"rules/demo/DEMO-1.md": text})
    for alias in ("one", "two", "one", "two"):
        (root / "rulebook.toml").write_text(f'[repos.{alias}]\nurl = "https://host.invalid/owner/demo"\n')
        assert matched(root, "src/a.py", repo=alias) == ["DEMO-1"]
        time.sleep(delay)


def test_a_configuration_that_was_only_touched_changes_nothing(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    settle()
    with open_store(str(root)) as store:
        generation = store.generation
    for _ in range(2):
        (root / "rulebook.toml").touch()
        with open_store(str(root)) as store:
            assert store.stats == type(store.stats)(kept=2)
            assert store.generation == generation


def test_a_configuration_that_is_gone_or_huge(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    os.truncate(root / "rulebook.toml", 50 << 20)
    with open_store(str(root)) as store:
        assert [finding.code for finding in store.findings()] == ["config-size"]
    (root / "rulebook.toml").unlink()
    with pytest.raises(NoKnowledgeBase, match="cannot be read"):
        open_store(str(root))


def test_findings_of_folders_come_and_go_with_what_they_are_about(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    seen = []
    for turn in range(6):
        link = root / f"rules/demo/link-{turn // 2}.md"
        link.symlink_to("/etc/hostname") if turn % 2 == 0 else link.unlink()
        with open_store(str(root)) as store:
            seen.append([finding.location.path for finding in store.findings()])
    assert seen == [["rules/demo/link-0.md"], [], ["rules/demo/link-1.md"], [], ["rules/demo/link-2.md"], []]


def test_one_bad_file_never_hides_the_others(tmp_path: Path) -> None:
    bad = {"rules/demo/BAD-1.md": b"\xff\xfe", "rules/demo/BAD-2.md": "---\nid: [\n---\n", "rules/demo/BAD-3.md": "no"}
    root = make_kb(tmp_path, {**SMALLEST, **bad})
    assert matched(root, "src/a.py") == ["DEMO-1"]
    with open_store(str(root)) as store:
        found = {finding.location.path: finding.code for finding in store.findings()}
    assert found == {
        "rules/demo/BAD-1.md": "file-encoding",
        "rules/demo/BAD-2.md": "yaml",
        "rules/demo/BAD-3.md": "frontmatter-missing",
    }


def test_a_file_name_that_is_no_text_is_a_finding_and_hides_nothing(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    os.rename(root / "rules/demo/DEMO-1.md", root / "rules/demo/DEMO-2.md")
    (root / "rules/demo/DEMO-2.md").write_text(rule("DEMO-2"))
    with open(os.fsencode(root) + b"/rules/demo/caf\xe9.md", "wb") as file:
        file.write(RULE.encode())
    assert matched(root, "src/a.py") == ["DEMO-2"]
    with open_store(str(root)) as store:
        assert [(f.code, f.location.path) for f in store.findings()] == [("file-name", "rules/demo/caf\\udce9.md")]


def test_findings_go_when_the_file_is_mended(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {**SMALLEST, "rules/demo/DEMO-2.md": "no"})
    with open_store(str(root)) as store:
        assert len(store.findings()) == 1
    (root / "rules/demo/DEMO-2.md").write_text(rule("DEMO-2"))
    with open_store(str(root)) as store:
        assert store.findings() == []


@pytest.mark.parametrize("files", [{}, {"rules/demo/README.md": "no content"}], ids=["nothing", "only-a-readme"])
def test_an_empty_knowledge_base_is_an_error(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(NoKnowledgeBase, match="empty"):
        open_store(str(make_kb(tmp_path, files)))


def test_retired_and_superseded_rules_are_kept_and_match_nothing(tmp_path: Path) -> None:
    files = {
        "rules/demo/A-1.md": rule("A-1", status="superseded", superseded_by="A-2"),
        "rules/demo/A-2.md": rule("A-2"),
        "rules/demo/A-3.md": rule("A-3", status="retired"),
        "rules/demo/A-4.md": rule("A-4", status="contested"),
        "rules/demo/A-5.md": rule("A-5", status="reserved"),
    }
    root = make_kb(tmp_path, files)
    assert ids(root) == ["A-1", "A-2", "A-3", "A-4", "A-5"]
    assert matched(root, "src/a.py") == ["A-2", "A-4"]
    with open_store(str(root)) as store:
        assert store.count(Kind.RULE, "demo") == 2


def test_repositories_do_not_see_each_others_rules(tmp_path: Path) -> None:
    files = {"rules/a/A-1.md": rule("A-1"), "rules/b/B-1.md": rule("B-1", repo="other")}
    config = CONFIG + '[repos.other]\nurl = "https://example.invalid/other.git"\n'
    root = make_kb(tmp_path, {"rulebook.toml": config, **files})
    assert matched(root, "src/a.py", repo="demo") == ["A-1"]
    assert matched(root, "src/a.py", repo="other") == ["B-1"]


NAMES = st.sampled_from(["a", "b", "c.py", "gen", "*.py", "**", "*", "[ab]"])
PATTERNS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
LISTS = st.lists(st.tuples(st.booleans(), PATTERNS), min_size=1, max_size=3).map(
    lambda items: [("!" if negated and index else "") + text for index, (negated, text) in enumerate(items)]
)
PATHS = st.lists(
    st.lists(st.sampled_from(["a", "b", "c.py", "gen", "x"]), min_size=1, max_size=4).map("/".join), max_size=6
)


@settings(max_examples=25)
@given(st.lists(st.tuples(LISTS, st.sampled_from(["active", "contested", "retired"])), min_size=1, max_size=6), PATHS)
def test_the_store_answers_as_reading_everything_and_matching_rule_by_rule_does(
    tmp_path_factory: pytest.TempPathFactory, rules: list[tuple[list[str], str]], paths: list[str]
) -> None:
    files = {
        f"rules/demo/R-{n}.md": rule(f"R-{n}", applies_to=json.dumps(texts), status=status)
        for n, (texts, status) in enumerate(rules)
    }
    folder = tmp_path_factory.mktemp("law")
    root = make_kb(folder, files)
    plain = [
        law.id
        for law in load(str(root)).rules
        if law.status.matches and any(compile_patterns(law.applies_to).match(path) for path in paths)
    ]
    assert sorted(matched(root, *paths, folder=folder / "store")) == sorted(plain)


# --- the folder -------------------------------------------------------------------------------


def test_the_store_is_readable_with_sqlite_alone_and_private(tmp_path: Path) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    ids(root, folder)
    assert folder.stat().st_mode & 0o077 == 0
    (file,) = folder.glob("catalog-*.db")
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT name, title FROM document WHERE kind = 'rule'").fetchall() == [
        ("DEMO-1", "Generated code is not edited by hand")
    ]
    connection.close()
    for file in folder.iterdir():
        assert not file.read_bytes().startswith(b"\x80"), "a pickle"


def test_a_folder_inside_the_checkout_is_refused(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    (tmp_path / ".git").mkdir()
    for folder in (root / "cache", tmp_path / "cache", root):
        with pytest.raises(StoreError, match="inside the content's checkout"):
            open_store(str(root), str(folder))
        assert not (folder / "current").exists()


def test_a_link_into_the_checkout_is_refused(tmp_path: Path) -> None:
    root = make_kb(tmp_path)
    (root / "cache").mkdir()
    (tmp_path / "link").symlink_to(root / "cache")
    with pytest.raises(StoreError):
        open_store(str(root), str(tmp_path / "link"))


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(StoreError, match="written by others"):
        open_store(str(root), str(folder))


def test_a_folder_below_one_that_everybody_can_write_is_refused(tmp_path: Path) -> None:
    root, shared = make_kb(tmp_path), tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(StoreError, match="everybody can write"):
        open_store(str(root), str(shared / "store"))
    shared.chmod(0o1777)
    assert ids(root, shared / "store") == ["DEMO-1"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    with pytest.raises(StoreError, match="belongs to another user"):
        secure_folder(str(folder), str(root))


def test_a_planted_store_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache directory inside the checkout, as some CI systems set it up, with files that a commit brought."""
    root = make_kb(tmp_path)
    (root / ".git").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / ".cache"))
    planted = Path(default_folder(str(root)))
    evil = make_kb(tmp_path / "evil", {"rules/demo/EVIL-1.md": rule("EVIL-1")})
    with open_store(str(evil), str(tmp_path / "made")) as store:
        store.connection.execute("UPDATE meta SET value = ? WHERE key = 'root'", (str(root),))
    planted.parent.mkdir(parents=True)
    (tmp_path / "made").rename(planted)
    with open_store(str(root)) as store:
        assert store.folder is None
        assert "checkout" in store.notes[0]
        assert [row.name for row in store.documents(Kind.RULE)] == ["DEMO-1"]


def test_a_folder_that_cannot_be_made_is_answered_from_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    root = make_kb(tmp_path)
    with open_store(str(root)) as store:
        assert store.folder is None
        assert "answering from memory" in store.notes[0]
    assert matched(root, "src/a.py") == ["DEMO-1"]


@pytest.fixture
def read_only(tmp_path: Path) -> Path:
    """A folder on a file system that is mounted read-only, with a store of the smallest knowledge base in it."""
    folder = tmp_path / "mounted"
    folder.mkdir(mode=0o700)
    ids(make_kb(tmp_path), folder)
    settle()
    ids(tmp_path / "kb", folder)  # the stamps are trusted from here on
    with mounted_read_only(folder):
        yield folder


def test_a_read_only_store_still_answers(tmp_path: Path, read_only: Path) -> None:
    root = tmp_path / "kb"
    with open_store(str(root), str(read_only)) as store:
        assert store.folder == str(read_only)
        assert store.stats.kept == 2
    (root / "rules/demo/DEMO-2.md").write_text(rule("DEMO-2"))
    with pytest.raises(StoreError, match="readonly"):
        open_store(str(root), str(read_only))


def test_a_read_only_cache_with_changed_content_is_answered_from_memory(
    tmp_path: Path, read_only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "kb"
    monkeypatch.setattr("rulebook.store.opening.default_folder", lambda _: str(read_only))
    (root / "rules/demo/DEMO-2.md").write_text(rule("DEMO-2"))
    with open_store(str(root)) as store:
        assert "cannot be written" in store.notes[0]
        assert [row.name for row in store.documents(Kind.RULE)] == ["DEMO-1", "DEMO-2"]


def test_a_full_disk_is_answered_from_memory(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {f"rules/demo/R-{n}.md": rule(f"R-{n}", body="word " * 400) for n in range(60)})
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from rulebook.store.opening import open_store\n"
        "from rulebook.model import Kind\n"
        "with open_store(sys.argv[1]) as store:\n"
        "    print(store.folder, len(store.documents(Kind.RULE)), store.notes)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("None 60 ")
    assert "answering from memory" in done.stdout


# --- damage, kills and company ----------------------------------------------------------------


def environment(tmp_path: Path) -> dict[str, str]:
    # No bytecode: a process that is killed, or short of disk, would leave half of it for the next one.
    settings = {"PYTHONPATH": SRC, "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    return {"PATH": os.environ["PATH"], "HOME": "/", **settings}


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 3])


def zero(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def scribble(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for start in range(4096, len(data) - 64, 4096):
        data[start : start + 64] = b"\xde\xad\xbe\xef" * 16
    file.write_bytes(data)


def overwrite(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(5000))


def empty(file: Path) -> None:
    file.write_bytes(b"")


def age(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 999")
    connection.close()


def gut(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("DROP TABLE document")
    connection.close()


@pytest.mark.parametrize(
    "damage", [truncate, zero, scribble, overwrite, empty, age, gut, Path.unlink], ids=lambda f: f.__name__
)
def test_a_damaged_store_is_built_again(tmp_path: Path, damage) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    assert ids(root, folder) == ["DEMO-1"]
    (file,) = folder.glob("catalog-*.db")
    damage(file)
    assert matched(root, "src/a.py", folder=folder) == ["DEMO-1"]
    assert matched(root, "src/a.py", folder=folder) == ["DEMO-1"]


@pytest.mark.parametrize("damage", [truncate, zero, scribble, overwrite, empty, Path.unlink], ids=lambda f: f.__name__)
def test_a_folder_in_which_every_file_is_damaged_is_filled_again(tmp_path: Path, damage) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    assert ids(root, folder) == ["DEMO-1"]
    for file in folder.iterdir():
        damage(file)
    assert matched(root, "src/a.py", folder=folder) == ["DEMO-1"]
    assert matched(root, "src/a.py", folder=folder) == ["DEMO-1"]


@pytest.mark.parametrize("table", ["token", "scope"])
def test_damage_that_only_a_query_meets_is_said_and_gone_with_the_next_run(tmp_path: Path, table: str) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    ids(root, folder)
    settle()
    ids(root, folder)  # from here on the content is not read again
    (file,) = folder.glob("catalog-*.db")
    connection = sqlite3.connect(file)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    data = bytearray(file.read_bytes())
    data[(page - 1) * size : page * size] = b"\xde\xad\xbe\xef" * (size // 4)
    file.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        matched(root, "src/a.py", folder=folder)
    assert matched(root, "src/a.py", folder=folder) == ["DEMO-1"]


@pytest.mark.parametrize("text", [b"", b"catalog-no-such.db", b"../../etc/passwd", b"\xff", b"x" * 5000])
def test_a_damaged_pointer_is_written_again(tmp_path: Path, text: bytes) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    ids(root, folder)
    (folder / "current").write_bytes(text)
    assert ids(root, folder) == ["DEMO-1"]


def test_a_store_of_another_root_is_not_taken(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    one = make_kb(tmp_path / "one")
    other = make_kb(tmp_path / "other", {"rules/demo/OTHER-1.md": rule("OTHER-1")})
    assert ids(one, folder) == ["DEMO-1"]
    assert ids(other, folder) == ["OTHER-1"]
    assert ids(one, folder) == ["DEMO-1"]


BUILD = "import sys; from rulebook.store.opening import open_store; open_store(sys.argv[1], sys.argv[2]).close()"


def start(root: Path, folder: Path, tmp_path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", BUILD, str(root), str(folder)], env=environment(tmp_path))


def test_a_build_can_be_killed_at_any_moment(tmp_path: Path) -> None:
    files = {f"rules/demo/R-{n}.md": rule(f"R-{n}") for n in range(120)}
    root, folder = make_kb(tmp_path, files), tmp_path / "store"
    pick = random.Random(1)
    began = time.perf_counter()
    with start(root, tmp_path / "whole", tmp_path) as process:
        process.wait()
    whole = time.perf_counter() - began
    for turn in range(12):
        (root / f"rules/demo/R-{turn}.md").write_text(rule(f"R-{turn}", title=f"Edited in turn {turn}"))
        with start(root, folder, tmp_path) as process:
            time.sleep(whole * pick.random())
            process.send_signal(signal.SIGKILL)
        if turn % 4 == 3:
            with open_store(str(root), str(folder)) as store:
                rows = store.documents(Kind.RULE)
                assert len(rows) == 120
                assert rows[turn].title == f"Edited in turn {turn}"
            assert len(matched(root, "src/a.py", folder=folder)) == 120


#: Opens a store, and dies at a call of a database or of the file system; prints the number of those calls before.
DIES = """
import os, signal, sys
from rulebook.store import compilation
from rulebook.store.opening import open_store

calls = 0
last = int(sys.argv[3])

watched = {"connect", "execute", "executemany", "executescript", "unlink", "replace", "open"}

def count(frame, event, function):
    global calls
    if event == "c_call" and function.__name__ in watched:
        calls += 1
        if calls == last:
            os.kill(os.getpid(), signal.SIGKILL)

sys.setprofile(count)
open_store(sys.argv[1], sys.argv[2]).close()
sys.setprofile(None)
print(calls)
"""


def die(root: Path, folder: Path, tmp_path: Path, call: int) -> str:
    """What a process printed that was killed at its ``call``-th call, if it came that far."""
    command = [sys.executable, "-c", DIES, str(root), str(folder), str(call)]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.stdout


def test_the_next_run_removes_what_a_killed_build_left(tmp_path: Path) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    calls = int(die(root, tmp_path / "whole", tmp_path, 0))
    assert calls > 30
    left = 0
    for call in range(1, calls + 1, calls // 20):
        (folder / "current").unlink(missing_ok=True)
        assert die(root, folder, tmp_path, call) == ""
        left += len(list(folder.glob("*"))) > 2 if folder.exists() else 0
        assert matched(root, "src/a.py", folder=folder) == ["DEMO-1"]
        (file,) = folder.glob("catalog-*")
        assert sorted(folder.iterdir()) == sorted([folder / "building", file, folder / "current"])
    assert left > 5


def test_files_that_another_process_works_with_stay(tmp_path: Path) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    ids(root, folder)
    (file,) = folder.glob("catalog-*")
    with open_store(str(root), str(folder)) as writer:
        writer.connection.execute("BEGIN IMMEDIATE")
        writer.connection.execute("UPDATE meta SET value = '' WHERE key = 'seen'")
        (folder / "current").unlink()
        assert ids(root, folder) == ["DEMO-1"]
        writer.connection.execute("COMMIT")
    assert file.exists()
    (folder / "current").unlink()
    assert ids(root, folder) == ["DEMO-1"]
    assert not file.exists()
    assert len(list(folder.iterdir())) == 3


def test_knowledge_bases_that_share_a_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    roots = [make_kb(tmp_path / name, {f"rules/demo/{name}-1.md": rule(f"{name}-1")}) for name in ("ONE", "TWO")]
    folder = tmp_path / "store"
    for _ in range(3):
        running = [start(root, folder, tmp_path) for root in roots * 2]
        assert [process.wait() for process in running] == [0] * 4
    for name, root in zip(("ONE", "TWO"), roots, strict=True):
        assert ids(root, folder) == [f"{name}-1"]
        assert len(list(folder.iterdir())) == 3


def test_several_processes_build_and_read_at_once(tmp_path: Path) -> None:
    root, folder = make_kb(tmp_path, {f"rules/demo/R-{n}.md": rule(f"R-{n}") for n in range(60)}), tmp_path / "store"
    for turn in range(2):
        (root / "rules/demo/R-0.md").write_text(rule("R-0", title=f"Turn {turn}"))
        running = [start(root, folder, tmp_path) for _ in range(4)]
        assert [process.wait() for process in running] == [0] * 4
        with open_store(str(root), str(folder)) as store:
            rows = store.documents(Kind.RULE)
            assert (len(rows), rows[0].title) == (60, f"Turn {turn}")
        assert len(list(folder.glob("catalog-*"))) == 1


def test_a_reader_keeps_its_view_while_another_process_builds_anew(tmp_path: Path) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    with open_store(str(root), str(folder)) as reader:
        (folder / "current").unlink()
        assert ids(root, folder) == ["DEMO-1"]
        assert [row.name for row in reader.documents(Kind.RULE)] == ["DEMO-1"]
