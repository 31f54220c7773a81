r"""Patterns as they are stored and matched, without regular expressions.

:meth:`Pattern.to_data` gives a form of lists, strings and small integers that is stored as JSON and can
be executed as it stands by any program (a script in a browser, say), with no parser at hand:

* **pattern**: ``[text, negated, alternatives]``; ``negated`` is 0 or 1. It matches a path where any alternative does.
* **alternative** (a pattern has several only where it has braces): ``[floating, folder, blocks]``. Split the path at
  ``/`` into names; drop the last name where ``folder`` is 1 (the pattern ended in ``/``, so it can only meet folders).
  The blocks must be found among the names one after the other, without overlap, each as a run of adjacent names. Where
  ``floating`` is 0 the first block must stand at the very beginning. Taking each block at the leftmost place possible
  is enough: names left over after the last block do not matter, for a pattern that names a folder covers everything
  inside.
* **block**: a list of segments, each of which must match one name.
* **segment**: a string is the name itself; a list is a glob; an object ``{"name": …, "glob": …}`` is either of the two.
* **glob**: a list of chunks with a ``*`` between each two: the name must begin with the first, end with the last, and
  have the others in between in this order, without overlap (leftmost is enough again). One chunk alone must be the
  whole name.
* **chunk**: a string, or a list of atoms that each match one character (one code point).
* **atom**: a string of one character is that character; 0 is any; ``[negated, pairs]`` is a class, ``pairs`` a string
  of first and last characters of ranges, as in ``"az09__"``.

``**`` leaves no trace but the gap between two blocks (or ``floating``); at the end of a pattern it is a ``*``,
which covers as much. A few examples::

    src/gen/       ["src/gen/", 0, [[0, 1, [["src", "gen"]]]]]
    !**/test_*.py  ["!**/test_*.py", 1, [[1, 0, [[["test_", ".py"]]]]]]
    a/**/b?        ["a/**/b?", 0, [[0, 0, [["a"], [[["b", 0]]]]]]]
    [ab].c         ["[ab].c", 0, [[1, 0, [[{"name": "[ab].c", "glob": [[[0, "aabb"], ".", "c"]]}]]]]]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

# --- what a pattern is made of ----------------------------------------------------------------


class CharacterClass(NamedTuple):
    """``[a-z]``: one character out of ranges, or with ``[!a-z]`` one outside of them.

    ``pairs`` holds the first and the last character of each range, one range after the other.
    """

    negated: bool
    pairs: str

    def matches(self, char: str) -> bool:
        """Whether ``char``, a string of length 1, is one that the class stands for."""
        pairs = self.pairs
        for i in range(0, len(pairs), 2):
            if pairs[i] <= char <= pairs[i + 1]:
                return not self.negated
        return self.negated


#: What matches one character: itself, any (``None``), or one of a class.
Atom = str | CharacterClass | None
#: What stands between two ``*`` of a glob: plain text, or atoms where there is a ``?`` or a class.
Chunk = str | tuple[Atom, ...]


def _fits(chunk: Chunk, name: str, start: int) -> bool:
    """Whether ``chunk`` matches ``name`` at ``start``; the caller has made sure that it is long enough."""
    if isinstance(chunk, str):
        return name.startswith(chunk, start)
    for offset, atom in enumerate(chunk):
        char = name[start + offset]
        if isinstance(atom, str):
            if atom != char:
                return False
        elif atom is not None and not atom.matches(char):
            return False
    return True


class Glob(NamedTuple):
    """A segment with wildcards: the chunks between its ``*``, see the module's docstring.

    Attributes:
        chunks: at least one; exactly one where the segment has no ``*``.
        name: a name that is matched as well: the segment itself, brackets taken as they are, or ``None``.
        least: how many characters the chunks have together.
        ends: the two chunks, where there are two and both are plain text, else ``None``.
    """

    chunks: tuple[Chunk, ...]
    name: str | None
    least: int
    ends: tuple[str, str] | None

    def matches(self, name: str) -> bool:
        """Whether the glob matches the whole of ``name``.

        Takes each chunk at the leftmost place, so never more than length of name times length of glob.
        """
        spare = len(name) - self.least
        ends = self.ends
        if ends is not None:
            return spare >= 0 and name.startswith(ends[0]) and name.endswith(ends[1])
        if name == self.name:
            return True
        chunks = self.chunks
        if spare < 0 or not _fits(chunks[0], name, 0):
            return False
        if len(chunks) == 1:
            return spare == 0
        end = len(name) - len(chunks[-1])
        if not _fits(chunks[-1], name, end):
            return False
        start = len(chunks[0])
        for chunk in chunks[1:-1]:
            start = _find(chunk, name, start, end)
            if start < 0:
                return False
            start += len(chunk)
        return True

    def runs(self) -> Iterator[Run]:
        """The texts that the glob spells out, from left to right; a name matched as it is spelt has them as well."""
        last = len(self.chunks) - 1
        for number, chunk in enumerate(self.chunks):
            text = ""
            begins = number == 0
            for atom in chunk:
                if isinstance(atom, str):
                    text += atom
                    continue
                if text:
                    yield Run(text, begins, ends=False)
                text, begins = "", False
            if text:
                yield Run(text, begins, ends=number == last)


class Run(NamedTuple):
    """A text without wildcards in a glob, and whether the name begins or ends with it."""

    text: str
    begins: bool
    ends: bool


def build_glob(chunks: tuple[Chunk, ...], name: str | None = None) -> Glob:
    """The glob with these chunks; ``name`` is matched as well."""
    # `*.py`, `test_*`, `a*b` are by far the most frequent globs: two string comparisons.
    first, last = chunks[0], chunks[-1]
    ends = (first, last) if len(chunks) == 2 and isinstance(first, str) and isinstance(last, str) else None
    return Glob(chunks, name, sum(map(len, chunks)), ends)


#: What matches one name of a path: the name itself, or a glob.
Segment = str | Glob

STAR = build_glob(("", ""))


def _find(chunk: Chunk, name: str, start: int, end: int) -> int:
    """The leftmost place in ``name[start:end]`` where ``chunk`` fits, or -1."""
    if isinstance(chunk, str):
        return name.find(chunk, start, end)
    for place in range(start, end - len(chunk) + 1):
        if _fits(chunk, name, place):
            return place
    return -1


def accepts(segment: Segment, name: str) -> bool:
    """Whether a segment matches the whole of ``name``."""
    return segment == name if isinstance(segment, str) else segment.matches(name)


class Alternative(NamedTuple):
    """A pattern without braces, see the module's docstring.

    Attributes:
        floating: the first block may stand at any depth (``README.md``, ``**/x``).
        folder: only folders are met, that is, only files inside of them (``gen/``).
        blocks: the segments between two ``**``; at least one block, none empty.
        inside: folders spelt out, ``/`` behind each, that every path covered begins with, save ``file``; may be empty.
        file: the pattern itself where it has no wildcards and may name a file.
        needle: a text that every path covered holds behind ``inside``; may be empty.
        rest: what is left of ``blocks`` to be found behind ``inside``; nothing where every path inside is covered.
        loose: the first block of ``rest`` may stand at any depth.
    """

    floating: bool
    folder: bool
    blocks: tuple[tuple[Segment, ...], ...]
    inside: str
    file: str | None
    needle: str
    rest: tuple[tuple[Segment, ...], ...]
    loose: bool

    def matches(self, path: str, names: Sequence[str]) -> bool:
        """Whether the alternative covers the file ``path``, whose ``names`` are ``path.split("/")``."""
        if path.startswith(self.inside):
            return not self.rest or (self.needle in path and self.goes_on(names))
        return path == self.file

    def goes_on(self, names: Sequence[str]) -> bool:
        """Whether a path that is ``inside`` meets the rest of the pattern as well."""
        limit = len(names) - self.folder
        start = self.inside.count("/")
        floating = self.loose
        for block in self.rest:
            start = find_block(block, names, start, limit, floating)
            if start < 0:
                return False
            start += len(block)
            floating = True
        return True

    def segments(self) -> Iterator[Segment]:
        """All segments, from left to right, ``**`` left out."""
        for block in self.blocks:
            yield from block


def build_alternative(floating: bool, folder: bool, blocks: tuple[tuple[Segment, ...], ...]) -> Alternative:
    """The alternative with these blocks, and with what can be told beforehand of the paths that it covers."""
    literal: list[str] = []
    for segment in () if floating else blocks[0]:
        if not isinstance(segment, str):
            break
        literal.append(segment)
    path = "/".join(literal)
    inside = path + "/" if literal else ""
    if literal and blocks == (tuple(literal),):
        return Alternative(floating, folder, blocks, inside, None if folder else path, "", (), loose=True)
    if literal and blocks == ((*literal, STAR),) and not folder:
        return Alternative(floating, folder, blocks, inside, None, "", (), loose=True)
    rest = tuple(filter(None, (blocks[0][len(literal) :], *blocks[1:])))
    segments = [segment for block in rest for segment in block]
    names = [segment for segment in segments if isinstance(segment, str)]
    texts = [run.text for segment in segments if isinstance(segment, Glob) for run in segment.runs()]
    # A text of a glob tells paths apart better than a name: by their names, lists are found in the first place.
    needle = max(texts or names, key=len, default="")
    loose = floating or len(rest) < len(blocks)
    return Alternative(floating, folder, blocks, inside, None, needle, rest, loose)


def find_block(block: tuple[Segment, ...], names: Sequence[str], start: int, limit: int, floating: bool) -> int:
    """The leftmost index of ``names[start:limit]`` from which all segments of ``block`` match, or -1."""
    first = block[0]
    if isinstance(first, str) and first not in names:
        return -1
    last = limit - len(block)
    rest = block[1:]
    for place in range(start, (last if floating else min(start, last)) + 1):
        name = names[place]
        if (first == name if isinstance(first, str) else first.matches(name)) and (
            not rest or all(map(accepts, rest, names[place + 1 : limit]))
        ):
            return place
    return -1


class Pattern(NamedTuple):
    """A path pattern that can be matched.

    Attributes:
        text: as its author wrote it.
        negated: it takes out of its list what it matches (``!…``).
        alternatives: what the braces stand for; one where there are none.
    """

    text: str
    negated: bool
    alternatives: tuple[Alternative, ...]

    @property
    def anchored(self) -> bool:
        """Whether the pattern is tied to the repository's root, in all of its alternatives."""
        return not any(alternative.floating for alternative in self.alternatives)

    @property
    def folder(self) -> bool:
        """Whether the pattern meets nothing but folders (a slash at its end), in all of its alternatives."""
        return all(alternative.folder for alternative in self.alternatives)

    def matches(self, path: str, names: Sequence[str] | None = None) -> bool:
        """Whether the pattern covers the file ``path``, leaving ``!`` aside.

        Args:
            path: from the repository's root, ``/`` between its names, not empty.
            names: ``path.split("/")``, where the caller has it at hand.
        """
        if names is None:
            names = path.split("/")
        return any(alternative.matches(path, names) for alternative in self.alternatives)

    def to_data(self) -> list[Any]:
        """The compiled form, JSON-able; the module's docstring says how to execute it."""
        return [self.text, int(self.negated), [_alternative_data(alternative) for alternative in self.alternatives]]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Pattern:
        """What :meth:`to_data` gave, as a pattern again: ``from_data(p.to_data()) == p``.

        Raises:
            ValueError, TypeError, KeyError: ``data`` is nothing that :meth:`to_data` gives.
        """
        text, negated, alternatives = data
        return cls(text, bool(negated), tuple([_read_alternative(alternative) for alternative in alternatives]))


