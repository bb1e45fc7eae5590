"""The operations on an agent's own list of tasks (capability ``tasks``). Law: the rules decide; here is only what models read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, field

from ggactors.protocol.crew import TASKS
from ggactors.protocol.program import FieldSpec, ResultSpec, ValueType
from ggactors.protocol.values import Refused
from ggactors.rules.tasks import STATUSES, TaskList
from ggactors.tools.operation import Operation, Param, Shape
from ggactors.tools.results import ID

if TYPE_CHECKING:
    from ggactors.rules.tasks import Task

_TASK = ResultSpec(
    type=ValueType.RECORD,
    fields=(
        *(FieldSpec(name=name, type=ValueType.TEXT) for name in ("id", "title", "description")),
        FieldSpec(name="status", type=ValueType.TEXT, doc=f"{', '.join(STATUSES[:-1])} or {STATUSES[-1]}."),
        FieldSpec(name="blocked_by", type=ValueType.TEXTS, doc="The ids of the tasks it waits for."),
        FieldSpec(name="ready", type=ValueType.FLAG, doc="Whether it is not done and nothing unfinished blocks it."),
    ),
)
_TASKS = ResultSpec(
    type=ValueType.RECORD,
    fields=(FieldSpec(name="tasks", type=ValueType.RECORDS, doc="Each as `add_task` gives one."),),
)
_ID = Param(name="id", doc="The task's id.")
_BLOCKED_BY = Param(name="blocked_by", doc="The ids of the tasks it waits for; all of them.", shape=Shape.TEXTS)

OPERATIONS = (
    Operation(
        id="tasks.add_task",
        tool="add_task",
        doc="Add a task to your own list, which nobody else sees. You choose its id.",
        params=(
            Param(name="id", doc="An id of your choice that no task of the list has."),
            Param(name="title", doc="What is to be done, in a few words."),
            Param(name="description", doc="What else there is to know.", required=False, default="", blank=True),
            Param(
                name="blocked_by",
                doc="The ids of the tasks it waits for.",
                shape=Shape.TEXTS,
                required=False,
                default=(),
            ),
        ),
        capability=TASKS,
        result=_TASK,
    ),
    Operation(
        id="tasks.update_task",
        tool="update_task",
        doc="Change a task's title, description or status. What you leave out stays as it is.",
        params=(
            _ID,
            Param(name="title", doc="The new title.", required=False),
            Param(
                name="description",
                doc="The new description; empty clears it.",
                required=False,
                blank=True,
                clears=True,
            ),
            Param(name="status", doc="The new status.", required=False, choices=STATUSES),
        ),
        one_of=("title", "description", "status"),
        capability=TASKS,
        result=_TASK,
    ),
    Operation(
        id="tasks.set_blocked_by",
        tool="set_blocked_by",
        doc="Replace the set of tasks a task of your list waits for.",
        params=(_ID, _BLOCKED_BY),
        capability=TASKS,
        result=_TASK,
    ),
    Operation(
        id="tasks.complete_task",
        tool="complete_task",
        doc="Mark a task of your list as done.",
        params=(_ID,),
        capability=TASKS,
        result=_TASK,
    ),
    Operation(
        id="tasks.remove_task",
        tool="remove_task",
        doc="Remove a task from your list; whatever waited for it does not any more.",
        params=(_ID,),
        capability=TASKS,
        result=ID,
    ),
    Operation(
        id="tasks.list_tasks",
        tool="list_tasks",
        doc="List your tasks, in the order they were added, and which of them are ready to be worked on.",
        capability=TASKS,
        result=_TASKS,
    ),
)
"""Every operation of the capability."""


@define
class TaskKit:
    """One agent's list of tasks, served; obeys ``toolbox.Kit``."""

    tasks: TaskList = field(factory=TaskList)
    operations: tuple[Operation, ...] = OPERATIONS

    async def call(self, tool: str, args: dict[str, Any]) -> dict[str, Any] | Refused:
        """Carry out one checked call, and give the object the model is shown."""
        match tool:
            case "add_task":
                done = self.tasks.add(args["id"], args["title"], args["description"], args["blocked_by"])
            case "update_task":
                given = {name: args[name] for name in ("title", "description", "status")}
                done = self.tasks.update(args["id"], **given)
            case "set_blocked_by":
                done = self.tasks.set_blocked_by(args["id"], args["blocked_by"])
            case "complete_task":
                done = self.tasks.update(args["id"], status="done")
            case "remove_task":
                return self.tasks.remove(args["id"]) or {"id": args["id"]}
            case "list_tasks":
                return {"tasks": [_shown(task) for task in self.tasks.tasks()]}
            case _:
                raise AssertionError(f"{tool} is no call on tasks")
        return done if isinstance(done, Refused) else _shown(done)


def _shown(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "status": task.status,
        "blockedBy": list(task.blocked_by),
        "ready": task.ready,
    }
