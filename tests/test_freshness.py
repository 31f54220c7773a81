"""Whole knowledge bases against clones: where clones are found, what is asked, what `applies` is told."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from basekit import CONFIG, EDITED, SAME, pin, target, write_rule
from gitrepo import GitRepo
from rulebook.catalog import load
from rulebook.checkouts import CheckoutFinder
from rulebook.config import Target
from rulebook.diffs import parse_diff
from rulebook.edits import edited_sources
from rulebook.errors import GitError, UnreadableInput, UsageError
from rulebook.freshness import StaleReport, check_documents, freshness_of
from rulebook.git.repository import Repository
from rulebook.ranges import from_git
from rulebook.store.opening import open_store
from rulebook.verdicts import State

if TYPE_CHECKING:
    from rulebook.store.query import Store

TARGET = Target(alias="target", url="https://example.invalid/owner/target")


@pytest.fixture
def base(tmp_path: Path) -> tuple[Path, GitRepo, str]:
    """A knowledge base whose rules have one pin of each state."""
    repo, old = target(tmp_path)
    root = tmp_path / "kb"
    write_rule(root, "R-1", [pin(old, "gone.py"), pin(old, "same.py")])
    write_rule(root, "R-2", [pin(old, "old.txt"), pin(old, "edited.py#edited")])
    write_rule(root, "R-3", [pin(old, "edited.py#keep")])
    write_rule(root, "R-4", ["unknown", pin("1234567890" * 4, "same.py"), "target@main:same.py"])
    write_rule(root, "R-5", [f"elsewhere@{old}:same.py"])
    return root, repo, old


def stale(root: Path, clone: GitRepo | None, **options: object) -> StaleReport:
    catalog = load(str(root))
    named = {"target": str(clone.path)} if clone is not None else {}
    finder = CheckoutFinder(named, environ={}, config_folder=str(root / "no"), cache_folder=str(root / "no"))
    return check_documents(catalog.documents, catalog.config, finder, **options)  # type: ignore[arg-type]


def states(report: StaleReport) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for checked in report.pins:
        found.setdefault(checked.citation.owner, []).append(checked.verdict.state.value)
    return {owner: sorted(words) for owner, words in sorted(found.items())}


# --- where clones are -------------------------------------------------------------------------


def test_the_first_that_is_named_wins(tmp_path: Path) -> None:
    settings, cache = tmp_path / "config", tmp_path / "cache"
    environ: dict[str, str] = {}
    options: dict[str, str] = {}

    def find() -> tuple[str, str] | None:
        finder = CheckoutFinder(options, environ=environ, config_folder=str(settings), cache_folder=str(cache))
        found = finder.find(TARGET)
        return (found.folder, found.named_by) if found else None

    assert find() is None
    mirror = CheckoutFinder(cache_folder=str(cache)).mirror_path(TARGET)
    os.makedirs(mirror)
    assert find() is None
    (Path(mirror) / "HEAD").write_text("ref: refs/heads/main\n")
    assert find() == (mirror, "rulebook sync")
    settings.mkdir()
    (settings / "config.toml").write_text('[checkouts]\n"owner/target" = "~/target"\n')
    assert find() == (os.path.expanduser("~/target"), str(settings / "config.toml"))
    environ["RULEBOOK_CHECKOUT_TARGET"] = "/srv/target"
    assert find() == ("/srv/target", "RULEBOOK_CHECKOUT_TARGET")
    options["target"] = "here"
    assert find() == ("here", "--checkout")


@pytest.mark.parametrize("text", ["[checkouts\n", "checkouts = 1\n", "[checkouts]\na = 1\n", "\xff"])
def test_a_broken_settings_file_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(UnreadableInput, match=r"config\.toml"):
        CheckoutFinder(environ={}, config_folder=str(tmp_path)).find(TARGET)


def test_mirrors_of_different_urls_are_different(tmp_path: Path) -> None:
    finder = CheckoutFinder(cache_folder=str(tmp_path))
    urls = ["https://a.invalid/o/t", "https://b.invalid/o/t", "https://a.invalid/o/t.git", "../../etc", "/"]
    paths = {finder.mirror_path(Target(alias="t", url=url)) for url in urls}
    assert len(paths) == len(urls)
    assert {os.path.dirname(path) for path in paths} == {str(tmp_path)}


# --- what is asked ----------------------------------------------------------------------------


def test_every_state_of_a_knowledge_base(base: tuple[Path, GitRepo, str]) -> None:
    root, repo, _ = base
    report = stale(root, repo)
    assert states(report) == {
        "R-1": ["fresh", "gone"],
        "R-2": ["changed", "moved"],
        "R-3": ["fresh"],
        "R-4": ["invalid", "unverifiable", "unverifiable"],
        "R-5": ["unverifiable"],
    }
    assert [pin.verdict.state.rank for pin in report.pins] == sorted(pin.verdict.state.rank for pin in report.pins)
    assert report.examined_rules == 5
    assert {alias: judged and judged.commit for alias, judged in report.heads.items()} == {
        "target": repo.id("main"),
        "elsewhere": None,
    }
    assert any("knows no repository 'elsewhere'" in note for note in report.notes)


def test_without_a_clone_nothing_is_fresh(base: tuple[Path, GitRepo, str]) -> None:
    root, _, _ = base
    report = stale(root, None)
    assert set(report.summary) - {state for state, number in report.summary.items() if not number} == {
        State.INVALID,
        State.UNVERIFIABLE,
    }
    assert any("rulebook sync target" in note for note in report.notes)


def test_a_clone_that_the_command_names_must_be_one(base: tuple[Path, GitRepo, str], tmp_path: Path) -> None:
    root, _, _ = base
    (tmp_path / "plain").mkdir()
    catalog = load(str(root))
    with pytest.raises(GitError, match="no git repository"):
        check_documents(catalog.documents, catalog.config, CheckoutFinder({"target": str(tmp_path / "plain")}))
    finder = CheckoutFinder({}, environ={"RULEBOOK_CHECKOUT_TARGET": str(tmp_path / "plain")})
    report = check_documents(catalog.documents, catalog.config, finder)
    assert State.FRESH not in [pin.verdict.state for pin in report.pins]
    assert any("RULEBOOK_CHECKOUT_TARGET" in note for note in report.notes)


def test_a_default_branch_that_is_not_there_is_no_stop(base: tuple[Path, GitRepo, str]) -> None:
    root, repo, _ = base
    (root / "rulebook.toml").write_text(CONFIG.replace('"main"', '"trunk"'))
    report = stale(root, repo)
    assert report.heads["target"] is None
    assert report.summary[State.FRESH] == 0
    assert any("no branch 'trunk'" in pin.verdict.because for pin in report.pins)


def test_narrowing(base: tuple[Path, GitRepo, str]) -> None:
    root, repo, old = base
    assert states(stale(root, repo, paths=["*.txt"])) == {"R-2": ["moved"]}
    assert "R-5" not in states(stale(root, repo, repo="target"))
    assert states(stale(root, repo, since=old, repo="target")) == {
        "R-1": ["gone"],
        "R-2": ["changed", "moved"],
        "R-3": ["fresh"],
    }
    assert states(stale(root, repo, since=repo.id("main"))) == {"R-5": ["unverifiable"]}
    assert states(stale(root, repo, since="2000-01-01", repo="target"))["R-1"] == ["fresh", "gone"]
    assert states(stale(root, repo, since="2030-01-01", repo="target")) == {}
    assert stale(root, repo, paths=["*.txt"]).skipped == {"of other paths": 6, "without a readable pin": 2}
    with pytest.raises(UsageError, match="names no commit"):
        stale(root, repo, since="nonsense")


def test_pins_that_many_rules_share_are_checked_once_and_told_for_each(tmp_path: Path) -> None:
    repo, old = target(tmp_path)
    for number in range(4):
        write_rule(tmp_path / "kb", f"R-{number}", [pin(old, "gone.py")])
    assert states(stale(tmp_path / "kb", repo)) == {f"R-{number}": ["gone"] for number in range(4)}


def test_progress_ends_at_the_number_of_pins(base: tuple[Path, GitRepo, str]) -> None:
    root, repo, _ = base
    calls: list[tuple[int, int]] = []
    stale(root, repo, progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert calls[-1] == (9, 9)


# --- names that rules cite --------------------------------------------------------------------


def test_names_that_are_no_more(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "target")
    old = repo.commit(
        {"a.py": "class ConnectorFactory:\n    pass\n\n\ndef parse_extra():\n    pass\n\n\nuse(other_thing)\n"}
    )
    repo.commit({"a.py": "def parse_extra():\n    pass\n", "NEWS.md": "`other_thing` stays.\n"})
    body = (
        "`ConnectorFactory` makes them, `parse_extra()` reads them, `other_thing` helps.\n\n"
        "An English `word`, and `never_there`, and `README.md`.\n"
    )
    write_rule(tmp_path / "kb", "R-1", [pin(old, "a.py")], body=body)
    write_rule(tmp_path / "kb", "R-2", [pin(old, "a.py")], body=body, extra="because: x\n")
    retired = tmp_path / "kb" / "rules" / "R-2.md"
    retired.write_text(retired.read_text().replace("status: active", "status: retired"))
    report = stale(tmp_path / "kb", repo)
    assert [(lost.owner, lost.name, lost.location.path) for lost in report.identifiers] == [
        ("R-1", "ConnectorFactory", "rules/R-1.md")
    ]
    text = (tmp_path / "kb" / "rules" / "R-1.md").read_text().split("\n")
    assert "ConnectorFactory" in text[report.identifiers[0].location.line - 1]
    assert "nowhere on the default branch" in report.identifiers[0].because
    assert stale(tmp_path / "kb", repo, identifiers=False).identifiers == ()


def test_a_name_that_is_only_mentioned_is_said_to_be(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "target")
    old = repo.commit({"a.py": "class ConnectorFactory:\n    pass\n"})
    repo.commit({"a.py": "x = 1\n", "NEWS.md": "ConnectorFactory was removed.\n"})
    write_rule(tmp_path / "kb", "R-1", [pin(old, "a.py")], body="`ConnectorFactory` makes them.\n")
    [lost] = stale(tmp_path / "kb", repo).identifiers
    assert "only mentioned now, in NEWS.md" in lost.because


# --- for `applies` ----------------------------------------------------------------------------


@pytest.fixture
def store(base: tuple[Path, GitRepo, str], tmp_path: Path) -> Iterator[Store]:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o700)
    with open_store(str(base[0]), str(folder)) as store:
        yield store


def test_the_worst_state_of_each_rule(base: tuple[Path, GitRepo, str], store: Store) -> None:
    repository = Repository(base[1].path, environ=base[1].environ)
    assert freshness_of(store, "target", repository) == {
        "R-1": State.GONE,
        "R-2": State.MOVED,
        "R-3": State.FRESH,
        "R-4": State.UNVERIFIABLE,
    }
    assert freshness_of(store, "nowhere", repository) == {}


def test_freshness_is_kept_until_the_head_or_the_content_changes(
    base: tuple[Path, GitRepo, str], store: Store, tmp_path: Path
) -> None:
    root, repo, old = base
    log, stub = tmp_path / "log", tmp_path / "bin" / "git"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexec "{shutil.which("git")}" "$@"\n')
    stub.chmod(0o755)
    repository = Repository(
        repo.path, environ={**repo.environ, "PATH": f"{stub.parent}{os.pathsep}{os.environ['PATH']}"}
    )
    first = freshness_of(store, "target", repository)
    log.write_text("")
    assert freshness_of(store, "target", repository) == first
    assert log.read_text() == ""
    repo.git("pack-refs", "--all")
    assert freshness_of(store, "target", repository) == first
    assert log.read_text() == ""
    repo.commit({"edited.py": None})
    assert freshness_of(store, "target", repository)["R-3"] is State.GONE
    log.write_text("")
    folder = store.folder
    store.close()
    write_rule(root, "R-3", [pin(old, "same.py")])
    with open_store(str(root), folder) as again:
        assert freshness_of(again, "target", repository)["R-3"] is State.FRESH
    assert log.read_text()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 1, "rules": {"R-1": "fine"}}', "\0"])
def test_a_damaged_cache_is_made_again(base: tuple[Path, GitRepo, str], store: Store, content: str) -> None:
    repository = Repository(base[1].path, environ=base[1].environ)
    first = freshness_of(store, "target", repository)
    assert store.folder
    (Path(store.folder) / "freshness-target.json").write_text(content)
    assert freshness_of(store, "target", repository) == first


def test_a_cache_of_states_that_are_none_is_made_again(base: tuple[Path, GitRepo, str], store: Store) -> None:
    repository = Repository(base[1].path, environ=base[1].environ)
    freshness_of(store, "target", repository)
    path = Path(str(store.folder)) / "freshness-target.json"
    data = json.loads(path.read_text())
    data["rules"]["R-1"] = "splendid"
    path.write_text(json.dumps(data))
    assert freshness_of(store, "target", repository)["R-1"] is State.GONE


def test_a_clone_without_the_default_branch_tells_nothing(store: Store, tmp_path: Path) -> None:
    other = GitRepo(tmp_path / "other")
    assert freshness_of(store, "target", Repository(other.path, environ=other.environ)) == {}


EDITS = {
    "removed file": ({"same.py": None}, "gone", "removes same.py"),
    "renamed file": ({"same.py": None, "lib/same.py": SAME}, "moved", "moves same.py to lib/same.py"),
    "edited file": ({"same.py": SAME + "x = 1\n"}, "changed", "edits same.py"),
    "other file": ({"other.py": SAME}, "", ""),
    "removed definition": ({"edited.py": EDITED[: EDITED.index("\n\n\n") + 1]}, "gone", "removes edited"),
    "edited definition": ({"edited.py": EDITED.replace("return 1", "return 5")}, "changed", "edits edited"),
    "definition beside it": ({"edited.py": EDITED.replace("return 0", "return 7")}, "", ""),
    "moved definition": (
        {"edited.py": EDITED[: EDITED.index("\n\n\n") + 1], "b.py": EDITED[EDITED.index("def edited") :]},
        "moved",
        "moves edited to b.py",
    ),
    "file moved": ({"edited.py": None, "lib/edited.py": EDITED}, "moved", "moves edited.py to lib/edited.py"),
    "removed lines": ({"lines.txt": "one\ntwo\n"}, "gone", "removes L3-L4"),
    "edited lines": ({"lines.txt": "one\ntwo\nthree!\nfour\nfive\n"}, "changed", "edits L3-L4"),
    "lines beside them": ({"lines.txt": "zero\none\ntwo\nthree\nfour\nfive\n"}, "", ""),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_a_change_does_to_pinned_places(tmp_path: Path, name: str) -> None:
    edit, state, because = EDITS[name]
    repo = GitRepo(tmp_path / "target")
    files = {"same.py": SAME, "edited.py": EDITED, "lines.txt": "one\ntwo\nthree\nfour\nfive\n"}
    old = repo.commit(files)
    places = ["same.py", "edited.py#edited", "lines.txt#L3-L4"]
    write_rule(tmp_path / "kb", "R-1", [pin(old, place) for place in places])
    new = repo.commit(edit)
    change = from_git(Repository(repo.path, environ=repo.environ), f"{old}..{new}")
    with open_store(str(tmp_path / "kb"), str(tmp_path / "store")) as store:
        found = edited_sources(store, change, "target")
    assert [edit.state.value for edit in found] == ([state] if state else [])
    assert [edit.owner for edit in found] == (["R-1"] if state else [])
    assert all(because in edit.because for edit in found)


def test_a_bare_diff_tells_what_it_can(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "target")
    old = repo.commit({"a.py": EDITED, "lines.txt": "one\ntwo\nthree\nfour\nfive\n"})
    write_rule(tmp_path / "kb", "R-1", [pin(old, "a.py#edited"), pin(old, "lines.txt#L3-L4"), pin(old, "lines.txt#L1")])
    new = repo.commit({"a.py": None, "lines.txt": "one\ntwo\nthree!\nfour\nfive\n"})
    diff = repo.git("diff", old, new)
    with open_store(str(tmp_path / "kb"), str(tmp_path / "store")) as store:
        found = edited_sources(store, parse_diff(diff), "target")
    assert [(edit.pin.partition(":")[2], edit.state.value) for edit in found] == [
        ("a.py#edited", "gone"),
        ("lines.txt#L3-L4", "changed"),
    ]
