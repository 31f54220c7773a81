"""What other programs read: ``rules.json`` with its schema, ``llms.txt``, an Atom feed, badges, redirects."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from html import escape as html_escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin

from rulebook.ordering import natural_key
from rulebook.render.data import dump
from rulebook.render.safe import one_line
from rulebook.site.content import STATES, Content, waivers_of
from rulebook.site.links import relative
from rulebook.site.words import LANGUAGES, counted, word
from rulebook.site.writer import Page, prefixed

if TYPE_CHECKING:
    from rulebook.model import Rule
    from rulebook.site.guides import Guide

VERSION = 1
SCHEMA_PLACE = "rules.schema.json"


def make_feeds(content: Content, *, name: str, url: str) -> Iterator[tuple[str, str]]:
    """The files beside the pages, each with its place from the site's root; :func:`llms_text` lists the pages.

    Args:
        content: what the site shows.
        name: its name.
        url: where it is published, with ``/`` at its end; empty where that is not known.
    """
    yield "rules.json", dump(rules_data(content, url))
    yield SCHEMA_PLACE, dump(rules_schema(url))
    yield "feed.atom", atom_feed(content, name, url)
    counts = freshness_counts(content)
    for state in STATES:
        if counts:
            value = counted("rules", counts[state], LANGUAGES[0])
            yield f"badges/{state}.svg", badge(f"sources {state}", value, _colour(state, counts[state]))
    if not counts:
        yield "badges/fresh.svg", badge("sources", "not checked", "#5f6b7a")
    yield "badges/rules.svg", badge("rules", str(len(content.catalog.rules)), "#1f5fa8")


def rules_data(content: Content, url: str) -> dict[str, Any]:
    """All rules; ``rules.schema.json`` says what each key means."""
    ordered = sorted(content.catalog.rules, key=lambda rule: (content.address(rule), natural_key(rule.id)))
    return {"version": VERSION, "rules": [_rule_data(content, rule, url) for rule in ordered]}


def _rule_data(content: Content, rule: Rule, url: str) -> dict[str, Any]:
    return {
        "id": rule.id,
        "repo": content.catalog.config.resolve(rule.repo),
        "title": {lang: content.text(rule, lang).title for lang in _languages(content, rule)},
        "status": rule.status.value,
        "severity": rule.severity.value,
        "tags": list(rule.tags),
        "applies_to": list(rule.applies_to),
        "sources": [source.pin for source in rule.sources],
        "freshness": content.state_of(rule) or None,
        "waivers": [waiver.location.path for waiver in waivers_of(content, rule)],
        "superseded_by": list(rule.superseded_by),
        "updated": rule.updated or rule.created or None,
        "location": {"path": rule.location.path, "line": rule.location.line},
        "url": url + content.address(rule),
    }


def _languages(content: Content, rule: Rule) -> list[str]:
    return [lang for lang in LANGUAGES if lang == rule.lang or (*rule.key, lang) in content.twins]


def rules_schema(url: str = "") -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of ``rules.json``.

    Args:
        url: where the site is published, with ``/`` at its end; then the schema has its address as its id.
    """
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    rule = {
        "id": text,
        "repo": {"type": "string", "description": "The target repository's alias in rulebook.toml."},
        "title": {"type": "object", "additionalProperties": text, "description": "By language."},
        "status": {"enum": ["active", "contested", "superseded", "retired", "reserved"]},
        "severity": {"enum": ["error", "warning", "note"], "description": "SARIF 2.1.0, section 3.27.10."},
        "tags": texts,
        "applies_to": {**texts, "description": "Path patterns in gitignore's syntax; the last match wins."},
        "sources": {**texts, "description": "Pins: alias@<40 hex digits>:path#anchor, or unknown."},
        "freshness": {"enum": [*STATES, None], "description": "The worst of its sources; null: not checked."},
        "waivers": texts,
        "superseded_by": texts,
        "updated": {"type": ["string", "null"], "description": "YYYY-MM-DD."},
        "location": {
            "type": "object",
            "properties": {"path": text, "line": {"type": "integer", "minimum": 0}},
            "required": ["path", "line"],
        },
        "url": {"type": "string", "description": "Of its page; from the site's root where the site's URL is unknown."},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **({"$id": url + SCHEMA_PLACE} if url else {}),
        "title": "rules.json",
        "description": "The rules of a knowledge base. Keys may be added; none changes without a higher version.",
        "type": "object",
        "required": ["version", "rules"],
        "properties": {
            "version": {"const": VERSION},
            "rules": {"type": "array", "items": {"type": "object", "properties": rule, "required": list(rule)}},
        },
    }


