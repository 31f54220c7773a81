"""The built site in headless Chromium, for tests: a server, tabs that keep what went wrong in them, and what to visit."""

from __future__ import annotations

import gzip
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sitekit import ROOT

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
AXE = next(
    (
        path
        for path in (
            Path(os.environ.get("AXE_CORE", "-")),
            ROOT / ".venv/axe/node_modules/axe-core/axe.min.js",
            ROOT / "node_modules/axe-core/axe.min.js",
        )
        if path.is_file()
    ),
    None,
)
PAGES = (
    *("", "rules/", "rules/afd-plugin/", "rules/afd-plugin/AFD-I4/", "zh/rules/afd-plugin/AFD-I1/", "places/"),
    *("lookup/", "reviews/", "waivers/inferencex/2508/", "zh/reviews/vllm-project/vllm/57112/", "freshness/"),
)
MAX_WEIGHT = 300 << 10
#: A twentieth of what counts as good (web.dev, "Cumulative Layout Shift"): the theme's header is painted in two steps.
MAX_SHIFT = 0.005

#: What every module of browser tests sets as its ``pytestmark``.
BROWSER_TESTS = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (apt-get install chromium)"),
    # Playwright leaves the transport of its driver to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files as GitHub Pages does: text compressed, and ``404.html`` for what is not there."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        code = 200 if path.is_file() else 404
        if code == 404:
            path = Path(self.directory) / "404.html"
        body = gzip.compress(path.read_bytes(), 6)
        self.send_response(code)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address of a folder served from loopback."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Visit:
    """A tab that keeps what went wrong in it and what it asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.tab = self.context.new_page()
        self.address = address
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda m: self.problems.append(m.text) if m.type in ("error", "warning") else None)
        self.tab.on("pageerror", lambda error: self.problems.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))

    def go(self, place: str) -> Any:
        self.tab.goto(self.address + place, wait_until="networkidle")
        return self.tab

    def assert_clean(self) -> None:
        """Nothing was complained about, and nothing was asked of anybody else."""
        assert not self.problems, self.problems
        foreign = [url for url in self.requests if not url.startswith((self.address, "blob:", "data:"))]
        assert not foreign, foreign
