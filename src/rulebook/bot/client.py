"""GitHub's REST API, by way of githubkit: the only module that knows the library.

The library authenticates, sets headers, follows a renamed repository and recognises rate limits. Decided here is how
long to wait, what may be sent twice, and what a refusal means to a user. Answers are taken as decoded JSON: building
the library's models of 3,000 files costs more than everything else in a run.

The token is handed to the library and to nothing else; no message, note or file has it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rulebook.errors import HostError

if TYPE_CHECKING:
    from datetime import timedelta

    import httpx
    from githubkit import GitHub
    from githubkit.exception import GitHubException
    from githubkit.typing import RetryOption
    from typing_extensions import Self

API_URL = "https://api.github.com"
#: GitHub ends the list of a pull request's files here
#: (https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files).
MAX_FILES = 3_000
PER_PAGE = 100
#: Seconds that a run waits for rate limits and failing servers, all in all; longer waits are not worth a job's time.
MAX_WAIT = 180.0
#: How often one request is sent again.
MAX_RETRIES = 4
_TIMEOUT = 30.0
_PERMISSIONS_THAT_WRITE = ("admin", "maintain", "write")

T = TypeVar("T")


class NotThere(HostError):
    """GitHub says 404 or 410: it does not exist, or the token may not see it."""


class Refused(HostError):
    """GitHub says 401 or 403: the token is invalid, or may not do this."""


class Unavailable(HostError):
    """GitHub cannot be reached, fails, or asks for more patience than a run has."""


class Pull(NamedTuple):
    """A pull request as GitHub has it now.

    Attributes:
        number: its number.
        title: foreign text.
        open: false once it is closed or merged.
        head: commit id.
        base: commit id of the branch it goes into.
        fork: whether its head lives in another repository.
        changed_files: how many files it changes; the list of files may be shorter.
        author: login, or empty for a deleted account.
    """

    number: int
    title: str
    open: bool
    head: str
    base: str
    fork: bool
    changed_files: int
    author: str = ""


class Comment(NamedTuple):
    """A comment in a pull request's conversation; times are ISO 8601 in UTC, as GitHub writes them."""

    id: int
    author: str
    body: str
    created: str = ""
    updated: str = ""
    url: str = ""


