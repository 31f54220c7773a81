"""What `rulebook stale` and `rulebook applies` ask: the freshness of a knowledge base's sources.

Which clone a pin is checked in is :mod:`rulebook.checkouts`'s; what became of a pinned place is
:mod:`rulebook.staleness`'s; here both come together for many documents and repositories.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rulebook.cachefiles import is_plain, make_way
from rulebook.errors import GitError, UsageError
from rulebook.model import Document, Kind, Location, Rule, Source
from rulebook.pins import Pin
from rulebook.staleness import Checker, Progress
from rulebook.verdicts import CheckedPin, Citation, State, Verdict, read_pin, unverifiable

if TYPE_CHECKING:
    from typing_extensions import Self

    from rulebook.checkouts import CheckoutFinder
    from rulebook.config import Config, Target
    from rulebook.git.repository import Repository
    from rulebook.store.query import Store


class Judged(NamedTuple):
    """What the pins into one repository were judged against.

    Attributes:
        commit: the tip of its default branch.
        ref: the reference that names it in the clone.
        clone: where the clone is.
    """

    commit: str
    ref: str
    clone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LostIdentifier:
    """A name of code that a rule's text cites and the default branch has no more."""

    owner: str
    name: str
    repo: str
    location: Location
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleReport:
    """The answer to "which sources are stale".

    Attributes:
        heads: what each repository was judged against; ``None`` where there is nothing to look at.
        pins: worst first, then in the order of the documents.
        identifiers: cited names that are no more, a lower grade than pins.
        examined_rules: rules of which a pin was looked at.
        examined_documents: rules, waivers and digests of which one was.
        unsourced: the ids of rules that name no source at all, of the repository that was asked about.
        skipped: how many pins were left out, by the reason.
        notes: what the user should know, one sentence each.
    """

    heads: Mapping[str, Judged | None]
    pins: tuple[CheckedPin, ...]
    identifiers: tuple[LostIdentifier, ...] = ()
    examined_rules: int = 0
    examined_documents: int = 0
    unsourced: tuple[str, ...] = ()
    skipped: Mapping[str, int] | None = None
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> dict[State, int]:
        """How many pins are in each state."""
        counts = dict.fromkeys(State, 0)
        for pin in self.pins:
            counts[pin.verdict.state] += 1
        return counts


def cite(documents: Iterable[Document]) -> list[Citation]:
    """Every pin of the documents, with the document that has it; pins that a page's rules share come once for each."""
    return [
        Citation(
            owner=document.id,
            kind=document.kind,
            location=Location(document.location.path, source.line or document.line_of("sources", index)),
            source=source,
        )
        for document in documents
        for index, source in enumerate(document.sources)
    ]


def check_documents(
    documents: Sequence[Document],
    config: Config,
    finder: CheckoutFinder,
    *,
    repo: str = "",
    paths: Sequence[str] = (),
    since: str = "",
    identifiers: bool = True,
    progress: Progress | None = None,
) -> StaleReport:
    """Checks the sources of documents.

    Args:
        documents: without twins, which have no sources of their own.
        config: the target repositories.
        finder: knows where clones are.
        repo: only pins into the repository with this alias.
        paths: only pins of files that one of these patterns covers, see :mod:`rulebook.patterns`.
        since: a commit, or a day as ``YYYY-MM-DD``: only pins of files that the default branch changed after it.
        identifiers: whether to look for the names that rules cite as well.
        progress: called with (pins done, pins to do).

    Raises:
        GitError: a clone that the command names is none, or git is missing.
        UsageError: ``since`` names nothing in a repository that is looked at, or ``paths`` can match nothing.
    """
    asked = Checkers(config, finder)
    with asked:
        chosen, skipped = _choose(cite(documents), asked, repo, paths, since)
        verdicts = _judge(chosen, asked, progress)
        lost = _lost_identifiers(documents, asked, repo) if identifiers else []
        notes = asked.notes()
        heads = asked.heads()
    checked = [
        CheckedPin(citation=citation, verdict=verdict) for citation, verdict in zip(chosen, verdicts, strict=True)
    ]
    checked.sort(key=lambda pin: pin.verdict.state.rank)
    examined = {(pin.citation.kind, pin.citation.owner) for pin in checked}
    return StaleReport(
        heads=heads,
        pins=tuple(checked),
        identifiers=tuple(lost),
        examined_rules=sum(kind is Kind.RULE for kind, _ in examined),
        examined_documents=len(examined),
        unsourced=tuple(
            document.id
            for document in documents
            if document.kind is Kind.RULE
            and not document.sources
            and (not repo or config.resolve(document.repo) == config.resolve(repo))
        ),
        skipped=skipped,
        notes=tuple(notes),
    )


