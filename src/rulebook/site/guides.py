"""The documents of ``docs_dir``: their links to files outside of it, and their Markdown copies.

MkDocs knows the files in ``docs_dir`` alone. A link to any other file of the knowledge base leads to the page that the
site has for it, else to the repository's host, else nowhere: then its words are left.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

from rulebook.site.links import Host, is_path
from rulebook.site.markup import relink

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown import Markdown

    from rulebook.site.content import Content

_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)


class Guide(NamedTuple):
    """A document of ``docs_dir``.

    Attributes:
        uri: its file, from ``docs_dir``.
        address: its page, from the site's root, with ``/`` at its end, or empty.
        markdown: its text.
    """

    uri: str
    address: str
    markdown: str

    @property
    def title(self) -> str:
        """The words of its first heading, else its file's name."""
        found = _TITLE.search(self.markdown)
        return found[1].replace("`", "") if found else self.uri


class GuideLinks:
    """Where links of the documents lead that leave ``docs_dir``.

    Args:
        content: what the site shows.
        host: where other files of the knowledge base are shown.
        folder: ``docs_dir`` from the knowledge base's root.
    """

    def __init__(self, content: Content, host: Host, folder: str) -> None:
        self._content = content
        self._host = host
        self._folder = folder

    def outside(self, uri: str, target: str) -> str | None:
        """The target to write instead, as MkDocs reads it; empty for one that leads nowhere, ``None`` to leave it.

        Args:
            uri: the file of the document, from ``docs_dir``.
            target: as it is written.
        """
        if not is_path(target):
            return None
        path, _, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(uri), path))
        if not place.startswith("../"):
            return None
        place = posixpath.normpath(posixpath.join(self._folder, place))
        address = self._content.address_of(f"{place}#{anchor}") or self._content.address_of(place)
        if address:
            here = posixpath.dirname(uri)
            return posixpath.relpath(f"/{address}index.md", f"/{here}") + (f"#{anchor}" if anchor else "")
        return "" if place.startswith("../") else self._host.file(place)

    def copy(self, guide: Guide, addresses: Mapping[str, str]) -> str:
        """A document's Markdown with links that hold beside its page.

        Args:
            guide: the document.
            addresses: the pages of all documents of ``docs_dir``, by their files.
        """

        def link(target: str) -> str:
            if not is_path(target):
                return target
            new = self.outside(guide.uri, target)
            path, mark, anchor = (target if new is None else new).partition("#")
            if not is_path(path):
                return target if new is None else new
            place = posixpath.normpath(posixpath.join(posixpath.dirname(guide.uri), path))
            if place in addresses:
                place = f"{addresses[place]}index.md"
            return posixpath.relpath(f"/{place}", f"/{guide.address}") + mark + anchor

        return relink(guide.markdown, link)


class LinkExtension(Extension):
    """Mends links while Python-Markdown's tree is at hand, before MkDocs looks at them.

    Args:
        link: gives the target in place of one that is written, or ``None`` to leave it.
    """

    def __init__(self, link: Callable[[str], str | None]) -> None:
        super().__init__()
        self._link = link

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  (Python-Markdown's name)
        """Registers the step, above the 0 that MkDocs gives its own."""
        md.treeprocessors.register(_LinkProcessor(md, self._link), "rulebook-links", 1)


class _LinkProcessor(Treeprocessor):
    def __init__(self, md: Markdown, link: Callable[[str], str | None]) -> None:
        super().__init__(md)
        self._link = link

    def run(self, root: Element) -> None:
        for element in root.iter("a"):
            new = self._link(element.get("href") or "")
            if new:
                element.set("href", new)
            elif new is not None:
                element.tag = "span"
                del element.attrib["href"]
