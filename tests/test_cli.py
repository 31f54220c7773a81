"""The command line as a process: exit codes, streams, colours, terminals, and what is wrong with the input."""

from __future__ import annotations

import io
import json
import os
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from asking import Base, ask, command, edit, process
from gitrepo import GitRepo
from rulebook.cli import app, inputs, main, terminal

CHINESE = "新增连接器或给它改名时工厂注册配置白名单与自有模式必须一并修改否则启动时才会失败而且没有任何提示"
EVIL = "\x1b]0;owned\x07 red \x1b[31m \u202egnp.exe\u202c \u200bzero"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Base:
    made = Base(tmp_path / "base")
    made.rule("R", "src/**", look_for=[{"identifiers": ["needle"]}])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return made


def one_clear_line(text: str) -> None:
    assert len(text.splitlines()) == 1, text
    assert text.startswith("rulebook: ")
    assert "Traceback" not in text


def two_clear_lines(text: str) -> tuple[str, str]:
    """A usage error: what is wrong, and what to do."""
    what, remedy = text.splitlines()
    assert what.startswith("rulebook: ")
    assert remedy.startswith("  ")
    assert "Traceback" not in text
    return what.removeprefix("rulebook: "), remedy.strip()


# --- exit codes -------------------------------------------------------------------------------


def test_0_no_match_is_an_answer(base: Base) -> None:
    got = base.ask("applies", "docs/x")
    assert got.code == 0
    assert got.err.startswith("note: No path is covered by any rule: paths begin at the root of demo;")
    assert "No rule applies." in got.out


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)])
def test_1_findings_at_or_above_the_limit(base: Base, fail_on: str, code: int) -> None:
    base.rule("THIN", body="Text alone.\n")
    assert base.ask("lint", "--fail-on", fail_on).code == code


