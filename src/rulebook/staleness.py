"""Source pins × clones of the target repositories → what became of each pinned place.

A verdict is about what was looked at. *Fresh* is only said where the pinned bytes are what stands on the
default branch; whatever could not be looked at is *unverifiable*, with the reason and the remedy; and *gone*
is only said once renames and moves are ruled out.

The format and the meaning of every state are documented in
``docs/freshness.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rulebook.definitions import Definition, signature
from rulebook.evidence import Evidence, Unverifiable, text_digest
from rulebook.git.records import Commit, Entry, Mode
from rulebook.moves import Move, joined, map_lines, same_text, with_name
from rulebook.snapshots import Absent, Head
from rulebook.verdicts import Detail, State, Verdict, unverifiable

if TYPE_CHECKING:
    from typing_extensions import Self

    from rulebook.git.repository import Repository
    from rulebook.pins import Pin

Progress = Callable[[int, int], None]
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


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
        self._evidence = Evidence(repository, branch, alias=alias)
        self.head: Head = self._evidence.head

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._evidence.snapshots.close()

    def check(
        self, pins: Iterable[tuple[Pin, Mapping[str, str]]], *, progress: Progress | None = None
    ) -> list[Verdict]:
        """The verdict on each pin, in their order; ``seen`` is what was noted beside it."""
        asked = list(pins)
        self._evidence.prepare([pin for pin, _ in asked])
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

    # --- what was pinned ---

    def _check(self, pin: Pin, seen: Mapping[str, str]) -> Verdict:
        try:
            place = self._pinned(pin, seen)
            verdict = self._compare(place)
        except Unverifiable as trouble:
            return unverifiable(trouble.reason, trouble.remedy)
        if not place.remarks:
            return verdict
        return replace(verdict, because="; ".join((verdict.because, *place.remarks)))

    def _pinned(self, pin: Pin, seen: Mapping[str, str]) -> _Place:
        """What was pinned."""
        commit = self._evidence.snapshots.commit(pin.commit)
        short = pin.commit[:12]
        if commit == "missing":
            return self._noted(pin, seen, f"commit {short} is not in this clone", self._evidence.missing_remedy())
        if not isinstance(commit, Commit):
            what = "is damaged" if commit == "damaged" else f"is a {commit}, not a commit"
            raise Unverifiable(f"{short} {what}", f"write the id of a commit: git log --format=%H -- '{pin.path}'")
        if pin.commit in self._evidence.dangling:
            reason = f"commit {short} is on no branch or tag any more (rebased away or replaced)"
            return self._noted(pin, seen, reason, "pin a commit of the default branch: rulebook repin --unseen")
        remarks: tuple[str, ...] = ()
        if pin.commit not in self._evidence.ancestry.held:
            remarks = (
                (f"commit {short} is no ancestor of the default branch",)
                if self._evidence.ancestry.complete
                else (f"whether the default branch holds commit {short} cannot be told: the history is cut here",)
            )
        entry = self._evidence.entry(pin)
        if entry.mode is not Mode.FILE:
            raise Unverifiable(f"{pin.path} is {entry.mode.value} at {short}", self._evidence.instead(entry))
        if seen.get("blob", entry.id) != entry.id:
            raise Unverifiable(
                f"the blob noted beside the pin is not what stands at {short}",
                "one of the two is wrong: read the source again and re-pin it",
            )
        if "sha256" in seen and seen["sha256"] != self._evidence.digest(pin, entry, f"{pin.path} at {short}"):
            raise Unverifiable(
                f"the hash noted beside the pin is not that of what stands at {short}",
                "one of the two is wrong: read the source again and re-pin it",
            )
        return _Place(pin, seen, entry, remarks)

    def _noted(self, pin: Pin, seen: Mapping[str, str], reason: str, remedy: str) -> _Place:
        """What was noted beside a pin whose commit cannot be looked at."""
        if not seen.get("blob") and not seen.get("sha256"):
            raise Unverifiable(reason, remedy)
        remarks = (f"{reason}: judged by what was noted beside the pin",)
        blob = seen.get("blob", "")
        here = bool(blob) and self._evidence.snapshots.present([blob])[blob] if _is_id(blob) else False
        return _Place(pin, seen, Entry(Mode.FILE, blob) if here else None, remarks)

    # --- then and now ---

    def _compare(self, place: _Place) -> Verdict:
        pin = place.pin
        now = self._evidence.snapshots.at(self.head.commit, pin.path)
        if isinstance(now, Absent) and now.unread:
            raise Unverifiable(
                f"the folder {now.folder or '/'} at the head is not in this clone", self._evidence.remedy()
            )
        if place.entry is None:
            return self._compare_noted(place, now)
        if isinstance(now, Entry) and now.mode is Mode.FILE:
            return self._unchanged(place, now) if now.id == place.entry.id else self._changed(place, place.entry, now)
        return self._vanished(place, place.entry, now)

    def _unchanged(self, place: _Place, now: Entry) -> Verdict:
        """The ids are the same; what is left to see is the content, and that the anchor names something in it."""
        what = f"{place.pin.path} at {place.pin.commit[:12]}"
        if not self._evidence.snapshots.present([now.id])[now.id]:
            raise Unverifiable(f"the content of {what} is not in this clone", self._evidence.remedy())
        if place.pin.anchor:
            self._evidence.text(place.pin, now, what)
        return Verdict(state=State.FRESH, because="the file is the same, byte for byte", now=self._at(place.pin))

    def _changed(self, place: _Place, then: Entry, now: Entry, path: str = "") -> Verdict:
        """The file is there, under its own path or under ``path``, and different."""
        pin = place.pin
        there = path or pin.path
        if pin.symbol:
            return self._changed_symbol(place, then, now, there)
        if pin.first:
            return self._changed_lines(place, then, now, there)
        here = self._evidence.snapshots.present([then.id, now.id])
        if not (here[then.id] and here[now.id]):
            because = "its id differs; its content is not in this clone, so line endings may be all that changed"
            state = State.MOVED if path else State.CHANGED
            return Verdict(state=state, detail=Detail.BODY, because=because, now=self._at(pin, path=there))
        old = self._evidence.content(then.id, f"{pin.path} at {pin.commit[:12]}")
        new = self._evidence.content(now.id, f"{there} at the head")
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
        old = self._evidence.text(pin, then, f"{pin.path} at {pin.commit[:12]}")
        found = self._evidence.outline(path, now.id, f"{path} at the head")
        if found.problem:
            raise Unverifiable(f"{path} at the head {found.problem}", "read it yourself, then re-pin")
        definitions = found.find(pin.symbol)
        if not definitions:
            return self._lost_symbol(place, old)
        new = joined(self._evidence.content(now.id, f"{path} at the head").split(b"\n"), definitions)
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
        old = self._evidence.content(then.id, f"{pin.path} at {pin.commit[:12]}")
        self._evidence.text(pin, then, f"{pin.path} at {pin.commit[:12]}")
        new = self._evidence.content(now.id, f"{path} at the head")

        def followed() -> list[int] | None:
            if pin.commit not in self._evidence.ancestry.held or self._evidence.repository.may_fetch_lazily:
                return None
            lines = self._evidence.repository.follow_lines(pin.commit, self.head.commit, pin.path, pin.first, pin.last)
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
            return Verdict(state=State.CHANGED, detail=Detail.BODY, because=because, remedy=self._evidence.instead(now))
        target = self._evidence.renamed(pin, then)
        if target is not None:
            path, entry = target
            if entry.id == then.id:
                if pin.anchor:  # It has to name something there.
                    self._evidence.text(pin, then, f"{pin.path} at {pin.commit[:12]}")
                return Verdict(
                    state=State.MOVED, because=f"the file is now {path}, unchanged", now=self._at(pin, path=path)
                )
            return self._changed(place, then, entry, path)
        if pin.symbol:
            return self._lost_symbol(place, self._evidence.text(pin, then, f"{pin.path} at {pin.commit[:12]}"))
        if pin.first:
            self._evidence.text(pin, then, f"{pin.path} at {pin.commit[:12]}")
            moved = self._moved_lines(place, self._evidence.content(then.id, pin.path))
            if moved is not None:
                return moved
        twin = next((path for path, entry in self._evidence.head_files().items() if entry == then), "")
        because = f"{pin.path} was removed" + (
            f"; its like is left in {twin}" if twin else ", and no rename explains it"
        )
        return Verdict(state=State.GONE, because=because)

    def _moved_lines(self, place: _Place, old: bytes) -> Verdict | None:
        """Pinned lines that stand in another file now."""
        pin = place.pin
        block = self._evidence.definitions_at_head(pin.path, pin.commit).find_block(
            old,
            pin.first,
            pin.last,
            pin.path,
            self._evidence.known_at(pin.commit),
            self._evidence.former_paths(pin.commit, self.head.commit),
        )
        if block is None:
            return None
        at = self._at(pin, path=block.path, first=block.first, last=block.last)
        return Verdict(state=State.MOVED, because=f"the same lines stand in {block.path}, {at.anchor}", now=at)

    def _lost_symbol(self, place: _Place, text: bytes) -> Verdict:
        """The symbol's file has it no more, or is no more: look for it elsewhere."""
        pin = place.pin
        move, removed_by = self._evidence.trace(pin)
        if move is None:
            head = self._evidence.definitions_at_head(pin.path, pin.commit)
            known, former = (
                self._evidence.known_at(pin.commit),
                self._evidence.former_paths(pin.commit, self.head.commit),
            )
            move = head.find_move(pin.symbol, text, pin.path, known, former)
        if move is not None:
            return self._moved_symbol(pin, text, move)
        mentions = head.mentions(pin.symbol)
        more = f" and {len(mentions) - 1:,} more" if len(mentions) > 1 else ""
        mention = f"its name still stands in {mentions[0]}{more}" if mentions else "its name stands nowhere any more"
        by = f" by {removed_by[:12]}" if removed_by else ""
        return Verdict(state=State.GONE, because=f"{pin.symbol} was removed{by}, and no move explains it; {mention}")

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

    # --- only what was noted is left ---

    def _compare_noted(self, place: _Place, now: Entry | Absent) -> Verdict:
        pin, seen = place.pin, place.seen
        blob, digest = seen.get("blob", ""), seen.get("sha256", "")
        if isinstance(now, Entry) and now.mode is Mode.FILE:
            if not self._evidence.snapshots.present([now.id])[now.id]:
                raise Unverifiable(
                    f"the content of {pin.path} at the head is not in this clone", self._evidence.remedy()
                )
            if blob and blob == now.id:
                return self._unchanged(place, now)
            if digest:
                return self._compare_digest(place, now, digest)
            if pin.anchor:
                raise Unverifiable(
                    f"{pin.path} changed, and whether {pin.anchor} did cannot be told without the commit",
                    "rulebook sync, or read the source again and re-pin it",
                )
            because = "the file is not the one that was noted"
            return Verdict(state=State.CHANGED, detail=Detail.BODY, because=because, now=self._at(pin))
        same = next((path for path, entry in self._evidence.head_files().items() if blob and entry.id == blob), None)
        if same is not None:
            return Verdict(
                state=State.MOVED, because=f"the file is now {same}, unchanged", now=self._at(pin, path=same)
            )
        raise Unverifiable(
            f"{pin.path} is gone from its place, and without the commit a move cannot be told from a removal",
            "rulebook sync, or read the source again and re-pin it",
        )

    def _compare_digest(self, place: _Place, now: Entry, digest: str) -> Verdict:
        pin = place.pin
        found = self._evidence.digest(pin, now, f"{pin.path} at the head")
        if found == digest:
            return Verdict(state=State.FRESH, because="it has the hash that was noted", now=self._at(pin))
        if pin.first:
            lines = self._evidence.content(now.id, pin.path).split(b"\n")
            lines = lines if lines[-1] else lines[:-1]
            count = pin.last - pin.first + 1
            for start in range(len(lines) - count + 1):
                if text_digest(b"\n".join(lines[start : start + count])) == digest:
                    at = self._at(pin, first=start + 1, last=start + count)
                    return Verdict(
                        state=State.FRESH, detail=Detail.ELSEWHERE, because=f"the lines are now {at.anchor}", now=at
                    )
        detail = Detail.LINES if pin.first else Detail.BODY
        return Verdict(
            state=State.CHANGED, detail=detail, because="it has not the hash that was noted", now=self._at(pin)
        )

    def _at(self, pin: Pin, *, path: str = "", symbol: str = "", first: int = 0, last: int = 0) -> Pin:
        """The pin that stands for the same place at the head."""
        return pin._replace(
            commit=self.head.commit,
            path=path or pin.path,
            symbol=symbol or pin.symbol,
            first=first or pin.first,
            last=last or pin.last,
        )

    # --- questions beside the verdicts ---

    def text_of(self, pin: Pin) -> bytes | None:
        """The bytes that a pin names, or ``None`` where they cannot be looked at; for showing, not for judging."""
        try:
            commit = self._evidence.snapshots.commit(pin.commit)
            if not isinstance(commit, Commit):
                return None
            return self._evidence.text(pin, self._evidence.entry(pin), pin.path)
        except Unverifiable:
            return None

    def blob_of(self, pin: Pin) -> str:
        """The id of the pinned file's content; empty where it cannot be looked at."""
        try:
            return (
                self._evidence.entry(pin).id if isinstance(self._evidence.snapshots.commit(pin.commit), Commit) else ""
            )
        except Unverifiable:
            return ""

    def edited_since(self, since: str, paths: Collection[str]) -> frozenset[str]:
        """Those of ``paths`` that the default branch changed after ``since``, a commit or a day (``YYYY-MM-DD``).

        Raises:
            GitError: ``since`` names no commit here.
        """
        head = self.head.commit
        if _DAY.fullmatch(since):
            start = self._evidence.repository.last_commit_before(since, head)
        else:
            start = self._evidence.repository.resolve_commit(since)
        if start is None:
            # The branch is younger than that.
            return frozenset(paths)
        self._evidence.snapshots.survey([start, head])
        found = self._evidence.snapshots.resolve([(commit, path) for path in paths for commit in (start, head)])
        return frozenset(path for path in paths if _differ(found[start, path], found[head, path]))

    def lost_names(self, names: Sequence[str], commits: Collection[str]) -> dict[str, str]:
        """Which names of code the default branch has no more that were there at one of ``commits``, and why.

        A name that was there at none of them says nothing: it may belong to another project.
        """
        lost: dict[str, str] = {}
        here = [commit for commit in commits if isinstance(self._evidence.snapshots.commit(commit), Commit)]
        self._evidence.snapshots.survey([self.head.commit, *here])
        try:
            head = self._evidence.definitions_of(self.head.commit)
            for name in names if here else ():
                now = head.find_word(name)
                if now.defined or now.path_part or not now.complete:
                    continue
                for commit in here:
                    then = self._evidence.definitions_of(commit).find_word(name)
                    if then.defined and now.mentioned:
                        lost[name] = (
                            f"defined in {then.defined} at {commit[:12]}, and only mentioned now, in {now.mentioned}"
                        )
                    elif then.mentioned and not now.mentioned:
                        where = then.defined or then.mentioned
                        lost[name] = f"in {where} at {commit[:12]}, and nowhere on the default branch now"
                    if name in lost:
                        break
        except Unverifiable:
            return lost
        return lost


def _differ(then: Entry | Absent, now: Entry | Absent) -> bool:
    return then != now if isinstance(then, Entry) or isinstance(now, Entry) else False


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
