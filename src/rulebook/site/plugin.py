"""The plugin of MkDocs: ``plugins: [rulebook]`` makes a site of the knowledge base around ``mkdocs.yml``.

Pages are rendered here and not by MkDocs' Markdown: rules are CommonMark, and nothing in them is trusted.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import posixpath
import re
import tempfile
from collections.abc import Callable, Collection
from datetime import date
from html import escape
from typing import TYPE_CHECKING, Any, cast

from mkdocs.config import config_options
from mkdocs.config.base import Config
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.toc import get_toc
from watchdog.events import FileSystemEvent, FileSystemEventHandler

from rulebook.config import CONFIG_NAME, find_root
from rulebook.errors import RulebookError
from rulebook.files import FOLDERS
from rulebook.render.safe import one_line, several_lines
from rulebook.site import feeds, html, lookup, markup, md, search, versions
from rulebook.site.content import Content, aliases, read_content
from rulebook.site.guides import Guide, GuideLinks, LinkExtension
from rulebook.site.links import Host, find_host
from rulebook.site.pages import make_pages
from rulebook.site.words import LANGUAGES, word
from rulebook.site.writer import Page, prefixed, repository_address

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.pages import Page as MkDocsPage
    from mkdocs.utils.templates import TemplateContext

_ASSETS = os.path.join(os.path.dirname(__file__), "assets")
_ASSETS_PLACE = "assets/rulebook"
_THEME = os.path.join(os.path.dirname(__file__), "theme")
_INLINE_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
_DOCUMENTATION = word("documentation", LANGUAGES[0])
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
        self._host = Host()
        self._guide_links: GuideLinks | None = None
        self._guides: dict[str, Guide] = {}
        self._guide_uri = ""
        self._pages: dict[str, Page] = {}
        self._navigations: dict[str, Navigation] = {}
        self._version: str | None = None
        self._is_preview = False
        self._notice: _FolderNotice | None = None

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Notes whether this is ``mkdocs serve``."""
        self._is_preview = command == "serve"

    def on_serve(self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[..., None]) -> None:
        """Has ``mkdocs serve`` build again when content or ``rulebook.toml`` changes."""
        root = self._ready().catalog.root
        for name in (*FOLDERS, CONFIG_NAME):
            place = os.path.join(root, name)
            if os.path.exists(place):
                server.watch(place)
        self._notice = _FolderNotice(server, root)
        server.observer.schedule(self._notice, root, recursive=False)

    def on_shutdown(self) -> None:
        """Ends what ``mkdocs serve`` needed."""
        if self._notice is not None:
            self._notice.close()

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
                renamed={str(former): str(now) for former, now in self.config.renamed.items()},
            )
        except RulebookError as error:
            raise PluginError(f"rulebook: {error.message} ({error.hint})") from None
        if self._content.history.because:
            _log.info("the history of pins is %s: %s", self._content.history.extent, self._content.history.because)
        for finding in self._content.errors():
            path, line = finding.location
            where = f"{path}:{line}" if line else path
            _log.warning("%s: %s", one_line(where), one_line(finding.message))
        config.extra_css += [f"{_ASSETS_PLACE}/{name}.css" for name in ("site", "lookup")]
        config.extra_javascript.append(_module("site"))
        search.prepare_search(config)
        self._version = versions.take_selector(config)
        if self._version is not None:
            config.extra_javascript.append(_module("versions"))
        self._prepare_guides(config, root, folder)
        # A site's own templates come first, then ours, then the theme's.
        config.theme.dirs.insert(1 if config.theme.custom_dir else 0, _THEME)
        return config

    def _prepare_guides(self, config: MkDocsConfig, root: str, folder: str) -> None:
        def path(there: str, here: str) -> str:
            return os.path.relpath(os.path.realpath(there), os.path.realpath(here)).replace(os.sep, "/")

        self._host = find_host(
            config.repo_url or "", config.edit_uri or "", path(config.docs_dir, folder), path(root, folder)
        )
        links = self._guide_links = GuideLinks(self._ready(), self._host, path(config.docs_dir, root))
        self._guides = {}
        # MkDocs renders one document after another, so the one at hand is the one whose links are asked for.
        extension = LinkExtension(lambda target: links.outside(self._guide_uri, target))
        # MkDocs' type knows names of extensions only; Python-Markdown takes either.
        cast("list[Any]", config.markdown_extensions).append(extension)

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Adds the pages and everything that stands beside them."""
        content = self._ready()
        docs = [file.src_uri for file in files.documentation_pages()]
        made = [
            page
            for page in make_pages(content, config.site_name, self._host)
            if page.address or not any(uri in ("index.md", "README.md") for uri in docs)
        ]
        self._pages = {f"{page.address}index.md": page for page in made}
        docs = _make_room(files, self._pages)
        for uri in self._pages:
            # Our pages lead to each other; MkDocs is to name what the navigation lacks of the documents alone.
            files.append(File.generated(config, uri, content="", inclusion=InclusionLevel.NOT_IN_NAV))
        for name in sorted(os.listdir(_ASSETS)):
            files.append(File.generated(config, f"{_ASSETS_PLACE}/{name}", abs_src_path=os.path.join(_ASSETS, name)))
        for name, text in self._beside(content, config.site_name, _site_url(config)):
            files.append(File.generated(config, name, content=text))
        config.nav = _navigation(content, config.nav, docs)
        for file in versions.empty_list(config, self._version):
            files.append(file)
        return files

    def _beside(self, content: Content, name: str, url: str) -> list[tuple[str, str]]:
        from rulebook.store.opening import open_store

        found = list(feeds.make_feeds(content, name=name, url=url))
        renamed = {str(former): str(now) for former, now in self.config.renamed.items()}
        for former, now in renamed.items():
            if ("rule", now) not in content.addresses or ("rule", former) in content.addresses:
                _log.warning("renamed: %s cannot lead to %s: one is no rule, or the other is", former, now)
        found += feeds.redirects(content, renamed, f"{_ASSETS_PLACE}/redirect.js")
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
        # The documents are written in one language; readers of the others find them as well.
        guides = next((item for tree in trees for item in tree.children if item.title == _DOCUMENTATION), None)
        if isinstance(guides, Section):
            for lang in LANGUAGES[1:]:
                section = Section(word("documentation", lang), guides.children)
                self._navigations[lang].items.append(section)
        return nav

    def on_page_markdown(self, markdown: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
        """Leaves nothing of our own pages to MkDocs' Markdown, and keeps that of the documents for their copies."""
        made = self._pages.get(page.file.src_uri)
        if made is None:
            self._guide_uri = page.file.src_uri
            if posixpath.basename(page.file.dest_uri) == "index.html":
                address = page.file.dest_uri.removesuffix("index.html")
                self._guides[page.file.src_uri] = Guide(page.file.src_uri, address, markdown)
            return markdown
        page.meta["title"] = _plain_title(made.title)
        if made.summary:
            page.meta["description"] = _plain_title(made.summary)
        if made.is_wide:
            page.meta["hide"] = ["toc"]
        return ""

    def on_page_content(self, html: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
        """Puts our own pages in place of nothing."""
        made = self._pages.get(page.file.src_uri)
        return html if made is None else self._print(made, page)

    def _print(self, made: Page, page: MkDocsPage) -> str:
        """Prints one of our own pages, and gives its headings to the theme."""
        printed = html.print_page(made.title, made.blocks, made.address, anchor=made.anchor)
        page.toc = get_toc(_toc(printed.anchors))
        if not made.is_tool:
            return printed.html
        return printed.html + _form(
            made.lang, self._ready(), posixpath.relpath(_ASSETS_PLACE, made.address.rstrip("/"))
        )

    def on_page_context(
        self, context: TemplateContext, *, page: MkDocsPage, config: MkDocsConfig, nav: Navigation
    ) -> TemplateContext:
        """Sets the language of the theme's own words, the switch to the other language, and the navigation."""
        made = self._pages.get(page.file.src_uri)
        lang = made.lang if made else LANGUAGES[0]
        config.theme["language"] = lang
        address = made.address.removeprefix(f"{lang}/") if made else ""
        config.extra["alternate"] = _alternates(address)
        context["nav"] = self._navigations.get(lang, nav)
        return context

    def on_template_context(
        self, context: TemplateContext, *, template_name: str, config: MkDocsConfig
    ) -> TemplateContext:
        """Gives the page for what is not found its words, and the navigation of the first language."""
        config.extra["alternate"] = _alternates("")
        context["nav"] = self._navigations.get(LANGUAGES[0], context["nav"])
        # MkDocs' type knows the theme's names only.
        cast("dict[str, Any]", context)["rulebook_missing"] = {lang: _missing(lang) for lang in LANGUAGES}
        return context

    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> str:
        """Adds the Content-Security-Policy."""
        made = self._pages.get(page.file.src_uri)
        output = search.use_worker(output, made.lang if made else LANGUAGES[0], _ASSETS_PLACE)
        output = versions.name_version(output, self._version)
        # Only the theme's own scripts are allowed: what stands in the page's text is not looked at.
        frame = output.replace(page.content or "", "") if page.content and made else output
        return self._secure(output, frame, copy=made is not None or page.file.src_uri in self._guides)

    def on_post_template(self, output_content: str, *, template_name: str, config: MkDocsConfig) -> str:
        """Adds the Content-Security-Policy to the page for what is not found."""
        if not template_name.endswith(".html"):
            return output_content
        output_content = search.use_worker(output_content, LANGUAGES[0], _ASSETS_PLACE)
        output_content = versions.name_version(output_content, self._version)
        return self._secure(output_content, output_content)

    def _secure(self, output: str, frame: str, *, copy: bool = False) -> str:
        # The preview's reloading is a script inside each page that MkDocs adds after this, another one at each build.
        return _completed(output, "" if self._is_preview else _policy(frame), copy=copy)

    # After the search plugin, which writes its index in the same event.
    @event_priority(-100)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Writes a Markdown copy beside each page, and the search's texts apart from its settings."""
        if config.theme.name == "material":
            search.part_index(config.site_dir, {guide.address for guide in self._guides.values()})

        def write(place: str, text: str) -> None:
            with open(os.path.join(config.site_dir, *place.split("/")), "w", encoding="utf-8", newline="\n") as file:
                file.write(several_lines(text))

        for uri, page in self._pages.items():
            write(uri, md.print_page(page.title, page.blocks, page.address))
        assert self._guide_links is not None
        addresses = {uri: guide.address for uri, guide in self._guides.items()}
        for guide in self._guides.values():
            write(f"{guide.address}index.md", self._guide_links.copy(guide, addresses))
        listed = list(self._pages.values()), list(self._guides.values())
        write("llms.txt", feeds.llms_text(*listed, name=config.site_name, url=_site_url(config)))

    def _ready(self) -> Content:
        assert self._content is not None
        return self._content


class _FolderNotice(FileSystemEventHandler):
    """Has ``mkdocs serve`` watch folders of content that are made after its start, and build again for each.

    The server builds for files in watched places alone, so a file of ours is one, and is written to for a folder.
    """

    def __init__(self, server: LiveReloadServer, root: str) -> None:
        self._server = server
        self._folders = {os.path.join(root, name) for name in FOLDERS}
        self._signal, self._path = tempfile.mkstemp(prefix="rulebook-")
        server.watch(self._path)

    def on_created(self, event: FileSystemEvent) -> None:
        self._take(os.fsdecode(event.src_path))

    def on_moved(self, event: FileSystemEvent) -> None:
        self._take(os.fsdecode(event.dest_path))

    def _take(self, place: str) -> None:
        if place in self._folders:
            self._server.watch(place)
            os.write(self._signal, b".")

    def close(self) -> None:
        os.close(self._signal)
        os.remove(self._path)


def _module(name: str) -> config_options.ExtraScriptValue:
    script = config_options.ExtraScriptValue(f"{_ASSETS_PLACE}/{name}.js")
    script.type = "module"
    return script


def _make_room(files: Files, pages: Collection[str]) -> list[str]:
    """Moves documents of ``docs_dir`` that would be at the address of a page: ``docs/freshness/`` is one's place then.

    Args:
        files: all files.
        pages: those that our pages are known by.

    Returns:
        the files of the documents that are left.
    """
    taken = {f"{uri.removesuffix('.md')}.html" for uri in pages}
    for file in files.documentation_pages():
        if file.src_uri in pages:
            _log.warning("%s: the page that is made at this address takes its place", one_line(file.src_uri))
            files.remove(file)
        elif file.dest_uri in taken:
            file.dest_uri = f"docs/{file.dest_uri}"
            for derived in ("url", "abs_dest_path"):
                file.__dict__.pop(derived, None)
    return [file.src_uri for file in files.documentation_pages()]


def _navigation(content: Content, given: list[Any] | None, docs: list[str]) -> list[Any]:
    """The navigation in all languages; the documents of ``docs_dir`` stand in the first one's."""
    trees: list[Any] = []
    for lang in LANGUAGES:
        tree: list[Any] = []
        home = prefixed("", lang) + "index.md"
        tree.append({word("home", lang): home})
        tree.append({word("look_up", lang): prefixed("lookup/index.md", lang)})
        rules: list[Any] = [prefixed("rules/index.md", lang)]
        rules += [{alias: prefixed(f"{repository_address(alias)}index.md", lang)} for alias in aliases(content)]
        tree.append({word("rules", lang): rules})
        for key, address in (
            ("places", "places/"),
            ("digests", "reviews/"),
            ("waivers", "waivers/"),
            ("stale", "freshness/"),
        ):
            tree.append({word(key, lang): prefixed(f"{address}index.md", lang)})
        if lang == LANGUAGES[0]:
            more = given if given is not None else [uri for uri in docs if uri not in ("index.md", "README.md")]
            if more:
                tree.append({word("documentation", lang): more})
        trees.append({lang: tree})
    return trees


def _alternates(address: str) -> list[dict[str, str]]:
    """The same page in each language, as the theme's switch wants it."""
    return [
        {"name": name, "lang": lang, "link": prefixed(address, lang) or "."}
        for lang, name in zip(LANGUAGES, ("English", "中文"), strict=True)
    ]


def _missing(lang: str) -> dict[str, Any]:
    """What the page for what is not found says in a language."""
    places = (("home", "."), ("rules", "rules/"), ("look_up", "lookup/"), ("digests", "reviews/"))
    links = [{"title": escape(word(key, lang)), "address": prefixed(place, lang)} for key, place in places]
    return {
        "title": word("missing", lang),
        "explanation": word("missing_why", lang),
        "field": word("missing_field", lang),
        "search": word("missing_search", lang),
        "home": prefixed("", lang) or ".",
        "links": links,
    }


def _site_url(config: MkDocsConfig) -> str:
    """Where the site is published, with ``/`` at its end, or an empty string."""
    return (config.site_url or "").rstrip("/") + "/" if config.site_url else ""


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
        name = escape(anchor.title)
        open_levels[-1][1].append({"level": anchor.level, "id": anchor.id, "name": name, "children": children})
        open_levels.append((anchor.level, children))
    return root


def _policy(frame: str) -> str:
    """The Content-Security-Policy of a page.

    Args:
        frame: the page without its text: only the theme's own scripts are allowed.
    """
    hashes = {
        "'sha256-" + base64.b64encode(hashlib.sha256(script["text"].encode()).digest()).decode() + "'"
        for script in _INLINE_SCRIPT.finditer(frame)
        if "src=" not in script["attributes"] and "application/json" not in script["attributes"]
    }
    return "; ".join(
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


def _completed(output: str, policy: str, *, copy: bool) -> str:
    """A page with its policy, where there is one, and with the address of its Markdown copy, where there is one."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    meta += '<meta name="referrer" content="no-referrer">'
    if copy:
        meta += '<link rel="alternate " type="text/markdown" href="index.md">'
    output = output.replace("<head>", "<head>" + meta, 1)
    # The theme's script asks for a sitemap beside each page that `[rel=alternate]` finds; a blank is allowed there.
    return output.replace('<link rel="alternate" ', '<link rel="alternate " ')


def _form(lang: str, content: Content, assets: str) -> str:
    from rulebook.site.form import lookup_form

    return lookup_form(lang, aliases(content), assets)
