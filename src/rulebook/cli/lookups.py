"""The commands that look things up: ``search``, ``show`` and ``list``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from rulebook.cli import completion, inputs, options, output, terminal
from rulebook.cli.terminal import Color
from rulebook.errors import UsageError

if TYPE_CHECKING:
    from rulebook.model import Kind

#: The shape of BCP 47's codes, as far as files are named by it: a language, then script, region, variants.
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")

Lang = Annotated[
    str,
    typer.Option(
        "--lang",
        metavar="LANG",
        help="Show the twin in this language (zh, say). Default: the original.",
        autocompletion=completion.languages,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the commands to the application."""
    app.command(
        epilog=options.examples(
            "rulebook search parse_extra_config",
            "rulebook search 控制面 --kind rule",
            notes="Exit codes: 0 answered, also that nothing is found; 2 usage, 3 could not run.",
        )
    )(search)
    app.command(
        epilog=options.examples(
            "rulebook show AFD-I4",
            "rulebook show AFD-I4 --lang zh",
            "rulebook show '#57112'",
            notes="Exit codes: 0 shown, 2 there is none of that name, 3 could not run.",
        )
    )(show)
    app.command(
        "list",
        epilog=options.examples(
            "rulebook list --kind rule --repo afd-plugin",
            "rulebook list --label ci",
            notes="Exit codes: 0 answered, also that there is none; 2 usage, 3 could not run.",
        ),
    )(list_)


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words, an identifier, a path, in any language.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="At most this many hits.")] = 10,
    kind: Annotated[
        str,
        typer.Option("--kind", metavar="KIND", help="Only rule, waiver or review.", autocompletion=completion.kinds),
    ] = "",
    root: options.Root = "",
    index: options.Index = "",
    form: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Finds rules, waivers and digests by their words, identifiers, paths and tags."""
    from rulebook import lookup

    kinds = _kinds(kind)
    if not any(word.strip() for word in query):
        raise UsageError("nothing is searched for", "give words, an identifier or a path; all there is: rulebook list")
    with inputs.load(root, index, quiet=quiet) as store:
        progress = terminal.progress_bar("indexing", quiet=quiet)
        hits = lookup.search(store, " ".join(query), limit=limit, kinds=kinds, progress=progress)
        terminal.notes(store.notes, quiet=quiet)
    output.write("search", form, color, hits=hits, extras={"json": lambda: {"query": " ".join(query)}})


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="A rule's id, a digest's owner/name#PR, a waiver.", autocompletion=completion.documents
        ),
    ],
    lang: Lang = "",
    root: options.Root = "",
    index: options.Index = "",
    form: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Shows a document, and what replaced it where it is retired or superseded."""
    from rulebook import answer

    if lang and not _LANGUAGE.fullmatch(lang):
        raise UsageError(f"{lang!r} is no code of a language", "write one such as zh or pt-BR")
    with inputs.load(root, index, quiet=quiet) as store:
        row = answer.find_document(store, name, lang=lang)
        original = row if not row.twin else answer.find_document(store, row.name, row.kind)
        replaced = answer.replacements(store, original)
        twins = [other.lang for other in store.find(row.name) if other.lang != row.lang and other.kind is row.kind]
    if lang and row.lang.casefold() != lang.casefold():
        there = " and ".join((row.lang, *twins))
        terminal.note(
            f"note: {row.name} has no twin in {lang!r}, so this is {row.lang}; it is there in {there}", quiet=quiet
        )
    if form is options.Format.JSON:
        from rulebook.render import data

        shown = data.row_data(row, body=True)
        terminal.write(data.dump({"version": data.VERSION, **shown, "replaced_by": [r.name for r in replaced]}))
    elif form is options.Format.MD:
        terminal.write(row.body)
    else:
        terminal.show_document(row, original, replaced, twins, color)


def list_(
    label: Annotated[
        str,
        typer.Option(
            "--label", metavar="L", help="Only documents with this label or tag.", autocompletion=completion.labels
        ),
    ] = "",
    kind: Annotated[
        str,
        typer.Option("--kind", metavar="KIND", help="Only rule, waiver or review.", autocompletion=completion.kinds),
    ] = "",
    repo: options.Repo = "",
    root: options.Root = "",
    index: options.Index = "",
    form: options.OutputFormat = options.Format.TEXT,
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
    output.write("list", form, color, rows=rows)


def _kinds(kind: str) -> tuple[Kind, ...]:
    from rulebook.model import Kind

    if not kind:
        return ()
    try:
        return (Kind(kind),)
    except ValueError:
        from rulebook.spelling import suggest

        raise UsageError(f"{kind!r} is no kind of document", suggest(kind, [word.value for word in Kind])) from None
