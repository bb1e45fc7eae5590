"""Runs written down by hand for the console's tests, with what is hard to draw in them."""

from __future__ import annotations

import sys
from pathlib import Path

from attrs import evolve

from ggactors.app.diffing import IssueDiff
from ggactors.protocol import events
from ggactors.repl.console.screen import Screen
from ggactors.repl.console.state import Looking
from ggactors.telemetry.watchfold import WatchFold

sys.path.append(str(Path(__file__).parents[1] / "telemetry"))

from telemetry_stories import RUN, issue, merged, spawned, started, state, summary, turn, usage, whole_run

__all__ = [
    "RUN",
    "Still",
    "busy_run",
    "choose",
    "hostile",
    "issue",
    "merged",
    "screen_of",
    "spawned",
    "stamped",
    "started",
    "state",
    "summary",
    "text_of",
    "turn",
    "usage",
    "whole_run",
]

HOSTILE = "漢字 🎉 \x1b[2J\x1b[31mred\x1b[0m\x1b]0;stolen\x07 \u202eturned\u202c \x9b5mblink \x00nul 全角 \ud800 end"


def stamped(stream: list[events.Event]) -> list[events.Event]:
    """Stamp events as the bus does."""
    return [
        evolve(event, seq=seq, time=f"2026-11-30T14:{seq // 60 % 60:02}:{seq % 60:02}.000Z", run=RUN)
        for seq, event in enumerate(stream, 1)
    ]


def hostile() -> list[events.Event]:
    """What models, repositories and commands may say."""
    return [
        issue("create_issue", "ISSUE-9", title=HOSTILE, epic="AUTH", reason=HOSTILE),
        spawned("ISSUE-9.0i", issue="ISSUE-9", profile_name=HOSTILE, brief=HOSTILE),
        state("ISSUE-9.0i", "running"),
        events.AssistantMessage(agent="ISSUE-9.0i", text=f"{HOSTILE}\n{HOSTILE}\tafter a tab"),
        events.ToolCalled(agent="ISSUE-9.0i", call_id="h", tool=HOSTILE, args={HOSTILE: HOSTILE}),
        events.ToolAnswered(agent="ISSUE-9.0i", call_id="h", ok=False, code=HOSTILE, output=HOSTILE * 3),
        state("ISSUE-9.0i", "waiting", waiting_on=HOSTILE),
        events.IssueReview(
            issue="ISSUE-9",
            round=1,
            verdict="not_held",
            reviewer={"agent": HOSTILE},
            approvals=(),
            items=(HOSTILE,),
            empty_change=False,
            reason=HOSTILE,
        ),
        events.Attention(
            agent="ISSUE-9.0i",
            item="q1",
            kind="question",
            state="open",
            title=HOSTILE,
            detail=HOSTILE,
            options=(HOSTILE,),
            default="",
        ),
    ]


def busy_run() -> list[events.Event]:
    """A run that holds everything there is to draw, and has not ended."""
    known = [event for event in whole_run() if not isinstance(event, events.SessionSummary | events.SessionEnded)]
    return stamped(
        [
            *known[:-6],
            *hostile(),
            events.RetryWait(agent="AUTH-1.0i", model="big", status=429, wait_secs=12.0, attempt=2),
            state("AUTH-1.0i", "waiting", waiting_on="the provider"),
            issue("create_issue", "AUTH-3", epic="AUTH", blockedBy=["AUTH-2"]),
            spawned("AUTH-2.0i", issue="AUTH-2"),
            state("AUTH-2.0i", "queued"),
            *known[-6:],
        ]
    )


class Still:
    """Diffs that are there at once."""

    def of(self, issue, worked=0):
        return IssueDiff(("diff --git a/x b/x", "@@ -1 +1 @@", "-old \x1b[31m", "+new"), of="merge against main")

    def look_again(self):
        self.again = True


def screen_of(stream, **looking) -> Screen:
    return Screen(WatchFold().take_all(stream), Looking(**looking), slots=4, diffs=Still())


def text_of(screen: Screen, width: int = 120, height: int = 40) -> str:
    return "\n".join("".join(text for _, text in line).rstrip() for line in screen.draw(width, height))


def choose(screen: Screen, key: str) -> Screen:
    screen.looking.list.key = key
    return screen
