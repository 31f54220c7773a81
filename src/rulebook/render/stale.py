"""The answer of ``stale`` in each of its formats: text, JSON, Markdown for an issue's body, SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rulebook.ordering import natural_key
from rulebook.render.md import code, code_cell, escape
from rulebook.render.text import BLANK, StyledLine, line, short_pin
from rulebook.verdicts import CheckedPin, State, Verdict

if TYPE_CHECKING:
    from rulebook.freshness import LostIdentifier, StaleReport
    from rulebook.model import Location
    from rulebook.repin import Proposal
    from rulebook.sync import Synced

VERSION = 1
_STYLES: Mapping[State, str] = {
    State.GONE: "bold red",
    State.INVALID: "bold red",
    State.MOVED: "yellow",
    State.CHANGED: "yellow",
    State.UNVERIFIABLE: "magenta",
    State.FRESH: "green",
}
_MEANINGS: Mapping[State, str] = {
    State.GONE: "no longer on the default branch, and no move explains it",
    State.INVALID: "not a pin",
    State.MOVED: "renamed, or standing elsewhere",
    State.CHANGED: "still there, different",
    State.UNVERIFIABLE: "not looked at",
    State.FRESH: "what was pinned is what stands there",
}
#: SARIF 2.1.0, 3.27.10: ``note`` where nobody has to act at once.
_LEVELS: Mapping[State, str] = {
    State.GONE: "error",
    State.INVALID: "error",
    State.MOVED: "warning",
    State.CHANGED: "note",
    State.UNVERIFIABLE: "note",
}
#: Lines shown of what changed at a pinned place; whoever renews it reads the source itself.
_SHOWN_DIFF = 40
#: Owners named in one line; the rest are counted.
_SHOWN_OWNERS = 12


def now_text(verdict: Verdict, pin: str) -> str | None:
    """Where a pinned place stands now, as ``path#anchor``; ``None`` where it is unknown or did not move."""
    if verdict.now is None or verdict.state is State.GONE:
        return None
    place = verdict.now.path + (f"#{verdict.now.anchor}" if verdict.now.anchor else "")
    return None if pin.partition(":")[2] == place else place


# --- text -------------------------------------------------------------------------------------


def stale_lines(report: StaleReport, *, everything: bool = False) -> Iterator[StyledLine]:
    """A table by document, then what is stale, worst first, then what was examined and what was not.

    Args:
        report: the answer.
        everything: whether to list fresh pins as well.
    """
    yield from _table(report)
    for state in State:
        pins = [pin for pin in report.pins if pin.verdict.state is state]
        if pins and (state is not State.FRESH or everything):
            yield BLANK
            yield line((f"{state.value} ({len(pins)})", _STYLES[state]), (f"  {_MEANINGS[state]}", "dim"))
            yield from _reasons(pins) if state is State.UNVERIFIABLE else _places(pins)
    if report.identifiers:
        yield BLANK
        yield line(
            (f"names that rules cite ({len(report.identifiers)})", "bold"), ("  no longer on the default branch", "dim")
        )
        for lost in report.identifiers:
            yield line("  ", (lost.owner, "cyan"), f"  {lost.name}", (f"  {lost.because}", "dim"), indent=4)
    if report.pins or report.identifiers:
        yield BLANK
    yield from _examined(report)


def _table(report: StaleReport) -> Iterator[StyledLine]:
    """One line a document, the worst first."""
    rows = _rows(report)
    if not rows:
        return
    states = [state for state in State if report.summary[state]]
    width = min(max(len(owner) for owner, _ in rows), 34)
    pieces: list[str | tuple[str, str]] = [(" " * width, ""), ("  pins", "bold")]
    yield line(*pieces, *((f"  {state.value}", "bold") for state in states))
    for owner, counts in rows:
        pieces = [(f"{owner:<{width}}", "cyan"), f"{sum(counts.values()):>6}"]
        for state in states:
            number = counts[state]
            pieces.append((f"{number or '·':>{len(state.value) + 2}}", _STYLES[state] if number else "dim"))
        yield line(*pieces, indent=4)


