"""The search index: analysis, ranking, and a folder that survives whatever happens to it."""

from __future__ import annotations

import hashlib
import json
import os
import random
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulebook.errors import StoreError
from rulebook.index.analysis import analyse
from rulebook.index.entries import VERSION, Entry, Refreshed, document
from rulebook.index.folder import checksum, lock
from rulebook.index.search import search
from rulebook.index.writer import refresh

AS_ROOT = os.name == "posix" and os.geteuid() == 0


def entry(key, **fields):
    fields.setdefault("id", key)
    return Entry(**{"key": key, "group": key, "kind": "rule", "title": "", "body": "", **fields})


def build(folder, entries, **options):
    """Brings the index in ``folder`` to exactly ``entries``."""
    entries = {e.key: e for e in entries}
    wanted = {key: hashlib.sha256(repr(e).encode("utf-8", "surrogatepass")).hexdigest() for key, e in entries.items()}
    return refresh(folder, wanted, lambda keys: [entries[key] for key in keys], **options)


def found(folder, query, **options):
    return [hit.id for hit in search(folder, query, **options)]


def files(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def run(script, *arguments, **options):
    """Runs a script in a process of its own, with this package importable."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        env={**env, **options.pop("env", {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "search"


# --- analysis ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        pytest.param("AFDConnectorFactory", {"afdconnectorfactory", "afd", "connector", "factory"}, id="camel"),
        pytest.param("HTTPRequestIDs", {"httprequestids", "http", "request", "ids"}, id="acronyms"),
        pytest.param("P2pNcclAFDConnector", {"p2p", "nccl", "afd", "connector"}, id="digits-in-camel"),
        pytest.param("a_b_c", {"abc", "ab", "bc", "a", "b", "c"}, id="neighbouring-parts"),
        pytest.param("MI355X MXFP8", {"mi355x", "mxfp8"}, id="product-names"),
        pytest.param("APIs", {"apis", "api"}, id="plural-of-an-acronym"),
        pytest.param("parse_extra_config", {"parseextraconfig", "parse", "extra", "config"}, id="snake"),
        pytest.param("__init__", {"init"}, id="dunder"),
        pytest.param("l4_4", {"l4_4", "l4", "4"}, id="underscore-between-digits"),
        pytest.param("--force-reinstall", {"forcereinstall", "force", "reinstall"}, id="flag"),
        pytest.param(
            "afd_plugin.connectors.gpu",
            {"afdplugin.connectors.gpu", "afdplugin", "connectors", "connector", "gpu"},
            id="module",
        ),
        pytest.param("a/b/GPUWorker.py", {"a.b.gpuworker.py", "gpuworker.py", "gpuworker", "worker", "py"}, id="path"),
        pytest.param(r"a\b\c.py", {"a.b.c.py", "c.py"}, id="backslashes"),
        pytest.param("torch::cuda", {"torch.cuda", "torch", "cuda"}, id="colons"),
        pytest.param("v0.26", {"v0.26", "v0", "26"}, id="version"),
        pytest.param("#424", {"#424", "424"}, id="number-sign"),
        pytest.param(
            "vllm-project/vllm#57112", {"vllmproject.vllm.57112", "#57112", "57112", "vllm"}, id="pull-request"
        ),
        pytest.param("Documents", {"documents", "document"}, id="exact-form-and-stem"),
        pytest.param("initialization", {"initialization", "initi"}, id="porter"),
        pytest.param("Ｆｏｏ＿ｂａｒ", {"foobar", "foo", "bar"}, id="full-width"),
        pytest.param("Café ÉCOLE naïve", {"cafe", "ecole", "naive"}, id="accents"),
        pytest.param("cafe\u0301", {"cafe"}, id="combining-accent"),
        pytest.param("Straße", {"strasse"}, id="casefold"),
        pytest.param("Привет", {"привет"}, id="cyrillic"),
        pytest.param("控制面驱动", {"控制", "制面", "面驱", "驱动", "动"}, id="han"),
        pytest.param("卡", {"卡"}, id="one-character"),
        pytest.param("𠮷野家", {"𠮷野", "野家"}, id="beyond-the-bmp"),
        pytest.param("データベース", {"デー", "ータ", "ベー", "ース"}, id="katakana-with-length-mark"),
        pytest.param("ﾃﾞｰﾀ", {"デー", "ータ"}, id="half-width-kana"),
        pytest.param("が", {"が"}, id="voiced-kana-keeps-its-mark"),
        pytest.param("한국어 검색", {"한국", "국어", "검색"}, id="hangul"),
        pytest.param("GPU上的AFD插件", {"gpu", "上的", "afd", "插件"}, id="mixed-scripts"),
    ],
)
def test_terms(text, terms):
    assert terms <= set(analyse(text).terms)


@pytest.mark.parametrize(
    ("text", "atoms"),
    [
        ("`close()` calls AFDConnector.close", ["close", "calls", "afd", "connector", "close"]),
        ("先初始化，GPU 再关", ["先", "初", "始", "化", "gpu", "再", "关"]),
        ("", []),
        ("…“”—%%%", []),
    ],
)
def test_atoms(text, atoms):
    assert analyse(text).atoms == atoms


@given(st.text())
def test_any_text_can_be_analysed(text):
    terms, atoms = analyse(text)
    assert all(terms)
    assert all(atoms)
    assert not any(" " in atom or "|" in atom for atom in atoms)


@given(st.text(), st.text())
def test_analysis_goes_line_by_line(first, second):
    both = analyse(f"{first}\n{second}")
    assert both.terms == analyse(first).terms + analyse(second).terms


def test_query_leaves_out_helper_terms():
    assert analyse("控制面", query=True).terms == ["控制", "制面"]
    assert analyse("卡", query=True).terms == ["卡"]


def test_a_word_without_an_end_is_cut():
    analysis = analyse("a/b." * 250_000)
    assert len(analysis.terms) < 1000
    assert max(map(len, analysis.terms)) <= 200


# --- what is found ----------------------------------------------------------------------------

DOCUMENTS = [
    entry(
        "AFD-I1",
        title="Adding a connector changes the factory and the allow-list",
        body="The registration in `AFDConnectorFactory` alone is not enough; see `parse_extra_config()`.",
        identifiers=("register_connector",),
        paths=("afd_plugin/connectors/factory.py", "afd_plugin/config.py"),
        tags=("configuration",),
    ),
    entry(
        "AFD-I2",
        title="control_plane decides",
        body="Never decide by the connector's class. 判断走控制面驱动还是 connector 驱动。显存卡",
        paths=("afd_plugin/v1/worker/gpu_ffn_model_runner.py",),
    ),
    entry("vllm-project/vllm#57112", kind="review", title="NIXL failures are queued", labels=("kv-connector",)),
    entry("inferencex/2508", kind="waiver", title="A patched container", body="Works with --force-reinstall v0.26"),
]


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents") / "search"
    build(folder, DOCUMENTS)
    return folder


@pytest.mark.parametrize(
    ("query", "first", "fields"),
    [
        pytest.param("AFD-I1", "AFD-I1", {"id"}, id="id"),
        pytest.param("decides", "AFD-I2", {"title"}, id="title"),
        pytest.param("registrations", "AFD-I1", {"body"}, id="body-by-stem"),
        pytest.param("register_connector", "AFD-I1", {"identifiers"}, id="identifiers"),
        pytest.param("gpu_ffn_model_runner", "AFD-I2", {"paths"}, id="paths"),
        pytest.param("configuration", "AFD-I1", {"tags"}, id="tags"),
        pytest.param("kv-connector", "vllm-project/vllm#57112", {"labels"}, id="labels"),
        pytest.param("AFDConnectorFactory", "AFD-I1", {"body"}, id="identifier"),
        pytest.param("extra config", "AFD-I1", {"body"}, id="parts-of-an-identifier"),
        pytest.param("connectors/factory.py", "AFD-I1", {"paths"}, id="end-of-a-path"),
        pytest.param("afd_plugin.connectors.factory", "AFD-I1", {"paths"}, id="module-for-a-path"),
        pytest.param("force_reinstall", "inferencex/2508", {"body"}, id="underscore-for-a-flag"),
        pytest.param("控制面", "AFD-I2", {"body"}, id="chinese"),
        pytest.param("显", "AFD-I2", {"body"}, id="one-character-at-a-beginning"),
        pytest.param("卡", "AFD-I2", {"body"}, id="one-character-at-an-end"),
        pytest.param("Ｃｏｎｔｒｏｌ＿ｐｌａｎｅ", "AFD-I2", {"title"}, id="full-width"),
        pytest.param("einstall v0.2", "inferencex/2508", {"body"}, id="cut-in-the-middle-of-words"),
    ],
)
def test_finds(documents, query, first, fields):
    hit = search(documents, query)[0]
    assert hit.id == first
    assert hit.score > 0
    assert fields <= set(hit.fields)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        pytest.param("rendez", ["e1"], id="beginning"),
        pytest.param("vous", ["e1"], id="end"),
        pytest.param("dezvo", ["e1"], id="middle"),
        pytest.param("work", ["e2"], id="a-word-is-no-piece"),
        pytest.param("wo", [], id="too-short"),
    ],
)
def test_unknown_words_may_be_pieces(folder, query, ids):
    build(folder, [entry("e1", body="rendezvous network"), entry("e2", body="work")])
    assert found(folder, query) == ids


def test_words_that_are_gone_complete_nothing(folder):
    words = [f"x{'abcdefghij'[n // 10]}{'abcdefghij'[n % 10]}" for n in range(100)]
    build(
        folder,
        [entry("all", body=" ".join(words)), entry("one", body="zzxjjlong"), *(entry(f"e{n}") for n in range(9))],
    )
    build(folder, [entry("one", body="zzxjjlong"), *(entry(f"e{n}") for n in range(9))])
    assert found(folder, "xjjl") == ["one"]
    assert found(folder, "jjl") == ["one"]


def test_nothing_is_found_where_nothing_is(documents):
    assert search(documents, "zebra 斑马") == []


def test_kinds_and_limit(documents):
    assert set(found(documents, "connector")) == {"AFD-I1", "AFD-I2", "vllm-project/vllm#57112"}
    assert found(documents, "connector", kinds=["review"]) == ["vllm-project/vllm#57112"]
    assert set(found(documents, "connector patched", kinds=["review", "waiver"])) == {
        "vllm-project/vllm#57112",
        "inferencex/2508",
    }
    assert found(documents, "AFD-I1", kinds=["waiver"]) == []
    assert found(documents, "connector", kinds=[]) == []
    assert len(found(documents, "connector", limit=2)) == 2
    assert found(documents, "connector", limit=0) == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("AFD-I9", "AFD-I9"),
        ("afd-i9", "AFD-I9"),
        ("  AFD_I9\n", "AFD-I9"),
        ("ＡＦＤ－Ｉ９", "AFD-I9"),
        ("vllm-project/vllm#57112", "vllm-project/vllm#57112"),
        ("vllm#57112", "vllm-project/vllm#57112"),
        ("#57112", "vllm-project/vllm#57112"),
        ("57112", "vllm-project/vllm#57112"),
        ("https://github.com/vllm-project/vllm/pull/57112/files", "vllm-project/vllm#57112"),
        ("github.com/vllm-project/vllm/issues/57112", "vllm-project/vllm#57112"),
        ("2508", "inferencex/2508"),
        ("inferencex/2508", "inferencex/2508"),
    ],
)
def test_an_id_comes_first(folder, query, first):
    ids = ["AFD-I9", "vllm-project/vllm#57112", "inferencex/2508", "AFD-I90", "other/repo#571"]
    decoy = " ".join([*ids, "57112", "2508"] * 30)
    build(folder, [*(entry(name) for name in ids), entry("decoy", title=decoy, body=decoy, tags=(decoy,))])
    hits = search(folder, query)
    assert hits[0].id == first
    assert "decoy" in [hit.id for hit in hits]


def test_an_id_between_other_words_outweighs_mentions(folder):
    build(folder, [entry("A-7"), *(entry(f"B-{n}", body="see A-7 before closing") for n in range(20))])
    assert found(folder, "what is A-7 about")[0] == "A-7"


def test_languages_of_a_document_are_one_hit(folder):
    build(
        folder,
        [
            entry("rule:X:en", group="rule:X", id="X", title="connector"),
            entry("rule:X:zh", group="rule:X", id="X", title="connector 连接器", body="connector 注册"),
            entry("rule:Y:en", group="rule:Y", id="Y", body="something about a connector, at more length"),
        ],
    )
    hits = search(folder, "注册 connector")
    assert [(hit.group, hit.keys) for hit in hits] == [
        ("rule:X", ("rule:X:zh", "rule:X:en")),
        ("rule:Y", ("rule:Y:en",)),
    ]
    assert len(search(folder, "connector", limit=2)) == 2


def test_more_hits_than_are_compared_word_for_word(folder):
    build(folder, [entry(f"R-{n}", body=f"connector {'word ' * n}") for n in range(200)])
    assert len(found(folder, "connector", limit=150)) == 150
    assert found(folder, "connector", limit=1000) == [f"R-{n}" for n in range(200)]


def test_ties_are_broken_by_id_as_people_count(folder):
    names = [f"R-{n}" for n in range(1, 101)]
    build(folder, [entry(name, id=name, body="the same text") for name in reversed(names)])
    assert found(folder, "same text", limit=100) == names
    assert found(folder, "same", limit=3) == names[:3]


def test_rare_words_weigh_more(folder):
    build(
        folder,
        [
            entry("common", body="worker " * 5),
            entry("rare", body="rendezvous"),
            *(entry(f"w{n}", body="worker") for n in range(9)),
        ],
    )
    assert found(folder, "worker rendezvous")[0] == "rare"


def test_exact_form_before_stem(folder):
    build(folder, [*(entry(f"a{n}", body="document document") for n in range(5)), entry("b", body="documents")])
    assert found(folder, "documents")[0] == "b"
    assert len(found(folder, "documents")) == 6


def test_a_title_weighs_more_than_a_body(folder):
    build(folder, [entry("a", body="waiver"), entry("b", title="waiver")])
    assert found(folder, "waiver") == ["b", "a"]


def test_a_phrase_outweighs_its_words(folder):
    build(
        folder,
        [
            entry("scattered", title="the connector, close", body="before close the load; connector weights " * 3),
            entry(
                "phrase",
                body="Some more words so that it is longer. After that, **close** the `connector` before load.",
            ),
        ],
    )
    assert found(folder, "close the connector before load")[0] == "phrase"


@pytest.mark.parametrize("query", ["review_depth", "Review_Depth", "review-depth", "review  depth"])
def test_what_is_spelt_alike_comes_first(folder, query):
    spellings = {"a": "review_depth", "b": "review-depth", "c": "review depth"}
    build(folder, [entry(key, body=f"{text}, and more") for key, text in spellings.items()])
    first, *others = found(folder, query)
    assert spellings[first] == " ".join(query.lower().split())
    assert len(others) == 2


def test_a_piece_of_a_long_name_is_found_by_more_than_its_parts(folder):
    decoys = [entry(f"d{n}", body="resolve the module; a module to resolve " * 4) for n in range(90)]
    build(folder, [entry("x", body=f"auto_resolve_module_path {'and more ' * 200}"), *decoys])
    assert found(folder, "resolve_module")[0] == "x"


def test_the_fields_of_an_entry_are_no_phrase(folder):
    build(folder, [entry("apart", title="alpha", body="beta"), entry("together", body="alpha beta gamma delta")])
    assert found(folder, "alpha beta")[0] == "together"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Entries whose words are drawn from the same few, so that only their order tells them apart."""
    rng = random.Random(20)
    words = [
        "connector",
        "worker",
        "控制面",
        "close()",
        "load_weights",
        "显存",
        "graph",
        "before",
        "初始化",
        "after",
        "must",
        "不能",
        "vLLM",
        "config",
    ]
    texts = {f"R-{n}": " ".join(rng.choice(words) for _ in range(80)) for n in range(60)}
    folder = tmp_path_factory.mktemp("library") / "search"
    build(folder, [entry(key, body=text) for key, text in texts.items()])
    return folder, texts


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_cut_phrase_finds_its_entry(library, data):
    folder, texts = library
    key = data.draw(st.sampled_from(sorted(texts)))
    start = data.draw(st.integers(0, len(texts[key]) - 60))
    phrase = texts[key][start : start + 60]
    assert phrase in texts[found(folder, phrase, limit=1)[0]]


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ('"', False),
        ("AND (", True),
        ("OR NOT (((", True),
        ("field:", False),
        ("title:[a TO zebra]", True),
        ("connector~2^5", True),
        ("*", False),
        ("?*", False),
        ("\\", False),
        ("\0\0connector\0", True),
        ("\ud800connector\udcff", True),
        ("🎉👩\u200d🚀", False),
        ("connector 注册 " * 1000, True),
        ("".join(map(chr, range(0x4E00, 0x7510))), False),
        (" ".join(f"word{n}" for n in range(1500)), False),
        ("a/" * 5000, True),
        ("_" * 10_000, False),
        ("x" * 10_000, False),
        ("", False),
        (" \t\n", False),
    ],
    ids=lambda value: ascii(value)[:16],
)
def test_no_query_is_wrong(documents, query, hits):
    assert bool(search(documents, query)) is hits


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_query_gets_an_answer(documents, query):
    assert all(hit.score >= 0 for hit in search(documents, query))


