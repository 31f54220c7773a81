"""The commands: their arguments, help texts and exit codes. What they ask is in ``rulebook.answer``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rulebook.cli import inputs, options, terminal
from rulebook.cli.terminal import Color
from rulebook.errors import EXIT_FINDINGS, UsageError

if TYPE_CHECKING:
    from rulebook.model import ChangeSet
    from rulebook.store import Store

app = typer.Typer(
    name="rulebook",
    help="A repository's rules as a knowledge base: which rules apply to these changed paths, and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 answered or clean, 1 findings, 2 usage, 3 could not run, 4 a bug, 130 interrupted.",
)

Lang = Annotated[str, typer.Option("--lang", metavar="LANG", help="Show the twin in this language (zh, say).")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        terminal.write(f"rulebook {version('repo-rulebook')}\n")
        raise typer.Exit


@app.callback()
def _callback(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(
    epilog="Examples: git diff main... | rulebook applies --diff -   ·   rulebook applies --git main...HEAD   ·   "
    "git diff --name-only -z main... | rulebook applies -z -"
)
def applies(
    paths: options.Paths = [],
    diff: options.Diff = "",
    git: options.GitRange = "",
    null: options.Nul = False,
    repo: options.Repo = "",
    checkout: options.Checkout = [],
    root: options.Root = "",
    index: options.Index = "",
    output: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Which rules apply to a change, why, and which paths none covers.

    With paths alone the place decides; with a diff or a git range the changed lines tell the rules that are at stake
    (direct) from those that merely may be (possible).
    """
    from rulebook import answer

    with inputs.load(root, index, quiet=quiet) as store:
        change, alias = _change_and_repo(store, paths, diff, git, null, repo, checkout)
        if change is None:
            raise UsageError("no change is given", "give paths, or -, or --diff FILE, or --git RANGE")
        report = answer.applies(store, change, alias)
    for text in report.notes:
        terminal.note(f"note: {text}", quiet=quiet)
    if output is options.Format.JSON:
        from rulebook.render import data

        terminal.write(data.dump(data.applies_data(report)))
    elif output is options.Format.MD:
        from rulebook.render.md import applies_markdown

        terminal.write(applies_markdown(report))
    else:
        from rulebook.render.text import applies_lines

        terminal.write_lines(applies_lines(report), color)


def _change_and_repo(
    store: Store, paths: list[str], diff: str, git: str, null: bool, repo: str, checkout: list[str]
) -> tuple[ChangeSet | None, str]:
    """Reads the change in the clone that it belongs to."""
    from rulebook import answer

    clones = inputs.checkouts(checkout)
    if not repo and len(clones) == 1:
        repo = next(iter(clones))
    around = None
    if not repo or git:
        around = inputs.here()
    alias = answer.choose_repo(store, repo, around.remote_urls() if around is not None and not repo else ())
    clone = clones.get(alias) or clones.get(repo)
    if clone is not None and git:
        from rulebook.git import Repository

        around = Repository.discover(clone)
    return inputs.read_change(paths, diff, git, null, around), alias


