"""The patch as a noun: what was found, where, what it reaches, how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rulebook.waivers.policy import PatchKind
    from rulebook.waivers.targets import Target

#: Characters of an excerpt.
EXCERPT = 120


class Sureness(str, Enum):
    """How sure it is that something is a patch. What is merely possible is told, and decides nothing."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"

    __str__ = str.__str__

    @property
    def counts(self) -> bool:
        """Whether it decides a verdict."""
        return self is not Sureness.POSSIBLE


class Span(NamedTuple):
    """Lines of a file, 1-based, both included."""

    path: str
    line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A patch of something that is protected.

    Attributes:
        path: the file that makes it.
        line: first line.
        end_line: last line.
        kind: the mechanism.
        targets: names of what is reached, the surest first.
        files: the files or folders in there, as far as they are known.
        excerpt: the shortest piece that tells, one line.
        sureness: how sure.
        effect: what it does, see :mod:`rulebook.waivers.effects`.
        trace: other lines that it depends on: variables, clones, the script that is called.
    """

    path: str
    line: int
    end_line: int
    kind: PatchKind
    targets: tuple[str, ...]
    files: tuple[str, ...] = ()
    excerpt: str = ""
    sureness: Sureness = Sureness.CERTAIN
    effect: tuple[str, ...] = ()
    trace: tuple[Span, ...] = ()

    @property
    def target(self) -> str:
        """The surest target's name."""
        return self.targets[0] if self.targets else "unknown"


class Call(NamedTuple):
    """A call of a script of the same repository: its file's name and its path as written."""

    name: str
    written: str
    line: int
    end_line: int


@dataclass(slots=True)
class Scan:
    """What was found in one file."""

    patches: list[Patch] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


def shorten(text: str, width: int = EXCERPT) -> str:
    """One line of at most ``width`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def names_of(targets: Iterable[Target]) -> tuple[str, ...]:
    """The names of targets, the surest first."""
    ordered = sorted(targets, key=lambda target: not target.certain)
    return tuple(dict.fromkeys(target.name for target in ordered))


def files_of(targets: Iterable[Target]) -> tuple[str, ...]:
    """The files of targets, as far as they are known."""
    return tuple(sorted({target.file for target in targets if target.file}))


def sureness_of(targets: Sequence[Target], whole: bool = False) -> Sureness:
    """How sure a patch of these targets is; one told by a text as a whole is no more than likely."""
    return Sureness.CERTAIN if not whole and any(target.certain for target in targets) else Sureness.LIKELY


def merge(patches: Iterable[Patch]) -> list[Patch]:
    """One patch for each place and kind."""
    merged: dict[tuple[str, int, int, PatchKind], Patch] = {}
    for patch in patches:
        key = (patch.path, patch.line, patch.end_line, patch.kind)
        known = merged.get(key)
        if known is None:
            merged[key] = patch
            continue
        surest = min(known, patch, key=lambda item: list(Sureness).index(item.sureness))
        merged[key] = replace(
            surest,
            targets=tuple(dict.fromkeys((*surest.targets, *known.targets, *patch.targets))),
            files=tuple(sorted({*known.files, *patch.files})),
            effect=tuple(sorted({*known.effect, *patch.effect})),
            trace=tuple(dict.fromkeys((*known.trace, *patch.trace))),
        )
    return list(merged.values())
