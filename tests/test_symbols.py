"""Which definitions are around a line: from the file, from a diff, and what of it can be known."""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rulebook
from gitrepo import GitRepo
from rulebook.diffs import parse_diff
from rulebook.git.repository import Repository
from rulebook.model import ChangeStatus, FileChange, Side
from rulebook.ranges import from_git
from rulebook.symbols import MAX_PARSED, Outline, enclosing_in_diff, enclosing_names, outline, outline_sides


def names_by_line(found: Outline, source: str) -> list[str]:
    """The innermost name for each line of ``source``."""
    return [(found.enclosing(number) or ("",))[-1] for number in range(1, source.count("\n") + 1)]


def marked(text: str) -> tuple[str, list[str]]:
    """Source and expected names from lines of the form ``source   #> name``."""
    lines = [line.partition("#>") for line in textwrap.dedent(text).strip("\n").split("\n")]
    return "".join(f"{code.rstrip()}\n" for code, _, _ in lines), [name.strip() for _, _, name in lines]


SOURCES = {
    "nesting": """
        import os
        x = 1
        class Outer:                #> Outer
            attribute = 1           #> Outer
                                    #> Outer
            def method(self):       #> Outer.method
                def inner():        #> Outer.method.inner
                    pass            #> Outer.method.inner
                return inner        #> Outer.method
                                    #> Outer
            class Nested:           #> Outer.Nested
                def deep(self): ... #> Outer.Nested.deep

        def function(): pass        #> function
        x = 2
    """,
    "decorators and comments": """
        # about f
        @decorate                   #> f
        @decorate(                  #> f
            1,                      #> f
        )                           #> f
        # between                   #> f
        async def f(                #> f
            a,                      #> f
        ) -> int:                   #> f
            # inside                #> f
            return 1                #> f

        # about C
        @decorate                   #> C
        class C(                    #> C
            Base,                   #> C
        ):                          #> C
            # about g               #> C
            @property               #> C.g
            def g(self):            #> C.g
                return (            #> C.g
                    1               #> C.g
                )                   #> C.g
        y = 1
    """,
    "blocks": """
        if x:
            def f():                #> f
                pass                #> f
        else:
            def f():                #> f
                with y:             #> f
                    pass            #> f
        try:
            class E: pass           #> E
        except A:
            def in_handler(): pass  #> in_handler
        finally:
            def in_finally(): pass  #> in_finally
        for i in y:
            def in_loop(): pass     #> in_loop
        else:
            def in_else(): pass     #> in_else
        match z:
            case 1:
                def in_case(): pass #> in_case
    """,
    "strings": '''
        def f():                    #> f
            """Text.                #> f
        def not_one(self):          #> f
        class NotOneEither:         #> f
            """                     #> f
            x = \'\'\'              #> f
        at the margin "             #> f
        \'\'\'                      #> f
            y = "\\"\\"\\""         #> f
            return "#" + \'"""\'    #> f
        z = """def g():"""
        class C:                    #> C
            "it\'s"                 #> C
    ''',
    "lookalikes": """
        define = 1
        classes = [
            1,
        ]
        def_ = class_ = 2
        text = "def f():"
        lambda x: x
    """,
}


@pytest.mark.parametrize("text", SOURCES.values(), ids=SOURCES)
def test_outline(text: str) -> None:
    source, expected = marked(text)
    ast.parse(source)
    assert names_by_line(outline(source), source) == expected
    assert outline(source.encode()) == outline(source)
    assert outline(source.replace("\n", "\r\n")) == outline(source)


