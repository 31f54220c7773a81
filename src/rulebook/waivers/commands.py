"""What the commands of a shell script do to what a policy protects."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from rulebook.regexes import MAX_LINE, compile_bounded
from rulebook.waivers import effects, python, shell
from rulebook.waivers.patches import Call, Patch, Scan, Span, Sureness, files_of, names_of, sureness_of
from rulebook.waivers.policy import PatchKind, Policy, Role
from rulebook.waivers.shell import Assignment, Command, Heredoc
from rulebook.waivers.targets import Resolver, Target, best, diff_targets
from rulebook.waivers.values import Place, Values, positional

SHELL_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch", ".zsh", ".ksh", ".env", ".bashrc", ".profile", ".command")


class File(Protocol):
    """The file that a script stands in."""

    path: str
    policy: Policy
    resolver: Resolver
    scan: Scan

    def add(self, patch: Patch) -> None:
        """Notes a patch."""

    def excerpt(self, line: int) -> str:
        """A line of the file, shortened."""
        ...

    def diff(self, text: str, line: int, end_line: int) -> None:
        """Looks at a diff that stands in these lines."""

    def nested(self, script: str) -> list[python.Operation]:
        """What a shell command that stands in a program does."""
        ...


_PYTHON = re.compile(r"(?:^|/)(?:python|pypy)[\d.]*\Z|PY(?:THON)?\w*\}?\Z")
_SHELL = re.compile(r"(?:^|/)(?:ba|z|k|da)?sh\Z")
_PIP = re.compile(r"(?:^|/)pip[\d.]*\Z|pip_?install")
#: Programs that run another one, whose name comes somewhere after their own.
_WRAPPERS = frozenset(
    [
        "sudo",
        "env",
        "exec",
        "command",
        "time",
        "timeout",
        "nohup",
        "srun",
        "docker",
        "podman",
        "xargs",
        "find",
        "ssh",
        "uv",
        "bash",
        "sh",
        "if",
        "then",
        "eval",
        "setsid",
        "stdbuf",
        "nice",
        "ionice",
        "enroot",
        "singularity",
        "apptainer",
        "kubectl",
        "run",
        "flock",
        "mpirun",
        "retry",
        "nsenter",
        "chroot",
    ]
)
_VERBS = frozenset(
    [
        "sed",
        "gsed",
        "perl",
        "awk",
        "gawk",
        "git",
        "patch",
        "pip",
        "pip3",
        "cp",
        "mv",
        "install",
        "rsync",
        "tee",
        "ln",
        "dd",
        "curl",
        "wget",
        "rm",
        "unlink",
        "tar",
        "unzip",
        "python",
        "python3",
        "bash",
        "sh",
        "source",
        ".",
        "ex",
        "ed",
        "make",
        "cmake",
        "ninja",
        "truncate",
        "touch",
        "scp",
    ]
)
#: Programs that are given a script's name and do not run it.
_TELLERS = frozenset(
    "echo printf cat ls chmod chown test [ [[ grep egrep head tail less wc stat file diff cmp basename dirname realpath"
    " readlink md5sum sha256sum shellcheck shfmt dos2unix which type mkdir".split()
)
_MOUNT_OPTIONS = ("-v", "--volume", "--mount", "--container-mounts", "--bind", "-B", "--mount-list")
_MOUNT = re.compile(r"(?P<source>[^\s:,=\"']+):(?P<target>/[^\s:,\"']+)")
_MOUNT_LONG = re.compile(r"(?:target|dst|destination)=(?P<target>/[^\s,\"']+)")
_DIFF = re.compile(r"^(?:diff --git |--- \S.*\n\+\+\+ )", re.MULTILINE)
_PIP_VALUES = (
    "-r",
    "--requirement",
    "-c",
    "--constraint",
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "--python",
    "-t",
    "--target",
    "--prefix",
    "--root",
    "--platform",
    "--no-binary",
    "--only-binary",
    "--progress-bar",
    "--timeout",
    "--retries",
    "--config-settings",
    "-C",
    "--trusted-host",
)


class ShellScanner:
    """Looks at the commands of one script, and at the scripts inside of them."""

    def __init__(self, owner: File, script: shell.Script, outer: Values | None, depth: int) -> None:
        self.owner = owner
        self.policy = owner.policy
        self.resolver = owner.resolver
        self.script = script
        self.values = Values(script, outer)
        self.depth = depth
        self.found: list[Patch] = []
        self.in_clones: set[Patch] = set()
        self.base = ""

    def read(self, folder: str = "") -> None:
        """Looks at every command, in the order of the text; ``folder`` is where the script is started."""
        self.base = folder
        for command in self.script.commands:
            self._command(command)
        for assignment in self.script.assignments:
            self._assignment(assignment)
        installed = {name for patch in self.found if patch.kind is PatchKind.ENGINE_INSTALL for name in patch.targets}
        for patch in self.found:
            if patch not in self.in_clones:
                self.owner.add(patch)
            elif installed & set(patch.targets):
                # An edit of a clone matters as soon as the clone is what runs.
                self.owner.add(replace(patch, sureness=Sureness.CERTAIN))

    # --- reporting ---

    def report(
        self,
        command: Command | Assignment,
        kind: PatchKind,
        targets: Sequence[Target],
        effect: Sequence[str],
        *,
        sureness: Sureness | None = None,
        at: int = 0,
        trace: Iterable[Assignment | Command] = (),
    ) -> None:
        """Notes a patch that ``command`` makes; without targets there is none.

        Args:
            command: what does it; its lines are the patch's.
            kind: the mechanism.
            targets: what is reached.
            effect: see :mod:`rulebook.waivers.effects`.
            sureness: by default the targets decide.
            at: the line that tells most, where it is not the first.
            trace: what the targets depend on.
        """
        if not targets:
            return
        line, end_line = command.line, command.end_line
        spans = {
            Span(self.owner.path, item.line, item.end_line)
            for item in (*trace, *self.values.calls_of(command.function))
            if not line <= item.line <= end_line and item.line
        }
        patch = Patch(
            path=self.owner.path,
            line=line,
            end_line=end_line,
            kind=kind,
            targets=names_of(targets),
            files=files_of(targets),
            excerpt=self.owner.excerpt(at or line),
            sureness=sureness or sureness_of(targets),
            effect=tuple(effect),
            trace=tuple(sorted(spans)),
        )
        self.found.append(patch)
        if all(target.clone for target in targets):
            self.in_clones.add(patch)

    def _reach(
        self, text: str, command: Command | Assignment
    ) -> tuple[Target | None, tuple[Assignment | Command, ...]]:
        """What a word leads to, and the lines that say so."""
        found: list[tuple[Target, tuple[Assignment | Command, ...]]] = []
        folders = self.values.folder(command) if isinstance(command, Command) else [Place("")]
        for place in self.values.expand(text, command):
            target = self.resolver.path(place.text) if len(place.text) > 2 else None
            if target is not None:
                found.append((target, tuple(place.trace)))
            if target is not None and target.certain:
                continue
            for folder in folders:
                path = posixpath.normpath(posixpath.join(self.base, folder.text, place.text))
                target = self.resolver.path(path) if folder.text or self.base else None
                if target is not None and target.certain:
                    found.append((target, (*place.trace, *folder.trace)))
                cloned = self.values.clone_of(path)
                if cloned is not None:
                    product = self.resolver.repository(cloned[0].url)
                    if self.policy.is_protected(product):
                        assert product is not None
                        trace: tuple[Assignment | Command, ...] = (*place.trace, *folder.trace, cloned[0].command)
                        found.append((Target(product.name, cloned[1], clone=True), trace))
        chosen = best(target for target, _ in found)
        # A path in a clone is in the clone, whatever it is called.
        clones = [(target, trace) for target, trace in found if target.clone]
        if chosen is not None and not chosen.certain and clones:
            return clones[0]
        return next(((target, trace) for target, trace in found if target == chosen), (None, ()))

    # --- commands ---

    def _command(self, command: Command) -> None:
        words = [word.text for word in command.words]
        self._writes(command)
        self.mounts(command)
        self.custom(command, command.text)
        start = self._verb(words, command)
        if start is None:
            self._calls(command, words, 0)
            self._nested(command, words)
            self._heredocs(command, words, 0)
            return
        name = posixpath.basename(words[start])
        arguments = words[start + 1 :]
        if _PIP.search(name) or (_PYTHON.search(words[start]) and arguments[:2] == ["-m", "pip"]):
            self._pip(command, words, start)
        elif name in ("sed", "gsed", "perl", "awk", "gawk", "ex", "ed"):
            self._edit(command, name, arguments)
        elif name == "git":
            self._git(command, arguments)
        elif name == "patch":
            self._patch(command, arguments)
        elif name in ("cp", "mv", "install", "rsync", "ln", "scp"):
            self._copy(command, name, arguments)
        elif name in ("tee", "truncate", "touch", "rm", "unlink"):
            self._each(
                command, arguments, PatchKind.SOURCE_REWRITE if name in ("rm", "unlink") else PatchKind.FILE_OVERLAY
            )
        elif name in ("curl", "wget", "dd", "tar", "unzip"):
            self._download(command, name, arguments)
        elif name in ("python", "python3") or _PYTHON.search(words[start]):
            self._run_python(command, words, start)
        elif name in ("bash", "sh", "source", "."):
            self._calls(command, words, start)
        self._nested(command, words)
        self._heredocs(command, words, start)

    def _verb(self, words: Sequence[str], command: Command) -> int | None:
        """Where the command's real name is, behind ``sudo``, ``docker exec …``, ``find … -exec``."""
        first = posixpath.basename(words[0])
        if first.startswith("$") and not _PYTHON.search(first):
            value = self.values.expand(words[0], command)[0].text
            if re.match(r"(?:\S*/)?(?:python[\d.]*\s+-m\s+)?(?:pip[\d.]*|uv\s+pip)\s+install\b", value):
                return 0 if _PIP.search(words[0]) else None
            if _PYTHON.search(value.split(" ")[0]):
                return 0
        if first in _VERBS or _PIP.search(first) or _PYTHON.search(words[0]):
            return 0
        if first not in _WRAPPERS or (first == "kubectl" and not {"exec", "cp"} & set(words[1:4])):
            return None
        for index, word in enumerate(words[1:], 1):
            base = posixpath.basename(word)
            if base in _VERBS or _PIP.fullmatch(base) or _PYTHON.search(word):
                return index
        return None

    def _writes(self, command: Command) -> None:
        """``> file`` and ``>> file``."""
        for word in command.writes:
            target, trace = self._reach(word.text, command)
            if target is None or (target.clone and not _CODE.search(target.file)):
                continue
            body = [line for heredoc in command.heredocs for line in heredoc.text.split("\n")]
            effect = effects.of_lines(body) or (command.text[:MAX_LINE],)
            self.report(command, PatchKind.FILE_OVERLAY, [target], effect, trace=trace)

    def _edit(self, command: Command, name: str, arguments: Sequence[str]) -> None:
        """Editors that change a file in place; of ``perl`` and ``awk`` those that are told to."""
        letters = {"sed": r"-[nrEsuz]*i|--in-place", "gsed": r"-[nrEsuz]*i|--in-place", "perl": r"-[A-Za-z0]*i"}
        if name in ("awk", "gawk"):
            in_place = "inplace" in arguments
        elif name in letters:
            in_place = any(re.match(letters[name], argument) for argument in arguments)
        else:
            in_place = True
        if not in_place:
            return
        scripts, files = self._sed_parts(arguments)
        if posixpath.basename(command.words[0].text) == "find":
            words = [word.text for word in command.words]
            files = [*self._find_paths(words), *files]
        elif posixpath.basename(command.words[0].text) == "xargs":
            files = [
                word.text
                for item in self.script.commands
                if item.pipeline == command.pipeline and item.pipeline
                for word in item.words
            ] + files
        targets, trace = self._reach_all(files, command)
        effect = [effects.of_sed(script.replace(shell.LITERAL_DOLLAR, "$")) for script in scripts]
        self.report(command, PatchKind.SOURCE_REWRITE, targets, effect, trace=trace)

    @staticmethod
    def _sed_parts(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
        scripts: list[str] = []
        rest: list[str] = []
        skip = False
        for index, argument in enumerate(arguments):
            if skip:
                skip = False
            elif re.fullmatch(r"--expression|-(?!i)[A-Za-z]*e", argument) and index + 1 < len(arguments):
                scripts.append(arguments[index + 1])
                skip = True
            elif not argument.startswith("-") and argument:
                rest.append(argument)
        if not scripts and rest:
            scripts.append(rest.pop(0))
        return scripts, rest

    @staticmethod
    def _find_paths(words: Sequence[str]) -> list[str]:
        folders: list[str] = []
        for word in words[1:]:
            if word.startswith(("-", "(", "!")):
                break
            folders.append(word)
        names = [
            words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-name", "-path", "-iname", "-wholename")
        ]
        return [posixpath.join(folder, *(name.lstrip("/") for name in names)) for folder in folders]

    def _reach_all(
        self, words: Iterable[str], command: Command | Assignment
    ) -> tuple[list[Target], list[Assignment | Command]]:
        targets: dict[Target, None] = {}
        trace: list[Assignment | Command] = []
        for word in words:
            target, lines = self._reach(word, command)
            if target is not None:
                targets[target] = None
                trace.extend(lines)
        return list(targets), trace

    def _git(self, command: Command, arguments: Sequence[str]) -> None:
        folder = ""
        rest = list(arguments)
        while len(rest) > 1 and rest[0].startswith("-"):
            if rest[0] == "-C":
                folder = rest[1]
                rest = rest[2:]
            elif rest[0] in ("-c", "--git-dir", "--work-tree"):
                rest = rest[2:]
            else:
                rest = rest[1:]
        if not rest:
            return
        action = rest[0]
        if action in ("apply", "am"):
            directory = next((word.partition("=")[2] for word in rest if word.startswith("--directory=")), "")
            if any(word in ("--check", "--stat", "--numstat", "--summary", "--abort") for word in rest):
                return
            self._apply(command, folder or directory or ".", [word for word in rest[1:] if not word.startswith("-")])
        elif action in ("checkout", "switch", "reset", "pull", "merge", "rebase", "cherry-pick", "revert", "restore"):
            target, trace = self._reach(folder or ".", command)
            if target is not None and not target.clone and target.certain:
                effect = (" ".join(rest),)
                self.report(command, PatchKind.ENGINE_INSTALL, [target], effect, trace=trace)

    def _patch(self, command: Command, arguments: Sequence[str]) -> None:
        folder = "."
        rest = list(arguments)
        files = []
        skip = False
        for index, word in enumerate(rest):
            if skip:
                skip = False
            elif word in ("-d", "--directory", "-i", "--input", "-p", "-F", "-r", "-o", "-B", "-D", "-V", "-z"):
                skip = True
                if index + 1 < len(rest):
                    if word in ("-d", "--directory"):
                        folder = rest[index + 1]
                    elif word in ("-i", "--input"):
                        files.append(rest[index + 1])
            elif word.startswith("--directory="):
                folder = word.partition("=")[2]
            elif word.startswith("--input="):
                files.append(word.partition("=")[2])
            elif word in ("--dry-run", "--version", "--help"):
                return
            elif not word.startswith("-"):
                files.append(word)
        self._apply(command, folder, files)

    def _apply(self, command: Command, folder: str, files: Sequence[str]) -> None:
        """``git apply`` and ``patch``: the folder tells the target, else the diff does, else nothing."""
        target, trace = self._reach(folder, command)
        named, lines = self._reach_all([*files, *(word.text for word in command.reads)], command)
        diffs = [heredoc.text for heredoc in command.heredocs] + self._diffs_named(
            [*files, *(w.text for w in command.reads)]
        )
        inner: list[Target] = []
        for text in diffs:
            targets = diff_targets(text, self.resolver)
            if targets is None:
                return
            inner.extend(targets)
        effect = tuple(item for text in diffs for item in effects.of_diff(text)) or (command.text[:MAX_LINE],)
        found = [*([target] if target else []), *named, *inner]
        if found:
            if target is not None and target.clone:
                found = [target]
            elif not (target and target.certain):
                found = [item._replace(clone=False) for item in found]
            self.report(command, PatchKind.PATCH_APPLY, found, effect, trace=(*trace, *lines))
            return
        if self._elsewhere(folder, command):
            return
        text = " ".join(files)
        product = next((p for p in (*self.policy.allows, *self.policy.protects) if p.name in text.lower()), None)
        if product is None:
            self.report(
                command, PatchKind.PATCH_APPLY, [Target("unknown")], effect, sureness=Sureness.LIKELY, trace=trace
            )
        elif self.policy.is_protected(product):
            self.report(command, PatchKind.PATCH_APPLY, [Target(product.name)], effect, sureness=Sureness.LIKELY)

    def _elsewhere(self, folder: str, command: Command) -> bool:
        """Whether a folder is known to be something that is not protected: a clone of another repository."""
        for base in self.values.folder(command):
            for place in self.values.expand(folder, command):
                path = posixpath.normpath(posixpath.join(self.base, base.text, place.text))
                cloned = self.values.clone_of(path)
                if cloned is not None:
                    return not self.policy.is_protected(self.resolver.repository(cloned[0].url))
        return False

    def _diffs_named(self, files: Sequence[str]) -> list[str]:
        """Here-documents that the script wrote into these files."""
        names = {posixpath.basename(file) for file in files if "/" in file or "." in file}
        return [
            heredoc.text
            for command in self.script.commands
            for word in command.writes
            if posixpath.basename(word.text) in names
            for heredoc in command.heredocs
        ]

    def _copy(self, command: Command, name: str, arguments: Sequence[str]) -> None:
        with_value = ("-t", "--target-directory", "-m", "--mode", "-o", "-g", "-e", "--exclude", "--include", "-S")
        rest = positional(arguments, with_value)
        goal = next(
            (arguments[i + 1] for i, word in enumerate(arguments[:-1]) if word in ("-t", "--target-directory")), ""
        ) or next((word.partition("=")[2] for word in arguments if word.startswith("--target-directory=")), "")
        if not goal:
            if len(rest) < 2:
                return
            goal = rest[-1]
        target, trace = self._reach(goal, command)
        if target is None and name == "mv" and len(rest) >= 2:
            # Moving an installed file away changes what is installed just as well.
            target, trace = self._reach(rest[0], command)
        if target is not None and name == "cp" and _is_backup(rest):
            return
        if target is not None:
            self.report(command, PatchKind.FILE_OVERLAY, [target], (command.text[:MAX_LINE],), trace=trace)
        elif posixpath.basename(goal) in ("sitecustomize.py", "usercustomize.py"):
            self.owner.scan.calls.append(Call(posixpath.basename(rest[0]), rest[0], command.line, command.end_line))

    def _each(self, command: Command, arguments: Sequence[str], kind: PatchKind) -> None:
        targets, trace = self._reach_all(positional(arguments, ("-s", "--size")), command)
        # Caches of an engine's build are not its sources.
        targets = [t for t in targets if not t.clone or _CODE.search(t.file)]
        targets = [
            t for t in targets if not re.search(r"__pycache__|\.pyc|/build\b|jit/build|\.(?:log|lock|cache)\Z", t.file)
        ]
        self.report(command, kind, targets, (command.text[:MAX_LINE],), trace=trace)

    def _download(self, command: Command, name: str, arguments: Sequence[str]) -> None:
        options = {
            "curl": ("-o", "--output", "--output-dir"),
            "wget": ("-O", "--output-document", "-P", "--directory-prefix"),
            "tar": ("-C", "--directory"),
            "unzip": ("-d",),
            "dd": (),
        }[name]
        letter = {"curl": "o", "wget": "O"}.get(name)
        goals = [
            arguments[i + 1]
            for i, word in enumerate(arguments[:-1])
            if word in options or (letter and re.fullmatch(rf"-[A-Za-z]*{letter}", word))
        ]
        goals += [word.partition("=")[2] for word in arguments if word.startswith(("of=", "--output=", "--directory="))]
        if name == "tar" and not any(re.match(r"-?[a-zA-Z]*x|--extract|--get", word) for word in arguments):
            return
        targets, trace = self._reach_all(goals, command)
        self.report(command, PatchKind.FILE_OVERLAY, targets, (command.text[:MAX_LINE],), trace=trace)

    def _pip(self, command: Command, words: Sequence[str], start: int) -> None:
        rest = list(words[start + 1 :])
        if "install" in rest:
            rest = rest[rest.index("install") + 1 :]
        elif not re.search(r"pip_?install", words[start]):
            if "uninstall" not in rest:
                return
            return
        isolated = (
            any(word in ("--python", "-t", "--target", "--prefix", "--root") for word in rest) or "venv" in words[start]
        )
        editable = [rest[i + 1] for i, word in enumerate(rest[:-1]) if word in ("-e", "--editable")]
        editable += [word.partition("=")[2] for word in rest if word.startswith("--editable=")]
        requirements = positional(rest, (*_PIP_VALUES, "-e", "--editable"))
        for requirement in [*editable, *requirements]:
            self._requirement(command, requirement, local=requirement in editable, isolated=isolated)

    def _requirement(self, command: Command, requirement: str, *, local: bool, isolated: bool) -> None:
        effect = (f"install {requirement}",)
        for place in self.values.expand(requirement, command):
            text = place.text.strip()
            for part in text.split() or [""]:
                if re.search(r"git\+|://|\A[\w.-]+@[\w.-]+:", part):
                    found = self.resolver.repository(re.sub(r"^.*?git\+", "", part)) or self.resolver.package(part)
                    sureness = Sureness.CERTAIN
                elif local or part.startswith((".", "/", "~")) or "/" in part or part.endswith((".whl", ".tar.gz")):
                    self._local_install(command, part, effect, place.trace, isolated)
                    continue
                else:
                    found = self.resolver.package(part)
                    sureness = Sureness.LIKELY
                    if found is not None and found.role is not Role.ENGINE:
                        sureness = Sureness.POSSIBLE
                if found is not None and self.policy.is_protected(found):
                    self.report(
                        command,
                        PatchKind.ENGINE_INSTALL,
                        [Target(found.name)],
                        effect,
                        sureness=Sureness.POSSIBLE if isolated or found.role is Role.ADDON else sureness,
                        trace=place.trace,
                    )

    def _local_install(
        self, command: Command, path: str, effect: Sequence[str], trace: Sequence[Assignment | Command], isolated: bool
    ) -> None:
        """``pip install -e .`` and the like: of a clone, of the image's own sources, of a wheel that was built."""
        target, lines = self._reach(path.partition("[")[0] or ".", command)
        product = self.resolver.package(path) if path.endswith((".whl", ".tar.gz")) else None
        if target is None and product is not None and self.policy.is_protected(product):
            target = Target(product.name)
        if target is None and re.search(r"[\w]", path):
            for part in path.strip("/").split("/")[::-1][:2]:
                known = self.policy.by_module.get(part)
                if known is not None and self.policy.is_protected(known) and not self._elsewhere(path, command):
                    target = Target(known.name, certain=False)
                    break
        if target is not None:
            sureness = Sureness.CERTAIN if target.certain else Sureness.LIKELY
            if isolated or self._is_addon(target):
                sureness = Sureness.POSSIBLE
            self.report(
                command,
                PatchKind.ENGINE_INSTALL,
                [target._replace(clone=False)],
                effect,
                sureness=sureness,
                trace=(*trace, *lines),
            )

    def _is_addon(self, target: Target) -> bool:
        return any(p.name == target.name and p.role is Role.ADDON for p in self.policy.protects)

    def _run_python(self, command: Command, words: Sequence[str], start: int) -> None:
        rest = list(words[start + 1 :])
        if "-c" in rest and rest.index("-c") + 1 < len(rest):
            at = start + 1 + rest.index("-c") + 1
            text = rest[rest.index("-c") + 1]
            arguments = rest[rest.index("-c") + 2 :]
            self._python_text(command, text, command.words[at].line, arguments)
            return
        script = next((word for word in rest if word.endswith(".py")), "")
        if script and posixpath.basename(script) == "setup.py":
            if any(word in ("install", "develop", "bdist_wheel", "build_ext") for word in rest):
                target, trace = self._reach(posixpath.dirname(script) or ".", command)
                if target is not None:
                    self.report(
                        command,
                        PatchKind.ENGINE_INSTALL,
                        [target._replace(clone=False)],
                        (" ".join(rest),),
                        sureness=Sureness.POSSIBLE if self._is_addon(target) else None,
                        trace=trace,
                    )
        elif script:
            self._calls(command, words, start)

    def _python_text(
        self, command: Command, text: str, line: int, arguments: Sequence[str], literal: bool = False
    ) -> None:
        source = text if literal else self._plain(text, command)
        around = python.Surroundings(
            arguments=[
                [place.text for place in self.values.expand(word, command)] for word in arguments if word != "-"
            ],
            variable=lambda name: [place.text for place in self.values.expand(f"${{{name}}}", command)],
            run=self.owner.nested,
            folder=lambda path: self._in_folder(path, command),
        )
        operations = python.operations(source, self.resolver, around)
        for kind in dict.fromkeys(operation.kind for operation in operations):
            same = [operation for operation in operations if operation.kind is kind]
            targets = list(dict.fromkeys(target for operation in same for target in operation.targets))
            trace = [item for word in arguments for place in self.values.expand(word, command) for item in place.trace]
            self.report(
                command,
                kind,
                targets,
                effects.of_python(source),
                sureness=None if not same[0].whole else Sureness.LIKELY,
                at=line + same[0].line - 1,
                trace=trace,
            )

    def _in_folder(self, path: str, command: Command) -> Target | None:
        """What a relative path of a program leads to, in the folder that the program is started in."""
        if path.startswith(("/", "~", "$")):
            return self._reach(path, command)[0]
        target, _ = self._reach(path, command)
        return target

    def _plain(self, text: str, command: Command) -> str:
        """A program's text as the shell passes it, with variables that are known put in."""
        places = self.values.expand(text, command) if "$" in text and len(text) < 4_000 else []
        return places[0].text if places else text.replace(shell.LITERAL_DOLLAR, "$")

    def _nested(self, command: Command, words: Sequence[str]) -> None:
        """Scripts that are arguments: ``bash -c '…'``, ``docker exec c bash -lc "…"``, ``ssh host '…'``."""
        if self.depth >= shell.MAX_DEPTH:
            return
        for index, word in enumerate(words[1:], 1):
            option = words[index - 1]
            scripted = re.fullmatch(r"-[a-z]*c", option) and not any(_PYTHON.search(w) for w in words[: index - 1][-2:])
            if not scripted and not (words[0] in ("ssh", "eval") and " " in word):
                continue
            if (
                scripted
                and option == "-c"
                and words[0] in ("grep", "sort", "uniq", "wc", "head", "tail", "taskset", "git")
            ):
                continue
            if " " not in word:
                continue
            text = word.replace(shell.LITERAL_DOLLAR, "$")
            self._inner(text, command.words[index].line, command)

    def _inner(self, text: str, line: int, command: Command) -> None:
        inner = ShellScanner(self.owner, shell.parse(text, line), self.values, self.depth + 1)
        inner.read(folder=self.values.folder(command)[0].text)

    def _heredocs(self, command: Command, words: Sequence[str], start: int) -> None:
        """What a here-document is depends on who reads it."""
        if not command.heredocs or self.depth >= shell.MAX_DEPTH:
            return
        readers = [
            words,
            *(
                [word.text for word in other.words]
                for other in self.script.commands
                if command.pipeline and other.pipeline == command.pipeline and other is not command
            ),
        ]
        written = next((word.text for word in command.writes), "") or next(
            (word for word in words[1:] if words[0] == "tee" and not word.startswith("-")), ""
        )
        for heredoc in command.heredocs:
            if any(_PYTHON.search(word) for reader in readers for word in reader) or written.endswith(".py"):
                arguments = [word for word in words[start + 1 :] if not word.startswith("-")]
                if written and not any(_PYTHON.search(word) for reader in readers for word in reader):
                    self._program_file(command, heredoc)
                else:
                    self._python_text(command, heredoc.text, heredoc.line, arguments, heredoc.literal)
            elif written.endswith((".patch", ".diff")) or _DIFF.search(heredoc.text):
                if written or words[0] not in ("patch", "git"):
                    self.owner.diff(heredoc.text, command.line, command.end_line)
            elif (
                written.endswith(SHELL_SUFFIXES)
                or any(_SHELL.search(reader[0]) or reader[0] == "ssh" for reader in readers)
                or any(_SHELL.search(word) for reader in readers for word in reader[1:] if reader[0] in _WRAPPERS)
            ):
                self._inner(heredoc.text, heredoc.line, command)

    def _program_file(self, command: Command, heredoc: Heredoc) -> None:
        """A program that is written into a file: judged as if it ran, since nothing else is done with one."""
        text = heredoc.text
        operations = python.operations(text, self.resolver)
        targets = list(dict.fromkeys(target for operation in operations for target in operation.targets))
        if not targets:
            return
        kind = operations[0].kind
        at = heredoc.line + operations[0].line - 1
        self.report(command, kind, targets, effects.of_python(text), at=at)

    def mounts(self, command: Command) -> None:
        """Bind mounts among the options of a command."""
        words = [word.text for word in command.words]
        for index, word in enumerate(words[1:], 1):
            option, equals, value = word.partition("=")
            if equals and option in _MOUNT_OPTIONS:
                self.mount(command, value)
            elif words[index - 1] in _MOUNT_OPTIONS:
                self.mount(command, word)

    def mount(self, command: Command | Assignment, text: str) -> None:
        """``source:target`` pairs, and ``target=`` of ``--mount``."""
        targets: dict[Target, None] = {}
        trace: list[Assignment] = []
        for place in self.values.expand(text, command):
            for match in (*_MOUNT.finditer(place.text), *_MOUNT_LONG.finditer(place.text)):
                target = self.resolver.path(match["target"])
                if target is not None and target.certain and match.groupdict().get("source") != match["target"]:
                    targets[target] = None
                    trace += place.trace
        self.report(command, PatchKind.MOUNT, list(targets), (text[:MAX_LINE],), trace=trace)

    def _calls(self, command: Command, words: Sequence[str], start: int) -> None:
        """Remembers which scripts are run: one of them may be a patch."""
        if posixpath.basename(words[start]) in _TELLERS:
            return
        for word in words[start : start + 6]:
            name = posixpath.basename(word.rstrip("\"')"))
            if re.fullmatch(r"[\w.-]+\.(?:sh|bash|py|slurm)", name):
                self.owner.scan.calls.append(Call(name, word, command.line, command.end_line))
                return

    def custom(self, command: Command, text: str, effect: str = "") -> None:
        """What the policy's own expressions find in a text.

        Args:
            command: what the text is of.
            text: what the expressions are held against.
            effect: what it does, where that is not the whole text; baselines keep it, so it must stay as it is.
        """
        for pattern in self.policy.patterns:
            expression = compile_bounded(pattern.lines)
            found = expression.search(text) is not None
            if found or expression.is_cut(text):
                # What stands further on than is looked at may be a patch as well.
                sureness = Sureness.LIKELY if found else Sureness.POSSIBLE
                kept = ((effect or text)[:MAX_LINE],)
                self.report(command, pattern.kind, [Target(pattern.target)], kept, sureness=sureness)

    # --- assignments ---

    def _assignment(self, assignment: Assignment) -> None:
        """``PYTHONPATH`` that puts a clone before the installed engine; mounts kept in a variable."""
        if assignment.name == "PYTHONPATH":
            first = assignment.value.partition(":")[0]
            for place in self.values.expand(first, assignment):
                cloned = self.values.clone_of(place.text)
                product = self.resolver.repository(cloned[0].url) if cloned else None
                if product is not None and self.policy.is_protected(product):
                    assert cloned is not None
                    self.report(
                        assignment,
                        PatchKind.FILE_OVERLAY,
                        [Target(product.name)],
                        (assignment.value,),
                        trace=(*place.trace, cloned[0].command),
                    )
        elif not assignment.name.endswith("PATH") and ":" in assignment.value:
            self.mount(assignment, assignment.value)
        elif re.fullmatch(r"[\w./-]+\.sh", assignment.value):
            # A launcher hands the script's name to another program: SETUP_SCRIPT=fixes.sh.
            name = posixpath.basename(assignment.value)
            self.owner.scan.calls.append(Call(name, assignment.value, assignment.line, assignment.end_line))


_CODE = re.compile(r"\.(?:py|pyx|pyi|c|cc|cpp|cxx|cu|cuh|h|hpp|hip|inc|so|toml|cmake|txt)\Z")


def _is_backup(words: Sequence[str]) -> bool:
    """``cp file file.bak``: the copy stands beside what is run and is not run itself."""
    return len(words) == 2 and re.fullmatch(re.escape(words[0]) + r"[.~][\w.~-]*", words[1]) is not None
