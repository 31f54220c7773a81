"""The plan of the house, held against its imports."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src/rulebook"
#: The floors from the top down: a module imports from lower floors, and from its own package. Of a package that is
#: not named here itself, each module has a floor of its own.
FLOORS = (
    ("__main__",),
    ("cli",),
    ("bot", "site"),
    ("render",),
    ("lookup", "answer"),
    ("repin",),
    ("freshness", "edits"),
    ("checkouts", "sync"),
    ("match",),
    ("store.opening", "index.writer"),
    ("index.search",),
    ("index.folder",),
    ("index.entries",),
    ("index.analysis",),
    ("index.engine",),
    ("store.compilation",),
    ("store.query",),
    ("store.folder", "store.records"),
    ("store.schema",),
    ("store.postings",),
    ("validate",),
    ("lifecycle",),
    ("catalog",),
    ("parse",),
    ("waivers",),
    ("staleness", "editing"),
    ("evidence",),
    ("moves",),
    ("snapshots", "definitions"),
    ("scope", "changes", "ranges"),
    ("symbols", "diffs"),
    ("git.repository", "git.mirror"),
    ("git.objects",),
    ("git.process", "git.records"),
    ("git.names",),
    ("patterns.explanation", "patterns.lint"),
    ("patterns.syntax",),
    ("metadata", "markdown", "patterns.compiled"),
    ("verdicts",),
    ("files", "pins", "regexes", "config", "ordering", "spelling", "cachefiles"),
    ("backtracking",),
    ("charsets",),
    ("model",),
    ("errors",),
)
HEIGHT = {name: len(FLOORS) - number for number, floor in enumerate(FLOORS) for name in floor}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room(name: str) -> str:
    """The part of the dotted name of a module, from below the package on, that has a floor; all of it where none has."""
    parts = name.split(".")
    return next((head for n in range(len(parts), 0, -1) if (head := ".".join(parts[:n])) in HEIGHT), name)


def room_of(path: Path) -> str:
    return room(".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"))


def imported(path: Path) -> list[tuple[str, int]]:
    """The dotted names that a file imports, with its lines; what is for type checkers does not run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    return [
        (f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) not in typing_only
        for alias in node.names
    ]


def test_every_room_has_a_floor() -> None:
    without = {room_of(path) for path in modules()} - HEIGHT.keys()
    assert {
        name for name in without if not holds_only_a_docstring(PACKAGE / name.replace(".", "/") / "__init__.py")
    } == set()


def test_the_plan_names_every_room() -> None:
    plan = (PACKAGE.parent.parent / "docs/architecture.md").read_text(encoding="utf-8").split("```")[1]
    words = set(re.findall(r"\w+", plan))
    assert {part for name in HEIGHT for part in name.split(".")} - words == {"__main__"}


def holds_only_a_docstring(path: Path) -> bool:
    """Whether a file is that of a package that only says what is in it."""
    return path.is_file() and [type(node) for node in ast.parse(path.read_text(encoding="utf-8")).body] == [ast.Expr]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downward_only(path: Path) -> None:
    own = room_of(path)
    found = {
        room(name.removeprefix("rulebook.")): line for name, line in imported(path) if name.startswith("rulebook.")
    }
    wrong = [
        f"{path.name}:{line} imports {name}"
        for name, line in found.items()
        if name != own and HEIGHT[name] >= HEIGHT[own]
    ]
    assert wrong == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_prints_and_exits(path: Path) -> None:
    if room_of(path) in ("cli", "__main__"):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not {"print", "sys.exit", "exit", "quit"}.intersection(calls)


def test_only_one_room_knows_whoosh_and_only_one_starts_processes() -> None:
    who = {
        module: {room_of(path) for path in modules() for name, _ in imported(path) if name.split(".")[0] == module}
        for module in ("whoosh", "subprocess")
    }
    assert who == {"whoosh": {"index.engine"}, "subprocess": {"git.process"}}


def test_a_query_imports_nothing_heavy(tmp_path: Path) -> None:
    """An up-to-date store answers without YAML, Markdown, whoosh, hashes or git."""
    root = PACKAGE.parent.parent
    code = (
        "import sys; from rulebook.cli import main\n"
        "status = main(sys.argv[1:])\n"
        "print(status, *sorted(sys.modules), file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code, "applies", "--root", str(root), "--repo", "afd-plugin", "README.md"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE.parent), "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    status, *loaded = done.stderr.split()
    assert status == "0"
    heavy = {"yaml", "frontmatter", "markdown_it", "whoosh", "hashlib", "rich.console", "tomllib", "tree_sitter"}
    assert heavy.intersection(loaded) == set()
    assert "rulebook.parse" not in loaded
