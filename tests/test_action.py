"""action.yml: its steps' shell runs as a runner would run it, with the event of a same-repository and of a fork pull request."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from githubserver import TOKEN, GitHub
from gitrepo import GitRepo
from test_bot_command import RULE, api_file, pull_event

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


class Runner:
    """As much of the runner as the action uses: inputs, contexts, conditions, files for outputs and summary."""

    def __init__(self, folder: Path, github: GitHub, api: str, event: dict[str, Any]) -> None:
        self.folder = folder
        self.inputs: dict[str, str] = {}
        temp = folder / "temp"
        (temp / "rulebook/venv/bin").mkdir(parents=True)
        # What 'Install rulebook' would make; it needs a network.
        for name, line in (
            ("rulebook", f'exec "{sys.executable}" "{ROOT}/cli.py" "$@"'),
            ("python", f'exec "{sys.executable}" "$@"'),
        ):
            place = temp / "rulebook/venv/bin" / name
            place.write_text(f"#!/bin/sh\n{line}\n")
            place.chmod(0o755)
        (folder / "event.json").write_text(json.dumps(event))
        for name in ("output", "summary.md"):
            (folder / name).touch()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "RUNNER_TEMP": str(temp),
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": api,
            "GITHUB_REPOSITORY": "owner/target",
            "GITHUB_EVENT_NAME": "workflow_run" if "workflow_run" in event else "pull_request",
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        }

    def value(self, expression: str) -> str:
        def replace(found: re.Match[str]) -> str:
            scope, _, name = found[1].strip().partition(".")
            if scope == "inputs":
                default = str(ACTION["inputs"][name]["default"])
                return self.inputs.get(name, TOKEN if "github.token" in default else default)
            return {"server_url": "https://github.com", "action_path": str(ROOT)}[name]

        return re.sub(r"\$\{\{([^}]*)\}\}", replace, expression)

    def run(self, *names: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        self.inputs = {name.replace("_", "-"): text for name, text in inputs.items()}
        for step in ACTION["runs"]["steps"]:
            if names and step["name"] not in names:
                continue
            assert "${{" not in step["run"], "an expression in a script is a hole"
            environ = {**self.environ, **{key: self.value(text) for key, text in step.get("env", {}).items()}}
            # https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax: the runner's bash.
            line = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(line, env=environ, cwd=self.folder, capture_output=True, text=True, check=False)
            if done.returncode:
                break
        return done

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.folder / "output").read_text().splitlines())


@pytest.fixture
def github() -> Iterator[tuple[GitHub, str]]:
    made = GitHub()
    with made.serve() as address:
        yield made, address


def make(tmp_path: Path, github: tuple[GitHub, str], origin: str = "owner/target") -> Runner:
    kb = tmp_path / "kb"
    (kb / "rules").mkdir(parents=True)
    (kb / "rulebook.toml").write_text('[repos.target]\nurl = "https://github.com/owner/target"\n')
    (kb / "rules/R-1.md").write_text(RULE.format(id="R-1", title="Nothing dangerous", severity="error"))
    repo = GitRepo(tmp_path / "elsewhere")
    old = repo.commit({"README.md": "text\n"})
    commits = (repo, old, repo.commit({"src/a.py": "danger()\n"}))
    github[0].add_pull(7, head=commits[2], base=commits[1], origin=origin, files=[api_file(), api_file("docs/x.md")])
    return Runner(tmp_path, *github, pull_event(commits, origin))


def test_a_pull_request_of_the_same_repository(tmp_path: Path, github: tuple[GitHub, str]) -> None:
    runner = make(tmp_path, github)
    done = runner.run("Check the inputs", "Answer", root="kb", formats="json,sarif github")
    assert done.returncode == 0, done.stderr
    assert "Nothing dangerous" in github[0].by()[0]["body"]
    out = tmp_path / "temp/rulebook/out"
    assert runner.outputs == {
        "direct": "1",
        "possible": "0",
        "uncovered": "1",
        "complete": "true",
        "answer": str(out / "answer.json"),
        "json": str(out / "report.json"),
        "sarif": str(out / "report.sarif"),
    }
    assert "::error file=src/a.py,line=1" in done.stdout
    assert "Nothing dangerous" in (tmp_path / "summary.md").read_text()
    assert TOKEN not in done.stdout + done.stderr


def test_a_fork_s_read_only_token_and_the_run_that_posts_for_it(tmp_path: Path, github: tuple[GitHub, str]) -> None:
    server = github[0]
    server.can_write = False
    runner = make(tmp_path, github, "stranger/target")
    done = runner.run("Answer", root="kb")
    assert done.returncode == 0, done.stderr
    assert not server.comments
    assert "Nothing dangerous" in (tmp_path / "summary.md").read_text()
    answer = tmp_path / "answer.json"
    answer.write_text(Path(runner.outputs["answer"]).read_text())
    server.can_write = True
    event = {
        "action": "completed",
        "workflow_run": {
            "event": "pull_request",
            "head_sha": server.pulls[7].head,
            "head_branch": "topic",
            "head_repository": {"full_name": "stranger/target"},
        },
        "repository": {"full_name": "owner/target"},
    }
    second = tmp_path / "second"
    second.mkdir()
    done = Runner(second, *github, event).run("Answer", **{"from": str(answer)})
    assert done.returncode == 0, done.stderr
    assert "Nothing dangerous" in server.by()[0]["body"]


def test_fail_on_decides_the_colour_and_outputs_are_there_all_the_same(
    tmp_path: Path, github: tuple[GitHub, str]
) -> None:
    runner = make(tmp_path, github)
    assert runner.run("Answer", root="kb", fail_on="error").returncode == 1
    assert runner.outputs["direct"] == "1"


def test_without_comment_nothing_is_written(tmp_path: Path, github: tuple[GitHub, str]) -> None:
    assert make(tmp_path, github).run("Answer", root="kb", comment="false").returncode == 0
    assert not github[0].comments


@pytest.mark.parametrize(
    "inputs",
    [
        {"knowledge_base": "owner/kb", "knowledge_base_ref": "main"},
        {"knowledge_base": "owner/kb"},
        {"knowledge_base": "--upload-pack=x", "knowledge_base_ref": "a" * 40},
    ],
)
def test_a_knowledge_base_elsewhere_is_pinned(
    tmp_path: Path, github: tuple[GitHub, str], inputs: dict[str, str]
) -> None:
    done = make(tmp_path, github).run(**inputs)
    assert done.returncode == 2
    assert done.stdout.startswith("::error title=rulebook::knowledge-base")


def test_a_pinned_knowledge_base_is_fetched(tmp_path: Path, github: tuple[GitHub, str]) -> None:
    runner = make(tmp_path, github)
    kb = GitRepo(tmp_path / "server/owner/kb")
    old = kb.commit({"rulebook.toml": "", "rules/OLD.md": "x"})
    kb.commit({"rules/OLD.md": None})
    step = next(step for step in ACTION["runs"]["steps"] if step["name"] == "Get the knowledge base")
    environ = {
        **runner.environ,
        "KB": "owner/kb",
        "KB_REF": old,
        "TOKEN": TOKEN,
        "SERVER": (tmp_path / "server").as_uri(),
    }
    done = subprocess.run(["bash", "-c", step["run"]], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "temp/rulebook/knowledge-base/rules/OLD.md").exists()
    assert TOKEN not in done.stdout + done.stderr + (tmp_path / "temp/rulebook/knowledge-base/.git/config").read_text()


def test_inputs_cannot_run_commands(tmp_path: Path, github: tuple[GitHub, str]) -> None:
    runner = make(tmp_path, github)
    evil = '$(touch pwned)"; touch pwned; `touch pwned`'
    for name in ("repo", "pull-request", "from", "formats", "fail-on", "author", "site", "root"):
        runner.run("Check the inputs", "Answer", **{"root": "kb", name: evil})
    assert not list(tmp_path.rglob("pwned"))


def test_the_documented_workflows_are_hardened() -> None:
    text = (ROOT / "docs/bot.md").read_text()
    workflows = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    workflows = [workflow for workflow in workflows if "jobs" in workflow]
    assert len(workflows) >= 3
    for workflow in workflows:
        triggers = workflow[True]  # YAML 1.1 reads "on" as a truth value
        assert workflow["permissions"] == {}
        for job in workflow["jobs"].values():
            assert "permissions" in job
            for step in job["steps"]:
                uses = step.get("uses", "")
                assert not uses or re.search(r"@([0-9a-f]{40}|<[a-z ]+>)$", uses), uses
                assert "${{" not in step.get("run", "")
                if "checkout" in uses:
                    assert step["with"]["persist-credentials"] is False
                    # Foreign code is checked out by no job that may write.
                    if "workflow_run" in triggers or "pull_request_target" in triggers:
                        assert "ref" not in step["with"]


def test_the_hooks_call_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {hook["id"]: hook["entry"] for hook in hooks} == {
        "rulebook-lint": "rulebook lint",
        "rulebook-applies": "rulebook applies",
    }
    lint = next(hook for hook in hooks if hook["id"] == "rulebook-lint")
    assert [bool(re.search(lint["files"], path)) for path in ("rules/a/B.md", "rulebook.toml", "src/rules/x.md")] == [
        True,
        True,
        False,
    ]
