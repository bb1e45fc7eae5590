"""The habits of steady worlds: whatever the schedule, the same board and the same tree come of them.

Law: a file is a set of lines. Every change adds lines and keeps the rest, and every conflict is resolved to the union of both
sides, so that changes commute; and no decision depends on when something happened, only on the seed and on whose it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ggactors.ports import ModelFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ggactors.testing.simagents import Mind
    from ggactors.testing.simhabits import Call, Move

PATHS = ("a.txt", "b.txt", "lib/c.txt")
_MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||", "[")


def habit_of(mind: Mind) -> Iterator[Move]:
    """Give the habit of an agent, by what its id says it is (D3)."""
    match mind.id.rpartition(".")[2][-1]:
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


def root(mind: Mind) -> Iterator[Move]:
    """File issues behind earlier ones, wait for all, revive what failed, wait again, leave something in main, finish."""
    chance = mind.chance
    count = chance.randrange(2, 6)
    yield [issue(mind, number) for number in range(1, count + 1)]
    everything: list[Call] = [("wait_for_issue", {"issueId": f"ISSUE-{number}"}) for number in range(1, count + 1)]
    yield everything
    failed = [issue for issue, state in sorted(mind.states.items()) if state == "failed"]
    if failed and chance.random() < 0.5:
        yield [("update_issue", {"issueId": one, "status": "open"}) for one in failed]
        yield everything
    yield [("write_file", {"path": "root.txt", "contents": "the root was here\n"})]
    yield [("finish", {"summary": "all of it"})]


def issue(mind: Mind, number: int) -> Call:
    """File the ``number``-th issue, behind some of those before it."""
    chance = mind.chance
    args: dict[str, Any] = {
        "title": f"work {number}",
        "inScope": "this",
        "outOfScope": "that",
        "completionCriteria": "it is there",
        "agent": chance.choice(("coder", "builder")),
        "reviewers": [chance.choice(("critic", "judge")) for _ in range(chance.choice((0, 0, 1, 2)))] or ["critic"],
    }
    if chance.random() < 0.5 and number > 1:
        args["blockedBy"] = [f"ISSUE-{chance.randrange(1, number)}"]
    return "create_issue", args


def implementer(mind: Mind) -> Iterator[Move]:
    """Add lines to files and finish, or come to a bad end after the first of them."""
    trouble = mind.chance.random()
    yield from add_line(mind)
    if trouble < mind.world.temper.trouble:
        yield ModelFault("the request is refused", status=400)
    company = mind.chance.random() < mind.world.temper.company
    if company and mind.has("spawn_subagent"):
        yield [("spawn_subagent", {"agent": "coder", "prompt": "add a line"})]
        yield [("wait_for_subagents", {})]
    if mind.chance.random() < 0.5:
        yield from add_line(mind)
    yield [("finish", {"summary": f"{mind.id} is done"})]


def subagent(mind: Mind) -> Iterator[Move]:
    """Add a line and finish."""
    yield from add_line(mind)
    yield [("finish", {"summary": f"{mind.id} is done"})]


def reviewer(mind: Mind) -> Iterator[Move]:
    """Give a verdict, or none; sometimes with fingers in the work."""
    if mind.chance.random() < 0.2:
        yield from add_line(mind)
    if mind.chance.random() < mind.world.temper.trouble / 2:
        yield ModelFault("the request is refused", status=400)
    attempt = int(mind.id.split(".")[1][:-1])
    if mind.chance.random() < mind.world.temper.changes and attempt < 2:
        yield [("request_changes", {"items": ["add another line"]})]
    else:
        yield [("approve", {})]


def merger(mind: Mind) -> Iterator[Move]:
    """Keep every line of both sides, and conclude the merge as plain git is told to."""
    paths = [line[2:] for line in mind.brief.splitlines() if line.startswith("- ")]
    yield [("read_file", {"path": path}) for path in paths]
    texts = [result.output for result in mind.results]
    yield [
        *(("write_file", {"path": path, "contents": union(text)}) for path, text in zip(paths, texts, strict=True)),
        ("shell", {"command": "git add -A && git commit -q --no-edit"}),
    ]
    yield [("finish", {"summary": "both sides are kept"})]


def add_line(mind: Mind) -> Iterator[Move]:
    """Add a line of one's own to a file, whatever else is in it."""
    path = mind.chance.choice(PATHS)
    line = f"{mind.chance.randrange(1000):03} {mind.id}"
    yield [("read_file", {"path": path})]
    (result,) = mind.results
    yield [("write_file", {"path": path, "contents": union(f"{result.output if result.ok else ''}\n{line}")})]


def union(text: str) -> str:
    """Make the set of a text's lines, in order, conflict markers and footnotes of ``read_file`` left out."""
    lines = {line for line in text.splitlines() if line and not line.startswith(_MARKS)}
    return "".join(f"{line}\n" for line in sorted(lines))
