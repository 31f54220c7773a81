"""Reports as Markdown, for a job summary or an issue's text.

Foreign text is data here: it is put into code spans that it cannot break out of, or escaped, so that no
mention notifies anybody, no keyword closes an issue and no markup comes alive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rulebook.model import AppliesReport, Finding, Reason, ReasonKind, RuleMatch, Side
from rulebook.render.safe import one_line
from rulebook.render.text import (
    MEANINGS,
    ONLY_PLACES,
    WORDS,
    Sides,
    count,
    explain_verdict,
    more_related,
    place_of,
    related,
    shorten,
    side_words,
    sides_of,
)

if TYPE_CHECKING:
    from rulebook.answer import ExplainReport
    from rulebook.lookup import FoundDocument
    from rulebook.store.schema import Row

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&:/@$^=\"'])")
#: A code span of the text's own.
_OWN_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
#: What GitHub brings to life in plain text, whatever is escaped in its source: mentions and addresses, issues,
#: commits, links, emoji, mathematics. It looks for them in the rendered text, everywhere but in code.
_ALIVE = re.compile(r"@|#\d|\bGH-\d|://|www\.|\b[0-9a-f]{7,40}\b|:[\w+-]+:|\$", re.IGNORECASE)
#: Listed in full up to here; the rest is counted.
SHOWN_PATHS = 100
#: Reasons shown under a rule; the rest are counted.
_SHOWN_REASONS = 4


def escape(text: str, *, in_table: bool = False) -> str:
    """Text as text: what Markdown could take for markup is escaped, and words that GitHub would act on become code.

    An escape or an entity does not keep GitHub from reading a mention or an issue's number, since it looks for
    them after rendering; only code does. Code spans of the text itself stay code.

    Args:
        text: the text.
        in_table: it is for a table's cell, see :func:`code`.
    """
    text = one_line(text)
    pieces: list[str] = []

    def add(piece: str) -> None:
        if pieces and pieces[-1].endswith("`") and piece.startswith("`"):
            pieces.append(" ")  # two runs of backticks would become one
        pieces.append(piece)

    def add_words(part: str) -> None:
        if not _ALIVE.search(part):
            add(_plain(part))
            return
        for word in re.split("( +)", part):
            add(code(word, in_table=in_table) if _ALIVE.search(word) else _plain(word))

    position = 0
    for span in _OWN_CODE.finditer(text):
        add_words(text[position : span.start()])
        add(code(span[2], in_table=in_table))
        position = span.end()
    add_words(text[position:])
    return "".join(pieces)


def _plain(text: str) -> str:
    return (
        _MARKUP.sub(lambda match: f"\\{match[0]}", text)
        .replace("\\<", "&lt;")
        .replace("\\>", "&gt;")
        .replace("\\&", "&amp;")
        .replace("\\:", "&#58;")
        .replace("\\#", "&#35;")
    )


def code(text: str, *, in_table: bool = False) -> str:
    """A code span that its own content cannot end.

    Args:
        text: the content.
        in_table: escapes ``|``, which ends a table's cell even in code; elsewhere the escape would be shown.
    """
    safe = one_line(text) or " "
    if in_table:
        safe = safe.replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if safe.startswith(("`", " ")) or safe.endswith(("`", " ")) else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def cell(text: str) -> str:
    """:func:`escape` for a table's cell."""
    return escape(text, in_table=True)


def code_cell(text: str) -> str:
    """:func:`code` for a table's cell."""
    return code(text, in_table=True)


def applies_markdown(report: AppliesReport) -> str:
    """The answer of ``applies``."""
    return "\n".join(_applies(report)) + "\n"


def _applies(report: AppliesReport) -> Iterator[str]:
    yield f"## Rules for this change of {code(report.repo)}"
    yield ""
    if not report.complete:
        yield "**The list of changed paths is cut**: what is missing from it was not looked at."
        yield ""
    if report.files and all(change.hunks is None for change in report.files):
        yield ONLY_PLACES
        yield ""
    sides = sides_of(report.files)
    for relevance, meaning in MEANINGS.items():
        matches = [match for match in report.rules if match.relevance is relevance]
        if not matches:
            continue
        yield f"### {relevance.value.capitalize()} ({len(matches)}): {meaning}"
        yield ""
        for match in matches:
            status = "" if match.status.value == "active" else f", {match.status.value}"
            yield f"- **{escape(match.id)}** ({match.severity.value}{status}) {escape(match.title)}"
            yield from _reasons(match, sides, _SHOWN_REASONS)
            for waiver in match.waived_by:
                yield f"  - waived by {code(waiver)}"
        yield ""
    if not report.rules:
        yield "No rule applies."
        yield ""
    if report.reviews:
        yield f"### Related reading ({len(report.reviews)})"
        yield ""
        shown = related(report.reviews)
        for review in shown:
            yield f"- {escape(review.id)} {escape(review.title)}"
        if len(shown) < len(report.reviews):
            yield f"- {more_related(report.reviews, shown)}"
        yield ""
    if report.unmatched:
        yield f"<details><summary>{count(len(report.unmatched), 'changed path')} that no rule covers</summary>"
        yield ""
        for path in report.unmatched[:SHOWN_PATHS]:
            yield f"- {code(path)}"
        if len(report.unmatched) > SHOWN_PATHS:
            yield f"- and {len(report.unmatched) - SHOWN_PATHS} more"
        yield ""
        yield "</details>"
        yield ""
    examined = f"{count(report.examined_rules, 'rule')} and {count(report.examined_reviews, 'digest')}"
    yield f"{examined} examined."


