"""Hooks made ready for whoever they belong to: one agent, or the session. Law: it decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.hooks.runner import HookRunner
from ggactors.hooks.subject import Subject
from ggactors.hooks.toolbox import HookedToolbox
from ggactors.tools.process import LocalProcesses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ggactors.app.launch import Launch
    from ggactors.ports import ServedToolbox, Workbench
    from ggactors.protocol.agent import AgentOrder
    from ggactors.protocol.crew import Profile
    from ggactors.protocol.events import Event
    from ggactors.protocol.hooks import HookSpec
    from ggactors.store.folder import RunFolder
    from ggactors.tools.mask import Mask

AROUND_TOOLS = ("pre-write", "post-write", "pre-shell", "post-shell")
SESSION = "session"


@frozen(kw_only=True)
class Hooking:
    """Makes the runners of a run's hooks."""

    launch: Launch
    folder: RunFolder
    emit: Callable[[Event], None]
    mask: Mask
    arm: Callable[[], None]
    """Arms the run's watchdog, before a process is started."""

    def of_agent(self, order: AgentOrder, profile: Profile, env: Mapping[str, str]) -> HookRunner:
        """Make the runner of an agent's hooks. Its processes get the environment of the agent's commands."""
        return self._runner(Subject.of_agent(order, self.folder.id), profile.hooks, env, order.id)

    def of_session(self, root: AgentOrder, env: Mapping[str, str]) -> HookRunner:
        """Make the runner of the session's own hooks, which work where the root does."""
        subject = Subject(session=self.folder.id, folder=root.workdir, branch=root.branch)
        nobodys = {name: value for name, value in env.items() if name != "GGACTORS_AGENT"}
        return self._runner(subject, self.launch.crew.hooks, nobodys, SESSION)

    def around(self, toolbox: ServedToolbox, hooks: HookRunner, bench: Workbench, root: str) -> ServedToolbox:
        """Put a toolbox between its hooks, if there are any to be asked."""
        if not hooks.listens(*AROUND_TOOLS):
            return toolbox
        return HookedToolbox(inner=toolbox, hooks=hooks, root=root, bench=bench)

    def _runner(self, subject: Subject, hooks: Sequence[HookSpec], env: Mapping[str, str], name: str) -> HookRunner:
        scratch = self.folder.outputs / name
        return HookRunner(
            subject=subject,
            processes=LocalProcesses(scratch=scratch, mask=self.mask, agent=name, arm=self.arm),
            emit=self.emit,
            hooks=hooks,
            objects=self.launch.hooks,
            env=env,
            scratch=str(scratch),
            crew_folder=self.launch.crew.folder,
            pins=self.launch.pins,
            verification=self.launch.verification,
            mask=self.mask.text,
        )
