"""The life of a rule: retired with a tombstone, and an id that never comes to mean something else.

A retired rule keeps its file, so that ``show``, links and search still find it and say why it ended. What the
history of the knowledge base's own repository tells about ids is read from ``git``, never from the working tree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rulebook.editing import read_content, refuse_dirty, set_values, write_atomically
from rulebook.errors import UsageError
from rulebook.model import Document, Finding, Kind, Location, Rule, Severity, Status

if TYPE_CHECKING:
    from rulebook.catalog import Catalog
    from rulebook.git.repository import Repository

#: Two texts of a rule that agree by less than this are about different things.
_SAME_RULE = 0.4
_MARKER = re.compile(r"<!--\s*kb:rule\b([^>]*?)-->")
_FIELD = re.compile(r'([a-z_]+)=("[^"]*"|\S+)')
_HEADING = re.compile(r"#{1,2}\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """A rule that is about to be retired: its file, and that file's bytes before and after."""

    rule: Rule
    path: str
    before: bytes
    after: bytes


def refuse_ambiguous(documents: Iterable[Document]) -> None:
    """Refuses to edit documents of which two have the same id, since nobody can tell which one is meant.

    Raises:
        UsageError: two of them have; it names their files.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for document in documents:
        kind, identity = document.key
        # What has no id is named by its path.
        name = identity.lower() or document.location.path
        places.setdefault((kind, name), []).append(f"{document.location.path}:{document.location.line}")
    for (kind, _), found in places.items():
        if len(found) > 1:
            raise UsageError(
                f"one id is taken by {len(found)} documents: {', '.join(sorted(found))}",
                f"leave it to one {kind} and give the others ids of their own; see: rulebook lint",
            )


def plan_retirement(
    catalog: Catalog, name: str, *, because: str, since: str, superseded_by: str = "", allow_dirty: bool = False
) -> Retirement:
    """Works out how a rule's file changes when it is retired.

    Args:
        catalog: the knowledge base.
        name: the rule's id.
        because: why, in one line.
        since: the day, ``YYYY-MM-DD``.
        superseded_by: the id of the rule that takes its place; the status is then ``superseded``.
        allow_dirty: whether the file may have changes that are not committed.

    Raises:
        UsageError: there is no such rule or more than one, it has ended already, or what replaces it is not in force.
        EditError: its file is dirty, unreadable or not edited safely.
    """
    rules = {rule.id.lower(): rule for rule in catalog.rules}
    refuse_ambiguous(rule for rule in catalog.rules if rule.id.lower() == name.lower())
    rule = rules.get(name.lower())
    if rule is None:
        raise UsageError(f"no rule is called {name!r}", "see: rulebook list --kind rule")
    if not because.strip() or any(ord(letter) < 32 for letter in because):
        raise UsageError("--because needs one line of text", "say why the rule ended")
    if rule.status in (Status.RETIRED, Status.SUPERSEDED):
        raise UsageError(f"{rule.id} is {rule.status.value} already", f"see: rulebook show {rule.id}")
    successor = rules.get(superseded_by.lower()) if superseded_by else None
    if superseded_by and (successor is None or successor is rule or not successor.status.matches):
        raise UsageError(f"{superseded_by!r} is no other rule in force", "see: rulebook list --kind rule")
    path = rule.location.path
    full = os.path.join(catalog.root, path)
    before = read_content(full, path)
    if not allow_dirty:
        refuse_dirty(full, path)
    status = Status.SUPERSEDED if successor else Status.RETIRED
    replacement = successor.id if successor else ""
    if rule.location.line > 1:
        after = _retire_section(before, rule, status, because, since, replacement)
    else:
        values: dict[str, str | list[str]] = {"status": status.value, "since": since, "because": because.strip()}
        after = set_values(
            before, values | ({"superseded_by": [replacement]} if replacement else {}), path, after="status"
        )
    return Retirement(rule=rule, path=full, before=before, after=after)


def retire(plan: Retirement) -> None:
    """Writes what was planned; raises :class:`EditError` where the file cannot be written or was changed meanwhile."""
    write_atomically(plan.path, plan.after, plan.before, plan.rule.location.path)


def _retire_section(data: bytes, rule: Rule, status: Status, because: str, since: str, replacement: str) -> bytes:
    """A page of rules with one section marked as ended."""
    lines = data.decode("utf-8").splitlines(keepends=True)
    start = rule.location.line - 1
    end = next((at for at in range(start + 1, len(lines)) if _HEADING.match(lines[at])), len(lines))
    ending = "\r\n" if lines[start].endswith("\r\n") else "\n"
    fields = {"status": status.value, "since": since}
    if replacement:
        fields["superseded_by"] = replacement
    marked = next((at for at in range(start + 1, end) if _MARKER.search(lines[at])), None)
    if marked is None:
        marker = " ".join(f"{key}={value}" for key, value in fields.items())
        lines.insert(start + 1, f"{ending}<!-- kb:rule {marker} -->{ending}{ending}Ended: {because.strip()}{ending}")
        return "".join(lines).encode("utf-8")

    def renew(match: re.Match[str]) -> str:
        kept = {key: value for key, value in _FIELD.findall(match[1]) if key not in fields}
        return "<!-- kb:rule " + " ".join(f"{key}={value}" for key, value in {**fields, **kept}.items()) + " -->"

    lines[marked] = _MARKER.sub(renew, lines[marked], count=1)
    if not lines[marked].endswith("\n"):
        lines[marked] += ending
    lines.insert(marked + 1, f"{ending}Ended: {because.strip()}{ending}")
    return "".join(lines).encode("utf-8")


# --- ids in the history -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """A rule's file as a commit left it or, where that deleted it, found it.

    ``commit`` is empty for the working tree; ``ended`` tells whether the rule was no more after it.
    """

    commit: str
    rule: Rule
    ended: bool


def check_ids(catalog: Catalog, repository: Repository) -> list[Finding]:
    """Ids that were used before for another text: of a rule that was deleted, or that had ended.

    Moving, editing, deleting and restoring a rule is no second use, and neither is a new wording. Only rules with
    files of their own are looked at.

    Args:
        catalog: the knowledge base as it is now.
        repository: the git repository that it is in.

    Raises:
        GitError: the history cannot be read.
    """
    prefix = place_in(repository, catalog.root)
    if prefix is None:
        return []
    current = {rule.id.lower(): rule for rule in catalog.rules if rule.location.line <= 1}
    findings = []
    for name, versions in _history(repository, prefix, current).items():
        rule = current[name]
        other = _other_use([*versions, _Version(commit="", rule=rule, ended=not rule.status.matches)])
        if other is not None:
            findings.append(
                Finding(
                    code="id-reused",
                    severity=Severity.ERROR,
                    message=f"the id {rule.id!r} was another rule's, {other.rule.title!r}, at {other.commit[:12]}",
                    location=Location(rule.location.path, rule.line_of("id")),
                    remedy="give the new rule an id of its own, and bring the old one back as a retired rule",
                )
            )
    return findings


def place_in(repository: Repository, root: str) -> str | None:
    """Where in its repository a knowledge base is: the folder with ``/`` at its end, empty for the top.

    ``None`` where the repository has no working tree around it.
    """
    if repository.top is None:
        return None
    place = os.path.relpath(os.path.realpath(root), repository.top).replace(os.sep, "/")
    return "" if place == "." else f"{place}/"


def _history(repository: Repository, prefix: str, wanted: Mapping[str, Rule]) -> dict[str, list[_Version]]:
    """The versions of each wanted rule's file, oldest first."""
    from rulebook.parse import parse_file

    events: list[tuple[str, str, str, str, bool]] = []
    for entry in repository.history(f"{prefix}rules"):
        if len(entry.parents) > 1:
            continue  # What it merges is looked at by itself.
        kept = {_name(change.path) for change in entry.changes if change.status != "D"}
        for change in entry.changes:
            name = _name(change.path)
            deleted = change.status == "D"
            # What a commit deletes in one place and adds in another it moves.
            if name in wanted and not (deleted and name in kept):
                events.append((name, entry.id, change.path, change.old_id if deleted else change.new_id, deleted))
    contents = repository.read_blobs(identity for *_, identity, _ in events)
    versions: dict[str, list[_Version]] = {}
    for name, commit, path, identity, deleted in events:
        text = (contents[identity] or b"").decode("utf-8-sig", "replace").replace("\r\n", "\n")
        for document in parse_file(path.removeprefix(prefix), Kind.RULE, text)[0] if text else ():
            if isinstance(document, Rule):
                ended = deleted or document.status in (Status.RETIRED, Status.SUPERSEDED)
                versions.setdefault(name, []).append(_Version(commit=commit, rule=document, ended=ended))
    return versions


def _other_use(versions: Iterable[_Version]) -> _Version | None:
    """The version after whose end another text took over its id."""
    last: _Version | None = None
    for version in versions:
        if version.ended:
            last = version
        elif last is not None:
            if not _same_rule(last.rule, version.rule):
                return last
            last = None
    return None


def _same_rule(one: Rule, other: Rule) -> bool:
    """Whether two texts are the same rule, however reworded."""
    from hashlib import sha256

    from rulebook.moves import similarity

    texts = [" ".join(f"{rule.title} {rule.body}".split()).encode("utf-8") for rule in (one, other)]
    if sha256(texts[0]).digest() == sha256(texts[1]).digest():
        return True
    return one.title == other.title or similarity(*texts) >= _SAME_RULE


def _name(path: str) -> str:
    """A rule's id, in small letters, by its file; a twin's file has none."""
    from rulebook.files import split_language

    return "" if split_language(path)[1] else path.rsplit("/", 1)[-1].removesuffix(".md").lower()
