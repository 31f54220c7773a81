"""What the site shows, read once: the catalog, its findings, freshness, the history of pins, waivers, addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from rulebook.catalog import Catalog, is_twin, load
from rulebook.checkouts import CheckoutFinder
from rulebook.errors import UsageError
from rulebook.files import split_language
from rulebook.model import Document, Finding, Kind, ReviewDigest, Rule, Severity, Waiver
from rulebook.ordering import natural_key
from rulebook.patterns.syntax import compile_patterns
from rulebook.pins import PinError, parse_pin
from rulebook.site.history import PinChange, PinHistory, pin_history
from rulebook.site.hosts import file_link, web_address
from rulebook.site.stored import read_stale
from rulebook.site.waivers import FiledWaiver, list_waivers
from rulebook.verdicts import State
from rulebook.waivers.audit import WaiverState

#: From the worst to the best, as ``docs/freshness.md`` orders them.
STATES = tuple(state.value for state in State)
#: A verdict of ``rulebook stale`` on a pin: the object that ``docs/contract.md`` describes.
Verdict = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A knowledge base, prepared for pages.

    Attributes:
        catalog: all of it.
        findings: what lint says, by file.
        heads: the commit that each repository was judged against; empty where nothing was checked.
        history: how the sources came and went.
        waivers: all of them with their states, by repository and number.
        twins: the documents in other languages, by kind, id and language.
        addresses: where each document's page is, by kind and id, from the site's root and with ``/`` at its end.
    """

    catalog: Catalog
    findings: Mapping[str, Sequence[Finding]]
    heads: Mapping[str, str]
    history: PinHistory
    waivers: Sequence[FiledWaiver]
    twins: Mapping[tuple[str, str, str], Document]
    addresses: Mapping[tuple[str, str], str]
    #: By the id of the rule, and by the document's file.
    _waivers_from: Mapping[str, Sequence[FiledWaiver]] = field(default_factory=dict)
    _waivers_at: Mapping[str, FiledWaiver] = field(default_factory=dict)
    #: By kind, id and pin.
    _verdicts: Mapping[tuple[str, str, str], Verdict] = field(default_factory=dict)
    _paths: Mapping[str, str] = field(default_factory=dict)

    def verdict(self, document: Document, pin: str) -> Verdict | None:
        """The verdict on a pin of a document, or ``None`` where it was not checked."""
        return self._verdicts.get((*document.key, pin))

    def verdicts(self, document: Document) -> list[Verdict]:
        """The verdicts on those of a document's pins that were checked, in their order."""
        return [found for source in document.sources if (found := self.verdict(document, source.pin)) is not None]

    def state_of(self, document: Document) -> str:
        """The worst state of a document's sources, or an empty string where none was checked.

        Where some were not, they count as ``unverifiable``: fresh is only said of what was looked at.
        """
        states = [str(verdict["state"]) for verdict in self.verdicts(document)]
        if 0 < len(states) < len(document.sources):
            states.append(State.UNVERIFIABLE.value)
        return min(states, key=STATES.index, default="")

    def states(self) -> dict[str, str]:
        """The state of every rule whose sources were checked."""
        return {rule.id: state for rule in self.catalog.rules if (state := self.state_of(rule))}

    def pin_changes(self, document: Document) -> Sequence[PinChange]:
        """How a document's sources came and went, newest first; :attr:`history` tells how much of that is known."""
        return self.history.of(document)

    def waivers_from(self, rule: Rule) -> Sequence[FiledWaiver]:
        """The waivers from a rule with their states, those in force first.

        One without a document is filed in the target repository alone, where an audit saw it.
        """
        return self._waivers_from.get(rule.id, ())

    def filed(self, waiver: Waiver) -> FiledWaiver:
        """A waiver of the knowledge base with its state."""
        return self._waivers_at[waiver.location.path]

    def address(self, document: Document) -> str:
        """Where a document's page is, from the site's root."""
        return self.addresses[document.key]

    def address_of(self, place: str) -> str:
        """The same for a path of the knowledge base, with ``#ID`` behind that of a rule; empty for what has no page."""
        return self._paths.get(place) or self._paths.get(split_language(place)[0], "")

    def text(self, document: Document, lang: str) -> Document:
        """The document in a language, or as it was written where it has no such twin."""
        return self.twins.get((*document.key, lang), document)

    def errors(self) -> list[Finding]:
        """The findings that make a strict build fail."""
        return [f for found in self.findings.values() for f in found if f.severity is Severity.ERROR]


