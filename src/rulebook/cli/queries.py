"""The commands about a change: ``applies`` and ``explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rulebook.cli import completion, inputs, options, output, terminal
from rulebook.cli.terminal import Color
from rulebook.errors import UsageError

if TYPE_CHECKING:
    from rulebook.git.repository import Repository
    from rulebook.model import ChangeSet
    from rulebook.store.query import Store


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    app.command(
        epilog=options.examples(
            "rulebook applies --git main...HEAD",
            "git diff main... | rulebook applies --diff -",
            "git diff --name-only -z main... | rulebook applies -z -",
            "rulebook applies src/config.py docs/config.md",
            notes="Exit codes: 0 answered, whatever applies; 2 usage, 3 could not run.",
        )
    )(applies)
    app.command(
        epilog=options.examples(
            "rulebook explain AFD-I4 afd_plugin/config.py",
            "rulebook explain AFD-I4 --git main...HEAD",
            "rulebook explain AFD-I4",
            notes="Exit codes: 0 answered, 2 usage, 3 could not run.",
        )
    )(explain)


def applies(
    paths: options.Paths = [],
    diff: options.Diff = "",
    git: options.GitRange = "",
    null: options.Nul = False,
    repo: options.Repo = "",
    checkout: options.Checkout = [],
    root: options.Root = "",
    index: options.Index = "",
    form: Annotated[
        options.AppliesFormat,
        typer.Option(
            "--format",
            "-f",
            help="How the answer is written; github: annotations in a workflow's log.",
            rich_help_panel=options.ANSWER,
        ),
    ] = options.AppliesFormat.TEXT,
    site: options.Site = "",
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Which rules apply to a change, why, and which paths none covers.

    With paths alone the place decides; with a diff or a git range the changed lines tell the rules that are at stake
    (direct) from those that merely may be (possible).
    """
    from rulebook import answer

    with inputs.load(root, index, quiet=quiet, findings=False) as store:
        with terminal.waiting("reading the change", quiet=quiet):
            change, alias, clone = _change_and_repo(store, paths, diff, git, null, repo, checkout, quiet=quiet)
        if change is None:
            raise UsageError("no change is given", "give paths, or -, or --diff FILE, or --git RANGE")
        with terminal.waiting("matching rules", quiet=quiet):
            report = answer.applies(store, change, alias, checkout=clone)
    terminal.notes((*report.notes, *report.hints), quiet=quiet)

    def for_sarif() -> dict[str, object]:
        from importlib.metadata import version

        from rulebook.cli.pages import rule_addresses

        return {"version": version("repo-rulebook"), "help_addresses": rule_addresses(store.root, report, site)}

    output.write("applies", form, color, report=report, extras={"sarif": for_sarif})


def explain(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The rule's id.", autocompletion=completion.rules)],
    paths: options.Paths = [],
    diff: options.Diff = "",
    git: options.GitRange = "",
    null: options.Nul = False,
    checkout: options.Checkout = [],
    root: options.Root = "",
    index: options.Index = "",
    form: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Why a rule applies to paths or a change, or why not: the nearest pattern and what rejected it."""
    from rulebook import answer
    from rulebook.model import Kind

    with inputs.load(root, index, quiet=quiet) as store:
        row = answer.find_document(store, rule, Kind.RULE)
        repo = row.repo if row.repo in store.config.targets else ""
        change = clone = None
        if paths or diff or git:
            with terminal.waiting("reading the change", quiet=quiet):
                change, _, clone = _change_and_repo(store, paths, diff, git, null, repo, checkout, quiet=quiet)
        with terminal.waiting("explaining", quiet=quiet):
            report = answer.explain(store, rule, change, checkout=clone)
    terminal.notes((*report.notes, *report.hints), quiet=quiet)
    output.write("explain", form, color, report=report)


def _change_and_repo(
    store: Store, paths: list[str], diff: str, git: str, null: bool, repo: str, checkout: list[str], *, quiet: bool
) -> tuple[ChangeSet | None, str, Repository | None]:
    """The change, the repository it belongs to, and a clone of it where one is at hand."""
    from rulebook import answer

    clones = inputs.checkouts(checkout)
    if not repo and len(clones) == 1:
        repo = next(iter(clones))
    around = inputs.here(needed=bool(git) and not clones) if not repo or git else None
    alias = answer.choose_repo(store, repo, around.remote_urls() if around is not None and not repo else ())
    folder = clones.get(alias) or clones.get(repo)
    clone = None
    if folder is not None:
        from rulebook.git.repository import Repository

        clone = Repository(folder)
    elif git and around is not None:
        inputs.require_target(around, alias, store.config, store.root, quiet=quiet)
    change = inputs.read_change(paths, diff, git, null, clone or around, clone is not None)
    return change, alias, clone or (around if git else None)
