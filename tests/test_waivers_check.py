"""Coverage: which waiver excuses which patch, and what keeps one from it."""

from __future__ import annotations

import pytest

from rulebook.diffs import parse_diff
from rulebook.waivers import baseline as baselines
from rulebook.waivers.change import introduced
from rulebook.waivers.check import check, signoff_line, verdict_line
from rulebook.waivers.document import match_heading, read_waiver, title_number
from waiverkit import CLEAN, ENLARGED, IMAGE, MASTER, PATCH, REANCHORED, RETARGETED, WAIVER, change, policy, target

POLICY = policy()


def judge(repo, files, pr="7", **options):
    return check(change(repo, files), POLICY, pr, slug="acme/bench", **options)


def codes(report):
    return {finding.code for finding in report.findings}


def statuses(report):
    return [(item.patch.path, item.status.value, item.covered_by) for item in report.patches]


def test_a_complete_waiver_in_the_same_change_covers_the_patch(tmp_path):
    report = judge(target(tmp_path), {"scripts/m3.sh": PATCH, "docs/waiver/7.md": WAIVER})
    assert statuses(report) == [("scripts/m3.sh", "waived", "docs/waiver/7.md")]
    assert report.findings == ()
    assert report.passed
    assert verdict_line(report) == "PASS (ENG-1, PR #7): 1 patch covered by docs/waiver/7.md"
    assert (
        signoff_line(report)
        == "Patches (ENG-1): vllm in scripts/m3.sh, waived by [docs/waiver/7.md](docs/waiver/7.md)."
    )


def test_the_same_from_a_bare_diff(tmp_path):
    repo = target(tmp_path)
    repo.commit({"scripts/m3.sh": PATCH, "docs/waiver/7.md": WAIVER})
    report = check(parse_diff(repo.git("diff", "HEAD~1", "HEAD")), POLICY, "7")
    assert statuses(report) == [("scripts/m3.sh", "waived", "docs/waiver/7.md")]


def test_a_change_without_patches_passes(tmp_path):
    report = judge(target(tmp_path), {"scripts/m3.sh": CLEAN})
    assert report.passed
    assert verdict_line(report) == "PASS (ENG-1, PR #7): no patch introduced"
    assert signoff_line(report) == "Patches (ENG-1): none introduced; checked 1 changed file."


