"""Git, started here and nowhere else.

A repository that is read here is not trusted: its ``config`` may name programs (external diffs,
text converters, filters, a file system monitor, an SSH command, hooks) and may send a missing
object's request to a "remote" that is a command line. None of them ever runs:

- Only the commands in :data:`_COMMANDS` are started, each with the options that keep it from
  running what a configuration or an attribute names. They are plumbing: no pager, no alias, no
  signature check, no hook.
- No command reaches a network or a helper, but those of a :class:`Mirror`. ``GIT_NO_LAZY_FETCH`` keeps
  a partial clone from fetching what it lacks; git knows it since 2.45 (and in security releases back
  to 2.39.4), so ``GIT_ALLOW_PROTOCOL`` closes every transport as well.
- Neither index nor working tree is looked at. ``.gitattributes`` there could declare a source file
  binary and so hide its lines, and the answer would depend on what happens to be checked out.
- Of the inherited environment every ``GIT_*`` is dropped; replacement objects are not followed, so
  an id always stands for the bytes it is the hash of.

Git refuses a repository that belongs to another user unless ``safe.directory`` lists it, but does
not check when it is told ``--git-dir``. So a repository is *opened* by git's own search, with the
user's own configuration in force, and only then addressed by ``--git-dir`` with none at all. Git
before 2.32 does not know ``GIT_CONFIG_GLOBAL``; there the user's own configuration stays in force,
and what could change an answer is overridden on the command line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, NamedTuple, final

from rulebook.errors import GitError

if TYPE_CHECKING:
    import subprocess
    from types import TracebackType
    from weakref import finalize

MINIMUM_VERSION = (2, 25)

#: Git looks for renames as long as there are at most this number squared of pairs to compare.
RENAME_LIMIT = 2000

#: Seconds that one question about a file's history may take.
HISTORY_SECONDS = 60.0

#: Objects that may turn out damaged before a repository is given up.
MAX_DAMAGED = 20

#: The commands in use, with the options that keep each from running a configured program.
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "blame": ("--no-textconv",),
    "cat-file": (),
    "config": (),
    "diff-tree": ("--no-ext-diff", "--no-textconv", "--no-color"),
    "ls-tree": (),
    "merge-base": (),
    "rev-list": (),
    "rev-parse": (),
}

_OPTIONS = (
    "--no-pager",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.attributesFile=/dev/null"),
    *("-c", "core.quotePath=true"),
)

_VARIABLES: Mapping[str, str] = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}

#: Where the user's own configuration is: needed while opening, for ``safe.directory``.
_USER_CONFIGURATION = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")

_NO_CONFIGURATION: Mapping[str, str] = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

_DAMAGED = "look for damage with 'git fsck'"

#: Known to git without being stored, by the length of an id: SHA-1 and SHA-256.
_EMPTY_TREES: Mapping[int, str] = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


def encode_path(path: str) -> bytes:
    """The bytes of a path: UTF-8, and whatever else the file system had, unchanged."""
    return path.encode("utf-8", "surrogateescape")


def decode_path(path: bytes) -> str:
    """The text of a path; :func:`encode_path` gives the same bytes back, UTF-8 or not."""
    return path.decode("utf-8", "surrogateescape")


def empty_tree(like: str) -> str:
    """The id of the tree without entries, in the hash algorithm of the id ``like``."""
    return _EMPTY_TREES[len(like)]


def refuse_unsafe(value: str, what: str) -> str:
    """``value``, if git can only take it for a ``what`` (a revision, a path, a URL).

    Raises:
        GitError: it is empty, begins with ``-``, so that git could read an option, or holds a
            control character, so that a line-based protocol could read two values.
    """
    if not value:
        raise GitError(f"an empty {what} means nothing to git")
    if value.startswith("-"):
        raise GitError(f"{value!r} is refused as a {what}: it begins with '-'")
    if any(character < " " or character == "\x7f" for character in value):
        raise GitError(f"{value!r} is refused as a {what}: it holds a control character")
    return value


class Repository:
    """A git repository on this machine, bare or not, for reading.

    Attributes:
        git_dir: absolute path of the git directory.
        top: absolute path of the working tree's top, or ``None`` where there is none around.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        search_parents: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Open the repository at ``path``: the top of a working tree, or a git directory.

        Args:
            path: where it is.
            search_parents: take the nearest one at or above ``path`` instead.
            environ: what git inherits from (default: this process's environment).

        Raises:
            GitError: there is none, it belongs to another user, or git is missing or too old.
        """
        self._inherited = os.environ if environ is None else environ
        self._executable = _find_executable(self._inherited.get("PATH", os.defpath))
        self._partial: bool | None = None
        place = os.path.realpath(path)
        self.git_dir, self.top = self._locate(place)
        if not search_parents and place not in (self.git_dir, self.top):
            raise GitError(
                f"{place} is not a git repository, only a folder inside of one, {self.top or self.git_dir}",
                "name the repository itself",
            )

    @classmethod
    def discover(cls, start: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None) -> Repository:
        """The nearest repository at or above the folder ``start``; raises as :class:`Repository` does."""
        return cls(start, search_parents=True, environ=environ)

    def __str__(self) -> str:
        return self.top or self.git_dir

    def run(
        self,
        args: Sequence[str],
        *,
        input: bytes | None = None,
        timeout: float | None = None,
        ok: Collection[int] = (0,),
    ) -> bytes:
        """What a git command writes to its standard output.

        Args:
            args: one of the commands in :data:`_COMMANDS`, and its arguments.
            input: what it reads; by default its standard input is empty.
            timeout: seconds after which it is killed.
            ok: the exit codes that mean success.

        Raises:
            GitError: it failed, or took longer than ``timeout``.
            ValueError: the command is not one of those that are known to be safe.
        """
        return self._run(args, {}, input=input, timeout=timeout, ok=ok)

    def resolve_commit(self, revision: str) -> str:
        """The full id of the commit that ``revision`` (a branch, a tag, an id, ``HEAD~2``) names.

        Raises:
            GitError: ``revision`` is refused, names nothing here, or names something else.
        """
        refuse_unsafe(revision, "revision")
        # Without the suffix rev-parse accepts any 40 digits, existing or not.
        try:
            return self.run(["rev-parse", "--verify", f"{revision}^{{commit}}"]).decode("ascii").strip()
        except GitError as error:
            if "ambiguous" in error.message:
                raise GitError(f"{revision!r} is ambiguous in {self}", "give more digits of the id") from None
            remedy = "git fetch --unshallow" if self.is_shallow() else "git fetch"
            raise GitError(
                f"{self} has no commit {revision!r}",
                f"check the spelling, or bring it here with '{remedy}'",
            ) from None

    def merge_base(self, a: str, b: str) -> str:
        """The id of the best common ancestor of two commits, given by their ids.

        Raises:
            GitError: they have none, or this clone is too shallow to hold it.
        """
        base = self.run(["merge-base", refuse_unsafe(a, "revision"), refuse_unsafe(b, "revision")], ok=(0, 1))
        if base:
            return base.decode("ascii").strip()
        if self.is_shallow():
            raise GitError(
                f"{self} is a shallow clone and lacks the merge base of {a} and {b}",
                "bring the history here with 'git fetch --unshallow' (in GitHub Actions: fetch-depth: 0)",
            )
        raise GitError(f"{a} and {b} have no common ancestor in {self}", "compare them with '..' instead of '...'")

    def first_parent(self, commit: str) -> str | None:
        """The id of the first parent of the commit with the id ``commit``; ``None`` for a root commit.

        Raises:
            GitError: the parent was cut off, this being a shallow clone.
        """
        # Read from the commit itself: in a shallow clone a revision like ``C^`` takes a commit whose
        # parents were cut off for a root.
        content = self.run(["cat-file", "commit", refuse_unsafe(commit, "revision")])
        header = content.partition(b"\n\n")[0]
        parent = next((line[7:].decode("ascii") for line in header.split(b"\n") if line.startswith(b"parent ")), None)
        if parent is not None and self.is_shallow():
            self.resolve_commit(parent)
        return parent

    def remote_urls(self) -> tuple[str, ...]:
        """The URLs of the remotes, ``origin`` first, as configured but without user and password."""
        listing = self.run(["config", "-z", "--get-regexp", r"^remote\..*\.url$"], ok=(0, 1))
        remotes = [entry.partition("\n")[::2] for entry in decode_path(listing).split("\0") if entry]
        remotes.sort(key=lambda remote: remote[0] != "remote.origin.url")
        return tuple(dict.fromkeys(re.sub(r"^(https?://)[^/@]*@", r"\1", url) for _, url in remotes))

    def is_shallow(self) -> bool:
        """Whether the history was cut off when this was cloned."""
        return self.run(["rev-parse", "--is-shallow-repository"]).strip() == b"true"

    def is_partial(self) -> bool:
        """Whether this clone was made without some objects (``git clone --filter``)."""
        if self._partial is None:
            pattern = r"^(extensions\.partialclone|remote\..*\.promisor)$"
            self._partial = bool(self.run(["config", "--get-regexp", pattern], ok=(0, 1)))
        return self._partial

    def find_missing(self, ids: Iterable[str]) -> set[str]:
        """Those of the blobs ``ids`` that this clone does not hold.

        Raises:
            GitError: it holds one that is damaged.
        """
        wanted = set(ids)
        # In a partial clone cat-file dies of the first object it may not fetch; this goes on.
        args = ["rev-list", "--objects", "--no-walk", "--no-object-names", "--ignore-missing", "--missing=allow-any"]
        held = self.run([*args, "--stdin"], input="".join(f"{name}\n" for name in wanted).encode("ascii"))
        return wanted.difference(held.decode("ascii").split())

    def list_tree(self, revision: str) -> tuple[str, ...]:
        """The paths of all files (and submodules) of a commit or tree, in git's order.

        Raises:
            GitError: ``revision`` names nothing here.
        """
        listing = self.run(["ls-tree", "-r", "-z", "--name-only", "--full-tree", refuse_unsafe(revision, "revision")])
        return tuple(decode_path(listing).split("\0")[:-1])

    def read_blobs(self, names: Iterable[str]) -> dict[str, bytes | None]:
        """The contents of many files, read by one process.

        Args:
            names: ids, or ``revision:path``.

        Returns:
            each name with its content, or with ``None`` where this clone has no such blob to read.
            That says nothing about whether there is one: :meth:`find_missing` does, for an id.

        Raises:
            GitError: a name is refused.
        """
        wanted = list(dict.fromkeys(refuse_unsafe(name, "name of an object") for name in names))
        blobs: dict[str, bytes | None] = dict.fromkeys(wanted)
        if self.is_partial():
            missing = self.find_missing(name for name in wanted if re.fullmatch(r"[0-9a-f]{40,64}", name))
            wanted = [name for name in wanted if name not in missing]
        while wanted:
            request = b"".join(encode_path(name) + b"\n" for name in wanted)
            # A partial clone may lack what ``revision:path`` names; git dies of that, and we go on behind it.
            ok = (0, 128) if self.is_partial() else (0,)
            answered = list(_parse_batch(self.run(["cat-file", "--batch", "--buffer"], input=request, ok=ok)))
            blobs.update(zip(wanted, answered, strict=False))
            wanted = wanted[len(answered) + 1 :]
        return blobs

    def open_blobs(self) -> BlobReader:
        """A reader for blobs that are asked for one by one."""
        return BlobReader(self)

    def diff(self, old: str, new: str, *, content: bool = True, exclude: Iterable[str] = ()) -> bytes:
        """How the tree or commit ``old`` differs from ``new``, whatever is configured or checked out.

        Args:
            old: id of the old side.
            new: id of the new side.
            content: whether to compare contents. Without, only files whose content stayed the same
                count as renamed, no changed line is given, and no file has to be present.
            exclude: paths to leave out.

        Returns:
            what ``git diff-tree --raw -z`` writes, and with ``content`` a NUL and the patch, without
            context: what is changed is on the changed lines, what surrounds them is in the files.
            Copies are not looked for: a copied file is a new one, all its lines are new.

        Raises:
            GitError: git has no such object, or a file's content is missing or damaged.
        """
        args = ["diff-tree", "-r", "-z", "--raw", "--full-index", "--ignore-submodules=none", f"-l{RENAME_LIMIT}"]
        if content:
            args += ["-M", "-p", "-U0", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"]
        else:
            args += ["-M100%"]
        args += [refuse_unsafe(old, "revision"), refuse_unsafe(new, "revision"), "--"]
        args += [f":(exclude,literal){path}" for path in exclude]
        # Since 2.43 a bare repository takes attributes from HEAD, unless it is told a tree (2.41).
        return self._run(args, {"GIT_ATTR_SOURCE": empty_tree(new), "GIT_LITERAL_PATHSPECS": "0"})

    def changes(self, old: str, new: str, *, paths: Collection[str] = (), exact: bool = False) -> list[RawChange]:
        """How the files of commit ``old`` differ from those of ``new``, as ``git diff --raw -M`` says.

        A deleted and an added file of which at least half is the same are a rename.

        Args:
            old: id of the old side.
            new: id of the new side.
            paths: only these files; all of them by default.
            exact: take only unchanged files for renamed, which needs no contents.

        Raises:
            GitError: git has no such commit, or lacks contents that it has to compare.
        """
        args = ["diff-tree", "-r", "-z", "--raw", "--full-index", "-M100%" if exact else "-M", f"-l{RENAME_LIMIT}"]
        args += ["--ignore-submodules=none", refuse_unsafe(old, "revision"), refuse_unsafe(new, "revision")]
        args += ["--", *paths]
        fields = iter(self._run(args, {"GIT_ATTR_SOURCE": empty_tree(new)}).split(b"\0"))
        found: list[RawChange] = []
        for header in fields:
            if header:
                old_mode, new_mode, old_id, new_id, status = header.decode("ascii").lstrip(":").split(" ")
                path = decode_path(next(fields))
                target = decode_path(next(fields)) if status[0] in "RC" else path
                found.append(RawChange(status[0], path, target, old_mode, new_mode, old_id, new_id))
        return found

    def history(self, path: str) -> list[tuple[str, list[RawChange]]]:
        """The commits that led to ``HEAD`` and changed something in a folder, oldest first, each with those changes.

        A rename is a deletion and an addition; merges are left out, as what they merge is not.

        Raises:
            GitError: there is no commit, or the history is damaged.
        """
        commits = self.run(["rev-list", "--topo-order", "--reverse", "--no-merges", "HEAD", "--", path])
        args = ["diff-tree", "--stdin", "-r", "-z", "--root", "--raw", "--full-index", "--no-renames", "--", path]
        found: list[tuple[str, list[RawChange]]] = []
        fields = iter(self.run(args, input=commits).split(b"\0"))
        for field in fields:
            if field.startswith(b":"):
                old_mode, new_mode, old_id, new_id, status = field.decode("ascii").lstrip(":").split(" ")
                name = decode_path(next(fields))
                found[-1][1].append(RawChange(status[0], name, name, old_mode, new_mode, old_id, new_id))
            elif field:
                found.append((field.decode("ascii").strip(), []))
        return found

    def commits_outside(self, commits: Collection[str], *, of: Sequence[str] = ("--all",)) -> frozenset[str]:
        """Those of ``commits``, given by their ids, that are no ancestors of ``of`` (default: of any branch or tag).

        Raises:
            GitError: git lacks one of them.
        """
        if not commits:
            return frozenset()
        request = "".join(f"{refuse_unsafe(commit, 'revision')}\n" for commit in commits).encode("ascii")
        listing = self.run(["rev-list", "--stdin", "--not", *of], input=request).decode("ascii")
        return frozenset(commits).intersection(listing.split())

    @property
    def may_fetch_lazily(self) -> bool:
        """Whether git would fetch what is missing here, were it allowed to.

        Guessed without a process, on the safe side. In such a clone, git before 2.45 dies when it is asked for an
        object that is missing.
        """
        for name in (os.path.join(self.git_dir, "config"), os.path.join(self._common_dir(), "config")):
            try:
                with open(name, "rb") as file:
                    content = file.read().lower()
            except OSError:
                continue
            if any(word in content for word in (b"promisor", b"partialclone", b"include")):
                return True
        return False

    def list_objects(self, commits: Collection[str]) -> dict[str, bool]:
        """The objects that commits, given by their ids, consist of, each with whether it is here; fetches nothing.

        What a missing folder holds is not known, and left out.

        Raises:
            GitError: git lacks one of the commits.
        """
        request = "".join(f"{refuse_unsafe(commit, 'revision')}\n" for commit in commits).encode("ascii")
        args = ["rev-list", "--objects", "--no-object-names", "--no-walk", "--missing=print", "--stdin"]
        listing = self.run(args, input=request).decode("ascii").split("\n")
        return {line.lstrip("?"): not line.startswith("?") for line in listing if line}

    def last_commit_before(self, date: str, commit: str) -> str | None:
        """The newest first-parent ancestor of ``commit`` from before the day ``date`` (``YYYY-MM-DD``), if any."""
        args = ["rev-list", "-1", "--first-parent", f"--before={date}T00:00:00Z", refuse_unsafe(commit, "revision")]
        return self.run(args).decode("ascii").strip() or None

    def follow_lines(self, old: str, new: str, path: str, first: int, last: int) -> list[tuple[str, int]] | None:
        """Where lines of a file of commit ``old`` stand in its descendant ``new``, followed through the history.

        Args:
            old: id of the commit that has the lines.
            new: id of a commit that ``old`` is an ancestor of along first parents.
            path: the file at ``old``; renames are followed.
            first: first line, 1-based.
            last: last line, included.

        Returns:
            path and line at ``new`` of each line that survived, in the order of the old lines;
            ``None`` where git cannot tell, because ``old`` is on no first-parent line or contents are missing.
        """
        args = ["blame", "--reverse", "--first-parent", "--incremental", f"-L{first},{last}"]
        args += [f"{refuse_unsafe(old, 'revision')}..{refuse_unsafe(new, 'revision')}", "--", path]
        try:
            listing = self.run(args, timeout=HISTORY_SECONDS)
        except GitError:
            return None
        found: list[tuple[int, str, int]] = []
        header: tuple[str, int, int, int] | None = None
        for line in listing.split(b"\n"):
            match = re.fullmatch(rb"([0-9a-f]{40,64}) ([0-9]+) ([0-9]+) ([0-9]+)", line)
            if match:
                header = (match[1].decode("ascii"), int(match[2]), int(match[3]), int(match[4]))
            elif line.startswith(b"filename ") and header:
                commit, there, here, count = header
                name = _unquote_path(line[9:])
                if commit == new:
                    found += [(here + offset, name, there + offset) for offset in range(count)]
        return [(name, there) for _, name, there in sorted(found)]

    def peek_ref(self, ref: str) -> str | None:
        """The id that a reference like ``refs/heads/main`` holds, read without a process.

        ``None`` where there is none, and where only git can tell (a symbolic reference, other ways of storing them).
        """
        folder = self._common_dir()
        packed = rb"^([0-9a-f]{40,64}) " + re.escape(encode_path(ref)) + rb"$"
        for name, pattern in ((refuse_unsafe(ref, "reference"), rb"\A([0-9a-f]{40,64})\n?\Z"), ("packed-refs", packed)):
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    found = re.search(pattern, file.read(), re.MULTILINE)
            except OSError:
                continue
            # A reference in a file of its own wins, also where it is a symbolic one.
            if found or name == ref:
                return found[1].decode("ascii") if found else None
        return None

    def _common_dir(self) -> str:
        """Where references and settings are: a linked working tree shares them with the repository it belongs to."""
        try:
            with open(os.path.join(self.git_dir, "commondir"), "rb") as file:
                return os.path.join(self.git_dir, decode_path(file.read(4096).rstrip(b"\n")))
        except OSError:
            return self.git_dir

    def open_objects(self) -> ObjectReader:
        """A reader for objects of any kind, many at a time."""
        return ObjectReader(self)

    def command(self, args: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """The command line and the environment for a git command on this repository."""
        if args[0] not in _COMMANDS:
            raise ValueError(f"git {args[0]} is not known to be safe on an untrusted repository")
        # ``--bare``, and an index that does not exist: see the module's docstring.
        line = [self._executable, *_OPTIONS, "--bare", f"--git-dir={self.git_dir}"]
        environment = {**self._environment(), **_NO_CONFIGURATION}
        environment["GIT_INDEX_FILE"] = os.path.join(self.git_dir, "no-index-is-read")
        return [*line, args[0], *_COMMANDS[args[0]], *args[1:]], environment

    def _run(
        self,
        args: Sequence[str],
        variables: Mapping[str, str],
        *,
        input: bytes | None = None,
        timeout: float | None = None,
        ok: Collection[int] = (0,),
    ) -> bytes:
        line, environment = self.command(args)
        code, output, complaint = _execute(line, {**environment, **variables}, input=input, timeout=timeout)
        if code not in ok:
            raise GitError(f"git {args[0]} failed in {self}: {complaint or f'exit code {code}'}", _DAMAGED)
        return output

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in self._inherited.items() if not name.startswith("GIT_")}
        return {**kept, **_VARIABLES}

    def _locate(self, place: str) -> tuple[str, str | None]:
        """The git directory and the top of the working tree, found by git's own search from ``place``."""
        version = _read_version(self._executable)
        if version < MINIMUM_VERSION:
            needed = ".".join(map(str, MINIMUM_VERSION))
            raise GitError(
                f"{self._executable} is version {'.'.join(map(str, version))}, and {needed} is needed",
                f"install git {needed} or newer",
            )
        environment = self._environment()
        environment |= {name: self._inherited[name] for name in _USER_CONFIGURATION if name in self._inherited}
        # A bare repository that was asked for by name is meant; safe.bareRepository is about others.
        line = [self._executable, *_OPTIONS, "-c", "safe.bareRepository=all", "-C", place, "rev-parse"]
        # No path but the first can hold a line break: the last is made of "../".
        line += ["--absolute-git-dir", "--is-inside-work-tree", "--show-cdup"]
        code, output, complaint = _execute(line, environment)
        if "dubious ownership" in complaint or "unsafe repository" in complaint:
            from shlex import quote

            raise GitError(
                f"the repository at {place} belongs to another user",
                f"if you trust it: git config --global --add safe.directory {quote(place)}",
            )
        if code != 0:
            why = "" if complaint.startswith("not a git repository (or any") else f": {complaint}"
            raise GitError(f"there is no git repository at {place}{why}", "go to a clone, or name one")
        found = re.fullmatch(r"(.*)\n(?:true\n((?:\.\./)*)|false\n.*)\n?", decode_path(output), re.DOTALL)
        if found is None:
            raise GitError(f"cannot make out where the repository at {place} is: git says {output!r}")
        up = found[2]
        return found[1], None if up is None else os.path.normpath(os.path.join(place, up))


@final
class BlobReader:
    """Reads blobs one after another through a single process, started by the first one.

    A context manager. Where nobody closes it, the process ends with the object.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: finalize[..., BlobReader] | None = None

    def read(self, name: str) -> bytes | None:
        """The blob that an id or ``revision:path`` names, or ``None`` where this clone has none to read.

        Raises:
            GitError: the name is refused, or git gave up.
        """
        request = encode_path(refuse_unsafe(name, "name of an object")) + b"\n"
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(request)
            process.stdin.flush()
        except BrokenPipeError:
            pass  # Said below, where an answer is missing.
        header = process.stdout.readline()
        kind, size = _parse_batch_header(header[:-1])
        content = process.stdout.read(size + 1) if kind else b""
        if not header or (kind and len(content) != size + 1):
            self.close()
            if self._repository.is_partial():
                return None
            raise GitError(f"git gave up reading {name} in {self._repository}", _DAMAGED)
        return content[:-1] if kind == b"blob" else None

    def close(self) -> None:
        """End the process, if there is one; a later :meth:`read` starts another."""
        if self._finalizer is not None:
            self._finalizer()
        self._process = self._finalizer = None

    def __enter__(self) -> BlobReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        import subprocess
        import weakref

        line, environment = self._repository.command(["cat-file", "--batch"])
        process = subprocess.Popen(  # noqa: S603 - no shell, and a command of ours
            line, env=environment, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._process = process
        self._finalizer = weakref.finalize(self, _end, process)
        return process


class RawChange(NamedTuple):
    """What became of a file: the letter that ``git diff --raw`` gives, and both sides; one path where it stayed."""

    status: str
    old_path: str
    path: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str


class Object(NamedTuple):
    """An object of a repository: its id, its type, its size in bytes and, where it was asked for, its content."""

    id: str
    kind: str
    size: int
    content: bytes = b""


@final
class ObjectReader:
    """Answers questions about many objects through one process, or two with git before 2.36.

    A context manager. Where nobody closes it, the processes end with the object.
    """

    #: Questions that are asked before the answers are read. Short enough for the pipe of any system
    #: to hold them, so that neither side waits for the other.
    _BATCH = 60

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._channels: dict[str, tuple[subprocess.Popen[bytes], finalize[..., ObjectReader]]] = {}
        self._modern = True

    def info(self, names: Iterable[str]) -> dict[str, Object | None]:
        """Type and size of each object that an id or a revision names; ``None`` for what is not here.

        Raises:
            GitError: a name is refused, or git cannot be started.
        """
        return self._ask("info", names)

    def contents(self, names: Iterable[str]) -> dict[str, Object | None]:
        """Like :meth:`info`, with contents; ``None`` for what is not here or is damaged."""
        return self._ask("contents", names)

    def close(self) -> None:
        """End the processes; a later question starts another."""
        for _, finalizer in self._channels.values():
            finalizer()
        self._channels.clear()

    def __enter__(self) -> ObjectReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, verb: str, names: Iterable[str]) -> dict[str, Object | None]:
        wanted = list(dict.fromkeys(refuse_unsafe(name, "name of an object") for name in names))
        found: dict[str, Object | None] = {}
        failures = 0
        while wanted:
            batch = wanted[: self._BATCH]
            answered = self._exchange(verb, batch)
            found.update(zip(batch, answered, strict=False))
            wanted = wanted[len(answered) :]
            if len(answered) == len(batch):
                continue
            # Git died. Without --batch-command it dies at once; on a damaged object, when it reads that.
            self.close()
            if self._modern and not found:
                self._modern = False
                continue
            failures += 1
            if failures > MAX_DAMAGED:
                raise GitError(f"git gave up reading {wanted[0]} in {self._repository}", _DAMAGED)
            found[wanted.pop(0)] = None
        return found

    def _exchange(self, verb: str, names: Sequence[str]) -> list[Object | None]:
        """The answers to a batch of questions, fewer where git died."""
        process = self._channel(verb)
        assert process.stdin is not None
        assert process.stdout is not None
        prefix = f"{verb} " if self._modern else ""
        try:
            process.stdin.write(b"".join(encode_path(f"{prefix}{name}\n") for name in names))
            process.stdin.flush()
        except BrokenPipeError:
            pass  # The answers are missing as well.
        answers: list[Object | None] = []
        for _ in names:
            header = process.stdout.readline()
            if not header.endswith(b"\n"):
                break
            kind, size = _parse_batch_header(header[:-1])
            if kind is None:
                answers.append(None)
                continue
            identity, content = header.partition(b" ")[0].decode("ascii"), b""
            if verb == "contents":
                content = process.stdout.read(size + 1)
                if len(content) != size + 1:
                    break
            answers.append(Object(identity, kind.decode("ascii"), size, content[:-1]))
        return answers

    def _channel(self, verb: str) -> subprocess.Popen[bytes]:
        import subprocess
        import weakref

        mode = "--batch-command" if self._modern else {"info": "--batch-check", "contents": "--batch"}[verb]
        if mode not in self._channels:
            line, environment = self._repository.command(["cat-file", mode])
            process = subprocess.Popen(  # noqa: S603 - no shell, and a command of ours
                line, env=environment, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._channels[mode] = (process, weakref.finalize(self, _end, process))
        return self._channels[mode][0]


_ESCAPES = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}


def _unquote_path(quoted: bytes) -> str:
    """A path as git quotes it in line-based output (``core.quotePath``), or as it is."""
    if not (len(quoted) > 1 and quoted.startswith(b'"') and quoted.endswith(b'"')):
        return decode_path(quoted)

    def replace(match: re.Match[bytes]) -> bytes:
        return bytes([int(match[1], 8)]) if match[1][:1].isdigit() else bytes([_ESCAPES[match[1]]])

    return decode_path(re.sub(rb'\\([0-3][0-7]{2}|[abtnvfr"\\])', replace, quoted[1:-1]))


#: What git may fetch with. Others start programs that a URL names (``ext::``) or leave the machine's rules (``fd::``).
_PROTOCOLS = ("https", "http", "ssh", "git", "file")
_URL = re.compile(r"(?:https?|ssh|git|file)://[^\s]+\Z|[\w.-]+@[\w.-]+:(?!:)[^\s]+\Z|/.*\Z")
_PROGRESS = re.compile(rb"(?:remote: )?([A-Z][a-z]+ [a-z]+):\s+\d+% \((\d+)/(\d+)\)")


class Mirror:
    """A bare, partial clone that is fetched into: all branches and tags, and no file's content but what is asked for.

    Unlike a :class:`Repository` it may reach the network, and nothing else: no hook, no credential helper, no
    prompt, no transport but those in :data:`_PROTOCOLS`, none of the user's configuration. What a private
    repository needs has to come from an SSH agent.

    Attributes:
        path: absolute path of the git directory.
        url: where it is fetched from.
    """

    def __init__(self, path: str, url: str, *, environ: Mapping[str, str] | None = None) -> None:
        """Prepares to fetch from ``url`` into ``path``.

        Raises:
            GitError: the URL is refused, or git is missing or too old.
        """
        if not _URL.match(refuse_unsafe(url, "URL")):
            known = ", ".join(_PROTOCOLS)
            raise GitError(f"{url!r} is no URL that is fetched from", f"use {known}, host:path or an absolute path")
        self.path = os.path.abspath(path)
        self.url = url
        self._inherited = os.environ if environ is None else environ
        self._executable = _find_executable(self._inherited.get("PATH", os.defpath))
        self._version = _read_version(self._executable)
        if self._version < MINIMUM_VERSION:
            raise GitError(f"{self._executable} is older than 2.25", "install git 2.25 or newer")

    def create(self) -> None:
        """Makes the git directory, or mends what an interrupted attempt left of it; keeps what is there.

        Raises:
            GitError: it cannot be made.
        """
        self._run(["init", "--quiet", "--bare", "--template=", self.path], at=None)
        settings = {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.url": self.url,
            "remote.origin.promisor": "true",
            "remote.origin.partialCloneFilter": "blob:none",
        }
        for name, value in settings.items():
            self._run(["config", name, value])

    def fetch(
        self,
        wanted: Sequence[str],
        *,
        prune: bool = False,
        silence: float = 60.0,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """Fetches references (``+refs/heads/main:refs/heads/main``) or objects by their ids, without contents.

        Args:
            wanted: what to fetch.
            prune: whether to remove references that are no more.
            silence: seconds after which a network that says nothing is given up.
            progress: called with (what is done, done, to do).

        Raises:
            GitError: it failed, or the network was silent for too long.
        """
        options = ["--progress", "--no-tags", "--no-auto-gc", "--recurse-submodules=no", "--filter=blob:none"]
        options += ["--prune"] if prune else []
        options += ["--no-write-fetch-head"] if self._version >= (2, 29) else []
        speed = [*("-c", "http.lowSpeedLimit=1"), *("-c", f"http.lowSpeedTime={max(int(silence), 1)}")]
        self._run(["fetch", *options, "origin", *wanted], options=speed, silence=silence, progress=progress)

    def fetch_contents(
        self,
        ids: Sequence[str],
        *,
        silence: float = 60.0,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """Fetches files' contents by their ids; raises as :meth:`fetch` does."""
        # As git itself fetches what a partial clone lacks (promisor-remote.c): nothing is negotiated.
        options = [*("-c", "fetch.negotiationAlgorithm=noop"), *("-c", f"http.lowSpeedTime={max(int(silence), 1)}")]
        arguments = ["--progress", "--no-tags", "--no-auto-gc", "--recurse-submodules=no", "--filter=blob:none"]
        arguments += ["--no-write-fetch-head"] if self._version >= (2, 29) else []
        self._run(["fetch", *arguments, "origin", *ids], options=options, silence=silence, progress=progress)

    def _run(
        self,
        args: Sequence[str],
        *,
        at: str | None = "",
        options: Sequence[str] = (),
        silence: float = 60.0,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        import subprocess

        line = [self._executable, *_OPTIONS, *_NETWORK_OPTIONS, *options]
        line += [] if at is None else [f"--git-dir={self.path}"]
        kept = {name: value for name, value in self._inherited.items() if not name.startswith("GIT_")}
        environment = {**kept, **_NETWORK_VARIABLES, **_NO_CONFIGURATION}
        process = subprocess.Popen(  # noqa: S603 - no shell, and a command of ours
            [*line, *args],
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # A group of its own, so that the programs that git starts for a transport end with it.
            start_new_session=True,
        )
        complaints = b""
        try:
            assert process.stderr is not None
            for text in _read_until_silent(process.stderr, silence):
                found = _PROGRESS.search(text)
                if found is None:
                    complaints = (complaints + text + b"\n")[-10_000:]
                elif progress is not None:
                    progress(found[1].decode("ascii"), int(found[2]), int(found[3]))
        except _Silent:
            raise GitError(
                f"{self.url} was silent for {silence:g} s, and was given up",
                "check the network and try again: what arrived is kept; --timeout waits longer",
            ) from None
        finally:
            _kill_group(process)
        if process.returncode != 0:
            complaint = _first_complaint(complaints) or f"exit code {process.returncode}"
            raise GitError(f"git {args[0]} failed for {self.url}: {complaint}", "check the URL and your access to it")


#: Over what the user or the repository configured.
_NETWORK_OPTIONS = (
    *("-c", "credential.helper="),
    *("-c", "core.askPass="),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "protocol.version=2"),
)

_NETWORK_VARIABLES: Mapping[str, str] = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": ":".join(_PROTOCOLS),
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=30",
    "GIT_TERMINAL_PROMPT": "0",
}