# --- refresh ----------------------------------------------------------------------------------


def test_refresh_changes_only_what_differs(folder):
    loaded = []

    def load(keys):
        loaded.append(sorted(keys))
        return [entry(key, body=f"text {key}") for key in keys]

    assert refresh(folder, {"a": "1", "b": "1", "c": "1"}, load) == Refreshed(added=3)
    assert refresh(folder, {"a": "1", "b": "2", "d": "1"}, load) == Refreshed(added=1, changed=1, removed=1, kept=1)
    assert refresh(folder, {"a": "1", "b": "2", "d": "1"}, load) == Refreshed(kept=3)
    assert loaded == [["a", "b", "c"], ["b", "d"]]
    assert sorted(found(folder, "text")) == ["a", "b", "d"]
    assert refresh(folder, {}, load) == Refreshed(removed=3)
    assert found(folder, "text") == []


def test_refresh_reports_progress(folder):
    seen = []
    build(folder, [entry(f"e{n}") for n in range(3)], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_what_cannot_be_loaded_is_tried_again(folder):
    there = [entry("a", body="text")]
    assert refresh(folder, {"a": "1", "b": "1"}, lambda _: there) == Refreshed(added=1)
    assert found(folder, "text") == ["a"]
    there = [entry("b", body="text")]
    assert refresh(folder, {"a": "1", "b": "1"}, lambda _: there) == Refreshed(added=1, kept=1)
    assert found(folder, "text") == ["a", "b"]


@pytest.mark.parametrize("state", ["empty", "filled"])
def test_what_loading_raises_leaves_the_old_state(folder, state):
    if state == "filled":
        build(folder, [entry("a", body="text")])

    def load(keys):
        yield entry(next(iter(keys)))
        raise LookupError("gone")

    with pytest.raises(LookupError):
        refresh(folder, {"b": "1", "c": "1"}, load)
    if state == "filled":
        assert found(folder, "text") == ["a"]
    assert build(folder, [entry("a", body="text")]).obstacle == ""
    assert_clean(folder)


def test_nothing_to_do_writes_nothing(folder):
    build(folder, DOCUMENTS)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert build(folder, DOCUMENTS) == Refreshed(kept=len(DOCUMENTS))
    search(folder, "connector")
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def assert_clean(folder):
    """The folder holds what the manifest names, and nothing else."""
    names = set(files(folder)) - {"rulebook.lock"}
    assert names == {"manifest.json", *json.loads((Path(folder) / "manifest.json").read_text())["files"]}


def test_segments_stay_few_and_dead_entries_go(folder):
    build(folder, [entry(f"e{n}", body="text") for n in range(64)])
    size = sum(map(len, files(folder).values()))
    for n in range(64):
        build(folder, [entry(f"e{m}", body=f"text {'new' if m <= n else ''}") for m in range(64)])
        assert len(list(folder.glob("*.seg"))) <= 8
    assert_clean(folder)
    assert sum(map(len, files(folder).values())) < 2 * size
    assert build(folder, [entry("e1", body="text new")]) == Refreshed(removed=63, kept=1)
    assert sum(map(len, files(folder).values())) < size / 4


#: A small library in which every text occurs under several keys.
TEXTS = ["connector 注册", "connector close 关闭", "the worker closes", "显存 profiling", "worker worker 注册表"]
QUERIES = ["connector", "注册", "close worker", "显", "work", "profil"]


@settings(max_examples=15, deadline=None)
@given(states=st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(TEXTS)), min_size=2, max_size=6))
def test_an_answer_does_not_depend_on_history(states, tmp_path_factory):
    # Enough entries that stay, so that dead ones are not removed at once.
    rest = {f"rest{n}": f"{TEXTS[n % len(TEXTS)]} {n}" for n in range(30)}
    kept = tmp_path_factory.mktemp("history") / "kept"
    for state in states:
        build(kept, [entry(key, body=text) for key, text in (rest | state).items()])
    fresh = kept.parent / "fresh"
    build(fresh, [entry(key, body=text) for key, text in reversed((rest | states[-1]).items())])
    for query in QUERIES:
        assert search(kept, query) == search(fresh, query)
        assert search(kept, query, limit=1) == search(fresh, query)[:1]