def test_a_patch_without_a_waiver_fails_with_a_remedy(tmp_path):
    report = judge(target(tmp_path), {"scripts/m3.sh": PATCH})
    assert not report.passed
    assert statuses(report) == [("scripts/m3.sh", "unwaived", None)]
    assert codes(report) == {"patch-unwaived", "waiver-missing"}
    assert signoff_line(report) == ""
    missing = next(finding for finding in report.findings if finding.code == "waiver-missing")
    assert missing.remedy == "draft it: rulebook waiver new --pr 7 --git BASE...HEAD --out docs/waiver"
    assert verdict_line(report).startswith("FAIL (ENG-1, PR #7): source-rewrite of vllm at scripts/m3.sh:3")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "waiver-empty"),
        ("# PR #7\n\n## Scope\n\n## Why\n\n## Upstream\n\n## Removal plan\n", "waiver-empty"),
        ("---\ntitle: x\npr: 7\n---\n", "waiver-empty"),
        (WAIVER.replace("PR #7", "PR #8"), "waiver-number"),
        (WAIVER.replace(": PR #7", ""), "waiver-number"),
        ("---\ntitle: for a request\npr: 8\n---\n" + WAIVER, "waiver-number"),
        (WAIVER.replace("## Removal plan", "## Thanks"), "waiver-part"),
        (
            WAIVER.replace(
                "The sparse attention refuses a slice that is not contiguous, and the server stops at the first request.",
                "",
            ),
            "waiver-part",
        ),
        (WAIVER.replace("The image moves to", "TODO: the image moves to"), "waiver-template"),
        (WAIVER.replace("The image moves", "<describe the plan> The image moves"), "waiver-template"),
        (WAIVER.replace("The image moves", "<!-- write: the plan --> The image moves"), "waiver-template"),
        (WAIVER.replace("/pull/45546", ""), "waiver-link"),
        (
            WAIVER.replace("https://github.com/vllm-project/vllm/pull/45546", "see the forum, some thread there"),
            "waiver-link",
        ),
        (WAIVER.replace("vllm-project/vllm/pull/45546", "acme/bench/pull/7"), "waiver-link"),
        (WAIVER.replace(IMAGE, "the pinned one"), "waiver-image"),
        (WAIVER.replace(IMAGE, "vllm/vllm-openai:v0.7.0"), "waiver-image"),
        (WAIVER.replace("m3-b200-vllm", "the only one"), "waiver-config"),
        ("---\ntitle: t\npr: 7\nconfigs: [no-such-entry]\n---\n" + WAIVER, "waiver-config"),
        (WAIVER.replace("scripts/m3.sh", "scripts/m2.sh"), "patch-unwaived"),
        (WAIVER.replace("scripts/m3.sh", "other/m3.sh"), "patch-unwaived"),
        (
            WAIVER.replace("models/m3.py of vLLM", "a file")
            .replace("vllm-project/vllm", "x/y")
            .replace("vllm/vllm-openai", "acme/image")
            .replace("m3-b200-vllm", "m3-b200"),
            "patch-unwaived",
        ),
    ],
    ids=[
        "empty",
        "headings-only",
        "frontmatter-only",
        "title-number",
        "no-number",
        "pr-number",
        "part-missing",
        "part-empty",
        "todo",
        "angle-brackets",
        "prompt",
        "no-request-link",
        "no-link",
        "own-request",
        "no-image",
        "other-image",
        "no-config",
        "unknown-config",
        "other-script",
        "other-folder",
        "other-engine",
    ],
)
def test_what_keeps_a_waiver_from_covering(tmp_path, text, code):
    report = judge(target(tmp_path), {"scripts/m3.sh": PATCH, "docs/waiver/7.md": text})
    assert code in codes(report)
    assert [status for _, status, _ in statuses(report)] == ["unwaived"]
    assert not report.passed


@pytest.mark.parametrize(
    "text",
    [
        WAIVER.replace("## Scope", "## 1. What is patched?"),
        WAIVER.replace("## Upstream tracking / links", "### Links (upstream)"),
        WAIVER.replace(
            "## Why the unmodified image cannot run it",
            "## Why the unmodified upstream image cannot run this benchmark",
        ),
        WAIVER.replace("# Engine patch waiver: PR #7", "# Waiver for pull request 7"),
        "---\ntitle: A waiver\nrepo: bench\npr: 7\nrule: ENG-1\npatches:\n  - path: scripts/m3.sh\n    targets: [vllm/models/m3.py]\n"
        f"configs: [m3-b200-vllm]\nimages: ['{IMAGE}']\n---\n" + WAIVER.replace(": PR #7", ""),
        WAIVER.replace(IMAGE, IMAGE.split(":")[1]).replace("on `v0.9.1`", f"on `docker.io/{IMAGE}`"),
        WAIVER.replace("\n", "\r\n"),
        WAIVER + "\n```bash\n# TODO in code is not the waiver's\n```\n",
    ],
    ids=[
        "numbered-heading",
        "other-words",
        "longer-heading",
        "spelled-number",
        "frontmatter",
        "registry",
        "crlf",
        "code",
    ],
)
def test_waivers_are_read_by_meaning(tmp_path, text):
    report = judge(target(tmp_path), {"scripts/m3.sh": PATCH, "docs/waiver/7.md": text})
    assert report.findings == ()
    assert report.passed


