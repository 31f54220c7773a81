"""Where a definition or a block of lines went that is no longer where it stood.

A removal is only one when no move explains it. In this order a lost definition is looked for among those that
are *new since*, in files of its language: the same text under the same last name; the same qualified name; the
same last name with a similar text; a similar text under another name in the file where it stood, the more
readily if it has the very place. What stood
elsewhere before the definition was lost is no move, but where it has the same qualified name and a similar text,
the definition still stands there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from rulebook.definitions import Definition, Outline, is_source, same_language

#: How much of two texts must agree before one counts as the other, moved. Git takes 0.5 for whole files, which say
#: more about what they are than single definitions do.
SIMILAR = 0.6
#: The same under another name: the name does not vouch for it.
SIMILAR_RENAMED = 0.7
#: The same where the new name stands in the very place of the old one, between the same neighbours.
SIMILAR_IN_PLACE = 0.5
#: The same qualified name counts as a move down to this.
SIMILAR_NAMESAKE = 0.2
#: Text that is compared token by token; longer texts are compared by their beginning.
_MAX_TOKENS = 3_000
#: Pairs of lines that are compared to see which of them are versions of each other.
_MAX_COMPARED = 2_000
#: A block of fewer characters than this stands in many places by chance.
_MIN_BLOCK = 40
#: A line that defines a name: behind a keyword, or assigned to.
_DEFINES = (
    rb"\b(?:class|def|struct|enum|union|namespace|interface|trait|type|typedef|func|fn|function|define|module|const|let|var)"
    rb"\s+(?:[\w:*&]+\s+)?%s(?!\w)|^[ \t]*(?:export\s+|readonly\s+|declare\s+|[\w.]+\.)?%s[ \t]*(?::[^=\n]+)?=(?!=)"
)
_TOKEN = re.compile(r"\w+|[^\w\s]")


class Move(NamedTuple):
    """Where a definition is now: its file, its qualified name, its text, and whether that is the same."""

    path: str
    name: str
    text: bytes
    same: bool


class Block(NamedTuple):
    """Where lines are now: their file, the first and the last of them, and whether they are the same."""

    path: str
    first: int
    last: int
    same: bool = True


class Word(NamedTuple):
    """Where a name stands in a commit.

    Attributes:
        defined: a file that defines it, or empty.
        mentioned: a file that mentions it, or empty.
        path_part: whether it is a part of a path, such as a module.
        complete: whether every file that could have it was read.
    """

    defined: str
    mentioned: str
    path_part: bool
    complete: bool


class _Candidate(NamedTuple):
    path: str
    name: str
    text: bytes


class Definitions:
    """What is defined in the files of one commit; files are read and parsed as they are asked for.

    Attributes:
        files: the id of each file's content, by path.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        read: Callable[[Collection[str]], Mapping[str, bytes | None]],
        outline: Callable[[str, str], Outline],
    ) -> None:
        """Takes what reads contents by id, and what finds the definitions of a path and an id."""
        self.files = files
        self._read = read
        self._outline = outline
        self._words: dict[str, Word] = {}

    def content(self, path: str) -> bytes:
        """A file's content; empty where there is none."""
        identity = self.files.get(path)
        return (self._read([identity])[identity] or b"") if identity is not None else b""

    def of(self, path: str) -> Mapping[str, tuple[Definition, ...]]:
        """The definitions of a file."""
        return self._outline(path, self.files[path]).definitions if path in self.files else {}

    def mentions(self, symbol: str) -> list[str]:
        """The files in which the last part of a name stands as a word."""
        last = _last(symbol).encode("utf-8")
        word = re.compile(rb"(?<![\w])" + re.escape(last) + rb"(?![\w])")
        contents = self._read(self.files.values())
        return [path for path, identity in self.files.items() if _mentions(contents[identity], last, word)]

    def find_word(self, name: str) -> Word:
        """Where the last part of a name stands. What counts as a definition is told by the line, in any language."""
        last = _last(name)
        if last not in self._words:
            self._words[last] = self._find_word(last)
        return self._words[last]

    def _find_word(self, last: str) -> Word:
        parts = {part.partition(".")[0] for path in self.files for part in path.split("/")}
        sought = last.encode("utf-8")
        word = re.compile(rb"(?<!\w)" + re.escape(sought) + rb"(?!\w)")
        definition = re.compile(_DEFINES % (re.escape(sought), re.escape(sought)), re.MULTILINE)
        contents = self._read(self.files.values())
        mentioned, complete = "", True
        for path, identity in self.files.items():
            content = contents[identity]
            if content is None:
                complete = complete and not is_source(path)
            elif sought in content and word.search(content):
                mentioned = mentioned or path
                if definition.search(content):
                    return Word(path, mentioned, last in parts, complete=True)
        return Word("", mentioned, last in parts, complete)

    def find_move(
        self, symbol: str, text: bytes, path: str, before: Definitions | None, earlier: Mapping[str, str]
    ) -> Move | None:
        """Where the definition ``symbol`` that ``path`` had went, or ``None``.

        Args:
            symbol: its qualified name.
            text: what it said.
            path: the file that had it.
            before: what was defined when it was there; ``None`` where that is not known.
            earlier: the former path of each file that was renamed since.
        """
        symbol = symbol.replace("::", ".")
        last = _last(symbol)
        candidates: list[_Candidate] = []
        for other in self._searched(path, before, earlier):
            if last.encode("utf-8") in self.content(other):
                candidates += self._new(other, before, earlier, lambda name: _last(name) == last)
        near = sorted(
            candidates, key=lambda found: (found.name != symbol, -_shared_folders(found.path, path), found.path)
        )
        for found in near:
            if _plain(found.text) == _plain(text):
                return Move(found.path, found.name, found.text, same=True)
        scored = [(similarity(text, found.text), found) for found in near]
        floor = SIMILAR_NAMESAKE if is_source(path) else SIMILAR
        for name_counts, least in ((True, floor), (False, SIMILAR)):
            fitting = [
                (score, found) for score, found in scored if score >= least and (found.name == symbol) is name_counts
            ]
            if fitting:
                _, best = max(fitting, key=lambda item: item[0])
                return Move(best.path, best.name, best.text, same=False)
        return self._find_renamed(symbol, text, path, before, earlier) or self._find_twin(symbol, text, path)

    def _find_twin(self, symbol: str, text: bytes, path: str) -> Move | None:
        """The like of a definition that another file has under the same qualified name, and had already."""
        best: tuple[float, Move] | None = None
        paths = [other for other in self.files if other != path and same_language(path, other)]
        contents = self._read([self.files[other] for other in paths])
        for other in paths:
            content = contents[self.files[other]]
            if content is None or _last(symbol).encode("utf-8") not in content or symbol not in self.of(other):
                continue
            found = joined(content.split(b"\n"), self.of(other)[symbol])
            same = _plain(found) == _plain(text)
            score = 1.0 if same else similarity(text, found)
            if score >= SIMILAR and (best is None or score > best[0]):
                best = (score, Move(other, symbol, found, same))
        return best[1] if best else None

    def _find_renamed(
        self, symbol: str, text: bytes, path: str, before: Definitions | None, earlier: Mapping[str, str]
    ) -> Move | None:
        """The definition under a new name, in the file that had it.

        All definitions that the file lost are matched with all that it gained, the likest first, so that each new
        one explains one lost one only.
        """
        if before is None or text.count(b"\n") < 2:
            return None
        for home in [now for now, then in earlier.items() if then == path] or [path]:
            then, now = before.siblings(path, symbol), self.siblings(home, symbol)
            lost = {name: found for name, found in then.items() if name not in now}
            gained = {name: found for name, found in now.items() if name not in then}
            if len(lost) * len(gained) > _MAX_COMPARED:
                lost = {symbol: text}
            slots, places = _slots(list(then), now), _slots(list(now), then)
            pairs = []
            for old, old_text in lost.items():
                for new, new_text in gained.items():
                    score = similarity(old_text, with_name(new_text, new, old))
                    if score >= (SIMILAR_IN_PLACE if slots[old] == places[new] else SIMILAR_RENAMED):
                        pairs.append((score, old, new))
            explained: dict[str, str] = {}
            for _, old, new in sorted(pairs, reverse=True):
                if old not in explained and new not in explained.values():
                    explained[old] = new
            if symbol in explained:
                found = now[explained[symbol]]
                return Move(home, explained[symbol], found, same_move(text, found, symbol, explained[symbol]))
        return None

    def siblings(self, path: str, symbol: str) -> dict[str, bytes]:
        """The definitions of a file that are nested as deep as ``symbol``, in their order, with their texts."""
        lines = self.content(path).split(b"\n")
        depth = symbol.count(".")
        found = [(name, definitions) for name, definitions in self.of(path).items() if name.count(".") == depth]
        return {
            name: joined(lines, definitions) for name, definitions in sorted(found, key=lambda item: item[1][0].first)
        }

    def find_block(
        self, content: bytes, first: int, last: int, path: str, before: Definitions | None, earlier: Mapping[str, str]
    ) -> Block | None:
        """Where lines ``first`` to ``last`` of ``content`` stand in another file that did not have them."""
        block = b"\n".join(_split(content)[first - 1 : last])
        if len(block.strip()) < _MIN_BLOCK:
            return None
        for other in self._searched(path, before, earlier):
            found = self.content(other).replace(b"\r\n", b"\n")
            known = before.content(earlier.get(other, other)).replace(b"\r\n", b"\n") if before is not None else b""
            whole = b"\n" + block + b"\n"
            start = (b"\n" + found + b"\n").find(whole)
            if start < 0 or whole in b"\n" + known + b"\n":
                continue
            line = found.count(b"\n", 0, start) + 1
            return Block(other, line, line + last - first)
        return None

    def _searched(self, path: str, before: Definitions | None, earlier: Mapping[str, str]) -> Iterator[str]:
        """The files in which something can be new, the likeliest first."""
        paths = self.targets(path, before, earlier)
        self._read([self.files[other] for other in paths])
        yield from sorted(paths, key=lambda other: (earlier.get(other) != path, -_shared_folders(other, path), other))

    def targets(self, path: str, before: Definitions | None, earlier: Mapping[str, str]) -> list[str]:
        """The files that what was in ``path`` may have moved into: of its language, and changed or new since."""
        then = before.files if before is not None else {}
        return [
            other
            for other, identity in self.files.items()
            if same_language(path, other) and then.get(earlier.get(other, other)) != identity
        ]

    def _new(
        self, path: str, before: Definitions | None, earlier: Mapping[str, str], wanted: Callable[[str], bool]
    ) -> Iterator[_Candidate]:
        known = before.of(earlier.get(path, path)) if before is not None else {}
        lines: Sequence[bytes] = ()
        for name, found in self.of(path).items():
            if wanted(name) and name not in known:
                lines = lines or self.content(path).split(b"\n")
                yield _Candidate(path, name, joined(lines, found))


