"""The store: the knowledge base in a form that answers without being read whole.

One SQLite file holds every document, the compiled patterns by the tokens that select them
(:mod:`rulebook.scope`), and the stamp of every content file. SQLite is a data format: nothing in it
runs when it is opened; pages are read as they are needed, so a query costs the same with 12 rules and with 50,000; a
transaction that is killed never happened.

Where it lives decides whom it can be trusted from. A checkout can carry files that a stranger
committed, so the store lives in the user's cache directory, in a folder that only its owner can write,
and never inside the content's own checkout.

Every :func:`open_store` compares the content's stamps with the stored ones and reads again what
changed. Whatever goes wrong with the folder, the answer is still given, from a store in memory.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import sys
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook import files, scope
from rulebook.config import CONFIG_NAME, Config, Target
from rulebook.errors import NoKnowledgeBase, StoreError
from rulebook.model import (
    CoChange,
    Finding,
    Kind,
    Location,
    On,
    ReviewDigest,
    Rule,
    Severity,
    Signal,
    Status,
)
from rulebook.ordering import natural_key
from rulebook.patterns.compiled import PatternList
from rulebook.patterns.syntax import compile_patterns

if TYPE_CHECKING:
    from typing_extensions import Self

    from rulebook.model import Document

#: Raised with every change of the tables or of what they mean; another format is another folder.
FORMAT = 5
_APPLICATION_ID = 0x52756C65  # "Rule"
_POINTER = "current"
_BUSY_SECONDS = 30.0
#: A file written this shortly before it was read may change again without its times showing it.
_RACY_NS = 50_000_000
_CHUNK = 500
#: Digests are filed here: what was learnt in one repository may be worth reading in another.
EVERY_REPO = ""

Progress = Callable[[int, int], None]

_TABLES = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file(
  path TEXT PRIMARY KEY, kind TEXT NOT NULL, size INTEGER, mtime INTEGER, ctime INTEGER, inode INTEGER,
  digest TEXT NOT NULL, findings TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE document(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  lang TEXT NOT NULL, twin INTEGER NOT NULL, repo TEXT NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL,
  severity TEXT NOT NULL, tags TEXT NOT NULL, labels TEXT NOT NULL, identifiers TEXT NOT NULL,
  paths TEXT NOT NULL, metadata TEXT NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL
);
CREATE INDEX document_path ON document(path);
CREATE INDEX document_name ON document(name COLLATE NOCASE, kind);
CREATE INDEX document_kind ON document(kind, repo);
CREATE TABLE scope(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, patterns TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE token(key TEXT NOT NULL, scope INTEGER NOT NULL, PRIMARY KEY(key, scope)) WITHOUT ROWID;
CREATE INDEX token_scope ON token(scope);
CREATE TABLE cited(repo TEXT NOT NULL, name TEXT NOT NULL, scope INTEGER NOT NULL, PRIMARY KEY(repo, name, scope))
  WITHOUT ROWID;
CREATE INDEX cited_scope ON cited(scope);
CREATE TABLE label(name TEXT NOT NULL, scope INTEGER NOT NULL, PRIMARY KEY(name, scope)) WITHOUT ROWID;
CREATE INDEX label_scope ON label(scope);
CREATE TABLE pin(repo TEXT NOT NULL, path TEXT NOT NULL, pin TEXT NOT NULL, document INTEGER NOT NULL);
CREATE INDEX pin_path ON pin(repo, path);
CREATE INDEX pin_document ON pin(document);
"""

_TABLE_NAMES = {line.split()[2].partition("(")[0] for line in _TABLES.splitlines() if line.startswith("CREATE TABLE")}


class Row(NamedTuple):
    """A stored document, as look-ups show it."""

    id: int
    path: str
    line: int
    kind: Kind
    name: str
    lang: str
    twin: bool
    repo: str
    title: str
    status: str
    severity: str
    tags: tuple[str, ...]
    labels: tuple[str, ...]
    identifiers: tuple[str, ...]
    paths: tuple[str, ...]
    metadata: Mapping[str, Any]
    digest: str
    body: str


_COLUMNS = ", ".join(Row._fields)


