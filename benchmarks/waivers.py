"""How well and how fast patches are detected in the history of a real repository.

    python benchmarks/waivers.py --checkout ../InferenceX [--labels labels.jsonl] [--head 843c6254f]

Needs a clone of https://github.com/SemiAnalysisAI/InferenceX. ``--labels`` is a file of JSON lines with ``commit``,
``label`` (``patch`` or ``clean``) and ``evidence`` (``path:first-last``). What the commits in question hold was read
by hand: see ``notes-waivers.md``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import time
from collections import Counter
from functools import lru_cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from rulebook.diffs import parse_diff
from rulebook.git.repository import Repository
from rulebook.model import Kind
from rulebook.parse import parse_file
from rulebook.ranges import from_git
from rulebook.waivers.audit import scan_tree
from rulebook.waivers.change import introduced
from rulebook.waivers.policy import Policy, parse_policy

ROOT = Path(__file__).parents[1]
RULE = "rules/inferencex/IX-P1.md"
POLICY_START = "481253a328823a0f7c346a546747da1ff157c060"
#: What somebody would search added lines for.
PLAIN = re.compile(
    r"\.patch\b|\bgit apply\b|\bpatch -p|\bsed -i|site-packages|dist-packages|find_spec|\.write_text\("
    r"|--force-reinstall|sitecustomize|monkey-?patch|setattr\(|sgl-workspace"
    r"|pip install (?:-e|\S*\.whl)|pip install .*git\+"
)


@lru_cache(maxsize=1)
def policy() -> Policy:
    documents, _ = parse_file(RULE, Kind.RULE, (ROOT / RULE).read_text(encoding="utf-8"))
    found, findings = parse_policy(documents[0])
    assert found is not None
    assert not findings
    return found


@lru_cache(maxsize=1)
def repository(folder: str) -> Repository:
    return Repository(folder)


def check(job: tuple[str, str]) -> dict[str, Any]:
    """One commit against its first parent: git, parsing, detection."""
    folder, commit = job
    repo = repository(folder)
    change = from_git(repo, commit)
    found = introduced(change, policy(), paths=lambda: repo.list_tree(change.head))
    if change.reader is not None:
        change.reader.close()
    plain = any(
        line.mark == "+" and PLAIN.search(line.text[:2000])
        for item in change.files
        if policy().scope_patterns.match(item.path)
        for hunk in item.hunks or ()
        for line in hunk.lines
    )
    patches = [
        {"path": p.path, "line": p.line, "end_line": p.end_line, "kind": p.kind.value, "target": p.target}
        for p in found.patches
        if p.sureness.counts
    ]
    return {"commit": commit, "patches": patches, "plain": plain}


def overlaps(evidence: str, patch: dict[str, Any]) -> bool:
    path, _, lines = evidence.rpartition(":")
    first, _, last = lines.partition("-")
    return path == patch["path"] and patch["line"] <= int(last or first) and patch["end_line"] >= int(first)


def measure_labels(folder: str, labels: list[dict[str, Any]]) -> None:
    right = pointing = patched = plain_right = 0
    for label in labels:
        answer = check((folder, label["commit"]))
        said = "patch" if answer["patches"] else "clean"
        right += said == label["label"]
        plain_right += ("patch" if answer["plain"] else "clean") == label["label"]
        if label["label"] == "patch":
            patched += 1
            pointing += any(overlaps(place, patch) for place in label["evidence"] for patch in answer["patches"])
        if said != label["label"]:
            print(f"  wrong: {label['commit'][:9]} is {label['label']}")
    print(f"labels: {right} of {len(labels)} right (a plain search: {plain_right});", end=" ")
    print(f"{pointing} of {patched} patches point at the labelled lines")


def measure_history(folder: str, head: str, jobs: int) -> None:
    git = ["git", "-C", folder, "rev-list", "--first-parent", head]
    commits = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split()
    start = time.perf_counter()
    with Pool(jobs) as pool:
        answers = pool.map(check, [(folder, commit) for commit in commits], chunksize=20)
    seconds = time.perf_counter() - start
    patched = [answer for answer in answers if answer["patches"]]
    alarms = [answer for answer in answers if answer["plain"] and not answer["patches"]]
    rate = len(commits) / seconds
    print(f"history: {len(commits)} commits in {seconds:.1f} s with {jobs} processes, {rate:.0f} a second")
    print(f"  called patched: {len(patched)}; clean, but a plain search fires: {len(alarms)}")
    kinds = Counter(kind for answer in patched for kind in {patch["kind"] for patch in answer["patches"]})
    print("  by kind: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    print("  patched: " + " ".join(answer["commit"][:9] for answer in patched))
    print("  alarms:  " + " ".join(answer["commit"][:9] for answer in alarms))


def measure_audit(folder: str) -> None:
    repo = repository(folder)

    def read(paths: Any) -> dict[str, bytes | None]:
        found = repo.read_blobs(f"{POLICY_START}:{path}" for path in paths)
        return {path: found[f"{POLICY_START}:{path}"] for path in paths}

    start = time.perf_counter()
    tree = scan_tree(repo.list_tree(POLICY_START), read, policy())
    seconds = time.perf_counter() - start
    counted = [patch for patch in tree.patches if patch.sureness.counts]
    print(f"audit at {POLICY_START[:9]}: {len(tree.scans)} files in {seconds:.1f} s, {len(counted)} patches")
    for patch in counted:
        print(f"  {patch.path}:{patch.line}-{patch.end_line} {patch.kind} of {', '.join(patch.targets)}")


def measure_large_diff() -> None:
    for count in (25_000, 100_000):
        added = "".join(f"+run step {number} --flag=$X{number % 50}\n" for number in range(count))
        diff = f"--- /dev/null\n+++ b/benchmarks/big.sh\n@@ -0,0 +1,{count} @@\n{added}".encode()
        start = time.perf_counter()
        introduced(parse_diff(diff), policy())
        print(f"a diff of {count:,} lines: {time.perf_counter() - start:.1f} s")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--checkout", required=True, help="a clone of InferenceX, bare or not")
    options.add_argument("--labels", help="labelled commits, one JSON object a line")
    options.add_argument("--head", default="843c6254f", help="where the history ends")
    options.add_argument("--jobs", type=int, default=2, help="processes")
    chosen = options.parse_args()
    if chosen.labels:
        text = Path(chosen.labels).read_text(encoding="utf-8")
        measure_labels(chosen.checkout, [json.loads(line) for line in text.splitlines() if line.strip()])
    measure_history(chosen.checkout, chosen.head, chosen.jobs)
    measure_audit(chosen.checkout)
    measure_large_diff()


if __name__ == "__main__":
    main()
