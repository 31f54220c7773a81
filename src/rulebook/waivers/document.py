"""A waiver as it was filed: with frontmatter or without, under whatever headings.

Waivers are filed in two places: in the repository that is patched, often as plain Markdown, and in a
knowledge base, with frontmatter. Both are read into one form here, and judged by one set of questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rulebook.model import Finding, Location, Severity

if TYPE_CHECKING:
    from rulebook.waivers.policy import Part, Policy

#: What `rulebook waiver new` leaves for people to replace.
PROMPT = "<!-- write:"

_TITLE_NUMBER = re.compile(
    r"(?:\bPR|\bpull request|合并请求)?\s*#\s*(\d+)|\b(?:PR|pull request)\s+(\d+)", re.IGNORECASE
)
_PLACEHOLDER_NAME = re.compile(
    r"(?:pending|tbd|todo|draft|unnumbered|unknown|xxx+|nnn+|pr|placeholder|new|number|n)\b|[<{\[]|0+\Z", re.IGNORECASE
)
_TEMPLATE = re.compile(
    r"<!--\s*write:|\b(?:TODO|TBD|FIXME|XXX+|lorem ipsum)\b"
    r"|<(?:PR|your|describe|fill|link|url|why|what|name|insert|number)[^<>\n]*>"
    r"|\[(?:describe|fill in|insert|your|link to|explain)[^\]\n]*\](?!\()|\bfill (?:this )?in\b|待填写|请填写",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"https?://[^\s<>()\[\]\"'`|]+[^\s<>()\[\]\"'`|.,;:]")
_REQUEST = re.compile(
    r"https?://[^/\s]+/(?P<slug>[\w.-]+(?:/[\w.-]+)+?)/(?:-/)?(?:pull|pulls|issues|merge_requests|pull-requests|commit|c)/\w+"
)
_IMAGE = re.compile(r"(?<![\w/@.])[\w.-]+(?:[/][\w.-]+)*:[\w][\w.-]{2,127}(?![\w/])")
_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the text up to the next one of any level; ``line`` is 1-based in the file."""

    heading: str
    text: str
    line: int
    level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverText:
    """A waiver's file.

    Attributes:
        path: where it is filed.
        number: the file's name without ``.md``.
        title: the first heading of level 1, or the frontmatter's ``title``.
        pr: the frontmatter's ``pr``; empty where there is none.
        keys: the frontmatter.
        lines: the line of each frontmatter value, by its path of keys.
        sections: the body, the text before the first heading first.
        text: the whole file.
    """

    path: str
    number: str
    title: str
    pr: str
    keys: Mapping[str, Any]
    lines: Mapping[tuple[str | int, ...], int] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    text: str = ""

    def section(self, part: Part, parts: Iterable[Part]) -> list[Section]:
        """The sections that stand for a part."""
        every = tuple(parts)
        return [section for section in self.sections if match_heading(section.heading, every) == part.name]

    def names(self, name: str) -> bool:
        """Whether the waiver speaks of ``name``, as a whole path, image or configuration."""
        return bool(name) and re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)", self.text) is not None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts from the frontmatter; entries that are mappings count by their ``path``."""
        value = self.keys.get(key, ())
        if isinstance(value, str):
            return (value,) if value else ()
        items = value if isinstance(value, list) else ()
        texts = (item.get("path") if isinstance(item, dict) else item for item in items)
        return tuple(text for text in texts if isinstance(text, str))

    @property
    def images(self) -> tuple[str, ...]:
        """The container images that it names: those of the frontmatter, else what looks like one in the text."""
        stated = self.texts("images")
        if stated:
            return stated
        found = dict.fromkeys(match[0] for match in _IMAGE.finditer(self.text) if not _is_no_image(match[0]))
        return tuple(found)

    @property
    def links(self) -> tuple[str, ...]:
        """The addresses in it."""
        return tuple(dict.fromkeys(match[0] for match in _LINK.finditer(self.text)))


def _is_no_image(text: str) -> bool:
    name, _, tag = text.rpartition(":")
    is_file = re.search(r"\.(?:sh|py|md|ya?ml|toml|json|patch|diff|slurm|txt)\Z", name) is not None
    return "/" not in name or is_file or re.fullmatch(r"\d+", tag) is not None or name.startswith(("http", "//"))


