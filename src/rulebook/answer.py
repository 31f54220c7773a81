"""The one place that composes an answer: what the command line, the bot and the site all ask.

Every function takes an open store and plain arguments and returns a report; none prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rulebook import scope
from rulebook.errors import UsageError
from rulebook.match import Evidence, PathHit, cut_note, match_rule, order_reasons, rank
from rulebook.model import (
    AppliesReport,
    ChangeSet,
    FileChange,
    Kind,
    Location,
    Reason,
    ReasonKind,
    Relevance,
    ReviewDigest,
    ReviewMatch,
    Rule,
    RuleMatch,
    Severity,
    Side,
    Status,
)
from rulebook.ordering import natural_key
from rulebook.store.schema import EVERY_REPO

if TYPE_CHECKING:
    from rulebook.git.repository import Repository
    from rulebook.patterns.compiled import PatternList
    from rulebook.patterns.explanation import Explanation
    from rulebook.store.query import Store
    from rulebook.store.schema import Row


def choose_repo(store: Store, wanted: str = "", remotes: Sequence[str] = ()) -> str:
    """The target repository a question is about.

    Args:
        store: the knowledge base.
        wanted: what ``--repo`` says: an alias, or ``owner/name``.
        remotes: the git remotes around the current directory.

    Returns:
        Its alias: the wanted one; else the one that a remote leads to; else the only one there is.

    Raises:
        UsageError: the wanted one is unknown, or none can be told.
    """
    from rulebook.config import slug_of

    config = store.config
    if wanted:
        alias = config.resolve(wanted)
        if alias in config.targets or store.count(Kind.RULE, alias) or store.count(Kind.REVIEW, alias):
            return alias
        from rulebook.spelling import suggest

        raise UsageError(f"no repository {wanted!r} in this knowledge base", suggest(wanted, config.targets))
    for url in remotes:
        alias = config.resolve(slug_of(url)) if slug_of(url) else ""
        if alias in config.targets:
            return alias
    if len(config.targets) == 1:
        return next(iter(config.targets))
    known = ", ".join(config.targets) or "none"
    raise UsageError(
        "which repository do the paths belong to? No git remote here tells", f"say --repo ALIAS; known: {known}"
    )


def applies(
    store: Store, changes: ChangeSet, repo: str, *, checkout: Repository | None = None, about: str = ""
) -> AppliesReport:
    """Which rules apply to a change of ``repo``, why, and which paths none covers.

    Args:
        store: the knowledge base.
        changes: the change.
        repo: the target repository's alias.
        checkout: a clone of it, where one is at hand; then each rule's freshness is told.
        about: the id of the one rule that the hints are about, where others are of no interest.
    """
    hits = _find_hits(store, changes, repo)
    owners = store.owners(hits)
    evidence = Evidence(changes)
    uncited = [identity for identity, owner in owners.items() if isinstance(owner, Rule) and owner.look_for is None]
    cited = store.cited(repo, uncited) if uncited else {}
    matched: list[tuple[RuleMatch, Sequence[PathHit]]] = []
    touched: dict[int, tuple[ReviewDigest, list[Reason]]] = {}
    covered: set[int] = set()
    for identity, owner in owners.items():
        if isinstance(owner, ReviewDigest):
            touched[identity] = (owner, [_path_reason(hit) for hit in hits[identity]])
        else:
            covered.update(id(hit.change) for hit in hits[identity])
            matched.append((match_rule(owner, hits[identity], evidence, cited.get(identity)), hits[identity]))
    matched = _add_sources(store, changes, repo, matched)
    rules = _add_waivers(store, changes, repo, rank(matched))
    direct = {match.location for match in rules if match.relevance is Relevance.DIRECT}
    tags = dict.fromkeys(
        tag for owner in owners.values() if isinstance(owner, Rule) and owner.location in direct for tag in owner.tags
    )
    told = _add_labelled(store, tags, touched)
    if checkout is not None and rules:
        from rulebook.freshness import freshness_of

        states = freshness_of(store, repo, checkout)
        rules = [match._replace(freshness=states[match.id].value) if match.id in states else match for match in rules]
    return AppliesReport(
        repo=repo,
        complete=changes.complete,
        files=changes.files,
        rules=tuple(rules),
        reviews=tuple(_rank_reviews(touched, told, repo)),
        unmatched=tuple(change.path for change in changes.files if id(change) not in covered),
        examined_rules=store.count(Kind.RULE, repo),
        examined_reviews=store.count(Kind.REVIEW),
        notes=tuple(filter(None, (*changes.notes, cut_note(rules), store.trouble))),
        hints=(*_place_hints(changes, repo, covered=bool(covered)), *_hints(changes, rules, owners.values(), about)),
    )


def _place_hints(changes: ChangeSet, repo: str, *, covered: bool) -> Iterator[str]:
    """What is odd about paths that somebody typed or listed, where no rule covers any of them."""
    if covered or any(change.hunks is not None for change in changes.files):
        return
    paths = [change.path for change in changes.files]
    if paths:
        yield f"No path is covered by any rule: paths begin at the root of {repo}; does the change belong to it?"
    if any(path != path.strip() for path in paths):
        yield "A path begins or ends with a blank, which counts as a part of its name."
    if any(re.match(r"[a-z]+:/", path) for path in paths):
        yield f"An address of a page is no path: paths begin at the root of {repo}."
    if paths and all(re.match("[ab]/", path) for path in paths):
        yield f"Paths begin at the root of {repo}, without the a/ and b/ of a diff."


def _hints(
    changes: ChangeSet, rules: Sequence[RuleMatch], owners: Iterable[Rule | ReviewDigest], about: str
) -> Iterator[str]:
    """What whoever asked could do for a better answer."""
    if not changes.files:
        yield "The change is empty: was it made without an error?"
    if changes.reader is None and any(change.hunks for change in changes.files):
        possible = {match.location for match in rules if match.relevance is Relevance.POSSIBLE}
        asking = [
            owner.id
            for owner in owners
            if isinstance(owner, Rule)
            and about in ("", owner.id)
            and owner.location in possible
            and any(signal.functions for signal in owner.look_for or ())
        ]
        if asking:
            names = ", ".join(sorted(asking, key=natural_key))
            yield (
                f"{names} {'asks' if len(asking) == 1 else 'ask'} which function a line stands in, of which a diff"
                " shows little: --git, or a diff made with -W, tells more."
            )


def _find_hits(store: Store, changes: ChangeSet, repo: str) -> dict[int, list[PathHit]]:
    """The scopes whose patterns meet a changed path, each with the paths that they meet."""
    places: dict[str, list[tuple[FileChange, Side]]] = {}
    for change in changes.files:
        for path, side in change.sides():
            places.setdefault(path, []).append((change, side))
    hits: dict[int, list[PathHit]] = {}
    for key in (repo, EVERY_REPO):
        index = scope.ScopeIndex(store.postings(key), store.patterns)
        for path, matches in index.match_paths(list(places)).items():
            for identity, pattern in matches:
                found = (PathHit(change, path, side, pattern) for change, side in places[path])
                hits.setdefault(identity, []).extend(found)
    return hits


def _add_sources(
    store: Store, changes: ChangeSet, repo: str, matched: Sequence[tuple[RuleMatch, Sequence[PathHit]]]
) -> list[tuple[RuleMatch, Sequence[PathHit]]]:
    """Adds what the change does to the pinned sources of rules, whether or not their patterns match.

    Only with the changed lines at hand: of a bare list of paths nobody can tell what it does to a source.
    """
    with_lines = [change for change in changes.files if change.hunks is not None]
    if not with_lines or not store.pinned(repo, {path for change in with_lines for path, _ in change.sides()}):
        return list(matched)
    from rulebook.edits import edited_sources

    reasons: dict[str, list[Reason]] = {}
    for edit in edited_sources(store, changes, repo):
        if edit.kind is Kind.RULE:
            reason = Reason(kind=ReasonKind.SOURCE, path=edit.path, side=Side.OLD, pattern=edit.pin, text=edit.because)
            reasons.setdefault(edit.owner, []).append(reason)
    found: list[tuple[RuleMatch, Sequence[PathHit]]] = []
    for match, hits in matched:
        more = reasons.pop(match.id, [])
        found.append((match._replace(reasons=order_reasons((*match.reasons, *more))), hits))
    for name, more in reasons.items():
        row = next((row for row in store.find(name) if row.kind is Kind.RULE and not row.twin), None)
        if row is None or not Status(row.status).matches:
            continue
        match = RuleMatch(
            id=row.name,
            title=row.title,
            severity=Severity(row.severity),
            status=Status(row.status),
            relevance=Relevance.POSSIBLE,
            reasons=order_reasons(more),
            location=Location(row.path, row.line),
        )
        found.append((match, ()))
    return found


def _add_waivers(store: Store, changes: ChangeSet, repo: str, rules: Sequence[RuleMatch]) -> list[RuleMatch]:
    """Adds to each rule the waivers from it that name a changed path."""
    waivers = store.waivers(repo) if rules else []
    if not waivers:
        return list(rules)
    from rulebook.waivers.excuse import waived_by

    paths = {path for change in changes.files for path, _ in change.sides()}
    return [match._replace(waived_by=waived_by(waivers, match.id, repo, paths)) for match in rules]


def _path_reason(hit: PathHit) -> Reason:
    return Reason(kind=ReasonKind.PATH, path=hit.path, side=hit.side, pattern=hit.pattern.text)


def _add_labelled(
    store: Store, tags: Mapping[str, None], touched: dict[int, tuple[ReviewDigest, list[Reason]]]
) -> dict[int, int]:
    """Adds the digests that carry a tag of a direct rule as a label.

    Returns:
        How much the shared labels of a digest tell: the more, the fewer digests have them.
    """
    told: dict[int, int] = {}
    for label, identities in (store.labelled(list(tags)) if tags else {}).items():
        fresh = [identity for identity in identities if identity not in touched]
        for identity, owner in store.owners(fresh).items():
            if isinstance(owner, ReviewDigest):
                touched[identity] = (owner, [])
        for identity in identities:
            told[identity] = told.get(identity, 0) + _RARITY // len(identities)
            reason = Reason(kind=ReasonKind.LABEL, path="", side=Side.BOTH, pattern=label)
            touched[identity][1].append(reason)
    return told


#: How much a label tells that one digest alone has; whole numbers, so that no order of adding matters.
_RARITY = 1_000_000
#: How much a digest is worth reading, by what it says of itself.
_READING = {"close": 0, "": 1, "skim": 2, "skip": 3}


def _rank_reviews(
    touched: Mapping[int, tuple[ReviewDigest, list[Reason]]], told: Mapping[int, int], repo: str
) -> list[ReviewMatch]:
    """Digests of the same places first, then of the same labels; of each the repository's own, then what tells most.

    That is: more of the changed places, rarer labels in common, worth a closer reading, newer.
    """

    def key(item: tuple[int, tuple[ReviewDigest, list[Reason]]]) -> tuple[object, ...]:
        identity, (review, reasons) = item
        places = sum(reason.kind is ReasonKind.PATH for reason in reasons)
        number = review.id.rpartition("#")[2]
        newest = -int(number) if number.isdigit() else 0
        reading = _READING.get(review.reading, 1)
        return (not places, review.repo != repo, -places, -told.get(identity, 0), reading, newest, review.id)

    return [
        ReviewMatch(id=review.id, title=review.title, reasons=tuple(reasons), location=review.location)
        for _, (review, reasons) in sorted(touched.items(), key=key)
    ]


# --- explain ----------------------------------------------------------------------------------


#: Paths of which is looked up what rejected them.
MAX_EXPLAINED = 2_000


class PathExplanation(NamedTuple):
    """Why a rule's place covers a path, or why not; the explanation is ``None`` beyond :data:`MAX_EXPLAINED`."""

    path: str
    covered: bool
    explanation: Explanation | None


