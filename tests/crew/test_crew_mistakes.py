"""Every single mistake is named at its own path, alone, with a remedy (P1, P2, P4, F1, A1)."""

from __future__ import annotations

import pytest
from crew_samples import changed, check_document, lines, problems_of, valid, without

from ggactors.crew import crew_from_document
from ggactors.ports import LaunchRefused

LEAD = "agents[0]"
BOARD = "agents[0].capabilities[2]"

# (the change, where it must be named, a word that must be said)
MISTAKES = [
    # the top
    ("nme=1", "nme", "did you mean 'name'"),
    ("name=7", "name", "must be text"),
    ('name=" "', "name", "blank"),
    ("checkout=inplace", "checkout", "did you mean 'inPlace'"),
    ("checkout=true", "checkout", "private, inPlace"),
    ("land=always", "land", "end, each, never"),
    ("agents={}", "agents", "a list of agents"),
    ("models=[]", "models", "must be an object"),
    ("limits=3", "limits", "must be an object"),
    ('stuckDetection={"repeatThreshold":1}', "stuckDetection.repeatThreshold", "at least 2"),
    # limits
    ("limits.maxParalell=2", "limits.maxParalell", "did you mean 'maxParallel'"),
    ("limits.max_turns=2", "limits.max_turns", "did you mean 'maxTurns'"),
    ("limits.maxParallel=0", "limits.maxParallel", "at least 1"),
    ("limits.maxParallel=null", "limits.maxParallel", "whole number"),
    ("limits.maxParallel=true", "limits.maxParallel", "whole number"),
    ('limits.maxParallel="4"', "limits.maxParallel", "whole number"),
    ("limits.maxTurns=0", "limits.maxTurns", "at least 1"),
    ("limits.maxTurns=1.5", "limits.maxTurns", "whole number"),
    ("limits.maxTurns=1e300", "limits.maxTurns", "too great"),
    ("limits.maxTurns=9007199254740993", "limits.maxTurns", "too great"),
    ("limits.maxRuntimeSecs=0", "limits.maxRuntimeSecs", "greater than 0"),
    ("limits.maxRuntimeSecs=false", "limits.maxRuntimeSecs", "must be a number"),
    ("limits.maxConsecutiveErrors=-1", "limits.maxConsecutiveErrors", "at least 1"),
    ("limits.maxErrorRate=1.01", "limits.maxErrorRate", "at most 1"),
    ("limits.maxErrorRate=-0.1", "limits.maxErrorRate", "at least 0"),
    ("limits.maxErrorRate=null", "limits.errorRateWindow", "without a rate"),
    ("limits.errorRateWindow=null", "limits.maxErrorRate", "window is switched off"),
    ("limits.errorRateWindow=0", "limits.errorRateWindow", "at least 1"),
    ("limits.maxCost=0", "limits.maxCost", "greater than 0"),
    ("limits.maxCost=1e999", "limits.maxCost", "must be a number"),
    ("limits.maxCost=9007199254740993", "limits.maxCost", "too great"),
    ("limits.maxTokens=-5", "limits.maxTokens", "at least 1"),
    # models
    ("models.main=1", "models.main", "must be an object"),
    ("models.main.provider=scripts", "models.main.provider", "did you mean 'script'"),
    ("models.main.provider=1", "models.main.provider", "must be text"),
    ('models.main.name=""', "models.main.name", "blank"),
    ("models.main.name=script.yaml", "models.main.name", "script.json"),
    ("models.main.baseUrl=http://127.0.0.1/", "models.main.baseUrl", "means nothing to provider 'script'"),
    ("models.main.temperature=1", "models.main.temperature", "means nothing to provider 'script'"),
    ("models.main.seed=1", "models.main.seed", "unknown key"),
    ("models.main.fallback=man", "models.main.fallback", "did you mean 'main'"),
    ("models.main.fallback=main", "models.main.fallback", "leads back to itself: main → main"),
    ("agents.critic.model=mian", "agents[2].model", "did you mean 'main'"),
    ("agents.critic.model=gpt", "agents[2].model", "provider/name"),
    ("agents.critic.model=anthropic/ ", "agents[2].model", "names no model after anthropic/"),
    ("agents.critic.model=llamacpp/m.bin", "agents[2].model", "a .gguf file"),
    ("agents.critic.model=openai-compatible/x", "agents[2].model", "baseUrl"),
    ("agents.critic.model=antropic/opus", "agents[2].model", "did you mean 'anthropic'"),
    ("agents.critic.model=script/", "agents[2].model", "names no model"),
    ("agents.critic.model=script/a.yaml", "agents[2].model", "script.json"),
    ("agents.critic.model=python/critic.py", "agents[2].model", "model.py:answer"),
    ("agents.critic.model=python/critic.py:a b", "agents[2].model", "model.py:answer"),
    ("agents.critic.model=5", "agents[2].model", "must be text"),
    # profiles
    ("agents.critic.name=5", "agents[2].name", "must be text"),
    ("agents.critic.instructions=[]", "agents[2].instructions", "must be text"),
    ("agents.critic.root=yes", "agents[2].root", "true or false"),
    ("agents.critic.root=true", "agents[2].root", "second root beside agents[0]"),
    ("agents.lead.root=false", "agents", "no agent is the root"),
    ("agents.critic.modelId=main", "agents[2].modelId", "write it as model"),
    ("agents.critic.capabilities=files", "agents[2].capabilities", "list of capabilities"),
    # capabilities
    ("agents.critic.capabilities[0]=files", "agents[2].capabilities[0]", "must be an object"),
    ("agents.critic.capabilities[0].id=file", "agents[2].capabilities[0].id", "did you mean 'files'"),
    ("agents.critic.capabilities[0].id=telepathy", "agents[2].capabilities[0].id", "known capabilities"),
    ("agents.critic.capabilities[0].enabled=1", "agents[2].capabilities[0].enabled", "true or false"),
    ("agents.critic.capabilities[0].implementation=x", "agents[2].capabilities[0].implementation", "unknown key"),
    ("agents.critic.capabilities[0].params.lineCap=1", "agents[2].capabilities[0].params.lineCap", "no keys here"),
    ("agents.critic.capabilities[0].params=7", "agents[2].capabilities[0].params", "must be an object"),
    ("agents.critic.capabilities[0].features.x=true", "agents[2].capabilities[0].features.x", "no keys here"),
    ("agents.coder.capabilities[0].id=shell", "agents[1].capabilities[1].id", "declared twice"),
    (
        "agents.lead.capabilities.shell.params.environment=[]",
        "agents[0].capabilities[1].params.environment",
        "known keys: env",
    ),
    ("agents.lead.capabilities.shell.params.env=CI", "agents[0].capabilities[1].params.env", "list of variable names"),
    (
        "agents.lead.capabilities.shell.params.env[0]=A=1",
        "agents[0].capabilities[1].params.env[0]",
        "name of an environment",
    ),
    ('agents.lead.capabilities.shell.params.env=["A","A"]', "agents[0].capabilities[1].params.env[1]", "listed twice"),
    # subagents, also when they are switched off
    ("agents.lead.capabilities.subagents.params.maxDepth=0", "agents[0].capabilities[3].params.maxDepth", "at least 1"),
    ("agents.lead.capabilities.subagents.params.maxDepth=2.5", "agents[0].capabilities[3].params.maxDepth", "whole"),
    ("agents.lead.capabilities.subagents.params.maxDepth=deep", "agents[0].capabilities[3].params.maxDepth", "whole"),
    ("agents.lead.capabilities.subagents.features.x=1", "agents[0].capabilities[3].features.x", "no keys here"),
    (
        "agents.lead.capabilities.subagents.params.depth=1",
        "agents[0].capabilities[3].params.depth",
        "did you mean 'maxDepth'",
    ),
    # skills
    (
        'agents.critic.capabilities[0]={"id":"skills"}',
        "agents[2].capabilities[0].params.dir",
        "is missing",
    ),
    (
        'agents.critic.capabilities[0]={"id":"skills","params":{"dir":5}}',
        "agents[2].capabilities[0].params.dir",
        "must be text",
    ),
    (
        'agents.critic.capabilities[0]={"id":"skills","enabled":false,"params":{"dir":" "}}',
        "agents[2].capabilities[0].params.dir",
        "",
    ),
    # memories
    (
        'agents.critic.capabilities[0]={"id":"memories","params":{"maxMemories":0}}',
        "agents[2].capabilities[0].params.maxMemories",
        "at least 1",
    ),
    (
        'agents.critic.capabilities[0]={"id":"memories","enabled":false,"params":{"maxTextBytes":1e9}}',
        "agents[2].capabilities[0].params.maxTextBytes",
        "at most 65536",
    ),
    (
        'agents.critic.capabilities[0]={"id":"memories","params":{"limit":5}}',
        "agents[2].capabilities[0].params.limit",
        "",
    ),
    # the board
    (f"{BOARD}.params.mergeAgentId=merge_r", f"{BOARD}.params.mergeAgentId", "is not an id"),
    (f"{BOARD}.params.mergeAgentId=5", f"{BOARD}.params.mergeAgentId", "is not an id"),
    (f"{BOARD}.params.mergeAgentId=mergr", f"{BOARD}.params.mergeAgentId", "did you mean 'merger'"),
    (f"{BOARD}.params.mergeAgentId=critic", f"{BOARD}.params.mergeAgentId", "no shell capability"),
    ("agents.merger.capabilities.shell.enabled=false", f"{BOARD}.params.mergeAgentId", "no shell capability"),
    ('agents.merger.tools=["read_file"]', f"{BOARD}.params.mergeAgentId", "withholds the shell"),
    (f"{BOARD}.params.maxEpics=0", f"{BOARD}.params.maxEpics", "at least 1"),
    (f"{BOARD}.params.maxIssues=2000.5", f"{BOARD}.params.maxIssues", "whole number"),
    (f"{BOARD}.params.maxRetries=-1", f"{BOARD}.params.maxRetries", "at least 0"),
    (f"{BOARD}.params.maxRetries=false", f"{BOARD}.params.maxRetries", "whole number"),
    (f"{BOARD}.params.reviewers=1", f"{BOARD}.params.reviewers", "true or false"),
    (f"{BOARD}.params.maxRetry=1", f"{BOARD}.params.maxRetry", "did you mean 'maxRetries'"),
    (f"{BOARD}.params.issueCreation=true", f"{BOARD}.params.issueCreation", "move it under features"),
    (f"{BOARD}.features.reviewers=true", f"{BOARD}.features.reviewers", "move it under params"),
    (f"{BOARD}.features.reviseBoard=off", f"{BOARD}.features.reviseBoard", "true or false"),
    ('agents.lead.roster[0].scopes=["subagent"]', "agents[0].roster", "lists no implementer"),
    ("agents.lead.roster=[]", "agents[0].roster", "lists no implementer"),
    # rosters
    ("agents.lead.root=yes", "agents[0].root", "true or false"),
    ("agents.lead.roster={}", "agents[0].roster", "list of roster entries"),
    ("agents.lead.roster[1]=critic", "agents[0].roster[1]", "must be an object"),
    ("agents.lead.roster[1].agent=critik", "agents[0].roster[1].agent", "did you mean 'critic'"),
    ("agents.lead.roster[1].agent=zzz", "agents[0].roster[1].agent", "lead, coder, critic, merger"),
    ("agents.lead.roster[1].agent=null", "agents[0].roster[1].agent", "is not an id"),
    ("agents.lead.roster[1].scopes=[]", "agents[0].roster[1].scopes", "names no scope"),
    ("agents.lead.roster[1].scopes=reviewer", "agents[0].roster[1].scopes", "list of scopes"),
    ('agents.lead.roster[1].scopes=["reviewr"]', "agents[0].roster[1].scopes[0]", "did you mean 'reviewer'"),
    ('agents.lead.roster[1].scopes=["reviewer","reviewer"]', "agents[0].roster[1].scopes[1]", "listed twice"),
    ("agents.lead.roster[1].description=1", "agents[0].roster[1].description", "must be text"),
    ("agents.lead.roster[1].scope=reviewer", "agents[0].roster[1].scope", "write it as scopes"),
    ('agents.lead.roster[1]={"agent":"coder","scopes":["implementer"]}', "agents[0].roster[1]", "a second time"),
    # allowlists
    ("agents.coder.tools=shell", "agents[1].tools", "list of tool names"),
    ("agents.coder.tools[0]=readfile", "agents[1].tools[0]", "did you mean 'read_file'"),
    ("agents.coder.tools[0]=files.read_file", "agents[1].tools[0]", "belongs under operations"),
    ("agents.coder.tools[0]=memories.read_memory", "agents[1].tools[0]", "belongs under operations"),
    ("agents.coder.tools[0]=teleport", "agents[1].tools[0]", "known tools"),
    ("agents.coder.tools[0]=shell", "agents[1].tools[1]", "listed twice"),
    ('agents.coder.operations=["files.read_file"]', "agents[1].operations", "this one calls tools"),
    # hooks
    ("hooks={}", "hooks", "list of hooks"),
    ("hooks=[1]", "hooks[0]", "must be an object"),
]