def read_waiver(path: str, text: str) -> WaiverText:
    """Reads a waiver's file; what is missing in it is found by :func:`lint_waiver`."""
    from rulebook import markdown
    from rulebook.metadata import split_document

    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    keys: Mapping[str, Any] = {}
    lines: Mapping[tuple[str | int, ...], int] = {}
    body, body_line = text, 1
    if re.match(r"---[ \t]*\n", text):
        parts = split_document(text, path)
        keys, lines = parts.metadata.values, parts.metadata.lines
        body, body_line = parts.body, parts.body_line
    outline = markdown.outline(body)
    rows = body.split("\n")
    sections: list[Section] = []
    starts = [0, *(heading.line for heading in outline.headings)]
    names = [("", 0), *((heading.text, heading.level) for heading in outline.headings)]
    for index, (start, (name, level)) in enumerate(zip(starts, names, strict=True)):
        end = starts[index + 1] - 1 if index + 1 < len(starts) else len(rows)
        sections.append(Section(name, "\n".join(rows[start:end]), body_line + max(start - 1, 0), level))
    first = next((heading.text for heading in outline.headings if heading.level == 1), "")
    title = keys.get("title")
    pr = keys.get("pr")
    return WaiverText(
        path=path,
        number=path.rsplit("/", 1)[-1].removesuffix(".md"),
        title=first or (title if isinstance(title, str) else ""),
        pr=pr if isinstance(pr, str) else "",
        keys=keys,
        lines=lines,
        sections=tuple(sections),
        text=text,
    )


def match_heading(heading: str, parts: Iterable[Part]) -> str:
    """The part that a heading stands for, or an empty text.

    The best fit decides: the heading of the policy that shares most with this one, then the one whose
    words come first in it. ``Why the upstream image cannot run`` is a reason, not an upstream link.
    """
    words = _words(heading)
    best: tuple[float, int, str] = (0.0, 0, "")
    for part in parts:
        for phrase in part.headings:
            wanted = _words(phrase)
            if not wanted or not set(wanted) <= set(words):
                continue
            score = (len(wanted) / len(words), -words.index(wanted[0]), part.name)
            # A long phrase inside a longer heading tells more than one word at its beginning.
            if score[:2] > best[:2]:
                best = score
    return best[2]


def _words(text: str) -> list[str]:
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _WORD.findall(text.lower())]


def is_placeholder(number: str) -> bool:
    """Whether a file's name stands in for a number that was not known yet: ``PENDING-kimi``, ``TBD``, ``0000``."""
    return _PLACEHOLDER_NAME.match(number) is not None


def title_number(title: str) -> str:
    """The pull request that a title names, or an empty text."""
    match = _TITLE_NUMBER.search(title)
    return (match[1] or match[2]) if match else ""


def lint_waiver(waiver: WaiverText, policy: Policy, slug: str = "") -> list[Finding]:
    """What is missing or wrong in a waiver, whatever it is held against.

    Args:
        waiver: as it was filed.
        policy: what it must state.
        slug: ``owner/name`` of the patched repository, whose own requests are not upstream's.
    """
    return [*_check_number(waiver), *_check_parts(waiver, policy), *_check_links(waiver, policy, slug)]


def _finding(waiver: WaiverText, code: str, message: str, remedy: str, line: int = 1) -> Finding:
    location = Location(waiver.path, line)
    return Finding(code=code, severity=Severity.ERROR, message=message, location=location, remedy=remedy)


def _check_number(waiver: WaiverText) -> Iterator[Finding]:
    number = waiver.number
    if not number.isdigit() or is_placeholder(number):
        yield _finding(
            waiver,
            "waiver-placeholder",
            f"{number!r} is no pull request's number",
            "rename the file to <PR>.md as soon as the pull request is open, with the same number in title and 'pr'",
        )
        return
    named = title_number(waiver.title)
    if named and named != number:
        yield _finding(waiver, "waiver-number", f"the title names #{named}, the file {number}", "let both agree")
    elif not named and not waiver.pr:
        yield _finding(
            waiver,
            "waiver-number",
            "neither the title nor a key 'pr' names the pull request",
            f"write: # … PR #{number}",
        )
    if waiver.pr and waiver.pr != number:
        line = waiver.lines.get(("pr",), 1)
        yield _finding(waiver, "waiver-number", f"'pr' is {waiver.pr}, the file {number}", "let both agree", line)


