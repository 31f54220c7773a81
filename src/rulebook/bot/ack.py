"""Acknowledgements: a reviewer saw that a rule applies, and says so.

By ticking the box at the rule, or by a comment that has, on a line of its own::

    /rulebook ack AFD-I9 because the field is read by both sides already
    /rulebook unack AFD-I9

Only people with write access can edit the bot's comment, and so tick a box; of those who write a command the
bot asks GitHub. An acknowledgement is bound to what the comment showed when it was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from rulebook.bot.state import Ack, State, ack_key

if TYPE_CHECKING:
    from rulebook.bot.client import Comment

_COMMAND = re.compile(
    r"^/rulebook[ \t]+(ack|unack)[ \t]+(\S+)(?:[ \t]+because[ \t]+(.*?))?[ \t]*\r?$", re.MULTILINE | re.IGNORECASE
)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*\r?$|\Z)", re.MULTILINE | re.DOTALL)
_BOX = re.compile(r"^ *- \[([ xX])\] .*<!-- ack:([A-Za-z0-9._~%/-]+) -->\r?$", re.MULTILINE)
#: How much of a reason is kept, in characters.
MAX_BECAUSE = 300
#: Of so many people GitHub is asked at most in one run whether they may write.
MAX_ASKED = 5


class Command(NamedTuple):
    """An acknowledgement that somebody asks for in a comment, or takes back."""

    comment: int
    by: str
    rule: str
    because: str
    revoke: bool


def parse_commands(comments: Iterable[Comment], after: int = 0) -> list[Command]:
    """The commands in comments with a higher id than ``after``, in the order in which they were written."""
    found = []
    for comment in sorted(comments, key=lambda comment: comment.id):
        if comment.id <= after or "/rulebook" not in comment.body.lower():
            continue
        text = _FENCE.sub("", comment.body)
        found += [
            Command(
                comment=comment.id,
                by=comment.author,
                rule=match[2],
                because=(match[3] or "")[:MAX_BECAUSE],
                revoke=match[1].lower() == "unack",
            )
            for match in _COMMAND.finditer(text)
        ]
    return found


def box(key: str) -> str:
    """The hidden name of a box, at the end of its line."""
    return f"<!-- ack:{re.sub('-(?=-)|-$', '%2D', quote(key, safe=''))} -->"


def parse_boxes(body: str) -> dict[str, bool]:
    """The boxes in a comment's text, by :func:`ack_key`, and whether each is ticked."""
    return {unquote(match[2]): match[1] != " " for match in _BOX.finditer(body)}


def settle(
    prior: State,
    body: str,
    commands: Iterable[Command],
    may_write: Callable[[str], bool],
    *,
    sender: str = "",
) -> State:
    """Carries out boxes and commands, each on what the comment showed when they were made.

    Args:
        prior: what the comment remembers.
        body: the comment's text, with its boxes.
        commands: those that were not carried out yet.
        may_write: whether a user has write access.
        sender: who edited the comment, where the run was started by that.
    """
    acks = dict(prior.acks)
    for key, ticked in parse_boxes(body).items():
        rule = key.partition("\n")[0]
        if rule not in prior.now.rules:
            continue
        if ticked and key not in acks:
            acks[key] = Ack(head=prior.head, fingerprint=prior.now.rules[rule], by=sender, ticked=True)
        elif not ticked and key in acks:
            # The box of an acknowledged rule is shown ticked, whichever way it was given.
            del acks[key]
    seen, asked = prior.seen, dict[str, bool]()
    for command in commands:
        seen = max(seen, command.comment)
        rule = _known(command.rule, prior.now.rules)
        if not rule or not _allowed(command.by, asked, may_write):
            continue
        if command.revoke:
            acks.pop(ack_key(rule), None)
        else:
            acks[ack_key(rule)] = Ack(
                head=prior.head, fingerprint=prior.now.rules[rule], by=command.by, because=command.because
            )
    lapsed = tuple(rule for rule in prior.lapsed if rule not in acks)
    return prior._replace(acks=acks, seen=seen, lapsed=lapsed)


def _known(name: str, rules: Mapping[str, str]) -> str:
    wanted = name.rstrip(".,;:").lower()
    return next((rule for rule in rules if rule.lower() in (name.lower(), wanted)), "")


def _allowed(login: str, asked: dict[str, bool], may_write: Callable[[str], bool]) -> bool:
    if login not in asked:
        if len(asked) >= MAX_ASKED or not login:
            return False
        asked[login] = may_write(login)
    return asked[login]
