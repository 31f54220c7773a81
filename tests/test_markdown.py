"""A Markdown text's skeleton, with exact lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulebook.markdown import CodeSpan, Heading, identifiers, outline

TEXT = """\
# Title with `code`

Words ^[PR #424](https://example.invalid/pull/424) and `call(x)` of
a second line with ``a`b``.

```python
## no heading
`no_span`
<!-- no comment -->
```

Setext
------

- one
  - two `in_a_list`
1. three

> ## in a quotation

    ## indented code

<!-- first
second --> <!-- third -->

| a | b |
| - | - |
| `cell_1` | x |

##Not a heading
### Third <!-- inline --> [link `name_2`](x_y.md) ###
"""


def test_headings() -> None:
    assert outline(TEXT).headings == (
        Heading(1, "Title with code", 1),
        Heading(2, "Setext", 12),
        Heading(3, "Third  link name_2", 31),
    )


def test_code_spans() -> None:
    assert outline(TEXT).code_spans == (
        CodeSpan("code", 1),
        CodeSpan("call(x)", 3),
        CodeSpan("a`b", 3),
        CodeSpan("in_a_list", 16),
        CodeSpan("cell_1", 28),
        CodeSpan("name_2", 31),
    )


def test_items_and_comments() -> None:
    assert outline(TEXT).items == (15, 16, 17)
    assert outline(TEXT).comments == (("first\nsecond", 23), ("third", 24), ("inline", 31))


def test_words_outside_of_code() -> None:
    assert outline(TEXT).prose[:3] == (
        ("Title with `", 1),
        ("Words ^[PR #424] and ` of a second line with `.", 3),
        ("Setext", 12),
    )


def test_an_empty_text() -> None:
    assert outline("") == ((), (), (), (), ())


def test_unclosed_comments_take_no_time() -> None:
    assert outline("<!-- a\n" * 20_000).comments == ()


@given(st.text(st.sampled_from("ab`#-<!>[]()^*_\n \t|~"), max_size=120))
def test_lines_are_lines_of_the_text(text: str) -> None:
    found = outline(text)
    last = text.count("\n") + 1
    places = [h.line for h in found.headings] + [s.line for s in found.code_spans] + list(found.items)
    assert all(1 <= line <= last for line in places)
    assert all(1 <= line <= last for _, line in (*found.comments, *found.prose))


@pytest.mark.parametrize(
    ("span", "names"),
    [
        ("parse_extra_config", ("parse_extra_config",)),
        ("parse_extra_config()", ("parse_extra_config",)),
        ("close(a, b)", ("close",)),
        ("AFDConfig", ("AFDConfig",)),
        ("a.B.close_all", ("a.B.close_all",)),
        ("ns::some_name", ("ns::some_name",)),
        ("__init__", ("__init__",)),
        *((word, ()) for word in ("draft", "README.md", "e.g", "a b", "--flag", "", "1_000", "x = some_name", "ABC")),
    ],
)
def test_names_of_code(span: str, names: tuple[str, ...]) -> None:
    assert identifiers([CodeSpan(span, 1)] * 2) == names
