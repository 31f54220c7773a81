"""The content tree on disk: what is content, what is refused, and that one bad file stops no other."""

from __future__ import annotations

import os
import socket
import stat
import threading
import tracemalloc
from pathlib import Path

import pytest

from kb import RULE, make_kb
from rulebook.files import MAX_BYTES, read_text, scan, split_language, stamp_of
from rulebook.metadata import split_document
from rulebook.model import Finding, Kind


def found(root: Path) -> list[str]:
    return [entry.path for entry in scan(str(root))[0]]


def told(root: Path) -> list[tuple[str, str]]:
    return sorted((finding.code, finding.location.path) for finding in scan(str(root))[1])


def finding_of(root: Path, path: str) -> Finding:
    result = read_text(str(root), path)
    assert isinstance(result, Finding)
    return result


def test_content_is_found_in_order_and_with_its_kind(tmp_path: Path) -> None:
    names = ["rules/b/B-1.md", "rules/a/deep/er/A-1.md", "rules/A-0.md", "waivers/x/7.md", "reviews/o/n/12.md"]
    entries, findings = scan(str(make_kb(tmp_path, dict.fromkeys(names, "x"))))
    assert [(entry.path, entry.kind) for entry in entries] == [
        ("reviews/o/n/12.md", Kind.REVIEW),
        ("rules/A-0.md", Kind.RULE),
        ("rules/a/deep/er/A-1.md", Kind.RULE),
        ("rules/b/B-1.md", Kind.RULE),
        ("waivers/x/7.md", Kind.WAIVER),
    ]
    assert findings == []
    assert all(entry.stamp.size == 1 for entry in entries)


def test_what_is_no_content(tmp_path: Path) -> None:
    names = [
        *("rules/_draft.md", "rules/.hidden.md", "rules/_drafts/A-1.md", "rules/.git/A-1.md", "rules/README.md"),
        *("rules/a/README.md", "rules/notes.txt", "rules/A-1.markdown", "rules/A-1.md.bak", "other/A-1.md", "A-1.md"),
    ]
    root = make_kb(tmp_path, dict.fromkeys(names, "x"))
    os.mkfifo(root / "rules/pipe")
    (root / "rules/folder.md").mkdir()
    assert scan(str(root)) == ([], [])


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    assert scan(str(make_kb(tmp_path, {}))) == ([], [])


