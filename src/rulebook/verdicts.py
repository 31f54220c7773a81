"""What can become of a pinned place, and the pin as a document has it; ``docs/freshness.md`` has every state."""

from __future__ import annotations

from dataclasses import dataclass

from rulebook.model import Kind, Location, Source, _Word
from rulebook.pins import UNKNOWN, Pin, PinError, parse_pin


class State(_Word):
    """What became of a pinned place, worst first."""

    GONE = "gone"
    INVALID = "invalid"
    MOVED = "moved"
    CHANGED = "changed"
    UNVERIFIABLE = "unverifiable"
    FRESH = "fresh"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return tuple(State).index(self)


class Detail(_Word):
    """How much of an anchor or a file is different."""

    SIGNATURE = "signature"
    BODY = "body"
    LINES = "lines"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a pinned place.

    Attributes:
        state: the verdict.
        because: one line that says what was seen.
        detail: how it differs, where it does; ``elsewhere`` with *fresh* means that the file changed and the
            anchor did not.
        now: where it stands at the head, where that is known.
        remedy: what to do, for what could not be verified.
    """

    state: State
    because: str
    detail: Detail | None = None
    now: Pin | None = None
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A pin with the document that has it."""

    owner: str
    kind: Kind
    location: Location
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPin:
    """A pin with its verdict."""

    citation: Citation
    verdict: Verdict


def unverifiable(reason: str, remedy: str) -> Verdict:
    """The verdict on what could not be looked at."""
    return Verdict(state=State.UNVERIFIABLE, because=reason, remedy=remedy)


def read_pin(source: Source) -> Pin | Verdict:
    """The pin of a source, or the verdict where there is none."""
    if source.pin == UNKNOWN:
        return unverifiable("the pin is unknown", "pin the commit and the file that it was read from")
    try:
        return parse_pin(source.pin)
    except PinError as error:
        return Verdict(state=State.INVALID, because=str(error), remedy=error.remedy)
