"""The look-up page's scripts against the command: the same answers to the same questions."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gitrepo import GitRepo
from kb import make_kb, rule
from rulebook.patterns.syntax import PatternError, compile_patterns, parse
from rulebook.site.lookup import lookup_data
from rulebook.store.opening import open_store
from sitekit import ROOT, ask_command, ask_page, needs_node, run_scripts
from test_changes import BROKEN, CASES, OTHERS

if TYPE_CHECKING:
    from rulebook.store.query import Store

pytestmark = needs_node


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    """This repository's own knowledge base."""
    with open_store(str(ROOT), str(tmp_path / "store")) as store:
        yield store


def history() -> list[list[list[str]]]:
    text = (ROOT / "tests/data/afd-plugin-history.jsonl").read_text()
    return [json.loads(line)["changes"] for line in text.splitlines()]


def as_name_status(change: list[str]) -> str:
    status, new, *old = change
    return "\t".join([status, *old, new])


def test_every_pull_request_of_a_real_history(own: Store, tmp_path: Path) -> None:
    changes = history()
    assert len(changes) == 109
    inputs = ["\n".join(item[1] for item in change).encode() for change in changes]
    inputs += ["\n".join(map(as_name_status, change)).encode() for change in changes]
    answers = ask_page(tmp_path / "js", lookup_data(own, "afd-plugin", str), inputs)
    assert [answer["rules"] != [] for answer in answers].count(True) > 100
    assert answers == [ask_command(own, "afd-plugin", text, diff=False) for text in inputs]


def test_a_thousand_pairs_of_patterns_and_paths(tmp_path: Path) -> None:
    random.seed(6)
    names = ["a", "b.py", "test_x.py", "src", "gen", "x-y_z", "é", "控制面", "𝒳.md", ".hidden", "a[b]", "UPPER.Py"]
    pieces = ["*", "**", "?", "[a-c]", "[!a]", "{a,src}", "*.py", "test_*", "*_z", "x*y*", "[\\]a]", "a*b?", *names]
    pairs = []
    while len(pairs) < 1000:
        text = "/".join(random.choices(pieces, k=random.randint(1, 4)))
        text = random.choice(["", "", "/", "!"]) + text + random.choice(["", "", "/", "/**"])
        try:
            parse(text)
        except PatternError:
            continue
        others = [random.choice(pieces)] if random.random() < 0.5 else []
        pairs.append((compile_patterns([*others, text]), "/".join(random.choices(names, k=random.randint(1, 5)))))
    found = run_scripts(tmp_path / "js", patterns=[[listed.to_data(), path] for listed, path in pairs])
    expected = []
    for listed, path in pairs:
        pattern = listed.match(path)
        place = -1 if pattern is None else max(i for i, item in enumerate(listed.patterns) if item is pattern)
        expected.append([place, place])
    assert found == expected
    assert sum(place >= 0 for place, _ in expected) > 100


PYTHON_BEFORE = '''\
"""Module text that names parse_config."""
import os
from a import (
    b,
    parse_config,
)


class Reader:
    """About parse_config."""

    @staticmethod
    def read(path):
        """parse_config stands in a docstring.

        parse_config again.
        """
        # parse_config in a comment
        return parse_config(path, r"\\\\d", f"{path}")

    def write(self, value): return value


def parse_config(path):
    text = """not
a docstring: parse_config
"""
    if text:
        def inner():
            "docstring with parse_config"
            return 1
        return inner
    return [
        path,
    ]
'''
RULES = {
    "rules/demo/A-1.md": rule("A-1", look_for='[{identifiers: [parse_config, "Reader.read"]}]', tags="[ci]"),
    "rules/demo/A-2.md": rule("A-2", look_for='[{functions: ["Reader.*", "inner"], on: added}]', severity="error"),
    "rules/demo/A-3.md": rule(
        "A-3",
        applies_to='["**", "!docs/"]',
        look_for="[{lines: ['\\breturn\\s+\\w+\\(', '^\\s*}$'], inside: ['src/**']}, {changes: [renamed, deleted]}]",
        co_changes="[{when: {changes: [added, modified, renamed], inside: ['src/*.py']}, then: [README.md], because: x}]",
    ),
    "rules/demo/A-4.md": rule("A-4", body="`Reader.read` and `parse_config()` are cited.\n"),
    "rules/demo/A-10.md": rule("A-10", look_for="[]", applies_to='["*.py", "*.[ch]", "x[yz]?/**"]'),
    "rules/demo/A-5.md": rule(
        "A-5",
        applies_to='["elsewhere/**"]',
        sources='["demo@0123456789012345678901234567890123456789:src/a.py#L3-L9"]',
    ),
    "reviews/owner/name/12.md": "---\nid: owner/name#12\ntitle: T\nrepo: owner/name\npr: 12\nlabels: [CI]\ntouches: ['src/*.py']\n---\nX.\n",
    "waivers/demo/7.md": "---\ntitle: W\nrepo: demo\npr: 7\nrule: A-10\npatches: [{path: src/a.py}]\n---\nX.\n",
}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Store]:
    """A knowledge base with every kind of signal."""
    with open_store(str(make_kb(tmp_path / "made", RULES)), str(tmp_path / "cache")) as store:
        yield store


