"""The plan of the house, held against its imports."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src/rulebook"
#: The floors from the top down: a module imports from lower floors, and from its own package.
FLOORS = (
    ("__main__",),
    ("cli",),
    ("bot", "site"),
    ("render",),
    ("lookup", "answer"),
    ("repin",),
    ("freshness",),
    ("checkouts", "sync"),
    ("match",),
    ("store", "index"),
    ("validate",),
    ("lifecycle",),
    ("catalog",),
    ("parse",),
    ("waivers",),
    ("staleness", "editing"),
    ("moves",),
    ("snapshots", "definitions"),
    ("scope", "changes"),
    ("symbols", "diffs"),
    ("git",),
    ("metadata", "markdown", "patterns"),
    ("files", "pins", "regexes", "config", "ordering"),
    ("model",),
    ("errors",),
)
HEIGHT = {name: len(FLOORS) - number for number, floor in enumerate(FLOORS) for name in floor}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> dict[str, int]:
    """The modules of the package that a file imports, with their lines; those for type checkers do not run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "rulebook":
            found.update({alias.name: node.lineno for alias in node.names})
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rulebook."):
            found[node.module.split(".")[1]] = node.lineno
        elif isinstance(node, ast.Import):
            found.update({a.name.split(".")[1]: node.lineno for a in node.names if a.name.startswith("rulebook.")})
    return found


def test_every_room_has_a_floor() -> None:
    assert {room(path) for path in modules()} - HEIGHT.keys() == set()


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downward_only(path: Path) -> None:
    own = room(path)
    wrong = [
        f"{path.name}:{line} imports {name}"
        for name, line in imports(path).items()
        if name != own and HEIGHT[name] >= HEIGHT[own]
    ]
    assert wrong == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_prints_and_exits(path: Path) -> None:
    if room(path) in ("cli", "__main__"):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not {"print", "sys.exit", "exit", "quit"}.intersection(calls)


def test_only_one_room_knows_whoosh_and_only_one_starts_git() -> None:
    whoosh, processes = set(), set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            whoosh.update(room(path) for name in names if name.split(".")[0] == "whoosh")
            processes.update(room(path) for name in names if name == "subprocess")
    assert whoosh == {"index"}
    assert processes == {"git"}


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
