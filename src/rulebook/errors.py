"""What can stop a run, and the exit code each kind of stop has.

Two kinds of wrong are kept apart. Wrong *content* (a rule with a bad date) is a
:class:`rulebook.model.Finding`: findings are collected, and the rest of the knowledge base still
answers. An impossible *run* (no knowledge base, no git, an unreadable diff) is an exception from
this module: raised where it is noticed, caught once, in :func:`rulebook.cli.main`.

The exit codes are a contract with other programs: 0 answered or clean, 1 findings at or above
``--fail-on``, 2 usage, 3 could not run, 4 a bug, 130 interrupted.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_CANNOT_RUN = 3
EXIT_BUG = 4
EXIT_INTERRUPTED = 130


class RulebookError(Exception):
    """A run that cannot go on: what happened, and what the user can do about it.

    Attributes:
        message: one line, says what and where.
        hint: one line, says what to do; empty where there is nothing to say.
        exit_code: the process's exit code.
    """

    exit_code = EXIT_CANNOT_RUN

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(RulebookError):
    """The command line asks for something that makes no sense (exit 2)."""

    exit_code = EXIT_USAGE


class NoKnowledgeBase(RulebookError):
    """There is no knowledge base at or above the given folder, or it holds no document (exit 3)."""


class UnreadableInput(RulebookError):
    """A diff, a path list or another input could not be read or is cut in the middle (exit 3)."""


class GitError(RulebookError):
    """Git is missing, refused, or does not have what was asked for (exit 3)."""


class StoreError(RulebookError):
    """The store's folder is unusable or unsafe (exit 3)."""


class HostError(RulebookError):
    """The hosting service refused a request, cannot be reached, or does not have what was asked for (exit 3)."""
