"""Where a run's task comes from: the command line, a file, or what is piped in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ggactors.cli.failures import Refusal
from ggactors.cli.terminal import is_terminal

if TYPE_CHECKING:
    import argparse

WAYS = "give --task TEXT or --task-file F, or pipe it in"


def task_of(options: argparse.Namespace) -> str:
    """Give the task. Undecodable bytes become U+FFFD. Raises Refusal when there is none, or two."""
    if options.task is not None and options.task_file is not None:
        raise Refusal("--task and --task-file are two tasks; give one of them")
    if options.task is not None:
        return text_of(options.task, "--task is empty")
    if options.task_file is not None:
        try:
            content = Path(options.task_file).read_bytes()
        except OSError as error:
            raise Refusal(f"--task-file {options.task_file}: {error.strerror}") from error
        except ValueError as error:
            raise Refusal(f"--task-file {options.task_file!r}: {error}") from error
        return _filled(content, f"--task-file {options.task_file} is empty")
    return piped_task(WAYS)


def text_of(argument: str, otherwise: str) -> str:
    """Give the text of an argument. Raises Refusal, saying ``otherwise``, when it is blank."""
    # The process's arguments carry undecodable bytes as surrogates, which no model and no journal takes.
    return _filled(argument.encode("utf-8", "surrogateescape"), otherwise)


def piped_task(ways: str) -> str:
    """Give the task that is piped in; ``ways`` says how to give one. Raises Refusal when there is none."""
    if sys.stdin is None or is_terminal(sys.stdin):
        raise Refusal(f"there is no task; {ways}")
    return _filled(sys.stdin.buffer.read(), f"there is no task, stdin is empty; {ways}")


def _filled(content: bytes, otherwise: str) -> str:
    text = content.decode("utf-8-sig", "replace")
    if not text.strip():
        raise Refusal(otherwise)
    return text
