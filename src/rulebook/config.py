"""``rulebook.toml``: the target repositories that a knowledge base speaks of.

The file marks the root of a knowledge base, as ``pyproject.toml`` marks a Python project's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from rulebook.errors import NoKnowledgeBase
from rulebook.model import Finding, Location, Severity

CONFIG_NAME = "rulebook.toml"
#: Larger files are refused: what is meant to be read by people is a hundredth of it.
MAX_CONFIG_BYTES = 1 << 20
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_TARGET_KEYS = ("url", "default_branch", "waivers")


class Target(NamedTuple):
    """A repository that rules speak of.

    Attributes:
        alias: the name that pins and the ``repo`` key use.
        url: where it is cloned from.
        default_branch: the branch that freshness is judged against.
        waivers: the folder, in the target itself, that waivers are filed in; empty for none.
    """

    alias: str
    url: str = ""
    default_branch: str = "main"
    waivers: str = ""

    @property
    def slug(self) -> str:
        """``owner/name`` as the url gives it, or the alias where it gives none."""
        return slug_of(self.url) or self.alias


class Config(NamedTuple):
    """What ``rulebook.toml`` says."""

    targets: Mapping[str, Target] = MappingProxyType({})
    findings: tuple[Finding, ...] = ()

    def resolve(self, repo: str) -> str:
        """The alias for ``repo``: itself, or the target whose url ends in that ``owner/name``."""
        if repo in self.targets:
            return repo
        wanted = repo.lower()
        for target in self.targets.values():
            if slug_of(target.url).lower() == wanted:
                return target.alias
        return repo


def slug_of(url: str) -> str:
    """``owner/name`` of a git URL in any of its spellings, or an empty string.

    >>> slug_of("git@github.com:vllm-project/vllm.git")
    'vllm-project/vllm'
    """
    # A URL's last two parts, whether a host and its path are told apart by ":" or "/".
    parts = url.strip().removesuffix("/").removesuffix(".git").replace(":", "/").split("/")
    parts = [part for part in parts if part]
    return "/".join(parts[-2:]) if len(parts) > 2 else ""


def find_root(start: str) -> str:
    """The nearest folder at or above ``start`` that holds a ``rulebook.toml``, as a real path.

    Raises:
        NoKnowledgeBase: there is none up to the file system's root.
    """
    folder = os.path.realpath(start)
    while True:
        if os.path.isfile(os.path.join(folder, CONFIG_NAME)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            raise NoKnowledgeBase(
                f"no knowledge base here: neither {start} nor a folder above it holds a {CONFIG_NAME}",
                "run inside a knowledge base, or name it with --root DIR",
            )
        folder = parent


def read_config(root: str) -> bytes:
    """The bytes of a knowledge base's ``rulebook.toml``, of a huge one no more than tell that it is.

    Raises:
        NoKnowledgeBase: it cannot be read.
    """
    try:
        with open(os.path.join(root, CONFIG_NAME), "rb") as file:
            return file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise NoKnowledgeBase(f"{root}/{CONFIG_NAME} cannot be read: {error.strerror}", "name another --root") from None


def parse_config(data: bytes) -> Config:
    """Reads the bytes of a ``rulebook.toml``; what is wrong in them becomes findings.

    The format is documented in ``docs/format.md``.
    """
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    findings: list[Finding] = []

    def complain(code: str, message: str, remedy: str, line: int = 0) -> None:
        findings.append(
            Finding(
                code=code,
                severity=Severity.ERROR,
                message=message,
                location=Location(CONFIG_NAME, line),
                remedy=remedy,
            )
        )

    if len(data) > MAX_CONFIG_BYTES:
        complain("config-size", f"is larger than {MAX_CONFIG_BYTES >> 20} MiB", "keep [repos.<alias>] tables only")
        return Config(findings=tuple(findings))
    try:
        text = data.decode("utf-8-sig")
        table: dict[str, Any] = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        complain("config-encoding", f"not UTF-8: byte {error.start} cannot be read", "save the file as UTF-8", line)
        return Config(findings=tuple(findings))
    except RecursionError:
        complain("config-toml", "not TOML that can be read: nested too deeply", "flatten it")
        return Config(findings=tuple(findings))
    except ValueError as error:
        # Not every number that is too long is a TOMLDecodeError.
        where = re.search(r"at line (\d+)", str(error))
        complain("config-toml", f"not TOML: {error}", "mend the line", int(where[1]) if where else 0)
        return Config(findings=tuple(findings))

    lines = _lines(text)

    def line_of(*key: str) -> int:
        """The line of a key; of the nearest one around it in other spellings, such as inline tables."""
        while key and key not in lines:
            key = key[:-1]
        return lines.get(key, 0)

    for key in table:
        if key != "repos":
            message = f"unknown table or key {key!r}"
            complain("config-key", message, "keep [repos.<alias>] tables only", line_of(key))
    repos = table.get("repos", {})
    targets: dict[str, Target] = {}
    if not isinstance(repos, dict):
        line = line_of("repos")
        complain("config-value", "'repos' is not a table", 'write [repos.<alias>] with url = "…"', line)
        repos = {}
    for alias, body in repos.items():
        line = line_of("repos", alias)
        if not _ALIAS.match(alias):
            complain("config-alias", f"{alias!r} is no alias", "use letters, digits, '.', '_' and '-'", line)
            continue
        if not isinstance(body, dict):
            complain("config-value", f"[repos.{alias}] is not a table", 'write [repos.<alias>] with url = "…"', line)
            continue
        fields: dict[str, str] = {}
        for key, value in body.items():
            line = line_of("repos", alias, key)
            if key not in _TARGET_KEYS:
                message = f"unknown key {key!r} in [repos.{alias}]"
                complain("config-key", message, f"known: {', '.join(_TARGET_KEYS)}", line)
            elif not isinstance(value, str) or (key != "waivers" and not value) or _unsafe(value):
                message = f"{key} of [repos.{alias}] is unusable: {value!r}"
                complain("config-value", message, "write one plain string", line)
            else:
                fields[key] = value
        targets[alias] = Target(alias=alias, **fields)
    return Config(targets=targets, findings=tuple(findings))


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """The 1-based line that first states each key, where tables are written as they usually are.

    The parser of the standard library tells no lines. This looks for ``[repos.alias]`` and ``url = …``.
    """
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        header = re.match(r"\s*\[+([^\[\]]+)\]", line)
        stated = re.match(r"\s*([^=\s#\[]+)\s*=", line)
        if header:
            table = place = _parts(header[1])
        elif stated:
            place = (*table, *_parts(stated[1]))
        else:
            continue
        for depth in range(1, min(len(place), 3) + 1):
            found.setdefault(place[:depth], number)
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(bare or quoted for quoted, bare in re.findall(r"""["']([^"']*)["']|([^."'\s]+)""", dotted))


def _unsafe(value: str) -> bool:
    """Whether git could take the value for an option, or a terminal for a command."""
    return value.startswith("-") or any(ord(c) < 32 or ord(c) == 127 for c in value)