def test_1_errors_fail_unless_told_otherwise(base: Base) -> None:
    base.rule("BAD", created="2026-13-45")
    assert base.ask("lint").code == 1
    assert base.ask("lint", "--fail-on", "never").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["applies"],
        ["applies", "--nope"],
        ["applies", "--format", "xml", "a"],
        ["applies", "--color", "pink", "a"],
        ["applies", "--repo", "nope", "a"],
        ["applies", "--checkout", "demo", "a"],
        ["applies", "a", "--diff", "x"],
        ["applies", "--diff", "x", "--git", "y"],
        ["search"],
        ["search", ""],
        ["search", " ", "\t"],
        ["search", "x", "--limit", "0"],
        ["list", "--kind", "page"],
        ["show", "NOTHING"],
        ["explain", "NOTHING"],
    ],
    ids=" ".join,
)
def test_2_usage(base: Base, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEBOOK_ROOT", str(base.root))
    got = ask(*arguments)
    assert got.code == 2
    if arguments:
        assert got.out == ""
        two_clear_lines(got.err)


@pytest.mark.parametrize(
    ("arguments", "what", "remedy"),
    [
        (["aplies"], "there is no command 'aplies'", "did you mean applies? see: rulebook --help"),
        (["waiver", "chek"], "there is no command 'chek'", "did you mean check? see: rulebook waiver --help"),
        (
            ["waiver", "xyz"],
            "there is no command 'xyz'",
            "known: check, audit, baseline, new; see: rulebook waiver --help",
        ),
        (["applies", "--quite"], "'rulebook applies' has no option --quite", "did you mean --quiet"),
        (["waiver", "check", "--p", "7"], "'rulebook waiver check' has no option --p", "did you mean --pr?"),
        (["--nope"], "'rulebook' has no option --nope", "see: rulebook --help"),
        (["show"], "'rulebook show' needs ID: a rule's id", "say: rulebook show ID; see: rulebook show --help"),
        (["retire", "R"], "'rulebook retire' needs --because", "say: rulebook retire --because TEXT"),
        (["retire", "R", "--because"], "option '--because' requires an argument", "see: rulebook retire --help"),
        (["index", "a", "b"], "got unexpected extra argument", "see: rulebook index --help"),
        (
            ["lint", "--fail-on", "errr"],
            "--fail-on cannot be 'errr'",
            "did you mean error? known: error, warning, note",
        ),
        (["stale", "--fail-on", "GONNE"], "--fail-on cannot be 'GONNE'", "did you mean gone? known: gone, invalid"),
        (["list", "--format", "xml"], "--format cannot be 'xml'", "known: text, json, md"),
        (["search", "x", "--limit", "0"], "--limit: 0 is not in the range", "see: rulebook search --help"),
        (["search", "x", "-n", "ten"], "--limit: 'ten' is not a valid", "see: rulebook search --help"),
        (["list", "--kind", "reviews"], "'reviews' is no kind of document", "did you mean review? known: rule"),
        (["list", "--repo", "dem"], "no repository 'dem' in this knowledge base", "did you mean demo? known: demo"),
        (["sync", "demmo"], "no repository 'demmo' in this knowledge base", "did you mean demo? known: demo"),
        (["lint", "--checkout", "domo=."], "--checkout names 'domo'", "did you mean demo? known: demo"),
        (["stale", "--checkout", "domo=."], "--checkout names 'domo'", "did you mean demo? known: demo"),
        (["show", "ZH-RUEL"], "no document is called 'ZH-RUEL'", "did you mean ZH-RULE?"),
        (["stale", "zh-ruel"], "no document is called 'zh-ruel'", "did you mean ZH-RULE?"),
        (["show", "???"], "no document is called '???'", "see: rulebook list"),
        (["show", "R", "--lang", "english"], "'english' is no code of a language", "write one such as zh"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_2_says_what_is_wrong_and_what_to_do(
    base: Base, arguments: list[str], what: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.rule("ZH-RULE")
    monkeypatch.setenv("RULEBOOK_ROOT", str(base.root))
    got = ask(*arguments)
    assert (got.code, got.out) == (2, "")
    said = two_clear_lines(got.err)
    assert said[0].startswith(what)
    assert said[1].startswith(remedy)


@pytest.mark.parametrize("environ", [{}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}, {"TERMINAL_WIDTH": "20"}], ids=str)
def test_a_usage_error_is_plain_text_everywhere(environ: dict[str, str]) -> None:
    code, shown = on_terminal("applies", "--dif", "x", columns=30, **environ)
    assert code == 2
    assert (
        shown
        == "rulebook: 'rulebook applies' has no option --dif\n  did you mean --diff? see: rulebook applies --help\n"
    )
    got = process("lint", "--color", "never", "--fail-on", "\x1b[31m", **environ)
    assert got.err.startswith("rulebook: --fail-on cannot be '\\x1b[31m'")


def test_the_command_alone_shows_its_help() -> None:
    for arguments in ([], ["waiver"]):
        got = ask(*arguments)
        assert (got.code, got.err) == (2, "")
        assert "Usage: rulebook" in got.out


def test_3_no_knowledge_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for got in (ask("list"), ask("list", "--root", str(tmp_path / "absent"))):
        assert (got.code, got.out) == (3, "")
        one_clear_line(got.err)
        assert "--root" in got.err


def test_4_a_bug_keeps_a_readable_traceback(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("at \x1b[31mpath/名")

    monkeypatch.setattr(inputs, "read_change", broken)
    got = base.ask("applies", "src/a")
    assert got.code == 4
    assert "please report" in got.err.splitlines()[-1]
    assert r"ZeroDivisionError: at \x1b[31mpath/名" in got.err.splitlines()
    assert "\x1b" not in got.err
    assert any(line.strip().startswith("File ") for line in got.err.splitlines())


def test_4_an_end_of_file_nobody_expected_is_a_bug(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise EOFError("marshal data too short")

    monkeypatch.setattr(inputs, "read_change", broken)
    got = base.ask("applies", "src/a")
    assert got.code == 4
    assert "marshal data too short" in got.err


def test_130_interrupted(base: Base) -> None:
    # The process sends the signal to itself, so that it comes in the middle of the work whatever the machine's speed.
    script = (
        "import os, signal, sys\nfrom rulebook.cli import inputs, main\n"
        "inputs.read_input = lambda *_: os.kill(os.getpid(), signal.SIGINT) or b''\nsys.exit(main())"
    )
    line = [sys.executable, "-c", script, "applies", "--root", str(base.root), "-"]
    done = subprocess.run(line, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout) == (130, b"")
    assert b"Traceback" not in done.stderr


def test_interrupt_anywhere_is_130(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(inputs, "read_change", interrupted)
    got = base.ask("applies", "src/a")
    assert (got.code, got.out) == (130, "")
    assert "Traceback" not in got.err


# --- streams ----------------------------------------------------------------------------------


def test_results_go_to_stdout_and_notes_to_stderr(base: Base) -> None:
    base.write("rules/demo/BAD.md", "---\nid: [\n---\n")
    loud, quiet = base.ask("applies", "src/a"), base.ask("applies", "-q", "src/a")
    assert loud.out == quiet.out
    assert loud.err.startswith("note: rules/demo/BAD.md")
    assert "rulebook lint" in loud.err
    assert quiet.err == ""


def test_quiet_does_not_mute_errors(base: Base) -> None:
    two_clear_lines(base.ask("applies", "--quiet", "../x").err)


def shell(script: str, base: Base, stdin: bytes = b"", **environ: str) -> tuple[int, bytes, bytes]:
    rulebook = " ".join(f"'{part}'" for part in command())
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; rulebook() {{ {rulebook} "$@"; }}; {script}'],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, "RULEBOOK_ROOT": str(base.root), **environ},
    )
    return done.returncode, done.stdout, done.stderr


def test_closed_stdin_is_one_clear_line(base: Base) -> None:
    code, out, err = shell("rulebook applies - <&-", base)
    assert (code, out) == (3, b"")
    one_clear_line(err.decode())


def test_closed_stdout_is_an_error_and_closed_stderr_is_none(base: Base) -> None:
    code, _, err = shell("rulebook applies src/a >&-", base)
    assert code == 3
    one_clear_line(err.decode())
    assert shell("rulebook applies src/a 2>&-", base)[0] == 0
    assert shell("rulebook applies ../x 2>&-", base) == (2, b"", b"")
    assert shell("rulebook aplies 2>&-", base)[0] == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", ["applies src/a", "applies --format json src/a", "list", "--help", "show R"])
def test_full_disk_is_one_clear_line(base: Base, arguments: str) -> None:
    code, _, err = shell(f"rulebook {arguments} >/dev/full", base)
    assert code == 3
    one_clear_line(err.decode())
    assert b"No space left" in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_notes_that_cannot_be_written_change_nothing(base: Base) -> None:
    base.write("rules/demo/BAD.md", "---\nid: [\n---\n")
    code, out, _ = shell("rulebook applies src/a 2>/dev/full", base)
    assert (code, b"R " in out) == (0, True)


@pytest.mark.parametrize("options", ["", "--format json", "--format md", "--color always"])
def test_reader_that_goes_away_is_no_error(base: Base, options: str) -> None:
    paths = "".join(f"docs/{'long' * 20}/{number}\n" for number in range(3000)).encode()
    code, out, err = shell(f"rulebook applies --quiet {options} - | head -1", base, paths)
    assert (code, err) == (0, b"")
    assert len(out.splitlines()) == 1


def test_reader_that_goes_away_does_not_hide_findings(base: Base) -> None:
    for number in range(300):
        base.rule(f"BAD{number}", created="no date at all, and a long text about it " * 10)
    code, _, err = shell("rulebook lint | head -1", base)
    assert (code, err) == (1, b"")


def test_reader_of_a_help_text_that_goes_away_is_no_error(base: Base) -> None:
    assert shell("rulebook applies --help | true", base)[0] == 0


def test_stdin_may_be_binary(base: Base) -> None:
    got = base.ask("applies", "-", stdin=bytes(range(1, 256)) * 4)
    assert got.code in (0, 2)
    assert "Traceback" not in got.err
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", got.out + got.err)


def test_nul_separated_paths(base: Base) -> None:
    assert list(base.applies("-z", "-", stdin=b"src/a b\0src/new\nline\0").rules) == ["R"]
    two_clear_lines(base.ask("applies", "-z", "-", stdin=b"src/a\nsrc/b\n").err)
    two_clear_lines(base.ask("applies", "-", stdin=b"src/a\0src/b\0").err)


@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["C", "ascii", "posix"],
)
def test_locale_without_unicode(base: Base, environ: dict[str, str]) -> None:
    base.rule("ZH", "src/**", title=CHINESE)
    for arguments in (["applies", "src/a"], ["list"], ["show", "ZH"], ["applies", "--color", "always", "src/a"]):
        got = process(*arguments, "--root", str(base.root), **environ)
        assert (got.code, got.err) == (0, "")
        assert CHINESE[:10] in re.sub(r"\s", "", got.out)
    assert process("applies", "--help", **environ).code == 0
    assert process("applies", "../名", "--root", str(base.root), **environ).code == 2


# --- colour -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "environ", "colored"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ([], {"GITHUB_ACTIONS": "true"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "always"], {"TERM": "dumb"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_is_option_then_no_color_then_force_color(base: Base, option, environ, colored, monkeypatch) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for arguments in (
        ["applies", "src/a"],
        ["list"],
        ["show", "R"],
        ["explain", "R", "src/a"],
        ["search", "R"],
    ):
        assert ("\x1b[" in base.ask(*arguments, *option).out) is colored, arguments


@pytest.mark.parametrize(
    ("environ", "colored"),
    [
        ({"GITHUB_ACTIONS": "true"}, False),
        ({"GITHUB_ACTIONS": "true", "NO_COLOR": "1"}, False),
        ({"GITHUB_ACTIONS": "true", "FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
    ids=str,
)
def test_help_follows_the_same_rules_for_colour(environ: dict[str, str], colored: bool) -> None:
    assert ("\x1b[" in process("applies", "--help", **environ).out) is colored


def test_json_and_markdown_never_have_colour(base: Base) -> None:
    for name in ("json", "md"):
        assert "\x1b" not in base.ask("applies", "--color", "always", "--format", name, "src/a").out


# --- a terminal of 80 columns -------------------------------------------------------------------


def on_terminal(
    *arguments: str, stdin: bytes = b"", columns: int = 80, line: list[str] | None = None, **environ: str
) -> tuple[int, str]:
    """Runs the command line, or another one, on a pseudo-terminal and returns what it shows."""
    fcntl, pty, struct, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "struct", "termios"))
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", **environ}
    shown = b""
    with subprocess.Popen(
        line or command(*arguments), stdin=subprocess.PIPE, stdout=follower, stderr=follower, env=env
    ) as run:
        os.close(follower)
        assert run.stdin is not None
        run.stdin.write(stdin)
        run.stdin.close()
        while select.select([leader], [], [], 60)[0]:
            try:
                data = os.read(leader, 65536)
            except OSError:  # Linux's way of saying that the other side is closed
                break
            if not data:
                break
            shown += data
    os.close(leader)
    return run.returncode, shown.decode().replace("\r\n", "\n")


def without_style(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture
def wide(base: Base) -> Base:
    long = "a-title-without-any-blank-that-is-much-longer-than-a-terminal-is-wide-" * 2
    base.rule("ZH", "src/**", title=CHINESE * 2, severity="error", look_for=[{"lines": "needle"}])
    base.rule("LONG", ["src/**/deep/**", "src/**"], title=long)
    base.rule("EVIL", "src/**", title=EVIL, body=f"## What it demands\n\n{EVIL}\n\n```\n{long}\n```\n")
    base.review(7, "src/**", title=CHINESE)
    return base


@pytest.mark.parametrize("environ", [{}, {"NO_COLOR": "1"}], ids=["colour", "plain"])
@pytest.mark.parametrize("columns", [80, 40])
def test_no_line_is_wider_than_the_terminal(wide: Base, environ: dict[str, str], columns: int) -> None:
    name = "src/deep/" + "very_long_name_of_a_file_" * 8 + ".py"
    diff = edit(name, added=["needle = '" + CHINESE * 3 + "'", "needle " + "x" * 300]) + edit(
        "docs/" + "y" * 200, added=["z"]
    )
    root = ["--root", str(wide.root)]
    for arguments in (
        ["applies", *root, "--diff", "-"],
        ["explain", *root, "LONG", "--diff", "-"],
        ["list", *root],
        ["show", *root, "EVIL"],
        ["search", *root, "needle", "ZH"],
        ["lint", *root],
    ):
        _, shown = on_terminal(*arguments, stdin=diff.encode(), columns=columns, **environ)
        assert ("\x1b[" in shown) is not environ
        lines = without_style(shown).split("\n")
        assert len(lines) > 1
        assert [line for line in lines if cell_len(line) > columns] == []
        assert [line for line in lines if line != line.rstrip() and arguments[0] != "show"] == []
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e]", "".join(lines))


def test_titles_continue_below_their_beginning(base: Base) -> None:
    base.rule("ZZ", "src/**", title="word " * 40)
    _, shown = on_terminal("applies", "--root", str(base.root), "src/a")
    lines = without_style(shown).split("\n")
    at = next(index for index, line in enumerate(lines) if "ZZ" in line)
    assert cell_len(lines[at]) > 70
    assert lines[at + 1].startswith(" " * 12 + "word")


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 6, ["one", "two", "three"]),
        ("abcdef", 3, ["abc", "def"]),
        ("a path/to/some/file.py", 12, ["a path/to/", "some/file.py"]),
        ("in repo@0123:path/to/file.py#Name", 20, ["in repo@0123:path/", "to/file.py#Name"]),
        ("      folder/long_name.py", 14, ["      folder/", "long_name.py"]),
        ("/usr/lib", 5, ["/usr/", "lib"]),
        ("规则一二三四", 5, ["规则", "一二", "三四"]),
        ("规则 ab一二", 7, ["规则 ab", "一二"]),
        ("ab", 1, ["a", "b"]),
        ("规", 1, ["规"]),
    ],
)
def test_rows_of_a_terminal_end_where_people_would_end_them(text: str, width: int, rows: list[str]) -> None:
    found, start = [], 0
    while start < len(text):
        end = terminal.row_end(text, start, width)
        assert end > start
        found.append(text[start:end].rstrip())
        start = end + len(text[end:]) - len(text[end:].lstrip(" "))
    assert found == rows


# --- progress ---------------------------------------------------------------------------------


def test_long_work_shows_a_bar_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = Base(tmp_path / "kb")
    for number in range(30):
        base.rule(f"R{number}", f"src/{number}/**")
    script = (
        "import sys; from rulebook.cli import main, terminal; terminal.PATIENCE = float(sys.argv[1]);"
        "sys.exit(main(sys.argv[2:]))"
    )
    for patience, options, shown in (("-1", (), True), ("-1", ("-q",), False), ("3600", (), False)):
        line = ["index", "--root", str(base.root), "--index", str(tmp_path / f"i{patience}{len(options)}"), *options]
        code, seen = on_terminal(line=[sys.executable, "-c", script, patience, *line])
        assert code == 0, seen
        assert ("reading" in seen) is shown, (patience, options)
    done = subprocess.run(
        [sys.executable, "-c", script, "-1", "lint", "--root", str(base.root)], capture_output=True, check=False
    )
    assert done.stderr == b""


def test_a_bar_ends_with_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(terminal, "PATIENCE", -1)
    assert terminal.progress_bar("x", quiet=True) is None
    advance = terminal.progress_bar("counting", quiet=False)
    assert advance is not None
    advance(10, 10)
    assert stream.getvalue() == ""
    for done in range(1, 11):
        advance(done, 10)
    assert "counting" in stream.getvalue()
    with terminal.waiting("thinking", quiet=False):
        while "thinking" not in stream.getvalue():
            pass
    size = len(stream.getvalue())
    with terminal.waiting("silence", quiet=True):
        pass
    assert len(stream.getvalue()) == size


def test_a_pipe_gets_whole_lines(wide: Base) -> None:
    out = wide.ask("applies", "src/a").out
    assert CHINESE * 2 in out


def test_control_characters_are_shown_harmless(wide: Base) -> None:
    for arguments in (
        ["applies", "src/a"],
        ["list"],
        ["show", "EVIL"],
        ["explain", "EVIL", "src/a"],
        ["search", "EVIL"],
    ):
        out = wide.ask(*arguments).out
        assert r"\x1b]0;owned\x07" in out
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e]", out)
    shown = wide.ask("applies", "--format", "json", "src/a")
    assert EVIL in [rule["title"] for rule in shown.json["rules"]]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e]", shown.out)


