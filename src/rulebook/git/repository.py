"""A clone on this machine, and the questions that are asked of it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from io import BytesIO

from rulebook.errors import GitError
from rulebook.git.names import decode_path, empty_tree, encode_path, refuse_unsafe
from rulebook.git.objects import BlobReader, ObjectReader
from rulebook.git.process import DAMAGED, Git, execute
from rulebook.git.records import (
    RENAME_LIMIT,
    LogEntry,
    RawChange,
    blob_content,
    parse_commit,
    read_blame,
    read_changes,
    read_history,
    read_log,
    read_objects,
)

#: Seconds that one question about a file's history may take.
HISTORY_SECONDS = 60.0


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
        self._git = Git(environ)
        self._partial: bool | None = None
        place = os.path.realpath(path)
        self.git_dir, self.top = self._git.locate(place)
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
            args: one of the commands in :mod:`rulebook.git.process`, and its arguments.
            input: what it reads; by default its standard input is empty.
            timeout: seconds after which it is killed.
            ok: the exit codes that mean success.

        Raises:
            GitError: it failed, or took longer than ``timeout``.
            ValueError: the command is not one of those that are known to be safe.
        """
        return self._run(args, {}, input=input, timeout=timeout, ok=ok)

    def command(self, args: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """The command line and the environment for a git command on this repository; raises as :meth:`run` does."""
        return self._git.command(self.git_dir, args)

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
        code, output, complaint = execute(line, {**environment, **variables}, input=input, timeout=timeout)
        if code not in ok:
            raise GitError(f"git {args[0]} failed in {self}: {complaint or f'exit code {code}'}", DAMAGED)
        return output

    # --- the clone itself ---

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

    # --- commits ---

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
        parent = next(iter(parse_commit(content).parents), None)
        if parent is not None and self.is_shallow():
            self.resolve_commit(parent)
        return parent

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

    def cut_commits(self, commits: Iterable[str]) -> frozenset[str]:
        """Those of ``commits``, given by their ids, whose parents were cut off when this was cloned.

        Raises:
            GitError: git lacks one of them.
        """
        if not self.is_shallow():
            return frozenset()
        wanted = [refuse_unsafe(commit, "revision") for commit in commits]
        with self.open_objects() as reader:
            found = reader.contents(wanted)
        listing = self.run(["rev-list", "--no-walk", "--parents", "--stdin"], input="\n".join([*wanted, ""]).encode())
        seen = {line.split(" ")[0] for line in listing.decode("ascii").splitlines() if " " in line}
        # The commit itself names its parents still; git takes it for a root.
        return frozenset(
            c for c, held in found.items() if c not in seen and held and parse_commit(held.content).parents
        )

    def last_commit_before(self, date: str, commit: str) -> str | None:
        """The newest first-parent ancestor of ``commit`` from before the day ``date`` (``YYYY-MM-DD``), if any."""
        args = ["rev-list", "-1", "--first-parent", f"--before={date}T00:00:00Z", refuse_unsafe(commit, "revision")]
        return self.run(args).decode("ascii").strip() or None

    # --- files and their contents ---

    def list_tree(self, revision: str) -> tuple[str, ...]:
        """The paths of all files (and submodules) of a commit or tree, in git's order.

        Raises:
            GitError: ``revision`` names nothing here.
        """
        listing = self.run(["ls-tree", "-r", "-z", "--name-only", "--full-tree", refuse_unsafe(revision, "revision")])
        return tuple(decode_path(listing).split("\0")[:-1])

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
            answers = BytesIO(self.run(["cat-file", "--batch", "--buffer"], input=request, ok=ok))
            answered = [blob_content(found) for found in read_objects(answers, len(wanted))]
            blobs.update(zip(wanted, answered, strict=False))
            wanted = wanted[len(answered) + 1 :]
        return blobs

    def open_blobs(self) -> BlobReader:
        """A reader for blobs that are asked for one by one."""
        return BlobReader(self)

    def open_objects(self) -> ObjectReader:
        """A reader for objects of any kind, many at a time."""
        return ObjectReader(self)

    # --- what changed ---

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
        return read_changes(self._run(args, {"GIT_ATTR_SOURCE": empty_tree(new)}))[0]

    def history(self, *paths: str) -> list[LogEntry]:
        """The commits that led to ``HEAD`` and changed something in folders, oldest first, each with those changes.

        Simplified as git-rev-list(1) does by default: a commit's parents are the nearest ones that changed something
        there as well, and of a merge that took over one side the other one is left out.

        Raises:
            GitError: there is no commit, or the history is damaged.
        """
        args = ["rev-list", "--topo-order", "--reverse", "--parents", "--encoding=UTF-8", "--format=%ct %s", "HEAD"]
        entries = read_log(self.run([*args, "--", *paths]))
        # Behind a commit's id stand the parents to compare it with.
        request = "".join(f"{' '.join((entry.id, *entry.parents[:1]))}\n" for entry in entries).encode("ascii")
        args = ["diff-tree", "--stdin", "-r", "-z", "--root", "--raw", "--full-index", "--no-renames"]
        changes = read_history(self.run([*args, "--", *paths], input=request))
        return [entry._replace(changes=changes.get(entry.id, ())) for entry in entries]

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
        found = [
            (lines.here + offset, lines.path, lines.there + offset)
            for lines in read_blame(listing)
            if lines.commit == new
            for offset in range(lines.length)
        ]
        return [(name, there) for _, name, there in sorted(found)]
