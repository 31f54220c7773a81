"""Reports as lines of styled text, for people at a terminal.

A line is a list of (text, style) pairs with the number of columns by which its continuation is
indented. What becomes of the styles, and whether lines are folded, is the terminal's business
(:mod:`rulebook.cli.terminal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook.model import AppliesReport, Finding, Reason, ReasonKind, Relevance, ReviewMatch, RuleMatch, Side
from rulebook.render.safe import one_line

if TYPE_CHECKING:
    from rulebook.answer import ExplainReport
    from rulebook.lookup import FoundDocument
    from rulebook.store import Row

#: Reasons shown under a rule; the rest are counted, and JSON has them all.
SHOWN_REASONS = 4
_SEVERITY_STYLE = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_FRESHNESS_STYLE = {"gone": "bold red", "moved": "yellow", "changed": "yellow", "fresh": "green", "unverifiable": "dim"}


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


def applies_lines(report: AppliesReport) -> Iterator[StyledLine]:
    """The answer of ``applies``: rules by relevance, reasons under each, uncovered paths last."""
    yield line(
        (report.repo, "bold"),
        f": {_count(len(report.files), 'changed path')}, "
        f"{_count(report.examined_rules, 'rule')} and {_count(report.examined_reviews, 'digest')} examined",
    )
    if not report.complete:
        yield line(("The list of changed paths is cut: what is missing from it was not looked at.", "bold yellow"))
    headings = {
        Relevance.DIRECT: ("Direct", "the change itself shows that they are at stake", "bold"),
        Relevance.POSSIBLE: ("Possible", "only the place matches", "bold"),
    }
    for relevance, (name, meaning, style) in headings.items():
        matches = [match for match in report.rules if match.relevance is relevance]
        if matches:
            yield BLANK
            yield line((f"{name} ({len(matches)})", style), (f"  {meaning}", "dim"))
            for match in matches:
                yield from _match_lines(match)
    if not report.rules:
        yield BLANK
        yield line("No rule applies.")
    if report.reviews:
        yield BLANK
        yield line((f"Related reading ({len(report.reviews)})", "bold"))
        for review in report.reviews:
            yield line("  ", (review.id, "cyan"), f"  {review.title}", indent=4)
            yield line(("      " + _review_reason(review), "dim"), indent=8)
    if report.unmatched:
        yield BLANK
        yield line((f"No rule covers ({len(report.unmatched)})", "bold"))
        for path in report.unmatched:
            yield line(f"  {path}", indent=4)


def _match_lines(match: RuleMatch) -> Iterator[StyledLine]:
    pieces: list[str | tuple[str, str]] = [
        "  ",
        (f"{match.severity.value:<8}", _SEVERITY_STYLE[match.severity.value]),
        (match.id, "bold cyan"),
        f"  {match.title}",
    ]
    if match.status.value != "active":
        pieces.append((f"  [{match.status.value}]", "magenta"))
    if match.freshness:
        pieces.append((f"  [{match.freshness}]", _FRESHNESS_STYLE.get(match.freshness, "")))
    yield line(*pieces, indent=10)
    for reason in match.reasons[:SHOWN_REASONS]:
        yield line("          ", *reason_pieces(reason), indent=12)
    if len(match.reasons) > SHOWN_REASONS:
        yield line((f"          and {_count(len(match.reasons) - SHOWN_REASONS, 'more reason')}", "dim"), indent=12)
    for item in match.missing_cochanges:
        because = f": {item.because}" if item.because else ""
        yield line("          ", ("not changed along: ", "yellow"), item.path, (because, "dim"), indent=12)
    for waiver in match.waived_by:
        yield line("          ", ("waived by ", "magenta"), waiver, indent=12)


def reason_pieces(reason: Reason) -> list[str | tuple[str, str]]:
    """A reason as one line's pieces: where, what met what, and the line itself."""
    side = f" ({'before' if reason.side is Side.OLD else 'after'})" if reason.side is not Side.BOTH else ""
    if reason.kind is ReasonKind.PATH:
        return [reason.path, (f"{side} meets {reason.pattern}", "dim")]
    place = f"{reason.path}:{reason.line}" if reason.line else reason.path
    words = {
        ReasonKind.LINE: "matches",
        ReasonKind.IDENTIFIER: "names",
        ReasonKind.FUNCTION: "is inside",
        ReasonKind.COCHANGE: "asks to change along",
        ReasonKind.SOURCE: "is a source of the rule:",
        ReasonKind.LABEL: "shares the label",
    }
    removed = " (removed)" if reason.side is Side.OLD and reason.line else side if not reason.line else ""
    pieces: list[str | tuple[str, str]] = [place, (f"{removed} {words[reason.kind]} ", "dim"), reason.pattern]
    if reason.text:
        pieces.append((f"  | {reason.text}", "dim"))
    return pieces


def _review_reason(review: ReviewMatch) -> str:
    paths = [reason for reason in review.reasons if reason.kind is ReasonKind.PATH]
    if paths:
        more = f" and {_count(len(paths) - 1, 'more path')}" if len(paths) > 1 else ""
        return f"touched {paths[0].pattern}, as {paths[0].path} does{more}"
    return "shares the label " + ", ".join(dict.fromkeys(reason.pattern for reason in review.reasons))


def explain_lines(report: ExplainReport) -> Iterator[StyledLine]:
    """The answer of ``explain``."""
    yield line((report.rule.name, "bold cyan"), f"  {report.rule.title}", indent=4)
    yield line(("  in force for ", "dim"), report.repo or "no repository", ("  status ", "dim"), report.rule.status)
    if report.inert:
        yield line("  It cannot apply: " + report.inert + ".", indent=4)
    yield line(("  applies to ", "dim"), ", ".join(report.patterns) or "no place", indent=4)
    for item in report.paths:
        yield BLANK
        mark, style = ("covers", "green") if item.covered else ("does not cover", "red")
        yield line("  ", (mark, style), " ", (item.path, "bold"), indent=4)
        if item.explanation is not None:
            yield line(f"    {item.explanation.because}", indent=6)
    if report.match:
        yield BLANK
        why = "the change itself shows it" if report.match.relevance is Relevance.DIRECT else "only the place matches"
        yield line(("  ", ""), (report.match.relevance.value, "bold"), f": {why}")
        for reason in report.match.reasons:
            yield line("    ", *reason_pieces(reason), indent=6)


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
    words = [_count(count, word) for word, count in counts.items() if count]
    yield line(f"{_count(examined, 'file')} examined: " + (", ".join(words) or "nothing to complain about"))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


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
        yield line((f"    {row.path}:{row.line}", "dim"), (f"  found in {', '.join(hit.fields)}", "dim"), indent=8)


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
        yield line(("  source ", "dim"), source, indent=4)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) and value else []
