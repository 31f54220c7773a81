"""What to do after a check that failed: the next steps, with commands that can be run as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from rulebook.model import Severity

if TYPE_CHECKING:
    from rulebook.waivers.check import CheckReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a check was asked, so that the next commands can be asked alike.

    Attributes:
        change: the options that gave the change (``--git main...HEAD``).
        options: the others that count (``--root``, ``--repo``, ``--checkout``).
        feed: what writes the change to standard input (``git diff main...``), where ``change`` reads it from there.
        out: the folder to draft into, where a draft's own choice would be another one.
        content: the address of the knowledge base's repository, where whoever reads the answer may have no clone of it.
        base: the commit that a range starts from, or empty where that is unknown.
        grows: whether the name that a range ends with moves on with a new commit, as ``HEAD`` and branches do.
    """

    change: Sequence[str]
    options: Sequence[str] = ()
    feed: str = ""
    out: str = ""
    content: str = ""
    base: str = ""
    grows: bool = True

    def command(self, name: str, pr: str, *more: str, growing: bool = False) -> str:
        """A command line of ``rulebook waiver``.

        Args:
            name: the command.
            pr: the pull request's number.
            more: further options.
            growing: whether the change has to take in commits that are still to come.
        """
        change = self.change
        if growing and change[0] == "--git":
            change = (change[0], growing_range(change[1], self.base, grows=self.grows))
        words = ["rulebook", "waiver", name, "--pr", pr, *change, *self.options, *more]
        return (f"{self.feed} | " if self.feed else "") + " ".join(map(quote, words))


class Step(NamedTuple):
    """A thing to do, and the command for it where there is one."""

    text: str
    command: str = ""


def range_end(given: str) -> str:
    """The revision that a range ends with; ``HEAD`` where it names none."""
    return re.split(r"\.{2,3}", given, maxsplit=1)[-1] or "HEAD"


def growing_range(given: str, base: str, *, grows: bool) -> str:
    """A range that takes in the change of the one given, and commits that are still to come.

    It ends at ``HEAD`` unless the one given ends at a branch, and starts at a commit that stays what it is.

    Args:
        given: the range (``rulebook.ranges.from_git``).
        base: the commit that it starts from, or empty where that is unknown.
        grows: whether the name at its end moves on with a new commit.
    """
    if ".." not in given:
        # One commit: of a name that moves on, only the id says which one it was.
        start = f"{given}^" if _FIXED.fullmatch(given) else base[:12]
        return f"{start}...HEAD" if start else given
    start, dots, end = re.split(r"(\.{2,3})", given, maxsplit=1)
    if base and not _FIXED.fullmatch(start) and (start in ("", "HEAD") or re.search(r"[~^@]", start)):
        start = base[:12]
    return f"{start}{dots}{end if grows and not _FIXED.fullmatch(end) else 'HEAD'}"


#: A commit's id, or what is counted from one.
_FIXED = re.compile(r"[0-9a-f]{7,64}(?:[~^]\d*)*")


def next_steps(report: CheckReport, asked: Asked) -> tuple[Step, ...]:
    """What leads from a failed check to one that passes; nothing after one that passed."""
    return () if report.passed else tuple(_steps(report, asked))


def _steps(report: CheckReport, asked: Asked) -> Iterator[Step]:
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    codes = {finding.code for finding in errors}
    if codes == {"change-empty"}:
        return
    waiver, pr = report.waiver, report.pr
    misnamed = [f.location.path for f in errors if f.code in _NAMES and f.location.path != waiver]
    if misnamed:
        yield Step(
            f"Give the waiver this pull request's number, in its name, its title and 'pr' (now {misnamed[0]})",
            f"git mv {quote(misnamed[0])} {quote(waiver)}",
        )
    elif "waiver-missing" in codes:
        if asked.content:
            name = asked.content.rstrip("/").rpartition("/")[2]
            yield Step(
                "Get the knowledge base, if you do not have it",
                f'git clone {quote(asked.content)} && export RULEBOOK_ROOT="$PWD"/{quote(name)}',
            )
        out = ("--out", asked.out) if asked.out else ()
        where = f", in your clone of {report.repo}" if report.repo else ""
        yield Step(f"Take the patch out; or draft a waiver{where}", asked.command("new", pr, *out))
        yield Step(f"Replace every '<!-- write: … -->' of {waiver} with what is so")
    lines = sorted({finding.location.line for finding in errors if finding.location.path == waiver} - {0})
    if lines and "waiver-missing" not in codes:
        numbers = ", ".join(map(str, lines))
        yield Step(
            f"Complete {waiver}, {'line' if len(lines) == 1 else 'lines'} {numbers}: what is missing stands above"
        )
    if "waiver-missing" not in codes:
        unnamed = dict.fromkeys(item.patch.path for item in report.patches if item.because.startswith(f"{waiver}: "))
        if unnamed:
            yield Step(f"Let {waiver} state what it does not yet: {', '.join(unnamed)}; or take the patch out")
    unread = [finding.location.path for finding in errors if finding.code == "file-unread"]
    if unread:
        yield Step(f"Make plain text of {', '.join(unread)}; or name it in {waiver}, and let a reviewer look at it")
    yield Step(
        f"Commit to pull request #{pr} itself: a waiver that another one files does not count",
        f"git add {quote(waiver)} && git commit && git push",
    )
    yield Step("Check again", asked.command("check", pr, growing=True))


#: The codes of waivers that are filed under another name than the pull request's number.
_NAMES = ("waiver-placeholder", "waiver-number")