def joined(lines: Sequence[bytes], definitions: Sequence[Definition]) -> bytes:
    """The text of definitions, whole lines of a file."""
    return b"\n".join(b"\n".join(lines[found.first - 1 : found.last]) for found in definitions)


def same_text(old: bytes, new: bytes) -> bool:
    """Whether two texts are the same bytes, line endings aside."""
    # Where lines were cut out of a file, the last one may have half of its ending.
    return (old + b"\n").replace(b"\r\n", b"\n") == (new + b"\n").replace(b"\r\n", b"\n")


def same_move(old: bytes, new: bytes, symbol: str, name: str) -> bool:
    """Whether a definition is the same in another place, indentation and its own name aside."""
    return _plain(old) == _plain(with_name(new, name, symbol))


def with_name(text: bytes, name: str, wanted: str) -> bytes:
    """A definition's text with its own name replaced by another one's."""
    own, other = _last(name).encode("utf-8"), _last(wanted).encode("utf-8")
    return text if own == other else re.sub(rb"(?<!\w)" + re.escape(own) + rb"(?!\w)", lambda _: other, text)


def similarity(old: bytes, new: bytes) -> float:
    """How alike two texts are, from 0 to 1: the share of their tokens that stand in the same order."""
    from difflib import SequenceMatcher

    before, after = (_TOKEN.findall(text.decode("utf-8", "replace"))[:_MAX_TOKENS] for text in (old, new))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.quick_ratio() < SIMILAR_NAMESAKE:
        return 0.0
    return matcher.ratio()


