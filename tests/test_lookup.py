"""Look-ups: the search index follows the content, and its hits are documents."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb import REVIEW, make_kb, rule
from mounts import mounted_read_only
from rulebook import lookup
from rulebook.errors import StoreError
from rulebook.model import Kind
from rulebook.render.text import hits_lines
from rulebook.store.opening import open_store

FILES = {
    "rules/demo/A-1.md": rule("A-1", title="Connectors", body="Register with `AFDConnectorFactory` before use.\n"),
    "rules/demo/A-1.zh.md": "---\nid: A-1\ntitle: 连接器\n---\n使用前先用 `AFDConnectorFactory` 注册。\n",
    "rules/demo/A-2.md": rule("A-2", title="Graphs", tags="[cudagraph]", applies_to='["csrc/kernels/**"]'),
    "reviews/owner/name/12.md": REVIEW.replace("sources:", "identifiers: [compute_gate_on_attention]\nsources:"),
}


PARTS = {
    "rules/demo/A-1.md": rule("A-1", body="The `config` that is `extra` and to `parse`. " * 9),
    "rules/demo/A-2.md": rule("A-2", body="`parse_extra_config` is called once.\n" + "Word. " * 400),
    "rules/demo/A-3.md": rule("A-3", body="Camels call it `parseExtraConfig()`.\n"),
    "rules/demo/A-4.md": rule("A-4", body="`parseextraconfig` has no parts.\n"),
    "rules/demo/A-5.md": rule("A-5", body="`try_parse_extra_config_file` holds it.\n"),
}


@pytest.mark.parametrize(
    ("query", "whole"),
    [
        pytest.param("parse_extra_config", {"A-2", "A-3", "A-4", "A-5"}, id="name"),
        pytest.param("`parse_extra_config()`", {"A-2", "A-3", "A-4", "A-5"}, id="as-it-is-written"),
        pytest.param("parse_extra_value", set(), id="name-that-nobody-has"),
        pytest.param("parse config", {"A-1", "A-2", "A-3", "A-5"}, id="words-are-no-name"),
    ],
)
def test_documents_with_parts_of_a_name_only_come_last_and_are_told(
    tmp_path: Path, query: str, whole: set[str]
) -> None:
    with open_store(str(make_kb(tmp_path, PARTS))) as store:
        hits = lookup.search(store, query)
    assert hits
    assert {hit.row.name for hit in hits if hit.whole} == whole
    assert [hit.whole for hit in hits] == sorted((hit.whole for hit in hits), reverse=True)
    lines = [piece.plain for piece in hits_lines(hits)]
    assert sum("parts of the name only, in " in text for text in lines) == sum(not hit.whole for hit in hits)


def found(root: Path, query: str, **options: object) -> list[tuple[str, str]]:
    with open_store(str(root)) as store:
        return [(hit.row.name, hit.row.lang) for hit in lookup.search(store, query, **options)]


@pytest.mark.parametrize(
    ("query", "hit"),
    [
        pytest.param("register", ("A-1", "en"), id="word-of-a-body"),
        pytest.param("registering connectors", ("A-1", "en"), id="inflected"),
        pytest.param("注册", ("A-1", "zh"), id="chinese"),
        pytest.param("A-2", ("A-2", "en"), id="id"),
        pytest.param("cudagraph", ("A-2", "en"), id="tag"),
        pytest.param("csrc/kernels", ("A-2", "en"), id="path"),
        pytest.param("ci", ("owner/name#12", "en"), id="label"),
        pytest.param("gate_on", ("owner/name#12", "en"), id="part-of-an-identifier-in-the-frontmatter"),
    ],
)
def test_a_document_is_found_by_what_it_says_in_the_language_that_says_it(
    tmp_path: Path, query: str, hit: tuple[str, str]
) -> None:
    assert found(make_kb(tmp_path, FILES), query)[0] == hit


def test_both_languages_of_a_document_are_one_hit(tmp_path: Path) -> None:
    assert [name for name, _ in found(make_kb(tmp_path, FILES), "AFDConnectorFactory")] == ["A-1"]


def test_kinds_and_limit(tmp_path: Path) -> None:
    files = {f"rules/demo/R-{n}.md": rule(f"R-{n}", body="A word in common.\n") for n in range(5)}
    root = make_kb(tmp_path, {**files, "reviews/owner/name/12.md": REVIEW.replace("What to take away", "Common")})
    assert len(found(root, "common")) == 6
    assert len(found(root, "common", limit=2)) == 2
    assert found(root, "common", kinds=[Kind.REVIEW]) == [("owner/name#12", "en")]
    assert found(root, "common", kinds=[Kind.WAIVER]) == []


@pytest.mark.parametrize("query", ["", " ", "zzzzzz", '"', "((", "zzzz OR qqqq~", "*", "title:", "\0", "～！"])
def test_a_query_that_says_nothing_finds_nothing(tmp_path: Path, query: str) -> None:
    assert found(make_kb(tmp_path, FILES), query) == []


def test_the_index_follows_the_content(tmp_path: Path) -> None:
    root = make_kb(tmp_path, FILES)
    place = root / "rules/demo/A-2.md"
    assert found(root, "kumquat") == []
    place.write_text(rule("A-2", body="Kumquat.\n"))
    assert found(root, "kumquat") == [("A-2", "en")]
    place.rename(root / "rules/A-2.md")
    with open_store(str(root)) as store:
        assert [hit.row.path for hit in lookup.search(store, "kumquat")] == ["rules/A-2.md"]
    (root / "rules/A-2.md").unlink()
    assert found(root, "kumquat") == []


def test_a_refresh_touches_what_changed_only(tmp_path: Path) -> None:
    root = make_kb(tmp_path, FILES)
    counts = []
    for text in ("one", "one", "two"):
        (root / "rules/demo/A-2.md").write_text(rule("A-2", body=f"{text}\n"))
        with open_store(str(root)) as store:
            outcome = lookup.refresh(store)
            counts.append((outcome.added, outcome.changed, outcome.kept))
    assert counts == [(4, 0, 0), (0, 0, 4), (0, 1, 3)]


def test_an_index_that_is_lost_is_built_again(tmp_path: Path) -> None:
    root = make_kb(tmp_path, FILES)
    assert found(root, "register") == [("A-1", "en")]
    with open_store(str(root)) as store:
        assert store.folder is not None
        shutil.rmtree(os.path.join(store.folder, "search"))
    assert found(root, "register") == [("A-1", "en")]


def test_a_store_in_memory_searches_as_well_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_kb(tmp_path, FILES)
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    assert found(root, "register") == [("A-1", "en")]
    assert os.listdir(tmp_path / "temporary") == []


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A store's folder, with its search index, on a file system that is mounted read-only."""
    root, folder = make_kb(tmp_path, FILES), tmp_path / "store"
    with open_store(str(root), str(folder)) as store:
        lookup.refresh(store)
    # Stamps that were too fresh to be trusted are settled by a second look.
    time.sleep(0.12)
    open_store(str(root), str(folder)).close()
    with mounted_read_only(folder):
        yield folder


