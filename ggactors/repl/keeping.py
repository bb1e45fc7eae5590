"""Commands about work that is kept, and about what the next run is launched with. Law: what blocks does so in a thread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import trio

from ggactors.repl.looking import find_issue, log_lines, seen
from ggactors.telemetry.closeup import diff_lines
from ggactors.telemetry.plaintext import one_line, safe
from ggactors.telemetry.render import counted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ggactors.crew import Reading
    from ggactors.repl.live import Live
    from ggactors.repl.session import Session
    from ggactors.telemetry.reportboard import FileStat


async def do_land(session: Session, _: str) -> None:
    """Move the operator's checkout forward."""
    from ggactors.app.aftermath import AftermathRefused, land_run
    from ggactors.ports import RepositoryBroken

    live = seen(session)
    if live is None or live.run is None:
        return
    try:
        if live is session.live:
            landing = await live.run.land()
        else:
            landing = (await trio.to_thread.run_sync(land_run, live.folder, live.view.workspace)).landing
    except (AftermathRefused, RepositoryBroken) as error:
        session.tell(one_line(str(error)))
        return
    if landing is None:
        session.tell("This crew has no board, so its agents work in the workspace itself; there is nothing to land.")
    elif landing.reason is not None:
        held = [f"  {one_line(path)}" for path in landing.held]
        session.tell(f"Your checkout was not moved ({landing.reason}): {one_line(landing.detail)}", *held)
        session.tell("Mend that, then /land again; the work is kept meanwhile.")
    elif landing.source == landing.target:
        session.tell("Nothing to land: your checkout holds all that is merged.")
    else:
        session.tell(f"Your checkout moved from {landing.source[:10]} to {landing.target[:10]}.", style="green")


async def do_recover(session: Session, rest: str) -> None:
    """List what can be brought back, or bring a piece back."""
    from ggactors.app.aftermath import AftermathRefused, recover_work, recoverable
    from ggactors.ports import RepositoryBroken

    live = seen(session)
    if live is None or live.run is None:
        return
    folder, (which, _, branch) = live.folder, rest.partition(" ")
    try:
        if which:
            back = await trio.to_thread.run_sync(
                recover_work, folder, live.view.workspace, which, branch.strip() or None
            )
            where = f"{one_line(back.branch)} of {safe(back.repository)}"
            session.tell(f"{one_line(which)} is on branch {where}. Your checkout was not touched.", style="green")
            return
        found = await trio.to_thread.run_sync(recoverable, folder, live.view)
    except (AftermathRefused, RepositoryBroken) as error:
        session.tell(one_line(str(error)))
        return
    pieces = [f"  {one_line(work.name)}  {one_line(work.size)}  {one_line(work.subject)}" for work in found.saved]
    pieces += [f"  {one_line(work.name)}  {one_line(work.size)}  (left lying)" for work in found.open or ()]
    if pieces:
        session.tell(*pieces, "/recover NAME [BRANCH] brings one back as a branch.")
    else:
        session.tell("Nothing is kept beside what was merged.")
    if live is session.live:
        session.tell("What lies in worktrees of the living run is listed once it has ended.", style="dim")


async def do_diff(session: Session, rest: str) -> None:
    """Show what an issue's work changes."""
    from ggactors.app.diffing import diff_of

    live = seen(session)
    issue = None if live is None else find_issue(session, live, rest)
    if live is None or live.run is None or issue is None:
        return
    found = await trio.to_thread.run_sync(diff_of, live.folder, live.view.workspace, issue)
    if found.lines is None:
        session.tell(one_line(found.why))
        return
    look = session.face.look()
    session.face.show([look.paint(f"{issue.id}: {one_line(found.of)}", "bold"), *diff_lines(found.lines, look)])


async def do_export(session: Session, rest: str) -> None:
    """Write the run to a file."""
    live = seen(session)
    if live is None or live.run is None:
        return
    if not rest:
        session.tell("Say where: /export FILE (.html a report, .jsonl the events, else the story)")
        return
    target = Path(session.opening.workspace, rest.removeprefix("@"))
    try:
        size = await trio.to_thread.run_sync(_write, live, live.folder.events, target)
    except OSError as error:
        session.tell(f"{safe(str(target))} was not written: {error.strerror}")
        return
    session.tell(f"Wrote {safe(str(target))} ({counted(size, 'byte')}).", style="dim")