class RefreshStats(NamedTuple):
    """What a refresh did, counted in files."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    kept: int = 0


class Store:
    """An open store that is up to date with the content.

    Attributes:
        root: the knowledge base's folder.
        config: what its ``rulebook.toml`` says.
        folder: where the store lives, or ``None`` for one in memory.
        notes: what the user should know about the store itself, one sentence each.
        stats: what opening it had to refresh.
        connection: the SQLite file; its tables are this module's own business.
    """

    def __init__(self, root: str, connection: sqlite3.Connection, folder: str | None) -> None:
        self.root = root
        self.folder = folder
        self.notes: list[str] = []
        self.stats = RefreshStats()
        self.connection = connection
        self._config: Config | None = None

    def forget_config(self) -> None:
        """Makes the next look at :attr:`config` read it again."""
        self._config = None

    def close(self) -> None:
        """Closes the file; the store cannot be used after that."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self.close()
        if self.folder and isinstance(error, sqlite3.DatabaseError) and _is_damage(error):
            # Damage in a page that opening the store does not look at; the next run builds it again.
            _unlink(os.path.join(self.folder, _POINTER))
            raise StoreError("the store was damaged, and was removed", "run it again") from error

    # --- what there is ---

    @property
    def config(self) -> Config:
        """The stored reading of ``rulebook.toml``."""
        if self._config is None:
            data = json.loads(self.meta("config") or "{}")
            self._config = Config(
                targets={alias: Target(alias=alias, **fields) for alias, fields in data.get("targets", {}).items()},
                findings=tuple(_finding_from(item) for item in data.get("findings", ())),
            )
        return self._config

    def meta(self, key: str) -> str:
        """A value of the store's own, or an empty string."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    @property
    def generation(self) -> str:
        """Changes with every change of the content."""
        return self.meta("generation")

    def findings(self) -> list[Finding]:
        """What was found wrong while single files were read, in the order of their paths."""
        rows = self.connection.execute("SELECT findings FROM file WHERE findings <> '[]' ORDER BY path")
        found = [*self.config.findings, *map(_finding_from, json.loads(self.meta("scan_findings") or "[]"))]
        for (text,) in rows:
            found.extend(_finding_from(item) for item in json.loads(text))
        return found

    @property
    def trouble(self) -> str:
        """One line about errors in the content, which may hide rules; empty where there are none."""
        broken = [finding for finding in self.findings() if finding.severity is Severity.ERROR]
        if not broken:
            return ""
        path, line = broken[0].location
        more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
        return f"{path}{f':{line}' if line else ''}: {broken[0].message}{more}; see: rulebook lint"

    def count(self, kind: Kind, repo: str | None = None) -> int:
        """How many documents there are that can match a change."""
        if repo is None:
            query, values = "SELECT value FROM meta WHERE key = ?", (f"count:{kind.value}",)
        else:
            query, values = "SELECT value FROM meta WHERE key = ?", (f"count:{kind.value}:{repo}",)
        row = self.connection.execute(query, values).fetchone()
        return int(row[0]) if row else 0

    # --- look-ups ---

    def documents(self, kind: Kind | None = None, *, repo: str | None = None, label: str | None = None) -> list[Row]:
        """Documents in the order of kind, repository and name; twins behind their originals."""
        where, values = ["1"], []
        if kind is not None:
            where.append("kind = ?")
            values.append(kind.value)
        if repo is not None:
            where.append("repo = ?")
            values.append(repo)
        query = f"SELECT {_COLUMNS} FROM document WHERE {' AND '.join(where)}"
        rows = [_row(values) for values in self.connection.execute(query, values)]
        if label is not None:
            wanted = label.lower()
            rows = [row for row in rows if wanted in map(str.lower, (*row.labels, *row.tags))]
        order = {kind: index for index, kind in enumerate(Kind)}
        rows.sort(key=lambda row: (order[row.kind], row.repo, natural_key(row.name), row.twin, row.lang, row.path))
        return rows

    def find(self, name: str) -> list[Row]:
        """The documents of that name in any language, by kind; capitals do not matter."""
        query = f"SELECT {_COLUMNS} FROM document WHERE name = ? COLLATE NOCASE ORDER BY twin, lang, path"
        return [_row(values) for values in self.connection.execute(query, (name,))]

    def names(self) -> list[str]:
        """Every document's name, for suggestions."""
        return [str(name) for (name,) in self.connection.execute("SELECT DISTINCT name FROM document ORDER BY name")]

    def digests(self) -> dict[str, str]:
        """The content hash of every document, by ``kind:name:lang:path``."""
        query = "SELECT kind, name, lang, path, digest FROM document"
        return {f"{k}:{n}:{lang}:{p}": str(d) for k, n, lang, p, d in self.connection.execute(query)}

    # --- matching ---

    def postings(self, repo: str) -> scope.Postings:
        """The tokens of one target repository's rules; of all digests for :data:`EVERY_REPO`."""
        return _Postings(self.connection, repo, self.meta("grams") == "1")

    def patterns(self, scopes: Collection[int]) -> dict[int, PatternList]:
        """The compiled patterns of scopes."""
        rows = self._select("SELECT id, patterns FROM scope WHERE id IN", scopes)
        return {int(row[0]): PatternList.from_data(json.loads(row[1])) for row in rows}

    def owners(self, scopes: Collection[int]) -> dict[int, Rule | ReviewDigest]:
        """The rules and digests that scopes belong to, without their texts."""
        rows = self._select("SELECT id, kind, record FROM scope WHERE id IN", scopes)
        return {
            int(row[0]): _rule_from(json.loads(row[2])) if row[1] == "rule" else _review_from(json.loads(row[2]))
            for row in rows
        }

    def cited(self, repo: str, scopes: Collection[int]) -> dict[int, dict[str, int]]:
        """The names of code that each rule's text cites, with the number of rules that cite each."""
        found: dict[int, dict[str, int]] = {}
        names: dict[str, list[int]] = {}
        for name, owner in self._select("SELECT name, scope FROM cited WHERE scope IN", scopes):
            names.setdefault(name, []).append(owner)
        for name, owners in names.items():
            query = "SELECT COUNT(*) FROM cited WHERE repo = ? AND name = ?"
            (count,) = self.connection.execute(query, (repo, name)).fetchone()
            for owner in owners:
                found.setdefault(owner, {})[name] = int(count)
        return found

    def labelled(self, labels: Collection[str]) -> dict[str, list[int]]:
        """The scopes of the digests that carry each of ``labels``; capitals do not matter."""
        found: dict[str, list[int]] = {}
        for label in labels:
            query = "SELECT scope FROM label WHERE name = ?"
            owners = [int(owner) for (owner,) in self.connection.execute(query, (label.lower(),))]
            if owners:
                found[label] = owners
        return found

    def pinned(self, repo: str, paths: Collection[str]) -> list[tuple[str, str, str, str]]:
        """Pins into those paths of a target: (path, pin, kind and name of the owner)."""
        found: list[tuple[str, str, str, str]] = []
        wanted = sorted(filter(scope.is_text, paths))
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            query = (
                "SELECT DISTINCT pin.path, pin.pin, document.kind, document.name FROM pin JOIN document"
                f" ON document.id = pin.document WHERE pin.repo = ? AND pin.path IN ({marks})"
            )
            found.extend(
                (str(p), str(q), str(k), str(n)) for p, q, k, n in self.connection.execute(query, (repo, *chunk))
            )
        return sorted(found)

    def waivers(self, repo: str) -> list[tuple[str, Mapping[str, Any]]]:
        """The path and the frontmatter of each waiver filed for ``repo``."""
        query = "SELECT path, metadata FROM document WHERE kind = 'waiver' AND repo = ? AND twin = 0 ORDER BY path"
        return [(str(path), json.loads(text)) for path, text in self.connection.execute(query, (repo,))]

    def _select(self, query: str, ids: Collection[int]) -> Iterable[tuple[Any, ...]]:
        wanted = list(ids)
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            yield from self.connection.execute(f"{query} ({','.join('?' * len(chunk))})", chunk)


