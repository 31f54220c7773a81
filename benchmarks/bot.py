"""What one run of the pull request bot costs: 3,000 files against 500 rules, from the first request to the last.

    python benchmarks/bot.py

GitHub is the tests' own server, inside the process. Processor time is of this process alone: reading GitHub's answers,
matching, rendering and writing, with the store built before. Importing is counted apart.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from generate import write_rules

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

FILES, RULES = 3_000, 500


def main() -> None:
    started = time.process_time()
    import githubkit  # noqa: F401

    from githubserver import GitHub
    from rulebook import answer, changes
    from rulebook.bot.brief import build
    from rulebook.bot.comment import render_comment, render_summary
    from rulebook.bot.state import advance
    from rulebook.bot.upsert import upsert
    from rulebook.edits import edited_sources
    from rulebook.store.opening import open_store

    print(f"imports: {time.process_time() - started:.2f} s of processor time")
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "base"
        write_rules(root, RULES)
        os.environ["XDG_CACHE_HOME"] = f"{scratch}/cache"
        open_store(str(root)).close()
        github = GitHub()
        github.add_pull(7, head="a" * 40, files=files(), changed_files=FILES)
        for number in range(40):
            github.add_comment(f"talk {number}")
        for name in ("first run", "second run", "after a push"):
            if name == "after a push":
                github.pulls[7].head = "b" * 40
            before = len(github.requests)
            started = time.process_time()
            with github.client() as client, open_store(str(root)) as store:
                pull = client.pull(7)
                items, complete = client.files(7, pull.changed_files)
                change = changes.from_github_files(items, complete=complete)
                fetched = time.process_time()
                report = answer.applies(store, change, "demo")
                edited = edited_sources(store, change, "demo")
                brief = build("owner/target", 7, pull.head, report, edited=edited, site="https://docs.example")
                matched = time.process_time()
                result = upsert(client, brief)
                render_summary(brief, result.state)
            ended = time.process_time()
            body = github.by()[0]["body"]
            print(
                f"{name}: {len(github.requests) - before} requests, {ended - started:.2f} s of processor time "
                f"(fetch {fetched - started:.2f}, match {matched - fetched:.2f}, write {ended - matched:.2f}); "
                f"{len(report.rules)} rules apply, {len(body.encode()):,} bytes, {result.left_out} entries left out"
            )
        started = time.process_time()
        render_comment(brief, advance(None, brief))
        print(f"rendering alone: {time.process_time() - started:.3f} s")


def files() -> list[dict[str, object]]:
    """A change that meets every rule, and shows half of them on its lines."""
    random.seed(1)
    found = []
    for number in range(FILES):
        rule = number % RULES
        lines = [f"+    value_{line} = compute_{line}(x)" for line in range(20)]
        if rule % 2:
            # Rules look for names of this kind; see write_rules.
            lines[7] = f"+    call(kernel_graph_{rule}, {json.dumps(random.choice(['one', 'two']))})"
        patch = f"@@ -0,0 +1,{len(lines)} @@\n" + "\n".join(lines)
        name = f"pkg{rule % 97}/area{rule}/file{number}.py"
        found.append({"filename": name, "status": "added", "changes": len(lines), "patch": patch})
    return found


if __name__ == "__main__":
    main()
