"""The order that people expect of names with numbers in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulebook.ordering import natural_key


@pytest.mark.parametrize(
    "names",
    [
        ["AFD-I1", "AFD-I2", "AFD-I10", "AFD-I11"],
        ["a/b#9", "a/b#12", "a/c#1"],
        ["2", "10", "a", "a1", "a1b", "a2", "b"],
        ["", "0", "1"],
        ["v1.9", "v1.10", "v2.0"],
        ["x" + "9" * 4300, "x1" + "0" * 4300],
        ["٢", "٣"],
    ],
)
def test_order(names: list[str]) -> None:
    assert sorted(names, key=natural_key) == names


@given(st.lists(st.text(st.sampled_from("ab01²٣-"), max_size=6)))
def test_only_equal_names_have_equal_keys(names: list[str]) -> None:
    assert len(set(map(natural_key, names))) == len(set(names))


@given(st.integers(0, 10**30), st.integers(0, 10**30))
def test_numbers_compare_as_numbers(one: int, other: int) -> None:
    assert (natural_key(f"R-{one}") < natural_key(f"R-{other}")) == (one < other)
