"""The draft of a waiver, from what a check found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
    called = _called_before(patches)
    targets = list(dict.fromkeys(name for patch in scripts or patches for name in patch.targets))
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
    if called and not paths:
        lines.append("patches:")
    lines += [f"  - path: {_scalar(path)}" for path in called]
    for key, values in (
        ("called_from", callers),
        ("configs", [entry.name for entry in entries]),
        ("images", list(dict.fromkeys(entry.image for entry in entries))),
    ):
        if values:
            lines.append(f"{key}:")
            lines += [f"  - {_scalar(value)}" for value in values]
    lines += ["---", f"# Waiver for pull request #{pr}: {subject}", ""]
    lines += [*_notice(policy, pr, patches, entries), ""]
    for part in policy.parts:
        lines += [f"## {part.headings[0]}", ""]
        if part.name == policy.parts[0].name:
            lines += _scope(policy, patches, callers, entries)
        lines += [f"{PROMPT} {_PROMPTS.get(part.name, f'what the policy asks for under {part.name}')} -->", ""]
    if not policy.parts:
        lines += [f"{PROMPT} what is patched, and why the unmodified image will not do -->", ""]
    return "\n".join(lines)


def _notice(policy: Policy, pr: str, patches: Sequence[Patch], entries: Sequence[Entry]) -> list[str]:
    """What is still to be done, where whoever opens the draft looks first; lint reports it until it is deleted."""
    fields = [asked for _, asked in _unknown(policy, patches, entries)]
    fields += [_ASKED.get(part.name, f"what the policy asks for under {part.name}") for part in policy.parts]
    return [
        f"> **TODO: this draft excuses nothing yet.** Replace each `{PROMPT} … -->` below. Still to be stated:",
        ">",
        *(f"> - {field}" for field in fields or ["what is patched, and why the unmodified image will not do"]),
        ">",
        f"> Then delete this paragraph, commit the file in pull request #{pr} itself, and run `rulebook waiver check`.",
    ]


#: What the notice calls the parts that :data:`_PROMPTS` asks for; others get the general words.
_ASKED = {
    "what": "what each patch changes",
    "why": "why the unmodified image will not do",
    "upstream": "the upstream pull request or issue",
    "removal": "when the patch goes",
}


def _scope(policy: Policy, patches: Sequence[Patch], callers: Sequence[str], entries: Sequence[Entry]) -> list[str]:
    lines = []
    scripts = [patch for patch in patches if patch.kind is not PatchKind.PATCH_SCRIPT]
    for path in dict.fromkeys(patch.path for patch in scripts):
        here = [patch for patch in scripts if patch.path == path]
        names = ", ".join(dict.fromkeys(name for patch in here for name in patch.targets))
        places = ", ".join(
            f"{patch.line}-{patch.end_line}" if patch.end_line > patch.line else str(patch.line) for patch in here
        )
        kinds = ", ".join(dict.fromkeys(patch.kind.value for patch in here))
        lines.append(f"- Patch script: `{path}`, lines {places} ({kinds} of {names})")
    lines += [f"- Patch script: `{path}`, which was there before" for path in _called_before(patches)]
    lines += [f"- Called from: `{caller}`" for caller in callers]
    lines += [f"- Configuration: `{entry.name}` of `{entry.path}`, on `{entry.image}`" for entry in entries]
    lines += [f"- {label}: {PROMPT} {asked} -->" for label, asked in _unknown(policy, patches, entries)]
    return [*lines, ""] if lines else []


def _called_before(patches: Sequence[Patch]) -> list[str]:
    """The scripts that are called and patch, and were there before."""
    here = {patch.path for patch in patches if patch.kind is not PatchKind.PATCH_SCRIPT}
    calls = [patch for patch in patches if patch.kind is PatchKind.PATCH_SCRIPT]
    return list(dict.fromkeys(span.path for patch in calls for span in patch.trace if span.path not in here))


def _unknown(policy: Policy, patches: Sequence[Patch], entries: Sequence[Entry]) -> Iterator[tuple[str, str]]:
    """What of the scope nobody knows yet: each part's label, and what to write."""
    if not patches and "script" in policy.scope:
        yield "Patch script", "the patch script's path"
    if not entries and "config" in policy.scope:
        yield "Configuration", "the configuration's name"
    if not entries and "image" in policy.scope:
        yield "Image", "the pinned image with its tag"


def prompts(text: str) -> Iterator[str]:
    """What a draft asks for that is not written yet, in the order of its text."""
    from rulebook.waivers.document import leftovers

    yield from (shown for shown, _ in leftovers(text) if shown.startswith(PROMPT))


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
