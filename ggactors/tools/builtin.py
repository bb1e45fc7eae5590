"""The declarations of the file and shell operations. Law: the words a model reads about them are here and nowhere else."""

from __future__ import annotations

from ggactors.tools.operation import Operation, Param, Shape
from ggactors.tools.results import BYTES, COMMAND, EDITED, ENTRIES, MATCHES, TEXT

READ_FILE = Operation(
    id="files.read_file",
    tool="read_file",
    doc=(
        "Read a text file. Without offset and limit all of it, up to 256 KiB; a longer one ends with a line that says how "
        "to go on. Binary files are described. Paths are relative to your root and may not leave it."
    ),
    program_doc=(
        "Read a text file, or lines of it. What is more than 256 KiB must be read in parts; binary files are refused. Paths "
        "are relative to your root and may not leave it."
    ),
    params=(
        Param(name="path", doc="The file.", shape=Shape.PATH),
        Param(
            name="offset", doc="The line to begin with, counted from 1.", shape=Shape.INTEGER, required=False, least=1
        ),
        Param(name="limit", doc="How many lines to read.", shape=Shape.INTEGER, required=False, least=1),
    ),
    capability="files",
    result=TEXT,
    touches_tree=True,
)
WRITE_FILE = Operation(
    id="files.write_file",
    tool="write_file",
    doc="Make a file hold exactly these contents. Directories are made as needed; an existing file is replaced whole.",
    params=(
        Param(name="path", doc="The file.", shape=Shape.PATH),
        Param(name="contents", doc="Everything the file is to hold.", blank=True, nul=True),
    ),
    capability="files",
    result=BYTES,
    touches_tree=True,
)
EDIT_FILE = Operation(
    id="files.edit_file",
    tool="edit_file",
    doc=(
        "Replace a text in a file. The old text must stand there exactly once, white space included, unless all is true. "
        "In a file whose every line ends with CRLF, newlines in both texts stand for CRLF."
    ),
    params=(
        Param(name="path", doc="The file.", shape=Shape.PATH),
        Param(name="old_string", doc="The text to replace.", blank=True, nul=True),
        Param(name="new_string", doc="The text to put there; empty removes the old one.", blank=True, nul=True),
        Param(name="all", doc="Replace every occurrence.", shape=Shape.FLAG, required=False, default=False),
    ),
    capability="files",
    result=EDITED,
    touches_tree=True,
)
LIST_DIR = Operation(
    id="files.list_dir",
    tool="list_dir",
    doc="List a directory: each entry's name and kind (file, directory, link, other).",
    params=(Param(name="path", doc="The directory.", shape=Shape.PATH, required=False, default="."),),
    capability="files",
    result=ENTRIES,
    touches_tree=True,
)
SEARCH_FILES = Operation(
    id="files.search_files",
    tool="search_files",
    doc=(
        "Find the lines a regular expression (Python's syntax) matches, below a directory or in one file. `.git`, links "
        "and binary files are passed over."
    ),
    params=(
        Param(name="pattern", doc="The regular expression, matched line by line."),
        Param(name="path", doc="The directory or file.", shape=Shape.PATH, required=False, default="."),
        Param(
            name="glob",
            doc="Only files whose path matches: `*.py` matches names at any depth, `src/**/*.py` paths, `*.{js,ts}` either.",
            required=False,
        ),
    ),
    capability="files",
    result=MATCHES,
    touches_tree=True,
)
SHELL = Operation(
    id="shell.run",
    tool="shell",
    doc=(
        "Run a command with /bin/sh -c in your root. You get what it printed, both streams merged, and its exit code. It has "
        "no terminal and no input. Processes still running when the command ends, also ones in the background, are killed "
        "before you get the answer; of a long output you see the head and the tail and the name of a file that holds it all."
    ),
    params=(
        Param(name="command", doc="The command line."),
        Param(
            name="timeout_secs",
            doc="Seconds after which it is killed.",
            shape=Shape.NUMBER,
            required=False,
            default=120,
            least=0,
            above=True,
            most=86_400,
        ),
    ),
    capability="shell",
    result=COMMAND,
    touches_tree=True,
)

FILES = (READ_FILE, WRITE_FILE, EDIT_FILE, LIST_DIR, SEARCH_FILES)
WORKBENCH = (*FILES, SHELL)