def _write(live: Live, events: Path, target: Path) -> int:
    if target.suffix == ".html":
        from ggactors.telemetry.jsonl import read_events
        from ggactors.telemetry.report import report_page
        from ggactors.telemetry.reportfold import fold_report

        fold = fold_report(read_events(events))
        content = report_page(fold, _changes(live)).encode("utf-8", "replace")
    elif target.suffix == ".jsonl":
        content = events.read_bytes()
        content = content[: content.rfind(b"\n") + 1]
    else:
        content = "".join(f"{line}\n" for line in log_lines(events)).encode("utf-8", "replace")
    target.write_bytes(content)
    return len(content)


def _changes(live: Live) -> Mapping[str, Sequence[FileStat]]:
    from ggactors.app.reporting import merged_changes
    from ggactors.ports import RepositoryBroken

    try:
        return merged_changes(live.folder, live.view)
    except RepositoryBroken:
        return {}  # a report without the changes is a report all the same


# ---------------------------------------------------------------- what the next run is launched with


async def do_budget(session: Session, rest: str) -> None:
    """Show what was spent against the ceilings; set those of the next run."""
    if not rest:
        _show_budget(session)
        return
    word, _, number = rest.partition(" ")
    if word == "off":
        await _change(
            session,
            lambda: session.opening.drop("limits.maxCost", "limits.maxTokens"),
            "No budget of this prompt holds.",
        )
        return
    path, value = ("limits.maxTokens", number) if word == "tokens" else ("limits.maxCost", word)
    written = value.replace(",", "").replace("_", "")
    try:
        enough = float(written) > 0
    except ValueError:
        enough = False
    if not enough:
        session.tell("Give a cost (/budget 2.50), a number of tokens (/budget tokens 500000), or off.")
        return
    await _change(session, lambda: session.opening.change(f"{path}={written}"), f"{path} is {written}.")


def _show_budget(session: Session) -> None:
    from ggactors.telemetry.render import spend_text

    live, crew = session.live or session.last, session.opening.reading.crew
    if live is not None:
        session.tell(f"Spent: {spend_text(live.view.spend)}")
    if crew is None:
        return
    cost, tokens = crew.limits.max_cost, crew.limits.max_tokens
    session.tell(
        f"Ceilings: cost {'none' if cost is None else f'{cost:g}'}, tokens {'none' if tokens is None else f'{tokens:,}'}. "
        "/budget COST or /budget tokens N sets one for the next run."
    )


async def do_model(session: Session, rest: str) -> None:
    """Show the models; set the root's for the next run."""
    crew = session.opening.reading.crew
    if crew is None:
        return
    if not rest:
        for profile in crew.profiles:
            key = (
                f" ({one_line(profile.model.key)})"
                if profile.model.key != f"{profile.model.provider}/{profile.model.name}"
                else ""
            )
            session.tell(
                f"  {one_line(profile.id)}: {one_line(profile.model.provider)}/{one_line(profile.model.name)}{key}"
            )
        session.tell(
            "/model PROVIDER/NAME, or a key of the crew's models, sets the root's for the next run.", style="dim"
        )
        return
    path = f"agents.{crew.root.id}.model"
    await _change(session, lambda: session.opening.change(f'{path}="{rest}"'), f"The root is on {one_line(rest)}.")


async def _change(session: Session, change: Callable[[], Reading], said: str) -> None:
    """Change what the next run is launched with, and say so, or what stands in the way."""
    from ggactors.ports import LaunchRefused

    try:
        problems = (await trio.to_thread.run_sync(change)).problems
    except LaunchRefused as refused:
        problems = refused.problems
    if problems:
        session.tell(*(one_line(str(problem)) for problem in problems), style="red")
        return
    later = " It holds from the next run on: the living one keeps what it was launched with." if session.live else ""
    session.tell(said + later)
    session.stir()


ACTS: dict[str, Callable[[Session, str], Awaitable[None]]] = {
    "land": do_land,
    "recover": do_recover,
    "diff": do_diff,
    "export": do_export,
    "budget": do_budget,
    "model": do_model,
}
"""The commands of this page."""
