"""Script files of the crew's folder, pinned by their content at launch (G2, H39).

Law: what was read at launch is what runs. The file itself is only looked at again to see whether somebody changed it, and then
nothing of it runs. It is read without following a link's later change of mind and without waiting for anybody.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.protocol.hooks import ScriptAction
from ggactors.protocol.values import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ggactors.protocol.hooks import HookSpec

LARGEST = 1024 * 1024
"""The most bytes a script file may have."""


@frozen(kw_only=True)
class Pin:
    """A script file as it was at launch. ``digest`` is the SHA-256 of its content, in hexadecimal."""

    path: str
    content: bytes
    digest: str

    def change(self) -> str | None:
        """Say how the file differs from what was pinned, or None when it does not."""
        try:
            now = _read(self.path)
        except OSError as error:
            return f"the script {self.path} was changed after the launch: it cannot be read any more ({error.strerror})"
        if hashlib.sha256(now).hexdigest() == self.digest:
            return None
        return f"the script {self.path} was changed after the launch; what was pinned then is not run in its place"


@frozen(kw_only=True)
class Pinned:
    """What the script files of a crew came to: a pin for each ``file`` as the crew writes it, and a problem for each reason not."""

    pins: Mapping[str, Pin]
    problems: tuple[Problem, ...] = ()


def pin_files(hooks: Iterable[HookSpec], folder: str) -> Pinned:
    """Read every script file that hooks name, once each. ``folder`` is the crew's. Blocking; raises nothing."""
    pins: dict[str, Pin] = {}
    problems: list[Problem] = []
    for hook in hooks:
        match hook.action:
            case ScriptAction(file=str() as file):
                try:
                    pins[file] = pins.get(file) or _pin(file, folder)
                except OSError as error:
                    where = f"{hook.path}.action.file" if hook.path else file
                    what = f"the script {file!r} cannot be had: {error.strerror or error}"
                    problems.append(Problem(path=where, what=what, remedy="name a file of the crew's folder"))
            case _:
                pass
    return Pinned(pins=pins, problems=tuple(problems))


def _pin(file: str, folder: str) -> Pin:
    return pin_script(os.path.join(os.path.abspath(folder), file))  # noqa: PTH100, PTH118 - links stay as they are spelled


def pin_script(path: str) -> Pin:
    """Pin the script at an absolute path. Raises OSError when it cannot be had."""
    content = _read(path)
    return Pin(path=path, content=content, digest=hashlib.sha256(content).hexdigest())


def _read(path: str) -> bytes:
    # Not blocking: a pipe that took the file's place must not hold the run up.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(0, f"it is larger than {LARGEST} bytes")
    return content
