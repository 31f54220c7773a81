"""Index × query → hits, the best one first."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple

from rulebook.errors import StoreError
from rulebook.index.analysis import alias, analyse, analyse_word, is_gram, literal_text, name_term
from rulebook.index.engine import TermNotFound
from rulebook.index.entries import SCHEMA, Hit
from rulebook.index.folder import NAME, Transaction, check, read_manifest
from rulebook.ordering import natural_key

# BM25's usual parameter for how fast occurrences saturate.
_K1 = 1.2

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


def search(
    folder: str | os.PathLike[str], query: str, *, limit: int = 10, kinds: Collection[str] | None = None
) -> list[Hit]:
    """The documents that ``query`` finds, the best one first.

    Args:
        folder: as for :func:`rulebook.index.writer.refresh`; nothing is written to it.
        query: any text; there is no query language in which it could be wrong.
        limit: at most how many hits.
        kinds: only hits of these kinds.

    Raises:
        StoreError: the folder is not private, or holds no index that can be read.
    """
    folder = os.fspath(folder)
    try:
        check(folder)
        manifest = read_manifest(folder)
        while manifest is not None:
            try:
                index = Transaction(folder, manifest.files).open_index(NAME, SCHEMA)
                with closing(index.reader()) as reader:
                    return _search(reader, query[:_QUERY_LENGTH], limit, kinds)
            except FileNotFoundError:
                # A refresh removed the file before it was opened; what that refresh wrote is there.
                manifest = read_manifest(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"cannot read the search index in {folder}: {error.strerror or error}") from error
    raise StoreError(f"there is no search index in {folder}", "run `rulebook index`")


def _search(reader: Any, query: str, limit: int, kinds: Collection[str] | None) -> list[Hit]:
    analysis = analyse(query, query=True)
    terms = list(dict.fromkeys(analysis.terms))[:_QUERY_TERMS]
    atoms = analysis.atoms[:_QUERY_TERMS]
    named = postings(reader, "alias", [alias(query)])
    scores = dict.fromkeys(named, 0.0) | _score(reader, terms, frozenset(atoms))
    if kinds is not None:
        allowed = postings(reader, "kind", kinds)
        scores = {number: score for number, score in scores.items() if number in allowed}

    name = name_term(query)
    # Where the query is no name of several parts, each entry has all that there is of it.
    whole = postings(reader, "words", [name]) if name else scores
    members: dict[str, list[_Found]] = defaultdict(list)
    for found in _compare(reader, scores, named, whole, atoms, literal_text(query), limit):
        members[found.group].append(found)
    return [
        Hit(
            group=group,
            kind=found[0].kind,
            id=found[0].id,
            score=found[0].score,
            keys=tuple(entry.key for entry in found),
            fields=_fields(terms, found[0].atoms),
            whole=any(entry.whole for entry in found),
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
    whole: bool


def _compare(
    reader: Any,
    scores: Mapping[int, float],
    named: Collection[int],
    whole: Collection[int],
    atoms: Sequence[str],
    literal: str,
    limit: int,
) -> list[_Found]:
    """The best entries of ``scores`` in their final order, enough of them for ``limit`` hits.

    Those in ``named`` come first, then those that have the query's name in one piece, as those in ``whole`` do; the
    others by their scores, which grow with how close they are to its ``atoms`` and if they have its ``literal`` text.
    """
    ranked: list[tuple[tuple[Any, ...], _Found]] = []
    groups: set[str] = set()
    least = math.inf
    for number in sorted(scores, key=lambda number: (number not in named, number not in whole, -scores[number])):
        # All entries that are as good as the last one come along: which of them is not left to chance.
        if len(ranked) >= _CANDIDATES and len(groups) >= limit and scores[number] < least:
            break
        least = scores[number]
        stored = reader.stored_fields(number)
        closeness = _closeness(atoms, " | ".join(stored["atoms"].values()))
        is_literal = literal in stored["literal"]
        phrase = _PHRASE * closeness + _LITERAL * is_literal
        in_one = number in named or number in whole or is_literal or closeness == 1
        key, group, kind, identity = stored["entry"]
        found = _Found(key, group, kind, identity, least * (1 + phrase), stored["atoms"], in_one)
        groups.add(group)
        ranked.append(((number not in named, not in_one, -found.score, natural_key(identity), kind, key), found))
    return [found for _, found in sorted(ranked, key=lambda item: item[0])]


def _score(reader: Any, terms: Iterable[str], atoms: Collection[str]) -> dict[int, float]:
    """BM25F: the scores of the entries that have one of ``terms``, by their numbers.

    A term that no entry has and that is no whole of several words may be a piece of a word.
    """
    living = reader.doc_count()
    words: list[str] = []
    scores: dict[int, float] = defaultdict(float)
    for term in terms:
        if not is_gram(term):
            frequencies = postings(reader, "words", [term])
            if not frequencies and len(term) >= _PIECE_LENGTH and term in atoms:
                words = words or _terms(reader, "words")
                frequencies = _complete(reader, words, term)
        elif len(term) > 1:
            frequencies = postings(reader, "grams", [term])
        else:
            frequencies = postings(reader, "grams", _terms(reader, "grams", term))
        rarity = math.log(1 + (living - len(frequencies) + 0.5) / (len(frequencies) + 0.5))
        for number, frequency in frequencies.items():
            scores[number] += rarity * frequency * (_K1 + 1) / (frequency + _K1)
    return scores


def _complete(reader: Any, words: Iterable[str], piece: str) -> dict[int, float]:
    """What :func:`postings` says of those of ``words`` that ``piece`` may be cut from.

    Words that begin with it come first, then the shorter ones.
    """
    whole = sorted((word for word in words if piece in word), key=lambda word: (not word.startswith(piece), len(word)))
    frequencies: dict[int, float] = defaultdict(float)
    # Only words that some entry still has count against the limit.
    lists = (found for word in whole if (found := postings(reader, "words", [word])))
    for found in islice(lists, _COMPLETIONS):
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


def postings(reader: Any, field: str, terms: Collection[str]) -> dict[int, float]:
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
            found.update([atom + following] if is_gram(atom) else analyse_word(atom).terms)
        if found & wanted:
            fields.append(field)
    return tuple(fields)