class _Postings:
    """A repository's part of the token table, as :class:`rulebook.scope.Postings`."""

    def __init__(self, connection: sqlite3.Connection, repo: str, has_grams: bool) -> None:
        self.connection = connection
        self._prefix = f"{repo}\n"
        self.has_grams = has_grams

    def lookup(self, tokens: Collection[str]) -> dict[str, list[int]]:
        prefix = self._prefix
        cut = len(prefix)
        found: dict[str, list[int]] = {}
        keys = [prefix + token for token in scope.sort_texts(tokens)]
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            query = f"SELECT key, scope FROM token WHERE key IN ({','.join('?' * len(chunk))})"
            for key, owner in self.connection.execute(query, chunk):
                found.setdefault(key[cut:], []).append(owner)
        return found


# --- opening ----------------------------------------------------------------------------------


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


def _open_in(root: str, folder: str, progress: Progress | None) -> Store:
    """Opens the folder's current file, or builds one where there is none that can be used."""
    connection = _connect(root, folder)
    if connection is not None:
        store = Store(root, connection, folder)
        try:
            _refresh(store, progress)
        except (sqlite3.DatabaseError, ValueError) as error:
            store.close()
            if not _is_damage(error):
                raise
        else:
            return store
    return _build(root, folder, progress)


def _connect(root: str, folder: str) -> sqlite3.Connection | None:
    try:
        with open(os.path.join(folder, _POINTER), encoding="ascii") as file:
            name = file.read(100)
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    path = os.path.join(folder, name)
    if not name.startswith("catalog-") or "/" in name or not os.path.isfile(path):
        return None
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        owner = connection.execute("SELECT value FROM meta WHERE key = 'root'").fetchone()
        tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if (application, version, owner, tables) == (_APPLICATION_ID, FORMAT, (root,), _TABLE_NAMES):
            connection.execute("PRAGMA cell_size_check = ON")
            return connection
    except sqlite3.DatabaseError as error:
        if not _is_damage(error):
            connection.close()
            raise
    connection.close()
    return None


