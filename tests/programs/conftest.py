"""One pool of programs for all tests of a session: booting interpreters is most of what they would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from programs_kit import Pool, World

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """A pool whose workers are warm."""
    shared = Pool()
    shared.start()
    yield shared
    shared.stop()


@pytest.fixture
def world() -> World:
    """A world that remembers what was asked of it."""
    return World()
