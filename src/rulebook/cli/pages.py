"""Where a rule can be read: on the documentation site, else in the repository that the knowledge base is kept in."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
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
    from rulebook.errors import GitError
    from rulebook.git.repository import Repository

    try:
        repository = Repository.discover(root)
        remotes = repository.remote_urls()
    except GitError:
        return {}
    address = next((found for url in remotes if (found := web_address(url))), "")
    if not address or repository.top is None:
        return {}
    folder = os.path.relpath(os.path.realpath(root), os.path.realpath(repository.top)).replace(os.sep, "/")
    prefix = "" if folder == "." else f"{quote(folder)}/"
    return {
        match.id: f"{address}/blob/HEAD/{prefix}{quote(match.location.path)}"
        + (f"#L{match.location.line}" if match.location.line > 1 else "")
        for match in report.rules
    }


def web_address(remote: str) -> str:
    """The page of a remote's repository, or an empty string where the remote is no address of a host.

    >>> web_address("git@github.com:vllm-project/vllm.git")
    'https://github.com/vllm-project/vllm'
    """
    found = _REMOTE.match(remote.strip())
    return f"https://{found[1]}/{quote(found[2])}" if found is not None and "." in found[1] else ""
