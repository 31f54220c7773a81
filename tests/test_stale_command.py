"""The commands `stale`, `repin`, `sync` and `retire` as people and programs call them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from basekit import CONFIG, pin, target, write_rule
from gitrepo import GitRepo
from rulebook.cli import main
from rulebook.render import stale

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def base(tmp_path: Path) -> tuple[Path, GitRepo, str]:
    repo, old = target(tmp_path)
    write_rule(tmp_path / "kb", "R-1", [pin(old, "gone.py"), pin(old, "same.py")])
    write_rule(tmp_path / "kb", "R-2", [pin(old, "old.txt"), pin(old, "edited.py#edited"), "unknown"])
    return tmp_path / "kb", repo, old


@pytest.fixture
def run(
    base: tuple[Path, GitRepo, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Run:
    """Runs a command on the knowledge base; returns exit code, output and notes."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))

    def call(*args: str, clone: bool = True) -> tuple[int, str, str]:
        where = ["--checkout", f"target={base[1].path}"] if clone else []
        code = main([*args, "--root", str(base[0]), *where])
        return (code, *capfd.readouterr())

    return call


# --- stale ------------------------------------------------------------------------------------


def test_json_is_as_promised(base: tuple[Path, GitRepo, str], run: Run) -> None:
    _, repo, old = base
    code, out, _ = run("stale", "--format", "json")
    data = json.loads(out)
    assert code == 1
    assert (data["version"], data["head"]) == (1, {"target": repo.id("main")})
    assert data["examined"]["rules"] == 2
    assert data["examined"]["pins"] == 5
    found = {(pin["owner"], pin["pin"].partition(":")[2]): pin for pin in data["pins"]}
    assert {key: (value["state"], value["detail"], value["now"]) for key, value in found.items()} == {
        ("R-1", "gone.py"): ("gone", None, None),
        ("R-2", "old.txt"): ("moved", None, "new.txt"),
        ("R-2", "edited.py#edited"): ("changed", "body", None),
        ("R-2", ""): ("unverifiable", None, None),
        ("R-1", "same.py"): ("fresh", None, None),
    }
    assert all(value["because"] for value in found.values())
    assert data["summary"] == {"gone": 1, "invalid": 0, "moved": 1, "changed": 1, "unverifiable": 1, "fresh": 1}
    assert found["R-1", "gone.py"]["pin"] == pin(old, "gone.py")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 1),
        (["--fail-on", "never"], 0),
        (["R-2"], 0),
        (["R-2", "--fail-on", "moved"], 1),
        (["R-2", "--path", "*.py"], 0),
        (["R-2", "--path", "*.py", "--fail-on", "changed"], 1),
        (["--path", "same.py", "--fail-on", "unverifiable"], 0),
        (["R-9"], 2),
        (["--repo", "nowhere"], 2),
        (["--since", "nonsense"], 2),
        (["--checkout", "nowhere=."], 2),
        (["--checkout", "target"], 2),
        (["--checkout", "target=/nowhere"], 3),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "md", "sarif"])
def test_exit_codes_do_not_depend_on_the_format(run: Run, arguments: list[str], code: int, form: str) -> None:
    assert run("stale", *arguments, "--format", form, clone="--checkout" not in arguments)[0] == code


def test_text_says_the_worst_first_and_what_was_examined(base: tuple[Path, GitRepo, str], run: Run) -> None:
    _, out, err = run("stale")
    lines = out.splitlines()
    heads = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    assert heads[:2] == ["R-1", "R-2"]
    assert [word for word in heads if word in ("gone", "moved", "changed", "unverifiable", "fresh")] == [
        "gone",
        "moved",
        "changed",
        "unverifiable",
    ]
    assert "5 pins of 2 documents (2 rules) examined: 1 gone, 1 moved, 1 changed, 1 unverifiable, 1 fresh" in out
    assert f"target: against {base[1].id('main')[:12]} (refs/heads/main)" in out
    assert err == ""
    assert "fresh (1)" in run("stale", "--all")[1]


def test_without_a_clone_it_says_so_and_does_not_fail(run: Run) -> None:
    code, out, err = run("stale", clone=False)
    assert code == 0
    assert "not looked at" in out
    assert "rulebook sync target" in err
    assert "fresh" not in out
    assert run("stale", "--quiet", clone=False)[2] == ""


def test_retired_rules_are_history(base: tuple[Path, GitRepo, str], run: Run) -> None:
    path = base[0] / "rules" / "R-1.md"
    path.write_text(path.read_text().replace("status: active", "status: retired"))
    assert run("stale")[0] == 0
    assert run("stale", "--all")[0] == 1
    assert run("stale", "R-1")[0] == 1


