"""Which waivers excuse a rule's match: cheap enough for every answer, by frontmatter alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any


def waived_by(
    waivers: Iterable[tuple[str, Mapping[str, Any]]], rule: str, repo: str, paths: Collection[str]
) -> tuple[str, ...]:
    """The waivers from ``rule`` that name one of the changed paths as a patch or as its caller.

    The match stays: a waiver tells who has agreed to an exception and until when, and whether it covers what
    the change adds is for ``rulebook waiver check`` to say.

    Args:
        waivers: each with its path and its frontmatter, without twins.
        rule: the id of the rule that matched.
        repo: the target repository's alias.
        paths: the changed paths, of both sides.

    >>> waiver = {"rule": "A-1", "repo": "a", "patches": [{"path": "x.sh"}]}
    >>> waived_by([("waivers/a/7.md", waiver)], "A-1", "a", ["x.sh"])
    ('waivers/a/7.md',)
    """
    found = []
    for path, keys in waivers:
        if keys.get("rule") != rule or keys.get("repo") != repo:
            continue
        named = {*_paths(keys.get("patches")), *_paths(keys.get("called_from"))}
        if not named.isdisjoint(paths):
            found.append(path)
    return tuple(sorted(found))


def _paths(value: object) -> Iterable[str]:
    for item in value if isinstance(value, list) else [value]:
        path = item.get("path") if isinstance(item, dict) else item
        if isinstance(path, str):
            yield path
