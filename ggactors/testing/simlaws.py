"""The laws of a run, one method each, named with their clauses: looked at with every event, and once more at the end.

Law: a method judges by the events, the journal, the seats and the repository; it asks no actor. What breaks a law is noted with the
event at which it showed, and the run goes on, so that one look at a seed shows all that is wrong with it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from attrs import define, field, frozen

from ggactors.protocol import events
from ggactors.protocol.values import Kind, Status
from ggactors.testing.simledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.app.staff import Staff
    from ggactors.protocol.events import Event
    from ggactors.testing.simulation import Simulation
    from ggactors.testing.simworld import SimWorld

AT_ONCE = "stopped at once"
"""What agents are told to have ended of when the whole run was cancelled at once."""
CUT_SHORT = "interrupted by the operator"
"""How the answer of a call begins that a person cut short."""
_WORKING = (Kind.IMPLEMENTER, Kind.REVIEWER)


@frozen(kw_only=True)
class Violation:
    """A law that was broken, how, and the number of the event at which it showed."""

    law: str
    message: str
    seq: int

    def __str__(self) -> str:
        """Say it in one line."""
        return f"event {self.seq}: {self.law}: {self.message}"


@define
class Invariants:
    """Watches a run: call ``see`` with every event, after the run's view has it, and ``simends.judge_end`` at the end."""

    world: SimWorld
    run: Simulation
    violations: list[Violation] = field(factory=list)
    ledger: Ledger = field(init=False)
    kinds: dict[str, str] = field(factory=dict)
    """Kind of every agent, living or not; ``issues`` the one it works for, ``parents`` who spawned it."""
    issues: dict[str, str | None] = field(factory=dict)
    parents: dict[str, str | None] = field(factory=dict)
    states: dict[str, str] = field(factory=dict)
    standing: dict[str, str] = field(factory=dict)
    """Where every agent stood last by its own doing, and for what it waited."""
    living: dict[str, None] = field(factory=dict)
    landed: str | None = None
    """Where the operator's checkout was moved last."""
    at_crash: dict[str, str] = field(factory=dict)
    """The issue that the merger or the scheduler was at work on when it broke down."""
    cut: bool = False
    """Set when the whole run was cancelled at once: agents end where they are, whatever they were in the middle of."""
    stopped_at: int | None = None
    """The event at which the run was first seen to be stopping, and (``broken_at``) its journal to have given out."""
    broken_at: int | None = None
    _open_calls: dict[str, dict[str, tuple[str, str]]] = field(factory=dict)
    _seq: int = 0

    def __attrs_post_init__(self) -> None:
        """Open the ledger."""
        board = self.world.crew.board
        self.ledger = Ledger(
            journal=self.run.journal,
            repository=self.run.repository,
            max_retries=0 if board is None else board.max_retries,
            breach=self.breach,
            crashed=self._struck,
        )
        self.landed = self.run.repository.operator

    def breach(self, law: str, message: str) -> None:
        """Take note of a broken law; the same one said again is said once."""
        if not any(known.law == law and known.message == message for known in self.violations):
            self.violations.append(Violation(law=law, message=message, seq=self._seq))

    def living_in(self, issue: str) -> Sequence[str]:
        """List the agents that work in an issue's worktree and are not on their way out: all but merge agents and theirs."""
        return [
            agent
            for agent in self.living
            if self.issues[agent] == issue
            and not self._leaves(agent)
            and not any(part.endswith("m") for part in agent.split(".")[1:])
        ]

    def _leaves(self, agent: str) -> bool:
        """Tell whether an agent is on its way out: its tools are closed, and what it did is being carried away."""
        member = self.run.staff.family.members.get(agent) if self.run.staff is not None else None
        return member is not None and member.ending

    def is_first_dispatch(self, issue: str) -> bool:
        """Tell whether an issue is being dispatched for the first time since it was filed or revived."""
        self.ledger.catch_up()
        trail = self.ledger.trails.get(issue)
        state = self.ledger.board.issues[issue].state if issue in self.ledger.board.issues else None
        return trail is not None and trail.starts == 1 and state == "in_progress"

    def _struck(self, issue: str) -> bool:
        """Tell whether a defect struck somebody, or something, that works for an issue."""
        return any(self.issues.get(name) == issue or name in ("merger", "scheduler") for name, _ in self.run.crashes)

    def crash_is_planted(self, where: str) -> None:
        """Take note of what the merger is at work on when a crash is planted in a step of a merge that was not made yet."""
        self.ledger.catch_up()
        accepted = next(iter(self.ledger.board.accepted), None)
        if accepted is not None and where in ("merge", "begin_conflict", "abort_conflict"):
            self.at_crash["merger"] = accepted

    # ------------------------------------------------------------ every event

    def see(self, staff: Staff, event: Event) -> None:
        """Look at the run as an event is emitted."""
        self.events_are_numbered_without_a_gap_T1(event)
        self._seq = event.seq
        if self.stopped_at is None and staff.switch.status is not None:
            self.stopped_at = event.seq
        if self.broken_at is None and self.run.journal.broken:
            self.broken_at = event.seq
        self.ledger.catch_up()
        self.the_operator_moves_by_landing_only_W10(event)
        match event:
            case events.AgentSpawned():
                self._spawned(event)
            case events.AgentState():
                self._changed(staff, event)
            case events.ToolCalled():
                args = event.args.get("issueId") if event.tool == "wait_for_issue" else None
                # A wait that was cut short is dropped after it was answered; what the board said of it is nobody's answer.
                self.ledger.answers.pop((event.agent or "", str(args)), None)
                self._open_calls.setdefault(event.agent or "", {})[event.call_id] = (event.tool, str(args))
            case events.ToolAnswered():
                self._answered(staff, event)
            case events.BoardChanged():
                self.nothing_is_told_before_it_is_durable(event)
                if event.op == "hand_back" and event.by is not None:
                    self.an_issue_moves_on_before_its_agents_slot_does(event.by)
            case _:
                pass
        self.slots_are_never_exceeded_or_leaked_S7(staff)

    def events_are_numbered_without_a_gap_T1(self, event: Event) -> None:
        """``seq`` goes up by one with every event (T1)."""
        if event.seq != self._seq + 1:
            self.breach("events_are_numbered_without_a_gap_T1", f"{event.seq} follows {self._seq}")

    def slots_are_never_exceeded_or_leaked_S7(self, staff: Staff) -> None:
        """What the pool says is held is what seats hold, and never more than there is (S1, S3, S7)."""
        pool = staff.pool
        holding = sum(seat.holds for seat in self.run.seats)
        if pool.held != holding or pool.held > pool.width:
            law = "slots_are_never_exceeded_or_leaked_S7"
            self.breach(law, f"{pool.held} of {pool.width} slots held, {holding} by seats")

    def the_operator_moves_by_landing_only_W10(self, event: Event) -> None:
        """The operator's checkout stands where the last landing left it (W8, W10)."""
        repository = self.run.repository
        if isinstance(event, events.CheckoutMoved):
            if event.source != self.landed:
                self.breach("the_operator_moves_by_landing_only_W10", f"moved from {event.source}, not {self.landed}")
            self.landed = event.target
        if repository.operator != self.landed and not isinstance(event, events.CheckoutMoved):
            self.breach("the_operator_moves_by_landing_only_W10", f"at {repository.operator}, landed at {self.landed}")

    def nothing_is_told_before_it_is_durable(self, event: events.BoardChanged) -> None:
        """What the stream shows of an issue, the journal has (committed before released)."""
        told = event.issue
        if told is not None and (told["state"], told["attempts"], told["rounds"]) not in self.ledger.been.get(
            told["id"], ()
        ):
            self.breach("nothing_is_told_before_it_is_durable", f"{event.op} of {told['id']} is not in the journal")

    # ------------------------------------------------------------ agents

    def _spawned(self, event: events.AgentSpawned) -> None:
        agent = event.agent or ""
        if agent in self.kinds:
            self.breach("every_agent_has_a_name_of_its_own_D3", f"{agent} is spawned twice")
        self.kinds[agent], self.issues[agent], self.parents[agent] = event.kind, event.issue, event.parent
        self.an_issue_is_worked_by_one_agent_at_a_time_D1(agent, event)
        self.living[agent] = None
        self.states[agent] = "spawned"
        broke = any(name == event.parent for name, _ in self.run.crashes)  # it was made before, and comes to life now
        if event.parent is not None and event.parent not in self.living and not broke:
            self.breach("nobody_is_spawned_by_the_dead", f"{agent} is spawned by {event.parent}, which has ended")

    def an_issue_is_worked_by_one_agent_at_a_time_D1(self, agent: str, event: events.AgentSpawned) -> None:
        """No two implementers, no two reviewers, and no implementer beside a reviewer are alive on one issue (D1, R1)."""
        if event.kind not in (*_WORKING, Kind.MERGER):
            return
        others = [
            one
            for one in self.living
            if self.issues[one] == event.issue
            and self.kinds[one] in (*_WORKING, Kind.MERGER)
            and one != agent
            and not self._leaves(one)
        ]
        if others:
            self.breach("an_issue_is_worked_by_one_agent_at_a_time_D1", f"{agent} is sent while {others} live")

    def _changed(self, staff: Staff, event: events.AgentState) -> None:
        agent = event.agent or ""
        before = self.states.get(agent)
        if event.state == "ended" and event.summary == AT_ONCE:
            self.cut = True
        else:
            self.standing[agent] = event.state + (f" for {event.waiting_on}" if event.waiting_on else "")
        self.an_agent_ends_once_and_is_silent_after(agent, before, event)
        if before == "running" and not self.cut:
            self.a_running_agent_holds_its_slot_until_it_said_so(agent, event)
        if event.state == "running":
            self.an_agent_resumes_only_when_its_condition_holds_S5(staff, agent, before)
        self.states[agent] = event.state
        if event.state == "ended":
            self.living.pop(agent, None)
        if self.cut:
            return
        if event.state == "ended":
            self.children_end_before_their_parents_W4(agent, event)
            self.every_call_is_answered_once_E9(agent, event)
        running = sum(state == "running" for state in self.states.values())
        if running > staff.pool.width:
            who = [one for one, state in self.states.items() if state == "running"]
            self.breach("the_stream_never_shows_more_running_than_slots", f"{who} of {staff.pool.width}")
        self.running_agents_hold_slots_S1()

    def an_agent_ends_once_and_is_silent_after(self, agent: str, before: str | None, event: events.AgentState) -> None:
        """Each agent is spawned first and ends once; nothing is told of its state afterwards."""
        if before is None or before == "ended":
            self.breach("an_agent_ends_once_and_is_silent_after", f"{agent} is {event.state} after {before}")

    def a_running_agent_holds_its_slot_until_it_said_so(self, agent: str, event: events.AgentState) -> None:
        """``waiting`` and ``ended`` are emitted before the slot is handed on (docs/reference/events.md)."""
        seat = getattr(self.run.actors.get(agent), "seat", None)
        if seat is not None and not seat.holds and not self._no_seat_needed(event):
            law = "a_running_agent_holds_its_slot_until_it_said_so"
            self.breach(law, f"{agent} is {event.state} and has handed its slot on before")

    def _no_seat_needed(self, event: events.AgentState) -> bool:
        """Tell whether an agent may come to its end without a slot: it gave it back to wait for its subagents, or for the tree."""
        return event.state == "ended" and event.status != "completed"

    def running_agents_hold_slots_S1(self) -> None:
        """Every agent that is told to be running holds a slot (S1)."""
        for agent, state in self.states.items():
            seat = getattr(self.run.actors.get(agent), "seat", None)
            if state == "running" and seat is not None and not seat.holds:
                self.breach("running_agents_hold_slots_S1", f"{agent} is running without a slot")

    def an_agent_resumes_only_when_its_condition_holds_S5(self, staff: Staff, agent: str, before: str | None) -> None:
        """Whoever waited for issues goes on only after all of them were settled, removed or hopeless at once (S5, Q1)."""
        waits = self.ledger.board.waits.get(agent)
        if before == "waiting" and waits and agent not in self.ledger.released and staff.switch.status is None:
            law = "an_agent_resumes_only_when_its_condition_holds_S5"
            self.breach(law, f"{agent} resumes while {list(waits)} are not over")

    def children_end_before_their_parents_W4(self, agent: str, event: events.AgentState) -> None:
        """Subagents have ended before their parent has, unless it broke down (W4)."""
        left = [one for one in self.living if self.parents[one] == agent]
        if left and event.status != Status.INTERNAL_ERROR:
            self.breach("children_end_before_their_parents_W4", f"{agent} ended before {left}")

    def an_issue_moves_on_before_its_agents_slot_does(self, agent: str) -> None:
        """An issue leaves ``in_progress`` by its agent's finish before that agent's slot is handed on (reference/events.md)."""
        seat = getattr(self.run.actors.get(agent), "seat", None)
        if seat is not None and (not seat.holds or self.states.get(agent) != "running"):
            law = "an_issue_moves_on_before_its_agents_slot_does"
            self.breach(law, f"{agent} is {self.states.get(agent)} when its issue is handed back")

    # ------------------------------------------------------------ calls

    def every_call_is_answered_once_E9(self, agent: str, event: events.AgentState) -> None:
        """Whoever ends, and did not break down, has had an answer to every call (E9, Q1)."""
        left = self._open_calls.pop(agent, None)
        if left and event.status != Status.INTERNAL_ERROR:
            self.breach("every_call_is_answered_once_E9", f"{agent} ended with {sorted(left)} unanswered")

    def _answered(self, staff: Staff, event: events.ToolAnswered) -> None:
        agent = event.agent or ""
        call = self._open_calls.get(agent, {}).pop(event.call_id, None)
        if call is None:
            self.breach("every_call_is_answered_once_E9", f"{agent}: {event.call_id} is answered and was not open")
            return
        tool, issue = call
        if event.code == "unavailable" and event.output.startswith(CUT_SHORT):
            return  # whatever the board said of it, the person did not let it be read
        if tool == "wait_for_issue" and (agent, issue) in self.ledger.answers:
            self.a_wait_is_answered_by_what_the_board_says_Q2(staff, event, issue)

    def a_wait_is_answered_by_what_the_board_says_Q2(
        self, staff: Staff, event: events.ToolAnswered, issue: str
    ) -> None:
        """The answer is the issue's state on the board when the wait was read (Q2); else why there is none (Q3-Q5, B9)."""
        said = self.ledger.answers.pop((event.agent or "", issue))
        if event.ok:
            told = json.loads(event.output)["state"]
        elif event.code == "unavailable":
            told = "defect" if said == "defect" or staff.switch.status is None else said
        else:
            told = {"not-found": "gone", "conflict": "open" if said == "open" else "stalled"}.get(event.code or "", "?")
        if told != said:
            law = "a_wait_is_answered_by_what_the_board_says_Q2"
            self.breach(law, f"{event.agent} is told {told} ({event.output[:60]}) of {issue}, which is {said}")