def test_foreign_text_is_harmless(base: tuple[Path, GitRepo, str], run: Run) -> None:
    root, _, old = base
    name = "a\x1b[31m`b`|@everyone <!-- #1.txt"
    path = write_rule(root, "R-3", [])
    path.write_text(path.read_text().replace("sources: []\n", f"sources:\n  - {json.dumps(pin(old, name))}\n"))
    for form in ("text", "md"):
        _, out, err = run("stale", "R-3", "--format", form)
        assert "\x1b" not in out + err
    assert "a\\\\x1b" in out or "\\x1b" in out
    assert "| `R-3`" in out


SARIF_SCHEMA: dict[str, Any] = {
    # The parts of the SARIF 2.1.0 schema that apply here: https://json.schemastore.org/sarif-2.1.0.json
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"enum": ["2.1.0"]},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {"type": "object", "required": ["id"]},
                                    }
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "properties": {
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"type": "object", "required": ["text"]},
                                "partialFingerprints": {"additionalProperties": {"type": "string"}},
                                "locations": {
                                    "items": {
                                        "properties": {
                                            "physicalLocation": {
                                                "properties": {
                                                    "region": {
                                                        "properties": {"startLine": {"type": "integer", "minimum": 1}}
                                                    }
                                                }
                                            }
                                        }
                                    }
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


def test_sarif(base: tuple[Path, GitRepo, str], run: Run) -> None:
    _, out, _ = run("stale", "--format", "sarif")
    log = json.loads(out)
    jsonschema.validate(log, SARIF_SCHEMA)
    [sarif_run] = log["runs"]
    results = sarif_run["results"]
    known = {rule["id"] for rule in sarif_run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in results} == {
        "source-gone",
        "source-moved",
        "source-changed",
        "source-unverifiable",
    }
    assert {result["ruleId"] for result in results} <= known
    assert len({result["partialFingerprints"]["rulebook/v1"] for result in results}) == len(results) == 4
    place = results[0]["locations"][0]["physicalLocation"]
    text = (base[0] / place["artifactLocation"]["uri"]).read_text().splitlines()
    assert "gone.py" in text[place["region"]["startLine"] - 1]


def test_markdown_is_an_issue_with_tasks(run: Run) -> None:
    _, out, _ = run("stale", "--format", "md")
    assert "| `R-1` | 2 | 1 |" in out
    assert out.count("- [ ] ") == 3


def test_rules_without_a_source_are_named(base: tuple[Path, GitRepo, str], run: Run) -> None:
    write_rule(base[0], "R-3", [])
    _, out, _ = run("stale")
    assert "5 pins of 2 documents (2 rules) examined" in out
    assert "1 rule names no source: R-3" in out.splitlines()
    _, out, _ = run("stale", "R-3")
    assert out.startswith("0 pins of 0 documents (0 rules) examined: none\n")
    assert "1 rule names no source: R-3" in out.splitlines()
    write_rule(base[0], "R-10", [])
    data = json.loads(run("stale", "--format", "json")[1])
    assert data["examined"]["without_source"] == ["R-10", "R-3"]
    assert "2 rules name no source&#58; R-3, R-10" in run("stale", "--format", "md")[1].replace("\\", "")


# --- repin ------------------------------------------------------------------------------------


def test_repin_shows_and_writes_only_when_told(base: tuple[Path, GitRepo, str], run: Run) -> None:
    root, repo, old = base
    path = root / "rules" / "R-2.md"
    before = path.read_text()
    code, out, err = run("repin", "R-2")
    assert code == 0
    assert "-    return 1" in out
    assert "nothing was written" in err
    assert path.read_text() == before
    code, _, err = run("repin", "R-2", "--yes")
    assert code == 0
    assert "rules/R-2.md was written" in err
    assert path.read_text() == before.replace(old, repo.id("main")).replace(":old.txt", ":new.txt")
    assert "no pin to renew" in run("repin", "R-2", "--yes")[2]


def test_repin_writes_nothing_for_an_id_that_two_files_have(base: tuple[Path, GitRepo, str], run: Run) -> None:
    path = base[0] / "rules" / "R-2.md"
    before = path.read_bytes()
    (base[0] / "rules" / "R-3.md").symlink_to(path)
    code, out, err = run("repin", "R-2", "--yes")
    assert (code, out) == (2, "")
    assert "rules/R-2.md:1, rules/R-3.md:1" in err
    assert path.read_bytes() == before


def test_repin_says_first_how_much_it_can_renew(
    base: tuple[Path, GitRepo, str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb, repo, old = base
    lines = run("repin", "R-2")[1].splitlines()
    assert lines[0] == "2 pins can be renewed, 1 cannot"
    # Pins are short, so that they do not fill a line of a terminal; what is written is whole.
    assert f"    now target@{repo.id('main')[:12]}:new.txt" in lines
    assert [line[:24] for line in lines if line.startswith("  moved")] == [f"  moved  target@{old[:8]}"]
    assert run("repin", "R-1")[1].splitlines()[0] == "No pin can be renewed: 1 pin cannot"
    write_rule(kb, "R-3", [pin(old, "same.py")])
    assert run("repin", "R-3")[1] == "No pin has to be renewed\n"
    monkeypatch.setattr(stale, "_SHOWN_DIFF", 2)
    assert re.search(r"\n {4}and \d+ more lines of this diff\n", run("repin", "R-2")[1])


def test_repin_refuses_a_dirty_file(base: tuple[Path, GitRepo, str], run: Run) -> None:
    GitRepo(base[0])
    code, _, err = run("repin", "R-2", "--yes")
    assert code == 3
    assert "is not committed" in err


# --- sync and retire --------------------------------------------------------------------------


def test_sync_then_stale_without_naming_a_clone(base: tuple[Path, GitRepo, str], run: Run) -> None:
    root, repo, _ = base
    (root / "rulebook.toml").write_text(CONFIG.replace("https://example.invalid/owner/target", repo.path.as_uri()))
    code, out, _ = run("sync", "--timeout", "20", clone=False)
    assert code == 0
    assert repo.id("main")[:12] in out
    code, out, _ = run("stale", "--format", "json", clone=False)
    assert code == 1
    assert json.loads(out)["summary"] == {
        "gone": 1,
        "invalid": 0,
        "moved": 1,
        "changed": 1,
        "unverifiable": 1,
        "fresh": 1,
    }


def test_sync_fetches_before_there_is_a_rule(base: tuple[Path, GitRepo, str], run: Run) -> None:
    root, repo, _ = base
    shutil.rmtree(root / "rules")
    (root / "rulebook.toml").write_text(CONFIG.replace("https://example.invalid/owner/target", repo.path.as_uri()))
    code, out, _ = run("sync", "--timeout", "20", clone=False)
    assert code == 0
    assert repo.id("main")[:12] in out


def test_sync_has_nothing_to_do_without_rules_and_urls(base: tuple[Path, GitRepo, str], run: Run) -> None:
    shutil.rmtree(base[0] / "rules")
    (base[0] / "rulebook.toml").write_text("[repos.target]\n")
    code, _, err = run("sync", clone=False)
    assert code != 0
    assert "is empty" in err


def test_sync_goes_on_behind_a_repository_that_fails(
    base: tuple[Path, GitRepo, str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rulebook.sync._ATTEMPTS", 1)
    root, repo, _ = base
    (root / "rulebook.toml").write_text(
        f'[repos.bad]\nurl = "file:///nowhere/at/all"\n\n[repos.target]\nurl = "{repo.path.as_uri()}"\n'
    )
    code, out, err = run("sync", clone=False)
    assert code == 3
    assert "bad: git fetch failed" in err
    assert out.startswith("target: ")
    assert run("sync", "nowhere", clone=False)[0] == 2


@pytest.mark.parametrize("pattern", ["[", "", "{a", "../x", "a,b", "!src/a.py", "src//a.py", "a\\"])
def test_a_pattern_that_can_match_nothing_is_a_usage_error(run: Run, pattern: str) -> None:
    code, out, err = run("stale", "--path", pattern)
    assert (code, out) == (2, "")
    assert f"the pattern {pattern!r} cannot be used: " in " ".join(err.split())


def test_patterns_that_only_say_more_than_they_need_are_taken(run: Run) -> None:
    assert run("stale", "--path", "src/**", "--path", "src/a.py", "--path", "src/a.py")[0] in (0, 1)


def test_retire(base: tuple[Path, GitRepo, str], run: Run) -> None:
    code, _, err = run("retire", "R-1", "--because", "It is over.", "--superseded-by", "R-2", clone=False)
    assert code == 0
    assert "rules/R-1.md was written" in err
    text = (base[0] / "rules" / "R-1.md").read_text()
    assert "status: superseded\n" in text
    assert "superseded_by: [R-2]\n" in text
    assert run("retire", "R-1", "--because", "Again.", clone=False)[0] == 2
    assert run("retire", "R-2", clone=False)[0] == 2
