"""``ggactors land``: move the operator's checkout forward to a run's work, where it was held back (W10)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ggactors.app.aftermath import LandingReport
    from ggactors.cli.parsing import Parser
    from ggactors.store.folder import RunFolder
    from ggactors.store.lock import Holder

SUMMARY = (
    "Move your checkout forward to a run's work, as at its end: branch, index and files together, or nothing. "
    "Exit code 1 when it is held."
)
EXAMPLE = "ggactors land last"

HELD = 1
PATIENCE_SECS = 600.0
"""How long a living run may take to land: a merge under way, its agent's whole life included, comes first (M6)."""
REMEDIES = {
    "dirty": "Commit, stash or move them away",
    "diverged": "Merge the run's branch by hand, as below, or take your commits off the branch",
    "detached": "`git switch` to the branch it belongs on",
    "branch-elsewhere": "Switch back",
    "operation-in-progress": "End that",
    "write-failed": "Mend that",
}


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", metavar="RUN", help="a run's id, a part of it that is unique, or last")


def run(options: argparse.Namespace) -> int:
    """Land a run's work."""
    from ggactors.app.aftermath import AftermathRefused, land_run
    from ggactors.cli.failures import Refusal
    from ggactors.cli.terminal import print_lines
    from ggactors.store.folder import find_run, state_home
    from ggactors.store.lock import read_lock
    from ggactors.telemetry.glance import glance

    folder = find_run(state_home(os.environ), options.run)
    state = read_lock(folder.lock)
    if state.alive:
        return _ask_to_land(folder, state.holder)
    try:
        report = land_run(folder, glance(folder.events).workspace)
    except AftermathRefused as refused:
        raise Refusal(str(refused)) from refused
    print_lines(_told(folder.id, report))
    return HELD if report.landing.reason is not None else 0


def _ask_to_land(folder: RunFolder, holder: Holder | None) -> int:
    """Have a living run land what it has merged so far. Falls back on nothing: only its own process may touch its work."""
    from ggactors.app.aftermath import driver_of
    from ggactors.cli.failures import Refusal
    from ggactors.cli.terminal import print_lines
    from ggactors.store.control import NotReached, ask_run
    from ggactors.telemetry.plaintext import one_line

    try:
        answer = ask_run(folder, {"ask": "land"}, patience=PATIENCE_SECS)
    except NotReached as error:
        raise Refusal(
            f"run {folder.id} is driven by {driver_of(holder)} and was not reached: {error}; "
            "wait until that has ended, or end it with Ctrl-C there"
        ) from error
    if not answer.get("ok"):
        raise Refusal(f"run {folder.id} was not landed: {one_line(str(answer.get('reason')))}")
    source, target, reason = (str(answer.get(key) or "") for key in ("from", "to", "reason"))
    if reason:
        detail = one_line(str(answer.get("detail") or "")) or "something is in the way"
        again = f"`ggactors land {folder.id}` again; the run goes on meanwhile."
        held = [f"  {one_line(str(path))}" for path in answer.get("held") or ()]
        print_lines(
            [
                f"Your checkout was not moved ({reason}): {detail}",
                *held,
                f"{REMEDIES.get(reason, 'Mend that')}, then {again}",
            ]
        )
        return HELD
    if source == target:
        print_lines([f"Nothing to land: run {folder.id} has merged nothing that your checkout does not hold."])
    else:
        moved = f"Your checkout moved from {one_line(source[:10])} to {one_line(target[:10])}"
        print_lines([f"{moved}; run {folder.id} goes on."])
    return 0


def _told(run_id: str, report: LandingReport) -> list[str]:
    from ggactors.telemetry.plaintext import one_line, safe

    landing, where = report.landing, safe(report.checkout)
    if not report.merged:
        return [f"Nothing to land: run {run_id} merged nothing."]
    if landing.reason is not None:
        return _held(run_id, report)
    if landing.source == landing.target:
        return [f"Nothing to land: {where} holds the work of run {run_id} already."]
    moved = f"Your checkout moved from {one_line(landing.source[:10])} to {one_line(landing.target[:10])}"
    return [f"{moved}: the work of run {run_id} is in {where}."]


def _held(run_id: str, report: LandingReport) -> list[str]:
    """Say why nothing moved, which paths are in the way, and the ways out."""
    from ggactors.telemetry.plaintext import one_line, safe, shell_word

    landing = report.landing
    reason = landing.reason or ""
    ref = f"refs/heads/{report.branch.removeprefix('refs/heads/')}"
    again = f"`ggactors land {run_id}` again"
    first = f"Your checkout was not moved ({reason}): {one_line(landing.detail) or 'something is in the way'}"
    words = ("git", "-C", report.checkout, "fetch", report.repository, ref)
    return [
        first,
        *(f"  {one_line(path)}" for path in landing.held),
        f"{REMEDIES.get(reason, 'Mend that')}, then {again}.",
        f"The work stays on {one_line(ref)} of {safe(report.repository)}; by hand:",
        f"  {' '.join(map(shell_word, words))}",
        f"  {' '.join(map(shell_word, ('git', '-C', report.checkout, 'merge', 'FETCH_HEAD')))}",
    ]
