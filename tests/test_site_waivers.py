"""What the site says of waivers and of freshness: of what was checked, by clones, by stored answers, by the text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from basekit import pin as target_pin
from basekit import target as pinned_target
from basekit import write_rule
from kb import make_kb, rule
from rulebook.catalog import load
from rulebook.cli import main
from rulebook.errors import GitError, UnreadableInput, UsageError
from rulebook.git.repository import Repository
from rulebook.site.content import Content, parse_day, read_content
from rulebook.site.stored import read_audit, read_stale
from rulebook.site.waivers import Standing
from rulebook.waivers.audit import WaiverState
from rulebook.waivers.clones import TreeFiles
from waiverkit import CLEAN, PATCH, RULE, WAIVER, knowledge_base, target

if TYPE_CHECKING:
    from gitrepo import GitRepo

TODAY = "2026-06-01"
SHA = "0123456789012345678901234567890123456789"
KEPT = "waivers/bench/7.md"
FILED = "docs/waiver/7.md"


def kept(text: str = WAIVER, **keys: str) -> str:
    """A waiver as a knowledge base keeps it; values of ``keys`` are YAML, and an empty one leaves its key out."""
    values = {"title": "Patch", "repo": "bench", "pr": "7", "rule": "ENG-1", **keys}
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in values.items() if value) + f"---\n{text}"


def content(root: Path, repo: GitRepo | None = None, audits: Sequence[Path] = (), today: str = TODAY) -> Content:
    checkouts = {"bench": str(repo.path)} if repo else None
    return read_content(str(root), checkouts=checkouts, audits=list(map(str, audits)), today=today)


def standings(found: Content) -> list[tuple[str, str, str]]:
    """Number, state and reason of every waiver."""
    return [(w.number, str(w.standing.state or ""), w.standing.because) for w in found.waivers]


def store_audit(root: Path, repo: GitRepo, capsys: pytest.CaptureFixture[str], name: str = "audit.json") -> Path:
    """What the command writes, in a file."""
    line = ["waiver", "audit", "--root", str(root), "--checkout", f"bench={repo.path}", "--today", TODAY]
    assert main([*line, "--format", "json", "--quiet"]) in (0, 1)
    place = root.parent / name
    place.write_text(capsys.readouterr().out)
    return place


# --- states -----------------------------------------------------------------------------------

STATES = [
    pytest.param({"scripts/m3.sh": PATCH}, kept(), "in force", "", id="in force"),
    pytest.param({"scripts/m3.sh": CLEAN}, kept(), "orphan", "no patch in the tree is one that it names", id="orphan"),
    pytest.param({}, kept(), "orphan", "scripts/m3.sh is gone", id="script gone"),
    pytest.param(
        {"scripts/m3.sh": PATCH}, kept(expires="2026-05-31"), "expired", "it ended on 2026-05-31", id="expired"
    ),
    pytest.param(
        {"scripts/m3.sh": PATCH},
        kept(images='["vllm/vllm-openai:v0.8.0"]'),
        "expired",
        "m3-b200-vllm now runs vllm/vllm-openai:v0.9.1, not vllm/vllm-openai:v0.8.0",
        id="image moved on",
    ),
    pytest.param(
        {"scripts/m3.sh": PATCH},
        kept(WAIVER.replace("## Removal plan", "## Other")),
        "incomplete",
        "there is no section on 'removal'",
        id="incomplete",
    ),
]


@pytest.mark.parametrize(("files", "waiver", "state", "because"), STATES)
def test_a_clone_and_a_stored_audit_say_what_the_audit_says(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    files: dict[str, str],
    waiver: str,
    state: str,
    because: str,
) -> None:
    root, repo = knowledge_base(tmp_path, {KEPT: waiver}), target(tmp_path, files)
    stored = store_audit(root, repo, capsys)
    (audited,) = json.loads(stored.read_text())["waivers"]
    assert (audited["state"], audited["because"] or "") == (state, because)
    standing = Standing(WaiverState(state), because, repo.id("HEAD"), TODAY)
    for found in (content(root, repo), content(root, audits=[stored])):
        assert [item.standing for item in found.waivers] == [standing]
        (document,) = found.catalog.waivers
        item = found.filed(document)
        assert (item.number, item.rule, item.repo, item.path, item.link) == ("7", "ENG-1", "bench", "", "")
        assert item.document is document


@pytest.mark.parametrize(
    ("waiver", "state", "because"),
    [
        pytest.param(kept(), "", "no clone was at hand, and no audit", id="could be in force"),
        pytest.param(kept(expires=TODAY), "", "no clone was at hand, and no audit", id="its last day"),
        pytest.param(kept(expires="2026-05-31"), "expired", "it ended on 2026-05-31", id="its day has passed"),
        pytest.param(kept(expires="when v1 is out"), "", "no clone was at hand, and no audit", id="a condition"),
        pytest.param(kept("Nothing.\n"), "incomplete", "the waiver says nothing", id="empty"),
        pytest.param(
            kept(WAIVER.replace("## Why", "## Hm")),
            "incomplete",
            "there is no section on 'why'",
            id="a part is missing",
        ),
        pytest.param(
            kept(WAIVER.replace(", on `vllm/vllm-openai:v0.9.1`", "")),
            "incomplete",
            "it names no container image with its tag",
            id="no image",
        ),
        pytest.param(
            # Whether "m3-b200-vllm" is a configuration shows in the target alone.
            kept(WAIVER.replace("of configs/master.yaml", "")),
            "",
            "no clone was at hand, and no audit",
            id="what only a tree tells",
        ),
    ],
)
def test_what_the_text_alone_tells(tmp_path: Path, waiver: str, state: str, because: str) -> None:
    found = content(knowledge_base(tmp_path, {KEPT: waiver}))
    assert standings(found) == [("7", state, because)]
    # It was held against the day, and against no commit.
    assert [(item.standing.at, item.standing.day) for item in found.waivers] == [("", TODAY if state else "")]


@pytest.mark.parametrize(
    ("rule_text", "waiver", "because"),
    [
        (RULE, kept(rule="ENG-9"), "there is no rule 'ENG-9'"),
        (RULE, kept(repo="other"), "it is not of ENG-1's repository"),
        (RULE.replace("severity: error", "severity: error\nstatus: retired"), kept(), "ENG-1 is retired"),
        (rule("ENG-1", repo="bench"), kept(), "ENG-1 has no policy that says what a waiver must state"),
    ],
    ids=["no rule", "another repository", "retired", "no policy"],
)
def test_what_no_policy_asks_about_is_not_checked(tmp_path: Path, rule_text: str, waiver: str, because: str) -> None:
    root = knowledge_base(tmp_path, {"rules/bench/ENG-1.md": rule_text, KEPT: waiver})
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    for found in (content(root), content(root, repo)):
        assert standings(found) == [("7", "", because)]
        assert found.filed(found.catalog.waivers[0]).standing.state is None


def test_a_waiver_without_a_rule_belongs_to_its_repositorys_policy(tmp_path: Path) -> None:
    root = knowledge_base(tmp_path, {KEPT: kept(rule="")})
    found = content(root, target(tmp_path, {"scripts/m3.sh": PATCH}))
    assert standings(found) == [("7", "in force", "")]
    assert [item.number for item in found.waivers_from(found.catalog.rules[0])] == ["7"]


def test_a_target_is_looked_at_on_its_default_branch(tmp_path: Path) -> None:
    root = knowledge_base(tmp_path, {KEPT: kept()})
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    head = repo.id("HEAD")
    repo.git("checkout", "-q", "-b", "work")
    repo.commit({"scripts/m3.sh": CLEAN})
    (item,) = content(root, repo).waivers
    assert (item.standing.state, item.standing.at) == (WaiverState.IN_FORCE, head)


@pytest.mark.parametrize("bare", [True, False], ids=["bare", "with files"])
def test_any_whole_clone_will_do(tmp_path: Path, bare: bool) -> None:
    root = knowledge_base(tmp_path, {KEPT: kept()})
    repo = target(tmp_path, {"scripts/m3.sh": PATCH, "scripts/new\nline.sh": CLEAN})
    clone = repo.clone(tmp_path / "clone", *["--bare"] * bare)
    assert standings(content(root, clone)) == [("7", "in force", "")]


def test_what_a_clone_lacks_is_not_gone(tmp_path: Path) -> None:
    """A clone without contents cannot tell that a patch is gone, only that it was not looked at."""
    root = knowledge_base(tmp_path, {KEPT: kept()})
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    clone = repo.clone(tmp_path / "clone", "--filter=blob:none", "--bare")
    assert standings(content(root, clone)) == [("7", "", "the clone of bench lacks what has to be read")]
    files = TreeFiles(Repository(clone.path, environ=clone.environ), clone.id("HEAD"))
    with pytest.raises(GitError, match=r"lacks the content of scripts/m3\.sh"):
        files.read(["README.txt", "scripts/m3.sh"])


@pytest.mark.parametrize(
    ("prepare", "because"),
    [
        (lambda repo: repo.git("branch", "-m", "main", "trunk"), "the clone of bench has no branch 'main'"),
        (None, "no clone of bench was at hand"),
    ],
    ids=["no such branch", "no clone"],
)
def test_why_a_clone_did_not_tell(tmp_path: Path, prepare: Any, because: str) -> None:
    root = knowledge_base(tmp_path, {KEPT: kept()})
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    if prepare:
        prepare(repo)
        found = content(root, repo)
    else:
        found = read_content(str(root), checkouts={"other": str(repo.path)}, today=TODAY)
    assert standings(found) == [("7", "", because)]


def test_a_clone_that_is_none_is_the_builds_fault(tmp_path: Path) -> None:
    root = knowledge_base(tmp_path, {KEPT: kept()})
    with pytest.raises(GitError):
        read_content(str(root), checkouts={"bench": str(tmp_path)}, today=TODAY)


# --- filed in the target ----------------------------------------------------------------------


def test_what_only_the_target_has_is_listed_with_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nine = WAIVER.replace("PR #7", "PR #9")
    root = knowledge_base(tmp_path, {KEPT: kept()})
    repo = target(
        tmp_path, {"scripts/m3.sh": PATCH, FILED: WAIVER, "docs/waiver/9.md": nine, "docs/waiver/9.zh.md": nine}
    )
    stored = store_audit(root, repo, capsys)
    base = f"https://example.invalid/acme/bench/blob/{repo.id('HEAD')}/docs/waiver"
    for found in (content(root, repo), content(root, audits=[stored])):
        both, alone = found.waivers
        assert (both.number, both.path, both.link) == ("7", FILED, f"{base}/7.md")
        assert both.document is found.catalog.waivers[0]
        assert (alone.number, alone.document, alone.link) == ("9", None, f"{base}/9.md")
        assert both.standing.state is alone.standing.state is WaiverState.IN_FORCE
        assert list(found.waivers_from(found.catalog.rules[0])) == [both, alone]


def test_a_folder_with_a_dot_in_its_name(tmp_path: Path) -> None:
    """Of dots only those of a file's name tell a language."""
    root = knowledge_base(tmp_path, {"rules/bench/ENG-1.md": RULE.replace("docs/waiver", ".github/v1.0")})
    names = ("7.md", "7.zh.md", "README.md", "README.zh.md", "_8.md", ".9.md", "deeper/6.md", "5.txt")
    repo = target(tmp_path, {"scripts/m3.sh": PATCH, **{f".github/v1.0/{name}": WAIVER for name in names}})
    assert [(item.path, str(item.standing.state)) for item in content(root, repo).waivers] == [
        (".github/v1.0/7.md", "in force")
    ]