def test_a_waiver_from_before_covers_no_new_patch(tmp_path):
    repo = target(tmp_path, {"docs/waiver/7.md": WAIVER})
    report = judge(repo, {"scripts/m3.sh": PATCH, "docs/waiver/7.md": WAIVER + "\nMore.\n"})
    assert {"waiver-old", "waiver-missing"} <= codes(report)
    assert not judge(repo, {"scripts/m4.sh": RETARGETED}).passed


def test_another_number_covers_nothing(tmp_path):
    report = judge(target(tmp_path), {"scripts/m3.sh": PATCH, "docs/waiver/8.md": WAIVER.replace("#7", "#8")})
    assert {"waiver-number", "waiver-missing"} <= codes(report)


@pytest.mark.parametrize("name", ["PENDING-m3", "TBD", "0000", "pending", "m3-waiver", "<PR_NUMBER>"])
def test_a_placeholder_number_is_a_finding_with_the_remedy(tmp_path, name):
    report = judge(target(tmp_path), {"scripts/m3.sh": PATCH, f"docs/waiver/{name}.md": WAIVER})
    finding = next(finding for finding in report.findings if finding.code == "waiver-placeholder")
    assert finding.remedy == "rename it to docs/waiver/7.md, and put the number into title and 'pr'"
    assert not report.passed


def test_a_placeholder_that_is_renamed_is_filed(tmp_path):
    repo = target(tmp_path, {"docs/waiver/PENDING-m3.md": WAIVER})
    report = judge(repo, {"scripts/m3.sh": PATCH, "docs/waiver/PENDING-m3.md": None, "docs/waiver/7.md": WAIVER})
    assert report.passed


def test_one_waiver_does_not_cover_a_second_patch_that_it_does_not_name(tmp_path):
    files = {"scripts/m3.sh": PATCH, "scripts/m4.sh": RETARGETED, "docs/waiver/7.md": WAIVER}
    report = judge(target(tmp_path), files)
    assert statuses(report) == [
        ("scripts/m3.sh", "waived", "docs/waiver/7.md"),
        ("scripts/m4.sh", "unwaived", None),
    ]


def test_targets_that_the_frontmatter_states_are_all_there_is(tmp_path):
    keys = "---\ntitle: t\npr: 7\npatches:\n  - path: scripts/m3.sh\n    targets: [vllm/models/m3.py]\n---\n"
    second = PATCH + "sed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/envs.py\n"
    report = judge(target(tmp_path), {"scripts/m3.sh": second, "docs/waiver/7.md": keys + WAIVER})
    assert [status for _, status, _ in statuses(report)] == ["waived", "unwaived"]


def test_the_caller_has_to_be_named_as_well(tmp_path):
    files = {"scripts/m3.sh": PATCH, "scripts/run.sh": "bash scripts/m3.sh\n", "docs/waiver/7.md": WAIVER}
    assert not judge(target(tmp_path), files).passed
    files["docs/waiver/7.md"] = WAIVER.replace("rewrites", "(called by `scripts/run.sh`) rewrites")
    assert judge(target(tmp_path / "b"), files).passed


def test_templates_and_readmes_are_no_waivers(tmp_path):
    files = {
        "docs/waiver/README.md": "x",
        "docs/waiver/TEMPLATE.md": "x",
        "docs/waiver/_draft.md": "x",
        "docs/waiver/7.zh.md": "x",
    }
    assert judge(target(tmp_path), files).findings == ()


def test_a_waiver_without_a_patch_is_told(tmp_path):
    report = judge(target(tmp_path), {"docs/waiver/7.md": WAIVER})
    assert codes(report) == {"waiver-unused"}
    assert report.passed


def test_the_folder_can_be_configured(tmp_path):
    files = {"scripts/m3.sh": PATCH, "waivers/bench/7.md": WAIVER}
    assert judge(target(tmp_path), files, folder="waivers/bench").passed
    assert not judge(target(tmp_path / "b"), files).passed


# --- grandfathering ---------------------------------------------------------------------------


