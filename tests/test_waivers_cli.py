"""The four commands, end to end on a real repository and a real knowledge base."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gitrepo import GitRepo
from rulebook.cli.waiver import app
from rulebook.errors import GitError, NoKnowledgeBase, RulebookError, UnreadableInput, UsageError
from waiverkit import CLEAN, ENLARGED, PATCH, REANCHORED, RULE, WAIVER, knowledge_base, target


@pytest.fixture
def place(tmp_path, monkeypatch):
    repo = target(tmp_path, {"scripts/old.sh": PATCH})
    root = knowledge_base(tmp_path)
    monkeypatch.chdir(root)
    return repo, root


def run(place, *args, code=0, input=None, err=False):
    repo, _ = place
    result = CliRunner().invoke(app, [args[0], "--checkout", f"bench={repo.path}", *args[1:]], input=input)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output if err else result.stdout


def test_check_in_json_keeps_to_the_contract(place):
    place[0].commit({"scripts/m3.sh": PATCH, "docs/waiver/7.md": WAIVER})
    data = json.loads(run(place, "check", "--pr", "7", "--git", "HEAD~1..HEAD", "--format", "json"))
    assert (data["version"], data["verdict"], data["pr"]) == (1, "pass", 7)
    (patch,) = data["patches"]
    assert {key: patch[key] for key in ("path", "line", "kind", "target", "covered_by", "status")} == {
        "path": "scripts/m3.sh",
        "line": 3,
        "kind": "source-rewrite",
        "target": "vllm",
        "covered_by": "docs/waiver/7.md",
        "status": "waived",
    }
    assert patch["sure"] == "certain"
    assert patch["end_line"] == 13
    assert data["findings"] == []
    assert data["signoff"].startswith("Patches (ENG-1): vllm in scripts/m3.sh")


@pytest.mark.parametrize("command", [["check", "--pr", "7", "--git", "HEAD"], ["audit"], ["baseline"]], ids=" ".join)
def test_the_knowledge_base_is_not_checked_in_place_of_its_target(tmp_path, monkeypatch, command):
    root = knowledge_base(tmp_path)
    own = GitRepo(root)
    own.commit({"notes.txt": ""})
    own.git("remote", "add", "origin", "git@example.invalid:owner/rules.git")
    monkeypatch.chdir(root)
    with pytest.raises(UsageError, match="not 'bench'") as caught:
        CliRunner().invoke(app, command, catch_exceptions=False)
    assert "--checkout bench=DIR" in caught.value.hint


def test_a_pass_that_looked_at_no_file_says_so(place):
    place[0].commit({"README.md": "text\n"})
    arguments = ("check", "--pr", "7", "--git", "HEAD~1..HEAD")
    assert "ENG-1 does not cover the changed path; is this a change of bench?" in run(place, *arguments, err=True)
    place[0].commit({"README.md": "more\n", "LICENSE": "text\n"})
    assert "ENG-1 does not cover any of the 2 changed paths" in run(place, *arguments, err=True)
    place[0].commit({"README.md": "less\n", "scripts/m4.sh": "#!/bin/sh\n"})
    assert "note" not in run(place, *arguments, err=True)


def test_a_failing_check_exits_with_1_and_says_what_to_do(place):
    place[0].commit({"scripts/m3.sh": PATCH})
    data = json.loads(run(place, "check", "--pr", "7", "--git", "HEAD", "--format", "json", code=1))
    assert data["verdict"] == "fail"
    assert {"code", "severity", "message", "path", "line"} <= data["findings"][0].keys()
    text = run(place, "check", "--pr", "7", "--git", "HEAD", code=1)
    assert text.startswith("FAIL (ENG-1, PR #7): source-rewrite of vllm at scripts/m3.sh:3")
    (missing,) = [finding for finding in data["findings"] if finding["code"] == "waiver-missing"]
    repo, _ = place
    assert missing["remedy"] == f"draft it: rulebook waiver new --pr 7 --git HEAD --checkout bench={repo.path}"
    assert [step["command"] for step in data["next"]] == [
        f"rulebook waiver new --pr 7 --git HEAD --checkout bench={repo.path}",
        None,
        "git add docs/waiver/7.md && git commit && git push",
        f"rulebook waiver check --pr 7 --git {repo.id('HEAD~1')[:12]}...HEAD --checkout bench={repo.path}",
    ]
    for step in data["next"]:
        assert step["text"] in text
        assert step["command"] is None or step["command"] in text
    assert "rulebook show ENG-1" in text
    assert "| target.write_text(src.replace(old, new, 1))" in text
    markdown = run(place, "check", "--pr", "7", "--git", "HEAD", "--format", "md", code=1)
    assert "| `scripts/m3.sh:3-13` | source-rewrite | vllm | unwaived |" in markdown
    assert f"4. Check again: `{data['next'][3]['command']}`" in markdown


def test_check_reads_a_diff_from_stdin(place):
    place[0].commit({"scripts/m3.sh": PATCH})
    diff = place[0].git("diff", "HEAD~1", "HEAD")
    data = json.loads(run(place, "check", "--pr", "#7", "--diff", "-", "--format", "json", code=1, input=diff))
    assert [patch["status"] for patch in data["patches"]] == ["unwaived"]


def test_control_characters_are_shown_harmless(place):
    place[0].commit({"scripts/m3.sh": "sed -i s/a/b/ /x/dist-packages/vllm/a.py # \x1b[31m\n"})
    assert "\x1b" not in run(place, "check", "--pr", "7", "--git", "HEAD", code=1)


def test_draft_fill_in_and_pass(place, monkeypatch):
    repo, _ = place
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit(
        {
            "scripts/m3.sh": PATCH,
            "scripts/run.sh": "bash scripts/m3.sh\n",
            "configs/master.yaml": "m3-b200-vllm:\n  image: vllm/vllm-openai:v0.9.1\n  runner: b300\n",
        }
    )
    out = repo.path / "docs" / "waiver"
    monkeypatch.chdir(repo.path)
    shown = run(place, "new", "--pr", "7", "--today", "2026-06-01", "--root", str(place[1]), err=True)
    assert shown.startswith("note: the change is main...HEAD of ")
    assert "5 things are left to write" not in shown
    assert "4 things are left to write" in shown
    assert "docs/waiver/7.md\n" in shown
    monkeypatch.chdir(place[1])
    draft = (out / "7.md").read_text()
    for piece in (
        "path: scripts/m3.sh",
        "- vllm/models/m3.py",
        "- scripts/run.sh",
        "- m3-b200-vllm",
        "created: 2026-06-01",
        "vllm/vllm-openai:v0.9.1",
        "lines 3-13 (source-rewrite of vllm)",
    ):
        assert piece in draft
    repo.commit({"docs/waiver/7.md": draft})
    unfilled = json.loads(run(place, "check", "--pr", "7", "--git", "main...HEAD", "--format", "json", code=1))
    lines = draft.splitlines()
    missing = [f for f in unfilled["findings"] if f["code"] != "patch-unwaived"]
    assert {(f["code"], f["path"]) for f in missing} == {("waiver-template", "docs/waiver/7.md")}
    # Each field that is not filled in, with its line, and the notice that says so at the top.
    written = [f for f in missing if f["message"].startswith("still to be written under ")]
    assert [f["line"] for f in written] == [n for n, text in enumerate(lines, 1) if text.startswith("<!-- write:")]
    assert written[1]["message"] == (
        "still to be written under 'Why': what happens with the unmodified image: the error, the wrong result"
    )
    notice = next(n for n, text in enumerate(lines, 1) if "TODO" in text)
    assert notice < written[0]["line"]
    assert [f["line"] for f in missing if f["message"] == "'TODO' is left of the template"] == [notice]
    assert unfilled["next"][0]["text"].startswith(f"Complete docs/waiver/7.md, lines {notice}, ")
    prose = iter(
        [
            "The slice is made contiguous; nothing else changes.",
            "The server stops at the first request, since the kernel refuses the slice.",
            "https://github.com/vllm-project/vllm/pull/45546",
            "The image moves to the first release that has the change.",
        ]
    )
    filled = "\n".join(
        next(prose) if line.startswith("<!-- write:") else line
        for line in draft.split("\n")
        if not line.startswith(">")
    )
    repo.commit({"docs/waiver/7.md": filled})
    assert json.loads(run(place, "check", "--pr", "7", "--git", "main...HEAD", "--format", "json"))["findings"] == []
    assert json.loads(run(place, "audit", "--format", "json", code=1))["waivers"][0]["state"] == "in force"


def test_a_draft_in_the_knowledge_base_lints_clean_once_it_is_filled_in(place):
    from rulebook.catalog import load
    from rulebook.model import Severity
    from rulebook.validate import validate
    from rulebook.waivers.lint import lint_waivers

    _, root = place
    run(place, "new", "--pr", "7", "--empty")
    file = root / "waivers" / "bench" / "7.md"

    def findings():
        catalog = load(str(root))
        found = [*validate(catalog), *lint_waivers(catalog.documents, catalog.config)]
        return [finding for finding in found if finding.location.path.startswith("waivers/")]

    before = findings()
    assert {finding.code for finding in before} >= {"waiver-template", "waiver-part"} or before
    assert all(finding.severity is not Severity.ERROR for finding in before)
    text = file.read_text()
    lines = [
        line.replace(line[line.index("<!-- write:") :], "what is so, see https://github.com/vllm-project/vllm/issues/1")
        if "<!-- write:" in line
        else line
        for line in text.split("\n")
        if not line.startswith(">")
    ]
    file.write_text("\n".join(lines))
    assert findings() == []


def test_a_draft_never_overwrites(place):
    run(place, "new", "--pr", "7", "--empty")
    file = place[1] / "waivers" / "bench" / "7.md"
    file.write_text("mine")
    with pytest.raises(UsageError, match="exists, and is left as it is"):
        run(place, "new", "--pr", "7", "--empty")
    assert file.read_text() == "mine"


def test_audit_lists_patches_and_waivers(place):
    repo, _ = place
    repo.commit({"scripts/m3.sh": PATCH, "docs/waiver/7.md": WAIVER, "docs/waiver/README.md": "x"})
    data = json.loads(run(place, "audit", "--format", "json", "--today", "2026-06-01", code=1))
    assert [(p["path"], p["status"], p["covered_by"]) for p in data["patches"]] == [
        ("scripts/m3.sh", "waived", "docs/waiver/7.md"),
        ("scripts/old.sh", "unwaived", None),
    ]
    assert [(w["pr"], w["state"]) for w in data["waivers"]] == [(7, "in force")]
    assert json.loads(run(place, "audit", "--at", "HEAD~1", "--format", "json", code=1))["waivers"] == []
    text = run(place, "audit", code=1)
    assert text.startswith(f"FAIL (ENG-1, bench at {data['at'][:12]}): 1 patch without a waiver\n")
    assert "2 patches (1 waived, 0 grandfathered, 1 unwaived)" in text
    assert "\n  waived scripts/m3.sh  1 patch of vllm  by docs/waiver/7.md\n" in text
    # What nothing excuses comes first, and with its evidence.
    assert text.index("| target.write_text") < text.index("in force") < text.index("waived scripts/m3.sh  1 patch")
    late = run(place, "audit", "--today", "2026-06-01", "--format", "md", code=1)
    assert late.startswith("**FAIL \\(ENG\\-1, bench at ")
    assert "| `scripts/old.sh:3-13` |" in run(place, "audit", "--format", "md", code=1)


def test_a_baseline_grandfathers_shrinks_and_never_grows_unseen(place):
    repo, root = place
    file = root / "waivers" / "bench" / "baseline.json"
    assert "1 patches of bench" in run(place, "baseline", "--at", "HEAD")
    audited = run(place, "audit")
    assert audited.startswith("PASS (ENG-1, bench at ")
    assert "1 patch, all of them excused\n" in audited.splitlines(keepends=True)[0]
    assert "  grandfathered scripts/old.sh  1 patch of vllm\n" in audited
    before = file.read_text()

    repo.commit({"scripts/old.sh": REANCHORED})
    assert (
        json.loads(run(place, "check", "--pr", "8", "--git", "HEAD", "--format", "json"))["patches"][0]["status"]
        == "grandfathered"
    )
    repo.commit({"scripts/old.sh": ENLARGED})
    run(place, "check", "--pr", "9", "--git", "HEAD", code=1)
    assert "? scripts/old.sh:3" in run(place, "baseline", "--at", "HEAD", code=1)
    assert file.read_text() == before

    repo.commit({"scripts/old.sh": PATCH, "scripts/new.sh": "sed -i 3d /x/dist-packages/vllm/a.py\n"})
    assert "? scripts/new.sh:1" in run(place, "baseline", "--at", "HEAD", code=1)
    run(place, "baseline", "--at", "HEAD", "--prune")
    assert [entry["path"] for entry in json.loads(file.read_text())["patches"]] == ["scripts/old.sh"]
    assert "+ scripts/new.sh:1" in run(place, "baseline", "--at", "HEAD", "--grow")
    repo.commit({"scripts/old.sh": CLEAN})
    assert "- scripts/old.sh" in run(place, "baseline", "--at", "HEAD", "--prune")
    assert [entry["path"] for entry in json.loads(file.read_text())["patches"]] == ["scripts/new.sh"]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["check", "--git", "HEAD"], UsageError),
        (["check", "--pr", "PENDING", "--git", "HEAD"], UsageError),
        (["check", "--pr", "-1", "--git", "HEAD"], UsageError),
        (["check", "--pr", "7"], UsageError),
        (["check", "--pr", "7", "--git", "HEAD", "--diff", "x"], UsageError),
        (["check", "--pr", "7", "--git", "no-such-branch"], GitError),
        (["check", "--pr", "7", "--diff", "no-such-file"], UnreadableInput),
        (["check", "--pr", "7", "--git", "HEAD", "--repo", "other"], UsageError),
        (["check", "--pr", "7", "--git", "HEAD", "--root", "/"], NoKnowledgeBase),
        (["audit", "--at", "no-such-commit"], GitError),
        (["audit", "--today", "tomorrow"], UsageError),
        (["baseline", "--prune"], UsageError),
        (["baseline", "--prune", "--grow"], UsageError),
        (["new", "--pr", "0"], UsageError),
        (["new", "--pr", "7"], UsageError),
        (["new", "--pr", "7", "--git", "HEAD~1..HEAD~1"], GitError),
        (["new", "--pr", "7", "--git", "HEAD..HEAD"], UsageError),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_run_says_so(place, args, error):
    with pytest.raises(error) as caught:
        run(place, *args)
    assert caught.value.message
    assert "\n" not in caught.value.message


def test_a_damaged_baseline_stops_the_run(place):
    file = place[1] / "waivers" / "bench" / "baseline.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    with pytest.raises(UnreadableInput):
        run(place, "check", "--pr", "7", "--git", "HEAD")


def test_a_baseline_outside_of_the_knowledge_base_is_refused(place):
    rule = place[1] / "rules" / "bench" / "ENG-1.md"
    rule.write_text(RULE.replace("policy:\n", "policy:\n  baseline: ../../baseline.json\n"))
    with pytest.raises(RulebookError):
        run(place, "audit")


def test_the_application_knows_the_commands(place, capsys):
    from rulebook.cli import main

    repo, _ = place
    repo.commit({"scripts/m3.sh": PATCH})
    assert main(["waiver", "check", "--pr", "7", "--git", "HEAD", "--checkout", f"bench={repo.path}"]) == 1
    assert capsys.readouterr().out.startswith("FAIL (ENG-1, PR #7)")
    assert main(["waiver", "check", "--git", "HEAD"]) == 2


def test_a_baseline_excuses_nothing_in_a_change_from_before_it(place):
    repo, _ = place
    repo.commit({"scripts/m3.sh": PATCH})
    repo.commit({"README.md": "one more commit\n"})
    run(place, "baseline", "--at", "HEAD")
    introduced = json.loads(run(place, "check", "--pr", "7", "--git", "HEAD~1", "--format", "json", code=1))
    assert [patch["status"] for patch in introduced["patches"]] == ["unwaived"]
    repo.commit({"scripts/m3.sh": REANCHORED})
    touched = json.loads(run(place, "check", "--pr", "8", "--git", "HEAD", "--format", "json"))
    assert {patch["status"] for patch in touched["patches"]} <= {"grandfathered"}


def test_a_script_that_cannot_be_read_is_no_pass(place):
    """A NUL makes a file binary to git, and bash runs it all the same."""
    place[0].commit({"scripts/m3.sh": b"#!/bin/bash\nsed -i s/a/b/ /x/dist-packages/vllm/a.py\n# \0\n"})
    data = json.loads(run(place, "check", "--pr", "7", "--git", "HEAD", "--format", "json", code=1))
    assert data["verdict"] == "fail"
    assert [(f["code"], f["severity"]) for f in data["findings"]] == [("file-unread", "error")]


def test_a_draft_that_could_not_be_written_leaves_nothing(place, tmp_path):
    import os
    import resource
    import signal

    place[0].commit({"scripts/m3.sh": PATCH})
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
        with pytest.raises(RulebookError, match="cannot be written"):
            run(place, "new", "--pr", "7", "--git", "HEAD", "--out", str(tmp_path / "out"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(tmp_path / "out") == []


def test_a_draft_needs_a_change_with_a_patch_unless_told_otherwise(place, tmp_path):
    repo, root = place
    with pytest.raises(UsageError, match="the change is empty, so there is nothing to waive") as caught:
        run(place, "new", "--pr", "7")
    assert "--empty" in caught.value.hint
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.commit({"scripts/clean.sh": CLEAN})
    with pytest.raises(UsageError, match="the change introduces no patch"):
        run(place, "new", "--pr", "7")
    repo.git("branch", "--quiet", "-D", "main")
    with pytest.raises(UsageError, match="does not have the branch 'main'"):
        run(place, "new", "--pr", "7")
    result = CliRunner().invoke(app, ["new", "--pr", "7", "--root", str(root)])
    assert isinstance(result.exception, UsageError)
    assert "--git BASE...HEAD" in result.exception.hint
    assert not (root / "waivers").exists()
    run(place, "new", "--pr", "7", "--empty", "--out", str(tmp_path / "out"))
    text = (tmp_path / "out" / "7.md").read_text()
    for asked in ("the patch script's path", "the configuration's name", "the pinned image with its tag"):
        assert f"> - {asked}\n" in text
        assert f"<!-- write: {asked} -->" in text


def test_a_draft_goes_where_the_check_looks(place, tmp_path):
    """The clone's folder for waivers where it has a work tree; else the caller says, or the knowledge base keeps it."""
    repo, root = place
    repo.commit({"scripts/m3.sh": PATCH})
    assert run(place, "new", "--pr", "7", "--git", "HEAD").strip().endswith("bench/docs/waiver/7.md")
    assert (repo.path / "docs/waiver/7.md").is_file()
    diff = repo.git("diff", "HEAD~1", "HEAD")
    assert run(place, "new", "--pr", "7", "--diff", "-", input=diff).strip() == str(root / "waivers/bench/7.md")
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))
    result = CliRunner().invoke(app, ["check", "--checkout", f"bench={bare}", "--pr", "8", "--git", "HEAD"])
    assert f"rulebook waiver new --pr 8 --git HEAD --checkout bench={bare} --out docs/waiver\n" in result.output


