"""What all tests share: a home of their own for state, and no trace of the operator's git settings."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test is timed: a busy machine is slow, not wrong.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

MACHINE_CACHE = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
"""What this machine has compiled for programs is used by every test: making it takes longer than all of them."""


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a HOME and a state home of its own, and a git that reads no settings of this machine."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        # Nor does a test meet anybody's keys, or reach its own servers on loopback through a proxy.
        if name.upper().startswith(("GIT_", "GGACTORS_", "XDG_", "ANTHROPIC_", "OPENAI_")) or name.upper().endswith(
            "_PROXY"
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", MACHINE_CACHE)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home
