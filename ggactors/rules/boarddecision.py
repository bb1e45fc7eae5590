"""What a decision is. Law: facts and an answer, nothing done yet.

A refusal carries no fact, with one exception: reading a wait ends it also when what it came to is an error (Q2-Q5).
"""

from __future__ import annotations

from attrs import frozen

from ggactors.protocol.board import BoardAnswer, BoardFact  # noqa: TC001 - attrs reads it


@frozen(kw_only=True)
class Decision:
    """What the board decided about one letter: the facts to journal and apply, in order, and the answer to give after that."""

    answer: BoardAnswer
    facts: tuple[BoardFact, ...] = ()
