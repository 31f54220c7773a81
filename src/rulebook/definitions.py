"""Where the definitions of a file stand: what the anchor ``#Class.method`` of a pin names.

| files | read by |
| --- | --- |
| Python | the standard library's ``ast`` |
| YAML (keys) | PyYAML's composer |
| Markdown (headings, by their anchor on GitHub) | markdown-it-py |
| C, C++, CUDA, shell | tree-sitter, where the extra ``symbols`` is installed |
| everything else | lines that look like the beginning of a definition, and indentation |

Names are qualified with ``.``, whatever the language writes: ``Class.method``, ``jobs.build``. One name
can stand for several definitions (overloads, a property and its setter, the branches of an ``if``);
they belong together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import ast

    from tree_sitter import Node, Parser

#: Larger files are not looked into.
MAX_BYTES = 4 << 20
#: Values of one YAML file that are looked at; aliases could make it a great many.
_MAX_KEYS = 100_000

_PYTHON = (".py", ".pyi")
_YAML = (".yaml", ".yml")
_MARKDOWN = (".md", ".markdown")
_GRAMMARS: Mapping[str, str] = {
    ".c": "tree_sitter_c",
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inl", ".cu", ".cuh"), "tree_sitter_cpp"),
    **dict.fromkeys((".sh", ".bash"), "tree_sitter_bash"),
}
_SHEBANG = re.compile(rb"#!\s*(?:/usr)?/bin/(?:env\s+)?(?:ba|da)?sh\b")

_GUESS = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final"
    r"|abstract|async|unsafe|inline|constexpr|extern|declare|override|virtual|sealed|open|data)\s+)*"
    r"(?:class|struct|enum|union|interface|trait|impl|type|typedef|namespace|module|object|record|protocol"
    r"|def|fn|func|fun|function|sub|macro_rules!|const|let|var|val|\#\s*define)\s+"
    r"(?:\([^)\n]*\)\s*)?(?P<name>[^\W\d][\w-]*)"
    r"|^(?P<shell>[^\W\d][\w-]*)\s*\(\)\s*\{",
    re.MULTILINE,
)


class Definition(NamedTuple):
    """One definition: its qualified name, its first line (1-based, decorators included) and its last one."""

    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of one file.

    Attributes:
        definitions: all of them, by qualified name, in the order of their lines.
        exact: whether a parser found them; false where lines were guessed at.
        problem: why there are none, as a phrase that goes on from the file's name; empty where it was read.
    """

    definitions: Mapping[str, tuple[Definition, ...]]
    exact: bool = True
    problem: str = ""

    def find(self, symbol: str) -> tuple[Definition, ...]:
        """The definitions that ``symbol`` names; empty where there are none."""
        return self.definitions.get(symbol.replace("::", "."), ())


def outline(path: str, content: bytes) -> Outline:
    """The definitions in a file, as far as its language can be told from ``path`` and its first line."""
    if len(content) > MAX_BYTES:
        return Outline({}, problem=f"is larger than {MAX_BYTES >> 20} MiB")
    if b"\0" in content[:8000]:
        return Outline({}, problem="is binary")
    suffix = _suffix(path)
    if suffix in _PYTHON:
        return _outline_python(content)
    if suffix in _YAML:
        return _outline_yaml(content)
    if suffix in _MARKDOWN:
        return _gather(_headings(content.decode("utf-8", "replace")))
    parser = _parser(_grammar(suffix, content))
    if parser is not None:
        return _gather(_tree_scope(parser.parse(content).root_node, ""))
    return _gather(_guess(content.decode("utf-8", "replace")), exact=False)


def signature(path: str, text: str) -> str:
    """What callers see of the definition with this text, whatever its layout.

    Empty where the language has no signatures or the text cannot be read by itself.
    """
    if _suffix(path) in _PYTHON:
        return _python_signature(text)
    content = text.encode("utf-8", "surrogateescape")
    parser = _parser(_grammar(_suffix(path), b""))
    if parser is None:
        return ""
    body = next(
        (node.child_by_field_name("body") for node in _walk(parser.parse(content).root_node) if _is_named(node)), None
    )
    return (
        " ".join(text.split())
        if body is None
        else " ".join(content[: body.start_byte].decode("utf-8", "replace").split())
    )


