"""Versions of the site side by side: the newest state at the root, published versions in folders beside it.

``mike`` keeps the folders and ``versions.json``. The theme's own selector looks for that file one level above the site,
so a site at the root, whose addresses have no version in them, cannot have it; ``assets/versions.js`` takes its place.
"""

from __future__ import annotations

import html
import os
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

#: What ``mike`` calls the version that it has built (``mike.mkdocs_utils.docs_version_var``).
_VARIABLE = "MIKE_DOCS_VERSION"


def take_selector(config: MkDocsConfig) -> str | None:
    """The version that is built: empty at the site's root, and None where the site has no versions.

    A site has versions where ``mkdocs.yml`` says so as Material documents it, ``extra: {version: {provider: mike}}``.
    The setting is taken out, so that the theme does not look for them as well.
    """
    setting = config.extra.get("version")
    if not isinstance(setting, dict) or setting.get("provider") != "mike":
        return None
    del config.extra["version"]
    return os.environ.get(_VARIABLE, "")


def empty_list(config: MkDocsConfig, version: str | None) -> list[File]:
    """The list of versions of a site that has published none yet; publishing puts the real one in its place."""
    return [File.generated(config, "versions.json", content="[]\n")] if version == "" else []


def name_version(output: str, version: str | None) -> str:
    """A page that tells the selector which version it belongs to."""
    if version is None:
        return output
    return output.replace("<head>", f'<head><meta name="rulebook:version" content="{html.escape(version)}">', 1)
