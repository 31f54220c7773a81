"""Regular expressions from content, bounded: what could take exponential time is refused.

Python's engine backtracks. A repeat inside a repeat (``(a+)+``) can take time exponential in the length
of a line, and lines come from foreign diffs. The expression's own parse tree tells, so nothing has to
be run to find out.
"""

from __future__ import annotations

import re
import sys
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


class RegexError(ValueError):
    """A regular expression that is malformed or refused; the message says why."""


@lru_cache(maxsize=4096)
def compile_bounded(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiles ``pattern`` if no input can make it take exponential time.

    Raises:
        RegexError: it is malformed, longer than :data:`MAX_PATTERN`, repeats a repeat without
            bound, or repeats alternatives of which two can begin alike.
    """
    if len(pattern) > MAX_PATTERN:
        raise RegexError(f"is longer than {MAX_PATTERN} characters")
    try:
        tree: Any = _parser.parse(pattern, flags)
        compiled = re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise RegexError(f"is no regular expression: {error}") from None
    _check(tree, repeated=False)
    return compiled


def _check(tree: Iterable[Any], *, repeated: bool) -> None:
    for code, argument in tree:
        if code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
            _, most, inner = argument
            open_ended = most is _codes.MAXREPEAT or most > 16
            if open_ended and repeated:
                raise RegexError("repeats a repeat, which can take exponential time")
            _check(inner, repeated=repeated or open_ended)
        elif code is _codes.BRANCH:
            branches = argument[1]
            if repeated and not _begin_apart(branches):
                raise RegexError("repeats alternatives that can begin alike, which can take exponential time")
            for branch in branches:
                _check(branch, repeated=repeated)
        elif code is _codes.SUBPATTERN:
            _check(argument[-1], repeated=repeated)
        elif code in (_codes.ASSERT, _codes.ASSERT_NOT):
            _check(argument[1], repeated=repeated)
        elif code is _codes.GROUPREF_EXISTS:
            for branch in argument[1:]:
                _check(branch or (), repeated=repeated)


def _begin_apart(branches: Iterable[Any]) -> bool:
    """Whether each alternative begins with a literal that no other one begins with."""
    firsts = []
    for branch in branches:
        code, argument = next(iter(branch), (None, None))
        if code is not _codes.LITERAL:
            return False
        firsts.append(argument)
    return len(set(firsts)) == len(firsts)
