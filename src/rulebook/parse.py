"""A content file's text → rules, waivers and digests, and what is wrong with it.

Looks at one file at a time; what only shows across files is :mod:`rulebook.validate`'s. A file with
findings still yields every document that can be read from it, so one bad value hides nothing else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from rulebook import markdown, metadata
from rulebook.files import split_language
from rulebook.model import (
    ChangeStatus,
    CoChange,
    Document,
    Finding,
    Kind,
    Location,
    On,
    ReviewDigest,
    Rule,
    Severity,
    Signal,
    Source,
    Status,
    Waiver,
)
from rulebook.patterns.lint import HARMLESS, lint
from rulebook.pins import UNKNOWN, PinError, parse_pin
from rulebook.regexes import RegexError, compile_bounded

_COMMON = ("id", "title", "repo", "lang", "tags", "sources", "created", "updated")
_CONDITIONS = ("identifiers", "lines", "functions", "changes")
_SIGNAL_KEYS = (*_CONDITIONS, "inside", "on")
_SOURCE_KEYS = ("pin", "blob", "sha256", "url")
#: The keys that each kind of document knows, apart from the common ones.
KEYS: Mapping[Kind, tuple[str, ...]] = {
    Kind.RULE: (
        "status",
        "severity",
        "applies_to",
        "look_for",
        "co_changes",
        "provenance",
        "supersedes",
        "superseded_by",
        "contradicts",
        "related",
        "since",
        "because",
        "policy",
    ),
    Kind.WAIVER: (
        "pr",
        "rule",
        "patches",
        "called_from",
        "configs",
        "images",
        "upstream",
        "expires",
        "removal",
    ),
    Kind.REVIEW: (
        "pr",
        "labels",
        "touches",
        "identifiers",
        "author",
        "opened",
        "state",
        "reading",
        "minutes",
        "pin",
    ),
}
_PATCH_KEYS = ("path", "targets")
#: What a page of rules may say for all its sections.
_PAGE_KEYS = ("type", "confidence")
#: A twin repeats none of its original's keys.
_TWIN_KEYS = ("id", "title", "lang")
READING = ("close", "skim", "skip")

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_REVIEW_ID = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+#[0-9]+\Z")
_SECTION = re.compile(
    r"(?P<id>[A-Za-z][A-Za-z0-9._]*(?:-[A-Za-z0-9._]+)+|[A-Za-z]+\d+)\s*(?:—|–|--|-|:|：)\s*(?P<title>\S.*)"
)
_MARKER = re.compile(r"kb:rule\b(?P<fields>.*)\Z", re.DOTALL)
_MARKER_FIELD = re.compile(r"(?P<key>[A-Za-z_]+)=(?:\"(?P<quoted>[^\"]*)\"|(?P<bare>\S+))")
_MARKER_KEYS = ("status", "severity", "since", "superseded_by")
_PROVENANCE = re.compile(r"\^\[([^\[\]\n]+)\]")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})\Z")

_Word = TypeVar("_Word", Status, Severity, On)


class Reader:
    """Takes typed values out of a frontmatter and writes a finding for each that does not fit."""

    def __init__(self, path: str, data: metadata.Metadata) -> None:
        self.path = path
        self.data = data
        self.findings: list[Finding] = []

    def complain(
        self, code: str, message: str, remedy: str, *key: str | int, severity: Severity = Severity.ERROR
    ) -> None:
        """Notes something wrong at the place of ``key``."""
        self.complain_at(self.data.line(*key), code, message, remedy, severity)

    def complain_at(self, line: int, code: str, message: str, remedy: str, severity: Severity = Severity.ERROR) -> None:
        """Notes something wrong in a line of the file, once however often a value is looked at."""
        location = Location(self.path, line)
        finding = Finding(code=code, severity=severity, message=message, location=location, remedy=remedy)
        if finding not in self.findings:
            self.findings.append(finding)

    def text(self, key: str, default: str = "") -> str:
        """A scalar on one line."""
        value = self.data.values.get(key, default)
        if not isinstance(value, str):
            self.complain("value-type", f"{key!r} is no text", f"write {key}: text", key)
            return default
        return " ".join(value.split())

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of scalars, or one scalar for a list of one; an empty value is an empty list."""
        return self.texts_of(self.data.values.get(key, []), (key,))

    def texts_of(self, value: Any, key: tuple[str | int, ...]) -> tuple[str, ...]:
        """The same for a value that stands deeper, at ``key``."""
        return tuple(text for _, text in self.entries_of(value, key))

    def entries_of(self, value: Any, key: tuple[str | int, ...]) -> list[tuple[int, str]]:
        """The texts of a list, each with its index; what is no text is noted and left out."""
        if isinstance(value, str):
            return [(0, value)] if value else []
        name = next(str(part) for part in reversed(key) if isinstance(part, str))
        if not isinstance(value, list):
            self.complain("value-type", f"{name!r} is no list of texts", f"write {name}: [one, two]", *key)
            return []
        found = []
        for index, item in enumerate(value):
            if item == "":
                self.complain("value-empty", f"an entry of {name!r} is empty", "fill it in or remove it", *key, index)
            elif isinstance(item, str):
                found.append((index, item))
            else:
                remedy = "quote the entry: { } and [ ] are YAML's own"
                self.complain("value-type", f"an entry of {name!r} is no text", remedy, *key, index)
        return found

    def word(self, key: str, words: type[_Word], default: _Word) -> _Word:
        """One of an enum's words."""
        value = self.text(key)
        if not value:
            return default
        try:
            return words(value)
        except ValueError:
            known = [word.value for word in words]
            self.complain("value-word", f"{value!r} is no {key}", _one_of(value, known), key)
            return default

    def date(self, key: str) -> str:
        """A day as ``YYYY-MM-DD``; empty where there is none or it does not exist."""
        value = self.text(key)
        if value and not _is_date(value):
            self.complain("value-date", f"{value!r} is no date", "write YYYY-MM-DD", key)
            return ""
        return value

    def unknown_keys(self, known: Iterable[str]) -> None:
        """Notes keys outside of ``known``, each with the nearest known one."""
        known = tuple(known)
        for key in self.data.values:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1, 0.6)
                remedy = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
                self.complain("key-unknown", f"unknown key {key!r}", remedy, key)


