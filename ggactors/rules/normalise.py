"""Outcomes with what differs from one execution to the next masked: times, durations, addresses, process ids, temporary paths (G6).

Law: pure, and masking what is masked changes nothing. What may be progress is left alone: line numbers, counts, exit codes.
"""

from __future__ import annotations

import re

LONGEST = 64 * 1024
"""Characters of the longest text that is masked; a longer one is no command's output and is compared as it is."""

_DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?"
_UNIT = r"(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?|hrs?|hours?)"

_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    # Where the whole of a cut result is kept; its number goes up with each.
    (re.compile(r"(?<=all of it is in )[^\s<]\S*"), "<path>"),
    # The name that differs each time is the first one below the folder; what follows it may tell files apart.
    (re.compile(r"(?<![\w/])(?:/private)?/(?:tmp|var/tmp|dev/shm)/[^\s/'\"`:,;()<>\[\]]+"), "<path>"),
    (re.compile(r"(?<![\w/])(?:/private)?/var/folders/\w+/\w+/T/[^\s/'\"`:,;()<>\[\]]+"), "<path>"),
    (re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_CLOCK})?(?:Z|\s?[+-]\d{{2}}:?\d{{2}})?"), "<time>"),
    (
        re.compile(
            rf"\b(?:{_DAYS}),? +(?:\d{{1,2}} +(?:{_MONTHS})|(?:{_MONTHS}) +\d{{1,2}}),?(?: +\d{{4}})?"
            rf"(?: +{_CLOCK})?(?: +[A-Z]{{3,4}}\b)?(?: +\d{{4}}\b)?"
        ),
        "<time>",
    ),
    # Not after a colon or a dot: a place in a file is written that way.
    (re.compile(rf"(?<![\w:.]){_CLOCK}(?![\w:])"), "<time>"),
    (re.compile(r"(?<![\w.])1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?(?![\w.])"), "<time>"),
    (re.compile(r"(?<![\w.])\d+m\d+(?:\.\d+)?s\b"), "<duration>"),
    (re.compile(rf"(?<![\w.])\d+(?:\.\d+)?\s?{_UNIT}\b"), "<duration>"),
    (re.compile(r"\b0x[0-9a-fA-F]{4,}\b"), "<address>"),
    (re.compile(r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}|localhost):\d{2,5}\b"), "<address>"),
    (re.compile(r"\b(p?pid)([ =:#\[(]{1,3})\d+\b", re.IGNORECASE), r"\1\2<pid>"),
    (re.compile(r"\b(process|job)([ =:#\[(]{1,3})\d{3,}\b", re.IGNORECASE), r"\1\2<pid>"),
    (re.compile(r"(?<=\w)\[\d{3,7}\](?=:)"), "[<pid>]"),
)


def normalise(text: str) -> str:
    """Mask a text. Doing it again changes nothing: it is masked until nothing is left to mask."""
    if len(text) > LONGEST:
        return text
    while True:
        masked = text
        for pattern, mask in _MASKS:
            masked = pattern.sub(mask, masked)
        if masked == text:
            return masked
        text = masked
