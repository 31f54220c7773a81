"""Keeps exactly one comment that speaks of the newest head, though other runs and people act meanwhile.

GitHub has no conditional writes, so a run looks, writes where what it sees is not what it wants, and looks again,
until a look finds nothing left to do. What follows from that: whichever run writes last still looks afterwards, and
leaves only when there is one comment and it speaks of the pull request's head. A run that finds the head moved on
does not write; if it wrote already, it may have put its text over a newer one, and answers for the new head instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rulebook.bot import ack
from rulebook.bot.client import Comment, NotThere, Pull, Unavailable
from rulebook.bot.comment import render_comment
from rulebook.bot.state import State, advance, is_ours, load_state

if TYPE_CHECKING:
    from rulebook.bot.brief import Brief

#: The author of what is written with a workflow's own token.
ACTIONS_BOT = "github-actions[bot]"
#: So many looks, and a run gives up on agreeing with others.
MAX_ROUNDS = 12


class Host(Protocol):
    """What the upsert needs of GitHub; :class:`rulebook.bot.client.GitHubClient` has it, and documents it."""

    def pull(self, number: int) -> Pull:
        """The pull request, as it is now."""
        ...

    def comments(self, number: int) -> list[Comment]:
        """All comments of its conversation."""
        ...

    def create(self, number: int, body: str) -> Comment:
        """Writes a comment."""
        ...

    def edit(self, comment: int, body: str) -> Comment:
        """Replaces a comment's text."""
        ...

    def delete(self, comment: int) -> None:
        """Deletes a comment."""
        ...

    def login(self) -> str:
        """Who the token belongs to, or empty."""
        ...

    def may_write(self, login: str) -> bool:
        """Whether a user has write access."""
        ...


class Outcome(str, Enum):
    """What became of the comment."""

    CREATED = "created"
    EDITED = "edited"
    UNCHANGED = "unchanged"
    QUIET = "quiet"
    SUPERSEDED = "superseded"
    CLOSED = "closed"

    __str__ = str.__str__


class Result(NamedTuple):
    """What an upsert did.

    Attributes:
        outcome: the last thing done.
        brief: what the comment speaks of; another one than was given where the head moved on.
        state: what it remembers.
        url: the comment's address, or empty.
        deleted: how many older duplicates were deleted.
        left_out: how many entries did not fit.
        notes: what the user should know, one sentence each.
    """

    outcome: Outcome
    brief: Brief
    state: State
    url: str = ""
    deleted: int = 0
    left_out: int = 0
    notes: tuple[str, ...] = ()


def upsert(
    host: Host,
    brief: Brief,
    *,
    key: str = "",
    author: str = "",
    sender: str = "",
    edited_comment: int = 0,
    elsewhere: str = "",
    answer_for: Callable[[Pull], Brief] | None = None,
) -> Result:
    """Brings the one comment up to date.

    Args:
        host: GitHub.
        brief: what to say.
        key: tells the comments of several knowledge bases apart.
        author: login that the token writes as; asked for where it is empty.
        sender: who edited a comment, where that started the run.
        edited_comment: which one; boxes that were ticked in it are theirs.
        elsewhere: where the rest is when something does not fit.
        answer_for: makes a brief for another head; without it a run that is overtaken after it wrote gives up.

    Returns:
        what was done.

    Raises:
        HostError: GitHub refuses, or fails for longer than a run waits.
    """
    author = author or host.login() or ACTIONS_BOT
    run = _Run(host, brief, key, author, elsewhere)
    run.sender, run.edited_comment = sender, edited_comment
    for _ in range(MAX_ROUNDS):
        # The list first: a head that moves between the two is seen, and a comment about it is taken for no old one.
        comments = host.comments(brief.number)
        pull = host.pull(brief.number)
        if not pull.open:
            return run.result(Outcome.CLOSED, "the pull request is closed, so nothing was written")
        if pull.head != run.brief.head:
            if not run.wrote or answer_for is None:
                return run.result(Outcome.SUPERSEDED, f"the head moved on to {pull.head[:12]}; the run for it answers")
            run.brief = answer_for(pull)
        if run.step(comments):
            return run.result()
    return run.result(note="other runs kept changing the comment; the last one to write decides")


