"""What must hold once a simulated run is over: the laws of the end, one function each, named with their clauses.

Law: as for ``simlaws``. A run that was cut off at once, or whose journal gave out, is held to what can be promised of it: slots,
the account, and that nothing false is in main.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ggactors.actors.board import STREAM, replay
from ggactors.ports import JournalBroken
from ggactors.protocol.events import AgentState, WorktreeMerged
from ggactors.protocol.values import IssueState, Status
from ggactors.rules.board import dump
from ggactors.testing.simparts import PlantedCrash

if TYPE_CHECKING:
    from ggactors.protocol.run import Outcome
    from ggactors.testing.memory import Commit, Tree
    from ggactors.testing.simlaws import Invariants

_REVIEWERS = re.compile(r"\.\d+r[ .]")
_MARKERS = ("<<<<<<<", ">>>>>>>")


def judge_end(laws: Invariants, outcome: Outcome | None, *, cut: bool) -> None:
    """Check every law of the end. ``cut``: the run was cancelled at once, which leaves agents and issues where they were."""
    laws.ledger.catch_up()
    whole = not cut and not laws.run.journal.broken and not _crashed(laws, "board")
    no_slot_is_held_at_the_end_S7(laws)
    main_is_the_replay_of_what_was_accepted_M1(laws)
    failed_is_never_merged_D2(laws)
    the_account_is_the_last_word(laws, outcome)
    if outcome is None:
        return
    the_exit_code_follows_from_statuses(laws, outcome, cut=cut)
    no_defect_of_its_own(laws)
    if cut:
        return
    every_agent_has_ended(laws)
    if not whole:
        return
    the_journal_gives_the_same_board(laws)
    the_stream_tells_the_board_T2(laws, outcome)
    nobody_is_left_waiting_Q7(laws)
    the_run_ends_when_nothing_is_left_to_do_D9(laws)
    each_acceptance_is_in_main_exactly_once_M5(laws)
    worktrees_go_with_their_issues_W5(laws)
    each_reconciliation_is_told_once_W6(laws)
    a_defect_fails_what_it_struck_D8(laws)
    the_work_is_landed_W10(laws)


def _crashed(laws: Invariants, name: str) -> bool:
    return any(crashed == name for crashed, _ in laws.run.crashes)


def no_slot_is_held_at_the_end_S7(laws: Invariants) -> None:
    """Nobody holds or awaits a slot when the run is over (S7)."""
    pool = laws.run.staff.pool if laws.run.staff is not None else None
    if pool is not None and (pool.held or pool.queued):
        holders = [seat.name for seat in laws.run.seats if seat.holds]
        message = f"{pool.held} slots are held ({holders}), {pool.queued} seats queue"
        laws.breach("no_slot_is_held_at_the_end_S7", message)


def every_agent_has_ended(laws: Invariants) -> None:
    """Whoever was spawned has come to its end, and the stream says so."""
    if laws.living:
        laws.breach("every_agent_has_ended", f"{list(laws.living)} never ended")


def the_account_is_the_last_word(laws: Invariants, outcome: Outcome | None) -> None:
    """A run gives one account, and the stream ends with it (docs/reference/events.md)."""
    types = [event.type for event in laws.run.events]
    if outcome is None or types[-2:] != ["session_summary", "session_ended"] or types.count("session_summary") != 1:
        laws.breach("the_account_is_the_last_word", f"the stream ends {types[-3:]}")


def no_defect_of_its_own(laws: Invariants) -> None:
    """Nothing breaks down but what was made to, or what fell with it."""
    for name, error in laws.run.crashes:
        if not _expected(error):
            laws.breach("no_defect_of_its_own", f"{name} broke down: {error!r}")


def _expected(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_expected(part) for part in error.exceptions)
    return isinstance(error, PlantedCrash | JournalBroken)


# ---------------------------------------------------------------- the account


def the_exit_code_follows_from_statuses(laws: Invariants, outcome: Outcome, *, cut: bool) -> None:
    """The run's status is what stopped it, else its root's; the exit code follows from it and the issues (reference/cli.md)."""
    staff = laws.run.staff
    assert staff is not None
    root = next((agent for agent in staff.place.view.agents() if agent.kind == "root"), None)
    broke = (laws.broken_at is not None and laws.broken_at < laws.run.events[-2].seq) or bool(laws.run.crashes)
    if broke and not cut:
        expected = {Status.INTERNAL_ERROR}
    elif staff.switch.status is not None:
        expected = {staff.switch.status}
        if laws.stopped_at is None or laws.stopped_at >= _seq_of_account(laws):
            expected.add(Status(root.status) if root is not None and root.status is not None else Status.INTERNAL_ERROR)
    else:
        expected = {Status(root.status)} if root is not None and root.status is not None else set()
    if outcome.status not in expected and not (broke and cut):
        laws.breach("the_exit_code_follows_from_statuses", f"status {outcome.status}, expected {expected}")
    match outcome.status:
        case Status.CANCELED:
            code = 130
        case Status.MODEL_ERROR | Status.AUTH_ERROR | Status.HOOK_ERROR | Status.INTERNAL_ERROR:
            code = 1
        case Status.COMPLETED:
            code = 0 if all(state == "done" for state in outcome.issues.values()) else 4
        case _:
            code = 3
    if outcome.exit_code != code:
        laws.breach("the_exit_code_follows_from_statuses", f"{outcome.status} exits {outcome.exit_code}, not {code}")


def _seq_of_account(laws: Invariants) -> int:
    """Find the event from which on a stop comes too late to change what the run came to: the landing, or its account."""
    ended = [event.seq for event in laws.run.events if isinstance(event, AgentState) and event.state == "ended"]
    return max(ended, default=0)


def the_journal_gives_the_same_board(laws: Invariants) -> None:
    """The board's facts, replayed, give the board that was, to the byte."""
    live = laws.run.actors["board"]._board
    if dump(replay(laws.run.journal.stream(STREAM))) != dump(live):
        laws.breach("the_journal_gives_the_same_board", "the replayed board differs from the live one")


