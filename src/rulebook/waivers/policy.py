"""A patch policy as data: what is protected, where it is installed, what counts, what a waiver must state.

A rule carries its policy under the key ``policy`` of its frontmatter; ``docs/policies.md`` describes the
keys. The mechanisms (how a shell script or a Python program changes an installed file) are code, in
:mod:`rulebook.waivers.detect`; everything that names an engine, a package, a folder or a heading is data.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rulebook.model import Finding, Location, Rule, Severity
from rulebook.patterns.lint import lint
from rulebook.patterns.syntax import compile_patterns
from rulebook.regexes import RegexError, compile_bounded

if TYPE_CHECKING:
    from rulebook.patterns.compiled import PatternList


class PatchKind(str, Enum):
    """The ways to change what an image ships, as a policy names them."""

    PATCH_FILE = "patch-file"  # a diff in the tree or in a here-document
    PATCH_APPLY = "patch-apply"  # git apply, git am, patch
    SOURCE_REWRITE = "source-rewrite"  # sed -i, a Python program that writes the file back, rm
    FILE_OVERLAY = "file-overlay"  # a file put over, or imported before, the installed one
    MOUNT = "mount"  # a bind mount over an installed path
    MONKEY_PATCH = "monkey-patch"  # code that changes the engine's modules at run time
    ENGINE_INSTALL = "engine-install"  # a fork, a branch, a rebuild over the image's engine
    PATCH_SCRIPT = "patch-script"  # a call of a script that does one of these
    CUSTOM = "custom"  # a pattern of the policy's own

    __str__ = str.__str__


class Role(str, Enum):
    """What a product is to the benchmark, which decides what installing it means."""

    ENGINE = "engine"  # any other version than the image's is another engine
    COMPONENT = "component"  # part of the serving stack: released versions are dependencies, forks and builds count
    ADDON = "addon"  # not in the image: installing it replaces nothing, changing its files counts

    __str__ = str.__str__


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A piece of software, by all the names that a script can reach it by.

    Attributes:
        name: what findings call it.
        modules: its top-level Python modules.
        packages: its distributions, as ``pip install`` names them.
        repositories: the names of its git repositories, whoever owns them: a fork keeps the name.
        paths: folders in the image that hold its sources.
        role: what installing it means.
    """

    name: str
    modules: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    role: Role = Role.ENGINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part that a waiver must have, and the headings that stand for it in any language.

    The part ``upstream`` must hold a link to a pull request or an issue.
    """

    name: str
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomPattern:
    """A regular expression that makes a command a patch, for what no mechanism here knows."""

    kind: PatchKind
    target: str
    lines: str


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a rule forbids without a waiver.

    Attributes:
        rule: the rule's id.
        repo: the alias of the target repository.
        kinds: the kinds of patch that are forbidden.
        protects: the engines and the rest of the serving stack.
        allows: what may be changed: the harness, its clients.
        installed: folders that hold installed packages, each one a module (``site-packages``).
        where: path patterns of the files that are looked at.
        overlays: path patterns of folders whose files are laid over installed ones.
        patterns: the policy's own patterns.
        folder: the folder of the target repository that waivers are filed in; may be empty.
        parts: what a waiver must have.
        scope: what a waiver's scope must name: ``script``, ``config``, ``image``.
        configs: path patterns of the files that hold the configurations and their images.
        baseline: the file, in the knowledge base, of the patches from before the policy; may be empty.
        location: the rule's file.
    """

    rule: str
    repo: str
    kinds: frozenset[PatchKind] = frozenset(PatchKind)
    protects: tuple[Product, ...] = ()
    allows: tuple[Product, ...] = ()
    installed: tuple[str, ...] = ("site-packages", "dist-packages")
    where: tuple[str, ...] = ("**",)
    overlays: tuple[str, ...] = ()
    patterns: tuple[CustomPattern, ...] = ()
    folder: str = ""
    parts: tuple[Part, ...] = ()
    scope: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    baseline: str = ""
    location: Location = field(default=Location(""))

    @cached_property
    def scope_patterns(self) -> PatternList:
        """:attr:`where`, compiled."""
        return compile_patterns(self.where)

    @cached_property
    def overlay_patterns(self) -> PatternList:
        """:attr:`overlays`, compiled."""
        return compile_patterns(self.overlays)

    @cached_property
    def by_module(self) -> dict[str, Product]:
        """Every product, allowed ones included, by module."""
        return {name: product for product in (*self.protects, *self.allows) for name in product.modules}

    @cached_property
    def by_package(self) -> dict[str, Product]:
        """Every product by the normalised name of a distribution (PEP 503)."""
        return {normal(name): product for product in (*self.protects, *self.allows) for name in product.packages}

    @cached_property
    def by_repository(self) -> dict[str, Product]:
        """Every product by the name of a repository, in lower case."""
        return {name.lower(): product for product in (*self.protects, *self.allows) for name in product.repositories}

    @cached_property
    def protected_names(self) -> frozenset[str]:
        """The names of what is protected."""
        return frozenset(product.name for product in self.protects)

    def is_protected(self, product: Product | None) -> bool:
        """Whether the policy protects ``product``."""
        return product is not None and product.name in self.protected_names


