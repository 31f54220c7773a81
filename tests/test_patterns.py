"""Patterns: what they match, against git and pathspec; what is refused; why a path is missed."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import PathSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from rulebook.patterns import compiled, explanation, syntax
from rulebook.patterns import lint as linter
from rulebook.patterns.compiled import Pattern, PatternList, specificity
from rulebook.patterns.explanation import Outcome, explain
from rulebook.patterns.lint import lint
from rulebook.patterns.syntax import PatternError, compile_patterns, parse, parse_list


def matches(pattern: str, path: str) -> bool:
    return parse(pattern).matches(path)


# --- single patterns --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "covered", "left_out"),
    [
        # What the format promises, line by line.
        pytest.param("**/*.py", ["main.py", "a/main.py", "a/b/.x.py"], ["main.pyc", "py"], id="globstar-takes-root"),
        pytest.param("src/**/*", ["src/.deploy/x", "src/.env", "src/a"], ["src", "lib/src/a"], id="dot-files"),
        pytest.param("src/gen", ["src/gen", "src/gen/a", "src/gen/a/b"], ["a/src/gen", "src/gene"], id="folder"),
        pytest.param("src/gen/", ["src/gen/a", "src/gen/a/b"], ["src/gen", "src/gene/a"], id="folder-slash"),
        pytest.param("gen/", ["gen/a", "src/gen/a/b"], ["gen", "src/gen"], id="folder-slash-any-depth"),
        pytest.param("src/*.py", ["src/a.py", "src/.py"], ["src/a/b.py", "src/a.pyc"], id="star-stays-in-folder"),
        pytest.param("src/?.py", ["src/a.py", "src/中.py"], ["src/ab.py", "src/.py"], id="question-mark"),
        pytest.param("a?b", ["aXb"], ["a/b", "ab"], id="question-mark-stays-in-folder"),
        pytest.param("README.md", ["README.md", "a/README.md", "README.md/x"], ["readme.md"], id="any-depth"),
        pytest.param("/README.md", ["README.md"], ["a/README.md"], id="root-only"),
        pytest.param("./README.md", ["README.md"], ["a/README.md"], id="dot-slash-is-root"),
        pytest.param("././a/b", ["a/b"], ["c/a/b"], id="dot-slash-twice"),
        pytest.param("docs/a.md", ["docs/a.md"], ["x/docs/a.md"], id="inner-slash-anchors"),
        pytest.param("a/**/b", ["a/b", "a/x/b", "a/x/y/b/z"], ["a", "xa/b", "a/xb"], id="globstar-between"),
        pytest.param("src/**", ["src/a", "src/a/b"], ["src", "a/src/b"], id="globstar-at-end"),
        pytest.param("**", ["a", "a/b"], [], id="everything"),
        pytest.param("**/", ["a/b"], ["a"], id="everything-in-folders"),
        pytest.param("*", ["a", "a/b"], [], id="star-names-folders-too"),
        pytest.param("src/*", ["src/a", "src/a/b"], ["src"], id="star-names-folders-too-below"),
        pytest.param("a/**/", ["a/x/y"], ["a/x", "a"], id="folders-below"),
        pytest.param("a/***/b", ["a/b", "a/x/y/b"], ["ab"], id="three-stars"),
        pytest.param("a**b", ["ab", "axb"], ["a/b"], id="two-stars-inside-a-name"),
        pytest.param("b**/src", ["b/src", "ba/src"], ["ba/x/src", "b/x/src"], id="two-stars-behind-a-name"),
        pytest.param("**/a/**/b/*.c", ["a/b/x.c", "q/a/q/b/x.c", "a/b/b/x.c"], ["b/a/x.c", "a/b/c/x.h"], id="blocks"),
        pytest.param("test_*_gpu*.py", ["test_x_gpu.py", "test__gpu_1.py"], ["test_gpu.py"], id="several-stars"),
        pytest.param("*a*", ["a", "xax"], ["x"], id="stars-around"),
        pytest.param("ab*ba", ["abba", "abxba"], ["aba"], id="chunks-do-not-overlap"),
        pytest.param("*ab*ab", ["abab", "xabab"], ["ab", "xab"], id="chunks-in-order"),
        # Braces.
        pytest.param("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.t", "a.{ts,tsx}"], id="braces"),
        pytest.param("{src,lib/{a,b}}/x", ["src/x", "lib/a/x", "lib/b/x"], ["lib/x", "src/a/x"], id="nested-braces"),
        pytest.param("src/{,gen/}x", ["src/x", "src/gen/x"], ["src/gen/gen/x"], id="empty-branch"),
        pytest.param("{a/b,c}", ["a/b", "c", "x/c"], ["x/a/b"], id="each-branch-anchors-for-itself"),
        pytest.param("{./a,b}", ["a", "b", "x/b"], ["x/a"], id="dot-slash-in-a-branch"),
        pytest.param("{{cookiecutter.slug}}/*.py", ["{{cookiecutter.slug}}/a.py"], ["a.py"], id="braces-sans-comma"),
        pytest.param("{a{b,c}}", ["{ab}", "{ac}"], ["ab"], id="braces-sans-comma-around"),
        pytest.param("{[,],x}", [",", "x"], ["["], id="class-inside-braces"),
        # Classes.
        pytest.param("[abc].py", ["a.py", "[abc].py"], ["d.py", "abc.py"], id="class"),
        pytest.param("v[0-9]", ["v0", "v9"], ["v", "va", "v10"], id="range"),
        pytest.param("v[!0-9]", ["va"], ["v0", "v", "v/x"], id="negated-class"),
        pytest.param("v[^0-9]", ["va"], ["v0"], id="caret"),
        pytest.param("[]a]x", ["]x", "ax"], ["x"], id="bracket-first"),
        pytest.param("[a-]x", ["-x", "ax"], ["bx"], id="dash-last"),
        pytest.param("[a-c-e]x", ["bx", "-x", "ex"], ["dx"], id="dash-after-range"),
        pytest.param("[z-a]x", ["zx", "[z-a]x"], ["ax", "mx"], id="range-backwards"),
        pytest.param(r"[\]\-]x", ["]x", "-x"], ["\\x"], id="escapes-in-a-class"),
        pytest.param(r"[!-\]]x", ["ax"], ["-x", "]x"], id="escaped-bracket-in-a-class"),
        pytest.param(r"[+-\]]x", ["]x", "Ax"], ["ax", "\\~x"], id="range-to-an-escape"),
        pytest.param("[[:digit:]_]*", ["1a", "_"], ["a1"], id="posix-class"),
        pytest.param("[[:x]*", [":", "[a", "x"], ["a"], id="not-quite-a-posix-class"),
        pytest.param("?[ab]*[cd]?", ["xacx", "xb--dx"], ["xcdx", "xac"], id="class-and-wildcards"),
        # Literal brackets, and what is taken as it is.
        pytest.param("pages/[id].tsx", ["pages/[id].tsx", "pages/i.tsx"], ["pages/id.tsx"], id="literal-brackets"),
        pytest.param("app/[slug]/page.tsx", ["app/[slug]/page.tsx"], ["app/slug/page.tsx"], id="literal-folder"),
        pytest.param("app/[[...slug]]/*.ts", ["app/[[...slug]]/a.ts"], ["app/slug/a.ts"], id="catch-all-route"),
        pytest.param("[ab]/[id].ts", ["a/[id].ts", "[ab]/i.ts"], ["c/i.ts"], id="brackets-part-by-part"),
        pytest.param(r"pages/\[id\].tsx", ["pages/[id].tsx"], ["pages/i.tsx"], id="escaped-brackets"),
        pytest.param(r"\*.py", ["*.py"], ["a.py"], id="escaped-star"),
        pytest.param(r"\*\*/x", ["**/x"], ["a/x", "x"], id="escaped-globstar"),
        pytest.param(r"a\,b", ["a,b"], ["a", "b"], id="escaped-comma"),
        pytest.param(r"\{a,b\}".replace(",", r"\,"), ["{a,b}"], ["a"], id="escaped-braces"),
        pytest.param(r"\!a", ["!a"], ["a"], id="escaped-bang"),
        pytest.param("#a", ["#a"], ["a"], id="hash-is-no-comment"),
        pytest.param("a  ", ["a"], ["a  "], id="spaces-at-the-end"),
        pytest.param(r"a\ ", ["a "], ["a"], id="escaped-space"),
        pytest.param(r"a\  ", ["a "], ["a"], id="escaped-space-then-spaces"),
        pytest.param(r"a\\ ", ["a\\"], ["a\\ "], id="escaped-backslash-then-space"),
        pytest.param("a+(b)$^|.c", ["a+(b)$^|.c"], ["a+(b)$^|xc"], id="nothing-else-is-special"),
        pytest.param("文档/**/*.md", ["文档/说明.md"], ["docs/说明.md"], id="any-script"),
        pytest.param("Src/A.py", ["Src/A.py"], ["src/a.py"], id="case-sensitive"),
    ],
)
def test_pattern_covers(pattern: str, covered: list[str], left_out: list[str]) -> None:
    compiled = parse(pattern)
    assert [path for path in covered if not compiled.matches(path)] == []
    assert [path for path in left_out if compiled.matches(path)] == []


@pytest.mark.parametrize(
    ("pattern", "anchored", "folder", "negated"),
    [
        ("src/a", True, False, False),
        ("/a", True, False, False),
        ("a", False, False, False),
        ("a/", False, True, False),
        ("**/a", False, False, False),
        ("!/a/", True, True, True),
        ("{a/b,c}", False, False, False),
        ("{a/,b}", False, False, False),
    ],
)
def test_flags(pattern: str, anchored: bool, folder: bool, negated: bool) -> None:
    compiled = parse(pattern)
    assert (compiled.text, compiled.anchored, compiled.folder, compiled.negated) == (pattern, anchored, folder, negated)


@pytest.mark.parametrize(
    ("pattern", "code", "remedy"),
    [
        pytest.param("", "pattern-empty", "**", id="empty"),
        pytest.param("  ", "pattern-empty", "**", id="spaces"),
        pytest.param("!", "pattern-empty", "**", id="bang-alone"),
        pytest.param("/", "pattern-empty", "**", id="slash-alone"),
        pytest.param("./", "pattern-empty", "**", id="dot-slash-alone"),
        pytest.param(".", "pattern-empty", "**", id="dot-alone"),
        pytest.param("{a,}", "pattern-empty", "**", id="empty-branch-alone"),
        pytest.param("a//b", "pattern-empty-segment", "/**/", id="two-slashes"),
        pytest.param("//a", "pattern-empty-segment", "one slash", id="two-slashes-first"),
        pytest.param("a//", "pattern-empty-segment", "one slash", id="two-slashes-last"),
        pytest.param("src/{,a}/b", "pattern-empty-segment", "one slash", id="two-slashes-from-braces"),
        pytest.param("../x", "pattern-dot-segment", "root", id="leaves-the-root"),
        pytest.param("a/../b", "pattern-dot-segment", "root", id="up-again"),
        pytest.param("a/./b", "pattern-dot-segment", "root", id="dot-inside"),
        pytest.param("a,b", "pattern-comma", '["a", "b"]', id="comma"),
        pytest.param("src/**, !lib/{a,b}, ", "pattern-comma", '["src/**", "!lib/{a,b}"]', id="comma-and-braces"),
        pytest.param("!a,b", "pattern-comma", '["!a", "!b"]', id="comma-negated"),
        pytest.param("a\nb", "pattern-control-character", "list", id="newline"),
        pytest.param("a\x1bb", "pattern-control-character", "Take it out", id="escape-character"),
        pytest.param("a\ud800", "pattern-control-character", "Take it out", id="surrogate"),
        pytest.param("C:/src/a.py", "pattern-absolute", "root", id="windows-drive"),
        pytest.param("c:\\src", "pattern-absolute", "root", id="windows-drive-backslash"),
        pytest.param("src\\gen", "pattern-backslash", "`/`", id="backslash-as-separator"),
        pytest.param("\\\\server\\share", "pattern-backslash", "`/`", id="network-share"),
        pytest.param("src\\", "pattern-backslash", "`/`", id="backslash-last"),
        pytest.param(r"[\d]", "pattern-backslash", "`/`", id="regular-expression-in-a-class"),
        pytest.param("a[b", "pattern-class", r"\[", id="class-open"),
        pytest.param("a[]", "pattern-class", r"\[", id="class-with-nothing"),
        pytest.param("a[!", "pattern-class", r"\[", id="class-open-after-bang"),
        pytest.param("a[b-", "pattern-class", r"\[", id="class-open-after-dash"),
        pytest.param("a[b/c]", "pattern-class", r"\[", id="class-over-a-slash"),
        pytest.param("{a,[b}", "pattern-class", r"\[", id="class-open-in-braces"),
        pytest.param("[[:word:]]", "pattern-class", "alnum", id="class-unknown"),
        pytest.param("a{b,c", "pattern-brace", r"\{", id="brace-open"),
        pytest.param("a}b", "pattern-brace", r"\}", id="brace-not-opened"),
        pytest.param("{a,b}" * 9, "pattern-expansions", "wildcard", id="braces-multiply"),
        pytest.param("{" + ",".join("a" * 257) + "}", "pattern-expansions", "wildcard", id="braces-add"),
        pytest.param("a" * 1025, "pattern-too-long", "list", id="too-long"),
    ],
)
def test_refused(pattern: str, code: str, remedy: str) -> None:
    with pytest.raises(PatternError) as caught:
        parse(pattern)
    assert caught.value.code == code
    assert remedy in caught.value.remedy
    assert caught.value.message.endswith(".")
    assert caught.value.remedy.endswith((".", "comma."))


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        pytest.param("**/" * 300 + "x", "/".join("a" * 2000), id="globstars"),
        pytest.param("**/a/" * 150 + "x", "/".join("a" * 2000), id="globstars-and-names"),
        pytest.param("*a" * 400 + "b", "a" * 4000, id="stars"),
        pytest.param("*?" * 400 + "b", "a" * 4000, id="stars-and-question-marks"),
        pytest.param("[a-c]*" * 150 + "b", "a" * 4000 + "c", id="stars-and-classes"),
        pytest.param("{" * 500 + "}" * 500, "a", id="braces-nested"),
        pytest.param("{a,b}" * 8, "ab" * 4, id="braces-in-a-row"),
    ],
)
def test_no_pattern_explodes(pattern: str, path: str) -> None:
    parse(pattern).matches(path)
    explain([parse(pattern)], path)
    # Backtracking would take longer than anyone has lived: the test ends, or it does not.


# --- lists ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "path", "decided"),
    [
        (["operator/**", "!operator/cli/**"], "docs/x.md", None),
        (["operator/**", "!operator/cli/**"], "operator/a.go", "operator/**"),
        (["operator/**", "!operator/cli/**"], "operator/cli/b.go", None),
        (["!operator/cli/**", "operator/**"], "operator/cli/b.go", "operator/**"),
        (["src/**", "!src/gen/", "src/gen/keep.py"], "src/gen/keep.py", "src/gen/keep.py"),
        (["src/**", "!src/gen/", "src/gen/keep.py"], "src/gen/other.py", None),
        (["src/a/b.py", "!src/"], "src/a/b.py", None),
        (["src/**", "*.py"], "src/a.py", "*.py"),
        (["!a"], "b", None),
        (["*", "!*.{md,txt}"], "a.txt", None),
        ([], "a", None),
    ],
)
def test_last_match_wins(texts: list[str], path: str, decided: str | None) -> None:
    pattern = parse_list(texts).match(path)
    assert (pattern and pattern.text) == decided


def test_compiling_leaves_out_what_cannot_be_read() -> None:
    listed = compile_patterns(["src/**", "a//b", "!src/gen/"])
    assert [pattern.text for pattern in listed.patterns] == ["src/**", "!src/gen/"]
    with pytest.raises(PatternError):
        parse_list(["src/**", "a//b"])


# --- agreement with git and pathspec ----------------------------------------------------------

NAMES = ["a", "b", "ab", "ba", "abc", "a.py", "b.py", ".a", "test_a.py", "src", "a-b", "x_1.py"]
PIECES = ["a", "b", ".", "py", "_", "-", "*", "**", "?", "src", "test_"]
CLASSES = [
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[]a]",
    "[!]]",
    "[a-]",
    "[[:alpha:]]",
    "[z-a]",
    r"[\a-c]".replace("\\a", "a"),
]


def random_pattern(source: random.Random, pieces: list[str]) -> str:
    segments = []
    for _ in range(source.choice([1, 1, 2, 2, 3, 4])):
        if source.random() < 0.2:
            segments.append("**")
        elif source.random() < 0.3:
            segments.append(source.choice(NAMES))
        else:
            segments.append("".join(source.choices(pieces, k=source.choice([1, 2, 2, 3, 4]))))
    # `.` and `..` are refused here and mean nothing to git.
    segments = ["a" if segment.strip(".") == "" else segment for segment in segments]
    return source.choice(["", "", "/"]) + "/".join(segments) + source.choice(["", "", "/"])


def random_path(source: random.Random) -> str:
    return "/".join(source.choices(NAMES, k=source.choice([1, 2, 2, 3, 3, 4])))


def git_environment(home: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


def ignored_by_git(cases: list[tuple[str, list[str]]], folder: Path) -> list[list[str]]:
    """Which of each pattern's paths git ignores: a folder a pattern, with a .gitignore that holds it alone."""
    environment = git_environment(folder)
    repository = folder / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True, env=environment)
    subprocess.run(["git", "config", "core.ignoreCase", "false"], check=True, env=environment, cwd=repository)
    asked = []
    for number, (pattern, paths) in enumerate(cases):
        (repository / str(number)).mkdir()
        (repository / str(number) / ".gitignore").write_text(pattern + "\n", encoding="utf-8")
        asked += [f"{number}/{path}" for path in paths]
    answer = subprocess.run(
        ["git", "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"],
        check=False,  # 1 says that nothing is ignored
        input="\0".join(asked).encode(),
        stdout=subprocess.PIPE,
        env=environment,
        cwd=repository,
    )
    assert answer.returncode in (0, 1)
    fields = answer.stdout.decode().split("\0")[:-1]
    ignored: list[list[str]] = [[] for _ in cases]
    for source, path in zip(fields[0::4], fields[3::4], strict=True):
        if source:
            number, _, rest = path.partition("/")
            ignored[int(number)].append(rest)
    assert len(fields) == 4 * len(asked)
    return ignored


