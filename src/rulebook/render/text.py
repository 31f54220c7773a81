"""Reports as lines of styled text, for people at a terminal.

A line is a list of (text, style) pairs with the number of columns by which its continuation is
indented. What becomes of the styles, and whether lines are folded, is the terminal's business
(:mod:`rulebook.cli.terminal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook.model import (
    AppliesReport,
    ChangeStatus,
    FileChange,
    Finding,
    Reason,
    ReasonKind,
    Relevance,
    ReviewMatch,
    RuleMatch,
    Side,
)
from rulebook.render.safe import one_line

if TYPE_CHECKING:
    from rulebook.answer import ExplainReport
    from rulebook.lookup import FoundDocument
    from rulebook.store.schema import Row

#: Reasons shown under a rule; the rest are counted, and JSON has them all.
SHOWN_REASONS = {Relevance.DIRECT: 4, Relevance.POSSIBLE: 2}
#: How much of an expression or a pattern stands beside a changed line, in characters.
SHOWN_PATTERN = 30
MEANINGS = {
    Relevance.DIRECT: "shown by the change itself",
    Relevance.POSSIBLE: "only the place matches",
}
#: Digests shown as related reading: of the same places, and of those that only share a label; JSON has them all.
SHOWN_PLACE_REVIEWS = 5
SHOWN_LABEL_REVIEWS = 3
#: Paths shown of those that a rule covers, and of those that it does not.
SHOWN_EXPLAINED = 20
ONLY_PLACES = "Only places were looked at, not changed lines."
_INDENT = " " * 10
WORDS = {
    ReasonKind.PATH: "meets",
    ReasonKind.LINE: "matches",
    ReasonKind.IDENTIFIER: "names",
    ReasonKind.FUNCTION: "is inside",
    ReasonKind.COCHANGE: "asks to change along",
    ReasonKind.SOURCE: "is a source of the rule",
    ReasonKind.LABEL: "shares the label",
}
_SEVERITY_STYLE = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_STALE_STYLE = {"gone": "bold red", "moved": "yellow", "changed": "yellow"}


Sides = Mapping[tuple[str, Side], FileChange]


class StyledLine(NamedTuple):
    """One line: its pieces, and the indent of what does not fit."""

    pieces: tuple[tuple[str, str], ...]
    indent: int = 0

    @property
    def plain(self) -> str:
        """The line without its styles."""
        return "".join(text for text, _ in self.pieces).rstrip()


def line(*pieces: str | tuple[str, str], indent: int = 0) -> StyledLine:
    """Builds a line; every piece is made harmless for a terminal here, and nowhere else."""
    made = tuple(
        (one_line(piece), "") if isinstance(piece, str) else (one_line(piece[0]), piece[1]) for piece in pieces
    )
    return StyledLine(made, indent)


BLANK = StyledLine(())


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def applies_lines(report: AppliesReport) -> Iterator[StyledLine]:
    """The answer of ``applies``: rules by relevance, reasons under each, uncovered paths last."""
    yield line(
        (report.repo, "bold"),
        f": {count(len(report.files), 'changed path')}, "
        f"{count(report.examined_rules, 'rule')} and {count(report.examined_reviews, 'digest')} examined",
    )
    if not report.complete:
        yield line(("The list of changed paths is cut: what is missing from it was not looked at.", "bold yellow"))
    unread = sum(change.hunks is None for change in report.files)
    if unread and unread == len(report.files):
        yield line((f"{ONLY_PLACES} --diff FILE or --git RANGE tells more.", "yellow"))
    elif unread:
        yield line((f"Of {count(unread, 'path')} the changed lines are not known, only the place.", "yellow"))
    sides = sides_of(report.files)
    for relevance, meaning in MEANINGS.items():
        matches = [match for match in report.rules if match.relevance is relevance]
        if not matches:
            continue
        yield BLANK
        yield line((f"{relevance.value.capitalize()} ({len(matches)})", "bold"), (f": {meaning}", "dim"))
        for match in matches:
            yield from _match_lines(match, sides)
    if not report.rules:
        yield BLANK
        yield line("No rule applies.")
    if report.reviews:
        yield BLANK
        yield line((f"Related reading ({len(report.reviews)})", "bold"))
        shown = related(report.reviews)
        for review in shown:
            yield line("  ", (review.id, "cyan"), f"  {review.title}", indent=4)
            yield line(("      " + _review_reason(review), "dim"), indent=8)
        if len(shown) < len(report.reviews):
            yield line((f"  {more_related(report.reviews, shown)}; --format json has them all", "dim"), indent=4)
    if report.unmatched:
        yield BLANK
        yield line((f"No rule covers ({len(report.unmatched)})", "bold"))
        for path in report.unmatched:
            yield line(f"  {path}", indent=4)


def _match_lines(match: RuleMatch, sides: Sides) -> Iterator[StyledLine]:
    pieces: list[str | tuple[str, str]] = [
        "  ",
        (f"{match.severity.value:<8}", _SEVERITY_STYLE[match.severity.value]),
        (match.id, "bold cyan"),
        f"  {match.title}",
    ]
    if match.status.value != "active":
        pieces.append((f"  [{match.status.value}]", "magenta"))
    if match.freshness in _STALE_STYLE:
        pieces.append((f"  [a source: {match.freshness}]", _STALE_STYLE[match.freshness]))
    yield line(*pieces, indent=12)
    yield from _reason_lines(match, sides, shown=SHOWN_REASONS[match.relevance])
    for waiver in match.waived_by:
        yield line(_INDENT, ("waived by ", "magenta"), waiver, indent=12)


def _reason_lines(match: RuleMatch, sides: Sides, *, shown: int | None = None) -> Iterator[StyledLine]:
    """The reasons, those of one place and those of one pattern together, at most ``shown`` of them."""
    groups: dict[tuple[str, ...], list[Reason]] = {}
    for reason in match.reasons:
        if reason.kind is ReasonKind.COCHANGE:
            continue
        at_line = (reason.path, reason.side.value, str(reason.line))
        groups.setdefault(at_line if reason.line else (reason.kind.value, reason.pattern), []).append(reason)
    for group in list(groups.values())[:shown]:
        if group[0].line:
            yield from _changed_line(group)
        else:
            yield _paths_line(group, sides)
    if shown is not None and len(groups) > shown:
        yield line((f"{_INDENT}and {count(len(groups) - shown, 'more reason')}; --format json has them all", "dim"))
    for item in match.missing_cochanges:
        asked = next((r for r in match.reasons if r.kind is ReasonKind.COCHANGE and r.pattern == item.path), None)
        by = f"  asked for by {place_of(asked)}" if asked else ""
        because = f": {item.because}" if item.because else ""
        yield line(_INDENT, ("not changed along: ", "yellow"), item.path, (by + because, "dim"), indent=12)


def _changed_line(group: Sequence[Reason]) -> Iterator[StyledLine]:
    first = group[0]
    met: dict[str, list[str]] = {}
    for reason in group:
        met.setdefault(WORDS[reason.kind], []).append(shorten(reason.pattern, SHOWN_PATTERN))
    words = [
        f"{verb} {patterns[0]}" + (f" and {len(patterns) - 1} more" if len(patterns) > 1 else "")
        for verb, patterns in met.items()
    ]
    yield line(_INDENT, place_of(first), (f" {', '.join(words)}", "dim"), indent=12)
    if first.text:
        mark, style = ("-", "red") if first.side is Side.OLD else ("+", "green")
        yield line((f"{_INDENT}  {mark} {first.text}", style), indent=14)


def _paths_line(group: Sequence[Reason], sides: Sides) -> StyledLine:
    first = group[0]
    if first.kind is ReasonKind.SOURCE:
        return line(_INDENT, first.path, (f" {WORDS[first.kind]}{_as_of(first.pattern)}", "dim"), indent=12)
    if len(group) == 1:
        more, verb = "", WORDS[first.kind]
    else:
        more, verb = f" and {count(len(group) - 1, 'more path')}", "meet"
    return line(_INDENT, first.path, (f"{side_words(first, sides)}{more} {verb} ", "dim"), first.pattern, indent=12)


def _as_of(pin: str) -> str:
    """What a pin says beyond its path: the anchor and the commit, shortened."""
    commit = pin.partition("@")[2].partition(":")[0]
    anchor = pin.partition("#")[2]
    return (f" at #{anchor}" if anchor else "") + (f", as of {commit[:12]}" if commit else "")


def place_of(reason: Reason) -> str:
    """Where a reason stands, as editors and terminals make it a link."""
    return f"{reason.path}:{reason.line}" if reason.line else reason.path


def shorten(text: str, width: int) -> str:
    """Text that is cut where it is longer than ``width`` characters."""
    return text if len(text) <= width else text[: width - 1] + "…"


def sides_of(files: Iterable[FileChange]) -> Sides:
    """Each changed path with its side, and what happened there."""
    return {(path, side): change for change in files for path, side in change.sides()}


def side_words(reason: Reason, sides: Sides) -> str:
    """What happened to a path that has one side only, in parentheses; empty for what stayed where it is."""
    change = sides.get((reason.path, reason.side))
    if change is None or reason.side is Side.BOTH:
        return ""
    if change.status is ChangeStatus.RENAMED:
        return f" (moved to {change.path})" if reason.side is Side.OLD else f" (moved from {change.old_path})"
    if change.status is ChangeStatus.COPIED:
        return f" (copied from {change.old_path})"
    return f" ({change.status.value})"


def related(reviews: Sequence[ReviewMatch]) -> list[ReviewMatch]:
    """The digests worth a reviewer's time: those of the same places, then a few that share a label, as they are ranked.

    What touched the same files is evidence; a label that the whole team puts on everything hardly is.
    """
    places = [review for review in reviews if _by_place(review)]
    labels = [review for review in reviews if not _by_place(review)]
    return [*places[:SHOWN_PLACE_REVIEWS], *labels[: max(SHOWN_LABEL_REVIEWS - len(places), 0)]]


def more_related(reviews: Sequence[ReviewMatch], shown: Sequence[ReviewMatch]) -> str:
    """How many digests were left out, and what they have in common with the change."""
    left = [review for review in reviews if review not in shown]
    places = sum(map(_by_place, left))
    told = [f"{places:,} of the same places"] if places else []
    told += [f"{len(left) - places:,} that only share a label"] if len(left) > places else []
    return f"and {' and '.join(told)}"


def _by_place(review: ReviewMatch) -> bool:
    return any(reason.kind is ReasonKind.PATH for reason in review.reasons)


def _review_reason(review: ReviewMatch) -> str:
    paths = [reason for reason in review.reasons if reason.kind is ReasonKind.PATH]
    if paths:
        more = f" and {count(len(paths) - 1, 'more path')}" if len(paths) > 1 else ""
        return f"touched {paths[0].pattern}, as {paths[0].path} does{more}"
    return "shares the label " + ", ".join(dict.fromkeys(reason.pattern for reason in review.reasons))


def explain_verdict(report: ExplainReport) -> str:
    """Whether a rule applies, and why, in one line."""
    name, total = report.rule.name, len(report.paths)
    covered = sum(item.covered for item in report.paths)
    if report.inert:
        return f"{name} cannot apply: {report.inert}"
    if not report.files:
        return (
            f"{name} applies to changes in {count(len(report.patterns), 'place')}"
            if report.patterns
            else (f"{name} applies to no place")
        )
    places = (
        f"it covers {covered:,} of {count(total, 'path')}" if covered else f"it covers none of {count(total, 'path')}"
    )
    if report.match is None:
        return f"{name} does not apply: {places}"
    relevance = report.match.relevance
    return (
        f"{name} applies ({relevance.value}: {MEANINGS[relevance]}); {places}"
        if covered
        else (f"{name} applies ({relevance.value}), though {places}: the change edits a source of it")
    )


def explain_lines(report: ExplainReport) -> Iterator[StyledLine]:
    """The answer of ``explain``: the verdict, its evidence, then path by path what covers or rejects it."""
    row = report.rule
    style = "bold magenta" if report.inert else "bold green" if report.match or not report.files else "bold red"
    yield line((explain_verdict(report), style), indent=4)
    yield line(("  " + row.title, "bold"), indent=4)
    yield line(("  " + " · ".join(fact for fact in (row.repo, row.status, row.severity) if fact), "dim"), indent=4)
    if report.match:
        yield BLANK
        yield from _reason_lines(report.match, sides_of(report.files), shown=SHOWN_EXPLAINED)
    for covered, words, style in ((True, "covers", "green"), (False, "does not cover", "red")):
        items = [item for item in report.paths if item.covered is covered]
        if not items:
            continue
        yield BLANK
        yield line((f"It {words} ({len(items):,})", style))
        for item in items[:SHOWN_EXPLAINED]:
            yield line("  ", (item.path, "bold"), indent=4)
            if item.explanation is not None:
                yield line((f"      {item.explanation.because}", "dim"), indent=8)
        if len(items) > SHOWN_EXPLAINED:
            left = count(len(items) - SHOWN_EXPLAINED, "more path")
            yield line((f"  and {left}; --format json has them all", "dim"), indent=4)
    yield BLANK
    yield line(("Applies to" if report.patterns else "Applies to no place", "bold"))
    for pattern in report.patterns:
        yield line(f"  {pattern}", indent=4)


def rows_lines(rows: Sequence[Row]) -> Iterator[StyledLine]:
    """The answer of ``list``: one line a document, so that other tools can filter it."""
    width = min(max((len(row.name) for row in rows), default=0), 30)
    for row in rows:
        state = row.status or row.kind.value
        style = {"active": "green", "contested": "magenta"}.get(state, "dim")
        yield line((f"{row.name:<{width}}", "cyan"), "  ", (f"{state:<10}", style), f"  {row.title}", indent=width + 14)


def findings_lines(findings: Iterable[Finding], examined: int) -> Iterator[StyledLine]:
    """The answer of ``lint``: file, line, severity, code, what, and what to do."""
    counts = {"error": 0, "warning": 0, "note": 0}
    for finding in findings:
        counts[finding.severity.value] += 1
        place = finding.location.path + (f":{finding.location.line}" if finding.location.line else "")
        yield line(
            (place, "bold"),
            ": ",
            (finding.severity.value, _SEVERITY_STYLE[finding.severity.value]),
            f" [{finding.code}] {finding.message}",
            indent=4,
        )
        if finding.remedy:
            yield line(("    remedy: ", "green"), finding.remedy, indent=12)
    words = [count(number, word) for word, number in counts.items() if number]
    yield line(f"{count(examined, 'file')} examined: " + (", ".join(words) or "nothing to complain about"))


def hits_lines(hits: Sequence[FoundDocument]) -> Iterator[StyledLine]:
    """The answer of ``search``: best first, each with its place."""
    if not hits:
        yield line("Nothing found.")
    for hit in hits:
        row = hit.row
        state = row.status if row.status not in ("", "active") else ""
        pieces: list[str | tuple[str, str]] = [(row.name, "bold cyan"), f"  {row.title}"]
        if state:
            pieces.append((f"  [{state}]", "magenta"))
        yield line(*pieces, indent=4)
        found = "found in" if hit.whole else "parts of the name only, in"
        yield line((f"    {row.path}:{row.line}", "dim"), (f"  {found} {', '.join(hit.fields)}", "dim"), indent=8)


def document_lines(row: Row, original: Row, replaced: Sequence[Row], languages: Sequence[str]) -> Iterator[StyledLine]:
    """What stands above a document's text in ``show``."""
    yield line((row.name, "bold cyan"), (f"  {row.title}", "bold"), indent=4)
    facts = [original.repo, original.status, original.severity]
    if original.tags or original.labels:
        facts.append(", ".join((*original.labels, *original.tags)))
    yield line(("  " + " · ".join(fact for fact in facts if fact), "dim"), indent=4)
    yield line(
        (f"  {row.path}:{row.line}" + (f" · also in {', '.join(languages)}" if languages else ""), "dim"), indent=4
    )
    if original.status in ("superseded", "retired", "reserved"):
        because = original.metadata.get("because")
        yield line(
            "  ",
            (f"This rule is {original.status} and applies to nothing", "bold magenta"),
            f": {because}" if isinstance(because, str) and because else ".",
            indent=4,
        )
    for other in replaced:
        yield line("  ", ("Replaced by ", "magenta"), (other.name, "bold cyan"), f"  {other.title}", indent=4)
    if original.status in ("superseded", "retired") and not replaced:
        yield line("  Nothing is named that replaced it.")
    sources = [
        item if isinstance(item, str) else item.get("pin", "") for item in _list(original.metadata.get("sources"))
    ]
    for source in sources:
        yield line(("  source ", "dim"), short_pin(source), indent=4)


def short_pin(text: str) -> str:
    """A pin with its commit shortened, as people read it; other texts as they are."""
    from rulebook.pins import PinError, parse_pin

    try:
        pin = parse_pin(text)
    except PinError:
        return text
    return str(pin._replace(commit=pin.commit[:12]))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) and value else []
