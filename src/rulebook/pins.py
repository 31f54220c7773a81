"""Source pins: ``alias@<40 hex>:path`` with an optional anchor, as in ``docs/format.md``."""

from __future__ import annotations

import re
from typing import NamedTuple

UNKNOWN = "unknown"

_SHAPE = re.compile(r"(?P<alias>[^@:\s]+)@(?P<commit>[^:]*):(?P<path>.+)\Z", re.DOTALL)
_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_LINES = re.compile(r"L([0-9]{1,9})(?:-L?([0-9]{1,9}))?\Z")
#: Hyphens stand in YAML keys and in the anchors of Markdown headings.
_SYMBOL = re.compile(r"[^\W\d][\w-]*(?:(?:\.|::)[^\W\d][\w-]*)*\Z")


class Pin(NamedTuple):
    """Where a claim was read.

    Attributes:
        alias: the repository, as ``rulebook.toml`` names it.
        commit: 40 lower-case hexadecimal digits.
        path: from the repository's root.
        symbol: ``Name`` or ``Class.method``, or empty.
        first: first line meant, 1-based; 0 where no lines are named.
        last: last line meant, included; 0 where no lines are named.
    """

    alias: str
    commit: str
    path: str
    symbol: str = ""
    first: int = 0
    last: int = 0

    @property
    def anchor(self) -> str:
        """The anchor as it is written, without ``#``; empty for the whole file."""
        if self.first:
            return f"L{self.first}" if self.first == self.last else f"L{self.first}-L{self.last}"
        return self.symbol

    def __str__(self) -> str:
        return f"{self.alias}@{self.commit}:{self.path}" + (f"#{self.anchor}" if self.anchor else "")


class PinError(ValueError):
    """Not a pin; the message says what is wrong, ``remedy`` what to write."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def parse_pin(text: str) -> Pin:
    """Reads a pin.

    A ``#`` begins an anchor only where what follows is shaped like one, so file names with ``#`` in
    them can be pinned.

    Raises:
        PinError: ``text`` is no pin. ``unknown`` is none either; callers look for it first.
    """
    whole = "write alias@<40 hex digits>:path, with #L10-L20 or #Name behind it where that helps"
    match = _SHAPE.match(text)
    if not match or any(ord(c) < 32 or ord(c) == 127 for c in text):
        raise PinError(f"{text!r} is no pin", whole)
    alias, commit, path = match["alias"], match["commit"], match["path"]
    if not _COMMIT.match(commit):
        if _COMMIT.match(commit.lower()):
            raise PinError(f"the commit id {commit!r} has capitals", f"write {commit.lower()}")
        if re.match(r"[0-9a-fA-F]{4,39}\Z", commit):
            raise PinError(
                f"the commit id {commit!r} is short", f"write all 40 digits: git rev-parse '{commit}^{{commit}}'"
            )
        raise PinError(
            f"{commit!r} is no commit id: a branch or a tag moves",
            f"write the 40 digits of: git rev-parse '{commit}^{{commit}}'",
        )
    symbol, first, last = "", 0, 0
    before, hash_sign, after = path.rpartition("#")
    if hash_sign and before:
        lines = _LINES.match(after)
        if lines:
            first = int(lines[1])
            last = int(lines[2] or lines[1])
            if first < 1 or last < first:
                raise PinError(f"#{after} names no lines", "write #L10-L20, smaller number first, counted from 1")
            path = before
        elif _SYMBOL.match(after):
            symbol, path = after, before
        elif not after:
            raise PinError("nothing stands behind '#'", "leave the '#' out, or write #L10-L20 or #Name")
    if path.startswith("-"):
        raise PinError(f"{path!r} begins with '-', which git could take for an option", "pin another file")
    if path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise PinError(f"{path!r} is no path from the repository's root", "write it as git ls-files prints it")
    return Pin(alias, commit, path, symbol, first, last)
