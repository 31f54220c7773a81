"""What git's plumbing writes, read: changes, commits, folders, and the answers of ``cat-file``.

The formats are those of git-diff-tree(1), "Raw output format", of git-cat-file(1), "Batch output", of
git-blame(1), "The porcelain format", and of git's objects themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import IO, NamedTuple

from rulebook.git.names import decode_path, unquote

_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_HEADER = re.compile(rb"(tree|parent|committer) (.*)")
_SUBMODULE = "160000"

#: Git looks for renames as long as there are at most this number squared of pairs to compare.
RENAME_LIMIT = 2000


# --- changes ----------------------------------------------------------------------------------


class RawChange(NamedTuple):
    """What became of a file: the letter that ``git diff --raw`` gives, and both sides; one path where it stayed."""

    status: str
    old_path: str
    path: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str

    @property
    def is_moved(self) -> bool:
        """Whether the file was renamed, or copied, from ``old_path``."""
        return self.status in ("R", "C")

    def contents(self) -> set[str]:
        """The ids of the contents that there are: none of a side without the file, and none of a submodule."""
        sides = ((self.old_mode, self.old_id), (self.new_mode, self.new_id))
        return {identity for mode, identity in sides if not is_null(identity) and mode != _SUBMODULE}


def is_null(identity: str) -> bool:
    """Whether an id stands for "not there"."""
    return not identity.strip("0")


def read_changes(output: bytes, at: int = 0) -> tuple[list[RawChange], int]:
    """The changes that begin at ``at`` in what ``git diff-tree --raw -z`` wrote, and the place behind the last one."""
    found = []
    while output.startswith(b":", at):
        header, at = _field(output, at + 1)
        old_mode, new_mode, old_id, new_id, status = header.decode("ascii").split(" ")
        old_path, at = _field(output, at)
        path, at = _field(output, at) if status[0] in "RC" else (old_path, at)
        names = decode_path(old_path), decode_path(path)
        found.append(RawChange(status[0], *names, old_mode, new_mode, old_id, new_id))
    return found, at


def read_patch(output: bytes) -> tuple[list[RawChange], bytes]:
    """The changes, and the patch, which an empty field sets off where there is one (``--raw -p``)."""
    found, at = read_changes(output)
    return found, output[at + 1 :]


class LogEntry(NamedTuple):
    """A commit of a history, and what it changed since the first of its parents.

    Attributes:
        id: the commit's.
        parents: the commits before it; of a history of some folders, those before it that changed something there.
        date: the committer's, in seconds since 1970.
        subject: the message's first paragraph in one line, whatever its author wrote there.
        changes: a rename is a deletion and an addition.
    """

    id: str
    parents: tuple[str, ...]
    date: int
    subject: str
    changes: Sequence[RawChange] = ()


def read_log(output: bytes) -> list[LogEntry]:
    """The commits that ``git rev-list --parents --format="%ct %s"`` lists, without what they changed."""
    found = []
    lines = output.split(b"\n")
    for head, about in zip(lines[::2], lines[1::2], strict=False):
        _, identity, *parents = head.decode("ascii").split(" ")
        date, _, subject = about.decode("utf-8", "replace").partition(" ")
        found.append(LogEntry(identity, tuple(parents), int(date or 0), subject.strip()))
    return found


def read_history(output: bytes) -> dict[str, list[RawChange]]:
    """What each commit changed, by its id, as ``git diff-tree --stdin`` lists them."""
    found = {}
    at = 0
    while at < len(output):
        commit, at = _field(output, at)
        changes, at = read_changes(output, at)
        found[commit.decode("ascii").strip()] = changes
    return found


def _field(output: bytes, at: int) -> tuple[bytes, int]:
    """What is there up to the next NUL, and the place behind that."""
    end = output.index(b"\0", at)
    return output[at:end], end + 1


class BlamedLines(NamedTuple):
    """Lines that a commit answers for: their first numbers in its own file and in the blamed one, and how many."""

    commit: str
    path: str
    there: int
    here: int
    length: int


def read_blame(output: bytes) -> Iterator[BlamedLines]:
    """The groups of lines in what ``git blame --incremental`` wrote."""
    header: tuple[str, int, int, int] | None = None
    for line in output.split(b"\n"):
        match = re.fullmatch(rb"([0-9a-f]{40,64}) ([0-9]+) ([0-9]+) ([0-9]+)", line)
        if match:
            header = (match[1].decode("ascii"), int(match[2]), int(match[3]), int(match[4]))
        elif line.startswith(b"filename ") and header:
            commit, there, here, length = header
            yield BlamedLines(commit, decode_path(unquote(line[9:])), there, here, length)


# --- objects ----------------------------------------------------------------------------------


class Mode(Enum):
    """What an entry of a folder is, by git's mode."""

    FILE = "a file"
    LINK = "a symbolic link"
    FOLDER = "a folder"
    SUBMODULE = "a submodule"


