"""Opening a prompt on this process's own streams: a drawn one on a terminal, lines elsewhere. Law: nothing is loaded in vain."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from ggactors.repl.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.protocol.events import Event
    from ggactors.repl.face import Face
    from ggactors.repl.opening import Opening

_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")


def open_prompt(
    opening: Opening, *, full: bool, scripted: bool, colour: bool, sink: Callable[[Event], None] | None = None
) -> int:
    """Talk on stdin and stdout until the person leaves; give the exit code.

    ``full``: they are a terminal that can be drawn on. ``scripted``: nobody types, lines are piped in. ``sink`` is told every
    event of every run.
    """
    from ggactors.runtime.collector import tune_collector

    session: list[Session] = []
    face = _terminal(opening, session, colour=colour) if full else _plain(scripted=scripted)
    session.append(Session(opening, face, sink=sink))
    tune_collector()
    return trio.run(session[0].converse)


def _plain(*, scripted: bool) -> Face:
    from ggactors.repl.plain import PlainFace

    return PlainFace(0, 1, scripted=scripted)


def _terminal(opening: Opening, session: list[Session], *, colour: bool) -> Face:
    from ggactors.repl.completing import PromptCompleter
    from ggactors.repl.face import Known
    from ggactors.repl.history import KeptHistory
    from ggactors.repl.settings import read_settings
    from ggactors.repl.terminal import TerminalFace
    from ggactors.rules.secrets import told_apart
    from ggactors.store.folder import private_folder, state_home
    from ggactors.tools.mask import Mask

    home = state_home(os.environ)
    try:
        private_folder(home)
    except OSError:
        home = Path(os.devnull)  # a history that cannot be kept is none
    settings = read_settings(os.environ)
    mask = Mask(told_apart(secrets_of(os.environ))[0])
    face = TerminalFace(
        settings=settings,
        history=KeptHistory(home / "history.jsonl", mask.text),
        completer=PromptCompleter(lambda: session[0].known() if session else Known(), Path(opening.workspace)),
        colour=colour,
    )
    face.show([f"Warning: {problem}" for problem in settings.problems])
    return face


def secrets_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Find the values of the environment that look like secrets by their names."""
    return {name: value for name, value in environ.items() if any(part in name.upper() for part in _SECRET)}
