"""A small GitHub for tests: one repository's pull requests, their files and comments, pages, permissions and errors.

It behaves as GitHub's REST documentation says in what the bot can notice: pages of at most 100, a list of files that
ends at 3,000, bodies of at most 65,536 characters, tokens that may not write, names that are unknown. `GitHub.transport`
serves it inside the process; `GitHub.serve` serves it over HTTP on loopback. `errors` are answered before anything is done, `lost`
after it was done, as when a proxy fails on the way back.

    github = GitHub("owner/target")
    pull = github.add_pull(7, head=SHA)
    client = github.client()
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from rulebook.bot.client import GitHubClient

BOT = "github-actions[bot]"
TOKEN = "ghs_a-token-for-tests"


@dataclass
class PullRequest:
    number: int
    head: str
    base: str = "b" * 40
    title: str = "A change"
    state: str = "open"
    origin: str = ""
    branch: str = "topic"
    files: list[dict[str, Any]] = field(default_factory=list)
    changed_files: int | None = None


@dataclass
class Error:
    """An answer to give instead of the right one."""

    status: int
    message: str = "Server Error"
    headers: dict[str, str] = field(default_factory=dict)
    #: Whether the request is carried out all the same.
    lost: bool = False
    method: str = ""
    times: int = 1


class GitHub:
    def __init__(self, repository: str = "owner/target", *, login: str = BOT, can_write: bool = True) -> None:
        self.repository = repository
        self.login = login
        self.can_write = can_write
        self.pulls: dict[int, PullRequest] = {}
        self.comments: dict[int, dict[str, Any]] = {}
        self.permissions: dict[str, str] = {}
        self.errors: list[Error] = []
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[str] = []
        self.locked = False
        #: Called before every request is carried out; tests act here, in the middle of a run.
        self.before: Callable[[str, str], None] = lambda method, path: None
        self._next = 1000
        self._clock = 0
        self._lock = threading.Lock()

    # --- what tests do by hand ---

    def add_pull(self, number: int = 7, head: str = "a" * 40, **more: Any) -> PullRequest:
        self.pulls[number] = PullRequest(number=number, head=head, **{"origin": self.repository, **more})
        return self.pulls[number]

    def add_comment(self, body: str, author: str = "someone", number: int = 7) -> dict[str, Any]:
        self._next += 1
        self._clock += 1
        stamp = f"2026-01-01T{self._clock // 3600 % 24:02}:{self._clock // 60 % 60:02}:{self._clock % 60:02}Z"
        comment = {
            "id": self._next,
            "number": number,
            "body": body,
            "user": {"login": author},
            "created_at": stamp,
            "updated_at": stamp,
            "html_url": f"https://github.com/{self.repository}/pull/{number}#issuecomment-{self._next}",
        }
        self.comments[self._next] = comment
        return comment

    def by(self, author: str = BOT) -> list[dict[str, Any]]:
        return [comment for comment in self.comments.values() if comment["user"]["login"] == author]

    def client(self, token: str = TOKEN, **more: Any) -> GitHubClient:
        self.slept: list[float] = []
        more.setdefault("sleep", self.slept.append)
        return GitHubClient(self.repository, token, transport=self.transport(), **more)

    # --- the answers ---

    def answer(self, method: str, url: str, token: str, body: bytes) -> tuple[int, dict[str, str], Any]:
        parts = urlsplit(url)
        self.before(method, parts.path)
        with self._lock:
            self.requests.append((method, parts.path))
            error = next((e for e in self.errors if e.method in ("", method)), None)
            if error is not None:
                error.times -= 1
                if error.times <= 0:
                    self.errors.remove(error)
                if error.lost:
                    self._route(method, parts.path, dict(parse_qsl(parts.query)), token, body)
                return error.status, error.headers, {"message": error.message}
            return self._route(method, parts.path, dict(parse_qsl(parts.query)), token, body)

    def _route(
        self, method: str, path: str, query: dict[str, str], token: str, body: bytes
    ) -> tuple[int, dict[str, str], Any]:
        if path == "/user":
            if self.login.endswith("[bot]"):
                return 403, {}, {"message": "Resource not accessible by integration"}
            return (200, {}, {"login": self.login}) if token else (401, {}, {"message": "Requires authentication"})
        prefix = f"/repos/{self.repository}"
        if not path.startswith(prefix + "/"):
            return 404, {}, {"message": "Not Found"}
        rest = path[len(prefix) :]
        if method != "GET" and not token:
            return 401, {}, {"message": "Requires authentication"}
        if method != "GET" and not self.can_write:
            return 403, {}, {"message": "Resource not accessible by integration"}
        for pattern, handler in self._ROUTES:
            found = re.fullmatch(pattern, f"{method} {rest}")
            if found:
                return handler(self, query, body, *found.groups())
        return 404, {}, {"message": "Not Found"}

    def _list_pulls(self, query: dict[str, str], body: bytes) -> tuple[int, dict[str, str], Any]:
        found = [
            self._pull_data(pull)
            for pull in self.pulls.values()
            if pull.state == query.get("state", "open")
            and query.get("head", "") in ("", f"{pull.origin.partition('/')[0]}:{pull.branch}")
        ]
        return 200, {}, found

    def _pull(self, query: dict[str, str], body: bytes, number: str) -> tuple[int, dict[str, str], Any]:
        pull = self.pulls.get(int(number))
        return (200, {}, self._pull_data(pull)) if pull else (404, {}, {"message": "Not Found"})

    def _pull_data(self, pull: PullRequest) -> dict[str, Any]:
        count = len(pull.files) if pull.changed_files is None else pull.changed_files
        return {
            "number": pull.number,
            "title": pull.title,
            "state": pull.state,
            "changed_files": count,
            "user": {"login": "author"},
            "head": {"sha": pull.head, "ref": pull.branch, "repo": {"full_name": pull.origin} if pull.origin else None},
            "base": {"sha": pull.base, "ref": "main", "repo": {"full_name": self.repository}},
        }

    def _files(self, query: dict[str, str], body: bytes, number: str) -> tuple[int, dict[str, str], Any]:
        if int(number) not in self.pulls:
            return 404, {}, {"message": "Not Found"}
        return 200, {}, _page(self.pulls[int(number)].files[:3000], query)

    def _comments(self, query: dict[str, str], body: bytes, number: str) -> tuple[int, dict[str, str], Any]:
        if int(number) not in self.pulls:
            return 404, {}, {"message": "Not Found"}
        return 200, {}, _page([c for _, c in sorted(self.comments.items()) if c["number"] == int(number)], query)

    def _create(self, query: dict[str, str], body: bytes, number: str) -> tuple[int, dict[str, str], Any]:
        if self.locked:
            return 403, {}, {"message": "Unable to create comment because issue is locked."}
        text = json.loads(body)["body"]
        if int(number) not in self.pulls:
            return 404, {}, {"message": "Not Found"}
        if len(text) > 65536:
            return (
                422,
                {},
                {"message": "Validation Failed", "errors": ["body is too long (maximum is 65536 characters)"]},
            )
        self.bodies.append(text)
        return 201, {}, self.add_comment(text, self.login, int(number))

    def _edit(self, query: dict[str, str], body: bytes, comment: str) -> tuple[int, dict[str, str], Any]:
        found = self.comments.get(int(comment))
        if found is None:
            return 404, {}, {"message": "Not Found"}
        text = json.loads(body)["body"]
        if len(text) > 65536:
            return 422, {}, {"message": "Validation Failed"}
        self.bodies.append(text)
        found["body"] = text
        return 200, {}, dict(found)

    def _delete(self, query: dict[str, str], body: bytes, comment: str) -> tuple[int, dict[str, str], Any]:
        if self.comments.pop(int(comment), None) is None:
            return 404, {}, {"message": "Not Found"}
        return 204, {}, None

    def _permission(self, query: dict[str, str], body: bytes, login: str) -> tuple[int, dict[str, str], Any]:
        if login not in self.permissions:
            return 404, {}, {"message": f"{login} is not a user"}
        return 200, {}, {"permission": self.permissions[login], "user": {"login": login}}

    _ROUTES = (
        (r"GET /pulls", _list_pulls),
        (r"GET /pulls/(\d+)", _pull),
        (r"GET /pulls/(\d+)/files", _files),
        (r"GET /issues/(\d+)/comments", _comments),
        (r"POST /issues/(\d+)/comments", _create),
        (r"PATCH /issues/comments/(\d+)", _edit),
        (r"DELETE /issues/comments/(\d+)", _delete),
        (r"GET /collaborators/([^/]+)/permission", _permission),
    )

    # --- how it is reached ---

    def transport(self) -> httpx.BaseTransport:
        def handle(request: httpx.Request) -> httpx.Response:
            token = request.headers.get("authorization", "").partition(" ")[2]
            status, headers, data = self.answer(request.method, str(request.url), token, request.content)
            content = b"" if data is None else json.dumps(data).encode()
            return httpx.Response(status, headers={"content-type": "application/json", **headers}, content=content)

        return httpx.MockTransport(handle)

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Serves on loopback; gives the address of the API."""
        github = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                token = self.headers.get("authorization", "").partition(" ")[2]
                path = self.path.removeprefix("/api/v3")
                status, headers, data = github.answer(self.command, path, token, body)
                content = b"" if data is None else json.dumps(data).encode()
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = _handle  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            # GitHub Enterprise Server has its API under a path.
            yield f"http://127.0.0.1:{server.server_port}/api/v3"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _page(items: list[Any], query: dict[str, str]) -> list[Any]:
    size = min(int(query.get("per_page", 30)), 100)
    start = (int(query.get("page", 1)) - 1) * size
    return items[start : start + size]