#: By git's mode; what has no other is a file, executable or not.
_MODES = {b"40000": Mode.FOLDER, b"120000": Mode.LINK, b"160000": Mode.SUBMODULE}


class Entry(NamedTuple):
    """What stands at a path: its kind and the id of its content."""

    mode: Mode
    id: str


class Commit(NamedTuple):
    """A commit: its tree, its parents and its date in seconds since 1970."""

    tree: str
    parents: tuple[str, ...]
    date: int


def object_id(kind: str, content: bytes) -> str:
    """The id that git gives to a blob, tree or commit with this content."""
    from hashlib import sha1

    return sha1(b"%s %d\0" % (kind.encode("ascii"), len(content)) + content, usedforsecurity=False).hexdigest()


def parse_commit(content: bytes) -> Commit:
    """The commit that an object holds."""
    tree, parents, date = "", [], 0
    for line in content.partition(b"\n\n")[0].split(b"\n"):
        match = _HEADER.fullmatch(line)
        if match is None:
            continue
        if match[1] == b"tree":
            tree = match[2].decode("ascii")
        elif match[1] == b"parent":
            parents.append(match[2].decode("ascii"))
        else:
            stamp = re.search(rb"> (-?[0-9]+) [-+0-9]+\Z", match[2])
            date = int(stamp[1]) if stamp else 0
    return Commit(tree, tuple(parents), date)


def parse_tree(content: bytes) -> dict[bytes, Entry]:
    """The entries of the folder that an object holds, by their names; of SHA-1 ids only."""
    return {name: Entry(_MODES.get(mode, Mode.FILE), id_.hex()) for mode, name, id_ in _ENTRY.findall(content)}


class Object(NamedTuple):
    """An object of a repository: its id, its type, its size in bytes and, where it was asked for, its content."""

    id: str
    kind: str
    size: int
    content: bytes = b""


def blob_content(found: Object | None) -> bytes | None:
    """The content of a blob; ``None`` for what is none, or is not there."""
    return found.content if found is not None and found.kind == "blob" else None


def read_object(stream: IO[bytes], *, content: bool = True) -> Object | None:
    """The next answer of ``git cat-file``, or ``None`` where it has no such object.

    Args:
        stream: what it writes.
        content: whether the answer has the content.

    Raises:
        EOFError: the answer is cut, since git died.
    """
    header = stream.readline()
    if not header.endswith(b"\n"):
        raise EOFError
    found = re.fullmatch(rb"([0-9a-f]+) ([a-z]+) ([0-9]+)", header[:-1])
    if found is None:
        return None
    size = int(found[3])
    data = stream.read(size + 1) if content else b""
    if content and len(data) != size + 1:
        raise EOFError
    return Object(found[1].decode("ascii"), found[2].decode("ascii"), size, data[:-1])


def read_objects(stream: IO[bytes], count: int, *, content: bool = True) -> list[Object | None]:
    """The next ``count`` answers as :func:`read_object` gives them; fewer where git died."""
    found: list[Object | None] = []
    while len(found) < count:
        try:
            found.append(read_object(stream, content=content))
        except EOFError:
            break
    return found
