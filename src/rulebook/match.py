"""A change meets rules: which apply, how surely, and every reason why.

A rule's *place* matches where one of its patterns meets a changed path, on either side of a rename. Whether
the match is direct is decided by what stands on changed lines: by the rule's own signals, or, where it states none,
by the names of code that its text cites. Context lines never count.

Pure functions of their arguments; the contract is in ``docs/contract.md``, the behaviours that are expected of
it in ``docs/matching.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rulebook.model import (
    ChangeSet,
    CoChange,
    Cut,
    FileChange,
    Line,
    MissingCoChange,
    On,
    Reason,
    ReasonKind,
    Relevance,
    Rule,
    RuleMatch,
    Side,
    Signal,
)
from rulebook.ordering import natural_key
from rulebook.patterns.compiled import Pattern, PatternList, specificity
from rulebook.regexes import MAX_LINE, Expression, RegexError, compile_bounded, compile_checked

if TYPE_CHECKING:
    from rulebook.symbols import Outline

#: A name of code that more rules than this cite says nothing about any one of them.
MAX_SHARED = 2
#: How much of a changed line a reason quotes, in characters.
QUOTE = 100

_WORD = re.compile(r"[^\W\d]\w*")
_IMPORT = re.compile(r"\s*(?:from\s+[\w.]+\s+)?import\s")
_IMPORTED_NAME = re.compile(r"\s*\w+(?:\s+as\s+\w+)?,\s*(?:#.*)?\Z")


class PathHit(NamedTuple):
    """A changed path that met a pattern of a rule."""

    change: FileChange
    path: str
    side: Side
    pattern: Pattern


@dataclass(slots=True)
class _FileLines:
    """The changed lines of one file that say something, prepared once for all rules."""

    change: FileChange
    lines: tuple[Line, ...]
    words: dict[str, list[int]]
    outline_of: Callable[[Side], Outline]


class Found(NamedTuple):
    """Where a signal is met.

    Attributes:
        reasons: one for each pattern and path, at the first line that shows it.
        judged: whether the signal could be judged in every path (it cannot where lines are wanted and unknown).
        cuts: the lines that might show it further on; none where it is met elsewhere.
    """

    reasons: list[Reason]
    judged: bool
    cuts: tuple[Cut, ...] = ()


@dataclass(slots=True)
class Evidence:
    """The changed lines of a change, looked into file by file as rules ask for them."""

    changes: ChangeSet
    _files: dict[int, _FileLines] = field(default_factory=dict)
    _lists: dict[tuple[str, ...], PatternList] = field(default_factory=dict)
    _places: list[tuple[FileChange, str, Side]] = field(default_factory=list)

    def lines(self, change: FileChange) -> _FileLines | None:
        """The file's changed lines, or ``None`` where they are not known."""
        if change.hunks is None:
            return None
        found = self._files.get(id(change))
        if found is None:
            from rulebook.symbols import outline_sides

            outline_of = outline_sides(change, self.changes.reader)
            lines = tuple(significant_lines(change, outline_of))
            words: dict[str, list[int]] = {}
            for index, line in enumerate(lines):
                for word in set(_WORD.findall(line.text)):
                    words.setdefault(word, []).append(index)
            found = self._files[id(change)] = _FileLines(change, lines, words, outline_of)
        return found

    def places(self) -> list[tuple[FileChange, str, Side]]:
        """Every changed path with its side."""
        if not self._places:
            self._places = [(change, path, side) for change in self.changes.files for path, side in change.sides()]
        return self._places

    def compiled(self, texts: tuple[str, ...]) -> PatternList:
        """Patterns of ``inside`` and ``then``, compiled once."""
        found = self._lists.get(texts)
        if found is None:
            from rulebook.patterns.syntax import compile_patterns

            found = self._lists[texts] = compile_patterns(texts)
        return found


def significant_lines(change: FileChange, outline_of: Callable[[Side], Outline]) -> Iterator[Line]:
    """The added and removed lines that can show something about a rule.

    Left out are blank lines, imports that only changed their place in the file, and, in Python, comments
    and documentation strings: what is said about code does not change what it does.
    """
    python = change.path.endswith((".py", ".pyi"))
    removed: Counter[str] = Counter()
    added: Counter[str] = Counter()
    changed = [line for hunk in change.hunks or () for line in hunk.lines if line.mark != " " and line.text.strip()]
    for line in changed:
        if _is_import(line.text):
            (added if line.mark == "+" else removed)[line.text.strip()] += 1
    moved = {"+": removed & added, "-": removed & added}
    for line in changed:
        text = line.text.strip()
        if moved[line.mark][text] > 0:
            moved[line.mark][text] -= 1
            continue
        if python:
            if text.startswith("#"):
                continue
            side, number = (Side.NEW, line.new) if line.mark == "+" else (Side.OLD, line.old)
            if outline_of(side).is_docstring(number):
                continue
        yield line


def _is_import(text: str) -> bool:
    return bool(_IMPORT.match(text) or _IMPORTED_NAME.match(text))


# --- signals ----------------------------------------------------------------------------------


