"""Which pull request a run is about: from a number, a URL, or the file in which GitHub Actions describes the event.

The fields are those of GitHub's webhook payloads
(https://docs.github.com/en/webhooks/webhook-events-and-payloads).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rulebook.errors import UnreadableInput, UsageError

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+\Z")
_URL = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/pull/(\d{1,10})(?:[/?#]\S*)?\Z")
_NUMBER = re.compile(r"#?0*([1-9]\d{0,9})\Z")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
#: An event is at most 25 MB (GitHub's cap on webhook payloads).
MAX_EVENT = 32 << 20


class PullRef(NamedTuple):
    """The pull request a run is about, as far as its trigger tells.

    Attributes:
        repository: ``owner/name`` of the repository that the pull request is opened in.
        number: its number; 0 where it has to be looked up by ``branch`` and ``head``.
        head: commit id of its head at the time of the event, or empty.
        base: commit id of the branch it goes into, or empty.
        fork: whether its head lives in another repository; ``None`` where the trigger does not tell.
        branch: ``owner:branch`` of the head, where the number is not known (``workflow_run``).
        action: what happened, ``synchronize`` or ``edited``, say.
        sender: login of who did it, or empty.
        kind: the event's kind, or empty for a number or URL.
        comment: id of the comment that the event is about, or 0.
    """

    repository: str
    number: int
    head: str = ""
    base: str = ""
    fork: bool | None = None
    branch: str = ""
    action: str = ""
    sender: str = ""
    kind: str = ""
    comment: int = 0

    @property
    def edited_comment(self) -> int:
        """The id of the comment that ``sender`` edited, or 0."""
        return self.comment if self.action == "edited" else 0


def parse_pull(text: str, repository: str = "") -> PullRef:
    """The pull request that a number or a URL names.

    Args:
        text: ``7``, ``#7``, or ``https://github.com/owner/name/pull/7``.
        repository: ``owner/name``, for a number; wins over a URL's only where both agree.

    Raises:
        UsageError: it names none.
    """
    found = _URL.match(text.strip())
    if found is not None:
        slug = check_slug(found[1])
        if repository and repository.lower() != slug.lower():
            raise UsageError(f"{text} is not in {repository}", "leave out --repository, or name the number alone")
        return PullRef(repository=slug, number=int(found[2]))
    number = _NUMBER.match(text.strip())
    if number is None:
        raise UsageError(f"{text!r} is no pull request", "give its number, or its URL")
    if not repository:
        raise UsageError(
            f"in which repository is pull request {number[1]}?", "say --repository OWNER/NAME, or give its URL"
        )
    return PullRef(repository=check_slug(repository), number=int(number[1]))


def check_slug(text: str) -> str:
    """``text`` where it is a repository's ``owner/name``.

    Raises:
        UsageError: it is not.
    """
    if not _SLUG.match(text):
        raise UsageError(f"{text!r} is no repository", "write OWNER/NAME")
    return text


def read_event(data: bytes, name: str, kind: str = "") -> PullRef:
    """The pull request that an event is about.

    Args:
        data: the event's JSON.
        name: the file's name, for messages.
        kind: what ``GITHUB_EVENT_NAME`` says, for messages; the payload itself decides.

    Raises:
        UnreadableInput: it is no event, or none about a pull request.
    """
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise UnreadableInput(f"the event file {name} is no JSON", "give the file that GitHub Actions wrote") from None
    if not isinstance(event, dict):
        raise UnreadableInput(f"the event file {name} holds no event", "give the file that GitHub Actions wrote")
    found = _from_pull(event) or _from_comment(event) or _from_workflow_run(event)
    if found is None:
        what = f"{kind!r}" if kind else "of another kind"
        raise UnreadableInput(
            f"the event is {what}, and not about a pull request",
            "run on pull_request, issue_comment or workflow_run, or say --pr N",
        )
    sender = _text(event, "sender", "login")
    return found._replace(action=_text(event, "action"), sender=sender, kind=kind)


def _from_pull(event: Mapping[str, Any]) -> PullRef | None:
    """``pull_request``, ``pull_request_target`` and ``pull_request_review``."""
    if not isinstance(event.get("pull_request"), dict):
        return None
    number = _number(event, "pull_request", "number")
    repository = _slug(event, "repository", "full_name") or _slug(event, "pull_request", "base", "repo", "full_name")
    if not number or not repository:
        return None
    origin = _slug(event, "pull_request", "head", "repo", "full_name")
    return PullRef(
        repository=repository,
        number=number,
        head=_sha(event, "pull_request", "head", "sha"),
        base=_sha(event, "pull_request", "base", "sha"),
        # The head's repository is null once the fork is deleted.
        fork=origin.lower() != repository.lower(),
    )


def _from_comment(event: Mapping[str, Any]) -> PullRef | None:
    """``issue_comment``: an issue that is a pull request has a key of that name."""
    if not isinstance(event.get("issue"), dict) or not isinstance(event["issue"].get("pull_request"), dict):
        return None
    number, repository = _number(event, "issue", "number"), _slug(event, "repository", "full_name")
    if not number or not repository:
        return None
    return PullRef(repository=repository, number=number, comment=_number(event, "comment", "id"))


def _from_workflow_run(event: Mapping[str, Any]) -> PullRef | None:
    """``workflow_run`` after a run on a pull request.

    Its list of pull requests is empty for forks, so that the head's branch and commit have to do.
    """
    if not isinstance(event.get("workflow_run"), dict):
        return None
    if _text(event, "workflow_run", "event") not in ("pull_request", "pull_request_target"):
        return None
    repository = _slug(event, "repository", "full_name")
    origin = _slug(event, "workflow_run", "head_repository", "full_name")
    branch, head = _text(event, "workflow_run", "head_branch"), _sha(event, "workflow_run", "head_sha")
    if not repository or not origin or not branch or not head:
        return None
    return PullRef(
        repository=repository,
        number=0,
        head=head,
        fork=origin.lower() != repository.lower(),
        branch=f"{origin.partition('/')[0]}:{branch}",
    )


def _at(event: Mapping[str, Any], *keys: str) -> Any:
    value: Any = event
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(event: Mapping[str, Any], *keys: str) -> str:
    value = _at(event, *keys)
    return value if isinstance(value, str) else ""


def _slug(event: Mapping[str, Any], *keys: str) -> str:
    value = _text(event, *keys)
    return value if _SLUG.match(value) else ""


def _sha(event: Mapping[str, Any], *keys: str) -> str:
    value = _text(event, *keys)
    return value if _SHA.match(value) else ""


def _number(event: Mapping[str, Any], *keys: str) -> int:
    value = _at(event, *keys)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 53 else 0
