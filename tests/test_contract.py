"""JSON answers against their schemas: what is documented is there, and what is there is documented."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from asking import CONFIG, Base, ask, edit
from gitrepo import GitRepo
from kb import SMALLEST, make_kb

NAMES = ("applies", "explain", "list", "search", "show", "lint")


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(files("rulebook").joinpath("schemas", f"{name}.json").read_text("utf-8"))
    return loaded


def undocumented(data: object, part: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """The keys in ``data`` that the schema does not name."""
    if "$ref" in part:
        part = root["$defs"][part["$ref"].rpartition("/")[2]]
    found = []
    if isinstance(data, list):
        for item in data:
            found += undocumented(item, part.get("items", {}), root, at + "[]")
    elif isinstance(data, dict) and "properties" in part:
        for key, value in data.items():
            if key not in part["properties"]:
                found.append(f"{at}.{key}")
            else:
                found += undocumented(value, part["properties"][key], root, f"{at}.{key}")
    return found


@pytest.fixture
def base(tmp_path: Path) -> Base:
    made = Base(tmp_path / "base")
    made.rule(
        "FULL",
        "src/**",
        tags=["ci"],
        look_for=[{"identifiers": ["x"]}],
        co_changes=[{"when": "src/**", "then": "docs/**"}],
    )
    made.rule("OLD", status="superseded", superseded_by=["FULL"])
    made.document("rules/demo/FULL.zh.md", {"id": "FULL", "title": "规则"}, "## 要求\n")
    made.document("waivers/demo/7.md", {"pr": 7, "rule": "FULL", "repo": "demo", "title": "W"}, "Text.\n")
    made.review(12, "src/**")
    made.review(13, "other/**", ["ci"])
    made.write("rules/demo/BAD.md", "---\nid: [\n---\n")
    return made


def asked(base: Base, tmp_path: Path) -> list[tuple[str, Any]]:
    target = GitRepo(tmp_path / "target")
    before = target.commit({"src/a.py": "y = 1\n", "src/b.txt": "text\n" * 9})
    target.commit({"src/a.py": "x = 1\n", "src/b.txt": None, "lib/b.txt": "text\n" * 9})
    ranged = ["--checkout", f"demo={target.path}", "--git", f"{before}.."]
    runs = [
        ("applies", ["src/a.py", "free"]),
        ("applies", ranged),
        ("explain", ["FULL"]),
        ("explain", ["FULL", *ranged]),
        ("explain", ["OLD", "src/a"]),
        ("list", []),
        ("search", ["FULL"]),
        ("search", ["nothingofthekind"]),
        ("show", ["OLD"]),
        ("show", ["FULL", "--lang", "zh"]),
        ("show", ["#12"]),
        ("lint", []),
    ]
    return [(name, base.ask(name, "--format", "json", *arguments).json) for name, arguments in runs]


def test_answers_keep_their_schemas(base: Base, tmp_path: Path) -> None:
    answers = asked(base, tmp_path)
    assert {name for name, _ in answers} == set(NAMES)
    for name, data in answers:
        described = schema(name)
        errors = [f"{error.json_path}: {error.message}" for error in Draft202012Validator(described).iter_errors(data)]
        assert errors == [], name
        assert undocumented(data, described, described) == [], name


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas_and_refuse(name: str) -> None:
    described = schema(name)
    Draft202012Validator.check_schema(described)
    assert not Draft202012Validator(described).is_valid({"version": 1})
    assert not Draft202012Validator(described).is_valid({"version": 2})


def test_example_in_the_contract_keeps_the_schema() -> None:
    text = (Path(__file__).parents[1] / "docs/contract.md").read_text("utf-8")
    example = json.loads(text.partition("```json\n")[2].partition("```")[0])
    described = schema("applies")
    Draft202012Validator(described).validate(example)
    assert undocumented(example, described, described) == []
    # It shows every key there is.
    assert set(example) == set(described["properties"])
    assert set(example["rules"][0]) == set(described["properties"]["rules"]["items"]["properties"])


@pytest.mark.parametrize("name", NAMES)
def test_contract_names_every_key(name: str) -> None:
    text = (Path(__file__).parents[1] / "docs/contract.md").read_text("utf-8")

    def keys(part: Any) -> set[str]:
        if isinstance(part, dict):
            own = set(part["properties"]) if isinstance(part.get("properties"), dict) else set()
            return own.union(*(keys(value) for value in part.values()))
        return set().union(*(keys(value) for value in part)) if isinstance(part, list) else set()

    assert {
        key
        for key in keys(schema(name))
        if f"`{key}`" not in text and f".{key}`" not in text and f'"{key}"' not in text
    } == set()


def test_smallest_knowledge_base_loads_and_answers(tmp_path: Path) -> None:
    root = make_kb(tmp_path, SMALLEST)
    lint = ask("lint", "--root", str(root), "--format", "json")
    assert (lint.code, lint.json["summary"]["error"]) == (0, 0)
    got = ask("applies", "--root", str(root), "--format", "json", "src/a.py", "src/gen/b.py", "ci/x")
    assert got.rules == {"DEMO-1": "direct"}
    assert got.json["unmatched"] == ["src/gen/b.py", "ci/x"]
    assert [review["id"] for review in got.json["reviews"]] == ["owner/name#12"]
    assert got.err == ""


def test_json_is_one_document_in_the_contracts_order(tmp_path: Path) -> None:
    base = Base(tmp_path, CONFIG)
    base.rule("R", look_for=[])
    data = base.diff(edit("a", added=["x"])).json
    assert list(data) == ["version", "repo", "complete", "paths", "rules", "reviews", "unmatched", "examined", "notes"]
