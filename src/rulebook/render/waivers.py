"""The answers of ``waiver check``, ``audit`` and ``baseline``: as lines, as data for JSON, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rulebook.render.data import VERSION, finding_data
from rulebook.render.md import cell, code, code_cell, escape
from rulebook.render.text import BLANK, StyledLine, line
from rulebook.waivers.audit import AuditReport, WaiverState
from rulebook.waivers.check import CheckReport, JudgedPatch, PatchStatus, signoff_line, verdict_line

if TYPE_CHECKING:
    from rulebook.model import Finding
    from rulebook.waivers.patches import Patch
    from rulebook.waivers.steps import Step

_STATUS_STYLE = {
    PatchStatus.UNWAIVED: "bold red",
    PatchStatus.WAIVED: "green",
    PatchStatus.GRANDFATHERED: "cyan",
}
_STATE_STYLE = {
    WaiverState.IN_FORCE: "green",
    WaiverState.EXPIRED: "yellow",
    WaiverState.ORPHAN: "yellow",
    WaiverState.INCOMPLETE: "bold red",
}
_SEVERITY_STYLE = {"error": "bold red", "warning": "yellow", "note": "cyan"}


#: Patches shown with their evidence; the rest are counted, and JSON has them all.
SHOWN_PATCHES = 25
#: Entries shown of lists that need nobody's attention.
SHOWN_BRIEFLY = 10
ALL = "--format json has them all"


# --- lines ------------------------------------------------------------------------------------


def check_lines(report: CheckReport) -> Iterator[StyledLine]:
    """The answer of ``waiver check``: the verdict first, then why, then what to do."""
    yield line((verdict_line(report), "bold green" if report.passed else "bold red"), indent=6)
    if report.patches:
        yield BLANK
        yield line((f"Patches ({len(report.patches)})", "bold"))
        order = list(PatchStatus)[::-1]
        ordered = sorted(report.patches, key=lambda item: order.index(item.status))
        for item in ordered[:SHOWN_PATCHES]:
            yield from _patch_lines(item)
        yield from _more(len(ordered) - SHOWN_PATCHES, "patch", "patches")
    if report.possible:
        yield BLANK
        yield line((f"Possible ({len(report.possible)})", "bold"), ("  looked at, and not counted", "dim"))
        for patch in report.possible[:SHOWN_BRIEFLY]:
            yield from _patch(patch, "possible", "dim")
        yield from _more(len(report.possible) - SHOWN_BRIEFLY, "place")
    if report.kept:
        yield BLANK
        yield line(
            (f"There before ({len(report.kept)})", "bold"), ("  touched, and not introduced by this change", "dim")
        )
        for patch in report.kept[:SHOWN_BRIEFLY]:
            yield from _patch(patch, "kept", "dim")
        yield from _more(len(report.kept) - SHOWN_BRIEFLY, "patch", "patches")
    yield from _findings([finding for finding in report.findings if finding.code != "patch-unwaived"], report.steps)
    if report.steps:
        yield BLANK
        yield line(("Next", "bold"))
        for number, step in enumerate(report.steps, 1):
            yield line(f"  {number}. {step.text}", indent=5)
            if step.command:
                yield line(("       " + step.command, "cyan"), indent=9)
        yield line((f"  What is asked, and why: rulebook show {report.rule}", "dim"), indent=4)
    sign = signoff_line(report)
    if sign:
        yield BLANK
        yield line(("For the sign-off's additional detail:", "bold"))
        yield line(f"  {sign}", indent=4)


def audit_lines(report: AuditReport) -> Iterator[StyledLine]:
    """The answer of ``waiver audit``: the verdict, what nothing excuses, waivers by state, then the rest in brief."""
    yield line((audit_verdict(report), "bold green" if report.passed else "bold red"), indent=6)
    counts = ", ".join(f"{len(_with(report.patches, status))} {status}" for status in PatchStatus)
    examined = _count(report.examined, "file")
    total = _count(len(report.patches), "patch", "patches")
    yield line((report.repo, "bold"), f" at {report.at[:12]}: {examined} examined, {total} ({counts})", indent=4)
    unwaived = _with(report.patches, PatchStatus.UNWAIVED)
    if unwaived:
        yield BLANK
        yield line((f"Unwaived ({len(unwaived)})", "bold"))
        for item in unwaived[:SHOWN_PATCHES]:
            yield from _patch_lines(item)
        yield from _more(len(unwaived) - SHOWN_PATCHES, "patch", "patches")
    if report.waivers:
        yield BLANK
        yield line((f"Waivers ({len(report.waivers)}), as of {report.today}", "bold"))
        ordered = sorted(report.waivers, key=lambda judged: judged.state is WaiverState.IN_FORCE)
        lapsed = sum(judged.state is not WaiverState.IN_FORCE for judged in ordered)
        shown = max(lapsed, SHOWN_BRIEFLY)
        for judged in ordered[:shown]:
            yield line("  ", (f"{judged.state.value:<11}", _STATE_STYLE[judged.state]), judged.waiver.path, indent=13)
            if judged.because:
                yield line((f"             {judged.because}", "dim"), indent=13)
        yield from _more(len(ordered) - shown, "waiver in force", "waivers in force")
    for status in (PatchStatus.WAIVED, PatchStatus.GRANDFATHERED):
        yield from _excused(_with(report.patches, status), status)
    if report.possible:
        yield BLANK
        yield line((f"Possible ({len(report.possible)})", "bold"), ("  not counted", "dim"))
        for patch in report.possible[:SHOWN_BRIEFLY]:
            yield from _patch(patch, "possible", "dim")
        yield from _more(len(report.possible) - SHOWN_BRIEFLY, "place")
    if report.unread:
        yield BLANK
        yield line((f"Not looked at ({len(report.unread)})", "bold yellow"))
        for path, reason in report.unread[:SHOWN_BRIEFLY]:
            yield line(f"  {path}", (f"  {reason}", "dim"), indent=4)
        yield from _more(len(report.unread) - SHOWN_BRIEFLY, "file")
    if report.stale:
        yield BLANK
        yield line(
            f"{_count(len(report.stale), 'entry', 'entries')} of the baseline stand for patches that are gone: "
            "rulebook waiver baseline --prune",
            indent=4,
        )


def audit_verdict(report: AuditReport) -> str:
    """The verdict on a tree in one line."""
    where = f"{report.rule}, {report.repo} at {report.at[:12]}"
    unwaived = _with(report.patches, PatchStatus.UNWAIVED)
    lapsed = [judged for judged in report.waivers if judged.state is not WaiverState.IN_FORCE]
    wrong = [f"{_count(len(unwaived), 'patch', 'patches')} without a waiver"] if unwaived else []
    wrong += [f"{_count(len(lapsed), 'waiver')} not in force"] if lapsed else []
    if wrong:
        return f"FAIL ({where}): {' and '.join(wrong)}"
    if report.patches:
        return f"PASS ({where}): {_count(len(report.patches), 'patch', 'patches')}, all of them excused"
    return f"PASS ({where}): no patch"


def _excused(items: Sequence[JudgedPatch], status: PatchStatus) -> Iterator[StyledLine]:
    """Patches that need nobody's attention: a line for each file."""
    if not items:
        return
    groups: dict[tuple[str, str | None], list[JudgedPatch]] = {}
    for item in items:
        groups.setdefault((item.patch.path, item.covered_by), []).append(item)
    yield BLANK
    yield line((f"{status.value.capitalize()} ({len(items)})", "bold"))
    for (path, covered_by), group in list(groups.items())[:SHOWN_BRIEFLY]:
        targets = ", ".join(dict.fromkeys(name for item in group for name in item.patch.targets))
        by = f"  by {covered_by}" if covered_by else ""
        what = f"  {_count(len(group), 'patch', 'patches')} of {targets}"
        yield line("  ", (status.value, _STATUS_STYLE[status]), f" {path}", what, (by, "dim"), indent=6)
    yield from _more(len(groups) - SHOWN_BRIEFLY, "file")