def test_a_file_in_a_folders_place(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules": "x", "reviews/o/n/1.md": "x"})
    assert told(root) == [("file-kind", "rules")]
    assert found(root) == ["reviews/o/n/1.md"]


def test_links(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/a/A-1.md": RULE, "shared/A-9.md": RULE})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    for name, target in {
        "inside.md": "a/A-1.md",
        "from-elsewhere.md": "../shared/A-9.md",
        "README.md": "a/A-1.md",
        "_draft.md": "../../outside/secret.md",
        "leaves.md": "../../outside/secret.md",
        "absolute.md": str(outside / "secret.md"),
        "leaves-for-a-folder": "../../outside",
        "folder": "a",
        "up": "..",
        "dangling.md": "nothing.md",
        "one.md": "two.md",
        "two.md": "one.md",
        "image.png": "a/A-1.md",
    }.items():
        (root / "rules" / name).symlink_to(target)
    assert found(root) == ["rules/a/A-1.md", "rules/from-elsewhere.md", "rules/inside.md"]
    assert told(root) == [
        ("file-kind", "rules/folder"),
        ("file-kind", "rules/up"),
        ("file-outside", "rules/absolute.md"),
        ("file-outside", "rules/leaves-for-a-folder"),
        ("file-outside", "rules/leaves.md"),
        ("file-unreadable", "rules/dangling.md"),
        ("file-unreadable", "rules/one.md"),
        ("file-unreadable", "rules/two.md"),
    ]


@pytest.mark.parametrize(
    ("target", "code"),
    [("../outside", "file-outside"), ("elsewhere", "file-kind"), ("nothing", "file-unreadable")],
)
def test_a_link_in_a_top_folders_place_is_not_followed(tmp_path: Path, target: str, code: str) -> None:
    root = make_kb(tmp_path, {"elsewhere/A-1.md": RULE, "reviews/o/n/1.md": "x"})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/A-1.md").write_text(RULE)
    (root / "rules").symlink_to(target)
    assert found(root) == ["reviews/o/n/1.md"]
    assert told(root) == [(code, "rules")]


@pytest.mark.parametrize("spelling", ["link", ".", "real/"])
def test_links_are_inside_however_the_root_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    root = make_kb(tmp_path, {"rules/A-1.md": RULE})
    (root / "rules/B-1.md").symlink_to("A-1.md")
    (tmp_path / "link").symlink_to(root)
    monkeypatch.chdir(root)
    place = {"link": str(tmp_path / "link"), ".": ".", "real/": f"{root}/"}[spelling]
    entries, findings = scan(place)
    assert [entry.path for entry in entries] == ["rules/A-1.md", "rules/B-1.md"]
    assert findings == []


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/A-1.md": RULE, "rules/规则.md": RULE})
    try:
        (root / "rules" / os.fsdecode(b"bad\xff.md")).write_text(RULE)
    except OSError:
        pytest.skip("this file system takes no such name")
    assert found(root) == ["rules/A-1.md", "rules/规则.md"]
    assert [code for code, _ in told(root)] == ["file-name"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"a\nb\n", "a\nb\n", id="plain"),
        pytest.param(b"\xef\xbb\xbfa\n", "a\n", id="byte-order-mark"),
        pytest.param(b"a\r\nb\r\n", "a\nb\n", id="crlf"),
        pytest.param(b"a\rb\r", "a\nb\n", id="cr"),
        pytest.param(b"", "", id="empty"),
        pytest.param("规则 — é 😀".encode(), "规则 — é 😀", id="unicode"),
    ],
)
def test_text(tmp_path: Path, data: bytes, text: str) -> None:
    root = make_kb(tmp_path, {"rules/A-1.md": data})
    assert read_text(str(root), "rules/A-1.md") == text


@pytest.mark.parametrize("ending", ["\r\n", "\r"], ids=["crlf", "cr"])
def test_line_endings_and_the_mark_change_nothing(tmp_path: Path, ending: str) -> None:
    data = b"\xef\xbb\xbf" + RULE.replace("\n", ending).encode()
    root = make_kb(tmp_path, {"rules/A.md": data})
    text = read_text(str(root), "rules/A.md")
    assert isinstance(text, str)
    assert split_document(text, "rules/A.md") == split_document(RULE, "rules/A.md")


@pytest.mark.parametrize(
    ("data", "line", "said"),
    [
        pytest.param("a\nb\nné".encode("latin-1"), 3, "0xe9", id="latin-1"),
        pytest.param("a\n".encode("utf-16"), 1, "0xff", id="utf-16"),
        pytest.param(b"a\n\xed\xa0\x80", 2, "0xed", id="surrogate"),
        pytest.param(b"a\n\xc3", 2, "0xc3", id="cut"),
        pytest.param(b"a\nb\0\n", 2, "NUL", id="nul"),
    ],
)
def test_what_is_no_text(tmp_path: Path, data: bytes, line: int, said: str) -> None:
    finding = finding_of(make_kb(tmp_path, {"rules/A.md": data}), "rules/A.md")
    assert (finding.code, finding.location) == ("file-encoding", ("rules/A.md", line))
    assert said in finding.message


def test_a_file_of_the_largest_size_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/A.md": b"x" * MAX_BYTES, "rules/B.md": b"x" * (MAX_BYTES + 1)})
    assert read_text(str(root), "rules/A.md") == "x" * MAX_BYTES
    assert finding_of(root, "rules/B.md").code == "file-size"


