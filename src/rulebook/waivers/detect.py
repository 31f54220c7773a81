"""Finds patches: operations that write to, or stand in for, what a policy protects.

A mention, a comment, a read, a computation and a configuration file are none. What counts is an
operation (``sed -i``, a Python program that writes a file back, ``git apply``, ``pip install`` of a fork, a
bind mount) together with a target, which is followed through variables, functions, folders and clones of
the same file. What a script hands to another program (``bash -c``, ``docker exec``, a here-document) is read in
that program's language.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from rulebook.regexes import MAX_LINE
from rulebook.waivers import effects, python, shell
from rulebook.waivers.commands import SHELL_SUFFIXES, ShellScanner
from rulebook.waivers.patches import (
    Call,
    Patch,
    Scan,
    Span,
    Sureness,
    files_of,
    merge,
    names_of,
    shorten,
    sureness_of,
)
from rulebook.waivers.policy import PatchKind, Policy
from rulebook.waivers.shell import Command, Word
from rulebook.waivers.targets import Resolver, Target, diff_targets

#: Larger files are no scripts that people wrote; they are looked at no further.
MAX_TEXT = 8 << 20
#: A file with a longer line is minified or generated.
MAX_LINE_LENGTH = 20_000


def scan_file(path: str, text: str, policy: Policy, first_line: int = 1) -> Scan:
    r"""Looks at one file, or at a piece of one.

    Args:
        path: decides in which language it is read.
        text: with ``\\n`` line endings.
        policy: what is forbidden.
        first_line: the number of the text's first line.
    """
    scan = Scan()
    if not text.strip() or unreadable(text):
        return scan
    _FileScanner(path, text, policy, first_line, scan).read()
    counted = [patch for patch in scan.patches if patch.kind in policy.kinds]
    scan.patches = sorted(merge(counted), key=lambda patch: (patch.line, patch.end_line, patch.kind.value))
    return scan


def unreadable(text: str) -> str:
    """Why a text is looked at no further, or an empty text."""
    if len(text) > MAX_TEXT:
        return f"larger than {MAX_TEXT >> 20} MiB"
    if len(text) > MAX_LINE_LENGTH and max(map(len, text.split("\n"))) > MAX_LINE_LENGTH:
        return f"has a line of more than {MAX_LINE_LENGTH:,} characters"
    if "\0" in text[:8_000]:
        return "binary"
    return ""


def half_operation(text: str, policy: Policy) -> str | None:
    """What a piece of a program may be about, of which only the target or only the writer is shown."""
    located, writes = python.halves(text, _resolver(policy))
    return located.name if located is not None else "unknown" if writes else None


_DOCKERFILE = re.compile(r"(?:^|/)(?:Dockerfile|Containerfile)(?:\.[\w.-]+)?\Z|\.(?:dockerfile|Dockerfile)\Z")
_SHEBANG = re.compile(r"#!.*\b(?P<name>(?:ba|z|k|da)?sh|python[\d.]*)\b")


def language_of(path: str, text: str) -> str:
    """``shell``, ``python``, ``diff``, ``yaml``, ``docker``, or an empty text for what is not looked at."""
    if path.endswith(SHELL_SUFFIXES):
        return "shell"
    if path.endswith(".py"):
        return "python"
    if path.endswith((".patch", ".diff")):
        return "diff"
    if path.endswith((".yml", ".yaml")):
        return "yaml"
    if _DOCKERFILE.search(path):
        return "docker"
    shebang = _SHEBANG.match(text)
    if shebang is not None:
        return "python" if shebang["name"].startswith("python") else "shell"
    return ""


# A cheap look at the text decides whether it is worth parsing.
_WRITES = re.compile(
    r"\bsed\b|\bperl\b|\bpatch\b|\bapply\b|\bam\b|pip|\bcp\b|\bmv\b|\bln\b|\brm\b|\binstall\b|\brsync\b|\btee\b|\bdd\b"
    r"|\bcurl\b|\bwget\b|\btar\b|\bunzip\b|open\(|\bwrite_|\bshutil\b|setattr\(|sitecustomize|PYTHONPATH|setup\.py|-v\b"
    r"|--volume|mount|COPY|ADD|>|\.sh\b|\.py\b|import|checkout|cherry-pick|\bawk\b|\bex\b"
)


class _FileScanner:
    def __init__(self, path: str, text: str, policy: Policy, first_line: int, scan: Scan) -> None:
        self.path = path
        self.text = text
        self.policy = policy
        self.first_line = first_line
        self.scan = scan
        self.resolver = _resolver(policy)

    def read(self) -> None:
        language = language_of(self.path, self.text)
        if language == "diff":
            self.diff(self.text, self.first_line, self.first_line + self.text.count("\n"))
        elif language == "python":
            self.program(self.text, self.first_line)
        elif language == "yaml":
            self.yaml()
        elif language == "docker":
            self.docker()
        elif language == "shell" and (self.policy.patterns or _WRITES.search(self.text)):
            self.shell(self.text, self.first_line)
        if self.path and self.policy.overlays and self.policy.overlay_patterns.match(self.path):
            self.overlay(language)

    # --- files of other kinds ---

    def add(self, patch: Patch) -> None:
        self.scan.patches.append(patch)

    def excerpt(self, line: int) -> str:
        lines = self.text.split("\n")
        index = line - self.first_line
        return shorten(lines[index]) if 0 <= index < len(lines) else ""

    def diff(self, text: str, line: int, end_line: int) -> None:
        """A diff: judged by the files that it changes."""
        targets = diff_targets(text, self.resolver)
        if targets is None:
            return
        first = next((part for part in text.split("\n") if part.startswith("+++ ")), text.strip().split("\n")[0])
        self.add(
            Patch(
                path=self.path,
                line=line,
                end_line=end_line,
                kind=PatchKind.PATCH_FILE,
                targets=names_of(targets) or ("unknown",),
                files=files_of(targets),
                excerpt=shorten(first),
                sureness=Sureness.CERTAIN if targets else Sureness.POSSIBLE,
                effect=effects.of_diff(text),
            )
        )

    def program(self, text: str, first_line: int) -> None:
        around = python.Surroundings(run=self.nested)
        for operation in python.operations(text, self.resolver, around):
            line, end_line = operation.line + first_line - 1, operation.end_line + first_line - 1
            if self.path.endswith("sitecustomize.py") or operation.kind is not PatchKind.MONKEY_PATCH:
                sureness = sureness_of(operation.targets, operation.whole)
            else:
                sureness = Sureness.LIKELY
            self.add(
                Patch(
                    path=self.path,
                    line=line,
                    end_line=end_line,
                    kind=operation.kind,
                    targets=names_of(operation.targets),
                    files=files_of(operation.targets),
                    excerpt=self.excerpt(line),
                    sureness=sureness,
                    effect=effects.of_operation(text, operation.line, operation.end_line),
                    trace=(Span(self.path, *(number + first_line - 1 for number in operation.scope)),),
                )
            )

    def nested(self, script: str) -> list[python.Operation]:
        """What a shell command that stands in a program does."""
        inner = Scan()
        _FileScanner("nested.sh", script, self.policy, 1, inner).shell(script, 1)
        return [
            python.Operation(
                patch.kind, 1, 1, tuple(Target(name, patch.files[0] if patch.files else "") for name in patch.targets)
            )
            for patch in inner.patches
            if patch.sureness.counts
        ]

    def overlay(self, language: str) -> None:
        """A source file kept in a folder whose files are laid over installed ones."""
        if any(patch.sureness.counts for patch in self.scan.patches):
            return
        imported = [self.resolver.module(name) for name in python.imported(self.text)] if language == "python" else []
        targets = [target for target in dict.fromkeys(imported) if target is not None]
        if targets:
            self.add(
                Patch(
                    path=self.path,
                    line=self.first_line,
                    end_line=self.first_line + self.text.rstrip("\n").count("\n"),
                    kind=PatchKind.FILE_OVERLAY,
                    targets=names_of(targets),
                    excerpt=shorten(next(line for line in self.text.split("\n") if targets[0].name in line)),
                    sureness=Sureness.LIKELY,
                    effect=effects.of_lines(self.text.split("\n")),
                )
            )

    def shell(self, text: str, first_line: int) -> None:
        scanner = ShellScanner(self, shell.parse(text, first_line), None, 0)
        scanner.read()

    _BLOCK = re.compile(r"^(?P<indent>[ ]*)(?:- )?(?:[\w.\"'-]+:[ ]+|- ?)[|>][0-9+-]{0,2}[ ]*(?:#.*)?$", re.MULTILINE)

    def yaml(self) -> None:
        """Block scalars are read as scripts; other values for mounts, calls and one-line commands."""
        lines = self.text.split("\n")
        inside: set[int] = set()
        for match in self._BLOCK.finditer(self.text):
            start = self.text.count("\n", 0, match.start())
            if start in inside:
                continue
            indent = len(match["indent"])
            end = start + 1
            while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
                end += 1
            body = lines[start + 1 : end]
            inside.update(range(start + 1, end))
            width = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
            text = "\n".join(line[width:] for line in body)
            if _WRITES.search(text):
                self.shell(text, self.first_line + start + 1)
        for index in _lines_with(self.text, _YAML_WORDS):
            if index in inside or len(lines[index]) > MAX_LINE:
                continue
            value = _YAML_VALUE.match(lines[index])
            if value is None or value["value"].startswith("#"):
                continue
            text = value["value"].strip()
            if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
                text = text[1:-1]
            self.scalar(value["key"] or "", text, self.first_line + index)

    def scalar(self, key: str, text: str, line: int) -> None:
        command = Command((Word("--mount-list", line, line), Word(text, line, line)), line, line)
        scanner = ShellScanner(self, shell.Script([command], []), None, 0)
        scanner.mounts(command)
        if key.strip().startswith("/"):
            # "host path: container path", as recipes for srt-slurm write their mounts.
            scanner.mount(command, f"{key.strip()}:{text}")
        elif key.strip() in _MOUNT_KEYS:
            scanner.mount(command, f"volume:{text}")
        if not line or not re.match(r"\S+:\S+\Z", text):
            self.shell(text, line)
        scanner.custom(command, f"{key.strip()}: {text}", text)
        self.scan.patches += scanner.found
        if re.fullmatch(r"[\w./${}-]+\.(?:sh|py)", text):
            self.scan.calls.append(Call(posixpath.basename(text), text, line, line))

    def docker(self) -> None:
        """``RUN`` is a script; ``COPY`` and ``ADD`` write files."""
        lines = self.text.split("\n")
        index = 0
        while index < len(lines):
            start = index
            while index + 1 < len(lines) and lines[index].rstrip().endswith("\\"):
                index += 1
            index += 1
            logical = "\n".join(lines[start:index])
            match = re.match(r"\s*(RUN|COPY|ADD)\s+((?:--\S+\s+)*)", logical, re.IGNORECASE)
            if match is None:
                continue
            rest = " " * match.end() + logical[match.end() :]
            if match[1].upper() == "RUN":
                self.shell(rest, self.first_line + start)
            else:
                self.shell("cp " + rest.lstrip(), self.first_line + start)


_YAML_VALUE = re.compile(r"\s*(?:- +)?(?:(?P<key>[^\s:#][^:#]*):\s+)?(?P<value>\S.*)\Z")
#: The container's side of a mount: Kubernetes, Docker Compose, and what recipes call it.
_MOUNT_KEYS = ("mountPath", "target", "container_path", "containerPath", "dst", "destination")
#: What a value of one line has to hold to be worth a look.
_YAML_WORDS = (
    "packages/",
    ".sh",
    ".py",
    ":/",
    ": /",
    "pip ",
    "sed ",
    "patch ",
    "git ",
    "cp ",
    "curl ",
    "wget ",
    "PYTHONPATH",
)


def _lines_with(text: str, words: Iterable[str]) -> list[int]:
    """The indices of the lines that hold one of some words. Configuration files have ten thousand lines."""
    places = []
    for word in words:
        at = text.find(word)
        while at >= 0:
            places.append(at)
            at = text.find(word, text.find("\n", at) + 1 or len(text))
    found: dict[int, None] = {}
    line = start = 0
    for at in sorted(places):
        line += text.count("\n", start, at)
        start = at
        found[line] = None
    return list(found)


_RESOLVERS: dict[int, tuple[Policy, Resolver]] = {}


def _resolver(policy: Policy) -> Resolver:
    known = _RESOLVERS.get(id(policy))
    if known is None or known[0] is not policy:
        _RESOLVERS.clear()
        known = _RESOLVERS[id(policy)] = (policy, Resolver(policy))
    return known[1]
