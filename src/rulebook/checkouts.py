"""Where clones of the target repositories are on this machine.

Looked for in this order, the first that is named wins:

1. the option ``--checkout ALIAS=DIR``,
2. the environment variable ``RULEBOOK_CHECKOUT_<ALIAS>``, the alias in capitals with ``_`` for all but letters
   and digits,
3. ``config.toml`` in the user's configuration folder (``~/.config/rulebook`` on Linux), the table ``[checkouts]``
   with a folder by alias or by ``owner/name``,
4. the cache that ``rulebook sync`` fills.

A knowledge base itself cannot name a folder: it comes from other people.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rulebook.errors import UnreadableInput

if TYPE_CHECKING:
    from rulebook.config import Target

CONFIG_NAME = "config.toml"


class Checkout(NamedTuple):
    """A clone: its folder, and what named it."""

    folder: str
    named_by: str

    @property
    def explicit(self) -> bool:
        """Whether this very command names it, so that a wrong one is the command's fault."""
        return self.named_by == "--checkout"


class CheckoutFinder:
    """Finds the clone of each target repository."""

    def __init__(
        self,
        options: Mapping[str, str] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        config_folder: str = "",
        cache_folder: str = "",
    ) -> None:
        """Takes what ``--checkout`` says, by alias, and where the user's settings and caches are.

        Args:
            options: folders by alias.
            environ: variables (default: this process's environment).
            config_folder: where ``config.toml`` is (default: the user's configuration folder).
            cache_folder: where mirrors are kept (default: in the user's cache folder).
        """
        self._options = options or {}
        self._environ = os.environ if environ is None else environ
        self._config_folder = config_folder
        self._cache_folder = cache_folder
        self._configured: dict[str, str] | None = None

    def find(self, target: Target) -> Checkout | None:
        """The clone of a target, or ``None`` where nothing names one.

        Raises:
            UnreadableInput: the user's configuration file cannot be read.
        """
        if target.alias in self._options:
            return Checkout(self._options[target.alias], "--checkout")
        variable = variable_name(target.alias)
        if self._environ.get(variable):
            return Checkout(self._environ[variable], variable)
        for name in (target.alias, target.slug):
            if name in self._configuration():
                return Checkout(self._configuration()[name], self._config_path())
        mirror = self.mirror_path(target)
        return (
            Checkout(mirror, "rulebook sync") if target.url and os.path.isfile(os.path.join(mirror, "HEAD")) else None
        )

    def mirror_path(self, target: Target) -> str:
        """Where ``rulebook sync`` keeps the clone of a target; by its URL, which several knowledge bases can share."""
        from hashlib import sha256

        folder = self._cache_folder
        if not folder:
            from platformdirs import user_cache_dir

            folder = os.path.join(user_cache_dir("rulebook", appauthor=False), "mirrors")
        name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in target.slug)[:60]
        return os.path.join(folder, f"{name}-{sha256(target.url.encode('utf-8')).hexdigest()[:16]}.git")

    def _config_path(self) -> str:
        folder = self._config_folder
        if not folder:
            from platformdirs import user_config_dir

            folder = user_config_dir("rulebook", appauthor=False)
        return os.path.join(folder, CONFIG_NAME)

    def _configuration(self) -> Mapping[str, str]:
        if self._configured is None:
            self._configured = _read_configuration(self._config_path())
        return self._configured


def variable_name(alias: str) -> str:
    """The environment variable that names a target's clone.

    >>> variable_name("afd-plugin")
    'RULEBOOK_CHECKOUT_AFD_PLUGIN'
    """
    return "RULEBOOK_CHECKOUT_" + "".join(letter if letter.isalnum() else "_" for letter in alias.upper())


def _read_configuration(path: str) -> dict[str, str]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read: {error.strerror}", "mend its permissions") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnreadableInput(f"{path} is no TOML: {error}", "mend the line") from None
    checkouts = table.get("checkouts", {})
    if not isinstance(checkouts, dict) or not all(isinstance(folder, str) for folder in checkouts.values()):
        raise UnreadableInput(f"{path}: [checkouts] is no table of folders", 'write [checkouts], then alias = "DIR"')
    return {name: os.path.expanduser(folder) for name, folder in checkouts.items()}
