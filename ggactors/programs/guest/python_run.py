"""The Python arm's guest side, second part: it parks until there is a program, compiles and runs it, and reports how it ended.

The host puts it behind the first part, whose names it uses.
"""
# ruff: noqa: TC004 - what it imports for the type checker is there at run time, from the first part

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any, NoReturn

    from ggactors.programs.guest.python_sdk import Error, ask, make_gg, text_of

_AWAIT = "__gg_await__"
_TOP_LEVEL_AWAIT, _ONLY_TREE = 0x2000, 0x400
_MOST_FRAMES = 12


class Source:
    """Gives ``traceback`` and ``inspect`` the program's text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, _name: str) -> str:
        """Give the text of the module asked for; there is one."""
        return self.text


class AsyncioPatch:
    """An import hook that makes asyncio run where there are no sockets, and calls of ``gg`` pass where a future is expected."""

    def find_spec(self, name: str, path: Any = None, _target: Any = None) -> Any:
        """Find asyncio as the interpreter would, and have it patched once it is there."""
        if name != "asyncio":
            return None
        from importlib.machinery import PathFinder

        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = PatchingLoader(spec.loader)  # type: ignore[assignment]
        return spec


class PatchingLoader:
    """Loads asyncio as its own loader would, and patches it. A loader of its own, since theirs may be shared with other modules."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, then patch it."""
        self._loader.exec_module(module)
        _patch_asyncio(module)


def _patch_asyncio(asyncio: Any) -> None:
    import time

    class Selector:
        def select(self, wait: float | None = None) -> list[Any]:
            if wait is None:
                raise RuntimeError("deadlock: everything waits and nothing can happen any more")
            if wait > 0:
                time.sleep(wait)
            return []

        def close(self) -> None: ...

    class Loop(asyncio.BaseEventLoop):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._selector = Selector()

        def _process_events(self, _events: Any) -> None: ...

        def _write_to_self(self) -> None: ...

        def run_in_executor(self, _executor: Any, call: Callable[..., Any], *args: Any) -> Any:
            future = self.create_future()
            try:
                future.set_result(call(*args))
            except Exception as error:  # noqa: BLE001 - the future's to raise
                future.set_exception(error)
            return future

    class Policy(asyncio.events.BaseDefaultEventLoopPolicy):  # type: ignore[misc]
        _loop_factory = Loop

    tasks = asyncio.tasks
    ensure = tasks.ensure_future

    def ensure_future(value: Any, *, loop: Any = None) -> Any:
        if hasattr(value, "__await__"):
            return ensure(value, loop=loop)
        future = (loop or asyncio.get_event_loop()).create_future()
        future.set_result(value)
        return future

    tasks.ensure_future = asyncio.ensure_future = ensure_future
    asyncio.set_event_loop_policy(Policy())


async def _passing(value: Any) -> Any:
    """Await what can be awaited; give anything else back: calls of ``gg`` have their result at once."""
    return (await value) if hasattr(value, "__await__") else value


def _compile(text: str, name: str) -> Any:
    if "await" not in text:
        return compile(text, name, "exec")
    import ast

    tree = compile(text, name, "exec", _TOP_LEVEL_AWAIT | _ONLY_TREE)
    for node in ast.walk(tree):
        if isinstance(node, ast.Await):
            hidden = ast.copy_location(ast.Name(_AWAIT, ast.Load()), node.value)
            node.value = ast.copy_location(ast.Call(hidden, [node.value], []), node.value)
    return compile(tree, name, "exec", _TOP_LEVEL_AWAIT)


def _run(code: Any, names: dict[str, Any], *, asynchronous: bool) -> None:
    result = eval(code, names)  # noqa: S307 - the program is what this is for
    if not hasattr(result, "send"):
        return
    if asynchronous:  # top-level await of real futures needs a loop
        import asyncio

        with asyncio.Runner() as runner:
            runner.run(result)
        return
    try:
        while True:
            result.send(None)
    except StopIteration:
        pass


def _frames(error: BaseException, name: str) -> list[list[Any]]:
    found: list[list[Any]] = []
    at = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if code.co_filename == name:
            found.append([at.tb_lineno, code.co_name])
        at = at.tb_next
    if len(found) > _MOST_FRAMES:
        found[_MOST_FRAMES // 2 : -_MOST_FRAMES // 2] = []
    return found


def _kind(error: BaseException) -> str:
    kind = type(error)
    return (
        kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


def _causes(error: BaseException, name: str) -> Iterator[dict[str, Any]]:
    seen = {id(error)}
    for _ in range(3):
        under = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if under is None or id(under) in seen:
            return
        seen.add(id(under))
        error = under
        yield {"type": _kind(error), "message": text_of(error), "frames": _frames(error, name)[-1:]}


def _raised(error: BaseException, name: str) -> dict[str, Any]:
    report: dict[str, Any] = {"end": "raised", "type": _kind(error), "message": text_of(error)}
    report["frames"] = _frames(error, name)
    report["causes"] = list(_causes(error, name))
    if isinstance(error, Error):
        report |= {"code": error.code, "operation": error.operation}
    if isinstance(error, BaseExceptionGroup):
        report["parts"] = [
            {"type": _kind(one), "message": text_of(one), "frames": _frames(one, name)[-1:]}
            for one in error.exceptions[:5]
        ]
    return report


def _execute(order: dict[str, Any]) -> dict[str, Any]:
    text, name = order["source"], order["name"]
    main = ModuleType("__main__")
    main.__dict__.update(
        {
            "gg": make_gg(order["sdk"]),
            "__builtins__": __builtins__,
            "__loader__": Source(text),
            "__file__": name,
            _AWAIT: _passing,
        }
    )
    sys.modules["__main__"] = main
    sys.meta_path.insert(0, AsyncioPatch())
    try:
        code = _compile(text, name)
    except SyntaxError as error:
        return {"end": "uncompiled", "type": type(error).__name__, "message": error.msg, "line": error.lineno}
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return {"end": "uncompiled", "type": type(error).__name__, "message": text_of(error), "line": None}
    try:
        _run(code, main.__dict__, asynchronous="asyncio" in text)
    except SystemExit as error:
        status = error.code
        return {"end": "exit", "status": status if status is None or type(status) is int else text_of(error)}
    except BaseException as error:  # noqa: BLE001 - every end is reported
        return _raised(error, name)
    return {"end": "ok"}


def _boot() -> NoReturn:
    """Park until there is a program; run it; report."""
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    sys.stderr = sys.__stderr__ = sys.__stdout__ = sys.stdout  # type: ignore[misc, assignment]
    sys.stdin = sys.__stdin__ = None  # type: ignore[misc]
    sys.argv = ["program.py"]
    sys.setrecursionlimit(1000)
    compile("", "<gg>", "exec")  # the first one sets the compiler up, which takes longer than most programs
    report = _execute(ask({"ready": True}))
    try:
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - the program may have put anything there
        report.setdefault("unflushed", True)
    ask(report)
    raise SystemExit


_boot()
