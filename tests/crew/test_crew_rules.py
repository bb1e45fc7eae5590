"""What profiles say of one another, and what a document comes to when nothing is wrong (P3, P4, F1, C3, docs/reference/crew.md)."""

from __future__ import annotations

import time

import pytest
from crew_samples import changed, check_document, lines, problems_of, valid

from ggactors.crew import crew_from_document, reading_of
from ggactors.protocol.crew import Limits
from ggactors.protocol.values import Scope
from ggactors.rules.launch_tools import OPERATIONS, TOOLS

BOARD = "agents[0].capabilities[2]"


def second_board(**params):
    """Give the coder a board of its own."""
    document = valid()
    board = {"mergeAgentId": "merger", "maxEpics": 50, "maxIssues": 2000, "maxRetries": 0, **params}
    document["agents"][1]["capabilities"].append(
        {"id": "project-management", "params": board, "features": {"issueCreation": False}}
    )
    return document


def test_two_profiles_may_write_the_same_board_P3():
    assert check_document(second_board()) == []


@pytest.mark.parametrize(
    ("key", "value"), [("maxEpics", 49), ("maxIssues", 1), ("maxRetries", 1), ("mergeAgentId", "lead")]
)
def test_a_second_profile_that_differs_is_refused_at_its_own_place_P3(key, value):
    problems = check_document(second_board(**{key: value}))
    assert [problem.path for problem in problems] == [f"agents[1].capabilities[2].params.{key}"]
    assert f"agents[0].capabilities[2].params.{key}" in problems[0].what


def test_equal_numbers_written_differently_do_not_differ_P3():
    assert check_document(second_board(maxEpics=50.0)) == []


def test_a_switched_off_board_configures_nothing_P3():
    document = second_board(maxEpics=1)
    document["agents"][1]["capabilities"][2]["enabled"] = False
    crew = crew_from_document(document, folder=".")
    assert crew.board is not None
    assert crew.board.max_epics == 50
    assert crew.profiles[1].board is None


def test_a_switched_off_board_need_not_be_complete_but_what_it_writes_is_checked_P1():
    document = valid()
    document["agents"][2]["capabilities"].append({"id": "project-management", "enabled": False})
    assert check_document(document) == []
    document["agents"][2]["capabilities"][1]["params"] = {"maxRetries": "two"}
    assert [p.path for p in check_document(document)] == ["agents[2].capabilities[1].params.maxRetries"]


SUBAGENTS = "agents.lead.capabilities.subagents"
"""The lead's capability in the valid document, where it is switched off."""


def second_spawner(depth):
    """Switch the lead's subagents on and give the coder some too."""
    document = changed(f"{SUBAGENTS}.enabled=true")
    document["agents"][1]["capabilities"].append({"id": "subagents", "params": {"maxDepth": depth}})
    document["agents"][1]["roster"] = [{"agent": "coder", "scopes": ["subagent"]}]
    return document


def test_a_switched_on_maximum_depth_holds_for_the_run_P3():
    crew = crew_from_document(second_spawner(3.0), folder=".")
    assert crew.max_depth == 3
    assert isinstance(crew.max_depth, int)
    assert [profile.id for profile in crew.profiles if "subagents" in profile.capabilities] == ["lead", "coder"]


def test_a_second_depth_that_differs_is_refused_at_its_own_place_P3():
    (problem,) = check_document(second_spawner(2))
    assert problem.path == "agents[1].capabilities[2].params.maxDepth"
    assert "agents[0].capabilities[3].params.maxDepth sets 3" in problem.what
    assert "every agent that has subagents" in problem.remedy


def test_a_switched_off_depth_configures_nothing_P3():
    document = second_spawner(2)
    document["agents"][0]["capabilities"][3]["enabled"] = False
    assert crew_from_document(document, folder=".").max_depth == 2
    document["agents"][1]["capabilities"][2]["enabled"] = False
    assert crew_from_document(document, folder=".").max_depth is None


