"""Hook objects of the embedding program: plain or async methods named after the events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from hooks_kit import SECRET, Desk, command
from hypothesis import given
from hypothesis import strategies as st

from ggactors.hooks.runner import hook_object_problems
from ggactors.hooks.verdict import MOST, clip, of_answer, of_script, verdict_of
from ggactors.ports import SessionComplete
from ggactors.protocol.hooks import BLOCKING, Blocked, HookOutcome, NoVerdict, Passed, Told
from ggactors.protocol.process import ProcessEnded

if TYPE_CHECKING:
    from pathlib import Path

PASSED = HookOutcome()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


class Watcher:
    """Answers every event it defines with what it was given, and remembers what it heard."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.heard: list[dict[str, Any]] = []

    def agent_stop(self, told: dict[str, Any]) -> Any:
        self.heard.append(told)
        return self.answer

    async def pre_write(self, told: dict[str, Any]) -> Any:
        await trio.lowlevel.checkpoint()
        self.heard.append(told)
        return self.answer

    def agent_start(self, told: dict[str, Any]) -> Any:
        raise LookupError("no such thing")

    def post_write(self, told: dict[str, Any]) -> Any:
        raise LookupError("no such thing")

    def before_generation(self, told: dict[str, Any]) -> Any:
        self.heard.append(told)
        return self.answer


