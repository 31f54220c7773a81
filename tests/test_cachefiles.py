"""Whatever stands in the place of a file of the cache, the answer is given and the file is made again."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kb import make_kb
from rulebook.cachefiles import is_plain, make_way, remove
from rulebook.index.folder import read_manifest
from rulebook.lookup import search
from rulebook.store.folder import find_current
from rulebook.store.opening import open_store

Damage = Callable[[Path], object]


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwrite(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(5000))


def zero(file: Path) -> None:
    file.write_bytes(bytes(max(file.stat().st_size, 100)))


def empty(file: Path) -> None:
    file.write_bytes(b"")


def make_unreadable(file: Path) -> None:
    file.chmod(0)


def make_read_only(file: Path) -> None:
    file.chmod(0o444)


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()
    (file / "inner").write_text("x")


def replace_by_dangling_link(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.parent / "nowhere" / "at-all")


def replace_by_link_to_itself(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def replace_by_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


DAMAGES: list[Damage] = [
    truncate,
    overwrite,
    zero,
    empty,
    make_unreadable,
    make_read_only,
    replace_by_folder,
    replace_by_dangling_link,
    replace_by_link_to_itself,
    replace_by_pipe,
    Path.unlink,
]
FILES = ("building", "current", "catalog-*", "rulebook.lock", "manifest.json", "*.toc", "*.seg", "*")


def ask(root: Path, folder: Path) -> tuple[list[str], list[str]]:
    with open_store(str(root), str(folder)) as store:
        return [hit.row.name for hit in search(store, "DEMO-1")], store.notes


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", FILES)
def test_damage_is_mended_and_not_even_noticed(tmp_path: Path, damage: Damage, kind: str) -> None:
    root, folder = make_kb(tmp_path), tmp_path / "store"
    ask(root, folder)
    damaged = [file for file in folder.rglob(kind) if file.is_file()]
    assert damaged
    for file in damaged:
        damage(file)
    assert ask(root, folder) == (["DEMO-1"], [])
    assert ask(root, folder) == (["DEMO-1"], [])
    assert find_current(str(folder)), "the store lasts"
    assert read_manifest(str(folder / "search")), "the index lasts"


def test_what_a_link_leads_to_is_left_alone(tmp_path: Path) -> None:
    root, folder, mine = make_kb(tmp_path), tmp_path / "store", tmp_path / "mine"
    ask(root, folder)
    mine.write_text("precious")
    for file in [file for file in folder.rglob("*") if file.is_file()]:
        file.unlink()
        file.symlink_to(mine)
    assert ask(root, folder) == (["DEMO-1"], [])
    assert mine.read_text() == "precious"


def test_a_lock_that_cannot_be_opened_stays_the_same_file(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.touch(mode=0)
    before = lock.stat().st_ino
    make_way(str(lock))
    assert lock.stat().st_ino == before


def test_folders_are_removed_and_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    assert not is_plain(str(tmp_path / "link"))
    remove(str(tmp_path / "link"))
    assert (tmp_path / "folder" / "inner").is_dir()
    remove(str(tmp_path / "folder"))
    assert list(tmp_path.iterdir()) == []
