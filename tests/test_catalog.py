"""A knowledge base as a whole: every file read, none hidden by another, in an order of its own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from kb import REVIEW, SMALLEST, make_kb, rule
from rulebook.catalog import Catalog, is_twin, load
from rulebook.errors import NoKnowledgeBase
from rulebook.validate import validate

TWIN = "---\nid: DEMO-1\ntitle: 标题\n---\n正文\n"
WAIVER = "---\ntitle: W\nrepo: demo\npr: 7\nrule: DEMO-1\n---\nText.\n"
MIXED: Mapping[str, str | bytes] = {
    **SMALLEST,
    "rules/demo/DEMO-1.zh.md": TWIN,
    "waivers/demo/7.md": WAIVER,
    "rules/demo/DEMO-2.md": rule("DEMO-2"),
    "rules/demo/page.md": "---\nrepo: demo\napplies_to: x\n---\n## P-1 — One\nText\n## P-2 — Two\nText\n",
}
#: Files that are wrong, each in another way, with the code that says so.
BAD: Mapping[str, tuple[str | bytes, str]] = {
    "rules/demo/encoding.md": (b"---\nid: \xff\n---\n", "file-encoding"),
    "rules/demo/huge.md": (b"x" * (1 << 21), "file-size"),
    "rules/demo/none.md": ("Text\n", "frontmatter-missing"),
    "rules/demo/open.md": ("---\nid: x\n", "frontmatter-unclosed"),
    "rules/demo/broken.md": ("---\na: b: c\n---\n", "yaml"),
    "rules/demo/bomb.md": ("---\na: " + "[" * 5000 + "\n---\n", "yaml-depth"),
    "rules/demo/empty.md": (b"", "frontmatter-missing"),
    "reviews/owner/name/x.md": ("---\nid: 1\n---\nText\n", "id-shape"),
    "waivers/demo/x.md": ("---\ntitle: T\n---\nText\n", "key-missing"),
}


def ids(catalog: Catalog) -> list[str]:
    return [document.id for document in catalog.documents]


def test_the_smallest_knowledge_base_loads_without_an_error(tmp_path: Path) -> None:
    catalog = load(str(make_kb(tmp_path)))
    assert catalog.findings == ()
    assert catalog.files == 2
    assert {finding.severity.value for finding in validate(catalog)} <= {"warning", "note"}


def test_kinds_and_twins(tmp_path: Path) -> None:
    catalog = load(str(make_kb(tmp_path, MIXED)))
    assert [document.id for document in catalog.rules] == ["DEMO-1", "DEMO-2", "P-1", "P-2"]
    assert [document.id for document in catalog.waivers] == ["demo#7"]
    assert [document.id for document in catalog.reviews] == ["owner/name#12"]
    assert {path: [twin.title for twin in twins] for path, twins in catalog.twins().items()} == {
        "rules/demo/DEMO-1.md": ["标题"]
    }
    assert [document.title for document in catalog.documents if is_twin(document)] == ["标题"]


def test_one_bad_file_never_hides_the_others(tmp_path: Path) -> None:
    good = load(str(make_kb(tmp_path / "good", MIXED)))
    bad = load(str(make_kb(tmp_path / "bad", {**MIXED, **{path: text for path, (text, _) in BAD.items()}})))
    assert bad.files == good.files + len(BAD)
    assert set(ids(good)) <= set(ids(bad))
    told = {(finding.location.path, finding.code) for finding in bad.findings}
    assert {(path, code) for path, (_, code) in BAD.items()} <= told
    assert {path for path, _ in told} == BAD.keys()
    assert {(path, code) for path, (_, code) in BAD.items()} <= {
        (finding.location.path, finding.code) for finding in validate(bad)
    }


def test_the_order_in_which_files_were_written_changes_nothing(tmp_path: Path) -> None:
    files = {**MIXED, **{path: text for path, (text, _) in BAD.items()}}
    seen = []
    for seed in range(4):
        items = list(files.items())
        random.Random(seed).shuffle(items)
        catalog = load(str(make_kb(tmp_path / str(seed), dict(items))))
        seen.append((catalog.documents, catalog.findings, validate(catalog)))
    assert all(one == seen[0] for one in seen)


def test_a_bad_configuration_hides_no_document(tmp_path: Path) -> None:
    catalog = load(str(make_kb(tmp_path, {**SMALLEST, "rulebook.toml": "[repos"})))
    assert ids(catalog) == ["owner/name#12", "DEMO-1"]
    assert [finding.code for finding in catalog.findings] == ["config-toml"]


def test_progress_is_told_to_the_end(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    load(str(make_kb(tmp_path)), progress=lambda done, whole: calls.append((done, whole)))
    assert calls == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize("files", [{}, {"rules/README.md": "x", "rules/_draft.md": "x"}], ids=["nothing", "no-content"])
def test_an_empty_knowledge_base_is_no_clean_one(tmp_path: Path, files: Mapping[str, str]) -> None:
    with pytest.raises(NoKnowledgeBase, match="is empty") as caught:
        load(str(make_kb(tmp_path, files)))
    assert "docs/format.md" in caught.value.hint


def test_a_knowledge_base_of_nothing_but_bad_files_says_so(tmp_path: Path) -> None:
    catalog = load(str(make_kb(tmp_path, {"rules/A.md": b"\xff"})))
    assert (catalog.documents, [finding.code for finding in catalog.findings]) == ((), ["file-encoding"])


@pytest.mark.parametrize("folder", [False, True], ids=["none", "a-folder"])
def test_no_configuration(tmp_path: Path, folder: bool) -> None:
    root = make_kb(tmp_path, {"reviews/owner/name/12.md": REVIEW})
    (root / "rulebook.toml").unlink()
    if folder:
        (root / "rulebook.toml").mkdir()
    with pytest.raises(NoKnowledgeBase, match="cannot be read"):
        load(str(root))


def test_crlf_and_byte_order_marks_change_no_document(tmp_path: Path) -> None:
    windows = {path: b"\xef\xbb\xbf" + str(text).replace("\n", "\r\n").encode() for path, text in MIXED.items()}
    plain, other = load(str(make_kb(tmp_path / "a", MIXED))), load(str(make_kb(tmp_path / "b", windows)))
    assert other.documents == plain.documents
    assert other.config == plain.config
