"""The history of pins, read from real repositories."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitrepo import SYMLINK, Entry, GitRepo
from kb import CONFIG, rule
from rulebook.catalog import is_twin, load
from rulebook.pins import parse_pin
from rulebook.site.history import Extent, PinChange, PinHistory, Repin, compare, pin_history
from rulebook.site.hosts import commit_link, file_link, web_address

A, B, C, D = (letter * 40 for letter in "abcd")
PLACE = "rules/demo/R-1.md"


def pin(commit: str, place: str = "src/a.py#f", alias: str = "demo") -> str:
    return f"{alias}@{commit}:{place}"


def text(*pins: str, identity: str = "R-1", body: str = "Text.\n") -> str:
    """A rule with these pins."""
    return rule(identity, sources="[" + ", ".join(f'"{written}"' for written in pins) + "]", body=body)


def page(*identities: str, pins: Sequence[str] = ()) -> str:
    """A page of rules, which share its pins."""
    sections = "".join(f"\n## {identity} — Title\n\nText.\n" for identity in identities)
    sources = "".join(f'\n  - "{written}"' for written in pins)
    return f'---\ntitle: A page\nrepo: demo\napplies_to: ["**"]\nsources:{sources or " []"}\n---\n{sections}'


@pytest.fixture
def kb(tmp_path: Path) -> GitRepo:
    """A repository with a knowledge base that holds nothing yet."""
    repo = GitRepo(tmp_path / "kb")
    repo.write({"rulebook.toml": CONFIG})
    return repo


def history(kb: GitRepo, folder: str = ".") -> PinHistory:
    root = str(kb.path / folder)
    return pin_history(root, load(root).documents, environ=kb.environ)


def told(kb: GitRepo, identity: str = "R-1", kind: str = "rule", folder: str = ".") -> list[tuple[Any, ...]]:
    """The changes of a document's pins: subject, added, dropped, renewed."""
    changes = history(kb, folder).changes.get((kind, identity), ())
    return [
        (change.subject if change.commit else None, change.added, change.dropped, tuple(map(tuple, change.repinned)))
        for change in changes
    ]


# --- what changed between versions ------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "added", "dropped", "repinned"),
    [
        pytest.param([], [pin(A)], [pin(A)], [], [], id="added"),
        pytest.param([pin(A)], [], [], [pin(A)], [], id="dropped"),
        pytest.param([pin(A)], [pin(B)], [], [], [(pin(A), pin(B))], id="renewed"),
        pytest.param([pin(A), pin(B, "b.py")], [pin(B, "b.py"), pin(A)], None, None, None, id="order alone"),
        pytest.param([pin(A)], [pin(A), pin(A)], None, None, None, id="written twice"),
        pytest.param(
            [pin(A), pin(A, "b.py")],
            [pin(B, "b.py"), pin(B)],
            [],
            [],
            [(pin(A, "b.py"), pin(B, "b.py")), (pin(A), pin(B))],
            id="several places, each by itself, in the new order",
        ),
        pytest.param(
            [pin(A), pin(B)],
            [pin(C), pin(D)],
            [],
            [],
            [(pin(A), pin(C)), (pin(B), pin(D))],
            id="one place at two commits, in order",
        ),
        pytest.param([pin(A), pin(B)], [pin(C)], [pin(C)], [pin(A), pin(B)], [], id="two become one: nobody can tell"),
        pytest.param(
            [pin(A, "a.py#L1-L9")],
            [pin(B, "a.py#L4-L12")],
            [],
            [],
            [(pin(A, "a.py#L1-L9"), pin(B, "a.py#L4-L12"))],
            id="lines moved in their file",
        ),
        pytest.param(
            [pin(A, "old.py")],
            [pin(B, "new/old.py")],
            [],
            [],
            [(pin(A, "old.py"), pin(B, "new/old.py"))],
            id="file moved",
        ),
        pytest.param(
            [pin(A, "old.py"), pin(A, "x.py")],
            [pin(B, "new.py"), pin(B, "x.py")],
            [],
            [],
            [(pin(A, "old.py"), pin(B, "new.py")), (pin(A, "x.py"), pin(B, "x.py"))],
            id="file moved beside a renewed one",
        ),
        pytest.param(
            [pin(A, "a.py"), pin(A, "b.py")],
            [pin(B, "c.py"), pin(B, "d.py")],
            [pin(B, "c.py"), pin(B, "d.py")],
            [pin(A, "a.py"), pin(A, "b.py")],
            [],
            id="two files moved: nobody can tell which",
        ),
        pytest.param(
            [pin(A)], [pin(A, alias="other")], [pin(A, alias="other")], [pin(A)], [], id="another repository is no move"
        ),
        pytest.param(["unknown"], [pin(A)], [pin(A)], ["unknown"], [], id="something known at last"),
        pytest.param(["demo@short:x"], [pin(A)], [pin(A)], ["demo@short:x"], [], id="what was no pin"),
    ],
)
def test_two_versions(
    before: list[str],
    after: list[str],
    added: list[str] | None,
    dropped: list[str] | None,
    repinned: list[tuple[str, str]] | None,
) -> None:
    change = compare([tuple(before)], tuple(after))
    if added is None or dropped is None or repinned is None:
        assert change is None
        return
    assert change is not None
    assert (list(change.added), list(change.dropped)) == (added, dropped)
    assert [tuple(pair) for pair in change.repinned] == repinned


