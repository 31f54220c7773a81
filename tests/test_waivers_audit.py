"""The audit of a tree, and the life of a baseline and of a waiver."""

from __future__ import annotations

import pytest

from rulebook.errors import UnreadableInput
from rulebook.git.repository import Repository
from rulebook.waivers import baseline as baselines
from rulebook.waivers.audit import audit, scan_tree
from rulebook.waivers.document import read_waiver
from waiverkit import CLEAN, ENLARGED, MASTER, PATCH, REANCHORED, WAIVER, policy, target

POLICY = policy()


def look(repo, waivers=(), today="2026-06-01", baseline=None):
    git = Repository(repo.path, environ=repo.environ)
    commit = git.resolve_commit("HEAD")

    def read(paths):
        found = git.read_blobs(f"{commit}:{path}" for path in paths)
        return {path: found[f"{commit}:{path}"] for path in paths}

    tree = scan_tree(git.list_tree(commit), read, POLICY)
    return audit(tree, read, POLICY, list(waivers), at=commit, today=today, slug="acme/bench", baseline=baseline)


def statuses(report):
    return [(item.patch.path, item.status.value) for item in report.patches]


def states(report):
    return [(item.state.value, item.because) for item in report.waivers]


FILED = read_waiver("docs/waiver/7.md", WAIVER)


def test_every_patch_is_listed_with_its_status(tmp_path):
    repo = target(
        tmp_path, {"scripts/m3.sh": PATCH, "scripts/old.sh": PATCH, "scripts/c.sh": CLEAN, "scripts/b.sh": b"\0\1"}
    )
    baseline = baselines.take(
        "ENG-1", "bench", "0" * 40, [item.patch for item in look(repo).patches if item.patch.path == "scripts/old.sh"]
    )
    report = look(repo, [FILED], baseline=baseline)
    assert statuses(report) == [("scripts/m3.sh", "waived"), ("scripts/old.sh", "grandfathered")]
    assert report.passed
    assert look(repo, [FILED]).passed is False


def test_a_waiver_in_force(tmp_path):
    report = look(target(tmp_path, {"scripts/m3.sh": PATCH}), [FILED])
    assert states(report) == [("in force", "")]


@pytest.mark.parametrize(
    ("files", "waiver", "state", "because"),
    [
        ({"scripts/m3.sh": CLEAN}, WAIVER, "orphan", "no patch in the tree is one that it names"),
        ({}, WAIVER, "orphan", "scripts/m3.sh is gone"),
        (
            {"scripts/m3.sh": PATCH},
            "---\ntitle: t\npr: 7\npatches: [scripts/gone.sh]\n---\n" + WAIVER,
            "orphan",
            "scripts/gone.sh is gone",
        ),
        (
            {"scripts/m3.sh": PATCH, "scripts/run.sh": "echo\n"},
            "---\ntitle: t\npr: 7\npatches: [scripts/m3.sh]\ncalled_from: [scripts/run.sh]\n---\n" + WAIVER,
            "orphan",
            "scripts/run.sh no longer calls m3.sh",
        ),
        (
            {"scripts/m3.sh": PATCH},
            "---\ntitle: t\npr: 7\npatches: [scripts/m3.sh]\ncalled_from: [scripts/run.sh]\n---\n" + WAIVER,
            "orphan",
            "scripts/run.sh, which called the patch, is gone",
        ),
        (
            {"scripts/m3.sh": PATCH},
            "---\ntitle: t\npr: 7\nconfigs: [gone]\n---\n" + WAIVER,
            "orphan",
            "the configuration gone is gone",
        ),
        (
            {"scripts/m3.sh": PATCH, "scripts/run.sh": "echo\n"},
            WAIVER.replace("rewrites", "(called by `scripts/run.sh`) rewrites"),
            "orphan",
            "scripts/run.sh no longer calls m3.sh",
        ),
        (
            {"scripts/m3.sh": PATCH, "configs/master.yaml": MASTER.replace("v0.9.1", "v0.9.2")},
            WAIVER,
            "expired",
            "m3-b200-vllm now runs vllm/vllm-openai:v0.9.2, not vllm/vllm-openai:v0.9.1",
        ),
        (
            {"scripts/m3.sh": PATCH},
            "---\ntitle: t\npr: 7\nexpires: 2026-05-31\n---\n" + WAIVER,
            "expired",
            "it ended on 2026-05-31",
        ),
        ({"scripts/m3.sh": PATCH}, "---\ntitle: t\npr: 7\nexpires: 2026-06-01\n---\n" + WAIVER, "in force", ""),
        (
            {"scripts/m3.sh": PATCH},
            WAIVER.replace("## Removal plan", "## Thanks"),
            "incomplete",
            "there is no section on 'removal'",
        ),
    ],
    ids=[
        "patch-gone",
        "script-gone",
        "stated-script-gone",
        "call-gone",
        "caller-gone",
        "config-gone",
        "call-gone-in-prose",
        "image-moved",
        "date-passed",
        "last-day",
        "incomplete",
    ],
)
def test_the_state_of_a_waiver(tmp_path, files, waiver, state, because):
    report = look(target(tmp_path, files), [read_waiver("docs/waiver/7.md", waiver)])
    assert states(report) == [(state, because)]
    assert report.passed is (state == "in force")
    if state != "in force" and "scripts/m3.sh" in files:
        assert ("scripts/m3.sh", "waived") not in statuses(report)


