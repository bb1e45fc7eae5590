"""What may become of a profile's memories: bounded in number and size, refused and never cut."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol.memories import MemoriesGrant, Memory
from ggactors.protocol.values import Code, Refused
from ggactors.rules.memories import (
    LARGEST_TEXT,
    MOST_CODE,
    MOST_DESCRIPTION,
    MOST_INDEX,
    Edit,
    create,
    delete,
    edit,
    index,
    read,
    search,
    unknown,
)

GRANT = MemoriesGrant(most=3, most_bytes=20)


def make(*names: str, grant: MemoriesGrant = GRANT) -> tuple[Memory, ...]:
    memories: tuple[Memory, ...] = ()
    for name in names:
        made = create(memories, name, Edit(description=f"About {name}.", text=name), grant=grant, language="python")
        assert not isinstance(made, Refused)
        memories = made
    return memories


def code_of(made: object) -> Code | None:
    return made.code if isinstance(made, Refused) else None


def test_a_memory_is_made_read_changed_and_forgotten():
    memories = make("build", "tests")
    assert [one.name for one in memories] == ["build", "tests"]
    changed = edit(memories, "build", Edit(text="make"), grant=GRANT, language=None)
    assert not isinstance(changed, Refused)
    found = read(changed, "build")
    assert found == Memory(name="build", description="About build.", text="make")
    assert delete(changed, "build") == changed[1:]


@pytest.mark.parametrize("name", ["", "A", "a b", "a--b", "-a", "a-", "a/../b", "é", "a" * 65, "a\n"])
def test_a_name_is_one_of_a_file_and_a_line(name):
    refused = create((), name, Edit(description="d", text="t"), grant=GRANT, language=None)
    assert code_of(refused) == Code.INVALID_ARGUMENT


def test_a_taken_name_is_a_conflict_and_an_unknown_one_not_found_with_the_names_there_are():
    memories = make("build")
    assert code_of(create(memories, "build", Edit(text="x"), grant=GRANT, language=None)) == Code.CONFLICT
    for refused in (
        edit(memories, "biuld", Edit(text="x"), grant=GRANT, language=None),
        delete(memories, "biuld"),
        read(memories, "biuld"),
    ):
        assert isinstance(refused, Refused)
        assert (refused.code, "you have build" in refused.message) == (Code.NOT_FOUND, True)
    assert "you have none" in unknown((), "x").message


def test_number_and_sizes_are_bounded_and_refused_with_what_there_is():
    full = make("a", "b", "c")
    refused = create(full, "d", Edit(description="d", text="d"), grant=GRANT, language=None)
    assert isinstance(refused, Refused)
    assert (refused.code, "3" in refused.message) == (Code.LIMIT_EXCEEDED, True)
    for change in (
        Edit(text="é" * 11),
        Edit(description="d" * (MOST_DESCRIPTION + 1)),
        Edit(code="c" * (MOST_CODE + 1)),
    ):
        assert code_of(edit(full, "a", change, grant=GRANT, language="python")) == Code.LIMIT_EXCEEDED
    assert code_of(edit(full, "a", Edit(text="é" * 10), grant=GRANT, language="python")) is None
    both = edit(full, "a", Edit(text="t" * 21, description="d" * 257), grant=GRANT, language=None)
    assert isinstance(both, Refused)
    assert "`description`" in both.message, "what every prompt pays for is looked at first"


def test_what_every_prompt_lists_is_bounded_as_a_whole():
    grant = MemoriesGrant(most=1000)
    memories: tuple[Memory, ...] = ()
    for number in range(1000):
        made = create(memories, f"m{number}", Edit(description="d" * 256, text="t"), grant=grant, language=None)
        if isinstance(made, Refused):
            break
        memories = made
    assert isinstance(made, Refused)
    assert made.code == Code.LIMIT_EXCEEDED
    assert MOST_INDEX - 300 < len(index(memories)) <= MOST_INDEX


def test_all_memories_are_bounded_together():
    grant = MemoriesGrant(most=256, most_bytes=LARGEST_TEXT)
    large = tuple(Memory(name=f"m{number}", description="d", text="x" * LARGEST_TEXT) for number in range(127))
    made = create(large, "last", Edit(description="d", text="x" * LARGEST_TEXT), grant=grant, language=None)
    assert not isinstance(made, Refused)
    assert code_of(edit(made, "last", Edit(code="1"), grant=grant, language="python")) == Code.LIMIT_EXCEEDED
    assert code_of(edit(made, "last", Edit(text="x"), grant=grant, language="python")) is None


def test_a_lowered_maximum_deletes_nothing_and_lets_nothing_more_in():
    memories = make("a", "b", "c")
    lower = evolve(GRANT, most=1)
    assert code_of(create(memories, "d", Edit(text=""), grant=lower, language=None)) == Code.LIMIT_EXCEEDED
    assert code_of(edit(memories, "b", Edit(text="x"), grant=lower, language=None)) is None


def test_code_belongs_to_the_language_that_wrote_it():
    first = create((), "a", Edit(description="d", text="t", code="print(1)"), grant=GRANT, language="python")
    assert not isinstance(first, Refused)
    second = edit(first, "a", Edit(code="console.log(1)"), grant=GRANT, language="javascript")
    assert not isinstance(second, Refused)
    assert dict(second[0].on_use) == {"python": "print(1)", "javascript": "console.log(1)"}
    by_tools = edit(second, "a", Edit(text="x"), grant=GRANT, language=None)
    assert not isinstance(by_tools, Refused)
    assert by_tools[0].on_use == second[0].on_use
    cleared = edit(by_tools, "a", Edit(code=""), grant=GRANT, language="python")
    assert not isinstance(cleared, Refused)
    assert dict(cleared[0].on_use) == {"javascript": "console.log(1)"}


def test_a_search_wants_every_word_and_puts_names_first():
    memories = (
        Memory(name="style", description="How code is written.", text="see the build notes"),
        Memory(name="build", description="How it is built.", text="make"),
        Memory(name="tests", description="What tests need.", text=""),
    )
    assert [one.name for one in search(memories, "BUILD")] == ["build", "style"]
    assert [one.name for one in search(memories, "build notes")] == ["style"]
    assert search(memories, "nothing") == ()
    assert search(memories, " ") == memories


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["create", "edit", "delete"]),
            st.sampled_from(["a", "b", "c", "d", "e"]),
            st.text(max_size=30),
            st.text(max_size=30),
        )
    )
)
def test_whatever_is_asked_for_the_bounds_hold_and_a_refusal_changes_nothing(steps):
    memories: tuple[Memory, ...] = ()
    for step, name, description, text in steps:
        before = memories
        if step == "delete":
            made = delete(memories, name)
        else:
            change = create if step == "create" else edit
            made = change(memories, name, Edit(description=description, text=text), grant=GRANT, language="python")
        if isinstance(made, Refused):
            assert memories is before
        else:
            memories = made
        assert len(memories) <= GRANT.most
        assert len({one.name for one in memories}) == len(memories)
        assert all(len(one.text.encode()) <= GRANT.most_bytes for one in memories)
        assert len(index(memories).splitlines()) == len(memories)
