"""Reports of the prompt are tested with its kit, and that of the command line."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / "repl"), str(Path(__file__).parents[1] / "cli")]