class ExplainReport(NamedTuple):
    """What a rule looks at, and what each path means to it; the hints are as in an :class:`AppliesReport`."""

    rule: Row
    repo: str
    patterns: tuple[str, ...]
    match: RuleMatch | None
    paths: tuple[PathExplanation, ...]
    inert: str
    files: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()


def explain(store: Store, name: str, changes: ChangeSet | None, *, checkout: Repository | None = None) -> ExplainReport:
    """Why rule ``name`` applies to a change, or which pattern came nearest and what rejected it.

    Args:
        store: the knowledge base.
        name: the rule's id.
        changes: the change; without one, only what the rule looks at is told.
        checkout: as for :func:`applies`, whose answer this explains.

    Raises:
        UsageError: there is no such rule.
    """
    from rulebook.patterns.syntax import compile_patterns

    row = find_document(store, name, Kind.RULE)
    texts = _texts(row.metadata.get("applies_to", ()))
    patterns = compile_patterns(texts)
    files = changes.files if changes else ()
    inert = "" if row.status in ("active", "contested") else f"it is {row.status}, and such rules apply to nothing"
    explained, left = _explain_paths(patterns, [path for change in files for path, _ in change.sides()])
    match = None
    notes = changes.notes if changes else ()
    hints: tuple[str, ...] = ()
    if changes is not None and not inert:
        place = Location(row.path, row.line)
        report = applies(store, changes, row.repo, checkout=checkout, about=row.name)
        match = next((match for match in report.rules if match.location == place), None)
        hints = report.hints
        notes = tuple(filter(None, (*notes, cut_note([match]) if match else "")))
    return ExplainReport(
        rule=row,
        repo=row.repo,
        patterns=texts,
        match=match,
        paths=tuple(explained),
        inert=inert,
        files=files,
        notes=notes if not left else (*notes, left),
        hints=hints,
    )


