"""The search index: entries in, ids and scores out.

The only module that imports whoosh, which is frozen since 2016 and may have to be replaced one day.
Whoosh serves as what it is good at, an inverted file on disk with stored values; what an entry's
terms are, how much they weigh and how hits are ranked is decided here.

**Analysis.** One analyser (:func:`analyse`) reads entries and queries alike. Text is normalised
(NFKC), case and accents are folded. A run of Chinese, Japanese or Korean characters gives its
bigrams, since words are not marked there and a segmenter loses phrases that it cuts differently. A
code word gives itself, its path or module components, the parts of its identifiers, and every two
parts that are neighbours: ``afd_plugin/connectors/GPUWorker.py`` is found by ``connectors``,
``GPUWorker.py``, ``GPUWorker``, ``worker`` and ``plugin/connectors``. ``_`` and ``-`` inside a
component do not count, so ``--enable-eplb`` finds ``enable_eplb``. English words are stemmed
(M. F. Porter, "An algorithm for suffix stripping", 1980) and kept as they are as well.

**Ranking.** BM25F in its simple form (S. Robertson, H. Zaragoza, M. Taylor, "Simple BM25 extension
to multiple weighted fields", 2004): the frequencies of a term in an entry's fields are weighted and
added before they saturate. The sum is known when an entry is added, so the index holds it, and a
query reads one posting list a term. The best candidates are then looked at more closely: an entry
goes up by the stretches of the query that it has word for word, and once more if it has the query as
it is written. Statistics count living entries only, and ties are broken by id: the same entries give
the same answer, whatever the index went through before.

**On disk.** The folder must be private, since whoosh's files hold pickles and reading a pickle runs
what is in it: a folder that is not the user's own, or that others can write to, is refused. What
counts is ``manifest.json``, replaced atomically: it names the files of the current state with their
checksums, and the digest of every entry. Nothing that it does not vouch for is ever opened. So a
process killed at any moment leaves the old state or the new one, a file that was damaged or half
written is noticed, and leftovers are known as such and removed by the next refresh. Readers take no
lock and write nothing.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import shutil
import stat
import threading
import unicodedata
import warnings
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, NamedTuple

from rulebook.errors import StoreError
from rulebook.ordering import natural_key

with warnings.catch_warnings():
    # Whoosh's regular expressions in plain strings and its `is 0` are compiled with warnings that
    # no user can do anything about. Everything that it would import later on is imported here.
    warnings.simplefilter("ignore")
    import whoosh.filedb.compound
    import whoosh.matching.wrappers  # noqa: F401
    from whoosh.codec.whoosh3 import W3Codec, W3Segment
    from whoosh.fields import STORED, FieldType, Schema
    from whoosh.filedb.filestore import FileStorage
    from whoosh.formats import Existence
    from whoosh.lang.porter import stem
    from whoosh.reading import SegmentReader, TermNotFound
    from whoosh.util.filelock import FileLock, try_for
    from whoosh.writing import SegmentWriter

#: Raise it whenever the same entry would be indexed differently: older indexes are then rebuilt.
VERSION = 2

#: How much an occurrence weighs in each field of an entry.
WEIGHTS = {
    "id": 6.0,
    "title": 3.0,
    "identifiers": 2.0,
    "paths": 2.0,
    "tags": 2.0,
    "labels": 2.0,
    "body": 1.0,
}

# BM25's usual parameters. Lengths (in atoms) are held against constants, not against the average of
# all entries, so that an entry's weights do not depend on others. Lists are not better for being short.
_K1 = 1.2
_B = 0.75
_LENGTHS = {"title": 12, "body": 300}

# What the whole query is worth, as a multiple of the score: word for word, and as it is written.
_PHRASE = 3.0
_LITERAL = 3.0
# How many of the best-scored entries are compared with the query word for word.
_CANDIDATES = 64
# Of a whole page as a query, the beginning will do.
_QUERY_LENGTH = 4000
_QUERY_TERMS = 256
# An unknown word of at least three characters stands for up to so many words that it is a piece of.
_PIECE_LENGTH = 3
_COMPLETIONS = 64
# Of a longer word (encoded data, say), only the beginning can be found.
_WORD_LENGTH = 200


# --- what goes in and what comes out ----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document in one language, as far as it can be searched.

    Attributes:
        key: unique, for example ``rule:AFD-I1:zh``.
        group: what is one hit, for example ``rule:AFD-I1`` for both languages of the rule.
        kind: the word of a :class:`rulebook.model.Kind`.
        id: the document's id; a query that is an id, or ends like one, puts it first.
        title: one line.
        body: Markdown.
        identifiers: names of the code that the document speaks of.
        paths: paths and path patterns that it is about.
        tags: words to find it by.
        labels: labels that it is filed under.
    """

    key: str
    group: str
    kind: str
    id: str
    title: str
    body: str
    identifiers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What :func:`refresh` did.

    Attributes:
        added: entries that are new in the index.
        changed: entries that were there with another digest.
        removed: entries that are no longer wanted.
        kept: entries that did not change.
        obstacle: empty, or why the index could not be brought up to date, so that an older state of
            it stands.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    kept: int = 0
    obstacle: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that a query found.

    Attributes:
        group: as in :class:`Entry`.
        kind: as in :class:`Entry`.
        id: as in :class:`Entry`.
        score: above zero, comparable within one answer only.
        keys: the entries of the group that were found, the best one first.
        fields: where the best one has words of the query, as in :data:`WEIGHTS`.
    """

    group: str
    kind: str
    id: str
    score: float
    keys: tuple[str, ...]
    fields: tuple[str, ...]


# --- analysis ---------------------------------------------------------------------------------

# Scripts written without spaces, and Hangul, whose words carry particles: Unicode 16 blocks.
_CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U000323af"
)
_GRAM = re.compile(f"[{_CJK}]")
_TOKEN = re.compile(rf"(?P<run>[{_CJK}]+)|#?[^\W{_CJK}]+(?:[-./\\:#@]{{1,3}}[^\W{_CJK}]+)*")
_SEGMENT = re.compile(r"[/\\:#@]+")
_NUMBER_SIGN = re.compile(r"#[0-9]+")
# Between digits `_` and `-` do count: `l4_4` is not `l44`.
_GLUE = re.compile(r"(?<![0-9])[_-]+|[_-]+(?![0-9])")
# Plurals of acronyms, acronyms before a capitalised word, words, and whatever is left in capitals:
# `PRs`, `AFD|Connector|Factory`, `P2p|Nccl`, `MI355X`.
_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")


class Analysis(NamedTuple):
    """What a text is made of.

    Attributes:
        terms: what the text can be found by, with repetitions.
        atoms: the text in its smallest pieces and their order: characters of CJK text, parts of
            identifiers, words.
    """

    terms: list[str]
    atoms: list[str]


def analyse(text: str, *, query: bool = False) -> Analysis:
    """The terms and atoms of ``text``.

    Args:
        text: any text.
        query: whether to leave out the terms that only serve to find a single CJK character.
    """
    terms: list[str] = []
    atoms: list[str] = []
    for match in _TOKEN.finditer(text if text.isascii() else unicodedata.normalize("NFKC", text)):
        run = match["run"]
        if run is None:
            word = _analyse_word(match[0][:_WORD_LENGTH])
            terms += word.terms
            atoms += word.atoms
            continue
        atoms += run
        terms += [first + second for first, second in pairwise(run)]
        # With its last character as a term of its own, every character of the run begins a term.
        if not query or len(run) == 1:
            terms.append(run[-1])
    return Analysis(terms, atoms)


def _is_gram(term: str) -> bool:
    """Whether a term or an atom comes from CJK text."""
    return _GRAM.match(term) is not None


@lru_cache(maxsize=1 << 16)
def _analyse_word(token: str) -> Analysis:
    """The terms and atoms of a word that may be an identifier, a path, a version or a flag."""
    terms = _NUMBER_SIGN.findall(token)
    atoms: list[str] = []
    whole: list[str] = []
    for segment in _SEGMENT.split(token):
        components = [component for component in segment.split(".") if component]
        folded = [_fold(component) for component in components]
        atoms += [_fold(part) for component in components for part in _parts(component)]
        terms += [*folded, ".".join(folded)]
        whole += folded
    # With every two neighbours as a term, a piece of a long name is found by more than common parts.
    terms += [".".join(whole), *atoms, *map("".join, pairwise(atoms))]
    # The word as it is written and its stem: who writes `documents` gets it before `document`.
    terms += [stem(term) for term in terms if term.isascii() and term.isalpha()]
    return Analysis([term for term in dict.fromkeys(terms) if term], [atom for atom in atoms if atom])


def _parts(component: str) -> list[str]:
    """The parts of an identifier in snake, kebab or camel case."""
    return _PART.findall(component) if component.isascii() else re.split("[_-]+", component)


def _fold(word: str) -> str:
    """``word`` without regard to case, accents, ``_`` and ``-``."""
    folded = _GLUE.sub("", word.casefold())
    if not folded.isascii():
        decomposed = unicodedata.normalize("NFD", folded)
        folded = "".join(c for c in decomposed if not unicodedata.combining(c))
    return folded


def _literal(text: str) -> str:
    """``text`` as it is written, but for capitals and white space."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def _aliases(identity: str) -> list[str]:
    """What an id may be called: itself and its ends, ``o/n#7`` also ``n#7``, ``#7`` and ``7``."""
    name = _alias(identity)
    ends = {name, *(name[match.end() :] for match in re.finditer("[/#]", name))}
    ends.update(name[match.start() :] for match in re.finditer("#", name))
    return sorted(ends - {""})