def test_a_switched_on_one_must_write_its_depth_and_a_switched_off_one_need_not():
    document = changed(f"{SUBAGENTS}.params={{}}")
    assert check_document(document) == []
    document["agents"][0]["capabilities"][3]["enabled"] = True
    (problem,) = check_document(document)
    assert (problem.path, problem.what) == ("agents[0].capabilities[3].params.maxDepth", "is missing")


def test_a_depth_that_cannot_be_read_is_said_once_and_the_next_one_stands():
    document = second_spawner(2)
    document["agents"][0]["capabilities"][3]["params"]["maxDepth"] = 0
    assert [p.path for p in check_document(document)] == ["agents[0].capabilities[3].params.maxDepth"]


def test_who_can_spawn_subagents_must_have_some_on_the_roster():
    none = 'agents.lead.roster[0].scopes=["implementer"]'
    assert problems_of(none) == []
    (problem,) = problems_of(none, f"{SUBAGENTS}.enabled=true")
    assert problem.path == "agents[0].roster"
    assert "lists no subagent" in problem.what
    assert "'subagent'" in problem.remedy
    assert problems_of(none, f"{SUBAGENTS}.enabled=true", 'agents.lead.tools=["create_issue","send_message"]') == []
    assert problems_of(none, f"{SUBAGENTS}.enabled=true", 'agents.lead.tools=["create_issue","spawn_subagent"]') != []


def test_a_roster_entry_whose_scopes_are_wrong_is_not_also_missed_as_a_subagent():
    unclear = problems_of('agents.lead.roster[0].scopes=["subagnt"]', f"{SUBAGENTS}.enabled=true")
    assert [p.path for p in unclear] == ["agents[0].roster[0].scopes[0]"]


def test_reviewers_are_needed_only_by_those_who_must_name_them_F1():
    assert problems_of(f"{BOARD}.params.reviewers=true") == []
    alone = (f"{BOARD}.params.reviewers=true", 'agents.lead.roster[1].scopes=["subagent"]')
    assert [p.path for p in problems_of(*alone)] == ["agents[0].roster"]
    assert problems_of(*alone, f"{BOARD}.features.issueCreation=false") == []


def test_a_profile_whose_allowlist_withholds_filing_needs_no_implementer_F1():
    assert problems_of("agents.lead.roster=[]", 'agents.lead.tools=["update_issue"]') == []
    assert problems_of("agents.lead.roster=[]", 'agents.lead.tools=["create_issue"]') != []


def test_a_profile_may_list_itself_A1():
    crew = crew_from_document(
        changed('agents.lead.roster=[{"agent":"lead","scopes":["implementer","reviewer","subagent"]}]'), folder="."
    )
    assert crew.root.rostered(Scope.REVIEWER)[0].agent == "lead"


def test_one_agent_may_stand_on_a_roster_twice_with_different_scopes_A1():
    assert (
        problems_of('agents.lead.roster[1]={"agent":"coder","scopes":["reviewer"],"description":"also reviews"}') == []
    )


def test_a_roster_without_a_board_is_checked_all_the_same_P4():
    problems = problems_of('agents.critic.roster=[{"agent":"ghost","scopes":["implementer"]}]')
    assert [p.path for p in problems] == ["agents[2].roster[0].agent"]


def test_a_crew_of_one_needs_no_more_than_an_id_a_model_and_the_root():
    crew = crew_from_document({"agents": [{"id": "solo", "root": True, "model": "script/s.json"}]}, folder="here")
    assert crew.board is None
    assert crew.limits == Limits()
    assert (crew.checkout, crew.land, crew.name) == ("private", "end", "crew")
    assert crew.root.name == "solo"
    assert crew.root.tools is None