def test_the_next_commands_repeat_how_the_check_was_asked(place, tmp_path, monkeypatch):
    repo, root = place
    repo.commit({"scripts/m3.sh": PATCH})
    diff = repo.git("diff", "HEAD~1", "HEAD")
    shown = run(place, "check", "--pr", "7", "--diff", "-", "--root", str(root), "--repo", "bench", code=1, input=diff)
    options = f"--repo bench --checkout bench={repo.path} --root {root}"
    assert f"git diff main... | rulebook waiver new --pr 7 --diff - {options} --out docs/waiver\n" in shown
    file = tmp_path / "a change.diff"
    file.write_bytes(diff if isinstance(diff, bytes) else diff.encode())
    shown = run(place, "check", "--pr", "7", "--diff", str(file), code=1)
    assert f"rulebook waiver check --pr 7 --diff '{file}' --checkout bench={repo.path}\n" in shown


@pytest.mark.parametrize(
    ("remote", "same"),
    [("git@github.com:acme/kb.git", False), ("https://example.invalid/acme/bench.git", True)],
    ids=["a-repository-of-its-own", "the-target-itself"],
)
def test_the_log_of_a_hosted_run_leads_to_the_knowledge_base(place, monkeypatch, remote, same):
    from gitrepo import GitRepo

    repo, root = place
    GitRepo(root).git("remote", "add", "origin", remote)
    repo.commit({"scripts/m3.sh": PATCH})
    monkeypatch.setenv("CI", "true")
    shown = run(place, "check", "--pr", "7", "--git", "HEAD~1...HEAD", code=1)
    clone = 'git clone https://github.com/acme/kb && export RULEBOOK_ROOT="$PWD"/kb\n'
    assert (clone in shown) is not same
    assert ("rulebook waiver new --pr 7 --git 'HEAD~1...HEAD'\n" in shown) is not same