@pytest.mark.parametrize("text", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("damage", ["syntax error here (", "<<<<<<< HEAD\n=======\n>>>>>>> topic", "print 'Python 2'"])
def test_outline_of_invalid_source(text: str, damage: str) -> None:
    """Only the indentation tells; what is below the damage does not matter."""
    source, expected = marked(text)
    with pytest.raises(SyntaxError):
        ast.parse(source + damage)
    assert names_by_line(outline(f"{source}{damage}\n"), source) == expected


def test_a_conflict_inside_of_a_function() -> None:
    source, expected = marked("""
        class C:                    #> C
            def f(self):            #> C.f
        <<<<<<< HEAD                #> C.f
                return 1            #> C.f
        =======                     #> C.f
                return 2            #> C.f
        >>>>>>> topic               #> C.f
                return 3            #> C.f
    """)
    assert names_by_line(outline(source), source) == expected


def test_enclosing_names_the_outermost_first() -> None:
    found = outline("class A:\n    def f(self):\n        def g():\n            pass\n")
    assert found.enclosing(4) == ("A", "A.f", "A.f.g")
    assert found.enclosing(1) == ("A",)
    assert found.enclosing(5) == found.enclosing(0) == found.enclosing(99) == ()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"\xef\xbb\xbfdef f():\n    pass\n", ["f", "f"], id="byte order mark"),
        pytest.param(b"# coding: latin-1\ndef f():\n    '\xe9'\n", ["", "f", "f"], id="another encoding"),
        pytest.param(b"def f():\n    '\xe9'\nx\n", ["f", "f", ""], id="not UTF-8"),
        pytest.param(b"def f():\n    '\0'\nx\n", ["f", "f", ""], id="NUL"),
        pytest.param(b"def f():\n\tx\n\tdef g():\n\t\ty\n", ["f", "f", "f.g", "f.g"], id="tabs"),
        pytest.param(b"def f():\n  x\n\tdef g(:\n", ["f", "f", "f.g"], id="mixed"),
        pytest.param(b"\x0cdef f():\n    x\n\x0c\ndef g():\n    y\n", ["f", "f", "", "g", "g"], id="form feeds"),
        pytest.param("def f():\n    '\u2028\x85\x0b'\ndef g(): 1\n".encode(), ["f", "f", "g"], id="other separators"),
        pytest.param(b"def f():\n    'a\rb'\ndef g(): 1\n", ["f", "f", "g"], id="lone carriage return"),
        pytest.param(b"def f():\n    '\\d'\n", ["f", "f"], id="an odd escape, without a warning"),
        pytest.param(b"def f():\n    " + b"-" * 100_000 + b"1\nx\n", ["f", "f", ""], id="nested too deeply"),
        pytest.param(b"def f():\n    " + b"(" * 5000 + b"\nx\n", ["f", "f", ""], id="brackets"),
        pytest.param("def \u51fd\u6570():\n    pass\n".encode(), ["\u51fd\u6570"] * 2, id="not ASCII"),
    ],
)
def test_outline_survives(source: bytes, names: list[str]) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = outline(source)
    assert not said
    assert names_by_line(found, source.decode("latin-1")) == names


