"""What changed: path lists, unified diffs, git ranges and GitHub's file lists, as one ChangeSet.

Paths keep every byte: what is not UTF-8 becomes a surrogate escape (:func:`rulebook.git.decode_path`).
Lines are for matching and showing only, so there such bytes become U+FFFD. A line ends at a line
feed and nowhere else: form feeds, U+2028 and the like are content. A carriage return before the
line feed belongs to the line ending.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook.diffs import QUOTED_NAME, DiffReader, add_change, parse_diff, show_path, unquote
from rulebook.errors import GitError, UnreadableInput, UsageError
from rulebook.git import RENAME_LIMIT, decode_path, empty_tree
from rulebook.model import ChangeSet, ChangeStatus, FileChange, Hunk, Side

if TYPE_CHECKING:
    from rulebook.git import BlobReader, Repository

_STATUS_LETTERS: Mapping[str, ChangeStatus] = {
    "A": ChangeStatus.ADDED,
    "C": ChangeStatus.COPIED,
    "D": ChangeStatus.DELETED,
    "M": ChangeStatus.MODIFIED,
    "R": ChangeStatus.RENAMED,
    "T": ChangeStatus.MODIFIED,
}


#: Linux's PATH_MAX; a longer path is an accident or an attack, and each of its folders would be looked up.
MAX_PATH = 4096

# --- lists of paths ---------------------------------------------------------------------------


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

    In a list of lines, names may be quoted as git quotes them (git-config(1), ``core.quotePath``),
    a carriage return at the end and empty lines are skipped, and a line of ``git diff
    --name-status`` stands for the one or two paths it names. That is no guess: git never writes a
    name that holds a TAB without quoting it.
    """
    return [path for new, old, _ in _list_entries(data, nul) for path in ((new,) if old is None else (new, old))]


def _list_entries(data: bytes, nul: bool) -> Iterator[tuple[str, str | None, ChangeStatus]]:
    if (b"\0" in data) is not nul and (nul is False or b"\n" in data):
        ends, remedy = ("lines", "drop -z") if nul else ("NULs", "pass -z")
        raise UsageError(f"the list of paths is separated by {ends}", remedy)
    if nul:
        yield from ((decode_path(name), None, ChangeStatus.UNKNOWN) for name in data.split(b"\0") if name)
        return
    for line in data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").removesuffix(b"\r").split(b"\n"):
        letter, *names = line.split(b"\t")
        if re.fullmatch(rb"[CR]\d{1,3}", letter) and len(names) == 2:
            yield _list_name(names[1]), _list_name(names[0]), _STATUS_LETTERS[chr(letter[0])]
        elif re.fullmatch(rb"[ADMTUX]", letter) and len(names) == 1:
            yield _list_name(names[0]), None, _STATUS_LETTERS.get(chr(letter[0]), ChangeStatus.UNKNOWN)
        elif line:
            yield _list_name(line), None, ChangeStatus.UNKNOWN


def _list_name(name: bytes) -> str:
    return decode_path(unquote(name) if re.fullmatch(QUOTED_NAME, name) else name)


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


# --- git ranges -------------------------------------------------------------------------------

_SUBMODULE = "160000"

#: Bytes of paths that are put on one command line; systems allow at least ten times as many.
_MAX_ARGUMENTS = 100_000

#: What a patch says about a file that it does not mention, and about one that it could not be made of.
_UNCHANGED = FileChange(path="", hunks=())
_UNREADABLE = FileChange(path="")


def from_git(repository: Repository, range: str) -> ChangeSet:
    """What changed between two commits of a repository.

    Renames are found (half of the content has to be the same), copies are not looked for: a copied
    file counts as a new one, so that all its lines can be judged.

    Args:
        repository: where both commits are.
        range: ``A..B``; ``A...B``, that is B against its merge base with A; either side may be left
            out and means ``HEAD`` then; or one revision, that is this commit against its first
            parent (a root commit against nothing).

    Raises:
        UsageError: ``range`` is empty.
        GitError: it does not exist, or lacks its merge base.
    """
    base, head, notes = _resolve_range(repository, range)
    old_side = base or empty_tree(head)
    records, patch, missing = _compare(repository, old_side, head)
    contents = {change.path: change for change in parse_diff(patch).files}
    files = [_complete_record(record, contents.get(record.path, _UNCHANGED)) for record in records]
    files += [_complete_record(record, _UNREADABLE) for record in missing]
    if missing:
        names = ", ".join(show_path(record.path) for record in missing[:3]) + ", ..." * (len(missing) > 3)
        notes.append(f"Only the path counts where this clone lacks the content, which a full clone has: {names}")
    letters = [record.status for record in records]
    if letters.count("A") * letters.count("D") > RENAME_LIMIT**2:
        notes.append("So many files were added and deleted that renames among them were not looked for.")
    blobs: dict[tuple[str, Side], str] = {}
    for record in (*records, *missing):
        blobs[record.old_path or record.path, Side.OLD] = record.old_id
        blobs[record.path, Side.NEW] = record.new_id
    reader = RangeReader(repository, old_side, head, blobs)
    return ChangeSet(files=tuple(files), base=base, head=head, reader=reader, notes=tuple(notes))


