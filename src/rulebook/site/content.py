"""What the site shows, read once: the catalog, its findings, freshness, and the address of every document's page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rulebook.catalog import Catalog, is_twin, load
from rulebook.errors import UnreadableInput
from rulebook.files import split_language
from rulebook.model import Document, Finding, Kind, ReviewDigest, Rule, Severity, Waiver
from rulebook.ordering import natural_key
from rulebook.patterns.syntax import compile_patterns
from rulebook.pins import Pin, PinError, parse_pin

#: From the worst to the best, as ``docs/freshness.md`` orders them.
STATES = ("gone", "invalid", "moved", "changed", "unverifiable", "fresh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A knowledge base, prepared for pages.

    Attributes:
        catalog: all of it.
        findings: what lint says, by file.
        pins: the verdicts of ``rulebook stale``, by owner; empty where nothing was checked.
        heads: the commit that each repository was judged against.
        twins: the documents in other languages, by kind, id and language.
        addresses: where each document's page is, by kind and id, from the site's root and with ``/`` at its end.
    """

    catalog: Catalog
    findings: Mapping[str, Sequence[Finding]]
    pins: Mapping[str, Sequence[Mapping[str, Any]]]
    heads: Mapping[str, str]
    twins: Mapping[tuple[str, str, str], Document]
    addresses: Mapping[tuple[str, str], str]
    _paths: dict[str, str] = field(default_factory=dict)

    def state_of(self, identity: str) -> str:
        """The worst state of a rule's sources, or an empty string where they were not checked."""
        states = [str(pin["state"]) for pin in self.pins.get(identity, ())]
        return min(states, key=STATES.index, default="")

    def states(self) -> dict[str, str]:
        """The state of every rule whose sources were checked."""
        return {rule.id: state for rule in self.catalog.rules if (state := self.state_of(rule.id))}

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


def read_content(root: str, *, checkouts: Mapping[str, str] | None = None, stale: str = "") -> Content:
    """Reads a knowledge base for the site.

    Args:
        root: its folder.
        checkouts: clones of target repositories by alias, to judge freshness by.
        stale: a file that ``rulebook stale --format json`` wrote, used where there is no clone.

    Raises:
        NoKnowledgeBase: there is none.
        UnreadableInput: ``stale`` is no such file.
        GitError: a clone is none.
    """
    from rulebook.validate import validate

    catalog = load(root)
    findings: dict[str, list[Finding]] = {}
    for finding in validate(catalog):
        findings.setdefault(finding.location.path, []).append(finding)
    report = _judge(catalog, checkouts) if checkouts else _stored(stale) if stale else {}
    pins: dict[str, list[Mapping[str, Any]]] = {}
    for pin in report.get("pins", ()):
        pins.setdefault(str(pin["owner"]), []).append(pin)
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
        pins=pins,
        heads={alias: str(head) for alias, head in report.get("head", {}).items() if head},
        twins=twins,
        addresses=addresses,
        _paths=paths,
    )


def _judge(catalog: Catalog, checkouts: Mapping[str, str]) -> dict[str, Any]:
    from rulebook.checkouts import CheckoutFinder
    from rulebook.freshness import check_documents
    from rulebook.render.stale import stale_data

    documents = [document for document in catalog.documents if not is_twin(document)]
    return stale_data(check_documents(documents, catalog.config, CheckoutFinder(checkouts), identifiers=False))


def _stored(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        known = data["version"] == 1 and all(pin["state"] in STATES and pin["owner"] for pin in data["pins"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableInput(
            f"{path} is no answer of 'rulebook stale': {error}", "write it with --format json"
        ) from None
    if not known:
        raise UnreadableInput(f"{path} has a version or a state that is unknown here", "write it again")
    return dict(data)


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
    url = target.url.removesuffix("/").removesuffix(".git") if target else ""
    return _blob(url, pin) if re.match(r"https://[\w.-]+/", url) else ""


def _blob(url: str, pin: Pin) -> str:
    from urllib.parse import quote

    middle = "-/blob" if "gitlab" in url.split("/")[2] else "blob"
    lines = f"#L{pin.first}" + (f"-L{pin.last}" if pin.last != pin.first else "") if pin.first else ""
    return f"{url}/{middle}/{pin.commit}/{quote(pin.path)}{lines}"


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
