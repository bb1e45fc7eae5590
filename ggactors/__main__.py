"""``python -m ggactors`` is ``ggactors``."""

from ggactors.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
