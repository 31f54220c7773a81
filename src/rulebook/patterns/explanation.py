"""Why a list of patterns covers a path, or what keeps it from doing so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from rulebook.patterns.compiled import Pattern, accepts, find_block
from rulebook.patterns.syntax import Split, compile_split, expansions, layout, split_pattern


class Outcome(str, Enum):
    """What became of a path in a list of patterns."""

    MATCHED = "matched"
    EXCLUDED = "excluded"
    MISSED = "missed"

    __str__ = str.__str__


class Explanation(NamedTuple):
    """Why a list of patterns covers a path, or why it does not.

    Attributes:
        path: the path in question.
        outcome: covered, taken out again by a negation, or met by no pattern.
        because: all that follows, in half a sentence.
        pattern: the pattern that decided (matched), that had taken the path in (excluded), or that came nearest
            (missed); ``None`` where the list has no pattern that could take in anything.
        negation: the pattern that took the path out, where the outcome is that.
        expansion: of a missed pattern, what came nearest among the patterns that its braces stand for.
        segment: the part of ``expansion`` that rejected the path.
        segment_index: which part that is, counted from 0.
        name: the name in the path that ``segment`` rejected; empty where the path ends before it, or where
            every name was tried and none is what it asks for.
    """

    path: str
    outcome: Outcome
    because: str
    pattern: Pattern | None = None
    negation: Pattern | None = None
    expansion: str = ""
    segment: str = ""
    segment_index: int = 0
    name: str = ""


class _Miss(NamedTuple):
    """How far a pattern without braces came on a path before a segment rejected it."""

    consumed: int  # names met by segments other than `**`
    segment: str
    segment_index: int
    name: str
    because: str


def explain(patterns: Iterable[Pattern], path: str) -> Explanation:
    """Says why the list ``patterns`` covers the file ``path``, or what keeps it from doing so.

    Of patterns that all miss, the nearest is the one of which most segments met the path's names before one
    did not; among equals, the first of the list.
    """
    listed = tuple(patterns)
    names = path.split("/")
    met = [pattern for pattern in listed if pattern.matches(path, names)]
    if met and not met[-1].negated:
        text = met[-1].text
        return Explanation(path, Outcome.MATCHED, f"`{text}` covers it", pattern=met[-1])
    taken_in = [index for index, pattern in enumerate(met) if not pattern.negated]
    if taken_in:
        pattern, negation = met[taken_in[-1]], met[-1]
        because = f"`{pattern.text}` takes it in, but `{negation.text}` takes it out again"
        return Explanation(path, Outcome.EXCLUDED, because, pattern=pattern, negation=negation)

    nearest: tuple[Pattern, str, _Miss] | None = None
    for pattern in listed:
        if pattern.negated:
            continue
        for expansion in expansions(pattern):
            miss = _miss(split_pattern(expansion), names)
            if nearest is None or miss.consumed > nearest[2].consumed:
                nearest = (pattern, expansion, miss)
    if nearest is None:
        return Explanation(path, Outcome.MISSED, "the list has no pattern that takes anything in")
    pattern, expansion, miss = nearest
    return Explanation(
        path,
        Outcome.MISSED,
        f"`{pattern.text}` comes nearest, but {miss.because}",
        pattern=pattern,
        expansion=expansion,
        segment=miss.segment,
        segment_index=miss.segment_index,
        name=miss.name,
    )


def _miss(split: Split, names: Sequence[str]) -> _Miss:
    """What rejects a path that the pattern is known not to match."""
    alternative = compile_split(split)
    limit = len(names) - alternative.folder
    floating = alternative.floating
    start = consumed = 0
    blocks = zip(alternative.blocks, layout(split.segments), strict=True)
    block, indices = next(blocks)
    while (found := find_block(block, names, start, limit, floating)) >= 0:
        start = found + len(block)
        consumed += len(block)
        floating = True
        block, indices = next(blocks)

    # This block was found nowhere: from where do most of its segments match, file at the end or not?
    best, place = 0, start
    for candidate in range(start, len(names) if floating else start + 1):
        met = 0
        while met < len(block) and candidate + met < len(names) and accepts(block[met], names[candidate + met]):
            met += 1
        if met > best:
            best, place = met, candidate
    if best == len(block):
        index = indices[-1]
        segment, name = split.segments[index] + "/", names[-1]
        because = f"its part `{segment}` asks for a folder, and `{name}` is the file itself"
        return _Miss(consumed + best, segment, index, name, because)
    index = indices[best]
    segment = split.segments[index]
    name = names[place + best] if place + best < len(names) and (best or not floating) else ""
    if name:
        because = f"its part `{segment}` is not met by `{name}`"
    elif best or not floating or start >= len(names):
        because = f"the path ends where its part `{segment}` would have to be met"
    else:
        because = f"no part of the path meets `{segment}`"
    return _Miss(consumed + best, segment, index, name, because)
