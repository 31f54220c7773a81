"""Briefs for tests of the bot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rulebook.bot.brief import Brief, fingerprints
from rulebook.model import (
    AppliesReport,
    ChangeStatus,
    FileChange,
    Hunk,
    Line,
    Location,
    Reason,
    ReasonKind,
    Relevance,
    RuleMatch,
    Severity,
    Side,
    Status,
)

A, B, C = "a" * 40, "b1" * 20, "c2" * 20


def change(path: str, *lines: str, start: int = 10) -> FileChange:
    """A modified file with these added lines, the first of which is number ``start``."""
    added = tuple(Line(mark="+", text=text, old=0, new=start + at) for at, text in enumerate(lines))
    return FileChange(
        path=path,
        status=ChangeStatus.MODIFIED,
        hunks=(Hunk(old_start=start, new_start=start, heading="", lines=added),),
    )


def match(name: str, path: str = "src/a.py", line: int | None = 10, text: str = "x = 1", **more: Any) -> RuleMatch:
    """A match: direct by a line unless ``relevance`` says otherwise."""
    direct = more.get("relevance", Relevance.DIRECT) is Relevance.DIRECT
    kind = ReasonKind.LINE if direct else ReasonKind.PATH
    reason = Reason(
        kind=kind,
        path=path,
        side=Side.NEW if direct else Side.BOTH,
        pattern=r"x = \d" if direct else "src/**",
        line=line if direct else None,
        text=text if direct else "",
    )
    values = {
        "id": name,
        "title": f"Title of {name}",
        "severity": Severity.WARNING,
        "status": Status.ACTIVE,
        "relevance": Relevance.DIRECT,
        "reasons": (reason,),
        "location": Location(f"rules/target/{name}.md", 1),
    }
    return RuleMatch(**{**values, **more})


def brief(rules: Sequence[RuleMatch], head: str = A, files: Sequence[FileChange] | None = None, **more: Any) -> Brief:
    """A brief of these matches."""
    report_more = {key: more.pop(key) for key in list(more) if key in AppliesReport._fields}
    report = AppliesReport(
        **{
            "repo": "target",
            "complete": True,
            "files": tuple(files if files is not None else [change("src/a.py", "x = 1")]),
            "rules": tuple(rules),
            "reviews": (),
            "unmatched": (),
            "examined_rules": 12,
            "examined_reviews": 3,
            **report_more,
        }
    )
    values = {"repository": "owner/target", "number": 7, "head": head, "fingerprints": fingerprints(report)}
    return Brief(report=report, **{**values, **more})