def _alias(text: str) -> str:
    """The form in which ids are compared."""
    name = unicodedata.normalize("NFKC", text).strip().casefold()
    # The address of a pull request is as good as its id.
    name = re.sub(r"^(?:https?://)?github\.com/([^/\s]+/[^/\s]+)/(?:pull|issues)/([0-9]+).*", r"\1#\2", name)
    return re.sub(r"[\s_-]+", "-", name)


# --- whoosh's view of an entry ----------------------------------------------------------------


class _Terms(FieldType):  # type: ignore[misc]  # whoosh has no types
    """A field whose value is a mapping of terms to weights."""

    def __init__(self) -> None:
        super().__init__(format=Existence(), analyzer=None)

    def index(self, value: Mapping[str, float], **_: Any) -> Iterator[tuple[bytes, int, float, bytes]]:
        """Whoosh's postings: term, frequency, weight, payload."""
        for term, weight in value.items():
            yield self.to_bytes(term), 1, weight, b""

    def to_bytes(self, value: str | bytes) -> bytes:
        """A term as it is stored. Lone surrogates stand for bytes that are not UTF-8, in file names, say."""
        return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")


_SCHEMA = Schema(
    key=_Terms(),
    kind=_Terms(),
    alias=_Terms(),
    words=_Terms(),
    grams=_Terms(),
    entry=STORED(),
    atoms=STORED(),
    literal=STORED(),
)


