"""A policy's keys: what each does, and what is said where one is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulebook.model import Kind
from rulebook.parse import parse_file
from rulebook.waivers.detect import scan_file
from rulebook.waivers.excuse import waived_by
from rulebook.waivers.patches import Sureness
from rulebook.waivers.policy import PatchKind, Role, parse_policy, policies
from waiverkit import RULE, policy, rule

HEAD = "---\nid: ENG-1\ntitle: t\nrepo: bench\napplies_to: ['scripts/**']\n"


def read(text):
    return parse_policy(rule(f"{HEAD}{text}---\nText.\n"))


def test_a_rule_without_a_policy_has_none():
    assert read("") == (None, [])


def test_a_name_alone_stands_for_module_package_and_repository():
    found, findings = read("policy:\n  protects: [my-engine]\n")
    assert findings == []
    (product,) = found.protects
    assert (product.modules, product.packages, product.repositories) == (("my_engine",), ("my-engine",), ("my-engine",))
    assert product.role is Role.ENGINE
    assert found.where == ("scripts/**",)
    assert found.kinds == frozenset(PatchKind)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("policy: yes\n", "policy-shape", 6),
        ("policy:\n  protect: [vllm]\n", "key-unknown", 7),
        ("policy:\n  allows: [x]\n", "policy-empty", 6),
        ("policy:\n  protects: [vllm]\n  kinds: [patchfile]\n", "value-word", 8),
        ("policy:\n  protects:\n    - modules: [vllm]\n", "policy-product", 8),
        ("policy:\n  protects:\n    - {name: vllm, module: [vllm]}\n", "key-unknown", 8),
        ("policy:\n  protects:\n    - {name: vllm, role: motor}\n", "value-word", 8),
        ("policy:\n  protects: [vllm]\n  where: ['a//b']\n", "pattern-empty-segment", 8),
        ("policy:\n  protects: [vllm]\n  patterns:\n    - lines: '(a+)+b'\n", "policy-regex", 9),
        ("policy:\n  protects: [vllm]\n  patterns:\n    - lines: '(a'\n", "policy-regex", 9),
        ("policy:\n  protects: [vllm]\n  patterns:\n    - kind: custom\n", "policy-pattern", 9),
        ("policy:\n  protects: [vllm]\n  waiver: {scope: [everything]}\n", "value-word", 8),
        ("policy:\n  protects: [vllm]\n  waiver: [x]\n", "value-type", 8),
        ("policy:\n  protects: [vllm]\n  baseline: [x]\n", "value-type", 8),
    ],
)
def test_what_is_wrong_is_a_finding_at_its_line(text, code, line):
    documents, findings = parse_file("rules/bench/ENG-1.md", Kind.RULE, f"{HEAD}{text}---\nText.\n")
    assert documents
    assert (code, line) in [(finding.code, finding.location.line) for finding in findings]
    assert all(finding.remedy for finding in findings)


def test_a_pattern_of_its_own():
    text = RULE.replace(
        "  configs:", "  patterns:\n    - {kind: custom, target: kernel, lines: '^modprobe '}\n  configs:"
    )
    found, findings = parse_policy(rule(text))
    assert findings == []
    (patch,) = scan_file("scripts/a.sh", "modprobe x\necho modprobe\n", found).patches
    assert (patch.kind, patch.target, patch.line) == (PatchKind.CUSTOM, "kernel", 1)


def test_what_a_pattern_did_not_look_at_is_a_possible_patch():
    text = RULE.replace("  configs:", "  patterns:\n    - {target: kernel, lines: 'modprobe '}\n  configs:")
    found, _ = parse_policy(rule(text))
    for command, sureness in [
        ("echo " + "x" * 1_000 + " modprobe y", Sureness.LIKELY),
        ("echo " + "x" * 3_000 + " modprobe y", Sureness.POSSIBLE),
    ]:
        (patch,) = scan_file("scripts/a.sh", command, found).patches
        assert (patch.target, patch.sureness) == ("kernel", sureness)


def test_only_the_kinds_that_a_policy_names_count():
    text = RULE.replace("  protects:", "  kinds: [mount]\n  protects:", 1)
    found, _ = parse_policy(rule(text))
    assert scan_file("scripts/a.sh", "sed -i s/a/b/ /x/dist-packages/vllm/a.py", found).patches == []


def test_retired_rules_have_no_policy():
    retired = rule(RULE.replace("severity: error", "severity: error\nstatus: retired"))
    assert policies([retired]) == ([], [])
    assert [item.rule for item in policies([rule()])[0]] == ["ENG-1"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("sed -i s/a/b/ /x/site-packages/vllm/a.py", 1),
        ("sed -i s/a/b/ /x/site-packages/lm_eval/a.py", 0),
        ("sed -i s/a/b/ /x/site-packages/other/a.py", 1),
        ("pip install flashinfer-python==1", 0),
        ("pip install git+https://github.com/x/flashinfer", 1),
        ("pip install git+https://github.com/x/lm-evaluation-harness", 0),
    ],
)
def test_protected_allowed_and_other_software(text, count):
    found = [patch for patch in scan_file("scripts/a.sh", text, policy()).patches if patch.sureness.counts]
    assert len(found) == count


def test_our_own_policies_are_sound():
    root = Path(__file__).parents[1]
    texts = [path for path in (root / "rules").rglob("*.md") if "\npolicy:" in path.read_text(encoding="utf-8")]
    assert texts
    for path in texts:
        documents, _ = parse_file(str(path.relative_to(root)), Kind.RULE, path.read_text(encoding="utf-8"))
        found, findings = parse_policy(documents[0])
        assert findings == []
        assert {part.name for part in found.parts} == {"what", "why", "upstream", "removal"}


@pytest.mark.parametrize(
    ("keys", "paths", "found"),
    [
        ({"rule": "R", "repo": "b", "patches": [{"path": "x.sh"}]}, {"x.sh"}, True),
        ({"rule": "R", "repo": "b", "patches": "x.sh"}, {"x.sh"}, True),
        ({"rule": "R", "repo": "b", "called_from": ["y.sh"]}, {"y.sh", "z"}, True),
        ({"rule": "R", "repo": "b", "patches": [{"path": "x.sh"}]}, {"y.sh"}, False),
        ({"rule": "Q", "repo": "b", "patches": ["x.sh"]}, {"x.sh"}, False),
        ({"rule": "R", "repo": "c", "patches": ["x.sh"]}, {"x.sh"}, False),
        ({"rule": "R", "repo": "b"}, {"x.sh"}, False),
    ],
)
def test_matches_carry_their_waivers(keys, paths, found):
    assert waived_by([("waivers/b/7.md", keys)], "R", "b", paths) == (("waivers/b/7.md",) if found else ())
