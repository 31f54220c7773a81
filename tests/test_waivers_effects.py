"""What tells a moved patch from another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulebook.waivers import effects
from rulebook.waivers.baseline import hashed
from rulebook.waivers.detect import scan_file
from rulebook.waivers.policy import parse_policy
from waiverkit import PATCH, RULE, rule

PROGRAM = 's = p.read_text()\nold = "a = f(x)\\n"\nnew = "a = f(x).g()\\n"\np.write_text(s.replace(old, new))\n'


@pytest.mark.parametrize(
    "other",
    [
        PROGRAM.replace("a = f(x)", "prefix = f(y, z)"),
        "# why\n" + PROGRAM,
        PROGRAM + 'print("done", p)\n',
        PROGRAM.replace("s.replace(old, new)", "s.replace(old, new, 1)"),
        PROGRAM.replace("p.write", "assert s.count(old) == 1\np.write"),
    ],
    ids=["anchor", "comment", "message", "count", "check"],
)
def test_anchors_and_messages_are_no_part_of_the_effect(other):
    assert effects.of_python(other) == effects.of_python(PROGRAM)


@pytest.mark.parametrize(
    "other",
    [
        PROGRAM.replace(".g()", ".h()"),
        PROGRAM.replace("s.replace(old, new)", 's.replace(old, new).replace("abcd", "")'),
    ],
    ids=["replacement", "second-edit"],
)
def test_edits_are(other):
    assert effects.of_python(other) != effects.of_python(PROGRAM)


def test_a_program_without_pairs_is_its_statements_without_what_it_searches():
    one = 'i = s.index("start here")\np.write_text(s[:i] + "new text" + s[i:])\n'
    assert effects.of_python(one) == effects.of_python(one.replace("start here", "begin there"))
    assert effects.of_python(one) != effects.of_python(one.replace("new text", "more text"))


def test_a_text_that_is_no_program_is_its_lines():
    assert effects.of_python("if (\n  # x\n  a  b\n") == ("a b", "if (")


def test_a_diff_is_its_changed_lines():
    diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n context\n-  old\n+  new\n"
    moved = diff.replace("@@ -1,3 +1,3 @@", "@@ -9,3 +9,3 @@").replace("context", "other")
    assert effects.of_diff(diff) == effects.of_diff(moved) == ("+ new", "- old")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("s/foo(a)/foo(a).b/", "s/bar(a, c)/bar(a, c).b/", True),
        ("s|foo|foo.b|", "s#foo#foo.c#", False),
        ("102,108d", "110,116d", True),
        ("102,108d", "102,109d", False),
        ("/start/,/end/d", "/begin/,/stop/d", True),
        ("/x/a\\ new line", "/y/a\\ new line", True),
        ("/x/a\\ new line", "/x/a\\ other line", False),
        ("417d", "9d", True),
    ],
)
def test_sed(one, other, same):
    assert (effects.of_sed(one) == effects.of_sed(other)) is same


@given(
    st.text(alphabet="ab (),.=\n", max_size=60),
    st.text(alphabet="xy z", max_size=20),
    st.text(alphabet="cd().", max_size=20),
)
def test_what_stands_around_an_edit_on_both_sides_does_not_matter(anchor, around, addition):
    plain = effects.difference(anchor, f"{anchor} {addition}")
    assert effects.difference(f"{around} {anchor}", f"{around} {anchor} {addition}") == plain


_SITE = "/usr/lib/python3/dist-packages/vllm"


@pytest.mark.parametrize(
    ("name", "text", "recorded"),
    [
        ("a.sh", PATCH, [("source-rewrite", ("1d5c845b25374047",))]),
        ("b.sh", f"sed -i 's/old/new/' {_SITE}/a.py\n", [("source-rewrite", ("b40d03815a56dcb3",))]),
        ("c.sh", "pip install git+https://github.com/me/vllm@abc\n", [("engine-install", ("be2be81c02ba9938",))]),
        ("d.sh", f"docker run -v $PWD/a.py:{_SITE}/a.py image\n", [("mount", ("3083db774a54b003",))]),
        ("e.sh", f"cp a.py {_SITE}/a.py\n", [("file-overlay", ("711481625913fb8e",))]),
        ("f.sh", f"cd {_SITE} && git apply fix.patch\n", [("patch-apply", ("3a4d482d5e892d5e",))]),
        (
            "g.patch",
            "--- a/vllm/envs.py\n+++ b/vllm/envs.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
            [("patch-file", ("28c10f30dc8ea662", "19eb2d7b635e9814"))],
        ),
        ("h.sh", "rebuild-vllm --fast\n", [("custom", ("e89b78e1df3d861f",))]),
        ("i.yaml", "setup: rebuild-vllm.sh\n", [("custom", ("9eb6ebc46e9db100",))]),
        ("Dockerfile", f"COPY a.py {_SITE}/a.py\n", [("file-overlay", ("711481625913fb8e",))]),
        ("sitecustomize.py", "import vllm\nvllm.envs.X = 1\n", [("monkey-patch", ("790c1b00d9189b24",))]),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else "",
)
def test_what_baselines_have_recorded_is_still_found(name, text, recorded):
    """A hash that changes turns every grandfathered patch of its kind into a new one."""
    patterns = "policy:\n  patterns: [{kind: custom, target: vllm, lines: '(?:^|setup: )rebuild-vllm'}]\n"
    found, findings = parse_policy(rule(RULE.replace("policy:\n", patterns)))
    assert findings == []
    patches = scan_file(f"scripts/{name}", text, found).patches
    assert [(patch.kind.value, hashed(patch).effect) for patch in patches] == recorded