def is_source(path: str) -> bool:
    """Whether definitions in the file would be found by a parser."""
    suffix = _suffix(path)
    return suffix in _PYTHON or (suffix in _GRAMMARS and _parser(_GRAMMARS[suffix]) is not None)


def same_language(path: str, other: str) -> bool:
    """Whether a definition could move from one file to the other as it is."""
    mine, theirs = _suffix(path), _suffix(other)
    for family in (_PYTHON, _YAML, _MARKDOWN):
        if mine in family:
            return theirs in family
    c_like = [suffix for suffix, grammar in _GRAMMARS.items() if grammar != "tree_sitter_bash"]
    return theirs in c_like if mine in c_like else mine == theirs


def _suffix(path: str) -> str:
    name = path.rsplit("/", 1)[-1].lower()
    return name[name.rfind(".") :] if "." in name else ""


def _gather(definitions: Iterable[Definition], *, exact: bool = True) -> Outline:
    found: dict[str, tuple[Definition, ...]] = {}
    for definition in definitions:
        found[definition.name] = (*found.get(definition.name, ()), definition)
    return Outline(found, exact)


# --- Python -----------------------------------------------------------------------------------


def _parse_python(content: bytes | str) -> ast.Module:
    import ast
    import warnings

    with warnings.catch_warnings():
        # A string with an odd escape is no concern of a reader.
        warnings.simplefilter("ignore")
        return ast.parse(content)


def _outline_python(content: bytes) -> Outline:
    try:
        return _gather(_python_scope(_parse_python(content).body, ""))
    except SyntaxError as error:
        return Outline({}, problem=f"is no Python that this interpreter reads (line {error.lineno or 1})")
    except (ValueError, RecursionError, MemoryError) as error:
        return Outline({}, problem=f"is no Python that this interpreter reads ({type(error).__name__})")


def _python_scope(body: Iterable[ast.AST], prefix: str) -> Iterator[Definition]:
    import ast

    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield Definition(prefix + node.name, first, node.end_lineno or node.lineno)
            yield from _python_scope(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                    if isinstance(name, ast.Name):
                        yield Definition(prefix + name.id, node.lineno, node.end_lineno or node.lineno)
        else:
            # What an ``if``, a ``try`` or a ``with`` holds belongs to the scope around it.
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                inner = getattr(node, field, None)
                if isinstance(inner, list):
                    yield from _python_scope(inner, prefix)


def _python_signature(text: str) -> str:
    import ast
    import textwrap

    try:
        node = _parse_python(textwrap.dedent(text)).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        return ""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return ""
    node.body = [ast.Pass()]
    return ast.unparse(node)


# --- YAML and Markdown ------------------------------------------------------------------------


def _outline_yaml(content: bytes) -> Outline:
    import yaml

    try:
        text = content.decode("utf-8-sig")
        loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        nodes = list(yaml.compose_all(text, Loader=loader))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        return Outline({}, problem=f"is no YAML ({type(error).__name__})")
    lines = text.split("\n")
    budget = iter(range(_MAX_KEYS))
    return _gather(key for node in nodes for key in _yaml_keys(node, "", lines, budget))


def _yaml_keys(node: Any, prefix: str, lines: list[str], budget: Iterator[int]) -> Iterator[Definition]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or next(budget, None) is None:
            continue
        # A block ends where the next token begins; blank lines and comments before that are not its own.
        block = value.style in ("|", ">") if isinstance(value, yaml.ScalarNode) else not value.flow_style
        last = value.end_mark.line + (0 if block and value.end_mark.line < len(lines) else 1)
        first = key.start_mark.line + 1
        last = min(last, len(lines))
        while last > first and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
            last -= 1
        name = prefix + key.value.strip().replace(" ", "-")
        yield Definition(name, first, max(last, first))
        # An alias leads to a place that has a name of its own.
        if value.start_mark.line >= key.start_mark.line:
            yield from _yaml_keys(value, f"{name}.", lines, budget)


def _headings(text: str) -> Iterator[Definition]:
    from rulebook import markdown

    headings = markdown.outline(text).headings
    end = text.count("\n") + (0 if text.endswith("\n") or not text else 1)
    seen: dict[str, int] = {}
    for index, heading in enumerate(headings):
        # The anchors of GitHub: lower case, punctuation dropped, spaces to hyphens, repeats numbered.
        slug = re.sub(r"[^\w\- ]", "", heading.text.lower()).replace(" ", "-")
        number = seen.get(slug, 0)
        seen[slug] = number + 1
        following = (other.line for other in headings[index + 1 :] if other.level <= heading.level)
        yield Definition(f"{slug}-{number}" if number else slug, heading.line, next(following, end + 1) - 1)


# --- C, C++ and shell -------------------------------------------------------------------------

_NAMED = {
    "function_definition",
    "class_specifier",
    "struct_specifier",
    "union_specifier",
    "enum_specifier",
    "namespace_definition",
    "preproc_def",
    "preproc_function_def",
    "type_definition",
    "alias_declaration",
    "variable_assignment",
}
_SCOPES = {"class_specifier", "struct_specifier", "union_specifier", "namespace_definition"}
_PARSERS: dict[str, Parser | None] = {}


def _grammar(suffix: str, content: bytes) -> str:
    return _GRAMMARS.get(suffix, "") or ("tree_sitter_bash" if _SHEBANG.match(content) else "")


def _parser(grammar: str) -> Parser | None:
    """The parser for a grammar, or ``None`` where the extra ``symbols`` is not installed."""
    if grammar not in _PARSERS:
        _PARSERS[grammar] = None
        if grammar:
            import importlib

            try:
                from tree_sitter import Language, Parser

                _PARSERS[grammar] = Parser(Language(importlib.import_module(grammar).language()))
            except ImportError:
                pass
    return _PARSERS[grammar]


def _is_named(node: Node) -> bool:
    # ``struct x y;`` speaks of a structure, it does not define one.
    return node.type in _NAMED and (
        not node.type.endswith("_specifier") or node.child_by_field_name("body") is not None
    )


def _walk(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.named_children))