def the_stream_tells_the_board_T2(laws: Invariants, outcome: Outcome) -> None:
    """What the events fold to, what the summary says and what the journal holds are one board (T2, D6)."""
    staff = laws.run.staff
    assert staff is not None
    board = laws.ledger.board
    states = {issue.id: str(issue.state) for issue in board.issues.values()}
    view = {issue: str(state) for issue, state in staff.place.view.issue_states().items()}
    if not states == view == dict(outcome.issues):
        laws.breach("the_stream_tells_the_board_T2", f"board {states}, stream {view}, summary {outcome.issues}")
    stalled = {issue for issue in board.issues if laws.ledger.standing(issue) == "stalled"}
    told = {str(stall["issue"]) for stall in outcome.stalled}
    if laws.ledger.board.defect is None and not stalled == told == set(staff.place.view.stalls()):
        laws.breach("the_stream_tells_the_board_T2", f"stalled {stalled}, told {told}")
    for issue in board.issues.values():
        seen = staff.place.view.issues[issue.id]
        shown = (seen.attempts, seen.rounds, seen.blocked_by, seen.reason if issue.state.terminal else None)
        held = (
            issue.attempts,
            issue.rounds,
            board.dag.blockers(issue.id),
            issue.reason if issue.state.terminal else None,
        )
        if shown != held:
            laws.breach(
                "the_stream_tells_the_board_T2", f"{issue.id}: the stream shows {shown}, the board holds {held}"
            )


def nobody_is_left_waiting_Q7(laws: Invariants) -> None:
    """When the run is over no wait is open on the board (Q7)."""
    waits = {agent: list(issues) for agent, issues in laws.ledger.board.waits.items()}
    if waits:
        laws.breach("nobody_is_left_waiting_Q7", f"{waits}")


