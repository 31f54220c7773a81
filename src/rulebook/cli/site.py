"""The command that builds the documentation site."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from rulebook.cli import inputs, options, terminal
from rulebook.errors import EXIT_FINDINGS, UsageError


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command(epilog="Example: rulebook site --out _site --checkout afd-plugin=../afd-plugin")(site)


def site(
    root: options.Root = "",
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where the site is written.")] = "_site",
    checkout: options.Checkout = [],
    stale: Annotated[
        str, typer.Option("--stale", metavar="FILE", help="What 'rulebook stale --format json' wrote, for freshness.")
    ] = "",
    audit: Annotated[
        list[str],
        typer.Option("--audit", metavar="FILE", help="What 'rulebook waiver audit --format json' wrote, for waivers."),
    ] = [],
    today: Annotated[
        str,
        typer.Option(
            "--today", metavar="YYYY-MM-DD", envvar="RULEBOOK_TODAY", help="The day to hold dates in waivers against."
        ),
    ] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Content with errors makes the exit code 1.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Builds the documentation site: MkDocs with the knowledge base's mkdocs.yml, or with a plain one.

    Needs the packages of the extra "site".
    """
    try:
        from rulebook.site import build
    except ImportError:
        raise UsageError(
            "the site needs packages that are not installed",
            "install rulebook with its extra 'site': pip install '.[site]' in its clone",
        ) from None

    folder = inputs.root_of(root)
    problems = build.build_site(
        folder,
        os.path.abspath(out),
        checkouts=inputs.checkouts(checkout),
        stale=os.path.abspath(stale) if stale else "",
        audits=list(map(os.path.abspath, audit)),
        today=today,
    )
    for text in problems:
        terminal.note(f"warning: {text}", quiet=quiet)
    terminal.write(f"{out}: the site of {folder}\n")
    if strict and problems:
        raise typer.Exit(EXIT_FINDINGS)
