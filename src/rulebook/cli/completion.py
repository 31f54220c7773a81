"""What the shell offers for half a word: names that the knowledge base has.

A completion never fails and never says anything: where there is no knowledge base, it offers nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer  # noqa: TC002  # Typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rulebook.store.query import Store


def _offer(context: typer.Context, incomplete: str, names: Callable[[Store], Iterable[str]]) -> list[str]:
    from rulebook.cli import inputs

    try:
        root = inputs.root_of(str(context.params.get("root") or ""))
        with inputs.load(root, str(context.params.get("index") or ""), quiet=True) as store:
            found = dict.fromkeys(names(store))
    except Exception:  # the shell shows whatever comes out, in the middle of the line that is being typed
        return []
    return sorted(name for name in found if name.casefold().startswith(incomplete.casefold()))


def rules(context: typer.Context, incomplete: str) -> list[str]:
    """The ids of rules."""
    from rulebook.model import Kind

    return _offer(context, incomplete, lambda store: (row.name for row in store.documents(Kind.RULE)))


def documents(context: typer.Context, incomplete: str) -> list[str]:
    """The ids of rules, waivers and digests."""
    return _offer(context, incomplete, lambda store: store.names())


def repositories(context: typer.Context, incomplete: str) -> list[str]:
    """The aliases of target repositories."""
    return _offer(context, incomplete, lambda store: store.config.targets)


def languages(context: typer.Context, incomplete: str) -> list[str]:
    """The languages that documents are written in."""
    return _offer(context, incomplete, lambda store: (row.lang for row in store.documents()))


def labels(context: typer.Context, incomplete: str) -> list[str]:
    """The labels and tags of documents."""
    return _offer(
        context, incomplete, lambda store: (word for row in store.documents() for word in (*row.labels, *row.tags))
    )


def kinds(incomplete: str) -> list[str]:
    """The kinds of documents."""
    from rulebook.model import Kind

    return [kind.value for kind in Kind if kind.value.startswith(incomplete)]
