"""Standard output and standard error: encoding, colour, folding. The only place that writes to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from io import TextIOWrapper
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from rulebook.errors import RulebookError
from rulebook.render.safe import one_line, several_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID
    from rich.text import Text

    from rulebook.render.text import StyledLine
    from rulebook.store.schema import Progress, Row


#: Seconds after which somebody who waits wonders what is going on.
PATIENCE = 0.7
_NO_TERMINAL = "_TYPER_FORCE_DISABLE_TERMINAL"


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


@contextmanager
def prepared() -> Iterator[None]:
    """Makes the streams take any text, and the library that writes help texts follow our rules for colour."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # What Typer and rich write does not come through here, and a locale may know ASCII alone.
            stream.reconfigure(errors="backslashreplace")
    forced = os.environ.get("GITHUB_ACTIONS") and not os.environ.get("FORCE_COLOR") and not _is_terminal(sys.stdout)
    if not forced and not os.environ.get("NO_COLOR"):
        yield
        return
    # Typer takes GITHUB_ACTIONS for a terminal, and lets it win over NO_COLOR.
    os.environ[_NO_TERMINAL] = "1"
    try:
        yield
    finally:
        os.environ.pop(_NO_TERMINAL, None)


def write(text: str, *, commands: bool = False) -> None:
    """Writes to standard output as UTF-8; what has no UTF-8 form (odd file names) is escaped.

    A reader that went away (``| head``) is no error: the rest is dropped, and the exit code stays the command's own.

    Args:
        text: what to write.
        commands: whether it has commands for GitHub Actions; else what looks like one in a workflow's log is escaped.

    Raises:
        RulebookError: standard output is closed, or takes no more.
    """
    if sys.stdout is None:
        raise RulebookError("standard output is closed, so the answer cannot be written", "open it, say >/dev/null")
    try:
        _write(sys.stdout, text if commands else _without_commands(text))
    except BrokenPipeError:
        discard_output()
    except OSError as error:
        discard_output()
        raise RulebookError(f"the answer cannot be written: {error.strerror}", "write it elsewhere") from None


def _without_commands(text: str) -> str:
    """What a workflow's runner obeys when it reads the log is made harmless; elsewhere nobody obeys anything."""
    if not os.environ.get("GITHUB_ACTIONS"):
        return text
    from rulebook.render.github import defang

    return defang(text)


def note(text: str, *, quiet: bool = False) -> None:
    """Writes one line to standard error, unless notes are muted; where it cannot be written, it is dropped."""
    if not quiet:
        _write_note(_without_commands(one_line(text)) + "\n")


def notes(texts: Iterable[str], *, quiet: bool) -> None:
    """Writes what is worth knowing about an answer to standard error, a line each."""
    for text in texts:
        note(f"note: {text}", quiet=quiet)


def note_error(message: str, hint: str, *, apart: bool) -> None:
    """Writes what stopped a run to standard error: what is wrong, and what to do about it.

    Args:
        message: what, and where.
        hint: what to do; may be empty.
        apart: whether the hint has a line of its own, as in answers to a mistyped command line; else the error is one
            line, for logs.
    """
    if apart:
        note(f"rulebook: {message}")
        note(f"  {hint}", quiet=not hint)
    else:
        note(f"rulebook: {message}" + (f" ({hint})" if hint else ""))


def note_lines(text: str) -> None:
    """Writes several lines to standard error, as :func:`note` writes one."""
    _write_note(_without_commands(several_lines(text)).rstrip("\n") + "\n")


def discard_output() -> None:
    """Makes all further output go nowhere, so that Python does not fail once more when it ends."""
    _discard(sys.stdout)


def _discard(stream: TextIO) -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, AttributeError, ValueError):
        # There is no stream, or it is one in memory.
        pass


