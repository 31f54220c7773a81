"""What a Python program does to installed packages: files that it writes, modules that it changes.

Read as a syntax tree. Where a path comes from is followed through names, calls of the program's own
functions, loops and ``with``; a name stands for everything that is assigned to it anywhere in the
program. What a file *contains* is no path: reading a file ends the trail.

Where the text is no whole program (a piece of a diff, or one with shell variables in its syntax), a
locator and a writer in it together are taken for one operation.
"""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rulebook.waivers.policy import PatchKind
from rulebook.waivers.targets import INSTALLED_ROOT, Resolver, Target
from rulebook.waivers.values import locate_package

#: Larger programs are judged by their text alone.
MAX_SOURCE = 400_000
_ROUNDS = 6
_READERS = frozenset(
    ("read", "read_text", "read_bytes", "readlines", "readline", "load", "loads", "exists", "is_file", "is_dir", "stat")
)
_LOCATORS = frozenset(("find_spec", "import_module", "files", "distribution", "resource_filename", "resolve_name"))
_SOURCE_OF = frozenset(("getfile", "getsourcefile", "getabsfile"))
_WRITE_METHODS = frozenset(("write_text", "write_bytes", "unlink", "symlink_to", "hardlink_to", "touch"))
_TO_SECOND = frozenset(("copy", "copy2", "copyfile", "copytree", "move", "rename", "replace", "symlink", "link"))
_TO_FIRST = frozenset(("remove", "unlink", "rmtree", "truncate"))
_RUNNERS = frozenset(("run", "call", "check_call", "check_output", "Popen", "system", "getoutput"))

