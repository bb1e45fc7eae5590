"""Errors in words: what a person can mend is said in a line or two, what is our fault goes to a file with its traceback."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ggactors.cli.exits import FAILED, REFUSED
from ggactors.ports import JournalBroken, LaunchRefused, RepositoryBroken
from ggactors.store.folder import RunUnknown, private_folder, state_home
from ggactors.telemetry.plaintext import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.protocol.values import Problem

_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))


class Refusal(Exception):  # noqa: N818 - a word of the command line
    """What was asked cannot be done; every line of the message is for the person who asked."""


def tell(error: BaseException, words: Sequence[str]) -> int:
    """Tell an error on stderr and give the exit code: 2 for what the caller can mend, 1 for our own faults."""
    command = next((word for word in words if not word.startswith("-")), "")
    name = f"ggactors {command}".strip()
    match sole(error):
        case Refusal() as refusal:
            first, *rest = str(refusal).splitlines() or ["refused"]
            _say(f"{name}: {first}", *rest)
            return REFUSED
        case LaunchRefused() as refused:
            _say(*refusal_lines(name, refused.problems))
            return REFUSED
        case RunUnknown() | JournalBroken() as known:
            _say(f"{name}: {known}")
            return REFUSED
        case RepositoryBroken() as broken:
            _say(f"{name}: {one_line(str(broken))}")
            return FAILED
        case OSError() as failed if failed.filename is not None:
            _say(f"{name}: {os.fsdecode(failed.filename)}: {failed.strerror}")
            return FAILED
        case OSError() as failed if cannot_write(failed):
            _say(f"{name}: could not write its output: {failed.strerror}")
            return FAILED
        case other:
            _say(f"{name}: a defect of ggactors: {type(other).__name__}: {one_line(str(other))}", _kept(error))
            return FAILED


def cannot_write(error: BaseException) -> bool:
    """Tell whether a stream of this process took no more: its disk is full or has failed."""
    inner = sole(error)
    return isinstance(inner, OSError) and inner.filename is None and inner.errno in _FULL


def interrupted(group: BaseExceptionGroup[BaseException]) -> bool:
    """Tell whether nothing but interrupts of the person is in a group."""
    return group.split(KeyboardInterrupt)[1] is None


def sole(error: BaseException) -> BaseException:
    """Give the one error inside nested groups that hold nothing else, or the error itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def refusal_lines(name: str, problems: Sequence[Problem]) -> list[str]:
    """Lay a launch refusal out: every problem on a line of its own, with its path and its remedy (P2)."""
    shown = [f"  {one_line(str(problem))}" for problem in problems]
    count = "one reason" if len(shown) == 1 else f"{len(shown)} reasons"
    return [f"{name}: the launch is refused, for {count}:", *shown]


def _kept(error: BaseException) -> str:
    """Write the traceback to a file and say which."""
    text = "".join(traceback.format_exception(error))
    name = f"crash-{datetime.now(UTC):%y%m%d-%H%M%S}-{os.getpid()}.txt"
    for folder in (state_home(os.environ) / "crashes", Path(tempfile.gettempdir())):
        path = folder / name
        try:
            private_folder(folder)
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError:
            continue
        return f"Its traceback is in {path}; please report it."
    return f"Its traceback could not be kept:\n{text}"


def _say(*lines: str) -> None:
    print(*lines, sep="\n", file=sys.stderr)
