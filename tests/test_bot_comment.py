"""What the comment says, what it remembers, and how it ends where GitHub's limits are."""

from __future__ import annotations

import pytest

from botkit import A, B, brief, change, match
from rulebook.bot.ack import parse_boxes, parse_commands
from rulebook.bot.brief import WaiverVerdict, fingerprints
from rulebook.bot.client import Comment
from rulebook.bot.comment import MAX_BODY, MAX_SUMMARY, page_address, render_comment, render_summary
from rulebook.bot.event import parse_pull, read_event
from rulebook.bot.state import (
    MAX_STATE,
    Ack,
    Snapshot,
    State,
    advance,
    dump_state,
    is_ours,
    load_state,
    marker,
)
from rulebook.errors import UsageError
from rulebook.model import (
    AppliesReport,
    FileChange,
    Finding,
    Location,
    MissingCoChange,
    Reason,
    ReasonKind,
    Relevance,
    ReviewMatch,
    RuleMatch,
    Severity,
    Side,
)


def body(found: object, state: State | None = None, **more: object) -> str:
    return render_comment(found, state or advance(None, found), **more).body  # type: ignore[arg-type]


# --- what it says -----------------------------------------------------------------------------


def test_direct_rules_come_first_and_the_head_last() -> None:
    found = brief(
        [
            match("R-1", missing_cochanges=(MissingCoChange(path="README.md", because="it lists them"),)),
            match("R-2", relevance=Relevance.POSSIBLE),
        ],
        reviews=(ReviewMatch(id="o/n#1", title="A digest", reasons=(), location=Location("r.md")),),
        unmatched=("docs/a.md", "docs/b.md"),
        waivers=WaiverVerdict(rule="P", passed=False, summary="FAIL: no waiver", patches=1),
    )
    lines = body(found).splitlines()
    assert lines[0] == "<!-- rulebook:comment -->"
    shown = "\n".join(lines[2:])
    order = [
        "1 rule at stake, 1 more possibly",
        "R\\-1",
        "README.md",
        "FAIL",
        "R\\-2",
        "A digest",
        "2 changed paths that",
    ]
    assert [shown.index(words) for words in order] == sorted(shown.index(words) for words in order)
    assert "  - [ ] `README.md` did not change along: it lists them" in shown
    assert lines[-1].endswith(f"`{A}`")


def test_the_docs_site_has_a_page_for_each_rule() -> None:
    assert page_address("https://x.example/kb/", "a b", "R/1") == "https://x.example/kb/rules/a%20b/R%2F1/"
    assert page_address("", "a", "R-1") == ""


def test_a_report_with_only_reading_is_quiet_and_one_with_a_failed_check_is_not() -> None:
    digest = ReviewMatch(id="o/n#1", title="A digest", reasons=(), location=Location("r.md"))
    assert brief([], reviews=(digest,)).quiet
    assert brief([], waivers=WaiverVerdict(rule="P", passed=True, summary="PASS")).quiet
    assert not brief([], waivers=WaiverVerdict(rule="P", passed=False, summary="FAIL")).quiet


# --- limits -----------------------------------------------------------------------------------


def long_brief(count: int) -> object:
    rules = [match(f"R-{n}", title="t" * 150) for n in range(count)]
    possible = [match(f"P-{n}", relevance=Relevance.POSSIBLE) for n in range(count)]
    return brief([*rules, *possible], unmatched=tuple(f"docs/{n}-{'x' * 100}" for n in range(count)))


@pytest.mark.parametrize("render", [render_comment, render_summary])
def test_a_text_that_just_fits_is_whole_and_one_byte_less_leaves_out_and_says_so(render: object) -> None:
    found = long_brief(60)
    state = advance(None, found)  # type: ignore[arg-type]
    whole = render(found, state, budget=MAX_SUMMARY)  # type: ignore[operator]
    size = len(whole.body.encode())
    assert whole.left_out == 0
    assert render(found, state, budget=size) == whole  # type: ignore[operator]
    cut = render(found, state, budget=size - 1)  # type: ignore[operator]
    assert len(cut.body.encode()) < size
    assert 0 < cut.left_out <= 10
    assert f"… and {cut.left_out} paths more, left out for want of room" in cut.body


