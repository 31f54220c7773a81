"""Retired rules, and ids that come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from basekit import write_rule
from gitrepo import GitRepo
from rulebook.catalog import Catalog, load
from rulebook.editing import EditError
from rulebook.errors import UsageError
from rulebook.git.repository import Repository
from rulebook.lifecycle import check_ids, plan_retirement, retire
from rulebook.model import Rule, Status
from rulebook.validate import validate

CONNECTORS = "A connector is registered by its name, and closes its socket when the worker shuts down.\n"
LICENCES = "Each file begins with the two lines that name the licence; generated files are left out of this.\n"


@pytest.fixture
def kb(tmp_path: Path) -> GitRepo:
    """A committed knowledge base of two rules."""
    repo = GitRepo(tmp_path / "kb")
    write_rule(repo.path, "R-1", [], body=CONNECTORS)
    write_rule(repo.path, "R-2", [], body=LICENCES)
    repo.commit()
    return repo


def rule(root: Path, name: str) -> Rule:
    return next(rule for rule in load(str(root)).rules if rule.id == name)


def end(root: Path, name: str, **options: str) -> None:
    values = {"because": "The code is gone.", "since": "2026-11-30", **options}
    retire(plan_retirement(load(str(root)), name, **values))


# --- retire -----------------------------------------------------------------------------------


def test_a_retired_rule_keeps_its_text_and_says_why(kb: GitRepo) -> None:
    path = kb.path / "rules" / "R-1.md"
    before = path.read_text()
    end(kb.path, "r-1", because='It said "never": wrong.')
    found = rule(kb.path, "R-1")
    assert found.status is Status.RETIRED
    assert found.body == rule(kb.path, "R-1").body
    assert found.metadata["because"] == 'It said "never": wrong.'
    assert found.metadata["since"] == "2026-11-30"
    inserted = 'since: 2026-11-30\nbecause: "It said \\"never\\": wrong."\n'
    assert path.read_text() == before.replace("status: active\n", f"status: retired\n{inserted}")
    assert [finding for finding in validate(load(str(kb.path))) if finding.severity == "error"] == []


@pytest.mark.parametrize("linked", [False, True], ids=["copy", "link"])
def test_an_id_that_two_files_have_is_not_retired(kb: GitRepo, linked: bool) -> None:
    path, other = (kb.path / "rules" / name for name in ("R-1.md", 'A "1".md'))
    if linked:
        other.symlink_to(path)
    else:
        other.write_bytes(path.read_bytes())
    kb.commit()
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r'2 documents: rules/A "1".md:1, rules/R-1.md:1'):
        end(kb.path, "r-1")
    assert (path.read_bytes(), other.read_bytes()) == (before, before)


def test_a_superseded_rule_names_its_successor(kb: GitRepo) -> None:
    end(kb.path, "R-1", superseded_by="r-2")
    found = rule(kb.path, "R-1")
    assert (found.status, found.superseded_by) == (Status.SUPERSEDED, ("R-2",))
    assert [finding for finding in validate(load(str(kb.path))) if finding.severity == "error"] == []


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("R-9", {}, "no rule is called"),
        ("R-1", {"because": " "}, "needs one line"),
        ("R-1", {"because": "a\nb"}, "needs one line"),
        ("R-1", {"superseded_by": "R-9"}, "no other rule in force"),
        ("R-1", {"superseded_by": "R-1"}, "no other rule in force"),
    ],
)
def test_what_makes_no_sense_is_refused(kb: GitRepo, name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        end(kb.path, name, **options)


def test_a_rule_ends_once(kb: GitRepo) -> None:
    end(kb.path, "R-1")
    kb.commit()
    with pytest.raises(UsageError, match="is retired already"):
        end(kb.path, "R-1")
    with pytest.raises(UsageError, match="no other rule in force"):
        end(kb.path, "R-2", superseded_by="R-1")


def test_a_dirty_file_is_refused(kb: GitRepo) -> None:
    path = kb.path / "rules" / "R-1.md"
    path.write_text(path.read_text() + "\nMore.\n")
    with pytest.raises(EditError, match="not committed"):
        end(kb.path, "R-1")
    retire(plan_retirement(load(str(kb.path)), "R-1", because="x", since="2026-11-30", allow_dirty=True))
    assert rule(kb.path, "R-1").status is Status.RETIRED


@pytest.mark.parametrize("marker", ["", "<!-- kb:rule status=contested severity=note -->\n\n"], ids=["bare", "marked"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_section_of_a_page_is_marked(tmp_path: Path, marker: str, ending: str) -> None:
    write_rule(tmp_path, "R-1", [])
    page = tmp_path / "rules" / "page.md"
    text = (
        '---\ntitle: A page\nrepo: target\napplies_to: ["**"]\n---\n\n## P-1 — One\n\n'
        f"{marker}First.\n\n## P-2 — Two\n\nSecond.\n"
    )
    page.write_bytes(text.replace("\n", ending).encode())
    end(tmp_path, "P-1", superseded_by="R-1")
    first, second = rule(tmp_path, "P-1"), rule(tmp_path, "P-2")
    assert (first.status, first.superseded_by) == (Status.SUPERSEDED, ("R-1",))
    assert second.status is Status.ACTIVE
    assert "The code is gone." in first.body
    assert "First." in first.body
    if marker:
        assert first.severity == "note"
    assert page.read_bytes().count(b"\r\n") == (page.read_bytes().count(b"\n") if ending == "\r\n" else 0)


# --- ids --------------------------------------------------------------------------------------


def reused(kb: GitRepo) -> list[tuple[str, str]]:
    catalog: Catalog = load(str(kb.path))
    findings = check_ids(catalog, Repository(kb.path, environ=kb.environ))
    assert {finding.code for finding in findings} <= {"id-reused"}
    return [(finding.location.path, finding.message) for finding in findings]


def replace(path: Path, title: str, body: str, status: str = "active") -> None:
    text = path.read_text()
    head = text[: text.index("## What it demands")]
    head = head.replace(f"title: {head.split('title: ')[1].splitlines()[0]}", f"title: {title}")
    head = head.replace("status: active", f"status: {status}").replace("status: retired", f"status: {status}")
    path.write_text(f"{head}## What it demands\n\n{body}")


def test_an_id_of_a_deleted_rule_must_not_come_back_for_another_text(kb: GitRepo) -> None:
    path = kb.path / "rules" / "R-1.md"
    text = path.read_text()
    kb.commit({"rules/R-1.md": None})
    assert reused(kb) == []
    path.write_text(text)
    replace(path, "Files name their licence", LICENCES)
    [(place, message)] = reused(kb)
    assert place == "rules/R-1.md"
    assert "Rule R-1" in message
    kb.commit()
    assert len(reused(kb)) == 1


def test_an_id_of_a_retired_rule_must_not_come_back_for_another_text(kb: GitRepo) -> None:
    path = kb.path / "rules" / "R-1.md"
    end(kb.path, "R-1")
    kb.commit()
    assert reused(kb) == []
    replace(path, "Files name their licence", LICENCES)
    kb.commit()
    assert len(reused(kb)) == 1


def test_what_is_no_second_use(kb: GitRepo) -> None:
    path = kb.path / "rules" / "R-1.md"
    text = path.read_text()
    # Edited, step by step, until nothing is left of the first text.
    for number, body in enumerate((CONNECTORS + LICENCES, LICENCES)):
        replace(path, f"Title {number}", body)
        kb.commit()
    assert reused(kb) == []
    # Deleted and restored, then reworded.
    kb.commit({"rules/R-1.md": None})
    path.write_text(text)
    replace(path, "Title 1", LICENCES)
    kb.commit()
    replace(path, "Files say which licence they have", LICENCES.replace("begins", "starts"))
    kb.commit()
    assert reused(kb) == []
    # Moved.
    (kb.path / "rules" / "target").mkdir()
    path.rename(kb.path / "rules" / "target" / "R-1.md")
    kb.commit()
    assert reused(kb) == []
    # Retired and taken back into force.
    end(kb.path, "R-2")
    kb.commit()
    replace(kb.path / "rules" / "R-2.md", "Rule R-2", LICENCES)
    kb.commit()
    assert reused(kb) == []


def test_a_twin_is_no_second_use(kb: GitRepo) -> None:
    twin = "---\nid: R-1\ntitle: 规则\n---\n\n## 要求\n\n文本。\n"
    kb.commit({"rules/R-1.zh.md": twin})
    kb.commit({"rules/R-1.zh.md": None})
    kb.commit({"rules/R-1.zh.md": twin.replace("文本", "其他")})
    assert reused(kb) == []


def test_a_knowledge_base_in_a_folder_of_its_repository(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    path = write_rule(repo.path / "docs" / "kb", "R-1", [], body=CONNECTORS)
    write_rule(repo.path / "docs" / "kb", "R-2", [])
    repo.commit()
    text = path.read_text()
    path.unlink()
    repo.commit()
    path.write_text(text)
    replace(path, "Files name their licence", LICENCES)
    findings = check_ids(load(str(repo.path / "docs" / "kb")), Repository(repo.path, environ=repo.environ))
    assert [finding.location.path for finding in findings] == ["rules/R-1.md"]