def _reasons(match: RuleMatch, sides: Sides, shown: int, indent: str = "  ") -> Iterator[str]:
    reasons = [reason for reason in match.reasons if reason.kind is not ReasonKind.COCHANGE]
    for reason in reasons[:shown]:
        yield f"{indent}- {reason_markdown(reason, sides)}"
    if len(reasons) > shown:
        yield f"{indent}- and {count(len(reasons) - shown, 'more reason')}"
    for item in match.missing_cochanges:
        because = f": {escape(item.because)}" if item.because else ""
        yield f"{indent}- [ ] not changed along: {code(item.path)}{because}"


def reason_markdown(
    reason: Reason, sides: Sides | None = None, *, path: int = 4_096, pattern: int = 4_096, text: int = 4_096
) -> str:
    """A piece of evidence in one line.

    Args:
        reason: the evidence.
        sides: what happened to the changed paths, where that is to be told.
        path: characters of the path at most.
        pattern: characters of the pattern at most.
        text: characters of the changed line at most.
    """
    removed = " (removed)" if reason.side is Side.OLD else ""
    what = removed if reason.line or sides is None else escape(side_words(reason, sides))
    quoted = f": {code(shorten(reason.text, text))}" if reason.text else ""
    place = place_of(reason._replace(path=shorten(one_line(reason.path), path)))
    # A pin is no part of the sentence, as a pattern is.
    colon = ":" if reason.kind is ReasonKind.SOURCE else ""
    return f"{code(place)}{what} {WORDS[reason.kind]}{colon} {code(shorten(reason.pattern, pattern))}{quoted}"


def explain_markdown(report: ExplainReport) -> str:
    """The answer of ``explain``."""
    return "\n".join(_explain(report)) + "\n"


def _explain(report: ExplainReport) -> Iterator[str]:
    yield f"**{escape(explain_verdict(report))}**"
    yield ""
    yield escape(report.rule.title)
    yield ""
    if report.match:
        yield from _reasons(report.match, sides_of(report.files), SHOWN_PATHS, indent="")
        yield ""
    places = ", ".join(code(pattern) for pattern in report.patterns) or "no place"
    yield f"Applies to {places}."
    yield ""
    for item in report.paths[:SHOWN_PATHS]:
        because = f": {escape(item.explanation.because)}" if item.explanation else ""
        yield f"- {'covers' if item.covered else 'does not cover'} {code(item.path)}{because}"
    if len(report.paths) > SHOWN_PATHS:
        yield f"- and {len(report.paths) - SHOWN_PATHS:,} more"


def rows_markdown(rows: Sequence[Row]) -> str:
    """The answer of ``list`` as a table."""
    table = ["| id | status | title |", "| --- | --- | --- |"]
    table += [f"| {cell(row.name)} | {row.status or row.kind.value} | {cell(row.title)} |" for row in rows]
    return "\n".join(table if rows else ["Nothing is listed."]) + "\n"


def hits_markdown(hits: Sequence[FoundDocument]) -> str:
    """The answer of ``search``, best first."""
    found = [f"1. {escape(hit.row.name)} {escape(hit.row.title)}, {code(hit.row.path)}" for hit in hits]
    return "\n".join(found or ["Nothing found."]) + "\n"


def findings_markdown(findings: Sequence[Finding], examined: int) -> str:
    """The answer of ``lint`` as a table."""
    rows = ["| place | severity | code | what | remedy |", "| --- | --- | --- | --- | --- |"]
    for finding in findings:
        place = finding.location.path + (f":{finding.location.line}" if finding.location.line else "")
        rows.append(
            f"| {code_cell(place)} | {finding.severity.value} | {code_cell(finding.code)} | {cell(finding.message)} |"
            f" {cell(finding.remedy)} |"
        )
    body = rows if findings else ["Nothing to complain about."]
    return "\n".join([*body, "", f"{examined} files examined."]) + "\n"
