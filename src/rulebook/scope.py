"""Which lists of patterns cover a path, out of tens of thousands, at a cost that does not grow with their number.

A *scope* is a number that stands for one list of patterns (a rule's ``applies_to``, a digest's ``touches``). Testing
every list on every path costs paths times lists. Instead, each pattern is filed under one **token** that every path
it matches is sure to have, and a path looks up the few tokens that it has; only lists found that way are tested.
A search engine finds documents in the same manner, by the rarest word of a query.

======  =======================================  =========================  ===========================
token   a path has it for                        a pattern may be filed     example
                                                 under it for
======  =======================================  =========================  ===========================
``p:``  itself and each folder it is in          the names it begins with   ``src/gen/**``: ``p:src/gen``
``s:``  each of its names                        a name inside              ``**/tests/*.py``: ``s:tests``
``e:``  what each name has behind any of its     the end of a glob, from    ``*.test.ts``: ``e:.test.ts``
        dots, dot included                       its first dot on
``w:``  each word of a name, between             a whole word of a glob     ``test_*``: ``w:test``
        ``_``, ``-``, ``.`` and its ends, but
        for what stands behind the last dot
``g:``  each five characters of a word in a row  five letters of a glob     ``*onnector*``: ``g:necto``
``*``   always                                   want of anything better    ``**``
======  =======================================  =========================  ===========================

Where a pattern could be filed under several tokens it takes the one that the fewest others could take, so thousands
of rules below ``src/**/`` do not end up in one drawer. A choice made with other counts, or with none, is as correct:
what a pattern is filed under decides how many lists are tested, never which ones match. Negated patterns are not
filed: they can only take out what another pattern took in. A pattern with braces is filed once for each alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from rulebook.patterns.compiled import Alternative, Glob, Pattern, PatternList

#: The token that every path has.
ANY = "*"

# In the order of preference among tokens that are equally rare.
_KINDS = "psewg*"

# Grams make every path look up several times as many tokens, so a pattern takes one only where what it
# would take otherwise is shared by more alternatives than a path could test in the same time.
_CROWDED = 32

# Shorter ones stand in too many words by accident: with three characters, a path had 36 lists tested out of
# 50,000, with four 8, with five or six 5 (benchmarks/scope.py).
_GRAM = 5

_WORDS = str.maketrans("_-.", "   ")


# --- filing -----------------------------------------------------------------------------------


def candidate_tokens(alternative: Alternative) -> tuple[str, ...]:
    """The tokens that every path has which ``alternative`` matches, each once; never none.

    ``*`` is among them only where there is no better one than grams.
    """
    tokens: dict[str, None] = {}
    if alternative.inside:
        tokens["p:" + alternative.inside[:-1]] = None
    globs = []
    for number, segment in enumerate(alternative.segments()):
        if isinstance(segment, Glob):
            globs.append(segment)
        elif number >= alternative.inside.count("/"):
            tokens["s:" + segment] = None
    grams: dict[str, None] = {}
    for glob in globs:
        for text, begins, ends in glob.runs():
            dot = text.find(".") if ends else -1
            if dot >= 0:
                tokens["e:" + text[dot:]] = None
            # A word at either end of a run may go on, unless the name begins or ends there.
            words = text.translate(_WORDS).split(" ")
            for word in words[not begins : len(words) if ends and dot < 0 else -1]:
                if word:
                    tokens["w:" + word] = None
            for word in words:
                for place in range(len(word) - _GRAM + 1):
                    grams["g:" + word[place : place + _GRAM]] = None
    if not tokens:
        tokens[ANY] = None
    return (*tokens, *grams)


def choose_token(alternative: Alternative, counts: Mapping[str, int]) -> str:
    """The token to file ``alternative`` under.

    Args:
        alternative: of a pattern that is not negated.
        counts: how many alternatives could be, or are, filed under each token; see :func:`count_tokens`.
    """

    def crowd(token: str) -> tuple[int, int, int]:
        return counts.get(token, 0), _KINDS.index(token[0]), -len(token)

    ranked = sorted(candidate_tokens(alternative), key=crowd)
    best = next(token for token in ranked if token[0] != "g")
    return ranked[0] if counts.get(best, 0) > _CROWDED else best


def count_tokens(patterns: Iterable[Pattern]) -> dict[str, int]:
    """How many alternatives of ``patterns`` could be filed under each token; negated ones do not count."""
    counts: dict[str, int] = {}
    for pattern in patterns:
        if not pattern.negated:
            for alternative in pattern.alternatives:
                for token in candidate_tokens(alternative):
                    counts[token] = counts.get(token, 0) + 1
    return counts


def scope_tokens(patterns: Iterable[Pattern], counts: Mapping[str, int]) -> set[str]:
    """The tokens to file a scope under whose list is ``patterns``; none where it has only negations."""
    return {
        choose_token(alternative, counts)
        for pattern in patterns
        if not pattern.negated
        for alternative in pattern.alternatives
    }


# --- looking up -------------------------------------------------------------------------------


def path_tokens(path: str, *, grams: bool) -> Iterator[str]:
    """All tokens that the file ``path`` has, in no particular order; some may come twice.

    Args:
        path: from the repository's root, ``/`` between its names, not empty.
        grams: whether to give the ``g:`` tokens as well; pointless where no pattern is filed under one.
    """
    yield ANY
    end = path.find("/")
    while end >= 0:
        yield "p:" + path[:end]
        end = path.find("/", end + 1)
    yield "p:" + path
    for name in path.split("/"):
        yield from _name_tokens(name, grams)


def _name_tokens(name: str, grams: bool) -> list[str]:
    tokens = ["s:" + name]
    dot = name.find(".")
    while dot >= 0:
        tokens.append("e:" + name[dot:])
        dot = name.find(".", dot + 1)
    words = name.translate(_WORDS).split(" ")
    # A word of a glob has a separator beside it, or else it would be the whole name. What stands behind
    # the last dot is no word: globs that end like that have an extension.
    if len(words) > 1:
        last = len(words) - (name[-len(words[-1]) - 1] == ".")
        tokens += ["w:" + word for word in words[:last] if word]
    if grams:
        for word in words:
            for place in range(len(word) - _GRAM + 1):
                tokens.append("g:" + word[place : place + _GRAM])
    return tokens


class Postings(Protocol):
    """Where it is kept which scopes are filed under which token."""

    @property
    def has_grams(self) -> bool:
        """Whether any scope is filed under a ``g:`` token."""
        ...

    def lookup(self, tokens: Collection[str]) -> Mapping[str, Sequence[int]]:
        """The scopes filed under each of ``tokens``; those with none may be left out."""
        ...


class MemoryPostings:
    """Postings in a dictionary."""

    def __init__(self, lists: Mapping[int, PatternList]) -> None:
        counts = count_tokens(pattern for listed in lists.values() for pattern in listed.patterns)
        self._scopes: dict[str, list[int]] = {}
        for scope, listed in lists.items():
            for token in scope_tokens(listed.patterns, counts):
                self._scopes.setdefault(token, []).append(scope)
        self.has_grams = any(token.startswith("g:") for token in self._scopes)

    def lookup(self, tokens: Collection[str]) -> Mapping[str, Sequence[int]]:
        """See :meth:`Postings.lookup`."""
        scopes = self._scopes
        return {token: scopes[token] for token in tokens if token in scopes}


def sort_texts(tokens: Collection[str]) -> list[str]:
    """Those of ``tokens`` that SQLite can be asked about; neighbours in a table come one after the other.

    A name that is no UTF-8 comes with surrogates (PEP 383): SQLite takes none, and no pattern holds any.
    """
    if not "".join(tokens).isascii():
        tokens = list(filter(is_text, tokens))
    return sorted(tokens)


def is_text(token: str) -> bool:
    """Whether SQLite can be asked about ``token``."""
    return token.isascii() or not any("\ud800" <= char <= "\udfff" for char in token)


class ScopeIndex:
    """Answers which scopes cover paths."""

    def __init__(self, postings: Postings, load: Callable[[Collection[int]], Mapping[int, PatternList]]) -> None:
        """Makes an index that has read nothing yet.

        Args:
            postings: which scopes are filed under which token.
            load: gives the lists of patterns of all the scopes asked for; each scope is asked for once at most.
        """
        self._postings = postings
        self._load = load
        self._lists: dict[int, PatternList] = {}

    def candidates(self, paths: Iterable[str]) -> dict[str, list[int]]:
        """The scopes whose lists have to be tested on each of ``paths``, in ascending order.

        Each folder is looked at once, whatever the number of paths in it, and each token is looked up once.
        """
        asked = dict.fromkeys(paths)
        grams = self._postings.has_grams
        wanted = {ANY}
        names: dict[str, list[str]] = {}
        steps: list[tuple[str, str, str, list[str]]] = []  # files and folders, each behind the folder it is in
        seen = {""}
        for path in asked:
            climbed = []
            node = path
            while node not in seen:
                seen.add(node)
                folder, _, name = node.rpartition("/")
                tokens = names.get(name)
                if tokens is None:
                    names[name] = tokens = _name_tokens(name, grams)
                    wanted.update(tokens)
                place = "p:" + node
                wanted.add(place)
                climbed.append((node, folder, place, tokens))
                node = folder
            steps += reversed(climbed)

        found = self._postings.lookup(wanted)
        has_none = found.keys().isdisjoint
        scopes: dict[str, list[int]] = {"": sorted(found.get(ANY, ()))}
        for node, folder, place, tokens in steps:
            scopes[node] = scopes[folder]
            # Of the thousands of names in a change, few have anything filed under them.
            if place in found or not has_none(tokens):
                added = [scope for token in (place, *tokens) if token in found for scope in found[token]]
                scopes[node] = sorted({*scopes[folder], *added})
        return {path: scopes[path] for path in asked}

    def match_paths(self, paths: Iterable[str]) -> dict[str, list[tuple[int, Pattern]]]:
        """The scopes that cover each of ``paths``, in ascending order, each with the pattern that decided it."""
        candidates = self.candidates(paths)
        lists = self._lists
        missing = {scope for scopes in candidates.values() for scope in scopes if scope not in lists}
        if missing:
            lists.update(self._load(missing))
        matches: dict[str, list[tuple[int, Pattern]]] = {}
        for path, scopes in candidates.items():
            names = path.split("/")
            matches[path] = [
                (scope, pattern) for scope in scopes if (pattern := lists[scope].match(path, names)) is not None
            ]
        return matches
