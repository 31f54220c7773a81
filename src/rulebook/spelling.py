"""What somebody may have meant who wrote a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: How many names a hint lists.
SHOWN = 12


def nearest(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names most like ``word``, the likeliest first: those that it begins, then those of nearly its letters.

    Neither letters' case nor the dashes of an option matter.

    >>> nearest("aplies", ["applies", "list", "lint"])
    ['applies']
    >>> nearest("afd", ["inferencex", "afd-plugin"])
    ['afd-plugin']
    """
    import difflib

    names = {_bare(name): name for name in known}
    bare = _bare(word)
    begun = [name for name in names if bare and name.startswith(bare)]
    similar = difflib.get_close_matches(bare, names, count, 0.65)
    return [names[name] for name in dict.fromkeys((*begun, *similar))][:count]


def _bare(name: str) -> str:
    return name.casefold().lstrip("-")


def suggest(word: str, known: Iterable[str]) -> str:
    """A hint for an error about ``word``: what it may have been meant to be, and what there is.

    >>> suggest("inferencx", ["afd-plugin", "inferencex"])
    'did you mean inferencex? known: afd-plugin, inferencex'
    """
    names = list(dict.fromkeys(known))
    near = nearest(word, names)
    meant = f"{did_you_mean(near)} " if near else ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{meant}known: {', '.join(names[:SHOWN]) or 'none'}{more}"


def did_you_mean(names: Sequence[str]) -> str:
    """A question about some names; empty without any.

    >>> did_you_mean(["a", "b", "c"])
    'did you mean a, b or c?'
    """
    if not names:
        return ""
    *first, last = names
    return f"did you mean {', '.join(first)} or {last}?" if first else f"did you mean {last}?"
