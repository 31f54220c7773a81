"""What git calls things: paths as bytes and as text, quoted names, revisions that are safe to pass on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rulebook.errors import GitError

#: A name as git and GNU diff quote it, like a string in C.
QUOTED_NAME = rb'"(?:[^"\\]|\\.)*"'

_ESCAPES: Mapping[bytes, bytes] = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}

#: Known to git without being stored, by the length of an id: SHA-1 and SHA-256.
_EMPTY_TREES: Mapping[int, str] = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


def encode_path(path: str) -> bytes:
    """The bytes of a path: UTF-8, and whatever else the file system had, unchanged."""
    return path.encode("utf-8", "surrogateescape")


def decode_path(path: bytes) -> str:
    """The text of a path; :func:`encode_path` gives the same bytes back, UTF-8 or not."""
    return path.decode("utf-8", "surrogateescape")


def unquote(name: bytes) -> bytes:
    """The name that is quoted like a string in C (quote.c in git), or ``name`` itself where it is not."""
    if not re.fullmatch(QUOTED_NAME, name):
        return name

    def unescape(found: re.Match[bytes]) -> bytes:
        escaped = found[1]
        return bytes([int(escaped, 8)]) if len(escaped) == 3 else _ESCAPES.get(escaped, escaped)

    return re.sub(rb"\\([0-3][0-7]{2}|.)", unescape, name[1:-1])


def empty_tree(like: str) -> str:
    """The id of the tree without entries, in the hash algorithm of the id ``like``."""
    return _EMPTY_TREES[len(like)]


def refuse_unsafe(value: str, what: str) -> str:
    """``value``, if git can only take it for a ``what`` (a revision, a path, a URL).

    Raises:
        GitError: it is empty, begins with ``-``, so that git could read an option, or holds a
            control character, so that a line-based protocol could read two values.
    """
    if not value:
        raise GitError(f"an empty {what} means nothing to git")
    if value.startswith("-"):
        raise GitError(f"{value!r} is refused as a {what}: it begins with '-'")
    if any(character < " " or character == "\x7f" for character in value):
        raise GitError(f"{value!r} is refused as a {what}: it holds a control character")
    return value