def _is_damage(error: Exception) -> bool:
    """Whether a file was damaged, by a disk or by hand: what it held can be made again.

    Operational errors concern the folder, the disk or another process, except where a table is gone.
    """
    return not isinstance(error, sqlite3.OperationalError) or "no such" in str(error)


def _build(root: str, folder: str, progress: Progress | None) -> Store:
    """Builds a new file beside the current one and then points to it.

    The pointer, not the file, is replaced: an SQLite file must not change its name while another
    process may hold its journal.
    """
    name = f"catalog-{os.getpid():x}-{time.time_ns():x}.db"
    path = os.path.join(folder, name)
    connection = _create(path, root)
    store = Store(root, connection, folder)
    try:
        _refresh(store, progress)
        temporary = os.path.join(folder, f"{_POINTER}-{os.getpid():x}-{time.time_ns():x}")
        with open(temporary, "w", encoding="ascii") as file:
            file.write(name)
        os.replace(temporary, os.path.join(folder, _POINTER))
    except BaseException:
        store.close()
        _unlink(path)
        raise
    _sweep(folder, name)
    return store


def _sweep(folder: str, keep: str) -> None:
    """Removes files that older builds left; what is younger than an hour may be another's work."""
    horizon = time.time() - 3600
    for entry in os.scandir(folder):
        stale = entry.name.startswith(("catalog-", f"{_POINTER}-")) and not entry.name.startswith(keep)
        if stale and entry.stat(follow_symlinks=False).st_mtime < horizon:
            _unlink(entry.path)


def _unlink(path: str) -> None:
    for suffix in ("", "-journal"):
        try:
            os.unlink(path + suffix)
        except OSError:
            pass


