"""What a rule looks for in a change, said in sentences of each language."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest

from rulebook.model import CoChange, On, Signal
from rulebook.site import blocks as b
from rulebook.site.words import alternatives, word

_LINE = {
    "en": {On.ADDED: "An added line", On.REMOVED: "A removed line", On.CHANGED: "A changed line"},
    "zh": {On.ADDED: "新增的行", On.REMOVED: "删除的行", On.CHANGED: "改动的行（新增或删除）"},
}
_CHANGES = {
    "en": {
        "added": "added",
        "modified": "modified",
        "deleted": "deleted",
        "renamed": "renamed",
        "copied": "copied",
        "mode": "given another mode",
        "binary": "changed as a binary file",
        "unknown": "changed in an unknown way",
    },
    "zh": {
        "added": "新增",
        "modified": "修改",
        "deleted": "删除",
        "renamed": "重命名",
        "copied": "复制",
        "mode": "更改权限",
        "binary": "作为二进制文件改动",
        "unknown": "以未知方式改动",
    },
}
#: Patterns up to this number stand in the sentence, more of them below it.
_IN_LINE = 1


def say_signal(signal: Signal, lang: str) -> b.Item:
    """A signal as a sentence, with its places below where they are several.

    Args:
        signal: what to look for; all of its conditions hold at one line.
        lang: ``en`` or ``zh``.
    """
    sentence = _sentence(signal, lang)
    if len(signal.inside) <= _IN_LINE:
        return b.Item((*sentence, *_places(signal.inside, lang), _end(lang)))
    colon = "，文件须匹配以下之一：" if lang == "zh" else ", in one of"
    return b.Item((*sentence, colon), tuple(say_pattern(pattern, lang) for pattern in signal.inside))


def say_pattern(pattern: str, lang: str) -> b.Inline:
    """A path pattern of a list; one that takes out again what others took in is marked as such."""
    if not pattern.startswith("!"):
        return b.Code(pattern, is_path=True)
    return (b.Chip(word("excluded", lang), "mute"), " ", b.Code(pattern[1:], is_path=True))


def say_trigger(item: CoChange, lang: str) -> b.Inline:
    """What makes a co-change due, as a sentence in one line."""
    return (*_sentence(item.when, lang), *_places(item.when.inside, lang), _end(lang))


def _sentence(signal: Signal, lang: str) -> tuple[str | b.Span, ...]:
    return _chinese(signal) if lang == "zh" else _english(signal)


def _english(signal: Signal) -> tuple[str | b.Span, ...]:
    file = _one_of([_CHANGES["en"].get(change, change) for change in signal.changes], "en")
    if not signal.needs_lines:
        return ("A file is ", *file) if file else ("Anything changes",)
    conditions: list[tuple[str | b.Span, ...]] = []
    if signal.identifiers:
        conditions.append(("has the name ", *_one_of(_codes(signal.identifiers), "en")))
    if signal.lines:
        conditions.append(("matches ", *_one_of(_codes(signal.lines), "en")))
    if signal.functions:
        conditions.append(("stands inside ", *_functions(signal.functions, "en")))
    between = [", "] * (len(conditions) - 2) + [" and "] * (len(conditions) > 1)
    joined = tuple(
        chain.from_iterable((*part, after) for part, after in zip_longest(conditions, between, fillvalue=""))
    )
    where = (" of a file that is ", *file) if file else ()
    return (_LINE["en"][signal.on], *where, " ", *joined)


def _chinese(signal: Signal) -> tuple[str | b.Span, ...]:
    file = _one_of([_CHANGES["zh"].get(change, change) for change in signal.changes], "zh")
    if not signal.needs_lines:
        return ("文件被", *file) if file else ("有任何改动",)
    conditions: list[tuple[str | b.Span, ...]] = []
    if signal.identifiers:
        conditions.append(("出现名称 ", *_one_of(_codes(signal.identifiers), "zh")))
    if signal.lines:
        conditions.append(("匹配 ", *_one_of(_codes(signal.lines), "zh")))
    if signal.functions:
        conditions.append(("位于 ", *_functions(signal.functions, "zh"), " 之内"))
    joined: tuple[str | b.Span, ...] = ()
    for number, part in enumerate(conditions):
        joined += ("，且" if number else "", *part)
    where = ("在被", *file, "的文件中，") if file else ()
    return (*where, _LINE["zh"][signal.on], *joined)


def _functions(names: Sequence[str], lang: str) -> tuple[str | b.Span, ...]:
    if "*" in names:
        return ("任一函数或类",) if lang == "zh" else ("any function or class",)
    return _one_of(_codes(names), lang)


def _codes(texts: Sequence[str]) -> list[b.Code]:
    return [b.Code(text) for text in texts]


def _one_of(parts: Sequence[str | b.Span], lang: str) -> tuple[str | b.Span, ...]:
    between = alternatives([""] * len(parts), lang)
    return tuple(piece for pair in zip_longest(parts, between, fillvalue="") for piece in pair if piece)


def _places(patterns: Sequence[str], lang: str) -> tuple[str | b.Span, ...]:
    taken = [b.Code(pattern, is_path=True) for pattern in patterns if not pattern.startswith("!")]
    left = [b.Code(pattern[1:], is_path=True) for pattern in patterns if pattern.startswith("!")]
    found: tuple[str | b.Span, ...] = ()
    if taken:
        found += ("，文件须匹配 " if lang == "zh" else ", in ", *_one_of(taken, lang))
    if left:
        found += ("，不包括 " if lang == "zh" else ", except ", *_one_of(left, lang))
    return found


def _end(lang: str) -> str:
    return "。" if lang == "zh" else "."
