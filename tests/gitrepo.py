"""Real git repositories for tests: built in a temporary folder, the same on every machine.

Nothing of the user's or the machine's configuration takes part, the identity is fixed, and each
commit is one minute younger than the one before, beginning in 2026. So object ids are the same in
every run::

    repo = GitRepo(tmp_path / "target")
    base = repo.commit({"src/a.py": "x = 1\\n", "docs/old.md": "text\\n"})
    head = repo.commit({"src/a.py": "x = 2\\n", "docs/old.md": None})     # None removes the file
    repo.git("tag", "v1")

`commit` goes through the working tree. `snapshot` does not, so it takes names that a file system
refuses, executable files, symbolic links and submodules, and is fast. `clone` makes shallow, partial
and bare clones. `environ` is what to hand to code under test, so that it is as hermetic.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_FIRST_DATE = 1767225600  # 2026-01-01 00:00:00 UTC
_IDENTITY = "A. Tester <tester@example.invalid>"

FILE = "100644"
EXECUTABLE = "100755"
SYMLINK = "120000"
SUBMODULE = "160000"


class Entry(NamedTuple):
    """A file of a snapshot that is more than its content: a mode, and content, link target or commit."""

    mode: str
    content: str | bytes


def hermetic_environ(home: Path | str, **extra: str) -> dict[str, str]:
    """An environment in which git sees no configuration but a repository's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    name, _, address = _IDENTITY.partition(" <")
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": address.rstrip(">"),
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": address.rstrip(">"),
        **extra,
    }


class GitRepo:
    """A git repository at ``path``, whose branch is ``main``."""

    def __init__(self, path: Path, *, bare: bool = False, object_format: str = "sha1") -> None:
        """Create it. ``object_format`` is ``sha1`` or ``sha256``."""
        self.path = path
        self.environ = hermetic_environ(path.parent / "no-home")
        self._clock = _FIRST_DATE
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", f"--object-format={object_format}", *["--bare"] * bare)
        # So that it can be cloned in part.
        self.git("config", "uploadpack.allowFilter", "true")
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")

    @classmethod
    def at(cls, path: Path) -> GitRepo:
        """A repository that exists already."""
        repo = cls.__new__(cls)
        repo.path = path
        repo.environ = hermetic_environ(path.parent / "no-home")
        repo._clock = _FIRST_DATE + 365 * 86400
        return repo

    @property
    def git_dir(self) -> Path:
        """Where its config, refs and objects are."""
        return self.path / ".git" if (self.path / ".git").exists() else self.path

    def git(self, *args: str, input: bytes | None = None, **extra: str) -> bytes:
        """Run git here and return its output; ``extra`` are variables for its environment."""
        date = f"{self._clock} +0000"
        environ = {**self.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, **extra}
        line = ["git", "-C", str(self.path), *args]
        done = subprocess.run(line, env=environ, input=input, capture_output=True, check=False)
        assert done.returncode == 0, f"{' '.join(line)}: {done.stderr.decode(errors='replace')}"
        return done.stdout

    def id(self, revision: str) -> str:
        """The full id of what ``revision`` names."""
        return self.git("rev-parse", "--verify", revision).decode().strip()

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files into the working tree, or remove those that are ``None``."""
        for name, content in files.items():
            place = self.path / name
            if content is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes | None] | None = None, message: str = "A change") -> str:
        """Write and commit files on the current branch, with all else that changed; returns the commit's id."""
        self.write(files or {})
        self._clock += 60
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", "--message", message)
        return self.id("HEAD")

    def snapshot(
        self,
        files: Mapping[str | bytes, str | bytes | Entry],
        parents: Sequence[str] = (),
        *,
        branch: str = "main",
        message: str = "A snapshot",
    ) -> str:
        """Commit exactly ``files`` onto ``parents`` without a working tree; returns the commit's id.

        Names may be bytes, of any kind but NUL. The branch is moved to the commit.
        """
        self._clock += 60
        text = message.encode()
        stream = [f"commit refs/heads/{branch}\nmark :1\ncommitter {_IDENTITY} {self._clock} +0000\n".encode()]
        stream.append(b"data %d\n%b\n" % (len(text), text))
        stream += [f"{'merge' if at else 'from'} {parent}\n".encode() for at, parent in enumerate(parents)]
        stream.append(b"deleteall\n")
        for name, file in files.items():
            mode, content = file if isinstance(file, Entry) else (FILE, file)
            data = content.encode() if isinstance(content, str) else content
            path = _quote(name.encode() if isinstance(name, str) else name)
            if mode == SUBMODULE:
                stream.append(b"M %b %b %b\n" % (mode.encode(), data, path))
            else:
                stream.append(b"M %b inline %b\ndata %d\n%b\n" % (mode.encode(), path, len(data), data))
        stream.append(b"get-mark :1\n")
        return self.git("fast-import", "--quiet", "--force", input=b"".join(stream)).decode().strip()

    def clone(self, path: Path, *options: str) -> GitRepo:
        """Clone this repository to ``path``, with options such as ``--depth=1`` or ``--filter=blob:none``."""
        self.git("clone", "--quiet", *options, self.path.as_uri(), str(path))
        return GitRepo.at(path)


def _quote(name: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in name) + b'"'