class RangeReader:
    """Reads the files of both sides of a range through one git process (:class:`ContentReader`)."""

    def __init__(self, repository: Repository, base: str, head: str, blobs: Mapping[tuple[str, Side], str]) -> None:
        """``blobs`` has the ids of the files that are known to have changed; all zeros: not there."""
        self._repository = repository
        self._trees = {Side.OLD: base, Side.NEW: head, Side.BOTH: head}
        self._known = blobs
        self._blobs: BlobReader | None = None

    def read(self, path: str, side: Side) -> bytes | None:
        """The file's bytes on ``side`` (both: the new one), or ``None`` where there is none.

        Raises:
            GitError: the repository is damaged.
        """
        name = self._known.get((path, side)) or f"{self._trees[side]}:{path}"
        if not name.strip("0"):
            return None
        if self._blobs is None:
            self._blobs = self._repository.open_blobs()
        return self._blobs.read(name)

    def close(self) -> None:
        """End the process; a later :meth:`read` starts another."""
        if self._blobs is not None:
            self._blobs.close()


class _Record(NamedTuple):
    """A record of ``git diff-tree --raw -z`` (git-diff-tree(1), "Raw output format")."""

    status: str
    modes: tuple[str, str]
    old_id: str
    new_id: str
    path: str
    old_path: str | None

    def blobs(self) -> set[str]:
        """The ids of the contents that there are: a submodule's id is no content."""
        sides = zip(self.modes, (self.old_id, self.new_id), strict=True)
        return {name for mode, name in sides if name.strip("0") and mode != _SUBMODULE}


def _resolve_range(repository: Repository, range: str) -> tuple[str, str, list[str]]:
    """The ids of both sides (an empty one for 'nothing'), and what to say about how it was read."""
    if not range.strip("."):
        raise UsageError(f"{range!r} names no commits", "write BASE...HEAD, BASE..HEAD or COMMIT")
    for dots in ("...", ".."):
        left, separator, right = range.partition(dots)
        if separator:
            base = repository.resolve_commit(left or "HEAD")
            head = repository.resolve_commit(right or "HEAD")
            return (repository.merge_base(base, head) if dots == "..." else base), head, []
    head = repository.resolve_commit(range)
    notes = []
    if not head.startswith(range):
        notes.append(f"{range} is read as one commit, against its first parent; a whole branch is BASE...{range}.")
    return repository.first_parent(head) or "", head, notes


def _compare(repository: Repository, old: str, new: str) -> tuple[list[_Record], bytes, list[_Record]]:
    """What differs: the records of files that could be compared, their patch, and the other records.

    A clone may lack the content of some files, as partial clones do. Their records are those that
    can be had without it, where only a file that was moved unchanged counts as renamed.
    """
    try:
        return *_split_raw(repository.diff(old, new)), []
    except GitError:
        records, _ = _split_raw(repository.diff(old, new, content=False))
        absent = repository.find_missing({name for record in records for name in record.blobs()})
        if not absent:
            raise
    missing = [record for record in records if not absent.isdisjoint(record.blobs())]
    exclude = {path for record in missing for path in (record.path, record.old_path) if path is not None}
    if sum(map(len, exclude)) > _MAX_ARGUMENTS:
        return [], b"", records
    return *_split_raw(repository.diff(old, new, exclude=exclude)), missing


def _split_raw(output: bytes) -> tuple[list[_Record], bytes]:
    """The records, and the patch, which an empty record sets off where there is one."""
    records = []
    at = 0
    while output.startswith(b":", at):
        end = output.index(b"\0", at)
        old_mode, new_mode, old_id, new_id, status = output[at + 1 : end].decode("ascii").split(" ")
        names = []
        for _ in (0, 1) if status[0] in "RC" else (0,):
            at = end + 1
            end = output.index(b"\0", at)
            names.append(decode_path(output[at:end]))
        at = end + 1
        old_path = names[0] if len(names) == 2 else None
        records.append(_Record(status[0], (old_mode, new_mode), old_id, new_id, names[-1], old_path))
    return records, output[at + 1 :]


def _complete_record(record: _Record, content: FileChange) -> FileChange:
    """What git's list says, with the lines from its patch."""
    status = _STATUS_LETTERS.get(record.status, ChangeStatus.UNKNOWN)
    if record.status == "M" and record.old_id == record.new_id:
        status = ChangeStatus.MODE
    elif record.status == "M" and content.binary:
        status = ChangeStatus.BINARY
    hunks = () if record.old_id == record.new_id else content.hunks
    return FileChange(path=record.path, old_path=record.old_path, status=status, hunks=hunks, binary=content.binary)