def is_filled(text: str) -> bool:
    """Whether a part says something: words of its own, once comments and template text are gone."""
    bare = _TEMPLATE.sub(" ", _COMMENT.sub(" ", text))
    words = re.findall(r"[^\W\d_]{2,}|[\u3400-\u9fff]|\d+", bare)
    return len(words) >= 3 or _LINK.search(bare) is not None


def _check_parts(waiver: WaiverText, policy: Policy) -> Iterator[Finding]:
    body = "\n".join(section.text for section in waiver.sections)
    if not is_filled(body):
        yield _finding(waiver, "waiver-empty", "the waiver says nothing", _part_list(policy))
        return
    for part in policy.parts:
        if any(isinstance(value, str) and is_filled(value) for value in waiver.texts(part.name)):
            continue
        sections = waiver.section(part, policy.parts)
        if not sections:
            yield _finding(
                waiver,
                "waiver-part",
                f"there is no section on {part.name!r}",
                f"add a heading such as '## {part.headings[0]}'",
            )
        elif not any(is_filled(text) or PROMPT in text for text in _with_children(waiver, sections)):
            # Where a draft's prompt is left it is told below, with what it asks for.
            yield _finding(
                waiver, "waiver-part", f"the section '{sections[0].heading}' is empty", "fill it out", sections[0].line
            )
    for section in waiver.sections:
        for shown, line in leftovers(section.text):
            place = section.line + line - 1 + bool(section.heading)
            if shown.startswith(PROMPT):
                asked = shown.removeprefix(PROMPT).removesuffix("-->").strip()
                message = f"still to be written under {section.heading!r}: {asked}"
                yield _finding(waiver, "waiver-template", message, "replace the comment with it", place)
            else:
                message = f"{shown!r} is left of the template"
                yield _finding(waiver, "waiver-template", message, "replace it with what is so, or delete it", place)


def leftovers(text: str) -> Iterator[tuple[str, int]]:
    """What a text has left of a template, shortened, each with its 1-based line; quoted code does not count.

    Of a draft's prompt the whole comment is told, which says what belongs in its place.
    """
    bare = _without_code(text)
    told = 0
    for match in _TEMPLATE.finditer(bare):
        line = bare.count("\n", 0, match.start()) + 1
        if match.start() < told:
            continue
        if match[0].startswith("<!--"):
            end = bare.find("-->", match.end())
            told = end + 3 if end > 0 else match.end()
            yield _clip(bare[match.start() : told], _SHOWN_PROMPT), line
        else:
            yield _clip(match[0], _SHOWN), line


#: How much of a leftover is told, and of a prompt, in characters.
_SHOWN = 40
_SHOWN_PROMPT = 160


def _clip(text: str, limit: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= limit else words[: limit - 1] + "…"


def _with_children(waiver: WaiverText, sections: Iterable[Section]) -> Iterator[str]:
    """The texts of sections, and of those below them."""
    order = list(waiver.sections)
    for section in sections:
        yield section.text
        for child in order[order.index(section) + 1 :]:
            if child.level <= section.level:
                break
            yield child.text


def _without_code(text: str) -> str:
    """The text with code blanked out: a placeholder in a quoted command is none."""
    return re.sub(r"```.*?```|`[^`\n]*`", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL)


def _part_list(policy: Policy) -> str:
    names = ", ".join(f"'## {part.headings[0]}'" for part in policy.parts)
    return f"write the parts that the policy asks for: {names}" if names else "say what is patched, and why"


def _check_links(waiver: WaiverText, policy: Policy, slug: str) -> Iterator[Finding]:
    part = next((part for part in policy.parts if part.name == "upstream"), None)
    if part is None:
        return
    sections = waiver.section(part, policy.parts)
    if any(PROMPT in section.text for section in sections):
        # It is told already that this part is still to be written.
        return
    stated = [*waiver.texts("upstream"), *(match[0] for s in sections for match in _LINK.finditer(s.text))]
    stated = stated or list(waiver.links)
    if not stated and not sections:
        return
    requests = [link for link in stated if (match := _REQUEST.match(link)) and match["slug"].lower() != slug.lower()]
    if requests:
        return
    line = sections[0].line if sections else 1
    if stated:
        message = f"{stated[0]} is no pull request or issue of an upstream project"
    else:
        message = "there is no link to an upstream pull request or issue"
    remedy = "link the request or issue that makes the patch unnecessary: https://…/pull/<number>"
    yield _finding(waiver, "waiver-link", message, remedy, line)
