"""The board's tools: what a profile is offered of them, and how a call becomes a letter and an answer a result.

Law: nothing is decided here that the board decides; the letter's ``by`` and ``profile`` are filled in by the runtime, never
by the model. ``wait_for_issue``, ``set_issue_blocked_by`` and ``read_board`` come with the capability (Q6). The wait itself
is the agent's: here it is only declared and its argument read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ggactors.protocol.board import (
    BoardAnswer,
    BoardLetter,
    BoardPicture,
    CreateEpic,
    CreateIssue,
    EpicCreated,
    EpicRemoved,
    IssueFiled,
    IssuePicture,
    IssueRemoved,
    ReadBoard,
    RemoveEpic,
    RemoveIssue,
    SetIssueBlockedBy,
    UpdateIssue,
    WaitSettled,
)
from ggactors.protocol.values import Code, IssueState, Refused, Scope
from ggactors.rules.boardevents import board_dict, issue_dict
from ggactors.tools.operation import Operation, Param, Shape
from ggactors.tools.results import BOARD, ID, ISSUE, WAITING
from ggactors.tools.roster import ids, listed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ggactors.protocol.crew import BoardGrant, Crew, Profile
    from ggactors.protocol.model import ToolCall

CAPABILITY = "project-management"
WAIT_FOR_ISSUE = Operation(
    id="board.wait_for_issue",
    tool="wait_for_issue",
    doc=(
        "Wait until an issue is done or failed; you are told which. You are suspended meanwhile, which costs nothing. Other "
        "calls of the same reply run first; several waits in one reply end together."
    ),
    program_doc=(
        "Wait until an issue is done or failed. An issue that is so already is answered at once by its state. Else the state "
        "is `waiting` and the program runs on; once it has ended you are suspended, which costs nothing, and a notice in your next "
        "turn tells you how the issue came out."
    ),
    params=(Param(name="issue_id", doc="The issue to wait for."),),
    result=WAITING,
    capability=CAPABILITY,
    always=True,
)
SET_ISSUE_BLOCKED_BY = Operation(
    id="board.set_issue_blocked_by",
    tool="set_issue_blocked_by",
    doc="Replace the whole set of issues that must be done before this one starts; an empty list frees it.",
    params=(
        Param(name="issue_id", doc="The issue."),
        Param(name="blocked_by", doc="The ids of every issue it waits for from now on.", shape=Shape.TEXTS),
    ),
    result=ISSUE,
    capability=CAPABILITY,
    always=True,
)
READ_BOARD = Operation(
    id="board.read_board",
    tool="read_board",
    doc="Read the board: all of it, one epic with its issues, or one issue. Issues that can never start are listed as stalled.",
    params=(
        Param(name="epic_id", doc="Only this epic.", required=False),
        Param(name="issue_id", doc="Only this issue.", required=False),
    ),
    result=BOARD,
    capability=CAPABILITY,
    always=True,
)
CREATE_EPIC = Operation(
    id="board.create_epic",
    tool="create_epic",
    doc="Open an epic, a group of related issues. Its prefix is its id, and its issues are numbered under it.",
    params=(
        Param(name="prefix", doc="Three to six letters, such as AUTH."),
        Param(name="title", doc="What the epic is about, in a few words."),
        Param(name="description", doc="More about it.", required=False, blank=True),
    ),
    result=ID,
    capability=CAPABILITY,
)
UPDATE_ISSUE = Operation(
    id="board.update_issue",
    tool="update_issue",
    doc=(
        "Change an issue's texts or epic, or set a done or failed one back to open with a fresh retry budget. An agent that "
        "is working on it is not told; the next one reads the new text. Who works on it and who reviews it stay."
    ),
    params=(
        Param(name="issue_id", doc="The issue."),
        Param(name="title", doc="A new title.", required=False),
        Param(name="description", doc="A new description; empty clears it.", required=False, blank=True, clears=True),
        Param(name="in_scope", doc="What belongs to the work.", required=False, blank=True),
        Param(name="out_of_scope", doc="What does not.", required=False, blank=True),
        Param(name="completion_criteria", doc="How it is judged done.", required=False, blank=True),
        Param(
            name="epic_id",
            doc="The epic to move it to; empty takes it out of its epic.",
            required=False,
            blank=True,
            clears=True,
        ),
        Param(name="status", doc="`open` revives it.", required=False, choices=("open",)),
    ),
    one_of=("title", "description", "in_scope", "out_of_scope", "completion_criteria", "epic_id", "status"),
    result=ISSUE,
    capability=CAPABILITY,
)
REMOVE_EPIC = Operation(
    id="board.remove_epic",
    tool="remove_epic",
    doc="Remove an epic. Its issues stay, under no epic, and keep their ids.",
    params=(Param(name="epic_id", doc="The epic."),),
    result=ID,
    capability=CAPABILITY,
)
REMOVE_ISSUE = Operation(
    id="board.remove_issue",
    tool="remove_issue",
    doc="Remove an issue nobody works on. It blocks nothing any more.",
    params=(Param(name="issue_id", doc="The issue."),),
    result=ID,
    capability=CAPABILITY,
)
ALWAYS = (WAIT_FOR_ISSUE, SET_ISSUE_BLOCKED_BY, READ_BOARD)
MOST_SHOWN = 64 * 1024
"""The most characters of a board that is shown with everything it holds."""
_ROW = ("id", "title", "state", "agent", "blockedBy", "epic")
BOARD_TOOLS = (
    "create_epic",
    "create_issue",
    "update_issue",
    "set_issue_blocked_by",
    "remove_epic",
    "remove_issue",
    "wait_for_issue",
    "read_board",
)
"""The names of all board tools, in the contract's order."""


