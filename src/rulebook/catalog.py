"""A knowledge base as a whole: every file read, every document parsed, every finding kept.

What needs all documents at once (lint, the site) loads a catalog; queries ask :mod:`rulebook.store`,
which is filled from the same files by the same parser.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rulebook import files
from rulebook.config import Config, parse_config, read_config
from rulebook.errors import NoKnowledgeBase
from rulebook.model import Document, Finding, ReviewDigest, Rule, Waiver
from rulebook.parse import parse_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything that a knowledge base holds.

    Attributes:
        root: its folder.
        config: what ``rulebook.toml`` says.
        documents: in the order of their files, twins included.
        findings: what was wrong in single files.
        files: how many content files were looked at.
    """

    root: str
    config: Config
    documents: tuple[Document, ...]
    findings: tuple[Finding, ...]
    files: int

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, without their twins."""
        return tuple(d for d in self.documents if isinstance(d, Rule) and not is_twin(d))

    @property
    def waivers(self) -> tuple[Waiver, ...]:
        """The waivers, without their twins."""
        return tuple(d for d in self.documents if isinstance(d, Waiver) and not is_twin(d))

    @property
    def reviews(self) -> tuple[ReviewDigest, ...]:
        """The digests, without their twins."""
        return tuple(d for d in self.documents if isinstance(d, ReviewDigest) and not is_twin(d))

    def twins(self) -> dict[str, list[Document]]:
        """Each twin, by the path of its original."""
        found: dict[str, list[Document]] = {}
        for document in self.documents:
            original, lang = files.split_language(document.location.path)
            if lang:
                found.setdefault(original, []).append(document)
        return found


def is_twin(document: Document) -> bool:
    """Whether a document is the same text as another one, in another language."""
    return bool(files.split_language(document.location.path)[1])


def load(root: str, *, progress: Callable[[int, int], None] | None = None) -> Catalog:
    """Reads a knowledge base.

    Args:
        root: its folder, which holds a ``rulebook.toml``.
        progress: called with (files read, files to read).

    Raises:
        NoKnowledgeBase: there is no ``rulebook.toml``, or no content file at all.
    """
    config = parse_config(read_config(root))
    entries, findings = files.scan(root)
    findings = [*config.findings, *findings]
    documents: list[Document] = []
    for done, entry in enumerate(entries):
        if progress is not None:
            progress(done, len(entries))
        text = files.read_text(root, entry.path)
        if isinstance(text, Finding):
            findings.append(text)
            continue
        found, wrong = parse_file(entry.path, entry.kind, text)
        documents += found
        findings += wrong
    if progress is not None:
        progress(len(entries), len(entries))
    if not entries and not findings:
        raise NoKnowledgeBase(
            f"the knowledge base at {root} is empty: no document in rules/, waivers/ or reviews/",
            "write a first rule: docs/format.md shows how",
        )
    return Catalog(root=root, config=config, documents=tuple(documents), findings=tuple(findings), files=len(entries))
