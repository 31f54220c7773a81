"""What a whole `rulebook applies` costs, against importing what it is built on.

    python benchmarks/start.py            # our own content
    python benchmarks/start.py --large    # and knowledge bases of 12 to 50,000 rules

The two commands run in turn, so that a machine that slows down slows down both; the ratio is taken pair by pair,
and its median is what counts. Figures are processor time of the finished child process, user and system.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from generate import write_paths, write_rules

ROOT = Path(__file__).resolve().parent.parent
BASE = [sys.executable, "-c", "import typer, rich.console"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=21, help="counted pairs of runs")
    parser.add_argument("--large", action="store_true", help="also with generated knowledge bases")
    options = parser.parse_args()
    command = str(Path(sys.executable).with_name("rulebook"))
    example = (ROOT / "examples/afd-plugin-dbo-config.txt").read_text().split()
    with tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "XDG_CACHE_HOME": f"{scratch}/cache"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        own = [command, "applies", "--root", str(ROOT), "--repo", "afd-plugin"]
        compare("our own content, text", [*own, *example], environment, options.n)
        compare("our own content, JSON", [*own, "--format", "json", *example], environment, options.n)
        if options.large:
            for count, pages in ((12, False), (5_000, False), (50_000, False), (50_000, True)):
                root = Path(scratch) / f"{count}-{pages}"
                write_rules(root, count, pages=pages)
                paths = write_paths(300, count)
                size = f"{count:,} rules in {'pages of 100' if pages else 'a file each'}, 300 paths, JSON"
                compare(size, [command, "applies", "--root", str(root), "--format", "json", *paths], environment, 7)


def compare(name: str, command: list[str], environment: dict[str, str], count: int) -> None:
    """Prints the processor time of ``command``, and its ratio to importing Typer and rich.console."""
    ratios, ours, base = [], [], []
    for turn in range(count + 1):
        pair = measure(command, environment), measure(BASE, environment)
        if turn:  # the first one builds the store and fills the system's caches
            ours.append(pair[0])
            base.append(pair[1])
            ratios.append(pair[0] / pair[1])
    print(
        f"{name}: {statistics.median(ours) * 1000:.0f} ms, imports alone {statistics.median(base) * 1000:.0f} ms, "
        f"ratio {statistics.median(ratios):.2f} (median of {count} pairs, {min(ratios):.2f} to {max(ratios):.2f})"
    )


def measure(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True, cwd="/")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
