"""The comment's text: short, ordered by what a reviewer needs first, and never longer than GitHub takes.

Foreign text (titles, paths, diffs, reasons) goes through ``escape`` and ``code`` of :mod:`rulebook.render.md`, and is
shortened. Where the text is too long, whole entries are left out from the end of the least important section,
and the section says how many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from rulebook.bot.ack import box
from rulebook.bot.state import State, ack_key, dump_state, marker
from rulebook.model import Relevance, RuleMatch
from rulebook.render.md import code, escape, reason_markdown
from rulebook.render.safe import one_line

if TYPE_CHECKING:
    from rulebook.bot.brief import Brief

#: GitHub refuses longer comments (422, "body is too long (maximum is 65536 characters)"); counted in bytes here, so
#: that no way of counting characters goes past it.
MAX_BODY = 65_536
#: GitHub drops longer job summaries
#: (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#step-isolation-and-limits).
MAX_SUMMARY = 1 << 20
_TITLE = 200
_PATH = 250
_PATTERN = 80
_TEXT = 300
_MISSING = 20
_FINDINGS = 30


class Text(NamedTuple):
    """A rendered text, and how many entries did not fit into it."""

    body: str
    left_out: int = 0


class _Section(NamedTuple):
    """A part of the text whose entries can be left out one by one.

    Attributes:
        head: lines before the entries.
        entries: each one or several lines.
        tail: lines after them.
        noun: what an entry is, for counting.
        rank: sections of a higher rank give way first.
    """

    head: tuple[str, ...]
    entries: Sequence[str]
    tail: tuple[str, ...]
    noun: str
    rank: int


def render_comment(brief: Brief, state: State, *, key: str = "", elsewhere: str = "", budget: int = MAX_BODY) -> Text:
    """The comment, marker and state included.

    Args:
        brief: what to say.
        state: what to remember; its acknowledgements are shown.
        key: see :func:`rulebook.bot.state.marker`.
        elsewhere: where the rest is when something does not fit ("in the job's summary", say).
        budget: bytes.
    """
    hidden = f"{marker(key)}\n{dump_state(state)}\n"
    text = _render(brief, state, budget - len(hidden.encode()), elsewhere, boxes=True)
    return text._replace(body=hidden + text.body)


def render_summary(brief: Brief, state: State, *, budget: int = MAX_SUMMARY) -> Text:
    """The same for a job's summary, which has sixteen times as much room and no boxes to tick."""
    return _render(brief, state, budget, "", boxes=False)


def _render(brief: Brief, state: State, budget: int, elsewhere: str, *, boxes: bool) -> Text:
    top = list(_top(brief, state))
    bottom = list(_bottom(brief))
    sections = [section for section in _sections(brief, state, boxes=boxes) if section.entries]
    fixed = _size(top) + _size(bottom) + sum(_size(s.head) + _size(s.tail) for s in sections)
    room = budget - fixed
    if sum(_size(section.entries) for section in sections) > room:
        # Each section may have to say how much was left out.
        room -= 160 * len(sections)
    kept: dict[int, int] = {}
    for index, section in sorted(enumerate(sections), key=lambda item: item[1].rank):
        count = 0
        for entry in section.entries:
            size = len(entry.encode("utf-8", "replace")) + 1
            if size > room:
                break
            room -= size
            count += 1
        kept[index] = count
    lines = top
    left_out = 0
    for index, section in enumerate(sections):
        lines += section.head
        lines += section.entries[: kept[index]]
        missing = len(section.entries) - kept[index]
        if missing:
            left_out += missing
            where = f", {elsewhere}" if elsewhere else ""
            lines.append(f"- … and {_count(missing, section.noun)} more, left out for want of room{where}")
        lines += section.tail
    lines += bottom
    # Lone surrogates of odd file names are escapes by now; nothing else lacks a UTF-8 form.
    return Text("\n".join(lines) + "\n", left_out)


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


# --- the parts --------------------------------------------------------------------------------


def _top(brief: Brief, state: State) -> Iterator[str]:
    report = brief.report
    direct = sum(match.relevance is Relevance.DIRECT for match in report.rules)
    possible = len(report.rules) - direct
    if brief.quiet:
        yield "### No rule applies to this change"
    elif direct:
        yield f"### {_count(direct, 'rule')} at stake" + (f", {possible} more possibly" if possible else "")
    elif possible:
        yield f"### {_count(possible, 'rule')} possibly at stake"
    else:
        yield "### No rule is at stake, but see below"
    yield ""
    pushed = list(_since(state))
    if pushed:
        yield from pushed
        yield ""
    if not report.complete:
        yield (
            f"> **Incomplete**: the list of changed files ends after {len(report.files):,} files, where GitHub cuts it."
            " What is missing from it was not looked at (`complete: false`)."
        )
        yield ""


def _since(state: State) -> Iterator[str]:
    """What the last push added or dropped."""
    before, now = state.before, state.now
    if not before.head or before.head == now.head:
        return
    known = not before.cut
    added = [name for name in now.rules if name not in before.rules] if known else []
    dropped = [name for name in before.rules if name not in now.rules] if not now.cut else []
    raised = [name for name in now.direct if name in before.rules and name not in before.direct]
    parts = []
    if added:
        parts.append(f"now applies: {_names(added)}")
    if raised:
        parts.append(f"now at stake: {_names(sorted(raised))}")
    if dropped:
        parts.append(f"applies no longer: {_names(dropped)}")
    if state.lapsed:
        parts.append(f"to be acknowledged again, since what they matched has changed: {_names(state.lapsed)}")
    if parts:
        yield f"**Since** {code(before.head[:12])}: {'; '.join(parts)}."
    else:
        yield f"Since {code(before.head[:12])} the same rules apply."