def baseline_of(repo):
    from rulebook.git.repository import Repository
    from rulebook.ranges import from_git

    base = repo.git("rev-list", "--max-parents=0", "HEAD").decode().split()[0]
    found = introduced(from_git(Repository(repo.path, environ=repo.environ), base), POLICY)
    return baselines.take("ENG-1", "bench", base, found.patches)


@pytest.mark.parametrize(
    ("after", "status"),
    [
        ({"scripts/m3.sh": REANCHORED}, "grandfathered"),
        ({"scripts/m3.sh": "if x; then\n" + PATCH + "fi\n"}, None),
        ({"scripts/m3.sh": None, "scripts/moved.sh": "# moved\n" * 30 + PATCH}, "grandfathered"),
        ({"scripts/m3.sh": CLEAN, "scripts/other.sh": PATCH}, "grandfathered"),
        ({"scripts/m3.sh": ENLARGED}, "unwaived"),
        ({"scripts/m3.sh": RETARGETED}, "unwaived"),
        ({"scripts/copy.sh": PATCH}, "unwaived"),
        ({"scripts/m3.sh": CLEAN}, None),
    ],
    ids=["re-anchored", "untouched", "moved", "moved-block", "enlarged", "re-aimed", "copied", "removed"],
)
@pytest.mark.parametrize("way", ["git", "diff"])
def test_what_a_baseline_protects(tmp_path, after, status, way):
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    baseline = baseline_of(repo)
    assert len(baseline.patches) == 1
    found = change(repo, after)
    if way == "diff":
        found = parse_diff(repo.git("diff", "-M", "-U30", "HEAD~1", "HEAD"))
    report = check(found, POLICY, "9", baseline=baseline)
    assert [item.status.value for item in report.patches] in ([status] if status else [], [])
    assert report.passed is (status != "unwaived")
    if status == "unwaived":
        assert report.patches


def test_a_baseline_survives_being_written_and_read(tmp_path):
    baseline = baseline_of(target(tmp_path, {"scripts/m3.sh": PATCH}))
    assert baselines.load(baselines.dump(baseline), "b.json") == baseline.__class__(
        rule=baseline.rule,
        repo=baseline.repo,
        at=baseline.at,
        patches=tuple(
            p.__class__(
                path=p.path,
                line=p.line,
                end_line=p.line,
                kind=p.kind,
                targets=p.targets,
                files=p.files,
                effect=p.effect,
            )
            for p in baseline.patches
        ),
    )


# --- headings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "part"),
    [
        ("Scope", "what"),
        ("What is patched", "what"),
        ("Why the unmodified upstream image cannot run this benchmark", "why"),
        ("Why?", "why"),
        ("Upstream tracking / links", "upstream"),
        ("Upstream", "upstream"),
        ("Removal plan", "removal"),
        ("Plan for removal", "removal"),
        ("Notes", ""),
        ("", ""),
    ],
)
def test_headings_by_meaning(heading, part):
    assert match_heading(heading, POLICY.parts) == part


@pytest.mark.parametrize(
    ("title", "number"),
    [("Waiver — PR #2508", "2508"), ("PR 12", "12"), ("pull request #3", "3"), ("Waiver #4", "4"), ("M3 on B200", "")],
)
def test_the_number_in_a_title(title, number):
    assert title_number(title) == number


def test_images_are_told_from_addresses_and_places():
    text = "see https://a.b/c:1 and a/b.sh:12, `scripts/x.sh:30-56`; runs `nvcr.io/nvidia/x:1.2.3`"
    assert read_waiver("7.md", text).images == ("nvcr.io/nvidia/x:1.2.3",)


def test_the_configuration_file_is_read_by_lines(tmp_path):
    from rulebook.waivers.coverage import read_configurations

    found = read_configurations([("m.yaml", MASTER)])
    assert {entry.name: (entry.image, entry.line) for entry in found.entries.values()} == {
        "m3-b200-vllm": (IMAGE, 1),
        "other-b200-vllm": ("vllm/vllm-openai:v0.8.0", 4),
    }
