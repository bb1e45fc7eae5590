"""The small words every record is made of. Law: no behaviour beyond what an enumeration gives."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen


class IssueState(StrEnum):
    """Where an issue stands (D2). ``DONE`` and ``FAILED`` are terminal; only ``DONE`` counts as finished work."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    IN_REVIEW = "in_review"
    DONE = "done"
    FAILED = "failed"

    @property
    def terminal(self) -> bool:
        """Tell whether the issue has come to its end (it may still be revived, B8)."""
        return self in (IssueState.DONE, IssueState.FAILED)


class Code(StrEnum):
    """Why a call was refused (B10)."""

    INVALID_ARGUMENT = "invalid-argument"
    NOT_FOUND = "not-found"
    CONFLICT = "conflict"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    LIMIT_EXCEEDED = "limit-exceeded"
    IO_ERROR = "io-error"


class Status(StrEnum):
    """How an agent or a run ended (C4)."""

    COMPLETED = "completed"
    EXHAUSTED = "exhausted"
    TIMED_OUT = "timed_out"
    LIMIT_EXCEEDED = "limit_exceeded"
    STUCK = "stuck"
    CANCELED = "canceled"
    MODEL_ERROR = "model_error"
    AUTH_ERROR = "auth_error"
    HOOK_ERROR = "hook_error"
    INTERNAL_ERROR = "internal_error"


class Role(StrEnum):
    """The role an agent was dispatched in; it decides the endings offered (E3)."""

    STANDARD = "standard"
    REVIEW = "review"


class Kind(StrEnum):
    """What an agent was dispatched for."""

    ROOT = "root"
    SUBAGENT = "subagent"
    IMPLEMENTER = "implementer"
    REVIEWER = "reviewer"
    MERGER = "merger"


class AgentState(StrEnum):
    """Where an agent stands with its slot."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"


class Scope(StrEnum):
    """What a roster entry may be used for (A1)."""

    SUBAGENT = "subagent"
    IMPLEMENTER = "implementer"
    REVIEWER = "reviewer"


class MessageState(StrEnum):
    """What became of a text that was sent to an agent; all but ``QUEUED`` are final (H46)."""

    QUEUED = "queued"
    DELIVERED = "delivered"
    WITHDRAWN = "withdrawn"
    UNREAD = "unread"


class TurnResult(StrEnum):
    """The one judgement of a turn (C1)."""

    PROGRESSED = "progressed"
    FINISHED = "finished"
    ERROR = "error"
    FATAL = "fatal"


@frozen(kw_only=True)
class Refused:
    """A typed refusal of a call: the call changed nothing (B10). ``message`` says what to do instead."""

    code: Code
    message: str


@frozen(kw_only=True)
class Problem:
    """One reason a launch is refused (P2): where in the document, what is wrong, what repairs it."""

    path: str
    what: str
    remedy: str

    def __str__(self) -> str:
        """Render as the one line ``ggactors check`` prints."""
        return f"{self.path}: {self.what}; {self.remedy}" if self.remedy else f"{self.path}: {self.what}"


THE_PROVIDER = "the provider"
"""What an agent waits on, as ``agent_state`` says it, while its model's provider cannot be asked. Its slot stays its own."""
