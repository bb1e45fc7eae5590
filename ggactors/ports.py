"""What actors need from the world, as protocols. Law: async may wait, nothing here names a library.

Every port states what holds when its caller is cancelled. Adapters live in ``models``, ``tools``, ``repo`` and ``store``;
fakes that obey the same words ship in ``ggactors.testing``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from ggactors.protocol.git import (
        ChangeSummary,
        ConflictLeft,
        Landing,
        MainRestored,
        Merged,
        MergeFailed,
        OpenedWorktree,
        RepositoryFacts,
        Resolved,
        SealBlocked,
        Sealed,
        Signature,
        Unresolved,
    )
    from ggactors.protocol.hooks import HookOutcome
    from ggactors.protocol.memories import Memory
    from ggactors.protocol.model import ModelReply, ModelRequest, Pictured, ToolCall, ToolResult, ToolSpec, Usage
    from ggactors.protocol.process import ProcessEnded, ProcessOrder
    from ggactors.protocol.program import OperationSpec, ProgramAnswer, ProgramResult
    from ggactors.protocol.values import Problem, Refused
    from ggactors.protocol.workbench import DirListed, FileEdited, FileRead, FileWritten, SearchDone, ShellDone


class LaunchRefused(Exception):  # noqa: N818 - a public name of the contract
    """A run that cannot be launched: ``problems`` names every reason, each with its path and remedy (P2)."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class ModelFault(Exception):  # noqa: N818 - the field's word for it
    """A model call that failed. ``retryable`` faults (429, 5xx, transport) are waited out within the run's ceilings (C1)."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        status: int | None = None,
        retryable: bool = False,
        auth: bool = False,
        retry_after: float | None = None,
        overflow: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason or message
        """What is the matter, in one line, without the model's name and what to do next, for whoever sees it waited out."""
        self.status = status
        self.retryable = retryable
        self.auth = auth
        self.retry_after = retry_after
        self.overflow = overflow
        """The request is longer than the model's window: no retry cures it, a shorter request may."""
        self.usage = usage
        """What the call spent all the same, where that is known; counted like any other."""


class JournalBroken(Exception):  # noqa: N818
    """The journal could not be written for as long as it is tried (O6). Nothing after the last commit counts."""


class RepositoryBroken(Exception):  # noqa: N818
    """The world refused git work: a full disk, a read-only file system, a damaged store. Says what and where."""


class Model(Protocol):
    """A language model serving one agent."""

    label: str
    """What usage events call it."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer one turn. Raises ModelFault. Cancelled: nothing of the answer is kept.

        A model that learns what a call spends before it is over may also define ``take_spent() -> Usage | None``: what the last
        call spent although it failed or was cut off, given once.
        """

    def bound(self, request: ModelRequest) -> Usage | None:
        """Give an upper bound of what ``reply`` to this request may spend, or None when it cannot be known (C3)."""


def spent_by(model: Model) -> Usage | None:
    """Take what a model's last call spent although nothing came of it; None where it does not know, or was asked already."""
    take_spent: Callable[[], Usage | None] | None = getattr(model, "take_spent", None)
    return None if take_spent is None else take_spent()


class Journal(Protocol):
    """The durable record of the run."""

    async def commit(self, stream: str, entries: Sequence[bytes]) -> None:
        """Append entries to a stream and return once they are durable, in the order asked.

        Raises JournalBroken. Cancelled: the entries may or may not become durable, never a part of them.
        """

    def append(self, stream: str, entries: Sequence[bytes]) -> None:
        """Hand entries over without waiting: durable with, and ordered before, anything committed later."""


class Toolbox(Protocol):
    """The tools one agent is offered, endings excepted. ``wait_for_issue`` is among ``specs``, but the agent serves it itself."""

    specs: tuple[ToolSpec, ...]

    async def call(self, call: ToolCall) -> ToolResult:
        """Carry out one call and answer it, also when it fails or is not offered. Cancelled: no process of it is left."""

    def touches_tree(self, tool: str) -> bool:
        """Tell whether a tool reads or writes the agent's working tree (M6)."""

    async def close(self) -> None:
        """Leave no process and no temporary file behind."""


class Operations(Protocol):
    """The operations one agent's programs are served, endings, views and documentation excepted (X2). Waits are the agent's own."""

    @property
    def operations(self) -> tuple[OperationSpec, ...]:
        """List what is served."""

    async def serve(self, operation: str, args: Mapping[str, Any]) -> ProgramAnswer:
        """Carry out one call by its id and snake_case arguments, unchecked so far. Cancelled: no process of it is left."""

    def touches_tree(self, tool: str) -> bool:
        """Tell whether an operation, by its id, reads or writes the agent's working tree (M6)."""

    def take_notes(self) -> tuple[str, ...]:
        """Take what hooks had to say to the model about calls that were carried out, since the last time."""


