"""Runs pages.yml's shell as a runner would, on a knowledge base's repository and its origin, for tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from basekit import write_rule
from gitrepo import GitRepo, hermetic_environ
from sitekit import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text(encoding="utf-8"))
STEPS = WORKFLOW["jobs"]["publish"]["steps"]
SITE_URL = "https://owner.github.io/kb/"
TOKEN = "ghs_0123456789"


class Repository:
    """A knowledge base's repository with its origin, and runs of the workflow in clones of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = GitRepo(folder / "work")
        write_rule(self.work.path, "R-1", ["unknown"])
        (self.work.path / "docs").mkdir()
        (self.work.path / "docs/guide.md").write_text("# Guide\n\nText.\n")
        shutil.copy(ROOT / "mkdocs.yml", self.work.path)
        self.origin = folder / "origin.git"
        self.work.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.origin))
        self.work.git("remote", "add", "origin", str(self.origin))
        self.commit("Text before.")

    def commit(self, body: str, name: str = "R-1") -> None:
        write_rule(self.work.path, name, ["unknown"], body=f"{body}\n")
        self.work.git("add", "--all")
        self.work.git("commit", "--quiet", "--message", body)
        self.work.git("push", "--quiet", "origin", "main")

    def tag(self, name: str) -> None:
        self.work.git("tag", name)
        self.work.git("push", "--quiet", "origin", name)

    def run(self, ref: str, *, steps: tuple[str, ...] = ("Build", "Publish")) -> subprocess.CompletedProcess[str]:
        """Runs the workflow's steps for a branch or a tag; the first that fails ends it."""
        kind = "branch" if ref == "main" else "tag"
        place = self.folder / f"runner-{len(list(self.folder.iterdir()))}-{ref}"
        clone = place / "clone"
        temp = place / "temp"
        temp.mkdir(parents=True)
        environ = hermetic_environ(place)
        self.work.git("clone", "--quiet", str(self.origin), str(clone))
        subprocess.run(
            ["git", "checkout", "--quiet", "--detach", ref if kind == "tag" else "origin/main"],
            cwd=clone,
            env=environ,
            check=True,
        )
        environ |= {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ENV": str(place / "env"),
            "GITHUB_REF_NAME": ref,
            "GITHUB_REF_TYPE": kind,
            "GITHUB_SHA": self.work.git("rev-parse", ref),
            "RUNNER_TEMP": str(temp),
            "SITE_URL": SITE_URL,
            "NO_MKDOCS_2_WARNING": "1",
        }
        (place / "env").touch()
        for step in STEPS:
            if step.get("name") not in steps:
                continue
            own = {key: self.value(text) for key, text in step.get("env", {}).items()}
            known = dict(line.split("=", 1) for line in (place / "env").read_text().splitlines())
            # https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax: the runner's bash.
            line = ["bash", "--noprofile", "--norc", "-e", "-c", step["run"]]
            done = subprocess.run(
                line, env=environ | known | own, cwd=clone, capture_output=True, text=True, check=False
            )
            if done.returncode:
                break
        assert TOKEN not in done.stdout + done.stderr
        return done

    def publish(self, ref: str) -> None:
        done = self.run(ref)
        assert done.returncode == 0, done.stdout + done.stderr

    @staticmethod
    def value(text: str) -> str:
        return {"${{ github.token }}": TOKEN, "${{ github.server_url }}": "https://github.com"}.get(text, text)

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.origin), *arguments],
            capture_output=True,
            text=True,
            check=True,
            env=hermetic_environ(self.folder),
        ).stdout.strip()

    def tip(self) -> str:
        return self.git("rev-parse", "refs/heads/gh-pages")

    def read(self, path: str) -> str:
        return self.git("cat-file", "blob", f"gh-pages:{path}")

    def names(self) -> list[str]:
        return self.git("ls-tree", "--name-only", "gh-pages").splitlines()

    def versions(self) -> list[tuple[str, list[str]]]:
        return [(known["version"], known["aliases"]) for known in json.loads(self.read("versions.json"))]

    def out(self, place: Path) -> Path:
        """The published files, as a server would have them."""
        place.mkdir(parents=True)
        packed = subprocess.run(["git", "-C", str(self.origin), "archive", "gh-pages"], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", str(place)], input=packed.stdout, check=True)
        return place