def the_run_ends_when_nothing_is_left_to_do_D9(laws: Invariants) -> None:
    """A run that was not stopped leaves nothing dispatchable, in flight or unmerged behind (D9)."""
    board, staff = laws.ledger.board, laws.run.staff
    assert staff is not None
    if staff.switch.status is not None:
        return
    left = {
        issue.id: str(issue.state)
        for issue in board.issues.values()
        if issue.state in (IssueState.IN_PROGRESS, IssueState.IN_REVIEW)
        or (
            issue.state is IssueState.OPEN
            and all(board.issues[one].state is IssueState.DONE for one in board.dag.blockers(issue.id))
        )
    }
    if left:
        laws.breach("the_run_ends_when_nothing_is_left_to_do_D9", f"it ended with {left}")


# ---------------------------------------------------------------- main and the operator


def each_acceptance_is_in_main_exactly_once_M5(laws: Invariants) -> None:
    """Every acceptance that ended done was merged once, and nothing else was (M1, M3, M5)."""
    merged = Counter(laws.run.repository.merged)
    done = Counter((one.issue, one.commit) for one in laws.ledger.acceptances if one.merged is not None)
    struck = _crashed(laws, "merger")
    if merged != done and not (struck and not done - merged):
        laws.breach("each_acceptance_is_in_main_exactly_once_M5", f"merged {merged}, done {done}")


def failed_is_never_merged_D2(laws: Invariants) -> None:
    """No acceptance that ended failed is in main (D2, M4)."""
    merged = set(laws.run.repository.merged)
    accepted_again = {(one.issue, one.commit) for one in laws.ledger.acceptances if one.failed is None}
    for one in laws.ledger.acceptances:
        if one.failed is not None and (one.issue, one.commit) in merged - accepted_again:
            laws.breach("failed_is_never_merged_D2", f"{one.issue} failed ({one.failed}) and {one.commit} is in main")


def main_is_the_replay_of_what_was_accepted_M1(laws: Invariants) -> None:
    """Main's history is merges of accepted commits and commits of its own agents; where no path conflicts, a merge is just that.

    A conflicted merge may differ in its conflicted paths alone, or in what its agent touched, and never holds a marker.
    """
    repository = laws.run.repository
    accepted = {one.commit for one in laws.ledger.acceptances}
    commit = repository.commits[repository.tip]
    while commit.parents:
        before = repository.commits[commit.parents[0]]
        if any(text.startswith(_MARKERS) for text in commit.tree.values()):
            laws.breach("main_is_the_replay_of_what_was_accepted_M1", f"{commit.id} holds conflict markers")
        _judge_authors(laws, commit)
        if len(commit.parents) == 2:
            _judge_merge(laws, commit, before, accepted)
        elif commit.signature is None or commit.signature.issue is not None:
            laws.breach(
                "main_is_the_replay_of_what_was_accepted_M1", f"{commit.id} in main is nobody's: {commit.message}"
            )
        commit = before


def _judge_merge(laws: Invariants, commit: Commit, before: Commit, accepted: set[str]) -> None:
    repository, law = laws.run.repository, "main_is_the_replay_of_what_was_accepted_M1"
    merged = repository.commits[commit.parents[1]]
    if merged.id not in accepted:
        laws.breach(law, f"{commit.id} merges {merged.id}, which nobody accepted")
    base = repository.commits[_base_of(laws, before, merged)].tree
    expected, conflicts = _three_way(base, before.tree, merged.tree)
    if not conflicts and expected != commit.tree:
        laws.breach(law, f"{commit.id} is {commit.tree}, the replay gives {expected}")


def _judge_authors(laws: Invariants, commit: Commit) -> None:
    """See to it that nothing a reviewer wrote, or an agent that worked for one, is in main (R8)."""
    for path, text in commit.tree.items():
        if _REVIEWERS.search(text):
            laws.breach("no_edit_of_a_reviewer_is_in_main_R8", f"{commit.id} holds {text!r} at {path}")