@pytest.mark.parametrize(("change", "path", "word"), MISTAKES, ids=[change for change, _, _ in MISTAKES])
def test_a_single_mistake_is_named_alone_at_its_path_with_a_remedy_P2(change, path, word):
    problems = problems_of(change)
    assert [problem.path for problem in problems] == [path], lines(problems)
    assert word in str(problems[0])
    assert problems[0].remedy


# Mistakes that make a reference to the agent wrong too, which is said as well.
FOLLOWED = [
    ("agents[2]=critic", "agents[2]", "must be an object"),
    ("agents.coder.id=Coder", "agents[1].id", "lower-case"),
    ("agents.coder.id=co--der", "agents[1].id", "single hyphens"),
    ("agents.coder.id=", "agents[1].id", "lower-case"),
    ("agents.critic.id=coder", "agents[2].id", "is the id of agents[1] too"),
]


@pytest.mark.parametrize(("change", "path", "word"), FOLLOWED, ids=[change for change, _, _ in FOLLOWED])
def test_an_agent_that_cannot_be_named_is_reported_with_the_references_to_it_P4(change, path, word):
    problems = {problem.path: str(problem) for problem in problems_of(change)}
    assert word in problems.pop(path)
    (reference,) = problems
    assert reference.startswith("agents[0].roster[")


