"""The content, read and written into the tables of the store: what only a run that finds changes needs."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rulebook import files, markdown
from rulebook.config import Config, parse_config, read_config
from rulebook.model import ReviewDigest, Rule
from rulebook.parse import parse_file
from rulebook.patterns.syntax import compile_patterns
from rulebook.pins import PinError, parse_pin
from rulebook.store.postings import file_scopes, holds_grams
from rulebook.store.query import RefreshStats, Store
from rulebook.store.records import config_record, dump, finding_record, review_record, rule_record
from rulebook.store.schema import COLUMNS, EVERY_REPO, Progress, Row

if TYPE_CHECKING:
    import sqlite3

    from rulebook.model import Document
    from rulebook.patterns.compiled import PatternList

#: A file written this shortly before it was read may change again without its times showing it.
_RACY_NS = 50_000_000


def compile_changes(
    store: Store,
    seen: Sequence[files.Seen],
    stored: Sequence[tuple[Any, ...]],
    config_stamp: files.Stamp | None,
    state: tuple[str, str],
    progress: Progress | None,
) -> RefreshStats:
    """Reads the files that changed, and writes what they say into the tables, within the caller's transaction.

    Args:
        store: an open store.
        seen: the content's files as they are.
        stored: the same as the store knows them.
        config_stamp: that of the configuration.
        state: the stamp of the configuration and the findings of the survey, as they are to be stored.
        progress: called while files are read.
    """
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
            (entry.path, entry.kind.value, *stamp, digest, json.dumps([finding_record(item) for item in findings])),
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
    lists: dict[str, dict[int, PatternList]] = {}
    for identity, document, digest in documents:
        repo = config.resolve(document.repo)
        twin = bool(files.split_language(document.location.path)[1])
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
            f"INSERT INTO document ({COLUMNS}) VALUES ({','.join('?' * len(Row._fields))})",
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
                dump(document.tags),
                dump(labels),
                dump(list(dict.fromkeys((*names, *(span.text for span in spans if " " not in span.text))))),
                dump(list(dict.fromkeys(paths))),
                dump(dict(document.metadata)),
                f"{digest}:{document.location.line}",
                document.body,
            ),
        )
        if twin or not patterns or (rule and not rule.status.matches):
            continue
        compiled = compile_patterns(patterns)
        record = rule_record(rule) if rule else review_record(review) if review else {}
        connection.execute(
            "INSERT INTO scope VALUES (?, ?, ?, ?)",
            (identity, document.kind.value, dump(compiled.to_data()), dump(record)),
        )
        lists.setdefault(repo if rule else EVERY_REPO, {})[identity] = compiled
        if rule and rule.look_for is None:
            connection.executemany("INSERT OR IGNORE INTO cited VALUES (?, ?, ?)", [(repo, n, identity) for n in names])
        rows = [(label.lower(), identity) for label in labels]
        connection.executemany("INSERT OR IGNORE INTO label VALUES (?, ?)", rows)
    for repo, scopes in lists.items():
        file_scopes(connection, repo, scopes)


def _conclude(connection: sqlite3.Connection, config: Config, state: Mapping[str, str]) -> None:
    """Writes what is true of the store as a whole."""
    values = {
        "config": dump(config_record(config)),
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
    values["grams"] = "1" if holds_grams(connection) else "0"
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", sorted(values.items()))
