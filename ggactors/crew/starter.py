"""What ``ggactors init`` writes: a complete commented crew that runs as it stands, on the models found, or on a scripted one.

Law: a comment that begins with ``#`` and no space is document: taking every such ``#`` away leaves a well-formed crew, of which
this version refuses only what it says it does not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.crew.starter_models import models_part, runs_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.crew.builtin import FoundModel

CREW_FILE = "crew.toml"
SCRIPT_FILE = "crew-script.toml"

_CREW = '''\
# A crew of ggactors: who works, with which models, on whose word, within which ceilings.
@RUNS@
#
#     ggactors check crew.toml
#     ggactors run crew.toml --workspace . --task "Say hello"
#
# Lines that begin with '#' and no space are settings to switch on; prose has a space. JSON with the same keys works too.
# Any value can be set for one run: --set limits.maxParallel=2 --set agents.coder.model=script/other.toml

name = "starter"

# Where agents work: "private", a repository of the run's own, or "inPlace", this directory itself.
#checkout = "private"

# When your branch is moved forward to the run's work: "end" of the run, after "each" merge, or "never".
#land = "end"

# Ceilings; what is not written is as shown. JSON and --set switch one off with null (--set limits.maxTurns=null).
[limits]
maxParallel = 4
#maxTurns = 200
#maxConsecutiveErrors = 5
#maxErrorRate = 0.4
#errorRateWindow = 50
# Off unless written: seconds, money in the currency of your prices, tokens in and out.
#maxRuntimeSecs = 3600
#maxCost = 5.0
#maxTokens = 2_000_000
# What each issue, and each epic, may spend; an agent may have such limits of its own.
#perIssue = { maxTokens = 400_000 }
#perEpic = { maxCost = 2.0 }

@MODELS@
# The root is given the task. It files issues on the board and waits for them; each is worked by an agent of its own.
[[agents]]
id = "lead"
name = "Lead"
root = true
model = "main"
instructions = """
Split the task into issues that can be worked on side by side, with what is in scope, what is not, and when each is done.
File them, wait for them, then finish with a summary."""
# Whom it may name on an issue, for what, and what it is told of them.
roster = [
  { agent = "coder", scopes = ["implementer"], description = "writes code and its tests" },
  { agent = "critic", scopes = ["reviewer"], description = "reviews a finished issue" },
#{ agent = "coder", scopes = ["subagent"], description = "looks into one question and reports" },
]

[[agents.capabilities]]
id = "files"

[[agents.capabilities]]
id = "project-management"
# The agent that resolves merge conflicts, how much the board holds, and how often a failed attempt is dispatched again.
params = { mergeAgentId = "merger", maxEpics = 50, maxIssues = 2000, maxRetries = 1, reviewers = false }
features = { issueCreation = true, reviseBoard = true }

# Agents it starts for parts of its own work, in its own directory: those its roster gives the scope "subagent".
# maxDepth is how deep they may be nested.
#[[agents.capabilities]]
#id = "subagents"
#params = { maxDepth = 3 }

[[agents]]
id = "coder"
name = "Coder"
model = "main"
instructions = "Do what the issue says and no more. Run the tests before you finish."
# A list here would be the whole grant; endings are always granted.
#tools = ["read_file", "write_file", "edit_file", "list_dir", "search_files", "shell"]

[[agents.capabilities]]
id = "files"

# A conversation that nears the model's window is summed up, and its agent goes on.
[[agents.capabilities]]
id = "compaction"

[[agents.capabilities]]
id = "shell"
# Variables its commands see besides PATH, HOME, LANG, TERM and the like: names only.
params = { env = [] }

# Notes that agents of this profile keep on the workspace from one run to the next.
#[[agents.capabilities]]
#id = "memories"
#params = { maxMemories = 64, maxTextBytes = 8192 }

# Tools of MCP servers, declared in a file beside this one; see docs/reference/mcp.md.
#[[agents.capabilities]]
#id = "mcp"
#params = { config = "mcp.json", timeoutSecs = 60 }

# A gate: an agent's ending stands, and its issue goes on, only once this passes.
#[[agents.hooks]]
#event = "agent-stop"
#name = "tests"
#action = { type = "command", command = "python -m pytest -q", timeoutSecs = 300 }

[[agents]]
id = "critic"
name = "Critic"
model = "main"
instructions = "Read the change and run it. Approve what meets the issue's criteria; else say what has to change."
capabilities = [{ id = "files" }, { id = "shell" }]

[[agents]]
id = "merger"
name = "Merger"
model = "main"
instructions = "Resolve the conflict so that both sides keep their meaning, run the tests, and commit the merge."
capabilities = [{ id = "files" }, { id = "shell" }]
'''

_SCRIPT = """\
# The written replies of the model "main" in crew.toml: a rehearsal in which everything but the replies is real.
# Keys are patterns over agents' ids ('*r' is every reviewer), or "profile:<id>"; the first that matches serves the agent.
# Each [[agents.…]] is one reply.

[[agents.root]]
text = "One issue will do."
calls = [{ tool = "create_issue", args = { title = "Say hello", agent = "coder", inScope = "hello-ggactors.txt", \
outOfScope = "every other file", completionCriteria = "hello-ggactors.txt says hello" } }]

[[agents.root]]
calls = [{ tool = "wait_for_issue", args = { issueId = "ISSUE-1" } }]

[[agents.root]]
calls = [{ tool = "finish", args = { summary = "hello-ggactors.txt says hello." } }]

[[agents."profile:coder"]]
text = "Writing the file."
calls = [{ tool = "write_file", args = { path = "hello-ggactors.txt", contents = "Hello from a crew of one coder.\\n" } }]

[[agents."profile:coder"]]
calls = [{ tool = "shell", args = { command = "grep -q Hello hello-ggactors.txt" } }]

[[agents."profile:coder"]]
calls = [{ tool = "finish", args = { summary = "Wrote hello-ggactors.txt." } }]

[[agents."*r"]]
calls = [{ tool = "approve", args = {} }]
"""


def starter_crew(found: Sequence[FoundModel] = ()) -> dict[str, str]:
    """Give the files of a starter crew by name: the document, and where no model was found the script it runs on."""
    document = _CREW.replace("@RUNS@", runs_on(found)).replace("@MODELS@\n", models_part(found, SCRIPT_FILE))
    return {CREW_FILE: document} if found else {CREW_FILE: document, SCRIPT_FILE: _SCRIPT}
