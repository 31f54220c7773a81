"""Which functions and classes a line stands in: of Python, and roughly of languages with braces.

Names are qualified as Python's ``__qualname__`` is, but without ``<locals>``: ``Class.method``,
``outer.inner``. A definition covers the lines from its first decorator to its last statement.

There are three sources, from the surest to the poorest:

1. The whole file, where a reader has it, or the diff shows all of it because the file was added or
   deleted: Python's own syntax tree. Where that cannot be had (another Python version's syntax, a
   merge conflict), the indentation of ``def``, ``class`` and what follows them.
2. The visible lines of a hunk, by indentation, below what the hunk's heading says.
3. For other languages, git's rule for headings ("Defining a custom hunk-header", gitattributes(5)):
   a line that begins with a letter, ``_`` or ``$`` in its first column is what the lines below it
   belong to, here only as far as a closing brace in the first column.

The last two do not know what no hunk shows. Of the changed Python lines of a repository, they were
right on four in five, named an outer or a shorter name on most others, and on one in fifty something
that the heading says, but that had ended before the hunk.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from rulebook.model import ChangeStatus, FileChange, Hunk, Side

if TYPE_CHECKING:
    import ast

    from rulebook.model import ContentReader

#: Bytes of a file up to which its syntax tree is made; a larger one is generated, and takes seconds.
MAX_PARSED = 1 << 20

_PYTHON_SUFFIXES = (".py", ".pyi")
_BRACE_SUFFIXES = (
    *(".c", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hip", ".hpp", ".m", ".mm"),
    *(".go", ".java", ".kt", ".php", ".rs", ".scala", ".swift"),
    *(".js", ".jsx", ".ts", ".tsx"),
    *(".bash", ".sh"),
)

#: A ``def`` or ``class`` line: what it is, its name, and the parameter that makes a method of it.
_DEFINITION = r"(?:async\s+)?(def|class)\s+(\w+)\s*[(\[:]\s*(self\b|cls\b)?"

#: Where the indentation says nothing: a comment, a decorator, what git leaves in a file that it cannot merge.
_NO_STATEMENT = r"[#@]|[<=>|]{7}"

_TRIPLE_QUOTES = ('"' * 3, "'" * 3)

#: What matters outside of a string with triple quotes: another one, a string of one line, a comment.
_OUTSIDE_STRING = r""" "{3}|'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|# """.strip()

#: Words that a parenthesis may follow without a name being defined.
_KEYWORDS = frozenset(["catch", "for", "func", "function", "if", "return", "sizeof", "switch", "while"])

