"""The content tree on disk: which files a knowledge base has, and their text.

A file is read once, and never more of it than a bound. What cannot be read is a finding about that
one file; the others are read all the same.
"""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

from rulebook.model import Finding, Kind, Location, Severity

#: The folder of each kind of document, below the knowledge base's root.
FOLDERS = {"rules": Kind.RULE, "waivers": Kind.WAIVER, "reviews": Kind.REVIEW}
#: Larger files are refused unread. The longest rule pages known are under 100 KiB.
MAX_BYTES = 1 << 20
_TWIN = re.compile(r"\.([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\.md\Z")


class Stamp(NamedTuple):
    """What tells, without reading it, that a file changed.

    Nanosecond times, size and inode together: an editor that writes a new file changes the inode,
    one that writes in place changes the times.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Entry(NamedTuple):
    """A content file that was found: its path from the root, its kind and its stamp."""

    path: str
    kind: Kind
    stamp: Stamp


#: A found file as it is compared: path, size, modified and changed in nanoseconds, inode.
Seen = tuple[str, int, int, int, int]


def survey(root: str) -> tuple[list[Seen], list[Finding]]:
    """Finds the content files below ``root``, sorted by path; reads none of them.

    Every query does this, so it takes plain tuples. Hidden files, files whose name begins with ``_`` and
    ``README.md``, in whatever language, are no content. Links to folders are not followed, and neither are
    links to files outside the root.
    """
    seen: list[Seen] = []
    findings: list[Finding] = []
    pending = list(FOLDERS)
    while pending:
        current = pending.pop()
        if current in FOLDERS and os.path.islink(os.path.join(root, current)):
            _follow(root, current, findings)
            continue
        try:
            with os.scandir(os.path.join(root, current)) as listing:
                for item in listing:
                    name = item.name
                    if name[0] in "._":
                        continue
                    if not name.isascii() and not _is_text(name):
                        findings.append(_odd_name(current, name))
                    elif item.is_symlink():
                        seen += _follow(root, f"{current}/{name}", findings)
                    elif not name.endswith(".md") or item.is_dir():
                        if item.is_dir():
                            pending.append(f"{current}/{name}")
                    elif not name.startswith("README."):
                        place = f"{current}/{name}"
                        try:
                            info = item.stat()
                        except FileNotFoundError:
                            continue  # deleted while we looked; the files beside it are still there
                        if stat.S_ISREG(info.st_mode):
                            seen.append((place, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino))
                        else:
                            findings.append(_special(place))
        except FileNotFoundError:
            # No such folder is no fault; one that vanished while we looked is a change for the next scan.
            continue
        except NotADirectoryError:
            findings.append(_finding("file-kind", current, "is a file where a folder is expected", "move it"))
        except OSError as error:
            findings.append(
                _finding("file-unreadable", current, f"cannot be listed: {error.strerror}", "mend its permissions")
            )
    seen.sort()
    return seen, findings


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _odd_name(folder: str, name: str) -> Finding:
    shown = name.encode("utf-8", "backslashreplace").decode()
    return _finding("file-name", f"{folder}/{shown}", "has a name that is not UTF-8", "rename it")


def scan(root: str) -> tuple[list[Entry], list[Finding]]:
    """What :func:`survey` finds, with the kind that each file's folder gives it."""
    seen, findings = survey(root)
    return [entry_of(found) for found in seen], findings


def entry_of(found: Seen) -> Entry:
    """A found file with its kind."""
    path, *stamp = found
    return Entry(path, FOLDERS[path.partition("/")[0]], Stamp(*stamp))


def _follow(root: str, path: str, findings: list[Finding]) -> list[Seen]:
    full = os.path.join(root, path)
    target = os.path.realpath(full)
    home = os.path.realpath(root)
    if os.path.commonpath([home, target]) != home:
        findings.append(
            _finding(
                "file-outside",
                path,
                "is a symbolic link that leaves the knowledge base",
                "replace the link with the file itself",
            )
        )
        return []
    try:
        info = os.stat(full)
    except OSError as error:
        findings.append(_finding("file-unreadable", path, f"leads nowhere: {error.strerror}", "mend or remove it"))
        return []
    if stat.S_ISDIR(info.st_mode):
        findings.append(
            _finding("file-kind", path, "is a symbolic link to a folder, which is not followed", "use a real folder")
        )
        return []
    if not path.endswith(".md") or "/README." in path[path.rindex("/") :]:
        return []
    if not stat.S_ISREG(info.st_mode):
        findings.append(_special(path))
        return []
    return [(path, *_stamp(info))]


def _special(path: str) -> Finding:
    return _finding("file-kind", path, "is a pipe, a socket or a device, which is not read", "put a file of text there")


def _stamp(info: os.stat_result) -> Stamp:
    return Stamp(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


def stamp_of(path: str) -> Stamp | None:
    """The stamp of one file, or ``None`` where there is none."""
    try:
        return _stamp(os.stat(path))
    except OSError:
        return None


def read_text(root: str, path: str) -> str | Finding:
    r"""The text of a content file, without byte order mark and with ``\\n`` line endings.

    Returns a finding instead where the file is too large, unreadable or not UTF-8.
    """
    try:
        with open(os.path.join(root, path), "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return _special(path)
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return _finding("file-unreadable", path, f"cannot be read: {error.strerror}", "mend its permissions")
    if len(data) > MAX_BYTES:
        return _finding("file-size", path, f"is larger than {MAX_BYTES >> 20} MiB", "split it, one rule a file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _finding(
            "file-encoding",
            path,
            f"is not UTF-8: byte 0x{data[error.start]:02x} in line {line}",
            "save it as UTF-8",
            line,
        )
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return _finding("file-encoding", path, f"holds a NUL character in line {line}", "save it as plain text", line)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _open_at_once(path: str, flags: int) -> int:
    """Opens without waiting: a pipe that took a file's place since it was found would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def split_language(path: str) -> tuple[str, str]:
    """The path of the original and the twin's language, which is empty for an original.

    >>> split_language("rules/afd/AFD-I1.zh.md")
    ('rules/afd/AFD-I1.md', 'zh')
    """
    match = _TWIN.search(path)
    return (path[: match.start()] + ".md", match[1]) if match else (path, "")


def _finding(code: str, path: str, message: str, remedy: str, line: int = 0) -> Finding:
    return Finding(
        code=code,
        severity=Severity.ERROR,
        message=message,
        location=Location(path, line),
        remedy=remedy,
    )
