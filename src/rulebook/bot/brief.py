"""What there is to say about one pull request: which rules apply, the waivers, the sources that it edits.

A brief can be saved and read again, so that a run without the right to write hands its answer to one that has it. What
is read from a file is data of unknown origin: every value is checked, and all of it is rendered as foreign text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook.errors import UnreadableInput
from rulebook.model import (
    AppliesReport,
    ChangeStatus,
    FileChange,
    Finding,
    Line,
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
from rulebook.render import data

if TYPE_CHECKING:
    from rulebook.edits import EditedSource
    from rulebook.waivers.check import CheckReport

VERSION = 1
#: A saved brief beyond this is nobody's; 3,000 files and 500 rules make 3 MB.
MAX_SAVED = 32 << 20
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")


class WaiverVerdict(NamedTuple):
    """What the patch policy says of the change.

    Attributes:
        rule: the policy's rule.
        passed: whether nothing is unwaived or incomplete.
        summary: the verdict in one line.
        findings: what is missing, and what is worth knowing.
        patches: how many patches count.
        waived_by: the waivers that cover them.
    """

    rule: str
    passed: bool
    summary: str
    findings: tuple[Finding, ...] = ()
    patches: int = 0
    waived_by: tuple[str, ...] = ()


class Edited(NamedTuple):
    """A source of a document that the change edits, moves or removes."""

    owner: str
    path: str
    state: str
    because: str


class Brief(NamedTuple):
    """Everything the comment says, but for what it remembers.

    Attributes:
        repository: ``owner/name`` that the pull request is opened in.
        number: the pull request's.
        head: the commit that all of this speaks of.
        report: which rules apply.
        waivers: the patch policy's verdict; ``None`` where the repository has no policy.
        edited: sources that the change edits.
        fingerprints: of what each rule matched, by rule, see :func:`fingerprint`.
        site: the address of the documentation's root, or empty.
    """

    repository: str
    number: int
    head: str
    report: AppliesReport
    waivers: WaiverVerdict | None = None
    edited: tuple[Edited, ...] = ()
    fingerprints: Mapping[str, str] = MappingProxyType({})
    site: str = ""

    @property
    def quiet(self) -> bool:
        """Whether there is nothing to say: related reading alone is no reason to write to anybody."""
        verdict = self.waivers
        silent = verdict is None or (verdict.passed and not verdict.patches and not verdict.findings)
        return silent and not self.report.rules and not self.edited


def build(
    repository: str,
    number: int,
    head: str,
    report: AppliesReport,
    *,
    check: CheckReport | None = None,
    edited: Iterable[EditedSource] = (),
    site: str = "",
) -> Brief:
    """Puts the answers together."""
    verdict = None
    if check is not None:
        from rulebook.waivers.check import verdict_line

        waived = tuple(dict.fromkeys(item.covered_by for item in check.patches if item.covered_by))
        verdict = WaiverVerdict(
            rule=check.rule,
            passed=check.passed,
            summary=verdict_line(check),
            findings=check.findings,
            patches=len(check.patches),
            waived_by=waived,
        )
        if check.passed and waived:
            rules = (m._replace(waived_by=waived) if m.id == check.rule else m for m in report.rules)
            report = report._replace(rules=tuple(rules))
    sources = [Edited(item.owner, item.path, str(item.state), item.because) for item in edited]
    return Brief(
        repository=repository,
        number=number,
        head=head,
        report=report,
        waivers=verdict,
        edited=tuple(sources),
        fingerprints=fingerprints(report),
        site=site,
    )


# --- what a rule matched ----------------------------------------------------------------------


def fingerprints(report: AppliesReport) -> dict[str, str]:
    """Of every rule that applies, see :func:`fingerprint`."""
    sides = {path: change for change in report.files for path, _ in change.sides()}
    changed: dict[str, str] = {}
    return {match.id: fingerprint(match, sides, changed) for match in report.rules}


def fingerprint(match: RuleMatch, files: Mapping[str, FileChange], known: dict[str, str] | None = None) -> str:
    """Sixteen hexadecimal digits that stay the same as long as what a rule matched stays the same.

    Lines count by their text, not by their number, so that a push which only moves them changes nothing. Evidence on
    lines stands for every changed line of that file that shows the same; where the place alone decides, all
    of the file's changed lines do.

    Args:
        match: the rule's match.
        files: the changed files, by their paths on either side.
        known: texts of files that were put together before, by path; added to.
    """
    from hashlib import sha256

    known = {} if known is None else known
    shown = [reason for reason in match.reasons if reason.kind is not ReasonKind.PATH] or list(match.reasons)
    parts = sorted(
        f"{reason.kind}\0{reason.path}\0{reason.side}\0{reason.pattern}\0{_content(reason, files, known)}"
        for reason in shown
    )
    parts += sorted(f"missing\0{item.path}" for item in match.missing_cochanges)
    return sha256("\1".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _content(reason: Reason, files: Mapping[str, FileChange], known: dict[str, str]) -> str:
    change = files.get(reason.path)
    if change is None or change.hunks is None:
        return reason.text
    if reason.kind in (ReasonKind.PATH, ReasonKind.SOURCE):
        if reason.path not in known:
            lines = [f"{line.mark}{line.text}" for hunk in change.hunks for line in hunk.lines if line.mark != " "]
            known[reason.path] = "\n".join([change.status.value, *lines])
        return known[reason.path]
    mark = "-" if reason.side is Side.OLD else "+"
    if reason.kind is ReasonKind.LINE:
        from rulebook.regexes import MAX_LINE, RegexError, compile_bounded

        try:
            pattern = compile_bounded(reason.pattern)
        except RegexError:
            return reason.text
        return _joined(change, mark, lambda line: pattern.search(line.text[:MAX_LINE]) is not None)
    if reason.kind is ReasonKind.IDENTIFIER:
        return _joined(change, mark, lambda line: reason.pattern in line.text)
    # A function's extent is not in the diff; the hunk around the line is.
    number = reason.line or 0
    lines = []
    for hunk in change.hunks:
        mine = [line for line in hunk.lines if line.mark == mark]
        if any((line.old if mark == "-" else line.new) == number for line in mine):
            lines += [line.text for line in mine]
    return "\n".join(lines) or reason.text


def _joined(change: FileChange, mark: str, wanted: Any) -> str:
    lines: list[Line] = [line for hunk in change.hunks or () for line in hunk.lines if line.mark == mark]
    return "\n".join(line.text for line in lines if wanted(line))


# --- saved and read again ---------------------------------------------------------------------


def brief_data(brief: Brief) -> dict[str, Any]:
    """A brief as data: the contract's answers of ``applies`` and ``waiver check``, and what binds them to a commit."""
    verdict = brief.waivers
    return {
        "version": VERSION,
        "kind": "rulebook-brief",
        "repository": brief.repository,
        "pr": brief.number,
        "head": brief.head,
        "applies": data.applies_data(brief.report),
        "waivers": None
        if verdict is None
        else {
            "rule": verdict.rule,
            "verdict": "pass" if verdict.passed else "fail",
            "summary": verdict.summary,
            "patches": verdict.patches,
            "waived_by": list(verdict.waived_by),
            "findings": [data.finding_data(finding) for finding in verdict.findings],
        },
        "edited_sources": [item._asdict() for item in brief.edited],
        "fingerprints": dict(brief.fingerprints),
    }