class Checkers:
    """The repositories that are asked, each opened when the first pin needs it."""

    def __init__(self, config: Config, finder: CheckoutFinder) -> None:
        self._config = config
        self._finder = finder
        self._stack = ExitStack()
        self._checkers: dict[str, Checker | Verdict] = {}
        self._clones: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def checker(self, alias: str) -> Checker | Verdict:
        """What checks pins into a repository, or the verdict on all of them."""
        if alias not in self._checkers:
            self._checkers[alias] = self._open(alias)
        return self._checkers[alias]

    def _open(self, alias: str) -> Checker | Verdict:
        from rulebook.git.repository import Repository

        target = self._config.targets.get(alias)
        if target is None:
            return unverifiable(f"rulebook.toml knows no repository {alias!r}", f"add [repos.{alias}] with its url")
        checkout = self._finder.find(target)
        if checkout is None:
            return unverifiable(
                f"there is no clone of {alias} here", f"rulebook sync {alias}, or --checkout {alias}=DIR"
            )
        try:
            repository = Repository(checkout.folder)
        except GitError as error:
            if checkout.explicit:
                raise
            return unverifiable(f"{error.message} (named by {checkout.named_by})", error.hint)
        try:
            checker = Checker(repository, target.default_branch, alias=alias)
        except GitError as error:
            return unverifiable(error.message, error.hint)
        self._clones[alias] = checkout.folder
        return self._stack.enter_context(checker)

    def heads(self) -> dict[str, Judged | None]:
        """What each repository was judged against."""
        found: dict[str, Judged | None] = {}
        for alias, checker in self._checkers.items():
            head = checker.head if isinstance(checker, Checker) else None
            found[alias] = Judged(head.commit, head.ref, self._clones[alias]) if head is not None else None
        return found

    def notes(self) -> list[str]:
        """Why repositories were not looked at."""
        return [
            f"{alias} was not looked at: {checker.because} ({checker.remedy})"
            for alias, checker in self._checkers.items()
            if not isinstance(checker, Checker)
        ]


# --- which pins, and their verdicts -----------------------------------------------------------


def _choose(
    citations: Sequence[Citation], asked: Checkers, repo: str, paths: Sequence[str], since: str
) -> tuple[list[Citation], dict[str, int]]:
    """The pins that are asked about, and how many are left out for which reason."""
    from rulebook.patterns.lint import HARMLESS, lint
    from rulebook.patterns.syntax import compile_patterns

    for problem in lint(paths):
        if problem.code not in HARMLESS:
            raise UsageError(f"the pattern {paths[problem.index]!r} cannot be used: {problem.message}", problem.remedy)
    patterns = compile_patterns(list(paths)) if paths else None
    chosen: list[Citation] = []
    skipped: dict[str, int] = {}
    pins = [(citation, read_pin(citation.source)) for citation in citations]
    edited = _edited_since(since, asked, [pin for _, pin in pins if isinstance(pin, Pin)], repo) if since else None

    def skip(reason: str) -> None:
        skipped[reason] = skipped.get(reason, 0) + 1

    for citation, pin in pins:
        if not isinstance(pin, Pin):
            if repo or patterns or since:
                skip("without a readable pin")
            else:
                chosen.append(citation)
        elif repo and pin.alias != repo:
            skip(f"not into {repo}")
        elif patterns is not None and patterns.match(pin.path) is None:
            skip("of other paths")
        elif edited is not None and pin.path not in edited.get(pin.alias, (pin.path,)):
            skip(f"of files not changed since {since}")
        else:
            chosen.append(citation)
    return chosen, skipped


def _edited_since(since: str, asked: Checkers, pins: Sequence[Pin], repo: str) -> dict[str, Collection[str]]:
    """The pinned paths that differ between ``since`` and the head, by repository; left out where nobody can look."""
    found: dict[str, Collection[str]] = {}
    for alias in dict.fromkeys(pin.alias for pin in pins if not repo or pin.alias == repo):
        checker = asked.checker(alias)
        if isinstance(checker, Checker):
            try:
                found[alias] = checker.edited_since(since, {pin.path for pin in pins if pin.alias == alias})
            except GitError as error:
                raise UsageError(
                    f"--since {since} names no commit of {alias}: {error.message}", "give a day, or narrow with --repo"
                ) from None
    return found


def _judge(chosen: Sequence[Citation], asked: Checkers, progress: Progress | None) -> list[Verdict]:
    """The verdict on each pin, in their order."""
    verdicts: list[Verdict | None] = []
    groups: dict[str, list[tuple[int, Pin, Mapping[str, str]]]] = {}
    for position, citation in enumerate(chosen):
        pin = read_pin(citation.source)
        verdicts.append(None if isinstance(pin, Pin) else pin)
        if isinstance(pin, Pin):
            groups.setdefault(pin.alias, []).append((position, pin, citation.source.seen))
    done = 0
    for alias, group in groups.items():
        checker = asked.checker(alias)
        if isinstance(checker, Checker):

            def advance(number: int, _: int, before: int = done) -> None:
                if progress is not None:
                    progress(before + number, len(chosen))

            found = checker.check([(pin, seen) for _, pin, seen in group], progress=advance)
        else:
            found = [checker] * len(group)
        done += len(group)
        for (position, _, _), verdict in zip(group, found, strict=True):
            verdicts[position] = verdict
    if progress is not None:
        progress(len(chosen), len(chosen))
    return [verdict for verdict in verdicts if verdict is not None]