def follows_gits_manual(pattern: str) -> bool:
    """Git takes the letters before the first wildcard off, and then takes the `**` of `b**/x` for a leading one."""
    before, stars, behind = pattern.partition("**")
    return not (
        stars and before.strip("/") and before[-1] != "/" and "*" not in before and behind.lstrip("*")[:1] == "/"
    )


def test_agrees_with_git(tmp_path: Path) -> None:
    source = random.Random(20260801)
    written = [
        "a", "a/", "/a", "/a/", "a/b", "a/b/", "a/*", "a/**", "a/**/", "**/a", "**/a/**", "a/**/b", "*", "**", "***", "/**", "/*",
        "**/", "*/", "*.py", "/*.py", "a/***/b", "a/**b", "a**/b", "**a", "a/**/**/b", "a/**/*", "**/**", "test_*", "?", "??", "a?",
        "src/**/*.py", ".*", "*.*", "[ab]", "[!a]b", "x_[0-9].py", r"\a.py".replace("\\a", "a"), r"a\-b", "[a-c]*", "*[!b]", "a ", "/a/b ",
    ]  # fmt: skip
    made = list(filter(follows_gits_manual, [random_pattern(source, PIECES + CLASSES) for _ in range(400)]))
    cases = [(pattern, sorted({random_path(source) for _ in range(25)})) for pattern in [*written, *made]]
    expected = ignored_by_git(cases, tmp_path)
    found = [[path for path in paths if matches(pattern, path)] for pattern, paths in cases]
    differing = [
        (pattern, sorted(set(ours) ^ set(gits)))
        for (pattern, _), ours, gits in zip(cases, found, expected, strict=True)
        if ours != gits
    ]
    assert differing == []
    # The comparison is worth something only if there is enough of both answers.
    assert sum(map(len, found)) > 500
    assert sum(len(paths) for _, paths in cases) - sum(map(len, found)) > 500