@pytest.mark.parametrize(
    ("parents", "merged", "expected"),
    [
        pytest.param([[pin(A)], [pin(B)]], [pin(B)], None, id="one side is taken"),
        pytest.param(
            [[pin(A), pin(A, "x")], [pin(A), pin(A, "y")]], [pin(A), pin(A, "x"), pin(A, "y")], None, id="both"
        ),
        pytest.param([[pin(A)], [pin(B)]], [pin(C)], ([pin(C)], []), id="neither: what one side had is not both's"),
        pytest.param([[pin(A)], [pin(A)]], [pin(C)], ([], [(pin(A), pin(C))]), id="what both had is renewed"),
        pytest.param([[pin(A)], [pin(A), pin(B, "x")]], [pin(B, "x")], ([], []), id="what both had is dropped"),
    ],
)
def test_a_merge(parents: list[list[str]], merged: list[str], expected: Any) -> None:
    change = compare([tuple(pins) for pins in parents], tuple(merged))
    if expected is None:
        assert change is None
    else:
        assert change is not None
        assert ([*change.added], [tuple(pair) for pair in change.repinned]) == expected


PINS = st.lists(
    st.one_of(
        st.just("unknown"),
        st.builds(
            lambda alias, commit, path, anchor: f"{alias}@{commit * 40}:{path}{anchor}",
            st.sampled_from(["demo", "other"]),
            st.sampled_from("abc"),
            st.sampled_from(["a.py", "b/c.py"]),
            st.sampled_from(["", "#f", "#L1-L2", "#L1"]),
        ),
    ),
    max_size=6,
).map(tuple)


@given(st.lists(PINS, max_size=3), PINS)
def test_a_change_makes_the_new_version_of_the_old_one(before: list[tuple[str, ...]], after: tuple[str, ...]) -> None:
    change = compare(before, after) or PinChange("", "", "")
    old, new = [pair.old for pair in change.repinned], [pair.new for pair in change.repinned]
    parts = [*change.added, *change.dropped, *old, *new]
    assert len(set(parts)) == len(parts)
    gone, come = {*change.dropped, *old}, {*change.added, *new}
    assert come == set(after).difference(*before)
    assert gone == (set.intersection(*map(set, before)) if before else set()) - set(after)
    if len(before) == 1:
        assert (set(before[0]) - gone) | come == set(after)
    assert all(parse_pin(pair.old).alias == parse_pin(pair.new).alias for pair in change.repinned)
    assert [pair.moved for pair in change.repinned] == [
        pair.old.split(":")[1] != pair.new.split(":")[1] for pair in change.repinned
    ]


# --- along one line of commits ----------------------------------------------------------------


def test_newest_first_with_subject_commit_and_day(kb: GitRepo) -> None:
    first = kb.commit({PLACE: text(pin(A))}, "Begin\n\nAnd a long text.")
    second = kb.commit({PLACE: text(pin(B))}, "Look again\nat the source")
    kb.commit({PLACE: text(pin(B), body="Other words.\n")}, "Reword")
    kb.commit({"README.md": "Hello.\n"}, "Elsewhere")
    fourth = kb.commit({PLACE: text(pin(B), pin(A, "b.py"))}, "Add one")
    found = history(kb)
    assert (found.extent, found.because) == (Extent.WHOLE, "")
    day = "2026-01-01"
    assert found.changes == {
        ("rule", "R-1"): (
            PinChange(fourth, day, "Add one", added=(pin(A, "b.py"),)),
            PinChange(second, day, "Look again at the source", repinned=(Repin(pin(A), pin(B)),)),
            PinChange(first, day, "Begin", added=(pin(A),)),
        )
    }
    (document,) = load(str(kb.path)).documents
    assert found.of(document) == found.changes["rule", "R-1"]


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("1767310200 -0800", "2026-01-01"),  # 15:30 there, 23:30 in UTC
        ("1767225000 +0900", "2025-12-31"),  # the new year has come there, not in UTC
        ("@0 +0000", "1970-01-01"),
    ],
)
def test_the_day_is_the_committers_in_utc(kb: GitRepo, date: str, day: str) -> None:
    kb.write({PLACE: text(pin(A))})
    kb.git("add", "--all")
    kb.git("commit", "-q", "-m", "x", GIT_COMMITTER_DATE=date, GIT_AUTHOR_DATE="1500000000 +0000")
    assert [change.date for change in history(kb).changes["rule", "R-1"]] == [day]


def test_no_author_is_named(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A))})
    assert "Tester" not in repr(history(kb))


WHO = b"A. Tester <tester@example.invalid>"


