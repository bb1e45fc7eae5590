"""Commands that look: agents, the board, one issue, one agent's turns, the log. Law: folds of the events, as everywhere (T2)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import trio

from ggactors.ports import LaunchRefused
from ggactors.repl.face import CannotHere
from ggactors.repl.told import in_full
from ggactors.telemetry.closeup import review_lines
from ggactors.telemetry.folds import RunView
from ggactors.telemetry.jsonl import read_events
from ggactors.telemetry.plaintext import Look, one_line, wrapped
from ggactors.telemetry.render import agent_lines, agent_state, board_lines, counted, spend_text
from ggactors.telemetry.story import headline, local_time, tell
from ggactors.telemetry.summary import summary_lines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from ggactors.repl.live import Live
    from ggactors.repl.session import Session
    from ggactors.telemetry.folds import IssueView

NEVER = "There was no run yet; say what you want, or /run TASK, to begin one."
LOG_LINES = 100
STORY_LINES = 60


def seen(session: Session) -> Live | None:
    """Give the run to look at: the living one, else the last; None when there was none, which is said."""
    live = session.live or session.last
    if live is None or live.run is None:
        session.tell(NEVER)
        return None
    return live


async def do_agents(session: Session, _: str) -> None:
    """Show the tree of agents."""
    live = seen(session)
    if live is not None:
        session.face.show(agent_lines(live.view, session.face.look()))


async def do_board(session: Session, _: str) -> None:
    """Show the board."""
    live = seen(session)
    if live is not None:
        session.face.show(board_lines(live.view, session.face.look()))


async def do_issue(session: Session, rest: str) -> None:
    """Show one issue."""
    live = seen(session)
    if live is None:
        return
    found = find_issue(session, live, rest)
    if found is not None:
        session.face.show(_issue(found, live.view, session.face.look()))


def find_issue(session: Session, live: Live, rest: str) -> IssueView | None:
    """Find an issue by its id, whatever its case; None when there is none, which is said."""
    wanted = rest.strip()
    found = next((issue for issue in live.view.issues.values() if issue.id.lower() == wanted.lower()), None)
    if found is None:
        names = ", ".join(list(live.view.issues)[:20]) or "none"
        session.tell(
            f"No issue is called {one_line(wanted)}; there are {names}." if wanted else f"Say which; there are {names}."
        )
    return found


def _issue(issue: IssueView, view: RunView, look: Look) -> list[str]:
    lines = [look.paint(f"{one_line(issue.id)}  {one_line(issue.title)}", "bold")]
    stall = view.stalls().get(issue.id)
    state = f"  {issue.state}, {counted(issue.attempts, 'attempt')}, assigned to {one_line(issue.agent)}"
    lines.append(f"{state}{f'; stalled behind {one_line(stall)}, which failed' if stall else ''}")
    if issue.blocked_by:
        lines.append(f"  blocked by {', '.join(map(one_line, issue.blocked_by))}")
    if issue.reason:
        lines += wrapped(issue.reason, look, indent=2)
    for review in issue.reviews:
        lines += [f"  {line}" for line in review_lines(review, look)]
    if issue.merge is not None and issue.merge.merged and issue.merge.empty_change:
        lines.append("  merged: it changed nothing")
    elif issue.merge is not None and issue.merge.merged:
        lines.append(f"  merged as {one_line((issue.merge.commit or '')[:10])}; /diff {one_line(issue.id)} shows it")
    elif issue.merge is not None:
        lines.append(f"  not merged: {one_line(issue.merge.reason or 'conflict')}")
    for agent in view.agents_by_id.values():
        if agent.issue == issue.id:
            said = f"  {one_line(agent.id)}: {agent_state(agent)}, {counted(agent.turns, 'turn')}, {spend_text(agent.spend)}"
            lines.append(said)
    return lines


async def do_agent(session: Session, rest: str) -> None:
    """Follow an agent's turns; without a name follow none."""
    live = seen(session)
    if live is None:
        return
    if not rest:
        was = live.telling.followed
        live.telling.followed = None
        session.tell(f"{was} is followed no more." if was else "No agent is followed; /agent ID follows one.")
        return
    agent = next((one for one in live.view.agents_by_id if one.lower() == rest.lower()), None)
    if agent is None:
        names = ", ".join(list(live.view.agents_by_id)[:20]) or "none"
        session.tell(f"No agent is called {one_line(rest)}; there are {names}.")
        return
    look, path = session.face.look(), live.folder.events
    lines = await trio.to_thread.run_sync(lambda: list(deque(_story(path, agent, look), maxlen=STORY_LINES)))
    session.face.show(lines)
    if live is session.live and live.view.agents_by_id[agent].state != "ended":
        live.telling.followed = agent
        session.tell(f"Following {agent}; /agent follows none.", style="dim")