class _Run:
    """One run's view of the conversation, and what it did to it."""

    def __init__(self, host: Host, brief: Brief, key: str, author: str, elsewhere: str) -> None:
        self.host, self.brief, self.key, self.author = host, brief, key, author
        self.elsewhere = elsewhere
        self.sender, self.edited_comment = "", 0
        self.state = advance(None, brief)
        self.outcome = Outcome.UNCHANGED
        self.wrote = False
        self.deleted = self.left_out = 0
        self.url = ""
        self.notes: list[str] = []
        self.asked: dict[str, bool] = {}
        self.failures = 0

    def result(self, outcome: Outcome | None = None, note: str = "") -> Result:
        """What was done, with a last word."""
        notes = (*self.notes, note) if note else tuple(self.notes)
        return Result(
            outcome=outcome or self.outcome,
            brief=self.brief,
            state=self.state,
            url=self.url,
            deleted=self.deleted,
            left_out=self.left_out,
            notes=notes,
        )

    def step(self, comments: Sequence[Comment]) -> bool:
        """Does the next thing that is to be done; true where nothing was."""
        mine = sorted(
            (c for c in comments if c.author.lower() == self.author.lower() and is_ours(c.body, self.key)),
            key=lambda comment: comment.id,
        )
        if not mine:
            return self._create(comments)
        newest = mine[-1]
        self.url = newest.url
        # An older duplicate may be the one with acknowledgements in it.
        source = next((c for c in reversed(mine) if (s := load_state(c.body)) and s.acks), newest)
        body = self._body(source, comments)
        if _same(newest.body, body):
            # Only now, when what they remembered is kept.
            for other in mine[:-1]:
                self.host.delete(other.id)
                self.deleted += 1
                self.wrote = True
            return len(mine) == 1
        try:
            self.url = self.host.edit(newest.id, body).url
        except NotThere:
            # Deleted under our hands; the next look finds that out.
            self.wrote = True
            return False
        self.wrote = True
        if self.outcome is not Outcome.CREATED:
            self.outcome = Outcome.EDITED
        return False

    def _body(self, comment: Comment, comments: Sequence[Comment]) -> str:
        prior = load_state(comment.body)
        if prior is not None:
            others = [c for c in comments if c.author.lower() != self.author.lower()]
            hand = self.sender if comment.id == self.edited_comment else ""
            commands = ack.parse_commands(others, prior.seen)
            prior = ack.settle(prior, comment.body, commands, self._may_write, sender=hand)
        self.state = advance(prior, self.brief)
        text = render_comment(self.brief, self.state, key=self.key, elsewhere=self.elsewhere)
        self.left_out = text.left_out
        return text.body

    def _may_write(self, login: str) -> bool:
        if login not in self.asked:
            self.asked[login] = self.host.may_write(login)
        return self.asked[login]

    def _create(self, comments: Sequence[Comment]) -> bool:
        self.url = ""
        # Commands from before there was a comment acknowledge nothing.
        self.state = advance(None, self.brief)._replace(seen=max((c.id for c in comments), default=0))
        if self.brief.quiet:
            self.outcome = Outcome.QUIET
            return True
        text = render_comment(self.brief, self.state, key=self.key, elsewhere=self.elsewhere)
        self.left_out = text.left_out
        self.wrote = True
        try:
            made = self.host.create(self.brief.number, text.body)
        except Unavailable:
            # It may have been made all the same: look before trying again, and only so often.
            self.failures += 1
            if self.failures > 3:
                raise
            return False
        self.url = made.url
        self.outcome = Outcome.CREATED
        if made.author and made.author.lower() != self.author.lower():
            # The token writes under another name than was thought: an older comment of that name is found now.
            self.notes.append(f"the token writes as {made.author}; say --author {made.author} to spare a request")
            self.author = made.author
        return False


def _same(one: str, other: str) -> bool:
    # GitHub's editor writes CRLF; its API drops blanks at the end.
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()
