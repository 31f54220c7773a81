"""How right `applies` is on real pull requests that were labelled by hand.

    git clone https://github.com/vllm-project/afd-plugin
    python benchmarks/relevance.py afd-plugin

Each labelled commit is fed as the range PARENT..COMMIT. A label is ``must`` (a competent reviewer ought
to be shown the rule) or ``could`` (showing it is acceptable); everything else counts as a false alarm when it
comes out direct. Ten rules were judged: AFD-I1 to I4 and I7 to I12.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from rulebook import answer
from rulebook.git.repository import Repository
from rulebook.model import Relevance
from rulebook.ranges import from_git
from rulebook.store.opening import open_store

ROOT = Path(__file__).resolve().parent.parent
JUDGED = {f"AFD-I{number}" for number in (1, 2, 3, 4, 7, 8, 9, 10, 11, 12)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path, help="a clone of vllm-project/afd-plugin")
    parser.add_argument("--labels", type=Path, default=ROOT / "benchmarks/data/rule-labels.jsonl")
    parser.add_argument("--no-files", action="store_true", help="as a bare diff, without the files themselves")
    parser.add_argument("-v", "--verbose", action="store_true", help="every false alarm and every miss with its reason")
    options = parser.parse_args()
    repository = Repository(options.clone)
    labels = [json.loads(line) for line in options.labels.read_text(encoding="utf-8").splitlines()]
    totals = dict.fromkeys(("must", "must_direct", "must_possible", "direct", "false", "could_direct"), 0)
    began = time.perf_counter()
    with open_store(str(ROOT)) as store:
        for label in labels:
            change = from_git(repository, f"{label['sha']}^..{label['sha']}")
            if options.no_files:
                change = type(change)(files=change.files)
            report = answer.applies(store, change, "afd-plugin")
            found = {match.id: match for match in report.rules if match.id in JUDGED}
            direct = {name for name, match in found.items() if match.relevance is Relevance.DIRECT}
            must, could = set(label["must"]) & JUDGED, set(label["could"])
            totals["must"] += len(must)
            totals["must_direct"] += len(must & direct)
            totals["must_possible"] += len((must & found.keys()) - direct)
            totals["direct"] += len(direct)
            totals["could_direct"] += len(direct & could)
            totals["false"] += len(direct - must - could)
            if options.verbose:
                for name in sorted(must - direct):
                    print(f"{label['sha'][:10]} missed {name}: {'possible' if name in found else 'not shown'}")
                for name in sorted(direct - must - could):
                    reason = found[name].reasons[0]
                    place = f"{reason.path}:{reason.line}"
                    print(f"{label['sha'][:10]} false  {name}: {place} {reason.pattern} | {reason.text}")
    seconds = time.perf_counter() - began
    print(f"{len(labels)} pull requests, {seconds / len(labels) * 1000:.0f} ms each, git included")
    print(
        f"must labels that come out direct: {totals['must_direct']} of {totals['must']}"
        f" ({totals['must_direct'] / totals['must']:.1%}); possible: {totals['must_possible']}"
    )
    print(
        f"direct: {totals['direct']}, of these labelled could: {totals['could_direct']},"
        f" neither: {totals['false']} ({totals['false'] / max(totals['direct'], 1):.1%})"
    )


if __name__ == "__main__":
    main()