def test_of_a_huge_file_no_more_than_the_bound_is_read(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/A.md": ""})
    os.truncate(root / "rules/A.md", 50 << 20)
    tracemalloc.start()
    try:
        assert finding_of(root, "rules/A.md").code == "file-size"
        assert tracemalloc.get_traced_memory()[1] < 8 * MAX_BYTES
    finally:
        tracemalloc.stop()


def test_what_is_neither_file_nor_folder_is_named_and_never_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_kb(tmp_path, {"rules/A-1.md": RULE, "shared/x": ""})
    # The path of a socket may not be long.
    monkeypatch.chdir(root)
    for name in ("pipe.md", "_pipe.md", ".pipe.md", "README.md", "pipe"):
        os.mkfifo(f"rules/{name}")
    os.mkfifo("shared/pipe")
    Path("rules/link.md").symlink_to("../shared/pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("rules/socket.md")
        assert told(root) == [("file-kind", f"rules/{name}.md") for name in ("link", "pipe", "socket")]
        assert found(root) == ["rules/A-1.md"]
        assert finding_of(root, "rules/socket.md").code == "file-unreadable"
    # One that took the place of a file since it was found.
    assert finding_of(root, "rules/pipe.md").code == "file-kind"


@pytest.mark.skipif(not hasattr(os, "mknod") or os.geteuid() != 0, reason="only root makes devices")
def test_a_device(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/A-1.md": RULE})
    try:
        os.mknod(root / "rules/zero.md", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this container makes no devices")
    assert told(root) == [("file-kind", "rules/zero.md")]
    assert finding_of(root, "rules/zero.md").code in ("file-kind", "file-unreadable")


def test_of_a_file_that_grows_while_it_is_read_no_more_than_the_bound_is_read(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/A-1.md": "x" * MAX_BYTES})
    path = root / "rules/A-1.md"
    stamp = stamp_of(str(path))
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab") as file:
            while not stop.is_set() and file.tell() < MAX_BYTES * 16:
                file.write(b"x" * 4096)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        results = [read_text(str(root), "rules/A-1.md") for _ in range(20)]
    finally:
        stop.set()
        writer.join()
    assert {r.code if isinstance(r, Finding) else len(r) for r in results} <= {"file-size", MAX_BYTES}
    # What was read is older than the stamp that the next look sees, so it is read again.
    assert stamp_of(str(path)) != stamp


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/A.md": "x"})
    (root / "rules/A.md").chmod(0)
    assert finding_of(root, "rules/A.md").code == "file-unreadable"


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/A.md": "x"})
    before = stamp_of(str(root / "rules/A.md"))
    (root / "rules/A.md").unlink()
    assert finding_of(root, "rules/A.md").code == "file-unreadable"
    assert before is not None
    assert stamp_of(str(root / "rules/A.md")) is None


def test_a_stamp_tells_of_a_replaced_file(tmp_path: Path) -> None:
    root = make_kb(tmp_path, {"rules/A.md": "x", "rules/B.md": "y"})
    before = scan(str(root))[0][0]
    times = os.stat(root / "rules/A.md")
    os.replace(root / "rules/B.md", root / "rules/A.md")
    os.utime(root / "rules/A.md", ns=(times.st_atime_ns, times.st_mtime_ns))
    after = scan(str(root))[0][0]
    assert (before.path, before.stamp.size, before.stamp.mtime_ns) == (
        after.path,
        after.stamp.size,
        after.stamp.mtime_ns,
    )
    assert before.stamp != after.stamp


@pytest.mark.parametrize(
    ("path", "original", "language"),
    [
        ("rules/a/AFD-I1.zh.md", "rules/a/AFD-I1.md", "zh"),
        ("reviews/o/n/12.zh-Hant.md", "reviews/o/n/12.md", "zh-Hant"),
        ("rules/AFD-I1.md", "rules/AFD-I1.md", ""),
        ("rules/AFD.1.md", "rules/AFD.1.md", ""),
        ("rules/AFD-I1.ZH.md", "rules/AFD-I1.ZH.md", ""),
        ("rules/zh.md", "rules/zh.md", ""),
    ],
)
def test_twins_are_known_by_their_names(path: str, original: str, language: str) -> None:
    assert split_language(path) == (original, language)
