"""The shell: real processes, and none of them left when the call has answered."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio

from ggactors.protocol.values import Code, Refused
from ggactors.protocol.workbench import ShellDone
from ggactors.tools import strays
from ggactors.tools.guard import held_back
from ggactors.tools.mask import Mask
from ggactors.tools.workbench import LocalWorkbench


def own(text: str) -> str:
    """Make the naps in a command this test run's own, so that two runs on one machine do not see each other's."""
    return text.replace(".001", f".{os.getpid():07d}")


class Bench(LocalWorkbench):
    """A workbench whose commands nap under names of this test run's own."""

    async def run(self, command: str, seconds: float = 60.0) -> ShellDone | Refused:
        return await super().run(own(command), seconds)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def bench(root: Path) -> LocalWorkbench:
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    return Bench(root, scratch=root.parent / "scratch", env=env, mask=Mask({"KEY": "sk-verysecret"}), agent="A-1.0i")


def alive(word: str) -> list[str]:
    """List living processes whose command line holds a word. The dead that nobody has reaped have no command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if own(word) in line and int(folder.name) != os.getpid():
                found.append(line)
    return found


async def run(bench: LocalWorkbench, command: str, seconds: float = 60) -> ShellDone:
    done = await bench.run(command, seconds)
    assert isinstance(done, ShellDone), done
    return done


# ---------------------------------------------------------------- what a command says


async def test_both_streams_come_merged_with_the_exit_code(bench):
    done = await run(bench, "echo out; echo err >&2; exit 3")
    assert (done.output, done.exit_code, done.signal, done.truncated) == ("out\nerr\n", 3, None, False)


async def test_a_command_runs_in_the_root_with_nothing_on_its_input(root, bench):
    assert (await run(bench, "pwd; cat; echo $?")).output == f"{root}\n0\n"


async def test_a_command_gets_only_the_listed_environment(bench, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    names = {line.partition("=")[0] for line in (await run(bench, "env")).output.splitlines()}
    assert names <= {"PATH", "LANG", "PWD", "OLDPWD", "SHLVL", "_", strays.MARK}


async def test_a_byte_that_is_not_utf8_breaks_nothing_H49(bench):
    assert (await run(bench, "printf '\\360'")).output == "\ufffd"


async def test_a_file_name_that_is_not_utf8_is_made_listed_and_read_H49(bench):
    done = await run(bench, "printf hello > \"$(printf '\\377')\"; ls")
    assert done.exit_code == 0
    listed = await bench.list_dir()
    assert [entry.name for entry in listed.entries] == ["\udcff"]
    assert (await bench.read_file("\udcff")).text == "hello"


async def test_five_megabytes_are_shown_in_part_and_read_in_full_by_the_agent_H48(bench):
    done = await run(bench, "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end")
    assert done.truncated
    assert len(done.output) < 17_000
    assert done.output.endswith("end\n")
    assert Path(done.full_output).stat().st_size == 5_000_005
    read = await bench.read_file(done.full_output, offset=2)
    assert read.text == "end\n"
    found = await bench.search_files("^end", done.full_output)
    assert [match.line for match in found.matches] == [2]


async def test_keys_are_masked_in_what_is_shown_and_in_what_is_kept(bench):
    command = "for n in 1 2 3 4 5 6; do head -c 6000 /dev/zero | tr '\\0' x; printf 'sk-very'; printf 'secret'; done"
    done = await run(bench, command)
    kept = Path(done.full_output).read_text()
    assert kept.count("[masked:KEY]") == 6
    assert "sk-verysecret" not in kept + done.output


async def test_a_command_killed_by_a_signal_says_so(bench):
    done = await run(bench, "echo before; kill -9 $$")
    assert (done.output, done.exit_code, done.signal) == ("before\n", 137, "SIGKILL")


async def test_kill_0_reaches_the_commands_own_group_only(bench):
    done = await run(bench, "sleep 31.001 & kill 0; wait")
    assert done.signal == "SIGTERM"
    assert alive("sleep 31.001") == []


async def test_a_command_that_cannot_start_is_an_answer(root):
    bench = LocalWorkbench(root, scratch=root.parent / "scratch", env={"PATH": "/nowhere"})
    done = await run(bench, "no-such-program")
    assert done.exit_code == 127
    too_long = await bench.run("x" * 3_000_000)
    assert isinstance(too_long, Refused)
    assert too_long.code is Code.IO_ERROR
    assert "to a file" in too_long.message


# ---------------------------------------------------------------- what a command leaves


async def test_a_background_process_that_holds_the_pipe_does_not_hang_the_call_and_is_ended(bench):
    began = trio.current_time()
    done = await run(bench, "sleep 32.001 & echo started")
    assert done.output == "started\n"
    assert trio.current_time() - began < 20
    assert alive("sleep 32.001") == []


async def test_a_process_that_left_its_session_is_ended_too_H50(bench):
    await run(
        bench,
        "setsid sleep 33.001 >/dev/null 2>&1 & nohup setsid sh -c 'sleep 33.001 & exec sleep 33.001' >/dev/null 2>&1 &",
    )
    assert alive("sleep 33.001") == []


async def test_a_daemon_that_closed_everything_and_forked_twice_is_ended_H50(root, bench):
    (root / "daemon.py").write_text(
        "import os, sys\n"
        "if os.fork(): sys.exit()\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "os.closerange(0, 256)\n"
        "open('up', 'w').close()\n"
        f"os.execvp('sleep', ['sleep', '{own('34.001')}'])\n"
    )
    await run(bench, f"{sys.executable} daemon.py; until [ -e up ]; do :; done")
    assert alive("sleep 34.001") == []


async def test_a_time_out_kills_the_group_and_whatever_left_it(bench):
    answer = await bench.run("echo begun; setsid sleep 35.001 & sleep 35.001", 0.3)
    assert isinstance(answer, Refused)
    assert answer.code is Code.LIMIT_EXCEEDED
    assert "0.3 s" in answer.message
    assert "begun" in answer.message
    assert alive("sleep 35.001") == []


async def test_a_process_without_the_mark_is_found_by_its_parents_H50(bench):
    answer = await bench.run("env -i setsid sh -c 'sleep 36.001; :' & sleep 36.001", 0.3)
    assert isinstance(answer, Refused)
    assert alive("sleep 36.001") == []


async def test_a_process_that_ignores_signals_is_killed(bench):
    await bench.run("trap '' TERM INT HUP; sleep 37.001; sleep 37.001", 0.2)
    assert alive("sleep 37.001") == []


async def test_a_storm_of_forks_that_leave_their_sessions_ends(root, bench):
    (root / "storm.001").write_text(
        own('n=$1; [ "$n" -gt 0 ] || exec sleep 38.001\nfor i in 1 2; do setsid sh storm.001 $((n-1)) & done\n')
    )
    (root / "storm.001").rename(root / own("storm.001"))
    await bench.run("sh storm.001 6; sleep 38.001", 0.3)
    assert alive("storm.001") == []
    assert alive("sleep 38.001") == []


async def test_a_cancelled_command_leaves_no_process(root, bench):
    os.mkfifo(root / "ready")
    reader = os.open(root / "ready", os.O_RDONLY | os.O_NONBLOCK)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.run, "setsid sleep 39.001 & sleep 39.001 & echo > ready; sleep 39.001", 60.0)
            await trio.lowlevel.wait_readable(reader)
            assert alive("sleep 39.001")
            nursery.cancel_scope.cancel()
    finally:
        trio.lowlevel.notify_closing(reader)
        os.close(reader)
    assert alive("sleep 39.001") == []


async def test_a_command_cancelled_before_it_starts_runs_nothing(root, bench):
    with trio.CancelScope() as scope:
        scope.cancel()
        await bench.run("touch made")
    assert scope.cancelled_caught
    assert not (root / "made").exists()


async def test_siblings_are_left_alone(root, bench):
    os.mkfifo(root / "ready")
    os.mkfifo(root / "go")
    reader = os.open(root / "ready", os.O_RDONLY | os.O_NONBLOCK)
    other = LocalWorkbench(root, scratch=root.parent / "other", env={"PATH": os.environ["PATH"]})
    results: list[ShellDone | Refused] = []

    async def sibling() -> None:
        results.append(await other.run("setsid sh -c 'echo > ready; read x < go; echo survived'; true", 60.0))

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            await trio.lowlevel.wait_readable(reader)
            await run(bench, "sleep 40.001 & setsid sleep 40.001 & true")
            await trio.to_thread.run_sync((root / "go").write_text, "x\n")
    finally:
        os.close(reader)
    assert results == [ShellDone(exit_code=0, output="survived\n")]


async def test_no_descriptor_and_no_child_is_left(bench):
    await run(bench, "true")
    before = set(os.listdir("/proc/self/fd"))
    await run(bench, "sleep 41.001 & true")
    await bench.run("sleep 41.001", 0.05)
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


async def test_closing_removes_what_was_kept(root, bench):
    done = await run(bench, "head -c 100000 /dev/zero | tr '\\0' x")
    assert Path(done.full_output).exists()
    await bench.close()
    assert not (root.parent / "scratch").exists()
    await bench.close()


async def test_closing_in_a_cancelled_scope_removes_it_all_the_same(root, bench):
    await run(bench, "head -c 100000 /dev/zero | tr '\\0' x")
    with trio.CancelScope() as scope:
        scope.cancel()
        await bench.close()
    assert not (root.parent / "scratch").exists()


# ---------------------------------------------------------------- finding strays


def test_only_later_ids_are_looked_at_unless_ids_went_round():
    assert strays._earliest([100, 150], 200) == 100
    assert strays._earliest([100, None], 200) == 0
    assert strays._earliest([100, 30_000], 500) == 0
    assert strays._earliest([100], None) == 0


async def test_one_look_serves_all_who_asked_before_it_began(monkeypatch):
    looks: list[list[int | None]] = []
    real = strays._look

    def counted(sinces: list[int | None]) -> dict[int, strays.Alive]:
        looks.append(sinces)
        return real(sinces)

    monkeypatch.setattr(strays, "_look", counted)
    census = strays.Census()
    seen: list[bool] = []

    async def ask() -> None:
        seen.append(os.getpid() in await census.take(None))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(ask)
    assert seen == [True] * 20
    assert len(looks) <= 2


def test_a_commands_processes_are_its_marked_ones_its_groups_and_all_their_descendants():
    def one(parent: int, group: int = 1, session: int = 1, *marks: bytes) -> strays.Alive:
        return strays.Alive(parent, group, session, marks)

    alive = {
        50: one(1),
        60: one(50, 60, 60),
        61: one(60, 61, 60),
        62: one(1, 62, 62, b"outer", b"m.1"),
        63: one(62, 63, 63),
        64: one(63, 64, 64),
        65: one(1, 65, 65, b"m.11"),
    }
    assert strays.strays(alive, "m.1", 60) == [60, 61, 62, 63, 64]


async def test_an_outer_runtimes_mark_is_kept_so_that_it_can_end_us(root):
    env = {"PATH": os.environ["PATH"], strays.MARK: "outer.1"}
    bench = LocalWorkbench(root, scratch=root.parent / "scratch", env=env, agent="B-1.0i")
    marks = (await run(bench, f"echo ${strays.MARK}")).output.strip().split(":")
    assert marks[0] == "outer.1"
    assert marks[1].startswith("B-1.0i.")


# ---------------------------------------------------------------- the rail


@pytest.mark.parametrize(
    "command",
    [
        "pkill python",
        "killall -9 node",
        "make; pkill -f server",
        "if true; then pkill x; fi",
        "sudo pkill x",
        "/usr/bin/pkill x",
        "x=$(pkill y)",
        "kill -9 -1",
        "kill -s KILL -1",
        "kill -- -1",
        "kill -9 $PPID",
    ],
)
async def test_a_kill_by_name_or_of_everything_is_refused_H50(bench, command):
    answer = await bench.run(command)
    assert isinstance(answer, Refused)
    assert answer.code is Code.REFUSED


@pytest.mark.parametrize(
    "command",
    [
        "echo pkill",
        "grep -rn killall .",
        "kill $pid",
        "kill -9 -$group",
        "kill -1 33",
        "kill %1",
        "git log --grep=pkill",
        "ls pkill; true",
    ],
)
def test_a_command_that_only_speaks_of_killing_is_run(command):
    assert held_back(command) is None
