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
    assert [item.path for item in found.unread] == ["scripts/a.sh"]
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
    assert introduced(found, POLICY).unread == (("scripts/a.sh", "has a line of more than 20,000 characters", True),)


@pytest.mark.parametrize("way", ["git", "diff"])
@pytest.mark.parametrize(
    ("name", "data", "runs"),
    [
        ("scripts/run", b"#!/bin/bash\necho \0\n", True),
        ("scripts/run", b"\x7fELF\0\0", True),
        ("scripts/run.old", b"#!/usr/bin/env python3\n# \0\n", None),
        ("scripts/data.bin", b"\0\1" * 50, False),
        ("scripts/wide", b"x" * 30_000 + b"\n", True),
        ("scripts/wide.txt", b"x" * 30_000 + b"\n", False),
        ("scripts/wide.txt", b"#!/bin/sh\n" + b"x" * 30_000 + b"\n", True),
        ("scripts/plot.png", b"\x89PNG\0", "silent"),
        ("docs/data.bin", b"\0\1", "silent"),
    ],
    ids=["bash", "elf", "shebang", "data", "no-ending", "text", "shebang-in-text", "picture", "elsewhere"],
)
def test_what_was_not_read_and_could_run(tmp_path, way, name, data, runs):
    repo = target(tmp_path)
    found = change(repo, {name: data})
    if way == "diff":
        found = parse_diff(repo.git("diff", "HEAD~1", "HEAD"))
    unread = introduced(found, POLICY).unread
    if runs == "silent":
        assert unread == ()
    else:
        # A diff shows nothing of a binary file, so only its name tells.
        assert [(item.path, item.runs) for item in unread] == [(name, way == "git" if runs is None else runs)]


# --- calls of scripts that were there before ----------------------------------------------------


def with_tree(repo, files):
    found = change(repo, files)
    return introduced(found, POLICY, paths=lambda: repo.git("ls-files").decode().split("\n")[:-1])


def calls(found):
    return [
        (p.path, p.line, p.sureness.value, p.trace[0].path) for p in found.patches if p.kind.value == "patch-script"
    ]


@pytest.mark.parametrize(
    ("call", "sure"),
    [
        ('bash "$(dirname "$0")/fix.sh"', "certain"),
        ("source scripts/fix.sh", "certain"),
        ("bash ./fix.sh --all", "certain"),
        ("SETUP=fix.sh", "certain"),
        ("bash $SOMEWHERE/fix.sh", "certain"),
        ("srun bash /workspace/scripts/fix.sh", "likely"),
    ],
)
def test_the_call_of_a_script_that_patched_before_is_one(tmp_path, call, sure):
    repo = target(tmp_path, {"scripts/fix.sh": PATCH})
    found = with_tree(repo, {"scripts/run.sh": f"set -e\n{call}\nvllm serve\n"})
    assert calls(found) == [("scripts/run.sh", 2, sure, "scripts/fix.sh")]
    assert found.patches[0].targets == ("vllm",)


def test_a_recipe_far_away_calls_it_by_its_name(tmp_path):
    repo = target(tmp_path, {"scripts/configs/fix.sh": PATCH})
    found = with_tree(repo, {"scripts/recipes/a/r.yaml": "name: x\nsetup_script: fix.sh\n"})
    assert calls(found) == [("scripts/recipes/a/r.yaml", 2, "likely", "scripts/configs/fix.sh")]


@pytest.mark.parametrize(
    "files",
    [
        {"scripts/run.sh": "bash clean.sh\n"},
        {"scripts/run.sh": "bash /opt/vendor/fix.sh\n"},
        {"scripts/run.sh": "# bash fix.sh\necho fix.sh\n"},
        {"tools/run.sh": "bash ../scripts/fix.sh\n"},
        {"scripts/old.sh": "set -e\nset -u\n\nif true; then\n  bash fix.sh --slow\nfi\n"},
        {"scripts/old.sh": None, "scripts/moved.sh": "bash fix.sh\n# moved, and more\n" + "true\n" * 20},
        {"scripts/old.sh": "set -e\n", "scripts/split.sh": "bash fix.sh\n"},
        {"scripts/fix.sh": PATCH + "echo done\n"},
        {"scripts/fix.sh": CLEAN, "scripts/run.sh": "bash fix.sh\n"},
        {"scripts/fix.sh": None, "scripts/run.sh": "bash fix.sh\n"},
        {"scripts/lib/fix.sh": CLEAN, "scripts/lib/run.sh": "bash fix.sh\n"},
        {"scripts/run.sh": "bash outside.sh\n"},
    ],
    ids=[
        "harmless",
        "another-place",
        "mention",
        "out-of-scope",
        "moved-line",
        "renamed",
        "moved-to-another-file",
        "the-script-itself",
        "no-longer-a-patch",
        "gone",
        "a-nearer-one",
        "script-out-of-scope",
    ],
)
def test_what_is_no_new_call(tmp_path, files):
    before = {"scripts/fix.sh": PATCH, "scripts/clean.sh": CLEAN, "tools/outside.sh": PATCH}
    repo = target(tmp_path, {**before, "scripts/old.sh": "set -e\nbash fix.sh\n"})
    assert calls(with_tree(repo, files)) == []


def test_one_more_call_beside_one_from_before_is_new(tmp_path):
    repo = target(tmp_path, {"scripts/fix.sh": PATCH, "scripts/old.sh": "bash fix.sh\n"})
    found = with_tree(repo, {"scripts/old.sh": "set -e\nbash fix.sh\n", "scripts/copy.sh": "bash fix.sh\n"})
    assert calls(found) == [("scripts/copy.sh", 1, "certain", "scripts/fix.sh")]


def test_of_several_scripts_of_a_name_none_is_sure(tmp_path):
    repo = target(tmp_path, {"scripts/a/fix.sh": PATCH, "scripts/b/fix.sh": CLEAN})
    found = with_tree(repo, {"scripts/c/run.sh": "bash $D/fix.sh\n"})
    assert calls(found) == [("scripts/c/run.sh", 1, "possible", "scripts/a/fix.sh")]


def test_of_a_bare_diff_only_scripts_that_are_known_to_patch_count(tmp_path):
    repo = target(tmp_path, {"scripts/fix.sh": PATCH})
    known = introduced(change(target(tmp_path / "other"), {"scripts/fix.sh": PATCH}), POLICY).patches
    repo.commit({"scripts/run.sh": "bash fix.sh\n"})
    diff = parse_diff(repo.git("diff", "HEAD~1", "HEAD"))
    assert calls(introduced(diff, POLICY)) == []
    assert calls(introduced(diff, POLICY, known_patches=known)) == [("scripts/run.sh", 1, "certain", "scripts/fix.sh")]