#: Random choices that hypothesis makes, and makes simpler where a test fails.
sources = st.randoms(use_true_random=False)


def shared_with_pathspec(pattern: str) -> bool:
    segments = pattern.strip("/").split("/")
    odd_globstar = any(len(segment) > 2 and not segment.strip("*") for segment in segments)
    folders_below = pattern.endswith("**/") and len(segments) > 1
    return not odd_globstar and not folders_below


@settings(deadline=None, max_examples=300)
@given(sources)
def test_agrees_with_pathspec(source: random.Random) -> None:
    made = [random_pattern(source, PIECES) for _ in range(source.choice([1, 1, 2, 3, 4]))]
    texts = [source.choice(["", "", "!"]) + pattern for pattern in made if shared_with_pathspec(pattern)]
    theirs = PathSpec.from_lines(GitIgnoreSpecPattern, texts, backend="simple")
    ours = parse_list(texts)
    for _ in range(20):
        path = random_path(source)
        assert (ours.match(path) is not None) == theirs.match_file(path), (texts, path)


@settings(deadline=None)
@given(
    st.recursive(
        st.sampled_from(["a", "b", "/", "*", "src", ".py"]),
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3) | st.tuples(inner, inner) | st.tuples(inner, inner, inner)
        ),
        max_leaves=8,
    ),
    sources,
)
def test_braces_are_the_union_of_what_they_stand_for(tree: object, source: random.Random) -> None:
    def written(node: object) -> str:
        if isinstance(node, str):
            return node
        if isinstance(node, list):
            return "".join(map(written, node))
        assert isinstance(node, tuple)
        return "{" + ",".join(map(written, node)) + "}"

    def meant(node: object) -> list[str]:
        if isinstance(node, str):
            return [node]
        if isinstance(node, tuple):
            return [text for branch in node for text in meant(branch)]
        assert isinstance(node, list)
        texts = [""]
        for part in node:
            texts = [text + more for text in texts for more in meant(part)]
        return texts

    singles = []
    for text in meant(tree):
        try:
            singles.append(parse(text))
        except PatternError:
            with pytest.raises(PatternError):
                parse(written(tree))
            return
    whole = parse(written(tree))
    for _ in range(20):
        path = random_path(source)
        assert whole.matches(path) == any(single.matches(path) for single in singles)


