"""The commands about patches and waivers: ``waiver check``, ``audit``, ``baseline``, ``new``."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from rulebook.cli import inputs, options, output, terminal
from rulebook.cli.terminal import Color
from rulebook.errors import EXIT_FINDINGS, GitError, RulebookError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rulebook.config import Config, Target
    from rulebook.git.repository import Repository
    from rulebook.model import ChangeSet, Finding
    from rulebook.waivers.baseline import Baseline
    from rulebook.waivers.policy import Policy
    from rulebook.waivers.steps import Asked

app = typer.Typer(
    name="waiver",
    help="Patches of what an image ships, and the waivers that excuse them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    parent.add_typer(app, name="waiver")


Number = Annotated[str, typer.Option("--pr", metavar="N", help="The number of the pull request; required.")]
At = Annotated[str, typer.Option("--at", metavar="COMMIT", help="The commit to look at.")]
Today = Annotated[
    str,
    typer.Option("--today", metavar="YYYY-MM-DD", envvar="RULEBOOK_TODAY", help="The day to hold dates against."),
]


@app.command(
    epilog=options.examples(
        "rulebook waiver check --pr 2508 --git main...HEAD",
        "git diff main... | rulebook waiver check --pr 2508 --diff -",
        notes="Exit codes: 0 no patch, or a waiver covers it; 1 a patch without one, an incomplete waiver, or nothing"
        " to look at; 2 usage, 3 could not run.",
    )
)
def check(
    pr: Number = "",
    git: options.GitRange = "",
    diff: options.Diff = "",
    repo: options.Repo = "",
    checkout: options.Checkout = [],
    root: options.Root = "",
    form: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Whether a change introduces patches, and whether the waiver that it files covers them.

    Only added lines count. With --git the files are read whole; with --diff only what the diff shows is known.
    """
    from rulebook.waivers.check import check as judge
    from rulebook.waivers.check import waiver_folder
    from rulebook.waivers.library import load_baseline

    number = _number(pr)
    folder, config, policy, clone = _context(root, repo, checkout, quiet=quiet, needs_clone=bool(git))
    with terminal.waiting("reading the change", quiet=quiet):
        change = _change(git, diff, clone, checkout)
    target = _target(config, policy)
    filed = waiver_folder(policy, target.waivers)
    report = judge(
        change,
        policy,
        number,
        folder=filed,
        slug=target.slug,
        baseline=reaching_baseline(load_baseline(folder, policy), change, clone, quiet=quiet),
        paths=tree_of(change, clone),
        asked=_asked(git, diff, repo, checkout, root, folder, filed, target, clone, change.base),
        progress=terminal.progress_bar("looking at files", quiet=quiet),
    )
    terminal.notes(report.notes, quiet=quiet)
    if not change.files:
        terminal.note("note: the change is empty, so nothing was looked at", quiet=quiet)
    elif report.passed and not report.examined:
        paths = "the changed path" if len(change.files) == 1 else f"any of the {len(change.files)} changed paths"
        terminal.note(
            f"note: no file was looked at, for {policy.rule} does not cover {paths};"
            f" is this a change of {policy.repo}?",
            quiet=quiet,
        )
    output.write("waiver check", form, color, report=report)
    if not report.passed:
        raise typer.Exit(EXIT_FINDINGS)


@app.command(
    epilog=options.examples(
        "rulebook waiver audit --checkout inferencex=../InferenceX --at v1.0",
        notes="Exit codes: 0 clean, 1 an unwaived patch or a waiver that is not in force, 2 usage, 3 could not run.",
    )
)
def audit(
    at: At = "HEAD",
    repo: options.Repo = "",
    checkout: options.Checkout = [],
    root: options.Root = "",
    today: Today = "",
    form: options.OutputFormat = options.Format.TEXT,
    color: options.ColorOption = Color.AUTO,
    quiet: options.Quiet = False,
) -> None:
    """Every patch in a tree with what excuses it, and every waiver with its state."""
    from rulebook.waivers.clones import TreeFiles, audit_clone
    from rulebook.waivers.library import load_baseline

    folder, config, policy, clone = _context(root, repo, checkout, quiet=quiet, needs_clone=True)
    assert clone is not None
    day = _day(today)
    with terminal.waiting("looking for patches", quiet=quiet):
        report = audit_clone(
            folder,
            policy,
            _target(config, policy),
            TreeFiles(clone, clone.resolve_commit(at)),
            today=day,
            baseline=load_baseline(folder, policy),
        )
    output.write("waiver audit", form, color, report=report)
    if not report.passed:
        raise typer.Exit(EXIT_FINDINGS)