def _more(count: int, noun: str, plural: str = "") -> Iterator[StyledLine]:
    """What was left out, where something was."""
    if count > 0:
        yield line((f"  and {count:,} more {noun if count == 1 else plural or noun + 's'}; {ALL}", "dim"), indent=4)


def _patch_lines(item: JudgedPatch) -> Iterator[StyledLine]:
    yield from _patch(item.patch, item.status.value, _STATUS_STYLE[item.status])
    if item.covered_by:
        yield line(("      covered by ", "dim"), item.covered_by, indent=8)
    elif item.because:
        yield line(("      " + item.because, "dim"), indent=8)


def _patch(patch: Patch, word: str, style: str) -> Iterator[StyledLine]:
    sure = "" if patch.sureness.value in ("certain", word) else f", {patch.sureness}"
    yield line(
        "  ",
        (word, style),
        " ",
        (f"{patch.path}:{_span(patch)}", "bold"),
        f"  {patch.kind} of {', '.join(patch.targets)}{sure}",
        indent=6,
    )
    if patch.excerpt:
        yield line((f"      | {patch.excerpt}", "dim"), indent=8)
    if patch.trace:
        places = [
            f"{'' if span.path == patch.path else span.path + ':'}{_lines(span.line, span.end_line)}"
            for span in patch.trace
        ]
        yield line(
            (f"      by way of {'line' if len(places) == 1 else 'lines'} {', '.join(places[:6])}", "dim"), indent=8
        )


