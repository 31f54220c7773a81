"""What a page consists of: blocks, of which each is printed as Markdown (:mod:`.md`) and as HTML (:mod:`.html`).

Texts are plain text, whoever wrote them; the printers escape them. The only Markdown is that of :class:`Prose`. Links
within the site are addresses from its root, language included, and the printers make them relative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

# --- what stands in a line ---------------------------------------------------------------------


class Text(NamedTuple):
    """Words in another language than the page's, for the sake of screen readers and hyphenation.

    Attributes:
        content: plain text; a part of it in backticks is code.
        lang: the language, as in BCP 47.
    """

    content: str
    lang: str


class Code(NamedTuple):
    """A piece of code: a path, a pattern, a name.

    Attributes:
        content: plain text.
        is_path: a line may break behind its slashes.
    """

    content: str
    is_path: bool = False


class Link(NamedTuple):
    """A link to a page of the site.

    Attributes:
        target: an address from the site's root, ``?query`` and ``#fragment`` included.
        content: what is shown.
        hint: what is told of it on request.
    """

    target: str
    content: Inline
    hint: str = ""


class External(NamedTuple):
    """A link that leaves the site: ``target`` is an ``https:`` or ``http:`` address."""

    target: str
    content: Inline
    hint: str = ""


class Chip(NamedTuple):
    """A word that stands out by its colour; the colour never tells more than the word.

    Attributes:
        content: the word.
        tone: ``bad``, ``poor``, ``fair``, ``good``, ``info`` or ``mute``.
        hint: what is told of it on request.
    """

    content: str
    tone: str
    hint: str = ""


class Commit(NamedTuple):
    """A commit in short; ``hint`` has all of its digits."""

    content: str
    hint: str = ""


class Date(NamedTuple):
    """A day, as ``YYYY-MM-DD``."""

    content: str


class Lines(NamedTuple):
    """Several contents below one another, in a cell of a table."""

    contents: tuple[Inline, ...]


Span = Text | Code | Link | External | Chip | Commit | Date | Lines
#: A plain text, or several pieces; a plain text may hold code in backticks.
Inline = str | Span | tuple["str | Span", ...]


def pieces(content: Inline) -> tuple[str | Span, ...]:
    """What stands in a line, piece by piece."""
    # The pieces are tuples themselves.
    return content if type(content) is tuple else (content,)  # type: ignore[return-value]


def joined(contents: Iterable[Inline], between: str = ", ") -> Inline:
    """Several contents one after another."""
    found: list[str | Span] = []
    for content in contents:
        if found:
            found.append(between)
        found += pieces(content)
    return tuple(found)


# --- what stands below one another -------------------------------------------------------------


class Heading(NamedTuple):
    """A heading of level 2 to 4; ``anchor`` is its id, else that of its words; ``size`` stands behind it."""

    content: str
    level: int = 2
    anchor: str = ""
    size: int | None = None


class Paragraph(NamedTuple):
    """Words; ``role`` is ``lead``, ``note`` (smaller), ``screen`` (of no use in a Markdown copy) or nothing."""

    content: Inline
    role: str = ""


class Prose(NamedTuple):
    """A text of a document: Markdown that nobody trusts.

    Attributes:
        markdown: the text.
        link: gives the address in place of a link's target, for HTML; an empty one takes the link away.
        lang: the language, where it is not the page's.
        role: ``takeaway`` for a few sentences in a list.
    """

    markdown: str
    link: Callable[[str], str] | None = None
    lang: str = ""
    role: str = ""


class Facts(NamedTuple):
    """Names with their values; those without a value are left out."""

    entries: tuple[tuple[str, Inline], ...]


class Item(NamedTuple):
    """An entry of a list, and what stands below it."""

    content: Inline
    below: tuple[Inline, ...] = ()


class Items(NamedTuple):
    """A list."""

    items: tuple[Item, ...]


class Notice(NamedTuple):
    """Something that a reader must not overlook; ``tone`` as in :class:`Chip`."""

    title: str
    items: tuple[Inline, ...] = ()
    tone: str = "poor"


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        content: its heading.
        key: what it is called in filters and addresses; empty for a column that neither filters nor sorts.
        is_narrow: it takes no more than its words need.
        sorts: rows can be sorted by it.
    """

    content: str
    key: str = ""
    is_narrow: bool = False
    sorts: bool = False


class Row(NamedTuple):
    """A row of a table; ``values`` are what a filter finds it by: key and value, a key perhaps several times."""

    cells: tuple[Inline, ...]
    values: tuple[tuple[str, str], ...] = ()


class Filter(NamedTuple):
    """A choice above a table: the key, its name, and the values with their names and how many rows have them.

    The values stand in the order that the table is sorted in by that key.
    """

    key: str
    content: str
    choices: tuple[tuple[str, str, int], ...]


class Table(NamedTuple):
    """A table.

    Attributes:
        name: what it shows, for those who do not see it.
        columns: its columns.
        rows: its rows.
        filters: choices above it.
        words: of the controls, by name; needed where there are filters.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    filters: tuple[Filter, ...] = ()
    words: tuple[tuple[str, str], ...] = ()


class Branch(NamedTuple):
    """A part of a tree that can be folded.

    Attributes:
        content: its name.
        note: what stands behind it, such as a count.
        items: the entries at this place.
        branches: the parts below.
        is_open: it is unfolded at first.
    """

    content: Inline
    note: str
    items: tuple[Inline, ...] = ()
    branches: tuple[Branch, ...] = ()
    is_open: bool = False


class Tree(NamedTuple):
    """A tree."""

    branches: tuple[Branch, ...]


class Card(NamedTuple):
    """A summary with a link to the whole.

    Attributes:
        title: its name, linked.
        lead: a number or a few words.
        entries: the details.
    """

    title: Link
    lead: str
    entries: tuple[Inline, ...] = ()


class Cards(NamedTuple):
    """Cards beside one another."""

    cards: tuple[Card, ...]


class Entry(NamedTuple):
    """A document in a list of documents: its link, what is known of it in short, and a text."""

    title: Link
    facts: tuple[Inline, ...] = ()
    text: Prose | None = None
    more: Inline = ""


class Entries(NamedTuple):
    """A list of documents."""

    entries: tuple[Entry, ...]


class Trail(NamedTuple):
    """The way from the home page to this one."""

    name: str
    links: tuple[Link, ...]


class Neighbours(NamedTuple):
    """The documents before and after this one."""

    name: str
    before: Link | None
    after: Link | None


class Question(NamedTuple):
    """A field that leads to the look-up page with what was typed.

    Attributes:
        target: the look-up page's address.
        label: of the field.
        button: of the button.
        repository: of the choice of repositories.
        choose: what the choice says before one of several is chosen.
        repositories: their aliases.
        example: what is shown in the empty field.
    """

    target: str
    label: str
    button: str
    repository: str
    choose: str
    repositories: tuple[str, ...]
    example: str


class Tool(NamedTuple):
    """The place of the look-up form, of which a copy in Markdown can only say what to do ``instead``."""

    instead: Inline


Block = (
    Heading
    | Paragraph
    | Prose
    | Facts
    | Items
    | Notice
    | Table
    | Tree
    | Cards
    | Entries
    | Trail
    | Neighbours
    | Question
    | Tool
)