class GitHubClient:
    """The requests that the bot makes, for one repository."""

    def __init__(
        self,
        repository: str,
        token: str = "",
        *,
        base_url: str = API_URL,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        max_wait: float = MAX_WAIT,
    ) -> None:
        """Prepares a client; nothing is sent yet.

        Args:
            repository: ``owner/name``.
            token: empty to ask as nobody, which public repositories answer.
            base_url: of the API; GitHub Enterprise Server has it at ``https://HOST/api/v3``.
            transport: how requests get there; for tests.
            sleep: waits that many seconds.
            max_wait: seconds of waiting that all requests together may cost.

        Raises:
            HostError: githubkit is not installed, or ``base_url`` is none.
        """
        if not base_url.startswith(("https://", "http://")):
            raise HostError(f"{base_url!r} is no address of an API", "set GITHUB_API_URL, https://HOST/api/v3, say")
        self.owner, _, self.name = repository.partition("/")
        self.repository = repository
        self.requests = 0
        self._token = token
        self._sleep = sleep
        self._patience = max_wait
        self._github = self._connect(base_url, transport)

    def _connect(self, base_url: str, transport: httpx.BaseTransport | None) -> GitHub[Any]:
        try:
            from githubkit import GitHub
        except ImportError as error:
            raise HostError(
                f"the GitHub client library is missing ({error.name or error})",
                "install rulebook with its extra 'bot': pip install '.[bot]' in its clone",
            ) from None
        return GitHub(
            self._token or None,
            base_url=base_url,
            user_agent="rulebook",
            timeout=_TIMEOUT,
            transport=transport,
            # The library's cache would keep answers, and read comments from before the last write.
            http_cache=False,
            rest_api_validate_body=False,
            event_hooks={"request": [self._count]},
            auto_retry=self._decide,
        )

    def close(self) -> None:
        """Closes the connections."""
        self._github.__exit__(None, None, None)

    def __enter__(self) -> Self:
        # One connection for all requests; without it the library opens one for each.
        self._github.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _count(self, _: object) -> None:
        self.requests += 1

    # --- patience ---

    def _decide(self, error: GitHubException, retries: int) -> RetryOption:
        """Whether to send a request again. Waits by itself, so that the wait can be bounded and tested."""
        from datetime import timedelta

        from githubkit.exception import RateLimitExceeded, RequestFailed
        from githubkit.typing import RetryOption

        stop = RetryOption(False)
        if retries >= MAX_RETRIES:
            return stop
        if isinstance(error, RateLimitExceeded):
            # The request was refused before anything was done, so that sending it again is safe for every method.
            wait = max(self._seconds(error.retry_after), 1.0) if retries == 0 else 60.0
        elif isinstance(error, RequestFailed) and _is_secondary_limit(error.response.json):
            wait = 60.0
        elif isinstance(error, RequestFailed) and error.response.status_code < 500:
            return stop
        elif _method(error) == "POST":
            # Whether the comment was made is not known; the caller looks before it asks again.
            return stop
        else:
            wait = float((retries + 1) ** 2)
        if wait > self._patience:
            return stop
        self._patience -= wait
        self._sleep(wait)
        # A zero would make the library wait for a minute.
        return RetryOption(True, timedelta(microseconds=1))

    @staticmethod
    def _seconds(wait: timedelta) -> float:
        return wait.total_seconds()

    def _ask(self, what: str, send: Callable[[], T]) -> T:
        """Sends a request, and turns what can go wrong into one line.

        Raises:
            NotThere, Refused, Unavailable, HostError: see there.
        """
        from githubkit.exception import GitHubException, RateLimitExceeded, RequestFailed, RequestTimeout

        try:
            return send()
        except RateLimitExceeded as error:
            seconds = int(error.retry_after.total_seconds())
            raise Unavailable(
                f"GitHub's rate limit is used up ({what}); it asks to wait {seconds} s", "run the job again later"
            ) from None
        except RequestTimeout:
            raise Unavailable(f"GitHub did not answer in time ({what})", "run the job again") from None
        except RequestFailed as error:
            raise self._refusal(what, error.response.status_code, _message(error.response.json)) from None
        except GitHubException as error:
            cause = getattr(error, "exc", error)
            raise Unavailable(
                f"GitHub cannot be reached ({what}): {self._redact(str(cause) or type(cause).__name__)}",
                "check GITHUB_API_URL and the network",
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            # A proxy's page, say; or the date in a Retry-After, which the library takes for a number.
            raise Unavailable(
                f"what came back is no answer of GitHub's ({what})", "check GITHUB_API_URL, and what is in between"
            ) from None

    def _refusal(self, what: str, status: int, message: str) -> HostError:
        said = f"{what}: GitHub says {status}" + (f", {self._redact(message)}" if message else "")
        if status == 401:
            return Refused(said, "the token is invalid or has expired: set GITHUB_TOKEN")
        if status == 403 and "locked" in message:
            return Refused(said, "unlock the conversation, or let a token with write access comment")
        if status == 403:
            return Refused(said, "give the job 'permissions: pull-requests: write'; forks get a read-only token")
        if status in (404, 410):
            return NotThere(said, "check repository and number, and that the token may read the repository")
        if status >= 500 or status == 429:
            return Unavailable(said, "run the job again later")
        return HostError(said, "this request is not one that GitHub takes; please report it")

    def _redact(self, text: str) -> str:
        from rulebook.render.safe import one_line

        shown = text.replace(self._token, "***") if self._token else text
        return one_line(shown)[:300]

    # --- what is asked ---

    def pull(self, number: int) -> Pull:
        """The pull request, as it is now."""
        rest = self._github.rest.pulls
        return self._ask(
            f"pull request {self.repository}#{number}",
            lambda: self._pull_from(rest.get(self.owner, self.name, number).json()),
        )

    def find_pull(self, branch: str, head: str) -> Pull:
        """The open pull request of that head.

        Args:
            branch: ``owner:branch``.
            head: its commit id; a pull request that moved on does not count.

        Raises:
            NotThere: there is none.
        """
        rest = self._github.rest.pulls
        numbers = self._ask(
            f"pull requests of {branch}",
            lambda: [
                int(item["number"])
                for item in rest.list(self.owner, self.name, state="open", head=branch, per_page=PER_PAGE).json()
                if item["head"]["sha"] == head
            ],
        )
        if numbers:
            return self.pull(numbers[0])
        raise NotThere(
            f"no open pull request of {self.repository} has {head[:12]} of {branch} as its head",
            "it moved on or was closed; the run for its newest commit answers",
        )

    @staticmethod
    def _pull_from(data: Mapping[str, Any]) -> Pull:
        origin = (data["head"].get("repo") or {}).get("full_name", "")
        return Pull(
            number=int(data["number"]),
            title=str(data.get("title") or ""),
            open=data.get("state") == "open",
            head=str(data["head"]["sha"]),
            base=str(data["base"]["sha"]),
            fork=origin.lower() != str(data["base"]["repo"]["full_name"]).lower(),
            changed_files=int(data.get("changed_files") or 0),
            author=str((data.get("user") or {}).get("login") or ""),
        )

    def files(self, number: int, expected: int) -> tuple[list[dict[str, Any]], bool]:
        """The files that a pull request changes, and whether that is all of them.

        Args:
            number: the pull request's.
            expected: how many it says it changes.
        """
        rest = self._github.rest.pulls
        found: list[dict[str, Any]] = []
        for page in range(1, MAX_FILES // PER_PAGE + 1):
            items = self._ask(
                f"files of {self.repository}#{number}",
                lambda page=page: rest.list_files(  # type: ignore[misc]
                    self.owner, self.name, number, per_page=PER_PAGE, page=page
                ).json(),
            )
            found.extend(items)
            if len(items) < PER_PAGE or len(found) >= expected:
                break
        return found, len(found) >= expected

    def comments(self, number: int) -> list[Comment]:
        """All comments of the conversation, oldest first."""
        return list(self._comments(number))

    def _comments(self, number: int) -> Iterator[Comment]:
        page = 1
        while True:
            found = self._page_of_comments(number, page)
            yield from found
            if len(found) < PER_PAGE:
                return
            page += 1

    def _page_of_comments(self, number: int, page: int) -> list[Comment]:
        rest = self._github.rest.issues
        return self._ask(
            f"comments of {self.repository}#{number}",
            lambda: list(
                map(_comment, rest.list_comments(self.owner, self.name, number, per_page=PER_PAGE, page=page).json())
            ),
        )

    def create(self, number: int, body: str) -> Comment:
        """Writes a comment. Sent once: after :class:`Unavailable` it may exist or not."""
        rest = self._github.rest.issues
        return self._ask(
            f"a comment on {self.repository}#{number}",
            lambda: _comment(rest.create_comment(self.owner, self.name, number, body=body).json()),
        )

    def edit(self, comment: int, body: str) -> Comment:
        """Replaces a comment's text.

        Raises:
            NotThere: it is gone.
        """
        rest = self._github.rest.issues
        return self._ask(
            f"comment {comment} of {self.repository}",
            lambda: _comment(rest.update_comment(self.owner, self.name, comment, body=body).json()),
        )

    def delete(self, comment: int) -> None:
        """Deletes a comment; one that is gone already is fine."""
        rest = self._github.rest.issues
        try:
            self._ask(
                f"comment {comment} of {self.repository}",
                lambda: rest.delete_comment(self.owner, self.name, comment),
            )
        except NotThere:
            return

    def login(self) -> str:
        """Who the token belongs to; empty where GitHub does not say, as for the token of a workflow."""
        rest = self._github.rest.users
        try:
            data = self._ask("the token's user", lambda: rest.get_authenticated().json())
        except (Refused, NotThere):
            return ""
        return str(data.get("login") or "")

    def may_write(self, login: str) -> bool:
        """Whether a user has write access to the repository; not where GitHub does not tell."""
        rest = self._github.rest.repos
        try:
            data = self._ask(
                f"permission of {self._redact(login)}",
                lambda: rest.get_collaborator_permission_level(self.owner, self.name, login).json(),
            )
        except (NotThere, Refused):
            return False
        return str(data.get("permission")) in _PERMISSIONS_THAT_WRITE


def _comment(data: Mapping[str, Any]) -> Comment:
    return Comment(
        id=int(data["id"]),
        author=str((data.get("user") or {}).get("login") or ""),
        body=str(data.get("body") or ""),
        created=str(data.get("created_at") or ""),
        updated=str(data.get("updated_at") or ""),
        url=str(data.get("html_url") or ""),
    )


def _method(error: Exception) -> str:
    # An exception of the transport may have no request at all.
    cause = getattr(error, "exc", None)
    try:
        return str((getattr(error, "request", None) or cause.request).method) if cause is not None else ""
    except (AttributeError, RuntimeError):
        return "POST"


def _message(decode: Callable[[], Any]) -> str:
    try:
        data = decode()
    except ValueError:
        return ""
    return str(data.get("message") or "") if isinstance(data, dict) else ""


def _is_secondary_limit(decode: Callable[[], Any]) -> bool:
    # Not every such answer has the header that the library goes by.
    return "secondary rate limit" in _message(decode).lower()
