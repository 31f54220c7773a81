"""Every patch of a tree with what excuses it, and every waiver with the state that it is in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from rulebook.model import Finding, Severity
from rulebook.waivers import baseline as baselines
from rulebook.waivers.check import JudgedPatch, PatchStatus
from rulebook.waivers.coverage import (
    Configurations,
    covers,
    named_entries,
    read_configurations,
    same_image,
    scope_findings,
)
from rulebook.waivers.detect import language_of, scan_file, unreadable
from rulebook.waivers.document import WaiverText, lint_waiver

if TYPE_CHECKING:
    from rulebook.waivers.baseline import Baseline
    from rulebook.waivers.patches import Patch, Scan
    from rulebook.waivers.policy import Policy

#: Reads many files of the tree at once: paths → contents, ``None`` where there is no such file.
TreeReader = Callable[[Sequence[str]], Mapping[str, "bytes | None"]]


class WaiverState(str, Enum):
    """Where a waiver is in its life."""

    IN_FORCE = "in force"
    EXPIRED = "expired"  # its date has passed, or its image has moved on
    ORPHAN = "orphan"  # what it excuses is gone
    INCOMPLETE = "incomplete"  # it does not state what the policy asks for

    __str__ = str.__str__


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedWaiver:
    """A waiver, its state, and why it is in that state."""

    waiver: WaiverText
    state: WaiverState
    because: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The answer to "which patches does this tree hold, and what excuses them".

    Attributes:
        rule: the policy's rule.
        repo: the target repository's alias.
        at: the commit.
        today: the day that dates were held against, ``YYYY-MM-DD``.
        patches: what counts, judged.
        possible: what may be a patch and does not count.
        waivers: with their states.
        stale: baseline entries whose patch is gone.
        examined: files that were looked at.
        unread: files that could not be looked at, each with the reason.
    """

    rule: str
    repo: str
    at: str
    today: str
    patches: tuple[JudgedPatch, ...] = ()
    possible: tuple[Patch, ...] = ()
    waivers: tuple[JudgedWaiver, ...] = ()
    stale: tuple[Patch, ...] = ()
    examined: int = 0
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every patch is excused and every waiver is in force."""
        return all(item.status is not PatchStatus.UNWAIVED for item in self.patches) and all(
            item.state is WaiverState.IN_FORCE for item in self.waivers
        )


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a commit that a policy looks at, scanned.

    Attributes:
        paths: every file of the tree.
        scans: what was found in those that are in the policy's places.
        unread: those that could not be looked at, each with the reason.
    """

    paths: frozenset[str]
    scans: Mapping[str, Scan]
    unread: tuple[tuple[str, str], ...] = ()

    @property
    def patches(self) -> list[Patch]:
        """All patches, in the order of files and lines."""
        return [patch for path in sorted(self.scans) for patch in self.scans[path].patches]


def scan_tree(paths: Iterable[str], read: TreeReader, policy: Policy) -> Tree:
    """Looks at every file of a tree that is in the policy's places."""
    every = frozenset(paths)
    wanted = [path for path in sorted(every) if language_of(path, "#!/bin/sh") and policy.scope_patterns.match(path)]
    scans = {}
    unread = []
    for path, data in read(wanted).items():
        if data is None:
            continue
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        reason = unreadable(text)
        if reason:
            unread.append((path, reason))
        else:
            scans[path] = scan_file(path, text, policy)
    return Tree(every, scans, tuple(unread))


def audit(
    tree: Tree,
    read: TreeReader,
    policy: Policy,
    waivers: Sequence[WaiverText],
    *,
    at: str,
    today: str,
    slug: str = "",
    baseline: Baseline | None = None,
) -> AuditReport:
    """Judges a tree.

    Args:
        tree: scanned by :func:`scan_tree`.
        read: reads files of the same tree.
        policy: what is forbidden.
        waivers: those filed in the tree and in the knowledge base; of one number the tree's comes first.
        at: the commit's id.
        today: ``YYYY-MM-DD``.
        slug: ``owner/name`` of the target repository.
        baseline: the patches from before the policy.
    """
    configurations = read_configurations(
        (path, data.decode("utf-8", "replace")) for path, data in read(policy.configs).items() if data is not None
    )
    judged_waivers = [_judge_waiver(w, tree, policy, configurations, today, slug) for w in waivers]
    in_force = [item.waiver for item in judged_waivers if item.state is WaiverState.IN_FORCE]
    counted = [patch for patch in tree.patches if patch.sureness.counts]
    judged: list[JudgedPatch] = []
    rest: list[Patch] = []
    for patch in counted:
        waiver = next((waiver for waiver in in_force if not covers(waiver, patch)), None)
        if waiver is not None:
            judged.append(JudgedPatch(patch=patch, status=PatchStatus.WAIVED, covered_by=waiver.path))
        else:
            rest.append(patch)
    new, known = baselines.split(baseline, rest)
    judged += [JudgedPatch(patch=patch, status=PatchStatus.GRANDFATHERED) for patch in known]
    for patch in new:
        lapsed = next(
            (i for i in judged_waivers if i.state is not WaiverState.IN_FORCE and not covers(i.waiver, patch)), None
        )
        because = f"{lapsed.waiver.path} is {lapsed.state}: {lapsed.because}" if lapsed else "no waiver names it"
        judged.append(JudgedPatch(patch=patch, status=PatchStatus.UNWAIVED, because=because))
    judged.sort(key=lambda item: (item.patch.path, item.patch.line, item.patch.end_line))
    stale = baselines.prune(baseline, counted)[1] if baseline is not None else []
    return AuditReport(
        rule=policy.rule,
        repo=policy.repo,
        at=at,
        today=today,
        patches=tuple(judged),
        possible=tuple(patch for patch in tree.patches if not patch.sureness.counts),
        waivers=tuple(judged_waivers),
        stale=tuple(stale),
        examined=len(tree.scans),
        unread=tree.unread,
    )


