"""Our own content: complete in both languages, and without a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulebook.catalog import Catalog, load
from rulebook.model import Status
from rulebook.pins import UNKNOWN, parse_pin
from rulebook.validate import validate

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load(str(ROOT))


def test_our_own_content_passes_our_own_lint(catalog: Catalog) -> None:
    assert validate(catalog) == []


def test_all_of_it_is_there(catalog: Catalog) -> None:
    assert {rule.id for rule in catalog.rules} == {*(f"AFD-I{n}" for n in range(1, 13)), "IX-P1", "IX-P2"}
    assert {review.pr for review in catalog.reviews} == set("57112 56351 56955 56601 56941 56597 56766 56332".split())
    assert {waiver.pr for waiver in catalog.waivers} == {"2508"}


def test_everything_has_a_chinese_twin(catalog: Catalog) -> None:
    originals = {document.location.path for document in (*catalog.rules, *catalog.reviews, *catalog.waivers)}
    twins = catalog.twins()
    assert {path for path in originals if [twin.lang for twin in twins.get(path, [])] != ["zh"]} == set()


def test_every_rule_can_match_and_says_where_it_comes_from(catalog: Catalog) -> None:
    for rule in catalog.rules:
        assert rule.status is Status.ACTIVE
        assert rule.applies_to
        assert rule.look_for
        assert rule.provenance
        assert rule.sources
        assert all(parse_pin(source.pin).alias == rule.repo for source in rule.sources)


def test_a_digest_whose_merge_commit_nobody_knows_says_so(catalog: Catalog) -> None:
    for review in catalog.reviews:
        assert [source.pin for source in review.sources] == [UNKNOWN]
        assert [source.url for source in review.sources] == [f"https://github.com/vllm-project/vllm/pull/{review.pr}"]
