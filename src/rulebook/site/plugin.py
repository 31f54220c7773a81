"""The plugin of MkDocs: ``plugins: [rulebook]`` makes a site of the knowledge base around ``mkdocs.yml``.

Pages are rendered here and not by MkDocs' Markdown: rules are CommonMark, and nothing in them is trusted.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import posixpath
import re
from datetime import date
from typing import TYPE_CHECKING, Any

from mkdocs.config import config_options
from mkdocs.config.base import Config
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.toc import get_toc

from rulebook.config import find_root
from rulebook.errors import RulebookError
from rulebook.render.safe import one_line, several_lines
from rulebook.site import feeds, lookup, markup, pages, search, versions
from rulebook.site.content import Content, aliases, read_content
from rulebook.site.words import LANGUAGES, word

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page as MkDocsPage
    from mkdocs.utils.templates import TemplateContext

_ASSETS = os.path.join(os.path.dirname(__file__), "assets")
_ASSETS_PLACE = "assets/rulebook"
_INLINE_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
_log = get_plugin_logger("rulebook")


class RulebookConfig(Config):
    """What stands under ``rulebook`` in ``mkdocs.yml``; all of it is optional."""

    root = config_options.Type(str, default="")
    checkouts = config_options.Type(dict, default={})
    stale = config_options.Type(str, default="")
    audit = config_options.Type((str, list), default=[])
    # YAML reads a day that is not quoted as a date.
    today = config_options.Type((str, date), default="")
    renamed = config_options.Type(dict, default={})


class RulebookPlugin(BasePlugin[RulebookConfig]):
    """Makes the pages, the look-up page's data and the feeds."""

    def __init__(self) -> None:
        self._content: Content | None = None
        self._pages: dict[str, pages.Page] = {}
        self._navigations: dict[str, Navigation] = {}
        self._version: str | None = None

    # Before the search plugin, which reads its settings in the same event.
    @event_priority(100)
    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Reads the knowledge base; a finding of the severity *error* is a warning of the build."""
        if not config.use_directory_urls:
            raise PluginError("rulebook needs 'use_directory_urls: true', since rules have stable addresses")
        folder = os.path.dirname(config.config_file_path or "") or os.getcwd()

        def place(path: str) -> str:
            return os.path.join(folder, path)

        try:
            root = place(self.config.root) if self.config.root else find_root(folder)
            checkouts = {str(alias): place(str(clone)) for alias, clone in self.config.checkouts.items()}
            audits = [self.config.audit] if isinstance(self.config.audit, str) else self.config.audit
            self._content = read_content(
                root,
                checkouts=checkouts,
                stale=place(self.config.stale) if self.config.stale else "",
                audits=[place(str(audit)) for audit in audits if audit],
                today=str(self.config.today),
            )
        except RulebookError as error:
            raise PluginError(f"rulebook: {error.message} ({error.hint})") from None
        if self._content.history.because:
            _log.info("the history of pins is %s: %s", self._content.history.extent, self._content.history.because)
        for finding in self._content.errors():
            _log.warning("%s:%d: %s", one_line(finding.location.path), finding.location.line, one_line(finding.message))
        config.extra_css += [f"{_ASSETS_PLACE}/{name}.css" for name in ("site", "lookup")]
        config.extra_javascript.append(_module("site"))
        search.prepare_search(config)
        self._version = versions.take_selector(config)
        if self._version is not None:
            config.extra_javascript.append(_module("versions"))
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Adds the pages and everything that stands beside them."""
        content = self._ready()
        docs = [file.src_uri for file in files.documentation_pages()]
        made = [
            page
            for page in pages.make_pages(content, config.site_name)
            if page.address or not any(uri in ("index.md", "README.md") for uri in docs)
        ]
        self._pages = {f"{page.address}index.md": page for page in made}
        for uri, page in self._pages.items():
            files.append(File.generated(config, uri, content=page.markdown))
        for name in sorted(os.listdir(_ASSETS)):
            files.append(File.generated(config, f"{_ASSETS_PLACE}/{name}", abs_src_path=os.path.join(_ASSETS, name)))
        url = (config.site_url or "").rstrip("/") + "/" if config.site_url else ""
        for name, text in self._beside(content, made, config.site_name, url):
            files.append(File.generated(config, name, content=text))
        config.nav = _navigation(content, config.nav, docs)
        for file in versions.empty_list(config, self._version):
            files.append(file)
        return files

    def _beside(self, content: Content, made: list[pages.Page], name: str, url: str) -> list[tuple[str, str]]:
        from rulebook.store.opening import open_store

        found = list(feeds.make_feeds(content, made, name=name, url=url))
        found += feeds.redirects(content, {str(former): str(now) for former, now in self.config.renamed.items()})
        with open_store(content.catalog.root) as store:
            for alias in aliases(content):
                data = lookup.lookup_data(store, alias, content.address_of, content.states())
                text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
                found.append((f"lookup/data/{alias}.json", text))
        return found

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        """Keeps one navigation for each language, of which a page shows its own."""
        trees = [item for item in nav.items if isinstance(item, Section) and item.title in LANGUAGES]
        for tree in trees:
            # The languages are no level of their own: their parts stand at the top.
            for child in tree.children:
                child.parent = None
            self._navigations[str(tree.title)] = Navigation(tree.children, nav.pages)
        return nav

    def on_page_markdown(self, markdown: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
        """Leaves nothing of our own pages to MkDocs' Markdown."""
        made = self._pages.get(page.file.src_uri)
        if made is None:
            return markdown
        page.meta["title"] = _plain_title(made.title)
        return ""

    def on_page_content(self, html: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
        """Renders our own pages."""
        made = self._pages.get(page.file.src_uri)
        if made is None:
            return html
        rendered = markup.render(made.markdown, first_id=made.anchor, link=lambda target: self._link(target, made))
        page.toc = get_toc(_toc(rendered.anchors))
        text = rendered.html
        if made.is_tool:
            text += _form(made.lang, self._ready(), posixpath.relpath(_ASSETS_PLACE, made.address.rstrip("/")))
        return text

    def _link(self, target: str, page: pages.Page) -> str:
        """Where a link of a page leads: a document's file becomes its page, another file of the repository nothing."""
        if page.document is None or re.match(r"(?:[a-z][a-z0-9+.-]*:|#|/)", target, re.IGNORECASE):
            return target
        path, _, anchor = target.partition("#")
        base = posixpath.dirname(page.document.location.path)
        place = posixpath.normpath(posixpath.join(base, path))
        content = self._ready()
        address = content.address_of(f"{place}#{anchor}") or content.address_of(place)
        if address:
            return pages.relative(content.address(page.document), address)
        return target if path.endswith("/") else ""

    def on_page_context(
        self, context: TemplateContext, *, page: MkDocsPage, config: MkDocsConfig, nav: Navigation
    ) -> TemplateContext:
        """Sets the language of the theme's own words, the switch to the other language, and the navigation."""
        made = self._pages.get(page.file.src_uri)
        lang = made.lang if made else LANGUAGES[0]
        config.theme["language"] = lang
        address = made.address.removeprefix(f"{lang}/") if made else ""
        config.extra["alternate"] = [
            {"name": name, "lang": code, "link": pages.prefixed(address, code) or "."}
            for code, name in zip(LANGUAGES, ("English", "中文"), strict=True)
        ]
        context["nav"] = self._navigations.get(lang, nav)
        return context

    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Adds the Content-Security-Policy."""
        made = self._pages.get(page.file.src_uri)
        output = search.use_worker(output, made.lang if made else LANGUAGES[0], _ASSETS_PLACE)
        output = versions.name_version(output, self._version)
        # Only the theme's own scripts are allowed: what stands in the page's text is not looked at.
        frame = output.replace(page.content or "", "") if page.content and made else output
        return _secured(output, frame, copy=made is not None)

    def on_post_template(self, output_content: str, *, template_name: str, config: MkDocsConfig) -> str:
        """Adds the Content-Security-Policy to the page for what is not found."""
        if not template_name.endswith(".html"):
            return output_content
        output_content = search.use_worker(output_content, LANGUAGES[0], _ASSETS_PLACE)
        output_content = versions.name_version(output_content, self._version)
        return _secured(output_content, output_content)

    # After the search plugin, which writes its index in the same event.
    @event_priority(-100)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Writes a Markdown copy beside each page, and the search's texts apart from its settings."""
        if config.theme.name == "material":
            search.part_index(config.site_dir)
        for uri, page in self._pages.items():
            with open(os.path.join(config.site_dir, *uri.split("/")), "w", encoding="utf-8", newline="\n") as file:
                file.write(several_lines(page.markdown))

    def _ready(self) -> Content:
        assert self._content is not None
        return self._content


def _module(name: str) -> config_options.ExtraScriptValue:
    script = config_options.ExtraScriptValue(f"{_ASSETS_PLACE}/{name}.js")
    script.type = "module"
    return script


def _navigation(content: Content, given: list[Any] | None, docs: list[str]) -> list[Any]:
    """The navigation in all languages; the documents of ``docs_dir`` stand in the first one's."""
    trees: list[Any] = []
    for lang in LANGUAGES:
        tree: list[Any] = []
        home = pages.prefixed("", lang) + "index.md"
        tree.append({word("home", lang): home})
        tree.append({word("look_up", lang): pages.prefixed("lookup/index.md", lang)})
        rules: list[Any] = [pages.prefixed("rules/index.md", lang)]
        rules += [{alias: pages.prefixed(f"rules/{alias}/index.md", lang)} for alias in aliases(content)]
        tree.append({word("rules", lang): rules})
        for key, address in (
            ("places", "places/"),
            ("digests", "reviews/"),
            ("waivers", "waivers/"),
            ("stale", "freshness/"),
        ):
            tree.append({word(key, lang): pages.prefixed(f"{address}index.md", lang)})
        if lang == LANGUAGES[0]:
            more = given if given is not None else [uri for uri in docs if uri not in ("index.md", "README.md")]
            if more:
                tree.append({"Documentation": more})
        trees.append({lang: tree})
    return trees


def _plain_title(title: str) -> str:
    """A title for the theme, which writes it without escaping, at places even after unescaping."""
    return one_line(title).replace("<", "‹").replace(">", "›").replace("&", "&amp;").replace('"', "&quot;")


def _toc(anchors: tuple[markup.Anchor, ...]) -> list[Any]:
    root: list[Any] = []
    open_levels: list[tuple[int, list[Any]]] = [(0, root)]
    for anchor in anchors:
        while open_levels[-1][0] >= anchor.level:
            open_levels.pop()
        children: list[Any] = []
        name = html.escape(anchor.title)
        open_levels[-1][1].append({"level": anchor.level, "id": anchor.id, "name": name, "children": children})
        open_levels.append((anchor.level, children))
    return root


def _secured(output: str, frame: str, *, copy: bool = False) -> str:
    hashes = {
        "'sha256-" + base64.b64encode(hashlib.sha256(script["text"].encode()).digest()).decode() + "'"
        for script in _INLINE_SCRIPT.finditer(frame)
        if "src=" not in script["attributes"] and "application/json" not in script["attributes"]
    }
    policy = "; ".join(
        (
            "default-src 'none'",
            " ".join(["script-src 'self'", *sorted(hashes)]),
            "style-src 'self'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "manifest-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "object-src 'none'",
        )
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="referrer" content="no-referrer">'
    if copy:
        meta += '<link rel="alternate " type="text/markdown" href="index.md">'
    output = output.replace("<head>", "<head>" + meta, 1)
    # The theme's script asks for a sitemap beside each page that `[rel=alternate]` finds; a blank is allowed there.
    output = output.replace('<link rel="alternate" ', '<link rel="alternate " ')
    # The theme leaves its search dialog without a name.
    dialog = 'data-md-component="search" role="dialog"'
    return output.replace(dialog + ">", dialog + ' aria-label="Search">')


def _form(lang: str, content: Content, assets: str) -> str:
    from rulebook.site.form import lookup_form

    return lookup_form(lang, aliases(content), assets)