class ServedToolbox(Toolbox, Operations, Protocol):
    """Tools and operations of one agent, behind one door."""


class Views(Protocol):
    """What one agent's programs open for its model to read next turn, and the documentation they may open (X3)."""

    async def serve(
        self,
        operation: str,
        args: Mapping[str, Any],
        read: Callable[[str, Mapping[str, Any]], Awaitable[ProgramAnswer]],
    ) -> ProgramAnswer:
        """Carry out a call of ``views`` or ``docs``. ``read`` serves the operation that reads a file."""

    def take_opened(self) -> tuple[str, ...]:
        """Take what was opened since the last time, as texts for the model."""

    def still_open(self) -> tuple[str, ...]:
        """Give the views that were handed over and are still open, the latest last, as texts for a compacted conversation."""


class ProgramRunner(Protocol):
    """The sandbox, as one agent has it: its language, its SDK and its ceilings are settled (X1, X4)."""

    async def run(
        self, program: str, serve: Callable[[str, Mapping[str, Any]], Awaitable[ProgramAnswer]]
    ) -> ProgramResult:
        """Run one program to its end. What ``serve`` raises ends the program and is raised here.

        Cancelled: the program is stopped where it is, and nothing of it happens any more.
        """


class OwnTool(Protocol):
    """A tool of the embedding program. It may also define ``touches_tree``, true when it works in the agent's tree (M6)."""

    @property
    def name(self) -> str:
        """The name a model calls."""

    @property
    def description(self) -> str:
        """What the model is told of it."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema of the arguments; checking them is the tool's own business."""

    async def call(self, args: dict[str, Any]) -> str | Refused | Pictured:
        """Carry out a call. An exception is shown to the model as a failed call and touches nothing else."""


class Delegation(Protocol):
    """One agent's way to other agents: what its delegation calls come to. A refusal changed nothing."""

    def spawn(self, agent: str, prompt: str) -> str | Refused:
        """Start a subagent under the profile ``agent`` and give its id; it queues for a slot of its own."""

    def send(self, agent: str, text: str) -> Refused | None:
        """Leave a text for the agent of that id, to be read before its next turn."""


class Shelf(Protocol):
    """Where one profile's memories on one workspace are kept. What the world refuses is an answer (``io-error``)."""

    async def read(self) -> tuple[Memory, ...] | Refused:
        """Read every memory. Cancelled: nothing has happened."""

    async def change(
        self, decide: Callable[[tuple[Memory, ...]], tuple[Memory, ...] | Refused]
    ) -> tuple[Memory, ...] | Refused:
        """Keep what ``decide`` makes of what is kept, with nobody else's change in between.

        ``decide`` is called in another thread, more than once never. Cancelled: all of the change is kept, or nothing of it.
        """


class Workbench(Protocol):
    """The place where one agent's tools act: a root directory, files, a shell. Refusals and the world's faults are answers."""

    async def read_file(self, path: str, offset: int | None = None, limit: int | None = None) -> FileRead | Refused:
        """Read a file, or ``limit`` lines of it from line ``offset`` (counted from 1) on. A binary file is described."""

    async def write_file(self, path: str, contents: str) -> FileWritten | Refused:
        """Make a file hold exactly ``contents``. Cancelled: it holds its old bytes or the new ones."""

    async def edit_file(self, path: str, old: str, new: str, *, every: bool = False) -> FileEdited | Refused:
        """Replace a text that stands exactly once, or everywhere. Cancelled: as for ``write_file``."""

    async def preview_edit(self, path: str, old: str, new: str, *, every: bool = False) -> str | Refused:
        """Give the whole text the file would hold after that edit, or the refusal ``edit_file`` would answer."""

    async def list_dir(self, path: str = ".") -> DirListed | Refused:
        """List a directory."""

    async def search_files(self, pattern: str, path: str = ".", glob: str | None = None) -> SearchDone | Refused:
        """Find the lines a regular expression matches. Cancelled: nothing goes on."""

    async def run(self, command: str, seconds: float = 120.0) -> ShellDone | Refused:
        """Run a command in the root. Cancelled, timed out or done: no process of it is left."""

    def keep(self, label: str, text: str) -> str | None:
        """Keep a text that is too long to be shown; the path under which the agent reads it, or None."""

    async def close(self) -> None:
        """Remove what was kept. Cancelled: it is removed all the same."""


