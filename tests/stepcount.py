"""A matcher that goes back and tries again as ``re`` does, and counts its steps; the oracle for their bound.

It walks ``re``'s own parse tree and shares nothing with :mod:`rulebook.backtracking`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as codes
    from re import _parser as parser
else:
    import sre_constants as codes
    import sre_parse as parser

Then = Callable[[int], bool]


class TooLong(Exception):
    """More steps than were allowed."""


class Matcher:
    """Searches one line; a character tested, an alternative, a turn or the end of a repeat, an assertion is a step."""

    def __init__(self, pattern: str, line: str, most: int) -> None:
        self.tree = parser.parse(pattern)
        self.flags = self.tree.state.flags
        self.line = line
        self.most = most
        self.steps = 0
        self.groups: dict[int, tuple[int, int]] = {}
        self._singles: dict[str, re.Pattern[str]] = {}

    def search(self) -> bool:
        """Whether the expression is found anywhere."""
        for start in range(len(self.line) + 1):
            self.groups = {}
            if self.items(list(self.tree), 0, start, self.flags, lambda at: True):
                return True
        return False

    def step(self, by: int = 1) -> None:
        self.steps += by
        if self.steps > self.most:
            raise TooLong

    def items(self, items: list[Any], index: int, at: int, flags: int, then: Then) -> bool:
        if index == len(items):
            return then(at)
        code, argument = items[index]

        def rest(place: int) -> bool:
            return self.items(items, index + 1, place, flags, then)

        if code in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
            self.step()
            return at < len(self.line) and self.reads(code, argument, flags, self.line[at]) and rest(at + 1)
        if code is codes.AT:
            return self.is_at(argument, at, flags) and rest(at)
        if code is codes.BRANCH:
            for branch in argument[1]:
                self.step()
                if self.items(list(branch), 0, at, flags, rest):
                    return True
            return False
        if code is codes.SUBPATTERN:
            return self.group(argument, at, flags, rest)
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            return self.repeat(argument, code is codes.MAX_REPEAT, 0, at, -1, flags, rest)
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            self.step()
            direction, inner = argument
            start = at - (inner.getwidth()[0] if direction < 0 else 0)
            held = dict(self.groups)
            found = start >= 0 and self.items(list(inner), 0, start, flags, lambda place: True)
            if found is (code is codes.ASSERT_NOT):
                self.groups = held
            return found is (code is codes.ASSERT) and rest(at)
        if code is codes.GROUPREF:
            if argument not in self.groups:
                return False
            text = self.line[slice(*self.groups[argument])]
            for offset, char in enumerate(text):
                self.step()
                if self.line[at + offset : at + offset + 1] != char:
                    return False
            return rest(at + len(text))
        if code is codes.GROUPREF_EXISTS:
            number, yes, no = argument
            return self.items(list(yes if number in self.groups else no or ()), 0, at, flags, rest)
        raise NotImplementedError(code)

    def group(self, argument: Any, at: int, flags: int, rest: Then) -> bool:
        number, added, removed, inner = argument

        def close(place: int) -> bool:
            before = self.groups.get(number)
            if number is not None:
                self.groups[number] = (at, place)
            if rest(place):
                return True
            if number is not None:
                self.groups.pop(number)
                if before is not None:
                    self.groups[number] = before
            return False

        return self.items(list(inner), 0, at, (flags | added) & ~removed, close)

    def repeat(self, argument: Any, greedy: bool, count: int, at: int, last: int, flags: int, rest: Then) -> bool:
        least, most, inner = argument

        def turn() -> bool:
            return self.items(
                list(inner),
                0,
                at,
                flags,
                lambda place: self.repeat(argument, greedy, count + 1, place, at, flags, rest),
            )

        if count < least:
            return turn()
        if count == most or at == last:
            return rest(at)
        for go in (turn, lambda: rest(at)) if greedy else (lambda: rest(at), turn):
            self.step()
            if go():
                return True
        return False

    def reads(self, code: Any, argument: Any, flags: int, char: str) -> bool:
        if code is codes.ANY:
            return bool(flags & re.DOTALL) or char != "\n"
        key = f"{code}{argument}{flags}"
        if key not in self._singles:
            tree = parser.SubPattern(self.tree.state, [(code, argument)])
            text = "".join(write(tree))
            self._singles[key] = re.compile(text, flags & (re.IGNORECASE | re.ASCII))
        return self._singles[key].fullmatch(char) is not None

    def is_at(self, place: Any, at: int, flags: int) -> bool:
        text = {
            codes.AT_BEGINNING: "^",
            codes.AT_BEGINNING_STRING: r"\A",
            codes.AT_END: "$",
            codes.AT_END_STRING: r"\Z",
            codes.AT_BOUNDARY: r"\b",
            codes.AT_NON_BOUNDARY: r"\B",
        }[place]
        return re.compile(text, flags & (re.MULTILINE | re.ASCII)).match(self.line, at) is not None


def write(tree: Any) -> list[str]:
    """Single characters and classes as an expression again."""
    names = {
        codes.CATEGORY_WORD: r"\w",
        codes.CATEGORY_NOT_WORD: r"\W",
        codes.CATEGORY_DIGIT: r"\d",
        codes.CATEGORY_NOT_DIGIT: r"\D",
        codes.CATEGORY_SPACE: r"\s",
        codes.CATEGORY_NOT_SPACE: r"\S",
    }
    found = []
    for code, argument in tree:
        if code is codes.LITERAL:
            found.append(re.escape(chr(argument)))
        elif code is codes.NOT_LITERAL:
            found.append(f"[^{re.escape(chr(argument))}]")
        elif code is codes.NEGATE:
            found.append("^")
        elif code is codes.RANGE:
            found.append("-".join(re.escape(chr(end)) for end in argument))
        elif code is codes.CATEGORY:
            found.append(names[argument])
        elif code is codes.IN:
            found.append(f"[{''.join(write(argument))}]")
    return found