# --- bad input --------------------------------------------------------------------------------


def test_empty_knowledge_base(tmp_path: Path) -> None:
    base = Base(tmp_path)
    for arguments in (["applies", "x"], ["lint"], ["list"], ["index"]):
        got = base.ask(*arguments)
        assert (got.code, got.out) == (3, ""), arguments
        one_clear_line(got.err)
        assert "empty" in got.err


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    "data",
    [
        b"---\nid: X\ntitle: \xff\xfe\n---\n",
        b"No frontmatter at all.\n",
        b"---\nid: X\ntitle: never closed\n",
        b"---\nid: [\n---\n",
        f"---\n{BOMB}---\n".encode(),
        b"---\nid: X\ntitle: T\n---\n" + b"x" * (50 << 20),
    ],
    ids=["not-utf8", "no-frontmatter", "unclosed", "no-yaml", "alias-bomb", "50-MB"],
)
def test_one_bad_file_is_a_finding_and_the_rest_answers(base: Base, data: bytes) -> None:
    base.write("rules/demo/X.md", data)
    got = base.ask("applies", "src/a")
    assert got.code == 0
    assert "R " in got.out
    assert len(got.err.splitlines()) == 1
    assert got.err.startswith("note: rules/demo/X.md")
    lint = base.ask("lint", "--format", "json")
    assert lint.code == 1
    assert {item["path"] for item in lint.json["findings"] if item["severity"] == "error"} == {"rules/demo/X.md"}


