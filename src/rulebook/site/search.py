"""The site's search: the theme's field and list, answered by a worker of ours (``assets/search.js``).

The theme's own worker splits texts into words, which Chinese has no marks for, and drops the last character of what is
asked in Chinese; ``docs/decisions.md`` has the figures of the ways to mend that. The settings on a page (``__config``)
name the worker, so that another one can be put in its place.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from rulebook.site.words import LANGUAGES

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

#: Between words, for the theme's marks on a page that was found. It sees each word of the query as it was typed.
_SEPARATOR = r"[\s\-,;:!?=\[\]{}()\"'`/\\.<>|#*、。，；：？！（）《》“”…]+"
_WORKER = re.compile(
    r'(<script id="__config"[^>]*>[^<]*"search": "(?:[^"]*/)?)assets/javascripts/workers/search\.[^"/]*\.js"'
)
_INDEX = "search/search_index.json"
_DOCS = "search/docs.json"


def prepare_search(config: MkDocsConfig) -> None:
    """Sets what the search plugin has to know before it begins."""
    for name, plugin in config.plugins.items():
        if name.rpartition("/")[2] == "search":
            plugin.config["separator"] = _SEPARATOR
            plugin.config["lang"] = ["en"]


def use_worker(output: str, lang: str, assets: str) -> str:
    """A page with our worker in its settings in place of the theme's.

    Args:
        output: the page's HTML.
        lang: the language that its reader reads.
        assets: the folder of our assets, from the site's root.
    """
    return _WORKER.sub(rf'\g<1>{assets}/search.js?lang={lang}"', output, count=1)


def part_index(site_dir: str, guides: Collection[str] = ()) -> None:
    """Takes the texts out of the index that the theme loads with every page, for our worker to load when it is asked.

    Args:
        site_dir: the folder of the built site.
        guides: the addresses of pages beside the knowledge base, which the worker lists after those of it.
    """
    path = os.path.join(site_dir, *_INDEX.split("/"))
    if not os.path.isfile(path):
        return
    with open(path, encoding="utf-8") as file:
        index = json.load(file)
    for section in index["docs"]:
        if section["location"].partition("#")[0] in guides:
            section["guide"] = True
    _write(os.path.join(site_dir, *_DOCS.split("/")), index["docs"])
    _write(path, {"config": {**index["config"], "trees": list(LANGUAGES[1:])}, "docs": []})


def _write(path: str, value: object) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        json.dump(value, file, ensure_ascii=False, separators=(",", ":"))
