"""Regular expressions from content, bounded: what could take exponential time is refused.

Python's engine backtracks. Where a repeat stands inside a repeat (``(a+)+``, ``(aa?)+``), or alternatives
that overlap do (``(a|ab|b)*``), the ways to split a line among them can be exponential in its length, and
lines come from foreign diffs. The expression's own parse tree tells, so nothing has to be run to find out.
Some harmless expressions are refused along; each can be written without the inner repeat.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as _codes
    from re import _parser
else:
    import sre_constants as _codes
    import sre_parse as _parser

#: Longer lines are searched up to here only; polynomial patterns stay quick that way.
MAX_LINE = 2_000
MAX_PATTERN = 1_000
#: Ways to split a text that nested bounded repeats, or optional parts in a row, may have: ``(\d{1,3}\.){3}``
#: has 3 ** 3, ``a?b?c?`` has 2 ** 3.
MAX_WAYS = 1 << 16
#: Repeats without bound may stand in so few rounds of another: a polynomial of that degree.
_MAX_ROUNDS = 4
_ENDLESS = 1 << 32
#: Known from Python 3.11 on only; content has to mean the same everywhere.
_NEW_CODES = {getattr(_codes, name, None) for name in ("POSSESSIVE_REPEAT", "ATOMIC_GROUP")} - {None}


class RegexError(ValueError):
    """A regular expression that is malformed or refused; the message says why."""


@lru_cache(maxsize=4096)
def compile_bounded(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiles ``pattern`` if no input can make it take exponential time.

    Raises:
        RegexError: it is malformed, longer than :data:`MAX_PATTERN`, repeats a repeat in more than
            :data:`MAX_WAYS` ways, repeats alternatives of which two can begin alike, or uses what only
            some versions of Python know.
    """
    if len(pattern) > MAX_PATTERN:
        raise RegexError(f"is longer than {MAX_PATTERN} characters")
    try:
        with warnings.catch_warnings():
            # What Python warns of ("possible nested set") will mean something else in a later version.
            warnings.simplefilter("error")
            tree: Any = _parser.parse(pattern, flags)
            compiled = re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise RegexError(f"is no regular expression: {error}") from None
    _check(tree, 1)
    if _ways(tree) > MAX_WAYS:
        raise RegexError("has too many optional parts in a row, which can take exponential time")
    return compiled


def _check(tree: Iterable[Any], rounds: int) -> None:
    """Refuses what can take too long; ``rounds`` tells how often the repeats around ``tree`` can run it."""
    for code, argument in tree:
        if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
            least, most, inner = argument
            ways = most - least + 1
            if ways > 1 and rounds > _MAX_ROUNDS and (most >= MAX_WAYS or ways ** min(rounds, 64) > MAX_WAYS):
                raise RegexError("repeats a repeat, which can take exponential time")
            _check(inner, min(rounds * max(int(most), 1), _ENDLESS))
        elif code is _codes.BRANCH:
            branches = argument[1]
            if len(branches) ** min(rounds, 64) > MAX_WAYS and not _begin_apart(branches):
                raise RegexError("repeats alternatives that can begin alike, which can take exponential time")
            for branch in branches:
                _check(branch, rounds)
        elif code is _codes.SUBPATTERN:
            _check(argument[-1], rounds)
        elif code in (_codes.ASSERT, _codes.ASSERT_NOT):
            _check(argument[1], rounds)
        elif code is _codes.GROUPREF_EXISTS:
            for branch in argument[1:]:
                _check(branch or (), rounds)
        elif code in _NEW_CODES:
            raise RegexError("has a possessive repeat or an atomic group, which Python 3.10 does not know")


def _ways(tree: Iterable[Any]) -> int:
    """In how many ways the bounded parts of ``tree`` can be taken or left, none of its endless repeats counted."""
    product = 1
    for code, argument in tree:
        if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
            least, most, inner = argument
            if most < MAX_WAYS:
                product *= (most - least + 1) * _ways(inner) ** min(int(most), 64)
        elif code is _codes.BRANCH:
            each = [_ways(branch) for branch in argument[1]]
            product *= max(each) if _begin_apart(argument[1]) else sum(each)
        elif code is _codes.SUBPATTERN:
            product *= _ways(argument[-1])
        elif code is _codes.GROUPREF_EXISTS:
            product *= max(_ways(branch or ()) for branch in argument[1:])
        elif code in (_codes.ASSERT, _codes.ASSERT_NOT):
            # Nobody goes back into one, so it adds nothing; by itself it is as bad as any.
            product = max(product, _ways(argument[1]))
        product = min(product, _ENDLESS)
    return product


def _begin_apart(branches: Iterable[Any]) -> bool:
    """Whether each alternative begins with a literal that no other one begins with, in any case."""
    firsts = []
    for branch in branches:
        code, argument = next(iter(branch), (None, None))
        if code is not _codes.LITERAL or argument is None:
            return False
        firsts.append(chr(argument).casefold())
    return len(set(firsts)) == len(firsts)
