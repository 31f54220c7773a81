r"""Regular expressions from content, with a bound on the work: what they cost is known before they run.

Expressions come from rules and policies, the lines that they search from foreign diffs, and Python's matcher goes
back and tries again: ``(a+)+b`` takes exponentially many steps, ``a*a*a*a*b`` as many as the fifth power of the line's
length. :mod:`rulebook.backtracking` bounds the steps from the expression alone. What fits into :data:`MAX_STEPS` for a
line of :data:`MAX_LINE` characters is searched in lines of that length; a dearer one in shorter beginnings of lines, as
long as the steps are enough for, and one for which they are not enough for :data:`MIN_LINE` characters is refused.
So no line takes more than :data:`MAX_STEPS` steps, and an answer never depends on the machine's speed.
"""

from __future__ import annotations

import re
import sys
import warnings
from functools import lru_cache
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    from re import _parser
else:
    import sre_parse as _parser

#: The characters that are looked at in a line, at most.
MAX_LINE = 2_000
#: An expression of which fewer characters could be looked at is refused: lines of code are that long.
MIN_LINE = 120
MAX_PATTERN = 1_000
#: The steps that one search in one line may take; a step takes a nanosecond or two.
MAX_STEPS = 250_000_000


class RegexError(ValueError):
    """A regular expression that is malformed or refused.

    Attributes:
        hint: what to write instead.
    """

    def __init__(self, message: str, hint: str = "mend the regular expression") -> None:
        super().__init__(message)
        self.hint = hint


class Expression(NamedTuple):
    """A regular expression and how far into a line it is searched.

    Args:
        pattern: its source, in the syntax of :mod:`re`.
        limit: the characters of a line that are looked at, at most.
        compiled: what finds it, however long the text.
    """

    pattern: str
    limit: int
    compiled: re.Pattern[str]

    def search(self, line: str) -> re.Match[str] | None:
        """The first place within the limit where it matches; what is behind counts as not there."""
        return self.compiled.search(line[: self.limit])

    def is_cut(self, line: str) -> bool:
        """Whether a line is longer than what is looked at."""
        return len(line) > self.limit


@lru_cache(maxsize=4096)
def compile_bounded(pattern: str) -> Expression:
    """Compiles an expression and tells how far into a line it can be searched within :data:`MAX_STEPS`.

    Raises:
        RegexError: it is malformed, longer than :data:`MAX_PATTERN`, uses what only some versions of Python know,
            or is too dear for a line of :data:`MIN_LINE` characters.
    """
    from rulebook.backtracking import TooMuch, search_steps

    if len(pattern) > MAX_PATTERN:
        raise RegexError(f"is longer than {MAX_PATTERN} characters", "write several expressions, a list of them")
    try:
        with warnings.catch_warnings():
            # What Python warns of ("possible nested set") will mean something else in a later version.
            warnings.simplefilter("error")
            tree: Any = _parser.parse(pattern)
            compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise RegexError(f"is no regular expression: {error}") from None
    try:
        steps = search_steps(tree)
    except TooMuch as error:
        raise RegexError(str(error), error.hint) from None
    limit = steps.longest(MAX_STEPS, MAX_LINE)
    if limit < MIN_LINE:
        if steps.degree < 3:
            message = "has too many optional parts in a row, which can take exponential time"
            raise RegexError(message, "require some of them, or write one class that is repeated")
        raise RegexError(
            f"has repeats that can share a stretch of the line, which takes the power {steps.degree} of its length: "
            f"too much from {limit + 1} characters on",
            "let each repeat end at what it cannot read, [^,]*, for .*, and leave out .* at either end; parts in any "
            "order are (?=.*one)(?=.*other) behind a ^",
        )
    return Expression(pattern, limit, compiled)


@lru_cache(maxsize=4096)
def compile_checked(pattern: str, limit: int) -> Expression:
    """The same for an expression that :func:`compile_bounded` took before, with the limit that it gave.

    Raises:
        RegexError: it is malformed.
    """
    try:
        return Expression(pattern, limit, re.compile(pattern))
    except re.error as error:
        raise RegexError(f"is no regular expression: {error}") from None