#: Lines with their numbers, and a hunk's heading, to the innermost qualified name of each line.
_Scan = Callable[[Iterable[tuple[int, str]], str, bool], Iterator[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class Outline:
    """Where the functions and classes of a file are.

    Attributes:
        starts: line numbers in ascending order, each the first of a stretch of lines that stand in
            the same definition.
        names: for each stretch the qualified name of the innermost definition around, or ``""``.
        docstrings: the first and last line of each documentation string in ascending order, where
            they are known.
    """

    starts: tuple[int, ...]
    names: tuple[str, ...]
    docstrings: tuple[tuple[int, int], ...] = ()

    def is_docstring(self, line: int) -> bool:
        """Whether ``line`` (1-based) belongs to a documentation string."""
        at = bisect_right(self.docstrings, line, key=lambda lines: lines[0]) - 1
        return at >= 0 and line <= self.docstrings[at][1]

    def enclosing(self, line: int) -> tuple[str, ...]:
        """The qualified names of the definitions that ``line`` (1-based) stands in, outermost first."""
        at = bisect_right(self.starts, line) - 1
        return _with_parents(self.names[at]) if at >= 0 else ()


def outline(source: bytes | str) -> Outline:
    """The functions and classes of a Python file, valid or not."""
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    # For Python a lone carriage return ends a line, for git it does not.
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b" ")
    tree = _parse(data) if len(data) <= MAX_PARSED else None
    if tree is not None:
        return replace(_join(_stretches(tree)), docstrings=tuple(sorted(_find_docstrings(tree))))
    return _join(_scan_python(_number(data), "", True))


def enclosing_in_diff(hunks: Iterable[Hunk]) -> dict[tuple[Side, int], tuple[str, ...]]:
    """For each line that the hunks of a Python file show, by side and number, what is known to enclose it."""
    return _enclosing_in_hunks(hunks, _scan_python)


def outline_sides(change: FileChange, reader: ContentReader | None) -> Callable[[Side], Outline]:
    """The outlines of a changed file's two sides.

    Args:
        change: the file's change.
        reader: reads both sides of the file; ``None`` where only the change itself is known.

    Returns:
        a function that reads and parses at most once a side, when it is first asked about it. It
        answers an empty outline where nothing is known, as for a file in no known language.
    """
    known: dict[Side, Outline] = {}

    def outline_of(side: Side) -> Outline:
        if side not in known:
            path = change.old_path or change.path if side is Side.OLD else change.path
            known[side] = _outline_side(change, path, Side.OLD if side is Side.OLD else Side.NEW, reader)
        return known[side]

    return outline_of


def enclosing_names(change: FileChange, reader: ContentReader | None) -> Callable[[Side, int], tuple[str, ...]]:
    """A function that says, for a side and a line, which definitions are around it, outermost first."""
    outline_of = outline_sides(change, reader)

    def enclosing(side: Side, line: int) -> tuple[str, ...]:
        return outline_of(side).enclosing(line)

    return enclosing


def _outline_side(change: FileChange, path: str, side: Side, reader: ContentReader | None) -> Outline:
    """The outline of one side of a changed file, from the best source there is."""
    is_python = path.endswith(_PYTHON_SUFFIXES)
    if not is_python and not path.endswith(_BRACE_SUFFIXES):
        return Outline((), ())
    content = reader.read(path, side) if reader is not None else None
    if content is None:
        content = _read_whole_hunk(change, side)
    if content is not None:
        return outline(content) if is_python else _join(_scan_braces(_number(content), "", True))
    scan = _scan_python if is_python else _scan_braces
    found = _enclosing_in_hunks(change.hunks or (), scan)
    lines = sorted((line, names[-1] if names else "") for (where, line), names in found.items() if where is side)
    # A line that no hunk shows is in nothing that is known.
    return _join(stretch for line, name in lines for stretch in ((line, name), (line + 1, "")))


def _read_whole_hunk(change: FileChange, side: Side) -> bytes | None:
    """The content of an added or deleted file, all of which stands in its diff."""
    only_side = {ChangeStatus.ADDED: Side.NEW, ChangeStatus.DELETED: Side.OLD}.get(change.status)
    if side is not only_side or change.hunks is None or len(change.hunks) != 1:
        return None
    (hunk,) = change.hunks
    start = hunk.new_start if side is Side.NEW else hunk.old_start
    if start != 1:
        return None
    return "\n".join(line.text for line in hunk.lines).encode("utf-8", "surrogatepass")


def _with_parents(name: str) -> tuple[str, ...]:
    parts = name.split(".") if name else []
    return tuple(".".join(parts[: count + 1]) for count in range(len(parts)))


def _number(data: bytes) -> Iterator[tuple[int, str]]:
    return enumerate(data.decode("utf-8", "replace").split("\n"), 1)


def _join(stretches: Iterable[tuple[int, str]]) -> Outline:
    """An outline from lines and the names that hold from there on; of one line, the last name counts."""
    starts: list[int] = []
    names: list[str] = []
    for line, name in stretches:
        if starts and starts[-1] == line:
            starts.pop()
            names.pop()
        if name != (names[-1] if names else ""):
            starts.append(line)
            names.append(name)
    return Outline(tuple(starts), tuple(names))


# --- the syntax tree --------------------------------------------------------------------------


class _Scope(NamedTuple):
    first: int
    last: int
    name: str


def _parse(data: bytes) -> ast.Module | None:
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # What is odd about the source is not ours to say.
        try:
            return ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _stretches(tree: ast.Module) -> Iterator[tuple[int, str]]:
    open_scopes: list[_Scope] = []
    for scope in [*sorted(_find_scopes(tree)), None]:
        while open_scopes and (scope is None or open_scopes[-1].last < scope.first):
            end = open_scopes.pop().last + 1
            yield end, open_scopes[-1].name if open_scopes else ""
        if scope is not None:
            open_scopes.append(scope)
            yield scope.first, scope.name


def _find_scopes(tree: ast.Module) -> Iterator[_Scope]:
    for node, name in _find_definitions(tree):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        yield _Scope(first, node.end_lineno or node.lineno, name)


def _find_docstrings(tree: ast.Module) -> Iterator[tuple[int, int]]:
    import ast

    bodies = [tree.body, *(node.body for node, _ in _find_definitions(tree))]
    for body in bodies:
        match body[:1]:
            case [ast.Expr(value=ast.Constant(value=str())) as first]:
                yield first.lineno, first.end_lineno or first.lineno


def _find_definitions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, str]]:
    """The functions and classes of a file with their qualified names."""
    import ast

    # Only statements hold definitions, so expressions, which nest deepest, are not visited.
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        parent, prefix = pending.pop()
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            for node in getattr(parent, field, ()):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    yield node, prefix + node.name
                    pending.append((node, f"{prefix}{node.name}."))
                else:
                    pending.append((node, prefix))


# --- lines alone ------------------------------------------------------------------------------


def _enclosing_in_hunks(hunks: Iterable[Hunk], scan: _Scan) -> dict[tuple[Side, int], tuple[str, ...]]:
    found: dict[tuple[Side, int], tuple[str, ...]] = {}
    for hunk in hunks:
        old = ((line.old, line.text) for line in hunk.lines if line.mark != "+")
        new = ((line.new, line.text) for line in hunk.lines if line.mark != "-")
        for side, lines in ((Side.OLD, old), (Side.NEW, new)):
            found.update({(side, number): _with_parents(name) for number, name in scan(lines, hunk.heading, False)})
    return found