def read_content(
    root: str,
    *,
    checkouts: Mapping[str, str] | None = None,
    stale: str = "",
    audits: Sequence[str] = (),
    today: str = "",
    renamed: Mapping[str, str] | None = None,
) -> Content:
    """Reads a knowledge base for the site.

    Args:
        root: its folder.
        checkouts: clones of target repositories by alias, to judge freshness and waivers by.
        stale: a file that ``rulebook stale --format json`` wrote, used for repositories without a clone.
        audits: files that ``rulebook waiver audit --format json`` wrote, used likewise.
        today: the day to hold waivers against, ``YYYY-MM-DD``; by default this one.
        renamed: today's id of a rule by a former one.

    Raises:
        NoKnowledgeBase: there is none.
        UnreadableInput: ``stale`` or one of ``audits`` is no such file.
        UsageError: ``today`` is no day, or two of ``audits`` are about the same policy.
        GitError: a clone is none.
    """
    from rulebook.validate import validate

    catalog = load(root)
    findings: dict[str, list[Finding]] = {}
    for finding in validate(catalog):
        findings.setdefault(finding.location.path, []).append(finding)
    finder = CheckoutFinder(checkouts) if checkouts else None
    heads, verdicts = _freshness(catalog, finder, stale)
    waivers = list_waivers(catalog, today=parse_day(today), finder=finder, audits=audits)
    waivers_from: dict[str, list[FiledWaiver]] = {}
    for item in sorted(waivers, key=lambda item: item.standing.state is not WaiverState.IN_FORCE):
        waivers_from.setdefault(item.rule, []).append(item)
    twins = {(*d.key, d.lang): d for d in catalog.documents if is_twin(d)}
    addresses: dict[tuple[str, str], str] = {}
    paths: dict[str, str] = {}
    for document in catalog.documents:
        if is_twin(document) or document.key in addresses:
            continue
        address = addresses[document.key] = _address(document, catalog)
        paths.setdefault(document.location.path, address)
        paths[f"{document.location.path}#{document.id}"] = address
    return Content(
        catalog=catalog,
        findings=findings,
        heads=heads,
        history=pin_history(root, catalog.documents, renamed=renamed),
        waivers=waivers,
        twins=twins,
        addresses=addresses,
        _waivers_from=waivers_from,
        _waivers_at={item.document.location.path: item for item in waivers if item.document is not None},
        _verdicts=verdicts,
        _paths=paths,
    )


def parse_day(text: str) -> str:
    """A day as ``YYYY-MM-DD``; today, as people here count it, where the text is empty.

    Raises:
        UsageError: the text is no day.
    """
    try:
        # What a waiver means by a date is its readers' own day.
        return (date.fromisoformat(text) if text else date.today()).isoformat()  # noqa: DTZ011
    except ValueError:
        raise UsageError(f"{text!r} is no day", "write YYYY-MM-DD") from None


def _freshness(
    catalog: Catalog, finder: CheckoutFinder | None, stale: str
) -> tuple[dict[str, str], dict[tuple[str, str, str], Verdict]]:
    """What each repository was judged against, and the verdict on each pin, by kind, id and pin."""
    stored = read_stale(stale) if stale else {"head": {}, "pins": []}
    judged = _judge(catalog, finder) if finder else {"head": {}, "pins": []}
    heads = {alias: str(head) for report in (stored, judged) for alias, head in report["head"].items() if head}
    verdicts = {(pin["kind"], pin["owner"], pin["pin"]): pin for pin in stored["pins"]}
    for pin in judged["pins"]:
        key = (pin["kind"], pin["owner"], pin["pin"])
        # A repository that has no clone here may have had one where the file was written.
        if key not in verdicts or judged["head"].get(pin["pin"].partition("@")[0]):
            verdicts[key] = pin
    return heads, verdicts


def _judge(catalog: Catalog, finder: CheckoutFinder) -> dict[str, Any]:
    from rulebook.freshness import check_documents
    from rulebook.render.stale import stale_data

    documents = [document for document in catalog.documents if not is_twin(document)]
    return stale_data(check_documents(documents, catalog.config, finder, identifiers=False))


def _address(document: Document, catalog: Catalog) -> str:
    if document.kind is Kind.RULE:
        return f"rules/{_name(catalog.config.resolve(document.repo))}/{_name(document.id)}/"
    # Digests and waivers are named by their files, whose folders tell the repository.
    return "/".join(map(_name, split_language(document.location.path)[0].removesuffix(".md").split("/"))) + "/"


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", text) or "-"


# --- what belongs together --------------------------------------------------------------------


def host_link(content: Content, text: str) -> str:
    """The address of a pinned place at its host, or an empty string where the host is not known."""
    try:
        pin = parse_pin(text)
    except PinError:
        return ""
    target = content.catalog.config.targets.get(content.catalog.config.resolve(pin.alias))
    return file_link(web_address(target.url), pin) if target else ""


def waivers_of(content: Content, rule: Rule) -> list[Waiver]:
    """The waivers from a rule."""
    return [waiver for waiver in content.catalog.waivers if waiver.rule == rule.id]


def digests_of(content: Content, rule: Rule) -> list[ReviewDigest]:
    """The digests that touched a rule's places, then those that carry one of its tags as a label."""
    config = content.catalog.config
    patterns = compile_patterns(rule.applies_to)
    tags = {tag.lower() for tag in rule.tags}
    touched, labelled = [], []
    for review in content.catalog.reviews:
        same = config.resolve(review.repo) == config.resolve(rule.repo)
        if same and any(patterns.match(path) for path in review.touches if not re.search(r"[*?\[{!]", path)):
            touched.append(review)
        elif tags & {label.lower() for label in review.labels}:
            labelled.append(review)
    return touched + labelled


def aliases(content: Content) -> list[str]:
    """The repositories that rules are written for, in the order of ``rulebook.toml``."""
    used = {content.catalog.config.resolve(rule.repo) for rule in content.catalog.rules}
    known = [alias for alias in content.catalog.config.targets if alias in used]
    return known + sorted(used.difference(known))


def rules_of(content: Content, alias: str) -> list[Rule]:
    """The rules of one repository in the order of their ids."""
    found = [rule for rule in content.catalog.rules if content.catalog.config.resolve(rule.repo) == alias]
    return sorted(found, key=lambda rule: natural_key(rule.id))