@app.command()
def explain(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="The rule's id.")],
    paths: options.Paths = [],
    diff: options.Diff = "",
    git: options.GitRange = "",
    null: options.Nul = False,
    checkout: options.Checkout = [],
    root: options.Root = "",
    index: options.Index = "",
    output: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Why a rule applies to paths or a change, or why not: the nearest pattern and what rejected it."""
    from rulebook import answer
    from rulebook.model import Kind

    with inputs.load(root, index, quiet=quiet) as store:
        row = answer.find_document(store, rule, Kind.RULE)
        repo = row.repo if row.repo in store.config.targets else ""
        change = _change_and_repo(store, paths, diff, git, null, repo, checkout)[0] if paths or diff or git else None
        report = answer.explain(store, rule, change)
    if output is options.Format.JSON:
        from rulebook.render import data

        terminal.write(data.dump(data.explain_data(report)))
    else:
        from rulebook.render.text import explain_lines

        terminal.write_lines(explain_lines(report), color)


@app.command()
def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words, an identifier, a path, in any language.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="At most this many hits.")] = 10,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="Only rule, waiver or review.")] = "",
    root: options.Root = "",
    index: options.Index = "",
    output: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Finds rules, waivers and digests by their words, identifiers, paths and tags."""
    from rulebook import lookup

    kinds = _kinds(kind)
    with inputs.load(root, index, quiet=quiet) as store:
        progress = terminal.progress_bar("indexing", quiet=quiet)
        hits = lookup.search(store, " ".join(query), limit=limit, kinds=kinds, progress=progress)
        for text in store.notes:
            terminal.note(f"note: {text}", quiet=quiet)
    if output is options.Format.JSON:
        from rulebook.render import data

        terminal.write(data.dump(data.hits_data(" ".join(query), hits)))
    else:
        from rulebook.render.text import hits_lines

        terminal.write_lines(hits_lines(hits), color)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="A rule's id, a digest's owner/name#PR, a waiver.")],
    lang: Lang = "",
    root: options.Root = "",
    index: options.Index = "",
    output: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Shows a document, and what replaced it where it is retired or superseded."""
    from rulebook import answer

    with inputs.load(root, index, quiet=quiet) as store:
        row = answer.find_document(store, name, lang=lang)
        original = row if not row.twin else answer.find_document(store, row.name, row.kind)
        replaced = answer.replacements(store, original)
        twins = [other.lang for other in store.find(row.name) if other.lang != row.lang and other.kind is row.kind]
    if output is options.Format.JSON:
        from rulebook.render import data

        shown = data.row_data(row, body=True)
        terminal.write(data.dump({"version": data.VERSION, **shown, "replaced_by": [r.name for r in replaced]}))
    elif output is options.Format.MD:
        terminal.write(row.body)
    else:
        terminal.show_document(row, original, replaced, twins, color)


@app.command("list")
def list_(
    label: Annotated[str, typer.Option("--label", metavar="L", help="Only documents with this label or tag.")] = "",
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="Only rule, waiver or review.")] = "",
    repo: options.Repo = "",
    root: options.Root = "",
    index: options.Index = "",
    output: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Lists rules, waivers and digests, one a line."""
    from rulebook import answer

    kinds = _kinds(kind)
    with inputs.load(root, index, quiet=quiet) as store:
        alias = answer.choose_repo(store, repo) if repo else None
        rows = store.documents(next(iter(kinds)) if kinds else None, repo=alias, label=label or None)
    rows = [row for row in rows if not row.twin]
    if output is options.Format.JSON:
        from rulebook.render import data

        terminal.write(data.dump(data.rows_data(rows)))
    else:
        from rulebook.render.text import rows_lines

        terminal.write_lines(rows_lines(rows), color)


@app.command()
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
        for text in store.notes:
            terminal.note(f"note: {text}", quiet=quiet)
    terminal.write(
        f"{stats.added} added, {stats.changed} changed, {stats.removed} removed, {stats.kept} unchanged files; "
        f"search: {searched.added} documents added, {searched.removed} removed, {searched.kept} kept\n"
    )
    terminal.note(f"note: the store is in {place}", quiet=quiet)


@app.command()
def lint(
    root: options.Root = "",
    checkout: options.Checkout = [],
    fail_on: Annotated[
        options.FailOn, typer.Option("--fail-on", help="The weakest severity that makes the exit code 1.")
    ] = options.FailOn.ERROR,
    output: options.OutputFormat = options.Format.TEXT,
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
    findings = validate(catalog, inputs.head_paths(catalog.config, checkout))
    if output is options.Format.JSON:
        from rulebook.render import data

        terminal.write(data.dump(data.findings_data(findings, catalog.files)))
    elif output is options.Format.MD:
        from rulebook.render.md import findings_markdown

        terminal.write(findings_markdown(findings, catalog.files))
    else:
        from rulebook.render.text import findings_lines

        terminal.write_lines(findings_lines(findings, catalog.files), color)
    order = [word.value for word in options.FailOn]
    if any(order.index(finding.severity.value) <= order.index(fail_on.value) for finding in findings) and (
        fail_on is not options.FailOn.NEVER
    ):
        raise typer.Exit(EXIT_FINDINGS)


def _kinds(kind: str) -> tuple[Kind, ...]:
    from rulebook.model import Kind

    if not kind:
        return ()
    try:
        return (Kind(kind),)
    except ValueError:
        known = ", ".join(word.value for word in Kind)
        raise UsageError(f"{kind!r} is no kind of document", f"known: {known}") from None


if TYPE_CHECKING:
    from rulebook.model import Kind
