"""A deliberately naive board: it keeps what was done to each issue and works out everything else by walking all of them.

It answers with a refusal's code or with None, never with words, and shares no code with the rules it is the measure of.
"""

from __future__ import annotations

from attrs import define, field

FLYING = ("in_progress", "in_review")
TERMINAL = ("done", "failed")


@define
class Thing:
    """One issue."""

    blockers: list[str]
    epic: str | None
    reviewers: tuple[str, ...]
    title: str
    state: str = "open"
    started: int = 0
    spent: int = 0
    worker: str | None = None
    resting: str | None = None
    """In flight without an agent: to be sent one as ``retry`` or ``review``, or ``parked``."""
    reviewer: str | None = None
    sent: int = 0
    approved: int = 0
    rounds: int = 0
    round_open: bool = False

    def close_round(self):
        """End the review round, which counts also if nobody was sent in it."""
        self.rounds += not self.round_open
        self.round_open, self.approved, self.reviewer = False, 0, None


@define
class Model:
    """The board."""

    charter: object
    things: dict[str, Thing] = field(factory=dict)
    epics: list[str] = field(factory=list)
    given_out: dict[str, int] = field(factory=dict)
    queue: list[str] = field(factory=list)
    waits: list[tuple[str, str, str | None]] = field(factory=list)
    stopped: bool = False
    defect: bool = False

    # ------------------------------------------------------------ worked out

    def ready(self):
        return {
            key
            for key, thing in self.things.items()
            if thing.state == "open" and all(self.things[blocker].state == "done" for blocker in thing.blockers)
        }

    def stalled_behind(self, key):
        """Name the failed issue an open one stands behind, or None."""
        if self.things[key].state != "open":
            return None
        for blocker in self.things[key].blockers:
            if self.things[blocker].state == "failed":
                return blocker
            if self.things[blocker].state == "open" and (behind := self.stalled_behind(blocker)) is not None:
                return behind
        return None

    def held_back_by(self, key):
        return [*self.things[key].blockers, *(issue for _, issue, works_for in self.waits if works_for == key)]

    def reaches(self, start, goal):
        seen, stack = set(), [start]
        while stack:
            key = stack.pop()
            if key == goal:
                return True
            if key in self.things and key not in seen:
                seen.add(key)
                stack.extend(self.held_back_by(key))
        return False

    def over(self, key):
        thing = self.things.get(key)
        return self.defect or thing is None or thing.state in TERMINAL or self.stalled_behind(key) is not None

    def pending(self, agent):
        return {issue for by, issue, _ in self.waits if by == agent and not self.over(issue)}

    # ------------------------------------------------------------ letters of agents

    def create_epic(self, profile, prefix, title):
        if profile not in self.charter.filers:
            return "unavailable"
        if len(prefix) not in (3, 4, 5, 6) or any(
            letter not in "abcdefghijklmnopqrstuvwxyz" for letter in prefix.lower()
        ):
            return "invalid-argument"
        if not title.strip():
            return "invalid-argument"
        if prefix.upper() in ("ISSUE", *self.epics):
            return "conflict"
        if len(self.epics) == self.charter.max_epics:
            return "limit-exceeded"
        self.epics.append(prefix.upper())
        return None

    def create_issue(self, profile, title, agent, reviewers, epic, blockers):
        filer = self.charter.filers.get(profile)
        if filer is None:
            return "unavailable"
        if not title.strip() or agent not in filer.implementers or not set(reviewers) <= set(filer.reviewers):
            return "invalid-argument"
        if filer.reviewers_required and not reviewers:
            return "invalid-argument"
        if (epic is not None and epic not in self.epics) or not set(blockers) <= set(self.things):
            return "not-found"
        if len(self.things) == self.charter.max_issues:
            return "limit-exceeded"
        prefix = epic or "ISSUE"
        self.given_out[prefix] = self.given_out.get(prefix, 0) + 1
        key = f"{prefix}-{self.given_out[prefix]}"
        self.things[key] = Thing(
            blockers=sorted(set(blockers), key=list(blockers).index), epic=epic, reviewers=tuple(reviewers), title=title
        )
        return None

    def update(self, key, title, epic, status):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if title is None and epic is None and status is None:
            return "invalid-argument"
        if epic and epic not in self.epics:
            return "not-found"
        if status not in (None, "open"):
            return "invalid-argument"
        if status and thing.state not in TERMINAL:
            return "conflict"
        if title is not None and not title.strip():
            return "invalid-argument"
        thing.title = thing.title if title is None else title
        thing.epic = thing.epic if epic is None else epic or None
        if status:
            thing.state, thing.spent = "open", 0
        return None

    def block(self, key, blockers):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if thing.state in FLYING:
            return "conflict"
        if not set(blockers) <= set(self.things):
            return "not-found"
        if any(self.reaches(blocker, key) for blocker in blockers):
            return "conflict"
        thing.blockers = sorted(set(blockers), key=list(blockers).index)
        return None

    def remove_epic(self, epic):
        if epic not in self.epics:
            return "not-found"
        self.epics.remove(epic)
        for thing in self.things.values():
            thing.epic = None if thing.epic == epic else thing.epic
        return None

    def remove(self, key):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if thing.state in FLYING:
            return "conflict"
        del self.things[key]
        for other in self.things.values():
            other.blockers = [blocker for blocker in other.blockers if blocker != key]
        # What waits for it or works for it can no longer be part of a circle.
        self.waits = [
            (by, issue, None if key in (issue, works_for) else works_for) for by, issue, works_for in self.waits
        ]
        return None

    def wait(self, by, key, works_for, may_wait_unsettled):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if key == works_for or thing.worker == by:
            return "refused"
        if thing.state in TERMINAL:
            return None
        if self.defect:
            return "unavailable"
        if self.stalled_behind(key) is not None:
            return "conflict"
        if not may_wait_unsettled:
            return "refused"
        if works_for in self.things and self.reaches(key, works_for):
            return "conflict"
        if not any((by, key) == wait[:2] for wait in self.waits):
            self.waits.append((by, key, works_for))
        return None

    def read_wait(self, by, key):
        self.waits = [wait for wait in self.waits if wait[:2] != (by, key)]
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if thing.state in TERMINAL:
            return None
        return "unavailable" if self.defect else "conflict"

    def drop_waits(self, by):
        self.waits = [wait for wait in self.waits if wait[0] != by]

    # ------------------------------------------------------------ letters of the runtime

    def start(self, key):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if self.stopped or (key not in self.ready() and thing.resting != "retry"):
            return "conflict"
        thing.state, thing.worker, thing.resting = "in_progress", f"{key}.{thing.started}i", None
        thing.started, thing.sent = thing.started + 1, 0
        return None

    def hand_back(self, key, agent):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if thing.worker != agent:
            return "conflict"
        self.drop_waits(agent)
        thing.worker, thing.state = None, "in_review"
        if not set(thing.reviewers) <= set(self.charter.profiles):
            thing.close_round()
            thing.state = "failed"
        elif thing.reviewers:
            thing.resting = "parked" if self.stopped else "review"
        else:
            self.queue.append(key)
        return None

    def start_review(self, key):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if self.stopped or thing.resting != "review":
            return "conflict"
        thing.reviewer, thing.resting = f"{key}.{thing.started - 1}i.{thing.sent}r", None
        thing.sent += 1
        thing.rounds += not thing.round_open
        thing.round_open = True
        return None

    def verdict(self, key, agent, approved, saw_the_commit):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if thing.reviewer != agent or not saw_the_commit:
            return "conflict"
        self.drop_waits(agent)
        thing.reviewer = None
        thing.approved += approved
        if not approved:
            thing.close_round()
            thing.state, thing.resting = "in_progress", "parked" if self.stopped else "retry"
        elif thing.approved == len(thing.reviewers):
            thing.close_round()
            self.queue.append(key)
        else:
            thing.resting = "parked" if self.stopped else "review"
        return None

    def end_review(self, key, agent, parked):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if thing.reviewer != agent:
            return "conflict"
        self.drop_waits(agent)
        thing.reviewer = None
        if parked or self.stopped:
            thing.resting = "parked"
        else:
            thing.close_round()
            thing.state = "failed"
        return None

    def end(self, key, agent, auth, parked):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if thing.worker != agent:
            return "conflict"
        self.drop_waits(agent)
        thing.worker = None
        if parked or self.stopped:
            thing.resting = "parked"
        elif auth or thing.spent == self.charter.max_retries:
            thing.state = "failed"
        else:
            thing.spent += 1
            thing.resting = "retry"
        return None

    def fail_dispatch(self, key):
        thing = self.things.get(key)
        if thing is None:
            return "not-found"
        if thing.state in TERMINAL or key in self.queue:
            return "conflict"
        self.drop_waits(thing.worker or thing.reviewer)
        if self.stopped and thing.worker:
            thing.worker, thing.resting = None, "parked"
            return None
        if thing.state == "in_review":
            thing.close_round()
        thing.state, thing.worker, thing.resting = "failed", None, None
        return None

    def settle(self, key, merged):
        if key not in self.things:
            return "not-found"
        if self.queue[:1] != [key]:
            return "conflict"
        self.queue.pop(0)
        self.things[key].state = "done" if merged else "failed"
        return None

    def start_merge_agent(self, key):
        if key not in self.things:
            return "not-found"
        return "conflict" if self.stopped or self.queue[:1] != [key] else None

    def park_merge(self, key):
        if key not in self.things:
            return "not-found"
        if key not in self.queue:
            return "conflict"
        self.queue.remove(key)
        self.things[key].resting = "parked"
        return None

    def stop(self, defect):
        self.stopped = True
        self.defect = self.defect or defect
        for thing in self.things.values():
            thing.resting = "parked" if thing.resting else None