class _Codec(W3Codec):  # type: ignore[misc]  # whoosh has no types
    """Whoosh's format, with two differences.

    Posting lists are too short for compression to be worth its time: it saves 3 % of the space for
    11 % of the time. And the names of segments come from the operating system: whoosh draws them
    from :mod:`random`, which programs seed, and a segment of the same name would be overwritten.
    """

    def __init__(self) -> None:
        super().__init__(compression=0)

    def new_segment(self, storage: Any, indexname: str) -> Any:  # noqa: ARG002
        return W3Segment(self, indexname, segid=secrets.token_hex(8))


def _document(entry: Entry) -> dict[str, Any]:
    """The fields of :data:`_SCHEMA` for ``entry``."""
    words: dict[str, float] = defaultdict(float)
    grams: dict[str, float] = defaultdict(float)
    atoms = {}
    literal = []
    for field, weight in WEIGHTS.items():
        value = getattr(entry, field)
        text = value if isinstance(value, str) else "\n".join(value)
        analysis = analyse(text)
        length = 1 - _B + _B * len(analysis.atoms) / _LENGTHS[field] if field in _LENGTHS else 1.0
        for term, count in Counter(analysis.terms).items():
            (grams if _is_gram(term) else words)[term] += weight * count / length
        if analysis.atoms:
            atoms[field] = " ".join(analysis.atoms)
        literal.append(_literal(text))
    return {
        "key": {entry.key: 1.0},
        "kind": {entry.kind: 1.0},
        "alias": dict.fromkeys(_aliases(entry.id), 1.0),
        "words": words,
        "grams": grams,
        "entry": (entry.key, entry.group, entry.kind, entry.id),
        "atoms": atoms,
        "literal": "\n".join(literal),
    }


