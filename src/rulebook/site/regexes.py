r"""Python's regular expressions as JavaScript's, exactly or not at all.

The parse tree of :mod:`re` is written again for an engine with the flag ``u``. Classes are spelt out, since ``\w``,
``\d`` and ``\s`` mean all of Unicode in Python and ASCII there (ECMA-262, "CharacterClassEscape"), ``$`` may stand
before a last line feed in Python only, and case is folded otherwise. What has no exact counterpart (a
conditional group, an atomic one, a possessive repeat, folded case beyond ASCII) is refused.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as _codes
    from re import _parser
else:
    import sre_constants as _codes
    import sre_parse as _parser

_WORD = r"\p{L}\p{N}_"
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CLASSES = {
    _codes.CATEGORY_WORD: (_WORD, False),
    _codes.CATEGORY_NOT_WORD: (_WORD, True),
    _codes.CATEGORY_DIGIT: (r"\p{Nd}", False),
    _codes.CATEGORY_NOT_DIGIT: (r"\p{Nd}", True),
    _codes.CATEGORY_SPACE: (_SPACE, False),
    _codes.CATEGORY_NOT_SPACE: (_SPACE, True),
}
_HERE, _THERE = f"(?<=[{_WORD}])", f"(?=[{_WORD}])"
_NOT_HERE, _NOT_THERE = f"(?<![{_WORD}])", f"(?![{_WORD}])"
_PLACES = {
    _codes.AT_BEGINNING: r"(?<![\s\S])",
    _codes.AT_BEGINNING_STRING: r"(?<![\s\S])",
    _codes.AT_END: r"(?=\n?(?![\s\S]))",
    _codes.AT_END_STRING: r"(?![\s\S])",
    _codes.AT_BOUNDARY: f"(?:{_HERE}{_NOT_THERE}|{_NOT_HERE}{_THERE})",
    _codes.AT_NON_BOUNDARY: f"(?:{_HERE}{_THERE}|{_NOT_HERE}{_NOT_THERE})",
}
_ALLOWED_FLAGS = re.UNICODE | re.IGNORECASE | re.VERBOSE


class NoCounterpart(ValueError):
    """An expression that JavaScript cannot be given with the same meaning; the message says why."""


def to_javascript(pattern: str) -> tuple[str, str]:
    """The source and the flags of a JavaScript ``RegExp`` that finds what ``pattern`` finds in one line of text.

    Args:
        pattern: one that :func:`rulebook.regexes.compile_bounded` takes.

    Raises:
        NoCounterpart: there is none that means exactly the same.
    """
    tree: Any = _parser.parse(pattern)
    flags = tree.state.flags
    if flags & ~_ALLOWED_FLAGS:
        raise NoCounterpart("it has a flag that JavaScript lacks")
    folded = bool(flags & re.IGNORECASE)
    return _write(tree, folded), "iu" if folded else "u"


def _write(tree: Iterable[Any], folded: bool) -> str:
    return "".join(_item(code, argument, folded) for code, argument in tree)


def _item(code: Any, argument: Any, folded: bool) -> str:
    if code is _codes.LITERAL:
        return _char(argument, folded)
    if code is _codes.NOT_LITERAL:
        return f"[^{_char(argument, folded)}]"
    if code is _codes.ANY:
        return r"[^\n]"
    if code is _codes.IN:
        return _class(argument, folded)
    if code is _codes.AT:
        if argument not in _PLACES:
            raise NoCounterpart("it asks for a place that JavaScript does not know")
        return _PLACES[argument]
    if code is _codes.BRANCH:
        return "(?:" + "|".join(_write(branch, folded) for branch in argument[1]) + ")"
    if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
        least, most, inner = argument
        upper = "" if most is _codes.MAXREPEAT else str(int(most))
        lazy = "?" if code is _codes.MIN_REPEAT else ""
        return f"(?:{_write(inner, folded)}){{{int(least)},{upper}}}{lazy}"
    if code is _codes.SUBPATTERN:
        group, added, removed, inner = argument
        if added or removed:
            raise NoCounterpart("it changes flags within a group")
        return ("(" if group is not None else "(?:") + _write(inner, folded) + ")"
    if code in (_codes.ASSERT, _codes.ASSERT_NOT):
        direction, inner = argument
        sign = "=" if code is _codes.ASSERT else "!"
        return f"(?{'<' if direction < 0 else ''}{sign}{_write(inner, folded)})"
    raise NoCounterpart(f"JavaScript has no counterpart of {str(code).lower().replace('_', ' ')}")


def _class(items: Iterable[Any], folded: bool) -> str:
    negated, plain, opposite = False, "", []
    for code, argument in items:
        if code is _codes.NEGATE:
            negated = True
        elif code is _codes.LITERAL:
            plain += _char(argument, folded)
        elif code is _codes.RANGE:
            plain += _char(argument[0], folded) + "-" + _char(argument[1], folded)
        elif code is _codes.CATEGORY and argument in _CLASSES:
            text, complement = _CLASSES[argument]
            if complement:
                opposite.append(text)
            else:
                plain += text
        else:
            raise NoCounterpart("it has a class that JavaScript does not know")
    if not opposite:
        return f"[{'^' if negated else ''}{plain}]"
    # A class cannot hold another one's complement under the flag u, so it becomes an alternative.
    parts = [f"[^{text}]" for text in opposite] + ([f"[{plain}]"] if plain else [])
    if negated:
        return rf"(?:(?!{'|'.join(parts)})[\s\S])"
    # No character may be read by two of them: repeated, that would take exponential time.
    apart = [f"(?!{'|'.join(parts[:index])}){part}" if index else part for index, part in enumerate(parts)]
    return f"(?:{'|'.join(apart)})"


def _char(code: int, folded: bool) -> str:
    if folded and code > 0x7F:
        raise NoCounterpart("it folds the case of letters beyond ASCII")
    return chr(code) if chr(code).isascii() and chr(code).isalnum() else f"\\u{{{code:x}}}"
