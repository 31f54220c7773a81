"""Which patches a change introduces: in its added lines, and not there before.

Both sides of the change are looked at. A patch that the old side has as well, with the same effect or a
larger one on the same targets, was moved, re-indented, re-anchored or cut down, and is not introduced by the
change. Each patch of the old side stands for one of the new side: a second copy is a new patch.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rulebook.model import ChangeSet, ChangeStatus, FileChange, Side
from rulebook.waivers import effects
from rulebook.waivers.callers import Scripts, calling
from rulebook.waivers.detect import half_operation, language_of, scan_file, unreadable
from rulebook.waivers.patches import Call, Patch, Scan, Sureness, shorten
from rulebook.waivers.policy import PatchKind, Policy


class Unread(NamedTuple):
    """A file that could not be looked at, why, and whether it is one that can run."""

    path: str
    because: str
    runs: bool


@dataclass(frozen=True, slots=True)
class Introduced:
    """What a change does about patches.

    Attributes:
        patches: those that its added lines introduce, in the order of files and lines.
        kept: those that its added lines touch, and that were there before.
        present: all that the changed files hold now, touched or not.
        unread: files that could not be looked at.
    """

    patches: tuple[Patch, ...]
    kept: tuple[Patch, ...] = ()
    present: tuple[Patch, ...] = ()
    unread: tuple[Unread, ...] = ()


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


def introduced(
    changes: ChangeSet,
    policy: Policy,
    *,
    paths: Callable[[], Iterable[str]] | None = None,
    known_patches: Iterable[Patch] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Introduced:
    """The patches that a change introduces.

    A file is read whole where the change has a reader; else what its hunks show is all there is.

    Args:
        changes: the change.
        policy: what is forbidden.
        paths: lists the files of the tree that the change leads to; asked where the change calls a script, which may be
            one that was there before and patches.
        known_patches: patches of scripts that are no part of the change, for where they cannot be read.
        progress: told how many of the changed files were looked at, and how many there are.
    """
    present: list[Patch] = []
    scans: dict[str, Scan] = {}
    unread: list[Unread] = []
    added: dict[str, frozenset[int]] = {}
    for number, change in enumerate(changes.files, 1):
        if progress is not None:
            progress(number, len(changes.files))
        if not policy.scope_patterns.match(change.path):
            continue
        if change.status is not ChangeStatus.DELETED and not change.path.lower().endswith(_SHOWN_ONLY):
            if change.binary:
                unread.append(Unread(change.path, "binary", _can_run(changes, change.path)))
            elif change.hunks is None and language_of(change.path, _SHEBANG):
                because = "its changed lines are not known"
                unread.append(Unread(change.path, because, _can_run(changes, change.path)))
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
    calls = [(path, call) for path, scan in scans.items() for call in scan.calls if _is_added(call, added[path])]
    scripts = _scripts(changes, policy, scans, paths, known_patches) if calls else None
    called = {(path, call): scripts.patches_of(call, path) for path, call in calls} if scripts is not None else {}
    known: list[Patch] = []
    known_calls: Counter[tuple[str, str]] = Counter()
    if touched or any(patches for patches, _ in called.values()):
        for change in changes.files:
            if change.status in (ChangeStatus.ADDED, ChangeStatus.COPIED):
                continue
            path = change.old_path or change.path
            text = _read(changes, change, Side.OLD, [])
            if text is not None and policy.scope_patterns.match(path):
                scan = _scan(change, text, policy, Side.OLD, whole=changes.reader is not None)
                known.extend(scan.patches)
                known_calls.update((change.path, call.name) for call in scan.calls)
    unknown, before = without_known(present, known)
    new = [patch for patch in unknown if patch in touched]
    kept = [patch for patch in before if patch in touched]
    new.extend(_callers(new, scans, added))
    new.extend(_new_calls(called, new, scans, known_calls))
    new.sort(key=lambda patch: (patch.path, patch.line, patch.end_line, patch.kind.value))
    return Introduced(tuple(new), tuple(kept), tuple(present), tuple(unread))


#: Endings of what is shown and never run: these need no look.
_SHOWN_ONLY = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".pdf", ".mp4", ".woff", ".woff2", ".ttf")
#: What makes a shell script of a file whose name does not tell.
_SHEBANG = "#!/bin/sh"


def _can_run(changes: ChangeSet, path: str, text: str = "") -> bool:
    """Whether a file that is not looked at can run all the same: by its name, by its first line, or for all one knows.

    A name without an ending says nothing, and bash runs what git calls binary.
    """
    if language_of(path, ""):
        return True
    if changes.reader is not None and not text:
        text = (changes.reader.read(path, Side.NEW) or b"")[:1_000].decode("utf-8", "replace")
    return bool(text.startswith("#!") or "." not in posixpath.basename(path).lstrip("."))


def _is_added(call: Call, lines: frozenset[int]) -> bool:
    return any(number in lines for number in range(call.line, call.end_line + 1))


def _scripts(
    changes: ChangeSet,
    policy: Policy,
    scans: Mapping[str, Scan],
    paths: Callable[[], Iterable[str]] | None,
    known_patches: Iterable[Patch],
) -> Scripts:
    """The scripts that a change can call: those of its tree, or without one those that are known to patch."""
    reader = changes.reader
    if paths is None or reader is None:
        listed: dict[str, list[Patch]] = {}
        for patch in known_patches:
            listed.setdefault(patch.path, []).append(patch)
        return Scripts(listed, lambda path: listed.get(path, ()), policy)

    def patches_in(path: str) -> Collection[Patch]:
        if path in scans:
            return scans[path].patches
        data = reader.read(path, Side.NEW)
        text = "" if data is None else data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
        return scan_file(path, text, policy).patches

    return Scripts(paths(), patches_in, policy)


def _new_calls(
    called: Mapping[tuple[str, Call], tuple[list[Patch], Sureness]],
    new: Sequence[Patch],
    scans: Mapping[str, Scan],
    known_calls: Counter[tuple[str, str]],
) -> Iterator[Patch]:
    """Calls, on added lines, of scripts that patched before; those that only moved, in a file or between two, are none.

    Args:
        called: what each of the added calls runs.
        new: the patches that are told of already.
        scans: the changed files.
        known_calls: how often each changed file called a script of some name before.
    """
    told = {(patch.path, patch.line) for patch in new}
    now = Counter((path, call.name) for path, scan in scans.items() for call in scan.calls)
    total: Counter[str] = Counter()
    for calls, sign in ((now, 1), (known_calls, -1)):
        for (_, name), count in calls.items():
            total[name] += sign * count
    for (path, call), (patches, sureness) in called.items():
        place = (path, call.name)
        if patches and (path, call.line) not in told and total[call.name] > 0 and now[place] > known_calls[place]:
            yield calling(call, path, patches, sureness)


def added_lines(change: FileChange) -> frozenset[int]:
    """The numbers, on the new side, of the lines that a change adds to a file."""
    return frozenset(line.new for hunk in change.hunks or () for line in hunk.lines if line.mark == "+")


def _touches(patch: Patch, lines: frozenset[int]) -> bool:
    spans = [(patch.line, patch.end_line), *((s.line, s.end_line) for s in patch.trace if s.path == patch.path)]
    return any(number in lines for first, last in spans for number in range(first, last + 1))


def _read(changes: ChangeSet, change: FileChange, side: Side, unread: list[Unread]) -> str | None:
    """One side of a file: whole, or what the hunks show of it."""
    if change.binary:
        return None
    path = change.path if side is Side.NEW else change.old_path or change.path
    if language_of(path, _SHEBANG) == "":
        return None
    if changes.reader is None:
        text = _join(_pieces(change, side))
        reason = unreadable(text)
        if reason:
            unread.append(Unread(path, reason, _can_run(changes, path, text)))
        return None if reason else text
    data = changes.reader.read(path, side)
    if data is None:
        return None
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
    reason = unreadable(text)
    if reason:
        unread.append(Unread(path, reason, _can_run(changes, path, text)))
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
        orphan = _orphan(lines) if language_of(path, _SHEBANG) == "shell" else 0
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
            if not _is_added(call, added[path]):
                continue
            sureness = min((patch.sureness for patch in called), key=list(Sureness).index)
            found[path, call.line] = calling(call, path, called, sureness)
    return list(found.values())
