"""The look-up page's scripts against the command: the same answers to the same questions."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asking import edit
from gitrepo import EXECUTABLE, FILE, SYMLINK, Entry, GitRepo
from kb import make_kb, rule
from rulebook.model import Kind
from rulebook.patterns.syntax import PatternError, compile_patterns, parse
from rulebook.regexes import compile_bounded
from rulebook.site.lookup import lookup_data
from rulebook.store.opening import open_store
from sitekit import ROOT, ask_command, ask_command_for_texts, ask_page, ask_page_for_texts, needs_node, run_scripts
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


def test_long_lines_are_looked_at_as_far_and_told_alike(tmp_path: Path) -> None:
    limit = compile_bounded("a*a*a*b").limit
    signals = {
        "L-10": "[{lines: 'a*a*a*b'}]",
        "L-9": "[{lines: ['needle', 'a*a*b'], on: added}]",
        "L-8": "[{identifiers: [needle]}]",
        "L-7": "[{lines: 'needle', functions: ['r*a*d', '*', 'x*']}]",
        "L-6": "[]",
    }
    change = "[{when: {lines: 'a*a*a*b'}, then: [README.md], because: x}]"
    files = {
        f"rules/demo/{name}.md": rule(
            name, look_for=text, applies_to='["**"]', **({"co_changes": change} if name == "L-6" else {})
        )
        for name, text in signals.items()
    }
    lines = ["ab", "x", *("." * (limit + more) + "ab" for more in (-3, -2, -1, 0)), "𝒳" * (limit - 2) + "ab"]
    lines += ["𝒳" * limit + "ab", "." * 1_990 + "needle", "." * 2_000 + " needle ", "y" * 2_500]
    texts = [[one] for one in lines] + [lines, lines[:1] + lines[4:], ["y" * 2_500, "x" * 3_000]]
    inputs = [edit(path, added=added).encode() for added in texts for path in ("a.txt", "src/控制 \u202e\x7f.py")]
    with open_store(str(make_kb(tmp_path / "long", files)), str(tmp_path / "cache")) as store:
        answers = ask_page(tmp_path / "js", lookup_data(store, "demo", str), inputs)
        assert answers == [ask_command(store, "demo", text, diff=True) for text in inputs]
    notes = {note for answer in answers for note in answer["notes"]}
    assert any("What L-6, L-9, L-10 look for" in note for note in notes)
    assert any(f"{limit} of {limit + 2} characters" in note for note in notes)
    assert any(f"{limit} of 2,500 characters" in note for note in notes)


@pytest.mark.parametrize("wanted", ["f", "*", "f*", "*f", "f*f", "*a*b*", "a*b*a*", "**", "a**b", "aa*aa"])
def test_wildcards_in_names_of_functions_mean_the_same(wanted: str, tmp_path: Path) -> None:
    names = ["f", "ff", "fxf", "a", "ab", "ba", "aab", "xaxbx", "aba", "ababa", "aaa", "aaaa", "b"]
    inputs = [edit("a.py", added=[f"def {name}():", "    return 1"]).encode() for name in names]
    files = {"rules/demo/F-1.md": rule("F-1", look_for=f'[{{functions: ["{wanted}"]}}]', applies_to='["**"]')}
    with open_store(str(make_kb(tmp_path / "kb", files)), str(tmp_path / "cache")) as store:
        answers = ask_page(tmp_path / "js", lookup_data(store, "demo", str), inputs)
        assert answers == [ask_command(store, "demo", text, diff=True) for text in inputs]
    direct = [name for name, answer in zip(names, answers, strict=True) if answer["rules"][0]["relevance"] == "direct"]
    assert direct == [name for name in names if re.fullmatch(wanted.replace("*", ".*"), name)]


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


def test_what_is_taken_along_is_what_the_command_writes(made: Store, own: Store, tmp_path: Path) -> None:
    odd = [
        "xy1/\u202e@me #12 `x` ``y.h",
        "src/控制面 \U0001f600.py",
        "src/__init__.py",
        "1.py",
        "x|y.py",
        "<b>&amp;.py",
    ]
    lists = ["\n".join(odd), "\n".join(f"none/{number}" for number in range(1200)), "", "README.md"]
    for store, repo, texts in ((made, "demo", diffs(tmp_path)), (own, "afd-plugin", [])):
        data = lookup_data(store, repo, str)
        expected = [ask_command_for_texts(store, repo, text, diff=True) for text in texts]
        expected += [ask_command_for_texts(store, repo, text.encode(), diff=False) for text in lists]
        inputs = [*texts, *(text.encode() for text in lists)]
        assert ask_page_for_texts(tmp_path / "js", data, inputs) == expected


# --- changes made by chance -------------------------------------------------------------------

#: Statements of Python in which definitions, documentation strings and signals meet; each is whole by itself.
STATEMENTS = (
    "import os\nfrom a import (\n    b,\n    parse_config,\n)\n",
    'def read(path):\n    """About parse_config."""\n    return parse_config(path)\n',
    'class Reader:\n    """Text.\n\n    parse_config\n    """\n\n    @staticmethod\n    def read(path):\n        return load(path)\n',
    "async def write(\n    value,\n    *rest,\n) -> None:\n    await Reader.read(value)\n",
    "if flag:\n    def inner():\n        'parse_config'\n        return g(1)\nelse:\n    x = '''a\n# b'''  # c\n",
    "@deco(\n    1,\n)\nclass A: x = 1; y = parse_config(2)\n",
    "def f(): return '#'; x = 1\n",
    "try:\n    class B(A):\n        def g(self):\n            pass\nexcept E:\n    控制 = Legacy.run(\\\n        1)\n",
    "'''not a docstring: parse_config'''\n",
    "value = TODO(1)\n\n\n",
    "# parse_config in a comment\n",
    "x = [\n    1,\n]\n\nif x:\n\treturn_ = f\"{parse_config('a')}\"\n",
)
LINES = (
    *(
        "int f(int a)",
        "{",
        "  return g(a);",
        "}",
        "struct s {",
        "};",
        "parse_config()",
        "",
        "x\ty",
        "TODO: 控制面",
        "\x0c",
    ),
    *(
        "legacy.run",
        "Legacy.run(1)",
        "--- a/x",
        "+++ b/x",
        "@@ -1 +1 @@",
        "diff --git a/x b/x",
        "-- ",
        "x" * 2100 + " TODO",
    ),
)
PATHS = (
    *("src/a.py", "src/gen/b.py", "src/b.c", "src/x.go", "README.md", "docs/控制 面.md", "xy1/z.h", "a b/c d.js"),
    *('src/"q".c', "src/tab\tx.h", b"src/na\xefve.txt", "src/\U0001f600.pyi", "b/a/x.md", "tests/t.py"),
)
KINDS = {
    "rules/demo/K-1.md": rule(
        "K-1", applies_to='["*.py", "*.pyi"]', look_for="[{identifiers: [parse_config, Legacy.run]}]"
    ),
    "rules/demo/K-2.md": rule("K-2", look_for="[{identifiers: [控制, g], on: removed}]", severity="note"),
    "rules/demo/K-3.md": rule("K-3", look_for='[{functions: ["Reader.*", f, "*"], lines: "return", on: added}]'),
    "rules/demo/K-4.md": rule(
        "K-4", applies_to='["**"]', look_for="[{lines: ['(?i)\\blegacy\\.', '^\\s*$', 'TODO\\W']}]"
    ),
    "rules/demo/K-5.md": rule(
        "K-5", applies_to='["**"]', look_for="[{lines: '(?<=\\()[^)]+(?=\\))', identifiers: [g, f]}]"
    ),
    "rules/demo/K-6.md": rule("K-6", applies_to='["**", "!docs/**"]', look_for="[{changes: [added, copied, renamed]}]"),
    "rules/demo/K-7.md": rule("K-7", look_for="[{changes: [modified, mode, binary], inside: ['*.[ch]']}]", tags="[ci]"),
    "rules/demo/K-8.md": rule("K-8", applies_to='["docs/**", "b/"]', look_for="[]", status="contested"),
    "rules/demo/K-9.md": rule("K-9", applies_to='["*.{js,go}"]', body="`parse_config` and `Legacy.run` are cited.\n"),
    "rules/demo/K-10.md": rule(
        "K-10",
        applies_to='["**/x*"]',
        look_for="[{functions: ['s', 'g'], inside: ['xy?/**']}]",
        co_changes="[{when: {identifiers: [TODO]}, then: ['docs/', '*.py']}, {when: ['src/**'], then: ['CHANGES.md'], because: 'it is read'}]",
    ),
    "rules/demo/K-11.md": rule(
        "K-11",
        applies_to='["elsewhere"]',
        sources='["demo@0123456789012345678901234567890123456789:src/a.py#read", "demo@0123456789012345678901234567890123456789:src/b.c#L2-L3"]',
    ),
    "reviews/owner/name/12.md": RULES["reviews/owner/name/12.md"],
    "waivers/demo/7.md": "---\ntitle: W\nrepo: demo\npr: 7\nrule: K-3\npatches: [{path: src/a.py}]\n---\nX.\n",
}


@st.composite
def contents(draw: st.DrawFn, path: str | bytes) -> bytes | Entry:
    name = path.decode("latin-1") if isinstance(path, bytes) else path
    if name.endswith((".py", ".pyi")):
        text = "".join(draw(st.lists(st.sampled_from(STATEMENTS), max_size=5)))
        data = text.encode()
    else:
        data = "\n".join(draw(st.lists(st.sampled_from(LINES), max_size=8))).encode()
        data += draw(st.sampled_from([b"", b"\n", b"\n", b"\xff\xfe x\n", b"\0\1"]))
    if draw(st.integers(0, 5)) == 0:
        data = data.replace(b"\n", b"\r\n")
    mode = draw(st.sampled_from([FILE] * 6 + [EXECUTABLE]))
    if not name.endswith((".py", ".pyi")) and draw(st.integers(0, 11)) == 0:
        return Entry(SYMLINK, "src/a.py")
    return Entry(mode, data)


@st.composite
def trees(draw: st.DrawFn) -> tuple[dict[str | bytes, bytes | Entry], dict[str | bytes, bytes | Entry]]:
    """Two versions of a repository, between which files are edited, moved, copied, added and removed."""
    before = {path: draw(contents(path)) for path in draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=7))}
    after = dict(before)
    for path in draw(st.lists(st.sampled_from(PATHS), unique=True, min_size=1, max_size=6)):
        fate = draw(st.sampled_from(["edit", "remove", "move", "copy"]))
        if fate in ("move", "copy") and before:
            origin = draw(st.sampled_from(sorted(before, key=repr)))
            # What is Python stays Python: the page says that it knows nothing of what Python cannot parse.
            if repr(origin).rstrip("'").endswith(("py", "pyi")) != repr(path).rstrip("'").endswith(("py", "pyi")):
                continue
            after[path] = before[origin]
            if fate == "move" and origin != path:
                after.pop(origin, None)
        elif fate == "remove":
            after.pop(path, None)
        else:
            after[path] = draw(contents(path))
    return before, after


CUT_PYTHON = re.compile(rb'(?s)\.pyi?"?\n(?!.*\ndiff --git ).*[^\n]\Z')
OPTIONS = st.lists(
    st.sampled_from(["-M", "-C", "--find-copies-harder", "-U0", "-U9", "-W", "--no-prefix", "--binary", "-R", "-w"]),
    unique=True,
    max_size=4,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(versions=trees(), options=OPTIONS, cuts=st.lists(st.floats(0, 1), max_size=3))
def test_changes_made_by_chance(
    target: GitRepo, kinds: Store, scripts: Path, versions: tuple[dict, dict], options: list[str], cuts: list[float]
) -> None:
    before, after = (target.snapshot(tree) for tree in versions)
    whole = target.git("diff", *options, before, after)
    inputs = [(whole, True)] + [(whole[: round(cut * len(whole))], True) for cut in cuts]
    inputs += [(target.git("diff", "-M", "--name-status", before, after), False)]
    inputs += [(target.git("diff", "-M", "--name-only", "-z", before, after), False)]
    # Without a header a beginning is no diff to the page, which takes both; and nothing at all is not asked.
    inputs = [item for item in inputs if item[0] and (not item[1] or re.match(rb"diff --git [^\n]*\n", item[0]))]
    answers = ask_page(scripts, lookup_data(kinds, "demo", str), [text for text, _ in inputs])
    for (text, diff), answer in zip(inputs, answers, strict=True):
        expected = ask_command(kinds, "demo", text, diff=diff)
        assert ("error" in answer) == ("error" in expected), text
        # Whether Python can parse a file whose last line is cut, the page knows in part.
        if "error" not in expected and not CUT_PYTHON.search(text):
            assert answer == expected, text


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    return GitRepo(tmp_path_factory.mktemp("target") / "repo")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A knowledge base with every kind of signal, alone and together."""
    folder = tmp_path_factory.mktemp("kinds")
    with open_store(str(make_kb(folder, KINDS)), str(folder / "cache")) as store:
        assert store.count(Kind.RULE, "demo") == 11
        yield store


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("js") / "js"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (b"", False),
        (b"\n", False),
        (b"a\0b\n", True),
        (b"a\0b\0", False),
        (b"x" * 4096, False),
        (b"x" * 4097, True),
        (("\U0001f600" * 4096).encode(), False),
        (b"\x00\xff" * 50, False),
        (b"../up\n", True),
        (b"/etc/x", True),
        (b"./a//b/../c", False),
    ],
)
def test_lists_of_paths(made: Store, tmp_path: Path, text: bytes, wrong: bool) -> None:
    (answer,) = ask_page(tmp_path / "js", lookup_data(made, "demo", str), [text])
    assert ("error" in answer) is wrong
    if not wrong or b"\0" not in text:
        assert answer == ask_command(made, "demo", text, diff=False)
