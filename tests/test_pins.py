"""The shape of pins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulebook.pins import Pin, PinError, parse_pin

SHA = "0123456789" * 4


@pytest.mark.parametrize(
    ("text", "pin"),
    [
        (f"demo@{SHA}:src/a.py", Pin("demo", SHA, "src/a.py")),
        (f"demo@{SHA}:src/a.py#f", Pin("demo", SHA, "src/a.py", "f")),
        (f"demo@{SHA}:src/a.py#C.m", Pin("demo", SHA, "src/a.py", "C.m")),
        (f"demo@{SHA}:src/a.cc#ns::C::m", Pin("demo", SHA, "src/a.cc", "ns::C::m")),
        (f"demo@{SHA}:ci.yml#jobs.build-all", Pin("demo", SHA, "ci.yml", "jobs.build-all")),
        (f"demo@{SHA}:a.md#要求", Pin("demo", SHA, "a.md", "要求")),
        (f"demo@{SHA}:src/a.py#L3", Pin("demo", SHA, "src/a.py", "", 3, 3)),
        (f"demo@{SHA}:src/a.py#L3-L9", Pin("demo", SHA, "src/a.py", "", 3, 9)),
        (f"demo@{SHA}:src/a.py#L3-9", Pin("demo", SHA, "src/a.py", "", 3, 9)),
        (f"a.b-c@{SHA}:x:y.py", Pin("a.b-c", SHA, "x:y.py")),
        (f"demo@{SHA}:pages/[id].ts", Pin("demo", SHA, "pages/[id].ts")),
        (f"demo@{SHA}:a: b@c.txt", Pin("demo", SHA, "a: b@c.txt")),
        (f"demo@{SHA}:notes#1 x.txt", Pin("demo", SHA, "notes#1 x.txt")),
        (f"demo@{SHA}:naïve file.txt", Pin("demo", SHA, "naïve file.txt")),
    ],
)
def test_pins_are_read(text: str, pin: Pin) -> None:
    assert parse_pin(text) == pin


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("", "is no pin", "alias@"),
        ("a.py", "is no pin", "alias@<40 hex digits>:path"),
        (f"demo@{SHA}", "is no pin", "alias@"),
        (f"@{SHA}:a.py", "is no pin", "alias@"),
        ("demo@0123abc:a.py", "is short", "git rev-parse '0123abc"),
        (f"demo@{SHA.replace('0', 'A')}:a.py", "has capitals", "write a123"),
        ("demo@main:a.py", "a branch or a tag moves", "git rev-parse 'main"),
        (f"demo@{SHA}:a.py#L0", "names no lines", "counted from 1"),
        (f"demo@{SHA}:a.py#L9-L3", "names no lines", "smaller number first"),
        (f"demo@{SHA}:a.py#", "nothing stands behind '#'", "leave the '#' out"),
        (f"demo@{SHA}:/a.py", "no path from the repository's root", "git ls-files"),
        (f"demo@{SHA}:../a.py", "no path from the repository's root", "git ls-files"),
        (f"demo@{SHA}:a//b.py", "no path from the repository's root", "git ls-files"),
        (f"demo@{SHA}:a\\b.py", "no path from the repository's root", "git ls-files"),
        (f"demo@{SHA}:-a.py", "begins with '-'", "another file"),
        (f"demo@{SHA}:a\n.py", "is no pin", "alias@"),
        (f"demo@{SHA}:a\x7f.py", "is no pin", "alias@"),
    ],
)
def test_other_shapes_say_what_to_write(text: str, message: str, remedy: str) -> None:
    with pytest.raises(PinError, match=message.replace("(", r"\(")) as caught:
        parse_pin(text)
    assert remedy in caught.value.remedy


_PART = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="/\\#"), min_size=1, max_size=8)
_ANCHOR = st.one_of(
    st.builds(lambda a, b: ("", min(a, b), max(a, b)), st.integers(1, 999), st.integers(1, 999)),
    st.builds(lambda name: (name, 0, 0), st.from_regex(r"[A-KM-Z_][a-z_]{1,5}(\.[a-z]{1,5})?", fullmatch=True)),
    st.just(("", 0, 0)),
)


@given(st.lists(_PART, min_size=1, max_size=3), _ANCHOR)
def test_what_is_written_reads_back(parts: list[str], anchor: tuple[str, int, int]) -> None:
    path = "/".join(parts)
    if path.startswith("-") or any(part in (".", "..") for part in parts):
        return
    pin = Pin("demo", SHA, path, *anchor)
    assert parse_pin(str(pin)) == pin
