"""Reports as Markdown, for a job summary or an issue's text.

Foreign text is data here: it is put into code spans that it cannot break out of, or escaped, so that no
mention notifies anybody, no keyword closes an issue and no markup comes alive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rulebook.model import AppliesReport, Finding, Reason, ReasonKind, Relevance, Side
from rulebook.render.safe import one_line

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&:/@$^=\"'])")
#: Listed in full up to here; the rest is counted.
SHOWN_PATHS = 100


def escape(text: str) -> str:
    """Text as text: every character that Markdown could take for markup is escaped.

    An ``@`` becomes an entity, since a backslash does not keep GitHub from reading a mention.
    """
    escaped = _MARKUP.sub(lambda match: f"\\{match[0]}", one_line(text))
    return (
        escaped.replace("\\@", "&#64;")
        .replace("\\<", "&lt;")
        .replace("\\>", "&gt;")
        .replace("\\&", "&amp;")
        .replace("\\:", "&#58;")
        .replace("\\#", "&#35;")
    )


def code(text: str) -> str:
    """A code span that its own content cannot end; also safe inside a table."""
    safe = one_line(text).replace("|", "\\|") or " "
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if safe.startswith("`") or safe.endswith("`") or safe.strip() == "" else ""
    return f"{fence}{pad}{safe}{pad}{fence}"


def applies_markdown(report: AppliesReport) -> str:
    """The answer of ``applies``."""
    return "\n".join(_applies(report)) + "\n"


def _applies(report: AppliesReport) -> Iterator[str]:
    yield f"## Rules for this change of {code(report.repo)}"
    yield ""
    if not report.complete:
        yield "**The list of changed paths is cut**: what is missing from it was not looked at."
        yield ""
    for relevance, heading in ((Relevance.DIRECT, "Direct"), (Relevance.POSSIBLE, "Possible")):
        matches = [match for match in report.rules if match.relevance is relevance]
        if not matches:
            continue
        yield f"### {heading} ({len(matches)})"
        yield ""
        for match in matches:
            status = "" if match.status.value == "active" else f" ({match.status.value})"
            yield f"- **{escape(match.id)}** ({match.severity.value}){status} {escape(match.title)}"
            yield f"  - {_reason(match.reasons[0])}"
            if len(match.reasons) > 1:
                yield f"  - and {len(match.reasons) - 1} more reasons"
            for item in match.missing_cochanges:
                because = f": {escape(item.because)}" if item.because else ""
                yield f"  - [ ] {code(item.path)}{because}"
            for waiver in match.waived_by:
                yield f"  - waived by {code(waiver)}"
        yield ""
    if not report.rules:
        yield "No rule applies."
        yield ""
    if report.reviews:
        yield f"### Related reading ({len(report.reviews)})"
        yield ""
        for review in report.reviews:
            yield f"- {escape(review.id)} {escape(review.title)}"
        yield ""
    if report.unmatched:
        yield f"<details><summary>{len(report.unmatched)} changed paths that no rule covers</summary>"
        yield ""
        for path in report.unmatched[:SHOWN_PATHS]:
            yield f"- {code(path)}"
        if len(report.unmatched) > SHOWN_PATHS:
            yield f"- and {len(report.unmatched) - SHOWN_PATHS} more"
        yield ""
        yield "</details>"
        yield ""
    yield f"{report.examined_rules} rules and {report.examined_reviews} digests examined."


def _reason(reason: Reason) -> str:
    side = "" if reason.side is Side.BOTH else f" ({'before' if reason.side is Side.OLD else 'after'})"
    where = code(f"{reason.path}:{reason.line}" if reason.line else reason.path)
    words = {
        ReasonKind.PATH: "meets",
        ReasonKind.LINE: "matches",
        ReasonKind.IDENTIFIER: "names",
        ReasonKind.FUNCTION: "is inside",
        ReasonKind.COCHANGE: "asks to change along",
        ReasonKind.SOURCE: "is a source of the rule:",
        ReasonKind.LABEL: "shares the label",
    }
    return f"{where}{side} {words[reason.kind]} {code(reason.pattern)}"


def findings_markdown(findings: Sequence[Finding], examined: int) -> str:
    """The answer of ``lint`` as a table."""
    rows = ["| place | severity | code | what | remedy |", "| --- | --- | --- | --- | --- |"]
    for finding in findings:
        place = finding.location.path + (f":{finding.location.line}" if finding.location.line else "")
        rows.append(
            f"| {code(place)} | {finding.severity.value} | {code(finding.code)} | {escape(finding.message)} |"
            f" {escape(finding.remedy)} |"
        )
    body = rows if findings else ["Nothing to complain about."]
    return "\n".join([*body, "", f"{examined} files examined."]) + "\n"
