"""The command ``comment``: the pull request bot."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from rulebook.cli import inputs, options, terminal
from rulebook.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, GitError, RulebookError, UnreadableInput, UsageError

if TYPE_CHECKING:
    from rulebook.bot.brief import Brief
    from rulebook.bot.client import GitHubClient, Pull
    from rulebook.bot.event import PullRef
    from rulebook.bot.state import State
    from rulebook.git.repository import Repository
    from rulebook.model import ChangeSet
    from rulebook.store.query import Store
    from rulebook.waivers.check import CheckReport

_WRITERS = ("json", "md", "sarif", "github")


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command(
        epilog=options.examples(
            "rulebook comment --dry-run https://github.com/OWNER/NAME/pull/7",
            "rulebook comment --pr 7 --repository OWNER/NAME",
            "rulebook comment --from answer.json",
            notes="Exit codes: 0 written or printed, 1 findings at or above --fail-on, 2 usage, 3 could not run.",
        )
    )(comment)


def comment(
    pull: Annotated[
        str, typer.Argument(metavar="[PULL]", help="A pull request's number or URL. Default: the event's.")
    ] = "",
    pr: Annotated[str, typer.Option("--pr", metavar="N", help="The same, as an option.")] = "",
    repository: Annotated[
        str,
        typer.Option(
            "--repository", metavar="OWNER/NAME", envvar="GITHUB_REPOSITORY", help="Where the pull request is opened."
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print the comment, and write nothing.")] = False,
    fail_on: Annotated[
        options.FailOn,
        typer.Option(
            "--fail-on",
            help="The weakest severity that makes the exit code 1, of rules at stake, neither acknowledged nor waived. "
            "A waiver check that fails is an error.",
        ),
    ] = options.FailOn.NEVER,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 whenever the comment cannot be written.")
    ] = False,
    site: options.Site = "",
    save: Annotated[str, typer.Option("--save", metavar="FILE", help="Save the answer, for --from.")] = "",
    saved: Annotated[
        str, typer.Option("--from", metavar="FILE", help="Write what another run saved, after checking its head.")
    ] = "",
    write: Annotated[
        list[str],
        typer.Option("--write", metavar="FORMAT=FILE", help="Also write the report as json, md, sarif or github."),
    ] = [],
    author: Annotated[
        str, typer.Option("--author", metavar="LOGIN", help="Who the token writes as. Default: asked for.")
    ] = "",
    key: Annotated[
        str, typer.Option("--key", metavar="NAME", help="Tells the comments of several knowledge bases apart.")
    ] = "",
    repo: options.Repo = "",
    checkout: options.Checkout = [],
    root: options.Root = "",
    index: options.Index = "",
    quiet: options.Quiet = False,
) -> None:
    """Keeps one comment on a pull request up to date: the rules at stake, waivers, sources that it edits.

    The token comes from GITHUB_TOKEN alone, the API's address from GITHUB_API_URL. Where the comment cannot be
    written, the answer is printed, and goes to the job's summary. Problems of GitHub's do not change the exit
    code unless --strict says so; a request that can never work (no token, no such pull request) is exit code 3.
    """
    from rulebook.bot.client import API_URL, GitHubClient

    targets = _targets(write)
    _check_site(site)
    ref = _pull_ref(pull or pr, repository)
    token = os.environ.get("GITHUB_TOKEN", "").strip()
    job = _Job(
        root=root, store_folder=index, repo=repo, checkouts=inputs.checkouts(checkout), site=site, quiet=quiet, ref=ref
    )
    api = os.environ.get("GITHUB_API_URL", "").strip() or API_URL
    problem: RulebookError | None = None
    brief: Brief | None = None
    posted: _Posted | None = None
    fork = ref.fork
    try:
        with GitHubClient(ref.repository, token, base_url=api) as client:
            found = client.find_pull(ref.branch, ref.head) if not ref.number else client.pull(ref.number)
            fork = found.fork
            brief = _read_saved(saved, ref, found, site) if saved else job.answer(client, found)
            if not dry_run:
                posted = _post(client, brief, found, job, token=token, key=key, author=author, saved=bool(saved))
    except RulebookError as error:
        problem = error
        if brief is None:
            brief = job.answer_alone(error)
    state = posted.state if posted is not None else _fresh_state(brief)
    _write_files(brief, save, targets, root, quiet=quiet)
    _write_summary(brief, state, quiet=quiet)
    if dry_run or problem is not None:
        _print(brief, state, key, dry_run=dry_run)
    if problem is not None:
        hint = f" ({problem.hint})" if problem.hint else ""
        terminal.note(f"rulebook: {problem.message}{hint}")
        if strict or not _is_excused(problem, fork=bool(fork)):
            raise typer.Exit(EXIT_CANNOT_RUN)
    if posted is not None:
        for text in posted.notes:
            terminal.note(f"note: {text}", quiet=quiet)
    if _fails(brief, state, fail_on):
        raise typer.Exit(EXIT_FINDINGS)


# --- which pull request -----------------------------------------------------------------------


def _pull_ref(pull: str, repository: str) -> PullRef:
    from rulebook.bot.event import MAX_EVENT, check_slug, parse_pull, read_event

    if pull:
        # A URL names its repository itself; the environment's is that of the workflow.
        ref = parse_pull(pull, "" if "://" in pull else repository)
        named = os.environ.get("GITHUB_EVENT_PATH", "")
        if named and os.path.isfile(named):
            with open(named, "rb") as file:
                data = file.read(MAX_EVENT)
            try:
                event = read_event(data, named)
            except UnreadableInput:
                return ref
            if (event.repository.lower(), event.number) == (ref.repository.lower(), ref.number):
                return event
        return ref
    name = os.environ.get("GITHUB_EVENT_PATH", "")
    if not name:
        raise UsageError(
            "which pull request is this about?", "give its number or URL; in GitHub Actions the event tells"
        )
    event = read_event(inputs.read_input(name, "the event file"), name, os.environ.get("GITHUB_EVENT_NAME", ""))
    if repository and event.repository.lower() != check_slug(repository).lower():
        raise UsageError(
            f"the event is about {event.repository}, not {repository}", "leave out --repository, or say --pr as well"
        )
    return event


def _check_site(site: str) -> None:
    if site and not site.startswith(("https://", "http://")):
        raise UsageError(f"--site {site!r} is no address", "write https://…")


def _targets(write: list[str]) -> dict[str, str]:
    found = {}
    for option in write:
        word, equals, name = option.partition("=")
        if not equals or not name or word not in _WRITERS:
            raise UsageError(
                f"--write {option!r} is no FORMAT=FILE", f"formats: {', '.join(_WRITERS)}; - is standard output"
            )
        found[word] = name
    return found


# --- the answer -------------------------------------------------------------------------------


class _Job(NamedTuple):
    """How to answer for a head of the pull request."""

    root: str
    store_folder: str
    repo: str
    checkouts: Mapping[str, str]
    site: str
    quiet: bool
    ref: PullRef

    def answer(self, client: GitHubClient, pull: Pull) -> Brief:
        """The answer for the pull request's head, from a clone where one has both commits, else from the API."""
        with inputs.load(self.root, self.store_folder, quiet=self.quiet) as store:
            alias = self._alias(store)
            change, clone = self._from_clone(alias, pull.base, pull.head)
            if change is None:
                from rulebook.changes import from_github_files

                items, complete = client.files(pull.number, pull.changed_files)
                change = from_github_files(items, complete=complete)
            return self._brief(store, alias, change, clone, pull.number, pull.head)

    def answer_alone(self, because: RulebookError) -> Brief:
        """The answer that can be had without GitHub: from a clone, for the commits that the event names.

        Raises:
            RulebookError: ``because``, where nothing can be said.
        """
        ref = self.ref
        if not (ref.head and ref.base and ref.number):
            raise because
        with inputs.load(self.root, self.store_folder, quiet=self.quiet) as store:
            alias = self._alias(store)
            change, clone = self._from_clone(alias, ref.base, ref.head)
            if change is None:
                raise because
            return self._brief(store, alias, change, clone, ref.number, ref.head)

    def _alias(self, store: Store) -> str:
        from rulebook.answer import choose_repo

        if self.repo:
            return choose_repo(store, self.repo)
        resolved = store.config.resolve(self.ref.repository)
        return choose_repo(store, resolved if resolved in store.config.targets else "")

    def _from_clone(self, alias: str, base: str, head: str) -> tuple[ChangeSet | None, Repository | None]:
        from rulebook.git.repository import Repository
        from rulebook.ranges import from_git

        folder = self.checkouts.get(alias) or self.checkouts.get(self.ref.repository)
        try:
            clone = Repository(folder) if folder else inputs.here(needed=False)
            if clone is None:
                return None, None
            for commit in (base, head):
                clone.resolve_commit(commit)
            return from_git(clone, f"{base}...{head}"), clone
        except GitError as error:
            if folder:
                terminal.note(f"note: the clone is of no use here: {error.message}; asking GitHub", quiet=self.quiet)
            return None, None

    def _brief(
        self, store: Store, alias: str, change: ChangeSet, clone: Repository | None, number: int, head: str
    ) -> Brief:
        from rulebook import answer
        from rulebook.bot.brief import build
        from rulebook.edits import edited_sources

        report = answer.applies(store, change, alias, checkout=clone)
        for text in report.notes:
            terminal.note(f"note: {text}", quiet=self.quiet)
        return build(
            self.ref.repository,
            number,
            head,
            report,
            check=_waiver_check(store, alias, change, clone, number, quiet=self.quiet),
            edited=edited_sources(store, change, alias),
            site=self.site,
        )


