"""The commands about the content itself: ``index`` and ``lint``."""

from __future__ import annotations

from typing import Annotated

import typer

from rulebook.cli import inputs, options, output, terminal
from rulebook.cli.terminal import Color
from rulebook.errors import EXIT_FINDINGS


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    app.command(
        epilog=options.examples(
            "rulebook index --root ../rules", notes="Exit codes: 0 built, 2 usage, 3 could not run."
        )
    )(index)
    app.command(
        epilog=options.examples(
            "rulebook lint --fail-on warning",
            "rulebook lint --checkout afd-plugin=../afd-plugin",
            notes=options.FINDINGS,
        )
    )(lint)


def index(
    root: options.Root = "",
    index: options.Index = "",
    quiet: options.Quiet = False,
) -> None:
    """Builds or refreshes the store and the search index. Queries do so by themselves when content changed."""
    from rulebook import lookup

    with inputs.load(root, index, quiet=quiet) as store:
        stats = store.stats
        searched = lookup.refresh(store, progress=terminal.progress_bar("indexing", quiet=quiet))
        place = store.folder or "memory"
        terminal.notes(store.notes, quiet=quiet)
    terminal.write(
        f"{stats.added} added, {stats.changed} changed, {stats.removed} removed, {stats.kept} unchanged files; "
        f"search: {searched.added} documents added, {searched.removed} removed, {searched.kept} kept\n"
    )
    terminal.note(f"note: the store is in {place}", quiet=quiet)


def lint(
    root: options.Root = "",
    checkout: options.Checkout = [],
    fail_on: Annotated[
        options.FailOn, typer.Option("--fail-on", help="The weakest severity that makes the exit code 1.")
    ] = options.FailOn.ERROR,
    form: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Checks every document: frontmatter, ids, references, dates, pins, patterns, sections, twins.

    With --checkout, patterns that match no file of the target's head are findings too.
    """
    from rulebook.catalog import load
    from rulebook.validate import validate

    folder = inputs.root_of(root)
    catalog = load(folder, progress=terminal.progress_bar("reading", quiet=quiet))
    with terminal.waiting("checking", quiet=quiet):
        findings = validate(catalog, inputs.head_paths(catalog.config, checkout), history=inputs.history_of(folder))
    output.write("lint", form, color, findings=findings, examined=catalog.files)
    order = [word.value for word in options.FailOn]
    if any(order.index(finding.severity.value) <= order.index(fail_on.value) for finding in findings) and (
        fail_on is not options.FailOn.NEVER
    ):
        raise typer.Exit(EXIT_FINDINGS)