@app.command(
    epilog=options.examples(
        "rulebook waiver baseline --checkout inferencex=../InferenceX --at 481253a3",
        "rulebook waiver baseline --prune",
        notes="Exit codes: 0 recorded, 1 there are patches that it does not know, 2 usage, 3 could not run.",
    )
)
def baseline(
    at: At = "HEAD",
    prune: Annotated[bool, typer.Option("--prune", help="Drop entries whose patches are gone; add none.")] = False,
    grow: Annotated[bool, typer.Option("--grow", help="Add the patches that the baseline does not know yet.")] = False,
    repo: options.Repo = "",
    checkout: options.Checkout = [],
    root: options.Root = "",
    quiet: options.Quiet = False,
) -> None:
    """Records the patches that exist at a commit, so that they are grandfathered.

    An existing baseline is never enlarged unless --grow says so, and each entry that comes or goes is printed.
    """
    from rulebook.waivers import audit as auditing
    from rulebook.waivers import baseline as baselines
    from rulebook.waivers.clones import TreeFiles
    from rulebook.waivers.library import baseline_path, load_baseline

    if prune and grow:
        raise UsageError("--prune and --grow cannot be combined", "run one after the other")
    folder, _, policy, clone = _context(root, repo, checkout, quiet=quiet, needs_clone=True)
    assert clone is not None
    commit = clone.resolve_commit(at)
    files = TreeFiles(clone, commit)
    with terminal.waiting("looking for patches", quiet=quiet):
        tree = auditing.scan_tree(files.paths, files.read, policy)
    counted = [patch for patch in tree.patches if patch.sureness.counts]
    name = baseline_path(policy)
    known = load_baseline(folder, policy)
    if known is None and prune:
        raise UsageError(
            f"there is no baseline to prune at {name}", "make it first: rulebook waiver baseline --at COMMIT"
        )
    if known is None:
        made = baselines.take(policy.rule, policy.repo, commit, counted)
        _save(folder, name, made)
        terminal.write(f"{name}: {len(made.patches)} patches of {policy.repo} at {commit[:12]}\n")
        return
    kept, gone = baselines.prune(known, counted)
    new, _ = baselines.split(known, counted)
    for patch in gone:
        terminal.write(f"- {patch.path}: {patch.kind} of {', '.join(patch.targets)}\n")
    if grow:
        for patch in new:
            terminal.write(f"+ {patch.path}:{patch.line}: {patch.kind} of {', '.join(patch.targets)}\n")
        kept = baselines.grow(kept, commit, new)
    elif not prune:
        for patch in new:
            terminal.write(f"? {patch.path}:{patch.line}: {patch.kind} of {', '.join(patch.targets)}\n")
        terminal.write(
            f"{name} is left as it is: {len(new)} patches are new to it, {len(gone)} of its entries are gone\n"
        )
        if new:
            terminal.note("note: --grow would add what is marked '?'; a waiver excuses it as well", quiet=quiet)
            raise typer.Exit(EXIT_FINDINGS)
        return
    _save(folder, name, kept)
    terminal.write(f"{name}: {len(kept.patches)} entries, {len(gone)} gone, {len(new) if grow else 0} added\n")