ABSENT = [
    (["agents"], "agents"),
    (["agents", 1, "id"], "agents[1].id"),
    (["agents", 1, "model"], "agents[1].model"),
    (["models", "main", "provider"], "models.main.provider"),
    (["models", "main", "name"], "models.main.name"),
    (["agents", 0, "capabilities", 0, "id"], f"{LEAD}.capabilities[0].id"),
    (["agents", 0, "roster", 1, "agent"], f"{LEAD}.roster[1].agent"),
    (["agents", 0, "roster", 1, "scopes"], f"{LEAD}.roster[1].scopes"),
    *(
        (["agents", 0, "capabilities", 2, "params", key], f"{BOARD}.params.{key}")
        for key in ("mergeAgentId", "maxEpics", "maxIssues", "maxRetries")
    ),
]


@pytest.mark.parametrize(("path", "named"), ABSENT, ids=[named for _, named in ABSENT])
def test_what_must_be_written_and_is_not_is_named_P1(path, named):
    problems = check_document(without(path))
    assert named in [problem.path for problem in problems], lines(problems)
    assert all("is missing" in problem.what for problem in problems if problem.path == named)


OPTIONAL = [
    ["name"],
    ["limits"],
    ["checkout"],
    ["land"],
    ["hooks"],
    *(["limits", key] for key in valid()["limits"] if key != "maxErrorRate"),
    *(["agents", 0, key] for key in ("name", "instructions", "hooks")),
    ["agents", 0, "capabilities", 3],
    ["agents", 0, "capabilities", 3, "params"],
    ["agents", 0, "capabilities", 3, "params", "maxDepth"],
    ["agents", 0, "capabilities", 1, "params"],
    ["agents", 0, "capabilities", 1, "params", "env"],
    ["agents", 0, "capabilities", 2, "features"],
    ["agents", 0, "capabilities", 2, "params", "reviewers"],
    ["agents", 0, "roster", 0, "description"],
    ["agents", 1, "tools"],
    ["agents", 2, "capabilities"],
]


