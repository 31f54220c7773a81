"""Markdown from content made into HTML that changes nothing but its own page's words.

Raw HTML is shown as the text that it is (markdown-it-py with ``html`` off). What comes out goes through nh3, the
Python binding of ammonia, with a list of what is allowed: tags and attributes that Markdown can produce, and links to
``http``, ``https``, ``mailto`` and relative places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
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
    **{tag: {"id"} for tag in _HEADINGS},
}
_SCHEMES = {"http", "https", "mailto"}
#: CommonMark 0.31, section 6.3: what follows the words of a link within a line.
_INLINE_LINK = re.compile(r"""\]\(\s*(?P<target><[^<>\n]*>|[^\s()<>]+)(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)""")
#: Section 4.7: a definition that links refer to.
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]+\]:\s*(?P<target><[^<>\n]*>|\S+)", re.MULTILINE)


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


def render(
    text: str, *, link: Callable[[str], str] | None = None, taken: set[str] | None = None, is_part: bool = False
) -> Rendered:
    """Renders a text.

    Args:
        text: CommonMark with tables; nothing in it is trusted.
        link: gives the target of each link in place of the one that is written; an empty one takes the link away.
        taken: the ids of the page so far; those of the text's headings are added.
        is_part: the text stands below a heading of level 1, and its headings are lowered to 2 where they are higher.
    """
    parser = _parser()
    tokens = parser.parse(several_lines(text))
    anchors: list[Anchor] = []
    taken = set() if taken is None else taken
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            if is_part and token.tag == "h1":
                token.tag = tokens[index + 2].tag = "h2"
            title = _words(tokens[index + 1].children or ())
            identity = new_id(title, taken)
            token.attrSet("id", identity)
            anchors.append(Anchor(int(token.tag[1:]), title, identity))
        elif token.type == "inline":
            _mend(token, link)
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
        attribute_filter=_kept_attribute,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
        generic_attribute_prefixes=set(),
    )


def _kept_attribute(_tag: str, name: str, value: str) -> str | None:
    """A class is that of a code fence's language: others are the site's own."""
    return value if name != "class" or re.fullmatch(r"language-[\w+#.-]+", value) else None


def first_paragraph(text: str, headings: Sequence[str]) -> str:
    """The first paragraph or list item below one of several headings, as Markdown in one line; else empty."""
    is_below = False
    tokens = _parser().parse(text)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            is_below = tokens[index + 1].content.strip() in headings
        elif is_below and token.type == "paragraph_open":
            return " ".join(tokens[index + 1].content.split())
    return ""


def relink(text: str, link: Callable[[str], str]) -> str:
    """Markdown with other targets of its links; everything else stays as it was written.

    Args:
        text: CommonMark.
        link: gives the target of each link in place of the one that is written; where it is empty, the words are left.
    """
    tokens = _parser().parse(text)
    normal = _parser().normalizeLink
    targets = {
        str(child.attrGet("href")) for token in tokens for child in token.children or () if child.type == "link_open"
    }
    if not targets:
        return text
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    code = [
        (starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)])
        for token in tokens
        if token.type in ("fence", "code_block") and token.map
    ]
    edits: list[tuple[int, int, str]] = []
    for pattern in (_INLINE_LINK, _DEFINITION):
        for match in pattern.finditer(text):
            target = match["target"].strip("<>")
            if normal(target) not in targets or any(start <= match.start() < end for start, end in code):
                continue
            new = link(target)
            if new:
                shown = f"<{new}>" if re.search(r"[\s()]", new) else new
                edits.append((*match.span("target"), shown if new != target else match["target"]))
            elif pattern is _INLINE_LINK and (opening := _opening(text, match.start())) >= 0:
                edits += [(opening, opening + 1, ""), (*match.span(), "")]
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _opening(text: str, closing: int) -> int:
    """Where the bracket is that a closing one belongs to, or -1; that of a picture is none."""
    depth = 0
    for at in range(closing - 1, -1, -1):
        if text[at] in "[]" and text[at - 1 : at] != "\\":
            depth += 1 if text[at] == "]" else -1
            if depth < 0:
                return -1 if text[at - 1 : at] == "!" else at
    return -1


def _mend(token: Token, link: Callable[[str], str] | None) -> None:
    children = token.children or []
    dropped = []
    for child in children:
        if child.type == "image":
            # A picture from elsewhere would be a request to a third party: its description stands for it.
            child.type, child.tag, child.content = "text", "", _words(child.children or ()) or "image"
            child.children = None
        elif child.type == "link_open" and link is not None:
            target = link(str(child.attrGet("href") or ""))
            child.attrSet("href", target)
            dropped.append(not target)
        if child.type in ("link_open", "link_close") and link is not None and dropped[-1]:
            # Links do not nest, so the last one that was opened is the one that closes.
            child.type, child.tag, child.nesting, child.content = "text", "", 0, ""
    token.children = children


def _words(children: Sequence[Any]) -> str:
    parts = [
        " " if child.type in ("softbreak", "hardbreak") else child.content
        for child in children
        if child.type in ("text", "code_inline", "softbreak", "hardbreak")
    ]
    return "".join(parts).strip()


def slug(title: str) -> str:
    """An id for a heading: its words in lower case.

    The theme's own ids begin with ``__`` and the site's with ``rulebook-``. No heading's does, so a text cannot pass
    for a part of the page.
    """
    name = re.sub(r"[\W_]+", "-", title.lower()).strip("-") or "section"
    return f"about-{name}" if name.startswith("rulebook-") else name


def new_id(title: str, taken: set[str]) -> str:
    """The id for a heading that no other heading of the page has; it is added to ``taken``."""
    name = identity = slug(title)
    number = 2
    while identity in taken:
        identity = f"{name}-{number}"
        number += 1
    taken.add(identity)
    return identity
