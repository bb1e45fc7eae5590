"""What the board's tests share: a board played letter by letter, which checks at every one what holds for all of them."""

from __future__ import annotations

from attrs import define, evolve, field

from ggactors.protocol.board import (
    Charter,
    CreateEpic,
    CreateIssue,
    EndAttempt,
    Filer,
    GiveVerdict,
    HandBack,
    IssueAssigned,
    ReadBoard,
    ReadWait,
    RemoveEpic,
    RemoveIssue,
    ReviewAssigned,
    SetIssueBlockedBy,
    SettleMerge,
    StartIssue,
    StartReview,
    UpdateIssue,
    WaitForIssue,
)
from ggactors.protocol.values import Refused, Status
from ggactors.rules.board import Board, apply, decide, dump, replay, woken
from ggactors.rules.boardevents import events_of

CHARTER = Charter(
    max_epics=3,
    max_issues=40,
    max_retries=1,
    profiles=("lead", "coder", "tester", "critic", "merger"),
    filers={
        "lead": Filer(implementers=("coder", "tester"), reviewers=("critic",)),
        "haunted": Filer(implementers=("coder",), reviewers=("critic", "tester", "ghost")),
        "strict": Filer(implementers=("coder",), reviewers=("critic", "tester"), reviewers_required=True),
    },
    names={"critic": "The Critic"},
)


@define
class Play:
    """A board under play. ``send`` decides, applies and remembers; a decision must leave the board as it was.

    ``careful`` compares the whole board at every letter; large boards are played without.
    """

    charter: Charter = CHARTER
    careful: bool = True
    board: Board = field(factory=Board)
    facts: list = field(factory=list)
    events: list = field(factory=list)
    woken: set = field(factory=set)

    def send(self, letter):
        before = dump(self.board) if self.careful else None
        decision = decide(self.board, self.charter, letter)
        assert before is None or dump(self.board) == before, "a decision changed the board"
        if isinstance(decision.answer, Refused) and not isinstance(letter, ReadWait):
            assert not decision.facts
        self.events, changes = [], []
        for fact in decision.facts:
            change = apply(self.board, fact)
            changes.append(change)
            self.events.extend(events_of(self.board, change, self.charter.names))
        self.facts.extend(decision.facts)
        self.woken = woken(self.board, changes)
        return decision.answer

    def peek(self, letter):
        """Ask what changes nothing, without the care that ``send`` takes."""
        return decide(self.board, self.charter, letter).answer

    def check_replay(self):
        assert dump(replay(self.facts)) == dump(self.board)

    # short ways to say the usual letters

    def epic(self, prefix="AUTH", **more):
        return self.send(CreateEpic(**({"by": "root", "profile": "lead", "prefix": prefix, "title": "An epic"} | more)))

    def file(self, *blocked_by, **more):
        given = {"by": "root", "profile": "lead", "title": "A title", "in_scope": "in", "out_of_scope": "out"}
        given |= {"completion_criteria": "works", "agent": "coder", "blocked_by": blocked_by}
        answer = self.send(CreateIssue(**(given | more)))
        return answer if isinstance(answer, Refused) else answer.issue

    def update(self, issue, **fields):
        return self.send(UpdateIssue(by="root", profile="lead", issue=issue, **fields))

    def revive(self, issue):
        return self.update(issue, status="open")

    def block(self, issue, *blocked_by):
        return self.send(SetIssueBlockedBy(by="root", profile="lead", issue=issue, blocked_by=blocked_by))

    def remove(self, issue):
        return self.send(RemoveIssue(by="root", profile="lead", issue=issue))

    def remove_epic(self, epic):
        return self.send(RemoveEpic(by="root", profile="lead", epic=epic))

    def start(self, issue):
        answer = self.send(StartIssue(issue=issue))
        return answer.agent if isinstance(answer, IssueAssigned) else answer

    def hand_back(self, issue, agent, commit="c0ffee", **more):
        return self.send(HandBack(issue=issue, agent=agent, commit=commit, summary="did it", **more))

    def review(self, issue):
        answer = self.send(StartReview(issue=issue))
        return answer.agent if isinstance(answer, ReviewAssigned) else answer

    def verdict(self, issue, agent, *items, commit="c0ffee"):
        """Approve, or request these changes."""
        return self.send(GiveVerdict(issue=issue, agent=agent, commit=commit, approved=not items, items=items))

    def end(self, issue, agent, status=Status.EXHAUSTED, **more):
        return self.send(EndAttempt(**({"issue": issue, "agent": agent, "status": status, "reason": "ran out"} | more)))

    def merge(self, issue, commit="feed", **more):
        return self.send(SettleMerge(issue=issue, commit=commit, **more))

    def finish(self, issue):
        """Take a ready issue all the way to done."""
        self.hand_back(issue, self.start(issue))
        self.merge(issue)

    def fail(self, issue):
        """Take a ready issue to failed, its retries spent."""
        for _ in range(self.charter.max_retries + 1):
            self.end(issue, self.start(issue))

    def wait(self, issue, by="root", works_for=None, **more):
        return self.send(WaitForIssue(by=by, issue=issue, works_for=works_for, **more))

    def read_wait(self, issue, by="root"):
        return self.send(ReadWait(by=by, issue=issue))

    def see(self, issue):
        return self.send(ReadBoard(issue=issue)).issues[0]

    def whole(self):
        return self.send(ReadBoard())


def chartered(**changes):
    return evolve(CHARTER, **changes)