def _create(path: str, root: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    connection.executescript(
        f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {FORMAT}; BEGIN;{_TABLES}COMMIT;"
    )
    connection.execute("INSERT INTO meta VALUES ('root', ?)", (root,))
    return connection


# --- refreshing -------------------------------------------------------------------------------

_FILE_QUERY = "SELECT path, size, mtime, ctime, inode FROM file ORDER BY path"


def _refresh(store: Store, progress: Progress | None) -> None:
    """Reads what changed since the store was last brought up to date."""
    connection = store.connection
    seen, scan_findings = files.survey(store.root)
    config_stamp = files.stamp_of(os.path.join(store.root, CONFIG_NAME))
    state = (str(tuple(config_stamp or ())), json.dumps([_finding_data(finding) for finding in scan_findings]))
    # One text of all stamps is compared in a tenth of the time that the rows take to be read.
    if store.meta("seen") == str(seen) and _state(store) == state:
        store.stats = RefreshStats(kept=len(seen))
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done the work while this one waited for its turn.
        stored = connection.execute(_FILE_QUERY).fetchall()
        if stored != seen or _state(store) != state:
            store.stats = _apply(store, seen, stored, config_stamp, state, progress)
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


def _apply(
    store: Store,
    seen: Sequence[files.Seen],
    stored: Sequence[tuple[Any, ...]],
    config_stamp: files.Stamp | None,
    state: tuple[str, str],
    progress: Progress | None,
) -> RefreshStats:
    import hashlib

    from rulebook.config import parse_config, read_config
    from rulebook.parse import parse_file

    connection = store.connection
    # Taken before anything is read: what is written from here on is too fresh to be trusted.
    began = time.time_ns()
    old = {row[0]: row[1:] for row in stored}
    config = store.config
    data = read_config(store.root)
    config_digest = hashlib.sha256(data).hexdigest()
    if config_digest != store.meta("config_digest"):
        config = parse_config(data)
        # The repositories' names stand in every compiled scope.
        for table in ("file", "document", "scope", "token", "cited", "label", "pin"):
            connection.execute(f"DELETE FROM {table}")
        old = {}
    changed = [files.entry_of(found) for found in seen if old.get(found[0]) != found[1:]]
    removed = old.keys() - {found[0] for found in seen}
    documents: list[tuple[int, Document, str]] = []
    next_id = int(connection.execute("SELECT COALESCE(MAX(id), 0) FROM document").fetchone()[0]) + 1
    reread = 0
    for path in removed:
        _forget(connection, path)
    for done, entry in enumerate(changed):
        if progress is not None:
            progress(done, len(changed))
        text = files.read_text(store.root, entry.path)
        digest = hashlib.sha256(
            (text if isinstance(text, str) else text.message).encode("utf-8", "surrogatepass")
        ).hexdigest()
        known = connection.execute("SELECT digest FROM file WHERE path = ?", (entry.path,)).fetchone()
        stamp = _settled(entry.stamp, began)
        if known == (digest,):
            connection.execute(
                "UPDATE file SET kind=?, size=?, mtime=?, ctime=?, inode=? WHERE path = ?",
                (entry.kind.value, *stamp, entry.path),
            )
            continue
        reread += 1
        _forget(connection, entry.path)
        found, findings = parse_file(entry.path, entry.kind, text) if isinstance(text, str) else ([], [text])
        connection.execute(
            "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (entry.path, entry.kind.value, *stamp, digest, json.dumps([_finding_data(item) for item in findings])),
        )
        for document in found:
            documents.append((next_id, document, digest))
            next_id += 1
    if progress is not None:
        progress(len(changed), len(changed))
    _insert(connection, config, documents)
    if reread or removed or config_digest != store.meta("config_digest") or state[1] != store.meta("scan_findings"):
        _conclude(connection, config, {"config_digest": config_digest, "scan_findings": state[1]})
    settled = _settled(config_stamp, began) if config_stamp else ()
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('config_stamp', ?)", (str(tuple(settled)),))
    added = sum(1 for entry in changed if entry.path not in old)
    return RefreshStats(added=added, changed=len(changed) - added, removed=len(removed), kept=len(seen) - len(changed))


def _settled(stamp: files.Stamp, began: int) -> files.Stamp:
    """The stamp to store: one that matches nothing where the file was written only just before ``began``."""
    latest = max(stamp.mtime_ns, stamp.ctime_ns)
    # Whole seconds mean a file system without finer times.
    window = _RACY_NS if stamp.mtime_ns % 1_000_000_000 else 2_000_000_000
    return stamp._replace(inode=-1) if began - latest < window else stamp


def _forget(connection: sqlite3.Connection, path: str) -> None:
    ids = [row[0] for row in connection.execute("SELECT id FROM document WHERE path = ?", (path,))]
    for identity in ids:
        for table in ("scope", "token", "cited", "label", "pin", "document"):
            column = {"scope": "id", "document": "id", "pin": "document"}.get(table, "scope")
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (identity,))
    connection.execute("DELETE FROM file WHERE path = ?", (path,))