def parse_file(path: str, kind: Kind, text: str) -> tuple[list[Document], list[Finding]]:
    """Reads one content file.

    Args:
        path: from the knowledge base's root.
        kind: given by the top-level folder.
        text: as :func:`rulebook.files.read_text` returns it.

    Returns:
        The documents found (several for a page of rules, none where nothing can be read), and every
        finding.
    """
    parts = metadata.split_document(text, path)
    reader = Reader(path, parts.metadata)
    findings = list(parts.findings)
    values = parts.metadata.values
    if not values:
        if not findings:
            reader.complain("key-missing", "the frontmatter is empty", "give it at least 'id' and 'title'")
        return [], [*findings, *reader.findings]
    if kind is Kind.RULE and "id" not in values:
        documents: list[Document] = _parse_page(reader, parts)
    else:
        documents = [_parse_document(reader, kind, parts)]
    return documents, [*findings, *reader.findings]


# --- one document a file ----------------------------------------------------------------------


def _parse_document(reader: Reader, kind: Kind, parts: metadata.Parts) -> Document:
    original, twin_of = split_language(reader.path)
    stem = original.rsplit("/", 1)[-1].removesuffix(".md")
    if twin_of:
        _check_twin_keys(reader, (*_COMMON, *KEYS[kind]))
    reader.unknown_keys((*_COMMON, *KEYS[kind]))
    common = _common(reader, kind, parts, stem, twin_of)
    if kind is Kind.RULE:
        if not twin_of:
            for key in ("title", "repo", "applies_to"):
                if not reader.data.values.get(key) and not _is_inert(reader):
                    reader.complain("key-missing", f"{key!r} is missing", f"add a line '{key}: …'")
        rule = Rule(**common, **_rule_fields(reader))
        if "policy" in rule.metadata:
            from rulebook.waivers.policy import parse_policy

            reader.findings += parse_policy(rule)[1]
        return rule
    if not twin_of:
        _check_belonging(reader, kind, common["id"])
    if kind is Kind.WAIVER:
        waiver = Waiver(**common, pr=_number(reader, "pr", stem, twin_of), rule=reader.text("rule"))
        if not twin_of:
            _check_waiver(reader, waiver)
        return waiver
    return _review(reader, common, stem, twin_of)


