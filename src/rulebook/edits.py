"""Which pinned places a change edits, moves or removes: what `rulebook applies` warns of before it is merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rulebook.definitions import outline, same_language
from rulebook.model import ChangeSet, ChangeStatus, Kind, Side
from rulebook.moves import joined, map_lines, same_text
from rulebook.pins import Pin, PinError, parse_pin
from rulebook.verdicts import State

if TYPE_CHECKING:
    from rulebook.store.query import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedSource:
    """A pinned place that a change edits, moves or removes.

    Attributes:
        owner: the document that has the pin.
        kind: its kind.
        pin: as written.
        path: the changed path.
        state: what merging the change makes of it: ``gone``, ``moved`` or ``changed``.
        because: one line.
    """

    owner: str
    kind: Kind
    pin: str
    path: str
    state: State
    because: str


def edited_sources(store: Store, changes: ChangeSet, repo: str) -> list[EditedSource]:
    """Which pinned places a change edits, moves or removes, worst first, whether or not any pattern matches.

    Where whole files can be read (a git range), a definition that stays as it is in an edited file is left out, and
    one that the change itself puts elsewhere is *moved*.
    """
    before = {path: change for change in changes.files for path, side in change.sides() if side is not Side.NEW}
    found: list[EditedSource] = []
    texts = _Texts(changes)
    for path, text, kind, owner in store.pinned(repo, list(before)):
        try:
            pin = parse_pin(text)
        except PinError:
            continue
        effect = texts.effect(pin, before[path].path, before[path].status)
        if effect is not None:
            state, because = effect
            found.append(EditedSource(owner=owner, kind=Kind(kind), pin=text, path=path, state=state, because=because))
    return sorted(found, key=lambda edit: (edit.state.rank, edit.owner, edit.path, edit.pin))


class _Texts:
    """What a change does to anchored text."""

    def __init__(self, changes: ChangeSet) -> None:
        self._changes = changes

    def effect(self, pin: Pin, path: str, status: ChangeStatus) -> tuple[State, str] | None:
        """What becomes of a pinned place; ``path`` is where its file is after the change."""
        if status is ChangeStatus.MODE:
            return None
        if not pin.anchor or self._changes.reader is None:
            return self._file_effect(pin, path, status)
        return self._symbol_effect(pin, path, status) if pin.symbol else self._lines_effect(pin, path, status)

    def _file_effect(self, pin: Pin, path: str, status: ChangeStatus) -> tuple[State, str] | None:
        if status is ChangeStatus.DELETED:
            return State.GONE, f"the change removes {pin.path}"
        if path != pin.path:
            return State.MOVED, f"the change moves {pin.path} to {path}"
        if pin.first and not self._touches(pin):
            return None
        return State.CHANGED, f"the change edits {pin.path}"

    def _touches(self, pin: Pin) -> bool:
        """Whether changed lines lie among the pinned ones, by their numbers: all that a diff alone can tell."""
        change = next((change for change in self._changes.files if (change.old_path or change.path) == pin.path), None)
        if change is None or change.hunks is None:
            return True
        numbers = (line.old or line.new for hunk in change.hunks for line in hunk.lines if line.mark != " ")
        return any(pin.first <= number <= pin.last for number in numbers)

    def _read(self, path: str, side: Side) -> bytes | None:
        assert self._changes.reader is not None
        return self._changes.reader.read(path, side)

    def _symbol_effect(self, pin: Pin, path: str, status: ChangeStatus) -> tuple[State, str] | None:
        old = _anchored(pin, self._read(pin.path, Side.OLD), pin.path)
        if old is None:
            # It was not there before, so this change takes nothing from it.
            return None
        new = None if status is ChangeStatus.DELETED else _anchored(pin, self._read(path, Side.NEW), path)
        if new is None:
            place = self._elsewhere(pin)
            if place:
                return State.MOVED, f"the change moves {pin.symbol} to {place}"
            return State.GONE, f"the change removes {pin.symbol} from {pin.path}"
        if path != pin.path:
            return State.MOVED, f"the change moves {pin.path} to {path}"
        return None if same_text(old, new) else (State.CHANGED, f"the change edits {pin.symbol} in {pin.path}")

    def _elsewhere(self, pin: Pin) -> str:
        """The changed file that has the symbol now and did not before."""
        for change in self._changes.files:
            if change.status is not ChangeStatus.DELETED and same_language(pin.path, change.path):
                former = change.old_path or change.path
                there = _anchored(pin, self._read(change.path, Side.NEW), change.path) is not None
                if there and _anchored(pin, self._read(former, Side.OLD), former) is None:
                    return change.path
        return ""

    def _lines_effect(self, pin: Pin, path: str, status: ChangeStatus) -> tuple[State, str] | None:
        old = self._read(pin.path, Side.OLD)
        new = None if status is ChangeStatus.DELETED else self._read(path, Side.NEW)
        if old is None or pin.last > old.count(b"\n") + 1:
            return None
        mapped = map_lines(old, new, pin.first, pin.last) if new is not None else None
        if mapped is None:
            return State.GONE, f"the change removes {pin.anchor} from {pin.path}"
        if path != pin.path:
            return State.MOVED, f"the change moves {pin.path} to {path}"
        return None if mapped.same else (State.CHANGED, f"the change edits {pin.anchor} of {pin.path}")


def _anchored(pin: Pin, content: bytes | None, path: str) -> bytes | None:
    """The text of the pin's symbol in a file, if it is there."""
    definitions = outline(path, content).find(pin.symbol) if content is not None else ()
    return joined((content or b"").split(b"\n"), definitions) if definitions else None