# --- the compiled form ------------------------------------------------------------------------


def run_compiled_form(data: list, path: str) -> bool:  # type: ignore[type-arg]
    """The compiled form, executed as the module's docstring tells, with nothing of the module."""

    def atom(data: object, char: str) -> bool:
        if isinstance(data, str):
            return data == char
        if data == 0:
            return True
        negated, pairs = data  # type: ignore[misc]
        return any(pairs[i] <= char <= pairs[i + 1] for i in range(0, len(pairs), 2)) != bool(negated)

    def glob(chunks: list, name: str) -> bool:  # type: ignore[type-arg]
        first, *rest = chunks
        if len(name) < len(first) or not all(map(atom, first, name)):
            return False
        if not rest:
            return len(name) == len(first)
        name = name[len(first) :]
        *middle, last = rest
        for chunk in middle:
            while not (len(name) >= len(chunk) and all(map(atom, chunk, name))):
                if not name:
                    return False
                name = name[1:]
            name = name[len(chunk) :]
        return len(name) >= len(last) and all(map(atom, last, name[len(name) - len(last) :]))

    def segment(data: object, name: str) -> bool:
        if isinstance(data, str):
            return data == name
        if isinstance(data, dict):
            return data["name"] == name or glob(data["glob"], name)
        return glob(data, name)  # type: ignore[arg-type]

    def alternative(data: list) -> bool:  # type: ignore[type-arg]
        floating, folder, blocks = data
        names = path.split("/")
        if folder:
            names.pop()
        for block in blocks:
            while not (len(names) >= len(block) and all(map(segment, block, names))):
                if not floating or not names:
                    return False
                names.pop(0)
            del names[: len(block)]
            floating = 1
        return True

    return any(map(alternative, data[2]))


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("src/gen/", [0, 1, [["src", "gen"]]]),
        ("!**/test_*.py", [1, 0, [[["test_", ".py"]]]]),
        ("a/**/b?", [0, 0, [["a"], [[["b", 0]]]]]),
        ("a/**", [0, 0, [["a", ["", ""]]]]),
        ("[ab].c", [1, 0, [[{"name": "[ab].c", "glob": [[[0, "aabb"], ".", "c"]]}]]]),
        ("[!a-z_]*", [1, 0, [[[[[1, "az__"]], ""]]]]),
    ],
)
def test_compiled_form_is_as_documented(text: str, data: list) -> None:  # type: ignore[type-arg]
    assert parse(text).to_data() == [text, int(text.startswith("!")), [data]]


