"""The socket of a living run, and asking it something from another process (O3).

Law: the socket lies in the run's folder, which is the operator's alone. A request is one JSON object on one line, and so is the
answer: ``{"ok": true, …}``, or ``{"ok": false, "reason": …}``.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ggactors.store.folder import RunFolder

LONGEST = 64 * 1024
"""Bytes a request or an answer may have."""
ADDRESS = 100
"""Bytes that every system takes in the address of a socket."""
PATIENCE_SECS = 30.0


class NotReached(Exception):  # noqa: N818 - the caller words it
    """No living run answers at that socket; the message says why."""


@contextmanager
def address_of(folder: RunFolder) -> Iterator[str]:
    """Give the address of a run's socket; a longer path than sockets take is reached through its open folder.

    Raises OSError where that cannot be had.
    """
    path = folder.socket
    if len(os.fsencode(path)) <= ADDRESS:
        yield str(path)
        return
    if not sys.platform.startswith("linux"):
        raise OSError(f"the path {path} is too long for a socket")
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)


def ask_run(folder: RunFolder, request: dict[str, Any], *, patience: float = PATIENCE_SECS) -> dict[str, Any]:
    """Ask a living run and give its answer. ``patience`` is how many seconds it may take. Raises NotReached."""
    try:
        with address_of(folder) as address, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(patience)
            line.connect(address)
            line.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(_read_line(line))
    except (FileNotFoundError, ConnectionError) as error:
        raise NotReached("nobody listens there") from error
    except TimeoutError as error:
        raise NotReached(f"it did not answer within {patience:g} s") from error
    except OSError as error:
        raise NotReached(error.strerror or str(error)) from error
    except ValueError as error:
        raise NotReached("its answer cannot be read") from error
    if not isinstance(answer, dict):
        raise NotReached("its answer cannot be read")
    return answer


def _read_line(line: socket.socket) -> bytes:
    text = b""
    while not text.endswith(b"\n") and len(text) < LONGEST:
        piece = line.recv(4096)
        if not piece:
            break
        text += piece
    return text
