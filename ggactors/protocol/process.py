"""A program run to its end: what is asked, and what it came to. Law: plain values that fit on a wire.

Texts are decoded with replacement, bounded and free of keys, whatever the program printed (H49).
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - cattrs needs it at run time

from attrs import frozen


@frozen(kw_only=True)
class ProcessOrder:
    """Run a program in ``folder`` with exactly this environment, ``stdin`` on its input, for at most ``seconds``.

    ``apart`` keeps its two output streams apart; else they come merged.
    """

    argv: tuple[str, ...]
    folder: str
    env: Mapping[str, str]
    seconds: float
    stdin: bytes = b""
    apart: bool = False


@frozen(kw_only=True)
class ProcessEnded:
    """What a program came to. ``exit_code`` is 128 + n for one killed by signal n, which ``signal`` names.

    ``exit_code`` is None when its time was up and it was killed for that. ``errors`` is what it printed on its second
    stream, when the streams were kept apart.
    """

    exit_code: int | None
    output: str
    errors: str = ""
    signal: str | None = None