@settings(deadline=None, max_examples=200)
@given(sources)
def test_compiled_form_survives_json_and_can_be_executed(source: random.Random) -> None:
    text = source.choice(["", "!"]) + random_pattern(source, [*PIECES, *CLASSES, "{a,b}", "{src/,}"])
    try:
        pattern = parse(text)
    except PatternError:
        return
    data = json.loads(json.dumps(pattern.to_data()))
    assert Pattern.from_data(data) == pattern
    assert PatternList.from_data([data, data]).patterns == (pattern, pattern)
    for _ in range(10):
        path = random_path(source)
        assert run_compiled_form(data, path) == pattern.matches(path), (text, path)


@pytest.mark.parametrize("data", [[], ["a", 0], ["a", 0, [[0, 0]]], ["a", 0, 7], 7])
def test_what_is_no_compiled_form_is_refused(data: object) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        Pattern.from_data(data)  # type: ignore[arg-type]


# --- order ------------------------------------------------------------------------------------


def test_specificity_orders_from_the_whole_tree_to_a_file() -> None:
    texts = ["**", "*.py", "test_*.py", "src/**", "src/*.py", "src/gen/**", "/src/gen/a*.py", "src/gen/a.py"]
    keys = [specificity(parse(text)) for text in texts]
    assert [text for text, one, next_one in zip(texts, keys, keys[1:], strict=False) if one >= next_one] == []


