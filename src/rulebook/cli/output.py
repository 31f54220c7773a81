"""Which renderer writes which answer in which format; the one place where a command's answer leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rulebook.cli import terminal

if TYPE_CHECKING:
    from enum import Enum

    from rulebook.cli.terminal import Color

#: Each answer's renderers by format, as module and function of :mod:`rulebook.render`; imported when they are needed.
#: What they return is said by the format: styled lines for text, data for JSON and SARIF, a text for the others.
RENDERERS: Mapping[str, Mapping[str, str]] = {
    "applies": {
        "text": "text:applies_lines",
        "json": "data:applies_data",
        "md": "md:applies_markdown",
        "sarif": "sarif:applies_sarif",
        "github": "github:applies_annotations",
    },
    "explain": {"text": "text:explain_lines", "json": "data:explain_data", "md": "md:explain_markdown"},
    "search": {"text": "text:hits_lines", "json": "data:hits_data", "md": "md:hits_markdown"},
    "list": {"text": "text:rows_lines", "json": "data:rows_data", "md": "md:rows_markdown"},
    "lint": {"text": "text:findings_lines", "json": "data:findings_data", "md": "md:findings_markdown"},
    "stale": {
        "text": "stale:stale_lines",
        "json": "stale:stale_data",
        "md": "stale:stale_markdown",
        "sarif": "stale:stale_sarif",
    },
    "waiver check": {"text": "waivers:check_lines", "json": "waivers:check_data", "md": "waivers:check_markdown"},
    "waiver audit": {"text": "waivers:audit_lines", "json": "waivers:audit_data", "md": "waivers:audit_markdown"},
}

#: What only one format's renderer wants to know, found out when it is that format.
Extras = Mapping[str, Callable[[], Mapping[str, Any]]]


def write(answer: str, output: Enum, color: Color, *, extras: Extras | None = None, **subject: Any) -> None:
    """Writes an answer to standard output.

    Args:
        answer: a key of :data:`RENDERERS`.
        output: what ``--format`` says; its value is a key of the answer's formats.
        color: what ``--color`` says.
        extras: more keyword arguments for the renderers of some formats.
        subject: the keyword arguments of all its renderers.
    """
    form = str(output.value)
    module, _, function = RENDERERS[answer][form].partition(":")
    more = extras[form]() if extras and form in extras else {}
    rendered = getattr(import_module(f"rulebook.render.{module}"), function)(**subject, **more)
    if form == "text":
        terminal.write_lines(rendered, color)
    elif form in ("json", "sarif"):
        from rulebook.render.data import dump

        terminal.write(dump(rendered))
    else:
        terminal.write(rendered, commands=form == "github")