def test_seeded_random_numbers_do_not_repeat_names(folder):
    build(folder, [entry(f"e{m}", body="text False") for m in range(6)])
    for n in range(6):
        random.seed(0)
        outcome = build(folder, [entry(f"e{m}", body=f"text {m <= n}") for m in range(6)])
        assert outcome == Refreshed(changed=1, kept=5)
        assert len(found(folder, "text")) == 6
        assert len(found(folder, "true")) == n + 1


def test_names_that_are_no_utf8(folder):
    odd = os.fsdecode(b"rules/caf\xe9.md")
    build(folder, [entry(odd, body="text", paths=(odd,)), entry("b")])
    assert [hit.keys for hit in search(folder, "text")] == [(odd,)]
    assert [hit.keys for hit in search(folder, odd)] == [(odd,)]
    assert build(folder, [entry("b")]) == Refreshed(removed=1, kept=1)
    assert found(folder, "text") == []


# --- damage -----------------------------------------------------------------------------------


def damage(path, how):
    if how == "gone":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif how == "garbage":
        path.write_bytes(os.urandom(path.stat().st_size))
    elif how == "one bit":
        data = bytearray(path.read_bytes())
        data[len(data) * 2 // 3] ^= 16
        path.write_bytes(data)
    elif how == "a folder":
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize("how", ["gone", "empty", "cut", "garbage", "one bit", "a folder"])
@pytest.mark.parametrize("pattern", ["*.seg", "*.toc"])
def test_a_damaged_file_is_noticed_and_replaced(folder, pattern, how):
    build(folder, DOCUMENTS)
    damage(next(folder.glob(pattern)), how)
    with pytest.raises(StoreError, match="no search index") as caught:
        search(folder, "connector")
    assert caught.value.hint
    assert build(folder, DOCUMENTS) == Refreshed(added=len(DOCUMENTS))
    assert len(found(folder, "connector")) == 3
    assert_clean(folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "\ud800",
        '{"version": 1}',
        '{"version": 1, "files": 3, "entries": []}',
        '{"version": 1, "files": {"x": 1}, "entries": {}}',
    ],
)
def test_a_damaged_manifest_is_noticed_and_replaced(folder, text):
    build(folder, DOCUMENTS)
    (folder / "manifest.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(StoreError, match="no search index"):
        search(folder, "connector")
    assert build(folder, DOCUMENTS) == Refreshed(added=len(DOCUMENTS))
    assert_clean(folder)


def test_another_version_is_built_anew(folder, monkeypatch):
    build(folder, DOCUMENTS)
    monkeypatch.setattr("rulebook.index.folder.VERSION", VERSION + 1)
    with pytest.raises(StoreError, match="no search index"):
        search(folder, "connector")
    assert build(folder, DOCUMENTS) == Refreshed(added=len(DOCUMENTS))
    assert_clean(folder)


# Whoosh leaves a file open that it cannot read.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_intact_files_that_cannot_be_read_are_built_anew(folder):
    build(folder, DOCUMENTS)
    toc = next(folder.glob("*.toc"))
    toc.write_bytes(b"\x04\x08\x04not whoosh's")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][toc.name] = checksum(str(toc))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert build(folder, DOCUMENTS[:2]) == Refreshed(added=2)
    assert set(found(folder, "connector")) == {"AFD-I1", "AFD-I2"}
    assert_clean(folder)


