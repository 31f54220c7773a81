"""One comment, whatever else happens: found among many, edited, never doubled, never about an old head."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any

import pytest

from botkit import A, B, C, brief, match
from githubserver import BOT, Error, GitHub
from rulebook.bot.client import MAX_WAIT, Pull, Refused, Unavailable
from rulebook.bot.state import Ack, load_state, marker
from rulebook.bot.upsert import Outcome, Result, upsert

if TYPE_CHECKING:
    from rulebook.bot.brief import Brief

KEY = "target"


def run(github: GitHub, wanted: Brief, **more: Any) -> Result:
    with github.client() as client:
        return upsert(client, wanted, key=KEY, **more)


@pytest.fixture
def github() -> GitHub:
    made = GitHub()
    made.add_pull(7, head=A)
    return made


def test_first_run_creates_and_second_changes_nothing(github: GitHub) -> None:
    first = run(github, brief([match("R-1")]))
    assert first.outcome is Outcome.CREATED
    assert first.url.endswith("#issuecomment-1001")
    assert github.by()[0]["body"].startswith("<!-- rulebook:comment target -->\n")
    assert run(github, brief([match("R-1")])).outcome is Outcome.UNCHANGED
    assert [method for method, _ in github.requests if method != "GET"] == ["POST"]


def test_nothing_is_posted_where_nothing_applies(github: GitHub) -> None:
    assert run(github, brief([])).outcome is Outcome.QUIET
    assert not github.comments


def test_an_existing_comment_is_edited_to_say_that_nothing_applies(github: GitHub) -> None:
    run(github, brief([match("R-1")]))
    github.pulls[7].head = B
    assert run(github, brief([], head=B)).outcome is Outcome.EDITED
    (comment,) = github.by()
    assert "No rule applies" in comment["body"]
    assert "applies no longer: R\\-1" in comment["body"]


def test_the_comment_is_found_behind_hundreds_of_others(github: GitHub) -> None:
    for number in range(130):
        github.add_comment(f"talk {number}")
    run(github, brief([match("R-1")]))
    for number in range(210):
        github.add_comment(f"more talk {number}")
    github.pulls[7].head = B
    assert run(github, brief([match("R-2")], head=B)).outcome is Outcome.EDITED
    assert len(github.by()) == 1


@pytest.mark.parametrize(
    ("author", "body"),
    [
        pytest.param("mallory", f"{marker(KEY)}\nforged", id="by another author"),
        pytest.param(BOT, f"hello\n{marker(KEY)}", id="marker not in the first line"),
        pytest.param(BOT, f"{marker('other')}\n", id="of another knowledge base"),
        pytest.param(BOT, f"> {marker(KEY)}", id="quoted"),
    ],
)
def test_comments_that_are_not_ours_are_left_alone(github: GitHub, author: str, body: str) -> None:
    other = github.add_comment(body, author)
    assert run(github, brief([match("R-1")])).outcome is Outcome.CREATED
    assert github.comments[other["id"]]["body"] == body
    assert len(github.comments) == 2


def test_own_older_duplicates_are_deleted_and_their_acknowledgements_kept(github: GitHub) -> None:
    run(github, brief([match("R-1")]))
    (first,) = github.by()
    first["body"] = first["body"].replace("- [ ] **R", "- [x] **R")
    github.add_comment(f"{marker(KEY)}\nan older text", BOT)
    github.add_comment(f"{marker(KEY)}\nanother", BOT)
    newest = max(github.comments)
    run(github, brief([match("R-1")]))  # settles the tick in the state of the newest
    result = run(github, brief([match("R-1")]))
    assert list(github.comments) == [newest]
    assert result.outcome is Outcome.UNCHANGED


def test_a_comment_deleted_under_our_hands_is_made_again(github: GitHub) -> None:
    run(github, brief([match("R-1")]))
    github.pulls[7].head = B

    def delete(method: str, path: str) -> None:
        if method == "PATCH":
            github.comments.clear()

    github.before = delete
    run(github, brief([match("R-2")], head=B))
    (comment,) = github.by()
    assert B in comment["body"]


def test_a_closed_pull_request_gets_nothing(github: GitHub) -> None:
    github.pulls[7].state = "closed"
    assert run(github, brief([match("R-1")])).outcome is Outcome.CLOSED
    assert not github.comments


def test_a_run_for_an_old_head_writes_nothing(github: GitHub) -> None:
    github.pulls[7].head = B
    assert run(github, brief([match("R-1")])).outcome is Outcome.SUPERSEDED
    assert not github.comments


def test_a_run_that_was_overtaken_while_it_wrote_answers_for_the_new_head(github: GitHub) -> None:
    def push(method: str, path: str) -> None:
        if method == "POST" and github.pulls[7].head == A:
            github.pulls[7].head = B
            github.add_comment(f"{marker(KEY)}\nabout {B}", BOT)

    github.before = push
    result = run(github, brief([match("R-1")]), answer_for=lambda pull: brief([match("R-2")], head=pull.head))
    (comment,) = github.by()
    assert result.brief.head == B
    assert load_state(comment["body"]).head == B  # type: ignore[union-attr]


# --- errors -----------------------------------------------------------------------------------


def test_a_lost_answer_to_a_post_makes_no_second_comment(github: GitHub) -> None:
    github.errors.append(Error(502, lost=True, method="POST"))
    run(github, brief([match("R-1")]))
    assert len(github.by()) == 1


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_failing_servers_are_asked_again(github: GitHub, method: str) -> None:
    run(github, brief([match("R-1")]))
    github.add_comment(f"{marker(KEY)}\n", BOT)
    github.pulls[7].head = B
    github.errors.append(Error(503, method=method, times=2))
    if method == "POST":
        github.comments.clear()
    run(github, brief([match("R-2")], head=B))
    assert len(github.by()) == 1
    assert B in github.by()[0]["body"]


@pytest.mark.parametrize(
    ("error", "slept"),
    [
        pytest.param(Error(429, headers={"retry-after": "7"}), [7.0], id="Retry-After"),
        pytest.param(Error(403, headers={"retry-after": "0"}), [1.0], id="Retry-After of nothing"),
        pytest.param(Error(403, "You have exceeded a secondary rate limit"), [60.0], id="secondary without a header"),
    ],
)
def test_rate_limits_are_waited_for(github: GitHub, error: Error, slept: list[float]) -> None:
    github.errors.append(error)
    with github.client() as client:
        upsert(client, brief([match("R-1")]), key=KEY, author=BOT)
    assert github.slept == slept
    assert len(github.by()) == 1


def test_a_rate_limit_that_lasts_too_long_is_no_reason_to_wait(github: GitHub) -> None:
    github.errors.append(Error(403, headers={"retry-after": str(int(MAX_WAIT) + 1)}, times=9))
    with github.client() as client, pytest.raises(Unavailable, match="asks to wait 181 s"):
        upsert(client, brief([match("R-1")]), key=KEY, author=BOT)
    assert github.slept == []


def test_waiting_is_bounded_over_all_requests(github: GitHub) -> None:
    github.errors.append(Error(503, times=10_000))
    with github.client() as client:
        for _ in range(50):
            with pytest.raises(Unavailable):
                client.pull(7)
    assert sum(github.slept) <= MAX_WAIT


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param((200, {}, "a proxy's page"), id="text"),
        pytest.param((200, {}, [{"id": "x"}]), id="a list of something"),
        pytest.param((200, {}, {"number": 7}), id="half a pull request"),
        pytest.param((429, {"retry-after": "Tue, 01 Dec 2026 00:00:00 GMT"}, {}), id="a date to retry after"),
    ],
)
def test_what_is_no_answer_of_github_s(github: GitHub, monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.setattr(github, "answer", lambda *_: answer)
    with github.client() as client:
        for ask in (lambda: client.pull(7), lambda: client.comments(7), lambda: client.create(7, "x")):
            with pytest.raises(Unavailable, match="no answer of GitHub's"):
                ask()


def test_a_token_that_may_not_write(github: GitHub) -> None:
    github.can_write = False
    with pytest.raises(Refused, match="GitHub says 403, Resource not accessible"):
        run(github, brief([match("R-1")]))


def test_the_author_is_learned_from_what_is_written() -> None:
    github = GitHub(login="my-app[bot]")
    github.add_pull(7, head=A)
    github.add_comment(f"{marker(KEY)}\nfrom before", "my-app[bot]")
    result = run(github, brief([match("R-1")]))
    assert len(github.by("my-app[bot]")) == 1
    assert "--author" in result.notes[0]


def test_the_author_of_a_personal_token_is_asked_for() -> None:
    github = GitHub(login="a-person")
    github.add_pull(7, head=A)
    run(github, brief([match("R-1")]))
    assert run(github, brief([match("R-1")])).outcome is Outcome.UNCHANGED
    assert len(github.by("a-person")) == 1


# --- acknowledgements -------------------------------------------------------------------------


def test_a_ticked_box_is_remembered_survives_a_push_and_lapses_with_its_lines(github: GitHub) -> None:
    run(github, brief([match("R-1"), match("R-2", path="src/b.py")]))
    comment = github.by()[0]
    comment["body"] = comment["body"].replace("- [ ] **R\\-1**", "- [x] **R\\-1**").replace("\n", "\r\n")
    result = run(
        github, brief([match("R-1"), match("R-2", path="src/b.py")]), sender="alice", edited_comment=comment["id"]
    )
    assert result.state.acks == {"R-1": Ack(head=A, fingerprint=result.state.now.rules["R-1"], by="alice", ticked=True)}
    assert "acknowledged by `@alice`" in comment["body"]
    github.pulls[7].head = B
    moved = match("R-1", line=99)
    assert run(github, brief([moved], head=B)).state.acks.keys() == {"R-1"}
    github.pulls[7].head = C
    other = match("R-1", text="x = 2", path="src/c.py")
    result = run(github, brief([other], head=C))
    assert (dict(result.state.acks), result.state.lapsed) == ({}, ("R-1",))
    assert "to be acknowledged again" in comment["body"]
    assert "- [ ] **R\\-1**" in comment["body"]


def test_a_tick_is_nobody_s_where_another_comment_was_edited(github: GitHub) -> None:
    run(github, brief([match("R-1")]))
    comment = github.by()[0]
    comment["body"] = comment["body"].replace("- [ ] ", "- [x] ")
    assert run(github, brief([match("R-1")]), sender="mallory", edited_comment=5).state.acks["R-1"].by == ""
    assert "acknowledged by a reviewer" in comment["body"]


def test_clearing_the_box_takes_an_acknowledgement_back(github: GitHub) -> None:
    run(github, brief([match("R-1")]))
    comment = github.by()[0]
    comment["body"] = comment["body"].replace("- [ ] ", "- [x] ")
    assert run(github, brief([match("R-1")])).state.acks
    comment["body"] = comment["body"].replace("- [x] ", "- [ ] ")
    assert not run(github, brief([match("R-1")])).state.acks


@pytest.mark.parametrize(
    ("permission", "counts"), [("admin", True), ("write", True), ("read", False), ("none", False), (None, False)]
)
def test_a_command_counts_with_write_access(github: GitHub, permission: str | None, counts: bool) -> None:
    run(github, brief([match("AFD-I9")]))
    if permission:
        github.permissions["bob"] = permission
    github.add_comment("Looked at it.\n/rulebook ack afd-i9 because both sides read it\n", "bob")
    result = run(github, brief([match("AFD-I9")]))
    assert [(ack.by, ack.because) for ack in result.state.acks.values()] == (
        [("bob", "both sides read it")] if counts else []
    )


def test_commands_are_carried_out_once_and_can_be_taken_back(github: GitHub) -> None:
    github.permissions["bob"] = "write"
    github.add_comment("/rulebook ack R-1", "bob")  # there is nothing yet that it could speak of
    run(github, brief([match("R-1")]))
    assert not run(github, brief([match("R-1")])).state.acks
    github.add_comment("> /rulebook ack R-1\n```\n/rulebook ack R-1\n```\n", "bob")
    assert not run(github, brief([match("R-1")])).state.acks
    github.add_comment("/rulebook ack R-1\r\n", "bob")
    assert run(github, brief([match("R-1")])).state.acks
    github.add_comment("/rulebook unack R-1", "bob")
    assert not run(github, brief([match("R-1")])).state.acks
    assert not run(github, brief([match("R-1")])).state.acks


def test_a_command_speaks_of_what_the_comment_showed(github: GitHub) -> None:
    github.permissions["bob"] = "write"
    run(github, brief([match("R-1")]))
    github.add_comment("/rulebook ack R-1", "bob")
    github.pulls[7].head = B
    changed = brief([match("R-1", path="src/new.py")], head=B)
    result = run(github, changed)
    assert not result.state.acks
    assert result.state.lapsed == ("R-1",)


def test_what_the_last_push_added_and_dropped(github: GitHub) -> None:
    run(github, brief([match("R-1"), match("R-2")]))
    github.pulls[7].head = B
    for _ in range(2):  # a second run for the same head says the same
        run(github, brief([match("R-2"), match("R-3")], head=B))
        body = github.by()[0]["body"]
        assert f"**Since** `{A[:12]}`: now applies: R\\-3; applies no longer: R\\-1." in body
    assert body.rstrip().endswith(f"`{B}`")


# --- races ------------------------------------------------------------------------------------


class Baton:
    """Lets one of several threads go on at a time, chosen at random, request by request."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.condition = threading.Condition()
        self.waiting: dict[str, bool] = {}
        self.methods: dict[str, str] = {}
        self.running = self.started = 0
        self.burst = dice.choice([0.0, 0.5, 0.9])

    def start(self, work: Any) -> threading.Thread:
        def body() -> None:
            self.wait()
            try:
                work()
            finally:
                with self.condition:
                    self.running -= 1
                    self.methods.pop(threading.current_thread().name, None)
                    self.condition.notify_all()

        with self.condition:
            self.running += 1
            self.started += 1
            # By its name a thread is the same in every run of a seed.
            thread = threading.Thread(target=body, name=f"run {self.started:03}")
        thread.start()
        return thread

    def wait(self, method: str = "") -> None:
        me = threading.current_thread().name
        with self.condition:
            self.waiting[me] = False
            self.methods[me] = method
            self.condition.notify_all()
            self.condition.wait_for(lambda: self.waiting[me], 20)
            del self.waiting[me]

    def play(self, act: Any) -> None:
        chosen = ""
        while True:
            with self.condition:
                # Everybody who runs stands at a request.
                assert self.condition.wait_for(
                    lambda: sum(not go for go in self.waiting.values()) == self.running, 20
                ), "a run got stuck"
                if not self.running:
                    return
                act()
                parked = sorted(key for key, go in self.waiting.items() if not go)
                # Bursts find races that even turns do not: one run ends while another stands before its write.
                if chosen not in parked or self.dice.random() > self.burst:
                    chosen = self.dice.choice(parked)
                self.waiting[chosen] = True
                self.condition.notify_all()


