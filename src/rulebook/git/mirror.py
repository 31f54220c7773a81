"""Clones that are kept up to date: the only way from here to a network."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence

from rulebook.errors import GitError
from rulebook.git.names import refuse_unsafe
from rulebook.git.process import NO_CONFIGURATION, OPTIONS, Git, Silent, first_complaint, listen

#: What git may fetch with. Others start programs that a URL names (``ext::``) or leave the machine's rules (``fd::``).
_PROTOCOLS = ("https", "http", "ssh", "git", "file")
_URL = re.compile(r"(?:https?|ssh|git|file)://[^\s]+\Z|[\w.-]+@[\w.-]+:(?!:)[^\s]+\Z|/.*\Z")
_PROGRESS = re.compile(rb"(?:remote: )?([A-Z][a-z]+ [a-z]+):\s+\d+% \((\d+)/(\d+)\)")

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


class Mirror:
    """A bare, partial clone that is fetched into: all branches and tags, and no file's content but what is asked for.

    Unlike a :class:`~rulebook.git.repository.Repository` it may reach the network, and nothing else: no hook, no
    credential helper, no prompt, no transport but those in :data:`_PROTOCOLS`, none of the user's configuration.
    What a private repository needs has to come from an SSH agent.

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
        self._git = Git(environ)

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
        self._fetch([*(["--prune"] if prune else []), "origin", *wanted], (), silence, progress)

    def fetch_contents(
        self,
        ids: Sequence[str],
        *,
        silence: float = 60.0,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """Fetches files' contents by their ids; raises as :meth:`fetch` does."""
        # As git itself fetches what a partial clone lacks (promisor-remote.c): nothing is negotiated.
        self._fetch(["origin", *ids], ("-c", "fetch.negotiationAlgorithm=noop"), silence, progress)

    def _fetch(
        self,
        args: Sequence[str],
        options: Sequence[str],
        silence: float,
        progress: Callable[[str, int, int], None] | None,
    ) -> None:
        kept = ["--progress", "--no-tags", "--no-auto-gc", "--recurse-submodules=no", "--filter=blob:none"]
        kept += ["--no-write-fetch-head"] if self._git.version >= (2, 29) else []
        speed = [*("-c", "http.lowSpeedLimit=1"), *("-c", f"http.lowSpeedTime={max(int(silence), 1)}")]
        self._run(["fetch", *kept, *args], options=[*speed, *options], silence=silence, progress=progress)

    def _run(
        self,
        args: Sequence[str],
        *,
        at: str | None = "",
        options: Sequence[str] = (),
        silence: float = 60.0,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        line = [self._git.executable, *OPTIONS, *_NETWORK_OPTIONS, *options]
        line += [] if at is None else [f"--git-dir={self.path}"]
        environment = {**self._git.environment(), **_NETWORK_VARIABLES, **NO_CONFIGURATION}
        complaints = b""

        def hear(text: bytes) -> None:
            nonlocal complaints
            found = _PROGRESS.search(text)
            if found is None:
                complaints = (complaints + text + b"\n")[-10_000:]
            elif progress is not None:
                progress(found[1].decode("ascii"), int(found[2]), int(found[3]))

        try:
            code = listen([*line, *args], environment, hear, silence=silence)
        except Silent:
            raise GitError(
                f"{self.url} was silent for {silence:g} s, and was given up",
                "check the network and try again: what arrived is kept; --timeout waits longer",
            ) from None
        if code != 0:
            complaint = first_complaint(complaints) or f"exit code {code}"
            raise GitError(f"git {args[0]} failed for {self.url}: {complaint}", "check the URL and your access to it")
