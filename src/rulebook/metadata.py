"""Frontmatter as text: YAML whose scalars never change their meaning, with the line of every value.

YAML 1.1 reads an all-digit SHA as a number, ``0012`` as octal, ``on`` as true and ``2026-10-09`` as
a date, keeps the last of two equal keys in silence and lets a few aliases stand for billions of
values. Here a scalar is the text that was written, a key that stands twice is a finding, and the
number of values is bounded.

The split into frontmatter and body is python-frontmatter's; the YAML is PyYAML's, of which only the
scanner, parser and composer are used, so no tag ever constructs anything.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from frontmatter.default_handlers import YAMLHandler

from rulebook.model import Finding, Location, Severity

#: Values that one frontmatter may hold once aliases are followed.
MAX_VALUES = 20_000
MAX_DEPTH = 40

Key = tuple[str | int, ...]

_Loader: type[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_BOUNDARY = re.compile(r"^---[ \t]*$", re.MULTILINE)
#: What YAML would cut off as a comment, though it looks like the anchor of a path.
_ANCHOR = re.compile(r"[ \t]+#\S[^\n]*")


class Metadata(NamedTuple):
    """A frontmatter's values, and where each stands.

    Attributes:
        values: mappings, lists and text, nested.
        lines: the 1-based line in the file of each value, by its path of keys and list indices.
    """

    values: dict[str, Any]
    lines: dict[Key, int]

    def line(self, *key: str | int) -> int:
        """The line of a value, or of the nearest value around it."""
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key, 1)


class Parts(NamedTuple):
    """A file's frontmatter and body; ``body_line`` is the 1-based line that the body begins in."""

    metadata: Metadata
    body: str
    body_line: int
    findings: tuple[Finding, ...]


class _BadFrontmatter(Exception):
    def __init__(self, code: str, message: str, remedy: str, line: int) -> None:
        super().__init__(message)
        self.code, self.message, self.remedy, self.line = code, message, remedy, line


class _Source:
    """The YAML text, and the line of each of its places.

    YAML 1.1 also ends lines at U+0085, U+2028 and U+2029, so the line numbers of its marks are not an editor's.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._ends = [match.start() for match in re.finditer("\n", raw)]

    def line(self, mark: yaml.Mark | None) -> int:
        """The 1-based line of a mark. "---" is the file's first line; ``raw`` begins with that line's end."""
        return 1 if mark is None else self.line_at(mark.index)

    def line_at(self, index: int) -> int:
        """The 1-based line of a character."""
        return bisect(self._ends, index - 1) + 1

    def line_text(self, line: int) -> str:
        """The text of a 1-based line."""
        return self.raw.split("\n")[line - 1]


class _TextHandler(YAMLHandler):
    """python-frontmatter's YAML handler with a loader that leaves scalars alone."""

    def __init__(self) -> None:
        # The default boundary also takes "----" and swallows blank lines, which would shift lines.
        super().__init__(fm_boundary=_BOUNDARY)

    def load(self, fm: str, **_: object) -> Any:
        return _compose(fm)


def split_document(text: str, path: str) -> Parts:
    r"""Splits a file's text into frontmatter and body and reads the frontmatter.

    Args:
        text: with ``\\n`` line endings and no byte order mark.
        path: for findings only.

    Returns:
        The parts. Where the frontmatter is missing, unclosed or malformed, its values are empty and
        ``findings`` says so.
    """
    empty = Metadata({}, {})
    handler = _TextHandler()

    def complain(code: str, message: str, remedy: str, line: int) -> Finding:
        return Finding(
            code=code, severity=Severity.ERROR, message=message, location=Location(path, line), remedy=remedy
        )

    if not handler.detect(text):
        finding = complain("frontmatter-missing", "has no frontmatter", "begin the file with a '---' line", 1)
        return Parts(empty, text, 1, (finding,))
    try:
        raw, body = handler.split(text)
    except ValueError:
        finding = complain(
            "frontmatter-unclosed", "the frontmatter is never closed", "end it with a line of its own: ---", 1
        )
        return Parts(empty, "", 1, (finding,))
    body_line = 1 + raw.count("\n") + len(body) - len(body.lstrip("\n"))
    body = body.lstrip("\n")
    try:
        metadata, findings = handler.load(raw)
    except _BadFrontmatter as error:
        finding = complain(error.code, error.message, error.remedy, error.line)
        return Parts(empty, body, body_line, (finding,))
    return Parts(metadata, body, body_line, tuple(complain(*found) for found in findings))