def test_symlink_out_of_the_root_is_not_followed(base: Base, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("---\nid: S\ntitle: stolen\nrepo: demo\napplies_to: '**'\n---\nstolen\n")
    (base.root / "rules/demo/S.md").symlink_to(secret)
    got = base.ask("applies", "src/a")
    assert (got.code, "stolen" in got.out) == (0, False)
    assert base.ask("lint").code == 1


def test_diff_that_is_cut_in_the_middle(base: Base) -> None:
    whole = edit("src/a", added=["one", "two", "three"])
    got = base.ask("applies", "--diff", "-", stdin=whole[: whole.index("+three")].encode())
    assert (got.code, got.out) == (3, "")
    one_clear_line(got.err)


def test_text_that_is_no_diff(base: Base) -> None:
    got = base.ask("applies", "--diff", "-", stdin=b"hello\n")
    assert (got.code, got.out) == (3, "")
    one_clear_line(got.err)


def test_diff_file_that_is_missing_or_a_folder(base: Base, tmp_path: Path) -> None:
    for name in (tmp_path / "absent.diff", tmp_path):
        got = base.ask("applies", "--diff", str(name))
        assert (got.code, got.out) == (3, "")
        one_clear_line(got.err)
        assert str(name) in got.err


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["docs/x"], "0 rules apply, 1 changed path that no rule covers"),
        (["docs/x", "docs/y"], "0 rules apply, 2 changed paths that no rule covers"),
        (["src/a"], "1 rule applies"),
    ],
    ids=["one path", "two paths", "one rule"],
)
def test_the_last_line_of_annotations_counts(base: Base, paths: list[str], said: str) -> None:
    assert base.ask("applies", "--format", "github", *paths).out.splitlines()[-1] == f"rulebook: {said}"