def _waiver_check(
    store: Store, alias: str, change: ChangeSet, clone: Repository | None, number: int, *, quiet: bool
) -> CheckReport | None:
    """The patch policy's verdict, where the repository has one policy."""
    from rulebook.cli.waiver import policies_of, reaching_baseline, tree_of
    from rulebook.waivers.check import check, waiver_folder
    from rulebook.waivers.library import load_baseline

    policies = [policy for policy in policies_of(store.root)[0] if policy.repo == alias]
    if len(policies) != 1 or (change.complete and not change.files):
        # Of an empty pull request nothing has to be said.
        return None
    policy = policies[0]
    target = store.config.targets.get(alias)
    try:
        baseline = reaching_baseline(load_baseline(store.root, policy), change, clone, quiet=quiet)
    except UnreadableInput as error:
        terminal.note(f"note: {error.message}", quiet=quiet)
        baseline = None
    return check(
        change,
        policy,
        str(number),
        folder=waiver_folder(policy, target.waivers if target else ""),
        slug=target.slug if target else "",
        baseline=baseline,
        paths=tree_of(change, clone),
    )


def _read_saved(name: str, ref: PullRef, pull: Pull, site: str) -> Brief:
    """What another run saved, if it speaks of this pull request's head.

    The file may come from a run of foreign code: which pull request is written to is decided by the event and GitHub
    alone, and all text in it is foreign.
    """
    from rulebook.bot.brief import MAX_SAVED, read_brief

    try:
        with open(name, "rb") as file:
            data = file.read(MAX_SAVED + 1)
    except OSError as error:
        raise UnreadableInput(f"{name} cannot be read: {error.strerror}", "check its name") from None
    if len(data) > MAX_SAVED:
        raise UnreadableInput(f"{name} is larger than {MAX_SAVED >> 20} MiB", "no answer is that long")
    brief = read_brief(data, name, site)
    if (brief.repository.lower(), brief.number, brief.head) != (ref.repository.lower(), pull.number, pull.head):
        raise UnreadableInput(
            f"{name} speaks of {brief.repository}#{brief.number} at {brief.head[:12]}, and the head of "
            f"{ref.repository}#{pull.number} is {pull.head[:12]}",
            "the run for the newest head saves its own",
        )
    return brief


