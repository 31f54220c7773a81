"""Changes of single values in a content file's frontmatter, and not of one byte else.

The text is never written anew from what was read: a value is replaced where it stands, so comments, order,
quoting, indentation and line endings stay. Every edit is read back before it counts; one that does not say exactly
what it should is refused.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rulebook.errors import GitError, RulebookError
from rulebook.files import MAX_BYTES

_BOUNDARY = re.compile(r"---[ \t]*(?=\r?\n|\Z)")
_CLOSING = re.compile(r"(?<=\n)---[ \t]*(?=\r?\n|\Z)")
_BOM = "\ufeff"


class EditError(RulebookError):
    """A file that cannot be edited safely (exit 3)."""


class Replacement(NamedTuple):
    """A scalar of the frontmatter and what is to stand there.

    Attributes:
        line: the 1-based line of the file that the scalar begins in.
        old: its text now.
        new: its text then.
        beside: the new texts of other scalars in the same mapping, by their keys.
    """

    line: int
    old: str
    new: str
    beside: tuple[tuple[str, str], ...] = ()


class _Span(NamedTuple):
    start: int
    end: int
    text: str


def replace_scalars(data: bytes, replacements: Sequence[Replacement], path: str) -> bytes:
    """The file with scalars of its frontmatter replaced.

    Args:
        data: the file as it is on disk.
        replacements: what to replace; each must be found exactly once in its line.
        path: for messages.

    Raises:
        EditError: a scalar is not there, or is written in a way that hides it (escapes, several lines).
    """
    text = _decode(data, path)
    start, end = _frontmatter(text, path)
    root = _compose(text[start:end], path)
    wanted: dict[int, tuple[Any, str]] = {}
    for replacement in replacements:
        found = {
            node.start_mark.index: (node, parent)
            for node, parent in _scalars(root)
            if node.start_mark.line + 1 == replacement.line and node.value == replacement.old
        }
        if len(found) != 1:
            raise EditError(
                f"{path}:{replacement.line}: {replacement.old!r} is not found there", "edit the line yourself"
            )
        [(node, parent)] = found.values()
        wanted[node.start_mark.index] = (node, replacement.new)
        for key, new in replacement.beside:
            other = next(value for name, value in parent.value if name.value == key)
            wanted[other.start_mark.index] = (other, new)
    spans = []
    for node, new in wanted.values():
        first, last = start + node.start_mark.index, start + node.end_mark.index
        spans.append(_Span(first, last, _rewrite(text[first:last], node, new, path)))
    edited = _splice(text, spans)
    after = _compose(edited[slice(*_frontmatter(edited, path))], path)
    if not _reads(root, after, {index: new for index, (_, new) in wanted.items()}):
        raise EditError(f"{path}: the edit would change more than it should", "edit the file yourself")
    return edited.encode("utf-8")


def set_values(data: bytes, values: Mapping[str, str | Sequence[str]], path: str, *, after: str = "") -> bytes:
    """The file with top-level values of its frontmatter set; new keys come behind the key ``after``, or last.

    Raises:
        EditError: the frontmatter cannot be read.
    """
    text = _decode(data, path)
    start, end = _frontmatter(text, path)
    root = _compose(text[start:end], path)
    ending = "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"
    spans: list[_Span] = []
    nodes = {key.value: value for key, value in root.value} if root is not None else {}
    added = ""
    for key, value in values.items():
        written = _flow(value)
        if key in nodes:
            node = nodes[key]
            last = start + node.end_mark.index
            # A block ends where the next token begins: what is between belongs to that one.
            block = text[start + node.start_mark.index : last]
            last -= len(block) - len(block.rstrip()) if block.strip() else 0
            spans.append(_Span(start + node.start_mark.index, last, written if block.strip() else f" {written}"))
        else:
            added += f"{key}: {written}{ending}"
    if added:
        at = _insertion(text, start, end, nodes.get(after))
        spans.append(_Span(at, at, added))
    edited = _splice(text, spans)
    found = _plain(_compose(edited[slice(*_frontmatter(edited, path))], path))
    expected = {
        **_plain(root),
        **{key: value if isinstance(value, str) else list(value) for key, value in values.items()},
    }
    if found != expected:
        raise EditError(f"{path}: its frontmatter is written in a way that is not edited safely", "edit it yourself")
    return edited.encode("utf-8")


def refuse_dirty(path: str, shown: str) -> None:
    """Makes sure that the last commit has the file as it is, so that an edit can be undone.

    A file outside of any git repository passes.

    Raises:
        EditError: it is not committed, or was changed since.
    """
    from rulebook.git.repository import Repository

    folder, name = os.path.split(os.path.realpath(path))
    try:
        repository = Repository.discover(folder)
    except GitError as error:
        if error.message.startswith("there is no git repository"):
            return
        raise
    if repository.top is None:
        return
    relative = os.path.relpath(os.path.join(folder, name), repository.top)
    try:
        repository.resolve_commit("HEAD")
        committed = repository.read_blobs([f"HEAD:{relative}"])[f"HEAD:{relative}"]
    except GitError:
        committed = None
    if committed is None:
        raise EditError(f"{shown} is not committed", "commit it first, or say --allow-dirty")
    with open(path, "rb") as file:
        content = file.read()
    # A checkout may have turned line endings.
    if committed.replace(b"\r\n", b"\n") != content.replace(b"\r\n", b"\n"):
        raise EditError(f"{shown} has changes that are not committed", "commit them first, or say --allow-dirty")


def read_content(path: str, shown: str) -> bytes:
    """A content file's bytes.

    Raises:
        EditError: it cannot be read, or is too large to be one.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise EditError(f"{shown} cannot be read: {error.strerror}", "mend its permissions") from None
    if len(data) > MAX_BYTES:
        raise EditError(f"{shown} is larger than {MAX_BYTES >> 20} MiB", "split it")
    return data


