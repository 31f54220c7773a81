"""The history of a knowledge base's pins: which commit added, dropped or renewed a document's sources.

It is read from the knowledge base's own repository, by a fixed number of git processes, and each version of a file is
parsed once. A document is followed by its kind and id, wherever its file is; twins have no sources of their own. A
version that cannot be read says nothing, and neither does one in which the document is missing: the next one is
compared with the last that was read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from rulebook.errors import GitError
from rulebook.files import FOLDERS, MAX_BYTES, split_language
from rulebook.git.repository import Repository
from rulebook.lifecycle import place_in
from rulebook.model import Kind
from rulebook.parse import parse_file
from rulebook.pins import Pin, PinError, parse_pin
from rulebook.site.hosts import commit_link, web_address

if TYPE_CHECKING:
    from rulebook.git.records import LogEntry
    from rulebook.model import Document

#: A document's kind and id, see :attr:`rulebook.model.Document.key`.
Key = tuple[str, str]
#: Pins as they are written, in their order.
Pins = tuple[str, ...]

_REGULAR_FILE = re.compile(r"100[0-7]{3}")


class Extent(str, Enum):
    """How much of the history is known."""

    WHOLE = "whole"
    CUT = "cut"  # the clone was made without older commits, or without contents
    UNKNOWN = "unknown"  # no repository, no commit, or one that git does not read

    __str__ = str.__str__


class Repin(NamedTuple):
    """A pin that took another one's place."""

    old: str
    new: str

    @property
    def moved(self) -> bool:
        """Whether the path or the anchor changed, and not the commit alone."""
        return self.old.partition(":")[2] != self.new.partition(":")[2]


class PinChange(NamedTuple):
    """What one commit changed in a document's sources.

    Attributes:
        commit: the full id of the knowledge base's commit; empty for what is not committed.
        date: the committer's day in UTC, ``YYYY-MM-DD``; empty for what is not committed.
        subject: the message's first paragraph in one line, whatever its author wrote there.
        added: pins that are new.
        dropped: pins that are no more.
        repinned: pins that took the place of others: the same place at another commit or, where there is one of each
            only, another place in the same file, or in the same repository.
        link: the commit's address at the knowledge base's host; empty where none is known, and for a commit that no
            branch or tag of a remote has as far as the clone knows.
    """

    commit: str
    date: str
    subject: str
    added: Pins = ()
    dropped: Pins = ()
    repinned: tuple[Repin, ...] = ()
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinHistory:
    """The changes of all documents' sources.

    Attributes:
        changes: by kind and id, newest first; a document whose sources never changed has none.
        extent: how much is known. Where the history is cut, sources can be older than the oldest change.
        because: why not all is known, for whoever builds the site, since it may name folders; empty where all is.
    """

    changes: Mapping[Key, Sequence[PinChange]] = field(default_factory=dict)
    extent: Extent = Extent.UNKNOWN
    because: str = ""

    def of(self, document: Document) -> Sequence[PinChange]:
        """The changes of a document's sources, newest first."""
        return self.changes.get(document.key, ())


