"""Foreign text made harmless: rules, paths and diffs come from people we do not know.

A terminal obeys control characters and a reader is misled by text that runs backwards; both are shown
as escapes instead.
"""

from __future__ import annotations

import re

#: C0 and C1 controls, DEL, line and paragraph separators, bidirectional and other invisible
#: formatting (Unicode 16, general category Cf, without the joiners that scripts and emoji need),
#: lone surrogates.
_HARMFUL = (
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_HARMFUL_IN_TEXT = _HARMFUL.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f")


def one_line(text: str) -> str:
    """Text for one line of a terminal: harmful characters, line ends included, as escapes."""
    if text.isascii() and text.isprintable():
        # Nearly all text is, and the expression takes a millisecond to compile.
        return text
    return re.sub(_HARMFUL, _escape, text)


def json_text(text: str) -> str:
    r"""JSON whose harmful characters are ``\\u`` escapes, which mean the same to every reader of JSON."""
    # GitHub Actions obeys this anywhere in a log, see render/github.py.
    text = text.replace("##[", "##\\u005b")
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_HARMFUL_IN_TEXT, _json_escape, text)


def _json_escape(match: re.Match[str]) -> str:
    # RFC 8259, section 7: what is beyond the first plane takes two escapes.
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def several_lines(text: str) -> str:
    """Text for a terminal that may have several lines and tabs."""
    return re.sub(_HARMFUL_IN_TEXT, _escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        # A byte of a name that is not UTF-8 (PEP 383).
        code -= 0xDC00
    named = {9: "\\t", 10: "\\n", 13: "\\r"}
    if code in named:
        return named[code]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
