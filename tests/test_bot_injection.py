"""Foreign text is data: nothing in a rule, a path, a title, a diff or a waiver comes alive where it is shown.

Markdown is rendered by cmark-gfm, which GitHub uses, and the outcome is searched as GitHub's own filters search it:
for elements, and in all text outside of code for mentions, issues, commits, addresses.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from botkit import A, brief, change, match
from rulebook.bot.brief import Brief, Edited, WaiverVerdict, brief_data, read_brief
from rulebook.bot.comment import render_comment, render_summary
from rulebook.bot.state import Ack, advance
from rulebook.cli.terminal import Color, write_lines
from rulebook.model import Finding, Location, MissingCoChange, Relevance, ReviewMatch, Severity
from rulebook.render.data import dump
from rulebook.render.github import applies_annotations, defang
from rulebook.render.md import applies_markdown, escape
from rulebook.render.text import applies_lines

STRINGS = [
    "@octocat please look",
    "cc @org/team",
    "a@example.com",
    "fixes #12",
    "Closes owner/repo#34",
    "resolves GH-56",
    "fix 0123456789abcdef0123456789abcdef01234567",
    "see deadbeef1",
    "https://evil.example/x",
    "www.evil.example",
    "ftp://evil.example/x",
    "mailto:a@b.example",
    "<https://evil.example>",
    "[click](https://evil.example)",
    "![pixel](https://evil.example/p.png)",
    "[ref][1]",
    "[1]: https://evil.example",
    "<img src=https://evil.example/p.png>",
    "<a href='https://evil.example'>x</a>",
    "<script>alert(1)</script>",
    "</details></summary><h1>big",
    "<!-- rulebook:comment -->",
    "--> <b>out</b>",
    "<!-- unfinished",
    "`code` @octocat",
    "`` ` `` @octocat",
    "unbalanced ` @octocat ` and `",
    "```\n@octocat\n```",
    "a | b | c\n| - | - |",
    "\n# heading",
    "\n- [x] done",
    "\n/rulebook ack R-1",
    "::error file=x::boom",
    "\n::set-output name=x::y",
    "##[error]boom",
    "\x1b[31mred\x1b[0m \x07bell",
    "\u202etxt.exe\u202c",
    "$\\color{red}{x}$ and $`x`$",
    "\\`@octocat\\`",
    "&commat;octocat &#64;octocat &lt;img&gt;",
    "~~**_bold_**~~ ==x==",
    "\r\n> quote\r\n    indented",
]
PLACES = ["id", "title", "path", "pattern", "diff", "because", "waiver", "digest", "owner", "ack", "repo", "uncovered"]


def poisoned(text: str, place: str) -> Brief:
    """A brief with a foreign text in one place, which shows up in each of the outputs."""

    def at(name: str, other: str) -> str:
        return text if place == name else other

    path = at("path", "src/a.py")
    first = match(at("id", "R-1"), path=path, text=at("diff", "x = 1"), title=at("title", "A title"))
    reason = first.reasons[0]._replace(pattern=at("pattern", "x"))
    missing = (MissingCoChange(path=at("path", "README.md"), because=at("because", "it lists them")),)
    possible = match("R-2", path=path, title=at("title", "A title"), relevance=Relevance.POSSIBLE)
    verdict = WaiverVerdict(
        rule="R-3",
        passed=False,
        summary=at("waiver", "FAIL"),
        findings=(
            Finding(
                code="patch-unwaived",
                severity=Severity.ERROR,
                message=at("waiver", "no waiver"),
                location=Location(at("waiver", "x.sh"), 3),
                remedy=at("waiver", "write one"),
            ),
        ),
    )
    digest = ReviewMatch(
        id=at("digest", "owner/name#1"), title=at("digest", "A digest"), reasons=(), location=Location("x", 1)
    )
    return brief(
        [first._replace(reasons=(reason,), missing_cochanges=missing, waived_by=(at("waiver", "w.md"),)), possible],
        files=[change(path, at("diff", "x = 1"))],
        repo=at("repo", "target"),
        reviews=(digest,),
        unmatched=(at("uncovered", "docs/a.md"), at("path", "b")),
        waivers=verdict,
        edited=(Edited(at("owner", "R-1"), path, "gone", at("because", "it is removed")),),
        site="https://docs.example/kb",
    )


class Seen(HTMLParser):
    """What a reader's browser, and GitHub's filters, get to see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.inside.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        self.elements.append(f"/{tag}")
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"code", "pre"} & set(self.inside):
            self.text.append(data)