def normal(package: str) -> str:
    """A distribution's name as PEP 503 compares it.

    >>> normal("Flash_Infer.Python")
    'flash-infer-python'
    """
    return re.sub(r"[-_.]+", "-", package).lower()


_KEYS = (
    "kinds",
    "protects",
    "allows",
    "installed",
    "where",
    "overlays",
    "patterns",
    "waiver",
    "configs",
    "baseline",
)
_PRODUCT_KEYS = ("name", "modules", "packages", "repositories", "paths", "role")
_NAMES = ("modules", "packages", "repositories", "paths")
_WAIVER_KEYS = ("folder", "parts", "scope")
_HARMLESS = ("pattern-duplicate", "pattern-shadowed", "pattern-idle-negation")
_SCOPE_WORDS = ("script", "config", "image")
_PATTERN_KEYS = ("kind", "target", "lines")


def parse_policy(rule: Rule) -> tuple[Policy | None, list[Finding]]:
    """The policy that a rule carries, and what is wrong with it.

    Returns:
        ``None`` where the rule carries none. A policy with findings holds what could be read.
    """
    if "policy" not in rule.metadata:
        return None, []
    reader = _PolicyReader(rule)
    return reader.read(rule.metadata["policy"]), reader.findings


class _PolicyReader:
    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.findings: list[Finding] = []

    def complain(self, code: str, message: str, remedy: str, *key: str | int) -> None:
        location = Location(self.rule.location.path, self.rule.line_of("policy", *key))
        self.findings.append(
            Finding(code=code, severity=Severity.ERROR, message=message, location=location, remedy=remedy)
        )

    def read(self, value: Any) -> Policy | None:
        if not isinstance(value, dict):
            self.complain("policy-shape", "'policy' is no mapping", f"known keys: {', '.join(_KEYS)}")
            return None
        self.unknown(value, _KEYS)
        rule = self.rule
        waiver = self.mapping(value.get("waiver", {}), "waiver")
        self.unknown(waiver, _WAIVER_KEYS, "waiver")
        protects = tuple(self.products(value.get("protects", []), "protects"))
        if not protects and not value.get("protects"):
            self.complain("policy-empty", "the policy protects nothing", "name what it protects under 'protects'")
        fields: dict[str, Any] = {}
        if "installed" in value:
            fields["installed"] = self.texts(value["installed"], "installed")
        return Policy(
            rule=rule.id,
            repo=rule.repo,
            kinds=frozenset(self.words(value.get("kinds", []), "kinds")) or frozenset(PatchKind),
            protects=protects,
            allows=tuple(self.products(value.get("allows", []), "allows")),
            where=self.paths(value.get("where", []), "where") or rule.applies_to or ("**",),
            overlays=self.paths(value.get("overlays", []), "overlays"),
            patterns=tuple(self.patterns(value.get("patterns", []))),
            folder=self.text(waiver.get("folder", ""), "waiver", "folder").strip("/"),
            parts=tuple(self.parts(waiver.get("parts", {}))),
            scope=self.scope(waiver.get("scope", [])),
            configs=self.paths(value.get("configs", []), "configs"),
            baseline=self.text(value.get("baseline", ""), "baseline"),
            location=rule.location,
            **fields,
        )

    def unknown(self, value: Mapping[str, Any], known: Sequence[str], *key: str | int) -> None:
        for name in value:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1, 0.6)
                remedy = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
                self.complain("key-unknown", f"unknown key {name!r} in a policy", remedy, *key, name)

    def mapping(self, value: Any, *key: str | int) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        if value not in ("", []):
            self.complain("value-type", f"{key[-1]!r} is no mapping", "write key: value lines", *key)
        return {}

    def text(self, value: Any, *key: str | int) -> str:
        if isinstance(value, str):
            return value
        self.complain("value-type", f"{key[-1]!r} is no text", "write one line of text", *key)
        return ""

    def texts(self, value: Any, *key: str | int) -> tuple[str, ...]:
        if isinstance(value, str):
            return (value,) if value else ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.complain("value-type", f"{key[-1]!r} is no list of texts", "write [one, two]", *key)
            return ()
        return tuple(value)

    def paths(self, value: Any, *key: str | int) -> tuple[str, ...]:
        texts = self.texts(value, *key)
        problems = [problem for problem in lint(texts) if problem.code not in _HARMLESS]
        for problem in problems:
            self.complain(problem.code, problem.message, problem.remedy, *key, problem.index)
        return () if problems else texts

    def words(self, value: Any, *key: str | int) -> Iterator[PatchKind]:
        for word in self.texts(value, *key):
            known = [kind.value for kind in PatchKind]
            if word in known:
                yield PatchKind(word)
            else:
                near = difflib.get_close_matches(word, known, 1, 0.6)
                remedy = f"did you mean {near[0]!r}?" if near else f"write some of: {', '.join(known)}"
                self.complain("value-word", f"{word!r} is no kind of patch", remedy, *key)

    def products(self, value: Any, key: str) -> Iterator[Product]:
        for index, item in enumerate(self.items(value, key)):
            stated = {"name": item} if isinstance(item, str) else item
            if not isinstance(stated, dict) or not isinstance(stated.get("name"), str) or not stated["name"]:
                remedy = "write - name: vllm, and what it is reached by"
                self.complain("policy-product", f"an entry of {key!r} has no name", remedy, key, index)
                continue
            self.unknown(stated, _PRODUCT_KEYS, key, index)
            name = stated["name"]
            # A name alone stands for the module, the distribution and the repository of that name.
            names = {word: self.texts(stated[word], key, index, word) for word in _NAMES if word in stated}
            yield Product(
                name=name,
                modules=names.get("modules", (name.replace("-", "_"),)),
                packages=names.get("packages", (name,)),
                repositories=names.get("repositories", (name,)),
                paths=names.get("paths", ()),
                role=self.role(stated.get("role", "engine"), key, index, "role"),
            )

    def role(self, value: Any, *key: str | int) -> Role:
        words = [role.value for role in Role]
        if value in words:
            return Role(value)
        self.complain("value-word", f"{value!r} is no role", f"write one of: {', '.join(words)}", *key)
        return Role.ENGINE

    def items(self, value: Any, *key: str | int) -> list[Any]:
        if isinstance(value, list):
            return value
        if value != "":
            self.complain("value-type", f"{key[-1]!r} is no list", "write one entry a line", *key)
        return []

    def patterns(self, value: Any) -> Iterator[CustomPattern]:
        for index, item in enumerate(self.items(value, "patterns")):
            if not isinstance(item, dict) or not isinstance(item.get("lines"), str):
                remedy = "write - lines: 'regular expression'"
                self.complain("policy-pattern", "a pattern has no 'lines'", remedy, "patterns", index)
                continue
            self.unknown(item, _PATTERN_KEYS, "patterns", index)
            try:
                compile_bounded(item["lines"])
            except RegexError as error:
                message = f"{item['lines']!r} {error}"
                self.complain("policy-regex", message, error.hint, "patterns", index, "lines")
                continue
            kinds = list(self.words(item.get("kind", "custom"), "patterns", index, "kind"))
            yield CustomPattern(
                kind=kinds[0] if kinds else PatchKind.CUSTOM,
                target=self.text(item.get("target", "unknown"), "patterns", index, "target"),
                lines=item["lines"],
            )

    def parts(self, value: Any) -> Iterator[Part]:
        for name, headings in self.mapping(value, "waiver", "parts").items():
            texts = self.texts(headings, "waiver", "parts", name)
            if texts:
                yield Part(name=name, headings=texts)

    def scope(self, value: Any) -> tuple[str, ...]:
        words = self.texts(value, "waiver", "scope")
        for word in words:
            if word not in _SCOPE_WORDS:
                remedy = f"write some of: {', '.join(_SCOPE_WORDS)}"
                self.complain("value-word", f"a scope cannot name {word!r}", remedy, "waiver", "scope")
        return tuple(word for word in words if word in _SCOPE_WORDS)


def policies(rules: Iterable[Rule]) -> tuple[list[Policy], list[Finding]]:
    """The policies of the rules in force, and what is wrong with them."""
    found: list[Policy] = []
    findings: list[Finding] = []
    for rule in rules:
        policy, wrong = parse_policy(rule)
        findings += wrong
        if policy is not None and rule.status.matches:
            found.append(policy)
    return found, findings
