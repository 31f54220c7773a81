"""The door to the store: opens it where it is, or builds it, and brings it up to date."""

from __future__ import annotations

import json
import os
import sqlite3

from rulebook import files
from rulebook.config import CONFIG_NAME
from rulebook.errors import NoKnowledgeBase, StoreError
from rulebook.model import Kind
from rulebook.store.folder import (
    building,
    connect,
    default_folder,
    find_current,
    is_damage,
    replace_current,
    secure_folder,
    sweep,
)
from rulebook.store.query import RefreshStats, Store
from rulebook.store.records import finding_record
from rulebook.store.schema import APPLICATION_ID, FORMAT, TABLE_NAMES, TABLES, Progress


def open_store(root: str, folder: str | None = None, *, progress: Progress | None = None) -> Store:
    """Opens the store of the knowledge base at ``root`` and brings it up to date.

    Args:
        root: a folder with a ``rulebook.toml``, as :func:`rulebook.config.find_root` returns it.
        folder: where the store lives; by default a folder of its own in the user's cache directory.
        progress: called with (files read, files to read) while content is being read.

    Raises:
        StoreError: ``folder`` was given and is unsafe or unusable.
        NoKnowledgeBase: the content folders hold no document at all.
    """
    note = ""
    if folder is not None:
        secure_folder(folder, root)
        try:
            return _checked(_open_in(root, folder, progress))
        except (sqlite3.OperationalError, OSError) as error:
            raise StoreError(
                f"the store in {folder} cannot be written: {error}", "make room, or name another"
            ) from None
    try:
        folder = default_folder(root)
        secure_folder(folder, root)
        return _checked(_open_in(root, folder, progress))
    except StoreError as error:
        note = f"{error.message}; answering from memory"
    except (sqlite3.OperationalError, OSError) as error:
        note = f"the store in {folder} cannot be written ({error}); answering from memory"
    store = Store(root, _create(":memory:", root), None)
    _refresh(store, progress)
    store.notes.append(note)
    return _checked(store)


def _checked(store: Store) -> Store:
    if not any(store.meta(f"files:{kind.value}") not in ("", "0") for kind in Kind):
        store.close()
        raise NoKnowledgeBase(
            f"the knowledge base at {store.root} is empty: no document in rules/, waivers/ or reviews/",
            "write a first rule: docs/format.md shows the smallest one",
        )
    return store


def _open_in(root: str, folder: str, progress: Progress | None) -> Store:
    """The store in a folder, or a new one where there is none that can be used."""
    found = _open_current(root, folder, progress)
    if found is not None:
        return found
    with building(folder) as path:
        # Another process may have done the work while this one waited for its turn.
        found = _open_current(root, folder, progress)
        if found is not None:
            return found
        sweep(folder)
        store = Store(root, _create(path, root), folder)
        try:
            _refresh(store, progress)
            replace_current(path)
        except BaseException:
            store.close()
            raise
        return store


def _open_current(root: str, folder: str, progress: Progress | None) -> Store | None:
    """The store in a folder, up to date; ``None`` where there is none that can be used."""
    path = find_current(folder)
    if path is None:
        return None
    connection = _connect(root, path)
    if connection is None:
        return None
    store = Store(root, connection, folder)
    try:
        _refresh(store, progress, path)
    except (sqlite3.DatabaseError, ValueError) as error:
        store.close()
        # A file that cannot be written in a folder that can be is one more kind of damage.
        if not is_damage(error) and (os.access(path, os.R_OK | os.W_OK) or not os.access(folder, os.W_OK)):
            raise
        return None
    return store


def _connect(root: str, path: str) -> sqlite3.Connection | None:
    """Opens a database file that is a store of ``root``; ``None`` where it is not, or not any more."""
    try:
        connection = connect(path, create=False)
    except sqlite3.OperationalError:
        # Whether a file can be made in its place tells a fault of the folder from one of the file.
        return None
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        owner = connection.execute("SELECT value FROM meta WHERE key = 'root'").fetchone()
        tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if (application, version, owner, tables) == (APPLICATION_ID, FORMAT, (root,), TABLE_NAMES):
            connection.execute("PRAGMA cell_size_check = ON")
            return connection
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            connection.close()
            raise
    connection.close()
    return None


def _create(path: str, root: str) -> sqlite3.Connection:
    connection = connect(path)
    connection.executescript(
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}; BEGIN;{TABLES}COMMIT;"
    )
    connection.execute("INSERT INTO meta VALUES ('root', ?)", (root,))
    return connection


# --- bringing it up to date -------------------------------------------------------------------

_FILE_QUERY = "SELECT path, size, mtime, ctime, inode FROM file ORDER BY path"


def _refresh(store: Store, progress: Progress | None, path: str | None = None) -> None:
    """Reads what changed since the store was last brought up to date.

    Raises:
        sqlite3.DatabaseError: it is damaged; or who builds anew has removed the file at ``path`` meanwhile.
    """
    connection = store.connection
    seen, scan_findings = files.survey(store.root)
    config_stamp = files.stamp_of(os.path.join(store.root, CONFIG_NAME))
    state = (str(tuple(config_stamp or ())), json.dumps([finding_record(finding) for finding in scan_findings]))
    # One text of all stamps is compared in a tenth of the time that the rows take to be read.
    if store.meta("seen") == str(seen) and _state(store) == state:
        store.stats = RefreshStats(kept=len(seen))
        return
    connection.execute("BEGIN IMMEDIATE")
    # From here on nobody removes it: it is being written.
    if path is not None and not os.path.exists(path):
        raise sqlite3.DatabaseError(f"{path} was removed")
    try:
        # Another process may have done the work while this one waited for its turn.
        stored = connection.execute(_FILE_QUERY).fetchall()
        if stored != seen or _state(store) != state:
            from rulebook.store.compilation import compile_changes

            store.stats = compile_changes(store, seen, stored, config_stamp, state, progress)
            stored = connection.execute(_FILE_QUERY).fetchall()
        # Files that were written only just now have a stamp that matches nothing, and are read once more.
        text = str(seen) if stored == seen else ""
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('seen', ?)", (text,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    store.forget_config()


def _state(store: Store) -> tuple[str, str]:
    return (store.meta("config_stamp"), store.meta("scan_findings"))