def _rows(report: StaleReport) -> list[tuple[str, dict[State, int]]]:
    rows: dict[str, dict[State, int]] = {}
    for pin in report.pins:
        rows.setdefault(pin.citation.owner, dict.fromkeys(State, 0))[pin.verdict.state] += 1

    def badness(row: tuple[str, dict[State, int]]) -> tuple[object, ...]:
        worst = min((state.rank for state, number in row[1].items() if number), default=len(State))
        return (worst, natural_key(row[0]))

    return sorted(rows.items(), key=badness)


def _places(pins: Sequence[CheckedPin]) -> Iterator[StyledLine]:
    """Each pinned place once, with the documents that pin it."""
    for (text, verdict), owners in _grouped(pins).items():
        yield line("  ", (_owners(owners), "cyan"), f"  {short_pin(text)}", indent=4)
        detail = f"{verdict.detail.value}: " if verdict.detail is not None else ""
        yield line(f"      {detail}{verdict.because}", indent=8)
        if verdict.remedy:
            yield line(("      remedy: ", "green"), verdict.remedy, indent=8)


def _reasons(pins: Sequence[CheckedPin]) -> Iterator[StyledLine]:
    """Each reason once, with the pins that it keeps from being looked at."""
    reasons: dict[tuple[str, str], list[CheckedPin]] = {}
    for pin in pins:
        reasons.setdefault((pin.verdict.because, pin.verdict.remedy), []).append(pin)
    for (because, remedy), kept in reasons.items():
        yield line(f"  {because}", indent=4)
        if remedy:
            yield line(("  remedy: ", "green"), remedy, indent=4)
        for (text, _), owners in _grouped(kept).items():
            yield line("      ", (_owners(owners), "cyan"), f"  {short_pin(text)}", indent=8)


def _grouped(pins: Sequence[CheckedPin]) -> dict[tuple[str, Verdict], list[str]]:
    grouped: dict[tuple[str, Verdict], list[str]] = {}
    for pin in pins:
        grouped.setdefault((pin.citation.source.pin, pin.verdict), []).append(pin.citation.owner)
    return grouped


def _owners(owners: Sequence[str]) -> str:
    names = sorted(set(owners), key=natural_key)
    more = f" and {len(names) - _SHOWN_OWNERS} more" if len(names) > _SHOWN_OWNERS else ""
    return ", ".join(names[:_SHOWN_OWNERS]) + more


def _examined(report: StaleReport) -> Iterator[StyledLine]:
    counts = report.summary
    told = ", ".join(f"{number} {state.value}" for state, number in counts.items() if number) or "none"
    yield line(
        f"{_count(len(report.pins), 'pin')} of {_count(report.examined_documents, 'document')} "
        f"({_count(report.examined_rules, 'rule')}) examined: {told}"
    )
    if report.unsourced:
        number = len(report.unsourced)
        yield line(
            f"{_count(number, 'rule')} {'name' if number > 1 else 'names'} no source: {_owners(report.unsourced)}"
        )
    for alias, judged in sorted(report.heads.items()):
        if judged is None:
            yield line(f"{alias}: not looked at")
        else:
            yield line(f"{alias}: against {judged.commit[:12]} ({judged.ref}) in {judged.clone}")
    for reason, number in sorted((report.skipped or {}).items()):
        yield line(f"left out: {_count(number, 'source')} {reason}")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def proposal_lines(proposals: Sequence[Proposal]) -> Iterator[StyledLine]:
    """What ``repin`` offers: how much, then each document's pins, what changed at them, and the pin to write."""
    yield line((_offer(proposals), "bold"), indent=4)
    owner = ""
    for proposal in proposals:
        citation, verdict = proposal.checked.citation, proposal.checked.verdict
        if citation.owner != owner:
            owner = citation.owner
            yield BLANK
            yield line((owner, "bold cyan"), (f"  {citation.location.path}", "dim"))
        style = _STYLES[verdict.state]
        pin = short_pin(citation.source.pin)
        yield line("  ", (verdict.state.value, style), f"  {pin}", (f"  {verdict.because}", "dim"), indent=4)
        if proposal.new is None:
            yield line("    ", ("not renewed: ", "yellow"), proposal.refused, indent=6)
            continue
        yield line("    ", ("now ", "green"), short_pin(str(proposal.new)), indent=6)
        for text in proposal.diff[:_SHOWN_DIFF]:
            style = {"+": "green", "-": "red", "@": "cyan"}.get(text[:1], "")
            yield line("    ", (text, style), indent=6)
        if len(proposal.diff) > _SHOWN_DIFF:
            yield line(
                (f"    and {_count(len(proposal.diff) - _SHOWN_DIFF, 'more line')} of this diff", "dim"), indent=6
            )