@pytest.mark.parametrize(
    ("headers", "message", "subject"),
    [
        pytest.param(b"", b"Umlaut \xc3\xa4 \xe8\xa7\x84\xe5\x88\x99", "Umlaut ä 规则", id="text"),
        pytest.param(b"encoding ISO-8859-1\n", b"Umlaut \xe4", "Umlaut ä", id="another encoding"),
        pytest.param(b"", b"Not UTF-8: \xff", "Not UTF-8: \ufffd", id="bytes"),
        pytest.param(b"", b"<b>x</b>\t\x1b[31m\xe2\x80\xae", "<b>x</b>\t\x1b[31m\u202e", id="markup"),
        pytest.param(b"", b"", "", id="nothing"),
        pytest.param(b"", b"\n\n  \nLate\r\n\r\nText", "Late", id="behind empty lines"),
    ],
)
def test_a_subject_is_what_was_written(kb: GitRepo, headers: bytes, message: bytes, subject: str) -> None:
    kb.write({PLACE: text(pin(A))})
    kb.git("add", "--all")
    stamps = b"author %b 1767225600 +0000\ncommitter %b 1767225600 +0000\n" % (WHO, WHO)
    raw = b"tree " + kb.git("write-tree") + stamps + headers + b"\n" + message + b"\n"
    commit = kb.git("hash-object", "-t", "commit", "-w", "--stdin", input=raw).decode().strip()
    kb.git("reset", "-q", commit)
    assert [change.subject for change in history(kb).changes["rule", "R-1"]] == [subject]


@pytest.mark.parametrize(
    "stamp",
    [b"", b" 99999999999999999 +0000", b" 253402300800 +0000", b" x +0000"],
    ids=["none", "beyond git's", "beyond the calendar", "no number"],
)
def test_a_date_that_is_none(kb: GitRepo, stamp: bytes) -> None:
    """Git itself takes some of these for its first day."""
    kb.write({PLACE: text(pin(A))})
    kb.git("add", "--all")
    raw = b"tree %bauthor %b\ncommitter %b%b\n\nSubject\n" % (kb.git("write-tree"), WHO, WHO, stamp)
    commit = kb.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", input=raw).decode().strip()
    kb.git("update-ref", "refs/heads/main", commit)
    (change,) = history(kb).changes["rule", "R-1"]
    assert change.subject == "Subject"
    assert change.date in ("", "1970-01-01")


# --- documents, wherever they are -------------------------------------------------------------

MOVES: Mapping[str, Sequence[Mapping[str, str | None]]] = {
    "renamed": [{PLACE: text(pin(A))}, {PLACE: None, "rules/demo/deep/R-1.md": text(pin(A))}],
    "renamed in capitals": [{PLACE: text(pin(A))}, {PLACE: None, "rules/Demo/R-1.md": text(pin(A))}],
    "into a page": [{PLACE: text(pin(A))}, {PLACE: None, "rules/page.md": page("R-1", "R-2", pins=[pin(A)])}],
    "out of a page": [
        {"rules/page.md": page("R-1", "R-2", pins=[pin(A)])},
        {PLACE: text(pin(A)), "rules/page.md": page("R-2", pins=[pin(A)])},
    ],
    "between pages": [
        {"rules/a.md": page("R-1", "R-2", pins=[pin(A)]), "rules/b.md": page("R-3")},
        {"rules/a.md": page("R-2", pins=[pin(A)]), "rules/b.md": page("R-1", "R-3", pins=[pin(A)])},
    ],
    "copied first, deleted later": [
        {PLACE: text(pin(A))},
        {"rules/zz/R-1.md": text(pin(A))},
        {PLACE: None},
    ],
    "deleted and restored": [{PLACE: text(pin(A))}, {PLACE: None, "x": "y"}, {PLACE: text(pin(A))}],
}


@pytest.mark.parametrize("steps", MOVES.values(), ids=MOVES)
def test_a_move_is_no_change_and_ends_no_history(kb: GitRepo, steps: Sequence[Mapping[str, str | None]]) -> None:
    for number, files in enumerate(steps):
        kb.commit(files, f"step {number}")
    assert told(kb) == [("step 0", (pin(A),), (), ())]
    catalog = load(str(kb.path))
    place = next(found.location.path for found in catalog.rules if found.id == "R-1")
    lines = (kb.path / place).read_text()
    kb.commit({place: lines.replace(A, B)}, "renew")
    assert told(kb) == [("renew", (), (), ((pin(A), pin(B)),)), ("step 0", (pin(A),), (), ())]


