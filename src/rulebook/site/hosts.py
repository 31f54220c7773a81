"""The addresses of files and commits at the services that host git repositories."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from rulebook.pins import Pin

_ADDRESS = re.compile(r"https://[\w.-]+(?::[0-9]{1,5})?(?:/[\w.~+-]+)+", re.ASCII)


def web_address(url: str) -> str:
    """Where people look at the repository that is cloned from ``url``; empty for all but plain ``https`` addresses.

    >>> web_address("https://github.com/vllm-project/vllm.git")
    'https://github.com/vllm-project/vllm'
    """
    address = url.removesuffix("/").removesuffix(".git")
    return address if _ADDRESS.fullmatch(address) else ""


def file_link(address: str, pin: Pin) -> str:
    """The address of a pinned place in a repository; empty where the repository's own is."""
    lines = f"#L{pin.first}" + (f"-L{pin.last}" if pin.last != pin.first else "") if pin.first else ""
    path = quote(pin.path, errors="surrogateescape")
    return f"{address}/{_middle(address)}blob/{pin.commit}/{path}{lines}" if address else ""


def commit_link(address: str, commit: str) -> str:
    """The address of a commit of a repository; empty where the repository's own is."""
    return f"{address}/{_middle(address)}commit/{commit}" if address else ""


def _middle(address: str) -> str:
    # GitLab sets what belongs to a project off from the names of projects.
    return "-/" if "gitlab" in address.split("/")[2] else ""