def _insert(connection: sqlite3.Connection, config: Config, documents: Sequence[tuple[int, Document, str]]) -> None:
    from rulebook import markdown
    from rulebook.files import split_language
    from rulebook.pins import PinError, parse_pin

    wanted: list[tuple[int, str, PatternList]] = []
    for identity, document, digest in documents:
        repo = config.resolve(document.repo)
        twin = bool(split_language(document.location.path)[1])
        spans = markdown.outline(document.body).code_spans
        names = markdown.identifiers(spans)
        rule = document if isinstance(document, Rule) else None
        review = document if isinstance(document, ReviewDigest) else None
        labels = review.labels if review else ()
        patterns = rule.applies_to if rule else review.touches if review else ()
        paths = [*patterns, *(span.text for span in spans if "/" in span.text)]
        for source in document.sources:
            try:
                pin = parse_pin(source.pin)
            except PinError:
                continue
            paths.append(pin.path)
            row = (config.resolve(pin.alias), pin.path, source.pin, identity)
            connection.execute("INSERT INTO pin VALUES (?, ?, ?, ?)", row)
        connection.execute(
            f"INSERT INTO document ({_COLUMNS}) VALUES ({','.join('?' * len(Row._fields))})",
            (
                identity,
                document.location.path,
                document.location.line,
                document.kind.value,
                document.id,
                document.lang,
                int(twin),
                repo,
                document.title,
                rule.status.value if rule else "",
                rule.severity.value if rule else "",
                _dump(document.tags),
                _dump(labels),
                _dump(list(dict.fromkeys((*names, *(span.text for span in spans if " " not in span.text))))),
                _dump(list(dict.fromkeys(paths))),
                _dump(dict(document.metadata)),
                f"{digest}:{document.location.line}",
                document.body,
            ),
        )
        if twin or not patterns or (rule and not rule.status.matches):
            continue
        compiled = compile_patterns(patterns)
        record = _rule_record(rule) if rule else _review_record(review) if review else {}
        connection.execute(
            "INSERT INTO scope VALUES (?, ?, ?, ?)",
            (identity, document.kind.value, _dump(compiled.to_data()), _dump(record)),
        )
        wanted.append((identity, repo if rule else EVERY_REPO, compiled))
        if rule and rule.look_for is None:
            connection.executemany("INSERT OR IGNORE INTO cited VALUES (?, ?, ?)", [(repo, n, identity) for n in names])
        rows = [(label.lower(), identity) for label in labels]
        connection.executemany("INSERT OR IGNORE INTO label VALUES (?, ?)", rows)
    _insert_tokens(connection, wanted)


def _insert_tokens(connection: sqlite3.Connection, wanted: Sequence[tuple[int, str, PatternList]]) -> None:
    """Files each pattern under the rarest token that all paths it matches have."""
    by_repo: dict[str, list[tuple[int, PatternList]]] = {}
    for identity, repo, compiled in wanted:
        by_repo.setdefault(repo, []).append((identity, compiled))
    for repo, lists in by_repo.items():
        counts = scope.count_tokens(pattern for _, listed in lists for pattern in listed.patterns)
        for token in counts:
            # What is filed already counts as well, so that a token does not fill up edit by edit.
            query = "SELECT COUNT(*) FROM token WHERE key = ?"
            counts[token] += int(connection.execute(query, (f"{repo}\n{token}",)).fetchone()[0])
        rows = [
            (f"{repo}\n{token}", identity)
            for identity, listed in lists
            for token in scope.scope_tokens(listed.patterns, counts)
        ]
        connection.executemany("INSERT OR IGNORE INTO token VALUES (?, ?)", sorted(rows))


