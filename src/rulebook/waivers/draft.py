"""The draft of a waiver, from what a check found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rulebook.waivers.document import PROMPT
from rulebook.waivers.policy import PatchKind, Policy

if TYPE_CHECKING:
    from rulebook.waivers.coverage import Configurations, Entry
    from rulebook.waivers.patches import Patch

#: What a part's prompt asks for, by the part's name; others get the general one.
_PROMPTS = {
    "what": "what each patch changes in the engine, and what it leaves alone",
    "why": "what happens with the unmodified image: the error, the wrong result",
    "upstream": "a link to the upstream pull request or issue for each patch: https://…/pull/<number>",
    "removal": "what has to ship upstream before the patch goes, and what is deleted then",
}


def draft(
    policy: Policy,
    pr: str,
    patches: Sequence[Patch],
    entries: Sequence[Entry] = (),
    *,
    created: str = "",
) -> str:
    """The text of a waiver to fill in.

    What the check knows is stated: scripts, targets, callers, configurations, images. What only people know
    is asked for in comments that begin with ``<!-- write:``, which lint reports until they are replaced.

    Args:
        policy: decides the parts and their headings.
        pr: the pull request's number.
        patches: what the check found.
        entries: the configurations that the change touches.
        created: ``YYYY-MM-DD``.
    """
    scripts = [patch for patch in patches if patch.kind is not PatchKind.PATCH_SCRIPT]
    callers = list(dict.fromkeys(patch.path for patch in patches if patch.kind is PatchKind.PATCH_SCRIPT))
    targets = list(dict.fromkeys(name for patch in scripts for name in patch.targets))
    subject = ", ".join(targets) or "the pinned image"
    lines = [
        "---",
        f"title: {_scalar(f'Patches of {subject} for pull request #{pr}')}",
        f"repo: {_scalar(policy.repo)}",
    ]
    lines += [f"pr: {pr}", f"rule: {_scalar(policy.rule)}"]
    if created:
        lines.append(f"created: {created}")
    paths = list(dict.fromkeys(patch.path for patch in scripts))
    if paths:
        lines.append("patches:")
        for path in paths:
            files = sorted({file for patch in scripts if patch.path == path for file in patch.files})
            lines.append(f"  - path: {_scalar(path)}")
            if files:
                lines.append("    targets:")
                lines += [f"      - {_scalar(file)}" for file in files]
    for key, values in (
        ("called_from", callers),
        ("configs", [entry.name for entry in entries]),
        ("images", list(dict.fromkeys(entry.image for entry in entries))),
    ):
        if values:
            lines.append(f"{key}:")
            lines += [f"  - {_scalar(value)}" for value in values]
    lines += ["---", f"# Waiver for pull request #{pr}: {subject}", ""]
    for part in policy.parts:
        lines += [f"## {part.headings[0]}", ""]
        if part.name == policy.parts[0].name:
            lines += _scope(policy, scripts, callers, entries)
        lines += [f"{PROMPT} {_PROMPTS.get(part.name, f'what the policy asks for under {part.name}')} -->", ""]
    if not policy.parts:
        lines += [f"{PROMPT} what is patched, and why the unmodified image will not do -->", ""]
    return "\n".join(lines)


def _scope(policy: Policy, patches: Sequence[Patch], callers: Sequence[str], entries: Sequence[Entry]) -> list[str]:
    lines = []
    for path in dict.fromkeys(patch.path for patch in patches):
        here = [patch for patch in patches if patch.path == path]
        names = ", ".join(dict.fromkeys(name for patch in here for name in patch.targets))
        places = ", ".join(
            f"{patch.line}-{patch.end_line}" if patch.end_line > patch.line else str(patch.line) for patch in here
        )
        kinds = ", ".join(dict.fromkeys(patch.kind.value for patch in here))
        lines.append(f"- Patch script: `{path}`, lines {places} ({kinds} of {names})")
    lines += [f"- Called from: `{caller}`" for caller in callers]
    lines += [f"- Configuration: `{entry.name}` of `{entry.path}`, on `{entry.image}`" for entry in entries]
    if not patches and "script" in policy.scope:
        lines.append(f"- Patch script: {PROMPT} the script's path -->")
    if not entries and "config" in policy.scope:
        lines.append(f"- Configuration: {PROMPT} the configuration's name -->")
    if not entries and "image" in policy.scope:
        lines.append(f"- Image: {PROMPT} the pinned image with its tag -->")
    return [*lines, ""] if lines else []


def touched_entries(configurations: Configurations, added: Sequence[tuple[str, int]]) -> list[Entry]:
    """The configurations that added lines stand in.

    Args:
        configurations: of the target repository, as the change leaves it.
        added: path and line of each added line in a configuration file.
    """
    found: dict[str, Entry] = {}
    for path in dict.fromkeys(path for path, _ in added):
        entries = sorted((e for e in configurations.entries.values() if e.path == path), key=lambda e: e.line)
        for line in sorted(line for other, line in added if other == path):
            before = [entry for entry in entries if entry.line <= line]
            if before:
                found[before[-1].name] = before[-1]
    return list(found.values())


def _scalar(text: str) -> str:
    """Text as YAML: plain where that is safe, else in JSON's quotes, which YAML reads."""
    import re

    plain = re.fullmatch(r"[A-Za-z0-9_./][\w./-]*(?:[ :@][\w./-]+)*", text) is not None
    return text if plain and ": " not in text and not text.isdigit() else json.dumps(text, ensure_ascii=False)
