"""What the process exits with beside a run's own code (``rules.verdict``): docs/reference/cli.md. Law: numbers only."""

from __future__ import annotations

FAILED = 1
REFUSED = 2
CANCELLED = 130
PIPE_CLOSED = 141
"""What a shell reports of a program that a closed pipe ended."""