# --- where it goes ----------------------------------------------------------------------------


class _Posted(NamedTuple):
    """What the comment remembers now, and what the user should know."""

    state: State
    notes: tuple[str, ...]


def _post(
    client: GitHubClient, brief: Brief, pull: Pull, job: _Job, *, token: str, key: str, author: str, saved: bool
) -> _Posted:
    from rulebook.bot.client import Refused
    from rulebook.bot.upsert import upsert

    if not token:
        raise Refused("there is no token to write the comment with", "set GITHUB_TOKEN in the environment")
    # Without a knowledge base there is no answer for another head; the run for that head brings its own.
    answer_for: Callable[[Pull], Brief] | None = None if saved else lambda moved: job.answer(client, moved)
    result = upsert(
        client,
        brief,
        key=key,
        author=author,
        sender=job.ref.sender,
        edited_comment=job.ref.edited_comment,
        elsewhere="see the job's summary" if os.environ.get("GITHUB_STEP_SUMMARY") else "",
        answer_for=answer_for,
    )
    where = f": {result.url}" if result.url else ""
    notes = (f"comment on {job.ref.repository}#{pull.number} {result.outcome}{where}", *result.notes)
    if result.left_out:
        notes += (f"{result.left_out} entries did not fit into the comment",)
    return _Posted(result.state, notes)