def map_lines(
    old: bytes,
    new: bytes,
    first: int,
    last: int,
    *,
    followed: Callable[[], Sequence[int] | None] | None = None,
) -> Block | None:
    """Where lines of a file stand in a later version of it; ``None`` where they were removed.

    Args:
        old: the earlier version.
        new: the later one.
        first: first line, 1-based.
        last: last line, included.
        followed: asks the history for the numbers in ``new`` of those lines that survived; called only where
            the lines do not stand there as they were.

    Returns:
        The lines, with an empty path; not the same where some were edited, removed or parted.
    """
    from difflib import SequenceMatcher

    before, after = _split(old), _split(new)
    block = before[first - 1 : last]
    starts = [at for at in range(len(after) - len(block) + 1) if after[at : at + len(block)] == block]
    if len(starts) == 1:
        return Block("", starts[0] + 1, starts[0] + len(block))
    opcodes = SequenceMatcher(None, before, after).get_opcodes()
    if starts:
        # Several places have these lines: the one that the rest of the file leads to.
        wanted = next(
            there + min(first - 1 - here, until - there) for _, here, end, there, until in opcodes if first - 1 < end
        )
        nearest = min(starts, key=lambda at: abs(at - wanted))
        return Block("", nearest + 1, nearest + len(block))
    survivors = [number for number in (followed() if followed else None) or () if re.search(rb"\w", after[number - 1])]
    if survivors:
        return Block("", min(survivors), max(survivors), same=False)
    parts = [
        (there + max(first - 1 - here, 0), until - max(end - last, 0)) if tag == "equal" else (there, until)
        for tag, here, end, there, until in opcodes
        if here < last and end > first - 1 and tag in ("equal", "replace")
    ]
    parts = [(start, stop) for start, stop in parts if any(re.search(rb"\w", line) for line in after[start:stop])]
    if not parts:
        return None
    start, stop = min(start for start, _ in parts), max(stop for _, stop in parts)
    return Block("", *_narrow(block, after, start, stop), same=False)


