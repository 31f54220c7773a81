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
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any

from rulebook.errors import GitError
from rulebook.git.names import decode_path

if TYPE_CHECKING:
    import subprocess

MINIMUM_VERSION = (2, 25)

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

#: Over what the repository configured, whichever command runs.
OPTIONS = (
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

NO_CONFIGURATION: Mapping[str, str] = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

DAMAGED = "look for damage with 'git fsck'"


class Git:
    """The installed git, and the environment that it inherits from.

    Attributes:
        executable: its absolute path.
        version: its numbers, the largest first.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """Finds git on the search path of ``environ`` (default: this process's environment).

        Raises:
            GitError: it is missing or too old.
        """
        self._inherited = os.environ if environ is None else environ
        self.executable = _find_executable(self._inherited.get("PATH", os.defpath))
        self.version = _read_version(self.executable)
        if self.version < MINIMUM_VERSION:
            needed = ".".join(map(str, MINIMUM_VERSION))
            raise GitError(
                f"{self.executable} is version {'.'.join(map(str, self.version))}, and {needed} is needed",
                f"install git {needed} or newer",
            )

    def environment(self) -> dict[str, str]:
        """What is inherited, without anything that git would take for a setting."""
        return {name: value for name, value in self._inherited.items() if not name.startswith("GIT_")}

    def command(self, git_dir: str, args: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """The command line and the environment for a command on the repository at ``git_dir``.

        Raises:
            ValueError: the command is not one of those that are known to be safe.
        """
        if args[0] not in _COMMANDS:
            raise ValueError(f"git {args[0]} is not known to be safe on an untrusted repository")
        # ``--bare``, and an index that does not exist: see the module's docstring.
        line = [self.executable, *OPTIONS, "--bare", f"--git-dir={git_dir}"]
        environment = {**self.environment(), **_VARIABLES, **NO_CONFIGURATION}
        environment["GIT_INDEX_FILE"] = os.path.join(git_dir, "no-index-is-read")
        return [*line, args[0], *_COMMANDS[args[0]], *args[1:]], environment

    def locate(self, place: str) -> tuple[str, str | None]:
        """The git directory and the top of the working tree, found by git's own search from ``place``.

        Raises:
            GitError: there is none, or it belongs to another user.
        """
        environment = {**self.environment(), **_VARIABLES}
        environment |= {name: self._inherited[name] for name in _USER_CONFIGURATION if name in self._inherited}
        # A bare repository that was asked for by name is meant; safe.bareRepository is about others.
        line = [self.executable, *OPTIONS, "-c", "safe.bareRepository=all", "-C", place, "rev-parse"]
        # No path but the first can hold a line break: the last is made of "../".
        line += ["--absolute-git-dir", "--is-inside-work-tree", "--show-cdup"]
        code, output, complaint = execute(line, environment)
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


def execute(
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
    return done.returncode, done.stdout, first_complaint(done.stderr)


def converse(line: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Starts a command that answers on its standard output what is asked on its standard input."""
    import subprocess

    return subprocess.Popen(  # noqa: S603 - no shell, and a command of ours
        line, env=environment, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Lets a process of :func:`converse` end: it does when its input does, or nobody reads its output."""
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        try:
            stream.close()
        except BrokenPipeError:
            pass
    process.wait()


class Silent(Exception):
    """A command said nothing for too long."""


def listen(
    line: Sequence[str], environment: Mapping[str, str], hear: Callable[[bytes], None], *, silence: float
) -> int:
    """Runs a command to its end, and passes on each line of its standard error as it comes.

    Args:
        line: the command line.
        environment: what it inherits.
        hear: called with each line; a carriage return ends a line as well.
        silence: seconds without a word after which it is ended.

    Returns:
        its exit code.

    Raises:
        Silent: it was ended.
    """
    import subprocess

    process = subprocess.Popen(  # noqa: S603 - no shell, and a command of ours
        line,
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # A group of its own, so that the programs that git starts for a transport end with it.
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        for text in _read_until_silent(process.stderr, silence):
            hear(text)
    finally:
        _kill_group(process)
    return process.returncode


def _read_until_silent(stream: IO[bytes], silence: float) -> Iterator[bytes]:
    """The lines of a stream, as they come; a carriage return ends a line as well.

    Raises:
        Silent: nothing came for ``silence`` seconds.
    """
    import selectors

    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(silence):
                raise Silent
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


def first_complaint(stderr: bytes) -> str:
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
    _, output, _ = execute([executable, "--version"], {"LC_ALL": "C"})
    found = re.search(rb"\d+(?:\.\d+)+", output)
    if found is None:
        raise GitError(f"{executable} does not say which version of git it is", "install git 2.25 or newer")
    return tuple(map(int, found[0].split(b".")))
