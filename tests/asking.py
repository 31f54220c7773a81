"""Knowledge bases for tests of answers, and the command line asked in this process or in one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook.cli import main

if TYPE_CHECKING:
    from gitrepo import GitRepo

CONFIG = '[repos.demo]\nurl = "https://example.invalid/owner/demo"\ndefault_branch = "main"\n'
SECTIONS = "## What it demands\n\nSomething.\n\n## Why\n\nBecause.\n\n## What to check\n\n- This.\n\n## References\n\n- None.\n"
PIN = "demo@0123456789012345678901234567890123456789:doc/origin.md"


class Answer(NamedTuple):
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rules(self) -> dict[str, str]:
        """Each rule's relevance, in the order of the answer."""
        return {rule["id"]: rule["relevance"] for rule in self.json["rules"]}

    def reasons(self, rule: str) -> list[tuple[Any, ...]]:
        """A rule's reasons as (kind, path, side, pattern, line)."""
        found = next(item for item in self.json["rules"] if item["id"] == rule)
        return [
            tuple(reason[key] for key in ("kind", "path", "side", "pattern", "line")) for reason in found["reasons"]
        ]


class Base:
    """A knowledge base in a folder, with one target repository called ``demo`` unless told otherwise."""

    def __init__(self, root: Path, config: str = CONFIG) -> None:
        self.root = root
        self.write("rulebook.toml", config)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
        return path

    def document(self, name: str, keys: Mapping[str, object], body: str = SECTIONS) -> Path:
        """JSON is YAML, so keys are written as JSON, one a line."""
        head = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in keys.items())
        return self.write(name, f"---\n{head}---\n\n{body}")

    def rule(self, name: str, applies_to: object = "**", *, body: str = SECTIONS, **keys: object) -> Path:
        stated = {
            "id": name,
            "title": f"Rule {name}",
            "status": "active",
            "severity": "warning",
            "repo": "demo",
            "applies_to": applies_to,
            "sources": [PIN],
            **keys,
        }
        return self.document(f"rules/{stated['repo']}/{name}.md", stated, body)

    def review(self, number: int, touches: object, labels: Sequence[str] = (), **keys: object) -> Path:
        stated = {
            "id": f"owner/demo#{number}",
            "title": f"Digest {number}",
            "repo": "owner/demo",
            "pr": number,
            "labels": list(labels),
            "touches": touches,
            **keys,
        }
        return self.document(f"reviews/owner/demo/{number}.md", stated, "## What it changed\n\nText.\n")

    def ask(self, *arguments: str, stdin: bytes = b"") -> Answer:
        """Runs a command in this process."""
        return ask(arguments[0], "--root", str(self.root), *arguments[1:], stdin=stdin)

    def applies(self, *arguments: str, stdin: bytes = b"") -> Answer:
        """Asks ``applies`` for JSON; the run must succeed."""
        answer = self.ask("applies", "--format", "json", *arguments, stdin=stdin)
        assert answer.code == 0, answer.err
        return answer

    def diff(self, text: str | bytes) -> Answer:
        """Asks ``applies`` about a diff."""
        return self.applies("--diff", "-", stdin=text.encode() if isinstance(text, str) else text)

    def range(self, repo: GitRepo, range: str) -> Answer:
        """Asks ``applies`` about a git range of the target."""
        return self.applies("--checkout", f"demo={repo.path}", "--git", range)


def ask(*arguments: str, stdin: bytes = b"") -> Answer:
    """Runs the command line in this process, with byte streams of its own."""
    kept = sys.stdin
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(arguments)
    finally:
        sys.stdin = kept
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    return Answer(code, texts[0], texts[1])


def command(*arguments: str) -> list[str]:
    """The command line as a process's arguments."""
    return [sys.executable, "-c", "import sys; from rulebook.cli import main; sys.exit(main())", *arguments]


def process(*arguments: str, stdin: bytes = b"", cwd: Path | None = None, **environ: str) -> Answer:
    """Runs the command line in a process of its own; ``environ`` is added to this one's."""
    done = subprocess.run(
        command(*arguments), input=stdin, capture_output=True, check=False, cwd=cwd, env={**os.environ, **environ}
    )
    return Answer(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def edit(path: str, *, added: Sequence[str] = (), removed: Sequence[str] = (), context: Sequence[str] = ()) -> str:
    """A diff of one file with one hunk: context, then removed, then added lines."""
    lines = [*(f" {line}" for line in context), *(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    old, new = len(context) + len(removed), len(context) + len(added)
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{old} +1,{new} @@\n"
    return head + "".join(f"{line}\n" for line in lines)
