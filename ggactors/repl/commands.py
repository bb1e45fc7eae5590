"""The commands of the prompt: their names, what they take, and how a line is read. Law: pure; no line is dropped in silence."""

from __future__ import annotations

from difflib import get_close_matches

from attrs import frozen


@frozen(kw_only=True)
class Entry:
    """One command: its usage, what it does, and what its first argument names (for completion)."""

    name: str
    usage: str
    says: str
    takes: str = ""
    more: str = ""
    """What its own help says beyond that."""


COMMANDS = {
    entry.name: entry
    for entry in (
        Entry(name="help", usage="/help [COMMAND]", says="what there is, or more on one command", takes="command"),
        Entry(
            name="run",
            usage="/run TASK",
            says="let the crew work on a task by itself",
            more="Nobody is asked for a reply; the run ends when the work is done. Plain text begins an interactive run instead.",
        ),
        Entry(
            name="queue",
            usage="/queue TASK",
            says="hand the root a task for when it is done with this one",
            more="Queued tasks are taken up in turn, each once the one before has come to its end.",
        ),
        Entry(
            name="crew",
            usage="/crew [FILE]",
            says="show the crew, or take another for the next run",
            takes="file",
            more="Another crew can be taken while no run lives. A file that you name is taken without further questions.",
        ),
        Entry(name="agents", usage="/agents", says="the tree of agents"),
        Entry(name="board", usage="/board", says="epics and issues"),
        Entry(
            name="issue", usage="/issue ID", says="one issue: where it stands, its reviews, its agents", takes="issue"
        ),
        Entry(
            name="agent",
            usage="/agent [ID]",
            says="follow an agent's turns live; without ID follow none",
            takes="agent",
            more="Its story so far is shown first, then every turn in full as it happens.",
        ),
        Entry(name="say", usage="/say AGENT TEXT", says="hand an agent a text for its next turn", takes="agent"),
        Entry(
            name="unsay",
            usage="/unsay",
            says="take back what you said last, if no model has read it",
            more="The text goes back into the line.",
        ),
        Entry(name="diff", usage="/diff ISSUE", says="what an issue's work changes", takes="issue"),
        Entry(
            name="waiting",
            usage="/waiting",
            says="what waits for you: approvals, questions, stalls, a held checkout, slow reviews",
        ),
        Entry(
            name="approve",
            usage="/approve [N] [always] [NOTE]",
            says="say yes to N, or mark it as seen",
            takes="waiting",
            more="With `always`, later calls of the same tool by the same agent pass too. N may be left out where one waits.",
        ),
        Entry(
            name="reject",
            usage="/reject [N] [WHY]",
            says="say no to N; the reason reaches whoever asked",
            takes="waiting",
        ),
        Entry(name="answer", usage="/answer N TEXT", says="answer a question, in any order", takes="waiting"),
        Entry(
            name="pause",
            usage="/pause",
            says="hold every agent at its next turn boundary",
            more="Nothing new is dispatched; what is under way inside a turn is finished. `/resume` goes on.",
        ),
        Entry(name="resume", usage="/resume", says="go on after /pause"),
        Entry(
            name="cancel",
            usage="/cancel",
            says="stop the run at its agents' turn boundaries",
            more="What was committed is kept. Again, or Ctrl-C twice: stop at once.",
        ),
        Entry(
            name="budget",
            usage="/budget [COST | tokens N | off]",
            says="what was spent; set the ceiling of the next run",
        ),
        Entry(
            name="model",
            usage="/model [PROVIDER/NAME | KEY]",
            says="which models the crew has; the root's for the next run",
            takes="model",
        ),
        Entry(
            name="recover",
            usage="/recover [ISSUE [BRANCH]]",
            says="list work of failed attempts, or bring a piece back as a branch",
            takes="issue",
        ),
        Entry(name="land", usage="/land", says="move your checkout forward to what is merged"),
        Entry(name="log", usage="/log [N]", says="the last N lines of the whole story, the log included"),
        Entry(
            name="export",
            usage="/export FILE",
            says="write the run: .html a report, .jsonl its events, else its story",
            takes="file",
        ),
        Entry(name="set", usage="/set [NAME VALUE]", says="editing emacs|vi, theme dark|light|plain", takes="setting"),
        Entry(name="watch", usage="/watch", says="look at the run in full screen"),
        Entry(name="quit", usage="/quit", says="leave; asks when a run lives"),
    )
}
ALIASES = {"exit": "quit", "q": "quit", "?": "help", "attention": "waiting", "h": "help"}


@frozen
class Say:
    """Plain text, for the root. Empty: only Enter was pressed."""

    text: str


@frozen
class Order:
    """A command and its arguments as they were written."""

    name: str
    rest: str


@frozen
class Unknown:
    """No command of that name; ``near`` are those it may have been meant for."""

    name: str
    near: tuple[str, ...]


def read_line(text: str) -> Say | Order | Unknown:
    """Read what was typed. A line that begins with two slashes is plain text with one."""
    stripped = text.strip()
    if not stripped.startswith("/"):
        return Say(text=stripped)
    if stripped.startswith("//"):
        return Say(text=stripped[1:])
    word, _, rest = stripped[1:].partition(" ")
    if "\n" in word:
        word, _, more = word.partition("\n")
        rest = f"{more} {rest}"
    name = ALIASES.get(word.lower(), word.lower())
    if name in COMMANDS:
        return Order(name=name, rest=rest.strip())
    if "/" in word:
        return Say(text=stripped)  # a path, not a command
    return Unknown(name=word, near=tuple(get_close_matches(name, [*COMMANDS, *ALIASES], n=2, cutoff=0.5)))


def help_lines(about: str = "") -> list[str]:
    """List the commands, or tell more of one."""
    name = about.strip().lstrip("/").lower()
    name = ALIASES.get(name, name)
    if name in COMMANDS:
        entry = COMMANDS[name]
        return [f"{entry.usage}: {entry.says}", *([entry.more] if entry.more else [])]
    if name:
        near = get_close_matches(name, COMMANDS, n=1)
        return [f"There is no /{name}{f'; did you mean /{near[0]}?' if near else ''}"]
    width = max(len(entry.usage) for entry in COMMANDS.values())
    return [
        "Plain text goes to the root; while it works it is read at its next turn.",
        *(f"  {entry.usage:<{width}}  {entry.says}" for entry in COMMANDS.values()),
        "Alt-Enter, or a backslash at the end of a line, begins another line; @ completes file names; Ctrl-R searches.",
        "Ctrl-C cuts the turn, twice it cancels the run. Ctrl-D leaves.",
    ]