class PatternList:
    """Patterns in the order of their list; of those that match a path, the last one decides."""

    __slots__ = ("_negations", "_takers", "patterns")

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.patterns = tuple(patterns)
        numbered = list(enumerate(self.patterns))[::-1]
        self._negations = [(number, pattern) for number, pattern in numbered if pattern.negated]
        # What rules out most paths stands beside each alternative: looking at it is all that most questions cost.
        self._takers = [
            (alternative.file or alternative.inside, alternative.needle, alternative, number)
            for number, pattern in numbered
            if not pattern.negated
            for alternative in pattern.alternatives
        ]

    def match(self, path: str, names: Sequence[str] | None = None) -> Pattern | None:
        """The pattern because of which the list covers the file ``path``; ``None`` where it does not.

        Args:
            path: from the repository's root, ``/`` between its names, not empty.
            names: ``path.split("/")``, where the caller has it at hand.
        """
        if names is None:
            names = path.split("/")
        # Negations are asked last: most lists do not take the path in to begin with.
        for beginning, needle, alternative, number in self._takers:
            if needle in path and path.startswith(beginning) and alternative.matches(path, names):
                return None if self._is_taken_out(number, path, names) else self.patterns[number]
        return None

    def _is_taken_out(self, taken_in: int, path: str, names: Sequence[str]) -> bool:
        for number, negation in self._negations:
            if number < taken_in:
                break
            if negation.matches(path, names):
                return True
        return False

    def to_data(self) -> list[list[Any]]:
        """The patterns' compiled forms, JSON-able."""
        return [pattern.to_data() for pattern in self.patterns]

    @classmethod
    def from_data(cls, data: Iterable[Sequence[Any]]) -> PatternList:
        """What :meth:`to_data` gave, as a list of patterns again; raises as :meth:`Pattern.from_data` does."""
        return cls([Pattern.from_data(pattern) for pattern in data])

    def __repr__(self) -> str:
        return f"PatternList({[pattern.text for pattern in self.patterns]})"


