"""The commands there are, the modules they live in, and those of later versions."""

from __future__ import annotations

COMMANDS = {
    "repl": ("repl", "talk with a crew at a prompt, in the current directory"),
    "demo": ("demo", "write a small repository and a scripted crew, and watch them work"),
    "init": ("init", "write a complete commented crew.toml"),
    "check": ("check", "name every reason a launch would be refused"),
    "run": ("run", "run a crew on a task"),
    "cancel": ("cancel", "stop a living run at its next turn boundaries"),
    "solo": ("solo", "one agent, no board"),
    "runs": ("runs", "list runs"),
    "show": ("show", "look into one run"),
    "report": ("report", "write a run as one HTML page"),
    "land": ("land", "move your checkout forward to a run's work"),
    "recover": ("recover", "bring back work of failed attempts"),
    "clean": ("clean", "remove old runs"),
    "doctor": ("doctor", "say what this machine offers"),
}
LATER = {
    "resume": "go on with an interrupted run",
}
