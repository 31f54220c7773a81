"""The patches from before a policy, by content: what is grandfathered.

A baseline holds, for each patch of a commit, the mechanism, the targets and a hash for every item of its
effect (see :mod:`rulebook.waivers.effects`), and so recognises a patch that was moved, re-indented or
re-anchored, but not one that was enlarged or aimed at something else. Each entry stands for one patch: a
copy is a new one. Entries go when their patches go (:func:`prune`); none comes without being asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rulebook.errors import UnreadableInput
from rulebook.waivers.change import continues, without_known
from rulebook.waivers.patches import Patch
from rulebook.waivers.policy import PatchKind

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The grandfathered patches of a repository.

    Attributes:
        rule: the policy's rule.
        repo: the target repository's alias.
        at: the commit that was looked at.
        patches: with hashes for effects.
    """

    rule: str
    repo: str
    at: str
    patches: tuple[Patch, ...] = ()


def hashed(patch: Patch) -> Patch:
    """The patch with hashes in place of its effect's items: a baseline does not repeat foreign code."""
    from hashlib import sha256

    return replace(
        patch, effect=tuple(sha256(item.encode("utf-8", "replace")).hexdigest()[:16] for item in patch.effect)
    )


def take(rule: str, repo: str, at: str, patches: Iterable[Patch]) -> Baseline:
    """A baseline of the patches that a tree holds; what is merely possible needs no protection."""
    kept = sorted((hashed(p) for p in patches if p.sureness.counts), key=lambda p: (p.path, p.line, p.kind.value))
    return Baseline(rule=rule, repo=repo, at=at, patches=tuple(kept))


def split(baseline: Baseline | None, patches: Sequence[Patch]) -> tuple[list[Patch], list[Patch]]:
    """Patches that are new to a baseline, and those that it grandfathers."""
    if baseline is None:
        return list(patches), []
    hashes = [hashed(patch) for patch in patches]
    back = dict(zip(map(id, hashes), patches, strict=True))
    new, known = without_known(hashes, baseline.patches)
    return [back[id(patch)] for patch in new], [back[id(patch)] for patch in known]


def prune(baseline: Baseline, patches: Sequence[Patch]) -> tuple[Baseline, list[Patch]]:
    """The baseline without the entries whose patches are gone, and these entries.

    An entry whose patch moved or lost a part takes on the place and the size that it has now, so that what
    was given up is not taken back.
    """
    left = [hashed(patch) for patch in patches]
    kept: list[Patch] = []
    gone: list[Patch] = []
    for entry in sorted(baseline.patches, key=lambda entry: -len(entry.effect)):
        candidates = [patch for patch in left if continues(patch, entry)]
        best = max(candidates, key=lambda patch: (patch.path == entry.path, len(patch.effect)), default=None)
        if best is None:
            gone.append(entry)
        else:
            left.remove(best)
            kept.append(best)
    kept.sort(key=lambda patch: (patch.path, patch.line, patch.kind.value))
    gone.sort(key=lambda patch: (patch.path, patch.line))
    return replace(baseline, patches=tuple(kept)), gone


def grow(baseline: Baseline, at: str, patches: Iterable[Patch]) -> Baseline:
    """The baseline with further patches, which were found at the commit ``at``."""
    entries = [*baseline.patches, *map(hashed, patches)]
    entries.sort(key=lambda patch: (patch.path, patch.line, patch.kind.value))
    return replace(baseline, at=at, patches=tuple(entries))


def dump(baseline: Baseline) -> str:
    """The baseline as JSON, stable line by line, so that a diff of it shows what changed."""
    data = {
        "version": VERSION,
        "rule": baseline.rule,
        "repo": baseline.repo,
        "at": baseline.at,
        "patches": [
            {
                "path": patch.path,
                "line": patch.line,
                "kind": patch.kind.value,
                "targets": list(patch.targets),
                "files": list(patch.files),
                "effect": list(patch.effect),
            }
            for patch in baseline.patches
        ],
    }
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def load(text: str, name: str) -> Baseline:
    """Reads what :func:`dump` wrote.

    Raises:
        UnreadableInput: it is no baseline, or of another version.
    """
    hint = "make it again: rulebook waiver baseline --at COMMIT"
    try:
        data: Any = json.loads(text)
        if data["version"] != VERSION:
            raise UnreadableInput(f"{name} is a baseline of version {data['version']}, not {VERSION}", hint)
        patches = tuple(
            Patch(
                path=str(item["path"]),
                line=int(item["line"]),
                end_line=int(item["line"]),
                kind=PatchKind(item["kind"]),
                targets=tuple(map(str, item["targets"])),
                files=tuple(map(str, item["files"])),
                effect=tuple(map(str, item["effect"])),
            )
            for item in data["patches"]
        )
        return Baseline(rule=str(data["rule"]), repo=str(data["repo"]), at=str(data["at"]), patches=patches)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableInput(f"{name} is no baseline: {type(error).__name__} at {error}", hint) from None