def pin_history(
    root: str,
    documents: Iterable[Document],
    *,
    renamed: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> PinHistory:
    """The history of documents' sources; unknown where there is no git, no repository or no commit.

    Args:
        root: the knowledge base's folder.
        documents: as they are now. Of those with one id the first counts; twins are passed over.
        renamed: today's id of a rule by a former one, whose history it takes over unless that id is in use again.
        environ: what git inherits from (default: this process's environment).
    """
    current: dict[Key, Pins | None] = {}
    for document in documents:
        if not split_language(document.location.path)[1]:
            current.setdefault(document.key, _pins(document))
    former = {
        (Kind.RULE.value, old): (Kind.RULE.value, new)
        for old, new in (renamed or {}).items()
        if (Kind.RULE.value, old) not in current
    }
    try:
        return _read(Repository.discover(root, environ=environ), root, current, former)
    except GitError as error:
        return PinHistory(because=error.message)


def compare(before: Sequence[Pins], after: Pins) -> PinChange | None:
    """What is new in a document's pins, without a commit; ``None`` where nothing is.

    Args:
        before: the pins of the versions that this one was made from: none for a new document, several for a merge.
            What a merge took over from one of them is not new.
        after: the pins of this version.
    """
    added = [pin for pin in dict.fromkeys(after) if not any(pin in pins for pins in before)]
    dropped = [
        pin
        for pin in dict.fromkeys(before[0] if before else ())
        if pin not in after and all(pin in pins for pins in before)
    ]
    if not added and not dropped:
        return None
    repinned = _pair(dropped, added)
    old, new = {pair.old for pair in repinned}, {pair.new for pair in repinned}
    return PinChange(
        commit="",
        date="",
        subject="",
        added=tuple(pin for pin in added if pin not in new),
        dropped=tuple(pin for pin in dropped if pin not in old),
        repinned=repinned,
    )


def _pair(dropped: Sequence[str], added: Sequence[str]) -> tuple[Repin, ...]:
    """Which pin took the place of which: first by the place itself, then where a file or a repository leaves one."""
    leaving, coming = _parse(dropped), _parse(added)
    pairs: list[Repin] = []
    for width in (3, 2, 1):
        groups: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
        for side, pins in enumerate((leaving, coming)):
            for text, pin in pins.items():
                group = (pin.alias, pin.path, pin.anchor)[:width]
                groups.setdefault(group, ([], []))[side].append(text)
        for old, new in groups.values():
            if len(old) == len(new) == 1 or (len(old) == len(new) and width == 3):
                pairs += map(Repin, old, new)
                for text in old:
                    del leaving[text]
                for text in new:
                    del coming[text]
    return tuple(sorted(pairs, key=lambda pair: added.index(pair.new)))


def _parse(texts: Iterable[str]) -> dict[str, Pin]:
    found = {}
    for text in texts:
        try:
            found[text] = parse_pin(text)
        except PinError:
            continue
    return found


# --- the log ----------------------------------------------------------------------------------


def _read(
    repository: Repository, root: str, current: Mapping[Key, Pins | None], former: Mapping[Key, Key]
) -> PinHistory:
    place = place_in(repository, root)
    if place is None:
        return PinHistory(because=f"{root} is in no working tree")
    log = repository.history(*(f"{place}{folder}" for folder in FOLDERS))
    edge = repository.cut_commits(entry.id for entry in log if not entry.parents)
    versions = _Versions(repository, place, log, former)
    committed, head = _follow(log, versions, edge, current.keys())
    order = _order(log)
    links = _links(repository, {entry.id for changes in committed.values() for entry, _ in changes})
    history: dict[Key, Sequence[PinChange]] = {}
    for key, pins in current.items():
        known = head.pins(key)
        changes = [
            change._replace(commit=e.id, date=_day(e.date), subject=e.subject, link=links.get(e.id, ""))
            for e, change in sorted(committed.get(key, ()), key=lambda pair: order[pair[0].id], reverse=True)
        ]
        pending = compare([] if known is None else [known], pins) if pins is not None else None
        if changes or pending:
            history[key] = (*((pending,) if pending else ()), *changes)
    because = ""
    if edge:
        because = "this clone of the knowledge base is shallow"
    elif versions.missing:
        because = "this clone of the knowledge base lacks contents of older versions"
    return PinHistory(changes=history, extent=Extent.CUT if because else Extent.WHOLE, because=because)


def _follow(
    log: Sequence[LogEntry], versions: _Versions, edge: frozenset[str], wanted: Iterable[Key]
) -> tuple[dict[Key, list[tuple[LogEntry, PinChange]]], _Snapshot]:
    """The changes of each wanted document, oldest first, and what ``HEAD`` has.

    Args:
        log: the commits, parents first, each with what it changed since its first parent.
        versions: what the files held.
        edge: commits whose parents are not here; what they hold is no change.
        wanted: kinds and ids.
    """
    wanted = frozenset(wanted)
    found: dict[Key, list[tuple[LogEntry, PinChange]]] = {}
    snapshots: dict[str, _Snapshot] = {}
    # A snapshot is kept until the last commit that was made on it, which goes on with it instead of a copy.
    children = Counter(parent for entry in log for parent in entry.parents)
    snapshot = _Snapshot()
    for entry in log:
        parents = [snapshots[parent] for parent in entry.parents]
        children.subtract(entry.parents)
        for parent in entry.parents:
            if not children[parent]:
                snapshots.pop(parent, None)
        first = entry.parents[0] if entry.parents else ""
        base = parents[0] if parents else _Snapshot()
        edits = versions.edits(entry)
        touched = [key for key in dict.fromkeys(base.touched(edits)) if key in wanted]
        before = {key: [pins for parent in parents if (pins := parent.pins(key)) is not None] for key in touched}
        snapshot = base.copy() if first in snapshots else base
        snapshot.apply(edits)
        snapshots[entry.id] = snapshot
        for key in [] if entry.id in edge else touched:
            after = snapshot.pins(key)
            change = compare(before[key], after) if after is not None else None
            if change is not None:
                found.setdefault(key, []).append((entry, change))
    return found, snapshot


#: A file's documents with their pins, ``None`` where what stands under ``sources`` is no list of pins; nothing where
#: the file is gone or cannot be read.
_Documents = Mapping[Key, "Pins | None"]
#: A file that a commit changed, and what it made of it.
_Edit = tuple[str, _Documents]


class _Snapshot:
    """The pins of all documents at a commit, by the files that they stand in."""

    def __init__(self) -> None:
        self._files: dict[str, Mapping[Key, Pins]] = {}
        self._homes: dict[Key, tuple[str, ...]] = {}
        self._last: dict[Key, Pins] = {}

    def copy(self) -> _Snapshot:
        made = _Snapshot()
        made._files, made._homes, made._last = self._files.copy(), self._homes.copy(), self._last.copy()
        return made

    def pins(self, key: Key) -> Pins | None:
        """A document's pins, those that it had last where it is gone; ``None`` where it never was."""
        homes = self._homes.get(key)
        # Of two files with one id a catalog takes the first.
        return self._files[min(homes)][key] if homes else self._last.get(key)

    def touched(self, edits: Iterable[_Edit]) -> Iterable[Key]:
        for path, documents in edits:
            yield from self._files.get(path, ())
            yield from documents

    def apply(self, edits: Iterable[_Edit]) -> None:
        # What moves is gone from one place before it is found in another.
        for path, documents in sorted(edits, key=lambda edit: bool(edit[1])):
            self._write(path, documents)

    def _write(self, path: str, documents: _Documents) -> None:
        before = self._files.pop(path, {})
        for key, pins in before.items():
            self._last[key] = pins
            homes = tuple(home for home in self._homes[key] if home != path)
            if homes:
                self._homes[key] = homes
            else:
                del self._homes[key]
        now = {key: self._last.get(key) if pins is None else pins for key, pins in documents.items()}
        known = {key: pins for key, pins in now.items() if pins is not None}
        for key in known:
            self._homes[key] = (*self._homes.get(key, ()), path)
        if known:
            self._files[path] = known


class _Versions:
    """What the files of a knowledge base held at each commit, each version read and parsed once.

    Attributes:
        missing: whether some contents are not in this clone.
    """

    def __init__(self, repository: Repository, place: str, log: Sequence[LogEntry], former: Mapping[Key, Key]) -> None:
        self._place = place
        self._former = former
        ids = {
            c.new_id
            for entry in log
            for c in entry.changes
            if _is_content(c.path[len(place) :]) and _is_file(c.new_mode)
        }
        self._contents = repository.read_blobs(sorted(ids))
        self._parsed: dict[tuple[str, str], _Documents] = {}
        self.missing = any(content is None for content in self._contents.values())

    def edits(self, entry: LogEntry) -> list[_Edit]:
        """What a commit made of the content files that it changed."""
        edits: list[_Edit] = []
        for change in entry.changes:
            path = change.path[len(self._place) :]
            if not _is_content(path):
                continue
            if not _is_file(change.new_mode):
                edits.append((path, {}))
                continue
            if (path, change.new_id) not in self._parsed:
                found = _documents(path, self._contents[change.new_id])
                self._parsed[path, change.new_id] = {self._former.get(key, key): pins for key, pins in found.items()}
            edits.append((path, self._parsed[path, change.new_id]))
        return edits


def _is_content(path: str) -> bool:
    """Whether a file of the knowledge base is content, as :func:`rulebook.files.survey` decides, and no twin."""
    *folders, name = path.split("/")
    return (
        bool(folders)
        and name.endswith(".md")
        and not name.startswith("README.")
        and not any(part[0] in "._" for part in (*folders, name))
        and not split_language(path)[1]
        and not any("\ud800" <= letter <= "\udfff" for letter in path)
    )


def _is_file(mode: str) -> bool:
    return _REGULAR_FILE.fullmatch(mode) is not None


def _documents(path: str, content: bytes | None) -> _Documents:
    """The documents of a file's version with their pins; none where it cannot be read."""
    if content is None or len(content) > MAX_BYTES or b"\0" in content:
        return {}
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return {}
    found: dict[Key, Pins | None] = {}
    for document in parse_file(path, FOLDERS[path.partition("/")[0]], text)[0]:
        found.setdefault(document.key, _pins(document))
    return found


def _pins(document: Document) -> Pins | None:
    """A document's pins, or ``None`` where what stands under ``sources`` is no list of pins."""
    for key in ("sources", "pin"):
        value = document.metadata.get(key, [])
        items = value if isinstance(value, list) else [value] if value else []
        if not all(
            isinstance(item["pin"] if isinstance(item, dict) and "pin" in item else item, str) for item in items
        ):
            return None
    return tuple(source.pin for source in document.sources)


def _order(log: Sequence[LogEntry]) -> dict[str, tuple[int, int]]:
    """What sorts commits by their dates, but none before one that it was made on, whatever the clocks said."""
    order: dict[str, tuple[int, int]] = {}
    for number, entry in enumerate(log):
        order[entry.id] = (max([entry.date, *(order[parent][0] for parent in entry.parents)]), number)
    return order


def _day(date: int) -> str:
    try:
        return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=date)).date().isoformat()
    except OverflowError:
        return ""


def _links(repository: Repository, commits: set[str]) -> dict[str, str]:
    """The addresses of those commits that are at the knowledge base's host, as far as the clone knows."""
    address = next(filter(None, map(web_address, repository.remote_urls())), "")
    if not address or not commits:
        return {}
    unpublished = repository.commits_outside(commits, of=("--remotes", "--tags"))
    return {commit: commit_link(address, commit) for commit in commits - unpublished}