def _offer(proposals: Sequence[Proposal]) -> str:
    """What can be renewed, in one line."""
    offered = sum(proposal.new is not None for proposal in proposals)
    refused = len(proposals) - offered
    if not proposals:
        return "No pin has to be renewed"
    told = f"{_count(offered, 'pin')} can be renewed" if offered else "No pin can be renewed"
    return told + (
        f", {refused} cannot" if refused and offered else f": {_count(refused, 'pin')} cannot" if refused else ""
    )


def synced_lines(synced: Synced) -> Iterator[StyledLine]:
    """What ``sync`` fetched of one repository."""
    yield line(
        (synced.alias, "bold"),
        f": {synced.head[:12]}, {_count(synced.contents, 'content')} fetched, in {synced.folder}",
    )
    for commit in synced.missing:
        yield line(f"  the remote does not give the pinned commit {commit}", indent=4)


# --- JSON -------------------------------------------------------------------------------------


def stale_data(report: StaleReport) -> dict[str, Any]:
    """The contract's JSON, ``docs/contract.md``."""
    return {
        "version": VERSION,
        "head": {alias: judged.commit if judged else None for alias, judged in report.heads.items()},
        "examined": {
            "rules": report.examined_rules,
            "pins": len(report.pins),
            "documents": report.examined_documents,
            "without_source": list(report.unsourced),
            "left_out": dict(report.skipped or {}),
        },
        "pins": [
            {
                "owner": pin.citation.owner,
                "kind": pin.citation.kind.value,
                "pin": pin.citation.source.pin,
                "state": pin.verdict.state.value,
                "detail": pin.verdict.detail.value if pin.verdict.detail is not None else None,
                "now": now_text(pin.verdict, pin.citation.source.pin),
                "because": pin.verdict.because,
                "remedy": pin.verdict.remedy,
                "location": _location(pin.citation.location),
            }
            for pin in report.pins
        ],
        "identifiers": [
            {
                "owner": lost.owner,
                "name": lost.name,
                "repo": lost.repo,
                "because": lost.because,
                "location": _location(lost.location),
            }
            for lost in report.identifiers
        ],
        "summary": {state.value: number for state, number in report.summary.items()},
        "notes": list(report.notes),
    }


def _location(location: Location) -> dict[str, Any]:
    return {"path": location.path, "line": location.line}


# --- Markdown ---------------------------------------------------------------------------------


def stale_markdown(report: StaleReport) -> str:
    """An issue's body: the table by document, then a task for each stale place."""
    return "\n".join(_markdown(report)) + "\n"


