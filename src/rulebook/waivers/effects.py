"""What a patch changes, apart from where it stands and what it holds on to.

A patch finds its place by an *anchor* (the text that is searched, the context of a diff, the line that
``sed`` addresses) and has an *effect*. When the image rotates, anchors move and effects stay. The effect
of a patch is a list of items, each a short text; two patches with equal items do the same, and one whose
items are some of the other's does less. That is what tells a moved, re-indented or re-anchored patch from
a new or a larger one.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator

_TOKEN = re.compile(r"\w+|[^\w\s]")
_SEARCHES = frozenset(
    ("find", "index", "rfind", "rindex", "count", "startswith", "endswith", "search", "match", "split")
)
_SAYS = frozenset(("print", "exit", "SystemExit", "RuntimeError", "write", "warn", "info", "debug", "error"))
_SUBSTITUTION = re.compile(r"(?P<address>.*?)s(?P<mark>[^\w\s\\])(?P<rest>.*)\Z", re.DOTALL)
_REGEX_ADDRESS = re.compile(r"/(?:[^/\\\n]|\\.)*/")
_NUMBERS = re.compile(r"(?<![\w.])(\d+)(?:,(\d+))?(?=[a-zA-Z{!])")


def difference(anchor: str, replacement: str) -> str:
    """What ``replacement`` has that ``anchor`` has not, and the other way round, whatever both have around it.

    >>> difference("topk[:, a:b]", "topk[:, a:b].contiguous()")
    '+ . contiguous ( )'
    """
    old, new = _TOKEN.findall(anchor), _TOKEN.findall(replacement)
    parts = []
    for mark, tokens, other in (("+", new, Counter(old)), ("-", old, Counter(new))):
        left = []
        for token in tokens:
            if other[token] > 0:
                other[token] -= 1
            else:
                left.append(token)
        if left:
            parts.append(f"{mark} {' '.join(left)}")
    return " ".join(parts)


def of_python(text: str) -> tuple[str, ...]:
    """The effect of a program that rewrites a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return of_lines(text.split("\n"))
    try:
        edits = tuple(sorted(_edits(tree)))
        return edits or tuple(sorted(_statements(tree)))
    except RecursionError:
        return of_lines(text.split("\n"))


def of_operation(text: str, line: int, end_line: int) -> tuple[str, ...]:
    """The effect of one operation in a program that does other things as well.

    Its edits, where it has any that can be read as pairs of texts; else the lines of the operation alone, since
    the rest of the program may change for its own reasons.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            edits = tuple(sorted(_edits(ast.parse(text))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        edits = ()
    return edits or of_lines(text.split("\n")[line - 1 : end_line])


def of_diff(text: str) -> tuple[str, ...]:
    """The effect of a diff: its changed lines, without context, places and indentation."""
    items = []
    for line in text.split("\n"):
        if line[:1] in ("+", "-") and not line.startswith(("+++", "---")):
            words = " ".join(line[1:].split())
            if words:
                items.append(f"{line[0]} {words}")
    return tuple(sorted(items))


def of_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """The effect of text that is read by no other function: its lines, without comments and indentation."""
    found = (" ".join(line.split()) for line in lines)
    return tuple(sorted(line for line in found if line and not line.startswith("#")))


def of_sed(script: str) -> str:
    """The effect of a script of ``sed``: addresses are anchors, and so is the first half of an ``s`` command."""
    script = script.strip()
    match = _SUBSTITUTION.match(script)
    if match is not None and not re.search(r"[acid]\\", match["address"]):
        halves = re.split(rf"(?<!\\){re.escape(match['mark'])}", match["rest"], maxsplit=2)
        if len(halves) == 3:
            return "s " + difference(_unescape(halves[0]), _unescape(halves[1]).replace("&", ""))
    script = _REGEX_ADDRESS.sub("//", script)
    return " ".join(_NUMBERS.sub(_extent, script).split())


def _extent(match: re.Match[str]) -> str:
    """How many lines a numeric address takes in, which is what it does; where they are is an anchor."""
    first, last = int(match[1][:9]), int((match[2] or match[1])[:9])
    return f"<{last - first + 1}>"


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _edits(tree: ast.Module) -> Iterator[str]:
    texts: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _string(node.value, texts)
            if value is not None:
                texts[node.targets[0].id] = value
    for node in ast.walk(tree):
        pair: tuple[ast.expr, ast.expr] | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("replace", "sub", "subn") and len(node.args) >= 2:
                pair = (node.args[0], node.args[1])
        elif isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2:
            pair = (node.elts[0], node.elts[1])
        if pair is None:
            continue
        old, new = (_string(part, texts) for part in pair)
        if old is not None and new is not None and max(len(old), len(new)) > 3:
            found = difference(old, new)
            if found:
                yield found


def _string(node: ast.expr, texts: dict[str, str], depth: int = 0) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return texts.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and depth < 50:
        left, right = _string(node.left, texts, depth + 1), _string(node.right, texts, depth + 1)
        return left + right if left is not None and right is not None else None
    return None


class _WithoutAnchors(ast.NodeTransformer):
    """Leaves out what is searched for and what is said."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _SEARCHES:
            node.args = []
        return self.generic_visit(node)

    def visit_Compare(self, _: ast.Compare) -> ast.AST:
        return ast.Constant(True)


def _statements(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Delete)):
            value = node.value if isinstance(node, ast.Expr) else None
            if isinstance(value, ast.Constant):
                continue
            if isinstance(value, ast.Call):
                name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
                if name in _SAYS and not (name == "write" and len(value.args) == 1):
                    continue
            yield ast.unparse(_WithoutAnchors().visit(node))
