r"""What an author writes, read into patterns; ``docs/format.md`` ("Path patterns") has the syntax."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rulebook.patterns.compiled import (
    STAR,
    Alternative,
    Atom,
    CharacterClass,
    Chunk,
    Pattern,
    PatternList,
    Segment,
    build_alternative,
    build_glob,
)

#: The longest pattern that is read, in characters. Longer ones are slips of the pen, not paths.
MAX_LENGTH = 1024
#: How many patterns the braces of one pattern may stand for.
MAX_EXPANSIONS = 256


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
    return Pattern(
        text, negated, tuple([compile_split(split_pattern(expansion)) for expansion in _expand(body, negated)])
    )


def parse_list(texts: Iterable[str]) -> PatternList:
    """Reads each of ``texts``.

    Raises:
        PatternError: one of them cannot be read.
    """
    return PatternList([parse(text) for text in texts])


def compile_patterns(texts: Iterable[str]) -> PatternList:
    """Reads the patterns that can be read and leaves out the others, which :mod:`rulebook.patterns.lint` reports."""
    patterns = []
    for text in texts:
        try:
            patterns.append(parse(text))
        except PatternError:
            continue
    return PatternList(patterns)


def expansions(pattern: Pattern) -> list[str]:
    """The patterns that the braces of ``pattern`` stand for, as they would be written, without ``!``."""
    return _expand(_strip_spaces(pattern.text)[pattern.negated :], pattern.negated)


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


class Split(NamedTuple):
    """A pattern without braces, cut at its slashes but not compiled yet."""

    anchored: bool
    folder: bool
    segments: list[str]


def split_pattern(text: str) -> Split:
    """Cuts a pattern without braces and ``!``; raises as :func:`parse` does."""
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
    return Split(anchored or len(segments) > 1, folder, segments)


def _is_globstar(segment: str) -> bool:
    return len(segment) > 1 and not segment.strip("*")


def layout(segments: Sequence[str]) -> list[list[int]]:
    """Which segments (by index) form each block: ``**`` separates, and stands for ``*`` at the very end."""
    blocks: list[list[int]] = [[]]
    for index, segment in enumerate(segments):
        if not _is_globstar(segment) or index == len(segments) - 1:
            blocks[-1].append(index)
        elif blocks[-1]:
            blocks.append([])
    return blocks


def compile_split(split: Split) -> Alternative:
    """Compiles what :func:`split_pattern` gave; raises as :func:`parse` does."""
    return build_alternative(
        not split.anchored or _is_globstar(split.segments[0]),
        split.folder,
        tuple([tuple([_segment(split.segments[index]) for index in block]) for block in layout(split.segments)]),
    )


def _segment(text: str) -> Segment:
    if _is_globstar(text):
        return STAR
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
            return build_glob((chunk,), spelt)
    return build_glob(tuple(chunks))


def _chunk(atoms: list[Atom]) -> Chunk:
    literal = [atom for atom in atoms if isinstance(atom, str)]
    return "".join(literal) if len(literal) == len(atoms) else tuple(atoms)
