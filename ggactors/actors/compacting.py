"""Asking a model for its reply so that the conversation fits its window: summed up when it nears it, or when it did not fit.

Law: it decides when and carries out; what the compacted conversation is, the rules say. The agent's own model sums up, its call
reserved and settled like any. An ending it declares meanwhile stands as its reply (E3). Cancelled: nothing is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, evolve, field

from ggactors.actors.asking import Asking, ForGood
from ggactors.actors.switch import WindDown
from ggactors.protocol.events import Compacted
from ggactors.protocol.model import Message, ModelReply, ModelRequest
from ggactors.protocol.values import Status
from ggactors.rules.briefs import endings_of
from ggactors.rules.compaction import (
    ENDING_CALL,
    PINS,
    Parts,
    Terms,
    compacted,
    pins_text,
    summary_request,
    taken_apart,
    transcript,
)
from ggactors.rules.window import Gauge, estimate, tokens_of_tools

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.actors.agent import AgentActor
    from ggactors.actors.conversation import Conversation
    from ggactors.rules.ceilings import Breach

SQUEEZES = 4
"""How often a request that does not fit is made shorter before the agent gives up."""
ROOM = 0.75
"""The share of what sets compaction off that a compacted conversation may fill, so that there is some way to the next."""
BRIM = 0.95
"""The share of the window that it may fill where it cannot be made shorter."""
SUMMARY_SHARE = 0.2
"""The share of the room that a summary may take."""
WORDS = (150, 1500)
"""The fewest and the most words a summary is asked to have."""
TOKENS_PER_WORD = 1.5

SWITCH_ON = (
    "the conversation no longer fits the model's window; switch on the capability compaction for this profile, or give it "
    "smaller parts of the work"
)

Answer = ModelReply | ForGood


@define(kw_only=True)
class Compacting:
    """One agent's way to its model that minds the window."""

    agent: AgentActor
    talk: Conversation
    asking: Asking
    _gauge: Gauge = field(factory=Gauge)
    _window: int | None = field(default=None, init=False)
    """The window in tokens: as the model's source has it, else learned from a request that did not fit."""
    _tools: int | None = field(default=None, init=False)
    _sizes: tuple[int, int] = field(default=(0, 0), init=False)
    """How many messages were estimated, and what they came to; messages are only added, until they are compacted."""

    def __attrs_post_init__(self) -> None:
        """Begin with the window that is known."""
        self._window = self.agent.traits.window

    async def reply(self, question: Callable[[int], ModelRequest]) -> ModelReply | Breach | ForGood:
        """Ask until there is a reply, as ``Asking.reply`` does, compacting the conversation before and in between.

        What still does not fit is a model error that says so. A stop of the run while waiting raises WindDown.
        """
        spec = self.agent.profile.compaction
        if spec is None:  # then nothing is measured either
            reply = await self.asking.reply(question)
            if isinstance(reply, ForGood) and reply.overflow:
                return evolve(reply, message=f"{reply.message.rstrip('.')}: {SWITCH_ON}")
            return reply
        if self._window is not None and self._gauge.due(self._estimate(), self._window, spec.threshold):
            answer = await self._compact("threshold", ask=True) or self._stopped()
            if answer is not None:
                return answer
        for squeeze in range(SQUEEZES):
            estimated = self._estimate()
            reply = await self.asking.reply(question)
            if isinstance(reply, ModelReply):
                self._gauge = self._gauge.after_reply(estimated, reply.usage.input)
            if not isinstance(reply, ForGood) or not reply.overflow:
                return reply
            self._overflowed(estimated)
            answer = await self._compact("overflow", ask=squeeze == 0) or self._stopped()
            if answer is not None:
                return answer
        return self._too_long()

    def _stopped(self) -> Breach | None:
        """Look at the stop and the ceilings once more, since a compaction takes its time and its share."""
        if self.agent.desk.switch.stops(self.agent.id):
            raise WindDown
        return self.asking.breach()

    def _overflowed(self, estimated: int) -> None:
        if self.agent.traits.window is None:
            known = self._gauge.size(estimated)
            self._window = known if self._window is None else min(self._window, known)
        assert self._window is not None
        self._gauge = self._gauge.after_overflow(estimated, self._window)

    def _too_long(self) -> ForGood:
        message = (
            f"the conversation does not fit the model's window of about {self._window} tokens, also when it is compacted: the "
            "system prompt, the task, or the skills in use are too long for this model; give it a larger one, or a smaller task"
        )
        return ForGood(status=Status.MODEL_ERROR, error_type="model_overflow", message=message)

    # ------------------------------------------------------------ measuring

    def _estimate(self) -> int:
        counted, size = self._sizes
        size += estimate(self.talk.messages[counted:])
        self._sizes = (len(self.talk.messages), size)
        if self._tools is None:
            self._tools = tokens_of_tools(self.agent.offered())
        return size + self._tools

    def _room(self, share: float) -> int:
        """Give how many estimated tokens the messages may come to, to fill a share of the window."""
        assert self._window is not None
        return max(int(self._window * share / self._gauge.scale) - (self._tools or 0), 0)

    # ------------------------------------------------------------ compacting

    async def _compact(self, reason: str, *, ask: bool) -> ModelReply | Breach | ForGood | None:
        """Put the conversation in fewer words. Gives what ends the asking instead: a reply that ends the session, or a failure."""
        agent, spec = self.agent, self.agent.profile.compaction
        assert spec is not None
        estimated = self._estimate()
        before = self._gauge.size(estimated)
        told = {"reason": reason, "tokens": before, "window": self._window}
        await agent.gate.compaction("pre-compact", told)
        parts = taken_apart(self.talk.messages)
        room = self._room(spec.threshold * ROOM)
        # What fits the window as it is may stay as it is; what does not has to fit it afterwards.
        most = self._room(BRIM) if reason == "overflow" else int((estimated - (self._tools or 0)) * BRIM)
        summary: str | None = None
        if ask and len(parts.turns) > spec.keep_turns:
            answer = await self._summary(parts, room, overflow=reason == "overflow")
            if not isinstance(answer, str | None):
                return answer
            summary = answer
        where = self._kept()
        found = compacted(parts, self._terms(where, summary is not None, room), summary=summary, room=room, most=most)
        if found is None and reason == "overflow":
            return self._too_long()
        if found is None:
            self._gauge = evolve(self._gauge, floor=estimated)
            return None
        self.talk.compact(found.messages, fallback=found.fallback)
        agent.forget()
        self._sizes = (0, 0)
        self._gauge = self._gauge.after_compaction(self._estimate())
        after = self._gauge.size(self._estimate())
        agent.desk.emit(Compacted(agent=agent.id, before=before, after=after, fallback=found.fallback))
        await agent.gate.compaction("post-compact", {**told, "after": after, "fallback": found.fallback})
        return None

    async def _summary(self, parts: Parts, room: int, *, overflow: bool) -> ModelReply | Breach | ForGood | str | None:
        """Have the model sum its conversation up. None where it does not: then there is none. An ending it calls is its reply."""
        share = int(room * SUMMARY_SHARE)
        fewest, most = WORDS
        words = min(max(int(share / TOKENS_PER_WORD), fewest), most)
        asked = Message(role="user", text=summary_request(self._endings(), words))
        messages: tuple[Message, ...] = tuple(self.talk.messages)
        if overflow:
            shorter = compacted(parts, self._terms(None, False, room), summary=None, room=room, most=room)
            if shorter is None:
                return None
            messages = shorter.messages

        def question(attempt: int) -> ModelRequest:
            return evolve(self.agent.question(attempt), messages=(*messages, asked))

        reply = await self.asking.reply(question)
        match reply:
            case ForGood(status=Status.AUTH_ERROR):
                return reply
            case ForGood():
                return None
            case ModelReply() if any(self._is_ending(call.tool, call.args) for call in reply.calls):
                return reply
            case ModelReply(text=text):
                said = text.strip()
                too_long = estimate((Message(role="user", text=said),)) > max(share, fewest * 2)
                return None if reply.calls or not said or too_long else said
            case breach:
                return breach

    def _is_ending(self, tool: str, args: dict[str, object]) -> bool:
        if self.agent.coding is None:
            return self.agent.endings.is_ending(tool)
        return ENDING_CALL.search(str(args.get("program", ""))) is not None

    def _endings(self) -> str:
        code = self.agent.profile.code
        return endings_of(self.agent.order.role, None if code is None else code.language)

    def _terms(self, where: str | None, summed_up: bool, room: int) -> Terms:
        spec = self.agent.profile.compaction
        assert spec is not None
        skills, views = self.agent.in_use(), self._views(room, spec.keep_turns)

        def pins(missing: int) -> str:
            return pins_text(
                endings=self._endings(),
                skills=skills,
                views=views,
                where=where,
                missing=missing,
                summed_up=summed_up,
            )

        return Terms(pins=pins, said=self.talk.was_said, keep_turns=spec.keep_turns, where=where)

    def _views(self, room: int, keep_turns: int) -> tuple[str, ...]:
        """Give the open views, the latest first, as far as a quarter of the room goes; not those the last turns show anyway."""
        coding = self.agent.coding
        if coding is None:
            return ()
        in_sight = {message.text for turn in taken_apart(self.talk.messages).turns[-keep_turns:] for message in turn}
        left, shown = room // 4, []
        for text in reversed([text for text in coding.views.still_open() if text not in in_sight]):
            left -= estimate((Message(role="user", text=text),))
            if left < 0:
                break
            shown.append(text)
        return tuple(shown)

    def _kept(self) -> str | None:
        """Keep the whole conversation where the agent can look things up in it, if it can read files at all."""
        agent = self.agent
        tools = {spec.name for spec in agent.toolbox.specs}
        granted = () if agent.coding is None else agent.coding.granted
        if not ({"read_file", "shell"} & tools or {"files.read_file", "shell.run"} & set(granted)):
            return None
        told = [message for message in self.talk.messages[1:] if not message.text.startswith(PINS)]
        return agent.keep("conversation", transcript(told))