def test_a_huge_file_is_not_parsed() -> None:
    source = "def f():\n    x = 1\n" + "y = 1\n" * (MAX_PARSED // 6) + "def g(): pass\n"
    found = outline(source)
    assert found.enclosing(2) == ("f",)
    assert found.enclosing(source.count("\n")) == ("g",)
    assert found.docstrings == ()


def test_docstrings() -> None:
    source = '"""Module\ntext."""\nclass C:\n    """One."""\n    x = "no"\n    def f(self):\n        """Two\n        lines."""\n        "no"\n'
    found = outline(source)
    assert [line for line in range(12) if found.is_docstring(line)] == [1, 2, 4, 7, 8]


REAL_FILES = sorted(Path(rulebook.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", REAL_FILES, ids=lambda path: path.stem)
def test_indentation_agrees_with_the_syntax_tree(path: Path) -> None:
    source = path.read_text()
    by_tree = names_by_line(outline(source), source)
    by_indentation = names_by_line(outline(f"{source}\nsyntax error\n"), source)
    for number, line in enumerate(source.splitlines(), 1):
        if line.strip() and not line.strip().startswith("#"):
            assert by_indentation[number - 1] == by_tree[number - 1], f"{path}:{number}"


@st.composite
def programs(draw: st.DrawFn, indent: str = "", depth: int = 0) -> list[tuple[str, str]]:
    """Lines of a program, with the name that is around each."""
    lines: list[tuple[str, str]] = []
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["statement", "blank", "def", "class", "if"] if depth < 3 else ["statement"]))
        if kind == "statement":
            lines.append((f"{indent}x = (\n{indent}    1,\n{indent})" if draw(st.booleans()) else f"{indent}x = 1", ""))
        elif kind == "blank":
            lines += [("", ""), (f"{indent}pass", "")]
        else:
            name = f"{kind}{number}"
            inner = draw(programs(indent + "    ", depth + 1))
            if kind == "if":
                lines += [(f"{indent}if x:", ""), *inner]
                continue
            if draw(st.booleans()):
                lines.append((f"{indent}@decorate", name))
            lines.append((f"{indent}{kind} {name}{'()' if kind == 'def' else ''}:", name))
            lines += [(text, f"{name}.{inside}" if inside else name) for text, inside in inner]
    return lines


@given(programs())
@settings(deadline=None, derandomize=True, max_examples=100)
def test_outlines_of_made_up_programs(lines: list[tuple[str, str]]) -> None:
    source = "".join(f"{text}\n" for text, _ in lines)
    expected = [name for text, name in lines for _ in text.split("\n")]
    # A blank line or a comment at the end of a definition is in it or not; no matter.
    wanted = [name for name, text in zip(expected, source.split("\n"), strict=False) if text]
    for found in (outline(source), outline(f"{source}syntax error\n")):
        names = names_by_line(found, source)
        assert [name for name, text in zip(names, source.split("\n"), strict=False) if text] == wanted


# --- from diffs alone -------------------------------------------------------------------------


def enclosing_of(heading: str, body: str, path: str = "x.py") -> Mapping[str, tuple[str, ...]]:
    """For each line of a hunk, by its text without blanks, what is known to enclose it."""
    lines = [line or " " for line in body.strip("\n").split("\n")]
    old = sum(line[0] != "+" for line in lines)
    new = sum(line[0] != "-" for line in lines)
    head = f"--- a/{path}\n+++ b/{path}\n@@ -50,{old} +60,{new} @@ {heading}\n"
    (change,) = parse_diff((head + "\n".join(lines) + "\n").encode()).files
    assert change.hunks is not None
    names = enclosing_names(change, None)
    found = {}
    for line in change.hunks[0].lines:
        sides = [(Side.OLD, line.old), (Side.NEW, line.new)]
        answers = {names(side, number) for side, number in sides if number}
        (found[line.text.strip()],) = answers
        if path.endswith(".py"):
            known = enclosing_in_diff(change.hunks)
            assert {known[side, number] for side, number in sides if number} == answers
    return found


def test_a_hunk_shows_its_own_definitions() -> None:
    body = """
 class C(Base):
     def f(self):
-        a
+        b

+    @decorate
     def g(self):
         c
+def h():
+    d
 e
"""
    found = enclosing_of("import os", body)
    assert found["class C(Base):"] == ("C",)
    assert found["a"] == found["b"] == ("C", "C.f")
    assert found["@decorate"] == found["c"] == ("C", "C.g")
    assert found["d"] == ("h",)
    assert found["e"] == ()


@pytest.mark.parametrize(
    ("heading", "line", "expected"),
    [
        ("class C(Base):", "    x = 1", ("C",)),
        ("class C:", "    x = 1", ("C",)),
        ("def f(a,", "    x = 1", ("f",)),
        ("async def f():", "    x = 1", ("f",)),
        ("def close(self) -> None:", "        x = 1", ("close",)),
        ("    def close(self) -> None:", "        x = 1", ("close",)),
        ("def f():", "x = 1", ()),
        ("class C:", "x = 1", ()),
        ("if TYPE_CHECKING:", "    x = 1", ()),
        ("class of 1984", "    x = 1", ()),
        ("", "    x = 1", ()),
    ],
)
def test_the_heading_says_what_is_above(heading: str, line: str, expected: tuple[str, ...]) -> None:
    assert enclosing_of(heading, f"+{line}")["x = 1"] == expected


def test_a_method_below_the_heading_of_its_class() -> None:
    found = enclosing_of("class C:", "     def f(self):\n+        a")
    assert found["a"] == ("C", "C.f")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("     def g(self):\n+        x = 1", ("g",), id="a method after a method"),
        pytest.param("     @staticmethod\n     def g():\n+        x = 1", ("g",), id="a decorated one"),
        pytest.param("         a\n     def g():\n+        x = 1", ("g",), id="shallower than the body"),
        pytest.param("         a\n         def g():\n+            x = 1", ("f", "f.g"), id="as deep as the body"),
        pytest.param("         def g():\n+            x = 1", ("f", "f.g"), id="no method, so within"),
        pytest.param("         def g():\n             a\n+        x = 1", ("f",), id="after a nested one"),
    ],
)
def test_a_definition_below_the_heading_of_a_method(body: str, expected: tuple[str, ...]) -> None:
    assert enclosing_of("def f(self):", body)["x = 1"] == expected


def test_both_sides_of_a_hunk_are_judged_by_themselves() -> None:
    text = b"--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-def old():\n-    a\n+def new():\n+    b\n"
    (change,) = parse_diff(text).files
    names = enclosing_names(change, None)
    assert (names(Side.OLD, 2), names(Side.NEW, 2), names(Side.BOTH, 2)) == (("old",), ("new",), ("new",))
    assert names(Side.NEW, 3) == ()


@pytest.mark.parametrize("status", [ChangeStatus.ADDED, ChangeStatus.DELETED])
def test_the_diff_of_a_whole_file_is_parsed(status: ChangeStatus) -> None:
    source = 'def f():\n    """\nclass NotOne:\n    """\n    x\n'
    names = ("--- /dev/null\n+++ b/x.py\n", "--- a/x.py\n+++ /dev/null\n")[status is ChangeStatus.DELETED]
    ranges, mark = (("-0,0 +1,5", "+"), ("-1,5 +0,0", "-"))[status is ChangeStatus.DELETED]
    lines = "".join(f"{mark}{line}\n" for line in source.splitlines())
    (change,) = parse_diff(f"{names}@@ {ranges} @@\n{lines}".encode()).files
    assert change.status is status
    found = outline_sides(change, None)(Side.NEW if status is ChangeStatus.ADDED else Side.OLD)
    assert found == outline(source)
    assert found.is_docstring(3)