class _Block(NamedTuple):
    """A definition that is open, and the indentation of its first line."""

    indent: int
    name: str


class _OpenBlocks:
    """The definitions that are open at a line of Python, judged by indentation.

    A hunk's heading may be the first of them. Git's driver for Python drops the heading's
    indentation, so a ``def`` there may be a method, and whether a ``def`` in the hunk stands inside
    of it or after it shows only in what is seen in between.
    """

    def __init__(self, heading: str) -> None:
        seed = re.match(_DEFINITION, heading.strip())
        self._blocks = [_Block(0, seed[2])] if seed else []
        self._vague = self._blocks[0] if seed and seed[1] == "def" else None
        self._body_indent: int | None = None

    @property
    def innermost(self) -> str:
        return self._blocks[-1].name if self._blocks else ""

    def close(self, indent: int) -> None:
        """End what a statement with this indentation is outside of."""
        self._pop(indent)
        if self._is_at_vague_bottom:
            self._body_indent = min(indent, self._body_indent or indent)

    def open(self, indent: int, name: str, *, is_method: bool) -> str:
        """Begin a definition, and say what is around it.

        ``is_method`` says that it looks like one, so that no function is around it.
        """
        self._pop(indent)
        body = self._body_indent
        if self._is_at_vague_bottom and (is_method if body is None else indent < body):
            self._blocks.clear()
        outer = self.innermost
        self._blocks.append(_Block(indent, f"{outer}.{name}" if outer else name))
        return outer

    def _pop(self, indent: int) -> None:
        while self._blocks and self._blocks[-1].indent >= indent:
            self._blocks.pop()

    @property
    def _is_at_vague_bottom(self) -> bool:
        return self._vague is not None and self._blocks[-1:] == [self._vague]


def _scan_python(lines: Iterable[tuple[int, str]], heading: str, is_whole: bool) -> Iterator[tuple[int, str]]:
    """The innermost definition around each line, judged by indentation.

    Args:
        lines: numbered lines without gaps.
        heading: the hunk's, perhaps a ``def`` or ``class`` line.
        is_whole: whether that is a whole file, so that triple quotes are known to open a string.
    """
    blocks = _OpenBlocks(heading)
    waiting: list[int] = []  # Blank lines, comments and decorators: the next statement tells where they stand.
    decorator: tuple[int, int] | None = None  # Line and indentation of the first one.
    quote = ""
    for number, text in lines:
        bare = text.lstrip(" \t\f")
        indent = len(text[: len(text) - len(bare)].replace("\f", "").expandtabs())
        if quote:
            yield number, blocks.innermost
            quote = _find_open_quote(text, quote)
        elif not bare or re.match(_NO_STATEMENT, bare) or (decorator and (indent > decorator[1] or bare[0] in ")]}")):
            waiting.append(number)
            if decorator is None and bare.startswith("@"):
                decorator = (number, indent)
        else:
            definition = re.match(_DEFINITION, bare)
            if definition:
                is_method = bool(definition[3] or decorator)
                outer = blocks.open(indent, definition[2], is_method=is_method)
            else:
                if bare[0] not in ")]}":
                    blocks.close(indent)
                outer = blocks.innermost
            for line in waiting:
                is_decoration = decorator is not None and definition is not None and line >= decorator[0]
                yield line, blocks.innermost if is_decoration else outer
            waiting, decorator = [], None
            yield number, blocks.innermost
            quote = _find_open_quote(bare, "") if is_whole else ""
    yield from ((line, "" if is_whole else blocks.innermost) for line in waiting)


def _find_open_quote(text: str, quote: str) -> str:
    """The triple quotes that are open at the end of a line, if ``quote`` (or none) is at its beginning."""
    at = 0
    while found := re.compile(rf"\\.|{quote}" if quote else _OUTSIDE_STRING).search(text, at):
        if found[0] == "#":
            break
        if found[0] == quote:
            quote = ""
        elif found[0] in _TRIPLE_QUOTES:
            quote = found[0]
        at = found.end()
    return quote


def _scan_braces(lines: Iterable[tuple[int, str]], heading: str, _: bool) -> Iterator[tuple[int, str]]:
    """The same for a language with braces, by git's rule for headings, up to the closing brace."""
    name = _find_name(heading)
    for number, text in lines:
        if re.match(r"[A-Za-z_$]", text):
            name = _find_name(text)
        yield number, name
        if text.startswith("}"):
            name = ""


def _find_name(text: str) -> str:
    """What a line begins to define, or ``""``: a statement that is complete defines no block."""
    if text.rstrip().endswith(";"):
        return ""
    for found in re.finditer(r"([A-Za-z_$~][\w$:~]*)\s*(?:<[^<>()]*>\s*)?\(", text):
        if found[1] not in _KEYWORDS:
            return found[1].replace("::", ".")
    named = re.search(r"\b(?:class|struct|interface|enum|union|trait|impl|namespace|object|function)\s+(\w+)", text)
    return named[1] if named else ""
