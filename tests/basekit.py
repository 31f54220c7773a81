"""Knowledge bases for tests about sources: a few lines of Markdown beside a real target repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitrepo import GitRepo

CONFIG = '[repos.target]\nurl = "https://example.invalid/owner/target"\ndefault_branch = "main"\n'


def write_rule(root: Path, name: str, sources: Sequence[str], *, body: str = "Text.\n", extra: str = "") -> Path:
    """Write a rule with these pins; returns its file."""
    (root / "rules").mkdir(parents=True, exist_ok=True)
    if not (root / "rulebook.toml").exists():
        (root / "rulebook.toml").write_text(CONFIG)
    lines = "".join(f'  - "{source}"\n' for source in sources)
    path = root / "rules" / f"{name}.md"
    path.write_text(
        f"---\nid: {name}\ntitle: Rule {name}\nstatus: active\nrepo: target\napplies_to: ['**']\n{extra}"
        f"sources:{' []' if not sources else ''}\n{lines}---\n\n## What it demands\n\n{body}",
        encoding="utf-8",
    )
    return path


def pin(commit: str, place: str) -> str:
    """A pin into the target."""
    return f"target@{commit}:{place}"


def target(tmp_path: Path) -> tuple[GitRepo, str]:
    """A target of which, since the returned commit, one file was removed, one renamed, one edited and one left."""
    repo = GitRepo(tmp_path / "target")
    long = "".join(f"line {number} of the file\n" for number in range(20))
    old = repo.commit({"gone.py": "def gone():\n    return 1\n", "old.txt": long, "edited.py": EDITED, "same.py": SAME})
    repo.commit(
        {"gone.py": None, "old.txt": None, "new.txt": long, "edited.py": EDITED.replace("return 1", "return 2")}
    )
    return repo, old


EDITED = "def keep():\n    return 0\n\n\ndef edited():\n    return 1\n"
SAME = "def same():\n    return 1\n"
