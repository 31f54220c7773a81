"""Every request that the bot makes is one that GitHub's own OpenAPI description allows, as Prism judges it."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from githubserver import TOKEN
from nodetools import OPENAPI, PRISM, node, tool
from rulebook.bot.client import GitHubClient
from rulebook.errors import HostError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prism(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    program, description = tool(PRISM), tool(OPENAPI)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("prism") / "log"
    line = [node(), str(program), "mock", "--host", "127.0.0.1", "--port", str(port), str(description)]
    with log.open("wb") as out, subprocess.Popen(line, stdout=out, stderr=out) as process:
        try:
            for _ in range(600):
                if b"is listening" in log.read_bytes():
                    break
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}", log
        finally:
            process.terminate()
            process.wait(20)


def send(address: str, method: str, path: str, body: Any) -> int:
    request = urllib.request.Request(f"{address}{path}", json.dumps(body).encode(), method=method)
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_the_judge_tells_right_from_wrong(prism: tuple[str, Path]) -> None:
    comments = "/repos/owner/target/issues/7/comments"
    assert send(prism[0], "POST", comments, {"body": "text"}) == 201
    assert send(prism[0], "POST", comments, {"body": 7}) == 422
    assert send(prism[0], "POST", comments, {}) == 422


REQUESTS = {
    "pull": lambda client: client.pull(7),
    "find_pull": lambda client: client.find_pull("stranger:topic", "a" * 40),
    "files": lambda client: client.files(7, 3000),
    "comments": lambda client: client.comments(7),
    "create": lambda client: client.create(7, "text"),
    "edit": lambda client: client.edit(42, "text"),
    "delete": lambda client: client.delete(42),
    "login": lambda client: client.login(),
    "may_write": lambda client: client.may_write("octocat"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_are_valid(prism: tuple[str, Path], name: str) -> None:
    address, log = prism
    before = log.stat().st_size
    client = GitHubClient("owner/target", TOKEN, base_url=address, max_wait=0)
    with client:
        try:
            REQUESTS[name](client)
        except (HostError, KeyError):
            # What Prism makes up for an answer need not hang together; the request is what is judged here.
            pass
    assert client.requests
    said = log.read_bytes()[before:].decode(errors="replace")
    assert "Request received" in said
    assert not re.search(r"Request did not pass|Violation: request|UNPROCESSABLE|NO_PATH_MATCHED", said), said
    assert not re.search(r"Responding with the requested status code (422|401|404)", said), said


def test_no_request_goes_unjudged() -> None:
    methods = {name for name in vars(GitHubClient) if not name.startswith("_")} - {"close"}
    assert methods == set(REQUESTS)
