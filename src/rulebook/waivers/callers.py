"""Calls of scripts that patch: which script of a tree a call means, and what that script does.

A call names its script in many ways: ``"$(dirname "$0")/fix.sh"``, ``/workspace/benchmarks/fix.sh`` in a container
whose mounts nobody knows here, or the bare name that a launcher looks up in a folder of its own. What stands behind the
last variable is held against the paths of the tree, and of several scripts the one nearest to the caller is meant.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from rulebook.waivers.patches import Call, Patch, Span, Sureness, shorten
from rulebook.waivers.policy import PatchKind

if TYPE_CHECKING:
    from rulebook.waivers.policy import Policy

#: What a text ends with behind its last variable, substitution or quote.
_LITERAL = re.compile(r"[^$(){}\"'`]*\Z")
_VARIABLE = re.compile(r"\$\w+")


class Meant(NamedTuple):
    """The scripts that a call may mean, and whether it is one for certain."""

    paths: tuple[str, ...]
    certain: bool


class Scripts:
    """The scripts of a tree, read when they are called."""

    def __init__(self, paths: Iterable[str], patches_in: Callable[[str], Collection[Patch]], policy: Policy) -> None:
        """Takes the paths of a tree, and what finds the patches in one of its files."""
        self._patches_in = patches_in
        self._policy = policy
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            self._paths.setdefault(posixpath.basename(path), []).append(path)
        self._found: dict[str, list[Patch]] = {}

    def meant(self, call: Call, caller: str) -> Meant:
        """The scripts that a call in the file ``caller`` may mean; none where it names a file outside of the tree."""
        parts = written_parts(call.written)
        shared = {
            path: _shared_end(path.split("/"), parts) for path in self._paths.get(call.name, ()) if path != caller
        }
        # A path of which only the file's name is the same is another file's.
        fitting = [path for path, count in shared.items() if count == len(parts) or count > 1]
        if not fitting:
            return Meant((), False)
        best = max(shared[path] for path in fitting)
        fitting = [path for path in fitting if shared[path] == best]
        folder = posixpath.dirname(caller).split("/")
        near = {path: _shared_start(path.split("/")[:-1], folder) for path in fitting}
        nearest = max(near.values())
        chosen = tuple(path for path in fitting if near[path] == nearest)
        beside = len(chosen) == 1 and posixpath.dirname(chosen[0]) == posixpath.dirname(caller)
        whole = len(chosen) == 1 and chosen[0].split("/") == parts
        return Meant(chosen, best == len(parts) and (beside or whole))

    def patches_of(self, call: Call, caller: str) -> tuple[list[Patch], Sureness]:
        """The patches that a call runs, and how sure that is; nothing where no script that is meant patches."""
        meant = self.meant(call, caller)
        found = [self._counted(path) for path in meant.paths if self._policy.scope_patterns.match(path)]
        patches = [patch for each in found for patch in each]
        if not patches:
            return [], Sureness.POSSIBLE
        if len(meant.paths) > 1 and not (len(found) == len(meant.paths) and all(found)):
            return patches, Sureness.POSSIBLE
        own = min((patch.sureness for patch in patches), key=list(Sureness).index)
        return patches, own if meant.certain else Sureness.LIKELY

    def _counted(self, path: str) -> list[Patch]:
        if path not in self._found:
            self._found[path] = [patch for patch in self._patches_in(path) if patch.sureness.counts]
        return self._found[path]


def written_parts(written: str) -> list[str]:
    """The parts of a script's path that a call states, without what is only known when it runs.

    >>> written_parts('$(dirname "$0")/../lib/fix.sh')
    ['lib', 'fix.sh']
    >>> written_parts("$HERE/fix.sh")
    ['fix.sh']
    """
    literal = _VARIABLE.split(written)[-1]
    literal = literal[_LITERAL.search(literal).start() :]  # type: ignore[union-attr]  # it matches an empty text as well
    return [part for part in posixpath.normpath("/" + literal).split("/") if part]


def calling(call: Call, path: str, patches: Collection[Patch], sureness: Sureness) -> Patch:
    """A call as a patch of its own, by way of the first patch of the called script."""
    first = next(iter(patches))
    return Patch(
        path=path,
        line=call.line,
        end_line=call.end_line,
        kind=PatchKind.PATCH_SCRIPT,
        targets=tuple(dict.fromkeys(name for patch in patches for name in patch.targets)),
        excerpt=shorten(call.written),
        sureness=sureness,
        effect=(f"calls {call.name}",),
        trace=(Span(first.path, first.line, first.end_line),),
    )


def _shared_end(path: list[str], parts: list[str]) -> int:
    """How many parts two paths have in common, from the end."""
    count = 0
    for one, other in zip(reversed(path), reversed(parts), strict=False):
        if one != other:
            break
        count += 1
    return count


def _shared_start(path: list[str], other: list[str]) -> int:
    return _shared_end(path[::-1], other[::-1])
