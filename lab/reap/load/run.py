"""Sends requests when they are due, over connections that each wait for their answer, and takes the times.

A request whose time has come while all connections wait is sent when one is free, and its latency counts from
when it was due: a server that stalls is charged for all requests that would have come meanwhile (coordinated
omission is what leaves them out; see Gil Tene's wrk2).
"""

import gc
import select
import socket
import time
from collections import deque

from reap.base.errors import ExitCode, ReapError
from reap.load import analyse
from reap.load.records import Asked, Times

PATIENCE = 10.0
"""Seconds without any answer after which the load has failed."""
_BEGINS = 0.01
"""Seconds until the first request is due."""
_BLOCK = 1 << 16


class _Connection:
    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.free_since = self.due = 0.0
        self.received = b""
        self.socket = self._connected()

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, request: bytes, due: float) -> None:
        self.due, self.received = due, b""
        self.socket.sendall(request)

    def answered(self) -> bool:
        """Takes what has come; whether that is all of the answer. Throws OSError."""
        more = self.socket.recv(_BLOCK)
        self.received += more
        protocol = self._asked.protocol
        ended = not more
        if ended and not (protocol == "http" and b"\r\n\r\n" in self.received):
            raise ConnectionResetError("the server closed the connection before it answered")
        if not ended and not analyse.is_whole(protocol, self.received):
            return False
        if ended or analyse.closes(protocol, self.received):
            self.socket.close()
            self.socket = self._connected()
        return True

    def _connected(self) -> socket.socket:
        made = socket.create_connection((self._asked.host, self._asked.port), PATIENCE)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made


def load(asked: Asked) -> Times:
    """Makes all requests. Throws ReapError where the server cannot be reached, or stops answering."""
    connections: list[_Connection] = []
    gc.disable()  # a collection would delay requests
    try:
        connections += [_Connection(asked) for _ in range(asked.connections)]
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
            each.socket.close()


def _loaded(asked: Asked, connections: list[_Connection]) -> Times:
    free, busy = deque(connections), set[_Connection]()
    latencies: list[float] = []
    late: list[float] = []
    failed, failure = 0, ""
    begin = time.perf_counter() + _BEGINS
    sent = 0
    while len(latencies) < asked.count:
        now = time.perf_counter()
        while free and sent < asked.count and (due := begin + sent / asked.rate) <= now:
            connection = free.popleft()
            request = asked.requests[sent % len(asked.requests)]
            connection.send(analyse.numbered(asked.protocol, request, sent % asked.keys), due)
            late.append(time.perf_counter() - max(due, connection.free_since))
            busy.add(connection)
            sent += 1
            now = time.perf_counter()
        waits = begin + sent / asked.rate - now if free and sent < asked.count else PATIENCE
        ready = select.select(busy, [], [], max(0.0, waits))[0]
        if not ready and waits == PATIENCE:
            raise TimeoutError(f"none within {PATIENCE:g} s")
        for connection in ready:
            if not connection.answered():
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