def test_a_move_that_renews_as_well(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    kb.commit({PLACE: None, "rules/page.md": page("R-1", "R-2", pins=[pin(B)])}, "move")
    assert told(kb) == [("move", (), (), ((pin(A), pin(B)),)), ("begin", (pin(A),), (), ())]
    assert told(kb, "R-2") == [("move", (pin(B),), (), ())]


@pytest.mark.parametrize("back", [False, True], ids=["renamed", "its id is in use again"])
def test_a_rule_takes_the_history_of_its_former_ids_along(kb: GitRepo, back: bool) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    kb.commit({PLACE: None, "rules/R-2.md": text(pin(A), identity="R-2")}, "rename")
    kb.commit({"rules/R-2.md": None, "rules/R-3.md": text(pin(B), identity="R-3")}, "again")
    if back:
        kb.commit({PLACE: text(pin(C))}, "another rule")
    root = str(kb.path)
    renamed = {"R-1": "R-3", "R-2": "R-3", "R-0": "R-9"}
    found = pin_history(root, load(root).documents, renamed=renamed, environ=kb.environ)
    subjects = {key[1]: [change.subject for change in changes] for key, changes in found.changes.items()}
    kept = {"R-1": ["another rule", "begin"], "R-3": ["again", "rename"]}
    assert subjects == (kept if back else {"R-3": ["again", "begin"]})


def test_rules_of_a_page_share_its_pins(kb: GitRepo) -> None:
    kb.commit({"rules/page.md": page("R-1", pins=[pin(A)])}, "one")
    kb.commit({"rules/page.md": page("R-1", "R-2", pins=[pin(A)])}, "two")
    kb.commit({"rules/page.md": page("R-1", "R-2", pins=[pin(B)])}, "renew")
    renewed = ("renew", (), (), ((pin(A), pin(B)),))
    assert told(kb) == [renewed, ("one", (pin(A),), (), ())]
    assert told(kb, "R-2") == [renewed, ("two", (pin(A),), (), ())]


def test_digests_and_waivers_have_one_as_well(kb: GitRepo) -> None:
    digest = f'---\nid: o/n#7\ntitle: D\nrepo: demo\npr: 7\nsources: ["{pin(A)}"]\n---\nText.\n'
    waiver = f'---\ntitle: W\nrepo: demo\npr: 7\nrule: R-1\nsources: ["{pin(A)}"]\n---\nText.\n'
    # Without an id of its own a waiver goes by its repository and number, wherever its file is.
    kb.commit({"reviews/o/n/7.md": digest, "waivers/demo/7.md": waiver}, "begin")
    kb.commit({"waivers/demo/7.md": None, "waivers/old/7.md": waiver.replace(A, B)}, "renew")
    kb.commit({"reviews/o/n/7.md": digest.replace("sources:", "pin:").replace(A, B)}, "other key")
    assert told(kb, "o/n#7", "review") == [
        ("other key", (), (), ((pin(A), pin(B)),)),
        ("begin", (pin(A),), (), ()),
    ]
    assert told(kb, "demo#7", "waiver") == [("renew", (), (), ((pin(A), pin(B)),)), ("begin", (pin(A),), (), ())]


def test_a_rule_and_a_waiver_of_one_id_are_two(kb: GitRepo) -> None:
    waiver = f'---\nid: R-1\ntitle: W\nrepo: demo\npr: 7\nrule: R-1\nsources: ["{pin(B)}"]\n---\nText.\n'
    kb.commit({PLACE: text(pin(A)), "waivers/demo/7.md": waiver}, "begin")
    assert told(kb) == [("begin", (pin(A),), (), ())]
    assert told(kb, kind="waiver") == [("begin", (pin(B),), (), ())]


@pytest.mark.parametrize(
    "path",
    [
        "rules/demo/R-1.zh.md",
        "rules/demo/_R-1.md",
        "rules/demo/.R-1.md",
        "rules/_drafts/R-1.md",
        "rules/.drafts/R-1.md",
        "rules/demo/README.md",
        "rules/demo/README.zh.md",
        "rules/demo/R-1.txt",
        "rules.md",
        "other/R-1.md",
    ],
)
def test_what_is_no_content_has_no_say(kb: GitRepo, path: str) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    kb.commit({path: text(pin(B))}, "twin")
    kb.commit({path: text(pin(C))}, "twin again")
    assert told(kb) == [("begin", (pin(A),), (), ())]


@pytest.mark.parametrize(
    "path",
    [
        "rules/ümläut 规则/a b 'c' \"d\".md",
        "rules/with\nline\tbreaks\\and\\back.md",
        "rules/-begins/--with.md",
        "rules/:(top)/*.md",
        "rules/a -> b/{x => y}.md",
    ],
)
def test_odd_names_of_files(kb: GitRepo, path: str) -> None:
    kb.commit({path: text(pin(A))}, "begin")
    kb.commit({path: text(pin(B))}, "renew")
    assert [entry[0] for entry in told(kb)] == ["renew", "begin"]


NAMES = st.text("aR.-_ zh", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))