def create_issue(profile: Profile, crew: Crew) -> Operation:
    """Declare ``create_issue`` as this profile sees it: whom it may assign and who may review (A1, A2, F1)."""
    implementers = profile.rostered(Scope.IMPLEMENTER)
    reviewers = profile.rostered(Scope.REVIEWER)
    required = profile.board is not None and profile.board.reviewers_required
    doc = (
        "File an issue. It is worked on by a fresh agent, in a worktree of its own, as soon as every issue it is blocked by "
        "is done; the texts are all that agent is told, so they must stand on their own. You get the id.\n"
        f"Agents you can assign:\n{listed(implementers, crew)}"
    )
    if reviewers:
        doc += f"\nAgents that can review{' (name at least one)' if required else ''}:\n{listed(reviewers, crew)}"
    return Operation(
        id="board.create_issue",
        tool="create_issue",
        doc=doc,
        params=(
            Param(name="title", doc="What is to be done, in a few words."),
            Param(name="description", doc="Background the agent needs.", required=False, blank=True),
            Param(name="in_scope", doc="What belongs to the work.", blank=True),
            Param(name="out_of_scope", doc="What does not.", blank=True),
            Param(name="completion_criteria", doc="How the work is judged done.", blank=True),
            Param(name="agent", doc="The id of the agent profile that does it.", choices=ids(implementers)),
            Param(
                name="reviewers",
                doc="Ids of the profiles that must approve the work, in order.",
                shape=Shape.TEXTS,
                required=required,
                default=(),
                choices=ids(reviewers),
                items=1 if required else 0,
            ),
            Param(name="epic_id", doc="The epic it belongs to.", required=False),
            Param(
                name="blocked_by",
                doc="The ids of the issues that must be done before it starts.",
                shape=Shape.TEXTS,
                required=False,
                default=(),
            ),
        ),
        result=ID,
        capability=CAPABILITY,
    )


def operations_of(profile: Profile, crew: Crew) -> tuple[Operation, ...]:
    """List the board operations a profile has by its features, in the contract's order (B1, F1); none without a board."""
    grant: BoardGrant | None = profile.board
    if grant is None:
        return ()
    filing = (CREATE_EPIC, create_issue(profile, crew)) if grant.issue_creation else ()
    update = (UPDATE_ISSUE,) if grant.revise_board else ()
    removing = (REMOVE_EPIC, REMOVE_ISSUE) if grant.revise_board else ()
    return (*filing, *update, SET_ISSUE_BLOCKED_BY, *removing, WAIT_FOR_ISSUE, READ_BOARD)


def every_operation(profile: Profile, crew: Crew) -> tuple[Operation, ...]:
    """List every board operation there is, in the contract's order, as this profile would see it."""
    filing = (CREATE_EPIC, create_issue(profile, crew), UPDATE_ISSUE, SET_ISSUE_BLOCKED_BY)
    return (*filing, REMOVE_EPIC, REMOVE_ISSUE, WAIT_FOR_ISSUE, READ_BOARD)


