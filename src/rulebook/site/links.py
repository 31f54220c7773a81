"""Where links lead: within the site, to the knowledge base's files at their host, and from a text to other files."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urljoin

if TYPE_CHECKING:
    from rulebook.site.content import Content

#: What a link begins with that is no path: a scheme (RFC 3986, section 3.1), a fragment, an absolute place.
_NO_PATH = re.compile(r"[a-z][a-z0-9+.-]*:|#|/|\?", re.IGNORECASE)


def relative(here: str, there: str) -> str:
    """The link from one page to another.

    Args:
        here: the page's address from the site's root, with ``/`` at its end.
        there: the other's, with ``?query`` and ``#fragment``.
    """
    mark = re.search(r"[?#]", there)
    address, rest = (there[: mark.start()], there[mark.start() :]) if mark else (there, "")
    if address == here and rest.startswith("#"):
        return rest
    path = posixpath.relpath("/" + address, "/" + here)
    if address.endswith("/") or not address:
        path = "./" if path == "." else path + "/"
    return path + rest


def is_path(target: str) -> bool:
    """Whether the target of a link is a relative path, so that it depends on the file that it stands in."""
    return bool(target) and not _NO_PATH.match(target)


class Host(NamedTuple):
    """Where the knowledge base's own files are shown.

    Attributes:
        files: the address that a path of the knowledge base is appended to; empty where it is not known.
        edits: the same for a page that edits the file.
    """

    files: str = ""
    edits: str = ""

    def file(self, path: str) -> str:
        """The address of a file or folder, or an empty string."""
        return self.files + quote(path) if self.files else ""

    def edit(self, path: str) -> str:
        """The address where a file is edited, or an empty string."""
        return self.edits + quote(path) if self.edits else ""


def find_host(repo_url: str, edit_uri: str, docs: str, folder: str) -> Host:
    """The host of the knowledge base, of what ``mkdocs.yml`` says.

    Args:
        repo_url: the repository's address.
        edit_uri: as MkDocs has it: where the files of ``docs_dir`` are edited, below ``repo_url`` or absolute.
        docs: ``docs_dir`` from the folder of ``mkdocs.yml``, with ``/`` between names.
        folder: the knowledge base from the same folder, ``.`` or empty where they are one.
    """
    if not re.match(r"https?://", repo_url):
        return Host()
    base = repo_url.rstrip("/").removesuffix(".git")
    below = "" if folder in ("", ".") else posixpath.normpath(folder) + "/"
    if below.startswith("../"):
        return Host()
    # `HEAD` is the default branch, whatever its name.
    files = f"{base}/{'-/' if 'gitlab' in base.split('/')[2] else ''}blob/HEAD/{below}"
    edits = urljoin(base + "/", edit_uri.lstrip("/") if not re.match(r"https?://", edit_uri) else edit_uri)
    ending = docs.strip("/") + "/"
    known = bool(edit_uri) and edits.endswith("/" + ending)
    return Host(files, edits.removesuffix(ending) + below if known else "")


class FileLinks:
    """Links of a text to other files of the knowledge base, made links of the site.

    Args:
        content: what the site shows.
        host: where other files are shown.
        folder: the folder of the text, from the knowledge base's root.
        here: the address of the page that shows the text, language included.
        tree: what the addresses of its language begin with, empty or with ``/`` at its end.
    """

    def __init__(self, content: Content, host: Host, folder: str, here: str, tree: str = "") -> None:
        self._content = content
        self._host = host
        self._folder = folder
        self._here = here
        self._tree = tree

    def __call__(self, target: str) -> str:
        """The target to write in place of one that stands in the text; empty where it leads nowhere."""
        if not is_path(target):
            return target
        path, _, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(self._folder, path))
        if address := self._content.address_of(f"{place}#{anchor}"):
            return relative(self._here, self._tree + address)
        if address := self._content.address_of(place):
            return relative(self._here, self._tree + address + (f"#{anchor}" if anchor else ""))
        if place.startswith(".."):
            return ""
        return self._host.file(place)
