"""Markdown from content made into HTML that changes nothing but its own page's words.

Raw HTML is shown as the text that it is (markdown-it-py with ``html`` off). What comes out goes through nh3, the
Python binding of ammonia, with a list of what is allowed: tags and attributes that Markdown can produce, and links to
``http``, ``https``, ``mailto`` and relative places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook.render.safe import several_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_ATTRIBUTES: dict[str, set[str]] = {
    "a": {"href", "title"},
    "code": {"class"},
    "ol": {"start"},
    "table": {"class"},
    **{tag: {"id"} for tag in _HEADINGS},
}
_SCHEMES = {"http", "https", "mailto"}


class Anchor(NamedTuple):
    """A heading of a page: its level, its words and the id that links to it."""

    level: int
    title: str
    id: str


class Rendered(NamedTuple):
    """HTML that is safe to show, and its headings."""

    html: str
    anchors: tuple[Anchor, ...]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def render(text: str, *, first_id: str = "", link: Callable[[str], str] | None = None) -> Rendered:
    """Renders a page.

    Args:
        text: CommonMark with tables; nothing in it is trusted.
        first_id: the id of the first heading; the others take theirs from their words.
        link: gives the target of each link in place of the one that is written; an empty one takes the link away.
    """
    parser = _parser()
    tokens = parser.parse(several_lines(text))
    anchors: list[Anchor] = []
    taken: set[str] = set()
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            title = _words(tokens[index + 1].children or ())
            identity = first_id if first_id and not anchors else _unique(slug(title), taken)
            taken.add(identity)
            token.attrSet("id", identity)
            anchors.append(Anchor(int(token.tag[1:]), title, identity))
        elif token.type == "inline":
            _mend(token.children or [], link)
        elif token.type in ("th_open", "td_open"):
            token.attrs.pop("style", None)
    html = parser.renderer.render(tokens, parser.options, {})
    return Rendered(sanitise(html), tuple(anchors))


def sanitise(html: str) -> str:
    """HTML with nothing in it but what Markdown can produce."""
    import nh3

    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
        generic_attribute_prefixes=set(),
    )


def _mend(children: Sequence[Token], link: Callable[[str], str] | None) -> None:
    for child in children:
        if child.type == "image":
            # A picture from elsewhere would be a request to a third party: its description stands for it.
            child.type, child.tag, child.content = "text", "", _words(child.children or ()) or "image"
            child.children = None
        elif child.type == "link_open" and link is not None:
            child.attrSet("href", link(str(child.attrGet("href") or "")))


def _words(children: Sequence[Any]) -> str:
    parts = [
        " " if child.type in ("softbreak", "hardbreak") else child.content
        for child in children
        if child.type in ("text", "code_inline", "softbreak", "hardbreak")
    ]
    return "".join(parts).strip()


def slug(title: str) -> str:
    """An id for a heading: its words in lower case.

    The theme's own ids begin with ``__``, and no heading's does, so a text cannot pass for a part of the theme.
    """
    return re.sub(r"[\W_]+", "-", title.lower()).strip("-") or "section"


def _unique(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"
