"""The verdict on a change: its patches, the waiver that it files for them, and what is missing."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from rulebook.model import ChangeSet, ChangeStatus, FileChange, Finding, Location, Severity, Side
from rulebook.waivers import baseline as baselines
from rulebook.waivers.change import Introduced, introduced
from rulebook.waivers.coverage import Configurations, covers, read_configurations, scope_findings
from rulebook.waivers.document import WaiverText, is_placeholder, lint_waiver, read_waiver
from rulebook.waivers.steps import Asked, Step, next_steps

if TYPE_CHECKING:
    from rulebook.waivers.baseline import Baseline
    from rulebook.waivers.patches import Patch
    from rulebook.waivers.policy import Policy


class PatchStatus(str, Enum):
    """What excuses a patch, in the contract's words."""

    WAIVED = "waived"
    GRANDFATHERED = "grandfathered"
    UNWAIVED = "unwaived"

    __str__ = str.__str__


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPatch:
    """A patch, and what excuses it.

    Attributes:
        patch: the patch.
        status: waived, grandfathered or unwaived.
        covered_by: the waiver's path, where there is one.
        because: why no waiver covers it; empty where one does.
    """

    patch: Patch
    status: PatchStatus
    covered_by: str | None = None
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The answer to "does this change introduce patches, and are they excused".

    Attributes:
        rule: the policy's rule.
        repo: the target repository's alias.
        pr: the pull request's number.
        patches: what counts, judged.
        possible: what may be a patch and does not count.
        kept: patches that the change touches and that were there before, none of them excused by the baseline.
        findings: everything that keeps the change from passing, and what is worth knowing.
        folder: where a waiver is filed.
        examined: changed files that the policy looks at.
        notes: how the change was read.
        steps: what leads to a check that passes; empty where it did, or where nobody said how the check was asked.
    """

    rule: str
    repo: str
    pr: str
    patches: tuple[JudgedPatch, ...] = ()
    possible: tuple[Patch, ...] = ()
    kept: tuple[Patch, ...] = ()
    findings: tuple[Finding, ...] = ()
    folder: str = ""
    examined: int = 0
    notes: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no patch is unwaived and no finding is an error."""
        return not any(item.status is PatchStatus.UNWAIVED for item in self.patches) and not any(
            finding.severity is Severity.ERROR for finding in self.findings
        )

    @property
    def waiver(self) -> str:
        """Where this change's waiver belongs."""
        return posixpath.join(self.folder, f"{self.pr}.md")


#: How a check is asked that nobody told of.
_UNKNOWN = Asked(change=("--git", "BASE...HEAD"))


def waiver_folder(policy: Policy, configured: str = "") -> str:
    """The folder of the target repository that waivers are filed in.

    Args:
        policy: may name one.
        configured: the ``waivers`` of ``rulebook.toml``, which wins.
    """
    return configured.strip("/") or policy.folder or f"waivers/{policy.repo}"


