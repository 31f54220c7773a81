"""What a verdict on a pin has to know of a clone: what stood and what stands where, and what was renamed or moved.

Everything is looked up once. All pins of a repository are looked up together, through one git process, as ids;
contents are read where an anchor has to be found in them, and the history is asked about what is stale only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rulebook.definitions import Outline, outline
from rulebook.errors import GitError
from rulebook.git.records import Commit, Entry, Mode
from rulebook.moves import Definitions, Move, joined, same_move
from rulebook.snapshots import Absent, Ancestry, Head, Snapshots

if TYPE_CHECKING:
    from rulebook.git.records import RawChange
    from rulebook.git.repository import Repository
    from rulebook.pins import Pin


class Unverifiable(Exception):
    """What cannot be looked at: why, and what helps."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


class _Changes(NamedTuple):
    """What became of the files of a commit, by their old path, and the paths whose contents could not be compared."""

    of: Mapping[str, RawChange]
    unread: tuple[str, ...]


class Evidence:
    """Answers about one repository and the tip of its default branch; raises :class:`Unverifiable` where it cannot.

    Attributes:
        repository: the clone.
        snapshots: its commits, folders and files.
        head: the tip of the default branch.
        ancestry: which of the pinned commits the default branch holds.
        dangling: those that are on no branch or tag.
    """

    def __init__(self, repository: Repository, branch: str, *, alias: str = "") -> None:
        """Finds the tip of ``branch``; see :class:`rulebook.staleness.Checker`.

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
        self.ancestry = Ancestry(frozenset(), complete=True)
        self.dangling: frozenset[str] = frozenset()

    # --- contents and anchors ---

    def prepare(self, pins: Sequence[Pin]) -> None:
        """Looks up everything that the common case needs."""
        snapshots, head = self.snapshots, self.head.commit
        commits = snapshots.commits({pin.commit for pin in pins})
        here = {pin.commit for pin in pins if isinstance(commits[pin.commit], Commit)}
        self.ancestry = snapshots.ancestors(head, here)
        snapshots.survey({head, *here})
        outside = here - self.ancestry.held
        self.dangling = self.repository.commits_outside(outside) if outside else frozenset()
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

    def content(self, identity: str, what: str) -> bytes:
        """A file's content by its id; ``what`` is how to speak of it."""
        self._load([identity])
        content = self._contents[identity]
        if content is None:
            raise Unverifiable(f"the content of {what} is not in this clone, or is damaged", self.remedy())
        return content

    def remedy(self) -> str:
        """What helps where a content is missing."""
        if self.repository.is_partial():
            return "rulebook sync, or fetch it: git fetch --refetch --no-filter (git 2.36)"
        return "rulebook sync, or look for damage with 'git fsck'"

    def missing_remedy(self) -> str:
        """What helps where a commit is missing."""
        if self.repository.is_shallow():
            return "this clone is shallow: git fetch --unshallow, or rulebook sync"
        return "rulebook sync; where it was rebased away, re-pin: rulebook repin --unseen"

    def outline(self, path: str, identity: str, what: str) -> Outline:
        """What a file defines; ``what`` is how to speak of it."""
        # A file's language is told from its name.
        key = (path.rsplit("/", 1)[-1], identity)
        if key not in self._outlines:
            self._outlines[key] = outline(path, self.content(identity, what))
        return self._outlines[key]

    def entry(self, pin: Pin) -> Entry:
        """What stands at the pinned path of the pinned commit."""
        short = pin.commit[:12]
        found = self.snapshots.at(pin.commit, pin.path)
        if isinstance(found, Entry):
            return found
        if found.unread:
            raise Unverifiable(
                f"the folder {found.folder or '/'} of commit {short} is not in this clone", self.remedy()
            )
        if found.stop is not None:
            raise Unverifiable(f"{found.folder} is {found.stop.mode.value} at {short}", self.instead(found.stop))
        if found.near:
            near = f"{found.folder}/{found.near}" if found.folder else found.near
            raise Unverifiable(f"there is no {pin.path} at {short}, but {near}", "capitals count: mend the pin")
        raise Unverifiable(f"there is no {pin.path} at {short}", f"see: git log --all --full-history -- '{pin.path}'")

    def instead(self, entry: Entry) -> str:
        """What to pin instead of what is no file."""
        if entry.mode is Mode.LINK:
            content = next(iter(self.snapshots.read([entry.id])))[1]
            target = content.decode("utf-8", "replace") if content else "what it leads to"
            return f"pin the file that the link leads to: {target}"
        if entry.mode is Mode.SUBMODULE:
            return "pin the file in the submodule's own repository, under an alias of its own"
        return "pin the files in it"

    def text(self, pin: Pin, entry: Entry, what: str) -> bytes:
        """The bytes that the pin's anchor names in a file."""
        content = self.content(entry.id, what)
        if pin.symbol:
            found = self.outline(pin.path, entry.id, what)
            if found.problem:
                raise Unverifiable(f"{what} {found.problem}", "pin the whole file, or lines of it")
            definitions = found.find(pin.symbol)
            if not definitions:
                import difflib

                near = difflib.get_close_matches(pin.symbol, found.definitions, 1, 0.6)
                remedy = f"did you mean #{near[0]}?" if near else "pin a name that is defined there, or lines"
                raise Unverifiable(f"{what} defines no {pin.symbol}", remedy)
            return joined(content.split(b"\n"), definitions)
        if pin.first:
            lines = content.split(b"\n")
            count = len(lines) - (not lines[-1])
            if pin.last > count:
                raise Unverifiable(f"{what} has only {count:,} lines", "mend the pin's line numbers")
            return b"\n".join(lines[pin.first - 1 : pin.last])
        return content

    def digest(self, pin: Pin, entry: Entry, what: str) -> str:
        """The hash of :meth:`text`, as it is noted beside pins."""
        return text_digest(self.text(pin, entry, what))

    # --- renames and moves ---

    def head_files(self) -> Mapping[str, Entry]:
        """All files of the head, by path."""
        files = self.snapshots.files(self.head.commit)
        if files is None:
            raise Unverifiable("not every folder of the head is in this clone", self.remedy())
        return files

    def renamed(self, pin: Pin, then: Entry) -> tuple[str, Entry] | None:
        """The path that the file was renamed to, and what stands there."""
        commit = pin.commit
        if not isinstance(self.snapshots.commit(commit), Commit):
            same = [(path, entry) for path, entry in self.head_files().items() if entry == then]
            if not same:
                raise Unverifiable(
                    f"{pin.path} is gone, and without the commit a rename cannot be told from a removal",
                    "rulebook sync, or read the source again and re-pin it",
                )
            return same[0]
        changes = self._changes(commit, self.head.commit)
        change = changes.of.get(pin.path)
        if change is not None and change.status == "R":
            return change.path, Entry(Mode.FILE, change.new_id)
        unread = next((path for path in changes.unread if _suffix(path) == _suffix(pin.path)), "")
        if unread:
            raise Unverifiable(
                f"{pin.path} is gone from its place, and may be {unread} now, whose content is not in this clone",
                self.remedy(),
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
                    raise Unverifiable(f"what was renamed cannot be told: {error.message}", self.remedy()) from None
                found = [change for change in listed if change.path not in set(paths)] + compared
            self._compared[old, new] = _Changes(
                {change.old_path: change for change in found if change.status not in "AC"}, tuple(unread)
            )
        return self._compared[old, new]

    def former_paths(self, old: str, new: str) -> Mapping[str, str]:
        """The path at the commit ``old`` of each file of ``new`` that was renamed in between."""
        if not isinstance(self.snapshots.commit(old), Commit):
            return {}
        return {change.path: path for path, change in self._changes(old, new).of.items() if change.status == "R"}

    def trace(self, pin: Pin) -> tuple[Move | None, str]:
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
                text = self.text(pin._replace(commit=older, path=path, symbol=name), _file(then), path)
                if isinstance(now, Entry) and now.mode is Mode.FILE and self.outline(path, now.id, path).find(name):
                    continue
                before, after = self.definitions_of(older), self.definitions_of(newer)
                former = self.former_paths(older, newer)
                home = next((renamed for renamed, earlier in former.items() if earlier == path), "")
                if home and self.outline(home, after.files[home], home).find(name):
                    path = home
                    continue
                step = after.find_move(name, text, path, before, former)
                if step is None:
                    return None, newer
                path, name = step.path, step.name
            end = self.snapshots.at(self.head.commit, path)
            text = self.text(pin._replace(path=path, symbol=name), _file(end), path)
            begin = self.text(pin, self.entry(pin), pin.path)
        except Unverifiable:
            return None, ""
        return Move(path, name, text, same=same_move(begin, text, pin.symbol, name)), ""

    # --- definitions ---

    def definitions_at_head(self, path: str, commit: str) -> Definitions:
        """What is defined at the head.

        Unverifiable where a file is not in this clone that what was in ``path`` at ``commit`` may have moved into.
        """
        head = self.definitions_of(self.head.commit)
        targets = head.targets(path, self.known_at(commit), self.former_paths(commit, self.head.commit))
        here = self.snapshots.present(head.files[target] for target in targets)
        missing = next((target for target in targets if not here[head.files[target]]), None)
        if missing is not None:
            raise Unverifiable(
                f"it is gone from {path}, and may stand in {missing}, whose content is not in this clone",
                self.remedy(),
            )
        return head

    def known_at(self, commit: str) -> Definitions | None:
        """What was defined at a pinned commit, or ``None`` where that cannot be told."""
        try:
            return self.definitions_of(commit)
        except Unverifiable:
            return None

    def definitions_of(self, commit: str) -> Definitions:
        """What is defined at a commit."""
        if commit not in self._definitions:
            found = self.snapshots.commit(commit)
            files = self.snapshots.files(commit) if isinstance(found, Commit) else None
            if files is None:
                raise Unverifiable(f"not every folder of {commit[:12]} is in this clone", self.remedy())
            plain = {path: entry.id for path, entry in files.items() if entry.mode is Mode.FILE}
            self._definitions[commit] = Definitions(plain, self._read_all, self._outline_of)
        return self._definitions[commit]

    def _read_all(self, ids: Collection[str]) -> Mapping[str, bytes | None]:
        self._load(ids)
        return self._contents

    def _outline_of(self, path: str, identity: str) -> Outline:
        return self.outline(path, identity, path)


def text_digest(text: bytes) -> str:
    """The hash that is noted beside a pin: SHA-256 of the anchored text with LF line ends, but none at its end."""
    from hashlib import sha256

    return sha256((text + b"\n").replace(b"\r\n", b"\n").rstrip(b"\n")).hexdigest()


def _file(entry: Entry | Absent) -> Entry:
    if isinstance(entry, Entry) and entry.mode is Mode.FILE:
        return entry
    raise Unverifiable("there is no file", "")


def _content_id(change: RawChange) -> str:
    """The id of the content of an added or deleted file."""
    return change.new_id if change.status == "A" else change.old_id


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2]
