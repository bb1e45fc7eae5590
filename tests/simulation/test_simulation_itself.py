"""The simulator itself: it repeats to the byte, says how to see a failure again, sees a run that hangs, meets what it is for."""

import os
import random
import subprocess
import sys
from collections import Counter

import pytest
import trio

from ggactors.testing.sim import main
from ggactors.testing.simlaws import Violation
from ggactors.testing.simplants import PLANTS
from ggactors.testing.simplay import Played, play
from ggactors.testing.simsteadily import differences, in_memory, play_steadily
from ggactors.testing.simworld import SimWorld


def say_nothing(_):
    pass


def test_the_same_seed_gives_the_same_events_here_and_in_another_process():
    seeds = [1, 17, 108]
    here = [play(seed).digest()[:12] for seed in seeds]
    assert here == [play(seed).digest()[:12] for seed in seeds]
    for seed, digest in zip(seeds, here, strict=True):
        there = subprocess.run(
            [sys.executable, "-m", "ggactors.testing.sim", "--seed", str(seed)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert f" events {digest}," in there.stdout


def test_playing_leaves_the_dice_of_trio_and_of_everybody_else_alone():
    random.seed(5)
    wanted = random.random()
    random.seed(5)
    core = trio._core._run
    before = core._r, core._ALLOW_DETERMINISTIC_SCHEDULING
    play(2)
    assert (core._r, core._ALLOW_DETERMINISTIC_SCHEDULING) == before
    assert random.random() == wanted


def test_a_broken_law_is_told_with_the_command_that_replays_it_and_the_last_events():
    said = []
    assert main(["--seed", "0", "--plant", "merge_unapproved"], said.append) == 1
    (text,) = said
    assert "what_is_accepted_is_what_every_reviewer_approved_R8" in text
    assert "python -m ggactors.testing.sim --seed 0 --verbose" in text
    assert "the last 40 of" in text
    assert text.count('{"seq":') == 40


def test_a_run_that_nothing_moves_any_more_is_seen_and_says_who_waits_for_what_Q7():
    with PLANTS["wake_lost"].planted():
        played = play(0)
    (violation, *_) = played.violations
    assert violation.law == "the_run_ends_Q7"
    assert "root waiting for ISSUE-1" in violation.message
    assert played.outcome is None


def test_many_seeds_are_counted_and_the_exit_code_says_whether_a_law_was_broken():
    said = []
    assert main(["--seeds", "0..3", "--verbose"], said.append) == 0
    assert [line.split(":")[0] for line in said[:3]] == ["seed 0", "seed 1", "seed 2"]
    assert said[3].startswith("3 seeds, 0 broke a law")
    assert main(["--seeds", "0..2", "--plant", "wake_lost"], said.append) == 1


@pytest.mark.parametrize("wrong", [[], ["--seeds", "3"], ["--seeds", "a..b"], ["--seed", "1", "--plant", "weeds"]])
def test_a_wrong_command_line_exits_2(wrong, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(wrong, say_nothing)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_steady_worlds_come_to_the_same_under_every_schedule():
    for seed in range(12):
        world = SimWorld(seed, steady=True)
        first, broken = in_memory(world)
        assert not broken
        for schedule in (seed + 1000, seed + 2000):
            other = SimWorld(seed, steady=True)
            other.schedule = schedule
            again, broken = in_memory(other)
            assert not broken
            assert differences("schedule", first, again) == []


def test_a_steady_world_comes_to_the_same_over_real_git():
    assert play_steadily(0) == []


def test_a_difference_between_two_plays_is_told():
    one, _ = in_memory(SimWorld(1, steady=True))
    other, _ = in_memory(SimWorld(2, steady=True))
    assert [text.split(":")[0] for text in differences("x", one, one)] == []
    assert any("issues" in text for text in differences("x", one, other))


def test_the_worlds_are_rich_enough_to_meet_what_they_are_for():
    wanted = {
        "conflict resolved", "conflict aborted", "one side kept", "changes requested", "review not held", "stalled",
        "revived", "removed", "retried", "parked", "waited in vain", "subagent", "merger", "gate blocked", "saved",
        "exit 0", "exit 1", "exit 3", "exit 4", "exit 130", "crashed", "journal broke", "empty change",
        "compacted with a summary", "compacted without", "stuck", "budget reached", "storm", "another model",
        "text delivered", "text withdrawn", "text unread", "interrupted", "task completed",
        "program through", "program cut short", "ending revoked",
        "approval answered", "approval expired", "approval withdrawn", "stall settled",
    }  # fmt: skip
    met = Counter()
    for seed in range(300):
        meet(met, play(seed))
        if not wanted - set(met):
            return
    assert wanted - set(met) == set()


def meet(met: Counter, played: Played) -> None:
    ops = {"revive_issue": "revived", "remove_issue": "removed", "retry_wait": "retried", "park": "parked"}
    for event in played.events:
        match event.type:
            case "board_changed":
                met[ops.get(event.op, event.op)] += 1
            case "worktree_merged":
                met["conflict resolved"] += bool(event.conflicts and event.merged)
                met["conflict aborted"] += bool(event.conflicts and not event.merged)
                met["one side kept"] += event.one_sided
                met["empty change"] += event.empty_change
                met["saved"] += event.saved_ref is not None
            case "issue_review":
                met[event.verdict.replace("_", " ").replace("not held", "review not held")] += 1
            case "board_stalled":
                met["stalled"] += 1
            case "agent_spawned":
                met[event.kind] += 1
            case "hook":
                met[f"gate {event.outcome}"] += 1
            case "tool_result":
                met["waited in vain"] += event.code == "conflict"
            case _:
                meet_the_rest(met, event)
    met[f"exit {played.outcome.exit_code}"] += 1
    met["crashed"] += bool(played.run.crashes)
    met["journal broke"] += played.run.journal.broken
    for name in [name for name, count in met.items() if not count]:
        del met[name]


def meet_the_rest(met: Counter, event) -> None:
    match event.type:
        case "compacted":
            met["compacted without" if event.fallback else "compacted with a summary"] += 1
        case "code_execution":
            met["program through"] += event.ok
            met["program cut short"] += "cut short" in (event.error or "")
            met["ending revoked"] += event.revoked
        case "stuck":
            met["stuck"] += 1
        case "limit_exceeded":
            met["budget reached"] += event.budget is not None
        case "retry_wait":
            met["storm"] += event.wait_secs > 1000
        case "log":
            met["another model"] += "hands over to" in event.message
        case "message":
            met[f"text {event.state}"] += 1
        case "task_ended":
            met["interrupted" if event.status == "canceled" else f"task {event.status}"] += 1
        case "attention":
            met[f"{event.kind} {event.state}"] += 1


def test_a_violation_says_where_it_showed():
    assert str(Violation(law="x_D1", message="y", seq=3)) == "event 3: x_D1: y"
