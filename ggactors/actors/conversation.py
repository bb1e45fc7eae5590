"""An agent's conversation with its model: the messages, and the facts that make it durable.

Law: a reply is committed before anything it asks for is done; answers and texts are handed over at once and are durable
before the next reply is. The message list only grows, until it is compacted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from ggactors.protocol.agent import CallsAnswered, ReplyTaken, TextHeard, WindowCompacted
from ggactors.protocol.model import Message, ModelReply, ModelRequest, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ggactors.ports import Journal
    from ggactors.protocol.agent import AgentOrder, Say
    from ggactors.protocol.model import ToolSpec


@define(kw_only=True)
class Conversation:
    """The messages of one agent, journaled under ``agents``."""

    agent: str
    journal: Journal
    pack: Callable[[Any], bytes]
    clean: Callable[[Any], Any]
    """Gives a copy of a reply's calls without the values of keys: a conversation is cut and quoted, and half a key is not found."""
    run: str = ""
    messages: list[Message] = field(factory=list)
    waiting: list[Say] = field(factory=list)
    """What was said to the agent and no turn has shown to its model yet."""
    _said: set[str] = field(factory=set)

    def system(self, text: str) -> None:
        """Open with the system prompt. It follows from the agent's order, so it is not journaled."""
        self.messages.append(Message(role="system", text=text))

    def user(self, text: str, *, said: bool = False) -> None:
        """Add a text of the runtime: the brief, or its feedback. ``said``: it is the word of a person or of another agent."""
        self._note(text, said=said)
        if said:
            self._said.add(text)
        self.messages.append(Message(role="user", text=text))

    def was_said(self, message: Message) -> bool:
        """Tell whether a message is the word of a person or of another agent, which crosses a compaction as it is."""
        return message.role == "user" and message.text in self._said

    def compact(self, messages: tuple[Message, ...], *, fallback: bool) -> None:
        """Put the conversation in the words of ``messages``, which begin with the system prompt; what waits goes on waiting."""
        fact = WindowCompacted(agent=self.agent, messages=messages[1:], fallback=fallback)
        self.journal.append("agents", [self.pack(fact)])
        self.messages[:] = messages

    def hand_over(self, words: Callable[[Say], str | None]) -> None:
        """Add what was said to the agent, in the order it came, for the turn that follows, as ``words`` puts it."""
        for said in self.waiting:
            text = words(said)
            if text is not None:
                self.user(text, said=True)
        self.waiting.clear()

    async def take_reply(self, turn: int, reply: ModelReply) -> None:
        """Add a model's reply once it is durable."""
        await self.journal.commit("agents", [self.pack(ReplyTaken(agent=self.agent, turn=turn, reply=reply))])
        self.messages.append(Message(role="assistant", text=reply.text, calls=self.clean(reply.calls), kept=reply.kept))

    def answer(self, turn: int, results: Sequence[ToolResult], outcome: str) -> None:
        """Add the answers to a reply's calls, in the order of the calls."""
        answered = CallsAnswered(agent=self.agent, turn=turn, results=tuple(results), outcome=outcome)
        self.journal.append("agents", [self.pack(answered)])
        if results:
            self.messages.append(Message(role="tool", results=tuple(results)))

    def request(self, order: AgentOrder, *, turn: int, attempt: int, tools: tuple[ToolSpec, ...]) -> ModelRequest:
        """Compose the next question to the model."""
        return ModelRequest(
            agent=self.agent,
            profile=order.profile,
            role=order.role,
            issue=order.issue,
            turn=turn,
            attempt=attempt,
            messages=tuple(self.messages),
            tools=tools,
            run=self.run,
        )

    def _note(self, text: str, *, said: bool) -> None:
        self.journal.append("agents", [self.pack(TextHeard(agent=self.agent, text=text, said=said))])