def _check_belonging(reader: Reader, kind: Kind, identity: str) -> None:
    """What a waiver or a digest belongs to; read and searched it can be without."""
    if not reader.data.values.get("repo"):
        slug = identity.partition("#")[0] if kind is Kind.REVIEW and "/" in identity else "…"
        message = "'repo' is missing, so it belongs to no repository"
        reader.complain("key-missing", message, f"add a line 'repo: {slug}'", severity=Severity.WARNING)
    if kind is Kind.WAIVER and not reader.data.values.get("rule"):
        message = "'rule' is missing, so it is an exception from none"
        reader.complain("key-missing", message, "add a line 'rule: <ID>'", severity=Severity.WARNING)


def _check_twin_keys(reader: Reader, known: Sequence[str]) -> None:
    for key in reader.data.values:
        if key in known and key not in _TWIN_KEYS:
            reader.complain("twin-key", f"a twin states {key!r} again", "leave it to the original", key)


def _is_inert(reader: Reader) -> bool:
    return reader.data.values.get("status") in (Status.RESERVED.value, Status.RETIRED.value)


def _common(reader: Reader, kind: Kind, parts: metadata.Parts, stem: str, twin_of: str) -> dict[str, Any]:
    identity = reader.text("id")
    if kind is Kind.WAIVER:
        identity = identity or f"{reader.text('repo') or reader.path.split('/')[-2]}#{stem}"
    elif not identity:
        if not reader.data.values.get("id"):
            reader.complain("key-missing", "'id' is missing", f"add a line 'id: {stem}'")
        identity = stem
    elif kind is Kind.RULE and not _ID.match(identity):
        reader.complain("id-shape", f"{identity!r} is no id", "use letters, digits, '-', '.' and '_'", "id")
    elif kind is Kind.RULE and identity != stem:
        reader.complain("id-file", f"the id {identity!r} is not the file's name", f"name the file {identity}.md", "id")
    elif kind is Kind.REVIEW and not _REVIEW_ID.match(identity):
        reader.complain("id-shape", f"{identity!r} is no digest's id", "write owner/name#PR, quoted", "id")
    if not reader.data.values.get("title") and (kind is not Kind.RULE or twin_of):
        reader.complain("key-missing", "'title' is missing", "add a line 'title: …'")
    if twin_of and reader.text("lang", twin_of) != twin_of:
        reader.complain(
            "twin-lang", "'lang' is not the file name's language", f"leave it out, or write {twin_of}", "lang"
        )
    if not parts.body.strip():
        reader.complain("body-empty", "the text is empty", "write what a reader should know", severity=Severity.WARNING)
    return {
        "id": identity,
        "title": reader.text("title") or identity,
        "repo": reader.text("repo"),
        "location": Location(reader.path, 1),
        "body": parts.body,
        "body_line": parts.body_line,
        "lang": twin_of or reader.text("lang", "en") or "en",
        "tags": reader.texts("tags"),
        "sources": _sources(reader, "sources") + _sources(reader, "pin"),
        "created": reader.date("created"),
        "updated": reader.date("updated"),
        "metadata": reader.data.values,
        "lines": reader.data.lines,
    }


def _patterns(reader: Reader, value: Any, *key: str | int) -> tuple[str, ...]:
    """A list of path patterns; what is wrong with each is a finding at its own line."""
    entries = reader.entries_of(value, key)
    texts = tuple(text for _, text in entries)
    for problem in lint(texts):
        place = key if isinstance(value, str) else (*key, entries[problem.index][0])
        severity = Severity.WARNING if problem.code in HARMLESS else Severity.ERROR
        reader.complain(problem.code, problem.message, problem.remedy, *place, severity=severity)
    return texts


