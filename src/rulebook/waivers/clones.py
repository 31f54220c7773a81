"""A policy held against a clone of its target repository: a tree, and the waivers that are filed in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rulebook.waivers import audit
from rulebook.waivers.check import waiver_folder
from rulebook.waivers.document import WaiverText, read_waiver
from rulebook.waivers.library import load_waivers, merge_waivers

if TYPE_CHECKING:
    from rulebook.config import Target
    from rulebook.git.repository import Repository
    from rulebook.waivers.baseline import Baseline
    from rulebook.waivers.policy import Policy


def audit_clone(
    root: str,
    policy: Policy,
    target: Target,
    clone: Repository,
    *,
    at: str,
    today: str,
    baseline: Baseline | None = None,
) -> audit.AuditReport:
    """Judges the tree of a commit, the waivers filed in it, and those that the knowledge base holds.

    Args:
        root: the knowledge base's folder.
        policy: what is forbidden.
        target: the policy's repository.
        clone: a clone of it.
        at: the commit's id.
        today: the day to hold dates against, ``YYYY-MM-DD``.
        baseline: the patches from before the policy.

    Raises:
        GitError: the clone lacks the commit, or is damaged.
    """
    paths = clone.list_tree(at)
    read = partial(read_files, clone, at)
    return audit.audit(
        audit.scan_tree(paths, read, policy),
        read,
        policy,
        merge_waivers(
            filed_waivers(clone, at, paths, waiver_folder(policy, target.waivers)), load_waivers(root, policy)
        ),
        at=at,
        today=today,
        slug=target.slug,
        baseline=baseline,
    )


def filed_waivers(clone: Repository, at: str, paths: Sequence[str], folder: str) -> list[WaiverText]:
    """The waivers in one folder of a tree; twins, hidden files and ``README.md`` are none.

    Args:
        clone: of the target repository.
        at: the commit's id.
        paths: every file of its tree.
        folder: where waivers are filed.
    """
    wanted = []
    for path in paths:
        place, _, name = path.rpartition("/")
        if place == folder and name.endswith(".md") and name != "README.md" and name[0] not in "._":
            # A second dot is a language's.
            wanted += [path] if name.count(".") == 1 else []
    texts = read_files(clone, at, wanted)
    return [read_waiver(path, data.decode("utf-8", "replace")) for path, data in texts.items() if data is not None]


def read_files(clone: Repository, at: str, paths: Sequence[str]) -> Mapping[str, bytes | None]:
    """Files of a commit's tree, ``None`` where there is no such file."""
    found = clone.read_blobs(f"{at}:{path}" for path in paths)
    return {path: found[f"{at}:{path}"] for path in paths}