def _markdown(report: StaleReport) -> Iterator[str]:
    yield "## Sources of the rulebook"
    yield ""
    rows = _rows(report)
    if rows:
        states = [state for state in State if report.summary[state]]
        yield "| document | pins | " + " | ".join(state.value for state in states) + " |"
        yield "| --- | ---: |" + " ---: |" * len(states)
        for owner, counts in rows:
            numbers = " | ".join(str(counts[state] or "") for state in states)
            yield f"| {code_cell(owner)} | {sum(counts.values())} | {numbers} |"
        yield ""
    for state in State:
        pins = [pin for pin in report.pins if pin.verdict.state is state]
        if not pins or state is State.FRESH:
            continue
        yield f"### {state.value} ({len(pins)})"
        yield ""
        for (text, verdict), owners in _grouped(pins).items():
            box = "" if state is State.UNVERIFIABLE else "[ ] "
            remedy = f" Remedy: {escape(verdict.remedy)}." if verdict.remedy else ""
            yield f"- {box}{', '.join(code(owner) for owner in dict.fromkeys(owners))}: {code(short_pin(text))}"
            yield f"  {escape(verdict.because)}.{remedy}"
        yield ""
    if report.identifiers:
        yield f"### Names that rules cite ({len(report.identifiers)})"
        yield ""
        for lost in report.identifiers:
            yield f"- [ ] {code(lost.owner)}: {code(lost.name)} {escape(lost.because)}."
        yield ""
    for piece in _examined(report):
        yield escape(piece.plain) + "  "


# --- SARIF ------------------------------------------------------------------------------------


def stale_sarif(report: StaleReport, version: str) -> dict[str, Any]:
    """The report as a SARIF 2.1.0 log: one result for each pin that is not fresh, at its line in the knowledge base.

    Args:
        report: the answer.
        version: of this program.
    """
    results = [_pin_result(pin) for pin in report.pins if pin.verdict.state is not State.FRESH]
    results += [_identifier_result(lost) for lost in report.identifiers]
    rules = [
        {
            "id": f"source-{state.value}",
            "shortDescription": {"text": f"A pinned source is {state.value}: {_MEANINGS[state]}."},
            "defaultConfiguration": {"level": level},
        }
        for state, level in _LEVELS.items()
    ]
    rules.append(
        {
            "id": "identifier-gone",
            "shortDescription": {"text": "A name that a rule cites no longer stands on the default branch."},
            "defaultConfiguration": {"level": "note"},
        }
    )
    driver = {"name": "rulebook", "semanticVersion": version, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _pin_result(pin: CheckedPin) -> dict[str, Any]:
    verdict, source = pin.verdict, pin.citation.source
    now = now_text(verdict, source.pin)
    text = f"{pin.citation.owner}: {source.pin} is {verdict.state.value}: {verdict.because}"
    properties = {"owner": pin.citation.owner, "pin": source.pin, "state": verdict.state.value}
    if verdict.detail is not None:
        properties["detail"] = verdict.detail.value
    if now is not None:
        properties["now"] = now
    return _result(
        f"source-{verdict.state.value}",
        _LEVELS[verdict.state],
        text + (f". Remedy: {verdict.remedy}" if verdict.remedy else ""),
        pin.citation.location,
        # The same pin of the same document stays the same result while lines move.
        f"{pin.citation.owner}:{source.pin}",
        properties,
    )


def _identifier_result(lost: LostIdentifier) -> dict[str, Any]:
    text = f"{lost.owner} cites {lost.name}: {lost.because}"
    properties = {"owner": lost.owner, "name": lost.name}
    return _result("identifier-gone", "note", text, lost.location, f"{lost.owner}:{lost.name}", properties)


def _result(
    rule: str, level: str, text: str, location: Location, identity: str, properties: Mapping[str, str]
) -> dict[str, Any]:
    from hashlib import sha256
    from urllib.parse import quote

    place: dict[str, Any] = {"artifactLocation": {"uri": quote(location.path, errors="surrogateescape")}}
    if location.line:
        place["region"] = {"startLine": location.line}
    fingerprint = sha256(f"{rule}:{identity}".encode("utf-8", "surrogateescape")).hexdigest()
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"rulebook/v1": fingerprint},
        "properties": dict(properties),
    }