def test_in_force_stands_before_what_is_not(tmp_path: Path) -> None:
    files = {f"waivers/bench/{number}.md": kept(pr=number) for number in ("7", "70", "8")}
    files["waivers/bench/7.md"] = kept(expires="2020-01-01")
    files = {name: text.replace("PR #7", f"PR #{Path(name).stem}") for name, text in files.items()}
    found = content(knowledge_base(tmp_path, files), target(tmp_path, {"scripts/m3.sh": PATCH}))
    assert standings(found) == [
        ("7", "expired", "it ended on 2020-01-01"),
        ("8", "in force", ""),
        ("70", "in force", ""),
    ]
    assert [item.number for item in found.waivers_from(found.catalog.rules[0])] == ["8", "70", "7"]


# --- stored audits ----------------------------------------------------------------------------


def test_a_day_that_passed_since_the_audit_ends_a_waiver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = knowledge_base(tmp_path, {KEPT: kept(expires="2026-06-30")})
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    stored = store_audit(root, repo, capsys)
    assert standings(content(root, audits=[stored], today="2026-06-30")) == [("7", "in force", "")]
    (item,) = content(root, audits=[stored], today="2026-07-01").waivers
    assert item.standing == Standing(WaiverState.EXPIRED, "it ended on 2026-06-30", "", "2026-07-01")
    # What the audit found wrong stays what it found.
    repo.commit({"scripts/m3.sh": CLEAN})
    stored = store_audit(root, repo, capsys)
    assert standings(content(root, audits=[stored], today="2026-07-01"))[0][1] == "orphan"