@pytest.mark.parametrize("count", [1, 100, 1000, 5000])
def test_no_comment_is_too_long_and_what_matters_stays(count: int) -> None:
    found = long_brief(count)
    text = render_comment(found, advance(None, found), elsewhere="see the job's summary")  # type: ignore[arg-type]
    assert len(text.body.encode()) <= MAX_BODY
    assert f"`{A}`" in text.body.splitlines()[-1]
    assert "**R\\-0**" in text.body
    assert (text.left_out > 0) == (count > 100)
    summary = render_summary(found, advance(None, found))  # type: ignore[arg-type]
    assert len(summary.body.encode()) <= MAX_SUMMARY


def test_wide_characters_count_by_their_bytes() -> None:
    found = brief([match(f"R-{n}", title="规则" * 100) for n in range(300)])
    assert len(body(found).encode()) <= MAX_BODY


@pytest.mark.parametrize("count", [0, 500, 5_000, 20_000])
def test_the_state_stays_small_and_settles(count: int) -> None:
    found = brief([match(f"R-{n}", path=f"src/f{n}.py", text=str(n)) for n in range(count)])
    state = advance(State(now=Snapshot(head=B, rules={f"Q-{n}": "x" * 16 for n in range(count)})), found)
    line = dump_state(state)
    assert len(line) <= MAX_STATE
    for _ in range(3):
        previous, line = line, dump_state(advance(load_state(f"x\n{line}"), found))
    assert line == previous


@pytest.mark.parametrize(
    "line",
    [
        "",
        "<!-- rulebook:state  -->",
        "<!-- rulebook:state !!! -->",
        "<!-- rulebook:state AAAA -->",
        "<!-- rulebook:state eJyrVipTsjLUUcrLL1OyMtQBAB3nBAs= -->",
    ],
)
def test_a_damaged_state_is_none(line: str) -> None:
    assert load_state(f"{marker('')}\n{line}\n") is None


def test_a_state_that_unpacks_to_much_too_much_is_none() -> None:
    import zlib
    from base64 import b64encode

    bomb = b64encode(zlib.compress(b"[" * (64 << 20))).decode()
    assert load_state(f"x\n<!-- rulebook:state {bomb} -->\n") is None


@pytest.mark.parametrize("key", ["", "a", "a--b", "a-", "-->", "a b"])
def test_markers_are_html_comments_of_their_own(key: str) -> None:
    line = marker(key)
    assert line.endswith("-->")
    assert "--" not in line[4:-3]
    assert is_ours(f"{line}\r\nx", key)
    assert not is_ours(f"{line}\n", key + "x")


# --- what an acknowledgement is bound to ------------------------------------------------------


def print_of(found: RuleMatch, *files: FileChange) -> str:
    report = AppliesReport(
        repo="target",
        complete=True,
        files=files,
        rules=(found,),
        reviews=(),
        unmatched=(),
        examined_rules=1,
        examined_reviews=0,
    )
    return fingerprints(report)[found.id]


def test_lines_count_by_their_text() -> None:
    base = print_of(match("R-1"), change("src/a.py", "x = 1", "other"))
    assert print_of(match("R-1", line=99), change("src/a.py", "x = 1", "other", start=99)) == base
    assert print_of(match("R-1"), change("src/a.py", "x = 1", "changed elsewhere")) == base
    assert print_of(match("R-1"), change("src/a.py", "x = 1", "other"), change("src/b.py", "new")) == base
    assert print_of(match("R-1"), change("src/a.py", "x = 12", "other")) != base
    # A second line that shows the same is no longer what was acknowledged.
    assert print_of(match("R-1"), change("src/a.py", "x = 1", "x = 2")) != base


def test_beyond_what_a_reason_quotes_text_counts_as_well() -> None:
    long = "x = 1" + "y" * 200
    first = print_of(match("R-1", text=long[:99] + "…"), change("src/a.py", long))
    assert print_of(match("R-1", text=long[:99] + "…"), change("src/a.py", long + "z")) != first