def test_specificity_of_braces_is_that_of_the_widest() -> None:
    assert specificity(parse("{src/gen/a.py,*.py}")) == specificity(parse("*.py"))
    assert specificity(parse("a.py")) < specificity(parse("/a.py"))


# --- why, and why not -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "path", "pattern", "segment", "segment_index", "name", "because"),
    [
        (["src/gen/*.py"], "src/gen/a.txt", "src/gen/*.py", "*.py", 2, "a.txt", "`*.py` is not met by `a.txt`"),
        (["lib/**", "src/a/**/x.c"], "src/a/b/y.c", "src/a/**/x.c", "x.c", 3, "", "no part of the path meets `x.c`"),
        (["lib/**", "src/b/**"], "src/a/c", "src/b/**", "b", 1, "a", "its part `b` is not met by `a`"),
        (["src/b/**", "src/c/**"], "src/a", "src/b/**", "b", 1, "a", "`src/b/**` comes nearest"),
        (["src/**"], "src", "src/**", "**", 1, "", "the path ends where its part `**`"),
        (["src/a/b"], "src/a", "src/a/b", "b", 2, "", "the path ends where its part `b`"),
        (["gen/"], "src/gen", "gen/", "gen/", 0, "gen", "asks for a folder, and `gen` is the file itself"),
        (["**/a/**/b/"], "x/a/b", "**/a/**/b/", "b/", 3, "b", "asks for a folder"),
        (["*.py"], "src/a.txt", "*.py", "*.py", 0, "", "no part of the path meets `*.py`"),
        (["**/a/b.py"], "x/a/c.py", "**/a/b.py", "b.py", 2, "c.py", "`b.py` is not met by `c.py`"),
        (["**/a/b/c"], "a/x/a/b/y", "**/a/b/c", "c", 3, "y", "`c` is not met by `y`"),
        (["/x"], "a/x", "/x", "x", 0, "a", "`x` is not met by `a`"),
        (["./x/y"], "x/z", "./x/y", "y", 1, "z", "`y` is not met by `z`"),
        (["!docs/**", "src/a"], "docs/x", "src/a", "src", 0, "docs", "`src` is not met by `docs`"),
    ],
)  # fmt: skip
def test_explains_a_miss(
    texts: list[str], path: str, pattern: str, segment: str, segment_index: int, name: str, because: str
) -> None:
    found = explain([parse(text) for text in texts], path)
    assert found.outcome is Outcome.MISSED
    assert found.pattern is not None
    assert (found.pattern.text, found.segment, found.segment_index, found.name) == (
        pattern,
        segment,
        segment_index,
        name,
    )
    assert because in found.because
    assert found.negation is None


