"""Sends requests when they are due, over connections that each wait for their answer, and takes the times.

A request whose time has come while all connections wait is sent when one is free, and its latency counts from
when it was due: a server that stalls is charged for all requests that would have come meanwhile (coordinated
omission is what leaves them out; see Gil Tene's wrk2).
"""

import errno
import gc
import os
import select
import socket
import time

from reap.base.errors import ExitCode, ReapError
from reap.load import analyse
from reap.load.records import Asked, Times

PATIENCE = 10.0
"""Seconds without any answer after which the load has failed."""
_BEGINS = 0.01
"""Seconds until the first request is due."""
_BLOCK = 1 << 16


class _Connection:
    """One to a server, made when a request needs it: a server may serve one at a time, and close each."""

    def __init__(self, asked: Asked, made: socket.socket) -> None:
        self._asked = asked
        self._family, self._address = made.family, made.getpeername()
        self._socket: socket.socket | None = None
        self._unsent = b""
        self.free_since = self.due = 0.0
        self.received = b""

    def fileno(self) -> int:
        """For select."""
        return self._socket.fileno() if self._socket else -1

    @property
    def is_connecting(self) -> bool:
        """Whether it waits until it can be written to."""
        return bool(self._unsent)

    def use(self, made: socket.socket) -> None:
        """Takes a connection that is there."""
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = made

    def send(self, request: bytes, due: float) -> None:
        """Sends it, or begins to connect. Throws OSError."""
        self.due, self.received = due, b""
        if self._socket and select.select([self._socket], [], [], 0)[0]:
            self.close()  # nothing was asked of it: the server has ended it, as it may with one that is idle
        if self._socket:
            self._socket.sendall(request)
            return
        self._unsent = request
        made = socket.socket(self._family, socket.SOCK_STREAM)
        made.setblocking(False)
        self.use(made)
        failed = made.connect_ex(self._address)
        if failed not in (0, errno.EINPROGRESS):
            raise OSError(failed, os.strerror(failed))

    def connected(self) -> None:
        """Sends what waits for the connection. Throws OSError."""
        assert self._socket is not None  # noqa: S101 - it connects
        if failed := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(failed, os.strerror(failed))
        self._socket.settimeout(PATIENCE)
        request, self._unsent = self._unsent, b""
        self._socket.sendall(request)

    def answered(self) -> bool:
        """Takes what has come; whether that is all of the answer. Throws OSError."""
        assert self._socket is not None  # noqa: S101 - it has been sent to
        more = self._socket.recv(_BLOCK)
        self.received += more
        protocol = self._asked.protocol
        if not more and not (protocol == "http" and b"\r\n\r\n" in self.received):
            raise ConnectionResetError("the server closed the connection before it answered")
        if more and not analyse.is_whole(protocol, self.received):
            return False
        if not more or analyse.closes(protocol, self.received):
            self.close()
        return True

    def close(self) -> None:
        """Ends it, if it is there."""
        if self._socket:
            self._socket.close()
        self._socket = None


def load(asked: Asked) -> Times:
    """Makes all requests. Throws ReapError where the server cannot be reached, or stops answering."""
    connections: list[_Connection] = []
    gc.disable()  # a collection would delay requests
    try:
        made = socket.create_connection((asked.host, asked.port), PATIENCE)
        connections += [_Connection(asked, made) for _ in range(asked.connections)]
        connections[0].use(made)
        return _loaded(asked, connections)
    except OSError as error:
        raise ReapError(
            f"no answers from {asked.host}:{asked.port}: {error}",
            "is the server running, and does it speak this protocol?",
            ExitCode.FAILED,
        ) from error
    finally:
        gc.enable()
        for each in connections:
            each.close()


def _loaded(asked: Asked, connections: list[_Connection]) -> Times:
    # The one that was used last comes first, as in pools of clients: the others need not be made.
    free, busy = connections[::-1], set[_Connection]()
    latencies: list[float] = []
    late: list[float] = []
    failed, failure = 0, ""
    begin = time.perf_counter() + _BEGINS
    sent = 0
    while len(latencies) < asked.count:
        now = time.perf_counter()
        while free and sent < asked.count and (due := begin + sent / asked.rate) <= now:
            connection = free.pop()
            request = asked.requests[sent % len(asked.requests)]
            connection.send(analyse.numbered(asked.protocol, request, sent % asked.keys), due)
            late.append(time.perf_counter() - max(due, connection.free_since))
            busy.add(connection)
            sent += 1
            now = time.perf_counter()
        waits = begin + sent / asked.rate - now if free and sent < asked.count else PATIENCE
        connecting = [each for each in busy if each.is_connecting]
        ready, writable, _ = select.select(busy, connecting, [], max(0.0, waits))
        if not ready and not writable and waits == PATIENCE:
            raise TimeoutError(f"none within {PATIENCE:g} s")
        for connection in writable:
            connection.connected()
        for connection in ready:
            if connection in writable or not connection.answered():
                continue
            answer = connection.received
            connection.free_since = time.perf_counter()
            latencies.append(connection.free_since - connection.due)
            busy.remove(connection)
            free.append(connection)
            if analyse.has_failed(asked.protocol, answer):
                failed += 1
                failure = failure or answer[:100].decode(errors="replace").partition("\r\n")[0]
    seconds = time.perf_counter() - begin
    return Times(
        seconds=seconds, latencies=sorted(latencies), late=sorted(late), failed=failed, failure=failure
    )
