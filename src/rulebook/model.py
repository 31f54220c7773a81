"""The nouns: what a knowledge base holds, what a change is, what an answer says.

Standard library only, and nothing here does any work. Every line number is 1-based, every path is
relative to its repository's root and uses ``/``.

Small nouns are named tuples, always built by keyword: making a dataclass takes six times as long, and every run
of the command line makes them all. The family of documents are frozen dataclasses.

The value of each enum is the word that stands in frontmatter and in JSON; the contract with other
programs is in ``docs/contract.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol


class _Word(str, Enum):
    """An enum whose members are, and print as, their words."""

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, format_spec: str) -> str:
        return format(str(self.value), format_spec)


# --- what the knowledge base holds ------------------------------------------------------------


class Kind(_Word):
    """The kinds of document, each with a top-level folder of its own."""

    RULE = "rule"
    WAIVER = "waiver"
    REVIEW = "review"


class Status(_Word):
    """Where a rule is in its life. Only active and contested rules match changes."""

    ACTIVE = "active"
    CONTESTED = "contested"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    RESERVED = "reserved"

    @property
    def matches(self) -> bool:
        """Whether a rule with this status can apply to a change."""
        return self in (Status.ACTIVE, Status.CONTESTED)


class Severity(_Word):
    """How much a rule or a finding weighs: SARIF 2.1.0's levels (section 3.27.10)."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the heaviest; sorts errors first."""
        return ("error", "warning", "note").index(self.value)


class Location(NamedTuple):
    """A line of a file of the knowledge base; ``line`` is 0 where the file as a whole is meant."""

    path: str
    line: int = 0


class Finding(NamedTuple):
    """Something wrong in the content: where, a stable code, what, and how to mend it."""

    code: str
    severity: Severity
    message: str
    location: Location
    remedy: str = ""


class On(_Word):
    """Which changed lines a signal looks at."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class Signal(NamedTuple):
    """One thing to look for in a change. All conditions that are stated must hold at one place.

    Attributes:
        identifiers: names that must stand, as whole identifiers, on a changed line (any of them).
        lines: regular expressions searched in the text of a changed line (any of them).
        functions: qualified names of Python functions or classes, or the last parts of such names,
            that must enclose the changed line (any of them); ``*`` is a wildcard within a part.
        changes: kinds of change of the whole file (any of them): the words of
            :class:`ChangeStatus`.
        inside: patterns that narrow the paths looked at; empty means all paths of the rule.
        on: which changed lines count.
        limits: for each of ``lines`` the characters of a line that are looked at; empty where it was not told yet.
    """

    identifiers: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    on: On = On.CHANGED
    limits: tuple[int, ...] = ()

    @property
    def needs_lines(self) -> bool:
        """Whether the signal can only be judged with the changed lines at hand."""
        return bool(self.identifiers or self.lines or self.functions)


class CoChange(NamedTuple):
    """``when`` this happens, each of ``then`` has to be part of the same change."""

    when: Signal
    then: tuple[str, ...]
    because: str


class Source(NamedTuple):
    """Where a document's claims come from.

    Attributes:
        pin: ``alias@<40 hex>:path`` with an optional ``#`` anchor, or ``unknown``, as written.
        seen: what was seen there (``blob``: object id; ``sha256``: of the anchored text), so that
            content can decide where the commit is gone.
        url: for people; never fetched.
        line: where the pin stands in its file.
    """

    pin: str
    seen: Mapping[str, str] = MappingProxyType({})
    url: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What rules, waivers and digests have in common: a text, its place and its sources."""

    kind: Kind
    id: str
    title: str
    repo: str
    location: Location
    body: str
    body_line: int = 0
    lang: str = "en"
    tags: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    created: str = ""
    updated: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: The 1-based line of each frontmatter value, by its path of keys and list indices.
    lines: Mapping[tuple[str | int, ...], int] = field(default_factory=dict, compare=False, repr=False)

    def line_of(self, *key: str | int) -> int:
        """The line of a frontmatter value, or of the nearest one around it."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, self.location.line)

    @property
    def key(self) -> tuple[str, str]:
        """Kind and id: what must be unique among documents of one language."""
        return (self.kind.value, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Document):
    """A rule: where it applies, what to look for, what has to change along."""

    kind: Kind = Kind.RULE
    status: Status = Status.ACTIVE
    severity: Severity = Severity.WARNING
    applies_to: tuple[str, ...] = ()
    #: ``None``: nothing stated, so identifiers cited in the text serve; empty: paths only.
    look_for: tuple[Signal, ...] | None = None
    co_changes: tuple[CoChange, ...] = ()
    provenance: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver(Document):
    """A filed exception from a rule, named after the pull request that needs it."""

    kind: Kind = Kind.WAIVER
    pr: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDigest(Document):
    """What one pull request taught: a short text with the places and labels it is about."""

    kind: Kind = Kind.REVIEW
    pr: str = ""
    labels: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    reading: str = ""
    minutes: int | None = None


# --- what a change is -------------------------------------------------------------------------


class ChangeStatus(_Word):
    """What happened to a file, in the contract's words."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"
    MODE = "mode"
    BINARY = "binary"
    UNKNOWN = "unknown"


class Side(_Word):
    """The two sides of a change; both for what did not move."""

    OLD = "old"
    NEW = "new"
    BOTH = "both"


