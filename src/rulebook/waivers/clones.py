"""A policy held against a clone of its target repository: a tree, and the waivers that are filed in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rulebook.errors import GitError
from rulebook.git.names import empty_tree
from rulebook.waivers.audit import AuditReport, audit, scan_tree
from rulebook.waivers.check import waiver_folder
from rulebook.waivers.document import WaiverText, read_waiver
from rulebook.waivers.library import load_waivers, merge_waivers

if TYPE_CHECKING:
    from rulebook.config import Target
    from rulebook.git.repository import Repository
    from rulebook.waivers.baseline import Baseline
    from rulebook.waivers.policy import Policy

_SUBMODULE = "160000"


class TreeFiles:
    """The files of a commit.

    Attributes:
        commit: its id.
        paths: all files, submodules left out.
    """

    def __init__(self, clone: Repository, commit: str) -> None:
        """Lists the tree of ``commit``, given by its id.

        Raises:
            GitError: the clone lacks it.
        """
        self.commit = commit
        self._clone = clone
        changes = clone.changes(empty_tree(commit), commit, exact=True)
        self._ids = {change.path: change.new_id for change in changes if change.new_mode != _SUBMODULE}
        self.paths: Sequence[str] = tuple(self._ids)

    def read(self, paths: Sequence[str]) -> Mapping[str, bytes | None]:
        """The contents of files, ``None`` where the tree has no such file.

        Raises:
            GitError: the clone was made without contents, and lacks one of these.
        """
        wanted = {path: self._ids[path] for path in paths if path in self._ids}
        contents = self._clone.read_blobs(wanted.values())
        for path, identity in wanted.items():
            # A file that was not looked at must not pass for one without patches.
            if contents[identity] is None:
                raise GitError(
                    f"{self._clone} lacks the content of {path} at {self.commit[:12]}",
                    "name a clone that was made without --filter",
                )
        return {path: contents[wanted[path]] if path in wanted else None for path in paths}


def audit_clone(
    root: str,
    policy: Policy,
    target: Target,
    files: TreeFiles,
    *,
    today: str,
    baseline: Baseline | None = None,
) -> AuditReport:
    """Judges a tree of the target repository, the waivers filed in it, and those that the knowledge base holds.

    Args:
        root: the knowledge base's folder.
        policy: what is forbidden.
        target: the policy's repository.
        files: the tree.
        today: the day to hold dates against, ``YYYY-MM-DD``.
        baseline: the patches from before the policy.

    Raises:
        GitError: the clone lacks what has to be read, or is damaged.
    """
    filed = filed_waivers(files, waiver_folder(policy, target.waivers))
    return audit(
        scan_tree(files.paths, files.read, policy),
        files.read,
        policy,
        merge_waivers(filed, load_waivers(root, policy)),
        at=files.commit,
        today=today,
        slug=target.slug,
        baseline=baseline,
    )


def filed_waivers(files: TreeFiles, folder: str) -> list[WaiverText]:
    """The waivers in one folder of a tree; twins, hidden files and ``README.md`` are none.

    Raises:
        GitError: the clone lacks one of them.
    """
    wanted = []
    for path in files.paths:
        place, _, name = path.rpartition("/")
        # What stands between two dots is a language.
        if place == folder and name.endswith(".md") and name.count(".") == 1 and name[0] not in "._":
            wanted += [path] if name != "README.md" else []
    texts = files.read(wanted).items()
    return [read_waiver(path, data.decode("utf-8", "replace")) for path, data in texts if data is not None]
