"""The waits of a reply in code mode: registered by its programs, waited for once when all have ended (Q1).

Law: a wait a program registers suspends nothing; its answer says that it is waited for, or how it came out already. How the
others came out is one notice each.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, assert_never

from attrs import define, field

from ggactors.protocol.board import WaitBegan, WaitSettled
from ggactors.protocol.program import Returned
from ggactors.protocol.values import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.actors.waiting import Waiting
    from ggactors.protocol.program import ProgramAnswer

WAIT = "board.wait_for_issue"
WAIT_CHILDREN = "delegation.wait_for_subagents"
WAITS = (WAIT, WAIT_CHILDREN)


@define(kw_only=True)
class ProgramWaits:
    """What the programs of one reply wait for. ``parse_wait`` and ``parse_children`` read the arguments of the two calls."""

    waiting: Waiting
    parse_wait: Callable[[Mapping[str, Any]], str | Refused]
    parse_children: Callable[[Mapping[str, Any]], tuple[str, ...] | Refused | None]
    report: Callable[[tuple[str, ...]], list[dict[str, Any]]]
    """Tells how subagents came out."""
    _issues: dict[str, None] = field(factory=dict)
    _children: dict[str, None] = field(factory=dict)

    async def register(self, operation: str, args: Mapping[str, Any]) -> ProgramAnswer:
        """Register a wait, one of ``WAITS``."""
        if operation == WAIT_CHILDREN:
            named = self.parse_children(args)
            names = named if isinstance(named, Refused) else self.waiting.children(named)
            if isinstance(names, Refused):
                return names
            self._children.update(dict.fromkeys(names))
            return Returned(value=list(names))
        issue = self.parse_wait(args)
        if isinstance(issue, Refused):
            return issue
        match await self.waiting.begin(issue):
            case WaitBegan(issue=begun):
                self._issues[begun] = None
                return Returned(value={"id": begun, "state": "waiting"})
            case WaitSettled(issue=settled, state=state):  # answered here and now, and so by no notice
                return Returned(value={"id": settled, "state": str(state)})
            case refused:
                return refused

    async def settle(self) -> list[str]:
        """Suspend until nothing waited for holds, and say how each came out. A stop raises WindDown."""
        children = tuple(self._children)
        outcomes = await self.waiting.settle(tuple(self._issues), children)
        notices: list[str] = []
        for issue, outcome in outcomes.items():
            match outcome:
                case WaitSettled(state=state):
                    notices.append(f"{issue} is {state}.")
                case Refused(code=code, message=message):
                    notices.append(f"The wait for {issue} came to nothing ({code}): {message}")
                case _ as never:
                    assert_never(never)
        if children:
            notices.append(f"Your subagents: {json.dumps(self.report(children), ensure_ascii=False)}")
        return notices