def test_absent_ceilings_have_their_defaults_and_null_switches_off_C3():
    assert Limits() == Limits(
        max_parallel=4,
        max_turns=200,
        max_runtime_secs=None,
        max_consecutive_errors=5,
        max_error_rate=0.4,
        error_rate_window=50,
        max_cost=None,
        max_tokens=None,
    )
    off = dict.fromkeys(
        (
            "maxTurns",
            "maxRuntimeSecs",
            "maxConsecutiveErrors",
            "maxErrorRate",
            "errorRateWindow",
            "maxCost",
            "maxTokens",
        )
    )
    document = {"limits": off, "agents": [{"id": "solo", "root": True, "model": "script/s.json"}]}
    limits = crew_from_document(document, folder=".").limits
    assert limits == Limits(max_turns=None, max_consecutive_errors=None, max_error_rate=None, error_rate_window=None)


@pytest.mark.parametrize(
    ("written", "rate", "window"),
    [
        ({}, 0.4, 50),
        ({"maxErrorRate": 0.25}, 0.25, 50),
        ({"maxErrorRate": 0, "errorRateWindow": 10}, 0.0, 10),
        ({"maxErrorRate": 1, "errorRateWindow": 7.0}, 1.0, 7),
        ({"maxErrorRate": None}, None, None),
        ({"errorRateWindow": None}, None, None),
    ],
)
def test_the_error_rate_and_its_window_are_read_as_a_pair_C2(written, rate, window):
    document = {"limits": written, "agents": [{"id": "solo", "root": True, "model": "script/s.json"}]}
    limits = crew_from_document(document, folder=".").limits
    assert (limits.max_error_rate, limits.error_rate_window) == (rate, window)


def test_a_window_alone_is_refused_C2():
    document = {"limits": {"errorRateWindow": 9}, "agents": [{"id": "solo", "root": True, "model": "script/s.json"}]}
    assert [p.path for p in check_document(document)] == ["limits.errorRateWindow"]


def test_whole_numbers_may_be_written_with_a_point():
    crew = crew_from_document(
        changed("limits.maxTurns=60.0", "limits.maxRuntimeSecs=60.0", f"{BOARD}.params.maxIssues=7.0"), folder="."
    )
    assert (crew.limits.max_turns, crew.limits.max_runtime_secs) == (60, 60.0)
    assert isinstance(crew.limits.max_turns, int)
    assert crew.board is not None
    assert crew.board.max_issues == 7


def test_a_window_that_no_agent_lives_to_fill_is_pointed_out_and_not_refused():
    reading = reading_of(changed("limits.maxTurns=20"), folder=".")
    assert reading.crew is not None
    assert any("errorRateWindow" in note for note in reading.notes)
    assert reading_of(valid(), folder=".").notes == ()


def test_a_crew_carries_everything_the_document_says():
    crew = crew_from_document(valid(), folder="there")
    lead, coder, critic, merger = crew.profiles
    assert crew.name == "sample"
    assert crew.folder.endswith("there")
    assert crew.document == valid()
    assert [profile.id for profile in crew.profiles] == ["lead", "coder", "critic", "merger"]
    assert lead.capabilities == ("files", "shell", "project-management")
    assert lead.shell_env == ("CI",)
    assert lead.instructions == "Lead."
    assert lead.board is not None
    assert (lead.board.issue_creation, lead.board.reviewers_required, lead.board.revise_board) == (True, False, True)
    assert [entry.agent for entry in lead.rostered(Scope.IMPLEMENTER)] == ["coder"]
    assert lead.roster[0].description == "writes code"
    assert coder.tools == ("read_file", "shell", "finish", "read_board")
    assert (coder.model.provider, coder.model.name, coder.model.key) == ("script", "coder.toml", "script/coder.toml")
    assert (critic.model.provider, critic.model.name) == ("python", "critic.py:answer")
    assert merger.model is lead.model
    assert crew.board is not None
    assert crew.board.merge_agent_id == "merger"
    assert [spec.path for spec in crew.models] == ["models.main", "agents[1].model", "agents[2].model"]


