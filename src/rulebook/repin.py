"""``rulebook repin``: new pins for sources that were read again.

Nothing is re-pinned unseen: a proposal shows what was pinned against what stands there now, and writing it is a
second step that a person takes. Which bytes of a file change is :mod:`rulebook.editing`'s.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

from rulebook.editing import EditError, Replacement, read_content, refuse_dirty, replace_scalars, write_atomically
from rulebook.evidence import text_digest
from rulebook.freshness import Checkers, cite
from rulebook.pins import Pin
from rulebook.staleness import Checker
from rulebook.verdicts import CheckedPin, State, Verdict, read_pin

if TYPE_CHECKING:
    from rulebook.checkouts import CheckoutFinder
    from rulebook.config import Config
    from rulebook.model import Document

_STALE = (State.MOVED, State.CHANGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A pin that can be renewed, or the reason why not.

    Attributes:
        checked: the pin and its verdict.
        new: the pin to write; ``None`` where there is none to offer.
        seen: what to note beside it, for what is noted now.
        diff: what was pinned against what stands there now, as the lines of a unified diff without line ends.
        refused: why there is no new pin.
    """

    checked: CheckedPin
    new: Pin | None = None
    seen: tuple[tuple[str, str], ...] = ()
    diff: tuple[str, ...] = ()
    refused: str = ""


def propose(
    documents: Iterable[Document],
    config: Config,
    finder: CheckoutFinder,
    *,
    fresh: bool = False,
    unseen: bool = False,
) -> list[Proposal]:
    """Offers a new pin for every source of the documents that is not fresh.

    Args:
        documents: whose sources to renew.
        config: the target repositories.
        finder: knows where clones are.
        fresh: whether to bring fresh pins to the head as well.
        unseen: whether to renew pins that could not be looked at, where their file or symbol stands at the head.

    Raises:
        GitError: a clone that the command names is none, or git is missing.
    """
    proposals = []
    with Checkers(config, finder) as checkers:
        for citation in cite(documents):
            pin = read_pin(citation.source)
            if not isinstance(pin, Pin):
                proposals.append(Proposal(checked=CheckedPin(citation=citation, verdict=pin), refused=pin.remedy))
                continue
            checker = checkers.checker(pin.alias)
            if not isinstance(checker, Checker):
                proposals.append(
                    Proposal(checked=CheckedPin(citation=citation, verdict=checker), refused=checker.remedy)
                )
                continue
            [verdict] = checker.check([(pin, citation.source.seen)])
            checked = CheckedPin(citation=citation, verdict=verdict)
            if verdict.state is State.FRESH and not fresh:
                continue
            proposals.append(_propose(checked, pin, checker, unseen=unseen))
    return proposals


def _propose(checked: CheckedPin, pin: Pin, checker: Checker, *, unseen: bool) -> Proposal:
    new, refused = _renewed(checked.verdict, pin, checker, unseen=unseen)
    text = checker.text_of(new) if new is not None else None
    if new is None or text is None:
        return Proposal(checked=checked, refused=refused or "what stands there now cannot be read")
    if new == pin:
        return Proposal(checked=checked, refused="it is at the head already")
    old = checker.text_of(pin)
    seen = {"blob": checker.blob_of(new), "sha256": text_digest(text)}
    return Proposal(
        checked=checked,
        new=new,
        seen=tuple((name, seen[name]) for name in checked.citation.source.seen),
        diff=tuple(_diff(old or b"", text, str(pin), str(new), known=old is not None)),
    )


def _renewed(verdict: Verdict, pin: Pin, checker: Checker, *, unseen: bool) -> tuple[Pin | None, str]:
    """The pin to offer, or why there is none."""
    if verdict.state in (*_STALE, State.FRESH):
        return verdict.now, "" if verdict.now is not None else verdict.remedy or "where it stands now is not known"
    if verdict.state is not State.UNVERIFIABLE:
        return None, "it is gone: read what took its place, and change the rule or retire it"
    there = pin._replace(commit=checker.head.commit)
    if pin.first:
        return None, "without the commit nobody can tell where the lines are now: pin them by hand"
    if checker.text_of(there) is None:
        return None, f"{pin.path}{'#' + pin.anchor if pin.anchor else ''} does not stand at the head"
    return (there, "") if unseen else (None, "what was pinned cannot be shown; --unseen renews it all the same")


def _diff(old: bytes, new: bytes, before: str, after: str, *, known: bool) -> list[str]:
    if b"\0" in old + new:
        return [f"--- {before}", f"+++ {after}", "binary contents differ"]
    then, now = (text.decode("utf-8", "replace").splitlines() for text in (old, new))
    if not known:
        return [f"--- {before}", "(cannot be shown)", f"+++ {after}", *(f" {line}" for line in now)]
    return list(unified_diff(then, now, before, after, lineterm=""))


def write(root: str, proposals: Sequence[Proposal], *, allow_dirty: bool = False) -> list[str]:
    """Writes new pins into the files that have them; returns the files.

    All files are looked at before the first one is written; where one cannot be, the others are as they were.

    Args:
        root: the knowledge base's folder.
        proposals: those without a new pin are passed over.
        allow_dirty: whether to edit files that have changes which are not committed.

    Raises:
        EditError: a file is dirty, unreadable, not edited safely, or cannot be written.
    """
    edits: dict[str, dict[Replacement, None]] = {}
    for proposal in proposals:
        if proposal.new is None:
            continue
        citation = proposal.checked.citation
        # The sections of a page share its pins.
        replacements = edits.setdefault(citation.location.path, {})
        line = citation.location.line
        replacements[Replacement(line, citation.source.pin, str(proposal.new), proposal.seen)] = None
    planned: list[tuple[str, str, bytes, bytes]] = []
    for path, replacements in edits.items():
        full = os.path.join(root, path)
        before = read_content(full, path)
        if not allow_dirty:
            refuse_dirty(full, path)
        planned.append((full, path, before, replace_scalars(before, list(replacements), path)))
    written: list[tuple[str, str, bytes, bytes]] = []
    try:
        for full, path, before, after in planned:
            write_atomically(full, after, before, path)
            written.append((full, path, before, after))
    except EditError:
        for full, path, before, after in written:
            # What was edited again since then stays as it is.
            with suppress(EditError):
                write_atomically(full, before, after, path)
        raise
    return [path for _, path, _, _ in planned]
