"""SARIF and annotations: shape, limits, stable fingerprints; the schema and Microsoft's validator have the last word."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

from botkit import brief, change, match
from nodetools import MULTITOOL, SARIF_SCHEMA, tool
from rulebook.cli import main
from rulebook.cli.pages import web_address
from rulebook.model import AppliesReport, MissingCoChange, Reason, ReasonKind, Relevance, Severity, Side
from rulebook.render.github import MAX_PER_LEVEL, applies_annotations
from rulebook.render.sarif import applies_sarif
from test_bot_injection import STRINGS, poisoned

HELP = {"R-1": "https://docs.example/kb/rules/target/R-1/"}


def report(*rules: object, **more: object) -> AppliesReport:
    return brief(rules, **more).report  # type: ignore[arg-type]


def results(found: AppliesReport) -> list[dict[str, object]]:
    return applies_sarif(found, "0.1.0")["runs"][0]["results"]  # type: ignore[no-any-return]


def test_a_rule_is_a_descriptor_and_its_line_the_region() -> None:
    log = applies_sarif(report(match("R-1", line=12)), "0.1.0", help_addresses=HELP)
    (run,) = log["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["helpUri"], rule["defaultConfiguration"]) == ("R-1", HELP["R-1"], {"level": "warning"})
    (result,) = run["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("R-1", 0, "warning")
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "src/a.py"}, "region": {"startLine": 12}}


def test_possible_matches_are_notes_and_missing_co_changes_are_said() -> None:
    missing = (MissingCoChange(path="README.md", because=""),)
    direct, possible = results(
        report(match("R-1", missing_cochanges=missing), match("R-2", relevance=Relevance.POSSIBLE))
    )
    assert "README.md did not change along" in direct["message"]["text"]  # type: ignore[index]
    assert possible["level"] == "note"


def test_fingerprints_stay_while_lines_move_and_differ_otherwise() -> None:
    def prints(*rules: object) -> list[object]:
        return [result["partialFingerprints"] for result in results(report(*rules))]

    assert prints(match("R-1", line=3)) == prints(match("R-1", line=300))
    others = [match("R-2"), match("R-1", path="src/b.py"), match("R-1", text="x = 2")]
    assert len({json.dumps(p) for p in [*prints(match("R-1")), *prints(*others)]}) == 4


def test_evidence_of_the_old_side_points_at_no_line_of_the_new_one() -> None:
    old = Reason(kind=ReasonKind.LINE, path="gone file.py", side=Side.OLD, pattern="x", line=99, text="x")
    (result,) = results(report(match("R-1", reasons=(old,))))
    place = result["locations"][0]["physicalLocation"]  # type: ignore[index]
    assert place == {"artifactLocation": {"uri": "gone%20file.py"}, "region": {"startLine": 1}}


@pytest.mark.parametrize(("count", "left"), [(5000, 0), (5001, 1)])
def test_results_end_where_github_stops_showing_them(count: int, left: int) -> None:
    reasons = tuple(
        Reason(kind=ReasonKind.LINE, path=f"src/f{n}.py", side=Side.NEW, pattern="x", line=1, text="x")
        for n in range(count)
    )
    log = applies_sarif(report(match("R-1", reasons=reasons)), "0.1.0")
    (run,) = log["runs"]
    assert len(run["results"]) == min(count, 5000)
    notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert notes == ([f"{left} results were left out; 5000 is the most that is shown."] if left else [])
    assert len(json.dumps(log)) < 10 << 20


@pytest.mark.parametrize(("count", "hidden"), [(MAX_PER_LEVEL, 0), (MAX_PER_LEVEL + 1, 1), (45, 35)])
def test_annotations_end_where_github_drops_them(count: int, hidden: int) -> None:
    rules = [match(f"R-{n}", severity=Severity.ERROR) for n in range(count)]
    *shown, last = applies_annotations(report(*rules)).splitlines()
    assert len(shown) == MAX_PER_LEVEL
    assert all(line.startswith("::error file=src/a.py,line=10,title=R-") for line in shown)
    assert last == f"rulebook: {count} rules apply" + (f", {hidden} of them not annotated" if hidden else "")


def test_annotations_escape_what_separates_properties() -> None:
    text = applies_annotations(report(match("R-1", path="a,b:c%.py", title="50% :: done")))
    assert text.splitlines()[0] == "::warning file=a%2Cb%3Ac%25.py,line=10,title=R-1 (direct)::50%25 :: done."


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("git@github.com:owner/name.git", "https://github.com/owner/name"),
        ("https://user:secret@github.com/owner/name", "https://github.com/owner/name"),
        ("ssh://git@ghe.example:2222/owner/name.git", "https://ghe.example/owner/name"),
        ("/srv/git/name.git", ""),
        ("file:///srv/name", ""),
    ],
)
def test_remotes_become_addresses_without_credentials(remote: str, address: str) -> None:
    assert web_address(remote) == address


def test_formats_of_applies(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rulebook.toml").write_text('[repos.target]\nurl = "https://github.com/owner/target"\n')
    rule = "---\nid: R-1\ntitle: A title\nrepo: target\napplies_to: ['src/**']\nsources: []\n---\nText.\n"
    (tmp_path / "rules/R-1.md").write_text(rule)
    args = ["applies", "--root", str(tmp_path), "src/a.py", "--site", "https://docs.example", "--format"]
    assert main([*args, "sarif"]) == 0
    log = json.loads(capfd.readouterr().out)
    assert log["runs"][0]["tool"]["driver"]["rules"][0]["helpUri"] == "https://docs.example/rules/target/R-1/"
    assert main([*args, "github"]) == 0
    assert capfd.readouterr().out.startswith("::warning file=src/a.py,title=R-1 (direct)::A title.\n")


def samples() -> list[AppliesReport]:
    many = [match(f"R-{n}", path=f"src/f{n}.py", severity=Severity.ERROR) for n in range(300)]
    found = [poisoned(text, place).report for text in STRINGS for place in ("id", "title", "path", "diff", "pattern")]
    return [report(), report(*many), report(match("R-1"), complete=False, notes=("A note.",)), *found]


@pytest.mark.slow
def test_the_schema_accepts_every_log() -> None:
    schema = json.loads(tool(SARIF_SCHEMA).read_text(encoding="utf-8-sig"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    for found in samples():
        validator.validate(json.loads(json.dumps(applies_sarif(found, "0.1.0", help_addresses=HELP))))


@pytest.mark.slow
def test_the_multitool_reports_no_error(tmp_path: Path) -> None:
    program = tool(MULTITOOL)
    # npm runs no install scripts where they are not allowed, and this one's only makes the program executable.
    program.chmod(program.stat().st_mode | 0o100)
    log = applies_sarif(
        report(
            *(match(f"R-{n}", path=f"src/f{n}.py", line=n + 1) for n in range(20)),
            match("S-1", relevance=Relevance.POSSIBLE),
            files=[change("src/a.py", "x = 1")],
        ),
        "0.1.0",
        help_addresses={f"R-{n}": f"https://docs.example/R-{n}/" for n in range(20)},
    )
    (tmp_path / "log.sarif").write_text(json.dumps(log))
    done = subprocess.run(
        [program, "validate", "log.sarif", "--output", "out.sarif", "--level", "Error;Warning;Note"],
        cwd=tmp_path,
        env={
            **os.environ,
            "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",
            "DOTNET_BUNDLE_EXTRACT_BASE_DIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (tmp_path / "out.sarif").exists(), done.stdout + done.stderr
    found = json.loads((tmp_path / "out.sarif").read_text(encoding="utf-8-sig"))["runs"][0]["results"]
    errors = [r for r in found if r.get("level", "warning") == "error"]
    assert not errors, errors
    assert done.returncode == 0, done.stdout + done.stderr