def test_a_waiver_from_after_the_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = knowledge_base(tmp_path, {KEPT: kept()})
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    stored = store_audit(root, repo, capsys)
    (root / "waivers/bench/8.md").write_text(kept(WAIVER.replace("#7", "#8"), pr="8"))
    (root / "waivers/bench/9.md").write_text(kept(WAIVER.replace("#7", "#9"), pr="9", expires="2020-01-01"))
    reason = f"the audit of {repo.id('HEAD')[:12]} does not know it"
    expected = [("7", "in force", ""), ("8", "", reason), ("9", "expired", "it ended on 2020-01-01")]
    assert standings(content(root, audits=[stored])) == expected
    # One that the knowledge base had then and has no more is nobody's.
    (root / KEPT).unlink()
    assert standings(content(root, audits=[stored])) == expected[1:]


def test_a_clone_comes_before_an_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = knowledge_base(tmp_path, {KEPT: kept()})
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    stored = store_audit(root, repo, capsys)
    repo.commit({"scripts/m3.sh": CLEAN})
    assert standings(content(root, repo, [stored]))[0][1] == "orphan"
    # Where the clones that are there are others', the audit counts.
    found = read_content(str(root), checkouts={"other": str(repo.path)}, audits=[str(stored)], today=TODAY)
    assert standings(found)[0][1] == "in force"