def check(
    changes: ChangeSet,
    policy: Policy,
    pr: str,
    *,
    folder: str = "",
    slug: str = "",
    baseline: Baseline | None = None,
    paths: Callable[[], Iterable[str]] | None = None,
    asked: Asked | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CheckReport:
    """Judges a change.

    Args:
        changes: with changed lines, and a reader where whole files can be had.
        policy: what is forbidden.
        pr: the number of the pull request that the change is.
        folder: where waivers are filed, see :func:`waiver_folder`.
        slug: ``owner/name`` of the target repository.
        baseline: the patches from before the policy.
        paths: see :func:`rulebook.waivers.change.introduced`.
        asked: how the check was asked, for the steps that follow a failed one.
        progress: see :func:`rulebook.waivers.change.introduced`.
    """
    folder = folder or waiver_folder(policy)
    known_patches = baseline.patches if baseline is not None else ()
    found = introduced(changes, policy, paths=paths, known_patches=known_patches, progress=progress)
    old, known = _grandfathered(changes, found, baseline)
    counted = [patch for patch in found.patches if patch.sureness.counts]
    findings: list[Finding] = []
    filed = _filed(changes, folder)
    own = next((waiver for waiver, added in filed if waiver.number == pr and added), None)
    open_patches = [patch for patch in counted if id(patch) not in old]
    complete = False
    if own is not None:
        wrong = lint_waiver(own, policy, slug)
        if open_patches:
            wrong += scope_findings(own, policy, configurations_of(changes, policy))
        findings += wrong
        complete = not any(finding.severity is Severity.ERROR for finding in wrong)
    judged = [_judge(patch, old, own, complete) for patch in counted]
    judged += [JudgedPatch(patch=patch, status=PatchStatus.GRANDFATHERED) for patch in found.kept if id(patch) in old]
    findings += _others(filed, pr, folder)
    findings += _missing(judged, own, filed, pr, folder, asked)
    named = {item.path for item in found.unread if own is not None and complete and own.names(item.path)}
    if own is not None and not open_patches and not named:
        findings.append(
            _finding(
                "waiver-unused",
                "the waiver covers no patch of this change",
                "take it out",
                own.path,
                1,
                Severity.WARNING,
            )
        )
    for item in found.unread:
        # What can run and was not read may hold anything, so it is no pass unless a waiver takes it on itself.
        severity = Severity.ERROR if item.runs and item.path not in named else Severity.WARNING
        remedy = "look at it yourself"
        if severity is Severity.ERROR:
            remedy = f"make plain text of it, or name it in {folder}/{pr}.md and look at it yourself"
        findings.append(_finding("file-unread", f"was not looked at: {item.because}", remedy, item.path, 0, severity))
    if not changes.files:
        findings.append(_empty(changes))
    if not changes.complete:
        message = "the change is cut: what is missing from it was not looked at"
        findings.append(_finding("change-cut", message, "check the whole change, with --git", "", 0, Severity.WARNING))
    judged.sort(key=lambda item: (item.patch.path, item.patch.line, item.patch.end_line))
    findings.sort(key=lambda finding: (finding.severity.rank, finding.location, finding.code, finding.message))
    report = CheckReport(
        rule=policy.rule,
        repo=policy.repo,
        pr=pr,
        patches=tuple(judged),
        possible=tuple(patch for patch in found.patches if not patch.sureness.counts),
        kept=tuple(patch for patch in found.kept if id(patch) not in old and patch.sureness.counts),
        findings=tuple(findings),
        folder=folder,
        examined=sum(bool(policy.scope_patterns.match(change.path)) for change in changes.files),
        notes=(*changes.notes, *known),
    )
    return report if asked is None else replace(report, steps=next_steps(report, asked))


def _empty(changes: ChangeSet) -> Finding:
    """A change without files: an error, since nobody who asks means nothing, unless two commits show that it is so."""
    message = "the change is empty, so nothing was looked at"
    if changes.base and changes.head and changes.base != changes.head:
        message = f"the change is empty: {changes.base[:12]} and {changes.head[:12]} have the same files"
        return _finding("change-empty", message, "", "", 0, Severity.WARNING)
    if changes.head:
        message += f": both ends of the range are {changes.head[:12]}"
        remedy = "name the branch that the change goes to: --git origin/main...HEAD, with its history fetched"
    else:
        remedy = "make the diff again; the command that wrote it may have failed (set -o pipefail)"
    return _finding("change-empty", message, remedy, "", 0)


def _judge(patch: Patch, old: Mapping[int, Patch], own: WaiverText | None, complete: bool) -> JudgedPatch:
    if id(patch) in old:
        return JudgedPatch(patch=patch, status=PatchStatus.GRANDFATHERED)
    if own is None:
        return JudgedPatch(patch=patch, status=PatchStatus.UNWAIVED, because="this change files no waiver")
    because = covers(own, patch)
    if because:
        return JudgedPatch(patch=patch, status=PatchStatus.UNWAIVED, because=f"{own.path}: {because}")
    if not complete:
        return JudgedPatch(patch=patch, status=PatchStatus.UNWAIVED, because=f"{own.path} is not complete")
    return JudgedPatch(patch=patch, status=PatchStatus.WAIVED, covered_by=own.path)


def _grandfathered(
    changes: ChangeSet, found: Introduced, baseline: Baseline | None
) -> tuple[dict[int, Patch], list[str]]:
    """The patches that the baseline stands for, by identity.

    An entry stands for one patch. Where its file is no part of the change, the patch is still there, and
    what the change adds elsewhere is a copy. In the changed files, what is there untouched has the first claim.
    """
    if baseline is None:
        return {}, []
    paths = {path for change in changes.files for path in (change.path, change.old_path) if path}
    here = replace(baseline, patches=tuple(entry for entry in baseline.patches if entry.path in paths))
    touched = {id(patch) for patch in (*found.patches, *found.kept)}
    present = sorted(found.present, key=lambda patch: id(patch) in touched)
    _, known = baselines.split(here, present)
    return {id(patch): patch for patch in known}, []


def _filed(changes: ChangeSet, folder: str) -> list[tuple[WaiverText, bool]]:
    """The waivers that the change touches, each with whether it adds them."""
    found = []
    for change in changes.files:
        if posixpath.dirname(change.path) != folder or not change.path.endswith(".md"):
            continue
        name = posixpath.basename(change.path)
        if name == "README.md" or name[0] in "._" or change.status is ChangeStatus.DELETED:
            continue
        if "template" in name.lower() or name.count(".") > 1:
            continue
        text = _text(changes, change)
        if text is None:
            continue
        moved_in = change.status is ChangeStatus.RENAMED and change.old_path != change.path
        added = change.status in (ChangeStatus.ADDED, ChangeStatus.COPIED) or moved_in
        found.append((read_waiver(change.path, text), added))
    return found


def _text(changes: ChangeSet, change: FileChange) -> str | None:
    if changes.reader is not None:
        data = changes.reader.read(change.path, Side.NEW)
        return None if data is None else data.decode("utf-8", "replace")
    lines = [line for hunk in change.hunks or () for line in hunk.lines if line.mark != "-"]
    return "\n".join(line.text for line in lines) + "\n" if change.hunks is not None else None


def configurations_of(changes: ChangeSet, policy: Policy) -> Configurations:
    """The target's configurations as the change leaves them; unknown where only a diff is at hand."""
    if changes.reader is None:
        return Configurations()
    files = []
    for path in policy.configs:
        data = changes.reader.read(path, Side.NEW)
        if data is not None:
            files.append((path, data.decode("utf-8", "replace")))
    return read_configurations(files)


def _others(filed: Sequence[tuple[WaiverText, bool]], pr: str, folder: str) -> Iterable[Finding]:
    """Waivers of this change that are filed under another name than the pull request's number."""
    for waiver, added in filed:
        if waiver.number == pr or not added:
            continue
        if is_placeholder(waiver.number) or not waiver.number.isdigit():
            yield _finding(
                "waiver-placeholder",
                f"{waiver.number!r} is no pull request's number, so the waiver covers nothing",
                f"rename it to {folder}/{pr}.md, and put the number into title and 'pr'",
                waiver.path,
                1,
            )
        else:
            yield _finding(
                "waiver-number",
                f"the waiver is filed under #{waiver.number}, and this is #{pr}",
                f"rename it to {folder}/{pr}.md",
                waiver.path,
                1,
            )


def _missing(
    judged: Sequence[JudgedPatch],
    own: WaiverText | None,
    filed: Sequence[tuple[WaiverText, bool]],
    pr: str,
    folder: str,
    asked: Asked | None,
) -> Iterable[Finding]:
    out = ("--out", folder if asked is None else asked.out) if asked is None or asked.out else ()
    unwaived = [item for item in judged if item.status is PatchStatus.UNWAIVED]
    for item in unwaived:
        patch = item.patch
        yield _finding(
            "patch-unwaived",
            f"{patch.kind} of {', '.join(patch.targets)} without a waiver: {item.because}",
            f"take the patch out, or name it in {folder}/{pr}.md",
            patch.path,
            patch.line,
        )
    if unwaived and own is None:
        before = next((waiver for waiver, added in filed if waiver.number == pr and not added), None)
        if before is not None:
            yield _finding(
                "waiver-old",
                f"{before.path} was there before this change, and excuses no new patch",
                "file a waiver in the pull request that brings the patch, under its own number",
                before.path,
                1,
            )
        yield _finding(
            "waiver-missing",
            f"the change patches {', '.join(dict.fromkeys(n for item in unwaived for n in item.patch.targets))}"
            f" and does not add {folder}/{pr}.md",
            f"draft it: {(asked or _UNKNOWN).command('new', pr, *out)}",
            f"{folder}/{pr}.md",
            0,
        )


def _finding(
    code: str, message: str, remedy: str, path: str, line: int, severity: Severity = Severity.ERROR
) -> Finding:
    return Finding(code=code, severity=severity, message=message, location=Location(path, line), remedy=remedy)


def verdict_line(report: CheckReport) -> str:
    """The verdict in one line, for a bot or a commit status."""
    where = f"{report.rule}, PR #{report.pr}"
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    unwaived = [item for item in report.patches if item.status is PatchStatus.UNWAIVED]
    if unwaived:
        first = unwaived[0].patch
        more = f" and {len(unwaived) - 1} more" if len(unwaived) > 1 else ""
        return f"FAIL ({where}): {first.kind} of {first.target} at {first.path}:{first.line}{more} without a waiver"
    if errors:
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        place = f"{errors[0].location.path}: " if errors[0].location.path else ""
        return f"FAIL ({where}): {place}{errors[0].message}{more}"
    waived = [item for item in report.patches if item.status is PatchStatus.WAIVED]
    if waived:
        return f"PASS ({where}): {_count(len(waived), 'patch', 'patches')} covered by {waived[0].covered_by}"
    if report.patches:
        return f"PASS ({where}): {_count(len(report.patches), 'patch', 'patches')} from before the policy, none new"
    if any(finding.code == "change-empty" for finding in report.findings):
        return f"PASS ({where}): the change is empty"
    return f"PASS ({where}): no patch introduced"


def signoff_line(report: CheckReport) -> str:
    """The line for the additional detail of a reviewer's sign-off; it links the waiver."""
    waived = [item for item in report.patches if item.status is PatchStatus.WAIVED]
    if not report.passed:
        return ""
    if not waived:
        examined = _count(report.examined, "changed file", "changed files")
        return f"Patches ({report.rule}): none introduced; checked {examined}."
    targets = ", ".join(dict.fromkeys(name for item in waived for name in item.patch.targets))
    scripts = ", ".join(dict.fromkeys(item.patch.path for item in waived))
    waiver = waived[0].covered_by or ""
    return f"Patches ({report.rule}): {targets} in {scripts}, waived by [{waiver}]({waiver})."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
