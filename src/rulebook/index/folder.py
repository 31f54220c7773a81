"""The files of the index, and the manifest that vouches for them."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from rulebook.cachefiles import is_plain, make_way, remove
from rulebook.errors import StoreError
from rulebook.index.engine import FileLock, FileStorage, try_for
from rulebook.index.entries import VERSION

NAME = "rulebook"
_MANIFEST = "manifest.json"
_LOCK = f"{NAME}.lock"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The current state: its files as ``{name: [size, CRC-32]}``, and ``{key: digest}``."""

    files: dict[str, list[int]]
    entries: dict[str, str]


def check(folder: str) -> None:
    """Refuses a folder in which somebody else could have put files."""
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode):
        raise StoreError(f"{folder} is not a folder", "remove it, or choose another one")
    if os.name == "posix" and (info.st_uid != os.geteuid() or info.st_mode & 0o022):
        raise StoreError(
            f"{folder} belongs to another user or is writable by others",
            "a search index is only read from a folder of your own: remove it, or `chmod go-w` it",
        )


def checksum(path: str) -> list[int]:
    """Size in bytes and CRC-32 of a file.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    if not is_plain(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    size = crc = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            size += len(block)
            crc = zlib.crc32(block, crc)
    return [size, crc]


def read_manifest(folder: str) -> Manifest | None:
    """The current state, or ``None`` where there is none, or it is damaged or of another version."""
    text = _manifest_text(folder)
    while text:
        manifest = _parse_manifest(text)
        if manifest is None or _is_intact(folder, manifest):
            return manifest
        # Unless a refresh has replaced it in the meantime, it is damaged.
        before, text = text, _manifest_text(folder)
        if text == before:
            return None
    return None


def _manifest_text(folder: str) -> bytes:
    path = os.path.join(folder, _MANIFEST)
    if is_plain(path):
        with suppress(OSError), open(path, "rb") as file:
            return file.read()
    return b""


def _parse_manifest(text: bytes) -> Manifest | None:
    try:
        data = json.loads(text)
        return Manifest(dict(data["files"]), dict(data["entries"])) if data["version"] == VERSION else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_intact(folder: str, manifest: Manifest) -> bool:
    """Whether the files are those that were written."""
    try:
        return all(checksum(os.path.join(folder, name)) == known for name, known in manifest.files.items())
    except OSError:
        return False


def write_manifest(folder: str, manifest: Manifest) -> None:
    """Makes ``manifest`` the current state, all at once."""
    path = os.path.join(folder, _MANIFEST)
    temporary = os.path.join(folder, f"{NAME}.manifest")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"version": VERSION, "files": manifest.files, "entries": manifest.entries}, file)
    make_way(path)
    os.replace(temporary, path)


def sweep(folder: str, files: Collection[str]) -> None:
    """Removes what earlier states and killed processes left behind, except ``files``."""
    for name in os.listdir(folder):
        if not name.startswith((NAME, f"_{NAME}")) or name in files or name == _LOCK:
            continue
        # Windows keeps what a reader has open; the next sweep gets it.
        remove(os.path.join(folder, name))


class _Storage(FileStorage):  # type: ignore[misc]  # whoosh has no types
    """A folder that knows the files that were created in it."""

    def __init__(self, folder: str, created: list[Any]) -> None:
        super().__init__(folder)
        self.created = created

    def create_file(self, name: str, **options: Any) -> Any:
        file = super().create_file(name, **options)
        self.created.append(file)
        return file

    def temp_storage(self, name: str) -> _Storage:
        """A folder for files that whoosh needs while it writes."""
        storage = _Storage(os.path.join(self.folder, name), self.created)
        storage.create()
        return storage

    def abandon(self) -> None:
        """Closes the files that were created. Python would complain about what cannot be written now."""
        for file in self.created:
            with suppress(Exception):
                file.close()


class Transaction(_Storage):
    """The folder as whoosh sees it: the files of the current state, and those written since.

    Whoosh removes files of the state before as soon as it has written its own table of contents.
    Here they stay until the next manifest stands.
    """

    def __init__(self, folder: str, files: Collection[str]) -> None:
        super().__init__(folder, [])
        self._committed = frozenset(files)
        self._files = set(files)

    def list(self) -> list[str]:
        """The names of the files, as whoosh is to see them."""
        return sorted(self._files)

    def create_file(self, name: str, **options: Any) -> Any:
        """Makes a file, or makes it anew."""
        self._files.add(name)
        return super().create_file(name, **options)

    def rename_file(self, frm: str, to: str, safe: bool = False) -> None:
        """Renames a file that was written."""
        super().rename_file(frm, to, safe=safe)
        self._files.discard(frm)
        self._files.add(to)

    def delete_file(self, name: str) -> None:
        """Removes a file, unless it belongs to the current state."""
        self._files.discard(name)
        if name not in self._committed:
            super().delete_file(name)

    def lock(self, name: str) -> threading.Lock:  # noqa: ARG002
        """A lock that is free: whoever writes holds the folder's."""
        return threading.Lock()


@contextmanager
def lock(folder: str, timeout: float) -> Iterator[bool]:
    """Whether this process became the only writer within ``timeout`` seconds.

    The operating system drops the lock of a process that dies.
    """
    path = os.path.join(folder, _LOCK)
    make_way(path)
    lock = FileLock(path)
    if not try_for(lock.acquire, timeout=timeout, delay=0.05):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
