"""What changed, as somebody listed it: lists of paths and GitHub's lists of files, as one ChangeSet.

Unified diffs are read by :mod:`rulebook.diffs`, git ranges by :mod:`rulebook.ranges`; what follows holds for all three.

Paths keep every byte: what is not UTF-8 becomes a surrogate escape (:func:`rulebook.git.names.decode_path`).
Lines are for matching and showing only, so there such bytes become U+FFFD. A line ends at a line
feed and nowhere else: form feeds, U+2028 and the like are content. A carriage return before the
line feed belongs to the line ending.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rulebook.diffs import STATUS_LETTERS, DiffReader, add_change, show_path
from rulebook.errors import UnreadableInput, UsageError
from rulebook.git.names import decode_path, unquote
from rulebook.model import ChangeSet, ChangeStatus, FileChange, Hunk

#: Linux's PATH_MAX; a longer path is an accident or an attack, and each of its folders would be looked up.
MAX_PATH = 4096

# --- lists of paths ---------------------------------------------------------------------------

#: What only a diff has: git's own first line, or the two names above a hunk.
_DIFF = re.compile(rb"^diff --git |^--- [^\n]*\n\+\+\+ [^\n]*\n@@ -", re.MULTILINE)


def from_paths(items: Iterable[str], *, top: str | None = None) -> ChangeSet:
    """A change of which only the paths are known.

    Args:
        items: paths, relative to the repository's root or absolute.
        top: the root's absolute path, to make absolute paths inside of it relative.

    Raises:
        UsageError: a path is empty, leaves the repository, or is its root.
    """
    return _from_entries(((path, None, ChangeStatus.UNKNOWN) for path in items), top)


def from_path_list(data: bytes, *, nul: bool = False, top: str | None = None) -> ChangeSet:
    """A change given as a list of paths, as other programs write it; see :func:`read_path_list`.

    Lines of ``git diff --name-status`` are read as such, so that renames keep both their sides.

    Raises:
        UsageError: as for :func:`from_paths`.
    """
    return _from_entries(_list_entries(data, nul), top)


def read_path_list(data: bytes, *, nul: bool = False) -> list[str]:
    """The paths in a list of paths, one a line or (``nul``) each ended by a NUL.

    A list in UTF-16, as PowerShell before version 6 writes it, is known by its byte order mark and its NULs. In a list
    of lines, names may be quoted as git quotes them (git-config(1), ``core.quotePath``),
    a carriage return at the end and empty lines are skipped, and a line of ``git diff
    --name-status`` stands for the one or two paths it names. That is no guess: git never writes a
    name that holds a TAB without quoting it.

    Raises:
        UsageError: the list is separated otherwise, or is a diff.
    """
    return [path for new, old, _ in _list_entries(data, nul) for path in ((new,) if old is None else (new, old))]


def _list_entries(data: bytes, nul: bool) -> Iterator[tuple[str, str | None, ChangeStatus]]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in data:
        # Names of such bytes have no NUL inside, and a list that NULs separate has none once it is read as UTF-16.
        text = data.decode("utf-16", "replace")
        data = text.encode("utf-8", "replace") if not nul or "\0" in text else data
    if (b"\0" in data) is not nul and (nul is False or b"\n" in data):
        ends, remedy = ("lines", "drop -z") if nul else ("NULs", "pass -z")
        raise UsageError(f"the list of paths is separated by {ends}", remedy)
    if nul:
        yield from ((decode_path(name), None, ChangeStatus.UNKNOWN) for name in data.split(b"\0") if name)
        return
    if _DIFF.search(data):
        # Taken for names, its lines would be paths that no rule covers, and the answer a false "nothing applies".
        raise UsageError("this is a diff, not a list of paths", "pass it with --diff: '--diff -' reads standard input")
    for line in data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").removesuffix(b"\r").split(b"\n"):
        letter, *names = line.split(b"\t")
        if re.fullmatch(rb"[CR]\d{1,3}", letter) and len(names) == 2:
            yield _name(names[1]), _name(names[0]), STATUS_LETTERS[chr(letter[0])]
        elif re.fullmatch(rb"[ADMTUX]", letter) and len(names) == 1:
            yield _name(names[0]), None, STATUS_LETTERS.get(chr(letter[0]), ChangeStatus.UNKNOWN)
        elif line:
            yield _name(line), None, ChangeStatus.UNKNOWN


def _name(name: bytes) -> str:
    return decode_path(unquote(name))


def _from_entries(entries: Iterable[tuple[str, str | None, ChangeStatus]], top: str | None) -> ChangeSet:
    files: dict[str, FileChange] = {}
    for path, old_path, status in entries:
        old = None if old_path is None else _place_in_repository(old_path, top)
        add_change(files, FileChange(path=_place_in_repository(path, top), old_path=old, status=status))
    notes = tuple(
        f"{show_path(path)} holds a backslash, which is part of the name here: folders are separated by '/'."
        for path in files
        if "\\" in path and "/" not in path
    )
    return ChangeSet(files=tuple(files.values()), notes=notes)


def _place_in_repository(path: str, top: str | None) -> str:
    """``path`` relative to the repository's root, in its shortest form."""
    if not path:
        raise UsageError("an empty path", "name the changed files, relative to the repository's root")
    if len(path) > MAX_PATH:
        raise UsageError(f"{show_path(path[:60])}… is longer than {MAX_PATH} characters", "no file has such a path")
    place = path
    if path.startswith("/") and top is not None:
        # As written, or else through symbolic links: /tmp is one on macOS.
        place = os.path.relpath(path, top)
        if place.startswith(".."):
            place = os.path.relpath(os.path.realpath(path), os.path.realpath(top))
    normal = _normalise(place)
    if normal is None:
        where = "outside of the repository" if top or not path.startswith("/") else "an absolute path"
        raise UsageError(f"{show_path(path)} is {where}", "paths are relative to the repository's root")
    if normal == ".":
        raise UsageError(f"{show_path(path)} is the whole repository, not a changed file", "name the changed files")
    return normal


