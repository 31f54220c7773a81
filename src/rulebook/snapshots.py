"""A repository's commits, folders and files as they were, read through one git process.

``git cat-file`` answers for a path of a commit as well, but does not tell a symbolic link from a file,
nor a missing path from missing content. Folders are read here as what they are, tree objects: each once,
however many commits share it, and level by level, so that the questions of a level travel together. That
also makes it faster: files are told apart by their ids alone, and trees repeat from commit to commit.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rulebook.errors import GitError
from rulebook.git.names import decode_path, encode_path
from rulebook.git.records import Commit, Entry, Mode, object_id, parse_commit, parse_tree

if TYPE_CHECKING:
    from rulebook.git.repository import Repository

#: Commits read one by one while looking for ancestors; beyond that git is asked, which costs a process.
_WALKED_COMMITS = 2_000
#: Bytes of file contents that are asked for and held at once.
_READ_AT_ONCE = 64 << 20


class Absent(NamedTuple):
    """Nothing stands at a path, and how far the path leads.

    Attributes:
        folder: the deepest folder on the way that exists; empty for the root.
        near: the entry there whose name differs in capitals only, or empty.
        stop: what stands in the way where that is no folder, or ``None``.
        unread: whether a folder on the way is not in this clone, so that nothing is known.
    """

    folder: str
    near: str = ""
    stop: Entry | None = None
    unread: bool = False


class Head(NamedTuple):
    """The tip of the default branch: the reference that was read, and its commit."""

    ref: str
    commit: str


class Ancestry(NamedTuple):
    """Which of the commits asked about a branch holds, and whether the history was there to tell."""

    held: frozenset[str]
    complete: bool


class Snapshots:
    """Reads commits, folders and files of one repository; everything is read once."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._objects = repository.open_objects()
        self._commits: dict[str, Commit | str] = {}
        self._trees: dict[str, dict[bytes, Entry] | None] = {}
        self._places: dict[tuple[str, str], Entry | Absent] = {}
        self._files: dict[str, dict[str, Entry] | None] = {}
        self._present: dict[str, bool] = {}
        #: Whether git must not be asked for what may be missing, because it would try to fetch it.
        self._careful = repository.may_fetch_lazily
        self._surveyed: set[str] = set()

    def close(self) -> None:
        """Ends the git process; a later question starts another."""
        self._objects.close()

    # --- commits ---

    def find_head(self, branch: str) -> Head | None:
        """The tip of ``branch`` as this clone knows it, or ``None`` where it has no such branch.

        Raises:
            GitError: ``branch`` is no name of a branch.
        """
        refs = head_refs(branch)
        found = self._objects.info(refs)
        for ref in refs:
            answer = found[ref]
            if answer is not None and answer.kind == "commit":
                return Head(ref, answer.id)
        return None

    def commits(self, ids: Iterable[str]) -> Mapping[str, Commit | str]:
        """Each commit, or in one word why there is none: ``missing``, ``damaged``, or the type of what has that id."""
        wanted = [identity for identity in ids if identity not in self._commits]
        if wanted:
            for identity, answer in self._objects.contents(wanted).items():
                if answer is None:
                    self._commits[identity] = "missing"
                elif answer.kind != "commit":
                    self._commits[identity] = answer.kind
                elif object_id("commit", answer.content) != identity:
                    self._commits[identity] = "damaged"
                else:
                    self._commits[identity] = parse_commit(answer.content)
        return self._commits

    def commit(self, identity: str) -> Commit | str:
        """One of :meth:`commits`."""
        return self._commits[identity] if identity in self._commits else self.commits([identity])[identity]

    def ancestors(self, commit: str, wanted: Collection[str]) -> Ancestry:
        """Which of ``wanted`` (ids of commits that are here) ``commit`` descends from, or is.

        Newest commits first, as pins are mostly young; a history that goes on for long is left to git.
        """
        missing = set(wanted)
        held: set[str] = set()
        seen = {commit}
        pending: list[tuple[int, str]] = []
        complete = True

        def push(identity: str) -> bool:
            found = self.commit(identity)
            if isinstance(found, Commit):
                heapq.heappush(pending, (-found.date, identity))
            return isinstance(found, Commit)

        push(commit)
        for _ in range(_WALKED_COMMITS):
            if not pending or not missing:
                break
            _, current = heapq.heappop(pending)
            if current in missing:
                missing.discard(current)
                held.add(current)
            found = self._commits[current]
            for parent in found.parents if isinstance(found, Commit) else ():
                if parent not in seen:
                    seen.add(parent)
                    # In a shallow clone the last commits name parents that are not here.
                    complete = push(parent) and complete
        if missing and pending:
            outside = self.repository.commits_outside(missing, of=[commit])
            held.update(missing - outside)
            complete = complete and not self.repository.is_shallow()
        return Ancestry(frozenset(held), complete)

    def first_parents(self, commit: str, ancestor: str) -> list[str] | None:
        """The line of first parents from ``ancestor`` to ``commit``, both included; ``None`` where it leads elsewhere.

        Longer lines than :data:`_WALKED_COMMITS` are not followed.
        """
        line = [commit]
        while line[-1] != ancestor:
            found = self.commit(line[-1])
            if not isinstance(found, Commit) or not found.parents or len(line) > _WALKED_COMMITS:
                return None
            line.append(found.parents[0])
        return line[::-1]

    # --- folders ---

    def survey(self, commits: Iterable[str]) -> None:
        """Learns what is missing of commits before any of it is asked for; they must be known to be here.

        Only a partial clone needs it: git dies there of a question about a missing object.
        """
        wanted = set(commits) - self._surveyed
        if self._careful and wanted:
            self._present.update(self.repository.list_objects(wanted))
            self._surveyed |= wanted

    def resolve(self, places: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], Entry | Absent]:
        """What stands at each (commit, path); the commits must be known to be here."""
        pending: list[tuple[tuple[str, str], list[bytes], int, str]] = []
        for place in places:
            if place not in self._places:
                commit = self.commit(place[0])
                assert isinstance(commit, Commit), f"{place[0]} is no commit"
                pending.append((place, encode_path(place[1]).split(b"/"), 0, commit.tree))
        while pending:
            self._load_trees({tree for *_, tree in pending})
            deeper: list[tuple[tuple[str, str], list[bytes], int, str]] = []
            for place, parts, depth, tree in pending:
                entries = self._trees[tree]
                if entries is None:
                    self._places[place] = Absent(_join(parts[:depth]), unread=True)
                    continue
                entry = entries.get(parts[depth])
                if entry is None:
                    self._places[place] = Absent(_join(parts[:depth]), near=_nearest(entries, parts[depth]))
                elif depth + 1 == len(parts):
                    self._places[place] = entry
                elif entry.mode is Mode.FOLDER:
                    deeper.append((place, parts, depth + 1, entry.id))
                else:
                    self._places[place] = Absent(_join(parts[: depth + 1]), stop=entry)
            pending = deeper
        return self._places

    def at(self, commit: str, path: str) -> Entry | Absent:
        """One of :meth:`resolve`."""
        place = (commit, path)
        return self._places[place] if place in self._places else self.resolve([place])[place]

    def files(self, commit: str) -> Mapping[str, Entry] | None:
        """All files, links and submodules of a commit by path; ``None`` where a folder is not in this clone."""
        if commit not in self._files:
            found = self.commit(commit)
            assert isinstance(found, Commit), f"{commit} is no commit"
            self._files[commit] = self._list(found.tree)
        return self._files[commit]

    def _list(self, root: str) -> dict[str, Entry] | None:
        listed: dict[bytes, Entry] = {}
        level: list[tuple[bytes, str]] = [(b"", root)]
        while level:
            self._load_trees({tree for _, tree in level})
            deeper: list[tuple[bytes, str]] = []
            for prefix, tree in level:
                entries = self._trees[tree]
                if entries is None:
                    return None
                for name, entry in entries.items():
                    if entry.mode is Mode.FOLDER:
                        deeper.append((prefix + name + b"/", entry.id))
                    else:
                        listed[prefix + name] = entry
            level = deeper
        return {decode_path(path): listed[path] for path in sorted(listed)}

    def _load_trees(self, ids: Collection[str]) -> None:
        wanted = [identity for identity in ids if identity not in self._trees]
        if self._careful:
            self._trees.update((identity, None) for identity in wanted if not self._present.get(identity))
            wanted = [identity for identity in wanted if self._present.get(identity)]
        if wanted:
            for identity, answer in self._objects.contents(wanted).items():
                whole = answer is not None and object_id("tree", answer.content) == identity
                self._trees[identity] = parse_tree(answer.content) if answer is not None and whole else None

    # --- files ---

    def present(self, ids: Iterable[str]) -> Mapping[str, bool]:
        """Whether the content with each id is in this clone; partial clones lack some."""
        wanted = [identity for identity in ids if identity not in self._present]
        if self._careful:
            # Nothing that was surveyed has it.
            self._present.update(dict.fromkeys(wanted, False))
        elif wanted:
            for identity, answer in self._objects.info(wanted).items():
                self._present[identity] = answer is not None and answer.kind == "blob"
        return self._present

    def sizes(self, ids: Iterable[str]) -> dict[str, int]:
        """The size in bytes of each content that is here."""
        return {name: answer.size for name, answer in self._objects.info(ids).items() if answer is not None}

    def read(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Each id with its content, checked against the id; ``None`` where it is not here or is damaged."""
        wanted = list(dict.fromkeys(ids))
        if self._careful:
            here = self.present(wanted)
            yield from ((identity, None) for identity in wanted if not here[identity])
            wanted = [identity for identity in wanted if here[identity]]
        sizes = self.sizes(wanted)
        batch: list[str] = []
        held = 0
        for position, identity in enumerate(wanted):
            batch.append(identity)
            held += sizes.get(identity, 0)
            if held >= _READ_AT_ONCE or position + 1 == len(wanted):
                for name, answer in self._objects.contents(batch).items():
                    whole = answer is not None and object_id("blob", answer.content) == name
                    yield name, answer.content if answer is not None and whole else None
                batch, held = [], 0


def head_refs(branch: str) -> tuple[str, ...]:
    """The references that can hold the tip of a target's default branch, the surest first.

    A clone's own branch is as old as the last pull, or ahead by work that nobody has seen, so what was fetched
    wins over it; ``upstream``, where there is one, is the repository that a fork was made from.

    Raises:
        GitError: ``branch`` is no name of a branch (git-check-ref-format).
    """
    if not branch or branch.startswith(("-", "/")) or re.search(r"[\0-\x20\x7f~^:?*\[\\]|\.\.|@\{|//", branch):
        raise GitError(f"{branch!r} is no name of a branch", "mend default_branch in rulebook.toml")
    return (f"refs/remotes/upstream/{branch}", f"refs/remotes/origin/{branch}", f"refs/heads/{branch}")


def _join(parts: Iterable[bytes]) -> str:
    return decode_path(b"/".join(parts))


def _nearest(entries: Mapping[bytes, Entry], name: bytes) -> str:
    wanted = decode_path(name).casefold()
    return next((decode_path(other) for other in entries if decode_path(other).casefold() == wanted), "")