def test_explains_which_branch_came_nearest() -> None:
    found = explain([parse("{lib,src/{a,b}}/x.py")], "src/b/y.py")
    assert (found.expansion, found.segment, found.name) == ("src/b/x.py", "x.py", "y.py")


def test_explains_a_negation() -> None:
    found = explain(parse_list(["lib/**", "src/**", "!src/gen/**", "docs/**"]).patterns, "src/gen/a.py")
    assert found.outcome is Outcome.EXCLUDED
    assert found.pattern is not None
    assert found.negation is not None
    assert (found.pattern.text, found.negation.text) == ("src/**", "!src/gen/**")
    assert found.because == "`src/**` takes it in, but `!src/gen/**` takes it out again"


def test_explains_a_match() -> None:
    found = explain(parse_list(["src/**", "!src/gen/**", "src/gen/a*"]).patterns, "src/gen/a.py")
    assert found.outcome is Outcome.MATCHED
    assert found.pattern is not None
    assert found.pattern.text == "src/gen/a*"


@pytest.mark.parametrize("texts", [[], ["!a", "!b"]])
def test_explains_a_list_that_takes_nothing_in(texts: list[str]) -> None:
    found = explain([parse(text) for text in texts], "a")
    assert (found.outcome, found.pattern) == (Outcome.MISSED, None)
    assert found.because == "the list has no pattern that takes anything in"


@settings(deadline=None, max_examples=200)
@given(sources)
def test_explanation_agrees_with_the_match(source: random.Random) -> None:
    pieces = [*PIECES, *CLASSES, "{a,b/}"]
    texts = [source.choice(["", "!"]) + random_pattern(source, pieces) for _ in range(source.choice([1, 2, 3]))]
    try:
        listed = parse_list(texts)
    except PatternError:
        return
    path = random_path(source)
    found = explain(listed.patterns, path)
    decided = listed.match(path)
    assert (found.outcome is Outcome.MATCHED) == (decided is not None)
    if decided is not None:
        assert found.pattern == decided
    elif found.outcome is Outcome.MISSED and found.pattern is not None:
        written = found.expansion.strip("/").split("/")[found.segment_index]
        assert found.segment.rstrip("/") == written
        assert found.name in ["", *path.split("/")]


