"""Files of the user's cache, in whose place anything may stand that a person or a broken disk left there.

What is cached can be made again, so that whatever stands in the way is removed. It is asked before a file is opened:
a pipe in its place would wait for a writer for ever, and a link could lead to a file that is somebody's.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress


def is_plain(path: str) -> bool:
    """Whether a regular file stands at ``path``, and no link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def remove(path: str) -> None:
    """Removes whatever stands at ``path``, a folder with all that it holds; what cannot be removed stays."""
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            import shutil

            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    except OSError:
        return


def make_way(path: str) -> None:
    """Makes sure that a file can be opened or made at ``path``.

    A regular file stays the one that it is, so that a lock which somebody holds on it goes on being his.
    """
    if not is_plain(path):
        remove(path)
    elif not os.access(path, os.R_OK | os.W_OK):
        with suppress(OSError):
            os.chmod(path, 0o600)
