"""The application: its commands by name, each made only when it is asked for.

Typer turns every parameter of every command into objects before the first one is parsed. With a dozen
commands that costs more than the answer itself, so a command's module is imported when the command is looked up, by its
own name, by ``--help`` or by completion.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rulebook.cli import terminal

#: Each command with the module that registers it, in the order of the help text.
COMMANDS = {
    "applies": "queries",
    "explain": "queries",
    "search": "lookups",
    "show": "lookups",
    "list": "lookups",
    "index": "content",
    "lint": "content",
    "stale": "stale",
    "repin": "stale",
    "sync": "stale",
    "retire": "stale",
    "waiver": "waiver",
    "comment": "comment",
    "site": "site",
}


class _LazyCommands(MutableMapping[str, Any]):
    """The commands as Typer keeps them, a mapping by name, of which only those asked for exist."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            # A callback makes a group of it, whatever the number of commands.
            holder = typer.Typer(callback=_nothing, add_completion=False, pretty_exceptions_enable=False)
            import_module(f"rulebook.cli.{COMMANDS[name]}").register(holder)
            made: Any = typer.main.get_command(holder)
            for command in made.commands.values():
                _unwrap(command)
            self._made.update(made.commands)
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _LazyGroup(TyperGroup):
    """A group whose commands are made when they are looked up."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _LazyCommands()


def _unwrap(command: Any) -> None:
    """Lets the paragraphs of help texts be folded by the terminal's width, not by the source's.

    Typer does so with the first one alone.
    """
    if command.help:
        paragraphs = command.help.split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for inner in getattr(command, "commands", {}).values():
        _unwrap(inner)


def _nothing() -> None:
    pass


app = typer.Typer(
    name="rulebook",
    cls=_LazyGroup,
    help="A repository's rules as a knowledge base: which rules apply to these changed paths, and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Examples:\n"
    "  rulebook applies --git main...HEAD  which rules apply to this branch\n"
    "  rulebook explain RULE src/config.py why one does, or does not\n"
    "  rulebook show RULE                  what it says\n"
    "  rulebook search WORD                what there is on a word, a name, a path\n"
    "  rulebook lint                       whether the content is well-formed\n\n"
    "Exit codes: 0 answered or clean, 1 findings, 2 usage, 3 could not run, 4 a bug, 130 interrupted.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        terminal.write(f"rulebook {version('repo-rulebook')}\n")
        raise typer.Exit


@app.callback()
def _callback(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
