"""What Typer finds wrong with a command line, in our words: what it is, and what to do.

Typer draws a box around its errors, for which it loads most of rich; a box is hard to read in a log, on a narrow
terminal and with a screen reader.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from rulebook.spelling import did_you_mean, nearest, suggest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Typer has a copy of Click of its own since 0.26 and took the package before; what it exports is related to either.
_Usage: Any = typer.BadParameter.__base__
#: What Typer raises about a command line, and about files that its own types open.
ClickError: Any = _Usage.__base__

_NOT_ONE_OF = re.compile(r"(?P<word>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") is not one of ", re.DOTALL)
_NO_COMMAND = re.compile(r"No such command '(?P<name>.*?)'\.", re.DOTALL)


def explain(error: Any, arguments: Sequence[str] = ()) -> tuple[str, str]:
    """What is wrong with a command line, and what to do about it.

    Args:
        error: a ``ClickException`` of whatever Click Typer is built on.
        arguments: the command line, for errors that do not say which command they are about.
    """
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else " ".join(["rulebook", *_commands_in(arguments)])
    what, hint = _explain(error, context, path)
    see = f"see: {path} --help"
    return what, f"{hint} {see}" if hint.endswith("?") else f"{hint}; {see}" if hint else see


def _explain(error: Any, context: Any, path: str) -> tuple[str, str]:
    kind = type(error).__name__
    message = str(error.message or "")
    if kind == "NoSuchOption":
        return f"{path!r} has no option {error.option_name}", did_you_mean(
            nearest(error.option_name, _options(context))
        )
    command = _NO_COMMAND.match(message)
    if command is not None and context is not None:
        known = list(context.command.commands)
        near = did_you_mean(nearest(command["name"], known))
        return f"there is no command {command['name']!r}", near or f"known: {', '.join(known)}"
    parameter = getattr(error, "param", None)
    if parameter is None:
        return _lower(message), ""
    name = _name(parameter)
    if kind == "MissingParameter":
        what = _lower(getattr(parameter, "help", "") or "")
        return f"{path!r} needs {name}" + (f": {what}" if what else ""), f"say: {path} {_sample(parameter)}"
    choices = [str(getattr(choice, "value", choice)) for choice in getattr(parameter.type, "choices", ())]
    wrong = _NOT_ONE_OF.match(message)
    if choices and wrong is not None:
        return f"{name} cannot be {wrong['word']}", suggest(wrong["word"][1:-1], choices)
    return f"{name}: {_lower(message)}", ""


def _commands_in(arguments: Sequence[str]) -> Iterator[str]:
    """The commands that a command line begins with."""
    from rulebook.cli.app import COMMANDS

    for word in arguments[:1]:
        if word in COMMANDS:
            yield word


def _sample(parameter: Any) -> str:
    name = _name(parameter)
    return f"{name} {parameter.metavar or 'VALUE'}" if parameter.param_type_name == "option" else name


def _options(context: Any) -> Iterator[str]:
    for parameter in context.command.get_params(context) if context is not None else ():
        if parameter.param_type_name == "option":
            yield from (*parameter.opts, *parameter.secondary_opts)


def _name(parameter: Any) -> str:
    """What a parameter is called on the command line."""
    if parameter.param_type_name == "option":
        longest: str = max(parameter.opts, key=len)
        return longest
    return str(parameter.metavar or parameter.name)


def _lower(text: str) -> str:
    """A sentence of Typer's, or of a help text, as half a sentence."""
    text = text.strip().removesuffix(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] in " '" else text