# --- lint -------------------------------------------------------------------------------------


def codes(texts: list[str]) -> list[tuple[int, str]]:
    return [(problem.index, problem.code.removeprefix("pattern-")) for problem in lint(texts)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param([], [], id="empty-list"),
        pytest.param(["src/**", "!src/gen/**", "docs/*.md"], [], id="clean"),
        pytest.param(["src/**", "src/a.py"], [], id="closer-evidence-is-no-shadow"),
        pytest.param(["src/**", "!src/gen/", "src/gen/a.py"], [], id="taken-back"),
        pytest.param(["a//b", "x", "../y"], [(0, "empty-segment"), (2, "dot-segment")], id="unreadable"),
        pytest.param(["!a", "!b"], [(0, "only-negations")], id="only-negations"),
        pytest.param(["!a", "b//"], [(0, "idle-negation"), (1, "empty-segment")], id="rest-unreadable"),
        pytest.param(["!a", "**/b"], [(0, "idle-negation")], id="negation-first"),
        pytest.param(["src/**", "!docs/x.md"], [(1, "idle-negation")], id="negation-elsewhere"),
        pytest.param(["src/*.py", "!src/a.c"], [(1, "idle-negation")], id="negation-of-another-kind"),
        pytest.param(["src/**", "!*.md"], [], id="negation-at-every-depth"),
        pytest.param(["a", "b", "a"], [(2, "duplicate")], id="duplicate"),
        pytest.param(["/a", "./a"], [(1, "duplicate")], id="duplicate-spelt-otherwise"),
        pytest.param(["src/gen/a.py", "src/gen/"], [(0, "shadowed")], id="covered-by-folder"),
        pytest.param(["src/**/*.py", "src/**"], [(0, "shadowed")], id="covered-by-globstar"),
        pytest.param(["src", "src/**"], [], id="the-file-itself-is-not-covered"),
        pytest.param(["src/x", "src/*/"], [], id="folder-two-levels-down-does-not-cover"),
        pytest.param(["test_*.py", "*.py"], [(0, "shadowed")], id="covered-by-glob"),
        pytest.param(["a/*b*.py", "**/*.py"], [(0, "shadowed")], id="covered-at-any-depth"),
        pytest.param(["src/**", "!src/gen/**", "src/**"], [(2, "duplicate")], id="negation-undone"),
        pytest.param(["src/**", "!src/gen/**", "src/"], [(0, "shadowed"), (1, "shadowed")], id="all-undone"),
        pytest.param(["src/gen/a", "!src/gen/**"], [(0, "shadowed")], id="taken-out-at-once"),
        pytest.param(["{a,b}/x", "a/**"], [], id="covered-in-part"),
        pytest.param(["{a,b}/x", "{b,c,a}/**"], [(0, "shadowed")], id="covered-by-several"),
    ],
)
def test_lint(texts: list[str], expected: list[tuple[int, str]]) -> None:
    assert codes(texts) == expected


def test_lint_says_what_to_do() -> None:
    (problem,) = lint(["src/gen/a", "!src/gen/**"])
    assert problem.message == "`src/gen/a` never decides: `!src/gen/**`, entry 2 of the list, covers all of it."
    assert problem.remedy == "Put the narrower pattern last."


def test_lint_gives_up_advice_rather_than_time() -> None:
    lint([f"src/{number}/**/a*b" for number in range(20_000)] + [f"!lib/{number}" for number in range(2_000)])


@settings(deadline=None, max_examples=300)
@given(sources)
def test_advice_is_certain(source: random.Random) -> None:
    pieces = [*PIECES, *CLASSES]
    texts = [source.choice(["", "", "!"]) + random_pattern(source, pieces) for _ in range(4)]
    try:
        listed = parse_list(texts).patterns
    except PatternError:
        return
    paths = [random_path(source) for _ in range(60)]

    def answers(chosen: list[Pattern]) -> list[bool]:
        return [PatternList(chosen).match(path) is not None for path in paths]

    whole = answers(list(listed))
    for problem in lint(texts):
        if problem.code == "pattern-only-negations":
            assert not any(whole)
        elif problem.code == "pattern-duplicate":
            continue
        else:
            # What never decides can go, and nobody notices.
            rest = [pattern for index, pattern in enumerate(listed) if index != problem.index]
            assert answers(rest) == whole, (texts, problem)


def test_module_needs_no_regular_expressions() -> None:
    assert not any(hasattr(module, "re") for module in (compiled, explanation, linter, syntax))
