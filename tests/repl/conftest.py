"""The prompt is tested with the command line's kit: real processes on terminals of their own."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "cli"))
