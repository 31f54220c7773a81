"""The characters that the parts of a regular expression can read, as sets that can be held against each other.

A set is an integer with one bit for each ASCII character, each other character that the expression names, and each
kind of what is left. It may hold more characters than a part reads and never fewer, so sets that have nothing in
common read nothing in common. :mod:`rulebook.backtracking` builds on that.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as _codes
else:
    import sre_constants as _codes

#: Beyond ASCII and the characters that the expression names, four kinds are told apart.
_LETTER, _DIGIT, _SPACE, _OTHER = (1 << bit for bit in range(128, 132))
_REST = _LETTER | _DIGIT | _SPACE | _OTHER


def _ascii(test: Callable[[str], bool]) -> int:
    return sum(1 << code for code in range(128) if test(chr(code)))


#: What each category holds, and what of it with ``re.ASCII``.
_CATEGORIES = {
    "WORD": (_ascii(lambda c: c.isalnum() or c == "_") | _LETTER | _DIGIT, _ascii(lambda c: c.isalnum() or c == "_")),
    "DIGIT": (_ascii(str.isdigit) | _DIGIT, _ascii(str.isdigit)),
    "SPACE": (_ascii(str.isspace) | _SPACE, _ascii(" \t\n\r\f\v".__contains__)),
}


class Alphabet:
    """The sets for one expression.

    Args:
        tree: its parse tree, as ``re``'s own parser gives it.
    """

    def __init__(self, tree: Iterable[Any]) -> None:
        self.bits = {code: 1 << (132 + index) for index, code in enumerate(sorted(set(_named(tree))))}
        self.all = (1 << (132 + len(self.bits))) - 1
        self.codes = (*range(128), *self.bits)

    def bit(self, code: int) -> int:
        """The set of one character, which is ASCII or named."""
        return 1 << code if code < 128 else self.bits[code]

    def literal(self, code: int, flags: int) -> int:
        """The characters that a literal may stand for."""
        own = self.bit(code)
        if not flags & re.IGNORECASE:
            return own
        wanted = _folds(chr(code))
        known = self.codes if code > 127 else {**dict.fromkeys(map(ord, wanted)), **self.bits}
        others = union(self.bit(other) for other in known if not wanted.isdisjoint(_folds(chr(other))))
        # Letters beyond ASCII fold to some within: dotless i, KELVIN SIGN, LONG S. Others fold to what is no letter.
        return own | others | (_REST if code > 127 else _LETTER if chr(code) in "iksIKS" else 0)

    def any(self, flags: int) -> int:
        """What the dot may stand for."""
        return self.all if flags & re.DOTALL else self.all & ~(1 << 10)

    def negated(self, code: int) -> int:
        """What may stand where a literal may not."""
        return self.all & ~self.bit(code)

    def group(self, items: Sequence[Any], flags: int) -> int:
        """What a class in brackets may stand for."""
        may = sure = 0
        negated = False
        for code, argument in items:
            if code is _codes.NEGATE:
                negated = True
            elif code is _codes.LITERAL:
                may |= self.literal(argument, flags)
                sure |= self.bit(argument)
            elif code is _codes.RANGE:
                more, certain = self._range(argument[0], argument[1], flags)
                may, sure = may | more, sure | certain
            elif code is _codes.CATEGORY:
                more, certain = self._category(argument, flags)
                may, sure = may | more, sure | certain
            else:
                return self.all
        return self.all & ~sure if negated else may

    def _range(self, low: int, high: int, flags: int) -> tuple[int, int]:
        sure = union(self.bit(code) for code in self.codes if low <= code <= high)
        may = sure | (_REST if high > 127 else 0)
        if flags & re.IGNORECASE:
            may |= _LETTER | (_ascii(str.isalpha) if high > 127 else 0)
            forms = ((code, map(ord, _folds(chr(code)))) for code in self.codes)
            may |= union(self.bit(code) for code, others in forms if any(low <= other <= high for other in others))
        return may, sure

    def _category(self, code: Any, flags: int) -> tuple[int, int]:
        r"""What ``\w`` and its kin may stand for, and what they stand for in any case."""
        name = str(code).rpartition("_")[2]
        if name not in _CATEGORIES:
            return self.all, 0
        may, sure = _CATEGORIES[name]
        if not flags & re.ASCII:
            sure = may
        for other, bit in self.bits.items():
            text = chr(other)
            if {"WORD": text.isalnum(), "DIGIT": text.isdecimal(), "SPACE": text.isspace()}[name]:
                may |= bit
                sure |= 0 if flags & re.ASCII else bit
        if "_NOT_" in str(code):
            return self.all & ~sure, self.all & ~may
        return may, sure


@lru_cache(maxsize=1024)
def _folds(text: str) -> frozenset[str]:
    """The forms of a character that ``re.IGNORECASE`` may take for each other."""
    forms = {text, text.lower()[:1], text.upper()[:1], text.casefold()[:1]}
    return frozenset(forms | {form.lower()[:1] for form in forms} | {form.upper()[:1] for form in forms})


def _named(tree: Iterable[Any]) -> Iterator[int]:
    """The characters beyond ASCII that an expression names."""
    for code, argument in tree:
        if code in (_codes.LITERAL, _codes.NOT_LITERAL):
            if argument > 127:
                yield argument
        elif code is _codes.RANGE:
            yield from (end for end in argument if end > 127)
        elif code is _codes.IN:
            yield from _named(argument)
        else:
            for part in subtrees(code, argument):
                yield from _named(part)


def subtrees(code: Any, argument: Any) -> list[Any]:
    """The parts of an item of the parse tree that are trees themselves."""
    if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
        return [argument[2]]
    if code is _codes.BRANCH:
        return list(argument[1])
    if code is _codes.SUBPATTERN:
        return [argument[-1]]
    if code in (_codes.ASSERT, _codes.ASSERT_NOT):
        return [argument[1]]
    if code is _codes.GROUPREF_EXISTS:
        return [branch or () for branch in argument[1:]]
    return []


def union(sets: Iterable[int]) -> int:
    """The characters of any of the sets."""
    total = 0
    for characters in sets:
        total |= characters
    return total
