"""Who was spawned by whom: the rules of a family, each by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggactors.actors.desk import CannotDispatch
from ggactors.actors.family import LEAST_TOLD, MOST_TOLD, Family
from ggactors.protocol.agent import AgentOrder
from ggactors.protocol.crew import Crew, ModelSpec, Profile, RosterEntry
from ggactors.protocol.values import Code, Kind, Refused, Role, Scope, Status

MODEL = ModelSpec(key="m", provider="script", name="x.json")
LEAD = Profile(
    id="lead",
    name="Lead",
    model=MODEL,
    root=True,
    capabilities=("subagents",),
    roster=(
        RosterEntry(agent="lead", scopes=(Scope.SUBAGENT,)),
        RosterEntry(agent="coder", scopes=(Scope.IMPLEMENTER,)),
    ),
)
CODER = Profile(id="coder", name="Coder", model=MODEL)


def order(name: str, *, parent: str | None = None, kind: Kind = Kind.ROOT, issue: str | None = None) -> AgentOrder:
    """Write the order of an agent."""
    return AgentOrder(
        id=name, profile="lead", kind=kind, role=Role.STANDARD, brief="b", workdir="w", parent=parent, issue=issue
    )


class Record:
    """A family with a root, and what it asked of the run."""

    def __init__(self, *, max_depth: int | None = None) -> None:
        self.spawned: list[AgentOrder] = []
        self.woken: list[str] = []
        self.released: list[str] = []
        self.refuses: str | None = None
        crew = Crew(name="c", profiles=(LEAD, CODER), max_depth=max_depth)
        self.family = Family(crew=crew, spawn=self.spawn, wake=self.woken.append, release=self.released.append)
        self.family.joined(order("root"))

    def spawn(self, made: AgentOrder) -> None:
        if self.refuses is not None:
            raise CannotDispatch(self.refuses)
        self.spawned.append(made)
        self.family.joined(made)

    def child(self, parent: str) -> str:
        """Spawn a subagent and give its id."""
        name = self.family.delegate(parent, "lead", "do it")
        assert isinstance(name, str)
        return name


def test_a_subagents_order_is_its_parents_place_and_issue_and_the_prompt_D3():
    record = Record()
    record.family.joined(order("A-1.0i", kind=Kind.IMPLEMENTER, issue="A-1"))
    name = record.family.delegate("A-1.0i", "lead", "look")
    assert record.spawned == [
        AgentOrder(
            id="A-1.0i.0s",
            profile="lead",
            kind=Kind.SUBAGENT,
            role=Role.STANDARD,
            brief="look",
            workdir="w",
            parent="A-1.0i",
            issue="A-1",
        )
    ]
    assert name == "A-1.0i.0s"


@pytest.mark.parametrize(
    ("profile", "prompt", "word"),
    [("coder", "p", "you may spawn: lead"), ("ghost", "p", "lead"), ("lead", " ", "blank")],
)
def test_who_is_not_on_the_roster_as_a_subagent_or_is_told_nothing_is_not_spawned_A1(profile, prompt, word):
    record = Record()
    refused = record.family.delegate("root", profile, prompt)
    assert isinstance(refused, Refused)
    assert refused.code is Code.INVALID_ARGUMENT
    assert word in refused.message
    assert record.spawned == []


def test_an_agent_that_cannot_be_made_takes_no_name_and_is_no_child():
    record = Record()
    record.refuses = "no such model"
    refused = record.family.delegate("root", "lead", "p")
    assert isinstance(refused, Refused)
    assert (refused.code, "no such model" in refused.message) == (Code.IO_ERROR, True)
    assert record.family.living_children("root") == ()
    record.refuses = None
    assert record.child("root") == "root.0s"


def test_whoever_joins_below_somebody_on_the_way_out_is_released_at_once_H44():
    record = Record()
    child = record.child("root")
    record.family.leaving("root")
    assert record.released == [child]
    late = record.child(child)
    assert record.released == [child, late]


def test_an_end_wakes_the_parent_and_nobody_else():
    record = Record()
    child = record.child("root")
    grandchild = record.child(child)
    record.family.ended(grandchild, Status.EXHAUSTED, "200 turns")
    assert record.woken == [child]
    assert record.family.living_children(child) == ()
    assert record.family.report((grandchild,)) == [{"id": grandchild, "status": "exhausted", "summary": "200 turns"}]
    record.family.ended("root", Status.COMPLETED, "done")
    assert record.woken == [child]


@pytest.mark.parametrize("count", [1, 3, 400])
def test_no_number_of_subagents_floods_who_waited_for_them_H48(count):
    record = Record()
    names = tuple(record.child("root") for _ in range(count))
    for name in names:
        record.family.ended(name, Status.COMPLETED, "x" * 1_000_000)
    told = record.family.report(names)
    assert sum(len(one["summary"] or "") for one in told) <= max(MOST_TOLD, LEAST_TOLD * count) + 50 * count
    assert all("characters more" in (one["summary"] or "") for one in told)
    record.family.ended(names[0], Status.COMPLETED, "short")
    assert record.family.report(names[:1])[0]["summary"] == "short"


def test_what_is_said_of_an_agent_nobody_knows_changes_nothing():
    record = Record()
    record.family.ended("ghost", Status.COMPLETED, "")
    record.family.leaving("ghost")
    assert (record.woken, record.released) == ([], [])
    assert record.family.living_children("ghost") == ()
    assert not record.family.lives("ghost")
    assert not record.family.resolves_a_merge("ghost")


def test_whoever_works_for_a_merge_agent_resolves_a_merge_however_far_below_Q7():
    record = Record()
    record.family.joined(order("A-1.0m", kind=Kind.MERGER, issue="A-1"))
    below = record.child(record.child("A-1.0m"))
    assert record.family.resolves_a_merge(below)
    assert record.family.resolves_a_merge("A-1.0m")
    assert not record.family.resolves_a_merge(record.child("root"))


TREES = st.lists(st.integers(0, 10**6), max_size=25)


@given(picks=TREES, leaver=st.integers(0, 10**6))
def test_leaving_releases_exactly_those_below_once_each(picks, leaver):
    record = Record()
    names = ["root"]
    for pick in picks:
        names.append(record.child(names[pick % len(names)]))
    assert len(set(names)) == len(names)
    gone = names[leaver % len(names)]
    record.family.leaving(gone)
    assert sorted(record.released) == sorted(name for name in names if name.startswith(f"{gone}."))


@given(picks=TREES, deepest=st.integers(1, 4))
def test_no_tree_of_subagents_is_deeper_than_the_crew_allows(picks, deepest):
    record = Record(max_depth=deepest)
    names = ["root"]
    for pick in picks:
        parent = names[pick % len(names)]
        answer = record.family.delegate(parent, "lead", "p")
        if parent.count(".") < deepest:
            assert isinstance(answer, str)
            names.append(answer)
        else:
            assert isinstance(answer, Refused)
            assert answer.code is Code.LIMIT_EXCEEDED
    assert max(name.count(".") for name in names) <= deepest
