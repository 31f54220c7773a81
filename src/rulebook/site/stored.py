"""Answers that other commands wrote to files, for builds that have no clones: ``stale`` and ``waiver audit``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rulebook.errors import UnreadableInput
from rulebook.model import Kind
from rulebook.render.data import VERSION
from rulebook.verdicts import State
from rulebook.waivers.audit import WaiverState

#: Larger files are no answer about a knowledge base.
MAX_BYTES = 256 << 20


def read_stale(path: str) -> dict[str, Any]:
    """What ``rulebook stale --format json`` wrote; ``docs/contract.md`` has its keys.

    Raises:
        UnreadableInput: the file cannot be read, or is no such answer.
    """
    return _read(path, "rulebook stale", _check_stale)


def read_audit(path: str) -> dict[str, Any]:
    """What ``rulebook waiver audit --format json`` wrote; ``docs/contract.md`` has its keys.

    Raises:
        UnreadableInput: the file cannot be read, or is no such answer.
    """
    return _read(path, "rulebook waiver audit", _check_audit)


def _check_stale(data: dict[str, Any]) -> None:
    for alias, commit in data["head"].items():
        _expect(commit is None or _is_text(commit), f"the head of {alias!r} is no commit")
    for pin in data["pins"]:
        for key in ("owner", "pin", "because"):
            _expect(_is_text(pin[key]), f"{key!r} of a pin is no text")
        _expect(pin["kind"] in [kind.value for kind in Kind], f"{pin['kind']!r} is no kind of document")
        _expect(pin["state"] in [state.value for state in State], f"{pin['state']!r} is no state of a pin")


def _check_audit(data: dict[str, Any]) -> None:
    for key in ("rule", "repo", "at", "today"):
        _expect(_is_text(data[key]), f"{key!r} is no text")
    for waiver in data["waivers"]:
        _expect(_is_text(waiver["path"]), "'path' of a waiver is no text")
        _expect(waiver["because"] is None or _is_text(waiver["because"]), "'because' of a waiver is no text")
        known = [state.value for state in WaiverState]
        _expect(waiver["state"] in known, f"{waiver['state']!r} is no state of a waiver")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _read(path: str, command: str, check: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_BYTES + 1)
        _expect(len(text) <= MAX_BYTES, f"it is larger than {MAX_BYTES >> 20} MiB")
        data = json.loads(text)
        _expect(isinstance(data, dict), "it is no object")
        _expect(data["version"] == VERSION, f"its version is {data['version']!r}, not {VERSION}")
        check(data)
    except OSError as error:
        raise UnreadableInput(
            f"{path} cannot be read: {error.strerror}", f"write it: {command} --format json"
        ) from None
    except KeyError as error:
        raise UnreadableInput(
            f"{path} is no answer of '{command}': it lacks {error}", "write it with --format json"
        ) from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        message = f"{path} is no answer of '{command}': {error}"
        raise UnreadableInput(message, "write it again, with --format json") from None
    return dict(data)