def _conclude(connection: sqlite3.Connection, config: Config, state: Mapping[str, str]) -> None:
    """Writes what is true of the store as a whole."""
    values = {
        "config": _dump(
            {
                "targets": {
                    alias: {"url": t.url, "default_branch": t.default_branch, "waivers": t.waivers}
                    for alias, t in config.targets.items()
                },
                "findings": [_finding_data(item) for item in config.findings],
            }
        ),
        **state,
        "generation": f"{time.time_ns():x}-{os.getpid():x}",
    }
    connection.execute("DELETE FROM meta WHERE key LIKE 'count:%' OR key LIKE 'files:%'")
    for kind, count in connection.execute("SELECT kind, COUNT(*) FROM file GROUP BY kind").fetchall():
        values[f"files:{kind}"] = str(count)
    query = (
        "SELECT kind, repo, COUNT(DISTINCT name) FROM document WHERE twin = 0"
        " AND status IN ('', 'active', 'contested') GROUP BY kind, repo"
    )
    for kind, repo, count in connection.execute(query).fetchall():
        values[f"count:{kind}:{repo}"] = str(count)
        values[f"count:{kind}"] = str(int(values.get(f"count:{kind}", "0")) + count)
    grams = connection.execute("SELECT 1 FROM token WHERE key LIKE '%' || char(10) || 'g:%' LIMIT 1").fetchone()
    values["grams"] = "1" if grams else "0"
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", sorted(values.items()))


# --- nouns to and from JSON -------------------------------------------------------------------


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _row(values: Sequence[Any]) -> Row:
    fields = list(values)
    for index, name in enumerate(Row._fields):
        if name in ("tags", "labels", "identifiers", "paths"):
            fields[index] = tuple(json.loads(fields[index]))
    fields[Row._fields.index("metadata")] = json.loads(fields[Row._fields.index("metadata")])
    fields[Row._fields.index("kind")] = Kind(fields[Row._fields.index("kind")])
    fields[Row._fields.index("twin")] = bool(fields[Row._fields.index("twin")])
    return Row(*fields)


def _signal_data(signal: Signal) -> dict[str, Any]:
    data: dict[str, Any] = {
        name: getattr(signal, name)
        for name in ("identifiers", "lines", "functions", "changes", "inside")
        if getattr(signal, name)
    }
    if signal.on is not On.CHANGED:
        data["on"] = signal.on.value
    return data


def _signal_from(data: Mapping[str, Any]) -> Signal:
    fields: dict[str, Any] = {name: tuple(value) for name, value in data.items() if name != "on"}
    return Signal(**fields, on=On(data.get("on", "changed")))


def _rule_record(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "repo": rule.repo,
        "at": list(rule.location),
        "status": rule.status.value,
        "severity": rule.severity.value,
        "tags": rule.tags,
        "look_for": None if rule.look_for is None else [_signal_data(signal) for signal in rule.look_for],
        "co_changes": [[_signal_data(c.when), c.then, c.because] for c in rule.co_changes],
    }


def _rule_from(data: Mapping[str, Any]) -> Rule:
    look_for = data["look_for"]
    return Rule(
        id=data["id"],
        title=data["title"],
        repo=data["repo"],
        location=Location(*data["at"]),
        body="",
        tags=tuple(data["tags"]),
        status=Status(data["status"]),
        severity=Severity(data["severity"]),
        look_for=None if look_for is None else tuple(_signal_from(item) for item in look_for),
        co_changes=tuple(
            CoChange(when=_signal_from(when), then=tuple(then), because=because)
            for when, then, because in data["co_changes"]
        ),
    )


def _review_record(review: ReviewDigest) -> dict[str, Any]:
    return {
        "id": review.id,
        "title": review.title,
        "repo": review.repo,
        "at": list(review.location),
        "labels": review.labels,
        "reading": review.reading,
        "minutes": review.minutes,
    }


def _review_from(data: Mapping[str, Any]) -> ReviewDigest:
    return ReviewDigest(
        id=data["id"],
        title=data["title"],
        repo=data["repo"],
        location=Location(*data["at"]),
        body="",
        labels=tuple(data["labels"]),
        reading=data["reading"],
        minutes=data["minutes"],
    )


def _finding_data(finding: Finding) -> list[Any]:
    return [finding.code, finding.severity.value, finding.message, *finding.location, finding.remedy]


def _finding_from(data: Sequence[Any]) -> Finding:
    return Finding(
        code=data[0],
        severity=Severity(data[1]),
        message=data[2],
        location=Location(data[3], data[4]),
        remedy=data[5],
    )