def write_atomically(path: str, data: bytes, expected: bytes, shown: str) -> None:
    """Replaces a file's content at one stroke, keeping its mode.

    Args:
        path: the file; where it is a link, what it leads to is written.
        data: the new content.
        expected: what it must hold still.
        shown: its name in messages.

    Raises:
        EditError: it was changed meanwhile, or cannot be written; it is left as it was.
    """
    import stat
    import tempfile

    real = os.path.realpath(path)
    temporary = ""
    try:
        mode = stat.S_IMODE(os.stat(real).st_mode)
        # Hidden, so that a scan of the content does not find it.
        handle, temporary = tempfile.mkstemp(prefix=".rulebook-", dir=os.path.dirname(real))
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        if read_content(real, shown) != expected:
            raise EditError(f"{shown} was changed meanwhile", "look at it, and run the command again")
        os.replace(temporary, real)
    except OSError as error:
        raise EditError(f"{shown} cannot be written: {error.strerror}", "mend its permissions, or make room") from None
    finally:
        if temporary and os.path.lexists(temporary):
            os.unlink(temporary)


def _decode(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EditError(f"{path} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None


def _frontmatter(text: str, path: str) -> tuple[int, int]:
    """Where the YAML begins, behind the opening ``---``, and where the closing one does."""
    begin = len(_BOM) if text.startswith(_BOM) else 0
    opening = _BOUNDARY.match(text, begin)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        raise EditError(f"{path} has no frontmatter", "begin the file with a '---' line, and close it with another")
    if re.search(r"\r(?!\n)", text[opening.end() : closing.start()]):
        raise EditError(f"{path} ends lines with a lone carriage return", "save it with other line endings")
    return opening.end(), closing.start()


def _compose(raw: str, path: str) -> Any:
    import yaml

    # The Python reader: its marks count characters, which is what a string is cut by.
    try:
        root = yaml.compose(raw, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise EditError(
            f"{path}: its frontmatter is no YAML: {' '.join(str(error).split())[:200]}", "mend it first"
        ) from None
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise EditError(f"{path}: its frontmatter is no list of 'key: value' lines", "mend it first")
    return root


def _scalars(node: Any) -> list[tuple[Any, Any]]:
    """Every scalar value, with the node that holds it; what an alias repeats comes once."""
    import yaml

    found: list[tuple[Any, Any]] = []
    pending: list[tuple[Any, Any]] = [(node, None)]
    seen: set[int] = set()
    while pending:
        current, parent = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, yaml.ScalarNode):
            found.append((current, parent))
        elif isinstance(current, yaml.SequenceNode):
            pending += [(item, current) for item in current.value]
        else:
            pending += [(value, current) for _, value in current.value]
    return found


def _plain(node: Any) -> Any:
    import yaml

    if node is None:
        return {}
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    return {key.value: _plain(value) for key, value in node.value}


def _rewrite(written: str, node: Any, new: str, path: str) -> str:
    """A scalar as it is written, with the new text in the old one's place and the old one's quotes."""
    if written.count(node.value) != 1:
        line = node.start_mark.line + 1
        raise EditError(
            f"{path}:{line}: {node.value!r} is written with escapes or over several lines", "edit the line yourself"
        )
    changed = written.replace(node.value, new)
    return changed if _reads_as(changed, new) else _flow(new)


def _reads_as(written: str, text: str) -> bool:
    import yaml

    try:
        node = yaml.compose(f"- {written}\n", Loader=yaml.BaseLoader)
    except yaml.YAMLError:
        return False
    return isinstance(node, yaml.SequenceNode) and len(node.value) == 1 and _plain(node) == [text]


def _flow(value: str | Sequence[str]) -> str:
    """A value as YAML that reads back as the same text."""
    if not isinstance(value, str):
        return f"[{', '.join(map(_flow, value))}]"
    simple = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/@-]*", value)
    # JSON's strings are YAML's double-quoted ones.
    return value if simple else json.dumps(value, ensure_ascii=False)


def _splice(text: str, spans: Sequence[_Span]) -> str:
    for span in sorted(spans, reverse=True):
        text = text[: span.start] + span.text + text[span.end :]
    return text


def _insertion(text: str, start: int, end: int, node: Any) -> int:
    """The beginning of the line behind a value, or of the closing line."""
    if node is None:
        return end
    at = text.find("\n", start + node.end_mark.index - (1 if node.end_mark.column == 0 else 0))
    return end if at < 0 or at >= end else at + 1


def _reads(before: Any, after: Any, wanted: Mapping[int, str]) -> bool:
    """Whether the edited text says what it said, but for the wanted scalars, given by where they began."""
    import yaml

    if type(before) is not type(after):
        return False
    if isinstance(before, yaml.ScalarNode):
        return bool(after.value == wanted.get(before.start_mark.index, before.value))
    if len(before.value) != len(after.value):
        return False
    if isinstance(before, yaml.SequenceNode):
        return all(_reads(old, new, wanted) for old, new in zip(before.value, after.value, strict=True))
    return all(
        key.value == same.value and _reads(old, new, wanted)
        for (key, old), (same, new) in zip(before.value, after.value, strict=True)
    )
