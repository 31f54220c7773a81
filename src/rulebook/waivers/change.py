"""Which patches a change introduces: in its added lines, and not there before.

Both sides of the change are looked at. A patch that the old side has as well, with the same effect or a
larger one on the same targets, was moved, re-indented, re-anchored or cut down, and is not introduced by the
change. Each patch of the old side stands for one of the new side: a second copy is a new patch.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rulebook.model import ChangeSet, ChangeStatus, FileChange, Side
from rulebook.waivers import effects
from rulebook.waivers.detect import half_operation, language_of, scan_file, unreadable
from rulebook.waivers.patches import Patch, Scan, Span, Sureness, shorten
from rulebook.waivers.policy import PatchKind, Policy


@dataclass(frozen=True, slots=True)
class Introduced:
    """What a change does about patches.

    Attributes:
        patches: those that its added lines introduce, in the order of files and lines.
        kept: those that its added lines touch, and that were there before.
        present: all that the changed files hold now, touched or not.
        unread: files that could not be looked at, each with the reason.
    """

    patches: tuple[Patch, ...]
    kept: tuple[Patch, ...] = ()
    present: tuple[Patch, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()


def continues(new: Patch, old: Patch) -> bool:
    """Whether ``new`` is what ``old`` was, or less: same mechanism, no further target, no further effect."""
    if new.kind is not old.kind or not set(new.targets) <= set(old.targets):
        return False
    if not set(map(_place, new.files)) <= set(map(_place, old.files)):
        return False
    return not Counter(new.effect) - Counter(old.effect)


def _place(file: str) -> str:
    """A file by the end of its path: how a script spells the way there is no part of the patch."""
    return "/".join(file.split("/")[-2:])


def without_known(patches: Iterable[Patch], known: Iterable[Patch]) -> tuple[list[Patch], list[Patch]]:
    """Splits patches into those that none of ``known`` stands for, and the rest.

    The likeliest matches go first: the same effect in the same file, the same effect elsewhere, a smaller
    effect. So a copy does not take the place of the original, nor a cut one that of a whole one.
    """
    left = list(known)
    pending = list(patches)
    kept: list[Patch] = []
    for exactly, at_home in ((True, True), (True, False), (False, True), (False, False)):
        rest = []
        for patch in pending:
            for old in left:
                if (
                    (not at_home or patch.path == old.path)
                    and (not exactly or Counter(patch.effect) == Counter(old.effect))
                    and continues(patch, old)
                ):
                    left.remove(old)
                    kept.append(patch)
                    break
            else:
                rest.append(patch)
        pending = rest
    return pending, kept


def introduced(changes: ChangeSet, policy: Policy) -> Introduced:
    """The patches that a change introduces.

    A file is read whole where the change has a reader; else what its hunks show is all there is.
    """
    present: list[Patch] = []
    scans: dict[str, Scan] = {}
    unread: list[tuple[str, str]] = []
    added: dict[str, frozenset[int]] = {}
    for change in changes.files:
        if not policy.scope_patterns.match(change.path):
            continue
        if change.status is not ChangeStatus.DELETED and language_of(change.path, ""):
            if change.binary:
                unread.append((change.path, "binary"))
            elif change.hunks is None:
                unread.append((change.path, "its changed lines are not known"))
        lines = added_lines(change)
        if not lines:
            continue
        text = _read(changes, change, Side.NEW, unread)
        if text is None:
            continue
        scan = _scan(change, text, policy, Side.NEW, whole=changes.reader is not None)
        added[change.path] = lines
        scans[change.path] = scan
        present += scan.patches
    touched = {patch for patch in present if _touches(patch, added[patch.path])}
    known: list[Patch] = []
    if touched:
        for change in changes.files:
            if change.status in (ChangeStatus.ADDED, ChangeStatus.COPIED):
                continue
            path = change.old_path or change.path
            text = _read(changes, change, Side.OLD, [])
            if text is not None and policy.scope_patterns.match(path):
                known.extend(_scan(change, text, policy, Side.OLD, whole=changes.reader is not None).patches)
    unknown, before = without_known(present, known)
    new = [patch for patch in unknown if patch in touched]
    kept = [patch for patch in before if patch in touched]
    new.extend(_callers(new, scans, added))
    new.sort(key=lambda patch: (patch.path, patch.line, patch.end_line, patch.kind.value))
    return Introduced(tuple(new), tuple(kept), tuple(present), tuple(unread))


def added_lines(change: FileChange) -> frozenset[int]:
    """The numbers, on the new side, of the lines that a change adds to a file."""
    return frozenset(line.new for hunk in change.hunks or () for line in hunk.lines if line.mark == "+")


def _touches(patch: Patch, lines: frozenset[int]) -> bool:
    spans = [(patch.line, patch.end_line), *((s.line, s.end_line) for s in patch.trace if s.path == patch.path)]
    return any(number in lines for first, last in spans for number in range(first, last + 1))


def _read(changes: ChangeSet, change: FileChange, side: Side, unread: list[tuple[str, str]]) -> str | None:
    """One side of a file: whole, or what the hunks show of it."""
    if change.binary:
        return None
    path = change.path if side is Side.NEW else change.old_path or change.path
    if language_of(path, "#!/bin/sh") == "":
        return None
    if changes.reader is None:
        text = _join(_pieces(change, side))
        reason = unreadable(text)
        if reason:
            unread.append((path, reason))
        return None if reason else text
    data = changes.reader.read(path, side)
    if data is None:
        return None
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
    reason = unreadable(text)
    if reason:
        unread.append((path, reason))
    return None if reason else text


def _scan(change: FileChange, text: str, policy: Policy, side: Side, *, whole: bool) -> Scan:
    path = change.path if side is Side.NEW else change.old_path or change.path
    if whole:
        return scan_file(path, text, policy)
    return _scan_pieces(path, _pieces(change, side), policy)


def _pieces(change: FileChange, side: Side) -> list[tuple[int, list[str]]]:
    """What the hunks show of one side: pieces of adjacent lines, each with its first number."""
    pieces: list[tuple[int, list[str]]] = []
    unwanted = "-" if side is Side.NEW else "+"
    for hunk in change.hunks or ():
        for line in hunk.lines:
            if line.mark == unwanted:
                continue
            number = line.new if side is Side.NEW else line.old
            if pieces and pieces[-1][0] + len(pieces[-1][1]) == number:
                pieces[-1][1].append(line.text)
            else:
                pieces.append((number, [line.text]))
    return pieces


_HEREDOC_END = re.compile(r"[ \t]*(?:[A-Z_]*(?:EOF|PY|END|SCRIPT|PATCH|DIFF)[A-Z0-9_]*|EOF\d*)[ \t]*\Z")


def _scan_pieces(path: str, pieces: Sequence[tuple[int, list[str]]], policy: Policy) -> Scan:
    """Looks at the pieces one by one, so that none ends in the middle of another one's quotes, and at all in one."""
    merged: dict[tuple[int, PatchKind], Patch] = {}
    scan = Scan()
    for first, lines in pieces:
        found = scan_file(path, "\n".join(lines) + "\n", policy, first)
        scan.calls += found.calls
        patches = found.patches
        orphan = _orphan(lines) if language_of(path, "#!/bin/sh") == "shell" else 0
        if orphan and orphan < len(lines):
            patches = scan_file(path, "\n".join(lines[orphan + 1 :]) + "\n", policy, first + orphan + 1).patches
        if orphan:
            # The piece begins inside of a here-document whose start is not shown.
            patches = [*patches, *_scan_orphan(path, lines[:orphan], policy, first)]
        for patch in patches:
            merged.setdefault((patch.line, patch.kind), patch)
    if len(pieces) > 1:
        for patch in scan_file(path, _join(pieces), policy).patches:
            merged.setdefault((patch.line, patch.kind), patch)
    scan.patches = sorted(merged.values(), key=lambda patch: (patch.line, patch.end_line))
    return scan


