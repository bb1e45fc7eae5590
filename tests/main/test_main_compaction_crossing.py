"""What crosses a compaction: words, board and waits, skills, views; and what hooks hear of it (B11, E3)."""

from __future__ import annotations

import json

import pytest
from attrs import evolve
from compaction_kit import (
    HANDS,
    WINDOW,
    Windowed,
    asks_summary,
    call,
    check,
    compaction,
    done,
    pinned,
    play,
    working,
)

from ggactors.crew import crew_from_document
from ggactors.programs.artifacts import problems
from ggactors.protocol.model import ModelReply, ToolCall
from ggactors.protocol.program import Language
from ggactors.protocol.skills import Skill, SkillsSpec
from ggactors.testing.crews import crew_document, of_type, run_to_end, write_crew


def test_what_persons_and_agents_say_crosses_word_for_word():
    sent = []

    def watch(staff, event):
        if event.type == "turn_outcome" and event.turns in (1, 9):
            sent.append(staff.talk.send("root", f"Mind the gap {event.turns}.", "operator"))

    source = Windowed(answer=working(20), traits=WINDOW)
    outcome, run = play(source, watch=watch)
    assert outcome.exit_code == 0
    check(source, run)
    assert len(sent) == 2
    assert all(sent)
    last = [m.text for m in source.turns()[-1].messages]
    assert [text for text in last if "Mind the gap" in text] == [
        "Message from operator:\nMind the gap 1.",
        "Message from operator:\nMind the gap 9.",
    ]


def test_the_board_and_what_is_waited_for_survive_a_compaction_B11():
    def answer(request):
        if asks_summary(request):
            return ModelReply(text="Two issues are filed.")
        if request.agent != "root":
            return done()
        if request.turn <= 2:
            fields = dict.fromkeys(("title", "inScope", "outOfScope", "completionCriteria"), f"part {request.turn}")
            return call(request.turn, "create_issue", agent="coder", description="z" * 6000, **fields)
        match request.turn:
            case n if n <= 12:
                return call(n, "write_file", path=f"n{n}", contents="q" * 4000)
            case 13:
                return call(13, "read_board")
            case 14:
                return call(14, "wait_for_issue", issueId="ISSUE-2")
        return done()

    board = {
        "id": "project-management",
        "params": {"mergeAgentId": "merger", "maxEpics": 5, "maxIssues": 50, "maxRetries": 1},
    }
    source = Windowed(answer=answer, traits=WINDOW)
    outcome, run = play(source, capabilities=[*HANDS, compaction(), board], document={"board": True})
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done", "ISSUE-2": "done"})
    check(source, run)
    assert of_type(run.events, "compacted", "root")
    results = {event.call_id: event.output for event in of_type(run.events, "tool_result", "root")}
    shown = json.loads(results["c13"])
    assert {one["id"] for one in shown["issues"]} == {"ISSUE-1", "ISSUE-2"}
    assert json.loads(results["c14"])["state"] == "done"


def test_skills_in_use_cross_word_for_word_and_once():
    body = "Always write tests first.\n" * 20

    def answer(request):
        if request.turn == 1 and not asks_summary(request):
            return call(1, "read_skill", name="testing")
        return working(25)(request)

    document = crew_document(board=False, agents={"lead": {"capabilities": [*HANDS, compaction()]}})
    crew = crew_from_document(document, folder="/nowhere")
    lead = evolve(
        crew.root, capabilities=(*crew.root.capabilities, "skills"), skills=SkillsSpec(dir="s", path="agents[0]")
    )
    crew = evolve(crew, profiles=(lead, *crew.profiles[1:]))
    source = Windowed(answer=answer, traits=WINDOW)
    outcome, run = play(source, crew=crew, skills={"s": (Skill(name="testing", description="d", body=body),)})
    assert outcome.exit_code == 0
    check(source, run)
    assert len(of_type(run.events, "compacted")) >= 2
    whole = "\n".join(m.text for m in source.turns()[-1].messages)
    assert whole.count(body) == 1


def test_hooks_hear_of_a_compaction_and_the_later_ones_may_add_a_message():
    heard = []

    class Objects:
        def pre_compact(self, told):
            heard.append(told)
            return {"action": "block", "reason": "no"}

        def post_compact(self, told):
            heard.append(told)
            return "Remember the milk."

    source = Windowed(answer=working(10), traits=WINDOW)
    outcome, run = play(source, hooks=(Objects(),))
    assert outcome.exit_code == 0
    check(source, run)
    first, second = heard[:2]
    assert (first["event"], first["reason"], first["window"]) == ("pre-compact", "threshold", 8000)
    assert (second["event"], second["fallback"], second["after"] < second["tokens"]) == ("post-compact", False, True)
    assert any(m.text == "Remember the milk." for m in source.turns()[-1].messages)
    assert {one.outcome for one in of_type(run.events, "hook") if one.event == "pre-compact"} == {"failed"}


@pytest.mark.skipif(
    bool(problems([Language.PYTHON])), reason="the extra [code] is not installed: pip install 'ggactors[code]'"
)
async def test_views_that_are_open_cross_and_programs_may_end_the_session_instead_of_summing_up_X3_E3(tmp_path):
    def program(request, source):
        return ModelReply(calls=(ToolCall(id=f"p{request.turn}", tool="submit_program", args={"program": source}),))

    def answer(request):
        if asks_summary(request) and request.turn > 7:
            return program(request, "gg.session.finish('enough')")
        if asks_summary(request):
            return ModelReply(text="I looked around.")
        if request.turn == 1:
            return program(request, "gg.views.open_text('plan', 'first this, then that')")
        return program(request, f"gg.views.open_text('out', '{request.turn} ' + 'v' * 5000)")

    source = Windowed(answer=answer, traits=WINDOW)
    code = {"id": "responses-as-code", "params": {"language": "python"}}
    lead = {"capabilities": [*HANDS, code, compaction(keepTurns=2)]}
    (tmp_path / "work").mkdir()
    crew = write_crew(tmp_path / "crew", {}, board=False, agents={"lead": lead})
    outcome, events = await run_to_end(
        crew, tmp_path / "work", home=tmp_path / "state", models={"script/script.json": source}
    )
    assert (outcome.status, outcome.summary) == ("completed", "enough")
    assert [event for event in events if event.type == "compacted"]
    last = source.turns()[-1]
    assert "View: plan\n----\nfirst this, then that" in pinned(last)
    assert "`gg.session.finish(summary)`" in pinned(last)
    assert "View: out" not in pinned(last), "the last turns show it anyway"