# --- the compiled form ------------------------------------------------------------------------


def _alternative_data(alternative: Alternative) -> list[Any]:
    blocks = [[_segment_data(segment) for segment in block] for block in alternative.blocks]
    return [int(alternative.floating), int(alternative.folder), blocks]


def _segment_data(segment: Segment) -> Any:
    if isinstance(segment, str):
        return segment
    glob = [chunk if isinstance(chunk, str) else [_atom_data(atom) for atom in chunk] for chunk in segment.chunks]
    return glob if segment.name is None else {"name": segment.name, "glob": glob}


def _atom_data(atom: Atom) -> Any:
    if atom is None:
        return 0
    return atom if isinstance(atom, str) else [int(atom.negated), atom.pairs]


def _read_alternative(data: Sequence[Any]) -> Alternative:
    floating, folder, blocks = data
    return build_alternative(
        bool(floating), bool(folder), tuple([tuple(map(_read_segment, block)) for block in blocks])
    )


def _read_segment(data: Any) -> Segment:
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        return build_glob(tuple(map(_read_chunk, data["glob"])), data["name"])
    return build_glob(tuple(map(_read_chunk, data)))


def _read_chunk(data: Any) -> Chunk:
    return data if isinstance(data, str) else tuple(map(_read_atom, data))


def _read_atom(data: Any) -> Atom:
    if isinstance(data, str):
        return data
    if data == 0:
        return None
    negated, pairs = data
    return CharacterClass(bool(negated), pairs)


# --- order ------------------------------------------------------------------------------------


def specificity(pattern: Pattern) -> tuple[int, int, int, int]:
    """How closely a pattern names what it means; the larger, the closer.

    By the number of names spelt out, then of segments that are not a mere ``*`` or ``**``, then of characters spelt
    out, then by whether it is tied to the root. Of several alternatives the least specific one counts.
    """
    return min(map(_alternative_specificity, pattern.alternatives))


def _alternative_specificity(alternative: Alternative) -> tuple[int, int, int, int]:
    names = partial = characters = 0
    for segment in alternative.segments():
        if isinstance(segment, str):
            names += 1
            characters += len(segment)
        else:
            partial += segment != STAR
            characters += sum(isinstance(atom, str) for chunk in segment.chunks for atom in chunk)
    return names, names + partial, characters, int(not alternative.floating)
