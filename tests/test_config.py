"""``rulebook.toml``: what is read, what is refused, and how the root is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kb import make_kb
from rulebook.config import Config, Target, find_root, parse_config, slug_of
from rulebook.errors import NoKnowledgeBase

URL = "https://github.com/owner/name"


def parse(text: str) -> Config:
    return parse_config(text.encode())


def test_targets() -> None:
    config = parse(
        f'[repos.demo]\nurl = "{URL}"\n[repos."a.b_c-1"]\nurl = "x/y.git"\ndefault_branch = "dev"\nwaivers = "docs/waiver"'
    )
    assert config.findings == ()
    assert dict(config.targets) == {
        "demo": Target(alias="demo", url=URL, default_branch="main", waivers=""),
        "a.b_c-1": Target(alias="a.b_c-1", url="x/y.git", default_branch="dev", waivers="docs/waiver"),
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "[repos]\n"])
def test_no_targets(text: str) -> None:
    assert parse(text) == Config(targets={})


def test_a_byte_order_mark_and_crlf_do_not_matter() -> None:
    config = parse_config(b"\xef\xbb\xbf[repos.demo]\r\nurl = 'u'\r\n")
    assert (list(config.targets), config.findings) == (["demo"], ())


@pytest.mark.parametrize(
    ("text", "code", "line", "said"),
    [
        pytest.param(b"[repos.demo]\nurl = '\xff'", "config-encoding", 2, "20", id="latin-1"),
        pytest.param(b"[repos.demo]\nurl = \n", "config-toml", 2, "not TOML", id="no-value"),
        pytest.param(b"[repos.demo]\n[repos.demo]\n", "config-toml", 2, "not TOML", id="twice"),
        pytest.param(b"x = " + b"9" * 5000, "config-toml", 0, "not TOML", id="endless-number"),
        pytest.param(b"x = " + b"[" * 50_000, "config-toml", 0, "not TOML", id="deep"),
        pytest.param(b"x = 2026-13-45", "config-toml", 1, "not TOML", id="no-date"),
        pytest.param(b"[repositories.demo]\n", "config-key", 1, "'repositories'", id="unknown-table"),
        pytest.param(b"repos = 3\n", "config-value", 1, "'repos'", id="repos-is-no-table"),
        pytest.param(b"[repos]\ndemo = 'url'\n", "config-value", 2, "[repos.demo]", id="target-is-no-table"),
        pytest.param(b"[repos.'a b']\n", "config-alias", 1, "'a b'", id="alias-with-a-space"),
        pytest.param(b"[repos.'a@b']\n", "config-alias", 1, "'a@b'", id="alias-with-an-at"),
        pytest.param(b"[repos.'-x']\n", "config-alias", 1, "'-x'", id="alias-like-an-option"),
        pytest.param(b"[repos.demo]\nbranch = 'x'\n", "config-key", 2, "'branch'", id="unknown-key"),
        pytest.param(b"[repos.demo]\nurl = 3\n", "config-value", 2, "url", id="number"),
        pytest.param(b"[repos.demo]\nurl = ''\n", "config-value", 2, "url", id="empty"),
        pytest.param(b"[repos.demo]\nurl = '--upload-pack=x'\n", "config-value", 2, "url", id="option-as-url"),
        pytest.param(b"[repos.demo]\ndefault_branch = '-d'\n", "config-value", 2, "default_branch", id="option"),
        pytest.param(b'[repos.demo]\nurl = "a\\u001b[2Jb"\n', "config-value", 2, "url", id="escape-sequence"),
    ],
)
def test_what_is_wrong_is_told(text: bytes, code: str, line: int, said: str) -> None:
    config = parse_config(text)
    assert [(finding.code, finding.location) for finding in config.findings] == [(code, ("rulebook.toml", line))]
    assert said in config.findings[0].message
    assert config.findings[0].remedy


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("\n[repos.a]\nurl = 'x'\n\n[repos.b]\n# url = 2\nurl = 3\n", 7, id="key-of-another-table"),
        pytest.param('[repos . "b"]\n url=3', 2, id="quoted-and-spaced"),
        pytest.param("[repos]\nb = {url = 3}", 2, id="inline-table"),
        pytest.param("[repos]\na.url = 'x'\nb.url = 3", 3, id="dotted-key"),
        pytest.param("repos = {b = {url = 3}}", 1, id="all-in-one"),
    ],
)
def test_the_line_of_a_bad_value(text: str, line: int) -> None:
    assert [finding.location.line for finding in parse(text).findings] == [line]


def test_one_bad_table_hides_no_other() -> None:
    config = parse(f'[repos.demo]\nurl = "{URL}"\nx = 1\n[repos."a b"]\n[repos.other]\nurl = 2\ndefault_branch = "dev"')
    assert dict(config.targets) == {"demo": Target("demo", URL), "other": Target("other", "", "dev")}
    assert sorted(finding.code for finding in config.findings) == ["config-alias", "config-key", "config-value"]


@pytest.mark.parametrize(
    ("url", "slug"),
    [
        ("https://github.com/owner/name", "owner/name"),
        ("https://github.com/owner/name.git", "owner/name"),
        ("https://github.com/owner/name/", "owner/name"),
        ("git@github.com:owner/name.git", "owner/name"),
        ("ssh://git@host:2222/owner/name", "owner/name"),
        ("/srv/git/owner/name.git", "owner/name"),
        ("name", ""),
        ("", ""),
    ],
)
def test_slugs(url: str, slug: str) -> None:
    assert slug_of(url) == slug
    assert Target("alias", url).slug == (slug or "alias")


def test_resolving() -> None:
    config = parse(f'[repos.demo]\nurl = "{URL}.git"')
    assert [config.resolve(name) for name in ("demo", "owner/name", "Owner/NAME", "other/name", "")] == [
        *("demo", "demo", "demo"),
        *("other/name", ""),
    ]


def test_the_root_is_the_nearest_folder_above(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/a/A-1.md": "x", "inner/rulebook.toml": "", "inner/x": ""})
    assert find_root(str(root / "rules/a")) == os.path.realpath(root)
    assert find_root(str(root / "inner")) == os.path.realpath(root / "inner")
    (tmp_path / "link").symlink_to(root / "rules")
    assert find_root(str(tmp_path / "link")) == os.path.realpath(root)


def test_no_root(tmp_path: Path) -> None:
    (tmp_path / "rulebook.toml").mkdir()
    with pytest.raises(NoKnowledgeBase, match="no knowledge base here") as caught:
        find_root(str(tmp_path))
    assert "--root" in caught.value.hint
