"""Closing the books: landing, the account and the events that tell of them; and the account of a run that broke down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from ggactors.ports import RepositoryBroken
from ggactors.protocol.board import BoardPicture, EpicPicture, IssuePicture, Stall
from ggactors.protocol.events import CheckoutMoved, Log, SessionEnded, SessionSummary
from ggactors.protocol.git import Landing
from ggactors.protocol.run import Outcome
from ggactors.protocol.values import IssueState
from ggactors.rules.spend import per_done
from ggactors.rules.verdict import exit_code

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.ports import Repository
    from ggactors.protocol.events import Event
    from ggactors.protocol.values import Status
    from ggactors.store.folder import RunFolder
    from ggactors.telemetry.folds import RunView


async def land(repository: Repository, emit: Callable[[Event], None], *, run: str, stands: str) -> Landing:
    """Move the operator's checkout forward (W10). Held: says why, and the commands that land or fetch the work of ``run``.

    ``stands`` is the commit the checkout was left at by what landed before, for the account of a landing that broke.
    """
    try:
        landing = await repository.land()
    except RepositoryBroken as error:
        landing = Landing(source=stands, target=stands, reason="write-failed", detail=str(error))
    if landing.source != landing.target or landing.reason is not None:
        emit(CheckoutMoved(source=landing.source, target=landing.target, held=landing.held, reason=landing.reason))
    if landing.reason is not None:
        facts = repository.facts
        ref = f"refs/heads/{facts.branch}"
        detail = f": {landing.detail}" if landing.detail else ""
        emit(
            Log(
                level="warning",
                message=f"your checkout was not moved ({landing.reason}{detail}); the work is on {ref} of "
                f"{facts.repository}; land it with: ggactors land {run}; or fetch it with: git fetch {facts.repository} {ref}",
            )
        )
    return landing


def give_account(
    outcome: Outcome, landing: Landing | None, *, folder: RunFolder, emit: Callable[[Event], None]
) -> Outcome:
    """Emit the summary and the end of the segment. Returns the outcome completed by where it lies and what landed."""
    landed = None
    if landing is not None and (landing.source != landing.target or landing.reason is not None):
        landed = {
            "from": landing.source,
            "to": landing.target,
            "held": list(landing.held),
            "reason": landing.reason,
        }
    done = sum(state == IssueState.DONE for state in outcome.issues.values())
    cost, tokens = per_done(outcome.cost, outcome.usage, done)
    whole = evolve(
        outcome,
        landed=landed,
        run=folder.id,
        folder=str(folder.path),
        cost_per_done=cost,
        tokens_per_done=tokens,
    )
    emit(
        SessionSummary(
            status=whole.status,
            exit_code=whole.exit_code,
            summary=whole.summary,
            verified=whole.verified,
            turns=whole.turns,
            errors=whole.errors,
            usage=whole.usage,
            cost=whole.cost,
            limit_hit=whole.limit_hit,
            issues=whole.issues,
            stalled=whole.stalled,
            agents=whole.agents,
            landed=whole.landed,
            cost_per_done=whole.cost_per_done,
            tokens_per_done=whole.tokens_per_done,
        )
    )
    emit(SessionEnded(status=whole.status))
    return whole


def account_of(view: RunView, *, status: Status, summary: str, usage: dict[str, int], cost: float | None) -> Outcome:
    """Account for a run from its events alone: its own actor is not there to do it."""
    states = view.issue_states()
    agents = view.agents()
    return Outcome(
        status=status,
        exit_code=exit_code(status, states),
        summary=summary,
        verified=None,
        turns=sum(agent.turns for agent in agents),
        errors=sum(agent.errors for agent in agents),
        usage=usage,
        cost=cost,
        limit_hit=None,
        issues={issue: str(state) for issue, state in states.items()},
        stalled=tuple({"issue": issue, "blocker": blocker} for issue, blocker in view.stalls().items()),
        agents=len(agents),
        landed=None,
    )


def board_of(view: RunView) -> BoardPicture:
    """Picture the board as its events told it; what only its own actor knows of an issue is left empty."""
    return BoardPicture(
        epics=tuple(
            EpicPicture(id=epic.id, title=epic.title, description=epic.description) for epic in view.epics.values()
        ),
        issues=tuple(
            IssuePicture(
                id=issue.id,
                title=issue.title,
                state=issue.state,
                agent=issue.agent,
                reviewers=issue.reviewers,
                blocked_by=issue.blocked_by,
                epic=issue.epic,
                attempts=issue.attempts,
                rounds=issue.rounds,
                reason=issue.reason,
                description=None,
                in_scope="",
                out_of_scope="",
                completion_criteria="",
            )
            for issue in view.issues.values()
        ),
        stalled=tuple(Stall(issue=issue, blocker=blocker) for issue, blocker in view.stalls().items()),
    )
