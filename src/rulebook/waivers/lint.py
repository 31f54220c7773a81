"""What a knowledge base's waivers lack, by the policy of the rule that each is an exception from.

What shows in one file was found while it was parsed; this needs the rule as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from rulebook.model import Document, Finding, Rule, Severity, Waiver
from rulebook.waivers.document import lint_waiver, read_waiver
from rulebook.waivers.policy import policies

if TYPE_CHECKING:
    from rulebook.config import Config


def lint_waivers(documents: Iterable[Document], config: Config) -> list[Finding]:
    """The findings on every waiver whose rule carries a policy; warnings, since an old waiver may be history.

    Args:
        documents: of a whole catalog, without twins.
        config: for the repositories' own addresses.
    """
    documents = list(documents)
    found, _ = policies(document for document in documents if isinstance(document, Rule))
    by_rule = {policy.rule: policy for policy in found}
    findings: list[Finding] = []
    for document in documents:
        policy = by_rule.get(document.rule) if isinstance(document, Waiver) else None
        if policy is None:
            continue
        target = config.targets.get(policy.repo)
        waiver = read_waiver(document.location.path, document.body)
        waiver = replace(
            waiver,
            title=waiver.title or document.title,
            pr=str(document.metadata.get("pr", "")),
            keys=document.metadata,
            sections=tuple(replace(s, line=s.line + document.body_line - 1) for s in waiver.sections),
        )
        slug = target.slug if target else ""
        # Parsing has told of the template and the number already.
        found_here = (
            f for f in lint_waiver(waiver, policy, slug) if f.code not in ("waiver-template", "waiver-number")
        )
        findings += [finding._replace(severity=Severity.WARNING) for finding in found_here]
    return findings