def _names(names: Sequence[str], limit: int = 12) -> str:
    shown = ", ".join(_words(name, 80) for name in names[:limit])
    return shown + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _bottom(brief: Brief) -> Iterator[str]:
    report = brief.report
    examined = f"{_count(report.examined_rules, 'rule')} and {_count(report.examined_reviews, 'digest')} examined"
    yield f"<sub>{_count(len(report.files), 'changed path')}, {examined}. This speaks of</sub> {code(brief.head)}"


def _sections(brief: Brief, state: State, *, boxes: bool) -> Iterator[_Section]:
    report = brief.report
    direct = [match for match in report.rules if match.relevance is Relevance.DIRECT]
    possible = [match for match in report.rules if match.relevance is not Relevance.DIRECT]
    yield _Section((), [_rule(brief, match, state, boxes=boxes) for match in direct], ("",), "rule", 0)
    yield _waivers(brief)
    yield _Section(
        ("**Sources of rules that this change edits**: read them again after the merge.", ""),
        [_edited(item.owner, item.path, item.state, item.because) for item in brief.edited],
        ("",),
        "source",
        2,
    )
    yield _folded(
        f"{_count(len(possible), 'rule')} possibly at stake: only the place matches",
        [_rule(brief, match, state, boxes=False) for match in possible],
        "rule",
        3,
    )
    yield _folded(
        f"{_count(len(report.reviews), 'review digest')} worth reading along",
        [f"- **{_words(review.id, 120)}** {_words(review.title, _TITLE)}" for review in report.reviews],
        "digest",
        4,
    )
    paths = [f"- {_path(path)}" for path in report.unmatched]
    yield _folded(f"{_count(len(paths), 'changed path')} that no rule covers", paths, "path", 5)


def _folded(summary: str, entries: Sequence[str], noun: str, rank: int) -> _Section:
    return _Section((f"<details><summary>{summary}</summary>", ""), entries, ("", "</details>", ""), noun, rank)


def _rule(brief: Brief, match: RuleMatch, state: State, *, boxes: bool) -> str:
    """A rule in one line, and its missing co-changes as a list of tasks."""
    name = f"**{_words(match.id, 80)}**"
    address = page_address(brief.site, brief.report.repo, match.id)
    name = f"[{name}]({address})" if address else name
    facts = [match.severity.value]
    if match.status.value != "active":
        facts.append(match.status.value)
    if match.freshness not in (None, "fresh"):
        facts.append(f"source {match.freshness}" if match.freshness in _STATES else "source unsure")
    title = _words(match.title, _TITLE)
    parts = [f"{name} ({', '.join(facts)}) {title}"]
    if match.reasons:
        parts.append(reason_markdown(match.reasons[0], path=_PATH, pattern=_PATTERN, text=_TEXT))
    parts += [f"waived by {_path(waiver)}" for waiver in match.waived_by[:3]]
    ack = state.acks.get(ack_key(match.id))
    if ack is not None:
        who = code(f"@{ack.by}") if ack.by else "a reviewer"
        because = f": {_words(ack.because, _TEXT)}" if ack.because else ""
        parts.append(f"acknowledged by {who} at {code(ack.head[:12])}{because}")
    head = " · ".join(parts)
    lines = [f"- [{'x' if ack else ' '}] {head} {box(ack_key(match.id))}" if boxes else f"- {head}"]
    for item in match.missing_cochanges[:_MISSING]:
        because = f": {_words(item.because, _TEXT)}" if item.because else ""
        what = f"{_path(item.path)} did not change along{because}"
        key = ack_key(match.id, item.path)
        if boxes:
            lines.append(f"  - [{'x' if key in state.acks else ' '}] {what} {box(key)}")
        else:
            lines.append(f"  - {what}")
    if len(match.missing_cochanges) > _MISSING:
        lines.append(f"  - and {len(match.missing_cochanges) - _MISSING} more")
    return "\n".join(lines)


_STATES = ("changed", "moved", "gone", "unverifiable", "invalid")


def _waivers(brief: Brief) -> _Section:
    verdict = brief.waivers
    if verdict is None or (verdict.passed and not verdict.patches and not verdict.findings):
        return _Section((), (), (), "finding", 1)
    entries = [f"**{_words(verdict.summary, _TEXT)}**", ""]
    for finding in verdict.findings[:_FINDINGS]:
        place = finding.location.path + (f":{finding.location.line}" if finding.location.line else "")
        where = f" {_path(place)}" if place else ""
        remedy = f" Remedy: {_words(finding.remedy, _TEXT)}." if finding.remedy else ""
        message = _words(finding.message, _TEXT)
        entries.append(f"- {finding.severity.value}{where}: {message}.{remedy}")
    if len(verdict.findings) > _FINDINGS:
        entries.append(f"- and {len(verdict.findings) - _FINDINGS} more")
    return _Section((), entries, ("",), "finding", 1)


def _edited(owner: str, path: str, state: str, because: str) -> str:
    word = state if state in _STATES else "touched"
    return f"- {_words(owner, 80)}: {_path(path)} ({word}) {_words(because, _TEXT)}"


def page_address(site: str, repo: str, rule: str) -> str:
    """The address of a rule's page on the documentation site, or an empty string where there is no site."""
    return f"{site.rstrip('/')}/rules/{quote(repo, safe='')}/{quote(rule, safe='')}/" if site else ""


def _words(text: str, limit: int) -> str:
    return escape(_clip(text, limit))


def _path(path: str) -> str:
    return code(_clip(one_line(path), _PATH))


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
