"""What goes into the index and what comes out, and how whoosh sees an entry."""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rulebook.index.analysis import aliases, analyse, is_gram, literal_text
from rulebook.index.engine import STORED, Existence, FieldType, Schema, W3Codec, W3Segment

#: Raise it whenever the same entry would be indexed differently: older indexes are then rebuilt.
VERSION = 2

#: How much an occurrence weighs in each field of an entry.
WEIGHTS = {
    "id": 6.0,
    "title": 3.0,
    "identifiers": 2.0,
    "paths": 2.0,
    "tags": 2.0,
    "labels": 2.0,
    "body": 1.0,
}

# Lengths (in atoms) are held against constants, not against the average of all entries, so that an entry's
# weights do not depend on others. Lists are not better for being short.
_B = 0.75
_LENGTHS = {"title": 12, "body": 300}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document in one language, as far as it can be searched.

    Attributes:
        key: unique, for example ``rule:AFD-I1:zh``.
        group: what is one hit, for example ``rule:AFD-I1`` for both languages of the rule.
        kind: the word of a :class:`rulebook.model.Kind`.
        id: the document's id; a query that is an id, or ends like one, puts it first.
        title: one line.
        body: Markdown.
        identifiers: names of the code that the document speaks of.
        paths: paths and path patterns that it is about.
        tags: words to find it by.
        labels: labels that it is filed under.
    """

    key: str
    group: str
    kind: str
    id: str
    title: str
    body: str
    identifiers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What :func:`refresh` did.

    Attributes:
        added: entries that are new in the index.
        changed: entries that were there with another digest.
        removed: entries that are no longer wanted.
        kept: entries that did not change.
        obstacle: empty, or why the index could not be brought up to date, so that an older state of
            it stands.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    kept: int = 0
    obstacle: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that a query found.

    Attributes:
        group: as in :class:`Entry`.
        kind: as in :class:`Entry`.
        id: as in :class:`Entry`.
        score: above zero, comparable within one answer only.
        keys: the entries of the group that were found, the best one first.
        fields: where the best one has words of the query, as in :data:`WEIGHTS`.
        whole: false where the query is one name of several parts, and no entry of the group has more than some of them.
    """

    group: str
    kind: str
    id: str
    score: float
    keys: tuple[str, ...]
    fields: tuple[str, ...]
    whole: bool = True


# --- whoosh's view of an entry ----------------------------------------------------------------


class _Terms(FieldType):  # type: ignore[misc]  # whoosh has no types
    """A field whose value is a mapping of terms to weights."""

    def __init__(self) -> None:
        super().__init__(format=Existence(), analyzer=None)

    def index(self, value: Mapping[str, float], **_: Any) -> Iterator[tuple[bytes, int, float, bytes]]:
        """Whoosh's postings: term, frequency, weight, payload."""
        for term, weight in value.items():
            yield self.to_bytes(term), 1, weight, b""

    def to_bytes(self, value: str | bytes) -> bytes:
        """A term as it is stored. Lone surrogates stand for bytes that are not UTF-8, in file names, say."""
        return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")


SCHEMA = Schema(
    key=_Terms(),
    kind=_Terms(),
    alias=_Terms(),
    words=_Terms(),
    grams=_Terms(),
    entry=STORED(),
    atoms=STORED(),
    literal=STORED(),
)


class Codec(W3Codec):  # type: ignore[misc]  # whoosh has no types
    """Whoosh's format, with two differences.

    Posting lists are too short for compression to be worth its time: it saves 3 % of the space for
    11 % of the time. And the names of segments come from the operating system: whoosh draws them
    from :mod:`random`, which programs seed, and a segment of the same name would be overwritten.
    """

    def __init__(self) -> None:
        super().__init__(compression=0)

    def new_segment(self, storage: Any, indexname: str) -> Any:  # noqa: ARG002
        """A segment with a name of its own."""
        return W3Segment(self, indexname, segid=secrets.token_hex(8))


def document(entry: Entry) -> dict[str, Any]:
    """The fields of :data:`SCHEMA` for ``entry``."""
    words: dict[str, float] = defaultdict(float)
    grams: dict[str, float] = defaultdict(float)
    atoms = {}
    literal = []
    for field, weight in WEIGHTS.items():
        value = getattr(entry, field)
        text = value if isinstance(value, str) else "\n".join(value)
        analysis = analyse(text)
        length = 1 - _B + _B * len(analysis.atoms) / _LENGTHS[field] if field in _LENGTHS else 1.0
        for term, count in Counter(analysis.terms).items():
            (grams if is_gram(term) else words)[term] += weight * count / length
        if analysis.atoms:
            atoms[field] = " ".join(analysis.atoms)
        literal.append(literal_text(text))
    return {
        "key": {entry.key: 1.0},
        "kind": {entry.kind: 1.0},
        "alias": dict.fromkeys(aliases(entry.id), 1.0),
        "words": words,
        "grams": grams,
        "entry": (entry.key, entry.group, entry.kind, entry.id),
        "atoms": atoms,
        "literal": "\n".join(literal),
    }