# --- the folder -------------------------------------------------------------------------------

_NAME = "rulebook"
_MANIFEST = "manifest.json"
_LOCK = f"{_NAME}.lock"


@dataclass(frozen=True, slots=True)
class _Manifest:
    """The current state: its files as ``{name: [size, CRC-32]}``, and ``{key: digest}``."""

    files: dict[str, list[int]]
    entries: dict[str, str]


def _check(folder: str) -> None:
    """Refuses a folder in which somebody else could have put files."""
    info = os.lstat(folder)
    if not stat.S_ISDIR(info.st_mode):
        raise StoreError(f"{folder} is not a folder", "remove it, or choose another one")
    if os.name == "posix" and (info.st_uid != os.geteuid() or info.st_mode & 0o022):
        raise StoreError(
            f"{folder} belongs to another user or is writable by others",
            "a search index is only read from a folder of your own: remove it, or `chmod go-w` it",
        )


def _checksum(path: str) -> list[int]:
    """Size in bytes and CRC-32 of a file."""
    size = crc = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            size += len(block)
            crc = zlib.crc32(block, crc)
    return [size, crc]


def _read_manifest(folder: str) -> _Manifest | None:
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
    with suppress(OSError), open(os.path.join(folder, _MANIFEST), "rb") as file:
        return file.read()
    return b""


def _parse_manifest(text: bytes) -> _Manifest | None:
    try:
        data = json.loads(text)
        return _Manifest(dict(data["files"]), dict(data["entries"])) if data["version"] == VERSION else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_intact(folder: str, manifest: _Manifest) -> bool:
    """Whether the files are those that were written."""
    try:
        return all(_checksum(os.path.join(folder, name)) == checksum for name, checksum in manifest.files.items())
    except OSError:
        return False


def _write_manifest(folder: str, manifest: _Manifest) -> None:
    path = os.path.join(folder, _MANIFEST)
    temporary = os.path.join(folder, f"{_NAME}.manifest")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"version": VERSION, "files": manifest.files, "entries": manifest.entries}, file)
    os.replace(temporary, path)


def _sweep(folder: str, files: Collection[str]) -> None:
    """Removes what earlier states and killed processes left behind, except ``files``."""
    for name in os.listdir(folder):
        if not name.startswith((_NAME, f"_{_NAME}")) or name in files or name == _LOCK:
            continue
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
            continue
        try:
            os.remove(path)
        except OSError:
            # Windows keeps what a reader has open; the next sweep gets it.
            continue


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


