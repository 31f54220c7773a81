"""What building and refreshing the index costs, against whoosh alone adding the same documents.

    python benchmarks/build.py [--rules 1000]

"Whoosh alone" is an index with the same schema and the same analysed documents, added by one writer and
committed; reading and parsing files is not in it. Refreshes follow one edit of one rule's file.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from generate import rule_text, write_rules
from rulebook import lookup
from rulebook.index.entries import SCHEMA, Entry, document
from rulebook.store.opening import open_store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rules", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "kb"
        write_rules(root, options.rules)
        began = time.perf_counter()
        with open_store(str(root), f"{scratch}/store") as store:
            stored = time.perf_counter() - began
            lookup.refresh(store)
            full = time.perf_counter() - began
            entries = lookup.entries(store)
        began = time.perf_counter()
        add_alone(os.path.join(scratch, "alone"), entries)
        alone = time.perf_counter() - began
        edits = []
        for number in range(7):
            time.sleep(0.1)  # as a person would; an edit within the same tick is read twice
            (root / f"rules/demo/R-{number}.md").write_text(rule_text(number) + "\nOne more line.\n", encoding="utf-8")
            began = time.perf_counter()
            with open_store(str(root), f"{scratch}/store") as store:
                lookup.refresh(store)
            edits.append(time.perf_counter() - began)
    edit = statistics.median(edits)
    print(f"full index of {options.rules} rules: {full:.2f} s ({stored:.2f} s store, {full - stored:.2f} s search)")
    print(f"whoosh alone, same documents: {alone:.2f} s; ratio {full / alone:.2f}")
    print(f"refresh after one edit: {edit * 1000:.0f} ms; 1/{full / edit:.0f} of the full index")


def add_alone(folder: str, entries: list[Entry]) -> None:
    """Adds the documents with nothing but whoosh around them."""
    from whoosh.filedb.filestore import FileStorage

    os.makedirs(folder)
    writer = FileStorage(folder).create_index(SCHEMA).writer()
    for entry in entries:
        writer.add_document(**document(entry))
    writer.commit()


if __name__ == "__main__":
    main()
