"""The board's rules against a naive model, letter by letter, with agents that sleep on their waits."""

from __future__ import annotations

from boardkit import Play, chartered
from boardmodel import FLYING, TERMINAL, Model
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ggactors.protocol.board import (
    AskOutlook,
    AskWaits,
    DropWaits,
    EndReview,
    FailDispatch,
    ListReady,
    MergeJob,
    NextMerge,
    NothingToMerge,
    ParkMerge,
    ReadBoard,
    StartMergeAgent,
    StopDispatch,
)
from ggactors.protocol.events import BoardChanged, BoardStalled
from ggactors.protocol.values import Refused, Status

EPICS = ("AUTH", "DATA")
PICK = st.integers(min_value=0, max_value=10**6)
"""Which of the things there are; of none, nothing that is there."""
ODD = st.integers(min_value=0, max_value=7).map(lambda number: number == 7)
"""Whether to do what a careful caller would not."""
REVIEWERS = st.sampled_from([("critic",), (), ("critic", "tester"), ("critic", "ghost")])
"""Of whom the ghost is no profile of the crew."""


class BoardMachine(RuleBasedStateMachine):
    """Plays letters to the rules and to the model, and compares after each."""

    @initialize(retries=st.integers(min_value=0, max_value=2), issues=st.integers(min_value=4, max_value=12))
    def open_the_board(self, retries, issues):
        charter = chartered(max_retries=retries, max_issues=issues, max_epics=2)
        self.play, self.model = Play(charter), Model(charter)
        self.asleep: set[str] = set()
        """Agents that gave their slot back and were not woken since."""
        self.ids_seen: set[str] = set()
        self.stalls_told: set[str] = set()
        for blockers, reviewers in (((), ("critic",)), (("ISSUE-1",), ()), (("ISSUE-2",), ("critic", "tester"))):
            self.file("haunted", "coder", reviewers, None, blockers)

    def both(self, letter_answer, expected):
        """Compare a refusal's code, and what the letter woke and told, with the model's view after it."""
        code = letter_answer.code.value if isinstance(letter_answer, Refused) else None
        assert code == expected, f"{letter_answer} where the model says {expected}"
        for agent in self.play.woken:
            assert not self.model.pending(agent), f"{agent} was woken though it still waits"
        self.asleep -= self.play.woken
        told = {(event.issue, event.blocker) for event in self.play.events if isinstance(event, BoardStalled)}
        stalled = {key for key in self.model.things if self.model.stalled_behind(key) is not None}
        assert {issue for issue, _ in told} == stalled - self.stalls_told
        assert all(blocker == self.model.stalled_behind(issue) for issue, blocker in told)
        self.stalls_told = stalled
        for event in self.play.events:
            if isinstance(event, BoardChanged) and event.issue is not None:
                assert set(event.issue) >= {"id", "title", "state", "agent", "reviewers", "blockedBy", "epic"}

    def some(self, pick, chosen=lambda _: True):
        """Pick an issue that ``chosen`` holds for, or the id of none if there is none."""
        known = sorted(key for key, thing in self.model.things.items() if chosen(thing))
        return known[pick % len(known)] if known else f"ISSUE-{pick % 9}"

    # ------------------------------------------------------------ agents' letters

    @rule(prefix=st.sampled_from([*EPICS, "auth", "ISSUE", "issue", "ab", "toolong", "a1b", "ÄÖÜ", ""]), odd=ODD)
    def create_epic(self, prefix, odd):
        title = " " if odd else "An epic"
        self.both(self.play.epic(prefix, title=title), self.model.create_epic("lead", prefix, title))

    def file(self, who, agent, reviewers, epic, blockers, title="A title"):
        answer = self.play.file(*blockers, profile=who, agent=agent, reviewers=reviewers, epic=epic, title=title)
        self.both(answer, self.model.create_issue(who, title, agent, reviewers, epic, blockers))
        if not isinstance(answer, Refused):
            assert answer not in self.ids_seen, "an id was used again"
            assert answer in self.model.things
            self.ids_seen.add(answer)

    @precondition(lambda self: len(self.model.things) < self.play.charter.max_issues)
    @rule(grouped=PICK, picks=st.lists(PICK, max_size=3), reviewers=REVIEWERS)
    def create_issue(self, grouped, picks, reviewers):
        epics = [None, *self.model.epics]
        blockers = tuple(self.some(pick) for pick in picks) if self.model.things else ()
        self.file("haunted", "coder", reviewers, epics[grouped % len(epics)], blockers)

    @rule(
        who=st.sampled_from(["lead", "strict", "nobody"]),
        agent=st.sampled_from(["coder", "critic"]),
        reviewers=st.sampled_from([(), ("critic",), ("coder",)]),
        epic=st.sampled_from([None, *EPICS]),
        blocker=st.sampled_from([(), ("ISSUE-1",), ("AUTH-2", "AUTH-2")]),
        title=st.sampled_from(["A title", "\n"]),
    )
    def create_issue_carelessly(self, who, agent, reviewers, epic, blocker, title):
        self.file(who, agent, reviewers, epic, blocker, title)

    @rule(
        pick=PICK,
        title=st.sampled_from([None, None, "Another title", ""]),
        epic=st.sampled_from([None, None, "", *EPICS]),
        status=st.sampled_from([None, "open", "open", "done", "in_progress"]),
    )
    def update_issue(self, pick, title, epic, status):
        key = self.some(pick)
        answer = self.play.update(key, title=title, epic=epic, status=status)
        self.both(answer, self.model.update(key, title, epic, status))

    @precondition(lambda self: any(thing.state in TERMINAL for thing in self.model.things.values()))
    @rule(pick=PICK)
    def revive(self, pick):
        key = self.some(pick, lambda thing: thing.state in TERMINAL)
        self.both(self.play.revive(key), self.model.update(key, None, None, "open"))

    @rule(pick=PICK, blockers=st.lists(PICK, max_size=3))
    def set_blocked_by(self, pick, blockers):
        key, blockers = self.some(pick), tuple(self.some(blocker) for blocker in blockers)
        answer = self.play.block(key, *blockers)
        self.both(answer, self.model.block(key, blockers))

    @precondition(lambda self: self.model.epics)
    @rule(epic=st.sampled_from(EPICS))
    def remove_epic(self, epic):
        self.both(self.play.remove_epic(epic), self.model.remove_epic(epic))

    @precondition(lambda self: len(self.model.things) > 3)
    @rule(pick=PICK)
    def remove_issue(self, pick):
        key = self.some(pick)
        self.both(self.play.remove(key), self.model.remove(key))

    # ------------------------------------------------------------ waits

    def agents(self):
        """Name the agents that live: the root, and each worker and reviewer with a subagent of its own."""
        things = sorted(self.model.things.items())
        workers = [(thing.worker or thing.reviewer, key) for key, thing in things if thing.worker or thing.reviewer]
        return [("root", None), *workers, *((f"{worker}.0s", key) for worker, key in workers)]

    @rule(number=PICK, picks=st.lists(PICK, min_size=1, max_size=3), merger=ODD)
    def wait(self, number, picks, merger):
        awake = [agent for agent in self.agents() if agent[0] not in self.asleep]
        if not awake:
            return
        by, works_for = awake[number % len(awake)]
        for key in map(self.some, picks):
            answer = self.play.wait(key, by=by, works_for=works_for, may_wait_unsettled=not merger)
            self.both(answer, self.model.wait(by, key, works_for, not merger))
        if self.play.send(AskWaits(by=by)).issues:
            self.asleep.add(by)

    def woken(self):
        waiting = {by for by, _, _ in self.model.waits}
        return [agent for agent, _ in self.agents() if agent in waiting - self.asleep]

    @precondition(woken)
    @rule(number=PICK)
    def resume(self, number):
        """Let a woken agent go on: it may sleep again if things changed back, else it reads every wait."""
        woken = self.woken()
        agent = woken[number % len(woken)]
        pending = set(self.play.send(AskWaits(by=agent)).issues)
        assert pending == self.model.pending(agent)
        if pending and number % 3:
            self.asleep.add(agent)
            return
        for by, key, _ in list(self.model.waits):
            if by == agent:
                self.both(self.play.read_wait(key, by=by), self.model.read_wait(by, key))

    @rule(letter=st.sampled_from([ReadBoard(), ListReady(), NextMerge(), AskOutlook(), AskWaits(by="root")]))
    def ask(self, letter):
        """Ask what changes nothing; ``send`` looks that it does not."""
        self.play.send(letter)

    # ------------------------------------------------------------ the runtime's letters

    def listed(self):
        return [ready.id for ready in self.play.peek(ListReady()).issues]

    @precondition(lambda self: self.play.board.ready or self.play.board.retrying)
    @rule(pick=PICK, odd=ODD)
    def start(self, pick, odd):
        listed = self.listed()
        key = self.some(pick) if odd or not listed else listed[pick % len(listed)]
        answer = self.play.start(key)
        self.both(answer, self.model.start(key))
        if not isinstance(answer, Refused):
            assert answer == self.model.things[key].worker

    def at_work(self):
        return any(thing.worker for thing in self.model.things.values())

    def worked(self, pick, odd):
        """Choose an issue with its agent, or an agent that does not work on it."""
        key = self.some(pick, lambda thing: thing.worker)
        return (self.some(pick), f"{key}.7i") if odd else (key, self.model.things[key].worker)

    def leave(self, agent):
        """Have an agent that ended, and its subagent, wait for nothing any more."""
        for gone in (agent, f"{agent}.0s"):
            self.play.send(DropWaits(by=gone))
            self.model.drop_waits(gone)
            self.asleep.discard(gone)

    @precondition(at_work)
    @rule(pick=PICK, odd=ODD)
    def hand_back(self, pick, odd):
        key, agent = self.worked(pick, odd)
        if agent not in self.asleep:
            self.both(self.play.hand_back(key, agent), self.model.hand_back(key, agent))
            self.leave(agent)

    @precondition(at_work)
    @rule(pick=PICK, odd=ODD, status=st.sampled_from([Status.EXHAUSTED, Status.MODEL_ERROR, Status.AUTH_ERROR]))
    def end_attempt(self, pick, odd, status):
        key, agent = self.worked(pick, odd)
        parked = self.model.stopped and status is Status.MODEL_ERROR
        answer = self.play.end(key, agent, status, parked=parked)
        self.both(answer, self.model.end(key, agent, status is Status.AUTH_ERROR, parked))
        self.leave(agent)

    @precondition(lambda self: any(thing.resting == "review" for thing in self.model.things.values()))
    @rule(pick=PICK, odd=ODD)
    def start_review(self, pick, odd):
        key = self.some(pick, lambda thing: odd or thing.resting == "review")
        answer = self.play.review(key)
        self.both(answer, self.model.start_review(key))
        if not isinstance(answer, Refused):
            assert answer == self.model.things[key].reviewer

    def in_review(self):
        return any(thing.reviewer for thing in self.model.things.values())

    @precondition(in_review)
    @rule(pick=PICK, odd=ODD, approved=st.booleans(), stale=ODD)
    def give_verdict(self, pick, odd, approved, stale):
        key = self.some(pick, lambda thing: odd or thing.reviewer)
        agent = self.model.things[key].reviewer or f"{key}.0i.9r"
        if agent not in self.asleep:
            items = () if approved else ("once more",)
            answer = self.play.verdict(key, agent, *items, commit="old" if stale else "c0ffee")
            expected = self.model.verdict(key, agent, approved, not stale)
            self.both(answer, expected)
            if expected is None:
                self.leave(agent)

    @precondition(in_review)
    @rule(pick=PICK, odd=ODD, parked=st.booleans())
    def end_review(self, pick, odd, parked):
        key = self.some(pick, lambda thing: odd or thing.reviewer)
        agent = self.model.things[key].reviewer or f"{key}.0i.9r"
        parked = parked and self.model.stopped
        answer = self.play.send(EndReview(issue=key, agent=agent, reason="out of turns", parked=parked))
        self.both(answer, self.model.end_review(key, agent, parked))
        self.leave(agent)

    @precondition(lambda self: self.model.queue)
    @rule(pick=PICK, odd=ODD)
    def conflict(self, pick, odd):
        """Send a merge agent; once the run is stopping, the merge is left to later."""
        key = self.some(pick) if odd else self.model.queue[0]
        self.both(self.play.send(StartMergeAgent(issue=key)), self.model.start_merge_agent(key))
        if self.model.stopped:
            self.both(self.play.send(ParkMerge(issue=key)), self.model.park_merge(key))

    @rule(pick=PICK, odd=ODD)
    def fail_dispatch(self, pick, odd):
        if odd:
            key = self.some(pick)
            thing = self.model.things.get(key)
            worker = thing and thing.state not in TERMINAL and (thing.worker or thing.reviewer)
            answer = self.play.send(FailDispatch(issue=key, reason="no such profile"))
            self.both(answer, self.model.fail_dispatch(key))
            if worker:
                self.leave(worker)

    @precondition(lambda self: self.play.board.ready and not self.model.stopped)
    @rule(pick=PICK, failed=st.booleans(), short=st.booleans())
    def go_all_the_way(self, pick, failed, short):
        """Take a ready issue to its end at one go, or to its reviewer, so that states deep in its life are met often."""
        ready = sorted(self.play.board.ready)
        key = ready[pick % len(ready)]
        while (thing := self.model.things[key]).state not in TERMINAL:
            if thing.resting == "review":
                self.both(self.play.review(key), self.model.start_review(key))
            if thing.reviewer:
                if short:
                    return
                agent = thing.reviewer
                self.both(self.play.verdict(key, agent), self.model.verdict(key, agent, True, True))
                continue
            if thing.worker is None and thing.state != "in_review":
                self.both(self.play.start(key), self.model.start(key))
            agent = thing.worker
            if failed and agent:
                self.both(self.play.end(key, agent), self.model.end(key, agent, False, False))
            elif agent:
                self.both(self.play.hand_back(key, agent), self.model.hand_back(key, agent))
            else:
                first = self.model.queue[0]
                self.both(self.play.merge(first), self.model.settle(first, True))

    @precondition(lambda self: self.model.queue)
    @rule(pick=PICK, odd=ODD, failed=ODD)
    def settle_merge(self, pick, odd, failed):
        job = self.play.send(NextMerge())
        assert isinstance(job, MergeJob)
        assert job.issue == self.model.queue[0]
        key = self.some(pick) if odd else job.issue
        answer = self.play.merge(key, None if failed else "feed", reason="conflict")
        self.both(answer, self.model.settle(key, not failed))

    @precondition(lambda self: len(self.model.things) > 3)
    @rule(odds=st.tuples(ODD, ODD), defect=st.booleans())
    def stop(self, odds, defect):
        if all(odds):
            answer = self.play.send(StopDispatch(defect="boom" if defect else None))
            self.both(answer, self.model.stop(defect))
            self.asleep = {agent for agent in self.asleep if self.model.pending(agent)} if defect else self.asleep

    # ------------------------------------------------------------ what always holds

    @invariant()
    def the_boards_agree(self):
        board, model = self.play.board, self.model
        assert list(board.epics) == model.epics
        assert list(board.issues) == list(model.things)
        for key, thing in model.things.items():
            issue = board.issues[key]
            seen = (issue.state, list(board.dag.blockers(key)), issue.epic, issue.title, issue.attempts)
            assert seen == (thing.state, thing.blockers, thing.epic, thing.title, thing.started)
            assert (issue.reviewer, issue.rounds) == (thing.reviewer, thing.rounds)
            assert board.worker(issue) == thing.worker
            assert issue.retries <= self.play.charter.max_retries
        for epic in board.epics.values():
            assert set(epic.members) == {key for key, thing in model.things.items() if thing.epic == epic.id}

    @invariant()
    def the_waits_agree_and_nothing_of_an_ended_one_is_left(self):
        board, model = self.play.board, self.model
        assert {by: set(waits) for by, waits in board.waits.items()} == grouped((by, key) for by, key, _ in model.waits)
        assert {key: set(by) for key, by in board.waiters.items()} == grouped((key, by) for by, key, _ in model.waits)

    @invariant()
    def ready_is_open_with_every_blocker_done_H24(self):
        listed = self.play.peek(ListReady()).issues
        begun = {key for key, thing in self.model.things.items() if thing.resting in ("retry", "review")}
        assert all(ready.review == (self.model.things[ready.id].resting == "review") for ready in listed)
        assert set(self.play.board.ready) == self.model.ready()
        assert {ready.id for ready in listed if not ready.begun} == (
            set() if self.model.stopped else self.model.ready()
        )
        assert {ready.id for ready in listed if ready.begun} == (set() if self.model.stopped else begun)

    @invariant()
    def stalls_are_those_a_walk_finds_D6(self):
        told = {(stall.issue, stall.blocker) for stall in self.play.peek(ReadBoard()).stalled}
        walked = {(key, self.model.stalled_behind(key)) for key in self.model.things}
        assert told == {(key, blocker) for key, blocker in walked if blocker is not None}
        assert set(self.play.board.stalled) == {issue for issue, _ in told}

    @invariant()
    def the_graph_has_no_circle_B4(self):
        for key, thing in self.model.things.items():
            assert not any(self.model.reaches(blocker, key) for blocker in thing.blockers)

    @invariant()
    def nobody_is_left_behind_Q7(self):
        """Who sleeps has something to wait for; and if nothing runs and nothing can be dispatched, nobody sleeps."""
        for agent in self.asleep:
            assert self.model.pending(agent), f"{agent} sleeps though nothing holds it"
        agents = [thing.worker or thing.reviewer for thing in self.model.things.values()]
        working = [agent for agent in agents if agent and agent not in self.asleep]
        moving = working or self.model.queue or self.play.peek(ListReady()).issues
        if not moving and not self.model.stopped:
            assert not self.asleep, f"{self.asleep} sleep for ever"

    @invariant()
    def the_outlook_is_what_can_be_counted_D9(self):
        outlook, things = self.play.peek(AskOutlook()), self.model.things.values()
        assert isinstance(self.play.peek(NextMerge()), MergeJob if self.model.queue else NothingToMerge)
        assert outlook.in_flight == sum(thing.state in FLYING for thing in things)
        assert outlook.parked == sum(thing.resting == "parked" for thing in things)
        assert outlook.accepted == len(self.model.queue)
        assert outlook.waiting == len({by for by, _, _ in self.model.waits})
        assert outlook.dispatchable == len(self.play.peek(ListReady()).issues)

    def teardown(self):
        if hasattr(self, "play"):
            self.play.check_replay()


def grouped(pairs):
    """Collect the second of each pair under the first."""
    groups: dict[str, set[str]] = {}
    for first, second in pairs:
        groups.setdefault(first, set()).add(second)
    return groups


TestBoard = BoardMachine.TestCase
TestBoard.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