class Line(NamedTuple):
    """A line of a hunk.

    Attributes:
        mark: ``"+"`` added, ``"-"`` removed, ``" "`` context.
        text: without the mark and without the line ending.
        old: 1-based number on the old side, 0 for an added line.
        new: 1-based number on the new side, 0 for a removed line.
    """

    mark: str
    text: str
    old: int
    new: int


class Hunk(NamedTuple):
    """A hunk of a unified diff; ``heading`` is the text after the second ``@@``."""

    old_start: int
    new_start: int
    heading: str
    lines: tuple[Line, ...]


class FileChange(NamedTuple):
    """What happened to one file.

    Attributes:
        path: the new path, or the only one.
        old_path: the other side of a rename or copy, else ``None``.
        status: what happened.
        hunks: the changed lines; ``None`` where they are not known (a bare path list), empty where
            there are none (a pure rename, a mode change, a binary file).
        binary: whether git or the diff says that the file is binary.
    """

    path: str
    old_path: str | None = None
    status: ChangeStatus = ChangeStatus.UNKNOWN
    hunks: tuple[Hunk, ...] | None = None
    binary: bool = False

    def sides(self) -> tuple[tuple[str, Side], ...]:
        """The paths by which patterns can meet this change, with the side each stands for.

        A rename counts on both sides, a copy on the new one only: its original is untouched.
        """
        if self.status is ChangeStatus.RENAMED and self.old_path is not None:
            return ((self.path, Side.NEW), (self.old_path, Side.OLD))
        if self.status is ChangeStatus.DELETED:
            return ((self.path, Side.OLD),)
        if self.status in (ChangeStatus.ADDED, ChangeStatus.COPIED):
            return ((self.path, Side.NEW),)
        return ((self.path, Side.BOTH),)


class ContentReader(Protocol):
    """Reads whole files of a change's two sides, where a repository is at hand."""

    def read(self, path: str, side: Side) -> bytes | None:
        """The file's bytes on ``side`` (old or new), or ``None`` where there is none."""
        ...


class ChangeSet(NamedTuple):
    """A change: its files, and what is known about how complete the list is.

    Attributes:
        files: in the order of the input, without duplicates.
        complete: false where the input is known to be cut.
        base: commit id of the old side, or empty.
        head: commit id of the new side, or empty.
        reader: reads whole files, or ``None`` where only the input itself is known.
        notes: what the user should know about how the input was read, one sentence each.
    """

    files: tuple[FileChange, ...]
    complete: bool = True
    base: str = ""
    head: str = ""
    reader: ContentReader | None = None
    notes: tuple[str, ...] = ()


# --- what an answer says ----------------------------------------------------------------------


class Relevance(_Word):
    """How surely a rule applies: the change itself shows it, or only its place does."""

    DIRECT = "direct"
    POSSIBLE = "possible"


class ReasonKind(_Word):
    """The kinds of evidence, in the order of their strength."""

    LINE = "line"
    FUNCTION = "function"
    IDENTIFIER = "identifier"
    COCHANGE = "cochange"
    SOURCE = "source"
    PATH = "path"
    LABEL = "label"

    @property
    def rank(self) -> int:
        """0 for the strongest."""
        return tuple(ReasonKind).index(self)


class Reason(NamedTuple):
    """One piece of evidence for a match.

    Attributes:
        kind: what sort of evidence.
        path: the changed path that gave it.
        side: the side of the change that ``path`` is on.
        pattern: what matched: a path pattern, an identifier, a function, a regular expression.
        line: 1-based line on that side, or ``None``.
        text: the changed line itself, shortened, where there is one.
    """

    kind: ReasonKind
    path: str
    side: Side
    pattern: str
    line: int | None = None
    text: str = ""


class MissingCoChange(NamedTuple):
    """A pattern that should have been met by the same change and was not."""

    path: str
    because: str


class Cut(NamedTuple):
    """A changed line that does not show what was looked for, and of which not all was looked at.

    Attributes:
        path: the file.
        line: the line's number on its side, 1-based.
        limit: the characters that were looked at.
        length: the characters that the line has.
    """

    path: str
    line: int
    limit: int
    length: int


class RuleMatch(NamedTuple):
    """A rule that applies, with everything that made it, and a line that might say more if it were shorter."""

    id: str
    title: str
    severity: Severity
    status: Status
    relevance: Relevance
    reasons: tuple[Reason, ...]
    missing_cochanges: tuple[MissingCoChange, ...] = ()
    freshness: str | None = None
    waived_by: tuple[str, ...] = ()
    location: Location = Location("")
    cut: Cut | None = None


class ReviewMatch(NamedTuple):
    """A digest worth reading along with the change."""

    id: str
    title: str
    reasons: tuple[Reason, ...]
    location: Location = Location("")


class AppliesReport(NamedTuple):
    """The answer to "which rules apply to this change, and why"."""

    repo: str
    complete: bool
    files: tuple[FileChange, ...]
    rules: tuple[RuleMatch, ...]
    reviews: tuple[ReviewMatch, ...]
    unmatched: tuple[str, ...]
    examined_rules: int
    examined_reviews: int
    notes: tuple[str, ...] = ()
    #: What a person who asked could do for a better answer; no part of the answer.
    hints: tuple[str, ...] = ()
