"""The OpenTelemetry exporter as a run has it (T1). Law: what goes wrong there is said once, and is never the run's affair."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

import trio

from ggactors.protocol.events import Log
from ggactors.telemetry.otel import OtelExport, choose_otel

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AsyncExitStack

    from ggactors.app.launch import Launch
    from ggactors.protocol.crew import Crew
    from ggactors.protocol.events import Header
    from ggactors.protocol.values import Problem
    from ggactors.runtime.bus import EventBus


def telemetry_problems(crew: Crew | None) -> list[Problem]:
    """List why the exporter that a crew asks for cannot be had."""
    problem = None if crew is None else choose_otel(crew.telemetry, os.environ).problem
    return [] if problem is None else [problem]


def open_export(
    launch: Launch, bus: EventBus, mask: Callable[[str], str], note: Callable[[str], None], stack: AsyncExitStack
) -> None:
    """Send the run's spans from now on, if that was asked for. They are sent to the end when the stack is left."""
    choice = choose_otel(launch.crew.telemetry, os.environ)
    if choice.note is not None:
        note(choice.note)
    if choice.settings is None:
        return
    token = trio.lowlevel.current_trio_token()
    closing = False

    def tell(message: str) -> None:
        # The segment is closed by then: what is said of the last spans is no event of it.
        if closing:
            note(message)
        else:
            bus.emit(Log(level="warning", message=message))

    export = OtelExport(
        settings=choice.settings,
        providers={profile.id: profile.model.provider for profile in launch.crew.profiles},
        mask=mask,
        say=lambda message: token.run_sync_soon(tell, message),
    )

    async def close() -> None:
        nonlocal closing
        closing = True
        hurry = trio.current_effective_deadline() <= trio.current_time()  # stopped at once
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(export.close, 1.0 if hurry else None)

    stack.push_async_callback(close)
    bus.add_sink(cast("Callable[[Header], None]", export))
