r"""Path patterns: gitignore's syntax and semantics, read once, matched without regular expressions.

The rules are those of https://git-scm.com/docs/gitignore and of git's own matcher (``wildmatch.c``),
plus braces and literal brackets; ``docs/format.md`` ("Path patterns") states them for authors. Paths
are relative to the repository's root, use ``/``, and always name files: a changed path is never a
folder. Matching is case-sensitive and by code points (git's ``?`` stands for a byte).

Which implementation this agrees with
-------------------------------------
A single pattern means what it means to ``git check-ignore``, and so to pathspec's
``GitIgnoreSpecPattern``. pathspec differs from git, and from this module, in four small places: it
reads ``a/***/b`` as one folder, lets ``a/**/`` cover the file ``a/x``, lets ``[!a]`` cross a slash, and
takes a backslash inside a class for a member of the class. In one place git's manual is followed rather than git:
``b**/x`` is ``b*/x``, although git, which strips ``b`` first, then takes the stars for a leading ``**/``.

A list of patterns is judged by order alone, the last match wins. That is ``pathspec.PathSpec``, not
``pathspec.GitIgnoreSpec``: the latter, like git, will not let ``!src/gen/`` take back what ``src/**`` took in,
because to git the patterns decide about folders on the way down a tree. Here nobody walks a tree; what
an author sees is a list, and a list that is read from top to bottom is the rule that can be told in one line.

The compiled form
-----------------
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
from enum import Enum
from typing import Any, NamedTuple

#: The longest pattern that is read, in characters. Longer ones are slips of the pen, not paths.
MAX_LENGTH = 1024
#: How many patterns the braces of one pattern may stand for.
MAX_EXPANSIONS = 256

# Lint compares patterns pairwise; on a hostile list it stops giving advice instead of taking minutes.
_COMPARISONS = 100_000


class PatternError(ValueError):
    """A pattern that cannot be read, or that could never match a path.

    Attributes:
        code: stable, begins with ``pattern-``.
        message: one sentence that says what is wrong.
        remedy: one sentence that says what to write instead.
    """

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy


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


def _glob(chunks: tuple[Chunk, ...], name: str | None = None) -> Glob:
    # `*.py`, `test_*`, `a*b` are by far the most frequent globs: two string comparisons.
    first, last = chunks[0], chunks[-1]
    ends = (first, last) if len(chunks) == 2 and isinstance(first, str) and isinstance(last, str) else None
    return Glob(chunks, name, sum(map(len, chunks)), ends)


#: What matches one name of a path: the name itself, or a glob.
Segment = str | Glob

_STAR = _glob(("", ""))


def _find(chunk: Chunk, name: str, start: int, end: int) -> int:
    """The leftmost place in ``name[start:end]`` where ``chunk`` fits, or -1."""
    if isinstance(chunk, str):
        return name.find(chunk, start, end)
    for place in range(start, end - len(chunk) + 1):
        if _fits(chunk, name, place):
            return place
    return -1


def _accepts(segment: Segment, name: str) -> bool:
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
            start = _find_block(block, names, start, limit, floating)
            if start < 0:
                return False
            start += len(block)
            floating = True
        return True

    def segments(self) -> Iterator[Segment]:
        """All segments, from left to right, ``**`` left out."""
        for block in self.blocks:
            yield from block


def _alternative(floating: bool, folder: bool, blocks: tuple[tuple[Segment, ...], ...]) -> Alternative:
    literal: list[str] = []
    for segment in () if floating else blocks[0]:
        if not isinstance(segment, str):
            break
        literal.append(segment)
    path = "/".join(literal)
    inside = path + "/" if literal else ""
    if literal and blocks == (tuple(literal),):
        return Alternative(floating, folder, blocks, inside, None if folder else path, "", (), loose=True)
    if literal and blocks == ((*literal, _STAR),) and not folder:
        return Alternative(floating, folder, blocks, inside, None, "", (), loose=True)
    rest = tuple(filter(None, (blocks[0][len(literal) :], *blocks[1:])))
    segments = [segment for block in rest for segment in block]
    names = [segment for segment in segments if isinstance(segment, str)]
    texts = [run.text for segment in segments if isinstance(segment, Glob) for run in segment.runs()]
    # A text of a glob tells paths apart better than a name: by their names, lists are found in the first place.
    needle = max(texts or names, key=len, default="")
    loose = floating or len(rest) < len(blocks)
    return Alternative(floating, folder, blocks, inside, None, needle, rest, loose)


def _find_block(block: tuple[Segment, ...], names: Sequence[str], start: int, limit: int, floating: bool) -> int:
    """The leftmost index of ``names[start:limit]`` from which all segments of ``block`` match, or -1."""
    first = block[0]
    if isinstance(first, str) and first not in names:
        return -1
    last = limit - len(block)
    rest = block[1:]
    for place in range(start, (last if floating else min(start, last)) + 1):
        name = names[place]
        if (first == name if isinstance(first, str) else first.matches(name)) and (
            not rest or all(map(_accepts, rest, names[place + 1 : limit]))
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

    @classmethod
    def parse(cls, texts: Iterable[str]) -> PatternList:
        """Reads each of ``texts``.

        Raises:
            PatternError: one of them cannot be read.
        """
        return cls([parse(text) for text in texts])

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


# --- reading ----------------------------------------------------------------------------------


def parse(text: str) -> Pattern:
    """Reads a pattern; ``docs/format.md`` ("Path patterns") has the syntax.

    As in gitignore, spaces at the end do not count unless a backslash stands before them. Unlike there, ``#`` at the
    beginning is a character like any other: patterns are entries of a list, not lines of a file.

    Raises:
        PatternError: the pattern cannot be read, or no path could ever match it. Its codes:
            ``pattern-empty``, ``pattern-empty-segment`` (``a//b``), ``pattern-dot-segment`` (``..``, ``.``),
            ``pattern-comma``, ``pattern-control-character``, ``pattern-absolute`` (``C:/``), ``pattern-backslash``,
            ``pattern-class`` (``[`` without ``]``), ``pattern-brace``, ``pattern-expansions``, ``pattern-too-long``.
    """
    if len(text) > MAX_LENGTH:
        raise PatternError(
            "pattern-too-long",
            f"The pattern has {len(text):,} characters; at most {MAX_LENGTH:,} are read.",
            "Write several shorter patterns as a list.",
        )
    _refuse_control_characters(text)
    body = _strip_spaces(text)
    negated = body.startswith("!")
    if negated:
        body = body[1:]
    if len(body) > 2 and body[1] == ":" and body[2] in "\\/" and body[0].isascii() and body[0].isalpha():
        raise PatternError(
            "pattern-absolute",
            f"`{text}` is an absolute Windows path.",
            "Write the path from the repository's root, with `/`.",
        )
    return Pattern(text, negated, tuple([_compile(_split(expansion)) for expansion in _expand(body, negated)]))


def compile_patterns(texts: Iterable[str]) -> PatternList:
    """Reads the patterns that can be read and leaves out the others, which :func:`lint` reports."""
    patterns = []
    for text in texts:
        try:
            patterns.append(parse(text))
        except PatternError:
            continue
    return PatternList(patterns)


def _refuse_control_characters(text: str) -> None:
    # isprintable is one call for the usual pattern; it also says no to much that is harmless in a name.
    if text.isprintable():
        return
    for char in text:
        if char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff":
            raise PatternError(
                "pattern-control-character",
                f"The pattern holds the control character U+{ord(char):04X}.",
                "Write a list with one pattern an entry." if char in "\r\n" else "Take it out.",
            )


def _strip_spaces(text: str) -> str:
    body = text.rstrip(" ")
    backslashes = len(body) - len(body.rstrip("\\"))
    # An odd number of backslashes: the last one keeps the space behind it.
    return body + " " if backslashes % 2 and len(body) < len(text) else body


def _expand(body: str, negated: bool) -> list[str]:
    """The patterns that the braces of ``body`` stand for, from left to right; the ``!`` is not part of it.

    As in a shell, braces without a comma are characters like others: ``{{cookiecutter.name}}/`` names a folder.
    """
    if not any(char in body for char in "{},"):
        return [body]
    current = [""]
    outer: list[tuple[list[str], list[str]]] = []  # what stands before each open brace, and its branches so far
    commas: list[int] = []
    place = 0
    while place < len(body):
        char = body[place]
        end = place + 1
        if char == "\\":
            _, end = _read_escape(body, place)
        elif char == "[":
            _, end = _read_class(body, place)
        if char == "{":
            outer.append((current, []))
            current = [""]
        elif char == "}":
            if not outer:
                raise _unbalanced("}", "opened")
            before, branches = outer.pop()
            branches = [*branches, *current] if branches else ["{" + branch + "}" for branch in current]
            _refuse_too_many(len(before) * len(branches))
            current = [head + branch for head in before for branch in branches]
        elif char == "," and outer:
            outer[-1][1].extend(current)
            _refuse_too_many(len(outer[-1][1]))
            current = [""]
        else:
            if char == ",":
                commas.append(place)
            piece = body[place:end]
            current = [head + piece for head in current]
        place = end
    if outer:
        raise _unbalanced("{", "closed")
    if commas:
        raise _with_commas(body, commas, "!" if negated else "")
    return list(dict.fromkeys(current))


def _refuse_too_many(count: int) -> None:
    if count > MAX_EXPANSIONS:
        raise PatternError(
            "pattern-expansions",
            f"The braces stand for more than {MAX_EXPANSIONS} patterns.",
            "Use a wildcard, or write several patterns as a list.",
        )


def _unbalanced(brace: str, done: str) -> PatternError:
    return PatternError(
        "pattern-brace", f"A `{brace}` is never {done}.", f"Complete the pair, or write `\\{brace}` for the character."
    )


def _with_commas(body: str, commas: list[int], mark: str) -> PatternError:
    ends = [*commas, len(body)]
    starts = [0, *(place + 1 for place in commas)]
    entries = [body[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    written = ", ".join(f'"{mark}{entry}"' for entry in entries if entry)
    return PatternError(
        "pattern-comma",
        "A comma outside braces and brackets does not separate patterns.",
        f"Write a list: [{written}]; or `\\,` where a file's name has a comma.",
    )


def _read_escape(text: str, place: int) -> tuple[str, int]:
    r"""The character that the backslash at ``place`` quotes, and the place behind it.

    A backslash before a letter or a digit quotes nothing that needs it: it is a Windows path, or ``\d``.
    """
    char = text[place + 1 : place + 2]
    if not char or char.isalnum() or char in "_./":
        raise PatternError(
            "pattern-backslash",
            f"The backslash in `{text}` is no separator, and quotes nothing that needs it.",
            "Separate folders with `/`; write `\\\\` for a backslash in a name.",
        )
    return char, place + 2


#: https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap07.html, in ASCII, as git has them.
_POSIX_CLASSES = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "xdigit": "09AFaf",
}


def _read_class(text: str, start: int) -> tuple[CharacterClass, int]:
    """The class whose ``[`` stands at ``start``, and the place behind its ``]``; follows git's wildmatch.c."""

    def char_at(place: int) -> str:
        char = text[place : place + 1]
        if not char or char == "/":
            raise PatternError(
                "pattern-class",
                f"The `[` in `{text}` is not closed by a `]` in the same part of the path.",
                "Close it, or write `\\[` for the character.",
            )
        return char

    place = start + 1
    negated = char_at(place) in "!^"
    place += negated
    pairs = ""
    lower = ""  # what a `-` here would start a range from
    first = place
    while place == first or char_at(place) != "]":
        char = char_at(place)
        if char == "-" and lower and char_at(place + 1) != "]":
            upper, place = _read_escape(text, place + 1) if text[place + 1] == "\\" else (text[place + 1], place + 2)
            # The range's first character is a member already. One that runs backwards has no members.
            pairs = pairs[:-2] + lower + upper if lower <= upper else pairs
            lower = ""
            continue
        if char == "[" and text.startswith("[:", place):
            close = text.find("]", place)
            if close > place + 2 and text[close - 1] == ":":
                pairs += _posix_class(text[place + 2 : close - 1])
                lower = ""
                place = close + 1
                continue
        lower, place = _read_escape(text, place) if char == "\\" else (char, place + 1)
        pairs += lower + lower
    return CharacterClass(negated, pairs), place + 1


def _posix_class(name: str) -> str:
    try:
        return _POSIX_CLASSES[name]
    except KeyError:
        raise PatternError(
            "pattern-class", f"`[:{name}:]` is no character class.", f"Use one of: {', '.join(_POSIX_CLASSES)}."
        ) from None


class _Split(NamedTuple):
    """A pattern without braces, cut at its slashes but not compiled yet."""

    anchored: bool
    folder: bool
    segments: list[str]


def _split(text: str) -> _Split:
    body = text
    while body.startswith("./"):
        # `./x` is `/x`, the file of the root and no other.
        body = body[2:] if body.startswith("././") else body[1:]
    if body in ("", "/", "."):
        raise PatternError("pattern-empty", "The pattern names nothing.", "Write `**` for every file.")
    anchored = body.startswith("/")
    folder = body.endswith("/")
    segments = body[anchored : len(body) - folder].split("/")
    if "" in segments:
        raise PatternError(
            "pattern-empty-segment",
            f"`{text}` has nothing between two slashes, so it matches nothing.",
            "Write one slash, or `/**/` for any folders in between.",
        )
    if "." in segments or ".." in segments:
        raise PatternError(
            "pattern-dot-segment",
            f"`{text}` has a part `.` or `..`, which no path of a change has.",
            "Write the path from the repository's root.",
        )
    return _Split(anchored or len(segments) > 1, folder, segments)


def _is_globstar(segment: str) -> bool:
    return len(segment) > 1 and not segment.strip("*")


def _layout(segments: Sequence[str]) -> list[list[int]]:
    """Which segments (by index) form each block: ``**`` separates, and stands for ``*`` at the very end."""
    blocks: list[list[int]] = [[]]
    for index, segment in enumerate(segments):
        if not _is_globstar(segment) or index == len(segments) - 1:
            blocks[-1].append(index)
        elif blocks[-1]:
            blocks.append([])
    return blocks


def _compile(split: _Split) -> Alternative:
    return _alternative(
        not split.anchored or _is_globstar(split.segments[0]),
        split.folder,
        tuple([tuple([_segment(split.segments[index]) for index in block]) for block in _layout(split.segments)]),
    )


def _segment(text: str) -> Segment:
    if _is_globstar(text):
        return _STAR
    if not any(char in text for char in "*?[\\"):
        return text
    atoms: list[Atom] = []
    chunks: list[Chunk] = []
    has_class = False
    spelt = ""
    place = 0
    while place < len(text):
        start = place
        char = text[place]
        place += 1
        if char == "*":
            # Several in a row are one, unless they are a whole segment.
            if not text.startswith("*", place):
                chunks.append(_chunk(atoms))
                atoms = []
            continue
        if char == "?":
            atoms.append(None)
        elif char == "[":
            members, place = _read_class(text, start)
            atoms.append(members)
            has_class = True
            spelt += text[start:place]
        else:
            if char == "\\":
                char, place = _read_escape(text, start)
            atoms.append(char)
            spelt += char
    chunks.append(_chunk(atoms))
    if len(chunks) == 1:
        chunk = chunks[0]
        if isinstance(chunk, str):
            return chunk
        if has_class and None not in chunk:
            return _glob((chunk,), spelt)
    return _glob(tuple(chunks))


def _chunk(atoms: list[Atom]) -> Chunk:
    literal = [atom for atom in atoms if isinstance(atom, str)]
    return "".join(literal) if len(literal) == len(atoms) else tuple(atoms)


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
    return _alternative(bool(floating), bool(folder), tuple([tuple(map(_read_segment, block)) for block in blocks]))


def _read_segment(data: Any) -> Segment:
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        return _glob(tuple(map(_read_chunk, data["glob"])), data["name"])
    return _glob(tuple(map(_read_chunk, data)))


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
            partial += segment != _STAR
            characters += sum(isinstance(atom, str) for chunk in segment.chunks for atom in chunk)
    return names, names + partial, characters, int(not alternative.floating)


# --- why, and why not -------------------------------------------------------------------------


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
        for expansion in _expansions(pattern):
            miss = _miss(_split(expansion), names)
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


def _expansions(pattern: Pattern) -> list[str]:
    body = _strip_spaces(pattern.text)
    return _expand(body[pattern.negated :], pattern.negated)


def _miss(split: _Split, names: Sequence[str]) -> _Miss:
    """What rejects a path that the pattern is known not to match."""
    alternative = _compile(split)
    limit = len(names) - alternative.folder
    floating = alternative.floating
    start = consumed = 0
    blocks = zip(alternative.blocks, _layout(split.segments), strict=True)
    block, indices = next(blocks)
    while (found := _find_block(block, names, start, limit, floating)) >= 0:
        start = found + len(block)
        consumed += len(block)
        floating = True
        block, indices = next(blocks)

    # This block was found nowhere: from where do most of its segments match, file at the end or not?
    best, place = 0, start
    for candidate in range(start, len(names) if floating else start + 1):
        met = 0
        while met < len(block) and candidate + met < len(names) and _accepts(block[met], names[candidate + met]):
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


# --- lint -------------------------------------------------------------------------------------


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

    Entries that cannot be read have the codes of :func:`parse`. On the others, taken together:

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
    if not inside and len(last) > 1 and last[-1] == _STAR:
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
    if wide in (narrow, _STAR):
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
        return not _accepts(other, one)
    return isinstance(other, str) and not one.matches(other)