def judge_text(waiver: WaiverText, policy: Policy, *, today: str, slug: str = "") -> JudgedWaiver | None:
    """What a waiver's own text tells: that it has ended, or what it does not state; ``None`` where only a tree tells.

    Args:
        waiver: as it was filed.
        policy: what it must state.
        today: ``YYYY-MM-DD``.
        slug: ``owner/name`` of the target repository.
    """
    unknown = Configurations()
    because = _expired(waiver, unknown, today)
    if because:
        return JudgedWaiver(waiver=waiver, state=WaiverState.EXPIRED, because=because)
    # Whether it names a configuration shows where configurations are known.
    scope = (f for f in scope_findings(waiver, policy, unknown) if f.code != "waiver-config")
    findings = (*(f for f in lint_waiver(waiver, policy, slug) if f.severity is Severity.ERROR), *scope)
    if findings:
        return JudgedWaiver(waiver=waiver, state=WaiverState.INCOMPLETE, because=findings[0].message, findings=findings)
    return None


def _judge_waiver(
    waiver: WaiverText, tree: Tree, policy: Policy, configurations: Configurations, today: str, slug: str
) -> JudgedWaiver:
    findings = tuple(f for f in lint_waiver(waiver, policy, slug) if f.severity is Severity.ERROR)
    because = _orphaned(waiver, tree, policy, configurations)
    if because:
        return JudgedWaiver(waiver=waiver, state=WaiverState.ORPHAN, because=because, findings=findings)
    because = _expired(waiver, configurations, today)
    if because:
        return JudgedWaiver(waiver=waiver, state=WaiverState.EXPIRED, because=because, findings=findings)
    findings = (*findings, *scope_findings(waiver, policy, configurations))
    if findings:
        return JudgedWaiver(waiver=waiver, state=WaiverState.INCOMPLETE, because=findings[0].message, findings=findings)
    return JudgedWaiver(waiver=waiver, state=WaiverState.IN_FORCE)


def _orphaned(waiver: WaiverText, tree: Tree, policy: Policy, configurations: Configurations) -> str:
    """What a waiver excuses and is gone: the script, the call of it, the configuration."""
    covered = [patch for patch in tree.patches if patch.sureness.counts and not covers(waiver, patch)]
    stated = waiver.texts("patches")
    for path in stated:
        if path not in tree.paths:
            return f"{path} is gone"
    if not covered:
        # Of the paths in a text some are the engine's.
        mine = [path for path in _paths_named(waiver) if policy.scope_patterns.match(path)]
        missing = next((path for path in mine if path not in tree.paths), "")
        return f"{missing} is gone" if missing else "no patch in the tree is one that it names"
    callers = waiver.texts("called_from")
    for caller in callers:
        if caller not in tree.paths:
            return f"{caller}, which called the patch, is gone"
    names = {patch.path.rsplit("/", 1)[-1] for patch in covered}
    for caller in callers:
        scan = tree.scans.get(caller)
        patches_itself = any(patch.path == caller for patch in covered)
        if scan is not None and not patches_itself and not any(call.name in names for call in scan.calls):
            return f"{caller} no longer calls {', '.join(sorted(names))}"
    gone = [name for name in waiver.texts("configs") if name not in configurations.entries]
    if configurations.known and gone and len(gone) == len(waiver.texts("configs")):
        return f"the configuration {gone[0]} is gone"
    if not callers and not stated:
        # A waiver without frontmatter: what it calls an entrypoint is a script that names another one it names.
        scripts = [path for path in _paths_named(waiver) if path in tree.scans]
        patched = {patch.path for patch in covered}
        others = [path for path in scripts if path not in patched]
        if others and not any(call.name in names for path in others for call in tree.scans[path].calls):
            return f"{others[0]} no longer calls {', '.join(sorted(names))}"
    return ""


def _paths_named(waiver: WaiverText) -> list[str]:
    """The scripts that the text of a waiver names with their folders."""
    found = re.findall(r"(?<![\w.:/-])((?:[\w-][\w.-]*/)+[\w.-]+\.(?:sh|py|patch|diff|slurm))\b", waiver.text)
    return list(dict.fromkeys(found))


def _expired(waiver: WaiverText, configurations: Configurations, today: str) -> str:
    expires = waiver.keys.get("expires")
    dates = re.findall(r"\d{4}-\d{2}-\d{2}", expires if isinstance(expires, str) else "")
    if dates and dates[0] < today:
        return f"it ended on {dates[0]}"
    images = waiver.images
    moved = [
        e for e in named_entries(waiver, configurations) if images and not any(same_image(e.image, i) for i in images)
    ]
    entries = named_entries(waiver, configurations)
    if moved and len(moved) == len(entries):
        return f"{moved[0].name} now runs {moved[0].image}, not {images[0]}"
    return ""
