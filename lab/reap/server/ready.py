"""Check that a server can be loaded: by a connection, by a page, or by a line that it writes."""

import contextlib
import http.client
import socket
from pathlib import Path

from reap.base.errors import ExitCode, ReapError
from reap.server.records import PORT, Ready

_PATIENCE = 1.0
"""Seconds for one try."""
_GOOD = range(200, 400)
_PORTS = range(1, 65536)


def parsed(text: str, *, has_port: bool) -> Ready:
    """Parses `--ready`. Throws ReapError for what cannot be waited for."""
    kind, colon, rest = text.partition(":")
    if kind == "line" and rest:
        return Ready(port=0, line=rest)
    port, path = "", ""
    if kind == "tcp":
        port = rest
    elif kind == "http" and "/" in rest:
        port, _, tail = rest.partition("/")
        path = f"/{tail}"
    if kind not in ("tcp", "http") or (kind == "http" and not path) or (colon and kind == "tcp" and not port):
        raise ReapError(
            f"--ready {text} is neither tcp, tcp:PORT, http:/PATH, http:PORT/PATH nor line:TEXT",
            "--ready tcp waits until the server accepts connections on {port}",
            ExitCode.USAGE,
        )
    if port and not (port.isdecimal() and int(port) in _PORTS):
        raise ReapError(f"--ready {text}: {port} is no port", "a port is from 1 to 65535", ExitCode.USAGE)
    if not port and not has_port:
        raise ReapError(
            f"--ready {text} does not say on which port, and there is no {PORT} in --server",
            f"write {PORT} for the port in --server and --load, or --ready {kind}:6379{path}",
            ExitCode.USAGE,
        )
    return Ready(port=int(port or 0), path=path)


def accepts(port: int) -> bool:
    """Whether something on this machine accepts connections there."""
    try:
        with socket.create_connection(("localhost", port), _PATIENCE):
            return True
    except OSError:
        return False


def is_ready(ready: Ready, output: Path) -> bool:
    """Whether the line is in the output; or the server accepts connections, or answers a page below 400."""
    if ready.line:
        return ready.line.encode() in output.read_bytes() if output.exists() else False
    if not ready.path:
        return accepts(ready.port)
    connection = http.client.HTTPConnection("localhost", ready.port, timeout=_PATIENCE)
    with contextlib.closing(connection):
        try:
            connection.request("GET", ready.path)
            return connection.getresponse().status in _GOOD
        except (OSError, http.client.HTTPException):
            return False


def missing(ready: Ready) -> str:
    """Sign of a server that is not ready and does not come, in words."""
    if ready.line:
        return f"it has not written '{ready.line}'"
    if ready.path:
        return f"no good answer from http://localhost:{ready.port}{ready.path}"
    return f"no connection to port {ready.port}"


def free_ports(count: int) -> list[int]:
    """So many ports on which nothing listens now."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("localhost", 0))
        return [each.getsockname()[1] for each in held]
