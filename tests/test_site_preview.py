"""``mkdocs serve``: the site while somebody writes."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb import REVIEW, make_kb, rule

#: Seconds until a server is given up; nothing is judged by how long it takes before.
PATIENCE = 90

pytestmark = pytest.mark.slow


@pytest.fixture
def knowledge_base(tmp_path: Path) -> Path:
    root = make_kb(tmp_path, {"rules/demo/D-1.md": rule("D-1", title="Before")})
    (root / "docs").mkdir()
    (root / "mkdocs.yml").write_text(
        "site_name: Our rules\ntheme: {name: material, font: false}\nplugins: [search, rulebook]\n", encoding="utf-8"
    )
    return root


@contextlib.contextmanager
def serving(root: Path) -> Iterator[str]:
    """The address of a preview of a knowledge base, on a port that was free a moment ago."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    with open(root.parent / "log", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "mkdocs", "serve", "--dev-addr", f"127.0.0.1:{port}"],
            cwd=root,
            stdout=log,
            stderr=log,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        )
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            server.wait(PATIENCE)


def wait_for(address: str, pattern: str) -> str:
    """The page, once it says what is looked for."""
    text = ""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                text = answer.read().decode()
            if re.search(pattern, text):
                return text
        time.sleep(0.2)
    pytest.fail(f"{address} never said {pattern!r}; it said {text[:2000]!r}")


def test_an_edit_is_shown_without_a_new_start(knowledge_base: Path) -> None:
    with serving(knowledge_base) as site:
        page = wait_for(f"{site}rules/demo/D-1/", "<h1[^>]*>D-1: Before")
        # A policy would keep the script that reloads the page from running.
        assert "livereload" in page
        assert "Content-Security-Policy" not in page
        (knowledge_base / "rules/demo/D-1.md").write_text(rule("D-1", title="After"), encoding="utf-8")
        wait_for(f"{site}rules/demo/D-1/", "<h1[^>]*>D-1: After")
        (knowledge_base / "rules/demo/D-2.md").write_text(rule("D-2", title="Another"), encoding="utf-8")
        wait_for(f"{site}rules/demo/D-2/", "<h1[^>]*>D-2: Another")


def test_a_folder_that_is_made_later_is_seen_and_watched(knowledge_base: Path) -> None:
    assert not (knowledge_base / "reviews").exists()
    digest = knowledge_base / "reviews/owner/name/12.md"
    with serving(knowledge_base) as site:
        wait_for(site, "Our rules")
        digest.parent.mkdir(parents=True)
        digest.write_text(REVIEW, encoding="utf-8")
        wait_for(f"{site}reviews/owner/name/12/", "What the pull request did")
        digest.write_text(REVIEW.replace("What the pull request did", "What it does now"), encoding="utf-8")
        wait_for(f"{site}reviews/owner/name/12/", "What it does now")
