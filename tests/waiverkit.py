"""A target repository with engine patches, and a knowledge base with a policy, for the tests about waivers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gitrepo import GitRepo
from rulebook.git.repository import Repository
from rulebook.model import ChangeSet, Kind, Rule
from rulebook.parse import parse_file
from rulebook.ranges import from_git
from rulebook.waivers.policy import Policy, parse_policy

RULE = """---
id: ENG-1
title: The image runs as shipped
repo: bench
severity: error
applies_to: ["scripts/**", "ci/**", "**/*.patch"]
policy:
  protects:
    - {name: vllm, modules: [vllm], packages: [vllm], repositories: [vllm]}
    - {name: sglang, modules: [sglang], packages: [sglang], repositories: [sglang], paths: [/sgl-workspace/sglang]}
    - {name: flashinfer, packages: [flashinfer-python], role: component}
  allows:
    - {name: lm-eval, modules: [lm_eval], packages: [lm-eval], repositories: [lm-evaluation-harness]}
  overlays: ["scripts/patches/**"]
  configs: [configs/master.yaml]
  waiver:
    folder: docs/waiver
    scope: [script, config, image]
    parts:
      what: [Scope, What is patched]
      why: [Why, Why the unmodified image cannot run it]
      upstream: [Upstream, Upstream tracking, Links]
      removal: [Removal plan, Removal]
---
The image runs as shipped.

## What it demands

No patches.
"""

CONFIG = '[repos.bench]\nurl = "https://example.invalid/acme/bench"\n'

IMAGE = "vllm/vllm-openai:v0.9.1"
MASTER = f"""m3-b200-vllm:
  image: {IMAGE}
  runner: b200
other-b200-vllm:
  image: vllm/vllm-openai:v0.8.0
  runner: b200
"""

PATCH = """#!/usr/bin/env bash
set -e
python3 - <<'PYEOF'
from importlib.util import find_spec
from pathlib import Path

target = Path(find_spec("vllm").origin).parent / "models" / "m3.py"
src = target.read_text()
old = "topk = topk[:, :n]\\n"
new = "topk = topk[:, :n].contiguous()\\n"
assert src.count(old) == 1
target.write_text(src.replace(old, new, 1))
PYEOF
vllm serve m3
"""
#: The same patch with its anchor moved to another line of the engine.
REANCHORED = PATCH.replace("topk = topk[:, :n]", "prefill_topk = topk[:, a:n]")
#: One more edit in the same program.
ENLARGED = PATCH.replace(
    "target.write_text(src.replace(old, new, 1))",
    'src = src.replace("graph = True", "graph = False")\ntarget.write_text(src.replace(old, new, 1))',
)
RETARGETED = PATCH.replace('"m3.py"', '"m4.py"')
CLEAN = "#!/usr/bin/env bash\nset -e\nvllm serve m3\n"

WAIVER = f"""# Engine patch waiver: PR #7

## Scope

The entry `m3-b200-vllm` of configs/master.yaml, on `{IMAGE}`. The script `scripts/m3.sh` rewrites
models/m3.py of vLLM.

## Why the unmodified image cannot run it

The sparse attention refuses a slice that is not contiguous, and the server stops at the first request.

## Upstream tracking / links

https://github.com/vllm-project/vllm/pull/45546

## Removal plan

The image moves to the first release with that change; script and waiver go then.
"""


def policy(**changed: str) -> Policy:
    """The policy of :data:`RULE`."""
    found, findings = parse_policy(rule())
    assert found is not None
    assert findings == []
    return found


def rule(text: str = RULE) -> Rule:
    documents, findings = parse_file("rules/bench/ENG-1.md", Kind.RULE, text)
    assert [f for f in findings if f.code.startswith("yaml")] == []
    (document,) = documents
    assert isinstance(document, Rule)
    return document


def target(tmp_path: Path, files: dict[str, Any] | None = None) -> GitRepo:
    """A target repository with one commit."""
    repo = GitRepo(tmp_path / "bench")
    repo.commit({"configs/master.yaml": MASTER, "README.md": "bench\n", **(files or {})})
    return repo


def change(repo: GitRepo, files: dict[str, Any], range: str = "HEAD~1..HEAD") -> ChangeSet:
    """Commits ``files`` and reads the change that they make."""
    repo.commit(files)
    return from_git(Repository(repo.path, environ=repo.environ), range)


def knowledge_base(tmp_path: Path, files: dict[str, str] | None = None) -> Path:
    """A knowledge base with the policy."""
    root = tmp_path / "kb"
    for name, text in {"rulebook.toml": CONFIG, "rules/bench/ENG-1.md": RULE, **(files or {})}.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root
