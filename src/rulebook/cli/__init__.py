"""The command line: arguments → a question → a report → a format → an exit code."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from rulebook.errors import EXIT_BUG, EXIT_CANNOT_RUN, EXIT_INTERRUPTED, EXIT_OK, RulebookError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the process's exit code.

    The only place that catches what stops a run; the exit codes are in :mod:`rulebook.errors`.
    """
    from rulebook.cli import terminal

    with terminal.prepared():
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    from rulebook.cli import terminal

    try:
        from rulebook.cli.app import app

        app(args=None if argv is None else list(argv), prog_name="rulebook")
    except SystemExit as stop:
        return _exit_code(stop)
    except RulebookError as error:
        hint = f" ({error.hint})" if error.hint else ""
        terminal.note(f"rulebook: {error.message}{hint}")
        return error.exit_code
    except KeyboardInterrupt:
        terminal.note("rulebook: interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            terminal.discard_output()
            terminal.note(f"rulebook: cannot write: {os.strerror(error.errno)} (make room, and run it again)")
            return EXIT_CANNOT_RUN
        return _report_bug(error)
    return EXIT_OK


def _exit_code(stop: SystemExit) -> int:
    """The code of a run that Typer ended, without what it makes of conditions of its own: exit code 1, "findings"."""
    import typer

    from rulebook.cli import terminal

    context = stop.__context__
    if isinstance(context, BrokenPipeError):
        # The reader of a help text went away.
        terminal.discard_output()
        return EXIT_OK
    if isinstance(context, typer.Abort):
        # A question that was not answered; or an EOFError from anywhere, which no input of ours raises.
        return _report_bug(context.__cause__) if context and context.__cause__ else EXIT_INTERRUPTED
    return stop.code if isinstance(stop.code, int) else EXIT_OK


def _report_bug(error: BaseException) -> int:
    """Says that it is a bug, and keeps what it takes to find it."""
    import traceback

    from rulebook.cli import terminal

    terminal.note_lines("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    terminal.note("rulebook: this is a bug in rulebook; please report it with the lines above")
    return EXIT_BUG
