"""`reap load`: against servers, with their errors, and without coordinated omission."""

import http.server
import re
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner, Result

from reap.base.errors import ExitCode, ReapError
from reap.load.command import load
from reap.server.generators import counted

pytestmark = pytest.mark.timed

STALL = 0.4


class Lines(socketserver.StreamRequestHandler):
    """Answers a line with a line, and none of them for STALL seconds from a line `stall` on."""

    stalled_until = 0.0

    def handle(self) -> None:
        while line := self.rfile.readline():
            if line.startswith(b"stall"):
                Lines.stalled_until = time.monotonic() + STALL
            time.sleep(max(0.0, Lines.stalled_until - time.monotonic()))
            self.wfile.write(b"ERROR no\r\n" if line.startswith(b"wrong") else b"END\r\n")


class Pages(http.server.BaseHTTPRequestHandler):
    """`/old` closes the connection behind its answer, `/busy` is none."""

    paths: set[str] = set()

    def do_GET(self) -> None:
        Pages.paths.add(self.path)
        self.protocol_version = "HTTP/1.0" if self.path == "/old" else "HTTP/1.1"
        self.send_response(503 if self.path == "/busy" else 200)
        if self.path != "/old":
            self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
        self.close_connection = self.path == "/old"

    def log_message(self, *_: object) -> None:
        pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def serving(
    handler: type[socketserver.BaseRequestHandler], kind: type[socketserver.TCPServer] = Server
) -> Iterator[int]:
    with kind(("localhost", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def loaded(*words: str) -> Result:
    return CliRunner().invoke(load, words)


def milliseconds(output: str, name: str) -> float:
    return float(re.search(rf"latency .*{re.escape(name)} ([\d.]+) ms", output)[1])


def test_a_stall_counts_for_every_request_that_it_delayed() -> None:
    """200/s for a second, of which the server stalls for 0.4 s: two connections delay 80 requests.

    A closed loop would have had two slow answers. Of those delayed the mean is half of the stall.
    """
    with serving(Lines) as port:
        requests = [*(["get"] * 50), "stall", *(["get"] * 149)]
        done = loaded(
            "--rate", "200", "--seconds", "1", "--connections", "2", f"line://localhost:{port}", *requests
        )
    assert done.exception is None, done.output
    assert done.output.startswith("200 requests, 0 failed; ")
    assert milliseconds(done.output, "maximum") > 0.9e3 * STALL
    assert milliseconds(done.output, "P99") > 0.9e3 * STALL
    assert 0.7 * 40 * STALL < milliseconds(done.output, "mean") / 5 < 2 * 40 * STALL
    found = counted(["reap", "load"], done.output)
    assert found.requests == 200
    assert found.latency.due_per_second == 200
    assert found.latency.p99_ns == 1e6 * milliseconds(done.output, "P99")
    assert found.latency.p999_ns is None
    assert found.latency.late_ns < 1e9 * STALL / 4  # it is the server that was late


def test_requests_are_due_at_the_rate() -> None:
    with serving(Lines) as port:
        done = loaded("--rate", "400", "--seconds", "0.5", f"line://localhost:{port}", "get {n}")
    found = counted(["reap", "load"], done.output)
    assert found.requests == 200
    assert 360 < found.latency.per_second <= 400


def test_pages_on_connections_that_stay_and_that_are_closed() -> None:
    Pages.paths.clear()
    with serving(Pages) as port:
        at = f"http://localhost:{port}"
        done = loaded("--rate", "200", "--seconds", "0.2", "--keys", "3", f"{at}/", "/{n}", "/old")
        own = loaded("--rate", "100", "--seconds", "0.05", f"{at}/own?path")
    assert done.exception is None, done.output
    assert own.exception is None, own.output
    assert Pages.paths == {"/0", "/2", "/1", "/old", "/own?path"}


@pytest.mark.parametrize(
    ("handler", "url", "request_", "said"),
    [
        (
            Pages,
            "http://localhost:{port}/busy",
            (),
            "5 of 5 requests failed; the first answer was: HTTP/1.1 503",
        ),
        (
            Lines,
            "line://localhost:{port}",
            ("get", "wrong"),
            "2 of 5 requests failed; the first answer was: ERROR",
        ),
    ],
)
def test_requests_that_fail(handler: type, url: str, request_: tuple[str, ...], said: str) -> None:
    with serving(handler) as port:
        done = loaded("--rate", "100", "--seconds", "0.05", url.format(port=port), *request_)
    assert isinstance(done.exception, ReapError)
    assert done.exception.code == ExitCode.FAILED
    assert said in done.exception.what


class Single(socketserver.TCPServer):
    """Serves one connection at a time, to its end, as gunicorn's usual worker does."""

    allow_reuse_address = True


def test_a_server_of_one_connection_at_a_time_is_not_kept_waiting() -> None:
    """Connections that are made and not used would each have it wait for their request."""
    with serving(Pages, Single) as port:
        done = loaded("--rate", "50", "--seconds", "0.4", f"http://localhost:{port}/old")
    assert done.exception is None, done.output
    assert milliseconds(done.output, "P50") < 200


class Impatient(Lines):
    """Ends a connection that is idle for 50 ms."""

    timeout = 0.05

    def handle(self) -> None:
        try:
            super().handle()
        except TimeoutError:
            return


def test_idle_connections_that_the_server_ends_are_made_again() -> None:
    with serving(Impatient) as port:
        done = loaded("--rate", "8", "--seconds", "0.5", f"line://localhost:{port}", "get")
    assert done.exception is None, done.output
    assert done.output.startswith("4 requests, 0 failed")


class Closes(socketserver.BaseRequestHandler):
    """Takes a request, and closes."""

    def handle(self) -> None:
        self.request.recv(100)


def test_a_server_that_does_not_answer() -> None:
    with serving(Closes) as port:
        done = loaded("--rate", "100", "--seconds", "0.05", f"redis://localhost:{port}", "PING")
    assert isinstance(done.exception, ReapError)
    assert "closed the connection before it answered" in done.exception.what


def test_nobody_listens() -> None:
    with socket.socket() as held:
        held.bind(("localhost", 0))
        done = loaded("--rate", "100", f"redis://localhost:{held.getsockname()[1]}", "PING")
    assert isinstance(done.exception, ReapError)
    assert "refused" in done.exception.what


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("https://localhost/",), "is neither http://HOST:PORT/PATH"),
        (("redis://localhost", "PING"), "is neither"),
        (("redis://localhost:99999", "PING"), "is neither"),
        (("redis://localhost:1",), "there is no request"),
        (("redis://localhost:1", "SET 'a"), "a request cannot be read"),
    ],
)
def test_what_is_no_load(given: tuple[str, ...], said: str) -> None:
    done = loaded("--rate", "100", *given)
    assert isinstance(done.exception, ReapError)
    assert done.exception.code == ExitCode.USAGE
    assert said in done.exception.what