def _fresh_state(brief: Brief) -> State:
    from rulebook.bot.state import advance

    return advance(None, brief)


def _write_files(brief: Brief, save: str, targets: Mapping[str, str], root: str, *, quiet: bool) -> None:
    from rulebook.render.data import applies_data, dump

    if save:
        from rulebook.bot.brief import brief_data

        _write(save, dump(brief_data(brief)), quiet=quiet)
    for word, name in targets.items():
        if word == "json":
            text = dump(applies_data(brief.report))
        elif word == "md":
            from rulebook.render.md import applies_markdown

            text = applies_markdown(brief.report)
        elif word == "github":
            from rulebook.render.github import applies_annotations

            text = applies_annotations(brief.report)
        else:
            from importlib.metadata import version

            from rulebook.cli.pages import rule_addresses
            from rulebook.render.sarif import applies_sarif

            pages = rule_addresses(root or os.getcwd(), brief.report, brief.site)
            text = dump(applies_sarif(brief.report, version("repo-rulebook"), help_addresses=pages))
        _write(name, text, quiet=quiet, commands=word == "github")


def _write(name: str, text: str, *, quiet: bool, commands: bool = False) -> None:
    if name == "-":
        terminal.write(text, commands=commands)
        return
    try:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise UnreadableInput(f"{name} cannot be written: {error.strerror}", "name another place") from None
    terminal.note(f"note: {name} was written", quiet=quiet)


def _write_summary(brief: Brief, state: State, *, quiet: bool) -> None:
    """Adds the whole answer to the job's summary, in the room that is left there."""
    name = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if not name:
        return
    from rulebook.bot.comment import MAX_SUMMARY, render_summary

    try:
        with open(name, "a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            text = render_summary(brief, state, budget=MAX_SUMMARY - file.tell())
            file.write(text.body)
    except OSError as error:
        terminal.note(f"note: the job's summary cannot be written: {error.strerror}", quiet=quiet)
        return
    if text.left_out:
        terminal.note(f"note: {text.left_out} entries did not fit into the job's summary", quiet=quiet)


def _print(brief: Brief, state: State, key: str, *, dry_run: bool) -> None:
    from rulebook.bot.comment import render_comment, render_summary

    text = render_comment(brief, state, key=key).body if dry_run else render_summary(brief, state).body
    terminal.write(text)


# --- the exit code ----------------------------------------------------------------------------


def _is_excused(problem: RulebookError, *, fork: bool) -> bool:
    """Whether it is no fault of the job: GitHub fails, or a fork's token is read-only as it should be."""
    from rulebook.bot.client import Refused, Unavailable

    return isinstance(problem, Unavailable) or (fork and isinstance(problem, Refused))


def _fails(brief: Brief, state: State, fail_on: options.FailOn) -> bool:
    from rulebook.bot.state import ack_key
    from rulebook.model import Relevance

    if fail_on is options.FailOn.NEVER:
        return False
    if brief.waivers is not None and not brief.waivers.passed:
        return True
    order = [word.value for word in options.FailOn]
    # Of the policy's own rule the check knows more than that some waiver names a changed path.
    checked = brief.waivers.rule if brief.waivers is not None else ""
    return any(
        order.index(match.severity.value) <= order.index(fail_on.value)
        for match in brief.report.rules
        if match.relevance is Relevance.DIRECT and match.id != checked
        if not match.waived_by and ack_key(match.id) not in state.acks
    )
