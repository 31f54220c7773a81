"""The command line: arguments → a question → a report → a format → an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rulebook.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_OK, RulebookError


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the process's exit code.

    The only place that catches what stops a run; the exit codes are in :mod:`rulebook.errors`.
    """
    from rulebook.cli import terminal

    if os.environ.get("NO_COLOR"):
        # Typer forces colour into help texts under GITHUB_ACTIONS, whatever NO_COLOR says.
        os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"
    try:
        from rulebook.cli.app import app

        app(args=None if argv is None else list(argv), prog_name="rulebook")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_OK
    except RulebookError as error:
        hint = f" ({error.hint})" if error.hint else ""
        terminal.note(f"rulebook: {error.message}{hint}")
        return error.exit_code
    except KeyboardInterrupt:
        terminal.note("rulebook: interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`); keep Python from complaining about it at exit.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except Exception:  # a bug: say so, and keep what it takes to find it
        import traceback

        terminal.note("".join(traceback.format_exc()).rstrip())
        terminal.note("rulebook: this is a bug in rulebook; please report it with the lines above")
        return EXIT_BUG
    return EXIT_OK
