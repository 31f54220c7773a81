"""`rulebook comment` as a process's main function: events, forks, tokens, exit codes, what is printed and saved."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from githubserver import TOKEN, Error, GitHub
from gitrepo import GitRepo
from rulebook.cli import main

ROOT = Path(__file__).parent.parent
RULE = """---
id: {id}
title: {title}
status: active
severity: {severity}
repo: target
applies_to: ['src/**']
look_for:
  - lines: 'danger'
    on: added
sources: []
---

## What it demands

Text.
"""


def api_file(path: str = "src/a.py", *added: str, **more: Any) -> dict[str, Any]:
    lines = added or ("danger()",)
    patch = f"@@ -0,0 +1,{len(lines)} @@\n" + "\n".join(f"+{line}" for line in lines)
    return {"filename": path, "status": "added", "changes": len(lines), "patch": patch, **more}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    root = tmp_path / "base"
    (root / "rules").mkdir(parents=True)
    (root / "rulebook.toml").write_text('[repos.target]\nurl = "https://github.com/owner/target"\n')
    (root / "rules/R-1.md").write_text(RULE.format(id="R-1", title="Nothing dangerous", severity="error"))
    return root


@pytest.fixture
def repo(tmp_path: Path) -> tuple[GitRepo, str, str]:
    made = GitRepo(tmp_path / "clone")
    old = made.commit({"README.md": "text\n"})
    return made, old, made.commit({"src/a.py": "danger()\n"})


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch, repo: tuple[GitRepo, str, str]) -> Iterator[GitHub]:
    made = GitHub()
    made.add_pull(7, head=repo[2], base=repo[1], files=[api_file()])
    with made.serve() as address:
        monkeypatch.setenv("GITHUB_API_URL", address)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        yield made


def event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any, name: str = "pull_request") -> None:
    place = tmp_path / "event.json"
    place.write_text(data if isinstance(data, str) else json.dumps(data))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(place))
    monkeypatch.setenv("GITHUB_EVENT_NAME", name)
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/target")


def pull_event(repo: tuple[GitRepo, str, str], origin: str = "owner/target") -> dict[str, Any]:
    return {
        "action": "synchronize",
        "number": 7,
        "pull_request": {
            "number": 7,
            "head": {"sha": repo[2], "ref": "topic", "repo": {"full_name": origin}},
            "base": {"sha": repo[1], "ref": "main", "repo": {"full_name": "owner/target"}},
        },
        "repository": {"full_name": "owner/target"},
        "sender": {"login": "author"},
    }


ARGS = ["comment", "--pr", "7", "--repository", "owner/target"]


def test_writes_and_is_quiet(github: GitHub, base: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGS, "--root", str(base), "--site", "https://docs.example/kb"]) == 0
    out, err = capfd.readouterr()
    assert out == ""
    assert "comment on owner/target#7 created: https://github.com/owner/target/pull/7#issuecomment-1001" in err
    (comment,) = github.by()
    assert "(https://docs.example/kb/rules/target/R-1/)" in comment["body"]
    assert "`src/a.py:1` matches `danger`" in comment["body"]


def test_dry_run_prints_what_would_be_written(
    github: GitHub, base: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    assert main(["comment", "--dry-run", "https://github.com/owner/target/pull/7", "--root", str(base)]) == 0
    dry = capfd.readouterr().out
    assert dry.startswith("<!-- rulebook:comment -->\n")
    assert not github.comments
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    main([*ARGS, "--root", str(base)])
    visible = [body.split("\n", 2)[2] for body in (dry, github.by()[0]["body"])]
    assert visible[0] == visible[1]


def test_the_event_and_a_clone_need_no_list_of_files(
    github: GitHub, base: Path, repo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event(tmp_path, monkeypatch, pull_event(repo))
    assert main(["comment", "--root", str(base), "--checkout", f"target={repo[0].path}"]) == 0
    assert not any(path.endswith("/files") for _, path in github.requests)
    assert "R\\-1" in github.by()[0]["body"]


def test_a_cut_list_of_files_is_said(github: GitHub, base: Path) -> None:
    github.pulls[7].files = [api_file(f"src/f{n}.py", "x") for n in range(3000)]
    github.pulls[7].changed_files = 3000
    main([*ARGS, "--root", str(base)])
    assert "Incomplete" not in github.by()[0]["body"]
    # 31 for the pull request and its files, and few for everything else.
    assert len(github.requests) <= 31 + 10
    github.pulls[7].changed_files = 3001
    main([*ARGS, "--root", str(base)])
    assert "ends after 3,000 files" in github.by()[0]["body"]
    assert "`complete: false`" in github.by()[0]["body"]


# --- forks ------------------------------------------------------------------------------------


def test_a_fork_answers_in_the_summary_and_another_run_posts_it(
    github: GitHub, base: Path, repo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    pull = github.pulls[7]
    pull.origin, github.can_write = "stranger/target", False
    event(tmp_path, monkeypatch, pull_event(repo, "stranger/target"))
    summary, saved = tmp_path / "summary.md", tmp_path / "out/answer.json"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["comment", "--root", str(base), "--save", str(saved)]) == 0
    out, err = capfd.readouterr()
    assert "GitHub says 403" in err
    assert "Nothing dangerous" in out
    assert "Nothing dangerous" in summary.read_text()
    assert not github.comments
    # The second run has the right to write, and no knowledge base.
    github.can_write = True
    run_event = {
        "action": "completed",
        "workflow_run": {
            "event": "pull_request",
            "head_sha": repo[2],
            "head_branch": "topic",
            "head_repository": {"full_name": "stranger/target"},
            "pull_requests": [],
        },
        "repository": {"full_name": "owner/target"},
    }
    event(tmp_path, monkeypatch, run_event, "workflow_run")
    assert main(["comment", "--from", str(saved)]) == 0
    assert "Nothing dangerous" in github.by()[0]["body"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"pr": 8}, "speaks of owner/target#8", id="another pull request"),
        pytest.param({"head": "d" * 40}, "at dddddddddddd", id="another head"),
        pytest.param({"repository": "owner/other"}, "speaks of owner/other#7", id="another repository"),
        pytest.param({"version": 2}, "of version 2", id="another version"),
        pytest.param({"applies": {}}, "KeyError", id="no report"),
        pytest.param({"applies": [], "head": 3}, "is no text", id="wrong types"),
    ],
)
def test_a_forged_answer_is_not_posted(
    github: GitHub, base: Path, tmp_path: Path, capfd: Any, change: dict[str, Any], said: str
) -> None:
    saved = tmp_path / "answer.json"
    main([*ARGS, "--dry-run", "--root", str(base), "--save", str(saved)])
    saved.write_text(json.dumps({**json.loads(saved.read_text()), **change}))
    capfd.readouterr()
    assert main([*ARGS, "--from", str(saved)]) == 3
    assert said in capfd.readouterr().err
    assert not github.comments


# --- bad input --------------------------------------------------------------------------------


def one_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("rulebook: ")]
    assert len(lines) == 1, text
    return lines[0]


def test_a_token_without_rights(github: GitHub, base: Path, capfd: Any) -> None:
    github.can_write = False
    assert main([*ARGS, "--root", str(base)]) == 3
    out, err = capfd.readouterr()
    assert "Nothing dangerous" in out
    assert "pull-requests: write" in one_line(err)
    assert TOKEN not in out + err


def test_no_token(github: GitHub, base: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "")
    assert main([*ARGS, "--root", str(base)]) == 3
    out, err = capfd.readouterr()
    assert "Nothing dangerous" in out
    assert "set GITHUB_TOKEN" in one_line(err)


@pytest.mark.parametrize("args", [["--pr", "8", "--repository", "owner/target"], ["--pr", "7", "--repository", "o/x"]])
def test_what_is_not_there(github: GitHub, base: Path, capfd: Any, args: list[str]) -> None:
    assert main(["comment", *args, "--root", str(base)]) == 3
    assert "GitHub says 404" in one_line(capfd.readouterr().err)


def test_a_pull_request_that_is_gone_still_has_an_answer(
    github: GitHub, base: Path, repo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    event(tmp_path, monkeypatch, pull_event(repo))
    github.pulls.clear()
    assert main(["comment", "--root", str(base), "--checkout", f"target={repo[0].path}"]) == 3
    out, err = capfd.readouterr()
    assert "Nothing dangerous" in out
    assert "GitHub says 404" in one_line(err)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param({"ref": "refs/heads/main", "repository": {"full_name": "owner/target"}}, "'push'", id="push"),
        pytest.param({"issue": {"number": 7}, "repository": {"full_name": "owner/target"}}, "'push'", id="an issue"),
        pytest.param("{", "is no JSON", id="cut"),
        pytest.param([1], "holds no event", id="a list"),
        pytest.param({"pull_request": {"number": "7"}}, "'push'", id="a number as text"),
    ],
)
def test_events_of_another_kind(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, data: Any, said: str
) -> None:
    event(tmp_path, monkeypatch, data, "push")
    assert main(["comment", "--root", str(base)]) == 3
    assert said in one_line(capfd.readouterr().err)


def test_an_event_file_that_is_not_there(base: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("GITHUB_EVENT_PATH", "/nowhere/event.json")
    assert main(["comment", "--root", str(base)]) == 3
    assert "cannot be read" in one_line(capfd.readouterr().err)


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(["x"], id="no number"),
        pytest.param(["--pr", "7"], id="no repository"),
        pytest.param(["--pr", "7", "--repository", "nonsense"], id="no owner"),
        pytest.param([], id="nothing at all"),
        pytest.param([*ARGS[1:], "--write", "pdf=x"], id="unknown format"),
        pytest.param([*ARGS[1:], "--site", "javascript:x"], id="site"),
    ],
)
def test_usage(base: Path, args: list[str]) -> None:
    assert main(["comment", *args, "--root", str(base)]) == 2


def test_failing_servers_turn_nothing_red_unless_asked(
    github: GitHub, base: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rulebook.bot.client.MAX_RETRIES", 0)
    for options, code in (([], 0), (["--strict"], 3), (["--fail-on", "error"], 1)):
        github.errors[:] = [Error(503, method="POST", times=9)]
        assert main([*ARGS, "--root", str(base), *options]) == code
        out, err = capfd.readouterr()
        assert "Nothing dangerous" in out
        assert "GitHub says 503" in one_line(err)


def test_fail_on_counts_rules_at_stake_until_they_are_acknowledged(github: GitHub, base: Path) -> None:
    args = [*ARGS, "--root", str(base), "--fail-on"]
    assert main([*args, "never"]) == 0
    assert main([*args, "error"]) == 1
    github.permissions["bob"] = "write"
    github.add_comment("/rulebook ack R-1 because tried", "bob")
    assert main([*args, "error"]) == 0
    github.pulls[7].files = [api_file("src/a.py", "more danger()")]
    github.pulls[7].head = "e" * 40
    assert main([*args, "error"]) == 1


def test_the_token_is_in_no_message_however_github_answers(github: GitHub, base: Path, capfd: Any) -> None:
    github.errors.append(Error(400, f"bad credentials {TOKEN}", method="POST"))
    assert main([*ARGS, "--root", str(base)]) == 3
    out, err = capfd.readouterr()
    assert TOKEN not in out + err
    assert "bad credentials ***" in err


def test_no_server(base: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr("rulebook.bot.client.MAX_RETRIES", 0)
    assert main([*ARGS, "--root", str(base)]) == 3
    assert "cannot be reached" in capfd.readouterr().err


def test_files_and_annotations(github: GitHub, base: Path, tmp_path: Path, capfd: Any) -> None:
    names = {word: tmp_path / f"out/{word}" for word in ("json", "md", "sarif")}
    options = [f"--write={word}={name}" for word, name in names.items()]
    assert main([*ARGS, "--root", str(base), *options, "--write", "github=-"]) == 0
    assert json.loads(names["json"].read_text())["rules"][0]["id"] == "R-1"
    assert json.loads(names["sarif"].read_text())["version"] == "2.1.0"
    assert "R\\-1" in names["md"].read_text()
    assert "::error file=src/a.py,line=1,title=R-1 (direct)::Nothing dangerous.\n" in capfd.readouterr().out


def test_the_summary_shares_its_room_with_what_is_there(
    github: GitHub, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.pulls[7].files = [api_file(f"docs/{n:04}-{'x' * 200}.md", "x") for n in range(3000)]
    summary = tmp_path / "summary.md"
    summary.write_bytes(b"." * ((1 << 20) - 100_000))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    github.add_comment("<!-- rulebook:comment -->\n", "github-actions[bot]")
    main([*ARGS, "--root", str(base)])
    size = os.path.getsize(summary)
    assert (1 << 20) - 500 < size <= 1 << 20
    assert "left out for want of room" in summary.read_text()[-3000:]
    body = github.by()[0]["body"]
    assert len(body.encode()) <= 65_536
    assert "left out for want of room, see the job's summary" in body


def test_the_title_and_the_rule_s_text_are_not_repeated(github: GitHub, base: Path) -> None:
    github.pulls[7].title = "fixes #1 @octocat"
    (base / "rules/R-1.md").write_text((base / "rules/R-1.md").read_text() + "\n## Why\n\nping @octocat, fixes #1\n")
    main([*ARGS, "--root", str(base)])
    assert "octocat" not in github.by()[0]["body"]


def test_without_the_client_library_it_says_what_to_install(
    base: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setitem(sys.modules, "githubkit", None)
    assert main([*ARGS, "--root", str(base)]) == 3
    assert "pip install '.[bot]'" in one_line(capfd.readouterr().err)


def test_a_locked_conversation(github: GitHub, base: Path, capfd: Any) -> None:
    github.locked = True
    assert main([*ARGS, "--root", str(base)]) == 3
    assert "unlock the conversation" in one_line(capfd.readouterr().err)


def test_a_pull_request_closed_meanwhile(github: GitHub, base: Path, capfd: Any) -> None:
    def close(method: str, path: str) -> None:
        if path.endswith("/files"):
            github.pulls[7].state = "closed"

    github.before = close
    assert main([*ARGS, "--root", str(base)]) == 0
    assert "is closed, so nothing was written" in capfd.readouterr().err
    assert not github.comments


def test_the_waiver_check_of_a_real_policy_fails_the_job_and_is_in_the_comment(
    github: GitHub, capfd: Any, repo: Any
) -> None:
    github.repository = "SemiAnalysisAI/InferenceX"
    github.pulls[7].origin = github.repository
    line = "sed -i 's/a/b/' /usr/local/lib/python3.12/dist-packages/vllm/config.py"
    github.pulls[7].files = [api_file("benchmarks/single_node/dsr1_fp8_h200.sh", "#!/bin/bash", line)]
    args = ["comment", "--pr", "7", "--repository", github.repository, "--root", str(ROOT)]
    assert main([*args, "--fail-on", "error"]) == 1
    body = github.by()[0]["body"]
    assert "**FAIL" in body
    assert "IX\\-P1" in body
    assert main([*args, "--fail-on", "never"]) == 0
