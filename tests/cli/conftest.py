"""No test of the command line leaves a process behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_kit import LEFT

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """End what the test started."""
    yield
    LEFT.close()
