"""The commands about sources and the life of rules: ``stale``, ``repin``, ``sync``, ``retire``."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from rulebook.cli import completion, inputs, options, output, terminal
from rulebook.cli.terminal import Color
from rulebook.errors import EXIT_FINDINGS, NoKnowledgeBase, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rulebook.catalog import Catalog
    from rulebook.checkouts import CheckoutFinder
    from rulebook.model import Document


class FailOnState(str, Enum):
    """What ``--fail-on`` takes; the mildest state that makes the exit code 1."""

    GONE = "gone"
    INVALID = "invalid"
    MOVED = "moved"
    CHANGED = "changed"
    UNVERIFIABLE = "unverifiable"
    NEVER = "never"


Names = Annotated[
    list[str],
    typer.Argument(
        metavar="[ID]...",
        help="Only these documents; a rule's id, say. Default: all in force.",
        autocompletion=completion.documents,
    ),
]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=1, help="Give up on a network that is silent for this long."),
]


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    app.command(
        epilog=options.examples(
            "rulebook stale --checkout afd-plugin=../afd-plugin",
            "rulebook stale AFD-I4 --all",
            "rulebook stale --format md --since 2026-11-01",
            notes="Exit codes: 0 nothing at or above --fail-on, 1 stale pins, 2 usage, 3 could not run.",
        )
    )(stale)
    app.command(
        epilog=options.examples(
            "rulebook repin AFD-I4",
            "rulebook repin AFD-I4 AFD-I7 --yes",
            notes="Exit codes: 0 written or nothing to write, 2 usage, 3 could not run.",
        )
    )(repin)
    app.command(
        epilog=options.examples(
            "rulebook sync",
            "rulebook sync afd-plugin --timeout 300",
            notes="Exit codes: 0 fetched, 2 usage, 3 a repository could not be reached.",
        )
    )(sync)
    app.command(
        epilog=options.examples(
            "rulebook retire AFD-I4 --because 'the tests have a GPU now' --superseded-by AFD-I13",
            notes="Exit codes: 0 written, 2 usage, 3 could not run.",
        )
    )(retire)


def stale(
    names: Names = [],
    path: Annotated[
        list[str], typer.Option("--path", metavar="GLOB", help="Only pins of files that this pattern covers.")
    ] = [],
    since: Annotated[
        str,
        typer.Option("--since", metavar="COMMIT|DAY", help="Only pins of files that the default branch changed since."),
    ] = "",
    everything: Annotated[bool, typer.Option("--all", "-a", help="List fresh pins and retired rules as well.")] = False,
    identifiers: Annotated[
        bool, typer.Option("--identifiers/--no-identifiers", help="Look for the names of code that rules cite.")
    ] = True,
    fail_on: Annotated[
        FailOnState, typer.Option("--fail-on", help="The mildest state that makes the exit code 1.")
    ] = FailOnState.GONE,
    repo: options.Repo = "",
    checkout: options.Checkout = [],
    root: options.Root = "",
    form: Annotated[
        options.StaleFormat,
        typer.Option("--format", "-f", help="How the answer is written.", rich_help_panel=options.ANSWER),
    ] = options.StaleFormat.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """What became of the sources that rules were read from: gone, moved, changed, fresh, or not looked at.

    Pins are looked up in local clones: --checkout, RULEBOOK_CHECKOUT_<ALIAS>, the user's config.toml, or what
    'rulebook sync' fetched. Nothing is fetched here.
    """
    from rulebook.freshness import check_documents
    from rulebook.verdicts import State

    catalog = _load(root, quiet=quiet)
    report = check_documents(
        _documents(catalog, names, everything=everything),
        catalog.config,
        _finder(catalog, checkout),
        repo=_alias(catalog, repo),
        paths=path,
        since=since,
        identifiers=identifiers,
        progress=terminal.progress_bar("checking pins", quiet=quiet),
    )
    terminal.notes(report.notes, quiet=quiet)

    def for_sarif() -> dict[str, object]:
        from importlib.metadata import version

        return {"version": version("repo-rulebook")}

    extras: output.Extras = {"text": lambda: {"everything": everything}, "sarif": for_sarif}
    output.write("stale", form, color, report=report, extras=extras)
    if fail_on is not FailOnState.NEVER:
        limit = State(fail_on.value).rank
        if any(pin.verdict.state.rank <= limit for pin in report.pins):
            raise typer.Exit(EXIT_FINDINGS)


def _confirm(question: str) -> bool:
    """Asks on standard error; no where nobody can answer."""
    import sys

    if sys.stdin is None or not sys.stdin.isatty():
        return False
    return typer.confirm(question, err=True)


def _load(root: str, *, quiet: bool) -> Catalog:
    from rulebook.catalog import load

    catalog = load(inputs.root_of(root), progress=terminal.progress_bar("reading", quiet=quiet))
    broken = [finding for finding in catalog.findings if finding.severity.value == "error"]
    if broken:
        first = broken[0]
        more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
        place = first.location.path + (f":{first.location.line}" if first.location.line else "")
        terminal.note(f"note: {place}: {first.message}{more}; see: rulebook lint", quiet=quiet)
    return catalog


def _empty(root: str) -> Catalog:
    """A knowledge base of which there is the configuration only."""
    from rulebook.catalog import Catalog
    from rulebook.config import parse_config, read_config

    config = parse_config(read_config(root))
    return Catalog(root=root, config=config, documents=(), findings=config.findings, files=0)


def _documents(catalog: Catalog, names: Sequence[str], *, everything: bool = False) -> list[Document]:
    """The documents of these names, else all whose sources matter: retired rules are history."""
    from rulebook.catalog import is_twin
    from rulebook.model import Rule

    originals = [document for document in catalog.documents if not is_twin(document)]
    if not names:
        return [
            document
            for document in originals
            if everything or not isinstance(document, Rule) or document.status.matches
        ]
    chosen = []
    for name in names:
        found = [
            document for document in originals if name.lower() in (document.id.lower(), document.location.path.lower())
        ]
        if not found:
            from rulebook.spelling import did_you_mean, nearest

            near = nearest(name, [document.id for document in originals])
            raise UsageError(f"no document is called {name!r}", did_you_mean(near) or "see: rulebook list")
        chosen += found
    return list({id(document): document for document in chosen}.values())


def _finder(catalog: Catalog, checkout: Sequence[str]) -> CheckoutFinder:
    from rulebook.checkouts import CheckoutFinder

    named = {}
    for alias, folder in inputs.checkouts(checkout).items():
        resolved = catalog.config.resolve(alias)
        if resolved not in catalog.config.targets:
            raise inputs.unknown_target(alias, catalog.config)
        named[resolved] = folder
    return CheckoutFinder(named)


def _alias(catalog: Catalog, repo: str) -> str:
    alias = catalog.config.resolve(repo) if repo else ""
    if alias and alias not in catalog.config.targets:
        from rulebook.spelling import suggest

        raise UsageError(f"no repository {repo!r} in this knowledge base", suggest(repo, catalog.config.targets))
    return alias


def repin(
    names: Annotated[
        list[str],
        typer.Argument(metavar="ID...", help="The documents whose pins to renew.", autocompletion=completion.documents),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write the new pins without asking.")] = False,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Bring fresh pins to the head as well.")] = False,
    unseen: Annotated[
        bool, typer.Option("--unseen", help="Renew pins as well whose commit cannot be looked at any more.")
    ] = False,
    allow_dirty: Annotated[
        bool, typer.Option("--allow-dirty", help="Edit files that have changes which are not committed.")
    ] = False,
    checkout: options.Checkout = [],
    root: options.Root = "",
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Renews pins after their sources were read again: shows what changed, then writes.

    Only the pins change, not one byte else. Without --yes it asks first, and without a terminal it only shows.
    """
    from rulebook.lifecycle import refuse_ambiguous
    from rulebook.render.stale import proposal_lines
    from rulebook.repin import propose, write

    catalog = _load(root, quiet=quiet)
    documents = _documents(catalog, names)
    refuse_ambiguous(documents)
    with terminal.waiting("comparing pins", quiet=quiet):
        proposals = propose(documents, catalog.config, _finder(catalog, checkout), fresh=everything, unseen=unseen)
    terminal.write_lines(proposal_lines(proposals), color)
    offered = [proposal for proposal in proposals if proposal.new is not None]
    if not offered:
        terminal.note("note: there is no pin to renew", quiet=quiet)
        return
    if not yes and not _confirm(f"Write {len(offered)} new pins?"):
        terminal.note("note: nothing was written; --yes writes", quiet=quiet)
        return
    for path in write(catalog.root, offered, allow_dirty=allow_dirty):
        terminal.note(f"note: {path} was written", quiet=quiet)


