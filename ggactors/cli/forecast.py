"""The line before a run that says what such runs took so far."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ggactors.protocol.crew import Crew


def print_forecast(crew: Crew, command: str) -> None:
    """Say on stderr what past runs of this crew took, and which ceiling will likely be met. Nothing where there are none."""
    from ggactors.app.forecasting import foretell
    from ggactors.rules.forecast import doubts, foretold
    from ggactors.store.folder import state_home

    try:
        known = foretell(state_home(os.environ), crew)
    except OSError:
        return  # a state home that cannot be read is the launch's to refuse
    if known is None:
        return
    print(f"{command}: {foretold(known)}", file=sys.stderr)
    for doubt in doubts(known, crew.limits):
        print(f"{command}: warning: {doubt}", file=sys.stderr)
