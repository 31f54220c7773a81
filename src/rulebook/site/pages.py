"""All pages of the site, in all languages, in the order in which they are listed.

Nothing here writes a file or knows MkDocs. A page is a sequence of blocks (:mod:`.blocks`), which are printed as HTML
(:mod:`.html`) and as Markdown (:mod:`.md`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from rulebook.ordering import natural_key
from rulebook.site.content import Content, aliases, digests_of, rules_of
from rulebook.site.documents import DocumentWriter
from rulebook.site.indexes import IndexWriter
from rulebook.site.links import Host
from rulebook.site.words import LANGUAGES

if TYPE_CHECKING:
    from rulebook.model import ReviewDigest, Rule
    from rulebook.site.writer import Page

_Item = TypeVar("_Item")


def make_pages(content: Content, name: str, host: Host = Host()) -> Iterator[Page]:  # noqa: B008
    """All pages in all languages.

    Args:
        content: what to show.
        name: the site's name, for its home page.
        host: where the knowledge base's files are shown.
    """
    digests = {rule.id: digests_of(content, rule) for rule in content.catalog.rules}
    digested: dict[str, list[Rule]] = {}
    for rule in content.catalog.rules:
        for review in digests[rule.id]:
            digested.setdefault(review.id, []).append(rule)
    for lang in LANGUAGES:
        yield from _pages(content, lang, host, name, digests, digested)


def _pages(
    content: Content,
    lang: str,
    host: Host,
    name: str,
    digests: dict[str, list[ReviewDigest]],
    digested: dict[str, list[Rule]],
) -> Iterator[Page]:
    indexes = IndexWriter(content, lang, host)
    documents = DocumentWriter(content, lang, host)
    yield indexes.home(name)
    yield indexes.look_up()
    yield indexes.rule_index()
    for alias in aliases(content):
        yield indexes.repository_index(alias)
        for before, rule, after in _with_neighbours(rules_of(content, alias)):
            yield documents.rule(rule, digests[rule.id], before, after)
    yield indexes.places()
    yield indexes.digest_index(digested)
    reviews = sorted(content.catalog.reviews, key=lambda review: natural_key(review.id))
    for previous, review, following in _with_neighbours(reviews):
        yield documents.digest(review, digested.get(review.id, ()), previous, following)
    yield indexes.waiver_index()
    for waiver in content.catalog.waivers:
        yield documents.waiver(waiver)
    yield indexes.freshness()


def _with_neighbours(items: Sequence[_Item]) -> Iterator[tuple[_Item | None, _Item, _Item | None]]:
    """Each item with the one before and the one after it."""
    around = [None, *items, None]
    for number, item in enumerate(items):
        yield around[number], item, around[number + 2]