class _Silent(Exception):
    """A stream said nothing for too long."""


def _read_until_silent(stream: IO[bytes], silence: float) -> Iterator[bytes]:
    """The lines of a stream, as they come; a carriage return ends a line as well.

    Raises:
        _Silent: nothing came for ``silence`` seconds.
    """
    import selectors

    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(silence):
                raise _Silent
            data = os.read(stream.fileno(), 1 << 16)
            *lines, rest = re.split(rb"[\r\n]", rest + data)
            yield from lines
            if not data:
                if rest:
                    yield rest
                return


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Waits for a process that has closed its output, and ends its group where it does not end by itself."""
    import signal
    import subprocess

    assert process.stderr is not None
    process.stderr.close()
    for number in (0, signal.SIGTERM, signal.SIGKILL):
        try:
            if number:
                os.killpg(process.pid, number)
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            process.wait()
        return


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let ``cat-file`` end: it does when its input does, or nobody reads its output."""
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        try:
            stream.close()
        except BrokenPipeError:
            pass
    process.wait()


def _parse_batch(output: bytes) -> Iterator[bytes | None]:
    """The answers in the output of ``cat-file --batch``: a blob's content, ``None`` for anything else."""
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        kind, size = _parse_batch_header(output[at:end])
        yield output[end + 1 : end + 1 + size] if kind == b"blob" else None
        at = end + 1 + (size + 1 if kind else 0)


