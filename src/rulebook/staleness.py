"""Source pins × clones of the target repositories → what became of each pinned place.

A verdict is about what was looked at. *Fresh* is only said where the pinned bytes are what stands on the
default branch; whatever could not be looked at is *unverifiable*, with the reason and the remedy; and *gone*
is only said once renames and moves are ruled out.

The common case, a place that did not change, costs no process of its own: all pins of a repository are looked
up through one git process, as ids. Contents are read where an anchor has to be found in them, and the history
is asked about what is stale only. The format and the meaning of every state are documented in
``docs/freshness.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rulebook.definitions import Definition, Outline, outline, signature
from rulebook.errors import GitError
from rulebook.git.records import Commit, Entry, Mode
from rulebook.model import Kind, Location, Source, _Word
from rulebook.moves import Definitions, Move, joined, map_lines, same_move, same_text, with_name
from rulebook.pins import UNKNOWN, Pin, PinError, parse_pin
from rulebook.snapshots import Absent, Ancestry, Head, Snapshots

if TYPE_CHECKING:
    from typing_extensions import Self

    from rulebook.git.records import RawChange
    from rulebook.git.repository import Repository

Progress = Callable[[int, int], None]
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


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


class _Place(NamedTuple):
    """What a pin refers to: the pin, what the document noted beside it, and where the pinned bytes are.

    Attributes:
        pin: as written.
        seen: ``blob`` and ``sha256``, as noted.
        entry: the pinned file, or ``None`` where only what was noted can decide.
        remarks: what has to be said with every verdict.
    """

    pin: Pin
    seen: Mapping[str, str]
    entry: Entry | None
    remarks: tuple[str, ...] = ()


class _Changes(NamedTuple):
    """What became of the files of a commit, by their old path, and the paths whose contents could not be compared."""

    of: Mapping[str, RawChange]
    unread: tuple[str, ...]


class _Unverifiable(Exception):
    """A place that cannot be looked at: why, and what helps."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


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


