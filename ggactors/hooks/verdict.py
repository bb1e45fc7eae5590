"""From what a hook came to, to its verdict. Law: pure, and no verdict is never a pass (G2).

First a finding: what the hook answered, its event not yet asked. Then the verdict: what the finding means at that event.
"""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, assert_never

from ggactors.protocol.hooks import BLOCKING, Blocked, GaveUp, HookVerdict, NoVerdict, Passed, Told
from ggactors.protocol.values import Refused
from ggactors.rules.document import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.protocol.hooks import Finding
    from ggactors.protocol.process import ProcessEnded

MOST = 16 * 1024
"""The most characters of a reason or a message."""
SHAPES = '{"action": "continue"}, {"action": "block", "reason": "…"} or {"action": "message", "message": "…"}'
_SPANS = re.compile(r"\b\d+(?:\.\d+)?\s?(?:ms|s|secs?|seconds)\b")

NOT_EXECUTABLE, NOT_FOUND, SIGNALLED = 126, 127, 128
"""Exit codes by which a shell says that it could not run what it was told to, or that a signal ended it."""


# ---------------------------------------------------------------- findings


def of_command(ended: ProcessEnded | Refused, seconds: float) -> Finding:
    """Judge a command: its exit status is its verdict, what it printed the message or the reason (docs/reference/hooks.md)."""
    cause = _unfit(ended, seconds)
    if cause is not None or isinstance(ended, Refused):
        return NoVerdict(cause=cause or "")
    printed = ended.output.strip()
    if ended.exit_code == 0:
        return Told(text=printed) if printed else Passed()
    return Blocked(reason=printed or f"exit code {ended.exit_code}, and it printed nothing")


def of_script(ended: ProcessEnded | Refused, seconds: float) -> Finding:
    """Judge a script: the last line it printed that is not empty is its decision, if it also ended well (reference/hooks.md)."""
    cause = _unfit(ended, seconds)
    if cause is not None or isinstance(ended, Refused):
        return NoVerdict(cause=cause or "")
    lines = [line for line in ended.output.split("\n") if line.strip()]
    if not lines:
        return NoVerdict(cause=_with_output(f"it printed no decision{_exit_words(ended)}", ended))
    found = _decision_of(lines[-1])
    if ended.exit_code == 0 or isinstance(found, Blocked):
        return found
    return NoVerdict(cause=_with_output(f"it ended with exit code {ended.exit_code}", ended))


def of_answer(answer: object) -> Finding:
    """Judge what a hook object answered: nothing, a text for the model, or a decision as a script prints it."""
    match answer:
        case None:
            return Passed()
        case str():
            return Told(text=answer) if answer.strip() else Passed()
        case _:
            return _decision(answer)


def _decision_of(line: str) -> Finding:
    parsed = parse_json(line, "its last line")
    if parsed.problems:
        return NoVerdict(cause=f"its last line is no decision ({parsed.problems[0].what}): {line.strip()[:200]}")
    return _decision(parsed.value)


def _decision(value: object) -> Finding:
    match value:
        case {"action": "continue"}:
            return Passed()
        case {"action": "block", "reason": str() as reason}:
            return Blocked(reason=reason.strip() or "no reason was given")
        case {"action": "message", "message": str() as message}:
            return Told(text=message.strip()) if message.strip() else Passed()
        case _:
            return NoVerdict(cause=f"it answered with something that is no decision; a decision is {SHAPES}")


def _unfit(ended: ProcessEnded | Refused, seconds: float) -> str | None:
    """Say why a process can have given no verdict at all, or None."""
    if isinstance(ended, Refused):
        return f"it could not be run: {ended.message}"
    name = ended.signal or _signal_name(ended.exit_code)
    if ended.exit_code is None:
        said = f"it took longer than {seconds:g} s and was killed"
    elif name is not None:
        said = f"it was killed by {name}"
    elif ended.exit_code == NOT_FOUND:
        said = "it, or what it calls, was not found (exit code 127)"
    elif ended.exit_code == NOT_EXECUTABLE:
        said = "it, or what it calls, is not executable (exit code 126)"
    else:
        return None
    return _with_output(said, ended)


def _signal_name(code: int | None) -> str | None:
    """Name the signal a shell tells of by its own exit code."""
    if code is None or code <= SIGNALLED:
        return None
    try:
        return signal.Signals(code - SIGNALLED).name
    except ValueError:
        return None


def _exit_words(ended: ProcessEnded) -> str:
    return f" and ended with exit code {ended.exit_code}" if ended.exit_code else ""


def _with_output(said: str, ended: ProcessEnded) -> str:
    printed = "\n".join(text.strip() for text in (ended.output, ended.errors) if text.strip())
    return f"{said}. It printed:\n{printed}" if printed else said


# ---------------------------------------------------------------- verdicts


def verdict_of(
    event: str, name: str, finding: Finding, *, exit_code: int | None, millis: int, mask: Callable[[str], str]
) -> HookVerdict:
    """Say what a finding means at its event. A block where nothing can be blocked is a failed hook, like no verdict (G2)."""
    blocks = event in BLOCKING
    match finding:
        case Passed():
            outcome, reason = "passed", None
        case Told(text=text):
            outcome, reason = "message", text
        case Blocked(reason=why):
            outcome = "blocked" if blocks else "failed"
            reason = why if blocks else f"nothing can be blocked at {event}: {why}"
        case GaveUp(reason=why):
            outcome, reason = "failed", why
        case NoVerdict(cause=cause):
            outcome = "blocked" if blocks else "failed"
            reason = f"the check `{name}` gave no verdict: {cause}"
        case _ as never:
            assert_never(never)
    shown = None if reason is None else clip(mask(reason))
    return HookVerdict(outcome=outcome, reason=shown, exit_code=exit_code, duration_ms=millis)


def clip(text: str) -> str:
    """Make a text fit to be shown: valid, and its middle left out when it is long."""
    text = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if len(text) <= MOST:
        return text
    head, tail = MOST // 4, MOST - MOST // 4
    return f"{text[:head]}\n[… {len(text) - MOST} characters left out here …]\n{text[-tail:]}"


def same(reason: str, earlier: str | None) -> bool:
    """Tell whether a block says what the last one said, the time it took apart (H34)."""
    return earlier is not None and _SPANS.sub("", reason) == _SPANS.sub("", earlier)