def _base_of(laws: Invariants, ours: Commit, theirs: Commit) -> str:
    """Find the newest commit that both sides hold."""
    commits = laws.run.repository.commits

    def behind(tip: str) -> set[str]:
        todo, seen = [tip], {tip}
        while todo:
            for parent in commits[todo.pop()].parents:
                if parent not in seen:
                    seen.add(parent)
                    todo.append(parent)
        return seen

    return max(behind(ours.id) & behind(theirs.id), key=lambda one: int(one[1:]))


def _three_way(base: Tree, ours: Tree, theirs: Tree) -> tuple[Tree, list[str]]:
    result = dict(ours)
    conflicts = []
    for path in {*base, *ours, *theirs}:
        was, mine, new = base.get(path), ours.get(path), theirs.get(path)
        if new in (was, mine):
            continue
        if mine != was:
            conflicts.append(path)
        elif new is None:
            del result[path]
        else:
            result[path] = new
    return result, conflicts


def the_work_is_landed_W10(laws: Invariants) -> None:
    """With ``land: end`` the operator's checkout is moved to main's tip, whatever the status; with ``never`` it is not (W10)."""
    repository, land = laws.run.repository, laws.world.crew.land
    refused = any(step == "land" for step, _ in laws.world.faults.broken_steps) or bool(laws.run.crashes)
    if land == "never" and repository.operator != repository.facts.base:
        laws.breach("the_work_is_landed_W10", f"land is never, and the operator is at {repository.operator}")
    if land != "never" and not refused and repository.operator != repository.tip:
        laws.breach("the_work_is_landed_W10", f"the operator is at {repository.operator}, main at {repository.tip}")


# ---------------------------------------------------------------- worktrees and defects


def worktrees_go_with_their_issues_W5(laws: Invariants) -> None:
    """Done and failed issues have no worktree, those in review keep theirs; a disk that refuses or a defect leaves it (W3, W5)."""
    refused = {step for step, _ in laws.world.faults.broken_steps} & {"discard", "open_worktree", "check_out"}
    repository = laws.run.repository
    for issue in laws.ledger.board.issues.values():
        has = issue.id in repository.worktrees
        if issue.state.terminal and has and not refused and not laws.run.crashes:
            laws.breach("worktrees_go_with_their_issues_W5", f"{issue.id} is {issue.state} and keeps its worktree")
        if issue.state is IssueState.IN_REVIEW and not has:
            laws.breach("worktrees_go_with_their_issues_W5", f"{issue.id} is {issue.state} and has no worktree")


def each_reconciliation_is_told_once_W6(laws: Invariants) -> None:
    """Each merge of an accepted issue, made or failed, is one ``worktree_merged`` event (W6)."""
    if laws.run.crashes:
        return
    told: Counter[tuple[str, bool]] = Counter()
    for event in laws.run.events:
        if isinstance(event, WorktreeMerged):
            told[event.issue, event.merged] += 1
    due = Counter((one.issue, True) for one in laws.ledger.acceptances if one.merged is not None)
    if Counter({key: count for key, count in told.items() if key[1]}) != due:
        laws.breach("each_reconciliation_is_told_once_W6", f"told {told}, due {due}")
    for one in laws.ledger.acceptances:
        if one.failed is not None and not told[one.issue, False]:
            laws.breach("each_reconciliation_is_told_once_W6", f"{one.issue} failed to merge and no event says so")


def a_defect_fails_what_it_struck_D8(laws: Invariants) -> None:
    """The issue that was being reconciled when a defect was raised is failed, if it was not settled before (D8).

    Somebody may revive one that was, in the turn the defect still leaves them.
    """
    for name, _ in laws.run.crashes:
        issue_id = laws.issues.get(name) if name in laws.issues else laws.at_crash.get(name)
        issue = None if issue_id is None else laws.ledger.board.issues.get(issue_id)
        if issue is not None and not issue.state.terminal and issue.state is not IssueState.OPEN:
            laws.breach("a_defect_fails_what_it_struck_D8", f"{name} broke down and {issue.id} is {issue.state}")
