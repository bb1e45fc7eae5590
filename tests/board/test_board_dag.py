"""The graph against one that searches everything anew each time."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.rules.dag import Dag

KEYS = [f"N-{number}" for number in range(9)]


class Everything:
    """The same graph without any order: edges as pairs, every question answered by walking all of them."""

    def __init__(self):
        self.keys: list[str] = []
        self.blocked: dict[str, tuple[str, ...]] = {}
        self.waits: list[tuple[str, str]] = []

    def held_back_by(self, key):
        return [*self.blocked[key], *(awaited for waiter, awaited in self.waits if waiter == key)]

    def reaches(self, start, goal):
        seen, stack = set(), [start]
        while stack:
            key = stack.pop()
            if key == goal:
                return True
            if key not in seen:
                seen.add(key)
                stack.extend(self.held_back_by(key))
        return False


BLOCK = st.tuples(st.just("block"), st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), min_size=1, max_size=3))
STEP = st.one_of(
    BLOCK,
    BLOCK,
    st.tuples(st.just("add"), st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), max_size=3)),
    st.tuples(st.just("block"), st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), max_size=4)),
    st.tuples(st.just("wait"), st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), min_size=1, max_size=1)),
    st.tuples(st.just("drop"), st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), min_size=1, max_size=1)),
    st.tuples(st.just("remove"), st.sampled_from(KEYS), st.just([])),
)


def check_circle(model, circle, key, blockers):
    """A circle must be a real one: it begins and ends at the key, its first step is new, every other step is an edge."""
    assert circle[0] == circle[-1] == key
    assert circle[1] in blockers
    for here, there in pairwise(circle[1:]):
        assert there in model.held_back_by(here)
    assert len(set(circle[:-1])) == len(circle) - 1


def check_same(dag, model):
    assert len(dag) == len(model.keys)
    positions = {}
    for key in KEYS:
        assert (key in dag) == (key in model.keys)
    for key in model.keys:
        assert dag.blockers(key) == model.blocked[key]
        assert set(dag.dependents(key)) == {other for other in model.keys if key in model.blocked[other]}
        assert all(dag.waits(key, other) == ((key, other) in model.waits) for other in model.keys)
        positions[key] = dag.position(key)
    assert len(set(positions.values())) == len(positions)
    for key in model.keys:
        for other in model.held_back_by(key):
            assert positions[other] < positions[key], "the order does not hold"


@settings(max_examples=250, deadline=None)
@given(st.integers(min_value=0, max_value=len(KEYS)), st.lists(STEP, max_size=40))
def test_the_graph_agrees_with_one_that_searches_everything_B4_Q7(there, steps):
    dag, model = Dag(), Everything()
    for what, key, others in [*(("add", key, ()) for key in KEYS[:there]), *steps]:
        known = [other for other in others if other in model.keys and (other != key or what != "add")]
        if what == "add" and key not in model.keys:
            dag.add(key, known)
            model.keys.append(key)
            model.blocked[key] = tuple(dict.fromkeys(known))
        elif key not in model.keys or (not known and what in ("wait", "drop")):
            continue
        elif what == "block":
            expected = any(model.reaches(other, key) for other in known)
            before = dag.circle(key, known)
            circle = dag.set_blockers(key, known)
            assert (circle is not None) == expected
            assert circle == before
            if circle is None:
                model.blocked[key] = tuple(dict.fromkeys(known))
            else:
                check_circle(model, circle, key, known)
        elif what == "wait":
            expected = model.reaches(known[0], key)
            before = dag.wait_circle(key, known[0])
            circle = dag.add_wait(key, known[0])
            assert (circle is not None) == expected
            assert circle == before
            if circle is None:
                model.waits.append((key, known[0]))
            else:
                check_circle(model, circle, key, known)
        elif what == "drop":
            dag.drop_wait(key, known[0])
            if (key, known[0]) in model.waits:
                model.waits.remove((key, known[0]))
        elif what == "remove":
            freed = dag.remove(key)
            assert set(freed) == {other for other in model.keys if key in model.blocked[other]}
            model.keys.remove(key)
            del model.blocked[key]
            for other in model.keys:
                model.blocked[other] = tuple(blocker for blocker in model.blocked[other] if blocker != key)
            model.waits = [pair for pair in model.waits if key not in pair]
        check_same(dag, model)


def test_a_long_circle_is_named_in_full_whatever_its_length():
    dag, length = Dag(), 3_000
    dag.add("N-0")
    for number in range(1, length):
        dag.add(f"N-{number}", [f"N-{number - 1}"])
    circle = dag.set_blockers("N-0", [f"N-{length - 1}"])
    assert circle == ("N-0", *(f"N-{number}" for number in range(length - 1, -1, -1)))
    assert dag.blockers("N-0") == ()


def test_a_diamond_is_no_circle_H23():
    dag = Dag()
    dag.add("A")
    dag.add("B", ["A"])
    dag.add("C", ["A"])
    dag.add("D", ["B", "C"])
    assert dag.set_blockers("D", ["B", "C", "A"]) is None


def test_a_circle_is_named_by_its_shortest_way():
    dag = Dag()
    dag.add("A")
    dag.add("B", ["A"])
    dag.add("C", ["B"])
    dag.add("D", ["C", "A"])
    assert dag.set_blockers("A", ["D"]) == ("A", "D", "A")
    assert dag.set_blockers("A", ["C"]) == ("A", "C", "B", "A")
    assert dag.set_blockers("A", ["A"]) == ("A", "A")


def test_a_wait_is_an_edge_until_it_is_dropped_as_often_as_it_was_laid_Q7():
    dag = Dag()
    dag.add("A")
    dag.add("B", ["A"])
    assert dag.add_wait("A", "B") == ("A", "B", "A")
    assert not dag.waits("A", "B")
    dag.add("C")
    assert dag.add_wait("A", "C") is None
    assert dag.add_wait("A", "C") is None
    assert dag.set_blockers("C", ["B"]) == ("C", "B", "A", "C")
    dag.drop_wait("A", "C")
    assert dag.circle("C", ["B"]) == ("C", "B", "A", "C")
    dag.drop_wait("A", "C")
    dag.drop_wait("A", "C")
    dag.drop_wait("A", "gone")
    assert dag.set_blockers("C", ["B"]) is None


def test_a_removed_node_takes_its_waits_on_both_sides_with_it():
    dag = Dag()
    for key in ("A", "B", "C"):
        dag.add(key)
    assert dag.add_wait("A", "B") is None
    assert dag.add_wait("B", "C") is None
    assert dag.wait_circle("C", "A") == ("C", "A", "B", "C")
    assert dag.remove("B") == ()
    dag.drop_wait("A", "B")
    assert dag.set_blockers("C", ["A"]) is None
    dag.add("B", ["C"])
    assert not dag.waits("A", "B")
    assert dag.set_blockers("A", ["B"]) == ("A", "B", "C", "A")