@pytest.mark.parametrize(
    ("name", "command"),
    [("PENDING-m3.md", "git mv docs/waiver/PENDING-m3.md docs/waiver/7.md"), ("8.md", "git mv docs/waiver/8.md")],
)
def test_a_waiver_under_another_name_is_renamed(place, name, command):
    place[0].commit({"scripts/m3.sh": PATCH, f"docs/waiver/{name}": WAIVER})
    data = json.loads(run(place, "check", "--pr", "7", "--git", "HEAD", "--format", "json", code=1))
    assert data["next"][0]["command"].startswith(command)


def test_a_patch_that_the_waiver_does_not_name_is_named_next(place):
    place[0].commit({"scripts/m3.sh": PATCH, "docs/waiver/7.md": WAIVER})
    passed = json.loads(run(place, "check", "--pr", "7", "--git", "HEAD", "--format", "json"))
    assert passed["next"] == []
    place[0].git("reset", "--quiet", "--soft", "HEAD~1")
    place[0].commit({"scripts/second.sh": PATCH})
    data = json.loads(run(place, "check", "--pr", "7", "--git", "HEAD", "--format", "json", code=1))
    assert data["next"][0]["text"].startswith("Let docs/waiver/7.md state what it does not yet: scripts/second.sh")


@pytest.mark.parametrize(
    ("args", "input", "remedy"),
    [
        (["--git", "HEAD..HEAD"], None, "origin/main...HEAD"),
        (["--git", "HEAD...HEAD"], None, "origin/main...HEAD"),
        (["--diff", "-"], b"", "pipefail"),
        (["--diff", "-"], b"\n\n", "pipefail"),
    ],
    ids=["two-dots", "three-dots", "empty", "blank"],
)
def test_nothing_is_no_pass(place, args, input, remedy):
    data = json.loads(run(place, "check", "--pr", "7", *args, "--format", "json", "-q", code=1, input=input))
    assert (data["verdict"], data["signoff"]) == ("fail", None)
    (finding,) = data["findings"]
    assert (finding["code"], finding["severity"]) == ("change-empty", "error")
    assert remedy in finding["remedy"]
    shown = run(place, "check", "--pr", "7", *args, code=1, input=input, err=True)
    assert shown.startswith("note: the change is empty, so nothing was looked at\n")
    assert "FAIL (ENG-1, PR #7): the change is empty" in shown