def find_reasons(signal: Signal, hits: Sequence[PathHit], evidence: Evidence) -> Found:
    """Where a signal is met.

    Args:
        signal: what to look for.
        hits: the paths to look in.
        evidence: the changed lines.
    """
    reasons: dict[tuple[ReasonKind, str, Side, str], Reason] = {}
    cuts: list[Cut] = []
    judged = True
    inside = evidence.compiled(signal.inside) if signal.inside else None
    sides: dict[int, list[PathHit]] = {}
    for hit in hits:
        if inside is None or inside.match(hit.path):
            sides.setdefault(id(hit.change), []).append(hit)
    for group in sides.values():
        change = group[0].change
        if signal.changes and change.status.value not in signal.changes:
            continue
        if not signal.needs_lines:
            pattern = change.status.value if signal.changes else group[0].pattern.text
            _add(reasons, Reason(kind=ReasonKind.PATH, path=group[0].path, side=group[0].side, pattern=pattern))
            continue
        file = evidence.lines(change)
        if file is None:
            judged = False
            continue
        for found in _line_reasons(signal, file, group):
            if isinstance(found, Cut):
                cuts.append(found)
            else:
                _add(reasons, found)
    return Found(list(reasons.values()), judged, () if reasons else tuple(cuts))


def _add(reasons: dict[tuple[ReasonKind, str, Side, str], Reason], reason: Reason) -> None:
    reasons.setdefault((reason.kind, reason.path, reason.side, reason.pattern), reason)


def _line_reasons(signal: Signal, file: _FileLines, group: Sequence[PathHit]) -> Iterator[Reason | Cut]:
    by_side = {}
    for hit in group:
        for side in (Side.OLD, Side.NEW):
            if hit.side in (side, Side.BOTH):
                by_side[side] = hit.path
    names = _Identifiers(signal.identifiers) if signal.identifiers else None
    candidates: Iterable[int] = range(len(file.lines))
    if names is not None:
        # The word index narrows to the few lines that hold one of the names.
        candidates = sorted({index for word in names.first_words for index in file.words.get(word, ())})
    expressions = list(_expressions(signal))
    for index in candidates:
        line = file.lines[index]
        side = Side.NEW if line.mark == "+" else Side.OLD
        if (
            side not in by_side
            or (signal.on is On.ADDED) > (side is Side.NEW)
            or (signal.on is On.REMOVED) > (side is Side.OLD)
        ):
            continue
        name = names.find(line.text) if names is not None else ""
        if names is not None and not name:
            continue
        pattern = next((e.pattern for e in expressions if e.search(line.text)), "")
        limit = min((e.limit for e in expressions if e.is_cut(line.text)), default=0)
        if signal.lines and not pattern and not limit:
            continue
        number = line.new if side is Side.NEW else line.old
        function = ""
        if signal.functions:
            function = _enclosing_match(signal.functions, file.outline_of(side).enclosing(number))
            if not function:
                continue
        if signal.lines and not pattern:
            yield Cut(by_side[side], number, limit, len(line.text))
            continue
        kind, shown = (
            (ReasonKind.LINE, pattern)
            if pattern
            else (ReasonKind.IDENTIFIER, name)
            if name
            else (ReasonKind.FUNCTION, function)
        )
        quote = " ".join(line.text[:MAX_LINE].split())
        yield Reason(
            kind=kind,
            path=by_side[side],
            side=side,
            pattern=shown,
            line=number,
            text=quote if len(quote) <= QUOTE else quote[: QUOTE - 1] + "…",
        )


def _expressions(signal: Signal) -> Iterator[Expression]:
    for text, limit in zip(signal.lines, signal.limits or (None,) * len(signal.lines), strict=True):
        try:
            yield compile_bounded(text) if limit is None else compile_checked(text, limit)
        except RegexError:
            continue


class _Identifiers:
    """Names to find as whole identifiers, dotted ones included."""

    def __init__(self, names: Sequence[str]) -> None:
        self.first_words = {match[0] for name in names if (match := _WORD.search(name))}
        alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<![\w])(?:{alternatives})(?![\w])")

    def find(self, text: str) -> str:
        match = self._pattern.search(text)
        return match[0] if match else ""


def _enclosing_match(wanted: Sequence[str], names: Sequence[str]) -> str:
    """The innermost enclosing name that one of ``wanted`` names, whole or by its last parts."""
    for name in reversed(names):
        parts = name.split(".")
        for pattern in wanted:
            asked = pattern.split(".")
            if len(asked) <= len(parts) and all(map(_part_matches, asked, parts[-len(asked) :])):
                return name
    return ""


def _part_matches(pattern: str, part: str) -> bool:
    first, *pieces = pattern.split("*")
    if not pieces:
        return pattern == part
    last = pieces.pop()
    at, end = len(first), len(part) - len(last)
    if end < at or not (part.startswith(first) and part.endswith(last)):
        return False
    # The first place for each piece leaves most to the others, so nothing is tried twice.
    for piece in pieces:
        found = part.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


# --- rules ------------------------------------------------------------------------------------