def _lost_identifiers(documents: Iterable[Document], asked: Checkers, repo: str) -> list[LostIdentifier]:
    """Names of code that rules in force cite, that were there when they were pinned, and are no more."""
    from rulebook import markdown

    lost: list[LostIdentifier] = []
    for document in documents:
        if not isinstance(document, Rule) or not document.status.matches:
            continue
        commits: dict[str, list[str]] = {}
        for source in document.sources:
            pin = read_pin(source)
            if isinstance(pin, Pin) and (not repo or pin.alias == repo):
                commits.setdefault(pin.alias, []).append(pin.commit)
        spans = markdown.outline(document.body).code_spans if commits else ()
        lines = {span.text.partition("(")[0]: span.line for span in reversed(spans)}
        names = markdown.identifiers(spans)
        for alias, pinned in commits.items():
            checker = asked.checker(alias)
            if isinstance(checker, Checker) and names:
                for name, because in checker.lost_names(names, tuple(dict.fromkeys(pinned))).items():
                    line = document.body_line + lines.get(name, 1) - 1 if document.body_line else 0
                    place = Location(document.location.path, line)
                    lost.append(
                        LostIdentifier(owner=document.id, name=name, repo=alias, location=place, because=because)
                    )
    return lost


# --- for `applies` ----------------------------------------------------------------------------

_CACHE_FORMAT = 1
_CACHE_BYTES = 16 << 20


def freshness_of(store: Store, alias: str, repository: Repository) -> dict[str, State]:
    """The worst state of each rule's sources in one target repository; rules without sources there are left out.

    The answer is kept in the store's folder and holds as long as the content and the tip of the default branch stay
    as they are; whether they did costs no git process.

    Args:
        store: the knowledge base.
        alias: the target repository.
        repository: a clone of it.

    Returns:
        the state by the rule's id; empty where the clone has no default branch to judge by.
    """
    target = store.config.targets.get(alias)
    if target is None:
        return {}
    path = os.path.join(store.folder, f"freshness-{alias}.json") if store.folder else ""
    head = _peek_head(repository, target)
    if path and head:
        kept = _read_cache(path, repository.git_dir, store.generation, head)
        if kept is not None:
            return kept
    try:
        checker = Checker(repository, target.default_branch, alias=alias)
    except GitError:
        return {}
    with checker:
        cited: list[tuple[str, Pin, Mapping[str, str]]] = []
        states: dict[str, State] = {}
        for row in store.documents(Kind.RULE, repo=alias):
            for source in [] if row.twin else _sources(row.metadata.get("sources")):
                pin = read_pin(source)
                if isinstance(pin, Pin) and store.config.resolve(pin.alias) == alias:
                    cited.append((row.name, pin, source.seen))
                elif not isinstance(pin, Pin):
                    states[row.name] = State.UNVERIFIABLE
        try:
            verdicts = checker.check([(pin, seen) for _, pin, seen in cited])
        except GitError:
            return {}
    for (name, _, _), verdict in zip(cited, verdicts, strict=True):
        state = State.UNVERIFIABLE if verdict.state is State.INVALID else verdict.state
        states[name] = min(states.get(name, state), state, key=lambda word: word.rank)
    if path:
        _write_cache(path, repository.git_dir, store.generation, checker.head.commit, states)
    return states


def _peek_head(repository: Repository, target: Target) -> str:
    from rulebook.snapshots import head_refs

    return next(filter(None, map(repository.peek_ref, head_refs(target.default_branch))), "")


def _sources(value: object) -> list[Source]:
    """The sources of a stored frontmatter."""
    found = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item:
            found.append(Source(pin=item))
        elif isinstance(item, dict) and isinstance(item.get("pin"), str):
            seen = {name: item[name] for name in ("blob", "sha256") if isinstance(item.get(name), str)}
            found.append(Source(pin=item["pin"], seen=seen))
    return found


def _read_cache(path: str, clone: str, generation: str, head: str) -> dict[str, State] | None:
    if not is_plain(path):
        return None
    try:
        with open(path, "rb") as file:
            data = json.loads(file.read(_CACHE_BYTES))
        if [data["format"], data["clone"], data["generation"], data["head"]] != [
            _CACHE_FORMAT,
            clone,
            generation,
            head,
        ]:
            return None
        return {str(name): State(word) for name, word in data["rules"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # None yet, or damaged: it is made again.
        return None


def _write_cache(path: str, clone: str, generation: str, head: str, states: Mapping[str, State]) -> None:
    rules = {name: state.value for name, state in states.items()}
    data = {"format": _CACHE_FORMAT, "clone": clone, "generation": generation, "head": head, "rules": rules}
    temporary = f"{path}.{os.getpid():x}"
    try:
        with open(temporary, "w", encoding="utf-8", errors="surrogatepass") as file:
            json.dump(data, file)
        make_way(path)
        os.replace(temporary, path)
    except OSError:
        # The answer does not depend on being kept.
        try:
            os.unlink(temporary)
        except OSError:
            pass
