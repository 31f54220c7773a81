"""The laws across documents: ids, references, twins, sections, dates, repositories, living patterns.

What shows within one value was found while it was parsed. Every code of a finding is listed in
``docs/lint.md``.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rulebook import markdown
from rulebook.catalog import Catalog, is_twin
from rulebook.model import Document, Finding, Kind, Location, ReviewDigest, Rule, Severity, Status, Waiver
from rulebook.pins import PinError, parse_pin
from rulebook.waivers.lint import lint_waivers

if TYPE_CHECKING:
    from rulebook.git.repository import Repository

#: The fixed sections of each kind of document in each language, in their order; the flag tells the required ones.
SECTIONS: Mapping[Kind, Mapping[str, tuple[tuple[str, bool], ...]]] = {
    Kind.RULE: {
        "en": (
            ("What it demands", True),
            ("Why", True),
            ("What to check", True),
            ("Remedy", False),
            ("References", True),
        ),
        "zh": (("要求", True), ("原因", True), ("检查要点", True), ("补救", False), ("参考", True)),
    },
    Kind.REVIEW: {
        "en": (("What it changed", True), ("What to take away", True), ("Follow-ups", True)),
        "zh": (("改了什么", True), ("可借鉴之处", True), ("后续", True)),
    },
}
_REFERENCES = ("supersedes", "superseded_by", "contradicts", "related")


def validate(
    catalog: Catalog, heads: Mapping[str, Collection[str]] | None = None, *, history: Repository | None = None
) -> list[Finding]:
    """Every finding of a knowledge base, in the order of files and lines.

    Args:
        catalog: what was read.
        heads: the paths at the head of target repositories, by alias, where a checkout is at hand.
        history: the repository that the knowledge base itself is kept in, to find ids that were used before.
    """
    findings = [
        *catalog.findings,
        *_check_ids(catalog),
        *_check_references(catalog),
        *_check_supersession(catalog),
        *_check_repositories(catalog),
        *_check_sources(catalog),
        *_check_twins(catalog),
        *_check_sections(catalog),
        *_check_dates(catalog),
        *_check_heads(catalog, heads or {}),
        *lint_waivers((document for document in catalog.documents if not is_twin(document)), catalog.config),
    ]
    if history is not None:
        from rulebook.lifecycle import check_ids

        findings += check_ids(catalog, history)
    return sorted(set(findings), key=lambda f: (f.location, f.severity.rank, f.code, f.message))


def _finding(
    document: Document, code: str, message: str, remedy: str, *key: str | int, severity: Severity = Severity.ERROR
) -> Finding:
    line = document.line_of(*key) if key else document.location.line
    location = Location(document.location.path, line)
    return Finding(code=code, severity=severity, message=message, location=location, remedy=remedy)


def _check_ids(catalog: Catalog) -> Iterator[Finding]:
    same: dict[tuple[str, str, str], list[Document]] = {}
    for document in catalog.documents:
        # File systems and people do not tell capitals apart reliably.
        key = (document.kind.value, document.id.lower(), document.lang if is_twin(document) else "")
        same.setdefault(key, []).append(document)
    for documents in same.values():
        documents.sort(key=lambda document: document.location)
        places = ", ".join(f"{document.location.path}:{document.location.line}" for document in documents)
        # Which of them had it first the files do not tell, so that the message is the same for each.
        for document in documents[1:]:
            yield _finding(
                document,
                "id-duplicate",
                f"the id {document.id!r} is that of {len(documents)} documents: {places}",
                "leave it to one of them, and give each other one an id of its own",
                "id",
            )


def _check_references(catalog: Catalog) -> Iterator[Finding]:
    known = {rule.id for rule in catalog.rules}

    def check(document: Document, key: str, name: str, index: int) -> Iterator[Finding]:
        if name == document.id and isinstance(document, Rule):
            yield _finding(document, "reference-self", f"{key!r} names the rule itself", "remove it", key, index)
        elif name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.6)
            remedy = f"did you mean {near[0]!r}?" if near else "name a rule that exists"
            yield _finding(
                document, "reference-dangling", f"{key!r} names {name!r}, which is no rule", remedy, key, index
            )

    for document in catalog.documents:
        if is_twin(document):
            continue
        if isinstance(document, Rule):
            for key in _REFERENCES:
                for index, name in enumerate(getattr(document, key)):
                    yield from check(document, key, name, index)
        elif isinstance(document, Waiver) and document.rule:
            yield from check(document, "rule", document.rule, 0)


def _check_supersession(catalog: Catalog) -> Iterator[Finding]:
    rules = {rule.id: rule for rule in catalog.rules}
    # Either side may state it: "A superseded_by B" and "B supersedes A" are the same step.
    successors: dict[str, dict[str, None]] = {name: dict.fromkeys(rule.superseded_by) for name, rule in rules.items()}
    for rule in rules.values():
        for name in rule.supersedes:
            successors.get(name, {})[rule.id] = None
    for rule in rules.values():
        if rule.superseded_by and rule.status.matches:
            yield _finding(
                rule,
                "status-superseded",
                f"'superseded_by' is set and the status is {rule.status.value}",
                "set status: superseded",
                "superseded_by",
            )
    for rule in rules.values():
        yield from _check_replaced(rule, rules)
    for loop in _loops(successors):
        for turn, name in enumerate(loop):
            shown = " → ".join([*loop[turn:], *loop[:turn], name])
            key = "superseded_by" if rules[name].superseded_by else "supersedes"
            yield _finding(rules[name], "supersession-loop", f"it supersedes itself: {shown}", "break the loop", key)


def _check_replaced(rule: Rule, rules: Mapping[str, Rule]) -> Iterator[Finding]:
    """The rules that ``rule`` says it replaced, where they know nothing of it.

    The other way round is no fault: a rule that ended names its successor, which has been there before.
    """
    for index, name in enumerate(rule.supersedes):
        old = rules.get(name)
        if old is None or old is rule or rule.id in old.superseded_by:
            continue
        if old.status.matches and not old.superseded_by:
            message = f"'supersedes' names {name!r}, which is {old.status.value} and applies as before"
            severity = Severity.ERROR
        elif old.superseded_by:
            message = f"'supersedes' names {name!r}, which says that {', '.join(old.superseded_by)} replaced it"
            severity = Severity.WARNING
        else:
            continue
        yield _finding(
            rule,
            "supersession-one-sided",
            message,
            f"write into {name}: status: superseded, superseded_by: {rule.id}; or remove it here",
            "supersedes",
            index,
            severity=severity,
        )


def _loops(successors: Mapping[str, Collection[str]]) -> Iterator[tuple[str, ...]]:
    """The circles of a graph, one for each edge that closes one, found in a single walk in depth."""
    done: set[str] = set()
    for start in successors:
        path: dict[str, Iterator[str]] = {}
        if start not in done:
            path[start] = iter(successors[start])
        while path:
            name, rest = next(reversed(path.items()))
            after = next(rest, None)
            if after is None:
                done.add(name)
                del path[name]
            elif after in path and after != name:
                names = [*path]
                yield tuple(names[names.index(after) :])
            elif after in successors and after not in done and after != name:
                path[after] = iter(successors[after])


def _check_repositories(catalog: Catalog) -> Iterator[Finding]:
    config = catalog.config
    if not config.targets and any(finding.severity is Severity.ERROR for finding in config.findings):
        # What is wrong there has a finding of its own; whether a repository is in it nobody can tell.
        return
    known = ", ".join(config.targets) or "none"
    for document in catalog.documents:
        if (
            document.repo
            and not isinstance(document, ReviewDigest)
            and config.resolve(document.repo) not in config.targets
        ):
            yield _finding(
                document,
                "repo-unknown",
                f"the repository {document.repo!r} is not in rulebook.toml",
                f"known: {known}; or add [repos.{document.repo}]",
                "repo",
            )
        for index, source in enumerate(document.sources):
            try:
                pin = parse_pin(source.pin)
            except PinError:
                continue
            if pin.alias not in config.targets:
                yield Finding(
                    code="pin-alias",
                    severity=Severity.ERROR,
                    message=f"the pin's repository {pin.alias!r} is not in rulebook.toml",
                    location=Location(document.location.path, source.line or document.line_of("sources", index)),
                    remedy=f"known: {known}; or add [repos.{pin.alias}]",
                )


def _check_sources(catalog: Catalog) -> Iterator[Finding]:
    """Rules in force that name no source; a page of rules, whose frontmatter they share, is told of once."""
    told: set[str] = set()
    for rule in catalog.rules:
        path = rule.location.path
        # What is stated and cannot be read was found while it was parsed.
        if rule.sources or rule.metadata.get("sources") or not rule.status.matches or path in told:
            continue
        told.add(path)
        yield Finding(
            code="source-missing",
            severity=Severity.WARNING,
            message="it names no source, so that nobody can tell whether it still holds",
            location=Location(path, rule.line_of("sources") if "sources" in rule.metadata else 1),
            remedy="pin what it was read from: sources: [alias@<40 hex digits>:path#anchor], see docs/format.md",
        )


def _check_twins(catalog: Catalog) -> Iterator[Finding]:
    originals: dict[str, dict[str, Document]] = {}
    for document in catalog.documents:
        if not is_twin(document):
            originals.setdefault(document.location.path, {})[document.id] = document
    unreadable = {finding.location.path for finding in catalog.findings}
    for path, twins in catalog.twins().items():
        known = originals.get(path, {})
        seen: dict[str, set[str]] = {}
        for twin in twins:
            seen.setdefault(twin.location.path, set()).add(twin.id)
            original = known.get(twin.id)
            if not known:
                # What cannot be read may well be there.
                if path not in unreadable:
                    message = f"there is no {path} that this is a twin of"
                    yield _finding(twin, "twin-orphan", message, "rename or remove it")
                continue
            if original is None:
                wanted = " or ".join(map(repr, [*known][:3]))
                yield _finding(twin, "twin-id", f"the id is not the original's, {wanted}", "repeat that id", "id")
                if len(known) > 1:
                    continue
                (original,) = known.values()
            yield from _compare_twins(original, twin)
        for place, ids in seen.items():
            # A page of rules may have lost some on the way; a single one shows by its id.
            for lost in known.keys() - ids if len(known) > 1 else ():
                message = f"it has no section for {lost!r}, which the original has"
                yield Finding("twin-section", Severity.ERROR, message, Location(place, 1), "add it")


def _compare_twins(original: Document, twin: Document) -> Iterator[Finding]:
    """A twin says the same: as many headings and list items, and the same code."""
    mine, theirs = markdown.outline(twin.body), markdown.outline(original.body)
    levels, wanted = ([heading.level for heading in outline.headings] for outline in (mine, theirs))
    if levels != wanted:
        yield _finding(
            twin,
            "twin-section",
            f"it has {len(levels)} headings and the original {len(wanted)}, or their levels differ",
            f"bring it in line with {original.location.path}",
        )
    if len(mine.items) != len(theirs.items):
        yield _finding(
            twin,
            "twin-items",
            f"it has {len(mine.items)} list items and the original {len(theirs.items)}",
            f"bring it in line with {original.location.path}",
            severity=Severity.WARNING,
        )
    ours, others = ({span.text for span in outline.code_spans} for outline in (mine, theirs))
    for text in sorted(others - ours)[:5]:
        yield _finding(
            twin, "twin-code", f"it never names `{text}`, which the original does", "add it", severity=Severity.WARNING
        )
    for text in sorted(ours - others)[:5]:
        yield _finding(
            twin, "twin-code", f"it names `{text}`, which the original does not", "check it", severity=Severity.WARNING
        )


def _check_sections(catalog: Catalog) -> Iterator[Finding]:
    # A twin does not repeat the status.
    inert = {rule.id for rule in catalog.rules if rule.status in (Status.RESERVED, Status.RETIRED)}
    for document in catalog.documents:
        languages = SECTIONS.get(document.kind)
        # A section of a page of rules has no sections of its own.
        whole_file = document.location.line <= 1
        if languages is None or document.lang not in languages or not whole_file:
            continue
        if document.kind is Kind.RULE and document.id in inert:
            continue
        fixed = languages[document.lang]
        outline = markdown.outline(document.body)
        found = [(heading.text, heading.line) for heading in outline.headings if heading.level == 2]
        yield from _compare_sections(document, fixed, found)


def _compare_sections(
    document: Document, fixed: Sequence[tuple[str, bool]], found: Sequence[tuple[str, int]]
) -> Iterator[Finding]:
    names = [name for name, _ in fixed]
    texts = [text for text, _ in found]
    for name, required in fixed:
        if required and name not in texts:
            yield _finding(
                document,
                "section-missing",
                f"there is no section '## {name}'",
                "add it, in the order of docs/format.md",
                severity=Severity.WARNING,
            )
    known = [names.index(text) for text in texts if text in names]
    for text, line in found:
        location = Location(document.location.path, document.body_line + line - 1)
        if text not in names:
            near = difflib.get_close_matches(text, names, 1, 0.6)
            remedy = f"did you mean '## {near[0]}'?" if near else f"known: {', '.join(names)}"
            yield Finding(
                code="section-unknown",
                severity=Severity.WARNING,
                message=f"'## {text}' is none of the fixed sections",
                location=location,
                remedy=remedy,
            )
    if known != sorted(set(known)):
        yield _finding(
            document,
            "section-order",
            "the sections are not in their fixed order, or one stands twice",
            f"order: {', '.join(names)}",
            severity=Severity.WARNING,
        )


def _check_dates(catalog: Catalog) -> Iterator[Finding]:
    for document in catalog.documents:
        if document.created and document.updated and document.updated < document.created:
            yield _finding(
                document,
                "date-order",
                f"updated {document.updated} lies before created {document.created}",
                "mend one of them",
                "updated",
            )


def _check_heads(catalog: Catalog, heads: Mapping[str, Collection[str]]) -> Iterator[Finding]:
    """Patterns that match no file at the head of a target whose checkout is at hand.

    A rule keeps patterns for places that were moved, so a single dead pattern is a note; a rule of
    which nothing is alive is a warning.
    """
    from rulebook.patterns.syntax import compile_patterns

    if not heads:
        return
    seen: dict[tuple[str, str], bool] = {}
    for document in catalog.documents:
        if is_twin(document) or not isinstance(document, (Rule, ReviewDigest)):
            continue
        if isinstance(document, Rule) and not document.status.matches:
            continue
        repo = catalog.config.resolve(document.repo)
        if repo not in heads:
            continue
        key = "applies_to" if isinstance(document, Rule) else "touches"
        texts = document.applies_to if isinstance(document, Rule) else document.touches
        alive = []
        for text in texts:
            if (repo, text) not in seen:
                patterns = compile_patterns([text.removeprefix("!")])
                seen[repo, text] = any(patterns.match(path) for path in heads[repo])
            alive.append(seen[repo, text])
        positive = [live for live, text in zip(alive, texts, strict=True) if not text.startswith("!")]
        if positive and not any(positive):
            yield _finding(
                document,
                "pattern-dead-rule",
                f"no pattern matches any file at the head of {repo}",
                "add the places of today, or retire the rule",
                key,
                severity=Severity.WARNING,
            )
            continue
        for index, (live, text) in enumerate(zip(alive, texts, strict=True)):
            if not live:
                yield _finding(
                    document,
                    "pattern-dead",
                    f"{text!r} matches no file at the head of {repo}",
                    "fine for a place of the past; else mend it",
                    key,
                    index,
                    severity=Severity.NOTE,
                )
