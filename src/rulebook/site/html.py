"""A page as HTML: structure that is trusted around texts that are not.

Every text from content passes :func:`_escaped` or, if it is Markdown, :mod:`rulebook.site.markup`; nothing else reaches
the page. No element has a ``style`` or an event handler, which the page's Content-Security-Policy would refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from rulebook.render.safe import one_line, several_lines
from rulebook.site import blocks as b
from rulebook.site import markup
from rulebook.site.links import relative

_OWN_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
#: Between the values of an attribute that holds several; no value can have it, since all are single lines.
SEPARATOR = "\n"


class Printed(NamedTuple):
    """HTML, and the headings in it, the page's own first."""

    html: str
    anchors: tuple[markup.Anchor, ...]


def print_page(title: str, blocks: Iterable[b.Block], here: str, *, anchor: str = "") -> Printed:
    """A page as HTML.

    Args:
        title: its heading, plain text.
        blocks: what stands on it; a :class:`~rulebook.site.blocks.Trail` comes before the heading.
        here: its address from the site's root.
        anchor: the heading's id, else that of its words.
    """
    printer = _Printer(here)
    if anchor:
        printer.taken.add(anchor)
    identity = anchor or markup.new_id(title, printer.taken)
    printer.anchors.append(markup.Anchor(1, one_line(title), identity))
    heading = f'<h1 id="{_escaped(identity)}">{_words(title)}</h1>'
    before: list[str] = []
    after: list[str] = []
    for block in blocks:
        (before if isinstance(block, b.Trail) else after).append(printer.block(block))
    return Printed("\n".join([*before, heading, *after]) + "\n", tuple(printer.anchors))


def _escaped(text: str) -> str:
    return escape(one_line(text))


def _words(text: str) -> str:
    """Plain text, with code in backticks as code."""
    text = one_line(text)
    parts: list[str] = []
    at = 0
    for span in _OWN_CODE.finditer(text):
        parts += [escape(text[at : span.start()]), f"<code>{escape(span[2])}</code>"]
        at = span.end()
    return "".join([*parts, escape(text[at:])])


def _hint(text: str) -> str:
    return f' title="{_escaped(text)}"' if text else ""