@settings(max_examples=25)
@given(paths=st.lists(st.tuples(st.lists(NAMES, max_size=2), NAMES, st.sampled_from([".md", ".zh.md", ".txt", ""]))))
def test_what_a_catalog_reads_has_a_history(
    paths: list[tuple[list[str], str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    repo = GitRepo(tmp_path_factory.mktemp("names") / "kb")
    files: dict[str | bytes, str | bytes | Entry] = {"rulebook.toml": CONFIG, PLACE: text(pin(A))}
    for number, (folders, name, ending) in enumerate(paths):
        # Each in a folder of its own, so that no file stands where another one needs a folder.
        files["/".join(["rules", str(number), *folders, name + ending])] = text(pin(A), identity=f"R-{number + 2}")
    repo.snapshot(files)
    repo.git("reset", "-q", "--hard", "main")
    found = history(repo)
    documents = [document for document in load(str(repo.path)).documents if not is_twin(document)]
    assert found.changes.keys() == {document.key for document in documents}
    assert all(change.commit for changes in found.changes.values() for change in changes)


def test_a_name_that_is_no_utf8_and_a_link_are_no_content(kb: GitRepo) -> None:
    rulebook = {"rulebook.toml": CONFIG, PLACE: text(pin(A))}
    first = kb.snapshot(rulebook, message="begin")
    odd = {b"rules/\xff.md": text(pin(B)), "rules/link.md": Entry(SYMLINK, "demo/R-1.md")}
    second = kb.snapshot({**rulebook, **odd}, [first], message="odd")
    kb.git("checkout", "-q", second, "--", "rulebook.toml", PLACE)
    assert told(kb) == [("begin", (pin(A),), (), ())]


@pytest.mark.parametrize("order", [("a", "z"), ("z", "a")], ids=["first one came first", "first one came later"])
def test_of_two_files_with_one_id_the_first_counts(kb: GitRepo, order: tuple[str, str]) -> None:
    for name in order:
        kb.commit({f"rules/{name}/R-1.md": text(pin({"a": A, "z": B}[name]))}, name)
    kb.commit({"rules/z/R-1.md": text(pin(C))}, "not seen")
    before = [("z", (pin(B),), (), ())] if order[0] == "z" else []
    assert told(kb) == [("a", (), (), ((pin(B), pin(A)),)) if before else ("a", (pin(A),), (), ()), *before]
    kb.commit({"rules/a/R-1.md": None}, "seen now")
    assert told(kb)[0] == ("seen now", (), (), ((pin(A), pin(C)),))


# --- versions that cannot be read -------------------------------------------------------------

BROKEN = {
    "not YAML": "---\nid: R-1\n sources: [\n---\nText.\n",
    "no frontmatter": "Text.\n",
    "never closed": f'---\nid: R-1\nsources: ["{pin(C)}"]\n',
    "empty": "",
    "not UTF-8": b"\xff\xfe" + text(pin(C)).encode(),
    "NUL": text(pin(C), body="a\0b").encode(),
    "too large": text(pin(C), body="x" * (1 << 20)),
    "conflict markers": "<<<<<<< HEAD\n" + text(pin(C)) + "=======\n" + text(pin(B)) + ">>>>>>> other\n",
    "pins are a mapping": rule("R-1", sources="{a: b}"),
    "a pin is a list": rule("R-1", sources="[[x]]"),
    "a pin is a mapping without one": rule("R-1", sources="[{url: x}]"),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("moved", [False, True], ids=["there", "elsewhere"])
def test_a_broken_version_is_passed_over(kb: GitRepo, broken: str | bytes, moved: bool) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    place = "rules/demo/moved/R-1.md" if moved else PLACE
    kb.commit({PLACE: None, place: broken} if moved else {PLACE: broken}, "break")
    kb.commit({place: text(pin(B))}, "mend")
    assert told(kb) == [("mend", (), (), ((pin(A), pin(B)),)), ("begin", (pin(A),), (), ())]


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_history_that_begins_broken(kb: GitRepo, broken: str | bytes) -> None:
    kb.commit({PLACE: broken}, "begin")
    kb.commit({PLACE: text(pin(A))}, "mend")
    assert told(kb) == [("mend", (pin(A),), (), ())]


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_is_broken_now_is_told_by_lint_alone(kb: GitRepo, broken: str | bytes) -> None:
    kb.commit({PLACE: text(pin(A)), "rules/R-2.md": text(pin(A), identity="R-2")}, "begin")
    kb.write({PLACE: broken})
    assert [entry[0] for entry in told(kb)] in ([], ["begin"])
    assert told(kb, "R-2") == [("begin", (pin(A),), (), ())]


@pytest.mark.parametrize("ending", ["\r\n", "\r"], ids=["CRLF", "CR"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "byte order mark"])
def test_line_endings_and_marks_are_no_change(kb: GitRepo, ending: str, mark: bytes) -> None:
    kb.git("config", "core.autocrlf", "false")
    kb.commit({PLACE: text(pin(A))}, "begin")
    kb.commit({PLACE: mark + text(pin(A)).replace("\n", ending).encode()}, "endings")
    kb.commit({PLACE: mark + text(pin(B)).replace("\n", ending).encode()}, "renew")
    assert [entry[0] for entry in told(kb)] == ["renew", "begin"]


# --- branches ---------------------------------------------------------------------------------


def merge(kb: GitRepo, ours: Mapping[str, str | None], theirs: Mapping[str, str | None], *options: str) -> None:
    """Commits on two branches; ``options`` begin their merge."""
    kb.git("checkout", "-q", "-b", "side")
    kb.commit(theirs, "theirs")
    kb.git("checkout", "-q", "main")
    kb.commit(ours, "ours")
    kb.git("merge", "-q", "--no-ff", "--no-commit", *options, "side")


def test_a_merge_tells_nothing_again(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A)), "rules/R-2.md": text(pin(A), identity="R-2")}, "begin")
    merge(kb, {PLACE: text(pin(B))}, {"rules/R-2.md": text(pin(C), identity="R-2")})
    kb.commit(message="merge")
    assert [entry[0] for entry in told(kb)] == ["ours", "begin"]
    assert [entry[0] for entry in told(kb, "R-2")] == ["theirs", "begin"]


def test_two_rules_of_one_page_on_two_branches(kb: GitRepo) -> None:
    """The page differs from both parents, and no rule does."""
    kb.commit({"rules/page.md": page("R-1", pins=[pin(A)])}, "begin")
    both = page("R-1", pins=[pin(B)]) + "\n" * 9
    merge(
        kb,
        {"rules/page.md": page("R-1", pins=[pin(B)])},
        {"rules/page.md": page("R-1", pins=[pin(A)]) + "\n" * 9},
        "-sours",
    )
    kb.commit({"rules/page.md": both}, "merge")
    assert [entry[0] for entry in told(kb)] == ["ours", "begin"]


def test_what_a_merge_itself_changes_is_told(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A), pin(A, "x.py"))}, "begin")
    merge(kb, {PLACE: text(pin(B), pin(A, "x.py"))}, {PLACE: text(pin(C), pin(A, "x.py"))}, "-sours")
    kb.commit({PLACE: text(pin(D), pin(B, "x.py"))}, "merge")
    assert told(kb)[0] == ("merge", (pin(D),), (), ((pin(A, "x.py"), pin(B, "x.py")),))
    assert {entry[0] for entry in told(kb)[1:]} == {"ours", "theirs", "begin"}


