"""From options to the things that questions are asked of: the store and the change."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rulebook.cli import terminal
from rulebook.config import CONFIG_NAME, Config, find_root, slug_of
from rulebook.errors import GitError, NoKnowledgeBase, UnreadableInput, UsageError
from rulebook.store.opening import open_store

if TYPE_CHECKING:
    from rulebook.git.repository import Repository
    from rulebook.model import ChangeSet
    from rulebook.store.query import Store

#: Larger inputs are refused: a diff of this size is nobody's review.
MAX_INPUT = 256 << 20


def load(root: str, index: str, *, quiet: bool, findings: bool = True) -> Store:
    """Opens the knowledge base's store, refreshed, and passes its notes on.

    Args:
        root: what ``--root`` says.
        index: what ``--index`` says.
        quiet: whether notes are muted.
        findings: whether to tell of errors in the content here; a report may tell of them itself.
    """
    store = open_store(root_of(root), index or None, progress=terminal.progress_bar("reading", quiet=quiet))
    terminal.notes(store.notes, quiet=quiet)
    if findings and store.trouble:
        terminal.note(f"note: {store.trouble}", quiet=quiet)
    return store


def checkouts(options: Sequence[str]) -> dict[str, str]:
    """``--checkout ALIAS=DIR`` options as a mapping."""
    found = {}
    for option in options:
        alias, equals, folder = option.partition("=")
        if not equals or not alias or not folder:
            raise UsageError(f"--checkout {option!r} is no ALIAS=DIR", "say --checkout afd-plugin=../afd-plugin")
        found[alias] = folder
    return found


def current_folder() -> str:
    """The working directory.

    Raises:
        NoKnowledgeBase: it was deleted.
    """
    try:
        return os.getcwd()
    except OSError:
        raise NoKnowledgeBase("the current directory does not exist any more", "change into another one") from None


def here(*, needed: bool = True) -> Repository | None:
    """The git repository around the current directory, if there is one.

    Raises:
        GitError: git is missing or refuses the repository, and it is ``needed``; else ``None`` is the answer.
    """
    # Asking git costs a process; a folder without .git at or above it needs none.
    folder = current_folder()
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    from rulebook.git.repository import Repository

    try:
        return Repository.discover(folder)
    except GitError:
        if needed:
            raise
        return None


def require_target(repository: Repository, alias: str, config: Config, root: str, *, quiet: bool) -> None:
    """Refuses to read another repository's change in the one that holds the knowledge base.

    A range means something in every repository, so that the wrong one would answer, and say that nothing applies. Any
    other repository may be a fork's clone without a remote that tells so: it is read, and a note says which one it is.

    Args:
        repository: the one around the current directory.
        alias: the target repository that is asked about.
        config: what ``rulebook.toml`` says.
        root: the knowledge base's folder.
        quiet: whether notes are muted.

    Raises:
        UsageError: it holds the knowledge base, has remotes, and none of them leads to the target.
    """
    urls = repository.remote_urls()
    target = config.targets.get(alias)
    if any(config.resolve(slug_of(url)) == alias for url in urls):
        return
    known = target is not None and bool(target.url)
    if not known and not urls:
        # Neither side says who it is: they may well be the same.
        return
    # Rules may stand in the repository that they are for, and without remotes nothing speaks against that.
    if urls and repository.top is not None and not os.path.relpath(root, repository.top).startswith(os.pardir):
        raise UsageError(
            f"this is the repository of the knowledge base, not {alias!r}",
            f"run inside a clone of it, or say --checkout {alias}=DIR",
        )
    if known:
        terminal.note(
            f"note: no remote of {repository} leads to {alias!r}, and its history is taken for that one's;"
            f" --checkout {alias}=DIR names another clone",
            quiet=quiet,
        )


def read_input(name: str, what: str) -> bytes:
    """Reads a file or, for ``-``, standard input."""
    try:
        if name != "-":
            with open(name, "rb") as file:
                data = file.read(MAX_INPUT + 1)
        elif sys.stdin is None or sys.stdin.closed:
            raise UnreadableInput(f"standard input is closed, so {what} cannot be read from it", "name a file")
        else:
            data = sys.stdin.buffer.read(MAX_INPUT + 1)
    except OSError as error:
        raise UnreadableInput(f"{what} {name} cannot be read: {error.strerror}", "check its name") from None
    if len(data) > MAX_INPUT:
        raise UnreadableInput(f"{what} is larger than {MAX_INPUT >> 20} MiB", "split it")
    return data


def read_change(
    paths: Sequence[str], diff: str, git_range: str, nul: bool, repository: Repository | None, named: bool
) -> ChangeSet | None:
    """The change that the options describe, or ``None`` where they describe none.

    Args:
        paths: the paths, or ``-`` alone for standard input.
        diff: what ``--diff`` says.
        git_range: what ``--git`` says.
        nul: what ``-z`` says.
        repository: where a range is read, and whose folder absolute paths lie in.
        named: whether ``--checkout`` named that repository.

    Raises:
        UsageError: they describe more than one.
        GitError: the repository does not have the range.
    """
    from rulebook import changes

    given = [name for name, value in (("paths", paths), ("--diff", diff), ("--git", git_range)) if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be combined", "give one of them")
    if diff:
        from rulebook.diffs import parse_diff

        return parse_diff(read_input(diff, "the diff"))
    if git_range:
        if repository is None:
            raise UsageError(
                "--git needs a clone of the target repository, and there is none here",
                "run inside it, or name it with --checkout ALIAS=DIR",
            )
        from rulebook.ranges import from_git

        try:
            return from_git(repository, git_range)
        except GitError as error:
            if named or not error.hint:
                raise
            raise GitError(error.message, f"{error.hint}; --checkout ALIAS=DIR names another clone") from None
    if paths:
        top = repository.top if repository is not None else None
        if list(paths) == ["-"]:
            return changes.from_path_list(read_input("-", "the path list"), nul=nul, top=top)
        return changes.from_paths(paths, top=top)
    return None


def root_of(root: str) -> str:
    """The knowledge base's folder: the one given, else the nearest at or above the current directory."""
    if not root:
        return find_root(current_folder())
    if not os.path.isfile(os.path.join(root, CONFIG_NAME)):
        raise NoKnowledgeBase(f"no knowledge base at {root}: there is no {CONFIG_NAME}", "name its folder with --root")
    return os.path.realpath(root)


def head_paths(config: Config, options: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The files at the head of each clone that ``--checkout`` names, by alias."""
    from rulebook.git.repository import Repository

    found = {}
    for alias, folder in checkouts(options).items():
        if alias not in config.targets:
            raise unknown_target(alias, config)
        found[alias] = Repository(folder).list_tree("HEAD")
    return found


def unknown_target(alias: str, config: Config) -> UsageError:
    """What to raise where ``--checkout`` names a repository that the knowledge base does not know."""
    from rulebook.spelling import suggest

    return UsageError(f"--checkout names {alias!r}, which is no target repository", suggest(alias, config.targets))


def history_of(root: str) -> Repository | None:
    """The repository that keeps the knowledge base's own history, if it has any commit yet."""
    from rulebook.errors import GitError
    from rulebook.git.repository import Repository

    try:
        repository = Repository.discover(root)
        repository.resolve_commit("HEAD")
    except GitError:
        return None
    return repository