class Checker:
    """Checks pins into one repository against the head of its default branch.

    A context manager: it holds a git process.

    Attributes:
        head: the tip of the default branch.
    """

    def __init__(self, repository: Repository, branch: str, *, alias: str = "") -> None:
        """Finds the tip of ``branch``.

        Raises:
            GitError: this clone has no such branch, or has ids that no pin can name.
        """
        self.repository = repository
        self.snapshots = Snapshots(repository)
        head = self.snapshots.find_head(branch)
        if head is None:
            raise GitError(
                f"{repository} has no branch {branch!r}",
                f"fetch it, or mend default_branch of [repos.{alias or 'ALIAS'}] in rulebook.toml",
            )
        if len(head.commit) != 40:
            raise GitError(f"{repository} uses SHA-256 ids, which pins cannot name", "pin a repository with SHA-1 ids")
        if not isinstance(self.snapshots.commit(head.commit), Commit):
            raise GitError(f"the tip of {branch!r} in {repository} cannot be read", "look for damage with 'git fsck'")
        self.head: Head = head
        self._definitions: dict[str, Definitions] = {}
        self._outlines: dict[tuple[str, str], Outline] = {}
        self._contents: dict[str, bytes | None] = {}
        self._compared: dict[tuple[str, str], _Changes] = {}
        self._ancestry = Ancestry(frozenset(), complete=True)
        self._dangling: frozenset[str] = frozenset()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.snapshots.close()

    def check(
        self, pins: Iterable[tuple[Pin, Mapping[str, str]]], *, progress: Progress | None = None
    ) -> list[Verdict]:
        """The verdict on each pin, in their order; ``seen`` is what was noted beside it."""
        asked = list(pins)
        self._prepare([pin for pin, _ in asked])
        known: dict[tuple[Pin, str, str], Verdict] = {}
        verdicts = []
        for done, (pin, seen) in enumerate(asked):
            if progress is not None:
                progress(done, len(asked))
            key = (pin, seen.get("blob", ""), seen.get("sha256", ""))
            if key not in known:
                known[key] = self._check(pin, seen)
            verdicts.append(known[key])
        if progress is not None:
            progress(len(asked), len(asked))
        return verdicts

    # --- looking things up, all at once ---

    def _prepare(self, pins: Sequence[Pin]) -> None:
        """Looks up everything that the common case needs."""
        snapshots, head = self.snapshots, self.head.commit
        commits = snapshots.commits({pin.commit for pin in pins})
        here = {pin.commit for pin in pins if isinstance(commits[pin.commit], Commit)}
        self._ancestry = snapshots.ancestors(head, here)
        snapshots.survey({head, *here})
        outside = here - self._ancestry.held
        self._dangling = self.repository.commits_outside(outside) if outside else frozenset()
        places = {(pin.commit, pin.path) for pin in pins if pin.commit in here}
        places |= {(head, pin.path) for pin in pins}
        found = snapshots.resolve(places)
        entries = {found[place] for place in places}
        snapshots.present({entry.id for entry in entries if isinstance(entry, Entry) and entry.mode is Mode.FILE})
        anchored = {(pin.commit, pin.path) for pin in pins if pin.anchor and pin.commit in here}
        anchored |= {(head, path) for _, path in anchored}
        files = [found[place] for place in anchored]
        self._load({entry.id for entry in files if isinstance(entry, Entry) and entry.mode is Mode.FILE})

    def _load(self, ids: Collection[str]) -> None:
        wanted = [identity for identity in ids if identity not in self._contents]
        self._contents.update(self.snapshots.read(wanted))

    def _content(self, identity: str, what: str) -> bytes:
        self._load([identity])
        content = self._contents[identity]
        if content is None:
            raise _Unverifiable(f"the content of {what} is not in this clone, or is damaged", self._remedy())
        return content

    def _remedy(self) -> str:
        if self.repository.is_partial():
            return "rulebook sync, or fetch it: git fetch --refetch --no-filter (git 2.36)"
        return "rulebook sync, or look for damage with 'git fsck'"

    def _outline(self, path: str, identity: str, what: str) -> Outline:
        # A file's language is told from its name.
        key = (path.rsplit("/", 1)[-1], identity)
        if key not in self._outlines:
            self._outlines[key] = outline(path, self._content(identity, what))
        return self._outlines[key]

    # --- one pin ---

    def _check(self, pin: Pin, seen: Mapping[str, str]) -> Verdict:
        try:
            place = self._pinned(pin, seen)
            verdict = self._compare(place)
        except _Unverifiable as trouble:
            return unverifiable(trouble.reason, trouble.remedy)
        if not place.remarks:
            return verdict
        return replace(verdict, because="; ".join((verdict.because, *place.remarks)))

    def _pinned(self, pin: Pin, seen: Mapping[str, str]) -> _Place:
        """What was pinned."""
        commit = self.snapshots.commit(pin.commit)
        short = pin.commit[:12]
        if commit == "missing":
            return self._noted(pin, seen, f"commit {short} is not in this clone", self._missing_remedy())
        if not isinstance(commit, Commit):
            what = "is damaged" if commit == "damaged" else f"is a {commit}, not a commit"
            raise _Unverifiable(f"{short} {what}", f"write the id of a commit: git log --format=%H -- '{pin.path}'")
        if pin.commit in self._dangling:
            reason = f"commit {short} is on no branch or tag any more (rebased away or replaced)"
            return self._noted(pin, seen, reason, "pin a commit of the default branch: rulebook repin --unseen")
        remarks: tuple[str, ...] = ()
        if pin.commit not in self._ancestry.held:
            remarks = (
                (f"commit {short} is no ancestor of the default branch",)
                if self._ancestry.complete
                else (f"whether the default branch holds commit {short} cannot be told: the history is cut here",)
            )
        entry = self._entry(pin)
        if entry.mode is not Mode.FILE:
            raise _Unverifiable(f"{pin.path} is {entry.mode.value} at {short}", self._instead(entry))
        if seen.get("blob", entry.id) != entry.id:
            raise _Unverifiable(
                f"the blob noted beside the pin is not what stands at {short}",
                "one of the two is wrong: read the source again and re-pin it",
            )
        if "sha256" in seen and seen["sha256"] != self._digest(pin, entry, f"{pin.path} at {short}"):
            raise _Unverifiable(
                f"the hash noted beside the pin is not that of what stands at {short}",
                "one of the two is wrong: read the source again and re-pin it",
            )
        return _Place(pin, seen, entry, remarks)

    def _entry(self, pin: Pin) -> Entry:
        """What stands at the pinned path of the pinned commit."""
        short = pin.commit[:12]
        found = self.snapshots.at(pin.commit, pin.path)
        if isinstance(found, Entry):
            return found
        if found.unread:
            raise _Unverifiable(
                f"the folder {found.folder or '/'} of commit {short} is not in this clone", self._remedy()
            )
        if found.stop is not None:
            raise _Unverifiable(f"{found.folder} is {found.stop.mode.value} at {short}", self._instead(found.stop))
        if found.near:
            near = f"{found.folder}/{found.near}" if found.folder else found.near
            raise _Unverifiable(f"there is no {pin.path} at {short}, but {near}", "capitals count: mend the pin")
        raise _Unverifiable(f"there is no {pin.path} at {short}", f"see: git log --all --full-history -- '{pin.path}'")

    def _instead(self, entry: Entry) -> str:
        if entry.mode is Mode.LINK:
            content = next(iter(self.snapshots.read([entry.id])))[1]
            target = content.decode("utf-8", "replace") if content else "what it leads to"
            return f"pin the file that the link leads to: {target}"
        if entry.mode is Mode.SUBMODULE:
            return "pin the file in the submodule's own repository, under an alias of its own"
        return "pin the files in it"

    def _missing_remedy(self) -> str:
        if self.repository.is_shallow():
            return "this clone is shallow: git fetch --unshallow, or rulebook sync"
        return "rulebook sync; where it was rebased away, re-pin: rulebook repin --unseen"

    def _noted(self, pin: Pin, seen: Mapping[str, str], reason: str, remedy: str) -> _Place:
        """What was noted beside a pin whose commit cannot be looked at."""
        if not seen.get("blob") and not seen.get("sha256"):
            raise _Unverifiable(reason, remedy)
        remarks = (f"{reason}: judged by what was noted beside the pin",)
        blob = seen.get("blob", "")
        here = bool(blob) and self.snapshots.present([blob])[blob] if _is_id(blob) else False
        return _Place(pin, seen, Entry(Mode.FILE, blob) if here else None, remarks)

    # --- then and now ---

    def _compare(self, place: _Place) -> Verdict:
        pin = place.pin
        now = self.snapshots.at(self.head.commit, pin.path)
        if isinstance(now, Absent) and now.unread:
            raise _Unverifiable(f"the folder {now.folder or '/'} at the head is not in this clone", self._remedy())
        if place.entry is None:
            return self._compare_noted(place, now)
        if isinstance(now, Entry) and now.mode is Mode.FILE:
            return self._unchanged(place, now) if now.id == place.entry.id else self._changed(place, place.entry, now)
        return self._vanished(place, place.entry, now)

    def _unchanged(self, place: _Place, now: Entry) -> Verdict:
        """The ids are the same; what is left to see is the content, and that the anchor names something in it."""
        what = f"{place.pin.path} at {place.pin.commit[:12]}"
        if not self.snapshots.present([now.id])[now.id]:
            raise _Unverifiable(f"the content of {what} is not in this clone", self._remedy())
        if place.pin.anchor:
            self._text(place.pin, now, what)
        return Verdict(state=State.FRESH, because="the file is the same, byte for byte", now=self._at(place.pin))

    def _changed(self, place: _Place, then: Entry, now: Entry, path: str = "") -> Verdict:
        """The file is there, under its own path or under ``path``, and different."""
        pin = place.pin
        there = path or pin.path
        if pin.symbol:
            return self._changed_symbol(place, then, now, there)
        if pin.first:
            return self._changed_lines(place, then, now, there)
        here = self.snapshots.present([then.id, now.id])
        if not (here[then.id] and here[now.id]):
            because = "its id differs; its content is not in this clone, so line endings may be all that changed"
            state = State.MOVED if path else State.CHANGED
            return Verdict(state=state, detail=Detail.BODY, because=because, now=self._at(pin, path=there))
        old = self._content(then.id, f"{pin.path} at {pin.commit[:12]}")
        new = self._content(now.id, f"{there} at the head")
        if same_text(old, new):
            return Verdict(
                state=State.MOVED if path else State.FRESH,
                because=f"the file is now {there}" if path else "only line endings differ",
                now=self._at(pin, path=there),
            )
        removed, added = _count_lines(old, new)
        because = f"{removed:,} lines of it are gone and {added:,} are new"
        return Verdict(
            state=State.MOVED if path else State.CHANGED,
            detail=Detail.BODY,
            because=f"the file is now {there}, and {because}" if path else because,
            now=self._at(pin, path=there),
        )

    def _changed_symbol(self, place: _Place, then: Entry, now: Entry, path: str) -> Verdict:
        pin = place.pin
        old = self._text(pin, then, f"{pin.path} at {pin.commit[:12]}")
        found = self._outline(path, now.id, f"{path} at the head")
        if found.problem:
            raise _Unverifiable(f"{path} at the head {found.problem}", "read it yourself, then re-pin")
        definitions = found.find(pin.symbol)
        if not definitions:
            return self._lost_symbol(place, old)
        new = joined((self._contents[now.id] or b"").split(b"\n"), definitions)
        moved = path != pin.path
        state = State.MOVED if moved else State.FRESH
        where = f"{path}, {_span(definitions)}"
        if same_text(old, new):
            return Verdict(
                state=state,
                detail=None if moved else Detail.ELSEWHERE,
                because=f"the same definition stands in {where}"
                if moved
                else f"the file changed elsewhere; the definition did not, and stands in {_span(definitions)}",
                now=self._at(pin, path=path),
            )
        before, after = (signature(path, text.decode("utf-8", "replace")) for text in (old, new))
        detail = Detail.SIGNATURE if before != after else Detail.BODY
        because = "its signature differs" if detail is Detail.SIGNATURE else "its body differs"
        return Verdict(
            state=State.MOVED if moved else State.CHANGED,
            detail=detail,
            because=f"it stands in {where}, and {because}" if moved else because,
            now=self._at(pin, path=path),
        )

    def _changed_lines(self, place: _Place, then: Entry, now: Entry, path: str) -> Verdict:
        pin = place.pin
        old = self._content(then.id, f"{pin.path} at {pin.commit[:12]}")
        self._text(pin, then, f"{pin.path} at {pin.commit[:12]}")
        new = self._content(now.id, f"{path} at the head")

        def followed() -> list[int] | None:
            if pin.commit not in self._ancestry.held or self.repository.may_fetch_lazily:
                return None
            lines = self.repository.follow_lines(pin.commit, self.head.commit, pin.path, pin.first, pin.last)
            return None if lines is None else [number for name, number in lines if name == path]

        mapped = map_lines(old, new, pin.first, pin.last, followed=followed)
        moved = path != pin.path
        if mapped is None:
            return self._moved_lines(place, old) or Verdict(
                state=State.GONE, because=f"the lines were removed from {path}, and stand nowhere else"
            )
        at = self._at(pin, path=path, first=mapped.first, last=mapped.last)
        if mapped.same:
            return Verdict(
                state=State.MOVED if moved else State.FRESH,
                detail=None if moved else Detail.ELSEWHERE,
                because=f"the same lines stand in {path}, {at.anchor}"
                if moved
                else f"the file changed elsewhere; the lines did not, and are now {at.anchor}",
                now=at,
            )
        return Verdict(
            state=State.MOVED if moved else State.CHANGED,
            detail=Detail.LINES,
            because=f"the lines differ; they are now {path}, {at.anchor}"
            if moved
            else f"they are now {at.anchor}, and differ",
            now=at,
        )

    # --- what is no longer at its path ---

    def _vanished(self, place: _Place, then: Entry, now: Entry | Absent) -> Verdict:
        """The path is no file any more: renamed, taken apart, replaced or removed."""
        pin = place.pin
        if isinstance(now, Entry) and not (pin.symbol and now.mode is Mode.FOLDER):
            because = f"{pin.path} is {now.mode.value} now"
            return Verdict(state=State.CHANGED, detail=Detail.BODY, because=because, remedy=self._instead(now))
        target = self._renamed(place, then)
        if target is not None:
            path, entry = target
            if entry.id == then.id:
                if pin.anchor:  # It has to name something there.
                    self._text(pin, then, f"{pin.path} at {pin.commit[:12]}")
                return Verdict(
                    state=State.MOVED, because=f"the file is now {path}, unchanged", now=self._at(pin, path=path)
                )
            return self._changed(place, then, entry, path)
        if pin.symbol:
            return self._lost_symbol(place, self._text(pin, then, f"{pin.path} at {pin.commit[:12]}"))
        if pin.first:
            self._text(pin, then, f"{pin.path} at {pin.commit[:12]}")
            moved = self._moved_lines(place, self._content(then.id, pin.path))
            if moved is not None:
                return moved
        twin = next((path for path, entry in self._head_files().items() if entry == then), "")
        because = f"{pin.path} was removed" + (
            f"; its like is left in {twin}" if twin else ", and no rename explains it"
        )
        return Verdict(state=State.GONE, because=because)

    def _renamed(self, place: _Place, then: Entry) -> tuple[str, Entry] | None:
        """The path that the file was renamed to, and what stands there."""
        commit = place.pin.commit
        if not isinstance(self.snapshots.commit(commit), Commit):
            same = [(path, entry) for path, entry in self._head_files().items() if entry == then]
            if not same:
                raise _Unverifiable(
                    f"{place.pin.path} is gone, and without the commit a rename cannot be told from a removal",
                    "rulebook sync, or read the source again and re-pin it",
                )
            return same[0]
        changes = self._changes(commit, self.head.commit)
        change = changes.of.get(place.pin.path)
        if change is not None and change.status == "R":
            return change.path, Entry(Mode.FILE, change.new_id)
        unread = next((path for path in changes.unread if _suffix(path) == _suffix(place.pin.path)), "")
        if unread:
            raise _Unverifiable(
                f"{place.pin.path} is gone from its place, and may be {unread} now, whose content is not in this clone",
                self._remedy(),
            )
        return None

    def _changes(self, old: str, new: str) -> _Changes:
        """What became of the files of one commit in another, with renames."""
        if (old, new) not in self._compared:
            unread: list[str] = []
            try:
                found = self.repository.changes(old, new)
            except GitError:
                # Git gives up on the first content that it lacks: have it compare those that are here.
                listed = self.repository.changes(old, new, exact=True)
                moved = [change for change in listed if change.status in "AD"]
                here = self.snapshots.present({_content_id(change) for change in moved})
                unread = [change.path for change in moved if not here[_content_id(change)]]
                paths = [change.path for change in moved if here[_content_id(change)]]
                try:
                    compared = self.repository.changes(old, new, paths=paths) if paths else []
                except GitError as error:
                    raise _Unverifiable(f"what was renamed cannot be told: {error.message}", self._remedy()) from None
                found = [change for change in listed if change.path not in set(paths)] + compared
            self._compared[old, new] = _Changes(
                {change.old_path: change for change in found if change.status not in "AC"}, tuple(unread)
            )
        return self._compared[old, new]

    def _moved_lines(self, place: _Place, old: bytes) -> Verdict | None:
        """Pinned lines that stand in another file now."""
        pin = place.pin
        block = self._definitions_at_head(pin.path, pin.commit).find_block(
            old,
            pin.first,
            pin.last,
            pin.path,
            self._known_at(pin.commit),
            self._former_paths(pin.commit, self.head.commit),
        )
        if block is None:
            return None
        at = self._at(pin, path=block.path, first=block.first, last=block.last)
        return Verdict(state=State.MOVED, because=f"the same lines stand in {block.path}, {at.anchor}", now=at)

    def _lost_symbol(self, place: _Place, text: bytes) -> Verdict:
        """The symbol's file has it no more, or is no more: look for it elsewhere."""
        pin = place.pin
        move, removed_by = self._trace(pin)
        if move is None:
            head = self._definitions_at_head(pin.path, pin.commit)
            known, former = self._known_at(pin.commit), self._former_paths(pin.commit, self.head.commit)
            move = head.find_move(pin.symbol, text, pin.path, known, former)
        if move is not None:
            return self._moved_symbol(pin, text, move)
        mentions = head.mentions(pin.symbol)
        more = f" and {len(mentions) - 1:,} more" if len(mentions) > 1 else ""
        mention = f"its name still stands in {mentions[0]}{more}" if mentions else "its name stands nowhere any more"
        by = f" by {removed_by[:12]}" if removed_by else ""
        return Verdict(state=State.GONE, because=f"{pin.symbol} was removed{by}, and no move explains it; {mention}")

    def _trace(self, pin: Pin) -> tuple[Move | None, str]:
        """Follows a definition from commit to commit: where it ended up, or else the commit that removed it.

        From one commit to the next little changes, so a rename or a move shows that cannot be told any more once
        the definition was also rewritten. Only along first parents, and only where all contents are here.
        """
        chain = self.snapshots.first_parents(self.head.commit, pin.commit)
        if chain is None or self.repository.may_fetch_lazily:
            return None, ""
        path, name, text = pin.path, pin.symbol.replace("::", "."), b""
        try:
            for older, newer in pairwise(chain):
                places = self.snapshots.resolve([(older, path), (newer, path)])
                then, now = places[older, path], places[newer, path]
                if then == now:
                    continue
                text = self._text(pin._replace(commit=older, path=path, symbol=name), _file(then), path)
                if isinstance(now, Entry) and now.mode is Mode.FILE and self._outline(path, now.id, path).find(name):
                    continue
                before, after = self._definitions_of(older), self._definitions_of(newer)
                former = self._former_paths(older, newer)
                home = next((renamed for renamed, earlier in former.items() if earlier == path), "")
                if home and self._outline(home, after.files[home], home).find(name):
                    path = home
                    continue
                step = after.find_move(name, text, path, before, former)
                if step is None:
                    return None, newer
                path, name = step.path, step.name
            end = self.snapshots.at(self.head.commit, path)
            text = self._text(pin._replace(path=path, symbol=name), _file(end), path)
            begin = self._text(pin, self._entry(pin), pin.path)
        except _Unverifiable:
            return None, ""
        return Move(path, name, text, same=same_move(begin, text, pin.symbol, name)), ""

    def _moved_symbol(self, pin: Pin, text: bytes, move: Move) -> Verdict:
        at = self._at(pin, path=move.path, symbol=move.name)
        where = f"{move.path}#{move.name}" if move.path != pin.path else f"#{move.name}"
        if move.same:
            return Verdict(state=State.MOVED, because=f"the same definition is now {where}", now=at)
        renamed = with_name(move.text, move.name, pin.symbol)
        before, after = (signature(move.path, part.decode("utf-8", "replace")) for part in (text, renamed))
        detail = Detail.SIGNATURE if before != after else Detail.BODY
        because = f"it is now {where}, and its {detail.value} differs"
        return Verdict(state=State.MOVED, detail=detail, because=because, now=at)

    def _former_paths(self, old: str, new: str) -> Mapping[str, str]:
        """The path at the commit ``old`` of each file of ``new`` that was renamed in between."""
        if not isinstance(self.snapshots.commit(old), Commit):
            return {}
        return {change.path: path for path, change in self._changes(old, new).of.items() if change.status == "R"}

    def _head_files(self) -> Mapping[str, Entry]:
        files = self.snapshots.files(self.head.commit)
        if files is None:
            raise _Unverifiable("not every folder of the head is in this clone", self._remedy())
        return files

    def _definitions_at_head(self, path: str, commit: str) -> Definitions:
        """What is defined at the head.

        Unverifiable where a file is not in this clone that what was in ``path`` at ``commit`` may have moved into.
        """
        head = self._definitions_of(self.head.commit)
        targets = head.targets(path, self._known_at(commit), self._former_paths(commit, self.head.commit))
        here = self.snapshots.present(head.files[target] for target in targets)
        missing = next((target for target in targets if not here[head.files[target]]), None)
        if missing is not None:
            raise _Unverifiable(
                f"it is gone from {path}, and may stand in {missing}, whose content is not in this clone",
                self._remedy(),
            )
        return head

    def _known_at(self, commit: str) -> Definitions | None:
        """What was defined at a pinned commit, or ``None`` where that cannot be told."""
        try:
            return self._definitions_of(commit)
        except _Unverifiable:
            return None

    def _definitions_of(self, commit: str) -> Definitions:
        if commit not in self._definitions:
            found = self.snapshots.commit(commit)
            files = self.snapshots.files(commit) if isinstance(found, Commit) else None
            if files is None:
                raise _Unverifiable(f"not every folder of {commit[:12]} is in this clone", self._remedy())
            plain = {path: entry.id for path, entry in files.items() if entry.mode is Mode.FILE}
            self._definitions[commit] = Definitions(plain, self._read_all, self._outline_of)
        return self._definitions[commit]

    def _read_all(self, ids: Collection[str]) -> Mapping[str, bytes | None]:
        self._load(ids)
        return self._contents

    def _outline_of(self, path: str, identity: str) -> Outline:
        return self._outline(path, identity, path)

    # --- only what was noted is left ---

    def _compare_noted(self, place: _Place, now: Entry | Absent) -> Verdict:
        pin, seen = place.pin, place.seen
        blob, digest = seen.get("blob", ""), seen.get("sha256", "")
        if isinstance(now, Entry) and now.mode is Mode.FILE:
            if not self.snapshots.present([now.id])[now.id]:
                raise _Unverifiable(f"the content of {pin.path} at the head is not in this clone", self._remedy())
            if blob and blob == now.id:
                return self._unchanged(place, now)
            if digest:
                return self._compare_digest(place, now, digest)
            if pin.anchor:
                raise _Unverifiable(
                    f"{pin.path} changed, and whether {pin.anchor} did cannot be told without the commit",
                    "rulebook sync, or read the source again and re-pin it",
                )
            because = "the file is not the one that was noted"
            return Verdict(state=State.CHANGED, detail=Detail.BODY, because=because, now=self._at(pin))
        same = next((path for path, entry in self._head_files().items() if blob and entry.id == blob), None)
        if same is not None:
            return Verdict(
                state=State.MOVED, because=f"the file is now {same}, unchanged", now=self._at(pin, path=same)
            )
        raise _Unverifiable(
            f"{pin.path} is gone from its place, and without the commit a move cannot be told from a removal",
            "rulebook sync, or read the source again and re-pin it",
        )

    def _compare_digest(self, place: _Place, now: Entry, digest: str) -> Verdict:
        pin = place.pin
        found = self._digest(pin, now, f"{pin.path} at the head")
        if found == digest:
            return Verdict(state=State.FRESH, because="it has the hash that was noted", now=self._at(pin))
        if pin.first:
            lines = _lines(self._content(now.id, pin.path))
            count = pin.last - pin.first + 1
            for start in range(len(lines) - count + 1):
                if _sha256("".join(lines[start : start + count])) == digest:
                    at = self._at(pin, first=start + 1, last=start + count)
                    return Verdict(
                        state=State.FRESH, detail=Detail.ELSEWHERE, because=f"the lines are now {at.anchor}", now=at
                    )
        detail = Detail.LINES if pin.first else Detail.BODY
        return Verdict(
            state=State.CHANGED, detail=detail, because="it has not the hash that was noted", now=self._at(pin)
        )

    # --- the pinned text ---

    def _text(self, pin: Pin, entry: Entry, what: str) -> bytes:
        """The bytes that the pin's anchor names in a file."""
        content = self._content(entry.id, what)
        if pin.symbol:
            found = self._outline(pin.path, entry.id, what)
            if found.problem:
                raise _Unverifiable(f"{what} {found.problem}", "pin the whole file, or lines of it")
            definitions = found.find(pin.symbol)
            if not definitions:
                import difflib

                near = difflib.get_close_matches(pin.symbol, found.definitions, 1, 0.6)
                remedy = f"did you mean #{near[0]}?" if near else "pin a name that is defined there, or lines"
                raise _Unverifiable(f"{what} defines no {pin.symbol}", remedy)
            return joined(content.split(b"\n"), definitions)
        if pin.first:
            lines = content.split(b"\n")
            count = len(lines) - (not lines[-1])
            if pin.last > count:
                raise _Unverifiable(f"{what} has only {count:,} lines", "mend the pin's line numbers")
            return b"\n".join(lines[pin.first - 1 : pin.last])
        return content

    def text_of(self, pin: Pin) -> bytes | None:
        """The bytes that a pin names, or ``None`` where they cannot be looked at; for showing, not for judging."""
        try:
            commit = self.snapshots.commit(pin.commit)
            if not isinstance(commit, Commit):
                return None
            return self._text(pin, self._entry(pin), pin.path)
        except _Unverifiable:
            return None

    def blob_of(self, pin: Pin) -> str:
        """The id of the pinned file's content; empty where it cannot be looked at."""
        try:
            return self._entry(pin).id if isinstance(self.snapshots.commit(pin.commit), Commit) else ""
        except _Unverifiable:
            return ""

    def edited_since(self, since: str, paths: Collection[str]) -> frozenset[str]:
        """Those of ``paths`` that the default branch changed after ``since``, a commit or a day (``YYYY-MM-DD``).

        Raises:
            GitError: ``since`` names no commit here.
        """
        head = self.head.commit
        if _DAY.fullmatch(since):
            start = self.repository.last_commit_before(since, head)
        else:
            start = self.repository.resolve_commit(since)
        if start is None:
            # The branch is younger than that.
            return frozenset(paths)
        self.snapshots.survey([start, head])
        found = self.snapshots.resolve([(commit, path) for path in paths for commit in (start, head)])
        return frozenset(path for path in paths if _differ(found[start, path], found[head, path]))

    def lost_names(self, names: Sequence[str], commits: Collection[str]) -> dict[str, str]:
        """Which names of code the default branch has no more that were there at one of ``commits``, and why.

        A name that was there at none of them says nothing: it may belong to another project.
        """
        lost: dict[str, str] = {}
        here = [commit for commit in commits if isinstance(self.snapshots.commit(commit), Commit)]
        self.snapshots.survey([self.head.commit, *here])
        try:
            head = self._definitions_of(self.head.commit)
            for name in names if here else ():
                now = head.find_word(name)
                if now.defined or now.path_part or not now.complete:
                    continue
                for commit in here:
                    then = self._definitions_of(commit).find_word(name)
                    if then.defined and now.mentioned:
                        lost[name] = (
                            f"defined in {then.defined} at {commit[:12]}, and only mentioned now, in {now.mentioned}"
                        )
                    elif then.mentioned and not now.mentioned:
                        where = then.defined or then.mentioned
                        lost[name] = f"in {where} at {commit[:12]}, and nowhere on the default branch now"
                    if name in lost:
                        break
        except _Unverifiable:
            return lost
        return lost

    def _digest(self, pin: Pin, entry: Entry, what: str) -> str:
        return _sha256(self._text(pin, entry, what).decode("utf-8", "surrogateescape"))

    def _at(self, pin: Pin, *, path: str = "", symbol: str = "", first: int = 0, last: int = 0) -> Pin:
        """The pin that stands for the same place at the head."""
        return pin._replace(
            commit=self.head.commit,
            path=path or pin.path,
            symbol=symbol or pin.symbol,
            first=first or pin.first,
            last=last or pin.last,
        )