_IS_PROGRAM = re.compile(
    r"^\s*(?:from\s+[\w.]+\s+)?import\s+\w|\.(?:read|write)_text\(|find_spec\(|\bopen\(", re.MULTILINE
)


def _orphan(lines: Sequence[str]) -> int:
    """How many lines belong to a here-document that begins before the piece."""
    for index, line in enumerate(lines):
        if "<<" in line:
            return 0
        if _HEREDOC_END.match(line):
            return index
    # Neither its beginning nor its end is shown: what reads like a program is one.
    return len(lines) if _IS_PROGRAM.search("\n".join(lines)) else 0


def _scan_orphan(path: str, lines: Sequence[str], policy: Policy, first: int) -> list[Patch]:
    """The middle of a program: an operation where target and writer are shown, else a possible one."""
    text = "\n".join(lines) + "\n"
    found = scan_file(f"{path}.py", text, policy, first).patches
    if found:
        last = first + len(lines) - 1
        return [
            replace(patch, path=path, line=first, end_line=last, sureness=Sureness.LIKELY, trace=()) for patch in found
        ]
    target = half_operation(text, policy)
    if target is None:
        return []
    return [
        Patch(
            path=path,
            line=first,
            end_line=first + len(lines) - 1,
            kind=PatchKind.SOURCE_REWRITE,
            targets=(target,),
            excerpt=shorten(next(line for line in lines if line.strip())),
            sureness=Sureness.POSSIBLE,
            effect=effects.of_lines(lines),
        )
    ]


def _join(pieces: Sequence[tuple[int, list[str]]]) -> str:
    """All pieces at their lines, with empty lines in between."""
    lines: list[str] = []
    for first, piece in pieces:
        lines.extend([""] * (first - 1 - len(lines)))
        lines.extend(piece)
    return "\n".join(lines) + "\n"


def _callers(patches: Sequence[Patch], scans: Mapping[str, Scan], added: Mapping[str, frozenset[int]]) -> list[Patch]:
    """Calls, on added lines, of the scripts that hold the patches."""
    scripts: dict[str, list[Patch]] = {}
    for patch in patches:
        if patch.sureness.counts:
            scripts.setdefault(posixpath.basename(patch.path), []).append(patch)
    found: dict[tuple[str, int], Patch] = {}
    for path, scan in scans.items():
        for call in scan.calls:
            called = scripts.get(call.name, [])
            if not called or all(patch.path == path for patch in called):
                continue
            if not any(number in added[path] for number in range(call.line, call.end_line + 1)):
                continue
            found[path, call.line] = Patch(
                path=path,
                line=call.line,
                end_line=call.end_line,
                kind=PatchKind.PATCH_SCRIPT,
                targets=tuple(dict.fromkeys(name for patch in called for name in patch.targets)),
                excerpt=shorten(call.written),
                sureness=min((patch.sureness for patch in called), key=list(Sureness).index),
                effect=(f"calls {call.name}",),
                trace=(Span(called[0].path, called[0].line, called[0].end_line),),
            )
    return list(found.values())