def test_moved_on_one_branch_and_renewed_on_the_other(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    moved = "rules/moved/R-1.md"
    merge(kb, {PLACE: None, moved: text(pin(A))}, {PLACE: text(pin(B))})
    kb.commit({moved: text(pin(B))}, "merge")
    assert [entry[0] for entry in told(kb)] == ["theirs", "begin"]


def test_a_side_that_was_thrown_away_is_not_told(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    merge(kb, {"README.md": "x\n"}, {PLACE: text(pin(B))}, "-sours")
    kb.commit(message="merge")
    assert [entry[0] for entry in told(kb)] == ["begin"]


def test_two_histories_that_were_joined(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A))}, "one")
    kb.git("checkout", "-q", "--orphan", "other")
    kb.git("rm", "-q", "-r", "--cached", ".")
    (kb.path / PLACE).unlink()
    kb.commit({"rules/R-2.md": text(pin(B), identity="R-2")}, "two")
    kb.git("checkout", "-q", "-f", "main")
    kb.git("merge", "-q", "--allow-unrelated-histories", "--no-edit", "other")
    assert [entry[0] for entry in told(kb)] == ["one"]
    assert [entry[0] for entry in told(kb, "R-2")] == ["two"]


def test_a_clock_that_is_wrong_turns_nothing_around(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    for name, commit, date in (
        ("early", B, "1500000000 +0000"),
        ("late", C, "1900000000 +0000"),
        ("end", D, "@1 +0000"),
    ):
        kb.write({PLACE: text(pin(commit))})
        kb.git("commit", "-q", "-a", "-m", name, GIT_COMMITTER_DATE=date)
    assert [entry[0] for entry in told(kb)] == ["end", "late", "early", "begin"]


def test_branches_are_listed_by_their_days(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    kb.git("branch", "side")
    for number in range(3):
        for branch, place in (("main", "x.py"), ("side", "y.py")):
            kb.git("checkout", "-q", branch)
            kb.commit({PLACE: text(pin(A), pin("123"[number] * 40, place))}, f"{branch} {number}")
    kb.git("checkout", "-q", "main")
    kb.git("merge", "-q", "--no-commit", "-sours", "side")
    kb.commit({PLACE: text(pin(A), pin("3" * 40, "x.py"), pin("3" * 40, "y.py"))}, "merge")
    assert [entry[0] for entry in told(kb)] == ["side 2", "main 2", "side 1", "main 1", "side 0", "main 0", "begin"]


# --- what is here, and what is not ------------------------------------------------------------


def test_what_is_not_committed(kb: GitRepo) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    kb.write({PLACE: text(pin(B)), "rules/R-2.md": text(pin(C), identity="R-2")})
    assert told(kb) == [(None, (), (), ((pin(A), pin(B)),)), ("begin", (pin(A),), (), ())]
    assert told(kb, "R-2") == [(None, (pin(C),), (), ())]
    pending = history(kb).changes["rule", "R-1"][0]
    assert (pending.commit, pending.date, pending.subject, pending.link) == ("", "", "", "")
    # Neither the index nor other words are a change.
    kb.write({PLACE: text(pin(A), body="Other words.\n")})
    kb.git("add", "--all")
    assert [entry[0] for entry in told(kb)] == ["begin"]


def test_a_knowledge_base_below_the_top(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    config = {"docs/kb here/rulebook.toml": CONFIG}
    repo.commit({**config, "docs/kb here/rules/R-1.md": text(pin(A)), "rules/R-1.md": text(pin(B))}, "begin")
    repo.commit({"rules/R-1.md": text(pin(C)), "docs/kb/rules/R-1.md": text(pin(C))}, "others'")
    repo.commit({"docs/kb here/rules/R-1.md": text(pin(D))}, "renew")
    assert [entry[0] for entry in told(repo, folder="docs/kb here")] == ["renew", "begin"]


def test_a_working_tree_beside_the_repository(kb: GitRepo, tmp_path: Path) -> None:
    kb.commit({PLACE: text(pin(A))}, "begin")
    kb.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "link").symlink_to(tmp_path / "side", target_is_directory=True)
    root = str(tmp_path / "link")
    found = pin_history(root, load(root).documents, environ=kb.environ)
    assert [change.subject for change in found.changes["rule", "R-1"]] == ["begin"]


def test_without_a_repository_or_a_commit_nothing_is_known(kb: GitRepo, tmp_path: Path) -> None:
    kb.write({PLACE: text(pin(A))})
    found = history(kb)
    assert (found.extent, found.changes) == (Extent.UNKNOWN, {})
    assert found.because
    (tmp_path / "plain" / "rules").mkdir(parents=True)
    (tmp_path / "plain" / "rulebook.toml").write_text(CONFIG)
    (tmp_path / "plain" / "rules" / "R-1.md").write_text(text(pin(A)))
    documents = load(str(tmp_path / "plain")).documents
    found = pin_history(str(tmp_path / "plain"), documents, environ=kb.environ)
    assert (found.extent, found.changes) == (Extent.UNKNOWN, {})
    assert "no git repository" in found.because


def test_without_git_nothing_is_known(kb: GitRepo, tmp_path: Path) -> None:
    kb.commit({PLACE: text(pin(A))})
    root = str(kb.path)
    found = pin_history(root, load(root).documents, environ={**kb.environ, "PATH": str(tmp_path)})
    assert (found.extent, found.changes) == (Extent.UNKNOWN, {})


@pytest.mark.parametrize(
    ("depth", "extent", "subjects"),
    [
        (1, Extent.CUT, []),
        (2, Extent.CUT, ["third"]),
        (3, Extent.CUT, ["third", "second"]),
        (4, Extent.WHOLE, ["third", "second", "first"]),
        (5, Extent.WHOLE, ["third", "second", "first"]),
    ],
)
def test_a_shallow_clone_tells_what_it_has(
    kb: GitRepo, tmp_path: Path, depth: int, extent: Extent, subjects: list[str]
) -> None:
    """What stands in its oldest commit may be of any age; where that one has no content yet, nothing is cut."""
    kb.commit({"README.md": "x\n"}, "before")
    (kb.path / "rulebook.toml").write_text(CONFIG)
    for name, commit in (("first", A), ("second", B), ("third", C)):
        kb.commit({PLACE: text(pin(commit))}, name)
    clone = kb.clone(tmp_path / "clone", f"--depth={depth}")
    found = history(clone)
    assert (found.extent, [change.subject for change in found.changes.get(("rule", "R-1"), ())]) == (extent, subjects)
    assert bool(found.because) == (extent is Extent.CUT)


def test_a_whole_clone_made_shallow_later(kb: GitRepo, tmp_path: Path) -> None:
    """The commits behind the cut are still there, and git no longer goes to them."""
    for name, commit in (("first", A), ("second", B)):
        kb.commit({PLACE: text(pin(commit))}, name)
    clone = kb.clone(tmp_path / "clone")
    clone.git("fetch", "-q", "--depth=1")
    assert (history(clone).extent, told(clone)) == (Extent.CUT, [])


def test_a_clone_without_contents_says_so(kb: GitRepo, tmp_path: Path) -> None:
    for name, commit in (("first", A), ("second", B), ("third", C)):
        kb.commit({PLACE: text(pin(commit))}, name)
    clone = kb.clone(tmp_path / "clone", "--filter=blob:none")
    found = history(clone)
    assert found.extent is Extent.CUT
    assert "lacks contents" in found.because
    assert [change.subject for change in found.changes["rule", "R-1"]] == ["third"]


# --- links ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://github.com/o/n.git", "https://github.com/o/n"),
        ("https://github.com/o/n/", "https://github.com/o/n"),
        ("https://git.example.org:8443/group/sub/n", "https://git.example.org:8443/group/sub/n"),
        ("http://github.com/o/n", ""),
        ("git@github.com:o/n.git", ""),
        ("ssh://git@github.com/o/n.git", ""),
        ("file:///srv/n.git", ""),
        ("/srv/n.git", ""),
        ("https://u:p@github.com/o/n.git", ""),
        ("https://github.com", ""),
        ("https://github.com/o/n?x=1", ""),
        ("https://github.com/o/n#x", ""),
        ("https://github.com/o/../n", "https://github.com/o/../n"),
        ('https://github.com/o/"><script>', ""),
        ("https://github.com/o/n\nx", ""),
        ("javascript:alert(1)//https://github.com/o/n", ""),
        ("", ""),
    ],
)
def test_the_address_of_a_repository(url: str, address: str) -> None:
    assert web_address(url) == address