class _Transaction(_Storage):
    """The folder as whoosh sees it: the files of the current state, and those written since.

    Whoosh removes files of the state before as soon as it has written its own table of contents.
    Here they stay until the next manifest stands.
    """

    def __init__(self, folder: str, files: Collection[str]) -> None:
        super().__init__(folder, [])
        self._committed = frozenset(files)
        self._files = set(files)

    def list(self) -> list[str]:
        return sorted(self._files)

    def create_file(self, name: str, **options: Any) -> Any:
        self._files.add(name)
        return super().create_file(name, **options)

    def rename_file(self, frm: str, to: str, safe: bool = False) -> None:
        super().rename_file(frm, to, safe=safe)
        self._files.discard(frm)
        self._files.add(to)

    def delete_file(self, name: str) -> None:
        self._files.discard(name)
        if name not in self._committed:
            super().delete_file(name)

    def lock(self, name: str) -> threading.Lock:  # noqa: ARG002
        """A lock that is free: whoever writes holds the folder's."""
        return threading.Lock()


@contextmanager
def _lock(folder: str, timeout: float) -> Iterator[bool]:
    """Whether this process became the only writer within ``timeout`` seconds.

    The operating system drops the lock of a process that dies.
    """
    lock = FileLock(os.path.join(folder, _LOCK))
    if not try_for(lock.acquire, timeout=timeout, delay=0.05):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


# --- refresh ----------------------------------------------------------------------------------


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
        _check(folder)
        manifest = _read_manifest(folder)
        if manifest is not None and manifest.entries == wanted:
            return Refreshed(kept=len(wanted))
        with _lock(folder, timeout) as locked:
            # Another process may have done the work in the meantime.
            manifest = _read_manifest(folder)
            if manifest is not None and manifest.entries == wanted:
                return Refreshed(kept=len(wanted))
            if locked:
                return _update(folder, manifest, wanted, load, progress)
        obstacle = f"another process has been writing the search index in {folder} for too long"
    except OSError as error:
        obstacle = f"cannot write the search index in {folder}: {error.strerror or error}"
        manifest = _read_manifest(folder)
    if manifest is None:
        raise StoreError(obstacle, "check the folder's permissions and the disk's free space")
    return Refreshed(kept=len(manifest.entries), obstacle=obstacle)


