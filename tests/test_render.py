"""One report through every format; Markdown that nothing foreign can break out of."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rulebook.model import (
    AppliesReport,
    ChangeStatus,
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
    Status,
)
from rulebook.render.md import applies_markdown, cell, code, code_cell, escape, findings_markdown
from rulebook.render.text import applies_lines, findings_lines, shorten

PARSER = MarkdownIt("gfm-like", {"html": True, "linkify": False})


def report(hostile: str = "", *, paths_only: bool = False, complete: bool = True) -> AppliesReport:
    """A report with everything that one can hold; ``hostile`` is added to every text that is foreign."""
    path, moved = f"src/a.py{hostile}", f"new/b.py{hostile}"
    reasons = (
        Reason(ReasonKind.LINE, path, Side.NEW, f"re+{hostile}", 12, f"x = 1{hostile}"),
        Reason(ReasonKind.LINE, path, Side.NEW, "second", 12, f"x = 1{hostile}"),
        Reason(ReasonKind.IDENTIFIER, path, Side.OLD, f"name{hostile}", 3, f"name(){hostile}"),
        Reason(ReasonKind.COCHANGE, path, Side.NEW, f"docs/**{hostile}", 12),
        Reason(ReasonKind.SOURCE, path, Side.OLD, f"demo@{'0' * 40}:src/a.py#f{hostile}"),
        Reason(ReasonKind.PATH, path, Side.BOTH, f"src/**{hostile}"),
        Reason(ReasonKind.PATH, moved, Side.NEW, f"new/**{hostile}"),
    )
    direct = RuleMatch(
        id=f"R-1{hostile}",
        title=f"The rule{hostile}",
        severity=Severity.ERROR,
        status=Status.CONTESTED,
        relevance=Relevance.DIRECT,
        reasons=reasons,
        missing_cochanges=(MissingCoChange(f"docs/**{hostile}", f"it has a list{hostile}"),),
        freshness="changed",
        waived_by=(f"waivers/demo/7.md{hostile}",),
        location=Location("rules/demo/R-1.md", 1),
    )
    possible = direct._replace(
        id="R-2",
        relevance=Relevance.POSSIBLE,
        reasons=reasons[5:],
        missing_cochanges=(),
        waived_by=(),
        freshness="fresh",
    )
    review = ReviewMatch(
        id=f"owner/demo#12{hostile}",
        title=f"The digest{hostile}",
        reasons=(Reason(ReasonKind.PATH, path, Side.BOTH, f"src/**{hostile}"),),
        location=Location("reviews/owner/demo/12.md", 1),
    )
    hunks = None if paths_only else ()
    return AppliesReport(
        repo=f"demo{hostile}",
        complete=complete,
        files=(
            FileChange(path, None, ChangeStatus.MODIFIED, hunks),
            FileChange(moved, f"old/b.py{hostile}", ChangeStatus.RENAMED, hunks),
        ),
        rules=(direct, possible),
        reviews=(review,),
        unmatched=(f"free/c.txt{hostile}",),
        examined_rules=2,
        examined_reviews=1,
    )


def text_of(answer: AppliesReport) -> str:
    return "".join(line.plain + "\n" for line in applies_lines(answer))


def test_text_has_everything_in_its_place() -> None:
    assert text_of(report()) == (
        "demo: 2 changed paths, 2 rules and 1 digest examined\n"
        "\n"
        "Direct (1): shown by the change itself\n"
        "  error   R-1  The rule  [contested]  [a source: changed]\n"
        "          src/a.py:12 matches re+ and 1 more\n"
        "            + x = 1\n"
        "          src/a.py:3 names name\n"
        "            - name()\n"
        "          src/a.py is a source of the rule at #f, as of 000000000000\n"
        "          src/a.py meets src/**\n"
        "          and 1 more reason; --format json has them all\n"
        "          not changed along: docs/**  asked for by src/a.py:12: it has a list\n"
        "          waived by waivers/demo/7.md\n"
        "\n"
        "Possible (1): only the place matches\n"
        "  error   R-2  The rule  [contested]\n"
        "          src/a.py meets src/**\n"
        "          new/b.py (moved from old/b.py) meets new/**\n"
        "\n"
        "Related reading (1)\n"
        "  owner/demo#12  The digest\n"
        "      touched src/**, as src/a.py does\n"
        "\n"
        "No rule covers (1)\n"
        "  free/c.txt\n"
    )


def test_text_says_what_was_not_looked_at() -> None:
    assert "Only places were looked at" in text_of(report(paths_only=True))
    assert "Only places" not in text_of(report())
    assert "is cut" in text_of(report(complete=False))
    assert "is cut" in applies_markdown(report(complete=False))
    assert "Only places were looked at" in applies_markdown(report(paths_only=True))


def test_markdown_has_everything() -> None:
    shown = visible(applies_markdown(report()))
    for text in (
        "Rules for this change of demo",
        "Direct (1): shown by the change itself",
        "R-1 (error, contested) The rule",
        "src/a.py:12 matches re+: x = 1",
        "src/a.py:3 (removed) names name: name()",
        "not changed along: docs/**: it has a list",
        "waived by waivers/demo/7.md",
        "Possible (1): only the place matches",
        "new/b.py (moved from old/b.py) meets new/**",
        "Related reading (1)",
        "The digest",
        "1 changed path that no rule covers",
        "free/c.txt",
        "2 rules and 1 digest examined.",
    ):
        assert text in shown


# --- nothing foreign comes alive ----------------------------------------------------------------

HOSTILE = [
    "](https://evil.invalid) [x](https://evil.invalid)",
    "![x](https://evil.invalid/track.png)",
    "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "</summary></details><details open><summary>",
    "`` ` ``` `code` ``",
    "` <b>bold</b> `",
    "@octocat and @org/team",
    "fixes #12, closes owner/name#13, GH-14, gh-15",
    "https://github.com/owner/name/pull/1 www.evil.invalid me@evil.invalid",
    "<https://evil.invalid>",
    "\n\n# heading\n- list\n> quote\n***\n| a | b |\n|---|---|",
    "**bold** _em_ ~~gone~~ | cell | \\",
    "&lt;script&gt; &#64;octocat &commat;octocat",
    "[^1]: note [ ] [x] :smile: $math$",
    "\u202egnp\x1b[31m\x00",
    "<!-- comment -->",
    "[ref]: https://evil.invalid\n[ref]",
]

#: What GitHub makes a notification or a cross-reference of, in the text that Markdown has become.
_REFERENCES = re.compile(r"(?<![\w`])@[A-Za-z0-9]|#\d|\bGH-\d", re.IGNORECASE)


class _Page(HTMLParser):
    """The tags of a page, and its text outside of code."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []
        self.prose: list[str] = []
        self._code = 0

    @property
    def shape(self) -> list[str]:
        """The tags but those of code, which is text as well."""
        return [tag for tag in self.tags if tag != "code"]

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert {name for name, _ in attrs} <= {"style"}
        self._code += tag == "code"

    def handle_endtag(self, tag):
        self._code -= tag == "code"

    def handle_comment(self, data):
        raise AssertionError(f"a comment came alive: {data}")

    def handle_data(self, data):
        self.text.append(data)
        if not self._code:
            self.prose.append(data)


