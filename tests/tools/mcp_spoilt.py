"""A small MCP server that misbehaves on demand; it speaks the protocol by hand, so that it starts at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

TOOLS = ("echo", "die", "hang", "deaf", "spawn", "garbage", "big", "bad-args", "a.b", "pid")


def say(message: dict) -> None:
    """Send a message."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(message: dict, result: dict) -> None:
    """Answer a request."""
    say({"jsonrpc": "2.0", "id": message["id"], "result": result})


def text(said: str) -> dict:
    """Make the result of a call."""
    return {"content": [{"type": "text", "text": said}]}


def call(message: dict) -> None:
    """Carry a call out, or not."""
    name = message["params"]["name"]
    said = message["params"].get("arguments", {}).get("text", "")
    if name == "die":
        sys.stderr.write("out of memory, they say\n")
        sys.exit(3)
    if name == "hang":
        return
    if name == "deaf":
        signal.pause()
    if name == "spawn":  # something that outlives its parent, in a session of its own
        child = subprocess.Popen(["/bin/sh", "-c", "sleep 600 & sleep 600"], start_new_session=True)
        said = str(child.pid)
    if name == "garbage":
        sys.stdout.write("this is no message\n{}\n")
    if name == "big":
        said = "x" * 2_000_000
    if name == "bad-args":
        error = {"code": -32602, "message": "no such argument"}
        say({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return
    answer(message, text(str(os.getpid()) if name == "pid" else said or "fine"))


def main() -> None:
    """Serve until the input ends, or, when told so, for ever."""
    if sys.argv[1:2] == ["mute"]:
        signal.pause()
    if sys.argv[1:2] == ["broken"]:
        sys.exit("cannot find my own head")
    names = sys.argv[1:] or TOOLS
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                info = {"name": "spoilt", "version": "1"}
                wanted = message["params"]["protocolVersion"]
                answer(message, {"protocolVersion": wanted, "capabilities": {"tools": {}}, "serverInfo": info})
            case "tools/list":  # one page a tool
                at = int(message.get("params", {}).get("cursor") or 0)
                more = {"nextCursor": str(at + 1)} if at + 1 < len(names) else {}
                schema = {"type": "object", "properties": {"text": {"type": "string"}}}
                answer(message, {"tools": [{"name": names[at], "inputSchema": schema}], **more})
            case "tools/call":
                call(message)
            case "ping":
                answer(message, {})
            case _:
                pass


main()
