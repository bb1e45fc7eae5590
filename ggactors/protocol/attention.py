"""The attention page: what waits for a person, in one queue (H42). Law: plain values; nothing that waits is replaced or lost."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen


class AttentionKind(StrEnum):
    """What a person is asked for. Only the first two have somebody waiting for the answer."""

    QUESTION = "question"
    APPROVAL = "approval"
    STALL = "stall"
    CHECKOUT = "checkout"
    REVIEW = "review"


class AttentionState(StrEnum):
    """What became of an item; all but ``OPEN`` are final. ``SETTLED``: what it told of holds no more."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    SETTLED = "settled"


APPROVE, ALWAYS, REFUSE = "approve", "always", "refuse"
APPROVALS = (APPROVE, ALWAYS, REFUSE)
"""How an approval is answered; ``always`` lets the same agent's calls of the same tool pass from then on."""
SEEN = "seen"
"""How what is only told is answered."""


@frozen(kw_only=True)
class AttentionItem:
    """One thing that waits for a person. ``options`` are the answers there are; none: any text is one.

    ``default`` is what counts as the answer once ``deadline_secs`` from when it was asked are over; None waits for ever.
    """

    id: str
    kind: AttentionKind
    title: str
    detail: str = ""
    agent: str | None = None
    issue: str | None = None
    options: tuple[str, ...] = (SEEN,)
    default: str = SEEN
    deadline_secs: float | None = None


@frozen(kw_only=True)
class Answered:
    """An answer: what was chosen, and what was said to it. ``expired``: nobody answered in time, and it is the default."""

    choice: str
    note: str = ""
    expired: bool = False