def _tree_scope(node: Node, prefix: str) -> Iterator[Definition]:
    for child in node.named_children:
        if not _is_named(child):
            # Bodies of functions hold no definitions that anybody pins; everything else is looked into.
            yield from _tree_scope(child, prefix)
            continue
        name = _tree_name(child)
        if name:
            yield Definition(prefix + name, *_tree_lines(child))
        if child.type in _SCOPES:
            body = child.child_by_field_name("body")
            if body is not None:
                yield from _tree_scope(body, f"{prefix}{name}." if name else prefix)
        elif child.type == "type_definition":
            yield from _tree_scope(child, prefix)


def _tree_name(node: Node) -> str:
    found = node.child_by_field_name("name")
    declarator = node.child_by_field_name("declarator")
    while found is None and declarator is not None:
        # Pointers and references wrap the declarator that has the name.
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in declarator.named_children if child.type.endswith("declarator")), None)
        if inner is None:
            found = declarator
        declarator = inner
    text = (found.text or b"").decode("utf-8", "replace") if found is not None else ""
    return re.sub(r"<[^<>]*>|\s+", "", text).replace("::", ".")


def _tree_lines(node: Node) -> tuple[int, int]:
    outer = node.parent
    # The line that says ``template <…>`` belongs to what it makes a template of.
    start = outer if outer is not None and outer.type == "template_declaration" else node
    last = node.end_point[0] + (1 if node.end_point[1] else 0)
    return start.start_point[0] + 1, max(last, start.start_point[0] + 1)


# --- everything else --------------------------------------------------------------------------


def _guess(text: str) -> Iterator[Definition]:
    lines = text.split("\n")
    for match in _GUESS.finditer(text):
        name = match["name"] or match["shell"]
        first = text.count("\n", 0, match.start()) + 1
        yield Definition(name, first, _guess_end(lines, first))


def _guess_end(lines: list[str], first: int) -> int:
    """The last line of a block: what is indented deeper, and the bracket that closes it."""

    def depth(line: str) -> int:
        return len(line) - len(line.lstrip())

    own = depth(lines[first - 1])
    last = first
    for number in range(first + 1, len(lines) + 1):
        line = lines[number - 1]
        if not line.strip():
            continue
        if depth(line) > own:
            last = number
            continue
        if line.lstrip()[0] in "})]" and depth(line) == own:
            last = number
        break
    return last
