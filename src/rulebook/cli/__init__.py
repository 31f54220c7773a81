"""The command line: arguments → a question → a report → a format → an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from rulebook.errors import EXIT_BUG, EXIT_CANNOT_RUN, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, RulebookError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the process's exit code.

    The only place that catches what stops a run; the exit codes are in :mod:`rulebook.errors`.
    """
    from rulebook.cli import terminal

    with terminal.prepared():
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    import typer

    from rulebook.cli import terminal

    try:
        from rulebook.cli.app import app

        # Typer's own way out would draw boxes and end the process.
        code = app(args=None if argv is None else list(argv), prog_name="rulebook", standalone_mode=False)
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):
            # The reader of a help text went away.
            terminal.discard_output()
            return EXIT_OK
        return stop.code if isinstance(stop.code, int) else EXIT_OK
    except RulebookError as error:
        terminal.note_error(error.message, error.hint, apart=error.exit_code == EXIT_USAGE)
        return error.exit_code
    except typer.Abort as abort:
        # A question that was not answered; or an EOFError from anywhere, which no input of ours raises.
        return _report_bug(abort.__cause__) if abort.__cause__ else _interrupted()
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        from rulebook.cli.usage import ClickError, explain

        if isinstance(error, ClickError):
            if type(error).__name__ != "NoArgsIsHelpError":  # the help text is its message, and is printed by now
                terminal.note_error(*explain(error, sys.argv[1:] if argv is None else argv), apart=True)
            return EXIT_USAGE
        if isinstance(error, OSError) and error.errno in _FULL:
            terminal.discard_output()
            terminal.note(f"rulebook: cannot write: {os.strerror(error.errno)} (make room, and run it again)")
            return EXIT_CANNOT_RUN
        return _report_bug(error)
    if code == EXIT_INTERRUPTED:
        return _interrupted()
    return code if isinstance(code, int) else EXIT_OK


def _interrupted() -> int:
    from rulebook.cli import terminal

    terminal.note("rulebook: interrupted")
    return EXIT_INTERRUPTED


def _report_bug(error: BaseException) -> int:
    """Says that it is a bug, and keeps what it takes to find it."""
    import traceback

    from rulebook.cli import terminal

    terminal.note_lines("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    terminal.note("rulebook: this is a bug in rulebook; please report it with the lines above")
    return EXIT_BUG