def test_hosts_have_their_own_addresses() -> None:
    assert commit_link("https://github.com/o/n", A) == f"https://github.com/o/n/commit/{A}"
    assert commit_link("https://gitlab.com/o/n", A) == f"https://gitlab.com/o/n/-/commit/{A}"
    assert commit_link("", A) == ""
    place = parse_pin(pin(A, "a b/规.py#L3-L5"))
    assert file_link("https://github.com/o/n", place) == f"https://github.com/o/n/blob/{A}/a%20b/%E8%A7%84.py#L3-L5"
    assert file_link("", place) == ""


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://github.com/o/kb.git", "https://github.com/o/kb/commit/"),
        ("https://user:secret@github.com/o/kb.git", "https://github.com/o/kb/commit/"),
        ("git@github.com:o/kb.git", ""),
    ],
)
def test_a_link_goes_to_what_was_published(kb: GitRepo, tmp_path: Path, url: str, shown: str) -> None:
    published = kb.commit({PLACE: text(pin(A))}, "published")
    clone = kb.clone(tmp_path / "clone")
    clone.git("remote", "set-url", "origin", url)
    clone.commit({PLACE: text(pin(B))}, "local")
    local, remote = history(clone).changes["rule", "R-1"]
    assert (local.subject, local.link) == ("local", "")
    assert remote.link == (f"{shown}{published}" if shown else "")
    assert "secret" not in repr(history(clone))


