"""What a change introduces, on real repositories and on bare diffs."""

from __future__ import annotations

import textwrap

import pytest

from rulebook.diffs import parse_diff
from rulebook.waivers.change import introduced
from waiverkit import CLEAN, ENLARGED, PATCH, REANCHORED, RETARGETED, change, policy, target

POLICY = policy()


def kinds(found):
    return [(patch.path, patch.kind.value, patch.line, patch.end_line) for patch in found.patches]


def both_ways(repo, files):
    """The change read from the repository and from its diff.

    They have to agree, but that a diff which shows half of a program can only call it possible.
    """
    whole = introduced(change(repo, files), POLICY)
    diff = repo.git("diff", "-M", "HEAD~1", "HEAD")
    part = introduced(parse_diff(diff), POLICY)
    counted = {(patch.path, patch.kind) for patch in part.patches if patch.sureness.counts}
    assert counted <= {(patch.path, patch.kind) for patch in whole.patches}
    assert {patch.path for patch in whole.patches} <= {patch.path for patch in part.patches}
    return whole


def test_an_added_patch_is_introduced(tmp_path):
    found = both_ways(target(tmp_path), {"scripts/m3.sh": PATCH})
    assert kinds(found) == [("scripts/m3.sh", "source-rewrite", 3, 13)]
    assert found.patches[0].files == ("vllm/models/m3.py",)


@pytest.mark.parametrize(
    "after",
    [
        {"scripts/m3.sh": PATCH.replace("serve m3", "serve m3 --port 1")},
        {"scripts/m3.sh": CLEAN},
        {"scripts/m3.sh": None},
        {"scripts/m3.sh": None, "scripts/moved.sh": PATCH},
        {"scripts/m3.sh": CLEAN, "scripts/other.sh": "#!/bin/bash\necho first\n" + PATCH},
        {"scripts/m3.sh": PATCH.replace("python3 - <<", "# a bridge until the image has it\npython3 - <<")},
        {"scripts/m3.sh": PATCH.replace("src = target", "# read it\nsrc = target")},
        {"scripts/m3.sh": REANCHORED},
        {"scripts/m3.sh": "set -e\nif true; then\n" + textwrap.indent(PATCH, "") + "fi\n"},
        {"scripts/m3.sh": PATCH + "\n# sed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py\n"},
        {"docs/notes.md": PATCH},
        {"tools/outside.sh": PATCH},
    ],
    ids=[
        "context",
        "removal",
        "deletion",
        "moved-file",
        "moved-block",
        "comment-above",
        "comment-inside",
        "re-anchored",
        "wrapped",
        "mention",
        "prose",
        "elsewhere",
    ],
)
def test_nothing_new_is_introduced(tmp_path, after):
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    assert both_ways(repo, after).patches == ()


@pytest.mark.parametrize(
    "after",
    [
        {"scripts/m3.sh": ENLARGED},
        {"scripts/m3.sh": RETARGETED},
        {"scripts/copy.sh": PATCH},
        {"scripts/m3.sh": PATCH.replace(".contiguous()", ".clone()")},
        {"scripts/m3.sh": PATCH + "sed -i s/a/b/ /usr/lib/python3/dist-packages/vllm/a.py\n"},
        {"scripts/m3.sh": PATCH.replace('vllm"', 'sglang"')},
    ],
    ids=["enlarged", "another-file", "copied", "another-effect", "a-second-one", "another-engine"],
)
def test_more_than_there_was_is_introduced(tmp_path, after):
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    assert len(both_ways(repo, after).patches) == 1


def test_a_touched_patch_is_named_as_kept(tmp_path):
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    found = introduced(change(repo, {"scripts/m3.sh": REANCHORED}), POLICY)
    assert [patch.path for patch in found.kept] == ["scripts/m3.sh"]


def test_a_variable_elsewhere_in_the_file_can_make_a_patch(tmp_path):
    before = "F=/tmp/a.py\necho 1\nsed -i s/a/b/ $F\n"
    repo = target(tmp_path, {"scripts/m3.sh": before})
    found = introduced(
        change(repo, {"scripts/m3.sh": before.replace("/tmp", "/usr/lib/python3/dist-packages/vllm")}), POLICY
    )
    assert kinds(found) == [("scripts/m3.sh", "source-rewrite", 3, 3)]