class Raiser:
    """Raises what it was given at every event."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def agent_stop(self, told: dict[str, Any]) -> None:
        raise self.error

    async def after_turn(self, told: dict[str, Any]) -> None:
        raise self.error


@pytest.mark.parametrize("event", ["agent-stop", "pre-write"])
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (None, PASSED),
        ("", PASSED),
        ("mind the gap", HookOutcome(messages=("mind the gap",))),
        ({"action": "continue"}, PASSED),
        ({"action": "block", "reason": "no"}, HookOutcome(blocked="no")),
        ({"action": "message", "message": "hm"}, HookOutcome(messages=("hm",))),
    ],
)
async def test_a_method_plain_or_async_answers_like_a_script(desk, event, answer, outcome):
    watcher = Watcher(answer)
    assert await desk.runner(objects=(watcher,)).fire(event, {"path": "/a"}) == outcome
    (told,) = watcher.heard
    assert (told["event"], told["agentId"], told["path"], told["blocks"]) == (event, "A-1.0i", "/a", 0)
    assert (desk.ran[0].name, desk.ran[0].exit_code) == ("Watcher", None)


@pytest.mark.parametrize("answer", [True, 5, {"action": "allow"}, {"action": "block"}, ["block"], {}])
async def test_any_other_answer_is_no_verdict_G2(desk, answer):
    outcome = await desk.runner(objects=(Watcher(answer),)).fire("agent-stop")
    assert "no decision" in outcome.blocked


async def test_an_exception_is_no_verdict_and_harms_nothing_else_G2(desk):
    outcome = await desk.runner(objects=(Raiser(LookupError("no such thing")),)).fire("agent-stop")
    assert "LookupError: no such thing" in outcome.blocked
    runner = desk.runner(objects=(Watcher(),))
    assert await runner.fire("post-write") == PASSED
    assert "no such thing" in desk.logs[-1].message
    assert "no such thing" in (await runner.fire("agent-start")).failed


async def test_objects_are_asked_after_the_crews_hooks_in_their_order(desk):
    objects = (Watcher("second"), Watcher({"action": "block", "reason": "third"}), Watcher("never"))
    outcome = await desk.runner(command("agent-stop", "echo first"), objects=objects).fire("agent-stop")
    assert outcome == HookOutcome(blocked="third", messages=("first", "second"))
    assert objects[2].heard == []


async def test_what_one_object_does_to_its_copy_of_the_event_another_does_not_see(desk):
    class Vandal:
        def agent_stop(self, told: dict[str, Any]) -> None:
            told.clear()

    watcher = Watcher()
    await desk.runner(objects=(Vandal(), watcher)).fire("agent-stop")
    assert watcher.heard[0]["event"] == "agent-stop"


async def test_what_an_object_says_is_valid_bounded_and_free_of_keys(desk):
    outcome = await desk.runner(objects=(Watcher(f"{SECRET} \ud800 \0" + "x" * 50_000),)).fire("agent-stop")
    (message,) = outcome.messages
    assert message.startswith("[masked:KEY] ? \ufffd")
    assert len(message) < MOST + 100


async def test_generations_and_turns_are_heard_and_only_noted_when_there_is_something_to_say(desk):
    watcher = Watcher()
    runner = desk.runner(objects=(watcher,))
    assert await runner.fire("before-generation", {"turn": 3}) == PASSED
    assert (watcher.heard[0]["event"], watcher.heard[0]["turn"]) == ("before-generation", 3)
    assert desk.events == []
    watcher.answer = "hm"
    assert await runner.fire("before-generation") == HookOutcome(messages=("hm",))
    assert [event.event for event in desk.ran] == ["before-generation"]


@pytest.mark.parametrize("event", ["agent-stop", "after-turn"])
@pytest.mark.parametrize(
    "error",
    [
        SessionComplete("all done"),
        ExceptionGroup("a nursery's", [ExceptionGroup("inner", [SessionComplete("all done")])]),
    ],
)
async def test_an_object_may_end_the_session_and_the_word_is_given_once(desk, event, error):
    runner = desk.runner(objects=(Raiser(error), Watcher("still asked")))
    outcome = await runner.fire(event)
    assert outcome.blocked is None
    assert outcome.messages == (("still asked",) if event == "agent-stop" else ())
    assert runner.take_completion() == "all done"
    assert runner.take_completion() is None


async def test_a_session_ended_without_words_says_who_ended_it(desk):
    runner = desk.runner(objects=(Raiser(SessionComplete("  ")),))
    await runner.fire("agent-stop")
    assert runner.take_completion() == "Raiser ended the session"


async def test_another_fault_beside_the_word_is_a_fault(desk):
    error = ExceptionGroup("both", [SessionComplete("x"), LookupError("y")])
    runner = desk.runner(objects=(Raiser(error),))
    assert "ExceptionGroup" in (await runner.fire("agent-stop")).blocked
    assert runner.take_completion() is None


async def test_a_cancelled_object_is_cancelled(desk):
    class Sleeper:
        async def agent_stop(self, told: dict[str, Any]) -> None:
            await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.runner(objects=(Sleeper(),)).fire, "agent-stop")
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert desk.events == []


def test_an_object_that_hears_nothing_is_refused_at_launch():
    class Silent:
        pre_write = "no method"

    (problem,) = hook_object_problems([Watcher(), Silent()])
    assert problem.path == "hooks[1]"
    assert "Silent" in problem.what
    assert "agent_stop" in problem.remedy


def test_whoever_has_no_hooks_pays_for_none(tmp_path):
    desk = Desk(tmp_path)
    runner = desk.runner(command("pre-shell", "true"), objects=(Watcher(),))
    assert runner.listens("pre-shell", "post-shell")
    assert runner.listens("pre-write")
    assert not runner.listens("post-shell")


# ---------------------------------------------------------------- verdicts, for anything at all

FINDINGS = st.one_of(
    st.just(Passed()),
    st.text().map(lambda text: Told(text=text)),
    st.text().map(lambda text: Blocked(reason=text)),
    st.text().map(lambda text: NoVerdict(cause=text)),
)
EVENTS = st.sampled_from(["agent-start", "agent-stop", "pre-write", "post-shell", "session-end"])


@given(EVENTS, FINDINGS)
def test_only_a_pass_or_a_message_passes_and_only_three_events_block_G2(event, finding):
    verdict = verdict_of(event, "x", finding, exit_code=None, millis=0, mask=str)
    expected = {Passed: "passed", Told: "message"}.get(type(finding), "blocked" if event in BLOCKING else "failed")
    assert verdict.outcome == expected
    assert (verdict.reason is None) is isinstance(finding, Passed)


@given(st.text(), st.none() | st.integers(0, 255), st.text())
def test_no_output_of_a_script_passes_but_a_decision_that_ended_well_G2(output, code, errors):
    found = of_script(ProcessEnded(exit_code=code, output=output, errors=errors), 1.0)
    assert isinstance(found, NoVerdict)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_every_answer_is_one_of_four_findings(answer):
    assert isinstance(of_answer(answer), Passed | Told | Blocked | NoVerdict)


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=200), st.integers(0, 400))
def test_a_shown_text_is_always_valid_and_bounded(text, times):
    shown = clip(text * times)
    shown.encode()
    assert "\0" not in shown
    assert len(shown) <= MOST + 100