def _story(path: Path, agent: str, look: Look) -> Iterator[str]:
    for event in read_events(path):
        if event.agent == agent:
            yield from in_full(event, look)


def log_lines(path: Path) -> Iterator[str]:
    """Tell the whole story of a run, the log included, from its events."""
    view = RunView()
    for event in read_events(path):
        view.apply(event)
        clock = local_time(event.time)
        said = headline(event, view, verbose=True)
        if said is None and event.type == "assistant_message" and event.agent:
            told = tell(event, Look(width=10_000))
            said = f"{one_line(event.agent)}: {one_line(' '.join(told))}" if told else None
        if said is not None:
            yield from (f"{clock} {line}" for line in said.split("\n"))


async def do_log(session: Session, rest: str) -> None:
    """Show the last lines of the story."""
    live = seen(session)
    if live is None or live.run is None:
        return
    if rest and not rest.isdigit():
        session.tell("Say how many lines: /log N; /export FILE writes all of them.")
        return
    path = live.folder.events
    most = int(rest or LOG_LINES)
    lines = await trio.to_thread.run_sync(lambda: list(deque(log_lines(path), maxlen=most)))
    session.face.show(lines)


async def do_watch(session: Session, _: str) -> None:
    """Give the terminal to the console until the person leaves it."""
    live = seen(session)
    if live is None or live.run is None:
        return
    from ggactors.repl.console import watch
    from ggactors.repl.console.sources import StreamSource

    folder = live.folder
    source = StreamSource(folder.events)
    crew = session.opening.reading.crew
    slots = crew.limits.max_parallel if crew is not None else 0
    session.listeners.append(source.put)
    try:
        await session.face.instead(lambda: watch(source, folder=folder, slots=slots))
    except CannotHere as cannot:
        session.tell(str(cannot))
    except EOFError:
        await session.leave()  # the terminal is gone
    finally:
        session.listeners.remove(source.put)


async def do_crew(session: Session, rest: str) -> None:
    """Show the crew, or take another."""
    opening = session.opening
    if rest:
        if session.live is not None:
            session.tell("A run lives; another crew can be taken when it has ended (/cancel, /quit).")
            return
        try:
            problems = (await trio.to_thread.run_sync(opening.other, rest.removeprefix("@"))).problems
        except LaunchRefused as refused:
            problems = refused.problems
        if problems:
            session.tell(*(one_line(str(problem)) for problem in problems), style="red")
            return
        session.stir()
    crew = opening.reading.crew
    if crew is None:
        return
    look = session.face.look()
    session.tell(
        f"{look.paint(one_line(crew.name), 'bold')}: {crew.limits.max_parallel} slots, checkout {crew.checkout}, land {crew.land}"
    )
    for profile in crew.profiles:
        root = " (root)" if profile.root else ""
        on = f"{profile.model.provider}/{profile.model.name}"
        asks = f"; asks before {', '.join(profile.ask)}" if profile.ask else ""
        session.tell(
            f"  {one_line(profile.id)}{root} on {one_line(on)}: {', '.join(profile.capabilities)}{one_line(asks)}"
        )
    if opening.overrides:
        session.tell(f"  changed here: {', '.join(map(one_line, opening.overrides))}")


def tell_end(session: Session, live: Live) -> None:
    """Tell what a run came to, or why it was not launched."""
    look = session.face.look()
    if live.problems:
        session.tell("The run was not launched:", style="red")
        session.tell(*(f"  {one_line(str(problem))}" for problem in live.problems))
        return
    if live.run is None:
        session.tell("Stopped before the run began.")
        return
    from ggactors.telemetry.whereabouts import whereabouts

    folder = live.folder
    repository = str(folder.repository) if folder.repository.is_dir() else None
    lines = [*board_lines(live.view, look), ""] if live.view.issues or live.view.epics else []
    lines += summary_lines(live.view, look)
    lines += whereabouts(live.view, look, folder=str(folder.path), repository=repository)
    session.face.show(lines)


ACTS: dict[str, Callable[[Session, str], Awaitable[None]]] = {
    "agents": do_agents,
    "board": do_board,
    "issue": do_issue,
    "agent": do_agent,
    "log": do_log,
    "crew": do_crew,
    "watch": do_watch,
}
"""The commands of this page."""