def test_leftovers_are_removed_and_other_files_are_not(folder):
    build(folder, DOCUMENTS)
    for name in ("rulebook_0.seg", "_rulebook_9.toc", "_rulebook_9.toc.17", "rulebook_0.trm", "notes.txt"):
        (folder / name).write_text("left over")
    (folder / "rulebook.tmp").mkdir()
    (folder / "rulebook.tmp" / "run").write_text("left over")
    assert len(found(folder, "connector")) == 3
    build(folder, DOCUMENTS[:3])
    assert (folder / "notes.txt").read_text() == "left over"
    (folder / "notes.txt").unlink()
    assert_clean(folder)


def test_no_index(folder):
    with pytest.raises(StoreError, match="no search index"):
        search(folder, "connector")
    folder.mkdir(mode=0o700)
    with pytest.raises(StoreError, match="no search index"):
        search(folder, "connector")


# --- whose folder it is -----------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
@pytest.mark.parametrize("kind", ["link", "file", "group", "others", "owner"])
def test_only_a_private_folder_is_opened(tmp_path, folder, kind):
    build(folder, DOCUMENTS)
    if kind == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        folder = tmp_path / "file"
        folder.write_text("")
    elif kind == "owner":
        if not AS_ROOT:
            pytest.skip("only root can give a folder away")
        os.chown(folder, 65534, -1)
    else:
        folder.chmod(0o720 if kind == "group" else 0o702)
    with pytest.raises(StoreError) as caught:
        search(folder, "connector")
    assert str(folder) in caught.value.message
    with pytest.raises(StoreError):
        build(folder, DOCUMENTS)