def test_a_read_only_index_still_answers(tmp_path: Path, read_only: Path) -> None:
    with open_store(str(tmp_path / "kb"), str(read_only)) as store:
        assert [hit.row.name for hit in lookup.search(store, "register")] == ["A-1"]
        assert store.notes == []


def test_a_read_only_folder_without_an_index_is_searched_all_the_same(tmp_path: Path) -> None:
    """A file stands where the index would have to be, which stops even a user who may write everywhere."""
    root, folder = make_kb(tmp_path, FILES), tmp_path / "store"
    with open_store(str(root), str(folder)) as store:
        (folder / "search").write_text("in the way")
        assert [hit.row.name for hit in lookup.search(store, "register")] == ["A-1"]
        assert "for this search alone" in store.notes[0]
        with pytest.raises(StoreError):
            lookup.refresh(store)


def test_an_index_that_others_can_write_is_not_opened(tmp_path: Path) -> None:
    root, folder = make_kb(tmp_path, FILES), tmp_path / "store"
    with open_store(str(root), str(folder)) as store:
        lookup.refresh(store)
        (folder / "search").chmod(0o777)
        assert [hit.row.name for hit in lookup.search(store, "register")] == ["A-1"]
        assert store.notes != []


def test_every_document_is_an_entry_of_its_group(tmp_path: Path) -> None:
    with open_store(str(make_kb(tmp_path, FILES))) as store:
        entries = lookup.entries(store)
    assert [(entry.group, entry.id) for entry in entries if "A-1" in entry.group] == [("rule:A-1", "A-1")] * 2
    (review,) = [entry for entry in entries if entry.kind == "review"]
    assert "compute_gate_on_attention" in review.identifiers
    assert review.labels == ("ci",)