# --- with a repository ------------------------------------------------------------------------


class Files:
    """A reader of a few files that counts how often it is asked."""

    def __init__(self, **sides: str) -> None:
        self.sides = {Side(side): content.encode() for side, content in sides.items()}
        self.asked: list[tuple[str, Side]] = []

    def read(self, path: str, side: Side) -> bytes | None:
        self.asked.append((path, side))
        return self.sides.get(side)


def test_files_are_read_once_a_side_and_only_when_asked_for() -> None:
    reader = Files(old="def f():\n    a\n", new="def g():\n    b\n")
    change = FileChange(path="new.py", old_path="old.py", status=ChangeStatus.RENAMED, hunks=())
    names = enclosing_names(change, reader)
    assert reader.asked == []
    assert (names(Side.NEW, 2), names(Side.NEW, 1), names(Side.OLD, 2)) == (("g",), ("g",), ("f",))
    assert reader.asked == [("new.py", Side.NEW), ("old.py", Side.OLD)]


def test_a_file_that_cannot_be_read_leaves_the_diff() -> None:
    (change,) = parse_diff(b"--- a/x.py\n+++ b/x.py\n@@ -5 +5 @@ def f():\n-    a\n+    b\n").files
    assert enclosing_names(change, Files())(Side.NEW, 5) == ("f",)


def test_files_of_no_known_language_are_not_read() -> None:
    reader = Files(old="def f():\n    a\n", new="def f():\n    a\n")
    for path in ("README.md", "x.yaml", "py", "x.pyc"):
        assert enclosing_names(FileChange(path=path, hunks=()), reader)(Side.NEW, 2) == ()
    assert reader.asked == []


def test_a_renamed_file_of_a_real_repository(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    body = "".join(f"x{number} = {number}\n" for number in range(20))
    repo.commit({"a.py": f"{body}class Old:\n    def f(self):\n        return 1\n"})
    repo.commit({"a.py": None, "b.py": f"import os\n{body}class New:\n    def f(self):\n        return 2\n"})
    changes = from_git(Repository(repo.path, environ=repo.environ), "HEAD~..HEAD")
    (change,) = changes.files
    assert change.status is ChangeStatus.RENAMED
    names = enclosing_names(change, changes.reader)
    assert change.hunks is not None
    found = {
        line.text: names(Side.NEW if line.new else Side.OLD, line.new or line.old)
        for h in change.hunks
        for line in h.lines
    }
    assert found["        return 1"] == ("Old", "Old.f")
    assert found["        return 2"] == ("New", "New.f")
    assert found["import os"] == ()


# --- other languages --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "heading", "expected"),
    [
        ("x.c", "static int foo(struct bar *b)", ("foo",)),
        ("x.cu", "__global__ void kernel(float *x)", ("kernel",)),
        ("x.cpp", "void Connector::close() {", ("Connector", "Connector.close")),
        ("x.cpp", "class Connector : public Base {", ("Connector",)),
        ("x.cpp", "int f(int x);", ()),
        ("x.go", "func (r *Reader) Read(p []byte) (int, error) {", ("Read",)),
        ("x.rs", "pub fn parse<T>(text: &str) -> T {", ("parse",)),
        ("x.ts", "export function load(name: string) {", ("load",)),
        ("x.ts", "export interface Options {", ("Options",)),
        ("x.sh", "launch() {", ("launch",)),
        ("x.sh", "if (( x )); then", ()),
        ("x.c", "#include <stdio.h>", ()),
        ("x.c", "", ()),
        ("x.md", "text (with brackets)", ()),
        ("x.yaml", "jobs(x):", ()),
    ],
)
def test_the_heading_in_other_languages(path: str, heading: str, expected: tuple[str, ...]) -> None:
    assert enclosing_of(heading, "+    x = 1;", path)["x = 1;"] == expected


def test_braces_end_what_the_heading_begins() -> None:
    body = """
     a;
-    b;
 }
+x;
 static int
 g(void)
 {
+    c;
"""
    found = enclosing_of("int f(int a)", body, "x.c")
    assert found["b;"] == found["}"] == ("f",)
    assert found["x;"] == ()
    assert found["c;"] == ("g",)


def test_whole_files_of_other_languages() -> None:
    reader = Files(new="#include <x>\nint f(void)\n{\n    a;\n}\n\n// text\nint x = 1;\nclass C {\n    b;\n};\n")
    names = enclosing_names(FileChange(path="x.cc", hunks=()), reader)
    assert [(names(Side.NEW, line) or ("",))[-1] for line in range(1, 12)] == [
        *("", "f", "f", "f", "f", "", "", "", "C", "C", "C")
    ]
