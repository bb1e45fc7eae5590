"""A model that is a Python callable of the crew's folder. Law: what it raises is ``model_error``, never ours.

The callable is given one ``View`` and answers one entry. A View is read both ways, ``request.agent`` and ``request["agent"]``, and
cannot be changed:

- ``v`` (1), ``agent``, ``profile``, ``role`` (``standard`` or ``review``), ``issue`` (or None), ``turn`` (from 1)
- ``messages``: Views of ``role``, ``text``, ``calls`` (Views of ``id``, ``tool``, ``args``) and ``results`` (Views of ``id``,
  ``tool``, ``ok``, ``output``, ``code``)
- ``tools``: Views of ``name``, ``description``, ``schema``
"""

from __future__ import annotations

import copy
import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NoReturn

import trio
from attrs import field, frozen

from ggactors.models.entries import Entry, read_entry, shorten
from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelTraits
from ggactors.rules.document import plain
from ggactors.rules.shape import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ggactors.protocol.model import Message, ModelReply, ModelRequest, Usage
    from ggactors.protocol.values import Problem

LONGEST = 400
"""How many characters of an exception are told."""

VERSION = 1
"""``v`` of the request: raised when a field of it changes its meaning."""


class View(Mapping[str, Any]):
    """A frozen record that is read by key and by attribute alike."""

    __slots__ = ("_fields",)

    def __init__(self, **fields: object) -> None:
        """Hold ``fields``."""
        object.__setattr__(self, "_fields", fields)

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"no field {name!r}; there are {', '.join(self._fields)}") from None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name!r} cannot be set: a request is read only")

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"View({', '.join(f'{key}={value!r}' for key, value in self._fields.items())})"

    _fields: dict[str, Any]


def view_of(request: ModelRequest) -> View:
    """Show a request the way a callable reads it."""
    return View(
        v=VERSION,
        agent=request.agent,
        profile=request.profile,
        role=str(request.role),
        issue=request.issue,
        turn=request.turn,
        messages=tuple(_message(message) for message in request.messages),
        tools=tuple(
            View(name=t.name, description=t.description, schema=copy.deepcopy(t.schema)) for t in request.tools
        ),
    )


def _message(message: Message) -> View:
    return View(
        role=message.role,
        text=message.text,
        calls=tuple(View(id=call.id, tool=call.tool, args=copy.deepcopy(call.args)) for call in message.calls),
        results=tuple(
            View(id=result.call_id, tool=result.tool, ok=result.ok, output=result.output, code=result.code)
            for result in message.results
        ),
    )


@frozen
class PythonSource:
    """A callable ready to serve every agent of a run; what it remembers between calls is its own affair."""

    label: str
    answer: Callable[[View], Any]
    file: str
    limiter: trio.CapacityLimiter
    traits: ModelTraits = field(factory=ModelTraits)

    def model_for(self, agent: str, profile: str) -> PythonModel:  # noqa: ARG002 - the same callable serves all
        """Make the model of one agent."""
        return PythonModel(self)


class PythonModel:
    """One agent's use of a callable. Obeys ``ports.Model``."""

    def __init__(self, source: PythonSource) -> None:
        """Serve from ``source``."""
        self.label = source.label
        self._source = source

    @trio.lowlevel.enable_ki_protection
    async def reply(self, request: ModelRequest) -> ModelReply:
        """Call the callable once and answer its entry, after its delay. Raises ModelFault.

        Protected, so that a KeyboardInterrupt in here is the callable's own; a person's is raised elsewhere. Cancelled: a
        synchronous call runs to its end in its thread, its answer is dropped.
        """
        entry = self._entry(await self._ask(view_of(request)))
        await trio.sleep(entry.delay)
        if entry.fault is not None:
            raise entry.fault.fault(self.label)
        return entry.reply(request.turn)

    def bound(self, request: ModelRequest) -> Usage | None:  # noqa: ARG002 - the port's shape
        """Answer None: what a callable will say it spent cannot be known."""
        return None

    async def _ask(self, view: View) -> object:
        answer = self._source.answer
        try:
            if _is_async(answer):
                return await answer(view)
            # Boxed, since a plain function may hand out a coroutine (a lambda, a partial), and trio's threads refuse those.
            (said,) = await trio.to_thread.run_sync(
                lambda: (answer(view),), abandon_on_cancel=True, limiter=self._source.limiter
            )
            return await said if inspect.isawaitable(said) else said
        except BaseException as error:  # noqa: ASYNC103 - what trio cancels with is raised again
            if _is_flow(error):
                raise
            raise ModelFault(f"{self.label} raised {_said(error, self._source.file)}") from error  # noqa: ASYNC104

    def _entry(self, said: object) -> Entry:
        if not isinstance(said, Mapping):
            raise ModelFault(
                f"{self.label} answered a {type(said).__name__}; it must answer an entry, such as {{'text': '…'}}"
            )
        try:
            copied = plain(said)
        except BaseException as error:  # a mapping of the callable's own making may do anything when it is read
            what = f"{self.label} answered what cannot be read: {_said(error, self._source.file)}"
            raise ModelFault(what) from error  # noqa: ASYNC104 - nothing is awaited there
        found: list[Problem] = []
        entry = read_entry(Place(copied.value, "", found))
        problems = copied.problems or tuple(found)
        if "repeat" in said:
            raise ModelFault(f"{self.label} answered a repeat; it is asked once per attempt, so remove it")
        if entry is None or problems:
            raise ModelFault(f"{self.label} answered no entry: {shorten(problems)}")
        return entry


def load_callable(path: Path, name: str) -> Callable[[View], Any]:
    """Execute a Python file as a module of its own and find a callable in it. Raises ModelFault saying what is in the way.

    The file's folder is not put on ``sys.path``. Every load executes the file anew.
    """
    module_name = f"ggactors_crew_{sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ModelFault(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and annotations look their module up by name.
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise ModelFault(f"{path.name} cannot be loaded: {_said(error, str(path))}") from error
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise ModelFault(f"{path.name} has no {name!r}")
    if not callable(found):
        raise ModelFault(f"{name!r} in {path.name} is a {type(found).__name__}, not a callable")
    answer: Callable[[View], Any] = found
    return answer


def unlimited() -> trio.CapacityLimiter:
    """Make the limiter of a callable's threads: running slots limit how many agents ask, nothing else has to."""
    return trio.CapacityLimiter(math.inf)


def _is_async(answer: Callable[[View], Any]) -> bool:
    return inspect.iscoroutinefunction(answer) or inspect.iscoroutinefunction(getattr(answer, "__call__", None))  # noqa: B004


def _is_flow(error: BaseException) -> bool:
    """Tell whether an error belongs to whoever runs the callable: its cancellation, its being given up."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_flow, error.exceptions))
    return isinstance(error, trio.Cancelled | GeneratorExit)


def _said(error: BaseException, file: str) -> str:
    """Say an exception in one line, with the last line of ``file`` it came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    where = f" (line {frames[-1].lineno} of {frames[-1].name})" if frames else ""
    kind = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - not even its text can be had
        text = ""
    said = f"{kind}: {text}" if text else kind
    return f"{said[:LONGEST]}{'…' if len(said) > LONGEST else ''}{where}"
