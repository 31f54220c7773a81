"""The answer of ``applies`` as SARIF 2.1.0, within what GitHub code scanning takes.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html and
https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rulebook.model import Reason, ReasonKind, Relevance, RuleMatch, Side
from rulebook.render.safe import one_line

if TYPE_CHECKING:
    from rulebook.model import AppliesReport

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: GitHub takes 25,000 results a run and shows the 5,000 weightiest; the rest are counted in a notification.
MAX_RESULTS = 5_000
#: Of 1,000 locations a result may have, GitHub shows 100.
MAX_RELATED = 20
_TEXT = 1_000


def applies_sarif(
    report: AppliesReport,
    version: str,
    *,
    help_addresses: Mapping[str, str] | None = None,
    max_results: int = MAX_RESULTS,
) -> dict[str, Any]:
    """The report as a SARIF log: a result for each rule and path, at the line that shows it best.

    Direct matches have the rule's severity, possible ones are notes.

    Args:
        report: the answer.
        version: of this program.
        help_addresses: where each rule is explained, by its id.
        max_results: what goes beyond is left out and counted.
    """
    addresses = help_addresses or {}
    indices: dict[str, int] = {}
    results: list[dict[str, Any]] = []
    left_out = 0
    for match in report.rules:
        for path, reasons in _by_path(match).items():
            if len(results) >= max_results:
                left_out += 1
                continue
            index = indices.setdefault(match.id, len(indices))
            results.append(_result(match, path, reasons, index))
    rules = [_descriptor(match, addresses.get(match.id, "")) for match in report.rules if match.id in indices]
    notifications = []
    if left_out:
        notifications.append(
            _notification(f"{left_out} results were left out; {max_results} is the most that is shown.")
        )
    if not report.complete:
        notifications.append(_notification("The list of changed paths is cut; what is missing was not looked at."))
    notifications += [_notification(text) for text in report.notes]
    driver: dict[str, Any] = {"name": "rulebook", "semanticVersion": version, "rules": rules}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
        "automationDetails": {"id": f"rulebook/{quote(report.repo, safe='')}/"},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _by_path(match: RuleMatch) -> dict[str, list[Reason]]:
    found: dict[str, list[Reason]] = {}
    for reason in match.reasons:
        if reason.path:
            found.setdefault(reason.path, []).append(reason)
    if match.relevance is Relevance.DIRECT and any(r.kind is not ReasonKind.PATH for r in match.reasons):
        # Where lines show it, places that only the pattern met are no findings of their own.
        found = {p: rs for p, rs in found.items() if any(r.kind is not ReasonKind.PATH for r in rs)}
    return found


def _descriptor(match: RuleMatch, address: str) -> dict[str, Any]:
    title = one_line(match.title)[:_TEXT] or match.id
    found: dict[str, Any] = {
        "id": match.id,
        "shortDescription": {"text": _sentence(title)},
        "fullDescription": {"text": _sentence(title)},
        "help": {"text": f"{_sentence(title)} See {one_line(match.location.path)}, or run: rulebook show {match.id}"},
        "defaultConfiguration": {"level": match.severity.value},
        "properties": {"tags": ["rulebook"], "status": match.status.value},
    }
    if address:
        found["helpUri"] = address
    return found


def _result(match: RuleMatch, path: str, reasons: Sequence[Reason], index: int) -> dict[str, Any]:
    first = next((r for r in reasons if r.line and r.side is not Side.OLD), reasons[0])
    others = [r for r in reasons if r is not first and r.line and r.side is not Side.OLD and r.line != first.line]
    text = f"{match.title} ({_words(first)})"
    text += "".join(f" {item.path} did not change along." for item in match.missing_cochanges[:5])
    found: dict[str, Any] = {
        "ruleId": match.id,
        "ruleIndex": index,
        "level": match.severity.value if match.relevance is Relevance.DIRECT else "note",
        "message": {"text": _sentence(_escape_links(one_line(text)[:_TEXT]))},
        "locations": [_location(path, first)],
        # The number of a line is no part of it, so that the result stays itself while lines move.
        "partialFingerprints": {"rulebook/v1": _fingerprint(match.id, path, first)},
        "properties": {"relevance": match.relevance.value, "side": first.side.value},
    }
    if others:
        found["relatedLocations"] = [
            {**_location(path, reason), "id": number, "message": {"text": _escape_links(one_line(_words(reason)))}}
            for number, reason in enumerate(others[:MAX_RELATED], 1)
        ]
    return found


def _location(path: str, reason: Reason) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(path, errors="surrogateescape")}}
    # Lines of the old side are not in the file that readers see; GitHub wants a region all the same.
    place["region"] = {"startLine": reason.line if reason.line and reason.side is not Side.OLD else 1}
    return {"physicalLocation": place}


def _words(reason: Reason) -> str:
    removed = "removed line, " if reason.side is Side.OLD and reason.line else ""
    return f"{removed}{reason.kind.value} {reason.pattern[:200]}"


def _fingerprint(rule: str, path: str, reason: Reason) -> str:
    from hashlib import sha256

    parts = (rule, path, reason.kind.value, reason.pattern, reason.text)
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _notification(text: str) -> dict[str, Any]:
    return {"level": "note", "message": {"text": _escape_links(one_line(text)[:_TEXT])}}


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "。")) else f"{text}."


def _escape_links(text: str) -> str:
    """Plain text in a message: ``[text](target)`` would be a link (section 3.11.6), braces a placeholder (3.11.5)."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("{", "{{").replace("}", "}}")
