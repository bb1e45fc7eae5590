"""What tests of the command line share."""

from __future__ import annotations

import pytest
from after_kit import Desk


@pytest.fixture
def desk(tmp_path, monkeypatch, capfd) -> Desk:
    """Give a repository, a state home, and what asks ``ggactors`` about runs made in them."""
    return Desk(tmp_path, monkeypatch, capfd)
