"""Texts → terms: one analyser reads entries and queries alike."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from rulebook.index.engine import stem

# Of a longer word (encoded data, say), only the beginning can be found.
_WORD_LENGTH = 200

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
            word = analyse_word(match[0][:_WORD_LENGTH])
            terms += word.terms
            atoms += word.atoms
            continue
        atoms += run
        terms += [first + second for first, second in pairwise(run)]
        # With its last character as a term of its own, every character of the run begins a term.
        if not query or len(run) == 1:
            terms.append(run[-1])
    return Analysis(terms, atoms)


def is_gram(term: str) -> bool:
    """Whether a term or an atom comes from CJK text."""
    return _GRAM.match(term) is not None


@lru_cache(maxsize=1 << 16)
def analyse_word(token: str) -> Analysis:
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


def name_term(text: str) -> str:
    """The term of a whole name where ``text`` is one of several parts, such as an identifier or a path; else empty."""
    found = [*_TOKEN.finditer(unicodedata.normalize("NFKC", text))]
    if len(found) != 1 or found[0]["run"] is not None or len(analyse_word(found[0][0]).atoms) < 2:
        return ""
    return ".".join(_fold(part) for segment in _SEGMENT.split(found[0][0]) for part in segment.split(".") if part)


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


def literal_text(text: str) -> str:
    """``text`` as it is written, but for capitals and white space."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def aliases(identity: str) -> list[str]:
    """What an id may be called: itself and its ends, ``o/n#7`` also ``n#7``, ``#7`` and ``7``."""
    name = alias(identity)
    ends = {name, *(name[match.end() :] for match in re.finditer("[/#]", name))}
    ends.update(name[match.start() :] for match in re.finditer("#", name))
    return sorted(ends - {""})


def alias(text: str) -> str:
    """The form in which ids are compared."""
    name = unicodedata.normalize("NFKC", text).strip().casefold()
    # The address of a pull request is as good as its id.
    name = re.sub(r"^(?:https?://)?github\.com/([^/\s]+/[^/\s]+)/(?:pull|issues)/([0-9]+).*", r"\1#\2", name)
    return re.sub(r"[\s_-]+", "-", name)