def _update(
    folder: str,
    manifest: _Manifest | None,
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
    return _commit(folder, _Manifest({}, {}), wanted, load(list(wanted)), progress)


def _commit(
    folder: str,
    manifest: _Manifest,
    wanted: Mapping[str, str],
    changed: Iterable[Entry],
    progress: Callable[[int, int], None] | None,
) -> Refreshed:
    """Writes the state after ``manifest``, in which ``changed`` are the entries that it lacks."""
    kept = {key: digest for key, digest in manifest.entries.items() if wanted.get(key) == digest}
    entries = dict(kept)
    files = manifest.files
    _sweep(folder, files)
    storage = _Transaction(folder, files)
    try:
        index = storage.open_index(_NAME, _SCHEMA) if files else storage.create_index(_SCHEMA, _NAME)
        writer = SegmentWriter(index, codec=_Codec())
        _delete(writer, [key for key in manifest.entries if key not in kept])
        for done, entry in enumerate(changed, start=1):
            writer.add_document(**_document(entry))
            entries[entry.key] = wanted[entry.key]
            if progress is not None:
                progress(done, len(wanted) - len(kept))
        writer.commit(mergetype=_merge)
        written = {name: _checksum(os.path.join(folder, name)) for name in storage.list()}
        _write_manifest(folder, _Manifest(written, entries))
        files = written
    finally:
        storage.abandon()
        _sweep(folder, files)
    return Refreshed(
        added=len(entries.keys() - manifest.entries.keys()),
        changed=len((entries.keys() & manifest.entries.keys()) - kept.keys()),
        removed=len(manifest.entries.keys() - entries.keys()),
        kept=len(kept),
    )


def _delete(writer: Any, keys: Collection[str]) -> None:
    with closing(writer.reader()) as reader:
        for number in _postings(reader, "key", keys):
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


# --- search -----------------------------------------------------------------------------------


def search(
    folder: str | os.PathLike[str], query: str, *, limit: int = 10, kinds: Collection[str] | None = None
) -> list[Hit]:
    """The documents that ``query`` finds, the best one first.

    Args:
        folder: as for :func:`refresh`; nothing is written to it.
        query: any text; there is no query language in which it could be wrong.
        limit: at most how many hits.
        kinds: only hits of these kinds.

    Raises:
        StoreError: the folder is not private, or holds no index that can be read.
    """
    folder = os.fspath(folder)
    try:
        _check(folder)
        manifest = _read_manifest(folder)
        while manifest is not None:
            try:
                index = _Transaction(folder, manifest.files).open_index(_NAME, _SCHEMA)
                with closing(index.reader()) as reader:
                    return _search(reader, query[:_QUERY_LENGTH], limit, kinds)
            except FileNotFoundError:
                # A refresh removed the file before it was opened; what that refresh wrote is there.
                manifest = _read_manifest(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"cannot read the search index in {folder}: {error.strerror or error}") from error
    raise StoreError(f"there is no search index in {folder}", "run `rulebook index`")


def _search(reader: Any, query: str, limit: int, kinds: Collection[str] | None) -> list[Hit]:
    analysis = analyse(query, query=True)
    terms = list(dict.fromkeys(analysis.terms))[:_QUERY_TERMS]
    atoms = analysis.atoms[:_QUERY_TERMS]
    named = _postings(reader, "alias", [_alias(query)])
    scores = dict.fromkeys(named, 0.0) | _score(reader, terms, frozenset(atoms))
    if kinds is not None:
        allowed = _postings(reader, "kind", kinds)
        scores = {number: score for number, score in scores.items() if number in allowed}

    members: dict[str, list[_Found]] = defaultdict(list)
    for found in _compare(reader, scores, named, atoms, _literal(query), limit):
        members[found.group].append(found)
    return [
        Hit(
            group=group,
            kind=found[0].kind,
            id=found[0].id,
            score=found[0].score,
            keys=tuple(entry.key for entry in found),
            fields=_fields(terms, found[0].atoms),
        )
        for group, found in islice(members.items(), max(0, limit))
    ]


class _Found(NamedTuple):
    """An entry that was found, with its final score and the atoms of its fields."""

    key: str
    group: str
    kind: str
    id: str
    score: float
    atoms: Mapping[str, str]


def _compare(
    reader: Any, scores: Mapping[int, float], named: Collection[int], atoms: Sequence[str], literal: str, limit: int
) -> list[_Found]:
    """The best entries of ``scores`` in their final order, enough of them for ``limit`` hits.

    Those in ``named`` come first, the others by their scores, which grow with how close they are to
    the query's ``atoms`` and if they have its ``literal`` text.
    """
    ranked: list[tuple[tuple[Any, ...], _Found]] = []
    groups: set[str] = set()
    least = math.inf
    for number in sorted(scores, key=lambda number: (number not in named, -scores[number])):
        # All entries that are as good as the last one come along: which of them is not left to chance.
        if len(ranked) >= _CANDIDATES and len(groups) >= limit and scores[number] < least:
            break
        least = scores[number]
        stored = reader.stored_fields(number)
        phrase = _PHRASE * _closeness(atoms, " | ".join(stored["atoms"].values()))
        phrase += _LITERAL * (literal in stored["literal"])
        key, group, kind, identity = stored["entry"]
        found = _Found(key, group, kind, identity, least * (1 + phrase), stored["atoms"])
        groups.add(group)
        ranked.append(((number not in named, -found.score, natural_key(identity), kind, key), found))
    return [found for _, found in sorted(ranked, key=lambda item: item[0])]


def _score(reader: Any, terms: Iterable[str], atoms: Collection[str]) -> dict[int, float]:
    """BM25F: the scores of the entries that have one of ``terms``, by their numbers.

    A term that no entry has and that is no whole of several words may be a piece of a word.
    """
    living = reader.doc_count()
    words: list[str] = []
    scores: dict[int, float] = defaultdict(float)
    for term in terms:
        if not _is_gram(term):
            frequencies = _postings(reader, "words", [term])
            if not frequencies and len(term) >= _PIECE_LENGTH and term in atoms:
                words = words or _terms(reader, "words")
                frequencies = _complete(reader, words, term)
        elif len(term) > 1:
            frequencies = _postings(reader, "grams", [term])
        else:
            frequencies = _postings(reader, "grams", _terms(reader, "grams", term))
        rarity = math.log(1 + (living - len(frequencies) + 0.5) / (len(frequencies) + 0.5))
        for number, frequency in frequencies.items():
            scores[number] += rarity * frequency * (_K1 + 1) / (frequency + _K1)
    return scores


def _complete(reader: Any, words: Iterable[str], piece: str) -> dict[int, float]:
    """What :func:`_postings` says of those of ``words`` that ``piece`` may be cut from.

    Words that begin with it come first, then the shorter ones.
    """
    whole = sorted((word for word in words if piece in word), key=lambda word: (not word.startswith(piece), len(word)))
    frequencies: dict[int, float] = defaultdict(float)
    # Only words that some entry still has count against the limit.
    postings = (found for word in whole if (found := _postings(reader, "words", [word])))
    for found in islice(postings, _COMPLETIONS):
        for number, frequency in found.items():
            frequencies[number] += frequency
    return frequencies


def _terms(reader: Any, field: str, prefix: str = "") -> list[str]:
    """The terms of ``field`` that begin with ``prefix``, in their order."""
    terms: set[bytes] = set()
    for leaf, _ in reader.leaf_readers():
        if field in leaf.indexed_field_names():
            terms.update(leaf.expand_prefix(field, prefix))
    return [term.decode("utf-8", "surrogatepass") for term in sorted(terms)]


def _postings(reader: Any, field: str, terms: Collection[str]) -> dict[int, float]:
    """The summed weights of ``terms`` in the living entries that have one of them, by their numbers."""
    weights: dict[int, float] = defaultdict(float)
    for leaf, base in reader.leaf_readers():
        for term in terms:
            try:
                matcher = leaf.postings(field, term)
            except TermNotFound:
                continue
            while matcher.is_active():
                weights[base + matcher.id()] += matcher.weight()
                matcher.next()
    return weights


def _closeness(atoms: Sequence[str], text: str) -> float:
    """How far ``text`` has ``atoms`` word for word, from 0 to 1.

    The squared lengths of the longest stretches, over the squared length of the whole. At its ends
    the query may be cut in the middle of a word.
    """
    text = f" {text} "
    total = start = 0
    while start < len(atoms):
        end = start
        while end < len(atoms) and _stretch(atoms, start, end + 1) in text:
            end += 1
        total += (end - start) ** 2
        start = max(end, start + 1)
    return total / len(atoms) ** 2 if atoms else 0.0


def _stretch(atoms: Sequence[str], start: int, end: int) -> str:
    return ("" if start == 0 else " ") + " ".join(atoms[start:end]) + ("" if end == len(atoms) else " ")


def _fields(terms: Collection[str], stored: Mapping[str, str]) -> tuple[str, ...]:
    """The fields that have one of ``terms``, wholes of several words aside."""
    wanted = frozenset(terms)
    fields = []
    for field, text in stored.items():
        atoms = text.split(" ")
        found = set(atoms)
        for atom, following in zip(atoms, [*atoms[1:], ""], strict=True):
            found.update([atom + following] if _is_gram(atom) else _analyse_word(atom).terms)
        if found & wanted:
            fields.append(field)
    return tuple(fields)
