"""Reports as plain data for JSON; the keys are a contract, ``docs/contract.md`` lists them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rulebook.render.safe import json_text

if TYPE_CHECKING:
    from rulebook.answer import ExplainReport
    from rulebook.lookup import FoundDocument
    from rulebook.model import AppliesReport, FileChange, Finding, Reason, RuleMatch
    from rulebook.store.schema import Row

VERSION = 1


def dump(data: object) -> str:
    """JSON for people and programs: two spaces, keys in the contract's order, only harmful characters escaped."""
    return json_text(json.dumps(data, ensure_ascii=False, indent=2)) + "\n"


def applies_data(report: AppliesReport) -> dict[str, Any]:
    """The answer of ``applies``."""
    return {
        "version": VERSION,
        "repo": report.repo,
        "complete": report.complete,
        "paths": [path_data(change) for change in report.files],
        "rules": [
            {
                "id": match.id,
                "title": match.title,
                "severity": match.severity.value,
                "status": match.status.value,
                "relevance": match.relevance.value,
                "reasons": [reason_data(reason) for reason in match.reasons],
                "missing_cochanges": _missing(match),
                "freshness": match.freshness,
                "waived_by": list(match.waived_by),
                "location": {"path": match.location.path, "line": match.location.line},
            }
            for match in report.rules
        ],
        "reviews": [
            {
                "id": match.id,
                "title": match.title,
                "reasons": [reason_data(reason) for reason in match.reasons],
                "location": {"path": match.location.path, "line": match.location.line},
            }
            for match in report.reviews
        ],
        "unmatched": list(report.unmatched),
        "examined": {"rules": report.examined_rules, "reviews": report.examined_reviews},
        "notes": list(report.notes),
    }


def path_data(change: FileChange) -> dict[str, Any]:
    """A changed path."""
    return {"path": change.path, "old_path": change.old_path, "status": change.status.value}


def reason_data(reason: Reason) -> dict[str, Any]:
    """A piece of evidence."""
    return {
        "kind": reason.kind.value,
        "path": reason.path,
        "side": reason.side.value,
        "pattern": reason.pattern,
        "line": reason.line,
        "text": reason.text,
    }


def explain_data(report: ExplainReport) -> dict[str, Any]:
    """The answer of ``explain``."""
    return {
        "version": VERSION,
        "rule": report.rule.name,
        "title": report.rule.title,
        "repo": report.repo,
        "status": report.rule.status,
        "applies_to": list(report.patterns),
        "inert": report.inert or None,
        "relevance": report.match.relevance.value if report.match else None,
        "reasons": [reason_data(reason) for reason in report.match.reasons] if report.match else [],
        "missing_cochanges": _missing(report.match) if report.match else [],
        "paths": [
            {
                "path": item.path,
                "covered": item.covered,
                "outcome": item.explanation.outcome.value if item.explanation else None,
                "pattern": item.explanation.pattern.text if item.explanation and item.explanation.pattern else None,
                "because": item.explanation.because if item.explanation else None,
            }
            for item in report.paths
        ],
        "notes": list(report.notes),
    }


def _missing(match: RuleMatch) -> list[dict[str, str]]:
    return [{"path": item.path, "because": item.because} for item in match.missing_cochanges]


def row_data(row: Row, *, body: bool) -> dict[str, Any]:
    """A document; with its text where ``body`` says so."""
    data: dict[str, Any] = {
        "kind": row.kind.value,
        "id": row.name,
        "lang": row.lang,
        "title": row.title,
        "repo": row.repo,
        "status": row.status or None,
        "severity": row.severity or None,
        "tags": list(row.tags),
        "labels": list(row.labels),
        "location": {"path": row.path, "line": row.line},
    }
    if body:
        data |= {"metadata": dict(row.metadata), "body": row.body}
    return data


def rows_data(rows: Iterable[Row]) -> dict[str, Any]:
    """The answer of ``list``."""
    return {"version": VERSION, "documents": [row_data(row, body=False) for row in rows]}


def hits_data(query: str, hits: Sequence[FoundDocument]) -> dict[str, Any]:
    """The answer of ``search``."""
    return {
        "version": VERSION,
        "query": query,
        "hits": [
            {**row_data(hit.row, body=False), "score": round(hit.score, 4), "fields": list(hit.fields)} for hit in hits
        ],
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """A finding, wherever one is told."""
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "path": finding.location.path,
        "line": finding.location.line,
        "remedy": finding.remedy,
    }


def findings_data(findings: Sequence[Finding], examined: int) -> dict[str, Any]:
    """The answer of ``lint``."""
    return {
        "version": VERSION,
        "examined": {"files": examined},
        "findings": [finding_data(finding) for finding in findings],
        "summary": {
            word: sum(finding.severity.value == word for finding in findings) for word in ("error", "warning", "note")
        },
    }