def test_git_range_that_does_not_exist(base: Base, tmp_path: Path) -> None:
    target = GitRepo(tmp_path / "target")
    target.commit({"a": ""})
    for text in ("nope..HEAD", "HEAD...nope", "0" * 40):
        got = base.ask("applies", "--checkout", f"demo={target.path}", "--git", text)
        assert (got.code, got.out) == (3, "")
        one_clear_line(got.err)


@pytest.mark.parametrize(
    ("remote", "code"),
    [("https://example.invalid/owner/rules.git", 2), ("https://example.invalid/owner/demo.git", 0)],
    ids=["another's remote", "the target holds its own rules"],
)
@pytest.mark.parametrize("question", [["applies", "--repo", "demo"], ["explain", "R"]], ids=" ".join)
def test_git_range_in_the_knowledge_base_itself(
    base: Base, monkeypatch: pytest.MonkeyPatch, question: list[str], remote: str, code: int
) -> None:
    own = GitRepo(base.root)
    own.commit({"notes.txt": ""})
    own.commit({"src/a": "needle\n"})
    own.git("remote", "add", "origin", remote)
    monkeypatch.chdir(base.root)
    got = base.ask(*question, "--git", "HEAD~1..HEAD")
    assert got.code == code
    if code:
        assert got.out == ""
        assert two_clear_lines(got.err) == (
            "this is the repository of the knowledge base, not 'demo'",
            "run inside a clone of it, or say --checkout demo=DIR",
        )
    else:
        assert got.err == ""
    # Who names it means it.
    assert base.ask(*question, "--git", "HEAD~1..HEAD", "--checkout", f"demo={base.root}").code == 0