def test_models_that_could_be_read_are_told_also_when_the_rest_is_wrong_P2():
    reading = reading_of(changed("nme=1", "agents.critic.model=script/x.json"), folder=".")
    assert reading.crew is None
    assert [spec.name for spec in reading.models] == ["script.json", "coder.toml", "x.json"]


def test_every_tool_of_the_contract_may_stand_in_an_allowlist():
    document = valid()
    document["agents"][1]["tools"] = list(TOOLS)
    assert check_document(document) == []


CODE = {"id": "responses-as-code", "params": {"language": "python"}}


def test_operations_are_the_allowlist_of_code_mode_and_of_no_tool_calling_agent():
    def paths(operations, *, code, **more):
        document = valid()
        document["agents"][1].pop("tools", None)
        document["agents"][1] |= {"operations": operations, **more}
        if code:
            document["agents"][1]["capabilities"].append(CODE)
        return [problem.path for problem in check_document(document)]

    assert paths(list(OPERATIONS), code=True) == []
    assert paths(["tools.anything"], code=True) == []
    assert paths(["memories.anything"], code=True) == ["agents[1].operations[0]"]
    assert paths(["skills.anything"], code=True) == ["agents[1].operations[0]"]
    assert paths(["tasks.anything"], code=True) == ["agents[1].operations[0]"]
    assert paths(["read_file"], code=True) == ["agents[1].operations[0]"]
    assert paths(["files.readfile", 5], code=True) == ["agents[1].operations[0]", "agents[1].operations[1]"]
    assert paths(["files.read_file"], code=False) == ["agents[1].operations"]
    assert paths(["files.read_file"], code=True, tools=["read_file"]) == ["agents[1].tools"]


def test_a_code_profile_that_may_not_file_issues_needs_nobody_to_do_them_F1():
    document = valid()
    document["agents"][0]["capabilities"].append(CODE)
    document["agents"][0] |= {"operations": ["board.create_epic"], "roster": []}
    document["agents"][0]["capabilities"] = [
        one for one in document["agents"][0]["capabilities"] if one["id"] != "subagents"
    ]
    assert check_document(document) == []
    document["agents"][0]["operations"].append("board.create_issue")
    assert [problem.path for problem in check_document(document)] == ["agents[0].roster"]


def test_a_document_from_a_program_may_hold_only_plain_values():
    circle: dict[str, object] = {"id": "files"}
    circle["params"] = circle
    document = valid()
    document[b"key"] = "x"
    document["name"] = object()
    document["land"] = -(10**5000)
    document["limits"][10**5000] = 1
    document["agents"] = tuple(document["agents"])
    document["agents"][2]["capabilities"] = [circle]
    document["agents"][3]["instructions"] = b"bytes"
    problems = check_document(document)
    said = {problem.path: problem.what for problem in problems}
    assert said["document"] == "has a key that is not text: a bytes"
    assert said["land"] == "is a whole number of more than 64 bits"
    assert said["limits"] == "has a key that is not text: a huge number"
    assert said["name"] == "is a object, which JSON cannot hold"
    assert said["agents[3].instructions"] == "is a bytes, which JSON cannot hold"
    assert any("nests deeper" in what for what in said.values())


def test_nothing_a_terminal_would_obey_is_said():
    document = valid()
    document["land"] = "\x1b[2J\x9b2J\u202e"
    document["\x9b2J\n"] = 1
    said = lines(check_document(document))
    assert said.replace("\n", "").isprintable()
    assert "\\u009b2J\\n" in said


def test_compaction_is_checked_and_frozen():
    change = 'agents.critic.capabilities[0]={"id":"compaction","params":%s}'
    assert problems_of(change % "{}") == []
    critic = reading_of(changed(change % '{"threshold":0.5,"keepTurns":2}'), folder=".").crew.profile("critic")
    assert (critic.compaction.threshold, critic.compaction.keep_turns) == (0.5, 2)
    at = "agents[2].capabilities[0].params"
    wrong = problems_of(change % '{"threshold":1,"keepTurns":0,"model":"big"}')
    assert {p.path for p in wrong} == {f"{at}.threshold", f"{at}.keepTurns", f"{at}.model"}
    off = 'agents.critic.capabilities[0]={"id":"compaction","enabled":false,"params":{"threshold":"much"}}'
    assert [p.path for p in problems_of(off)] == [f"{at}.threshold"]