class Hooks(Protocol):
    """The hooks of one agent, or of the session (docs/reference/hooks.md)."""

    def listens(self, *events: str) -> bool:
        """Tell whether a hook is bound to one of these events."""

    async def fire(self, event: str, payload: Mapping[str, Any] | None = None) -> HookOutcome:
        """Ask every hook of an event, in order. Cancelled: no process and no file of a hook is left."""

    def take_completion(self) -> str | None:
        """Take the summary with which a hook object ends the session (``SessionComplete``), if one did. It is given once."""


class Processes(Protocol):
    """Programs run to their end on behalf of the operator: hooks."""

    async def run(self, order: ProcessOrder) -> ProcessEnded | Refused:
        """Run a program; refused when it could not be started. Cancelled, timed out or done: no process of it is left."""


class SessionComplete(Exception):  # noqa: N818 - a public name of the contract
    """Raised by a hook object to end the agent's session, through the gate like any ending (docs/reference/embedding.md)."""

    def __init__(self, summary: str) -> None:
        super().__init__(summary)
        self.summary = summary


class HookObject(Protocol):
    """A hook of the embedding program: any object with some of these methods, plain or async (docs/reference/embedding.md).

    ``before_generation``, ``after_turn``, ``session_start``, ``session_end``, ``agent_start``, ``agent_stop``, ``pre_write``,
    ``post_write``, ``pre_shell``, ``post_shell``, ``pre_compact``, ``post_compact``. Each is called with one dict, the same
    that a hook process reads on its input. It answers None (go on), a text (a message to the model), or a decision as a
    script prints it: ``{"action": "block", "reason": …}``. It may raise SessionComplete; any other exception is no verdict
    (G2). It runs in trio's thread: what may take long is async.
    """


class Repository(Protocol):
    """Git work of one run. All of it is safe to call from many tasks; merges and main's commits are serialised inside.

    Methods raise RepositoryBroken when the world refuses. Cancelled: a step that began in a thread is completed first.
    """

    facts: RepositoryFacts

    async def open_worktree(self, issue: str) -> OpenedWorktree:
        """Make the issue's worktree from main's tip (W2), or give back the one it has (W3)."""

    async def seal(self, issue: str, signature: Signature, message: str) -> Sealed | SealBlocked:
        """Commit everything unignored of the issue's worktree on the issue's branch (W4)."""

    def branch_of(self, issue: str) -> str | None:
        """Give the branch of the issue's worktree, or None when it has none (any more)."""

    async def describe(self, issue: str) -> str:
        """Say in a line or two what the issue's worktree holds against its base (D5)."""

    async def changes(self, issue: str, commit: str) -> ChangeSummary:
        """Summarise, path by path, what a commit of the issue changes against the issue's base (R2)."""

    async def check_out(self, issue: str, commit: str) -> str | None:
        """Make the issue's worktree and branch exactly ``commit`` again, saving what differed to a hidden ref (R8)."""

    async def begin_conflict(
        self, issue: str, commit: str, signature: Signature, message: str
    ) -> ConflictLeft | Merged | MergeFailed:
        """Leave the conflicted merge of ``commit`` in place in main, as git would (M2)."""

    async def resolution(self) -> Resolved | Unresolved:
        """Ask git whether the merge left in place is concluded as it must be (M3)."""

    async def abort_conflict(self) -> str | None:
        """Put main back exactly as it was before ``begin_conflict`` (M4), saving to a hidden ref what that drops."""

    async def commit_main(self, signature: Signature, message: str) -> Sealed | SealBlocked | None:
        """Commit what agents rooted in main have changed there, in their name (M6). None when there was nothing."""

    async def guard_main(self) -> MainRestored | None:
        """Put main's branch back when a command rewound or switched it (M6)."""

    async def leave_main(self) -> None:
        """Take note of how main was left by those who work in it, so that what others change there is told apart."""

    async def restore_main(self) -> MainRestored | None:
        """Put main back as it was left, saving to a hidden ref what somebody else did there; None when nobody did (M6, R7)."""

    async def merge(self, issue: str, commit: str, signature: Signature, message: str) -> Merged | MergeFailed:
        """Merge exactly ``commit`` into main, or leave main exactly as it was (M1, M4)."""

    async def discard(self, issue: str, *, accepted: bool) -> str | None:
        """Tear the issue's worktree and branch down (W5), saving to a hidden ref what is not in main. Answer that ref."""

    async def land(self) -> Landing:
        """Move the operator's checkout forward to main's tip, all or nothing (W10)."""

    async def close(self) -> None:
        """Leave no worktree of the run registered in the operator's repository and no lock behind."""