def interleave(seed: int) -> tuple[GitHub, list[str]]:
    """Two runs at once, with pushes, deletions and errors in between; every push and deletion starts a run."""
    dice = random.Random(seed)
    github = GitHub()
    github.add_pull(7, head=A)
    for number in range(dice.choice([0, 0, 3, 120])):
        github.add_comment(f"talk {number}")
    if dice.random() < 0.5:
        run(github, brief([match("R-0")]))
    baton = Baton(dice)
    threads: list[threading.Thread] = []
    log: list[str] = []
    heads = [A]
    events = dice.choices(["push", "delete", "error", "tick"], k=dice.randint(0, 4))

    def answer(pull: Pull) -> Brief:
        return brief([match(f"R-{pull.head[:6]}")], head=pull.head)

    def work(head: str) -> None:
        with github.client() as client:
            try:
                result = upsert(client, brief([match(f"R-{head[:6]}")], head=head), key=KEY, answer_for=answer)
                log.append(f"{head[:6]} {result.outcome}")
            except Unavailable as error:
                log.append(f"{head[:6]} failed {error}")

    def act() -> None:
        # Most often just before a write, on which a run has decided by what it saw before.
        writing = any(method in ("POST", "PATCH", "DELETE") for method in baton.methods.values())
        if not events or dice.random() > (0.6 if writing else 0.1):
            return
        event = events.pop()
        if event == "push":
            heads.append(f"{dice.getrandbits(160):040x}")
            github.pulls[7].head = heads[-1]
            threads.append(baton.start(lambda head=heads[-1]: work(head)))
        elif event == "delete" and github.by():
            github.comments.pop(dice.choice(github.by())["id"])
            threads.append(baton.start(lambda head=heads[-1]: work(head)))
        elif event == "tick" and github.by():
            comment = dice.choice(github.by())
            comment["body"] = comment["body"].replace("- [ ]", "- [x]")
            threads.append(baton.start(lambda head=heads[-1]: work(head)))
        elif event == "error":
            github.errors.append(
                Error(dice.choice([500, 502, 503]), lost=dice.random() < 0.5, times=dice.randint(1, 2))
            )

    def before(method: str, path: str) -> None:
        if threading.current_thread() is not threading.main_thread():
            baton.wait(method)

    github.before = before
    threads += [baton.start(lambda: work(A)) for _ in range(2)]
    # A thread stands at its start, and again before each request.
    baton.play(act)
    for thread in threads:
        thread.join(20)
    github.before = lambda method, path: None
    return github, log


def check_interleaving(seed: int) -> None:
    github, log = interleave(seed)
    newest = github.pulls[7].head
    ours = github.by()
    assert len(ours) == 1, (seed, log)
    state = load_state(ours[0]["body"])
    assert state is not None
    assert state.head == newest, (seed, log)
    assert f"`{newest}`" in ours[0]["body"].splitlines()[-1]


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_interleavings_end_with_one_comment_about_the_newest_head(start: int) -> None:
    for seed in range(start, start + 20):
        check_interleaving(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 2000, 100))
def test_a_thousand_interleavings(start: int) -> None:
    for seed in range(start, start + 100):
        check_interleaving(seed)
