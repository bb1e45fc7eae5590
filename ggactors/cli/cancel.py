"""``ggactors cancel``: ask a living run to stop at its agents' next turn boundaries."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser

SUMMARY = "Ask a living run to stop at its agents' next turn boundaries, as the first Ctrl-C where it runs does."
EXAMPLE = "ggactors cancel k3f"


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", metavar="RUN", help="a run's id, a part of it that is unique, or last")


def run(options: argparse.Namespace) -> int:
    """Ask the run to stop."""
    from ggactors.cli.failures import Refusal
    from ggactors.cli.runs import status_of
    from ggactors.store.control import NotReached, ask_run
    from ggactors.store.folder import find_run, state_home
    from ggactors.store.lock import read_lock
    from ggactors.telemetry.glance import glance

    folder = find_run(state_home(os.environ), options.run)
    state = read_lock(folder.lock)
    if not state.alive:
        told = status_of(glance(folder.events), alive=False)
        raise Refusal(f"run {folder.id} is not running ({told}); there is nothing to cancel")
    try:
        answer = ask_run(folder, {"ask": "cancel"})
    except NotReached as error:
        pid = f"process {state.holder.pid}" if state.holder is not None else "the process that drives it"
        raise Refusal(f"run {folder.id} was not reached: {error}; send SIGINT to {pid} instead") from error
    if not answer.get("ok"):
        raise Refusal(f"run {folder.id} was not cancelled: {answer.get('reason')}")
    print(f"Run {folder.id} stops at its agents' next turn boundaries.")
    return 0
