"""Holds patches against waivers: which waiver covers which patch, and what keeps one from it.

One matcher serves the check of a change and the audit of a tree. They differ in which waivers are asked:
a change's patch is covered by the waiver that the same change files under its own number and by no other;
a tree's patch by any waiver that is in force.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rulebook.model import Finding, Location, Severity
from rulebook.waivers.policy import PatchKind, Policy

if TYPE_CHECKING:
    from rulebook.waivers.document import WaiverText
    from rulebook.waivers.patches import Patch


@dataclass(frozen=True, slots=True)
class Entry:
    """A configuration of the target repository: its name, its image, the file and line that it stands in."""

    name: str
    image: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Configurations:
    """The configurations of a target repository.

    Attributes:
        entries: by name.
        known: whether they could be read; where not, nothing is held against a waiver.
    """

    entries: Mapping[str, Entry] = field(default_factory=dict)
    known: bool = False


_ENTRY = re.compile(r"^(?P<name>[A-Za-z0-9][\w.-]*):[ \t]*(?:#.*)?$", re.MULTILINE)
_IMAGE_LINE = re.compile(r"^[ \t]+image:[ \t]*[\"']?(?P<image>[^\s\"'#]+)", re.MULTILINE)


def read_configurations(files: Iterable[tuple[str, str]]) -> Configurations:
    """The entries of configuration files: top-level keys that hold an ``image``.

    Read by lines and not as YAML: the files hold thousands of entries, and nothing else is needed.

    Args:
        files: paths and texts.
    """
    entries: dict[str, Entry] = {}
    known = False
    for path, text in files:
        known = True
        heads = list(_ENTRY.finditer(text))
        for index, head in enumerate(heads):
            end = heads[index + 1].start() if index + 1 < len(heads) else len(text)
            image = _IMAGE_LINE.search(text, head.end(), end)
            if image is not None:
                line = text.count("\n", 0, head.start()) + 1
                entries[head["name"]] = Entry(head["name"], image["image"], path, line)
    return Configurations(entries, known)


def covers(waiver: WaiverText, patch: Patch) -> str:
    """Why a waiver does not cover a patch; an empty text where it does.

    It has to name the file that makes the patch, and what the patch reaches.
    """
    named = waiver.texts("patches") + waiver.texts("called_from")
    if not _names_file(waiver, patch.path, named):
        return f"it does not name {patch.path}"
    if patch.kind is PatchKind.PATCH_SCRIPT:
        return ""
    stated = _stated_targets(waiver, patch.path)
    if stated and patch.files:
        missing = [file for file in patch.files if not any(_same_file(file, other) for other in stated)]
        if len(missing) == len(patch.files):
            return f"it does not name {missing[0]} among the targets"
    loose = [name for name in patch.targets if name not in ("unknown", "site-packages", "dist-packages")]
    unnamed = [name for name in loose if not _speaks_of(waiver, name)]
    if (
        unnamed
        and len(unnamed) == len(loose)
        and not any(_speaks_of(waiver, posixpath.basename(f)) for f in patch.files)
    ):
        return f"it does not speak of {unnamed[0]}"
    return ""


def _names_file(waiver: WaiverText, path: str, named: Sequence[str]) -> bool:
    if path in named or waiver.names(path):
        return True
    name = posixpath.basename(path)
    # A bare file name will do, unless the waiver gives another file of that name with its folder.
    spelled = re.findall(rf"(?<![\w.-])((?:[\w.-]+/)*){re.escape(name)}(?![\w/-]|\.\w)", waiver.text)
    return any(not folder or path.endswith(f"/{folder}{name}") or f"{folder}{name}" == path for folder in spelled)


def _stated_targets(waiver: WaiverText, path: str) -> list[str]:
    """The targets that the frontmatter states for a script."""
    patches = waiver.keys.get("patches")
    found: list[str] = []
    for item in patches if isinstance(patches, list) else ():
        if isinstance(item, dict) and item.get("path") == path:
            targets = item.get("targets", ())
            found += [targets] if isinstance(targets, str) else [t for t in targets if isinstance(t, str)]
    return found


def _same_file(reached: str, stated: str) -> bool:
    reached, stated = reached.strip("/"), stated.strip("/")
    return (
        reached == stated
        or reached.endswith("/" + stated)
        or (reached + "/").startswith(stated + "/")
        or (
            # A folder is reached where a diff is applied in it.
            stated.startswith(reached + "/")
        )
    )


def _speaks_of(waiver: WaiverText, name: str) -> bool:
    words = re.escape(name).replace(r"\-", "[-_ ]?")
    return re.search(rf"(?<![A-Za-z0-9]){words}(?![A-Za-z0-9])", waiver.text, re.IGNORECASE) is not None


def scope_findings(waiver: WaiverText, policy: Policy, configurations: Configurations) -> list[Finding]:
    """What a waiver's scope leaves open: the configuration and the image."""
    findings: list[Finding] = []

    def complain(code: str, message: str, remedy: str) -> None:
        location = Location(waiver.path, 1)
        findings.append(Finding(code=code, severity=Severity.ERROR, message=message, location=location, remedy=remedy))

    named = named_entries(waiver, configurations)
    if "config" in policy.scope:
        stated = waiver.texts("configs")
        unknown = [name for name in stated if configurations.known and name not in configurations.entries]
        if unknown:
            complain("waiver-config", f"there is no configuration {unknown[0]!r}", "name one that exists")
        elif not stated and not named and (configurations.known or not re.search(r"(?i)\bconfig|配置", waiver.text)):
            complain("waiver-config", "it names no configuration", "name the entries that need the patch")
    if "image" in policy.scope:
        images = waiver.images
        if not images:
            complain("waiver-image", "it names no container image with its tag", "name the pinned image")
        elif named and not any(same_image(entry.image, image) for entry in named for image in images):
            complain(
                "waiver-image",
                f"{named[0].name} runs {named[0].image}, and the waiver names {images[0]}",
                "name the image that the configuration pins",
            )
    return findings


def named_entries(waiver: WaiverText, configurations: Configurations) -> list[Entry]:
    """The configurations that a waiver names."""
    stated = waiver.texts("configs")
    if stated:
        return [configurations.entries[name] for name in stated if name in configurations.entries]
    tokens = set(re.findall(r"[A-Za-z0-9][\w.-]*[A-Za-z0-9]", waiver.text))
    return [entry for name, entry in configurations.entries.items() if name in tokens]


def same_image(one: str, other: str) -> bool:
    """Whether two texts name one image: with its registry or without, with enroot's ``#``, or by the tag alone."""

    def parts(text: str) -> tuple[str, str]:
        name, _, tag = text.replace("#", "/").rpartition(":")
        return (name, tag) if name else ("", tag)

    (name, tag), (other_name, other_tag) = parts(one), parts(other)
    if tag != other_tag:
        return False
    return not name or not other_name or f"/{name}".endswith(f"/{other_name}") or f"/{other_name}".endswith(f"/{name}")
