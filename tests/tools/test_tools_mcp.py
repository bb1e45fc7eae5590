"""The tools of MCP servers: a real one, and one that misbehaves."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import toolskit
import trio
from toolskit import call

from ggactors.protocol.mcp import McpServer, McpSpec
from ggactors.protocol.model import Pictured
from ggactors.protocol.program import Returned
from ggactors.protocol.values import Code, Refused
from ggactors.tools.mask import Mask
from ggactors.tools.toolbox import build_toolbox

pytest.importorskip("mcp", reason="the extra mcp is not installed")
from ggactors.tools.mcp import open_mcp_house

HERE = Path(__file__).parent
ENV = {"PATH": os.environ["PATH"]}
SPEC = McpSpec(config="c", path="agents[0].mcp", timeout_secs=20, start_secs=20)


def server(*words: str, name: str = "s", script: str = "mcp_spoilt.py", **changes) -> McpServer:
    return McpServer(
        name=name, kind="stdio", command=sys.executable, args=(str(HERE / script), *words), path=f"c.{name}", **changes
    )


def box_of(kit, *, tools=None, secrets=None):
    lead = toolskit.profile(capabilities=(), board=None, tools=tools)
    return build_toolbox(
        lead,
        agent="root",
        workbench=None,
        ask_board=None,
        crew=toolskit.crew(lead),
        extra=kit.tools,
        also_close=kit.close,
        mask=Mask(secrets or {}),
    )


@asynccontextmanager
async def spoilt(folder, *, spec=SPEC, secrets=None, tools=None):
    """Open a box that holds the tools of the server that misbehaves."""
    async with open_mcp_house() as house:
        assert await house.learn(spec, [server()], env=ENV, folder=str(folder)) == ()
        box = box_of(house.kit(spec, env=ENV, folder=str(folder)), tools=tools, secrets=secrets)
        try:
            yield box
        finally:
            await box.close()


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


async def test_a_real_server_is_started_in_the_agents_folder_with_listed_variables_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERATORS_OWN", "not-for-servers")
    real = server(script="mcp_server.py", env={"GIVEN": "here"})
    async with open_mcp_house() as house:
        assert await house.learn(SPEC, [real], env=ENV, folder=str(tmp_path)) == ()
        assert house.names("c") == ("s__add", "s__where", "s__picture", "s__fail")
        (tmp_path / "root").mkdir()
        box = box_of(house.kit(SPEC, env=ENV, folder=str(tmp_path / "root")))
        spec = next(one for one in box.specs if one.name == "s__add")
        assert spec.description == "Add two numbers."
        assert set(spec.schema["properties"]) == {"a", "b"}
        assert (await box.call(call("s__add", a=1, b=2))).output == "3"
        assert (await box.call(call("s__where"))).output == f"{tmp_path / 'root'} here None"
        pictured = await box.call(call("s__picture"))
        assert pictured.ok
        assert pictured.output == "a pixel"
        assert [(image.media_type, image.data[:4]) for image in pictured.images] == [("image/png", b"\x89PNG")]
        failed = await box.call(call("s__fail"))
        assert (failed.ok, failed.code) == (False, Code.IO_ERROR)
        assert "s: " in failed.output
        assert box.touches_tree("s__add")  # it works in the agent's directory (M6)
        await box.close()


async def test_tools_are_listed_page_by_page_and_odd_letters_are_spelled_for_providers(tmp_path):
    async with spoilt(tmp_path) as box:
        assert "s__a_b" in [spec.name for spec in box.specs]
        assert (await box.call(call("s__a_b", text="through"))).output == "through"


async def test_an_allowlist_withholds_tools_of_servers_too(tmp_path):
    async with spoilt(tmp_path, tools=("s__echo",)) as box:
        assert [spec.name for spec in box.specs] == ["s__echo"]
        assert (await box.call(call("s__die"))).code == Code.UNAVAILABLE


async def test_programs_call_tools_of_servers_as_functions_of_gg_tools_X2(tmp_path):
    async with spoilt(tmp_path) as box:
        assert "tools.s__echo" in [spec.id for spec in box.operations]
        assert await box.serve("tools.s__echo", {"text": "hello"}) == Returned(value="hello")
        refused = await box.serve("tools.s__bad_args", {})
        assert (type(refused), refused.code) == (Refused, Code.INVALID_ARGUMENT)


async def test_a_server_that_dies_is_started_anew_once_and_then_unavailable(tmp_path):
    async with spoilt(tmp_path) as box:
        first = (await box.call(call("s__pid"))).output
        died = await box.call(call("s__die"))
        assert died.code == Code.IO_ERROR
        assert "exit code 3: out of memory, they say" in died.output
        assert "not known; your next call starts it anew" in died.output
        second = (await box.call(call("s__pid"))).output
        assert second.isdigit()
        assert second != first
        again = await box.call(call("s__die"))
        assert "it is not started again" in again.output
        gone = await box.call(call("s__pid"))
        assert gone.code == Code.UNAVAILABLE
        assert "Go on without its tools" in gone.output


async def test_a_server_that_was_killed_between_calls_is_started_anew_by_the_next(tmp_path):
    async with spoilt(tmp_path) as box:
        pid = int((await box.call(call("s__pid"))).output)
        os.kill(pid, 9)
        while alive(pid):
            await trio.lowlevel.checkpoint()
        answers = [await box.call(call("s__pid")) for _ in range(2)]
        # Whether the first call finds it gone or loses it under way is a matter of microseconds.
        assert answers[1].ok
        assert answers[1].output != str(pid)


async def test_a_call_that_runs_out_of_time_is_answered_and_a_living_server_stays(tmp_path):
    async with spoilt(tmp_path, spec=McpSpec(config="c", timeout_secs=0.3)) as box:
        pid = (await box.call(call("s__pid"))).output
        result = await box.call(call("s__hang"))
        assert result.code == Code.LIMIT_EXCEEDED
        assert "no answer within 0.3 s" in result.output
        assert (await box.call(call("s__pid"))).output == pid


async def test_a_server_that_is_deaf_to_a_ping_as_well_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("ggactors.tools.mcpclient._PING_SECS", 0.2)
    async with spoilt(tmp_path, spec=McpSpec(config="c", timeout_secs=0.3)) as box:
        pid = int((await box.call(call("s__pid"))).output)
        result = await box.call(call("s__deaf"))
        assert "does not answer at all, so it was ended" in result.output
        assert not alive(pid)
        assert (await box.call(call("s__pid"))).ok


async def test_closing_leaves_no_process_of_a_server_or_of_what_it_began(tmp_path):
    async with spoilt(tmp_path) as box:
        pids = [int((await box.call(call(name))).output) for name in ("s__pid", "s__spawn")]
        assert all(map(alive, pids))
    assert not any(map(alive, pids))
    assert (await box.call(call("s__pid"))).code == Code.UNAVAILABLE


async def test_a_cancelled_call_leaves_no_process_of_the_server(tmp_path):
    async with open_mcp_house() as house:
        await house.learn(SPEC, [server()], env=ENV, folder=str(tmp_path))
        box = box_of(house.kit(SPEC, env=ENV, folder=str(tmp_path)))
        pid = int((await box.call(call("s__pid"))).output)
        with trio.move_on_after(0.3) as scope:
            await box.call(call("s__hang"))
        assert scope.cancelled_caught
        assert not alive(pid)


async def test_a_house_that_is_torn_down_takes_every_server_with_it(tmp_path):
    with trio.CancelScope() as scope:
        async with open_mcp_house() as house:
            await house.learn(SPEC, [server()], env=ENV, folder=str(tmp_path))
            box = box_of(house.kit(SPEC, env=ENV, folder=str(tmp_path)))
            pid = int((await box.call(call("s__pid"))).output)
            scope.cancel()
            await trio.sleep_forever()
    assert not alive(pid)


async def test_lines_that_are_no_messages_are_passed_over_and_long_answers_are_cut(tmp_path):
    async with spoilt(tmp_path) as box:
        assert (await box.call(call("s__garbage", text="after it"))).output == "after it"
        long = (await box.call(call("s__big"))).output
        assert len(long) < 310 * 1024
        assert "characters left out here" in long


async def test_wrong_arguments_are_invalid_and_secrets_are_masked_in_answers(tmp_path):
    async with spoilt(tmp_path, secrets={"KEY": "fake-key-123"}) as box:
        assert (await box.call(call("s__bad-args"))).code == Code.INVALID_ARGUMENT
        assert (await box.call(call("s__echo", text="it is fake-key-123"))).output == "it is [masked:KEY]"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"a": 1}, "`b` is missing; it takes `a`, `b`"),
        ({}, "`a` is missing, `b` is missing"),
        ({"x": 1}, "`a` is missing"),
        ({"a": 1, "b": "two"}, "`b` must be integer"),
        ({"a": 1, "b": None}, "`b` must be integer"),
    ],
)
async def test_arguments_a_real_servers_schema_does_not_allow_are_invalid_and_not_sent_B10(tmp_path, args, said):
    real = server(script="mcp_server.py")
    async with open_mcp_house() as house:
        assert await house.learn(SPEC, [real], env=ENV, folder=str(tmp_path)) == ()
        box = box_of(house.kit(SPEC, env=ENV, folder=str(tmp_path)))
        try:
            refused = await box.call(call("s__add", **args))
            assert (refused.code, said in refused.output) == (Code.INVALID_ARGUMENT, True), refused
            served = await box.serve("tools.s__add", args)
            assert isinstance(served, Refused)
            assert served.code is Code.INVALID_ARGUMENT
        finally:
            await box.close()


async def test_arguments_no_server_could_read_are_refused_or_mended_and_the_server_lives_on(tmp_path):
    async with spoilt(tmp_path) as box:
        pid = (await box.call(call("s__pid"))).output
        assert (await box.call(call("s__echo", text="half \ud800 of a pair"))).output == "half ? of a pair"
        deep: list = []
        for _ in range(5000):
            deep = [deep]
        for value in (deep, float("nan"), {1, 2}):
            assert (await box.call(call("s__echo", text=value))).code == Code.INVALID_ARGUMENT
        assert (await box.call(call("s__pid"))).output == pid


async def test_a_server_that_cannot_be_started_any_more_is_an_answer_and_no_crash(tmp_path):
    script = tmp_path / "server.py"
    script.write_text((HERE / "mcp_spoilt.py").read_text())
    async with open_mcp_house() as house:
        near = McpServer(name="s", kind="stdio", command=sys.executable, args=(str(script), "echo"), path="c.s")
        assert await house.learn(SPEC, [near], env=ENV, folder=str(tmp_path)) == ()
        script.unlink()
        box = box_of(house.kit(SPEC, env=ENV, folder=str(tmp_path)))
        answers = [await box.call(call("s__echo")) for _ in range(3)]
        assert [answer.code for answer in answers] == [Code.IO_ERROR, Code.IO_ERROR, Code.UNAVAILABLE]
        assert "ended before it could be asked anything" in answers[0].output
        await box.close()


async def test_a_call_cancelled_while_its_server_starts_leaves_no_process(tmp_path):
    tell = f"import os, signal; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); signal.pause()"
    mute = McpServer(name="s", kind="stdio", command=sys.executable, args=("-c", tell), path="c.s")
    async with open_mcp_house() as house, trio.open_nursery() as nursery:
        line = house.line(mute, SPEC, env=ENV, folder=str(tmp_path))
        nursery.start_soon(line.call, "anything", {})
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_what_a_server_prints_of_its_secrets_when_it_cannot_start_is_masked(tmp_path):
    told = "import sys; sys.exit('bad key fake-key-123')"
    near = McpServer(
        name="s", kind="stdio", command=sys.executable, args=("-c", told), secrets={"KEY": "fake-key-123"}, path="c.s"
    )
    async with open_mcp_house() as house:
        (problem,) = await house.learn(SPEC, [near], env=ENV, folder=str(tmp_path))
    assert "bad key [masked:KEY]" in problem.what


async def test_calls_side_by_side_share_one_server(tmp_path):
    async with spoilt(tmp_path) as box:
        pids: list[str] = []

        async def ask() -> None:
            pids.append((await box.call(call("s__pid"))).output)

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
        assert len(pids) == 5
        assert len(set(pids)) == 1


@pytest.mark.parametrize(
    ("words", "changes", "said"),
    [
        (("broken",), {}, "cannot find my own head"),
        (("mute",), {}, "gave no answer within 0.4 s"),
        ((), {"command": "/no/such/program"}, "could not be started: No such file"),
        (("a b", "a_b"), {}, "would both be called s__a_b"),
        (("x" * 70,), {}, "longer than 64 characters"),
    ],
)
async def test_a_server_that_cannot_be_had_refuses_the_launch_and_says_why(tmp_path, words, changes, said):
    from attrs import evolve

    spec = evolve(SPEC, start_secs=0.4 if words == ("mute",) else 20)
    async with open_mcp_house() as house:
        (problem,) = await house.learn(spec, [evolve(server(*words), **changes)], env=ENV, folder=str(tmp_path))
        assert said in problem.what
        assert problem.path == "c.s"
        assert problem.remedy


@contextmanager
def served(how: str, port: int = 0):
    """Run a real server on loopback; its port."""
    words = [sys.executable, str(HERE / "mcp_server.py"), how, str(port)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


QUIET = ("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
"""The HTTP client leaves generators of the streams it read to the collector, which trio tells whoever listens for warnings."""


def far(port: int, kind: str = "http") -> McpServer:
    url = f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
    return McpServer(name="far", kind=kind, url=url, headers={"Authorization": "Bearer fake"}, path="c.far")


@pytest.mark.filterwarnings(*QUIET)
async def test_a_real_server_over_http_is_called_and_outlives_its_own_restart(tmp_path):
    async with open_mcp_house() as house:
        with served("http") as port:
            assert await house.learn(SPEC, [far(port)], env=ENV, folder=str(tmp_path)) == ()
            kit = house.kit(SPEC, env=ENV, folder=str(tmp_path))
            box = box_of(kit)
            assert (await box.call(call("far__add", a=2, b=3))).output == "5"
            assert isinstance(await kit.tools[2].call({}), Pictured)
            assert not box.touches_tree("far__add")
        with served("http", port):
            lost = await box.call(call("far__add", a=2, b=3))
            assert (lost.code, "went away under the call" in lost.output) == (Code.IO_ERROR, True)
            assert (await box.call(call("far__add", a=2, b=3))).output == "5"
        # Not there at all any more: the second break was the last.
        assert (await box.call(call("far__add", a=2, b=3))).code == Code.IO_ERROR
        assert (await box.call(call("far__add", a=2, b=3))).code == Code.UNAVAILABLE
        await box.close()


@pytest.mark.filterwarnings(*QUIET)
async def test_a_real_server_over_sse_is_called_too(tmp_path):
    with served("sse") as port:
        async with open_mcp_house() as house:
            assert await house.learn(SPEC, [far(port, "sse")], env=ENV, folder=str(tmp_path)) == ()
            box = box_of(house.kit(SPEC, env=ENV, folder=str(tmp_path)))
            assert (await box.call(call("far__add", a=2, b=3))).output == "5"
            await box.close()


@pytest.mark.filterwarnings(*QUIET)
async def test_an_http_server_that_is_not_there_refuses_the_launch(tmp_path):
    listening = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listening[0].socket.getsockname()[1]
    await listening[0].aclose()
    gone = far(port)
    async with open_mcp_house() as house:
        (problem,) = await house.learn(SPEC, [gone], env=ENV, folder=str(tmp_path))
    assert "the MCP server far" in problem.what