@pytest.mark.parametrize("remote", ["", "https://example.invalid/someone/demo-fork"], ids=["none", "a fork's"])
def test_git_range_in_a_clone_without_a_remote_of_the_target(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: str
) -> None:
    fork = GitRepo(tmp_path / "fork")
    fork.commit({"notes.txt": ""})
    fork.commit({"src/a": "needle\n"})
    if remote:
        fork.git("remote", "add", "origin", remote)
    monkeypatch.chdir(fork.path)
    got = base.ask("applies", "--repo", "demo", "--git", "HEAD~1..HEAD")
    assert (got.code, "R " in got.out) == (0, True)
    assert got.err == (
        f"note: no remote of {fork.path} leads to 'demo', and its history is taken for that one's;"
        " --checkout demo=DIR names another clone\n"
    )
    assert base.ask("applies", "--repo", "demo", "--git", "HEAD~1..HEAD", "--quiet").err == ""
    missing = base.ask("applies", "--repo", "demo", "--git", "nope", "--quiet")
    assert (missing.code, missing.out) == (3, "")
    assert "--checkout ALIAS=DIR names another clone" in missing.err


def test_git_range_without_a_repository(base: Base) -> None:
    got = base.ask("applies", "--git", "HEAD")
    assert got.code == 2
    two_clear_lines(got.err)
    assert "--checkout" in got.err


