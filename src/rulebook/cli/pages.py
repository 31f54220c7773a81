"""Where a rule can be read: on the documentation site, else in the repository that the knowledge base is kept in."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from rulebook.git.repository import Repository
    from rulebook.model import AppliesReport

#: Credentials in a remote's address stay where they are.
_REMOTE = re.compile(
    r"(?:https?://(?:[^@/]*@)?|ssh://(?:[^@/]*@)?|git://|[^@/:]+@)([A-Za-z0-9.-]+)(?::\d+/|[:/])(.+?)(?:\.git)?/?\Z"
)


def rule_addresses(root: str, report: AppliesReport, site: str) -> dict[str, str]:
    """The address of each rule that applies, by its id; empty where there is neither a site nor a remote."""
    if site:
        from rulebook.bot.comment import page_address

        return {match.id: page_address(site, report.repo, match.id) for match in report.rules}
    repository, address = _published(root)
    if repository is None or repository.top is None or not address:
        return {}
    folder = os.path.relpath(os.path.realpath(root), os.path.realpath(repository.top)).replace(os.sep, "/")
    prefix = "" if folder == "." else f"{quote(folder)}/"
    return {
        match.id: f"{address}/blob/HEAD/{prefix}{quote(match.location.path)}"
        + (f"#L{match.location.line}" if match.location.line > 1 else "")
        for match in report.rules
    }


def content_page(root: str, target: str) -> str:
    """The page of the repository that a knowledge base is kept in.

    Args:
        root: the knowledge base's folder.
        target: the address of a repository; if it is that very one, whoever works on it has the knowledge base.

    Returns:
        Its address; empty where it has no remote that is one, or is the target.
    """
    address = _published(root)[1]
    return "" if target and address == web_address(target) else address


def _published(root: str) -> tuple[Repository | None, str]:
    """The repository around a folder, and the page of its first remote that has one."""
    from rulebook.errors import GitError
    from rulebook.git.repository import Repository

    try:
        repository = Repository.discover(root)
        remotes = repository.remote_urls()
    except GitError:
        return None, ""
    return repository, next((found for url in remotes if (found := web_address(url))), "")


def web_address(remote: str) -> str:
    """The page of a remote's repository, or an empty string where the remote is no address of a host.

    >>> web_address("git@github.com:vllm-project/vllm.git")
    'https://github.com/vllm-project/vllm'
    """
    found = _REMOTE.match(remote.strip())
    return f"https://{found[1]}/{quote(found[2])}" if found is not None and "." in found[1] else ""