def sync(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[ALIAS]...",
            help="Only these repositories. Default: all with a URL.",
            autocompletion=completion.repositories,
        ),
    ] = [],
    timeout: Timeout = 60.0,
    root: options.Root = "",
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Fetches the target repositories into the user's cache, for 'stale' and 'repin' to look into.

    Without file contents but those that pins need. What is interrupted goes on where it stopped.
    """
    import os

    from rulebook.checkouts import CheckoutFinder
    from rulebook.errors import EXIT_CANNOT_RUN, GitError
    from rulebook.pins import Pin
    from rulebook.render.stale import synced_lines
    from rulebook.store.folder import secure_folder
    from rulebook.sync import sync as synchronise
    from rulebook.verdicts import read_pin

    try:
        catalog = _load(root, quiet=quiet)
    except NoKnowledgeBase:
        # Clones can be fetched before the first rule is written, from what it will be read.
        catalog = _empty(inputs.root_of(root))
        if not any(target.url for target in catalog.config.targets.values()):
            raise
    aliases = [_alias(catalog, name) for name in names] or [
        alias for alias, target in catalog.config.targets.items() if target.url
    ]
    pins = [read_pin(source) for document in _documents(catalog, [], everything=True) for source in document.sources]
    finder = CheckoutFinder()
    failed = False
    for alias in aliases:
        target = catalog.config.targets[alias]
        folder = finder.mirror_path(target)
        secure_folder(os.path.dirname(folder), catalog.root)
        wanted = [pin for pin in pins if isinstance(pin, Pin) and pin.alias == alias]
        try:
            with terminal.stages(alias, quiet=quiet) as progress:
                synced = synchronise(target, folder, wanted, silence=timeout, progress=progress)
        except GitError as error:
            # One repository that cannot be reached does not keep the others from being fetched.
            terminal.note(f"rulebook: {alias}: {error.message} ({error.hint})")
            failed = True
            continue
        terminal.write_lines(synced_lines(synced), color)
        for text in synced.notes:
            terminal.note(f"note: {alias}: {text}", quiet=quiet)
    if failed:
        raise typer.Exit(EXIT_CANNOT_RUN)


def retire(
    name: Annotated[str, typer.Argument(metavar="RULE", help="The rule's id.", autocompletion=completion.rules)],
    because: Annotated[str, typer.Option("--because", metavar="TEXT", help="Why it ended, in one line.")],
    superseded_by: Annotated[
        str, typer.Option("--superseded-by", metavar="ID", help="The rule that takes its place.")
    ] = "",
    allow_dirty: Annotated[
        bool, typer.Option("--allow-dirty", help="Edit a file that has changes which are not committed.")
    ] = False,
    root: options.Root = "",
    quiet: options.Quiet = False,
) -> None:
    """Ends a rule: it applies to nothing any more, and stays to be found, with the reason.

    Its id is taken for good; 'rulebook lint' tells where it comes back for another text.
    """
    import datetime as dt

    from rulebook import lifecycle

    catalog = _load(root, quiet=quiet)
    today = dt.datetime.now(dt.timezone.utc).date().isoformat()
    plan = lifecycle.plan_retirement(
        catalog, name, because=because, since=today, superseded_by=superseded_by, allow_dirty=allow_dirty
    )
    lifecycle.retire(plan)
    terminal.note(f"note: {plan.rule.location.path} was written", quiet=quiet)
