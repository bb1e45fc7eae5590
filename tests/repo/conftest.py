"""What tests of the service share."""

from __future__ import annotations

import pytest


@pytest.fixture
def place(tmp_path):
    """Name where the operator's workspace and the run's folder lie."""
    return tmp_path / "ws", tmp_path / "state" / "run"