def _write_note(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        _write(sys.stderr, text)
    except (OSError, ValueError):
        # Nobody reads it, and the exit code says what matters. What is left in the buffer must not fail at the end.
        _discard(sys.stderr)


def _write(stream: TextIO, text: str) -> None:
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
    colored = wants_color(color, sys.stdout)
    if not colored and not _is_terminal(sys.stdout):
        write("".join(line.plain + "\n" for line in lines))
        return
    console = _console(colored)
    for line in lines:
        for part in _fold(line, console):
            console.print(part)
    write(_text_of(console))


def _console(colored: bool) -> Console:
    """A console as wide as the terminal that writes into memory."""
    from io import StringIO

    from rich.console import Console

    return Console(
        file=StringIO(),
        force_terminal=colored,
        no_color=not colored,
        # Left alone it takes TERM=dumb for a reason not to do as it is told.
        color_system="standard" if colored and os.environ.get("TERM") == "dumb" else "auto",
        highlight=False,
        markup=False,
        emoji=False,
    )


def _text_of(console: Console) -> str:
    return str(console.file.getvalue())  # type: ignore[attr-defined]  # a StringIO


def _fold(line: StyledLine, console: Console) -> Iterator[Text]:
    """The rows of a terminal that a line takes: the first one whole, the others indented."""
    from rich.text import Text

    whole = Text()
    for piece, style in line.pieces:
        whole.append(piece, style)
    whole.rstrip()
    plain = whole.plain
    start = indent = 0
    while True:
        end = row_end(plain, start, console.width - indent)
        row = whole[start:end]
        row.rstrip()
        yield Text(" " * indent) + row if indent else row
        start = end + len(plain[end:]) - len(plain[end:].lstrip(" "))
        if start >= len(plain):
            return
        indent = min(line.indent, console.width // 4)


def row_end(text: str, start: int, width: int) -> int:
    """Where the row ends that begins at ``start`` and is at most ``width`` cells wide.

    Rows end between words. A word that no row can hold, such as a path, is broken behind one of its slashes; and
    Chinese, which has no spaces, anywhere.
    """
    from rich.cells import get_character_cell_size

    limit, used = start, 0
    while limit < len(text):
        used += get_character_cell_size(text[limit])
        if used > width:
            break
        limit += 1
    # At least one character, however narrow the terminal is.
    limit = max(limit, start + 1)
    if limit >= len(text) or text[limit] == " ":
        return limit
    if get_character_cell_size(text[limit]) > 1 or get_character_cell_size(text[limit - 1]) > 1:
        return limit
    word = text.rfind(" ", start, limit) + 1
    if not text[start:word].strip():
        word = start
    word_end = text.find(" ", limit)
    longest = text[word : word_end if word_end > 0 else len(text)]
    if word > start and sum(map(get_character_cell_size, longest)) <= width // 2:
        return word
    slash = text.rfind("/", max(word, start), limit) + 1
    return slash if slash > max(word, start) else word if word > start else limit


def show_document(row: Row, original: Row, replaced: Sequence[Row], languages: Sequence[str], color: Color) -> None:
    """Writes a document: its facts, then its text, rendered on a terminal and as it is into a pipe."""
    from rulebook.render.text import document_lines

    write_lines(document_lines(row, original, replaced, languages), color)
    body = several_lines(row.body).rstrip("\n") + "\n"
    colored = wants_color(color, sys.stdout)
    if not _is_terminal(sys.stdout) and not colored:
        write("\n" + body)
        return
    from rich.markdown import Markdown

    console = _console(colored)
    console.print()
    # Links are shown as text: an address that hides behind other words is no help to a reader.
    console.print(Markdown(body, hyperlinks=False))
    write(_text_of(console))


def progress_bar(label: str, *, quiet: bool) -> Progress | None:
    """A progress callback that draws a bar on standard error once the work turns out to be long."""
    if quiet or not _is_terminal(sys.stderr):
        return None
    return _Bar(label).advance


class _Bar:
    """A bar that appears when work has taken a while and is not about to end."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._began = monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def advance(self, done: int, total: int) -> None:
        """Takes note of how many steps are done; the last one ends the bar."""
        if self._bar is None or self._task is None:
            if done >= total or monotonic() - self._began < PATIENCE:
                return
            self._bar = _new_bar("BarColumn", "MofNCompleteColumn", "TimeRemainingColumn")
            self._task = self._bar.add_task(self._label, total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total)
        if done >= total:
            self._bar.stop()
            self._bar = None


@contextmanager
def waiting(label: str, *, quiet: bool) -> Iterator[None]:
    """Says on standard error what is being done, once it turns out to take a while; for work that has no steps."""
    if quiet or not _is_terminal(sys.stderr):
        yield
        return
    from threading import Timer

    shown: list[RichProgress] = []

    def show() -> None:
        bar = _new_bar("SpinnerColumn", "TimeElapsedColumn")
        shown.append(bar)
        bar.add_task(label, total=None)
        bar.start()

    timer = Timer(PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for bar in shown:
            bar.stop()


@contextmanager
def stages(label: str, *, quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """A progress callback for work in several stages, each with a length of its own."""
    if quiet or not _is_terminal(sys.stderr):
        yield None
        return
    with _new_bar("BarColumn", "MofNCompleteColumn") as bar:
        task = bar.add_task(label, total=None)

        def advance(stage: str, done: int, total: int) -> None:
            bar.update(task, description=f"{label}: {stage.lower()}", completed=done, total=total)

        yield advance


def _new_bar(*columns: str) -> RichProgress:
    """A display on standard error that vanishes in the end, with these of rich's columns beside its label."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True, no_color=not wants_color(Color.AUTO, sys.stderr))
    made = [getattr(progress, name)() for name in columns]
    return progress.Progress(progress.TextColumn("{task.description}"), *made, console=console, transient=True)
