"""The tables of the store, and a document as they hold it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook.store import postings

if TYPE_CHECKING:
    from rulebook.model import Kind

#: Raised with every change of the tables or of what they mean; another format is another folder.
FORMAT = 6
APPLICATION_ID = 0x52756C65  # "Rule"
#: Digests are filed here: what was learnt in one repository may be worth reading in another.
EVERY_REPO = ""

#: Called with (files read, files to read) while content is being read.
Progress = Callable[[int, int], None]

TABLES = f"""
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
{postings.TABLE}
CREATE TABLE cited(repo TEXT NOT NULL, name TEXT NOT NULL, scope INTEGER NOT NULL, PRIMARY KEY(repo, name, scope))
  WITHOUT ROWID;
CREATE INDEX cited_scope ON cited(scope);
CREATE TABLE label(name TEXT NOT NULL, scope INTEGER NOT NULL, PRIMARY KEY(name, scope)) WITHOUT ROWID;
CREATE INDEX label_scope ON label(scope);
CREATE TABLE pin(repo TEXT NOT NULL, path TEXT NOT NULL, pin TEXT NOT NULL, document INTEGER NOT NULL);
CREATE INDEX pin_path ON pin(repo, path);
CREATE INDEX pin_document ON pin(document);
"""

TABLE_NAMES = {line.split()[2].partition("(")[0] for line in TABLES.splitlines() if line.startswith("CREATE TABLE")}


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


COLUMNS = ", ".join(Row._fields)
