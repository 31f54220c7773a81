"""Free-text look-ups: keeps the search index in step with the store, and dresses its hits."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rulebook.errors import StoreError
from rulebook.index.entries import Entry, Refreshed
from rulebook.index.search import search as search_index
from rulebook.index.writer import refresh as refresh_index

if TYPE_CHECKING:
    from rulebook.model import Kind
    from rulebook.store.query import Store
    from rulebook.store.schema import Progress, Row

_FOLDER = "search"


class FoundDocument(NamedTuple):
    """A hit: the document in the language that was found best, and where the words stood.

    ``whole`` is false where a name was searched for and only parts of it stand there.
    """

    row: Row
    score: float
    fields: tuple[str, ...]
    whole: bool = True


def refresh(store: Store, *, progress: Progress | None = None) -> Refreshed:
    """Brings the search index in step with ``store``.

    Raises:
        StoreError: there is none, and none can be written.
    """
    with _folder(None if store.folder is None else os.path.join(store.folder, _FOLDER)) as folder:
        return _refresh(store, folder, progress)


def search(
    store: Store, query: str, *, limit: int = 10, kinds: Collection[Kind] = (), progress: Progress | None = None
) -> list[FoundDocument]:
    """The documents that ``query`` finds, best first; both languages of one count as one hit."""
    lasting = _lasting(store, progress)
    with _folder(lasting) as folder:
        if lasting is None:
            _refresh(store, folder, progress)
        hits = search_index(folder, query, limit=limit, kinds=[kind.value for kind in kinds] or None)
    rows = {_key(row): row for row in store.documents()}
    found = []
    for hit in hits:
        row = next((rows[key] for key in hit.keys if key in rows), None)
        if row is not None:
            found.append(FoundDocument(row, hit.score, hit.fields, hit.whole))
    return found


def entries(store: Store) -> list[Entry]:
    """Every document as the search index takes it."""
    return [_entry(row) for row in store.documents()]


def _refresh(store: Store, folder: str, progress: Progress | None) -> Refreshed:
    def load(keys: Collection[str]) -> Iterable[Entry]:
        return [_entry(row) for row in store.documents() if _key(row) in keys]

    return refresh_index(folder, store.digests(), load, progress=progress)


def _lasting(store: Store, progress: Progress | None) -> str | None:
    """The refreshed index's folder beside the store, or ``None`` where there can be none."""
    if store.folder is None:
        return None
    folder = os.path.join(store.folder, _FOLDER)
    try:
        outcome = _refresh(store, folder, progress)
    except StoreError as error:
        store.notes.append(f"{error.message}; indexed for this search alone")
        return None
    if outcome.obstacle:
        store.notes.append(f"{outcome.obstacle}; searching in an older state")
    return folder


@contextmanager
def _folder(lasting: str | None) -> Iterator[str]:
    """The folder that lasts, or one that vanishes again."""
    if lasting is not None:
        yield lasting
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="rulebook-") as folder:
        yield os.path.join(folder, _FOLDER)


def _key(row: Row) -> str:
    return f"{row.kind.value}:{row.name}:{row.lang}:{row.path}"


def _entry(row: Row) -> Entry:
    return Entry(
        key=_key(row),
        group=f"{row.kind.value}:{row.name}",
        kind=row.kind.value,
        id=row.name,
        title=row.title,
        body=row.body,
        identifiers=_texts(row.identifiers, row.metadata.get("identifiers")),
        paths=row.paths,
        tags=row.tags,
        labels=row.labels,
    )


def _texts(known: Sequence[str], more: object) -> tuple[str, ...]:
    extra = [more] if isinstance(more, str) else more if isinstance(more, list) else []
    return tuple(dict.fromkeys((*known, *(item for item in extra if isinstance(item, str)))))
