"""What the store answers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook.errors import StoreError
from rulebook.model import Finding, Kind, ReviewDigest, Rule, Severity
from rulebook.ordering import natural_key
from rulebook.patterns.compiled import PatternList
from rulebook.scope import Postings, is_text
from rulebook.store.folder import forget_current, is_damage
from rulebook.store.postings import CHUNK, SqlitePostings
from rulebook.store.records import config_from, finding_from, read_row, review_from, rule_from
from rulebook.store.schema import COLUMNS, Row

if TYPE_CHECKING:
    from typing_extensions import Self

    from rulebook.config import Config


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
        if self.folder and isinstance(error, sqlite3.DatabaseError) and is_damage(error):
            # Damage in a page that opening the store does not look at; the next run builds it again.
            forget_current(self.folder)
            raise StoreError("the store was damaged, and was removed", "run it again") from error

    # --- what there is ---

    @property
    def config(self) -> Config:
        """The stored reading of ``rulebook.toml``."""
        if self._config is None:
            self._config = config_from(json.loads(self.meta("config") or "{}"))
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
        found = [*self.config.findings, *map(finding_from, json.loads(self.meta("scan_findings") or "[]"))]
        for (text,) in rows:
            found.extend(finding_from(item) for item in json.loads(text))
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
        query = f"SELECT {COLUMNS} FROM document WHERE {' AND '.join(where)}"
        rows = [read_row(values) for values in self.connection.execute(query, values)]
        if label is not None:
            wanted = label.lower()
            rows = [row for row in rows if wanted in map(str.lower, (*row.labels, *row.tags))]
        order = {kind: index for index, kind in enumerate(Kind)}
        rows.sort(key=lambda row: (order[row.kind], row.repo, natural_key(row.name), row.twin, row.lang, row.path))
        return rows

    def find(self, name: str) -> list[Row]:
        """The documents of that name in any language, by kind; capitals do not matter."""
        query = f"SELECT {COLUMNS} FROM document WHERE name = ? COLLATE NOCASE ORDER BY twin, lang, path"
        return [read_row(values) for values in self.connection.execute(query, (name,))]

    def names(self) -> list[str]:
        """Every document's name, for suggestions."""
        return [str(name) for (name,) in self.connection.execute("SELECT DISTINCT name FROM document ORDER BY name")]

    def digests(self) -> dict[str, str]:
        """The content hash of every document, by ``kind:name:lang:path``."""
        query = "SELECT kind, name, lang, path, digest FROM document"
        return {f"{k}:{n}:{lang}:{p}": str(d) for k, n, lang, p, d in self.connection.execute(query)}

    # --- matching ---

    def postings(self, repo: str) -> Postings:
        """The tokens of one target repository's rules; of all digests for :data:`EVERY_REPO`."""
        return SqlitePostings(self.connection, repo, has_grams=self.meta("grams") == "1")

    def patterns(self, scopes: Collection[int]) -> dict[int, PatternList]:
        """The compiled patterns of scopes."""
        rows = self._select("SELECT id, patterns FROM scope WHERE id IN", scopes)
        return {int(row[0]): PatternList.from_data(json.loads(row[1])) for row in rows}

    def owners(self, scopes: Collection[int]) -> dict[int, Rule | ReviewDigest]:
        """The rules and digests that scopes belong to, without their texts."""
        rows = self._select("SELECT id, kind, record FROM scope WHERE id IN", scopes)
        return {
            int(row[0]): rule_from(json.loads(row[2])) if row[1] == "rule" else review_from(json.loads(row[2]))
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
        wanted = sorted(filter(is_text, paths))
        for start in range(0, len(wanted), CHUNK):
            chunk = wanted[start : start + CHUNK]
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
        for start in range(0, len(wanted), CHUNK):
            chunk = wanted[start : start + CHUNK]
            yield from self.connection.execute(f"{query} ({','.join('?' * len(chunk))})", chunk)