def _rule_fields(reader: Reader) -> dict[str, Any]:
    status = reader.word("status", Status, Status.ACTIVE)
    superseded_by = reader.texts("superseded_by")
    if status is Status.SUPERSEDED and not superseded_by:
        reader.complain("status-superseded", "superseded, but by what?", "add superseded_by: <ID>", "status")
    if "since" in reader.data.values:
        reader.date("since")
    return {
        "status": status,
        "severity": reader.word("severity", Severity, Severity.WARNING),
        "applies_to": _patterns(reader, reader.data.values.get("applies_to", []), "applies_to"),
        "look_for": _signals(reader),
        "co_changes": _co_changes(reader),
        "provenance": reader.texts("provenance"),
        "supersedes": reader.texts("supersedes"),
        "superseded_by": superseded_by,
        "contradicts": reader.texts("contradicts"),
        "related": reader.texts("related"),
    }


def _check_waiver(reader: Reader, waiver: Waiver) -> None:
    """The parts of a waiver that other programs read, and what is left of the template in its text."""
    from rulebook.waivers.document import leftovers

    for key in ("called_from", "configs", "images", "upstream"):
        reader.texts(key)
    patches = reader.data.values.get("patches", [])
    for index, item in enumerate(patches if isinstance(patches, list) else [patches] if patches else []):
        if isinstance(item, str):
            continue
        if not isinstance(item, dict) or not isinstance(item.get("path"), str):
            reader.complain("waiver-patches", "a patch has no 'path'", "write - path: script.sh", "patches", index)
            continue
        for name in item:
            if name not in _PATCH_KEYS:
                remedy = f"known: {', '.join(_PATCH_KEYS)}"
                reader.complain("key-unknown", f"unknown key {name!r} in a patch", remedy, "patches", index, name)
        reader.texts_of(item.get("targets", []), ("patches", index, "targets"))
    expires = reader.text("expires")
    if re.match(r"\d", expires) and not _is_date(expires):
        reader.complain("value-date", f"{expires!r} is no date", "write YYYY-MM-DD, or a condition in words", "expires")
    for shown, line in leftovers(waiver.body):
        reader.findings.append(
            Finding(
                code="waiver-template",
                severity=Severity.WARNING,
                message=f"{shown!r} is left of the template",
                location=Location(reader.path, waiver.body_line + line - 1),
                remedy="replace it with what is so",
            )
        )


def _review(reader: Reader, common: dict[str, Any], stem: str, twin_of: str) -> ReviewDigest:
    pr = _number(reader, "pr", stem, twin_of)
    if not twin_of and common["id"].rpartition("#")[2] != pr:
        reader.complain(
            "id-file", f"the id {common['id']!r} does not end in #{pr}", "let id, pr and file name agree", "id"
        )
    reading = reader.text("reading")
    if reading and reading not in READING:
        reader.complain("value-word", f"{reading!r} is no reading value", _one_of(reading, READING), "reading")
        reading = ""
    minutes = reader.text("minutes")
    if minutes and not re.match(r"[0-9]{1,4}\Z", minutes):
        reader.complain("value-number", f"{minutes!r} is no number of minutes", "write a whole number", "minutes")
        minutes = ""
    if "opened" in reader.data.values:
        reader.date("opened")
    return ReviewDigest(
        **common,
        pr=pr,
        labels=reader.texts("labels"),
        touches=_patterns(reader, reader.data.values.get("touches", []), "touches"),
        reading=reading,
        minutes=int(minutes) if minutes else None,
    )


def _number(reader: Reader, key: str, stem: str, twin_of: str) -> str:
    value = reader.text(key)
    if twin_of:
        return stem
    if not value:
        reader.complain("key-missing", f"{key!r} is missing", f"add a line '{key}: {stem}'")
        return stem
    if not re.match(r"[0-9]{1,10}\Z", value):
        reader.complain("value-number", f"{value!r} is no pull request's number", "write digits only", key)
    elif value != stem:
        reader.complain("id-file", f"{key} {value} is not the file's name", f"name the file {value}.md", key)
    return value


