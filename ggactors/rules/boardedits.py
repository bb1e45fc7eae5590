"""Decisions about the letters agents send through board tools to write, and to read, the board (B2-B10, A2, F1, P1).

Law: pure. Each function checks everything before it names the first fact, and raises ``Refusal`` when a check fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from ggactors.protocol.board import (
    BlockersSet,
    BoardPicture,
    CreateEpic,
    CreateIssue,
    EpicCreated,
    EpicRemoved,
    IssueFiled,
    IssueRemoved,
    IssueRevised,
    IssueRevived,
    ReadBoard,
    RemoveEpic,
    RemoveIssue,
    SetIssueBlockedBy,
    Stall,
    UpdateIssue,
)
from ggactors.protocol.values import Code, IssueState
from ggactors.rules import boardwords as words
from ggactors.rules.boarddecision import Decision
from ggactors.rules.boardstate import UNGROUPED, failed_blocker, picture_of, picture_of_epic
from ggactors.rules.boardwords import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ggactors.protocol.board import BoardFact, Charter, Filer, IssuePicture
    from ggactors.rules.boardstate import Board, Issue

_FLYING = (IssueState.IN_PROGRESS, IssueState.IN_REVIEW)


def find_issue(board: Board, issue_id: str) -> Issue:
    """Find an issue, or refuse its id."""
    issue = board.issues.get(issue_id)
    if issue is None:
        raise words.no_issue(board, issue_id)
    return issue


# ---------------------------------------------------------------- create


def create_epic(board: Board, charter: Charter, letter: CreateEpic) -> Decision:
    """Decide ``create_epic`` (B2)."""
    _filer(charter, letter.profile)
    prefix = letter.prefix.upper()
    if not (letter.prefix.isascii() and letter.prefix.isalpha() and 3 <= len(prefix) <= 6):
        raise Refusal(
            Code.INVALID_ARGUMENT,
            f"a prefix is three to six ASCII letters, {words.quoted(letter.prefix)} is not; send one like AUTH",
        )
    title = _title(letter.title)
    if prefix == UNGROUPED:
        raise Refusal(Code.CONFLICT, f"{UNGROUPED} is the prefix of issues filed under no epic; choose another one")
    if prefix in board.epics:
        raise Refusal(
            Code.CONFLICT, f"epic {prefix} is on the board already; file issues under it, or choose another prefix"
        )
    if len(board.epics) >= charter.max_epics:
        raise Refusal(Code.LIMIT_EXCEEDED, _full(charter.max_epics, "epics", "remove_epic"))
    fact = EpicCreated(epic=prefix, title=title, description=_optional(letter.description), by=letter.by)
    return Decision(answer=fact, facts=(fact,))


def create_issue(board: Board, charter: Charter, letter: CreateIssue) -> Decision:
    """Decide ``create_issue`` (B3, B5, A2, F1, P1). No circle can come of it, as nothing depends on a new issue (B4)."""
    filer = _filer(charter, letter.profile)
    title = _title(letter.title)
    in_scope = _section(letter.in_scope, "in-scope section")
    out_of_scope = _section(letter.out_of_scope, "out-of-scope section")
    completion_criteria = _section(letter.completion_criteria, "completion criteria")
    _check_assignment(filer, letter)
    epic = letter.epic or None
    if epic is not None and epic not in board.epics:
        raise words.no_epic(board, epic)
    blocked_by = _blockers(board, letter.blocked_by)
    if len(board.issues) >= charter.max_issues:
        raise Refusal(Code.LIMIT_EXCEEDED, _full(charter.max_issues, "issues, whatever their state", "remove_issue"))
    fact = IssueFiled(
        issue=board.next_id(epic or UNGROUPED),
        title=title,
        description=_optional(letter.description),
        in_scope=in_scope,
        out_of_scope=out_of_scope,
        completion_criteria=completion_criteria,
        agent=letter.agent,
        reviewers=letter.reviewers,
        epic=epic,
        blocked_by=blocked_by,
        by=letter.by,
    )
    return Decision(answer=fact, facts=(fact,))


def _filer(charter: Charter, profile: str) -> Filer:
    filer = charter.filers.get(profile)
    if filer is None:
        raise Refusal(
            Code.UNAVAILABLE, f"profile {profile} may not create epics or issues: issue creation is off for it"
        )
    return filer


def _check_assignment(filer: Filer, letter: CreateIssue) -> None:
    if letter.agent not in filer.implementers:
        raise Refusal(
            Code.INVALID_ARGUMENT,
            f"{words.quoted(letter.agent)} cannot be assigned an issue by you; assignable: {words.listed(filer.implementers)}",
        )
    strangers = [words.quoted(reviewer) for reviewer in letter.reviewers if reviewer not in filer.reviewers]
    if strangers:
        raise Refusal(
            Code.INVALID_ARGUMENT,
            f"{', '.join(strangers[:5])} cannot be named as reviewer by you; assignable: {words.listed(filer.reviewers)}",
        )
    if filer.reviewers_required and not letter.reviewers:
        raise Refusal(
            Code.INVALID_ARGUMENT,
            f"an issue of yours needs at least one reviewer; assignable: {words.listed(filer.reviewers)}",
        )


def _full(maximum: int, what: str, tool: str) -> str:
    return f"the board holds the most it may: {maximum} {what}. Make room with {tool}, or do with what is there"


# ---------------------------------------------------------------- change


def update_issue(board: Board, letter: UpdateIssue) -> Decision:
    """Decide ``update_issue`` (B8): everything it asks for happens, or nothing."""
    issue = find_issue(board, letter.issue)
    _check_update(board, issue, letter)
    before = picture_of(board, issue)
    after = evolve(
        before,
        title=before.title if letter.title is None else _title(letter.title),
        description=before.description if letter.description is None else _optional(letter.description),
        in_scope=_revised(before.in_scope, letter.in_scope, "in-scope section"),
        out_of_scope=_revised(before.out_of_scope, letter.out_of_scope, "out-of-scope section"),
        completion_criteria=_revised(before.completion_criteria, letter.completion_criteria, "completion criteria"),
        epic=before.epic if letter.epic is None else letter.epic or None,
    )
    facts: list[BoardFact] = []
    if after != before:
        facts.append(
            IssueRevised(
                issue=issue.id,
                title=after.title,
                description=after.description,
                in_scope=after.in_scope,
                out_of_scope=after.out_of_scope,
                completion_criteria=after.completion_criteria,
                epic=after.epic,
                by=letter.by,
            )
        )
    if letter.status is not None:
        facts.append(IssueRevived(issue=issue.id, by=letter.by))
        after = evolve(after, state=IssueState.OPEN, reason=None, commit=None)
    return Decision(answer=after, facts=tuple(facts))


def _check_update(board: Board, issue: Issue, letter: UpdateIssue) -> None:
    texts = (letter.title, letter.description, letter.in_scope, letter.out_of_scope, letter.completion_criteria)
    if all(given is None for given in (*texts, letter.epic, letter.status)):
        raise Refusal(
            Code.INVALID_ARGUMENT,
            "nothing to update: send at least one of title, description, in-scope, out-of-scope, completion criteria, epic, status",
        )
    if letter.epic and letter.epic not in board.epics:
        raise words.no_epic(board, letter.epic)
    if letter.status is None:
        return
    if letter.status != IssueState.OPEN:
        raise Refusal(
            Code.INVALID_ARGUMENT,
            f"status may only be set to open, which revives a failed or done issue; {words.quoted(letter.status)} is set by "
            "nobody. Remove work that is not wanted with remove_issue",
        )
    if not issue.state.terminal:
        raise Refusal(
            Code.CONFLICT, f"{issue.id} is {issue.state}; only a failed or done issue can be set to open again"
        )


def set_blocked_by(board: Board, letter: SetIssueBlockedBy) -> Decision:
    """Decide ``set_issue_blocked_by`` (B4)."""
    issue = find_issue(board, letter.issue)
    if issue.state in _FLYING:
        raise words.in_flight(issue, "what it is blocked by cannot be changed")
    blocked_by = _blockers(board, letter.blocked_by)
    circle = board.dag.circle(issue.id, blocked_by)
    if circle is not None:
        raise words.circle(board, circle, f"blocking {issue.id} by {circle[1]}", "leave one of these edges out")
    before = picture_of(board, issue)
    facts = (
        (BlockersSet(issue=issue.id, blocked_by=blocked_by, by=letter.by),) if blocked_by != before.blocked_by else ()
    )
    return Decision(answer=evolve(before, blocked_by=blocked_by), facts=facts)


def remove_epic(board: Board, letter: RemoveEpic) -> Decision:
    """Decide ``remove_epic`` (B9)."""
    if letter.epic not in board.epics:
        raise words.no_epic(board, letter.epic)
    fact = EpicRemoved(epic=letter.epic, by=letter.by)
    return Decision(answer=fact, facts=(fact,))


def remove_issue(board: Board, letter: RemoveIssue) -> Decision:
    """Decide ``remove_issue`` (B9)."""
    issue = find_issue(board, letter.issue)
    if issue.state in _FLYING:
        raise words.in_flight(issue, "it cannot be removed")
    fact = IssueRemoved(issue=issue.id, by=letter.by)
    return Decision(answer=fact, facts=(fact,))


# ---------------------------------------------------------------- read


def read_board(board: Board, letter: ReadBoard) -> Decision:
    """Decide ``read_board``: the whole board, one epic with its issues, or one issue with its epic (B7)."""
    if letter.epic and letter.issue:
        raise Refusal(Code.INVALID_ARGUMENT, "send an epic or an issue, not both; send neither for the whole board")
    if letter.issue:
        issue = find_issue(board, letter.issue)
        return Decision(answer=whole_picture(board, () if issue.epic is None else (issue.epic,), (issue.id,)))
    if letter.epic:
        if letter.epic not in board.epics:
            raise words.no_epic(board, letter.epic)
        return Decision(answer=whole_picture(board, (letter.epic,), board.epics[letter.epic].members))
    return Decision(answer=whole_picture(board, board.epics, board.issues))


def whole_picture(board: Board, epics: Iterable[str], issues: Iterable[str]) -> BoardPicture:
    """Take a picture of these epics and issues, and of the stalls among them, each with the failed issue it stands behind (D6)."""
    chosen: list[IssuePicture] = []
    stalls: list[Stall] = []
    known: dict[str, str] = {}
    for issue_id in issues:
        issue = board.issues[issue_id]
        chosen.append(picture_of(board, issue))
        if issue.stalled:
            stalls.append(Stall(issue=issue_id, blocker=failed_blocker(board, issue_id, known)))
    pictured = tuple([picture_of_epic(board.epics[epic]) for epic in epics])
    return BoardPicture(epics=pictured, issues=tuple(chosen), stalled=tuple(stalls))


# ---------------------------------------------------------------- arguments


def _title(text: str) -> str:
    """Bring a title to one line."""
    return " ".join(_section(text, "title").split())


def _section(text: str, name: str) -> str:
    if not text.strip():
        raise Refusal(
            Code.INVALID_ARGUMENT, f"the {name} is blank; say in it what the agent that will do the work must know"
        )
    return text


def _revised(before: str, given: str | None, name: str) -> str:
    return before if given is None else _section(given, name)


def _optional(text: str | None) -> str | None:
    return text if text is not None and text.strip() else None


def _blockers(board: Board, blocked_by: tuple[str, ...]) -> tuple[str, ...]:
    """Check that every blocker is on the board; each counts once."""
    for blocker in blocked_by:
        find_issue(board, blocker)
    return tuple(dict.fromkeys(blocked_by))