def _parse_batch_header(header: bytes) -> tuple[bytes | None, int]:
    """Type and size of what follows in the output of ``cat-file --batch``; ``None`` and 0 if nothing does."""
    found = re.fullmatch(rb"[0-9a-f]+ ([a-z]+) ([0-9]+)", header)
    return (found[1], int(found[2])) if found else (None, 0)


def _execute(
    line: Sequence[str], environment: Mapping[str, str], *, input: bytes | None = None, timeout: float | None = None
) -> tuple[int, bytes, str]:
    """Exit code, standard output, and the first line that says what is wrong."""
    import subprocess

    # From the root: the current folder may be gone, and no ``.gitattributes`` of a checkout is near.
    options: dict[str, Any] = {"env": environment, "cwd": "/", "capture_output": True, "timeout": timeout}
    options |= {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
    try:
        done = subprocess.run(line, check=False, **options)  # noqa: S603 - no shell, and a command of ours
    except OSError as error:
        raise GitError(f"cannot start {line[0]}: {error.strerror}", "install git, or mend PATH") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"git took longer than {timeout:g} s and was stopped") from error
    return done.returncode, done.stdout, _first_complaint(done.stderr)


def _first_complaint(stderr: bytes) -> str:
    """What git says is wrong, as one line without control characters."""
    lines = stderr.decode("utf-8", "replace").splitlines()
    line = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[0] if lines else "")
    return "".join(character for character in line.partition(": ")[2] or line if character.isprintable())


def _find_executable(path: str) -> str:
    """Git on the search path, in absolute folders only: ``.`` may be what a stranger committed."""
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder, "git")
        if os.path.isabs(folder) and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    raise GitError("git is not installed, or not on PATH", "install git 2.25 or newer")


@lru_cache
def _read_version(executable: str) -> tuple[int, ...]:
    _, output, _ = _execute([executable, "--version"], {"LC_ALL": "C"})
    found = re.search(rb"\d+(?:\.\d+)+", output)
    if found is None:
        raise GitError(f"{executable} does not say which version of git it is", "install git 2.25 or newer")
    return tuple(map(int, found[0].split(b".")))
