"""The rules of an agent's own list of tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ggactors.protocol.values import Code, Refused
from ggactors.rules.tasks import MOST_DESCRIPTION, MOST_TASKS, MOST_TITLE, STATUSES, Task, TaskList

KEYS = st.sampled_from("abcde")
SETS = st.lists(KEYS, max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS, SETS),
        st.tuples(st.just("block"), KEYS, SETS),
        st.tuples(st.just("update"), KEYS, st.sampled_from(STATUSES)),
        st.tuples(st.just("remove"), KEYS, st.none()),
    ),
    max_size=25,
)


def step(tasks: TaskList, kind, key, more):
    match kind:
        case "add":
            return tasks.add(key, key, "", more)
        case "block":
            return tasks.set_blocked_by(key, more)
        case "update":
            return tasks.update(key, status=more)
        case _:
            return tasks.remove(key)


def expected(before: dict[str, Task], kind, key, more):
    """Say, from the list before and the step alone, how a step must be refused, or None."""
    if (kind == "add") == (key in before):
        return Code.CONFLICT if kind == "add" else Code.NOT_FOUND
    if kind == "add" and key in more:
        return Code.CONFLICT
    if kind not in ("add", "block"):
        return None
    if any(one not in before for one in more):
        return Code.NOT_FOUND
    reached, queue = set(), list(more)
    while queue:
        one = queue.pop()
        if one not in reached:
            reached.add(one)
            queue += before[one].blocked_by
    return Code.CONFLICT if key in reached else None


@given(STEPS)
def test_a_step_is_refused_exactly_when_it_must_be_and_then_changes_nothing(steps):
    tasks = TaskList()
    for one in steps:
        before = tasks.tasks()
        answer = step(tasks, *one)
        code = answer.code if isinstance(answer, Refused) else None
        assert code == expected({task.id: task for task in before}, *one)
        if code is not None:
            assert tasks.tasks() == before


@given(STEPS)
def test_what_is_ready_is_unfinished_and_blocked_by_nothing_unfinished(steps):
    tasks = TaskList()
    for one in steps:
        step(tasks, *one)
    states = {task.id: task.status for task in tasks.tasks()}
    for task in tasks.tasks():
        assert set(task.blocked_by) <= set(states)
        assert task.ready == (task.status != "done" and all(states[one] == "done" for one in task.blocked_by))
    assert not states or any(task.ready for task in tasks.tasks()) or set(states.values()) == {"done"}


def test_a_circle_is_refused_and_names_its_path():
    tasks = TaskList()
    tasks.add("a", "A")
    tasks.add("b", "B", blocked_by=["a"])
    tasks.add("c", "C", blocked_by=["b"])
    refused = tasks.set_blocked_by("a", ["c"])
    assert isinstance(refused, Refused)
    assert "a -> c -> b -> a" in refused.message


def test_an_update_keeps_what_it_does_not_name_and_an_empty_description_clears():
    tasks = TaskList()
    tasks.add("a", "A", "more")
    kept = tasks.update("a", status="in_progress")
    assert (kept.title, kept.description, kept.status) == ("A", "more", "in_progress")
    assert tasks.update("a", description="").description == ""


def test_the_list_is_bounded_in_number_and_in_size():
    tasks = TaskList()
    for number in range(MOST_TASKS):
        tasks.add(str(number), "x")
    for refused in (
        tasks.add("more", "x"),
        tasks.update("1", title="x" * (MOST_TITLE + 1)),
        tasks.update("1", description="x" * (MOST_DESCRIPTION + 1)),
        TaskList().add("x" * (MOST_TITLE + 1), "x"),
    ):
        assert isinstance(refused, Refused)
        assert refused.code is Code.LIMIT_EXCEEDED
