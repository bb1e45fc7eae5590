"""Compile one artifact, in a process of its own: ``python -m ggactors.programs.compile ARTIFACT FILE [--open-table]``.

A process can be ended when whoever waits for it is cancelled, and gives back the memory a compiler takes; a thread does neither.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> int:
    """Compile ``sys.argv[1]`` into the new file ``sys.argv[2]``, yielding to everything else the machine does."""
    from ggactors.programs.engine import compile_artifact

    os.nice(5)
    compile_artifact(Path(sys.argv[1]), Path(sys.argv[2]), opened="--open-table" in sys.argv[3:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