def diffs(tmp_path: Path) -> list[bytes]:
    """Diffs of Python and C files, whole and in part."""
    repo = GitRepo(tmp_path / "target")
    edited = (
        PYTHON_BEFORE.replace("return value", "return parse_config(value)")
        .replace("import os\n", "")
        .replace("class Reader:", "import os\n\n\nclass Reader:")
    )
    c = "int f(int a)\n{\n  if (a) {\n    return g(a);\n  }\n}\n\nstruct s {\n  int x;\n};\n" * 3
    trees: list[dict[str, str | None]] = [
        {"src/a.py": PYTHON_BEFORE, "src/b.c": c, "docs/x.md": "a\n" * 20},
        {"src/a.py": edited, "src/b.c": c.replace("int x", "int y")},
        {"src/a.py": None, "src/m.py": edited, "docs/x.md": "b\n" * 20},
        {
            "src/m.py": edited.replace("path", "place"),
            "xy1/z.h": "int f(int a)\n{\n  return g(a);\n}\n",
            "README.md": "x\n",
        },
        {"src/m.py": None, "src/broken.py": "def f(:\n    parse_config(\n"},
        {"src/t.py": "class A:\n\tdef f(self):\n\t\treturn '''\n'''  # x\n\n\n@deco(\n  1)\ndef g():\n  pass\n"},
    ]
    commits = [repo.commit(tree) for tree in trees]
    found = [repo.git("show", "-M", commit) for commit in commits]
    found += [repo.git("diff", "-M", f"-U{n}", commits[0], commits[-1]) for n in (0, 1, 3, 50)]
    return [text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape") for text in found]


def test_diffs_with_every_kind_of_signal(made: Store, tmp_path: Path) -> None:
    inputs = diffs(tmp_path)
    answers = ask_page(tmp_path / "js", lookup_data(made, "demo", str), inputs)
    assert answers == [ask_command(made, "demo", text, diff=True) for text in inputs]
    kinds = {reason["kind"] for answer in answers for found in answer["rules"] for reason in found["reasons"]}
    assert kinds == {"path", "identifier", "function", "line", "source", "cochange"}
    assert any(found["missing_cochanges"] for answer in answers for found in answer["rules"])
    assert any(found["waived_by"] for answer in answers for found in answer["rules"])


def test_diffs_of_other_programs_and_damaged_ones(made: Store, tmp_path: Path) -> None:
    texts = [case[0] for case in (*OTHERS.values(), *BROKEN.values())]
    inputs = [text if isinstance(text, bytes) else text.encode() for text in texts]
    # No file is shown whole: whether Python could parse damaged text, the page does not know.
    whole = diffs(tmp_path)[1]
    random.seed(3)
    inputs += [whole[: random.randrange(len(whole))] for _ in range(40)]
    for _ in range(40):
        place = random.randrange(len(whole))
        inputs.append(whole[:place] + bytes(random.choices(range(256), k=3)) + whole[place + 3 :])
    inputs = [text for text in inputs if re.search(rb"(?m)^(?:diff --git |Index: |--- .*\n\+\+\+ )", text)]
    answers = ask_page(tmp_path / "js", lookup_data(made, "demo", str), inputs)
    for text, answer in zip(inputs, answers, strict=True):
        expected = ask_command(made, "demo", text, diff=True)
        assert ("error" in answer) == ("error" in expected), text
        if "error" not in expected:
            assert answer == expected, text


def test_names_that_git_quotes(made: Store, tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "odd")
    inputs = []
    for before, after, options, _ in CASES.values():
        first = repo.snapshot(before)
        second = repo.snapshot(after)
        inputs.append(repo.git("diff", *options, first, second))
    texts = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape") for text in inputs]
    texts = [text for text in texts if text]
    answers = ask_page(tmp_path / "js", lookup_data(made, "demo", str), texts)
    assert answers == [ask_command(made, "demo", text, diff=True) for text in texts]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (b"", False),
        (b"\n", False),
        (b"a\0b\n", True),
        (b"\x00\xff" * 50, False),
        (b"../up\n", True),
        (b"/etc/x", True),
        (b"./a//b/../c", False),
    ],
)
def test_lists_of_paths(made: Store, tmp_path: Path, text: bytes, wrong: bool) -> None:
    (answer,) = ask_page(tmp_path / "js", lookup_data(made, "demo", str), [text])
    assert ("error" in answer) is wrong
    if not wrong and b"\0" not in text:
        assert answer == ask_command(made, "demo", text, diff=False)