def text_digest(text: bytes) -> str:
    """The hash that is noted beside a pin: SHA-256 of the anchored text with LF line ends, but none at its end."""
    return _sha256(text.decode("utf-8", "surrogateescape"))


def _sha256(text: str) -> str:
    from hashlib import sha256

    plain = f"{text}\n".replace("\r\n", "\n").rstrip("\n")
    return sha256(plain.encode("utf-8", "surrogateescape")).hexdigest()


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "surrogateescape").splitlines(keepends=True)


def _differ(then: Entry | Absent, now: Entry | Absent) -> bool:
    return then != now if isinstance(then, Entry) or isinstance(now, Entry) else False


def _file(entry: Entry | Absent) -> Entry:
    if isinstance(entry, Entry) and entry.mode is Mode.FILE:
        return entry
    raise _Unverifiable("there is no file", "")


def _content_id(change: RawChange) -> str:
    """The id of the content of an added or deleted file."""
    return change.new_id if change.status == "A" else change.old_id


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2]


def _is_id(text: str) -> bool:
    return len(text) == 40 and not text.strip("0123456789abcdef")


def _span(definitions: Sequence[Definition]) -> str:
    return ", ".join(
        f"line {found.first}" if found.first == found.last else f"lines {found.first}-{found.last}"
        for found in definitions
    )


def _count_lines(old: bytes, new: bytes) -> tuple[int, int]:
    """How many lines only the old and only the new text has."""
    from collections import Counter

    before, after = (Counter(line.rstrip(b"\r") for line in text.split(b"\n")) for text in (old, new))
    return sum((before - after).values()), sum((after - before).values())
