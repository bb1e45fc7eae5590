"""A real MCP server for the tests, over its input and output or over HTTP: ``python mcp_server.py [http|sse [PORT]]``."""

from __future__ import annotations

import os
import sys

from mcp.server.mcpserver import Image, MCPServer

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fcffff3f030005fe02fea735"
    "81840000000049454e44ae426082"
)
server = MCPServer("tests")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def where() -> str:
    """Say where the server works, and what it was given."""
    return f"{os.getcwd()} {os.environ.get('GIVEN')} {os.environ.get('OPERATORS_OWN')}"


@server.tool()
def picture() -> list:
    """Give a picture."""
    return ["a pixel", Image(data=PIXEL, format="png")]


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it cannot be done")


def serve_http(how: str, port: int) -> None:
    """Serve on a port of loopback, 0 for a free one, and say which."""
    import socket

    import uvicorn

    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        sys.stdout.write(f"{taken.getsockname()[1]}\n")
        sys.stdout.flush()
        app = server.sse_app() if how == "sse" else server.streamable_http_app()
        config = uvicorn.Config(app, log_level="error")
        uvicorn.Server(config).run(sockets=[taken])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve_http(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    else:
        server.run("stdio")
