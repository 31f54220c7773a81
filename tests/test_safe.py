"""Foreign text is shown harmless, and means the same in JSON."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulebook.render.safe import json_text, one_line, several_lines

ANY = st.text(st.characters(codec=None))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("中文，标点", "中文，标点"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("a\u200bb", r"a\u200bb"),
        ("a\u2028b", r"a\u2028b"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("name\udcff", r"name\xff"),
        ("👩\u200d🔬", "👩\u200d🔬"),
    ],
)
def test_one_line(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_several_lines_keeps_lines_and_tabs() -> None:
    assert several_lines("a\n\tb\x07\r\n") == "a\n\tb\\x07\\r\n"


@given(ANY)
def test_one_line_leaves_nothing_that_controls(text: str) -> None:
    shown = one_line(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in shown)
    assert not any(
        unicodedata.bidirectional(char) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        for char in shown
    )
    assert one_line(shown) == shown
    shown.encode("utf-8")


@given(ANY)
def test_json_text_means_the_same_and_controls_nothing(text: str) -> None:
    data = json_text(json.dumps({"text": text}, ensure_ascii=False, indent=2))
    assert json.loads(data) == {"text": text}
    assert one_line(data.replace("\n", "")) == data.replace("\n", "")
