"""The look-up page's data: one file for each target repository, which a script executes as it stands.

Everything is compiled here. Path patterns are in the form of :mod:`rulebook.patterns.compiled`, regular expressions
are JavaScript's, pins are split. What the script cannot judge exactly is named in ``unjudged`` of its rule,
and the page says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rulebook.model import Kind, On, ReviewDigest, Rule, Signal, Status
from rulebook.ordering import natural_key
from rulebook.patterns.compiled import specificity
from rulebook.patterns.syntax import compile_patterns
from rulebook.regexes import RegexError, compile_bounded
from rulebook.site.regexes import NoCounterpart, to_javascript

if TYPE_CHECKING:
    from rulebook.store.query import Store

VERSION = 1
#: So many paths make an example.
_EXAMPLE = 4


def lookup_data(
    store: Store, repo: str, url_of: Callable[[str], str], states: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What the page needs to answer for one target repository.

    Args:
        store: the knowledge base.
        repo: the target's alias.
        url_of: the address of the page about the document at a path of the knowledge base, from the site's root.
        states: the freshness of rules by id, where it is known.
    """
    documents = store.documents()
    titles: dict[tuple[Kind, str], dict[str, str]] = {}
    for row in documents:
        if row.twin:
            titles.setdefault((row.kind, row.name), {})[row.lang] = row.title
    originals = {row.id: row for row in documents if not row.twin}
    identities = list(originals)
    lists = store.patterns(identities)
    owners = store.owners(identities)
    cited = store.cited(repo, [key for key, owner in owners.items() if isinstance(owner, Rule)])
    rules, reviews = [], []
    for key in sorted(owners):
        owner = owners[key]
        patterns = lists[key]
        if isinstance(owner, ReviewDigest):
            reviews.append(
                {
                    "id": owner.id,
                    "title": owner.title,
                    "titles": titles.get((Kind.REVIEW, owner.id), {}),
                    "reading": _text(originals[key].metadata.get("reading")),
                    "minutes": _text(originals[key].metadata.get("minutes")),
                    "repo": owner.repo,
                    "labels": [label.lower() for label in owner.labels],
                    "patterns": patterns.to_data(),
                    "location": {"path": owner.location.path, "line": owner.location.line},
                    "url": url_of(owner.location.path),
                }
            )
        elif store.config.resolve(owner.repo) == repo:
            rules.append(_rule_data(owner, url_of, (states or {}).get(owner.id)) | _place_data(patterns))
            rules[-1]["titles"] = titles.get((Kind.RULE, owner.id), {})
            if owner.look_for is None:
                rules[-1]["cited"] = cited.get(key, {})
    pinned = _pinned(store, repo, url_of, states or {}, titles)
    return {
        "version": VERSION,
        "repo": repo,
        "example": _example(rules, pinned),
        "examined": {"rules": store.count(Kind.RULE, repo), "reviews": store.count(Kind.REVIEW)},
        "rules": rules,
        "reviews": reviews,
        "pinned": pinned,
        "waivers": [_waiver_data(path, keys, url_of) for path, keys in store.waivers(repo)],
    }


def _example(rules: Sequence[Mapping[str, Any]], pinned: Sequence[Mapping[str, Any]]) -> list[str]:
    """Real paths of the repository to try the page with: those that rules were read from, the most cited first."""
    cited: dict[str, set[str]] = {}
    own = {rule["id"] for rule in rules}
    for pin in pinned:
        if pin["owner"] in own and not re.search(r"[\0-\x1f\"]", pin["path"]):
            cited.setdefault(pin["path"], set()).add(pin["owner"])
    return sorted(cited, key=lambda path: (-len(cited[path]), path))[:_EXAMPLE]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _place_data(patterns: Any) -> dict[str, Any]:
    return {"patterns": patterns.to_data(), "sharpness": [specificity(pattern) for pattern in patterns.patterns]}


def _rule_data(rule: Rule, url_of: Callable[[str], str], state: str | None) -> dict[str, Any]:
    unjudged: list[dict[str, str]] = []
    look_for = None if rule.look_for is None else [_signal_data(signal, unjudged) for signal in rule.look_for]
    co_changes = [
        {
            "when": _signal_data(item.when, unjudged),
            "then": [[text, compile_patterns([text]).to_data()] for text in item.then],
            "because": item.because,
        }
        for item in rule.co_changes
    ]
    return {
        "id": rule.id,
        "key": [list(part) for part in natural_key(rule.id)],
        "title": rule.title,
        "severity": rule.severity.value,
        "status": rule.status.value,
        "tags": list(rule.tags),
        "location": {"path": rule.location.path, "line": rule.location.line},
        "url": url_of(f"{rule.location.path}#{rule.id}"),
        "freshness": state,
        "look_for": look_for,
        "co_changes": co_changes,
        "unjudged": unjudged,
    }


def _signal_data(signal: Signal, unjudged: list[dict[str, str]]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if signal.identifiers:
        data["identifiers"] = list(signal.identifiers)
    if signal.lines:
        data["lines"] = []
        for text in signal.lines:
            try:
                limit = compile_bounded(text).limit
            except RegexError:
                # The command passes over it as well; lint names it.
                continue
            try:
                data["lines"].append([text, *to_javascript(text), limit])
            except NoCounterpart as error:
                unjudged.append({"text": text, "because": str(error)})
    if signal.functions:
        data["functions"] = [text.split(".") for text in signal.functions]
    if signal.changes:
        data["changes"] = list(signal.changes)
    if signal.inside:
        data["inside"] = compile_patterns(signal.inside).to_data()
    if signal.on is not On.CHANGED:
        data["on"] = signal.on.value
    return data


def _pinned(
    store: Store,
    repo: str,
    url_of: Callable[[str], str],
    states: Mapping[str, str],
    titles: Mapping[tuple[Kind, str], Mapping[str, str]],
) -> list[dict[str, Any]]:
    """The pins of rules into the repository, each with what it takes to show a rule that no pattern found."""
    from rulebook.pins import PinError, parse_pin

    found = []
    for row in store.documents(Kind.RULE):
        if row.twin or not Status(row.status).matches:
            continue
        sources = row.metadata.get("sources") or ()
        for source in [sources] if isinstance(sources, (str, dict)) else sources:
            text = source.get("pin") if isinstance(source, dict) else source
            try:
                pin = parse_pin(text) if isinstance(text, str) else None
            except PinError:
                continue
            if pin is None or store.config.resolve(pin.alias) != repo:
                continue
            found.append(
                {
                    "owner": row.name,
                    "key": [list(part) for part in natural_key(row.name)],
                    "pin": text,
                    "path": pin.path,
                    "first": pin.first,
                    "last": pin.last,
                    "title": row.title,
                    "titles": dict(titles.get((Kind.RULE, row.name), {})),
                    "severity": row.severity,
                    "status": row.status,
                    "location": {"path": row.path, "line": row.line},
                    "url": url_of(f"{row.path}#{row.name}"),
                    "freshness": states.get(row.name),
                }
            )
    return found


def _waiver_data(path: str, keys: Mapping[str, Any], url_of: Callable[[str], str]) -> dict[str, Any]:
    named: dict[str, None] = {}
    for key in ("patches", "called_from"):
        value = keys.get(key)
        for item in value if isinstance(value, list) else [value]:
            place = item.get("path") if isinstance(item, dict) else item
            if isinstance(place, str):
                named[place] = None
    return {
        "path": path,
        "url": url_of(path),
        "rule": keys.get("rule"),
        "repo": keys.get("repo"),
        "paths": list(named),
    }
