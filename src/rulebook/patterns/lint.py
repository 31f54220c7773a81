"""What is wrong with a list of patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rulebook.patterns.compiled import STAR, Alternative, Pattern, Segment, accepts
from rulebook.patterns.syntax import PatternError, parse

# Patterns are compared pairwise; on a hostile list there is no more advice, instead of minutes without an answer.
_COMPARISONS = 100_000


#: Problems of an entry that cost nothing but clarity; with any other one the list does not do what it says.
HARMLESS = ("pattern-duplicate", "pattern-shadowed", "pattern-idle-negation")


class Problem(NamedTuple):
    """What is wrong with one entry of a list of patterns.

    Attributes:
        index: of the entry, counted from 0.
        code: stable, begins with ``pattern-``.
        message: one sentence that says what is wrong.
        remedy: one sentence that says what to write instead.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody asks of a problem
    code: str
    message: str
    remedy: str


def lint(texts: Sequence[str]) -> list[Problem]:
    """What is wrong with a list of patterns, in the order of its entries.

    Entries that cannot be read have the codes of :func:`rulebook.patterns.syntax.parse`. On the others, together:

    * ``pattern-only-negations``: the list can match nothing (an empty list is not reported);
    * ``pattern-idle-negation``: the negation takes nothing out, as no pattern before it takes in what it names;
    * ``pattern-duplicate``: an earlier entry says the same;
    * ``pattern-shadowed``: a later entry covers all that this one does, so this one never decides anything.

    The last two and the idle negations are only reported where they are certain.
    """
    problems: list[Problem] = []
    entries: list[tuple[int, Pattern]] = []
    for index, text in enumerate(texts):
        try:
            entries.append((index, parse(text)))
        except PatternError as error:
            problems.append(Problem(index, error.code, error.message, error.remedy))
    if entries and len(entries) == len(texts) and all(pattern.negated for _, pattern in entries):
        problems.append(
            Problem(
                0,
                "pattern-only-negations",
                "The list has only negations, so it matches nothing.",
                'Put a pattern before them that takes something in: "**" for every file.',
            )
        )
    else:
        problems += _idle_negations(entries)
    problems += _shadowed(entries)
    return sorted(problems)


def _idle_negations(entries: list[tuple[int, Pattern]]) -> Iterator[Problem]:
    budget = _COMPARISONS
    taken_in: list[Pattern] = []
    for index, pattern in entries:
        if not pattern.negated:
            taken_in.append(pattern)
            continue
        budget -= sum(len(pattern.alternatives) * len(earlier.alternatives) for earlier in taken_in)
        if budget < 0:
            return
        if all(_disjoint(pattern, earlier) for earlier in taken_in):
            yield Problem(
                index,
                "pattern-idle-negation",
                f"`{pattern.text}` takes nothing out: no pattern before it takes in what it names.",
                "Move it behind the pattern that it is to narrow, or delete it.",
            )


def _shadowed(entries: list[tuple[int, Pattern]]) -> Iterator[Problem]:
    budget = _COMPARISONS
    seen: dict[tuple[bool, tuple[Alternative, ...]], int] = {}
    distinct: list[tuple[int, Pattern]] = []
    for index, pattern in entries:
        first = seen.setdefault((pattern.negated, pattern.alternatives), index)
        if first == index:
            distinct.append((index, pattern))
        else:
            message = f"`{pattern.text}` says the same as entry {first + 1} of the list."
            yield Problem(index, "pattern-duplicate", message, "Delete one of the two.")
    for place, (index, narrow) in enumerate(distinct):
        for other, wide in distinct[place + 1 :]:
            budget -= len(narrow.alternatives) * len(wide.alternatives)
            if budget < 0:
                return
            if _covers(wide, narrow):
                yield Problem(
                    index,
                    "pattern-shadowed",
                    f"`{narrow.text}` never decides: `{wide.text}`, entry {other + 1} of the list, covers all of it.",
                    "Delete it." if narrow.negated == wide.negated else "Put the narrower pattern last.",
                )
                break


def _covers(wide: Pattern, narrow: Pattern) -> bool:
    """Whether ``wide`` certainly matches every path that ``narrow`` does, ``!`` aside."""
    return all(any(_alternative_covers(w, n) for w in wide.alternatives) for n in narrow.alternatives)


def _alternative_covers(wide: Alternative, narrow: Alternative) -> bool:
    """The matcher itself, run on the segments of ``narrow`` where it would have the names of a path.

    A block of ``wide`` has to lie within a block of ``narrow``: behind a ``**`` nobody knows what comes next.
    """
    *blocks, last = wide.blocks
    inside = wide.folder
    if not inside and len(last) > 1 and last[-1] == STAR:
        # `src/**` and `src/*` are `src/`, and a `*` need not lie within the block.
        last, inside = last[:-1], True
    row = start = 0
    for number, block in enumerate([*blocks, last]):
        floating = wide.floating or number > 0
        if not floating and narrow.floating:
            return False
        while True:
            against = narrow.blocks[row]
            if len(block) <= len(against) - start and all(map(_includes, block, against[start:])):
                start += len(block)
                break
            if not floating:
                return False
            start += 1
            if start >= len(against):
                row, start = row + 1, 0
            if row == len(narrow.blocks):
                return False
    goes_on = narrow.folder or row < len(narrow.blocks) - 1 or start < len(narrow.blocks[row])
    return goes_on or not inside


def _includes(wide: Segment, narrow: Segment) -> bool:
    """Whether ``wide`` certainly matches every name that ``narrow`` does."""
    if wide in (narrow, STAR):
        return True
    if isinstance(wide, str):
        return False
    if isinstance(narrow, str):
        return wide.matches(narrow)
    if len(wide.chunks) != 2 or narrow.name is not None:
        return False
    (head, tail), first, last = wide.chunks, narrow.chunks[0], narrow.chunks[-1]
    if not (isinstance(head, str) and isinstance(tail, str) and isinstance(first, str) and isinstance(last, str)):
        return False
    return len(narrow.chunks) > 1 and first.startswith(head) and last.endswith(tail)


def _disjoint(one: Pattern, other: Pattern) -> bool:
    """Whether certainly no path matches both, ``!`` aside."""
    return all(_alternatives_disjoint(a, b) for a in one.alternatives for b in other.alternatives)


def _alternatives_disjoint(one: Alternative, other: Alternative) -> bool:
    if one.floating or other.floating:
        return False
    return any(map(_excludes, one.blocks[0], other.blocks[0]))


def _excludes(one: Segment, other: Segment) -> bool:
    if isinstance(one, str):
        return not accepts(other, one)
    return isinstance(other, str) and not one.matches(other)