def _explain_paths(patterns: PatternList, paths: Sequence[str]) -> tuple[list[PathExplanation], str]:
    """What each path means to a list of patterns, and what is to be known where not all was looked up.

    What covers a path is known at once. What came nearest to one that is not covered takes a look at every pattern, and
    of so many paths nobody reads it.
    """
    from rulebook.patterns.explanation import Explanation, Outcome
    from rulebook.patterns.explanation import explain as explain_path

    found = []
    missed = 0
    for path in paths:
        pattern = patterns.match(path)
        explanation: Explanation | None = None
        if pattern is not None:
            because = f"`{pattern.text}` covers it"
            explanation = Explanation(path, Outcome.MATCHED, because, pattern=pattern)
        else:
            missed += 1
            if missed <= MAX_EXPLAINED:
                explanation = explain_path(patterns.patterns, path)
        found.append(PathExplanation(path=path, covered=pattern is not None, explanation=explanation))
    if missed <= MAX_EXPLAINED:
        return found, ""
    left = f"what rejected them was looked up for the first {MAX_EXPLAINED:,}."
    return found, f"Of {missed:,} paths that the rule does not cover, {left}"


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, (list, tuple)) else ()


# --- look-ups ---------------------------------------------------------------------------------


def find_document(store: Store, name: str, kind: Kind | None = None, lang: str = "") -> Row:
    """The document called ``name``, in ``lang`` where it has that twin, else the original.

    Rules win over digests and waivers of the same name; a digest is also found by ``#57112``, a
    waiver by its path.

    Raises:
        UsageError: there is none; the hint names the nearest ones.
    """
    rows = [row for row in store.find(name) if kind is None or row.kind is kind]
    if not rows:
        rows = [
            row
            for row in store.documents(kind)
            if row.path == name or (row.name.rpartition("#")[2] == name.lstrip("#") and "#" in row.name)
        ]
    if not rows:
        from rulebook.spelling import did_you_mean, nearest

        what = kind.value if kind else "document"
        hint = did_you_mean(nearest(name, store.names())) or "see: rulebook list"
        raise UsageError(f"no {what} is called {name!r}", hint)
    order = list(Kind)
    rows.sort(key=lambda row: (order.index(row.kind), row.twin, row.lang))
    chosen = rows[0]
    if lang:
        wanted = lang.casefold()
        chosen = next((row for row in rows if row.name == chosen.name and row.lang.casefold() == wanted), chosen)
    return chosen


def replacements(store: Store, row: Row) -> list[Row]:
    """The rules that replaced ``row``, followed to the end of the chain; one that leads back to ``row`` ends there."""
    found: dict[str, Row] = {}
    pending = list(_texts(row.metadata.get("superseded_by", ())))
    while pending:
        name = pending.pop(0)
        rows = [r for r in store.find(name) if r.kind is Kind.RULE and not r.twin]
        if not rows or name in found or rows[0].name == row.name:
            continue
        found[name] = rows[0]
        pending.extend(_texts(rows[0].metadata.get("superseded_by", ())))
    return sorted(found.values(), key=lambda r: natural_key(r.name))
