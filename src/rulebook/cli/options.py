"""Options that several commands share, declared once."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from rulebook.cli import completion
from rulebook.cli.terminal import Color


class Format(str, Enum):
    """What ``--format`` takes."""

    TEXT = "text"
    JSON = "json"
    MD = "md"


class AppliesFormat(str, Enum):
    """What ``--format`` of ``applies`` takes."""

    TEXT = "text"
    JSON = "json"
    MD = "md"
    SARIF = "sarif"
    GITHUB = "github"


class StaleFormat(str, Enum):
    """What ``--format`` of ``stale`` takes."""

    TEXT = "text"
    JSON = "json"
    MD = "md"
    SARIF = "sarif"


class FailOn(str, Enum):
    """What ``--fail-on`` takes; the weakest severity that makes the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


#: What help texts group options by; those of one command alone come first, without a group of their own.
CHANGE = "The change"
CONTENT = "Where things are"
ANSWER = "The answer"

#: What a command's exit codes are, for the commands that have findings.
FINDINGS = "Exit codes: 0 clean, 1 findings, 2 usage, 3 could not run."


def examples(*commands: str, notes: str = "") -> str:
    """What stands below a command's help text: examples, each on a line of its own, then what is to be known."""
    lines = "\n".join(["Examples:" if len(commands) > 1 else "Example:", *(f"  {command}" for command in commands)])
    return f"{lines}\n\n{notes}" if notes else lines


Root = Annotated[
    str,
    typer.Option(
        "--root",
        metavar="DIR",
        envvar="RULEBOOK_ROOT",
        help="The knowledge base. Default: the nearest parent with a rulebook.toml.",
        rich_help_panel=CONTENT,
    ),
]
Index = Annotated[
    str,
    typer.Option(
        "--index",
        metavar="DIR",
        envvar="RULEBOOK_INDEX",
        help="Keep the store in DIR instead of the user's cache directory. Must be private and outside the content.",
        rich_help_panel=CONTENT,
    ),
]
Repo = Annotated[
    str,
    typer.Option(
        "--repo",
        metavar="ALIAS",
        help="The target repository, by its alias or as owner/name. Default: by the git remote here.",
        autocompletion=completion.repositories,
        rich_help_panel=CONTENT,
    ),
]
Checkout = Annotated[
    list[str],
    typer.Option(
        "--checkout",
        metavar="ALIAS=DIR",
        help="A local clone of a target repository; may be given again.",
        rich_help_panel=CONTENT,
    ),
]
OutputFormat = Annotated[
    Format, typer.Option("--format", "-f", help="How the answer is written.", rich_help_panel=ANSWER)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No notes and no progress on standard error.", rich_help_panel=ANSWER)
]
ColorOption = Annotated[
    Color, typer.Option("--color", help="Colour; NO_COLOR and FORCE_COLOR count as well.", rich_help_panel=ANSWER)
]
Site = Annotated[
    str,
    typer.Option(
        "--site",
        metavar="URL",
        envvar="RULEBOOK_SITE",
        help="The docs site, for links to rules.",
        rich_help_panel=ANSWER,
    ),
]
Paths = Annotated[list[str], typer.Argument(metavar="[PATH]...", help="Changed paths, or - to read them from stdin.")]
Diff = Annotated[
    str, typer.Option("--diff", metavar="FILE", help="A unified diff; - reads it from stdin.", rich_help_panel=CHANGE)
]
GitRange = Annotated[
    str,
    typer.Option(
        "--git",
        metavar="RANGE",
        help="BASE...HEAD (from their merge base), BASE..HEAD, or one commit, in the target repository's clone.",
        rich_help_panel=CHANGE,
    ),
]
Nul = Annotated[
    bool,
    typer.Option("--null", "-z", help="Paths on stdin end in NUL, as git's -z prints them.", rich_help_panel=CHANGE),
]