def _normalise(path: str) -> str | None:
    """``path`` without ``./``, ``//`` and inner ``..``; ``None`` where it leaves the root."""
    normal = posixpath.normpath(path)
    outside = normal.startswith(("/", "../")) or normal == ".." or re.match(r"[A-Za-z]:[\\/]", normal)
    return None if outside else normal


# --- GitHub's lists of files ------------------------------------------------------------------

_GITHUB_STATUSES: Mapping[str, ChangeStatus] = {
    "added": ChangeStatus.ADDED,
    "changed": ChangeStatus.MODIFIED,
    "copied": ChangeStatus.COPIED,
    "modified": ChangeStatus.MODIFIED,
    "removed": ChangeStatus.DELETED,
    "renamed": ChangeStatus.RENAMED,
}


def from_github_files(items: Iterable[Mapping[str, Any]], *, complete: bool) -> ChangeSet:
    """A change as GitHub's REST API lists it (``GET /repos/{owner}/{repo}/pulls/{number}/files``).

    GitHub leaves ``patch`` out where a file is binary or its diff too large: then its changed lines
    are unknown, unless it was only moved. It ends the list after 3,000 files.

    Args:
        items: the decoded entries of all pages.
        complete: whether that is all of them.

    Raises:
        UnreadableInput: an entry lacks its file's name.
    """
    files: dict[str, FileChange] = {}
    notes: list[str] = []
    for item in items:
        path = item.get("filename")
        if not isinstance(path, str) or not path:
            raise UnreadableInput("an entry of GitHub's list of files has no 'filename'", "fetch the list again")
        word = item.get("status")
        if word == "unchanged":
            continue
        status = _GITHUB_STATUSES.get(str(word), ChangeStatus.UNKNOWN)
        old_path = item.get("previous_filename") if status in (ChangeStatus.RENAMED, ChangeStatus.COPIED) else None
        patch = item.get("patch")
        hunks: tuple[Hunk, ...] | None = None
        if isinstance(patch, str):
            try:
                hunks = _parse_patch(patch, path)
            except UnreadableInput as error:
                notes.append(
                    f"GitHub's patch of {show_path(path)} is unusable ({error.message}); only its path counts."
                )
        elif old_path is not None and item.get("changes") == 0:
            hunks = ()
        add_change(files, FileChange(path=path, old_path=old_path, status=status, hunks=hunks))
    if not complete:
        notes.append(f"Of the changed files GitHub listed only {len(files)}; what else changed is not known.")
    return ChangeSet(files=tuple(files.values()), complete=complete, notes=tuple(notes))


def _parse_patch(patch: str, path: str) -> tuple[Hunk, ...]:
    """The hunks of a patch that has nothing else."""
    reader = DiffReader(patch.encode("utf-8", "replace"))
    hunks = reader.read_hunks(path)
    reader.expect_end()
    return hunks