# --- laws -------------------------------------------------------------------------------------

Step = tuple[str, int, tuple[str, ...]]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["pins", "pins", "pins", "move", "page", "delete", "break"]),
        st.integers(0, 2),
        PINS,
    ),
    min_size=1,
    max_size=10,
)


def tree(states: Mapping[int, Step]) -> dict[str | bytes, str | bytes | Entry]:
    """The files of three rules, each in the state that its last step left it in."""
    files: dict[str | bytes, str | bytes | Entry] = {"rulebook.toml": CONFIG, "rules/R-9.md": text(identity="R-9")}
    for number, (kind, _, pins) in states.items():
        name = f"R-{number}"
        if kind == "pins":
            files[f"rules/{name}.md"] = text(*pins, identity=name)
        elif kind == "move":
            files[f"rules/deep/{name}.md"] = text(*pins, identity=name)
        elif kind == "page":
            files[f"rules/page-{number}.md"] = page(name, pins=pins)
        elif kind == "break":
            files[f"rules/{name}.md"] = "---\n[\n---\n"
    return files


def replay(changes: Sequence[PinChange]) -> set[str]:
    """What is there after all changes, oldest first; each has to fit what was there before it."""
    held: set[str] = set()
    for change in reversed(changes):
        gone = {*change.dropped, *(pair.old for pair in change.repinned)}
        come = {*change.added, *(pair.new for pair in change.repinned)}
        assert gone <= held
        assert not come & held
        held = (held - gone) | come
    return held


@settings(max_examples=25)
@given(steps=STEPS)
def test_the_changes_lead_to_what_is_there(steps: list[Step], tmp_path_factory: pytest.TempPathFactory) -> None:
    repo = GitRepo(tmp_path_factory.mktemp("law") / "kb")
    states: dict[int, Step] = {}
    parents: list[str] = []
    for step in steps:
        states[step[1]] = step
        parents = [repo.snapshot(tree(states), parents)]
    repo.git("reset", "-q", "--hard", "main")
    found = history(repo)
    assert found.extent is Extent.WHOLE
    documents = load(str(repo.path)).documents
    assert {document.id for document in documents} == {
        "R-9",
        *(f"R-{number}" for number, (kind, *_) in states.items() if kind not in ("delete", "break")),
    }
    for document in documents:
        changes = found.of(document)
        assert all(change.commit for change in changes)
        assert replay(changes) == {source.pin for source in document.sources}


@settings(max_examples=25)
@given(data=st.data())
def test_no_pin_comes_from_nowhere_whatever_was_merged(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """On any graph of commits each pin of today was added by a commit that the list has, or taken another's place."""
    repo = GitRepo(tmp_path_factory.mktemp("law") / "kb")
    commits: list[tuple[str, dict[int, Step]]] = []
    for number in range(data.draw(st.integers(1, 8))):
        chosen = data.draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=3, unique=True)) if number else []
        parents = [commits[index] for index in chosen]
        states: dict[int, Step] = {}
        for _, held in parents:
            states.update(held)
        states.update({step[1]: step for step in data.draw(STEPS.map(lambda steps: steps[:2]))})
        commits.append((repo.snapshot(tree(states), [commit for commit, _ in parents]), states))
    repo.git("reset", "-q", "--hard", "main")
    found = history(repo)
    for document in load(str(repo.path)).documents:
        changes = found.of(document)
        assert all(change.commit for change in changes), "HEAD has what the working tree has"
        come = {pin for change in changes for pin in (*change.added, *(pair.new for pair in change.repinned))}
        assert {source.pin for source in document.sources} <= come
        assert len({change.commit for change in changes}) == len(changes)


# --- cost -------------------------------------------------------------------------------------


@pytest.fixture
def counted(tmp_path: Path) -> Callable[[GitRepo], int]:
    """Counts the git processes of one reading."""
    real = next(
        os.path.join(folder, "git")
        for folder in os.environ["PATH"].split(os.pathsep)
        if os.access(os.path.join(folder, "git"), os.X_OK)
    )
    log, wrapper = tmp_path / "log", tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\nexec "{real}" "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)

    def count(kb: GitRepo) -> int:
        log.write_text("")
        environ = {**kb.environ, "PATH": f"{wrapper.parent}{os.pathsep}{kb.environ['PATH']}"}
        found = pin_history(str(kb.path), load(str(kb.path)).documents, environ=environ)
        assert found.extent is Extent.WHOLE
        return len(log.read_text().splitlines())

    return count


def test_the_number_of_processes_does_not_grow(kb: GitRepo, counted: Callable[[GitRepo], int]) -> None:
    kb.commit({PLACE: text(pin(A))})
    counted(kb)  # Asks for git's version, once.
    few = counted(kb)
    for number in range(20):
        kb.commit({f"rules/R-{number}.md": text(pin(A), identity=f"R-{number}")})
    assert counted(kb) == few
    assert few <= 10