def _sources(reader: Reader, key: str) -> tuple[Source, ...]:
    value = reader.data.values.get(key, [])
    if isinstance(value, (str, dict)):
        value = [value] if value else []
    if not isinstance(value, list):
        reader.complain("value-type", f"{key!r} is no list of pins", "write - alias@sha:path", key)
        return ()
    found = []
    for index, item in enumerate(value):
        if isinstance(item, str):
            source = Source(pin=item, line=reader.data.line(key, index))
        elif isinstance(item, dict) and isinstance(item.get("pin"), str):
            for name, part in item.items():
                if name not in _SOURCE_KEYS:
                    remedy = f"known: {', '.join(_SOURCE_KEYS)}"
                    reader.complain("key-unknown", f"unknown key {name!r} in a source", remedy, key, index, name)
                elif not isinstance(part, str):
                    reader.complain("value-type", f"{name!r} is no text", "write one line of text", key, index, name)
            fields = {name: part for name, part in item.items() if isinstance(part, str)}
            source = Source(
                pin=item["pin"],
                seen={name: fields[name] for name in ("blob", "sha256") if name in fields},
                url=fields.get("url", ""),
                line=reader.data.line(key, index, "pin"),
            )
        else:
            reader.complain(
                "pin-shape", "a source is neither a pin nor a mapping with 'pin'", "write alias@sha:path", key, index
            )
            continue
        found.append(source)
        if source.pin != UNKNOWN:
            try:
                parse_pin(source.pin)
            except PinError as error:
                reader.complain("pin-shape", str(error), error.remedy, key, index)
    return tuple(found)


# --- what to look for -------------------------------------------------------------------------


def _signals(reader: Reader) -> tuple[Signal, ...] | None:
    if "look_for" not in reader.data.values:
        return None
    value = reader.data.values["look_for"]
    if value == "":
        # "look_for:" with nothing behind it looks forgotten; "[]" says that the place decides.
        reader.complain("value-type", "'look_for' is empty", "write [] for 'the place alone decides'", "look_for")
        return None
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        reader.complain("value-type", "'look_for' is no list of signals", "write - identifiers: [Name]", "look_for")
        return None
    found = []
    for index, item in enumerate(value):
        signal = _signal(reader, item, ("look_for", index))
        if signal is not None:
            found.append(signal)
    # An empty list would say that the place decides; a list of which nothing can be read does not.
    return tuple(found) if found or not value else None


def _signal(reader: Reader, item: Any, key: tuple[str | int, ...]) -> Signal | None:
    if not isinstance(item, dict):
        reader.complain("signal-shape", "a signal is no mapping", f"known keys: {', '.join(_SIGNAL_KEYS)}", *key)
        return None
    before = len(reader.findings)
    for name in item:
        if name not in _SIGNAL_KEYS:
            near = difflib.get_close_matches(name, _SIGNAL_KEYS, 1, 0.5)
            remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_SIGNAL_KEYS)}"
            reader.complain("key-unknown", f"unknown key {name!r} in a signal", remedy, *key, name)
    noted = len(reader.findings)
    fields = {name: reader.texts_of(item[name], (*key, name)) for name in _CONDITIONS if name in item}
    inside = reader.texts_of(item.get("inside", []), (*key, "inside"))
    if len(reader.findings) > noted:
        # Without the condition that cannot be read, the signal would be met by far more than was meant.
        return None
    if inside:
        fields["inside"] = _patterns(reader, item["inside"], *key, "inside")
    if not any(fields.values()) and noted > before:
        # The condition is there, under a key that nobody knows.
        return None
    if not any(fields.values()):
        reader.complain("signal-empty", "a signal states no condition", f"known: {', '.join(_SIGNAL_KEYS)}", *key)
        return None
    limits = []
    for index, pattern in enumerate(fields.get("lines", ())):
        try:
            limits.append(compile_bounded(pattern).limit)
        except RegexError as error:
            reader.complain("signal-regex", f"{pattern!r} {error}", error.hint, *key, "lines", index)
            return None
    for index, name in enumerate(fields.get("changes", ())):
        words = [word.value for word in ChangeStatus]
        if name not in words:
            reader.complain(
                "value-word", f"{name!r} is no kind of change", _one_of(name, words), *key, "changes", index
            )
    on = On.CHANGED
    if "on" in item:
        words = [word.value for word in On]
        if item["on"] in words:
            on = On(item["on"])
        else:
            reader.complain("value-word", f"{item['on']!r} is no side", _one_of(str(item["on"]), words), *key, "on")
    return Signal(**fields, on=on, limits=tuple(limits))


