"""The toolbox: what is offered, and every call answered in bounded, valid, masked text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import toolskit
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolskit import call

from ggactors.protocol.board import BoardAnswer, BoardLetter, CreateEpic, EpicCreated, ReadBoard
from ggactors.protocol.model import ToolResult
from ggactors.protocol.values import Code, Refused
from ggactors.tools.mask import Mask
from ggactors.tools.render import MOST
from ggactors.tools.toolbox import AgentToolbox, build_toolbox, own_tool_problems
from ggactors.tools.workbench import LocalWorkbench

if TYPE_CHECKING:
    from ggactors.ports import Toolbox
    from ggactors.protocol.crew import Profile


class Echo:
    """A tool of an embedding program."""

    def __init__(self, name: str = "echo", answer: Any = None) -> None:
        self.name = name
        self.description = "Say it back."
        self.schema = {"type": "object"}
        self.answer = answer

    async def call(self, args: dict[str, Any]) -> str | Refused:
        if isinstance(self.answer, Exception):
            raise self.answer
        return json.dumps(args) if self.answer is None else self.answer


class Board:
    """A board that answers every letter the same way and remembers what it was asked."""

    def __init__(self, answer: BoardAnswer) -> None:
        self.answer = answer
        self.asked: list[BoardLetter] = []

    async def ask(self, letter: BoardLetter) -> BoardAnswer:
        self.asked.append(letter)
        return self.answer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def bench(root: Path) -> LocalWorkbench:
    mask = Mask({"KEY": "sk-verysecret"})
    return LocalWorkbench(root, scratch=root.parent / "scratch", env={"PATH": os.environ["PATH"]}, mask=mask)


def build(
    bench: LocalWorkbench | None, asked: Board | None = None, *, extra: tuple[Any, ...] = (), **changes: Any
) -> AgentToolbox:
    lead: Profile = toolskit.profile(**changes)
    return build_toolbox(
        lead,
        agent="root",
        workbench=bench,
        ask_board=asked.ask if asked else None,
        crew=toolskit.crew(lead),
        extra=extra,
        mask=Mask({"KEY": "sk-verysecret"}),
    )


def names(toolbox: Toolbox) -> list[str]:
    return [spec.name for spec in toolbox.specs]


BOARD = Board(EpicCreated(epic="AUTH", title="t", description=None, by="root"))
FILES = ["read_file", "write_file", "edit_file", "list_dir", "search_files"]
REST = ["update_issue", "set_issue_blocked_by", "remove_epic", "remove_issue", "wait_for_issue", "read_board"]


# ---------------------------------------------------------------- what is offered


def test_capabilities_give_their_tools_and_endings_are_never_among_them_E3(bench):
    toolbox = build(bench, BOARD)
    assert names(toolbox) == [*FILES, "shell", "create_epic", "create_issue", *REST]


@pytest.mark.parametrize(
    ("capabilities", "offered"),
    [((), []), (("files",), FILES), (("shell",), ["shell"])],
)
def test_what_no_capability_gives_is_not_offered(bench, capabilities, offered):
    assert names(build(bench, BOARD, capabilities=capabilities, board=None)) == offered


def test_without_a_board_there_are_no_board_tools_B12(bench):
    assert names(build(bench)) == [*FILES, "shell"]


def test_an_allowlist_is_the_whole_grant_but_withholds_nothing_of_Q6(bench):
    toolbox = build(bench, BOARD, tools=("read_file", "create_epic", "submit_program"))
    assert names(toolbox) == ["read_file", "create_epic", "set_issue_blocked_by", "wait_for_issue", "read_board"]
    assert names(build(bench, BOARD, tools=())) == ["set_issue_blocked_by", "wait_for_issue", "read_board"]


def test_tools_of_the_embedding_program_are_offered_and_obey_the_allowlist(bench):
    assert names(build(bench, extra=(Echo(),)))[-1] == "echo"
    assert names(build(bench, extra=(Echo(),), tools=("shell",))) == ["shell"]
    assert names(build(bench, extra=(Echo(),), tools=("shell", "echo"))) == ["shell", "echo"]


@pytest.mark.parametrize(
    "name", ["finish", "approve", "request_changes", "shell", "create_issue", "submit_program", "a b", "", "é"]
)
def test_a_tool_named_like_an_ending_or_a_built_in_is_refused_P4(bench, name):
    (problem,) = own_tool_problems([Echo(name)])
    assert problem.path == "tools[0]"
    with pytest.raises(ValueError, match="tools"):
        build(bench, extra=(Echo(name),))


def test_two_tools_of_one_name_are_refused():
    assert [problem.path for problem in own_tool_problems([Echo("a"), Echo("b"), Echo("a")])] == ["tools[2]"]


def test_what_touches_the_tree_can_be_told_M6(bench):
    own = Echo()
    own.touches_tree = True
    toolbox = build(bench, BOARD, extra=(own, Echo("other")))
    touching = {name for name in [*names(toolbox), "finish", "nothing"] if toolbox.touches_tree(name)}
    assert touching == {*FILES, "shell", "echo"}


# ---------------------------------------------------------------- calls


async def test_results_are_text_for_files_and_commands_else_one_object(root, bench):
    toolbox = build(bench, BOARD)

    async def output(tool: str, **args: Any) -> str:
        answer = await toolbox.call(call(tool, **args))
        assert (answer.ok, answer.code, answer.call_id, answer.tool) == (True, None, "call-1", tool)
        return answer.output

    assert json.loads(await output("write_file", path="d/a.py", contents="x = 1\ny = 2\n")) == {
        "path": "d/a.py",
        "bytes": 12,
    }
    assert await output("read_file", path="d/a.py") == "x = 1\ny = 2\n"
    assert await output("read_file", path="d/a.py", limit=1) == "x = 1\n[lines 1-1 of 2; continue with offset 2]"
    assert await output("read_file", path="d/a.py", offset=2) == "y = 2\n[lines 2-2 of 2]"
    edited = json.loads(await output("edit_file", path="d/a.py", oldString="x", newString="z"))
    assert edited == {"path": "d/a.py", "replacements": 1, "lines": [1]}
    assert json.loads(await output("list_dir")) == {"path": ".", "entries": [{"name": "d", "kind": "directory"}]}
    found = json.loads(await output("search_files", pattern="z"))
    assert found == {"matches": [{"path": "d/a.py", "line": 1, "text": "z = 1"}]}
    assert await output("shell", command="echo hi; exit 3") == "hi\n[exit code 3]"
    assert await output("shell", command="printf hi") == "hi\n[exit code 0]"
    assert await output("shell", command="kill $$") == "[exit code 143, killed by SIGTERM]"
    assert json.loads(await output("create_epic", prefix="auth", title="t")) == {"id": "AUTH"}


async def test_an_empty_a_binary_and_an_overlong_file_are_described(root, bench):
    toolbox = build(bench)
    (root / "empty").touch()
    (root / "b").write_bytes(b"\x7fELF\0")
    (root / "long").write_text("x" * 400_000)
    assert (await toolbox.call(call("read_file", path="empty"))).output == "[the file is empty]"
    assert (await toolbox.call(call("read_file", path="b"))).output == "[ELF program or library, 5 bytes; not shown]"
    assert "line 1 is too long" in (await toolbox.call(call("read_file", path="long"))).output


async def test_a_refusal_has_its_code_and_is_text_B10(bench):
    toolbox = build(bench, Board(Refused(code=Code.CONFLICT, message="there is an epic AUTH already")))
    taken = await toolbox.call(call("create_epic", prefix="AUTH", title="t"))
    assert taken == ToolResult(
        call_id="call-1", tool="create_epic", ok=False, output="there is an epic AUTH already", code="conflict"
    )
    missing = await toolbox.call(call("read_file", path="nope"))
    assert (missing.ok, missing.code) == (False, "not-found")
    wrong = await toolbox.call(call("read_file", pathh="nope"))
    assert (wrong.ok, wrong.code) == (False, "invalid-argument")


async def test_a_tool_that_is_not_offered_is_unavailable_and_what_is_offered_is_named_B10(bench):
    board = Board(EpicCreated(epic="AUTH", title="t", description=None, by="root"))
    toolbox = build(bench, board, tools=("read_file",))
    for tool in ("shell", "create_epic", "no_such_tool", "finish", "\ud800"):
        answer = await toolbox.call(call(tool, command="touch made"))
        assert (answer.ok, answer.code) == (False, "unavailable")
        assert "`read_file`" in answer.output
        answer.output.encode()
    assert board.asked == []


async def test_a_wait_is_declared_here_and_served_by_the_agent_Q1(bench):
    answer = await build(bench, BOARD).call(call("wait_for_issue", issueId="A-1"))
    assert (answer.ok, answer.code) == (False, "unavailable")


async def test_a_refused_call_asks_the_board_nothing(bench):
    board = Board(EpicCreated(epic="AUTH", title="t", description=None, by="root"))
    toolbox = build(bench, board)
    await toolbox.call(call("create_epic", prefix="AUTH"))
    assert board.asked == []
    await toolbox.call(call("create_epic", prefix="AUTH", title="t"))
    await toolbox.call(call("read_board"))
    assert board.asked[0] == CreateEpic(by="root", profile="lead", prefix="AUTH", title="t")
    assert board.asked[1] == ReadBoard()


async def test_the_tool_of_an_embedding_program_is_called_and_its_faults_are_answers(bench):
    toolbox = build(
        bench,
        extra=(
            Echo(),
            Echo("breaks", ValueError("sk-verysecret is wrong")),
            Echo("refuses", Refused(code=Code.CONFLICT, message="not now")),
            Echo("plain", {"a": ["sk-verysecret"]}),
            Echo("odd", {1, 2}),
        ),
    )
    assert (await toolbox.call(call("echo", x=1))).output == '{"x": 1}'
    broken = await toolbox.call(call("breaks"))
    assert (broken.ok, broken.code, broken.output) == (False, "io-error", "breaks: ValueError: [masked:KEY] is wrong")
    assert (await toolbox.call(call("refuses"))).code == "conflict"
    assert (await toolbox.call(call("plain"))).output == '{"a": ["[masked:KEY]"]}'
    assert (await toolbox.call(call("odd"))).code == "io-error"


async def test_a_tool_of_an_embedding_program_can_be_cancelled(bench):
    class Slow(Echo):
        async def call(self, args: dict[str, Any]) -> str:
            await trio.sleep_forever()
            return ""

    toolbox = build(bench, extra=(Slow(),))
    with trio.move_on_after(0.01) as scope:
        await toolbox.call(call("echo"))
    assert scope.cancelled_caught


async def test_no_key_reaches_the_model_by_any_tool(root, bench):
    toolbox = build(bench, Board(Refused(code=Code.CONFLICT, message="sk-verysecret")))
    (root / "sk-verysecret").write_text("it is sk-verysecret\n")
    calls = [
        call("read_file", path="sk-verysecret"),
        call("list_dir"),
        call("search_files", pattern="it is"),
        call("shell", command="cat sk-verysecret"),
        call("shell", command="echo sk-verysecret; sleep 60", timeoutSecs=0.2),
        call("read_file", path="no-sk-verysecret"),
        call("create_epic", prefix="AUTH", title="t"),
        call("sk-verysecret"),
    ]
    for made in calls:
        output = (await toolbox.call(made)).output
        assert "sk-verysecret" not in output
        assert "[masked:KEY]" in output


async def test_a_huge_result_is_cut_and_kept_where_the_agent_can_read_it_H48(bench):
    toolbox = build(bench, extra=(Echo("huge", "x" * 5_000_000 + "\nend"),))
    answer = await toolbox.call(call("huge"))
    assert len(answer.output) < MOST + 200
    path = answer.output.partition("all of it is in ")[2].partition(" …]")[0]
    assert (await toolbox.call(call("read_file", path=path, offset=2))).output.startswith("end")


async def test_a_huge_result_of_an_agent_that_reads_nothing_is_cut_without_a_pointer(bench):
    toolbox = build(bench, extra=(Echo("huge", "x" * 5_000_000),), capabilities=(), board=None)
    assert "left out here …]" in (await toolbox.call(call("huge"))).output


async def test_a_name_that_is_not_utf8_can_be_sent_back_as_it_was_shown_H49(root, bench):
    Path(os.fsdecode(os.fsencode(str(root)) + b"/\xff.txt")).write_text("odd")
    toolbox = build(bench)
    listed = await toolbox.call(call("list_dir"))
    listed.output.encode()
    (entry,) = json.loads(listed.output)["entries"]
    assert (await toolbox.call(call("read_file", path=entry["name"]))).output == "odd"


async def test_closing_leaves_no_file(root, bench):
    toolbox = build(bench, extra=(Echo("huge", "x" * 5_000_000),))
    await toolbox.call(call("huge"))
    await toolbox.call(call("write_file", path="a", contents="x"))
    await toolbox.close()
    assert os.listdir(root.parent) == ["root"]


JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8) | st.just(["a"])
ARGS = st.dictionaries(
    st.sampled_from(["path", "contents", "oldString", "newString", "offset", "limit", "all", "x"]), JSON, max_size=4
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tool=st.sampled_from(FILES[:4]), args=ARGS)
def test_whatever_a_model_sends_is_answered_in_valid_text(root, bench, tool, args):
    made = toolskit.ToolCall(id="c", tool=tool, args=args)
    answer = trio.run(build(bench).call, made)
    answer.output.encode()
    assert answer.ok == (answer.code is None)