def _findings(findings: Sequence[Finding], steps: Sequence[Step]) -> Iterator[StyledLine]:
    if not findings:
        return
    yield BLANK
    yield line(("What is missing", "bold") if any(f.severity.value == "error" for f in findings) else ("Notes", "bold"))
    for finding in findings:
        place = finding.location.path + (f":{finding.location.line}" if finding.location.line else "")
        yield line(
            "  ",
            (finding.severity.value, _SEVERITY_STYLE[finding.severity.value]),
            f" [{finding.code}] {place + ': ' if place else ''}{finding.message}",
            indent=6,
        )
        if finding.remedy and not (steps and finding.code == "waiver-missing"):
            # That one's is the first of the steps.
            yield line(("      remedy: ", "green"), finding.remedy, indent=14)


def _with(items: Iterable[JudgedPatch], status: PatchStatus) -> list[JudgedPatch]:
    return [item for item in items if item.status is status]


def _span(patch: Patch) -> str:
    return _lines(patch.line, patch.end_line)


def _lines(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


# --- data -------------------------------------------------------------------------------------


def check_data(report: CheckReport) -> dict[str, Any]:
    """The answer of ``waiver check``."""
    return {
        "version": VERSION,
        "verdict": "pass" if report.passed else "fail",
        "pr": int(report.pr),
        "rule": report.rule,
        "repo": report.repo,
        "patches": [patch_data(item) for item in report.patches],
        "possible": [_bare(patch) for patch in report.possible],
        "kept": [_bare(patch) for patch in report.kept],
        "findings": [finding_data(finding) for finding in report.findings],
        "summary": verdict_line(report),
        "signoff": signoff_line(report) or None,
        "next": [{"text": step.text, "command": step.command or None} for step in report.steps],
        "examined": {"files": report.examined},
        "notes": list(report.notes),
    }


def audit_data(report: AuditReport) -> dict[str, Any]:
    """The answer of ``waiver audit``."""
    return {
        "version": VERSION,
        "verdict": "pass" if report.passed else "fail",
        "rule": report.rule,
        "repo": report.repo,
        "at": report.at,
        "today": report.today,
        "patches": [patch_data(item) for item in report.patches],
        "possible": [_bare(patch) for patch in report.possible],
        "waivers": [
            {
                "path": judged.waiver.path,
                "pr": int(judged.waiver.number) if judged.waiver.number.isdigit() else None,
                "state": judged.state.value,
                "because": judged.because or None,
                "findings": [finding_data(finding) for finding in judged.findings],
            }
            for judged in report.waivers
        ],
        "stale": [
            {"path": patch.path, "kind": patch.kind.value, "targets": list(patch.targets)} for patch in report.stale
        ],
        "examined": {"files": report.examined},
        "unread": [{"path": path, "because": reason} for path, reason in report.unread],
    }


def patch_data(item: JudgedPatch) -> dict[str, Any]:
    """A judged patch."""
    bare = _bare(item.patch)
    return {
        **{key: bare.pop(key) for key in ("path", "line", "end_line", "kind", "target")},
        "covered_by": item.covered_by,
        "status": item.status.value,
        **bare,
        "because": item.because or None,
    }


def _bare(patch: Patch) -> dict[str, Any]:
    return {
        "path": patch.path,
        "line": patch.line,
        "end_line": patch.end_line,
        "kind": patch.kind.value,
        "target": patch.target,
        "targets": list(patch.targets),
        "files": list(patch.files),
        "excerpt": patch.excerpt,
        "sure": patch.sureness.value,
        "via": [{"path": span.path, "line": span.line, "end_line": span.end_line} for span in patch.trace],
    }


# --- Markdown ---------------------------------------------------------------------------------


def check_markdown(report: CheckReport) -> str:
    """The answer of ``waiver check`` for a comment or a job summary."""
    return "\n".join(_check_markdown(report)) + "\n"


def _check_markdown(report: CheckReport) -> Iterator[str]:
    yield f"**{escape(verdict_line(report))}**"
    yield ""
    yield from _table(report.patches)
    for finding in report.findings:
        if finding.code == "patch-unwaived":
            continue
        place = finding.location.path + (f":{finding.location.line}" if finding.location.line else "")
        remedy = f" Remedy: {escape(finding.remedy)}." if finding.remedy else ""
        yield f"- {finding.severity.value} {code(finding.code)} {code(place)}: {escape(finding.message)}.{remedy}"
    if report.findings:
        yield ""
    if report.steps:
        yield "What to do next:"
        yield ""
        for number, step in enumerate(report.steps, 1):
            command = f": {code(step.command)}" if step.command else ""
            yield f"{number}. {escape(step.text)}{command}"
        yield ""
    sign = signoff_line(report)
    if sign:
        yield "For the sign-off's additional detail:"
        yield ""
        yield f"> {sign}"
        yield ""


def audit_markdown(report: AuditReport) -> str:
    """The answer of ``waiver audit``."""
    return "\n".join(_audit_markdown(report)) + "\n"


def _audit_markdown(report: AuditReport) -> Iterator[str]:
    yield f"**{escape(audit_verdict(report))}**"
    yield ""
    order = list(PatchStatus)[::-1]
    yield from _table(sorted(report.patches, key=lambda item: order.index(item.status)))
    if report.waivers:
        yield "| waiver | state | why |"
        yield "| --- | --- | --- |"
        for judged in sorted(report.waivers, key=lambda judged: judged.state is WaiverState.IN_FORCE):
            yield f"| {code_cell(judged.waiver.path)} | {judged.state.value} | {cell(judged.because)} |"
        yield ""
    yield f"{report.examined} files examined."


def _table(items: Sequence[JudgedPatch]) -> Iterator[str]:
    if not items:
        return
    yield "| patch | kind | of | status | |"
    yield "| --- | --- | --- | --- | --- |"
    for item in items:
        patch = item.patch
        last = code_cell(item.covered_by) if item.covered_by else cell(item.because)
        place = code_cell(f"{patch.path}:{_span(patch)}")
        yield f"| {place} | {patch.kind} | {cell(', '.join(patch.targets))} | {item.status} | {last} |"
    yield ""