def test_two_commits_of_the_same_tree_pass_and_say_so(place):
    repo, _ = place
    repo.commit({"scripts/m3.sh": PATCH})
    repo.commit({"scripts/m3.sh": None})
    shown = run(place, "check", "--pr", "7", "--git", "HEAD~2..HEAD", err=True)
    assert shown.startswith(
        "note: the change is empty, so nothing was looked at\nPASS (ENG-1, PR #7): the change is empty"
    )
    assert run(place, "check", "--pr", "7", "--git", "HEAD~2..HEAD", "-q", err=True).startswith("PASS")


def test_the_new_call_of_a_script_from_before_needs_a_waiver(place):
    repo, _ = place
    repo.commit({"scripts/other/run.sh": "bash ../old.sh\n"})
    data = json.loads(run(place, "check", "--pr", "7", "--git", "HEAD", "--format", "json", code=1))
    (patch,) = data["patches"]
    assert (patch["path"], patch["line"], patch["kind"], patch["target"]) == (
        "scripts/other/run.sh",
        1,
        "patch-script",
        "vllm",
    )
    assert patch["via"] == [{"path": "scripts/old.sh", "line": 3, "end_line": 13}]
    draft = Path(run(place, "new", "--pr", "7", "--git", "HEAD").strip()).read_text()
    assert "patches:\n  - path: scripts/old.sh\ncalled_from:\n  - scripts/other/run.sh\n" in draft
    assert "- Patch script: `scripts/old.sh`, which was there before\n" in draft
    assert "the patch script's path" not in draft


