"""Standard output and standard error: encoding, colour, folding. The only place that writes to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, TextIO

from rulebook.render.safe import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from rulebook.render.text import StyledLine
    from rulebook.store import Progress, Row


class Color(str, Enum):
    """What ``--color`` takes."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def wants_color(color: Color, stream: TextIO | None) -> bool:
    """Whether to use colour: ``--color``, then NO_COLOR, then FORCE_COLOR, then the terminal."""
    if color is not Color.AUTO:
        return color is Color.ALWAYS
    # https://no-color.org: present and not empty.
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def write(text: str) -> None:
    """Writes to standard output as UTF-8; what has no UTF-8 form (odd file names) is escaped."""
    _write(sys.stdout, text)


def note(text: str, *, quiet: bool = False) -> None:
    """Writes one line to standard error, unless notes are muted."""
    if not quiet:
        _write(sys.stderr, one_line(text) + "\n")


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:
        return
    data = text.encode("utf-8", "backslashreplace")
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8"))
    else:
        stream.flush()
        buffer.write(data)
    stream.flush()


def write_lines(lines: Iterable[StyledLine], color: Color) -> None:
    """Writes styled lines: plain and unfolded into a pipe, coloured and folded on a terminal."""
    if not wants_color(color, sys.stdout) and not _is_terminal(sys.stdout):
        write("".join(line.plain + "\n" for line in lines))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    terminal = wants_color(color, sys.stdout)
    console = Console(
        file=sys.stdout, force_terminal=terminal, no_color=not terminal, highlight=False, markup=False, emoji=False
    )
    for line in lines:
        head = Text()
        for piece, style in line.pieces:
            head.append(piece, style)
        head.rstrip()
        folded = head.wrap(console, max(console.width - line.indent, 20)) if head.cell_len > console.width else [head]
        for index, part in enumerate(folded):
            console.print(Padding(part, (0, 0, 0, line.indent if index else 0)) if index and line.indent else part)


def show_document(row: Row, original: Row, replaced: Sequence[Row], languages: Sequence[str], color: Color) -> None:
    """Writes a document: its facts, then its text, rendered on a terminal and as it is into a pipe."""
    from rulebook.render.safe import several_lines
    from rulebook.render.text import document_lines

    write_lines(document_lines(row, original, replaced, languages), color)
    body = several_lines(row.body).rstrip("\n") + "\n"
    if not _is_terminal(sys.stdout) and not wants_color(color, sys.stdout):
        write("\n" + body)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    colored = wants_color(color, sys.stdout)
    console = Console(file=sys.stdout, force_terminal=colored, no_color=not colored)
    console.print()
    # Links are shown as text: an address that hides behind other words is no help to a reader.
    console.print(Markdown(body, hyperlinks=False))


def progress_bar(label: str, *, quiet: bool) -> Progress | None:
    """A progress callback that draws a bar on standard error once the work turns out to be long."""
    if quiet or not _is_terminal(sys.stderr):
        return None
    return _Bar(label).advance


class _Bar:
    """A bar that appears with the first step of work that has at least :data:`_LONG` steps."""

    _LONG = 50

    def __init__(self, label: str) -> None:
        self._label = label
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def advance(self, done: int, total: int) -> None:
        if total < self._LONG:
            return
        if self._bar is None or self._task is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as NewProgress

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = NewProgress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._label, total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done)
        if done >= total:
            self._bar.stop()
            self._bar = None
