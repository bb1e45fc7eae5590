"""How the documentation is built: MyST pages under furo, every warning an error (``sphinx-build -W``)."""

project = "ggactors"
author = "the ggactors authors"
copyright = "the ggactors authors"  # noqa: A001 - Sphinx's name

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "changes"]
nitpicky = True

myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "ggactors"
