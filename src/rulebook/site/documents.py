"""The pages of single documents: a rule, a digest, a waiver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from rulebook.model import CoChange, Document, ReviewDigest, Rule, Severity, Status, Waiver
from rulebook.patterns.syntax import compile_patterns
from rulebook.pins import PinError, parse_pin
from rulebook.site import blocks as b
from rulebook.site.history import Extent, PinChange
from rulebook.site.signals import say_pattern, say_signal, say_trigger
from rulebook.site.words import LANGUAGES
from rulebook.site.writer import NOT_CHECKED, Page, Writer, prefixed, repository_address, texts, web

if TYPE_CHECKING:
    from rulebook.site.waivers import FiledWaiver

#: Places that a question to the look-up page names at most; an address has to stay short.
_ASKED = 20


class DocumentWriter(Writer):
    """Writes the pages of documents in one language."""

    def rule(
        self, rule: Rule, digests: Sequence[ReviewDigest], before: Rule | None = None, after: Rule | None = None
    ) -> Page:
        """The page of a rule.

        Args:
            rule: the rule.
            digests: those that are about the same code.
            before: the rule before it in its repository.
            after: the rule after it.
        """
        alias = self.alias(rule)
        return self._page(
            rule,
            (
                self._trail(("rules", "rules/"), (alias, repository_address(alias))),
                self._rule_facts(rule),
                *self._warnings(rule),
                *self._text(rule),
                *self._relations(rule),
                *self._looked_for(rule),
                *self._applies(rule),
                *self._co_changes(rule.co_changes),
                *self._sources(rule),
                *self._waivers(self.content.waivers_from(rule)),
                *self._digests(digests),
                *self._history(rule),
                *self._file(rule),
                self._neighbours("neighbours", before, after),
            ),
        )

    def digest(
        self,
        review: ReviewDigest,
        rules: Sequence[Rule],
        before: ReviewDigest | None = None,
        after: ReviewDigest | None = None,
    ) -> Page:
        """The page of a review digest.

        Args:
            review: the digest.
            rules: those that it is about the same code as.
            before: the digest before it.
            after: the digest after it.
        """
        minutes = "" if review.minutes is None else self.counted("minutes", review.minutes)
        facts = b.Facts(
            (
                (self.word("repo"), self.repository(review.repo)),
                (self.word("pull_request"), self.pull_request(review.repo, review.pr)),
                (self.word("reading"), self.chip("reading", review.reading) if review.reading else ""),
                (self.word("minutes"), minutes),
                (self.word("labels"), b.joined(self.label(label) for label in review.labels)),
                (self.word("author"), str(review.metadata.get("author") or "")),
                (self.word("opened"), str(review.metadata.get("opened") or review.created)),
                *self._twin(review),
            )
        )
        return self._page(
            review,
            (
                self._trail(("digests", "reviews/")),
                facts,
                *self._warnings(review),
                *self._text(review),
                *self._patterns("touches", review.touches),
                *self._sources(review),
                *self._related(rules),
                *self._history(review),
                *self._file(review),
                self._neighbours("neighbours_other", before, after),
            ),
        )

    def waiver(self, waiver: Waiver) -> Page:
        """The page of a waiver."""
        metadata = waiver.metadata
        filed = self.content.filed(waiver)
        state, reason = self.standing(filed)
        at, day = filed.standing.at, filed.standing.day
        facts = b.Facts(
            (
                (self.word("state"), state),
                (self.word("reason"), reason),
                (
                    self.word("judged"),
                    b.joined((day, *([self.commit(filed.repo, at)] if at else [])), " ") if day else "",
                ),
                (self.word("rule"), self.rule_link(waiver.rule) if waiver.rule else ""),
                (self.word("repo"), self.repository(waiver.repo)),
                (self.word("pull_request"), self.pull_request(waiver.repo, waiver.pr)),
                (self.word("created"), waiver.created),
                (self.word("expires"), str(metadata.get("expires") or "")),
                (self.word("removal"), str(metadata.get("removal") or "")),
                *self._twin(waiver),
            )
        )
        listed = tuple(
            (self.word(key), _lines(b.Code(text, is_path=True) for text in texts(metadata.get(key))))
            for key in ("called_from", "configs", "images")
        )
        upstream = _lines(
            b.External(text, text.split("//")[1]) if web(text) else text for text in texts(metadata.get("upstream"))
        )
        return self._page(
            waiver,
            (
                self._trail(("waivers", "waivers/")),
                facts,
                *self._warnings(waiver),
                *self._text(waiver),
                *self._patched(metadata.get("patches")),
                b.Facts((*listed, (self.word("upstream"), upstream))),
                *self._sources(waiver),
                *self._history(waiver),
                *self._file(waiver),
            ),
        )

    # --- parts ---

    def _page(self, document: Document, blocks: tuple[b.Block, ...]) -> Page:
        return Page(
            self.at(self.content.address(document)),
            self.lang,
            self.full_title(document),
            blocks,
            anchor=document.id,
            document=document,
            summary=self.title(document),
        )

    def _trail(self, *parts: tuple[str, str]) -> b.Trail:
        links = [b.Link(self.at(""), self.word("home"))]
        for number, (name, address) in enumerate(parts):
            links.append(b.Link(self.at(address), name if number else self.word(name)))
        return b.Trail(self.word("trail"), tuple(links))

    def _rule_facts(self, rule: Rule) -> b.Facts:
        state = self.content.state_of(rule)
        status, severity = rule.status.value, rule.severity.value
        return b.Facts(
            (
                (self.word("status"), self.chosen("status", status, self.chip("status", status))),
                (self.word("severity"), self.chosen("severity", severity, self.chip("severity", severity))),
                (
                    self.word("freshness"),
                    self.chosen("freshness", state or NOT_CHECKED, self.chip("freshness", state)),
                ),
                (self.word("repo"), self.repository(rule.repo)),
                (self.word("tags"), b.joined(self.chosen("tag", tag, tag) for tag in rule.tags)),
                (self.word("updated"), b.Date(day) if (day := self.dated(rule)) else ""),
                (self.word("since"), str(rule.metadata.get("since") or "")),
                (self.word("because"), str(rule.metadata.get("because") or "")),
                *self._twin(rule),
            )
        )

    def _twin(self, document: Document) -> Iterator[tuple[str, b.Inline]]:
        """A link to the same in the other language, where it was written in it."""
        for lang in LANGUAGES:
            if lang != self.lang and self.content.text(document, lang).lang == lang:
                target = prefixed(self.content.address(document), lang)
                yield self.word("twin"), b.Link(target, (b.Text(self.word("twin_name"), lang),))

    def _warnings(self, document: Document) -> Iterator[b.Block]:
        found = self.content.findings.get(document.location.path, ())
        broken = [finding for finding in found if finding.severity is Severity.ERROR]
        if broken:
            items: tuple[b.Inline, ...] = tuple(
                (b.Code(f"{finding.location.path}:{finding.location.line}"), " ", b.Text(finding.message, "en"))
                for finding in broken
            )
            yield b.Notice(self.word("findings"), items, "bad")
        if isinstance(document, Rule) and document.status is not Status.ACTIVE:
            text = self.value("status", document.status.value)
            others = b.joined(map(self.rule_link, document.superseded_by))
            items = ((self.lead("superseded_by"), *b.pieces(others)),) if document.superseded_by else ()
            yield b.Notice(self.lead("status") + text, items, "fair")

    def _text(self, document: Document) -> Iterator[b.Block]:
        shown = self.content.text(document, self.lang)
        is_other = shown.lang != self.lang
        if is_other:
            yield b.Notice(self.word("no_twin"), (), "info")
        link = self.file_links(document, self.at(self.content.address(document)))
        yield b.Prose(shown.body, link, shown.lang if is_other else "")

    def _relations(self, rule: Rule) -> Iterator[b.Block]:
        entries: list[tuple[str, b.Inline]] = []
        for key in ("supersedes", "superseded_by", "contradicts", "related"):
            names: Sequence[str] = getattr(rule, key)
            if names:
                entries.append((self.word(key), b.joined(map(self.rule_link, names))))
        if rule.provenance:
            entries.append((self.word("provenance"), b.joined(rule.provenance, "; ")))
        if entries:
            yield b.Facts(tuple(entries))

    def _looked_for(self, rule: Rule) -> Iterator[b.Block]:
        yield b.Heading(self.word("looks_for"))
        if rule.look_for is None:
            yield b.Paragraph(self.word("cited_names"))
        elif not rule.look_for:
            yield b.Paragraph(self.word("nothing_but_paths"))
        else:
            yield b.Items(tuple(say_signal(signal, self.lang) for signal in rule.look_for))

    def _applies(self, rule: Rule) -> Iterator[b.Block]:
        if not rule.applies_to:
            yield b.Heading(self.word("applies"))
            yield b.Paragraph(self.word("applies_nowhere"))
            return
        yield from self._patterns("applies", rule.applies_to)
        paths = _known_paths(rule, self.alias(rule))
        if paths:
            query = urlencode({"repo": self.alias(rule), "paths": "\n".join(paths)})
            yield b.Paragraph(b.Link(f"{self.at('lookup/')}#{query}", self.word("ask_places")), "screen")

    def _patterns(self, key: str, patterns: Sequence[str]) -> Iterator[b.Block]:
        if not patterns:
            return
        yield b.Heading(self.word(key))
        yield b.Items(tuple(b.Item(say_pattern(pattern, self.lang)) for pattern in patterns))

    def _co_changes(self, items: Sequence[CoChange]) -> Iterator[b.Block]:
        if not items:
            return
        name = self.word("cochanges")
        yield b.Heading(name)
        columns = tuple(b.Column(self.word(key)) for key in ("change_first", "change_then", "because"))
        rows = tuple(
            b.Row(
                (
                    say_trigger(item, self.lang),
                    b.Lines(tuple(b.Code(pattern, is_path=True) for pattern in item.then)),
                    item.because,
                )
            )
            for item in items
        )
        yield b.Table(name, columns, rows)

    def _sources(self, document: Document) -> Iterator[b.Block]:
        if not document.sources:
            return
        name = self.word("pins")
        yield b.Heading(name)
        columns = (b.Column(self.word("pin")), b.Column(self.word("freshness")))
        rows = []
        for source in document.sources:
            verdict = self.content.verdict(document, source.pin) or {}
            state = self.chip("freshness", str(verdict.get("state", "")))
            because = str(verdict.get("because", ""))
            place = self.source(source.pin, source.url if web(source.url) else "")
            rows.append(b.Row((place, (state, " ", b.Text(because, "en")) if because else state)))
        yield b.Table(name, columns, tuple(rows))

    def _waivers(self, waivers: Sequence[FiledWaiver]) -> Iterator[b.Block]:
        if not waivers:
            return
        yield b.Heading(self.word("waivers"), size=len(waivers))
        items = []
        for waiver in waivers:
            state, reason = self.standing(waiver)
            items.append(b.Item((state, " ", *b.pieces(self.waiver_title(waiver))), (reason,) if reason else ()))
        yield b.Items(tuple(items))

    def _digests(self, digests: Sequence[ReviewDigest]) -> Iterator[b.Block]:
        if digests:
            yield b.Heading(self.word("related_digests"), size=len(digests))
            yield b.Items(
                tuple(b.Item(b.joined((self.link(d, self.title(d)), *self.reading_of(d)), " ")) for d in digests)
            )

    def _related(self, rules: Sequence[Rule]) -> Iterator[b.Block]:
        if rules:
            yield b.Heading(self.word("rules"), size=len(rules))
            yield b.Items(tuple(b.Item(self.link(rule, self.full_title(rule))) for rule in rules))

    def _patched(self, patches: object) -> Iterator[b.Block]:
        items = []
        for patch in patches if isinstance(patches, Sequence) and not isinstance(patches, str) else ():
            if isinstance(patch, Mapping) and isinstance(patch.get("path"), str):
                below = tuple(b.Code(target, is_path=True) for target in texts(patch.get("targets")))
                items.append(b.Item(b.Code(patch["path"], is_path=True), below))
        if items:
            yield b.Heading(self.word("patches"))
            yield b.Items(tuple(items))

    def _history(self, document: Document) -> Iterator[b.Block]:
        changes = self.content.pin_changes(document)
        is_cut = bool(document.sources) and self.content.history.extent is Extent.CUT
        if changes or is_cut:
            yield b.Heading(self.word("history"))
        if changes:
            yield b.Items(tuple(b.Item(self._change(change), tuple(self._moves(change))) for change in changes))
        if is_cut:
            yield b.Paragraph(self.word("history_cut"), "note")

    def _change(self, change: PinChange) -> b.Inline:
        if not change.commit:
            return b.Chip(self.word("history_loose"), "mute")
        subject = change.subject or change.commit[:12]
        shown = b.External(change.link, subject, change.commit) if change.link else subject
        return (b.Date(change.date), " ", shown, " ", b.Commit(change.commit[:12], change.commit))

    def _moves(self, change: PinChange) -> Iterator[b.Inline]:
        for pair in change.repinned:
            old = pair.old.partition("@")[2].partition(":")
            before: tuple[str | b.Span, ...] = (b.Code(old[2], is_path=True), " ") if pair.moved else ()
            after = b.pieces(self.source(pair.new))
            yield (self.lead("history_repinned"), *before, b.Commit(old[0][:12], pair.old), " → ", *after)
        for key, pins in (("history_added", change.added), ("history_dropped", change.dropped)):
            for pin in pins:
                yield (self.lead(key), *b.pieces(self.source(pin)))

    def _file(self, document: Document) -> Iterator[b.Block]:
        path = self.content.text(document, self.lang).location.path
        shown = b.Code(path, is_path=True)
        address = self.host.file(path)
        content: list[str | b.Span] = [self.lead("source_file")]
        content.append(b.External(address, shown) if address else shown)
        if edit := self.host.edit(path):
            content += [" · ", b.External(edit, self.word("edit"))]
        yield b.Paragraph(tuple(content), "note")

    def _neighbours(self, name: str, before: Document | None, after: Document | None) -> b.Neighbours:
        links = [
            self.link(document, (self.lead(key), self.full_title(document))) if document else None
            for key, document in (("previous", before), ("next", after))
        ]
        return b.Neighbours(self.word(name), links[0], links[1])


def _lines(contents: Iterable[b.Inline]) -> b.Inline:
    found = tuple(contents)
    return b.Lines(found) if found else ""


def _known_paths(rule: Rule, alias: str) -> list[str]:
    """Paths that a rule applies to as far as it names any: patterns without wildcards, and its sources."""
    found = [pattern for pattern in rule.applies_to if not any(sign in pattern for sign in "*?[{!\\")]
    for source in rule.sources:
        try:
            pin = parse_pin(source.pin)
        except PinError:
            continue
        if pin.alias == alias:
            found.append(pin.path)
    patterns = compile_patterns(rule.applies_to)
    paths = dict.fromkeys(path.strip("/") for path in found)
    return [path for path in paths if path and patterns.match(path)][:_ASKED]
