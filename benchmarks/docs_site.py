"""Figures of the site: the time to build it, the cost of a rule, the look-up page's script time.

python benchmarks/docs_site.py
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from generate import write_paths, write_rules
from rulebook import site
from rulebook.catalog import load
from rulebook.site.history import pin_history
from rulebook.site.lookup import lookup_data
from rulebook.store.opening import open_store

ROOT = Path(__file__).parent.parent
ASSETS = Path(site.__file__).parent / "assets"
TIMED = """
import { readFileSync } from "node:fs";
import { Lookup, readChange } from "./engine.js";
const text = readFileSync("data.json", "utf8");
const input = readFileSync("input", "utf8");
// Processor time, the collector's threads included: other processes do not count.
const timed = (work) => {
  const begun = process.cpuUsage();
  const made = work();
  const { user, system } = process.cpuUsage(begun);
  return [made, (user + system) / 1000];
};
const [lookup, opening] = timed(() => new Lookup(JSON.parse(text)));
const times = [opening];
for (let run = 0; run < 6; run += 1) times.push(timed(() => lookup.ask(readChange(input)))[1]);
process.stdout.write(JSON.stringify(times));
"""
#: Fresh processes, since a script is slow only once.
PROCESSES = 5


def build_seconds(config: Path, out: Path, runs: int = 3) -> float:
    """The best time of a whole `mkdocs build --strict` process, in seconds."""
    best = float("inf")
    for _ in range(runs):
        begun = time.perf_counter()
        command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-f", str(config), "-d", str(out)]
        subprocess.run(command, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
        best = min(best, time.perf_counter() - begun)
    return best


def plain_config(folder: Path, pages: Path) -> Path:
    """A site of plain Material with the Markdown copies of another one as its documents."""
    for page in pages.rglob("*.md"):
        place = folder / "docs" / page.relative_to(pages)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, place)
    config = folder / "mkdocs.yml"
    # Links to folders are no links to documents; MkDocs only tells, at a level that does not count.
    config.write_text(
        '{"site_name": "S", "theme": {"name": "material", "font": false}, "plugins": ["search"],'
        ' "validation": {"links": {"unrecognized_links": "ignore", "not_found": "ignore"}}}'
    )
    return config


def generated_config(folder: Path, count: int) -> Path:
    write_rules(folder, count)
    (folder / "docs").mkdir()
    config = folder / "mkdocs.yml"
    config.write_text(
        '{"site_name": "S", "theme": {"name": "material", "font": false}, "plugins": ["search", "rulebook"]}'
    )
    return config


def commit_edits(root: Path, count: int, commits: int) -> int:
    """Commits a generated knowledge base, then new pins of one rule in a hundred, again and again.

    Returns:
        how many versions of files there are.
    """
    texts = [(root / f"rules/demo/R-{number}.md").read_text(encoding="utf-8") for number in range(count)]
    stream = []
    versions = 0
    for step in range(commits):
        chosen = range(count) if step == 0 else random.sample(range(count), count // 100)
        stream.append(f"commit refs/heads/main\ncommitter A <a@b.invalid> {1767225600 + step} +0000\ndata 5\nRepin\n")
        for number in chosen:
            text = re.sub("demo@[0-9a-f]{40}", f"demo@{random.getrandbits(160):040x}", texts[number])
            stream.append(f"M 100644 inline rules/demo/R-{number}.md\ndata {len(text.encode())}\n{text}\n")
            versions += 1
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "fast-import", "--quiet"], input="".join(stream).encode(), check=True)
    subprocess.run([*git, "reset", "-q", "--hard"], check=True)
    return versions


def history_seconds(root: Path) -> float:
    """From a knowledge base's documents to the history of their pins: the best of three processor times, git's too."""
    documents = load(str(root)).documents
    best = float("inf")
    for _ in range(3):
        begun = sum(os.times()[:4])
        found = pin_history(str(root), documents)
        best = min(best, sum(os.times()[:4]) - begun)
        assert len(found.changes) == len(documents)
    return best


def script_milliseconds(folder: Path, root: Path, repo: str, paths: list[str]) -> tuple[float, float, float]:
    """Milliseconds of processor time: to prepare the data as the page opens, for the first question, for a later one.

    The first two are medians of several processes, the last one is the best of all.
    """
    shutil.copytree(ASSETS, folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "timed.js").write_text(TIMED)
    with open_store(str(root), str(folder / "store")) as store:
        (folder / "data.json").write_text(json.dumps(lookup_data(store, repo, str)))
    (folder / "input").write_text("\n".join(paths))
    runs = []
    for _ in range(PROCESSES):
        done = subprocess.run(["node", "timed.js"], cwd=folder, check=True, capture_output=True, text=True)
        runs.append([float(value) for value in json.loads(done.stdout)])
    return median(run[0] for run in runs), median(run[1] for run in runs), min(min(run[2:]) for run in runs)


def print_script_times(what: str, times: tuple[float, float, float], bound: int) -> None:
    opening, first, later = times
    print(f"3,000 paths, {what}: first {first:.0f} ms, later {later:.0f} ms (<= {bound}); prepared in {opening:.0f} ms")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        own = build_seconds(ROOT / "mkdocs.yml", scratch / "own")
        plain = build_seconds(plain_config(scratch / "plain", scratch / "own"), scratch / "plain-out")
        print(f"own site: {own:.2f} s; plain Material with the same Markdown: {plain:.2f} s")
        print(f"ratio: {own / plain:.2f} (<= 3)")
        each = {}
        for count in (100, 1000):
            config = generated_config(scratch / f"generated-{count}", count)
            seconds = build_seconds(config, scratch / f"out-{count}", 1)
            each[count] = seconds / count
            print(f"{count} generated rules: {seconds:.1f} s, {1000 * each[count]:.1f} ms a rule")
        print(f"cost of a rule, 1,000 against 100: {each[1000] / each[100]:.2f} (<= 1)")
        for count in (100, 1000):
            root = scratch / f"history-{count}"
            write_rules(root, count)
            versions = commit_edits(root, count, 500)
            seconds = history_seconds(root)
            each[count] = seconds / count
            print(f"history of {count} rules, 500 commits, {versions:,} versions: {seconds:.2f} s")
        print(f"cost of a rule's history, 1,000 against 100: {each[1000] / each[100]:.2f} (about 1)")
        random.seed(1)
        history = (ROOT / "tests/data/afd-plugin-history.jsonl").read_text().splitlines()
        known = sorted({item[1] for line in history for item in json.loads(line)["changes"]})
        paths = [f"{random.choice(known)}{'' if number < 500 else number}" for number in range(3000)]
        times = script_milliseconds(scratch / "js-own", ROOT, "afd-plugin", list(dict.fromkeys(paths)))
        print_script_times("own rules", times, 200)
        write_rules(scratch / "large", 5000)
        times = script_milliseconds(scratch / "js-large", scratch / "large", "demo", write_paths(3000, 5000))
        print_script_times("5,000 rules", times, 1000)


if __name__ == "__main__":
    main()
