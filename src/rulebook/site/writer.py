"""What all pages of one language share: words, links to documents, and the words that stand out by their colour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from rulebook.pins import PinError, parse_pin
from rulebook.site import blocks as b
from rulebook.site.content import host_link
from rulebook.site.hosts import web_address
from rulebook.site.links import FileLinks, Host
from rulebook.site.markup import new_id
from rulebook.site.words import LANGUAGES, counted, value_word, word

if TYPE_CHECKING:
    from rulebook.model import Document, ReviewDigest, Rule
    from rulebook.site.content import Content
    from rulebook.site.waivers import FiledWaiver

#: The tone of each value; what is not listed is ``mute``.
_TONES: Mapping[str, Mapping[str, str]] = {
    "status": {"active": "good", "contested": "fair"},
    "severity": {"error": "bad", "warning": "fair", "note": "info"},
    "freshness": {"gone": "bad", "invalid": "bad", "moved": "poor", "changed": "fair", "fresh": "good"},
    "reading": {"close": "good", "skim": "info"},
    "waiver": {"in force": "good", "expired": "bad", "orphan": "bad", "incomplete": "fair"},
}
#: The value of what was not checked, in filters.
NOT_CHECKED = "not-checked"


class Page(NamedTuple):
    """A page of the site.

    Attributes:
        address: from the site's root, with ``/`` at its end (empty for the home page), language included.
        lang: ``en`` or ``zh``.
        title: for the tab, the navigation and the search.
        blocks: what stands on it.
        anchor: the id of the heading at its top; empty for that of its words.
        document: the document that it shows, if it shows one.
        summary: what it is about, in a sentence of plain text.
        is_tool: it holds the look-up form.
        is_wide: it has no table of contents beside it.
    """

    address: str
    lang: str
    title: str
    blocks: tuple[b.Block, ...]
    anchor: str = ""
    document: Document | None = None
    summary: str = ""
    is_tool: bool = False
    is_wide: bool = False


def prefixed(address: str, lang: str) -> str:
    """An address in the tree of a language."""
    return address if lang == LANGUAGES[0] else f"{lang}/{address}"


def repository_address(alias: str) -> str:
    """Where the rules of a repository are listed, in the first language."""
    return f"rules/{re.sub(r'[^A-Za-z0-9._-]', '-', alias)}/"


class Writer:
    """Writes pages of one language.

    Args:
        content: what to show.
        lang: the language.
        host: where the knowledge base's files are shown.
    """

    def __init__(self, content: Content, lang: str, host: Host) -> None:
        self.content = content
        self.lang = lang
        self.host = host
        self._rules: dict[str, Rule] = {}
        for rule in content.catalog.rules:
            self._rules.setdefault(rule.id, rule)
        self._aliases = {self.alias(rule) for rule in content.catalog.rules}
        labels = sorted({label for review in content.catalog.reviews for label in review.labels}, key=str.lower)
        taken: set[str] = set()
        self._labels = {label: new_id(f"label {label}", taken) for label in labels}

    # --- words ---

    def word(self, key: str) -> str:
        """One of the site's words."""
        return word(key, self.lang)

    def lead(self, key: str) -> str:
        """One of the site's words in front of what it names."""
        return self.word(key) + ("：" if self.lang == "zh" else ": ")

    def counted(self, key: str, number: int) -> str:
        """A number of things."""
        return counted(key, number, self.lang)

    def value(self, family: str, value: str) -> str:
        """A value of frontmatter or JSON, in words; an empty one is what was not checked."""
        return value_word(family, value, self.lang) if value else self.word("not_checked")

    def chip(self, family: str, value: str, hint: str = "") -> b.Chip:
        """The same, standing out; an empty value is one that was not checked."""
        return b.Chip(self.value(family, value), _TONES[family].get(value, "mute"), hint)

    def title(self, document: Document) -> str:
        """A document's title."""
        return self.content.text(document, self.lang).title

    def full_title(self, document: Document) -> str:
        """The same with its id in front."""
        return f"{document.id}: {self.title(document)}" if document.id else self.title(document)

    def reading_of(self, review: ReviewDigest) -> tuple[str | b.Span, ...]:
        """Whether a digest's pull request is worth reading, and how long that takes."""
        found: list[str | b.Span] = []
        if review.reading:
            found.append(self.chip("reading", review.reading))
        if review.minutes is not None:
            found.append(self.counted("minutes", review.minutes))
        return tuple(found)

    def standing(self, waiver: FiledWaiver) -> tuple[b.Chip, b.Inline]:
        """A waiver's state, and the reason where it is not in force."""
        state, because, at, day = waiver.standing
        held = " ".join(part for part in (day, at[:12]) if part)
        return self.chip("waiver", state.value if state else "", held), b.Text(because, "en") if because else ""

    def waiver_title(self, waiver: FiledWaiver) -> b.Inline:
        """A waiver's title with a link to its page, or to its file where that is all there is."""
        if waiver.document is not None:
            return self.link(waiver.document, self.title(waiver.document))
        shown = b.Code(waiver.path, is_path=True)
        return b.External(waiver.link, shown) if waiver.link else shown

    # --- links ---

    def at(self, address: str) -> str:
        """An address in the language's tree."""
        return prefixed(address, self.lang)

    def link(self, document: Document, content: b.Inline = "") -> b.Link:
        """A link to a document's page."""
        shown = content or document.id or document.location.path
        return b.Link(self.at(self.content.address(document)), shown, "" if content else self.title(document))

    def rule_link(self, name: str) -> b.Inline:
        """A link to a rule by its id, which may be one that there is not."""
        rule = self._rules.get(name)
        return self.link(rule) if rule else name

    def chosen(self, key: str, value: str, content: b.Inline) -> b.Link:
        """A link to the table of rules, filtered by one value."""
        return b.Link(f"{self.at('rules/')}?{key}={quote(value, safe='')}", content)

    def repository(self, repo: str) -> b.Inline:
        """A repository, linked to its rules where it has any."""
        alias = self.content.catalog.config.resolve(repo)
        return b.Link(self.at(repository_address(alias)), alias) if alias in self._aliases else repo

    def label(self, label: str) -> b.Link:
        """A link to the digests of a label."""
        return b.Link(f"{self.at('reviews/')}#{self._labels[label]}", label)

    def label_anchor(self, label: str) -> str:
        """The id of a label's heading among the digests."""
        return self._labels.get(label, "")

    def pull_request(self, repo: str, number: str) -> b.Inline:
        """A pull request at its host, or its number where the host is not known."""
        target = self.content.catalog.config.targets.get(self.content.catalog.config.resolve(repo))
        address = web_address(target.url) if target else ""
        if not address or not number.isdigit():
            return f"#{number}" if number else ""
        middle = "-/merge_requests" if "gitlab" in address.split("/")[2] else "pull"
        return b.External(f"{address}/{middle}/{number}", f"#{number}")

    def file_links(self, document: Document, here: str) -> FileLinks:
        """What makes the links of a document's text links of the site."""
        folder = document.location.path.rpartition("/")[0]
        return FileLinks(self.content, self.host, folder, here, self.at(""))

    def alias(self, document: Document) -> str:
        """The alias of a document's repository."""
        return self.content.catalog.config.resolve(document.repo)

    def dated(self, document: Document) -> str:
        """The day of its last change, ``YYYY-MM-DD``, or an empty string."""
        day = (document.updated or document.created)[:10]
        return day if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else ""

    # --- sources ---

    def commit(self, alias: str, commit: str) -> b.Commit:
        """A commit of a repository in short."""
        return b.Commit(f"{alias}@{commit[:12]}", commit)

    def source(self, pin: str, url: str = "") -> b.Inline:
        """A pinned place: its path and anchor, linked to its host, and the commit in short."""
        try:
            parsed = parse_pin(pin)
        except PinError:
            shown: b.Inline = b.Code(pin)
            return b.External(url, shown) if url else shown
        place = b.Code(parsed.path + (f"#{parsed.anchor}" if parsed.anchor else ""), is_path=True)
        address = host_link(self.content, pin) or url
        where = self.commit(parsed.alias, parsed.commit)
        return (b.External(address, place, pin) if address else place, " ", where)


def web(address: str) -> bool:
    """Whether an address that stands in content may become a link."""
    return bool(re.match(r"https?://[^\s<>\"]+$", address))


def texts(value: object) -> tuple[str, ...]:
    """A value of frontmatter that is one text or a list of them."""
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, Iterable) else ()
