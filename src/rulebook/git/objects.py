"""Objects of a repository, read through one running ``git cat-file`` for many questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, final

from rulebook.errors import GitError
from rulebook.git import process
from rulebook.git.names import encode_path, refuse_unsafe
from rulebook.git.records import Object, blob_content, read_object, read_objects

if TYPE_CHECKING:
    import subprocess
    from types import TracebackType
    from weakref import finalize

#: Objects that may turn out damaged before a repository is given up.
MAX_DAMAGED = 20


class Place(Protocol):
    """What a reader needs of a repository."""

    def command(self, args: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """The command line and the environment for a git command there."""
        ...

    def is_partial(self) -> bool:
        """Whether objects may be missing without anything being wrong."""
        ...


@final
class BlobReader:
    """Reads blobs one after another through a single process, started by the first one.

    A context manager. Where nobody closes it, the process ends with the object.
    """

    def __init__(self, repository: Place) -> None:
        self._repository = repository
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: finalize[..., BlobReader] | None = None

    def read(self, name: str) -> bytes | None:
        """The blob that an id or ``revision:path`` names, or ``None`` where this clone has none to read.

        Raises:
            GitError: the name is refused, or git gave up.
            GitError: the name is refused, or git gave up.
        """
        refuse_unsafe(name, "name of an object")
        running = self._process or self._start()
        assert running.stdout is not None
        _ask(running, [name])
        try:
            found = read_object(running.stdout)
        except EOFError:
            self.close()
            if self._repository.is_partial():
                return None
            raise GitError(f"git gave up reading {name} in {self._repository}", process.DAMAGED) from None
        return blob_content(found)

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
        import weakref

        self._process = process.converse(*self._repository.command(["cat-file", "--batch"]))
        self._finalizer = weakref.finalize(self, process.end, self._process)
        return self._process


@final
class ObjectReader:
    """Answers questions about many objects through one process, or two with git before 2.36.

    A context manager. Where nobody closes it, the processes end with the object.
    """

    #: Questions that are asked before the answers are read. Short enough for the pipe of any system
    #: to hold them, so that neither side waits for the other.
    _BATCH = 60

    def __init__(self, repository: Place) -> None:
        self._repository = repository
        self._channels: dict[str, tuple[subprocess.Popen[bytes], finalize[..., ObjectReader]]] = {}
        self._modern = True

    def info(self, names: Iterable[str]) -> dict[str, Object | None]:
        """Type and size of each object that an id or a revision names; ``None`` for what is not here.

        Raises:
            GitError: a name is refused, or git cannot be started.
        """
        return self._answer("info", names)

    def contents(self, names: Iterable[str]) -> dict[str, Object | None]:
        """Like :meth:`info`, with contents; ``None`` for what is not here or is damaged."""
        return self._answer("contents", names)

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

    def _answer(self, verb: str, names: Iterable[str]) -> dict[str, Object | None]:
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
                raise GitError(f"git gave up reading {wanted[0]} in {self._repository}", process.DAMAGED)
            found[wanted.pop(0)] = None
        return found

    def _exchange(self, verb: str, names: Sequence[str]) -> list[Object | None]:
        """The answers to a batch of questions, fewer where git died."""
        running = self._channel(verb)
        assert running.stdout is not None
        _ask(running, [f"{verb} {name}" for name in names] if self._modern else names)
        return read_objects(running.stdout, len(names), content=verb == "contents")

    def _channel(self, verb: str) -> subprocess.Popen[bytes]:
        import weakref

        mode = "--batch-command" if self._modern else {"info": "--batch-check", "contents": "--batch"}[verb]
        if mode not in self._channels:
            running = process.converse(*self._repository.command(["cat-file", mode]))
            self._channels[mode] = (running, weakref.finalize(self, process.end, running))
        return self._channels[mode][0]


def _ask(running: subprocess.Popen[bytes], questions: Iterable[str]) -> None:
    assert running.stdin is not None
    try:
        running.stdin.write(b"".join(encode_path(question) + b"\n" for question in questions))
        running.stdin.flush()
    except BrokenPipeError:
        pass  # Said where the answers are missing.