def test_long_lists_are_folded_in_text_and_whole_in_json(place):
    repo, _ = place
    line = "sed -i s/a{0}/b/ /usr/lib/python3/dist-packages/vllm/f{0}.py\n"
    repo.commit({f"scripts/s{number}.sh": line.format(number) for number in range(40)})
    text = run(place, "audit", code=1)
    assert "Unwaived (41)" in text
    assert "  and 16 more patches; --format json has them all\n" in text
    assert text.count("no waiver names it") == 25
    assert len(json.loads(run(place, "audit", "--format", "json", code=1))["patches"]) == 41
    checked = run(place, "check", "--pr", "7", "--git", "HEAD", code=1)
    assert "  and 15 more patches; --format json has them all\n" in checked
    run(place, "baseline")
    text = run(place, "audit")
    assert "Grandfathered (41)" in text
    assert "  and 31 more files; --format json has them all\n" in text


@pytest.mark.parametrize(
    ("given", "again"),
    [
        ("{patch}", "{patch}^...HEAD"),
        ("{base}..{patch}", "{base}..HEAD"),
        ("{base}...{patch}", "{base}...HEAD"),
        ("{base}..HEAD", "{base}..HEAD"),
        ("{base}..main", "{base}..main"),
        ("{base}..", "{base}.."),
        ("before...HEAD", "before...HEAD"),
        ("HEAD", "{short}...HEAD"),
        ("main", "{short}...HEAD"),
        ("v1", "{short}...HEAD"),
        ("HEAD~1..HEAD", "{short}..HEAD"),
        ("@~...", "{short}..."),
        ("main^..main", "{short}..main"),
        ("{base}..v1", "{base}..HEAD"),
        ("{base}..HEAD~0", "{base}..HEAD"),
    ],
    ids=[
        "a commit",
        "two dots",
        "three dots",
        "to HEAD",
        "to a branch",
        "open",
        "from a branch",
        "HEAD alone",
        "a branch alone",
        "a tag alone",
        "from a count",
        "from a count, open",
        "from a count of the branch",
        "to a tag",
        "to a count",
    ],
)
def test_the_check_that_comes_next_takes_in_the_waiver(place, given, again):
    repo = place[0]
    repo.git("branch", "--quiet", "before")
    ids = {"base": repo.id("HEAD"), "patch": repo.commit({"scripts/m3.sh": PATCH}), "short": repo.id("HEAD~1")[:12]}
    repo.git("tag", "v1")
    check = ("check", "--pr", "7", "--format", "json", "--git")
    data = json.loads(run(place, *check, given.format(**ids), code=1))
    words = shlex.split(data["next"][-1]["command"])
    said = words[words.index("--git") + 1]
    assert said == again.format(**ids)
    repo.commit({"docs/waiver/7.md": WAIVER})
    assert json.loads(run(place, *check, said))["verdict"] == "pass"
