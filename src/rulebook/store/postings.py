"""Which scopes are filed under which token (:mod:`rulebook.scope`), in a table of SQLite."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from rulebook import scope

if TYPE_CHECKING:
    import sqlite3

    from rulebook.patterns.compiled import PatternList

TABLE = """\
CREATE TABLE token(key TEXT NOT NULL, scope INTEGER NOT NULL, PRIMARY KEY(key, scope)) WITHOUT ROWID;
CREATE INDEX token_scope ON token(scope);"""

#: Of SQLite's builds, the most frugal ones take 999 parameters (SQLITE_MAX_VARIABLE_NUMBER before 3.32).
CHUNK = 500


class SqlitePostings:
    """A repository's part of the table, as :class:`rulebook.scope.Postings`."""

    def __init__(self, connection: sqlite3.Connection, repo: str, *, has_grams: bool) -> None:
        """``has_grams`` is what :func:`holds_grams` says of the table."""
        self._connection = connection
        self._prefix = _key(repo, "")
        self.has_grams = has_grams

    def lookup(self, tokens: Collection[str]) -> dict[str, list[int]]:
        """See :meth:`rulebook.scope.Postings.lookup`."""
        prefix = self._prefix
        cut = len(prefix)
        found: dict[str, list[int]] = {}
        keys = [prefix + token for token in scope.sort_texts(tokens)]
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            query = f"SELECT key, scope FROM token WHERE key IN ({','.join('?' * len(chunk))})"
            for key, owner in self._connection.execute(query, chunk):
                found.setdefault(key[cut:], []).append(owner)
        return found


def file_scopes(connection: sqlite3.Connection, repo: str, lists: Mapping[int, PatternList]) -> None:
    """Files each pattern of a repository's scopes under the rarest token that all paths it matches have."""
    counts = scope.count_tokens(pattern for listed in lists.values() for pattern in listed.patterns)
    for token in counts:
        # What is filed already counts as well, so that a token does not fill up edit by edit.
        query = "SELECT COUNT(*) FROM token WHERE key = ?"
        counts[token] += int(connection.execute(query, (_key(repo, token),)).fetchone()[0])
    rows = [
        (_key(repo, token), identity)
        for identity, listed in lists.items()
        for token in scope.scope_tokens(listed.patterns, counts)
    ]
    connection.executemany("INSERT OR IGNORE INTO token VALUES (?, ?)", sorted(rows))


def holds_grams(connection: sqlite3.Connection) -> bool:
    """Whether any scope of any repository is filed under a ``g:`` token; reads the whole table where none is."""
    query = "SELECT 1 FROM token WHERE key LIKE '%' || char(10) || 'g:%' LIMIT 1"
    return connection.execute(query).fetchone() is not None


def _key(repo: str, token: str) -> str:
    return f"{repo}\n{token}"
