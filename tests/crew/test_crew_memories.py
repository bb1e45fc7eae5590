"""What a crew says of the memories of a profile."""

from __future__ import annotations

from crew_samples import changed

from ggactors.crew import reading_of


def test_memories_are_checked_and_frozen():
    change = 'agents.critic.capabilities[0]={"id":"memories","params":%s}'
    critic = reading_of(changed(change % '{"maxMemories":3,"maxTextBytes":100}'), folder=".").crew.profile("critic")
    assert (critic.memories.most, critic.memories.most_bytes) == (3, 100)
    plain = reading_of(changed(change % "{}"), folder=".").crew.profile("critic")
    assert (plain.memories.most, plain.memories.most_bytes) == (64, 8192)
    off = 'agents.critic.capabilities[0]={"id":"memories","enabled":false}'
    assert reading_of(changed(off), folder=".").crew.profile("critic").memories is None