def llms_text(pages: Sequence[Page], guides: Sequence[Guide], *, name: str, url: str) -> str:
    """The site's map for language models, in the form of llmstxt.org: the pages' Markdown by section.

    Pages in other languages than the first stand under *Optional*, which that form lets readers leave out.

    Args:
        pages: the site's own pages.
        guides: its documentation.
        name: its name.
        url: where it is published, with ``/`` at its end; where it is empty, links are relative.
    """
    intro = word("home_intro", LANGUAGES[0])
    lines = [f"# {one_line(name)}", "", f"> {intro} Each page is also there as Markdown, as listed here.", ""]
    lines += [f"All rules for programs: [rules.json](<{url}rules.json>), [its schema](<{url}{SCHEMA_PLACE}>).", ""]
    sections: dict[str, list[str]] = {key: [] for key in ("Overview", "Rules", "Review digests", "Waivers")}
    kinds = {"rule": "Rules", "review": "Review digests", "waiver": "Waivers"}
    sections["Documentation"] = [_listed(guide.title, "", f"{url}{guide.address}") for guide in guides]
    sections["Optional"] = []
    for page in pages:
        section = kinds[page.document.kind.value] if page.document else "Overview"
        summary = "" if page.document else page.summary
        listed = _listed(page.title, summary, f"{url}{page.address}")
        sections[section if page.lang == LANGUAGES[0] else "Optional"].append(listed)
    for title, entries in sections.items():
        if entries:
            lines += [f"## {title}", "", *entries, ""]
    return "\n".join(lines)


def _listed(title: str, summary: str, address: str) -> str:
    return f"- [{_label(title)}](<{address}index.md>)" + (f": {one_line(summary)}" if summary else "")


def _label(title: str) -> str:
    return one_line(title).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def atom_feed(content: Content, name: str, url: str) -> str:
    """The rules by the day they were last changed, newest first (RFC 4287)."""
    dated = [rule for rule in content.catalog.rules if rule.updated or rule.created]
    dated.sort(key=lambda rule: (rule.updated or rule.created, rule.id), reverse=True)
    latest = _moment(dated[0]) if dated else "1970-01-01T00:00:00Z"
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{_xml(name)}</title>",
        f"<id>{_xml(url or _urn(name))}</id>",
        f"<updated>{latest}</updated>",
        f"<author><name>{_xml(name)}</name></author>",
    ]
    if url:
        lines.append(f'<link rel="self" href="{_xml(urljoin(url, "feed.atom"))}"/>')
    for rule in dated:
        address = content.address(rule)
        lines += [
            "<entry>",
            f"<title>{_xml(f'{rule.id}: {rule.title}')}</title>",
            f"<id>{_xml(urljoin(url, address) if url else _urn(f'{name}/{address}'))}</id>",
            f"<updated>{_moment(rule)}</updated>",
            f'<link href="{_xml(url + address)}"/>',
            f"<summary>{_xml(f'{rule.status.value}, {rule.severity.value}')}</summary>",
            "</entry>",
        ]
    return "\n".join([*lines, "</feed>", ""])


def _urn(text: str) -> str:
    """An id for what has no address yet: it must be an absolute IRI (RFC 4287, section 4.2.6) and stay the same."""
    return uuid.uuid5(uuid.NAMESPACE_URL, text).urn


def _moment(rule: Rule) -> str:
    return f"{(rule.updated or rule.created)[:10]}T00:00:00Z"


def _xml(text: str) -> str:
    return html_escape(one_line(text))


def freshness_counts(content: Content) -> dict[str, int]:
    """How many rules' sources are in each state at worst; empty where nothing was checked."""
    states = list(content.states().values())
    return {state: states.count(state) for state in STATES} if states else {}


def _colour(state: str, count: int) -> str:
    if state == "fresh":
        return "#2e7d32"
    return "#b3261e" if count else "#5f6b7a"


def badge(label: str, value: str, colour: str) -> str:
    """A flat SVG badge; widths are estimated at 7 pixels a character."""
    left, right = 7 * len(label) + 12, 7 * len(value) + 12
    label, value = _xml(label), _xml(value)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{label}: {value}"><title>{label}: {value}</title>'
        f'<rect width="{left}" height="20" fill="#3c4043"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">{label}</text><text x="{left + right / 2:g}" y="14">{value}</text></g></svg>\n'
    )


def redirects(content: Content, renamed: Mapping[str, str], script: str) -> Iterator[tuple[str, str]]:
    """A page for each former id that leads to the rule's page of today, whichever place on it is asked for.

    Args:
        content: what the site shows.
        renamed: today's id by the former one.
        script: the script that keeps what stands behind ``#``, from the site's root; a page without it does not.

    Yields:
        the page's place from the site's root, and its HTML.
    """
    for former, current in renamed.items():
        address = content.addresses.get(("rule", current))
        if address is None or ("rule", former) in content.addresses:
            continue
        folder, _, name = address.rstrip("/").rpartition("/")
        for lang in LANGUAGES:
            place = f"{prefixed(folder, lang)}/{quote(former, safe='')}"
            yield f"{place}/index.html", _redirect(lang, former, current, f"../{quote(name)}/", relative(place, script))


def _redirect(lang: str, former: str, current: str, target: str, script: str) -> str:
    title = html_escape(f"{one_line(former)} → {one_line(current)}")
    return (
        f'<!doctype html>\n<html lang="{lang}" data-former="{html_escape(former)}"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; script-src 'self'; base-uri 'none'\">"
        f'<meta name="robots" content="noindex"><title>{title}</title><link rel="canonical" href="{target}">'
        f'<script src="{html_escape(script)}"></script>'
        f'<noscript><meta http-equiv="refresh" content="0; url={target}"></noscript>'
        f'</head><body><p><a href="{target}">{title}</a></p></body></html>\n'
    )
