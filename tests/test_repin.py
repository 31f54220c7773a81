"""Re-pinning: what is offered, and that a write changes nothing but the pins."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basekit import pin, target, write_rule
from gitrepo import GitRepo
from mounts import mounted_read_only
from rulebook.catalog import load
from rulebook.checkouts import CheckoutFinder
from rulebook.editing import EditError, Replacement, refuse_dirty, replace_scalars, set_values, write_atomically
from rulebook.metadata import split_document
from rulebook.repin import Proposal, propose, write
from rulebook.verdicts import State

SHA, NEW = "0123456789" * 4, "9876543210" * 4
OLD_PIN, NEW_PIN = f"demo@{SHA}:a.py", f"demo@{NEW}:lib/b.py#f"


def offers(root: Path, repo: GitRepo, *, fresh: bool = False, unseen: bool = False) -> list[Proposal]:
    catalog = load(str(root))
    finder = CheckoutFinder({"target": str(repo.path)}, environ=repo.environ, config_folder=str(root / "none"))
    return propose(catalog.rules, catalog.config, finder, fresh=fresh, unseen=unseen)


# --- what is offered --------------------------------------------------------------------------


def test_moved_and_changed_pins_are_offered_with_what_changed(tmp_path: Path) -> None:
    repo, old = target(tmp_path)
    places = ["gone.py", "old.txt", "edited.py#edited", "edited.py#keep", "same.py"]
    write_rule(tmp_path / "kb", "R-1", [pin(old, place) for place in places])
    proposals = offers(tmp_path / "kb", repo)
    head = repo.id("main")
    found = {proposal.checked.citation.source.pin.partition(":")[2]: proposal for proposal in proposals}
    assert list(found) == ["gone.py", "old.txt", "edited.py#edited"]
    assert found["gone.py"].new is None
    assert "gone" in found["gone.py"].refused
    assert str(found["old.txt"].new) == pin(head, "new.txt")
    assert str(found["edited.py#edited"].new) == pin(head, "edited.py#edited")
    assert [line for line in found["edited.py#edited"].diff if line[:1] in "+-" and line[:3] not in ("---", "+++")] == [
        "-    return 1",
        "+    return 2",
    ]


def test_fresh_pins_are_brought_to_the_head_on_request(tmp_path: Path) -> None:
    repo, old = target(tmp_path)
    write_rule(tmp_path / "kb", "R-1", [pin(old, "same.py")])
    assert offers(tmp_path / "kb", repo) == []
    [proposal] = offers(tmp_path / "kb", repo, fresh=True)
    assert str(proposal.new) == pin(repo.id("main"), "same.py")


def test_what_cannot_be_shown_is_renewed_on_request_only(tmp_path: Path) -> None:
    repo, _ = target(tmp_path)
    sources = [pin(SHA, "same.py#same"), pin(SHA, "same.py#L1"), pin(SHA, "nowhere.py"), "unknown"]
    write_rule(tmp_path / "kb", "R-1", sources)
    assert [proposal.new for proposal in offers(tmp_path / "kb", repo)] == [None] * 4
    new = [str(proposal.new or "") for proposal in offers(tmp_path / "kb", repo, unseen=True)]
    assert new == [pin(repo.id("main"), "same.py#same"), "", "", ""]


def test_writing_makes_the_rule_fresh_and_touches_nothing_else(tmp_path: Path) -> None:
    repo, old = target(tmp_path)
    path = write_rule(tmp_path / "kb", "R-1", [pin(old, "old.txt"), pin(old, "edited.py#edited")])
    before = path.read_bytes()
    assert write(str(tmp_path / "kb"), offers(tmp_path / "kb", repo)) == ["rules/R-1.md"]
    head = repo.id("main")
    assert path.read_bytes() == before.replace(old.encode(), head.encode()).replace(b":old.txt", b":new.txt")
    assert offers(tmp_path / "kb", repo) == []


def test_what_was_noted_is_renewed_with_the_pin(tmp_path: Path) -> None:
    repo, old = target(tmp_path)
    path = write_rule(tmp_path / "kb", "R-1", [])
    blob = repo.id(f"{old}:edited.py")
    sources = (
        f"sources:\n  - pin: {pin(old, 'edited.py')}   # read twice\n    blob: '{blob}'\n    url: https://x.invalid\n"
    )
    path.write_text(path.read_text().replace("sources: []\n", sources))
    before = path.read_text()
    write(str(tmp_path / "kb"), offers(tmp_path / "kb", repo))
    assert path.read_text() == before.replace(old, repo.id("main")).replace(blob, repo.id("main:edited.py"))
    assert [p.checked.verdict.state for p in offers(tmp_path / "kb", repo, fresh=True)] == [State.FRESH]


def test_a_page_of_rules_is_written_once(tmp_path: Path) -> None:
    repo, old = target(tmp_path)
    path = write_rule(tmp_path / "kb", "R-1", [pin(old, "same.py")]).with_name("page.md")
    path.write_text(
        f'---\nrepo: target\ntitle: A page\napplies_to: ["**"]\nsources: ["{pin(old, "edited.py")}"]\n---\n'
        "\n## P-1 — One\n\nText.\n\n## P-2 — Two\n\nText.\n"
    )
    before = path.read_text()
    proposals = offers(tmp_path / "kb", repo)
    assert [proposal.checked.citation.owner for proposal in proposals] == ["P-1", "P-2"]
    assert write(str(tmp_path / "kb"), proposals) == ["rules/page.md"]
    assert path.read_text() == before.replace(old, repo.id("main"))


# --- not one byte else ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "line"),
    [
        (f"sources: {OLD_PIN}", 2),
        (f"sources: '{OLD_PIN}'", 2),
        (f'sources: ["x", "{OLD_PIN}"]', 2),
        (f"sources: [ {OLD_PIN} , y ] # two", 2),
        (f"sources:\n- {OLD_PIN}  # why", 3),
        (f"sources:\n    -   '{OLD_PIN}'", 3),
        (f"# first\n\nsources:\n  - y\n  - pin: {OLD_PIN}\n    url: https://example.invalid/#x", 6),
        (f"sources: [{{pin: '{OLD_PIN}', url: u}}]", 2),
        (f"title: 'It''s: \"so\"'\nsources: [\n  {OLD_PIN},\n]\ntags: [a,   b]", 4),
        (f"x: &a [1, 2]\ny: *a\nsources: {OLD_PIN}\n\n\n", 4),
        (f"标题: 规则 🎉\nsources: ['{OLD_PIN}'] # 说明", 3),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "BOM"])
def test_only_the_pin_changes(written: str, line: int, ending: str, mark: str) -> None:
    body = "\n---\nsources: " + OLD_PIN + "\n---\n\ttext  \n"
    data = (mark + f"---\n{written}\n---\n{body}".replace("\n", ending)).encode()
    edited = replace_scalars(data, [Replacement(line, OLD_PIN, NEW_PIN)], "r.md")
    head, tail = data.rsplit(ending.encode() + b"---", 2)[0], data[len(data.rsplit(ending.encode() + b"---", 2)[0]) :]
    assert edited == head.replace(OLD_PIN.encode(), NEW_PIN.encode()) + tail


def test_a_path_that_plain_yaml_would_misread_is_quoted() -> None:
    new = f"demo@{NEW}:with space: and #hash.txt"
    data = f"---\nsources:\n  - {OLD_PIN}   # why\n---\n".encode()
    edited = replace_scalars(data, [Replacement(3, OLD_PIN, new)], "r.md").decode()
    assert edited == f'---\nsources:\n  - "{new}"   # why\n---\n'
    assert split_document(edited, "r.md").metadata.values["sources"] == [new]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (f"---\nsources: {OLD_PIN}\n---\n", 3, "is not found there"),
        ("---\nsources: other\n---\n", 2, "is not found there"),
        (f"---\nsources: [{OLD_PIN}, {OLD_PIN}]\n---\n", 2, "is not found there"),
        (f'---\nsources: "demo@{SHA}:a\\x2epy"\n---\n', 2, "with escapes"),
        (f"sources: {OLD_PIN}\n", 1, "has no frontmatter"),
        (f"---\nsources: {OLD_PIN}\n", 2, "has no frontmatter"),
        (f"---\nsources: [{OLD_PIN}\n---\n", 2, "is no YAML"),
        (f"---\n- {OLD_PIN}\n---\n", 2, "no list of 'key: value'"),
        (f"---\nx: 1\rsources: {OLD_PIN}\n---\n", 2, "lone carriage return"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused(text: str, line: int, message: str) -> None:
    with pytest.raises(EditError, match=message):
        replace_scalars(text.encode(), [Replacement(line, OLD_PIN, NEW_PIN)], "r.md")


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(EditError, match="is not UTF-8"):
        replace_scalars(b"---\nsources: \xff\n---\n", [], "r.md")


@given(
    st.lists(
        st.sampled_from(["a: 1", "# note", "", "b: [x, 'y']", "c:\n  - d: e", 'f: "é 🎉"', "g: |\n  h\n  i"]),
        unique=True,
    ),
    st.integers(0, 7),
    st.sampled_from(["\n", "\r\n"]),
)
def test_every_other_byte_stays(lines: list[str], at: int, ending: str) -> None:
    lines = [*lines[:at], f"sources: ['{OLD_PIN}']", *lines[at:]]
    text = "---\n" + "\n".join(lines) + "\n---\nBody.\n"
    line = text[: text.index("sources:")].count("\n") + 1
    data = text.replace("\n", ending).encode()
    edited = replace_scalars(data, [Replacement(line, OLD_PIN, NEW_PIN)], "r.md")
    assert edited == data.replace(OLD_PIN.encode(), NEW_PIN.encode())


@pytest.mark.parametrize(
    ("frontmatter", "values", "expected"),
    [
        ("id: A\nstatus: active\nrepo: x\n", {"status": "retired"}, "id: A\nstatus: retired\nrepo: x\n"),
        (
            "id: A\nstatus: active   # so far\nrepo: x\n",
            {"status": "retired", "because": 'it said "no": never'},
            'id: A\nstatus: retired   # so far\nbecause: "it said \\"no\\": never"\nrepo: x\n',
        ),
        ("id: A\n", {"status": "retired"}, "id: A\nstatus: retired\n"),
        ("id: A\nstatus:\nrepo: x\n", {"status": "retired"}, "id: A\nstatus: retired\nrepo: x\n"),
        ("superseded_by:\n  - B\n  - C\nid: A\n", {"superseded_by": ["D"]}, "superseded_by:\n  [D]\nid: A\n"),
    ],
)
def test_values_are_set_in_their_place(frontmatter: str, values: dict[str, str | list[str]], expected: str) -> None:
    for ending in ("\n", "\r\n"):
        data = f"---\n{frontmatter}---\n\nText.\n".replace("\n", ending).encode()
        assert (
            set_values(data, values, "r.md", after="status")
            == f"---\n{expected}---\n\nText.\n".replace("\n", ending).encode()
        )


# --- files ------------------------------------------------------------------------------------


def test_dirty_files_are_refused(tmp_path: Path) -> None:
    repo, old = target(tmp_path)
    kb = GitRepo(tmp_path / "kb")
    path = write_rule(kb.path, "R-1", [pin(old, "edited.py")])
    proposals = offers(kb.path, repo)
    with pytest.raises(EditError, match="is not committed"):
        write(str(kb.path), proposals)
    kb.commit()
    path.write_text(path.read_text() + "\nMore.\n")
    with pytest.raises(EditError, match="changes that are not committed"):
        write(str(kb.path), proposals)
    assert old in path.read_text()
    assert write(str(kb.path), proposals, allow_dirty=True) == ["rules/R-1.md"]
    assert path.read_text().endswith("\nMore.\n")


def test_a_checkout_with_other_line_endings_is_not_dirty(tmp_path: Path) -> None:
    kb = GitRepo(tmp_path / "kb")
    kb.commit({"a.md": "one\ntwo\n"})
    (kb.path / "a.md").write_bytes(b"one\r\ntwo\r\n")
    refuse_dirty(str(kb.path / "a.md"), "a.md")


def test_one_refused_file_keeps_all_from_being_written(tmp_path: Path) -> None:
    repo, old = target(tmp_path)
    kb = GitRepo(tmp_path / "kb")
    first = write_rule(kb.path, "R-1", [pin(old, "edited.py")])
    kb.commit()
    write_rule(kb.path, "R-2", [pin(old, "edited.py")])
    with pytest.raises(EditError):
        write(str(kb.path), offers(kb.path, repo))
    assert old in first.read_text()


def test_one_file_that_cannot_be_written_leaves_all_as_they_were(tmp_path: Path) -> None:
    repo, old = target(tmp_path)
    kb = tmp_path / "kb"
    first = write_rule(kb, "R-1", [pin(old, "edited.py")])
    second = write_rule(kb, "R-2", [pin(old, "edited.py")])
    (kb / "rules" / "z").mkdir()
    second = second.rename(kb / "rules" / "z" / "R-2.md")
    texts = first.read_bytes(), second.read_bytes()
    proposals = offers(kb, repo)
    assert len(proposals) == 2
    with mounted_read_only(kb / "rules" / "z"), pytest.raises(EditError, match=r"z/R-2\.md cannot be written"):
        write(str(kb), proposals)
    assert (first.read_bytes(), second.read_bytes()) == texts
    assert write(str(kb), proposals) == ["rules/R-1.md", "rules/z/R-2.md"]


def test_a_write_keeps_the_mode_and_leaves_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(str(path), b"new", b"old", "a.md")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.md"]


def test_what_was_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"theirs")
    with pytest.raises(EditError, match="changed meanwhile"):
        write_atomically(str(path), b"new", b"old", "a.md")
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_file_that_is_no_more_is_said(tmp_path: Path) -> None:
    with pytest.raises(EditError, match="cannot be written"):
        write_atomically(str(tmp_path / "a.md"), b"new", b"old", "a.md")