_TEXT_LOCATOR = re.compile(
    r"""find_spec\(\s*["'](?P<spec>[\w.]+)|\b(?P<asked>[A-Za-z_]\w*)(?:\.\w+)*\.__(?:file|path)__"""
    r"""|["'](?P<path>[^"'\n]{0,300}?(?:/|\b)[\w./-]+\.py)["']"""
)
_TEXT_WRITER = re.compile(r"""\.write_text\(|\.write_bytes\(|open\([^\n]{1,200}?["'](?:[wa]|r\+)[bt+]*["']|\.write\(""")
_IMPORT = re.compile(r"^\s*(?:import|from)\s+([\w.]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that a program does to a protected target.

    Attributes:
        kind: of patch.
        line: first line, counted from 1 in the program's text.
        end_line: the last one.
        targets: what is reached.
        whole: whether it was told by the program's text as a whole and not by its syntax.
        scope: the lines of the function around it, or of the whole program.
    """

    kind: PatchKind
    line: int
    end_line: int
    targets: tuple[Target, ...]
    whole: bool = False
    scope: tuple[int, int] = (1, 1)


@dataclass(slots=True)
class Surroundings:
    """What a program knows from outside.

    Attributes:
        arguments: each with the texts that it can be.
        variable: what a variable of its environment can be.
        run: what a shell command that it starts does.
        folder: what a relative path leads to in the folder that it is started in.
    """

    arguments: Sequence[Sequence[str]] = ()
    variable: Callable[[str], Iterable[str]] | None = None
    run: Callable[[str], Iterable[Operation]] | None = None
    folder: Callable[[str], Target | None] | None = None


def operations(text: str, resolver: Resolver, around: Surroundings | None = None) -> list[Operation]:
    """Everything that a program does to what the policy protects."""
    around = around or Surroundings()
    if len(text) <= MAX_SOURCE:
        try:
            with warnings.catch_warnings():
                # What a foreign program's escapes look like is no concern of ours.
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
        else:
            try:
                found = _Program(tree, resolver, around).operations()
                functions = [
                    (node.lineno, node.end_lineno or node.lineno)
                    for node in ast.walk(tree)
                    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                ]
                last = text.count("\n") + 1
                return [replace(operation, scope=_around(operation.line, functions, last)) for operation in found]
            except RecursionError:
                pass
    return _by_text(text, resolver)


def _around(line: int, functions: Iterable[tuple[int, int]], last: int) -> tuple[int, int]:
    """The innermost function around a line."""
    around = [span for span in functions if span[0] <= line <= span[1]]
    return min(around, key=lambda span: span[1] - span[0], default=(1, last))


def imported(text: str) -> list[str]:
    """The modules that a text imports at the beginning of a line."""
    return _IMPORT.findall(text[:MAX_SOURCE])


def halves(text: str, resolver: Resolver) -> tuple[Target | None, bool]:
    """The first protected target that a piece of a program locates, and whether it writes a file back."""
    return next(iter(_located(text, resolver)), None), ".write_text(" in text


def _located(text: str, resolver: Resolver) -> dict[Target, int]:
    """The targets that a text locates, each with its line."""
    targets: dict[Target, int] = {}
    modules = {name.partition(".")[0]: name for name in imported(text)}
    for match in _TEXT_LOCATOR.finditer(text[:MAX_SOURCE]):
        target = None
        if match["spec"]:
            target = resolver.module(match["spec"])
        elif match["asked"]:
            target = resolver.module(modules.get(match["asked"], match["asked"]))
        elif match["path"]:
            target = resolver.path(match["path"])
        if target is not None:
            targets.setdefault(target, text.count("\n", 0, match.start()) + 1)
    return targets


def _by_text(text: str, resolver: Resolver) -> list[Operation]:
    writer = _TEXT_WRITER.search(text)
    targets = _located(text, resolver) if writer is not None else {}
    if writer is None or not targets:
        return []
    lines = [*targets.values(), text.count("\n", 0, writer.start()) + 1]
    return [Operation(PatchKind.SOURCE_REWRITE, min(lines), max(lines), tuple(targets), whole=True)]


class _Program:
    """One program's names, and what they lead to."""

    def __init__(self, tree: ast.Module, resolver: Resolver, around: Surroundings) -> None:
        self.nodes = list(ast.walk(tree))
        self.resolver = resolver
        self.around = around
        self.bound: dict[str, str] = {}
        self.paths: dict[str, frozenset[str]] = {}
        self.texts: dict[str, frozenset[str]] = {}
        self.functions = {node.name: node for node in self.nodes if isinstance(node, ast.FunctionDef)}
        self.returns: dict[str, list[ast.expr]] = {}
        for name, function in self.functions.items():
            self.returns[name] = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
        self._bind()
        self._spread()

    # --- names ---

    def _bind(self) -> None:
        """Names that stand for modules, and for what is imported from them."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.bound[name] = alias.name if alias.asname else name
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self.bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for node in self.nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                module = self._loaded(node.value)
                if module:
                    self.bound[node.targets[0].id] = module

    def _loaded(self, node: ast.expr) -> str:
        """The module that an expression loads: ``importlib.import_module("a.b")``, ``sys.modules["a"]``, ``a.B``."""
        if isinstance(node, ast.Call) and _name(node.func) in ("import_module", "__import__") and node.args:
            return _constant(node.args[0])
        if isinstance(node, ast.Subscript) and _dotted(node.value) == "sys.modules":
            return _constant(node.slice)
        if isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
            return self._module(node)
        return ""

    def _module(self, node: ast.expr) -> str:
        """The dotted name of what an expression refers to inside an imported module, or an empty text."""
        dotted = _dotted(node)
        root, _, rest = dotted.partition(".")
        if not dotted or root not in self.bound:
            return self._loaded(node) if isinstance(node, (ast.Call, ast.Subscript)) else ""
        return f"{self.bound[root]}.{rest}" if rest else self.bound[root]

    def _spread(self) -> None:
        """Follows paths through assignments, until nothing new is found or long enough."""
        for _ in range(_ROUNDS):
            before = (dict(self.paths), dict(self.texts))
            for node in self.nodes:
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        self._assign(target, node.value)
                elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
                    self._assign(node.target, node.value)
                elif isinstance(node, (ast.For, ast.comprehension)):
                    self._assign(node.target, node.iter)
                elif isinstance(node, ast.With):
                    for item in node.items:
                        if item.optional_vars is not None:
                            self._assign(item.optional_vars, item.context_expr)
                elif isinstance(node, ast.Call):
                    self._pass(node)
            if before == (self.paths, self.texts):
                return

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            paths = self.path_of(value)
            if paths:
                self.paths[target.id] = frozenset([*self.paths.get(target.id, ()), *paths][:32])
            texts = self._strings(value)
            if texts:
                self.texts[target.id] = frozenset([*self.texts.get(target.id, ()), *texts][:32])
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self._assign(element, value)

    def _pass(self, call: ast.Call) -> None:
        """Arguments of a call become what the function's parameters stand for."""
        function = self.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is None:
            return
        parameters = [*function.args.posonlyargs, *function.args.args]
        for parameter, argument in zip(parameters, call.args, strict=False):
            self._assign(ast.Name(parameter.arg), argument)
            module = self._module(argument)
            if module:
                self.bound.setdefault(parameter.arg, module)
        for keyword in call.keywords:
            if keyword.arg:
                self._assign(ast.Name(keyword.arg), keyword.value)

    def _strings(self, node: ast.expr) -> frozenset[str]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 500:
            return frozenset((node.value,))
        if isinstance(node, ast.Name):
            return self.texts.get(node.id, frozenset())
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return frozenset(text for element in node.elts[:32] for text in self._strings(element))
        return frozenset()

    # --- paths ---

    def path_of(self, node: ast.expr | None, depth: int = 0) -> frozenset[str]:
        """The paths in, or to, installed packages that an expression can stand for."""
        if node is None or depth > 12:
            return frozenset()
        found = self._path_of(node, depth + 1)
        return frozenset(sorted(found)[:32]) if len(found) > 32 else found

    def _path_of(self, node: ast.expr, depth: int) -> frozenset[str]:
        if isinstance(node, ast.Name):
            return self.paths.get(node.id, frozenset())
        if isinstance(node, ast.Constant):
            return self._literal(node.value)
        if isinstance(node, ast.JoinedStr):
            text = "".join(_constant(part) if isinstance(part, ast.Constant) else "*" for part in node.values)
            parts = [self.path_of(p.value, depth) for p in node.values if isinstance(p, ast.FormattedValue)]
            inner = next((part for part in parts if part), frozenset())
            tail = text.rpartition("*")[2].strip("/")
            return self._literal(text) | frozenset(posixpath.join(path, tail) for path in inner)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add, ast.Mod)):
            left = self.path_of(node.left, depth)
            if left:
                return self._joined(left, [node.right])
            return self.path_of(node.right, depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth)
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return self._union(node.elts, depth)
        if isinstance(node, ast.Dict):
            return self._union([*(key for key in node.keys if key), *node.values], depth)
        if isinstance(node, ast.IfExp):
            return self._union([node.body, node.orelse], depth)
        if isinstance(node, ast.BoolOp):
            return self._union(node.values, depth)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._union([node.elt], depth)
        if isinstance(node, (ast.Starred, ast.NamedExpr, ast.Await)):
            return self.path_of(node.value, depth)
        return frozenset()

    def _union(self, nodes: Iterable[ast.expr], depth: int) -> frozenset[str]:
        return frozenset(path for node in list(nodes)[:64] for path in self.path_of(node, depth))

    def _literal(self, value: object) -> frozenset[str]:
        if not isinstance(value, str) or not 3 < len(value) < 500 or "\n" in value or "/" not in value:
            return frozenset()
        return frozenset((value,)) if self.resolver.path(value) else frozenset()

    def _attribute(self, node: ast.Attribute, depth: int) -> frozenset[str]:
        if node.attr in ("__file__", "__path__"):
            module = self._module(node.value)
            return frozenset((_file_of(module, folder=node.attr == "__path__"),)) if module else frozenset()
        inner = self.path_of(node.value, depth)
        if node.attr == "parent":
            return frozenset(posixpath.dirname(path) or path for path in inner)
        return inner if node.attr not in _READERS else frozenset()

    def _call(self, node: ast.Call, depth: int) -> frozenset[str]:
        name = _name(node.func)
        if name in _READERS:
            return frozenset()
        if name in _LOCATORS and node.args:
            texts = self._strings(node.args[0])
            return frozenset(_file_of(text, folder=name != "find_spec") for text in texts if self.resolver.module(text))
        if name in _SOURCE_OF and node.args:
            module = self._module(node.args[0])
            return frozenset((_file_of(module, folder=False),)) if module else frozenset()
        if name in ("getsitepackages", "getusersitepackages", "get_path", "get_python_lib", "distributions"):
            return frozenset((INSTALLED_ROOT,))
        if name in ("getenv", "get") and node.args and _dotted(node.func) in ("os.getenv", "os.environ.get"):
            return self._environment(_constant(node.args[0]))
        if isinstance(node.func, ast.Name) and name in self.returns:
            return self._union(self.returns[name], depth)
        if name == "dirname" and node.args:
            return frozenset(posixpath.dirname(path) or path for path in self.path_of(node.args[0], depth))
        if isinstance(node.func, ast.Attribute):
            receiver = self.path_of(node.func.value, depth)
            if receiver:
                return (
                    self._joined(receiver, node.args)
                    if name in ("joinpath", "with_name", "glob", "rglob")
                    else receiver
                )
        if name == "join" and node.args:
            first = self.path_of(node.args[0], depth)
            return self._joined(first, node.args[1:]) if first else self._union(node.args, depth)
        if name in ("check_output", "getoutput"):
            located = locate_package(" ".join(sorted(self._strings(node.args[0])))) if node.args else None
            return frozenset((located,)) if located else frozenset()
        if name == "Path" and len(node.args) > 1:
            first = self.path_of(node.args[0], depth)
            return self._joined(first, node.args[1:])
        return self._union([*node.args, *(keyword.value for keyword in node.keywords)], depth)

    def _joined(self, bases: frozenset[str], parts: Iterable[ast.expr]) -> frozenset[str]:
        texts = []
        for part in parts:
            strings = sorted(self._strings(part))
            if strings:
                texts.append(strings[0])
        return frozenset(posixpath.join(base, *(text.lstrip("/") for text in texts)) for base in bases)

    def _subscript(self, node: ast.Subscript, depth: int) -> frozenset[str]:
        if _dotted(node.value) == "sys.argv" and isinstance(node.slice, ast.Constant):
            index = node.slice.value
            if isinstance(index, int) and 0 < index <= len(self.around.arguments):
                return frozenset(self.around.arguments[index - 1])
        if _dotted(node.value) == "os.environ":
            return self._environment(_constant(node.slice))
        return self.path_of(node.value, depth)

    def _environment(self, name: str) -> frozenset[str]:
        return frozenset(
            text for text in (self.around.variable(name) if self.around.variable else ()) if self.resolver.path(text)
        )

    # --- operations ---

    def operations(self) -> list[Operation]:
        found: list[Operation] = []
        for node in self.nodes:
            if isinstance(node, ast.Call):
                found.extend(self._written(node))
            elif isinstance(node, (ast.Assign, ast.AugAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    found.extend(self._changed(target, node))
        return found

    def _written(self, node: ast.Call) -> Iterator[Operation]:
        name = _name(node.func)
        goals: list[ast.expr] = []
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in ("open", "fdopen"):
            yield from self._opened(node, receiver)
            return
        if name in _WRITE_METHODS and receiver is not None and _dotted(node.func) != "os.unlink":
            goals = [receiver]
        elif name in ("rename", "replace") and receiver is not None and len(node.args) == 1:
            goals = [node.args[0], receiver]
        elif name in _TO_SECOND and len(node.args) >= 2 and self._is_of_files(node.func):
            goals = [node.args[1]]
        elif name in _TO_FIRST and node.args and self._is_of_files(node.func):
            goals = [node.args[0]]
        elif name in ("input", "FileInput") and any(
            keyword.arg == "inplace" and not _is_false(keyword.value) for keyword in node.keywords
        ):
            goals = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "files")]
        elif name == "setattr" and len(node.args) >= 2:
            target = self.resolver.module(self._module(node.args[0]))
            if target is not None:
                yield Operation(PatchKind.MONKEY_PATCH, node.lineno, node.end_lineno or node.lineno, (target,))
            return
        elif name in ("patch", "object") and node.args and self._is_mock(node.func):
            dotted = _constant(node.args[0]) or self._module(node.args[0])
            target = self.resolver.module(dotted)
            if target is not None:
                yield Operation(PatchKind.MONKEY_PATCH, node.lineno, node.end_lineno or node.lineno, (target,))
            return
        elif name in _RUNNERS and node.args:
            yield from self._started(node)
            return
        yield from self._reach(node, goals, PatchKind.SOURCE_REWRITE)

    def _is_of_files(self, function: ast.expr) -> bool:
        """Whether a function is of ``shutil`` or ``os``: texts have a ``replace`` and mappings a ``copy``, too."""
        module = self._module(function).rpartition(".")[0] or _module_of(function)
        return module in ("shutil", "os")

    def _is_mock(self, function: ast.expr) -> bool:
        """Whether a function is ``unittest.mock.patch`` or one of its attributes."""
        return re.search(r"\bmock(?:\.mock)?\.patch\b", self._module(function) or _dotted(function)) is not None

    def _opened(self, node: ast.Call, receiver: ast.expr | None) -> Iterator[Operation]:
        mode = next((keyword.value for keyword in node.keywords if keyword.arg == "mode"), None)
        if receiver is not None and _module_of(node.func) not in ("io", "codecs", "os", "gzip"):
            goal, position = receiver, 0
        elif node.args:
            goal, position = node.args[0], 1
        else:
            return
        if mode is None and len(node.args) > position:
            mode = node.args[position]
        if any(letter in _constant(mode) for letter in "wax+") and len(_constant(mode)) <= 4:
            yield from self._reach(node, [goal], PatchKind.SOURCE_REWRITE)

    def _reach(self, node: ast.Call, goals: Iterable[ast.expr], kind: PatchKind) -> Iterator[Operation]:
        targets = {
            target: None
            for goal in goals
            for path in sorted(self.path_of(goal) | self._relative(goal))
            if (target := self._leads_to(path)) is not None
        }
        if targets:
            yield Operation(kind, node.lineno, node.end_lineno or node.lineno, tuple(targets))

    def _leads_to(self, path: str) -> Target | None:
        return self.resolver.path(path) or (self.around.folder(path) if self.around.folder else None)

    def _relative(self, goal: ast.expr) -> frozenset[str]:
        """Plain texts that may be relative to a folder which is known outside only."""
        if isinstance(goal, ast.Call) and _name(goal.func) in ("Path", "PosixPath", "str") and len(goal.args) == 1:
            goal = goal.args[0]
        if isinstance(goal, ast.Name):
            values = [n.value for n in self.nodes if isinstance(n, ast.Assign) and _assigns(n, goal.id)]
            return frozenset(text for value in values[:8] for text in self._path_texts(value))
        return self._path_texts(goal)

    def _path_texts(self, node: ast.expr) -> frozenset[str]:
        if isinstance(node, ast.Call) and _name(node.func) in ("Path", "PosixPath", "str") and len(node.args) == 1:
            node = node.args[0]
        return frozenset(text for text in self._strings(node) if text and "\n" not in text and " " not in text)

    def _started(self, node: ast.Call) -> Iterator[Operation]:
        argument = node.args[0]
        words = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
        parts = []
        for word in words[:64]:
            paths = sorted(self.path_of(word))
            texts = sorted(self._strings(word))
            text = texts[0] if texts else paths[0] if paths else "?"
            if isinstance(word, ast.JoinedStr):
                text = "".join(
                    _constant(p) if isinstance(p, ast.Constant) else (paths or ["?"])[0] for p in word.values
                )
            parts.append(text if len(words) == 1 else "'" + text.replace("'", "'\\''") + "'")
        folder = next((keyword.value for keyword in node.keywords if keyword.arg == "cwd"), None)
        prefix = "".join(f"cd '{path}'; " for path in sorted(self.path_of(folder))[:1])
        for operation in self.around.run(prefix + " ".join(parts)) if self.around.run else ():
            yield Operation(operation.kind, node.lineno, node.end_lineno or node.lineno, operation.targets)

    def _changed(self, target: ast.expr, node: ast.Assign | ast.AugAssign) -> Iterator[Operation]:
        """``module.attribute = …``, ``Class.method = …``, ``sys.modules["module"] = …``."""
        reached = None
        if isinstance(target, ast.Attribute):
            module = self._module(target.value)
            reached = self.resolver.module(f"{module}.{target.attr}") if module else None
        elif isinstance(target, ast.Subscript) and _dotted(target.value) == "sys.modules":
            reached = self.resolver.module(_constant(target.slice))
        elif isinstance(target, ast.Subscript):
            module = self._module(target.value)
            reached = self.resolver.module(module) if module and "." in module else None
        if reached is not None:
            yield Operation(PatchKind.MONKEY_PATCH, node.lineno, node.end_lineno or node.lineno, (reached,))


def _assigns(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _file_of(module: str, *, folder: bool) -> str:
    path = f"{INSTALLED_ROOT}/{module.replace('.', '/')}"
    if folder:
        return path
    return f"{path}/__init__.py" if "." not in module else f"{path}.py"


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def _module_of(node: ast.expr) -> str:
    return _dotted(node).rpartition(".")[0]


def _constant(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
