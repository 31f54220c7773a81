"""What a knowledge base keeps for a policy beside the rule: the baseline and the waivers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rulebook import files
from rulebook.errors import UnreadableInput, UsageError
from rulebook.model import Finding, Kind
from rulebook.waivers import baseline as baselines
from rulebook.waivers.document import WaiverText, read_waiver

if TYPE_CHECKING:
    from rulebook.waivers.baseline import Baseline
    from rulebook.waivers.policy import Policy


def choose_policy(found: Sequence[Policy], repo: str) -> Policy:
    """The one policy of a target repository.

    Raises:
        UsageError: it has none, or several.
    """
    mine = [policy for policy in found if policy.repo == repo]
    if len(mine) == 1:
        return mine[0]
    if not mine:
        known = ", ".join(dict.fromkeys(policy.repo for policy in found)) or "none"
        raise UsageError(
            f"no rule of {repo!r} carries a patch policy (repositories with one: {known})",
            "docs/policies.md shows how to write one",
        )
    raise UsageError(
        f"{len(mine)} rules of {repo!r} carry a patch policy: {', '.join(policy.rule for policy in mine)}",
        "keep one of them in force",
    )


def baseline_path(policy: Policy) -> str:
    """Where a policy's baseline is kept, from the knowledge base's root."""
    return policy.baseline or f"waivers/{policy.repo}/baseline.json"


def load_baseline(root: str, policy: Policy) -> Baseline | None:
    """The baseline of a policy, or ``None`` where there is none.

    Raises:
        UnreadableInput: the file is no baseline, or not this policy's.
    """
    name = baseline_path(policy)
    path = os.path.join(root, name)
    if os.path.commonpath([os.path.realpath(path), os.path.realpath(root)]) != os.path.realpath(root):
        raise UnreadableInput(f"{name} leaves the knowledge base", "keep the baseline inside of it")
    try:
        with open(path, "rb") as file:
            text = file.read(files.MAX_BYTES * 16).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableInput(f"{name} cannot be read: {error}", "make it again, or mend its permissions") from None
    found = baselines.load(text, name)
    if (found.rule, found.repo) != (policy.rule, policy.repo):
        raise UnreadableInput(
            f"{name} is the baseline of {found.rule} for {found.repo}, not of {policy.rule} for {policy.repo}",
            "name another file under 'baseline' in the policy",
        )
    return found


def load_waivers(root: str, policy: Policy) -> list[WaiverText]:
    """The waivers that the knowledge base holds for a policy's repository."""
    found = []
    for entry in files.scan(root)[0]:
        if entry.kind is not Kind.WAIVER or files.split_language(entry.path)[1]:
            continue
        text = files.read_text(root, entry.path)
        if isinstance(text, Finding):
            continue
        waiver = read_waiver(entry.path, text)
        if waiver.keys.get("repo") == policy.repo and waiver.keys.get("rule", policy.rule) == policy.rule:
            found.append(waiver)
    return found


def merge_waivers(filed: Iterable[WaiverText], kept: Iterable[WaiverText]) -> list[WaiverText]:
    """Waivers of the target repository, and those that only the knowledge base has.

    The frontmatter of the knowledge base's copy, which states scripts, configurations and images one by one, is
    lent to the filed text that has none.
    """
    from dataclasses import replace

    mine = {waiver.number: waiver for waiver in kept}
    merged = []
    for waiver in filed:
        twin = mine.pop(waiver.number, None)
        bare = twin is not None and not waiver.keys
        merged.append(replace(waiver, keys=twin.keys, pr=waiver.pr or twin.pr) if bare and twin else waiver)
    return [*merged, *mine.values()]
