"""What words of a shell script stand for: variables, folders, clones, paths that Python is asked for.

An over-approximation, since nothing is run: a variable stands for what was assigned to it before, on
whichever branch, and a parameter of a function for what its calls in the same file pass. What stays
unknown stays in the text as written.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import NamedTuple

from rulebook.waivers.shell import LITERAL_DOLLAR, Assignment, Command, Script, parse
from rulebook.waivers.targets import INSTALLED_ROOT

#: Values that are followed for one word, assignments for one variable, and levels of variables in variables.
MAX_VALUES = 8
MAX_DEPTH = 6
MAX_WORD = 4_000

_NAME = re.compile(r"\{[!#]?(?P<braced>\w+|[@*])(?:\[[^\]]*\])?(?P<operator>[^{}]*)\}|(?P<bare>[A-Za-z_]\w*|[0-9@*])")
_LOCATED = re.compile(
    r"""find_spec\(\s*["'](?P<spec>[\w.]+)["']|\bimport_module\(\s*["'](?P<loaded>[\w.]+)["']"""
    r"""|\bimport\s+(?:[\w.]+\s*,\s*)*?(?P<imported>[\w.]+)\s*(?:as\s+\w+\s*)?;?.{0,200}?\b\w[\w.]*\.__(?:file|path)__"""
    r"""|\bfrom\s+(?P<package>[\w.]+)\s+import\b.{0,200}?\.__(?:file|path)__""",
    re.DOTALL,
)
_FILE_OF = re.compile(r"([A-Za-z_][\w.]*)\.__(?:file|path)__")
_ASKS_PACKAGES = re.compile(r"getsitepackages|get_path\(|purelib|platlib|get_python_lib|USER_SITE|usersitepackages")


class Place(NamedTuple):
    """A value, with the assignments that made it."""

    text: str
    trace: tuple[Assignment, ...] = ()


class Clone(NamedTuple):
    """A ``git clone`` that the script makes: of what, into which folder, by which command."""

    url: str
    folder: str
    command: Command


class Values:
    """The variables of one script."""

    def __init__(self, script: Script, outer: Values | None = None) -> None:
        """``outer`` is the script that this one stands in, as a string or a here-document."""
        self.script = script
        self.outer = outer
        self._assignments: dict[str, list[Assignment]] = {}
        for assignment in script.assignments:
            self._assignments.setdefault(assignment.name, []).append(assignment)
        self._calls: dict[str, list[Command]] = {}
        functions = {command.function for command in script.commands if command.function}
        for command in script.commands:
            if command.words[0].text in functions:
                self._calls.setdefault(command.words[0].text, []).append(command)
        self._moves = [command for command in script.commands if command.words[0].text in ("cd", "pushd")]
        self.clones: list[Clone] = []
        for command in script.commands:
            self.clones.extend(self._clone(command))

    def expand(self, text: str, command: Command | Assignment, depth: int = 0) -> list[Place]:
        """What ``text``, a word of ``command`` or the value of an assignment, can stand for."""
        text = text[:MAX_WORD]
        if "$" not in text and "`" not in text:
            return [Place(text.replace(LITERAL_DOLLAR, "$"))]
        pieces: list[list[Place]] = []
        for piece, is_value in _split(text):
            if not is_value:
                pieces.append([Place(piece)])
            elif piece.startswith(("$(", "`")):
                pieces.append(self._substitute(piece, command, depth))
            else:
                pieces.append(self._variable(piece, command, depth))
        found: dict[str, Place] = {}
        for combination in islice(product(*pieces), MAX_VALUES):
            value = "".join(place.text for place in combination).replace(LITERAL_DOLLAR, "$")
            trace = dict.fromkeys(item for place in combination for item in place.trace)
            found.setdefault(value, Place(value, tuple(trace)))
        return list(found.values())

    def folder(self, command: Command) -> list[Place]:
        """The folders that ``command`` may run in; ``.`` where the script never changes it."""
        places = [Place("")]
        moved = False
        for move in self._moves:
            if move.order >= command.order:
                break
            inside = move.scope == command.scope[: len(move.scope)]
            if move.function != command.function or not inside or len(move.words) < 2:
                continue
            moved = True
            goals = self.expand(move.words[-1].text, move)
            places = [
                Place(posixpath.join(place.text, goal.text), (*place.trace, *goal.trace))
                for place, goal in islice(product(places, goals), MAX_VALUES)
            ]
        if not moved and command.function:
            calls = self._calls.get(command.function, ())
            outside = [call for call in calls if call.function != command.function]
            places = [place for call in outside[:MAX_VALUES] for place in self.folder(call)] or places
        return places[:MAX_VALUES]

    def everywhere(self, name: str, depth: int = 0) -> list[Place]:
        """What a variable is anywhere in this script, for a script that stands inside of it."""
        known = self._assignments.get(name, [])[-MAX_VALUES:]
        return [place for item in known for place in self.expand(item.value, item, depth + 1)]

    def calls_of(self, function: str) -> list[Command]:
        """The first calls of a function of this script."""
        return self._calls.get(function, [])[:MAX_VALUES] if function else []

    def clone_of(self, path: str) -> tuple[Clone, str] | None:
        """The clone that ``path`` is in, and the path inside of it."""
        for clone in reversed(self.clones):
            if path == clone.folder:
                return clone, ""
            if path.startswith(clone.folder + "/"):
                return clone, path[len(clone.folder) + 1 :]
        return self.outer.clone_of(path) if self.outer is not None else None

    def _clone(self, command: Command) -> Iterator[Clone]:
        words = [word.text for word in command.words]
        try:
            start = words.index("clone", words.index("git"))
        except ValueError:
            return
        rest = positional(words[start + 1 :], ("-b", "--branch", "--depth", "-c", "--config", "-o", "--origin", "-j"))
        if not rest:
            return
        urls = self.expand(rest[0], command)
        folders = self.expand(rest[1], command) if len(rest) > 1 else []
        for index, url in enumerate(urls):
            name = url.text.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
            folder = folders[min(index, len(folders) - 1)].text if folders else name
            base = self.folder(command)[0].text
            yield Clone(url.text, posixpath.normpath(posixpath.join(base, folder)), command)

    def _variable(self, piece: str, command: Command | Assignment, depth: int) -> list[Place]:
        match = _NAME.match(piece, 1)
        if match is None or depth >= MAX_DEPTH:
            return [Place(piece)]
        name = match["braced"] or match["bare"]
        operator = match["operator"] or ""
        found = self._lookup(name, command, depth)
        if not found and operator.startswith((":-", "-", ":=", "=")):
            return self.expand(operator.lstrip(":-="), command, depth + 1)
        if operator.startswith("%") and "/" in operator:
            return [place._replace(text=posixpath.dirname(place.text)) for place in found] or [Place(piece)]
        return found[:MAX_VALUES] or [Place(piece)]

    def _lookup(self, name: str, command: Command | Assignment, depth: int) -> list[Place]:
        if name.isdigit() or name in "@*":
            return self._parameter(name, command, depth)
        known = self._assignments.get(name, ())
        visible = [item for item in known if item.function in ("", command.function)]
        # An assignment does not see itself: PATH=$PATH:x.
        earlier = [item for item in visible if item.order < command.order and item is not command]
        local = [item for item in earlier if item.function == command.function]
        chosen = local or earlier or [item for item in visible or known if item is not command]
        found: list[Place] = []
        for assignment in reversed(chosen[-MAX_VALUES:]):
            places = self.expand(assignment.value, assignment, depth + 1)
            found.extend(Place(place.text, (assignment, *place.trace)) for place in places)
        if not found and self.outer is not None:
            found.extend(self.outer.everywhere(name, depth))
        return found

    def _parameter(self, name: str, command: Command | Assignment, depth: int) -> list[Place]:
        found: list[Place] = []
        for call in self._calls.get(command.function, ())[: MAX_VALUES * 2]:
            if call.function == command.function:
                continue
            words = call.words[1:] if not name.isdigit() else call.words[int(name) : int(name) + 1]
            if name == "0" or not words:
                continue
            found += self.expand(" ".join(word.text for word in words), call, depth + 1)
        return list(dict.fromkeys(found))[: MAX_VALUES * 2]

    def _substitute(self, piece: str, command: Command | Assignment, depth: int) -> list[Place]:
        """What a command substitution prints, where that can be told without running it."""
        inner = piece[2:-1] if piece.startswith("$(") else piece[1:-1]
        located = locate_package(inner)
        if located is not None:
            return [Place(located)]
        if depth >= MAX_DEPTH:
            return [Place(piece)]
        commands = parse(inner).commands
        if not commands:
            return [Place(piece)]
        words = [word.text for word in commands[0].words]
        name = words[0]
        if name in ("dirname", "realpath", "readlink", "echo", "printf", "basename", "cygpath") and len(words) > 1:
            places = self.expand(words[-1], command, depth + 1)
            if name == "dirname":
                return [place._replace(text=posixpath.dirname(place.text)) for place in places]
            return places
        if name == "find":
            return self._found(words, command, depth)
        if name == "mktemp":
            return [Place("/mktemp")]
        return [Place(piece)]

    def _found(self, words: list[str], command: Command | Assignment, depth: int) -> list[Place]:
        """What ``find`` prints: one path made of its folder and its patterns."""
        folders = []
        for word in words[1:]:
            if word.startswith(("-", "(", "!")):
                break
            folders.append(word)
        patterns = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-path", "-wholename")]
        patterns += [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-name", "-iname")]
        text = "/".join([(folders or ["."])[0], *(pattern.strip("/") for pattern in patterns)])
        return self.expand(text, command, depth + 1)


def locate_package(code: str) -> str | None:
    """The path that a piece of Python (or of ``pip show``) finds out, where it asks for an installed package.

    >>> locate_package("python3 -c 'import vllm; print(vllm.__path__[0])'")
    '/site-packages/vllm'
    """
    if _ASKS_PACKAGES.search(code):
        return INSTALLED_ROOT
    shown = re.search(r"\bpip3?\s+show\s+(?:-\S+\s+)*([\w.-]+)", code)
    if shown is not None:
        return INSTALLED_ROOT
    match = _LOCATED.search(code)
    if match is None:
        return None
    named = match["spec"] or match["loaded"] or match["imported"] or match["package"]
    asked = _FILE_OF.search(code)
    if match["imported"] and asked is not None and re.search(rf"\bimport\s[^;\n]*\b{re.escape(asked[1])}\b", code):
        named = asked[1]
    path = f"{INSTALLED_ROOT}/{named.replace('.', '/')}"
    if not re.search(r"__path__|submodule_search_locations", code):
        path += "/__init__.py" if "." not in named else ".py"
    for _ in range(min(len(re.findall(r"\bdirname\b|\.parent\b", code)), 10)):
        path = posixpath.dirname(path) if path != INSTALLED_ROOT else path
    return path


def positional(words: Iterable[str], with_value: tuple[str, ...]) -> list[str]:
    """The arguments that are no options; ``with_value`` are options whose value is a word of its own."""
    found = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in with_value:
            skip = True
        elif not word.startswith("-") or word == "-":
            found.append(word)
    return found


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a word: plain text, and what starts with ``$`` or a backtick."""
    start = at = 0
    while at < len(text):
        end = 0
        if text.startswith("$((", at):
            end = text.find("))", at) + 2
        elif text.startswith("$(", at):
            end = _closing(text, at + 1)
        elif text[at] == "`":
            end = text.find("`", at + 1) + 1
        elif text[at] == "$":
            if text.startswith("${", at):
                end = _closing(text, at + 1)
            else:
                match = _NAME.match(text, at + 1)
                end = match.end() if match else 0
        if end <= at + 1:
            at += 1
            continue
        if start < at:
            yield text[start:at], False
        yield text[at:end], not text.startswith("$((", at)
        start = at = end
    if start < len(text):
        yield text[start:], False


def _closing(text: str, at: int) -> int:
    """The end of the bracket that opens at ``at``, or 0."""
    opening, closing = text[at], {"(": ")", "{": "}"}[text[at]]
    depth = 0
    for index in range(at, len(text)):
        if text[index] == opening:
            depth += 1
        elif text[index] == closing:
            depth -= 1
            if not depth:
                return index + 1
    return 0
