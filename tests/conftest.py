"""What holds for every test: an environment of its own, and hypothesis without a clock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gitrepo import hermetic_environ

# A shared machine is slow at times; time is never a test's verdict. A developer's run looks at new examples each time,
# while a gate that fails by chance would say nothing of the change it stops.
settings.register_profile(
    "default",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.register_profile("ci", parent=settings.get_profile("default"), max_examples=400)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def hermetic(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees the user's caches, configuration, colours or git settings, or leaves anything in them."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("RULEBOOK_", "GIT_", "GITHUB_", "XDG_")) or name in (
            "NO_COLOR",
            "FORCE_COLOR",
            "COLUMNS",
            "PYTHONUNBUFFERED",
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """What git is to inherit, and nothing of the machine's own settings in it."""
    return hermetic_environ(tmp_path / "no-home")
