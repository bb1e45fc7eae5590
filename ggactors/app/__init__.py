"""Where concrete things meet actors: launching a run, living through it, closing it. Law: policy lives elsewhere."""

from __future__ import annotations

from ggactors.app.demo import DemoFiles, write_demo
from ggactors.app.launch import open_run
from ggactors.app.session import Run
from ggactors.protocol.run import Outcome

__all__ = ["DemoFiles", "Outcome", "Run", "open_run", "write_demo"]