@pytest.mark.parametrize(
    "call",
    ['bash "$(dirname "$0")/fix.sh"', "source scripts/fix.sh", "./fix.sh", "SETUP=fix.sh", "srun bash fix.sh --all"],
)
def test_the_call_of_a_patch_script_is_followed(tmp_path, call):
    files = {"scripts/fix.sh": PATCH, "scripts/run.sh": f"set -e\n{call}\n", "scripts/x.sh": "bash other.sh\n"}
    found = both_ways(target(tmp_path), files)
    assert [(p.path, p.kind.value, p.line) for p in found.patches] == [
        ("scripts/fix.sh", "source-rewrite", 3),
        ("scripts/run.sh", "patch-script", 2),
    ]
    assert found.patches[1].trace[0].path == "scripts/fix.sh"


def test_a_recipe_that_names_the_script_calls_it(tmp_path):
    files = {"scripts/fix.sh": PATCH, "scripts/r.yaml": "name: x\nsetup_script: fix.sh\n"}
    found = both_ways(target(tmp_path), files)
    assert ("scripts/r.yaml", "patch-script", 2, 2) in kinds(found)


@pytest.mark.parametrize(("context", "sure"), [(0, "possible"), (3, "possible"), (20, "certain")])
def test_a_diff_that_begins_inside_of_a_heredoc(tmp_path, context, sure):
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    repo.commit({"scripts/m3.sh": RETARGETED})
    (patch,) = introduced(parse_diff(repo.git("diff", f"-U{context}", "HEAD~1", "HEAD")), POLICY).patches
    assert patch.sureness.value == sure
    assert patch.target == "vllm"


def test_a_diff_that_ends_a_heredoc(tmp_path):
    tail = "import vllm\nopen(vllm.__file__, 'w').write('x')\nPYEOF\nsed -i s/a/b/ /x/dist-packages/vllm/a.py\n"
    diff = "--- a/scripts/a.sh\n+++ b/scripts/a.sh\n@@ -5,0 +5,4 @@\n" + "".join(
        f"+{line}\n" for line in tail.splitlines()
    )
    found = introduced(parse_diff(diff.encode()), POLICY)
    assert [(p.line, p.kind.value) for p in found.patches] == [(5, "source-rewrite"), (8, "source-rewrite")]


def test_binary_files_and_unknown_lines_are_told(tmp_path):
    repo = target(tmp_path)
    found = introduced(change(repo, {"scripts/a.sh": b"\x00\x01" * 100, "scripts/b.sh": "echo\n"}), POLICY)
    assert [path for path, _ in found.unread] == ["scripts/a.sh"]
    assert found.patches == ()


def test_a_diff_of_twenty_thousand_lines():
    lines = "".join(f"+line {i} of something = {i}\n" for i in range(20_000))
    diff = f"--- /dev/null\n+++ b/scripts/a.sh\n@@ -0,0 +1,20001 @@\n{lines}+sed -i s/a/b/ /x/dist-packages/vllm/a.py\n"
    found = introduced(parse_diff(diff.encode()), POLICY)
    assert [patch.line for patch in found.patches] == [20_001]


def test_crlf_and_a_byte_order_mark_do_not_matter(tmp_path):
    text = "\ufeff" + PATCH.replace("\n", "\r\n")
    assert len(introduced(change(target(tmp_path), {"scripts/m3.sh": text}), POLICY).patches) == 1


@pytest.mark.parametrize("way", ["git", "diff"])
def test_a_minified_file_is_told(tmp_path, way):
    repo = target(tmp_path)
    found = change(repo, {"scripts/a.sh": "x" * 30_000 + "\n"})
    if way == "diff":
        found = parse_diff(repo.git("diff", "HEAD~1", "HEAD"))
    assert introduced(found, POLICY).unread == (("scripts/a.sh", "has a line of more than 20,000 characters"),)