def parse_wait(call: ToolCall) -> str | Refused:
    """Read the issue a ``wait_for_issue`` call names."""
    checked = WAIT_FOR_ISSUE.check(call.args)
    return checked if isinstance(checked, Refused) else str(checked["issue_id"])


def parse_program_wait(args: Mapping[str, Any]) -> str | Refused:
    """Read the issue a program's ``gg.board.wait_for_issue`` names."""
    checked = WAIT_FOR_ISSUE.check(args, program=True)
    return checked if isinstance(checked, Refused) else str(checked["issue_id"])


@frozen(kw_only=True)
class BoardDesk:
    """Carries one agent's board calls to the board and its answers back."""

    agent: str
    profile: str
    ask: Callable[[BoardLetter], Awaitable[BoardAnswer]]

    async def call(self, tool: str, args: dict[str, Any]) -> dict[str, Any] | Refused:
        """Carry out one checked call. Cancelled: the board may have carried it out."""
        letter = self._letter(tool, args)
        return letter if isinstance(letter, Refused) else result(await self.ask(letter))

    def _letter(self, tool: str, args: dict[str, Any]) -> BoardLetter | Refused:
        by, profile = self.agent, self.profile
        match tool:
            case "create_epic":
                return CreateEpic(by=by, profile=profile, **args)
            case "create_issue":
                return CreateIssue(by=by, profile=profile, epic=args.pop("epic_id"), **args)
            case "update_issue":
                return UpdateIssue(by=by, profile=profile, issue=args.pop("issue_id"), epic=args.pop("epic_id"), **args)
            case "set_issue_blocked_by":
                return SetIssueBlockedBy(by=by, profile=profile, issue=args["issue_id"], blocked_by=args["blocked_by"])
            case "remove_epic":
                return RemoveEpic(by=by, profile=profile, epic=args["epic_id"])
            case "remove_issue":
                return RemoveIssue(by=by, profile=profile, issue=args["issue_id"])
            case "read_board":
                if args["epic_id"] is not None and args["issue_id"] is not None:
                    return Refused(
                        code=Code.INVALID_ARGUMENT,
                        message="read_board: send `epicId`, `issueId` or neither, not both.",
                    )
                return ReadBoard(epic=args["epic_id"], issue=args["issue_id"])
            case _:
                return Refused(code=Code.UNAVAILABLE, message=f"`{tool}` is no call the board answers by itself.")


def result(answer: BoardAnswer) -> dict[str, Any] | Refused:
    """Turn the board's answer into the object a model is shown."""
    match answer:
        case Refused():
            return answer
        case EpicCreated(epic=epic) | EpicRemoved(epic=epic):
            return {"id": epic}
        case IssueFiled(issue=issue) | IssueRemoved(issue=issue):
            return {"id": issue}
        case WaitSettled(issue=issue, state=state):
            return {"id": issue, "state": state.value}
        case IssuePicture():
            return issue_dict(answer)
        case BoardPicture():
            return board_result(answer)
        case _:
            # An answer to another letter would be our defect; the actor that asked must see it as one.
            raise AssertionError(f"the board answered a tool call with {type(answer).__name__}")


def board_result(board: BoardPicture) -> dict[str, Any]:
    """Show a board, an epic of it, or an issue. Of a large one texts are left out first, then done issues, then others."""
    shown = board_dict(board)
    if _fits(shown):
        return shown
    rows = [{key: issue[key] for key in _ROW} for issue in shown["issues"]]
    shown["epics"] = [{"id": epic.id, "title": epic.title} for epic in board.epics]
    shown |= {
        "issues": rows,
        "note": "the board is large, so texts are left out; read one issue by `issueId` to see them",
    }
    if _fits(shown):
        return shown
    undone = [row for row in rows if row["state"] != IssueState.DONE]
    kept = max(1, len(undone) * MOST_SHOWN // max(len(json.dumps(undone)), 1) // 2)
    shown |= {
        "issues": undone[:kept],
        "stalled": shown["stalled"][:kept],
        "omitted": {"done": len(rows) - len(undone), "others": max(len(undone) - kept, 0)},
        "note": "the board is large, so texts and issues are left out; read one epic by `epicId` or one issue by `issueId`",
    }
    return shown


def _fits(shown: dict[str, Any]) -> bool:
    return len(json.dumps(shown)) <= MOST_SHOWN
