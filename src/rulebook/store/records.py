"""Documents, findings and settings, to and from the JSON and the columns of the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rulebook.config import Config, Target
from rulebook.model import (
    CoChange,
    Finding,
    Kind,
    Location,
    On,
    ReviewDigest,
    Rule,
    Severity,
    Signal,
    Status,
)
from rulebook.store.schema import Row


def dump(value: Any) -> str:
    """A value as JSON, without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_row(values: Sequence[Any]) -> Row:
    """A document from the columns of its table."""
    fields = list(values)
    for index, name in enumerate(Row._fields):
        if name in ("tags", "labels", "identifiers", "paths"):
            fields[index] = tuple(json.loads(fields[index]))
    fields[Row._fields.index("metadata")] = json.loads(fields[Row._fields.index("metadata")])
    fields[Row._fields.index("kind")] = Kind(fields[Row._fields.index("kind")])
    fields[Row._fields.index("twin")] = bool(fields[Row._fields.index("twin")])
    return Row(*fields)


def config_record(config: Config) -> dict[str, Any]:
    """What is stored of the configuration."""
    return {
        "targets": {
            alias: {"url": target.url, "default_branch": target.default_branch, "waivers": target.waivers}
            for alias, target in config.targets.items()
        },
        "findings": [finding_record(item) for item in config.findings],
    }


def config_from(data: Mapping[str, Any]) -> Config:
    """What :func:`config_record` gave, as a configuration again."""
    return Config(
        targets={alias: Target(alias=alias, **fields) for alias, fields in data.get("targets", {}).items()},
        findings=tuple(finding_from(item) for item in data.get("findings", ())),
    )


def _signal_record(signal: Signal) -> dict[str, Any]:
    data: dict[str, Any] = {
        name: getattr(signal, name)
        for name in ("identifiers", "lines", "functions", "changes", "inside", "limits")
        if getattr(signal, name)
    }
    if signal.on is not On.CHANGED:
        data["on"] = signal.on.value
    return data


def _signal_from(data: Mapping[str, Any]) -> Signal:
    fields: dict[str, Any] = {name: tuple(value) for name, value in data.items() if name != "on"}
    return Signal(**fields, on=On(data.get("on", "changed")))


def rule_record(rule: Rule) -> dict[str, Any]:
    """What a match needs of a rule."""
    return {
        "id": rule.id,
        "title": rule.title,
        "repo": rule.repo,
        "at": list(rule.location),
        "status": rule.status.value,
        "severity": rule.severity.value,
        "tags": rule.tags,
        "look_for": None if rule.look_for is None else [_signal_record(signal) for signal in rule.look_for],
        "co_changes": [[_signal_record(c.when), c.then, c.because] for c in rule.co_changes],
    }


def rule_from(data: Mapping[str, Any]) -> Rule:
    """What :func:`rule_record` gave, as a rule without its text."""
    look_for = data["look_for"]
    return Rule(
        id=data["id"],
        title=data["title"],
        repo=data["repo"],
        location=Location(*data["at"]),
        body="",
        tags=tuple(data["tags"]),
        status=Status(data["status"]),
        severity=Severity(data["severity"]),
        look_for=None if look_for is None else tuple(_signal_from(item) for item in look_for),
        co_changes=tuple(
            CoChange(when=_signal_from(when), then=tuple(then), because=because)
            for when, then, because in data["co_changes"]
        ),
    )


def review_record(review: ReviewDigest) -> dict[str, Any]:
    """What a match needs of a digest."""
    return {
        "id": review.id,
        "title": review.title,
        "repo": review.repo,
        "at": list(review.location),
        "labels": review.labels,
        "reading": review.reading,
        "minutes": review.minutes,
    }


def review_from(data: Mapping[str, Any]) -> ReviewDigest:
    """What :func:`review_record` gave, as a digest without its text."""
    return ReviewDigest(
        id=data["id"],
        title=data["title"],
        repo=data["repo"],
        location=Location(*data["at"]),
        body="",
        labels=tuple(data["labels"]),
        reading=data["reading"],
        minutes=data["minutes"],
    )


def finding_record(finding: Finding) -> list[Any]:
    """A finding as a list."""
    return [finding.code, finding.severity.value, finding.message, *finding.location, finding.remedy]


def finding_from(data: Sequence[Any]) -> Finding:
    """What :func:`finding_record` gave, as a finding again."""
    return Finding(
        code=data[0],
        severity=Severity(data[1]),
        message=data[2],
        location=Location(data[3], data[4]),
        remedy=data[5],
    )