def _compose(raw: str) -> tuple[Metadata, list[tuple[str, str, str, int]]]:
    """Reads YAML text that follows an opening ``---`` line, so its own first line is the file's first."""
    source = _Source(raw)
    try:
        loader = _Loader(raw)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise _explain_yaml(error, source) from None
    except yaml.reader.ReaderError as error:
        code = error.character if isinstance(error.character, int) else ord(error.character)
        message = f"not YAML: the control character U+{code:04X}"
        line = source.line_at(max(raw.find(chr(code)), 0))
        raise _BadFrontmatter("yaml", message, "remove it, or write it as an escape in double quotes", line) from None
    except RecursionError:
        raise _too_deep(1) from None
    findings: list[tuple[str, str, str, int]] = []
    lines: dict[Key, int] = {}
    if node is None:
        return Metadata({}, lines), findings
    if not isinstance(node, yaml.MappingNode):
        raise _BadFrontmatter("yaml-shape", "the frontmatter is no list of 'key: value' lines", "write key: value", 1)
    budget = iter(range(MAX_VALUES))
    values = _convert(node, (), lines, findings, budget, source)
    return Metadata(values, lines), findings


def _convert(
    node: yaml.Node,
    key: Key,
    lines: dict[Key, int],
    findings: list[tuple[str, str, str, int]],
    budget: Iterator[int],
    source: _Source,
) -> Any:
    line = source.line(node.start_mark)
    lines[key] = line
    if len(key) > MAX_DEPTH:
        raise _too_deep(line)
    if next(budget, None) is None:
        raise _BadFrontmatter(
            "yaml-size", f"the frontmatter holds more than {MAX_VALUES:,} values", "write it without aliases", line
        )
    if node.tag.startswith("!"):
        # An unquoted "!src/**" is a tag to YAML, and what should have been text is lost.
        findings.append(("yaml-tag", f"{node.tag!r} is read as a YAML tag", f"quote it: '{node.tag}'", line))
    if isinstance(node, yaml.ScalarNode):
        # libyaml's name for the plain style is an empty string, the Python parser's is None.
        tail = None if node.style else _ANCHOR.match(source.raw, node.end_mark.index)
        if tail:
            message = f"{tail[0].strip()!r} is read as a comment, not as text"
            findings.append(("yaml-comment", message, "quote the whole value, or put a space behind '#'", line))
        return node.value
    if isinstance(node, yaml.SequenceNode):
        return [_convert(n, (*key, i), lines, findings, budget, source) for i, n in enumerate(node.value)]
    result: dict[str, Any] = {}
    for name_node, value_node in node.value:
        if not isinstance(name_node, yaml.ScalarNode):
            place_line = source.line(name_node.start_mark)
            findings.append(("yaml-key", "a key is no plain text", "write key: value; quote { } and [ ]", place_line))
            continue
        name = name_node.value
        name_line = source.line(name_node.start_mark)
        if name in result:
            findings.append(("yaml-duplicate", f"the key {name!r} stands twice", "keep one of them", name_line))
            continue
        place = (*key, name)
        result[name] = _convert(value_node, place, lines, findings, budget, source)
        lines[place] = name_line
    return result


def _too_deep(line: int) -> _BadFrontmatter:
    return _BadFrontmatter("yaml-depth", f"the frontmatter is nested more than {MAX_DEPTH} deep", "flatten it", line)


def _explain_yaml(error: yaml.MarkedYAMLError, source: _Source) -> _BadFrontmatter:
    mark = error.problem_mark or error.context_mark
    line = source.line(mark)
    problem = _one_line(error.problem or str(error))
    if "nesting depth" in problem:
        return _too_deep(line)
    if "alias" in f"{error.context} {error.problem}":
        text = source.line_text(line).strip()
        glob = re.search(r"(?:^|[\s,\[])(\*[^\s,\]]*)", text)
        shown = glob[1] if glob else "*"
        return _BadFrontmatter("yaml-alias", f"{shown!r} is read as a YAML alias", f'quote it: "{shown}"', line)
    remedy = "mend the line"
    if "mapping values are not allowed" in problem:
        remedy = "quote the value: it holds ': '"
    elif mark is not None and source.raw[mark.index : mark.index + 1] == "\t":
        remedy = "indent with spaces"
    elif "cannot start any token" in problem:
        remedy = "quote the value: it begins with a character that YAML keeps for itself"
    return _BadFrontmatter("yaml", f"not YAML: {problem}", remedy, line)


def _one_line(text: str) -> str:
    return " ".join(text.split())
