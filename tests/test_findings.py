"""Every code of a finding is documented, and none that does not exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PREFIXES = (
    "file config yaml frontmatter key value body id reference supersession status repo pin date pattern signal "
    "cochange page section twin policy waiver"
).split()
CODE = re.compile(rf"(?:{'|'.join(PREFIXES)})-[a-z]+(?:-[a-z]+)*\Z|yaml\Z")


def emitted() -> set[str]:
    """The codes that stand in calls and tuples of the package."""
    found = set()
    for path in (ROOT / "src/rulebook").rglob("*.py"):
        if path.parts[-2] in ("cli", "render", "site", "bot"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                values = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "code")]
                found |= {v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)}
    return {code for code in found if CODE.match(code)}


def documented() -> set[str]:
    texts = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("lint.md", "waivers.md", "freshness.md")]
    return {code for text in texts for code in re.findall(r"`([a-z-]+)`", text) if CODE.match(code)}


def test_every_code_is_documented() -> None:
    assert emitted() - documented() == set()


def test_no_code_is_documented_that_does_not_exist() -> None:
    source = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src/rulebook").rglob("*.py"))
    listed = re.findall(r"`([a-z-]+)`", (ROOT / "docs/lint.md").read_text(encoding="utf-8"))
    assert [code for code in listed if CODE.match(code) and f'"{code}"' not in source] == []
