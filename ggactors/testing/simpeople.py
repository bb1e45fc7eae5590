"""The people of a simulated world: whoever is at the root's prompt, and whoever approves calls, in time, late or never.

Law: they come to an end: a person says a number of things and leaves, and a call that waits for ever is answered in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.protocol import events
from ggactors.protocol.attention import APPROVALS, AttentionKind, AttentionState

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from ggactors.app.staff import Staff
    from ggactors.protocol.events import Event
    from ggactors.testing.simworld import SimWorld

ROOT, OPERATOR = "root", "operator"
PATIENCE_SECS = 60.0
"""How long an interrupt may take to reach whatever a turn is parked on; commits and the disk are not cut short."""


@define(kw_only=True)
class People:
    """They work beside the run. ``breach(law, message)`` hears of an interrupt that reaches nobody."""

    world: SimWorld
    breach: Callable[[str, str], None]
    _nursery: trio.Nursery | None = None
    _chance: random.Random = field(init=False)
    _words: int = 0
    _held: bool = False
    """Whether the root was interrupted and nobody spoke since."""

    def __attrs_post_init__(self) -> None:
        """Take their own dice."""
        self._chance = self.world.chance("people")

    async def beside(self, staff: Staff) -> None:
        """Live beside the run."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            if self.world.wave.person:
                nursery.start_soon(self._person, staff)
            await trio.sleep_forever()

    def hear(self, staff: Staff, event: Event) -> None:
        """Take up what waits for somebody, and see to it that nobody goes on whose turn was cut before they speak (G7)."""
        match event:
            case events.Message(agent="root", state="queued", sender="operator"):
                self._held = False
            case events.AgentState(agent="root", state="running") if self._held:
                self.breach("the_floor_is_the_persons_until_they_speak_G7", f"{ROOT} goes on by itself")
            case _:
                pass
        if not isinstance(event, events.Attention) or event.state != AttentionState.OPEN or self._nursery is None:
            return
        if event.kind == AttentionKind.APPROVAL:
            self._nursery.start_soon(self._approver, staff, event.item, event.deadline_secs is None)

    async def _approver(self, staff: Staff, item: str, must: bool) -> None:
        """Answer an item, unless nobody must, after a while."""
        if not must and self._chance.random() < 0.2:
            return
        await trio.sleep(self._chance.choice((0.0, 0.0, 1.0, 20.0, 300.0)))
        staff.talk.attention.answer(item, self._chance.choice(APPROVALS), "that is why")

    # ------------------------------------------------------------ at the prompt

    async def _person(self, staff: Staff) -> None:
        """Say and do a number of things, then leave."""
        for _ in range(self._chance.randrange(3, 16)):
            await trio.sleep(self._chance.choice((0.0, 0.0, 0.05, 0.3, 1.0, 4.0)))
            await self._move(staff)
        staff.switch.unpause()
        staff.talk.leave(ROOT)

    async def _move(self, staff: Staff) -> None:
        talk, chance = staff.talk, self._chance
        match chance.randrange(9):
            case 8:
                if not staff.switch.unpause():
                    staff.switch.pause()
            case 0 | 1:
                with trio.move_on_after(20.0):
                    await talk.persons_turn(ROOT)
                self._say(staff, queued=False)
            case 2:
                self._say(staff, queued=chance.random() < 0.5)
            case 3:
                self._say(staff, queued=True)
                self._say(staff, queued=False)
            case 4 | 5:
                if talk.interrupt(ROOT):
                    await self._see_it_arrive(staff)
            case 6:
                pending = talk.mail.pending(ROOT)
                if pending:
                    talk.mail.withdraw(chance.choice(pending).id)
            case _:
                if talk.go_on(ROOT):
                    self._held = False

    def _say(self, staff: Staff, *, queued: bool) -> None:
        self._words += 1
        staff.talk.send(ROOT, f"<word {self._words} of the person>", OPERATOR, queued=queued)

    async def _see_it_arrive(self, staff: Staff) -> None:
        """See to it that an interrupt that was accepted brings the floor, whatever the turn was parked on (H45)."""
        with trio.move_on_after(PATIENCE_SECS) as patience:
            self._held = await staff.talk.persons_turn(ROOT)
        member = staff.family.members.get(ROOT)
        leaves = member is None or member.ending or member.status is not None
        if patience.cancelled_caught and not leaves and staff.switch.status is None:
            self.breach("an_interrupt_reaches_every_turn_H45", f"{ROOT} goes on {PATIENCE_SECS:g} s after one")
