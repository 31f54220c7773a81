"""Figures about source pins: what checking them costs, and whether the verdicts are right.

    python benchmarks/pins.py CLONE [--samples]

CLONE is a clone, bare or not, of https://github.com/vllm-project/afd-plugin. Every ratio compares two things that
are measured in the same run. ``--samples`` lists the verdicts of which the hand-checked samples in
``notes-pins.md`` were taken. Nothing is written into the clone.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from rulebook.git.repository import Repository
from rulebook.pins import Pin
from rulebook.staleness import Checker
from rulebook.verdicts import State, Verdict

BRANCH = "main"
ALIAS = "afd-plugin"
ROUNDS = 7


class Clone:
    """Plain git on the clone, apart from what is measured."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.history = self.git("rev-list", "--first-parent", "--reverse", BRANCH).split()

    @property
    def head(self) -> str:
        """The tip of the default branch."""
        return self.history[-1]

    def git(self, *args: str, text: str | None = None) -> str:
        """What a git command prints."""
        line = ["git", "--literal-pathspecs", "-C", self.path, *args]
        return subprocess.run(line, input=text, capture_output=True, check=True, encoding="utf-8").stdout

    def files(self, commit: str) -> list[str]:
        """The plain files of a commit."""
        entries = self.git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0")[:-1]
        return [entry.partition("\t")[2] for entry in entries if entry.startswith("100")]

    def read(self, commit: str, path: str) -> str:
        """A file's text."""
        return self.git("show", f"{commit}:{path}")