def test_audits_of_several_repositories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = RULE.replace("ENG-1", "ENG-2").replace("repo: bench", "repo: second")
    root = knowledge_base(
        tmp_path,
        {
            KEPT: kept(),
            "rules/second/ENG-2.md": other,
            "waivers/second/7.md": kept(repo="second", rule="ENG-2"),
            "rulebook.toml": '[repos.bench]\nurl = "https://example.invalid/acme/bench"\n'
            '[repos.second]\nurl = "https://example.invalid/acme/second"\n',
        },
    )
    repo = target(tmp_path, {"scripts/m3.sh": PATCH})
    first = json.loads(store_audit_of(root, repo, capsys, "bench").read_text())
    second = {
        **first,
        "repo": "second",
        "rule": "ENG-2",
        "waivers": [{**first["waivers"][0], "path": "waivers/second/7.md"}],
    }
    second["waivers"][0]["state"] = "orphan"
    places = []
    for name, data in (("first", first), ("second", second)):
        places.append(tmp_path / f"{name}.json")
        places[-1].write_text(json.dumps(data))
    found = content(root, audits=places)
    assert [(item.repo, str(item.standing.state)) for item in found.waivers] == [
        ("bench", "in force"),
        ("second", "orphan"),
    ]
    with pytest.raises(UsageError, match="are both audits of bench by ENG-1"):
        content(root, audits=[places[0], places[1], places[0]])


