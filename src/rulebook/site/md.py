"""A page as Markdown: the ``index.md`` beside it, for coding agents and everybody who reads text.

Nothing renders this text on the site, so it is kept as plain as CommonMark allows: only what would become markup is
escaped. Links within the site lead to the other pages' Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rulebook.render.md import code
from rulebook.render.safe import one_line
from rulebook.site import blocks as b
from rulebook.site.links import relative
from rulebook.site.markup import relink

_OWN_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
#: CommonMark 0.31, section 6: what can begin a code span, emphasis, a link, HTML, an entity or an escape.
_INLINE = re.compile(r"[\\`*\[\]<]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=[#A-Za-z])|~(?=~)")
#: Section 4 and 5: what can begin a block at the beginning of a line.
_BLOCK = re.compile(r"^(\s*)([#>=+-]|\d+[.)]|~{3})")


def print_page(title: str, blocks: Iterable[b.Block], here: str) -> str:
    """A page as Markdown.

    Args:
        title: its heading, plain text.
        blocks: what stands on it.
        here: its address from the site's root.
    """
    parts = [f"# {text_of(title)}", *(part for block in blocks if (part := _Printer(here).block(block)))]
    return "\n\n".join(parts) + "\n"


def text_of(text: str, *, in_table: bool = False) -> str:
    """Plain text with what Markdown could take for markup escaped; code in backticks stays code."""
    text = one_line(text)
    parts: list[str] = []
    at = 0
    for span in _OWN_CODE.finditer(text):
        parts += [_words(text[at : span.start()], in_table), code(span[2], in_table=in_table)]
        at = span.end()
    parts.append(_words(text[at:], in_table))
    return _BLOCK.sub(_escape_block, "".join(parts))


def _words(text: str, in_table: bool) -> str:
    text = _INLINE.sub(lambda match: "&amp;" if match[0] == "&" else f"\\{match[0]}", text)
    return text.replace("|", "\\|") if in_table else text


def _escape_block(match: re.Match[str]) -> str:
    marker = match[2]
    return match[1] + (f"{marker[:-1]}\\{marker[-1]}" if marker[0].isdigit() else f"\\{marker}")


class _Printer:
    """Prints the blocks of one page."""

    def __init__(self, here: str) -> None:
        self._here = here

    def block(self, block: b.Block) -> str:
        match block:
            case b.Heading(content, level, _, size):
                return f"{'#' * level} {text_of(content)}" + ("" if size is None else f" ({size})")
            case b.Paragraph(content, role):
                return "" if role == "screen" else self.inline(content)
            case b.Prose(markdown, link, _, _):
                return relink(markdown.strip("\n"), link) if link else markdown.strip("\n")
            case b.Facts(entries):
                return self._list(f"{text_of(name)}: {self.inline(value)}" for name, value in entries if value)
            case b.Items(items):
                return "\n".join(self._items(items))
            case b.Notice(title, items, _):
                quoted = [
                    f"**{text_of(title)}**",
                    *(["", *(f"- {self.inline(item)}" for item in items)] if items else []),
                ]
                return "\n".join(f"> {line}".rstrip() for line in quoted)
            case b.Table():
                return "\n".join(self._table(block))
            case b.Tree(branches):
                return "\n".join(self._tree(branches, 0))
            case b.Cards(cards):
                return "\n".join(self._cards(cards))
            case b.Entries(entries):
                return "\n\n".join("\n".join(self._entry(entry)) for entry in entries)
            case b.Trail(_, links):
                return " / ".join(map(self.inline, links))
            case b.Neighbours():
                return ""  # The lists have them.
            case b.Tool(instead):
                return self.inline(instead)
            case b.Question():
                return self.inline(b.Link(block.target, block.button))

    def inline(self, content: b.Inline, *, in_table: bool = False) -> str:
        return "".join(self._span(piece, in_table) for piece in b.pieces(content))

    def _span(self, span: str | b.Span, in_table: bool) -> str:
        match span:
            case str():
                return text_of(span, in_table=in_table)
            case b.Code(content, _):
                return code(content, in_table=in_table)
            case b.Link(target, content, _):
                shown = self.inline(content, in_table=in_table)
                # What a query shows is made by a script of the page.
                return shown if "?" in target else f"[{shown}]({_target(_page(relative(self._here, target)))})"
            case b.External(target, content, _):
                return f"[{self.inline(content, in_table=in_table)}]({_target(target)})"
            case b.Lines(contents):
                return ", ".join(self.inline(content, in_table=in_table) for content in contents)
            case _:
                return text_of(span[0], in_table=in_table)

    @staticmethod
    def _list(lines: Iterable[str]) -> str:
        return "\n".join(f"- {line}" for line in lines)

    def _items(self, items: Sequence[b.Item]) -> Iterator[str]:
        for item in items:
            yield f"- {self.inline(item.content)}"
            yield from (f"  - {self.inline(part)}" for part in item.below)

    def _table(self, table: b.Table) -> Iterator[str]:
        yield "| " + " | ".join(text_of(column.content, in_table=True) for column in table.columns) + " |"
        yield "|" + " --- |" * len(table.columns)
        for row in table.rows:
            yield "| " + " | ".join(self.inline(cell, in_table=True) for cell in row.cells) + " |"

    def _tree(self, branches: Sequence[b.Branch], depth: int) -> Iterator[str]:
        pad = "  " * depth
        for branch in branches:
            yield f"{pad}- {self.inline(branch.content)} ({text_of(branch.note)})"
            yield from (f"{pad}  - {self.inline(item)}" for item in branch.items)
            yield from self._tree(branch.branches, depth + 1)

    def _cards(self, cards: Sequence[b.Card]) -> Iterator[str]:
        for card in cards:
            yield f"- {self.inline(card.title)}: {text_of(card.lead)}"
            yield from (f"  - {self.inline(entry)}" for entry in card.entries)

    def _entry(self, entry: b.Entry) -> Iterator[str]:
        facts = ", ".join(self.inline(fact) for fact in entry.facts)
        yield f"- {self.inline(entry.title)}" + (f" ({facts})" if facts else "")
        if entry.text:
            yield "\n" + "\n".join(f"  {line}".rstrip() for line in self.block(entry.text).split("\n"))
        if entry.more:
            yield f"\n  {self.inline(entry.more)}"


def _page(target: str) -> str:
    """The Markdown beside the page that a relative link leads to."""
    path, mark, fragment = target.partition("#")
    return f"{path}index.md{mark}{fragment}" if path.endswith("/") else target


def _target(target: str) -> str:
    """The target of a link, CommonMark 0.31, section 6.3."""
    target = re.sub(r"[<>\s\\]", "", target)
    return f"<{target}>" if re.search(r"[()]", target) or not target else target
