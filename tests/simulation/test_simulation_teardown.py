"""An issue revived while its last worktree is still being torn down: neither meets the other (W2, W5)."""

import pytest
import trio

from ggactors.actors.teardown import Teardown
from ggactors.protocol.board import BoardPicture, IssuePicture
from ggactors.protocol.values import Code, IssueState, Refused
from ggactors.testing.memory import MemoryRepository, broken


class SlowRepository(MemoryRepository):
    """Takes a second over removing a worktree."""

    async def discard(self, issue, *, accepted):
        await trio.sleep(1)
        return await super().discard(issue, accepted=accepted)


class BoardOf:
    """A board that knows the state of one issue."""

    def __init__(self, state):
        self.state = state

    async def ask(self, letter):
        await trio.lowlevel.checkpoint()
        if self.state is None:
            return Refused(code=Code.NOT_FOUND, message="no such issue")
        texts = dict.fromkeys(("in_scope", "out_of_scope", "completion_criteria"), "-")
        picture = IssuePicture(
            id=letter.issue, title="t", state=self.state, agent="coder", reviewers=(), blocked_by=(), epic=None,
            attempts=1, rounds=0, reason=None, description=None, **texts,
        )  # fmt: skip
        return BoardPicture(epics=(), issues=(picture,))


class Scene:
    """A repository, a board and what is told."""

    def __init__(self, state):
        self.repository, self.board, self.told = SlowRepository(), BoardOf(state), []
        self.teardown = Teardown(repository=self.repository, board=self.board, emit=self.told.append)

    async def work(self, text="old"):
        await self.repository.open_worktree("ISSUE-1")
        self.repository.worktrees["ISSUE-1"].files["f"] = text


async def test_a_failed_issues_worktree_goes_its_work_is_kept_and_one_event_says_so_W5_W6(autojump_clock):
    scene = Scene(IssueState.FAILED)
    await scene.work()
    await scene.teardown.failed("ISSUE-1", "it failed")
    await scene.teardown.failed("ISSUE-1", "it failed")
    assert not scene.repository.worktrees
    (event,) = scene.told
    assert (event.type, event.merged, event.reason) == ("worktree_merged", False, "it failed")
    assert scene.repository.commits[scene.repository.saved[event.saved_ref]].tree == {"f": "old"}


async def test_a_first_dispatch_waits_for_the_teardown_under_way_and_finds_nothing_of_it_W2(autojump_clock):
    scene = Scene(IssueState.FAILED)
    await scene.work()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scene.teardown.failed, "ISSUE-1", "it failed")
        await trio.sleep(0.5)
        scene.board.state = IssueState.IN_PROGRESS
        await scene.teardown.fresh("ISSUE-1")
        assert scene.repository.worktrees["ISSUE-1"].files == {}
    assert "ISSUE-1" in scene.repository.worktrees


async def test_a_teardown_that_comes_late_leaves_the_revived_issue_alone_W5(autojump_clock):
    scene = Scene(IssueState.IN_PROGRESS)
    await scene.work("new")
    await scene.teardown.failed("ISSUE-1", "it failed before")
    assert await scene.teardown.merged("ISSUE-1", accepted=True) is None
    assert scene.repository.worktrees["ISSUE-1"].files == {"f": "new"}
    assert scene.told == []


async def test_what_was_left_of_an_earlier_life_is_kept_before_a_first_dispatch_W2_W5(autojump_clock):
    scene = Scene(IssueState.IN_PROGRESS)
    await scene.work()
    await scene.teardown.fresh("ISSUE-1")
    assert scene.repository.worktrees["ISSUE-1"].files == {}
    (event,) = scene.told
    assert event.reason == "it was revived"
    assert scene.repository.commits[scene.repository.saved[event.saved_ref]].tree == {"f": "old"}


async def test_a_removed_issues_worktree_goes_all_the_same(autojump_clock):
    scene = Scene(None)
    await scene.work()
    await scene.teardown.failed("ISSUE-1", "it failed")
    assert not scene.repository.worktrees


@pytest.mark.parametrize("how", ["failed", "merged"])
async def test_a_disk_that_refuses_keeps_the_worktree_and_it_is_told(autojump_clock, how):
    scene = Scene(IssueState.FAILED)
    await scene.work()

    def refuse(step):
        if step == "discard":
            raise broken(step)

    scene.repository.faults = refuse
    if how == "failed":
        await scene.teardown.failed("ISSUE-1", "it failed")
        assert "its worktree is kept" in scene.told[-1].reason
    else:
        assert await scene.teardown.merged("ISSUE-1", accepted=False) is None
        assert "could not be removed" in scene.told[0].message
    assert "ISSUE-1" in scene.repository.worktrees


async def test_a_failed_issue_whose_worktree_was_destroyed_is_told_of_once_all_the_same_W6(autojump_clock):
    scene = Scene(IssueState.FAILED)
    await scene.teardown.fresh("ISSUE-1")
    del scene.repository.worktrees["ISSUE-1"]
    await scene.teardown.failed("ISSUE-1", "it failed")
    await scene.teardown.failed("ISSUE-1", "it failed")
    (event,) = scene.told
    assert (event.type, event.merged, event.reason, event.saved_ref) == ("worktree_merged", False, "it failed", None)
    assert event.branch is not None