def test_a_call_keeps_a_waiver_in_force(tmp_path):
    keys = "---\ntitle: t\npr: 7\npatches: [scripts/m3.sh]\ncalled_from: [scripts/run.sh]\n---\n"
    repo = target(tmp_path, {"scripts/m3.sh": PATCH, "scripts/run.sh": 'bash "$(dirname "$0")/m3.sh"\n'})
    assert states(look(repo, [read_waiver("docs/waiver/7.md", keys + WAIVER)])) == [("in force", "")]


def test_a_lapsed_waiver_is_named_where_it_would_have_covered(tmp_path):
    waiver = read_waiver("docs/waiver/7.md", "---\ntitle: t\npr: 7\nexpires: 2026-01-01\n---\n" + WAIVER)
    (item,) = look(target(tmp_path, {"scripts/m3.sh": PATCH}), [waiver]).patches
    assert item.because == "docs/waiver/7.md is expired: it ended on 2026-01-01"


# --- baselines --------------------------------------------------------------------------------


def patches(repo):
    return [item.patch for item in look(repo).patches]


def test_pruning_drops_what_is_gone_and_adds_nothing(tmp_path):
    repo = target(tmp_path, {"scripts/a.sh": PATCH, "scripts/b.sh": "sed -i 3d /x/dist-packages/vllm/a.py\n"})
    baseline = baselines.take("ENG-1", "bench", "0" * 40, patches(repo))
    repo.commit(
        {
            "scripts/a.sh": None,
            "scripts/moved.sh": REANCHORED,
            "scripts/b.sh": None,
            "scripts/new.sh": "cp a.py /x/dist-packages/vllm/a.py\n",
        }
    )
    kept, gone = baselines.prune(baseline, patches(repo))
    assert [(entry.path, entry.line) for entry in kept.patches] == [("scripts/moved.sh", 3)]
    assert [entry.path for entry in gone] == ["scripts/b.sh"]


def test_what_was_given_up_is_not_taken_back(tmp_path):
    repo = target(tmp_path, {"scripts/a.sh": ENLARGED})
    baseline = baselines.take("ENG-1", "bench", "0" * 40, patches(repo))
    repo.commit({"scripts/a.sh": PATCH})
    smaller, gone = baselines.prune(baseline, patches(repo))
    assert gone == []
    repo.commit({"scripts/a.sh": ENLARGED})
    assert [p.path for p in baselines.split(baseline, patches(repo))[1]] == ["scripts/a.sh"]
    assert baselines.split(smaller, patches(repo))[1] == []


def test_each_entry_stands_for_one_patch(tmp_path):
    repo = target(tmp_path, {"scripts/a.sh": PATCH})
    baseline = baselines.take("ENG-1", "bench", "0" * 40, patches(repo))
    repo.commit({"scripts/b.sh": PATCH})
    new, known = baselines.split(baseline, patches(repo))
    assert ([p.path for p in new], [p.path for p in known]) == (["scripts/b.sh"], ["scripts/a.sh"])


def test_stale_entries_are_told(tmp_path):
    repo = target(tmp_path, {"scripts/a.sh": PATCH})
    baseline = baselines.take("ENG-1", "bench", "0" * 40, patches(repo))
    repo.commit({"scripts/a.sh": CLEAN})
    assert [entry.path for entry in look(repo, baseline=baseline).stale] == ["scripts/a.sh"]


def test_a_baseline_repeats_no_code(tmp_path):
    text = baselines.dump(
        baselines.take("ENG-1", "bench", "0" * 40, patches(target(tmp_path, {"scripts/a.sh": PATCH})))
    )
    assert "contiguous" not in text
    assert text == baselines.dump(baselines.load(text, "x"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"version": 2}',
        '{"version": 1, "patches": 3}',
        "[" * 100_000,
        '{"version": 1, "rule": "r", "repo": "b", "at": "", "patches": [{"path": "a", "line": "x"}]}',
        '{"version": 1, "rule": "r", "repo": "b", "at": "", "patches": [{"path": "a", "line": 1, "kind": "?", "targets": [], "files": [], "effect": []}]}',
    ],
)
def test_a_damaged_baseline_is_refused(text):
    with pytest.raises(UnreadableInput):
        baselines.load(text, "baseline.json")
