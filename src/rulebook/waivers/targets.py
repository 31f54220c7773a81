"""What a path leads to: a protected product, another installed package, or nothing that matters."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rulebook.waivers.policy import Policy, Product, normal

#: Where :mod:`rulebook.waivers.values` puts a package whose place a script asks Python for.
INSTALLED_ROOT = "/site-packages"

_CODE = r"\.(?:py|pyx|pyi|c|cc|cpp|cxx|cu|cuh|h|hpp|hip|inc|so|co|jinja|j2)"
_MODULE_FILE = re.compile(rf"(?:^|/)(?P<module>\w+)/(?:[^/\s]+/)*[^/\s]*{_CODE}\Z")
_DISTRIBUTION = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.]*?)(?:-[^/]*)?\.(?:whl|tar\.gz|zip)\Z")


class Target(NamedTuple):
    """What an operation reaches.

    Attributes:
        name: the product's name, or the installed package's where the policy does not know it.
        file: the path below the folder of installed packages, as far as it is known.
        certain: whether the path itself shows that this is installed, and not only its shape.
        clone: whether it is in a clone that the script made, and not (yet) what runs.
    """

    name: str
    file: str = ""
    certain: bool = True
    clone: bool = False


class Resolver:
    """Resolves paths, packages, modules and repositories by one policy."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        names = sorted((name for name in policy.installed if not name.startswith("/")), key=len, reverse=True)
        self.markers = tuple(f"/{name}/" for name in names)
        self.roots = tuple(name.rstrip("/") + "/" for name in policy.installed if name.startswith("/"))
        self.places = [
            (place.rstrip("/"), product) for product in (*policy.protects, *policy.allows) for place in product.paths
        ]

    def path(self, text: str) -> Target | None:
        """What the file or folder ``text`` belongs to, or ``None``."""
        return _resolve(self, text)

    def module(self, dotted: str) -> Target | None:
        """The protected product that a Python module belongs to."""
        product = self.policy.by_module.get(dotted.partition(".")[0])
        if product is None or not self.policy.is_protected(product):
            return None
        return Target(product.name, dotted.replace(".", "/"))

    def repository(self, url: str) -> Product | None:
        """The product whose repository, or a fork of it, ``url`` is."""
        # "…/name.git@branch#egg=…", as pip takes it.
        name = re.sub(r"(?<=[\w.-])@[^/]*\Z", "", url.partition("#")[0].rstrip("/"))
        for part in re.split(r"[/:]", name)[:1:-1]:
            product = self.policy.by_repository.get(part.removesuffix(".git").lower())
            if product is not None:
                return product
        return None

    def package(self, requirement: str) -> Product | None:
        """The product that a requirement (PEP 508, or a wheel's file name) names."""
        wheel = _DISTRIBUTION.search(requirement.rsplit("/", 1)[-1])
        name = wheel["name"] if wheel else re.split(r"[\s\[<>=!~;@,]", requirement, maxsplit=1)[0]
        return self.policy.by_package.get(normal(name))


@lru_cache(maxsize=65536)
def _resolve(resolver: Resolver, text: str) -> Target | None:
    path = posixpath.normpath(text) if text else ""
    slashed = path + "/"
    for marker in resolver.markers:
        _, found, rest = f"/{slashed}".rpartition(marker)
        if found:
            return _installed(resolver, rest.rstrip("/"), marker.strip("/"))
    for place, product in resolver.places:
        if slashed.startswith(place + "/"):
            if not resolver.policy.is_protected(product):
                return None
            return Target(product.name, slashed[len(place) + 1 :].rstrip("/") or product.name)
    for root in resolver.roots:
        if slashed.startswith(root):
            return _installed(resolver, slashed[len(root) :].rstrip("/"), root.strip("/"))
    match = _MODULE_FILE.search(path)
    while match is not None:
        known = resolver.policy.by_module.get(match["module"])
        if known is not None:
            if not resolver.policy.is_protected(known):
                return None
            return Target(known.name, path[match.start("module") :], certain=False)
        match = _MODULE_FILE.search(path, match.end("module"))
    return None


def _installed(resolver: Resolver, rest: str, root: str) -> Target | None:
    """The package that ``rest``, below a folder of installed packages, is in."""
    name, inside, _ = rest.partition("/")
    is_module = inside or name.endswith((".py", ".so")) or ("." not in name and not name.isupper())
    if not name or "*" in name or "$" in name or not is_module:
        return Target(root, rest)
    stem = re.split(r"[-.]", name, maxsplit=1)[0]
    product = resolver.policy.by_module.get(stem) or resolver.policy.by_repository.get(name.lower())
    if product is None:
        return Target(stem or root, rest)
    return Target(product.name, rest) if resolver.policy.is_protected(product) else None


def best(targets: Iterable[Target | None]) -> Target | None:
    """The most certain of some targets."""
    found = [target for target in targets if target is not None]
    return min(found, key=lambda target: (target.clone, not target.certain), default=None)


def diff_targets(text: str, resolver: Resolver) -> list[Target] | None:
    """What a diff changes; empty where that is not known, ``None`` where it is something allowed."""
    targets: dict[Target, None] = {}
    allowed = False
    for match in re.finditer(r"^(?:\+\+\+|---) (?:[ab]/)?([^\t\n]+)", text, re.MULTILINE):
        path = match[1].strip()
        if path == "/dev/null":
            continue
        target = resolver.path(path) or _source_path(path, resolver)
        if target is not None:
            targets[target] = None
        elif any(part in resolver.policy.by_module for part in path.split("/")):
            allowed = True
    if targets:
        return list(targets)
    return None if allowed else []


def _source_path(path: str, resolver: Resolver) -> Target | None:
    """A path in an engine's own repository: ``vllm/envs.py``, ``python/sglang/srt/server.py``, ``aiter/csrc/a.cu``."""
    for part in path.split("/")[:-1][:3]:
        product = resolver.policy.by_module.get(part)
        if product is not None:
            return Target(product.name, path, certain=False) if resolver.policy.is_protected(product) else None
    return None