def store_audit_of(root: Path, repo: GitRepo, capsys: pytest.CaptureFixture[str], alias: str) -> Path:
    line = ["waiver", "audit", "--root", str(root), "--repo", alias, "--checkout", f"{alias}={repo.path}"]
    assert main([*line, "--today", TODAY, "--format", "json", "--quiet"]) in (0, 1)
    place = root.parent / f"audit-{alias}.json"
    place.write_text(capsys.readouterr().out)
    return place


AUDIT: dict[str, Any] = {
    "version": 1,
    "rule": "ENG-1",
    "repo": "bench",
    "at": SHA,
    "today": TODAY,
    "waivers": [{"path": FILED, "state": "in force", "because": None}],
}
PIN = {"owner": "R", "kind": "rule", "pin": f"demo@{SHA}:a", "state": "gone", "because": "x"}
STALE: dict[str, Any] = {"version": 1, "head": {"demo": SHA, "other": None}, "pins": [PIN]}


def without(data: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != key}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="cut"),
        pytest.param("[]", id="list"),
        pytest.param("null", id="null"),
        pytest.param("3", id="number"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param(b"\xff\xfe{}", id="bytes"),
        pytest.param("{}", id="nothing in it"),
        pytest.param(json.dumps({"version": 2}), id="another version"),
        *(pytest.param(json.dumps(without(AUDIT, key)), id=f"audit without {key}") for key in AUDIT),
        *(pytest.param(json.dumps(without(STALE, key)), id=f"stale without {key}") for key in STALE),
        *(
            pytest.param(
                json.dumps({**AUDIT, "waivers": [without(AUDIT["waivers"][0], key)]}), id=f"waiver without {key}"
            )
            for key in AUDIT["waivers"][0]
        ),
        *(pytest.param(json.dumps({**STALE, "pins": [without(PIN, key)]}), id=f"pin without {key}") for key in PIN),
        *(
            pytest.param(json.dumps({**AUDIT, "waivers": [{**AUDIT["waivers"][0], **wrong}]}), id=f"waiver: {wrong}")
            for wrong in ({"path": 3}, {"state": "fine"}, {"state": []}, {"because": {}})
        ),
        *(
            pytest.param(json.dumps({**STALE, "pins": [{**PIN, **wrong}]}), id=f"pin: {wrong}")
            for wrong in (
                {"owner": None},
                {"kind": "page"},
                {"state": "fine"},
                {"state": {}},
                {"pin": []},
                {"because": 1},
            )
        ),
        *(
            pytest.param(json.dumps({**AUDIT, key: wrong}), id=f"audit: {key} {wrong!r}")
            for key, wrong in (("waivers", 3), ("waivers", [3]), ("waivers", None), ("at", None), ("repo", []))
        ),
        *(
            pytest.param(json.dumps({**STALE, key: wrong}), id=f"stale: {key} {wrong!r}")
            for key, wrong in (("pins", 3), ("pins", ["x"]), ("head", []), ("head", {"a": 3}), ("head", None))
        ),
    ],
)
def test_what_is_no_answer_is_refused(tmp_path: Path, text: str | bytes) -> None:
    """Neither reader takes it; what is one command's answer is not the other's."""
    place = tmp_path / "answer.json"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    for reader in (read_audit, read_stale):
        with pytest.raises(UnreadableInput) as caught:
            reader(str(place))
        assert str(place) in caught.value.message
        assert "--format json" in caught.value.hint