def read(markdown: str) -> _Page:
    page = _Page()
    page.feed(PARSER.render(markdown))
    page.close()
    return page


def test_code_of_the_text_itself_stays_code() -> None:
    assert escape("mind `a_b` and ``c`d``") == "mind `a_b` and ``c`d``"


def visible(markdown: str) -> str:
    return re.sub(r"\s+", " ", "".join(read(markdown).text).replace("\u200b", ""))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_markdown_of_applies_keeps_its_shape(hostile: str) -> None:
    text = applies_markdown(report(hostile))
    page = read(text)
    assert page.shape == read(applies_markdown(report())).shape
    assert not _REFERENCES.search("".join(page.prose))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_markdown_of_lint_keeps_its_table(hostile: str) -> None:
    def table(extra: str) -> str:
        finding = Finding(
            f"code{extra}", Severity.ERROR, f"message{extra}", Location(f"a.md{extra}", 3), f"remedy{extra}"
        )
        return findings_markdown([finding, finding], 1)

    page = read(table(hostile))
    assert page.shape == read(table("")).shape
    assert not _REFERENCES.search("".join(page.prose))


@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="`"), min_size=1, max_size=40
    )
)
@example("@|")
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    from rulebook.render.safe import one_line

    wanted = " ".join(f"x {one_line(text)} x".replace("\u200b", "").split())
    page = read(f"- x {escape(text)} x\n")
    assert page.shape == ["ul", "li"]
    assert " ".join("".join(page.text).replace("\u200b", "").split()) == wanted
    table = read(f"| a | b |\n| --- | --- |\n| x {cell(text)} x | |\n")
    assert table.shape == read("| a | b |\n| --- | --- |\n| x | |\n").shape
    assert " ".join("".join(table.text).replace("\u200b", "").split()) == f"a b {wanted}"


@given(st.text(st.sampled_from("`a |\\ <"), min_size=1, max_size=12))
def test_code_is_shown_as_it_is(text: str) -> None:
    page = read(f"x {code(text)} x\n")
    assert page.tags == ["p", "code"]
    if text.strip():
        assert "".join(page.text).strip("\n") == f"x {text} x"
    table = read(f"| a | b |\n| --- | --- |\n| {code_cell(text)} | b |\n")
    assert [tag for tag in table.tags if tag in ("td", "code")] == ["td", "code", "td"]


def test_findings_are_counted_and_remedied() -> None:
    findings = [
        Finding("rule-x", Severity.ERROR, "wrong", Location("a.md", 3), "mend"),
        Finding("y", Severity.NOTE, "thin", Location("b.md")),
    ]
    assert [line.plain for line in findings_lines(findings, 2)] == [
        "a.md:3: error [rule-x] wrong",
        "    remedy: mend",
        "b.md: note [y] thin",
        "2 files examined: 1 error, 1 note",
    ]


@pytest.mark.parametrize(("text", "width", "short"), [("abc", 3, "abc"), ("abcd", 3, "ab…")])
def test_shorten(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short