def test_a_new_folder_is_private(folder):
    build(folder, DOCUMENTS)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
def test_a_read_only_folder_answers():
    # Root may write everywhere, so the script becomes somebody else, after it has imported everything.
    script = """
        import os, pathlib, tempfile
        from rulebook.index.entries import Entry, Refreshed
        from rulebook.index.search import search
        from rulebook.index.writer import refresh
        from rulebook.errors import StoreError

        def load(keys):
            return [Entry(key=k, group=k, kind="rule", id=k, title="", body="connector") for k in keys]

        with tempfile.TemporaryDirectory() as top:
            os.chmod(top, 0o755)
            folder = os.path.join(top, "search")
            refresh(folder, {"a": "1"}, load)
            search(folder, "connector")
            for name in [*pathlib.Path(folder).iterdir(), pathlib.Path(folder)]:
                if os.geteuid() == 0:
                    os.chown(name, 65534, -1)
                os.chmod(name, 0o500)
            user = os.geteuid()
            if user == 0:
                os.seteuid(65534)
            try:
                open(os.path.join(folder, "x"), "w")
            except PermissionError:
                pass
            else:
                raise SystemExit("the folder can be written")
            assert [hit.id for hit in search(folder, "connector")] == ["a"]
            assert refresh(folder, {"a": "1"}, load) == Refreshed(kept=1)
            outcome = refresh(folder, {"a": "2"}, load)
            assert (outcome.kept, outcome.changed) == (1, 0), outcome
            assert "cannot write" in outcome.obstacle and folder in outcome.obstacle
            assert [hit.id for hit in search(folder, "connector")] == ["a"]
            try:
                refresh(os.path.join(folder, "deeper"), {"a": "2"}, load)
            except StoreError as error:
                assert "cannot write" in error.message and error.hint
            else:
                raise SystemExit("an index was built in a folder that cannot be written")
            os.seteuid(user)
            os.chmod(folder, 0o700)
        print("done")
    """
    result = run(script)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


