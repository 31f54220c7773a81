"""The pages, each as one Markdown text: what is shown as HTML is what coding agents read as ``index.md``.

Nothing here writes a file or knows MkDocs. What comes from content passes :func:`rulebook.render.md.escape`; texts of
documents stay Markdown and are made safe where they are rendered (:mod:`rulebook.site.markup`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from rulebook.model import Document, Kind, ReviewDigest, Rule, Severity, Signal, Waiver
from rulebook.ordering import natural_key
from rulebook.render.md import cell, code, code_cell, escape
from rulebook.site.content import (
    STATES,
    Content,
    aliases,
    digests_of,
    host_link,
    rules_of,
    waivers_of,
)
from rulebook.site.words import LANGUAGES, word


class Page(NamedTuple):
    """A page of the site.

    Attributes:
        address: from the site's root, with ``/`` at its end (empty for the home page), language included.
        lang: ``en`` or ``zh``.
        title: for the tab, the navigation and the search.
        markdown: the text.
        anchor: the id of the heading at its top.
        document: the document that it shows, if it shows one.
        is_tool: it holds the look-up form below its text.
    """

    address: str
    lang: str
    title: str
    markdown: str
    anchor: str = ""
    document: Document | None = None
    is_tool: bool = False


def make_pages(content: Content, name: str) -> Iterator[Page]:
    """All pages in all languages.

    Args:
        content: what to show.
        name: the site's name, for its home page.
    """
    digests = {rule.id: digests_of(content, rule) for rule in content.catalog.rules}
    for lang in LANGUAGES:
        writer = _Writer(content, lang, digests)
        yield writer.home(name)
        yield writer.look_up()
        yield writer.rule_index()
        for alias in aliases(content):
            yield writer.repository(alias)
        for rule in content.catalog.rules:
            yield writer.rule(rule)
        yield writer.places()
        yield writer.digest_index()
        for review in content.catalog.reviews:
            yield writer.digest(review)
        yield writer.waiver_index()
        for waiver in content.catalog.waivers:
            yield writer.waiver(waiver)
        yield writer.freshness()


def prefixed(address: str, lang: str) -> str:
    """An address in the tree of a language."""
    return address if lang == LANGUAGES[0] else f"{lang}/{address}"


class _Writer:
    """Writes the pages of one language."""

    def __init__(self, content: Content, lang: str, digests: Mapping[str, Sequence[ReviewDigest]]) -> None:
        self.content = content
        self.lang = lang
        self._digests = digests
        self._digested: dict[str, list[Rule]] = {}
        for rule in content.catalog.rules:
            for review in digests[rule.id]:
                self._digested.setdefault(review.id, []).append(rule)

    def _word(self, key: str) -> str:
        return word(key, self.lang)

    def _page(self, address: str, title: str, lines: Iterable[str], **more: Any) -> Page:
        text = f"# {escape(title)}\n\n" + "\n".join(lines).rstrip("\n") + "\n"
        return Page(prefixed(address, self.lang), self.lang, title, text, **more)

    def _link(self, here: str, document: Document, text: str = "") -> str:
        return f"[{cell(text or document.id)}]({relative(here, self.content.address(document))})"

    def _title(self, document: Document) -> str:
        return self.content.text(document, self.lang).title

    # --- single documents ---

    def rule(self, rule: Rule) -> Page:
        """The page of a rule."""
        return self._document(rule, self._rule_lines(rule))

    def _rule_lines(self, rule: Rule) -> Iterator[str]:
        here = self.content.address(rule)
        state = self.content.state_of(rule.id) or self._word("not_checked")
        facts = [
            ("status", cell(rule.status.value)),
            ("severity", cell(rule.severity.value)),
            ("repo", f"[{cell(rule.repo)}]({relative(here, _repository_address(self._alias(rule)))})"),
            ("freshness", f"[{cell(state)}]({relative(here, 'freshness/')})"),
            ("tags", ", ".join(map(cell, rule.tags))),
            ("updated", cell(rule.updated or rule.created)),
        ]
        yield from self._facts(facts)
        yield from self._text(rule)
        for key in ("supersedes", "superseded_by", "contradicts", "related"):
            names: Sequence[str] = getattr(rule, key)
            if names:
                yield f"{self._word(key)}: " + ", ".join(self._named(here, name) for name in names) + "\n"
        yield f"## {self._word('applies')}\n"
        yield from (f"- {code(text)}" for text in rule.applies_to)
        yield ""
        yield f"## {self._word('looks_for')}\n"
        if rule.look_for is None:
            yield self._word("cited_names") + "\n"
        elif not rule.look_for:
            yield self._word("nothing_but_paths") + "\n"
        for signal in rule.look_for or ():
            yield f"- {_signal(signal)}"
        yield ""
        if rule.co_changes:
            yield f"## {self._word('cochanges')}\n"
            yield f"| {self._word('change_first')} | {self._word('change_then')} | {self._word('because')} |"
            yield "| --- | --- | --- |"
            for item in rule.co_changes:
                yield f"| {_signal(item.when)} | {', '.join(map(code_cell, item.then))} | {cell(item.because)} |"
            yield ""
        yield from self._sources(rule)
        yield from self._references(here, "in_force", waivers_of(self.content, rule))
        yield from self._references(here, "related_digests", self._digests[rule.id])

    def digest(self, review: ReviewDigest) -> Page:
        """The page of a review digest."""
        minutes = "" if review.minutes is None else str(review.minutes)
        facts = [
            ("repo", cell(review.repo)),
            ("labels", ", ".join(map(cell, review.labels))),
            ("reading", cell(review.reading)),
            ("minutes", minutes),
            ("date", cell(str(review.metadata.get("opened") or review.created))),
        ]
        lines = [
            *self._facts(facts),
            *self._text(review),
            f"## {self._word('applies')}\n",
            *(f"- {code(text)}" for text in review.touches),
            "",
            *self._sources(review),
            *self._references(self.content.address(review), "rules", self._digested.get(review.id, ())),
        ]
        return self._document(review, lines)

    def waiver(self, waiver: Waiver) -> Page:
        """The page of a waiver."""
        here = self.content.address(waiver)
        facts = [
            ("rule", self._named(here, waiver.rule) if waiver.rule else ""),
            ("repo", cell(waiver.repo)),
            ("created", cell(waiver.created)),
            ("removal", cell(str(waiver.metadata.get("removal") or ""))),
        ]
        return self._document(waiver, [*self._facts(facts), *self._text(waiver), *self._sources(waiver)])

    def _document(self, document: Document, lines: Iterable[str]) -> Page:
        title = f"{document.id}: {self._title(document)}" if document.id else self._title(document)
        return self._page(self.content.address(document), title, lines, anchor=document.id, document=document)

    def _facts(self, facts: Iterable[tuple[str, str]]) -> Iterator[str]:
        given = [(self._word(key), value) for key, value in facts if value]
        yield "| " + " | ".join(name for name, _ in given) + " |"
        yield "|" + " --- |" * len(given)
        yield "| " + " | ".join(value for _, value in given) + " |"
        yield ""

    def _text(self, document: Document) -> Iterator[str]:
        found = self.content.findings.get(document.location.path, ())
        broken = [finding for finding in found if finding.severity is Severity.ERROR]
        if broken:
            yield f"> **{self._word('findings')}**"
            yield ">"
            for finding in broken:
                place = f"{finding.location.path}:{finding.location.line}"
                yield f"> - {code(place)} {escape(finding.message)}"
            yield ""
        shown = self.content.text(document, self.lang)
        if shown.lang != self.lang:
            yield f"*{self._word('no_twin')}*\n"
        yield shown.body.strip("\n")
        yield ""

    def _sources(self, document: Document) -> Iterator[str]:
        if not document.sources:
            return
        verdicts = {str(pin["pin"]): pin for pin in self.content.pins.get(document.id, ())}
        yield f"## {self._word('pins')}\n"
        yield f"| {self._word('pin')} | {self._word('freshness')} |"
        yield "| --- | --- |"
        for source in document.sources:
            address = host_link(self.content, source.pin) or source.url
            shown = code_cell(source.pin)
            verdict = verdicts.get(source.pin)
            state = f"{verdict['state']}: {verdict['because']}" if verdict else self._word("not_checked")
            yield f"| {f'[{shown}]({_target(address)})' if address else shown} | {cell(state)} |"
        yield ""

    def _references(self, here: str, key: str, documents: Sequence[Document]) -> Iterator[str]:
        if documents:
            yield f"## {self._word(key)}\n"
            yield from (f"- {self._link(here, d)} {escape(self._title(d))}" for d in documents)
            yield ""

    def _named(self, here: str, name: str) -> str:
        address = self.content.addresses.get((Kind.RULE.value, name))
        return f"[{cell(name)}]({relative(here, address)})" if address else cell(name)

    def _alias(self, document: Document) -> str:
        return self.content.catalog.config.resolve(document.repo)

    # --- indexes ---

    def home(self, name: str) -> Page:
        """The home page."""
        lines = [
            f"- [{self._word(key)}]({address}): {count}"
            for key, address, count in (
                ("look_up", "lookup/", ", ".join(map(cell, aliases(self.content)))),
                ("rules", "rules/", str(len(self.content.catalog.rules))),
                ("places", "places/", self._word("places_intro")),
                ("digests", "reviews/", str(len(self.content.catalog.reviews))),
                ("waivers", "waivers/", str(len(self.content.catalog.waivers))),
                ("stale", "freshness/", self._word("stale_intro")),
            )
        ]
        return self._page("", name, lines)

    def look_up(self) -> Page:
        """The page that answers which rules apply."""
        return self._page("lookup/", self._word("look_up"), (), is_tool=True)

    def rule_index(self) -> Page:
        """All rules in one table."""
        return self._page("rules/", self._word("rules"), self._rule_table("rules/", self.content.catalog.rules))

    def repository(self, alias: str) -> Page:
        """The rules of one repository."""
        address = _repository_address(alias)
        return self._page(address, alias, self._rule_table(address, rules_of(self.content, alias)))

    def _rule_table(self, here: str, rules: Sequence[Rule]) -> Iterator[str]:
        names = ("rule", "title", "repo", "status", "severity", "tags", "freshness")
        yield "| " + " | ".join(map(self._word, names)) + " |"
        yield "|" + " --- |" * len(names)
        ordered = sorted(rules, key=lambda rule: (self._alias(rule), natural_key(rule.id)))
        for rule in ordered:
            cells = (
                self._link(here, rule),
                cell(self._title(rule)),
                cell(self._alias(rule)),
                rule.status.value,
                rule.severity.value,
                ", ".join(map(cell, rule.tags)),
                self.content.state_of(rule.id) or self._word("not_checked"),
            )
            yield "| " + " | ".join(cells) + " |"

    def places(self) -> Page:
        """The target repositories' folders with the rules of each."""
        return self._page("places/", self._word("places"), self._place_lines())

    def _place_lines(self) -> Iterator[str]:
        yield self._word("places_intro") + "\n"
        for alias in aliases(self.content):
            yield f"## {escape(alias)}\n"
            tree: dict[str, dict[str, Rule]] = {}
            for rule in rules_of(self.content, alias):
                for pattern in rule.applies_to:
                    if not pattern.startswith("!"):
                        tree.setdefault(_place(pattern), {})[rule.id] = rule
            for place in list(tree):
                for parent in accumulate(f"{name}/" for name in place.split("/")[:-1]):
                    tree.setdefault(parent, {})
            for place in sorted(tree, key=lambda place: place.split("/")):
                links = ", ".join(self._link("places/", rule) for rule in tree[place].values())
                name = place.rstrip("/").rpartition("/")[2] + "/" if place else "/"
                yield f"{'  ' * place.count('/')}- {code(name)} {links}".rstrip()
            yield ""

    def digest_index(self) -> Page:
        """The digests by label."""
        return self._page("reviews/", self._word("digests"), self._digest_lines())

    def _digest_lines(self) -> Iterator[str]:
        labels: dict[str, list[ReviewDigest]] = {}
        for review in self.content.catalog.reviews:
            for label in review.labels or ("",):
                labels.setdefault(label, []).append(review)
        for label in sorted(labels, key=str.lower):
            yield f"## {escape(label or self._word('none'))}\n"
            yield "| " + " | ".join(map(self._word, ("digest", "title", "reading", "minutes"))) + " |"
            yield "| --- | --- | --- | --- |"
            for review in sorted(labels[label], key=lambda review: natural_key(review.id)):
                minutes = "" if review.minutes is None else str(review.minutes)
                title = cell(self._title(review))
                yield f"| {self._link('reviews/', review)} | {title} | {cell(review.reading)} | {minutes} |"
            yield ""

    def waiver_index(self) -> Page:
        """All waivers with what ends them."""
        return self._page("waivers/", self._word("waivers"), self._waiver_lines())

    def _waiver_lines(self) -> Iterator[str]:
        names = ("waiver", "title", "rule", "repo", "created", "removal")
        yield "| " + " | ".join(map(self._word, names)) + " |"
        yield "|" + " --- |" * len(names)
        for waiver in self.content.catalog.waivers:
            name = waiver.id or posixpath.basename(self.content.address(waiver).rstrip("/"))
            cells = (
                self._link("waivers/", waiver, name),
                cell(self._title(waiver)),
                self._named("waivers/", waiver.rule),
                cell(waiver.repo),
                cell(waiver.created),
                cell(str(waiver.metadata.get("removal") or "")),
            )
            yield "| " + " | ".join(cells) + " |"

    def freshness(self) -> Page:
        """Every rule's worst source."""
        return self._page("freshness/", self._word("stale"), self._freshness_lines())

    def _freshness_lines(self) -> Iterator[str]:
        yield self._word("stale_intro") + "\n"
        if not self.content.pins:
            yield self._word("not_checked") + "\n"
            return
        for alias, head in self.content.heads.items():
            yield f"- {escape(alias)}: {code(head)}"
        yield ""
        yield f"| {self._word('rule')} | {self._word('pin')} | {self._word('state')} | {self._word('because')} |"
        yield "| --- | --- | --- | --- |"
        rows = [
            (STATES.index(pin["state"]), natural_key(rule.id), rule, pin)
            for rule in self.content.catalog.rules
            for pin in self.content.pins.get(rule.id, ())
        ]
        for _, _, rule, pin in sorted(rows, key=lambda row: row[:2]):
            cells = (self._link("freshness/", rule), code_cell(pin["pin"]), pin["state"], cell(pin["because"]))
            yield "| " + " | ".join(cells) + " |"


def relative(here: str, there: str) -> str:
    """The link from one page to another; both are addresses from the root of the same language."""
    path = posixpath.relpath("/" + there, "/" + here)
    return path + "/" if path != "." else "./"


def _repository_address(alias: str) -> str:
    return f"rules/{re.sub(r'[^A-Za-z0-9._-]', '-', alias)}/"


def _place(pattern: str) -> str:
    """The folders that a pattern names before its first wildcard, with ``/`` at their end; empty for the root."""
    folders = []
    for name in pattern.lstrip("/").split("/")[:-1]:
        if re.search(r"[*?\[{\\]", name):
            break
        folders.append(name)
    return "/".join(folders) + "/" if folders else ""


def _signal(signal: Signal) -> str:
    """What a signal looks for, in the words of its keys."""
    parts = [
        f"{name}: " + ", ".join(map(code_cell, values))
        for name in ("identifiers", "lines", "functions", "changes", "inside")
        if (values := getattr(signal, name))
    ]
    if signal.needs_lines:
        parts.append(f"on: {signal.on.value}")
    return "; ".join(parts)


def _target(address: str) -> str:
    """An address as the target of a Markdown link."""
    return "<" + re.sub(r"[<>\s\\]", "", address) + ">"