def _co_changes(reader: Reader) -> tuple[CoChange, ...]:
    value = reader.data.values.get("co_changes", [])
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        if value != "":
            reader.complain("value-type", "'co_changes' is no list", "write - when: …, then: …", "co_changes")
        return ()
    found = []
    for index, item in enumerate(value):
        key: tuple[str | int, ...] = ("co_changes", index)
        if not isinstance(item, dict) or not {"when", "then"} <= item.keys():
            reader.complain("cochange-shape", "a co-change needs 'when' and 'then'", "write both", *key)
            continue
        for name in item:
            if name not in ("when", "then", "because"):
                reader.complain(
                    "key-unknown", f"unknown key {name!r} in a co-change", "known: when, then, because", *key, name
                )
        when = item["when"]
        if isinstance(when, (str, list)):
            when = {"inside": when}
        signal = _signal(reader, when, (*key, "when"))
        then = _patterns(reader, item["then"], *key, "then")
        because = item.get("because", "")
        if not isinstance(because, str):
            reader.complain("value-type", "'because' is no text", "write one sentence", *key, "because")
            because = ""
        if signal is not None and then:
            found.append(CoChange(when=signal, then=then, because=" ".join(because.split())))
    return tuple(found)


# --- pages of rules ---------------------------------------------------------------------------


def _parse_page(reader: Reader, parts: metadata.Parts) -> list[Document]:
    """One rule a ``## ID — title`` section; the page's frontmatter counts for all of them."""
    original, twin_of = split_language(reader.path)
    outline = markdown.outline(parts.body)
    sections = _sections(outline.headings, parts.body.count("\n") + 1)
    if not sections:
        reader.complain(
            "key-missing",
            "neither an 'id' nor a section '## ID — title'",
            f"add a line 'id: {original.rsplit('/', 1)[-1].removesuffix('.md')}'",
        )
        return []
    common = tuple(key for key in _COMMON if key != "id")
    reader.unknown_keys((*common, *KEYS[Kind.RULE], *_PAGE_KEYS))
    if twin_of:
        _check_twin_keys(reader, (*common, *KEYS[Kind.RULE]))
    else:
        if not reader.text("repo"):
            reader.complain("key-missing", "'repo' is missing", "add a line 'repo: …'")
        if not reader.texts("applies_to"):
            reader.complain(
                "page-scope",
                "the page names no places, so its rules can be read and searched but match no change",
                "add applies_to: […]",
                severity=Severity.WARNING,
            )
    shared = _rule_fields(reader)
    shared_by_all: dict[str, Any] = {
        "repo": reader.text("repo"),
        "lang": twin_of or reader.text("lang", "en") or "en",
        "tags": reader.texts("tags"),
        "sources": _sources(reader, "sources"),
        "created": reader.date("created"),
        "updated": reader.date("updated"),
        # Without the line of the frontmatter as a whole, what a section does not state points at its heading.
        "lines": {key: line for key, line in reader.data.lines.items() if key},
    }
    lines = parts.body.split("\n")
    documents: list[Document] = []
    for section in sections:
        first = section.line
        while first < section.end and not lines[first].strip():
            first += 1
        body = "\n".join(lines[first : section.end]).rstrip("\n")
        line = parts.body_line + section.line - 1
        marker, marker_line = _marker(reader, outline, section, parts.body_line)
        fields = {**shared, **_marked(reader, marker, marker_line)}
        prose = (text for text, place in outline.prose if section.line <= place <= section.end)
        said = (name for text in prose for name in _PROVENANCE.findall(text))
        fields["provenance"] = tuple(dict.fromkeys((*shared["provenance"], *said)))
        documents.append(
            Rule(
                id=section.id,
                title=_PROVENANCE.sub("", section.title).strip() or section.id,
                location=Location(reader.path, line),
                body=body,
                body_line=parts.body_line + first,
                metadata={**reader.data.values, **marker},
                **shared_by_all,
                **fields,
            )
        )
    return documents