@pytest.mark.parametrize("path", OPTIONAL, ids=str)
def test_what_is_optional_may_be_left_out(path):
    assert check_document(without(path)) == []


def test_the_sample_itself_is_in_order():
    assert check_document(valid()) == []


def test_one_refusal_names_twenty_mistakes_at_once_P2():
    mistakes = [
        ("nme=1", "nme"),
        ("checkout=public", "checkout"),
        ("land=soon", "land"),
        ("limits.maxParallel=0", "limits.maxParallel"),
        ("limits.maxTurns=many", "limits.maxTurns"),
        ("limits.maxErrorRate=2", "limits.maxErrorRate"),
        ("limits.maxCost=-1", "limits.maxCost"),
        ("limits.burst=1", "limits.burst"),
        ("models.main.provider=scripted", "models.main.provider"),
        ('models.big={"provider":"openai","name":"x","api":"chats"}', "models.big.api"),
        ('hooks=[{"event":"agent-stop","action":{"type":"command","command":" "}}]', "hooks[0].event"),
        ("agents.lead.capabilities.shell.params.env[0]=a b", "agents[0].capabilities[1].params.env[0]"),
        (f"{BOARD}.params.maxRetries=-1", f"{BOARD}.params.maxRetries"),
        (f"{BOARD}.params.mergeAgentId=nobody", f"{BOARD}.params.mergeAgentId"),
        (f"{BOARD}.features.issueCreation=1", f"{BOARD}.features.issueCreation"),
        ("agents.lead.roster[1].scopes=[]", "agents[0].roster[1].scopes"),
        ("agents.lead.roster[0].agent=ghost", "agents[0].roster[0].agent"),
        ("agents.coder.tools[0]=read-files", "agents[1].tools[0]"),
        ("agents.critic.root=true", "agents[2].root"),
        ("agents.critic.model=nothing", "agents[2].model"),
        ("agents.merger.id=Merger", "agents[3].id"),
    ]
    with pytest.raises(LaunchRefused) as refused:
        crew_from_document(changed(*(change for change, _ in mistakes)), folder=".")
    paths = [problem.path for problem in refused.value.problems]
    assert set(paths) >= {path for _, path in mistakes}
    assert "hooks[0].action.command" in paths
    assert len(set(refused.value.problems)) == len(paths)
    for _, path in mistakes:
        assert path in str(refused.value)
