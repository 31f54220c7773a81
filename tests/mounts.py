"""File systems that take nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted_read_only(folder: Path) -> Iterator[Path]:
    """A folder as it is, on a file system that is mounted read-only; the test is skipped where that cannot be had."""
    mount = ["mount", "--bind", str(folder), str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting takes root and a kernel that allows it")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