def match_rule(
    rule: Rule, hits: Sequence[PathHit], evidence: Evidence, cited: Mapping[str, int] | None = None
) -> RuleMatch:
    """Judges one rule whose place matched.

    Args:
        rule: the rule; its text is not needed.
        hits: the changed paths that met its patterns; at least one.
        evidence: the change's lines.
        cited: for a rule without signals of its own, the names of code in its text, each with the
            number of rules that cite it.

    Returns:
        The match, with its reasons in the order of their strength.
    """
    reasons = [Reason(kind=ReasonKind.PATH, path=h.path, side=h.side, pattern=h.pattern.text) for h in hits]
    found: list[Reason] = []
    cuts: list[Cut] = []
    if rule.look_for is None:
        direct = _judge_cited(hits, evidence, cited or {}, found)
    else:
        for signal in rule.look_for:
            met = find_reasons(signal, hits, evidence)
            found += met.reasons
            cuts += met.cuts
        direct = bool(found) or not rule.look_for
        if direct:
            cuts = []
    missing, triggers, shown = _judge_co_changes(rule.co_changes, hits, evidence, cuts)
    found += triggers
    return RuleMatch(
        id=rule.id,
        title=rule.title,
        severity=rule.severity,
        status=rule.status,
        relevance=Relevance.DIRECT if direct or shown else Relevance.POSSIBLE,
        reasons=order_reasons((*found, *reasons)),
        missing_cochanges=tuple(missing),
        cut=min(cuts, default=None),
        location=rule.location,
    )


def _judge_cited(hits: Sequence[PathHit], evidence: Evidence, cited: Mapping[str, int], found: list[Reason]) -> bool:
    """Whether a rule that states no signals is direct; adds what shows it to ``found``."""
    telling = tuple(sorted(name for name, rules in cited.items() if rules <= MAX_SHARED))
    if not telling or all(hit.change.hunks is None for hit in hits):
        # It looks for nothing but paths, or nothing else is known.
        return True
    found += find_reasons(Signal(identifiers=telling), hits, evidence).reasons
    return bool(found)


def _judge_co_changes(
    co_changes: Sequence[CoChange], hits: Sequence[PathHit], evidence: Evidence, cuts: list[Cut]
) -> tuple[list[MissingCoChange], list[Reason], bool]:
    """What should have changed along and did not, what asked for it, and whether a line did; adds to ``cuts``."""
    missing: dict[str, MissingCoChange] = {}
    triggers: list[Reason] = []
    shown = False
    for co_change in co_changes:
        met = find_reasons(co_change.when, _when_hits(co_change.when, hits, evidence), evidence)
        fired = met.reasons
        cuts += met.cuts
        if not fired:
            continue
        absent = []
        for text in co_change.then:
            wanted = evidence.compiled((text,))
            if wanted.patterns and not any(wanted.match(path) for _, path, _ in evidence.places()):
                absent.append(text)
        for text in absent:
            if text in missing:
                continue
            missing[text] = MissingCoChange(path=text, because=co_change.because)
            triggers.append(fired[0]._replace(kind=ReasonKind.COCHANGE, pattern=text))
        shown = shown or bool(absent and co_change.when.needs_lines)
    return list(missing.values()), triggers, shown


def _when_hits(when: Signal, hits: Sequence[PathHit], evidence: Evidence) -> Sequence[PathHit]:
    """Where a co-change looks: in the places that it names itself, else in those of its rule."""
    if not when.inside:
        return hits
    named = evidence.compiled(when.inside)
    return [
        PathHit(change, path, side, pattern)
        for change, path, side in evidence.places()
        if (pattern := named.match(path)) is not None
    ]


def cut_note(matches: Iterable[RuleMatch]) -> str:
    """A sentence on lines of which only the beginning was looked at, where that may have hidden something; or none."""
    cuts = {match.id: match.cut for match in matches if match.cut is not None}
    if not cuts:
        return ""
    path, line, limit, length = min(cuts.values())
    names = sorted(cuts, key=natural_key)
    return (
        f"What {', '.join(names)} look{'s' if len(names) == 1 else ''} for may stand further on in long lines, of which"
        f" the beginning was looked at: of {path}:{line}, {limit:,} of {length:,} characters."
    )


def order_reasons(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Reasons without repeats, the strongest first."""
    return tuple(sorted(dict.fromkeys(reasons), key=_strength))


def _strength(reason: Reason) -> tuple[int, str, int, str]:
    return (reason.kind.rank, reason.path, reason.line or 0, reason.pattern)


def rank(matches: Iterable[tuple[RuleMatch, Sequence[PathHit]]]) -> list[RuleMatch]:
    """Orders matches by relevance, then severity, then the most specific pattern that met, then id."""

    def key(item: tuple[RuleMatch, Sequence[PathHit]]) -> tuple[object, ...]:
        match, hits = item
        sharpest = max((specificity(hit.pattern) for hit in hits), default=(0, 0, 0, 0))
        return (
            match.relevance is not Relevance.DIRECT,
            match.severity.rank,
            tuple(-part for part in sharpest),
            natural_key(match.id),
            match.location,
        )

    return [match for match, _ in sorted(matches, key=key)]
