"""An agent's conversation as its journaled facts tell it. Law: pure; replaying the facts gives the messages the agent had."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ggactors.protocol.agent import AgentEnded, AgentSpawned, CallsAnswered, ReplyTaken, TextHeard, WindowCompacted
from ggactors.protocol.model import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ggactors.protocol.agent import AgentFact


def messages_of(facts: Iterable[AgentFact], agent: str, *, system: str) -> tuple[Message, ...]:
    """Retell the messages of one agent. ``system`` is its system prompt, which follows from its order and is in no fact."""
    messages = [Message(role="system", text=system)]
    for fact in facts:
        match fact:
            case AgentSpawned() | AgentEnded():
                pass
            case ReplyTaken(agent=name, reply=reply) if name == agent:
                messages.append(Message(role="assistant", text=reply.text, calls=reply.calls, kept=reply.kept))
            case CallsAnswered(agent=name, results=results) if name == agent:
                if results:
                    messages.append(Message(role="tool", results=results))
            case TextHeard(agent=name, text=text) if name == agent:
                messages.append(Message(role="user", text=text))
            case WindowCompacted(agent=name, messages=kept) if name == agent:
                messages[1:] = kept
            case ReplyTaken() | CallsAnswered() | TextHeard() | WindowCompacted():
                pass  # another agent's
            case _ as never:
                assert_never(never)
    return tuple(messages)