def median(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median seconds of several runs."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def check(clone: Clone, pins: Sequence[Pin]) -> list[Verdict]:
    with Checker(Repository(clone.path), BRANCH, alias=ALIAS) as checker:
        return checker.check([(pin, {}) for pin in pins])


def many_pins(clone: Clone, count: int) -> list[Pin]:
    """Pins of whole files, spread evenly over the history."""
    everything = [Pin(ALIAS, commit, path) for commit in clone.history for path in clone.files(commit)]
    return random.Random(3).sample(everything, count)


def unchanged(clone: Clone, pins: Sequence[Pin]) -> list[Pin]:
    return [pin for pin, verdict in zip(pins, check(clone, pins), strict=True) if verdict.state is State.FRESH]


def counted(clone: Clone, pins: Sequence[Pin]) -> list[str]:
    """The git commands that checking starts, seen from outside: by a script that stands in for git."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        real = subprocess.run(["sh", "-c", "command -v git"], capture_output=True, check=True, text=True).stdout.strip()
        stub = Path(folder, "git")
        stub.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec {real} "$@"\n')
        stub.chmod(0o755)
        environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        with Checker(Repository(clone.path, environ=environ), BRANCH, alias=ALIAS) as checker:
            checker.check([(pin, {}) for pin in pins])
        return log.read_text().splitlines()


def measure_cost(clone: Clone) -> None:
    print("## What checking costs\n")
    pins = many_pins(clone, 5_000)
    names = dict.fromkeys(name for pin in pins for name in (f"{pin.commit}:{pin.path}", f"{clone.head}:{pin.path}"))
    request = "".join(f"{name}\n" for name in names)
    base = median(lambda: clone.git("cat-file", "--batch-check", text=request))
    fresh = (unchanged(clone, pins) * 5)[:5_000]
    fresh_names = dict.fromkeys(
        name for pin in fresh for name in (f"{pin.commit}:{pin.path}", f"{clone.head}:{pin.path}")
    )
    fresh_request = "".join(f"{name}\n" for name in fresh_names)
    fresh_base = median(lambda: clone.git("cat-file", "--batch-check", text=fresh_request))
    mine = median(lambda: check(clone, fresh))
    everything = median(lambda: check(clone, pins), 3)
    print(
        f"- 5,000 pins, all fresh: {mine * 1e3:.0f} ms, {mine / fresh_base:.2f} times one `git cat-file "
        f"--batch-check` over "
        f"the same {len(fresh_names):,} names ({fresh_base * 1e3:.0f} ms); to reach: 3 at most"
    )
    print(
        f"- 5,000 pins as they come, stale ones and their history included: {everything * 1e3:.0f} ms, "
        f"{everything / base:.2f} times ({len(names):,} names, {base * 1e3:.0f} ms)"
    )
    commands = counted(clone, fresh[:1_000])
    asked = [command for command in commands if command != "--version"]
    print(
        f"- 1,000 pins: {len(asked)} git processes for the repository, one to open it and one for all pins, and "
        f"{len(commands) - len(asked)} a run for git's version; to reach: 2 at most"
    )
    some = fresh[:500]

    def one_by_one() -> None:
        for pin in some:
            for name in (f"{pin.commit}:{pin.path}", f"{clone.head}:{pin.path}"):
                clone.git("rev-parse", "--verify", name)

    slow = median(one_by_one, 1)
    quick = median(lambda: check(clone, some))
    print(
        f"- 500 pins: {quick * 1e3:.0f} ms; two `git rev-parse` a pin: {slow * 1e3:.0f} ms, "
        f"{slow / quick:.0f} times as much; "
        "to reach: 50"
    )
    print()


def compare_with_git(clone: Clone) -> None:
    print("## Every file at the 60th commit, against `git diff --raw -M`\n")
    old = clone.history[59]
    fields = iter(clone.git("diff-tree", "-r", "-z", "--raw", "-M", old, clone.head).split("\0"))
    expected: dict[str, tuple[str, str]] = {}
    for header in fields:
        if not header:
            continue
        status, path = header.rsplit(" ", 1)[1][0], next(fields)
        target = next(fields) if status in "RC" else path
        if status not in "AC":
            expected[path] = (status, target)
    words = {"D": State.GONE, "R": State.MOVED, "M": State.CHANGED, "T": State.CHANGED}
    pins = [Pin(ALIAS, old, path) for path in clone.files(old)]
    disagreements = []
    counts: Counter[str] = Counter()
    for pin, verdict in zip(pins, check(clone, pins), strict=True):
        status, target = expected.get(pin.path, ("", pin.path))
        counts[verdict.state] += 1
        agreed = verdict.state is words.get(status, State.FRESH)
        if agreed and verdict.state is State.MOVED:
            agreed = verdict.now is not None and verdict.now.path == target
        if not agreed:
            disagreements.append(f"{pin.path}: git says {status or 'unchanged'}, the verdict is {verdict.state}")
    print(f"- {len(pins)} files: {shares(counts)}")
    print(f"- {len(pins) - len(disagreements)} of {len(pins)} verdicts agree")
    for line in disagreements:
        print(f"  - {line}")
    print()


def definition_pins(clone: Clone) -> list[Pin]:
    """The top-level functions and classes of ten files at each tenth commit: the ten with the most of them."""
    pins = []
    for commit in clone.history[9::10]:
        names: dict[str, list[str]] = {}
        for path in clone.files(commit):
            if path.endswith(".py"):
                body = ast.parse(clone.read(commit, path)).body
                kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
                names[path] = list(dict.fromkeys(node.name for node in body if isinstance(node, kinds)))
        for path in sorted(names, key=lambda path: (-len(names[path]), path))[:10]:
            pins += [Pin(ALIAS, commit, path, symbol) for symbol in names[path]]
    return pins


def follow_definitions(clone: Clone, *, samples: bool) -> None:
    print("## Every top-level definition of ten files at each tenth commit\n")
    pins = definition_pins(clone)
    start = time.perf_counter()
    verdicts = check(clone, pins)
    seconds = time.perf_counter() - start
    counts = Counter(str(verdict.state) for verdict in verdicts)
    print(f"- {len(pins):,} pins at {len(clone.history[9::10])} commits: {shares(counts)}; {seconds:.1f} s")
    details = Counter(f"{verdict.state} ({verdict.detail})" for verdict in verdicts if verdict.detail)
    print(f"- of these {', '.join(f'{word} {number}' for word, number in details.most_common())}")
    head = set(clone.files(clone.head))
    texts = {path: clone.read(clone.head, path) for path in {pin.path for pin in pins} & head}
    naive = sum(
        not any(f"\n{word} {pin.symbol}" in texts.get(pin.path, "") for word in ("def", "async def", "class"))
        for pin in pins
    )
    print(
        f"- no longer where they were: {naive} ({naive / len(pins):.0%}); gone after renames and moves: "
        f"{counts['gone']} ({counts['gone'] / len(pins):.1%})"
    )
    if samples:
        for state in (State.GONE, State.MOVED):
            chosen = {
                (pin.path, pin.symbol): (pin, verdict)
                for pin, verdict in zip(pins, verdicts, strict=True)
                if verdict.state is state
            }
            print(f"\n### {state}: 20 of {len(chosen)} different places\n")
            some = list(chosen.values())
            for pin, verdict in random.Random(20).sample(some, min(20, len(some))):
                print(f"- {pin.commit[:12]}:{pin.path}#{pin.symbol}: {verdict.because}")
    print()


def shares(counts: Counter[str]) -> str:
    total = sum(counts.values())
    return ", ".join(f"{word} {number} ({number / total:.1%})" for word, number in counts.most_common())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", help="a clone of vllm-project/afd-plugin")
    parser.add_argument("--samples", action="store_true", help="list the samples to check by hand")
    options = parser.parse_args()
    clone = Clone(options.clone)
    measure_cost(clone)
    compare_with_git(clone)
    follow_definitions(clone, samples=options.samples)
    return 0


if __name__ == "__main__":
    sys.exit(main())
