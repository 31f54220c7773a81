"""Where the store's files are, who may write them, and who is writing.

A folder has a pointer, ``current``, to the database file in use. A new file is built beside it before the pointer is
replaced, not the file: a database must not change its name while another process may hold its journal. One process
builds at a time, so that whatever else lies there is out of use, or what a killed one left, and goes before the next
file is begun.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager

from rulebook.cachefiles import is_plain, make_way, remove
from rulebook.errors import StoreError
from rulebook.store.schema import FORMAT

_POINTER = "current"
_PREFIX = "catalog-"
_LOCK = "building"
#: What SQLite puts behind the name of a file for its rollback journal.
_JOURNAL = "-journal"

#: Seconds after which another process that is writing is no longer waited for.
BUSY_SECONDS = 30.0


# --- where it is, and whose -------------------------------------------------------------------


def default_folder(root: str) -> str:
    """The store's folder for ``root`` in the user's cache directory."""
    from platformdirs import user_cache_dir

    # Two checksums make an accidental clash negligible; the root is stored and compared anyway.
    data = os.fsencode(root)
    key = f"{zlib.crc32(data):08x}{zlib.adler32(data[::-1]):08x}"
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in os.path.basename(root))[:40]
    return os.path.join(user_cache_dir("rulebook", appauthor=False), f"v{FORMAT}", f"{name or 'root'}-{key}")


def secure_folder(folder: str, root: str) -> None:
    """Makes sure that only the current user can write ``folder``; creates it where it is missing.

    Raises:
        StoreError: it lies inside the content's checkout, is a link, belongs to somebody else or can
            be written by others.
    """
    real = os.path.realpath(folder)
    checkout = _checkout_of(root)
    if os.path.commonpath([real, checkout]) == checkout:
        raise StoreError(
            f"the store's folder {folder} lies inside the content's checkout {checkout}, where commits can plant files",
            "name a folder outside of it",
        )
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        info = os.lstat(folder)
    except OSError as error:
        raise StoreError(f"the store's folder {folder} cannot be made: {error.strerror}", "name another one") from None
    if not stat.S_ISDIR(info.st_mode):
        raise StoreError(f"the store's folder {folder} is a link or a file", "name a real folder")
    if sys.platform == "win32":
        return
    if info.st_uid != os.geteuid():
        raise StoreError(f"the store's folder {folder} belongs to another user", "name a folder of your own")
    if info.st_mode & 0o022:
        raise StoreError(f"the store's folder {folder} can be written by others", f"chmod go-w {folder}")
    parent = os.path.dirname(real)
    while parent != os.path.dirname(parent):
        mode = os.stat(parent).st_mode
        if mode & 0o002 and not mode & stat.S_ISVTX:
            raise StoreError(
                f"the store's folder {folder} lies below {parent}, which everybody can write", "name another one"
            )
        parent = os.path.dirname(parent)


def _checkout_of(root: str) -> str:
    """The git checkout around ``root``, or ``root`` itself."""
    folder = os.path.realpath(root)
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return os.path.realpath(root)
        folder = parent


# --- which files it has -----------------------------------------------------------------------


def find_current(folder: str) -> str | None:
    """The path of the database file in use, if there is one."""
    pointer = os.path.join(folder, _POINTER)
    if not is_plain(pointer):
        return None
    try:
        with open(pointer, encoding="ascii") as file:
            name = file.read(100)
    except (OSError, UnicodeDecodeError):
        return None
    path = os.path.join(folder, name)
    return path if name.startswith(_PREFIX) and not {"/", "\0"} & set(name) and is_plain(path) else None


def forget_current(folder: str) -> None:
    """Makes the next run build a new file."""
    remove(os.path.join(folder, _POINTER))


@contextmanager
def building(folder: str) -> Iterator[str]:
    """The path to build a new file at; nobody else builds meanwhile, and the file is gone if building fails.

    The lock is one of SQLite's, on a file that stays empty: the system drops it with the process, however that ends.

    Raises:
        sqlite3.OperationalError: another process has been building for :data:`BUSY_SECONDS`, or nothing can be written.
    """
    place = os.path.join(folder, _LOCK)
    make_way(place)
    lock = connect(place)
    try:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            # Emptied, not removed: whoever did the same a moment ago and has the lock by now goes on having it.
            os.truncate(place, 0)
            lock.close()
            lock = connect(place)
            lock.execute("BEGIN EXCLUSIVE")
        path = os.path.join(folder, f"{_PREFIX}{os.getpid():x}-{time.time_ns():x}.db")
        try:
            yield path
        except BaseException:
            remove(path + _JOURNAL)
            remove(path)
            raise
    finally:
        lock.close()


def sweep(folder: str) -> None:
    """Removes database files and pointers that nobody uses; for who is :func:`building`."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.startswith(f"{_POINTER}-") or (name.endswith(_JOURNAL) and not os.path.exists(path[: -len(_JOURNAL)])):
            remove(path)
        elif name.startswith(_PREFIX) and not name.endswith(_JOURNAL):
            if is_plain(path):
                make_way(path)
                _remove_unused(path)
            else:
                remove(path)


def _remove_unused(path: str) -> None:
    """Removes a database file, unless another process is just reading or writing it: its journal is under way."""
    try:
        with closing(connect(path, seconds=0, create=False)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            remove(path + _JOURNAL)
            remove(path)
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            remove(path)


def replace_current(path: str) -> None:
    """Points to a file that was built."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f"{_POINTER}-{os.getpid():x}-{time.time_ns():x}")
    with open(temporary, "w", encoding="ascii") as file:
        file.write(name)
    pointer = os.path.join(folder, _POINTER)
    make_way(pointer)
    os.replace(temporary, pointer)


def connect(path: str, *, seconds: float = BUSY_SECONDS, create: bool = True) -> sqlite3.Connection:
    """Opens a database file; transactions are begun and ended by hand.

    Args:
        path: of the file, or ``:memory:``.
        seconds: how long to wait for another process that is writing.
        create: whether to make a file that is missing.

    Raises:
        sqlite3.OperationalError: it cannot be opened.
    """
    if create:
        return sqlite3.connect(path, timeout=seconds, isolation_level=None)
    # https://www.sqlite.org/uri.html: an absolute path, in which these three would end it.
    place = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{place}?mode=rw", timeout=seconds, isolation_level=None, uri=True)


def is_damage(error: Exception) -> bool:
    """Whether a file was damaged, by a disk or by hand: what it held can be made again.

    Operational errors concern the folder, the disk or another process, except where a table is gone.
    """
    return not isinstance(error, sqlite3.OperationalError) or "no such" in str(error)
