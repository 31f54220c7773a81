"""Entries → index: only what changed is read and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from typing import Any

from rulebook.errors import StoreError
from rulebook.index.engine import SegmentReader, SegmentWriter
from rulebook.index.entries import SCHEMA, Codec, Entry, Refreshed, document
from rulebook.index.folder import (
    NAME,
    Manifest,
    Transaction,
    check,
    checksum,
    lock,
    read_manifest,
    sweep,
    write_manifest,
)
from rulebook.index.search import postings


def refresh(
    folder: str | os.PathLike[str],
    wanted: Mapping[str, str],
    load: Callable[[Collection[str]], Iterable[Entry]],
    *,
    progress: Callable[[int, int], None] | None = None,
    timeout: float = 60.0,
) -> Refreshed:
    """Brings the index to exactly the entries ``wanted``; only what changed is read and written.

    An index that is missing, damaged or of another version is built anew. Where the folder cannot be
    written to, or another process writes to it for too long, an older state is left standing and
    :attr:`Refreshed.obstacle` says why.

    Args:
        folder: a private folder for the index alone; made where there is none.
        wanted: a digest of the content for the key of every entry.
        load: gives the entries of some keys; a key that it has nothing for is left out.
        progress: called with the number of entries done and of all that have to be read.
        timeout: how many seconds to wait for another process that writes.

    Raises:
        StoreError: the folder is not private, or there is no index and none can be written.
    """
    folder = os.fspath(folder)
    wanted = dict(wanted)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        check(folder)
        manifest = read_manifest(folder)
        if manifest is not None and manifest.entries == wanted:
            return Refreshed(kept=len(wanted))
        with lock(folder, timeout) as locked:
            # Another process may have done the work in the meantime.
            manifest = read_manifest(folder)
            if manifest is not None and manifest.entries == wanted:
                return Refreshed(kept=len(wanted))
            if locked:
                return _update(folder, manifest, wanted, load, progress)
        obstacle = f"another process has been writing the search index in {folder} for too long"
    except OSError as error:
        obstacle = f"cannot write the search index in {folder}: {error.strerror or error}"
        manifest = read_manifest(folder)
    if manifest is None:
        raise StoreError(obstacle, "check the folder's permissions and the disk's free space")
    return Refreshed(kept=len(manifest.entries), obstacle=obstacle)


def _update(
    folder: str,
    manifest: Manifest | None,
    wanted: Mapping[str, str],
    load: Callable[[Collection[str]], Iterable[Entry]],
    progress: Callable[[int, int], None] | None,
) -> Refreshed:
    """Writes what differs from the current state; the caller holds the lock."""
    if manifest is not None:
        entries = list(load([key for key, digest in wanted.items() if manifest.entries.get(key) != digest]))
        try:
            return _commit(folder, manifest, wanted, entries, progress)
        except OSError:
            raise
        except Exception:  # noqa: S110
            # The files are what was written, and yet whoosh cannot go on from them: that may raise
            # anything. The index is a copy, so it can always be made anew.
            pass
    return _commit(folder, Manifest({}, {}), wanted, load(list(wanted)), progress)


def _commit(
    folder: str,
    manifest: Manifest,
    wanted: Mapping[str, str],
    changed: Iterable[Entry],
    progress: Callable[[int, int], None] | None,
) -> Refreshed:
    """Writes the state after ``manifest``, in which ``changed`` are the entries that it lacks."""
    kept = {key: digest for key, digest in manifest.entries.items() if wanted.get(key) == digest}
    entries = dict(kept)
    files = manifest.files
    sweep(folder, files)
    storage = Transaction(folder, files)
    try:
        index = storage.open_index(NAME, SCHEMA) if files else storage.create_index(SCHEMA, NAME)
        writer = SegmentWriter(index, codec=Codec())
        _delete(writer, [key for key in manifest.entries if key not in kept])
        for done, entry in enumerate(changed, start=1):
            writer.add_document(**document(entry))
            entries[entry.key] = wanted[entry.key]
            if progress is not None:
                progress(done, len(wanted) - len(kept))
        writer.commit(mergetype=_merge)
        written = {name: checksum(os.path.join(folder, name)) for name in storage.list()}
        write_manifest(folder, Manifest(written, entries))
        files = written
    finally:
        storage.abandon()
        sweep(folder, files)
    return Refreshed(
        added=len(entries.keys() - manifest.entries.keys()),
        changed=len((entries.keys() & manifest.entries.keys()) - kept.keys()),
        removed=len(manifest.entries.keys() - entries.keys()),
        kept=len(kept),
    )


def _delete(writer: Any, keys: Collection[str]) -> None:
    with closing(writer.reader()) as reader:
        for number in postings(reader, "key", keys):
            writer.delete_document(number)


def _merge(writer: Any, segments: list[Any]) -> list[Any]:
    """Whoosh's merge policy: which of ``segments`` stay, after the others were added to ``writer``.

    A segment is written anew together with the new entries when it has no more living ones than they
    are by then, as when counting in binary; so there are about log2(n) segments at most, and each
    entry is written about log2(n) times. One that has more dead entries than living ones is, too.
    """
    kept = []
    size = writer.doc_count()
    for segment in sorted(segments, key=lambda segment: segment.doc_count()):
        living = segment.doc_count()
        if size >= living or segment.deleted_count() > living:
            if living:
                with closing(SegmentReader(writer.storage, writer.schema, segment)) as reader:
                    writer.add_reader(reader)
            size += living
        else:
            kept.append(segment)
    return kept
