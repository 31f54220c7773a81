"""The pages that lead to documents: the home page, tables, the tree of places, the labels, the state of the sources."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from rulebook.catalog import is_twin
from rulebook.model import Document, ReviewDigest, Rule, Severity, Status
from rulebook.ordering import natural_key
from rulebook.site import blocks as b
from rulebook.site.content import STATES, aliases, rules_of
from rulebook.site.hosts import web_address
from rulebook.site.markup import first_paragraph, slug
from rulebook.site.writer import NOT_CHECKED, Page, Writer, repository_address

if TYPE_CHECKING:
    from rulebook.site.waivers import FiledWaiver

#: Rules on the home page.
_RECENT = 8
#: A folder with more rules than this is folded at first.
_OPEN_RULES = 25
_TAKEAWAYS = ("What to take away", "可借鉴之处")
#: The order of waivers: those that somebody has to do something about come first.
_WAIVER_STATES = ("expired", "orphan", "incomplete", "", "in force")
#: What a name part of a pattern has where it is no plain name.
_WILD = re.compile(r"[*?\[{\\]")
_Value = TypeVar("_Value", bound=Hashable)
_Verdict = tuple[Document, Mapping[str, Any]]


class IndexWriter(Writer):
    """Writes the pages of one language that lead to others."""

    def home(self, name: str) -> Page:
        """The home page.

        Args:
            name: the site's name.
        """
        blocks: list[b.Block] = [b.Paragraph(self.word("home_intro"), "lead")]
        known = aliases(self.content)
        if known:
            blocks += [
                b.Heading(self.word("ask")),
                b.Question(
                    self.at("lookup/"),
                    self.word("ask_field"),
                    self.word("ask_button"),
                    self.word("repo"),
                    self.word("choose"),
                    tuple(known),
                    _example(self.content.catalog.rules),
                ),
            ]
        blocks.append(b.Cards(tuple(self._cards())))
        recent = self._recent()
        if recent:
            blocks += [b.Heading(self.word("recent")), recent]
        return self._index("", name, blocks, summary=self.word("home_intro"))

    def _cards(self) -> Iterator[b.Card]:
        catalog = self.content.catalog
        yield self._card("rules", "rules/", self.counted("rules", len(catalog.rules)), self._rules_by_repository())
        checked = sum(len(self.content.verdicts(document)) for document in _originals(catalog.documents))
        lead = self.counted("sources", checked) if checked else self.word("not_checked")
        yield self._card("stale", "freshness/", lead, self._rules_by_state())
        yield self._card(
            "waivers", "waivers/", self.counted("waivers", len(self.content.waivers)), self._waivers_by_state()
        )
        yield self._card("digests", "reviews/", self.counted("digests", len(catalog.reviews)), self._digests_by_label())
        places = [b.Link(f"{self.at('places/')}#{_repository_anchor(alias)}", alias) for alias in aliases(self.content)]
        yield self._card("places", "places/", self.counted("repositories", len(places)), places)

    def _card(self, key: str, address: str, lead: str, entries: Iterable[b.Inline]) -> b.Card:
        return b.Card(b.Link(self.at(address), self.word(key)), lead, tuple(entries))

    def _rules_by_repository(self) -> Iterator[b.Inline]:
        for alias in aliases(self.content):
            counts = _counts(rule.status.value for rule in rules_of(self.content, alias))
            parts = [(self.chip("status", s.value), f" {counts[s.value]}") for s in Status if s.value in counts]
            yield (b.Link(self.at(repository_address(alias)), alias), " ", *b.pieces(b.joined(parts, " ")))

    def _rules_by_state(self) -> Iterator[b.Inline]:
        counts = _counts(self.content.state_of(rule) for rule in self.content.catalog.rules)
        for state in (*STATES, ""):
            if state in counts:
                chosen = self.chosen("freshness", state or NOT_CHECKED, self.counted("rules", counts[state]))
                yield (self.chip("freshness", state), " ", chosen)

    def _waivers_by_state(self) -> Iterator[b.Inline]:
        counts = _counts(_state(waiver) for waiver in self.content.waivers)
        for state in _WAIVER_STATES:
            if state in counts:
                yield (self.chip("waiver", state), " ", self.counted("waivers", counts[state]))

    def _digests_by_label(self) -> Iterator[b.Inline]:
        for label, reviews in self._labelled().items():
            if label:
                yield (self.label(label), f" {len(reviews)}")

    def _recent(self) -> b.Table | None:
        dated = [rule for rule in self.content.catalog.rules if self.dated(rule)]
        dated.sort(key=lambda rule: natural_key(rule.id))
        dated.sort(key=self.dated, reverse=True)
        columns = (
            b.Column(self.word("updated"), is_narrow=True),
            b.Column(self.word("rule"), is_narrow=True),
            b.Column(self.word("title")),
        )
        rows = tuple(b.Row((b.Date(self.dated(rule)), self.link(rule), self.title(rule))) for rule in dated[:_RECENT])
        return b.Table(self.word("recent"), columns, rows) if rows else None

    def look_up(self) -> Page:
        """The page that answers which rules apply."""
        blocks = [b.Tool(self.word("look_up_copy"))]
        return self._index("lookup/", self.word("look_up"), blocks, is_tool=True)

    # --- rules ---

    def rule_index(self) -> Page:
        """All rules in one table."""
        blocks = [b.Paragraph(self.word("rules_intro")), *self._rule_table(self.content.catalog.rules, "rules")]
        return self._index("rules/", self.word("rules"), blocks, summary=self.word("rules_intro"))

    def repository_index(self, alias: str) -> Page:
        """The rules of one repository."""
        facts: list[tuple[str, b.Inline]] = []
        target = self.content.catalog.config.targets.get(alias)
        if target:
            address = web_address(target.url)
            facts = [
                (self.word("repo"), b.External(address, target.url) if address else target.url),
                (self.word("default_branch"), b.Code(target.default_branch)),
            ]
        if head := self.content.heads.get(alias):
            facts.append((self.word("judged"), b.Commit(head[:12], head)))
        places = b.Link(f"{self.at('places/')}#{_repository_anchor(alias)}", alias)
        trail = b.Trail(
            self.word("trail"),
            (b.Link(self.at(""), self.word("home")), b.Link(self.at("rules/"), self.word("rules"))),
        )
        blocks = [
            trail,
            b.Facts((*facts, (self.word("places"), places))),
            *self._rule_table(rules_of(self.content, alias), "repository"),
        ]
        return self._index(repository_address(alias), alias, blocks)

    def _rule_table(self, rules: Sequence[Rule], extent: str) -> Iterator[b.Block]:
        if not rules:
            yield b.Paragraph(self.word("none_rules"))
            return
        is_whole = extent == "rules"
        columns = [
            b.Column(self.word("rule"), "rule", is_narrow=True, sorts=True),
            b.Column(self.word("title")),
            b.Column(self.word("severity"), "severity", is_narrow=True, sorts=True),
            b.Column(self.word("status"), "status", is_narrow=True, sorts=True),
            b.Column(self.word("freshness"), "freshness", is_narrow=True, sorts=True),
            b.Column(self.word("tags")),
        ]
        if is_whole:
            columns.append(b.Column(self.word("repo"), "repo", is_narrow=True, sorts=True))
        ordered = sorted(rules, key=lambda rule: (self.alias(rule), natural_key(rule.id)))
        rows = [self._rule_row(rule, is_whole=is_whole) for rule in ordered]
        words = (
            ("filter", self.word("filter")),
            ("text", self.word("filter_text")),
            ("all", self.word("all")),
            ("reset", self.word("filter_reset")),
            ("total", self.counted("rules", len(rows))),
            ("counted", f"{{}} / {self.counted('rules', len(rows))}"),
        )
        yield b.Table(self.word("rules"), tuple(columns), tuple(rows), tuple(self._filters(rows)), words)

    def _rule_row(self, rule: Rule, *, is_whole: bool) -> b.Row:
        state = self.content.state_of(rule)
        cells: list[b.Inline] = [
            self.link(rule),
            self.title(rule),
            self.chip("severity", rule.severity.value),
            self.chip("status", rule.status.value),
            self.chip("freshness", state),
            b.joined(rule.tags),
        ]
        values = [
            ("severity", rule.severity.value),
            ("status", rule.status.value),
            ("freshness", state or NOT_CHECKED),
            *(("tag", tag) for tag in rule.tags),
        ]
        if is_whole:
            cells.append(self.alias(rule))
            values.append(("repo", self.alias(rule)))
        return b.Row(tuple(cells), tuple(values))

    def _filters(self, rows: Sequence[b.Row]) -> Iterator[b.Filter]:
        counts = _counts(value for row in rows for value in dict.fromkeys(row.values))
        tags = sorted({value for key, value in counts if key == "tag"}, key=str.lower)
        repositories = [alias for alias in aliases(self.content) if ("repo", alias) in counts]
        orders: tuple[tuple[str, str, Sequence[str]], ...] = (
            ("repo", self.word("repo"), repositories),
            ("severity", self.word("severity"), [item.value for item in Severity]),
            ("status", self.word("status"), [item.value for item in Status]),
            ("freshness", self.word("freshness"), [*STATES, NOT_CHECKED]),
            ("tag", self.word("tag"), tags),
        )
        for key, name, order in orders:
            shown = [
                (value, self._choice(key, value), counts[(key, value)]) for value in order if (key, value) in counts
            ]
            if shown:
                yield b.Filter(key, name, tuple(shown))

    def _choice(self, key: str, value: str) -> str:
        if key in ("repo", "tag"):
            return value
        return self.value(key, "" if value == NOT_CHECKED else value)

    # --- places ---

    def places(self) -> Page:
        """The target repositories' folders with the rules of each."""
        blocks: list[b.Block] = [b.Paragraph(self.word("places_intro"))]
        for alias in aliases(self.content):
            rules = [rule for rule in rules_of(self.content, alias) if rule.status.matches]
            blocks += [
                b.Heading(alias, anchor=_repository_anchor(alias), size=len(rules)),
                b.Tree(self._tree(rules)),
            ]
        return self._index("places/", self.word("places"), blocks, summary=self.word("places_intro"), is_wide=False)

    def _tree(self, rules: Sequence[Rule]) -> tuple[b.Branch, ...]:
        root = _Folder()
        anywhere = _Folder()
        for rule in rules:
            for pattern in rule.applies_to:
                if pattern.startswith("!"):
                    continue
                folders = place_of(pattern)
                found = anywhere if folders is None else root.folder(folders)
                found.entries.append((pattern, rule))
        top = _Folder(entries=root.entries)
        branches = [self._branch(self.word("anywhere"), anywhere)] if anywhere.entries else []
        branches += [self._branch(self.word("root"), top)] if top.entries else []
        branches += [self._branch(b.Code(f"{name}/"), root.folders[name]) for name in sorted(root.folders)]
        return tuple(branches)

    def _branch(self, name: b.Inline, folder: _Folder) -> b.Branch:
        # Folders with nothing but one other in them are one step.
        while isinstance(name, b.Code) and not folder.entries and len(folder.folders) == 1:
            [(below, folder)] = folder.folders.items()
            name = b.Code(f"{name.content}{below}/", is_path=True)
        patterns: dict[str, list[Rule]] = {}
        for pattern, rule in sorted(folder.entries, key=lambda entry: natural_key(entry[1].id)):
            patterns.setdefault(pattern, []).append(rule)
        items = tuple(
            (b.Code(pattern, is_path=True), " ", *b.pieces(b.joined(map(self.link, rules))))
            for pattern, rules in sorted(patterns.items())
        )
        branches = tuple(self._branch(b.Code(f"{name}/"), folder.folders[name]) for name in sorted(folder.folders))
        count = len(folder.rules())
        return b.Branch(name, self.counted("rules", count), items, branches, is_open=len(items) <= _OPEN_RULES)

    # --- digests ---

    def digest_index(self, rules: Mapping[str, Sequence[Rule]]) -> Page:
        """The digests by label.

        Args:
            rules: those that are about the same code, by the digest's id.
        """
        blocks: list[b.Block] = [b.Paragraph(self.word("digests_intro"))]
        labelled = self._labelled()
        if not labelled:
            blocks.append(b.Paragraph(self.word("none_digests")))
        for label, reviews in labelled.items():
            name = label or self.word("unlabelled")
            blocks.append(b.Heading(name, anchor=self.label_anchor(label), size=len(reviews)))
            blocks.append(b.Entries(tuple(self._digest_entry(review, rules.get(review.id, ())) for review in reviews)))
        return self._index("reviews/", self.word("digests"), blocks, summary=self.word("digests_intro"), is_wide=False)

    def _labelled(self) -> dict[str, list[ReviewDigest]]:
        labels: dict[str, list[ReviewDigest]] = {}
        for review in sorted(self.content.catalog.reviews, key=lambda review: natural_key(review.id)):
            for label in dict.fromkeys(review.labels or ("",)):
                labels.setdefault(label, []).append(review)
        # What has no label stands at the end.
        return {label: labels[label] for label in sorted(labels, key=lambda label: (not label, label.lower()))}

    def _digest_entry(self, review: ReviewDigest, rules: Sequence[Rule]) -> b.Entry:
        shown = self.content.text(review, self.lang)
        takeaway = first_paragraph(shown.body, _TAKEAWAYS)
        link = self.file_links(review, self.at("reviews/"))
        more: b.Inline = ""
        if rules:
            more = (self.lead("rules"), *b.pieces(b.joined(map(self.link, rules))))
        return b.Entry(
            self.link(review, self.title(review)),
            (*self.reading_of(review), review.id),
            b.Prose(takeaway, link, shown.lang if shown.lang != self.lang else "", "takeaway") if takeaway else None,
            more,
        )

    # --- waivers ---

    def waiver_index(self) -> Page:
        """All waivers with their state and what ends them."""
        waivers = sorted(self.content.waivers, key=lambda waiver: _WAIVER_STATES.index(_state(waiver)))
        blocks: list[b.Block] = [b.Paragraph(self.word("waivers_intro"))]
        if waivers:
            blocks.append(self._waiver_table(waivers))
        else:
            blocks.append(b.Paragraph(self.word("none_waivers")))
        return self._index("waivers/", self.word("waivers"), blocks, summary=self.word("waivers_intro"))

    def _waiver_table(self, waivers: Sequence[FiledWaiver]) -> b.Table:
        keys = ("pull_request", "title", "state", "rule", "repo", "removal")
        columns = tuple(b.Column(self.word(key), is_narrow=key in ("pull_request", "rule", "repo")) for key in keys)
        rows = []
        for waiver in waivers:
            document = waiver.document
            chip, reason = self.standing(waiver)
            removal = str(document.metadata.get("removal") or "") if document else ""
            rows.append(
                b.Row(
                    (
                        self.pull_request(waiver.repo, waiver.number),
                        self.waiver_title(waiver),
                        (chip, " ", *b.pieces(reason)) if reason else chip,
                        self.rule_link(waiver.rule),
                        self.repository(waiver.repo),
                        removal,
                    )
                )
            )
        return b.Table(self.word("waivers"), columns, tuple(rows))

    # --- freshness ---

    def freshness(self) -> Page:
        """The sources by what became of them."""
        blocks = [b.Paragraph(self.word("stale_intro")), *self._freshness()]
        return self._index("freshness/", self.word("stale"), blocks, summary=self.word("stale_intro"), is_wide=False)

    def _freshness(self) -> Iterator[b.Block]:
        rows: dict[str, list[_Verdict]] = {state: [] for state in STATES}
        for owner in sorted(_originals(self.content.catalog.documents), key=lambda owner: natural_key(owner.id)):
            for verdict in self.content.verdicts(owner):
                rows[verdict["state"]].append((owner, verdict))
        if not any(rows.values()):
            yield b.Notice(self.word("freshness_none"), (), "info")
            return
        heads = b.joined((f"{alias} ", b.Commit(head[:12], head)) for alias, head in self.content.heads.items())
        counts = b.joined(
            (
                (b.Link(f"{self.at('freshness/')}#{state}", self.chip("freshness", state)), f" {len(found)}")
                for state, found in rows.items()
                if found
            ),
            " ",
        )
        yield b.Facts(((self.word("pins"), counts), (self.word("judged"), heads)))
        for state, found in rows.items():
            if found:
                value = self.value("freshness", state)
                name = value[:1].upper() + value[1:]
                yield b.Heading(name, anchor=state, size=len(found))
                yield b.Paragraph(self.word(f"meaning_{state}"))
                yield self._verdicts(name, found)

    def _verdicts(self, name: str, found: Sequence[_Verdict]) -> b.Table:
        columns = (
            b.Column(self.word("owner"), is_narrow=True),
            b.Column(self.word("pin")),
            b.Column(self.word("reason")),
        )
        # What holds for several sources of a document is said once.
        groups: dict[tuple[str, str], list[_Verdict]] = {}
        for document, verdict in found:
            groups.setdefault((document.id, str(verdict["because"])), []).append((document, verdict))
        rows = tuple(
            b.Row(
                (
                    self.link(group[0][0]),
                    b.Lines(tuple(self.source(str(verdict["pin"])) for _, verdict in group)),
                    b.Text(because, "en"),
                )
            )
            for (_, because), group in groups.items()
        )
        return b.Table(name, columns, rows)

    def _index(
        self,
        address: str,
        title: str,
        blocks: Iterable[b.Block],
        *,
        summary: str = "",
        is_tool: bool = False,
        is_wide: bool = True,
    ) -> Page:
        return Page(
            self.at(address), self.lang, title, tuple(blocks), summary=summary, is_tool=is_tool, is_wide=is_wide
        )