def test_where_the_place_decides_the_whole_change_of_the_file_counts() -> None:
    place = match("R-1", relevance=Relevance.POSSIBLE)
    base = print_of(place, change("src/a.py", "one"))
    assert print_of(place, change("src/a.py", "one", start=50)) == base
    assert print_of(place, change("src/a.py", "two")) != base


@pytest.mark.parametrize("kind", [ReasonKind.IDENTIFIER, ReasonKind.FUNCTION, ReasonKind.COCHANGE])
def test_other_evidence_is_bound_to_its_lines(kind: ReasonKind) -> None:
    reason = Reason(kind=kind, path="src/a.py", side=Side.NEW, pattern="call", line=10, text="call(1)")
    found = match("R-1", reasons=(reason,))
    base = print_of(found, change("src/a.py", "call(1)"))
    assert print_of(match("R-1", reasons=(reason._replace(line=30),)), change("src/a.py", "call(1)", start=30)) == base
    assert print_of(found, change("src/a.py", "call(2)")) != base


# --- boxes and commands -----------------------------------------------------------------------


def test_boxes_are_told_by_their_hidden_names() -> None:
    missing = (MissingCoChange(path="a--b.md", because=""),)
    found = brief([match("R-1", missing_cochanges=missing), match("odd --> id")])
    text = body(found)
    assert parse_boxes(text) == {"R-1": False, "R-1\na--b.md": False, "odd --> id": False}
    ticked = text.replace("- [ ] `a", "- [x] `a")
    assert parse_boxes(ticked)["R-1\na--b.md"] is True
    state = advance(None, found)._replace(acks={"R-1": Ack(head=A, fingerprint="", by="bob", because="seen")})
    assert parse_boxes(body(found, state))["R-1"] is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/rulebook ack R-1 because of that", [("R-1", "of that", False)]),
        ("/rulebook ack R-1", [("R-1", "", False)]),
        ("/RULEBOOK UNACK r-1\n/rulebook ack R-2", [("r-1", "", True), ("R-2", "", False)]),
        ("I say /rulebook ack R-1", []),
        ("> /rulebook ack R-1", []),
        ("~~~\n/rulebook ack R-1\n~~~", []),
        ("```\n/rulebook ack R-1", []),
        ("/rulebook ack", []),
        ("/rulebook ack R-1 since I say so", []),
    ],
)
def test_commands_stand_on_a_line_of_their_own(text: str, expected: list[tuple[str, str, bool]]) -> None:
    found = parse_commands([Comment(id=5, author="bob", body=text)])
    assert [(command.rule, command.because, command.revoke) for command in found] == expected


# --- which pull request -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", ("owner/name", 7)),
        ("#007", ("owner/name", 7)),
        ("https://github.com/owner/name/pull/7", ("owner/name", 7)),
        ("https://ghe.example/owner/name/pull/7/files#diff", ("owner/name", 7)),
    ],
)
def test_numbers_and_addresses(text: str, expected: tuple[str, int]) -> None:
    found = parse_pull(text, "owner/name")
    assert (found.repository, found.number) == expected


@pytest.mark.parametrize("text", ["0", "-7", "7a", "https://github.com/owner/name/issues/7", "", "٧"])
def test_what_is_no_pull_request(text: str) -> None:
    with pytest.raises(UsageError):
        parse_pull(text, "owner/name")


def test_a_comment_event_names_the_hand_that_ticked() -> None:
    data = (
        b'{"action":"edited","issue":{"number":7,"pull_request":{"url":"x"}},"comment":{"id":12345678901},'
        b'"repository":{"full_name":"owner/name"},"sender":{"login":"alice"}}'
    )
    found = read_event(data, "event.json")
    assert (found.repository, found.number, found.sender, found.edited_comment) == (
        "owner/name",
        7,
        "alice",
        12345678901,
    )
    assert found._replace(action="created").edited_comment == 0


def test_findings_of_the_waiver_check_have_their_place_and_remedy() -> None:
    finding = Finding(
        code="patch-unwaived", severity=Severity.ERROR, message="a sed", location=Location("x.sh", 3), remedy="name it"
    )
    verdict = WaiverVerdict(rule="P", passed=False, summary="FAIL", findings=(finding,), patches=1)
    assert "- error `x.sh:3`: a sed. Remedy: name it." in body(brief([], waivers=verdict))