def _name(text: str) -> str:
    """A text as a part of a class or an id of the site's own."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


class _Printer:
    """Prints the blocks of one page and keeps its headings."""

    def __init__(self, here: str) -> None:
        self._here = here
        self.taken: set[str] = set()
        self.anchors: list[markup.Anchor] = []

    def block(self, block: b.Block) -> str:
        match block:
            case b.Heading():
                return self._heading(block)
            case b.Paragraph(content, role):
                named = f' class="rulebook-{role}"' if role else ""
                return f"<p{named}>{self.inline(content)}</p>"
            case b.Prose():
                return self._prose(block)
            case b.Facts(entries):
                return self._facts(entries)
            case b.Items(items):
                return self._items(items)
            case b.Notice(title, items, tone):
                listed = f"<ul>{self._listed(items)}</ul>" if items else ""
                return f'<div class="rulebook-notice" data-tone="{tone}"><p>{_words(title)}</p>{listed}</div>'
            case b.Table():
                return "\n".join(self._table(block))
            case b.Tree(branches):
                return '<div class="rulebook-tree">' + "".join(map(self._branch, branches)) + "</div>"
            case b.Cards(cards):
                return '<div class="rulebook-summaries">' + "\n".join(map(self._card, cards)) + "</div>"
            case b.Entries(entries):
                return "\n".join(map(self._entry, entries))
            case b.Trail(name, links):
                listed = "".join(f"<li>{self._span(link)}</li>" for link in links)
                return self._nav("trail", name, f"<ol>{listed}</ol>")
            case b.Neighbours():
                return self._neighbours(block)
            case b.Question():
                return self._question(block)
            case b.Tool():
                return ""

    # --- in a line ---

    def inline(self, content: b.Inline) -> str:
        return "".join(map(self._span, b.pieces(content)))

    def _span(self, span: str | b.Span) -> str:
        match span:
            case str():
                return _words(span)
            case b.Text(content, lang):
                return f'<span lang="{_escaped(lang)}">{_words(content)}</span>'
            case b.Code(content, is_path):
                shown = _escaped(content)
                return f"<code>{shown.replace('/', '/<wbr>') if is_path else shown}</code>"
            case b.Link(target, content, hint):
                return f'<a href="{_escaped(relative(self._here, target))}"{_hint(hint)}>{self.inline(content)}</a>'
            case b.External(target, content, hint):
                return f'<a href="{_escaped(target)}" rel="noopener noreferrer"{_hint(hint)}>{self.inline(content)}</a>'
            case b.Chip(content, tone, hint):
                return f'<span class="rulebook-value" data-tone="{tone}"{_hint(hint)}>{_escaped(content)}</span>'
            case b.Commit(content, hint):
                return f'<span class="rulebook-commit"{_hint(hint)}>{_escaped(content)}</span>'
            case b.Lines(contents):
                listed = "".join(f"<span>{self.inline(content)}</span>" for content in contents)
                return f'<span class="rulebook-lines">{listed}</span>'
            case b.Date(content):
                return f'<time datetime="{_escaped(content)}">{_escaped(content)}</time>'

    def _listed(self, contents: Iterable[b.Inline]) -> str:
        return "".join(f"<li>{self.inline(content)}</li>" for content in contents)

    # --- blocks ---

    def _heading(self, block: b.Heading) -> str:
        identity = block.anchor if block.anchor and block.anchor not in self.taken else ""
        self.taken.add(identity)
        identity = identity or markup.new_id(block.content, self.taken)
        self.anchors.append(markup.Anchor(block.level, one_line(block.content), identity))
        size = "" if block.size is None else f' <span class="rulebook-count">{block.size}</span>'
        return f'<h{block.level} id="{_escaped(identity)}">{_words(block.content)}{size}</h{block.level}>'

    def _prose(self, block: b.Prose) -> str:
        rendered = markup.render(block.markdown, link=block.link, taken=self.taken, is_part=True)
        self.anchors += rendered.anchors
        lang = f' lang="{_escaped(block.lang)}"' if block.lang else ""
        role = f" rulebook-{block.role}" if block.role else ""
        return f'<div class="rulebook-prose{role}"{lang}>\n{rendered.html}</div>'

    def _facts(self, entries: Iterable[tuple[str, b.Inline]]) -> str:
        given = [(name, value) for name, value in entries if value]
        parts = "".join(f"<div><dt>{_words(name)}</dt><dd>{self.inline(value)}</dd></div>" for name, value in given)
        return f'<dl class="rulebook-facts">{parts}</dl>' if given else ""

    def _items(self, items: Sequence[b.Item]) -> str:
        parts = []
        for item in items:
            below = f"<ul>{self._listed(item.below)}</ul>" if item.below else ""
            parts.append(f"<li>{self.inline(item.content)}{below}</li>")
        return "<ul>" + "\n".join(parts) + "</ul>"

    def _branch(self, branch: b.Branch) -> str:
        listed = f"<ul>{self._listed(branch.items)}</ul>" if branch.items else ""
        below = "".join(map(self._branch, branch.branches))
        return (
            f"<details{' open' if branch.is_open else ''}><summary>{self.inline(branch.content)} "
            f'<span class="rulebook-count">{_escaped(branch.note)}</span></summary>{listed}{below}</details>'
        )

    def _card(self, card: b.Card) -> str:
        listed = f"<ul>{self._listed(card.entries)}</ul>" if card.entries else ""
        return (
            f'<section class="rulebook-summary"><h2>{self._span(card.title)}</h2>'
            f'<p class="rulebook-lead">{_words(card.lead)}</p>{listed}</section>'
        )

    def _entry(self, entry: b.Entry) -> str:
        facts = "".join(f"<span>{self.inline(fact)}</span>" for fact in entry.facts)
        text = self._prose(entry.text) if entry.text else ""
        more = f'<p class="rulebook-note">{self.inline(entry.more)}</p>' if entry.more else ""
        return (
            f'<section class="rulebook-entry"><h3>{self._span(entry.title)}</h3>'
            f'<p class="rulebook-note">{facts}</p>{text}{more}</section>'
        )

    def _neighbours(self, block: b.Neighbours) -> str:
        links = [
            f'<li data-side="{side}">{self._span(link)}</li>'
            for side, link in (("before", block.before), ("after", block.after))
            if link
        ]
        return self._nav("neighbours", block.name, f"<ul>{''.join(links)}</ul>") if links else ""

    @staticmethod
    def _nav(role: str, name: str, listed: str) -> str:
        return f'<nav class="rulebook-{role}" aria-label="{_escaped(name)}" data-search-exclude>{listed}</nav>'

    def _question(self, block: b.Question) -> str:
        chosen = "" if len(block.repositories) == 1 else f'<option value="">{_escaped(block.choose)}</option>'
        names = map(_escaped, block.repositories)
        options = chosen + "".join(f'<option value="{name}">{name}</option>' for name in names)
        target = _escaped(relative(self._here, block.target))
        return (
            f'<form class="rulebook-question" action="{target}" data-search-exclude>'
            f'<label for="rulebook-question">{_words(block.label)}</label>'
            '<textarea id="rulebook-question" name="paths" rows="3" spellcheck="false" autocomplete="off"'
            f' placeholder="{escape(several_lines(block.example))}"></textarea>'
            f'<p><label for="rulebook-question-repo">{_words(block.repository)}</label> '
            f'<select id="rulebook-question-repo" name="repo" required>{options}</select> '
            f'<button type="submit" class="md-button md-button--primary">{_words(block.button)}</button></p></form>'
        )

    # --- tables ---

    def _table(self, table: b.Table) -> Iterator[str]:
        words = dict(table.words)
        if table.filters:
            yield "".join(self._filters(table, words))
        name = _escaped(table.name)
        yield f'<div class="rulebook-scroll" role="region" tabindex="0" aria-label="{name}">'
        yield f'<table class="rulebook-table"><caption class="rulebook-unseen">{name}</caption><thead><tr>'
        yield "".join(map(self._column, table.columns))
        yield "</tr></thead><tbody>"
        labels = [(_escaped(column.content), " data-narrow" if column.is_narrow else "") for column in table.columns]
        for row in table.rows:
            cells = (
                f'<td data-label="{label}"{narrow}>{self.inline(cell)}</td>'
                for (label, narrow), cell in zip(labels, row.cells, strict=True)
            )
            yield f"<tr{_values(row.values)}>{''.join(cells)}</tr>"
        yield "</tbody></table></div>"

    def _column(self, column: b.Column) -> str:
        name = _words(column.content)
        narrow = " data-narrow" if column.is_narrow else ""
        if not column.sorts:
            return f'<th scope="col"{narrow}>{name}</th>'
        return (
            f'<th scope="col"{narrow} data-key="{_escaped(column.key)}">'
            f'<button type="button" class="rulebook-sort">{name}</button></th>'
        )

    def _filters(self, table: b.Table, words: dict[str, str]) -> Iterator[str]:
        yield (
            f'<form class="rulebook-filters" role="search" aria-label="{_escaped(words["filter"])}"'
            f' data-counted="{_escaped(words["counted"])}" data-search-exclude>'
            f'<p><label for="rulebook-filter-text">{_escaped(words["text"])}</label>'
            '<input id="rulebook-filter-text" name="text" type="search" autocomplete="off"></p>'
        )
        for item in table.filters:
            identity = f"rulebook-filter-{_name(item.key)}"
            yield f'<p><label for="{identity}">{_escaped(item.content)}</label>'
            yield f'<select id="{identity}" name="{item.key}">'
            yield f'<option value="">{_escaped(words["all"])}</option>'
            for value, shown, count in item.choices:
                yield f'<option value="{_escaped(value)}">{_escaped(shown)} ({count})</option>'
            yield "</select></p>"
        yield (
            f'<p class="rulebook-filters__end"><output>{_escaped(words["total"])}</output> '
            f'<button type="reset" class="md-button">{_escaped(words["reset"])}</button></p></form>'
        )


def _values(values: Sequence[tuple[str, str]]) -> str:
    found: dict[str, list[str]] = {}
    for key, value in values:
        found.setdefault(key, []).append(_escaped(value))
    return "".join(f' data-{key}="{SEPARATOR.join(several)}"' for key, several in found.items())