def test_what_is_an_answer_is_read(tmp_path: Path) -> None:
    place = tmp_path / "answer.json"
    for reader, data in ((read_audit, AUDIT), (read_stale, STALE)):
        place.write_text(json.dumps(data))
        assert reader(str(place)) == data
    with pytest.raises(UnreadableInput, match="cannot be read"):
        read_audit(str(tmp_path / "missing.json"))
    with pytest.raises(UnreadableInput, match="cannot be read"):
        read_stale(str(tmp_path))


@pytest.mark.parametrize("text", ["tomorrow", "2026-13-01", "2026-02-30", "1"])
def test_a_day_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="is no day"):
        parse_day(text)


# --- freshness --------------------------------------------------------------------------------


def stale_file(folder: Path, *pins: tuple[str, str, str, str], head: dict[str, str | None] | None = None) -> str:
    place = folder / "stale.json"
    found = [dict(zip(("kind", "owner", "pin", "state"), pin, strict=True), because="as it was") for pin in pins]
    place.write_text(json.dumps({"version": 1, "head": {"demo": SHA} if head is None else head, "pins": found}))
    return str(place)


P1, P2 = f"demo@{SHA}:a.py", f"demo@{SHA}:b.py"


@pytest.mark.parametrize(
    ("sources", "verdicts", "state"),
    [
        ([P1, P2], {}, ""),
        ([P1, P2], {P1: "fresh", P2: "fresh"}, "fresh"),
        ([P1, P2], {P1: "fresh", P2: "gone"}, "gone"),
        ([P1, P2], {P1: "unverifiable", P2: "changed"}, "changed"),
        ([P1, P2], {P1: "invalid", P2: "moved"}, "invalid"),
        ([P1, P2], {P1: "fresh", P2: "unverifiable"}, "unverifiable"),
        ([P1, P2], {P1: "fresh"}, "unverifiable"),
        ([P1, P2], {P1: "changed"}, "changed"),
        ([P1], {P1: "fresh", P2: "gone"}, "fresh"),
        ([P1], {P2: "gone"}, ""),
        ([], {P1: "gone"}, ""),
        (["unknown", P1], {"unknown": "unverifiable", P1: "fresh"}, "unverifiable"),
    ],
    ids=[
        "nothing was checked",
        "all fresh",
        "the worst counts",
        "not looked at is better than changed",
        "no pin is worse than a move",
        "not looked at is no fresh",
        "left out is not looked at",
        "left out beside a changed one",
        "a pin that is no more has no say",
        "renewed since",
        "no sources",
        "unknown",
    ],
)
def test_the_state_of_a_rule(tmp_path: Path, sources: list[str], verdicts: dict[str, str], state: str) -> None:
    text = rule("R-1", sources="[" + ", ".join(f'"{source}"' for source in sources) + "]")
    root = make_kb(tmp_path, {"rules/R-1.md": text})
    stale = stale_file(tmp_path, *(("rule", "R-1", pin, word) for pin, word in verdicts.items()))
    found = read_content(str(root), stale=stale)
    (document,) = found.catalog.rules
    assert found.state_of(document) == state
    assert found.states() == ({"R-1": state} if state else {})
    assert [verdict["pin"] for verdict in found.verdicts(document)] == [pin for pin in sources if pin in verdicts]


def test_documents_of_one_id_and_another_kind_are_not_mixed_up(tmp_path: Path) -> None:
    waiver = f'---\nid: R-1\ntitle: W\nrepo: demo\npr: 7\nrule: R-1\nsources: ["{P1}"]\n---\nText.\n'
    root = make_kb(tmp_path, {"rules/R-1.md": rule("R-1", sources=f'["{P1}"]'), "waivers/demo/7.md": waiver})
    stale = stale_file(tmp_path, ("rule", "R-1", P1, "fresh"), ("waiver", "R-1", P1, "gone"))
    found = read_content(str(root), stale=stale)
    assert found.state_of(found.catalog.rules[0]) == "fresh"
    assert found.state_of(found.catalog.waivers[0]) == "gone"
    assert found.states() == {"R-1": "fresh"}


