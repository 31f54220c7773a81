"""Programs from npm that slow tests ask, and where they are.

`RULEBOOK_TEST_TOOLS` names the folder that `npm install` was run in; `.ci/run` makes one. Without it the tests that need
them are skipped.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

PRISM = "@stoplight/prism-cli/dist/index.js"
OPENAPI = "@octokit/openapi/generated/api.github.com.json"
MULTITOOL = "@microsoft/sarif-multitool-linux/Sarif.Multitool"
SARIF_SCHEMA = "@microsoft/sarif-multitool-linux/sarif-2.1.0.json"

# Read when the module is, since no test sees the variable.
_FOLDER = os.environ.get("RULEBOOK_TEST_TOOLS", "")


def tool(name: str) -> Path:
    """A file of an npm package; skips the test where it is not installed."""
    if not _FOLDER:
        pytest.skip("RULEBOOK_TEST_TOOLS names no folder with npm packages; .ci/run installs them")
    place = Path(_FOLDER) / "node_modules" / name
    if not place.exists():
        pytest.skip(f"{name} is not installed in {_FOLDER}")
    return place


def node() -> str:
    """Node.js; skips the test where there is none."""
    return shutil.which("node") or pytest.skip("there is no node here")