# --- several processes, and their ends --------------------------------------------------------

#: Entries that all carry the number of their state, which digests repeat.
STATES = """
    import json, os, random, signal, sys, time
    from rulebook.index.entries import Entry, Refreshed
    from rulebook.index.search import search
    from rulebook.index.writer import refresh
    from rulebook.errors import StoreError

    folder = sys.argv[1]
    COUNT = 12

    def go_to(state, keys=None, **options):
        def load(keys):
            return [Entry(key=k, group=k, kind="rule", id=k, title="", body=f"common state{state} {k}") for k in keys]
        # Each state changes most of the entries, so that segments are merged and removed all the time.
        return refresh(folder, {f"e{n}": str(state) for n in range(COUNT)}, load, **options)

    def check():
        # All entries, and all of the same state.
        assert len(search(folder, "common", limit=50)) == COUNT
        with open(os.path.join(folder, "manifest.json")) as file:
            states = set(json.load(file)["entries"].values())
        assert len(states) == 1, states
        return int(states.pop())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment(folder):
    script = (
        STATES
        + """
    go_to(0)
    rng = random.Random(int(sys.argv[2]))
    interrupted = 0
    for round in range(40):
        before = check()
        child = os.fork()
        if child == 0:
            try:
                for state in range(before + 1, before + 1000):
                    go_to(state)
            finally:
                os._exit(1)
        time.sleep(rng.random() * 0.03)
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        reached = check()
        assert len(search(folder, f"state{reached}", limit=50)) == COUNT
        left = set(os.listdir(folder))
        go_to(reached + 1, timeout=1)
        with open(os.path.join(folder, "manifest.json")) as file:
            named = {"manifest.json", "rulebook.lock", *json.load(file)["files"]}
        assert set(os.listdir(folder)) == named
        interrupted += any(name.endswith((".tmp", ".trm", ".pst")) for name in left)
    print("interrupted" if interrupted else "never interrupted")
    """
    )
    result = run(script, folder, 7)
    assert (result.returncode, result.stdout, result.stderr) == (0, "interrupted\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_processes_write_and_read_at_once(folder):
    script = (
        STATES
        + """
    go_to(0)
    children = []
    for writer in (0, 1):
        child = os.fork()
        if child == 0:
            for state in range(15):
                assert go_to(2 * state + writer, timeout=30).obstacle == ""
            os._exit(0)
        children.append(child)
    answers = 0
    while children:
        assert len(search(folder, "common", limit=50)) == COUNT
        answers += 1
        done, status = os.waitpid(-1, os.WNOHANG)
        if done:
            assert status == 0
            children.remove(done)
    assert answers > 10
    check()
    print("done")
    """
    )
    result = run(script, folder)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_a_second_writer_waits_for_the_first(folder):
    first = threading.Event()

    def slow(keys):
        first.set()
        time.sleep(0.3)
        return [entry(key, body="text") for key in keys]

    thread = threading.Thread(target=refresh, args=(folder, {"a": "1"}, slow))
    thread.start()
    first.wait()
    # By the time it gets its turn, there is nothing left to do.
    assert refresh(folder, {"a": "1"}, lambda _: pytest.fail("loaded twice")) == Refreshed(kept=1)
    thread.join()
    assert found(folder, "text") == ["a"]


def test_a_writer_that_takes_too_long(folder):
    folder.mkdir(mode=0o700)
    with lock(str(folder), 0) as locked:
        assert locked
        with pytest.raises(StoreError, match="another process"):
            build(folder, DOCUMENTS, timeout=0)
    build(folder, DOCUMENTS)
    with lock(str(folder), 0):
        outcome = build(folder, DOCUMENTS[:2], timeout=0.1)
        assert (outcome.kept, outcome.removed) == (len(DOCUMENTS), 0)
        assert "another process" in outcome.obstacle
        assert len(found(folder, "connector")) == 3
    assert build(folder, DOCUMENTS[:2]).obstacle == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs file size limits")
def test_a_full_disk_leaves_the_old_state(folder):
    script = (
        STATES
        + """
    import resource
    go_to(0)
    size = max(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    for limit in (0, 10, size // 4, size // 2, size - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        outcome = go_to(1)
        assert outcome.kept == COUNT and "cannot write" in outcome.obstacle, outcome
        assert check() == 0
        assert not [name for name in os.listdir(folder) if name.endswith((".trm", ".pst", ".tmp"))]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert go_to(1).changed == COUNT
    print("done")
    """
    )
    # In this mode Python tells of all that goes wrong while files are closed.
    result = run(script, folder, env={"PYTHONDEVMODE": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


# --- whoosh -----------------------------------------------------------------------------------


def test_users_see_no_warnings_of_whoosh(folder, tmp_path):
    script = """
        import sys
        from rulebook.index.entries import Entry, Refreshed
        from rulebook.index.search import search
        from rulebook.index.writer import refresh

        def load(keys):
            return [Entry(key=k, group=k, kind="rule", id=k, title="", body="connector") for k in keys]

        for state in range(4):
            refresh(sys.argv[1], {"a": "1", "b": str(state)}, load)
        print([hit.id for hit in search(sys.argv[1], "connector")])
    """
    # Compiled anew, since a module's syntax warnings are given only then.
    result = run(
        script,
        folder,
        env={"PYTHONPYCACHEPREFIX": str(tmp_path / "cache"), "PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"},
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "['a', 'b']\n", "")


def test_version_is_raised_with_what_is_indexed():
    sample = entry(
        "owner/name#12",
        title="AFDConnectorFactory, parse_extra_config() and afd_plugin.connectors.gpu",
        body="Ｆｕｌｌ-width café 控制面驱动 データ 한국어 v0.26 #424 l4_4 --force-reinstall documents " * 9,
        identifiers=("P2pNcclAFDConnector",),
        paths=("a/b/c.py", "src/**/*.{ts,tsx}"),
        tags=("kv cache",),
        labels=("ci",),
    )
    data = json.dumps(document(sample), sort_keys=True)
    # Where this fails on purpose, raise the version and put its new digest here.
    digests = {2: "941c5cad1ce69b907ffb523b412db4ffac406d280b6f2c10a16c2d842a4192b2"}
    assert {VERSION: hashlib.sha256(data.encode()).hexdigest()} == digests
