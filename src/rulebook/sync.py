"""``rulebook sync``: clones of the target repositories in the user's cache, made to check pins in.

A clone is bare and without contents (``--filter=blob:none``); then come the contents that a check reads: those of
the head, of the pinned files, and of the files that were removed since they were pinned. Each step is kept, so
that what is interrupted goes on where it stopped; a lock keeps two syncs of a repository apart.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rulebook.cachefiles import make_way
from rulebook.errors import GitError, UsageError
from rulebook.git.mirror import Mirror
from rulebook.git.records import Commit, Entry, Mode
from rulebook.git.repository import Repository
from rulebook.snapshots import Snapshots

if TYPE_CHECKING:
    from rulebook.config import Target
    from rulebook.pins import Pin

#: Called with (what is being done, done, to do).
Progress = Callable[[str, int, int], None]
#: Contents asked for at once: a request of some 20 kB.
_CONTENTS_AT_ONCE = 500
#: Pinned commits that no branch and no tag holds are asked for one by one, at most so many.
_COMMITS_BY_ID = 200
_ATTEMPTS = 3
_NOT_THERE = re.compile(r"not our ref ([0-9a-f]{40})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a sync did.

    Attributes:
        alias: the repository.
        folder: its clone.
        head: the tip of its default branch.
        contents: how many contents were fetched.
        missing: pinned commits that the remote does not give.
        notes: what the user should know, one sentence each.
    """

    alias: str
    folder: str
    head: str
    contents: int
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def sync(
    target: Target,
    folder: str,
    pins: Iterable[Pin],
    *,
    silence: float = 60.0,
    wait: float = 600.0,
    progress: Progress | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Synced:
    """Brings the clone of a target up to date.

    Args:
        target: what to fetch, and from where.
        folder: the clone; its parent must be a folder of the user's own.
        pins: the pins into the target, whose commits and files are wanted.
        silence: seconds after which a network that says nothing is given up; tried three times.
        wait: seconds to wait for another sync of the same repository.
        progress: called as work goes on.
        sleep: waits some seconds.

    Raises:
        UsageError: the target has no URL.
        GitError: the remote cannot be reached, has no such branch, or another sync takes too long.
    """
    if not target.url:
        raise UsageError(f"[repos.{target.alias}] in rulebook.toml has no url", "add one, or use --checkout")
    mirror = Mirror(folder, target.url)
    branch = target.default_branch

    def fetch(wanted: Sequence[str], *, prune: bool = False) -> None:
        _try(lambda: mirror.fetch(wanted, prune=prune, silence=silence, progress=progress), sleep)

    with _locked(f"{folder}.lock", wait, sleep):
        mirror.create()
        # The branch that everything is judged by comes first: with it alone a check can begin.
        fetch([f"+refs/heads/{branch}:refs/heads/{branch}"])
        fetch(["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"], prune=True)
        snapshots = Snapshots(Repository(folder))
        try:
            head = snapshots.find_head(branch)
            assert head is not None, "it was fetched"
            wanted = list(dict.fromkeys(pins))
            missing = _fetch_commits(mirror, snapshots, wanted, silence, progress)
            snapshots.close()
            snapshots = Snapshots(Repository(folder))
            contents, notes = _fetch_contents(mirror, snapshots, head.commit, wanted, silence, progress, sleep)
        finally:
            snapshots.close()
    return Synced(
        alias=target.alias, folder=folder, head=head.commit, contents=contents, missing=missing, notes=tuple(notes)
    )


def _fetch_commits(
    mirror: Mirror, snapshots: Snapshots, pins: Sequence[Pin], silence: float, progress: Progress | None
) -> tuple[str, ...]:
    """Asks for pinned commits that no branch and no tag holds; returns those that were not given."""
    wanted = list(dict.fromkeys(pin.commit for pin in pins))
    found = snapshots.commits(wanted)
    missing = []
    for number, commit in enumerate(commit for commit in wanted if found[commit] == "missing"):
        if number >= _COMMITS_BY_ID:
            missing.append(commit)
            continue
        try:
            # The reference keeps it: nothing else here leads to the commit.
            mirror.fetch([f"+{commit}:refs/rulebook/pins/{commit}"], silence=silence, progress=progress)
        except GitError:
            missing.append(commit)
    return tuple(missing)


def _fetch_contents(
    mirror: Mirror,
    snapshots: Snapshots,
    head: str,
    pins: Sequence[Pin],
    silence: float,
    progress: Progress | None,
    sleep: Callable[[float], None],
) -> tuple[int, list[str]]:
    """Fetches the contents that a check reads; returns how many, and what went wrong."""
    commits = [
        commit for commit, found in snapshots.commits({pin.commit for pin in pins}).items() if isinstance(found, Commit)
    ]
    snapshots.survey([head, *commits])
    wanted = {entry.id for entry in (snapshots.files(head) or {}).values() if entry.mode is not Mode.SUBMODULE}
    here = set(commits)
    places = {(pin.commit, pin.path) for pin in pins if pin.commit in here}
    found = snapshots.resolve(places)
    entries = [found[place] for place in places]
    wanted |= {entry.id for entry in entries if isinstance(entry, Entry) and entry.mode in (Mode.FILE, Mode.LINK)}
    for commit in commits:
        changes = snapshots.repository.changes(commit, head, exact=True)
        wanted |= {change.old_id for change in changes if change.status == "D" and change.old_mode != "160000"}
    present = snapshots.present(wanted)
    lacking = sorted(identity for identity in wanted if not present[identity])
    notes: list[str] = []
    fetched = 0
    pending = [lacking[start : start + _CONTENTS_AT_ONCE] for start in range(0, len(lacking), _CONTENTS_AT_ONCE)]
    while pending:
        batch = pending.pop(0)
        if progress is not None:
            progress("Fetching contents", fetched, len(lacking))
        try:
            _try(partial(mirror.fetch_contents, batch, silence=silence), sleep)
            fetched += len(batch)
        except GitError as error:
            # A remote refuses the whole request for one object that it has not; it names that one.
            refused = _NOT_THERE.search(error.message)
            rest = [identity for identity in batch if refused and identity != refused[1]]
            if refused is None or len(rest) == len(batch):
                notes.append(f"{len(lacking) - fetched:,} contents are missing still: {error.message}")
                break
            notes.append(f"{mirror.url} does not give the content {refused[1]}")
            if rest:
                pending.insert(0, rest)
    if progress is not None:
        progress("Fetching contents", len(lacking), len(lacking))
    return fetched, notes


def _try(action: Callable[[], None], sleep: Callable[[float], None]) -> None:
    """Networks fail for a moment: tries again, after a longer pause each time."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            action()
        except GitError as error:
            # What the remote refuses it will refuse again.
            if attempt == _ATTEMPTS or _NOT_THERE.search(error.message):
                raise
            sleep(2.0**attempt)
        else:
            return


@contextmanager
def _locked(path: str, wait: float, sleep: Callable[[float], None]) -> Iterator[None]:
    """Holds a lock that ends with the process, however that ends."""
    import fcntl

    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    make_way(path)
    with open(path, "w", encoding="ascii") as file:
        waited = 0.0
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if waited >= wait:
                    raise GitError(f"another sync holds {path}", "wait for it, or end it") from None
                sleep(0.2)
                waited += 0.2
        yield
