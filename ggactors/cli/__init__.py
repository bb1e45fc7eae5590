"""The command line: one module a command, each a thin face over the library (docs/reference/cli.md)."""
