"""The waivers that the site shows, each with its state as ``rulebook waiver audit`` judges it.

*In force* is only said of what was held against a tree: in a clone, or by an audit that somebody ran. Without either,
a waiver's own text can tell that it has ended or lacks what its policy asks for; else it counts as not checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rulebook.config import Target
from rulebook.errors import GitError, UsageError
from rulebook.files import split_language
from rulebook.ordering import natural_key
from rulebook.pins import Pin
from rulebook.site.hosts import file_link, web_address
from rulebook.site.stored import read_audit
from rulebook.waivers.audit import WaiverState, judge_text
from rulebook.waivers.check import waiver_folder
from rulebook.waivers.library import load_waivers
from rulebook.waivers.policy import policies

if TYPE_CHECKING:
    from rulebook.catalog import Catalog
    from rulebook.checkouts import CheckoutFinder
    from rulebook.model import Waiver
    from rulebook.waivers.document import WaiverText
    from rulebook.waivers.policy import Policy


class Standing(NamedTuple):
    """The state of a waiver, and what it was held against.

    Attributes:
        state: ``None`` where nobody checked.
        because: why it is not in force, or why it was not checked; empty for one in force.
        at: the commit of the target repository; empty where the text alone told.
        day: the day that dates were held against, ``YYYY-MM-DD``; empty where nobody checked.
    """

    state: WaiverState | None
    because: str = ""
    at: str = ""
    day: str = ""


class FiledWaiver(NamedTuple):
    """A waiver: a document of the knowledge base, a file of the target repository, or both.

    Attributes:
        number: of the pull request, as the file's name says it.
        rule: the id of the rule that it is an exception from.
        repo: the target repository's alias.
        standing: its state.
        document: the knowledge base's text, if it has one.
        path: the file in the target repository, where one was seen.
        link: that file's address at the host, or empty.
    """

    number: str
    rule: str
    repo: str
    standing: Standing
    document: Waiver | None = None
    path: str = ""
    link: str = ""


def list_waivers(
    catalog: Catalog,
    *,
    today: str,
    finder: CheckoutFinder | None = None,
    audits: Sequence[str] = (),
) -> list[FiledWaiver]:
    """Every waiver of the knowledge base, and those that an audit found in a target repository alone.

    A clone comes before an audit's file, either before the text. A target is looked at on its default branch, as
    freshness is.

    Args:
        catalog: the knowledge base.
        today: the day to hold dates against, ``YYYY-MM-DD``.
        finder: knows where clones are; without one none is looked at.
        audits: files that ``rulebook waiver audit --format json`` wrote, one for each policy at most.

    Returns:
        by repository, then by number.

    Raises:
        UnreadableInput: one of ``audits`` is no such file.
        UsageError: two of them are about the same policy.
        GitError: a clone that the command names is none.
    """
    stored = _stored(audits)
    listed: list[FiledWaiver] = []
    judged: set[str] = set()
    for policy in policies(catalog.rules)[0]:
        texts = [text for text in load_waivers(catalog.root, policy) if text.path not in judged]
        report, reason = _audit(catalog, policy, texts, today, finder) if finder else (None, "")
        listed += _judge(catalog, policy, texts, today, report or stored.get((policy.rule, policy.repo)), reason)
        judged.update(text.path for text in texts)
    listed += [_unjudged(catalog, waiver) for waiver in catalog.waivers if waiver.location.path not in judged]
    return sorted(listed, key=lambda item: (item.repo, natural_key(item.number), item.rule))


def _judge(
    catalog: Catalog,
    policy: Policy,
    texts: Iterable[WaiverText],
    today: str,
    report: Mapping[str, Any] | None,
    reason: str,
) -> list[FiledWaiver]:
    """The waivers from one policy.

    Args:
        catalog: the knowledge base.
        policy: the rule's.
        texts: the waivers that the knowledge base holds for it.
        today: the day to hold dates against.
        report: an audit, in the form of its JSON.
        reason: why there is none.
    """
    target = _target(catalog, policy)
    folder = waiver_folder(policy, target.waivers)
    documents = {waiver.location.path: waiver for waiver in catalog.waivers}
    # Of one number an audit lists one text: the target's own, where it has one.
    audited = {_number(str(item["path"])): item for item in report["waivers"]} if report else {}
    mine = {text.number: text for text in texts if text.path in documents}
    found: list[FiledWaiver] = []
    for number in {**mine, **audited}:
        text, item = mine.get(number), audited.get(number)
        path = str(item["path"]) if item is not None and os.path.dirname(item["path"]) == folder else ""
        if text is None and not path:
            continue  # A waiver that the knowledge base had when the audit was made.
        link = ""
        if path and report:
            link = file_link(web_address(target.url), Pin(target.alias, str(report["at"]), path))
        found.append(
            FiledWaiver(
                number=number,
                rule=policy.rule,
                repo=target.alias,
                standing=_standing(text, item, report, policy, target, today, reason),
                document=documents[text.path] if text is not None else None,
                path=path,
                link=link,
            )
        )
    return found


def _standing(
    text: WaiverText | None,
    item: Mapping[str, Any] | None,
    report: Mapping[str, Any] | None,
    policy: Policy,
    target: Target,
    today: str,
    reason: str,
) -> Standing:
    state = WaiverState(item["state"]) if item is not None else None
    # A day that has passed since the audit was made ends a waiver that was in force then.
    told = judge_text(text, policy, today=today, slug=target.slug) if text is not None else None
    if told is not None and (state is None or (state is WaiverState.IN_FORCE and told.state is WaiverState.EXPIRED)):
        return Standing(told.state, told.because, day=today)
    if item is not None and report is not None:
        return Standing(state, str(item["because"] or ""), at=str(report["at"]), day=str(report["today"]))
    if report is not None:
        return Standing(None, f"the audit of {report['at'][:12]} does not know it")
    return Standing(None, reason or "no clone was at hand, and no audit")


def _unjudged(catalog: Catalog, waiver: Waiver) -> FiledWaiver:
    """A waiver that no policy asks about."""
    rule = next((rule for rule in catalog.rules if rule.id == waiver.rule), None)
    if rule is None:
        reason = f"there is no rule {waiver.rule!r}" if waiver.rule else "it names no rule"
    elif not rule.status.matches:
        reason = f"{rule.id} is {rule.status}"
    elif "policy" not in rule.metadata:
        reason = f"{rule.id} has no policy that says what a waiver must state"
    else:
        reason = f"it is not of {rule.id}'s repository"
    return FiledWaiver(
        number=_number(waiver.location.path),
        rule=waiver.rule,
        repo=catalog.config.resolve(waiver.repo),
        standing=Standing(None, reason),
        document=waiver,
    )


def _number(path: str) -> str:
    return split_language(path)[0].rpartition("/")[2].removesuffix(".md")


def _target(catalog: Catalog, policy: Policy) -> Target:
    alias = catalog.config.resolve(policy.repo)
    return catalog.config.targets.get(alias) or Target(alias=alias)


# --- audits -----------------------------------------------------------------------------------


def _stored(paths: Iterable[str]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Stored audits by rule and repository."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    named: dict[tuple[str, str], str] = {}
    for path in paths:
        report = read_audit(path)
        policy = (str(report["rule"]), str(report["repo"]))
        if policy in found:
            raise UsageError(
                f"{named[policy]} and {path} are both audits of {policy[1]} by {policy[0]}", "keep the one that counts"
            )
        found[policy], named[policy] = report, path
    return found


def _audit(
    catalog: Catalog, policy: Policy, texts: Sequence[WaiverText], today: str, finder: CheckoutFinder
) -> tuple[Mapping[str, Any] | None, str]:
    """An audit of a clone, in the form of its JSON, or why there is none."""
    from contextlib import closing

    from rulebook.git.repository import Repository
    from rulebook.render.waivers import audit_data
    from rulebook.snapshots import Snapshots
    from rulebook.waivers.clones import TreeFiles, audit_clone, filed_waivers

    target = _target(catalog, policy)
    checkout = finder.find(target)
    if checkout is None:
        return None, f"no clone of {target.alias} was at hand"
    try:
        clone = Repository(checkout.folder)
    except GitError:
        if checkout.explicit:
            raise
        return None, f"the clone of {target.alias} cannot be read"
    try:
        with closing(Snapshots(clone)) as snapshots:
            head = snapshots.find_head(target.default_branch)
        if head is None:
            return None, f"the clone of {target.alias} has no branch {target.default_branch!r}"
        files = TreeFiles(clone, head.commit)
        # Looking at a whole tree takes seconds.
        if not texts and not filed_waivers(files, waiver_folder(policy, target.waivers)):
            return None, ""
        return audit_data(audit_clone(catalog.root, policy, target, files, today=today)), ""
    except GitError:
        return None, f"the clone of {target.alias} lacks what has to be read"
