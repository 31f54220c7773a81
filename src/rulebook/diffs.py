"""Unified diffs: what git, GNU diff and others write, read into file changes.

The reader of unified diffs is our own. Of 39 cases taken from what users of such tools report, the
maintained parsers get 26 (unidiff 1.0.1) and 15 (whatthepatch 1.0.7) right: they do not unquote
names, split names at `` b/``, take a folder called ``a`` for a prefix, and answer "nothing changed"
to text that is no diff. The format followed is what git writes and ``git apply`` reads
(git-diff(1), "Generating patch text with -p"; git's ``apply.c``), and POSIX's ``diff -u``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from rulebook.errors import UnreadableInput
from rulebook.git.names import QUOTED_NAME, decode_path, unquote
from rulebook.model import ChangeSet, ChangeStatus, FileChange, Hunk, Line

_WHOLE_DIFF = "make the diff again, into a file: git diff BASE...HEAD > change.diff"

#: What git's letters say (git-diff(1), ``--name-status``).
STATUS_LETTERS: Mapping[str, ChangeStatus] = {
    "A": ChangeStatus.ADDED,
    "C": ChangeStatus.COPIED,
    "D": ChangeStatus.DELETED,
    "M": ChangeStatus.MODIFIED,
    "R": ChangeStatus.RENAMED,
    "T": ChangeStatus.MODIFIED,
}

#: A line between ``diff --git`` and the two names (git-diff(1), "extended diff headers").
_EXTENDED = (
    rb"(old mode|new mode|mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to"
    rb"|similarity index|dissimilarity index|index) (.+)"
)

_HUNK = rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)"

#: What git puts in front of names: nothing, the default, with diff.mnemonicPrefix, for --no-index.
_PREFIXES = (
    (b"", b""),
    (b"a/", b"b/"),
    (b"i/", b"w/"),
    (b"c/", b"i/"),
    (b"c/", b"w/"),
    (b"o/", b"w/"),
    (b"1/", b"2/"),
)

_COMBINED_HUNK = rb"@@@+ ((?:-\d{1,9}(?:,\d{1,9})? )+)\+\d{1,9}(?:,(\d{1,9}))? @@@+.*"

#: The empty file's id, SHA-1 and SHA-256.
_EMPTY_BLOBS = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)

#: Of two changes of one file, the status that comes first here stands for both.
_STRENGTH = (
    ChangeStatus.DELETED,
    ChangeStatus.ADDED,
    ChangeStatus.RENAMED,
    ChangeStatus.COPIED,
    ChangeStatus.MODIFIED,
    ChangeStatus.BINARY,
    ChangeStatus.MODE,
    ChangeStatus.UNKNOWN,
)


def parse_diff(data: bytes) -> ChangeSet:
    """Read a unified diff, from ``git diff``, ``git show``, ``git format-patch``, ``diff -u`` or ``svn diff``.

    Text around the diffs (mail headers, a commit's message, a signature) is skipped. Several changes
    of one file become one. Of a combined diff, as ``git show`` writes it for a merge, only the paths
    are taken. No input at all is a change of no file.

    Raises:
        UnreadableInput: this is no unified diff, or it is cut or damaged, at a line that is named.
    """
    data = _clean(data)
    reader = DiffReader(data)
    notes: dict[str, None] = {}
    files: dict[str, FileChange] = {}
    for change in reader.read():
        first = files.get(change.path)
        if first is not None and not _is_replacement(first, change):
            notes["Some file is changed several times; its line numbers come from several versions."] = None
        if change.hunks is None and change.status is not ChangeStatus.UNKNOWN:
            notes[
                f"{show_path(change.path)} is shown as a merge (a combined diff), of which only the path is used."
            ] = None
        add_change(files, change)
    if not files and data.strip():
        remedy = "give what 'git diff', 'git show' or 'diff -u' writes; for a merge, 'git show -m --first-parent'"
        raise UnreadableInput("there is no unified diff in this text", remedy)
    return ChangeSet(files=tuple(files.values()), notes=tuple(notes))


def _clean(data: bytes) -> bytes:
    """``data`` as the program wrote it: without a byte order mark, or CRLF that came on the way."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # What ``>`` writes in PowerShell before version 6.
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    # Only a header's line end tells: content may well have CRLF by itself.
    beginnings = rb"diff --(?:git|cc|combined) |--- |Index: |Submodule "
    header = re.search(rb"^(\x1b\[[\d;]*m)?(?:%b)[^\n]*" % beginnings, data, re.MULTILINE)
    if header is not None and header[1]:
        raise UnreadableInput("the diff is coloured, which hides where its lines begin", "make it with --no-color")
    if header is not None and header[0].endswith(b"\r"):
        data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    return data


def _is_replacement(first: FileChange, then: FileChange) -> bool:
    """Whether two changes are halves of one, as where a file became a symbolic link."""
    return first.status is ChangeStatus.DELETED and then.status is ChangeStatus.ADDED


def add_change(files: dict[str, FileChange], change: FileChange) -> None:
    """Add a change to those collected so far, as one with what is known of the same path."""
    first = files.get(change.path)
    if first is None:
        files[change.path] = change
        return
    status = min(first.status, change.status, key=_STRENGTH.index)
    if _is_replacement(first, change):
        status = ChangeStatus.MODIFIED
    moved = status in (ChangeStatus.RENAMED, ChangeStatus.COPIED)
    files[change.path] = FileChange(
        path=change.path,
        old_path=(first.old_path or change.old_path) if moved else None,
        status=status,
        hunks=None if first.hunks is None or change.hunks is None else first.hunks + change.hunks,
        binary=first.binary or change.binary,
    )


class DiffReader:
    """Goes through the lines of a diff, from one file's section to the next."""

    def __init__(self, data: bytes) -> None:
        self._lines = data.split(b"\n")
        self._ends_in_line_feed = not self._lines[-1]
        if self._ends_in_line_feed:
            self._lines.pop()
        self._at = 0
        self._is_plain = re.search(rb"^diff --(?:git|cc|combined) ", data, re.MULTILINE) is None
        self._has_index = b"\nindex " in data

    def read(self) -> Iterator[FileChange]:
        """The sections, one after another.

        Raises:
            UnreadableInput: one is cut or damaged.
        """
        # In a mail only the beginning of a section means anything, as for git-mailinfo(1): a commit's
        # message, which elsewhere is indented, may quote parts of a diff.
        in_message = False
        while not self._has_ended:
            line = self._peek()
            section: FileChange | None = None
            if line.startswith(b"diff --git "):
                section = self._read_git()
            elif line.startswith((b"diff --cc ", b"diff --combined ")):
                section = self._read_combined()
            elif line.startswith(b"--- ") and self._peek(1).startswith(b"+++ ") and self._peek(2).startswith(b"@@ -"):
                section = self._read_plain()
            elif line.startswith(b"Index: ") and self._peek(1).startswith(b"=" * 20):
                section = self._read_indexed()
            else:
                in_message = in_message or line.startswith(b"Subject: ")
                section = None if in_message else self._read_single_line()
                self._at += 1
            if section is not None:
                in_message = False
                yield section

    def read_hunks(self, path: str) -> tuple[Hunk, ...]:
        """The hunks that begin at this line, down to the first line that belongs to none.

        Raises:
            UnreadableInput: one is cut or damaged.
        """
        hunks = []
        while self._peek().startswith(b"@@"):
            hunks.append(self._read_hunk(path))
        return tuple(hunks)

    def expect_end(self) -> None:
        """Raise :class:`UnreadableInput` unless every line is read."""
        if not self._has_ended:
            self._fail("this line is in no hunk")

    # The kinds of section.

    def _read_git(self) -> FileChange:
        """A section that begins with ``diff --git``."""
        start = self._at
        header = self._take()[len(b"diff --git ") :]
        extended = self._read_extended()
        old, new = self._find_git_names(start, header, extended)
        path = self._decode(new, start)
        hunks: tuple[Hunk, ...] = ()
        binary = False
        may_lack_body = False
        if self._skip_names():
            hunks = self.read_hunks(path)
        elif re.fullmatch(rb"Binary files? .+ (?:differ|has changed)", self._peek()):
            self._at += 1
            binary = True
        elif self._peek() == b"GIT binary patch":
            self._skip_binary_patch(path, start)
            binary = True
        else:
            may_lack_body = self._may_lack_body(header, extended)
        if not (hunks or binary or may_lack_body):
            self._fail_cut(path, start)
        if b"copy to" in extended:
            status = ChangeStatus.COPIED
        elif old != new:
            status = ChangeStatus.RENAMED
        elif b"new file mode" in extended:
            status = ChangeStatus.ADDED
        elif b"deleted file mode" in extended:
            status = ChangeStatus.DELETED
        elif binary:
            status = ChangeStatus.BINARY
        elif b"new mode" in extended and not hunks:
            status = ChangeStatus.MODE
        else:
            status = ChangeStatus.MODIFIED
        old_path = self._decode(old, start) if status in (ChangeStatus.COPIED, ChangeStatus.RENAMED) else None
        return FileChange(path=path, old_path=old_path, status=status, hunks=hunks, binary=binary)

    def _read_combined(self) -> FileChange:
        """A section about a merge and several parents (git-diff-tree(1), "combined diff format")."""
        start = self._at
        path = self._decode(unquote(self._take().split(b" ", 2)[2]), start)
        extended = self._read_extended()
        if not extended:
            self._fail_cut(path, start)
        self._skip_names()
        while self._peek().startswith(b"@@@"):
            self._skip_combined_hunk(path, start)
        status = ChangeStatus.MODIFIED
        if b"new file mode" in extended:
            status = ChangeStatus.ADDED
        elif b"deleted file mode" in extended:
            status = ChangeStatus.DELETED
        return FileChange(path=path, status=status)

    def _read_plain(self, announced: bytes = b"") -> FileChange:
        """A section that begins with two names, as POSIX has it; ``announced`` is what ``Index:`` said."""
        start = self._at
        old, old_exists = _split_stamp(self._take()[len(b"--- ") :])
        new, new_exists = _split_stamp(self._take()[len(b"+++ ") :])
        name = _find_common_name(old, new) or announced or _choose_name(old, new)
        path = self._decode(posixpath.normpath(name), start)
        hunks = self.read_hunks(path)
        if not hunks and self._has_ended:
            self._fail_cut(path, start)
        status = ChangeStatus.MODIFIED
        if not old_exists:
            status = ChangeStatus.ADDED
        elif not new_exists:
            status = ChangeStatus.DELETED
        return FileChange(path=path, status=status, hunks=hunks)

    def _read_indexed(self) -> FileChange:
        """A section of Subversion or CVS: ``Index:``, a rule, and mostly two names and hunks."""
        start = self._at
        name = self._take()[len(b"Index: ") :]
        self._at += 1
        binary = False
        while not self._has_ended and not self._peek().startswith((b"Index: ", b"diff --git ")):
            if self._peek().startswith(b"--- ") and self._peek(1).startswith(b"+++ "):
                return self._read_plain(name)
            binary = binary or self._peek().startswith(b"Cannot display: file marked as a binary type")
            self._at += 1
        # An empty file; whether it came or went is not said.
        status = ChangeStatus.BINARY if binary else ChangeStatus.UNKNOWN
        return FileChange(path=self._decode(name, start), status=status, hunks=(), binary=binary)

    def _read_single_line(self) -> FileChange | None:
        """What stands in one line: a submodule (diff.submodule=log), or what plain ``diff`` only mentions."""
        line = self._peek()
        if re.fullmatch(_HUNK, line):
            self._fail("a hunk without a file")
        status = ChangeStatus.MODIFIED
        if found := re.fullmatch(rb"Submodule (.+) (?:[0-9a-f]+\.{2,3}[0-9a-f]+.*|contains .+ content)", line):
            name = found[1]
            if line.endswith(b"(new submodule)"):
                status = ChangeStatus.ADDED
            elif line.endswith(b"(submodule deleted)"):
                status = ChangeStatus.DELETED
            return FileChange(path=self._decode(name, self._at), status=status, hunks=())
        if found := re.fullmatch(rb"\* Unmerged path (.+)", line):
            return FileChange(path=self._decode(unquote(found[1]), self._at))
        if not self._is_plain:
            return None
        if found := re.fullmatch(rb"Only in ([^:]+): (.+)", line):
            # Which of the two folders is the new one is not said.
            name = posixpath.join(found[1].partition(b"/")[2], found[2])
            return FileChange(path=self._decode(posixpath.normpath(name), self._at))
        if found := re.fullmatch(rb"Binary files? (.+) (?:differ|has changed)", line):
            name = _find_compared_name(found[1])
            return FileChange(path=self._decode(name, self._at), status=ChangeStatus.BINARY, hunks=(), binary=True)
        # In a context diff, ``--- 1,3 ----`` is no name.
        if line.startswith(b"--- ") and not line.endswith(b" ----") and len(self._lines) - self._at <= 2:
            self._fail_cut(decode_path(_split_stamp(line[4:])[0]), self._at)
        return None

    # Parts of sections.

    def _read_extended(self) -> dict[bytes, bytes]:
        """The extended header, as far as it goes: what each line begins with, and the rest of it."""
        extended = {}
        while found := re.fullmatch(_EXTENDED, self._peek()):
            extended[found[1]] = found[2]
            self._at += 1
        return extended

    def _find_git_names(self, start: int, header: bytes, extended: Mapping[bytes, bytes]) -> tuple[bytes, bytes]:
        """Old and new name, from the place that is surest to have them."""
        for verb in (b"rename", b"copy"):
            if verb + b" from" in extended and verb + b" to" in extended:
                old, new = extended[verb + b" from"], extended[verb + b" to"]
                return unquote(old), unquote(new)
        name = _find_common_name_in_header(header)
        if name is not None:
            return name, name
        if not (self._peek().startswith(b"--- ") and self._peek(1).startswith(b"+++ ")):
            if self._has_ended:
                self._fail_cut(decode_path(header), start)
            self._fail(f"cannot tell which file this is about: {show_path(decode_path(header))}", start)
        # Two different files, compared with --no-index.
        old, new = _split_stamp(self._peek()[4:])[0], _split_stamp(self._peek(1)[4:])[0]
        prefixed = old.startswith(b"a/") and new.startswith(b"b/")
        return (old[2:], new[2:]) if prefixed else (old, new)

    def _skip_names(self) -> bool:
        """Go past ``---`` and ``+++``; whether they were there, both of them."""
        found = False
        while self._peek().startswith(b"--- "):  # Several in a combined diff (--combined-all-paths).
            self._at += 1
            found = self._peek().startswith(b"+++ ")
        self._at += found
        return found

    def _may_lack_body(self, header: bytes, extended: Mapping[bytes, bytes]) -> bool:
        """Whether a section that is nothing but its header can be whole."""
        rest = len(self._lines) - self._at
        if rest == 1 and not self._ends_in_line_feed:
            return False  # The last line is the beginning of one that should say more.
        if rest:
            # Nothing is cut here. Under -w, say, a moved file has no hunk if only its white space changed.
            return bool(extended)
        if b"index" in extended:
            old, _, new = extended[b"index"].partition(b" ")[0].partition(b"..")
            only = new if not old.strip(b"0") else old if not new.strip(b"0") else b""
            return bool(only) and any(empty.startswith(only) for empty in _EMPTY_BLOBS)
        for verb in (b"rename", b"copy"):
            if verb + b" to" in extended:
                whole = self._ends_in_line_feed or _agrees(header, extended[verb + b" from"], extended[verb + b" to"])
                return whole and extended.get(b"similarity index", b"100%") == b"100%"
        if b"old mode" in extended:
            return re.fullmatch(rb"\d{6}", extended.get(b"new mode", b"")) is not None
        # Git never leaves out the ids of a file that is new or gone; Mercurial always does.
        return not self._has_index and not extended.keys().isdisjoint((b"new file mode", b"deleted file mode"))

    def _read_hunk(self, path: str) -> Hunk:
        start = self._at
        header = re.fullmatch(_HUNK, self._take())
        if header is None:
            self._fail(f"this is not the head of a hunk ({show_path(path)})", start)
        old, old_count, new, new_count = (1 if number is None else int(number) for number in header.groups()[:4])
        hunk_start = old, new
        old_end, new_end = old + old_count, new + new_count
        source = self._lines
        at = self._at
        lines: list[Line] = []
        while old < old_end or new < new_end:
            if at == len(source):
                missing = max(old_end - old, new_end - new)
                self._fail_cut(path, start, f"{missing} more line{'s' * (missing > 1)} should follow")
            mark = source[at][:1]
            text = source[at][1:].decode("utf-8", "replace").removesuffix("\r")
            if mark == b"+":
                lines.append(Line("+", text, 0, new))
                new += 1
            elif mark == b"-":
                lines.append(Line("-", text, old, 0))
                old += 1
            elif mark in (b" ", b"", b"\r"):  # An empty line may have lost its blank (diff.suppressBlankEmpty).
                lines.append(Line(" ", text, old, new))
                old += 1
                new += 1
            elif mark != b"\\":
                self._fail(f"a hunk of {show_path(path)}, begun at line {start + 1}, should go on here", at)
            at += 1
        self._at = at
        if self._peek().startswith(b"\\"):
            self._at += 1
        if old > old_end or new > new_end or self._goes_on():
            self._fail(f"a hunk of {show_path(path)}, begun at line {start + 1}, has more lines than its head says")
        heading = header[5].decode("utf-8", "replace").removesuffix("\r")
        return Hunk(old_start=hunk_start[0], new_start=hunk_start[1], heading=heading, lines=tuple(lines))

    def _goes_on(self) -> bool:
        """Whether a changed line stands here, which is a line too many after the end of a hunk."""
        line = self._peek()
        if line.startswith(b"-"):
            is_signature = line.rstrip() == b"--"
            return not is_signature and not (line.startswith(b"--- ") and self._peek(1).startswith(b"+++ "))
        return line.startswith(b"+")

    def _skip_combined_hunk(self, path: str, start: int) -> None:
        """Go past a hunk with a column for each parent, counting what belongs to which."""
        header = re.fullmatch(_COMBINED_HUNK, self._peek())
        if header is None:
            self._fail(f"this is not the head of a hunk ({show_path(path)})")
        self._at += 1
        left = [int(part.partition(b",")[2] or 1) for part in header[1].split()]
        new_left = int(header[2] or 1)
        while new_left > 0 or any(count > 0 for count in left):
            if self._has_ended:
                self._fail_cut(path, start)
            columns = self._take()[: len(left)]
            if columns.startswith(b"\\"):
                continue
            removed = b"-" in columns
            new_left -= not removed
            present = b"-" if removed else b" "
            left = [count - (columns[n : n + 1] in (present, b"")) for n, count in enumerate(left)]
        if self._peek().startswith(b"\\"):
            self._at += 1

    def _skip_binary_patch(self, path: str, start: int) -> None:
        """Go past ``GIT binary patch``: one or two blocks, each ended by an empty line."""
        self._at += 1
        blocks = 0
        while re.fullmatch(rb"(?:literal|delta) \d+", self._peek()):
            while self._peek():
                self._at += 1
            if not self._has_ended:
                blocks += 1
            self._at += 1
        # The second block, the way back, may have lost the empty line at its end.
        if blocks == 0:
            self._fail_cut(path, start)

    # Lines.

    @property
    def _has_ended(self) -> bool:
        return self._at >= len(self._lines)

    def _peek(self, ahead: int = 0) -> bytes:
        """The line that is next, or one after it; empty past the end."""
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else b""

    def _take(self) -> bytes:
        line = self._peek()
        self._at += 1
        return line

    def _decode(self, name: bytes, at: int) -> str:
        path = decode_path(name)
        if not path or path.startswith(("/", "../")) or "/../" in path or path in (".", ".."):
            self._fail(f"{show_path(path) or 'no name'} is not in the repository", at)
        return path

    def _fail(self, why: str, at: int | None = None) -> NoReturn:
        number = (self._at if at is None else at) + 1
        raise UnreadableInput(f"the diff is damaged at line {number}: {why}", _WHOLE_DIFF)

    def _fail_cut(self, path: str, start: int, why: str = "more should follow") -> NoReturn:
        raise UnreadableInput(
            f"the diff is cut after line {len(self._lines)}, in what it says from line {start + 1} on"
            f" about {show_path(path)}: {why}",
            _WHOLE_DIFF,
        )


def _splits(text: bytes, separator: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All ways to split ``text`` in two at a separator."""
    at = text.find(separator)
    while at >= 0:
        yield text[:at], text[at + len(separator) :]
        at = text.find(separator, at + 1)


def _find_common_name(old: bytes, new: bytes) -> bytes | None:
    """The name that both stand for: they are equal, or differ in their first folder only.

    So ``a/x`` and ``b/x`` are ``x``, whatever the prefixes, while ``a/x`` twice is a file in a
    folder that is really called ``a``.
    """
    if old == new:
        return old
    old_rest, new_rest = old.partition(b"/")[2], new.partition(b"/")[2]
    return old_rest if old_rest and old_rest == new_rest else None


def _find_common_name_in_header(header: bytes) -> bytes | None:
    """The same for what follows ``diff --git``, where a blank may separate the names or be part of one."""
    if (
        found := re.fullmatch(rb'(%b|[^"]*) (%b|[^"]*)' % (QUOTED_NAME, QUOTED_NAME), header)
        if b'"' in header
        else None
    ):
        return _find_common_name(unquote(found[1]), unquote(found[2]))
    middle = len(header) // 2
    if header[middle : middle + 1] == b" ":
        name = _find_common_name(header[:middle], header[middle + 1 :])
        if name is not None:
            return name
    # Prefixes of different lengths (--src-prefix). No system has paths that are longer.
    pairs = _splits(header, b" ") if len(header) < 20_000 else ()
    return next((name for pair in pairs if (name := _find_common_name(*pair)) is not None), None)


def _find_compared_name(names: bytes) -> bytes:
    """The same for what plain ``diff`` says of two binary files, which `` and `` separates."""
    for old, new in _splits(names, b" and "):
        name = _find_common_name(old, new)
        if name is not None:
            return name
        if b"/dev/null" in (old, new):
            return _choose_name(old, new)
    return names


def _agrees(header: bytes, old: bytes, new: bytes) -> bool:
    """Whether the names of a rename are those of its ``diff --git`` line, so that neither is cut."""

    def put(prefix: bytes, name: bytes) -> bytes:
        return b'"' + prefix + name[1:] if name.startswith(b'"') else prefix + name

    return any(put(a, old) + b" " + put(b, new) == header for a, b in _PREFIXES)


def _split_stamp(text: bytes) -> tuple[bytes, bool]:
    """The name after ``---`` or ``+++``, and whether the file exists on that side.

    A TAB separates what follows the name: GNU diff's time stamp, which is the epoch for a file that
    is not there, or what Subversion says instead. Git adds a bare TAB to a name with blanks.
    """
    found = re.match(QUOTED_NAME, text)
    name, _, stamp = text.partition(b"\t")
    if found is not None:
        name, stamp = unquote(found[0]), text[found.end() + 1 :]
    is_absent = name == b"/dev/null" or stamp.startswith((b"(nonexistent)", b"(revision 0)")) or _is_epoch(stamp)
    return name, not is_absent


def _is_epoch(stamp: bytes) -> bool:
    """Whether a time stamp of GNU diff is 1970-01-01 00:00:00 UTC, in whichever time zone."""
    found = re.match(rb"(1969-12-31|1970-01-01) (\d\d):(\d\d):00(?:\.0+)? ([+-])(\d\d)(\d\d)", stamp)
    if found is None:
        return False
    offset = int(found[5]) * 60 + int(found[6])
    minutes = int(found[2]) * 60 + int(found[3]) - (offset if found[4] == b"+" else -offset)
    return minutes == (24 * 60 if found[1].startswith(b"1969") else 0)


def _choose_name(old: bytes, new: bytes) -> bytes:
    """One of two names that have little in common."""
    if old == b"/dev/null":
        return new.removeprefix(b"b/")
    if new == b"/dev/null":
        return old.removeprefix(b"a/")
    # ``x.py.orig`` is a copy made for the comparison, whichever side it is on.
    return old if new.startswith(old) else new


def show_path(path: str) -> str:
    """A path for a message: one line, no control characters, not endless."""
    return (path if path.isprintable() else repr(path))[:200]