class _Section(NamedTuple):
    """A rule's part of a page: from its heading's line to the line that it ends with, both 1-based in the body."""

    id: str
    title: str
    line: int
    end: int


def _sections(headings: Sequence[markdown.Heading], length: int) -> list[_Section]:
    """The sections that are rules: of level 2, or of level 3 in a chapter that is no rule itself."""
    found: list[_Section] = []
    inside_rule = False
    for index, heading in enumerate(headings):
        match = _SECTION.match(heading.text) if heading.level in (2, 3) else None
        if match and not any(c.isdigit() for c in match["id"]):
            match = None
        if heading.level <= 2:
            inside_rule = match is not None
        elif inside_rule:
            continue
        if match:
            later = (h.line for h in headings[index + 1 :] if h.level <= heading.level)
            found.append(_Section(match["id"], match["title"], heading.line, next(later, length + 1) - 1))
    return found


def _marker(reader: Reader, outline: markdown.Outline, section: _Section, body_line: int) -> tuple[dict[str, str], int]:
    """The fields of a section's ``<!-- kb:rule … -->`` comment, and the comment's line in the file."""
    for comment, line in outline.comments:
        match = _MARKER.match(comment) if section.line <= line <= section.end else None
        if not match:
            continue
        place = body_line + line - 1
        fields: dict[str, str] = {}
        for field in _MARKER_FIELD.finditer(match["fields"]):
            key, value = field["key"], field["quoted"] if field["quoted"] is not None else field["bare"]
            if key in _MARKER_KEYS:
                fields[key] = value
            else:
                reader.complain_at(
                    place,
                    "key-unknown",
                    f"unknown key {key!r} in a kb:rule comment",
                    f"known: {', '.join(_MARKER_KEYS)}",
                )
        rest = _MARKER_FIELD.sub("", match["fields"]).split()
        if rest:
            message = f"{rest[0]!r} in a kb:rule comment is no key=value"
            reader.complain_at(place, "page-marker", message, "write <!-- kb:rule status=retired -->")
        return fields, place
    return {}, body_line + section.line - 1


def _marked(reader: Reader, marker: Mapping[str, str], line: int) -> dict[str, Any]:
    """What a marker says about its rule; the page's frontmatter stands where a word is none."""
    fields: dict[str, Any] = {}
    words: dict[str, type[Status | Severity]] = {"status": Status, "severity": Severity}
    for key, enum in words.items():
        if key not in marker:
            continue
        known = [word.value for word in enum]
        if marker[key] in known:
            fields[key] = enum(marker[key])
        else:
            reader.complain_at(line, "value-word", f"{marker[key]!r} is no {key}", _one_of(marker[key], known))
    if "superseded_by" in marker:
        fields["superseded_by"] = tuple(filter(None, map(str.strip, marker["superseded_by"].split(","))))
    if "since" in marker and not _is_date(marker["since"]):
        reader.complain_at(line, "value-date", f"{marker['since']!r} is no date", "write YYYY-MM-DD")
    if fields.get("status") is Status.SUPERSEDED and not fields.get("superseded_by"):
        reader.complain_at(line, "status-superseded", "superseded, but by what?", "add superseded_by=<ID>")
    return fields


def _one_of(value: str, words: Sequence[str]) -> str:
    near = difflib.get_close_matches(value, words, 1, 0.6)
    return f"did you mean {near[0]!r}?" if near else f"write one of: {', '.join(words)}"


def _is_date(value: str) -> bool:
    match = _DATE.match(value)
    if not match:
        return False
    from datetime import date

    try:
        date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return False
    return True
