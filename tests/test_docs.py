"""What the program does is documented, and what is documented it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from rulebook import errors
from rulebook.cli.app import app
from rulebook.model import ChangeStatus, Kind, ReasonKind, Relevance, Severity, Side

DOCS = Path(__file__).parents[1] / "docs"
CONTRACT = (DOCS / "contract.md").read_text("utf-8")


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading of the contract."""
    lines = CONTRACT.partition(f"\n{heading}\n")[2].splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("| ---"))
    rows = []
    for line in lines[start + 1 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def commands(group: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
    group = group or typer.main.get_command(app)
    for name in group.commands:
        made = group.commands[name]
        if hasattr(made, "commands"):
            yield from commands(made, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", made


def names_of(command: Any) -> set[str]:
    return {
        name
        for parameter in command.params
        if parameter.param_type_name == "option"
        for name in (*parameter.opts, *parameter.secondary_opts)
    }


def test_every_command_is_documented_and_the_other_way_round() -> None:
    documented = [re.match(r"`rulebook ([a-z ]+[a-z])", row[0]) for row in table("## Commands")]
    assert sorted(match[1] for match in documented if match) == sorted(name for name, _ in commands())


def test_every_option_is_documented_and_the_other_way_round() -> None:
    documented: dict[str, set[str]] = {}
    for names, users, _ in table("## Options"):
        for user in users.split(", "):
            documented.setdefault(user, set()).update(re.findall(r"`(--?[a-z-]+)`", names))
    assert documented == {name: names_of(command) for name, command in commands()}


def test_every_option_has_a_help_text() -> None:
    for name, command in commands():
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name}"
        assert command.help, name


def test_every_exit_code_is_documented_and_the_other_way_round() -> None:
    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert {int(row[0]) for row in table("## Exit codes")} == codes
    epilog = app.info.epilog
    assert isinstance(epilog, str)
    assert {int(code) for code in re.findall(r"\d+", epilog)} == codes


@pytest.mark.parametrize(
    "words", [ChangeStatus, Kind, ReasonKind, Relevance, Severity, Side], ids=lambda words: words.__name__
)
def test_every_word_of_the_answers_is_documented(words: Any) -> None:
    assert [word.value for word in words if f"`{word.value}`" not in CONTRACT] == []


def test_every_environment_variable_is_documented() -> None:
    variables = {
        name
        for _, command in commands()
        for parameter in command.params
        for name in ([parameter.envvar] if isinstance(getattr(parameter, "envvar", None), str) else [])
    }
    assert variables
    assert [name for name in sorted(variables) if f"`{name}`" not in CONTRACT] == []


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        (page.name, target)
        for page in DOCS.glob("*.md")
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []
