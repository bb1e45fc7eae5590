"""How the agents of a simulated world carry on, kind by kind: roots that file, edit and wait; implementers, reviewers, merge agents
and subagents that do their part, or do not.

Law: each habit is a finite generator; what it yields are calls of one reply, a text without calls, or a fault of its model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ggactors.ports import ModelFault

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from ggactors.testing.simagents import Mind

Call = tuple[str, dict[str, Any]]
Move = list[Call] | str | ModelFault
Habit = "Iterator[Move]"

PATHS = ("a.txt", "b.txt", "c.txt", "lib/d.txt")
"""Few paths, so that agents get in each other's way."""
PREFIXES = ("API", "WEB", "issue", "X")
ROUNDS = 3
"""Dispatches of an issue up to which reviewers may ask for changes: a loop of reviews ends."""


def habit_of(mind: Mind) -> Iterator[Move]:
    """Give the habit of an agent, by what its id says it is (D3)."""
    last = mind.id.rpartition(".")[2]
    match last[-1]:
        case "i":
            return implementer(mind)
        case "r":
            return reviewer(mind)
        case "m":
            return merger(mind)
        case "s":
            return subagent(mind)
        case _:
            return root(mind)


def passing_fault(chance: random.Random) -> ModelFault:
    """Make a fault that can be waited out (C1)."""
    match chance.randrange(3):
        case 0:
            return ModelFault("too many requests", status=429, retryable=True, retry_after=chance.choice((None, 0.5)))
        case 1:
            return ModelFault("the provider has trouble", status=503, retryable=True)
        case _:
            return ModelFault("the connection failed", retryable=True)


def fatal_fault(chance: random.Random) -> ModelFault:
    """Make a fault that no retry cures: a refused request, sometimes a refused credential."""
    if chance.random() < 0.2:
        return ModelFault("the key is refused", status=401, auth=True)
    return ModelFault("the request is refused", status=400)


# ---------------------------------------------------------------- the root


def root(mind: Mind) -> Iterator[Move]:
    """File work, meddle with it, wait for most of it, and finish, or come to a bad end."""
    if mind.world.wave.person:
        yield from conversing(mind)
    yield from plan(mind)
    yield from ring(mind)
    match mind.world.theme:
        case "revive":
            yield from insist(mind)
        case "main":
            for _ in range(mind.chance.randrange(2, 7)):
                yield [write(mind), write(mind)]
        case _:
            for _ in range(mind.chance.choice((0, 1, 2, 4, 7))):
                yield from step(mind)
    if mind.likely(mind.world.temper.trouble / 4):
        yield from bad_end(mind)
    for _ in range(mind.chance.choice((0, 1, 2, 3, 3))):
        waited = mind.issues[-8:]
        if not waited:
            break
        yield [wait(one) for one in waited]
        failed = [one for one in waited if mind.states.get(one) == "failed"]
        if failed and mind.likely(0.5):
            yield [revive(one) for one in failed[:2]]
    yield from ending(mind)


def conversing(mind: Mind) -> Iterator[Move]:
    """Do this and that with a person there: work, ask in prose, end a task and begin the next."""
    yield from plan(mind)
    for _ in range(mind.chance.randrange(2, 12)):
        match mind.chance.randrange(6):
            case 0:
                yield "What shall I do?"
            case 1:
                yield [("finish", {"summary": "a task is done"})]
            case 2:
                yield [wait(one) for one in mind.issues[-3:]] or "There is nothing to wait for."
            case 3:
                yield [write(mind), write(mind)]
            case 4:
                yield from company(mind)
            case _:
                yield from step(mind)


def ring(mind: Mind) -> Iterator[Move]:
    """Do the same over and over, or two things in turn, where the world has such agents (G6)."""
    rings = mind.world.wave.rings
    if not rings or not mind.likely(rings):
        return
    calls: tuple[Call, ...] = (("list_dir", {}), ("read_file", {"path": "nowhere"}))
    for number in range(30):
        yield [calls[number % mind.chance.choice((1, 2))] if mind.likely(0.05) else calls[number % 2]]


def insist(mind: Mind) -> Iterator[Move]:
    """Wait for one issue after the other and revive each that failed, at once, as often as it takes, up to a point."""
    for chosen in mind.issues[:4]:
        for _ in range(3):
            mind.states.pop(chosen, None)
            yield [wait(chosen)]
            if mind.states.get(chosen) != "failed":
                break
            yield [revive(chosen)]


def plan(mind: Mind) -> Iterator[Move]:
    """Open epics and file the first issues, behind those of the same reply, whose ids can be foretold."""
    opened = epics(mind)
    issues: list[Call] = []
    for number in range(1, mind.chance.choice((1, 2, 3, 5, 7)) + 1):
        tool, args = issue(mind)
        args.pop("blockedBy", None)
        if number > 1 and mind.likely(0.95 if mind.world.theme == "dead ends" else 0.5):
            args["blockedBy"] = [f"ISSUE-{mind.chance.randrange(1, number)}" for _ in range(mind.chance.choice((1, 2)))]
        issues.append((tool, args))
    yield [*opened, *issues]


def step(mind: Mind) -> Iterator[Move]:
    """Do one of the many things that can be done with a board."""
    edit = mind.likely(mind.world.temper.meddling)
    match mind.chance.randrange(8):
        case 0 | 1 | 2 if edit:
            yield [meddle(mind) for _ in range(mind.chance.randrange(1, 4))]
        case 0 | 1 | 2:
            yield [issue(mind)]
        case 3:
            yield [wait(any_issue(mind)), *([wait(any_issue(mind))] if mind.likely(0.5) else [])]
        case 4 if mind.likely(0.5):
            yield [write(mind)]
        case 5 if mind.likely(mind.world.temper.company * 2):
            yield from company(mind)
        case 6:
            yield [("read_board", {}), *([wait(any_issue(mind))] if mind.likely(0.3) else [])]
        case _:
            yield [meddle(mind), wait(any_issue(mind))]


def epics(mind: Mind) -> list[Call]:
    """Open some epics, some under prefixes that are refused."""
    count = mind.chance.choice((0, 0, 1, 2))
    return [("create_epic", {"prefix": mind.chance.choice(PREFIXES), "title": "an epic"}) for _ in range(count)]


def issue(mind: Mind) -> Call:
    """File an issue, behind some that are known or guessed."""
    chance = mind.chance
    assignees = ("coder", "coder", "coder", "builder", "builder", "ghost" if mind.likely(0.2) else "coder")
    args: dict[str, Any] = {
        "title": "some work",
        "inScope": "this",
        "outOfScope": "that",
        "completionCriteria": "it is there",
        "agent": chance.choice(assignees),
    }
    if mind.likely(0.4) or mind.world.reviewers_required:
        judges = ("critic", "judge", "judge", "critic", "ghost" if mind.likely(0.1) else "critic")
        args["reviewers"] = [chance.choice(judges) for _ in range(chance.choice((1, 1, 2)))]
    if mind.epics and mind.likely(0.3):
        args["epicId"] = chance.choice(mind.epics)
    if mind.likely(0.45):
        args["blockedBy"] = [any_issue(mind) for _ in range(chance.choice((1, 1, 2)))]
    return "create_issue", args


def any_issue(mind: Mind) -> str:
    """Name an issue: mostly one that is known, else a guess, which may be one's own or nobody's."""
    if mind.issues and mind.likely(0.95):
        return mind.chance.choice(mind.issues)
    return f"{mind.chance.choice(('ISSUE', 'ISSUE', 'ISSUE', 'API'))}-{mind.chance.randrange(1, 5)}"


def meddle(mind: Mind) -> Call:
    """Edit what is on the board."""
    chosen = any_issue(mind)
    match mind.chance.randrange(8):
        case 0 | 1 | 2:
            edges = [any_issue(mind) for _ in range(mind.chance.randrange(3))]
            return "set_issue_blocked_by", {"issueId": chosen, "blockedBy": edges}
        case 3 | 4:
            return revive(chosen)
        case 5:
            return "update_issue", {
                "issueId": chosen,
                "title": "another title",
                "epicId": mind.chance.choice(("API", "")),
            }
        case 6:
            return "remove_issue", {"issueId": chosen}
        case _:
            return "remove_epic", {"epicId": mind.chance.choice(PREFIXES[:2])}


def wait(chosen: str) -> Call:
    """Wait for an issue."""
    return "wait_for_issue", {"issueId": chosen}


def revive(chosen: str) -> Call:
    """Set an issue to open again."""
    return "update_issue", {"issueId": chosen, "status": "open"}


# ---------------------------------------------------------------- endings


def ending(mind: Mind) -> Iterator[Move]:
    """Finish, waiting for subagents that stand in the way, and trying again where a gate blocks."""
    for _ in range(4):
        yield [("finish", {"summary": f"{mind.id} is done"})]
        results = mind.results
        if results and results[-1].tool == "finish" and results[-1].code == "conflict":
            yield [("wait_for_subagents", {})]


def bad_end(mind: Mind) -> Iterator[Move]:
    """Come to an end that is none: a fault, silence, turns without end, endings of the other role."""
    match mind.chance.randrange(5):
        case 0 | 1:
            yield fatal_fault(mind.chance)
        case 2:
            yield from (["nothing to call", "still nothing", "and nothing"])
        case 3:
            for _ in range(45):
                yield [("list_dir", {})]
        case _:
            wrong = "approve" if mind.has("finish") else "finish"
            yield [(wrong, {"summary": "over"} if wrong == "finish" else {})]
            yield fatal_fault(mind.chance)


# ---------------------------------------------------------------- the others


def implementer(mind: Mind) -> Iterator[Move]:
    """Change some files, or none, now and then with company or a word to the board; then finish, or not."""
    yield from ring(mind)
    for _ in range(mind.chance.choice((0, 1, 1, 2, 3))):
        yield [write(mind) for _ in range(mind.chance.randrange(1, 3))]
    if mind.has("create_issue") and mind.likely(0.5):
        yield from step(mind)
    if mind.likely(mind.world.temper.company):
        yield from company(mind)
    if mind.likely(mind.world.temper.trouble):
        yield from bad_end(mind)
    if mind.likely(0.2):
        yield [write(mind), ("finish", {"summary": "at once"})]
    yield from ending(mind)


def subagent(mind: Mind) -> Iterator[Move]:
    """Do a part of somebody's work."""
    if mind.likely(0.6):
        yield [write(mind)]
    if mind.has("create_issue") and mind.likely(0.6):
        yield from step(mind)
    if mind.likely(mind.world.temper.company):
        yield from company(mind)
    if mind.likely(mind.world.temper.trouble):
        yield from bad_end(mind)
    yield from ending(mind)


def company(mind: Mind) -> Iterator[Move]:
    """Spawn subagents, and wait for them, write to them, or neither."""
    if not mind.has("spawn_subagent"):
        return
    names = ("coder", "coder", "lead" if mind.id.startswith("root") else "coder", "ghost")
    spawn: list[Call] = [
        ("spawn_subagent", {"agent": mind.chance.choice(names), "prompt": "do a part"})
        for _ in range(mind.chance.randrange(1, 3))
    ]
    yield spawn
    match mind.chance.randrange(4):
        case 0:
            yield (
                [("wait_for_subagents", {}), wait(any_issue(mind))]
                if mind.has("wait_for_issue")
                else [("wait_for_subagents", {})]
            )
        case 1:
            yield [("send_message", {"agent": f"{mind.id}.0s", "text": "hurry"})]
            yield [("wait_for_subagents", {"agents": [f"{mind.id}.0s"]})]
        case 2:
            yield [("wait_for_subagents", {})]
        case _:
            pass


def reviewer(mind: Mind) -> Iterator[Move]:
    """Look, sometimes with fingers in the work, and give a verdict, or none."""
    if mind.likely(0.3):
        yield [("read_file", {"path": mind.chance.choice(PATHS)})]
    if mind.likely(0.2):
        yield [write(mind)]
    if mind.likely(mind.world.temper.company):
        yield from company(mind)
    if mind.likely(mind.world.temper.trouble):
        yield from bad_end(mind)
    attempt = int(mind.id.split(".")[1][:-1])
    change = attempt < ROUNDS and mind.likely(mind.world.temper.changes)
    verdict: Call = ("request_changes", {"items": ["do it again", " "]}) if change else ("approve", {})
    for _ in range(4):
        yield [*([write(mind)] if mind.likely(0.1) else []), verdict]
        results = mind.results
        if results and results[-1].code == "conflict":
            yield [("wait_for_subagents", {})]


def merger(mind: Mind) -> Iterator[Move]:
    """Resolve the conflict: both sides, one side, or not at all."""
    paths = [line[2:] for line in mind.brief.splitlines() if line.startswith("- ")]
    if mind.likely(0.2):
        yield [("finish", {"summary": "already done"})]
    if mind.likely(mind.world.temper.company):
        yield from company(mind)
    if mind.likely(mind.world.temper.trouble):
        yield from bad_end(mind)
    yield [("read_file", {"path": path}) for path in paths]
    texts = [result.output for result in mind.results]
    if len(texts) == len(paths):
        style = mind.chance.randrange(4)
        yield [
            ("write_file", {"path": path, "contents": resolved(text, style)})
            for path, text in zip(paths, texts, strict=True)
        ]
    if mind.likely(0.1):
        yield [wait(any_issue(mind))]
    yield from ending(mind)


def resolved(text: str, style: int) -> str:
    """Resolve a conflicted text: keep both sides (0, 1), one of them (2), or leave the markers (3)."""
    if style == 3:
        return text
    kept: list[str] = []
    side = 0
    for line in text.splitlines():
        if line.startswith("<<<<<<<"):
            side = 1
        elif line.startswith("=======") and side == 1:
            side = 2
        elif line.startswith(">>>>>>>"):
            side = 0
        elif style < 2 or side != 2:
            kept.append(line)
    return "".join(f"{line}\n" for line in kept)


def write(mind: Mind) -> Call:
    """Write a file of the few there are."""
    path = mind.chance.choice(PATHS)
    return "write_file", {"path": path, "contents": f"{mind.id} {mind.chance.randrange(100)}\n"}