@pytest.fixture
def no_git(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin")}


def test_without_git_paths_still_work(base: Base, tmp_path: Path, no_git: dict[str, str]) -> None:
    inside = tmp_path / "clone"
    GitRepo(inside)
    root = ["--root", str(base.root)]
    for cwd in (tmp_path, inside):
        got = process("applies", *root, "src/a", cwd=cwd, **no_git)
        assert (got.code, got.err) == (0, "")
        assert "R " in got.out
    for arguments in (["--git", "HEAD"], ["--git", "HEAD", "--checkout", f"demo={inside}"]):
        got = process("applies", *root, *arguments, cwd=inside, **no_git)
        assert (got.code, got.out) == (3, "")
        one_clear_line(got.err)
        assert "git is not installed" in got.err


def test_read_only_cache_still_answers(base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A file where the folder should be stops root as well, whom no permission stops.
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    got = base.ask("applies", "src/a")
    assert (got.code, "R " in got.out) == (0, True)
    assert got.err.startswith("note: ")
    assert base.ask("search", "Something").code == 0


def test_store_inside_the_content_is_refused(base: Base) -> None:
    got = base.ask("applies", "--index", str(base.root / "store"), "src/a")
    assert (got.code, got.out) == (3, "")
    one_clear_line(got.err)


def test_two_builds_at_once(base: Base) -> None:
    for number in range(120):
        base.rule(f"R{number}", f"src/{number}/**")
    line = command("applies", "--root", str(base.root), "--format", "json", "src/7/x")
    runs = [subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert (run.returncode, err) == (0, b"")
        assert [rule["id"] for rule in json.loads(out)["rules"]] == ["R7", "R"]


def test_input_that_is_too_large(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_INPUT", 10)
    got = base.ask("applies", "-", stdin=b"src/a-long-name\n")
    assert got.code == 3
    one_clear_line(got.err)


# --- commands ---------------------------------------------------------------------------------


def test_version() -> None:
    assert re.fullmatch(r"rulebook \d+\.\d+\.\d+\S*\n", ask("--version").out)


@pytest.mark.parametrize("name", [*app.COMMANDS])
def test_help_of_every_command_gives_an_example(name: str) -> None:
    got = ask(name, "--help")
    assert got.code == 0
    examples = got.out
    if name == "waiver":
        examples = "".join(ask(name, sub, "--help").out for sub in ("check", "audit", "new", "baseline"))
    assert f"rulebook {name}" in examples.partition("Example")[2], got.out


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_can_be_had(shell_name: str) -> None:
    # Which shell is around the tests is no matter of theirs.
    got = process("--show-completion", shell_name, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert got.code == 0
    assert "rulebook" in got.out


def test_completion_of_commands(tmp_path: Path) -> None:
    got = process(
        _RULEBOOK_COMPLETE="complete_bash", COMP_WORDS="rulebook ap", COMP_CWORD="1", _TYPER_COMPLETE_TEST="1"
    )
    assert "applies" in got.out


def completed(base: Base | None, cwd: Path, *words: str) -> list[str]:
    got = process(
        cwd=cwd,
        _RULEBOOK_COMPLETE="complete_bash",
        COMP_WORDS=" ".join(["rulebook", *words]),
        COMP_CWORD=str(len(words)),
        **({"RULEBOOK_ROOT": str(base.root)} if base else {}),
    )
    assert (got.code, got.err) == (0, "")
    return got.out.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["show", "o"], ["owner/demo#7"]),
        (["show", "x"], []),
        (["explain", "R"], ["R", "RARE"]),
        (["retire", "RA"], ["RARE"]),
        (["stale", "RA"], ["RARE"]),
        (["list", "--repo", "d"], ["demo"]),
        (["sync", "d"], ["demo"]),
        (["list", "--label", "c"], ["ci"]),
        (["list", "--kind", "re"], ["review"]),
        (["show", "--lang", "z"], ["zh"]),
        (["lint", "--fail-on", "n"], ["note", "never"]),
    ],
    ids=str,
)
def test_completion_of_what_the_knowledge_base_has(base: Base, words: list[str], offered: list[str]) -> None:
    base.rule("RARE", tags=["ci"])
    base.write("rules/demo/R.zh.md", "---\nid: R\ntitle: 规则\n---\n")
    base.review(7, "src/**")
    assert completed(base, base.root, *words) == offered


def test_completion_without_a_knowledge_base_is_silent(tmp_path: Path) -> None:
    assert completed(None, tmp_path, "show", "R") == []


def test_help_texts_fold_at_the_terminals_width() -> None:
    _, shown = on_terminal("applies", "--help", columns=60)
    assert "(direct)\n" not in without_style(shown)
    lines = [line.strip() for line in without_style(shown).split("\n")]
    assert "git diff main... | rulebook applies --diff -" in lines
    assert [line for line in without_style(shown).split("\n") if cell_len(line) > 60] == []


@pytest.mark.parametrize("name", [*app.COMMANDS])
def test_help_of_every_command_tells_its_exit_codes(name: str) -> None:
    for sub in ("check", "audit", "new", "baseline") if name == "waiver" else ("",):
        text = ask(name, *([sub] if sub else []), "--help").out
        assert "Exit codes: 0 " in text or name == "site", (name, sub)


def test_list_filters(base: Base) -> None:
    base.rule("TAGGED", tags=["ci"])
    base.review(3, "ci/**", ["CI"])
    ids = [item["id"] for item in base.ask("list", "--format", "json", "--label", "ci").json["documents"]]
    assert ids == ["TAGGED", "owner/demo#3"]
    ids = [item["id"] for item in base.ask("list", "--format", "json", "--kind", "review").json["documents"]]
    assert ids == ["owner/demo#3"]
    assert len(base.ask("list", "--repo", "demo", "--kind", "rule").out.splitlines()) == 2


def test_every_look_up_has_markdown(base: Base) -> None:
    base.rule("EVIL", title="a | b <b>c</b> @octocat", status="retired")
    listed = base.ask("list", "--format", "md").out.splitlines()
    assert listed[:2] == ["| id | status | title |", "| --- | --- | --- |"]
    assert listed[2] == r"| EVIL | retired | a \| b &lt;b&gt;c&lt;\/b&gt; `@octocat` |"
    assert base.ask("search", "--format", "md", "EVIL").out.startswith("1. EVIL a")
    assert base.ask("search", "--format", "md", "nothingofthekind").out == "Nothing found.\n"
    explained = base.ask("explain", "--format", "md", "R", "src/a", "docs/x").out
    assert "- covers `src/a`" in explained
    assert "- does not cover `docs/x`" in explained
    assert explained.startswith("**R applies \\(possible&#58; only the place matches\\); it covers 1 of 2 paths**")
    assert base.ask("explain", "--format", "md", "EVIL").out.startswith("**EVIL cannot apply&#58; it is retired")
    assert base.ask("show", "--format", "md", "R").out.startswith("## What it demands")


def test_a_language_that_is_not_there_is_told(base: Base) -> None:
    base.write("rules/demo/R.zh.md", "---\nid: R\ntitle: 规则\n---\n\n## 要求\n\n某事。\n")
    assert "规则" in base.ask("show", "R", "--lang", "ZH").out
    assert base.ask("show", "R", "--lang", "en").err == ""
    got = base.ask("show", "R", "--lang", "fr")
    assert (got.code, got.err) == (0, "note: R has no twin in 'fr', so this is en; it is there in en and zh\n")
    assert "Rule R" in got.out
    assert base.ask("show", "R", "--lang", "fr", "-q").err == ""


def test_a_supersession_that_goes_round_ends(base: Base) -> None:
    for name, after in (("A", "B"), ("B", "C"), ("C", "A"), ("SELF", "SELF")):
        base.rule(name, status="superseded", superseded_by=after)
    got = base.ask("show", "A", "--format", "json").json
    assert got["replaced_by"] == ["B", "C"]
    assert "Replaced by C" in base.ask("show", "A").out
    assert base.ask("show", "SELF", "--format", "json").json["replaced_by"] == []


def test_every_format_of_every_answer_has_a_renderer() -> None:
    from importlib import import_module

    from rulebook.cli import options, output

    formats = {"applies": options.AppliesFormat, "stale": options.StaleFormat}
    for answer, renderers in output.RENDERERS.items():
        assert list(renderers) == [word.value for word in formats.get(answer, options.Format)]
        for place in renderers.values():
            module, _, function = place.partition(":")
            assert callable(getattr(import_module(f"rulebook.render.{module}"), function))


def test_index_says_what_it_did(base: Base) -> None:
    first, second = base.ask("index"), base.ask("index", "-q")
    assert first.out.startswith("1 added")
    # A file that is younger than a clock's tick is read again, to be sure.
    assert re.match(r"0 added, [01] changed, 0 removed, [01] unchanged files; search: 0 documents added", second.out)
    assert "note: the store is in" in first.err
    assert second.err == ""


def test_door_in_the_checkout_is_the_same_program() -> None:
    door = Path(__file__).parents[1] / "cli.py"
    done = subprocess.run([sys.executable, str(door), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rulebook ")


def test_main_takes_arguments(capfd: pytest.CaptureFixture[str], base: Base) -> None:
    assert main(["list", "--root", str(base.root)]) == 0
    assert "R " in capfd.readouterr().out
    assert shutil.which("bash")