@pytest.mark.parametrize("level", ["", "agents[0]."])
def test_stuck_detection_is_checked_for_shape(level):
    problems = problems_of(f'{level}stuckDetection={{"enabled":1,"repeatThreshold":1,"nudges":2}}')
    at = f"{level}stuckDetection"
    assert {p.path for p in problems} == {f"{at}.enabled", f"{at}.repeatThreshold", f"{at}.nudges"}


def test_stuck_detection_of_a_profile_goes_before_the_crews_G6():
    document = changed('stuckDetection={"repeatThreshold":5,"maxNudges":0}')
    document["agents"][0]["stuckDetection"] = {"enabled": False, "maxNudges": 1}
    crew = reading_of(document, folder=".").crew
    found = [(one.stuck.enabled, one.stuck.repeat_threshold, one.stuck.max_nudges) for one in crew.profiles[:2]]
    assert found == [(False, 5, 1), (True, 5, 0)]


def test_code_mode_is_checked_and_frozen_X1_X4():
    change = 'agents.critic.capabilities[0]={"id":"responses-as-code","params":%s}'
    at = "agents[2].capabilities[0]"
    written = '{"language":"python","timeoutSecs":2.5,"maxMemoryBytes":5e8}'
    assert problems_of(change % written) == []
    critic = reading_of(changed(change % written), folder=".").crew.profile("critic")
    assert (critic.code.language, critic.code.limits.timeout_secs, critic.code.limits.max_memory_bytes) == (
        "python",
        2.5,
        500_000_000,
    )
    wrong = problems_of(change % '{"timeoutSecs":0,"maxMemoryBytes":0.5}')
    assert {p.path for p in wrong} == {f"{at}.params.{key}" for key in ("language", "timeoutSecs", "maxMemoryBytes")}
    for too_little_or_much in (1048576, 2**33):
        written = f'{{"language":"python","maxMemoryBytes":{too_little_or_much}}}'
        assert [p.path for p in problems_of(change % written)] == [f"{at}.params.maxMemoryBytes"]
    off = 'agents.critic.capabilities[0]={"id":"responses-as-code","enabled":false,"params":{"language":"cobol"}}'
    assert [p.path for p in problems_of(off)] == [f"{at}.params.language"]


@pytest.mark.parametrize("change", ['="sk-live-4242"', '="sk live 4242"'])
def test_what_may_be_a_secret_is_never_quoted(change):
    document = [
        f"models.main.apiKey{change}",
        f"models.main.apiKeyEnv{change}",
        f"models.main.baseUrl{change}",
        f"agents.lead.capabilities.shell.params.env[0]{change}",
        f"token{change}",
    ]
    said = lines(problems_of(*document))
    assert "4242" not in said
    assert said.count("\n") >= 4


def test_a_crew_of_two_hundred_profiles_is_checked_in_a_blink():
    document = valid()
    document["agents"].extend(
        {
            "id": f"coder-{n}",
            "model": "main",
            "capabilities": [{"id": "files"}, {"id": "shell"}],
            "roster": [{"agent": f"coder-{(n * 7) % 196}", "scopes": ["subagent"]}],
        }
        for n in range(196)
    )
    assert len(document["agents"]) == 200
    began = time.process_time()
    assert check_document(document) == []
    assert time.process_time() - began < 0.5
    for agent in document["agents"][4:]:
        agent["roster"][0]["agent"] = f"writer-of-{agent['id']}"
    problems = check_document(document)
    assert len(problems) == 196
    assert all(len(str(problem)) < 600 for problem in problems)