def read_brief(text: bytes, name: str, site: str = "") -> Brief:
    """A saved brief.

    Args:
        text: the file's content.
        name: the file's name, for messages.
        site: where the documentation is; never taken from the file, which could send readers anywhere.

    Raises:
        UnreadableInput: it is none.
    """
    try:
        return _brief(json.loads(text), site)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableInput(
            f"{name} is no answer that 'rulebook comment --save' wrote: {error!r:.200}", "save it again"
        ) from None


def _brief(found: Mapping[str, Any], site: str) -> Brief:
    if found["kind"] != "rulebook-brief" or found["version"] != VERSION:
        raise ValueError(f"it is of version {found['version']!r}")
    head, number = _str(found["head"]), _int(found["pr"])
    if not _SHA.match(head) or number < 1:
        raise ValueError("head or pr is unusable")
    waivers = found["waivers"]
    return Brief(
        repository=_str(found["repository"]),
        number=number,
        head=head,
        report=_report(found["applies"]),
        waivers=None if waivers is None else _verdict(waivers),
        edited=tuple(
            Edited(*(_str(item[key]) for key in ("owner", "path", "state", "because")))
            for item in found["edited_sources"]
        ),
        fingerprints={_str(key): _str(value)[:64] for key, value in found["fingerprints"].items()},
        site=site,
    )


def _report(found: Mapping[str, Any]) -> AppliesReport:
    return AppliesReport(
        repo=_str(found["repo"]),
        complete=found["complete"] is True,
        files=tuple(
            FileChange(
                path=_str(item["path"]),
                old_path=None if item["old_path"] is None else _str(item["old_path"]),
                status=ChangeStatus(item["status"]),
            )
            for item in found["paths"]
        ),
        rules=tuple(_match(item) for item in found["rules"]),
        reviews=tuple(
            ReviewMatch(
                id=_str(item["id"]),
                title=_str(item["title"]),
                reasons=tuple(map(_reason, item["reasons"])),
                location=_location(item["location"]),
            )
            for item in found["reviews"]
        ),
        unmatched=tuple(map(_str, found["unmatched"])),
        examined_rules=_int(found["examined"]["rules"]),
        examined_reviews=_int(found["examined"]["reviews"]),
        notes=tuple(map(_str, found["notes"])),
    )


def _match(item: Mapping[str, Any]) -> RuleMatch:
    return RuleMatch(
        id=_str(item["id"]),
        title=_str(item["title"]),
        severity=Severity(item["severity"]),
        status=Status(item["status"]),
        relevance=Relevance(item["relevance"]),
        reasons=tuple(map(_reason, item["reasons"])),
        missing_cochanges=tuple(
            MissingCoChange(path=_str(missing["path"]), because=_str(missing["because"]))
            for missing in item["missing_cochanges"]
        ),
        freshness=None if item["freshness"] is None else _str(item["freshness"]),
        waived_by=tuple(map(_str, item["waived_by"])),
        location=_location(item["location"]),
    )


def _reason(item: Mapping[str, Any]) -> Reason:
    return Reason(
        kind=ReasonKind(item["kind"]),
        path=_str(item["path"]),
        side=Side(item["side"]),
        pattern=_str(item["pattern"]),
        line=None if item["line"] is None else _int(item["line"]),
        text=_str(item["text"]),
    )


def _verdict(item: Mapping[str, Any]) -> WaiverVerdict:
    return WaiverVerdict(
        rule=_str(item["rule"]),
        passed=item["verdict"] == "pass",
        summary=_str(item["summary"]),
        findings=tuple(
            Finding(
                code=_str(finding["code"]),
                severity=Severity(finding["severity"]),
                message=_str(finding["message"]),
                location=Location(_str(finding["path"]), _int(finding["line"])),
                remedy=_str(finding["remedy"]),
            )
            for finding in item["findings"]
        ),
        patches=_int(item["patches"]),
        waived_by=tuple(map(_str, item["waived_by"])),
    )


def _location(item: Mapping[str, Any]) -> Location:
    return Location(_str(item["path"]), _int(item["line"]))


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r:.40} is no number")
    return value