def look(markdown: str) -> Seen:
    html = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
    seen = Seen()
    # Boxes are drawn as disabled inputs, which have no end.
    seen.feed(re.sub(r"<input [^>]*/?>", "", html))
    return seen


ALIVE = re.compile(r"@\w|#\d|GH-\d|://|www\.|\b[0-9a-f]{7,40}\b|\$[^$]*\$", re.IGNORECASE)
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def state_of(found: Brief, text: str) -> object:
    state = advance(None, found)
    ack = Ack(head=A, fingerprint="", by=text, because=text)
    return state._replace(acks=dict.fromkeys(state.now.rules, ack))


@pytest.mark.parametrize("place", PLACES)
def test_nothing_comes_alive_in_comment_and_summary(place: str) -> None:
    for text in STRINGS:
        plain, found = poisoned("harmless", place), poisoned(text, place)
        for render in (render_comment, render_summary):
            said = text if place == "ack" else "x"
            body = render(found, state_of(found, said)).body  # type: ignore[arg-type]
            seen = look(body)
            base = look(render(plain, state_of(plain, "x")).body)  # type: ignore[arg-type]
            words = "".join(seen.text)
            assert not ALIVE.search(words), (text, ALIVE.search(words))
            assert not CONTROL.search(body), text
            assert all(link.startswith("https://docs.example/kb/rules/") for link in seen.links), (text, seen.links)
            # The same elements but for code spans and emphasis of ours: none of theirs.
            kept = [e for e in seen.elements if e not in ("code", "/code")]
            assert kept == [e for e in base.elements if e not in ("code", "/code")], (text, place)
            assert len(body.splitlines()) == len(render(plain, state_of(plain, "x")).body.splitlines())  # type: ignore[arg-type]


@pytest.mark.parametrize("place", PLACES)
def test_nothing_comes_alive_in_the_reports(place: str, capfd: pytest.CaptureFixture[str]) -> None:
    for text in STRINGS:
        plain, found = poisoned("harmless", place), poisoned(text, place)
        report = found.report
        seen, base = look(applies_markdown(report)), look(applies_markdown(plain.report))
        assert not ALIVE.search("".join(seen.text)), text
        assert not seen.links
        assert [e for e in seen.elements if "code" not in e] == [e for e in base.elements if "code" not in e], text
        lines = applies_annotations(report).splitlines()
        assert len(lines) == len(applies_annotations(plain.report).splitlines())
        commands = [line for line in lines if line.startswith("::")]
        assert commands == [line for line in lines if re.match(r"::(error|warning|notice) file=[^:]*::", line)]
        assert lines[-1].startswith("rulebook: ")
        assert "##[" not in "".join(lines)
        write_lines(applies_lines(report), Color.NEVER)
        shown = capfd.readouterr().out
        assert not CONTROL.search(shown), text
        assert shown.count("\n") == len(list(applies_lines(plain.report)))


@pytest.mark.parametrize("text", STRINGS)
def test_the_log_of_a_workflow_obeys_nothing(
    text: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for place in PLACES:
        write_lines(applies_lines(poisoned(text, place).report), Color.NEVER)
    shown = capfd.readouterr().out
    assert not [line for line in shown.splitlines() if line.strip().startswith("::") or "##[" in line]
    assert "##[" not in dump({"x": text})


def test_defang_leaves_other_text_alone() -> None:
    text = "a::b\n  std::vector ## x\n"
    assert defang(text) == text
    assert defang("  ::error::x\n::y") == "  \\x3a:error::x\n\\x3a:y"


@pytest.mark.parametrize("text", STRINGS)
def test_a_saved_brief_is_as_harmless(text: str) -> None:
    for place in PLACES:
        found = poisoned(text, place)
        again = read_brief(dump(brief_data(found)).encode("utf-8", "backslashreplace"), "x", found.site)
        assert render_summary(again, advance(None, again)).body == render_summary(found, advance(None, found)).body


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("`x` and `y`", "`x` and `y`"),
        ("`a`@b", "`a` `@b`"),
        ("mail a@b.c now", "mail `a@b.c` now"),
        ("1. not a list", "1\\. not a list"),
    ],
)
def test_text_stays_readable(text: str, shown: str) -> None:
    assert escape(text) == shown
