"""Hooks that are processes: what passes, what blocks, what gives no verdict, and that nothing of them is left."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import trio
from hooks_kit import SECRET, Desk, alive, command, script

from ggactors.protocol.hooks import AGENT_EVENTS, BLOCKING, RUN_EVENTS, HookOutcome

if TYPE_CHECKING:
    from pathlib import Path

PASSED = HookOutcome()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# ---------------------------------------------------------------- commands: the exit status is the verdict


async def test_a_command_that_exits_0_and_prints_nothing_passes(desk):
    assert await desk.fire("agent-stop", command("agent-stop", "true")) == PASSED
    (ran,) = desk.ran
    assert (ran.event, ran.name, ran.outcome, ran.reason, ran.exit_code) == ("agent-stop", "check", "passed", None, 0)
    assert ran.agent == "A-1.0i"
    assert ran.duration_ms >= 0


async def test_what_a_passing_command_prints_is_shown_to_the_model(desk):
    outcome = await desk.fire("agent-stop", command("agent-stop", "echo out; echo err >&2"))
    assert outcome == HookOutcome(messages=("out\nerr",))
    assert (desk.ran[0].outcome, desk.ran[0].reason) == ("message", "out\nerr")


@pytest.mark.parametrize("code", [1, 2, 77, 255])
async def test_any_other_exit_status_blocks_with_the_output_as_reason(desk, code):
    outcome = await desk.fire("agent-stop", command("agent-stop", f"echo 2 failed; exit {code}"))
    assert outcome == HookOutcome(blocked="2 failed")
    assert (desk.ran[0].outcome, desk.ran[0].reason, desk.ran[0].exit_code) == ("blocked", "2 failed", code)


async def test_a_command_that_fails_in_silence_blocks_and_says_so(desk):
    outcome = await desk.fire("agent-stop", command("agent-stop", "exit 3"))
    assert "exit code 3" in outcome.blocked


@pytest.mark.parametrize(
    ("line", "cause", "code"),
    [
        ("echo hello; kill -9 $$", "killed by SIGKILL", 137),
        ("sh -c 'kill -SEGV $$'; exit $?", "killed by SIGSEGV", 139),
        ("no-such-program-at-all", "not found (exit code 127)", 127),
        ("./plain.txt", "not executable (exit code 126)", 126),
        ("sleep 41.001", "took longer than 0.3 s and was killed", None),
    ],
)
async def test_no_verdict_is_never_a_pass_and_names_the_cause_G2(desk, line, cause, code):
    (desk.root / "plain.txt").write_text("no program\n")
    secs = 0.3 if "sleep" in line else 60
    outcome = await desk.fire("agent-stop", command("agent-stop", line, secs=secs))
    assert cause in outcome.blocked
    assert "`check`" in outcome.blocked
    assert (desk.ran[0].outcome, desk.ran[0].exit_code) == ("blocked", code)
    assert alive("sleep 41.001") == []


async def test_what_a_hook_printed_before_it_gave_no_verdict_is_kept_G2(desk):
    outcome = await desk.fire("agent-stop", command("agent-stop", "echo half way; sleep 42.001", secs=0.3))
    assert outcome.blocked.endswith("half way")


async def test_a_root_that_is_gone_is_no_pass_G2(desk):
    runner = desk.runner(command("agent-stop", "true"))
    desk.root.rmdir()
    outcome = await runner.fire("agent-stop")
    assert "could not be run" in outcome.blocked
    assert desk.ran[0].exit_code is None


async def test_undecodable_output_is_decoded_with_replacement_H49(desk):
    outcome = await desk.fire("agent-stop", command("agent-stop", "printf 'a\\360\\000b'; exit 1"))
    assert outcome.blocked == "a\ufffd\ufffdb"


async def test_of_a_huge_output_head_and_tail_are_kept_and_keys_are_masked(desk):
    line = f"echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo {SECRET}; echo end; exit 1"
    outcome = await desk.fire("agent-stop", command("agent-stop", line))
    assert len(outcome.blocked) < 17_000
    assert outcome.blocked.startswith("begin")
    assert outcome.blocked.endswith("[masked:KEY]\nend")
    assert "left out" in outcome.blocked


async def test_a_background_process_neither_holds_the_gate_nor_outlives_it(desk):
    began = trio.current_time()
    line = "setsid sleep 43.001 & sleep 43.001 & echo fine"
    assert await desk.fire("agent-stop", command("agent-stop", line)) == HookOutcome(messages=("fine",))
    assert trio.current_time() - began < 30
    assert alive("sleep 43.001") == []


# ---------------------------------------------------------------- what they are told


async def test_a_hook_reads_the_event_on_its_input_and_in_its_environment(desk):
    line = "cat > told.json; env | grep ^GGACTORS_ | sort > env.txt; pwd > pwd.txt"
    call = {"tool": "finish", "args": {"summary": "done ☃"}}
    await desk.fire("agent-stop", command("agent-stop", line), call=call)
    assert desk.noted("told.json") == {
        "event": "agent-stop",
        "agentId": "A-1.0i",
        "profile": "coder",
        "kind": "implementer",
        "issue": "A-1",
        "worktree": {"branch": "gg/A-1", "path": str(desk.root)},
        "call": call,
        "blocks": 0,
        "session_id": "r-1",
        "cwd": str(desk.root),
        "hook_event_name": "agent-stop",
        "stop_hook_active": False,
    }
    told = dict(line.split("=", 1) for line in (desk.root / "env.txt").read_text().splitlines())
    told.pop("GGACTORS_CALL")
    assert told == {
        "GGACTORS_RUN": "r-1",
        "GGACTORS_EVENT": "agent-stop",
        "GGACTORS_HOOK": "check",
        "GGACTORS_AGENT": "A-1.0i",
        "GGACTORS_PROFILE": "coder",
        "GGACTORS_KIND": "implementer",
        "GGACTORS_ISSUE": "A-1",
        "GGACTORS_BRANCH": "gg/A-1",
        "GGACTORS_ROOT": str(desk.root),
        "GGACTORS_CREW_DIR": str(desk.crew),
    }
    assert (desk.root / "pwd.txt").read_text() == f"{desk.root}\n"


async def test_a_hook_gets_only_the_listed_environment(desk, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    await desk.fire("agent-stop", command("agent-stop", "env > env.txt"))
    assert "SECRET_TOKEN" not in (desk.root / "env.txt").read_text()


async def test_an_input_larger_than_any_pipe_reaches_a_hook_and_may_be_left_unread(desk):
    contents = "x" * 3_000_000
    hooks = (command("pre-write", "true"), command("pre-write", "wc -c > size.txt"))
    assert await desk.fire("pre-write", *hooks, path="/a", contents=contents) == PASSED
    assert int((desk.root / "size.txt").read_text()) > 3_000_000


async def test_arguments_that_are_no_json_are_told_as_far_as_they_go(desk):
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    call = {"tool": "finish", "args": {"n": float("nan"), "deep": deep, "name": "\udcff"}}
    await desk.fire("agent-stop", command("agent-stop", "cat > told.json"), call=call)
    assert desk.noted("told.json")["call"]["args"]["n"] is None


# ---------------------------------------------------------------- order, and what an event allows


async def test_the_first_block_ends_the_check_and_earlier_messages_still_count_G1(desk):
    hooks = (
        command("agent-stop", "echo first; echo 1 >> order", name="one"),
        command("pre-shell", "echo never; exit 1", name="elsewhere"),
        command("agent-stop", "echo no; echo 2 >> order; exit 1", name="two"),
        command("agent-stop", "echo 3 >> order", name="three"),
    )
    outcome = await desk.fire("agent-stop", *hooks)
    assert outcome == HookOutcome(blocked="no", messages=("first",))
    assert (desk.root / "order").read_text() == "1\n2\n"
    assert [event.name for event in desk.ran] == ["one", "two"]


@pytest.mark.parametrize("event", [event for event in (*RUN_EVENTS, *AGENT_EVENTS) if event not in BLOCKING])
async def test_a_block_where_nothing_can_be_blocked_is_told_to_the_operator_and_changes_nothing(desk, event):
    outcome = await desk.fire(event, command(event, "echo stop it; exit 1"), command(event, "echo second > ran"))
    assert outcome == PASSED
    assert (desk.root / "ran").exists()
    assert [ran.outcome for ran in desk.ran] == ["failed", "passed"]
    (log,) = desk.logs
    assert log.level == "warning"
    assert "stop it" in log.message
    assert event in log.message


@pytest.mark.parametrize("event", ["session-start", "agent-start"])
async def test_a_starting_hook_that_could_not_be_run_fails_the_session_C4(desk, event):
    outcome = await desk.fire(event, command(event, "no-such-program-at-all"), command(event, "touch ran"))
    assert "not found" in outcome.failed
    assert event in outcome.failed
    assert not (desk.root / "ran").exists()


@pytest.mark.parametrize("event", ["session-end", "post-write", "post-shell", "post-compact"])
async def test_any_other_hook_without_a_verdict_is_told_and_the_session_goes_on_G2(desk, event):
    assert await desk.fire(event, script(event, "echo gibberish")) == PASSED
    assert desk.ran[0].outcome == "failed"
    assert "gibberish" in desk.logs[0].message


@pytest.mark.parametrize("event", ["session-end", "pre-compact"])
async def test_a_message_no_model_will_read_goes_to_the_log(desk, event):
    assert await desk.fire(event, command(event, "echo bye")) == PASSED
    assert (desk.ran[0].outcome, desk.logs[0].level) == ("message", "info")
    assert "bye" in desk.logs[0].message


# ---------------------------------------------------------------- blocking again and again


async def test_every_hook_is_told_how_often_the_ending_was_blocked_so_far_H34_H35(desk):
    runner = desk.runner(
        command("agent-stop", 'cat > "told.$(ls | wc -l)"; exit 1'), command("post-shell", "cat > shell.json")
    )
    for _ in range(3):
        await runner.fire("agent-stop")
        await runner.fire("post-shell", {"command": "x", "ok": True})
    told = [desk.noted(f"told.{number}") for number in (0, 2, 3)]
    assert [(one["blocks"], one["stop_hook_active"]) for one in told] == [(0, False), (1, True), (2, True)]
    assert desk.noted("shell.json")["blocks"] == 3


async def test_the_same_block_twice_in_a_row_is_pointed_out_even_when_it_took_another_time_H34(desk):
    runner = desk.runner(command("agent-stop", "cat reason; exit 1"))
    answers = []
    for reason in ("2 failed in 0.31s", "2 failed in 0.47s", "1 failed in 0.31s", "2 failed in 0.3s"):
        (desk.root / "reason").write_text(reason)
        answers.append((await runner.fire("agent-stop")).blocked)
    assert ["the same answer" in answer for answer in answers] == [False, True, False, False]
    assert answers[1].startswith("2 failed in 0.47s")
    assert desk.ran[1].reason == "2 failed in 0.47s"


async def test_a_pass_in_between_makes_a_block_new_again(desk):
    runner = desk.runner(command("pre-shell", "grep -q push && exit 1 || exit 0"))
    answers = [(await runner.fire("pre-shell", {"command": line})).blocked for line in ("push", "ls", "push", "push")]
    assert [answer is not None and "the same answer" in answer for answer in answers] == [False, False, False, True]


async def test_a_gate_is_asked_anew_every_time_H38(desk):
    runner = desk.runner(command("agent-stop", "test -e mended"))
    assert (await runner.fire("agent-stop")).blocked is not None
    (desk.root / "mended").touch()
    assert await runner.fire("agent-stop") == PASSED
    (desk.root / "mended").unlink()
    assert (await runner.fire("agent-stop")).blocked is not None


# ---------------------------------------------------------------- cancellation


@pytest.mark.parametrize(
    "hook", [command("agent-stop", "echo > up; sleep 44.001"), script("agent-stop", "echo > up; sleep 44.001")]
)
async def test_a_cancelled_check_leaves_no_process_and_no_file(desk, hook):
    runner = desk.runner(hook)
    os.mkfifo(desk.root / "up")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(runner.fire, "agent-stop")
        await trio.to_thread.run_sync((desk.root / "up").read_text)
        nursery.cancel_scope.cancel()
    assert alive("sleep 44.001") == []
    assert list(desk.scratch.glob("hook-*")) == []
    assert desk.events == []


async def test_cancelled_at_any_step_a_check_leaves_no_process_no_file_and_no_descriptor(desk):
    class CancelAt(trio.abc.Instrument):
        def __init__(self, scope: trio.CancelScope, left: int) -> None:
            self.scope, self.left = scope, left

        def before_task_step(self, task: trio.lowlevel.Task) -> None:
            if not task.name.startswith("trio."):
                self.left -= 1
                if self.left == 0:
                    self.scope.cancel()

    runner = desk.runner(script("agent-stop", 'echo \'{"action": "continue"}\'; exec sleep 0.01'))
    await runner.fire("agent-stop")
    before = set(os.listdir("/proc/self/fd"))
    cuts = 0
    for step in range(1, 60):
        with trio.CancelScope() as scope:
            instrument = CancelAt(scope, step)
            trio.lowlevel.add_instrument(instrument)
            try:
                await runner.fire("agent-stop")
            finally:
                trio.lowlevel.remove_instrument(instrument)
        assert list(desk.scratch.glob("*")) == []
        assert set(os.listdir("/proc/self/fd")) == before
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        if not scope.cancelled_caught:
            break
        cuts += 1
    assert cuts >= 3
