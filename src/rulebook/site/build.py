"""Builds the site without a command line of MkDocs."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, MkDocsException
from mkdocs.utils.yaml import yaml_load
from yaml import YAMLError

from rulebook.errors import RulebookError, UnreadableInput


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def build_site(
    root: str,
    out: str,
    *,
    checkouts: Mapping[str, str] | None = None,
    stale: str = "",
    audits: Sequence[str] = (),
    today: str = "",
) -> list[str]:
    """Builds a knowledge base's site.

    Args:
        root: its folder; its ``mkdocs.yml`` is used where it has one.
        out: where the site is written, an absolute path.
        checkouts: clones by alias, to judge freshness and waivers by.
        stale: a file that ``rulebook stale --format json`` wrote, an absolute path.
        audits: files that ``rulebook waiver audit --format json`` wrote, absolute paths.
        today: the day to hold waivers against, ``YYYY-MM-DD``; by default this one.

    Returns:
        the build's warnings, findings with the severity *error* among them.

    Raises:
        RulebookError: the content, a clone or a stored answer cannot be used.
        UnreadableInput: the configuration cannot be.
    """
    collector = _Collector()
    logger = logging.getLogger("mkdocs")
    logger.addHandler(collector)
    settings: dict[str, Any] = {"site_dir": out}
    try:
        with tempfile.TemporaryDirectory() as empty:
            given = os.path.join(root, "mkdocs.yml")
            if not os.path.isfile(given):
                # JSON is YAML.
                given = os.path.join(empty, "mkdocs.yml")
                with open(given, "w", encoding="utf-8") as file:
                    file.write('{"site_name": "rulebook", "theme": {"name": "material", "font": false}}')
                settings["plugins"] = ["search", {"rulebook": {"root": root}}]
            if _lacks_documents(given):
                # MkDocs wants a folder of documents, and a knowledge base needs none.
                settings["docs_dir"] = os.path.join(empty, "docs")
                os.mkdir(settings["docs_dir"])
            config = load_config(given, **settings)
            plugin = config.plugins.get("rulebook")
            if plugin is None:
                raise UnreadableInput(f"{given} does not use the plugin 'rulebook'", "add it under 'plugins'")
            if checkouts:
                plugin.config["checkouts"] = {alias: os.path.abspath(clone) for alias, clone in checkouts.items()}
            # What the caller does not say stays as the configuration has it.
            given_here = {"stale": stale, "audit": list(audits), "today": today}
            plugin.config.update({key: value for key, value in given_here.items() if value})
            build(config)
    except MkDocsException as error:
        reason = _reason(error)
        if reason is not None:
            raise reason from None
        # Of an error that it has logged MkDocs raises no more than its name.
        text = collector.texts[-1] if isinstance(error, Abort) and collector.texts else str(error)
        raise UnreadableInput(f"the site cannot be built: {text}", "mend it, and build again") from None
    finally:
        logger.removeHandler(collector)
    return collector.texts


def _lacks_documents(given: str) -> bool:
    """Whether a configuration names no folder of documents, and the one that MkDocs then takes is missing."""
    if os.path.isdir(os.path.join(os.path.dirname(given), "docs")):
        return False
    try:
        with open(given, "rb") as file:
            return "docs_dir" not in yaml_load(file)
    except (YAMLError, OSError, MkDocsException, TypeError):
        # What is wrong with it is told by who loads it next.
        return False


def _reason(error: BaseException | None) -> RulebookError | None:
    """What stopped the plugin, behind the errors that MkDocs makes of it."""
    while error is not None and not isinstance(error, RulebookError):
        error = error.__cause__ or error.__context__
    return error