def test_a_stored_answer_fills_in_for_clones_that_are_not_there(tmp_path: Path) -> None:
    repo, old = pinned_target(tmp_path)
    root = tmp_path / "kb"
    write_rule(root, "R-1", [target_pin(old, "gone.py"), f"far@{SHA}:x.py"])
    (root / "rulebook.toml").write_text(
        '[repos.target]\nurl = "https://example.invalid/owner/target"\n[repos.far]\nurl = "https://example.invalid/o/far"\n'
    )
    stale = stale_file(
        tmp_path,
        ("rule", "R-1", target_pin(old, "gone.py"), "fresh"),
        ("rule", "R-1", f"far@{SHA}:x.py", "moved"),
        head={"target": "1" * 40, "far": SHA},
    )
    found = read_content(str(root), checkouts={"target": str(repo.path)}, stale=stale)
    (document,) = found.catalog.rules
    assert [verdict["state"] for verdict in found.verdicts(document)] == ["gone", "moved"]
    assert found.heads == {"target": repo.id("main"), "far": SHA}


# --- the command and the plugin ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--audit", "missing.json"], 3, "missing.json cannot be read"),
        (["--audit", "audit.json", "--audit", "audit.json"], 2, "are both audits of bench by ENG-1"),
        (["--stale", "audit.json"], 3, "is no answer of 'rulebook stale'"),
        (["--today", "soon"], 2, "'soon' is no day"),
    ],
    ids=["missing", "twice", "the other's", "no day"],
)
def test_the_command_refuses(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    root = knowledge_base(tmp_path, {KEPT: kept()})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audit.json").write_text(json.dumps(AUDIT))
    assert main(["site", "--root", str(root), "--out", "site", *arguments]) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    "settings",
    [
        {"audit": "../audit.json", "today": TODAY},
        {"audit": ["../audit.json"], "today": TODAY},
    ],
    ids=["one", "a list"],
)
def test_the_configuration_names_audits(tmp_path: Path, settings: dict[str, Any]) -> None:
    from mkdocs.config import load_config

    root = knowledge_base(tmp_path, {KEPT: kept(), "docs/x.md": "x"})
    (tmp_path / "audit.json").write_text(json.dumps({**AUDIT, "waivers": [{**AUDIT["waivers"][0], "state": "orphan"}]}))
    given = {"site_name": "S", "theme": "material", "plugins": [{"rulebook": settings}]}
    (root / "mkdocs.yml").write_text(json.dumps(given))
    config = load_config(str(root / "mkdocs.yml"))
    plugin: Any = config.plugins["rulebook"]
    plugin.on_config(config)
    assert standings(plugin._content) == [("7", "orphan", "")]


def test_an_unquoted_day_is_one(tmp_path: Path) -> None:
    from mkdocs.config import load_config

    root = knowledge_base(tmp_path, {KEPT: kept(expires="2026-05-31"), "docs/x.md": "x"})
    (root / "mkdocs.yml").write_text(
        "site_name: S\ntheme: material\nplugins:\n  - rulebook:\n      today: 2026-05-31\n", encoding="utf-8"
    )
    config = load_config(str(root / "mkdocs.yml"))
    plugin: Any = config.plugins["rulebook"]
    plugin.on_config(config)
    assert standings(plugin._content)[0][1] == ""


def test_the_own_waivers_are_listed() -> None:
    root = Path(__file__).parent.parent
    found = read_content(str(root))
    assert [item.document for item in found.waivers] == list(load(str(root)).waivers)
    assert all(found.filed(waiver).number for waiver in found.catalog.waivers)
