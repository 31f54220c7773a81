"""What the comment remembers between runs, kept in the comment itself.

The first line is the marker that the comment is found by; the second is the state, compressed so that it takes little
of the 65,536 bytes. Both are HTML comments, which readers do not see. Whoever may edit the bot's comment has write
access to the repository, so the state is worth as much trust as an acknowledgement is.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from rulebook.bot.brief import Brief

VERSION = 1
#: The state may take so many bytes of the comment; beyond, rules that only the place matched are not remembered, then
#: those at the end of the list.
MAX_STATE = 20_000
_STATE = re.compile(r"<!-- rulebook:state ([A-Za-z0-9+/=]*) -->")
#: What a state may unpack to; a forged one could otherwise fill the memory.
_MAX_UNPACKED = 1 << 20


class Ack(NamedTuple):
    """An acknowledgement: of a rule, or of one of its missing co-changes.

    Attributes:
        head: the commit whose comment it was given on.
        fingerprint: of what the rule matched there.
        by: login, or empty for a ticked box whose hand is not known.
        because: what was said.
        ticked: whether it is a box; it ends when the box is cleared.
    """

    head: str
    fingerprint: str
    by: str = ""
    because: str = ""
    ticked: bool = False


class Snapshot(NamedTuple):
    """What applied at a commit: rules with their fingerprints, in order, and the ids among them that are direct."""

    head: str = ""
    rules: Mapping[str, str] = MappingProxyType({})
    direct: frozenset[str] = frozenset()
    cut: bool = False


class State(NamedTuple):
    """What the comment remembers.

    Attributes:
        now: what it speaks of.
        before: what it spoke of before the last push; an empty head where there was nothing.
        acks: acknowledgements in force, by :func:`ack_key`.
        lapsed: rules whose acknowledgement ended with the last push.
        seen: the highest id of a comment whose commands were carried out.
    """

    now: Snapshot = Snapshot()
    before: Snapshot = Snapshot()
    acks: Mapping[str, Ack] = MappingProxyType({})
    lapsed: tuple[str, ...] = ()
    seen: int = 0

    @property
    def head(self) -> str:
        """The commit that the comment speaks of."""
        return self.now.head


def ack_key(rule: str, path: str = "") -> str:
    """The key of an acknowledgement: of a rule, or of the co-change ``path`` that it misses."""
    return f"{rule}\n{path}" if path else rule


def marker(key: str = "") -> str:
    """The comment's first line. ``key`` tells the comments of several knowledge bases apart.

    It never comes from what is commented on: a stranger who could choose it could make a second comment.
    """
    # An HTML comment must not have "--" inside, or end in "-".
    name = re.sub("-(?=-)|-$", "%2D", quote(key, safe=""))
    return f"<!-- rulebook:comment {name} -->" if name else "<!-- rulebook:comment -->"


def is_ours(body: str, key: str) -> bool:
    """Whether a comment's text begins with the marker."""
    return body.replace("\r\n", "\n").partition("\n")[0].rstrip() == marker(key)


def snapshot(brief: Brief) -> Snapshot:
    """What applies at the brief's commit."""
    rules = {match.id: brief.fingerprints.get(match.id, "") for match in brief.report.rules}
    direct = frozenset(match.id for match in brief.report.rules if match.relevance.value == "direct")
    return Snapshot(head=brief.head, rules=rules, direct=direct)


def advance(prior: State | None, brief: Brief) -> State:
    """The state after looking at ``brief``: what was there before, and which acknowledgements survive.

    Looking twice at the same commit changes nothing, so that two runs can agree on a text.
    """
    now = snapshot(brief)
    if prior is None:
        return State(now=now)
    pushed = prior.head != brief.head
    before = prior.now if pushed else prior.before
    acks = {
        key: ack for key, ack in prior.acks.items() if now.rules.get(key.partition("\n")[0], None) == ack.fingerprint
    }
    gone = [key for key in prior.acks if key not in acks and "\n" not in key and key in now.rules]
    lapsed = tuple(gone) if pushed else tuple(dict.fromkeys([*prior.lapsed, *gone]))
    lapsed = tuple(rule for rule in lapsed if rule not in acks and rule in now.rules)
    return State(now=now, before=before, acks=acks, lapsed=lapsed, seen=prior.seen)


# --- as text ----------------------------------------------------------------------------------


def dump_state(state: State) -> str:
    """The comment's second line."""
    for limit in (None, "direct", 400, 200, 100, 0):
        line = _pack(state, limit)
        if len(line) <= MAX_STATE:
            return line
    return _pack(State(now=Snapshot(head=state.head, cut=True), seen=state.seen), None)


def _pack(state: State, limit: str | int | None) -> str:
    import zlib

    data = {
        "v": VERSION,
        "now": _snapshot_data(state.now, limit),
        "before": _snapshot_data(state.before, limit, fingerprints=False),
        "acks": {key: list(ack) for key, ack in state.acks.items()},
        "lapsed": list(state.lapsed),
        "seen": state.seen,
    }
    packed = zlib.compress(json.dumps(data, ensure_ascii=True, separators=(",", ":")).encode(), 9)
    return f"<!-- rulebook:state {b64encode(packed).decode()} -->"


def _snapshot_data(shot: Snapshot, limit: str | int | None, *, fingerprints: bool = True) -> list[Any]:
    names = list(shot.rules)
    if limit == "direct":
        names = [name for name in names if name in shot.direct]
    elif isinstance(limit, int):
        names = names[:limit]
    rules = [[name, shot.rules[name] if fingerprints else "", int(name in shot.direct)] for name in names]
    return [shot.head, rules, shot.cut or len(names) < len(shot.rules)]


def load_state(body: str) -> State | None:
    """The state in a comment's text, or ``None`` where there is none that can be read."""
    import zlib

    found = _STATE.match(body.replace("\r\n", "\n").partition("\n")[2])
    if found is None:
        return None
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(b64decode(found[1], validate=True), _MAX_UNPACKED)
        data = json.loads(text)
        if data["v"] != VERSION:
            return None
        return State(
            now=_snapshot_from(data["now"]),
            before=_snapshot_from(data["before"]),
            acks={str(key): _ack_from(value) for key, value in data["acks"].items()},
            lapsed=tuple(map(str, data["lapsed"])),
            seen=int(data["seen"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error, RecursionError):
        return None


def _snapshot_from(data: Any) -> Snapshot:
    head, rules, cut = data
    return Snapshot(
        head=str(head),
        rules={str(name): str(value) for name, value, _ in rules},
        direct=frozenset(str(name) for name, _, direct in rules if direct),
        cut=bool(cut),
    )


def _ack_from(data: Any) -> Ack:
    head, value, by, because, ticked = data
    return Ack(head=str(head), fingerprint=str(value), by=str(by), because=str(because), ticked=bool(ticked))
