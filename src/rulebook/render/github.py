"""Annotations of GitHub Actions: workflow commands on standard output, and the defence against those of others.

The format is that of ``@actions/core``
(https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rulebook.model import Relevance, Side
from rulebook.render.safe import one_line
from rulebook.render.text import count

if TYPE_CHECKING:
    from rulebook.model import AppliesReport, RuleMatch

#: GitHub shows so many annotations of each level for one step, and drops the rest without a word
#: (https://docs.github.com/en/rest/checks/runs, "limits of annotations").
MAX_PER_LEVEL = 10
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}
_COMMAND = re.compile(r"^([ \t\r\f\v]*):(?=:)", re.MULTILINE)


def applies_annotations(report: AppliesReport) -> str:
    """The rules that apply, as annotations of the changed lines; what GitHub would drop is counted in a last line."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: AppliesReport) -> Iterator[str]:
    shown = dict.fromkeys(_LEVELS.values(), 0)
    hidden = 0
    for match in report.rules:
        level = _LEVELS[match.severity.value] if match.relevance is Relevance.DIRECT else "notice"
        if shown[level] >= MAX_PER_LEVEL:
            hidden += 1
            continue
        shown[level] += 1
        yield _annotation(level, match)
    cut = "" if report.complete else "; the list of changed paths is cut"
    more = f", {hidden} of them not annotated" if hidden else ""
    uncovered = f", {count(len(report.unmatched), 'changed path')} that no rule covers" if report.unmatched else ""
    apply = "applies" if len(report.rules) == 1 else "apply"
    yield f"rulebook: {count(len(report.rules), 'rule')} {apply}{more}{uncovered}{cut}"


def _annotation(level: str, match: RuleMatch) -> str:
    # An annotation needs a line that exists after the change, so evidence on that side comes first.
    reason = next((r for r in match.reasons if r.line and r.side is not Side.OLD), None)
    reason = reason or next((r for r in match.reasons if r.path), None)
    title = f"{match.id} ({match.relevance.value})"
    properties = []
    if reason is not None:
        properties.append(f"file={_property(reason.path)}")
        if reason.line and reason.side is not Side.OLD:
            properties.append(f"line={reason.line}")
    properties.append(f"title={_property(title[:200])}")
    missing = "".join(f" {item.path} did not change along." for item in match.missing_cochanges[:5])
    return f"::{level} {','.join(properties)}::{_data(f'{match.title[:500]}.{missing}')}"


def _data(text: str) -> str:
    # Line ends are escapes by now.
    return defang(one_line(text)).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def defang(text: str) -> str:
    """Text that a workflow's log may have without being obeyed.

    The runner takes a line that begins with ``::``, blanks aside, and ``##[`` anywhere in a line for a command, so a
    file's name could be one. Both are written as escapes.
    """
    if "::" not in text and "##[" not in text:
        return text
    return _COMMAND.sub(r"\1\\x3a", text).replace("##[", "##\\x5b")
