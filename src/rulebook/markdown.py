"""What a Markdown text consists of: headings, code spans, list items, comments, each with its line.

Found with markdown-it-py, a CommonMark parser, so that a ``##`` inside a code fence is no heading and
a backtick inside a link's address is no code span.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

#: Names that programs use: two characters or more, no spaces, dots between parts allowed.
_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*\Z", re.ASCII)


class Heading(NamedTuple):
    """A heading of the text itself; ``line`` is 1-based within the text that was parsed."""

    level: int
    text: str
    line: int


class CodeSpan(NamedTuple):
    """The text between backticks, and the 1-based line of the block that it stands in."""

    text: str
    line: int


class Outline(NamedTuple):
    """A text's skeleton, in the order of the text."""

    headings: tuple[Heading, ...]
    code_spans: tuple[CodeSpan, ...]
    #: The line of each list item.
    items: tuple[int, ...]
    #: Comments (``<!-- … -->``) that stand as blocks of their own, with their line.
    comments: tuple[tuple[str, int], ...]
    #: The words of each block without code, with the block's line; a link is its text in brackets.
    prose: tuple[tuple[str, int], ...] = ()


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def outline(text: str) -> Outline:
    """Parses a Markdown text into its skeleton."""
    headings: list[Heading] = []
    spans: list[CodeSpan] = []
    items: list[int] = []
    comments: list[tuple[str, int]] = []
    prose: list[tuple[str, int]] = []
    level = 0
    line = 1
    for token in _parser().parse(text):
        if token.map is not None:
            line = token.map[0] + 1
        if token.type == "heading_open":
            # One that stands in a quotation or a list item divides nothing.
            level = int(token.tag[1:]) if token.level == 0 else 0
        elif token.type == "list_item_open":
            items.append(line)
        elif token.type == "html_block":
            comments.extend(_comments(token.content, line))
        elif token.type == "inline":
            if level:
                headings.append(Heading(level, _plain(token.children or ()), line))
            prose.append((_words(token.children or ()), line))
            for child in token.children or ():
                if child.type == "code_inline":
                    spans.append(CodeSpan(child.content, line))
                elif child.type == "html_inline":
                    comments.extend(_comments(child.content, line))
        elif token.type == "heading_close":
            level = 0
    return Outline(tuple(headings), tuple(spans), tuple(items), tuple(comments), tuple(prose))


def identifiers(spans: Sequence[CodeSpan]) -> tuple[str, ...]:
    """The names of code among code spans, in order and without repeats.

    A span counts where it is shaped like code: it has an underscore, a dot between parts, a capital
    inside, or was written as a call. An English word in backticks does not.

    >>> identifiers([CodeSpan("parse_extra_config()", 1), CodeSpan("draft", 1), CodeSpan("a.B.close", 1)])
    ('parse_extra_config', 'a.B.close')
    """
    found: dict[str, None] = {}
    for span in spans:
        called = span.text.partition("(")[0] if span.text.endswith(")") else span.text
        if not _NAME.match(called):
            continue
        if called != span.text or _is_code(called):
            found[called] = None
    return tuple(found)


def _is_code(name: str) -> bool:
    if "_" in name.strip("_") or name.startswith("__"):
        return True
    if "." in name or "::" in name:
        # "README.md" and "e.g" are no names of code.
        last = re.split(r"\.|::", name)[-1]
        return len(last) > 3 and any(map(_is_code, re.split(r"\.|::", name)))
    return len(name) > 3 and any(c.isupper() for c in name[1:]) and any(c.islower() for c in name)


def _comments(html: str, line: int) -> list[tuple[str, int]]:
    found = []
    # Not a regular expression: it would look for the end of each of a thousand unclosed comments.
    start = html.find("<!--")
    while start >= 0:
        end = html.find("-->", start + 4)
        if end < 0:
            break
        found.append((html[start + 4 : end].strip(), line + html.count("\n", 0, start)))
        start = html.find("<!--", end + 3)
    return found


def _plain(children: Sequence[object]) -> str:
    """The words of inline content, without its marks."""
    parts = []
    for child in children:
        kind = getattr(child, "type", "")
        if kind in ("text", "code_inline", "image"):
            parts.append(str(getattr(child, "content", "")))
        elif kind in ("softbreak", "hardbreak"):
            parts.append(" ")
    return "".join(parts).strip()


def _words(children: Sequence[object]) -> str:
    """The words of inline content outside of code; the brackets of links are kept, their addresses are not."""
    marks = {"code_inline": "`", "softbreak": " ", "hardbreak": " ", "link_open": "[", "link_close": "]"}
    parts = []
    for child in children:
        kind = getattr(child, "type", "")
        parts.append(str(getattr(child, "content", "")) if kind == "text" else marks.get(kind, ""))
    return "".join(parts).strip()
