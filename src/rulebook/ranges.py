"""What changed between two commits of a clone, as a ChangeSet that can read the files of both sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rulebook.diffs import STATUS_LETTERS, parse_diff, show_path
from rulebook.errors import GitError, UsageError
from rulebook.git.names import empty_tree
from rulebook.git.records import RENAME_LIMIT, RawChange, is_null, read_patch
from rulebook.model import ChangeSet, ChangeStatus, FileChange, Side

if TYPE_CHECKING:
    from rulebook.git.objects import BlobReader
    from rulebook.git.repository import Repository

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
        blobs[record.old_path, Side.OLD] = record.old_id
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
        if is_null(name):
            return None
        if self._blobs is None:
            self._blobs = self._repository.open_blobs()
        return self._blobs.read(name)

    def close(self) -> None:
        """End the process; a later :meth:`read` starts another."""
        if self._blobs is not None:
            self._blobs.close()


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


def _compare(repository: Repository, old: str, new: str) -> tuple[list[RawChange], bytes, list[RawChange]]:
    """What differs: the records of files that could be compared, their patch, and the other records.

    A clone may lack the content of some files, as partial clones do. Their records are those that
    can be had without it, where only a file that was moved unchanged counts as renamed.
    """
    try:
        return *read_patch(repository.diff(old, new)), []
    except GitError:
        records, _ = read_patch(repository.diff(old, new, content=False))
        absent = repository.find_missing({name for record in records for name in record.contents()})
        if not absent:
            raise
    missing = [record for record in records if not absent.isdisjoint(record.contents())]
    exclude = {path for record in missing for path in (record.path, record.old_path)}
    if sum(map(len, exclude)) > _MAX_ARGUMENTS:
        return [], b"", records
    return *read_patch(repository.diff(old, new, exclude=exclude)), missing


def _complete_record(record: RawChange, content: FileChange) -> FileChange:
    """What git's list says, with the lines from its patch."""
    status = STATUS_LETTERS.get(record.status, ChangeStatus.UNKNOWN)
    if record.status == "M" and record.old_id == record.new_id:
        status = ChangeStatus.MODE
    elif record.status == "M" and content.binary:
        status = ChangeStatus.BINARY
    hunks = () if record.old_id == record.new_id else content.hunks
    old_path = record.old_path if record.is_moved else None
    return FileChange(path=record.path, old_path=old_path, status=status, hunks=hunks, binary=content.binary)