@app.command(
    epilog=options.examples(
        "rulebook waiver new --pr 2508",
        "rulebook waiver new --pr 2508 --git main...HEAD",
        "git diff main... | rulebook waiver new --pr 2508 --diff - --out docs/waiver",
        notes="Exit codes: 0 written, 2 nothing to waive or a file is in the way, 3 could not run.",
    )
)
def new(
    pr: Number = "",
    git: options.GitRange = "",
    diff: options.Diff = "",
    empty: Annotated[
        bool, typer.Option("--empty", help="Draft although no patch is known: everything is left to fill in.")
    ] = False,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The folder to write to. Default: where the clone that has the change files its waivers; without one,"
            " the knowledge base's own.",
        ),
    ] = "",
    repo: options.Repo = "",
    checkout: options.Checkout = [],
    root: options.Root = "",
    today: Today = "",
    quiet: options.Quiet = False,
) -> None:
    """Drafts a waiver from what a check finds; what only people know is left to fill in.

    Without --git and --diff the change is what the clone's current branch adds to the default branch. Never overwrites
    a file. The draft has to be committed in the pull request that needs it.
    """
    from rulebook.waivers.change import introduced
    from rulebook.waivers.check import configurations_of, waiver_folder
    from rulebook.waivers.draft import draft, prompts, touched_entries
    from rulebook.waivers.library import load_baseline

    number = _number(pr)
    by_itself = not (git or diff or empty)
    folder, config, policy, clone = _context(
        root, repo, checkout, quiet=quiet, needs_clone=bool(git), own_clone=by_itself
    )
    target = _target(config, policy)
    if by_itself:
        git = _branch_range(clone, target)
        terminal.note(f"note: the change is {git} of {clone}; --git or --diff give another one", quiet=quiet)
    patches, entries = [], []
    if git or diff:
        change = _change(git, diff, clone, checkout)
        known = load_baseline(folder, policy)
        found = introduced(
            change,
            policy,
            paths=tree_of(change, clone),
            known_patches=known.patches if known is not None else (),
            progress=terminal.progress_bar("looking at files", quiet=quiet),
        )
        patches = [patch for patch in found.patches if patch.sureness.counts]
        added = [
            (item.path, line.new)
            for item in change.files
            if item.path in policy.configs
            for hunk in item.hunks or ()
            for line in hunk.lines
            # A comment or an empty line belongs to what follows as well as to what comes before.
            if line.mark == "+" and line.text.strip() and not line.text.lstrip().startswith("#")
        ]
        entries = touched_entries(configurations_of(change, policy), added)
        if not patches and not empty:
            what = "the change is empty" if not change.files else "the change introduces no patch"
            raise UsageError(
                f"{what}, so there is nothing to waive",
                "give the change that a check fails on; --empty drafts a waiver all the same",
            )
    text = draft(policy, number, patches, entries, created=_day(today))
    filed = waiver_folder(policy, target.waivers)
    in_clone = bool(clone is not None and clone.top is not None)
    if out:
        place = os.path.join(out, f"{number}.md")
    elif clone is not None and clone.top is not None:
        place = os.path.relpath(os.path.join(clone.top, filed, f"{number}.md"))
    else:
        place = os.path.join(folder, "waivers", policy.repo, f"{number}.md")
    _write_draft(place, text)
    terminal.write(f"{place}\n")
    left = sum(1 for _ in prompts(text))
    elsewhere = "" if in_clone and not out else f" as {filed}/{number}.md"
    terminal.notes(
        [
            f"{left} things are left to write, at each '<!-- write: … -->'; 'rulebook waiver check' names their lines",
            f"it excuses a patch once it is complete and pull request #{number} itself adds it{elsewhere}",
        ],
        quiet=quiet,
    )