@dataclass
class _Folder:
    """A folder of a repository, with the patterns that name it last and their rules."""

    entries: list[tuple[str, Rule]] = field(default_factory=list)
    folders: dict[str, _Folder] = field(default_factory=dict)

    def folder(self, names: Sequence[str]) -> _Folder:
        """A folder below, made where there is none yet."""
        found = self
        for name in names:
            found = found.folders.setdefault(name, _Folder())
        return found

    def rules(self) -> set[str]:
        """The ids of all rules here and below."""
        return {rule.id for _, rule in self.entries}.union(*(folder.rules() for folder in self.folders.values()))


def place_of(pattern: str) -> list[str] | None:
    """The folders that a path pattern names before its first wildcard, or ``None`` where it can match anywhere.

    >>> place_of("src/gen/*.py"), place_of("/README.md"), place_of("README.md"), place_of("**/x.py")
    (['src', 'gen'], [], None, None)
    """
    text = "/" + pattern.removeprefix("./") if pattern.startswith("./") else pattern
    *names, last = text.lstrip("/").split("/")
    # gitignore: without a slash at the beginning or inside, a pattern matches at every depth.
    is_anchored = text.startswith("/") or bool(names and (last or len(names) > 1))
    if not is_anchored or (names and names[0] == "**"):
        return None
    folders = []
    for name in names:
        if _WILD.search(name):
            break
        folders.append(name)
    return folders


def _counts(values: Iterable[_Value]) -> dict[_Value, int]:
    found: dict[_Value, int] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return found


def _originals(documents: Iterable[Document]) -> Iterator[Document]:
    return (document for document in documents if not is_twin(document))


def _state(waiver: FiledWaiver) -> str:
    return waiver.standing.state.value if waiver.standing.state else ""


def _repository_anchor(alias: str) -> str:
    return f"repository-{slug(alias)}"


def _example(rules: Iterable[Rule]) -> str:
    """Two paths to show what is asked for: those that a rule names without wildcards."""
    matching = (rule for rule in rules if rule.status.matches)
    named = (pattern.strip("/") for rule in matching for pattern in rule.applies_to if not _WILD.search(pattern))
    found = [path for path in dict.fromkeys(named) if path and not path.startswith("!")][:2]
    return "\n".join(found or ["src/main.py", "README.md"])