def _narrow(block: Sequence[bytes], lines: Sequence[bytes], start: int, stop: int) -> tuple[int, int]:
    """First and last line, 1-based, of what in ``lines[start:stop]`` is like a block; all of it where nothing is."""
    alike = []
    for line in block if len(block) * (stop - start) <= _MAX_COMPARED else ():
        scores = [(similarity(line, lines[at]), at) for at in range(start, stop)]
        score, at = max(scores, default=(0.0, start))
        if score >= SIMILAR and re.search(rb"\w", line):
            alike.append(at)
    return (min(alike) + 1, max(alike) + 1) if alike else (start + 1, stop)


def _split(content: bytes) -> list[bytes]:
    return content.replace(b"\r\n", b"\n").split(b"\n")


def _slots(names: Sequence[str], others: Collection[str]) -> dict[str, tuple[str, str]]:
    """For each of ``names``, in their order, the nearest ones before and behind it that are in ``others`` as well."""
    slots: dict[str, tuple[str, str]] = {}
    before = ""
    for at, name in enumerate(names):
        behind = next((other for other in names[at + 1 :] if other in others), "")
        slots[name] = (before, behind)
        if name in others:
            before = name
    return slots


def _plain(text: bytes) -> list[bytes]:
    """A text without what a move into another scope changes: indentation and line endings."""
    lines = [line.rstrip() for line in _split(text)]
    depth = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[depth:] for line in lines]


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1].rsplit("::", 1)[-1]


def _mentions(content: bytes | None, last: bytes, word: re.Pattern[bytes]) -> bool:
    return content is not None and last in content and word.search(content) is not None


def _shared_folders(one: str, other: str) -> int:
    """How many leading parts two paths share; one more for the same file name."""
    mine, theirs = one.split("/"), other.split("/")
    shared = 0
    for a, b in zip(mine[:-1], theirs[:-1], strict=False):
        if a != b:
            break
        shared += 1
    return shared + (mine[-1] == theirs[-1])