def _write_draft(place: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
        with open(place, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{place} exists, and is left as it is", "edit it, or move it away first") from None
    except OSError as error:
        # Half a draft would stand in the way of the next one.
        with suppress(OSError):
            os.remove(place)
        raise RulebookError(f"{place} cannot be written: {error.strerror}", "name another folder with --out") from None


# --- from options to arguments ----------------------------------------------------------------


def _asked(
    git: str,
    diff: str,
    repo: str,
    checkout: Sequence[str],
    root: str,
    folder: str,
    filed: str,
    target: Target,
    clone: Repository | None,
    base: str,
) -> Asked:
    """How this check was asked; its answer tells the next commands."""
    from rulebook.cli.pages import content_page
    from rulebook.waivers.steps import Asked

    content = content_page(folder, "" if root else target.url)
    given = ["--repo", repo] if repo else []
    # Whoever reads the log of a hosted run has none of that machine's folders.
    if not (content and os.environ.get("CI")):
        content = ""
        given += [*(word for each in checkout for word in ("--checkout", each)), *(("--root", root) if root else ())]
    return Asked(
        change=("--git", git) if git else ("--diff", diff),
        options=given,
        feed=f"git diff {target.default_branch}..." if diff == "-" else "",
        out="" if git and clone is not None and clone.top is not None else filed,
        content=content,
        base=base,
        grows=bool(git) and clone is not None and _moves_on(git, clone),
    )


def _moves_on(git: str, clone: Repository) -> bool:
    """Whether the name at a range's end leads to a new commit, once there is one: ``HEAD``, or a branch."""
    from rulebook.waivers.steps import range_end

    end = range_end(git)
    if end in ("HEAD", "@"):
        return True
    name = clone.run(["rev-parse", "--symbolic-full-name", end], ok=(0, 128)).decode("utf-8", "replace")
    return name.startswith(("refs/heads/", "refs/remotes/"))


def _branch_range(clone: Repository | None, target: Target) -> str:
    """What the current branch of a clone adds to the default branch, as a range.

    Raises:
        UsageError: there is no clone, or it does not have the default branch.
    """
    from rulebook.snapshots import head_refs

    remedy = "say --git BASE...HEAD in a clone, or --diff FILE; --empty drafts a waiver to fill in by hand"
    if clone is None:
        raise UsageError("no change is given, and a waiver names the patches of one", remedy)
    for ref in head_refs(target.default_branch):
        with suppress(GitError):
            clone.resolve_commit(ref)
            return f"{ref.removeprefix('refs/remotes/').removeprefix('refs/heads/')}...HEAD"
    raise UsageError(f"no change is given, and {clone} does not have the branch {target.default_branch!r}", remedy)


def tree_of(change: ChangeSet, clone: Repository | None) -> Callable[[], Sequence[str]] | None:
    """What lists the files that a change leads to, where its clone is at hand."""
    if clone is None or not change.head:
        return None
    return lambda: clone.list_tree(change.head)


def _number(pr: str) -> str:
    if not pr:
        raise UsageError("which pull request is this?", "say --pr N")
    number = pr.removeprefix("#").lstrip("0")
    if not number.isdigit() or not number.isascii() or len(number) > 10:
        raise UsageError(f"{pr!r} is no pull request's number", "say --pr N, digits only")
    return number


def _day(today: str) -> str:
    from datetime import date

    if not today:
        # The user's own day is what a date in a waiver means.
        return date.today().isoformat()  # noqa: DTZ011
    try:
        return date.fromisoformat(today).isoformat()
    except ValueError:
        raise UsageError(f"{today!r} is no day", "write YYYY-MM-DD") from None


def _context(
    root: str, repo: str, checkout: list[str], *, quiet: bool, needs_clone: bool, own_clone: bool = False
) -> tuple[str, Config, Policy, Repository | None]:
    """The knowledge base's folder and settings, the policy, and the clone of the repository that it is about.

    Args:
        root: what ``--root`` says.
        repo: what ``--repo`` says.
        checkout: what ``--checkout`` says.
        quiet: whether notes are muted.
        needs_clone: whether there has to be a clone: a named one, else the one around the current directory.
        own_clone: whether to look for one that is surely the target's: named, or with a remote that leads to it.
    """
    from rulebook import files
    from rulebook.config import CONFIG_NAME, parse_config, slug_of
    from rulebook.waivers.library import choose_policy

    folder = inputs.root_of(root)
    with open(os.path.join(folder, CONFIG_NAME), "rb") as file:
        config = parse_config(file.read(files.MAX_BYTES))
    found, findings = policies_of(folder)
    if findings:
        first = findings[0]
        terminal.note(
            f"note: {first.location.path}:{first.location.line}: {first.message}; see: rulebook lint", quiet=quiet
        )
    clones = inputs.checkouts(checkout)
    around = inputs.here() if not clones else None
    alias = config.resolve(repo) if repo else ""
    if not alias and len(clones) == 1:
        alias = config.resolve(next(iter(clones)))
    if not alias and around is not None:
        slugs = [slug_of(url) for url in around.remote_urls()]
        alias = next((config.resolve(slug) for slug in slugs if config.resolve(slug) in config.targets), "")
    if not alias:
        repos = list(dict.fromkeys(policy.repo for policy in found))
        if len(repos) != 1:
            raise UsageError(
                "which repository is the change of?", f"say --repo ALIAS; known: {', '.join(repos) or 'none'}"
            )
        alias = repos[0]
    policy = choose_policy(found, alias)
    clone = None
    led_to = around is not None and any(config.resolve(slug_of(url)) == alias for url in around.remote_urls())
    if needs_clone or (own_clone and (alias in clones or led_to)):
        clone = _clone(alias, clones, around)
        if clone is around:
            inputs.require_target(clone, alias, config, folder, quiet=quiet)
    return folder, config, policy, clone


def policies_of(folder: str) -> tuple[list[Policy], list[Finding]]:
    """The policies of the rules in force, and what is wrong with them; rules without one are not parsed."""
    from rulebook import files
    from rulebook.model import Finding, Kind, Rule
    from rulebook.parse import parse_file
    from rulebook.waivers.policy import policies

    rules: list[Rule] = []
    for entry in files.scan(folder)[0]:
        if entry.kind is not Kind.RULE or files.split_language(entry.path)[1]:
            continue
        text = files.read_text(folder, entry.path)
        if not isinstance(text, Finding) and "\npolicy:" in text:
            parsed = parse_file(entry.path, entry.kind, text)[0]
            rules += [document for document in parsed if isinstance(document, Rule)]
    return policies(rules)


def _clone(alias: str, clones: Mapping[str, str], around: Repository | None) -> Repository:
    from rulebook.git.repository import Repository

    if alias in clones:
        return Repository.discover(clones[alias])
    if around is not None:
        return around
    raise UsageError(
        f"this needs a clone of {alias!r}, and there is none here", f"run inside it, or say --checkout {alias}=DIR"
    )


def _target(config: Config, policy: Policy) -> Target:
    from rulebook.config import Target

    return config.targets.get(policy.repo) or Target(alias=policy.repo)


def _change(git: str, diff: str, clone: Repository | None, checkout: Sequence[str]) -> ChangeSet:
    change = inputs.read_change([], diff, git, False, clone, bool(checkout))
    if change is None:
        raise UsageError("no change is given", "give --git RANGE or --diff FILE")
    return change


def reaching_baseline(
    known: Baseline | None, change: ChangeSet, clone: Repository | None, *, quiet: bool
) -> Baseline | None:
    """The baseline, unless the change was made on a tree from before it.

    What the baseline lists was new to such a change: nothing of it existed that could be grandfathered.
    """
    if known is None or clone is None or not change.base:
        return known
    try:
        reaches = clone.merge_base(known.at, change.base) == known.at
    except GitError:
        # The clone does not have the baseline's commit, so nobody can tell.
        return known
    if not reaches:
        terminal.note(
            f"note: the change was made on {change.base[:12]}, before the baseline at {known.at[:12]},"
            " so nothing in it is grandfathered",
            quiet=quiet,
        )
        return None
    return known


def _save(folder: str, name: str, made: Baseline) -> None:
    """Writes a baseline whole or not at all."""
    from rulebook.waivers.baseline import dump

    place = os.path.join(folder, name)
    draft = f"{place}.{os.getpid()}.new"
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(draft, "x", encoding="utf-8", newline="\n") as file:
            file.write(dump(made))
        os.replace(draft, place)
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {error.strerror}", "mend its permissions") from None
    finally:
        if os.path.exists(draft):
            os.remove(draft)
