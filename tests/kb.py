"""Builds knowledge bases in a folder, out of nothing but their files' texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CONFIG = '[repos.demo]\nurl = "https://example.invalid/demo.git"\ndefault_branch = "main"\n'
RULE = """\
---
id: DEMO-1
title: Generated code is not edited by hand
status: active            # active | contested | superseded | retired | reserved
severity: warning         # error | warning | note, as in SARIF
repo: demo
applies_to: ["src/**", "!src/gen/**"]
sources: ["demo@0123456789012345678901234567890123456789:src/a.py#f"]
---
What it demands, in a sentence.
"""
REVIEW = """\
---
id: owner/name#12
title: What the pull request did
repo: owner/name
pr: 12
labels: [ci]
touches: ["ci/**"]
sources: []
---
What to take away.
"""
#: The smallest knowledge base that has to load, as the contract gives it.
SMALLEST = {"rulebook.toml": CONFIG, "rules/demo/DEMO-1.md": RULE, "reviews/owner/name/12.md": REVIEW}


def make_kb(folder: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Writes a knowledge base below ``folder`` and returns its root.

    Args:
        folder: made where it is missing.
        files: texts by path; ``rulebook.toml`` is added where it is not among them. By default
            :data:`SMALLEST`.
    """
    root = folder / "kb"
    for path, text in {"rulebook.toml": CONFIG, **(SMALLEST if files is None else files)}.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def rule(identity: str = "DEMO-1", *, body: str = "What it demands.\n", repo: str = "demo", **keys: str) -> str:
    """A rule's text; values of ``keys`` are YAML as they stand, and an empty one leaves its key out."""
    values = {"id": identity, "title": f"Title of {identity}", "repo": repo, "applies_to": '["src/**"]', **keys}
    lines = [f"{key}: {value}" for key, value in values.items() if value]
    return "---\n" + "\n".join(lines) + f"\n---\n{body}"
